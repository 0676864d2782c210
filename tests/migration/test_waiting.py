"""How long writers wait, and what the scripts report about it."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import psycopg
import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"]
WAITED = r"readers waited \d+ ms, writers [\d.]+ m?s plus the COMMIT"
SHOUT = "CREATE OR REPLACE FUNCTION shout(text) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT $1 || '{}'$$"


def _table(dsn: str, *, classic: bool, columns: str = "id int, d date") -> None:
    if classic:
        made.execute(
            dsn,
            f"CREATE TABLE t ({columns}) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (START (date '2020-01-01')"
            " END (date '2020-01-06') EVERY (interval '1 day'))",
        )
    else:
        made.execute(
            dsn,
            f"CREATE TABLE t ({columns}) PARTITION BY RANGE (d)",
            *(
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}')"
                for n in range(1, 6)
            ),
        )
    made.execute(
        dsn,
        "INSERT INTO t (id, d) SELECT i, date '2020-01-01' + i % 5 FROM generate_series(1, 50) i",
    )


@pytest.mark.parametrize("fixture", SERVERS)
def test_writers_go_on_while_a_reader_is_active(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In online mode, a row is inserted while the step waits for a reader that began before the step."""
    dsn = fresh_database(request.getfixturevalue(fixture), "waiting_writers")
    _table(dsn, classic=fixture == "gp6_dsn")
    plan = made.plan_of(dsn)
    files = made.written(dsn, tmp_path / "sql", plan, request=Request(mode=Mode.ONLINE))
    files.run("0000_prepare.sql")
    (name,) = files.forward()
    assert "writers wait too, at most 7 min more" in (files.folder / name).read_text()
    found: list[str] = []
    script = threading.Thread(target=lambda: found.append(files.run(name).stderr))
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT count(*) FROM t")
        script.start()
        while not made.fetch(dsn, "SELECT 1 FROM gpcatalog_journal.step WHERE state = 'built'"):
            time.sleep(0.1)
        time.sleep(2)  # the step waits for the reader now
        made.execute(dsn, "SET lock_timeout = '20s'", "INSERT INTO t VALUES (51, '2020-01-03')")
    script.join()
    assert re.search(WAITED, found[0]), found
    assert made.fetch(dsn, "SELECT count(*) FROM t") == [(51,)]


@pytest.mark.parametrize("fixture", ["gp6_dsn", "pgnew_dsn"])
def test_waits_are_announced(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The headers of a file and of its rollback state who waits, and the limit. Each step reports how long writers waited."""
    dsn = fresh_database(request.getfixturevalue(fixture), "waiting_announced")
    _table(dsn, classic=fixture == "gp6_dsn")
    options = Request(attempts=20, wait_ms=500, pause_s=1.0)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn), request=options)
    (name,) = files.forward()
    assert "writers wait too, at most 30 s more" in (files.folder / name).read_text()
    back = (files.folder / "rollback" / name).read_text()
    assert "at most 30 s more" in back
    assert ("added and exchanged one by one" in back) == (fixture == "gp6_dsn")
    files.run("0000_prepare.sql")
    for file in (name, f"rollback/{name}"):
        assert re.search(WAITED, files.run(file).stderr)


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_generated_column_of_a_changed_function(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The message names the generated column; after the table has computed it again, the file succeeds."""
    dsn = fresh_database(request.getfixturevalue(fixture), "waiting_generated")
    made.execute(dsn, SHOUT.format("!"))
    columns = "id int, d date, v text DEFAULT 'v', loud text GENERATED ALWAYS AS (shout(v)) STORED"
    _table(dsn, classic=False, columns=columns)
    made.execute(dsn, SHOUT.format("?"))
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn), request=Request(run_owner_code=True)
    )
    files.run("0000_prepare.sql")
    (name,) = files.forward()
    done = files.run(name, check=False)
    assert done.returncode == 3
    assert "generated column was changed after rows were stored (columns: loud)" in done.stderr
    made.execute(dsn, "UPDATE t SET v = v")
    files.run(name)
    assert made.fetch(dsn, "SELECT count(*), min(loud) FROM t") == [(50, "v?")]
