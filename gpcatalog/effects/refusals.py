"""Statements that the server rejects because of earlier statements, independent of the rows of the
tables.

A reason is returned only if it is certain. After a statement that may not have run, or whose text
is unknown, it is not certain which objects exist. What a statement itself specifies is still
certain. tests/effects/test_refusals.py compares each reason with live servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.attached import refused_attached, trigger_with
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.casts import different_types
from gpcatalog.effects.certain import is_certain, is_complete, name_in_use, not_in, type_in_use
from gpcatalog.effects.handlers.indexes import owners_of_index
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.keys import fold, qualified
from gpcatalog.effects.query_columns import columns_of, reads_temporary
from gpcatalog.effects.refused_alterations import refused_alter
from gpcatalog.effects.refused_drops import refused_drop
from gpcatalog.effects.refused_indexes import refused_index
from gpcatalog.effects.refused_options import refused_sequence
from gpcatalog.effects.refused_tables import (
    SYSTEM_COLUMNS,
    output_twice,
    read_columns,
    refused_table,
)
from gpcatalog.effects.refused_types import labels_twice, refused_enum
from gpcatalog.effects.relations import Table
from gpcatalog.effects.signatures import refused_routine
from gpcatalog.effects.straight_code import dropped_functions
from gpcatalog.effects.ties import names_are_written, source_of

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

RefusalCheck = Callable[["SchemaState", Any], str]


def refusal(state: SchemaState, tree: exp.Expression) -> str:
    """Why the server rejects a statement; "" if that is not certain."""
    if state.valueless:
        return ""
    if state.in_transaction and not state.unsure and (what := _needs_no_transaction(state, tree)):
        return f"{what} in a transaction"
    check = _CHECKS.get(type(tree).__name__)
    return check(state, tree) if check is not None else ""


def _needs_no_transaction(state: SchemaState, tree: exp.Expression) -> str:
    """The words of a statement that the server does not run in a transaction block."""
    kind = type(tree).__name__
    if (words := _ALONE.get(kind)) is not None:
        return words
    concurrently = bool(tree.args.get("concurrently"))
    if kind == "Create" and concurrently and tree.args.get("kind") == "INDEX":
        return "CREATE INDEX CONCURRENTLY"
    if kind == "DropObject" and concurrently:
        return "DROP INDEX CONCURRENTLY"
    if kind == "Reindex":
        places = ("system", "system_2", "schema", "index")
        of = next((str(tree.args[p]) for p in places if tree.args.get(p)), "")
        if concurrently or of in ("DATABASE", "SYSTEM", "SCHEMA"):
            return f"REINDEX {of}{' CONCURRENTLY' if concurrently else ''}"
    if (
        kind == "AlterType"
        and str(tree.args.get("form")) == "ADD VALUE"
        and state.edition.base < 12
        and not _created_in_transaction(state, tree)
    ):
        return "ALTER TYPE … ADD VALUE"
    action = tree.args.get("action")
    if action is not None and type(action).__name__ == "DetachPartition":
        return "DETACH PARTITION CONCURRENTLY" if action.args.get("concurrently") else ""
    return ""


def _created_in_transaction(state: SchemaState, tree: exp.Expression) -> bool:
    """Whether the open transaction may have created the type of ALTER TYPE."""
    name = fold(tree.this.this if isinstance(tree.this, exp.Table) else tree.this)
    return name in state.types.definitions and name not in state.ties.committed_types


_ALONE = {
    "Vacuum": "VACUUM",
    "CreateDatabase": "CREATE DATABASE",
    "DropDatabase": "DROP DATABASE",
    "CreateTablespace": "CREATE TABLESPACE",
    "DropTablespace": "DROP TABLESPACE",
    "AlterSystem": "ALTER SYSTEM",
}


def _create(state: SchemaState, tree: exp.Create) -> str:
    kind = tree.args.get("kind")
    if kind == "TABLE":
        return refused_table(state, tree)
    if kind == "INDEX":
        return refused_index(state, tree)
    if kind == "VIEW":
        return _view(state, tree)
    return ""


def _view(state: SchemaState, tree: exp.Create) -> str:
    name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    temporary = tree.find(exp.TemporaryProperty) is not None or tree.args.get("temporary")
    if temporary or qualified(name)[0] == "pg_temp":
        return ""
    key = state.new_name(name)
    query = tree.args.get("expression")
    given = [fold(n) for n in tree.this.expressions] if isinstance(tree.this, exp.Schema) else []
    if query is not None and (why := output_twice(state, query, given)):
        return why
    if query is not None and (why := _missing_column(state, query)):
        return why
    if reads_temporary(state, query):
        return ""  # the view is temporary
    if not tree.args.get("replace"):
        return name_in_use(state, key) or type_in_use(state, key)
    was = state.views.get(key)
    if (
        state.unsure
        or was is None
        or was.output is None
        or query is None
        or not was.reading.named
        or not (names_are_written(query) or len(given) >= len(was.output))
    ):
        return ""
    try:
        found = columns_of(state, query)
    except Unknown:
        return ""
    found = [replace(c, name=given[i]) if i < len(given) else c for i, c in enumerate(found)]
    if len(found) < len(was.output):
        return f"columns of view {key[1]} cannot be dropped"
    for old, new in zip(was.output, found, strict=False):
        if old.name != new.name:
            return f"column {old.name} of view {key[1]} cannot be renamed"
        if different_types(old, new):
            return f"column {old.name} of view {key[1]} cannot get another type"
    return ""


def _missing_column(state: SchemaState, query: exp.Expression) -> str:
    """A column that a query of one table reads and that does not exist."""
    source = source_of(query) if isinstance(query, exp.Select) else None
    table = state.find(source) if source is not None else None
    if source is None or table is None or not is_certain(state, source, table):
        return ""
    alias = source.args.get("alias")
    whole = fold(alias.this) if alias is not None else table.name  # a row of the table
    places = [*query.expressions, query.args.get("where")]
    read = sorted(set().union(*(read_columns(place) for place in places)))
    missing = not_in(read, [*(c.name for c in table.columns), whole])
    return f"column {missing} of {table.title} does not exist" if missing else ""


def _listed(
    state: SchemaState, target: exp.Expression | None, nodes: Iterable[exp.Expression]
) -> str:
    """The first of the columns in a statement that its table does not have; "" if there is none."""
    table = state.find(target) if isinstance(target, exp.Table | gx.RelationName) else None
    if table is None or target is None or not is_certain(state, target, table):
        return ""
    names = [fold(c.this if isinstance(c, exp.Column) else c) for c in nodes if _is_name(c)]
    missing = not_in(names, [*(c.name for c in table.columns), *SYSTEM_COLUMNS])
    return f"column {missing} of {table.title} does not exist" if missing else ""


def _is_name(node: exp.Expression) -> bool:
    return isinstance(node, exp.Identifier) or (
        isinstance(node, exp.Column)
        and isinstance(node.this, exp.Identifier)
        and not node.args.get("table")
    )


def _insert(state: SchemaState, tree: exp.Expression) -> str:
    target = tree.this
    return _listed(state, target.this, target.expressions) if isinstance(target, exp.Schema) else ""


def _update(state: SchemaState, tree: exp.Expression) -> str:
    sets = (one.args.get("columns") or () for one in tree.expressions)
    return _listed(state, tree.this, (column for columns in sets for column in columns))


def _comment(state: SchemaState, tree: exp.Expression) -> str:
    node = tree.args.get("object")
    if (
        tree.args.get("column") is None
        or not isinstance(node, exp.Table)
        or not node.args.get("db")
    ):
        return ""
    table = exp.Table(this=node.args["db"], db=node.args.get("catalog"))
    return _listed(state, table, [node.this])


def _analyze(state: SchemaState, tree: exp.Expression) -> str:
    single = tree.args.get("target")
    for target in tree.args.get("targets") or ([single] if single is not None else []):
        names = target.args.get("columns")
        if names is not None and (why := _listed(state, target.this, names.args["name"])):
            return why
    return ""


def _grant(state: SchemaState, tree: exp.Expression) -> str:
    tables = tree.args["target"].args.get("tables") if tree.args.get("target") is not None else ()
    given = tree.args["privileges"].args.get("privilege") if tree.args.get("privileges") else ()
    for one in given or ():
        names = one.args.get("columns")
        for table in tables or () if names is not None else ():
            if why := _listed(state, table, names.args["name"]):
                return why
    return ""


def _statistics(state: SchemaState, tree: exp.Expression) -> str:
    source = tree.args.get("source")
    names = [fold(c.this) for c in tree.expressions if _is_name(c)]
    if twice := next((n for at, n in enumerate(names) if n in names[:at]), ""):
        return f"column {twice} is named twice"
    return _listed(state, source.this, tree.expressions) if source is not None else ""


def _trigger(state: SchemaState, tree: exp.Expression) -> str:
    events = [tree.args.get("event"), *(e.this for e in tree.args.get("events") or ())]
    columns = (c for e in events if e is not None for c in e.args.get("columns") or ())
    return _listed(state, tree.args.get("table"), columns) or refused_attached(state, tree)


def _drop_functions(state: SchemaState, tree: exp.Expression) -> str:
    """A trigger that calls a function that is dropped without CASCADE."""
    functions = [] if cascades(tree) else dropped_functions(tree)
    return next((why for one in functions if (why := trigger_with(state, one))), "")


def _schema(state: SchemaState, tree: exp.Expression) -> str:
    name = tree.args.get("this")
    exists = tree.args.get("exists") or tree.args.get("if_not_exists")
    if state.unsure or exists or not isinstance(name, exp.Identifier):
        return ""
    return f"schema {fold(name)} exists" if fold(name) in state.schemas else ""


def _sequence(state: SchemaState, tree: exp.Expression) -> str:
    if tree.args.get("if_not_exists"):
        return ""
    if why := refused_sequence(tree.args.get("options") or ()):
        return why
    if str(tree.args.get("temporary") or "") not in ("", "UNLOGGED"):
        return ""
    key = state.new_name(tree.this)
    return name_in_use(state, key) or type_in_use(state, key) or _owned_by(state, tree)


def _owned_by(state: SchemaState, tree: exp.Expression) -> str:
    """A missing column in OWNED BY."""
    for option in tree.args.get("options") or ():
        owner = option.args.get("owner")
        if owner is not None and owner.args.get("db") is not None:
            table = exp.Table(this=owner.args["db"], db=owner.args.get("catalog"))
            return _listed(state, table, [owner.this])
    return ""


def _alter_sequence(state: SchemaState, tree: exp.Expression) -> str:
    return _rename(state, tree) or _owned_by(state, tree)


def _type(state: SchemaState, tree: exp.Expression) -> str:
    schema, name = (
        qualified(tree.this) if isinstance(tree.this, exp.Table) else ("", fold(tree.this))
    )
    if type(tree).__name__ == "CreateType" and "AS" not in str(tree.args.get("form") or ""):
        return ""  # a base type replaces the shell type of that name
    key = schema or state.new_objects, name
    relation = key in state.tables or key in state.views
    if why := labels_twice(tree):
        return why
    return type_in_use(state, key) or (name_in_use(state, key) if relation else "")


def _rename(state: SchemaState, tree: exp.Expression) -> str:
    """ALTER VIEW, INDEX and SEQUENCE … RENAME TO and SET SCHEMA: whether the new name is taken."""
    node = tree.args.get("rename") or tree.args.get("move") or tree.args.get("schema")
    new = node.this if isinstance(node, exp.Expression) else None
    if not isinstance(new, exp.Identifier) or state.unsure:
        return ""
    kind = type(tree).__name__
    if type(node).__name__ == "SetSchema" and kind in ("AlterView", "AlterSequence"):
        known = state.sequences if kind == "AlterSequence" else state.views
        key, schema = state.known_name(tree.this, known), fold(new)
        moves = key in known and schema != (key[0] or "public") and not state.doubt
        return name_in_use(state, (schema, key[1])) if moves else ""
    if type(node).__name__ != "RenameTo":
        return ""
    if kind == "AlterIndex":
        owners = owners_of_index(state, *qualified(tree.this))
        one = owners[0] if len(owners) == 1 and not owners[0].temporary else None
        return name_in_use(state, (one.schema, fold(new))) if one is not None else ""
    known = state.sequences if kind == "AlterSequence" else state.views
    key = state.known_name(tree.this, known)
    return name_in_use(state, (key[0], fold(new))) if key in known else ""


def _rename_schema(state: SchemaState, tree: exp.Expression) -> str:
    new = tree.args.get("rename")
    known = isinstance(new, exp.Identifier) and fold(new) in state.schemas
    return f"schema {fold(new)} exists" if known and not state.unsure else ""


def _truncate(state: SchemaState, tree: exp.Expression) -> str:
    """TRUNCATE of a view, or of a table that a foreign key references (not on Greenplum)."""
    tables: list[Table] = []
    for name in tree.args.get("tables") or ():
        table = state.find(name)
        key = state.known_name(name, state.views)
        if table is None and key in state.views and state.views[key].rule and not state.unsure:
            return f"{key[1]} is a view"
        if table is not None and is_certain(state, name, table):
            tables.append(table)
    if state.edition.greenplum or str(tree.args.get("behavior") or "") == "CASCADE":
        return ""
    for key in {(table.schema, table.name) for table in tables} & state.ties.referenced:
        for other in state.tables.values():
            uses = is_complete(other) and any(f.target == key and f.enforced for f in other.foreign)
            if uses and other.parent is None and not any(other is t for t in tables):
                return f"a foreign key of {other.title} references {key[1]}"
    return ""


_CHECKS: dict[str, RefusalCheck] = {
    "Create": _create,
    "CreateSchema": _schema,
    "CreateSequence": _sequence,
    "CreateType": _type,
    "CreateDomain": _type,
    "AlterType": refused_enum,
    "DropObject": refused_drop,
    "AlterTable": refused_alter,
    "AlterIndex": _rename,
    "AlterView": _rename,
    "AlterSequence": _alter_sequence,
    "AlterSchema": _rename_schema,
    "Truncate": _truncate,
    "Insert": _insert,
    "Update": _update,
    "CommentOn": _comment,
    "Analyze": _analyze,
    "Grant": _grant,
    "CreateStatistics": _statistics,
    "CreateTrigger": _trigger,
    "CreateRule": refused_attached,
    "CreatePolicy": refused_attached,
    "CreateFunction": refused_routine,
    "CreateProcedure": refused_routine,
    "DropFunction": _drop_functions,
    "DropRoutine": _drop_functions,
}
