"""Plans of live servers: tables of all shapes, and a predicted gain held against the catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from gpcatalog.emit import plan_json
from gpcatalog.planner import planning
from gpcatalog.planner.operations import Merge
from gpcatalog.planner.plan import TablePlan
from gpcatalog.planner.policy import Policy, Rule
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.planner import live
from tests.planner.test_plan import check_plan


def planned(snapshot: Snapshot, **rule: Any) -> dict[str, TablePlan]:
    made = planning.make(snapshot, Policy(default=Rule(**rule)))
    full = made.full()
    check_plan(full, snapshot)
    pieces: list[str] = []
    plan_json.write(made.plan, made.tables(), pieces.append)
    assert plan_json.read("".join(pieces)) == full
    return {t.table: t for t in full.tables}


@pytest.fixture(scope="module")
def gp6(gp6_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Snapshot]]:
    dsn = fresh_database(gp6_dsn, "plan_gp6")
    live.fill(dsn, "gp6")
    with live.taken(dsn, tmp_path_factory.mktemp("gp6") / "s.gpcatalog") as snapshot:
        yield dsn, snapshot


@pytest.fixture(scope="module")
def gp7(gp7_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Snapshot]]:
    dsn = fresh_database(gp7_dsn, "plan_gp7")
    live.fill(dsn, "gp7")
    with live.taken(dsn, tmp_path_factory.mktemp("gp7") / "s.gpcatalog") as snapshot:
        yield dsn, snapshot


@pytest.fixture(scope="module", params=["pg_dsn", "pgnew_dsn"])
def pg(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Snapshot]]:
    dsn = fresh_database(request.getfixturevalue(request.param), "plan_pg")
    live.fill(dsn, "pg")
    with live.taken(dsn, tmp_path_factory.mktemp("pg") / "s.gpcatalog") as snapshot:
        yield dsn, snapshot


def check_greenplum(tables: dict[str, TablePlan], classic: bool) -> None:
    def merges(name: str) -> list[Merge]:
        return [s for s in tables[name].steps if isinstance(s, Merge)]

    months = merges("daily")
    assert [m.grain for m in months] == ["month"] * 5
    assert [len(m.units) for m in months] == [31, 28, 31, 30, 30]
    assert months[0].lower is not None
    assert months[0].lower.value == "2025-01-01"
    assert months[0].upper is not None
    assert months[0].upper.value == "2025-02-01"
    assert (months[0].bound == "START ('2025-01-01'::date) END ('2025-02-01'::date)") == classic
    assert (months[0].name == "daily_1_prt_p2025m01") == classic
    levels = merges("levels")
    assert [len(m.new) for m in levels] == [3, 3]  # a single day in April stays
    assert {n.path for n in levels[0].new} == ({("eu",), ("us",), ("rest",)} if classic else {(x.bound,) for x in levels[0].new})
    assert all(len(m.leaves) == 3 * len(m.units) for m in levels)
    assert "the default partition holds no rows of the new range" in merges("defaulted")[0].rests_on
    assert tables["defaulted"].left[0].leaves == 1
    assert tables["listed"].alone
    assert [m.lower.axis for m in merges("numbers") if m.lower] == [-1000, 0, 2000, 3000, 3600]
    assert {m.grain for m in merges("hours")} == {"month"}
    assert merges('Odd "Name')[0].name.startswith('Odd "Name_')
    assert [len(m.units) for m in merges("viewed")] == [9, 21]
    mixed = merges("mixed")
    assert [len(m.units) for m in mixed] == [15, 16]
    assert {leaf.storage for leaf in mixed[0].leaves} == {"ao_column"}


@pytest.mark.greenplum
def test_greenplum_6(gp6: tuple[str, Snapshot]) -> None:
    check_greenplum(planned(gp6[1], grains={"month": 60}, empty="keep"), True)


@pytest.mark.greenplum
def test_greenplum_7(gp7: tuple[str, Snapshot]) -> None:
    check_greenplum(planned(gp7[1], grains={"month": 60}, empty="keep"), False)


_CATALOGS = """
    pg_class pg_attribute pg_type pg_depend pg_index pg_inherits pg_constraint gp_distribution_policy pg_appendonly pg_attribute_encoding
    gp_fastsequence
"""


def _rows(dsn: str) -> int:
    """Rows of the catalogs on the first segment."""
    each = (f"SELECT count(*) FROM gp_dist_random('{c}') WHERE gp_segment_id = 0" for c in _CATALOGS.split())
    return sum(int(live.value(dsn, statement)) for statement in each)


@pytest.mark.greenplum
@pytest.mark.parametrize("generation", ["gp6", "gp7"])
def test_promised_rows_are_there(generation: str, request: pytest.FixtureRequest) -> None:
    """One planned merge of numbers done by hand: catalog rows on a segment fall by exactly what the plan says."""
    dsn, snapshot = request.getfixturevalue(generation)
    step = next(s for s in planned(snapshot)["numbers"].steps if isinstance(s, Merge))
    before = _rows(dsn)
    with psycopg.connect(dsn) as conn:
        low, high = step.lower, step.upper
        assert low is not None
        assert high is not None
        for unit in step.units:
            assert unit.lower is not None
            conn.execute(f"ALTER TABLE numbers DROP PARTITION FOR ({unit.lower.axis})")
        conn.execute(f"ALTER TABLE numbers ADD PARTITION {step.partition} START ({low.value}) END ({high.value})")
    assert before - _rows(dsn) == step.gain.rows
    assert (
        live.value(dsn, f"SELECT count(*) FROM pg_class WHERE relname = '{step.name}'") == (1 if generation == "gp6" else 0)
        or generation == "gp7"
    )


@pytest.mark.postgres
def test_postgres(pg: tuple[str, Snapshot]) -> None:
    tables = planned(pg[1], grains={"month": 60}, empty="keep")

    def grains(name: str) -> list[int]:
        return [len(s.units) for s in tables[name].steps if isinstance(s, Merge)]

    assert grains("daily") == [31, 28, 31, 30, 30]
    assert grains("defaulted") == [31, 9]
    assert "foreign key" in tables["referenced"].alone
    assert "hash" in tables["hashed"].alone
    assert "several columns" in tables["several"].alone
    assert grains("zoned") == [30]  # midnights in Moscow
    assert grains("spelled") == [30]  # 20250101 … is a calendar too
    assert tables["spelled"].axis == "dates as 8-digit numbers"
    assert grains("numbers") == [10, 20, 10, 5, 2]
