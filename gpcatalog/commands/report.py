"""The commands `report` and `metrics`: a page to look at, and text for a scrape, both from stored
snapshots or a new one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import snapshot_source, streams
from gpcatalog.commands.options import Conninfo, Folder, SnapshotFile, Store
from gpcatalog.errors import CatalogError
from gpcatalog.services.audits import judged
from gpcatalog.services.series import series_of_snapshot

if TYPE_CHECKING:
    from gpcatalog.emit.html_plan import Outlook
    from gpcatalog.growth.points import Point
    from gpcatalog.store.snapshot import Snapshot


@contextlib.contextmanager
def _snapshot(
    conninfo: str, snapshot: str, folder: Path | None, store: bool
) -> Iterator[tuple[Path, Path]]:
    """The snapshot file meant, and the folder of its series."""
    from gpcatalog.store.snapshot import Snapshot

    if sum((bool(conninfo), bool(snapshot), folder is not None)) > 1:
        raise CatalogError("give only one of CONNINFO, --snapshot and --folder")
    if folder is not None:
        yield snapshot_source.files_of("", folder)[-1], folder
        return
    with snapshot_source.snapshot_of(conninfo, snapshot, store=store) as path:
        with Snapshot(path) as opened:
            place = series_of_snapshot(opened)
        yield path, place


def _series(path: Path, place: Path, days: float) -> tuple[list[Point], list[tuple[str, str]]]:
    from datetime import timedelta

    from gpcatalog.growth.points import points
    from gpcatalog.store.snapshot import SUFFIX

    files = {p.resolve(): p for p in (*place.glob(f"*{SUFFIX}"), path)}
    found, lost = points(list(files.values()), since=timedelta(days=days))
    # the page is about the snapshot meant: what came after it is not in it
    at = next((n for n, p in enumerate(found) if p.path.resolve() == path.resolve()), None)
    return (found[: at + 1], lost) if at is not None else (points([path])[0], lost)


def _outlook(snapshot: Snapshot, rules: Path | None) -> Outlook:
    """What a plan would change, or why there is none."""
    from gpcatalog.emit.html_plan import Outlook
    from gpcatalog.planner import policy
    from gpcatalog.services.plans import plan_snapshot

    if rules is not None:
        policy.read(rules)  # what is wrong with it is the user's to hear, not the page's to tell
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
) -> None:
    """Write one self-contained HTML page.

    The page has the verdict, charts, a plan and tables. It loads nothing from the network. It reads
    what an audit reads, or stored snapshots, and never writes to a server.

    Example: gpcatalog report "host=mdw dbname=sales" --html sales.html
    """
    if html is None:
        raise CatalogError(
            "--html is required",
            hint=("give the file for the page, or - for standard output: --html FILE"),
        )
    from gpcatalog.emit.html import page
    from gpcatalog.growth.build import build
    from gpcatalog.growth.chart_data import picture
    from gpcatalog.latency.locks import arithmetic
    from gpcatalog.store.snapshot import Snapshot

    with _snapshot(conninfo, snapshot, folder, store) as (path, place):
        verdict = judged(path, forecast=False)
        found: list[Point] = []
        growth = None
        with Snapshot(path) as opened:
            seen, slots = picture(opened), arithmetic(opened)
            outlook = _outlook(opened, policy)
            known = not opened.unread("relations", "class_counts")
        if known:
            found, lost = _series(path, place, days)
            growth = build(found, lost)
        text = page(verdict, growth, found, seen, slots, outlook)
    if str(html) == "-":
        streams.out(text)
        return
    streams.save(html, text)
    from gpcatalog.model.quantity import size

    streams.say(f"{html}: {size(len(text.encode()))}")


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
            help="Write this file atomically, for a textfile collector.",
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
) -> None:
    """Write metrics in OpenMetrics format.

    Metrics cover instances, catalogs, storage, limits and findings. There are no metrics per leaf.
    It reads what an audit reads, or a stored snapshot, and never writes to a server.

    Example: gpcatalog metrics "host=mdw dbname=sales" --to /var/lib/node_exporter/gpcatalog.prom
    """
    from gpcatalog.emit.metrics import exposition
    from gpcatalog.growth.points import timings_of
    from gpcatalog.store.snapshot import Snapshot

    if alerts:
        from gpcatalog.emit.alerts import rules_text

        if conninfo or snapshot or folder or store:
            raise CatalogError(
                "--alerts prints rules that are the same for all databases",
                hint="leave out the connection, --snapshot, --folder and --store",
            )
        text = rules_text()
    else:
        with _snapshot(conninfo, snapshot, folder, store) as (path, _):
            verdict = judged(path, forecast=False)
            with Snapshot(path) as opened:
                timings = timings_of(opened)
            text = exposition(verdict, timings, top=top)
    if to is None:
        streams.out(text)
    else:
        streams.save(to, text)
