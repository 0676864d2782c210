"""The first two lines of an audit: the state, and the next action."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.report import Coverage, Report, Verdict
from gpcatalog.emit.audit_text import verdict_lines
from gpcatalog.store.snapshot import Snapshot

FIXTURE = Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog"


@pytest.fixture(scope="module")
def report() -> Report:
    with Snapshot(FIXTURE) as snapshot:
        found = build(snapshot)
    return msgspec.structs.replace(found, findings=rules.run(found, []))


def lines(report: Report, *statuses: str) -> list[str]:
    """The verdict of a report without findings, whose probes ended with these statuses."""
    probes = tuple(Coverage(f"probe{n}", s, "", "", None) for n, s in enumerate(statuses))
    quiet = msgspec.structs.replace(report, findings=(), coverage=probes)
    return [line.plain for line in verdict_lines(quiet)]


def test_complete(report: Report) -> None:
    within = tuple(v for v in report.verdicts if v.state != "over")
    within_limits = msgspec.structs.replace(report, verdicts=within)
    first, following = lines(within_limits, "read", "not applicable")
    assert first.startswith("OK: no findings. The limit that is closest: ")
    assert following.startswith("Next: nothing to do.")


def with_limits(report: Report, *states: tuple[str, bool]) -> Report:
    """The report with limits that have these states; the second value states whether the limit is a minimum."""
    limits = tuple(
        Verdict(
            id=f"l{n}", what=f"thing {n}", value=5, limit=4, unit="files", share=1.25, state=state,
            source="s", note="", minimum=minimum,
        )
        for n, (state, minimum) in enumerate(states)
    )  # fmt: skip
    return msgspec.structs.replace(report, verdicts=limits)


def test_a_violated_limit_is_not_ok(report: Report) -> None:
    first, following = lines(
        with_limits(report, ("over", True), ("over", False), ("near", False)), "read"
    )
    assert first == (
        "NOTICE: no findings, but limits are violated: thing 0 5 files (minimum 4 files),"
        " thing 1 5 files (limit 4 files)."
    )
    assert following == "Next: --verbose lists all limits with their sources."


def test_a_minimum_is_not_the_closest_limit(report: Report) -> None:
    first, _ = lines(with_limits(report, ("near", True), ("near", False)), "read")
    assert first == "OK: no findings. The limit that is closest: thing 1, 5 files of 4 files."
    first, _ = lines(with_limits(report, ("near", True)), "read")
    assert first == "OK: no findings."


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
