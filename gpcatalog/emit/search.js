// The search over all tables of the site: each database adds its tables.
const found = [];
let databases = 0;
let leftOut = 0;
const gpcatalog = {
  tables({place, page, left_out: lacking, tables}) {
    databases += 1;
    leftOut += lacking;
    for (const [name, storage, leaves, rows, files, bytes] of tables) {
      found.push({name, storage, leaves, rows, files, bytes, place, page, key: `${name} ${place} ${storage}`.toLowerCase()});
    }
  },
};
document.addEventListener("DOMContentLoaded", () => {
  const input = document.querySelector("input[type=search]");
  const host = document.getElementById("rows");
  const wanted = Number(host.dataset.databases);
  const notes = [];
  const missing = wanted - databases;
  if (missing > 0) notes.push(`The tables of ${missing} ${missing === 1 ? "database" : "databases"} could not be loaded.`);
  if (leftOut) notes.push(`${asCount(leftOut)} tables with few catalog rows are left out.`);
  document.getElementById("note").textContent = notes.join(" ");
  const number = (head, key, unit) => ({head, value: row => row[key], text: row => amount(row[key], unit)});
  const table = bigTable(host, "Tables", [
    {head: "table", left: true, value: row => row.name, text: row => row.name},
    {
      head: "database", left: true, value: row => row.place, text: row => {
        const made = element("a", row.place);
        made.href = row.page;
        return made;
      },
    },
    {head: "storage", left: true, value: row => row.storage, text: row => row.storage},
    number("leaves", "leaves", "leaves"),
    number("catalog rows", "rows", "rows"),
    number("files", "files", "files"),
    number("size", "bytes", "bytes"),
  ]);
  found.sort((x, y) => y.rows - x.rows);
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    table.show(words.length ? found.filter(row => words.every(word => row.key.includes(word))) : [...found]);
  };
  const asked = /^#q=(.*)$/.exec(location.hash);
  if (asked) {
    try {
      input.value = decodeURIComponent(asked[1]);
    } catch {
      input.value = asked[1];
    }
  }
  input.disabled = false;
  input.addEventListener("input", search);
  input.addEventListener("change", () => history.replaceState(null, "", `#q=${encodeURIComponent(input.value)}`));
  search();
  input.focus();
});
