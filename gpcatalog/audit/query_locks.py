"""Locks of queries over whole tables, compared with the fast-path slots of a session.

A session keeps its first locks on relations in its own fast-path slots. The others are entries of
the shared lock table, which all sessions change one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.capacity.limits import fast_path_slots
from gpcatalog.capacity.locks import Statement, locks
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.model import generations
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

TOP = 20  # tables in a report


class TableLocks(msgspec.Struct, kw_only=True, frozen=True):
    """Locks of a SELECT without a condition on the partition key, on the coordinator or server."""

    schema: str
    name: str
    leaves: int
    locks: int


class QueryLocks(msgspec.Struct, kw_only=True, frozen=True):
    """Tables whose queries need more locks than a session has fast-path slots.

    slots:  of one session; None if the settings were not read
    tables: number; 0 if slots is None
    most:   those with the most locks
    """

    slots: int | None
    tables: int
    most: tuple[TableLocks, ...]


def widest(snapshot: Snapshot, number: int | None) -> list[dict[str, Any]]:
    """The partitioned tables with the most leaves (number: how many; None: all): name, shape,
    leaves, intermediates, leaves known to be empty, most partitions of one parent (siblings).
    """
    return snapshot.rows(f"""
        SELECT r.root, t."schema", t.name, r.* EXCLUDE (root), s.siblings
          FROM (SELECT root, mode(storage) FILTER (kind = 'leaf') AS storage, max("columns") AS "columns", bool_or(toast) AS toast,
                       max(indexes) AS indexes, count(*) FILTER (kind = 'leaf') AS leaves,
                       count(*) FILTER (kind = 'intermediate') AS intermediates, count(*) FILTER (kind = 'leaf' AND NOT filled) AS empty
                  FROM relation GROUP BY root HAVING count(*) FILTER (kind = 'leaf') > 0) r
          JOIN (SELECT root, max(n) AS siblings FROM (SELECT root, count(*) AS n FROM relation GROUP BY root, parent) GROUP BY root) s
               ON s.root = r.root
          JOIN relation t ON t.oid = r.root AND t.root = t.oid
         ORDER BY leaves DESC, 1, 2 {"" if number is None else f"LIMIT {number}"}""")


def shape_of(server: str, row: dict[str, Any]) -> Shape:
    """The shape of the leaves of a table of `widest`; leaves without storage count as heap."""
    storage = str(row["storage"])
    stored = (Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN)
    if storage not in stored or not generations.is_greenplum(server):
        storage = Storage.HEAP
    return Shape(
        Storage(storage),
        int(row["columns"]),
        toastable=bool(row["toast"]),
        indexes=tuple(Index() for _ in range(int(row["indexes"]))),
        place=Place.PLAIN,
    )


def plain_tables(snapshot: Snapshot) -> list[tuple[Shape, int]]:
    """Shapes of the tables without partitions, and how many tables have each."""
    server = snapshot.header["generation"]
    return [
        (shape_of(server, row), int(row["n"]))
        for row in snapshot.rows(
            'SELECT storage, "columns", toast, indexes, count(*) AS n FROM relation'
            " WHERE kind = 'table' GROUP BY ALL ORDER BY ALL"
        )
    ]


def statement_locks(server: str, row: dict[str, Any]) -> dict[Statement, int]:
    """Number of locks of each statement over a whole table of `widest`, on the coordinator or
    server.
    """
    shape = shape_of(server, row)
    found = locks(server, shape, int(row["leaves"]), int(row["intermediates"]))
    return {statement: coordinator for statement, (coordinator, _) in found.items()}


def query_locks(snapshot: Snapshot) -> QueryLocks | None:
    """Tables of a snapshot whose queries need more locks than there are slots.

    None for a pruned snapshot, or if the tables were not read.
    """
    header = snapshot.header
    server = header["generation"]
    if header["grain"] != "leaf" or snapshot.unread("relations"):
        return None
    setting = snapshot.rows("SELECT setting FROM setting WHERE name = 'max_locks_per_transaction'")
    slots = fast_path_slots(
        generations.known(server).base, setting[0]["setting"] if setting else None
    )
    if slots is None:
        return QueryLocks(slots=None, tables=0, most=())
    over = [
        TableLocks(schema=row["schema"], name=row["name"], leaves=int(row["leaves"]), locks=n)
        for row in widest(snapshot, None)
        if (n := statement_locks(server, row)[Statement.SELECT]) > slots
    ]
    over.sort(key=lambda t: (-t.locks, t.schema, t.name))
    return QueryLocks(slots=slots, tables=len(over), most=tuple(over[:TOP]))
