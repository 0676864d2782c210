"""The dashboard and the rules on a real Prometheus, which scrapes real metrics."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gpcatalog.emit import metrics
from gpcatalog.emit.alerts import RECORDS, rules_text
from gpcatalog.emit.grafana import ROWS, dashboard
from gpcatalog.lab.postgres import free_port
from tests.conftest import missing, wait_for_port
from tests.test_cli import FIXTURE, run

PANELS = {p.title: p for row in ROWS.values() for p in row}
# what the recorded snapshot does not have: it was not measured there
NOT_MEASURED = {
    "Age of the oldest transaction",
    "Time since the last upkeep",
    "Catalog queries of clients, median",
}


def serving(page: Callable[[], str]) -> ThreadingHTTPServer:
    """A web server with one page in the text format of Prometheus."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(page().encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Prometheus:
    """A Prometheus with the rules of gpcatalog, which scrapes one page every second."""

    def __init__(self, folder: Path, target: int) -> None:
        program = shutil.which("prometheus")
        if program is None:
            missing("prometheus", "install prometheus")
        settings = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [
                {
                    "job_name": "gpcatalog",
                    "honor_labels": True,
                    "static_configs": [{"targets": [f"127.0.0.1:{target}"]}],
                }
            ],
        }
        (folder / "rules.yml").write_text(rules_text())
        (folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
        self.port = free_port()
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [
                str(program),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            stdout=self.log,
            stderr=self.log,
        )
        wait_for_port(self.port)

    def get(self, path: str, **values: str) -> Any:
        """An answer of the HTTP API."""
        query = urllib.parse.urlencode(values)
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)["data"]

    def values(self, expr: str) -> list[dict[str, Any]]:
        """The series of an expression now."""
        found: list[dict[str, Any]] = self.get("query", query=expr)["result"]
        return found

    def wait_for(self, expr: str) -> list[dict[str, Any]]:
        """The series of an expression, as soon as there are some."""
        until = time.monotonic() + 60
        while not (found := self.values(expr)):
            assert time.monotonic() < until, expr
            time.sleep(0.5)
        return found

    def close(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


@pytest.fixture(scope="module")
def text() -> str:
    """The metrics of a recorded Greenplum 6."""
    said = run("metrics", "--snapshot", str(FIXTURE))
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.fixture(scope="module")
def prometheus(text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus with these metrics, whose limits are used more with every scrape."""
    scrapes = 0

    def page() -> str:
        nonlocal scrapes
        scrapes += 1
        return re.sub(
            r"^(gpcatalog_limit_ratio\{.*\}) (\S+)$",
            lambda m: f"{m[1]} {float(m[2]) * (1 + scrapes / 1000)}",
            text,
            flags=re.M,
        )

    server = serving(page)
    made = Prometheus(tmp_path_factory.mktemp("prometheus"), server.server_address[1])
    try:
        made.wait_for("gpcatalog_server")
        yield made
    finally:
        made.close()
        server.shutdown()


def filled_in(expr: str, value: str = ".*") -> str:
    """A query as Grafana sends it."""
    return re.sub(r"\$(cluster|server|database)", value, expr)


def test_every_sample_is_there(prometheus: Prometheus, text: str) -> None:
    """Prometheus has as many series as the text has samples, and knows the type of each metric."""
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(prometheus.values('{__name__=~"gpcatalog_.*"}')) == len(samples)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)", text, re.M))
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
    nothing = prometheus.values(filled_in(PANELS[title].expr, "no such"))
    assert [s["value"][1] for s in nothing] in ([], ["0"])


def test_every_metric_exists(text: str) -> None:
    """Also those of panels without an answer here."""
    golden = Path(__file__).parent.parent / "audit" / "golden"
    known = set(re.findall(r"^# TYPE (\S+)", text, re.M)) | set(RECORDS)
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


def test_alerts_are_those_of_the_findings(prometheus: Prometheus, text: str) -> None:
    """Alerts that are pending or firing are the rules with findings, and the limits that grow."""
    prometheus.wait_for('ALERTS{alertname="GpcatalogLimitSoon"}')
    found = {s["metric"]["alertname"] for s in prometheus.values("ALERTS")}
    rules = set(
        re.findall(r'^gpcatalog_rule_findings\{.*rule="([a-z-]+)",severity="(?:warning|critical)"', text, re.M)
    )  # fmt: skip
    named = {"Gpcatalog" + "".join(w.capitalize() for w in rule.split("-")) for rule in rules}
    assert named
    assert found - {"GpcatalogLimitSoon", "GpcatalogSnapshotOld", "GpcatalogNotRead"} == named
    health = prometheus.get("rules")["groups"]
    assert {rule["health"] for group in health for rule in group["rules"]} == {"ok"}


def test_the_dashboard_is_whole() -> None:
    said = run("metrics", "--dashboard")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert said.stdout == dashboard()
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
