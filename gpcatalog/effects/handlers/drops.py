"""DROP TABLE and TRUNCATE; dispatch of other DROP statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.indexes import drop_indexes
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import DROPS, NO_RELATIONS, drops, handles
from gpcatalog.effects.handlers.views import drop_dependent_views
from gpcatalog.effects.relations import Table, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.world import World


@handles("DropObject")
def drop(world: World, tree: exp.Expression) -> Effect:
    effect = Effect("drop")
    if tree.args.get("indexes"):
        return drop_indexes(world, tree)
    kind = tree.args.get("kind")
    if (handler := DROPS.get(str(kind))) is not None:
        return handler(world, tree)
    if kind in NO_RELATIONS:
        effect.minor.append("catalog rows of the dropped objects")
        if cascades(tree):
            effect.add_unknown("other objects dropped by CASCADE")
        effect.verb = ""
        return effect
    return Effect(unknown=["catalog rows of the dropped objects"])


@drops("TABLE", "MATERIALIZED VIEW")
def drop_tables(world: World, tree: exp.Expression) -> Effect:
    """DROP TABLE and DROP MATERIALIZED VIEW."""
    effect = Effect("drop")
    cascade = cascades(tree)
    dropped: set[tuple[str, str]] = set()  # by this statement
    for name in tree.args.get("names") or ():
        table = world.find(name)
        if table is None and any(qualified(name) in (key, ("", key[1])) for key in dropped):
            continue
        if table is None:
            world.note_change_by_name(name)
            if not tree.args.get("exists") or world.opaque or world.may_exist(*qualified(name)):
                effect.add_unknown(f"unknown table {name.sql('greenplum')}")
            if tree.args.get("exists"):
                effect.may_exist.append(qualified(name))
            else:
                effect.exclusive = True
            continue
        effect.table = table
        for one in (table, *world.partitions_of(table)):
            dropped.add((one.schema, one.name))
            world.drop(one, effect)
        if cascade:
            children = world.inheriting(table)
            for child in children:
                world.drop(child, effect)
            gone = {(h.schema, h.name) for h in (table, *children)} | {(p.schema or table.schema, p.name) for p in table.relations()}
            drop_dependent_views(world, gone, effect)
        if cascade:
            drop_foreign_keys(world, [table], effect)
    return effect


def drop_foreign_keys(world: World, targets: list[Table], effect: Effect) -> None:
    """CASCADE: drop the foreign keys of other tables that reference these."""
    keys = {(t.schema, t.name) for t in targets}
    for other in world.tables.values():
        kept = [k for k in other.foreign if k.target not in keys]
        if len(kept) < len(other.foreign):
            with world.changing(effect, other):
                other.foreign = kept


@handles("Truncate")
def truncate(world: World, tree: exp.Expression) -> Effect:
    effect = Effect("truncate", exclusive=True)
    for name in tree.args.get("tables") or ():
        table = world.find(name)
        if table is not None:
            effect.table = table
            effect.relations_locked += 1 + table.numbers[0]
            effect.exclusive = (table.schema, table.name) in world.before
    return effect
