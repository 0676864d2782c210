"""gp_toolkit's log views, read on request.

DDL, waits and cancellations are counted, no text of a statement is read, and a refusal is reported.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from gpcatalog.cli import app
from gpcatalog.errors import CatalogError, Exit
from tests.conftest import fresh_database
from tests.greenplum import Cluster

LOGGED = "-c log_statement=ddl -c log_min_duration_statement=0 -c log_lock_waits=on -c deadlock_timeout=100 -c lock_timeout=600"


def database(cluster: Cluster) -> str:
    """A database with gp_toolkit: on Greenplum 6, from the script that gpinitsystem would run."""
    dsn = fresh_database(cluster.dsn("template1"), "logged")
    with psycopg.connect(dsn, autocommit=True) as conn:
        if conn.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname = 'gp_toolkit'"
        ).fetchone() == (0,):
            script = next(cluster.home.glob("share/**/gp_toolkit.sql"), None)
            if script is None:
                conn.execute("CREATE EXTENSION gp_toolkit")
            else:
                env = cluster.env
                from gpcatalog.lab import process

                process.run(
                    [cluster.home / "bin/psql", "-Xq", "-d", dsn, "-f", script],
                    env=env,
                    what="gp_toolkit.sql",
                )
    return dsn


def ddl(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True, options=LOGGED, prepare_threshold=None) as conn:
        for n in range(3):
            conn.execute(
                f"CREATE TABLE secret_{n} (a int DEFAULT 4711) DISTRIBUTED BY (a)".encode()
            )
        conn.execute("/* said */ DROP TABLE secret_1")
        conn.execute("ALTER  TABLE secret_2 ADD COLUMN b int")
    with psycopg.connect(dsn) as holder:
        holder.execute("LOCK TABLE secret_0 IN ACCESS EXCLUSIVE MODE")

        def waits() -> None:
            with (
                psycopg.connect(dsn, options=LOGGED) as conn,
                pytest.raises(psycopg.errors.LockNotAvailable),
            ):
                conn.execute("ALTER TABLE secret_0 ADD COLUMN c int")

        waiting = threading.Thread(target=waits)
        waiting.start()
        waiting.join()
        holder.rollback()


@pytest.mark.parametrize("fixture", ["gp6_cluster", "gp7_cluster"])
def test_the_log_is_counted(fixture: str, request: pytest.FixtureRequest, home: Path) -> None:
    cluster: Cluster = request.getfixturevalue(fixture)
    dsn = database(cluster)
    ddl(dsn)
    time.sleep(0.5)  # the log collector writes what it has received
    done = CliRunner().invoke(app, ["latency", dsn, "--server-log", "0.2", "--format", "json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    found = {
        (t["what"], t["subject"]): t for t in result["timings"] if t["what"].startswith("log ")
    }
    assert found["log statement", "CREATE TABLE"]["n"] == 3
    assert found["log statement", "DROP TABLE"]["n"] == 1
    assert found["log statement", "ALTER TABLE"]["n"] == 2
    assert found["log statement", "CREATE TABLE"]["median_ms"] > 0
    assert found["log cancelled", "lock timeout"]["n"] == 1
    if fixture == "gp7_cluster":  # Greenplum 6 ignores log_lock_waits
        assert found["log lock wait", "AccessExclusiveLock"]["n"] == 1
    assert "secret" not in done.stdout.split('"locks"')[0]
    assert "4711" not in done.stdout
    assert "log_statement none" in result["log_settings"]
    text = CliRunner().invoke(
        app, ["latency", dsn, "--server-log", "0.2", "--color", "never"], env={"COLUMNS": "80"}
    )
    assert "Server log, the last 0.2 h" in text.stdout
    assert max(len(line) for line in text.stdout.splitlines()) <= 80
    # the result is stored in the snapshot
    newest = sorted(home.rglob("*.gpcatalog"))[-1]
    again = json.loads(
        CliRunner().invoke(app, ["latency", "--snapshot", str(newest), "--format", "json"]).stdout
    )
    assert any(t["what"] == "log statement" for t in again["timings"])


@pytest.mark.parametrize("fixture", ["gp6_cluster", "gp7_cluster"])
def test_an_unreadable_log_is_reported(fixture: str, request: pytest.FixtureRequest) -> None:
    cluster: Cluster = request.getfixturevalue(fixture)
    dsn = database(cluster)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS log_bob")
        conn.execute("CREATE ROLE log_bob LOGIN")
        bob = CliRunner().invoke(
            app,
            ["latency", make_conninfo(dsn, user="log_bob"), "--server-log", "1"],
            env={"COLUMNS": "80"},
        )
        conn.execute("DROP ROLE log_bob")
        assert bob.exit_code == 0, bob.output
        assert "not read: server_log: denied" in bob.stdout
        conn.execute(
            "DROP SCHEMA gp_toolkit CASCADE"
            if fixture == "gp6_cluster"
            else "DROP EXTENSION gp_toolkit CASCADE"
        )
    without = CliRunner().invoke(app, ["latency", dsn, "--server-log", "1"], env={"COLUMNS": "80"})
    assert without.exit_code == 0, without.output
    assert "not read: server_log: failed" in without.stdout


def test_postgres_has_no_such_view(pg_dsn: str) -> None:
    result = CliRunner().invoke(app, ["latency", pg_dsn, "--server-log", "1"])
    assert isinstance(result.exception, CatalogError)
    assert result.exception.exit_code == Exit.USAGE
    assert "not supported on PostgreSQL" in result.exception.message
