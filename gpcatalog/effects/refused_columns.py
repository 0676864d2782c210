"""Why the server rejects changes of columns in ALTER TABLE (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.attached import attached_to
from gpcatalog.effects.casts import KNOWN_TYPES, different_types, no_assignment, not_comparable
from gpcatalog.effects.certain import is_complete
from gpcatalog.effects.columns_read import view_of_column
from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.handlers.actions import action_has_only
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.refused_drops import refused_index_drop
from gpcatalog.effects.refused_options import refused_length
from gpcatalog.effects.refused_tables import Elements, has_primary
from gpcatalog.effects.relations import Table
from gpcatalog.effects.view_sequences import owned_sequences
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


def _divided(table: Table) -> bool:
    """Whether a table has partitions."""
    return bool(table.parts or table.own_children)


def _of_parent(state: SchemaState, table: Table, name: str) -> str:
    """A message if a column is inherited, so that it can only be changed in the parent."""
    column = next((c for c in table.columns if c.name == name), None)
    partition = table.parent is not None and not state.edition.classic
    parents = [state.tables.get(key) for key in table.inherits]
    inherited = any(p is not None and any(c.name == name for c in p.columns) for p in parents)
    if column is None or not (partition or inherited or (table.inherits and not column.local)):
        return ""
    return f"column {name} of {table.title} is inherited"


def only_parent(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """A message if an action applies to ONLY a table, and its children need the same change."""
    if not action_has_only(action):
        return ""
    if _divided(table):
        return f"{table.title} has partitions, which must be changed, too"
    children = state.inheriting(table)
    return (
        f"{children[0].title} inherits from {table.title}, and must be changed, too"
        if children
        else ""
    )


def refused_rename(
    state: SchemaState, table: Table, action: exp.Expression, columns: list[str]
) -> str:
    """Why the server does not rename a column."""
    old, new = fold(action.this), fold(action.args.get("to"))
    if old not in columns:
        return f"column {old} of {table.title} does not exist"
    if new in columns:
        return f"column {new} of {table.title} exists"
    return _of_parent(state, table, old) or only_parent(state, table, action)


def refused_column(
    state: SchemaState,
    table: Table,
    action: exp.Expression,
    columns: list[str],
    added: list[str],
    actions: list[exp.Expression],
) -> str:
    """Why the server does not add a column. added: columns that the statement has added so far"""
    name = fold(action.this.this)
    if action.args.get("exists") or action.args.get("if_not_exists"):
        return ""
    if name in (*columns, *added):
        return f"column {name} of {table.title} exists"
    added.append(name)
    if table.parent is not None and not state.edition.classic:
        return f"{table.title} is a partition"
    if why := only_parent(state, table, action):
        return why
    found = Elements([action.this])
    drops = any(type(a).__name__.startswith("Drop") for a in actions)
    if not drops and any(primary for primary, _ in found.keys) and has_primary(table):
        return "a table has one primary key only"
    if found.keys and state.edition.greenplum:
        kind = "primary" if found.keys[0][0] else "unique"
        return f"Greenplum adds no column with a {kind} key"
    if (why := found.contradiction) or (why := _encoding(state, table, action.this)):
        return why
    kind = action.this.args.get("kind")
    if kind is None:
        return ""
    if why := refused_length(state, kind):
        return why
    new = Column(name, *state.types.resolved(*catalog_type(kind)), own_type=state.types.outer(kind))
    for child in state.inheriting(table):
        old = next((c for c in child.columns if c.name == name), None)
        if old is not None and child.known and different_types(old, new):
            return f"column {name} of {child.title} has another type"
    return ""


def _encoding(state: SchemaState, table: Table, element: exp.Expression) -> str:
    """A message if a column has an encoding, and the table is certainly not column-oriented."""
    if not state.edition.greenplum or element.find(gx.EncodingConstraint) is None:
        return ""
    stored = {table.storage, *(p.storage for p in table.relations())}
    stored |= {one.storage for one in state.partitions_of(table)}
    if Storage.AO_COLUMN in stored:
        return ""
    return f"ENCODING for a column of {table.title}, which is not column-oriented"


def refused_column_drop(
    state: SchemaState,
    table: Table,
    action: exp.Expression,
    columns: list[str],
    actions: list[exp.Expression],
) -> str:
    """Why the server does not drop a column. columns: those that the statement has not dropped"""
    name = fold(action.this)
    if name not in columns:
        exists = action.args.get("if_exists") or action.args.get("exists")
        return "" if exists or name == "oid" else f"column {name} of {table.title} does not exist"
    if _partitions_by(table, name):
        return f"column {name} is part of the partition key"
    if why := _of_parent(state, table, name):
        return why
    if action_has_only(action) and _divided(table):
        return f"{table.title} has partitions, which must be changed, too"
    if str(action.args.get("behavior") or "") == "CASCADE":
        return ""
    gone = {fold(a.this) for a in actions if type(a).__name__ == "DropColumn"}
    changes = any(type(a).__name__ == "AlterColumnAction" for a in actions)
    # Greenplum 7 drops computed columns, too, and so may versions before 15, which were not measured
    kept = state.edition.base >= 15 and not changes
    computed = (c.name for c in table.columns if name in c.generated and c.name not in gone)
    if kept and (other := next(computed, "")):
        return f"column {other} is computed from column {name}"
    drops = any(type(a).__name__ == "DropConstraint" for a in actions)
    for key in () if drops else table.indexes:
        used = name in key.simple and not any(name in f.columns for f in table.foreign)
        if used and (why := refused_index_drop(state, table, key, others_only=len(actions) > 1)):
            return why
    if view := view_of_column(state, table, name):
        return f"view {view} depends on column {name}"
    if what := attached_to(table, name):
        return f"{what} depends on column {name}"
    for sequence, column, sure in owned_sequences(state, table):
        for one in state.ties.reading(state, sequence) if sure and column == name else ():
            return f"view {one[1]} depends on sequence {sequence[1]} of column {name}"
    return ""


def _partitions_by(table: Table, name: str) -> bool:
    """Whether a column is part of the partition key, at any level."""
    return any(name in level.keys for level in table.levels)


def refused_column_change(
    state: SchemaState,
    table: Table,
    action: exp.Expression,
    more: Iterable[str],
    actions: list[exp.Expression],
) -> str:
    """Why the server rejects ALTER COLUMN. more: columns in addition to those of the table"""
    name = fold(action.this)
    column = next((c for c in table.columns if c.name == name), None)
    if column is None:
        # also a column that the statement drops: the order of the two actions differs
        known = not isinstance(action.this, exp.Identifier) or name in more
        return "" if known else f"column {name} of {table.title} does not exist"
    form = str(action.args.get("form") or "")
    if action.args.get("kind") is not None:
        return _retype(state, table, column, action, actions)
    if form != "SET NOT NULL" and _with_others(action, actions):
        return ""  # another action may change the column first
    if form == "DROP NOT NULL":
        return _drop_not_null(state, table, column)
    identity = _identity(state, column)
    if form == "SET NOT NULL" and action_has_only(action):
        children = [state.tables.get(name) for name in table.own_children]
        if table.parts and not column.not_null and not state.edition.classic:
            return f"{table.title} has partitions, which must be changed, too"
        own = [one for one in children if one is not None and one.known]
        if any(c.name == name and not c.not_null for one in own for c in one.columns):
            return f"{table.title} has partitions, which must be changed, too"
    value = action.args.get("default")
    if isinstance(value, exp.Column) and not value.args.get("table"):
        return f"the default of column {name} is a column"
    if value is not None or form == "DROP DEFAULT":
        if state.edition.classic and (why := only_parent(state, table, action)):
            return why
        if identity:
            return f"column {name} of {table.title} is an identity column"
        return f"column {name} of {table.title} is computed" if column.generated else ""
    if form.startswith("ADD GENERATED"):
        if identity:
            return f"column {name} of {table.title} is an identity column already"
        adds = any(type(a).__name__ == "AddTableConstraint" for a in actions)
        if not column.not_null and not adds:
            return f"column {name} of {table.title} is not NOT NULL"
        return f"column {name} of {table.title} has a default" if column.default else ""
    optional = any(key.startswith("if_exists") and v for key, v in action.args.items())
    if form == "DROP IDENTITY" and not identity and not optional:
        return f"column {name} of {table.title} is not an identity column"
    return ""


def _with_others(action: exp.Expression, actions: list[exp.Expression]) -> bool:
    """Whether the statement also drops constraints, or has another action for the same column."""
    return any(
        type(a).__name__ == "DropConstraint"
        or (
            a is not action
            and type(a).__name__ in ("AlterColumnAction", "DropColumn")
            and fold(a.this) == fold(action.this)
        )
        for a in actions
    )


def _identity(state: SchemaState, column: Column) -> bool:
    """Whether a column is an identity column; in partitions, since PostgreSQL 17."""
    return column.serial == "identity" or (column.identity and state.edition.base >= 17)


def _drop_not_null(state: SchemaState, table: Table, column: Column) -> str:
    name = column.name
    primary = (k for k in table.indexes if k.like.startswith("primary key"))
    # with INCLUDE, some columns of the index can be null
    if any(name in k.simple and k.like.endswith(" 0") for k in primary):
        return f"column {name} is part of the primary key"
    if _identity(state, column):
        return f"column {name} of {table.title} is an identity column"
    parent = state.tables.get(table.parent) if table.parent is not None else None
    if parent is None or not parent.known or state.edition.classic:
        return ""
    required = any(c.name == name and c.not_null for c in parent.columns)
    return f"column {name} is NOT NULL in {parent.title}" if required else ""


def _retype(
    state: SchemaState,
    table: Table,
    column: Column,
    action: exp.Expression,
    actions: list[exp.Expression],
) -> str:
    """Why the server does not change the type of a column."""
    name = column.name
    same = [a for a in actions if fold(a.this) == name and a is not action]
    if any(type(a).__name__ == "DropColumn" for a in same):
        return f"column {name} of {table.title} is dropped by the same statement"
    if any(a.args.get("kind") is not None and type(a) is type(action) for a in same):
        return f"the type of column {name} is changed twice"
    if _partitions_by(table, name):
        return f"column {name} is part of the partition key"
    if why := _of_parent(state, table, name) or only_parent(state, table, action):
        return why
    if view := view_of_column(state, table, name):
        return f"view {view} depends on column {name}"
    if what := attached_to(table, name):
        return f"{what} depends on column {name}"
    computed = next((c.name for c in table.columns if name in c.generated), "")
    if computed and len(actions) == 1:
        return f"column {computed} is computed from column {name}"
    drops = any(type(a).__name__ == "DropConstraint" for a in actions)
    if not drops and state.edition.classic and (index := _index_with(table, name)):
        return f"index {index} contains column {name}"
    kind = action.args["kind"]
    if why := refused_length(state, kind):
        return why
    new = Column(name, *state.types.resolved(*catalog_type(kind)), own_type=state.types.outer(kind))
    changes = (new.type, new.typmod) != (column.type, column.typmod)
    keys = (k for k in table.indexes if k.constraint and name in k.simple)
    if changes and not drops and state.edition.greenplum and (key := next(keys, None)) is not None:
        return f"key {key.name} contains column {name}"
    converted = state.ties.casts or not (
        no_assignment(column, new) or _to_enum(state, column, kind)
    )
    was, now = (
        column.type_used or column.type,
        new.type if not new.own_type else state.types.used(kind),
    )
    if not converted and action.args.get("using") is None:
        return f"{was} is not converted to {now} without USING"
    if not converted and column.default and not same and not column.generated and not column.serial:
        return f"the default of column {name} is not converted from {was} to {now}"
    return _retyped_reference(state, table, new)


def _to_enum(state: SchemaState, column: Column, kind: exp.Expression) -> bool:
    """Whether a type is an enum of the script, and the column certainly has another type: no type
    is converted to an enum in an assignment.
    """
    types, name = state.types, state.types.used(kind)
    definition = types.definitions.get(name)
    if definition is None or definition.labels is None or name in types.several:
        return False
    if not column.own_type:
        return column.type in KNOWN_TYPES
    other = types.definitions.get(column.type_used)
    known = other is not None and other.labels is not None and column.type_used not in types.several
    return known and column.type_used != name


def _retyped_reference(state: SchemaState, table: Table, new: Column) -> str:
    """A foreign key of or to a column that cannot compare the column with its new type."""
    if state.ties.casts:
        return ""
    key = table.schema, table.name
    others = state.tables.values() if key in state.ties.referenced else [table]
    for other in others:
        for foreign in other.foreign:
            target = state.tables.get(foreign.target)
            if target is None or not (is_complete(other) and is_complete(target)):
                continue
            pairs = zip(foreign.columns, foreign.to or target.primary_key, strict=False)
            for mine, its in pairs:
                one = next((c for c in other.columns if c.name == mine), None)
                two = next((c for c in target.columns if c.name == its), None)
                one = new if other is table and mine == new.name else one
                two = new if target is table and its == new.name else two
                if new in (one, two) and one and two and not_comparable(one, two):
                    return f"foreign key {foreign.name} cannot compare {mine} with {its}"
    return ""


def _index_with(table: Table, name: str) -> str:
    """An index of a table that contains a column, also in an expression or predicate."""
    for key in (*table.indexes, *table.only):
        if name in key.simple or name in key.expressions or name in key.predicate:
            return key.name
    return ""
