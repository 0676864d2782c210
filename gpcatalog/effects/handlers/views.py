"""Views, external and foreign tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import auxiliary_rows
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.columns_read import reading_of
from gpcatalog.effects.definition import column, define
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.dependents import doubt_functions
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import drops, handles
from gpcatalog.effects.keys import Column, fold, shared
from gpcatalog.effects.outer_dependencies import foreign_collation
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.query_columns import (
    columns_of,
    read_names,
    reads_temporary,
    row_types,
    width,
)
from gpcatalog.effects.relations import Table, View
from gpcatalog.effects.renames import rename_reads
from gpcatalog.effects.view_sequences import read_sequences

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


def create_view(state: SchemaState, tree: exp.Create) -> Effect:
    """CREATE VIEW: one row in pg_class and one per column in pg_attribute; dependencies are not
    counted.
    """
    effect = Effect(verb="view", minor=["dependencies of a view"])
    name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    given = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    key, query = state.new_name(name), tree.args.get("expression")
    if tree.args.get("replace") and key[0] in ("", "public"):
        other = ("public" if key[0] == "" else "", key[1])
        key = other if other in state.views else key
    sequences = read_sequences(state, query)
    temporary = any(("pg_temp", name) in state.sequences for _, name in sequences)
    if (
        tree.find(exp.TemporaryProperty) is not None
        or tree.args.get("temporary")
        or reads_temporary(state, query)
        or (temporary and state.edition.base >= 19)
    ):
        key = "pg_temp", key[1]
    output = None if query is None else _output(state, query, [fold(n) for n in given])
    number = len(output) if output is not None else None if query is None else width(state, query)
    if number is None and given:
        number = len(given)
    if not tree.args.get("replace"):
        state.views.pop(key, None)  # it did not exist, or was dropped unnoticed
    was = state.views[key].columns if key in state.views else 0
    fresh = key not in state.views
    absent = key[0] in state.schemas - state.schemas_unknown or key in state.absent_views
    absent &= not (state.unsure or state.may_be_created_by_code(key[1]))
    state.absent_views.discard(key)
    if tree.args.get("replace") and fresh and not (absent or tree.args.get("temporary")):
        effect.add_unknown("whether the view already exists")
    reads = read_names(state, query) | row_types(state, query)
    named = output is not None and len(given) >= len(output)
    reading = reading_of(state, query, named=named)
    state.views[key] = View(number, reads | sequences, output=output, reading=reading)
    state.ties.index(key, reads | sequences)
    if number is None or was is None:
        effect.add_unknown("columns of the view")
        return effect
    effect.add_rows(
        {
            "pg_class": int(fresh),
            "pg_attribute": number - was,
            "pg_type": 2 * fresh,
            "pg_rewrite": int(fresh),
        }
    )
    return effect


def _output(
    state: SchemaState, query: exp.Expression, names: list[str]
) -> tuple[Column, ...] | None:
    """The columns of a view of this query, the first of them with these names; None if the query
    does not determine them.
    """
    try:
        found = columns_of(state, query)
    except Unknown:
        return None
    tables = [state.find(name) for name in query.find_all(exp.Table)]
    ordered = any(foreign_collation(name) for name in _collations(query)) or any(
        c.outer_order for table in tables if table is not None for c in table.columns
    )
    return tuple(
        shared(
            Column(
                names[i] if i < len(names) else c.name,
                c.type,
                c.typmod,
                own_type=c.own_type,
                outer_order=c.outer_order or ordered,
            )
        )
        for i, c in enumerate(found)
    )


def _collations(query: exp.Expression) -> Iterator[exp.Expression]:
    """The names in COLLATE of a query."""
    for one in query.find_all(gx.Predicate):
        if one.args.get("words") == "COLLATE":
            yield from one.expressions


@drops("VIEW", "EXTERNAL TABLE", "EXTERNAL WEB TABLE", "FOREIGN TABLE")
def drop_views(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP VIEW, also of materialized views."""
    effect = Effect(verb="drop", minor=["dependencies of a view"])
    for name in tree.args.get("names") or ():
        key = state.known_name(name, state.views)
        state.absent_views.add(key)
        if key not in state.views and tree.args.get("exists"):
            if state.opaque:
                effect.add_unknown(f"whether {name.sql('greenplum')} exists")
            continue  # as with DROP TABLE IF EXISTS
        if key not in state.views:
            effect.add_unknown(f"unknown columns of view {name.sql('greenplum')}")
            continue
        drop_view(state, key, effect)
        if cascades(tree):
            drop_dependent_views(state, {key}, effect)
            if tree.args.get("kind") != "VIEW":
                effect.add_unknown("child tables dropped by CASCADE")
    return effect


def drop_view(state: SchemaState, key: tuple[str, str], effect: Effect) -> None:
    """Drop one view, with its rows and files."""
    view = state.views.pop(key)
    if "dependencies of a view" not in effect.minor:
        effect.minor.append("dependencies of a view")
    if view.columns is None:
        effect.add_unknown(f"unknown columns of view {key[1]}")
        return
    effect.add_rows(
        {
            "pg_class": -1,
            "pg_attribute": -view.columns,
            "pg_type": -2 * view.typed,
            "pg_rewrite": -int(view.rule),
        }
    )
    _add_sequences(state, -len(view.serial), effect)


def drop_dependent_views(state: SchemaState, keys: set[tuple[str, str]], effect: Effect) -> None:
    """CASCADE: drop views and materialized views that depend on these relations, recursively."""
    pending = set(keys)
    while pending:
        one = pending.pop()
        _read_from_baseline(state, one)
        doubt_functions(state, one[1], effect)
        for key in [k for k, v in state.views.items() if one in v.reads]:
            drop_view(state, key, effect)
            pending.add(key)
        for table in [t for t in state.tables.values() if one in t.reads]:
            state.drop(table, effect)
            pending.add((table.schema, table.name))
        for table in state.tables.values():
            # an index on such a column is dropped with it; indexes of unknown tables are unknown
            indexed = bool(table.indexes) or not table.known
            written = one[1] in state.ties.column_types
            if any(
                c.type == one[1]
                or (not c.type and (indexed or written))
                or (written and c.type == "_array")
                for c in table.columns
            ):
                effect.add_unknown("columns that use the row type of the dropped table")
                table.uncounted = table.uncounted or f"row type of the dropped table {one[1]}"
                doubt_views(state, {(table.schema, table.name)}, VIEWS)


def _read_from_baseline(state: SchemaState, key: tuple[str, str]) -> None:
    """Read the materialized views that read a relation of the baseline."""
    was = state.renamed_schemas.get(key[0], key[0])
    for schema, view in (
        state.existing.reading(was, key[1]) if state.existing is not None and was else ()
    ):
        state.named(state.new_schema(schema), view)


VIEWS = "views dropped by CASCADE"  # reason of doubt_views


def doubt_views(state: SchemaState, keys: set[tuple[str, str]], reason: str) -> bool:
    """Mark the views and materialized views that read one of these relations, directly or through
    other views, as unknown; return whether there is one.
    """
    pending, seen = set(keys), set(keys)
    while pending:
        one = pending.pop()
        _read_from_baseline(state, one)
        for key in [k for k, v in state.views.items() if one in v.reads and k not in seen]:
            state.views[key] = replace(state.views[key], columns=None, output=None)
            pending.add(key)
            seen.add(key)
        for key in [k for k, t in state.tables.items() if one in t.reads and k not in seen]:
            state.tables[key].uncounted = state.tables[key].uncounted or reason
            pending.add(key)
            seen.add(key)
    return len(seen) > len(keys)


def create_external(state: SchemaState, tree: exp.Create, kind: str) -> Effect:
    """CREATE of an external or foreign table: a row of pg_class and, with system columns, the rows
    of pg_attribute.
    """
    effect = Effect(
        verb=kind.lower(),
        minor=[
            f"rows of {'an external' if kind == 'EXTERNAL TABLE' else 'a foreign'} table in other"
            " catalogs"
        ],
    )
    name = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    shadow = Table(*state.new_name(name))
    if Presence(state).another_kind(tree, shadow.schema, shadow.name):
        return Effect(verb=kind.lower())
    define(state, shadow, tree.this.expressions if isinstance(tree.this, exp.Schema) else [])
    if (
        not shadow.known
        or tree.args.get("expression") is not None
        or tree.find(exp.PartitionedOfProperty, exp.InheritsProperty)
    ):
        effect.add_unknown(f"columns of {shadow.title}")
        for parent in tree.find_all(exp.Table):
            key = state.known_name(parent, state.views)
            if key in state.views:
                state.views[key] = replace(state.views[key], columns=None, output=None)
            if (above := state.find(parent)) is not None:
                above.uncounted = above.uncounted or f"partition or child table {shadow.title}"
        return effect
    # LIKE copies no identity columns to a foreign table
    own = {fold(e.this) for e in tree.find_all(exp.ColumnDef)}
    shadow.columns = [c if c.name in own else replace(c, serial="") for c in shadow.columns]
    # with ctid, tableoid and the four system columns of transactions; Greenplum: gp_segment_id
    number = len(shadow.columns) + 6 + state.edition.greenplum
    output = tuple(shared(Column(c.name, c.type, c.typmod)) for c in shadow.columns)
    serial = frozenset(c.name for c in shadow.columns if c.serial)
    state.views[shadow.schema, shadow.name] = View(
        number, frozenset(), rule=False, output=output, serial=serial
    )
    effect.add_rows({"pg_class": 1, "pg_attribute": number, "pg_type": 2})
    _add_sequences(state, len(serial), effect)
    return effect


def _add_sequences(state: SchemaState, number: int, effect: Effect) -> None:
    """Add sequences that columns own; a negative number removes them."""
    effect.other_files += number
    for instance in Instance:
        effect.add(instance, auxiliary_rows.sequence(state.edition, instance), number)


# actions that add or remove no rows of other catalogs
_SAME_ROWS = (
    "OwnerTo",
    "RenameTo",
    "RenameColumnTo",
    "SetSchema",
    "EnableDisable",
    "ReplicaIdentity",
)


@handles("AlterForeignTable", "AlterExternalTable")
def alter_foreign(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER of a foreign table, external table or view: only a new column adds a row."""
    actions = [
        *(tree.args.get("actions") or ()),
        *([tree.args["move"]] if tree.args.get("move") is not None else []),
    ]
    more = sum(type(a).__name__ == "AddColumn" for a in actions)
    key = state.known_name(tree.this, state.views)
    effect = Effect(
        verb="alter",
        unknown=(
            ["whether the column exists"]
            if any(a.args.get("if_not_exists") for a in actions)
            else []
        ),
    )
    if any(type(a).__name__ not in _SAME_ROWS for a in actions):
        effect.minor.append("rows of a view or foreign table in other catalogs")
    serial = _serial_columns(state, key, actions, effect)
    if (known := state.views.get(key)) is not None:
        if more and known.columns is None:
            effect.add_unknown(f"unknown columns of {key[1]}, and tables that inherit them")
        same = all(type(a).__name__ in ("OwnerTo", "RenameTo", "SetSchema") for a in actions)
        columns = None if known.columns is None else known.columns + more
        state.views[key] = replace(
            known, columns=columns, output=known.output if same else None, serial=serial
        )
    elif tree.args.get("exists") or tree.args.get("if_exists"):
        effect.add_unknown("whether the table exists")
    new = tree.args.get("rename") or next(
        (a.this for a in actions if type(a).__name__ == "RenameTo"), None
    )
    if key in state.views and isinstance(new, exp.Identifier):
        state.views[key[0], fold(new)] = state.views.pop(key)
        state.ties.renamed(key, (key[0], fold(new)))
        rename_reads(state, {key: (key[0], fold(new))})
    schema = next((a.this for a in actions if type(a).__name__ == "SetSchema"), None)
    if isinstance(schema, exp.Identifier) and "pg_catalog" in (fold(schema), key[0]):
        effect.minor.append("dependency on the schema")
    if key in state.views and isinstance(schema, exp.Identifier):
        state.views[fold(schema), key[1]] = state.views.pop(key)
        state.ties.renamed(key, (fold(schema), key[1]))
        rename_reads(state, {key: (fold(schema), key[1])})
    effect.add_rows({"pg_attribute": more})
    return effect


def _serial_columns(
    state: SchemaState, key: tuple[str, str], actions: list[exp.Expression], effect: Effect
) -> frozenset[str]:
    """Columns of a foreign table that own a sequence after these actions, which add and remove the
    sequences.
    """
    known = state.views.get(key)
    before = known.serial if known is not None else frozenset()
    after = set(before)
    for action in actions:
        kind, form = type(action).__name__, str(action.args.get("form") or "")
        if kind == "AlterColumnAction" and form.startswith("ADD GENERATED"):
            after.add(fold(action.this))
        elif kind == "AlterColumnAction" and form == "DROP IDENTITY":
            after.discard(fold(action.this))
            if known is None:
                effect.add_unknown("whether the column owns a sequence")
        elif kind == "AddColumn":
            new_column = column(state, Table(*key), action.this)
            if new_column is not None and new_column.serial:
                after.add(new_column.name)
        elif kind == "DropColumn":
            after.discard(fold(action.this))
            if known is None:
                effect.add_unknown("whether the column owns a sequence")
        elif kind == "RenameColumnTo" and fold(action.this) in after:
            after.remove(fold(action.this))
            after.add(fold(action.args.get("to")))
    _add_sequences(state, len(after) - len(before), effect)
    return frozenset(after)
