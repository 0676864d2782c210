"""The data of a snapshot that growth needs: one point in time."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.audit.drop_locks import most_locks
from gpcatalog.capacity import wraparound
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.capacity.wraparound import AgeLimits
from gpcatalog.model.storage import Storage
from gpcatalog.model.timing import Timing
from gpcatalog.store.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np

NOT_STORED = (Storage.EXTERNAL, Storage.FOREIGN, Storage.NONE)  # without files of this database


class CatalogSize(msgspec.Struct, frozen=True):
    """One catalog on one instance: rows (None if unknown), bytes of heap, TOAST and indexes, needed
    bytes.
    """

    rows: int | None
    bytes: int
    needed: int | None


class Root(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Totals of one partitioned or plain table.

    catalog rows: of pg_class and pg_attribute on each instance.
    """

    schema: str
    name: str
    kind: str
    storage: str
    leaves: int
    class_rows: int
    attribute_rows: int
    files: int | None
    bytes: int | None


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Server and database of a snapshot, as in the table of the snapshot with the same columns."""

    product: str
    version: str
    generation: str
    host: str | None
    port: int | None
    database: str
    database_oid: int
    database_bytes: int | None


class OperationCount(msgspec.Struct, frozen=True, kw_only=True):
    """Relations by day, action and part: a row of the table operation_day."""

    day: date
    action: str
    part: str
    relations: int


class TableOperation(msgspec.Struct, frozen=True, kw_only=True):
    """The newest operation of one kind on a table and its partitions; done_at in UTC, without time
    zone.
    """

    schema: str
    name: str
    action: str
    detail: str | None
    role: str | None
    done_at: datetime


class Figures(msgspec.Struct, kw_only=True):
    """The figures of one snapshot.

    by_leaf:       whether the snapshot lists its leaves; a pruned one has totals only
    leaves:        leaf partitions; tables: those without partitions
    most_leaves:   of one table; most_class_rows: rows of pg_class of one table, on each instance
    most_locks:    of DROP or TRUNCATE of the table with the most leaves; None if unknown
    files_basis:   "directory", "sample" or "catalog" as in audit.files; empty if files were not
                   counted
    files:         all files of this database, without mirrors; None if they were not counted
    files_on_fullest_host: on the host with the most files, mirrors included
    xid_age:       of the oldest transaction of any database on any instance
    """

    taken_at: datetime
    head: Head
    held: dict[tuple[int, str], CatalogSize]
    relations: dict[int, tuple[int, int]]  # content → rows of pg_class and pg_attribute
    temporary: int
    timings: list[Timing]
    by_leaf: bool
    leaves: int
    tables: int
    most_leaves: int
    most_class_rows: int
    most_locks: int | None
    leaves_ao_column: int
    slots: int | None
    xid_age: int | None
    xid_limits: AgeLimits | None
    files_basis: str
    files: int | None
    files_on_fullest_host: int | None
    days: list[OperationCount]
    operations: list[TableOperation]

    @property
    def partitions(self) -> int:
        """The partitions metric: leaves and plain tables."""
        return self.leaves + self.tables

    def bytes_of(self, content: int) -> int:
        """Bytes of all catalogs of one instance."""
        return sum(h.bytes for (c, _), h in self.held.items() if c == content)

    @property
    def contents(self) -> list[int]:
        """The instances that were read, the coordinator first."""
        return sorted({content for content, _ in self.held})


class Moves(msgspec.Struct, frozen=True):
    """Leaves that were added and dropped between two snapshots, by table."""

    added: dict[int, int]
    dropped: dict[int, int]


# the tables that differ from the snapshot before: (earlier state, current state)
Changes = dict[int, tuple[Root | None, Root | None]]


class Point(Figures, kw_only=True):
    """One snapshot of a series.

    roots:   all tables; for the first and the last point only, empty for the others
    changes: since the point before; empty for the first point
    moves:   leaves compared one by one with the point before; None if they were not compared
    """

    path: Path
    roots: dict[int, Root]
    changes: Changes
    moves: Moves | None


def timings_of(snapshot: Snapshot) -> list[Timing]:
    """All timings of a snapshot."""
    return [Timing(**row) for row in snapshot.rows("SELECT * FROM timing")]


def _slots(snapshot: Snapshot) -> int | None:
    rows = snapshot.rows("SELECT name, setting FROM setting WHERE name LIKE 'max%'")
    return lock_slots({r["name"]: r["setting"] for r in rows})


def _catalog_sizes(snapshot: Snapshot) -> dict[tuple[int, str], CatalogSize]:
    """All catalogs by instance and name."""
    return {
        (r["content"], r["relation"]): CatalogSize(
            r["rows"],
            r["bytes"],
            (
                None
                if r["heap_needed"] is None or r["index_needed"] is None
                else r["heap_needed"] + r["index_needed"] + (r["toast"] or 0)
            ),
        )
        for r in snapshot.rows(
            'SELECT content, relation, "rows", coalesce(heap_bytes, 0) + coalesce(toast_bytes, 0) +'
            " coalesce(index_bytes, 0) AS bytes, heap_needed, index_needed, coalesce(toast_needed,"
            " toast_bytes) AS toast FROM catalog"
        )
    }


def _number(row: dict[str, Any], column: str) -> int | None:
    """Files or bytes of a table with its leaves; None if unknown. Without leaves, a partitioned
    table has none, as has a table that is stored elsewhere.
    """
    if row[column] is not None:
        return int(row[column])
    stored = row["kind"] == "table" and row["storage"] not in NOT_STORED
    return None if stored or row["leaves"] else 0


def roots_of(snapshot: Snapshot) -> dict[int, Root]:
    """Totals of all tables, by oid."""
    return {
        r["root"]: Root(
            schema=r["schema"],
            name=r["name"],
            kind=r["kind"],
            storage=r["storage"],
            leaves=int(r["leaves"]),
            class_rows=int(r["class_rows"]),
            attribute_rows=int(r["attribute_rows"]),
            files=_number(r, "files"),
            bytes=_number(r, "bytes"),
        )
        for r in snapshot.rows("SELECT * FROM root_total")
    }


def leaves_of(snapshot: Snapshot) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Oids of all leaves in ascending order, and the oids of their tables."""
    import numpy as np

    # sorted here, because DuckDB needs several times as much memory for this
    found = snapshot.columns("SELECT oid, root FROM relation WHERE kind = 'leaf'")
    both = np.asarray(found["oid"], dtype=np.uint64) << np.uint64(32)
    both |= np.asarray(found["root"], dtype=np.uint64)
    found.clear()
    both.sort()
    return (both >> np.uint64(32)).astype(np.uint32), both.astype(np.uint32)


def _most_locks(snapshot: Snapshot) -> int | None:
    found = most_locks(snapshot)
    return None if found is None else found.locks


def _operations(snapshot: Snapshot) -> list[TableOperation]:
    return [
        TableOperation(**row)
        for row in snapshot.rows(
            'SELECT any_value(t."schema") AS "schema", any_value(t.name) AS name, o.action,'
            " arg_max(o.detail, o.done_at) AS detail, arg_max(o.role, o.done_at) AS role,"
            " max(o.done_at) AS done_at FROM last_operation o JOIN relation r ON r.oid = o.oid"
            " JOIN root_total t ON t.root = r.root GROUP BY r.root, o.action"
            " ORDER BY 6 DESC, 1, 2, 3"
        )
    ]


def figures_of(snapshot: Snapshot, roots: dict[int, Root]) -> Figures:
    """The figures of one open snapshot; roots: its tables."""
    relations = {
        r["content"]: (int(r["r"]), int(r["a"]))
        for r in snapshot.rows(
            "SELECT content, sum(relations) AS r, sum(attributes) AS a FROM class_count GROUP BY"
            " content"
        )
    }
    temporary = snapshot.one(
        "SELECT coalesce(sum(relations), 0) AS n FROM class_count WHERE content = -1 AND"
        " persistence = 't'"
    )["n"]
    files = snapshot.one(
        "SELECT sum(files) AS n FROM file_total WHERE basis = ?", [snapshot.files_basis]
    )["n"]
    by_leaf = snapshot.header["grain"] == "leaf"
    if by_leaf:
        column = snapshot.one(
            "SELECT count(*) AS n FROM relation WHERE kind = 'leaf' AND storage = 'ao_column'"
        )["n"]
    else:
        column = sum(r.leaves for r in roots.values() if r.storage == "ao_column")
    return Figures(
        taken_at=snapshot.header["taken_at"].replace(tzinfo=UTC),
        head=Head(**{name: snapshot.header[name] for name in Head.__struct_fields__}),
        held=_catalog_sizes(snapshot),
        relations=relations,
        temporary=int(temporary),
        timings=timings_of(snapshot),
        by_leaf=by_leaf,
        leaves=sum(r.leaves for r in roots.values()),
        tables=sum(r.kind == "table" for r in roots.values()),
        most_leaves=max((r.leaves for r in roots.values()), default=0),
        most_class_rows=max((r.class_rows for r in roots.values()), default=0),
        most_locks=_most_locks(snapshot),
        leaves_ao_column=int(column),
        slots=_slots(snapshot),
        xid_age=snapshot.one("SELECT max(xid_age) AS n FROM age WHERE kind = 'database'")["n"],
        xid_limits=wraparound.transactions(
            snapshot.header["generation"],
            {row["name"]: row["setting"] for row in snapshot.rows("SELECT * FROM setting")},
        ),
        files_basis=snapshot.files_basis,
        files=int(files) if files is not None else None,
        files_on_fullest_host=max(
            (n[2] + n[3] for n in snapshot.files_on_hosts().values()), default=None
        ),
        days=[
            OperationCount(**row)
            for row in snapshot.rows("SELECT * FROM operation_day ORDER BY day")
        ],
        operations=_operations(snapshot),
    )
