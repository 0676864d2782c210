"""The commands `snapshot take`, `list`, `export` and `prune`: tending stored snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcatalog.commands import options, snapshot_source, streams
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

app = typer.Typer(
    help="Stored snapshots: take, list, export, prune.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("take")
def take_(
    conninfo: Conninfo = "",
    save: Annotated[
        str,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Keep it in this file, not in the series.",
            show_default=False,
        ),
    ] = "",
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
) -> None:
    """Take one snapshot and store it; prints the file's path.

    Reads what an audit reads, with the same promises: it never writes to the server.

    Example: gpcatalog snapshot take "host=mdw dbname=sales"
    """
    with snapshot_source.snapshot_of(
        conninfo, save=save, timeouts=options.timeouts(statement_timeout, lock_timeout)
    ) as path:
        streams.out(f"{path}\n")


@app.command("list")
def list_(format: OutputFormat = Format.TEXT, color: Colour = ColorChoice.AUTO) -> None:
    """List the stored snapshots, by server and database, oldest first.

    Reads file names and sizes only; no server is contacted.

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
    from gpcatalog.emit.terminal import table
    from gpcatalog.model.quantity import size

    out = streams.console(color)
    lines = [
        (s.server, s.database, f"{s.taken_at:%Y-%m-%d %H:%M:%S}", size(s.bytes), s.path.name)
        for s in stored
    ]
    if lines:
        out.print(table("", ("server", "database", "taken (UTC)", "bytes", "file"), lines, left=2))
    out.print(f"{len(stored)} snapshots under {series.home()}")


@app.command("export")
def export_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A snapshot file, or the name of a stored one.")
    ],
    to: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder to be made; one CSV file a table.")
    ],
) -> None:
    """Write a snapshot's tables as CSV files, for other tools.

    Reads the snapshot only; the folder must not exist yet.

    Example: gpcatalog snapshot export 20261121T101500Z sales-catalog
    """
    from gpcatalog.store import series
    from gpcatalog.store.export import export
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(series.find(file)) as snapshot:
        rows = export(snapshot, to)
        streams.kept.append(str(to))
    streams.say(f"{len(rows)} tables, {sum(rows.values()):,} rows in {to}")


@app.command("prune")
def prune_(
    all_days: Annotated[
        int,
        typer.Option(
            "--keep-all",
            metavar="DAYS",
            help="Keep every snapshot of the last DAYS; older ones one a week.",
        ),
    ] = 30,
    totals_days: Annotated[
        int,
        typer.Option(
            "--keep-leaves",
            metavar="DAYS",
            help="Snapshots older than DAYS keep totals a table only.",
        ),
    ] = 180,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would happen.")
    ] = False,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Thin the stored snapshots: all of the last days, then one a week, then totals only.

    Touches snapshot files of this user only. The newest of every series stays whole. Safe to
    interrupt and to repeat.

    Example: gpcatalog snapshot prune --keep-all 30 --keep-leaves 180 --dry-run
    """
    from datetime import UTC, datetime
    from itertools import groupby

    from gpcatalog.emit.terminal import table
    from gpcatalog.model.quantity import size
    from gpcatalog.store import series
    from gpcatalog.store.prune import Fate, Policy, decide, prune

    policy = Policy(all_days, totals_days)
    by_series = groupby(series.snapshots(), key=lambda s: (s.server, s.database))
    decisions = [d for _, stored in by_series for d in decide(stored, datetime.now(UTC), policy)]
    due = [d for d in decisions if d.fate is not Fate.KEEP]
    out = streams.console(color)
    if due:
        rows = [
            (d.stored.server, d.stored.database, d.stored.path.name, d.fate.value, size(d.bytes))
            for d in due
        ]
        out.print(table("", ("server", "database", "file", "fate", "bytes"), rows, left=4))
    if dry_run:
        out.print(f"{len(due)} of {len(decisions)} snapshots would change; nothing was touched")
        return
    freed, failed = prune(due)
    out.print(
        f"{len(due) - len(failed)} of {len(decisions)} snapshots thinned or removed, {size(freed)}"
        " given back"
    )
    if failed:
        path, why = failed[0]
        raise CatalogError(
            f"{len(failed)} snapshots could not be thinned, {path}: {why}",
            hint="they are as they were; look at the first",
        )
