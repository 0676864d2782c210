"""A robust straight line through few points: Theil–Sen, with a band from the ranks of the
slopes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEW = 5  # points below which no band of 95 % exists, whatever their spread
METHOD = (
    "Theil–Sen: the median slope of all pairs of points; band: 95 %, from the ranks of the slopes"
    " (Kendall)"
)
_Z = 1.96


@dataclass(frozen=True)
class TrendLine:
    """y = base + slope · x.

    slope, base: in units of y a unit of x, and of y
    low, high:   band of the slope (95 %); None where there are too few points for one
    points:      how many distinct x it rests on
    """

    slope: float
    base: float
    low: float | None
    high: float | None
    points: int

    def at(self, x: float) -> float:
        """The line's value at x."""
        return self.base + self.slope * x


def fit(xs: Sequence[float], ys: Sequence[float]) -> TrendLine | None:
    """The line through the points; None with fewer than two distinct x.

    >>> line = fit([0, 1, 2, 3, 4, 5], [1, 3, 5, 7, 900, 11])
    >>> line.slope, line.base, line.points
    (2.0, 1.0, 6)
    """
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if len(x) > 400:  # pairs grow with the square: every k-th point and the last one tell the same
        keep = np.unique(np.append(np.arange(0, len(x), math.ceil(len(x) / 400)), len(x) - 1))
        x, y = x[keep], y[keep]
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    apart = run != 0
    if not apart.any():
        return None
    slopes = np.sort((y[second] - y[first])[apart] / run[apart])
    slope = float(np.median(slopes))
    base = float(np.median(y - slope * x))
    n = len(np.unique(x))
    low = high = None
    if n >= FEW:
        spread = _Z * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        # the band goes from slope number (N - spread) / 2 to number (N + spread) / 2 + 1 (Sen 1968);
        # of five points it is all slopes
        at = max(0, math.floor((len(slopes) - spread) / 2) - 1)
        low, high = float(slopes[at]), float(slopes[len(slopes) - 1 - at])
    return TrendLine(slope, base, low, high, n)
