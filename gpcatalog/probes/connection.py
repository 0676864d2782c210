"""A read-only session. It connects as psql does; its settings are in the startup packet and are
verified.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Self

import psycopg
from psycopg import conninfo as _conninfo

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model import secrets
from gpcatalog.model.names import quote_literal
from gpcatalog.model.server import OF_OTHERS, Server, UnsupportedServer, identify
from gpcatalog.probes import copy_out, library
from gpcatalog.probes import guards as guarding
from gpcatalog.probes.encodings import decoded, take_bytes, without_encoding
from gpcatalog.probes.target import parameters
from gpcatalog.probes.timeouts import Timeouts as Timeouts

APPLICATION_NAME = "gpcatalog"
MONITOR = "gpcatalog_monitor"
"""Schema of a superuser with the data that `doctor --create-role` makes readable for a role:
numbers and names, but no query texts or sample values.
"""

_MONITOR_SOURCES = {
    "activity": f"{MONITOR}.sessions()",
    "backends": f"{MONITOR}.backends()",
    "list_folder": f"{MONITOR}.list_folder",
    "stat_file": f"{MONITOR}.stat_file",
}


_NONE_FREE = r"too many|remaining connection slots"
_STILL_COUNTED_S = 3.0
"""Maximum seconds for which a server may count a connection after its end, against the limits of
the role, the database and the server: less than a millisecond on an idle server.
"""


class Silence(psycopg.OperationalError):
    """The server sent nothing for longer than the time limit."""


def _bounded(steps: Any, seconds: float) -> Any:
    """Run psycopg's generator of waits with a limit: a cut network never makes a socket ready."""
    last_activity = time.monotonic()
    ready = None
    while True:
        try:
            events = steps.send(ready)
        except StopIteration as done:
            return done.value
        ready = yield events
        now = time.monotonic()
        if ready:
            last_activity = now
        elif now - last_activity > seconds:
            raise Silence(
                f"the server sent nothing for {seconds:.0f} s, which is longer than the"
                " statement timeout"
            )


class GuardedConnection(psycopg.Connection[Any]):
    """A connection that does not wait without a limit.

    silence_s: maximum seconds without data from the server.
    """

    silence_s: float = Timeouts().silence_s
    ended: ClassVar[float] = -math.inf
    """When the last connection of this process ended (time.monotonic()), if none was opened since."""

    def close(self) -> None:
        """Close the connection and record the time: the server counts it for a moment longer."""
        super().close()
        GuardedConnection.ended = time.monotonic()

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """Wait as psycopg does, but raise Silent after the time limit and close the connection: a
        later response would not belong to the next query.
        """
        try:
            return super().wait(_bounded(gen, self.silence_s), *args, **kwargs)
        except Silence:
            self.pgconn.finish()
            raise


class Dialer:
    """Opens connections to one server. The settings of `guards` are in force on each one and are
    verified.

    limits:    timeouts of every statement
    read_only: whether transactions are read-only; only the active latency probe uses False
    server:    the server, if it is already known
    """

    def __init__(
        self,
        params: Mapping[str, str],
        limits: Timeouts,
        *,
        application_name: str = APPLICATION_NAME,
        read_only: bool = True,
        server: Server | None = None,
    ) -> None:
        self.limits = limits
        self.settings = guarding.guards(
            statement_ms=limits.statement_ms, lock_ms=limits.lock_ms, read_only=read_only
        )
        self._params: dict[str, Any] = {
            "application_name": application_name,
            "connect_timeout": limits.connect_s,
            **params,
            "client_encoding": "UTF8",
        }
        # the options of the user come first: the last value of a setting is used
        self._own = str(self._params.pop("options", None) or os.environ.get("PGOPTIONS") or "")
        self._login_triggers_off = True
        self._server = server
        self._reported = 0  # version of the server that the last connection reported
        self._started_for = 0  # version of the settings in the last startup packet
        self._use_reported_version = False
        # libpq sends these after the options, so they would override them
        for name in ("PGTZ", "PGDATESTYLE", "PGGEQO"):
            os.environ.pop(name, None)

    def open(self, more: str = "") -> GuardedConnection:
        """Return a new connection in autocommit whose settings are in force.

        `more`: additional startup options.

        Raises psycopg.Error; CatalogError (3) if a component between this process and the server
        dropped the settings.
        """
        self._started_for = self._known_version
        settings = guarding.startup_options(self.settings, self._started_for)
        options = " ".join(part for part in (self._own, settings, more) if part)
        if self._login_triggers_off:
            try:
                return self._verified(self._dial(f"{options} {guarding.EVENT_TRIGGERS_OFF}"))
            except psycopg.OperationalError as e:
                if "event_triggers" not in str(e):
                    raise
                GuardedConnection.ended = time.monotonic()
                # before PostgreSQL 17 this setting does not exist; from 17 on only a superuser may
                # set it
                self._login_triggers_off = False
        return self._verified(self._dial(options))

    def _dial(self, options: str) -> GuardedConnection:
        # the kernel detects a peer that is gone; GuardedConnection detects a network that drops all
        # packets
        alive = {
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        }
        conninfo = _conninfo.make_conninfo("", **(alive | self._params), options=options)
        while True:
            try:
                conn = GuardedConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
                break
            except psycopg.OperationalError as e:
                waited = time.monotonic() - GuardedConnection.ended
                if waited > _STILL_COUNTED_S or not re.search(_NONE_FREE, str(e), re.I):
                    raise
                time.sleep(0.05)
        GuardedConnection.ended = -math.inf  # the slot of the last connection is free again
        conn.silence_s = self.limits.silence_s
        self._reported = conn.info.server_version
        return conn

    def again_with_all(self) -> bool:
        """Whether to connect again after a lost connection, with all settings of the reported
        version in the startup packet.

        The owner of a database can set a timeout for idle sessions that is shorter than a round
        trip. False if this was tried, or if the version has no such setting.
        """
        self._use_reported_version = True
        return any(self._started_for < g.since <= self._known_version for g in self.settings)

    def _verified(self, conn: GuardedConnection) -> GuardedConnection:
        """Return the connection after reading back its settings; close it if they are not in
        force.
        """
        try:
            with conn.cursor(row_factory=psycopg.rows.dict_row) as cur:
                text = guarding.check_statement(self.settings, self._known_version)
                found = cur.execute(text.encode()).fetchone() or {}
            wrong = guarding.not_in_force(self.settings, found, self._known_version)
            # a pooler reports its own process ids
            if wrong or found.get("pid") != conn.info.backend_pid:
                what = (
                    f"its settings are not in force: {', '.join(wrong)}"
                    if wrong
                    else "its process IDs differ from those of the server"
                )
                raise CatalogError(
                    f"the connection goes to a pooler, not to the server: {what}",
                    hint=_NO_POOLER,
                    exit_code=Exit.UNREACHABLE,
                )
            if without_encoding(conn):
                take_bytes(conn)
        except BaseException:
            conn.close()
            raise
        return self._settled(conn) if self._server else conn

    @property
    def _known_version(self) -> int:
        """The version whose settings are used in the startup packet; 0 if it is unknown."""
        if self._server:
            return self._server.version_num
        return self._reported if self._use_reported_version else 0

    def settle(self, conn: GuardedConnection, server: Server) -> GuardedConnection:
        """Apply the settings that only the version of this server has; all later connections have
        them too.

        Returns the connection to use; if it is a new one, the given one is closed. Raises the
        exceptions of `open`.
        """
        self._server = server
        if not server.greenplum:
            return self._settled(conn)
        if all(g.since == 0 or g.since > server.version_num for g in self.settings):
            return conn
        conn.close()
        return self.open()

    def _settled(self, conn: GuardedConnection) -> GuardedConnection:
        if self._server and not self._server.greenplum:
            conn.execute(guarding.later_statement(self.settings, self._server.version_num).encode())
        return conn


_NO_POOLER = (
    "connect directly to the coordinator or server: a pooler cannot guarantee a read-only session"
)


class ProbeFailed(Exception):
    """A probe failed.

    status: "denied", "timed out", "busy", "segment down" or "failed"
    """

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


# status of a probe by SQLSTATE
_STATUS = {
    "42501": "denied",  # insufficient_privilege
    "57014": (
        "timed out"
    ),  # query_canceled: statement_timeout (Ctrl-C of the user is handled elsewhere)
    "55P03": "busy",  # lock_not_available: lock_timeout
    "57M01": "segment down",  # Greenplum: ERRCODE_GP_INTERCONNECTION_ERROR family
    "58M01": "segment down",
}


def _one_line(e: BaseException) -> str:
    primary = getattr(getattr(e, "diag", None), "message_primary", None)
    return re.sub(r"\s+", " ", primary or str(e)).strip()


class Session:
    """One connection in autocommit: each probe is a separate transaction, so no snapshot is held
    between them.

    Attributes: server (Server), facts (the row of the probe `server`), timeouts, monitored (whether
                this role reads data for superusers through schema gpcatalog_monitor, which the SQL
                of `doctor --create-role` creates).
    """

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        server: Server,
        facts: dict[str, Any],
        timeouts: Timeouts,
        again: Callable[[], Session] | None = None,
        dial: Callable[[str], psycopg.Connection[Any]] | None = None,
    ) -> None:
        self._conn = conn
        self._again = again
        self._dial = dial
        self.server = server
        self.facts = facts
        self.timeouts = timeouts
        self._owners: dict[tuple[str, str], str | None] = {}
        self.monitored = False

    @property
    def target(self) -> dict[str, str]:
        """The target of the connection: host, port, dbname, user; no secrets."""
        info = self._conn.info
        return {"host": info.host, "port": str(info.port), "dbname": info.dbname, "user": info.user}

    def rows(self, name: str, /, **values: str) -> list[dict[str, Any]]:
        """Rows of the probe `name` as dictionaries.

        Raises ProbeFailed; the session remains usable.
        """
        return self.query(self.statement(name, **values))

    def statement(self, name: str, /, **values: str) -> str:
        """Return the SQL of the probe `name` after checking that all objects that it reads outside
        pg_catalog belong to superusers or to this role.

        Raises ProbeFailed if another role owns one of them and could therefore make the probe run
        its code.
        """
        found = library.probe(name, self.server)
        trusts = found.header("trusts")
        if trusts:
            schema, _, extension = trusts.partition(", extension ")
            self._trust(values["schema_name"] if schema == "{schema}" else schema, extension)
        if self.monitored and self.server.classic_partitions:
            values = _MONITOR_SOURCES | values
        return found.statement(**values)

    def _trust(self, schema: str, extension: str) -> None:
        home = (schema, extension)
        if home not in self._owners:
            text = library.probe("foreign_owners", self.server)
            row = self.query(
                text.statement(schema=quote_literal(schema), extension=quote_literal(extension))
            )[0]
            self._owners[home] = row["owners"] if row["found"] else None
        owners = self._owners[home]
        if owners is None:
            what = (
                f"extension {extension} is not in schema {schema}"
                if extension
                else f"schema {schema} does not exist"
            )
            raise ProbeFailed("failed", what)
        if owners:
            what = f"extension {extension} in schema {schema}" if extension else f"schema {schema}"
            raise ProbeFailed(
                "denied",
                f"{what} belongs partly to {owners}: {OF_OTHERS}",
            )

    def query(self, statement: str, params: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """Rows of one statement of this program.

        Raises ProbeFailed; the session remains usable.
        """
        with self._failures(), self._conn.cursor(row_factory=psycopg.rows.dict_row) as cur:
            cur.execute(statement.encode(), params)
            return cur.fetchall()

    def stream(self, statement: str, form: str = "csv") -> Iterator[bytes]:
        """Yield the rows of one SELECT in blocks of UTF-8, by COPY in the format csv or text:
        memory does not grow with the number of rows.

        Raises ProbeFailed.
        """
        with self._failures():
            for block in copy_out.blocks(
                self._conn, f"COPY ({statement}) TO STDOUT (FORMAT {form})".encode()
            ):
                # a database without an encoding has names of any bytes, and every folder has such
                # file names
                yield decoded(block).encode()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except Silence as e:
            raise _lost(e) from None
        except psycopg.Error as e:
            if self._conn.closed or isinstance(
                e, psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown
            ):
                raise CatalogError(
                    f"the server closed the connection: {_one_line(e)}",
                    hint=(
                        "see the server log, and run the command again when the server is running"
                    ),
                    exit_code=Exit.UNREACHABLE,
                ) from None
            text = _one_line(e)
            status = _STATUS.get(e.sqlstate or "", "failed")
            if re.search(
                r"failed to acquire resources|segment.*(down|unavailable)|Interconnect|FTS|could"
                r" not connect to segment",
                text,
                re.I,
            ):
                status = "segment down"
            raise ProbeFailed(status, text) from None

    def fresh(self) -> Session:
        """Open another session on the same server, with the same settings.

        Raises ProbeFailed if this is not possible, for example if no connection is free: the probe
        that needs the session is not read, and the audit continues.
        """
        if self._again is None:
            raise CatalogError("the session cannot be opened again", exit_code=Exit.INTERNAL)
        try:
            return self._again()
        except CatalogError as e:
            raise ProbeFailed("failed", e.message) from None

    def utility(self) -> Session | None:
        """Open a second session on the entry instance only, in utility mode; None if the server
        refuses it.

        It is read-only and has the same settings as this session.
        """
        if self._dial is None:
            return None
        setting = "gp_session_role" if self.server.classic_partitions else "gp_role"
        try:
            conn = self._dial(f"-c {setting}=utility")
        except (psycopg.Error, CatalogError):
            return None
        alone = Session(conn, self.server, self.facts, self.timeouts)
        alone.monitored = self.monitored
        return alone

    def cancel(self) -> None:
        """Ask the server to cancel the running statement; never raises."""
        with contextlib.suppress(Exception):
            self._conn.cancel_safe(timeout=5)

    def close(self) -> None:
        """Close the connection; never raises."""
        with contextlib.suppress(Exception):
            self._conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.cancel()
        self.close()


def _lost(e: Silence) -> CatalogError:
    return CatalogError(
        f"the server stopped responding: {e}",
        hint=(
            "the network connection was lost or the server hangs; running statements end at"
            " their statement_timeout"
        ),
        exit_code=Exit.UNREACHABLE,
    )


_HINTS = (
    (
        r"on socket .*No such file",
        (
            'no server listens on this socket: give another one, "host=… dbname=…", or try'
            " `gpcatalog audit --demo`"
        ),
    ),
    (
        r"password authentication failed|no password supplied|fe_sendauth",
        "set the password in .pgpass, PGPASSFILE or a service file",
    ),
    (r"does not exist", "`psql -l` lists the databases; \\du in psql lists the roles"),
    (
        r"permission denied for database",
        "the role has no CONNECT privilege: GRANT CONNECT ON DATABASE ... TO ...",
    ),
    (
        r"no pg_hba.conf entry",
        ("pg_hba.conf of the server must allow this host, role and database"),
    ),
    (
        r"due to (lock|statement) timeout",
        "another session has an exclusive lock on a catalog: pg_locks shows it; try again"
        " when it is released",
    ),
    (
        r"closed the connection|terminating connection|connection .*lost",
        "the log of the server has the reason",
    ),
    (
        r"timeout|timed out",
        "check the host and port, that the server is running, and that no shared catalog"
        " such as pg_database is locked",
    ),
    (
        r"refused|No route|unreachable|resolve|translate host",
        "check the host and port, and that the server is running",
    ),
    (
        _NONE_FREE,
        "wait for a free connection, or use a role that can use reserved connections",
    ),
    (
        r"starting up|shutting down|recovery mode|recovery is in progress",
        "wait until the server is running",
    ),
    (r"SSL|certificate|TLS", "check sslmode and sslrootcert in the connection string"),
)


def _refusal(
    e: Exception, params: Mapping[str, object], *, connected: bool = False
) -> CatalogError:
    """The error for a connection that failed, or that was opened but whose first query failed."""
    text = secrets.without(re.sub(r"\s+", " ", str(e)).strip(), params)
    if re.search(r"unsupported startup parameter|not allowed to.*options", text):
        return CatalogError(
            f"the connection goes to a pooler, not to the server: {text}",
            hint=_NO_POOLER,
            exit_code=Exit.UNREACHABLE,
        )
    if "connections to primary segments are not allowed" in text or "utility mode" in text:
        return CatalogError(
            f"the connection goes to a segment, not to the coordinator: {text}",
            hint="connect to the port of the coordinator",
            exit_code=Exit.UNREACHABLE,
        )
    if re.search(
        r"invalid response|received invalid|expected authentication request|unexpected response",
        text,
    ):
        return CatalogError(
            f"the response did not come from PostgreSQL: {text}",
            hint="check the port",
            exit_code=Exit.UNREACHABLE,
        )
    hint = next(
        (hint for pattern, hint in _HINTS if re.search(pattern, text, re.I)),
        "check the connection string",
    )
    what = (
        "connected, but the version of the server cannot be read" if connected else "cannot connect"
    )
    return CatalogError(f"{what}: {text}", hint=hint, exit_code=Exit.UNREACHABLE)


def connect(conninfo: str = "", *, timeouts: Timeouts | None = None, **overrides: str) -> Session:
    """Open a read-only session on the server of `conninfo` and libpq's environment, as psql would
    do.

    Raises CatalogError with exit code 2 for an invalid connection string, 3 if the server cannot be
    reached, is not supported, or is a pooler.
    """
    limits = timeouts or Timeouts()
    params = parameters(conninfo, **overrides)
    return _session(Dialer(params, limits), params)


def _session(dialer: Dialer, params: Mapping[str, str]) -> Session:
    """Open a session on a new connection of the dialer. Raises CatalogError, as `connect`."""
    try:
        return _opened(dialer, params)
    except _LostConnection as e:
        if dialer.again_with_all():
            return _session(dialer, params)
        raise e.refusal from None


# SQLSTATEs with which a server ends a session that was idle, or in a transaction, for too long
_ENDED = ("57P05", "25P03", "25P04")


class _LostConnection(Exception):
    """The connection was lost before its server was identified. `refusal` is the reported error."""

    def __init__(self, refusal: CatalogError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def _opened(dialer: Dialer, params: Mapping[str, str]) -> Session:
    """Open a session in one attempt, as `_session`. Also raises _LostConnection."""
    try:
        conn = dialer.open()
    except (psycopg.Error, UnicodeError) as e:
        # errors that the server reports for a statement have an SQLSTATE
        raise _failed(e, params, connected=bool(getattr(e, "sqlstate", None))) from None
    try:
        return _introduce(conn, dialer, lambda: _session(dialer, params))
    except Silence as e:
        conn.close()
        raise _lost(e) from None
    except psycopg.Error as e:
        conn.close()
        raise _failed(e, params, connected=True) from None
    except BaseException:
        conn.close()
        raise


def _failed(e: Exception, params: Mapping[str, str], *, connected: bool) -> Exception:
    """The error of an attempt: _LostConnection if the server ended the session on its own, else the
    refusal.
    """
    refusal = _refusal(e, params, connected=connected)
    state = getattr(e, "sqlstate", None)
    lost = isinstance(e, psycopg.OperationalError) and not isinstance(e, Silence) and state is None
    return _LostConnection(refusal) if lost or state in _ENDED else refusal


def _introduce(conn: GuardedConnection, dialer: Dialer, again: Callable[[], Session]) -> Session:
    """Identify the server, and apply the settings that only its version has."""
    # before the server is identified, only probes in sql/any may be executed
    opening = library.Probe(
        "server", "any", (library.folder() / "any" / "server.sql").read_text(encoding="utf-8")
    )
    with conn.cursor(row_factory=psycopg.rows.dict_row) as cur:
        try:
            facts = cur.execute(opening.statement().encode()).fetchone()
        except psycopg.Error as e:
            if isinstance(e, psycopg.OperationalError) or e.sqlstate in _ENDED:
                raise
            raise CatalogError(
                f"the server is not supported: {_one_line(e)}", exit_code=Exit.UNREACHABLE
            ) from None
    if facts is None:
        raise CatalogError(
            "the server returns neither its version nor the name of this role",
            exit_code=Exit.UNREACHABLE,
        )
    if facts["catalog_writers"]:
        raise CatalogError(
            "roles that are not superusers can replace functions in schema pg_catalog:"
            f" {facts['catalog_writers']}",
            hint=(
                "run REVOKE CREATE ON SCHEMA pg_catalog FROM these roles, and drop their objects"
                " in pg_catalog: otherwise their code could run"
            ),
            exit_code=Exit.REFUSED,
        )
    try:
        server = identify(
            facts["banner"], facts["server_version_num"], has_segments=facts["has_segments"]
        )
    except UnsupportedServer as e:
        raise CatalogError(
            f"unsupported server: {e}",
            hint=(
                "supported: Greenplum 6 and 7, Greengage, WarehousePG, Cloudberry, and"
                " PostgreSQL 12 and later"
            ),
            exit_code=Exit.UNREACHABLE,
        ) from None
    conn = dialer.settle(conn, server)
    session = Session(conn, server, facts, dialer.limits, again, dialer.open)
    session.monitored = not facts["superuser"] and _monitored(session)
    return session


def _monitored(session: Session) -> bool:
    """Whether schema gpcatalog_monitor exists, this role may use it, and it belongs to superusers
    only.
    """
    text = library.probe("foreign_owners", session.server).statement(
        schema=quote_literal(MONITOR), extension="''"
    )
    try:
        row = session.query(text)[0]
        open_to_us = (
            "SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS may FROM"
            " pg_catalog.pg_namespace n WHERE n.nspname = %s"
        )
        return bool(
            row["found"] and not row["owners"] and session.query(open_to_us, [MONITOR])[0]["may"]
        )
    except ProbeFailed:
        return False
