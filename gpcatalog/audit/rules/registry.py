"""The registry of the audit's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum

import msgspec

from gpcatalog.audit.report import Report
from gpcatalog.model.finding import Finding
from gpcatalog.model.rule_registry import PARTS, RuleRegistry

Check = Callable[[Report], Iterator[Finding]]
RULES: RuleRegistry[Check] = RuleRegistry("gpcatalog rules")
every, page = RULES.every, RULES.page


class Harm(IntEnum):
    """The consequence of a problem, the worst first. Orders findings of equal severity and
    confidence.
    """

    OUTAGE = 0  # statements fail, rows may be lost, or an instance is down
    SLOW = 1  # queries, DDL or sessions are slower than they could be
    SPACE = 2  # disk space, files or catalog rows are wasted
    UPKEEP = 3  # maintenance is missing


HARMS: dict[str, Harm] = {}  # by rule
_OWN_REMEDY: set[str] = set()  # rules whose remedy is done on the standby that has the problem


def rule(id: str, harm: Harm, *, own_remedy: bool = False) -> Callable[[Check], Check]:
    """Return a decorator that registers a rule of the audit.

    own_remedy: on a standby, the remedy is for sessions or settings of the standby. The remedies of
                other rules write, which only the primary can do
    """
    HARMS[id] = harm
    if own_remedy:
        _OWN_REMEDY.add(id)
    return RULES.rule(id)


def for_standby(finding: Finding) -> Finding:
    """Return a finding of a standby with the server on which its remedy must be done."""
    if finding.rule in _OWN_REMEDY:
        return finding
    remedy = f"on the primary (this server is a standby): {finding.remedy}"
    return msgspec.structs.replace(finding, remedy=remedy)


def refuses_transactions(finding: Finding) -> bool:
    """Whether a finding reports that a server refuses new transactions or multixacts. Such a
    finding comes before all others: most of their remedies fail until it is solved.
    """
    figures = {f.name: f.value for f in finding.figures}
    return finding.rule == "transactions-age" and (
        figures.get("age", 0) >= figures.get("server refuses from", float("inf"))
    )


__all__ = [
    "HARMS",
    "PARTS",
    "RULES",
    "Check",
    "Harm",
    "every",
    "for_standby",
    "page",
    "refuses_transactions",
    "rule",
]
