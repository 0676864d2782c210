"""The command `audit`: report on one database or on the whole cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import options, snapshot_source, streams
from gpcatalog.commands.options import (
    ColorChoice,
    Colour,
    Conninfo,
    FailOn,
    Format,
    LockTimeout,
    OutputFormat,
    StatementTimeout,
    Store,
)
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.services.audits import judged

if TYPE_CHECKING:
    from gpcatalog.probes.connection import Timeouts


def audit(
    conninfo: Conninfo = "",
    snapshot: options.SnapshotFile = "",
    demo: options.Demo = False,
    all_databases: Annotated[
        bool,
        typer.Option("--all-databases", help="Audit all databases of the cluster."),
    ] = False,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="FILE", help="Write the snapshot to this file.", show_default=False
        ),
    ] = "",
    store: Store = True,
    maintenance: Annotated[
        str,
        typer.Option(
            "--maintenance",
            metavar="FILE",
            help="Write a SQL script that frees the reclaimable bytes.",
            show_default=False,
        ),
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="RULE",
            help="Run only this rule. Can be given several times.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on", help="Exit with 1 if there are findings of this severity or worse."
        ),
    ] = FailOn.NEVER,
    format: OutputFormat = Format.TEXT,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
) -> None:
    """Report the state of the catalog, its problems and what to do.

    Reads the system catalogs of one database on the coordinator and all segments, stores a snapshot
    and reports. It never writes to the server, takes AccessShareLock only and does not wait for
    locked tables.

    Example: gpcatalog audit "host=mdw dbname=sales"
    """
    from gpcatalog.audit import rules

    chosen = list(only or [])
    options.detail(verbose=verbose, quiet=quiet)  # reports a contradiction before any work
    if (verbose or quiet) and (all_databases or format is Format.JSON):
        raise CatalogError(
            "--verbose and --quiet are for the text of one database; they cannot be combined with"
            " --all-databases or --format json"
        )
    for id in chosen:
        rules.page(id)  # reports a mistyped name before any work
    limits = options.timeouts(statement_timeout, lock_timeout)
    if all_databases:
        if snapshot or demo or save or maintenance:
            raise CatalogError(
                "--all-databases needs a connection and cannot be combined with --snapshot,"
                " --demo, --save or --maintenance"
            )
        _audit_all(conninfo, chosen, store, limits, format, color, fail_on)
        return
    with snapshot_source.snapshot_of(
        conninfo, snapshot, demo, save=save, store=store, timeouts=limits
    ) as path:
        report = judged(path, chosen, notify=streams.say)
        if maintenance:
            from gpcatalog.migration.maintenance import script

            streams.save(Path(maintenance), script(report))
        if format is Format.JSON:
            streams.as_json(report)
        else:
            from gpcatalog.emit import audit_text

            detail = audit_text.Detail(options.detail(verbose=verbose, quiet=quiet))
            kept = str(path) if save or (store and not demo and not snapshot) else ""
            audit_text.show(report, streams.console(color), detail, kept=kept)
    if maintenance:
        streams.say(f"wrote the maintenance script {maintenance}")
    if fail_on.reached(report.findings):
        raise typer.Exit(Exit.FINDINGS)


def _audit_all(
    conninfo: str,
    only: list[str],
    store: bool,
    timeouts: Timeouts,
    format: Format,
    color: ColorChoice,
    fail_on: FailOn,
) -> None:
    from psycopg.conninfo import make_conninfo

    from gpcatalog.audit.cluster import combine
    from gpcatalog.probes.connection import ProbeFailed, connect
    from gpcatalog.probes.target import as_conninfo

    base = as_conninfo(conninfo)
    with connect(base, timeouts=timeouts) as session:
        try:
            names = [row["database"] for row in session.rows("databases")]
        except ProbeFailed as e:
            raise CatalogError(
                f"cannot list the databases: {e.reason}", exit_code=Exit.UNREACHABLE
            ) from None
    reports, lost = [], []
    for name in names:
        try:
            with snapshot_source.snapshot_of(
                make_conninfo(base, dbname=name), store=store, timeouts=timeouts
            ) as path:
                reports.append(judged(path, only, notify=streams.say))
        except CatalogError as e:
            if e.exit_code != Exit.UNREACHABLE:
                raise
            lost.append((name, e.message))
    if not reports:
        raise CatalogError(
            "no database of this cluster could be audited",
            hint="; ".join(f"{n}: {m}" for n, m in lost),
            exit_code=Exit.UNREACHABLE,
        )
    cluster = combine(reports, lost)
    if format is Format.JSON:
        streams.as_json(cluster)
    else:
        from gpcatalog.emit import cluster_text

        cluster_text.show(cluster, streams.console(color))
    if fail_on.reached(cluster.findings):
        raise typer.Exit(Exit.FINDINGS)
