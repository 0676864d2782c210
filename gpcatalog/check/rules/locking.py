"""What a statement does to those who work at the same time."""

from __future__ import annotations

from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import DEFAULT_LOCK_SLOTS, rule
from gpcatalog.model.finding import Confidence, Figure, Severity
from gpcatalog.model.quantity import count, plural


@rule("drop-wide-root")
def drop_wide_root(s: RuleContext) -> None:
    """DROP of a table with very many relations.

    What it finds: DROP TABLE whose partitions take more lock slots than `lock_slots` (Greenplum's
    defaults: 128 × 250).
    Why it matters: every relation is a lock to the end of the transaction on the coordinator and
    each segment; "out of shared memory" ends it. Files are removed one by one.
    How sure it is: relations are counted; the number of slots is computed from the settings
    or the baseline.
    What to do: drop the leaves in groups, one transaction each, then the root.
    """
    slots = s.settings.lock_slots or DEFAULT_LOCK_SLOTS
    if s.effect.verb == "drop" and s.effect.relations_locked > slots // 2:
        s.find(
            "drop-wide-root",
            Severity.CRITICAL if s.effect.relations_locked > slots else Severity.WARNING,
            f"DROP locks {plural(s.effect.relations_locked, 'relation')} at once; the lock table"
            f" has {count(slots)} slots",
            "beyond them the server answers: out of shared memory",
            "drop the leaves in groups, one transaction each",
            figures=(
                Figure("relations", s.effect.relations_locked, "locks", "derived"),
                Figure("slots", slots, "locks", "limit"),
            ),
            source=(
                "lock_slots of the settings"
                if s.settings.lock_slots
                else "max_locks_per_transaction × max_connections by default"
            ),
        )


@rule("rewrite-of-leaves")
def rewrite_of_leaves(s: RuleContext) -> None:
    """ALTER that writes every leaf anew.

    What it finds: ALTER COLUMN TYPE, SET ENCODING, SET DISTRIBUTED, SET ACCESS METHOD, SPLIT and
    ADD COLUMN with a default (before PostgreSQL 11's base) on partitioned or unknown tables.
    Why it matters: old and new files stand beside each other until the end of the transaction,
    under AccessExclusive.
    How sure it is: that it rewrites is certain; how long it takes depends on the rows.
    What to do: do it leaf by leaf, in separate transactions, or build a new table and exchange.
    """
    table = s.effect.table
    if not s.effect.rewritten or (
        table is not None
        and (
            not table.parts
            or ((table.schema, table.name) not in s.state.before and s.effect.verb == "create")
        )
    ):
        return
    leaves = table.numbers[1] if table is not None else 0
    s.find(
        "rewrite-of-leaves",
        Severity.WARNING,
        f"this rewrites {plural(leaves, 'leaf', 'leaves') if leaves else 'the table'}",
        "files are doubled until it ends, and everyone waits",
        "do it leaf by leaf, or build a new table and exchange",
        confidence=Confidence.HIGH if leaves else Confidence.LOW,
    )


@rule("exclusive-without-lock-timeout")
def exclusive_without_lock_timeout(s: RuleContext) -> None:
    """AccessExclusive on a table in use without a limit on waiting.

    What it finds: ALTER, DROP, TRUNCATE on tables that the files do not create themselves, before
    any SET lock_timeout. A DROP … IF EXISTS of a table that the files create is not reported.
    Why it matters: while it waits for a long reader, everyone behind it waits too: readers, loads,
    the whole queue.
    How sure it is: the lock is certain; whether the table is in use is not known.
    What to do: SET lock_timeout = '5s' first, and try again when it ends.
    """
    if not (s.effect.exclusive or s.effect.may_exist) or s.guarded:
        return
    name = s.effect.table.title if s.effect.table is not None else ""
    s.find(
        "exclusive-without-lock-timeout",
        Severity.WARNING if s.settings.hosts else Severity.NOTICE,
        f"AccessExclusive on {name or 'a table that is there already'} without a lock_timeout",
        "while it waits, every reader behind it waits too",
        "SET lock_timeout = '5s' before it, and try again when it ends",
        confidence=Confidence.MEDIUM,
    )
