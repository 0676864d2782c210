"""Merge and convert: partitions of one parent are replaced by others with the same rows, which are
built in staging tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from gpcatalog.migration import subtree, swaps
from gpcatalog.migration.classic_spelling import partition
from gpcatalog.migration.declarative import Declarative
from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation, common_grants
from gpcatalog.migration.live_table import LiveTable, grants_lost, requirements
from gpcatalog.migration.naming import checked, index_name, options_of
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    NewPartition,
    PartitionOperation,
    StagingTable,
    Unit,
    WriteContext,
    tablespaces_of,
)
from gpcatalog.migration.partman_names import merged_suffix
from gpcatalog.migration.predicates import (
    Refusal,
    adjacent,
    bound_outside,
    has_both_ends,
    predicate,
    rejected_as_overlap,
    same_bound,
)
from gpcatalog.migration.request import Mode
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.traits import copied_traits
from gpcatalog.migration.writer import Writer
from gpcatalog.model.bounds import BoundKind, added_again, joined_list, merged_text, parse
from gpcatalog.model.generations import known
from gpcatalog.model.names import NAMEDATALEN, cut, first_lines, qualified
from gpcatalog.model.quantity import plural
from gpcatalog.model.storage import Storage
from gpcatalog.model.traits import (
    TraitConflict,
    Traits,
    converted,
    merged,
    without_statistics,
)
from gpcatalog.planner import operations as op
from gpcatalog.planner.losses import comments_merged


@dataclass(frozen=True, kw_only=True)
class ReplacePartitions(PartitionOperation):
    """Partitions of one parent are replaced by others with the same rows: a merge, a conversion, or
    their rollback.

    parent_address: value of `above` for the parent of the parent
    alone: whether no other partition stays except the default one
    beyond: Greenplum 6: bound of a temporary partition, outside of all removed partitions; '' if a
            default partition is used instead
    rows: number of rows, counted when the script was written; None if not counted
    """

    new_partitions: tuple[NewPartition, ...]
    range_predicate: str
    default_stages: tuple[StagingTable, ...] = ()
    alone: bool = False
    rows: int | None = None
    limit_bytes: int | None = None
    beyond: str = ""
    parent_address: str = ""

    @property
    def stages(self) -> list[StagingTable]:
        """All tables that are built for the new partitions."""
        return [s for m in self.new_partitions for s in m.stages]

    def summary(self) -> str:
        names = ", ".join(new.name for new in self.new_partitions[:3]) + (
            " …" if len(self.new_partitions) > 3 else ""
        )
        if [u.relation.name for u in self.gone] == [new.name for new in self.new_partitions]:
            return f"rewrite {names}"
        return f"merge {plural(len(self.gone), 'partition')} into {names}"

    def details(self) -> list[str]:
        new = [f"  {len(self.gone)} → {new.name} {new.bound}" for new in self.new_partitions]
        gone = [f"  takes the place of {u.relation.name} {u.relation.bound}" for u in self.gone]
        return first_lines(new, 5) + first_lines(gone, 3)

    def grants(self) -> Sequence[Grant]:
        new = [
            grants
            for m in self.new_partitions
            for grants in (*(s.grants for s in m.stages), *(x.grants for x in m.middles))
        ]
        return [g for grants in new for g in grants]

    def writes(self) -> list[str]:
        return [qualified(s.schema, s.name) for s in (*self.stages, *self.default_stages)]

    def names(self) -> list[tuple[str, str]]:
        found = [(m.schema, m.name) for m in self.new_partitions]
        for stage in self.stages:
            found += [
                (stage.schema, n) for n in (stage.final, *(name for _, name in stage.indexes))
            ]
        for middle in (middle for m in self.new_partitions for middle in m.middles):
            schema = middle.like.schema
            found += [(schema, n) for n in (middle.name, *(name for _, name in middle.indexes))]
        return found

    def tablespaces(self) -> list[str]:
        middles = [middle for m in self.new_partitions for middle in m.middles]
        return tablespaces_of([*self.stages, *self.default_stages], middles)

    def recreated(self, *, classic: bool) -> list[Relation]:
        new_names = {name for _, name in self.names()}
        again = [r for u in self.gone for r in u.everything if r.name in new_names]
        return [*again, *super().recreated(classic=classic)]

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        if isinstance(writer, Declarative) and self.uses_server_merge(writing):
            return writer.merge_partitions(context, self, exact=writing.exact)
        most = writing.request.most_copied if writing.forward else None
        if writing.request.mode is Mode.ONLINE and writing.forward:
            if most is not None:
                return swaps.instalments(writer, context, self, most=most)
            return swaps.online(writer, context, self, exact=writing.exact)
        return swaps.locked(
            writer, context, self, done=writing.state, exact=writing.exact, most=most
        )

    def uses_server_merge(self, writing: WriteContext) -> bool:
        """Whether MERGE PARTITIONS performs the operation: the server has this statement,
        readers may wait for this time, and the statement would not lose any property.
        """
        server, seconds = writing.server, writing.request.merge_seconds
        if (
            not writing.forward
            or not known(server.generation).merges_partitions
            or not 0 < self.needs.seconds <= seconds
        ):
            return False
        stages = self.stages
        plain = (
            len(self.new_partitions) == len(stages) == 1
            and len(self.gone) > 1
            and not self.new_partitions[0].middles
        )
        shape = stages[0].shape
        usual = (
            shape.storage == "heap"
            and not shape.options
            and not shape.tablespace
            and shape.persistence == "p"
        )
        return (
            plain
            and usual
            and not stages[0].explicit
            and not stages[0].properties
            and shape.replica_identity == "d"
            and not any(
                i.comment or i.constraint_comment or i.targets for i, _ in stages[0].indexes
            )
        )

    def notes(self, *, classic: bool) -> list[str]:
        deep = self.above or any(m.middles for m in self.new_partitions)
        if classic and deep and any(s.indexes for s in (*self.stages, *self.default_stages)):
            return [
                "Afterwards the indexes of the new subpartitions, and of those of the default"
                " partition, are independent: DROP INDEX on the root does not drop them."
            ]
        return []


def _merge(live: LiveTable, step: op.Merge, run_probe: ProbeRunner) -> Translation:
    maker = live.partman
    name = step.name
    if maker is not None and step.lower is not None and step.lower.value is not None:
        # pg_partman reads the start of a partition from its name
        ending = f"_{merged_suffix(step.lower.value, int(maker.version.split('.')[0]))}"
        name = cut(live.table.root.name, NAMEDATALEN - len(ending)) + ending
    return [_Replacement(live, step, name, step.partition).operations()]


def _convert(live: LiveTable, step: op.Convert, run_probe: ProbeRunner) -> Translation:
    unit = step.units[0]
    return [
        _Replacement(
            live, step, unit.name, unit.partition or unit.name.rpartition("_prt_")[2]
        ).operations()
    ]


register(StepHandler(_merge), "merge")
register(StepHandler(_convert), "convert")


class _Replacement:
    """One merge or conversion on the live table: refusals, the partition to build, and the
    partitions to build in a rollback.
    """

    def __init__(self, live: LiveTable, step: op.Merge | op.Convert, name: str, label: str) -> None:
        """Find the relations of the step.

        Raises Refusal if the table has changed or if there is an obstacle.

        name: of the new partition's relation; label: of the partition (Greenplum 6)
        """
        self.live, self.table, self.step, self.name, self.label = (
            live,
            live.table,
            step,
            name,
            label,
        )
        self.classic = live.classic
        self.digest = live.digest(step)
        self.units = [live.live(u.oid, u.name, u.bound) for u in step.units]
        self.parent = live.parent_of(self.units)
        live.refuse_published(self.parent)
        self.key = live.key(self.parent)
        self.leaves = [live.live_leaf(leaf) for leaf in step.leaves]
        if {leaf.oid for leaf in self.leaves} != {
            leaf.oid for u in self.units for leaf in self.table.leaves(u.oid)
        }:
            raise Refusal("changed since it was planned: it has other leaves now")
        live.leaf_obstacles(self.leaves)
        self.deep = self.units[0].kind != "leaf"
        for m in (m for u in self.units for m in subtree.middles(self.table, u, {})):
            live.refuse_dependents(m.like)
        if (
            self.deep
            and self.classic
            and any(i.constraint_kind for i in self.table.indexes[self.table.root.oid])
        ):
            raise Refusal(
                "Greenplum 6 cannot exchange subpartitions of a table with a primary or unique key"
            )
        self.text = self._bound()
        if self.classic:
            self._exclusive_starts()
        self.range_predicate = predicate(parse(self.text), *self.key)
        self.default = live.default_unit(self.parent, self.units)

    def _bound(self) -> str:
        """Return the bound of the new partition. Raises Refusal."""
        bounds = [parse(u.bound) for u in self.units]
        if any(b.kind is BoundKind.DEFAULT for b in bounds):
            raise Refusal("the default partition is never merged")
        types = {c.name: c.type for c in self.table.columns[self.parent.oid]}
        if bounds[0].kind is BoundKind.LIST:
            text = joined_list(bounds, classic=self.classic)
        else:
            for one, two in pairwise(bounds):
                if not adjacent(one, two, [types[name] for name in self.parent.key]):
                    raise Refusal(f"{one.text} and {two.text} are not adjacent")
            text = merged_text(bounds[0], bounds[-1], classic=self.classic)
        if isinstance(self.step, op.Merge) and not same_bound(text, self.step.bound):
            raise Refusal(
                f"the bound {self.step.bound} of the plan differs from the bound of"
                f" the partitions, {text}"
            )
        return text

    def _exclusive_starts(self) -> None:
        """Check that Greenplum 6 accepts the new partition, and the old partitions again, as a
        rollback adds them.

        Raises Refusal.
        """
        if self.parent.oid not in self.live.exclusive:
            return
        children = self.table.children(self.parent.oid)
        siblings = [parse(c.bound) for c in children]
        bounds = [parse(u.bound) for u in self.units]
        # a rollback adds the highest one first if one starts EXCLUSIVE
        downwards = any(not b.lower_inclusive for b in bounds)
        # of thousands of partitions, only those that end or start at the same values are compared
        values = {end[0].value for b in bounds for end in (b.lower, b.upper) if end}
        near = [
            (c.oid, b)
            for c, b in zip(children, siblings, strict=True)
            if any(end and end[0].value in values for end in (b.lower, b.upper))
        ]
        # partitions that the plan drops may be there or not
        for dropped in (set(), self.live.dropped):
            going = {u.oid for u in self.units} | dropped
            staying = [b for oid, b in near if oid not in going]
            if why := rejected_as_overlap(parse(self.text), staying, staying):
                raise Refusal(f"{self.units[0].name} {why}")
            for n, u in enumerate(self.units):
                there = [*staying, *(bounds[n + 1 :] if downwards else bounds[:n])]
                if why := rejected_as_overlap(bounds[n], there, there):
                    raise Refusal(f"in a rollback, {u.name} {why}")
        for u, again in zip(self.units, added_again(siblings, bounds), strict=True):
            if not again:
                raise Refusal(
                    f"{u.name} starts EXCLUSIVE where another partition ends INCLUSIVE; Greenplum"
                    " 6 rejects this as an overlap, so a rollback could not add the partition"
                    " again"
                )

    def _stand_in(self) -> tuple[bool, str]:
        """Return whether no sibling except the default partition stays, and the bound of a
        temporary partition. Raises Refusal.
        """
        live, going = self.live, {u.oid for u in self.units}
        default = self.default
        alone = self.classic and all(
            c.oid in going
            or c.oid in live.dropped
            or (default is not None and c.oid == default.relation.oid)
            for c in self.table.children(self.parent.oid)
        )
        outside = self.deep or bool(live.above(self.parent)) or not has_both_ends(self.text)
        beyond = bound_outside(parse(self.text)) if alone and outside else ""
        if alone and outside and not beyond:
            raise Refusal(
                "Greenplum 6 cannot drop the last partition of a level, and no temporary"
                " partition is possible; do not merge all of them"
            )
        if self.table.oids_of.get(self.name, set()) - going:
            raise Refusal(f"the name {self.name} is already in use")
        return alone, beyond

    def operations(self) -> tuple[ReplacePartitions, ReplacePartitions]:
        """Return the replacement and its rollback. Raises Refusal."""
        live, step = self.live, self.step
        alone, beyond = self._stand_in()
        stages, traits_of, lost = self._stages()
        gone = tuple(live.unit(u) for u in self.units)
        middles = self._middles(gone, stages)
        if middles:
            lost += grants_lost(middles[0].grants, self.units, "the new partition")
            lost += live.others_lost(self.units, self.units[-1], "the new partition")
            lost += live.properties_lost(gone, middles)
        next_to_it = () if self.default is None else (self.default,)
        lost += live.indexes_of_middles_lost((*gone, *next_to_it))
        new_partition = NewPartition(
            name=self.name,
            partition=self.label,
            bound=self.text,
            stages=tuple(stages),
            key=self.range_predicate,
            middles=middles,
            columns=self.units[-1],
        )
        size = step.cost.bytes
        forward = ReplacePartitions(
            id=step.id,
            title=step.explanation,
            parent=self.parent,
            above=live.above(self.parent),
            gone=gone,
            new_partitions=(new_partition,),
            range_predicate=self.range_predicate,
            default=self.default,
            default_stages=(
                parked(live, self.default, f"gpc_{self.digest}_d") if self.classic else ()
            ),
            alone=alone,
            rows=live.counted(self.leaves),
            rests_on=step.rests_on,
            limit_bytes=None if size is None else int(size * live.growth) + (64 << 20),
            needs=requirements(step),
            lost=tuple(dict.fromkeys(lost)),
            beyond=beyond,
            parent_address=live.above(self.parent, -1),
        )
        return forward, self._rollback(forward, new_partition, traits_of)

    # --- the new partition ------------------------------------------------------------------------

    def _stages(self) -> tuple[list[StagingTable], dict[str, Traits], list[str]]:
        """Return the tables to build, the traits of each by its name, and the losses."""
        live = self.live
        stages: list[StagingTable] = []
        traits_of: dict[str, Traits] = {}
        lost: list[str] = []
        lane_of = {
            leaf.name: leaf.lane for leaf in self.step.leaves
        }  # by name: a rollback creates leaves with new oids
        for n, new in enumerate(self.step.new):
            parts = [leaf for leaf in self.leaves if lane_of[leaf.name] == n]
            if not parts:
                raise Refusal("a new leaf has no old leaves")
            live.refuse_partly_unlogged(parts)
            like = next((p for p in parts if p.oid == new.like), parts[-1])
            traits, missing = self._merged_traits(parts, like)
            if new.storage and new.storage != like.storage:
                traits, more = converted(traits, new.storage, like.options)
                missing += more
            stage = self._stage(new, parts, like, traits, f"gpc_{self.digest}_{n + 1}")
            lost += [
                *missing,
                *grants_lost(stage.grants, parts, "the new partition"),
                *live.indexes_lost(parts, like, "the new partition"),
                *self.live.index_comments_lost(parts, like),
                *comments_merged([p.comment for p in parts]),
                *live.others_lost(
                    parts,
                    like,
                    "the new partition",
                    encoded=like.storage == stage.storage == "ao_column",
                ),
            ]
            traits_of[stage.name] = traits
            stages.append(stage)
        return stages, traits_of, lost

    def _stage(
        self, new: op.NewLeaf, parts: list[Relation], like: Relation, traits: Traits, name: str
    ) -> StagingTable:
        live, table = self.live, self.table
        unit = self.units[-1] if self.deep else like
        final = new.name if self.deep else self.name
        own = table.columns[like.oid]
        # if their storage differs, like the newest of them, as in the plan
        converts = bool(new.storage) and new.storage != like.storage
        options = checked(new.options.items()) if converts else options_of(like.options)
        # LIKE … INCLUDING STORAGE of Greenplum 6 omits the block size, and all options of heap
        # tables
        omitted = like.storage == "heap" or any(option == "blocksize" for option, _ in options)
        repeats_options = self.classic and not converts and bool(options) and omitted
        copied = copied_traits(table.traits[like.oid], classic=self.classic)
        return StagingTable(
            name=name,
            final=final,
            schema=like.schema,
            like=like.sql,
            shape=like,
            sources=tuple((p.sql, "") for p in parts),
            slices=tuple(self._slice(p, unit.level if self.deep else like.level) for p in parts),
            predicate=" AND ".join(
                [self.range_predicate, *(live.path_predicate(like, unit) if self.deep else [])]
            ),
            grants=common_grants([p.grants for p in parts]),
            comment="\n".join(dict.fromkeys(p.comment for p in parts if p.comment)),
            storage=Storage(new.storage or like.storage).value,
            options=options,
            encodings=live.encodings(own)
            if repeats_options and like.storage == "ao_column"
            else (),
            explicit=converts or repeats_options,
            path=live.path_below(like, unit) if self.deep else (),
            indexes=live.own_indexes(like, final),
            statistics=live.statistics_targets(like) if own else (),
            properties=live.property_statements(like.schema, name, final, copied, traits),
        )

    def _middles(
        self, gone: Sequence[Unit], stages: Sequence[StagingTable]
    ) -> tuple[IntermediatePartition, ...]:
        """Return the new partition and the partitions between it and its leaves; empty if it is
        the leaf.
        """
        if not self.deep:
            return ()
        used_names = set(self.table.oids_of) | {s.final for s in stages}
        named: Callable[[str, str, str], str] = partial(
            index_name, used_names=self.live.used_index_names
        )
        try:
            found = subtree.merged(
                gone, self.name, self.label, self.text, used_names, named, classic=self.classic
            )
        except subtree.SubtreeChanged as e:
            raise Refusal(f"changed since it was planned: {e}") from None
        traits = self.table.traits  # names of statistics objects are in use
        return self.live.with_properties(
            found,
            traits[self.units[-1].oid],
            stages[0].name,
            lambda r: without_statistics(traits[r.oid]),
        )

    def _merged_traits(
        self, parts: list[Relation], like: Relation
    ) -> tuple[dict[tuple[str, str], str], list[str]]:
        """Return the traits of a leaf that is merged from these parts, and the losses; `like`
        counts as the newest. Raises Refusal.
        """
        ordered = [*(p for p in parts if p.oid != like.oid), like]
        try:
            return merged(
                [self.table.traits[p.oid] for p in ordered], self.table.traits[self.table.root.oid]
            )
        except TraitConflict as e:
            raise Refusal(str(e)) from None

    def _slice(self, leaf: Relation, level: int) -> str:
        """Return the condition that distinguishes the rows of a leaf from those of the other
        leaves of one new leaf: the bound of its unit.
        """
        at = leaf
        while at.level > level:
            assert at.parent is not None
            at = self.table.relations[at.parent]
        return predicate(parse(at.bound), *self.key)

    # --- the rollback -----------------------------------------------------------------------------

    def _rollback(
        self,
        forward: ReplacePartitions,
        new_partition: NewPartition,
        traits_of: Mapping[str, Traits],
    ) -> ReplacePartitions:
        """Return the rollback: the old partitions are built from the merged one, with their bounds,
        storage and privileges.
        """
        relation = _new_relation(new_partition, self.units[-1], self.parent)
        new_leaves = tuple(_stage_relation(s, relation, self.deep) for s in new_partition.stages)
        # as they are after the merge
        middles = tuple(
            replace(
                m,
                like=relation if not m.path else replace(m.like, oid=0, name=m.name),
                address=partition(m.label),
            )
            for m in new_partition.middles
        )
        gone = Unit(
            relation=relation,
            leaves=new_leaves if self.deep else (new_leaves[0],),
            address=partition(self.label) if self.classic else "",
            middles=middles,
        )
        return ReplacePartitions(
            id=f"undo-{self.step.id}",
            title=f"rollback: {forward.title}",
            parent=self.parent,
            above=forward.above,
            gone=(gone,),
            new_partitions=tuple(self._old_partitions(new_partition, relation, traits_of)),
            range_predicate=forward.range_predicate,
            default=forward.default,
            default_stages=tuple(
                replace(s, name=s.name.replace("gpc_", "gpr_")) for s in forward.default_stages
            ),
            alone=forward.alone,
            beyond=forward.beyond,
            parent_address=forward.parent_address,
        )

    def _old_partitions(
        self, new_partition: NewPartition, relation: Relation, traits_of: Mapping[str, Traits]
    ) -> Iterable[NewPartition]:
        live, table = self.live, self.table
        number = 0
        sources_of = {stage.name: {s for s, _ in stage.sources} for stage in new_partition.stages}
        copied = {
            name: copied_traits(traits, classic=self.classic) for name, traits in traits_of.items()
        }
        for u in self.units:
            mine = predicate(parse(u.bound), *self.key)
            stages = []
            for stage in new_partition.stages:
                old = next(
                    (leaf for leaf in table.leaves(u.oid) if leaf.sql in sources_of[stage.name]),
                    None,
                )
                if old is None:
                    continue
                number += 1
                stages.append(
                    self._old_leaf(
                        stage, old, u, mine, f"gpr_{self.digest}_{number}", copied[stage.name]
                    )
                )
            yield NewPartition(
                name=u.name,
                partition=subtree.label(u),
                bound=u.bound,
                stages=tuple(stages),
                key=mine,
                middles=live.middles(u, new_partition.columns, stages),
                columns=relation,
            )

    def _old_leaf(
        self,
        stage: StagingTable,
        old: Relation,
        unit: Relation,
        mine: str,
        name: str,
        copied: Traits,
    ) -> StagingTable:
        """Return the staging table of an old leaf, filled from the new leaf that `stage` became."""
        live, table = self.live, self.table
        stored_alike = self._stored_alike(old, stage.shape) and not stage.explicit
        return StagingTable(
            name=name,
            final=old.name,
            schema=old.schema,
            like=qualified(stage.schema, stage.final),
            shape=old,
            sources=((qualified(stage.schema, stage.final), mine),),
            predicate=" AND ".join([mine, *(live.path_predicate(old, unit) if self.deep else [])]),
            grants=old.grants,
            comment=old.comment,
            storage=old.storage,
            options=options_of(old.options),
            encodings=(
                live.encodings(table.columns[old.oid])
                if old.storage == "ao_column" and not stored_alike
                else ()
            ),
            explicit=not stored_alike,
            path=live.path_below(old, unit) if self.deep else (),
            indexes=tuple((i, i.name) for i in table.indexes[old.oid]),
            statistics=live.statistics_targets(old),
            properties=live.property_statements(
                old.schema, name, old.name, copied, table.traits[old.oid]
            ),
        )

    def _stored_alike(self, one: Relation, two: Relation) -> bool:
        ours, theirs = self.table.columns[one.oid], self.table.columns[two.oid]
        return (
            one.storage == two.storage
            and sorted(options_of(one.options)) == sorted(options_of(two.options))
            and (
                ours is theirs  # equal columns are kept once
                or [(c.name, c.encoding) for c in ours] == [(c.name, c.encoding) for c in theirs]
            )
            and one.tablespace == two.tablespace
        )


def parked(live: LiveTable, default: Unit | None, stem: str) -> tuple[StagingTable, ...]:
    """Return the tables that contain the default partition's leaves on Greenplum 6 while it is
    dropped and created again.
    """
    return (
        tuple(
            StagingTable(
                name=f"{stem}{n}",
                final=leaf.name,
                schema=leaf.schema,
                like=leaf.sql,
                shape=leaf,
                sources=(),
                predicate="true",
                path=live.path_below(leaf, default.relation),
                indexes=tuple((i, i.name) for i in live.table.indexes[leaf.oid]),
            )
            for n, leaf in enumerate(default.leaves, 1)
        )
        if default is not None
        else ()
    )


def _new_relation(new_partition: NewPartition, like: Relation, parent: Relation) -> Relation:
    """Return the merged partition as it will be, for the guard of the rollback."""
    return replace(
        like,
        oid=0,
        parent=parent.oid,
        name=new_partition.name,
        bound=new_partition.bound,
        partition=new_partition.partition,
    )


def _stage_relation(stage: StagingTable, unit: Relation, deep: bool) -> Relation:
    bound = stage.path[-1].bound if deep else unit.bound
    return replace(stage.shape, oid=0, name=stage.final, bound=bound, storage=stage.storage)
