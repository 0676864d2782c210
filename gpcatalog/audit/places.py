"""Names of instances in messages."""

from __future__ import annotations

from gpcatalog.audit.report import Report


def where(content: int, report: Report) -> str:
    """The instance of a content id: the server itself, the coordinator or a segment."""
    if not report.server.segments:
        return "this server"
    return "the coordinator" if content == -1 else f"segment {content}"
