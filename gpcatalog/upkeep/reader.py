"""Read the tables for upkeep from a snapshot with a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpcatalog.capacity.model import Index, Shape
from gpcatalog.errors import CatalogError
from gpcatalog.model import generations
from gpcatalog.model.bounds import interval
from gpcatalog.model.names import qualified
from gpcatalog.model.storage import Storage
from gpcatalog.planner.policy import Policy, check_unqualified, resolve_policy, rule_key
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


PENDING = "pending detach"
"""Fact: a partition whose DETACH PARTITION CONCURRENTLY is not finished (PostgreSQL 14)."""


def pending_detaches(root: Root, relations: Sequence[Relation]) -> tuple[str, ...]:
    """A sentence with the statement to run for each partition whose detach is not finished."""
    by_oid = {r.oid: r for r in relations}
    found = []
    for oid, name in root.facts.get(PENDING, ()):
        part = by_oid.get(oid)
        parent = by_oid.get(part.parent) if part is not None else None
        of = parent if parent is not None else root
        here = (
            qualified(part.schema, part.name) if part is not None else qualified(root.schema, name)
        )
        found.append(
            f"DETACH PARTITION CONCURRENTLY of {here} is not finished: rows of its range fail, and"
            " no partition can be created for it. If no session is detaching it, run ALTER TABLE"
            f" {qualified(of.schema, of.name)} DETACH PARTITION {here} FINALIZE, and rename or drop {here}:"
            " the new partition may get its name"
        )
    return tuple(found)


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
    pending = {oid for oid, _ in root.facts.get(PENDING, ())}
    if root.cut_level:
        raw = raw_sets(root, relations, root.cut_level, lambda b: interval(b, root.family), pending)
        return habits.habits(root, raw, root.policy, now, classic=classic)
    lists = list_key(root, relations, root.policy)
    if lists is None:
        only = {k.strategy for k in root.keys} == {"list"}
        raise habits.UnclearHabits(
            "its lists are no dates" if only else root.reason or "it has no range partitions"
        )
    raw = raw_sets(root, relations, lists.level, lists.range_of, pending)
    found = (lists.key, lists.evidence)
    return habits.habits(root, raw, root.policy, now, classic=classic, listed=found)


GREATEST = {"smallint": (1 << 15) - 1, "integer": (1 << 31) - 1, "bigint": (1 << 63) - 1}
"""Greatest number of each type of whole numbers."""


def _number_type(root: Root, sets: Sequence[PartitionSet], relations: Sequence[Relation]) -> str:
    """Type of the key of whole numbers that divides the partitions of these sets; empty for other
    keys.
    """
    parents = {s.parent for s in sets}
    levels = {0 if r.oid == root.oid else r.level for r in relations if r.oid in parents}
    for k in root.keys:
        if k.level in levels and len(k.parts) == 1:
            return k.parts[0] if k.parts[0] in GREATEST else ""
    return ""


_PUBLISHED = ("publication of all tables", "publication of its schema")


def publication_of_default(
    root: Root, sets: Sequence[PartitionSet], relations: Sequence[Relation]
) -> str:
    """The publication that publishes the rows of a default partition, because it has the table,
    the default partition or a parent of it; empty if there is none.
    """
    defaults = [s.default.oid for s in sets if s.default is not None]
    if not defaults:
        return ""
    for fact in _PUBLISHED:
        if fact in root.facts:
            return root.facts[fact][0][1]
    parents = {r.oid: r.parent for r in relations}
    above: set[int] = {root.oid}
    for oid in defaults:
        while oid and oid not in above:
            above.add(oid)
            oid = parents.get(oid, 0)
    return next((name for oid, name in root.facts.get("publication", ()) if oid in above), "")


def _without_partitions(snapshot: Snapshot) -> list[Unplanned]:
    """Partitioned tables that have no partition at all."""
    return [
        Unplanned(
            oid=r["oid"],
            schema=r["schema"],
            name=r["name"],
            reason="it has no partition that a new one can be like: create the first one by hand",
        )
        for r in snapshot.rows(
            "SELECT t.oid, t.\"schema\", t.name FROM relation t WHERE t.kind = 'root' AND NOT"
            " EXISTS (SELECT 1 FROM relation p WHERE p.root = t.oid AND p.kind IN ('leaf',"
            " 'intermediate')) ORDER BY t.oid"
        )
    ]


def _unmatched(
    policy: Policy, names: Sequence[tuple[str, str]], *, selected: bool
) -> list[Unplanned]:
    """Patterns of the policy that match no partitioned table.

    names: schema and name of all partitioned tables; selected: whether any is maintained.
    Raises CatalogError if none is, and a pattern with automatic_maintenance matches none.
    """
    used = {n for schema, name in names for n in rule_key(policy, schema, name)}
    found = []
    for n, rule in enumerate(policy.table):
        if n in used:
            continue
        if rule.automatic_maintenance and not selected:
            raise CatalogError(
                f"policy: table[{n}].match: {rule.match!r} matches no partitioned table, so no"
                " table is maintained",
                hint=(
                    "write schema.table as in the catalog: without quotes, in the same case;"
                    " `gpcatalog upkeep adopt` prints rules for the tables of a database"
                ),
            )
        schema, dot, name = rule.match.partition(".")
        found.append(
            Unplanned(
                oid=0,
                schema=schema if dot else "*",
                name=name if dot else schema,
                reason=f"no partitioned table matches this pattern of the policy (table[{n}])",
            )
        )
    return found


def read_tables(
    snapshot: Snapshot,
    roots: Sequence[Root],
    now: int,
    *,
    every: bool = False,
    policy: Policy | None = None,
) -> tuple[list[ReadTable], list[Unplanned]]:
    """Tables that the policy selects for upkeep, and those that cannot be planned: also tables
    without partitions, and patterns of the policy that match no table.

    roots: partitioned tables of the snapshot; now: microseconds since 1970, UTC
    every: read all tables, as if the policy selected each
    policy: None: tables without partitions are listed only with `every`, and patterns are not
            checked. Raises CatalogError if no table is selected because a pattern matches none, and
            if a pattern without a schema matches tables of several schemas.
    """
    classic = generations.is_classic(snapshot.header["generation"])
    greenplum = generations.is_greenplum(snapshot.header["generation"])
    selected = [r for r in roots if every or r.policy.automatic_maintenance]
    found: list[ReadTable] = []
    bare = _without_partitions(snapshot)
    unplanned = [
        u
        for u in bare
        if every or (policy and resolve_policy(policy, u.schema, u.name).automatic_maintenance)
    ]
    if policy is not None and not every:
        names = [(r.schema, r.name) for r in roots] + [(u.schema, u.name) for u in bare]
        check_unqualified(policy, names)
        unplanned += _unmatched(policy, names, selected=bool(selected or unplanned))
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
        published = publication_of_default(root, sets, relations)
        number_type = _number_type(root, sets, relations)
        state = TableState(
            oid=root.oid,
            schema=root.schema,
            name=root.name,
            key=known.key,
            template=known.template,
            rules=rules.rules_of(root.policy, known, classic=classic, published=published),
            sets=tuple(sets),
            without_effect=rules.without_effect(root.policy, known, published=published),
            read_at=str(snapshot.header["taken_at"]),
            key_type=number_type,
            greatest=GREATEST.get(number_type),
            left_alone=alone,
            pending=pending_detaches(root, relations),
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
