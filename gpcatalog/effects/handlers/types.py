"""CREATE, ALTER and DROP of types and domains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.dependents import not_built_in
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import drops, handles
from gpcatalog.effects.keys import fold

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@handles("CreateType", "CreateDomain")
def create_type(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE TYPE: only composite types are relations."""
    effect = Effect(minor=["catalog rows of a type"])
    columns = state.types.create(tree, state.new_objects)
    if columns is not None:
        effect.add_rows({"pg_class": 1, "pg_attribute": columns})
    return effect


def _forget_users(state: SchemaState, name: exp.Expression) -> None:
    """Forget which columns have a type, because of a statement that names it."""
    for part in name.find_all(exp.Identifier):
        state.ties.type_users.pop(fold(part), None)


def _rename_used(state: SchemaState, tree: exp.Expression) -> bool:
    """Rename a type in the columns that have it; return whether that is certain."""
    new, node = tree.args.get("rename"), tree.this
    if not isinstance(new, exp.Identifier):
        return False
    old, to = fold(node.args.get("this") if isinstance(node, exp.Table) else node), fold(new)
    if len(state.types.schemas.get(old, ())) != 1:
        return False
    users = state.ties.type_users.pop(old, [])
    for table in state.tables.values() if users else ():
        if any(c.type_used == old for c in table.columns):
            table.columns = [
                replace(c, type_used=to) if c.type_used == old else c for c in table.columns
            ]
    state.ties.type_users.setdefault(to, []).extend(users)
    return True


@handles("AlterType")
def alter_type(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER TYPE: attributes of composite types."""
    more = state.types.alter(tree)
    if not _rename_used(state, tree) and " VALUE" not in str(tree.args.get("form") or ""):
        _forget_users(state, tree.this)  # of a type in another schema
    effect = Effect(
        minor=["catalog rows of a type"],
        unknown=["columns of the type and of its typed tables"] if more is None else [],
    )
    effect.add_rows({"pg_attribute": more or 0})
    return effect


@handles("AlterDomain")
def alter_domain(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER DOMAIN: whether the domain has constraints decides if ADD COLUMN rewrites a table."""
    state.types.alter_domain(tree)
    if tree.args.get("action") is None:
        _forget_users(state, tree.this)
    return Effect(minor=["constraints of a domain"])


@drops("TYPE", "DOMAIN")
def drop_types(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP TYPE and DROP DOMAIN."""
    effect = Effect(minor=["catalog rows of a type"])
    any_known = False
    for kind in tree.args.get("types") or tree.args.get("names") or ():
        if state.types.ambiguous(kind):
            effect.add_unknown("which type of that name exists")
        known, columns = state.types.drop(kind)
        if cascades(tree):
            _forget_users(state, kind)
        any_known |= known
        if not known and (state.opaque or not tree.args.get("exists")):
            effect.add_unknown("unknown type")
        elif columns is not None:
            effect.add_rows({"pg_class": -1, "pg_attribute": -columns})
    if cascades(tree) and (any_known or _may_be_used(state)):
        effect.add_unknown("other objects dropped by CASCADE")
    return effect


def _may_be_used(state: SchemaState) -> bool:
    """Whether a relation of the script may use a type that the script did not create. Otherwise, as
    with DROP TABLE IF EXISTS, an unknown type is assumed not to exist.
    """
    if state.existing is not None or state.opaque or state.views:
        return True
    return any(
        not table.known or any(not_built_in(state, c.type) for c in table.columns)
        for table in state.tables.values()
    )
