"""What an audit times on live servers, and the command: figures exist, nothing is written, and texts of statements do not appear."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.audit.rules import run
from gpcatalog.commands.common import complete
from gpcatalog.commands.latency import latency as latency_command
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.latency.locks import arithmetic
from gpcatalog.model.timing import percentile
from gpcatalog.probes import latency
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.growth import made

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"]
app = typer.Typer()
app.command()(complete(latency_command))


@pytest.fixture(scope="module", params=SERVERS)
def database(request: pytest.FixtureRequest) -> str:
    return fresh_database(request.getfixturevalue(request.param), "time_passive")


def partitioned(conn: psycopg.Connection, leaves: int) -> None:
    if "Greenplum" in str(conn.execute("SELECT version()").fetchone()):
        conn.execute(
            f"CREATE TABLE wide (k int) DISTRIBUTED BY (k) PARTITION BY RANGE (k) (START (0) END ({leaves}) EVERY (1))".encode()
        )
        return
    conn.execute("CREATE TABLE wide (k int) PARTITION BY RANGE (k)")
    for n in range(leaves):
        conn.execute(
            f"CREATE TABLE wide_{n} PARTITION OF wide FOR VALUES FROM ({n}) TO ({n + 1})".encode()
        )


def test_snapshot_holds_timings_and_says_who_waits(database: str, tmp_path: Path) -> None:
    with (
        psycopg.connect(database, autocommit=True) as conn,
        psycopg.connect(database) as holder,
        connect(database) as session,
    ):
        partitioned(conn, 6)
        holder.execute("SELECT * FROM wide")  # AccessShareLock until it ends
        waiting = threading.Thread(
            target=lambda: conn.execute("ALTER TABLE wide RENAME TO secret_name")
        )
        waiting.start()
        try:
            for _ in range(100):
                rows = [r for r in latency.activity(session) if r["state"] == "waiting"]
                if rows:
                    break
                time.sleep(0.05)
            assert [r["command"] for r in rows] == ["ALTER TABLE"]
            assert str(holder.info.backend_pid) in rows[0]["blocked_by"]
            assert "secret" not in str(rows)
        finally:
            holder.rollback()
            waiting.join()
        with Snapshot(collect(session, tmp_path / "a.gpcatalog")) as snapshot:
            found = {(r["what"], r["subject"]): r for r in snapshot.rows("SELECT * FROM timing")}
            assert {"scan", "describe", "connect", "speed", "answer"} <= {what for what, _ in found}
            for what in ("scan dispatched", "speed dispatched"):
                assert ((what, "") in found) == session.server.greenplum
            assert found["connect", ""]["n"] == latency.ROUNDS
            counted = snapshot.rows(
                "SELECT DISTINCT content FROM timing WHERE what = 'rows inserted' ORDER BY 1"
            )
            assert [r["content"] for r in counted] == latency.instances(session)
            mine = "'connect', 'scan_class', 'scan_class_dispatched', 'describe', 'ddl_activity', 'statements', 'catalog_statistics'"
            notes = snapshot.rows(f"SELECT probe, status FROM coverage WHERE probe IN ({mine})")
            assert {n["status"] for n in notes} == {"read"}
            assert len(notes) == (7 if session.server.greenplum else 6)


def test_statistics_of_statements(tmp_path: Path) -> None:
    from gpcatalog.lab.postgres import PrivateServer

    with PrivateServer(settings={"shared_preload_libraries": "'pg_stat_statements'"}) as server:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            conn.execute('CREATE SCHEMA "odd ""place"')
            conn.execute('CREATE EXTENSION pg_stat_statements SCHEMA "odd ""place"')
            for n in range(3):
                conn.execute(f"CREATE TABLE t{n} (a int DEFAULT 4711)".encode())
            conn.execute("ALTER ROLE postgres PASSWORD 'hush'")
            conn.execute("CREATE TABLE secret (a int)")
            conn.execute("TRUNCATE secret")
            conn.execute("VACUUM FULL secret")
        with connect(server.conninfo()) as session:
            found = {t.subject: t for t in latency.statements(session)}
    assert found["CREATE TABLE"].n == 4
    assert {"TRUNCATE", "VACUUM FULL", "ALTER ROLE"} <= set(found)
    assert "secret" not in str(found).lower()
    assert found["CREATE TABLE"].mean_ms is not None
    assert "hush" not in str(found)
    assert "4711" not in str(found)


def test_command_with_and_without_ddl(database: str) -> None:
    greenplum = "gpadmin" in database
    passive = CliRunner().invoke(app, [database, "--color", "never"], env={"COLUMNS": "80"})
    assert passive.exit_code == 0, passive.output
    assert max(len(line) for line in passive.stdout.splitlines()) <= 80
    active = CliRunner().invoke(
        app, [database, "--allow-ddl", "--rounds", "2", "--leaves", "3", "--format", "json"]
    )
    assert active.exit_code == 0, active.output
    result = json.loads(active.stdout)
    assert "will leave" in active.stderr
    assert [one["equal"] for one in result["left"]] == [True] * (4 if greenplum else 1)
    assert result["rounds"] == 2
    assert not result["stopped"]
    again = CliRunner().invoke(app, [database, "--calibrate"])
    assert isinstance(again.exception, CatalogError)
    assert "too few points" in again.exception.message


def settled(dsn: str, counters: str) -> object:
    """Counters that no longer change, because sessions that have ended report late."""
    found: list[object] = []
    for _ in range(30):
        with psycopg.connect(dsn) as conn:  # a session keeps the values that it has read
            found.append(conn.execute(counters.encode()).fetchone())
        if len(found) > 2 and found[-3:] == [found[-1]] * 3:
            return found[-1]
        time.sleep(0.7)
    raise AssertionError(f"the counters do not settle: {found}")


def test_session_starts(database: str) -> None:
    """Pages read are counted on each instance; the scans are read-only and leave no rows."""
    greenplum = "gpadmin" in database
    counters = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_sys_tables"
    before = settled(database, counters)
    result = CliRunner().invoke(app, [database, "--startup", "--no-store", "--format", "json"])
    assert result.exit_code == 0, result.output
    starts = json.loads(result.stdout)["startups"]
    assert sorted(s["content"] for s in starts) == [-1, *(range(3) if greenplum else ())]
    with psycopg.connect(database) as conn:
        assert conn.execute(counters).fetchone() == before
        row = conn.execute(
            "SELECT pg_relation_size('pg_attribute') / current_setting('block_size')::int, (SELECT sum(last) FROM (SELECT"
            " max(split_part(trim(both '()' from ctid::text), ',', 1)::int) + 1 AS last FROM pg_attribute WHERE attnum > 0"
            " AND attrelid::regclass::text IN ('pg_am', 'pg_amproc', 'pg_index', 'pg_opclass', 'pg_amproc_fam_proc_index',"
            " 'pg_attribute_relid_attnum_index', 'pg_class_oid_index', 'pg_index_indexrelid_index', 'pg_opclass_oid_index',"
            " 'pg_rewrite_rel_rulename_index', 'pg_trigger_tgrelid_tgname_index') GROUP BY attrelid) r)"
        ).fetchone()
    entry = next(s for s in starts if s["content"] == -1)
    assert row is not None
    assert entry["pages_read"] == row[1]
    if not greenplum:  # on Greenplum, a session on the coordinator adds up all instances
        assert entry["pages"] == row[0]
    for s in starts:
        assert s["scan_ms"] > 0
        assert s["start_ms"] == pytest.approx(s["scan_ms"] * s["pages_read"] / s["pages"], abs=0.01)
    text = CliRunner().invoke(app, [database, "--startup", "--no-store", "--color", "never"])
    assert "pages read" in text.stdout
    assert max(len(line) for line in text.stdout.splitlines()) <= 80


def test_ddl_and_snapshot_do_not_go_together(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--snapshot", str(tmp_path / "x"), "--allow-ddl"])
    assert isinstance(result.exception, CatalogError)
    assert result.exception.exit_code == Exit.USAGE


def test_calibrate_over_a_series(home: Path) -> None:
    paths = made.series(home / "mdw-5432" / "sales", 6)
    done = CliRunner().invoke(app, ["--snapshot", str(paths[-1]), "--calibrate"])
    assert done.exit_code == 0, done.output
    assert "this server" in done.output
    result = json.loads(
        CliRunner().invoke(app, ["--snapshot", str(paths[-1]), "--format", "json"]).stdout
    )
    scan = next(c for c in result["curves"] if c["what"].endswith("coordinator"))
    assert scan["slope"] == pytest.approx(10.0)  # generated with 1 ms per 1,000 leaves
    assert scan["published"] == 100


def test_lock_arithmetic(tmp_path: Path) -> None:
    few = {
        "max_locks_per_transaction": "10",
        "max_connections": "10",
        "max_prepared_transactions": "0",
    }
    tables = [made.Table("big", 20000, range(150)), made.Table("small", 30000, range(3))]
    path = made.write(tmp_path / "locks.gpcatalog", made.SnapshotSpec(tables=tables, settings=few))
    from gpcatalog.audit.build import build

    with Snapshot(path) as snapshot:
        slots = arithmetic(snapshot)
        report = build(snapshot)
    assert slots.slots == 100
    locks = {(n.statement, n.table): n.locks for n in slots.needs}
    assert locks["select", "public.big"] == 151
    assert locks["backup", "the whole database"] == 155
    assert ("select", "public.big") in {(n.statement, n.table) for n in slots.lacking}
    assert "backup-locks-too-many" in {f.rule for f in run(report)}


def test_rules_about_time(tmp_path: Path) -> None:
    def timing(what: str, ms: float, subject: str = "") -> dict[str, object]:
        return {
            "what": what,
            "subject": subject,
            "content": None,
            "n": 2,
            "leaves": 9,
        } | dict.fromkeys(("min_ms", "median_ms", "p95_ms", "mean_ms"), ms)

    slow = [
        timing("describe", 2500.0),
        timing("plan", 1500.0, "public.wide"),
        timing("waiting ddl", 60_000.0),
    ]
    quick = [
        timing("describe", 20.0),
        timing("plan", 15.0, "public.wide"),
        timing("waiting ddl", 60.0),
    ]
    from gpcatalog.audit.build import build

    time_rules = {"describe-slow", "planning-slow", "ddl-waits"}
    for timings, expected in ((slow, time_rules), (quick, set())):
        path = made.write(
            tmp_path / f"{len(expected)}.gpcatalog",
            made.SnapshotSpec(tables=[made.Table("t", 20000, range(3))], timings=timings),
        )
        with Snapshot(path) as snapshot:
            assert time_rules & {f.rule for f in run(build(snapshot))} == expected


def test_percentile() -> None:
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([7], 0.5) == 7
