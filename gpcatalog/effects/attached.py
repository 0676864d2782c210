"""Triggers, rules and policies that a script creates on tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.certain import is_certain, is_complete
from gpcatalog.effects.keys import fold, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

_CREATED = {"CreateTrigger": "trigger", "CreateRule": "rule", "CreatePolicy": "policy"}
_ALTERED = {"AlterTrigger": "trigger", "AlterRule": "rule", "AlterPolicy": "policy"}


_COLUMN_OF = "column of "  # before the kind, with the name of the column instead of a function


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
    kinds = (what, _COLUMN_OF + what)
    for one in (table, *state.partitions_of(table)):
        one.attached = frozenset(a for a in one.attached if not (a[0] in kinds and a[1] == name))
    if kind in _CREATED and not state.unsure:
        called = tree.args.get("function")
        function = fold(
            called if isinstance(called, exp.Identifier) else getattr(called, "this", None)
        )
        table.attached |= {(what, name, function)}
        table.attached |= {(_COLUMN_OF + what, name, c) for c in _columns(tree, table)}


def _columns(tree: exp.Expression, table: Table) -> set[str]:
    """Columns of its table that a trigger or a policy certainly uses."""
    known = {c.name for c in table.columns} if is_complete(table) else set()
    if isinstance(tree.args.get("using") or tree.args.get("check"), exp.Expression):
        parts = [tree.args.get("using"), tree.args.get("check")]
        nodes = [n for n in parts if n is not None and n.find(exp.Query) is None]
        return known & {name for node in nodes for name in _read(node, ("", table.name))}
    events = [tree.args.get("event"), *(e.this for e in tree.args.get("events") or ())]
    named = {
        fold(c)
        for e in events
        if isinstance(e, exp.Expression)  # the event of a rule is a word
        for c in e.args.get("columns") or ()
    }
    when = tree.args.get("when")
    if isinstance(when, exp.Expression) and when.find(exp.Query) is None:
        named |= _read(when, ("new", "old"))
    return known & named


def _read(node: exp.Expression, owners: tuple[str, ...]) -> set[str]:
    """The columns in an expression that are written after one of these names; "": without one."""
    return {
        fold(c.this)
        for c in node.find_all(exp.Column)
        if isinstance(c.this, exp.Identifier)
        and (fold(c.args["table"]) if c.args.get("table") is not None else "") in owners
    }


def attached_to(table: Table, column: str) -> str:
    """A trigger or policy that certainly uses a column of a table; "" if there is none."""
    for what, name, used in sorted(table.attached):
        if used == column and what.startswith(_COLUMN_OF):
            return f"{what.removeprefix(_COLUMN_OF)} {name}"
    return ""


def rename_attached(table: Table, old: str, new: str) -> None:
    """Note that a column was renamed."""
    table.attached = frozenset(
        (what, name, new if what.startswith(_COLUMN_OF) and used == old else used)
        for what, name, used in table.attached
    )


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
