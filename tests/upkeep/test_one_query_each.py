"""psql sends each statement of a script as a query of its own, so each step has its own duration."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import ALL, daily, night
from tests.upkeep.year import server_of

pytestmark = pytest.mark.usefixtures("one_day")


@pytest.mark.parametrize("fixture", ["gp6_dsn", "pg_dsn", "pgnew_dsn"])
def test_steps_are_transactions_of_their_own(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_queries")
    daily(dsn, "t", 5)
    made.execute(
        dsn,
        "ALTER TABLE t ADD DEFAULT PARTITION rest"
        if server_of(dsn).startswith("gp")
        else "CREATE TABLE t_rest PARTITION OF t DEFAULT",
    )
    year, text = night(dsn, ALL)
    # the length of the query, and the times of the transactions
    shown = (
        "DO $x$ BEGIN RAISE INFO 'query of % bytes', pg_catalog.length(pg_catalog.current_query());"
        " END $x$;\n"
    )
    done = year.run(text + shown)
    assert done.returncode == 0, done.stderr
    [length] = re.findall(r"query of (\d+) bytes", done.stderr)
    assert int(length) < len(shown)
    rows = made.fetch(
        dsn,
        "SELECT at - seconds * interval '1 second' FROM gpcatalog_journal.step"
        " WHERE state = 'done' ORDER BY at",
    )
    begun = [row[0] for row in rows]
    assert len(begun) == 5
    # each step began after the one before had ended: not all at the start of the script
    ends = made.fetch(dsn, "SELECT at FROM gpcatalog_journal.step WHERE state = 'done' ORDER BY at")
    assert all(
        start >= end[0].astimezone(UTC) for start, end in zip(begun[1:], ends[:-1], strict=True)
    )
    assert isinstance(begun[0], datetime)
