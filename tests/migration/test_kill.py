"""The runner or backend is killed at every phase: rows stay equal, the second run finishes, and the cleanup removes everything.

Every phase of every transaction is a kill point. A run of the suite uses a few of them; GPCATALOG_TEST_KILLS=all uses all.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from tests import program
from tests.conftest import fresh_database
from tests.migration import made

MARK = re.compile(
    r"^    -- (guard|lock|stage|copy|prove|index|recheck|prepare|exclusive|swap|finish|note): .*\n",
    re.M,
)
SLEEP = 2
ALL = os.environ.get("GPCATALOG_TEST_KILLS") == "all"


def table(dsn: str, greenplum: bool) -> None:
    """Create a table with a few days of two months, a default partition, an index, and rows in both months."""
    if greenplum:
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, v text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2020-01-30') END (date '2020-02-03') EVERY (interval '1 day'), DEFAULT PARTITION other)",
        )
    else:
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, v text) PARTITION BY RANGE (d)",
            "CREATE TABLE t_other PARTITION OF t DEFAULT",
        )
        days = ["2020-01-30", "2020-01-31", "2020-02-01", "2020-02-02", "2020-02-03"]
        for n, (a, b) in enumerate(pairwise(days)):
            made.execute(
                dsn, f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('{a}') TO ('{b}')"
            )
    made.execute(
        dsn,
        "CREATE INDEX t_v ON t (v)",
        "INSERT INTO t SELECT i, date '2020-01-30' + i % 6, 'x' || i FROM generate_series(1, 300) i",
    )


def stopping(text: str, point: int) -> str:
    """The script with a long sleep at one of its kill points."""
    at = list(MARK.finditer(text))[point]
    stop = f"    PERFORM pg_catalog.set_config('application_name', 'mig_stop', false); PERFORM pg_catalog.pg_sleep({SLEEP});\n"
    return text[: at.end()] + stop + text[at.end() :]


def kill_at(files: made.Written, name: str, point: int, what: str) -> bool:
    """Run a file and kill at a point; return False if the point was never reached (a phase after a RETURN)."""
    path = files.folder / "killed.sql"
    path.write_text(stopping((files.folder / name).read_text(), point))
    runner = subprocess.Popen(
        [program.PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", files.dsn, "-f", path],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    with made.psycopg.connect(files.dsn, autocommit=True) as conn:
        pid = None
        while runner.poll() is None and pid is None:
            found = conn.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'mig_stop' AND state = 'active' AND datname = current_database()"
            ).fetchone()
            pid = found[0] if found else None
            time.sleep(0.02)
        if pid is None:
            assert runner.wait() == 0, runner.stderr.read() if runner.stderr else ""
            return False
        if what == "backend":
            conn.execute("SELECT pg_terminate_backend(%s)", [pid])
            assert runner.wait(timeout=60) != 0
        else:
            runner.kill()
            runner.wait()
        for _ in range(1500):
            if (
                conn.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()
                is None
            ):
                return True
            time.sleep(0.02)
    raise AssertionError("the killed backend stays")


def leftovers(dsn: str) -> list[tuple[str]]:
    return made.fetch(
        dsn,
        "SELECT relname::text FROM pg_class WHERE relname LIKE 'gpc\\_%' OR relname LIKE 'gpr\\_%' UNION ALL"
        " SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'gpcatalog%' UNION ALL"
        " SELECT conname::text FROM pg_constraint WHERE conname LIKE 'gpcatalog%'",
    )


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_row_that_is_gone_again(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A row existed only during the copy: no leaf differs from before, but the copy does, and it is made again."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_gone_again")
    table(dsn, fixture.startswith("gp"))
    made.roles(dsn, "mig_owner")
    made.execute(dsn, "ALTER TABLE t OWNER TO mig_owner")
    rows = made.rows_of(dsn, "t")
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(mode=Mode.ONLINE, pause_s=0.05)
    )
    (name,) = files.forward()
    files.run("0000_prepare.sql")
    marks = [m[1] for m in MARK.finditer((files.folder / name).read_text())]
    assert kill_at(files, name, marks.index("recheck"), "backend")
    ((stage,),) = made.fetch(
        dsn, "SELECT relname::text FROM pg_class WHERE relname LIKE 'gpc\\_%' AND relkind = 'r'"
    )
    made.execute(dsn, f"INSERT INTO {stage} SELECT * FROM {stage} LIMIT 1")
    files.run(name)
    assert made.rows_of(dsn, "t") == rows
    files.run(
        name
    )  # a finished file has nothing to do, and does not look for tables that were dropped
    files.run("verify.sql")


@pytest.mark.parametrize("mode", [Mode.LOCKED, Mode.ONLINE])
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_killed(fixture: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), f"mig_kill_{mode}")
    table(dsn, fixture.startswith("gp"))
    rows = made.rows_of(dsn, "t")
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(mode=mode, pause_s=0.05)
    )
    name = files.forward()[0]
    files.run("0000_prepare.sql")
    number = len(MARK.findall((files.folder / name).read_text()))
    half = number // 2  # two merges with the same phases: the first is already done
    points = (
        range(number) if ALL else ([1, half - 2] if mode is Mode.LOCKED else [half // 2, half - 3])
    )
    tried = 0
    for point in points:
        for what in ("backend", "runner") if ALL else (("backend", "runner")[tried % 2],):
            if not kill_at(files, name, point, what):
                continue
            tried += 1
            assert made.rows_of(dsn, "t") == rows, (point, what)
            files.run(name)
            assert made.rows_of(dsn, "t") == rows, (point, what)
            files.run("verify.sql")
            files.run(f"rollback/{name}")
            assert made.rows_of(dsn, "t") == rows, (point, what)
    print(f"{fixture} {mode}: {tried} kills at {number} points")
    assert tried >= 2
    assert kill_at(files, name, half - 2, "backend")
    files.run("cleanup.sql")
    assert leftovers(dsn) == []
    assert made.rows_of(dsn, "t") == rows
