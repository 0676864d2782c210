"""The search path contains no schema in which other roles can create objects, in sessions and in scripts.

Names and operators are therefore the server's own.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.migration import journal
from gpcatalog.model.server import identify
from gpcatalog.probes.connection import connect
from gpcatalog.probes.guards import SEARCH_PATH
from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ["gp6_dsn", "gp7_dsn", "pg12_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database that is dropped afterwards: other tests audit all databases of a server, and would refuse this one."""
    server = request.getfixturevalue(request.param)
    yield fresh_database(server, "paths")
    made.execute(server, "DROP DATABASE paths")


def test_a_session_looks_in_pg_catalog_alone(database: str) -> None:
    """A session uses only pg_catalog, with any search_path of the database and with temporary objects of its own."""
    made.execute(database, "ALTER DATABASE paths SET search_path = public, pg_catalog")
    with connect(database) as session, session.fresh() as second:
        for one in (session, second):
            (row,) = one.query(
                "SELECT pg_catalog.current_setting('search_path') AS said, pg_catalog.current_schemas(true)::text AS used"
            )
            assert row["said"] == SEARCH_PATH
            assert re.fullmatch(r"\{pg_catalog(,pg_temp_\d+)?\}", row["used"])


@pytest.mark.parametrize("how", ["right", "function"])
def test_a_server_where_others_write_to_pg_catalog_is_refused(database: str, how: str) -> None:
    """A server is refused if another role can create objects in pg_catalog or owns a function there."""
    with psycopg.connect(database, autocommit=True) as conn:
        if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = 'intruder'").fetchone():
            conn.execute("CREATE ROLE intruder")
        conn.execute("GRANT CREATE ON SCHEMA pg_catalog TO intruder")
        if how == "function":
            conn.execute(
                "CREATE FUNCTION pg_catalog.evil(int) RETURNS int LANGUAGE sql AS 'SELECT $1'"
            )
            conn.execute("ALTER FUNCTION pg_catalog.evil(int) OWNER TO intruder")
            conn.execute("REVOKE CREATE ON SCHEMA pg_catalog FROM intruder")
    with pytest.raises(CatalogError, match="intruder") as refused:
        connect(database)
    assert refused.value.exit_code == Exit.REFUSED
    assert "REVOKE CREATE ON SCHEMA pg_catalog" in refused.value.hint


def test_every_file_sets_the_path_before_it_does_anything(database: str, tmp_path: Path) -> None:
    """A script sets the search path first, after commands of psql and other SETs only, and never sets another path."""
    greenplum = "gpadmin" in database
    leaves = " DISTRIBUTED BY (k) PARTITION BY RANGE (d) (START ('2024-01-01'::date) END ('2024-03-01'::date) EVERY ('1 day'::interval))"
    made.execute(
        database,
        "CREATE TABLE t (k int, d date, v text)"
        + (leaves if greenplum else " PARTITION BY RANGE (d)"),
    )
    if not greenplum:
        days = [f"2024-01-{n:02}" for n in range(1, 32)]
        made.execute(
            database,
            *(
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('{a}') TO ('{b}')"
                for n, (a, b) in enumerate(itertools.pairwise(days))
            ),
        )
    files = made.written(database, tmp_path / "sql", made.plan_of(database))
    texts = {p.name: p.read_text() for p in (tmp_path / "sql").rglob("*.sql")}
    assert files.forward()
    assert {"0000_prepare.sql", "verify.sql", "cleanup.sql"} <= texts.keys()
    for name, text in texts.items():
        if name == "index.sql":
            assert not re.search(r"(?m)^(?!\\|--|\s*$)", text), (
                "psql's own words and comments alone"
            )
            continue
        plain = [line for line in text.splitlines() if line and not line.startswith(("--", "\\"))]
        before = plain[: plain.index("SET search_path = pg_catalog, pg_temp;")]
        assert all(line.startswith("SET ") for line in before), (name, before)
        paths = re.findall(r"(?i)\bsearch_path\s*(?:=|TO)\s*([^;\n]*?)(?:;|$| AS\b)", text, re.M)
        assert {s.strip() for s in paths} == {SEARCH_PATH}, name


def test_every_function_of_the_journal_sets_its_own_path() -> None:
    """Scripts and verify call the functions, but a DBA may also call them by hand."""
    for banner, number, segments in (
        ("PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build dev)", 90426, True),
        ("PostgreSQL 12.12 (Greenplum Database 7.0.0 build dev)", 120012, True),
        ("PostgreSQL 18.1", 180001, False),
    ):
        text = journal.prepare(identify(banner, number, has_segments=segments))
        heads = re.findall(r"CREATE OR REPLACE FUNCTION (\S+?)\(.*?AS \$f\$", text, re.S)
        guarded = re.findall(
            r"CREATE OR REPLACE FUNCTION (\S+?)\((?:(?!CREATE OR REPLACE).)*?SET search_path = pg_catalog, pg_temp\b.*?AS \$f\$",
            text,
            re.S,
        )
        assert len(heads) > 20
        assert guarded == heads


def test_the_program_says_why(database: str, home: Path) -> None:
    """The command line reports the reason and the exit code."""
    with psycopg.connect(database, autocommit=True) as conn:
        if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = 'intruder'").fetchone():
            conn.execute("CREATE ROLE intruder")
        conn.execute("GRANT CREATE ON SCHEMA pg_catalog TO intruder")
    result = subprocess.run(
        [sys.executable, "-m", "gpcatalog", "audit", database, "--no-store"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 4, result.stderr
    assert (
        "roles that are not superusers can replace functions in schema pg_catalog: intruder"
        in result.stderr
    )
