"""Reading a table costs in proportion to its own partitions, or one statement reads all tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

import psycopg
import pytest

from gpcatalog.model.names import oid_array
from gpcatalog.probes.by_table import BATCH_PROBE, ByTable
from gpcatalog.probes.connection import ProbeFailed, Session, Timeouts, connect
from tests.conftest import fresh_database
from tests.probes.test_reachable import nodes

LARGE = 500  # partitions of another table
SERVERS = [
    "pg_dsn",
    "pgnew_dsn",
    pytest.param("gp6_dsn", marks=pytest.mark.greenplum),
    pytest.param("gp7_dsn", marks=pytest.mark.greenplum),
]


def _oid(conn: psycopg.Connection[Any], name: str) -> int:
    row = conn.execute("SELECT %s::regclass::oid::int8", [name]).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture(params=["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def crowded(request: pytest.FixtureRequest) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """A database with a small table, and a table that has most rows of the catalogs."""
    dsn = fresh_database(request.getfixturevalue(request.param), "by_table")
    columns = ", ".join(f"c{n} text" for n in range(12))
    with psycopg.connect(dsn, autocommit=True) as conn:
        for name, leaves in (("small", 3), ("large", LARGE)):
            conn.execute(
                f"CREATE TABLE {name} (k int CHECK (k >= 0), {columns}) PARTITION BY RANGE (k)".encode()
            )
            conn.execute(f"CREATE INDEX ON {name} (c0)".encode())
            conn.execute(
                f"DO $$ BEGIN FOR i IN 1..{leaves} LOOP EXECUTE format('CREATE TABLE {name}_%s PARTITION OF {name}"
                " FOR VALUES FROM (%s) TO (%s)', i, i, i + 1); END LOOP; END $$".encode()
            )
        conn.execute("VACUUM ANALYZE")
        yield conn, dsn


@pytest.mark.parametrize(
    "probe",
    [
        "reachable_code",
        "migration_tree",
        "migration_traits",
        "migration_columns",
        "migration_indexes",
        "migration_checksums",
        "migration_code",
    ],
)
def test_other_tables_cost_nothing(
    crowded: tuple[psycopg.Connection[Any], str], probe: str
) -> None:
    conn, dsn = crowded
    root = _oid(conn, "small")
    if probe in ("reachable_code", "migration_tree"):
        values = {"root": str(root)} | ({"ddl": "true"} if probe == "reachable_code" else {})
    else:
        values = {"oids": oid_array(_oid(conn, f"small_{n}") for n in (1, 2, 3))}
    with connect(dsn) as session:
        text = session.statement(probe, **values)
        session.rows(probe, **values)
    conn.execute("SET search_path = pg_catalog")
    conn.execute("SET jit = off")
    row = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}".encode()).fetchone()
    assert row is not None
    scans = {
        (n["Node Type"], n["Relation Name"]): n["Actual Loops"]
        * (n["Actual Rows"] + n.get("Rows Removed by Filter", 0))
        for n in nodes(row[0][0]["Plan"])
        if n.get("Relation Name")
        in ("pg_class", "pg_attribute", "pg_depend", "pg_index", "pg_type")
    }
    assert max(scans.values(), default=0) < LARGE, json.dumps({str(k): v for k, v in scans.items()})


@pytest.fixture(params=SERVERS)
def tied(request: pytest.FixtureRequest) -> tuple[str, int, int]:
    """A database with two partitioned tables, the second with a column of the first one's row type; and the OIDs of both."""
    dsn = fresh_database(request.getfixturevalue(request.param), "by_table_tied")
    classic = request.param == "gp6_dsn"
    with psycopg.connect(dsn, autocommit=True) as conn:
        for name, kind in (("first", "int"), ("second", "first")):
            conn.execute(
                f"CREATE TABLE {name} (k int, v {kind}) PARTITION BY RANGE (k)".encode()
                + (b" (START (0) END (2) EVERY (1))" if classic else b"")
            )
            if not classic:
                conn.execute(
                    f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM (0) TO (1)".encode()
                )
        return dsn, _oid(conn, "first"), _oid(conn, "second")


def test_together_as_alone(tied: tuple[str, int, int]) -> None:
    dsn, *roots = tied
    with connect(dsn) as session:
        alone = {root: session.rows(BATCH_PROBE, roots=str(root)) for root in roots}
        with mock.patch.object(Session, "rows", autospec=True, side_effect=Session.rows) as calls:
            ask = ByTable([session], roots).rows
            together = {root: ask(BATCH_PROBE, roots=str(root)) for root in roots}
        assert calls.call_count == 1
    assert together == alone
    assert any(r["fact"] == "needed by another object" for r in alone[roots[0]])


def test_an_audit_names_what_another_partitioned_table_needs(tied: tuple[str, int, int]) -> None:
    dsn, first, _ = tied
    with connect(dsn) as session:
        facts = session.rows("partition_facts")
        alone = session.rows(BATCH_PROBE, roots=str(first))
    expected = [(r["oid"], r["detail"]) for r in alone if r["fact"] == "needed by another object"]
    assert expected
    assert expected == sorted(
        (r["oid"], r["detail"])
        for r in facts
        if r["root"] == first and r["fact"] == "needed by another object"
    )


def test_one_by_one_where_together_fails(tied: tuple[str, int, int]) -> None:
    dsn, *roots = tied
    with (
        connect(dsn, timeouts=Timeouts(lock_ms=200, statement_ms=5_000)) as session,
        psycopg.connect(dsn) as holder,
    ):
        ask = ByTable([session], roots).rows
        holder.execute("LOCK TABLE pg_catalog.pg_rewrite IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ProbeFailed):
            ask(BATCH_PROBE, roots=str(roots[0]))
        holder.rollback()
        assert ask(BATCH_PROBE, roots=str(roots[1])) == session.rows(
            BATCH_PROBE, roots=str(roots[1])
        )
