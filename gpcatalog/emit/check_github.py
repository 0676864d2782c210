"""Output of the check as GitHub workflow commands, which become annotations on the changed
lines.
"""

from __future__ import annotations

from gpcatalog.check.report import CheckReport
from gpcatalog.model.finding import Severity
from gpcatalog.model.names import printable

_KIND = {
    Severity.CRITICAL: "error",
    Severity.WARNING: "warning",
    Severity.NOTICE: "notice",
    Severity.INFO: "notice",
}


def _value(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _value(text).replace(":", "%3A").replace(",", "%2C")


def render(report: CheckReport) -> str:
    """One line per finding."""
    out = []
    for found in report.findings:
        finding = found.finding
        place = f"file={_property(found.file)},line={found.line},endLine={found.end_line}"
        if found.end_line == found.line:  # GitHub accepts columns only within one line
            place += f",col={found.column},endColumn={max(found.end_column, found.column)}"
        body = _value(f"{finding.title}. {finding.detail}. {finding.remedy}.")
        out.append(f"::{_KIND[finding.severity]} {place},title={_property(finding.rule)}::{body}\n")
    return "".join(out)
