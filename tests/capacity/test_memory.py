"""Predicted memory of sessions against measurements by the operating system on live servers."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit import rules
from gpcatalog.capacity import memory
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.model.storage import Storage
from tests.bench import memory as measure
from tests.conftest import fresh_database
from tests.live_report import report_of
from tests.recorded import FIXTURES

LEAVES, COLUMNS = 100, 33  # not a shape with which the figures were measured
WITHIN = 1.5
CASES = [
    (fixture, storage)
    for fixture, server in FIXTURES.items()
    for storage in (Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN)
    if server.startswith("gp") or storage is Storage.HEAP
]


@pytest.mark.parametrize(("fixture", "storage"), CASES)
def test_sessions_keep_what_is_predicted(
    fixture: str, storage: Storage, request: pytest.FixtureRequest
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "session_memory")
    shape = Shape(storage, COLUMNS, toastable=True, indexes=(Index(),), place=Place.LEAF)
    seen = 0
    measure.skip_unreadable(dsn)
    for touch, own, there in measure.measurements(dsn, shape, LEAVES):
        prediction = memory.kept_bytes(FIXTURES[fixture], shape, LEAVES, touch)
        for counted, predicted in ((own, prediction.coordinator), (there, prediction.segment)):
            assert (counted is None) == (predicted is None)
            if counted is not None and predicted is not None:
                assert predicted / WITHIN <= counted <= predicted * WITHIN, (touch, counted)
                seen += 1
    assert seen == (4 if FIXTURES[fixture].startswith("gp") else 2)


QUERIES = {
    "SELECT count(*) FROM walled": 1,
    "SELECT * FROM walled ORDER BY k": 1,
    "SELECT k, count(*) FROM walled GROUP BY k": 1,
    "DELETE FROM walled": 1,
    "SELECT * FROM walled a JOIN walled b USING (k)": 2,
}


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_plans_need_as_much_of_statement_mem_as_predicted(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "walled")
    leaves = 230
    with psycopg.connect(dsn, autocommit=True) as conn:
        measure.make(conn, "walled", Shape(Storage.AO_COLUMN, 3), leaves)
        conn.execute("SET optimizer = off")
        for query, times in QUERIES.items():
            needed = memory.plan_bytes(leaves) * times // 1024
            conn.execute(f"SET statement_mem = '{int(needed * 1.02)}kB'")
            conn.execute(f"EXPLAIN {query}")
            if times > 1:
                continue  # a join needs less if its sides do not run at the same time
            conn.execute(f"SET statement_mem = '{int(needed * 0.98)}kB'")
            with pytest.raises(psycopg.Error, match="insufficient memory reserved"):
                conn.execute(f"EXPLAIN {query}")
        conn.execute("ALTER DATABASE walled SET statement_mem = '20MB'")
    report = report_of(dsn, tmp_path / "s.gpcatalog")
    assert report.session_memory is not None
    assert report.session_memory.statement_mem == 20 << 20
    assert report.session_memory.beyond == 1
    found = next(f for f in rules.run(report) if f.rule == "statement-memory")
    assert "public.walled" in found.relations
    with psycopg.connect(dsn, autocommit=True) as conn:  # the remedy that the rule prints
        conn.execute("SET optimizer = off")
        with pytest.raises(psycopg.Error, match="insufficient memory reserved"):
            conn.execute("SELECT count(*) FROM walled").fetchall()
        setting = found.remedy[found.remedy.index("SET statement_mem") :].removesuffix(
            " for these statements"
        )
        conn.execute(setting.encode())
        assert conn.execute("SELECT count(*) FROM walled").fetchone() == (leaves * measure.ROWS,)
