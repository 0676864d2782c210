"""How long readers wait while leaves are merged, compared with their undisturbed time and with a copy of the same rows under a lock.

    python -m tests.bench.readers CONNINFO [--leaves 30] [--rows 1200000] [--columns 20] [--mode online|locked]
                                   [--server-merges] [--times 3]

The benchmark creates the database gpcatalog_readers with one table (ao_column on Greenplum), merges its leaves into one with the scripts
that `gpcatalog migrate` writes, while readers query the table repeatedly, and removes the database. One reader selects any row (LOOKUP).
Its query takes the same time before and after the merge, so the longest time minus the median is its wait. The other reader counts the
rows of a day (SCAN). After the merge it reads a leaf that is --leaves times larger, so its longest time is shown, but is not a wait.
The server itself reports waits in its log, with log_lock_waits = on and deadlock_timeout = 1ms. The floor is a manual copy of the same
rows by one INSERT … SELECT: readers would wait this long if the lock were acquired before the copy.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from datetime import date, timedelta
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from gpcatalog.migration.request import Mode, Request
from tests.bench.table import Line, show
from tests.migration import made

LOOKUP = "SELECT id FROM t LIMIT 1"
SCAN = "SELECT count(*) FROM t WHERE d = '2020-01-07' AND id = 7"


class Reader(threading.Thread):
    """Runs one query repeatedly until it is stopped. took: begin and duration of every query, in seconds."""

    def __init__(self, dsn: str, query: str, stop: threading.Event) -> None:
        super().__init__()
        self.dsn, self.query, self.stop = dsn, query, stop
        self.took: list[tuple[float, float]] = []
        self.errors: list[str] = []

    def run(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not self.stop.is_set():
                begun = time.monotonic()
                try:
                    conn.execute(self.query)
                except psycopg.Error as e:
                    self.errors.append(str(e))
                self.took.append((begun, time.monotonic() - begun))
                time.sleep(0.02)


def table(dsn: str, leaves: int, rows: int, columns: int) -> float:
    """Create, fill and analyze the table; returns the seconds that one statement takes to copy its rows."""
    plain = ", ".join(f"c{n} {'int' if n % 2 else 'text'}" for n in range(columns - 2))
    values = ", ".join("i" if n % 2 else "'value ' || i % 1000" for n in range(columns - 2))
    with psycopg.connect(dsn, autocommit=True) as conn:
        greenplum = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
        stored = (
            " WITH (appendonly=true, orientation=column, compresstype=zlib)" if greenplum else ""
        )
        if greenplum:
            end = date(2020, 1, 1) + timedelta(leaves)
            conn.execute(
                f"CREATE TABLE t (id int, d date, {plain}){stored} DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
                f" (START (date '2020-01-01') END (date '{end}') EVERY (interval '1 day'))"
            )
        else:
            conn.execute(f"CREATE TABLE t (id int, d date, {plain}) PARTITION BY RANGE (d)")
            for n in range(leaves):
                conn.execute(
                    f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM (date '2020-01-01' + {n}) TO (date '2020-01-01' + {n + 1})"
                )
        conn.execute(
            f"INSERT INTO t SELECT i, date '2020-01-01' + i % {leaves}, {values} FROM generate_series(1, {rows}) i"
        )
        conn.execute("ANALYZE t")
        begun = time.monotonic()
        conn.execute(
            f"CREATE TABLE copied{stored} AS SELECT * FROM t"
            + (" DISTRIBUTED BY (id)" if greenplum else "")
        )
        took = time.monotonic() - begun
        conn.execute("DROP TABLE copied")
        return took


def once(dsn: str, chosen: argparse.Namespace) -> tuple[float, float, float, float, float, float]:
    """Seconds: wait of a reader, its median query, the longest scan, the lock as the script records it, the whole run, manual copy."""
    made.execute(
        dsn, "DROP DATABASE IF EXISTS gpcatalog_readers", "CREATE DATABASE gpcatalog_readers"
    )
    here = make_conninfo(dsn, dbname="gpcatalog_readers")
    copy = table(here, chosen.leaves, chosen.rows, chosen.columns)
    stop = threading.Event()
    readers = [Reader(here, query, stop) for query in (LOOKUP, SCAN)]
    with tempfile.TemporaryDirectory() as folder:
        plan = made.plan_of(here, made.EAGER.replace("month =", "year ="))
        files = made.written(
            here,
            Path(folder),
            plan,
            request=Request(
                mode=Mode(chosen.mode), merge_seconds=3600.0 if chosen.server_merges else 0.0
            ),
        )
        files.run("0000_prepare.sql")
        for r in readers:
            r.start()
        time.sleep(1)
        begun = time.monotonic()
        for name in files.forward():
            files.run(name)
        total = time.monotonic() - begun
        time.sleep(1)
        stop.set()
        for r in readers:
            r.join()
        assert not [e for r in readers for e in r.errors], readers[0].errors
        lock = made.fetch(here, "SELECT max(milliseconds) FROM gpcatalog_journal.step")[0][0] / 1000
        assert made.fetch(here, "SELECT count(*) FROM t") == [(chosen.rows,)]
    took, scans = ([t for _, t in r.took] for r in readers)
    usual = statistics.median(took)
    made.execute(dsn, "DROP DATABASE gpcatalog_readers")
    return max(took) - usual, usual, max(scans), lock, total, copy


def options() -> argparse.ArgumentParser:
    """The command-line options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dsn", metavar="CONNINFO")
    parser.add_argument("--leaves", type=int, default=30)
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--mode", choices=[str(m) for m in Mode], default=str(Mode.LOCKED))
    parser.add_argument(
        "--server-merges", action="store_true", help="PostgreSQL 19: by MERGE PARTITIONS"
    )
    parser.add_argument("--times", type=int, default=3)
    return parser


def main() -> None:
    show(*measure(options().parse_args()))


def measure(chosen: argparse.Namespace) -> tuple[str, list[Line]]:
    """All lines of the table for one server."""
    lines = []
    for n in range(chosen.times):
        wait, usual, scan, lock, total, copy = once(chosen.dsn, chosen)
        detail = f"{wait * 1000:,.0f} ms of {total:.1f} s; lock {lock * 1000:,.0f} ms; undisturbed {usual * 1000:,.0f} ms"
        detail += f"; longest scan {scan * 1000:,.0f} ms"
        lines.append(
            Line(
                f"readers' longest wait, merge {n + 1}",
                "copying the same rows by hand",
                wait / copy,
                detail=detail,
            )
        )
        lines.append(Line("  the same", "1 s", wait, 0.3))
    how = "MERGE PARTITIONS" if chosen.server_merges else chosen.mode
    return f"{chosen.leaves} leaves, {chosen.rows:,} rows × {chosen.columns} columns, {how}", lines


if __name__ == "__main__":
    main()
