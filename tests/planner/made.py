"""Snapshots created in memory: the schema of the store without a file, so that thousands of cases are fast."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from gpcatalog.store.schema import SCHEMA_VERSION, TABLES
from gpcatalog.store.snapshot import Snapshot

TAKEN_AT = datetime(2026, 7, 1, 12, 0)
GIB = 1 << 30


@dataclass
class LeafSpec:
    """One partition of the first level; with `lanes`, it is an intermediate with one leaf for each."""

    bound: str
    filled: bool | None = True
    bytes: int | None = 64 << 20
    default: bool = False
    storage: str | None = None
    columns: int | None = None
    lanes: list[int | None] | None = None  # bytes of each subpartition


@dataclass
class TableSpec:
    name: str
    leaves: list[LeafSpec]
    key_type: str = "date"
    strategy: str = "range"
    storage: str = "ao_column"
    columns: int = 10
    schema: str = "s"
    indexes: int = 0
    index_columns: int | None = None  # of all indexes together; None: one per index
    facts: list[tuple[str, str]] = field(default_factory=list)
    leaf_facts: list[tuple[int, str, str]] = field(default_factory=list)
    key: str = "d"


class FakeSnapshot:
    """A replacement for Snapshot in tests of the planner."""

    path = Path("made")
    files_basis = Snapshot.files_basis
    files_on_hosts = Snapshot.files_on_hosts

    def __init__(
        self,
        tables: list[TableSpec],
        *,
        generation: str = "gp6",
        segments: int = 4,
        basis: str = "files",
        locks: int = 4096,
        plain: int = 0,
    ) -> None:
        self._db = duckdb.connect(":memory:", config={"threads": "1"})
        for name, columns in TABLES.items():
            key = ", bound_key UBIGINT AS (hash(bound))" if name == "relation" else ""
            self._db.execute(f"CREATE TABLE {name} ({columns}{key})")
        self.oid = itertools.count(20000)
        self.oids: dict[str, list[int]] = {}
        self.header: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION, "snapshot_id": "made", "taken_at": TAKEN_AT, "product": "Greenplum Database", "version": "x",
            "generation": generation, "version_num": 90426, "host": "h", "port": 5432, "database": "made", "database_oid": 1,
            "block_size": 32768, "filled_basis": basis, "grain": "leaf",
        }  # fmt: skip
        self._insert("instance", [{"dbid": 1, "content": -1, "role": "p", "hostname": "c"}])
        if not generation.startswith("pg"):
            self._insert(
                "instance",
                [
                    {"dbid": n + 2, "content": n, "role": "p", "hostname": f"h{n % 2}"}
                    for n in range(segments)
                ],
            )
        self._insert(
            "coverage",
            [
                {
                    "probe": "uneven_partitions",
                    "status": "read",
                    "reason": "",
                    "needs": "",
                    "origin": "made",
                }
            ],
        )
        if locks:
            self._insert(
                "setting",
                [
                    {"name": n, "setting": str(v)}
                    for n, v in (
                        ("max_locks_per_transaction", locks),
                        ("max_connections", 100),
                        ("max_prepared_transactions", 100),
                    )
                ],
            )
        self.segments = segments if not generation.startswith("pg") else 1
        for table in tables:
            self._add(table)
        for n in range(plain):
            self._insert(
                "relation",
                [
                    self._relation(
                        TableSpec(f"plain{n}", []),
                        next(self.oid),
                        f"plain{n}",
                        "table",
                        0,
                        None,
                        None,
                    )
                ],
            )
        self._db.execute(
            "INSERT INTO root_total SELECT root, 's', 'x', 'root', 'heap', count(*) FILTER (kind = 'leaf'), 0, 0, 0, 0, 0"
            " FROM relation GROUP BY root"
        )

    def _insert(self, table: str, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            names = ", ".join(f'"{k}"' for k in row)
            self._db.execute(
                f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' for _ in row)})",
                list(row.values()),
            )

    def _relation(
        self,
        t: TableSpec,
        oid: int,
        name: str,
        kind: str,
        level: int,
        parent: int | None,
        leaf: LeafSpec | None,
        **more: Any,
    ) -> dict[str, Any]:
        storage = (leaf.storage if leaf else None) or t.storage
        size = leaf.bytes if leaf else None
        return {
            "oid": oid, "schema": t.schema, "name": name, "root": more.pop("root", oid), "parent": parent, "level": level, "kind": kind,
            "storage": storage, "columns": (leaf.columns if leaf else None) or t.columns, "toast": False, "indexes": t.indexes,
            "index_columns": t.indexes if t.index_columns is None else t.index_columns, "block_directory": False, "persistence": "p", "owner": 10, "tablespace": 0, "pages": 0,
            "tuples": 0.0, "options": None, "bound": leaf.bound if leaf else "", "partition_name": None,
            "is_default": bool(leaf and leaf.default), "filled": leaf.filled if leaf else None, "files": None, "bytes": size,
            "max_segment_bytes": None if size is None else -(-size // self.segments),
        } | more  # fmt: skip

    def _add(self, t: TableSpec) -> None:
        root = next(self.oid)
        rows = [self._relation(t, root, t.name, "root", 0, None, None, root=root)]
        deep = any(leaf.lanes for leaf in t.leaves)
        found = []
        for n, leaf in enumerate(t.leaves):
            oid = next(self.oid)
            found.append(oid)
            name = f"{t.name}_1_prt_{n + 1}"
            if not deep:
                rows.append(self._relation(t, oid, name, "leaf", 1, root, leaf, root=root))
                continue
            rows.append(
                self._relation(
                    t,
                    oid,
                    name,
                    "intermediate",
                    1,
                    root,
                    leaf,
                    root=root,
                    bytes=None,
                    max_segment_bytes=None,
                    filled=None,
                )
            )
            for m, size in enumerate(leaf.lanes or []):
                lane = LeafSpec(
                    f"VALUES ('v{m}'::text)",
                    bool(size),
                    size or 0,
                    storage=leaf.storage,
                    columns=leaf.columns,
                )
                rows.append(
                    self._relation(
                        t,
                        next(self.oid),
                        f"{name}_2_prt_v{m}",
                        "leaf",
                        2,
                        oid,
                        lane,
                        root=root,
                        partition_name=f"v{m}",
                    )
                )
        self._insert("relation", rows)
        self.oids[t.name] = found
        self._insert(
            "partition_key",
            [
                {
                    "root": root,
                    "level": 0,
                    "strategy": t.strategy,
                    "key": t.key,
                    "key_types": t.key_type,
                    "has_template": False,
                }
            ],
        )
        if deep:
            self._insert(
                "partition_key",
                [
                    {
                        "root": root,
                        "level": 1,
                        "strategy": "list",
                        "key": "r",
                        "key_types": "text",
                        "has_template": True,
                    }
                ],
            )
        self._insert(
            "partition_fact",
            [{"root": root, "oid": root, "fact": f, "detail": d} for f, d in t.facts],
        )
        self._insert(
            "partition_fact",
            [{"root": root, "oid": found[n], "fact": f, "detail": d} for n, f, d in t.leaf_facts],
        )

    def rows(self, statement: str, parameters: Any = ()) -> list[dict[str, Any]]:
        answer = self._db.execute(statement, list(parameters))
        names = [c[0] for c in answer.description or []]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def one(self, statement: str, parameters: Any = ()) -> dict[str, Any]:
        return self.rows(statement, parameters)[0]

    def unread(self, *probes: str) -> dict[str, str]:
        return {}

    def columns(self, statement: str, parameters: Any = ()) -> dict[str, Any]:
        return dict(self._db.execute(statement, list(parameters)).fetchnumpy())

    def close(self) -> None:
        self._db.close()


def day_range(low: str, high: str, *, classic: bool = True) -> str:
    """A bound of dates, as Greenplum 6 (`classic`) or the other servers print it."""
    return (
        f"START ('{low}'::date) END ('{high}'::date)"
        if classic
        else f"FOR VALUES FROM ('{low}') TO ('{high}')"
    )
