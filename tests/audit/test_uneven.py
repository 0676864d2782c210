"""All figures of a report and all findings, on generated snapshots, compared with files so that every change is visible.

GPCATALOG_TEST_UPDATE=1 pytest tests/audit/test_uneven.py    rewrites these files; review the difference before you commit it
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.cluster import combine
from gpcatalog.audit.report import Report
from gpcatalog.store.prune import totals_only
from gpcatalog.store.snapshot import Snapshot
from tests.audit.test_rules import CASES, LARGE, SMALLER, Given, findings
from tests.audit.uneven import SPECS, uneven

GOLDEN = Path(__file__).parent / "golden"


def compare(name: str, text: str) -> None:
    golden = GOLDEN / name
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        golden.write_text(text)
    assert text == golden.read_text(), name


def lines(value: Any) -> str:
    """JSON with one list element per line, and numbers rounded to 12 digits, because the last digits depend on the processor."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.12g}")
        if isinstance(value, dict):
            return {key: rounded(one) for key, one in value.items()}
        return [rounded(one) for one in value] if isinstance(value, list) else value

    def flatten(path: str, value: Any) -> list[str]:
        if isinstance(value, dict) and any(isinstance(v, dict | list) for v in value.values()):
            return [line for key, one in value.items() for line in flatten(f"{path}.{key}", one)]
        if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
            return [line for n, one in enumerate(value) for line in flatten(f"{path}[{n}]", one)]
        return [f"{path.removeprefix('.')}: {json.dumps(value, ensure_ascii=False)}"]

    return "\n".join(flatten("", rounded(json.loads(msgspec.json.encode(value))))) + "\n"


def report_of(given: Given, file: Path, older: Path | None = None) -> Report:
    with Snapshot(given.write(file)) as snapshot:
        if older is None:
            report = build(snapshot)
        else:
            with Snapshot(older) as before:
                report = build(snapshot, before)
    return msgspec.structs.replace(report, findings=rules.run(report))


@pytest.mark.parametrize("generation", ["gp6", "gp7", "pg15"])
def test_every_figure(generation: str, tmp_path: Path) -> None:
    older = uneven(generation, 1, SPECS[:2]).write(tmp_path / "older.gpcatalog")
    reports = [
        report_of(uneven(generation, 11), tmp_path / "11.gpcatalog", older),
        report_of(uneven(generation, 2), tmp_path / "2.gpcatalog"),
    ]
    for report, name in zip(reports, ("later", "first"), strict=True):
        compare(f"uneven_{generation}_{name}.txt", lines(report))
    cluster = combine(reports, [("locked", "no right to connect")])
    shown = {key: one for key, one in msgspec.to_builtins(cluster).items() if key != "databases"}
    compare(f"uneven_{generation}_cluster.txt", lines(shown))


def test_pruned_snapshots_tell_what_they_still_can(tmp_path: Path) -> None:
    file = uneven("gp6", 3).write(tmp_path / "made.gpcatalog")
    assert totals_only(file)
    with Snapshot(file) as snapshot:
        report = build(snapshot)
    compare("uneven_pruned.txt", lines(report))


# in one process with tests/audit/test_rules.py, which caches the findings
@pytest.mark.xdist_group("rules")
def test_what_every_rule_says() -> None:
    texts = [case(rule, n) for rule, n in SMALLER if CASES[rule][n][1] is not None]
    compare("rules.txt", "\n".join(texts))


@pytest.mark.turns
@pytest.mark.xdist_group("rules")
@pytest.mark.parametrize(("rule", "n"), [(r, n) for r, n in LARGE if CASES[r][n][1] is not None])
def test_findings_on_many_leaves(rule: str, n: int) -> None:
    compare(f"rules_{rule}_{n}.txt", case(rule, n))


def case(rule: str, n: int) -> str:
    """The findings of a rule in its case of this number, as text."""
    return f"case: {rule} {n}\n" + lines(list(findings(rule, n)))
