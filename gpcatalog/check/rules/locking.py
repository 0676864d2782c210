"""Locks and rewrites: the effect of a statement on concurrent sessions."""

from __future__ import annotations

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import DEFAULT_LOCK_SLOTS, rule
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.quantity import count, duration, plural, size


@rule("drop-wide-root")
def drop_wide_root(s: RuleContext) -> None:
    """DROP of a table needs very many locks.

    What it finds: DROP TABLE of a partitioned table that needs more than half of `lock_slots`
    (Greenplum's defaults: 128 × 250).
    Why it matters: the statement locks every row type, constraint and default, and on Greenplum 7
    and PostgreSQL every relation, until the transaction ends, on the coordinator and on each
    segment. It fails with "out of shared memory" if the lock table is full. Files are removed one
    by one.
    How sure it is: the locks are counted. The number of slots is computed from the settings or the
    baseline.
    What to do: drop the leaves in groups, each in its own transaction, and then the root.
    """
    if s.effect.verb == "drop":
        _too_many(
            s, "drop-wide-root", "DROP", "drop the leaves in groups, each in its own transaction"
        )


def _too_many(s: RuleContext, name: str, what: str, remedy: str) -> None:
    """A finding if a statement needs more than half of the lock table."""
    slots, locks = s.settings.lock_slots or DEFAULT_LOCK_SLOTS, s.effect.locks
    if locks <= slots // 2:
        return
    s.find(
        name,
        Severity.CRITICAL if locks > slots else Severity.WARNING,
        f"{what} takes {plural(locks, 'lock')} at once; the lock table has {count(slots)} slots",
        'the statement fails with "out of shared memory" if the lock table is full',
        remedy,
        figures=(
            Figure("locks", locks, "locks", "derived"),
            Figure("slots", slots, "locks", "limit"),
        ),
        source=(
            "setting lock_slots"
            if s.settings.lock_slots
            else "default: max_locks_per_transaction × max_connections"
        ),
    )


@rule("many-locks")
def many_locks(s: RuleContext) -> None:
    """A statement other than DROP needs very many locks.

    What it finds: CREATE, ALTER and TRUNCATE of a partitioned table, CREATE INDEX on it, and a DO
    block or function, that need more than half of `lock_slots` (Greenplum's defaults: 128 × 250).
    Why it matters: locks are held until the transaction ends. A change of a column's type locks
    each leaf, its indexes and TOAST relation, and their copies: about eight locks for each leaf
    with one index. The statement fails with "out of shared memory" if the lock table is full.
    How sure it is: the locks are counted, as if all leaves contained rows. The number of slots is
    computed from the settings or the baseline.
    What to do: increase max_locks_per_transaction, which needs a restart, or merge leaves first. A
    new index of PostgreSQL can be built leaf by leaf: CREATE INDEX ON ONLY, then ATTACH PARTITION.
    """
    if s.effect.verb != "drop":
        _too_many(
            s,
            "many-locks",
            "the statement",
            "increase max_locks_per_transaction, or merge leaves first",
        )


@rule("rewrite-of-leaves")
def rewrite_of_leaves(s: RuleContext) -> None:
    """ALTER rewrites leaves.

    What it finds: ALTER COLUMN TYPE, SET ENCODING, SET DISTRIBUTED, SET ACCESS METHOD and ADD COLUMN
    with a default (before PostgreSQL 11 and on Greenplum 6), on partitioned or unknown tables: they
    rewrite every leaf. SPLIT PARTITION: it rewrites the partition that is split.
    Why it matters: old and new files both exist until the transaction ends. Other sessions wait for
    the AccessExclusiveLock.
    How sure it is: the rewrite is certain for a known table; the columns of an unknown table may
    already have the type. Its duration depends on the rows.
    What to do: rewrite leaf by leaf in separate transactions, or build a new table and exchange it.
    Create partitions in advance, so that none with rows is split.
    """
    table = s.effect.table
    if not s.effect.rewritten or (
        table is not None
        and (
            not (table.parts or table.own_children)
            or ((table.schema, table.name) not in s.state.before and s.effect.verb == "create")
        )
    ):
        return
    leaves = s.state.leaves_of(table) if table is not None else 0
    split = s.effect.verb == "split partition"
    what = plural(leaves, "leaf", "leaves") if leaves else "the table"
    s.find(
        "rewrite-of-leaves",
        Severity.WARNING,
        (
            "this rewrites the partition that is split"
            if split
            else f"this {'rewrites' if leaves else 'may rewrite'} {what}"
        ),
        "old and new files both exist until the transaction ends, and other sessions wait",
        (
            "create partitions in advance, so that no partition with rows is split"
            if split
            else "rewrite leaf by leaf in separate transactions, or build a new table and exchange it"
        ),
        confidence=Confidence.HIGH if leaves else Confidence.LOW,
    )


@rule("long-lock")
def long_lock(s: RuleContext) -> None:
    """A statement locks a table in use for a long time.

    What it finds: with a baseline, statements that hold an AccessExclusiveLock on one of its tables
    for longer than `lock_seconds`.
    Why it matters: no other session can read or write the table until the transaction ends.
    How sure it is: an estimate. DDL takes as long as on test servers, at the speed of the server of
    the baseline; rows are copied or read at 50 MiB per second on each segment. Statements whose
    time is not known are not reported: rows of unknown size, SPLIT, ATTACH, CLUSTER, VACUUM FULL,
    DROP INDEX.
    What to do: change the leaves one by one in transactions of their own, choose a time without
    load, or merge partitions first.
    """
    for part, lock in s.held:
        if lock.seconds is None or lock.seconds <= s.settings.lock_seconds:
            continue
        title = part.table.title if part.table is not None else ""
        s.find(
            "long-lock",
            Severity.WARNING,
            f"this holds an AccessExclusiveLock on {title} for about {duration(lock.seconds)}",
            f"{plural(lock.leaves, 'leaf', 'leaves')}"
            + (f", {size(lock.bytes)}" if lock.bytes else "")
            + (", rewritten" if lock.rewritten else "")
            + "; other sessions wait (estimate)",
            "change the leaves one by one, or choose a time without load",
            figures=(
                Figure("seconds", lock.seconds, "s", "estimate"),
                Figure("lock_seconds", s.settings.lock_seconds, "s", "limit"),
            ),
            source="setting lock_seconds",
            relation=title,
        )


@rule("exclusive-without-lock-timeout")
def exclusive_without_lock_timeout(s: RuleContext) -> None:
    """A statement locks a table in use without a lock_timeout.

    What it finds: ALTER, DROP and TRUNCATE before any SET lock_timeout, on tables that the files do
    not create. DROP … IF EXISTS of a table that the files create is not reported.
    Why it matters: while the statement waits for a long query, all later sessions wait behind it:
    queries, loads and DDL.
    How sure it is: the lock is certain. Whether the table is in use is not known.
    What to do: run SET lock_timeout = '5s' first, and run the statement again if it times out.
    """
    if not (s.effect.exclusive or s.effect.may_exist) or s.guarded:
        return
    name = s.effect.table.title if s.effect.table is not None else ""
    s.find(
        "exclusive-without-lock-timeout",
        Severity.WARNING if s.settings.hosts else Severity.NOTICE,
        f"AccessExclusiveLock on {name or 'an existing table'} without a lock_timeout",
        "while the statement waits, all later queries on the table wait too",
        "run SET lock_timeout = '5s' first, and run the statement again if it times out",
        confidence=Confidence.MEDIUM,
    )
