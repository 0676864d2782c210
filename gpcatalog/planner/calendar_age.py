"""Ages in calendar months, for retention: "1y" is the same day of the previous year."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from gpcatalog.model.bounds import DAY, days_from_civil, month_days

_MONTHS = {"month": 1, "mon": 1, "quarter": 3, "year": 12, "y": 12}


def whole_months(text: str | float | None) -> int:
    """Months of a period that is written as a whole number of months, quarters or years, in a
    policy or in PostgreSQL's output format of intervals; 0 for any other period.

    >>> whole_months("2y"), whole_months("18 months"), whole_months("1 year 6 mons")
    (24, 18, 18)
    >>> whole_months("365d"), whole_months("1 year 5 days"), whole_months("1.5y"), whole_months(30)
    (0, 0, 0, 0)
    """
    if not isinstance(text, str):
        return 0
    found = 0
    for number, unit in re.findall(r"([\d.]+)\s*([a-zA-Z]+)", text):
        months = _MONTHS.get(unit.lower()) or _MONTHS.get(unit.lower().removesuffix("s"), 0)
        if not (months and number.isdigit()):
            return 0
        found += int(number) * months
    return found


def moment_before(now: int, age: int, months: int) -> int:
    """The moment that is so much earlier, as the server subtracts an interval: with months, the same
    day of an earlier month, or the last one of that month.

    now: microseconds since 1970; age: microseconds, used if months is 0

    >>> (moment_before(days_from_civil(2028, 2, 29) * DAY, 0, 12) // DAY
    ...     == days_from_civil(2027, 2, 28))
    True
    """
    if not months:
        return now - age
    day, rest = divmod(now, DAY)
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)
    year, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    month += 1
    return days_from_civil(year, month, min(at.day, month_days(year, month))) * DAY + rest
