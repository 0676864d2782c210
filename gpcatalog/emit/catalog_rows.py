"""The live rows of catalogs as text: counted, derived, or an estimate of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpcatalog.audit.report import CatalogRow, CatalogSummary, Report
from gpcatalog.model.quantity import count

NOTE = "~: estimate of the last VACUUM or ANALYZE"
"""The meaning of the sign before an estimate."""


def live_rows(report: Report, shown: Sequence[CatalogSummary]) -> Mapping[str, str]:
    """Live rows of these catalogs by name: of the entry instance, else of the largest segment;
    estimates with "~", "?" if unknown.
    """
    names = {summary.relation for summary in shown}
    by: dict[tuple[str, int], CatalogRow] = {
        (row.relation, row.content): row for row in report.catalogs if row.relation in names
    }
    return {
        summary.relation: _text(
            by.get((summary.relation, -1)) or by.get((summary.relation, summary.worst_content))
        )
        for summary in shown
    }


def note(texts: Mapping[str, str]) -> str:
    """A sentence that explains the sign before estimates; empty if there are none."""
    return f"{NOTE}." if any(text.startswith("~") for text in texts.values()) else ""


def _text(row: CatalogRow | None) -> str:
    if row is None or row.rows is None:
        return "?"
    return f"~{count(row.rows)}" if row.rows_basis == "estimate" else count(row.rows)
