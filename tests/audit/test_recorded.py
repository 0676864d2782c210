"""Audits of the databases whose answers are recorded, as text, JSON and metrics, compared with files that a person has reviewed.

GPCATALOG_TEST_UPDATE=1 pytest tests/audit/test_recorded.py    rewrites these files; review the difference before you commit it
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from gpcatalog.cli import app
from tests.probes.replay import Answers, ReplaySession, collected
from tests.recorded import read, recorded

GOLDEN = Path(__file__).parent / "golden"
# values that differ between runs: the time of the run, durations, and random names
_SETTLE = (
    "UPDATE snapshot SET taken_at = TIMESTAMP '2026-11-23 12:00:00', seconds = 1, snapshot_id = '0123456789abcdef'",
    "UPDATE coverage SET seconds = 0.001 WHERE seconds IS NOT NULL",
    "DELETE FROM timing",
)
COMMANDS = {
    "txt": ["audit"],
    "verbose.txt": ["audit", "--verbose"],
    "json": ["audit", "--format", "json"],
    "prom": ["metrics"],
}


def compact(text: str) -> str:
    """JSON with one list element per line; the coverage is sorted, because its order depends on threads.

    The number of tables that are compared with the segment file lists is left out, because it depends on the time of the listing.
    """
    report = json.loads(text)
    del report["files"]["compared"]
    lines = []
    for key, value in report.items():
        items = value if isinstance(value, list) else [value]
        texts = [json.dumps(item, ensure_ascii=False) for item in items]
        lines += [f"{key}: {x}" for x in (sorted(texts) if key == "coverage" else texts)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", recorded("truth"), ids=lambda p: p.stem)
def test_reports(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, *entries = read(path)
    file = collected(ReplaySession(Answers().load(entries)), Path("now.gpcatalog"))
    with duckdb.connect(str(file)) as db:
        for statement in _SETTLE:
            db.execute(statement)
    for suffix, words in COMMANDS.items():
        result = CliRunner().invoke(app, [*words, "--snapshot", str(file)])
        assert result.exception is None or result.exit_code == 1, result.output
        found = compact(result.stdout) if suffix == "json" else result.stdout
        golden = GOLDEN / f"{path.stem.removeprefix('truth_')}.{suffix}"
        if os.environ.get("GPCATALOG_TEST_UPDATE"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(found)
        assert found == golden.read_text(), golden.name
