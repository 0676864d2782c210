"""Sizes and periods in policies, and which tables a plan lists as changed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import psycopg
import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.planner import policy
from gpcatalog.planner.calendar_age import moment_before
from gpcatalog.planner.plan import TablePlan, changed
from gpcatalog.planner.policy import loads, resolve_policy
from gpcatalog.planner.time_key import micros
from tests.planner.test_plan import make, zoo

POWERS = {"": 0, "b": 0, "kb": 1, "kib": 1, "mb": 2, "mib": 2, "gb": 3, "gib": 3, "tb": 4, "tib": 4}
# a year of the Gregorian calendar has 146,097 / 400 days
YEAR = 146_097 / 400
DAYS = {"h": 1 / 24, "hours": 1 / 24, "d": 1, "day": 1, "days": 1, "w": 7, "weeks": 7, "month": YEAR / 12,
        "months": YEAR / 12, "quarter": YEAR / 4, "quarters": YEAR / 4, "y": YEAR, "years": YEAR}  # fmt: skip
SECONDS = {
    "": 1,
    "s": 1,
    "sec": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "hour": 3600,
    "hours": 3600,
    "d": 86400,
}


@pytest.mark.parametrize("unit", POWERS)
def test_sizes(unit: str) -> None:
    assert policy.size(f"3 {unit}") == 3 * 1024 ** POWERS[unit]
    assert policy.size(f"1.5{unit.upper()}") == int(1.5 * 1024 ** POWERS[unit])


@pytest.mark.parametrize("unit", DAYS)
def test_days(unit: str) -> None:
    assert policy.days(f"2 {unit}") == pytest.approx(2 * DAYS[unit])


@pytest.mark.parametrize("unit", SECONDS)
def test_seconds(unit: str) -> None:
    assert policy.seconds(f"2.5{unit}") == 2.5 * SECONDS[unit]


def test_intervals_of_the_server() -> None:
    assert policy.interval_days("1 year 2 mons 3 days 04:05:06") == pytest.approx(
        YEAR + 2 * YEAR / 12 + timedelta(days=3, hours=4, minutes=5, seconds=6) / timedelta(days=1)
    )
    assert policy.interval_days("2 weeks 6 hours") == 14.25


@pytest.mark.parametrize("text", ["", "x", "4 pb", "-1", "1 2", "5e3", "4 MB x"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        policy.size(text)


@pytest.mark.parametrize("text", ["x", "4 fortnights", "-1", "1 2"])
def test_what_is_no_period(text: str) -> None:
    with pytest.raises(ValueError, match="is not a period"):
        policy.days(text)
    with pytest.raises(ValueError, match="is not a period"):
        policy.seconds(text)


@pytest.mark.parametrize("text", ["", "0 days", "3 fortnights", "1 day x", "00:00:00"])
def test_what_is_no_interval(text: str) -> None:
    with pytest.raises(ValueError, match="is not an interval"):
        policy.interval_days(text)


def test_ends_of_what_is_allowed() -> None:
    assert policy.size(0) == 0
    assert policy.size(2**61) == 2**61
    for most in (2**62, f"{2**22} TB"):
        with pytest.raises(ValueError, match="larger than any cluster"):
            policy.size(most)
    with pytest.raises(ValueError, match="is negative"):
        policy.size(-1)
    assert policy.days(0) == 0
    assert policy.days(9_999_999) == 9_999_999
    for most in (10_000_000, -1, "30000y"):
        with pytest.raises(ValueError, match="not a valid period"):
            policy.days(most)


def test_policy_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_bytes('\ufeff[[table]]\nmatch = "é.*"\nhot_days = 7\n'.encode())
    assert policy.read(file).table[0].match == "é.*"


NOTHING = {"merges": 0, "converted": 0, "dropped": 0}


@pytest.mark.parametrize("what", [*NOTHING, "leaves_after", "rows_after", None])
def test_a_table_is_changed_by_any_step(what: str | None) -> None:
    table: TablePlan = make(zoo()).full().tables[0]
    still = msgspec.structs.replace(
        table, **NOTHING, leaves_after=table.leaves, rows_after=table.rows
    )
    one = still if what is None else msgspec.structs.replace(still, **{what: 1})
    assert changed([one]) == ([] if what is None else [one])


def test_the_table_that_saves_most_is_first() -> None:
    table: TablePlan = make(zoo()).full().tables[0]

    def table_plan(name: str, saved: int, files: int, schema: str = "s") -> TablePlan:
        return msgspec.structs.replace(
            table, schema=schema, table=name, merges=1, leaves=100, leaves_after=100 - saved, files=100, files_after=100 - files
        )  # fmt: skip

    order = [
        table_plan("a", 9, 0),
        table_plan("z", 5, 7),
        table_plan("b", 5, 3, "r"),
        table_plan("a", 5, 3),
        table_plan("c", 5, 3),
    ]
    assert changed(reversed(order)) == order


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            '[default]\nretention = "externalise"',
            "default.retention: 'externalise'",
            '"externalize"',
        ),
        ('[[table]]\n[[table]]\nstorage = "aoco"', "table[1].storage: 'aoco'", '"ao_column"'),
    ],
)
def test_a_wrong_word_names_those_that_are_right(text: str, message: str, hint: str) -> None:
    with pytest.raises(CatalogError) as e:
        policy.loads(text)
    assert f"{message} is not a valid value" in e.value.message
    assert hint in e.value.hint


def test_ages_in_months_are_those_of_the_server(pg_dsn: str) -> None:
    """Days before a moment by the calendar, also from the ends of months and in leap years."""
    with psycopg.connect(pg_dsn) as conn:
        for day, months, then in conn.execute(
            "SELECT d, m, (d - make_interval(months => m)) AS earlier"
            " FROM generate_series(timestamp '2027-12-28 05:06:07', timestamp '2029-03-02', interval '1 day') d,"
            " unnest(array[1, 2, 3, 11, 12, 13, 24, 36, 60, 1200, 12000]) m"
        ):
            assert moment_before(micros(day), 0, months) == micros(then), (day, months)


@pytest.mark.parametrize(
    ("text", "months"),
    [("1y", 12), ("12 months", 12), ("2 quarters", 6), ("1.5y", 0), ("365d", 0), ("52 weeks", 0)],
)
def test_periods_of_whole_months(text: str, months: int) -> None:
    found = resolve_policy(
        loads(f'[default]\nkeep = "{text}"\nexternalise_after = "{text}"'), "s", "t"
    )
    assert (found.keep_months, found.externalise_after_months) == (months, months)
