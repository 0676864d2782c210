"""The commands `report` and `metrics`: a page to look at, and text for a scrape, both from stored snapshots or a new one."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from gpcatalog.audit.report import Report
    from gpcatalog.growth.points import Point

Conninfo = Annotated[str, typer.Argument(metavar="[CONNINFO]", help="As psql takes it; a new snapshot is taken.", show_default=False)]
SnapshotFile = Annotated[
    str, typer.Option("--snapshot", metavar="FILE", help="Use this snapshot; no server is contacted.", show_default=False)
]
Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="FOLDER", help="The series of this folder: its newest snapshot, and its growth.", show_default=False),
]
Store = Annotated[bool, typer.Option("--store/--no-store", help="Keep a new snapshot in the series of this database.")]


@contextlib.contextmanager
def _snapshot(conninfo: str, snapshot: str, folder: Path | None, store: bool) -> Iterator[tuple[Path, Path]]:
    """The snapshot file meant, and the folder of its series."""
    import tempfile
    from datetime import UTC, datetime

    from gpcatalog.growth.command import files_of
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import SUFFIX, Snapshot

    if sum((bool(conninfo), bool(snapshot), folder is not None)) > 1:
        raise CatalogError("give one of CONNINFO, --snapshot and --folder")
    if folder is not None:
        newest = files_of("", folder)[-1]
        yield newest, folder
        return
    if snapshot:
        path = series.find(snapshot)
        with Snapshot(path) as opened:
            head = opened.header
        yield path, series.folder(head["host"] or "local", head["port"] or 0, head["database"])
        return
    from gpcatalog.probes.collect import collect
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo

    with contextlib.ExitStack() as stack:
        with connect(as_conninfo(conninfo)) as session:
            target = session.target
            place = series.folder(target["host"] or "local", target["port"], target["dbname"])
            if store:
                path = series.new_path(place, datetime.now(UTC))
            else:
                path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpcatalog-"))) / f"report{SUFFIX}"
            collect(session, path)
        yield path, place


def _judged(path: Path) -> Report:
    import msgspec

    from gpcatalog import rules
    from gpcatalog.audit.build import build
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(path) as snapshot:
        report = build(snapshot)
    return msgspec.structs.replace(report, findings=rules.run(report))


def _series(path: Path, place: Path, days: float) -> tuple[list[Point], list[tuple[str, str]]]:
    from datetime import timedelta

    from gpcatalog.growth.points import points
    from gpcatalog.store.snapshot import SUFFIX

    files = {p.resolve(): p for p in (*place.glob(f"*{SUFFIX}"), path)}
    found, lost = points(list(files.values()), since=timedelta(days=days))
    # the page is about the snapshot meant: what came after it is not in it
    at = next((n for n, p in enumerate(found) if p.path.resolve() == path.resolve()), None)
    return (found[: at + 1], lost) if at is not None else (points([path])[0], lost)


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all; readable for others, as a scraper must be able to read it. Raises CatalogError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as e:
        raise CatalogError(f"cannot write {path}: {e.strerror}", hint="what was there before is untouched") from None
    finally:
        draft.unlink(missing_ok=True)


def report(
    conninfo: Conninfo = "",
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Where to write the page; - for standard output.", show_default=False)
    ] = None,
    snapshot: SnapshotFile = "",
    folder: Folder = None,
    days: Annotated[float, typer.Option("--days", help="How far back the series goes.", min=0.01)] = 365.0,
    store: Store = True,
) -> None:
    """One self-contained HTML page: verdict first, then charts and tables; opens offline, prints, fits a phone.

    Reads what an audit reads, or stored snapshots only. It never writes to a server; the page loads nothing from anywhere.

    Example: gpcatalog report "host=mdw dbname=sales" --html sales.html
    """
    if html is None:
        raise CatalogError("say where the page goes", hint="--html FILE")
    from gpcatalog.emit.html import page
    from gpcatalog.growth.build import build
    from gpcatalog.growth.picture import picture
    from gpcatalog.latency.locks import arithmetic
    from gpcatalog.store.snapshot import Snapshot

    with _snapshot(conninfo, snapshot, folder, store) as (path, place):
        judged = _judged(path)
        found, lost = _series(path, place, days)
        with Snapshot(path) as opened:
            seen, slots = picture(opened), arithmetic(opened)
        text = page(judged, build(found, lost), found, seen, slots)
    if str(html) == "-":
        sys.stdout.write(text)
        return
    save(html, text)
    from gpcatalog.model.quantity import size

    print(f"{html}: {size(len(text.encode()))}", file=sys.stderr)


def metrics(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    folder: Folder = None,
    top: Annotated[
        int, typer.Option("--top", help="Tables with series of their own: those that own most catalog rows.", min=0, max=100)
    ] = 10,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="Write this file, whole or not at all: for a textfile collector.", show_default=False),
    ] = None,
    store: Store = False,
) -> None:
    """OpenMetrics text: per instance and catalog, totals by storage, verdicts, findings; never a series a leaf.

    Reads what an audit reads, or a stored snapshot. It never writes to a server.

    Example: gpcatalog metrics "host=mdw dbname=sales" --to /var/lib/node_exporter/gpcatalog.prom
    """
    from gpcatalog.emit.metrics import exposition
    from gpcatalog.growth.points import timings_of
    from gpcatalog.store.snapshot import Snapshot

    with _snapshot(conninfo, snapshot, folder, store) as (path, _):
        judged = _judged(path)
        with Snapshot(path) as opened:
            timings = timings_of(opened)
    text = exposition(judged, timings, top=top)
    if to is None:
        sys.stdout.write(text)
    else:
        save(to, text)
