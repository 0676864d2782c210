"""CREATE, ALTER and DROP SEQUENCE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.ddl import extras
from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.effects.nodes import cascades
from gpcatalog.ddl.effects.registry import drops, handles
from gpcatalog.ddl.relations import fold

if TYPE_CHECKING:
    from gpcatalog.ddl.world import World


@handles("CreateSequence")
def create_sequence(world: World, tree: exp.Expression) -> Effect:
    effect = Effect()
    name = world.new_name(tree.this)
    if name in world.sequences:
        return effect
    world.sequences.add(name)
    effect.other_files = 1
    for instance in Instance:
        effect.add(instance, extras.sequence(world.edition, instance))
    set_owner(world, tree, name, effect)
    return effect


def set_owner(world: World, tree: exp.Expression, name: tuple[str, str], effect: Effect) -> None:
    """OWNED BY: the sequence is dropped with the table."""
    for option in tree.args.get("options") or ():
        owner = option.args.get("owner")
        if owner is None:
            continue
        for table in world.tables.values():
            table.owned = [key for key in table.owned if key != name]
        if owner.args.get("db") is None:
            continue  # NONE
        schema = fold(owner.args["catalog"]) if owner.args.get("catalog") is not None else ""
        found = world.named(schema, fold(owner.args["db"]))
        if found is None or name not in world.sequences:
            effect.minor.append("owner of the sequence")
        else:
            found.owned.append(name)
            effect.minor.append("dependencies of the sequence")


@handles("AlterSequence")
def alter_sequence(world: World, tree: exp.Expression) -> Effect:
    effect = Effect()
    name = world.known_name(tree.this, world.sequences)
    set_owner(world, tree, name, effect)
    new = tree.args.get("rename")
    if isinstance(new, exp.Identifier) and name in world.sequences:
        rename_sequence(world, name, (name[0], fold(new)))
    schema = tree.args.get("schema")
    if isinstance(schema, exp.Expression) and isinstance(schema.this, exp.Identifier) and name in world.sequences:
        rename_sequence(world, name, (fold(schema.this), name[1]))
    return effect


@drops("SEQUENCE")
def drop_sequences(world: World, tree: exp.Expression) -> Effect:
    effect = Effect()
    if cascades(tree):
        effect.add_unknown("other objects dropped by CASCADE")
    for name in tree.args.get("names") or ():
        key = world.known_name(name, world.sequences)
        if key not in world.sequences:
            effect.add_unknown(f"unknown sequence {name.sql('greenplum')}")
            continue
        drop_sequence(world, key, effect)
    return effect


def drop_sequence(world: World, key: tuple[str, str], effect: Effect) -> None:
    """Drop one known sequence."""
    world.sequences.discard(key)
    effect.other_files -= 1
    for instance in Instance:
        effect.add(instance, extras.sequence(world.edition, instance), -1)


def rename_sequence(world: World, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Change the (schema, name) of a sequence, also where a table owns it."""
    world.sequences.discard(old)
    world.sequences.add(new)
    for table in world.tables.values():
        table.owned = [new if key == old else key for key in table.owned]
