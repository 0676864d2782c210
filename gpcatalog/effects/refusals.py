"""Statements that the server rejects because of earlier statements, independent of the rows of the
tables.

A reason is returned only if it is certain. After a statement that may not have run, or whose text
is unknown, it is not certain which objects exist. What a statement itself specifies is still
certain. tests/effects/test_refusals.py compares each reason with live servers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.certain import name_in_use
from gpcatalog.effects.keys import fold, qualified
from gpcatalog.effects.query_columns import columns_of, reads_temporary
from gpcatalog.effects.refused_alterations import refused_alter
from gpcatalog.effects.refused_drops import refused_drop
from gpcatalog.effects.refused_tables import output_twice, refused_index, refused_table
from gpcatalog.effects.ties import names_are_written

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

RefusalCheck = Callable[["SchemaState", Any], str]


def refusal(state: SchemaState, tree: exp.Expression) -> str:
    """Why the server rejects a statement; "" if that is not certain."""
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
    ):
        return "ALTER TYPE … ADD VALUE"
    action = tree.args.get("action")
    if action is not None and type(action).__name__ == "DetachPartition":
        return "DETACH PARTITION CONCURRENTLY" if action.args.get("concurrently") else ""
    return ""


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
    if reads_temporary(state, query):
        return ""  # the view is temporary
    if not tree.args.get("replace"):
        return name_in_use(state, key)
    was = state.views.get(key)
    if (
        state.unsure
        or was is None
        or was.output is None
        or query is None
        or key not in state.ties.named
        or not (names_are_written(query) or len(given) >= len(was.output))
    ):
        return ""
    try:
        found = [c.name for c in columns_of(state, query)]
    except Unknown:
        return ""
    found = [*given, *found[len(given) :]]
    if len(found) < len(was.output):
        return f"columns of view {key[1]} cannot be dropped"
    for old, new in zip(was.output, found, strict=False):
        if old.name != new:
            return f"column {old.name} of view {key[1]} cannot be renamed"
    return ""


def _schema(state: SchemaState, tree: exp.Expression) -> str:
    name = tree.args.get("this")
    exists = tree.args.get("exists") or tree.args.get("if_not_exists")
    if state.unsure or exists or not isinstance(name, exp.Identifier):
        return ""
    return f"schema {fold(name)} exists" if fold(name) in state.schemas else ""


def _sequence(state: SchemaState, tree: exp.Expression) -> str:
    if tree.args.get("if_not_exists") or str(tree.args.get("temporary") or "") not in (
        "",
        "UNLOGGED",
    ):
        return ""
    return name_in_use(state, state.new_name(tree.this))


def _type(state: SchemaState, tree: exp.Expression) -> str:
    schema, name = (
        qualified(tree.this) if isinstance(tree.this, exp.Table) else ("", fold(tree.this))
    )
    definition = state.types.definitions.get(name)
    if (
        # a base type replaces the shell type of that name
        (type(tree).__name__ == "CreateType" and "AS" not in str(tree.args.get("form") or ""))
        or state.unsure
        or state.existing is not None
        or definition is None
        or not definition.base
        or name in state.types.several
        or definition.schema != (schema or state.new_objects)
    ):
        return ""
    return f"type {name} exists"


_CHECKS: dict[str, RefusalCheck] = {
    "Create": _create,
    "CreateSchema": _schema,
    "CreateSequence": _sequence,
    "CreateType": _type,
    "CreateDomain": _type,
    "DropObject": refused_drop,
    "AlterTable": refused_alter,
}
