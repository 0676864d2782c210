"""An audit that is not stored reads less, and reports the same."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psycopg
import pytest

from gpcatalog.model.scope import Scope
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.services.audits import audit_snapshot
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database

GREENPLUM = """
CREATE TABLE t (a int, d date, b text) DISTRIBUTED BY (a)
    PARTITION BY RANGE (d) (START ('2026-01-01') END ('2026-02-01') EVERY (interval '1 day'));
COMMENT ON TABLE t_1_prt_3 IS 'third';
CREATE VIEW v AS SELECT * FROM t_1_prt_4;
"""
POSTGRES = """
CREATE TABLE t (a int, d date, b text) PARTITION BY RANGE (d);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY RANGE (a);
CREATE TABLE t2a PARTITION OF t2 FOR VALUES FROM (0) TO (10);
CREATE TABLE t2b PARTITION OF t2 FOR VALUES FROM (10) TO (20);
COMMENT ON TABLE t1 IS 'first';
CREATE VIEW v AS SELECT * FROM t2a;
"""
PENDING = "SELECT root, oid, detail FROM partition_fact WHERE fact = 'pending detach' ORDER BY oid"


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_the_same_is_reported(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "not_stored")
    greenplum = fixture.startswith("gp")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute((GREENPLUM if greenplum else POSTGRES).encode())
        if not greenplum:
            _interrupt_detaches(dsn, conn)
    found = {}
    for scope in Scope:
        with connect(dsn) as session:
            found[scope] = collect(session, tmp_path / f"{scope}.gpcatalog", scope=scope)
    facts, pending, findings = {}, {}, {}
    for scope, path in found.items():
        with Snapshot(path) as snapshot:
            facts[scope] = snapshot.rows("SELECT count(*) AS n FROM partition_fact")[0]["n"]
            pending[scope] = snapshot.rows(PENDING)
        report = audit_snapshot(path, forecast=False)
        findings[scope] = [(f.rule, f.severity, f.relations, f.content) for f in report.findings]
    assert pending[Scope.REPORT] == pending[Scope.PLAN]
    assert len(pending[Scope.REPORT]) == (0 if greenplum else 2)
    assert facts[Scope.REPORT] == len(pending[Scope.REPORT]) < facts[Scope.PLAN]
    assert findings[Scope.REPORT] == findings[Scope.STORED] == findings[Scope.PLAN]


def _interrupt_detaches(dsn: str, conn: psycopg.Connection) -> None:
    """Begin to detach a partition of the table and one of a partition, and cancel both."""
    for parent, part in (("t2", "t2b"), ("t", "t1")):
        with psycopg.connect(dsn) as reader:
            reader.execute(f"SELECT FROM {part}")
            conn.execute("SET statement_timeout = '300ms'")
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                conn.execute(f"ALTER TABLE {parent} DETACH PARTITION {part} CONCURRENTLY")
                raise AssertionError("the statement waits for the reader")
            conn.execute("RESET statement_timeout")
