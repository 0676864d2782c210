"""Values that a snapshot could not read are not 0 in any output, and no conclusion is drawn from them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psycopg
import pytest

from tests.conftest import fresh_database
from tests.planner import live
from tests.test_cli import run


@pytest.fixture(scope="module")
def unread(pg_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A snapshot of a database with a partitioned table, taken while another session held a lock on pg_inherits."""
    dsn = fresh_database(pg_dsn, "unread")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE p (a int) PARTITION BY RANGE (a)")
        conn.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (5)")
        conn.execute("CREATE TABLE plain (a int)")
    path = tmp_path_factory.mktemp("unread") / "s.gpcatalog"
    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE pg_catalog.pg_inherits IN ACCESS EXCLUSIVE MODE")
        with live.take_snapshot(dsn, path):
            pass
    return str(path)


def test_audit(unread: str) -> None:
    report = json.loads(run("audit", "--snapshot", unread, "--format", "json").stdout)
    assert report["census"] is None
    assert report["relations_by_kind"]["p"] == 1  # pg_class was read
    assert "relations" in {c["probe"] for c in report["coverage"] if c["status"] == "busy"}
    for option, expected in (
        ("--quiet", "could not be read"),
        ("--verbose", "Tables and partitions\nnot read"),
    ):
        output = run("audit", "--snapshot", unread, option).stdout
        assert "0 partitioned" not in output
        assert "0 other tables" not in output
        assert expected in output
    assert re.search(r"^Tables +not read$", run("audit", "--snapshot", unread).stdout, re.MULTILINE)


def test_metrics_are_absent_and_the_probe_is_named(unread: str) -> None:
    output = run("metrics", "--snapshot", unread).stdout
    for name in (
        "gpcatalog_partitioned_tables",
        "gpcatalog_leaves",
        "gpcatalog_plain_tables",
        "gpcatalog_widest_table_leaves",
    ):
        assert name not in output
    assert 'status="busy"} ' in output


def test_a_plan_says_what_was_not_read(unread: str) -> None:
    result = run("plan", "--snapshot", unread)
    assert result.returncode != 0
    assert "could not be read (probe relations, busy" in result.stderr
    assert "nothing to plan" not in result.stderr


def test_the_page_shows_a_question_mark(unread: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("report", "--snapshot", unread, "--html", str(page)).returncode in (0, 1)
    text = page.read_text()
    assert "tables and leaf partitions: not read" in text
    assert "leaves of 0 tables" not in text


def test_growth_leaves_the_snapshot_out(unread: str) -> None:
    result = run("growth", "--folder", str(Path(unread).parent))
    assert result.returncode != 0
    assert "its tables could not be read (busy" in result.stderr
