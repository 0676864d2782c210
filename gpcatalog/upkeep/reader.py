"""Read the tables for upkeep from a snapshot with a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpcatalog.capacity.model import Index, Shape
from gpcatalog.model import generations
from gpcatalog.model.bounds import interval
from gpcatalog.model.storage import Storage
from gpcatalog.planner.policy import Policy
from gpcatalog.planner.relations import Relation
from gpcatalog.planner.sets.roots import Root
from gpcatalog.store.snapshot import Snapshot
from gpcatalog.upkeep import habits, rules
from gpcatalog.upkeep.lists import list_key
from gpcatalog.upkeep.night import TableState
from gpcatalog.upkeep.partitions import PartitionSet, raw_sets, relations_by_root


@dataclass(frozen=True, kw_only=True)
class Unplanned:
    """A table for which no upkeep is planned, and the reason."""

    oid: int
    schema: str
    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReadTable:
    """A table for which upkeep is planned, with the common properties of its partitions.

    shape: of its newest leaf
    """

    root: Root
    state: TableState
    habits: habits.Habits
    shape: Shape


def _reason(root: Root, *, greenplum: bool) -> str:
    """The reason why upkeep skips a table; empty if it does not."""
    if root.policy.retention == "externalize" and not greenplum:
        return "retention externalize needs external tables, a feature of Greenplum"
    if "pg_partman" in root.facts:
        return "pg_partman maintains it"
    if root.policy.skip:
        return "the policy has skip for this table"
    return ""


def _habits(
    root: Root, relations: Sequence[Relation], now: int, *, classic: bool
) -> tuple[habits.Habits, list[PartitionSet]]:
    """Common properties and partition sets of one table. Raises Unclear."""
    if root.cut_level:
        raw = raw_sets(root, relations, root.cut_level, lambda b: interval(b, root.family))
        return habits.habits(root, raw, root.policy, now, classic=classic)
    lists = list_key(root, relations, root.policy)
    if lists is None:
        only = {k.strategy for k in root.keys} == {"list"}
        raise habits.UnclearHabits(
            "its lists are no dates" if only else root.reason or "it has no range partitions"
        )
    raw = raw_sets(root, relations, lists.level, lists.range_of)
    found = (lists.key, lists.evidence)
    return habits.habits(root, raw, root.policy, now, classic=classic, listed=found)


def read_tables(
    snapshot: Snapshot, roots: Sequence[Root], now: int, *, every: bool = False
) -> tuple[list[ReadTable], list[Unplanned]]:
    """Tables that the policy selects for upkeep, and those that cannot be planned.

    roots: partitioned tables of the snapshot; now: microseconds since 1970, UTC
    every: read all tables, as if the policy selected each
    """
    classic = generations.is_classic(snapshot.header["generation"])
    greenplum = generations.is_greenplum(snapshot.header["generation"])
    selected = [r for r in roots if every or r.policy.automatic_maintenance]
    found: list[ReadTable] = []
    unplanned: list[Unplanned] = []
    for root, relations in relations_by_root(snapshot, selected):
        reason = _reason(root, greenplum=greenplum)
        if not reason:
            try:
                known, sets = _habits(root, relations, now, classic=classic)
            except habits.UnclearHabits as e:
                reason = str(e)
        if reason:
            unplanned.append(
                Unplanned(oid=root.oid, schema=root.schema, name=root.name, reason=reason)
            )
            continue
        alone = "" if known.key.listed and not root.blocked else root.reason
        # an external table replaces a partition, as the new partition of a merge does
        removable = root.removable and root.policy.retention != "externalize"
        state = TableState(
            oid=root.oid,
            schema=root.schema,
            name=root.name,
            key=known.key,
            template=known.template,
            rules=rules.rules_of(root.policy, known, classic=classic),
            sets=tuple(sets),
            without_effect=rules.without_effect(root.policy, known),
            left_alone=alone,
            kept="" if removable else alone,
        )
        leaf = max((r for r in relations if r.kind == "leaf"), key=lambda r: r.oid, default=None)
        stored = leaf.storage if leaf and leaf.storage in set(Storage) else Storage.HEAP
        columns, indexes = (leaf.columns, leaf.indexes) if leaf else (1, 0)
        shape = Shape(Storage(stored), columns, indexes=(Index(),) * indexes)
        found.append(ReadTable(root=root, state=state, habits=known, shape=shape))
    return found, unplanned


def named(policy: Policy) -> bool:
    """Whether a policy selects any table for upkeep."""
    return bool(policy.default.automatic_maintenance) or any(
        rule.automatic_maintenance for rule in policy.table
    )
