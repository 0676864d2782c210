"""Changes of a whole table: a partitioned one becomes plain, a level that holds one partition each is taken out."""

from __future__ import annotations

import dataclasses

from gpcatalog.migration.declarative import BOUND, REPLICA_IDENTITY, bound_check, split_table
from gpcatalog.migration.introspect import Relation
from gpcatalog.migration.operations import Context, FlattenLevel, NewPartition, Repartition, ReplacePartitions, Unpartition
from gpcatalog.migration.template import set_template
from gpcatalog.migration.writer import Phase, Phases, Writer, array, block, call, grant_statements, index_properties, literal, lock_list
from gpcatalog.model.names import qualified
from gpcatalog.model.names import quote_ident as quote


def plain(writer: Writer, context: Context, change: Unpartition, *, whole: bool) -> list[str]:
    """The transaction that copies all leaves into a plain table, proves it, and gives it the name. Small by intent: always locked."""
    root, stage = change.root, change.stage
    aside = qualified(stage.schema, stage.name)
    as_swap = ReplacePartitions(change.id, change.title, root, "", (), (), "true", rows=change.rows)
    guard = writer.guard(context, as_swap, done="done", whole=whole, partitions=list(change.gone), goes=change)
    if change.limit_bytes is not None:
        sizes = ", ".join(literal(r.sql) for r in change.leaves)
        guard.append(call("expect_bytes", f"ARRAY[{sizes}]::pg_catalog.text[]", str(change.limit_bytes)))
    everything = [root.sql, *(r.sql for r in change.gone)]
    lock = call("lock", literal(f"LOCK TABLE {lock_list(everything)} IN EXCLUSIVE MODE"))
    names: list[str] = []
    for n, (index, final) in enumerate(stage.indexes, 1):
        names.append(f"ALTER INDEX {qualified(stage.schema, f'{stage.name}_i{n}')} RENAME TO {quote(final)};")
        if index.comment:
            names.append(f"COMMENT ON INDEX {qualified(stage.schema, final)} IS {literal(index.comment)};")
        names += index_properties(index, qualified(stage.schema, final), root.sql, final)
        if index.clustered:
            names.append(f"ALTER TABLE {root.sql} CLUSTER ON {quote(final)};")
    names += writer.statistics_names(stage)
    ready = [
        *stage.dress.late,
        *writer.seen_by_others(stage),
        *grant_statements(aside, root.grants),
    ]
    ready += [f"COMMENT ON COLUMN {aside}.{column} IS {literal(text)};" for column, text in change.comments]
    ready += writer.identity(stage)
    phases: Phases = [
        (Phase.GUARD, [*guard, *writer.room(change.needs)]),
        (Phase.LOCK, [lock, *guard]),
        (Phase.STAGE, writer.make_stage(context, as_swap, stage)),
        (Phase.COPY, writer.copies(context, stage)),
        (
            Phase.PROVE,
            [
                *(writer.tally(context, as_swap, "old", r.sql, f"ONLY {r.sql}") for r in change.leaves),
                writer.tally(context, as_swap, "new", root.sql, f"ONLY {aside}"),
                *writer.compare(context, as_swap),
            ],
        ),
        (
            Phase.INDEX,
            [
                *_checks(change, aside),
                *writer.indexes(stage),
                writer.statistics(stage),
                writer.trusted(context, dataclasses.replace(as_swap, made=(NewPartition(root.name, "", "", (stage,), ""),)), change.gone),
            ],
        ),
        (Phase.PREPARE, ready),
        (
            Phase.EXCLUSIVE,
            [
                call("lock", literal(f"LOCK TABLE {lock_list(everything)} IN ACCESS EXCLUSIVE MODE")),
                "began := pg_catalog.clock_timestamp();",
            ],
        ),
        (
            Phase.SWAP,
            _in_its_place(change, aside),
        ),
        (Phase.FINISH, names),
        (Phase.NOTE, writer.note(context, as_swap, "done")),
    ]
    return [block(phases)]


def _checks(change: Unpartition, table: str) -> list[str]:
    """Checks that LIKE does not bring, with their comments."""
    made = [f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition};" for name, definition in change.checks]
    return made + [f"COMMENT ON CONSTRAINT {name} ON {table} IS {literal(text)};" for name, text in change.check_comments]


def _in_its_place(change: Unpartition, aside: str) -> list[str]:
    """The table built aside takes the old one's sequences and its name."""
    return [
        *(f"ALTER SEQUENCE {sequence} OWNED BY {aside}.{column};" for sequence, column in change.sequences),
        # what hangs on it and was not there when this was written stops it here: nothing is dropped with it
        f"DROP TABLE {change.root.sql};",
        f"ALTER TABLE {aside} RENAME TO {quote(change.root.name)};",
    ]


def parted(writer: Writer, context: Context, change: Repartition) -> list[str]:
    """The transaction that makes the partitioned table again: all rows are copied while writers wait, and proven."""
    was = change.plain
    root = was.root
    aside = qualified(root.schema, change.name)
    as_swap = ReplacePartitions(change.id, change.title, root, "", (), (), "true")
    guard = writer.guard(context, as_swap, done="undone", whole=False, partitions=[])
    columns = ", ".join(context.copied)
    made, finish = _parted_classic(change, aside) if change.definition else _parted_declarative(writer, context, change, aside)
    finish += [set_template(table, elements) for table, elements in change.templates]
    # rows are about to be written through keys, indexes and checks that were made from text
    made.append(call("expect_trusted", array([root.sql, aside, *(r.sql for r in was.gone if not change.definition)]), array([aside])))
    names: list[str] = []
    for index, final in was.stage.indexes:
        if index.constraint_kind:
            names.append(f"ALTER TABLE {root.sql} ADD CONSTRAINT {quote(final)} {index.constraint_definition};")
        else:
            names.append(f"CREATE {'UNIQUE ' if index.unique else ''}INDEX {quote(final)} ON {root.sql} {index.body};")
        if index.comment:
            names.append(f"COMMENT ON INDEX {qualified(root.schema, final)} IS {literal(index.comment)};")
        names += index_properties(index, qualified(root.schema, final), root.sql, final)
        if index.replica_identity:
            names.append(f"ALTER TABLE {root.sql} REPLICA IDENTITY USING INDEX {quote(final)};")
    if root.replica_identity in REPLICA_IDENTITY:
        names.append(f"ALTER TABLE {root.sql} REPLICA IDENTITY {REPLICA_IDENTITY[root.replica_identity]};")
    names += [*change.not_valid, *root_statistics(root, change)]
    ready = [f"COMMENT ON TABLE {aside} IS {literal(root.comment)};"] if root.comment else []
    ready += [f"COMMENT ON COLUMN {aside}.{column} IS {literal(text)};" for column, text in was.comments]
    ready += [f"ALTER TABLE {aside} ALTER COLUMN {column} SET STATISTICS {target};" for column, target in was.stage.statistics]
    phases: Phases = [
        (Phase.GUARD, guard),
        (Phase.LOCK, [call("lock", literal(f"LOCK TABLE {lock_list([root.sql])} IN EXCLUSIVE MODE")), *guard]),
        (Phase.STAGE, made),
        (Phase.COPY, [f"INSERT INTO {aside} ({columns}) SELECT {columns} FROM ONLY {root.sql};"]),
        (
            Phase.PROVE,
            [
                writer.tally(context, as_swap, "old", root.sql, f"ONLY {root.sql}"),
                writer.tally(context, as_swap, "new", root.sql, aside),
                *writer.compare(context, as_swap),
            ],
        ),
        (Phase.PREPARE, ready),
        (
            Phase.EXCLUSIVE,
            [
                call("lock", literal(f"LOCK TABLE {lock_list([root.sql])} IN ACCESS EXCLUSIVE MODE")),
                "began := pg_catalog.clock_timestamp();",
            ],
        ),
        (
            Phase.SWAP,
            _in_its_place(was, aside),
        ),
        # names of indexes are free only now; what the leaves have is taken over
        (Phase.FINISH, [*names, *finish]),
        (Phase.NOTE, writer.note(context, as_swap, "undone")),
    ]
    return [block(phases)]


def root_statistics(root: Relation, change: Repartition) -> list[str]:
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
    """Greenplum 6: one statement makes all partitions, as the server spelled them; grants and comments of leaves come at the end."""
    was = change.plain
    root = was.root
    inside = [f"LIKE {root.sql} INCLUDING DEFAULTS"]
    inside += [f"COLUMN {column} ENCODING ({encoding})" for column, encoding in change.encodings]
    options = ", ".join(f"{k}={v}" for k, v in change.options)
    made = [
        f"CREATE {'UNLOGGED ' if root.persistence == 'u' else ''}TABLE {aside} ({', '.join(inside)})"
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


def _parted_declarative(writer: Writer, context: Context, change: Repartition, aside: str) -> tuple[list[str], list[str]]:
    """Levels from the top, leaves with their indexes, each attached while it is empty."""
    was = change.plain
    root = was.root
    as_swap = ReplacePartitions(change.id, change.title, root, "", (), (), "true")
    made = [
        split_table(aside, root.sql, root, change.encodings, options=", ".join(f"{k}={v}" for k, v in change.options)),
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
            made += [*writer.table_indexes(r.sql, of_middle[r.oid].indexes), *writer.index_marks(of_middle[r.oid])]
        else:
            made += writer.make_stage(context, as_swap, stage)
            made += writer.seen_by_others(stage)
            made += [*stage.dress.late, *grant_statements(qualified(stage.schema, stage.name), stage.grants)]
            made += [*writer.indexes(stage), *writer.identity(stage)]
            made.append(f"ALTER TABLE {qualified(stage.schema, stage.name)} RENAME TO {quote(stage.final)};")
            made += writer.index_names(stage)
        made.append(f"ALTER TABLE {at[r.parent]} ATTACH PARTITION {r.sql} {r.bound};")
        if stage is not None:
            made += writer.own_marks(stage)
        at[r.oid] = r.sql
    return made, []


def lift(writer: Writer, context: Context, change: FlattenLevel, *, done: str, whole: bool) -> list[str]:
    """The transactions that take a level out over one leaf, or put it in again: no row is copied."""
    middle, leaf = change.middle, change.leaf
    above = qualified(middle.schema, middle.name)
    low = qualified(leaf.schema, leaf.name)
    # up: the leaf takes the parent's name; down: it has that name now
    here = low if change.up else above
    shown = leaf if change.up else dataclasses.replace(leaf, name=middle.name, bound=middle.bound)
    parts = [middle, leaf] if change.up else [shown]
    as_swap = ReplacePartitions(change.id, change.title, change.parent, "", (), (), change.predicate)
    guard = writer.guard(context, as_swap, done=done, whole=whole, partitions=parts, goes=change)
    default = [r.sql for r in (change.default.relation, *change.default.leaves)] if change.default is not None else []
    locked = [change.parent.sql, *([above] if change.up else []), here, *default]
    check = change.predicate if change.up else f"{change.predicate} AND {change.below}"
    made = (
        f"EXISTS (SELECT 1 FROM pg_catalog.pg_constraint c WHERE c.conrelid = {literal(here)}::pg_catalog.regclass"
        f" AND c.conname = {literal(BOUND)}"
    )
    first: Phases = [
        (Phase.GUARD, [*guard, f"IF {made}) THEN RETURN; END IF;"]),
        (
            Phase.PREPARE,
            [
                call("lock", literal(f"LOCK TABLE {lock_list([here])} IN ACCESS EXCLUSIVE MODE")),
                bound_check(here, check, change.parent, valid=False),
            ],
        ),
    ]
    second: Phases = [
        (Phase.GUARD, [*guard, f"IF NOT {made} AND NOT c.convalidated) THEN RETURN; END IF;"]),
        (Phase.PREPARE, [f"ALTER TABLE {here} VALIDATE CONSTRAINT {BOUND};"]),
    ]
    if change.up:
        swap = [
            f"ALTER TABLE {above} DETACH PARTITION {low};",
            f"DROP TABLE {above};",
            f"ALTER TABLE {low} RENAME TO {quote(middle.name)};",
            f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {above} {middle.bound};",
        ]
        names = [f"ALTER INDEX {qualified(leaf.schema, old)} RENAME TO {quote(new)};" for old, new in change.indexes if old != new]
        finish = [f"ALTER TABLE {above} DROP CONSTRAINT {BOUND};", *names]
    else:
        swap = [
            f"ALTER TABLE {change.parent.sql} DETACH PARTITION {above};",
            f"ALTER TABLE {above} RENAME TO {quote(leaf.name)};",
            *(f"ALTER INDEX {qualified(leaf.schema, new)} RENAME TO {quote(old)};" for old, new in change.indexes if old != new),
            split_table(above, change.parent.sql, middle, change.above.encodings, options=middle.options),
            f"ALTER TABLE {above} OWNER TO {quote(middle.owner)};",
            call("strip", literal(above)),
            *grant_statements(above, middle.grants),
            *writer.table_indexes(above, change.above.indexes),
            f"ALTER TABLE {above} ATTACH PARTITION {low} {leaf.bound};",
            f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {above} {middle.bound};",
        ]
        finish = [f"ALTER TABLE {low} DROP CONSTRAINT {BOUND};", *writer.index_marks(change.above)]
    third: Phases = [
        (Phase.GUARD, guard),
        (
            Phase.EXCLUSIVE,
            [
                call("lock", literal(f"LOCK TABLE {lock_list(locked)} IN ACCESS EXCLUSIVE MODE")),
                "began := pg_catalog.clock_timestamp();",
                *guard,
            ],
        ),
        (Phase.SWAP, swap),
        (Phase.FINISH, finish),
        (Phase.NOTE, writer.note(context, as_swap, done)),
    ]
    return [block(first), block(second), block(third)]
