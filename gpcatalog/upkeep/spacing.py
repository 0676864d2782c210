"""Where the partitions of a table begin: at calendar cells, or at equal distances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gpcatalog.model.bounds import DAY, HOUR, days_from_civil
from gpcatalog.model.quantity import plural
from gpcatalog.planner import grid
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.time_key import cell_of, moment_of
from gpcatalog.upkeep.partitions import Partition

FEWEST = 3  # partitions that show an equal distance
MINUTE = HOUR // 60
_LAST_DAY = 28  # of every month
_FORMATS = {
    Grain.HOUR: "%Y%m%d%H",
    Grain.DAY: "%Y%m%d",
    Grain.WEEK: "%Gw%V",
    Grain.MONTH: "%Y%m",
    Grain.QUARTER: "%Yq%Q",
    Grain.YEAR: "%Y",
}


@dataclass(frozen=True)
class Spacing:
    """The boundaries of the partitions of a table, in microseconds of local time.

    grain: of calendar cells; for equal distances the coarsest one that is not longer, whose
           defaults are used
    width, months: the distance in microseconds, or in calendar months; both 0 for calendar cells
    first: a boundary from which distances are counted

    >>> tuesdays = Spacing(Grain.WEEK, width=7 * DAY, first=5 * DAY)
    >>> tuesdays.word, tuesdays.start(13 * DAY) // DAY, tuesdays.end(13 * DAY) // DAY
    ('7 days', 12, 19)
    >>> Spacing(Grain.QUARTER, months=6, first=31 * DAY).end(0) // DAY
    31
    """

    grain: Grain
    width: int = 0
    months: int = 0
    first: int = 0

    @property
    def calendar(self) -> bool:
        """Whether the boundaries are those of calendar cells."""
        return not (self.width or self.months)

    @property
    def word(self) -> str:
        """The name for people, such as "month" or "7 days"."""
        if self.months:
            return (
                plural(self.months // 12, "year")
                if self.months % 12 == 0
                else plural(self.months, "month")
            )
        if not self.width:
            return self.grain.word
        for unit, name in ((DAY, "day"), (HOUR, "hour")):
            if self.width % unit == 0:
                return plural(self.width // unit, name)
        return plural(self.width // MINUTE, "minute")

    @property
    def days(self) -> float:
        """The usual distance in days."""
        if self.months:
            return self.months * Grain.MONTH.days
        return self.width / DAY if self.width else self.grain.days

    @property
    def date_format(self) -> str:
        """The strftime format of the shortest date that differs at all boundaries."""
        if self.calendar:
            return _FORMATS[self.grain]
        if self.months and _day_and_time(self.first) == (1, 0):
            return "%Y%m"
        if self.width % DAY == 0 and self.first % DAY == 0:
            return "%Y%m%d"
        return "%Y%m%d%H" if self.width % HOUR == 0 and self.first % HOUR == 0 else "%Y%m%d%H%M"

    def _cell(self, at: int) -> int:
        if self.width:
            return (at - self.first) // self.width
        if self.months:
            distance = cell_of(Grain.MONTH, at) - cell_of(Grain.MONTH, self.first)
            cell = distance // self.months
            return cell if self._start(cell) <= at else cell - 1
        return cell_of(self.grain, at)

    def _start(self, cell: int) -> int:
        if self.width:
            return self.first + cell * self.width
        if self.months:
            into = self.first - grid.cell_start(Grain.MONTH, cell_of(Grain.MONTH, self.first))
            month = cell_of(Grain.MONTH, self.first) + cell * self.months
            return days_from_civil(1970 + month // 12, month % 12 + 1, 1) * DAY + into
        return grid.cell_start(self.grain, cell)

    def start(self, at: int) -> int:
        """The last boundary that is not after a time."""
        return self._start(self._cell(at))

    def end(self, at: int) -> int:
        """The first boundary after a time."""
        return self._start(self._cell(at) + 1)

    def is_boundary(self, at: int) -> bool:
        """Whether a time is a boundary."""
        return self.start(at) == at

    def matches(self, p: Partition) -> bool:
        """Whether a partition extends from one boundary to the next."""
        return self.is_boundary(p.low) and self.end(p.low) == p.high


def _day_and_time(at: int) -> tuple[int, int]:
    return moment_of(at).day, at % DAY


def _months(p: Partition) -> int:
    """Number of whole months of a partition; 0 if it is not a number of them."""
    if _day_and_time(p.low) != _day_and_time(p.high) or _day_and_time(p.low)[0] > _LAST_DAY:
        return 0
    return cell_of(Grain.MONTH, p.high) - cell_of(Grain.MONTH, p.low)


def equal_distances(parts: Sequence[Partition], share: float) -> Spacing | None:
    """The distance that at least this share of the partitions agree on; None if there is none.

    parts: closed partitions of a key with dates, in order
    """
    if len(parts) < FEWEST:
        return None
    needed = share * len(parts)
    by_month = Counter(
        (_months(p), cell_of(Grain.MONTH, p.low) % _months(p), _day_and_time(p.low))
        for p in parts
        if _months(p)
    )
    for (months, _, at), n in by_month.most_common(1):
        if n >= needed:
            first = next(
                p.low for p in parts if _months(p) == months and _day_and_time(p.low) == at
            )
            coarse = [g for g, width in grid.MONTHS.items() if width <= months]
            return Spacing(max(coarse), months=months, first=first)
    by_width = Counter((p.high - p.low, p.low % (p.high - p.low)) for p in parts)
    for (width, phase), n in by_width.most_common(1):
        if n >= needed and width % MINUTE == 0:
            coarse = [g for g in Grain if g.days * DAY <= width]
            return Spacing(max(coarse, default=Grain.HOUR), width=width, first=phase)
    return None
