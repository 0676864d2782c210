"""The rules for Prometheus, tested with its own tool: alerts fire when something is wrong, and are resolved afterwards."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpcatalog.audit import rules
from gpcatalog.emit.alerts import RECORDS, SOON_DAYS, rules_text
from tests.conftest import program
from tests.program import run

FIXTURE = Path(__file__).parents[2] / "fixtures" / "greenplum6.gpcatalog"
GOLDEN = Path(__file__).parent.parent / "audit" / "golden"


@pytest.fixture
def promtool() -> str:
    return program("promtool", "prometheus")


def test_every_rule_has_an_alert() -> None:
    text = rules_text()
    assert set(re.findall(r'rule=\\"([a-z-]+)\\"', text)) == set(rules.every())
    assert len(re.findall("- alert: ", text)) == len(rules.every()) + 4
    # these are the only template expressions of Prometheus
    assert set(re.findall(r"\{\{ (.*?) \}\}", text)) == {
        "$labels.severity",
        "$labels.database",
        "$labels.server",
        "$labels.limit",
        "$labels.cluster",
        '$value | printf \\"%.0f\\"',
    }


def test_the_commands_of_alerts_are_accepted() -> None:
    """The commands that an alert recommends run, and their options exist."""
    commands = re.findall(
        r'details: "(gpcatalog audit --only \S+); (gpcatalog rules \S+)"', rules_text()
    )
    assert len(commands) == len(rules.every())
    audit, page = commands[0]
    assert run(*audit.split()[1:], "--snapshot", str(FIXTURE)).returncode == 0
    assert run(*page.split()[1:]).returncode == 0


@pytest.mark.parametrize(
    "more", [["dbname=x"], ["--snapshot", "x"], ["--folder", "x"], ["--store"]]
)
def test_rules_are_of_no_database(more: list[str]) -> None:
    done = run("metrics", "--alerts", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--alerts prints rules for all databases" in done.stderr


def test_the_rules_are_well_formed(promtool: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(rules_text())
    done = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"SUCCESS: {len(rules.every()) + 5 + len(RECORDS)} rules found" in done.stdout


@pytest.mark.parametrize("name", ["gp6", "gp7", "pg15", "pg18"])
def test_metrics_are_well_formed(name: str, promtool: str) -> None:
    done = subprocess.run(
        [promtool, "check", "metrics"],
        stdin=(GOLDEN / f"{name}.prom").open(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_all_metrics_of_a_server_are_well_formed(promtool: str) -> None:
    """With counters and latencies, which made snapshots do not have."""
    result = subprocess.run(
        [sys.executable, "-m", "gpcatalog", "metrics", "--snapshot", str(FIXTURE)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert " counter\n" in result.stdout
    done = subprocess.run(
        [promtool, "check", "metrics"], input=result.stdout, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WHERE = 'server="s",database="d"'
DAY = 24  # number of samples per day


def series(name: str, labels: str, values: str) -> dict[str, str]:
    return {"series": f"{name}{{{WHERE}{',' if labels else ''}{labels}}}", "values": values}


def firing(at: str, *names: str) -> dict[str, object]:
    """The expected firing alerts at a time."""
    return {
        "expr": 'count by (alertname, severity) (ALERTS{alertstate="firing"})',
        "eval_time": at,
        "exp_samples": [
            {"labels": f'{{alertname="{n.split()[0]}",severity="{n.split()[1]}"}}', "value": 1}
            for n in names
        ],
    }


FRESH = series("gpcatalog_snapshot_timestamp_seconds", "", f"0+3600x{40 * DAY}")
CASES: dict[str, tuple[list[dict[str, str]], list[dict[str, object]]]] = {
    # from 0.5, rising by 0.01 per day: the limit is near after 20 days, and exceeded after 50
    "a growing limit": (
        [FRESH, series("gpcatalog_limit_ratio", 'limit="leaves"', f"0.5+{0.01 / DAY}x{40 * DAY}")],
        [firing("10d"), firing("25d", "GpcatalogLimitSoon warning")],
    ),
    "a limit that is reached": (
        [FRESH, series("gpcatalog_limit_ratio", 'limit="leaves"', f"0.9+{0.01 / DAY}x{40 * DAY}")],
        [firing("5d", "GpcatalogLimitSoon warning"), firing("12d")],
    ),
    "a falling limit": (
        [FRESH, series("gpcatalog_limit_ratio", 'limit="leaves"', f"0.99-{0.01 / DAY}x{40 * DAY}")],
        [firing("20d")],
    ),
    "findings come and go": (
        [
            FRESH,
            series(
                "gpcatalog_rule_findings",
                'rule="premake-cover-low",severity="critical"',
                f"_x{2 * DAY} 1x{DAY} stale",
            ),
            series(
                "gpcatalog_rule_findings",
                'rule="upkeep-overdue",severity="warning"',
                f"_x{3 * DAY} 1x{DAY} stale",
            ),
            series(
                "gpcatalog_rule_findings", 'rule="partition-gap",severity="notice"', f"1x{5 * DAY}"
            ),
        ],
        [
            firing("1d"),
            firing("2d12h", "GpcatalogPremakeCoverLow critical"),
            firing("3d12h", "GpcatalogUpkeepOverdue warning"),
            firing("5d"),
        ],
    ),
    "a job that has stopped": (
        [
            series(
                "gpcatalog_snapshot_timestamp_seconds", "", f"0+3600x{DAY} {DAY * 3600}x{9 * DAY}"
            )
        ],
        [firing("2d"), firing("4d", "GpcatalogSnapshotOld warning")],
    ),
    "a cluster that is down, then a database": (
        [
            FRESH,
            {
                "series": 'gpcatalog_cluster_up{cluster="c"}',
                "values": f"1x{DAY} 0x{DAY} 1x{3 * DAY}",
            },
            {
                "series": 'gpcatalog_cluster_databases_unread{cluster="c"}',
                "values": f"0x{DAY} _x{2 * DAY} 2x{DAY} 0x{DAY}",
            },
        ],
        [
            firing("12h"),
            firing("1d12h", "GpcatalogClusterNotRead critical"),
            firing("2d12h"),
            firing("3d12h", "GpcatalogClusterNotRead critical"),
            firing("4d12h"),
        ],
    ),
    "probes that were denied": (
        [
            FRESH,
            series("gpcatalog_probes", 'status="read"', f"60x{5 * DAY}"),
            series("gpcatalog_probes", 'status="not applicable"', f"2x{5 * DAY}"),
            series("gpcatalog_probes", 'status="denied"', f"0x{DAY} 3x{DAY} 0x{DAY}"),
        ],
        [firing("12h"), firing("1d12h", "GpcatalogNotRead notice"), firing("2d12h")],
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_alerts(name: str, promtool: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(rules_text())
    given, expected = CASES[name]
    test = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "1h",
        "tests": [{"interval": "1h", "input_series": given, "promql_expr_test": expected}],
    }
    file = tmp_path / "test.yml"
    file.write_text(json.dumps(test))  # JSON is YAML
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert SOON_DAYS == 30
