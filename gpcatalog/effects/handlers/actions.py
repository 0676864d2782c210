"""Actions of ALTER TABLE: their registry, and functions that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import registered
from gpcatalog.effects.relations import Table

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


Action = Callable[["SchemaState", Table, Any, Effect], None]
ACTIONS: dict[str, Action] = {}


def acts(*kinds: str) -> Callable[[Action], Action]:
    """Register a function as the handler of these actions.

    Raises ValueError if one has a handler.
    """
    return registered(ACTIONS, kinds)


# actions that take a weaker lock than AccessExclusiveLock on the table
WEAK_LOCK = ("AttachPartition", "ValidateConstraint", "DetachPartition")

# actions that do not change the number of rows of any catalog
NO_ROWS = frozenset(
    """RenameColumnTo RenameConstraint ValidateConstraint ClusterOn EnableDisable ReplicaIdentity RenamePartition TruncatePartition
    AlterConstraint InheritConstraint SetSchema AttachIndex""".split()
)


def action_has_only(action: exp.Expression) -> bool:
    """Return whether an action of ALTER TABLE applies to the table only (ONLY)."""
    target = action.parent.this if action.parent is not None else None
    return isinstance(target, gx.RelationName) and bool(target.args.get("only"))


def affected_tables(state: SchemaState, table: Table, action: exp.Expression) -> list[Table]:
    """The table, its partitions that are separate tables here, and the tables that inherit from
    it.
    """
    only = action_has_only(action)
    return [table] if only else [table, *state.partitions_of(table), *state.inheriting(table)]


def losing(
    family: list[Table], has: Callable[[Table], bool], own: Callable[[Table], bool]
) -> set[tuple[str, str]]:
    """Names of the tables that lose a property when the first of them loses it: those that have it
    only by inheritance, and not from a table that keeps it.

    family: as returned by `affected_tables`, parents before children
    """
    by_name = {(one.schema, one.name): one for one in family}
    lost = set(list(by_name)[:1])
    for name, one in list(by_name.items())[1:]:
        above = [key for key in (one.parent, *one.inherits) if key in by_name]
        kept = any(has(by_name[key]) and key not in lost for key in above if key is not None)
        if has(one) and not own(one) and not kept:
            lost.add(name)
    return lost


def own_constraints(table: Table, above: Table | None = None) -> None:
    """Mark all constraints that have one row each as the table's own; those that the table above it
    also has, as inherited only.
    """
    required = {c.name for c in above.columns if c.not_null} if above is not None else set()
    checks = {c.name for c in above.checks} if above is not None else set()
    table.columns = [
        replace(c, own_not_null=c.not_null and c.name not in required) for c in table.columns
    ]
    table.checks = [replace(c, own=c.name not in checks) for c in table.checks]


def unknown_toast(table: Table, edition: Edition) -> str:
    """Return a message with the columns of unknown type because of which it is unknown whether the
    table has a TOAST relation, or "".
    """
    names = [c.name for c in table.columns if not c.type]
    if not names or replace(table, columns=[c for c in table.columns if c.type]).needs_toast(
        edition
    ):
        return ""
    return f"unknown type of {', '.join(names[:3])} (TOAST relation)"
