"""Why the server rejects the DROP of an object (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.keys import fold
from gpcatalog.effects.view_sequences import owned_sequences

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState
    from gpcatalog.effects.ties import Name


def refused_drop(state: SchemaState, tree: exp.Expression) -> str:
    """Why the server rejects a DROP."""
    kind = str(tree.args.get("kind") or "")
    if state.unsure:
        return ""
    if kind == "SCHEMA":
        return "" if cascades(tree) else _drop_schemas(state, tree)
    outer = kind == "FOREIGN TABLE" or kind.startswith("EXTERNAL ")
    if kind not in ("TABLE", "VIEW", "MATERIALIZED VIEW") and not outer:
        return ""
    found: list[Name] = []
    for name in tree.args.get("names") or ():
        key = state.known_name(name, state.views)
        temporary = state.tables.get(("", key[1]))
        if temporary is not None and temporary.temporary:
            continue  # it may have the same name as a view
        if outer:
            found += [key] if key in state.views and not state.views[key].rule else []
            continue
        if key in state.views and state.views[key].rule:
            if kind == "TABLE":
                return f"{key[1]} is a view"
            found.append(key)
            continue
        table = state.find(name) if key not in state.views else None
        if table is None or table.uncounted or state.why_not_found(name, table):
            continue
        if kind != table.kind:
            return f"{table.title} is a {table.kind.lower()}"
        for one in (table, *state.partitions_of(table)):
            found.append((one.schema, one.name))
            found += [key for key, _, sure in owned_sequences(state, one) if sure]
    return "" if cascades(tree) else _depends(state, found)


def _depends(state: SchemaState, gone: list[Name]) -> str:
    """An object that depends on relations that are dropped without CASCADE."""
    for key in gone:
        for view, _ in state.ties.reading(state, key):
            if view not in gone:
                return f"view {view[1]} depends on {key[1]}"
        table = state.tables.get(key)
        if key in state.ties.referenced:
            for other in state.tables.values():
                known = other.known and not other.uncounted and other.parent is None
                there = (other.schema, other.name)
                if known and there not in gone and any(f.target == key for f in other.foreign):
                    return f"a foreign key of {other.title} depends on {key[1]}"
        if table is not None and table.inherited:
            for child in state.inheriting(table):
                there = (child.schema, child.name)
                if key in child.inherits and there not in gone and not child.uncounted:
                    return f"table {child.title} depends on {key[1]}"
    return ""


def _drop_schemas(state: SchemaState, tree: exp.Expression) -> str:
    names = {
        fold(n if isinstance(n, exp.Identifier) else n.args.get("this"))
        for n in tree.args.get("simple") or tree.args.get("names") or ()
    }
    kept: Iterable[Name] = (
        *(key for key, t in state.tables.items() if not t.uncounted and not t.temporary),
        *(key for key, view in state.views.items() if view.columns is not None),
        *state.sequences,
    )
    for schema, name in kept:
        if schema in names:
            return f"{schema}.{name} depends on schema {schema}"
    return ""
