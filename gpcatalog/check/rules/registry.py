"""The registry of the check's rules: each is one function whose docstring is its page."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from gpcatalog.check.report import RuleContext
from gpcatalog.effects.relations import Partition
from gpcatalog.model.rule_registry import RuleRegistry

Check = Callable[[RuleContext], None]
# Rules about the text, not about its cost: they cannot be ignored with a comment
NEVER_IGNORED = frozenset(
    ("syntax-error", "ignore-without-reason", "ignore-unused", "ignore-unknown-rule")
)
DEFAULT_LOCK_SLOTS = (
    128 * 250
)  # max_locks_per_transaction × max_connections; the defaults of a Greenplum installation

RULES: RuleRegistry[Check] = RuleRegistry("gpcatalog check --rules")
rule, every, page = RULES.rule, RULES.every, RULES.page


def created(s: RuleContext) -> exp.Create | None:
    """The tree of the statement if it is a CREATE TABLE; None otherwise."""
    tree = s.statement.tree
    return (
        tree
        if isinstance(tree, exp.Create)
        and tree.args.get("kind") == "TABLE"
        and s.effect.table is not None
        else None
    )


def property_of(tree: exp.Create, kind: type[exp.Expression]) -> exp.Expression | None:
    """Return the property of this type of a CREATE; None if it has none."""
    properties = tree.args.get("properties")
    return (
        next((p for p in properties.expressions if isinstance(p, kind)), None)
        if properties is not None
        else None
    )


def name_of(tree: exp.Create) -> exp.Expression:
    """Return the name in a CREATE."""
    found = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    assert isinstance(found, exp.Expression)
    return found


def walk(parts: list[Partition]) -> list[Partition]:
    """Partitions with all partitions below them."""
    return [x for part in parts for x in part.walk()]


class TextRange:
    """A position in the text for a finding that has no node."""

    def __init__(self, start: int, end: int) -> None:
        self._meta = {"start": start, "end": end}
