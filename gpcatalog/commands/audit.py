"""The command `audit`: report on one database or on the whole cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gpcatalog.commands import options, snapshot_source, streams
from gpcatalog.commands.fleet import FleetChoice, reading
from gpcatalog.commands.options import (
    AuditFormat,
    ColorChoice,
    Colour,
    Conninfo,
    FailOn,
    LockTimeout,
    StatementTimeout,
    Store,
)
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.file_choice import FileChoice, FileSelection
from gpcatalog.model.names import printable
from gpcatalog.model.output_file import locate, refuse_standard_output
from gpcatalog.model.scope import Scope
from gpcatalog.services.audits import audit_snapshot

if TYPE_CHECKING:
    from gpcatalog.audit.report import Report
    from gpcatalog.emit.metrics import Family
    from gpcatalog.emit.terminal import Console
    from gpcatalog.probes.timeouts import Timeouts

Several = TypeVar("Several")  # type of the report of a cluster or of a fleet


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
    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="TIME",
            help=(
                "With --maintenance: begin no step that would not end within this time, such as 2h."
            ),
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
    format: Annotated[
        AuditFormat,
        typer.Option(
            "--format",
            help="Output format; nagios: a line for Nagios, with the exit code of a plugin.",
        ),
    ] = AuditFormat.TEXT,
    metrics: Annotated[
        Path | None,
        typer.Option(
            "--metrics",
            metavar="FILE",
            help="Write the metrics to this file, too, as `gpcatalog metrics` does.",
            show_default=False,
        ),
    ] = None,
    notify_command: options.NotifyCommand = "",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    color: Colour = ColorChoice.AUTO,
    files: options.FilesRead = FileSelection.AUTO,
    parallel: options.Parallel = None,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
    *,
    fleet: FleetChoice,
) -> None:
    """Report the state of the catalog, its problems and what to do.

    Reads the system catalogs of one database on the coordinator and all segments, stores a snapshot
    and reports. It never writes to the server, takes AccessShareLock only and does not wait for
    locked tables. With --all, it audits the clusters of the fleet file.

    Example: gpcatalog audit "host=mdw dbname=sales"
    """
    level = options.detail(verbose=verbose, quiet=quiet)
    every = all_databases or fleet.given
    _check_outputs(save=save, maintenance=maintenance, metrics=metrics)
    _check(only or [], format, fail_on, metrics, plain=not (verbose or quiet), every=every)
    seconds = _window(window, maintenance)
    request = _Request(
        only=only or [],
        store=store,
        timeouts=options.timeouts(statement_timeout, lock_timeout),
        files=options.file_choice(
            files, parallel, snapshot=snapshot, demo=demo, stored=fleet.stored
        ),
        format=format,
        color=color,
        fail_on=fail_on,
        metrics=metrics,
        notify=_notification(notify_command, format, only=only, snapshot=snapshot, demo=demo),
    )
    if fleet.given:
        fleet.refuse(
            conninfo=conninfo,
            snapshot=snapshot,
            demo=demo,
            all_databases=all_databases,
            save=save,
            maintenance=maintenance,
        )
        _audit_fleet(fleet, request)
        return
    if all_databases:
        _refuse_one_database(snapshot, demo, save, maintenance)
        _audit_all(conninfo, request)
        return
    place = _place(conninfo) if request.notify else ""
    with (
        _unread_notified(request, place, place),
        snapshot_source.snapshot_of(
            conninfo,
            snapshot,
            demo,
            save=save,
            store=store,
            timeouts=request.timeouts,
            files=request.files,
            scope=Scope.REPORT,
        ) as path,
    ):
        report, families = request.examine(path, {})
        request.write_metrics([families])
        if maintenance:
            _write_maintenance(Path(maintenance), report, seconds)
        kept = str(path) if save or (store and not demo and not snapshot) else ""
        _show(report, format, color, level, kept)
    _notify(request, place, [(place, report)], {})
    if fail_on.reached(report.findings):
        raise typer.Exit(Exit.FINDINGS)


@dataclass(frozen=True, kw_only=True)
class _Request:
    """The options of a call that apply to each database.

    metrics: file for the metrics, or None; notify: program and arguments, or empty
    """

    only: list[str]
    store: bool
    timeouts: Timeouts
    files: FileChoice
    format: AuditFormat
    color: ColorChoice
    fail_on: FailOn
    metrics: Path | None
    notify: list[str]

    def examine(self, path: Path, labels: dict[str, str]) -> tuple[Report, list[Family]]:
        """Return the report of a snapshot, and its metrics with additional labels if they are
        requested.
        """
        report = audit_snapshot(path, self.only, notify=streams.log)
        if self.metrics is None:
            return report, []
        from gpcatalog.emit.metrics import of_report
        from gpcatalog.growth.points import timings_of
        from gpcatalog.store.snapshot import Snapshot

        with Snapshot(path) as opened:
            return report, of_report(report, timings_of(opened), labels)

    def show(
        self,
        found: Several,
        as_plugin: Callable[[Several], tuple[str, int]],
        as_text: Callable[[Several, Console], None],
    ) -> None:
        """Print the report of several databases in the format of the call."""
        if self.format is AuditFormat.JSON:
            streams.as_json(found)
        elif self.format is AuditFormat.NAGIOS:
            _print_state(as_plugin(found))
        else:
            as_text(found, streams.console(self.color))

    def write_metrics(self, families: Iterable[list[Family]]) -> None:
        """Write the metrics file if it is requested."""
        if self.metrics is not None:
            from gpcatalog.emit.metrics import text_format

            streams.save(self.metrics, text_format(list(families)))


def _refuse_one_database(*given: object) -> None:
    """Raise CatalogError if options for one database are combined with --all-databases."""
    if any(given):
        raise CatalogError(
            "--all-databases needs a connection and cannot be combined with --snapshot, --demo,"
            " --save or --maintenance"
        )


def _window(text: str, maintenance: str) -> float | None:
    """Seconds of --window, None without one. Raises CatalogError (2)."""
    if not text:
        return None
    if not maintenance:
        raise CatalogError("--window is for the script of --maintenance")
    from gpcatalog.planner.policy import seconds

    try:
        found = seconds(text)
    except ValueError as e:
        raise CatalogError(f"--window: {e}") from None
    if found <= 0:
        raise CatalogError("--window must be more than 0")
    return found


def _notification(command: str, format: AuditFormat, **others: object) -> list[str]:
    """The program of --notify-command and its arguments; empty without one. Raises CatalogError for
    options that cannot be combined with it.
    """
    if not command:
        return []
    for name, value in {"format nagios": format is AuditFormat.NAGIOS, **others}.items():
        if value:
            raise CatalogError(
                f"--notify-command cannot be combined with --{name}: it reports the change of all"
                " findings since the last audit"
            )
    from gpcatalog.services.notification import words_of

    return words_of(command)


def _place(conninfo: str) -> str:
    """Host, port and database of a connection, for notifications."""
    from gpcatalog.probes.target import target

    where = target(conninfo)
    return f"{where.host or 'local'}:{where.port}/{where.database}"


def _notify(
    request: _Request,
    subject: str,
    reports: Iterable[tuple[str, Report]],
    unread: dict[str, str],
) -> None:
    """Send a notification of the changes. unread: reason for each place that could not be
    audited.
    """
    if not request.notify:
        return
    from gpcatalog.audit import changes
    from gpcatalog.services.notification import notify

    problems = [p for place, report in reports for p in changes.problems_of(place, report.findings)]
    problems += [changes.unread(place, reason) for place, reason in unread.items()]
    notify(request.notify, subject, problems, list(unread))


@contextlib.contextmanager
def _unread_notified(request: _Request, subject: str, place: str) -> Iterator[None]:
    """Send a notification if a place cannot be read, before the error is reported."""
    try:
        yield
    except CatalogError as e:
        if request.notify and e.exit_code == Exit.UNREACHABLE:
            try:
                _notify(request, subject, [], {place: e.message})
            except CatalogError as failed:  # the error to report is the first failure
                streams.log(printable(f"gpcatalog: {failed.message}"), level="error")
        raise


def _check_outputs(**files: str | Path | None) -> None:
    """Raise CatalogError for additional outputs that cannot be written, before any work."""
    for name, file in files.items():
        refuse_standard_output(f"--{name}", file)  # the report is printed there
        if file:
            locate(Path(file))


def _write_maintenance(file: Path, report: Report, seconds: float | None) -> None:
    from gpcatalog.migration.maintenance import script

    streams.save(file, script(report, seconds))
    where = "; run it on the primary" if report.server.standby else ""
    streams.log(f"wrote the maintenance script {file}{where}")


def _check(
    only: list[str],
    format: AuditFormat,
    fail_on: FailOn,
    metrics: Path | None,
    *,
    plain: bool,
    every: bool,
) -> None:
    """Raise CatalogError for contradictory options, before any work.

    plain: neither --verbose nor --quiet; every: --all-databases or --all
    """
    from gpcatalog.audit import rules

    if not plain and (every or format is not AuditFormat.TEXT):
        raise CatalogError(
            "--verbose and --quiet are for the text of one database; they cannot be combined with"
            " --all, --all-databases or --format json or nagios"
        )
    if format is AuditFormat.NAGIOS and fail_on is not FailOn.NEVER:
        raise CatalogError(
            "--fail-on cannot be combined with --format nagios: its exit code is the worst severity"
        )
    for id in only:
        rules.page(id)
    if metrics is not None and not metrics.parent.is_dir():
        raise CatalogError(f"--metrics: there is no folder {metrics.parent}")


def unknown_state(message: str) -> int:
    """Print a failure in the format of a Nagios plugin; return the exit code of the state
    UNKNOWN.
    """
    from gpcatalog.emit import nagios

    text, code = nagios.of_error(message)
    streams.out(text)
    return code


def _print_state(output: tuple[str, int]) -> None:
    text, code = output
    streams.out(text)
    raise streams.Finished(code)


def _show(report: Report, format: AuditFormat, color: ColorChoice, level: str, kept: str) -> None:
    """Print one report. kept: file of its snapshot, empty if it was not stored."""
    if format is AuditFormat.JSON:
        streams.as_json(report)
    elif format is AuditFormat.NAGIOS:
        from gpcatalog.emit import nagios

        _print_state(nagios.of_report(report))
    else:
        from gpcatalog.emit import audit_text

        audit_text.show(report, streams.console(color), audit_text.Detail(level), kept=kept)


def _audit_all(conninfo: str, request: _Request) -> None:
    """Audit all databases of a cluster and print one report."""
    from psycopg.conninfo import make_conninfo

    from gpcatalog.audit.cluster import combine
    from gpcatalog.fleet.run import worst
    from gpcatalog.probes.connection import ProbeFailed, connect
    from gpcatalog.probes.target import as_conninfo

    base = as_conninfo(conninfo)
    server = _place(conninfo).rpartition("/")[0]
    subject = f"{server} all databases"
    reports, families, lost = [], [], []
    with _unread_notified(request, subject, server):
        with connect(base, timeouts=request.timeouts) as session:
            try:
                names = [row["database"] for row in session.rows("databases")]
            except ProbeFailed as e:
                raise CatalogError(
                    f"cannot list the databases: {e.reason}", exit_code=Exit.UNREACHABLE
                ) from None
        for name in names:
            try:
                with snapshot_source.snapshot_of(
                    make_conninfo(base, dbname=name),
                    store=request.store,
                    timeouts=request.timeouts,
                    files=request.files,
                    scope=Scope.REPORT,
                ) as path:
                    report, found = request.examine(path, {})
                reports.append(report)
                families.append(found)
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
    request.write_metrics(families)
    cluster = combine(reports, lost)
    from gpcatalog.emit import cluster_text, nagios

    request.show(cluster, nagios.of_cluster, cluster_text.show)
    _notify(
        request,
        subject,
        [(f"{server}/{r.server.database}", r) for r in reports],
        {f"{server}/{name}": reason for name, reason in lost},
    )
    code = worst(
        Exit.UNREACHABLE if lost else Exit.CLEAN,
        Exit.FINDINGS if request.fail_on.reached(cluster.findings) else Exit.CLEAN,
    )
    if code is not Exit.CLEAN:
        raise typer.Exit(code)


def _audit_fleet(fleet: FleetChoice, request: _Request) -> None:
    """Audit the clusters of the fleet file and print one report."""
    from gpcatalog.audit.cluster import Unread, combine
    from gpcatalog.audit.fleet import FleetCluster, combine_clusters

    with reading(
        fleet,
        "audit",
        store=request.store,
        timeouts=request.timeouts,
        files=request.files,
        scope=Scope.REPORT,
    ) as read:
        labels = read.labels()
        seen = read.over(lambda cluster, database, path: request.examine(path, labels[cluster]))
        request.write_metrics(
            [read.metrics(), *(f for found in seen.values() for _, f in found.values())]
        )
    reports = {name: {db: r for db, (r, _) in found.items()} for name, found in seen.items()}
    members = []
    for run in read.runs:
        found = list(reports[run.name].values())
        unread = list(run.unread.items())
        members.append(
            FleetCluster(
                name=run.name,
                labels=read.clusters[run.name].labels,
                cluster=combine(found, unread) if found else None,
                unread=tuple(Unread(name, reason) for name, reason in unread),
                error=run.error,
                seconds=None if run.seconds is None else round(run.seconds, 3),
                oldest=min((r.taken.taken_at for r in found), default=None),
            )
        )
    combined = combine_clusters(members)
    from gpcatalog.emit import fleet_text, nagios

    request.show(combined, nagios.of_fleet, fleet_text.show)
    _notify(
        request,
        "\0".join([str(read.fleet.file.resolve()), *read.clusters]),
        [
            (f"{name}/{database}", report)
            for name, found in reports.items()
            for database, report in found.items()
        ],
        {run.name: run.error for run in read.runs if run.error}
        | {
            f"{run.name}/{database}": reason
            for run in read.runs
            for database, reason in run.unread.items()
            if reason != run.error
        },
    )
    read.end(findings=request.fail_on.reached(combined.findings))
