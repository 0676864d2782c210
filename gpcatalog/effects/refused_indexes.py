"""Why the server rejects a CREATE INDEX (see refusals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.casts import without_class
from gpcatalog.effects.certain import is_certain, name_in_use, not_in
from gpcatalog.effects.equal_indexes import column_of
from gpcatalog.effects.keys import fold
from gpcatalog.effects.refused_distribution import refused_key
from gpcatalog.effects.refused_options import refused_fillfactor
from gpcatalog.effects.refused_tables import read_columns, without_key
from gpcatalog.effects.relations import Table
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


def refused_index(state: SchemaState, tree: exp.Create) -> str:
    """Why the server rejects a CREATE INDEX."""
    target = tree.this.args["table"]
    table = state.find(target)
    if table is None or not is_certain(state, target, table):
        return ""
    name = fold(tree.this.args.get("this"))
    exists = any(k.name == name for k in (*table.indexes, *table.only))
    if name and (exists or (not table.temporary and name_in_use(state, (table.schema, name)))):
        return "" if tree.args.get("exists") else f"{name} exists"
    if tree.args.get("concurrently") and state.edition.greenplum:
        return "CREATE INDEX CONCURRENTLY on Greenplum"
    body = tree.this.args["params"]
    columns = {c.name for c in table.columns} | {"oid"}
    simple = []
    for element in (*body.args["columns"], *(body.args.get("include") or ())):
        column = column_of(element.this)
        if column is not None and column not in columns:
            return f"column {column} of {table.title} does not exist"
        simple.append(column)
    del simple[len(body.args["columns"]) :]
    unique = bool(tree.this.args.get("unique"))
    for node in (*(e.this for e in body.args["columns"]), body.args.get("where")):
        if missing := not_in(sorted(read_columns(node)), [*columns, table.name]):
            return f"column {missing} of {table.title} does not exist"
    if why := _method(state, table, body, simple, unique=unique):
        return why
    if why := _fillfactor(body):
        return why
    if table.levels and not state.edition.classic:
        if tree.args.get("concurrently"):
            return "CREATE INDEX CONCURRENTLY of a partitioned table"
        only = isinstance(target, gx.RelationName) and target.args.get("only")
        family = [] if only else state.partitions_of(table)
        below = (level for one in family if one.known for level in one.levels)
        keys = [k for level in (*table.levels, *below) for k in level.keys]
        if unique and (why := without_key([c for c in simple if c], keys, classic=False)):
            return why
    if unique and (why := refused_key(state, table, [c for c in simple if c], "unique index")):
        return why
    stored = {table.storage, *(p.storage for p in table.relations())}
    if unique and state.edition.classic and stored <= {Storage.AO_ROW, Storage.AO_COLUMN}:
        return "a unique index of an append-optimized table"
    return ""


def _fillfactor(body: exp.Expression) -> str:
    """A message if the fillfactor of an index is out of its bounds."""
    if body.args.get("using") is not None:
        return ""
    given = body.args.get("with_storage") or ()
    return refused_fillfactor({o.option: o.setting for o in given})


def _method(
    state: SchemaState,
    table: Table,
    body: exp.Expression,
    simple: list[str | None],
    *,
    unique: bool,
) -> str:
    """What is wrong with the access method of an index, or with the types of its columns."""
    using = body.args.get("using")
    method = fold(using) if isinstance(using, exp.Identifier) else "btree"
    if state.edition.classic and method in ("hash", "brin"):
        return f"Greenplum 6 has no {method} indexes"
    if method in ("hash", "gin", "gist", "spgist", "brin") and unique:
        return f"a unique index with method {method}"
    if method in ("hash", "spgist") and len(simple) > 1:
        return f"an index of several columns with method {method}"
    types = {c.name: c for c in table.columns}
    for element, name in zip(body.args["columns"], simple, strict=True):
        column = types.get(name or "")
        if column is None or element.args.get("opclass") is not None or state.ties.classes:
            continue
        if without_class(column, method):
            return f"method {method} has no operator class for type {column.type}"
    return ""
