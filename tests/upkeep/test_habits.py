"""Habits of tables: grain, time zone and names are derived from partitions, or the reason why they cannot be derived."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.model.bounds import DAY, HOUR, Family, date_of_number, parse
from gpcatalog.planner import grid, policy, time_key
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.relations import Relation
from gpcatalog.planner.sets.roots import Key, Root
from gpcatalog.planner.time_key import TimeKey, micros
from gpcatalog.upkeep import habits, lists, naming, rules
from gpcatalog.upkeep.partitions import RawPartition, RawSet
from gpcatalog.upkeep.spacing import Spacing

NOW = micros(datetime(2026, 11, 25, 3))


def raw(spans: list[tuple[int, int]], names: list[str] | None = None) -> list[RawSet]:
    """One parent with partitions of these spans."""
    parts = [
        RawPartition(
            relation=Relation(
                n,
                "s",
                (names or [f"t_{n}" for n in range(len(spans))])[n],
                0,
                1,
                "leaf",
                "heap",
                "",
                0,
                0.0,
                "",
                "",
                False,
                True,
                1,
                1,
                0,
                3,
                False,
                0,
                0,
            ),
            low=low,
            high=high,
            filled=True,
            bytes=1,
            segment_bytes=1,
            leaves=1,
            movable=True,
        )
        for n, (low, high) in enumerate(spans)
    ]
    return [RawSet(parent=0, parent_name="t", parts=parts)]


def root(kind: Family, **wished: object) -> tuple[Root, policy.ResolvedPolicy]:
    """A table with a key of a family, and its policy."""
    text = "[default]\n" + "".join(f"{k} = {v!r}\n" for k, v in wished.items())
    wishes = policy.resolve_policy(policy.loads(text), "s", "t")
    table = Root(
        oid=0,
        schema="s",
        name="t",
        storage="heap",
        options="",
        depth=1,
        leaves=1,
        keys=[Key(0, "range", "k", "date", False)],
        policy=wishes,
        family=kind,
        cut_level=1,
        level=1,
    )
    return table, wishes


def habits_of(
    kind: Family, spans: list[tuple[int, int]], names: list[str] | None = None, **wished: object
) -> habits.Habits:
    """The habits of a table with these partitions and this policy."""
    one, wishes = root(kind, **wished)
    found, _ = habits.habits(one, raw(spans, names), wishes, NOW, classic=False)
    return found


def days(first: datetime, number: int, zone: str = "UTC") -> list[tuple[int, int]]:
    """Successive days from a date, midnight to midnight in a time zone."""
    key = TimeKey(family=Family.TIMESTAMPTZ, zone=zone)
    begin = micros(first)
    return [(key.axis(begin + n * DAY), key.axis(begin + (n + 1) * DAY)) for n in range(number)]


def test_clocks_that_skip_midnight() -> None:
    """In Cairo, summer time starts at midnight: that day has no 00:00, but upkeep creates its partition."""
    spans = days(datetime(2026, 4, 1), 60, "Africa/Cairo")
    found = habits_of(Family.TIMESTAMPTZ, spans, time_zone="Africa/Cairo")
    assert found.spacing.grain is Grain.DAY
    key = found.key
    assert all(key.cut(low) % DAY == 0 for low, _ in spans)
    assert [key.axis(key.cut(low)) for low, _ in spans] == [low for low, _ in spans]


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo", "UTC"]
)
def test_time_zones(zone: str) -> None:
    found = habits_of(Family.TIMESTAMPTZ, days(datetime(2026, 1, 1), 360, zone))
    assert found.spacing.grain is Grain.DAY
    mine, other = (TimeKey(family=Family.TIMESTAMPTZ, zone=z) for z in (zone, found.key.zone))
    ahead = [micros(datetime(2026, 12, 1)) + n * DAY for n in range(400)]
    assert [mine.axis(at) for at in ahead] == [other.axis(at) for at in ahead]


def test_an_ambiguous_zone_must_be_specified() -> None:
    winter = days(datetime(2026, 1, 1), 40, "Europe/London")
    with pytest.raises(habits.UnclearHabits, match=r"several time zones .*: set time_zone"):
        habits_of(Family.TIMESTAMPTZ, winter)
    found = habits_of(Family.TIMESTAMPTZ, winter, time_zone="Europe/London")
    assert found.key.zone == "Europe/London"
    with pytest.raises(habits.UnclearHabits, match="Asia/Tokyo of the policy"):
        habits_of(Family.TIMESTAMPTZ, winter, time_zone="Asia/Tokyo")
    unusual = [*winter, (winter[-1][1], winter[-1][1] + 7 * HOUR + 1)]
    with pytest.raises(habits.UnclearHabits, match="no time zone in which"):
        habits_of(Family.TIMESTAMPTZ, unusual)


def test_a_partition_far_away_does_not_count() -> None:
    """One or several stray partitions of other lengths, after the newest partitions."""
    usual = days(datetime(2026, 11, 1), 20)
    year = (micros(datetime(2999, 1, 1)), micros(datetime(3000, 1, 1)))
    month = (micros(datetime(2030, 1, 1)), micros(datetime(2030, 2, 1)))
    near = (usual[-1][1] + 12 * DAY, usual[-1][1] + 13 * DAY)
    far = (usual[-1][1] + 13 * DAY, usual[-1][1] + 14 * DAY)
    for strays in ([year], [month, year], [far]):
        found = habits_of(Family.DATE, [*usual, *strays])
        assert (found.spacing.grain, found.newest) == (Grain.DAY, 12), strays
        assert "12 of its newest 12" in found.evidence[0]
    assert "grain day: 3 of its newest 3" in habits_of(Family.DATE, [*usual[-2:], near]).evidence[0]
    assert "grain day: 2 of its newest 2" in habits_of(Family.DATE, [*usual[-2:], far]).evidence[0]


def test_ten_of_twelve_agree() -> None:
    """At least ten of the newest twelve partitions have the grain."""
    begin = datetime(2026, 10, 1)
    for exceptions, clear in ((2, True), (3, False)):
        spans = days(begin, 12 - exceptions)
        for _ in range(exceptions):
            at = spans[-1][1]
            spans.append((at, at + 3 * DAY))
        if clear:
            assert "grain day: 10 of its newest 12" in habits_of(Family.DATE, spans).evidence[0]
        else:
            with pytest.raises(habits.UnclearHabits, match="do not agree on a grain"):
                habits_of(Family.DATE, spans)


def test_grains() -> None:
    begin = micros(datetime(2026, 1, 1))
    daily = [(begin + n * DAY, begin + (n + 1) * DAY) for n in range(30)]
    assert habits_of(Family.DATE, daily).spacing.grain is Grain.DAY
    # two merged months before them, and one stray partition in the far future
    stray = begin + 4000 * DAY
    merged = [(begin - 31 * DAY, begin), *daily, (stray, stray + DAY)]
    assert habits_of(Family.DATE, merged).spacing.grain is Grain.DAY
    mixed = [
        *daily[:5],
        *((begin + (5 + 2 * n) * DAY, begin + (7 + 2 * n) * DAY) for n in range(7)),
    ]
    with pytest.raises(habits.UnclearHabits, match=r"do not agree on a grain .*: set grain"):
        habits_of(Family.DATE, mixed)
    assert habits_of(Family.DATE, mixed, grain="day").spacing.grain is Grain.DAY
    with pytest.raises(habits.UnclearHabits, match="1 partition with both ends: set grain"):
        habits_of(Family.DATE, daily[:1])
    with pytest.raises(habits.UnclearHabits, match="finer than its key"):
        habits_of(Family.DATE, daily, grain="hour")


def months_from(begin: datetime, months: int, number: int) -> list[tuple[int, int]]:
    """Consecutive ranges of so many months."""
    at = [begin.year * 12 + begin.month - 1 + months * n for n in range(number + 1)]
    return list(pairwise(micros(begin.replace(year=m // 12, month=m % 12 + 1)) for m in at))


@pytest.mark.parametrize(
    ("spans", "word", "after", "name"),
    [
        # 2026-09-08 is a Tuesday
        (
            [(n, n + 7 * DAY) for n in range(micros(datetime(2026, 9, 8)), micros(datetime(2026, 12, 1)), 7 * DAY)],
            "7 days",
            (datetime(2026, 12, 1), datetime(2026, 12, 8)),
            "%Y%m%d",
        ),
        (
            [(n, n + 10 * DAY) for n in range(micros(datetime(2026, 8, 8)), micros(datetime(2026, 11, 26)), 10 * DAY)],
            "10 days",
            (datetime(2026, 11, 26), datetime(2026, 12, 6)),
            "%Y%m%d",
        ),
        (
            months_from(datetime(2023, 7, 1), 6, 7),
            "6 months",
            (datetime(2027, 1, 1), datetime(2027, 7, 1)),
            "%Y%m",
        ),
        (
            months_from(datetime(2020, 4, 1), 12, 7),
            "1 year",
            (datetime(2027, 4, 1), datetime(2028, 4, 1)),
            "%Y%m",
        ),
        (
            months_from(datetime(2026, 2, 15), 1, 10),
            "1 month",
            (datetime(2026, 12, 15), datetime(2027, 1, 15)),
            "%Y%m%d",
        ),
    ],
    ids=["weeks", "ten-days", "half-years", "fiscal-years", "middle-of-month"],
)  # fmt: skip
def test_equal_ranges(
    spans: list[tuple[int, int]], word: str, after: tuple[datetime, datetime], name: str
) -> None:
    """Ranges that are no calendar cells are continued where they end; two do not show a distance."""
    found = habits_of(Family.DATE, spans)
    spacing = found.spacing
    assert spacing.word == word
    assert found.template.text.endswith(f"p{{{name}}}")
    assert (
        found.evidence[0]
        == f"ranges of {word}: {len(spans[-12:])} of its newest {len(spans[-12:])} partitions"
    )
    assert all(spacing.start(low) == low and spacing.end(low) == high for low, high in spans)
    assert all(
        spacing.start(high - 1) == low and spacing.end(high - 1) == high for low, high in spans
    )
    assert (spans[-1][1], spacing.end(spans[-1][1])) == tuple(map(micros, after))
    with pytest.raises(habits.UnclearHabits, match="do not agree on a grain"):
        habits_of(Family.DATE, spans[:2])
    if len(spans) >= 12:  # two of the newest twelve differ
        odd = [*spans[:-1], (spans[-1][0], spans[-1][0] + DAY), (spans[-1][0] + DAY, spans[-1][1])]
        assert habits_of(Family.DATE, odd).spacing.word == word


def test_equal_ranges_of_hours() -> None:
    begin = micros(datetime(2026, 10, 1, 3))
    for width, word, name in (
        (6 * HOUR, "6 hours", "%Y%m%d%H"),
        (HOUR // 4, "15 minutes", "%Y%m%d%H%M"),
    ):
        spans = [(begin + n * width, begin + (n + 1) * width) for n in range(30)]
        found = habits_of(Family.TIMESTAMP, spans)
        assert (found.spacing.word, found.spacing.end(spans[-1][1])) == (word, spans[-1][1] + width)
        assert found.template.text.endswith(f"p{{{name}}}")


@pytest.mark.parametrize(
    ("low", "high", "digits", "grain"),
    [
        ([20260131, 20260201, 20260202], [20260201, 20260202, 20260203], 8, Grain.DAY),
        ([202510, 202511, 202512], [202511, 202512, 202601], 6, Grain.MONTH),
    ],
)
def test_numbers_that_are_dates(low: list[int], high: list[int], digits: int, grain: Grain) -> None:
    found = habits_of(Family.INTEGER, list(zip(low, high, strict=True)))
    assert (found.key.digits, found.spacing.grain) == (digits, grain)


def numbers(spans: list[tuple[int, int]], filled: list[bool | None] | None = None) -> habits.Habits:
    """Habits of a table with plain numbers as keys; filled: whether each partition has rows."""
    one, wishes = root(Family.INTEGER)
    [only] = raw(spans, [f"t_p{low}" for low, _ in spans])
    if filled is not None:
        only.parts = [replace(p, filled=f) for p, f in zip(only.parts, filled, strict=True)]
    found, _ = habits.habits(one, [only], wishes, NOW, classic=False)
    return found


def test_numbers_as_dates_are_read_alike() -> None:
    """The reader of one number agrees with the planner's reader of arrays."""
    for digits, values in ((8, [*range(20231220, 20240310), 18991231, 29991231, 30000101, 0, -1]), (6, [*range(202300, 202420), 189912, 299912, 300001, 0])):  # fmt: skip
        at, good = grid.dates_from_numbers(np.array(values, dtype=np.int64), digits)
        for value, place, fits in zip(values, at.tolist(), good.tolist(), strict=True):
            if fits:
                assert date_of_number(value, digits) == place
            else:
                with pytest.raises(ValueError, match="is not a date"):
                    date_of_number(value, digits)


def test_plain_numbers() -> None:
    """One partition counts as a day, and the newest one with rows as today."""
    spans = [(n * 500 + 100, n * 500 + 600) for n in range(6)]
    found = numbers(spans, [True, False, True, False, False, False])
    key = found.key
    assert (key.width, key.anchor) == (500, 100)
    assert [key.local(low) for low, _ in spans] == [n * DAY for n in range(6)]
    assert [key.axis(key.local(high)) for _, high in spans] == [high for _, high in spans]
    assert key.now(NOW) // DAY == 2
    assert key.now(NOW) == key.now(0) == key.local(1600) - 1
    assert (key.text(3 * DAY), key.shown(3 * DAY)) == ("1600", "1600")
    assert found.spacing.grain is Grain.DAY
    assert found.template.text == "{table}_p{low}"
    assert found.template.name("t", key.moment(7 * DAY), key.moment(8 * DAY)) == "t_p3600"
    assert found.evidence[0].startswith("500 numbers a partition: 6 of its newest 6 partitions")
    assert "below 1,600" in found.evidence[0]


def test_plain_numbers_without_rows() -> None:
    spans = [(n * 500, n * 500 + 500) for n in range(4)]
    found = numbers(spans, [False] * 4)
    assert found.key.now(0) == 0
    assert found.evidence[0].endswith("it has no rows")


@pytest.mark.parametrize(
    ("spans", "filled", "message"),
    [
        ([(0, 1000)], None, "1 partition with both ends: that shows no width"),
        ([(0, 1000), (1000, 3000)], None, "differ in width"),
        ([(0, 1000), (1000, 2000)], [True, None], "have rows is unknown"),
        ([(0, 1000), (1000, 2000)], [None, None], "have rows is unknown"),
        (
            [(0, 1), (1, 2), (2, 2**61), (2**61, 2**61 + 1)]
            + [(n, n + 1) for n in range(2**61 + 1, 2**61 + 20)],
            None,
            "span more than",
        ),
    ],
)
def test_plain_numbers_that_are_unclear(
    spans: list[tuple[int, int]], filled: list[bool | None] | None, message: str
) -> None:
    with pytest.raises(habits.UnclearHabits, match=message):
        numbers(spans, filled)


def test_plain_numbers_far_away() -> None:
    """A partition after a wide gap determines neither the newest rows nor the width."""
    spans = [(n * 1000, n * 1000 + 1000) for n in range(40)]
    far = (999_000_000, 999_001_000)
    found = numbers([*spans, far], [True] * 40 + [False])
    assert (found.key.width, found.key.now(0) // DAY) == (1000, 39)
    for stray in (far, (999_000_000, 999_000_001)):
        with pytest.raises(
            habits.UnclearHabits, match="t_p999000000 is far from its other partitions"
        ):
            numbers([*spans, stray], [True] * 41)
        with pytest.raises(habits.UnclearHabits, match="is far from"):
            numbers([*spans, stray], [True] * 40 + [None])
    # old partitions far before the others do count
    old = numbers([(0, 1), *((n * 10 + 5000, n * 10 + 5010) for n in range(40))])
    assert old.key.width == 10
    with pytest.raises(habits.UnclearHabits, match="span more than 1,000,000 partitions"):
        numbers([(0, 1), *((n * 10 + 10**9, n * 10 + 10**9 + 10) for n in range(40))])


def test_bounds_that_are_dates_but_for_one_are_no_plain_numbers() -> None:
    days_ = [(20241201 + n, 20241202 + n) for n in range(20)]
    for stray in ((0, 20241201), (20241221, 99991231 + 1)):
        with pytest.raises(habits.UnclearHabits, match=r"dates of 8 digits, but .* is none"):
            numbers([stray, *days_])
    months = [(202401 + n, 202402 + n) for n in range(12)]
    with pytest.raises(habits.UnclearHabits, match="dates of 6 digits, but 202413 is none"):
        numbers(months)


def test_every_number_has_its_place() -> None:
    """A value is the same after conversion to the calendar and back, with any width."""
    for width in (1, 7, 1000, 1048576, 10**9 + 7, DAY):
        key = TimeKey(family=Family.INTEGER, width=width, anchor=3 % width)
        for value in (0, 1, 3, width - 1, width, 13082912, 5 * width + 1, 999 * width):
            assert key.axis(key.local(value)) == value, (width, value)
    with pytest.raises(habits.UnclearHabits, match="differ in width"):
        numbers([(0, 10**12), (10**12, 2 * 10**12), (2 * 10**12, 2 * 10**12 + 5)])


def test_names_of_the_wrong_kind() -> None:
    spans = [(n * 1000, n * 1000 + 1000) for n in range(4)]
    one, wishes = root(Family.INTEGER, name="p{%Y}")
    with pytest.raises(
        habits.UnclearHabits, match=r"its key has numbers, but the name p.%Y. of the policy"
    ):
        habits.habits(one, raw(spans), wishes, NOW, classic=False)
    with pytest.raises(
        habits.UnclearHabits, match=r"its key has dates, but the name p.low. of the policy"
    ):
        habits_of(Family.DATE, days(datetime(2026, 11, 1), 20), name="p{low}")


def test_a_partition_of_unknown_rows_before_the_newest_does_no_harm() -> None:
    spans = [(n * 10, n * 10 + 10) for n in range(4)]
    assert numbers(spans, [None, None, True, False]).key.now(0) // DAY == 2


def relation(number: int, bound: str, level: int = 1) -> Relation:
    """A leaf with a bound."""
    values = (number, "s", f"t_{number}", 0, level, "leaf", "heap", "", 0, 0.0, bound, "", False, True, 1, 1, 0, 3, False, 0, 0)  # fmt: skip
    return Relation(*values)


def listed(
    kind: str, values: list[str], wishes: str = "", *, level: int = 0
) -> tuple[str, list[object]] | None:
    """Key of a table of lists, and the range of each list: (first day, end) or an error."""
    one, _ = root(Family.OTHER)
    resolved = policy.resolve_policy(policy.loads(f"[default]\n{wishes}"), "s", "t")
    one.keys = [Key(n, "list", "x", "uuid", False) for n in range(level)]
    one.keys.append(Key(level, "list", "k", kind, False))
    bounds = [f"FOR VALUES IN ({v})" if v != "DEFAULT" else v for v in values]
    found = lists.list_key(one, [relation(n, b, level + 1) for n, b in enumerate(bounds)], resolved)
    if found is None:
        return None
    assert found.level == level + 1
    covers: list[object] = []
    for b in bounds:
        try:
            span = found.range_of(parse(b))
            covers.append(span and tuple(str(time_key.moment_of(e).date()) for e in span))
        except ValueError as e:
            covers.append(str(e))
    return found.evidence, covers


JANUARY = ("2026-01-01", "2026-02-01")
FEBRUARY = ("2026-02-01", "2026-03-01")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ["'2026-01'", "'2026-02'"]),
        ("character(6)", ["'202601'", "'202602'"]),
        ("character varying(10)", ["'2026-01-01'", "'2026-02-01'"]),
        ("text", ["'2026/01'", "'2026/02'"]),
        ("integer", ["202601", "202602"]),
        ("bigint", ["'20260101'", "'20260201'"]),
        ("date", ["'2026-01-01'", "'2026-02-01'"]),
    ],
)
def test_lists_of_months(kind: str, values: list[str]) -> None:
    assert listed(kind, values) == ("lists of months: 2 values", [JANUARY, FEBRUARY])
    assert listed(kind, values, level=1) == ("lists of months: 2 values", [JANUARY, FEBRUARY])


def test_lists_of_several_values() -> None:
    both = ("2026-01-01", "2026-03-01")
    found = listed(
        "integer", ["202601, 202602", "202604, NULL", "202606, 202608", "NULL", "DEFAULT"]
    )
    assert found is not None
    evidence, covers = found
    assert evidence == "lists of months: 5 values"
    assert covers == [
        both,
        "it has NULL beside dates",
        "its values do not follow each other",
        None,
        "a default bound is not a list",
    ]


def test_lists_of_days() -> None:
    days = ("2026-01-31", "2026-02-01")
    found = listed("date", ["'2026-01-31'", "'2026-02-01'"])
    assert found == ("lists of days: 2 values", [days, ("2026-02-01", "2026-02-02")])
    assert listed("date", ["'2026-01-01'"]) == ("lists of days: 1 values", [("2026-01-01", "2026-01-02")])  # fmt: skip
    assert listed("date", ["'2026-01-01'"], "grain = 'month'") == ("lists of months: 1 values", [JANUARY])  # fmt: skip
    # months cannot be divided into days
    assert listed("integer", ["202601"], "grain = 'day'") == ("lists of months: 1 values", [JANUARY])  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ["'2026-01'", "'other'"]),
        ("text", ["'2026-1'"]),
        ("text", ["NULL", "DEFAULT"]),
        ("integer", ["1", "2"]),
        ("integer", ["202613"]),
        ("uuid", ["'2026-01'"]),
        ("date", ["'infinity'"]),
        ("date", ["'2024-01-01'", "'infinity'"]),
        ("date", ["'2024-01-01'", "'20000-01-01'"]),
    ],
)
def test_lists_of_other_things(kind: str, values: list[str]) -> None:
    assert listed(kind, values) is None


@pytest.mark.parametrize(
    "form",
    ["t_%Y%m%d", "t_p%Y_%m_%d", "sales_%y%m%d_x", "t_1_prt_p%Y%m%d", "d%Y_%m_%d", "tt%Y%m%d"],
)
def test_names(form: str) -> None:
    first = datetime(2026, 1, 28)
    moments = [first + timedelta(n) for n in range(12)]
    names = [("t", m.strftime(form), m, m + timedelta(1)) for m in moments]
    found, agree = naming.infer(names, classic=False)
    assert found is not None
    assert agree == 12
    later = datetime(2031, 12, 31)
    assert found.name("t", later, later + timedelta(1)) == later.strftime(form)


def test_names_of_quarters() -> None:
    firsts = [datetime(2025 + n // 4, 1 + n % 4 * 3, 1) for n in range(9)]
    names = [("t", f"t_{a.year}q{(a.month + 2) // 3}", a, b) for a, b in itertools.pairwise(firsts)]
    found, agree = naming.infer(names, classic=False)
    assert found is not None
    assert agree == 8
    shown = [
        found.name("t", datetime(2031, month, 1), datetime(2031, month + 2, 28))
        for month in (1, 4, 7, 10)
    ]
    assert shown == ["t_2031q1", "t_2031q2", "t_2031q3", "t_2031q4"]


def test_names_by_the_last_day() -> None:
    moments = [datetime(2026, 1, 28) + timedelta(n) for n in range(12)]
    names = [
        ("t", f"t_{m + timedelta(0):%Y%m%d}", m - timedelta(6), m + timedelta(1)) for m in moments
    ]
    found, _ = naming.infer(names, classic=False)
    assert found is not None
    # the text is complete: `adopt` prints it, and a policy may have it
    assert found.text == "{table}_{last:%Y%m%d}"
    naming.check(found.text)
    found = naming.NameTemplate(found.text)
    assert found.name("t", datetime(2027, 1, 1), datetime(2027, 1, 8)) == "t_20270107"


def test_names_without_a_template() -> None:
    first = datetime(2026, 1, 1)
    names = [("t", f"t_{n}", first + timedelta(n), first + timedelta(n + 1)) for n in range(12)]
    assert naming.infer(names, classic=False)[0] is None


def test_long_names_are_cut_in_the_table() -> None:
    template = naming.NameTemplate("{table}_{%Y%m%d}")
    name = template.name("ä" * 60, datetime(2026, 1, 2), datetime(2026, 1, 3))
    assert len(name.encode()) <= 63
    assert name.endswith("_20260102")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('time_zone = "Berlin"', "default.time_zone: 'Berlin' is not the name of a time zone"),
        ('name = "p1"', "default.name: 'p1' has no date in it"),
        ('name = "p{%Y%x}"', "default.name"),
    ],
)
def test_wrong_policies(text: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        rules.check(policy.loads(f"[default]\n{text}\n"))
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('keep = "5d"\nretention = "drop"', "keep (5 days) is less than hot_days (31 days)"),
        ('retention = "drop"', "retention is 'drop', but keep is not set"),
        ('keep = "5yy"\nretention = "drop"', "'5yy' is not a period"),
        ('retention = "delete"\nkeep = "5y"', "'delete' is not a valid value"),
        ('keep = "5y"\nretention_schema = "a"', "retention_schema is for retention"),
        ('premake = "3d"\npremake_batch = "4d"', "premake_batch (4 days) is more than premake"),
    ],
)
def test_policies_that_contradict_themselves(text: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        policy.loads(f"[default]\n{text}\n")
    assert message in caught.value.message


def test_local_time_and_back() -> None:
    for zone in ("Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata"):
        key = TimeKey(family=Family.TIMESTAMPTZ, zone=zone)
        for n in range(0, 4000, 3):
            local = micros(datetime(2016, 1, 1)) + n * DAY
            # a midnight that a clock skips is the first moment after it
            assert key.local(key.axis(local)) in (local, local + HOUR)


def test_cells_agree_with_the_planner() -> None:
    at = np.array([n * 37 * HOUR for n in range(-5000, 20000, 7)], dtype=np.int64)
    for grain in Grain:
        assert grid.cells(grain, at).tolist() == [time_key.cell_of(grain, a) for a in at.tolist()]


def test_the_page_of_a_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gpcatalog.commands.upkeep import adopt, calendar
    from tests.migration.kept import FOLDER

    file = str(FOLDER.parent / "greenplum6.gpcatalog")
    adopt(snapshot=file)
    text = capsys.readouterr().out
    found = policy.loads(text)
    rules.check(found)
    assert {r.match for r in found.table} >= {"sales.orders", "sales.lines", "web.clicks"}
    assert all(r.automatic_maintenance and r.retention == "none" for r in found.table)
    path = tmp_path / "adopted.toml"
    path.write_text(text.replace('retention = "none"', 'grains = { month = "60d" }'))
    calendar(snapshot=file, policy=str(path), days=30)
    shown = capsys.readouterr().out
    assert "30 nights from 2026-11-21" in shown
    assert "sales.orders" in shown
    assert "→" in shown


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("window", "0", "window: 0.0 is not a time from 1 s to 30 days"),
        ("window", "-1", "window: -1.0 is not"),
        ("window", "nan", "window: nan is not"),
        ("window", "inf", "window: inf is not"),
        ("lock_wait", "nan", "lock_wait: nan is not a time from 1 ms to 1 hour"),
        ("lock_wait", "inf", "lock_wait: inf is not"),
        ("lock_wait", '"0s"', "lock_wait: '0s' is not"),
        ("lock_wait", '"10000h"', "lock_wait: '10000h' is not"),
        ("lock_attempts", "99999999999", "lock_attempts: 99999999999 is more than 100000"),
    ],
)
def test_limits_that_no_script_can_have(key: str, value: str, shown: str) -> None:
    with pytest.raises(CatalogError) as failed:
        rules.check(policy.loads(f"[upkeep]\n{key} = {value}\n"))
    assert shown in str(failed.value)


def test_limits_at_their_ends() -> None:
    for key, value in (
        ("window", "1"),
        ("window", '"30d"'),
        ("lock_wait", '"1ms"'),
        ("lock_attempts", "100000"),
    ):
        rules.check(policy.loads(f"[upkeep]\n{key} = {value}\n"))


def test_premake_of_zero_is_reported() -> None:
    found = habits.Habits(
        key=TimeKey(family=Family.DATE), spacing=Spacing(Grain.DAY), template=naming.default_template("%Y%m%d", classic=False),
        newest=12, evidence=(),
    )  # fmt: skip
    for text, reported in (("premake = 0", True), ("premake = 1", False)):
        resolved = policy.resolve_policy(policy.loads(f"[default]\n{text}\n"), "s", "t")
        texts = rules.without_effect(resolved, found)
        assert ("premake = 0: no partitions are created for the future" in texts) is reported
