"""Effect of an audit on sessions that run DDL, and of these on the audit: python -m tests.bench.load CONNINFO [SESSIONS] [PAIRS] [SECONDS].

SESSIONS sessions create, fill, alter and drop their own tables without a pause. They are observed in pairs of time windows, in changing
order. In one window, an audit starts; this window lasts at least SECONDS seconds, and until the audit ends. The other window is as long
and has no audit. The catalogs are vacuumed before each window. The numbers of statements that ended in the windows are compared. A
thread counts the sessions that wait for a lock that the audit holds.

The sessions are separate processes and share the machine with the server and the audit. If all cores are busy, the sessions lose the
processor time of the audit. Therefore, the processor time of its client and of its sessions on every instance is also reported (counted
by the kernel, read every half second).

The benchmark creates the database gpcatalog_load and removes it; max_connections must be enough for the sessions and a few more.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from gpcatalog.store.snapshot import Snapshot
from tests.bench.table import Line, show

GOAL = 0.02
SETTLE = 5.0  # seconds of load before a window is counted


# catalogs that the load fills with dead rows: vacuumed before every window, so that all windows begin with the same state
FILLED = (
    "pg_class pg_attribute pg_type pg_depend pg_shdepend pg_index pg_attrdef pg_statistic"
    " gp_distribution_policy pg_appendonly pg_attribute_encoding gp_fastsequence pg_stat_last_operation pg_stat_last_shoperation"
).split()


def worker(
    dsn: str,
    number: int,
    done: Synchronized[int],
    failed: Synchronized[int],
    go: Event,
    stop: Event,
) -> None:
    """One session: creates, fills, alters and drops a small table repeatedly; it waits while `go` is not set."""
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
                go.wait()
                try:
                    conn.execute(statement)
                except psycopg.Error:
                    with failed.get_lock():
                        failed.value += 1
                with done.get_lock():
                    done.value += 1


class Waits(threading.Thread):
    """Counts sessions that wait for a lock that a session of gpcatalog holds."""

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


class Used(threading.Thread):
    """Processor seconds of the server processes that work for gpcatalog, on all instances of this machine."""

    def __init__(self, dsn: str) -> None:
        super().__init__(daemon=True)
        self.dsn = dsn
        self.over = threading.Event()
        self._of: dict[int, float] = {}
        self._tick = os.sysconf("SC_CLK_TCK")

    @property
    def seconds(self) -> float:
        """Processor seconds of all these processes so far."""
        return sum(self._of.values())

    def _look(self, conn: psycopg.Connection[tuple[object, ...]], greenplum: bool) -> None:
        session = "sess_id" if greenplum else "0"
        found = conn.execute(
            f"SELECT pid, {session} FROM pg_stat_activity WHERE application_name = 'gpcatalog'"
        ).fetchall()
        pids = {pid for pid, _ in found}
        if greenplum and found:
            names = re.compile(
                rb"\bcon(?:" + b"|".join(str(number).encode() for _, number in found) + rb")\b"
            )
            for place in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if names.search(place.read_bytes()):
                        pids.add(int(place.parent.name))
        for pid in pids:
            with contextlib.suppress(OSError):
                field = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._of[pid] = (int(field[11]) + int(field[12])) / self._tick

    def run(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            greenplum = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
            while not self.over.wait(0.5):
                self._look(conn, greenplum)


def audit(dsn: str, file: Path) -> tuple[float, float]:
    """Seconds and processor seconds of one audit as a process; raises an error if the audit fails."""
    begun = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "gpcatalog", "snapshot", "take", dsn, "--save", str(file)],
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the audit ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime


def consistent(file: Path) -> list[str]:
    """Errors in a snapshot that was taken under load."""
    wrong = []
    with Snapshot(file) as snapshot:
        wrong += [
            f"{r['probe']}: {r['status']}: {r['reason']}"
            for r in snapshot.rows(
                "SELECT * FROM coverage WHERE status NOT IN ('read', 'not applicable')"
            )
        ]
        for kind in ("candidate", "missing"):
            n = snapshot.one(f"SELECT count(*) AS n FROM orphan WHERE kind = '{kind}'")["n"]
            if n:
                wrong.append(f"{n} {kind} files")
        # one statement reads all tables: despite concurrent changes, no table may be read twice, and no partition without its root
        lonely = "SELECT count(*) AS n FROM relation r WHERE kind <> 'table' AND NOT EXISTS (FROM relation t WHERE t.oid = r.root)"
        for name, sql in (
            ("partitions without their root", lonely),
            ("tables read twice", "SELECT count(*) - count(DISTINCT oid) AS n FROM relation"),
            (
                "leaves more or fewer in the totals",
                "SELECT (SELECT sum(leaves) FROM root_total) - (SELECT count(*) FROM relation WHERE kind = 'leaf') AS n",
            ),
        ):
            if n := snapshot.one(sql)["n"]:
                wrong.append(f"{n} {name}")
        n = snapshot.one("SELECT count(*) AS n FROM catalog WHERE rows < 0 OR heap_bytes < 0")["n"]
        if n:
            wrong.append(f"{n} catalogs with negative numbers")
    return wrong


def tidy(dsn: str) -> None:
    """Vacuum the catalogs that the load fills."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        there = {
            name for (name,) in conn.execute("SELECT relname FROM pg_class WHERE relnamespace = 11")
        }
        for name in FILLED:
            if name in there:
                conn.execute(f"VACUUM pg_catalog.{name}")


@contextlib.contextmanager
def scratch(base: str) -> Iterator[str]:
    """Conninfo of the database gpcatalog_load on this server, which is created and dropped afterwards."""
    with psycopg.connect(base, autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS gpcatalog_load")
        conn.execute("CREATE DATABASE gpcatalog_load")
    try:
        yield make_conninfo(base, dbname="gpcatalog_load")
    finally:
        with psycopg.connect(base, autocommit=True) as conn:
            for _ in range(60):  # the last sessions may still be ending
                with contextlib.suppress(psycopg.Error):
                    conn.execute("DROP DATABASE IF EXISTS gpcatalog_load")
                    break
                time.sleep(1)


def measure(
    base: str, sessions: int = 100, pairs: int = 4, window: float = 60.0
) -> tuple[str, list[Line]]:
    """All lines of the table for one server. Raises SystemExit if an audit fails."""
    with scratch(base) as dsn:
        return _measure(dsn, sessions, pairs, window)


def _measure(dsn: str, sessions: int, pairs: int, window: float) -> tuple[str, list[Line]]:
    context = multiprocessing.get_context("spawn")
    done, failed, go, stop = (
        context.Value("q", 0),
        context.Value("q", 0),
        context.Event(),
        context.Event(),
    )
    go.set()
    crowd = [
        context.Process(target=worker, args=(dsn, n, done, failed, go, stop), daemon=True)
        for n in range(sessions)
    ]
    for one in crowd:
        one.start()
    while done.value < sessions * 4:
        time.sleep(0.5)
    time.sleep(window)  # until the catalogs and their indexes have their final size
    watch, used = Waits(dsn), Used(dsn)
    watch.start()
    used.start()
    ratios, took, wrong = [], [], []
    length = window  # of a window without an audit: as long as the last one with an audit
    try:
        with tempfile.TemporaryDirectory() as folder:
            for n in range(pairs):
                counted = {}
                for with_audit in (False, True) if n % 2 else (True, False):
                    go.clear()
                    tidy(dsn)
                    go.set()
                    time.sleep(SETTLE)
                    first, begun = done.value, time.perf_counter()
                    if with_audit:
                        file = Path(folder) / f"{n}.gpcatalog"
                        took.append(audit(dsn, file))
                        length = max(window, took[-1][0])
                    time.sleep(max(0.0, length - (time.perf_counter() - begun)))
                    counted[with_audit] = (done.value - first) / (time.perf_counter() - begun)
                    if with_audit:
                        wrong += consistent(file)
                ratios.append(1 - counted[True] / counted[False])
                print(
                    f"  pair {n + 1}: {counted[False]:,.0f} statements/s without, {counted[True]:,.0f} with",
                    flush=True,
                )
    finally:
        stop.set()
        go.set()
        watch.over.set()
        used.over.set()
        for one in crowd:
            one.join(30)
    slower = statistics.median(ratios)
    # the sessions lose at least the processor time of the audit if all cores are busy
    capacity = sum(max(window, t) for t, _ in took) * (os.cpu_count() or 1)
    client, server = sum(c for _, c in took), used.seconds
    detail = (
        f"{slower:+.2%} statements (from {min(ratios):+.2%} to {max(ratios):+.2%}) in {pairs} pairs of windows of {window:.0f} s or more;"
        f" an audit took {statistics.median(t for t, _ in took):.0f} s, and of the processor time in its window {(server + client) / capacity:.2%}:"
        f" its sessions on all instances {server / len(took):.1f} s, its client {client / len(took):.1f} s"
    )
    lines = [Line(f"{sessions} sessions of DDL slowed", "2 %", slower / GOAL, 1.0, detail=detail)]
    lines.append(
        Line(
            "sessions that waited for a lock of the audit",
            "",
            None,
            detail=f"{watch.seen} in {watch.looks} samples; statements that failed: {failed.value}",
        )
    )
    lines.append(
        Line(
            "errors in its snapshots",
            "",
            None,
            detail="; ".join(sorted(set(wrong))) or "none",
        )
    )
    with psycopg.connect(dsn) as conn:
        return conn.execute("SELECT version()").fetchone()[0].split(" on ")[0], lines


def main() -> None:
    words = sys.argv[2:]
    show(
        *measure(
            sys.argv[1], *(kind(word) for kind, word in zip((int, int, float), words, strict=False))
        )
    )


if __name__ == "__main__":
    main()
