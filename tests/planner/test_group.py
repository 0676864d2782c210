"""The grouping of one table equals brute force over all groupings on the grid, for every case that hypothesis generates."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcatalog.capacity.cost import relation_cost
from gpcatalog.capacity.model import EMPTY, FILLED, Place, Shape, relation_files
from gpcatalog.capacity.seconds import ADD_SECONDS, COPY_RATE, DROP_SECONDS, EXCHANGE_SECONDS
from gpcatalog.model.storage import Storage
from gpcatalog.planner import group, resources
from gpcatalog.planner.policy import Policy, Rule, Weights
from gpcatalog.planner.sets.reader import Reader
from tests.planner.made import TAKEN_AT, FakeSnapshot, LeafSpec, TableSpec, day_range

pytestmark = pytest.mark.xdist_group(
    "planner-group"
)  # a later test in the same process checks what a property counted

CASES: Counter[str] = Counter()
NOW = date(2026, 7, 1)
HOT = NOW - timedelta(days=31)


@dataclass
class Piece:
    low: date
    high: date
    lanes: list[int]  # bytes; 0: empty
    storage: str = "ao_column"
    default: bool = False


def cell(grain: str, at: date) -> tuple[date, date]:
    """The cell of a grain that contains a date, calculated independently of the planner."""
    if grain == "day":
        return at, at + timedelta(days=1)
    if grain == "week":
        monday = at - timedelta(days=at.isoweekday() - 1)
        return monday, monday + timedelta(days=7)
    if grain == "month":
        return at.replace(day=1), (at.replace(day=1) + timedelta(days=32)).replace(day=1)
    if grain == "quarter":
        first = date(at.year, (at.month - 1) // 3 * 3 + 1, 1)
        return first, (first + timedelta(days=95)).replace(day=1)
    return date(at.year, 1, 1), date(at.year + 1, 1, 1)


@functools.cache
def rows_files(storage: str, filled: bool, lane: bool, deep: bool) -> tuple[float, float]:
    shape = Shape(
        Storage(storage),
        10,
        place=Place.LEAF if lane else Place.INTERMEDIATE,
        bounds=2 if deep and lane else 1,
    )
    use = FILLED if filled and lane else EMPTY
    return sum(relation_cost("gp6", shape).segment.values()), relation_files("gp6", shape, use)


class Brute:
    """The cheapest grouping by trying all of them, with an independent calculation of the costs."""

    def __init__(
        self,
        pieces: list[Piece],
        grains: dict[str, int],
        max_leaf: int,
        drop: bool,
        weights: Weights,
        gain: float,
        segments: int,
    ) -> None:
        self.pieces = sorted(pieces, key=lambda p: p.low)
        self.grains, self.max_leaf, self.drop, self.w, self.gain, self.segments = (
            grains,
            max_leaf,
            drop,
            weights,
            gain,
            segments,
        )
        self.deep = any(len(p.lanes) > 1 for p in pieces)
        self.free = [p.high <= HOT for p in self.pieces]
        n = len(self.pieces)
        self.joined = [False] + [
            self.free[i] and self.free[i - 1] and self.pieces[i - 1].high == self.pieces[i].low
            and self.pieces[i - 1].storage == self.pieces[i].storage and len(self.pieces[i - 1].lanes) == len(self.pieces[i].lanes)
            for i in range(1, n)
        ]  # fmt: skip
        self.droppable = [drop and sum(p.lanes) == 0 and p.high <= HOT for p in self.pieces]
        if all(self.droppable):
            self.droppable[-1] = False

    def rate(self, p: Piece) -> float:
        edge = p.high
        age = (NOW - edge).days + 0.5  # the snapshot is taken at noon
        return float((p.high - p.low).days * 2.0 ** (-max(0.0, age) / 60.0))

    def legal(self, i: int, j: int) -> bool:
        """Whether pieces i…j-1 may be merged."""
        if any(not self.joined[k] for k in range(i + 1, j)):
            return False
        for grain, age in self.grains.items():
            low, high = cell(grain, self.pieces[i].low)
            if high > HOT or high > NOW - timedelta(days=age):
                continue
            if self.pieces[j - 1].high > high:
                continue
            if i > 0 and self.joined[i] and self.pieces[i - 1].low >= low:
                continue  # the cell contains another piece before
            if j < len(self.pieces) and self.joined[j] and self.pieces[j].high <= high:
                continue
            return True
        return False

    def points(
        self, rows: float, files: float, rewrite: float, scan: float, dropped: float
    ) -> float:
        mib = 1 << 20
        return (
            self.gain * (self.w.row * rows + self.w.file * files)
            + self.w.rewrite * rewrite / mib
            + self.w.scan * scan / mib
            + self.w.drop * dropped
        )

    def group(self, i: int, j: int) -> float:
        block = self.pieces[i:j]
        lanes = [sum(p.lanes[k] for p in block) for k in range(len(block[0].lanes))]
        segment = [
            sum(-(-p.lanes[k] // self.segments) for p in block) for k in range(len(block[0].lanes))
        ]
        now = block[0].storage
        read_rate = sum(self.rate(p) for p in block)
        reads = sum(
            self.rate(p) * sum(p.lanes) * (0.25 if now == "ao_column" else 1) for p in block
        )
        best = float("inf")
        alone = j - i == 1
        options = [now]
        if self.free[i] and now == "ao_column" and all(s / 10 < (4 << 20) for s in segment):
            options.append("ao_row")
        if self.free[i] and now == "ao_row" and max(segment) / 10 >= (40 << 20):
            options.append("ao_column")
        for storage in options:
            if alone and storage == now:
                rows, files = self.stay(block[0])
                best = min(best, self.points(rows, files, 0, 0, 0))
                continue
            if not alone and max(segment) > self.max_leaf:
                continue
            above = rows_files(now, False, False, True) if self.deep else (0.0, 0.0)
            rows, files = above
            for size in lanes:
                r, f = rows_files(storage, size > 0, True, self.deep)
                rows, files = rows + r, files + f
            share = 0.25 if storage == "ao_column" else 1.0
            best = min(
                best,
                self.points(rows, files, sum(lanes), read_rate * sum(lanes) * share - reads, 0),
            )
        if alone and self.droppable[i]:
            best = min(best, self.points(0, 0, 0, 0, len(block[0].lanes)))
        return best

    def stay(self, p: Piece) -> tuple[float, float]:
        rows, files = rows_files(p.storage, False, False, True) if self.deep else (0.0, 0.0)
        for size in p.lanes:
            r, f = rows_files(p.storage, size > 0, True, self.deep)
            rows, files = rows + r, files + f
        return rows, files

    def best(self) -> tuple[float, int]:
        n = len(self.pieces)
        best, tried = float("inf"), 0
        for cuts in itertools.product((False, True), repeat=n - 1):
            edges = [0, *[k + 1 for k, cut in enumerate(cuts) if cut], n]
            blocks = list(itertools.pairwise(edges))
            if all(j - i == 1 or self.legal(i, j) for i, j in blocks):
                tried += 1
                best = min(best, sum(self.group(i, j) for i, j in blocks))
        return best, tried


STARTS = st.sampled_from(
    [
        date(2025, 12, 20),
        date(2026, 1, 1),
        date(2026, 2, 20),
        date(2026, 5, 18),
        date(2026, 5, 26),
        date(2024, 12, 25),
        date(2025, 6, 27),
    ]
)


@st.composite
def tables(draw: Any) -> list[Piece]:
    at = draw(STARTS)
    deep = draw(st.integers(0, 3)) == 0
    width = draw(st.sampled_from(["day", "day", "day", "week", "month", "odd"]))
    pieces = []
    for _ in range(draw(st.integers(1, 12))):
        if draw(st.integers(0, 9)) == 0:
            at += timedelta(days=draw(st.integers(1, 4)))  # a gap
        high = {
            "day": at + timedelta(days=1),
            "week": at + timedelta(days=7),
            "month": cell("month", at)[1],
        }.get(width, at + timedelta(days=draw(st.integers(1, 3))))
        sizes = st.sampled_from([0, 0, 1 << 20, 64 << 20, 900 << 20, 5 << 30])
        lanes = [draw(sizes) for _ in range(2 if deep else 1)]
        storage = "ao_row" if draw(st.integers(0, 14)) == 0 else "ao_column"
        pieces.append(Piece(at, high, lanes, storage))
        at = high
    return pieces


GRAINS = st.dictionaries(
    st.sampled_from(["day", "week", "month", "quarter", "year"]),
    st.sampled_from([0, 60, 120]),
    min_size=1,
)
WEIGHTS = st.builds(
    Weights, row=st.sampled_from([0.0, 1.0]), file=st.sampled_from([0.0, 1.0, 10.0]), rewrite=st.sampled_from([0.0, 0.02, 1.0]),
    scan=st.sampled_from([0.0, 0.01, 0.3]), drop=st.sampled_from([0.0, 5.0, 500.0]),
)  # fmt: skip


def table_of(pieces: list[Piece], name: str) -> TableSpec:
    deep = any(len(p.lanes) > 1 for p in pieces)
    return TableSpec(
        name,
        [
            LeafSpec(
                day_range(str(p.low), str(p.high)),
                sum(p.lanes) > 0,
                sum(p.lanes),
                storage=p.storage,
                lanes=cast("list[int | None]", p.lanes) if deep else None,
            )
            for p in pieces
        ],
    )


@pytest.mark.long
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(tables(), min_size=1, max_size=25),
    GRAINS,
    st.sampled_from([200 << 20, 4 << 30]),
    st.booleans(),
    WEIGHTS,
    st.sampled_from([0.0, 0.3, 1.0, 50.0]),
)
def test_equals_brute_force(
    cases: list[list[Piece]],
    grains: dict[str, int],
    max_leaf: int,
    drop: bool,
    weights: Weights,
    gain: float,
) -> None:
    snapshot = FakeSnapshot([table_of(pieces, f"t{n}") for n, pieces in enumerate(cases)])
    rule = Rule(grains=dict(grains), max_leaf=max_leaf, empty="drop" if drop else "keep")
    reader = Reader(cast(Any, snapshot), Policy(default=rule, weights=weights))
    (chunk,) = reader.chunks()
    problem = group.prepare(chunk, now=reader.now, column_share=0.25)
    price = resources.prices(weights, gain)
    # the result is the same for any number of prices at once, and table by table
    solved = group.solve(problem, np.stack([price, resources.prices(weights, 7.0), price], axis=1))
    single = group.solve(problem, np.tile(price, (len(problem.roots), 1)), per_table=True)
    assert np.array_equal(solved.totals[:, :, 0], solved.totals[:, :, 2])
    assert np.allclose(solved.totals[:, :, 0], single.totals[:, :, 0])
    for t, pieces in enumerate(cases):
        want, tried = Brute(pieces, grains, max_leaf, drop, weights, gain, 4).best()
        got = float(solved.totals[t, :, 0] @ price)
        assert got == pytest.approx(want, rel=1e-9, abs=1e-5)
        CASES["tables"] += 1
        CASES["groupings tried"] += tried
    check_cover(problem, single)
    snapshot.close()


def check_cover(problem: group.Problem, solved: group.Solution) -> None:
    """Every unit is covered exactly once."""
    covered = solved.single[:, 0].astype(int)
    for g in np.flatnonzero(solved.group[:, 0]).tolist():
        covered[int(problem.groups.start[g]) : int(problem.groups.end[g])] += 1
    assert (covered == 1).all()


def test_seconds_are_copying_and_ddl() -> None:
    pieces = [Piece(date(2026, 1, d), date(2026, 1, d + 1), [100 << 20]) for d in range(1, 11)]
    snapshot = FakeSnapshot([table_of(pieces, "t")])
    reader = Reader(cast(Any, snapshot), Policy())
    (chunk,) = reader.chunks()
    problem = group.prepare(chunk, now=reader.now, column_share=0.25)
    solved = group.solve(problem, resources.prices(Weights(), 1e6)[:, None])
    seconds = float(solved.totals[0, resources.SECONDS, 0])
    assert seconds == pytest.approx(
        10 * DROP_SECONDS + ADD_SECONDS + EXCHANGE_SECONDS + 10 * (25 << 20) / COPY_RATE
    )
    assert TAKEN_AT.date() == NOW


def test_cases_are_many(capsys: pytest.CaptureFixture[str]) -> None:
    """Runs after the property, and prints how many cases were compared."""
    if not CASES:
        pytest.skip("the property did not run in this process")
    with capsys.disabled():
        print(
            f"\n[grouping] {CASES['tables']:,} tables equal brute force over {CASES['groupings tried']:,} groupings"
        )
    assert CASES["tables"] >= 250
