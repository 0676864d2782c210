"""Merges wait for partitions that were written recently, on live servers whose files are set to old times."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpcatalog.model.scope import Scope
from gpcatalog.planner import policy as policies
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.probes.written import last_written
from gpcatalog.services import upkeep
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import ALL, SERVERS, daily, night
from tests.upkeep.year import server_of

pytestmark = pytest.mark.usefixtures("one_day")
RULES = ALL + 'grains = { month = "20d" }\nquiet = "3d"\n'


def age_files(dsn: str, days: int) -> None:
    """Set old modification times for all files of a database, on all instances."""
    query = (
        "SELECT datadir FROM gp_segment_configuration WHERE role = 'p'"
        if server_of(dsn).startswith("gp")
        else "SELECT setting FROM pg_settings WHERE name = 'data_directory'"
    )
    oid = made.fetch(dsn, "SELECT oid::int8 FROM pg_database WHERE datname = current_database()")
    made.execute(dsn, "CHECKPOINT")
    then = time.time() - days * 86400
    for (folder,) in made.fetch(dsn, query):
        for file in Path(folder, "base", str(oid[0][0])).iterdir():
            os.utime(file, (then, then))


def merges(text: str) -> int:
    """Number of merges in a script."""
    return len(re.findall(r"^-- ===== .* merge-", text, re.M))


@pytest.mark.parametrize("fixture", SERVERS)
def test_quiet(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_quiet")
    daily(dsn, "t", 110)
    without = RULES.replace("quiet", "# quiet")
    _, every = night(dsn, without)
    number = merges(every)
    assert number >= 3
    # all partitions were just written
    year, text = night(dsn, RULES)
    assert not merges(text)
    assert [e for e in year.errors if "wait: their partitions were written lately (quiet)" in e]
    age_files(dsn, 10)
    year, text = night(dsn, RULES)
    assert merges(text) == number
    assert not [e for e in year.errors if "wait:" in e]
    # a late row in one partition
    late = datetime.now(UTC).date() - timedelta(40)
    made.execute(dsn, f"INSERT INTO t (d, v) VALUES ('{late}', 1)", "CHECKPOINT")
    year, text = night(dsn, RULES)
    assert merges(text) == number - 1
    assert [e for e in year.errors if "public.t: 1 merge must wait: their partitions" in e]
    # a deleted row is a write, too
    age_files(dsn, 10)
    made.execute(dsn, f"DELETE FROM t WHERE d = '{late}'", "CHECKPOINT")
    year, text = night(dsn, RULES)
    assert merges(text) == number - 1


def test_a_role_that_cannot_see_files(pg_dsn: str, tmp_path: Path) -> None:
    """If the times are unknown, merges wait, and the script reports it."""
    dsn = fresh_database(pg_dsn, "upkeep_unseen")
    made.roles(dsn, "upkeep_blind")
    made.execute(dsn, "ALTER ROLE upkeep_blind LOGIN")
    daily(dsn, "t", 60)
    age_files(dsn, 10)
    with connect(dsn) as session:
        path = collect(session, tmp_path / "now.gpcatalog", scope=Scope.PLAN)
    with (
        connect(re.sub(r"user=\w+", "user=upkeep_blind", dsn)) as blind,
        Snapshot(path) as snapshot,
    ):
        prepared = upkeep.prepare(snapshot, policies.loads(RULES), None)
        work = upkeep.night_work(blind, prepared)
        text = upkeep.script_of(blind, work)
    assert not merges(text)
    assert [n for n in work.notes if "were written is unknown (" in n and "denied" in n]


def test_missing_tables_have_no_time(pg_dsn: str) -> None:
    with connect(pg_dsn) as session:
        assert last_written(session, {4_000_000_000: 1, 1259: None}) == {}


@pytest.mark.parametrize("fixture", SERVERS)
def test_files_of_large_heaps(fixture: str, request: pytest.FixtureRequest) -> None:
    """The second and third gigabyte of a heap are separate files, which may be the only new ones."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_large")
    made.execute(dsn, "CREATE TABLE t (v int)", "INSERT INTO t VALUES (1)")
    age_files(dsn, 10)
    [(oid,)] = made.fetch(dsn, "SELECT 't'::regclass::oid::int8")
    with connect(dsn) as session:
        for size in (1, 5 << 30):  # the file of the second gigabyte does not exist
            assert last_written(session, {oid: size})[oid] > 9 * 86400
    if server_of(dsn).startswith("gp"):
        return
    place = "current_setting('data_directory') || '/' || pg_relation_filepath('t')"
    [(path,)] = made.fetch(dsn, f"SELECT {place}")
    second = Path(f"{path}.1")
    second.touch()
    try:
        with connect(dsn) as session:
            assert last_written(session, {oid: 1})[oid] > 9 * 86400
            assert last_written(session, {oid: 1 << 30})[oid] < 86400
    finally:
        second.unlink()
