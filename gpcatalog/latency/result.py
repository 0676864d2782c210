"""The structure of the result of `latency`; `--format json` prints it unchanged."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.audit.statement_times import StatementTimes
from gpcatalog.latency.locks import Slots
from gpcatalog.latency.startup import Startup
from gpcatalog.model.clients import CLIENT
from gpcatalog.model.timing import Curve, Timing
from gpcatalog.store import largest

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

SCHEMA = "gpcatalog.latency/1"


class Left(msgspec.Struct, kw_only=True, frozen=True):
    """Dead catalog rows on one instance: predicted by the cost model, and counted in the probe's
    own transactions before each ROLLBACK.

    counted: None if the rows of the instance could not be counted; predicted_bytes: an estimate,
             indexes included
    """

    content: int
    predicted: dict[str, int]
    predicted_total: int
    predicted_bytes: float
    counted: dict[str, int] | None
    counted_total: int | None
    equal: bool


class Activity(msgspec.Struct, kw_only=True, frozen=True):
    """DDL of one session at that moment. command: its first words; blocked_by: pid (role, state) of
    the sessions that it waits for.
    """

    pid: int
    role: str
    database: str
    command: str
    state: str
    seconds: float
    blocked_by: str


class ClientSubjects(msgspec.Struct, kw_only=True, frozen=True):
    """The table with the most partitions (empty without partitions), and the schema with the most
    tables and partitions.
    """

    table: str
    table_partitions: int
    schema: str
    schema_relations: int


class Latency(msgspec.Struct, kw_only=True, frozen=True):
    """Measured durations, locks of DDL, and the dead rows of the active probe.

    log_hours:    hours of the server's log that were read; None if not requested
    log_settings: settings that determine which statements are logged
    statements:   estimated duration of statements on the largest tables
    clients:      subjects of the clients' queries, whose durations are in timings; None if
                  --clients was not given
    startups:     session starts without pg_internal.init; empty if --startup was not given
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
    statements: StatementTimes | None = None
    clients: ClientSubjects | None = None
    schema: str = SCHEMA


def client_subjects(snapshot: Snapshot) -> ClientSubjects | None:
    """The subjects of the clients' queries; None if the snapshot does not contain their
    durations.
    """
    if not snapshot.rows("SELECT 1 FROM timing WHERE what = ? LIMIT 1", [CLIENT]):
        return None
    if snapshot.header["grain"] != "leaf" or snapshot.unread("relations"):
        return None
    tables, schemas = snapshot.rows(largest.PARENT), snapshot.rows(largest.SCHEMA)
    return ClientSubjects(
        table=f"{tables[0]['schema']}.{tables[0]['name']}" if tables else "",
        table_partitions=int(tables[0]["n"]) if tables else 0,
        schema=schemas[0]["schema"] if schemas else "",
        schema_relations=int(schemas[0]["n"]) if schemas else 0,
    )


def activity_of(rows: list[dict[str, Any]]) -> tuple[Activity, ...]:
    """Convert the rows of the probe `ddl_activity`."""
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
