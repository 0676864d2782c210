"""The live table of a plan: find the relations of the steps, report obstacles, and describe the
tables to build.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from gpcatalog.migration import subtree
from gpcatalog.migration.classic_spelling import constant, partition
from gpcatalog.migration.introspect import (
    Column,
    Grant,
    Index,
    ProbeRunner,
    Relation,
    Table,
    column_signature,
    quote_ident_always,
    statistics_targets,
)
from gpcatalog.migration.naming import index_name, options_of
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    PathStep,
    Requirements,
    StagingTable,
    Unit,
    staging_name,
)
from gpcatalog.migration.predicates import Refusal, holding_value, predicate, same_bound
from gpcatalog.migration.traits import PropertyStatements, copied_traits, statements_for
from gpcatalog.model.bounds import BoundKind, parse
from gpcatalog.model.names import qualified
from gpcatalog.model.traits import (
    TraitConflict,
    Traits,
    index_properties_lost,
    indexes_lost,
    others_lost,
    privileges_lost,
    replaced,
    without_statistics,
)
from gpcatalog.planner import operations as op
from gpcatalog.planner.losses import comments_merged
from gpcatalog.planner.plan import TablePlan

# objects that depend on a table or partition and would be lost, or would prevent the change
IN_THE_WAY = {
    "view": "a view uses it",
    "rule": "it has a rule",
    "trigger": "it has its own trigger",
    "foreign key": "a foreign key",
    "referenced by foreign key": "a foreign key references it",
    "policy": "it has its own row policy",
    "row security": "it has its own row security",
    "publication": "a publication names it",
    "own check": "it has its own CHECK, which the other rows may violate",
    "column grants": "it has grants on columns",
    "sequence": "it owns a sequence, which would be dropped too",
    "needed by another object": "another object depends on it",
    "subscription": "a subscription writes to it",
    "member of an extension": "an extension owns it or one of its indexes",
    "security label": "it has a security label",
    "pending detach": (
        "DETACH PARTITION CONCURRENTLY is not finished (run ALTER TABLE … DETACH PARTITION …"
        " FINALIZE)"
    ),
    "exclusion constraint": "it has an exclusion constraint",
    "index that is not valid": "it has an invalid index",
    "own index": "it has its own index, which is unique or which all partitions below it have",
    "own expression": "a generated column has its own expression",
    "row type": "its row type has privileges or a comment, or it was created with OF type",
}
# the partitioned table itself must have none of these, if another table replaces it
_STORED = ("heap", "ao_row", "ao_column")
OF_THE_ROOT = ("subscription", "member of an extension", "security label", "row type")


class LiveTable:
    """One table as it is now, with its part of the plan."""

    def __init__(
        self,
        table: Table,
        plan_id: str,
        planned: TablePlan,
        *,
        counts: dict[str, int] | None,
        growth: float,
        slots: int | None,
    ) -> None:
        self.table = table
        self.planned = planned
        self.accepted: list[op.AnyStep] = []
        self.counts = counts
        self.dropped = {
            u.oid for s in planned.steps if isinstance(s, op.DropEmpty) for u in s.units
        }
        self.growth = growth
        self.slots = slots
        self.classic = table.server.classic_partitions
        # parents of partitions of which one starts EXCLUSIVE
        self.exclusive = {
            r.parent for r in table.relations.values() if self.classic and "EXCLUSIVE" in r.bound
        }
        root = table.root
        columns = table.columns[root.oid]
        self.context = Context(
            plan=plan_id,
            root=root,
            columns=tuple(quote_ident_always(c.name) for c in columns),
            copied=tuple(quote_ident_always(c.name) for c in columns if not c.generated),
            signature=column_signature(columns),
            checksums=table.checksums,
        )
        self.partman = next(
            (s for s in planned.steps if isinstance(s, op.Reconfigure) and s.maker == "pg_partman"),
            None,
        )
        self.used_index_names: set[str] = {
            i.name for indexes in table.indexes.values() for i in indexes
        }
        self.names_of_indexes = frozenset(self.used_index_names)

    def forget(self) -> None:
        """Forget accepted steps, to translate the steps from the first one again."""
        self.accepted.clear()
        self.used_index_names = set(self.names_of_indexes)

    def digest(self, step: op.Step) -> str:
        """Return the part of a step's ID that is used in the names of its staging tables."""
        return re.sub(r"\W", "", step.id.rsplit("-", 1)[-1])[:12]

    def counted(self, leaves: Sequence[Relation]) -> int | None:
        """Return the number of rows of leaves that were counted just now; None if one was not
        counted.
        """
        if self.counts is None or not all(leaf.sql in self.counts for leaf in leaves):
            return None
        return sum(self.counts[leaf.sql] for leaf in leaves)

    # --- obstacles --------------------------------------------------------------------------------

    def table_obstacles(self, *, removing: bool = False) -> None:
        """Raise Refusal for an obstacle to every step.

        removing: only obstacles to steps that detach or drop partitions
        """
        root = self.table.root
        if root.distribution == "REPLICATED":
            raise Refusal(
                "the table is replicated; partitions of a replicated table cannot be exchanged"
            )
        for h in self.table.dependencies:
            if removing and not self.classic and h.what != "referenced by foreign key":
                continue
            if h.what == "publication of all tables":
                raise Refusal(
                    f"publication {h.detail} publishes every table; the copies would be sent to"
                    " its subscribers"
                )
            if h.what == "publication of its schema":
                raise Refusal(
                    f"publication {h.detail} publishes its whole schema; the copies would be sent"
                    " to its subscribers"
                )
            if h.what in ("foreign key", "referenced by foreign key") and (
                h.oid == root.oid or self.classic
            ):
                raise Refusal(f"{IN_THE_WAY[h.what]} ({h.detail})")
            if h.what == "publication" and h.oid == root.oid:
                raise Refusal(
                    f"publication {h.detail} publishes it; subscribers would not get the exchange"
                )
            if h.what == "index that is not valid" and h.oid == root.oid:
                raise Refusal(
                    f"index {h.detail} is not valid; attaching a partition would build it on all"
                    " partitions"
                )
            if h.what == op.CHECK_NOT_VALID:
                raise Refusal(op.no_exchange_with_check(h.detail))
            if h.what in ("rule", "trigger") and h.oid == root.oid and self.classic:
                raise Refusal(f"{IN_THE_WAY[h.what]} ({h.detail})")
        if self.classic and (
            places := {r.schema for r in self.table.relations.values()} - {root.schema}
        ):
            raise Refusal(
                f"it has partitions in schema {min(places)}, but new ones would be created in"
                f" {root.schema}"
            )
        if any(r.has_oids for r in self.table.relations.values()):
            raise Refusal("it has OIDs, which a copy would change")
        if not all(r.persistence in "pu" for r in self.table.relations.values()):
            raise Refusal("it is a temporary table")

    def refuse_dependents(self, relation: Relation, *, but: Collection[str] = ()) -> None:
        """Raise Refusal for an object that depends on a relation and would be lost, or would
        prevent the change.

        but: kinds of dependent objects that are allowed
        """
        for h in self.table.dependents.get(relation.oid, ()):
            if h.what in IN_THE_WAY and h.what not in but:
                raise Refusal(f"{IN_THE_WAY[h.what]}: {relation.name} ({h.detail})")

    def refuse_published(self, parent: Relation) -> None:
        """Raise Refusal if a publication names a partition whose partitions would be replaced, or
        one above it. `table_obstacles` checks the root.
        """
        above: Relation | None = parent
        while above is not None and above.parent is not None:
            for h in self.table.dependents.get(above.oid, ()):
                if h.what == "publication":
                    raise Refusal(
                        f"publication {h.detail} publishes {above.name}; subscribers would not get"
                        " the exchange"
                    )
            above = self.table.relations.get(above.parent)

    def leaf_obstacles(self, leaves: list[Relation]) -> None:
        """Raise Refusal for leaves that cannot be replaced or dropped safely."""
        alike = self.table.columns[self.table.root.oid]
        for leaf in leaves:
            self.refuse_dependents(leaf)
        for leaf in leaves:
            if leaf.storage in ("external", "foreign", "other", "none"):
                raise Refusal(
                    f"{leaf.name} has storage {leaf.storage}: this server cannot move its rows"
                )
            if leaf.distribution != self.table.root.distribution:
                raise Refusal(
                    f"{leaf.name} is distributed {leaf.distribution}, but the table is"
                    f" distributed {self.table.root.distribution}"
                )
            if leaf.column_grants and self.classic:
                raise Refusal(f"{leaf.name} has grants on columns")
            own = self.table.columns[leaf.oid]
            if own is not alike:  # leaves with equal columns share them
                if _names_and_types(own) != _names_and_types(alike):
                    raise Refusal(f"the columns of {leaf.name} differ from those of the table")
                alike = own
        if self.table.root.column_grants and self.classic:
            raise Refusal("the table has grants on columns, which EXCHANGE would lose")

    @staticmethod
    def refuse_partly_unlogged(parts: Iterable[Relation]) -> None:
        """Raise Refusal if rows of logged and unlogged relations would be moved to one table."""
        if len({p.persistence for p in parts}) > 1:
            raise Refusal("only some of its leaves are unlogged")

    # --- the live table against the plan ----------------------------------------------------------

    def live(self, oid: int, name: str, bound: str) -> Relation:
        """The relation to which the plan refers. Raises Refusal with the change if it has
        changed.
        """
        found = self.table.relations.get(oid) or next(
            (r for r in self.table.relations.values() if r.name == name), None
        )
        if found is None:
            raise Refusal(f"changed since it was planned: {name} is gone")
        if found.name != name:
            raise Refusal(f"changed since it was planned: {name} is now called {found.name}")
        if bound and not same_bound(found.bound, bound):
            raise Refusal(
                f"changed since it was planned: {name} had the bound {bound} and has {found.bound}"
            )
        return found

    def live_leaf(self, leaf: op.Leaf) -> Relation:
        """The relation of a leaf of the plan. Raises Refusal if it has changed, also its storage,
        its options or its tablespace, by which the planner decides which leaves it merges.
        """
        found = self.live(leaf.oid, leaf.name, leaf.bound)
        if not leaf.storage or found.kind != "leaf" or found.storage not in _STORED:
            return found  # another leaf, which is refused later; or a plan written by hand
        for what, was, now in (
            ("storage", leaf.storage, found.storage),
            ("storage options", set(options_of(leaf.options)), set(options_of(found.options))),
            ("tablespace", bool(leaf.tablespace), bool(found.tablespace)),
        ):
            if was != now:
                raise Refusal(f"changed since it was planned: {what} of {leaf.name}; plan again")
        return found

    def unit(self, relation: Relation) -> Unit:
        """Return a partition with everything below it."""
        leaves = self.table.leaves(relation.oid)
        # only the default partition has an address without a value: its name
        address = self.address(relation) if self.classic else ""
        middles = subtree.middles(self.table, relation, self.addresses(relation))
        return Unit(relation=relation, leaves=tuple(leaves), address=address, middles=middles)

    def address(self, relation: Relation) -> str:
        """Return the address of a partition after PARTITION on Greenplum 6. Raises Refusal."""
        if relation.partition:
            return partition(relation.partition)
        return partition("", constant(holding_value(parse(relation.bound))))

    def above(self, parent: Relation, end: int | None = None) -> str:
        """Greenplum 6: the address of a parent, or (end=-1) of the parent above it."""
        if not self.classic:
            return ""
        return "".join(
            f"ALTER PARTITION {self.address(r)} " for r in self.table.path_key(parent.oid)[:end]
        )

    def key(self, relation: Relation) -> tuple[str, ...]:
        """The quoted columns by which a relation is partitioned. Raises Refusal."""
        if not relation.split_by_columns:
            raise Refusal("its key is an expression")
        if relation.odd_key:
            raise Refusal(op.no_comparison(relation.odd_key))
        return tuple(quote_ident_always(column) for column in relation.key)

    def parent_of(self, relations: list[Relation]) -> Relation:
        """Return the common parent of these partitions. Raises Refusal if they have several."""
        parents = {r.parent for r in relations}
        if len(parents) != 1 or None in parents:
            raise Refusal("its partitions have different parents")
        (parent,) = parents
        assert parent is not None
        return self.table.relations[parent]

    def default_unit(self, parent: Relation, gone: list[Relation]) -> Unit | None:
        """Return the default partition of a parent, None if there is none.

        gone: partitions that are replaced. Raises Refusal if it is one of them, or cannot be set
              aside.
        """
        found = self.table.default_of(parent.oid)
        if found is None:
            return None
        if found.oid in {g.oid for g in gone}:
            raise Refusal("the default partition is never merged")
        unit = self.unit(found)
        if self.classic:
            columns = self.table.traits[self.table.root.oid]
            unit = replace(unit, middles=self.with_properties(unit.middles, columns))
            for middle in unit.middles:
                self.refuse_dependents(middle.like)
            for leaf in unit.leaves:
                if leaf.storage not in _STORED:
                    raise Refusal(f"the default partition {leaf.name} has storage {leaf.storage}")
                self.refuse_dependents(leaf)
        return unit

    # --- stages -----------------------------------------------------------------------------------

    def path_below(self, leaf: Relation, unit: Relation) -> tuple[PathStep, ...]:
        """Return the path from below a unit down to a leaf."""
        return subtree.path(self.table, leaf, unit, self.addresses(unit))

    def addresses(self, unit: Relation) -> dict[int, str]:
        """Greenplum 6: the addresses of all partitions below a unit, by OID. Raises Refusal."""
        if not self.classic:
            return {}
        found: dict[int, str] = {}
        to_do = [unit]
        while to_do:
            children = self.table.children(to_do.pop().oid)
            found |= {r.oid: self.address(r) for r in children}
            to_do += children
        return found

    def encodings(self, columns: tuple[Column, ...]) -> tuple[tuple[str, str], ...]:
        """Return column encodings as SQL, by quoted column."""
        return tuple((quote_ident_always(c.name), c.encoding) for c in columns if c.encoding)

    def own_indexes(self, leaf: Relation, final: str) -> tuple[tuple[Index, str], ...]:
        """Return the indexes of a leaf with the names that they get on the leaf that replaces it.

        final: name of that leaf
        """
        same = final == leaf.name
        return tuple(
            (i, i.name if same else index_name(leaf.name, i.name, final, self.used_index_names))
            for i in self.table.indexes[leaf.oid]
        )

    def indexes_lost(
        self, parts: Sequence[Relation], kept: Relation | None, where: str
    ) -> list[str]:
        """Return a sentence for each index of these relations that the relation that replaces
        them does not get; kept: the relation whose indexes it gets.
        """
        indexes = self.table.indexes
        return indexes_lost(
            [[i.text for i in indexes[p.oid]] for p in parts],
            [i.text for i in indexes[kept.oid]] if kept is not None else (),
            where,
        )

    def indexes_of_middles_lost(self, units: Iterable[Unit]) -> list[str]:
        """Return a sentence for each index of its own, and for each comment on an index, of the
        intermediate partitions of these units. Greenplum 6 creates only the indexes of the table
        with a partition, and CREATE INDEX on an intermediate would add them to its leaves again.
        """
        if not self.classic:
            return []
        found = []
        for m in (m.like for u in units for m in u.middles):
            of_table = Counter(i.text for i in self.table.indexes[self.table.root.oid])
            for i in self.table.indexes[m.oid]:
                of_table[i.text] -= 1
                if of_table[i.text] < 0:
                    found.append(f"index {i.name} of {m.name}: a rollback does not create it again")
                elif i.comment:
                    found.append(f"comment on index {i.name} of {m.name}")
        return found

    def index_comments_lost(self, parts: Sequence[Relation], like: Relation) -> list[str]:
        """Return a sentence if comments and statistics targets of the parts' indexes differ
        from those of `like`, the leaf that the new one is created like.
        """

        def properties(leaf: Relation) -> list[tuple[object, ...]]:
            found = [
                (i.body, i.comment, i.constraint_comment, i.targets)
                for i in self.table.indexes[leaf.oid]
            ]
            return sorted((f for f in found if any(f[1:])), key=repr)

        return index_properties_lost([properties(p) for p in parts], properties(like), like.name)

    def others_lost(
        self, parts: Sequence[Relation], like: Relation, where: str, *, encoded: bool = False
    ) -> list[str]:
        """Return a sentence for each statistics target, replica identity, CLUSTER mark, owner,
        schema or tablespace of an index of these relations that the relation that replaces them,
        created like `like`, does not get.

        encoded: whether to include column encodings
        """
        columns, indexes = self.table.columns, self.table.indexes
        if all(
            columns[p.oid] is columns[like.oid]
            and (p.schema, p.owner, p.replica_identity)
            == (like.schema, like.owner, like.replica_identity)
            and not any(
                i.clustered or i.replica_identity or i.tablespace
                for i in (*indexes[p.oid], *indexes[like.oid])
            )
            for p in parts
        ):
            return []
        other = "another one" if like is self.table.root else f"that of {like.name}"
        places = self._index_tablespaces(like)
        return [
            *others_lost(
                [self._others(p, encoded=encoded) for p in parts],
                self._others(like, encoded=encoded),
                where,
                other,
            ),
            *others_lost(
                [
                    {k: v for k, v in self._index_tablespaces(p).items() if k in places}
                    for p in parts
                ],
                places,
                where,
                other,
            ),
        ]

    def _index_tablespaces(self, relation: Relation) -> dict[str, str]:
        """The tablespaces of a relation's indexes, as named properties."""
        return {
            f"tablespace of index {i.text}": i.tablespace or "default"
            for i in self.table.indexes[relation.oid]
        }

    def _others(self, relation: Relation, *, encoded: bool) -> dict[str, str]:
        found = {"schema": relation.schema, "owner": relation.owner}
        found |= self.encoded(relation) if encoded else {}
        for c in self.table.columns[relation.oid]:
            if c.statistics >= 0:
                found[f"statistics target of column {c.name}"] = str(c.statistics)
        if relation.replica_identity != "d":
            found["replica identity"] = relation.replica_identity
        for i in self.table.indexes[relation.oid]:
            if i.replica_identity:
                found["replica identity"] = i.text
            if i.clustered:
                found[f"CLUSTER mark of index {i.text}"] = "set"
        return found

    def encoded(self, relation: Relation) -> dict[str, str]:
        """Return the encodings of a relation's columns, as named properties."""
        columns = self.table.columns[relation.oid]
        return {f"encoding of column {c.name}": c.encoding for c in columns if c.encoding}

    def statistics_targets(self, leaf: Relation) -> tuple[tuple[str, int], ...]:
        """Return statistics targets that are set, by quoted column."""
        return statistics_targets(self.table.columns[leaf.oid])

    def path_predicate(self, leaf: Relation, unit: Relation) -> list[str]:
        """Return the conditions that the rows of a leaf satisfy because of the bounds between
        it and its unit.
        """
        found = []
        for r in self.table.path_between(leaf.oid, unit.oid):
            assert r.parent is not None
            bound, above = parse(r.bound), self.table.relations[r.parent]
            expressible = bound.kind is BoundKind.RANGE or (
                bound.kind is BoundKind.LIST and len(above.key) == 1
            )
            # for expressions, hash partitions and the default partition, the rows come from
            # partitions with the same bound
            if expressible and above.split_by_columns:
                found.append(predicate(bound, *self.key(above)))
        return found

    def property_statements(
        self,
        schema: str,
        name: str,
        final: str,
        base: Traits,
        required: Traits,
        *,
        only: bool = False,
    ) -> PropertyStatements:
        """Return the statements that give the required properties to a table that was created like
        `base`.

        name, final: its names while it is built and afterwards; only: whether partitions below it
        keep theirs. Raises Refusal.
        """
        try:
            return statements_for(
                qualified(schema, name),
                qualified(schema, final),
                base,
                required,
                self.table.traits[self.table.root.oid],
                only=only,
            )
        except TraitConflict as e:
            raise Refusal(str(e)) from None

    def middles(
        self, unit: Relation, columns: Relation | None, stages: Sequence[StagingTable]
    ) -> tuple[IntermediatePartition, ...]:
        """Return a unit and the partitions between it and its leaves, to be created as they are.

        columns: the relation whose columns they copy. Raises Refusal.
        """
        found = subtree.middles(self.table, unit, self.addresses(unit))
        if not found or columns is None:
            return found
        return self.with_properties(found, self.table.traits[columns.oid], stages[0].name)

    def with_properties(
        self,
        middles: Iterable[IntermediatePartition],
        columns: Traits,
        stem: str = "",
        traits: Callable[[Relation], Traits] | None = None,
    ) -> tuple[IntermediatePartition, ...]:
        """Return intermediate partitions with the statements that set their properties.

        columns: properties of the relation whose columns they copy; stem: name of the first staging
        table below them (without it, they have their own names at once); traits: properties that
        they get instead of their own. Raises Refusal.
        """
        copied = copied_traits(columns, classic=self.classic)
        found = []
        for n, m in enumerate(middles):
            name = staging_name(stem, n) if stem and not self.classic else m.name
            required = traits(m.like) if traits else self.table.traits[m.like.oid]
            if self.classic:  # the server rejects changes of defaults and of NOT NULL
                required = {k: v for k, v in required.items() if k not in copied}
                required |= copied
            statements = self.property_statements(
                m.like.schema, name, m.name, copied, required, only=self.classic
            )
            found.append(replace(m, properties=statements))
        return tuple(found)

    def properties_lost(
        self, units: Sequence[Unit], replacements: Iterable[IntermediatePartition]
    ) -> list[str]:
        """Return a sentence for each property that intermediate partitions of these units have,
        and the partitions that replace them do not have.
        """
        traits, found = self.table.traits, []
        for new in replacements:
            parts = [m.like for u in units for m in u.middles if m.path == new.path]
            found += replaced(
                [traits[p.oid] for p in parts],
                without_statistics(traits[new.like.oid]),
                "the new partition has none",
                "the value of the newest partition applies",
            )
            found += tablespaces_lost(parts, new.like, "the new partition")
            found += comments_merged([p.comment for p in parts])
        return found

    def root_dependents(self, run_probe: ProbeRunner) -> dict[str, list[tuple[str, str]]]:
        """Dependent objects of the root, by kind: (detail, column)."""
        found: dict[str, list[tuple[str, str]]] = {}
        for r in run_probe("migration_root", root=str(self.table.root.oid)):
            found.setdefault(r["what"], []).append((r["detail"], r["column"] or ""))
        return found

    def as_it_was(
        self,
        name: str,
        leaf: Relation,
        like: Relation,
        *,
        predicate: str = "true",
        without: Collection[tuple[str, str]] = (),
        traits: Traits | None = None,
    ) -> StagingTable:
        """The staging table of a leaf that is created again, with the storage, grants, comment,
        indexes and traits that it has now; traits in `without` are added later.

        traits: those that it gets instead
        """
        table = self.table
        own = table.traits[leaf.oid] if traits is None else traits
        required = {k: v for k, v in own.items() if k not in without}
        copied = copied_traits(table.traits[like.oid], classic=self.classic)
        return StagingTable(
            name=name,
            final=leaf.name,
            schema=leaf.schema,
            like=like.sql,
            shape=leaf,
            sources=(),
            predicate=predicate,
            grants=leaf.grants,
            comment=leaf.comment,
            storage=leaf.storage,
            options=options_of(leaf.options),
            encodings=(
                self.encodings(table.columns[leaf.oid]) if leaf.storage == "ao_column" else ()
            ),
            explicit=True,
            indexes=tuple((i, i.name) for i in table.indexes[leaf.oid]),
            statistics=self.statistics_targets(leaf),
            properties=self.property_statements(leaf.schema, name, leaf.name, copied, required),
        )

    def templates_now(self, run_probe: ProbeRunner) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Greenplum 6: the subpartition templates as the server prints them, deepest level
        first, each with the table or partition that gets it.
        """
        found: dict[int, list[str]] = {}
        for r in run_probe("migration_template", root=str(self.table.root.oid)):
            found.setdefault(r["level"], []).append(r["element"])
        at = self.table.root
        reached = {1: at.sql}
        for level in range(2, max(found, default=0) + 1):
            at = next(c for c in self.table.children(at.oid) if c.kind != "leaf")
            reached[level] = f"{reached[level - 1]} ALTER PARTITION {self.address(at)}"
        return tuple((reached[level], tuple(found[level])) for level in sorted(found, reverse=True))


def _names_and_types(columns: Iterable[Column]) -> list[tuple[str, str]]:
    """Names and types, sorted, because columns in another order are copied by name."""
    return sorted((c.name, c.type) for c in columns)


def grants_lost(kept: Iterable[Grant], parts: Sequence[Relation], where: str) -> list[str]:
    """Return a sentence for each privilege that some of the parts grant and the relation that
    replaces them does not grant.
    """
    return privileges_lost(
        [[word for g in p.grants for word in g.words] for p in parts],
        [word for g in kept for word in g.words],
        where,
    )


def tablespaces_lost(parts: Iterable[Relation], like: Relation, where: str) -> list[str]:
    """Return a sentence if some parts have a tablespace, and the relation that replaces them,
    with the storage of `like`, does not.
    """

    def of(relation: Relation) -> dict[str, str]:
        return {"tablespace": relation.tablespace} if relation.tablespace else {}

    return others_lost([of(p) for p in parts], of(like), where, f"that of {like.name}")


def requirements(step: op.Step) -> Requirements:
    """Return the plan's estimate of the resources that a step needs on the server."""
    return Requirements(
        locks=step.cost.locks, segment_bytes=step.cost.segment_bytes or 0, seconds=step.cost.seconds
    )
