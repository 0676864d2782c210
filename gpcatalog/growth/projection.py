"""A series of measurements continued at its latest pace, as far ahead as it goes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpcatalog.capacity.trend import recent

DAY = 86_400
"""Seconds of a day; a series over a shorter time is not carried on."""


@dataclass(frozen=True, kw_only=True)
class Projection:
    """Where the trend leads. Times are seconds since 1970.

    start: time and value of the last measurement; end: at the far end of the line
    low, high: value at the far end by the lowest and highest slope of the band
    """

    start: tuple[float, float]
    end: tuple[float, float]
    low: float
    high: float


def project(measured: Sequence[tuple[float, float]]) -> Projection | None:
    """Carry a series of (time, value), oldest first, on by its own length.

    None where there are too few points for a band of slopes, or less than a day between the first
    and the last.

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
