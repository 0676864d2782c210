"""The seconds that a plan predicts, compared with measurements before and after its migration.

    python -m tests.bench.gain CONNINFO [--days 1000] [--columns 20]

CONNINFO must connect as a superuser to an empty database that may be filled. A table with --days daily leaves is merged into months and
years. Each line: a statement or the queries of a client, and seconds before and after, as predicted by the plan and as measured.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import psycopg

from gpcatalog.capacity.durations import Action
from gpcatalog.model.clients import CLIENT
from gpcatalog.planner.plan import Plan
from tests.migration import made

TABLE = "timed"


def fill(dsn: str, days: int, columns: int) -> None:
    """Create the table, with rows in every leaf and one index."""
    listed = ", ".join(["d date", *(f"c{n} int" for n in range(columns - 1))])
    first = date(2020, 1, 1)
    with psycopg.connect(dsn, autocommit=True) as conn:
        if "Greenplum" in conn.execute("SELECT version()").fetchone()[0]:
            conn.execute("SET optimizer = off")
            conn.execute(
                f"CREATE TABLE {TABLE} ({listed}) WITH (appendonly=true, orientation=column) DISTRIBUTED"
                f" BY (c0) PARTITION BY RANGE (d) (START ('{first}') END ('{first + timedelta(days)}')"
                " EVERY (interval '1 day'))"
            )
        else:
            conn.execute(f"CREATE TABLE {TABLE} ({listed}) PARTITION BY RANGE (d)")
            for n in range(days):
                day = first + timedelta(n)
                conn.execute(
                    f"CREATE TABLE {TABLE}_{n} PARTITION OF {TABLE} FOR VALUES FROM ('{day}') TO"
                    f" ('{day + timedelta(1)}')"
                )
        conn.execute(f"CREATE INDEX {TABLE}_i ON {TABLE} (c1)")
        conn.execute(
            f"INSERT INTO {TABLE} (d, c0) SELECT date '2020-01-01' + n, r FROM generate_series(0,"
            f" {days - 1}) n, generate_series(1, 12) r"
        )
        conn.execute("VACUUM pg_class")


def statements(dsn: str) -> dict[str, float]:
    """Seconds of the statements for which a plan predicts times; afterwards, the table is the same except for a dropped column."""
    found = {}
    for what, text in (
        (Action.PRUNED_FIRST, f"EXPLAIN SELECT * FROM {TABLE} WHERE d = '2020-01-10'"),
        (Action.PLAN_FIRST, f"EXPLAIN SELECT * FROM {TABLE}"),
        (Action.CREATE_INDEX, f"CREATE INDEX {TABLE}_more ON {TABLE} (c2)"),
        (Action.ADD_COLUMN, f"ALTER TABLE {TABLE} ADD COLUMN more int"),
    ):
        with psycopg.connect(dsn, autocommit=True) as conn:
            if "Greenplum" in conn.execute("SELECT version()").fetchone()[0]:
                conn.execute("SET optimizer = off")
                conn.execute("SET statement_mem = '1900MB'")
            begun = time.perf_counter()
            conn.execute(text.encode())
            found[what.value] = time.perf_counter() - begun
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"DROP INDEX {TABLE}_more")
        conn.execute(f"ALTER TABLE {TABLE} DROP COLUMN more")
    return found


def clients(plan: Plan) -> dict[str, float]:
    """Seconds of client queries in the snapshot of a plan."""
    return {t.subject: t.before for t in plan.times if t.what == CLIENT}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("conninfo")
    parser.add_argument("--days", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=20)
    given = parser.parse_args()
    fill(given.conninfo, given.days, given.columns)
    plan = made.plan_of(given.conninfo, clients=True)
    before = statements(given.conninfo) | clients(plan)
    plan = made.plan_of(given.conninfo, clients=True)
    with tempfile.TemporaryDirectory() as folder:
        made.written(given.conninfo, Path(folder), plan).all()
    with psycopg.connect(given.conninfo, autocommit=True) as conn:
        for catalog in ("pg_class", "pg_attribute", "pg_depend", "pg_type", "pg_inherits"):
            conn.execute(f"VACUUM FULL pg_catalog.{catalog}")
            conn.execute(f"ANALYZE pg_catalog.{catalog}")
    after = statements(given.conninfo) | clients(made.plan_of(given.conninfo, clients=True))
    [table] = [t for t in plan.tables if t.table == TABLE]
    print(f"{table.leaves:,} leaves before, {table.leaves_after:,} after")
    print(f"{'seconds':<24} {'before':>9} predicted | {'after':>9} predicted")
    for time_ in plan.times:
        name = time_.subject if time_.what == CLIENT else time_.what
        if name in before:
            print(
                f"{name:<24} {before[name]:9.4f} {time_.before:9.4f} | {after[name]:9.4f}"
                f" {time_.after:9.4f}"
            )


if __name__ == "__main__":
    main()
