"""Create partitions like an existing one: built as staging tables with all its properties, then
attached.

If requested, rows of their ranges in the default partition are moved into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from gpcatalog.migration import subtree
from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.naming import index_name
from gpcatalog.migration.operations import (
    Context,
    NewPartition,
    Operation,
    PartitionOperation,
    PathStep,
    StagingTable,
    WriteContext,
    staging_name,
)
from gpcatalog.migration.predicates import Refusal, predicate
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.steps.replace_partitions import ReplacePartitions, parked
from gpcatalog.migration.traits import PropertyStatements
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    call,
    literal,
    lock_from_readers,
    lock_from_writers,
    names_of,
    qualified_always,
)
from gpcatalog.model.bounds import parse
from gpcatalog.model.names import first_lines, qualified, relation_name
from gpcatalog.model.quantity import plural
from gpcatalog.model.traits import Traits, without_statistics
from gpcatalog.planner.operations import step_id
from gpcatalog.upkeep.steps import Create, NewUnit


@dataclass(frozen=True, kw_only=True)
class CreatePartitions(PartitionOperation):
    """New partitions of one parent, each like `like`.

    likes: `like`, and everything below it; swaps: for each new partition, the operation that
           attaches it
    closed: whether row security is enabled for some of them, without policies
    move:  whether rows of the default partition are moved into them; only_with_rows: whether
           nothing is created without such rows
    unmoved: why rows are not moved, although the policy requires it
    """

    like: Relation
    likes: tuple[Relation, ...]
    swaps: tuple[ReplacePartitions, ...]
    closed: bool = False
    move: bool = False
    only_with_rows: bool = False
    unmoved: str = ""

    def summary(self) -> str:
        return f"create {plural(len(self.swaps), 'partition')}"

    def details(self) -> list[str]:
        found = first_lines(
            [f"  {s.new_partitions[0].name} {s.new_partitions[0].bound}" for s in self.swaps], 10
        )
        if self.closed:
            found.append(
                f"  row security is enabled as in {self.like.name}, but its policies are not"
                " copied: queries on the table are not affected, and other roles than the owner"
                " see no rows in the new partition itself"
            )
        if self.unmoved:
            found.append(
                "  created only while the default partition has no rows of their ranges:"
                f" {self.unmoved}"
            )
        return found

    def allows_publications(self) -> bool:
        return not self.move

    def names_when_written(self) -> list[tuple[str, str]]:
        return [name for s in self.swaps for name in s.names()]

    def grants(self) -> Sequence[Grant]:
        return [g for s in self.swaps for g in s.grants()]

    def reads(self) -> list[str]:
        return [*super().reads(), *(r.sql for r in self.likes)]

    def writes(self) -> list[str]:
        # triggers and rules would run when rows are deleted
        found = [leaf.sql for leaf in self.default.leaves] if self.move and self.default else []
        return [*found, *(qualified(s.schema, s.name) for w in self.swaps for s in w.stages)]

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        guard = writer.guard(context, self, done="done", exact=False, partitions=[self.like])
        stages = [s for swap in self.swaps for s in swap.stages]
        phases: Phases = [
            (Phase.GUARD, [*guard, *self._rows_of_default(writer, context)]),
            (Phase.STAGE, [x for s in stages for x in writer.make_stage(context, self, s)]),
        ]
        if self.move:
            phases += self._moved(writer, context, stages)
        phases.append(
            (
                Phase.INDEX,
                [
                    *(line for s in stages for line in writer.indexes(s)),
                    *([writer.statistics(s) for s in stages] if self.move else []),
                    writer.trusted(context, self),
                ],
            )
        )
        attached = [dict(writer.exchange(context, swap)) for swap in self.swaps]
        phases.append((Phase.PREPARE, [x for a in attached for x in a[Phase.PREPARE]]))
        phases.append((Phase.EXCLUSIVE, self._locks(writer, context)))
        phases.append(
            (
                Phase.SWAP,
                [
                    line
                    for swap, a in zip(self.swaps, attached, strict=True)
                    for line in self._attach(writer, context, swap, a)
                ],
            )
        )
        phases.append((Phase.NOTE, self._note(writer, context)))
        return [writer.block(context, self, phases)]

    def _note(self, writer: Writer, context: Context) -> list[str]:
        """Note that the step is done, unless the name of one of its partitions is in use."""
        done = writer.note(context, self, "done")
        if self.move:
            return done
        run, root, step = map(literal, (writer.run, context.root.sql, self.id))
        refused = (
            f"EXISTS (SELECT 1 FROM {SCHEMA}.upkeep u WHERE u.plan = {run} AND u.relation = {root}"
            f" AND u.step = {step} AND u.state = 'refused' AND u.at >="
            f" pg_catalog.current_setting('{SCHEMA}.began')::timestamptz)"
        )
        return [f"IF NOT {refused} THEN", *(f"    {line}" for line in done), "END IF;"]

    def _locks(self, writer: Writer, context: Context) -> list[str]:
        if writer.classic:
            # rows that were inserted into the default partition until now would stay there, and not
            # be found
            checks = [
                writer.nothing_in_default(leaf.sql, swap.range_predicate)
                for leaf in (self.default.leaves if self.default is not None else ())
                for swap in self.swaps
            ]
            return [*writer.readers_out(context, self.parent, (), self.default), *checks]
        # ATTACH needs no stronger lock on the parent: readers and writers continue
        quiet = literal(f"LOCK TABLE ONLY {self.parent.sql} IN SHARE UPDATE EXCLUSIVE MODE")
        if self.default is None:
            return [call("lock", quiet)]
        return [call("lock", quiet), lock_from_readers(names_of(self.default)), EXCLUSIVE_SINCE]

    def _attach(
        self,
        writer: Writer,
        context: Context,
        swap: ReplacePartitions,
        attached: dict[Phase, list[str]],
    ) -> list[str]:
        """Attach one partition, unless another session has created it meanwhile."""
        (new_partition,) = swap.new_partitions
        there = (
            f"{SCHEMA}.has_partition({literal(context.root.sql)}, {literal(self.parent.sql)},"
            f" {literal(new_partition.bound)})"
        )
        unused = [
            qualified(s.schema, s.name) for s in (*new_partition.stages, *swap.default_stages)
        ]
        if new_partition.middles and not writer.classic:
            top = qualified(
                new_partition.middles[0].like.schema, staging_name(new_partition.stages[0].name, 0)
            )
            unused = [top, *(qualified(s.schema, s.name) for s in swap.default_stages)]
        moves = [*attached[Phase.SWAP], *attached[Phase.FINISH]]
        found = [f"IF NOT {there} THEN", *("    " + line for line in moves)]
        # a name that is already in use prevents only this partition, unless its rows were moved
        name = literal(qualified_always(self.like.schema, new_partition.name))
        if not self.move:
            why = literal(
                f"{new_partition.name} is not created, because its name is in use (rename or drop"
                " the other relation): "
            )
            why = f"{why} || {SCHEMA}.described({name})"
            found = [
                f"IF NOT {there} AND {SCHEMA}.relation({name}) IS NOT NULL THEN",
                f"    {self._refused(writer, context, why)}",
                f"    DROP TABLE {', '.join(unused)};",
                f"ELS{found[0]}",
                *found[1:],
            ]
        if self.move:  # its rows would have to be moved back
            message = literal(
                f"another session created a partition {new_partition.bound} meanwhile"
            )
            found += ["ELSE", f"    RAISE EXCEPTION '%', {message};"]
        else:
            found += ["ELSE", f"    DROP TABLE {', '.join(unused)};"]
        return [*found, "END IF;"]

    def _rows_of_default(self, writer: Writer, context: Context) -> list[str]:
        """The statement that ends the step if the default partition has none of its rows, or
        has some that are not moved.
        """
        if self.default is None or (self.move and not self.only_with_rows):
            return []
        some = " OR ".join(
            f"EXISTS (SELECT 1 FROM ONLY {leaf.sql} WHERE {swap.range_predicate})"
            for leaf in self.default.leaves
            for swap in self.swaps
        )
        if self.only_with_rows:
            return [f"IF NOT ({some}) THEN RETURN; END IF;"]
        names = ", ".join(s.new_partitions[0].name for s in self.swaps)
        why = (
            f"{names} is not created: the default partition has rows of its range"
            f" ({self.unmoved or 'default_rows = move moves them'})"
        )
        return [f"IF {some} THEN {self._refused(writer, context, literal(why))} RETURN; END IF;"]

    def _refused(self, writer: Writer, context: Context, why: str) -> str:
        """The call that records why a partition is not created; the script goes on. why: as SQL."""
        step = map(literal, (writer.run, context.root.sql, self.id))
        return call("upkeep_refused", *step, why)

    def _moved(self, writer: Writer, context: Context, stages: Sequence[StagingTable]) -> Phases:
        """Copy the rows from the default partition, compare them, and delete them there."""
        assert self.default is not None
        (default,) = self.default.leaves
        plan, step = literal(context.plan), literal(self.id)
        old = [
            writer.tally(
                context,
                self,
                "old",
                f"{default.sql} {s.final}",
                f"ONLY {default.sql} WHERE {s.predicate}",
            )
            for s in stages
        ]
        new = [
            writer.tally(
                context,
                self,
                "new",
                qualified(s.schema, s.final),
                f"ONLY {qualified(s.schema, s.name)}",
                s.predicate,
            )
            for s in stages
        ]
        return [
            (Phase.LOCK, [lock_from_writers([context.root.sql, default.sql])]),
            (Phase.COPY, [line for s in stages for line in writer.copies(context, s)]),
            (
                Phase.PROVE,
                [*old, *new, f"held := {SCHEMA}.compare({plan}, {step}, 'old', 'new');"],
            ),
            (
                Phase.SWAP,
                [f"DELETE FROM ONLY {default.sql} WHERE {s.predicate};" for s in stages],
            ),
        ]


class _Creation:
    """New partitions of a live table, with the properties of the partition that they are
    created like.
    """

    def __init__(self, live: LiveTable, step: Create) -> None:
        self.live, self.step, self.table = live, step, live.table
        self.like = live.live(step.like.oid, step.like.name, step.like.bound)
        self.parent = live.parent_of([self.like])
        self.default = live.default_unit(self.parent, [self.like])
        self.digest = live.digest(step)
        self.used_names = set(self.table.oids_of)
        self.move, self.unmoved = step.move, step.unmoved
        self._obstacles()

    def _obstacles(self) -> None:
        """Raise Refusal for properties that a new partition cannot have, or would lack."""
        live, leaves = self.live, self.table.leaves(self.like.oid)
        if not leaves:
            raise Refusal(f"{self.like.name} has no partitions below it yet")
        if not all(r.persistence in "pu" for r in self.table.relations.values()):
            raise Refusal("it is a temporary table")
        for leaf in leaves:
            if leaf.storage not in ("heap", "ao_row", "ao_column"):
                raise Refusal(f"{leaf.name} has storage {leaf.storage}")
            for h in self.table.dependents.get(leaf.oid, ()):
                if h.what in ("own expression", "exclusion constraint", "row type"):
                    raise Refusal(f"{leaf.name}: {h.what} ({h.detail})")
        if self.step.move and (reason := self._unmoved()):
            if self.step.only_with_rows:
                raise Refusal(reason)
            self.move, self.unmoved = False, reason
        if (
            live.classic
            and self.like.kind != "leaf"
            and any(i.constraint_kind for i in self.table.indexes[self.table.root.oid])
        ):
            raise Refusal(
                "Greenplum 6 cannot exchange subpartitions of a table with a primary or unique key"
            )

    def _unmoved(self) -> str:
        """Why rows of the default partition are not moved; empty if they are."""
        if self.default is None or len(self.default.leaves) != 1 or self.default.middles:
            return "rows of a default partition with subpartitions are not moved"
        for oid in (self.table.root.oid, self.default.relation.oid):
            for h in self.table.dependents.get(oid, ()):
                if h.what in ("trigger", "rule"):
                    return (
                        f"it has a {h.what} ({h.detail}), which would fire when rows of the default"
                        " partition are moved"
                    )
        return ""

    def _traits(self, leaf: Relation) -> Traits:
        """The traits that a new leaf gets from the leaf that it is created like.

        Not included are CHECK constraints that the table does not have, and statistics objects:
        they describe only the rows of the old leaf, and names of statistics objects are in use.
        """
        root = self.table.traits[self.table.root.oid]
        return {
            k: v
            for k, v in without_statistics(self.table.traits[leaf.oid]).items()
            if not (k[0] in ("check", "check comment") and k not in root)
        }

    def _closed(self, relation: Relation) -> bool:
        return any(h.what == "row security" for h in self.table.dependents.get(relation.oid, ()))

    def _protected(
        self, properties: PropertyStatements, relation: Relation, final: str
    ) -> PropertyStatements:
        """The statements, and the statement that enables row security if the relation has it.

        The new relation has the same privileges, and would show its rows to everybody with these
        privileges.
        """
        if not self._closed(relation):
            return properties
        table = qualified(relation.schema, final)
        enable = f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
        return replace(properties, after=(*properties.after, enable))

    def _name(self, new: NewUnit) -> str:
        """Relation name of a new partition: Greenplum 6 makes it from the label."""
        name = new.name
        if self.live.classic:
            name = relation_name(
                self.parent.name, self.like.level, new.label, classic=True, used_names=set()
            )
        if name in self.used_names:
            raise Refusal(f"the name {name} is already in use")
        self.used_names.add(name)
        return name

    def new_partition(self, number: int, new: NewUnit) -> tuple[NewPartition, str]:
        """The new partition, and the condition that all its rows satisfy."""
        live, table, like = self.live, self.table, self.like
        name, label = self._name(new), new.label
        by_columns = self.parent.split_by_columns
        key = predicate(parse(new.bound), *live.key(self.parent)) if by_columns else "true"
        # names of intermediate partitions, by path, before and after
        names: dict[tuple[str, ...], tuple[str, str]] = {(): (like.name, name)}
        middles = []
        for m in subtree.middles(table, like, live.addresses(like)):
            if m.path:
                old_parent, parent = names[m.path[:-1]]
                child = subtree.child_name(
                    parent, m.like, old_parent, self.used_names, classic=live.classic
                )
                names[m.path] = (m.name, child)
            final = names[m.path][1]
            indexes = tuple(
                (i, index_name(m.name, i.name, final, live.used_index_names)) for i, _ in m.indexes
            )
            middle = replace(m, name=final, comment="", indexes=indexes, address="")
            if not m.path:
                middle = replace(middle, label=label, bound=new.bound)
            middles.append(middle)
        stages = []
        for n, leaf in enumerate(table.leaves(like.oid), 1):
            path = live.path_below(leaf, like)
            final = name
            if path:
                old_parent, parent = names[tuple(p.bound for p in path[:-1])]
                final = subtree.child_name(
                    parent, leaf, old_parent, self.used_names, classic=live.classic
                )
                path = (*path[:-1], replace(path[-1], relation=final))
            inside = " AND ".join([key, *live.path_predicate(leaf, like)])
            stages.append(self._stage(f"gpu_{self.digest}_{number}_{n}", leaf, final, inside, path))
        with_properties = live.with_properties(
            middles, table.traits[table.root.oid], stages[0].name, self._traits
        )
        return (
            NewPartition(
                name=name,
                partition=label,
                bound=new.bound,
                stages=tuple(stages),
                key=key,
                middles=tuple(
                    replace(m, properties=self._protected(m.properties, m.like, m.name))
                    for m in with_properties
                ),
                columns=table.root,
            ),
            key,
        )

    def _stage(
        self, name: str, leaf: Relation, final: str, inside: str, path: tuple[PathStep, ...]
    ) -> StagingTable:
        live, table = self.live, self.table
        stage = live.as_it_was(name, leaf, table.root, predicate=inside, traits=self._traits(leaf))
        indexes = tuple(
            (
                i,
                index_name(leaf.name, i.name, final, live.used_index_names),
            )
            for i in table.indexes[leaf.oid]
        )
        sources: tuple[tuple[str, str], ...] = ()
        if self.move and self.default is not None:
            sources = ((self.default.leaves[0].sql, inside),)
        return replace(
            stage,
            final=final,
            comment="",
            properties=self._protected(stage.properties, leaf, final),
            indexes=indexes,
            path=path,
            sources=sources,
            slices=tuple(inside for _ in sources),
        )

    def operation(self) -> CreatePartitions:
        """The operation. Raises Refusal."""
        live, step = self.live, self.step
        swaps = []
        for n, new in enumerate(step.new, 1):
            new_partition, key = self.new_partition(n, new)
            swaps.append(
                ReplacePartitions(
                    id=step.id,
                    title=step.explanation,
                    parent=self.parent,
                    above=live.above(self.parent),
                    gone=(),
                    new_partitions=(new_partition,),
                    range_predicate=key,
                    default=self.default,
                    default_stages=(
                        parked(live, self.default, f"gpu_{self.digest}_{n}_d")
                        if live.classic
                        else ()
                    ),
                    parent_address=live.above(self.parent, -1),
                )
            )
        return CreatePartitions(
            id=step.id,
            title=step.explanation,
            parent=self.parent,
            above=live.above(self.parent),
            gone=(),
            default=self.default,
            rests_on=step.rests_on,
            like=self.like,
            likes=live.unit(self.like).everything,
            swaps=tuple(swaps),
            closed=any(self._closed(r) for r in live.unit(self.like).everything),
            move=self.move,
            only_with_rows=step.only_with_rows,
            unmoved=self.unmoved,
        )


def _translate(live: LiveTable, step: Create, run_probe: ProbeRunner) -> Translation:
    found: list[tuple[Operation, Operation | None]] = [(_Creation(live, step).operation(), None)]
    return found


def _alone(step: Create) -> list[Create]:
    """A step for each of the new partitions."""
    return [
        structs.replace(
            step,
            id=step_id("create", step.id, new.bound),
            explanation=f"create {new.name}",
            new=(new,),
        )
        for new in step.new
    ]


register(StepHandler(_translate, exchanges=False, alone=_alone), "create")
