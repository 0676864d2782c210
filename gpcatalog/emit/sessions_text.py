"""The part of an audit about sessions: locks and memory of their queries, their start, and the age
of transactions.
"""

from __future__ import annotations

from rich.console import Console

from gpcatalog.audit.places import where
from gpcatalog.audit.report import Report
from gpcatalog.audit.statement_times import EXCLUSIVE
from gpcatalog.capacity.durations import SOURCE as TIME_SOURCE
from gpcatalog.capacity.memory import SOURCE
from gpcatalog.emit.terminal import heading, table, text
from gpcatalog.model.quantity import count, duration, plural, size

QUERY_LOCKS_SHOWN = 5


def show_query_locks(report: Report, out: Console) -> None:
    """Print tables whose queries need more locks than a session has fast-path slots."""
    locks = report.query_locks
    if locks is None or locks.slots is None or not locks.tables:
        return
    rows = [
        (f"{t.schema}.{t.name}", count(t.leaves), count(t.locks))
        for t in locks.most[:QUERY_LOCKS_SHOWN]
    ]
    out.print()
    out.print(table("", ("Locks of a query that reads all leaves", "leaves", "locks"), rows))
    out.print(
        text(
            f"{plural(locks.tables, 'table')} need{'s' if locks.tables == 1 else ''} more than the"
            f" {count(locks.slots)} fast-path slots of a session; the other locks go through the"
            " shared lock table.",
            "dim",
        )
    )


MEMORY_SHOWN, MEMORY_FROM = 5, 16 << 20  # tables; lowest number of bytes that a session keeps


def show_session_memory(report: Report, out: Console) -> None:
    """Print the tables for which a session keeps the most memory."""
    memory = report.session_memory
    shown = [t for t in (memory.most if memory else ()) if t.most >= MEMORY_FROM][:MEMORY_SHOWN]
    if not shown:
        return
    greenplum = shown[0].segment_bytes is not None
    heads = ("coordinator", "each segment") if greenplum else ("server",)
    rows = [
        (
            f"{t.schema}.{t.name}",
            count(t.leaves),
            size(t.bytes),
            *((size(t.segment_bytes),) if t.segment_bytes is not None else ()),
        )
        for t in shown
    ]
    out.print()
    out.print(
        table("", ("Memory a session keeps after a query over all of", "leaves", *heads), rows)
    )
    out.print(text(f"Estimates; {SOURCE}. A session keeps it until it ends.", "dim"))


TIMES_SHOWN, TIMES_FROM = 5, 10.0  # tables; lowest number of seconds of the longest statement


def show_statement_times(report: Report, out: Console) -> None:
    """Print the tables with the longest DDL."""
    times = report.statement_times
    shown = [t for t in (times.tables if times else ()) if t.longest[0] >= TIMES_FROM][:TIMES_SHOWN]
    if times is None or not shown:
        return
    rows = [
        (
            f"{t.schema}.{t.name}",
            count(t.leaves),
            *(duration(t.seconds.get(action.value)) for action in EXCLUSIVE),
        )
        for t in shown
    ]
    out.print()
    out.print(table("", ("Time that DDL locks a table", "leaves", *EXCLUSIVE.values()), rows))
    out.print(
        text(
            f"Estimates without rows, at {times.pace.words}; {TIME_SOURCE}.",
            "dim",
        )
    )


def show_session_state(report: Report, out: Console) -> None:
    """Print the pages that a session start reads, and the ages of the oldest database, catalog and
    relation.
    """
    starts, ages = report.session_starts or (), report.ages or ()
    if not starts and not ages:
        return
    heading(out, "Session starts and age of transactions")
    if starts:
        worst = max(starts, key=lambda s: (s.bytes, -s.content))
        out.print(
            text(
                f"a session start without pg_internal.init reads {size(worst.bytes)} of"
                f" pg_attribute on {where(worst.content, report)}"
                + (" (the most)" if report.server.segments else "")
            )
        )
    for kind in ("database", "catalog", "relation"):
        oldest = next((a for a in ages if a.kind == kind), None)
        if oldest is not None:
            out.print(
                text(
                    f"oldest {kind}: {oldest.name} on {where(oldest.content, report)},"
                    f" {plural(oldest.xid_age, 'transaction')}"
                )
            )
    multixacts = [a for a in ages if a.multixact_age is not None]
    if multixacts:
        oldest = max(multixacts, key=lambda a: a.multixact_age or 0)
        out.print(
            text(
                f"oldest multixact: {oldest.name}, {plural(oldest.multixact_age or 0, 'multixact')}"
            )
        )
