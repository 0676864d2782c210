"""Catalog queries of clients: what they read on live servers, that they open no table, and what a plan reports about them."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.commands.common import complete
from gpcatalog.commands.latency import latency as latency_command
from gpcatalog.model.clients import CLIENTS
from gpcatalog.probes.connection import connect
from tests.conftest import fresh_database
from tests.growth import made

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]
PARTITIONS = 6
app = typer.Typer()
app.command()(complete(latency_command))


@pytest.fixture(scope="module", params=SERVERS)
def database(request: pytest.FixtureRequest) -> str:
    dsn = fresh_database(request.getfixturevalue(request.param), "clients")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA sales")
        conn.execute("CREATE TABLE sales.one (k int PRIMARY KEY, note text DEFAULT 'x')")
        conn.execute("COMMENT ON TABLE sales.one IS 'a table'")
        if "Greenplum" in str(conn.execute("SELECT version()").fetchone()):
            conn.execute(
                "CREATE TABLE sales.wide (k int, note text) WITH (appendonly=true, orientation=column)"
                f" DISTRIBUTED BY (k) PARTITION BY RANGE (k) (START (0) END ({PARTITIONS}) EVERY (1))".encode()
            )
        else:
            conn.execute("CREATE TABLE sales.wide (k int, note text) PARTITION BY RANGE (k)")
            for n in range(PARTITIONS):
                conn.execute(
                    f"CREATE TABLE sales.wide_{n} PARTITION OF sales.wide FOR VALUES FROM ({n}) TO ({n + 1})".encode()
                )
    return dsn


def known(greenplum: int) -> set[str]:
    """Clients that support a server. greenplum: its major version, 0 for PostgreSQL."""
    without = {6: {"pgAdmin"}, 7: set(), 0: {"gpbackup"}}[greenplum]
    return {client.title for client in CLIENTS} - without


def major(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        banner = str(conn.execute("SELECT version()").fetchone())
    return 0 if "Greenplum" not in banner else 6 if "9.4" in banner else 7


def test_queries_read_what_is_there_and_open_no_table(database: str) -> None:
    """Another session locks every table while the queries run."""
    with psycopg.connect(database) as holder:
        holder.execute("LOCK TABLE sales.wide, sales.one IN ACCESS EXCLUSIVE MODE")
        done = CliRunner().invoke(app, [database, "--clients", "--no-store", "--format", "json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    timings = {t["subject"]: t for t in result["timings"] if t["what"] == "client"}
    assert set(timings) == known(major(database))
    assert not [probe for probe, _ in result["not_read"] if probe.startswith("client")]
    assert timings[r"psql \d TABLE"]["leaves"] == PARTITIONS
    relations = PARTITIONS + 2
    assert timings["DBeaver"]["leaves"] == timings["JDBC"]["leaves"] == relations
    assert all(t["min_ms"] <= t["median_ms"] and 1 <= t["n"] <= 3 for t in timings.values())
    assert result["clients"] == {
        "table": "sales.wide",
        "table_partitions": PARTITIONS,
        "schema": "sales",
        "schema_relations": relations,
    }


def test_rows_are_those_of_the_catalogs(database: str) -> None:
    """The rows are counted by statements of this test, from the descriptions of what the clients read."""
    with connect(database) as session, psycopg.connect(database, autocommit=True) as conn:

        def one(statement: str) -> int:
            found = conn.execute(statement.encode()).fetchone()
            assert found is not None
            return int(str(found[0]))

        root = one("SELECT 'sales.wide'::regclass::oid")
        schema = one("SELECT oid FROM pg_namespace WHERE nspname = 'sales'")

        def rows(probe: str) -> int:
            return int(session.rows(probe, root=str(root), schema=str(schema))[0]["rows"])

        assert rows("client_psql") == PARTITIONS
        tables = one(
            "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace IN (SELECT"
            " oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')"
        )
        columns = one(
            "SELECT count(*) FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid WHERE attnum"
            " > 0 AND NOT attisdropped AND relkind IN ('r', 'p', 'v', 'f', 'm')"
        )
        described = one("SELECT count(*) FROM pg_description WHERE classoid = 1259")
        commented = one(
            "SELECT count(*) FROM pg_description d JOIN pg_attribute a ON a.attrelid = d.objoid AND"
            " a.attnum = d.objsubid JOIN pg_class c ON c.oid = a.attrelid WHERE d.objsubid > 0 AND"
            " c.relkind IN ('r', 'p', 'v', 'f', 'm')"
        )
        assert described >= 1
        # each table counts twice (name, kind), each column three times, and the comments
        least = 2 * tables + 3 * columns
        assert least < rows("client_jdbc") <= least + described + commented
        schema_tables = one(
            f"SELECT count(*) FROM pg_class WHERE relnamespace = {schema} AND relkind NOT IN ('i', 'I', 'c')"
        )
        schema_columns = one(
            f"SELECT count(*) FROM pg_attribute JOIN pg_class c ON attrelid = c.oid WHERE relnamespace = {schema}"
            " AND relkind NOT IN ('i', 'I', 'c') AND NOT attisdropped"
        )
        found = rows("client_dbeaver")
        # a comment and a default; on Greenplum 6, also the partitions in the view
        assert found - schema_tables - schema_columns == (
            2 + 2 * PARTITIONS if major(database) == 6 else 2
        )


def test_text_and_snapshot(database: str, tmp_path: Path) -> None:
    env = {"COLUMNS": "80", "GPCATALOG_HOME": str(tmp_path)}
    result = CliRunner().invoke(app, [database, "--clients", "--color", "never"], env=env)
    assert result.exit_code == 0, result.output
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    text = " ".join(result.stdout.split())
    assert "Catalog queries of clients" in text
    assert r"psql \d TABLE: table sales.wide (6 partitions); DBeaver" in text
    assert ": schema sales; pg_dump" in text
    assert ("pgAdmin" in text) == (major(database) != 6)
    assert "Time of statements (estimate)" in text
    stored = next(tmp_path.rglob("*.gpcatalog"))
    again = CliRunner().invoke(app, ["--snapshot", str(stored), "--color", "never"], env=env)
    assert "Catalog queries of clients" in again.stdout
    refused = CliRunner().invoke(app, ["--snapshot", str(stored), "--clients"], env=env)
    assert refused.exit_code != 0


def test_without_times(tmp_path: Path) -> None:
    """A snapshot without times of clients reports nothing about them."""
    path = made.write(tmp_path / "a.gpcatalog", made.SnapshotSpec())
    done = CliRunner().invoke(app, ["--snapshot", str(path), "--format", "json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["clients"] is None
    assert result["statements"]["pace"] == {"factor": 1.0, "basis": ""}
