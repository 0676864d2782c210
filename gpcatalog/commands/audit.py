"""The command `audit`: from a server, a snapshot or the demo to a judged report of one database or
of the whole cluster.
"""

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
        typer.Option(
            "--all-databases", help="Audit every database of the cluster, with one verdict."
        ),
    ] = False,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="FILE", help="Keep the snapshot in this file.", show_default=False
        ),
    ] = "",
    store: Store = True,
    maintenance: Annotated[
        str,
        typer.Option(
            "--maintenance",
            metavar="FILE",
            help="Write the SQL that gives the reclaimable bytes back.",
            show_default=False,
        ),
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="RULE",
            help="Run this rule only; may be repeated.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option("--fail-on", help="Exit with 1 for findings of this severity or worse."),
    ] = FailOn.NEVER,
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
) -> None:
    """Where the catalog stands, why, and what to do.

    Reads the system catalogs of one database on the coordinator and all segments in one pass,
    stores the snapshot, and reports. It never writes to the server, takes nothing above
    AccessShareLock and waits for no busy table.

    Example: gpcatalog audit "host=mdw dbname=sales"
    """
    from gpcatalog.audit import rules

    chosen = list(only or [])
    for id in chosen:
        rules.page(id)  # reports a mistyped name before any work
    limits = options.timeouts(statement_timeout, lock_timeout)
    if all_databases:
        if snapshot or demo or save or maintenance:
            raise CatalogError(
                "--all-databases goes with a connection only, without --save and --maintenance"
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

            audit_text.show(report, streams.console(color))
    if maintenance:
        streams.say(f"maintenance script: {maintenance}")
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
                f"the databases cannot be listed: {e.reason}", exit_code=Exit.UNREACHABLE
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
