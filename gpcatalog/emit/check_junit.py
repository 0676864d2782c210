"""Output of the check as JUnit XML: one test case per file and rule with findings, and one that
passes for each file without findings.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from gpcatalog.check.report import CheckReport, LocatedFinding
from gpcatalog.model.names import printable

# characters that XML 1.0 does not allow, not even escaped
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: str) -> str:
    """Keep line ends and tabs; escape or replace characters that are unsafe on terminals or not
    allowed in XML.
    """
    return _FORBIDDEN.sub("\ufffd", "".join(c if c in "\n\t" else printable(c) for c in text))


def _case(found: LocatedFinding) -> str:
    finding = found.finding
    name = quoteattr(_clean(f"{finding.rule} at line {found.line}"))
    body = escape(
        _clean(
            f"{found.file}:{found.line}:{found.column}\n{found.source_line}\n{finding.detail}\n{finding.remedy}"
        )
    )
    return (
        f"  <testcase classname={quoteattr(_clean(found.file))} name={name}>\n   <failure"
        f" type={quoteattr(finding.severity.word)}"
        f" message={quoteattr(_clean(finding.title))}>{body}</failure>\n  </testcase>\n"
    )


def render(report: CheckReport) -> str:
    """A test suite with failures."""
    fired = {found.file for found in report.findings}
    clean = [file for file in report.files if file not in fired]
    cases = "".join(_case(found) for found in report.findings) + "".join(
        f'  <testcase classname={quoteattr(_clean(file))} name="clean"/>\n' for file in clean
    )
    tests, failures = len(report.findings) + len(clean), len(report.findings)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="{tests}"'
        f' failures="{failures}">\n <testsuite name="gpcatalog check" tests="{tests}"'
        f' failures="{failures}" errors="0" skipped="0">\n{cases} </testsuite>\n</testsuites>\n'
    )
