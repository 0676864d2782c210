"""The dashboard and the rules with a real Prometheus that scrapes real metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpcatalog.emit import metrics
from gpcatalog.emit.alerts import RECORDS
from gpcatalog.emit.grafana import ROWS, dashboard
from tests.report.prometheus import Prometheus
from tests.test_cli import run

pytestmark = pytest.mark.xdist_group("prometheus")  # one server for all tests
PANELS = {p.title: p for row in ROWS.values() for p in row}
# panels without data in the recorded snapshot, because it was not measured there
NOT_MEASURED = {
    "Age of the oldest transaction",
    "Time since the last upkeep",
    "Catalog queries of clients, median",
}


def filled_in(expr: str, value: str = ".*") -> str:
    """A query as Grafana sends it."""
    return re.sub(r"\$(cluster|server|database)", value, expr)


def test_every_sample_is_there(prometheus: Prometheus, metrics_text: str) -> None:
    """Prometheus has as many series as the text has samples, and knows the type of each metric."""
    samples = [line for line in metrics_text.splitlines() if not line.startswith("#")]
    assert len(prometheus.values('{__name__=~"gpcatalog_.*"}')) == len(samples)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)", metrics_text, re.M))
    known = prometheus.get("metadata")
    assert {name: known[name][0]["type"] for name in types} == types
    (target,) = prometheus.get("targets")["activeTargets"]
    assert target["lastError"] == ""


@pytest.mark.parametrize("title", PANELS)
def test_every_query_has_an_answer(prometheus: Prometheus, title: str) -> None:
    expr = filled_in(PANELS[title].expr)
    if title in NOT_MEASURED:
        assert prometheus.values(expr) == []
    else:
        found = prometheus.wait_for(expr)
        labels = set(re.findall(r"\{\{(\w+)\}\}", PANELS[title].legend)) - {"cluster"}
        assert all(labels <= set(one["metric"]) for one in found)
    # an object that does not exist is not shown as 0
    assert prometheus.values(filled_in(PANELS[title].expr, "no such")) == []


def test_a_cluster_that_is_down_is_counted(prometheus: Prometheus) -> None:
    (one,) = prometheus.values(filled_in(PANELS["Clusters not read"].expr))
    assert one["value"][1] == "1"


def test_every_metric_exists(metrics_text: str) -> None:
    """The metrics of all panels exist, including those of panels without data in this test."""
    golden = Path(__file__).parent.parent / "audit" / "golden"
    known = set(re.findall(r"^# TYPE (\S+)", metrics_text, re.M)) | set(RECORDS)
    for file in golden.glob("*.prom"):
        known |= set(re.findall(r"^# TYPE (\S+)", file.read_text(), re.M))
    source = Path(metrics.__file__).read_text()
    known |= set(re.findall(r'"(gpcatalog_\w+)"', source)) | {"gpcatalog:limit_days_left"}
    known |= {f"gpcatalog_{name}" for name in re.findall(r'^ +"(upkeep_\w+)",$', source, re.M)}
    used = {m for p in PANELS.values() for m in re.findall(r"\bgpcatalog[_:][\w:]+", p.expr)}
    assert used - known == set()


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_recorded(prometheus: Prometheus, name: str) -> None:
    assert prometheus.wait_for(name)


def test_alerts_are_those_of_the_findings(prometheus: Prometheus, metrics_text: str) -> None:
    """The pending and firing alerts are the rules with findings, and the limits whose use increases."""
    prometheus.wait_for('ALERTS{alertname="GpcatalogLimitSoon"}')
    found = {s["metric"]["alertname"] for s in prometheus.values("ALERTS")}
    rules = set(
        re.findall(r'^gpcatalog_rule_findings\{.*rule="([a-z-]+)",severity="(?:warning|critical)"', metrics_text, re.M)
    )  # fmt: skip
    named = {"Gpcatalog" + "".join(w.capitalize() for w in rule.split("-")) for rule in rules}
    assert named
    others = {"GpcatalogLimitSoon", "GpcatalogSnapshotOld", "GpcatalogNotRead"}
    assert found - others == named | {"GpcatalogClusterNotRead"}
    health = prometheus.get("rules")["groups"]
    assert {rule["health"] for group in health for rule in group["rules"]} == {"ok"}


def test_the_dashboard_is_complete() -> None:
    result = run("metrics", "--dashboard")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert result.stdout == dashboard()
    shown = [p for p in found["panels"] if p["type"] != "row"]
    assert [p["title"] for p in shown] == list(PANELS)
    ids = [p["id"] for p in found["panels"]]
    assert len(set(ids)) == len(ids)
    cells = [
        (p["gridPos"]["x"] + x, p["gridPos"]["y"] + y)
        for p in found["panels"]
        for x in range(p["gridPos"]["w"])
        for y in range(p["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells), "panels overlap"
    assert max(x for x, _ in cells) == 23
    variables = {v["name"] for v in found["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([found["panels"], found["templating"]])))
    assert used - {"__all"} == variables


def test_variables_have_values(prometheus: Prometheus) -> None:
    for variable in json.loads(dashboard())["templating"]["list"]:
        if variable["type"] == "query":
            metric, name = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()  # type: ignore[union-attr]  # fmt: skip
            found = prometheus.get(f"label/{name}/values", **{"match[]": filled_in(metric)})
            assert bool(found) == (name != "cluster"), name
