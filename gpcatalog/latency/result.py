"""The shape of what `latency` says; `--format json` prints it as it stands here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from gpcatalog.latency.locks import Slots
from gpcatalog.latency.startup import Startup
from gpcatalog.model.timing import Curve, Timing

SCHEMA = "gpcatalog.latency/1"


class Left(msgspec.Struct, kw_only=True, frozen=True):
    """Dead catalog rows on one instance: predicted by the cost model, and counted in the probe's
    own transactions before each ROLLBACK.

    counted: None where the instance could not be counted; predicted_bytes: an estimate, indexes
             included
    """

    content: int
    predicted: dict[str, int]
    predicted_total: int
    predicted_bytes: float
    counted: dict[str, int] | None
    counted_total: int | None
    equal: bool


class Activity(msgspec.Struct, kw_only=True, frozen=True):
    """DDL of one session at that moment; command: its first words; blocked_by: pid (role, state) of
    the sessions it waits for.
    """

    pid: int
    role: str
    database: str
    command: str
    state: str
    seconds: float
    blocked_by: str


class Latency(msgspec.Struct, kw_only=True, frozen=True):
    """How long things took, what DDL would lock, and what the active probe left behind.

    log_hours:    how far back the server's log was read; None: it was not asked for
    log_settings: what decides which statements reach the log
    startups:     session starts without pg_internal.init; empty where --startup was not given
    """

    product: str
    version: str
    host: str
    port: int
    database: str
    taken_at: datetime
    partitions: int
    timings: tuple[Timing, ...]
    activity: tuple[Activity, ...]
    locks: Slots
    rounds: int
    left: tuple[Left, ...]
    stopped: str
    curves: tuple[Curve, ...]
    not_read: tuple[tuple[str, str], ...]
    log_hours: float | None = None
    log_settings: str = ""
    startups: tuple[Startup, ...] = ()
    schema: str = SCHEMA


def activity_of(rows: list[dict[str, Any]]) -> tuple[Activity, ...]:
    """The rows of the probe `ddl_activity`."""
    return tuple(
        Activity(
            pid=r["pid"],
            role=r["role"],
            database=r["database"],
            command=r["command"] or "?",
            state=r["state"],
            seconds=max(0.0, r["seconds"] or 0.0),
            blocked_by=r["blocked_by"] or "",
        )
        for r in rows
    )
