"""An audit is read-only: it writes nothing, takes no lock above AccessShareLock, does not wait, and reports what was denied."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest

from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import APPLICATION_NAME, ProbeFailed, Timeouts, connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.probes import zoo

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> str:
    dsn = fresh_database(request.getfixturevalue(request.param), "quiet")
    with psycopg.connect(dsn, autocommit=True) as conn:
        zoo.make(conn)
    return dsn


def _next_xids(conn: psycopg.Connection, segments: bool) -> dict[int, int]:
    """The next transaction ID of every instance, read without using one."""
    call = "pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())"
    found = {-1: conn.execute(f"SELECT {call}").fetchone()[0]}
    if segments:
        found |= dict(
            conn.execute(f"SELECT gp_segment_id, {call} FROM gp_dist_random('gp_id')").fetchall()
        )
    return found


def _catalog_files(conn: psycopg.Connection, segments: bool) -> dict[tuple[int, str], int]:
    which = "oid < 16384 AND relkind IN ('r', 'i', 't')"
    rows = conn.execute(
        f"SELECT -1, relname::text, pg_catalog.pg_relation_size(oid) FROM pg_catalog.pg_class WHERE {which}"
    ).fetchall()
    if segments:
        rows += conn.execute(
            "SELECT gp_segment_id, relname::text, pg_catalog.pg_relation_size(oid)"
            f" FROM gp_dist_random('pg_catalog.pg_class') WHERE {which}"
        ).fetchall()
    return {(content, name): size for content, name, size in rows}


# Greenplum 6 itself opens pg_resqueuecapability with RowExclusiveLock for any statement of any session, even for SHOW
RESQUEUECAPABILITY = 6060


class LockWatch(threading.Thread):
    """Reads from pg_locks, again and again, the modes of the relation locks of the audit's session.

    (While a session starts, it holds a RowExclusiveLock on its database, as an object, for a moment.)
    """

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn = dsn
        self.modes: set[str] = set()
        self.seen = 0
        self.done = threading.Event()

    def run(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not self.done.is_set():
                for (mode,) in conn.execute(
                    "SELECT l.mode FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid"
                    " WHERE a.application_name = %s AND l.locktype = 'relation' AND l.relation <> %s",
                    (APPLICATION_NAME, RESQUEUECAPABILITY),
                ).fetchall():
                    self.modes.add(mode)
                    self.seen += 1


def test_nothing_written_nothing_locked(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        segments = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
        conn.execute("CHECKPOINT")
        with connect(database) as warm:  # a first session may set hint bits and build caches
            collect(warm, tmp_path / "warm.gpcatalog")
        files, xids = _catalog_files(conn, segments), _next_xids(conn, segments)
        watch = LockWatch(database)
        watch.start()
        try:
            for n in range(3):
                with connect(database) as session:
                    collect(session, tmp_path / f"{n}.gpcatalog")
        finally:
            watch.done.set()
            watch.join()
        assert _next_xids(conn, segments) == xids
        assert _catalog_files(conn, segments) == files
    assert watch.seen > 0
    assert watch.modes == {"AccessShareLock"}


def test_the_session_is_guarded(database: str) -> None:
    with connect(database, timeouts=Timeouts(statement_ms=4321, lock_ms=321)) as session:
        shown = {
            name: session.query(f"SHOW {name}")[0][name]
            for name in ("default_transaction_read_only", "statement_timeout", "lock_timeout")
        }
        assert shown == {
            "default_transaction_read_only": "on",
            "statement_timeout": "4321ms",
            "lock_timeout": "321ms",
        }
        with pytest.raises(ProbeFailed, match="read-only"):
            session.query("CREATE TABLE never (a int)")


def test_locked_tables_do_not_stop_the_audit(database: str, tmp_path: Path) -> None:
    """All tables and indexes are locked, including a partition that differs from its table in each property that is read."""
    with psycopg.connect(database) as holder:
        leaf = holder.execute(
            "SELECT min(oid::regclass::text) FROM pg_catalog.pg_class WHERE relname ~ '^sales_' AND relkind = 'r'"
        ).fetchone()[0]
        column = holder.execute(
            "SELECT pg_catalog.quote_ident(attname) FROM pg_catalog.pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum = 1",
            (leaf,),
        ).fetchone()[0]
        holder.execute(f"CREATE INDEX own_index ON {leaf} ({column}) WHERE {column} IS NOT NULL")
        holder.execute(f"COMMENT ON TABLE {leaf} IS 'its own'")
        holder.execute(f"GRANT SELECT ON {leaf} TO PUBLIC")
        holder.commit()
        for (name,) in holder.execute(
            "SELECT oid::regclass::text FROM pg_catalog.pg_class"
            " WHERE oid >= 16384 AND relkind IN ('r', 'p')"
            "   AND pg_catalog.pg_get_userbyid(relowner) = current_user"
            " ORDER BY oid"
        ).fetchall():
            holder.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        holder.execute(f"REINDEX TABLE {leaf}")  # locks the indexes
        with connect(database, timeouts=Timeouts(lock_ms=300)) as session:
            path = collect(session, tmp_path / "s.gpcatalog")
        holder.rollback()
    with Snapshot(path) as snapshot:
        assert snapshot.one("SELECT count(*) AS n FROM relation WHERE kind = 'leaf'")["n"] > 3
        assert not snapshot.rows("SELECT probe, status FROM coverage WHERE status <> 'read'")
        assert not snapshot.rows(
            "SELECT what FROM timing WHERE what IN ('plan', 'plan again', 'relation cache')"
        )


@pytest.fixture
def plain_role(database: str) -> str:
    """Conninfo of a role with no privilege except CONNECT."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS nobody_special")
        conn.execute("CREATE ROLE nobody_special LOGIN")
    return database.replace("user=gpadmin", "user=nobody_special").replace(
        "user=postgres", "user=nobody_special"
    )


def test_a_plain_role_gets_a_report(plain_role: str, database: str, tmp_path: Path) -> None:
    with connect(plain_role) as session:
        path = collect(session, tmp_path / "plain.gpcatalog")
    with connect(database) as session:
        full_path = collect(session, tmp_path / "whole.gpcatalog")
    with Snapshot(path) as snapshot, Snapshot(full_path) as full:
        several = "('pg_class', 'pg_attribute', 'pg_depend', 'pg_index')"
        counted = (
            f"SELECT content, relation, rows FROM catalog WHERE relation IN {several} ORDER BY ALL"
        )
        assert snapshot.rows(counted) == full.rows(counted)
        leaves = "SELECT oid, name, bound, filled FROM relation WHERE kind = 'leaf' AND storage <> 'heap' ORDER BY oid"
        assert snapshot.rows(leaves) == full.rows(leaves)
        lost = {
            c["probe"]: c for c in snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
        }
        assert lost["relation_files"]["status"] == "denied"
        assert "pg_ls_dir" in lost["relation_files"]["needs"]
        assert lost["catalog_widths pg_statistic"]["status"] == "denied"
        denied = {name: c for name, c in lost.items() if c["status"] == "denied"}
        assert all(c["needs"] for c in denied.values())
        # only superusers read them, whatever is granted: they contain passwords
        secret = {
            f"{probe} {name}"
            for probe in ("catalog_widths", "segment_catalog_rows")
            for name in ("pg_authid", "pg_subscription")
        }
        assert {c["status"] for c in lost.values()} == {"denied", "not applicable"}
        assert lost.keys() - denied.keys() <= secret


def test_a_busy_table_is_left_out_for_a_plain_role(
    plain_role: str, database: str, tmp_path: Path
) -> None:
    with psycopg.connect(database) as holder:
        holder.execute("LOCK TABLE plain IN ACCESS EXCLUSIVE MODE")
        with connect(plain_role, timeouts=Timeouts(lock_ms=500)) as session:
            path = collect(session, tmp_path / "busy.gpcatalog")
        holder.rollback()
    with Snapshot(path) as snapshot:
        row = snapshot.one("SELECT filled FROM relation WHERE name = 'plain'")
        # if sizes are read, the busy table remains unknown; PostgreSQL's statistics need no lock
        assert row["filled"] in (None, True)
        assert snapshot.one("SELECT count(*) AS n FROM relation WHERE filled")["n"] > 0
