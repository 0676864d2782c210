"""The commands `report` and `metrics`: an HTML page, and text for Prometheus, both from stored
snapshots or a new one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import options, snapshot_source, streams
from gpcatalog.commands.fleet import FleetChoice, file_for, reading
from gpcatalog.commands.options import (
    Conninfo,
    Folder,
    LockTimeout,
    SnapshotFile,
    StatementTimeout,
    Store,
)
from gpcatalog.errors import CatalogError
from gpcatalog.model.folders import listed
from gpcatalog.model.output_file import STANDARD_OUTPUT
from gpcatalog.model.scope import Scope
from gpcatalog.services.audits import audit_snapshot
from gpcatalog.services.series import series_of_snapshot

if TYPE_CHECKING:
    from gpcatalog.audit.report import Report
    from gpcatalog.emit.html_plan import Outlook
    from gpcatalog.emit.metrics import Family
    from gpcatalog.growth.chart_data import Picture
    from gpcatalog.growth.points import Point
    from gpcatalog.growth.result import Growth
    from gpcatalog.growth.series import Period
    from gpcatalog.latency.locks import Slots
    from gpcatalog.probes.timeouts import Timeouts
    from gpcatalog.store.snapshot import Snapshot


@contextlib.contextmanager
def _snapshot(
    conninfo: str,
    snapshot: str,
    folder: Path | None,
    store: bool,
    timeouts: Timeouts,
    scope: Scope,
) -> Iterator[tuple[Path, Path]]:
    """Yield the chosen snapshot file, and the folder of its series."""
    from gpcatalog.store.snapshot import Snapshot

    if sum((bool(conninfo), bool(snapshot), folder is not None)) > 1:
        raise CatalogError("give only one of CONNINFO, --snapshot and --folder")
    if folder is not None:
        yield snapshot_source.files_of("", folder)[-1], folder
        return
    with snapshot_source.snapshot_of(
        conninfo, snapshot, store=store, timeouts=timeouts, scope=scope
    ) as path:
        with Snapshot(path) as opened:
            place = series_of_snapshot(opened)
        yield path, place


def _series(path: Path, place: Path, days: float) -> Period:
    """The points of the series up to a snapshot; the page contains no later points."""
    from gpcatalog.growth.series import length, period
    from gpcatalog.store.snapshot import SUFFIX

    same = place / path.name
    if same.resolve() != path.resolve():
        same = path
    files = sorted({*listed(place, f"*{SUFFIX}"), same})
    found = period(files, since=length(days), until=same)
    if found.points[-1].path == same:
        return found
    return replace(found, points=period([path], until=path).points)


def _outlook(snapshot: Snapshot, rules: Path | None) -> Outlook:
    """The effect of a plan, or the reason why there is no plan."""
    from gpcatalog.emit.html_plan import Outlook
    from gpcatalog.planner import policy
    from gpcatalog.services.plans import plan_snapshot

    if rules is not None:
        policy.read(rules)  # errors in the policy are reported to the user, not shown on the page
    try:
        planned = plan_snapshot(
            snapshot,
            policy_file=rules,
            workload_file="",
            overrides={},
            rate="",
            progress=streams.progress,
        )
    except CatalogError as e:
        return Outlook(reason=str(e))
    finally:
        streams.progress_done()
    return Outlook(planned.plan, planned.table_plans, planned.left())


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The contents of a page. growth: None if the tables of the snapshot could not be read."""

    report: Report
    growth: Growth | None
    points: list[Point]
    seen: Picture
    slots: Slots
    outlook: Outlook


def contents_of(path: Path, place: Path, days: float, policy: Path | None) -> Contents:
    """Return the contents of the page of one snapshot, with the series in a folder."""
    from gpcatalog.growth.build import build
    from gpcatalog.growth.chart_data import picture
    from gpcatalog.latency.locks import arithmetic
    from gpcatalog.store.snapshot import Snapshot

    report = audit_snapshot(path, forecast=False)
    found: list[Point] = []
    growth = None
    with Snapshot(path) as opened:
        seen, slots = picture(opened), arithmetic(opened)
        outlook = _outlook(opened, policy)
        known = not opened.unread("relations", "class_counts")
    if known:
        series = _series(path, place, days)
        found, growth = series.points, build(series.points, series.skipped, series.older)
    return Contents(
        report=report, growth=growth, points=found, seen=seen, slots=slots, outlook=outlook
    )


def _page(path: Path, place: Path, days: float, policy: Path | None) -> str:
    """Return the page of one snapshot, with the series in a folder."""
    from gpcatalog.emit.html import page

    c = contents_of(path, place, days, policy)
    return page(c.report, c.growth, c.points, c.seen, c.slots, c.outlook)


def _report_fleet(
    fleet: FleetChoice,
    html: Path,
    days: float,
    store: bool,
    policy: Path | None,
    timeouts: Timeouts,
) -> None:
    """Write a page of each database of the fleet into a folder."""
    from gpcatalog.store.snapshot import Snapshot

    if str(html) == STANDARD_OUTPUT:
        raise CatalogError("with --all, --html needs a folder for the pages")

    def write(cluster: str, database: str, path: Path) -> Path:
        with Snapshot(path) as opened:
            place = series_of_snapshot(opened)
        rules = policy or read.fleet.policy_of(read.clusters[cluster])
        text = _page(path, place, days, rules)
        target = file_for(html, cluster, database, ".html")
        streams.save(target, text)
        return target

    with reading(fleet, "report", store=store, timeouts=timeouts) as read:
        written = read.over(write)
        for paths in written.values():
            for target in paths.values():
                streams.out(f"{target}\n")
        read.report()
    read.end()


def report(
    conninfo: Conninfo = "",
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            "--output",
            "-o",
            metavar="FILE",
            help="Write the page to this file; - is standard output.",
            show_default=False,
        ),
    ] = None,
    snapshot: SnapshotFile = "",
    folder: Folder = None,
    days: Annotated[
        float,
        typer.Option("--days", help="Length of the period before the newest snapshot.", min=0.01),
    ] = 365.0,
    store: Store = True,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Per-table rules for the plan, as for `gpcatalog plan`.",
            show_default=False,
        ),
    ] = None,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
    *,
    fleet: FleetChoice,
) -> None:
    """Write one self-contained HTML page.

    The page has the verdict, charts, a plan and tables. It loads nothing from the network. It reads
    what an audit reads, or stored snapshots, and never writes to a server. With --all, it writes a
    page for each database of the fleet file into the folder --html.

    Example: gpcatalog report "host=mdw dbname=sales" --html sales.html
    """
    if html is None:
        raise CatalogError(
            "--html is required",
            hint=("give the file for the page, or - for standard output: --html FILE"),
        )
    timeouts = options.timeouts(statement_timeout, lock_timeout)
    if fleet.given:
        fleet.refuse(conninfo=conninfo, snapshot=snapshot, folder=folder)
        _report_fleet(fleet, html, days, store, policy, timeouts)
        return
    with _snapshot(conninfo, snapshot, folder, store, timeouts, Scope.PLAN) as (path, place):
        text = _page(path, place, days, policy)
    with streams.destination(str(html)) as stream:
        stream.write(text)
    if str(html) == STANDARD_OUTPUT:
        return
    from gpcatalog.model.quantity import size

    streams.log(f"{html}: {size(len(text.encode()))}")


def metrics(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    folder: Folder = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            help="Number of tables with their own metrics: those with the most catalog rows.",
            min=0,
            max=100,
        ),
    ] = 10,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            "--output",
            "-o",
            metavar="FILE",
            help=("Write this file atomically, for a textfile collector; - is standard output."),
            show_default=False,
        ),
    ] = None,
    store: Store = False,
    alerts: Annotated[
        bool,
        typer.Option(
            "--alerts",
            help="Print rules for Prometheus instead: one alert for each rule of the audit.",
        ),
    ] = False,
    dashboard: Annotated[
        bool,
        typer.Option("--dashboard", help="Print a dashboard for Grafana instead, as JSON."),
    ] = False,
    zabbix: Annotated[
        bool, typer.Option("--zabbix", help="Print a template for Zabbix instead, as YAML.")
    ] = False,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
    *,
    fleet: FleetChoice,
) -> None:
    """Write metrics in the text format of Prometheus.

    Metrics cover instances, catalogs, storage, limits and findings. There are no metrics per leaf.
    It reads what an audit reads, or a stored snapshot, and never writes to a server. With --all, it
    writes the metrics of all databases of the fleet file.

    Example: gpcatalog metrics "host=mdw dbname=sales" --to /var/lib/node_exporter/gpcatalog.prom
    """
    code = 0
    timeouts = options.timeouts(statement_timeout, lock_timeout)
    outputs = [
        name
        for name, value in (("alerts", alerts), ("dashboard", dashboard), ("zabbix", zabbix))
        if value
    ]
    if outputs:
        given = bool(conninfo or snapshot or folder or store or fleet.given)
        text = _for_all_databases(outputs, given=given)
    elif fleet.given:
        fleet.refuse(conninfo=conninfo, snapshot=snapshot, folder=folder)
        text, code = _fleet_metrics(fleet, top, store, timeouts)
    else:
        from gpcatalog.emit.metrics import text_format

        with _snapshot(conninfo, snapshot, folder, store, timeouts, Scope.REPORT) as (path, _):
            text = text_format([_families(path, top, {})])
    with streams.destination("" if to is None else str(to)) as stream:
        stream.write(text)
        stream.flush()
    if code:
        raise streams.Finished(code)


def _for_all_databases(outputs: list[str], *, given: bool) -> str:
    """The alert rules, the dashboard or the template. given: whether the call names a source.

    Raises CatalogError (2).
    """
    if len(outputs) > 1:
        raise CatalogError("give only one of --alerts, --dashboard and --zabbix")
    if given:
        what = {
            "alerts": "--alerts prints rules",
            "dashboard": "--dashboard prints a dashboard",
            "zabbix": "--zabbix prints a template",
        }[outputs[0]]
        raise CatalogError(
            f"{what} for all databases",
            hint="leave out the connection, --snapshot, --folder, --store and the fleet",
        )
    if outputs == ["alerts"]:
        from gpcatalog.emit.alerts import rules_text

        return rules_text()
    if outputs == ["dashboard"]:
        from gpcatalog.emit.grafana import dashboard

        return dashboard()
    from gpcatalog.emit.zabbix import template_text

    return template_text()


def _families(path: Path, top: int, labels: dict[str, str]) -> list[Family]:
    """The metric families of one snapshot, with additional labels."""
    from gpcatalog.emit.metrics import of_report
    from gpcatalog.growth.points import timings_of
    from gpcatalog.store.snapshot import Snapshot

    verdict = audit_snapshot(path, forecast=False)
    with Snapshot(path) as opened:
        return of_report(verdict, timings_of(opened), labels, top=top)


def _fleet_metrics(
    fleet: FleetChoice, top: int, store: bool, timeouts: Timeouts
) -> tuple[str, int]:
    """The metrics of all databases of a fleet, and the exit code.

    A cluster that could not be read has metrics that show this, so the text is always complete.
    """
    from gpcatalog.emit.metrics import text_format

    with reading(fleet, "metrics", store=store, timeouts=timeouts, scope=Scope.REPORT) as read:
        labels = read.labels()
        found = read.over(lambda cluster, database, path: _families(path, top, labels[cluster]))
        read.report()
        every = [one for databases in found.values() for one in databases.values()]
        return text_format([read.metrics(), *every]), int(read.exit_code)
