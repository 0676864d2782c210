"""DROP … CASCADE of objects that are not relations, and DROP OWNED: tables and views that may have
lost something are unknown afterwards.

It is not analyzed which column, index or view uses a function, a type or a collation. Therefore,
tables are distinguished by their objects: an index on an expression can use any function, an index
on plain columns none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.attached import note_attached
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import AFTER
from gpcatalog.effects.keys import fold
from gpcatalog.effects.relations import Table
from gpcatalog.effects.session import SETTINGS, set_by_call
from gpcatalog.effects.signatures import declared, new_routine
from gpcatalog.effects.ties import type_names

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

Holds = Callable[["SchemaState", Table], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Objects that may be dropped with an object: tables (or some of their indexes and columns),
    views, external and foreign tables; owned: also sequences and types.
    """

    tables: Holds | None = None
    views: bool = True
    foreign: bool = False
    owned: bool = False


def _all(_: SchemaState, __: Table) -> bool:
    return True


def _with_expressions(state: SchemaState, table: Table) -> bool:
    """Whether a table may have an index that is not on plain columns, a generated column, or a
    column of a type that is not the server's own.
    """
    keys = [*table.indexes, *table.only]
    keys += [key for part in table.relations() for key in part.odd.keys]
    return (
        not table.known
        or any(k.expressions or k.predicate or len(k.simple) < k.columns for k in keys)
        or any(c.generated or not_built_in(state, c.type) for c in table.columns)
    )


def _indexed(state: SchemaState, table: Table) -> bool:
    """Whether a table may have an index or a key, of its own or of a partition."""
    return (
        not table.known
        or bool(table.indexes or table.only)
        or any(part.odd.keys for part in table.relations())
    )


def _with_types(state: SchemaState, table: Table) -> bool:
    """Whether a table may have a column of a type that is not the server's own, and an index on
    that column.

    For an enum or a domain, a column here has the built-in type in which it is stored. A dropped
    column keeps its row, an index on it does not.
    """
    return _indexed(state, table) or any(not_built_in(state, c.type) for c in table.columns)


def not_built_in(state: SchemaState, kind: str) -> bool:
    """Whether a type was created by the script, or is unknown."""
    plain = kind.removesuffix("[]").removeprefix("_")
    return plain in state.types.definitions or state.types.resolved(plain, -1)[0] == ""


_CODE = Reach(tables=_with_expressions, foreign=True)
_ANYTHING = Reach(tables=_all, foreign=True)
# by the kind of object, or by the kind of statement if it has one of its own
_REACH: dict[str, Reach] = {
    "DropFunction": _CODE,
    "DropAggregate": _CODE,
    "DropLanguage": _CODE,
    "DropOperator": Reach(tables=_indexed),
    "TYPE": Reach(tables=_with_types),
    "DOMAIN": Reach(tables=_with_types),
    "COLLATION": Reach(tables=_all),
    "ACCESS METHOD": Reach(tables=_all),
    "EXTENSION": _ANYTHING,
    "SERVER": Reach(foreign=True),
    "FOREIGN DATA WRAPPER": Reach(foreign=True),
    "TEXT SEARCH CONFIGURATION": _CODE,
    "TEXT SEARCH DICTIONARY": _CODE,
    "TEXT SEARCH PARSER": _CODE,
    "TEXT SEARCH TEMPLATE": _CODE,
    "SEQUENCE": Reach(),
    "DropOwned": Reach(tables=_all, foreign=True, owned=True),
}
# objects on which no relation, column or index depends
ALONE = frozenset(("TRIGGER", "POLICY", "STATISTICS", "CONVERSION", "PUBLICATION", "EVENT TRIGGER"))
# statements that create objects that indexes, columns and views of other schemas can use
_USED_ELSEWHERE = {
    "CreateCollation": _all,
    "CreateOperator": _indexed,
    "CreateOperatorClass": _indexed,
    "CreateOperatorFamily": _indexed,
    "CreateTextSearch": _with_expressions,
    "CreateFunction": _with_expressions,
    "CreateAggregate": _with_expressions,
    "CreateType": _with_types,
    "CreateDomain": _with_types,
}


def doubt(state: SchemaState, reach: Reach, reason: str) -> bool:
    """Mark objects that may have been dropped as unknown; return whether there are any.

    Tables of a baseline that are read later are tested when they are read.
    """
    found = False
    if reach.tables is not None and state.existing is not None:
        state.lost.append((reach.tables, reason))
        found = True
    for table in state.tables.values():
        if reach.tables is not None and reach.tables(state, table):
            table.known = False
            table.unknown.append(reason)
            found = True
        elif reach.views and (table.reads or table.kind == "MATERIALIZED VIEW"):
            table.uncounted = table.uncounted or reason
            found = True
    for key, view in state.views.items():
        if reach.views if view.rule else reach.foreign:
            state.views[key] = replace(view, columns=None, output=None)
            found = True
    if reach.owned:
        state.sequences.clear()
        state.unlogged_sequences.clear()
        state.types.forget()
        found = True
    state.opaque = state.opaque or reach.owned
    return found


def _schema_of(state: SchemaState, tree: exp.Expression) -> str:
    """The schema of an object that is created; "" for the first schema of a search_path that the
    script does not set.
    """
    name = tree.args.get("this") or tree.args.get("class")
    if isinstance(name, gx.Operator):
        written = name.args.get("schema") or ()
        return fold(written[-1]) if written else state.new_objects
    return state.new_name(name)[0] if isinstance(name, exp.Table) else state.new_objects


# objects on which no column, default or constraint of another table depends, except as noted below
_KEPT = frozenset((*ALONE, "VIEW", "MATERIALIZED VIEW", "INDEX", "RULE"))


def _doubt_tables(state: SchemaState, tree: exp.Expression, effect: Effect) -> None:
    """CASCADE: mark the tables that may have lost columns, defaults or constraints."""
    kind = type(tree).__name__
    what = str(tree.args.get("kind")) if kind == "DropObject" else kind
    if kind != "DropOwned" and not (kind.startswith("Drop") and cascades(tree)):
        return
    if what in _KEPT or tree.args.get("indexes") or (what == "SEQUENCE" and not effect.minor):
        return
    names = [fold(part) for part in tree.find_all(exp.Identifier)]
    if what in ("TABLE", "FOREIGN TABLE", "EXTERNAL TABLE") and not any(
        name in state.ties.type_users or name in state.ties.routine_names for name in names
    ):
        return
    state.ties.types_lost |= what not in ("SEQUENCE", "TABLE")
    for table in state.tables.values():
        table.may_have_lost = True


def note_dependents(state: SchemaState, tree: exp.Expression, effect: Effect) -> None:
    """Mark dependent objects that a statement may have dropped as unknown."""
    kind = type(tree).__name__
    _forget_routines(state, tree)
    _doubt_tables(state, tree, effect)
    _note_settings(state, tree)
    note_attached(state, tree)
    state.ties.casts |= kind == "CreateCast"
    state.ties.classes |= kind == "CreateOperatorClass"
    state.ties.constraint_triggers |= kind == "CreateTrigger" and "CONSTRAINT" in str(
        tree.args.get("form")
    )
    if kind in ("CreateFunction", "CreateProcedure", "CreateAggregate"):
        state.ties.routine_names |= {name for _, name in type_names(tree)}
        for body in tree.find_all(gx.SqlBody):
            state.ties.routine_names |= {fold(name) for name in body.find_all(exp.Identifier)}
        _note_routine(state, tree)
    elif kind in ("Create", "AlterTable"):
        state.ties.column_types |= {name for _, name in type_names(tree)}
    if kind in _USED_ELSEWHERE:
        state.usable.setdefault(_schema_of(state, tree), {})[kind] = _USED_ELSEWHERE[kind]
        return
    if kind == "DropOwned":
        doubt(state, _REACH[kind], "objects dropped by DROP OWNED")
        return
    if kind == "AlterSchema" and isinstance(tree.args.get("rename"), exp.Identifier):
        old = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args["this"])
        if old in state.usable:
            state.usable.setdefault(fold(tree.args["rename"]), {}).update(state.usable.pop(old))
    if not kind.startswith("Drop") or not cascades(tree):
        return
    what = str(tree.args.get("kind")) if kind == "DropObject" else kind
    if what == "SCHEMA":
        for name in tree.args.get("simple") or tree.args.get("names") or ():
            plain = fold(name if isinstance(name, exp.Identifier) else name.args.get("this"))
            used = state.usable.pop(plain, {})
            if plain == "public":
                used = {**used, **state.usable.pop("", {})}
            for holds in set(used.values()):
                if doubt(state, Reach(tables=holds), f"objects that use those of schema {plain}"):
                    effect.add_unknown(f"objects that use those of schema {plain}")
    elif not effect.unknown:
        return
    elif what == "RULE" and fold(tree.args.get("this")) == "_return":
        doubt(state, Reach(), "views dropped by CASCADE")
    elif what in _REACH:
        noun = what if kind == "DropObject" else kind.removeprefix("Drop").upper()
        doubt(state, _REACH[what], f"objects dropped by CASCADE with {noun}")


# types of the server itself that only functions have; they are found before those of the script
_PSEUDO_TYPES = frozenset(
    """trigger event_trigger record void cstring internal opaque language_handler fdw_handler index_am_handler
    table_am_handler tsm_handler pg_ddl_command anyelement anyarray anynonarray anyenum anyrange anymultirange
    anycompatible anycompatiblearray anycompatiblenonarray anycompatiblerange anycompatiblemultirange anytable""".split()
)


def _note_routine(state: SchemaState, tree: exp.Expression) -> None:
    """Record the types of the arguments and results of a new function."""
    if not state.unsure:
        key = new_routine(state, tree)
        types = frozenset(
            name
            for _, name in type_names(tree)
            if state.types.outer_name(name) and name not in _PSEUDO_TYPES
        )
        if key not in state.ties.routines:
            state.ties.declared[key] = {}
        aggregate = type(tree).__name__ == "CreateAggregate"
        if not aggregate and (found := declared(state, tree)) is not None:
            state.ties.declared[key][found[0]] = found[1]
        state.ties.routines[key] = state.ties.routines.get(key, frozenset()) | types


def _note_settings(state: SchemaState, tree: exp.Expression) -> None:
    """Note that a statement may change search_path in a way that is not followed."""
    kind = type(tree).__name__
    if kind in ("Select", "CreateFunction", "CreateProcedure", "SetVariable"):
        return
    writes = kind in ("Update", "Insert") and any(
        fold(t.this) == "pg_settings"
        for t in tree.find_all(exp.Table)
        if isinstance(t.this, exp.Identifier)
    )
    if writes or any(name in ("", *SETTINGS) for name, _ in set_by_call(tree)):
        state.doubt = (
            state.doubt or "settings that set_config() or an update of pg_settings changed"
        )


def _forget_routines(state: SchemaState, tree: exp.Expression) -> None:
    """Remove the functions that a statement may drop, rename or move."""
    routines = state.ties.routines
    kind = type(tree).__name__
    if kind == "DropOwned" or (
        kind == "DropObject"
        and (cascades(tree) or tree.args.get("kind") in ("EXTENSION", "LANGUAGE"))
    ):
        routines.clear()
    elif routines and re.match("(Drop|Alter).*(Function|Procedure|Routine|Aggregate)", kind):
        names = {fold(name) for name in tree.find_all(exp.Identifier)}
        for key in [key for key in routines if key[1] in names]:
            del routines[key]
    elif routines and kind == "AlterSchema":
        routines.clear()
    elif routines and kind.startswith("Alter"):  # it may rename or move a type
        names = {fold(name) for name in tree.find_all(exp.Identifier)}
        for key in [key for key, types in routines.items() if types & names]:
            del routines[key]


def doubt_functions(state: SchemaState, name: str, effect: Effect) -> None:
    """CASCADE: mark what may use a function that is dropped with the relation of this name."""
    if name in state.ties.routine_names:
        reason = f"functions dropped with {name}"
        effect.add_unknown(reason)
        doubt(state, _CODE, reason)


AFTER.append(note_dependents)
