"""Generated snapshots for tests, with rows in every table, and series of daily snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from gpcatalog.probes.collect import attribution
from gpcatalog.store.schema import SCHEMA_VERSION
from gpcatalog.store.snapshot import Writer

START = datetime(2026, 1, 1, 6)
CATALOGS = ("pg_class", "pg_attribute", "pg_type", "pg_depend")


@dataclass
class Table:
    """One partitioned table. first: OID of its first leaf; leaves: numbers of the leaves that exist."""

    name: str
    oid: int
    leaves: range
    schema: str = "public"
    storage: str = "ao_column"
    columns: int = 10
    filled: bool = True


@dataclass
class SnapshotSpec:
    """One snapshot. bytes_: catalog bytes by content; written: rows ever inserted into pg_class by content."""

    taken_at: datetime = START
    tables: list[Table] = field(default_factory=list)
    generation: str = "gp6"
    segments: int = 3
    bytes_: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    database: str = "sales"
    database_oid: int = 16500
    timings: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, str] = field(
        default_factory=lambda: {
            "max_locks_per_transaction": "128",
            "max_connections": "250",
            "max_prepared_transactions": "250",
        }
    )


def write(path: Path, spec: SnapshotSpec) -> Path:
    """Write the snapshot file and return its path."""
    greenplum = spec.generation.startswith("gp")
    contents = [-1, *range(spec.segments)] if greenplum else [-1]
    with Writer(path) as w:
        rows: list[dict[str, Any]] = []
        for t in spec.tables:
            common = {
                "schema": t.schema, "root": t.oid, "storage": t.storage, "columns": t.columns, "toast": False, "indexes": 0,
                "index_columns": 0, "block_directory": False, "persistence": "p", "owner": 10, "tablespace": 0, "pages": 0, "tuples": 0.0,
                "options": None, "partition_name": "", "is_default": False, "max_segment_bytes": 0,
            }  # fmt: skip
            rows.append(
                common | {"oid": t.oid, "name": t.name, "parent": None, "level": 0, "kind": "root", "bound": None, "filled": None}
                | {"files": None, "bytes": None}
            )  # fmt: skip
            for n in t.leaves:
                day = START + timedelta(days=n)
                bound = f"START ('{day:%Y-%m-%d}'::date) END ('{day + timedelta(days=1):%Y-%m-%d}'::date)"
                rows.append(
                    common | {"oid": t.oid + 1 + n, "name": f"{t.name}_1_prt_{n}", "parent": t.oid, "level": 1, "kind": "leaf"}
                    | {"bound": bound, "filled": t.filled, "files": 11 if t.filled else 1, "bytes": 1 << 20 if t.filled else 0}
                )  # fmt: skip
        w.insert("relation", rows)
        class_rows, attribute_rows = attribution(spec.generation)
        w.execute(f"""
            INSERT INTO root_total
            SELECT r.root, any_value(t."schema"), any_value(t.name), any_value(t.kind), any_value(r.storage),
                   count(*) FILTER (r.kind = 'leaf'), count(*) FILTER (r.kind = 'leaf' AND NOT r.filled),
                   sum({class_rows}), sum({attribute_rows}), sum(r.files), sum(r.bytes)
              FROM relation r JOIN relation t ON t.oid = r.root GROUP BY r.root""")
        relations = 400 + len(rows) * 4
        w.insert(
            "class_count",
            [{"content": c, "relkind": "r", "storage": "heap", "persistence": "p", "relations": relations, "attributes": relations * 9}
             for c in contents],
        )  # fmt: skip
        w.insert(
            "catalog",
            [
                {
                    "content": c,
                    "relation": name,
                    "shared": False,
                    "rows": relations,
                    "rows_basis": "counted",
                }
                | {
                    "heap_bytes": spec.bytes_.get(c, 10 << 20),
                    "toast_bytes": 0,
                    "index_bytes": 1 << 20,
                    "heap_needed": 5 << 20,
                }
                | {
                    "toast_needed": None,
                    "index_needed": 1 << 19,
                    "dead_tuples": 5,
                    "last_vacuum": spec.taken_at - timedelta(hours=3),
                }
                for name in CATALOGS
                for c in contents
            ],
        )
        w.insert(
            "setting",
            [
                {"name": k, "setting": v, "unit": None, "source": "default"}
                for k, v in spec.settings.items()
            ],
        )
        w.insert(
            "instance",
            [{"dbid": c + 2, "content": c, "role": "p", "preferred_role": "p", "mode": "s", "status": "u", "port": 6000 + c}
             | {"hostname": "h"} for c in contents],
        )  # fmt: skip
        leaves = len(rows)
        timings: list[dict[str, Any]] = [
            {"what": "rows inserted", "subject": "pg_class", "content": c, "n": n, "leaves": None}
            for c, n in spec.written.items()
        ]
        blank = {"min_ms": None, "median_ms": None, "p95_ms": None, "mean_ms": None}
        timings.append(
            {"what": "scan", "subject": "", "content": None, "n": 3, "leaves": leaves}
            | dict.fromkeys(blank, 5 + leaves / 1000)
        )
        w.insert("timing", [blank | t for t in timings + spec.timings])
        w.insert(
            "coverage",
            [
                {
                    "probe": "relations",
                    "status": "read",
                    "reason": "",
                    "needs": "",
                    "seconds": 0.1,
                    "origin": "gp6",
                }
            ],
        )
        w.insert(
            "snapshot",
            [
                {
                    "schema_version": SCHEMA_VERSION, "snapshot_id": f"{spec.taken_at:%m%d%H%M}", "gpcatalog_version": "0",
                    "taken_at": spec.taken_at, "seconds": 1.0, "banner": "made", "product": "Greenplum Database", "version": "6.25.3",
                    "generation": spec.generation, "version_num": 90426, "host": "mdw", "port": 5432, "database": spec.database,
                    "database_oid": spec.database_oid, "encoding": "UTF8", "block_size": 32768, "standby": False, "started_at": START,
                    "role": "gpadmin", "superuser": True, "database_bytes": 1 << 30, "filled_basis": "files", "grain": "leaf",
                }
            ],
        )  # fmt: skip
        return w.finish()


def series(folder: Path, days: int, *, each: int = 10) -> list[Path]:
    """Write one snapshot per day: `each` more leaves every day, the oldest five dropped on day 4, only segment 1 vacuumed on day 3."""
    out = []
    for day in range(days):
        leaves = range(5 if day >= 4 else 0, each * (day + 1))
        bytes_ = dict.fromkeys((-1, 0, 1, 2), 10 + 2 * day << 20)
        if day >= 3:
            bytes_[1] = (4 + day) << 20
        spec = SnapshotSpec(
            START + timedelta(days=day), [Table("orders", 20000, leaves)], bytes_=bytes_
        )
        spec.written = dict.fromkeys((-1, 0, 1, 2), 1000 + 700 * day)
        out.append(write(folder / f"{spec.taken_at:%Y%m%dT%H%M%SZ}.gpcatalog", spec))
    return out
