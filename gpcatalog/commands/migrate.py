"""The command `gpcatalog migrate`: write a folder of SQL from a plan file."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.migration.request import Mode, Request, Runner
from gpcatalog.model.output_file import refuse_standard_output
from gpcatalog.model.quantity import plural
from gpcatalog.probes.timeouts import MOST_MS
from gpcatalog.services.migrations import chosen_tables, write_migration
from gpcatalog.services.plans import read_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpcatalog.migration.operations import RefusedStep, TableMigration
    from gpcatalog.planner.plan import Source


def write(folder: Path, files: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Write the files, all of them or none. files: the name and the pieces of each; if there are
    none, no folder is created.

    Raises CatalogError if the folder is not empty or cannot be written.
    """
    draft: Path | None = None
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CatalogError(
                f"{folder} is not empty",
                hint=("give a new folder, so that files of two plans are not mixed"),
            )
        there = folder.is_dir()
        draft = (
            folder if there else folder.absolute().parent
        ) / f".{folder.absolute().name}.{os.getpid()}.partial"
        for name, pieces in files:
            place = draft / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("w", encoding="utf-8") as out:
                out.writelines(pieces)
        if not draft.exists():
            return
        if there:
            for place in sorted(draft.iterdir()):
                os.replace(place, folder / place.name)
        else:
            os.replace(draft, folder)
        streams.kept.append(str(folder))
    except OSError as e:
        raise CatalogError(
            f"cannot write {folder}: {e.strerror or e}", hint="no file was left in it"
        ) from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


_LOST_SHOWN = 5  # lines per table


def _log(line: str) -> None:
    """Print a message that contains names of a server, for a terminal of any encoding."""
    streams.log(line.encode("ascii", "backslashreplace").decode())


def _place_of_plan(source: Source) -> dict[str, str]:
    """Connection parameters for the server of the plan and, without PGUSER, for its role.

    Raises CatalogError if PGPASSWORD would be sent to a host that only the plan names.
    """
    if os.environ.get("PGPASSWORD") and source.host and os.environ.get("PGHOST") != source.host:
        raise CatalogError(
            f"the plan was made on host {source.host}, and PGPASSWORD would be sent there",
            hint="give CONNINFO or --host, or set PGHOST",
        )
    place = {"host": source.host, "port": str(source.port), "dbname": source.database}
    if not os.environ.get("PGUSER"):
        place["user"] = source.role
    return place


def _report(work: Sequence[TableMigration], refused: Sequence[RefusedStep]) -> None:
    """Report the refused steps, and what tables lose by the other steps."""
    for r in refused:
        _log(f"refused: {r.table} {r.operation} {r.id}: {r.reason}")
    for w in work:
        lost = list(
            dict.fromkeys(line for change in w.forward for line in getattr(change, "lost", ()))
        )
        for line in lost[:_LOST_SHOWN]:
            _log(f"lost: {w.context.root.sql}: {line}")
        if len(lost) > _LOST_SHOWN:
            _log(
                f"lost: {w.context.root.sql}: {len(lost) - _LOST_SHOWN} more, listed under LOST"
                " in the file"
            )


def migrate(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN", help=("Plan file, written by `gpcatalog plan --format json -o PLAN`.")
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Create this folder for the files.")
    ],
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="CONNINFO",
            help="Connection parameters as for psql. Default: server and role of the plan.",
            show_default=False,
        ),
    ] = "",
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help=(
                "locked: writers wait while leaves are copied, and for present readers. online:"
                " writers wait while the copy is checked, and for readers that began meanwhile."
            ),
        ),
    ] = Mode.LOCKED,
    runner: Annotated[
        Runner,
        typer.Option(
            "--runner", help=("Client that runs the files: psql, or plain for any other.")
        ),
    ] = Runner.PSQL,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="Migrate only this table. Can be given several times.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help=(
                "Count the rows of leaves now; the scripts stop if the number changed. Not"
                " possible as superuser on tables of other roles."
            ),
        ),
    ] = False,
    new_leaves: Annotated[
        bool,
        typer.Option(
            "--accept-new-leaves",
            help="Continue if the table gained or lost partitions that no step changes.",
        ),
    ] = False,
    growth: Annotated[
        float,
        typer.Option(
            "--growth",
            metavar="FACTOR",
            help="Stop if leaves have grown by more than this factor since the plan.",
            min=1.0,
        ),
    ] = 1.5,
    lock_attempts: Annotated[
        int,
        typer.Option(
            "--lock-attempts",
            metavar="N",
            help=("Maximum number of attempts to take a lock."),
            min=1,
        ),
    ] = 300,
    lock_wait: Annotated[
        int,
        typer.Option(
            "--lock-wait",
            metavar="MS",
            help="Longest wait for a lock in one attempt.",
            min=1,
            max=MOST_MS,
        ),
    ] = 300,
    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="TIME",
            help=(
                "Maintenance window, for example 4h. A run starts only steps that end within"
                " it (estimate)."
            ),
            show_default=False,
        ),
    ] = "",
    merge_partitions: Annotated[
        float,
        typer.Option(
            "--merge-partitions",
            metavar="SECONDS",
            help=(
                "PostgreSQL 19: use MERGE PARTITIONS for merges that take at most this long"
                " (estimate). Readers wait during the merge. 0: never."
            ),
            min=0.0,
        ),
    ] = 0.0,
    run_owner_code: Annotated[
        bool,
        typer.Option(
            "--run-owner-code",
            help=(
                "Allow a superuser to run the files even if they call functions of the table"
                " owners. Without it they stop."
            ),
        ),
    ] = False,
) -> None:
    """Write the SQL of a plan, one file per table.

    The folder also has an index, verification, rollback and clean-up scripts. Reads the plan and,
    in a read-only session, the tables in it. It changes nothing: you run the files. Steps that are
    not safe are refused with the reason, and the exit code is 4.

    Example: gpcatalog migrate plan.json -o sales-migration -h mdw -d sales
    """
    from gpcatalog.planner import policy
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo

    refuse_standard_output("-o", output)
    read = read_plan(plan)
    chosen_tables(read, set(table or ()))  # an invalid name is reported before a server is needed
    place = {} if conninfo else _place_of_plan(read.source)
    try:
        seconds = policy.seconds(window) if window else None
    except ValueError as e:
        raise CatalogError(f"--window: {e}", exit_code=Exit.USAGE) from None
    request = Request(
        mode=mode,
        runner=runner,
        strict=not new_leaves,
        attempts=lock_attempts,
        wait_ms=lock_wait,
        window=seconds,
        merge_seconds=merge_partitions,
        run_owner_code=run_owner_code,
    )
    with connect(
        as_conninfo(conninfo), timeouts=None, **{k: v for k, v in place.items() if v}
    ) as session:
        files, work, refused = write_migration(
            session,
            read,
            request,
            count=count,
            only=set(table or ()),
            growth=growth,
            notify=streams.log,
        )
        with contextlib.closing(files):  # reading ends when a file cannot be written
            # files of tables come first; without any, the others are not needed
            write(Path(output), itertools.takewhile(lambda _: work, files))
    steps = sum(len(w.forward) for w in work)
    _report(work, refused)
    if steps:
        streams.log(
            f"wrote {plural(steps, 'step')} of"
            f" {plural(sum(bool(w.forward) for w in work), 'table')} to {output}; run"
            f" {output}/0000_prepare.sql first"
        )
    if refused:
        raise CatalogError(
            f"{plural(len(refused), 'step was', 'steps were')} refused"
            + (f"; {plural(steps, 'other step was', 'other steps were')} written" if steps else ""),
            hint="the reasons are printed above" + (" and in the index" if steps else ""),
            exit_code=Exit.REFUSED,
        )
    if not steps:
        streams.log("the plan has no steps, so nothing was written")
