"""The text of a plan: before and after, table by table, its cost and the basis of its numbers."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from gpcatalog.capacity.limits import GIB
from gpcatalog.emit.action_titles import time_title
from gpcatalog.emit.terminal import table, text
from gpcatalog.model.clients import CLIENT
from gpcatalog.model.emptiness import basis_words
from gpcatalog.model.quantity import change, count, duration, plural, size
from gpcatalog.planner.explain import Row
from gpcatalog.planner.plan import CurvePoint, Plan, TablePlan, changed, session_memory
from gpcatalog.planner.policy import Weights

OPTIMAL = 5e-7  # a smaller gap would be shown as 0.0000 %: the plan is called optimal
TABLES_SHOWN = 20
POINTS_SHOWN = 12
LOSSES_SHOWN = 5  # lines per table


def _heading(out: Console, words: str) -> None:
    out.print()
    out.print(Text(words, style="bold"))


def _line(out: Console, words: str) -> None:
    out.print(Padding(text(words), (0, 0, 0, 2)))


def _steps(t: TablePlan) -> dict[str, str]:
    """The cells of a table in the columns that only some plans have, by heading."""
    if t.alone:
        return {}
    numbers = {"merged": t.merges, "converted": t.converted, "dropped": t.dropped}
    found = {heading: count(n) for heading, n in numbers.items() if n}
    if not found and t.leaves_after != t.leaves:
        found["other"] = "rebuilt"
    elif not found and t.rows_after != t.rows:
        found["other"] = "level removed"
    return found


def _totals(plan: Plan, tables: list[TablePlan], out: Console) -> None:
    b, a = plan.before, plan.after
    rows = [
        ("leaf partitions", count(b.leaves), count(a.leaves), change(b.leaves, a.leaves)),
        (
            "catalog rows per segment" if plan.source.segments else "catalog rows",
            count(b.rows),
            count(a.rows),
            change(b.rows, a.rows),
        ),
        (
            "catalog bytes, all instances (est.)",
            size(b.catalog_bytes),
            size(a.catalog_bytes),
            change(b.catalog_bytes, a.catalog_bytes),
        ),
        (
            "files per segment" if plan.source.segments else "files",
            count(b.files),
            count(a.files),
            change(b.files, a.files),
        ),
    ]
    if b.average_file is not None and a.average_file is not None:
        rows.append(
            (
                "table data per file (est.)",
                size(b.average_file),
                size(a.average_file),
                change(b.average_file, a.average_file),
            )
        )
    if b.catalog_query_ms is not None and a.catalog_query_ms is not None:
        rows.append(
            (
                "catalog query time (est., published)",
                duration(b.catalog_query_ms / 1000),
                duration(a.catalog_query_ms / 1000),
                change(b.catalog_query_ms, a.catalog_query_ms),
            )
        )
    kept, keeps = session_memory(tables)
    if kept:
        rows.append(
            (
                "memory a session keeps, all tables (est.)",
                size(kept),
                size(keeps),
                change(kept, keeps),
            )
        )
    out.print(Padding(table("", ("", "before", "after", "change"), rows), (0, 0, 0, 2)))


def _times(plan: Plan, out: Console) -> None:
    """Print the durations of statements before and after the plan."""
    if not plan.times:
        return
    rows = [
        (time_title(t), duration(t.before), duration(t.after), change(t.before, t.after))
        for t in plan.times
    ]
    _heading(out, "Time of statements (estimates)")
    out.print(Padding(table("", ("", "before", "after", "change"), rows), (0, 0, 0, 2)))
    measured = [
        words
        for client, words in ((False, "plan"), (True, "clients (without what opens tables)"))
        if any(t.measured and (t.what == CLIENT) == client for t in plan.times)
    ]
    if measured:
        _line(out, f"measured on this server before the change: {', '.join(measured)}")


def _tables(tables: list[TablePlan], files: str, out: Console) -> None:
    touched = changed(tables)
    steps = [_steps(t) for t in touched[:TABLES_SHOWN]]
    some = [h for h in ("merged", "converted", "dropped", "other") if any(h in s for s in steps)]
    rows = [
        (
            f"{t.schema}.{t.table}",
            f"{count(t.leaves)} → {count(t.leaves_after)}",
            f"{count(t.files)} → {count(t.files_after)}",
            size(t.rewrite),
            *(cells.get(heading, "") for heading in some),
        )
        for t, cells in zip(touched, steps, strict=False)
    ]
    _heading(out, "Tables by saved leaves")
    if not rows:
        _line(out, "no table changes")
    else:
        heads = ("table", "leaves", files, "rewrite", *some)
        out.print(Padding(table("", heads, rows), (0, 0, 0, 2)))
    if len(touched) > TABLES_SHOWN:
        _line(out, f"and {count(len(touched) - TABLES_SHOWN)} more; --format json lists all")


def _later_rows(table: TablePlan) -> str:
    """Where rows go that arrive later for leaves that were dropped."""
    if table.depth > 1:  # each parent has a default partition or not
        return "go to a default partition of the same parent, or are rejected"
    if table.default:
        return "go to the default partition"
    return "are rejected, because no partition accepts them"


def _drops(tables: list[TablePlan], plan: Plan, out: Console) -> None:
    """Print drops separately: merged and rewritten leaves still exist, but dropped leaves no longer
    accept rows.
    """
    some = sorted((t for t in tables if t.dropped), key=lambda t: (-t.dropped, t.schema, t.table))
    if not some:
        return
    _heading(out, f"Empty leaves that would be dropped: {count(sum(t.dropped for t in some))}")
    rows = [
        (
            f"{t.schema}.{t.table}",
            count(t.dropped),
            _later_rows(t),
        )
        for t in some[:TABLES_SHOWN]
    ]
    out.print(
        Padding(
            table("", ("table", "leaves", "rows that arrive later"), rows, left=3),
            (0, 0, 0, 2),
        )
    )
    if len(some) > TABLES_SHOWN:
        _line(
            out,
            f"and {plural(len(some) - TABLES_SHOWN, 'table')} more; --format json lists all",
        )
    _line(
        out,
        f"Empty leaves are measured from {basis_words(plan.source.filled_basis)}; the migration"
        " checks again under the lock. Only leaves older than hot_days, or that begin later than"
        " premade_days, are dropped, and unused subpartitions (unused_subpartitions) whose rows a"
        ' default subpartition accepts. empty = "keep" in a policy keeps them. --explain TABLE lists'
        " them.",
    )


def thinned(points: list[CurvePoint], most: int = POINTS_SHOWN) -> list[CurvePoint]:
    """At most this number of points of a curve: the first, the last, the chosen, and others at
    equal distances in rewritten bytes.
    """
    seen: set[tuple[int, int, int]] = set()
    distinct: list[CurvePoint] = []
    for p in sorted(points, key=lambda p: not p.chosen):
        key = (p.leaves, p.files, p.rewrite)
        if key not in seen:
            seen.add(key)
            distinct.append(p)
    distinct.sort(key=lambda p: (p.rewrite, -p.leaves))
    if len(distinct) <= most:
        return distinct
    top = max(1, distinct[-1].rewrite)
    positions = {0, len(distinct) - 1} | {n for n, p in enumerate(distinct) if p.chosen}
    marks = most - len(positions)
    for k in range(1, marks + 1):
        left = [n for n in range(len(distinct)) if n not in positions]
        positions.add(min(left, key=lambda n: abs(distinct[n].rewrite - top * k / (marks + 1))))
    return [distinct[n] for n in sorted(positions)]


def _curve(points: list[CurvePoint], out: Console) -> None:
    _heading(out, "Leaves and files by rewritten bytes")
    rows = []
    last: CurvePoint | None = None
    for p in thinned(points):
        per = ""
        if last is not None and p.rewrite - last.rewrite >= GIB:
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
    out.print(
        Padding(
            table(
                "",
                (
                    "rewritten",
                    "leaves",
                    "files",
                    "time (est.)",
                    "more read per day",
                    "files per TB",
                ),
                rows,
            ),
            (0, 0, 0, 2),
        )
    )


def _left(plan: Plan, left: dict[str, int], out: Console) -> None:
    if not left:
        return
    _heading(out, "Leaves that do not change")
    rows = [
        (reason, count(n))
        for reason, n in sorted(left.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    out.print(Padding(table("", ("why", "leaves"), rows), (0, 0, 0, 2)))


def _losses(losses: list[tuple[str, list[str]]], out: Console) -> None:
    if not losses:
        return
    _heading(out, "Properties that are lost")
    for name, lost in losses[:TABLES_SHOWN]:
        for line in lost[:LOSSES_SHOWN]:
            _line(out, f"{name}: {line}")
        if len(lost) > LOSSES_SHOWN:
            _line(
                out,
                f"{name}: and {count(len(lost) - LOSSES_SHOWN)} more; --explain {name} lists all",
            )
    if len(losses) > TABLES_SHOWN:
        _line(
            out,
            f"and {plural(len(losses) - TABLES_SHOWN, 'more table')}; --format json lists all",
        )


def _limits(plan: Plan, out: Console) -> None:
    """Print the values of the plan's limits before and after the plan."""
    if not plan.limits:
        return
    _heading(out, "Limits")
    shown: dict[str, Callable[[float], str]] = {"bytes": size, "s": duration}
    rows = []
    for x in plan.limits:
        to_text = shown.get(x.unit, count)
        rows.append(
            (
                f"{x.name} ({x.source})",
                to_text(x.before),
                to_text(x.after),
                to_text(x.limit),
                "ok" if x.kept else "exceeded",
            )
        )
    out.print(Padding(table("", ("limit", "before", "after", "limit", ""), rows), (0, 0, 0, 2)))


def _basis(plan: Plan, out: Console) -> None:
    """Print the distance of the plan from the optimum, the weights, and the basis of its
    numbers.
    """
    _heading(out, "Optimality and sources")
    o, w = plan.optimum, plan.weights
    against = (
        "all groupings of all tables" if o.bound_over == "groupings" else "the points of the curves"
    )
    _line(
        out,
        (
            f"cost {o.cost:,.1f} points: optimal (proven) over {against}"
            if o.exact and o.gap < OPTIMAL
            else f"cost {o.cost:,.1f} points: at most {o.gap:.4%} above the optimum over {against}"
            + ("" if o.exact else " (search stopped early)")
        ),
    )
    _line(out, _points(w))
    for line in plan.basis:
        _line(out, line)


def _points(w: Weights) -> str:
    """The weights in points."""
    return (
        f"points: catalog row {w.row:g}, file {w.file:g}, rewritten MB {w.rewrite:g}, additional"
        f" MB read per day {w.scan:g}, dropped empty leaf {w.drop:g}"
    )


def show(
    plan: Plan,
    tables: list[TablePlan],
    left: dict[str, int],
    losses: list[tuple[str, list[str]]],
    out: Console,
) -> None:
    """Print the plan.

    tables: without steps; left: number of unchanged leaves by reason; losses: for each table,
            sentences about what it loses
    """
    s = plan.source
    out.print(
        text(
            f"Plan {plan.id} · {s.database} on {s.host or 'local'}:{s.port} · {s.product}"
            f" {s.version} · snapshot of {s.taken_at}",
            "bold",
        )
    )
    _verdict(plan, tables, out)
    for note in plan.notes:
        out.print(text(note))
    _heading(out, "Before and after")
    _totals(plan, tables, out)
    _times(plan, out)
    e = plan.effort
    _heading(out, "Cost")
    _line(
        out,
        f"{size(e.rewrite)} rewritten in about {duration(e.seconds)} (estimate),"
        f" queries read {size(e.scan_bytes_per_day)} more per day (estimate)",
    )
    _ways(plan, out)
    _limits(plan, out)
    _tables(tables, "files per segment" if s.segments else "files", out)
    _drops(tables, plan, out)
    _losses(losses, out)
    _curve(plan.curve, out)
    _left(plan, left, out)
    _basis(plan, out)


def _verdict(plan: Plan, tables: list[TablePlan], out: Console) -> None:
    """Print the effect of the plan in one sentence, and the next step."""
    e, planned = plan.effort, len(changed(tables))
    before, after = plan.before.leaves, plan.after.leaves
    out.print(
        text(
            f"{count(before)} → {count(after)} leaf partitions ({change(before, after)}):"
            f" {plural(e.merges, 'merge')}, {plural(e.converted, 'leaf', 'leaves')} converted,"
            f" {count(e.dropped)} dropped; {count(planned)} of"
            f" {plural(len(tables), 'partitioned table')} {'changes' if planned == 1 else 'change'}."
        )
    )
    if planned:
        out.print(
            text(
                "Next: write the plan to a file with --format json -o plan.json, then run"
                " `gpcatalog migrate plan.json -o FOLDER`."
            )
        )
    out.print()


def _ways(plan: Plan, out: Console) -> None:
    """Print how long readers wait with each method to merge."""
    if not plan.merge_ways:
        return
    found = {w.way: w for w in plan.merge_ways}
    swaps, statements = found["scripts"], found["MERGE PARTITIONS"]
    _line(
        out,
        f"merges take about {duration(swaps.seconds)}: readers wait {duration(swaps.waiting)} of it"
        f" with the scripts of migrate, and {duration(statements.waiting)} with MERGE PARTITIONS"
        " (--merge-partitions), which takes as long",
    )
    _line(out, f"(estimates; {swaps.source})")


def explain(table_plan: TablePlan, rows: list[Row], weights: Weights, out: Console) -> None:
    """Print the grouping of one table, one character per leaf."""
    t = table_plan
    out.print(
        text(
            f"{t.schema}.{t.table} · {count(t.leaves)} → {count(t.leaves_after)} leaves · key"
            f" {t.key or '-'} ({t.axis})",
            "bold",
        )
    )
    if t.alone:
        out.print(text(f"not changed: {t.alone}"))
    for row in rows:
        out.print()
        out.print(
            text(
                f"{row.where}  {count(row.leaves)} {'leaf' if row.leaves == 1 else 'leaves'},"
                f" {size(row.bytes)}"
            )
        )
        _line(out, row.bars)
        _line(out, row.what)
        if row.coarser:
            _line(out, f"why not larger: {row.coarser}")
        if row.finer:
            _line(out, f"why not smaller: {row.finer}")
    out.print()
    out.print(
        text(
            "One character per partition: the height is its size, · is empty, ? is an unknown size."
        )
    )
    out.print(text(_points(weights)))
    for step in t.steps:
        out.print(text(f"{step.id}  {step.explanation}"))
        for line in step.lost:
            _line(out, f"lost: {line}")
