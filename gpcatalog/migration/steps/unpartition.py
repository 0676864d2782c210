"""Unpartition: all leaves of a small table become one table without partitions; the rollback
partitions it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gpcatalog.migration import subtree
from gpcatalog.migration.classic_spelling import DEFAULT_ENCODING, without_encodings
from gpcatalog.migration.declarative import REPLICA_IDENTITY, split_table
from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation, quote_ident_always
from gpcatalog.migration.live_table import (
    IN_THE_WAY,
    OF_THE_ROOT,
    LiveTable,
    grants_lost,
    requirements,
)
from gpcatalog.migration.naming import options_of
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    Operation,
    StagingTable,
    Writing,
)
from gpcatalog.migration.predicates import Refusal
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.template_text import elements, set_template
from gpcatalog.migration.traits import PropertyStatements, brought_along
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
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
from gpcatalog.model.quantity import plural
from gpcatalog.model.traits import replaced
from gpcatalog.planner import operations as op


@dataclass(frozen=True, kw_only=True)
class Unpartition(Operation):
    """A partitioned table becomes one without partitions, of the same name.

    stage:     the new table, built in staging from all leaves
    gone:      every relation below the root, parents first; leaves: those with rows
    sequences: (quoted name, quoted column) of sequences that columns own
    comments:  (quoted column, text); checks: (quoted name, definition) where LIKE does not bring
               them, with
               check_comments: (quoted name, text)
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

    def keeps_root(self) -> bool:
        return False

    def transactions(self, writer: Writer, context: Context, writing: Writing) -> list[str]:
        return _unpartition(writer, context, self, whole=writing.whole)


@dataclass(frozen=True, kw_only=True)
class Repartition(Operation):
    """A table without partitions becomes partitioned again: the rollback of Unpartition.

    plain:    the operation that it undoes; name: of the partitioned table while it is built
    stages:   its leaves, in the order of `leaves` of `plain`; on Greenplum 6 none, there
              `definition` has them all
    definition: Greenplum 6: PARTITION BY … as the server spelled it
    templates:  elements of the subpartition templates, deepest level first, each behind the table
                or partition that gets it
    options, encodings: of the root, as SQL; middles: the partitions between it and the leaves
    dress: of the root; not_valid: statements that add constraints behind the rows, which need not
           satisfy them
    """

    plain: Unpartition
    name: str
    stages: tuple[StagingTable, ...] = ()
    definition: str = ""
    templates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    encodings: tuple[tuple[str, str], ...] = ()
    middles: tuple[IntermediatePartition, ...] = ()
    dress: PropertyStatements = field(default_factory=PropertyStatements)
    not_valid: tuple[str, ...] = ()

    def summary(self) -> str:
        return f"partition {self.plain.root.name} again"

    def details(self) -> list[str]:
        return [
            f"  one plain table → {len(self.plain.leaves)} leaves; a row that none of them takes"
            " stops it"
        ]

    def grants(self) -> Sequence[Grant]:
        return [g for r in (self.plain.root, *self.plain.gone) for g in r.grants]

    def transactions(self, writer: Writer, context: Context, writing: Writing) -> list[str]:
        return _repartition_sql(writer, context, self)


def _translate(live: LiveTable, step: op.Unpartition, ask: ProbeRunner) -> Translation:
    """All leaves become one table, stored like the newest of them."""
    table, root = live.table, live.table.root
    leaves = [live.live(leaf.oid, leaf.name, leaf.bound) for leaf in step.leaves]
    every = table.leaves(root.oid)
    if {leaf.oid for leaf in leaves} != {leaf.oid for leaf in every}:
        raise Refusal("changed since it was planned: its leaves are others now")
    live.leaf_obstacles(leaves)
    for h in table.dependents.get(root.oid, ()):
        if h.what in OF_THE_ROOT:
            raise Refusal(f"{IN_THE_WAY[h.what]} ({h.detail})")
    hanging = live.hanging_on_root(ask)
    if "identity" in hanging:
        raise Refusal(
            f"column {hanging['identity'][0][1]} is an identity column, whose sequence would start"
            " again"
        )
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
    digest = live.digest(step)
    # a partitioned table has no TOAST table: options that all leaves have alike are kept
    traits = dict(table.traits[root.oid])
    toast = {table.traits[leaf.oid].get(("toast options", "")) for leaf in leaves}
    if len(toast) == 1 and (text := toast.pop()) is not None:
        traits["toast options", ""] = text
    lost = [
        *replaced([table.traits[leaf.oid] for leaf in leaves], traits),
        *grants_lost(root.grants, leaves, "the table"),
    ]
    lost += [f"comment on {leaf.name}" for leaf in leaves if leaf.comment][:20]
    copied = brought_along(table.traits[pattern.oid], classic=live.classic)
    stage = StagingTable(
        name=f"gpc_{digest}_1",
        final=root.name,
        schema=root.schema,
        like=pattern.sql,
        shape=replace(root, tablespace=like.tablespace, persistence=like.persistence),
        sources=tuple((leaf.sql, "") for leaf in every),
        predicate="true",
        comment=root.comment,
        storage=like.storage,
        options=options_of(like.options),
        indexes=tuple((i, i.name) for i in own.values()),
        statistics=live.statistics_targets(root),
        dress=live.property_statements(root.schema, f"gpc_{digest}_1", root.name, copied, traits),
    )
    below = sorted((r for r in table.relations.values() if r.level > 0), key=lambda r: r.level)
    size = step.cost.bytes
    forward = Unpartition(
        id=step.id,
        title=step.explanation,
        root=root,
        gone=tuple(below),
        leaves=tuple(every),
        stage=stage,
        sequences=tuple(
            (name, quote_ident_always(column)) for name, column in hanging.get("sequence", [])
        ),
        comments=tuple(
            (quote_ident_always(column), text) for text, column in hanging.get("comment", [])
        ),
        checks=tuple((quote_ident_always(name), text) for text, name in hanging.get("check", [])),
        check_comments=tuple(
            (quote_ident_always(name), text) for text, name in hanging.get("check comment", [])
        ),
        rows=live.counted(every),
        rests_on=(
            *step.rests_on,
            "it is copied while writers wait, in online mode too: it is small",
            *_column_orders(live, leaves),
        ),
        limit_bytes=None if size is None else int(size * live.growth) + (64 << 20),
        needs=requirements(step),
        lost=tuple(lost),
    )
    try:
        return [(forward, _repartition(live, forward, digest, ask))]
    # a template deeper than one level, or a bound that is not understood: no rollback is written
    except ValueError:
        return [(forward, None)]


def _column_orders(live: LiveTable, leaves: list[Relation]) -> list[str]:
    """Return a sentence if leaves have their columns in another order than the table."""
    names = [c.name for c in live.table.columns[live.table.root.oid]]
    number = sum([c.name for c in live.table.columns[leaf.oid]] != names for leaf in leaves)
    said = (
        f"{number} of its {len(leaves)} leaves have their columns in another order: a rollback"
        " gives them the order of the table"
    )
    return [said] if number else []


def _repartition(
    live: LiveTable, forward: Unpartition, digest: str, ask: ProbeRunner
) -> Repartition | None:
    """What makes it partitioned again; None where the server cannot be told how in one
    transaction.
    """
    table, root = live.table, forward.root
    if live.classic and any(
        not k for r in table.relations.values() if r.kind != "leaf" for k in r.key
    ):
        return None  # split by an expression, which its name does not tell
    own = table.traits[root.oid]
    # rows need not satisfy these: they are added once the rows are there, to the root and so to all
    # partitions
    later = {
        k: v for k, v in own.items() if k[0] in ("check", "not null") and v.endswith("NOT VALID")
    }
    comments = {
        k: v for k, v in own.items() if k[0] == "check comment" and ("check", k[1]) in later
    }
    not_valid = [
        f"ALTER TABLE {root.sql} ADD "
        + (f"CONSTRAINT {quote_ident_always(name)} " if what == "check" else "")
        + f"{text};"
        for (what, name), text in later.items()
    ]
    not_valid += [
        f"COMMENT ON CONSTRAINT {quote_ident_always(n)} ON {root.sql} IS {quote_literal(v)};"
        for (_, n), v in comments.items()
    ]
    wanted = {k: v for k, v in own.items() if k not in later and k not in comments}
    back = Repartition(
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
        not_valid=tuple(not_valid),
        dress=live.property_statements(
            root.schema,
            f"gpr_{digest}_t",
            root.name,
            brought_along(own, classic=live.classic),
            wanted,
        ),
    )
    if live.classic:
        if any(r.owner != root.owner for r in table.relations.values()):
            return None  # Greenplum 6 gives no partition an owner of its own
        (row,) = ask("migration_definition", root=str(root.oid))
        definition = row["definition"]
        if _rows_below_columns(live):
            # Greenplum 6 does not accept its own definition then, as it passes encodings on to what
            # is below; it needs none to get
            # the same columns where all are the default ones
            if {
                c.encoding for r in table.relations.values() for c in table.columns.get(r.oid, ())
            } - {"", DEFAULT_ENCODING}:
                return None
            definition, back = without_encodings(definition), replace(back, encodings=())
        return replace(back, definition=definition, templates=live.templates_now(ask))
    without = later.keys() | comments.keys()
    stages = tuple(
        live.as_it_was(f"gpr_{digest}_{n}", leaf, root, without=without)
        for n, leaf in enumerate(forward.leaves, 1)
    )
    newest = {
        r.level: r
        for r in sorted(table.relations.values(), key=lambda r: r.oid)
        if r.has_template and r.level
    }
    templates = []
    for _, r in sorted(newest.items(), reverse=True):
        # the template of a level belongs to what is split into the partitions that get it below
        # them
        above = table.relations[r.parent] if r.parent else root
        templates.append((above.sql, elements(table, r, (), classic=False)[0]))
    middles = subtree.middles(table, root, {})[1:]
    return replace(back, stages=stages, middles=middles, templates=tuple(templates))


def _rows_below_columns(live: LiveTable) -> bool:
    """Whether something below a column-oriented partition is stored in another way."""
    relations = live.table.relations
    return any(
        r.level > 1
        and r.parent
        and relations[r.parent].storage == "ao_column"
        and r.storage != "ao_column"
        for r in relations.values()
    )


register(StepHandler(_translate), "unpartition")


def _unpartition(
    writer: Writer, context: Context, change: Unpartition, *, whole: bool
) -> list[str]:
    """The transaction that copies all leaves into a plain table, proves it, and gives it the name.

    Small by intent: always locked.
    """
    root, stage = change.root, change.stage
    aside = qualified(stage.schema, stage.name)
    guard = writer.guard(context, change, done="done", whole=whole, partitions=list(change.gone))
    if change.limit_bytes is not None:
        sizes = ", ".join(literal(r.sql) for r in change.leaves)
        guard.append(
            call("expect_bytes", f"ARRAY[{sizes}]::pg_catalog.text[]", str(change.limit_bytes))
        )
    everything = [root.sql, *(r.sql for r in change.gone)]
    lock = lock_from_writers(everything)
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
    names += writer.statistics_names(stage)
    ready = [
        *stage.dress.late,
        *writer.seen_by_others(stage),
        *grant_statements(aside, root.grants),
    ]
    ready += [
        f"COMMENT ON COLUMN {aside}.{column} IS {literal(text)};"
        for column, text in change.comments
    ]
    ready += writer.identity(stage)
    phases: Phases = [
        (Phase.GUARD, [*guard, *writer.requirements(change.needs)]),
        (Phase.LOCK, [lock, *guard]),
        (Phase.STAGE, writer.make_stage(context, change, stage)),
        (Phase.COPY, writer.copies(context, stage)),
        (
            Phase.PROVE,
            [
                *(
                    writer.tally(context, change, "old", r.sql, f"ONLY {r.sql}")
                    for r in change.leaves
                ),
                writer.tally(context, change, "new", root.sql, f"ONLY {aside}"),
                *writer.compare(context, change, change.rows),
            ],
        ),
        (
            Phase.INDEX,
            [
                *_checks(change, aside),
                *writer.indexes(stage),
                writer.statistics(stage),
                writer.trusted(context, change, change.gone, [aside]),
            ],
        ),
        (Phase.PREPARE, ready),
        (
            Phase.EXCLUSIVE,
            [
                lock_from_readers(everything),
                EXCLUSIVE_SINCE,
            ],
        ),
        (
            Phase.SWAP,
            _in_its_place(change, aside),
        ),
        (Phase.FINISH, names),
        (Phase.NOTE, writer.note(context, change, "done")),
    ]
    return [block(phases)]


def _checks(change: Unpartition, table: str) -> list[str]:
    """Checks that LIKE does not bring, with their comments."""
    made = [
        f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition};"
        for name, definition in change.checks
    ]
    return made + [
        f"COMMENT ON CONSTRAINT {name} ON {table} IS {literal(text)};"
        for name, text in change.check_comments
    ]


def _in_its_place(change: Unpartition, aside: str) -> list[str]:
    """The table built aside takes the old one's sequences and its name."""
    return [
        *(
            f"ALTER SEQUENCE {sequence} OWNED BY {aside}.{column};"
            for sequence, column in change.sequences
        ),
        # what hangs on it and was not there when this was written stops it here: nothing is dropped
        # with it
        f"DROP TABLE {change.root.sql};",
        f"ALTER TABLE {aside} RENAME TO {quote(change.root.name)};",
    ]


def _repartition_sql(writer: Writer, context: Context, change: Repartition) -> list[str]:
    """The transaction that makes the partitioned table again: all rows are copied while writers
    wait, and proven.
    """
    was = change.plain
    root = was.root
    aside = qualified(root.schema, change.name)
    guard = writer.guard(context, change, done="undone", whole=False, partitions=[])
    columns = ", ".join(context.copied)
    made, finish = (
        _parted_classic(change, aside)
        if change.definition
        else _parted_declarative(writer, context, change, aside)
    )
    finish += [set_template(table, elements) for table, elements in change.templates]
    # rows are about to be written through keys, indexes and checks that were made from text
    made.append(
        call(
            "expect_trusted",
            array([root.sql, aside, *(r.sql for r in was.gone if not change.definition)]),
            array([aside]),
        )
    )
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
    names += [*change.not_valid, *_root_statistics(root, change)]
    ready = [f"COMMENT ON TABLE {aside} IS {literal(root.comment)};"] if root.comment else []
    ready += [
        f"COMMENT ON COLUMN {aside}.{column} IS {literal(text)};" for column, text in was.comments
    ]
    ready += [
        f"ALTER TABLE {aside} ALTER COLUMN {column} SET STATISTICS {target};"
        for column, target in was.stage.statistics
    ]
    phases: Phases = [
        (Phase.GUARD, guard),
        (
            Phase.LOCK,
            [
                lock_from_writers([root.sql]),
                *guard,
            ],
        ),
        (Phase.STAGE, made),
        (Phase.COPY, [f"INSERT INTO {aside} ({columns}) SELECT {columns} FROM ONLY {root.sql};"]),
        (
            Phase.PROVE,
            [
                writer.tally(context, change, "old", root.sql, f"ONLY {root.sql}"),
                writer.tally(context, change, "new", root.sql, aside),
                *writer.compare(context, change),
            ],
        ),
        (Phase.PREPARE, ready),
        (
            Phase.EXCLUSIVE,
            [
                lock_from_readers([root.sql]),
                EXCLUSIVE_SINCE,
            ],
        ),
        (
            Phase.SWAP,
            _in_its_place(was, aside),
        ),
        # names of indexes are free only now; what the leaves have is taken over
        (Phase.FINISH, [*names, *finish]),
        (Phase.NOTE, writer.note(context, change, "undone")),
    ]
    return [block(phases)]


def _root_statistics(root: Relation, change: Repartition) -> list[str]:
    """Statistics objects of the partitioned table: those of the plain one went with it."""
    found = []
    for s in change.dress.statistics:
        name = qualified(s.schema, s.name)
        found.append(f"CREATE STATISTICS {name}{s.of} FROM {root.sql};")
        found += [f"ALTER STATISTICS {name} SET STATISTICS {s.target};"] if s.target else []
        found.append(f"ALTER STATISTICS {name} OWNER TO {quote(root.owner)};")
        found += [f"COMMENT ON STATISTICS {name} IS {literal(s.comment)};"] if s.comment else []
    return found


def _owned(relation: str, like: Relation) -> list[str]:
    owner = f"ALTER TABLE {relation} OWNER TO {quote(like.owner)};"
    return [owner, call("strip", literal(relation)), *grant_statements(relation, like.grants)]


def _parted_classic(change: Repartition, aside: str) -> tuple[list[str], list[str]]:
    """Greenplum 6: one statement makes all partitions, as the server spelled them; grants and
    comments of leaves come at the end.
    """
    was = change.plain
    root = was.root
    inside = [f"LIKE {root.sql} INCLUDING DEFAULTS"]
    inside += [f"COLUMN {column} ENCODING ({encoding})" for column, encoding in change.encodings]
    options = ", ".join(f"{k}={v}" for k, v in change.options)
    made = [
        f"CREATE {'UNLOGGED ' if root.persistence == 'u' else ''}TABLE {aside}"
        f" ({', '.join(inside)})"
        + (f" WITH ({options})" if options else "")
        + (f" DISTRIBUTED {root.distribution}" if root.distribution else "")
        + f" {change.definition};",
        *change.dress.before,
        *_owned(aside, root),
        *_checks(was, aside),
    ]
    finish: list[str] = []
    for r in was.gone:  # the owner comes with the table
        finish += _owned(r.sql, r)[1:]
        if r.comment:
            finish.append(f"COMMENT ON TABLE {r.sql} IS {literal(r.comment)};")
    return made, finish


def _parted_declarative(
    writer: Writer, context: Context, change: Repartition, aside: str
) -> tuple[list[str], list[str]]:
    """Levels from the top, leaves with their indexes, each attached while it is empty."""
    was = change.plain
    root = was.root
    made = [
        split_table(
            aside,
            root.sql,
            root,
            change.encodings,
            options=", ".join(f"{k}={v}" for k, v in change.options),
        ),
        call("staged", literal(context.plan), literal(change.id), literal(aside)),
    ]
    made += [*change.dress.before, *change.dress.late, *_owned(aside, root)]
    at = {root.oid: aside}
    of_middle = {m.like.oid: m for m in change.middles}
    of_leaf = {leaf.oid: stage for leaf, stage in zip(was.leaves, change.stages, strict=True)}
    for r in was.gone:
        assert r.parent is not None
        stage = of_leaf.get(r.oid)
        if stage is None:
            made.append(split_table(r.sql, aside, r, of_middle[r.oid].encodings, options=r.options))
            made += _owned(r.sql, r)
            made += [f"COMMENT ON TABLE {r.sql} IS {literal(r.comment)};"] if r.comment else []
            made += [
                *writer.table_indexes(r.sql, of_middle[r.oid].indexes),
                *writer.index_marks(of_middle[r.oid]),
            ]
        else:
            made += writer.make_stage(context, change, stage)
            made += writer.seen_by_others(stage)
            made += [
                *stage.dress.late,
                *grant_statements(qualified(stage.schema, stage.name), stage.grants),
            ]
            made += [*writer.indexes(stage), *writer.identity(stage)]
            made.append(
                f"ALTER TABLE {qualified(stage.schema, stage.name)} RENAME TO {quote(stage.final)};"
            )
            made += writer.index_names(stage)
        made.append(f"ALTER TABLE {at[r.parent]} ATTACH PARTITION {r.sql} {r.bound};")
        if stage is not None:
            made += writer.own_marks(stage)
        at[r.oid] = r.sql
    return made, []
