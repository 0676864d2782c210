"""Timings of the catalog queries that other programs send, without the parts that open tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpcatalog.model.clients import CLIENT, CLIENTS, Reads
from gpcatalog.model.timing import Timing, summed_up
from gpcatalog.probes import library
from gpcatalog.store import largest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpcatalog.probes.connection import Session
    from gpcatalog.store.snapshot import Writer

ROUNDS = 3
ENOUGH_MS = 3000.0  # time limit after which no further round is started

# one row: oid, and number of the tables and partitions that a client reads
_ABOUT = {
    Reads.TABLE: f"SELECT oid, n FROM ({largest.PARENT})",
    Reads.SCHEMA: f"SELECT oid, n FROM ({largest.SCHEMA})",
    Reads.DATABASE: "SELECT min(oid), count(*) FROM relation",
}


def timings(session: Session, writer: Writer, covered: Callable[..., Any]) -> Iterator[Timing]:
    """Time the queries of all clients that support this server, up to three times each.

    Requires the relations of the snapshot. The timings contain the number of tables and partitions
    that the client reads. covered: records the status of a probe
    """
    known = library.names(session.server)
    for client in CLIENTS:
        if client.probe not in known:
            continue
        found = writer.execute(_ABOUT[client.reads])
        if not found or not found[0][1]:
            continue  # there are no partitions or no tables
        oid, relations = found[0]
        with covered(client.probe) as note:
            values = {}
            if client.reads is Reads.SCHEMA:
                place = session.query(
                    "SELECT relnamespace::int8 AS oid FROM pg_catalog.pg_class WHERE oid = %s",
                    [oid],
                )
                if not place:
                    note |= {"status": "failed", "reason": "the table was dropped meanwhile"}
                    continue
                values = {"schema": str(place[0]["oid"])}
            elif client.reads is Reads.TABLE:
                values = {"root": str(oid)}
            took: list[float] = []
            while len(took) < ROUNDS and sum(took) < ENOUGH_MS:
                begun = time.perf_counter()
                session.rows(client.probe, **values)
                took.append((time.perf_counter() - begun) * 1000)
            yield summed_up(CLIENT, took, subject=client.title, leaves=int(relations))
