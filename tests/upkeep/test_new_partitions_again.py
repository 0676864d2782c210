"""Partitions that were removed are created again; parents without partitions and numbers that do not fit are reported."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpcatalog.model.scope import Scope
from gpcatalog.planner import policy as policies
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.services import upkeep
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import ALL, SERVERS, daily, night

pytestmark = pytest.mark.usefixtures("one_day")


@pytest.mark.parametrize("fixture", SERVERS)
def test_partitions_that_were_removed_are_created_again_on_the_same_day(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_again")
    daily(dsn, "t", 5)
    year, text = night(dsn, ALL)
    assert year.run(text).returncode == 0
    assert year.leaves()["t"] == 10
    for n in range(1, 6):
        day = datetime.now(UTC).date() + timedelta(n)
        made.execute(
            dsn,
            f"ALTER TABLE t DROP PARTITION FOR (date '{day}')"
            if fixture.startswith("gp")
            else f"DROP TABLE t_{day:%Y%m%d}",
        )
    # the same script skips what it has done, and reports it
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert "the steps that it finished then are skipped (1)" in done.stderr
    year, text = night(dsn, ALL)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert "are skipped" not in done.stderr
    assert year.leaves()["t"] == 10


def test_parents_without_partitions_and_the_end_of_integers(pg_dsn: str, tmp_path: Path) -> None:
    """They are reported; numbers that fit the type get their partitions."""
    dsn = fresh_database(pg_dsn, "upkeep_bare")
    today = datetime.now(UTC).date()
    made.execute(
        dsn,
        "CREATE TABLE bare (d date) PARTITION BY RANGE (d)",
        "CREATE TABLE two (k int, d date) PARTITION BY LIST (k)",
        *(f"CREATE TABLE two_{k} PARTITION OF two FOR VALUES IN ({k}) PARTITION BY RANGE (d)" for k in (1, 2)),
        *(
            f"CREATE TABLE two_1_{n} PARTITION OF two_1 FOR VALUES FROM ('{today + timedelta(n)}')"
            f" TO ('{today + timedelta(n + 1)}')"
            for n in range(3)
        ),
        "CREATE TABLE numbers (i int) PARTITION BY RANGE (i)",
        *(
            f"CREATE TABLE numbers_{n} PARTITION OF numbers FOR VALUES FROM ({n}00000000) TO ({n + 1}00000000)"
            for n in range(10, 18)
        ),
        "INSERT INTO numbers VALUES (1750000000)",
    )  # fmt: skip
    year, text = night(dsn, ALL)
    assert any("two_2 has no partition with both ends" in e for e in year.errors), year.errors
    assert any(
        "2 new partitions below numbers cannot be created: the greatest number of type integer is"
        " 2147483647" in e for e in year.errors
    ), year.errors  # fmt: skip
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert year.leaves()["numbers"] == 11
    with connect(dsn) as session:
        path = collect(session, tmp_path / "now.gpcatalog", scope=Scope.PLAN)
    with Snapshot(path) as snapshot:
        prepared = upkeep.prepare(snapshot, policies.loads(ALL), None, every=True)
    assert [(u.name, "no partition that a new one can be like" in u.reason) for u in prepared.unplanned] == [("bare", True)]  # fmt: skip
    two = next(t for t in prepared.states if t.name == "two")
    assert [s.parent_name for s in two.sets if not s.parts] == ["two_2"]
