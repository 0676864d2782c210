"""Rules about slow catalog queries, lock waits and the size of the lock table."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.places import where
from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, duration, plural
from gpcatalog.model.timing import ACTIVE_SESSIONS, LOCK_MANAGER_WAITS

SLOW_PLAN_MS = 1000.0  # limit of gpcatalog: longer than most short queries run
LONG_WAIT_MS = 10_000.0  # limit of gpcatalog: shortest wait of DDL that is reported


@rule("describe-slow", Harm.SLOW)
def describe_slow(report: Report) -> Iterator[Finding]:
    r"""Listing the tables with \d takes longer than the documentation calls healthy.

    What it finds: the query of psql's \d took more than 2 s when the snapshot was taken.
    Why it matters: the documentation calls this a symptom of a bloated catalog. Every tool that
    lists tables waits as long.
    How sure it is: medium: measured once by this program; a busy server is slow too.
    What to do: check the bloat of pg_class and pg_attribute, vacuum them, and reduce the number of
    leaves.
    """
    limit = limits.DESCRIBE_SECONDS
    for t in report.timings:
        if t.what == "describe" and t.median_ms is not None and t.median_ms > limit.value * 1000:
            yield Finding(
                rule="describe-slow",
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                title=rf"\d takes {duration(t.median_ms / 1000)} (recommended: at most {limit.value:.0f} s)",
                detail=(
                    f"The database has {plural(t.leaves or 0, 'table or leaf partition', 'tables and leaf partitions')}."
                    " Every tool that lists tables waits as long."
                ),
                remedy=(
                    "vacuum the catalogs (`gpcatalog audit --maintenance FILE` writes the script),"
                    " then merge or drop leaves"
                ),
                figures=(
                    Figure("time", t.median_ms / 1000, "s", "measured"),
                    Figure("limit", limit.value, "s", "limit"),
                ),
                source=limit.source,
            )


@rule("planning-slow", Harm.SLOW)
def planning_slow(report: Report) -> Iterator[Finding]:
    """Planning a query over all partitions of a table takes more than a second in a new session.

    What it finds: the first EXPLAIN of SELECT * over one of the widest tables took more than 1 s in
    a new session.
    Why it matters: every new session waits this long before its first query, and keeps the relation
    cache in memory.
    How sure it is: medium: measured once per table. The limit is this program's own; none is
    published.
    What to do: reduce the number of leaves, keep connections open, and write queries that prune.
    """
    slow = [
        t
        for t in report.timings
        if t.what == "plan" and t.median_ms is not None and t.median_ms > SLOW_PLAN_MS
    ]
    if not slow:
        return
    worst = max(slow, key=lambda t: t.median_ms or 0)
    built = next(
        (
            t.median_ms
            for t in report.timings
            if t.what == "relation cache" and t.subject == worst.subject
        ),
        None,
    )
    yield Finding(
        rule="planning-slow",
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        title=(
            f"planning a query on all of {worst.subject} takes"
            f" {duration((worst.median_ms or 0) / 1000)} in a new session"
        ),
        detail=f"The table has {plural(worst.leaves or 0, 'leaf', 'leaves')}."
        + (
            f" Building the relation cache takes {duration(built / 1000)} of this." if built else ""
        ),
        remedy="merge leaves of this table, keep connections open, and write queries that prune",
        relations=tuple(t.subject for t in slow),
        relations_total=len(slow),
        figures=(Figure("time", (worst.median_ms or 0) / 1000, "s", "measured"),),
        source="measured on this server",
    )


@rule("ddl-waits", Harm.OUTAGE, own_remedy=True)
def ddl_waits(report: Report) -> Iterator[Finding]:
    """DDL was waiting for a lock when the snapshot was taken.

    What it finds: sessions whose DDL had been waiting for more than 10 s.
    Why it matters: later statements on the same table, SELECT included, wait behind it.
    How sure it is: medium: read from the server at one moment. Without pg_read_all_stats, sessions
    of other roles are not visible.
    What to do: run `gpcatalog latency` to see which session blocks which. End the blocking session,
    or set lock_timeout for DDL.
    """
    for t in report.timings:
        if t.what == "waiting ddl" and t.p95_ms is not None and t.p95_ms > LONG_WAIT_MS:
            yield Finding(
                rule="ddl-waits",
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                title=(
                    f"{plural(t.n, 'DDL statement')} waited for a lock for up to"
                    f" {duration(t.p95_ms / 1000)}"
                ),
                detail=(
                    "At the time of the snapshot. Later statements on the same tables waited too."
                ),
                remedy="run `gpcatalog latency` to see the blocking sessions; set lock_timeout in DDL jobs",
                figures=(
                    Figure("sessions", t.n, "sessions", "measured"),
                    Figure("longest", t.p95_ms / 1000, "s", "measured"),
                ),
                source="pg_stat_activity and pg_locks of this server",
            )


@rule("backup-locks-too-many", Harm.OUTAGE, own_remedy=True)
def backup_locks_too_many(report: Report) -> Iterator[Finding]:
    """A dump of the whole database needs more lock slots than the server has.

    What it finds: relations that pg_dump locks, at least 80 % of the lock slots.
    Why it matters: pg_dump and gpbackup lock all tables in one transaction. It fails with "out of
    shared memory".
    How sure it is: medium: tables are counted, slots are computed from the settings. All sessions
    share the slots, so a dump can fail earlier.
    What to do: raise max_locks_per_transaction (restart), dump each schema separately, or reduce
    the number of leaves.
    """
    slots = limits.lock_slots(report.settings)
    if report.census is None:
        return
    need = report.census.partitions_metric + report.census.partitioned_tables
    if slots is None or need < 0.8 * slots:
        return
    over = need > slots
    yield Finding(
        rule="backup-locks-too-many",
        severity=Severity.WARNING if over else Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        title=(
            f"a dump of the whole database needs {count(need)} lock slots; the server has"
            f" {count(slots)}"
        ),
        detail="One lock for each table and leaf, held until the dump ends."
        + ("" if over else " Other sessions need slots too."),
        remedy="raise max_locks_per_transaction, or dump each schema separately",
        figures=(
            Figure("locks", need, "locks", "derived"),
            Figure("slots", slots, "locks", "derived"),
        ),
        source=limits.LOCK_SLOTS_SOURCE,
    )


@rule("lock-manager-waits", Harm.SLOW)
def lock_manager_waits(report: Report) -> Iterator[Finding]:
    """Sessions wait for the shared lock table.

    What it finds: sessions that wait for the lock manager in one of three looks at pg_stat_activity
    (wait event LockManager), on any instance.
    Why it matters: a session keeps its first locks on relations in slots of its own: 16 before
    PostgreSQL 18 and on Greenplum, then as many as max_locks_per_transaction. A query that reads
    all leaves of a partitioned table needs a lock for each leaf and index. Those beyond the slots
    go through the shared lock table, whose partitions only one session at a time can change.
    How sure it is: the waits are read from the server, at one moment. The locks come from the cost
    model, which equals pg_locks on test servers. Greenplum 6 does not show this wait.
    What to do: let queries name the partition key, merge leaves of the tables listed, and drop
    indexes that are not used. On PostgreSQL 18 and later, increase max_locks_per_transaction.
    """
    waits = {t.content: t.n for t in report.timings if t.what == LOCK_MANAGER_WAITS and t.n}
    if not waits:
        return
    worst = max(waits, key=lambda c: (waits[c], -(c if c is not None else -1)))
    active = next(
        (t.n for t in report.timings if t.what == ACTIVE_SESSIONS and t.content == worst), 0
    )
    locks = report.query_locks
    tables = ""
    if locks is not None and locks.slots is not None and locks.tables:
        first = locks.most[0]
        tables = (
            f" Queries that read all leaves of {plural(locks.tables, 'table')} need more locks than"
            f" the {count(locks.slots)} slots of a session; {first.schema}.{first.name} needs"
            f" {count(first.locks)}."
        )
    content = -1 if worst is None else worst
    yield Finding(
        rule="lock-manager-waits",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        title=(
            f"{count(waits[worst])} of {plural(active, 'active session')} on"
            f" {where(content, report)} {'waits' if waits[worst] == 1 else 'wait'} for the shared lock"
            " table"
        ),
        detail=f"Read in three looks at the time of the audit.{tables}",
        remedy=(
            "let queries name the partition key, and merge leaves of tables with many leaves and"
            " indexes (`gpcatalog plan`)"
        ),
        relations=tuple(f"{t.schema}.{t.name}" for t in locks.most[:10]) if locks else (),
        relations_total=locks.tables if locks else 0,
        figures=(
            Figure("waiting sessions", waits[worst], "sessions", "measured"),
            Figure("active sessions", active, "sessions", "measured"),
        ),
        source="pg_stat_activity",
        content=content,
    )
