"""Tables of all shapes on a live server, for tests of the planner."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg

from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot


def _days(classic: bool, first: date, n: int) -> str:
    last = first + timedelta(days=n)
    return f"START ('{first}'::date) END ('{last}'::date) EVERY ('1 day'::interval)"


GREENPLUM = [
    # daily, column-oriented, filled for the first 100 of 150 days
    f"CREATE TABLE daily (id int, d date, t text, n numeric) WITH (appendonly=true, orientation=column, compresstype=zlib)"
    f" DISTRIBUTED BY (id)"
    f" PARTITION BY RANGE (d) ({_days(True, date(2025, 1, 1), 150)})",
    "INSERT INTO daily SELECT i, date '2025-01-01' + i % 100, repeat('x', 50), i FROM generate_series(1, 20000) i",
    # two levels with a template and a default
    "CREATE TABLE levels (id int, d date, r text) WITH (appendonly=true, orientation=row) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
    " SUBPARTITION BY LIST (r) SUBPARTITION TEMPLATE (SUBPARTITION eu VALUES ('eu'), SUBPARTITION us VALUES ('us'),"
    " DEFAULT SUBPARTITION rest)"
    f" ({_days(True, date(2025, 2, 1), 60)})",
    "INSERT INTO levels SELECT i, date '2025-02-01' + i % 60, (ARRAY['eu','us','xx'])[1 + i % 3] FROM generate_series(1, 9000) i",
    "CREATE TABLE listed (id int, r text) DISTRIBUTED BY (id) PARTITION BY LIST (r) (PARTITION a VALUES ('a'), PARTITION b"
    " VALUES ('b', 'it''s'),"
    " PARTITION c VALUES ('c'))",
    "INSERT INTO listed VALUES (1, 'a'), (2, 'c')",
    "CREATE TABLE defaulted (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
    f" ({_days(True, date(2025, 3, 1), 40)}, DEFAULT PARTITION other)",
    "INSERT INTO defaulted SELECT i, date '2025-03-01' + i % 50 FROM generate_series(1, 5000) i",
    "CREATE TABLE numbers (id int, k bigint) DISTRIBUTED BY (id) PARTITION BY RANGE (k) (START (-1000) END (9000) EVERY (100))",
    "INSERT INTO numbers SELECT i, -1000 + i % 5000 FROM generate_series(1, 10000) i",
    "CREATE TABLE hours (id int, ts timestamp) DISTRIBUTED BY (id) PARTITION BY RANGE (ts) (START ('2025-05-01 00:00'::timestamp)"
    " END ('2025-05-08 00:00'::timestamp) EVERY ('1 hour'::interval))",
    "INSERT INTO hours SELECT i, timestamp '2025-05-01' + (i % 168) * interval '1 hour' FROM generate_series(1, 4000) i",
    f'CREATE TABLE "Odd ""Name" (id int, "Key" date) DISTRIBUTED BY (id) PARTITION BY RANGE ("Key") ({_days(True, date(2025, 1, 1), 31)})',
    f"CREATE TABLE viewed (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) ({_days(True, date(2025, 1, 1), 31)})",
    "CREATE VIEW over_leaf AS SELECT * FROM viewed_1_prt_10",
    f"CREATE TABLE small (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) ({_days(True, date(2025, 1, 1), 5)})",
    "INSERT INTO small SELECT i, date '2025-01-01' + i % 5 FROM generate_series(1, 500) i",
    # a second level that allows no pruning
    "CREATE TABLE single (id int, d date, r text) DISTRIBUTED BY (id) PARTITION BY RANGE (d) SUBPARTITION BY LIST (r)"
    f" SUBPARTITION TEMPLATE (SUBPARTITION only_ VALUES ('x')) ({_days(True, date(2025, 1, 1), 5)})",
    "INSERT INTO single SELECT i, date '2025-01-01' + i % 5, 'x' FROM generate_series(1, 500) i",
    "CREATE TABLE plain (id int) DISTRIBUTED BY (id)",
]
# leaves with two storage types in one table
MIXED = {
    "gp6": [
        "CREATE TABLE mixed (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION old START"
        " ('2025-01-01'::date) END ('2025-01-16'::date)"
        " EVERY ('1 day'::interval) WITH (appendonly=true, orientation=column), PARTITION fresh START ('2025-01-16'::date)"
        " END ('2025-02-01'::date)"
        " EVERY ('1 day'::interval))",
    ],
    "gp7": [
        "CREATE TABLE mixed (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION old START"
        " ('2025-01-01'::date) END ('2025-01-16'::date)"
        " EVERY ('1 day'::interval) WITH (appendonly=true, orientation=column), PARTITION fresh START ('2025-01-16'::date)"
        " END ('2025-02-01'::date)"
        " EVERY ('1 day'::interval))",
    ],
}


def _pg_days(name: str, first: date, n: int, default: bool = False) -> list[str]:
    found = [f"CREATE TABLE {name} (id int, d date, t text) PARTITION BY RANGE (d)"]
    for i in range(n):
        low, high = first + timedelta(days=i), first + timedelta(days=i + 1)
        found.append(
            f"CREATE TABLE {name}_{low:%Y%m%d} PARTITION OF {name} FOR VALUES FROM ('{low}') TO ('{high}')"
        )
    if default:
        found.append(f"CREATE TABLE {name}_default PARTITION OF {name} DEFAULT")
    return found


POSTGRES = [
    *_pg_days("daily", date(2025, 1, 1), 150),
    "INSERT INTO daily SELECT i, date '2025-01-01' + i % 100, repeat('x', 50) FROM generate_series(1, 20000) i",
    *_pg_days("defaulted", date(2025, 3, 1), 40, True),
    "INSERT INTO defaulted SELECT i, date '2025-03-01' + i % 50, '' FROM generate_series(1, 5000) i",
    *_pg_days("referenced", date(2025, 1, 1), 31),
    "ALTER TABLE referenced ADD PRIMARY KEY (id, d)",
    "CREATE TABLE child (id int, d date, FOREIGN KEY (id, d) REFERENCES referenced)",
    "CREATE TABLE numbers (id int, k bigint) PARTITION BY RANGE (k)",
    *[
        f"CREATE TABLE numbers_{n + 10} PARTITION OF numbers FOR VALUES FROM ({n * 100}) TO ({n * 100 + 100})"
        for n in range(-10, 90)
    ],
    "INSERT INTO numbers SELECT i, -1000 + i % 5000 FROM generate_series(1, 10000) i",
    "CREATE TABLE hashed (id int) PARTITION BY HASH (id)",
    *[
        f"CREATE TABLE hashed_{n} PARTITION OF hashed FOR VALUES WITH (MODULUS 4, REMAINDER {n})"
        for n in range(4)
    ],
    "CREATE TABLE several (a int, b int) PARTITION BY RANGE (a, b)",
    *[
        f"CREATE TABLE several_{n} PARTITION OF several FOR VALUES FROM ({n}, MINVALUE) TO ({n + 1}, MINVALUE)"
        for n in range(4)
    ],
    "CREATE TABLE zoned (ts timestamptz) PARTITION BY RANGE (ts)",
    *[
        f"CREATE TABLE zoned_{n} PARTITION OF zoned FOR VALUES FROM ('2025-01-{n:02d} 00:00+03') TO ('2025-01-{n + 1:02d} 00:00+03')"
        for n in range(1, 31)
    ],
    "CREATE TABLE spelled (k int) PARTITION BY RANGE (k)",
    *[
        f"CREATE TABLE spelled_{n} PARTITION OF spelled FOR VALUES FROM ({20250100 + n}) TO ({20250101 + n})"
        for n in range(1, 31)
    ],
    "CREATE TABLE single (id int, d date, r text) PARTITION BY RANGE (d)",
    *[
        sql
        for n in range(1, 6)
        for sql in (
            f"CREATE TABLE single_{n} PARTITION OF single FOR VALUES FROM ('2025-01-0{n}') TO ('2025-01-0{n + 1}') PARTITION BY LIST (r)",
            f"CREATE TABLE single_{n}_x PARTITION OF single_{n} FOR VALUES IN ('x')",
        )
    ],
    "INSERT INTO single SELECT i, date '2025-01-01' + i % 5, 'x' FROM generate_series(1, 500) i",
    "CREATE TABLE listed (id int, r text) PARTITION BY LIST (r)",
    *[
        f"CREATE TABLE listed_{n} PARTITION OF listed FOR VALUES IN ('{n}')"
        for n in ("a", "b", "c")
    ],
    "INSERT INTO listed VALUES (1, 'a'), (2, 'c')",
    "CREATE TABLE small (id int, d date) PARTITION BY RANGE (d)",
    *[
        f"CREATE TABLE small_{n} PARTITION OF small FOR VALUES FROM ('2025-01-0{n}') TO ('2025-01-0{n + 1}')"
        for n in range(1, 6)
    ],
    "INSERT INTO small SELECT i, date '2025-01-01' + i % 5 FROM generate_series(1, 500) i",
    "CREATE TABLE plain (id int)",
]


def fill(dsn: str, generation: str) -> None:
    """Create all tables in the database."""
    statements = POSTGRES if generation == "pg" else GREENPLUM + MIXED[generation]
    with psycopg.connect(dsn, autocommit=True) as conn:
        for statement in statements:
            conn.execute(statement)


def take_snapshot(dsn: str, file: Path) -> Snapshot:
    """Take a snapshot of the database."""
    with connect(dsn) as session:
        collect(session, file)
    return Snapshot(file)


def value(dsn: str, statement: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(statement).fetchone()
        return row[0] if row else None
