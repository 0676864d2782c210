"""The first two lines of an audit: the state, and what to do next."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.report import Coverage, Report
from gpcatalog.emit.audit_text import verdict_lines
from gpcatalog.store.snapshot import Snapshot

FIXTURE = Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog"


@pytest.fixture(scope="module")
def report() -> Report:
    with Snapshot(FIXTURE) as snapshot:
        found = build(snapshot)
    return msgspec.structs.replace(found, findings=rules.run(found, []))


def lines(report: Report, *statuses: str) -> list[str]:
    """The verdict of a report without findings, whose probes ended in these states."""
    probes = tuple(Coverage(f"probe{n}", s, "", "", None) for n, s in enumerate(statuses))
    quiet = msgspec.structs.replace(report, findings=(), coverage=probes)
    return [line.plain for line in verdict_lines(quiet)]


def test_complete(report: Report) -> None:
    first, following = lines(report, "read", "not applicable")
    assert first.startswith("OK: no findings. The limit that is closest: ")
    assert following.startswith("Next: nothing to do.")


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("denied", "`gpcatalog doctor` prints the GRANT for each missing privilege"),
        ("busy", "run the audit again when the lock on the catalog is released"),
        ("timed out", "run the audit again with a longer --statement-timeout"),
        ("segment down", "recover the segment (gprecoverseg), then run the audit again"),
        ("failed", "--verbose lists the reasons"),
    ],
)
def test_incomplete(report: Report, status: str, remedy: str) -> None:
    first, following = lines(report, "read", status, status, "denied", "not applicable")
    assert first.startswith("INCOMPLETE: 3 of 5 probes could not be read.")
    assert following == f"Next: {remedy}."


def test_findings_come_first(report: Report) -> None:
    probes = (Coverage("a", "read", "", "", None), Coverage("b", "busy", "", "", None))
    first, _ = verdict_lines(msgspec.structs.replace(report, coverage=probes))
    assert first.plain == (
        "WARNING: 367 of 1,868 leaves are empty (20%). Incomplete: 1 of 2 probes could not be read."
    )


def test_one_rule_does_not_clear_the_others(report: Report) -> None:
    alone = msgspec.structs.replace(report, findings=(), only=("lock-manager-waits",))
    first, following = (line.plain for line in verdict_lines(alone))
    assert first == "NO FINDINGS of lock-manager-waits; no other rule ran."
    assert following == "Next: run the audit without --only."
