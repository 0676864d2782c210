"""A probe that one of two sessions executes: once, with its rows or its error in the first session."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import ProbeFailed, Session, Timeouts, connect
from gpcatalog.probes.free_session import FreeSession
from gpcatalog.probes.listing import Listing
from gpcatalog.probes.partition_properties import partition_properties
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration import made

PROBE = "uneven_partitions"


@pytest.fixture
def table(pg_dsn: str) -> str:
    """A database with a partitioned table that has one different partition."""
    dsn = fresh_database(pg_dsn, "free_session")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (2)",
        "CREATE TABLE t2 PARTITION OF t (v DEFAULT 'own') FOR VALUES FROM (2) TO (3)",
    )
    return dsn


def oids(dsn: str, name: str) -> list[int]:
    with psycopg.connect(dsn) as conn:
        return [row[0] for row in conn.execute("SELECT %s::regclass::oid::int8", [name])]


def test_the_second_session_executes_it(table: str) -> None:
    with connect(table) as session:
        second, probe = session.fresh(), FreeSession(PROBE)
        assert probe.start(second)
        rows, seconds = probe.rows(session)
        assert [row["oid"] for row in rows] == oids(table, "t2")
        assert seconds > 0
        with pytest.raises(CatalogError, match="closed"):
            second.query("SELECT 1")


def test_the_first_session_executes_it(table: str) -> None:
    with connect(table) as session, session.fresh() as second:
        probe = FreeSession(PROBE)
        rows, _ = probe.rows(session)
        assert [row["oid"] for row in rows] == oids(table, "t2")
        assert not probe.start(second)
        assert second.query("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize("by", ["first", "second"])
def test_an_error_is_raised_in_the_first_session(table: str, by: str) -> None:
    limits = Timeouts(lock_ms=200)
    with psycopg.connect(table) as other, connect(table, timeouts=limits) as session:
        other.execute("LOCK TABLE pg_catalog.pg_trigger IN ACCESS EXCLUSIVE MODE")
        probe = FreeSession(PROBE)
        if by == "second":
            assert probe.start(session.fresh())
        with pytest.raises(ProbeFailed) as caught:
            probe.rows(session)
        assert caught.value.status == "busy"


def test_it_ends_on_the_server_if_it_is_stopped(pg_dsn: str) -> None:
    limits = Timeouts(lock_ms=86_400_000, statement_ms=86_400_000)
    with psycopg.connect(pg_dsn) as other, connect(pg_dsn, timeouts=limits) as session:
        other.execute("LOCK TABLE pg_catalog.pg_trigger IN ACCESS EXCLUSIVE MODE")
        probe = FreeSession(PROBE)
        assert probe.start(session.fresh())
        time.sleep(0.5)  # the statement waits for a day
        probe.stop()
        assert probe._ended.is_set()
        with pytest.raises(ProbeFailed):
            probe.rows(session)


def test_it_ends_after_a_wait_that_was_interrupted(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after Ctrl-C, while the first session waits for the second one."""
    begun = threading.Event()
    original = Session.rows

    def endless(session: Session, name: str, /, **values: str) -> list[dict[str, Any]]:
        if name != PROBE:
            return original(session, name, **values)
        begun.set()
        return session.query("SELECT pg_catalog.pg_sleep(86400)")

    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "rows", endless)
    with connect(table, timeouts=Timeouts(statement_ms=86_400_000)) as session:
        probe = FreeSession(PROBE)
        assert probe.start(session.fresh())
        assert begun.wait(60)
        before = signal.signal(signal.SIGALRM, interrupted)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(KeyboardInterrupt):
                probe.rows(session)
        finally:
            signal.signal(signal.SIGALRM, before)
        probe.stop()
        assert probe._ended.is_set()


def test_the_first_session_executes_it_if_the_second_is_lost(table: str) -> None:
    with connect(table) as session, psycopg.connect(table, autocommit=True) as other:
        second, probe = session.fresh(), FreeSession(PROBE)
        other.execute("SELECT pg_terminate_backend(%s)", [second._conn.info.backend_pid])
        assert probe.start(second)
        rows, _ = probe.rows(session)
        assert [row["oid"] for row in rows] == oids(table, "t2")


def test_the_first_session_executes_it_if_no_thread_can_be_started(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with connect(table) as session, session.fresh() as second:
        probe = FreeSession(PROBE)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", full)
            assert not probe.start(second)
        rows, _ = probe.rows(session)
        assert [row["oid"] for row in rows] == oids(table, "t2")


def test_a_partition_that_was_dropped_meanwhile_has_no_facts(table: str) -> None:
    made.execute(table, "ALTER TABLE t ADD CONSTRAINT c CHECK (id > 0)")
    with connect(table) as session:
        found = session.rows(PROBE)
        made.execute(table, "DROP TABLE t2")
        assert partition_properties(session, found) == []
        made.execute(table, "DROP TABLE t")
        assert partition_properties(session, found) == []


@pytest.mark.parametrize("late", ["files", "relations"])
def test_an_audit_executes_it_once(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """Whatever ends first, the files or the tables: the snapshot is the same."""
    executed: Counter[str] = Counter()
    ready = threading.Event()
    original, read_files = Session.rows, Listing.read_files

    def rows(session: Session, name: str, /, **values: str) -> list[dict[str, Any]]:
        if name == PROBE:
            executed[threading.current_thread().name] += 1
            ready.set()
        if name == "partition_facts" and late == "relations":
            assert ready.wait(60)
        return original(session, name, **values)

    def slowly(listing: Listing, session: Session) -> None:
        assert ready.wait(60)
        read_files(listing, session)

    monkeypatch.setattr(Session, "rows", rows)
    if late == "files":
        monkeypatch.setattr(Listing, "read_files", slowly)
    with connect(table) as session:
        collect(session, tmp_path / "s.gpcatalog")
    assert sum(executed.values()) == 1
    assert ("MainThread" in executed) == (late == "files")
    with Snapshot(tmp_path / "s.gpcatalog") as snapshot:
        assert snapshot.rows("SELECT detail FROM partition_fact WHERE fact = 'property'")
        assert snapshot.unread() == {}
        (of,) = snapshot.rows("SELECT * FROM root_total WHERE name = 't'")
        assert (of["leaves"], of["empty_leaves"], of["files"]) == (2, 2, 2)
        read = {row["probe"] for row in snapshot.rows("SELECT probe FROM coverage")}
        assert {PROBE, "partition_properties", "relation_files"} <= read
