"""The registry of the audit's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum

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


def rule(id: str, harm: Harm) -> Callable[[Check], Check]:
    """Return a decorator that registers a rule of the audit."""
    HARMS[id] = harm
    return RULES.rule(id)


__all__ = ["HARMS", "PARTS", "RULES", "Check", "Harm", "every", "page", "rule"]
