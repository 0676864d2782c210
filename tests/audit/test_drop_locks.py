"""The locks of DROP that an audit reports, against those that the server holds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest

from gpcatalog.audit.drop_locks import most_locks
from gpcatalog.model.scope import Scope
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.check.test_drop_locks import HELD
from tests.conftest import fresh_database

COLUMNS = "a int NOT NULL, b text DEFAULT 'x' CHECK (b <> ''), c int DEFAULT 1"
GREENPLUM = f"""
CREATE TABLE r (a int PRIMARY KEY) DISTRIBUTED BY (a);
CREATE TABLE t ({COLUMNS}, FOREIGN KEY (a) REFERENCES r) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a)
    PARTITION BY RANGE (a) (START (0) END (6) EVERY (1));
"""
POSTGRES = f"""
CREATE TABLE r (a int PRIMARY KEY);
CREATE TABLE t ({COLUMNS}, PRIMARY KEY (a), FOREIGN KEY (a) REFERENCES r) PARTITION BY RANGE (a);
CREATE INDEX ON t (c);
""" + "".join(
    f"CREATE TABLE t{n} PARTITION OF t FOR VALUES FROM ({n}) TO ({n + 1});" for n in range(6)
)


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_the_server_holds_as_many(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "drop_locks_audit")
    greenplum = fixture.startswith("gp")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute((GREENPLUM if greenplum else POSTGRES).encode())
        with connect(dsn) as session:
            file = collect(session, tmp_path / "s.gpcatalog", scope=Scope.STORED)
            not_stored = collect(session, tmp_path / "n.gpcatalog", scope=Scope.REPORT)
        with conn.transaction():
            conn.execute("DROP TABLE t")
            held = conn.execute(
                (HELD + (" AND gp_segment_id = -1" if greenplum else "")).encode()
            ).fetchone()[0]
    for path in (not_stored, file):
        with Snapshot(path) as snapshot:
            found = most_locks(snapshot)
        assert found is not None
        assert (found.statement, found.name, found.locks) == ("drop", "t", held)
    # a definition of another version: the table without its constraints and defaults
    with duckdb.connect(str(file)) as db:
        db.execute(
            "UPDATE definition SET detail = '{\"columns\": [[\"a\"]]}' WHERE what = 'columns'"
        )
    with Snapshot(file) as snapshot:
        fewer = most_locks(snapshot)
    assert fewer is not None
    assert 6 < fewer.locks < held
