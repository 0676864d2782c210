"""From a plan's steps to typed changes of the live table, forward and back; what cannot be done safely is refused with its reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import pairwise

import msgspec

from gpcatalog.migration import subtree
from gpcatalog.migration.classic import DEFAULT_ENCODING, constant, partition, without_encodings
from gpcatalog.migration.introspect import (
    Column,
    Grant,
    Index,
    ProbeRunner,
    Relation,
    Table,
    Unsafe,
    column_signature,
    common_grants,
    quote_ident_always,
    read,
    read_details,
)
from gpcatalog.migration.operations import (
    Context,
    DropPartitions,
    FlattenLevel,
    MoveToExternal,
    NewPartition,
    Operation,
    PartmanReconfigure,
    PathStep,
    RefusedStep,
    Repartition,
    ReplacePartitions,
    Requirements,
    SetTemplate,
    StagingTable,
    TableMigration,
    Unit,
    Unpartition,
)
from gpcatalog.migration.partman import COLUMNS, UNITS, merged_suffix
from gpcatalog.migration.template import elements
from gpcatalog.migration.traits import PropertyStatements, brought_along, dress
from gpcatalog.model.bounds import (
    Bound,
    BoundKind,
    Family,
    Term,
    TermKind,
    added_again,
    family,
    joined_list,
    merged_text,
    parse,
    tuple_ends,
)
from gpcatalog.model.names import NAMEDATALEN, cut, qualified, quote_literal
from gpcatalog.model.server import Server
from gpcatalog.model.storage import Storage
from gpcatalog.model.traits import Differ, Traits, converted, index_properties_lost, merged, privileges_lost, replaced
from gpcatalog.planner import operations as op
from gpcatalog.planner.plan import TablePlan


class Refusal(Exception):
    """Why one step or table is not migrated."""


# what hangs on a table or partition and would be lost, or would be in the way
_IN_THE_WAY = {
    "view": "a view reads it",
    "rule": "a rule hangs on it",
    "trigger": "a trigger of its own",
    "foreign key": "a foreign key",
    "referenced by foreign key": "a foreign key points at it",
    "policy": "a row policy of its own",
    "row security": "row security of its own",
    "publication": "it is published by name",
    "own check": "a CHECK of its own, which the other rows need not satisfy",
    "column grants": "grants on its columns",
    "sequence": "it owns a sequence, which would be dropped with it",
    "needed by another object": "another object needs it",
    "subscription": "a subscription writes to it",
    "member of an extension": "an extension owns it or one of its indexes",
    "security label": "it has a security label",
    "pending detach": "DETACH PARTITION CONCURRENTLY of it is not finished (ALTER TABLE … DETACH PARTITION … FINALIZE)",
    "exclusion constraint": "an exclusion constraint",
    "index that is not valid": "an index that is not valid",
    "own index": "an index of its own that is unique or that all partitions below it have",
    "own expression": "a generated column with an expression of its own",
    "row type": "its row type has privileges or a comment, or it was created of a type",
}
# of these the partitioned table itself must have none, if another table is to take its place
_OF_THE_ROOT = ("subscription", "member of an extension", "security label", "row type")


def predicate(bound: Bound, *columns: str) -> str:
    """What a row must satisfy to lie in a bound. Raises Refusal.

    >>> predicate(parse("START (1) EXCLUSIVE END (5) INCLUSIVE"), "k")
    '(k IS NOT NULL AND k > 1 AND k <= 5)'
    >>> predicate(parse("FOR VALUES IN ('a', NULL)"), "k")
    "(k IS NULL OR k IN ('a'))"
    >>> predicate(parse("FOR VALUES FROM (1, 2) TO (1, 5)"), "a", "b")
    '(a IS NOT NULL AND b IS NOT NULL AND (a > 1 OR (a = 1 AND b >= 2)) AND (a < 1 OR (a = 1 AND b < 5)))'
    >>> predicate(parse("FOR VALUES FROM (1, MINVALUE) TO (2, MAXVALUE)"), "a", "b")
    '(a IS NOT NULL AND b IS NOT NULL AND (a >= 1) AND (a <= 2))'
    """
    if len(columns) > 1 and bound.kind is BoundKind.RANGE:
        sides = [_beside(bound.lower, columns, ">", TermKind.MINVALUE), _beside(bound.upper, columns, "<", TermKind.MAXVALUE)]
        return f"({' AND '.join([*(f'{c} IS NOT NULL' for c in columns), *(s for s in sides if s)])})"
    if len(columns) > 1:
        raise Refusal("its key has several columns")
    (key,) = columns
    if bound.kind is BoundKind.LIST:
        plain = ", ".join(t.sql for t in bound.values if t.kind is not TermKind.NULL)
        parts = ["k IS NULL".replace("k", key, 1)] if any(t.kind is TermKind.NULL for t in bound.values) else []
        if plain:
            parts.append(f"{key} IN ({plain})" if parts else f"{key} IS NOT NULL AND {key} IN ({plain})")
        return f"({' OR '.join(parts)})"
    if bound.kind is not BoundKind.RANGE:
        raise Refusal(f"the bound {bound.text} is neither a range nor a list")
    # the server proves a partition constraint only from checks that say IS NOT NULL, too; else ATTACH PARTITION reads the table
    parts = [f"{key} IS NOT NULL"]
    if bound.lower:
        parts.append(f"{key} {'>=' if bound.lower_inclusive else '>'} {bound.lower[0].sql}")
    if bound.upper:
        parts.append(f"{key} {'<=' if bound.upper_inclusive else '<'} {bound.upper[0].sql}")
    return f"({' AND '.join(parts)})"


def _beside(end: Sequence[Term] | None, columns: Sequence[str], than: str, all_of_it: TermKind) -> str:
    """Return that a row of several columns lies on one side of an end, in the form in which the server proves it; '' for an open end.

    than: ">" for the lower end, which belongs to the range, "<" for the upper one; all_of_it: MINVALUE or MAXVALUE, if it takes in all
    rows with the values before it
    """
    if end is None:
        return ""
    arms = []
    for n, (term, column) in enumerate(zip(end, columns, strict=True)):
        if term.kind is not TermKind.VALUE:
            break
        following = end[n + 1].kind if n + 1 < len(end) else None
        inside = following is all_of_it or (following is None and than == ">")
        same = [f"{c} = {t.sql}" for c, t in zip(columns[:n], end[:n], strict=True)]
        arm = " AND ".join([*same, f"{column} {than}{'=' if inside else ''} {term.sql}"])
        arms.append(f"({arm})" if same else arm)
    return f"({' OR '.join(arms)})" if arms else ""


def holding_value(bound: Bound) -> str:
    """A value that a partition without a name holds, for FOR (…). Raises Refusal."""
    if bound.kind is BoundKind.LIST:
        found = next((t.sql for t in bound.values if t.kind is not TermKind.NULL), "")
    elif bound.lower and bound.lower_inclusive:
        found = bound.lower[0].sql
    elif bound.upper and bound.upper_inclusive:
        found = bound.upper[0].sql
    else:
        found = ""
    if not found:
        raise Refusal(f"a partition without a name and without a value to address it by: {bound.text}")
    return found


def index_name(old_leaf: str, index: str, new_leaf: str, taken: set[str]) -> str:
    """Name of an index on a new leaf: the old leaf's part of the old name is exchanged; within 63 bytes, and free.

    >>> index_name("t_1", "t_1_v_idx", "t_2024", set()), index_name("t_1", "speed", "t_2", {"t_2_speed"})
    ('t_2024_v_idx', 't_2_speed_2')
    """
    rest = index[len(old_leaf) :] if index.startswith(old_leaf) and index != old_leaf else f"_{index}"
    for n in range(1, 10_000):
        tail = cut(rest if n == 1 else f"{cut(rest, 30)}_{n}", 40)
        name = cut(new_leaf, NAMEDATALEN - len(tail.encode())) + tail
        if name not in taken:
            taken.add(name)
            return name
    raise Refusal("ten thousand index names are taken")


def options_of(text: str) -> tuple[tuple[str, str], ...]:
    """Storage options as pairs.

    >>> options_of("appendonly=true, compresstype=zlib")
    (('appendonly', 'true'), ('compresstype', 'zlib'))
    """
    return checked((k, v) for k, v in (part.split("=", 1) for part in re.split(r",\s*", text) if "=" in part))


def checked(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Storage options that are plain words: a plan file is text that anybody may have written. Raises Refusal."""
    found = tuple(options)
    for key, value in found:
        if not re.fullmatch(r"[a-z_.]+", key) or not re.fullmatch(r"[\w.+-]+", value):
            raise Refusal(f"a storage option that is not understood: {key}={value}")
    return found


def _same_bound(one: str, other: str) -> bool:
    """Two spellings of one bound: equal but for casts and white space."""
    plain = [re.sub(r"\s+|::[\w \"().]+?(?=[,)]|$)", "", t) for t in (one, other)]
    return one == other or plain[0] == plain[1]


class TableTranslator:
    """Orders the steps of one table."""

    def __init__(
        self, table: Table, plan_id: str, planned: TablePlan, *, counts: dict[str, int] | None, growth: float, slots: int | None
    ) -> None:
        self.table = table
        self.planned = planned
        self.accepted: list[op.AnyStep] = []
        self.counts = counts
        self.dropped = {u.oid for s in planned.steps if isinstance(s, op.DropEmpty) for u in s.units}
        self.growth = growth
        self.slots = slots
        self.classic = table.server.classic_partitions
        root = table.root
        columns = table.columns[root.oid]
        self.context = Context(
            plan=plan_id,
            root=root,
            columns=tuple(quote_ident_always(c.name) for c in columns),
            copied=tuple(quote_ident_always(c.name) for c in columns if not c.generated),
            signature=column_signature(columns),
        )
        self.partman = next((s for s in planned.steps if isinstance(s, op.Reconfigure) and s.maker == "pg_partman"), None)
        self.taken_indexes: set[str] = {i.name for indexes in table.indexes.values() for i in indexes}

    # --- obstacles ---------------------------------------------------------------------------------------------------

    def table_obstacles(self) -> None:
        """Raises Refusal for what stands in the way of every step."""
        root = self.table.root
        if root.distribution == "REPLICATED":
            raise Refusal("replicated: partitions of a replicated table are not exchanged")
        for h in self.table.hanging:
            if h.what == "publication of all tables":
                raise Refusal(f"publication {h.detail} publishes every table: the copies would be sent to its subscribers")
            if h.what == "publication of its schema":
                raise Refusal(f"publication {h.detail} publishes its whole schema: the copies would be sent to its subscribers")
            if h.what in ("foreign key", "referenced by foreign key") and (h.oid == root.oid or self.classic):
                raise Refusal(f"{_IN_THE_WAY[h.what]} ({h.detail})")
            if h.what == "publication" and h.oid == root.oid:
                raise Refusal(f"publication {h.detail} publishes it: subscribers would not follow the exchange")
            if h.what == "index that is not valid" and h.oid == root.oid:
                raise Refusal(f"index {h.detail} is not valid: attaching partitions would build it on all of them")
            if h.what in ("rule", "trigger") and h.oid == root.oid and self.classic:
                raise Refusal(f"{_IN_THE_WAY[h.what]} ({h.detail})")
        if self.classic and (places := {r.schema for r in self.table.relations.values()} - {root.schema}):
            raise Refusal(f"partitions of it lie in schema {min(places)}: new ones would be made in {root.schema}")
        if any(r.has_oids for r in self.table.relations.values()):
            raise Refusal("it has OIDs, which a copy would change")
        if not all(r.persistence in "pu" for r in self.table.relations.values()):
            raise Refusal("a temporary table")

    def _leaf_obstacles(self, leaves: list[Relation]) -> None:
        for h in (h for leaf in leaves for h in self.table.dependents.get(leaf.oid, ())):
            if h.what in _IN_THE_WAY:
                raise Refusal(f"{_IN_THE_WAY[h.what]}: {self.table.relations[h.oid].name} ({h.detail})")
        for leaf in leaves:
            if leaf.storage in ("external", "foreign", "other", "none"):
                raise Refusal(f"{leaf.name} is {leaf.storage}: its rows are not this server's to move")
            if leaf.persistence != leaves[0].persistence:
                raise Refusal("some of its leaves are unlogged and some are not")
            if leaf.distribution != self.table.root.distribution:
                raise Refusal(f"{leaf.name} is distributed {leaf.distribution}, the table {self.table.root.distribution}")
            if leaf.column_grants and self.classic:
                raise Refusal(f"{leaf.name} has grants on columns")
            own = [(c.name, c.type) for c in self.table.columns[leaf.oid]]
            wanted = [(c.name, c.type) for c in self.table.columns[self.table.root.oid]]
            if (self.classic and own != wanted) or sorted(own) != sorted(wanted):
                raise Refusal(f"{leaf.name} has other columns than the table")
        if self.table.root.column_grants and self.classic:
            raise Refusal("the table has grants on columns, which EXCHANGE loses")

    # --- the live table against the plan ------------------------------------------------------------------------------

    def live(self, oid: int, name: str, bound: str) -> Relation:
        """The relation that the plan means. Raises Refusal saying what changed."""
        found = self.table.relations.get(oid) or next((r for r in self.table.relations.values() if r.name == name), None)
        if found is None:
            raise Refusal(f"changed since it was planned: {name} is gone")
        if found.name != name:
            raise Refusal(f"changed since it was planned: {name} is now called {found.name}")
        if bound and not _same_bound(found.bound, bound):
            raise Refusal(f"changed since it was planned: {name} had the bound {bound} and has {found.bound}")
        return found

    def unit(self, relation: Relation) -> Unit:
        leaves = self.table.leaves(relation.oid)
        # nothing but the default partition is addressed without a value, and that one by its name
        address = self.address(relation) if self.classic else ""
        return Unit(relation, tuple(leaves), address, subtree.middles(self.table, relation, self.addresses(relation)))

    def address(self, relation: Relation) -> str:
        if relation.partition:
            return partition(relation.partition)
        return partition("", constant(holding_value(parse(relation.bound))))

    def above(self, parent: Relation, end: int | None = None) -> str:
        """Greenplum 6: how a parent is reached, or (end=-1) what is above it."""
        if not self.classic:
            return ""
        return "".join(f"ALTER PARTITION {self.address(r)} " for r in self.table.path_key(parent.oid)[:end])

    def key(self, relation: Relation) -> tuple[str, ...]:
        """The quoted columns that a partitioned relation is split by. Raises Refusal."""
        if not relation.split_by_columns:
            raise Refusal("its key is an expression")
        return tuple(quote_ident_always(column) for column in relation.key)

    def parent_of(self, relations: list[Relation]) -> Relation:
        parents = {r.parent for r in relations}
        if len(parents) != 1 or None in parents:
            raise Refusal("its units lie under different parents")
        (parent,) = parents
        assert parent is not None
        return self.table.relations[parent]

    def default_unit(self, parent: Relation, gone: list[Relation]) -> Unit | None:
        found = self.table.default_of(parent.oid)
        if found is None:
            return None
        if found.oid in {g.oid for g in gone}:
            raise Refusal("the default partition itself is never merged")
        unit = self.unit(found)
        if self.classic:
            for leaf in unit.leaves:
                if leaf.storage not in ("heap", "ao_row", "ao_column"):
                    raise Refusal(f"the default partition {leaf.name} is {leaf.storage}")
                for h in self.table.dependents.get(leaf.oid, ()):
                    if h.what in _IN_THE_WAY:
                        raise Refusal(f"{_IN_THE_WAY[h.what]}: {leaf.name} ({h.detail})")
        return unit

    # --- stages -------------------------------------------------------------------------------------------------------

    def steps_below(self, leaf: Relation, unit: Relation) -> tuple[PathStep, ...]:
        return subtree.path(self.table, leaf, unit, self.addresses(unit))

    def addresses(self, unit: Relation) -> dict[int, str]:
        """Greenplum 6: how what lies below a unit is reached, by oid. Raises Refusal."""
        if not self.classic:
            return {}
        found: dict[int, str] = {}
        to_do = [unit]
        while to_do:
            below = self.table.children(to_do.pop().oid)
            found |= {r.oid: self.address(r) for r in below}
            to_do += below
        return found

    def encodings(self, columns: tuple[Column, ...]) -> tuple[tuple[str, str], ...]:
        return tuple((quote_ident_always(c.name), c.encoding) for c in columns if c.encoding)

    def own_indexes(self, leaf: Relation, final: str) -> tuple[tuple[Index, str], ...]:
        same = final == leaf.name
        return tuple(
            (i, i.name if same else index_name(leaf.name, i.name, final, self.taken_indexes)) for i in self.table.indexes[leaf.oid]
        )

    def statistics_targets(self, leaf: Relation) -> tuple[tuple[str, int], ...]:
        return tuple((quote_ident_always(c.name), c.statistics) for c in self.table.columns[leaf.oid] if c.statistics >= 0)

    def path_predicate(self, leaf: Relation, unit: Relation) -> list[str]:
        found = []
        for r in self.table.below(leaf.oid, unit.oid):
            assert r.parent is not None
            bound, above = parse(r.bound), self.table.relations[r.parent]
            told = bound.kind is BoundKind.RANGE or (bound.kind is BoundKind.LIST and len(above.key) == 1)
            if (
                told and above.split_by_columns
            ):  # of expressions, hash partitions and the default one, the rows come from ones with the same bound
                found.append(predicate(bound, *self.key(above)))
        return found

    def merge(self, step: op.Merge) -> tuple[ReplacePartitions, ReplacePartitions]:
        maker = self.partman
        if maker is None or step.lower is None or step.lower.value is None:
            return self.swap(step, step.name, step.partition)
        # pg_partman reads where a partition begins out of its name
        name = f"_{merged_suffix(step.lower.value, int(maker.version.split('.')[0]))}"
        return self.swap(step, cut(self.table.root.name, NAMEDATALEN - len(name)) + name, step.partition)

    def swap(self, step: op.Merge | op.Convert, name: str, label: str) -> tuple[ReplacePartitions, ReplacePartitions]:
        """Forward and back of a merge, or of a conversion by rebuilding."""
        units = [self.live(u.oid, u.name, u.bound) for u in step.units]
        parent = self.parent_of(units)
        key = self.key(parent)
        leaves = [self.live(leaf.oid, leaf.name, leaf.bound) for leaf in step.leaves]
        if {leaf.oid for leaf in leaves} != {leaf.oid for u in units for leaf in self.table.leaves(u.oid)}:
            raise Refusal("changed since it was planned: its leaves are others now")
        self._leaf_obstacles(leaves)
        deep = units[0].kind != "leaf"
        for m in (m for u in units for m in subtree.middles(self.table, u, {})):
            for h in self.table.dependents.get(m.like.oid, ()):
                if h.what in _IN_THE_WAY:
                    raise Refusal(f"{_IN_THE_WAY[h.what]}: {m.name} ({h.detail})")
        if deep and self.classic and any(i.constraint_kind for i in self.table.indexes[self.table.root.oid]):
            raise Refusal("Greenplum 6 exchanges no subpartitions of a table with a primary or unique key")
        bounds = [parse(u.bound) for u in units]
        if any(b.kind is BoundKind.DEFAULT for b in bounds):
            raise Refusal("the default partition itself is never merged")
        types = {c.name: c.type for c in self.table.columns[parent.oid]}
        if bounds[0].kind is BoundKind.LIST:
            text = joined_list(bounds, classic=self.classic)
        else:
            for one, two in pairwise(bounds):
                if not _adjacent(one, two, [types[name] for name in parent.key]):
                    raise Refusal(f"a gap or another order between {one.text} and {two.text}")
            text = merged_text(bounds[0], bounds[-1], classic=self.classic)
        if isinstance(step, op.Merge) and not _same_bound(text, step.bound):
            raise Refusal(f"the plan's bound {step.bound} is not that of its parts, {text}")
        if self.classic:
            self._exclusive_starts(units, parent)
        whole = predicate(parse(text), *key)
        going = {u.oid for u in units}
        default = self.default_unit(parent, units)
        alone = self.classic and all(
            c.oid in going or c.oid in self.dropped or (default is not None and c.oid == default.relation.oid)
            for c in self.table.children(parent.oid)
        )
        beyond = _beyond(parse(text)) if alone and (deep or self.above(parent)) else ""
        if alone and (deep or self.above(parent)) and not beyond:
            raise Refusal("Greenplum 6 cannot drop the last partition of a level, and none can stand in meanwhile: leave one out")
        if alone and not beyond and not _closed(text):
            raise Refusal("Greenplum 6 cannot drop the last partition, and one without an end cannot be split off: leave one out")
        if self.table.oids_of.get(name, set()) - going:
            raise Refusal(f"the name {name} is taken")
        digest = re.sub(r"\W", "", step.id.rsplit("-", 1)[-1])[:12]
        stages: list[StagingTable] = []
        traits_of: dict[str, Traits] = {}
        lost: list[str] = []
        like_unit = units[-1]
        lane_of = {leaf.name: leaf.lane for leaf in step.leaves}  # by name: a rollback creates leaves with new oids
        for n, new in enumerate(step.new):
            parts = [leaf for leaf in leaves if lane_of[leaf.name] == n]
            if not parts:
                raise Refusal("a new leaf without old ones")
            like = self.table.relations.get(new.like) or parts[-1]
            if like.oid not in {p.oid for p in parts}:
                like = parts[-1]
            traits, missing = self._together(parts, like)
            if new.storage and new.storage != like.storage:
                traits, more = converted(traits, new.storage, like.options)
                missing += more
            stage = self._stage(
                new,
                parts,
                like,
                traits,
                like_unit if deep else like,
                name if not deep else new.name,
                f"gpc_{digest}_{n + 1}",
                whole,
                key,
                deep,
            )
            lost += [*missing, *_grants_lost(stage.grants, parts, "the new one"), *self._index_comments_lost(parts, like)]
            traits_of[stage.name] = traits
            stages.append(stage)
        gone = tuple(self.unit(u) for u in units)
        try:
            taken = set(self.table.oids_of) | {s.final for s in stages}
            named = partial(index_name, taken=self.taken_indexes)
            middles = subtree.merged(gone, name, label, text, taken, named, classic=self.classic) if deep else ()
        except subtree.Changed as e:
            raise Refusal(f"changed since it was planned: {e}") from None
        lost += _grants_lost(middles[0].grants, units, "the new one") if middles else []
        made = NewPartition(name, label, text, tuple(stages), whole, middles, like_unit)
        parked = self._parked(default, f"gpc_{digest}_d") if default is not None and self.classic else ()
        counted = None
        if self.counts is not None and all(leaf.sql in self.counts for leaf in leaves):
            counted = sum(self.counts[leaf.sql] for leaf in leaves)
        size = step.cost.bytes
        limit = None if size is None else int(size * self.growth) + (64 << 20)
        forward = ReplacePartitions(
            step.id, step.explanation, parent, self.above(parent), gone, (made,), whole, default, parked,
            alone=alone, rows=counted, said=step.rests_on, limit_bytes=limit, needs=_needs(step), lost=tuple(dict.fromkeys(lost)),
            beyond=beyond, beside=self.above(parent, -1),
        )  # fmt: skip
        return forward, self._back(step, forward, units, made, traits_of, key, digest, label, deep)

    def _exclusive_starts(self, units: list[Relation], parent: Relation) -> None:
        """Check that Greenplum 6 accepts the old partitions again, as a rollback adds them. Raises Refusal."""
        if not any("EXCLUSIVE" in u.bound for u in units):
            return
        siblings = [parse(c.bound) for c in self.table.children(parent.oid)]
        for u, again in zip(units, added_again(siblings, [parse(u.bound) for u in units]), strict=True):
            if not again:
                raise Refusal(
                    f"{u.name} starts EXCLUSIVE where another partition ends INCLUSIVE, and covers one value: Greenplum 6"
                    " reports an overlap, so a rollback could not add these partitions again"
                )

    def _parked(self, default: Unit, stem: str) -> tuple[StagingTable, ...]:
        found = []
        for n, leaf in enumerate(default.leaves, 1):
            read_like = leaf.sql
            found.append(
                StagingTable(
                    f"{stem}{n}", leaf.name, leaf.schema, read_like, leaf, (), "true",
                    path=self.steps_below(leaf, default.relation),
                    indexes=tuple((i, i.name) for i in self.table.indexes[leaf.oid]),
                )
            )  # fmt: skip
        return tuple(found)

    def _stage(
        self,
        new: op.NewLeaf,
        parts: list[Relation],
        like: Relation,
        traits: Traits,
        unit: Relation,
        final: str,
        name: str,
        whole: str,
        key: Sequence[str],
        deep: bool,
    ) -> StagingTable:
        own = self.table.columns[like.oid]
        # where they are stored differently, like the newest of them, as the plan says
        converted = bool(new.storage) and new.storage != like.storage
        options = checked(new.options.items()) if converted else options_of(like.options)
        path_parts = self.path_predicate(like, unit) if deep else []
        # LIKE … INCLUDING STORAGE of Greenplum 6 leaves the block size out
        said = self.classic and not converted and any(name == "blocksize" for name, _ in options)
        return StagingTable(
            name=name,
            final=final,
            schema=like.schema,
            like=like.sql,
            shape=like,
            sources=tuple((p.sql, "") for p in parts),
            slices=tuple(self._slice(p, key, unit.level if deep else like.level) for p in parts),
            predicate=" AND ".join([whole, *path_parts]),
            grants=common_grants([p.grants for p in parts]),
            comment="\n".join(dict.fromkeys(p.comment for p in parts if p.comment)),
            storage=Storage(new.storage or like.storage).value,
            options=options,
            encodings=self.encodings(own) if said and like.storage == "ao_column" else (),
            explicit=converted or said,
            path=self.steps_below(like, unit) if deep else (),
            indexes=self.own_indexes(like, final),
            statistics=self.statistics_targets(like) if own else (),
            dress=self._dressed(like.schema, name, final, brought_along(self.table.traits[like.oid], classic=self.classic), traits),
        )

    def _index_comments_lost(self, parts: list[Relation], like: Relation) -> list[str]:
        """Return a sentence if comments and statistics targets of the parts' indexes are not those of the leaf that the new one is like."""

        def properties(leaf: Relation) -> list[tuple[object, ...]]:
            found = [(i.body, i.comment, i.constraint_comment, i.targets) for i in self.table.indexes[leaf.oid]]
            return sorted((f for f in found if any(f[1:])), key=repr)

        return index_properties_lost([properties(p) for p in parts], properties(like), like.name)

    def _together(self, parts: list[Relation], like: Relation) -> tuple[dict[tuple[str, str], str], list[str]]:
        """What a leaf has that is made of these, and what is lost; `like` counts as the newest. Raises Refusal."""
        ordered = [*(p for p in parts if p.oid != like.oid), like]
        try:
            return merged([self.table.traits[p.oid] for p in ordered], self.table.traits[self.table.root.oid])
        except Differ as e:
            raise Refusal(str(e)) from None

    def _dressed(self, schema: str, name: str, final: str, base: Traits, wanted: Traits) -> PropertyStatements:
        try:
            return dress(qualified(schema, name), qualified(schema, final), base, wanted, self.table.traits[self.table.root.oid])
        except Differ as e:
            raise Refusal(str(e)) from None

    def _slice(self, leaf: Relation, key: Sequence[str], level: int) -> str:
        """What tells the rows of a leaf from those of the other leaves that go into the same new one: the bound of its unit."""
        at = leaf
        while at.level > level:
            assert at.parent is not None
            at = self.table.relations[at.parent]
        return predicate(parse(at.bound), *key)

    def _stored_alike(self, one: Relation, two: Relation) -> bool:
        return (
            one.storage == two.storage
            and sorted(options_of(one.options)) == sorted(options_of(two.options))
            and [(c.name, c.encoding) for c in self.table.columns[one.oid]] == [(c.name, c.encoding) for c in self.table.columns[two.oid]]
            and one.tablespace == two.tablespace
        )

    def _back(
        self,
        step: op.Merge | op.Convert,
        forward: ReplacePartitions,
        units: list[Relation],
        made: NewPartition,
        traits_of: Mapping[str, Traits],
        key: Sequence[str],
        digest: str,
        label: str,
        deep: bool,
    ) -> ReplacePartitions:
        """Return the rollback: the old partitions are built from the merged one, with their bounds, storage and privileges."""
        parent = forward.parent
        relation = _made_relation(made, units[-1], parent)
        new_leaves = tuple(_stage_relation(s, relation, deep) for s in made.stages)
        # as they are once the merged partition is there
        middles = tuple(
            replace(m, like=relation if not m.path else replace(m.like, oid=0, name=m.name), address=partition(m.label))
            for m in made.middles
        )
        gone = Unit(relation, new_leaves if deep else (new_leaves[0],), partition(label) if self.classic else "", middles)
        back_made = []
        number = 0
        sources_of = {stage.name: {s for s, _ in stage.sources} for stage in made.stages}
        brought = {name: brought_along(traits, classic=self.classic) for name, traits in traits_of.items()}
        for u in units:
            bound = parse(u.bound)
            mine = predicate(bound, *key)
            stages = []
            for stage in made.stages:
                sources = sources_of[stage.name]
                old = next((leaf for leaf in self.table.leaves(u.oid) if leaf.sql in sources), None)
                if old is None:
                    continue
                number += 1
                stored = self._stored_alike(old, stage.shape) and not stage.explicit
                stages.append(
                    StagingTable(
                        name=f"gpr_{digest}_{number}",
                        final=old.name,
                        schema=old.schema,
                        like=qualified(stage.schema, stage.final),
                        shape=old,
                        sources=((qualified(stage.schema, stage.final), mine),),
                        predicate=" AND ".join([mine, *(self.path_predicate(old, u) if deep else [])]),
                        grants=old.grants,
                        comment=old.comment,
                        storage=old.storage,
                        options=options_of(old.options),
                        encodings=self.encodings(self.table.columns[old.oid]) if old.storage == "ao_column" and not stored else (),
                        explicit=not stored,
                        path=self.steps_below(old, u) if deep else (),
                        indexes=tuple((i, i.name) for i in self.table.indexes[old.oid]),
                        statistics=self.statistics_targets(old),
                        dress=self._dressed(
                            old.schema,
                            f"gpr_{digest}_{number}",
                            old.name,
                            brought[stage.name],
                            self.table.traits[old.oid],
                        ),
                    )
                )
            old_middles = subtree.middles(self.table, u, self.addresses(u))
            back_made.append(NewPartition(u.name, subtree.label(u), u.bound, tuple(stages), mine, old_middles, relation))
        return ReplacePartitions(
            f"undo-{step.id}", f"rollback: {forward.title}", parent, forward.above, (gone,), tuple(back_made), forward.range_predicate,
            forward.default, tuple(StagingTable(**{**s.__dict__, "name": s.name.replace("gpc_", "gpr_")}) for s in forward.default_stages),
            alone=forward.alone, beyond=forward.beyond, beside=forward.beside,
        )  # fmt: skip

    def drop(self, step: op.DropEmpty) -> list[tuple[Operation, Operation | None]]:
        """Return the steps that drop empty partitions, and the rollback of each, which creates them again, empty."""
        units = [self.live(u.oid, u.name, u.bound) for u in step.units]
        parent = self.parent_of(units)
        leaves = [leaf for u in units for leaf in self.table.leaves(u.oid)]
        self._leaf_obstacles(leaves)
        gone = {u.oid for u in units}
        siblings = [c for c in self.table.children(parent.oid) if c.oid not in gone]
        if not siblings:
            raise Refusal("nothing would be left: the last partition cannot be dropped")
        default = self.table.default_of(parent.oid)
        if default is not None and default.oid in gone:
            raise Refusal("the default partition takes what no other does: it is not dropped")
        if {leaf.name for leaf in leaves} != {leaf.name for leaf in step.leaves}:
            raise Refusal("changed since it was planned: its leaves are others now")
        default_unit = None if default is None else self.unit(default)
        found: list[tuple[Operation, Operation | None]] = []
        parts = self._parts(step, units)
        for n, part in enumerate(parts, 1):
            forward = DropPartitions(
                step.id if len(parts) == 1 else f"{step.id}-{n}", step.explanation, parent, self.above(parent),
                tuple(self.unit(u) for u in part), default_unit, said=step.rests_on,
                needs=Requirements(self._locks_of(part), 0, step.cost.seconds / len(parts)),
            )  # fmt: skip
            found.append((forward, self._made_again(forward, part)))
        return found

    def _locks_of(self, units: list[Relation]) -> int:
        # the table's leaves once, and of what goes its indexes and auxiliary relations
        gone = [leaf for u in units for leaf in self.table.leaves(u.oid)]
        return len(self.table.relations) + sum(4 + len(self.table.indexes[leaf.oid]) for leaf in gone)

    def _parts(self, step: op.DropEmpty, units: list[Relation]) -> list[list[Relation]]:
        """Units in transactions that take at most half of the lock table."""
        if self.slots is None:
            return [units]
        found: list[list[Relation]] = [[]]
        for u in units:
            if found[-1] and self._locks_of([*found[-1], u]) > self.slots // 2:
                found.append([])
            found[-1].append(u)
            if self._locks_of(found[-1]) > self.slots:
                raise Refusal(f"it takes about {self._locks_of(found[-1])} locks, the server has {self.slots} for all sessions")
        return found

    # --- the table as a whole ----------------------------------------------------------------------------------------

    def hanging_on_root(self, ask: ProbeRunner) -> dict[str, list[tuple[str, str]]]:
        """What depends on the root, by kind: (detail, column)."""
        found: dict[str, list[tuple[str, str]]] = {}
        for r in ask("migration_root", root=str(self.table.root.oid)):
            found.setdefault(r["what"], []).append((r["detail"], r["column"] or ""))
        return found

    def unpartition(self, step: op.Unpartition, ask: ProbeRunner) -> tuple[Unpartition, Repartition | None]:
        """All leaves become one plain table, stored like the newest of them."""
        table, root = self.table, self.table.root
        leaves = [self.live(leaf.oid, leaf.name, leaf.bound) for leaf in step.leaves]
        every = table.leaves(root.oid)
        if {leaf.oid for leaf in leaves} != {leaf.oid for leaf in every}:
            raise Refusal("changed since it was planned: its leaves are others now")
        self._leaf_obstacles(leaves)
        for h in table.dependents.get(root.oid, ()):
            if h.what in _OF_THE_ROOT:
                raise Refusal(f"{_IN_THE_WAY[h.what]} ({h.detail})")
        hanging = self.hanging_on_root(ask)
        if "identity" in hanging:
            raise Refusal(f"column {hanging['identity'][0][1]} is an identity column, whose sequence would start again")
        if "other" in hanging:
            more = f" and {len(hanging['other']) - 1} more" if len(hanging["other"]) > 1 else ""
            raise Refusal(f"it would not move to another table: {hanging['other'][0][0]}{more}")
        asked = table.relations.get(step.new[0].like) if step.new else None
        like = asked if asked is not None and asked in leaves else max(leaves, key=lambda r: r.oid)
        # of another storage than heap the leaf knows the columns' encodings
        pattern = like if table.server.greenplum else root
        names = [c.name for c in table.columns[root.oid]]
        if [c.name for c in table.columns[pattern.oid]] != names:
            raise Refusal(f"{like.name} has its columns in another order than the table")
        own = {i.name: i for i in table.indexes[root.oid]}
        for leaf in leaves:
            if len(table.indexes[leaf.oid]) != len(own):
                raise Refusal(f"{leaf.name} has other indexes than the table")
        digest = re.sub(r"\W", "", step.id.rsplit("-", 1)[-1])[:12]
        # a partitioned table has no TOAST table: options that all leaves have alike are kept
        traits = dict(table.traits[root.oid])
        toast = {table.traits[leaf.oid].get(("toast options", "")) for leaf in leaves}
        if len(toast) == 1 and (text := toast.pop()) is not None:
            traits["toast options", ""] = text
        lost = [*replaced([table.traits[leaf.oid] for leaf in leaves], traits), *_grants_lost(root.grants, leaves, "the table")]
        lost += [f"comment on {leaf.name}" for leaf in leaves if leaf.comment][:20]
        stage = StagingTable(
            name=f"gpc_{digest}_1", final=root.name, schema=root.schema, like=pattern.sql,
            shape=replace(root, tablespace=like.tablespace, persistence=like.persistence),
            sources=tuple((leaf.sql, "") for leaf in every), predicate="true", comment=root.comment, storage=like.storage,
            options=options_of(like.options), indexes=tuple((i, i.name) for i in own.values()), statistics=self.statistics_targets(root),
            dress=self._dressed(
                root.schema, f"gpc_{digest}_1", root.name, brought_along(table.traits[pattern.oid], classic=self.classic), traits
            ),
        )  # fmt: skip
        below = sorted((r for r in table.relations.values() if r.level > 0), key=lambda r: r.level)
        known = self.counts is not None and all(leaf.sql in self.counts for leaf in every)
        counted = sum(self.counts[leaf.sql] for leaf in every) if self.counts is not None and known else None
        size = step.cost.bytes
        forward = Unpartition(
            step.id, step.explanation, root, tuple(below), tuple(every), stage,
            tuple((name, quote_ident_always(column)) for name, column in hanging.get("sequence", [])),
            tuple((quote_ident_always(column), text) for text, column in hanging.get("comment", [])),
            tuple((quote_ident_always(name), text) for text, name in hanging.get("check", [])),
            tuple((quote_ident_always(name), text) for text, name in hanging.get("check comment", [])),
            counted, (*step.rests_on, "it is copied while writers wait, in online mode too: it is small", *self._orders(leaves)),
            None if size is None else int(size * self.growth) + (64 << 20), _needs(step), tuple(lost),
        )  # fmt: skip
        try:
            return forward, self._parted(forward, digest, ask)
        except ValueError:  # a template deeper than one level, or a bound that is not understood: no rollback is written
            return forward, None

    def _orders(self, leaves: list[Relation]) -> list[str]:
        """Return a sentence if leaves have their columns in another order than the table."""
        names = [c.name for c in self.table.columns[self.table.root.oid]]
        number = sum([c.name for c in self.table.columns[leaf.oid]] != names for leaf in leaves)
        said = f"{number} of its {len(leaves)} leaves have their columns in another order: a rollback gives them the order of the table"
        return [said] if number else []

    def _as_it_was(
        self, name: str, leaf: Relation, like: Relation, *, predicate: str = "true", without: Collection[tuple[str, str]] = ()
    ) -> StagingTable:
        """A leaf made again, with the storage, grants, comment, indexes and traits that it has now; traits `without` come later."""
        wanted = {k: v for k, v in self.table.traits[leaf.oid].items() if k not in without}
        return StagingTable(
            name=name, final=leaf.name, schema=leaf.schema, like=like.sql, shape=leaf, sources=(), predicate=predicate,
            grants=leaf.grants, comment=leaf.comment, storage=leaf.storage,
            options=options_of(leaf.options),
            encodings=self.encodings(self.table.columns[leaf.oid]) if leaf.storage == "ao_column" else (), explicit=True,
            indexes=tuple((i, i.name) for i in self.table.indexes[leaf.oid]), statistics=self.statistics_targets(leaf),
            dress=self._dressed(leaf.schema, name, leaf.name, brought_along(self.table.traits[like.oid], classic=self.classic), wanted),
        )  # fmt: skip

    def _parted(self, forward: Unpartition, digest: str, ask: ProbeRunner) -> Repartition | None:
        """What makes it partitioned again; None where the server cannot be told how in one transaction."""
        table, root = self.table, forward.root
        if self.classic and any(not k for r in table.relations.values() if r.kind != "leaf" for k in r.key):
            return None  # split by an expression, which its name does not tell
        own = table.traits[root.oid]
        # rows need not satisfy these: they are added once the rows are there, to the root and so to all partitions
        later = {k: v for k, v in own.items() if k[0] in ("check", "not null") and v.endswith("NOT VALID")}
        comments = {k: v for k, v in own.items() if k[0] == "check comment" and ("check", k[1]) in later}
        not_valid = [
            f"ALTER TABLE {root.sql} ADD " + (f"CONSTRAINT {quote_ident_always(name)} " if what == "check" else "") + f"{text};"
            for (what, name), text in later.items()
        ]
        not_valid += [
            f"COMMENT ON CONSTRAINT {quote_ident_always(n)} ON {root.sql} IS {quote_literal(v)};" for (_, n), v in comments.items()
        ]
        wanted = {k: v for k, v in own.items() if k not in later and k not in comments}
        back = Repartition(
            f"undo-{forward.id}", f"rollback: {forward.title}", forward, f"gpr_{digest}_t", options=options_of(root.options),
            encodings=self.encodings(table.columns[root.oid]) if "ao_column" in (root.storage, root.access_method) else (),
            not_valid=tuple(not_valid),
            dress=self._dressed(root.schema, f"gpr_{digest}_t", root.name, brought_along(own, classic=self.classic), wanted),
        )  # fmt: skip
        if self.classic:
            if any(r.owner != root.owner for r in table.relations.values()):
                return None  # Greenplum 6 gives no partition an owner of its own
            (row,) = ask("migration_definition", root=str(root.oid))
            definition = row["definition"]
            if self._rows_below_columns():
                # Greenplum 6 does not accept its own definition then, as it passes encodings on to what is below; it needs none to get
                # the same columns where all are the default ones
                if {c.encoding for r in table.relations.values() for c in table.columns.get(r.oid, ())} - {"", DEFAULT_ENCODING}:
                    return None
                definition, back = without_encodings(definition), replace(back, encodings=())
            return replace(back, definition=definition, templates=self._templates_now(ask))
        without = later.keys() | comments.keys()
        stages = tuple(self._as_it_was(f"gpr_{digest}_{n}", leaf, root, without=without) for n, leaf in enumerate(forward.leaves, 1))
        newest = {r.level: r for r in sorted(table.relations.values(), key=lambda r: r.oid) if r.has_template and r.level}
        templates = []
        for _, r in sorted(newest.items(), reverse=True):
            # the template of a level belongs to what is split into the partitions that get it below them
            above = table.relations[r.parent] if r.parent else root
            templates.append((above.sql, elements(table, r, (), classic=False)[0]))
        middles = subtree.middles(table, root, {})[1:]
        return replace(back, stages=stages, middles=middles, templates=tuple(templates))

    def _rows_below_columns(self) -> bool:
        """Whether something below a column-oriented partition is stored in another way."""
        relations = self.table.relations
        return any(
            r.level > 1 and r.parent and relations[r.parent].storage == "ao_column" and r.storage != "ao_column" for r in relations.values()
        )

    def _templates_now(self, ask: ProbeRunner) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Greenplum 6: the subpartition templates as the server spells them, deepest level first, each behind what gets it."""
        found: dict[int, list[str]] = {}
        for r in ask("migration_template", root=str(self.table.root.oid)):
            found.setdefault(r["level"], []).append(r["element"])
        at = self.table.root
        reached = {1: at.sql}
        for level in range(2, max(found, default=0) + 1):
            at = next(c for c in self.table.children(at.oid) if c.kind != "leaf")
            reached[level] = f"{reached[level - 1]} ALTER PARTITION {self.address(at)}"
        return tuple((reached[level], tuple(found[level])) for level in sorted(found, reverse=True))

    def flatten(self, step: op.Flatten) -> list[tuple[Operation, Operation]]:
        """Every leaf takes the place of its parent; a transaction each, and nothing is copied."""
        if self.classic:
            raise Refusal(op.NO_FLATTEN)
        found: list[tuple[Operation, Operation]] = []
        for n, (u, planned) in enumerate(zip(step.units, step.leaves, strict=True), 1):
            middle = self.live(u.oid, u.name, u.bound)
            leaf = self.live(planned.oid, planned.name, planned.bound)
            parent = self.parent_of([middle])
            if leaf.parent != middle.oid or len(self.table.children(middle.oid)) != 1:
                raise Refusal(f"changed since it was planned: {middle.name} has other partitions now")
            if middle.is_default:
                raise Refusal("the default partition has partitions of its own: it stays as it is")
            self._leaf_obstacles([middle, leaf] if middle.storage not in ("none", "other") else [leaf])
            for h in self.table.dependents.get(middle.oid, ()):
                if h.what in _IN_THE_WAY and h.what != "own check":
                    raise Refusal(f"{_IN_THE_WAY[h.what]}: {middle.name} ({h.detail})")
            self.taken_indexes -= {i.name for i in self.table.indexes[middle.oid]}  # they go with it
            # a hash partition that is the only one takes all rows; of an expression, attaching it again proves them
            every = leaf.is_default or parse(leaf.bound).kind is BoundKind.HASH or not middle.split_by_columns
            inside = "true" if every else predicate(parse(leaf.bound), *self.key(middle))
            indexes = tuple((i.name, index_name(leaf.name, i.name, middle.name, self.taken_indexes)) for i in self.table.indexes[leaf.oid])
            default = self.default_unit(parent, [middle])
            up = FlattenLevel(
                f"{step.id}-{n}", f"{middle.name}: {step.explanation}", parent, middle, leaf, indexes,
                predicate(parse(middle.bound), *self.key(parent)), inside, True, subtree.middles(self.table, middle, {})[0], default,
                (*step.rests_on, f"rows outside {leaf.bound} may come from then on"),
                (
                    *_grants_lost(leaf.grants, [middle], leaf.name),
                    *replaced([self.table.traits.get(middle.oid, {})], self.table.traits[leaf.oid]),
                    *([f"comment on {middle.name}: the new one has that of {leaf.name}"] if middle.comment else []),
                ),
            )  # fmt: skip
            found.append((up, replace(up, id=f"undo-{up.id}", title=f"rollback: {up.title}", up=False, said=(), lost=())))
        return found

    def follow(self, step: op.Reconfigure, ask: ProbeRunner) -> tuple[PartmanReconfigure, PartmanReconfigure]:
        """pg_partman's configuration follows the plan."""
        if not any(isinstance(s, op.Merge) for s in self.accepted):
            raise Refusal("the merges that it would follow are refused")
        home = ask("partman_home")
        if not home:
            raise Refusal("pg_partman is not installed any more")
        version = int(str(home[0]["version"]).split(".")[0])
        if version not in (4, 5):
            raise Refusal(f"pg_partman {home[0]['version']}: 4 and 5 are known")
        row = next(
            (r for r in ask("partman", schema=home[0]["schema"], schema_name=home[0]["schema_name"]) if r["root"] == self.table.root.oid),
            None,
        )
        if row is None:
            raise Refusal("changed since it was planned: pg_partman no longer maintains it")
        now = msgspec.json.decode(row["detail"])
        if str(now["partition_interval"]) != step.now.get("partition_interval"):
            raise Refusal(f"changed since it was planned: its interval is {now['partition_interval']}")
        if now["partition_type"] not in ("native", "range"):
            raise Refusal(f"it is a set of kind {now['partition_type']}: only native sets are changed")
        if now["epoch"] != "none":
            raise Refusal("its key counts seconds: where a cell of the calendar begins is not told by its bounds")
        if any(r.level > 1 for r in self.table.relations.values()):
            raise Refusal("pg_partman maintains several levels of it: part_config_sub would have to follow, which is not tried")
        interval = step.wanted["partition_interval"]
        time = interval in UNITS
        if not time and not interval.isdigit():
            raise Refusal(f"the interval {interval} is neither one of the calendar nor a number")
        kept = tuple((k, None if now[k] is None else str(now[k])) for k in COLUMNS)
        forward = PartmanReconfigure(
            step.id, step.explanation, home[0]["schema"], version, now["parent_table"], self.table.root, time, kept,
            tuple(sorted(step.wanted.items())), said=step.rests_on,
        )  # fmt: skip
        return forward, replace(forward, id=f"undo-{step.id}", title=f"rollback: {forward.title}", back=True, said=())

    def template(self, step: op.Reconfigure, ask: ProbeRunner) -> tuple[SetTemplate, SetTemplate]:
        """New partitions get below them what the named one has then."""
        if not self.table.server.greenplum:
            raise Refusal("this server has no templates")
        like = step.now.get("like") or ""
        parent = next((r for r in self.table.relations.values() if r.name == like and r.level == 1), None)
        if parent is None:
            raise Refusal(f"changed since it was planned: {like} is gone")
        if not any(isinstance(s, op.Merge | op.DropEmpty) and s.parent_name == like for s in self.accepted):
            raise Refusal(f"the steps below {like} that it would follow are refused")
        now, then = elements(self.table, parent, self.accepted, classic=self.classic)
        if not then:
            raise Refusal("nothing would be left of it")
        if self.classic:
            # as the server has it, where it says; elsewhere the template is written from the partitions
            now = next((found for reached, found in self._templates_now(ask) if reached == self.table.root.sql), now)
        forward = SetTemplate(step.id, step.explanation, self.table.root, then, now, step.rests_on)
        return forward, SetTemplate(f"undo-{step.id}", f"rollback: {step.explanation}", self.table.root, now, then)

    def externalise(self, step: op.Externalise) -> tuple[MoveToExternal, MoveToExternal]:
        """Return the change that exchanges a leaf with an external table, and its rollback, which loads the rows again."""
        if len(step.leaves) != 1:
            raise Refusal("it has partitions of its own: each would need a place of its own")
        unit = self.live(step.units[0].oid, step.units[0].name, step.units[0].bound)
        leaf = self.live(step.leaves[0].oid, step.leaves[0].name, step.leaves[0].bound)
        if leaf.oid != unit.oid:
            raise Refusal("changed since it was planned: it has partitions of its own now")
        self._leaf_obstacles([leaf])
        parent = self.parent_of([unit])
        if self.table.indexes[self.table.root.oid]:
            raise Refusal("the table has indexes, which an external table cannot have")
        default = self.default_unit(parent, [unit])
        if self.classic and self.table.children(parent.oid) == [unit]:
            raise Refusal("it is the only partition")
        digest = re.sub(r"\W", "", step.id.rsplit("-", 1)[-1])[:12]
        forward = MoveToExternal(
            step.id, step.explanation, parent, self.above(parent), self.unit(unit), leaf, predicate(parse(unit.bound), *self.key(parent)),
            f"gpc_{digest}_x", step.file_bytes, default, None, step.rests_on,
        )  # fmt: skip
        stage = self._as_it_was(f"gpr_{digest}_1", leaf, self.table.root, predicate=forward.predicate)
        return forward, replace(forward, id=f"undo-{step.id}", title=f"rollback: {forward.title}", stage=stage, said=())

    def _made_again(self, forward: DropPartitions, units: list[Relation]) -> ReplacePartitions:
        """What makes dropped partitions again, empty. Columns are the root's: it is there whatever else the plan did to the table."""
        told = forward.parent.split_by_columns  # of an expression, attaching proves that the default partition has none of the rows
        digest = re.sub(r"\W", "", forward.id.removeprefix("drop-empty-"))[:16]
        made = []
        number = 0
        for u in units:
            mine = predicate(parse(u.bound), *self.key(forward.parent)) if told else "true"
            stages = []
            for leaf in self.table.leaves(u.oid):
                number += 1
                inside = " AND ".join([mine, *self.path_predicate(leaf, u)])
                stage = self._as_it_was(f"gpr_{digest}_{number}", leaf, self.table.root, predicate=inside)
                stages.append(replace(stage, path=self.steps_below(leaf, u)))
            middles = subtree.middles(self.table, u, self.addresses(u))
            made.append(NewPartition(u.name, subtree.label(u), u.bound, tuple(stages), mine, middles, self.table.root))
        default = forward.default
        parked = self._parked(default, f"gpr_{digest}_d") if default is not None and self.classic else ()
        anything = " OR ".join(m.key for m in made)
        return ReplacePartitions(
            f"undo-{forward.id}",
            f"rollback: {forward.title}",
            forward.parent,
            forward.above,
            (),
            tuple(made),
            f"({anything})" if told else "true",
            default,
            parked,
            beside=self.above(forward.parent, -1),
        )


def _grants_lost(kept: Iterable[Grant], parts: Sequence[Relation], where: str) -> list[str]:
    """Return a sentence for each privilege that some of the parts grant and the relation that takes their place does not."""
    return privileges_lost([[word for g in p.grants for word in g.words] for p in parts], [word for g in kept for word in g.words], where)


def _made_relation(made: NewPartition, like: Relation, parent: Relation) -> Relation:
    """The merged partition as it will be, for the guard of the rollback."""
    return Relation(
        **{**like.__dict__, "oid": 0, "parent": parent.oid, "name": made.name, "bound": made.bound, "partition": made.partition}
    )


def _stage_relation(stage: StagingTable, unit: Relation, deep: bool) -> Relation:
    bound = stage.path[-1].bound if deep else unit.bound
    return Relation(**{**stage.shape.__dict__, "oid": 0, "name": stage.final, "bound": bound, "storage": stage.storage})


def _closed(text: str) -> bool:
    """A list, or a range with both ends: what can be split off a default partition."""
    bound = parse(text)
    return bound.kind is BoundKind.LIST or bool(bound.lower and bound.upper)


def _beyond(bound: Bound) -> str:
    """A range outside of this one, as Greenplum 6 adds it; '' where there is none to be told."""
    if bound.kind is BoundKind.RANGE and bound.upper and not bound.upper_inclusive:
        return constant(f"START ({bound.upper[0].sql})")
    if bound.kind is BoundKind.RANGE and bound.lower and bound.lower_inclusive:
        return constant(f"END ({bound.lower[0].sql})")
    return ""


def _adjacent(one: Bound, two: Bound, types: Sequence[str]) -> bool:
    """Nothing lies between the end of one range and the start of the next; types: of the key's columns.

    Text decides, but for days and whole numbers of keys of several columns, where (5, MAXVALUE) ends before (6, MINVALUE) starts.
    """
    if one.kind is not BoundKind.RANGE or two.kind is not BoundKind.RANGE or not one.upper or not two.lower:
        return False
    kinds = [family(t) for t in types]
    if len(kinds) > 1 and all(kind.ordered for kind in kinds):
        return tuple_ends(one, kinds)[1] == tuple_ends(two, kinds)[0]
    if kinds == [Family.NUMERIC] and one.upper[0].kind is two.lower[0].kind is TermKind.VALUE:  # 1.0 is 1.00
        return Decimal(one.upper[0].value) == Decimal(two.lower[0].value) and one.upper_inclusive != two.lower_inclusive
    end, start = ([(t.kind, t.value) for t in side] for side in (one.upper, two.lower))
    return end == start and one.upper_inclusive != two.lower_inclusive


def _needs(step: op.Step) -> Requirements:
    return Requirements(step.cost.locks, step.cost.segment_bytes or 0, step.cost.seconds)


def translate(
    ask: ProbeRunner,
    server: Server,
    plan_id: str,
    planned: TablePlan,
    *,
    counts: dict[str, int] | None = None,
    growth: float = 1.5,
    slots: int | None = None,
    window: float | None = None,
) -> TableMigration | RefusedStep:
    """The work on one table, or why there is none. Steps that are refused are listed in it.

    counts: rows of leaves by qualified name, those that could be counted; growth: how far leaves may outgrow their planned bytes
    slots:  locks that the server has for all sessions together; window: seconds that no step may exceed
    """
    what = "table"
    try:
        table = read(ask, server, planned.oid)
    except Unsafe as e:
        return RefusedStep("", planned.name, what, str(e))
    if table is None:
        return RefusedStep("", planned.name, what, "the table is gone or no longer partitioned")
    if (table.root.schema, table.root.name) != (planned.schema, planned.table):
        return RefusedStep("", planned.name, what, f"it is now called {table.root.sql}")
    wanted = {leaf.oid for s in planned.steps if not isinstance(s, op.Reconfigure) for leaf in s.leaves}
    named = {leaf.name for s in planned.steps if not isinstance(s, op.Reconfigure) for leaf in s.leaves}
    wanted |= {r.oid for r in table.relations.values() if r.name in named}
    wanted |= {leaf.oid for r in table.relations.values() if r.is_default for leaf in table.leaves(r.oid)}
    read_details(ask, table, wanted & table.relations.keys())
    planner = TableTranslator(table, plan_id, planned, counts=counts, growth=growth, slots=slots)
    superusers = {row["role"] for row in ask("trusted_roles") if row["superuser"]}
    planner.context = replace(
        planner.context,
        held=any(r.owner not in superusers for r in table.relations.values()),
        code=tuple(f"{quote_ident_always(schema)}.{quote_ident_always(name)}" for schema, name in sorted(table.code)),
    )
    work = TableMigration(planner.context)
    work.initial = [
        (f"{quote_ident_always(r.schema)}.{quote_ident_always(r.name)}", r.bound) for r in table.relations.values() if r.level > 0
    ]
    try:
        planner.table_obstacles()
    except Refusal as e:
        return RefusedStep("", planned.name, what, str(e))
    for step in planned.steps:
        operation = step.__struct_config__.tag
        if isinstance(step, op.Reconfigure) and step.maker == "every":
            work.advice.append(
                f"{step.explanation} (the last one said {step.now.get('every') or 'nothing'})"
            )  # nothing on the server to change
            continue
        try:
            if window is not None and step.cost.seconds > window and not isinstance(step, op.DropEmpty | op.Flatten):
                raise Refusal(f"it takes about {step.cost.seconds:,.0f} s (estimate), the window is {window:,.0f} s")
            if slots is not None and step.cost.locks > slots and not isinstance(step, op.DropEmpty | op.Flatten):
                raise Refusal(f"it takes about {step.cost.locks:,} locks, the server has {slots:,} for all sessions")
            pairs = _changes(planner, step, ask)
        except Refusal as e:
            work.refused.append(RefusedStep(step.id, planned.name, str(operation), str(e)))
            continue
        except ValueError as e:
            work.refused.append(RefusedStep(step.id, planned.name, str(operation), f"not understood: {e}"))
            continue
        planner.accepted.append(step)
        for change, back in pairs:
            work.forward.append(change)
            if back is not None:
                work.back.insert(0, back)
        work.gain += step.gain.rows
        work.leaves += step.gain.leaves
        work.files += step.gain.files
        work.seconds += step.cost.seconds
        work.bytes += step.cost.bytes or 0
        work.segment_bytes = max(work.segment_bytes, step.cost.segment_bytes or 0)
        work.locks = max(work.locks, step.cost.locks)
    return work


def _changes(planner: TableTranslator, step: op.AnyStep, ask: ProbeRunner) -> Sequence[tuple[Operation, Operation | None]]:
    if isinstance(step, op.Merge):
        return [planner.merge(step)]
    if isinstance(step, op.Convert):
        unit = step.units[0]
        return [planner.swap(step, unit.name, unit.partition or unit.name.rsplit("_prt_", 1)[-1])]
    if isinstance(step, op.DropEmpty):
        return planner.drop(step)
    if isinstance(step, op.Unpartition):
        return [planner.unpartition(step, ask)]
    if isinstance(step, op.Flatten):
        return planner.flatten(step)
    if isinstance(step, op.Externalise):
        return [planner.externalise(step)]
    return [planner.template(step, ask) if step.maker == "template" else planner.follow(step, ask)]
