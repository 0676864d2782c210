"""The maintenance script is run on every server, and gives back what it promised."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import psycopg
import pytest

from gpcatalog.audit.build import build
from gpcatalog.audit.report import Report
from gpcatalog.migration.maintenance import script, treatments
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database

CHURN = "CREATE TEMP TABLE step (a int, b int, c text, d text, e numeric, f date, g int, h text, i int, j int, k text, l text); DROP TABLE step;"

LOADS = (
    "CREATE TABLE load (k int, a int, b text, c text, d numeric, e int, f text, g text, h int, i int) WITH (appendonly=true,"
    " orientation=column) DISTRIBUTED BY (a) PARTITION BY RANGE (k) (START (0) END (100) EVERY (1)); DROP TABLE load;"
)


def report_of(dsn: str, file: Path) -> Report:
    with connect(dsn) as session, Snapshot(collect(session, file)) as snapshot:
        return build(snapshot)


def psql(dsn: str, file: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    return subprocess.run(
        ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-f", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )


@pytest.mark.parametrize("server", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_gives_back_what_it_promised(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "tired")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET client_min_messages = error")
        for _ in range(16 if "gpadmin" in dsn else 150):
            conn.execute(LOADS if "gpadmin" in dsn else CHURN * 20)
    before = report_of(dsn, tmp_path / "before.gpcatalog")
    todo = treatments(before)
    assert {t.relation for t in todo if t.full} >= {"pg_attribute"}
    file = tmp_path / "maintenance.sql"
    file.write_text(script(before))
    said = psql(dsn, file)
    assert said.returncode == 0, said.stderr
    after = report_of(dsn, tmp_path / "after.gpcatalog")

    def worst(report: Report, relation: str) -> tuple[int, int]:
        rows = [
            r for r in report.catalogs if r.relation == relation and r.reclaimable_bytes is not None
        ]
        return max(
            (
                (r.heap_bytes + r.toast_bytes + r.index_bytes, r.reclaimable_bytes or 0)
                for r in rows
            ),
            key=lambda pair: pair[1],
        )

    for one in todo:
        size, promised = worst(before, one.relation)
        left, still = worst(after, one.relation)
        if one.full:
            assert size - left >= 0.9 * promised, one
            assert still <= max(0.25 * left, 262144), one
    assert {t.relation for t in treatments(after) if t.full} == set()
    # a second run does no harm
    assert psql(dsn, file).returncode == 0


def test_nothing_to_do_says_so(tmp_path: Path) -> None:
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        report = build(snapshot)
    quiet = msgspec.structs.replace(report, catalogs=())
    text = script(quiet)
    assert "nothing to do" in text
    assert all(line.startswith("--") for line in text.splitlines())
