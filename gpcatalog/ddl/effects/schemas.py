"""CREATE SCHEMA and ALTER SCHEMA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.ddl.effect import Effect
from gpcatalog.ddl.effects.registry import handles
from gpcatalog.ddl.relations import fold

if TYPE_CHECKING:
    from gpcatalog.ddl.world import World


@handles("CreateSchema")
def create_schema(world: World, tree: exp.Expression) -> Effect:
    return Effect(unknown=["objects inside CREATE SCHEMA"] if tree.args.get("elements") else [])


@handles("AlterSchema")
def rename_schema(world: World, tree: exp.Expression) -> Effect:
    new = tree.args.get("rename")
    old = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args.get("this"))
    if isinstance(new, exp.Identifier):
        for table in [t for t in world.tables.values() if t.schema == old]:
            world.forget(table, moved=True)
            table.schema = fold(new)
            table.own_children = [(table.schema if s == old else s, n) for s, n in table.own_children]
            world.keep(table)
    return Effect()
