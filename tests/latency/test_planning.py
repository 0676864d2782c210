"""Planning time is measured only on request, and never if planning could run a function of the table's owner."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from gpcatalog.probes.connection import connect
from gpcatalog.probes.tables import named, reachable_functions
from tests import program
from tests.conftest import fresh_database

SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn")


@pytest.fixture(params=SERVERS)
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Conninfo of the superuser, and of a role that may select from all tables."""
    dsn = fresh_database(request.getfixturevalue(request.param), "planned")
    greenplum = request.param.startswith("gp")
    split = (
        " DISTRIBUTED BY (k) PARTITION BY RANGE (k) (START (0) END (4) EVERY (1))"
        if greenplum
        else " PARTITION BY RANGE (k)"
    )
    with psycopg.connect(dsn, autocommit=True) as conn:
        if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = 'planner'").fetchone():
            conn.execute("CREATE ROLE planner LOGIN")
            conn.execute("CREATE ROLE maker")
        conn.execute("CREATE SCHEMA app")
        conn.execute(
            "ALTER SCHEMA app OWNER TO maker"
        )  # Greenplum 7 rejects AUTHORIZATION if maker may not create schemas
        conn.execute(
            "CREATE FUNCTION app.f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END'"
        )
        conn.execute("ALTER FUNCTION app.f(int) OWNER TO maker")
        conn.execute("CREATE DOMAIN app.small AS int CHECK (app.f(VALUE) < 10)")
        for table, more in {
            "clean": "",
            "checked": ", CHECK (app.f(v) >= 0)",
            "exported": ", CHECK (pg_catalog.lo_export(1::oid, '/nowhere') > v)",
        }.items():
            conn.execute(f"CREATE TABLE app.{table} (k int, v int{more}){split}".encode())
            if not greenplum:
                for k in range(4):
                    conn.execute(
                        f"CREATE TABLE app.{table}_{k} PARTITION OF app.{table} FOR VALUES FROM ({k}) TO ({k + 1})".encode()
                    )
            conn.execute(f"ALTER TABLE app.{table} OWNER TO maker".encode())
            conn.execute(f"GRANT SELECT ON app.{table} TO planner".encode())
        conn.execute(f"CREATE TABLE app.domained (k int, v int){split}".encode())
        leaf = "app.domained" if greenplum else "app.domained_0"
        if not greenplum:
            conn.execute(
                f"CREATE TABLE {leaf} PARTITION OF app.domained FOR VALUES FROM (0) TO (1)".encode()
            )
        # a domain in an index expression of one leaf, with a function in the domain's check
        conn.execute(f"CREATE INDEX ON {leaf} ((v::app.small))".encode())
        conn.execute("GRANT USAGE ON SCHEMA app TO planner")
        conn.execute("GRANT SELECT ON app.domained TO planner")
    return dsn, re.sub(r"user=\w+", "user=planner", dsn)


def latency(dsn: str, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return program.run("latency", dsn, "--no-store", *words)


def test_only_on_request_and_only_where_it_runs_no_function(
    place: tuple[str, str], home: Path
) -> None:
    superuser, plain = place
    assert "plan, new session" not in latency(plain, home).stdout
    result = latency(plain, home, "--plan", "app.clean")
    assert result.returncode == 0, result.stderr
    assert "plan, new session: app.clean" in result.stdout
    for table, function in (
        ("checked", "app.f(integer)"),
        ("domained", "app.f(integer)"),
        ("exported", "lo_export(oid,text)"),
    ):
        result = latency(plain, home, "--plan", f"app.{table}")
        assert result.returncode == 4, (table, result.stdout)
        assert f"planning a query on app.{table} could run {function}" in result.stderr
    result = latency(superuser, home, "--plan", "app.clean")
    assert result.returncode == 4
    assert "privileges of this session (superuser)" in result.stderr
    result = latency(plain, home, "--plan", "app.nothing")
    assert result.returncode == 2
    assert "no table app.nothing" in result.stderr


@pytest.mark.parametrize("power", ["CREATEROLE", "superuser's member", "pg_read_server_files"])
def test_a_role_with_powers_does_not_plan(place: tuple[str, str], home: Path, power: str) -> None:
    superuser, plain = place
    with psycopg.connect(superuser, autocommit=True) as conn:
        mine = conn.execute("SELECT current_user").fetchone()
        assert mine is not None
        if (
            power.startswith("pg_")
            and not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [power]).fetchone()
        ):
            pytest.skip("this server has no such role")
        grant, back = {
            "CREATEROLE": ("ALTER ROLE planner CREATEROLE", "ALTER ROLE planner NOCREATEROLE"),
            "superuser's member": (f"GRANT {mine[0]} TO planner", f"REVOKE {mine[0]} FROM planner"),
        }.get(power, (f"GRANT {power} TO planner", f"REVOKE {power} FROM planner"))
        conn.execute(grant.encode())
        try:
            result = latency(plain, home, "--plan", "app.clean")
        finally:
            conn.execute(back.encode())
    assert result.returncode == 4
    assert "with the privileges of this session" in result.stderr


def test_reachable_functions_say_what_they_are(place: tuple[str, str]) -> None:
    with connect(place[0]) as session:
        found = {
            t: reachable_functions(session, named(session, f"app.{t}").oid)
            for t in ("clean", "checked", "exported", "domained")
        }
        assert (
            named(session, "checked").text == "app.checked"
        )  # without a schema: the only table of this name
    assert found["clean"] == []
    assert [(r["function"], r["owner"], r["risk"]) for r in found["checked"]] == [
        ("app.f(integer)", "maker", "owner")
    ]
    assert [(r["function"], r["risk"]) for r in found["exported"]] == [
        ("lo_export(oid,text)", "side effects")
    ]
    assert ("app.f(integer)", "maker", "owner") in [
        (r["function"], r["owner"], r["risk"]) for r in found["domained"]
    ]
