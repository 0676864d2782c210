"""The commands `snapshot take`, `list`, `export` and `prune` for stored snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcatalog.commands import options, snapshot_source, streams
from gpcatalog.commands.common import complete
from gpcatalog.commands.fleet import FleetChoice, reading
from gpcatalog.commands.options import (
    ColorChoice,
    Colour,
    Conninfo,
    Format,
    LockTimeout,
    OutputFormat,
    StatementTimeout,
)
from gpcatalog.errors import CatalogError
from gpcatalog.model.file_choice import FileSelection
from gpcatalog.model.output_file import refuse_standard_output

app = typer.Typer(
    help="Take, list, export and prune snapshots.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("take")
@complete
def take_(
    conninfo: Conninfo = "",
    save: Annotated[
        str,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Write the snapshot to this file instead.",
            show_default=False,
        ),
    ] = "",
    files: options.FilesRead = FileSelection.AUTO,
    parallel: options.Parallel = None,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
    *,
    fleet: FleetChoice,
) -> None:
    """Take a snapshot of a database and store it.

    Prints the path of the snapshot; -o writes that path to a file, and --save chooses the snapshot
    file. Reads what an audit reads and never writes to the server. With --all, it takes a snapshot
    of each database of the fleet file.

    Example: gpcatalog snapshot take "host=mdw dbname=sales"
    """
    refuse_standard_output("--save", save)
    choice = options.file_choice(files, parallel)
    if fleet.given:
        fleet.refuse(conninfo=conninfo, save=save)
        if fleet.stored:
            raise CatalogError("--stored contacts no server; `gpcatalog snapshot list` lists files")
        with reading(
            fleet,
            "snapshot take",
            store=True,
            timeouts=options.timeouts(statement_timeout, lock_timeout),
            files=choice,
        ) as read:
            for run in read.runs:
                for path in run.snapshots.values():
                    streams.out(f"{path}\n")
            read.report()
        read.end()
        return
    with snapshot_source.snapshot_of(
        conninfo,
        save=save,
        timeouts=options.timeouts(statement_timeout, lock_timeout),
        files=choice,
    ) as path:
        streams.out(f"{path}\n")


@app.command("list")
@complete
def list_(format: OutputFormat = Format.TEXT, color: Colour = ColorChoice.AUTO) -> None:
    """List the stored snapshots.

    Sorted by server, database and time. No server is contacted.

    Example: gpcatalog snapshot list
    """
    from gpcatalog.store import series

    stored = list(series.snapshots())
    if format is Format.JSON:
        rows = [
            {
                "path": str(s.path),
                "taken_at": s.taken_at,
                "server": s.server,
                "database": s.database,
                "bytes": s.bytes,
            }
            for s in stored
        ]
        streams.as_json({"schema": "gpcatalog.snapshots/1", "snapshots": rows})
        return
    from itertools import groupby

    from gpcatalog.emit.terminal import table, text
    from gpcatalog.model.quantity import plural, size

    out = streams.console(color)
    databases = 0
    for (server, database), group in groupby(stored, key=lambda s: (s.server, s.database)):
        databases += 1
        files = [(s.path.name, f"{s.taken_at:%Y-%m-%d %H:%M:%S}", size(s.bytes)) for s in group]
        out.print(text(f"{server}/{database}", "bold"), soft_wrap=True)
        out.print(table("", ("file", "taken (UTC)", "size"), files, left=2))
        out.print()
    of = f" of {plural(databases, 'database')}" if databases else ""
    out.print(text(f"{plural(len(stored), 'snapshot')}{of} in {series.home()}"), soft_wrap=True)


@app.command("export")
def export_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A snapshot file, or the name of a stored one.")
    ],
    to: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Create this folder for the CSV files.")
    ],
) -> None:
    """Export a snapshot as CSV files.

    Writes one file per table, with all values unchanged. The folder must not exist. A spreadsheet
    program can take names that begin with = + - or @ for formulas: import columns as text.

    Example: gpcatalog snapshot export 20261121T101500Z sales-catalog
    """
    from gpcatalog.store import series
    from gpcatalog.store.export import export
    from gpcatalog.store.snapshot import Snapshot

    refuse_standard_output("FOLDER", to)
    with Snapshot(series.find(file)) as snapshot:
        rows = export(snapshot, to)
        streams.kept.append(str(to))
    streams.log(f"{len(rows)} tables, {sum(rows.values()):,} rows in {to}")


@app.command("prune")
def prune_(
    all_days: Annotated[
        int,
        typer.Option(
            "--keep-all",
            metavar="DAYS",
            help="Keep all snapshots of the last DAYS; of older ones, one a week.",
        ),
    ] = 30,
    totals_days: Annotated[
        int,
        typer.Option(
            "--keep-leaves",
            metavar="DAYS",
            help="Reduce snapshots older than DAYS to totals per table.",
        ),
    ] = 180,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted or reduced.")
    ] = False,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Delete or reduce old snapshots.

    Keeps all recent snapshots, then one a week, then totals per table only. The newest snapshot of
    every database is never changed. It is safe to interrupt and to repeat.

    Example: gpcatalog snapshot prune --keep-all 30 --keep-leaves 180 --dry-run
    """
    from datetime import UTC, datetime
    from itertools import groupby

    from gpcatalog.emit.terminal import table, text
    from gpcatalog.model.quantity import plural, size
    from gpcatalog.store import series
    from gpcatalog.store.prune import Fate, Policy, decide, prune

    policy = Policy(all_days, totals_days)
    by_series = groupby(series.snapshots(), key=lambda s: (s.server, s.database))
    decisions = [d for _, stored in by_series for d in decide(stored, datetime.now(UTC), policy)]
    due = [d for d in decisions if d.fate is not Fate.KEEP]
    out = streams.console(color)
    for (server, database), group in groupby(
        due, key=lambda d: (d.stored.server, d.stored.database)
    ):
        rows = [(d.stored.path.name, d.fate.value, size(d.bytes)) for d in group]
        out.print(text(f"{server}/{database}", "bold"), soft_wrap=True)
        out.print(table("", ("file", "action", "size"), rows, left=2))
        out.print()
    total = plural(len(decisions), "snapshot")
    if dry_run:
        out.print(f"{len(due)} of {total} would be deleted or reduced; nothing was changed")
        return
    freed, failed = prune(due)
    out.print(f"{len(due) - len(failed)} of {total} deleted or reduced, {size(freed)} freed")
    if failed:
        path, why = failed[0]
        raise CatalogError(
            f"{plural(len(failed), 'snapshot')} could not be deleted or reduced; the first is"
            f" {path}: {why}",
            hint=(
                "these files are unchanged; check the permissions of the folder, and delete files that"
                " are damaged"
            ),
        )
