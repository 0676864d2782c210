"""Properties of a thousand nights under random policies: no gap, no overlap, nothing young is touched, and a second run is empty."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gpcatalog.model.bounds import DAY, Family
from gpcatalog.planner import grid
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.time_key import TimeKey, cell_of, micros
from gpcatalog.upkeep import forecast as fc
from gpcatalog.upkeep.naming import default_template
from gpcatalog.upkeep.night import NewPartition, TableState, cover_end, night, uncovered
from gpcatalog.upkeep.partitions import Partition, PartitionSet
from gpcatalog.upkeep.rules import NightLimits, TableRules

START = micros(datetime(2024, 1, 10, 3))
LIMITS = NightLimits(
    max_leaves=10**6, max_rewrite=10**15, window=1800, lock_wait=0.3, lock_attempts=10
)
GRAINS = st.sampled_from([Grain.DAY, Grain.WEEK, Grain.MONTH])


@st.composite
def tables(draw: st.DrawFn) -> TableState:
    """A table of up to two years of partitions, with gaps and odd lengths, and random rules."""
    grain = draw(GRAINS)
    zone = draw(st.sampled_from(["", "Europe/Berlin", "America/Sao_Paulo"]))
    key = TimeKey(family=Family.TIMESTAMPTZ if zone else Family.DATE, zone=zone)
    first = cell_of(grain, START) - draw(st.integers(1, 60))
    parts, cell = [], first
    while cell <= cell_of(grain, START) + draw(st.integers(0, 3)):
        width = draw(st.sampled_from([1, 1, 1, 1, 2]))
        if draw(st.integers(0, 9)) or cell == first:
            parts.append(
                Partition(
                    low=grid.cell_start(grain, cell),
                    high=grid.cell_start(grain, cell + width),
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
        if g > grain and draw(st.booleans())
    ]
    rules = TableRules(
        grain=grain,
        premake=premake,
        batch=draw(st.integers(0, premake // DAY)) * DAY,
        rollups=tuple(rollups),
        hot=31 * DAY,
        max_leaf=10**12,
        keep=draw(st.sampled_from([None, 100, 400])),
        retention=draw(st.sampled_from(["none", "drop", "detach"])),
        retention_schema="",
        fill_gaps=draw(st.booleans()),
        move_default=False,
    )
    rules = replace(rules, keep=None if rules.keep is None else rules.keep * DAY)
    return TableState(
        oid=1,
        schema="s",
        name="t",
        key=key,
        template=default_template(grain, classic=False),
        rules=rules,
        sets=(PartitionSet(parent=1, parent_name="t", parts=tuple(parts)),),
    )


def sound(table: TableState) -> None:
    """No two partitions overlap or share a name."""
    for s in table.sets:
        for one, two in zip(s.parts, s.parts[1:], strict=False):
            assert one.high <= two.low, (one, two)
        names = [p.name for p in s.parts]
        assert len(names) == len(set(names)), names


@given(tables(), st.integers(1, 40))
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_a_thousand_days(table: TableState, seed: int) -> None:
    now = START
    rates = {1: 1000.0}
    state, rules = table, table.rules
    copied: dict[tuple[int, int, int], int] = {}
    # some nights are missed, at most as many as the batch leaves cover for
    for _ in range(300):
        local = state.key.now(now)
        before = {p.low: p for p in state.sets[0].parts}
        done = night([state], now, LIMITS, copied)
        (after,) = fc.applied([state], done)
        sound(after)
        [s] = after.sets
        # the whole cover, today and ahead
        assert cover_end(s.parts, local) >= local + rules.least
        if any(c.why == "premake" for c in done.create):
            assert cover_end(s.parts, local) >= local + rules.premake
        assert not uncovered(s.parts, local, local + 1)
        for gone in done.retire:
            assert rules.keep is not None
            assert rules.retention == gone.how
            assert all(p.high <= local - rules.keep for p in gone.parts)
            assert s.parts  # never the last one
        for merge in done.rollups:
            assert merge.high <= local - rules.hot
            assert {p.low for p in merge.parts} <= set(before)
            assert cell_of(merge.grain, merge.low) == cell_of(merge.grain, merge.high - 1)
        # what is not named is as it was
        touched = {p.low for g in done.retire for p in g.parts} | {
            p.low for m in done.rollups for p in m.parts
        }
        kept = {p.low: p for p in s.parts}
        assert all(kept[low] == p for low, p in before.items() if low not in touched)
        again = night([after], now, LIMITS, copied)
        assert again.empty, (done, again)  # a second run has nothing to do
        state = fc._grown(after, rates, now)
        now += DAY * (1 + (now // DAY * seed) % 2 * (rules.batch < rules.premake - 2 * DAY))


def test_every_gap_is_filled_on_demand() -> None:
    parts = tuple(
        Partition(low=(19730 + n) * DAY, high=(19731 + n) * DAY, name=f"t_p{n}")
        for n in (0, 1, 4, 5)
    )
    rules = TableRules(
        grain=Grain.DAY,
        premake=3 * DAY,
        batch=0,
        rollups=(),
        hot=31 * DAY,
        max_leaf=1,
        keep=None,
        retention="none",
        retention_schema="",
        fill_gaps=False,
        move_default=False,
    )
    table = TableState(
        oid=1,
        schema="s",
        name="t",
        key=TimeKey(family=Family.DATE),
        template=default_template(Grain.DAY, classic=False),
        rules=rules,
        sets=(PartitionSet(parent=1, parent_name="t", parts=parts),),
    )
    now = 19735 * DAY + 3600
    found = night([table], now, LIMITS)
    assert [n.text for n in found.notes if n.what == "gap"] == [
        "2 day ranges of the past below t have no partition; the first begins 2024-01-10"
    ]
    assert [c.why for c in found.create] == ["premake"]
    wished = replace(table, rules=replace(rules, fill_gaps=True))
    found = night([wished], now, LIMITS)
    assert [(c.why, len(c.new)) for c in found.create] == [("premake", 3), ("gap", 2)]
    assert found.create[1].new[0] == NewPartition(
        low=19732 * DAY, high=19733 * DAY, name="t_p20240110"
    )


@pytest.mark.parametrize(("budget", "nights"), [(10**9, 1), (400, 3), (100, 10)])
def test_a_cell_larger_than_the_night(budget: int, nights: int) -> None:
    # ten partitions of 100 bytes in one month
    begin = micros(datetime(2024, 3, 1))
    parts = tuple(
        Partition(
            low=begin + n * DAY,
            high=begin + (n + 1) * DAY,
            name=f"p{n}",
            filled=True,
            bytes=100,
            segment_bytes=100,
        )
        for n in range(10)
    )
    rules = TableRules(
        grain=Grain.DAY,
        premake=2 * DAY,
        batch=DAY,
        rollups=((Grain.MONTH, 40 * DAY),),
        hot=31 * DAY,
        max_leaf=10**9,
        keep=None,
        retention="none",
        retention_schema="",
        fill_gaps=False,
        move_default=False,
    )
    table = TableState(
        oid=1,
        schema="s",
        name="t",
        key=TimeKey(family=Family.DATE),
        template=default_template(Grain.DAY, classic=False),
        rules=rules,
        sets=(PartitionSet(parent=1, parent_name="t", parts=parts),),
    )
    limits = replace(LIMITS, max_rewrite=budget)
    found = list(fc.forecast([table], micros(datetime(2024, 6, 1)), limits, 20))
    work = [n for n in found if n.night.rollups]
    assert len(work) == nights
    assert all(sum(r.bytes for r in n.night.rollups) <= budget for n in work)
    assert [r.whole for n in work for r in n.night.rollups] == [False] * (nights - 1) + [True]
