"""A read-only session: connects as psql would, with timeouts that hold from its first moment."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import conninfo as _conninfo

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model import secrets
from gpcatalog.model.server import Server, UnsupportedServer, identify
from gpcatalog.probes import library
from gpcatalog.probes.target import parameters

APPLICATION_NAME = "gpcatalog"


@dataclass(frozen=True)
class Timeouts:
    """How long a probe may take, in milliseconds. grace_s: how much longer than that a server may be silent before it counts as lost."""

    statement_ms: int = 120_000
    lock_ms: int = 1_000
    connect_s: int = 10
    grace_s: float = 10.0

    @property
    def silence_s(self) -> float:
        """Longest that a server may say nothing: it ends a statement itself, so a longer silence is a network that was cut."""
        return self.statement_ms / 1000 + self.grace_s


class Silent(psycopg.OperationalError):
    """Nothing came from the server for longer than it may be silent."""


def _bounded(steps: Any, seconds: float) -> Any:
    """psycopg's generator of waits, with an end: a cut network never makes a socket ready."""
    heard = time.monotonic()
    ready = None
    while True:
        try:
            wanted = steps.send(ready)
        except StopIteration as done:
            return done.value
        ready = yield wanted
        now = time.monotonic()
        if ready:
            heard = now
        elif now - heard > seconds:
            raise Silent(f"nothing came from it for {seconds:.0f} s, longer than any statement may take")


class GuardedConnection(psycopg.Connection[Any]):
    """A connection that does not wait for ever. silence_s: longest that the server may say nothing."""

    silence_s: float = Timeouts().silence_s

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """As psycopg's, but raises Silent, and is closed then: whatever comes later belongs to no question."""
        try:
            return super().wait(_bounded(gen, self.silence_s), *args, **kwargs)
        except Silent:
            self.pgconn.finish()
            raise


def dial(limits: Timeouts, **params: Any) -> GuardedConnection:
    """A connection in autocommit with the limits of this program on the client's side too. Raises psycopg.Error."""
    # a peer that vanished is noticed by the kernel; a peer whose network swallows everything, by GuardedConnection
    alive = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000}
    conn = GuardedConnection.connect(_conninfo.make_conninfo("", **(alive | params)), autocommit=True, prepare_threshold=None)
    conn.silence_s = limits.silence_s
    return conn


class ProbeFailed(Exception):
    """One probe did not answer.

    status: "denied", "timed out", "busy", "segment down" or "failed"
    """

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


# SQLSTATEs that say what became of a probe
_STATUS = {
    "42501": "denied",  # insufficient_privilege
    "57014": "timed out",  # query_canceled: statement_timeout (a user's Ctrl-C is dealt with elsewhere)
    "55P03": "busy",  # lock_not_available: lock_timeout
    "57M01": "segment down",  # Greenplum: ERRCODE_GP_INTERCONNECTION_ERROR family
    "58M01": "segment down",
}


def _one_line(e: BaseException) -> str:
    primary = getattr(getattr(e, "diag", None), "message_primary", None)
    return re.sub(r"\s+", " ", primary or str(e)).strip()


class Session:
    """One connection in autocommit: each probe is a transaction of its own, so no snapshot is held between them.

    Attributes: server (Server), facts (the row of the probe `server`), timeouts.
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

    @property
    def target(self) -> dict[str, str]:
        """Where it is connected: host, port, dbname, user. No secrets."""
        info = self._conn.info
        return {"host": info.host, "port": str(info.port), "dbname": info.dbname, "user": info.user}

    def rows(self, name: str, /, **values: str) -> list[dict[str, Any]]:
        """Rows of the probe `name` as dictionaries.

        Raises ProbeFailed; the session stays usable.
        """
        return self.query(library.probe(name, self.server).statement(**values))

    def query(self, statement: str, params: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """Rows of one statement made by this program.

        Raises ProbeFailed; the session stays usable.
        """
        with self._failures(), self._conn.cursor(row_factory=psycopg.rows.dict_row) as cur:
            cur.execute(statement.encode(), params)
            return cur.fetchall()

    def stream_csv(self, statement: str) -> Iterator[bytes]:
        """Blocks of CSV of one SELECT, by COPY: memory does not grow with its rows.

        Raises ProbeFailed.
        """
        with self._failures(), self._conn.cursor() as cur, cur.copy(f"COPY ({statement}) TO STDOUT (FORMAT csv)".encode()) as out:
            while block := out.read():
                yield bytes(block)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except Silent as e:
            raise _lost(e) from None
        except psycopg.Error as e:
            if self._conn.closed or isinstance(e, psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown):
                raise CatalogError(
                    f"the server closed the connection: {_one_line(e)}",
                    hint="see the server's log; run the audit again when it is up",
                    exit_code=Exit.UNREACHABLE,
                ) from None
            text = _one_line(e)
            status = _STATUS.get(e.sqlstate or "", "failed")
            if re.search(
                r"failed to acquire resources|segment.*(down|unavailable)|Interconnect|FTS|could not connect to segment",
                text,
                re.I,
            ):
                status = "segment down"
            raise ProbeFailed(status, text) from None

    def fresh(self) -> Session:
        """Another session on the same server, with the same guards.

        Raises ProbeFailed where none is to be had, as with no connection left: what needs it is not read, the audit goes on.
        """
        if self._again is None:
            raise CatalogError("this session cannot be opened again", exit_code=Exit.INTERNAL)
        try:
            return self._again()
        except CatalogError as e:
            raise ProbeFailed("failed", e.message) from None

    def utility(self) -> Session | None:
        """A second session on the entry instance alone, in utility mode; None where the server refuses it.

        As read-only and as guarded as this one.
        """
        if self._dial is None:
            return None
        setting = "gp_session_role" if self.server.classic_partitions else "gp_role"
        try:
            conn = self._dial(f"-c {setting}=utility")
        except psycopg.Error:
            return None
        return Session(conn, self.server, self.facts, self.timeouts)

    def cancel(self) -> None:
        """Ask the server to drop the statement under way; never raises."""
        with contextlib.suppress(Exception):
            self._conn.cancel_safe(timeout=5)

    def close(self) -> None:
        """Close; never raises."""
        with contextlib.suppress(Exception):
            self._conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.cancel()
        self.close()


def _lost(e: Silent) -> CatalogError:
    return CatalogError(
        f"the server does not answer any more: {e}",
        hint="the network was cut, or the server hangs; what it was asked ends there by its statement timeout",
        exit_code=Exit.UNREACHABLE,
    )


_HINTS = (
    (
        r"on socket .*No such file",
        'no server of this machine listens there: name another, "host=… dbname=…", or try `gpcatalog audit --demo`',
    ),
    (
        r"password authentication failed|no password supplied|fe_sendauth",
        "set the password in .pgpass, PGPASSFILE or a service file",
    ),
    (r"does not exist", "`psql -l` lists the databases and `\\du` the roles"),
    (r"no pg_hba.conf entry", "the server's pg_hba.conf must let this host, role and database in"),
    (r"due to (lock|statement) timeout", "somebody holds a catalog exclusively: pg_locks shows who; try again when it is free"),
    (r"refused|timeout|timed out|No route|unreachable|resolve|translate host", "check host and port, and that the server runs"),
    (r"too many|remaining connection slots", "wait for a free connection, or use a role that may use the reserved ones"),
    (r"starting up|shutting down|recovery mode|recovery is in progress", "wait until the server is up"),
    (r"SSL|certificate|TLS", "see sslmode and sslrootcert in the connection string"),
)


def _refusal(e: Exception, params: Mapping[str, object]) -> CatalogError:
    text = secrets.without(re.sub(r"\s+", " ", str(e)).strip(), params)
    if re.search(r"unsupported startup parameter|not allowed to.*options", text):
        return CatalogError(
            f"this is a connection pooler, not a server: {text}",
            hint="connect to the coordinator or server itself: a pooler cannot promise a read-only session",
            exit_code=Exit.UNREACHABLE,
        )
    if "connections to primary segments are not allowed" in text or "utility mode" in text:
        return CatalogError(
            f"this is a segment, not the coordinator: {text}",
            hint="connect to the coordinator's port",
            exit_code=Exit.UNREACHABLE,
        )
    if re.search(r"invalid response|received invalid|expected authentication request|unexpected response", text):
        return CatalogError(f"no PostgreSQL answers there: {text}", hint="check the port", exit_code=Exit.UNREACHABLE)
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, text, re.I)), "check the connection string")
    return CatalogError(f"cannot connect: {text}", hint=hint, exit_code=Exit.UNREACHABLE)


def connect(conninfo: str = "", *, timeouts: Timeouts | None = None, **overrides: str) -> Session:
    """A read-only session on the server that `conninfo` and libpq's environment name, as psql would reach it.

    Raises CatalogError with exit code 2 for an unusable connection string, 3 when the server cannot be reached, is no
    server this program knows, or is a pooler.
    """
    limits = timeouts or Timeouts()
    params = parameters(conninfo, **overrides)
    guards = (
        f"-c default_transaction_read_only=on -c statement_timeout={limits.statement_ms} -c lock_timeout={limits.lock_ms}"
        " -c random_page_cost=1.1"  # Greenplum's 100 reads a whole catalog for a few rows of it
        " -c DateStyle=ISO,MDY -c TimeZone=UTC -c IntervalStyle=postgres -c extra_float_digits=0"
    )
    wanted: dict[str, Any] = {
        "application_name": APPLICATION_NAME,
        "connect_timeout": limits.connect_s,
        **params,
        "client_encoding": "UTF8",
    }
    own = str(params.get("options") or os.environ.get("PGOPTIONS") or "")

    def again(more: str) -> psycopg.Connection[Any]:
        options = " ".join(part for part in (own, guards, more) if part)
        return dial(limits, **wanted, options=options)

    wanted.pop("options", None)
    try:
        conn = again("")
    except (psycopg.Error, UnicodeError) as e:
        raise _refusal(e, params) from None
    try:
        return _introduce(conn, limits, lambda: connect(conninfo, timeouts=limits, **overrides), again)
    except Silent as e:
        conn.close()
        raise _lost(e) from None
    except psycopg.Error as e:
        conn.close()
        raise _refusal(e, params) from None
    except BaseException:
        conn.close()
        raise


def _introduce(
    conn: psycopg.Connection[Any], limits: Timeouts, again: Callable[[], Session], utility: Callable[[str], psycopg.Connection[Any]]
) -> Session:
    """Confirm the guards and find out which server it is."""
    guard = conn.execute("SHOW default_transaction_read_only").fetchone()
    if guard is None or guard[0] != "on":
        raise CatalogError(
            "the session is not read-only although it asked to be: something between here and the server drops its options",
            hint="connect to the coordinator or server itself, not through a pooler",
            exit_code=Exit.UNREACHABLE,
        )
    # before the server is known only sql/any may be asked
    opening = library.Probe("server", "any", (library.folder() / "any" / "server.sql").read_text(encoding="utf-8"))
    with conn.cursor(row_factory=psycopg.rows.dict_row) as cur:
        try:
            facts = cur.execute(opening.statement().encode()).fetchone()
        except psycopg.OperationalError:
            raise
        except psycopg.Error as e:
            raise CatalogError(f"this server is not understood: {_one_line(e)}", exit_code=Exit.UNREACHABLE) from None
    if facts is None:
        raise CatalogError("the server tells neither its version nor this role's name", exit_code=Exit.UNREACHABLE)
    try:
        server = identify(facts["banner"], facts["server_version_num"], has_segments=facts["has_segments"])
    except UnsupportedServer as e:
        raise CatalogError(
            f"unsupported server: {e}",
            hint="Greenplum 6 and 7, their kin on PostgreSQL 9.4, 12 or 14, and PostgreSQL 12 and later are supported",
            exit_code=Exit.UNREACHABLE,
        ) from None
    if not server.greenplum and server.version_num >= 140000:
        # it looks for its client while it works, and drops a statement whose client was killed
        conn.execute("SET client_connection_check_interval = 2000")
    return Session(conn, server, facts, limits, again, utility)
