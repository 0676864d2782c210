// Appended to a copy of the page by test_browser.py: measures it and writes the result into the DOM.
"use strict";
const seen = element => element.checkVisibility({visibilityProperty: true});
const channels = text => (text.match(/[\d.]+/g) || []).map(Number);
const luminance = rgb => {
  const [r, g, b] = rgb.map(c => c / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const found = channels(getComputedStyle(e).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found.slice(0, 3);
  }
  return [255, 255, 255];
};
const linesOf = (element, font) => {
  const tops = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    tops.push(...[...range.getClientRects()].map(box => box.top));
  }
  tops.sort((x, y) => x - y);
  return tops.filter((top, n) => n === 0 || top - tops[n - 1] > font / 2).length;
};
const result = {};
const root = document.documentElement;
result.active = document.activeElement.tagName;
result.width = innerWidth;
result.overflow = root.scrollWidth - innerWidth;

for (const closed of document.querySelectorAll("details")) closed.open = true;

// cells: words are not stacked letter by letter, numbers stay on one line
result.narrow = [];
for (const cell of document.querySelectorAll("th, td")) {
  const text = cell.textContent.trim();
  if (!seen(cell) || text.length < 4) continue;
  const style = getComputedStyle(cell);
  const box = cell.getBoundingClientRect();
  const inner = box.width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const lines = linesOf(cell, parseFloat(style.fontSize));
  if (inner < 1.6 * parseFloat(style.fontSize) || lines > Math.max(1, text.length / 4)) result.narrow.push(text);
  if (/^[a-z]{4,12}$/i.test(text) && lines > 1) result.narrow.push(text);
  if (/^[+-]?[\d,.]+( [A-Z]?B| ms)?$/.test(text.replace(/\s/g, " ")) && lines > 1) result.narrow.push(text);
}

// words of charts are not cut off at the edges of their drawing
result.clipped = [];
for (const text of document.querySelectorAll("svg text")) {
  if (!seen(text)) continue;
  const box = text.getBBox();
  const view = text.ownerSVGElement.viewBox.baseVal;
  if (box.x < -4 || box.x + box.width > view.width + 4) result.clipped.push(text.textContent);
}

// contrast of all texts, and of the charts' marks against the page
result.contrast = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const parent = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !seen(parent) || parent.closest("script, pre")) continue;
  const style = getComputedStyle(parent);
  const color = parent.closest("svg") ? style.fill : style.color;
  result.contrast.push([ratio(channels(color).slice(0, 3), behind(parent)), walker.currentNode.data.trim().slice(0, 40)]);
}
for (const mark of document.querySelectorAll("svg rect, svg circle, svg polyline")) {
  const style = getComputedStyle(mark);
  const color = mark.tagName === "polyline" ? style.stroke : style.fill;
  result.contrast.push([ratio(channels(color).slice(0, 3), behind(mark)), `${mark.tagName}.${mark.getAttribute("class")}`]);
}
result.contrast.sort(([x], [y]) => x - y);
result.contrast.splice(5);

// everything that can be operated can be focused, and shows it
result.unreachable = [];
const operable = [...document.querySelectorAll("a[href], button, input, select, summary, [role=region]")];
for (const element of operable) {
  if (!seen(element) || element.disabled) continue;
  // a box of a table that does not scroll needs no focus
  if (element.tabIndex < 0 && element.scrollWidth <= element.clientWidth) continue;
  element.focus();
  const outline = getComputedStyle(element);
  if (document.activeElement !== element || element.tabIndex < 0) result.unreachable.push(element.outerHTML.slice(0, 80));
  else if (parseFloat(outline.outlineWidth) < 2 || outline.outlineStyle === "none") result.unreachable.push(`outline: ${element.outerHTML.slice(0, 80)}`);
}
result.focused = document.hasFocus();  // of a window without focus nothing matches :focus-visible
result.operable = operable.length;
result.titles = document.querySelectorAll("[title]").length;
result.smallest = Math.min(...[...document.querySelectorAll("td, th")].filter(seen).map(c => parseFloat(getComputedStyle(c).fontSize)));

// sorting and searching
const table = document.getElementById("tables");
if (table) {
  const body = table.tBodies[0];
  const rows = () => [...body.rows].filter(row => !row.hidden);
  const names = () => rows().map(row => row.cells[0].textContent);
  const heads = [...table.tHead.rows[0].cells];
  result.heads = heads.every(head => head.scope === "col" && head.querySelector("button"));
  result.rows = body.rows.length;
  result.shown = rows().length;
  heads[0].querySelector("button").click();
  result.up = [heads[0].getAttribute("aria-sort"), names()[0]];
  heads[0].querySelector("button").click();
  result.down = [heads[0].getAttribute("aria-sort"), names()[0]];
  const tools = document.querySelector('.tools[data-for="tables"]');
  const input = tools.querySelector("input");
  result.searchable = !tools.hidden;
  const wanted = [...body.rows].at(-1).cells[0].textContent;
  const before = performance.now();
  input.value = wanted.toUpperCase();
  input.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  result.milliseconds = performance.now() - before;
  result.found = [wanted, names(), tools.querySelector("[role=status]").textContent];
  input.value = "";
  input.dispatchEvent(new Event("input"));
  const next = [...tools.querySelectorAll("button")].at(-1);
  const first = names()[0];
  if (!next.hidden) {
    next.click();
    result.turned = [first, names()[0], tools.querySelector("[role=status]").textContent];
  }
}
