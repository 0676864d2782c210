"""Snapshot files from an untrusted source: a small valid file, and the values that tests write into its columns."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from gpcatalog.store.schema import TABLES, shape_of
from tests.growth import made

VALUES = {
    "VARCHAR": [
        "''",
        "'banana'",
        "chr(0) || 'x'",
        "repeat('x', 70000)",
        "chr(27) || ']8;;x' || chr(27) || '\\'",
        "'2026-99-99'",
    ],
    "DOUBLE": ["'nan'::DOUBLE", "'-inf'::DOUBLE", "-1e300", "1e300"],
    "TIMESTAMP": ["'infinity'::TIMESTAMP", "'290000-01-01'::TIMESTAMP", "'0001-01-01'::TIMESTAMP"],
    "DATE": ["'infinity'::DATE", "'0001-01-01'::DATE"],
    "BOOLEAN": ["true", "false"],
}
NUMBERS = {"BIGINT": (-(2**63), -1, 2**63 - 1), "INTEGER": (-(2**31), -2, 2**31 - 1)}
UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32}


def values(kind: str) -> list[str]:
    if kind in NUMBERS:
        return [str(n) for n in NUMBERS[kind]]
    if kind in UNSIGNED:
        return ["0", str(2 ** UNSIGNED[kind] - 1)]
    return VALUES[kind]


CASES = [
    (table, name, value)
    for table in TABLES
    for name, kind, nullable in shape_of(table)
    for value in [*values(kind), *(["NULL"] if nullable else [])]
]


def make(path: Path) -> Path:
    """Write a small snapshot with a row in every table. Its rows are stored unpacked, so that SQL can change them."""
    tables = [
        made.Table("orders", 20000, range(9)),
        made.Table("days", 30000, range(4), storage="heap"),
    ]
    timings = [
        {"what": what, "subject": "public.orders", "content": None, "n": 3, "leaves": 9}
        for what in ("plan", "describe", "statement")
    ]
    made.write(path, made.SnapshotSpec(tables=tables, timings=timings))
    with duckdb.connect(str(path)) as db:
        rows = db.execute("SELECT * FROM relation").fetchall()
        db.execute("DROP VIEW relation")
        db.execute("DROP TABLE relation_packed")
        db.execute(f"CREATE TABLE relation ({TABLES['relation']})")
        db.executemany(f"INSERT INTO relation VALUES ({', '.join('?' * len(rows[0]))})", rows)
        for table in TABLES:
            if not db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]:
                ordinary = {
                    "VARCHAR": "'x'",
                    "BOOLEAN": "true",
                    "TIMESTAMP": "'2026-01-01'",
                    "DATE": "'2026-01-01'",
                }
                db.execute(
                    f"INSERT INTO {table} SELECT {', '.join(ordinary.get(kind, '1') for _, kind, _ in shape_of(table))}"
                )
        db.execute("UPDATE file_total SET basis = 'directory', part = 'main', root = 20000")
        db.execute("UPDATE file_bucket SET storage = 'ao_column', bucket = '0'")
        db.execute(
            "UPDATE partition_key SET root = 20000, strategy = 'range', key_types = 'date', \"key\" = 'd', level = 1"
        )
        db.execute(
            "UPDATE partition_fact SET root = 20000, oid = 20000, fact = 'every', detail = '1 day'"
        )
        # old enough for findings of the rules
        db.execute(
            "UPDATE horizon SET holder = 'session', seconds = 99999, xid_age = 9999999, content = 0"
        )
        db.execute(
            "INSERT INTO horizon SELECT content, 'replication slot', name, \"database\", role, detail, NULL, xid_age FROM horizon"
        )
        db.execute(
            "UPDATE auxiliary SET kind = 'visibility map', content = 0, bytes = 99999999, needed = 0"
        )
        db.execute("UPDATE age SET kind = 'database', xid_age = 2000000000, content = 0")
        db.execute("UPDATE upkeep_event SET state = 'begun'")
        db.execute("UPDATE session_start SET pages = 100000, content = 0")
        db.execute(
            "INSERT INTO timing (what, subject, content, n) VALUES ('lock manager waits', '', 0, 3)"
        )
        db.execute("UPDATE orphan SET kind = 'candidate', age_seconds = 99999")
    return path


def altered(source: Path, place: Path, *statements: str) -> Path:
    place.mkdir(exist_ok=True)
    path = Path(shutil.copy(source, place))
    with duckdb.connect(str(path)) as db:
        for statement in statements:
            db.execute(statement)
    return path
