"""Rows of a COPY arrive complete, and the session remains usable, however the COPY ends."""

from __future__ import annotations

import subprocess

import psycopg
import pytest

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.probes import copy_out
from gpcatalog.probes.connection import ProbeFailed, Timeouts, connect

ROWS = "SELECT n, repeat('x', n % 50), CASE WHEN n % 7 = 0 THEN E'a\\n\"b' END FROM generate_series(1, 100000) n"


def test_the_rows_are_those_of_psql(pg_dsn: str) -> None:
    with connect(pg_dsn) as session:
        blocks = list(session.stream(ROWS))
    theirs = subprocess.run(
        ["psql", "-X", "-d", pg_dsn, "-c", f"COPY ({ROWS}) TO STDOUT (FORMAT csv)"],
        capture_output=True,
        check=True,
    ).stdout
    assert b"".join(blocks) == theirs
    assert all(block.endswith(b"\n") and len(block) > copy_out.BLOCK for block in blocks[:-1])
    assert len(blocks) > 1


def test_nothing_is_no_block(pg_dsn: str) -> None:
    with connect(pg_dsn) as session:
        assert list(session.stream("SELECT 1 WHERE false")) == []
        assert session.query("SELECT 1 AS n") == [{"n": 1}]


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("SELECT no_such_column", "failed"),
        ("SELECT 1 / (1000 - n) FROM generate_series(1, 100000) n", "failed"),
        ("SELECT pg_ls_dir('.') FROM pg_authid", "denied"),
        ("SELECT pg_sleep(10)", "timed out"),
    ],
)
def test_an_error_at_any_row_is_that_of_the_probe(pg_dsn: str, statement: str, status: str) -> None:
    with psycopg.connect(pg_dsn, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS copier")
        conn.execute("CREATE ROLE copier LOGIN")
    with connect(pg_dsn, user="copier", timeouts=Timeouts(statement_ms=1000)) as session:
        with pytest.raises(ProbeFailed) as failed:
            list(session.stream(statement))
        assert failed.value.status == status
        assert session.query("SELECT 1 AS n") == [{"n": 1}]


def test_a_reader_that_stops_leaves_the_session_usable(pg_dsn: str) -> None:
    """Reading all rows would take days, and no timeout ends the statement."""
    with connect(pg_dsn, timeouts=Timeouts(statement_ms=86_400_000)) as session:
        stream = session.stream("SELECT generate_series(1, 10000000000000)")
        assert next(stream).startswith(b"1\n2\n3\n")
        stream.close()
        assert session.query("SELECT 1 AS n") == [{"n": 1}]


def test_a_connection_that_ends_is_reported(pg_dsn: str) -> None:
    with connect(pg_dsn) as session, psycopg.connect(pg_dsn, autocommit=True) as other:
        pid = session.query("SELECT pg_backend_pid() AS pid")[0]["pid"]
        stream = session.stream("SELECT generate_series(1, 10000000000000)")
        next(stream)
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
        with pytest.raises(CatalogError) as lost:
            list(stream)
        assert lost.value.exit_code == Exit.UNREACHABLE
