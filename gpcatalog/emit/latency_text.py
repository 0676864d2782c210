"""The text of `latency`: measured durations, lock slots, and the dead rows of the active probe."""

from __future__ import annotations

from rich.console import Console

from gpcatalog.capacity.durations import Action
from gpcatalog.emit.terminal import table, text
from gpcatalog.latency.result import Latency
from gpcatalog.model.clients import CLIENT, CLIENTS, Reads
from gpcatalog.model.quantity import count, duration, plural, size
from gpcatalog.model.timing import Timing

_TITLES = {
    "connect": "connect, first answer",
    "scan": "catalog scan",
    "scan dispatched": "catalog scan, all segments",
    "describe": r"\d without a name",
    "plan": "plan, new session:",
    "plan again": "plan again:",
    "relation cache": "relation cache:",
}
_ACTIVE = ("create", "add column", "drop", "rollback")


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f} ms" if value < 1000 else duration(value / 1000)


def _row(title: str, t: Timing) -> tuple[str, ...]:
    return (title, str(t.n), _ms(t.min_ms), _ms(t.median_ms), _ms(t.p95_ms))


def show(latency: Latency, out: Console) -> None:
    """Print the whole result."""
    out.print(
        text(
            f"{latency.product} {latency.version} · {latency.database} on"
            f" {latency.host or 'local'}:{latency.port}",
            "bold",
        )
    )
    out.print(
        text(
            f"{latency.taken_at:%Y-%m-%d %H:%M} UTC, "
            f" {plural(latency.partitions, 'table or leaf partition', 'tables and leaf partitions')}"
        )
    )
    rows = []
    for t in latency.timings:
        title = _TITLES.get(t.what)
        if t.what == "scan" and any(other.what == "scan dispatched" for other in latency.timings):
            title = f"{title}, coordinator"
        if title and t.min_ms is not None:
            rows.append(
                _row(
                    f"{title} {t.subject} ({count(t.leaves or 0)} leaves)" if t.subject else title,
                    t,
                )
            )
    heads = ("n", "least", "median", "p95")
    out.print()
    out.print(table("", ("Passive", *heads), rows))
    active = [_row(f"{t.what} {t.subject}", t) for t in latency.timings if t.what in _ACTIVE]
    if active:
        out.print()
        out.print(table("", ("Active DDL, rolled back", *heads), active))
    if any(t.n < 20 for t in latency.timings if t.min_ms is not None):
        out.print(text("With fewer than 20 measurements, p95 is the maximum.", "dim"))
    _clients(latency, out)
    _statement_times(latency, out)
    _startups(latency, out)
    _left(latency, out)
    _statements(latency, out)
    _log(latency, out)
    _activity(latency, out)
    _locks(latency, out)
    for probe, reason in latency.not_read:
        out.print(text(f"not read: {probe}: {reason}", "yellow"))


def _clients(latency: Latency, out: Console) -> None:
    """Print the durations of catalog queries of other programs."""
    of = latency.clients
    timings = {t.subject: t for t in latency.timings if t.what == CLIENT}
    if of is None or not timings:
        return
    rows = []
    for client in CLIENTS:
        if client.title in timings:
            t = timings[client.title]
            rows.append((client.title, count(t.leaves or 0), *_row("", t)[1:4]))
    out.print()
    heads = ("Catalog queries of clients", "relations", "n", "least", "median")
    out.print(table("", heads, rows))
    places = {
        Reads.TABLE: f"table {of.table} ({plural(of.table_partitions, 'partition')})",
        Reads.SCHEMA: f"schema {of.schema}",
        Reads.DATABASE: "the whole database",
    }
    words = [
        f"{' and '.join(names)}: {place}"
        for reads, place in places.items()
        if (names := [c.title for c in CLIENTS if c.reads is reads and c.title in timings])
    ]
    out.print(
        text(
            "; ".join(words) + ". The clients take longer: they also lock tables and"
            " read bounds, definitions and sizes, which open every table.",
            "dim",
        )
    )


TIMES_SHOWN = 5  # tables in the output
_TIMES = {
    Action.ADD_COLUMN: "ADD COLUMN",
    Action.CREATE_INDEX: "INDEX",
    Action.ADD: "ADD PART.",
    Action.DROP_PARTITION: "DROP PART.",
    Action.TRUNCATE: "TRUNCATE",
    Action.PLAN_FIRST: "plan",
}


def _statement_times(latency: Latency, out: Console) -> None:
    """Print the estimated duration of statements on the largest tables."""
    found = latency.statements
    if found is None or not found.tables:
        return
    rows = [
        (
            f"{t.schema}.{t.name} ({count(t.leaves)})",
            *(duration(t.seconds.get(action.value)) for action in _TIMES),
        )
        for t in found.tables[:TIMES_SHOWN]
    ]
    out.print()
    out.print(table("", ("Time of statements (estimate)", *_TIMES.values()), rows))
    backup = f" pg_dump --schema-only: {duration(found.backup)}." if found.backup else ""
    out.print(
        text(
            "ADD COLUMN, INDEX, TRUNCATE: of the whole table; ADD PART., DROP PART.: one partition; plan: a"
            " query over all leaves in a new session. Without the time for rows."
            f"{backup} At {found.pace.words}.",
            "dim",
        )
    )


STARTUPS_SHOWN = 5


def _place(content: int, *, segments: bool) -> str:
    """The name of an instance; the only instance of PostgreSQL is the server."""
    if content >= 0:
        return f"segment {content}"
    return "coordinator" if segments else "server"


def _startups(latency: Latency, out: Console) -> None:
    """Print session starts without pg_internal.init, the slowest first."""
    if not latency.startups:
        return
    segments = any(s.content >= 0 for s in latency.startups)
    rows = [
        (
            _place(s.content, segments=segments),
            count(s.pages_read),
            count(s.pages),
            _ms(s.scan_ms),
            _ms(s.start_ms),
        )
        for s in latency.startups[:STARTUPS_SHOWN]
    ]
    heads = (
        "Session start",
        "pages read",
        "of pg_attribute",
        "scan of all",
        "start longer by, at most",
    )
    out.print()
    out.print(table("", heads, rows))
    rest = len(latency.startups) - STARTUPS_SHOWN
    out.print(
        text(
            "A session start reads these pages if it finds no valid pg_internal.init. The last"
            " column is an upper bound: a query does more with each row."
            + (" Segments: the slowest one." if segments else "")
            + (f" {plural(rest, 'faster instance')} not shown." if rest > 0 else ""),
            "dim",
        )
    )


def _left(latency: Latency, out: Console) -> None:
    if not latency.left:
        return
    segments = any(one.content >= 0 for one in latency.left)
    rows = [
        (
            _place(one.content, segments=segments),
            count(one.predicted_total),
            count(one.counted_total) if one.counted_total is not None else "not counted",
            "yes" if one.equal else "no" if one.counted is not None else "",
            size(one.predicted_bytes),
        )
        for one in latency.left
    ]
    out.print()
    out.print(
        table(
            "",
            (
                f"Dead rows left by {plural(latency.rounds, 'round')}",
                "predicted",
                "counted",
                "equal",
                "bytes (estimate)",
            ),
            rows,
        )
    )
    if latency.stopped:
        out.print(
            text(
                f"ended early: {latency.stopped}; dead rows of the interrupted round are not"
                " included",
                "yellow",
            )
        )
    out.print(text("VACUUM of the catalogs makes their space reusable.", "dim"))


def _statements(latency: Latency, out: Console) -> None:
    rows = [
        (t.subject, count(t.n), _ms(t.min_ms), _ms(t.mean_ms))
        for t in latency.timings
        if t.what == "statement"
    ]
    if rows:
        out.print()
        out.print(table("", ("pg_stat_statements", "calls", "least", "mean"), rows[:10]))


def _log(latency: Latency, out: Console) -> None:
    titles = {
        "log statement": "",
        "log lock wait": "waited long for ",
        "log lock got": "got after waiting ",
        "log cancelled": "cancelled by ",
    }
    rows = [
        (titles[t.what] + t.subject, count(t.n), _ms(t.min_ms), _ms(t.median_ms), _ms(t.p95_ms))
        for t in latency.timings
        if t.what in titles
    ]
    if not rows and latency.log_hours is None:
        return
    span = (
        f"the last {latency.log_hours:g} h"
        if latency.log_hours is not None
        else "at the time of the snapshot"
    )
    out.print()
    if rows:
        out.print(table("", (f"Server log, {span}", "logged", "least", "median", "p95"), rows))
    elif not any(probe == "server_log" for probe, _ in latency.not_read):
        out.print(text(f"the server log has no DDL of this database in {span}"))
    if latency.log_settings:
        out.print(
            text(
                "Log of the coordinator, this database only. Durations depend on:"
                f" {latency.log_settings}.",
                "dim",
            )
        )


def _activity(latency: Latency, out: Console) -> None:
    rows = [
        (
            f"{a.command} (pid {a.pid}, {a.role}, {a.database})",
            a.blocked_by and f"waits for {a.blocked_by}",
            duration(a.seconds),
        )
        for a in latency.activity
    ]
    if rows:
        out.print()
        out.print(table("", ("DDL at this moment", "", "since"), rows, left=2))


def _locks(latency: Latency, out: Console) -> None:
    slots = latency.locks
    if not slots.needs:
        return
    rows, styles = [], []
    for need in slots.needs[:8]:
        share = f"{need.share:.1%}" if need.share is not None else "?"
        rows.append((f"{need.statement} {need.table}", count(need.locks), share))
        styles.append(
            "bold red" if (need.share or 0) > 1 else "yellow" if (need.share or 0) > 0.5 else ""
        )
    out.print()
    have = count(slots.slots) if slots.slots is not None else "?"
    out.print(
        table(
            "",
            (f"Locks, of {have} slots on the coordinator or server", "needs", "share"),
            rows,
            styles=styles,
        )
    )
    out.print(
        text(
            (
                f"Slots: {slots.source}, shared by all sessions. The locks of statements come"
                " from the cost model."
            ),
            "dim",
        )
    )
