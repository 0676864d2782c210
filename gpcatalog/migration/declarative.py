"""Greenplum 7 and PostgreSQL 12 or later: drop old partitions, and attach staging tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpcatalog.migration.introspect import Index, Relation
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    NewPartition,
    PartitionOperation,
    StagingTable,
    Unit,
    staging_name,
)
from gpcatalog.migration.writer import (
    Phase,
    Phases,
    Writer,
    call,
    grant_statements,
    literal,
    lock_from_readers,
    names_of,
)
from gpcatalog.model.names import qualified
from gpcatalog.model.names import quote_ident as quote

if TYPE_CHECKING:
    from gpcatalog.migration.steps.external_tables import MoveToExternal
    from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
    from gpcatalog.migration.steps.retire import DetachPartitions

COPIED = "INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY EXCLUDING STATISTICS"
"""What LIKE copies. Indexes, identity and statistics objects need names, which are set
afterwards.
"""
BOUND = (  # name of the constraint from which ATTACH PARTITION proves the bound without a scan
    "gpcatalog_bound"
)


def split_table(
    table: str,
    columns: str,
    like: Relation,
    encodings: Iterable[tuple[str, str]],
    *,
    options: str = "",
) -> str:
    """The statement that creates a partitioned table with the columns of another table. It is
    partitioned like `like` and, on Greenplum 7, has its storage.
    """
    kind = "UNLOGGED TABLE" if like.persistence == "u" else "TABLE"
    place = f" TABLESPACE {quote(like.tablespace)}" if like.tablespace else ""
    if not like.access_method:
        return f"CREATE {kind} {table} (LIKE {columns} {COPIED}) PARTITION BY {like.split}{place};"
    inside = [f"LIKE {columns} {COPIED} EXCLUDING AM EXCLUDING ENCODING EXCLUDING RELOPT"]
    inside += [f"COLUMN {column} ENCODING ({encoding})" for column, encoding in encodings]
    with_ = f" WITH ({options})" if options else ""
    return (
        f"CREATE {kind} {table} ({', '.join(inside)}) PARTITION BY {like.split} USING"
        f" {quote(like.access_method)}{with_}{place};"
    )


def make_middle(
    writer: Writer,
    middle: IntermediatePartition,
    table: str,
    columns: str,
    indexes: Sequence[tuple[Index, str]],
    *,
    staged: Sequence[str] = (),
) -> list[str]:
    """Return the statements that create an intermediate partition, not yet attached.

    table, indexes: with their names before it is attached; columns: quoted name of the relation
    whose columns it copies; staged: statements that follow the first one
    """
    objects = middle.properties.statistics
    return [
        split_table(table, columns, middle.like, middle.encodings, options=middle.like.options),
        *staged,
        f"ALTER TABLE {table} OWNER TO {quote(middle.like.owner)};",
        call("strip", literal(table)),
        *grant_statements(table, middle.grants),
        *([f"COMMENT ON TABLE {table} IS {literal(middle.comment)};"] if middle.comment else []),
        *middle.properties.before,
        *middle.properties.late,
        *(line for s in objects for line in s.create(s.sql, table, middle.like.owner)),
        *(line for s in objects for line in s.comments()),
        # the server would create them with names that it chooses, which may be needed for leaves
        *writer.table_indexes(table, indexes),
    ]


def bound_check(relation: str, predicate: str, parent: Relation, *, valid: bool = True) -> str:
    """The statement that adds BOUND to a table that is attached to `parent` later. If not
    `valid`, existing rows are checked later.
    """
    if parent.parent is None:
        return (
            f"ALTER TABLE {relation} ADD CONSTRAINT {BOUND} CHECK"
            f" ({predicate}){'' if valid else ' NOT VALID'};"
        )
    return call(
        "bound",
        literal(relation),
        literal(BOUND),
        literal(predicate),
        literal(parent.sql),
        str(valid).lower(),
    )


class _Tree(NamedTuple):
    """A new partition while it is built: the table that is attached to its parent, and the
    partitioned tables above its leaves, by their paths.
    """

    new_partition: NewPartition
    top: str
    tables: dict[tuple[str, ...], str]


class Declarative(Writer):
    """ATTACH scans a table under the lock, unless a constraint proves its bound. The constraint
    is added, validated, and dropped again.
    """

    def __init__(self, *, greenplum: bool, version_num: int = 0) -> None:
        self.greenplum = greenplum
        self.version_num = version_num

    def settings(self) -> list[str]:
        # compiling the catalog queries of the journal would take longer than running them
        found = [
            "SET row_security = off;",
            "SET jit = off;",
            "SET default_table_access_method = heap;",
        ]
        if self.version_num >= 170000:
            found.append("SET transaction_timeout = 0;")
        if self.greenplum:
            # it warns that partitions keep their names when their parent is renamed, which is
            # intended
            found += [
                "SET client_min_messages = error;",
                "SET gp_autostats_mode = none;",
                "SET gp_default_storage_options = '';",
                "SET gp_use_legacy_hashops = off;",
            ]
        return found

    def create_stage(self, context: Context, stage: StagingTable) -> str:
        table = qualified(stage.schema, stage.name)
        kind = "UNLOGGED TABLE" if stage.shape.persistence == "u" else "TABLE"
        place = f" TABLESPACE {quote(stage.shape.tablespace)}" if stage.shape.tablespace else ""
        options = ", ".join(f"{k}={v}" for k, v in stage.options)
        if not self.greenplum:
            with_ = f" WITH ({options})" if options else ""
            am = f" USING {quote(stage.storage)}" if stage.storage not in ("", "heap") else ""
            return f"CREATE {kind} {table} (LIKE {stage.like} {COPIED}){am}{with_}{place};"
        if not stage.explicit:
            # Only column-oriented tables have column encodings. On Greenplum 7.0.0, reading those
            # of other tables that are or were append-optimized crashes the server after ADD COLUMN.
            less = "" if stage.storage == "ao_column" else " EXCLUDING ENCODING"
            return f"CREATE {kind} {table} (LIKE {stage.like} {COPIED}{less}){place};"
        inside = [f"LIKE {stage.like} {COPIED} EXCLUDING AM EXCLUDING ENCODING EXCLUDING RELOPT"]
        inside += [f"COLUMN {column} ENCODING ({encoding})" for column, encoding in stage.encodings]
        with_ = f" WITH ({options})" if options else ""
        return (
            f"CREATE {kind} {table} ({', '.join(inside)}) USING"
            f" {quote(stage.storage)}{with_}{place};"
        )

    def quiet(self, context: Context, parent: Relation, gone: Sequence[Unit]) -> list[str]:
        # A writer that waits for a leaf has a lock on the root, and the swap would wait for it.
        # Therefore, writers must wait at the root. Nobody may attach anything to a partition that
        # is removed.
        return [
            context.root.sql,
            parent.sql,
            *(r.sql for u in gone for r in (u.relation, *u.between)),
            *(leaf.sql for u in gone for leaf in u.leaves),
        ]

    def blocked_readers(
        self, context: Context, parent: Relation, gone: Sequence[Unit], default: Unit | None
    ) -> list[str]:
        # the parent first: everyone who reads through it has locked it before any leaf, so there is
        # no deadlock
        return [
            parent.sql,
            *(u.relation.sql for u in gone),
            *(leaf.sql for u in gone for leaf in u.leaves),
            *names_of(default),
        ]

    def _default_constraint(self, swap: ReplacePartitions) -> str:
        return quote(f"{BOUND}_{swap.id.rsplit('-', 1)[-1]}")

    def before(
        self, context: Context, swap: ReplacePartitions, done: str, unless: Sequence[str] = ()
    ) -> list[str]:
        """Add a constraint to the default partition, so that ATTACH need not scan it. It is
        added without a scan, and validated without blocking readers or writers.
        """
        if swap.default is None or swap.range_predicate == "true":
            return []
        table, name = swap.default.relation.sql, self._default_constraint(swap)
        where = (
            f"c.conrelid = {literal(table)}::pg_catalog.regclass AND c.conname ="
            f" {literal(name.strip(chr(34)))}"
        )
        exists = f"EXISTS (SELECT 1 FROM pg_catalog.pg_constraint c WHERE {where}"
        guard = self.guard(
            context, swap, done=done, exact=False, partitions=[u.relation for u in swap.gone]
        )
        first: Phases = [
            (Phase.GUARD, [*guard, *unless, f"IF {exists}) THEN RETURN; END IF;"]),
            (
                Phase.PREPARE,
                [
                    lock_from_readers([table]),
                    (
                        f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK (NOT"
                        f" {swap.range_predicate}) NOT VALID;"
                    ),
                ],
            ),
        ]
        second: Phases = [
            (
                Phase.GUARD,
                [*guard, *unless, f"IF NOT {exists} AND NOT c.convalidated) THEN RETURN; END IF;"],
            ),
            (Phase.PREPARE, [f"ALTER TABLE {table} VALIDATE CONSTRAINT {name};"]),
        ]
        return [self.block(context, swap, first), self.block(context, swap, second)]

    def _tree(
        self, context: Context, swap: ReplacePartitions, new_partition: NewPartition
    ) -> tuple[dict[tuple[str, ...], str], list[str]]:
        """Return the partitioned tables above the stages by their paths, beginning with the one
        that is attached, and the statements that create them.
        """
        stem = new_partition.stages[0].name
        tables = {
            m.path: qualified(m.like.schema, staging_name(stem, n))
            for n, m in enumerate(new_partition.middles)
        }
        found: list[str] = []
        assert new_partition.columns is not None
        for m in new_partition.middles:
            table = tables[m.path]
            staged = call("staged", literal(context.plan), literal(swap.id), literal(table))
            indexes = self._staging_indexes(new_partition, m)
            found += make_middle(
                self, m, table, new_partition.columns.sql, indexes, staged=[staged]
            )
        for s in new_partition.stages:
            above = tables[tuple(b.bound for b in s.path[:-1])]
            found.append(
                f"ALTER TABLE {above} ATTACH PARTITION {qualified(s.schema, s.name)}"
                f" {s.path[-1].bound};"
            )
        found += [
            f"ALTER TABLE {tables[m.path[:-1]]} ATTACH PARTITION {tables[m.path]} {m.bound};"
            for m in new_partition.middles[:0:-1]
        ]
        return tables, found

    @staticmethod
    def _staging_indexes(
        new_partition: NewPartition, middle: IntermediatePartition
    ) -> list[tuple[Index, str]]:
        """Indexes of an intermediate partition, with their names while it is built."""
        at = new_partition.middles.index(middle)
        return [
            (index, f"{new_partition.stages[0].name}_t{at}_i{n}")
            for n, (index, _) in enumerate(middle.indexes, 1)
        ]

    def exchange(self, context: Context, swap: ReplacePartitions) -> Phases:
        ready = self._staging_statements(swap)
        trees: list[_Tree] = []
        for new_partition in swap.new_partitions:
            stage = new_partition.stages[0]
            tree = _Tree(new_partition, qualified(stage.schema, stage.name), {})
            predicate = stage.predicate
            if new_partition.middles:
                tables, statements = self._tree(context, swap, new_partition)
                ready += statements
                tree, predicate = _Tree(new_partition, tables[()], tables), new_partition.key
            ready.append(bound_check(tree.top, predicate, swap.parent))
            trees.append(tree)
        moves: list[str] = []
        if swap.gone:
            moves.append(f"DROP TABLE {', '.join(u.relation.sql for u in swap.gone)};")
        for tree in trees:
            moves += self._attached(swap, tree)
        return [
            (Phase.PREPARE, [*ready, *self.same_properties(context, swap)]),
            (Phase.EXCLUSIVE, self.readers_out(context, swap.parent, swap.gone, swap.default)),
            (Phase.SWAP, moves),
            (Phase.FINISH, self._finished(swap)),
        ]

    def _staging_statements(self, swap: ReplacePartitions) -> list[str]:
        """The statements for staging tables after their rows are copied."""
        ready: list[str] = []
        for stage in swap.stages:
            table = qualified(stage.schema, stage.name)
            ready += self.seen_by_others(stage)
            ready += stage.properties.late
            ready += grant_statements(table, stage.grants)
            ready += self.identity(stage)
            if swap.default is not None and stage.like in [
                leaf.sql for leaf in swap.default.leaves
            ]:
                ready.append(
                    f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS"
                    f" {self._default_constraint(swap)};"
                )  # LIKE copied it, too
        return ready

    @staticmethod
    def _attached(swap: ReplacePartitions, tree: _Tree) -> list[str]:
        """The statements that give a new partition its names and attach it."""
        new_partition, moves = tree.new_partition, []
        if new_partition.middles:
            moves += [
                f"ALTER TABLE {qualified(s.schema, s.name)} RENAME TO {quote(s.final)};"
                for s in new_partition.stages
            ]
            moves += [
                f"ALTER TABLE {tree.tables[m.path]} RENAME TO {quote(m.name)};"
                for m in new_partition.middles[1:]
            ]
        there = qualified(new_partition.schema, new_partition.name)
        return [
            *moves,
            f"ALTER TABLE {tree.top} RENAME TO {quote(new_partition.name)};",
            f"ALTER TABLE {swap.parent.sql} ATTACH PARTITION {there} {new_partition.bound};",
        ]

    def _finished(self, swap: ReplacePartitions) -> list[str]:
        """The statements after the swap: constraints are dropped, indexes get their names and
        marks.
        """
        finish = [
            f"ALTER TABLE {qualified(new.schema, new.name)} DROP CONSTRAINT {BOUND};"
            for new in swap.new_partitions
        ]
        for stage in swap.stages:
            finish += [*self.index_names(stage), *self.own_marks(stage)]
        for new in swap.new_partitions:
            for m in new.middles:
                for (_, final), (_, staging) in zip(
                    m.indexes, self._staging_indexes(new, m), strict=True
                ):
                    finish.append(
                        f"ALTER INDEX {qualified(m.like.schema, staging)} RENAME TO {quote(final)};"
                    )
                finish += self.marks_of_middle(m)
        if swap.default is not None:
            finish.append(
                f"ALTER TABLE {swap.default.relation.sql} DROP CONSTRAINT IF EXISTS"
                f" {self._default_constraint(swap)};"
            )
        return finish

    def merge_partitions(
        self, context: Context, swap: ReplacePartitions, *, exact: bool
    ) -> list[str]:
        """The merge statement of PostgreSQL 19, which blocks readers while it copies. The
        result is compared by count and hash, as for other merges.
        """
        (new_partition,) = swap.new_partitions
        (stage,) = new_partition.stages
        there = qualified(stage.schema, new_partition.name)
        guard = self.guard(
            context, swap, done="done", exact=exact, partitions=[u.relation for u in swap.gone]
        )
        parts = ", ".join(u.relation.sql for u in swap.gone)
        new = self.tally(context, swap, "new", there, f"ONLY {there}", stage.predicate)
        targets = [
            f"ALTER TABLE {there} ALTER COLUMN {column} SET STATISTICS {target};"
            for column, target in stage.statistics
        ]
        finish = [
            *targets,
            f"ALTER TABLE {there} OWNER TO {quote(stage.shape.owner)};",
            call("strip", literal(there)),
            *grant_statements(there, stage.grants),
            *([f"COMMENT ON TABLE {there} IS {literal(stage.comment)};"] if stage.comment else []),
            f"ANALYZE {there};",
        ]
        phases: Phases = [
            (Phase.GUARD, [*guard, *self.requirements(swap.needs)]),
            (
                Phase.EXCLUSIVE,
                [*self.readers_out(context, swap.parent, swap.gone, swap.default), *guard],
            ),
            (Phase.PROVE, self.prove_old(context, swap)),
            # PL/pgSQL would interpret INTO as its own
            (
                Phase.SWAP,
                [
                    "EXECUTE"
                    f" {literal(f'ALTER TABLE {swap.parent.sql} MERGE PARTITIONS ({parts}) INTO {there}')};"
                ],
            ),
            (Phase.PROVE, [new, *self.compare(context, swap, swap.rows)]),
            (Phase.FINISH, finish),
            (Phase.NOTE, self.note(context, swap, "done")),
        ]
        return [self.block(context, swap, phases)]

    def locked_by_drop(self, context: Context, drop: PartitionOperation) -> list[str]:
        names = [
            drop.parent.sql,
            *(u.relation.sql for u in drop.gone),
            *(leaf.sql for leaf in drop.leaves),
        ]
        return names + names_of(drop.default)

    def drop_statements(self, context: Context, drop: PartitionOperation) -> list[str]:
        return [f"DROP TABLE {', '.join(u.relation.sql for u in drop.gone)};"]

    def detach(
        self,
        context: Context,
        change: DetachPartitions,
        partition: Relation,
        stage: StagingTable | None,
        address: str,
    ) -> list[str]:
        return [f"ALTER TABLE {change.parent.sql} DETACH PARTITION {partition.sql};"]

    def exchange_external(
        self, context: Context, change: MoveToExternal, *, forward: bool
    ) -> list[str]:
        leaf, stage, old_name = change.leaf, change.stage, f"{change.name}_old"
        table = (
            qualified(leaf.schema, change.name)
            if forward or stage is None
            else qualified(stage.schema, stage.name)
        )
        return [
            f"ALTER TABLE {change.parent.sql} DETACH PARTITION {leaf.sql};",
            f"ALTER TABLE {leaf.sql} RENAME TO {quote(old_name)};",
            f"DROP {'' if forward else 'EXTERNAL '}TABLE {qualified(leaf.schema, old_name)};",
            f"ALTER TABLE {table} RENAME TO {quote(leaf.name)};",
            (
                f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {leaf.sql}"
                f" {change.unit.relation.bound};"
            ),
        ]

    def after(self, context: Context) -> list[str]:
        return (
            [f"ANALYZE {context.root.sql};"]
            if not self.greenplum
            else [f"ANALYZE ROOTPARTITION {context.root.sql};"]
        )
