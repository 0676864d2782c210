"""Why the server rejects an ALTER TABLE (see refusals)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.casts import different_types
from gpcatalog.effects.certain import is_certain, name_in_use, not_in, type_in_use
from gpcatalog.effects.definition import DEFERRABLE, constraint_names, traits_of
from gpcatalog.effects.expansion import options_of
from gpcatalog.effects.handlers.actions import action_has_only
from gpcatalog.effects.keys import fold, qualified
from gpcatalog.effects.refused_columns import (
    only_parent,
    refused_column,
    refused_column_change,
    refused_column_drop,
    refused_rename,
)
from gpcatalog.effects.refused_commands import refused_command
from gpcatalog.effects.refused_distribution import (
    other_distribution,
    refused_distribution,
    refused_key,
)
from gpcatalog.effects.refused_drops import refused_index_drop
from gpcatalog.effects.refused_options import (
    KEY_OF_APPEND_OPTIMIZED,
    other_storage,
    refused_fillfactor,
)
from gpcatalog.effects.refused_partitions import attach
from gpcatalog.effects.refused_tables import (
    Elements,
    has_primary,
    kept_as,
    not_a_parent,
    read_columns,
    refused_reference,
    without_key,
)
from gpcatalog.effects.relations import Table
from gpcatalog.effects.renames import too_long
from gpcatalog.model.storage import Storage

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
    if table is None:
        return _not_a_table(state, name, actions)
    if not is_certain(state, name, table):
        return ""
    columns = [c.name for c in table.columns]
    for action in actions:
        if type(action).__name__ == "DropColumn":
            if why := refused_column_drop(state, table, action, columns, actions):
                return why
            columns = [c for c in columns if c != fold(action.this)]
    added: list[str] = []
    for action in actions:
        if why := _action(state, table, action, columns, added, actions):
            return why
    return ""


# actions that the server does not apply to a view
_OF_TABLES = frozenset(
    """AddColumn DropColumn AddTableConstraint DropConstraint AttachPartition DetachPartition InheritAction""".split()
)
# actions that Greenplum 6 does not apply to one partition
_OF_WHOLE_TABLES = frozenset("""AddColumn DropColumn RenameColumnTo RenameTo""".split())


def _not_a_table(state: SchemaState, name: exp.Expression, actions: list[exp.Expression]) -> str:
    """Why the server rejects an ALTER TABLE of a view, or of one partition (Greenplum 6)."""
    if state.unsure or state.doubt:
        return ""
    kinds = {type(a).__name__ for a in actions}
    retypes = any(
        type(a).__name__ == "AlterColumnAction" and a.args.get("kind") is not None for a in actions
    )
    key = state.known_name(name, state.views)
    view = state.views.get(key)
    if view is not None and view.rule and (kinds & _OF_TABLES or retypes):
        return f"{key[1]} is a view"
    hit = state.partition(*qualified(name)) if state.edition.classic else None
    if hit is None or not hit[0].known:
        return ""
    clauses = (a.args.get("distribution") for a in actions if type(a).__name__ == "SetTable")
    distributes = any(c is not None and other_distribution(hit[0], c) for c in clauses)
    if kinds & _OF_WHOLE_TABLES or retypes or distributes:
        return f"{hit[1][-1].name} is a partition of {hit[0].title}"
    return ""


_CHECKED_ACTIONS = frozenset(
    (
        "AddColumn",
        "DropColumn",
        "AlterColumnAction",
        "AddTableConstraint",
        "DropConstraint",
        "RenameConstraint",
        "ValidateConstraint",
        "AlterConstraint",
        "InheritAction",
        "SetTable",
        "RenameColumnTo",
        "RenameTo",
        "SetSchema",
        "AttachPartition",
        "DetachPartition",
        "AddPartition",
        "SplitPartition",
        "AlterPartition",
        "DropPartition",
        "TruncatePartition",
        "RenamePartition",
        "ExchangePartition",
        "SetSubpartitionTemplate",
    )
)


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
        return refused_column(state, table, action, columns, added, actions)
    if kind == "AlterColumnAction":
        return refused_column_change(state, table, action, (*_added(actions), "oid"), actions)
    if kind == "AddTableConstraint":
        known = (*columns, *_added(actions))
        return _add_constraint(state, table, action, known, actions)
    if kind == "RenameColumnTo":
        return refused_rename(state, table, action, columns)
    if kind == "RenameTo":
        if table.parent is not None or table.temporary:
            return ""
        new = fold(action.this)
        long = too_long(table, new) if state.edition.classic else ""
        key = table.schema, new
        return long or name_in_use(state, key) or type_in_use(state, key)
    if kind == "SetSchema":
        if table.parent is not None or table.temporary:
            return ""
        schema = fold(action.this)
        same = schema == (table.schema or "public")
        return "" if same else name_in_use(state, (schema, table.name))
    if kind == "DropConstraint":
        return _drop_constraint(state, table, action, alone=len(actions) == 1)
    if kind == "RenameConstraint":
        if missing := _missing_constraint(state, table, action):
            return missing
        new, own = fold(action.args.get("to")), table.parent is None and not table.inherits
        exists = own and new != fold(action.this) and new in constraint_names(table)
        return f"constraint {new} of {table.title} exists" if exists else ""
    if kind in ("ValidateConstraint", "AlterConstraint"):
        return _change_constraint(state, table, action) if len(actions) == 1 else ""
    if kind == "InheritAction":
        return _inherit(state, table, action) if len(actions) == 1 else ""
    if kind == "AttachPartition":
        return attach(state, table, action)
    partitioned = bool(table.levels or table.partitioned)
    if kind == "SetTable" and partitioned and not state.edition.greenplum:
        sets = str(action.args.get("form") or "").startswith("SET") and action.args.get("options")
        return f"storage options for {table.title}, which is partitioned" if sets else ""
    if kind == "SetTable" and (why := _options(state, action)):
        return why
    if kind == "SetTable" and action.args.get("distribution") is not None and len(actions) == 1:
        return refused_distribution(state, table, action.args["distribution"])
    if kind == "DetachPartition" and (why := _not_its_partition(state, table, action)):
        return why
    if kind == "DetachPartition" and action.args.get("concurrently"):
        default = (
            table.taken_bounds is not None and table.taken_bounds.default in table.own_children
        )
        return "DETACH … CONCURRENTLY of a table with a default partition" if default else ""
    # later commands for partitions depend on earlier ones
    return refused_command(state, table, action) if len(actions) == 1 else ""


def _options(state: SchemaState, action: exp.Expression) -> str:
    """What is wrong with the options of SET."""
    if not str(action.args.get("form") or "").startswith("SET"):
        return ""
    distributes = action.args.get("distribution") is not None
    only_order = state.edition.classic or (state.edition.greenplum and distributes)
    if only_order and (why := other_storage(action)):
        return why
    return refused_fillfactor(options_of(action.args.get("options")))


def _added(actions: list[exp.Expression]) -> Iterator[str]:
    """Columns that a statement adds."""
    return (fold(a.this.this) for a in actions if type(a).__name__ == "AddColumn")


def _add_constraint(
    state: SchemaState,
    table: Table,
    action: exp.Expression,
    columns: Sequence[str],
    actions: list[exp.Expression],
) -> str:
    """What is wrong with a new constraint."""
    drops = any(type(a).__name__ in ("DropConstraint", "DropColumn") for a in actions)
    element = action.this
    found = Elements([element])
    kind = element.args["kind"]
    if isinstance(kind, gx.ExcludeConstraint) and state.edition.classic:
        return "Greenplum 6 has no exclusion constraints"
    unique = isinstance(kind, gx.KeyConstraint) and kind.args["kind"] in ("PRIMARY KEY", "UNIQUE")
    if unique and kind.args.get("index") is not None:  # NOT NULL has its column there
        return _with_index(table, kind) if len(actions) == 1 and not state.edition.classic else ""
    for node in found.checks:
        if missing := not_in(sorted(read_columns(node)), [*columns, table.name]):
            return f"column {missing} of an expression does not exist"
    if isinstance(kind, gx.CheckConstraint):
        only = "NO INHERIT" in traits_of(element)
        divided = bool(table.partitioned or table.levels)
        if only and divided and not state.edition.classic:
            return f"NO INHERIT for {table.title}, which is partitioned"
        if not only and (why := only_parent(state, table, action)):
            return why
    if not drops:
        if any(primary for primary, _ in found.keys) and has_primary(table):
            return "a table has one primary key only"
        # a constraint of a partition or child table may be merged with one that it has inherited
        separate = not table.inherits and table.parent is None
        for name in found.names if separate else ():
            if name in constraint_names(table):
                return f"constraint {name} of {table.title} exists"
    alone = len(actions) == 1
    for _, key in found.keys:
        if missing := not_in(key, columns):
            return "" if missing == "oid" else f"column {missing} of a key does not exist"
        if alone and (why := refused_key(state, table, key, "key")):
            return why
        if state.edition.classic and table.storage in (Storage.AO_ROW, Storage.AO_COLUMN):
            return KEY_OF_APPEND_OPTIMIZED
        family = [] if action_has_only(action) else state.partitions_of(table)
        below = (level for one in family if one.known for level in one.levels)
        keys = [k for level in (*table.levels, *below) for k in level.keys]
        if keys and (why := without_key(key, keys, classic=state.edition.classic)):
            return why
    types = {c.name: c for c in table.columns} if alone else {}
    for node, local in found.foreign:
        if missing := not_in(local, columns):
            return f"column {missing} of a foreign key does not exist"
        if not alone and state.find(node.this) is table:
            continue  # another action may add the key
        if why := refused_reference(state, node, local, types, kept=kept_as(table)):
            return why
    return ""


def _with_index(table: Table, kind: exp.Expression) -> str:
    """What is wrong with the index of ADD … USING INDEX."""
    name = fold(kind.args["index"])
    if table.partitioned or table.levels:
        return f"USING INDEX for {table.title}, which is partitioned"
    key = next((k for k in (*table.indexes, *table.only) if k.name == name), None)
    if key is None:
        return f"{table.title} has no index {name}" if not table.oid else ""
    if key.constraint:
        return f"index {name} has a constraint already"
    if key.like.startswith("False"):
        return f"index {name} is not unique"
    if key.predicate:
        return f"index {name} is partial"
    if kind.args["kind"] == "PRIMARY KEY" and has_primary(table):
        return "a table has one primary key only"
    return f"index {name} has expressions" if key.expressions else ""


def _drop_constraint(
    state: SchemaState, table: Table, action: exp.Expression, *, alone: bool
) -> str:
    """Why a constraint cannot be dropped. alone: the statement has no other action"""
    name = fold(action.this)
    if alone and (why := _missing_constraint(state, table, action)):
        return why
    key = next((k for k in table.indexes if k.constraint and k.name == name), None)
    check = next((c for c in table.checks if c.name == name), None)
    if (key is not None and key.of) or (check is not None and not check.own):
        return f"constraint {name} of {table.title} is inherited"
    if key is None or str(action.args.get("behavior") or "") == "CASCADE":
        return ""
    return refused_index_drop(state, table, key, others_only=not alone)


def _missing_constraint(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """A message if a table certainly has no constraint of the name in an action."""
    name = fold(action.this)
    optional = action.args.get("if_exists") or action.args.get("exists")
    unknown = table.oid or table.inherits or table.parent or state.ties.constraint_triggers
    if optional or unknown or name in constraint_names(table):
        return ""
    # a foreign key of a partitioned table has several rows, with other names
    if table.foreign and (table.partitioned or table.levels):
        return ""
    if state.edition.base >= 18 and (table.not_null_named or "_not_null" in name):
        return ""
    return f"constraint {name} of {table.title} does not exist"


def _change_constraint(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """Why a constraint cannot be validated or changed."""
    if why := _missing_constraint(state, table, action):
        return why
    name = fold(action.this)
    key = any(k.constraint and k.name == name for k in table.indexes)
    check = any(c.name == name for c in table.checks)
    validates = type(action).__name__ == "ValidateConstraint"
    if key:
        return f"constraint {name} of {table.title} is a key"
    if check and not validates and not traits_of(action).isdisjoint(DEFERRABLE):
        return f"constraint {name} of {table.title} is no foreign key"
    return ""


def _not_its_partition(state: SchemaState, table: Table, action: exp.Expression) -> str:
    child = state.find(action.this)
    if child is None or not is_certain(state, action.this, child):
        return ""
    own = child.parent == (table.schema, table.name)
    return "" if own else f"{child.title} is not a partition of {table.title}"


def _inherit(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """Why the server rejects INHERIT or NO INHERIT."""
    form = str(action.args.get("form") or "")
    parent = state.find(action.this) if form in ("INHERIT", "NO INHERIT") else None
    if parent is None or not is_certain(state, action.this, parent):
        return ""
    key = parent.schema, parent.name
    if table.parent is not None and not state.edition.classic:
        return f"{table.title} is a partition"
    if form.startswith("NO"):
        there = table.parent is not None or key in table.inherits
        return "" if there else f"{table.title} does not inherit from {parent.title}"
    if key in table.inherits:
        return f"{table.title} inherits from {parent.title} already"
    if parent is table or any(one is parent for one in state.inheriting(table)):
        return f"{table.title} would inherit from itself"
    if why := not_a_parent(state, parent):
        return why
    own = {c.name: c for c in table.columns}
    if missing := not_in((c.name for c in parent.columns), list(own)):
        return f"{table.title} has no column {missing}"
    for column in parent.columns:
        if different_types(column, own[column.name]):
            return f"column {column.name} of {table.title} has another type"
    return ""
