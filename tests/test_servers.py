"""The test servers themselves: each starts and is the server it claims to be."""

from __future__ import annotations

import psycopg
import pytest


@pytest.mark.parametrize(
    ("fixture", "banner"),
    [
        ("gp6_dsn", "Greenplum Database 6"),
        ("gp7_dsn", "Greenplum Database 7"),
        ("pg_dsn", "PostgreSQL 15"),
        ("pgnew_dsn", "PostgreSQL 1"),
    ],
)
def test_starts(fixture: str, banner: str, request: pytest.FixtureRequest) -> None:
    with psycopg.connect(request.getfixturevalue(fixture)) as conn:
        row = conn.execute("SELECT version()").fetchone()
        assert row is not None
        assert banner in row[0]


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_dispatches(fixture: str, request: pytest.FixtureRequest) -> None:
    with psycopg.connect(request.getfixturevalue(fixture)) as conn:
        rows = conn.execute(
            "SELECT gp_segment_id, count(*) FROM gp_dist_random('pg_class') GROUP BY 1 ORDER BY 1"
        ).fetchall()
        assert [content for content, _ in rows] == [0, 1, 2]
