"""The structure of the result of `growth`; `--format json` prints it unchanged."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from gpcatalog.model.timing import Curve

SCHEMA = "gpcatalog.growth/1"


class Series(msgspec.Struct, kw_only=True, frozen=True):
    """One figure over time.

    values:           one per point of `Growth.taken_at`; None if the snapshot does not contain it
    per_day:          slope of a robust line, in units per day; low and high: its band (95 %), None
                      with too few points
    since_day:        day of the series from which the slope is computed: above 0 if the rate
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
    """One catalog on one instance, in the first and the last snapshot.

    rows: None if unknown; bytes_then: None if the first snapshot does not contain the catalog;
    rates: change / days, None if no time has passed.
    """

    content: int
    relation: str
    rows_then: int | None
    rows_now: int | None
    bytes_then: int | None
    bytes_now: int
    rows_per_day: float | None
    bytes_per_day: float | None


class Divergence(msgspec.Struct, kw_only=True, frozen=True):
    """A segment whose catalog differs in size from that of the other segments.

    ratio:     its bytes / those of the median segment; then: the same in the first snapshot
    shrank_at: when its bytes last decreased by a fifth or more while the median did not: only this
               segment was vacuumed
    """

    relation: str
    content: int
    bytes: int
    median: int
    ratio: float
    then: float | None
    shrank_at: datetime | None


class GrowingTable(msgspec.Struct, kw_only=True, frozen=True):
    """The growth of a table or schema.

    added, dropped: leaves that were added and dropped between snapshots.

    state: "there", "new" or "dropped"; rows: of pg_class and pg_attribute on each instance
    files, bytes: changes on all segments, without those of indexes and TOAST relations; None if
        unknown, and for a schema if the change of any of its tables is unknown
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
    """Rows that were inserted into and deleted from a catalog of one instance between two
    snapshots, by temporary tables and rolled-back DDL.

    inserted, updated, deleted: counts of the server's statistics (rolled-back inserts included);
        net: increase of live rows
    passing: inserted − net, rows that were removed again; per_day: of these rows
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
    """Operations of one day (UTC) in pg_stat_last_operation of the newest snapshot: relations that
    still exist, by their last operation of each kind.

    created, altered, truncated: relations including leaves; leaves_created: leaves of the created
        ones
    """

    day: date
    created: int
    leaves_created: int
    altered: int
    truncated: int


class LastOperation(msgspec.Struct, kw_only=True, frozen=True):
    """The newest CREATE, ALTER or TRUNCATE of a table (leaves are left out).

    detail: what was altered, in the words of the server.
    """

    schema: str
    name: str
    action: str
    detail: str
    role: str
    done_at: datetime


class Forecast(msgspec.Struct, kw_only=True, frozen=True):
    """The forecast of one limit.

    state:    "over", "reached" (there is a date), "not growing", "far" (not within 20 years), "too
              few points", "too short a time" (the series spans less than a day)
    expected: by the line; earliest, latest: by its band; latest None: with the lowest slope of the
              band the limit is never reached
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


class OlderSnapshots(msgspec.Struct, frozen=True):
    """Snapshots before the period.

    days: the shortest period before the newest snapshot that includes all of them, in whole days
    """

    snapshots: int
    days: int


class Growth(msgspec.Struct, kw_only=True, frozen=True):
    """The growth between the first and the last snapshot of a period.

    skipped: (file, reason) of snapshots that are left out
    older:   snapshots of the same database before the period; None without any
    tables, schemas: those that changed most; tables_changed, schemas_changed: number of all that
             changed
    """

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
    older: OlderSnapshots | None = None
    tables_changed: int = 0
    schemas_changed: int = 0
    schema: str = SCHEMA
