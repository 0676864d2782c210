"""CREATE EXTENSION, ALTER EXTENSION and DROP EXTENSION."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.extensions import OBJECTS, WITHOUT_RELATIONS
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import DROPPED, drops, handles
from gpcatalog.effects.keys import fold, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@handles("CreateExtension")
def create_extension(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE EXTENSION; plpgsql is in every database."""
    name = fold(tree.this)
    if name == "plpgsql":
        return Effect()
    for option in tree.args.get("options") or ():
        if (schema := option.args.get("schema")) is not None:
            state.schemas_with_code.add(fold(schema))
    if name in WITHOUT_RELATIONS:
        return Effect(minor=[OBJECTS])
    state.extended = True
    return Effect(unknown=["objects created by CREATE EXTENSION"])


@handles("AlterExtension")
def alter_extension(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER EXTENSION: a new version, another schema, or another member."""
    if fold(tree.this) in WITHOUT_RELATIONS or tree.args.get("member") is not None:
        return Effect(minor=[OBJECTS])
    state.extended = True
    return Effect(unknown=["effect of ALTER EXTENSION"])


@drops("EXTENSION")
def drop_extension(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP EXTENSION: with CASCADE, also what uses its objects. As with DROP TABLE IF EXISTS, an
    unknown extension is assumed not to exist.
    """
    names = [fold(name) for name in tree.args.get("simple") or ()]
    names += [qualified(name)[1] for name in tree.args.get("names") or ()]
    if WITHOUT_RELATIONS.issuperset(names):
        effect = Effect(minor=[DROPPED])
        if cascades(tree):
            effect.add_unknown("other objects dropped by CASCADE")
        return effect
    unread = state.existing is not None or state.unsure or state.extended
    if tree.args.get("exists") and not unread and WITHOUT_RELATIONS.isdisjoint(names):
        return Effect()
    return Effect(unknown=[DROPPED])
