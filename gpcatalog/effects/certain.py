"""Whether it is certain which object a name in a statement refers to (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.keys import qualified
from gpcatalog.effects.relations import Table
from gpcatalog.effects.view_sequences import column_with_sequence

if TYPE_CHECKING:
    from gpcatalog.effects.effect import Effect
    from gpcatalog.effects.schema_state import SchemaState
    from gpcatalog.effects.ties import Name


def name_in_use(state: SchemaState, key: Name, *, temporary: bool = False) -> str:
    """A message if a relation of this name, created by the script, certainly exists; ""
    otherwise.
    """
    schema, name = key
    if state.unsure or state.existing is not None or maybe_in_role_schema(state, schema):
        return ""
    table = state.tables.get(key)
    exists = table is not None and table.temporary == temporary and _still_exists(table)
    if not temporary:
        hit = state.partition(schema, name)
        exists = (
            exists
            or (key in state.views and state.views[key].columns is not None)
            or (key in state.sequences and key not in state.owned_once)
            or _of_table(state, key)
            or (
                hit is not None
                and (hit[1][-1].schema or hit[0].schema) == schema
                and not hit[0].temporary
            )
        )
    return f"{name} exists" if exists else ""


def _of_table(state: SchemaState, key: Name) -> bool:
    """Whether an index of a table, or the sequence of a column, certainly has this name."""
    schema, name = key
    if name in state.index_names and any(
        k.name == name
        for table in state.tables.values()
        if table.schema == schema and not table.temporary and is_complete(table)
        for k in (*table.indexes, *table.only)
    ):
        return True
    return "_seq" in name and column_with_sequence(state, key) is not None


def created_before(state: SchemaState, key: Name, *, temporary: bool) -> str:
    """A message if the script has certainly created a table of this name; "" otherwise."""
    table = state.tables.get(key)
    if (
        table is None
        or table.temporary != temporary
        or state.unsure
        or key in state.before
        or table.uncounted
        or maybe_in_role_schema(state, key[0])
    ):
        return ""
    return f"{table.title} exists"


def type_in_use(state: SchemaState, key: Name) -> str:
    """A message if a type of this name, created by the script, certainly exists: no table, view or
    sequence of its schema can have the name, because these have types, too; "" otherwise.
    """
    schema, name = key
    definition = state.types.definitions.get(name)
    if (
        state.unsure
        or state.ties.types_lost
        or state.existing is not None
        or definition is None
        or not definition.base
        or name in state.types.several
        or definition.schema != schema
        or maybe_in_role_schema(state, schema)
    ):
        return ""
    return f"type {name} exists"


def maybe_in_role_schema(state: SchemaState, schema: str) -> bool:
    """Whether objects without a schema may be in the schema with the name of the role ("$user")
    instead of this one.
    """
    path = state.defaults.values.get("search_path", "")
    return bool(state.schemas) and schema in ("", "public") and (not path or "$user" in path)


def is_certain(state: SchemaState, name: exp.Expression, table: Table | None) -> bool:
    """Whether a statement certainly names this table, and its columns and keys are known."""
    return (
        table is not None
        and not state.unsure
        and not state.doubt
        and is_complete(table)
        and not (("pg_temp", table.name) in state.views and not qualified(name)[0])
        # the relation of pg_catalog is found first
        and not (table.name.startswith("pg_") and not qualified(name)[0])
        and not state.why_not_found(name, table)
        and (table.temporary or qualified(name)[0] in ("", table.schema))
    )


def is_complete(table: Table) -> bool:
    """Whether all columns, keys and constraints of a table are known."""
    return table.known and _still_exists(table)


def _still_exists(table: Table) -> bool:
    return not table.uncounted and not table.may_have_lost


def not_in(columns: Iterable[str], known: Sequence[str]) -> str:
    """The first of these columns that is not among the known ones; "" if there is none."""
    return next((c for c in columns if c not in known), "")


def outside_path(state: SchemaState, tree: exp.Expression) -> Iterator[tuple[Table, str]]:
    """The tables that a statement changes under a name without a schema, and that are in a schema
    which search_path may not have: another table of that name may be the one. With the reason.
    """
    kind = type(tree).__name__
    if kind == "AlterTable":
        names = [tree.this]
    elif kind == "Create" and tree.args.get("kind") == "INDEX":
        names = [tree.this.args.get("table")]
    elif kind == "Truncate" or (kind == "DropObject" and tree.args.get("kind") == "TABLE"):
        names = [*(tree.args.get("tables") or ()), *(tree.args.get("names") or ())]
    else:
        names = []
    for name in names:
        if not isinstance(name, exp.Table | gx.RelationName) or qualified(name)[0]:
            continue
        table = state.find(name)
        if table is not None and (why := state.why_not_found(name, table)):
            yield table, why


def doubt_tables(found: Iterable[tuple[Table, str]], effect: Effect) -> None:
    """Mark the effect of a statement on these tables as unknown."""
    for table, why in found:
        effect.add_unknown(why)
        table.uncounted = table.uncounted or why
