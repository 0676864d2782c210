"""Triggers, rules and policies that a script creates on tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.certain import is_certain, is_complete
from gpcatalog.effects.keys import fold, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

_CREATED = {"CreateTrigger": "trigger", "CreateRule": "rule", "CreatePolicy": "policy"}
_ALTERED = {"AlterTrigger": "trigger", "AlterRule": "rule", "AlterPolicy": "policy"}


def note_attached(state: SchemaState, tree: exp.Expression) -> None:
    """Record what a statement attaches to a table, and forget what it drops or renames."""
    kind = type(tree).__name__
    if kind == "AlterTable":
        _forget_exchanged(state, tree)
    dropped = kind == "DropObject" and tree.args.get("kind") in ("TRIGGER", "RULE", "POLICY")
    node = tree.args.get("table")
    if not (kind in _CREATED or kind in _ALTERED or dropped) or node is None:
        return
    table = state.find(node)
    if table is None:
        return
    what = _CREATED.get(kind) or _ALTERED.get(kind) or str(tree.args["kind"]).lower()
    name = fold(tree.this)
    for one in (table, *state.partitions_of(table)):
        one.attached = frozenset(a for a in one.attached if a[:2] != (what, name))
    if kind in _CREATED and not state.unsure:
        called = tree.args.get("function")
        function = fold(
            called if isinstance(called, exp.Identifier) else getattr(called, "this", None)
        )
        table.attached |= {(what, name, function)}


def _forget_exchanged(state: SchemaState, tree: exp.Expression) -> None:
    """Forget what was attached to a table that EXCHANGE has made a partition."""
    for action in tree.args.get("actions") or ():
        while type(action).__name__ == "AlterPartition":
            action = action.args["action"]
        exchanged = type(action).__name__ == "ExchangePartition"
        other = state.find(action.args["table"]) if exchanged else None
        if other is not None:
            other.attached = frozenset()


def refused_attached(state: SchemaState, tree: exp.Expression) -> str:
    """A message if a table certainly has a trigger, rule or policy of the name of a new one."""
    node = tree.args.get("table")
    if node is None or tree.args.get("or_replace"):
        return ""
    table = state.find(node)
    if table is None or not is_certain(state, node, table):
        return ""
    what, name = _CREATED[type(tree).__name__], fold(tree.this)
    exists = any(one[:2] == (what, name) for one in table.attached)
    return f"{what} {name} of {table.title} exists" if exists else ""


def trigger_with(state: SchemaState, function: exp.Expression) -> str:
    """A trigger that certainly calls a function without arguments, in DROP FUNCTION; "" if there is
    none.
    """
    if state.unsure or state.existing is not None or function.args.get("args"):
        return ""
    named = function.this
    schema, name = ("", fold(named)) if isinstance(named, exp.Identifier) else qualified(named)
    if [key[1] for key in state.ties.routines].count(name) != 1:
        return ""
    (own,) = (key[0] for key in state.ties.routines if key[1] == name)
    if schema and schema != own:
        return ""
    for table in state.tables.values():
        for what, trigger, called in table.attached if is_complete(table) else ():
            if what == "trigger" and called == name:
                return f"trigger {trigger} of {table.title} calls {name}"
    return ""
