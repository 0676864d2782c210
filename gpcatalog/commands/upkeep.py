"""The commands of `gpcatalog upkeep`: nightly maintenance of partitioned tables."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import snapshot_source, streams
from gpcatalog.commands.common import complete
from gpcatalog.commands.options import ColorChoice, Colour, Conninfo, Format, SnapshotFile
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.file_choice import ALL_FILES
from gpcatalog.services import upkeep as service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from gpcatalog.migration.nightly import NightWork
    from gpcatalog.services.upkeep import PreparedUpkeep

app = typer.Typer(
    name="upkeep",
    help=(
        "Maintain partitioned tables every night. The script creates coming partitions, merges old"
        " ones and applies the retention. The commands are read-only; psql runs the script."
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)

PolicyFile = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="Per-table rules in TOML; tables with automatic_maintenance are maintained.",
        show_default=False,
    ),
]
Today = Annotated[
    str,
    typer.Option(
        "--today",
        metavar="DATE",
        help="The day to plan for, such as 2026-01-31. Default: when the snapshot was taken.",
        show_default=False,
    ),
]
AsFormat = Annotated[Format, typer.Option("--format", help="Output format.")]
MAX_DAYS = 3660


@contextlib.contextmanager
def _prepared(
    path: Path, policy: str, now: datetime | None, *, every: bool = False
) -> Iterator[PreparedUpkeep]:
    """Yield the tables of a snapshot that a policy names, or all of them. Raises CatalogError."""
    from gpcatalog.store.snapshot import Snapshot
    from gpcatalog.upkeep.reader import named

    rules = service.policy_of(Path(policy) if policy else None)
    if not every and not named(rules):
        raise CatalogError(
            f"{policy} names no table for upkeep" if policy else "give a policy with --policy",
            hint=(
                "set automatic_maintenance = true in [default] or in [[table]] rules; `gpcatalog"
                " upkeep adopt` prints rules for the tables of a database"
            ),
        )
    with Snapshot(path) as opened:
        yield service.prepare(opened, rules, now, every=every)


def adopt(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    policy: PolicyFile = "",
    today: Today = "",
    format: AsFormat = Format.TEXT,
) -> None:
    """Print the policy that the tables seem to follow.

    For each table: grain, names, time zone, how far ahead partitions exist, gaps. Nothing is
    removed by these rules: retention is "none" until you change it. Save the output, review it, and
    give it to the other commands as --policy.

    Example: gpcatalog upkeep adopt "host=mdw dbname=sales" -o upkeep.toml
    """
    from gpcatalog.upkeep.result import adoption

    now = service.today_of(today)
    with (
        snapshot_source.snapshot_of(conninfo, snapshot, store=False, files=ALL_FILES) as path,
        _prepared(path, policy, now, every=True) as prepared,
    ):
        found = adoption(prepared.reader, prepared.tables, prepared.unplanned, prepared.now)
    if format is Format.JSON:
        streams.as_json(found)
    else:
        from gpcatalog.emit import upkeep_text

        streams.out(upkeep_text.policy_text(found))


def calendar(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    policy: PolicyFile = "",
    today: Today = "",
    days: Annotated[
        int, typer.Option("--days", metavar="N", help="Number of nights.", min=1, max=MAX_DAYS)
    ] = 90,
    format: AsFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Show what the coming nights do.

    Nights without work are left out. The forecast assumes that rows arrive as fast as in the newest
    partitions.

    Example: gpcatalog upkeep calendar "host=mdw dbname=sales" --policy upkeep.toml
    """
    from gpcatalog.upkeep.result import calendar as calendar_of

    now = service.today_of(today)
    announced = not snapshot and service.announces(conninfo)
    with (
        snapshot_source.snapshot_of(conninfo, snapshot, store=False, files=ALL_FILES) as path,
        _prepared(path, policy, now) as prepared,
    ):
        found = calendar_of(
            prepared.reader,
            prepared.tables,
            prepared.unplanned,
            service.nights(prepared, days, announced=announced),
            days,
            prepared.now,
        )
    if format is Format.JSON:
        streams.as_json(found)
    else:
        from gpcatalog.emit import upkeep_text

        upkeep_text.show_calendar(found, streams.console(color))


def script(
    conninfo: Conninfo = "",
    snapshot: Annotated[
        str,
        typer.Option(
            "--snapshot",
            metavar="FILE",
            help=(
                "Plan with the partitions and sizes of this snapshot. The database is read for the"
                " statements all the same."
            ),
            show_default=False,
        ),
    ] = "",
    policy: PolicyFile = "",
    today: Today = "",
    allow_drop: Annotated[
        bool,
        typer.Option(
            "--allow-drop",
            help=(
                "Let the script drop partitions with their rows, where the policy says retention"
                ' = "drop" and the drop was announced seven days before.'
            ),
        ),
    ] = False,
    owner_runs: Annotated[
        bool,
        typer.Option(
            "--owner-runs",
            help=(
                "The owner of the tables runs the script. On Greenplum, merges then take several"
                " nights if necessary, and writers go on while rows are copied."
            ),
        ),
    ] = False,
    run_owner_code: Annotated[
        bool,
        typer.Option(
            "--run-owner-code",
            help=(
                "Allow a superuser to run the script even if it calls functions of the table"
                " owners. Without it those tables are skipped."
            ),
        ),
    ] = False,
) -> None:
    """Write the script of one night.

    Reads the catalog in a read-only session. psql runs the script: it creates coming partitions,
    applies the retention and merges old partitions, within the limits of the policy. A table that
    fails does not stop the others; psql then ends with an error.

    \b
    Example: gpcatalog upkeep script service=sales --policy upkeep.toml -o night.sql \\
             && psql service=sales -X -v ON_ERROR_STOP=1 -f night.sql
    """
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo

    now = service.today_of(today)
    with (
        connect(as_conninfo(conninfo), timeouts=None) as session,
        snapshot_source.snapshot_of(
            "" if snapshot else conninfo, snapshot, store=False, files=ALL_FILES
        ) as path,
        _prepared(path, policy, now) as prepared,
    ):
        if not snapshot:
            service.check_clock(session, prepared.day)
        database = prepared.reader.snapshot.header["database"]
        if database != session.target["dbname"]:
            raise CatalogError(
                f"the snapshot is of database {database}, but the connection is to"
                f" {session.target['dbname']}",
                hint="give the connection to that database",
                exit_code=Exit.REFUSED,
            )
        work = service.night_work(
            session,
            prepared,
            allow_drop=allow_drop,
            run_owner_code=run_owner_code,
            owner_runs=owner_runs,
            notify=streams.progress,
        )
        text = service.script_of(session, work)
    streams.progress_done()
    streams.out(text)
    _report(work)


def _report(work: NightWork) -> None:
    """Report the operations that were refused, and what is not done or done differently."""
    from gpcatalog.migration.operations import joined

    lines = [f"refused: {step}" for step in joined(work.refused)]
    for line in dict.fromkeys([*lines, *(f"note: {note}" for note in work.notes)]):
        streams.log(line.encode("ascii", "backslashreplace").decode())


def status(
    conninfo: Conninfo = "",
    policy: PolicyFile = "",
    today: Today = "",
    format: AsFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Show the last run, the cover and what is due.

    The exit code is 1 if the last run failed, if no run ended in the last two days, or if a table
    has less cover than its policy asks for.

    Example: gpcatalog upkeep status "host=mdw dbname=sales" --policy upkeep.toml
    """
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo
    from gpcatalog.upkeep.result import status as status_of

    now = service.today_of(today)
    with connect(as_conninfo(conninfo)) as session:
        runs, unfinished = service.runs_of(session)
    with (
        snapshot_source.snapshot_of(conninfo, "", store=False, files=ALL_FILES) as path,
        _prepared(path, policy, now) as prepared,
    ):
        found = status_of(
            prepared.reader,
            prepared.tables,
            prepared.unplanned,
            runs,
            unfinished,
            prepared.now,
            prepared.limits,
        )
    if format is Format.JSON:
        streams.as_json(found)
    else:
        from gpcatalog.emit import upkeep_text

        upkeep_text.show_status(found, streams.console(color))
    if found.problems:
        raise typer.Exit(int(Exit.FINDINGS))


for command in (adopt, calendar, script, status):
    app.command(command.__name__)(complete(command))
