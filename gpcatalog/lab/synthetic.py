"""Snapshots of fictitious clusters: any number of partitioned tables, written directly into the
schema of the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import gpcatalog
from gpcatalog.store.schema import SCHEMA_VERSION
from gpcatalog.store.snapshot import Writer

TAKEN_AT = datetime(2026, 7, 1, 12, 0)

_BANNERS = {
    "gp6": (
        "PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build synthetic)",
        "Greenplum Database",
        "6.25.3",
        90426,
        32768,
    ),
    "gp7": (
        "PostgreSQL 12.12 (Greenplum Database 7.0.0 build synthetic)",
        "Greenplum Database",
        "7.0.0",
        120012,
        32768,
    ),
    "pg15": ("PostgreSQL 15.8", "PostgreSQL", "15.8", 150008, 8192),
    "pg19": ("PostgreSQL 19.0", "PostgreSQL", "19.0", 190000, 8192),
}


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One partitioned table.

    step:    "hour", "day", "month" (date or timestamp keys) or "integer" (`width` numbers per leaf)
    start:   first lower bound; a date, or a number for integer keys
    leaves:  partitions of the first level
    lists:   number of list subpartitions of each of them (two levels), or 0
    filled:  share of the partitions that contain rows, the oldest ones; newer ones were created in
             advance and are empty
    every_filled: of those, only every n-th one contains rows
    default, default_filled: whether it has a default partition, and whether that contains rows
    bytes:   bytes of a filled leaf on all segments; None for a snapshot without sizes
    """

    name: str
    schema: str = "synthetic"
    step: str = "day"
    start: date | int = date(2020, 1, 1)
    leaves: int = 365
    width: int = 1000
    lists: int = 0
    storage: str = "ao_column"
    columns: int = 20
    toast: bool = False
    indexes: int = 0
    filled: float = 1.0
    every_filled: int = 1
    bytes: int | None = 64 << 20
    default: bool = False
    default_filled: bool = False


def _bound(spec: Spec, generation: str) -> tuple[str, str]:
    """SQL expression in position `i` for the bound of the first level, and the type of the key."""
    if spec.step == "integer":
        assert isinstance(spec.start, int)
        low, high = f"({spec.start} + i * {spec.width})", f"({spec.start} + (i + 1) * {spec.width})"
        if generation == "gp6":
            return f"'START (' || {low} || ') END (' || {high} || ')'", "integer"
        return f"'FOR VALUES FROM (' || {low} || ') TO (' || {high} || ')'", "integer"
    unit = {"hour": "INTERVAL 1 HOUR", "day": "INTERVAL 1 DAY", "month": "INTERVAL 1 MONTH"}[
        spec.step
    ]
    kind = "timestamp without time zone" if spec.step == "hour" else "date"
    form = "%Y-%m-%d %H:%M:%S" if spec.step == "hour" else "%Y-%m-%d"
    ends = [
        f"strftime(TIMESTAMP '{spec.start}' + {unit} * {i}, '{form}')" for i in ("i", "(i + 1)")
    ]
    if generation == "gp6":
        return (
            f"'START (''' || {ends[0]} || '''::{kind}) END (''' || {ends[1]} || '''::{kind})'",
            kind,
        )
    return f"'FOR VALUES FROM (''' || {ends[0]} || ''') TO (''' || {ends[1]} || ''')'", kind


class _Table:
    """The SQL that writes one table to `relation`, with oids from `oid` on; `i` is the position of
    a partition.
    """

    def __init__(self, spec: Spec, generation: str, *, oid: int, segments: int) -> None:
        self.spec = spec
        self.root = oid
        self.segments = segments
        self.classic = generation == "gp6"
        self.bound, self.key_type = _bound(spec, generation)
        self.shape = (
            f"'{spec.storage}', {spec.columns}, {str(spec.toast).lower()}, {spec.indexes},"
            f" {spec.indexes}, {str(spec.indexes > 0 and spec.storage != 'heap').lower()}, 'p', 10,"
            " 0"
        )
        self.option = "'appendonly=true'" if spec.storage.startswith("ao") else "NULL"
        self.filled = f"(i < {int(spec.leaves * spec.filled)} AND i % {spec.every_filled} = 0)"

    insert = (
        'INSERT INTO relation (oid, "schema", name, root, parent, level, kind, storage, "columns",'
        " toast, indexes, index_columns, block_directory, persistence, owner, tablespace, pages,"
        " tuples, options, bound, partition_name, is_default, filled, files, bytes,"
        " max_segment_bytes)"
    )

    def top(self) -> str:
        """The statement that inserts the root."""
        spec, root = self.spec, self.root
        return (
            f"{self.insert} VALUES ({root}, '{spec.schema}', '{spec.name}', {root}, NULL, 0,"
            f" 'root', {self.shape}, 0, 0, {self.option}, '', NULL, false, NULL, NULL, NULL, NULL)"
        )

    def rows(self) -> str:
        """SQL expression for the estimated rows of a leaf."""
        size = self.spec.bytes
        if size is None:
            return "0"
        return f"CASE WHEN {self.filled} THEN {max(1, size // 200)}.0 ELSE 0.0 END"

    def sizes(self) -> str:
        """SQL expressions for a leaf: filled, files, bytes, and bytes on the fullest segment."""
        # sizes differ between leaves, but not between runs
        size = (
            "NULL"
            if self.spec.bytes is None
            else (
                f"CASE WHEN {self.filled} THEN ({self.spec.bytes} * (0.5 + (hash(i * 31 +"
                f" {self.root}) % 1000) / 1000.0))::BIGINT ELSE 0 END"
            )
        )
        files = (
            "NULL"
            if self.spec.bytes is None
            else (
                f"{self.segments} * CASE WHEN {self.filled} THEN 1 + {self.spec.columns} ELSE 1 END"
            )
        )
        return f"{self.filled}, {files}, {size}, ({size} / {self.segments} * 1.1)::BIGINT"

    def leaves(self, oid: int) -> str:
        """The statement that inserts leaves below the root, from this oid on."""
        spec, root = self.spec, self.root
        return (
            f"{self.insert} SELECT {oid} + i, '{spec.schema}', '{spec.name}_1_prt_' || (i + 1),"
            f" {root}, {root}, 1, 'leaf', {self.shape}, 0, {self.rows()}, {self.option},"
            f" {self.bound}, '', false, {self.sizes()} FROM range({spec.leaves}) t(i)"
        )

    def middles(self, oid: int) -> str:
        """The statement that inserts intermediate partitions, from this oid on."""
        spec, root = self.spec, self.root
        return (
            f"{self.insert} SELECT {oid} + i, '{spec.schema}', '{spec.name}_1_prt_' || (i + 1),"
            f" {root}, {root}, 1, 'intermediate', {self.shape}, 0, 0, {self.option}, {self.bound},"
            f" '', false, NULL, NULL, NULL, NULL FROM range({spec.leaves}) t(i)"
        )

    def lists(self, middle: int, oid: int) -> str:
        """The statement that inserts list subpartitions of the partitions from oid `middle` on."""
        spec, root = self.spec, self.root
        values = (
            "'VALUES (''v' || j || '''::text)'"
            if self.classic
            else "'FOR VALUES IN (''v' || j || ''')'"
        )
        return (
            f"{self.insert} SELECT {oid} + i * {spec.lists} + j, '{spec.schema}',"
            f" '{spec.name}_1_prt_' || (i + 1) || '_2_prt_v' || j, {root}, {middle} + i, 2, 'leaf',"
            f" {self.shape}, 0, {self.rows()}, {self.option}, {values}, 'v' || j, false,"
            f" {self.sizes()} FROM range({spec.leaves}) t(i), range({spec.lists}) u(j)"
        )

    def default(self, oid: int) -> str:
        """The statement that inserts the default partition."""
        spec, root = self.spec, self.root
        return (
            f"{self.insert} VALUES ({oid}, '{spec.schema}', '{spec.name}_1_prt_other', {root},"
            f" {root}, 1, 'leaf', {self.shape}, 0, 0, {self.option}, 'DEFAULT', 'other', true,"
            f" {str(spec.default_filled).lower()}, {self.segments}, 0, 0)"
        )

    def keys(self) -> list[dict[str, Any]]:
        """The rows of partition_key for the table."""
        deep = self.spec.lists > 0
        levels = [("range", "d", self.key_type), ("list", "region", "text")]
        return [
            {
                "root": self.root,
                "level": n,
                "strategy": strategy,
                "key": key,
                "key_types": types,
                "has_template": deep and n == 1,
            }
            for n, (strategy, key, types) in enumerate(levels[: 2 if deep else 1])
        ]


def _add(writer: Writer, spec: Spec, generation: str, oid: int, segments: int) -> int:
    """Write one table from `oid` on; return the next free oid."""
    table = _Table(spec, generation, oid=oid, segments=segments)
    writer.execute(table.top())
    following = oid + 1
    if spec.lists > 0:
        middle, leaf = following, following + spec.leaves
        writer.execute(table.middles(middle))
        writer.execute(table.lists(middle, leaf))
        following = leaf + spec.leaves * spec.lists
    else:
        writer.execute(table.leaves(following))
        following += spec.leaves
    if spec.default:
        writer.execute(table.default(following))
        following += 1
    writer.insert("partition_key", table.keys())
    return following


def _instances(generation: str, segments: int) -> list[dict[str, Any]]:
    """The rows of instance: a coordinator and, on Greenplum, the segments on four hosts."""
    instances: list[dict[str, Any]] = [
        {
            "dbid": 1,
            "content": -1,
            "role": "p",
            "preferred_role": "p",
            "status": "u",
            "hostname": "coordinator",
        }
    ]
    if generation != "pg15":
        instances += [
            {
                "dbid": 2 + n,
                "content": n,
                "role": "p",
                "preferred_role": "p",
                "status": "u",
                "hostname": f"host{n % 4}",
            }
            for n in range(segments)
        ]
    return instances


def _head(
    writer: Writer, generation: str, segments: int, basis: str, settings: dict[str, int]
) -> None:
    """Write the header of the snapshot: the server, and the snapshot itself.

    basis: source of the information which leaves are empty
    """
    banner, product, version, number, block = _BANNERS[generation]
    writer.insert(
        "snapshot",
        [
            {
                "schema_version": SCHEMA_VERSION,
                "snapshot_id": secrets.token_hex(8),
                "gpcatalog_version": gpcatalog.__version__,
                "taken_at": TAKEN_AT,
                "seconds": 0.0,
                "banner": banner,
                "product": product,
                "version": version,
                "generation": generation,
                "version_num": number,
                "host": "nowhere",
                "port": 5432,
                "database": "synthetic",
                "database_oid": 1,
                "encoding": "UTF8",
                "block_size": block,
                "standby": False,
                "started_at": None,
                "role": "gpadmin",
                "superuser": True,
                "database_bytes": None,
                "filled_basis": basis,
                "grain": "leaf",
            }
        ],
    )
    writer.insert("instance", _instances(generation, segments))
    writer.insert(
        "setting",
        [
            {"name": k, "setting": str(v), "unit": None, "source": "default"}
            for k, v in settings.items()
        ],
    )
    state = {"status": "read", "reason": "", "needs": "", "seconds": 0.0, "origin": "synthetic"}
    writer.insert(
        "coverage", [{"probe": probe, **state} for probe in ("relations", "uneven_partitions")]
    )


LOCKS = {
    "max_locks_per_transaction": 4096,
    "max_connections": 250,
    "max_prepared_transactions": 250,
}


def write(
    path: Path,
    specs: Iterable[Spec],
    *,
    generation: str = "gp6",
    segments: int = 32,
    settings: dict[str, int] | None = None,
) -> Path:
    """Write a snapshot file with these tables, as if it were read from a server of that generation.

    Returns `path`.

    Raises CatalogError if the file cannot be written.
    """
    with Writer(path) as writer:
        oid = 20000
        basis = "files"
        for spec in specs:
            oid = _add(writer, spec, generation, oid, segments if generation != "pg15" else 1) + 1
            if spec.bytes is None:
                basis = "segment file lists"
        _head(writer, generation, segments, basis, LOCKS if settings is None else settings)
        return writer.finish()


def published(leaves: int = 5_400_000, tables: int = 331) -> list[Spec]:
    """Tables of several shapes like those of the published test cluster (331 AOCO tables of 100
    columns, 5.4 million leaves).

    The shapes alternate: days over decades, hours, days by 16 list values, months by 200 list
    values, round numbers.
    """
    each = leaves // tables
    shapes = [
        Spec(name="days", step="day", start=date(2026, 12, 31), leaves=each),
        Spec(name="hours", step="hour", start=date(2024, 9, 1), leaves=each),
        Spec(
            name="regions", step="day", start=date(2024, 1, 1), leaves=max(2, each // 16), lists=16
        ),
        Spec(
            name="shops",
            step="month",
            start=date(2020, 1, 1),
            leaves=max(2, each // 200),
            lists=200,
        ),
        Spec(name="numbers", step="integer", start=0, leaves=each),
    ]
    found = []
    for n in range(tables):
        shape = shapes[n % len(shapes)]
        if shape.name == "days":
            shape = replace(
                shape, start=date(2026 - each // 365, 12, 31) if each > 730 else date(2025, 1, 1)
            )
        found.append(
            replace(
                shape,
                name=f"{shape.name}_{n}",
                columns=100,
                filled=0.9,
                every_filled=3 if n % 2 else 1,
                bytes=(64 << 20) if n % 3 else (2 << 20),
            )
        )
    return found
