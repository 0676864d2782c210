"""Timings of a server: connecting, scanning, planning; and, only on request, DDL that is always
rolled back.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from gpcatalog.capacity.footprint import ProbeTable
from gpcatalog.capacity.generation import generation
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.capacity.locks import Statement, locks
from gpcatalog.errors import CatalogError, Exit, raise_if_interrupted
from gpcatalog.model.names import qualified, quote_ident, quote_literal
from gpcatalog.model.storage import Storage
from gpcatalog.model.timing import (
    ACTIVE_SESSIONS,
    ATTRIBUTE_SCAN,
    ATTRIBUTE_SCAN_DISPATCHED,
    LOCK_MANAGER_WAITS,
    Timing,
    summed_up,
)
from gpcatalog.probes import library
from gpcatalog.probes.connection import APPLICATION_NAME, Dialer, ProbeFailed, Session
from gpcatalog.probes.target import parameters

ROUNDS = 3  # rounds of each passive measurement
PLAN_MS = 10_000  # time limit in ms for planning one of them
LOCK_SHARE = 0.1  # largest share of the lock slots that one measurement may use for a moment

Clock = Callable[[], float]


@contextlib.contextmanager
def _timed(into: list[float], clock: Clock = time.perf_counter) -> Iterator[None]:
    begun = clock()
    yield
    into.append((clock() - begun) * 1000)


@dataclass(frozen=True)
class Root:
    """A partitioned table to be planned. locks: relations that the planner locks for a moment."""

    schema: str
    name: str
    leaves: int
    locks: int


def connecting(session: Session, rounds: int = ROUNDS) -> Timing:
    """Time to open a new session until its first result: process, authentication, relation cache of
    the catalogs.
    """
    took: list[float] = []
    for _ in range(rounds):
        with _timed(took):
            fresh = session.fresh()
        fresh.close()
    return summed_up("connect", took)


def answering(session: Session, rounds: int = ROUNDS) -> Timing:
    """Time of a statement that reads nothing: the round trip to the server."""
    took: list[float] = []
    for _ in range(rounds):
        with _timed(took):
            session.query("SELECT 1 AS answer")
    return summed_up("answer", took)


def scanning(session: Session, probe: str, what: str, leaves: int, rounds: int = ROUNDS) -> Timing:
    """Time one probe several times."""
    took: list[float] = []
    for _ in range(rounds):
        with _timed(took):
            session.rows(probe)
    return summed_up(what, took, leaves=leaves)


def planning(session: Session, root: Root) -> list[Timing]:
    """Time EXPLAIN of a query over the whole table, twice in a new session: the difference is the
    time to build the relation cache.
    """
    cold: list[float] = []
    warm: list[float] = []
    table = qualified(root.schema, root.name)
    subject = f"{root.schema}.{root.name}"
    with session.fresh() as fresh:
        limit = min(PLAN_MS, session.timeouts.statement_ms)
        fresh.query(f"SELECT pg_catalog.set_config('statement_timeout', '{limit}', false)")
        statement = library.probe("plan", session.server).statement(table=table)
        with _timed(cold):
            fresh.query(statement)
        with _timed(warm):
            fresh.query(statement)
    built = [max(0.0, cold[0] - warm[0])]
    return [
        summed_up("plan", cold, subject=subject, leaves=root.leaves),
        summed_up("plan again", warm, subject=subject, leaves=root.leaves),
        summed_up("relation cache", built, subject=subject, leaves=root.leaves),
    ]


def attribute_scans(session: Session) -> list[Timing]:
    """Time scans of pg_attribute as in a session start, in a separate session. They use no parallel
    workers, and do not record their position, where a VACUUM FULL could start its scan.
    """
    found = []
    with session.fresh() as fresh:
        fresh.query(
            "SELECT pg_catalog.set_config(name, CASE name WHEN 'synchronize_seqscans' THEN 'off'"
            " ELSE '0' END, false) FROM pg_catalog.pg_settings WHERE name IN"
            " ('synchronize_seqscans', 'max_parallel_workers_per_gather')"
        )
        for probe, what in (
            ("scan_attribute", ATTRIBUTE_SCAN),
            ("scan_attribute_dispatched", ATTRIBUTE_SCAN_DISPATCHED),
        ):
            if probe in library.names(session.server):
                found.append(scanning(fresh, probe, what, 0))
    return found


def statements(session: Session) -> list[Timing]:
    """DDL counted by pg_stat_statements, by its first two words; empty if the extension is not
    installed.

    Raises ProbeFailed if it is installed but may not be read or is not loaded.
    """
    place = session.rows("statements_schema")
    if not place:
        return []
    home = place[0]["schema"]
    rows = session.rows("statements", schema=quote_ident(home), schema_name=home)
    return [
        Timing(
            "statement",
            r["command"] or "?",
            None,
            r["calls"],
            r["min_ms"],
            None,
            None,
            r["mean_ms"],
        )
        for r in rows
    ]


def activity(session: Session) -> list[dict[str, Any]]:
    """Current DDL: pid, role, database, command, state ("running", "waiting"), seconds,
    blocked_by.
    """
    return session.rows("ddl_activity")


def activity_timings(rows: Sequence[dict[str, Any]]) -> list[Timing]:
    """Running and waiting DDL as numbers of sessions, with their durations."""
    out = []
    for state in ("running", "waiting"):
        ages = [max(0.0, r["seconds"] or 0.0) * 1000 for r in rows if r["state"] == state]
        out.append(summed_up(f"{state} ddl", ages) if ages else Timing(f"{state} ddl"))
    return out


def lock_manager_waits(session: Session) -> list[Timing]:
    """Sessions that run a statement, and sessions that wait for the shared lock table, by instance:
    of several observations, the one with the most waiting sessions.
    """
    most: dict[int, tuple[int, int]] = {}
    for _ in range(ROUNDS):
        for row in session.rows("lock_manager_waits"):
            seen = (row["waiting"], row["active"])
            most[row["content"]] = max(seen, most.get(row["content"], seen))
    return [
        Timing(what, "", content, n)
        for content, (waiting, active) in sorted(most.items())
        for what, n in ((ACTIVE_SESSIONS, active), (LOCK_MANAGER_WAITS, waiting))
    ]


def writes(statistics: Iterable[dict[str, Any]]) -> list[Timing]:
    """Counters of the server for rows written to the catalogs that grow with every table, from the
    probe catalog_statistics.
    """
    return [
        Timing(f"rows {kind}", row["relation"], row["content"], row[kind] or 0)
        for row in statistics
        if row["relation"] in ("pg_class", "pg_attribute")
        for kind in ("inserted", "updated", "deleted")
    ]


def server_log(session: Session, hours: float) -> list[Timing]:
    """DDL, lock waits and cancellations of the last hours in the log of the coordinator, through
    gp_toolkit.

    Raises ProbeFailed if gp_toolkit is missing, the role may not read the log, or reading exceeds
    the statement timeout.
    """
    return [Timing(row["what"], row["subject"], -1, row["n"], *(row[f"{k}_ms"] for k in ("min", "median", "p95", "mean")))
            for row in session.rows("server_log", hours=f"{hours:.6g}")]  # fmt: skip


def logging(session: Session) -> str:
    """The settings that determine which statements are logged, in one line."""
    names = ("log_statement", "log_min_duration_statement", "log_duration", "log_lock_waits")
    rows = session.query(
        "SELECT name, setting FROM pg_catalog.pg_settings WHERE name = ANY (%s)", [list(names)]
    )
    found = {row["name"]: row["setting"] for row in rows}
    return ", ".join(f"{name} {found[name]}" for name in names if name in found)


def affordable(root: Root, slots: int | None) -> bool:
    """Whether planning needs a small share of the lock slots. slots: None if the settings were not
    read.
    """
    return slots is None or root.locks <= LOCK_SHARE * slots


def owned(session: Session) -> bool:
    """Whether objects of the session's role have an owner in pg_shdepend: any role except the
    bootstrap superuser (oid 10).
    """
    row = session.query(
        "SELECT oid::int8 AS oid FROM pg_catalog.pg_roles WHERE rolname = current_user"
    )
    return bool(row[0]["oid"] != 10)


# --- the active probe -----------------------------------------------------------------------------


@dataclass
class ProbeResult:
    """The measurements of the active probe and its dead rows.

    timings:  create, add column, drop and rollback of each subject
    rounds:   number of complete rounds
    left:     dead row versions by instance and catalog, counted; None for an instance that could
              not be counted
    stopped:  why it ended early; empty if it did not
    """

    timings: list[Timing] = field(default_factory=list)
    rounds: int = 0
    left: dict[int, dict[str, int] | None] = field(default_factory=dict)
    stopped: str = ""


def refuse(session: Session, allowed: bool, subjects: Sequence[ProbeTable]) -> None:
    """Raise CatalogError (4) if active DDL must not run: not allowed by the user, a standby,
    missing privilege, event triggers of other roles, or too few lock slots.
    """
    if not allowed:
        raise CatalogError(
            "active DDL is off",
            hint="enable it with --allow-ddl; it is always rolled back",
            exit_code=Exit.REFUSED,
        )
    if session.facts["standby"]:
        raise CatalogError(
            "this server is a standby and does not accept DDL",
            hint="connect to the primary, or run without --allow-ddl",
            exit_code=Exit.REFUSED,
        )
    may = session.query(
        "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') AS may"
    )[0]["may"]
    if not may:
        raise CatalogError(
            (
                f"role {session.facts['role']} has no CREATE privilege on database"
                f" {session.facts['database']}"
            ),
            hint="run GRANT CREATE ON DATABASE, or run without --allow-ddl",
            exit_code=Exit.REFUSED,
        )
    owners = session.rows("event_trigger_owners")[0]["owners"]
    if owners:
        raise CatalogError(
            f"DDL would run event triggers whose functions belong to {owners}, with the rights of"
            f" {session.facts['role']}",
            hint="run without --allow-ddl, or make a superuser the owner of the functions",
            exit_code=Exit.REFUSED,
        )
    settings = {row["name"]: row["setting"] for row in session.rows("settings")}
    slots = lock_slots(settings)
    gen = generation(session.server.generation)
    for subject in subjects:
        held = locks(gen, subject.shape(owned=False), subject.leaves)
        need = max(held[Statement.CREATE] + held[Statement.DROP])
        if slots is None:
            raise CatalogError(
                "the settings that determine the size of the lock table cannot be read",
                hint="run without --allow-ddl, or allow the role to read pg_settings",
                exit_code=Exit.REFUSED,
            )
        if need > LOCK_SHARE * slots:
            raise CatalogError(
                f"creating and dropping {subject.leaves:,} leaves needs {need:,} of {slots:,}"
                " lock slots, which is more than a tenth",
                hint="use fewer --leaves",
                exit_code=Exit.REFUSED,
            )


_WITH = {  # for Greenplum, independently of the default storage of new tables
    Storage.HEAP: " WITH (appendonly=false)",
    Storage.AO_ROW: " WITH (appendonly=true)",
    Storage.AO_COLUMN: " WITH (appendonly=true, orientation=column)",
}


def ddl(subject: ProbeTable, schema: str, *, greenplum: bool) -> list[str]:
    """The statements that create the subject."""
    table = f"{schema}.probe"
    columns = ", ".join(
        ["k int4", "note text", *(f"c{n} int4" for n in range(subject.columns - 2))]
    )
    ending = f"{_WITH[subject.storage]} DISTRIBUTED BY (k)" if greenplum else ""
    if not subject.leaves:
        return [f"CREATE TABLE {table} ({columns}){ending}"]
    if greenplum:
        return [
            f"CREATE TABLE {table} ({columns}){ending} PARTITION BY RANGE (k) (START (0) END"
            f" ({subject.leaves}) EVERY (1))"
        ]
    leaves = [
        f"CREATE TABLE {table}_{n} PARTITION OF {table} FOR VALUES FROM ({n}) TO ({n + 1})"
        for n in range(subject.leaves)
    ]
    return [f"CREATE TABLE {table} ({columns}) PARTITION BY RANGE (k)", *leaves]


class _WriteConnection:
    """The connection of the active probe: it may write, and all its transactions end with
    ROLLBACK.
    """

    def __init__(self, conninfo: str, session: Session, statement_ms: int, lock_ms: int) -> None:
        limits = replace(session.timeouts, statement_ms=statement_ms, lock_ms=lock_ms)
        name = f"{APPLICATION_NAME} latency"
        dialer = Dialer(
            parameters(conninfo),
            limits,
            application_name=name,
            read_only=False,
            server=session.server,
        )
        self.greenplum = session.server.greenplum
        self.conn = dialer.open()
        self.sees_dead = self.greenplum and self._has("gp_select_invisible")

    def _has(self, setting: str) -> bool:
        try:
            self.conn.execute(f"SHOW {setting}".encode())
        except psycopg.errors.UndefinedObject:
            return False
        return True

    def run(self, statement: str) -> None:
        """Run one statement of this program."""
        self.conn.execute(f"/* gpcatalog:latency */ {statement}".encode())

    def counters(self) -> Counter[str]:
        """Row versions that this transaction has written to each catalog of the entry instance."""
        rows = self.conn.execute(
            "SELECT c.relname::text, pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) +"
            " pg_catalog.pg_stat_get_xact_tuples_updated(c.oid)  FROM pg_catalog.pg_class c WHERE"
            " c.relnamespace = 11 AND c.relkind = 'r'"
        ).fetchall()
        return Counter({name: n for name, n in rows if n})

    def on_segments(self, schema: str, catalogs: Sequence[str]) -> dict[int, Counter[str]]:
        """Row versions that this transaction has written on each segment, including dead ones:
        those with the xmin of the row of its schema.
        """
        # gp_select_invisible shows row versions that are no longer visible; an index-only scan
        # cannot
        self.run("SET LOCAL gp_select_invisible = on")
        self.run("SET LOCAL enable_indexonlyscan = off")
        xmins = self.conn.execute(
            "SELECT gp_segment_id, xmin::text FROM gp_dist_random('pg_catalog.pg_namespace') WHERE"
            " nspname = %s",
            [schema],
        ).fetchall()
        which = " ".join(
            f"WHEN {int(content)} THEN {quote_literal(xmin)}" for content, xmin in xmins
        )
        found: dict[int, Counter[str]] = {int(content): Counter() for content, _ in xmins}
        for catalog in catalogs:
            statement = (
                "/* gpcatalog:latency */ SELECT gp_segment_id, pg_catalog.count(*)"
                f" FROM gp_dist_random('pg_catalog.{quote_ident(catalog)}')"
                f" WHERE xmin::text = CASE gp_segment_id {which} END GROUP BY 1"
            )
            for content, n in self.conn.execute(statement.encode()).fetchall():
                found[int(content)][catalog] += n
        return found


def _probe_once(
    writing: _WriteConnection,
    subject: ProbeTable,
    left: dict[int, Counter[str]],
    *,
    countable: bool,
) -> dict[str, list[float]]:
    """Create, alter and drop a subject in a transaction that is rolled back; return the
    milliseconds of each statement and of the rollback. After an error, the transaction is open.

    left: written row versions by instance and catalog; those of this transaction are added
    countable: whether the server counts rows, so that the modified catalogs are known
    """
    schema = f"gpcatalog_{secrets.token_hex(6)}"
    times: dict[str, list[float]] = {"create": [], "add column": [], "drop": [], "rollback": []}
    writing.run("BEGIN")
    # inside the transaction: between transactions the server resets the counters
    before = writing.counters()
    writing.run(f"CREATE SCHEMA {schema}")
    statements = ddl(subject, schema, greenplum=writing.greenplum)
    with _timed(times["create"]):
        for statement in statements:
            writing.run(statement)
    with _timed(times["add column"]):
        writing.run(f"ALTER TABLE {schema}.probe ADD COLUMN added int4")
    with _timed(times["drop"]):
        writing.run(f"DROP TABLE {schema}.probe")
    written = writing.counters() - before
    left[-1] += written
    if writing.sees_dead and countable:
        for content, counted in writing.on_segments(schema, sorted(written)).items():
            left.setdefault(content, Counter()).update(counted)
    with _timed(times["rollback"]):
        writing.run("ROLLBACK")
    return times


def active(
    session: Session,
    conninfo: str,
    subjects: Sequence[ProbeTable],
    *,
    rounds: int,
    statement_ms: int = 60_000,
    lock_ms: int = 500,
    progress: Callable[[str], None] = lambda _: None,
) -> ProbeResult:
    """Create, alter and drop each subject `rounds` times, each time in a transaction that is rolled
    back, and count the dead rows.

    The caller has called `refuse` and reported the expected dead rows. Raises CatalogError (3) if
    the server cannot be reached; a timeout or an error of the server ends the probe early and is
    reported in `stopped`.
    """
    done = ProbeResult()
    took: dict[tuple[str, ProbeTable], list[float]] = {}
    try:
        writing = _WriteConnection(conninfo, session, statement_ms, lock_ms)
    except psycopg.Error as e:
        raise CatalogError(
            f"cannot connect: {' '.join(str(e).split())}", exit_code=Exit.UNREACHABLE
        ) from None
    left: dict[int, Counter[str]] = {-1: Counter()}
    countable = (
        session.query("SELECT pg_catalog.current_setting('track_counts') AS v")[0]["v"] == "on"
    )
    try:
        for number in range(1, rounds + 1):
            for subject in subjects:
                progress(f"round {number} of {rounds}: {subject.word}")
                for what, values in _probe_once(
                    writing, subject, left, countable=countable
                ).items():
                    took.setdefault((what, subject), []).extend(values)
            done.rounds = number
    except psycopg.Error as e:
        raise_if_interrupted()  # a signal can end a statement with an error
        with contextlib.suppress(psycopg.Error):
            writing.run("ROLLBACK")
        primary = getattr(e.diag, "message_primary", None) or str(e)
        done.stopped = re.sub(r"\s+", " ", primary).strip()
    finally:
        with contextlib.suppress(Exception):
            writing.conn.close()  # the server rolls back a transaction that is still open
    done.timings = [
        summed_up(what, values, subject=subject.word, leaves=subject.leaves)
        for (what, subject), values in took.items()
    ]
    for content in sorted(left):
        done.left[content] = dict(sorted(left[content].items())) if countable else None
    return done


def instances(session: Session) -> list[int]:
    """Content ids of all primaries, the coordinator first; only -1 on PostgreSQL."""
    if not session.server.greenplum:
        return [-1]
    try:
        return sorted(
            {int(row["content"]) for row in session.rows("instances") if row["role"] == "p"}
        )
    except ProbeFailed as e:
        raise CatalogError(
            f"cannot list the instances: {e.reason}", exit_code=Exit.UNREACHABLE
        ) from None
