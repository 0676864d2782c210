"""Locks of queries over whole tables: the predicted fast-path slots of a session are those that the server uses."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit import rules
from gpcatalog.model.timing import ACTIVE_SESSIONS, LOCK_MANAGER_WAITS
from tests.conftest import fresh_database
from tests.live_report import report_of

LEAVES = 90


@pytest.fixture(params=["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"])
def database(request: pytest.FixtureRequest) -> str:
    return fresh_database(request.getfixturevalue(request.param), "query_locks")


def test_slots_and_locks_are_the_servers(database: str, tmp_path: Path) -> None:
    greenplum = "gpadmin" in database
    with psycopg.connect(database, autocommit=True) as conn:
        if greenplum:
            conn.execute(f"CREATE TABLE wide (k int, v int) DISTRIBUTED BY (k) PARTITION BY RANGE (k) (START (0) END ({LEAVES}) EVERY (1))")  # fmt: skip
        else:
            conn.execute("CREATE TABLE wide (k int, v int) PARTITION BY RANGE (k)")
            for n in range(LEAVES):
                conn.execute(f"CREATE TABLE wide_{n} PARTITION OF wide FOR VALUES FROM ({n}) TO ({n + 1})")  # fmt: skip
        conn.execute("CREATE INDEX wide_v ON wide (v)")
        conn.execute("CREATE TABLE narrow (k int, v int)")
        row = conn.execute("SHOW max_locks_per_transaction").fetchone()
        assert row is not None
    with psycopg.connect(database) as conn:
        conn.execute("SELECT count(*) FROM wide")
        counted = conn.execute(
            "SELECT l.fastpath, count(*), count(CASE WHEN c.relname LIKE 'wide%' THEN 1 END) FROM pg_locks l JOIN pg_class c ON c.oid ="
            " l.relation WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' GROUP BY 1"
        ).fetchall()
    locks = report_of(database, tmp_path / "s.gpcatalog").query_locks
    assert locks is not None
    assert locks.slots is not None
    filled = {fast: n for fast, n, _ in counted}
    own = sum(n for _, _, n in counted)
    assert filled[True] == min(locks.slots, sum(filled.values()))
    assert (locks.slots == 16) == (False in filled)  # newer servers have enough slots for all
    if own > locks.slots:
        assert [(t.name, t.leaves, t.locks) for t in locks.most] == [("wide", LEAVES, own)]
        assert locks.tables == 1
    else:
        assert locks.tables == 0
        assert locks.slots >= int(row[0])


def test_active_sessions_are_counted(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as asleep:

        def sleep() -> None:
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                asleep.execute("SELECT pg_sleep(60)")

        sleeping = threading.Thread(target=sleep)
        sleeping.start()
        with psycopg.connect(database, autocommit=True) as conn:
            running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'"
            while conn.execute(running).fetchone() != (1,):
                time.sleep(0.05)
            report = report_of(database, tmp_path / "s.gpcatalog")
        asleep.cancel()
        sleeping.join()
    counts = {(t.what, t.content): t.n for t in report.timings}
    if report.server.generation == "gp6":
        assert not any(what == ACTIVE_SESSIONS for what, _ in counts)
        return
    assert counts[ACTIVE_SESSIONS, -1] >= 1
    assert counts[LOCK_MANAGER_WAITS, -1] == 0
    # a segment process that runs the statement of an audit counts itself
    assert {c for what, c in counts if what == ACTIVE_SESSIONS} >= {-1}
    assert not [f for f in rules.run(report) if f.rule == "lock-manager-waits"]
