"""A series of measurements extended at its latest rate, by the length of the series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpcatalog.capacity.trend import recent

DAY = 86_400
"""Seconds of a day; a shorter series is not extended."""


@dataclass(frozen=True, kw_only=True)
class Projection:
    """The extension of a series. Times are seconds since 1970.

    start: time and value of the last measurement; end: time and value at the end of the line
    low, high: value at the end with the lowest and highest slope of the band
    """

    start: tuple[float, float]
    end: tuple[float, float]
    low: float
    high: float


def project(measured: Sequence[tuple[float, float]]) -> Projection | None:
    """Extend a series of (time, value), oldest first, by its own length.

    None if there are too few points for a band of slopes, or less than a day between the first and
    the last.

    >>> project([(n * DAY, 10.0 * n) for n in range(6)]).end
    (864000, 100.0)
    >>> project([(0.0, 1.0), (5.0, 2.0)])
    """
    begun, last = measured[0][0], measured[-1][0]
    span = last - begun
    line = recent([(t - begun) / DAY for t, _ in measured], [v for _, v in measured])
    if line is None or line.low is None or line.high is None or span < DAY:
        return None
    start, days, ahead = measured[-1][1], span / DAY, last + span
    return Projection(
        start=(last, start),
        end=(ahead, start + line.slope * days),
        low=start + line.low * days,
        high=start + line.high * days,
    )
