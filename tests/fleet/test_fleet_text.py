"""The text of a fleet report: names of clusters stay in one line, and limits are shown as what they are."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gpcatalog.audit.cluster import combine
from gpcatalog.audit.fleet import FleetCluster, combine_clusters
from gpcatalog.emit import fleet_text
from gpcatalog.services.audits import audit_snapshot
from tests.test_cli import FIXTURE


@pytest.fixture(scope="module")
def shown() -> list[str]:
    """The lines for two clusters, of which one was not read."""
    report = audit_snapshot(FIXTURE)
    members = [
        FleetCluster(
            name="warehouse-1", labels={}, cluster=combine([report], []), unread=(), error="",
            seconds=1.0, oldest=report.taken.taken_at,
        ),
        FleetCluster(
            name="b", labels={}, cluster=None, unread=(), error="no answer", seconds=None, oldest=None
        ),
    ]  # fmt: skip
    stream = io.StringIO()
    fleet_text.show(combine_clusters(members), Console(file=stream, width=80))
    return stream.getvalue().splitlines()


def test_a_line_for_each_cluster(shown: list[str]) -> None:
    head = next(n for n, line in enumerate(shown) if line.startswith("Cluster "))
    assert shown[head].split() == [
        "Cluster", "dbs", "leaves", "catalog", "reclaim.", "crit.", "warn.", "snapshot",
    ]  # fmt: skip
    assert shown[head + 1].startswith("warehouse-1 ")
    assert shown[head + 2].startswith("b ")


def test_a_minimum_has_no_used_share(shown: list[str]) -> None:
    lines = [line for line in shown if "average file size" in line and "findings" not in line]
    assert any("10.9 KB (minimum 30 MB)" in line for line in lines), shown
    assert not any("%" in line for line in lines if "minimum" in line)
