"""The sessions section of the page: memory and locks of queries over whole tables, duration of
statements, session starts, and the age of transactions.
"""

from __future__ import annotations

from gpcatalog.audit.places import where
from gpcatalog.audit.report import Report
from gpcatalog.capacity.durations import SOURCE as TIME_SOURCE
from gpcatalog.capacity.durations import Action
from gpcatalog.capacity.memory import SOURCE
from gpcatalog.emit.action_titles import TITLES
from gpcatalog.emit.html_parts import prose, table
from gpcatalog.model.quantity import count, duration, plural, size

INSTANCES = 20  # number of entries, the worst first, in each table


def sessions_section(report: Report) -> str:
    """All tables of the section; empty if no part of it was read."""
    return "".join(
        (_memory(report), _times(report), _locks(report), _starts(report), _ages(report))
    )


def _memory(report: Report) -> str:
    memory = report.session_memory
    if memory is None or not memory.most:
        return ""
    segments = memory.most[0].segment_bytes is not None
    planned = memory.statement_mem is not None
    heads = [
        "memory kept after a query over all of",
        "leaves",
        "coordinator" if segments else "server",
        *(("each segment",) if segments else ()),
        *(("statement_mem needed",) if planned else ()),
    ]
    rows = [
        (
            f"{t.schema}.{t.name}",
            count(t.leaves),
            size(t.bytes),
            *((size(t.segment_bytes or 0),) if segments else ()),
            *((size(t.statement_mem or 0),) if planned else ()),
        )
        for t in memory.most
    ]
    classes = [
        "over" if planned and (t.statement_mem or 0) > (memory.statement_mem or 0) else ""
        for t in memory.most
    ]
    note = ["A session keeps at least this memory until it ends."]
    if memory.statement_mem is not None:
        note.append(
            "The Postgres planner needs 100 KB of statement_mem for each leaf of a plan; a statement"
            f" has {size(memory.statement_mem)} on this server."
        )
    if memory.vmem is not None:
        note.append(f"All sessions of an instance may have {size(memory.vmem)}.")
    return (
        f"<p>{prose(' '.join(note))}</p>"
        + table(heads, rows, label="Memory that sessions keep", classes=classes)
        + f'<p class="source">Estimates; {prose(SOURCE)}.</p>'
    )


def _times(report: Report) -> str:
    times = report.statement_times
    if times is None or not times.tables:
        return ""
    actions = (
        Action.ADD_COLUMN,
        Action.CREATE_INDEX,
        Action.TRUNCATE,
        Action.DROP,
        Action.ADD,
        Action.PLAN_FIRST,
    )
    rows = [
        (
            f"{t.schema}.{t.name}",
            count(t.leaves),
            *(duration(t.seconds.get(action.value)) for action in actions),
        )
        for t in times.tables
    ]
    heads = ("time of statements on", "leaves", *(TITLES[action] for action in actions))
    backup = "" if times.backup is None else f" pg_dump --schema-only: {duration(times.backup)}."
    note = f"Without rows, at {times.pace.words}.{backup}"
    return (
        f"<p>{prose(note)}</p>"
        + table(heads, rows, label="Time of statements")
        + f'<p class="source">Estimates; {prose(TIME_SOURCE)}.</p>'
    )


def _locks(report: Report) -> str:
    locks = report.query_locks
    if locks is None or locks.slots is None or not locks.tables:
        return ""
    rows = [(f"{t.schema}.{t.name}", count(t.leaves), count(t.locks)) for t in locks.most]
    return (
        f"<p>Queries that read all leaves of {plural(locks.tables, 'table')} need more than the"
        f" {count(locks.slots)} fast-path slots of a session; the other locks go through the shared"
        " lock table.</p>"
    ) + table(
        ("query that reads all leaves of", "leaves", "locks"), rows, label="Locks of such queries"
    )


def _starts(report: Report) -> str:
    starts = sorted(report.session_starts or (), key=lambda s: (-s.bytes, s.content))
    if not starts:
        return ""
    rows = [(where(s.content, report), count(s.pages), size(s.bytes)) for s in starts[:INSTANCES]]
    return (
        "<p>What a session start without pg_internal.init reads of pg_attribute, the most first"
        f"{_cut(len(starts))}.</p>"
    ) + table(("session start on", "pages", "bytes"), rows, label="Session starts")


def _ages(report: Report) -> str:
    ages = [a for a in report.ages or () if a.kind == "database"]
    if not ages:
        return ""
    multixacts = any(a.multixact_age is not None for a in ages)
    rows = [
        (
            f"{a.name} on {where(a.content, report)}",
            count(a.xid_age),
            *(("" if a.multixact_age is None else count(a.multixact_age),) if multixacts else ()),
        )
        for a in ages[:INSTANCES]
    ]
    heads = ("oldest of database", "transactions", *(("multixacts",) if multixacts else ()))
    return (
        f"<p>Databases with the oldest transactions, on each instance{_cut(len(ages))}.</p>"
    ) + table(heads, rows, label="Age of the oldest transactions")


def _cut(number: int) -> str:
    return f" ({INSTANCES} of {count(number)})" if number > INSTANCES else ""
