"""The statement that searches for code of other roles: its cost grows with the relations, and the planner expects few rows.

PostgreSQL 19 allocates memory for all rows that it expects from a recursive statement: once 4.6 GB, on a database of 38,000 relations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from gpcatalog.probes.connection import connect
from tests.conftest import fresh_database

LEAVES = 300
EXPECTED = 200_000  # rows that the planner may expect from a recursion
READ = 30  # rows per relation that may be read and discarded


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All nodes of a plan."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_many_relations(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "reachable")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE t (k int PRIMARY KEY, a text DEFAULT upper('x'), CHECK (k >= 0)) PARTITION BY RANGE (k)"
        )
        conn.execute("CREATE INDEX t_a ON t (lower(a))")
        conn.execute(
            f"DO $$ BEGIN FOR i IN 0..{LEAVES - 1} LOOP EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM (%s) TO (%s)',"
            " i, i, i + 1); END LOOP; END $$".encode()
        )
        conn.execute("VACUUM ANALYZE")
        (root,) = conn.execute("SELECT 't'::regclass::oid::int8").fetchone() or (0,)
        with connect(dsn) as session:
            text = session.statement("reachable_code", root=str(root), ddl="true")
            assert session.rows("reachable_code", root=str(root), ddl="true") == []
        conn.execute("SET search_path = pg_catalog")
        row = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}".encode()).fetchone()
    assert row is not None
    found = list(nodes(row[0][0]["Plan"]))
    recursions = [n["Plan Rows"] for n in found if n["Node Type"] == "Recursive Union"]
    assert recursions
    assert max(recursions) < EXPECTED, json.dumps(recursions)
    thrown = sum(
        n["Actual Loops"] * n.get("Rows Removed by Filter", 0)
        for n in found
        if n["Node Type"] == "CTE Scan"
    )
    assert thrown < READ * 5 * LEAVES
