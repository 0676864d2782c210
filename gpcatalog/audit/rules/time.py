"""Rules about time: what the catalog makes people wait for, and locks that would not fit."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.registry import rule
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, duration

SLOW_PLAN_MS = 1000.0  # this program's own: a planning longer than most short queries run
LONG_WAIT_MS = 10_000.0  # DDL that waits for so long holds up all that came after it


@rule("describe-slow")
def describe_slow(report: Report) -> Iterator[Finding]:
    r"""Listing the relations takes longer than the documentation calls healthy.

    What it finds: the query behind psql's \d, timed when the snapshot was taken, took more than 2
    s.
    Why it matters: the documentation calls that a symptom of a bloated catalog; every tool that
    lists tables waits as long.
    How sure it is: measured once, by the clock of this program: a busy machine is slow too.
    What to do: see the bloat of pg_class and pg_attribute; vacuum them, and have fewer leaves.
    """
    limit = limits.DESCRIBE_SECONDS
    for t in report.timings:
        if t.what == "describe" and t.median_ms is not None and t.median_ms > limit.value * 1000:
            yield Finding(
                rule="describe-slow",
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                title=rf"\d takes {duration(t.median_ms / 1000)}: more than {limit.value:.0f} s",
                detail=(
                    f"with {count(t.leaves or 0)} leaves and plain tables; whoever lists tables"
                    " waits as long."
                ),
                remedy=(
                    "vacuum the catalogs (audit --maintenance writes the script), then merge or"
                    " drop leaves"
                ),
                figures=(
                    Figure("time", t.median_ms / 1000, "s", "measured"),
                    Figure("limit", limit.value, "s", "limit"),
                ),
                source=limit.source,
            )


@rule("planning-slow")
def planning_slow(report: Report) -> Iterator[Finding]:
    """Planning a query over a whole partitioned table takes more than a second in a new session.

    What it finds: EXPLAIN of SELECT * over the widest tables, in a session of its own, took longer
    than 1 s the first time.
    Why it matters: every new session pays for it before its query begins, and keeps the relation
    cache in memory.
    How sure it is: measured once a table; the limit is this program's own, nobody published one.
    What to do: fewer leaves in that table; connections that are kept; queries that prune.
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
            f"planning a query over all of {worst.subject} takes"
            f" {duration((worst.median_ms or 0) / 1000)} in a new session"
        ),
        detail=f"{count(worst.leaves or 0)} leaves"
        + (f"; {duration(built / 1000)} of it to build the relation cache." if built else "."),
        remedy="merge leaves of that table, keep connections open, and let queries prune",
        relations=tuple(t.subject for t in slow),
        relations_total=len(slow),
        figures=(Figure("time", (worst.median_ms or 0) / 1000, "s", "measured"),),
        source="measured on this server",
    )


@rule("ddl-waits")
def ddl_waits(report: Report) -> Iterator[Finding]:
    """DDL was waiting for a lock when the snapshot was taken.

    What it finds: sessions whose DDL had been waiting for more than 10 s.
    Why it matters: whatever comes after it on the same table queues behind it, SELECT too.
    How sure it is: the server's own list at one moment; without pg_read_all_stats other roles'
    sessions are hidden.
    What to do: `gpcatalog latency` shows who waits for whom; end the holder, or give DDL a
    lock_timeout.
    """
    for t in report.timings:
        if t.what == "waiting ddl" and t.p95_ms is not None and t.p95_ms > LONG_WAIT_MS:
            yield Finding(
                rule="ddl-waits",
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                title=(
                    f"{count(t.n)} sessions with DDL waited for a lock, the longest for"
                    f" {duration(t.p95_ms / 1000)}"
                ),
                detail=(
                    "at the moment of the snapshot; what came after them on the same tables waited"
                    " too."
                ),
                remedy="`gpcatalog latency` shows who waits for whom; set lock_timeout in DDL jobs",
                figures=(
                    Figure("sessions", t.n, "sessions", "measured"),
                    Figure("longest", t.p95_ms / 1000, "s", "measured"),
                ),
                source="pg_stat_activity and pg_locks of this server",
            )


@rule("backup-locks-too-many")
def backup_locks_too_many(report: Report) -> Iterator[Finding]:
    """A dump of the whole database would need more locks than the lock table has.

    What it finds: relations that pg_dump locks, one lock each, against the lock slots; from 80 %
    on.
    Why it matters: pg_dump and gpbackup lock all tables they dump in one transaction; it ends with
    "out of shared memory".
    How sure it is: tables are counted, slots computed from settings; the slots are shared with all
    other sessions, so it fails sooner.
    What to do: raise max_locks_per_transaction (a restart), back up schema by schema, have fewer
    leaves.
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
            f"a dump of the whole database takes {count(need)} locks; the lock table has"
            f" {count(slots)}"
        ),
        detail="one a table and leaf, held until the dump ends"
        + ("." if over else "; other sessions use the rest."),
        remedy="raise max_locks_per_transaction, or dump schema by schema",
        figures=(
            Figure("locks", need, "locks", "derived"),
            Figure("slots", slots, "locks", "derived"),
        ),
        source=limits.LOCK_SLOTS_SOURCE,
    )
