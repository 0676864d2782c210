"""Partition keys with a calendar: conversion between values of the server and local time."""

from __future__ import annotations

import functools
import zoneinfo
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from gpcatalog.model.bounds import DAY, HOUR, INFINITY, MINUS_INFINITY, Family, shown_time
from gpcatalog.planner import grid
from gpcatalog.planner.grid import Grain

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONE_HORIZON = 800  # days on which time zones must agree to count as the same one


def micros(moment: datetime) -> int:
    """Microseconds since 1970 of a moment; a moment without a zone is used as written.

    >>> micros(datetime(1970, 1, 2))
    86400000000
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment_of(at: int) -> datetime:
    """The date and time of microseconds since 1970. Raises OverflowError beyond the year 9999."""
    return (EPOCH + timedelta(microseconds=at)).replace(tzinfo=None)


_PER_CELL = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}
_UNIX_DAY = datetime(1970, 1, 1).toordinal()


def cell_of(grain: Grain, local: int) -> int:
    """Number of the calendar cell that contains a local time, numbered as in `planner.grid.cells`.

    >>> cell_of(Grain.MONTH, 31 * DAY), cell_of(Grain.WEEK, 4 * DAY), cell_of(Grain.MONTH, -1)
    (1, 1, -1)
    """
    if grain is Grain.HOUR:
        return local // HOUR
    if grain is Grain.DAY:
        return local // DAY
    if grain is Grain.WEEK:
        return (local // DAY + 3) // 7
    try:
        day = date.fromordinal(local // DAY + _UNIX_DAY)
    except (OverflowError, ValueError):  # before the year 1 or after 9999
        return int(grid.cells(grain, np.array([local], dtype=np.int64))[0])
    return ((day.year - 1970) * 12 + day.month - 1) // _PER_CELL[grain]


def is_start(grain: Grain, local: int) -> bool:
    """Whether a calendar cell begins at this local time."""
    return grid.cell_start(grain, cell_of(grain, local)) == local


@dataclass(frozen=True, kw_only=True)
class TimeKey:
    """Mapping of the values of a range key to a calendar in local time.

    family: of the key's type; digits: 8 or 6 if integers such as 20240131 or 202401 are dates
    zone:   name of the time zone in which timestamptz ranges begin; empty for other types
    clock:  time zone that determines the current day, for the other types; empty: UTC
    width:  for plain numbers: numbers of one partition, which counts as a day; anchor: start of a
            partition; position: local time of the newest rows, which counts as now
    listed: values are those of lists, already as local times; form: their format as texts
            (strftime)

    Local times are microseconds since 1970 in wall-clock time.
    """

    family: Family
    digits: int = 0
    zone: str = ""
    clock: str = ""
    width: int = 0
    anchor: int = 0
    position: int = 0
    listed: bool = False
    form: str = ""

    def now(self, moment: int) -> int:
        """The wall-clock time at a moment (UTC); for plain numbers, the position of the newest
        rows.

        >>> TimeKey(family=Family.INTEGER, digits=8, clock="Asia/Tokyo").now(0) == 9 * HOUR
        True
        """
        if self.width:
            return self.position
        zone = self.zone or self.clock
        return TimeKey(family=Family.TIMESTAMPTZ, zone=zone).local(moment) if zone else moment

    def local(self, at: int) -> int:
        """Local time of a value on the axis of the key's family.

        Raises ValueError for a number that is not a date.

        >>> TimeKey(family=Family.INTEGER, digits=8).local(19700102) == DAY
        True
        >>> moment_of(TimeKey(family=Family.TIMESTAMPTZ, zone="Europe/Berlin").local(0)).hour
        1
        >>> TimeKey(family=Family.INTEGER, width=500, anchor=100).local(1100) == 2 * DAY
        True
        """
        if at <= MINUS_INFINITY or at >= INFINITY or self.listed:
            return at
        if self.width:
            return (at - self.anchor) * DAY // self.width
        if self.digits:
            found, good = grid.dates_from_numbers(np.array([at], dtype=np.int64), self.digits)
            if not good[0]:
                raise ValueError(f"{at} is not a date")
            return int(found[0])
        if self.zone:
            try:
                utc = EPOCH + timedelta(microseconds=at)
                return micros(utc.astimezone(zone_of(self.zone)).replace(tzinfo=None))
            except (OverflowError, ValueError):
                raise ValueError("a year beyond 9999") from None
        return at

    def cut(self, at: int) -> int:
        """Local time of a bound: midnight, if clocks skip midnight on that day.

        >>> moment = micros(datetime(2018, 11, 4, 3))  # clocks went from 00:00 to 01:00
        >>> moment_of(TimeKey(family=Family.TIMESTAMPTZ, zone="America/Sao_Paulo").cut(moment)).hour
        0
        """
        local = self.local(at)
        if self.zone and MINUS_INFINITY < at < INFINITY:
            day = local // DAY * DAY
            if day != local and self.axis(day) == at:
                return day
        return local

    def axis(self, local: int) -> int:
        """The value on the axis of the key's family; the inverse of `local`.

        >>> TimeKey(family=Family.INTEGER, digits=6).axis(31 * DAY)
        197002
        >>> key = TimeKey(family=Family.INTEGER, width=1048576)
        >>> key.axis(key.local(13082912))
        13082912
        >>> key = TimeKey(family=Family.TIMESTAMPTZ, zone="Atlantic/Azores")
        >>> midnight = micros(datetime(2027, 10, 31))  # clocks go from 01:00 back to 00:00
        >>> moment_of(key.axis(midnight)).hour
        1
        """
        if local <= MINUS_INFINITY or local >= INFINITY:
            return local
        if self.width:
            # rounded up, because local rounds down
            return self.anchor - (-local * self.width // DAY)
        if self.digits:
            return grid.number_from_date(local, self.digits)
        if self.zone:
            wall = moment_of(local).replace(tzinfo=zone_of(self.zone))
            # a time that occurs twice is the second one, as for the server
            again = wall.replace(fold=1)
            twice = (again.utcoffset() or timedelta()) < (wall.utcoffset() or timedelta())
            return micros((again if twice else wall).astimezone(UTC))
        return local

    def text(self, local: int) -> str:
        """A local time as the server prints a value of this type (DateStyle ISO, TimeZone UTC).

        >>> TimeKey(family=Family.DATE).text(DAY), TimeKey(family=Family.TIMESTAMP).text(DAY)
        ('1970-01-02', '1970-01-02 00:00:00')
        >>> TimeKey(family=Family.TIMESTAMPTZ, zone="Europe/Berlin").text(DAY)
        '1970-01-01 23:00:00+00'
        """
        if self.digits or self.width:
            return str(self.axis(local))
        if self.form:
            return moment_of(local).strftime(self.form)
        moment = moment_of(self.axis(local))
        if self.family is Family.DATE:
            return moment.date().isoformat()
        return moment.isoformat(sep=" ") + ("+00" if self.family is Family.TIMESTAMPTZ else "")

    def shown(self, local: int) -> str:
        """A local time as text for people; plain numbers are unchanged."""
        if self.width:
            return str(self.axis(local))
        return shown_time(local) + (f" {self.zone}" if self.zone else "")

    def moment(self, local: int) -> datetime | int:
        """The value that names of partitions contain: the date and time, or the number."""
        return self.axis(local) if self.width else moment_of(local)

    @property
    def finest(self) -> Grain:
        """The finest grain that partitions of the key can have."""
        if self.digits == 6 or (self.form and "%d" not in self.form):
            return Grain.MONTH
        if self.form or self.width:
            return Grain.DAY
        return Grain.DAY if self.digits or self.family is Family.DATE else Grain.HOUR


@functools.cache
def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The time zone of this name. Raises ValueError for an unknown one."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not the name of a time zone") from None


# names to show if several names mean the same zone
_COMMON = (
    "UTC",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "Europe/Moscow",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Asia/Singapore",
    "Australia/Sydney",
)


@functools.cache
def _names() -> tuple[str, ...]:
    known = zoneinfo.available_timezones()
    rest = sorted(
        n
        for n in known
        if "/" in n and not n.startswith(("Etc/", "posix/", "right/", "SystemV/", "US/"))
    )
    return tuple(dict.fromkeys([n for n in _COMMON if n in known] + rest))


def fits(zone: str, ends: Iterable[int], grain: Grain) -> bool:
    """Whether calendar cells of a grain begin at all these moments (UTC) in a time zone."""
    key = TimeKey(family=Family.TIMESTAMPTZ, zone=zone)
    try:
        return all(is_start(grain, key.cut(at)) for at in ends)
    except ValueError:
        return False


def zones_of(ends: Iterable[int], grain: Grain, now: int) -> list[str]:
    """Time zones in which calendar cells begin at all these moments (UTC), one name of each group
    of zones in which the coming days begin at the same moments.

    >>> summer = micros(datetime(2024, 6, 30, 22)); winter = micros(datetime(2024, 12, 31, 23))
    >>> zones_of([summer, winter], Grain.DAY, winter)
    ['Europe/Berlin']
    """
    distinct = sorted(set(ends))
    # one moment of each season excludes most zones
    sample = distinct[:: max(1, len(distinct) // 6)]
    found: dict[tuple[int, ...], str] = {}
    begin = cell_of(Grain.DAY, now)
    for zone in _names():
        if not fits(zone, sample, grain) or not fits(zone, distinct, grain):
            continue
        key = TimeKey(family=Family.TIMESTAMPTZ, zone=zone)
        future = tuple(key.axis((begin + n) * DAY) for n in range(0, ZONE_HORIZON, 7))
        found.setdefault(future, zone)
    return list(found.values())
