"""CREATE INDEX and DROP INDEX."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.ddl.definition import index_key
from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.effects.actions import reshape, without_index
from gpcatalog.ddl.effects.nodes import says_only
from gpcatalog.ddl.relations import Table, fold, qualified, take_over

if TYPE_CHECKING:
    from gpcatalog.ddl.world import World


def create_index(world: World, tree: exp.Create) -> Effect:
    target = tree.this.args["table"]
    table = world.find(target)
    effect = Effect("index", table, index=tree)
    if table is None or (not table.known and table.baseline_shapes is None):
        effect.add_unknown(f"unknown table {target.sql('greenplum')}")
        world.note_change_by_name(target)
        return effect
    if table.uncounted:
        effect.add_unknown(table.uncounted)
    name = fold(tree.this.args.get("this"))
    if name and tree.args.get("exists") and any(key.name == name for key in table.indexes):
        return effect
    family = [table, *world.partitions_of(table)]
    if says_only(target):
        family = [table]
    key = index_key(table, name, tree.this.args["params"], unique=bool(tree.this.args.get("unique")))
    if table.parts and family == [table] and len(world.partitions_of(table)) == 0 and says_only(target):
        with world.changing(effect, table):
            table.only.append(key)
        return effect
    settled: list[Table] = []  # partitions under an index that exists already keep theirs
    with world.changing(effect, *family):
        for one in family:
            if any(one is x for x in settled):
                continue
            one.directory = True
            if one.baseline_shapes is not None:
                reshape(one, lambda shape: replace(shape, indexes=(*shape.indexes, key.index)))
            if one is table:
                one.indexes.append(key)
            elif take_over(one, key):
                settled += world.partitions_of(one)
            else:
                one.indexes.append(key.for_partition(one))
    if table.baseline_shapes is not None and (key.expressions or key.predicate):
        effect.add_unknown("dependencies of the index expressions")
    effect.relations_locked = 1 + table.numbers[0]
    return effect


def drop_indexes(world: World, tree: exp.Expression) -> Effect:
    effect = Effect("alter")
    for name in tree.args["indexes"]:
        _, plain = qualified(name) if not isinstance(name, exp.Dot) else ("", "")
        owner = next((t for t in world.tables.values() for key in (*t.indexes, *t.only) if key.name == plain and plain), None)
        if owner is None:
            effect.add_unknown(f"unknown index {name.sql('greenplum')}")
            continue
        effect.table = owner
        if any(key.name == plain for key in owner.only):
            with world.changing(effect, owner):
                owner.only = [key for key in owner.only if key.name != plain]
            continue
        family = [
            t for t in (owner, *world.partitions_of(owner)) if any(plain in (key.name if t is owner else key.of,) for key in t.indexes)
        ]
        with world.changing(effect, *family):
            for one in family:
                gone = next(key for key in one.indexes if plain == (key.name if one is owner else key.of))
                one.indexes.remove(gone)
                if one.baseline_shapes is not None:
                    reshape(one, lambda shape, gone=gone: without_index(shape, gone))  # type: ignore[misc]
    return effect
