"use strict";
// Sorts, searches and pages the tables. Without it the page shows all rows in their first order.
const PAGE = 100; // rows on one page of a table
const FEW = 8; // rows below which a table needs no search
const scale = {B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4, ms: 0.001, s: 1, min: 60, h: 3600, days: 86400};
const collator = new Intl.Collator(undefined, {numeric: true});
const value = text => {
  const found = /^(?:~|about )?([+-]?[\d,]*\.?\d+)\s*([A-Za-z]+)?/.exec(text);
  return found ? parseFloat(found[1].replace(/,/g, "")) * (scale[found[2]] || 1) : null;
};
const counted = number => number.toLocaleString("en-US");
const button = (words, action) => {
  const made = document.createElement("button");
  made.type = "button";
  made.append(words);
  made.addEventListener("click", action);
  return made;
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const tools = document.querySelector(`.tools[data-for="${table.id}"]`);
  const box = tools.querySelector("input");
  const status = tools.querySelector("[role=status]");
  let rows = [...body.rows]; // in the order in which they are sorted
  let texts = null; // of each row in lower case, read at the first search
  let found = rows; // rows that match the search
  let first = 0; // of the page that is shown
  let shown = rows;
  const show = () => {
    const wanted = found.slice(first, first + PAGE);
    const keep = new Set(wanted);
    for (const row of shown) if (!keep.has(row)) row.hidden = true;
    for (const row of wanted) row.hidden = false;
    shown = wanted;
    const last = first + wanted.length;
    const matching = found.length < rows.length ? " matching" : "";
    status.textContent = found.length > PAGE
      ? `Rows ${counted(first + 1)} to ${counted(last)} of ${counted(found.length)}${matching}`
      : `${matching ? `${counted(found.length)} of ` : ""}${counted(rows.length)} rows`;
    back.hidden = next.hidden = found.length <= PAGE;
    back.disabled = first === 0;
    next.disabled = last >= found.length;
  };
  const turn = by => () => {
    first = Math.max(0, first + by);
    show();
  };
  const back = button("Previous", turn(-PAGE));
  const next = button("Next", turn(PAGE));
  const search = () => {
    texts ??= new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = words.length ? rows.filter(row => words.every(word => texts.get(row).includes(word))) : rows;
    first = 0;
    show();
  };
  heads.forEach((head, at) => {
    const words = at === 0 || head.classList.contains("l");
    const made = button("", () => {
      const now = head.getAttribute("aria-sort");
      const up = now ? now === "descending" : words; // words from A on, numbers from the largest on
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = rows.map(row => {
        const text = row.cells[at] ? row.cells[at].textContent.trim() : "";
        return [words ? text : value(text), row];
      });
      keyed.sort(([x], [y]) => {
        if (x === null || y === null) return (x === null) - (y === null);
        const order = words ? collator.compare(x, y) : x - y;
        return up ? order : -order;
      });
      rows = keyed.map(([, row]) => row);
      body.append(...rows);
      search();
    });
    made.append(...head.childNodes);
    head.append(made);
  });
  tools.append(back, next);
  tools.hidden = rows.length < FEW;
  box.addEventListener("input", search);
  for (const row of rows.slice(PAGE)) row.hidden = true;
  shown = rows.slice(0, PAGE);
  table.classList.add("ready"); // the style sheet hides later rows until here
  show();
}
// Boxes of tables are reached with the Tab key only where they scroll.
const observer = new ResizeObserver(entries => {
  for (const {target} of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
});
for (const box of document.querySelectorAll(".wide")) observer.observe(box);
