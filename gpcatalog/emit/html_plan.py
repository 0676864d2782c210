"""The plan section of the page: totals before and after, the effect of rewritten bytes, and
tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpcatalog.emit.action_titles import time_title
from gpcatalog.emit.html_parts import Cell, Data, ended, figure, line_data, prose, table
from gpcatalog.emit.svg import Bar, Curve, Lines, bars, legend, lines, safe
from gpcatalog.model.quantity import change, count, duration, plural, size
from gpcatalog.planner.plan import CurvePoint, Plan, TablePlan, changed, session_memory

BYTES = 60_000  # bytes of the page for the list of tables
DRAWN = 12  # tables with their own bar


@dataclass(frozen=True)
class Outlook:
    """A plan for the page, or the reason why there is none.

    tables: without steps; left: leaves that do not change, by reason.
    """

    plan: Plan | None = None
    tables: Sequence[TablePlan] = ()
    left: dict[str, int] = field(default_factory=dict)
    reason: str = ""


def _totals(plan: Plan, tables: Sequence[TablePlan]) -> str:
    b, a = plan.before, plan.after
    each = " per segment" if plan.source.segments else ""
    everywhere = ", all instances" if plan.source.segments else ""
    rows: list[tuple[Cell, ...]] = [
        ("leaf partitions", count(b.leaves), count(a.leaves), change(b.leaves, a.leaves)),
        (
            ("catalog rows" + each, "cost model"),
            count(b.rows),
            count(a.rows),
            change(b.rows, a.rows),
        ),
        (
            ("catalog bytes" + everywhere, "estimate"),
            size(b.catalog_bytes),
            size(a.catalog_bytes),
            change(b.catalog_bytes, a.catalog_bytes),
        ),
        (
            ("files" + each, "cost model"),
            count(b.files),
            count(a.files),
            change(b.files, a.files),
        ),
    ]
    if b.average_file is not None and a.average_file is not None:
        rows.append(
            (
                ("average file size", "table data; estimate"),
                size(b.average_file),
                size(a.average_file),
                change(b.average_file, a.average_file),
            )
        )
    was, will = b.catalog_query_ms, a.catalog_query_ms
    if was is not None and will is not None:
        rows.append(
            (
                ("catalog query", "published slope"),
                duration(was / 1000),
                duration(will / 1000),
                change(was, will),
            )
        )
    kept, keeps = session_memory(tables)
    if kept:
        rows.append(
            (
                ("memory a session keeps, all tables", "estimate"),
                size(kept),
                size(keeps),
                change(kept, keeps),
            )
        )
    return table(
        ("total", "now", "after", "change"), rows, label="Totals before and after the plan"
    )


def _times(plan: Plan) -> str:
    """Durations of statements before and after the plan."""
    rows: list[tuple[Cell, ...]] = [
        (
            (time_title(t), "measured before" if t.measured else "estimate"),
            duration(t.before),
            duration(t.after),
            change(t.before, t.after),
        )
        for t in plan.times
    ]
    heads = ("time of statements", "now", "after", "change")
    return table(heads, rows, label="Time of statements before and after the plan") if rows else ""


def _curve(points: Sequence[CurvePoint], plan: Plan) -> str:
    b = plan.before
    ways = [
        ("leaves", "a", [(p.rewrite, p.leaves / b.leaves) for p in points] if b.leaves else []),
        ("catalog rows", "c", [(p.rewrite, p.rows / b.rows) for p in points] if b.rows else []),
        ("files", "d", [(p.rewrite, p.files / b.files) for p in points] if b.files else []),
    ]
    chosen = next((p for p in points if p.chosen), None)
    found = [
        Curve(name, sorted({(float(x), y) for x, y in of}, key=lambda q: (q[0], -q[1])), kind)
        for name, kind, of in ways
        if of
    ]
    if not found or len({x for c in found for x, _ in c.points}) < 2:
        return ""
    if chosen is not None:
        at = [
            (float(chosen.rewrite), y)
            for y in (
                chosen.leaves / b.leaves if b.leaves else 0.0,
                chosen.rows / b.rows if b.rows else 0.0,
            )
        ]
        found.append(Curve("this plan", at, "b", dots=True))
    chart = Lines(
        title="Leaves, catalog rows and files by bytes rewritten",
        curves=found,
        x_text=size,
        y_text=lambda y: f"{y:.0%}",
    )
    return figure(
        chart.title,
        "Share that remains after the plan, by bytes rewritten"
        + (" on all segments." if plan.source.segments else ".")
        + " Dropping empty leaves rewrites nothing.",
        lines(chart),
        line_data(chart, "rewritten"),
        f"Estimate: cost model; sizes: {plan.source.sizes}",
    )


def _largest(found: Sequence[TablePlan]) -> str:
    drawn = [t for t in found[:DRAWN] if t.leaves > t.leaves_after]
    title = "Tables that lose most leaves"
    chart = bars(
        title,
        [
            Bar(
                f"{t.schema}.{t.table}",
                ((t.leaves_after, "a"), (t.leaves - t.leaves_after, "b")),
                f"{count(t.leaves)} → {count(t.leaves_after)}",
            )
            for t in drawn
        ],
        label_letters=18,
    )
    return figure(
        title,
        "Leaves that remain, and leaves that are merged or dropped.",
        chart and chart + legend([("remain", "a"), ("merged or dropped", "b")]),
        Data(
            ("table", "leaves now", "leaves after"),
            [(f"{t.schema}.{t.table}", count(t.leaves), count(t.leaves_after)) for t in drawn],
        ),
    )


def _actions(merges: int, converted: int, dropped: int) -> str:
    """Numbers of merges, conversions and drops as text; empty if there are none."""
    parts = [
        plural(merges, "merge") if merges else "",
        plural(converted, "leaf", "leaves") + " converted" if converted else "",
        plural(dropped, "empty leaf", "empty leaves") + " dropped" if dropped else "",
    ]
    return ", ".join(words for words in parts if words)


def _steps(t: TablePlan) -> str:
    return _actions(t.merges, t.converted, t.dropped) or "rebuilt"


def _tables(found: Sequence[TablePlan], each: str) -> str:
    rows: list[tuple[Cell, ...]] = []
    used = 0
    for t in found:
        row: tuple[Cell, ...] = (
            (f"{t.schema}.{t.table}", _steps(t)),
            count(t.leaves),
            count(t.leaves_after),
            count(t.rows),
            count(t.rows_after),
            count(t.files),
            count(t.files_after),
            size(t.rewrite),
            duration(t.seconds),
        )
        used += (
            sum(
                len(safe(words).encode()) + 4
                for cell in row
                for words in ((cell,) if isinstance(cell, str) else cell)
            )
            + 30
        )
        if used > BYTES:
            break
        rows.append(row)
    rest = found[len(rows) :]
    foot: tuple[str, ...] = ()
    if rest:
        foot = (
            f"{plural(len(rest), 'more table')} together",
            *(
                count(sum(getattr(t, of) for t in rest))
                for of in ("leaves", "leaves_after", "rows", "rows_after", "files", "files_after")
            ),
            size(sum(t.rewrite for t in rest)),
            duration(sum(t.seconds for t in rest)),
        )
    heads = (
        "table",
        "leaves",
        "leaves after",
        f"catalog rows{each}",
        "rows after",
        f"files{each}",
        "files after",
        "rewritten",
        "time (estimate)",
    )
    return table(heads, rows, label="Tables before and after the plan", name="planned", foot=foot)


def _summary(found: Outlook, plan: Plan, changed_tables: int) -> str:
    """The effect and the cost of the plan, in one sentence."""
    e = plan.effort
    did = _actions(e.merges, e.converted, e.dropped)
    if not did and not changed_tables:
        return "Nothing to do: the plan changes no table."
    more = (
        f" Queries read {size(e.scan_bytes_per_day)} more per day (estimate)."
        if e.scan_bytes_per_day
        else ""
    )
    if plan.merge_ways:
        waits = {w.way: duration(w.waiting) for w in plan.merge_ways}
        more += (
            f" Readers wait {waits['scripts']} while the scripts of migrate merge partitions, and"
            f" {waits['MERGE PARTITIONS']} with MERGE PARTITIONS (estimates;"
            f" {plan.merge_ways[0].source})."
        )
    return (
        f"The plan changes {count(changed_tables)} of"
        f" {plural(len(found.tables), 'partitioned table')}: {did or 'rebuilt'}."
        f" It rewrites {size(e.rewrite)} in about {duration(e.seconds)} (estimate).{more}"
    )


def section(found: Outlook) -> str:
    """The section of the page; empty without a plan and without a reason."""
    plan = found.plan
    if plan is None:
        return f"<p>No plan: {prose(ended(found.reason))}</p>" if found.reason else ""
    some = changed(found.tables)
    out = [
        f"<p><b>{safe(_summary(found, plan, len(some)))}</b></p>",
        "<p>The plan is a proposal without a budget. Nothing was changed."
        " <code>gpcatalog plan</code> plans within your limits and explains each table."
        " <code>gpcatalog migrate</code> writes the SQL.</p>",
    ]
    if some:
        out += [
            *(f"<p class=dim>{prose(ended(note))}</p>" for note in plan.notes),
            _totals(plan, found.tables),
            _times(plan),
        ]
        charts = _curve(plan.curve, plan) + _largest(some)
        if charts:
            out.append(f"<div class=charts>{charts}</div>")
        each = ", per segment" if plan.source.segments else ""
        out.append(f"<h3>Tables before and after the plan</h3>{_tables(some, each)}")
    if found.left:
        ordered = sorted(found.left.items(), key=lambda pair: (-pair[1], pair[0]))
        title = "Leaves that the plan does not change"
        out.append(
            f"<h3>{title}</h3>"
            + table(
                ("reason", "leaves"),
                [(why, count(n)) for why, n in ordered],
                label=title,
                budget=6_000,
            )
        )
    basis = "".join(f"<li>{prose(line)}" for line in plan.basis)
    out.append(f"<details><summary>Basis of the estimates</summary><ul>{basis}</ul></details>")
    return "".join(out)
