"""Several measurements of the same thing: minimum, median and 95th percentile."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import msgspec

# names of the timings of scans of pg_attribute: on the entry instance, and on all segments at once
ATTRIBUTE_SCAN = "attribute scan"
ATTRIBUTE_SCAN_DISPATCHED = "attribute scan dispatched"

# and of counting numbers, which measures the speed of the processors
SPEED = "speed"
SPEED_DISPATCHED = "speed dispatched"

# names of counts of sessions: those that run a statement, and those that wait for the shared lock
# table
ACTIVE_SESSIONS = "active sessions"
LOCK_MANAGER_WAITS = "lock manager waits"


class Timing(msgspec.Struct, frozen=True):
    """One row of the snapshot's table `timing`.

    what:    "connect", "answer" (of a statement that reads nothing), "client" (see
             gpcatalog.model.clients), "speed", "speed dispatched", "scan", "scan dispatched",
             "describe", "plan", "plan again", "relation cache", "statement", "create", "add
             column", "drop", "rollback"; also "running ddl" and "waiting ddl" (sessions, ages in
             ms) and "rows inserted", "rows updated", "rows deleted" (n: a counter of the server);
             from the server's log: "log statement", "log lock wait", "log lock got" (the wait's
             length) and "log cancelled" (n: how often; times where they were logged); "active
             sessions" and "lock manager waits" (n: sessions)
    subject: table, catalog or command that was measured; empty if there is only one
    content: instance on which or for which it was measured; None for the cluster
    n:       number of measurements, or the value of the counter
    min_ms, median_ms, p95_ms, mean_ms: milliseconds; None if unknown
    leaves:  leaf partitions and plain tables of the database at that time; for a partitioned table,
             its leaves
    """

    what: str
    subject: str = ""
    content: int | None = None
    n: int = 0
    min_ms: float | None = None
    median_ms: float | None = None
    p95_ms: float | None = None
    mean_ms: float | None = None
    leaves: int | None = None


class Curve(msgspec.Struct, kw_only=True, frozen=True):
    """One timing by the number of leaves.

    points:    (leaves, median ms)
    slope:     on this server, in ms per 10,000 leaves; low and high: its 95 % band
    state:     why there is no slope; empty if there is one
    published: the published slope; None where none was published for this kind of server
    """

    what: str
    points: tuple[tuple[float, float], ...]
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    base: float | None
    state: str = ""
    published: float | None = None
    source: str = ""


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile, which is one of the measured values.

    With fewer than 20 values, the 95th percentile is the largest value.

    >>> percentile([3, 1, 2], 0.5), percentile([3, 1, 2], 0.95)
    (2, 3)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summed_up(
    what: str, milliseconds: Sequence[float], *, subject: str = "", leaves: int | None = None
) -> Timing:
    """Minimum, median and 95th percentile of at least one measurement."""
    return Timing(
        what,
        subject,
        None,
        len(milliseconds),
        round(min(milliseconds), 3),
        round(statistics.median(milliseconds), 3),
        round(percentile(milliseconds, 0.95), 3),
        round(sum(milliseconds) / len(milliseconds), 3),
        leaves,
    )
