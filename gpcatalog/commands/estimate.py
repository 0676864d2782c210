"""The command `estimate`: the cost of tables of a shape, or of a table of a live database, in each
storage type.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.options import (
    NONE_WRITTEN,
    ColorChoice,
    Colour,
    Format,
    OutputFormat,
    Written,
)
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.names import printable

# parameters that describe a table and its cluster, instead of a live table
_DESCRIPTION = (
    *("server", "storage", "columns", "leaves", "partitions", "default", "tables", "toast"),
    *("dropped", "not_null", "defaults", "checks", "index", "unique", "segments", "mirrors"),
)

if TYPE_CHECKING:
    from gpcatalog.capacity.estimate import Estimate, Rates
    from gpcatalog.capacity.model import Shape


def levels(text: str) -> tuple[int, ...]:
    """Parse the number of partitions of each level from the command line: "365" or "12x31".

    >>> levels("12x31"), levels("")
    ((12, 31), ())
    """
    if not text:
        return ()
    words = text.lower().split("x")
    if not all(word.isdecimal() for word in words):
        raise CatalogError(
            f"--partitions {text!r} is not valid; the form is 365 or 12x31", exit_code=Exit.USAGE
        )
    found = tuple(int(word) for word in words)
    if 0 in found:
        raise CatalogError(
            f"--partitions {text!r}: every level must have at least 1 partition",
            exit_code=Exit.USAGE,
        )
    return found


def shaped(
    server: str,
    storage: str,
    columns: int,
    *,
    dropped: int,
    not_null: int,
    defaults: int,
    checks: int,
    toastable: bool,
    indexes: list[int],
    unique: list[int],
    partitions: tuple[int, ...],
    default: bool,
    tables: int,
) -> dict[Shape, int]:
    """Return the shapes with their number that the options describe.

    Raises CatalogError (usage) for a shape that the server does not support.
    """
    from gpcatalog.capacity.model import Index, Shape, known, tree
    from gpcatalog.model.storage import Storage

    try:
        kind = Storage(storage.lower().replace("-", "_"))
    except ValueError:
        raise CatalogError(
            f"unknown storage {storage!r}",
            hint="one of: heap, ao_row, ao_column",
            exit_code=Exit.USAGE,
        ) from None
    if columns < 1:
        raise CatalogError(f"--columns must be 1 or more, not {columns}", exit_code=Exit.USAGE)
    for option, widths in (("--index", indexes), ("--unique", unique)):
        for width in widths:
            if not 1 <= width <= columns:
                raise CatalogError(
                    f"{option} {width}: an index of this table can have 1 to {columns} columns",
                    exit_code=Exit.USAGE,
                )
    for option, number in (("--not-null", not_null), ("--defaults", defaults)):
        if number > columns:
            raise CatalogError(
                f"{option} {number}: the table has {columns} columns", exit_code=Exit.USAGE
            )
    all_indexes = (*(Index(n) for n in indexes), *(Index(n, constraint=True) for n in unique))
    shape = Shape(
        kind,
        columns,
        toastable=toastable,
        dropped=dropped,
        not_null=not_null,
        defaults=defaults,
        checks=checks,
        indexes=all_indexes,
    )
    known(server, shape)
    if not partitions:
        return {shape: tables}
    with_default = (False,) * (len(partitions) - 1) + (default,)
    return {
        relation: n * tables
        for relation, n in tree(shape, partitions, defaults=with_default).items()
    }


def estimate(
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="CONNINFO",
            help="With --table: connection parameters as for psql.",
            show_default=False,
        ),
    ] = "",
    table: Annotated[
        str,
        typer.Option(
            "--table",
            metavar="SCHEMA.NAME",
            help="Read the shape of this table from a database.",
            show_default=False,
        ),
    ] = "",
    server: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="NAME",
            help="greenplum6, greenplum7, cloudberry2, or postgres12 to postgres19.",
            show_default=False,
        ),
    ] = "",
    storage: Annotated[
        str,
        typer.Option(
            "--storage",
            metavar="NAME",
            help=("heap, ao_row or ao_column; only heap on PostgreSQL."),
        ),
    ] = "heap",
    columns: Annotated[
        int, typer.Option("--columns", metavar="N", help="Number of columns of a table.")
    ] = 20,
    leaves: Annotated[
        int,
        typer.Option(
            "--leaves", metavar="N", help="Number of leaf partitions of a table; 0 for none.", min=0
        ),
    ] = 0,
    partitions: Annotated[
        str,
        typer.Option(
            "--partitions",
            metavar="NxM",
            help="Number of partitions in each level, instead of --leaves.",
            show_default=False,
        ),
    ] = "",
    default: Annotated[
        bool, typer.Option("--default", help="Add a default partition in the lowest level.")
    ] = False,
    tables: Annotated[
        int, typer.Option("--tables", metavar="N", help="Number of tables with this shape.", min=1)
    ] = 1,
    toast: Annotated[
        bool,
        typer.Option(
            "--toast/--no-toast",
            help="Whether the table needs a TOAST table (for text, numeric and so on).",
        ),
    ] = True,
    dropped: Annotated[
        int,
        typer.Option("--dropped", metavar="N", help="Number of dropped columns.", min=0),
    ] = 0,
    not_null: Annotated[
        int,
        typer.Option(
            "--not-null",
            metavar="N",
            help="Number of NOT NULL columns: constraints since PostgreSQL 18.",
            min=0,
        ),
    ] = 0,
    defaults: Annotated[
        int,
        typer.Option(
            "--defaults", metavar="N", help="Number of columns with a default value.", min=0
        ),
    ] = 0,
    checks: Annotated[
        int, typer.Option("--checks", metavar="N", help="Number of CHECK constraints.", min=0)
    ] = 0,
    index: Annotated[
        list[int] | None,
        typer.Option(
            "--index",
            metavar="COLUMNS",
            help="An index with this many columns. Can be given several times.",
            show_default=False,
        ),
    ] = None,
    unique: Annotated[
        list[int] | None,
        typer.Option(
            "--unique",
            metavar="COLUMNS",
            help="A primary key or unique constraint. Can be given several times.",
            show_default=False,
        ),
    ] = None,
    segments: Annotated[
        int,
        typer.Option(
            "--segments", metavar="N", help=("Number of primary segments of the cluster."), min=0
        ),
    ] = 0,
    mirrors: Annotated[bool, typer.Option("--mirrors", help="Every segment has a mirror.")] = False,
    hosts: Annotated[
        int | None,
        typer.Option(
            "--hosts",
            metavar="N",
            help="Number of segment hosts, to compute files per host.",
            min=1,
            show_default=False,
        ),
    ] = None,
    unlink_rate: Annotated[
        Path | None,
        typer.Option(
            "--unlink-rate",
            metavar="PATH",
            help=(
                "Measure how fast files are created and removed in this directory (up to 20,000"
                " small temporary files)."
            ),
            show_default=False,
        ),
    ] = None,
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
    written: Written = NONE_WRITTEN,
) -> None:
    """Estimate catalog rows, files and locks of tables.

    Computes from the given options, or from one table of a live database. It never writes to a
    server. --unlink-rate creates and removes its own files in the given folder.

    \b
    Example: gpcatalog estimate --server greenplum6 --storage ao_column \\
             --columns 100 --leaves 1000 --segments 32
    """
    from gpcatalog.capacity.estimate import estimate as estimated
    from gpcatalog.capacity.generation import generation

    if table or conninfo:
        written.refuse(
            _DESCRIPTION,
            "cannot be combined with a connection or --table, which give the shape and the cluster",
            hint="remove the option, or remove the connection and --table and give --server",
        )
        result = _live(conninfo, table, hosts, unlink_rate)
    else:
        if not server:
            raise CatalogError(
                "--server is required",
                hint=(
                    "give a server, for example --server greenplum6, or a connection and --table"
                ),
                exit_code=Exit.USAGE,
            )
        _refuse_without_effect(written, server, segments)
        if leaves and partitions:
            raise CatalogError("give --leaves or --partitions, not both", exit_code=Exit.USAGE)
        parts = levels(partitions) or ((leaves,) if leaves else ())
        if default and not parts:
            raise CatalogError("--default needs --leaves or --partitions", exit_code=Exit.USAGE)
        relations = shaped(
            generation(server).name,
            storage,
            columns,
            dropped=dropped,
            not_null=not_null,
            defaults=defaults,
            checks=checks,
            toastable=toast,
            indexes=list(index or []),
            unique=list(unique or []),
            partitions=parts,
            default=default,
            tables=tables,
        )
        result = estimated(
            server,
            relations,
            segments=segments,
            mirrors=mirrors,
            hosts=hosts,
            tables=tables,
            level=max(parts, default=0) + default,
            rates=_rates(unlink_rate),
        )
    if format is Format.JSON:
        streams.as_json(result)
        return
    from gpcatalog.emit import estimate as emitter

    emitter.show(result, streams.console(color))


def _refuse_without_effect(written: Written, server: str, segments: int) -> None:
    """Raise CatalogError (usage) for an option of clusters that would have no effect."""
    from gpcatalog.capacity.generation import generation

    if not is_greenplum(generation(server).name):
        written.refuse(
            ("segments", "mirrors", "hosts"),
            f"is for a Greenplum cluster and has no effect with --server {printable(server)}",
            hint="remove the option, or give a Greenplum server",
        )
    if not segments:
        written.refuse(
            ("mirrors", "hosts"), "has no effect without --segments", hint="give --segments"
        )


def _rates(path: Path | None) -> Rates | None:
    if path is None:
        return None
    from gpcatalog.capacity.unlink import measure

    return measure(path)


def _live(conninfo: str, table: str, hosts: int | None, unlink_rate: Path | None) -> Estimate:
    """Estimate one table of a live database and all relations below it."""
    from gpcatalog.capacity.estimate import estimate as estimated
    from gpcatalog.capacity.live import not_counted, shapes
    from gpcatalog.model.names import split_name
    from gpcatalog.probes import tables
    from gpcatalog.probes.connection import ProbeFailed, connect
    from gpcatalog.probes.library import probe
    from gpcatalog.probes.target import as_conninfo

    if not table:
        raise CatalogError(
            "--table is required with a connection",
            hint=(
                "give --table schema.name, or remove the connection and describe the table"
                " with options"
            ),
            exit_code=Exit.USAGE,
        )
    split_name(table)  # reports an invalid name before it connects
    with connect(as_conninfo(conninfo)) as session:
        found = tables.named(session, table)
        oid = found.oid
        try:
            relations = session.query(
                f"SELECT * FROM ({probe('relations', session.server).statement()}) r WHERE %s IN"
                " (oid, root)",
                [oid],
            )
            columns = session.query(probe("table_columns", session.server).statement(), [oid])
            indexes = session.query(probe("table_indexes", session.server).statement(), [oid])
            checks = session.query(probe("table_checks", session.server).statement(), [oid])
            others = session.query(probe("table_others", session.server).statement(), [oid])
            instances = session.rows("instances") if session.server.greenplum else []
        except ProbeFailed as e:
            raise CatalogError(
                f"cannot read {table}: {e.reason}", exit_code=Exit.UNREACHABLE
            ) from None
        generation = session.server.generation
    if not (relations and others):
        raise CatalogError(
            f"{found.text} is not counted: it belongs to the server itself, or was dropped meanwhile",
            hint="give a table of a user, as schema.table",
            exit_code=Exit.USAGE,
        )
    primaries = [x for x in instances if x["role"] == "p" and x["content"] >= 0]
    return estimated(
        generation,
        shapes(generation, oid, relations, columns, indexes, checks[0]["checks"]),
        segments=len(primaries),
        mirrors=any(x["role"] == "m" and x["content"] >= 0 for x in instances),
        hosts=hosts or (len({x["hostname"] for x in primaries}) or None),
        table=found.text,
        rates=_rates(unlink_rate),
        foreign_keys=others[0]["foreign_keys"],
        notes=not_counted(
            others[0], partition=any(x["oid"] == oid and x["parent"] for x in relations)
        ),
    )
