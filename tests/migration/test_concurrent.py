"""Readers and writers run during the migration: no error, no lost or duplicated row. The time for which readers waited is measured."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made
from tests.migration.test_kill import table


class Crowd:
    """Readers that count rows continuously, and writers that insert and delete single rows."""

    def __init__(self, dsn: str, writers: int) -> None:
        self.dsn = dsn
        self.stop = threading.Event()
        self.errors: list[str] = []
        self.longest = {"read": 0.0, "write": 0.0}
        self.written = 0
        self.threads = [threading.Thread(target=self._read) for _ in range(2)] + [
            threading.Thread(target=self._write, args=(n,)) for n in range(writers)
        ]

    def _timed(self, conn: psycopg.Connection[object], kind: str, statement: str) -> None:
        begun = time.monotonic()
        try:
            conn.execute(statement)  # type: ignore[arg-type]
        except psycopg.Error as e:
            self.errors.append(f"{kind}: {e}")
        self.longest[kind] = max(self.longest[kind], time.monotonic() - begun)

    def _read(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not self.stop.is_set():
                self._timed(conn, "read", "SELECT count(*), max(v) FROM t WHERE d < '2020-02-01'")

    def _write(self, number: int) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            n = 0
            while not self.stop.is_set():
                n += 1
                day = f"date '2020-01-30' + {n % 6}"
                self._timed(
                    conn,
                    "write",
                    f"INSERT INTO t VALUES ({number * 1_000_000 + n}, {day}, 'w{number}')",
                )
                self.written += 1
                time.sleep(0.01)

    def __enter__(self) -> Crowd:
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for t in self.threads:
            t.join()


@pytest.mark.parametrize("mode", [Mode.LOCKED, Mode.ONLINE])
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_crowd(fixture: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), f"mig_crowd_{mode}")
    table(dsn, fixture.startswith("gp"))
    made.execute(
        dsn,
        "INSERT INTO t SELECT i, date '2020-01-30' + i % 4, 'x' || i FROM generate_series(1, 20000) i",
    )
    before = made.fetch(dsn, "SELECT count(*) FROM t")[0][0]
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(mode=mode, pause_s=0.1)
    )
    files.run("0000_prepare.sql")
    with Crowd(dsn, writers=2) as crowd:
        time.sleep(0.3)
        for name in files.forward():
            files.run(name)
        time.sleep(0.2)
    print(
        f"{fixture} {mode}: readers waited {crowd.longest['read'] * 1000:.0f} ms, writers {crowd.longest['write'] * 1000:.0f} ms at most"
    )
    assert crowd.errors == []
    assert made.fetch(dsn, "SELECT count(*) FROM t")[0][0] == before + crowd.written
    assert made.fetch(
        dsn,
        "SELECT count(*) FROM (SELECT id FROM t WHERE v LIKE 'w%' GROUP BY id HAVING count(*) > 1) q",
    ) == [(0,)]


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_rows_that_come_after_the_copy(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Rows are inserted, updated and deleted between the copy and the swap: the comparison under the lock finds all changes."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_late")
    table(dsn, fixture.startswith("gp"))
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(mode=Mode.ONLINE)
    )
    files.run("0000_prepare.sql")
    name = files.forward()[0]
    text = (files.folder / name).read_text()
    # the swap is the last transaction of a step; the rows change before it
    parts = text.split("BEGIN ISOLATION LEVEL READ COMMITTED;\n")
    swaps = [n for n, p in enumerate(parts) if "-- recheck: " in p]
    change = (
        "INSERT INTO public.t VALUES (9001, '2020-01-30', 'late'), (9002, '2020-02-01', 'late');"
        "DELETE FROM public.t WHERE id = 6; UPDATE public.t SET v = 'changed' WHERE id = 12;\n"
    )
    parts[swaps[0] - 1] += change
    query = "SELECT count(*), sum(id), count(CASE WHEN v IN ('late', 'changed') THEN 1 END) FROM t"
    n, total, _ = made.fetch(dsn, query)[0]
    files.run(name, text="BEGIN ISOLATION LEVEL READ COMMITTED;\n".join(parts))
    assert made.fetch(dsn, query) == [(n + 1, total + 18003 - 6, 3)]
