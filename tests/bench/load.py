"""What an audit does to sessions that run DDL, and they to it: python -m tests.bench.load CONNINFO [SESSIONS] [PAIRS] [SECONDS].

So many sessions create, fill, alter and drop tables of their own without a pause. Windows of so many seconds come in pairs, one with an
audit begun in it, one without, in changing order; compared are the transactions that ended in them. A watcher asks all the while who
waits for a lock that the audit holds. The sessions are processes of their own and share the machine with server and audit: on a
machine whose cores are all busy the audit's own processor time is taken from them, so that is told beside.

Needs a database of its own (it fills the catalog with dead rows) and max_connections for the sessions and a few more.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import psycopg

from gpcatalog.store.snapshot import Snapshot
from tests.bench.table import Line, show

GOAL = 0.02


def worker(dsn: str, number: int, done: Synchronized[int], failed: Synchronized[int], stop: Event) -> None:
    """One session: a small partitioned table made, altered, filled and dropped, over and over."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        greenplum = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
        how = " WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a)" if greenplum else ""
        statements = (
            f"CREATE TABLE load_{number} (a int, b text){how}",
            f"INSERT INTO load_{number} SELECT g, g::text FROM generate_series(1, 20) g",
            f"ALTER TABLE load_{number} ADD COLUMN c int DEFAULT 0",
            f"DROP TABLE load_{number}",
        )
        while not stop.is_set():
            for statement in statements:
                try:
                    conn.execute(statement)
                except psycopg.Error:
                    with failed.get_lock():
                        failed.value += 1
                with done.get_lock():
                    done.value += 1


class Waits(threading.Thread):
    """Counts sessions seen waiting for a lock that a session of gpcatalog holds."""

    def __init__(self, dsn: str) -> None:
        super().__init__(daemon=True)
        self.dsn, self.seen, self.looks = dsn, 0, 0
        self.over = threading.Event()

    def run(self) -> None:
        question = (
            "SELECT count(*) FROM pg_locks w JOIN pg_locks h ON h.locktype = w.locktype AND h.database IS NOT DISTINCT FROM w.database"
            " AND h.relation IS NOT DISTINCT FROM w.relation AND h.transactionid IS NOT DISTINCT FROM w.transactionid"
            " AND h.granted AND NOT w.granted AND h.pid <> w.pid"
            " JOIN pg_stat_activity a ON a.pid = h.pid WHERE a.application_name = 'gpcatalog'"
        )
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not self.over.wait(0.05):
                self.seen += int(conn.execute(question).fetchone()[0])
                self.looks += 1


def audit(dsn: str, file: Path) -> tuple[float, float]:
    """Seconds and processor seconds of one audit as a process; raises when it does not end well."""
    begun = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "gpcatalog", "snapshot", "take", dsn, "--save", str(file)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the audit ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime


def consistent(file: Path) -> list[str]:
    """What a snapshot taken under load must not say."""
    wrong = []
    with Snapshot(file) as snapshot:
        wrong += [
            f"{r['probe']}: {r['status']}: {r['reason']}"
            for r in snapshot.rows("SELECT * FROM coverage WHERE status NOT IN ('read', 'not applicable')")
        ]
        for kind in ("candidate", "missing"):
            n = snapshot.one(f"SELECT count(*) AS n FROM orphan WHERE kind = '{kind}'")["n"]
            if n:
                wrong.append(f"{n} {kind} files")
        n = snapshot.one("SELECT count(*) AS n FROM catalog WHERE rows < 0 OR heap_bytes < 0")["n"]
        if n:
            wrong.append(f"{n} catalogs with negative numbers")
    return wrong


def main() -> None:
    dsn = sys.argv[1]
    sessions = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    window = float(sys.argv[4]) if len(sys.argv) > 4 else 60.0
    context = multiprocessing.get_context("spawn")
    done, failed, stop = context.Value("q", 0), context.Value("q", 0), context.Event()
    crowd = [context.Process(target=worker, args=(dsn, n, done, failed, stop), daemon=True) for n in range(sessions)]
    for one in crowd:
        one.start()
    while done.value < sessions * 4:
        time.sleep(0.5)
    watch = Waits(dsn)
    watch.start()
    ratios, took, wrong = [], [], []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for n in range(pairs):
                counted = {}
                for with_audit in (True, False) if n % 2 else (False, True):
                    first, begun = done.value, time.perf_counter()
                    if with_audit:
                        file = Path(folder) / f"{n}.gpcatalog"
                        took.append(audit(dsn, file))
                        wrong += consistent(file)
                    time.sleep(max(0.0, window - (time.perf_counter() - begun)))
                    counted[with_audit] = (done.value - first) / (time.perf_counter() - begun)
                ratios.append(1 - counted[True] / counted[False])
                print(f"  pair {n + 1}: {counted[False]:,.0f} statements/s without, {counted[True]:,.0f} with", flush=True)
    finally:
        stop.set()
        watch.over.set()
        for one in crowd:
            one.join(30)
    slower = statistics.median(ratios)
    cpu = statistics.median(c for _, c in took)
    detail = (
        f"{slower:+.2%} statements (from {min(ratios):+.2%} to {max(ratios):+.2%}); an audit a window of {window:.0f} s, {took[0][0]:.1f} s long;"
        f" its client used {cpu:.1f} s of {window * (os.cpu_count() or 1):.0f} s of processor time, {cpu / window / (os.cpu_count() or 1):.2%}"
    )
    lines = [Line(f"{sessions} sessions of DDL slowed", "2 %", slower / GOAL, 1.0, detail=detail)]
    lines.append(
        Line(
            "sessions seen waiting for the audit",
            "",
            None,
            detail=f"{watch.seen} in {watch.looks} looks; statements that failed: {failed.value}",
        )
    )
    lines.append(Line("what the snapshots say wrongly", "", None, detail="; ".join(sorted(set(wrong))) or "nothing"))
    with psycopg.connect(dsn) as conn:
        show(conn.execute("SELECT version()").fetchone()[0].split(" on ")[0], lines)


if __name__ == "__main__":
    main()
