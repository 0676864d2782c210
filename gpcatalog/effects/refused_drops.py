"""Why the server rejects the DROP of an object (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.certain import is_complete
from gpcatalog.effects.handlers.indexes import owners_of_index
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.keys import Key, fold, qualified
from gpcatalog.effects.relations import Table
from gpcatalog.effects.view_sequences import (
    column_with_sequence,
    owned_sequences,
    sequence_name,
)

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState
    from gpcatalog.effects.ties import Name


def refused_drop(state: SchemaState, tree: exp.Expression) -> str:
    """Why the server rejects a DROP."""
    kind = str(tree.args.get("kind") or "")
    if state.unsure:
        return ""
    if tree.args.get("indexes"):
        return next((why for n in tree.args["indexes"] if (why := _index(state, tree, n))), "")
    if kind == "SEQUENCE":
        return next((why for n in tree.args["names"] if (why := _sequence(state, tree, n))), "")
    if kind in ("SCHEMA", "TYPE", "DOMAIN") and cascades(tree):
        return ""
    if kind in ("TYPE", "DOMAIN"):
        names = tree.args.get("types") or tree.args.get("names") or ()
        return next((why for n in names if (why := _type(state, n))), "")
    if kind == "SCHEMA":
        return _drop_schemas(state, tree)
    outer = kind == "FOREIGN TABLE" or kind.startswith("EXTERNAL ")
    if kind not in ("TABLE", "VIEW", "MATERIALIZED VIEW") and not outer:
        return ""
    found: list[Name] = []
    for name in tree.args.get("names") or ():
        key = state.known_name(name, state.views)
        temporary = state.tables.get(("", key[1]))
        if temporary is not None and temporary.temporary:
            continue  # it may have the same name as a view
        if key in state.views and not qualified(name)[0] and len(_relations(state, key[1])) > 1:
            continue  # which one is meant depends on search_path
        if outer:
            found += [key] if key in state.views and not state.views[key].rule else []
            continue
        if key in state.views and state.views[key].rule:
            if kind == "TABLE":
                return f"{key[1]} is a view"
            found.append(key)
            continue
        if why := _another_kind(state, tree, name, key):
            return why
        table = state.find(name) if key not in state.views else None
        gone = table is None or table.uncounted or table.may_have_lost
        if table is None or gone or state.why_not_found(name, table):
            continue
        if kind != table.kind:
            return f"{table.title} is a {table.kind.lower()}"
        for one in (table, *state.partitions_of(table)):
            found.append((one.schema, one.name))
            found += [key for key, _, sure in owned_sequences(state, one) if sure]
    return "" if cascades(tree) else _depends(state, found)


def _another_kind(state: SchemaState, tree: exp.Expression, name: exp.Expression, key: Name) -> str:
    """A message if a name is not that of a table: it is a sequence, or (Greenplum 6) a partition,
    which ALTER TABLE drops.
    """
    if state.existing is not None or state.doubt or len(_relations(state, key[1])) > 1:
        return ""
    if key in state.sequences and key not in state.tables and key not in state.owned_once:
        return f"{key[1]} is a sequence"
    hit = state.partition(*qualified(name)) if state.edition.classic else None
    if hit is None or not is_complete(hit[0]) or hit[0].temporary:
        return ""
    return f"{key[1]} is a partition of {hit[0].title}" if tree.args["kind"] == "TABLE" else ""


def _relations(state: SchemaState, name: str) -> set[str]:
    """The schemas that have a table or view of this name."""
    names = {"public" if s == "" else s for s in state.created.get(name, ())}
    return names | {"public" if s == "" else s for s, view in state.views if view == name}


def _depends(state: SchemaState, gone: list[Name]) -> str:
    """An object that depends on relations that are dropped without CASCADE."""
    for key in gone:
        if key[1].startswith("pg_"):
            continue  # a view may read the relation of pg_catalog
        for view in state.ties.reading(state, key):
            if view not in gone:
                return f"view {view[1]} depends on {key[1]}"
        table = state.tables.get(key)
        if key in state.ties.referenced:
            for other in state.tables.values():
                known = is_complete(other) and other.parent is None
                there = (other.schema, other.name)
                if known and there not in gone and any(f.target == key for f in other.foreign):
                    return f"a foreign key of {other.title} depends on {key[1]}"
        if why := _as_type(state, key, gone) or (
            _of_partition(state, table, gone) if table else ""
        ):
            return why
        if table is not None and table.inherited:
            for child in state.inheriting(table):
                there = (child.schema, child.name)
                if key in child.inherits and there not in gone and is_complete(child):
                    return f"table {child.title} depends on {key[1]}"
    return ""


def _as_type(state: SchemaState, key: Name, gone: list[Name]) -> str:
    """A table or function that uses the row type of a relation."""
    name = key[1]
    if state.existing is not None or name in state.types.definitions:
        return ""
    if len(state.created.get(name, ())) > 1:
        return ""  # also in another schema
    for user, column in _columns_of_type(state, name):
        if (user.schema, user.name) not in gone:
            return f"column {column} of {user.title} depends on the type of {name}"
    function = next((f for f, types in state.ties.routines.items() if name in types), None)
    return f"function {function[1]} depends on the type of {name}" if function else ""


def _columns_of_type(state: SchemaState, name: str) -> Iterator[tuple[Table, str]]:
    """The existing tables that have a column of a type of this name, with the column."""
    for table in state.ties.type_users.get(name, ()):
        if _exists(state, table):
            yield from ((table, c.name) for c in table.columns if c.type_used == name)


def _exists(state: SchemaState, table: Table) -> bool:
    """Whether a table certainly exists, with known columns."""
    there = state.tables.get((table.schema, table.name)) is table
    return there and is_complete(table)


def _of_partition(state: SchemaState, table: Table, gone: list[Name]) -> str:
    """A foreign key that references the table of a partition: it has a row for each partition."""
    above = state.tables.get(table.parent) if table.parent is not None else None
    while above is not None and not state.edition.greenplum:
        key = above.schema, above.name
        if key in gone:
            return ""
        for other in state.tables.values() if key in state.ties.referenced else ():
            known = is_complete(other) and (other.schema, other.name) not in gone
            if known and any(f.target == key for f in other.foreign):
                return f"a foreign key of {other.title} depends on partition {table.name}"
        above = state.tables.get(above.parent) if above.parent is not None else None
    return ""


def refused_index_drop(
    state: SchemaState, table: Table, key: Key, *, others_only: bool = False
) -> str:
    """A foreign key that certainly depends on a key or unique index of a table; "" if there is
    none.

    others_only: without the foreign keys of the table itself, which the statement may also drop
    """
    target = table.schema, table.name
    columns = set(key.simple)
    unique = key.like.startswith(("primary key", "unique", "True"))
    others = (k for k in (*table.indexes, *table.only) if k.name != key.name)
    if (
        target not in state.ties.referenced
        or not unique
        or len(key.simple) < key.columns
        or any(set(k.simple) == columns for k in others)  # it may depend on this one
    ):
        return ""
    primary = key.like.startswith("primary key")
    for other in state.tables.values():
        own = others_only and other is table
        if is_complete(other) and not own:
            for one in other.foreign:
                if one.target != target or (other.oid and not one.to):
                    continue  # those of a baseline may reference another unique key
                if set(one.to) == columns if one.to else primary:
                    return f"a foreign key of {other.title} depends on {key.name}"
    return ""


def _index(state: SchemaState, tree: exp.Expression, name: exp.Expression) -> str:
    """Why an index cannot be dropped."""
    if isinstance(name, exp.Dot):
        return ""
    schema, plain = qualified(name)
    owners = owners_of_index(state, schema, plain)
    if len(owners) != 1 or not is_complete(owners[0]):
        return ""
    (owner,) = owners
    key = next((k for k in owner.indexes if k.name == plain), None)
    if key is None or state.doubt or state.why_not_found(name, owner):
        return ""
    if key.constraint or key.exclusion:
        return f"constraint {plain} of {owner.title} needs index {plain}"
    if key.of:
        return f"index {plain} is part of index {key.of}"
    divided = bool(owner.levels or owner.partitioned)
    if tree.args.get("concurrently") and divided and not state.edition.classic:
        return "DROP INDEX CONCURRENTLY of a partitioned table"
    return "" if cascades(tree) else refused_index_drop(state, owner, key)


def _sequence(state: SchemaState, tree: exp.Expression, name: exp.Expression) -> str:
    """Why a sequence cannot be dropped."""
    key = state.known_name(name, state.sequences)
    if (found := column_with_sequence(state, key)) is not None:
        table, column = found
        if column.serial == "identity":
            return f"identity column {column.name} of {table.title} needs sequence {key[1]}"
        if column.default and not cascades(tree):
            return f"the default of column {column.name} of {table.title} uses sequence {key[1]}"
        return ""
    if cascades(tree) or key not in state.sequences:
        return ""
    if sum(name == key[1] for _, name in state.sequences) > 1:
        return ""  # the name in a default may be that of another one
    for table in state.ties.sequence_users.get(key[1], ()):
        if not _exists(state, table):
            continue
        for column in table.columns:
            used = column.sequences_used if column.default and column.named else ()
            if any(sequence_name(state, text) == key for text in used):
                return f"the default of column {column.name} of {table.title} uses {key[1]}"
    for view in state.ties.reading(state, key):
        return f"view {view[1]} uses sequence {key[1]}"
    return ""


def _type(state: SchemaState, kind: exp.Expression) -> str:
    """Why a type or domain cannot be dropped."""
    written = kind if isinstance(kind, exp.Table) else kind.args.get("kind")
    if not isinstance(written, exp.Table | exp.Identifier):
        return ""
    schema, name = qualified(written) if isinstance(written, exp.Table) else ("", fold(written))
    definition = state.types.definitions.get(name)
    if definition is None or not definition.base or name in state.types.several:
        return ""
    if state.ties.types_lost or len(state.types.schemas.get(name, ())) > 1:
        return ""
    if schema and schema != definition.schema:
        return ""
    for table, column in _columns_of_type(state, name):
        return f"column {column} of {table.title} has type {name}"
    return ""


def _drop_schemas(state: SchemaState, tree: exp.Expression) -> str:
    names = {
        fold(n if isinstance(n, exp.Identifier) else n.args.get("this"))
        for n in tree.args.get("simple") or tree.args.get("names") or ()
    }
    types = not state.ties.types_lost
    kept: Iterable[Name] = (
        *(key for key, t in state.tables.items() if is_complete(t) and not t.temporary),
        *(key for key, view in state.views.items() if view.columns is not None),
        *state.sequences,
        *((d.schema, n) for n, d in state.types.definitions.items() if d.base and types),
        *state.ties.routines,
    )
    for schema, name in kept:
        if schema in names:
            return f"{schema}.{name} depends on schema {schema}"
    return ""
