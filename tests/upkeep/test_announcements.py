"""A drop is announced each night for seven days: an announcement that a night does not repeat is withdrawn."""

from __future__ import annotations

import pytest

from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import RETIRE, daily, night

pytestmark = pytest.mark.usefixtures("one_day")
LONGER = RETIRE.replace('"20d"', '"5y"')
STATES = (
    "SELECT state, step <> '', count(*) FROM gpcatalog_journal.upkeep WHERE state IN ('announced',"
    " 'withdrawn') GROUP BY 1, 2 ORDER BY 1, 2"
)


def pass_days(dsn: str, days: int) -> None:
    """Make the journal older."""
    made.execute(dsn, f"UPDATE gpcatalog_journal.upkeep SET at = at - interval '{days} days'")


@pytest.mark.parametrize("idle", [False, True], ids=["work", "nothing_to_do"])
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_a_withdrawn_announcement(fixture: str, idle: bool, request: pytest.FixtureRequest) -> None:
    """The policy is corrected for one night: the drop is announced again, and waits seven days again."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_withdrawn")
    daily(dsn, "t", 30)
    rows = made.rows_of(dsn, "t")
    year, text = night(dsn, RETIRE, allow_drop=True)
    first = year.run(text)
    assert "partitions will be dropped, in seven days at the earliest" in first.stderr
    # one line for all of them
    assert first.stderr.count("not dropped yet") == 1
    [(state, _, announced)] = made.fetch(dsn, STATES)
    assert state == "announced"
    # the script of that night has work, or none
    year, text = night(dsn, LONGER if idle else LONGER.replace('"3d"', '"9d"'), allow_drop=True)
    assert text.startswith("-- Nothing to do tonight.") is idle
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert f"public.t: withdrawn: {announced} announced drops" in done.stderr
    pass_days(dsn, 30)
    year, text = night(dsn, RETIRE, allow_drop=True)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert f"{announced} partitions will be dropped, in seven days at the earliest" in done.stderr
    assert made.rows_of(dsn, "t") == rows
    assert made.fetch(dsn, STATES) == [
        ("announced", True, 2 * announced),
        ("withdrawn", False, 1),
    ]
    # a night that repeats them keeps them, and seven days after the second announcement they are due
    pass_days(dsn, 6)
    done = year.run(night(dsn, RETIRE, allow_drop=True)[1])
    assert "not dropped yet" in done.stderr
    assert made.rows_of(dsn, "t") == rows
    pass_days(dsn, 1)
    assert year.run(night(dsn, RETIRE, allow_drop=True)[1]).returncode == 0
    assert made.fetch(dsn, "SELECT count(*) FROM t")[0][0] in (20, 21)


@pytest.mark.parametrize("fixture", ["gp6_dsn", "pg_dsn"])
def test_announcements_of_some_partitions_are_withdrawn(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """A longer retention keeps some partitions: only their announcements are withdrawn."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_shortened")
    daily(dsn, "t", 40)
    year, text = night(dsn, RETIRE, allow_drop=True)
    assert year.run(text).returncode == 0
    [(_, _, announced)] = made.fetch(dsn, STATES)
    year, text = night(dsn, RETIRE.replace('"20d"', '"30d"'), allow_drop=True)
    done = year.run(text)
    assert "public.t: withdrawn: 10 announced drops" in done.stderr
    assert made.fetch(dsn, STATES) == [("announced", True, announced), ("withdrawn", True, 10)]
    pass_days(dsn, 7)
    year, text = night(dsn, RETIRE, allow_drop=True)
    done = year.run(text)
    assert "10 partitions will be dropped, in seven days at the earliest" in done.stderr
    # those whose announcement was repeated each night are dropped
    assert made.fetch(dsn, "SELECT count(*) FROM t") == [(40 - (announced - 10),)]
