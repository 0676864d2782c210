"""With the role that `doctor --create-role` prints, an audit reads the same as with a superuser, on every server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import psycopg
import pytest

from gpcatalog.model.file_choice import FileChoice, FileSelection
from gpcatalog.probes.catalogs import SUPERUSER_ONLY
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.schema import TABLES
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.probes import zoo
from tests.upkeep.test_live import night

ROLE = 'moni"tor 3'
SERVERS = ("gp6_dsn", "gp7_dsn", "pg12_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn")
# sections about the audit itself; statistics change while the two audits run
OTHERS = ("snapshot", "coverage", "timing", "horizon")
MOVING = ("dead_tuples", "last_vacuum", "reltuples", "age_seconds")
# how many segment file lists are compared with the directories depends on the time that the directories took
COMPARED = ("basis", "catalog")


@pytest.fixture(params=SERVERS)
def dsn(request: pytest.FixtureRequest) -> str:
    """A database with tables of every kind, as the conninfo of its superuser."""
    conninfo = fresh_database(request.getfixturevalue(request.param), "monitored")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        zoo.make(conn)
        conn.execute("ANALYZE")
    year, text = night(conninfo, "[default]\npremake = '5d'\n")
    assert year.run(text).returncode == 0
    return conninfo


def _audited(
    dsn: str, file: Path, choice: FileChoice | None = None
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Rows of every section, sorted, and the status of every probe."""
    with connect(dsn) as session:
        collect(session, file, files=choice)
    with Snapshot(file) as snapshot:
        rows = {
            name: sorted(
                str({k: v for k, v in row.items() if k not in MOVING})
                for row in snapshot.rows(f'SELECT * FROM "{name}"')
                if COMPARED not in row.items()
                and not SUPERUSER_ONLY & {row.get("relation"), row.get("catalog")}
            )
            for name in TABLES
            if name not in OTHERS
        }
        return rows, {
            r["probe"]: r["status"] for r in snapshot.rows("SELECT probe, status FROM coverage")
        }


@pytest.mark.long
def test_it_sees_what_a_superuser_sees(dsn: str, tmp_path: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "gpcatalog", "doctor", dsn, "--create-role", ROLE],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    with psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(2):  # running it again changes nothing
            conn.execute(printed.encode())
        found = conn.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = %s", [ROLE]
        ).fetchone()
        assert found == (False, False, False)
    mine = re.sub(r"user=\w+", """user='moni"tor 3'""", dsn)
    with psycopg.connect(mine) as conn, pytest.raises(psycopg.Error):
        conn.execute(
            "SELECT * FROM pg_catalog.pg_statistic"
        )  # sample values of columns cannot be read
    expected, read = _audited(dsn, tmp_path / "superuser.gpcatalog")
    got, status = _audited(mine, tmp_path / "role.gpcatalog")
    # rows of these two are only for superusers; for other roles, they remain estimates, which is named
    assert status == {
        k: "not applicable" if k.rpartition(" ")[2] in SUPERUSER_ONLY else v
        for k, v in read.items()
    }
    assert status["catalog_widths pg_authid"] == "not applicable"
    assert set(status.values()) <= {"read", "not applicable"}
    assert len(expected) >= 10
    for section, rows in expected.items():
        assert got[section] == rows, section
    # the same with a sample, which uses other statements; it always contains some of so many tables
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA many")
        if conn.execute("SELECT version() LIKE '%Greenplum%'").fetchone() == (True,):
            conn.execute(
                "CREATE TABLE many.t (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b)"
                " (START (0) END (300) EVERY (1))"
            )
        else:
            conn.execute("CREATE TABLE many.t (a int, b int) PARTITION BY RANGE (b)")
            for n in range(300):
                conn.execute(
                    f"CREATE TABLE many.t{n} PARTITION OF many.t FOR VALUES FROM ({n}) TO ({n + 1})".encode()
                )
    with mock.patch("gpcatalog.probes.files.FEWEST", 10):
        expected, read = _audited(dsn, tmp_path / "s.gpcatalog", FileChoice(FileSelection.SAMPLE))
        got, status = _audited(mine, tmp_path / "r.gpcatalog", FileChoice(FileSelection.SAMPLE))
    assert {read["relation_files of a sample"], status["relation_files of a sample"]} == {"read"}
    assert len(expected["file_sample"]) > 1
    for section in ("file_total", "file_bucket", "file_sample"):
        assert got[section] == expected[section], section
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP TABLE many.t")
        conn.execute("DROP SCHEMA many")
        conn.execute("DROP SCHEMA gpcatalog_monitor CASCADE")
        conn.execute('DROP OWNED BY "moni""tor 3"')
        conn.execute('DROP ROLE "moni""tor 3"')


def test_a_schema_of_another_role_is_not_used(pg_dsn: str) -> None:
    """A schema gpcatalog_monitor that another role created is not used: the script stops, and an audit reads nothing from it."""
    conninfo = fresh_database(pg_dsn, "squatted_monitor")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("CREATE ROLE squatter LOGIN")
        conn.execute("CREATE SCHEMA gpcatalog_monitor AUTHORIZATION squatter")
        conn.execute("GRANT USAGE ON SCHEMA gpcatalog_monitor TO PUBLIC")
        conn.execute("CREATE ROLE reader LOGIN")
    try:
        with connect(re.sub(r"user=\w+", "user=reader", conninfo)) as session:
            assert not session.monitored
        printed = subprocess.run(
            [sys.executable, "-m", "gpcatalog", "doctor", conninfo, "--create-role", "reader"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        with (
            psycopg.connect(conninfo, autocommit=True) as conn,
            pytest.raises(psycopg.Error, match="gpcatalog_monitor belongs to a role"),
        ):
            conn.execute(printed.encode())
    finally:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("DROP OWNED BY squatter")
            conn.execute("DROP ROLE squatter")
            conn.execute("DROP ROLE reader")
