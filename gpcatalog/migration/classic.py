"""Greenplum 6: add placeholder partitions, and exchange them with staging tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpcatalog.migration.classic_spelling import constant, partition
from gpcatalog.migration.introspect import Grant, Relation
from gpcatalog.migration.introspect import (
    quote_ident_always as quote,
)  # for partitions: Greenplum 6 accepts few keywords as their names
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.operations import (
    Context,
    NewPartition,
    PartitionOperation,
    StagingTable,
    Unit,
)
from gpcatalog.migration.writer import Phase, Phases, Writer, call, grant_statements, literal
from gpcatalog.model.names import qualified

if TYPE_CHECKING:
    from gpcatalog.migration.steps.external_tables import MoveToExternal
    from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
    from gpcatalog.migration.steps.retire import DetachPartitions

# short: the server makes names of subpartitions from it, which must differ when truncated
STAND_IN = "gpc_s"


def _in_order(partitions: Sequence[NewPartition]) -> Sequence[NewPartition]:
    """The partitions in the order in which they are added: the highest one first if one starts
    EXCLUSIVE. See `rejected_as_overlap`.
    """
    if any(") EXCLUSIVE" in p.bound for p in partitions):
        return partitions[::-1]
    return partitions


class Classic(Writer):
    """ADD PARTITION creates a heap leaf without encodings. It is a placeholder: the staging
    table has the storage.
    """

    classic = True

    def settings(self) -> list[str]:
        return [
            # the script checks for the problem of which EXCHANGE of a default partition warns
            "SET client_min_messages = error;",
            "SET gp_autostats_mode = none;",
            "SET gp_default_storage_options = 'appendonly=false';",
            "SET default_with_oids = off;",
            "SET gp_use_legacy_hashops = off;",
            "SET gp_enable_exchange_default_partition = on;",
        ]

    def create_stage(self, context: Context, stage: StagingTable) -> str:
        table = qualified(stage.schema, stage.name)
        kind = "UNLOGGED TABLE" if stage.shape.persistence == "u" else "TABLE"
        place = f" TABLESPACE {quote(stage.shape.tablespace)}" if stage.shape.tablespace else ""
        if not stage.explicit:
            return (
                f"CREATE {kind} {table} (LIKE {stage.like} INCLUDING DEFAULTS INCLUDING"
                f" STORAGE){place};"
            )
        # LIKE INCLUDING STORAGE and WITH cannot be combined
        inside = [f"LIKE {stage.like} INCLUDING DEFAULTS"]
        inside += [f"COLUMN {column} ENCODING ({encoding})" for column, encoding in stage.encodings]
        options = ", ".join(f"{k}={v}" for k, v in stage.options)
        return (
            f"CREATE {kind} {table} ({', '.join(inside)})"
            + (f" WITH ({options})" if options else "")
            + f"{place};"
        )

    def quiet(self, context: Context, parent: Relation, gone: Sequence[Unit]) -> list[str]:
        # Writers through the root lock the root first, and so does everyone who adds a partition at
        # any level: locks on the root and the leaves are enough.
        return [context.root.sql, *(leaf.sql for u in gone for leaf in u.leaves)]

    def _alter(self, context: Context, above: str, what: str) -> str:
        return f"ALTER TABLE {context.root.sql} {above}{what};"

    def _exchange(
        self, context: Context, above: str, top: str, stage: StagingTable, *, is_new: bool = True
    ) -> str:
        """Exchange a leaf. is_new: whether it is below a partition that was created here, or
        below an existing one.
        """
        path = [top, *(partition(b.label) if is_new else b.address for b in stage.path)]
        inner = "".join(f"ALTER PARTITION {p} " for p in path[:-1])
        table = qualified(stage.schema, stage.name)
        return self._alter(
            context,
            above,
            f"{inner}EXCHANGE PARTITION {path[-1]} WITH TABLE {table} WITHOUT VALIDATION",
        )

    def _drops(self, context: Context, above: str, gone: tuple[Unit, ...]) -> list[str]:
        # several in one statement are faster; below another partition, the grammar accepts only one
        if not above and gone:
            return [
                self._alter(
                    context, "", ", ".join(f"DROP PARTITION {unit.address}" for unit in gone)
                )
            ]
        return [self._alter(context, above, f"DROP PARTITION {unit.address}") for unit in gone]

    def _subpartitions(self, new_partition: NewPartition) -> str:
        """Return the storage of intermediate partitions, and an explicit list of their
        subpartitions, level by level.
        """
        return self._subpartition_list(new_partition, ()) if new_partition.middles else ""

    def _subpartition_list(self, new_partition: NewPartition, path: tuple[str, ...]) -> str:
        options = next(m.like.options for m in new_partition.middles if m.path == path)
        here = len(path)
        definitions: dict[str, str] = {}  # by bound
        for stage in new_partition.stages:
            bounds = tuple(b.bound for b in stage.path)
            if bounds[:here] != path or bounds[here] in definitions:
                continue
            step = stage.path[here]
            text = f"DEFAULT SUBPARTITION {quote(step.label)}"
            if step.bound != "DEFAULT":
                text = f"SUBPARTITION {quote(step.label)} {constant(step.bound)}"
            definitions[step.bound] = text + (
                self._subpartition_list(new_partition, bounds[: here + 1])
                if len(bounds) > here + 1
                else ""
            )
        return (f" WITH ({options})" if options else "") + f" ({', '.join(definitions.values())})"

    def exchange(self, context: Context, swap: ReplacePartitions) -> Phases:
        default = swap.default
        parked = swap.default_stages if default is not None else ()
        ready: list[str] = []
        for stage in swap.stages:
            ready += [*self.seen_by_others(stage), *stage.properties.late, *self.identity(stage)]
            # EXCHANGE gives the table the grants of the placeholder, which are those of the root,
            # but without their dependency rows. If they are granted before, these rows exist.
            ready += grant_statements(
                qualified(stage.schema, stage.name), self._root_grants(context)
            )
        for stage in parked:
            ready += self.make_stage(context, swap, stage) + self.indexes(stage)
            ready += grant_statements(qualified(stage.schema, stage.name), stage.shape.grants)
        if default is not None:
            for leaf in default.leaves:
                ready.append(self.nothing_in_default(leaf.sql, swap.range_predicate))
        moves: list[str] = []
        if swap.alone and not swap.beyond:
            moves += self._all_replaced(context, swap, default, parked)
        else:
            moves += self._without_template(
                context, swap, self._some_replaced(context, swap, default, parked)
            )
        moves += self.as_declared(swap)
        moves += [f"DROP TABLE {qualified(s.schema, s.name)};" for s in [*swap.stages, *parked]]
        finish: list[str] = []
        for stage in swap.stages:
            finish += [*self.index_names(stage), *self.own_marks(stage)]
        again = self._default_again(default, parked)
        for new_partition in [*swap.new_partitions, *again]:
            finish += self._grants(context, new_partition)
            for m in new_partition.middles:
                there = qualified(m.like.schema, m.name)
                finish += (
                    [f"COMMENT ON TABLE {there} IS {literal(m.comment)};"] if m.comment else []
                )
                finish += m.target_statements()
                finish += [*m.properties.before, *m.properties.late, *m.properties.after]
        return [
            (Phase.PREPARE, [*ready, *self.same_properties(context, swap)]),
            (Phase.EXCLUSIVE, self.readers_out(context, swap.parent, swap.gone, default)),
            (Phase.SWAP, moves),
            (Phase.FINISH, finish),
        ]

    @staticmethod
    def _default_again(
        default: Unit | None, parked: tuple[StagingTable, ...]
    ) -> list[NewPartition]:
        """The default partition, as a new one: it is removed and created again. Its leaves are the
        old relations.
        """
        if default is None:
            return []
        stages = tuple(replace(s, grants=s.shape.grants) for s in parked)
        return [
            NewPartition(
                name="", partition="", bound="", stages=stages, key="", middles=default.middles
            )
        ]

    def _grants(self, context: Context, new_partition: NewPartition) -> list[str]:
        """The statements that give a new partition and those below it their grants. They have those
        of the root; GRANT and REVOKE include the partitions below, so parents come first.
        """
        found: list[str] = []
        has: dict[tuple[str, ...], set[Grant]] = {}
        for path, there, grants in [
            *((m.path, qualified(m.like.schema, m.name), m.grants) for m in new_partition.middles),
            *(
                (tuple(step.bound for step in s.path), qualified(s.schema, s.final), s.grants)
                for s in new_partition.stages
            ),
        ]:
            root = set(self._root_grants(context))
            if set(grants) != (has.get(path[:-1], root) if path else root):
                found += [call("strip", literal(there)), *grant_statements(there, grants)]
            has[path] = set(grants)
        return found

    def _like_root(self, context: Context, parked: tuple[StagingTable, ...]) -> list[str]:
        """The statements that give the default partition's leaves, while they are tables, the
        grants that the next exchange gives them, together with the dependencies of these grants.
        """
        found: list[str] = []
        for s in parked:
            if set(s.shape.grants) != set(self._root_grants(context)):
                there = qualified(s.schema, s.name)
                found.append(call("strip", literal(there)))
                found += grant_statements(there, self._root_grants(context))
        return found

    def _without_template(
        self, context: Context, swap: ReplacePartitions, moves: list[str]
    ) -> list[str]:
        """The moves, with the subpartition templates removed meanwhile: templates are for new
        tables, not for these.

        The server does not accept a list of subpartitions if there is a template. Templates of
        deeper levels are removed first and restored first.
        """
        middles = next((m.middles for m in swap.new_partitions if m.middles), ())
        if not middles and swap.default is not None:
            middles = swap.default.middles
        levels: dict[int, tuple[str, str]] = {}  # level → its address, before and after
        if swap.above and swap.parent.has_template:
            # a subpartition that is added below one partition is also added to the template, and
            # DROP PARTITION does not remove it from there
            levels[swap.parent.level] = (swap.parent_address, swap.parent_address)
        for m in middles:
            if m.like.has_template and m.like.level not in levels:
                above = [x for n in range(len(m.path)) for x in middles if x.path == m.path[:n]]
                # the first partition of a range always exists; partitions below it have the same
                # addresses as those below the others
                before = [
                    "FOR (RANK(1))" if not x.path else x.address or partition(x.label)
                    for x in above
                ]
                levels[m.like.level] = (
                    swap.above + "".join(f"ALTER PARTITION {x} " for x in before),
                    swap.above + "".join(f"ALTER PARTITION {partition(x.label)} " for x in above),
                )
        if not levels:
            return moves
        root = context.root.sql
        message = literal(
            "the subpartition template could not be restored exactly: nothing was changed"
        )
        deepest_first = sorted(levels.items(), reverse=True)

        def now(level: int) -> str:
            return f"{SCHEMA}.template({literal(root)}, {level}, {literal(levels[level][1])})"

        removals = [
            f"    IF template{n} <> '' THEN"
            f" {self._alter(context, before, 'SET SUBPARTITION TEMPLATE ()')} END IF;"
            for n, (before, _) in deepest_first
        ]
        restores = [
            f"    IF template{n} <> '' THEN EXECUTE template{n}; END IF;"
            f" IF {now(n)} <> template{n} THEN RAISE EXCEPTION '%', {message}; END IF;"
            for n, _ in deepest_first
        ]
        return [
            "DECLARE",
            *(f"    template{n} text := {now(n)};" for n in sorted(levels)),
            "BEGIN",
            *removals,
            *("    " + line for line in moves),
            *restores,
            "END;",
        ]

    def _some_replaced(
        self,
        context: Context,
        swap: ReplacePartitions,
        default: Unit | None,
        parked: tuple[StagingTable, ...],
    ) -> list[str]:
        above = swap.above
        moves: list[str] = []
        if default is not None:
            top = partition(default.relation.partition)
            moves += [self._exchange(context, above, top, s, is_new=False) for s in parked]
            moves.append(self._alter(context, above, "DROP DEFAULT PARTITION"))
            moves += self._like_root(context, parked)
        exchanges = self._drops(context, above, swap.gone)
        for new_partition in _in_order(swap.new_partitions):
            bound = f"{constant(new_partition.bound)}{self._subpartitions(new_partition)}"
            exchanges.append(
                self._alter(
                    context, above, f"ADD PARTITION {quote(new_partition.partition)} {bound}"
                )
            )
            exchanges += [
                self._exchange(context, above, quote(new_partition.partition), s)
                for s in new_partition.stages
            ]
        moves += self._with_stand_in(context, swap, exchanges) if swap.beyond else exchanges
        if default is not None:
            name = quote(default.relation.partition)
            subpartitions = self._subpartitions(
                NewPartition(
                    name="", partition="", bound="", stages=parked, key="", middles=default.middles
                )
            )
            moves.append(
                self._alter(context, above, f"ADD DEFAULT PARTITION {name}{subpartitions}")
            )
            moves += [self._exchange(context, above, name, s) for s in parked]
        return moves

    def _with_stand_in(
        self, context: Context, swap: ReplacePartitions, exchanges: list[str]
    ) -> list[str]:
        """Return the statements, with a temporary partition if no other partition exists when they
        run.

        A level keeps at least one partition. A sibling that the plan drops may still exist, and
        could overlap.
        """
        these = ", ".join(
            f"{literal(self.server_name(u.relation))}::pg_catalog.regclass" for u in swap.gone
        )
        parent = f"{literal(self.server_name(swap.parent))}::pg_catalog.regclass"
        one = swap.new_partitions[0]
        bound = f"{swap.beyond}{self._subpartitions(replace(one, stages=one.stages[:1]))}"
        return [
            "DECLARE",
            "    last_ones boolean := NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i",
            (
                f"                                      WHERE i.inhparent = {parent} AND i.inhrelid"
                f" <> ALL (ARRAY[{these}]::oid[]));"
            ),
            "BEGIN",
            "    IF last_ones THEN",
            (
                "       "
                f" {self._alter(context, swap.above, f'ADD PARTITION {quote(STAND_IN)} {bound}')}"
            ),
            "    END IF;",
            *("    " + line for line in exchanges),
            "    IF last_ones THEN",
            f"        {self._alter(context, swap.above, f'DROP PARTITION {quote(STAND_IN)}')}",
            "    END IF;",
            "END;",
        ]

    def _all_replaced(
        self,
        context: Context,
        swap: ReplacePartitions,
        default: Unit | None,
        parked: tuple[StagingTable, ...],
    ) -> list[str]:
        """Keep an empty default partition meanwhile, because a table keeps at least one
        partition, and split the new partitions off from it.
        """
        moves: list[str] = []
        if default is None:
            moves.append(self._alter(context, "", f"ADD DEFAULT PARTITION {quote(STAND_IN)}"))
        else:
            moves += [
                self._exchange(context, "", partition(default.relation.partition), s)
                for s in parked
            ]
            moves += self._like_root(context, parked)
        moves += self._drops(context, "", swap.gone)
        for n, new_partition in enumerate(_in_order(swap.new_partitions)):
            name = quote(new_partition.partition)
            if n and default is None:
                moves.append(
                    self._alter(
                        context, "", f"ADD PARTITION {name} {constant(new_partition.bound)}"
                    )
                )
            else:
                bound = constant(new_partition.bound)
                what = (
                    bound
                    if bound.startswith("START")
                    else f"AT {bound.removeprefix('VALUES').strip()}"
                )
                split = self._alter(
                    context,
                    "",
                    f"SPLIT DEFAULT PARTITION {what} INTO (PARTITION {name}, DEFAULT PARTITION)",
                )
                # PL/pgSQL would interpret INTO as its own
                moves.append(f"EXECUTE {literal(split)};")
                if default is None:
                    moves.append(self._alter(context, "", "DROP DEFAULT PARTITION"))
            moves += [self._exchange(context, "", name, s) for s in new_partition.stages]
        if default is not None:
            moves += [
                self._exchange(context, "", partition(default.relation.partition), s)
                for s in parked
            ]
        return moves

    def _root_grants(self, context: Context) -> list[Grant]:
        return list(context.root.grants)

    def nothing_in_default(self, leaf: str, predicate: str) -> str:
        message = literal(
            f"the default partition {leaf} contains rows of {predicate}, which belong to another"
            " partition; move them first"
        )
        return (
            f"IF EXISTS (SELECT 1 FROM ONLY {leaf} WHERE {predicate}) THEN RAISE EXCEPTION '%',"
            f" {message}; END IF;"
        )

    def locked_by_drop(self, context: Context, drop: PartitionOperation) -> list[str]:
        return [context.root.sql, *(leaf.sql for leaf in drop.leaves)]

    def drop_statements(self, context: Context, drop: PartitionOperation) -> list[str]:
        return self._drops(context, drop.above, drop.gone)

    def detach(
        self,
        context: Context,
        change: DetachPartitions,
        partition: Relation,
        stage: StagingTable | None,
        address: str,
    ) -> list[str]:
        assert stage is not None
        # the names of both are exchanged, too: the partition then has the name of the staging table
        table = qualified(stage.schema, stage.name)
        return [
            self._alter(
                context,
                change.above,
                f"EXCHANGE PARTITION {address} WITH TABLE {table} WITHOUT VALIDATION",
            ),
            self._alter(context, change.above, f"DROP PARTITION {address}"),
            f"ALTER TABLE {table} RENAME TO {quote(partition.name)};",
        ]

    def exchange_external(
        self, context: Context, change: MoveToExternal, *, forward: bool
    ) -> list[str]:
        stage = change.stage
        table = (
            qualified(change.leaf.schema, change.name)
            if forward or stage is None
            else qualified(stage.schema, stage.name)
        )
        exchange = f"EXCHANGE PARTITION {change.unit.address} WITH TABLE {table} WITHOUT VALIDATION"
        return [
            f"ALTER TABLE {context.root.sql} {change.above}{exchange};",
            f"DROP {'' if forward else 'EXTERNAL '}TABLE {table};",
        ]

    def after(self, context: Context) -> list[str]:
        return [f"ANALYZE ROOTPARTITION {context.root.sql};"]
