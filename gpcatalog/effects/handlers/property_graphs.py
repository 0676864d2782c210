"""Property graphs of PostgreSQL 19: a relation without columns, type and file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import drops, handles
from gpcatalog.effects.handlers.views import (
    VIEWS,
    doubt_views,
    drop_dependent_views,
    drop_view,
)
from gpcatalog.effects.keys import fold
from gpcatalog.effects.relations import View
from gpcatalog.effects.renames import rename_reads

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

SYSTEM_COLUMNS = 6  # ctid, tableoid and the four system columns of transactions
_MINOR = "catalog rows of the elements of a property graph"


@handles("CreatePropertyGraph")
def create_graph(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE PROPERTY GRAPH: one row in pg_class, and those of the system columns."""
    effect = Effect(minor=[_MINOR])
    key = state.new_name(tree.this)
    elements = [state.find(table) for table in tree.find_all(exp.Table) if table is not tree.this]
    if tree.args.get("temporary") or any(one is not None and one.temporary for one in elements):
        key = "pg_temp", key[1]
    for one in elements:
        if one is not None:
            one.leave_out(_MINOR)
    state.views[key] = View(SYSTEM_COLUMNS, frozenset(), rule=False, typed=False)
    effect.add_rows({"pg_class": 1, "pg_attribute": SYSTEM_COLUMNS})
    return effect


@handles("AlterPropertyGraph")
def alter_graph(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER PROPERTY GRAPH: elements, labels and properties have rows in their own catalogs; the
    name can change.
    """
    effect = Effect(minor=[_MINOR])
    key = state.known_name(tree.this, state.views)
    action = tree.args.get("action") or tree
    if cascades(action) and doubt_views(state, {key}, VIEWS):
        effect.add_unknown(VIEWS)
    name, schema = action.args.get("rename"), action.args.get("schema")
    if key in state.views and (name is not None or schema is not None):
        moved = fold(schema) if schema is not None else key[0], fold(name) if name else key[1]
        state.views[moved] = state.views.pop(key)
        rename_reads(state, {key: moved})
    return effect


@drops("PROPERTY GRAPH")
def drop_graphs(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP PROPERTY GRAPH."""
    effect = Effect(minor=[_MINOR])
    for name in tree.args.get("names") or ():
        key = state.known_name(name, state.views)
        if key in state.views:
            drop_view(state, key, effect)
            if cascades(tree):
                drop_dependent_views(state, {key}, effect)
        elif tree.args.get("exists"):
            effect.add_unknown("whether the property graph exists")
        else:
            effect.add_rows({"pg_class": -1, "pg_attribute": -SYSTEM_COLUMNS})
    return effect
