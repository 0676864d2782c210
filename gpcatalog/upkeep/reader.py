"""Tables for upkeep, read from a snapshot under a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpcatalog.capacity.model import Index, Shape
from gpcatalog.model import generations
from gpcatalog.model.storage import Storage
from gpcatalog.planner.policy import Policy
from gpcatalog.planner.sets.roots import Root
from gpcatalog.store.snapshot import Snapshot
from gpcatalog.upkeep import habits, rules
from gpcatalog.upkeep.night import TableState
from gpcatalog.upkeep.partitions import raw_sets, relations_by_root


@dataclass(frozen=True, kw_only=True)
class Unplanned:
    """A table of which no upkeep is planned, and why."""

    oid: int
    schema: str
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReadTable:
    """A table that upkeep is planned for, with what was read of its habits.

    shape: of its newest leaf
    """

    root: Root
    state: TableState
    habits: habits.Habits
    shape: Shape


def _reason(root: Root) -> str:
    """Why upkeep leaves a table alone; empty where it does not."""
    if "pg_partman" in root.facts:
        return "pg_partman maintains it"
    if root.wishes.skip:
        return "the policy has skip for this table"
    if not root.cut_level:
        return root.reason or "it has no range partitions"
    return ""


def read_tables(
    snapshot: Snapshot, roots: Sequence[Root], now: int, *, every: bool = False
) -> tuple[list[ReadTable], list[Unplanned]]:
    """Tables that the policy names for upkeep, and those that cannot be planned.

    roots: partitioned tables of the snapshot; now: microseconds since 1970, UTC
    every: all tables, as if the policy named each
    """
    classic = generations.is_classic(snapshot.header["generation"])
    wanted = [r for r in roots if every or r.wishes.automatic_maintenance]
    found: list[ReadTable] = []
    unplanned: list[Unplanned] = []
    for root, relations in relations_by_root(snapshot, wanted):
        reason = _reason(root)
        if not reason:
            try:
                raw = raw_sets(root, relations, root.family)
                known, sets = habits.habits(root, raw, root.wishes, now, classic=classic)
            except habits.Unclear as e:
                reason = str(e)
        if reason:
            unplanned.append(
                Unplanned(oid=root.oid, schema=root.schema, name=root.name, reason=reason)
            )
            continue
        state = TableState(
            oid=root.oid,
            schema=root.schema,
            name=root.name,
            key=known.key,
            template=known.template,
            rules=rules.rules_of(root.wishes, known, classic=classic),
            sets=tuple(sets),
            left_alone=root.reason,
        )
        leaf = max((r for r in relations if r.kind == "leaf"), key=lambda r: r.oid, default=None)
        stored = leaf.storage if leaf and leaf.storage in set(Storage) else Storage.HEAP
        columns, indexes = (leaf.columns, leaf.indexes) if leaf else (1, 0)
        shape = Shape(Storage(stored), columns, indexes=(Index(),) * indexes)
        found.append(ReadTable(root=root, state=state, habits=known, shape=shape))
    return found, unplanned


def named(policy: Policy) -> bool:
    """Whether a policy names any table for upkeep."""
    return bool(policy.default.automatic_maintenance) or any(
        rule.automatic_maintenance for rule in policy.table
    )
