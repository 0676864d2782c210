"""Check OnCalendar expressions of systemd, as systemd.time(7) defines them."""

from __future__ import annotations

import re
import zoneinfo

_WORDS = frozenset(
    "minutely hourly daily weekly monthly quarterly semiannually semi-annually yearly annually"
    " anually bi-annually biannually".split()
)
_DAYS = "(?:mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
_DAY = re.compile(rf"({_DAYS})(?:(?:\.\.|-)({_DAYS}))?", re.I)
_ORDER = "mon tue wed thu fri sat sun".split()
_DATE = re.compile(r"(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)")
_TIME = re.compile(r"([^:]+):([^:]+)(?::([^:]+))?")
_NUMBER = r"(\d+(?:\.\d+)?)"
_ITEM = re.compile(rf"{_NUMBER}(?:\.\.{_NUMBER})?(?:/{_NUMBER})?")
# the values of each component; a year of two digits is from 1970 to 2069
_YEARS, _MONTHS, _DAYS_OF_MONTH = (1970, 2199), (1, 12), (1, 31)
_DAYS_FROM_END = (1, 28)
_BOUNDS_OF_TIME = ((0, 23), (0, 59), (0, 59.999999))


def _is_weekdays(word: str) -> bool:
    """Whether this is a list of weekdays and of ranges from Monday to Sunday."""
    for item in word.removesuffix(",").split(","):
        found = _DAY.fullmatch(item)
        if found is None:
            return False
        days = [_ORDER.index(day[:3].lower()) for day in found.groups() if day]
        if days != sorted(days):
            return False
    return True


def _is_component(
    text: str, bounds: tuple[float, float], *, fractions: bool = False, from_end: bool = False
) -> bool:
    """Whether this is * or a list of values, ranges and repetitions within the bounds.

    from_end: the values are counted from the end of the month
    """
    if text == "*":
        return True
    least, most = bounds
    for item in text.split(","):
        found = _ITEM.fullmatch(item)
        if found is None or ("." in item.replace("..", "") and not fractions):
            return False
        start, stop, repeat = (None if value is None else float(value) for value in found.groups())
        assert start is not None  # the first group is not optional
        last = start if stop is None else stop
        if not least <= start <= last <= most:
            return False
        if repeat is not None and not 0 < repeat <= most - least:
            return False
        if repeat is not None and stop is None:
            following = start - repeat if from_end else start + repeat
            if not least <= following <= most:
                return False
    return True


def _is_year(text: str) -> bool:
    century = re.sub(
        r"\b\d{2}\b(?<!/..)", lambda m: ("20" if int(m[0]) < 70 else "19") + m[0], text
    )
    return _is_component(century, _YEARS)


def _is_date(word: str) -> bool:
    found = _DATE.fullmatch(word)
    if found is None:
        return False
    year, month, mark, day = found.groups()
    from_end = mark == "~"
    return (
        (year is None or _is_year(year))
        and _is_component(month, _MONTHS)
        and _is_component(day, _DAYS_FROM_END if from_end else _DAYS_OF_MONTH, from_end=from_end)
    )


def _is_time(word: str) -> bool:
    found = _TIME.fullmatch(word)
    return found is not None and all(
        part is None or _is_component(part, bounds, fractions=n == len(_BOUNDS_OF_TIME) - 1)
        for n, (part, bounds) in enumerate(zip(found.groups(), _BOUNDS_OF_TIME, strict=True))
    )


def _is_zone(word: str) -> bool:
    if word.lower() == "utc":
        return True
    try:
        zoneinfo.ZoneInfo(word)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False
    return True


def is_on_calendar(text: str) -> bool:
    """Whether systemd accepts an OnCalendar expression: weekdays, date, time and time zone, each
    optional, in this order; or a word such as "monthly" with or without a time zone.

    >>> is_on_calendar("Mon..Fri *-*-* 02:30:00 Europe/Berlin"), is_on_calendar("bogus day")
    (True, False)
    """
    words = text.split()
    if len(words) > 1 and not (_is_time(words[-1]) or _is_date(words[-1])):
        if not _is_zone(words[-1]):
            return False
        words.pop()
    if len(words) == 1 and words[0].lower() in _WORDS:
        return True
    some = bool(words)
    for accepts in (_is_weekdays, _is_date, _is_time):
        if words and accepts(words[0]):
            words.pop(0)
    return some and not words
