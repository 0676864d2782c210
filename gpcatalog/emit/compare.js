// Compares any two snapshots of a series.
let series = null;
const gpcatalog = {
  history(data) {
    series = data;
  },
};
document.addEventListener("DOMContentLoaded", () => {
  const host = document.getElementById("compare-rows");
  const note = document.getElementById("compare-note");
  if (!series) {
    note.textContent = "history.js could not be loaded.";
    return;
  }
  const {times, tables, catalogs, greenplum} = series;
  const [from, to, kind] = ["from", "to", "kind"].map(name => document.getElementById(name));
  for (const [box, chosen] of [[from, 0], [to, times.length - 1]]) {
    box.replaceChildren(...times.map((text, at) => {
      const option = element("option", text);
      option.value = at;
      return option;
    }));
    box.value = chosen;
  }
  // the figures in force at a snapshot; null where there are none
  const at = (steps, moment) => {
    let last = null;
    for (const step of steps) {
      if (step[0] > moment) break;
      last = step;
    }
    return last && last.length > 1 ? last.slice(1) : null;
  };
  const columns = (head, names) => [
    {head, left: true, value: row => row.name, text: row => row.name + (row.state ? ` (${row.state})` : "")},
    ...names.flatMap(([name, unit], n) => [
      {head: name, value: row => row.now[n], text: row => amount(row.now[n], unit)},
      {head: `${name}: change`, value: row => row.by[n], text: row => signed(row.by[n], unit)},
    ]),
  ];
  // absent: what an entry that is not there has: a table has nothing, a catalog was not read
  const compared = (name, was, now, width, absent = 0) => {
    const state = absent === null ? "" : was ? (now ? "" : "dropped") : "new";
    const [old, current] = [was ?? Array(width).fill(absent), now ?? Array(width).fill(absent)];
    return {name, state, now: current, by: current.map((value, n) => difference(old[n], value)), was: old};
  };
  const moved = row => row.state !== "" || row.by.some(value => value !== 0);
  const OF_TABLES = [["leaves", "leaves"], ["catalog rows", "rows"], ["files", "files"], ["size", "bytes"]];
  const kinds = {
    tables: () => [columns("table", OF_TABLES), tables.flatMap(([, name, steps]) => {
      const [was, now] = [at(steps, Number(from.value)), at(steps, Number(to.value))];
      return was || now ? [compared(name, was, now, 4)] : [];
    }).filter(moved), 1],
    schemas: () => {
      const sums = new Map();
      for (const [schema, , steps] of tables) {
        const [was, now] = [at(steps, Number(from.value)), at(steps, Number(to.value))];
        const sum = sums.get(schema) ?? {was: null, now: null};
        for (const [key, figures] of [["was", was], ["now", now]]) {
          if (figures) sum[key] = sum[key] ? sum[key].map((v, n) => (v === null || figures[n] === null ? null : v + figures[n])) : figures;
        }
        sums.set(schema, sum);
      }
      const rows = [...sums].filter(([, {was, now}]) => was || now).map(([name, {was, now}]) => compared(name, was, now, 4));
      return [columns("schema", OF_TABLES), rows.filter(moved), 1];
    },
    catalogs: () => [columns("catalog", [["rows", "rows"], ["size", "bytes"]]), catalogs.flatMap(([relation, content, steps]) => {
      const [was, now] = [at(steps, Number(from.value)), at(steps, Number(to.value))];
      const name = !greenplum ? relation : `${relation}, ${content < 0 ? "coordinator" : `segment ${content}`}`;
      return was || now ? [compared(name, was, now, 2, null)] : [];
    }).filter(moved), 1],
    totals: () => [columns("figure", [["value", ""]]), series.series.map(([what, unit, values]) => {
      const [was, now] = [values[Number(from.value)], values[Number(to.value)]];
      return {name: what, state: "", now: [now], by: [difference(was, now)], unit};
    }), null],
  };
  const show = () => {
    const [heads, rows, by] = kinds[kind.value]();
    if (by !== null) rows.sort((x, y) => Math.abs(y.by[by] ?? 0) - Math.abs(x.by[by] ?? 0) || collation.compare(x.name, y.name));
    if (kind.value === "totals") {
      heads[1].text = row => amount(row.now[0], row.unit);
      heads[2].text = row => signed(row.by[0], row.unit);
    }
    bigTable(host, "Differences between two snapshots", heads).show(rows);
    const parts = [];
    if (Number(from.value) > Number(to.value)) parts.push("The second snapshot is older than the first one.");
    if (!rows.length) parts.push("Nothing differs.");
    if (series.left_out) parts.push(`${asCount(series.left_out)} tables with few catalog rows are left out.`);
    note.textContent = parts.join(" ");
  };
  let hash = "";
  try {
    hash = decodeURI(location.hash);
  } catch {
    // not an address that this page made
  }
  const asked = /^#compare=([^,]+),([^,]+),(\w+)$/.exec(hash);
  if (asked && times.includes(asked[1]) && times.includes(asked[2]) && asked[3] in kinds) {
    from.value = times.indexOf(asked[1]);
    to.value = times.indexOf(asked[2]);
    kind.value = asked[3];
  }
  for (const box of [from, to, kind]) {
    box.disabled = false;
    box.addEventListener("change", () => {
      show();
      history.replaceState(null, "", `#compare=${times[Number(from.value)]},${times[Number(to.value)]},${kind.value}`);
    });
  }
  show();
});
