"""Calendars and round numbers: the cells that a merged leaf can fill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gpcatalog.model.bounds import DAY, HOUR, days_from_civil

Ints = npt.NDArray[np.int64]


class Grain(IntEnum):
    """Widths of a calendar cell, fine to coarse.

    Weeks are ISO weeks (Monday first) and cross months and years.
    """

    HOUR = 1
    DAY = 2
    WEEK = 3
    MONTH = 4
    QUARTER = 5
    YEAR = 6

    @property
    def word(self) -> str:
        """The name in policies and plans."""
        return self.name.lower()

    @property
    def days(self) -> float:
        """Its usual length in days."""
        return {1: 1 / 24, 2: 1.0, 3: 7.0, 4: 30.436875, 5: 91.310625, 6: 365.2425}[int(self)]


GRAINS: dict[str, Grain] = {g.word: g for g in Grain}

MONTHS: dict[Grain, int] = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}
"""Number of months of a cell, for grains that consist of whole months."""


def months(at: Ints) -> Ints:
    """Months since 1970-01 of positions on a time axis."""
    found: Ints = (
        np.asarray(at, dtype=np.int64)
        .astype("datetime64[us]")
        .astype("datetime64[M]")
        .astype(np.int64)
    )
    return found


def cells(grain: Grain, at: Ints) -> Ints:
    """Number of the cell that contains each microsecond of the time axis; neighbors differ by one.

    >>> cells(Grain.WEEK, np.array([0, 4 * DAY - 1, 4 * DAY])).tolist()  # 1970-01-01 was a Thursday
    [0, 0, 1]
    """
    if grain is Grain.HOUR:
        return at // HOUR
    if grain is Grain.DAY:
        return at // DAY
    if grain is Grain.WEEK:
        return (at // DAY + 3) // 7
    return months(at) // MONTHS[grain]


def cell_start(grain: Grain, cell: int) -> int:
    """First microsecond of a cell.

    >>> cell_start(Grain.YEAR, 54) // DAY == days_from_civil(2024, 1, 1)
    True
    """
    if grain is Grain.HOUR:
        return cell * HOUR
    if grain is Grain.DAY:
        return cell * DAY
    if grain is Grain.WEEK:
        return (cell * 7 - 3) * DAY
    month = cell * MONTHS[grain]
    return days_from_civil(1970 + month // 12, month % 12 + 1, 1) * DAY


def _month_starts(month: Ints) -> Ints:
    starts: Ints = month.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    return starts


def cell_ends(grain: Grain, cell: Ints) -> Ints:
    """First microsecond after each cell."""
    after = cell + 1
    if grain is Grain.HOUR:
        return after * HOUR
    if grain is Grain.DAY:
        return after * DAY
    if grain is Grain.WEEK:
        return (after * 7 - 3) * DAY
    return _month_starts(after * MONTHS[grain])


def round_multiples(width: int, span: int, most: int = 12) -> list[int]:
    """Cell widths for an integer key with leaves of `width`: round numbers that are multiples of
    it, up to the span.

    If no round number is a multiple of the width, the width is doubled instead.

    >>> round_multiples(100, 10_000)
    [200, 500, 1000, 2000, 5000, 10000]
    >>> round_multiples(7, 60)
    [14, 28, 56]
    >>> round_multiples(25, 1000)
    [50, 100, 200, 500, 1000]
    """
    found: list[int] = []
    power = 1
    while power <= span and len(found) < most:
        found += [
            m * power for m in (1, 2, 5) if width < m * power <= span and m * power % width == 0
        ]
        power *= 10
    if not found:
        multiple = width * 2
        while multiple <= span and len(found) < most:
            found.append(multiple)
            multiple *= 2
    return found[:most]


# --- keys with dates as numbers -------------------------------------------------------------------


def dates_from_numbers(values: Ints, digits: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Time axis of integers such as 20240131 (digits=8) or 202401 (digits=6), and whether each is
    such a date.

    >>> at, good = dates_from_numbers(np.array([20240131, 20240231, 19700101]), 8)
    >>> good.tolist(), int(at[2])
    ([True, False, True], 0)
    """
    day = values % 100 if digits == 8 else np.ones_like(values)
    rest = values // 100 if digits == 8 else values
    year, month = rest // 100, rest % 100
    good = (year >= 1900) & (year <= 2999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    safe = np.where(good, (year - 1970) * 12 + month - 1, 0)
    begin = _month_starts(safe) // DAY
    length = _month_starts(safe + 1) // DAY - begin
    good = good & (day <= length)
    return np.where(good, (begin + day - 1) * DAY, 0), good


def number_from_date(at: int, digits: int) -> int:
    """The integer for a date.

    >>> number_from_date(0, 8), number_from_date(0, 6)
    (19700101, 197001)
    """
    moment = np.datetime64(at, "us").astype("datetime64[D]").item()
    return int(
        moment.year * 10000 + moment.month * 100 + moment.day
        if digits == 8
        else moment.year * 100 + moment.month
    )


def label(grain: Grain, start: int) -> str:
    """A short name of the cell that begins at `start`, valid in a partition name: letters, digits
    and underscores.

    >>> [label(g, days_from_civil(2024, 7, 1) * DAY) for g in Grain]
    ['2024070100', '20240701', '2024w27', '2024m07', '2024q3', '2024']
    """
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(start))
    except OverflowError:
        return "early" if start < 0 else "late"
    if grain is Grain.HOUR:
        return f"{moment:%Y%m%d%H}"
    if grain is Grain.DAY:
        return f"{moment:%Y%m%d}"
    if grain is Grain.WEEK:
        year, week, _ = moment.isocalendar()
        return f"{year}w{week:02d}"
    if grain is Grain.MONTH:
        return f"{moment:%Y}m{moment:%m}"
    if grain is Grain.QUARTER:
        return f"{moment:%Y}q{(moment.month + 2) // 3}"
    return f"{moment:%Y}"
