"""The rules of the check, one file per subject; a rule is one documented function."""

from gpcatalog.check.rules import (
    cost,
    ignores,
    lengths,
    locking,
    memory,
    parse_errors,
    partitions,
    storage,
)  # the rules register themselves
from gpcatalog.check.rules.ignores import check_ignore
from gpcatalog.check.rules.registry import NEVER_IGNORED, Check, every, page
from gpcatalog.model.rule_registry import PARTS

__all__ = [
    "NEVER_IGNORED",
    "PARTS",
    "Check",
    "check_ignore",
    "cost",
    "every",
    "ignores",
    "lengths",
    "locking",
    "memory",
    "page",
    "parse_errors",
    "partitions",
    "storage",
]
