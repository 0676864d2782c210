"""The page's section on what a plan would change: before and after, what rewriting buys, table by
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpcatalog.emit.html_parts import Cell, figure, table
from gpcatalog.emit.svg import Bar, Curve, Lines, bars, legend, lines, safe
from gpcatalog.model.quantity import change, count, duration, plural, size
from gpcatalog.planner.plan import CurvePoint, Plan, TablePlan, changed

BYTES = 60_000  # of the page that the list of tables may take
DRAWN = 12  # tables with a bar of their own


@dataclass(frozen=True)
class Outlook:
    """A plan for the page, or why there is none.

    tables: without steps; left: leaves by the reason why they stay as they are.
    """

    plan: Plan | None = None
    tables: Sequence[TablePlan] = ()
    left: dict[str, int] = field(default_factory=dict)
    reason: str = ""


def _totals(plan: Plan) -> str:
    b, a = plan.before, plan.after
    each = " a segment" if plan.source.segments else ""
    rows: list[tuple[Cell, ...]] = [
        ("leaf partitions", count(b.leaves), count(a.leaves), change(b.leaves, a.leaves)),
        (
            ("catalog rows" + each, "by the cost model"),
            count(b.rows),
            count(a.rows),
            change(b.rows, a.rows),
        ),
        (
            ("catalog bytes", "all instances, estimate"),
            size(b.catalog_bytes),
            size(a.catalog_bytes),
            change(b.catalog_bytes, a.catalog_bytes),
        ),
        (
            ("files" + each, "by the cost model"),
            count(b.files),
            count(a.files),
            change(b.files, a.files),
        ),
    ]
    if b.average_file is not None and a.average_file is not None:
        rows.append(
            (
                ("average file", "estimate"),
                size(b.average_file),
                size(a.average_file),
                change(b.average_file, a.average_file),
            )
        )
    was, will = b.catalog_query_ms, a.catalog_query_ms
    rows.append(
        (
            ("a catalog query", "published slope"),
            duration(was / 1000),
            duration(will / 1000),
            change(was, will),
        )
    )
    return table(("", "now", "after", "change"), rows)


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
    says = (
        "share of leaves, catalog rows and files left, against bytes rewritten on all segments; the"
        " drops cost nothing."
    )
    if chosen is not None:
        at = [
            (float(chosen.rewrite), y)
            for y in (
                chosen.leaves / b.leaves if b.leaves else 0.0,
                chosen.rows / b.rows if b.rows else 0.0,
            )
        ]
        found.append(Curve("this plan", at, "b", dots=True))
    return figure(
        "What does rewriting buy?",
        says,
        lines(
            Lines(
                title="leaves, catalog rows and files left against bytes rewritten",
                curves=found,
                x_text=size,
                y_text=lambda y: f"{y:.0%}",
            )
        ),
        "estimate: cost model, sizes " + plan.source.sizes,
    )


def _largest(found: Sequence[TablePlan]) -> str:
    rows = [
        Bar(
            f"{t.schema}.{t.table}",
            ((t.leaves_after, "a"), (t.leaves - t.leaves_after, "b")),
            f"{count(t.leaves)} → {count(t.leaves_after)}",
        )
        for t in found[:DRAWN]
        if t.leaves > t.leaves_after
    ]
    chart = bars("leaves of the tables that lose most", rows, label_letters=18)
    return figure(
        "Which tables lose most leaves?",
        "leaves that stay and leaves that go.",
        chart and chart + legend([("stay", "a"), ("go", "b")]),
    )


def _steps(t: TablePlan) -> str:
    parts = [
        plural(t.merges, "merge") if t.merges else "",
        plural(t.converted, "leaf", "leaves") + " converted" if t.converted else "",
        plural(t.dropped, "empty leaf", "empty leaves") + " dropped" if t.dropped else "",
    ]
    return ", ".join(words for words in parts if words) or "rebuilt"


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
            plural(len(rest), "table") + " more together",
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
        "after",
        f"catalog rows{each}",
        "after",
        f"files{each}",
        "after",
        "rewritten",
        "time (estimate)",
    )
    return table(heads, rows, name="planned", foot=foot)


def section(found: Outlook) -> str:
    """The section as HTML; one sentence where there is no plan."""
    plan = found.plan
    if plan is None:
        return (
            f"<h2>Plan</h2><p class=dim>No plan: {safe(found.reason)}</p>" if found.reason else ""
        )
    e = plan.effort
    some = changed(found.tables)
    each = ", a segment" if plan.source.segments else ""
    did = [
        plural(e.merges, "merge") if e.merges else "",
        plural(e.converted, "leaf", "leaves") + " stored otherwise" if e.converted else "",
        plural(e.dropped, "empty leaf", "empty leaves") + " dropped" if e.dropped else "",
    ]
    said = ", ".join(words for words in did if words) or "nothing to do"
    price = (
        f"{said}; {size(e.rewrite)} rewritten in about {duration(e.seconds)} (estimate); queries"
        f" read {size(e.scan_bytes_per_day)} a day more (estimate). {count(len(some))} of"
        f" {plural(len(found.tables), 'partitioned table')} change."
    )
    out = [
        "<h2>Plan</h2>",
        (
            "<p>What merging, storing otherwise and dropping would change, by the weights of the"
            " policy alone. Nothing was changed: <code>gpcatalog plan</code> plans under your"
            " limits and explains each table, <code>gpcatalog migrate</code> writes the SQL.</p>"
        ),
        f"<p><b>{safe(price)}</b></p>",
        *(f"<p class=dim>{safe(note)}</p>" for note in plan.notes),
        _totals(plan),
        f"<div class=charts>{_curve(plan.curve, plan)}{_largest(some)}</div>",
    ]
    if some:
        out.append(f"<h3>Before and after, table by table</h3>{_tables(some, each)}")
    if found.left:
        ordered = sorted(found.left.items(), key=lambda pair: (-pair[1], pair[0]))
        out.append(
            "<h3>Left alone</h3>"
            + table(("why", "leaves"), [(why, count(n)) for why, n in ordered], budget=6_000)
        )
    out.append(f'<p class="source">{safe("; ".join(plan.basis))}</p>')
    return "".join(out)
