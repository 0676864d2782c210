"""Leaves that a script adds to a live table and to its partitions are counted together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from gpcatalog.capacity import limits
from gpcatalog.check.run import run
from gpcatalog.check.settings import Settings
from gpcatalog.commands.check import _baseline_state, _with_baseline
from gpcatalog.dialect.script import Source
from gpcatalog.effects.baseline import Baseline
from tests.conftest import fresh_database
from tests.live_report import report_of


def add(*numbers: int) -> str:
    return "".join(
        f"CREATE TABLE q{n} PARTITION OF t FOR VALUES FROM ({n}) TO ({n + 1});" for n in numbers
    )


ATTACH = "ALTER TABLE t ATTACH PARTITION alone FOR VALUES FROM (20) TO (21);"


@pytest.mark.parametrize("server", ["gp7_dsn", "pg_dsn"])
def test_a_script_adds_to_a_live_table(
    server: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "trees")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t (a int, b int) PARTITION BY RANGE (a)")
        conn.execute("CREATE TABLE alone (a int, b int)")
        conn.execute(add(0, 1, 2, 3).replace("TABLE q", "TABLE p"))
    report_of(dsn, tmp_path / "s.gpcatalog")
    known = Baseline(tmp_path / "s.gpcatalog")
    settings = _with_baseline(Settings(), known)
    monkeypatch.setattr(limits, "LEAVES_PER_TABLE", replace(limits.LEAVES_PER_TABLE, value=5))
    for sql, expected in (
        (add(10, 11, 12), [2]),
        (add(10) + ATTACH, [2]),
        (ATTACH + add(10), [2]),
        ("DROP TABLE p1;" + add(10, 11), []),
        ("DROP TABLE p1;" + add(10, 11, 12), [4]),
    ):
        found = run(
            [Source(sql, "x.sql")],
            settings,
            state=_baseline_state(known, settings),
            baseline=known.totals,
        )
        rules = [f.statement for f in found.findings if f.finding.rule == "leaves-over-guideline"]
        assert rules == expected, sql
