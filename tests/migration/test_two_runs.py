"""Only one run per file: a second run ends with one line, the first continues, and another session sees its progress."""

from __future__ import annotations

import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpcatalog.migration.request import Mode, Request
from tests import program
from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg12_dsn")


def table(name: str, *, greenplum: bool) -> list[str]:
    """Statements for a table of daily partitions, four in each of two months, with 80 rows."""
    if greenplum:
        parts = "(START (date '2022-01-28') END (date '2022-02-05') EVERY (interval '1 day'))"
        found = [
            f"CREATE TABLE {name} (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) {parts}"
        ]
    else:
        days = (
            "2022-01-28",
            "2022-01-29",
            "2022-01-30",
            "2022-01-31",
            "2022-02-01",
            "2022-02-02",
            "2022-02-03",
            "2022-02-04",
            "2022-02-05",
        )
        found = [f"CREATE TABLE {name} (id int, d date) PARTITION BY RANGE (d)"]
        found += [
            f"CREATE TABLE {name}_{n} PARTITION OF {name} FOR VALUES FROM ('{a}') TO ('{b}')"
            for n, (a, b) in enumerate(pairwise(days))
        ]
    return [
        *found,
        f"INSERT INTO {name} SELECT i, date '2022-01-28' + i % 8 FROM generate_series(1, 80) i",
        f"ANALYZE {name}",
    ]


def background(files: made.Written, name: str) -> subprocess.Popen[str]:
    """Start one file in the background."""
    command = [program.PSQL, "-X", "-q", "-d", files.dsn, "-f", files.folder / name]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def progress(dsn: str) -> list[tuple[Any, ...]]:
    """The progress as another session sees it: steps, done, whether a run is active, the next step, whether seconds are left."""
    query = "SELECT steps, done, running IS NOT NULL, next_step, seconds_left > 0 FROM gpcatalog_journal.progress"
    return made.fetch(dsn, query)


def waits(dsn: str) -> bool:
    """Whether a session is running a file."""
    return bool(
        made.fetch(dsn, "SELECT 1 FROM gpcatalog_journal.progress WHERE running IS NOT NULL")
    )


@pytest.mark.parametrize("server", SERVERS)
def test_two_databases(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Tables of the same name in two databases are independent: their files can run at the same time."""
    here, there = (
        fresh_database(request.getfixturevalue(server), f"same_names_{n}") for n in range(2)
    )
    written = []
    for n, dsn in enumerate((here, there)):
        made.execute(dsn, *table("t", greenplum=server.startswith("gp")))
        written.append(made.written(dsn, tmp_path / f"sql{n}", made.plan_of(dsn)))
        written[-1].run("0000_prepare.sql")
    (name,) = written[0].forward()
    with psycopg.connect(here) as writer:
        writer.execute("INSERT INTO t VALUES (81, '2022-01-28')")
        first = background(written[0], name)
        until = time.monotonic() + 60
        while not waits(here):
            assert first.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        written[1].run(name)
        assert progress(there) == [(2, 2, False, None, False)]
        assert progress(here)[0][:3] == (2, 0, True)
        writer.rollback()
    _, stderr = first.communicate(timeout=120)
    assert first.returncode == 0, stderr


@pytest.mark.parametrize("mode", [Mode.LOCKED, Mode.ONLINE])
@pytest.mark.parametrize("server", SERVERS)
def test_two_runs(server: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The first run waits for a writer. The second run ends at once and changes nothing. A later run has nothing to do."""
    dsn = fresh_database(request.getfixturevalue(server), "two_runs")
    made.execute(dsn, *table("t", greenplum=server.startswith("gp")))
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(mode=mode))
    (name,) = files.forward()
    files.run("0000_prepare.sql")
    before = made.rows_of(dsn, "t")
    leaf = (
        "t_1_prt_1"
        if server == "gp6_dsn"
        else made.fetch(
            dsn,
            "SELECT min(inhrelid)::regclass::text FROM pg_inherits WHERE inhparent = 't'::regclass",
        )[0][0]
    )
    for file, done in ((name, "done"), (f"rollback/{name}", "rolled back")):
        with psycopg.connect(dsn) as writer:
            writer.execute(
                f"LOCK TABLE {leaf if done == 'done' else 't'} IN ROW EXCLUSIVE MODE".encode()
            )
            first = background(files, file)
            until = time.monotonic() + 60
            while not waits(dsn):
                assert first.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
            second = files.run(file, check=False)
            assert second.returncode == 3
            assert re.search(
                r"ERROR: +another session \(process \d+\) runs a file of public\.t: nothing was changed",
                second.stderr,
            )
            assert "CONTEXT" not in second.stderr
            if done == "done":
                assert progress(dsn) == [
                    (
                        2,
                        0,
                        True,
                        "merge 4 partitions into t_p2022m01"
                        if server != "gp6_dsn"
                        else progress(dsn)[0][3],
                        True,
                    )
                ]
            assert first.poll() is None
            writer.rollback()
        _, stderr = first.communicate(timeout=120)
        assert first.returncode == 0, stderr
        # only a line for each step, and the number of steps
        lines = [line for line in stderr.splitlines() if "free disk space is unknown (" not in line]
        assert sum(f"{done} in" in line for line in lines) == 2, stderr
        assert len(lines) == (3 if done == "done" else 2), stderr
        if done == "done":
            assert progress(dsn) == [(2, 2, False, None, False)]
            again = files.run(name)
            assert "all 2 steps are done" in again.stderr
        stderr = files.run("verify.sql").stderr
        assert stderr.splitlines()[-1].endswith("INFO:  OK: 1 of 1 tables"), stderr
        assert made.rows_of(dsn, "t") == before
    # a row that was inserted later is a difference and not OK; a missing partition is an error
    made.execute(dsn, "INSERT INTO t VALUES (81, '2022-01-28')")
    stderr = files.run("verify.sql").stderr
    assert stderr.splitlines()[-1].endswith(
        "INFO:  the rows of 1 of 1 tables differ from those copied (see above); everything else is OK"
    ), stderr
    made.execute(
        dsn,
        f"{'ALTER TABLE t DROP PARTITION FOR (RANK(1))' if server == 'gp6_dsn' else f'DROP TABLE {leaf}'}",
    )
    failed = files.run("verify.sql", check=False)
    assert failed.returncode == 3
    assert "NOT OK: 1 of 1 tables" in failed.stderr
