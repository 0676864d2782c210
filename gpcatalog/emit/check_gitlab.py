"""Output of the check as a GitLab code quality report."""

from __future__ import annotations

import json

from gpcatalog.check.report import CheckReport
from gpcatalog.emit.check_sarif import fingerprint
from gpcatalog.model.finding import Severity
from gpcatalog.model.names import json_safe

_SEVERITY = {
    Severity.CRITICAL: "critical",
    Severity.WARNING: "major",
    Severity.NOTICE: "minor",
    Severity.INFO: "info",
}


def render(report: CheckReport) -> str:
    """A list of issues with unique fingerprints, which GitLab requires."""
    seen: dict[str, int] = {}
    issues = []
    for found in report.findings:
        mark = fingerprint(found)
        seen[mark] = seen.get(mark, 0) + 1
        issues.append(
            {
                "description": f"{found.finding.title}. {found.finding.remedy}.",
                "check_name": found.finding.rule,
                "fingerprint": f"{mark}{seen[mark]:x}",
                "severity": _SEVERITY[found.finding.severity],
                "location": {
                    "path": found.file.removeprefix("./"),
                    "lines": {"begin": found.line, "end": found.end_line},
                },
            }
        )
    return json_safe(json.dumps(issues, ensure_ascii=False, indent=1)) + "\n"
