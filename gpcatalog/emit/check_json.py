"""Output of the check as JSON, versioned by its `schema`."""

from __future__ import annotations

import msgspec

from gpcatalog.check.report import CheckReport
from gpcatalog.emit.as_json import encode


def render(report: CheckReport) -> str:
    """The whole report."""
    return encode(msgspec.structs.replace(report, findings=tuple(report.findings)))
