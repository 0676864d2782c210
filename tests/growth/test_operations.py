"""`growth` reports the data of pg_stat_last_operation: relations by day, the last DDL of each table, leaves counted for their table."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from gpcatalog.cli import app
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database


@pytest.mark.parametrize("server", ["gp6_dsn", "gp7_dsn"])
def test_days_and_last_ddl(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "operations")
    with psycopg.connect(dsn, autocommit=True) as conn:
        before = conn.execute(
            "SELECT count(*) FROM pg_stat_last_operation WHERE classid = 1259 AND staactionname = 'CREATE'"
        ).fetchone()
        assert before is not None
        conn.execute(
            "CREATE TABLE wide (id int, d int) WITH (appendonly=true) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (START (0) END (7) EVERY (1))"
        )
        conn.execute("CREATE TABLE plain (id int) DISTRIBUTED BY (id)")
        conn.execute("CREATE TEMP TABLE fleeting (id int) DISTRIBUTED BY (id)")
        conn.execute("ALTER TABLE wide ADD COLUMN more int")
        conn.execute("TRUNCATE plain")
        with connect(dsn) as session:
            first = collect(session, tmp_path / "20260101T000000Z.gpcatalog")
    with Snapshot(first) as snapshot:
        assert {
            r["status"]
            for r in snapshot.rows("SELECT status FROM coverage WHERE probe LIKE '%operation%'")
        } == {"read"}
    result = json.loads(
        CliRunner().invoke(app, ["growth", "--folder", str(tmp_path), "--format", "json"]).stdout
    )
    today = next(d for d in result["operation_days"] if d["day"] == f"{datetime.now(UTC):%Y-%m-%d}")
    assert today["created"] == before[0] + 7 + 1 + 1  # not recorded for temporary tables
    assert today["leaves_created"] == 7
    assert today["truncated"] == 1
    last = {(o["name"], o["action"]): o for o in result["last_operations"]}
    assert ("wide", "CREATE") in last
    assert last["wide", "ALTER"]["detail"] == "ADD COLUMN"
    assert ("plain", "TRUNCATE") in last
    assert "fleeting" not in str(last)
    assert {o["role"] for o in result["last_operations"]} == {"gpadmin"}
    text = (
        CliRunner().invoke(app, ["growth", "--folder", str(tmp_path)], env={"COLUMNS": "80"}).stdout
    )
    assert "public.wide" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_postgres_keeps_no_such_thing(pg_dsn: str, tmp_path: Path) -> None:
    dsn = fresh_database(pg_dsn, "operations")
    with connect(dsn) as session:
        path = collect(session, tmp_path / "20260101T000000Z.gpcatalog")
    with Snapshot(path) as snapshot:
        assert snapshot.rows("SELECT * FROM operation_day") == []
    result = json.loads(
        CliRunner().invoke(app, ["growth", "--folder", str(tmp_path), "--format", "json"]).stdout
    )
    assert result["operation_days"] == result["last_operations"] == []
