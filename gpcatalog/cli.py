"""The command line: typer commands and exit codes; the only module that knows every part."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from gpcatalog import __version__
from gpcatalog.capacity.command import estimate
from gpcatalog.ddl.command import check
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.growth.command import growth
from gpcatalog.latency.command import latency
from gpcatalog.migration.command import migrate
from gpcatalog.planner.command import plan
from gpcatalog.report_command import metrics, report

if TYPE_CHECKING:
    from gpcatalog.audit.report import Report
    from gpcatalog.model.finding import Finding
    from gpcatalog.probes.connection import Session, Timeouts
    from gpcatalog.store.snapshot import Snapshot

app = typer.Typer(
    name="gpcatalog",
    help="Greenplum/PostgreSQL catalog bloat analyzer and partition planner. Reads only; writes nothing to a server.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
snapshot_app = typer.Typer(help="Stored snapshots: take, list, export, prune.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(snapshot_app, name="snapshot")


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: unwinds everything, so that no session and no half-written file is left."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Format(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """Severity from which on findings make the exit code 1."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"
    NEVER = "never"


class ColorChoice(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


Conninfo = Annotated[
    str,
    typer.Argument(
        metavar="[CONNINFO]",
        help='As psql takes it: a database name, "host=… port=… dbname=…" or postgresql://…; PG* variables, .pgpass and services count.',
        show_default=False,
    ),
]
SnapshotFile = Annotated[
    str, typer.Option("--snapshot", metavar="FILE", help="Use this snapshot; no server is contacted.", show_default=False)
]
StatementTimeout = Annotated[float, typer.Option(metavar="SECONDS", help="Longest that one probe may take.", min=0.1)]
LockTimeout = Annotated[float, typer.Option(metavar="SECONDS", help="Longest that a probe may wait for a lock.", min=0.01)]
OutputFormat = Annotated[Format, typer.Option("--format", help="Output format.")]
Colour = Annotated[ColorChoice, typer.Option("--color", help="When to colour.")]


def _timeouts(statement: float, lock: float) -> Timeouts:
    from gpcatalog.probes.connection import Timeouts

    return Timeouts(statement_ms=round(statement * 1000), lock_ms=round(lock * 1000))


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[2K… {line}", end="", file=sys.stderr, flush=True)


def _progress_done() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write_out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _save_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as e:
        raise CatalogError(f"cannot write {path}: {e.strerror}", hint="what was there before is untouched") from None
    finally:
        draft.unlink(missing_ok=True)


def _finish(findings: tuple[Finding, ...], fail_on: FailOn) -> None:
    from gpcatalog.model.finding import Severity

    if fail_on is not FailOn.NEVER and any(f.severity >= Severity[fail_on.name] for f in findings):
        raise typer.Exit(Exit.FINDINGS)


def _older_of(place: Path, snapshot: Snapshot) -> Path | None:
    """The oldest stored snapshot of the same database, at least an hour older and at most 90 days."""
    from datetime import UTC, timedelta

    from gpcatalog.store import series

    taken = snapshot.header["taken_at"].replace(tzinfo=UTC)
    for stored in series.snapshots(place):
        if timedelta(hours=1) <= taken - stored.taken_at <= timedelta(days=90) and stored.path != snapshot.path:
            return stored.path
    return None


def _report(path: Path, only: list[str], series_folder: Path | None = None) -> Report:
    """The judged report of one snapshot file."""
    import msgspec

    from gpcatalog import rules
    from gpcatalog.audit.build import build
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(path) as snapshot:
        header = snapshot.header
        place = series_folder or series.folder(header["host"] or "local", header["port"] or 0, header["database"])
        older_path = _older_of(place, snapshot)
        older = None
        try:
            if older_path is not None:
                try:
                    older = Snapshot(older_path)
                except CatalogError as e:
                    _say(f"gpcatalog: no forecast: {e.message}")
                if older is not None and older.header["database_oid"] != header["database_oid"]:
                    older.close()
                    older = None  # dropped and created anew under the same name
            report = build(snapshot, older)
        finally:
            if older is not None:
                older.close()
    return msgspec.structs.replace(report, findings=rules.run(report, only))


def _take(session: Session, save: str, store: bool) -> tuple[Path, bool]:
    """Take a snapshot of the session's database; returns its file and whether it is only temporary."""
    import tempfile
    from datetime import UTC, datetime

    from gpcatalog.probes.collect import collect
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import SUFFIX

    target = session.target
    if save:
        path, temporary = Path(save), False
    elif store:
        place = series.folder(target["host"] or "local", target["port"], target["dbname"])
        path, temporary = series.new_path(place, datetime.now(UTC)), False
    else:
        path, temporary = Path(tempfile.mkdtemp(prefix="gpcatalog-")) / f"audit{SUFFIX}", True
    try:
        collect(session, path, _progress)
    except BaseException:
        if temporary:
            _remove_temporary(path)
        raise
    finally:
        _progress_done()
    return path, temporary


def _remove_temporary(path: Path) -> None:
    import shutil

    shutil.rmtree(path.parent, ignore_errors=True)


@contextmanager
def _snapshot_of(conninfo: str, snapshot: str, *, save: str, store: bool, timeouts: Timeouts) -> Iterator[Path]:
    """The snapshot file that a command is to think about: the one named, or a new one."""
    from gpcatalog.probes.connection import connect
    from gpcatalog.store import series

    if snapshot:
        if conninfo:
            raise CatalogError("give a connection or --snapshot, not both")
        yield series.find(snapshot)
        return
    with connect(conninfo, timeouts=timeouts) as session:
        path, temporary = _take(session, save, store)
    try:
        yield path
    finally:
        if temporary:
            _remove_temporary(path)


def _emit_report(report: Report, format: Format, color: ColorChoice) -> None:
    if format is Format.JSON:
        from gpcatalog.emit.as_json import encode

        _write_out(encode(report))
        return
    from gpcatalog.emit import audit_text
    from gpcatalog.emit.terminal import Color, console

    audit_text.show(report, console(Color(color.value)))


@app.command()
def audit(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    demo: Annotated[
        bool, typer.Option("--demo", help="Audit a private PostgreSQL filled with a bad catalog; it is removed afterwards.")
    ] = False,
    all_databases: Annotated[bool, typer.Option("--all-databases", help="Audit every database of the cluster, with one verdict.")] = False,
    save: Annotated[str, typer.Option("--save", metavar="FILE", help="Keep the snapshot in this file.", show_default=False)] = "",
    store: Annotated[bool, typer.Option("--store/--no-store", help="Keep the snapshot in the series of this database.")] = True,
    maintenance: Annotated[
        str, typer.Option("--maintenance", metavar="FILE", help="Write the SQL that gives the reclaimable bytes back.", show_default=False)
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="RULE", help="Run this rule only; may be repeated.", show_default=False)
    ] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit with 1 for findings of this severity or worse.")] = FailOn.NEVER,
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
) -> None:
    """Where the catalog stands, why, and what to do.

    Reads the system catalogs of one database on the coordinator and all segments in one pass, stores the snapshot, and
    reports. It never writes to the server, takes nothing above AccessShareLock and waits for no busy table.

    Example: gpcatalog audit "host=mdw dbname=sales"
    """
    from gpcatalog import rules

    chosen = list(only or [])
    for id in chosen:
        rules.page(id)  # a wrong name is told before any work
    limits = _timeouts(statement_timeout, lock_timeout)
    if sum((bool(conninfo), bool(snapshot), demo)) > 1:
        raise CatalogError("give one of CONNINFO, --snapshot and --demo")
    if all_databases:
        if snapshot or demo or save or maintenance:
            raise CatalogError("--all-databases goes with a connection only, without --save and --maintenance")
        _audit_all(conninfo, chosen, store, limits, format, color, fail_on)
        return
    if demo:
        from gpcatalog.lab.demo import demo_server

        with demo_server(_progress) as server:
            _progress("auditing")
            _audit_one(server.conninfo("shop"), "", chosen, save, False, maintenance, limits, format, color, fail_on)
        return
    _audit_one(conninfo, snapshot, chosen, save, store, maintenance, limits, format, color, fail_on)


def _audit_one(
    conninfo: str,
    snapshot: str,
    only: list[str],
    save: str,
    store: bool,
    maintenance: str,
    timeouts: Timeouts,
    format: Format,
    color: ColorChoice,
    fail_on: FailOn,
) -> None:
    with _snapshot_of(conninfo, snapshot, save=save, store=store, timeouts=timeouts) as path:
        report = _report(path, only)
    if maintenance:
        from gpcatalog.migration.maintenance import script

        _save_text(Path(maintenance), script(report))
    _emit_report(report, format, color)
    if maintenance:
        _say(f"maintenance script: {maintenance}")
    _finish(report.findings, fail_on)


def _audit_all(
    conninfo: str, only: list[str], store: bool, timeouts: Timeouts, format: Format, color: ColorChoice, fail_on: FailOn
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
            raise CatalogError(f"the databases cannot be listed: {e.reason}", exit_code=Exit.UNREACHABLE) from None
    reports, lost = [], []
    for name in names:
        try:
            with _snapshot_of(make_conninfo(base, dbname=name), "", save="", store=store, timeouts=timeouts) as path:
                reports.append(_report(path, only))
        except CatalogError as e:
            if e.exit_code != Exit.UNREACHABLE:
                raise
            lost.append((name, e.message))
    if not reports:
        raise CatalogError(
            "no database of this cluster could be audited", hint="; ".join(f"{n}: {m}" for n, m in lost), exit_code=Exit.UNREACHABLE
        )
    cluster = combine(reports, lost)
    if format is Format.JSON:
        from gpcatalog.emit.as_json import encode

        _write_out(encode(cluster))
    else:
        from gpcatalog.emit import cluster_text
        from gpcatalog.emit.terminal import Color, console

        cluster_text.show(cluster, console(Color(color.value)))
    _finish(cluster.findings, fail_on)


@snapshot_app.command("take")
def snapshot_take(
    conninfo: Conninfo = "",
    save: Annotated[str, typer.Option("--save", metavar="FILE", help="Keep it in this file, not in the series.", show_default=False)] = "",
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
) -> None:
    """Take one snapshot and store it; prints the file's path.

    Reads what an audit reads, with the same promises: it never writes to the server.

    Example: gpcatalog snapshot take "host=mdw dbname=sales"
    """
    from gpcatalog.probes.connection import connect

    with connect(conninfo, timeouts=_timeouts(statement_timeout, lock_timeout)) as session:
        path, _ = _take(session, save, True)
    _write_out(f"{path}\n")


@snapshot_app.command("list")
def snapshot_list(format: OutputFormat = Format.TEXT, color: Colour = ColorChoice.AUTO) -> None:
    """List the stored snapshots, by server and database, oldest first.

    Reads file names and sizes only; no server is contacted.

    Example: gpcatalog snapshot list
    """
    from gpcatalog.store import series

    stored = list(series.snapshots())
    if format is Format.JSON:
        from gpcatalog.emit.as_json import encode

        rows = [{"path": str(s.path), "taken_at": s.taken_at, "server": s.server, "database": s.database, "bytes": s.bytes} for s in stored]
        _write_out(encode({"schema": "gpcatalog.snapshots/1", "snapshots": rows}))
        return
    from gpcatalog.emit.terminal import Color, console, table
    from gpcatalog.model.quantity import size

    out = console(Color(color.value))
    lines = [(s.server, s.database, f"{s.taken_at:%Y-%m-%d %H:%M:%S}", size(s.bytes), s.path.name) for s in stored]
    if lines:
        out.print(table("", ("server", "database", "taken (UTC)", "bytes", "file"), lines, left=2))
    out.print(f"{len(stored)} snapshots under {series.home()}")


@snapshot_app.command("export")
def snapshot_export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A snapshot file, or the name of a stored one.")],
    to: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder to be made; one CSV file a table.")],
) -> None:
    """Write a snapshot's tables as CSV files, for other tools.

    Reads the snapshot only; the folder must not exist yet.

    Example: gpcatalog snapshot export 20261121T101500Z sales-catalog
    """
    from gpcatalog.store import series
    from gpcatalog.store.export import export
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(series.find(file)) as snapshot:
        rows = export(snapshot, to)
    _say(f"{len(rows)} tables, {sum(rows.values()):,} rows in {to}")


@snapshot_app.command("prune")
def snapshot_prune(
    all_days: Annotated[
        int, typer.Option("--keep-all", metavar="DAYS", help="Keep every snapshot of the last DAYS; older ones one a week.")
    ] = 30,
    totals_days: Annotated[
        int, typer.Option("--keep-leaves", metavar="DAYS", help="Snapshots older than DAYS keep totals a table only.")
    ] = 180,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would happen.")] = False,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Thin the stored snapshots: all of the last days, then one a week, then totals only.

    Touches snapshot files of this user only. The newest of every series stays whole. Safe to interrupt and to repeat.

    Example: gpcatalog snapshot prune --keep-all 30 --keep-leaves 180 --dry-run
    """
    from datetime import UTC, datetime
    from itertools import groupby

    from gpcatalog.emit.terminal import Color, console, table
    from gpcatalog.model.quantity import size
    from gpcatalog.store import series
    from gpcatalog.store.prune import Fate, Policy, decide, prune

    policy = Policy(all_days, totals_days)
    by_series = groupby(series.snapshots(), key=lambda s: (s.server, s.database))
    decisions = [d for _, stored in by_series for d in decide(stored, datetime.now(UTC), policy)]
    due = [d for d in decisions if d.fate is not Fate.KEEP]
    out = console(Color(color.value))
    if due:
        rows = [(d.stored.server, d.stored.database, d.stored.path.name, d.fate.value, size(d.bytes)) for d in due]
        out.print(table("", ("server", "database", "file", "fate", "bytes"), rows, left=4))
    if dry_run:
        out.print(f"{len(due)} of {len(decisions)} snapshots would change; nothing was touched")
        return
    freed, failed = prune(due)
    out.print(f"{len(due) - len(failed)} of {len(decisions)} snapshots thinned or removed, {size(freed)} given back")
    if failed:
        path, why = failed[0]
        raise CatalogError(f"{len(failed)} snapshots could not be thinned, {path}: {why}", hint="they are as they were; look at the first")


@app.command("rules")
def rules_command(
    id: Annotated[str, typer.Argument(metavar="[ID]", help="A rule; without it all are listed.", show_default=False)] = "",
    color: Colour = ColorChoice.AUTO,
) -> None:
    """List the rules, or print one rule's page.

    Reads nothing but this program.

    Example: gpcatalog rules segment-catalog-bloat
    """
    from gpcatalog import rules
    from gpcatalog.ddl import checks
    from gpcatalog.emit.terminal import Color, console, table, text

    out = console(Color(color.value))
    if not id:
        for title, room in (("Of gpcatalog audit", rules), ("Of gpcatalog check", checks)):
            pages = [(name, room.page(name)[""]) for name in room.every()]
            out.print(table(title, ("rule", "finds"), pages, left=2))
            out.print()
        return
    page = checks.page(id) if id in checks.every() else rules.page(id)
    out.print(text(id, "bold"))
    out.print(text(page.pop("")))
    for part, body in page.items():
        out.print()
        out.print(text(part, "bold"))
        out.print(text(body))


@app.command("probes")
def probes_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A probe; without it all are listed.", show_default=False)] = "",
    conninfo: Annotated[
        str,
        typer.Option(
            "--server", metavar="CONNINFO|NAME", help="The server to write for: a connection, or greenplum6, greenplum7, postgres15 …"
        ),
    ] = "greenplum6",
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Print the SQL that a probe would run on a server, before anyone runs it.

    With a connection it asks that server's version and nothing else.

    Example: gpcatalog probes relations --server "host=mdw dbname=sales"
    """
    from gpcatalog.emit.terminal import Color, console, table
    from gpcatalog.model.server import named
    from gpcatalog.probes import library
    from gpcatalog.probes.connection import connect

    server = named(conninfo)
    if server is None:
        with connect(conninfo) as session:
            server = session.server
    if name:
        found = library.probe(name, server)
        _write_out(f"-- {found.origin}/{found.name}.sql, for {server.product} {server.version}\n{found.sql.rstrip()}\n")
        return
    rows = []
    for each in library.names(server):
        one = library.probe(each, server)
        rows.append((each, one.origin, one.prose))
    console(Color(color.value)).print(table("", ("probe", "from", "reads"), rows, left=3))


@app.command("schema")
def schema_command(
    name: Annotated[str, typer.Argument(metavar="audit|cluster|estimate|growth", help="Which output.")] = "audit",
) -> None:
    """Print the JSON Schema of a `--format json` output.

    Reads nothing but this program.

    Example: gpcatalog schema audit
    """
    import msgspec

    from gpcatalog.audit.cluster import Cluster
    from gpcatalog.audit.report import Report
    from gpcatalog.capacity.estimate import Estimate
    from gpcatalog.emit.as_json import json_schema
    from gpcatalog.growth.result import Growth

    kinds: dict[str, type[msgspec.Struct]] = {"audit": Report, "cluster": Cluster, "estimate": Estimate, "growth": Growth}
    if name not in kinds:
        raise CatalogError(f"no output is called {name}", hint="one of: " + ", ".join(kinds))
    _write_out(json_schema(kinds[name]))


@app.command("lab")
def lab_command(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Keep the server's data here instead of removing it.")
    ] = Path(),
) -> None:
    """Keep a private PostgreSQL with the demo's bad catalog running, for playing, until Ctrl-C.

    Starts a server of its own on the loopback address; touches no other.

    Example: gpcatalog lab
    """
    import time

    from gpcatalog.lab.demo import demo_server

    with demo_server(_progress, keep_at=folder if folder != Path() else None) as server:
        _progress_done()
        _write_out(f"{server.conninfo('shop')}\n")
        _say('ready: gpcatalog audit "' + server.conninfo("shop") + '" — Ctrl-C stops it')
        while True:
            time.sleep(3600)


app.command("growth")(growth)
app.command("latency")(latency)
app.command("report")(report)
app.command("metrics")(metrics)
app.command("estimate")(estimate)
app.command("plan")(plan)
app.command("migrate")(migrate)
app.command("check")(check)


def _version(value: bool) -> None:
    if value:
        _write_out(f"gpcatalog {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
) -> None:
    pass


def _unwind(number: int, _frame: Any) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough: cleaning up must not be interrupted
    raise Interrupted(number)


def main() -> NoReturn:
    """Run a command and turn what happens into an exit code and at most one message."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _unwind)
    code = 0
    try:
        app()
    except CatalogError as e:
        from gpcatalog.model.names import printable

        _progress_done()
        _say(f"gpcatalog: {printable(e.message)}")
        if e.hint:
            _say(f"  hint: {printable(e.hint)}")
        code = int(e.exit_code)
    except Interrupted as e:
        _progress_done()
        _say("gpcatalog: interrupted; nothing was left behind")
        code = 128 + e.number
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(bool(e.code))
    except Exception as e:
        _progress_done()
        if os.environ.get("GPCATALOG_DEBUG"):
            raise
        _say(f"gpcatalog: internal error: {type(e).__name__}: {' '.join(str(e).split())[:300]}")
        _say("  hint: this is a bug; run again with GPCATALOG_DEBUG=1 and report what it prints")
        code = int(Exit.INTERNAL)
    sys.exit(code)


if __name__ == "__main__":
    main()
