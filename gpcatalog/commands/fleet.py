"""Commands over all clusters of the fleet file: the options, the run, and the results of each
database.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gpcatalog.commands import streams
from gpcatalog.errors import CatalogError, Exit, raise_if_interrupted
from gpcatalog.model.file_choice import FileChoice
from gpcatalog.model.names import printable
from gpcatalog.model.scope import Scope

if TYPE_CHECKING:
    from gpcatalog.emit.metrics import Family
    from gpcatalog.fleet.messages import Message
    from gpcatalog.fleet.run import ClusterRun
    from gpcatalog.fleet.settings import ClusterSettings, Fleet
    from gpcatalog.probes.timeouts import Timeouts

Result = TypeVar("Result")

Config = Annotated[
    str,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Fleet file. Default: gpcatalog/gpcatalog.toml in the XDG configuration folders.",
        show_default=False,
    ),
]
OPTIONS: dict[str, Any] = {
    "all_clusters": Annotated[
        bool,
        typer.Option("--all", help="Go through all clusters of the fleet file."),
    ],
    "config": Config,
    "cluster": Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help="Only this cluster of the fleet file. Can be given several times.",
            show_default=False,
        ),
    ],
    "jobs": Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            help="Number of clusters that are read at once. Default: that of the fleet file, or 4.",
            min=1,
            max=64,
            show_default=False,
        ),
    ],
    "timeout": Annotated[
        str,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Time limit for all clusters together, such as 90min.",
            show_default=False,
        ),
    ],
    "stored": Annotated[
        bool,
        typer.Option(
            "--stored", help="Use the newest stored snapshots of the fleet; contact no server."
        ),
    ],
}
DEFAULTS = {
    "all_clusters": False,
    "config": "",
    "cluster": None,
    "jobs": None,
    "timeout": "",
    "stored": False,
}


@dataclass(frozen=True, kw_only=True)
class FleetChoice:
    """The options of a call that apply to a fleet."""

    all_clusters: bool
    config: str
    cluster: list[str] | None
    jobs: int | None
    timeout: str
    stored: bool

    @property
    def given(self) -> bool:
        """Whether the call is for a fleet: at least one option of a fleet is given."""
        return bool(
            self.all_clusters
            or self.config
            or self.cluster
            or self.jobs
            or self.timeout
            or self.stored
        )

    def refuse(self, **others: object) -> None:
        """Raise CatalogError (2) for options that apply to one database only, given by their
        names.
        """
        for name, value in others.items():
            if value:
                word = "CONNINFO" if name == "conninfo" else f"--{name.replace('_', '-')}"
                raise CatalogError(
                    f"{word} is for one cluster; it cannot be combined with --all and the options"
                    " of a fleet",
                    hint="--cluster NAME chooses a cluster of the fleet file",
                )


@dataclass(kw_only=True)
class FleetRun:
    """The snapshots of each chosen cluster, in the order of the fleet file."""

    fleet: Fleet
    clusters: dict[str, ClusterSettings]
    runs: list[ClusterRun]
    stored: bool  # whether no server was contacted
    until: float | None  # time.monotonic() at which the time limit is reached

    @property
    def exit_code(self) -> Exit:
        """The worst exit code of all clusters."""
        from gpcatalog.fleet.run import worst

        return worst(*(run.exit_code for run in self.runs))

    def over(self, work: Callable[[str, str, Path], Result]) -> dict[str, dict[str, Result]]:
        """Call a function of cluster, database and snapshot file for each snapshot; return the
        results by cluster and database.

        A database with a failure is recorded as unread with the reason, and the others are
        continued.
        """
        found: dict[str, dict[str, Result]] = {}
        for run in self.runs:
            results = found.setdefault(run.name, {})
            for database, path in list(run.snapshots.items()):
                streams.progress(f"{run.name}/{database}")
                try:
                    if self.until is not None and time.monotonic() > self.until:
                        raise CatalogError(
                            "not finished within the time limit", exit_code=Exit.UNREACHABLE
                        )
                    results[database] = work(run.name, database, path)
                except CatalogError as e:
                    raise_if_interrupted()
                    run.unread[database] = e.reason
                    run.fail(e.exit_code)
                except Exception as e:  # a bug in one database must not hide the others
                    raise_if_interrupted()
                    text = " ".join(str(e).split())[:300]
                    run.unread[database] = f"internal error: {type(e).__name__}: {text}"
                    run.fail(Exit.INTERNAL)
        streams.progress_done()
        return found

    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of each cluster in metrics."""
        return {name: {"cluster": name, **one.labels} for name, one in self.clusters.items()}

    def metrics(self) -> list[Family]:
        """Metrics of the run itself; none for stored snapshots, which contain nothing about the
        state of the clusters.
        """
        from gpcatalog.emit.metrics import clusters

        if self.stored:
            return []
        labels = self.labels()
        return clusters(
            [
                (
                    labels[run.name],
                    len(run.snapshots) - len(set(run.snapshots) & set(run.unread)),
                    -1 if run.error else len(run.unread),
                    run.seconds,
                )
                for run in self.runs
            ]
        )

    def report(self) -> None:
        """Print a line for each database that was not read, on standard error."""
        for run in self.runs:
            if run.error:
                streams.log(
                    f"gpcatalog: {run.name}: {printable(run.error)}",
                    level="warning",
                    cluster=run.name,
                )
            for database, reason in run.unread.items():
                if reason != run.error:
                    streams.log(
                        printable(f"gpcatalog: {run.name}/{database}: {reason}"),
                        level="warning",
                        cluster=run.name,
                        database=database,
                    )

    def end(self, *, findings: bool = False) -> None:
        """Exit with the worst exit code. findings: whether there are findings at or above
        --fail-on.
        """
        from gpcatalog.fleet.run import worst

        code = worst(self.exit_code, Exit.FINDINGS if findings else Exit.CLEAN)
        if code is not Exit.CLEAN:
            raise streams.Finished(int(code))


class _Progress:
    """Progress on a terminal; one line for each cluster in a log."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.ended = 0

    def message(self, cluster: str, message: Message) -> None:
        """Process a message of a worker."""
        from gpcatalog.fleet.messages import ReadProgress

        if isinstance(message, ReadProgress):
            streams.progress(
                f"{self.ended} of {self.total} clusters read; {cluster}/{message.database}:"
                f" {message.what}"
            )

    def end(self, run: ClusterRun) -> None:
        """Report a cluster whose run ended."""
        from gpcatalog.model.quantity import plural

        self.ended += 1
        streams.progress_done()
        if sys.stderr.isatty():
            return
        text = f"{run.name}: {plural(len(run.snapshots), 'database')} read"
        if run.seconds is not None:
            text += f" in {run.seconds:.1f} s"
        if run.unread:
            text += f", {len(run.unread)} not read"
        if run.error:
            text += f"; {run.error}"
        streams.log(
            printable(text),
            level="warning" if run.error or run.unread else "info",
            event="cluster",
            cluster=run.name,
            databases_read=len(run.snapshots),
            databases_unread=len(run.unread),
            seconds=None if run.seconds is None else round(run.seconds, 3),
            **({"error": run.error} if run.error else {}),
        )


def stored(name: str, cluster: ClusterSettings) -> ClusterRun:
    """Return the newest stored snapshots of a cluster."""
    from gpcatalog.fleet.patterns import choose
    from gpcatalog.fleet.run import ClusterRun
    from gpcatalog.probes.target import target
    from gpcatalog.store import series

    run = ClusterRun(name=name)
    where = target(cluster.conninfo)
    host = where.host or "local"
    newest = {
        database: stored.path
        for database in series.databases(host, where.port)
        for stored in series.snapshots(series.folder(host, where.port, database))
    }
    found, absent = choose(newest, cluster.databases, cluster.exclude)
    run.snapshots = {database: newest[database] for database in found}
    for database in absent if found else ():
        run.unread[database] = "there is no stored snapshot"
        run.fail(Exit.USAGE)
    if not found:
        run.error = (
            f"there is no stored snapshot of {host}:{where.port}; take one:"
            f" gpcatalog snapshot take --cluster {name}"
        )
        run.fail(Exit.USAGE)
    return run


def _time_limit(choice: FleetChoice, fleet: Fleet) -> float | None:
    """The time limit of the whole run in seconds. Raises CatalogError (2)."""
    from gpcatalog.planner.policy import seconds

    if not choice.timeout:
        return fleet.timeout
    try:
        found = seconds(choice.timeout)
    except ValueError as e:
        raise CatalogError(f"--timeout: {e}") from None
    if found <= 0:
        raise CatalogError("--timeout must be more than 0")
    return found


@contextlib.contextmanager
def reading(
    choice: FleetChoice,
    command: str,
    *,
    store: bool,
    timeouts: Timeouts | None = None,
    files: FileChoice | None = None,
    scope: Scope = Scope.PLAN,
) -> Iterator[FleetRun]:
    """Take a snapshot of each database of the chosen clusters, or find the newest stored ones.

    command: its name, for the lock; store: whether new snapshots are stored in their series;
             otherwise they are removed at the end; scope: what is read for those. Raises CatalogError
             if the fleet file is invalid or the same run is active.
    """
    from gpcatalog.fleet import settings
    from gpcatalog.fleet.lock import only_run
    from gpcatalog.fleet.messages import Job
    from gpcatalog.fleet.run import read_all
    from gpcatalog.probes.timeouts import Timeouts as Limits

    fleet = settings.read(choice.config)
    clusters = fleet.chosen(choice.cluster or [])
    limit = _time_limit(choice, fleet)
    until = None if limit is None else time.monotonic() + limit
    if choice.stored:
        if choice.jobs:
            raise CatalogError("--jobs is for reading servers; --stored contacts none")
        runs = [stored(name, one) for name, one in clusters.items()]
        yield FleetRun(fleet=fleet, clusters=clusters, runs=runs, stored=True, until=until)
        return
    limits = timeouts or Limits()
    with contextlib.ExitStack() as stack:
        stack.enter_context(only_run(command, fleet.file, list(clusters)))
        jobs = {}
        for name, one in clusters.items():
            folder = ""
            if not store:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gpcatalog-"))
            jobs[name] = Job(
                conninfo=one.conninfo,
                databases=one.databases,
                exclude=one.exclude,
                folder=folder,
                statement_ms=limits.statement_ms,
                lock_ms=limits.lock_ms,
                files=files or FileChoice(),
                scope=Scope.STORED if store else scope,
            )
        shown = _Progress(len(jobs))
        found = {}
        with contextlib.closing(
            read_all(jobs, at_once=choice.jobs or fleet.jobs, timeout=limit, notify=shown.message)
        ) as ended:
            for run in ended:
                found[run.name] = run
                shown.end(run)
                if store:
                    streams.kept.extend(map(str, run.snapshots.values()))
        runs = [found[name] for name in clusters]
        yield FleetRun(fleet=fleet, clusters=clusters, runs=runs, stored=False, until=until)


def file_for(folder: Path, cluster: str, database: str, suffix: str) -> Path:
    """Return the file of a database in a folder of results: FOLDER/CLUSTER/DATABASE.SUFFIX."""
    from gpcatalog.store.series import safe_name

    place = folder / cluster
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise CatalogError(f"cannot create {place}: {e.strerror or e}") from None
    return place / f"{safe_name(database)}{suffix}"


def worker() -> None:
    """Read one cluster for a run over a fleet: a job on standard input, messages on standard output."""
    import msgspec

    from gpcatalog.fleet.messages import Job
    from gpcatalog.fleet.worker import read_cluster

    try:
        job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    except (msgspec.DecodeError, msgspec.ValidationError) as e:
        raise CatalogError(f"not a job of a fleet: {e}") from None
    read_cluster(job, lambda message: streams.out(msgspec.json.encode(message).decode() + "\n"))
