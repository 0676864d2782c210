"""The shape of what `latency` says; `--format json` prints it as it stands here."""

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


class ClientSubjects(msgspec.Struct, kw_only=True, frozen=True):
    """The table with the most partitions (empty without partitions), and the schema with the most
    tables and partitions.
    """

    table: str
    table_partitions: int
    schema: str
    schema_relations: int


class Latency(msgspec.Struct, kw_only=True, frozen=True):
    """How long things took, what DDL would lock, and what the active probe left behind.

    log_hours:    how far back the server's log was read; None: it was not asked for
    log_settings: what decides which statements reach the log
    statements:   estimated time of statements on the largest tables
    clients:      what the clients' queries read about, of which timings has the times; None where
                  --clients was not given
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
    statements: StatementTimes | None = None
    clients: ClientSubjects | None = None
    schema: str = SCHEMA


def client_subjects(snapshot: Snapshot) -> ClientSubjects | None:
    """What the queries of clients read about; None where the snapshot has no times of theirs."""
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
