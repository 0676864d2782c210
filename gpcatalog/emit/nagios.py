"""An audit as the output of a Nagios plugin: one line with performance data, then the findings.

The exit code is the plugin's: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (Monitoring Plugins Development
Guidelines).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpcatalog.audit.cluster import Cluster
from gpcatalog.audit.fleet import FleetReport
from gpcatalog.audit.report import Report, Verdict
from gpcatalog.audit.verdicts import NEAR
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.names import printable
from gpcatalog.model.quantity import plural

OK, WARNING, CRITICAL, UNKNOWN = range(4)
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
LONGEST = 4000  # bytes of the findings, and of the values: Nagios Core reads 8 KB (MAX_PLUGIN_OUTPUT_LENGTH)
FINDINGS = 20  # findings listed below the first line
_UNITS = {"bytes": "B", "s": "s", "ms": "ms"}


def _plain(text: str) -> str:
    """A text without the character that starts performance data."""
    return printable(text).replace("|", "¦")


def _label(text: str) -> str:
    """The label of a value in quotes; quotes in it are doubled, and an equal sign is not allowed.

    >>> _label("it's a=b")
    "'it''s a_b'"
    """
    return "'" + _plain(text).replace("=", "_").replace("'", "''") + "'"


def _number(value: float) -> str:
    return f"{value:.6g}" if value != int(value) else str(int(value))


def _performance(verdict: Verdict, prefix: str) -> str:
    """One value: label=value[unit];warning;critical. U is a value that was not read; a range such
    as 10: means a warning below 10.
    """
    value = "U" if verdict.value is None else _number(verdict.value) + _UNITS.get(verdict.unit, "")
    limit = verdict.limit
    bounds = (
        f"{_number(limit)}:;" if verdict.minimum else f"{_number(NEAR * limit)};{_number(limit)}"
    )
    return f"{_label(prefix + verdict.id)}={value};{bounds}"


def _output(
    state: int, head: str, findings: Sequence[Finding], performance: Iterable[str]
) -> tuple[str, int]:
    lines = [f"GPCATALOG {WORDS[state]} - {_plain(head)}"]
    values, bytes_left = [], LONGEST
    for value in performance:
        bytes_left -= len(value.encode()) + 1
        if bytes_left < 0:
            break
        values.append(value)
    listed = [f for f in findings if f.severity >= Severity.WARNING]
    lines += [
        f"{f.severity.word}: {_plain(f.title)}; {_plain(f.remedy)}" for f in listed[:FINDINGS]
    ]
    if len(listed) > FINDINGS:
        lines.append(f"and {len(listed) - FINDINGS} more")
    lines[0] = lines[0][: LONGEST // 2]
    while len("\n".join(lines).encode()) > LONGEST and len(lines) > 1:
        lines.pop()
    if values:
        lines[0] += " | " + " ".join(values)
    return "\n".join(lines) + "\n", state


def _state(findings: Sequence[Finding]) -> int:
    worst = max((f.severity for f in findings), default=Severity.INFO)
    return CRITICAL if worst >= Severity.CRITICAL else WARNING if worst >= Severity.WARNING else OK


def _summary(findings: Sequence[Finding]) -> str:
    """The number of findings of severity critical and warning, and the first finding."""
    critical, warnings = (
        sum(f.severity is severity for f in findings)
        for severity in (Severity.CRITICAL, Severity.WARNING)
    )
    numbers = [f"{critical} critical"] if critical else []
    numbers += [plural(warnings, "warning")] if warnings else []
    if not numbers:
        return "no problems found"
    return f"{', '.join(numbers)}: {findings[0].title}"


def _unread(report: Report) -> int:
    """Number of probes that could not be read."""
    return sum(c.status not in ("read", "not applicable") for c in report.coverage)


def _measured(report: Report) -> bool:
    """Whether the tables and the catalogs could be read."""
    return report.census is not None and bool(report.instance_totals)


def of_report(report: Report) -> tuple[str, int]:
    """Output and exit code for one database."""
    unread = _unread(report)
    state = _state(report.findings)
    if state == OK and not _measured(report):
        state = UNKNOWN
    head = f"database {report.server.database}: {_summary(report.findings)}"
    head += f"; {plural(unread, 'probe')} not read" if unread else ""
    return _output(state, head, report.findings, (_performance(v, "") for v in report.verdicts))


def of_cluster(cluster: Cluster) -> tuple[str, int]:
    """Output and exit code for all databases of a cluster; a database that could not be audited
    changes OK to UNKNOWN.
    """
    state = _state(cluster.findings)
    if state == OK and (cluster.unread or not all(map(_measured, cluster.databases))):
        state = UNKNOWN
    head = f"{plural(len(cluster.databases), 'database')}: {_summary(cluster.findings)}"
    unread = sum(map(_unread, cluster.databases))
    head += f"; {plural(unread, 'probe')} not read" if unread else ""
    if cluster.unread:
        one = cluster.unread[0]
        head += f"; not audited: {len(cluster.unread)}, {one.database}: {one.reason}"
    values = [_performance(v, "") for v in cluster.verdicts]
    values += [
        _performance(v, f"{r.server.database} ") for r in cluster.databases for v in r.verdicts
    ]
    return _output(state, head, cluster.findings, values)


def of_fleet(fleet: FleetReport) -> tuple[str, int]:
    """Output and exit code for a fleet; a cluster that was not read completely changes OK to
    UNKNOWN.
    """
    state = _state(fleet.findings)
    seen = [c.cluster for c in fleet.clusters if c.cluster is not None]
    databases = [r for c in seen for r in c.databases]
    failed = [c for c in fleet.clusters if not c.complete]
    if state == OK and (failed or not all(map(_measured, databases))):
        state = UNKNOWN
    head = f"{plural(len(fleet.clusters), 'cluster')}: {_summary(fleet.findings)}"
    unread = sum(map(_unread, databases))
    head += f"; {plural(unread, 'probe')} not read" if unread else ""
    if failed:
        one = failed[0]
        reason = one.error or next((f"{u.database}: {u.reason}" for u in one.unread), "")
        head += f"; not read completely: {len(failed)}, {one.name}: {reason}"
    values = [
        _performance(v, f"{c.name} {prefix}")
        for c in fleet.clusters
        if c.cluster is not None
        for prefix, verdicts in (
            ("", c.cluster.verdicts),
            *((f"{r.server.database} ", r.verdicts) for r in c.cluster.databases),
        )
        for v in verdicts
    ]
    return _output(state, head, fleet.findings, values)


def of_error(message: str) -> tuple[str, int]:
    """Output and exit code if nothing could be audited."""
    return _output(UNKNOWN, message, (), ())
