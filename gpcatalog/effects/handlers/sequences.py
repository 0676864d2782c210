"""CREATE, ALTER and DROP SEQUENCE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.effects import extras
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import drops, handles
from gpcatalog.effects.relations import fold, object_name

if TYPE_CHECKING:
    from gpcatalog.effects.world import World


@handles("CreateSequence")
def create_sequence(world: World, tree: exp.Expression) -> Effect:
    effect = Effect()
    name = world.new_name(tree.this)
    if str(tree.args.get("temporary") or "") not in ("", "UNLOGGED"):
        name = "pg_temp", name[1]
    elif world.known_name(tree.this, world.sequences) in world.sequences:
        return effect
    if name in world.sequences:
        return effect
    world.sequences.add(name)
    effect.other_files = 1
    if str(tree.args.get("temporary") or "") == "UNLOGGED":
        world.unlogged_sequences.add(name)
        effect.other_files = 2
    for instance in Instance:
        effect.add(instance, extras.sequence(world.edition, instance))
    set_owner(world, tree, name, effect)
    return effect


def _of_a_column(world: World, key: tuple[str, str]) -> bool:
    """Whether a serial or identity column may own a sequence of that name."""
    world.disowned.add(key[1])
    owners = [t for t in world.tables.values() if any(object_name(t.name, c.name, "seq") == key[1] for c in t.columns if c.serial)]
    for table in owners:
        table.uncounted = table.uncounted or f"owner of sequence {key[1]}"
    return bool(owners) or world.existing is not None


def set_owner(world: World, tree: exp.Expression, name: tuple[str, str], effect: Effect) -> None:
    """OWNED BY: the sequence is dropped with the table."""
    for option in tree.args.get("options") or ():
        owner = option.args.get("owner")
        if owner is None:
            continue
        for table in world.tables.values() if name in world.owned_once else ():
            if name in table.owned:
                table.owned = [key for key in table.owned if key != name]
        if name not in world.sequences and _of_a_column(world, name):
            effect.add_unknown(f"previous owner of sequence {name[1]}")
        if owner.args.get("db") is None:
            continue  # NONE
        schema = fold(owner.args["catalog"]) if owner.args.get("catalog") is not None else ""
        found = world.named(schema, fold(owner.args["db"]))
        if found is not None and name not in world.sequences:
            found.uncounted = found.uncounted or f"owner of sequence {name[1]}"
        if found is None or name not in world.sequences:
            effect.minor.append("owner of the sequence")
        else:
            found.owned.append(name)
            world.owned_once.add(name)
            effect.minor.append("dependencies of the sequence")


@handles("AlterSequence")
def alter_sequence(world: World, tree: exp.Expression) -> Effect:
    effect = Effect()
    name = world.known_name(tree.this, world.sequences)
    set_owner(world, tree, name, effect)
    for action in tree.args.get("actions") or ():
        form = str(action.args.get("form") or "")
        if form in ("SET LOGGED", "SET UNLOGGED"):
            _set_logged(world, name, effect, logged=form == "SET LOGGED")
    new = tree.args.get("rename")
    if isinstance(new, exp.Identifier) and name in world.sequences:
        rename_sequence(world, name, (name[0], fold(new)))
    schema = tree.args.get("schema")
    if isinstance(schema, exp.Expression) and isinstance(schema.this, exp.Identifier) and name in world.sequences:
        rename_sequence(world, name, (fold(schema.this), name[1]))
    return effect


def _set_logged(world: World, key: tuple[str, str], effect: Effect, *, logged: bool) -> None:
    if key not in world.sequences:
        effect.add_unknown(f"unknown sequence {key[1]}")
    elif logged != (key not in world.unlogged_sequences):
        effect.other_files += -1 if logged else 1
        (world.unlogged_sequences.discard if logged else world.unlogged_sequences.add)(key)


@drops("SEQUENCE")
def drop_sequences(world: World, tree: exp.Expression) -> Effect:
    effect = Effect()
    if cascades(tree):
        if world.views or any(t.reads for t in world.tables.values()) or world.existing is not None:
            effect.add_unknown("views dropped by CASCADE")
        effect.minor.append("defaults dropped by CASCADE")
    for name in tree.args.get("names") or ():
        key = world.known_name(name, world.sequences)
        if key not in world.sequences:
            if tree.args.get("exists") and not world.opaque and not _of_a_column(world, key):
                continue  # as for DROP TABLE IF EXISTS
            effect.add_unknown(f"unknown sequence {name.sql('greenplum')}")
            continue
        drop_sequence(world, key, effect)
    return effect


def drop_sequence(world: World, key: tuple[str, str], effect: Effect) -> None:
    """Drop one known sequence."""
    world.sequences.discard(key)
    effect.other_files -= 1 + (key in world.unlogged_sequences)
    world.unlogged_sequences.discard(key)
    for instance in Instance:
        effect.add(instance, extras.sequence(world.edition, instance), -1)


def rename_sequence(world: World, old: tuple[str, str], new: tuple[str, str]) -> None:
    """Change the (schema, name) of a sequence, also where a table owns it."""
    if old == new:
        return
    world.sequences.discard(old)
    world.sequences.add(new)
    if old in world.unlogged_sequences:
        world.unlogged_sequences.discard(old)
        world.unlogged_sequences.add(new)
    for table in world.tables.values() if old in world.owned_once else ():
        if old in table.owned:
            world.owned_once.add(new)
            table.owned = [new if key == old else key for key in table.owned]
