// A table of many rows: the DOM has those of one page only.
const PAGE_ROWS = 100;
const units = ["B", "KB", "MB", "GB", "TB"];
const asSize = bytes => {
  let value = bytes;
  let at = 0;
  while (Math.abs(value) >= 1000 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  const text = at === 0 || Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, "");
  return `${text}\u00a0${units[at]}`;
};
const asCount = number => (Number.isInteger(number) || Math.abs(number) >= 10
  ? Math.round(number).toLocaleString("en-US") : number.toFixed(1));
const amount = (value, unit) => (value === null || value === undefined ? "?" : unit === "bytes" ? asSize(value) : asCount(value));
const signed = (value, unit) => (value === null ? "?" : (value < 0 ? "-" : "+") + amount(Math.abs(value), unit));
const difference = (from, to) => (from === null || to === null ? null : to - from);
const collation = new Intl.Collator("en", {numeric: true});
const element = (name, ...children) => {
  const made = document.createElement(name);
  made.append(...children);
  return made;
};
// columns: {head, left, value: row => number or text, text: row => text or node, up: first order}
function bigTable(host, label, columns) {
  let rows = [];
  let first = 0;
  let order = null; // [column, ascending]
  const head = element("tr");
  const body = element("tbody");
  const table = element("table", element("thead", head), body);
  const status = element("span");
  const control = (words, by) => {
    const made = element("button", words);
    made.type = "button";
    made.addEventListener("click", () => {
      first += by;
      draw();
    });
    return made;
  };
  const back = control("Previous", -PAGE_ROWS);
  const next = control("Next", PAGE_ROWS);
  const tools = element("div", status, back, next);
  const box = element("div", table);
  status.setAttribute("role", "status");
  tools.className = "tools";
  box.className = "wide";
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", label);
  table.setAttribute("aria-label", label);
  table.className = "rows";
  host.replaceChildren(tools, box);
  // the box is reached with the Tab key only where it scrolls
  const fit = () => {
    box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  };
  new ResizeObserver(fit).observe(box);
  const cells = columns.map((column, at) => {
    const made = element("button", column.head);
    const cell = element("th", made);
    made.type = "button";
    cell.scope = "col";
    if (column.left && at > 0) cell.className = "l";
    made.addEventListener("click", () => {
      order = [at, order && order[0] === at ? !order[1] : Boolean(column.left)];
      sort();
      first = 0;
      draw();
    });
    head.append(cell);
    return cell;
  });
  const sort = () => {
    cells.forEach(cell => cell.removeAttribute("aria-sort"));
    if (!order) return;
    const [at, up] = order;
    cells[at].setAttribute("aria-sort", up ? "ascending" : "descending");
    const {value} = columns[at];
    const keyed = rows.map(row => [value(row), row]);
    keyed.sort(([x], [y]) => {
      if (x === null || y === null) return (x === null) - (y === null);
      const found = typeof x === "string" ? collation.compare(x, y) : x - y;
      return up ? found : -found;
    });
    rows = keyed.map(([, row]) => row);
  };
  const draw = () => {
    const shown = rows.slice(first, first + PAGE_ROWS);
    body.replaceChildren(...shown.map(row => element("tr", ...columns.map((column, at) => {
      const cell = element(at === 0 ? "th" : "td", column.text(row));
      if (at === 0) cell.scope = "row";
      else if (column.left) cell.className = "l";
      return cell;
    }))));
    const many = rows.length > PAGE_ROWS;
    back.hidden = next.hidden = !many;
    back.disabled = first === 0;
    next.disabled = first + PAGE_ROWS >= rows.length;
    box.hidden = rows.length === 0;
    const range = `${asCount(first + 1)} to ${asCount(first + shown.length)} of ${asCount(rows.length)}`;
    fit();
    status.textContent = many ? `Rows ${range}` : rows.length === 1 ? "1 row" : `${asCount(rows.length)} rows`;
  };
  return {
    show(wanted) { // an array that the table may sort
      rows = wanted;
      first = 0;
      sort();
      draw();
    },
  };
}
