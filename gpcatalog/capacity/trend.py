"""Robust straight lines through few points: the Theil–Sen estimator, with a confidence band from
the ranks of the slopes.

The rate of growth changes: a load ends, a retention job starts. `recent` finds the last points that
one line fits, so that a forecast does not continue an earlier rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

FEW = 5  # number of points below which there is no 95 % band, for any values
METHOD = (
    "Theil–Sen: the median slope of all pairs of points; band: 95 %, from the ranks of the slopes"
    " (Kendall)"
)
_Z = 1.96


@dataclass(frozen=True)
class TrendLine:
    """y = base + slope · x.

    slope, base: in units of y per unit of x, and in units of y
    low, high:   band of the slope (95 %); None if there are too few points
    points:      number of distinct x
    since:       the first x of these points
    """

    slope: float
    base: float
    low: float | None
    high: float | None
    points: int
    since: float = 0.0

    def at(self, x: float) -> float:
        """The value of the line at x."""
        return self.base + self.slope * x


def fit(xs: Sequence[float], ys: Sequence[float]) -> TrendLine | None:
    """Return the line through the points; None with fewer than two distinct x.

    >>> line = fit([0, 1, 2, 3, 4, 5], [1, 3, 5, 7, 900, 11])
    >>> line.slope, line.base, line.points
    (2.0, 1.0, 6)
    """
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if len(x) > 400:  # pairs grow with the square; every k-th point and the last suffice
        keep = np.unique(np.append(np.arange(0, len(x), math.ceil(len(x) / 400)), len(x) - 1))
        x, y = x[keep], y[keep]
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    distinct = run != 0
    if not distinct.any():
        return None
    slopes = np.sort((y[second] - y[first])[distinct] / run[distinct])
    slope = float(np.median(slopes))
    base = float(np.median(y - slope * x))
    n = len(np.unique(x))
    low = high = None
    if n >= FEW:
        spread = _Z * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        # the band ranges from slope number (N - spread) / 2 to number (N + spread) / 2 + 1 (Sen
        # 1968); for five points these are all slopes
        at = max(0, math.floor((len(slopes) - spread) / 2) - 1)
        low, high = float(slopes[at]), float(slopes[len(slopes) - 1 - at])
    return TrendLine(slope, base, low, high, n, float(x.min()))


def recent(xs: Sequence[float], ys: Sequence[float]) -> TrendLine | None:
    """Return the line through the last points that follow one line; xs in ascending order.

    The points are halved as long as the slopes of the halves contradict each other (their bands do
    not overlap) or the slope of all points (it is outside both bands). A half needs 5 points. If
    earlier points were left out, the band is widened to the average slope of all points.

    >>> line = recent(range(42), [10.0 * min(x, 11) for x in range(42)])
    >>> line.slope, line.since, line.low, round(line.high, 1)
    (0.0, 21.0, 0.0, 2.7)
    """
    return _recent(list(xs), list(ys))


def _recent(x: list[float], y: list[float]) -> TrendLine | None:
    line_of_all = fit(x, y)
    line, kept = line_of_all, len(x)
    while line is not None and kept >= 2 * FEW:
        half = kept // 2
        early = fit(x[-kept:-half], y[-kept:-half])
        late = fit(x[-half:], y[-half:])
        if early is None or late is None or _agree(line, early, late):
            break
        line, kept = late, half
    if line is None or line is line_of_all or line.low is None or line.high is None:
        return line
    average = (y[-1] - y[0]) / (x[-1] - x[0])
    return replace(line, low=min(line.low, average), high=max(line.high, average))


def _agree(line_of_all: TrendLine, early: TrendLine, late: TrendLine) -> bool:
    """Whether the two halves and all points can have one slope; True if this is unknown."""
    if early.low is None or early.high is None or late.low is None or late.high is None:
        return True
    slack = 1e-9 * max(abs(v) for v in (early.low, early.high, late.low, late.high))
    overlap = early.low <= late.high + slack and late.low <= early.high + slack
    lowest, highest = min(early.low, late.low), max(early.high, late.high)
    return overlap and lowest - slack <= line_of_all.slope <= highest + slack
