"""The demo's database is planned, migrated and audited again, and has the predicted gain.

Only a few tables of every kind; GPCATALOG_TEST_DEMO=all uses the complete demo, 9,500 leaves.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit.build import build
from gpcatalog.lab import demo
from gpcatalog.lab.postgres import PrivateServer
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.capacity.live import Live
from tests.migration import made
from tests.migration.test_gain import EXCLUDED, promised, settled

ALL = os.environ.get("GPCATALOG_TEST_DEMO") == "all"


def audited(dsn: str, folder: Path) -> dict[str, int]:
    """Figures of an audit: rows of each catalog on the server, and the number of leaves."""
    with connect(dsn) as session:
        path = collect(session, folder, lambda _: None)
    with Snapshot(path) as snapshot:
        report = build(snapshot)
    found = {r.relation: int(r.rows) for r in report.catalogs if r.rows is not None}
    return {**found, "leaves": report.census.leaves}


@pytest.mark.long
def test_demo(pg15_server: PrivateServer, tmp_path: Path) -> None:
    with psycopg.connect(pg15_server.conninfo(), autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS shop")
        conn.execute("CREATE DATABASE shop")
    dsn = pg15_server.conninfo("shop")
    if ALL:
        demo.fill(dsn)
        made.execute(dsn, "ROLLBACK PREPARED 'nightly-load-4711'")
    else:
        for what, statements in demo.STEPS:
            if "tables" in what or "schemas" in what:
                made.execute(dsn, re.sub(r"FOR t IN 1\.\.\d+", "FOR t IN 1..1", statements))
    plan = made.plan_of(dsn, "")
    expected = promised(plan)
    files = made.written(dsn, tmp_path / "sql", plan)
    assert files.refused == []
    with ExitStack() as stack:
        live = Live(dsn, stack)
        then, before = audited(dsn, tmp_path / "before.gpcatalog"), settled(live)
        files.run("index.sql")
        files.run("verify.sql")
        files.run("cleanup.sql")
        now, after = audited(dsn, tmp_path / "after.gpcatalog"), settled(live)
    fewer = {name: n - after[-1][name] for name, n in before[-1].items()}
    assert sum(n for name, n in fewer.items() if name not in EXCLUDED) == expected["rows"]
    # a heap of one page has no free space map: the number of pages of merged tiny leaves is not known before
    merged = sum(t.merges for t in plan.tables)
    assert 0 <= fewer["files"] - expected["files"] <= merged
    # and the audit reports it
    assert then["leaves"] - now["leaves"] == plan.before.leaves - plan.after.leaves
    assert then["pg_class"] - now["pg_class"] == fewer["pg_class"]
    again = made.plan_of(dsn, "")
    assert (again.before.leaves, again.before.rows) == (plan.after.leaves, plan.after.rows)
    print(
        f"demo: {files.steps} steps; leaves {plan.before.leaves} → {now['leaves']}; catalog rows {expected['rows']} fewer, promised and counted;"
        f" files {fewer['files']} fewer, {expected['files']} promised"
    )


@pytest.fixture(scope="module", autouse=True)
def _no_shop(pg15_server: PrivateServer) -> object:
    yield
    with psycopg.connect(pg15_server.conninfo(), autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS shop")
    return None
