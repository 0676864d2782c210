"""The register of the audit's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpcatalog.audit.report import Report
from gpcatalog.model.finding import Finding
from gpcatalog.model.rule_registry import PARTS, RuleRegistry

Check = Callable[[Report], Iterator[Finding]]
RULES: RuleRegistry[Check] = RuleRegistry("gpcatalog rules")
rule, every, page = RULES.rule, RULES.every, RULES.page

__all__ = ["PARTS", "RULES", "Check", "every", "page", "rule"]
