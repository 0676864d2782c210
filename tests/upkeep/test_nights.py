"""Properties of a thousand nights under random policies.

There are no gaps and no overlaps, young partitions do not change, and a second run has nothing to do.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gpcatalog.errors import CatalogError
from gpcatalog.model.bounds import DAY, INFINITY, OPEN_LOW, Family
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.policy import loads, resolve_policy
from gpcatalog.planner.time_key import TimeKey, cell_of, micros
from gpcatalog.services.upkeep import today_of
from gpcatalog.upkeep import forecast as fc
from gpcatalog.upkeep.habits import Habits
from gpcatalog.upkeep.naming import NameTemplate, default_template
from gpcatalog.upkeep.night import NewPartition, TableState, cover_end, night, uncovered
from gpcatalog.upkeep.partitions import Partition, PartitionSet
from gpcatalog.upkeep.rules import NightLimits, TableRules, rules_of
from gpcatalog.upkeep.spacing import Spacing
from gpcatalog.upkeep.steps import retire_step

START = micros(datetime(2024, 1, 10, 3))
LIMITS = NightLimits(
    max_leaves=10**6, max_rewrite=10**15, window=1800, lock_wait=0.3, lock_attempts=10
)
SPACINGS = st.sampled_from(
    [
        *map(Spacing, (Grain.DAY, Grain.WEEK, Grain.MONTH)),
        Spacing(Grain.WEEK, width=7 * DAY, first=5 * DAY),
        Spacing(Grain.DAY, width=3 * DAY, first=DAY),
        Spacing(Grain.MONTH, months=1, first=14 * DAY),
        Spacing(Grain.MONTH, months=2, first=31 * DAY),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> TableState:
    """A table with up to two years of partitions, with gaps and unusual lengths, and random rules."""
    spacing = draw(SPACINGS)
    zone = draw(st.sampled_from(["", "Europe/Berlin", "America/Sao_Paulo"]))
    key = TimeKey(family=Family.TIMESTAMPTZ if zone else Family.DATE, zone=zone)
    first = spacing._cell(START) - draw(st.integers(1, 60))
    parts, cell = [], first
    while cell <= spacing._cell(START) + draw(st.integers(0, 3)):
        width = draw(st.sampled_from([1, 1, 1, 1, 2]))
        if draw(st.integers(0, 9)) or cell == first:
            parts.append(
                Partition(
                    low=spacing._start(cell),
                    high=spacing._start(cell + width),
                    name=f"p{cell}",
                    filled=True,
                    bytes=draw(st.integers(0, 10**6)),
                    segment_bytes=10,
                )
            )
        cell += width
    premake = draw(st.integers(2, 60)) * DAY
    rollups = [
        (g, draw(st.integers(30, 200)) * DAY)
        for g in (Grain.YEAR, Grain.MONTH)
        if g > spacing.grain and draw(st.booleans())
    ]
    rules = TableRules(
        spacing=spacing,
        premake=premake,
        batch=draw(st.integers(0, premake // DAY)) * DAY,
        rollups=tuple(rollups),
        hot=31 * DAY,
        quiet=0.0,
        max_leaf=10**12,
        keep=draw(st.sampled_from([None, 100, 400])),
        retention=draw(st.sampled_from(["none", "drop", "detach"])),
        retention_schema="",
        external_location="",
        fill_gaps=draw(st.booleans()),
        move_default=False,
    )
    rules = replace(rules, keep=None if rules.keep is None else rules.keep * DAY)
    return TableState(
        oid=1,
        schema="s",
        name="t",
        key=key,
        template=default_template(spacing.date_format, classic=False),
        rules=rules,
        sets=(PartitionSet(parent=1, parent_name="t", parts=tuple(parts)),),
    )


def sound(table: TableState) -> None:
    """Check that no two partitions overlap or have the same name."""
    for s in table.sets:
        for one, two in pairwise(s.parts):
            assert one.high <= two.low, (one, two)
        names = [p.name for p in s.parts]
        assert len(names) == len(set(names)), names


@given(tables(), st.integers(1, 40))
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_a_thousand_days(table: TableState, seed: int) -> None:
    now = START
    rates = {1: (1000, 1000)}
    state, rules = table, table.rules
    copied: dict[tuple[int, int, int], int] = {}
    # some nights are missed, at most as many as the cover left by the batch allows
    for _ in range(300):
        local = state.key.now(now)
        before = {p.low: p for p in state.sets[0].parts}
        done = night([state], now, LIMITS, copied)
        (after,) = fc.applied([state], done)
        sound(after)
        [s] = after.sets
        # the complete cover, today and ahead
        assert cover_end(s.parts, local) >= local + rules.least
        if any(c.why == "premake" for c in done.create):
            assert cover_end(s.parts, local) >= local + rules.premake
        assert not uncovered(s.parts, local, local + 1)
        for retirement in done.retire:
            assert rules.keep is not None
            assert rules.retention == retirement.how
            assert all(p.high <= local - rules.keep for p in retirement.parts)
            assert s.parts  # the last partition is never removed
        for merge in done.rollups:
            assert merge.high <= local - rules.hot
            assert {p.low for p in merge.parts} <= set(before)
            assert cell_of(merge.grain, merge.low) == cell_of(merge.grain, merge.high - 1)
            if rules.retention == "drop" and rules.keep is not None:  # would be announced again
                edge = local - rules.keep + 7 * DAY
                cell = cell_of(merge.grain, merge.low)
                assert not [
                    p
                    for p in before.values()
                    if p.high <= edge and cell_of(merge.grain, p.low) == cell
                ]
        # other partitions do not change
        touched = {p.low for g in done.retire for p in g.parts} | {
            p.low for m in done.rollups for p in m.parts
        }
        remaining = {p.low: p for p in s.parts}
        assert all(remaining[low] == p for low, p in before.items() if low not in touched)
        again = night([after], now, LIMITS, copied)
        # a second run only merges where the first one filled gaps
        filled = [n.low for c in done.create if c.why == "gap" for n in c.new]
        late = [m for m in again.rollups if any(m.low <= low < m.high for low in filled)]
        assert not again.create, (done, again)
        assert not again.retire, (done, again)
        assert again.rollups == late, (done, again)
        state = fc._after_inserts(after, rates, now)
        now += DAY * (1 + (now // DAY * seed) % 2 * (rules.batch < rules.premake - 2 * DAY))


def plain_rules(**changed: object) -> TableRules:
    """Rules that create partitions for two days and do nothing else, with these changes."""
    usual = TableRules(
        spacing=Spacing(Grain.DAY),
        premake=2 * DAY,
        batch=0,
        rollups=(),
        hot=31 * DAY,
        quiet=0.0,
        max_leaf=10**9,
        keep=None,
        retention="none",
        retention_schema="",
        external_location="",
        fill_gaps=False,
        move_default=False,
    )
    return replace(usual, **changed)  # type: ignore[arg-type]


def table_of(
    parts: list[Partition],
    rules: TableRules,
    *,
    zone: str = "",
    oid: int = 1,
    left: str = "",
    kept: str | None = None,
) -> TableState:
    """A table with one parent. left: why nothing is merged; kept: why nothing is removed, None: same as `left`."""
    return TableState(
        oid=oid,
        schema="s",
        name=f"t{oid}",
        key=TimeKey(family=Family.TIMESTAMPTZ if zone else Family.DATE, zone=zone),
        template=default_template(rules.spacing.date_format, classic=False),
        rules=rules,
        sets=(PartitionSet(parent=oid, parent_name=f"t{oid}", parts=tuple(parts)),),
        left_alone=left,
        kept=left if kept is None else kept,
    )


def span(begin: datetime, number: int, size: int = 100, leaves: int = 1) -> list[Partition]:
    """This number of daily partitions from a date."""
    low = micros(begin)
    return [
        Partition(
            low=low + n * DAY,
            high=low + (n + 1) * DAY,
            name=f"p{n}",
            filled=True,
            bytes=size,
            segment_bytes=size,
            leaves=leaves,
        )
        for n in range(number)
    ]


def test_a_cell_whose_gap_is_filled_is_merged_once() -> None:
    parts = span(datetime(2023, 11, 1), 10) + span(datetime(2023, 11, 12), 70)
    parts = [replace(p, name=f"x{n}") for n, p in enumerate(parts)]
    rules = plain_rules(rollups=((Grain.MONTH, 30 * DAY),), fill_gaps=True)
    first = night([table_of(parts, rules)], START, LIMITS)
    assert [(c.why, len(c.new)) for c in first.create] == [("gap", 1)]
    assert not first.rollups
    after = fc.applied([table_of(parts, rules)], first)
    assert [len(m.parts) for m in night(after, START, LIMITS).rollups] == [30]


def test_every_gap_is_filled_on_demand() -> None:
    parts = span(datetime(2024, 1, 8), 2) + span(datetime(2024, 1, 12), 2)
    parts = [replace(p, name=f"t1_{n}") for n, p in enumerate(parts)]
    now = micros(datetime(2024, 1, 13, 1))
    rules = plain_rules(premake=3 * DAY)
    found = night([table_of(parts, rules)], now, LIMITS)
    assert [n.text for n in found.notes if n.what == "gap"] == [
        "2 day ranges of the past below t1 have no partition; the first begins 2024-01-10"
    ]
    assert [c.why for c in found.create] == ["premake"]
    found = night([table_of(parts, replace(rules, fill_gaps=True))], now, LIMITS)
    assert [(c.why, len(c.new)) for c in found.create] == [("premake", 3), ("gap", 2)]
    low = micros(datetime(2024, 1, 10))
    assert found.create[1].new[0] == NewPartition(low=low, high=low + DAY, name="t1_p20240110")


@pytest.mark.parametrize(("budget", "nights"), [(10**9, 1), (400, 3), (100, 10)])
def test_a_cell_larger_than_the_night(budget: int, nights: int) -> None:
    rules = plain_rules(batch=DAY, rollups=((Grain.MONTH, 40 * DAY),))
    table = table_of(span(datetime(2024, 3, 1), 10), rules)  # 100 bytes each
    limits = replace(LIMITS, max_rewrite=budget)
    found = list(fc.forecast([table], micros(datetime(2024, 6, 1)), limits, 20))
    work = [n for n in found if n.night.rollups]
    assert len(work) == nights
    assert all(sum(r.bytes for r in n.night.rollups) <= budget for n in work)
    assert [r.complete for n in work for r in n.night.rollups] == [False] * (nights - 1) + [True]


def test_an_hour_that_clocks_skip_has_no_partition() -> None:
    hour = DAY // 24
    now = micros(datetime(2026, 3, 28, 12))
    key = TimeKey(family=Family.TIMESTAMPTZ, zone="Europe/Berlin")
    low = key.now(now) // hour * hour
    parts = [
        Partition(low=low, high=low + hour, name="a"),
        Partition(low=low - hour, high=low, name="b"),
    ]
    table = table_of(parts[::-1], plain_rules(spacing=Spacing(Grain.HOUR)), zone="Europe/Berlin")
    [create] = night([table], now, LIMITS).create
    bounds = [(key.axis(n.low), key.axis(n.high)) for n in create.new]
    assert all(a < b for a, b in bounds)
    assert all(b == c for (_, b), (c, _) in pairwise(bounds))
    assert len(bounds) == 46  # of 48 hours, one exists and one is skipped by the clock


def test_a_partition_without_leaves_is_no_model() -> None:
    now = micros(datetime(2024, 3, 1, 3))
    parts = span(datetime(2024, 2, 28), 2) + span(datetime(2024, 3, 1), 1, leaves=0)
    [create] = night([table_of(parts, plain_rules())], now, LIMITS).create
    assert create.like.name == "p1"


def test_merges_that_are_not_possible_take_no_budget() -> None:
    now = micros(datetime(2024, 6, 1, 3))
    rules = plain_rules(rollups=((Grain.MONTH, 40 * DAY),))
    tables = [
        table_of(span(datetime(2024, 1, 1), 31), rules, oid=1),
        table_of(span(datetime(2024, 2, 1), 29), rules, oid=2),
    ]
    limits = replace(LIMITS, max_rewrite=3100)
    first = night(tables, now, limits)
    assert [r.table for r in first.rollups] == [1]
    place = (1, first.rollups[0].low, first.rollups[0].high)
    again = night(tables, now, limits, excluded={place})
    assert [(r.table, r.complete) for r in again.rollups] == [(2, True)]


def test_a_year_that_would_be_too_large_becomes_months() -> None:
    now = micros(datetime(2025, 6, 1, 3))
    rules = plain_rules(
        rollups=((Grain.YEAR, 60 * DAY), (Grain.MONTH, 60 * DAY)), max_leaf=40 * 100
    )
    found = night([table_of(span(datetime(2024, 1, 1), 60), rules)], now, LIMITS)
    assert [(r.grain, len(r.parts)) for r in found.rollups] == [
        (Grain.MONTH, 31),
        (Grain.MONTH, 29),
    ]


@pytest.mark.parametrize(
    ("day", "due"), [((2028, 2, 28), 8), ((2028, 2, 29), 8), ((2028, 3, 1), 9)]
)
def test_a_year_of_retention_ends_on_the_same_day(day: tuple[int, int, int], due: int) -> None:
    """As many partitions as end before the moment that the server calculates with interval '1 year'."""
    parts = span(datetime(2027, 2, 20), 13)
    rules = plain_rules(keep=round(365.2425 * DAY), keep_months=12, retention="detach")
    found = night([table_of(parts, rules)], micros(datetime(*day)), LIMITS)
    assert sum(len(r.parts) for r in found.retire) == due


def test_the_partition_that_has_other_boundaries_is_named() -> None:
    """An odd partition ahead ends the first new month; later ones follow it."""
    ends = [micros(datetime(2026 + n // 12, n % 12 + 1, 1)) for n in range(8, 13)]
    bounds = [*pairwise(ends), (micros(datetime(2027, 1, 15)), micros(datetime(2027, 1, 20)))]
    parts = [
        Partition(low=low, high=high, name=f"p{n}", filled=True)
        for n, (low, high) in enumerate(bounds)
    ]
    rules = plain_rules(spacing=Spacing(Grain.MONTH), premake=90 * DAY)
    found = night([table_of(parts, rules)], micros(datetime(2026, 12, 10)), LIMITS)
    [text] = [n.text for n in found.notes if n.what == "create"]
    assert "p4 has other boundaries (2027-01-15 to 2027-01-20)" in text
    assert "from 2027-01-01 to 2027-01-15, later ones are like 2027-02-01 to 2027-03-01" in text


def test_what_stays_past_its_retention_is_reported() -> None:
    now = micros(datetime(2024, 6, 1, 3))
    parts = span(datetime(2024, 1, 1), 200)
    rules = plain_rules(keep=60 * DAY, retention="drop")
    # a reason that only prevents merges
    merges = plain_rules(keep=60 * DAY, retention="drop", rollups=((Grain.MONTH, DAY),))
    found = night([table_of(parts, merges, left="a foreign key", kept="")], now, LIMITS)
    assert [len(r.parts) for r in found.retire] == [92]
    assert not found.rollups
    found = night([table_of(parts, rules, left="a foreign key")], now, LIMITS)
    assert not found.retire
    assert [n.text for n in found.notes if n.what == "retention"] == [
        "92 partitions of t1 are past keep and stay: a foreign key"
    ]
    # partitions that must not be dropped do not use up the night's limit
    few = replace(LIMITS, max_leaves=100)
    cold = table_of(
        span(datetime(2023, 1, 1), 90), plain_rules(rollups=((Grain.MONTH, DAY),)), oid=2
    )
    drops = table_of(parts, rules)
    assert len(night([drops, cold], now, few).rollups) == 0
    assert len(night([drops, cold], now, few, allow_drop=False).rollups) == 3
    assert [len(r.parts) for r in night([table_of(parts, rules)], now, LIMITS).retire] == [92]


def test_more_partitions_than_a_night_creates() -> None:
    now = micros(datetime(2024, 3, 1, 3))
    table = table_of(span(datetime(2024, 2, 20), 11), plain_rules(premake=500 * DAY))
    found = night([table], now, LIMITS)
    assert len(found.create[0].new) == 400
    assert (
        "400 of 500 new partitions below t1 are created tonight, the others in the next nights"
        in [n.text for n in found.notes]
    )


def test_the_notice_of_a_drop_is_one_number() -> None:
    from gpcatalog.probes import library
    from gpcatalog.upkeep.rules import ANNOUNCED

    text = (library.folder() / "journal/any/upkeep.part").read_text()
    assert f"interval '{ANNOUNCED // DAY} days' + interval '2 hours'" in text


def test_growth_is_that_of_the_fullest_segment() -> None:
    """A hundred segments share the bytes of a day: a merged partition is not forecast too large."""
    parts = [
        replace(p, bytes=100 * 1000, segment_bytes=1000) for p in span(datetime(2024, 3, 1), 31)
    ]
    rules = plain_rules(rollups=((Grain.MONTH, 35 * DAY),), max_leaf=40 * 1000)
    nights = list(
        fc.forecast([table_of(parts, rules)], micros(datetime(2024, 3, 31, 3)), LIMITS, 80)
    )
    assert [len(r.parts) for n in nights for r in n.night.rollups] == [31, 30]


def test_the_last_partition_of_many_stays() -> None:
    now = micros(datetime(2030, 1, 1, 3))
    rules = plain_rules(keep=60 * DAY, retention="detach")
    [retire] = night([table_of(span(datetime(2024, 1, 1), 300), rules)], now, LIMITS).retire
    assert [p.name for p in retire.parts] == [f"p{n}" for n in range(299)]


def test_gaps_nearest_to_today_are_filled_first() -> None:
    parts = span(datetime(2022, 1, 1), 1) + span(datetime(2024, 3, 1), 10)
    now = micros(datetime(2024, 3, 5, 3))
    [create] = night([table_of(parts, plain_rules(fill_gaps=True))], now, LIMITS).create
    assert (create.why, len(create.new)) == ("gap", 400)
    assert create.new[-1].high == micros(datetime(2024, 3, 1))
    low = [n.low for n in create.new]
    assert low == sorted(low)


def test_a_far_partition_without_an_end_stops_nothing() -> None:
    now = micros(datetime(2024, 3, 5, 3))
    far = Partition(low=micros(datetime(9999, 1, 1)), high=INFINITY, name="far")
    found = night([table_of([*span(datetime(2024, 3, 1), 3), far], plain_rules())], now, LIMITS)
    assert sum(len(c.new) for c in found.create) > 0
    assert not [n.text for n in found.notes if n.what == "create"]


def test_numbers_beyond_the_type_of_the_key_are_left_out() -> None:
    key = TimeKey(family=Family.INTEGER, width=100, anchor=0, position=3 * DAY)
    parts = [
        Partition(low=n * DAY, high=(n + 1) * DAY, name=f"p{n}", filled=True) for n in range(4)
    ]
    for greatest, created in ((None, 10), (700, 3), (699, 2)):
        table = replace(
            table_of(parts, plain_rules(premake=10 * DAY, spacing=Spacing(Grain.DAY))),
            key=key, template=NameTemplate("p{low}"), key_type="smallint", greatest=greatest,
        )  # fmt: skip
        found = night([table], 0, LIMITS)
        assert sum(len(c.new) for c in found.create) in (created, created - 1), greatest
        texts = [n.text for n in found.notes if n.what == "create"]
        assert bool(texts) is (greatest is not None), texts
        assert not texts or f"the greatest number of type smallint is {greatest}" in texts[0]


def test_a_partition_without_an_end_is_reported() -> None:
    now = micros(datetime(2024, 3, 5, 3))
    closed = span(datetime(2024, 3, 1), 3)
    low = micros(datetime(2024, 3, 4))
    for high, reported in ((INFINITY, True), (low + 30 * DAY, False)):
        last = Partition(low=low, high=high, name="last", filled=True)
        found = night([table_of([*closed, last], plain_rules())], now, LIMITS)
        texts = [n.text for n in found.notes if n.what == "create"]
        assert texts == ["last, the newest partition of t1, has no end: it takes all rows from 2024-03-04, so no"
                         " partitions are created after this"] * reported  # fmt: skip
        assert not found.create


@pytest.mark.parametrize("table", ["t", "ä" * 40])
def test_names_that_are_in_use(table: str) -> None:
    """A number is appended, even if the name must be truncated for it."""
    now = micros(datetime(2024, 3, 5, 3))
    parts = span(datetime(2024, 3, 1), 5)
    state = table_of(parts, plain_rules(premake=3 * DAY))
    [s] = state.sets
    free = replace(s, parent_name=table)
    [create] = night([replace(state, sets=(free,))], now, LIMITS).create
    first_name = create.new[0].name
    for existing, number in ((1, "_2"), (2, "_3")):
        named = [replace(parts[0], name=first_name), replace(parts[1], name=create.new[0].name)]
        used = replace(free, parts=(*named[:existing], *parts[existing:]))
        [create] = night([replace(state, sets=(used,))], now, LIMITS).create
        name = create.new[0].name
        assert name.endswith(number)
        assert len(name.encode()) <= 63
        assert name.removesuffix(number) == first_name[: len(name) - 2]


def test_a_day_adds_what_full_partitions_have() -> None:
    """Empty partitions and future partitions do not count."""
    now = micros(datetime(2024, 3, 10, 3))
    full = span(datetime(2024, 3, 1), 4)
    empty = [replace(p, filled=False, bytes=0) for p in span(datetime(2024, 3, 5), 3)]
    unknown = [replace(p, bytes=None) for p in span(datetime(2024, 3, 8), 2)]
    coming = span(datetime(2024, 3, 10), 3, size=10**6)
    opened = Partition(low=OPEN_LOW, high=full[0].low, name="first", filled=True, bytes=10**9)
    [s] = table_of([opened, *full, *empty, *unknown, *coming], plain_rules()).sets
    assert fc.daily_bytes(s, now) == (100, 100)
    assert fc.daily_bytes(replace(s, parts=tuple(empty)), now) == (0, 0)


@pytest.mark.parametrize(
    ("unit", "grains"),
    [("month", [Grain.MONTH]), ("year", [Grain.YEAR, Grain.MONTH]), ("day", [])],
)
def test_no_partition_spans_two_units_of_the_retention(unit: str, grains: list[Grain]) -> None:
    text = f"""
        [default]
        grains = {{ month = "60d", year = "2y" }}
        keep = "5y"
        retention_unit = "{unit}"
    """
    habits = Habits(
        key=TimeKey(family=Family.DATE, zone=""),
        spacing=Spacing(Grain.DAY),
        template=default_template("%Y%m%d", classic=False),
        newest=10,
        evidence=(),
    )
    found = rules_of(resolve_policy(loads(text), "s", "t"), habits, classic=False)
    assert [grain for grain, _ in found.rollups] == grains


def test_the_step_says_from_when_to_when() -> None:
    parts = span(datetime(2024, 1, 1), 4)
    table = table_of(parts, plain_rules(retention="drop"))
    step = retire_step(table, table.sets[0], parts[:3], "db", date(2025, 1, 1))
    assert step.explanation == "drop 3 partitions from 2024-01-01 to 2024-01-04, past retention"
    assert [unit.name for unit in step.units] == ["p0", "p1", "p2"]


def test_time_that_occurs_twice_is_the_second_one_as_for_the_server() -> None:
    """Measured on PostgreSQL 18: '2027-10-31 00:00' in Atlantic/Azores is 01:00 UTC, '2026-10-25 02:30' in Europe/Berlin 01:30 UTC, and
    '2026-03-29 02:30', which clocks skip, 01:30 UTC.
    """
    for zone, local, utc in (
        ("Atlantic/Azores", datetime(2027, 10, 31), datetime(2027, 10, 31, 1)),
        ("Europe/Berlin", datetime(2026, 10, 25, 2, 30), datetime(2026, 10, 25, 1, 30)),
        ("Europe/Berlin", datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 1, 30)),
    ):
        assert TimeKey(family=Family.TIMESTAMPTZ, zone=zone).axis(micros(local)) == micros(utc)


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "1969-12-31"])
def test_days_on_which_upkeep_does_not_run(text: str) -> None:
    with pytest.raises(CatalogError, match="outside the years 1970 to 9900"):
        today_of(text)
