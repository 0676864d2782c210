"""A simulated fleet on one machine: time and memory of every command that reads it.

    python -m tests.bench.fleet [--clusters 3] [--databases 10] [--days 60] [--leaves 200]

Temporary PostgreSQL servers have the given number of databases, each with a partitioned table. The stored snapshots of the days are
copies of one snapshot with another time. Memory is the peak (VmHWM) of the largest process: the command or a worker.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import psycopg

from gpcatalog.lab.postgres import PrivateServer
from tests.conftest import newest

# each process writes its own peak; workers of a run inherit the variable
_SITE = """
import atexit, os, re
from pathlib import Path
place = os.environ.get("GPCATALOG_BENCH_PEAKS")
if place:
    def tell():
        text = Path("/proc/self/status").read_text()
        (Path(place) / str(os.getpid())).write_text(re.search(r"VmHWM:\\s+(\\d+)", text)[1])
    atexit.register(tell)
"""


def fill(server: PrivateServer, databases: int, leaves: int) -> None:
    """Create databases, each with a partitioned table."""
    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as conn:
        for n in range(databases):
            conn.execute(f"CREATE DATABASE db{n:02}".encode())
    for n in range(databases):
        with psycopg.connect(server.conninfo(f"db{n:02}")) as conn:
            conn.execute("CREATE TABLE t (d date, a int, b text) PARTITION BY RANGE (d)")
            conn.execute(
                f"DO $$ BEGIN FOR i IN 0..{leaves - 1} LOOP EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM"
                " (%L) TO (%L)', i, date '2025-01-01' + i, date '2025-01-01' + i + 1); END LOOP; END $$".encode()
            )
            conn.execute(
                f"INSERT INTO t SELECT date '2025-01-01' + n, n, 'x' FROM generate_series(0, {leaves // 2}) n".encode()
            )


def age(home: Path, days: int) -> int:
    """Copy each stored snapshot for the days before, and return the number of files."""
    newest_ones = sorted(home.glob("*/*/*.gpcatalog"))
    for path in newest_ones:
        for day in range(1, days):
            moment = datetime.now(UTC) - timedelta(days=day)
            copy = path.with_name(f"{moment:%Y%m%dT%H%M%SZ}.gpcatalog")
            shutil.copy2(path, copy)
            with duckdb.connect(str(copy)) as conn:
                conn.execute(
                    "UPDATE snapshot SET taken_at = ?, snapshot_id = ?",
                    [moment.replace(tzinfo=None), f"{day:016x}"],
                )
    return len(newest_ones) * days


def measured(words: list[str], env: dict[str, str], peaks: Path) -> tuple[float, int, int]:
    """Run a command; its seconds, the peak kilobytes of the largest process, and its exit code."""
    for file in peaks.iterdir():
        file.unlink()
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gpcatalog", *words], env=env, capture_output=True, text=True
    )
    took = time.perf_counter() - begun
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
    return took, max(int(f.read_text()) for f in peaks.iterdir()), done.returncode


def main() -> None:
    """Create the fleet, run the commands, print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=3)
    parser.add_argument("--databases", type=int, default=10)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--leaves", type=int, default=200)
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpcatalog-fleet-")))
        servers = [
            stack.enter_context(PrivateServer(binaries=newest())) for _ in range(given.clusters)
        ]
        for server in servers:
            fill(server, given.databases, given.leaves)
        config, peaks, site = place / "fleet.toml", place / "peaks", place / "site"
        config.write_text(
            "\n".join(
                f'[cluster.c{n}]\nconninfo = "{s.conninfo("postgres")}"\ndatabases = ["db*"]'
                for n, s in enumerate(servers)
            )
        )
        peaks.mkdir()
        site.mkdir()
        (site / "sitecustomize.py").write_text(_SITE)
        env = {
            **os.environ,
            "GPCATALOG_HOME": str(place / "home"),
            "GPCATALOG_BENCH_PEAKS": str(peaks),
            "PYTHONPATH": os.pathsep.join([str(site), str(Path(__file__).resolve().parents[2])]),
        }
        fleet = ["--all", "--config", str(config)]
        rows = [("snapshot take --all", ["snapshot", "take", *fleet])]
        stored = [*fleet, "--stored"]
        site_command = ["site", "-o", str(place / "www"), "--config", str(config)]
        rows += [
            ("audit --all", ["audit", *fleet]),
            ("audit --all --stored", ["audit", *stored]),
            ("metrics --all", ["metrics", *fleet, "--to", str(place / "m.prom")]),
            ("metrics --all --stored", ["metrics", *stored, "--to", str(place / "m.prom")]),
            ("report --all --stored", ["report", *stored, "--html", str(place / "pages")]),
            ("plan --all --stored", ["plan", *stored, "-o", str(place / "plans")]),
            ("site, first build", site_command),
            ("snapshot take --all, the next day", ["snapshot", "take", *fleet]),
            ("site, the next day", site_command),
            ("site, nothing new", site_command),
            ("snapshot prune", ["snapshot", "prune"]),
        ]
        print(
            f"{given.clusters} clusters, {given.databases} databases each, {given.leaves} leaves each,"
            f" {given.days} days of snapshots"
        )
        print("| command | time | memory |\n| --- | --- | --- |")
        for number, (name, words) in enumerate(rows):
            if name == "site, first build":  # without cached data
                for file in (place / "home").rglob(".points"):
                    file.unlink()
            took, peak, code = measured(words, env, peaks)
            failed = f" (exit code {code})" if code else ""
            print(f"| `{name}`{failed} | {took:.1f} s | {peak / 1024:.0f} MB |", flush=True)
            if number == 0:
                age(place / "home", given.days)


if __name__ == "__main__":
    main()
