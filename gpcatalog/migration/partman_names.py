"""Notation of intervals and of partition names in pg_partman."""

from __future__ import annotations

# unit of time at whose start each interval begins
UNITS = {
    "1 hour": "hour",
    "1 day": "day",
    "1 week": "week",
    "1 month": "month",
    "3 months": "quarter",
    "1 year": "year",
}
# format of the start of a partition in its name for pg_partman 4; pg_partman 5 is queried
# (calculate_time_partition_info)
SUFFIXES = {
    "hour": "YYYY_MM_DD_HH24MI",
    "day": "YYYY_MM_DD",
    "week": 'IYYY"w"IW',
    "month": "YYYY_MM",
    "quarter": 'YYYY"q"Q',
    "year": "YYYY",
}
COLUMNS = ("partition_interval", "datetime_string", "premake", "retention")


def merged_suffix(start: str, version: int) -> str:
    """The end of the name of a merged partition, from which pg_partman reads its start for any
    grain.

    >>> merged_suffix("2020-01-01", 4), merged_suffix("2020-01-01 06:00:00+00", 4), merged_suffix("500", 4)
    ('p2020_01_01', 'p2020_01_01_0600', 'p500')
    >>> merged_suffix("2020-01-01", 5), merged_suffix("2020-01-01 06:00:00+00", 5)
    ('p20200101', 'p20200101_060000')
    """
    day, _, clock = start.partition(" ")
    if "-" not in day[1:]:
        return f"p{day}"
    hours = clock[:5].replace(":", "")
    ending = "" if not hours or hours == "0000" else f"_{hours}" if version < 5 else f"_{hours}00"
    return "p" + day.replace("-", "_" if version < 5 else "") + ending
