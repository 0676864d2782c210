"""Locks of DROP TABLE in `check` against those on live servers."""

from __future__ import annotations

import psycopg
import pytest

from tests.check.test_check import check
from tests.conftest import fresh_database

POSTGRES = """
CREATE TABLE t (a int NOT NULL, b text DEFAULT 'x' CHECK (b <> ''), c int, PRIMARY KEY (a)) PARTITION BY RANGE (a);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10);
CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (20);
CREATE INDEX ON t (c);
CREATE TABLE u (a serial, b text);
"""
GREENPLUM = """
CREATE TABLE t (a int, b text DEFAULT 'x' NOT NULL, c int CHECK (c > 0)) WITH (appendonly=true, orientation=column)
    DISTRIBUTED BY (a) PARTITION BY RANGE (a) SUBPARTITION BY LIST (c)
    SUBPARTITION TEMPLATE (SUBPARTITION x VALUES (1), DEFAULT SUBPARTITION o) (START (0) END (5) EVERY (1));
CREATE TABLE u (a int, b text) DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (0) END (5) EVERY (1));
"""
HELD = """SELECT count(DISTINCT (COALESCE(classid, 1259), COALESCE(relation, objid))) FROM pg_locks
           WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock' AND database = (SELECT oid FROM pg_database
                 WHERE datname = current_database()) AND (locktype = 'object' OR locktype = 'relation' AND relation >= 16384)"""


@pytest.mark.parametrize(
    ("fixture", "server"),
    [
        ("gp6_dsn", "greenplum6"),
        ("gp7_dsn", "greenplum7"),
        ("pg_dsn", "postgres15"),
        ("pgnew_dsn", "postgres18"),
        ("pg19_dsn", "postgres19"),
    ],
)
def test_locks_of_drop(fixture: str, server: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "drop_locks")
    script = GREENPLUM if fixture.startswith("gp") else POSTGRES
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(script.encode())
        for table in ("t", "u"):
            with conn.transaction():
                conn.execute(f"DROP TABLE {table}".encode())
                held = conn.execute(
                    (
                        HELD + (" AND gp_segment_id = -1" if fixture.startswith("gp") else "")
                    ).encode()
                ).fetchone()[0]
            report = check(script + f"DROP TABLE {table};", server=server)
            assert (report.statements[-1].cost.locks, table) == (held, table)
