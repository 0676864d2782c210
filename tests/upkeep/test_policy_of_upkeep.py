"""What a policy can get wrong: patterns, periods, name templates, grains with other boundaries; and the estimate of locks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.model.bounds import HOUR, Family
from gpcatalog.planner import policy
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.time_key import micros
from gpcatalog.services.upkeep import policy_of
from gpcatalog.upkeep import habits
from gpcatalog.upkeep.partitions import Partition
from gpcatalog.upkeep.result import SCAN_RATE, SCAN_ROWS, _scan_seconds
from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_habits import days, habits_of
from tests.upkeep.test_live import ALL, daily, night
from tests.upkeep.test_nights import plain_rules, span, table_of
from tests.upkeep.year import server_of


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[[table]]\nkeep = '1y'", "table[0] has no match", "[default] is for all tables"),
        (
            "[default]\nmatch = 'a.*'",
            "default.match: 'a.*': [default] is for all tables",
            "[[table]]",
        ),
        ("[default]\nkeep = '14m'", "'14m' may be months or minutes; write \"14 months\"", ""),
        ("[default]\npremake = '9000y'", "premake (3,287,182 days) is more than 50 years", "14d"),
        ('[default]\nname = "x\\u0000{%Y}"', "contains the control character '\\x00'", ""),
        ("[default]\nname = 'p{%}'", "{%} is not a date format", ""),
        ("[default]\nname = 'p{%Y%}'", "{%Y%} is not a date format", ""),
        ("[upkeep]\nwindow = '1 fortnight'", "window: '1 fortnight' is not a period", ""),
    ],
)
def test_one_clear_error(text: str, message: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(text)
    with pytest.raises(CatalogError) as failed:
        policy_of(file)
    assert message in failed.value.message
    assert hint in failed.value.hint


def test_periods_of_the_window() -> None:
    for text in ("1 day", "1day", "24 hours", "1440 minutes", "86400 seconds", 86400):
        assert policy.seconds(text) == 86400, text


def test_a_name_without_a_schema() -> None:
    """It is an error if it matches tables of several schemas; patterns are meant for several."""
    names = [("a", "orders"), ("b", "orders"), ("b", "lines")]
    for pattern in ("*.orders", "a.orders", "order*", "lines", "other"):
        policy.check_unqualified(policy.loads(f"[[table]]\nmatch = '{pattern}'"), names)
    with pytest.raises(CatalogError) as failed:
        policy.check_unqualified(policy.loads("[[table]]\nmatch = 'orders'"), names)
    assert "'orders' has no schema and matches 2 tables: a.orders, b.orders" in str(failed.value)
    assert failed.value.hint == 'write match = "a.orders", or "*.orders" for all schemas'


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_a_name_in_several_schemas(
    fixture: str, request: pytest.FixtureRequest, one_day: None
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_two_schemas")
    other: tuple[str, ...] = (
        "CREATE TABLE one.t (d date) PARTITION BY RANGE (d) (START (date '2026-01-01') END (date"
        " '2026-01-03') EVERY (interval '1 day'))",
    )
    if not server_of(dsn).startswith("gp"):
        other = (
            "CREATE TABLE one.t (d date) PARTITION BY RANGE (d)",
            "CREATE TABLE one.t_1 PARTITION OF one.t FOR VALUES FROM ('2026-01-01') TO ('2026-01-02')",
        )
    made.execute(dsn, "CREATE SCHEMA one", *other)
    daily(dsn, "t", 20)
    rules = "automatic_maintenance = true\nretention = 'detach'\nkeep = '10d'\nhot_days = 5\n"
    with pytest.raises(CatalogError, match=r"matches 2 tables: one\.t, public\.t"):
        night(dsn, f"[[table]]\nmatch = 't'\n{rules}")
    _, text = night(dsn, f"[[table]]\nmatch = 'public.t'\n{rules}")
    # the head has the table and the rule that removes its partitions
    head = text[: text.index("\\set")]
    assert len(re.findall(r"past retention \(table\[0\], match 'public\.t'\)", head)) == 9
    assert "one.t" not in head


@pytest.mark.parametrize(
    ("name", "grain"),
    [
        ("{table}_{%Y}", Grain.DAY),
        ("{%Y%m}", Grain.DAY),
        ("{%d}", Grain.DAY),
        ("{%Y%m%d}", Grain.HOUR),
    ],
)
def test_a_name_that_several_partitions_would_have(name: str, grain: Grain) -> None:
    if grain is Grain.DAY:
        spans, kind = days(datetime(2026, 11, 1), 20), Family.DATE
    else:
        begin = micros(datetime(2026, 11, 1))
        spans = [(begin + n * HOUR, begin + (n + 1) * HOUR) for n in range(20)]
        kind = Family.TIMESTAMP
    with pytest.raises(habits.UnclearHabits) as unclear:
        habits_of(kind, spans, name=name)
    assert f"the name {name} of the policy is t_" in str(unclear.value)
    assert f"for several partitions of grain {grain.word}, for example those from 2026-" in str(
        unclear.value
    )


def test_names_that_differ() -> None:
    spans = days(datetime(2026, 11, 1), 20)
    for name in ("{%Y%m%d}", "{last:%Y_%m_%d}", "{%Y}_{%j}", "{%m%d}", "x{%Y%m%d%H}"):
        assert habits_of(Family.DATE, spans, name=name).spacing.grain is Grain.DAY
    # a prefix that leaves no space for the date
    with pytest.raises(habits.UnclearHabits, match="for several partitions"):
        habits_of(Family.DATE, spans, name="x" * 70 + "{%Y%m%d}")


def weeks(first: date, number: int, length: int = 7) -> list[str]:
    """Statements that create a table with partitions of this many days."""
    found = ["CREATE TABLE t (d date, v int) PARTITION BY RANGE (d)"]
    for n in range(number):
        low, high = (first + timedelta(length * (n + k)) for k in (0, 1))
        found.append(
            f"CREATE TABLE t_{low:%Y%m%d} PARTITION OF t FOR VALUES FROM ('{low}') TO ('{high}')"
        )
    return found


def test_a_grain_with_other_boundaries(pg_dsn: str, one_day: None) -> None:
    """Weeks that begin on Sundays: the script states the boundaries of the new partitions first."""
    dsn = fresh_database(pg_dsn, "upkeep_sundays")
    today = datetime.now(UTC).date()
    sunday = today - timedelta((today.weekday() + 1) % 7)
    made.execute(dsn, *weeks(sunday - timedelta(70), 11))
    end = sunday + timedelta(7)
    rules = ALL.replace('"5d"', '"21d"') + 'grain = "week"\n'
    year, text = night(dsn, rules)
    [note] = [e for e in year.errors if "other boundaries" in e]
    assert f"partitions of grain week begin on Mondays, t_{sunday:%Y%m%d} has other" in note
    assert f"the first new one is from {end} to {end + timedelta(1)}" in note
    assert f"like {end + timedelta(1)} to {end + timedelta(8)}" in note
    assert text.index("other boundaries") < text.index("\\set")
    assert year.run(text).returncode == 0
    # later nights have nothing to state
    year, _ = night(dsn, rules.replace("21d", "60d"))
    assert not [e for e in year.errors if "other boundaries" in e]


def test_boundaries_that_agree(pg_dsn: str, one_day: None) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_mondays")
    today = datetime.now(UTC).date()
    made.execute(dsn, *weeks(today - timedelta(today.weekday() + 70), 11))
    for more in ("", 'grain = "week"\n', 'grain = "day"\n'):
        year, _ = night(dsn, ALL.replace('"5d"', '"21d"') + more)
        assert not [e for e in year.errors if "other boundaries" in e], more


def test_the_scan_of_a_default_partition() -> None:
    """Each new partition waits for a scan of the default partition; an unknown size is not 0."""
    table = table_of(span(datetime(2026, 11, 1), 20), plain_rules())
    [only] = table.sets

    def scan(*defaults: Partition | None) -> float | None:
        return _scan_seconds(replace(table, sets=tuple(replace(only, default=d) for d in defaults)))

    def default(size: int | None, segment: int | None, leaves: int = 1) -> Partition:
        return Partition(low=0, high=0, bytes=size, segment_bytes=segment, leaves=leaves)

    assert scan(None) == 0
    assert scan(default(3 * SCAN_RATE, SCAN_RATE)) == 1
    assert scan(None, default(9 * SCAN_RATE, 2 * SCAN_RATE), default(0, 0)) == 2
    # all leaves of the default partition, but not more than there is
    assert scan(default(9 * SCAN_RATE, SCAN_RATE, 4)) == 4
    assert scan(default(3 * SCAN_RATE, SCAN_RATE, 4)) == 3
    assert scan(default(None, None)) is None
    # compressed rows: a million on three segments, a third of them on this one
    few = replace(default(3000, 1000), rows=3 * SCAN_ROWS)
    assert scan(few) == 1


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_the_wait_for_a_large_default_partition(
    fixture: str,
    request: pytest.FixtureRequest,
    one_day: None,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The calendar estimates more for a table with a default partition of 40 MB than for an empty one."""
    from gpcatalog.commands.options import Format
    from gpcatalog.commands.upkeep import calendar

    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_large_default")
    for name in ("small", "large"):
        daily(dsn, name, 5)
        made.execute(
            dsn,
            f"ALTER TABLE {name} ADD DEFAULT PARTITION rest"
            if server_of(dsn).startswith("gp")
            else f"CREATE TABLE {name}_rest PARTITION OF {name} DEFAULT",
        )
    made.execute(
        dsn,
        "INSERT INTO large SELECT date '2001-01-01', n FROM generate_series(1, 1000000) n",
        "ANALYZE large",
    )
    (tmp_path / "p.toml").write_text(ALL)
    calendar(dsn, policy=str(tmp_path / "p.toml"), days=1, format=Format.JSON)
    lines = json.loads(capsys.readouterr().out)["nights"]
    waits = {line["table"]: line["lock_seconds"] for line in lines}
    assert waits["public.large"] > waits["public.small"] + 0.01
