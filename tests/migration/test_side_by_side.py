"""Two tables of a migration are read at a time: in order, and stopped together."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import psycopg
import pytest

from gpcatalog.migration.request import Request
from gpcatalog.probes.by_table import BATCH_PROBE, ByTable
from gpcatalog.probes.connection import ProbeFailed, connect
from gpcatalog.probes.timeouts import Timeouts
from gpcatalog.services import migrations
from gpcatalog.services.migrations import _side_by_side, write_migration
from tests.conftest import fresh_database
from tests.migration import made


def test_results_are_in_the_order_of_the_tables(pg_dsn: str) -> None:
    with connect(pg_dsn) as session:
        by_table = ByTable([session], ())

        def work(number: int) -> int:
            for _ in range(10 - number):
                assert by_table.rows("settings")
            return number

        assert list(_side_by_side(by_table, work, list(range(10)), 2)) == list(range(10))  # type: ignore[arg-type]


def test_an_interrupt_stops_both(pg_dsn: str) -> None:
    ended = []
    with connect(pg_dsn) as session:
        by_table = ByTable([session], ())

        def work(number: int) -> None:
            try:
                while True:
                    by_table.rows("settings")
            except ProbeFailed:
                ended.append(number)
                raise

        # the parent process may ignore SIGINT, as nohup does for SIGHUP
        was = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                list(_side_by_side(by_table, work, [1, 2, 3], 2))  # type: ignore[arg-type]
        finally:
            signal.signal(signal.SIGINT, was)
        assert sorted(ended) == [1, 2]  # the third table was never started
        assert session.query("SELECT 1 AS n") == [{"n": 1}]


def test_a_second_session_answers_while_the_first_waits(pg_dsn: str) -> None:
    limits = Timeouts(lock_ms=20_000)
    with (
        connect(pg_dsn, timeouts=limits) as one,
        connect(pg_dsn, timeouts=limits) as two,
        psycopg.connect(pg_dsn) as holder,
    ):
        by_table = ByTable([one, two], ())
        holder.execute("LOCK TABLE pg_catalog.pg_publication_rel IN ACCESS EXCLUSIVE MODE")
        ended: list[str] = []

        def waits() -> None:
            by_table.rows(BATCH_PROBE, roots="0")
            ended.append("waits")

        thread = threading.Thread(target=waits)
        thread.start()
        while not made.fetch(pg_dsn, "SELECT 1 FROM pg_locks WHERE NOT granted"):
            assert thread.is_alive()
        assert by_table.rows("settings")
        assert not ended
        holder.rollback()
        thread.join()
        assert ended == ["waits"]


def _two_tables(dsn: str) -> None:
    for name in ("a", "b"):
        made.execute(
            dsn,
            f"CREATE TABLE {name} (d date) PARTITION BY RANGE (d)",
            f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM ('2020-01-30') TO ('2020-01-31')",
            f"CREATE TABLE {name}_2 PARTITION OF {name} FOR VALUES FROM ('2020-01-31') TO ('2020-02-01')",
        )


def test_a_role_with_one_connection(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both tables are read through its only connection, and the files are the same."""
    monkeypatch.setattr(migrations, "MANY_LEAVES", 1)
    dsn = fresh_database(pg_dsn, "mig_two_sessions")
    _two_tables(dsn)
    made.execute(
        dsn,
        "DROP ROLE IF EXISTS gpc_single",
        "CREATE ROLE gpc_single LOGIN CONNECTION LIMIT 1",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO gpc_single",
    )
    plan = made.plan_of(dsn)
    found, opened = [], []
    for more in ({}, {"user": "gpc_single"}):
        with connect(dsn, **more) as session:
            fresh = session.fresh

            def counted(fresh: object = fresh) -> object:
                opened.append(1)
                return fresh()  # type: ignore[operator]

            monkeypatch.setattr(session, "fresh", counted)
            files, work, refused = write_migration(session, plan, Request())
            found.append({name: "".join(pieces) for name, pieces in files})
            assert [w.context.root.name for w in work] == ["a", "b"]
            assert not refused
    assert opened == [1, 1]
    assert found[0] == found[1]


def test_files_that_nobody_takes_end_the_reading(
    pg_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, the disk is full: no session stays open, and no other table is read."""
    monkeypatch.setattr(migrations, "MANY_LEAVES", 1)
    dsn = fresh_database(pg_dsn, "mig_not_taken")
    _two_tables(dsn)
    plan = made.plan_of(dsn)
    mine = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'mig_not_taken'"
    with connect(dsn) as session:
        files, _, _ = write_migration(session, plan, Request())
        assert next(files)[0] == "0001_public_a.sql"
        assert made.fetch(pg_dsn, mine) == [(2,)]
        files.close()
        assert session.query("SELECT 1 AS n") == [{"n": 1}]
        # the server needs a moment to end the other session
        for _ in range(100):
            if made.fetch(pg_dsn, mine) == [(1,)]:
                break
        assert made.fetch(pg_dsn, mine) == [(1,)]
