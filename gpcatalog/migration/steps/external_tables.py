"""Externalise: exchange a cold leaf of Greenplum with a readable external table. The person who
runs the file specifies the location of its files, or an upkeep policy contains it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation
from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.live_table import LiveTable, grants_lost
from gpcatalog.migration.operations import (
    Context,
    PartitionOperation,
    StagingTable,
    Unit,
    WriteContext,
)
from gpcatalog.migration.predicates import Refusal, predicate
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    block,
    call,
    grant_statements,
    literal,
    lock_from_readers,
    lock_from_writers,
    names_of,
)
from gpcatalog.model.bounds import parse
from gpcatalog.model.names import qualified
from gpcatalog.model.names import quote_ident as quote
from gpcatalog.planner import operations as op

FILL = "FILL IN"


@dataclass(frozen=True, kw_only=True)
class MoveToExternal(PartitionOperation):
    """A leaf is exchanged with a readable external table over files.

    name: of the external table while it is created; file_bytes: wanted size of a file
    location: where the rows are written and read; empty: the person who runs the file fills it in
    required: columns with NOT NULL, which the external table needs to become a partition
    stage: for the rollback: the old leaf, built from the external table's rows
    """

    leaf: Relation
    predicate: str
    name: str
    file_bytes: int
    location: str = ""
    required: tuple[str, ...] = ()
    stage: StagingTable | None = None

    @property
    def unit(self) -> Unit:
        """The only partition that is removed."""
        return self.gone[0]

    def summary(self) -> str:
        return f"move {self.leaf.name} to an external table"

    def details(self) -> list[str]:
        leaf = self.leaf
        if self.stage is not None:
            return [
                f"  {leaf.name} {leaf.bound} is loaded from the external table and replaces it;"
                " the files are kept"
            ]
        return [f"  {leaf.name} {leaf.bound} is exchanged with a readable external table"]

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        if self.stage is not None:
            return _load_rows(writer, context, self)
        return _move_out(writer, context, self, exact=writing.exact)


def _translate(live: LiveTable, step: op.Externalise, run_probe: ProbeRunner) -> Translation:
    """Exchange the leaf with an external table; the rollback loads its rows again."""
    if len(step.leaves) != 1:
        raise Refusal("it has subpartitions, and each would need its own location")
    unit = live.live(step.units[0].oid, step.units[0].name, step.units[0].bound)
    leaf = live.live_leaf(step.leaves[0])
    if leaf.oid != unit.oid:
        raise Refusal("changed since it was planned: it has subpartitions now")
    forward = replace(moved_out(live, step, leaf), file_bytes=step.file_bytes)
    stage = live.as_it_was(
        f"gpr_{live.digest(step)}_1", leaf, live.table.root, predicate=forward.predicate
    )
    rollback = replace(
        forward,
        id=f"undo-{step.id}",
        title=f"rollback: {forward.title}",
        stage=stage,
        rests_on=(),
        lost=(),
    )
    return [(forward, rollback)]


def moved_out(live: LiveTable, step: op.Step, unit: Relation) -> MoveToExternal:
    """The operation that exchanges a leaf with an external table. Raises Refusal."""
    if unit.kind != "leaf":
        raise Refusal(f"{unit.name} has subpartitions, and each would need its own location")
    live.leaf_obstacles([unit])
    parent = live.parent_of([unit])
    required = [c.name for c in live.table.columns[unit.oid] if c.not_null]
    if live.classic and required:
        raise Refusal(
            f"an external table of Greenplum 6 cannot have NOT NULL (column {required[0]})"
        )
    for what, name in live.table.traits[live.table.root.oid]:
        if what == "check":
            # Greenplum 7.0.0 reports an internal error when such a table becomes a partition
            raise Refusal(f"an external table cannot have constraint {name} of the table")
    if live.table.indexes[live.table.root.oid]:
        raise Refusal("the table has indexes, which an external table cannot have")
    default = live.default_unit(parent, [unit])
    if live.classic and live.table.children(parent.oid) == [unit]:
        raise Refusal("it is the only partition")
    return MoveToExternal(
        id=step.id,
        title=step.explanation,
        parent=parent,
        above=live.above(parent),
        gone=(live.unit(unit),),
        leaf=unit,
        predicate=predicate(parse(unit.bound), *live.key(parent)),
        name=f"gpc_{live.digest(step)}_x",
        required=tuple(required),
        file_bytes=0,
        default=default,
        rests_on=step.rests_on,
        lost=(
            *live.indexes_lost([unit], None, "the external table"),
            *(
                []
                if live.classic
                else grants_lost(_reader_grants(unit, classic=False), [unit], "the external table")
            ),
        ),
    )


register(StepHandler(_translate), "externalise")


READ, WRITE = f"{SCHEMA}.read_from", f"{SCHEMA}.write_to"
"""Settings that the person who runs the file fills in."""


def _places(change: MoveToExternal) -> str:
    """The settings to be filled in, with an explanation."""
    if change.location:
        place = literal(change.location)
        return f"SET {READ} = {place};\nSET {WRITE} = {place};\n"
    shown = change.leaf.sql.encode("unicode_escape").decode()
    return (
        f"-- Locations of the files with the rows of {shown}, in Greenplum's TEXT format, about"
        f" {change.file_bytes >> 20} MiB each:\n-- as in LOCATION of an external table, separated"
        f" by spaces, for example gpfdist://host:8081/sales/2019_01.txt\nSET {READ} ="
        f" '{FILL}';\n-- Locations where this script writes the files first; empty if the files"
        f" exist already\nSET {WRITE} = '{FILL}';\n"
    )


def _expect_places(leaf: Relation) -> str:
    """The statement that stops the step unless the settings are filled in."""
    filled = (
        "RAISE EXCEPTION '%',"
        f" {literal(f'fill in {READ} and {WRITE} above this step of {leaf.sql}: nothing was changed')};"
    )
    return (
        f"IF '{FILL}' IN (pg_catalog.current_setting('{READ}'),"
        f" pg_catalog.current_setting('{WRITE}')) OR"
        f" pg_catalog.btrim(pg_catalog.current_setting('{READ}')) = '' THEN {filled}"
        " END IF;"
    )


def _create_external(
    leaf: Relation, name: str, *, kind: str = "", setting: str, tail: str = ""
) -> str:
    """The statement that creates an external table like a leaf, for the locations of a setting.

    kind: "WRITABLE " or empty; tail: text after its format
    """
    locations = (
        "(SELECT pg_catalog.string_agg(pg_catalog.quote_literal(l), ', ') FROM"
        f" pg_catalog.regexp_split_to_table(pg_catalog.btrim(pg_catalog.current_setting('{setting}')),"
        " E'\\\\s+') l)"
    )
    return (
        f"EXECUTE {literal(f'CREATE {kind}EXTERNAL TABLE {name} (LIKE {leaf.sql}) LOCATION (')}"
        f" || {locations} ||"
        f" {literal(') FORMAT ' + literal('TEXT') + ' ENCODING ' + literal('UTF8') + tail)};"
    )


def _reader_grants(leaf: Relation, *, classic: bool) -> list[Grant]:
    """The grants of a leaf that the external table gets: those of roles that may read it.

    On Greenplum 6, EXCHANGE gives it all grants of the leaf, but without their dependency rows. If
    they are granted before, these rows exist.
    """
    return [g for g in leaf.grants if not g.revoked and (classic or "SELECT" in g.privileges)]


def _written_out(
    context: Context, change: MoveToExternal, table: str, *, classic: bool
) -> list[str]:
    """The statements that write the rows to files, if requested, and create the external table
    for these files.
    """
    leaf = change.leaf
    sink = qualified(leaf.schema, change.name + "w")
    columns = ", ".join(context.columns)
    distributed = f" DISTRIBUTED {leaf.distribution}" if leaf.distribution else ""
    writable = _create_external(leaf, sink, kind="WRITABLE ", setting=WRITE, tail=distributed)
    given = _reader_grants(leaf, classic=classic)
    grant = grant_statements(table, (replace(g, grantor="") for g in given))
    return [
        f"IF pg_catalog.btrim(pg_catalog.current_setting('{WRITE}')) <> '' THEN",
        "    " + writable,
        (
            "    EXECUTE"
            f" {literal(f'INSERT INTO {sink} ({columns}) SELECT {columns} FROM ONLY {leaf.sql}')};"
        ),
        f"    EXECUTE {literal(f'DROP EXTERNAL TABLE {sink}')};",
        "END IF;",
        _create_external(leaf, table, setting=READ),
        f"EXECUTE {literal(f'ALTER TABLE {table} OWNER TO {quote(leaf.owner)}')};",
        call("strip", literal(table)),
        *(
            f"EXECUTE {literal(f'ALTER FOREIGN TABLE {table} ALTER COLUMN {quote(name)} SET NOT NULL')};"
            for name in change.required
        ),
        *(f"EXECUTE {literal(s.rstrip(';'))};" for s in grant),
    ]


def _move_out(
    writer: Writer, context: Context, change: MoveToExternal, *, exact: bool
) -> list[str]:
    """The settings to be filled in, and the transaction: rows are written to files, read back
    and compared, and the leaf is exchanged.
    """
    leaf = change.leaf
    table = qualified(leaf.schema, change.name)
    guard = writer.guard(
        context, change, done="done", exact=exact, partitions=[change.unit.relation]
    )
    names = writer.quiet(context, change.parent, (change.unit,))
    phases: Phases = [
        (Phase.GUARD, [guard[0], _expect_places(leaf), *guard[1:]]),
        (Phase.LOCK, [lock_from_writers(names), *guard]),
        (Phase.COPY, _written_out(context, change, table, classic=writer.classic)),
        (
            Phase.PROVE,
            [
                writer.tally(context, change, "old", leaf.sql, f"ONLY {leaf.sql}"),
                writer.tally(context, change, "new", leaf.sql, table, change.predicate),
                *writer.compare(context, change),
            ],
        ),
        (
            Phase.EXCLUSIVE,
            writer.readers_out(context, change.parent, (change.unit,), change.default),
        ),
        (
            Phase.SWAP,
            [
                f"EXECUTE {literal(s.rstrip(';'))};"
                for s in writer.exchange_external(context, change, forward=True)
            ],
        ),
        (Phase.NOTE, writer.note(context, change, "done")),
    ]
    return [_places(change), writer.block(context, change, phases)]


def _load_rows(writer: Writer, context: Context, change: MoveToExternal) -> list[str]:
    """Return the rollback: the external table's rows are copied into a leaf like the old one and
    compared, and this leaf replaces the external table.

    The files are kept.
    """
    leaf, stage = change.leaf, change.stage
    assert stage is not None
    guard = writer.guard(
        context, change, done="undone", exact=False, partitions=[change.unit.relation]
    )
    table, columns = qualified(stage.schema, stage.name), ", ".join(context.copied)
    # an external table cannot be locked; nobody writes into it
    names = [
        name
        for name in dict.fromkeys(
            [*writer.quiet(context, change.parent, (change.unit,)), *names_of(change.default)]
        )
        if name != leaf.sql
    ]
    phases: Phases = [
        (Phase.GUARD, guard),
        (
            Phase.LOCK,
            [lock_from_writers(names), *guard],
        ),
        (Phase.STAGE, writer.make_stage(context, change, stage)),
        (Phase.COPY, [f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {leaf.sql};"]),
        (
            Phase.PROVE,
            [
                writer.tally(context, change, "old", leaf.sql, leaf.sql),
                writer.tally(context, change, "new", leaf.sql, f"ONLY {table}", change.predicate),
                *writer.compare(context, change),
            ],
        ),
        (Phase.INDEX, [writer.statistics(stage), writer.trusted(context, change)]),
        (Phase.PREPARE, [*writer.seen_by_others(stage), *grant_statements(table, stage.grants)]),
        (
            Phase.EXCLUSIVE,
            [
                lock_from_readers(names),
                EXCLUSIVE_SINCE,
            ],
        ),
        (
            Phase.SWAP,
            [
                f"EXECUTE {literal(s.rstrip(';'))};"
                for s in writer.exchange_external(context, change, forward=False)
            ],
        ),
        (Phase.NOTE, writer.note(context, change, "undone")),
    ]
    return [block(phases)]
