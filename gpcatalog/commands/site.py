"""The command `site`: a static site of all databases with stored snapshots."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, unquote

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.fleet import Config, FleetRun, stored
from gpcatalog.commands.report import contents_of
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.folders import listed
from gpcatalog.model.output_file import refuse_standard_output

if TYPE_CHECKING:
    from gpcatalog.site.state import Entry, State

TITLE = "All databases"
FOLDER = "clusters"  # folder of database pages, so that a cluster name cannot equal a page name


def _policy_text(policy: Path | None) -> bytes:
    """The content of the policy file, which affects pages. Raises CatalogError (2)."""
    from gpcatalog.planner import policy as policies

    if policy is None:
        return b""
    policies.read(policy)
    return policy.read_bytes()


def _input_digest(words: list[object], snapshots: list[Path]) -> str:
    """A digest of the input of pages: settings and snapshot files."""
    found = hashlib.sha256(repr(words).encode())
    for path in snapshots:
        with contextlib.suppress(FileNotFoundError):  # just deleted by `snapshot prune`
            state = path.stat()
            found.update(repr((path.name, state.st_size, state.st_mtime_ns)).encode())
    return found.hexdigest()


@dataclass(kw_only=True)
class _Site:
    """The site while it is written.

    known: its earlier state; names: files that were written or checked; written: number of files
           that changed; kept: number of databases whose pages were up to date
    """

    folder: Path
    days: float
    known: State
    state: State
    names: set[str] = field(default_factory=set)
    written: int = 0
    kept: int = 0
    clusters: set[str] = field(default_factory=set)

    def write(self, name: str, text: str) -> str:
        """Write a file if its content changed; return its name."""
        path = self.folder / name
        self.names.add(name)
        if not path.parent.resolve().is_relative_to(self.folder.resolve()):
            raise CatalogError(
                f"{path.parent} is a link out of the site", hint="remove it", exit_code=Exit.REFUSED
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            same = path.is_file() and not path.is_symlink() and path.read_bytes() == text.encode()
        except OSError as e:
            raise CatalogError(f"cannot write {path}: {e.strerror or e}") from None
        if not same:
            streams.save(path, text, follow=False)
            self.written += 1
        return name

    def database(self, cluster: str, database: str, path: Path, policy: Path | None) -> Entry:
        """Write the pages of one database unless they are up to date."""
        from gpcatalog.site.state import complete
        from gpcatalog.store import series
        from gpcatalog.store.snapshot import SUFFIX

        base = f"{FOLDER}/{series.safe_name(cluster)}/{series.safe_name(database)}"
        place = f"{cluster}/{database}"
        snapshots = listed(path.parent, f"*{SUFFIX}")
        made_of = _input_digest([place, base, self.days, _policy_text(policy)], snapshots)
        entry = self.known.databases.get(base)
        if entry is not None and entry.made_of == made_of and complete(self.folder, entry):
            self.kept += 1
            self.names.update(entry.files)
        else:
            entry = self._write_pages(base, place, path, policy, made_of)
        self.state.databases[base] = entry
        return entry

    def _write_pages(
        self, base: str, place: str, path: Path, policy: Path | None, made_of: str
    ) -> Entry:
        from gpcatalog.emit import html, site_data, site_history
        from gpcatalog.emit.audit_text import verdict_lines
        from gpcatalog.site.state import Entry
        from gpcatalog.site.summary import summed_up

        found = contents_of(path, path.parent, self.days, policy)
        up = "../../.."
        links = [("All databases", f"{up}/index.html"), ("Search", f"{up}/search.html")]
        files = []
        history = [("History", "history.html")] if found.growth else []
        text = html.page(
            found.report, found.growth, found.points, found.seen, found.slots, found.outlook,
            links=[*links, *history],
        )  # fmt: skip
        if found.growth:
            page = site_history.page(
                place, found.growth, found.points, [*links, ("Newest report", "index.html")]
            )
            if len(found.points) > 1:
                data = site_data.history_script(found.growth, found.points)
                files.append(self.write(f"{base}/history.js", data))
            files.append(self.write(f"{base}/history.html", page))
        roots = found.points[-1].roots if found.points else {}
        tables = site_data.tables_script(place, quote(f"{base}/index.html"), roots)
        files += [self.write(f"{base}/tables.js", tables), self.write(f"{base}/index.html", text)]
        verdict = verdict_lines(found.report)[0].plain
        summary = summed_up(found.report, found.growth, found.points, verdict=verdict)
        return Entry(place=place, made_of=made_of, files=tuple(files), summary=summary)

    def shared_pages(self, unread: dict[str, str]) -> list[str]:
        """Write the overview and the search page; return their names."""
        from gpcatalog.emit import site_overview, site_search

        members = [
            site_overview.Member(entry.place, entry.files[-1], entry.summary)
            for entry in self.state.databases.values()
        ]
        scripts = [
            name
            for e in self.state.databases.values()
            for name in e.files
            if name.endswith("/tables.js")
        ]
        search = site_search.page(sorted(scripts), [("All databases", "index.html")])
        links = [("Search all tables", "search.html")]
        overview = site_overview.page(TITLE, members, unread, len(self.clusters), links)
        return [self.write("search.html", search), self.write("index.html", overview)]


def _every_series() -> FleetRun:
    """All stored series, used without a fleet file: each server is a cluster."""
    from gpcatalog.fleet.run import ClusterRun
    from gpcatalog.fleet.settings import Fleet
    from gpcatalog.store import series

    runs: dict[str, ClusterRun] = {}
    for one in series.snapshots():
        name = unquote(one.server)
        run = runs.setdefault(name, ClusterRun(name=name))
        run.snapshots[unquote(one.database)] = one.path
    if not runs:
        raise CatalogError(
            "there is no stored snapshot",
            hint="take a snapshot every day: `gpcatalog snapshot take`",
        )
    fleet = Fleet(file=series.home(), jobs=1, timeout=None, schedule="", clusters={})
    return FleetRun(fleet=fleet, clusters={}, runs=list(runs.values()), stored=True, until=None)


def _chosen(config: str) -> FleetRun:
    """The databases of the fleet file, or all stored series if there is no fleet file."""
    from gpcatalog.fleet import settings

    if not config and not any(path.is_file() for path in settings.places()):
        return _every_series()
    fleet = settings.read(config)
    runs = [stored(name, one) for name, one in fleet.clusters.items()]
    return FleetRun(fleet=fleet, clusters=fleet.clusters, runs=runs, stored=True, until=None)


def site(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder of the site.", show_default=False
        ),
    ] = None,
    config: Config = "",
    days: Annotated[
        float,
        typer.Option("--days", help="Length of the period before the newest snapshot.", min=0.01),
    ] = 365.0,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Per-table rules for all plans, instead of those of the fleet file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a static site of all databases from stored snapshots.

    The site has an overview, the page of `report` and a history for each database, and a search over
    all tables. It works from files and behind any web server, and loads nothing from elsewhere. The
    databases are those of the fleet file; without one, all that have stored snapshots. Pages whose
    snapshots did not change are left alone. No server is contacted.

    Example: gpcatalog site -o /srv/www/gpcatalog
    """
    from gpcatalog.fleet.lock import exclusive
    from gpcatalog.model.quantity import plural
    from gpcatalog.site import state

    if output is None:
        raise CatalogError("--output is required", hint="give the folder of the site: -o FOLDER")
    refuse_standard_output("-o", output)
    known = state.read(output)
    read = _chosen(config)
    if policy is not None:
        _policy_text(policy)
    with exclusive(output / state.LOCK):
        pages = _Site(folder=output, days=days, known=known, state=state.State(files=known.files))
        if not (output / state.FILE).exists():  # mark the folder as a site before any page
            streams.save(output / state.FILE, state.encode(pages.state), follow=False)
        try:

            def database(cluster: str, name: str, path: Path) -> Entry:
                settings = read.clusters.get(cluster)
                rules = read.fleet.policy_of(settings) if settings else None
                pages.clusters.add(cluster)
                return pages.database(cluster, name, path, policy or rules)

            read.over(database)
            pages.clusters |= {run.name for run in read.runs}
            files = [name for e in pages.state.databases.values() for name in e.files]
            files += pages.shared_pages(_unread(read))
            removed = state.remove(output, {*known.files, *pages.names} - set(files))
            pages.names = set(files)
            pages.state.files = ()
        finally:
            # also after an interruption: the folder is recognized, and existing pages are not
            # written again
            pages.state.files = tuple(sorted({*pages.state.files, *pages.names}))
            streams.save(output / state.FILE, state.encode(pages.state), follow=False)
    read.report()
    streams.out(f"{output / 'index.html'}\n")
    streams.log(
        f"{plural(len(pages.state.databases), 'database')}, {pages.kept:,} unchanged;"
        f" {plural(pages.written, 'file')} written, {removed:,} removed"
    )
    read.end()


def _unread(read: FleetRun) -> dict[str, str]:
    """Clusters and databases without pages, with the reasons."""
    found = {run.name: run.error for run in read.runs if run.error}
    for run in read.runs:
        found |= {
            f"{run.name}/{database}": reason
            for database, reason in run.unread.items()
            if reason != run.error
        }
    return found
