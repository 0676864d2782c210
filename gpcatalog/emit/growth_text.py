"""Growth as text: what grew, which tables caused it, and when limits will be reached."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console

from gpcatalog.emit.spark import spark
from gpcatalog.emit.terminal import table, text
from gpcatalog.growth.result import Forecast, Growth
from gpcatalog.model.quantity import count, duration, plural, size
from gpcatalog.model.timing import Curve

TABLES_SHOWN = 8
SCHEMAS_SHOWN = 5
SEGMENTS_SHOWN = 8
DAYS_SHOWN = 10
SKIPPED_SHOWN = 5


def amount(value: float | None, unit: str) -> str:
    """A number formatted by its unit.

    >>> amount(1536, "bytes"), amount(1500, "rows"), amount(None, "rows"), amount(0.25, "leaves")
    ('1.5 KB', '1,500', '?', '0.2')
    """
    if value is None:
        return "?"
    if unit == "bytes":
        return size(value)
    return f"{value:.1f}" if 0 < abs(value) < 10 and value != round(value) else count(value)


def signed(value: float | None, unit: str) -> str:
    """Format a change; it always has a sign."""
    if value is None:
        return "?"
    return f"{'+' if value >= 0 else '-'}{amount(abs(value), unit)}"


def changed_rates(growth: Growth) -> str:
    """A sentence about series whose rate changed; empty if there are none."""
    since: dict[str, list[str]] = {}
    for s in growth.series:
        if s.since_day > 0:
            day = growth.taken_at[0] + timedelta(days=s.since_day)
            since.setdefault(f"{day:%Y-%m-%d}", []).append(s.what)
    found = [f"since {day}: {', '.join(names)}" for day, names in sorted(since.items())]
    return (
        f"Rates that changed are computed from the time of the change: {'; '.join(found)}."
        if found
        else ""
    )


def when(f: Forecast) -> str:
    """When a limit will be reached, in words."""
    if f.state != "reached":
        words = {
            "over": "exceeded now",
            "far": "not within 20 years",
            "too few points": f"not enough snapshots ({f.points} of 5)",
            "too short a time": "snapshots span less than a day",
        }
        found = words.get(f.state, f.state)
        return f"{found}, earliest {f.earliest}" if f.earliest is not None else found
    end = f"to {f.latest}" if f.latest is not None else "or later, or never"
    return f"{f.expected} ({f.earliest} {end})"


def one_snapshot(growth: Growth) -> str:
    """Why the growth of one snapshot is not known, and what to do."""
    if growth.older is not None:
        return "Only one snapshot is in the period, so that no growth is shown."
    return "There is one snapshot. Take another one tomorrow to see growth."


def older_snapshots(growth: Growth) -> str:
    """A sentence about snapshots before the period; empty if there are none."""
    if growth.older is None:
        return ""
    n = growth.older.snapshots
    return (
        f"{plural(n, 'older snapshot')} {'is' if n == 1 else 'are'} outside the period before the"
        f" newest snapshot. To include {'it' if n == 1 else 'them'}, use --days"
        f" {growth.older.days}."
    )


def not_shown(shown: int, changed: int, listed: int, what: str) -> str:
    """A sentence about tables or schemas that changed and are not shown; empty if there are none.

    changed: all; listed: those in the result, with the largest changes

    >>> not_shown(8, 9, 9, "table")
    '1 more table changed; --format json lists 9.'
    """
    if changed <= shown:
        return ""
    return (
        f"{plural(changed - shown, f'more {what}')} changed; --format json lists {count(listed)}."
    )


def show(growth: Growth, out: Console) -> None:
    """Print all sections; sparklines on a terminal only."""
    first, last = growth.taken_at[0], growth.taken_at[-1]
    out.print(
        text(
            f"{growth.product} {growth.version} · {growth.database} on"
            f" {growth.host or 'local'}:{growth.port}",
            "bold",
        )
    )
    span = duration(growth.days * 86400)
    out.print(
        text(
            f"{plural(len(growth.taken_at), 'snapshot')}, {first:%Y-%m-%d %H:%M} to"
            f" {last:%Y-%m-%d %H:%M} UTC ({span})"
        )
    )
    for name, reason in growth.skipped[:SKIPPED_SHOWN]:
        out.print(text(f"skipped {name}: {reason}", "yellow"))
    if (more := len(growth.skipped) - SKIPPED_SHOWN) > 0:
        words = f"skipped {plural(more, 'more snapshot')}: see --format json"
        out.print(text(words, "yellow"))
    if note := older_snapshots(growth):
        out.print(text(note, "yellow" if len(growth.taken_at) < 2 else "dim"))
    if len(growth.taken_at) < 2:
        out.print(text(one_snapshot(growth), "yellow"))
        _operations(growth, out)
        return
    if growth.days < 1:
        out.print(
            text(
                "The snapshots span less than a day: changes are shown without daily rates.",
                "yellow",
            )
        )
    _series(growth, out)
    _leaves(growth, out)
    _segments(growth, out)
    _churn(growth, out)
    _operations(growth, out)
    _forecasts(growth, out)
    curves(growth.curves, out)


def _series(growth: Growth, out: Console) -> None:
    long = growth.days >= 1
    on_terminal = out.file.isatty()  # color can be forced for a file, sparklines cannot
    rows = []
    for s in growth.series:
        then = next(v for v in s.values if v is not None)
        row = [s.what, amount(then, s.unit), amount(s.now, s.unit)]
        row += [signed(s.per_day, s.unit), signed(s.per_day * 7 if s.per_day is not None else None, s.unit)] if long else [
            signed(s.change, s.unit)
        ]  # fmt: skip
        if on_terminal:
            row.append(spark(s.values, 12))
        rows.append(row)
    heads = [
        "Growth",
        "first",
        "last",
        *(("per day", "per week") if long else ("change",)),
        *(("",) if on_terminal else ()),
    ]
    out.print()
    out.print(table("", heads, rows))
    if long:
        out.print(text(f"Rates are estimates ({growth.method}).", "dim"))
        if note := changed_rates(growth):
            out.print(text(note, "dim"))


def _leaves(growth: Growth, out: Console) -> None:
    out.print()
    exact = (
        ""
        if growth.leaves_compared == len(growth.taken_at) - 1
        else (
            " (partly from totals: leaves that were created and dropped between two"
            " snapshots are not included)"
        )
    )
    out.print(
        text(
            f"leaves added {count(growth.leaves_added)}, dropped"
            f" {count(growth.leaves_dropped)}{exact}"
        )
    )
    if not growth.tables:
        return
    rows = [
        (
            f"{t.schema}.{t.name}" + ("" if t.state == "there" else f" ({t.state})"),
            count(t.leaves_now),
            f"+{count(t.added)}" if t.added else "0",
            f"-{count(t.dropped)}" if t.dropped else "0",
            signed(t.rows, "rows"),
            signed(t.files, "files") if t.files is not None else "?",
            signed(t.bytes, "bytes") if t.bytes is not None else "?",
        )
        for t in growth.tables[:TABLES_SHOWN]
    ]
    out.print(
        table("", ("Changed most", "leaves", "added", "dropped", "rows", "files", "bytes"), rows)
    )
    if note := not_shown(TABLES_SHOWN, growth.tables_changed, len(growth.tables), "table"):
        out.print(text(note, "dim"))
    out.print(
        text(
            "Rows are of pg_class and pg_attribute on each instance. Files and bytes are of all"
            " segments, without those of indexes and TOAST relations.",
            "dim",
        )
    )
    if len(growth.schemas) > 1:
        by_schema = [
            (s.schema, s.name, count(s.added), count(s.dropped), signed(s.rows, "rows"))
            for s in growth.schemas[:SCHEMAS_SHOWN]
        ]
        out.print(table("", ("By schema", "", "added", "dropped", "rows"), by_schema, left=2))
        schemas = len(growth.schemas)
        if note := not_shown(SCHEMAS_SHOWN, growth.schemas_changed, schemas, "schema"):
            out.print(text(note, "dim"))


def diverging_rows(growth: Growth) -> list[tuple[str, ...]]:
    """Cells of the catalogs of segments that differ most from that of the median segment."""
    return [
        (
            d.relation,
            str(d.content),
            size(d.bytes),
            size(d.median),
            f"{d.ratio:.2f} ×",
            f"{d.shrank_at:%Y-%m-%d %H:%M}" if d.shrank_at else "",
        )
        for d in growth.diverging[:SEGMENTS_SHOWN]
    ]


def _segments(growth: Growth, out: Console) -> None:
    if not any(i.content >= 0 for i in growth.instances):
        return
    out.print()
    if not growth.diverging:
        out.print(
            text(
                "The catalogs of all segments have about the same size: each is within 25 % or 1 MB"
                " of the median.",
                "dim",
            )
        )
        return
    heads = (
        "Segments of different size",
        "seg",
        "bytes",
        "median",
        "ratio",
        ("vacuumed separately"),
    )
    out.print(table("", heads, diverging_rows(growth)))
    if len(growth.diverging) > SEGMENTS_SHOWN:
        out.print(
            text(f"{count(len(growth.diverging) - SEGMENTS_SHOWN)} more: see --format json", "dim")
        )


def _churn(growth: Growth, out: Console) -> None:
    rows = []
    for relation in ("pg_class", "pg_attribute"):
        of = [c for c in growth.churn if c.relation == relation]
        if not of:
            continue
        entry = next((c for c in of if c.content == -1), of[0])
        most = max(of, key=lambda c: (c.passing or 0, -c.content))
        for c in [entry, *([most] if most is not entry and most.passing != entry.passing else [])]:
            rate = [signed(c.per_day, "rows")] if growth.days >= 1 else []
            where = "entry" if c.content == -1 else str(c.content)
            rows.append(
                (
                    relation,
                    where,
                    count(c.inserted),
                    count(c.updated),
                    count(c.deleted),
                    amount(c.passing, "rows"),
                    *rate,
                )
            )
    if rows:
        heads = (
            "Rows written",
            "on",
            "inserted",
            "updated",
            "deleted",
            "removed",
            *(("per day",) if growth.days >= 1 else ()),
        )
        out.print()
        out.print(table("", heads, rows))
        out.print(
            text(
                "From the statistics of the server. Removed rows belong to temporary tables,"
                " dropped tables and DDL that was rolled back.",
                "dim",
            )
        )


def _operations(growth: Growth, out: Console) -> None:
    days = growth.operation_days[-DAYS_SHOWN:]
    if days:
        rows = [
            (
                f"{d.day}",
                count(d.created),
                count(d.leaves_created),
                count(d.altered),
                count(d.truncated),
            )
            for d in days
        ]
        more = ""
        if (all_days := len(growth.operation_days)) > DAYS_SHOWN:
            more = f" The last {DAYS_SHOWN} of {all_days} days; --format json lists all."
        out.print()
        out.print(
            table(
                "",
                ("Relations by day (UTC)", "created", "leaves created", "altered", "truncated"),
                rows,
            )
        )
        out.print(
            text(
                "From pg_stat_last_operation: the last operation of each kind on relations that still"
                f" exist.{more}",
                "dim",
            )
        )
    if growth.last_operations:
        last = [
            (
                f"{o.schema}.{o.name}",
                " ".join(part for part in (o.action, o.detail) if part),
                o.role,
                f"{o.done_at:%Y-%m-%d %H:%M}",
            )
            for o in growth.last_operations[:TABLES_SHOWN]
        ]
        out.print()
        out.print(table("", ("Last DDL", "", "by", "time (UTC)"), last, left=3))


def _forecasts(growth: Growth, out: Console) -> None:
    if not growth.forecasts:
        return
    sources: list[str] = []
    rows = []
    for f in growth.forecasts:
        if f.limit_source not in sources:
            sources.append(f.limit_source)
        mark = chr(ord("a") + sources.index(f.limit_source))
        rows.append((f.what, amount(f.now, f.unit), amount(f.limit, f.unit), mark, when(f)))
    out.print()
    out.print(table("", ("Forecast (estimate)", "now", "limit", "", "reached"), rows))
    out.print(
        text(
            "; ".join(f"{chr(ord('a') + n)}: {source}" for n, source in enumerate(sources)) + ".",
            "dim",
        )
    )


def curves(found: Sequence[Curve], out: Console) -> None:
    """Print the slopes of this server, on Greenplum with the published one."""
    rows: list[tuple[str, ...]] = []
    for c in found:
        own = f"{c.slope:.1f} ms" if c.slope is not None else c.state
        band = (
            f"{c.slope_low:.1f} … {c.slope_high:.1f}"
            if c.slope_low is not None and c.slope_high is not None
            else ""
        )
        published = f"{c.published:.0f} ms" if c.published is not None else ""
        rows.append((c.what, f"{c.points[-1][1]:.1f} ms", own, band, published))
    if rows:
        more = ("published",) if any(c.published is not None for c in found) else ()
        rows = [row if more else row[:-1] for row in rows]
        out.print()
        out.print(
            table("", ("For every 10,000 leaves", "last", "this server", "band", *more), rows)
        )
        if more:
            out.print(
                text(
                    f"{found[0].source}, measured on one test cluster: prefer the slope of your own"
                    " server.",
                    "dim",
                )
            )
