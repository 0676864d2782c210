"""Unpartition: all leaves of a small table become one table without partitions; the rollback
partitions it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation, quote_ident_always
from gpcatalog.migration.live_table import (
    IN_THE_WAY,
    OF_THE_ROOT,
    LiveTable,
    grants_lost,
    requirements,
    tablespaces_lost,
)
from gpcatalog.migration.naming import options_of
from gpcatalog.migration.operations import (
    Context,
    Operation,
    StagingTable,
    WriteContext,
    tablespaces_of,
)
from gpcatalog.migration.predicates import Refusal
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.steps.repartition import Repartition, repartition, template_elements
from gpcatalog.migration.template_text import templates_lost
from gpcatalog.migration.traits import copied_traits
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    block,
    call,
    grant_statements,
    index_properties,
    literal,
    lock_from_readers,
    lock_from_writers,
)
from gpcatalog.model.names import listed, qualified
from gpcatalog.model.names import quote_ident as quote
from gpcatalog.model.quantity import plural
from gpcatalog.model.traits import Traits, others_lost, replaced
from gpcatalog.planner import operations as op
from gpcatalog.planner.losses import comments_lost


@dataclass(frozen=True, kw_only=True)
class Unpartition(Operation):
    """A partitioned table becomes a table without partitions, with the same name.

    stage:     the new table, a staging table that gets the rows of all leaves
    gone:      every relation below the root, parents first; leaves: those with rows
    sequences: (quoted name, quoted column) of sequences that columns own
    comments:  (quoted column, text); checks: (quoted name, definition) if LIKE does not copy them,
               with check_comments: (quoted name, text)
    """

    root: Relation
    gone: tuple[Relation, ...]
    leaves: tuple[Relation, ...]
    stage: StagingTable
    sequences: tuple[tuple[str, str], ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    check_comments: tuple[tuple[str, str], ...] = ()
    rows: int | None = None
    limit_bytes: int | None = None

    def summary(self) -> str:
        return f"merge {plural(len(self.leaves), 'partition')} into a table without partitions"

    def details(self) -> list[str]:
        return [f"  {len(self.leaves)} leaves → one plain table, stored {self.stage.storage}"]

    def grants(self) -> Sequence[Grant]:
        return self.root.grants

    def removes(self, *, classic: bool) -> tuple[list[Relation], list[Relation]]:
        return [self.root], [self.root, *self.gone]

    def drops(self, *, classic: bool) -> list[Relation]:
        return [self.root, *self.gone]

    def tablespaces(self) -> list[str]:
        return tablespaces_of([self.stage])

    def keeps_root(self) -> bool:
        return False

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        return _unpartition(writer, context, self, exact=writing.exact)

    def column_comments(self, table: str) -> list[str]:
        """The statements that set the comments on the columns of a table that replaces it."""
        return [
            f"COMMENT ON COLUMN {table}.{column} IS {literal(text)};"
            for column, text in self.comments
        ]

    def check_constraints(self, table: str) -> list[str]:
        """The statements that add checks that LIKE does not copy, with their comments."""
        statements = [
            f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition};"
            for name, definition in self.checks
        ]
        return statements + [
            f"COMMENT ON CONSTRAINT {name} ON {table} IS {literal(text)};"
            for name, text in self.check_comments
        ]

    def in_its_place(self, staging: str) -> list[str]:
        """The statements that give the old table's sequences and name to a staging table."""
        return [
            *(
                f"ALTER SEQUENCE {sequence} OWNED BY {staging}.{column};"
                for sequence, column in self.sequences
            ),
            # an object that depends on the table and did not exist when this was written stops it
            # here: nothing is dropped with the table
            f"DROP TABLE {self.root.sql};",
            f"ALTER TABLE {staging} RENAME TO {quote(self.root.name)};",
        ]


def _root_dependents(live: LiveTable, run_probe: ProbeRunner) -> dict[str, list[tuple[str, str]]]:
    """Dependent objects of the table that move to the new one, by kind. Raises Refusal if one
    would not.
    """
    for h in live.table.dependents.get(live.table.root.oid, ()):
        if h.what in OF_THE_ROOT:
            raise Refusal(f"{IN_THE_WAY[h.what]} ({h.detail})")
    dependents = live.root_dependents(run_probe)
    if "identity" in dependents:
        raise Refusal(
            f"column {dependents['identity'][0][1]} is an identity column, and its sequence would"
            " restart"
        )
    if "other" in dependents:
        names = listed([name for name, _ in dependents["other"]], 1)
        raise Refusal(f"it cannot be moved to another table: {names}")
    return dependents


def _kept_traits(live: LiveTable, leaves: list[Relation]) -> Traits:
    """Properties of the new table: those of the old one, and TOAST options that are the same on
    all leaves, because a partitioned table has no TOAST table.
    """
    table = live.table
    traits = dict(table.traits[table.root.oid])
    toast = {table.traits[leaf.oid].get(("toast options", "")) for leaf in leaves}
    if len(toast) == 1 and (text := toast.pop()) is not None:
        traits["toast options", ""] = text
    return traits


def _stage(
    live: LiveTable, name: str, *, pattern: Relation, like: Relation, traits: Traits
) -> StagingTable:
    """The staging table of the new table.

    pattern: relation whose columns it has; like: leaf whose storage it has; traits: properties that
             it gets
    """
    table, root = live.table, live.table.root
    copied = copied_traits(table.traits[pattern.oid], classic=live.classic)
    return StagingTable(
        name=name,
        final=root.name,
        schema=root.schema,
        like=pattern.sql,
        shape=replace(root, tablespace=like.tablespace, persistence=like.persistence),
        sources=tuple((leaf.sql, "") for leaf in table.leaves(root.oid)),
        predicate="true",
        comment=root.comment,
        storage=like.storage,
        options=options_of(like.options),
        indexes=tuple((i, i.name) for i in table.indexes[root.oid]),
        statistics=live.statistics_targets(root),
        properties=live.property_statements(root.schema, name, root.name, copied, traits),
    )


def _comments_lost(leaves: Iterable[Relation]) -> list[str]:
    """The comments of partitions, the first ones with the name of their partition."""
    return comments_lost([leaf.name for leaf in leaves if leaf.comment])


def _others_lost(live: LiveTable, leaves: Sequence[Relation], like: Relation) -> list[str]:
    """Other properties of leaves that the table, with the storage of `like`, does not get."""
    found = live.others_lost(leaves, live.table.root, "the table")
    found += tablespaces_lost(leaves, like, "the table")
    stored = [{f"storage option {k}": v for k, v in options_of(r.options)} for r in leaves]
    kept = {f"storage option {k}": v for k, v in options_of(like.options)}
    if like.storage == "ao_column":
        for leaf, properties in zip(leaves, stored, strict=True):
            properties |= live.encoded(leaf)
        kept |= live.encoded(like)
    return found + others_lost(stored, kept, "the table", f"that of {like.name}")


def _checked(live: LiveTable, step: op.Unpartition) -> list[Relation]:
    """Return the leaves in the order of the plan. Raises Refusal."""
    leaves = [live.live_leaf(leaf) for leaf in step.leaves]
    if {leaf.oid for leaf in leaves} != {
        leaf.oid for leaf in live.table.leaves(live.table.root.oid)
    }:
        raise Refusal("changed since it was planned: it has other leaves now")
    live.leaf_obstacles(leaves)
    live.refuse_partly_unlogged(leaves)
    return leaves


def _translate(live: LiveTable, step: op.Unpartition, run_probe: ProbeRunner) -> Translation:
    """All leaves become one table, with the storage of the leaf in the plan, or else of the
    newest.
    """
    table, root = live.table, live.table.root
    leaves, every = _checked(live, step), table.leaves(root.oid)
    objects = _root_dependents(live, run_probe)
    chosen = table.relations.get(step.new[0].like) if step.new else None
    like = chosen if chosen in leaves else max(leaves, key=lambda r: r.oid)
    # for storage other than heap, the leaf has the columns' encodings
    pattern = like if table.server.greenplum else root
    names = [c.name for c in table.columns[root.oid]]
    if [c.name for c in table.columns[pattern.oid]] != names:
        raise Refusal(f"the columns of {like.name} have a different order than those of the table")
    of_table = sorted(i.text for i in table.indexes[root.oid])
    for leaf in leaves:
        if sorted(i.text for i in table.indexes[leaf.oid]) != of_table:
            raise Refusal(f"the indexes of {leaf.name} differ from those of the table")
    digest = live.digest(step)
    traits = _kept_traits(live, leaves)
    lost = [
        *replaced([table.traits[leaf.oid] for leaf in leaves], traits),
        *grants_lost(root.grants, leaves, "the table"),
        *_comments_lost(leaves),
        *_others_lost(live, leaves, like),
    ]
    partitions = sorted((r for r in table.relations.values() if r.level > 0), key=lambda r: r.level)
    size = step.cost.bytes
    forward = Unpartition(
        id=step.id,
        title=step.explanation,
        root=root,
        gone=tuple(partitions),
        leaves=tuple(every),
        stage=_stage(live, f"gpc_{digest}_1", pattern=pattern, like=like, traits=traits),
        sequences=tuple(
            (name, quote_ident_always(column)) for name, column in objects.get("sequence", [])
        ),
        comments=tuple(
            (quote_ident_always(column), text) for text, column in objects.get("comment", [])
        ),
        checks=tuple((quote_ident_always(name), text) for text, name in objects.get("check", [])),
        check_comments=tuple(
            (quote_ident_always(name), text) for text, name in objects.get("check comment", [])
        ),
        rows=live.counted(every),
        rests_on=(
            *step.rests_on,
            "writers wait during the copy, in online mode too, because the table is small",
            *_column_orders(live, leaves),
        ),
        limit_bytes=None if size is None else int(size * live.growth) + (64 << 20),
        needs=requirements(step),
        lost=tuple(lost),
    )
    try:
        return [_with_rollback(live, forward, run_probe, digest=digest)]
    # no rollback is written for a template deeper than one level, or for a bound that is not
    # understood
    except ValueError:
        return [(forward, None)]


def _with_rollback(
    live: LiveTable, forward: Unpartition, run_probe: ProbeRunner, *, digest: str
) -> tuple[Unpartition, Repartition | None]:
    """The operation, with what its rollback does not restore, and the rollback."""
    rollback = repartition(live, forward, run_probe, digest=digest)
    if rollback is None or live.classic or not live.table.server.greenplum:
        return forward, rollback
    lost = templates_lost(live.table, run_probe, template_elements(live.table))
    return replace(forward, lost=(*forward.lost, *lost)), rollback


def _column_orders(live: LiveTable, leaves: list[Relation]) -> list[str]:
    """Return a sentence if leaves have their columns in another order than the table."""
    names = [c.name for c in live.table.columns[live.table.root.oid]]
    number = sum([c.name for c in live.table.columns[leaf.oid]] != names for leaf in leaves)
    sentence = (
        f"{number} of its {len(leaves)} leaves have a different column order; after a rollback"
        " they have the order of the table"
    )
    return [sentence] if number else []


register(StepHandler(_translate), "unpartition")


def _unpartition(
    writer: Writer, context: Context, change: Unpartition, *, exact: bool
) -> list[str]:
    """The transaction that copies all leaves into a plain table, compares the rows, and gives it
    the name.

    The table is small, so writers always wait (locked mode).
    """
    root, stage = change.root, change.stage
    staging = qualified(stage.schema, stage.name)
    guard = writer.guard(context, change, done="done", exact=exact, partitions=list(change.gone))
    if change.limit_bytes is not None:
        sizes = ", ".join(literal(r.sql) for r in change.leaves)
        guard.append(
            call("expect_bytes", f"ARRAY[{sizes}]::pg_catalog.text[]", str(change.limit_bytes))
        )
    everything = [root.sql, *(r.sql for r in change.gone)]
    phases: Phases = [
        (Phase.GUARD, [*guard, *writer.requirements(change.needs)]),
        (Phase.LOCK, [lock_from_writers(everything), *guard]),
        (Phase.STAGE, writer.make_stage(context, change, stage)),
        (Phase.COPY, writer.copies(context, stage)),
        (
            Phase.PROVE,
            [
                *(
                    writer.tally(context, change, "old", r.sql, f"ONLY {r.sql}")
                    for r in change.leaves
                ),
                writer.tally(context, change, "new", root.sql, f"ONLY {staging}"),
                *writer.compare(context, change, change.rows),
            ],
        ),
        (
            Phase.INDEX,
            [
                *change.check_constraints(staging),
                *writer.indexes(stage),
                writer.statistics(stage),
                writer.trusted(context, change, change.gone, [staging]),
            ],
        ),
        (
            Phase.PREPARE,
            [
                *_property_statements(writer, change, staging),
                *writer.same_properties(context, change),
            ],
        ),
        (
            Phase.EXCLUSIVE,
            [
                lock_from_readers(everything),
                EXCLUSIVE_SINCE,
            ],
        ),
        (
            Phase.SWAP,
            change.in_its_place(staging),
        ),
        (Phase.FINISH, _index_names(writer, change)),
        (Phase.NOTE, writer.note(context, change, "done")),
    ]
    return [block(phases)]


def _property_statements(writer: Writer, change: Unpartition, staging: str) -> list[str]:
    """The statements for the staging table after its rows are copied."""
    stage = change.stage
    return [
        *stage.properties.late,
        *writer.seen_by_others(stage),
        *grant_statements(staging, change.root.grants),
        *change.column_comments(staging),
        *writer.identity(stage),
    ]


def _index_names(writer: Writer, change: Unpartition) -> list[str]:
    """The statements that give indexes and statistics objects their names and marks. The names
    are free only after the swap.
    """
    root, stage = change.root, change.stage
    names: list[str] = []
    for n, (index, final) in enumerate(stage.indexes, 1):
        names.append(
            f"ALTER INDEX {qualified(stage.schema, f'{stage.name}_i{n}')} RENAME TO {quote(final)};"
        )
        if index.comment:
            names.append(
                f"COMMENT ON INDEX {qualified(stage.schema, final)} IS {literal(index.comment)};"
            )
        names += index_properties(index, qualified(stage.schema, final), root.sql, final)
        if index.clustered:
            names.append(f"ALTER TABLE {root.sql} CLUSTER ON {quote(final)};")
    return names + writer.statistics_names(stage)
