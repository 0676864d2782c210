"""A snapshot reduced to what growth needs: one point in time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpcatalog.capacity import wraparound
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.capacity.wraparound import AgeLimits
from gpcatalog.errors import CatalogError
from gpcatalog.model.timing import Timing
from gpcatalog.store.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np

LEAVES_COMPARED = (
    31  # the newest snapshots whose leaves are compared one by one; older ones by their totals
)
LEAVES_TOGETHER = 200_000  # leaves of a snapshot up to which several are read at once
Result = TypeVar("Result")
LEAVES_HELD = (
    8_000_000  # and of those so many that their leaves add up to no more: 8 bytes each in memory
)


@dataclass(frozen=True)
class CatalogSize:
    """One catalog on one instance: rows (None when not known), bytes of heap, TOAST and indexes,
    bytes needed.
    """

    rows: int | None
    bytes: int
    needed: int | None


@dataclass(frozen=True, kw_only=True)
class Root:
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


@dataclass(kw_only=True)
class Point:
    """One snapshot.

    files_basis:   "directory" or "catalog" as in audit.files; empty where files were not counted
    files:         all files of this database, without mirrors; None where they were not counted
    files_on_fullest_host: on the host with the most files, mirrors included
    leaf_oids and leaf_roots: of its leaves, sorted by oid; None where the snapshot was pruned or is
    too old.
    """

    path: Path
    taken_at: datetime
    header: dict[str, Any]
    held: dict[tuple[int, str], CatalogSize]
    relations: dict[int, tuple[int, int]]  # content → rows of pg_class and pg_attribute
    temporary: int
    roots: dict[int, Root]
    timings: list[Timing]
    leaves_ao_column: int
    slots: int | None
    xid_age: int | None = None  # of the oldest transaction of any database on any instance
    xid_limits: AgeLimits | None = None
    files_basis: str = ""
    files: int | None = None
    files_on_fullest_host: int | None = None
    days: list[dict[str, Any]] = field(default_factory=list)  # rows of the table operation_day
    operations: list[dict[str, Any]] = field(
        default_factory=list
    )  # of last_operation, with the table's schema and name
    leaf_oids: Any = field(default=None, repr=False)
    leaf_roots: Any = field(default=None, repr=False)

    @property
    def leaves(self) -> int:
        """Leaf partitions."""
        return sum(r.leaves for r in self.roots.values())

    @property
    def partitions(self) -> int:
        """The partitions metric: leaves and plain tables."""
        return self.leaves + sum(1 for r in self.roots.values() if r.kind == "table")

    def bytes_of(self, content: int) -> int:
        """Bytes of all catalogs of one instance."""
        return sum(h.bytes for (c, _), h in self.held.items() if c == content)

    @property
    def contents(self) -> list[int]:
        """Instances that were read, the coordinator first."""
        return sorted({content for content, _ in self.held})


def timings_of(snapshot: Snapshot) -> list[Timing]:
    """Everything timed in a snapshot."""
    return [Timing(**row) for row in snapshot.rows("SELECT * FROM timing")]


def _slots(snapshot: Snapshot) -> int | None:
    rows = snapshot.rows("SELECT name, setting FROM setting WHERE name LIKE 'max%'")
    return lock_slots({r["name"]: r["setting"] for r in rows})


def _held(snapshot: Snapshot) -> dict[tuple[int, str], CatalogSize]:
    """Every catalog by instance and name."""
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


def _roots(snapshot: Snapshot) -> dict[int, Root]:
    """Totals of every table, by its oid."""
    return {
        r["root"]: Root(
            schema=r["schema"],
            name=r["name"],
            kind=r["kind"],
            storage=r["storage"],
            leaves=int(r["leaves"]),
            class_rows=int(r["class_rows"]),
            attribute_rows=int(r["attribute_rows"]),
            files=int(r["files"]) if r["files"] is not None else None,
            bytes=int(r["bytes"]) if r["bytes"] is not None else None,
        )
        for r in snapshot.rows("SELECT * FROM root_total")
    }


def point(snapshot: Snapshot, *, leaves: bool) -> Point:
    """The point of one open snapshot; leaves: keep the oids of its leaves for comparing."""
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
    roots = _roots(snapshot)
    files = snapshot.one(
        "SELECT sum(files) AS n FROM file_total WHERE basis = ?", [snapshot.files_basis]
    )["n"]
    oids: np.ndarray[Any, Any] | None = None
    owners = None
    if snapshot.header["grain"] == "leaf":
        column = snapshot.one(
            "SELECT count(*) AS n FROM relation WHERE kind = 'leaf' AND storage = 'ao_column'"
        )["n"]
        if leaves:
            found = snapshot.columns(
                "SELECT oid, root FROM relation WHERE kind = 'leaf' ORDER BY oid"
            )
            oids, owners = found["oid"], found["root"]
    else:
        column = sum(r.leaves for r in roots.values() if r.storage == "ao_column")
    return Point(
        path=snapshot.path,
        taken_at=snapshot.header["taken_at"].replace(tzinfo=UTC),
        header=dict(snapshot.header),
        held=_held(snapshot),
        relations=relations,
        temporary=int(temporary),
        roots=roots,
        timings=timings_of(snapshot),
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
        days=snapshot.rows("SELECT * FROM operation_day ORDER BY day"),
        operations=snapshot.rows(
            'SELECT any_value(t."schema") AS "schema", any_value(t.name) AS name, o.action,'
            " arg_max(o.detail, o.done_at) AS detail, arg_max(o.role, o.done_at) AS role,"
            " max(o.done_at) AS done_at FROM last_operation o JOIN relation r ON r.oid = o.oid JOIN"
            " root_total t ON t.root = r.root GROUP BY r.root, o.action ORDER BY 6 DESC, 1, 2, 3"
        ),
        leaf_oids=oids,
        leaf_roots=owners,
    )


def _side_by_side(work: Callable[[Path], Result], paths: list[Path]) -> list[Result]:
    """Results of a function of each file, in order; DuckDB reads several at once."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, paths))


def _look(path: Path) -> tuple[datetime, Any, int] | str:
    """Time, database and leaves of a snapshot, or why it cannot be used."""
    try:
        with Snapshot(path) as snapshot:
            head = snapshot.header
            if unread := snapshot.unread("relations", "class_counts"):
                return f"its tables could not be read ({next(iter(unread.values()))})"
            leaves = snapshot.one("SELECT coalesce(sum(leaves), 0) AS n FROM root_total")["n"]
    except CatalogError as e:
        return e.message
    return (
        head["taken_at"].replace(tzinfo=UTC),
        (head["database_oid"], head["generation"]),
        int(leaves),
    )


def points(
    paths: list[Path], *, since: timedelta | None = None
) -> tuple[list[Point], list[tuple[str, str]]]:
    """Points of the snapshots of one database, oldest first, and the files left out with the
    reason.

    Left out are files that cannot be read and snapshots of another database: one that was dropped
    and made anew has another oid. Raises CatalogError when no file is left.
    """
    opened: list[tuple[datetime, Path]] = []
    leaves: dict[Path, int] = {}
    lost: list[tuple[str, str]] = []
    newest: tuple[datetime, Any] | None = None
    identity: dict[Path, Any] = {}
    for path, found in zip(paths, _side_by_side(_look, paths), strict=True):
        if isinstance(found, str):
            lost.append((path.name, found))
            continue
        taken, identity[path], leaves[path] = found
        opened.append((taken, path))
        if newest is None or taken >= newest[0]:
            newest = (taken, identity[path])
    if newest is None:
        reason = f": {lost[0][1]}" if lost else ""
        raise CatalogError(
            f"there are no snapshots to compare{reason}",
            hint="take a snapshot every day: `gpcatalog snapshot take`",
        )
    opened.sort(key=lambda pair: (pair[0], pair[1].name))
    wanted = []
    for taken, path in opened:
        if identity[path] != newest[1]:
            lost.append(
                (
                    path.name,
                    (
                        "its database differs from that of the newest snapshot: it was"
                        " recreated, or it is on another server"
                    ),
                )
            )
        elif since is None or newest[0] - taken <= since:
            wanted.append(path)
    compared: set[Path] = set()
    held = 0
    for path in reversed(wanted[-LEAVES_COMPARED:]):
        held += leaves[path]
        if held > LEAVES_HELD:
            break
        compared.add(path)

    def read(path: Path) -> Point:
        with Snapshot(path) as snapshot:
            return point(snapshot, leaves=path in compared)

    # of large snapshots one at a time: each may take hundreds of megabytes
    small = max((leaves[path] for path in wanted), default=0) <= LEAVES_TOGETHER
    return _side_by_side(read, wanted) if small else [read(path) for path in wanted], lost
