"use strict";
// Sorting and searching of the tables; without it the page shows the same, unsorted.
const scale = {B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4, ms: 0.001, s: 1, min: 60, h: 3600, days: 86400};
const value = cell => {
  const text = (cell ? cell.textContent : "").trim();
  const found = /^([+-]?[\d,]*\.?\d+)\s*([A-Za-z]+)?/.exec(text);
  return found ? parseFloat(found[1].replace(/,/g, "")) * (scale[found[2]] || 1) : null;
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const words = head.classList.contains("l") || at === 0;
      const now = head.getAttribute("aria-sort");
      const up = now ? now === "descending" : words; // words from A on, numbers from the largest on
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = [...body.rows].map(row => [words ? row.cells[at].textContent : value(row.cells[at]), row]);
      keyed.sort(([x], [y]) => {
        if (x === null || y === null) return (x === null) - (y === null);
        const order = words ? x.localeCompare(y, undefined, {numeric: true}) : x - y;
        return up ? order : -order;
      });
      body.append(...keyed.map(([, row]) => row));
    });
  });
  const box = document.querySelector(`input[data-for="${table.id}"]`);
  if (!box) continue;
  box.hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every(word => text.includes(word));
    }
  });
}
