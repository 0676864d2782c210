// Measures the search and the comparison of a copy of a page of the site.
const rowsOf = host => [...host.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent));
const choose = (box, value) => {
  box.value = value;
  box.dispatchEvent(new Event(box.tagName === "SELECT" ? "change" : "input"));
};
const searched = document.getElementById("rows");
if (searched) {
  const input = document.querySelector("input[type=search]");
  const status = searched.querySelector("[role=status]");
  result.search = {asked: input.value, words: {}, note: document.getElementById("note").textContent};
  for (const words of WORDS) {
    const begun = performance.now();
    choose(input, words);
    document.body.offsetHeight;
    const took = performance.now() - begun;
    result.search.words[words] = {rows: rowsOf(searched), status: status.textContent, took};
  }
  choose(input, "");
  const link = searched.querySelector("tbody a");
  result.search.link = link && link.getAttribute("href");
  result.search.sorted = [...searched.querySelectorAll("thead button")].map(head => {
    const begun = performance.now();
    head.click();
    document.body.offsetHeight;
    const took = performance.now() - begun;
    const up = rowsOf(searched);
    const order = head.parentElement.getAttribute("aria-sort");
    head.click();
    return {order, took, first: up[0], other: rowsOf(searched)[0], again: head.parentElement.getAttribute("aria-sort")};
  });
  const [, next] = searched.querySelectorAll(".tools button");
  result.search.pages = next.hidden ? null : [rowsOf(searched)[0], (next.click(), rowsOf(searched)[0]), status.textContent];
}
const compared = document.getElementById("compare-rows");
if (compared) {
  const [from, to, kind] = ["from", "to", "kind"].map(name => document.getElementById(name));
  result.compare = {chosen: [from, to, kind].map(box => box.value), times: from.options.length, views: []};
  for (const [one, other, what] of VIEWS) {
    choose(from, one);
    choose(to, other);
    choose(kind, what);
    const heads = [...compared.querySelectorAll("thead button")].map(head => head.textContent);
    const note = document.getElementById("compare-note").textContent;
    result.compare.views.push({one, other, what, heads, rows: rowsOf(compared), note});
  }
}
