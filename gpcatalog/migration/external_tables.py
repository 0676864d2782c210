"""A cold leaf of Greenplum exchanged with a readable external table, and back; the place of its files is filled in by who runs the file."""

from __future__ import annotations

from dataclasses import replace

from gpcatalog.migration.declarative import Declarative
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.operations import Context, MoveToExternal, ReplacePartitions
from gpcatalog.migration.writer import Phase, Phases, Writer, block, call, grant_statements, literal, lock_list
from gpcatalog.model.names import qualified
from gpcatalog.model.names import quote_ident as quote

FILL = "FILL IN"


def outside(writer: Writer, context: Context, change: MoveToExternal, *, whole: bool) -> list[str]:
    """Settings to be filled in, and the transaction: rows are written out, read back, compared, and the leaf exchanged."""
    leaf = change.leaf
    as_swap = ReplacePartitions(change.id, change.title, change.parent, change.above, (change.unit,), (), change.predicate, change.default)
    read, write = f"{SCHEMA}.read_from", f"{SCHEMA}.write_to"
    shown = leaf.sql.encode("unicode_escape").decode()
    places = (
        f"-- Where files of about {change.file_bytes >> 20} MiB lie that hold the rows of {shown} in Greenplum's TEXT format:\n"
        "-- locations of an external table, separated by blanks, such as gpfdist://host:8081/sales/2019_01.txt\n"
        f"SET {read} = '{FILL}';\n"
        "-- Where this file shall write them first; empty where the files are there already\n"
        f"SET {write} = '{FILL}';\n"
    )
    table, sink = qualified(leaf.schema, change.name), qualified(leaf.schema, change.name + "w")
    guard = writer.guard(context, as_swap, done="done", whole=whole, partitions=[change.unit.relation])
    columns = ", ".join(context.columns)

    def locations(setting: str) -> str:
        return (
            "(SELECT pg_catalog.string_agg(pg_catalog.quote_literal(l), ', ') FROM pg_catalog.regexp_split_to_table("
            f"pg_catalog.btrim(pg_catalog.current_setting('{setting}')), E'\\\\s+') l)"
        )

    def made(kind: str, name: str, setting: str, tail: str) -> str:
        return (
            f"EXECUTE {literal(f'CREATE {kind}EXTERNAL TABLE {name} (LIKE {leaf.sql}) LOCATION (')} || {locations(setting)}"
            f" || {literal(') FORMAT ' + literal('TEXT') + ' ENCODING ' + literal('UTF8') + tail)};"
        )

    filled = f"RAISE EXCEPTION '%', {literal(f'fill in {read} and {write} above this step of {leaf.sql}: nothing was changed')};"
    distributed = f" DISTRIBUTED {leaf.distribution}" if leaf.distribution else ""
    names = writer.quiet(context, as_swap)
    grant = grant_statements(table, (replace(g, grantor="") for g in leaf.grants if "SELECT" in g.privileges and not g.revoked))
    taken = f"{change.name}_old"
    if writer.classic:
        exchange = [
            f"ALTER TABLE {context.root.sql} {change.above}EXCHANGE PARTITION {change.unit.address} WITH TABLE {table} WITHOUT VALIDATION;",
            f"DROP TABLE {table};",
        ]
    else:
        assert isinstance(writer, Declarative)
        exchange = [
            f"ALTER TABLE {change.parent.sql} DETACH PARTITION {leaf.sql};",
            f"ALTER TABLE {leaf.sql} RENAME TO {quote(taken)};",
            f"DROP TABLE {qualified(leaf.schema, taken)};",
            f"ALTER TABLE {table} RENAME TO {quote(leaf.name)};",
            f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {leaf.sql} {change.unit.relation.bound};",
        ]
    phases: Phases = [
        (
            Phase.GUARD,
            [
                guard[0],
                f"IF '{FILL}' IN (pg_catalog.current_setting('{read}'), pg_catalog.current_setting('{write}'))"
                f" OR pg_catalog.btrim(pg_catalog.current_setting('{read}')) = '' THEN {filled} END IF;",
                *guard[1:],
            ],
        ),
        (Phase.LOCK, [call("lock", literal(f"LOCK TABLE {lock_list(names)} IN EXCLUSIVE MODE")), *guard]),
        (
            Phase.COPY,
            [
                f"IF pg_catalog.btrim(pg_catalog.current_setting('{write}')) <> '' THEN",
                "    " + made("WRITABLE ", sink, write, distributed),
                f"    EXECUTE {literal(f'INSERT INTO {sink} ({columns}) SELECT {columns} FROM ONLY {leaf.sql}')};",
                f"    EXECUTE {literal(f'DROP EXTERNAL TABLE {sink}')};",
                "END IF;",
                made("", table, read, ""),
                f"EXECUTE {literal(f'ALTER TABLE {table} OWNER TO {quote(leaf.owner)}')};",
                call("strip", literal(table)),
                *(f"EXECUTE {literal(s.rstrip(';'))};" for s in grant),
            ],
        ),
        (
            Phase.PROVE,
            [
                writer.tally(context, as_swap, "old", leaf.sql, f"ONLY {leaf.sql}"),
                writer.tally(context, as_swap, "new", leaf.sql, table, change.predicate),
                *writer.compare(context, as_swap),
            ],
        ),
        (Phase.EXCLUSIVE, writer.readers_out(context, as_swap)),
        (Phase.SWAP, [f"EXECUTE {literal(s.rstrip(';'))};" for s in exchange]),
        (Phase.NOTE, writer.note(context, as_swap, "done")),
    ]
    return [places, block(phases)]


def inside(writer: Writer, context: Context, change: MoveToExternal) -> list[str]:
    """Return the rollback: the external table's rows are copied into a leaf as it was, compared, and it takes the external table's place.

    The files stay where they are.
    """
    leaf, stage = change.leaf, change.stage
    assert stage is not None
    as_swap = ReplacePartitions(change.id, change.title, change.parent, change.above, (change.unit,), (), change.predicate, change.default)
    guard = writer.guard(context, as_swap, done="undone", whole=False, partitions=[change.unit.relation])
    table, columns = qualified(stage.schema, stage.name), ", ".join(context.copied)
    # an external table cannot be locked; nobody writes into it
    names = [name for name in dict.fromkeys([*writer.quiet(context, as_swap), *writer.below(change.default)]) if name != leaf.sql]
    if writer.classic:
        exchange = [
            f"ALTER TABLE {context.root.sql} {change.above}EXCHANGE PARTITION {change.unit.address} WITH TABLE {table} WITHOUT VALIDATION;",
            f"DROP EXTERNAL TABLE {table};",
        ]
    else:
        taken = f"{change.name}_old"
        exchange = [
            f"ALTER TABLE {change.parent.sql} DETACH PARTITION {leaf.sql};",
            f"ALTER TABLE {leaf.sql} RENAME TO {quote(taken)};",
            f"DROP EXTERNAL TABLE {qualified(leaf.schema, taken)};",
            f"ALTER TABLE {table} RENAME TO {quote(leaf.name)};",
            f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {leaf.sql} {change.unit.relation.bound};",
        ]
    phases: Phases = [
        (Phase.GUARD, guard),
        (Phase.LOCK, [call("lock", literal(f"LOCK TABLE {lock_list(names)} IN EXCLUSIVE MODE")), *guard]),
        (Phase.STAGE, writer.make_stage(context, as_swap, stage)),
        (Phase.COPY, [f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {leaf.sql};"]),
        (
            Phase.PROVE,
            [
                writer.tally(context, as_swap, "old", leaf.sql, leaf.sql),
                writer.tally(context, as_swap, "new", leaf.sql, f"ONLY {table}", change.predicate),
                *writer.compare(context, as_swap),
            ],
        ),
        (Phase.INDEX, [writer.statistics(stage), writer.trusted(context, as_swap)]),
        (Phase.PREPARE, [*writer.seen_by_others(stage), *grant_statements(table, stage.grants)]),
        (
            Phase.EXCLUSIVE,
            [call("lock", literal(f"LOCK TABLE {lock_list(names)} IN ACCESS EXCLUSIVE MODE")), "began := pg_catalog.clock_timestamp();"],
        ),
        (Phase.SWAP, [f"EXECUTE {literal(s.rstrip(';'))};" for s in exchange]),
        (Phase.NOTE, writer.note(context, as_swap, "undone")),
    ]
    return [block(phases)]
