"""Why the server rejects an ALTER TABLE (see refusals)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.certain import is_certain, name_in_use, not_in
from gpcatalog.effects.definition import constraint_names
from gpcatalog.effects.keys import fold
from gpcatalog.effects.refused_partitions import add_partition, attach, split
from gpcatalog.effects.refused_tables import (
    Elements,
    has_primary,
    refused_reference,
    without_key,
)
from gpcatalog.effects.relations import Table
from gpcatalog.effects.renames import too_long
from gpcatalog.effects.view_sequences import owned_sequences

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


def refused_alter(state: SchemaState, tree: exp.Expression) -> str:
    """Why the server rejects an ALTER TABLE."""
    name = tree.args.get("this")
    if not isinstance(name, exp.Table | gx.RelationName):
        return ""
    actions = list(tree.args.get("actions") or [])
    actions += [tree.args[one] for one in ("action", "move") if tree.args.get(one) is not None]
    if not any(type(a).__name__ in _CHECKED_ACTIONS for a in actions):
        return ""
    table = state.find(name)
    if table is None or not is_certain(state, name, table):
        return ""
    columns = [c.name for c in table.columns]
    for action in actions:
        if type(action).__name__ == "DropColumn":
            if why := _drop_column(state, table, action, columns):
                return why
            columns = [c for c in columns if c != fold(action.this)]
    added: list[str] = []
    for action in actions:
        if why := _action(state, table, action, columns, added, actions):
            return why
    return ""


_CHECKED_ACTIONS = frozenset(
    (
        "AddColumn",
        "DropColumn",
        "AlterColumnAction",
        "AddTableConstraint",
        "RenameColumnTo",
        "RenameTo",
        "SetSchema",
        "AttachPartition",
        "DetachPartition",
        "AddPartition",
        "SplitPartition",
        "AlterPartition",
    )
)


def _drop_column(
    state: SchemaState, table: Table, action: exp.Expression, columns: list[str]
) -> str:
    name = fold(action.this)
    if name not in columns:
        exists = action.args.get("if_exists") or action.args.get("exists")
        return "" if exists or name == "oid" else f"column {name} of {table.title} does not exist"
    if _partitions_by(table, name):
        return f"column {name} is part of the partition key"
    if str(action.args.get("behavior") or "") == "CASCADE":
        return ""
    view = _view_of_column(state, table, name)
    if view:
        return f"view {view} depends on column {name}"
    for key, column, sure in owned_sequences(state, table):
        for one, _ in state.ties.reading(state, key) if sure and column == name else ():
            return f"view {one[1]} depends on sequence {key[1]} of column {name}"
    return ""


def _partitions_by(table: Table, name: str) -> bool:
    """Whether a column is part of the partition key, at any level."""
    return any(name in level.keys for level in table.levels)


def _view_of_column(state: SchemaState, table: Table, name: str) -> str:
    """A view that certainly reads a column; "" if there is none."""
    reading = state.ties.reading(state, (table.schema, table.name))
    return next((view[1] for view, columns in reading if name in columns), "")


def _action(
    state: SchemaState,
    table: Table,
    action: exp.Expression,
    columns: list[str],
    added: list[str],
    actions: list[exp.Expression],
) -> str:
    """What is wrong with one action.

    columns: columns that the statement does not drop; added: columns that it has added so far
    """
    kind = type(action).__name__
    if kind == "AddColumn":
        return _add_column(table, action, columns, added)
    if kind == "AlterColumnAction":
        name = fold(action.this)
        # also a column that the statement drops: the order of the two actions differs
        known = (*(c.name for c in table.columns), *_added(actions), "oid")
        if isinstance(action.this, exp.Identifier) and name not in known:
            return f"column {name} of {table.title} does not exist"
        if action.args.get("kind") is not None and _partitions_by(table, name):
            return f"column {name} is part of the partition key"
        if action.args.get("kind") is not None and (view := _view_of_column(state, table, name)):
            return f"view {view} depends on column {name}"
        return ""
    if kind == "AddTableConstraint":
        known = (*columns, *_added(actions))
        drops = any(type(a).__name__ in ("DropConstraint", "DropColumn") for a in actions)
        return _add_constraint(state, table, action.this, known, drops=drops)
    if kind == "RenameColumnTo":
        old, new = fold(action.this), fold(action.args.get("to"))
        if old not in columns:
            return f"column {old} of {table.title} does not exist"
        return f"column {new} of {table.title} exists" if new in columns else ""
    if kind == "RenameTo":
        if table.parent is not None or table.temporary:
            return ""
        new = fold(action.this)
        long = too_long(table, new) if state.edition.classic else ""
        return long or name_in_use(state, (table.schema, new))
    if kind == "SetSchema":
        if table.parent is not None or table.temporary:
            return ""
        schema = fold(action.this)
        same = schema == (table.schema or "public")
        return "" if same else name_in_use(state, (schema, table.name))
    if kind == "AttachPartition":
        return attach(state, table, action)
    if kind == "DetachPartition" and action.args.get("concurrently"):
        default = (
            table.taken_bounds is not None and table.taken_bounds.default in table.own_children
        )
        return "DETACH … CONCURRENTLY of a table with a default partition" if default else ""
    if kind in ("SplitPartition", "AlterPartition") and state.edition.greenplum:
        return split(table, action)
    drops = any(type(a).__name__ == "DropPartition" for a in actions)
    if kind == "AddPartition" and state.edition.greenplum and not drops:
        return add_partition(state, table, action)
    return ""


def _added(actions: list[exp.Expression]) -> Iterator[str]:
    """Columns that a statement adds."""
    return (fold(a.this.this) for a in actions if type(a).__name__ == "AddColumn")


def _add_column(table: Table, action: exp.Expression, columns: list[str], added: list[str]) -> str:
    name = fold(action.this.this)
    if action.args.get("exists") or action.args.get("if_not_exists"):
        return ""
    if name in (*columns, *added):
        return f"column {name} of {table.title} exists"
    added.append(name)
    found = Elements([action.this])
    if any(primary for primary, _ in found.keys) and has_primary(table):
        return "a table has one primary key only"
    return ""


def _add_constraint(
    state: SchemaState,
    table: Table,
    element: exp.Expression,
    columns: Sequence[str],
    *,
    drops: bool,
) -> str:
    """What is wrong with a new constraint; drops: the statement also drops constraints."""
    found = Elements([element])
    if not drops:
        if any(primary for primary, _ in found.keys) and has_primary(table):
            return "a table has one primary key only"
        # a constraint of a partition or child table may be merged with one that it has inherited
        alone = not table.inherits and table.parent is None
        for name in found.names if alone else ():
            if name in constraint_names(table):
                return f"constraint {name} of {table.title} exists"
    for _, key in found.keys:
        if missing := not_in(key, columns):
            return "" if missing == "oid" else f"column {missing} of a key does not exist"
        keys = [k for level in table.levels for k in level.keys]
        if keys and (why := without_key(key, keys, classic=state.edition.classic)):
            return why
    for node, local in found.foreign:
        if missing := not_in(local, columns):
            return f"column {missing} of a foreign key does not exist"
        if why := refused_reference(state, node, local):
            return why
    return ""
