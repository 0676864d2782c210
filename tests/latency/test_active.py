"""The active probe on live servers: it leaves the rows that it announced, on every instance; and the cases that it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from gpcatalog.capacity.footprint import ProbeTable, footprint, subjects, versions
from gpcatalog.capacity.model import Instance
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.lab.postgres import PrivateServer
from gpcatalog.model.storage import Storage
from gpcatalog.probes import latency
from gpcatalog.probes.connection import connect
from tests.capacity.live import Live
from tests.conftest import fresh_database
from tests.program import run

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"]


def instance(content: int) -> Instance:
    return Instance.COORDINATOR if content == -1 else Instance.SEGMENT


@pytest.fixture(scope="module", params=SERVERS)
def database(request: pytest.FixtureRequest) -> str:
    return fresh_database(request.getfixturevalue(request.param), "time_active")


def test_left_is_what_was_predicted(database: str) -> None:
    compared = 0
    with connect(database) as session:
        generation = session.server.generation
        storages = (
            (Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN)
            if session.server.greenplum
            else (Storage.HEAP,)
        )
        for subject in [ProbeTable(s, leaves) for s in storages for leaves in (0, 4)]:
            done = latency.active(session, database, [subject], rounds=2)
            assert not done.stopped
            assert done.rounds == 2
            assert sorted(done.left) == latency.instances(session)
            for content, counted in done.left.items():
                assert counted == dict(
                    footprint(generation, [subject], instance(content), rounds=2).rows
                ), (subject, content)
                compared += 1
        assert {t.what for t in done.timings} == {"create", "add column", "drop", "rollback"}
        assert all(
            t.n == 2 and t.min_ms <= t.median_ms <= t.p95_ms
            for t in done.timings
            if t.min_ms and t.median_ms and t.p95_ms
        )
    with psycopg.connect(database) as conn:
        assert conn.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'gpcatalog%'"
        ).fetchone() == (0,)
        assert conn.execute(
            "SELECT count(*) FROM pg_class WHERE oid >= 16384 AND relname LIKE 'probe%'"
        ).fetchone() == (0,)
    assert compared == 2 * len(storages) * (4 if len(storages) == 3 else 1)


def test_pgstattuple_counts_the_same(database: str) -> None:
    """pgstattuple, read on each instance, counts the same dead tuples of the catalog pages before and after one subject.

    Only one subject: the server removes dead rows while the rows of the next subject are written.
    """
    catalogs = ("pg_class", "pg_attribute", "pg_type", "pg_depend", "pg_index")
    with ExitStack() as stack:
        live = Live(database, stack)
        live.work.execute("CREATE EXTENSION pgstattuple")

        def dead() -> dict[int, Counter[str]]:
            found = {}
            for content, conn in live.instances.items():
                rows = {
                    c: conn.execute(
                        f"SELECT dead_tuple_count FROM pgstattuple('pg_catalog.{c}')".encode()
                    ).fetchone()
                    for c in catalogs
                }
                found[content] = Counter({c: int(str(row[0])) for c, row in rows.items() if row})
            return found

        for conn in live.instances.values():
            for c in catalogs:
                conn.execute(f"VACUUM pg_catalog.{c}".encode())
        before = dead()
        subject = ProbeTable(Storage.AO_COLUMN if live.server.greenplum else Storage.HEAP)
        with connect(database) as session:
            done = latency.active(session, database, [subject], rounds=1)
        after = dead()
        assert not done.stopped
        for content in before:
            expected = versions(live.generation, subject, instance(content))
            assert {c: after[content][c] - before[content][c] for c in catalogs} == {
                c: expected.get(c, 0) for c in catalogs
            }, content


def test_ordinary_role(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS time_bob")
        conn.execute("CREATE ROLE time_bob LOGIN")
        try:
            bob = make_conninfo(database, user="time_bob")
            with connect(bob) as session:
                assert latency.owned(session)
                with pytest.raises(CatalogError, match="has no CREATE privilege") as refused:
                    latency.refuse(session, True, [])
                assert refused.value.exit_code == Exit.REFUSED
            conn.execute("GRANT CREATE ON DATABASE time_active TO time_bob")
            with connect(bob) as session:
                chosen = subjects(session.server.generation, leaves=3)
                latency.refuse(session, True, chosen)
                done = latency.active(session, bob, chosen, rounds=1)
                for content, counted in done.left.items():
                    predicted = footprint(
                        session.server.generation, chosen, instance(content), rounds=1, owned=True
                    )
                    assert counted == dict(predicted.rows), content
        finally:
            conn.execute("REVOKE ALL ON DATABASE time_active FROM time_bob")
            conn.execute("DROP ROLE time_bob")


def test_refusals(pg_dsn: str) -> None:
    with connect(pg_dsn) as session:
        with pytest.raises(CatalogError, match="off") as off:
            latency.refuse(session, False, [])
        assert off.value.exit_code == Exit.REFUSED
        with pytest.raises(CatalogError, match="lock slots") as many:
            latency.refuse(session, True, [ProbeTable(Storage.HEAP, 5_000_000)])
        assert many.value.exit_code == Exit.REFUSED


@pytest.mark.parametrize(("server", "name"), [("gp6_dsn", "coordinator"), ("pg_dsn", "server")])
def test_the_text_names_the_instance(
    server: str, name: str, request: pytest.FixtureRequest
) -> None:
    """PostgreSQL has no coordinator: its only instance is the server, in all tables."""
    dsn = fresh_database(request.getfixturevalue(server), "time_named")
    done = run("latency", dsn, "--allow-ddl", "--rounds", "1", "--leaves", "2", "--startup", "--no-store")  # fmt: skip
    assert done.returncode == 0, done.stderr
    first = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert first.count(name) == 2, done.stdout  # session starts and dead rows
    assert not ({"coordinator", "server"} - {name}) & set(first)
    assert "Dead rows left by 1 round " in done.stdout


def test_standby_is_refused(tmp_path: Path) -> None:
    with PrivateServer() as server:
        server.stop()
        (server.data / "standby.signal").touch()
        server.start()
        with connect(server.conninfo()) as session:
            assert session.facts["standby"]
            with pytest.raises(CatalogError, match="standby") as refused:
                latency.refuse(session, True, subjects(session.server.generation, leaves=2))
            assert refused.value.exit_code == Exit.REFUSED


def test_lock_timeout_ends_it_and_leaves_nothing_open(pg_dsn: str) -> None:
    """A lock on pg_namespace blocks CREATE SCHEMA: the probe stops after the lock timeout and rolls back."""
    dsn = fresh_database(pg_dsn, "time_locked")
    with psycopg.connect(dsn) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_namespace IN SHARE MODE")
        with connect(dsn) as session:
            done = latency.active(session, dsn, [ProbeTable(Storage.HEAP)], rounds=3, lock_ms=50)
        assert "lock timeout" in done.stopped
        assert done.rounds == 0
        rows = holder.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gpcatalog latency' AND state LIKE 'idle in transaction%'"
        ).fetchone()
        assert rows == (0,)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("fixture", ["pg_dsn", "gp6_dsn"])
def test_an_interrupted_probe_is_no_result(
    fixture: str, number: signal.Signals, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A signal during the DDL ends the command with its exit code; nothing is stored, no session and no schema is left."""
    dsn = fresh_database(request.getfixturevalue(fixture), "interrupted_ddl")
    child = subprocess.Popen(
        [sys.executable, "-m", "gpcatalog", "latency", dsn, "--allow-ddl", "--rounds", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GPCATALOG_HOME": str(tmp_path)},
    )
    with psycopg.connect(dsn, autocommit=True) as watcher:
        sessions = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND query LIKE '%CREATE TABLE gpcatalog\\_%'"
        )
        for _ in range(600):
            if watcher.execute(sessions.encode()).fetchone()[0]:
                break
            time.sleep(0.02)
        else:
            pytest.fail("no table was created")
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (128 + number, ""), err
        assert err.strip().splitlines()[-1].startswith("gpcatalog: ")
        for _ in range(100):
            if not watcher.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()[0]:
                break
            time.sleep(0.1)
        else:
            pytest.fail("a session is left")
        assert not watcher.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'gpcatalog\\_%'"
        ).fetchall()
    assert not list(tmp_path.rglob("*.gpcatalog"))
