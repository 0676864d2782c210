"""If a segment does not answer, the other instances are reported, and the report states what is missing."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.greenplum import Cluster


@pytest.mark.parametrize("fixture", ["gp6_cluster", "gp7_cluster"])
def test_a_segment_down_is_reported(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cluster: Cluster = request.getfixturevalue(fixture)
    dsn = fresh_database(cluster.dsn("template1"), "halved")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t (a int) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a)"
                     " PARTITION BY RANGE (a) (START (0) END (5) EVERY (1))")  # fmt: skip
    cluster.stop_instance(2, "immediate")
    try:
        with connect(dsn) as session:
            path = collect(session, tmp_path / "s.gpcatalog")
    finally:
        cluster.start_instance(2)
        for _ in range(120):
            try:
                with psycopg.connect(dsn) as conn:
                    conn.execute("SELECT count(*) FROM gp_dist_random('gp_id')").fetchone()
                break
            except psycopg.Error:
                time.sleep(0.5)
        else:
            pytest.fail("the cluster did not come back")
    with Snapshot(path) as snapshot:
        report = build(snapshot)
        # the figures of the coordinator are known
        assert report.census.leaves == 5
        assert any(r.relation == "pg_class" and r.content == -1 and r.rows for r in report.catalogs)
        lost = {c.probe: c.status for c in report.coverage if c.status != "read"}
        assert lost["segment_class_counts"] == "segment down", lost
    found = [f for f in rules.run(report) if f.rule == "segment-down"]
    assert found
    assert found[0].severity.word == "critical"
