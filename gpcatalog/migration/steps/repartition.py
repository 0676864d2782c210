"""The rollback of Unpartition: a table without partitions is partitioned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpcatalog.migration import subtree
from gpcatalog.migration.classic_spelling import DEFAULT_ENCODING, without_encodings
from gpcatalog.migration.declarative import make_middle, split_table
from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation, Table, quote_ident_always
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.naming import options_of
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    Operation,
    StagingTable,
    WriteContext,
    tablespaces_of,
)
from gpcatalog.migration.template_text import elements, set_template
from gpcatalog.migration.traits import (
    CONSTRAINT_COMMENTS,
    PropertyStatements,
    constraint_of,
    copied_traits,
)
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    REPLICA_IDENTITY,
    Phase,
    Phases,
    Writer,
    array,
    block,
    call,
    grant_statements,
    index_properties,
    literal,
    lock_from_readers,
    lock_from_writers,
)
from gpcatalog.model.names import qualified, quote_literal
from gpcatalog.model.names import quote_ident as quote
from gpcatalog.model.traits import Traits

if TYPE_CHECKING:
    from gpcatalog.migration.steps.unpartition import Unpartition


@dataclass(frozen=True, kw_only=True)
class Repartition(Operation):
    """A table without partitions becomes partitioned again: the rollback of Unpartition.

    plain:    the operation that it rolls back; name: of the partitioned table while it is built
    stages:   its leaves, in the order of `leaves` of `plain`; none on Greenplum 6, where
              `definition` contains them all
    definition: Greenplum 6: PARTITION BY … as the server printed it
    templates:  elements of the subpartition templates, deepest level first, each with the table or
                partition that gets it
    options, encodings: of the root, as SQL; middles: the partitions between it and the leaves
    properties: of the root; not_valid: statements that add constraints after the rows, which need
                not satisfy them
    marks:      Greenplum 6: statements for properties of columns of the partitions
    """

    plain: Unpartition
    name: str
    stages: tuple[StagingTable, ...] = ()
    definition: str = ""
    templates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    encodings: tuple[tuple[str, str], ...] = ()
    middles: tuple[IntermediatePartition, ...] = ()
    properties: PropertyStatements = field(default_factory=PropertyStatements)
    not_valid: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    def summary(self) -> str:
        return f"partition {self.plain.root.name} again"

    def details(self) -> list[str]:
        return [
            f"  one plain table → {len(self.plain.leaves)} leaves; a row that none of them takes"
            " stops it"
        ]

    def drops(self, *, classic: bool) -> list[Relation]:
        return [self.plain.root]

    def names(self) -> list[tuple[str, str]]:
        found = [(r.schema, r.name) for r in self.plain.gone]
        indexes = [(s.schema, name) for s in self.stages for _, name in s.indexes]
        return [*found, *indexes, *((m.like.schema, n) for m in self.middles for _, n in m.indexes)]

    def tablespaces(self) -> list[str]:
        return tablespaces_of(self.stages, self.middles)

    def grants(self) -> Sequence[Grant]:
        return [g for r in (self.plain.root, *self.plain.gone) for g in r.grants]

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        return _repartition_sql(writer, context, self)


def repartition(
    live: LiveTable, forward: Unpartition, run_probe: ProbeRunner, *, digest: str
) -> Repartition | None:
    """Return the operation that partitions it again; None if the server cannot do this in one
    transaction.
    """
    table, root = live.table, forward.root
    if live.classic and any(
        not k for r in table.relations.values() if r.kind != "leaf" for k in r.key
    ):
        return None  # partitioned by an expression, which its key does not contain
    own = table.traits[root.oid]
    later = _added_later(own)
    rollback = Repartition(
        id=f"undo-{forward.id}",
        title=f"rollback: {forward.title}",
        plain=forward,
        name=f"gpr_{digest}_t",
        options=options_of(root.options),
        encodings=(
            live.encodings(table.columns[root.oid])
            if "ao_column" in (root.storage, root.access_method)
            else ()
        ),
        not_valid=tuple(_not_valid(root, later)),
        properties=live.property_statements(
            root.schema,
            f"gpr_{digest}_t",
            root.name,
            copied_traits(own, classic=live.classic),
            {k: v for k, v in own.items() if k not in later},
            only=live.classic,
        ),
    )
    if live.classic:
        return _classic_again(live, rollback, run_probe)
    stages = tuple(
        live.as_it_was(f"gpr_{digest}_{n}", leaf, root, without=later.keys())
        for n, leaf in enumerate(forward.leaves, 1)
    )
    middles = live.with_properties(
        subtree.middles(table, root, {})[1:],
        {k: v for k, v in own.items() if k not in later},
        traits=lambda r: {k: v for k, v in table.traits[r.oid].items() if k not in later},
    )
    return replace(rollback, stages=stages, middles=middles, templates=_templates(table))


def _added_later(own: Traits) -> Traits:
    """Constraints that rows need not satisfy, with their comments: they are added after the
    rows, to the root and therefore to all partitions.
    """
    constraints = {
        k: v for k, v in own.items() if k[0] in ("check", "not null") and v.endswith("NOT VALID")
    }
    comments = {
        k: v
        for k, v in own.items()
        if k[0] in CONSTRAINT_COMMENTS and (CONSTRAINT_COMMENTS[k[0]], k[1]) in constraints
    }
    return {**constraints, **comments}


def _not_valid(root: Relation, later: Traits) -> list[str]:
    """The statements that add these constraints, then their comments."""
    return [
        f"ALTER TABLE {root.sql} ADD "
        + (f"CONSTRAINT {quote_ident_always(name)} " if what == "check" else "")
        + f"{text};"
        for (what, name), text in later.items()
        if what not in CONSTRAINT_COMMENTS
    ] + [
        f"COMMENT ON CONSTRAINT {constraint_of(of, name, later[of, name])} ON {root.sql} IS"
        f" {quote_literal(text)};"
        for (what, name), text in later.items()
        if (of := CONSTRAINT_COMMENTS.get(what, ""))
    ]


def _classic_again(
    live: LiveTable, rollback: Repartition, run_probe: ProbeRunner
) -> Repartition | None:
    """The rollback with Greenplum 6's own definition of the partitions; None if the definition
    is not complete.
    """
    relations = live.table.relations.values()
    if any(r.owner != live.table.root.owner for r in relations):
        return None  # a partition of Greenplum 6 cannot get an owner of its own
    (row,) = run_probe("migration_definition", root=str(live.table.root.oid))
    definition = row["definition"]
    if _rows_below_columns(live):
        # In this case, Greenplum 6 does not accept its own definition, because it passes encodings
        # on to subpartitions. Without encodings, it creates the same columns if all encodings are
        # the default ones.
        if {c.encoding for r in relations for c in live.table.columns.get(r.oid, ())} - {
            "",
            DEFAULT_ENCODING,
        }:
            return None
        definition, rollback = without_encodings(definition), replace(rollback, encodings=())
    marks = tuple(line for r in rollback.plain.gone for line in _marks(live, r))
    return replace(
        rollback, definition=definition, templates=live.templates_now(run_probe), marks=marks
    )


def _marks(live: LiveTable, partition: Relation) -> list[str]:
    """The statements for properties of columns of a partition of Greenplum 6 that its table's do
    not determine.
    """
    copied = copied_traits(live.table.traits[live.table.root.oid], classic=True)
    own = {k: v for k, v in live.table.traits[partition.oid].items() if k not in copied} | copied
    name = partition.name
    found = live.property_statements(partition.schema, name, name, copied, own, only=True)
    targets = (
        f"ALTER TABLE ONLY {partition.sql} ALTER COLUMN {column} SET STATISTICS {target};"
        for column, target in live.statistics_targets(partition)
    )
    return [*found.before, *found.late, *found.after, *targets]


def template_elements(table: Table) -> dict[int, tuple[str, ...]]:
    """The elements of the subpartition template of each level, like the partitions below the newest
    partition of that level. Raises ValueError.
    """
    newest = {
        r.level: r
        for r in sorted(table.relations.values(), key=lambda r: r.oid)
        if r.has_template and r.level
    }
    return {level: elements(table, r, (), classic=False)[0] for level, r in newest.items()}


def _templates(table: Table) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Subpartition templates, deepest level first, of the newest partition of each level."""
    found = template_elements(table)
    above = {
        r.level: r for r in sorted(table.relations.values(), key=lambda r: r.oid) if r.has_template
    }
    # the template of a level belongs to the parent of the partitions that get it below them
    return tuple(
        (
            table.relations[parent].sql if (parent := above[level].parent) else table.root.sql,
            found[level],
        )
        for level in sorted(found, reverse=True)
    )


def _rows_below_columns(live: LiveTable) -> bool:
    """Whether a partition below a column-oriented partition has another storage."""
    relations = live.table.relations
    return any(
        r.level > 1
        and r.parent
        and relations[r.parent].storage == "ao_column"
        and r.storage != "ao_column"
        for r in relations.values()
    )


def _repartition_sql(writer: Writer, context: Context, change: Repartition) -> list[str]:
    """The transaction that creates the partitioned table again: all rows are copied while
    writers wait, and compared.
    """
    was = change.plain
    root = was.root
    staging = qualified(root.schema, change.name)
    guard = writer.guard(context, change, done="undone", exact=False, partitions=[])
    columns = ", ".join(context.copied)
    statements, finish = (
        _partitioned_classic(change, staging)
        if change.definition
        else _partitioned_declarative(writer, context, change, staging)
    )
    finish += [set_template(table, elements) for table, elements in change.templates]
    # rows are about to be written through keys, indexes and checks that were created from text
    statements.append(
        call(
            "expect_trusted",
            array([root.sql, staging, *(r.sql for r in was.gone if not change.definition)]),
            array([staging]),
        )
    )
    names = [*_root_indexes(was), *change.not_valid, *_root_statistics(root, change)]
    phases: Phases = [
        (Phase.GUARD, guard),
        (
            Phase.LOCK,
            [
                lock_from_writers([root.sql]),
                *guard,
            ],
        ),
        (Phase.STAGE, statements),
        (Phase.COPY, [f"INSERT INTO {staging} ({columns}) SELECT {columns} FROM ONLY {root.sql};"]),
        (
            Phase.PROVE,
            [
                writer.tally(context, change, "old", root.sql, f"ONLY {root.sql}"),
                writer.tally(context, change, "new", root.sql, staging),
                *writer.compare(context, change),
            ],
        ),
        (Phase.PREPARE, [*_described(was, staging), *writer.same_properties(context, change)]),
        (
            Phase.EXCLUSIVE,
            [
                lock_from_readers([root.sql]),
                EXCLUSIVE_SINCE,
            ],
        ),
        (
            Phase.SWAP,
            was.in_its_place(staging),
        ),
        # names of indexes are free only now; properties of the leaves are restored
        (Phase.FINISH, [*names, *finish]),
        (Phase.NOTE, writer.note(context, change, "undone")),
    ]
    return [block(phases)]


def _described(was: Unpartition, staging: str) -> list[str]:
    """The statements that set comments and statistics targets of the staging table."""
    root = was.root
    return [
        *([f"COMMENT ON TABLE {staging} IS {literal(root.comment)};"] if root.comment else []),
        *was.column_comments(staging),
        *(
            # not those of the partitions
            f"ALTER TABLE ONLY {staging} ALTER COLUMN {column} SET STATISTICS {target};"
            for column, target in was.stage.statistics
        ),
    ]


def _root_indexes(was: Unpartition) -> list[str]:
    """The statements that create the indexes of the partitioned table, and set its replica
    identity.
    """
    root = was.root
    names: list[str] = []
    for index, final in was.stage.indexes:
        if index.constraint_kind:
            names.append(
                f"ALTER TABLE {root.sql} ADD CONSTRAINT {quote(final)}"
                f" {index.constraint_definition};"
            )
        else:
            names.append(
                f"CREATE {'UNIQUE ' if index.unique else ''}INDEX {quote(final)} ON {root.sql}"
                f" {index.body};"
            )
        if index.comment:
            names.append(
                f"COMMENT ON INDEX {qualified(root.schema, final)} IS {literal(index.comment)};"
            )
        names += index_properties(index, qualified(root.schema, final), root.sql, final)
        if index.replica_identity:
            names.append(f"ALTER TABLE {root.sql} REPLICA IDENTITY USING INDEX {quote(final)};")
    if root.replica_identity in REPLICA_IDENTITY:
        names.append(
            f"ALTER TABLE {root.sql} REPLICA IDENTITY {REPLICA_IDENTITY[root.replica_identity]};"
        )
    return names


def _root_statistics(root: Relation, change: Repartition) -> list[str]:
    """Statistics objects of the partitioned table: those of the plain table were dropped with
    it.
    """
    found = []
    for s in change.properties.statistics:
        found += [*s.create(s.sql, root.sql, root.owner), *s.comments()]
    return found


def _owned(relation: str, like: Relation) -> list[str]:
    owner = f"ALTER TABLE {relation} OWNER TO {quote(like.owner)};"
    return [owner, call("strip", literal(relation)), *grant_statements(relation, like.grants)]


def _partitioned_classic(change: Repartition, staging: str) -> tuple[list[str], list[str]]:
    """Greenplum 6: one statement creates all partitions, as the server printed them; grants and
    comments of leaves are set at the end.
    """
    was = change.plain
    root = was.root
    inside = [f"LIKE {root.sql} INCLUDING DEFAULTS"]
    inside += [f"COLUMN {column} ENCODING ({encoding})" for column, encoding in change.encodings]
    options = ", ".join(f"{k}={v}" for k, v in change.options)
    statements = [
        f"CREATE {'UNLOGGED ' if root.persistence == 'u' else ''}TABLE {staging}"
        f" ({', '.join(inside)})"
        + (f" WITH ({options})" if options else "")
        + (f" DISTRIBUTED {root.distribution}" if root.distribution else "")
        + f" {change.definition};",
        *change.properties.before,
        *_owned(staging, root),
        *was.check_constraints(staging),
    ]
    finish: list[str] = []
    for r in was.gone:  # the owner is that of the table
        finish += _owned(r.sql, r)[1:]
        if r.comment:
            finish.append(f"COMMENT ON TABLE {r.sql} IS {literal(r.comment)};")
    return statements, [*finish, *change.marks]


def _partitioned_declarative(
    writer: Writer, context: Context, change: Repartition, staging: str
) -> tuple[list[str], list[str]]:
    """Levels from the top, and leaves with their indexes; each is attached while it is empty."""
    was = change.plain
    root = was.root
    statements = [
        split_table(
            staging,
            root.sql,
            root,
            change.encodings,
            options=", ".join(f"{k}={v}" for k, v in change.options),
        ),
        call("staged", literal(context.plan), literal(change.id), literal(staging)),
    ]
    statements += [*change.properties.before, *change.properties.late, *_owned(staging, root)]
    at = {root.oid: staging}
    of_middle = {m.like.oid: m for m in change.middles}
    of_leaf = {leaf.oid: stage for leaf, stage in zip(was.leaves, change.stages, strict=True)}
    for r in was.gone:
        assert r.parent is not None
        stage = of_leaf.get(r.oid)
        if stage is None:
            middle = of_middle[r.oid]
            statements += make_middle(writer, middle, r.sql, staging, middle.indexes)
            statements += writer.marks_of_middle(middle)
        else:
            statements += writer.make_stage(context, change, stage)
            statements += writer.seen_by_others(stage)
            statements += [
                *stage.properties.late,
                *grant_statements(qualified(stage.schema, stage.name), stage.grants),
            ]
            statements += [*writer.indexes(stage), *writer.identity(stage)]
            statements.append(
                f"ALTER TABLE {qualified(stage.schema, stage.name)} RENAME TO {quote(stage.final)};"
            )
            statements += writer.index_names(stage)
        statements.append(f"ALTER TABLE {at[r.parent]} ATTACH PARTITION {r.sql} {r.bound};")
        if stage is not None:
            statements += writer.own_marks(stage)
        at[r.oid] = r.sql
    return statements, []
