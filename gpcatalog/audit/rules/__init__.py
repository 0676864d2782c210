"""The rules of the audit, one module per subject. A rule is a documented function that returns
findings from a report.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpcatalog.audit.report import Report
from gpcatalog.audit.rules import catalogs, files, leftovers, partitions, sessions, time, upkeep
from gpcatalog.audit.rules.registry import (
    HARMS,
    PARTS,
    Check,
    Harm,
    every,
    for_standby,
    page,
    refuses_transactions,
    rule,
)
from gpcatalog.model.finding import Confidence, Finding

__all__ = [
    "PARTS",
    "Check",
    "Harm",
    "catalogs",
    "every",
    "files",
    "leftovers",
    "page",
    "partitions",
    "rule",
    "run",
    "sessions",
    "time",
    "upkeep",
]


def run(report: Report, only: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Return the findings of all rules, or of the rules in `only`, by severity, then confidence,
    then harm. A server that refuses new transactions comes first.

    On a standby, remedies that write name the primary.

    Raises CatalogError for an unknown rule.
    """
    checks = every()
    rule_ids = list(only) or list(checks)
    for id in rule_ids:
        page(id)  # raises CatalogError for an unknown rule
    found = [finding for id in rule_ids for finding in checks[id](report)]
    if report.server.standby:
        found = [for_standby(finding) for finding in found]
    return tuple(
        sorted(
            found,
            key=lambda f: (
                not refuses_transactions(f),
                -f.severity,
                list(Confidence).index(f.confidence),
                HARMS[f.rule],
                f.rule,
                f.content if f.content is not None else -2,
                f.title,
            ),
        )
    )
