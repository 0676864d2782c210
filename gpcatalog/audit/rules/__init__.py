"""The rules of the audit, one file a subject: a rule is one documented function from a report to findings."""

from __future__ import annotations

from collections.abc import Iterable

from gpcatalog.audit.report import Report
from gpcatalog.audit.rules import catalogs, files, leftovers, partitions, time
from gpcatalog.audit.rules.registry import PARTS, Check, every, page, rule
from gpcatalog.model.finding import Confidence, Finding

__all__ = [
    "PARTS",
    "Check",
    "catalogs",
    "every",
    "files",
    "leftovers",
    "page",
    "partitions",
    "rule",
    "run",
    "time",
]


def run(report: Report, only: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Findings of all rules, or of those named: the worst first, and of these the surest.

    Raises CatalogError when a name is no rule's.
    """
    checks = every()
    wanted = list(only) or list(checks)
    for id in wanted:
        page(id)  # raises for a name that is none
    found = [finding for id in wanted for finding in checks[id](report)]
    return tuple(
        sorted(
            found,
            key=lambda f: (
                -f.severity,
                list(Confidence).index(f.confidence),
                f.rule,
                f.content if f.content is not None else -2,
                f.title,
            ),
        )
    )
