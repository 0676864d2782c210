"""The speed of the server of a snapshot, compared with the test servers of the time model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace
from gpcatalog.capacity.footprint import ProbeTable
from gpcatalog.model.storage import Storage
from gpcatalog.model.timing import SPEED, SPEED_DISPATCHED, percentile

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

_ACTIVE = {
    "create": Action.CREATE,
    "add column": Action.ADD_COLUMN,
    "drop": Action.DROP,
}


def pace(snapshot: Snapshot) -> Pace:
    """The speed factor of a snapshot's server: from the DDL of `latency --allow-ddl` if the
    snapshot contains it, else from the time of counting numbers, else 1.
    """
    return _of_ddl(snapshot) or _of_speed(snapshot)


def _of_ddl(snapshot: Snapshot) -> Pace | None:
    """The median ratio of measured to predicted times of DDL on the active probe's table with
    leaves; None without such times.
    """
    server = snapshot.header["generation"]
    ratios = []
    for row in snapshot.rows(
        "SELECT what, subject, leaves, median_ms FROM timing WHERE leaves > 0 AND median_ms > 0 AND"
        " what IN ('create', 'add column', 'drop') ORDER BY 1, 2"
    ):
        stored = row["subject"].partition(",")[0]
        if stored not in set(Storage):
            continue
        shape = ProbeTable(Storage(stored)).shape(owned=False)
        predicted = durations.seconds(server, shape, _ACTIVE[row["what"]], row["leaves"])
        if predicted:
            ratios.append(row["median_ms"] / 1000 / predicted)
    if not ratios:
        return None
    factor = percentile(ratios, 0.5)
    return Pace(min(durations.MOST, max(durations.LEAST, factor)), "ddl")


def _of_speed(snapshot: Snapshot) -> Pace:
    """The factor from the time of counting numbers on the entry instance and on all segments at
    once.
    """
    timings = {
        row["what"]: row["min_ms"]
        for row in snapshot.rows(
            "SELECT what, min_ms FROM timing WHERE what IN ('answer', ?, ?) AND min_ms > 0",
            [SPEED, SPEED_DISPATCHED],
        )
    }
    if SPEED not in timings:
        return durations.REFERENCE
    return durations.pace_of_speed(
        snapshot.header["generation"],
        timings[SPEED],
        timings.get(SPEED_DISPATCHED),
        timings.get("answer", 0.0),
    )


def measured_plans(snapshot: Snapshot) -> dict[str, float]:
    """Seconds that planning a query over all leaves took in a new session (`latency --plan`), by
    "schema.table".
    """
    return {
        row["subject"]: row["ms"] / 1000
        for row in snapshot.rows(
            "SELECT subject, min(median_ms) AS ms FROM timing WHERE what = 'plan' AND median_ms > 0"
            " GROUP BY subject"
        )
    }
