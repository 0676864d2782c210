"""The command `latency`: the time that the catalog costs, measured without DDL, or on request also
with its own DDL.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import options, streams
from gpcatalog.commands.options import (
    NONE_WRITTEN,
    ColorChoice,
    Colour,
    Conninfo,
    Format,
    LockTimeout,
    OutputFormat,
    SnapshotFile,
    StatementTimeout,
    Store,
    Written,
)
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.scope import Scope
from gpcatalog.services.series import place_for, series_of_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpcatalog.capacity.footprint import ProbeTable
    from gpcatalog.latency.result import Activity, Latency, Left
    from gpcatalog.model.timing import Curve, Timing
    from gpcatalog.probes.connection import Session
    from gpcatalog.probes.latency import ProbeResult
    from gpcatalog.store.snapshot import Snapshot


class LeafStorage(StrEnum):
    """Storage of the probe's table with leaves."""

    HEAP = "heap"
    AO_ROW = "ao_row"
    AO_COLUMN = "ao_column"


def predicted(
    generation: str,
    subjects: Sequence[ProbeTable],
    rounds: int,
    contents: Sequence[int],
    *,
    owned: bool,
) -> list[Left]:
    """The predicted dead rows of the probe on each instance, without counted rows."""
    from gpcatalog.capacity.footprint import footprint
    from gpcatalog.capacity.model import Instance
    from gpcatalog.latency.result import Left

    out = []
    for content in contents:
        where = Instance.COORDINATOR if content == -1 else Instance.SEGMENT
        found = footprint(generation, subjects, where, rounds=rounds, owned=owned)
        out.append(
            Left(
                content=content,
                predicted=dict(found.rows),
                predicted_total=found.total,
                predicted_bytes=found.bytes,
                counted=None,
                counted_total=None,
                equal=False,
            )
        )
    return out


def _forecast_line(left: Sequence[Left], rounds: int) -> str:
    from gpcatalog.model.quantity import count, plural, size

    parts = []
    for one in (*left[:1], *{o.predicted_total: o for o in left[1:]}.values()):
        who = (
            "the coordinator"
            if one.content == -1 and len(left) > 1
            else "the server"
            if one.content == -1
            else "each segment"
        )
        parts.append(
            f"{count(one.predicted_total)} dead rows (about {size(one.predicted_bytes)}) on {who}"
        )
    return f"{plural(rounds, 'round')} of rolled-back DDL will leave {', '.join(parts)} in the catalogs"


def _refuse(session: Session, subjects: Sequence[ProbeTable]) -> None:
    """Raise CatalogError (4) if active DDL must not run, or if this is unknown."""
    from gpcatalog.probes import latency as probe
    from gpcatalog.probes.connection import ProbeFailed

    try:
        probe.refuse(session, True, subjects)
    except ProbeFailed as e:
        raise CatalogError(
            f"cannot read the settings of the server: {e.reason}", exit_code=Exit.REFUSED
        ) from None


def _active(
    session: Session,
    conninfo: str,
    subjects: Sequence[ProbeTable],
    rounds: int,
    lock_timeout: float,
    statement_timeout: float,
) -> tuple[ProbeResult, list[Left]]:
    import msgspec

    from gpcatalog.probes import latency as probe

    contents = probe.instances(session)
    owned = probe.owned(session)
    generation = session.server.generation
    before = predicted(generation, subjects, rounds, contents, owned=owned)
    streams.log(_forecast_line(before, rounds))
    done = probe.active(
        session,
        conninfo,
        subjects,
        rounds=rounds,
        statement_ms=round(statement_timeout * 1000),
        lock_ms=round(lock_timeout * 1000),
    )
    after = []
    for one in predicted(generation, subjects, done.rounds, contents, owned=owned):
        counted = done.left.get(one.content)
        complete = counted is not None and not done.stopped
        after.append(
            msgspec.structs.replace(
                one,
                counted=counted if complete else None,
                counted_total=sum(counted.values()) if counted is not None and complete else None,
                equal=complete and counted == one.predicted,
            )
        )
    return done, after


def _curves(snapshot: Snapshot, current: Sequence[Timing]) -> tuple[Curve, ...]:
    """Curves of the series of the snapshot, including the snapshot itself."""
    from gpcatalog.growth.build import curves
    from gpcatalog.growth.points import timings_of
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import Snapshot

    head = snapshot.header
    found = [list(current)]
    for stored in series.snapshots(series_of_snapshot(snapshot)):
        if stored.path.resolve() == snapshot.path.resolve():
            continue
        with contextlib.suppress(CatalogError), Snapshot(stored.path) as other:
            if other.header["database_oid"] == head["database_oid"]:
                found.append(timings_of(other))
    return tuple(curves(found, generation=head["generation"]))


@dataclass
class Log:
    """The timings in the last hours of the server's log. reason: why the log could not be read,
    empty if it was read.
    """

    hours: float
    timings: list[Timing]
    settings: str
    reason: str = ""


@dataclass(kw_only=True)
class Results:
    """Measurements in addition to the snapshot.

    activity: DDL of other sessions; done, left: of the active probe; log: of the server's log;
              scans: of pg_attribute; unscanned: why they were not timed; None or empty if not
              requested
    """

    activity: tuple[Activity, ...] = ()
    done: ProbeResult | None = None
    left: Sequence[Left] = ()
    log: Log | None = None
    scans: Sequence[Timing] = ()
    unscanned: str = ""


def _result(snapshot: Snapshot, measured: Results) -> Latency:
    """Combine the timings of the snapshot, its series and the additional measurements."""
    from datetime import UTC

    from gpcatalog.audit.statement_times import statement_times
    from gpcatalog.growth.points import timings_of
    from gpcatalog.latency.locks import arithmetic
    from gpcatalog.latency.result import Latency, client_subjects
    from gpcatalog.latency.startup import startups

    done, log = measured.done, measured.log
    head = snapshot.header
    timings = timings_of(snapshot)
    found = _curves(snapshot, timings)
    partitions = snapshot.one(
        "SELECT coalesce(sum(CASE WHEN kind = 'table' THEN 1 ELSE leaves END), 0) AS n FROM"
        " root_total"
    )["n"]
    lost = snapshot.rows(
        "SELECT probe, status || ': ' || coalesce(reason, '') AS reason FROM coverage WHERE"
        " status <> 'read' AND (probe LIKE 'plan %' OR probe IN ('plan', 'scan_class',"
        " 'scan_class_dispatched', 'speed', 'speed_dispatched', 'describe', 'connect', 'ddl_activity', 'statements',"
        " 'session_start') OR probe LIKE 'client\\_%' ESCAPE '\\')"
    )
    return Latency(
        product=head["product"],
        version=head["version"],
        host=head["host"] or "",
        port=head["port"] or 0,
        database=head["database"],
        taken_at=head["taken_at"].replace(tzinfo=UTC),
        partitions=int(partitions),
        timings=tuple(timings),
        activity=measured.activity,
        locks=arithmetic(snapshot),
        rounds=done.rounds if done else 0,
        left=tuple(measured.left),
        stopped=done.stopped if done else "",
        curves=found,
        not_read=(
            *((r["probe"], r["reason"]) for r in lost),
            *([("server_log", log.reason)] if log and log.reason else []),
            *([("scan_attribute", measured.unscanned)] if measured.unscanned else []),
        ),
        log_hours=log.hours if log else None,
        log_settings=log.settings if log else "",
        startups=startups(snapshot, measured.scans),
        statements=statement_times(snapshot),
        clients=client_subjects(snapshot),
    )


def _emit(
    path: Path, measured: Results, *, calibrate: bool, format: Format, color: ColorChoice
) -> None:
    """Print the results of the snapshot at `path` and of other measurements.

    Raises CatalogError if a slope was requested (calibrate) and there are too few points.
    """
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(path) as snapshot:
        result = _result(snapshot, measured)
    if format is Format.JSON:
        streams.as_json(result)
    else:
        from gpcatalog.emit import growth_text, latency_text

        out = streams.console(color)
        latency_text.show(result, out)
        if calibrate:
            growth_text.curves(result.curves, out)
    if calibrate and not any(
        c.slope is not None for c in result.curves
    ):  # reported last: the measured results are already printed
        sys.stdout.flush()
        most = max((len({x for x, _ in c.points}) for c in result.curves), default=0)
        raise CatalogError(
            (
                f"too few points to calibrate: 3 different numbers of leaves are needed, and the"
                f" snapshots have {most}"
            )
            if most < 3
            else "cannot calibrate: "
            + next((c.state for c in result.curves if c.state), "no slope was found"),
            complete=True,
            hint=(
                "take a snapshot every day while the number of leaves changes: `gpcatalog"
                " snapshot take`"
            ),
        )


def _log(session: Session, hours: float) -> Log:
    """The last hours of the server's log. Raises CatalogError for a server without a view of its
    log.
    """
    from gpcatalog.probes import latency as probe
    from gpcatalog.probes.connection import ProbeFailed

    if not session.server.greenplum:
        raise CatalogError(
            (
                f"--server-log is not supported on {session.server.product}, which has no view of"
                " its log"
            ),
            hint=("run without --server-log; pg_stat_statements is always read if it is installed"),
        )
    try:
        return Log(hours, probe.server_log(session, hours), probe.logging(session))
    except ProbeFailed as e:
        return Log(hours, [], "", f"{e.status}: {e.reason}")


def _scans(session: Session) -> tuple[list[Timing], str]:
    """Timings of scans of pg_attribute, and why they could not be timed; the reason is empty if
    they were.
    """
    from gpcatalog.probes import latency as probe
    from gpcatalog.probes.connection import ProbeFailed

    try:
        return probe.attribute_scans(session), ""
    except ProbeFailed as e:
        return [], f"{e.status}: {e.reason}"


def _activity(session: Session) -> tuple[Activity, ...]:
    """DDL of other sessions; empty if it could not be read, which the snapshot records."""
    from gpcatalog.latency.result import activity_of
    from gpcatalog.probes import latency as probe
    from gpcatalog.probes.connection import ProbeFailed

    try:
        return activity_of(probe.activity(session))
    except ProbeFailed:
        return ()


# options that need --allow-ddl, the rest of the message, and its hint
_WITHOUT_DDL = (
    ("rounds", "leaves", "storage"),
    "is for the tables of --allow-ddl and has no effect without it",
    "add --allow-ddl, or remove the option",
)


def latency(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    allow_ddl: Annotated[
        bool,
        typer.Option(
            "--allow-ddl",
            help=(
                "Also measure DDL on new tables. It is always rolled back, but leaves dead"
                " catalog rows."
            ),
        ),
    ] = False,
    rounds: Annotated[
        int, typer.Option("--rounds", help="Number of rounds of --allow-ddl.", min=1, max=1000)
    ] = 5,
    leaves: Annotated[
        int,
        typer.Option(
            "--leaves",
            help="Number of leaves of the partitioned table of --allow-ddl.",
            min=0,
            max=20000,
        ),
    ] = 100,
    storage: Annotated[
        LeafStorage | None,
        typer.Option(
            "--storage",
            help="Storage of the table of --allow-ddl. Default: ao_column if supported.",
            show_default=False,
        ),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help=(
                "Compute the slope of this server from its snapshots, and show the"
                " published slope for comparison."
            ),
        ),
    ] = False,
    server_log: Annotated[
        float | None,
        typer.Option(
            "--server-log",
            metavar="HOURS",
            help=(
                "Also read DDL, lock waits and cancellations of the last HOURS from the"
                " Greenplum log. This reads all log files."
            ),
            min=0.01,
            max=24 * 366,
            show_default=False,
        ),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option(
            "--plan",
            metavar="TABLE",
            help=(
                "Also measure the planning time of a query on this table. Can be given several"
                " times. Not possible as superuser."
            ),
            show_default=False,
        ),
    ] = None,
    startup: Annotated[
        bool,
        typer.Option(
            "--startup",
            help=(
                "Also measure scans of pg_attribute, and print by how much reading it delays a"
                " session start that finds no valid pg_internal.init, at most."
            ),
        ),
    ] = False,
    clients: Annotated[
        bool,
        typer.Option(
            "--clients",
            help=(
                "Also measure the catalog queries of psql, pg_dump, gpbackup, DBeaver, pgAdmin,"
                " JDBC and ODBC, without what opens tables."
            ),
        ),
    ] = False,
    store: Store = True,
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 60.0,
    lock_timeout: LockTimeout = 1.0,
    written: Written = NONE_WRITTEN,
) -> None:
    """Measure how long catalog queries, planning and DDL take.

    Takes a snapshot as an audit does. It measures the time to connect and to scan catalogs, lists
    running DDL, and compares the locks of DDL with the lock slots of the server.

    Nothing is written unless --allow-ddl is given. Then gpcatalog creates, alters and drops its
    own tables in transactions that are always rolled back. The dead catalog rows that this leaves
    are reported before and after.

    --clients runs queries that read the same catalog rows as these programs. A later `gpcatalog
    plan` prints how long they would take after the plan.

    --plan runs EXPLAIN on a table. The planner evaluates expressions of indexes, constraints and
    policies, and so functions of the table's owner. gpcatalog refuses it for superusers, for roles
    that can run programs or read files on the server, and on tables that reach a user-defined
    function.

    Example: gpcatalog latency "host=mdw dbname=sales" --calibrate
    """
    if not allow_ddl:
        written.refuse(*_WITHOUT_DDL)
    if snapshot:
        from gpcatalog.store import series

        if conninfo or allow_ddl or plan or startup or clients or server_log is not None:
            raise CatalogError(
                "--snapshot cannot be combined with a connection, --allow-ddl, --plan, --startup,"
                " --clients or --server-log"
            )
        _emit(series.find(snapshot), Results(), calibrate=calibrate, format=format, color=color)
        return
    from gpcatalog.capacity.footprint import subjects as subjects_of
    from gpcatalog.model.names import split_name
    from gpcatalog.model.storage import Storage
    from gpcatalog.probes import tables
    from gpcatalog.probes.collect import collect
    from gpcatalog.probes.connection import connect
    from gpcatalog.probes.target import as_conninfo

    target = as_conninfo(conninfo)
    limits = options.timeouts(statement_timeout, lock_timeout)
    for text in plan or ():
        split_name(text)  # reports an invalid name before it connects
    with connect(target, timeouts=limits) as session:
        planned = [tables.named(session, text) for text in plan or ()]
        for table in planned:
            tables.refuse_planning(session, table)
        done: ProbeResult | None = None
        left: list[Left] = []
        if allow_ddl:
            chosen = subjects_of(
                session.server.generation,
                leaves=leaves,
                storage=Storage(storage.value) if storage else None,
            )
            _refuse(session, chosen)
            done, left = _active(session, target, chosen, rounds, lock_timeout, statement_timeout)
        log = _log(session, server_log) if server_log is not None else None
        activity = _activity(session)
        scans, unscanned = _scans(session) if startup else ([], "")
        with place_for(session, store=store) as path:
            timings = [*(done.timings if done else ()), *(log.timings if log else ())]
            collect(
                session,
                path,
                timings=timings,
                plan=[table.oid for table in planned],
                scope=Scope.STORED if store else Scope.REPORT,
                clients=clients,
            )
            if store:
                streams.kept.append(str(path))
            measured = Results(
                activity=activity, done=done, left=left, log=log, scans=scans, unscanned=unscanned
            )
            _emit(path, measured, calibrate=calibrate, format=format, color=color)
