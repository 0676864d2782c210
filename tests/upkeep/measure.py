"""Measure upkeep on a live server: races with another job, waits of readers, a night with nothing to do.

    python -m tests.upkeep.measure CONNINFO races --rounds 6    18 races each
    python -m tests.upkeep.measure CONNINFO waits --rounds 5
    python -m tests.upkeep.measure CONNINFO idle --leaves 10000

The tables that it creates in the database of CONNINFO are dropped first if they exist.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg

from tests.migration import made
from tests.upkeep.test_live import ALL, daily, night
from tests.upkeep.year import server_of

RACED = (9, 4, 0, 7, 2, 5)  # raced tables of a round, out of ten
AHEAD = (1, 3, 5)  # days whose partitions the other job creates


def rival(dsn: str, today: date) -> list[str]:
    """Create partitions as another job does; return errors, except those of partitions that exist already."""
    errors = []
    gp = server_of(dsn).startswith("gp")
    with psycopg.connect(dsn, autocommit=True) as conn:
        for n in RACED:
            for k in AHEAD:
                low, high = today + timedelta(k), today + timedelta(k + 1)
                text = (
                    f"ALTER TABLE t{n} ADD PARTITION p{low:%Y%m%d} START ('{low}') END ('{high}')"
                    if gp
                    else f"CREATE TABLE t{n}_{low:%Y%m%d} PARTITION OF t{n} FOR VALUES FROM ('{low}') TO ('{high}')"
                )
                try:
                    conn.execute(text.encode())
                except psycopg.Error as e:
                    if "overlap" not in str(e) and "exist" not in str(e):
                        errors.append(str(e))
    return errors


def race(dsn: str, days: int = 4) -> tuple[list[str], dict[str, int]]:
    """Run a script while another job creates the same partitions; return errors, and the leaves of all tables."""
    for n in range(10):
        made.execute(dsn, f"DROP TABLE IF EXISTS t{n}")
        daily(dsn, f"t{n}", days)
    year, text = night(dsn, ALL)
    errors: list[str] = []
    thread = threading.Thread(target=lambda: errors.extend(rival(dsn, datetime.now(UTC).date())))
    thread.start()
    done = year.run(text)
    thread.join()
    if done.returncode:
        errors.append(done.stderr)
    return errors, {name: n for name, n in year.leaves().items() if name.startswith("t")}


def races(dsn: str, rounds: int) -> Iterator[str]:
    """Report this number of rounds of races, in lines."""
    failed = wrong = 0
    for _ in range(rounds):
        errors, leaves = race(dsn)
        failed += len(errors)
        wrong += sum(n != 9 for n in leaves.values())
        yield from errors
    number = rounds * len(RACED) * len(AHEAD)
    yield f"{number} races, {failed} errors, {wrong} tables with another number of partitions"


class _Reader(threading.Thread):
    """Reads one row again and again, and records how long each query took."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn = dsn
        self.ended = threading.Event()
        self.times: list[float] = []

    def run(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not self.ended.is_set():
                begun = time.perf_counter()
                conn.execute("SELECT count(*) FROM t0 WHERE d = current_date").fetchall()
                self.times.append(time.perf_counter() - begun)
                time.sleep(0.002)


def waits(dsn: str, rounds: int) -> Iterator[str]:
    """Report the longest query of a reader without and with a script that creates seven partitions, in lines."""
    quiet, busy = [], []
    for _ in range(rounds):
        made.execute(dsn, "DROP TABLE IF EXISTS t0")
        daily(dsn, "t0", 30)
        year, text = night(dsn, ALL.replace('"5d"', '"7d"'))
        for found, work in ((quiet, lambda: time.sleep(2)), (busy, lambda: year.run(text))):  # noqa: B023
            reader = _Reader(dsn)
            reader.start()
            time.sleep(0.3)
            work()  # type: ignore[no-untyped-call]
            reader.ended.set()
            reader.join()
            found.append(max(reader.times))
        leaves = year.leaves()["t0"]
        yield f"{leaves} leaves: longest query {quiet[-1] * 1000:.0f} ms alone, {busy[-1] * 1000:.0f} ms beside the script"
    alone, concurrent = statistics.median(quiet), statistics.median(busy)
    yield f"medians: {alone * 1000:.0f} ms and {concurrent * 1000:.0f} ms"


def idle(dsn: str, leaves: int) -> Iterator[str]:
    """Report the time of a night with nothing to do, in lines: ten tables with this number of leaves together."""
    for n in range(10):
        made.execute(dsn, f"DROP TABLE IF EXISTS t{n}")
        daily(dsn, f"t{n}", leaves // 10, first=datetime.now(UTC).date() + timedelta(20))
    with tempfile.TemporaryDirectory() as folder:
        policy, script = Path(folder, "policy.toml"), Path(folder, "night.sql")
        policy.write_text(ALL)
        for _ in range(3):
            begun = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "gpcatalog", "upkeep", "script", dsn, "--policy", policy, "-o", script],
                check=True,
            )  # fmt: skip
            written = time.perf_counter()
            subprocess.run(
                ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-f", script], check=True
            )
            done = time.perf_counter()
            first = script.read_text().splitlines()[0]
            yield f"{leaves} leaves: script {written - begun:.2f} s, psql {done - written:.2f} s ({first})"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.upkeep.measure")
    parser.add_argument("conninfo")
    parser.add_argument("what", choices=("races", "waits", "idle"))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--leaves", type=int, default=10_000)
    given = parser.parse_args()
    found = (
        races(given.conninfo, given.rounds)
        if given.what == "races"
        else waits(given.conninfo, given.rounds)
        if given.what == "waits"
        else idle(given.conninfo, given.leaves)
    )
    for line in found:
        print(line, flush=True)


if __name__ == "__main__":
    main()
