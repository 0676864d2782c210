"""How often queries read a unit: by the policy's default workload, or by the specified one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcatalog.model.bounds import (
    DAY,
    OPEN_HIGH,
    OPEN_LOW,
    Term,
    TermKind,
    axis,
)
from gpcatalog.planner.policy import Policy
from gpcatalog.planner.sets.arrays import Floats, Ints, spans
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.workload import Workload


@dataclass
class Intervals:
    """Intervals that queries read in one table: how many calls per day overlap a range of its
    axis.
    """

    total: float
    starts: Ints
    calls_by_start: Floats
    ends: Ints
    calls_by_end: Floats

    @classmethod
    def of(cls, intervals: list[tuple[int, int, float]]) -> Intervals:
        """Sort intervals: (start, end, calls per day)."""
        starts = sorted((s, c) for s, _, c in intervals)
        ends = sorted((e, c) for _, e, c in intervals)
        return cls(
            sum(c for _, _, c in intervals),
            np.array([s for s, _ in starts], dtype=np.int64),
            np.concatenate([[0.0], np.cumsum([c for _, c in starts])]),
            np.array([e for e, _ in ends], dtype=np.int64),
            np.concatenate([[0.0], np.cumsum([c for _, c in ends])]),
        )

    def overlapping(self, low: Ints, high: Ints) -> Floats:
        """Calls per day whose interval [start, end) overlaps [low, high)."""
        before = self.calls_by_end[np.searchsorted(self.ends, low, side="right")]
        after = self.total - self.calls_by_start[np.searchsorted(self.starts, high, side="left")]
        return np.asarray(self.total - before - after, dtype=np.float64)


def _workload_intervals(
    workload: Workload | None, r: Root
) -> tuple[list[tuple[int, int, float]], float] | None:
    """Intervals on the table's axis, and calls for one unknown value, per day; None if no
    workload was specified.
    """
    if workload is None or not r.key or r.lists or r.several:
        return None
    found: list[tuple[int, int, float]] = []
    points = 0.0
    step = r.family.step or 1
    for one in workload.of(r.schema, r.name, r.key):
        if one.point or (one.low is None and one.high is None):
            points += one.calls if one.point else 0.0
            continue
        try:
            low = OPEN_LOW if one.low is None else axis(Term(TermKind.VALUE, "", one.low), r.family)
            high = (
                OPEN_HIGH
                if one.high is None
                else axis(Term(TermKind.VALUE, "", one.high), r.family)
            )
        except ValueError:
            continue
        low += 0 if one.low_inclusive or one.low is None else step
        high += step if one.high_inclusive and one.high is not None else 0
        if low < high:
            found.append((low, high, one.calls))
    return found, points


def rates(
    policy: Policy,
    workload: Workload | None,
    now: int,
    intervals: dict[int, Intervals],
    batch: list[Root],
    root: Ints,
    sets: npt.NDArray[np.int32],
    low: Ints,
    high: Ints,
    cal_low: Ints,
    cal_high: Ints,
) -> Floats:
    """Queries per day that read one unit alone, from the workload or from the policy's default."""
    w = policy.workload
    n = len(root)
    rate = np.zeros(n)
    for place, s, e in spans([r.index for r in batch], root):
        r = batch[place]
        if not r.level:
            continue
        if r.calendar:
            lo = np.clip(cal_low[s:e], -(2**60), 2**60).astype(np.float64)
            hi = np.clip(cal_high[s:e], -(2**60), 2**60).astype(np.float64)
            wide = np.clip((hi - lo) / DAY, 0, 3660)
            age = np.clip((now - r.shift - hi) / DAY, 0, 36500)
        else:
            # the age of a number is the number of leaves after it
            wide = np.ones(e - s)
            age = np.arange(e - s, 0, -1, dtype=np.float64)
        likely = wide * np.exp2(-age / w.half_life)
        known = _workload_intervals(workload, r)
        if known is None:
            rate[s:e] = w.fresh_per_day * likely
            continue
        # an unknown value is distributed as in the default workload; for known ranges, the
        # overlapping units are determined
        total = float(likely.sum())
        rate[s:e] = known[1] * likely / total if total > 0 else 0.0
        if known[0]:
            intervals[r.index] = Intervals.of(known[0])
    return rate
