"""Functions and procedures of a script, by name and arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.keys import fold

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

Types = tuple[str, ...]  # of the arguments, as in the catalog


@dataclass(frozen=True, slots=True)
class Declared:
    """What CREATE OR REPLACE cannot change.

    kind: "function" or "procedure"; names: of the arguments, "" if not written; defaults: number of
    arguments with one; result: type of a single value that is built in, "" for others
    """

    kind: str
    names: tuple[str, ...]
    defaults: int
    result: str


def new_routine(state: SchemaState, tree: exp.Expression) -> tuple[str, str]:
    """The schema and the name of the function or procedure that a statement creates."""
    named = tree.this if isinstance(tree.this, exp.Table) else exp.Table(this=tree.this.copy())
    return state.new_name(named)


def declared(state: SchemaState, tree: exp.Expression) -> tuple[Types, Declared] | None:
    """The argument types of a new function, and its declaration; None if a type is not built in, or
    an argument is not IN.
    """
    types, names, defaults = [], [], 0
    for one in tree.args.get("args") or ():
        argument = one.this if isinstance(one.this, exp.Expression) else one
        kind = argument.args.get("kind")
        found = _built_in(state, kind)
        if str(argument.args.get("mode") or "IN").upper() != "IN" or not found:
            return None
        types.append(found)
        names.append(fold(argument.args.get("arg")))
        defaults += one.args.get("default") is not None
    returns = None if tree.args.get("columns") else tree.args.get("returns")
    several = isinstance(returns, gx.SetOf)
    result = _built_in(state, returns.this if several else returns) if returns is not None else ""
    result = f"setof {result}" if several and result else result
    kind = type(tree).__name__.removeprefix("Create").lower()
    return tuple(types), Declared(kind, tuple(names), defaults, result)


def _built_in(state: SchemaState, kind: exp.Expression | None) -> str:
    """The name of a type of the server; "" for others."""
    if not isinstance(kind, exp.DataType):
        return ""
    if kind.this == exp.DType.ARRAY:
        inner = _built_in(state, kind.expressions[0]) if kind.expressions else ""
        return f"{inner}[]" if inner else ""
    name = catalog_type(kind)[0]
    if name in ("void", "trigger"):
        return name
    return name if state.types.resolved(name, -1)[0] and not state.types.outer(kind) else ""


def refused_routine(state: SchemaState, tree: exp.Expression) -> str:
    """Why a function or procedure cannot be created or replaced."""
    found = declared(state, tree)
    if state.unsure or found is None:
        return ""
    key = new_routine(state, tree)
    old = state.ties.declared.get(key, {}).get(found[0]) if key in state.ties.routines else None
    new = found[1]
    if old is None:
        return ""
    if not tree.args.get("or_replace"):
        return f"{old.kind} {key[1]} with these arguments exists"
    if old.kind != new.kind:
        return f"{key[1]} is a {old.kind}"
    if old.result and new.result and old.result != new.result:
        return f"the result of {key[1]} cannot be changed from {old.result} to {new.result}"
    for before, after in zip(old.names, new.names, strict=True):
        if before and before != after:
            return f"argument {before} of {key[1]} cannot be renamed"
    if new.defaults < old.defaults:
        return f"defaults of arguments of {key[1]} cannot be removed"
    return ""
