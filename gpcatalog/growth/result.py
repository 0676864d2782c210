"""The shape of what `growth` says; `--format json` prints it as it stands here."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from gpcatalog.model.timing import Curve

SCHEMA = "gpcatalog.growth/1"


class Series(msgspec.Struct, kw_only=True, frozen=True):
    """One figure over time.

    values:           one a point of `Growth.taken_at`; None where that snapshot lacks it
    per_day:          slope of a robust line, in units a day; low and high: its band (95 %), None
                      with too few points
    since_day:        day of the series from which the slope counts: later than 0 where the pace
                      changed
    """

    what: str
    unit: str
    values: tuple[float | None, ...]
    now: float
    change: float
    per_day: float | None
    per_day_low: float | None
    per_day_high: float | None
    points: int
    since_day: float = 0.0


class InstanceGrowth(msgspec.Struct, kw_only=True, frozen=True):
    """One catalog on one instance, first and last.

    rows: None when not known; rates: change / days, None for no time between.
    """

    content: int
    relation: str
    rows_then: int | None
    rows_now: int | None
    bytes_then: int
    bytes_now: int
    rows_per_day: float | None
    bytes_per_day: float | None


class Divergence(msgspec.Struct, kw_only=True, frozen=True):
    """A segment whose catalog is of another size than its fellows'.

    ratio:     its bytes / the median segment's; then: the same in the first snapshot
    shrank_at: when it last lost a fifth or more of its bytes while the median did not: it was
               vacuumed alone
    """

    relation: str
    content: int
    bytes: int
    median: int
    ratio: float
    then: float | None
    shrank_at: datetime | None


class GrowingTable(msgspec.Struct, kw_only=True, frozen=True):
    """A table or schema and what it gained.

    added, dropped: leaves that came and went between snapshots.

    state: "there", "new" or "dropped"; rows: of pg_class and pg_attribute on each instance
    """

    schema: str
    name: str
    state: str
    leaves_then: int
    leaves_now: int
    added: int
    dropped: int
    rows: int
    files: int | None
    bytes: int | None


class Churn(msgspec.Struct, kw_only=True, frozen=True):
    """Rows that came and went again in a catalog of one instance between two snapshots: temporary
    tables and rolled-back DDL.

    inserted, updated, deleted: what the server's statistics counted (rolled-back inserts are in
        it); net: live rows gained
    passing: inserted − net, rows that did not stay; per_day: of those
    """

    content: int
    relation: str
    inserted: int
    updated: int
    deleted: int
    net: int | None
    passing: int | None
    per_day: float | None


class OperationDay(msgspec.Struct, frozen=True):
    """What pg_stat_last_operation of the newest snapshot tells of a day (UTC): relations that still
    exist, by their last act of a kind.

    created, altered, truncated: relations, leaves among them; leaves_created: of the created
    """

    day: date
    created: int
    leaves_created: int
    altered: int
    truncated: int


class LastOperation(msgspec.Struct, kw_only=True, frozen=True):
    """The newest CREATE, ALTER or TRUNCATE of a table (leaves are left out).

    detail: what was altered, as the server names it.
    """

    schema: str
    name: str
    action: str
    detail: str
    role: str
    done_at: datetime


class Forecast(msgspec.Struct, kw_only=True, frozen=True):
    """When one limit will be reached.

    state:    "over", "reached" (a date is given), "not growing", "far" (not within 20 years), "too
              few points", "too short a time" (the series spans less than a day)
    expected: by the line; earliest, latest: by its band; latest None: the band's slow end never
              reaches it
    since_day: as in Series
    """

    what: str
    unit: str
    now: float
    limit: float
    limit_source: str
    limit_note: str
    state: str
    per_day: float | None
    per_day_low: float | None
    per_day_high: float | None
    expected: date | None
    earliest: date | None
    latest: date | None
    points: int
    since_day: float = 0.0


class Growth(msgspec.Struct, kw_only=True, frozen=True):
    """Everything between the first and the last snapshot of a series. skipped: (file, reason)."""

    product: str
    version: str
    host: str
    port: int
    database: str
    taken_at: tuple[datetime, ...]
    days: float
    method: str
    series: tuple[Series, ...]
    instances: tuple[InstanceGrowth, ...]
    diverging: tuple[Divergence, ...]
    leaves_added: int
    leaves_dropped: int
    leaves_compared: int
    tables: tuple[GrowingTable, ...]
    schemas: tuple[GrowingTable, ...]
    churn: tuple[Churn, ...]
    forecasts: tuple[Forecast, ...]
    curves: tuple[Curve, ...]
    skipped: tuple[tuple[str, str], ...]
    operation_days: tuple[OperationDay, ...] = ()
    last_operations: tuple[LastOperation, ...] = ()
    schema: str = SCHEMA
