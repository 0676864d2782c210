"""A plan for people: before and after, table by table, what it costs and what it rests on."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from gpcatalog.emit.terminal import table, text
from gpcatalog.model.quantity import count, duration, size
from gpcatalog.planner.explain import Row
from gpcatalog.planner.plan import CurvePoint, Plan, TablePlan

TABLES_SHOWN = 20


def _heading(out: Console, words: str) -> None:
    out.print()
    out.print(Text(words, style="bold"))


def _line(out: Console, words: str) -> None:
    out.print(Padding(text(words), (0, 0, 0, 2)))


def _share(before: float, after: float) -> str:
    return f"{(after - before) / before:+.0%}" if before else ""


def _what(t: TablePlan) -> str:
    if t.alone:
        return "left alone"
    parts = [f"{count(n)} {word}" for n, word in ((t.merges, "merged"), (t.converted, "conv."), (t.dropped, "dropped")) if n]
    if not parts and t.leaves_after != t.leaves:
        parts = ["rebuilt"]
    return ", ".join(parts) or "as it is"


def _totals(plan: Plan, out: Console) -> None:
    b, a = plan.before, plan.after
    rows = [
        ("leaf partitions", count(b.leaves), count(a.leaves), _share(b.leaves, a.leaves)),
        ("catalog rows a segment" if plan.source.segments else "catalog rows", count(b.rows), count(a.rows), _share(b.rows, a.rows)),
        ("catalog bytes, all instances (est.)", size(b.catalog_bytes), size(a.catalog_bytes), _share(b.catalog_bytes, a.catalog_bytes)),
        ("files a segment" if plan.source.segments else "files", count(b.files), count(a.files), _share(b.files, a.files)),
    ]
    if b.average_file is not None and a.average_file is not None:
        rows.append(("average file (est.)", size(b.average_file), size(a.average_file), _share(b.average_file, a.average_file)))
    rows.append(
        (
            "a catalog query (est., published)",
            duration(b.catalog_query_ms / 1000),
            duration(a.catalog_query_ms / 1000),
            _share(b.catalog_query_ms, a.catalog_query_ms),
        )
    )
    out.print(Padding(table("", ("", "before", "after", "change"), rows), (0, 0, 0, 2)))


def _tables(tables: list[TablePlan], files: str, out: Console) -> None:
    shown = sorted(tables, key=lambda t: (-(t.leaves - t.leaves_after), -(t.files - t.files_after), t.schema, t.table))
    touched = [t for t in shown if t.merges or t.converted or t.dropped or t.leaves != t.leaves_after]
    rows = [
        (
            f"{t.schema}.{t.table}",
            f"{count(t.leaves)} → {count(t.leaves_after)}",
            f"{count(t.files)} → {count(t.files_after)}",
            size(t.rewrite),
            _what(t),
        )
        for t in touched[:TABLES_SHOWN]
    ]
    _heading(out, "Tables, most leaves saved first")
    if not rows:
        _line(out, "nothing to do")
    else:
        out.print(Padding(table("", ("table", "leaves", files, "rewrite", "steps"), rows), (0, 0, 0, 2)))
    if len(touched) > TABLES_SHOWN:
        _line(out, f"and {count(len(touched) - TABLES_SHOWN)} more; --format json has them all")


def _curve(points: list[CurvePoint], out: Console) -> None:
    _heading(out, "What rewriting buys")
    rows = []
    seen: set[tuple[int, int, int]] = set()
    last: CurvePoint | None = None
    for p in points:
        key = (p.leaves, p.files, p.rewrite)
        if key in seen and not p.chosen:
            continue
        seen.add(key)
        per = ""
        if last is not None and p.rewrite > last.rewrite:
            per = f"{(last.files - p.files) / ((p.rewrite - last.rewrite) / 1024**4):,.0f}"
        rows.append(
            (
                ("▸ " if p.chosen else "  ") + size(p.rewrite),
                count(p.leaves),
                count(p.files),
                duration(p.seconds),
                size(p.scan_bytes_per_day),
                per,
            )
        )
        last = p
    out.print(Padding(table("", ("rewritten", "leaves", "files", "time (est.)", "read more a day", "files a TB"), rows), (0, 0, 0, 2)))


def _left(plan: Plan, left: dict[str, int], out: Console) -> None:
    if not left:
        return
    _heading(out, "Left alone")
    rows = [(reason, count(n)) for reason, n in sorted(left.items(), key=lambda pair: (-pair[1], pair[0]))]
    out.print(Padding(table("", ("why", "leaves"), rows), (0, 0, 0, 2)))


def show(plan: Plan, tables: list[TablePlan], left: dict[str, int], out: Console) -> None:
    """Print the plan. tables: without steps; left: leaves by the reason why they stay as they are."""
    s = plan.source
    out.print(
        text(f"Plan {plan.id} · {s.database} on {s.host or 'local'}:{s.port} · {s.product} {s.version} · snapshot of {s.taken_at}", "bold")
    )
    for note in plan.notes:
        out.print(text(note))
    _heading(out, "Before and after")
    _totals(plan, out)
    e = plan.effort
    _heading(out, "What it costs")
    _line(
        out,
        f"{size(e.rewrite)} rewritten in about {duration(e.seconds)} (estimate), {size(e.scan_bytes_per_day)} a day read"
        f" more by queries (estimate)",
    )
    if plan.limits:
        _heading(out, "Limits")
        shown: dict[str, Callable[[float], str]] = {"bytes": size, "s": duration}
        rows = []
        for x in plan.limits:
            say = shown.get(x.unit, count)
            rows.append((f"{x.name} ({x.source})", say(x.before), say(x.after), say(x.limit), "kept" if x.kept else "over"))
        out.print(Padding(table("", ("limit", "before", "after", "limit", ""), rows), (0, 0, 0, 2)))
    _tables(tables, "files a segment" if s.segments else "files", out)
    _curve(plan.curve, out)
    _left(plan, left, out)
    _heading(out, "How good it is, and what it rests on")
    o, w = plan.optimum, plan.weights
    against = "any grouping of any table" if o.bound_over == "groupings" else "the points of the curves"
    _line(
        out,
        f"{o.cost:,.1f} points; at most {o.gap:.4%} above the best there can be over {against}"
        + ("" if o.exact else " (search not ended)"),
    )
    _line(
        out,
        f"weights in points: catalog row {w.row:g}, file {w.file:g}, MB rewritten {w.rewrite:g}, MB a day read more"
        f" {w.scan:g}, empty leaf dropped {w.drop:g}",
    )
    for line in plan.basis:
        _line(out, line)
    out.print()
    planned = sum(1 for t in tables if t.merges or t.converted or t.dropped or t.leaves != t.leaves_after)
    out.print(
        text(
            f"{count(e.merges)} merges, {count(e.converted)} leaves converted, {count(e.dropped)} dropped;"
            f" {count(planned)} of {count(len(tables))} partitioned tables change."
        )
    )


def explain(table_plan: TablePlan, rows: list[Row], out: Console) -> None:
    """Print the grouping of one table, one character a leaf."""
    t = table_plan
    out.print(text(f"{t.schema}.{t.table} · {count(t.leaves)} → {count(t.leaves_after)} leaves · key {t.key or '-'} ({t.axis})", "bold"))
    if t.alone:
        out.print(text(f"left alone: {t.alone}"))
    for row in rows:
        out.print()
        out.print(text(f"{row.where}  {count(row.leaves)} {'leaf' if row.leaves == 1 else 'leaves'}, {size(row.bytes)}"))
        _line(out, row.bars)
        _line(out, row.what)
        if row.coarser:
            _line(out, f"not coarser: {row.coarser}")
        if row.finer:
            _line(out, f"not finer: {row.finer}")
    out.print()
    out.print(text("one character a partition: height tells bytes, · empty, ? size unknown"))
    for step in t.steps:
        out.print(text(f"{step.id}  {step.explanation}"))
