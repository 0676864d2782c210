"""Audits as a Nagios plugin: states, performance data, and the real wrapper of the monitoring plugins."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpcatalog.audit.cluster import combine
from gpcatalog.audit.report import Coverage, Report
from gpcatalog.emit import nagios
from gpcatalog.model.finding import Confidence, Finding, Severity
from gpcatalog.services.audits import audit_snapshot
from tests import program
from tests.conftest import missing

FIXTURE = Path(__file__).parents[2] / "fixtures" / "greenplum6.gpcatalog"
NEGATE = Path("/usr/lib/nagios/plugins/negate")
# from the guidelines for plugins: 'label'=value[UOM];[warn];[crit]
VALUE = re.compile(
    r"'((?:[^'=|]|'')+)'=(U|-?[\d.e+]+(?:B|s|ms)?);([\d.e+]+:?)?;([\d.e+]+:?)?(?: |$)"
)


@pytest.fixture(scope="module")
def report() -> Report:
    return audit_snapshot(FIXTURE, [])


def finding(severity: Severity, title: str = "it is so") -> Finding:
    return Finding(
        rule="r",
        severity=severity,
        confidence=Confidence.HIGH,
        title=title,
        detail="",
        remedy="do this",
        source="s",
    )


def values(text: str) -> dict[str, tuple[str, str, str]]:
    """Performance data of the first line; all of it must be well-formed."""
    first = text.splitlines()[0]
    assert first.count("|") == 1
    data = first.partition(" | ")[2]
    found = VALUE.findall(data)
    assert "".join(m.group(0) for m in VALUE.finditer(data)) == data
    return {label: (value, warn, crit) for label, value, warn, crit in found}


@pytest.mark.parametrize(
    ("severities", "word", "code", "summary"),
    [
        ([], "OK", 0, "no problems found"),
        ([Severity.NOTICE, Severity.INFO], "OK", 0, "no problems found"),
        ([Severity.WARNING, Severity.NOTICE], "WARNING", 1, "1 warning: it is so"),
        ([Severity.WARNING] * 2, "WARNING", 1, "2 warnings: it is so"),
        ([Severity.CRITICAL, Severity.WARNING], "CRITICAL", 2, "1 critical, 1 warning: it is so"),
    ],
)
def test_states(
    report: Report, severities: list[Severity], word: str, code: int, summary: str
) -> None:
    given = msgspec.structs.replace(report, findings=tuple(map(finding, severities)))
    text, found = nagios.of_report(given)
    assert found == code
    assert text.startswith(f"GPCATALOG {word} - database warehouse: {summary} | ")
    reported = [s for s in severities if s >= Severity.WARNING]
    assert text.splitlines()[1:] == [f"{s.word}: it is so; do this" for s in reported]


def test_what_was_not_measured_is_unknown(report: Report) -> None:
    bare = msgspec.structs.replace(report, findings=(), census=None)
    assert nagios.of_report(bare)[1] == nagios.UNKNOWN
    assert nagios.of_report(msgspec.structs.replace(report, findings=(), instance_totals=()))[1] == nagios.UNKNOWN  # fmt: skip
    # a critical finding remains critical, even if other results are unknown
    bad = msgspec.structs.replace(bare, findings=(finding(Severity.CRITICAL),))
    assert nagios.of_report(bad)[1] == nagios.CRITICAL
    denied = Coverage("files", "denied", "", "", None)
    some = msgspec.structs.replace(report, findings=(), coverage=(*report.coverage, denied))
    text, code = nagios.of_report(some)
    assert code == nagios.OK
    assert "no problems found; 1 probe not read | " in text


def test_performance_data(report: Report) -> None:
    found = values(nagios.of_report(report)[0])
    assert set(found) == {v.id for v in report.verdicts}
    for v in report.verdicts:
        value, warn, crit = found[v.id]
        assert v.value is not None
        assert float(re.sub("[a-zA-Z]+$", "", value)) == pytest.approx(v.value, rel=1e-4)
        if v.minimum:
            assert (warn, crit) == (f"{v.limit:.0f}:", "")
        else:
            assert float(warn) == pytest.approx(0.8 * v.limit, rel=1e-4)
            assert float(crit) == pytest.approx(v.limit, rel=1e-4)
    assert found["average-file-target-low"][0].endswith("B")
    nothing = tuple(msgspec.structs.replace(v, value=None) for v in report.verdicts)
    unread = values(nagios.of_report(msgspec.structs.replace(report, verdicts=nothing))[0])
    assert {value for value, _, _ in unread.values()} == {"U"}


def test_hostile_names(report: Report) -> None:
    """No character of a name ends the line or starts performance data or a label."""
    hostile = "a|'b'=1;\n\x1b[31mGPCATALOG OK"
    server = msgspec.structs.replace(report.server, database=hostile)
    given = msgspec.structs.replace(
        report, server=server, findings=(finding(Severity.WARNING, hostile),)
    )
    text, code = nagios.of_report(given)
    assert code == nagios.WARNING
    assert len(text.splitlines()) == 2
    assert set(values(text)) == {v.id for v in report.verdicts}
    assert "|" not in text.splitlines()[1]
    assert "\x1b" not in text
    both, _ = nagios.of_cluster(combine([given, report], []))
    assert len(values(both)) == 2 * len(report.verdicts) + 2


def test_clusters(report: Report) -> None:
    fine = msgspec.structs.replace(report, findings=())
    text, code = nagios.of_cluster(combine([fine, fine], []))
    assert (text.partition(" | ")[0], code) == ("GPCATALOG OK - 2 databases: no problems found", 0)
    text, code = nagios.of_cluster(combine([fine], [("lost", "it is down")]))
    assert code == nagios.UNKNOWN
    assert "1 database: no problems found; not audited: 1, lost: it is down | " in text
    assert nagios.of_cluster(combine([report], [("lost", "down")]))[1] == nagios.WARNING
    bare = msgspec.structs.replace(fine, census=None)
    assert nagios.of_cluster(combine([fine, bare], []))[1] == nagios.UNKNOWN


def test_long_output_is_cut(report: Report) -> None:
    many = tuple(finding(Severity.WARNING, f"{n} " + "x" * 300) for n in range(50))
    text, _ = nagios.of_report(msgspec.structs.replace(report, findings=many))
    assert len(text) <= 2 * nagios.LONGEST
    assert values(text)
    assert len(text.splitlines()) > 5
    # with many databases, the findings are still printed
    server = report.server
    every = [
        msgspec.structs.replace(
            report, server=msgspec.structs.replace(server, database="ü" * 60 + str(n))
        )
        for n in range(60)
    ]
    text, _ = nagios.of_cluster(combine(every, []))
    assert len(text.encode()) <= 8000
    assert len(text.splitlines()) > 5
    assert len(values(text)) > 10


def run(*words: str, before: tuple[str, ...] = ()) -> tuple[int, str, str]:
    words = ("audit", "--format", "nagios", *words)
    if before:
        done = subprocess.run(
            [*before, sys.executable, "-m", "gpcatalog", *words],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(FIXTURE.parents[1])},
        )
    else:
        done = program.run(*words)
    return done.returncode, done.stdout, done.stderr


def test_the_command() -> None:
    code, out, err = run("--snapshot", str(FIXTURE))
    assert (code, err) == (1, "")
    assert out.startswith("GPCATALOG WARNING - database warehouse: 3 warnings: ")
    # a failure is reported as a state, on standard output
    code, out, err = run("host=127.0.0.1 port=1")
    assert (code, err) == (3, "")
    assert out.startswith("GPCATALOG UNKNOWN - cannot connect: ")
    assert len(out.splitlines()) == 1
    assert run("--snapshot", "/nowhere")[:1] == (3,)
    # invalid options are not a state of the database
    for wrong in (["--fail-on", "notice"], ["--verbose"], ["--only", "nonsense"]):
        code, out, _ = run("--snapshot", str(FIXTURE), *wrong)
        assert code == 3
        assert out.startswith("GPCATALOG UNKNOWN - ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nonsense",), "unknown option: --nonsense"),
        (("--snapshot",), "--snapshot needs a value"),
        (("--format", "xml"), "--format must be one of 'text', 'json', 'nagios'"),
        (("--only", "nothing"), "nothing"),
        (("--snapshot", "/nowhere"), "there is no snapshot file /nowhere"),
        (("--only", "x", "--snapshot", str(FIXTURE), "two", "three"), "three"),
    ],
)
def test_a_call_that_cannot_be_run_is_unknown(words: tuple[str, ...], message: str) -> None:
    """According to the guidelines for plugins. Exit code 2, used for such errors in other formats, means CRITICAL."""
    code, out, err = run(*words)
    assert (code, err) == (nagios.UNKNOWN, "")
    assert out.startswith("GPCATALOG UNKNOWN - ")
    assert message in out


def test_only_audit_is_a_plugin() -> None:
    done = program.run("check", "--format", "nagios", "x.sql")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--format must be one of" in done.stderr


def test_a_full_disk_is_unknown_and_reported_on_standard_error() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "gpcatalog",
                "audit",
                "--format",
                "nagios",
                "--snapshot",
                str(FIXTURE),
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(FIXTURE.parents[1])},
        )
    assert done.returncode == nagios.UNKNOWN
    assert "cannot write" in done.stderr


def test_the_wrapper_of_the_monitoring_plugins() -> None:
    """`negate` reads the state from the exit code, and replaces it in the text."""
    if not NEGATE.exists():
        missing("negate", "install monitoring-plugins-basic")
    before = (str(NEGATE), "-s", "-t", "60", "-w", "CRITICAL")
    code, out, _ = run("--snapshot", str(FIXTURE), before=before)
    assert code == 2
    assert out.startswith("GPCATALOG CRITICAL - database warehouse: ")
