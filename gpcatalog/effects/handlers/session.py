"""SET, RESET, set_config and DISCARD: settings that decide the storage of new tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import handles
from gpcatalog.effects.session import settings_of

if TYPE_CHECKING:
    from gpcatalog.effects.world import World


@handles("SetVariable", "ResetVariable")
def set_variable(world: World, tree: exp.Expression) -> Effect:
    changes = settings_of(tree)
    if changes:
        call = next((c for c in tree.find_all(exp.Anonymous, gx.FunctionCall) if len(c.expressions) == 3), None)
        local = str(tree.args.get("scope") or "").upper() == "LOCAL" or (
            call is not None and isinstance(call.expressions[2], exp.Boolean) and bool(call.expressions[2].this)
        )
        if local and world.in_transaction and world.outer_defaults is None:
            world.outer_defaults = world.defaults
        elif local and not world.in_transaction:
            return Effect()  # it ends with the statement
        elif world.outer_defaults is not None:
            world.outer_defaults = world.outer_defaults.with_(changes)
        world.defaults = world.defaults.with_(changes)
    return Effect()


@handles("AlterDatabase", "AlterRole")
def set_for_sessions(world: World, tree: exp.Expression) -> Effect:
    if changes := settings_of(tree):
        world.defaults = world.defaults.with_(changes, later=True)
    return Effect()


@handles("Discard")
def discard(world: World, tree: exp.Expression) -> Effect:
    if re.search(r"\bALL\b", tree.sql("greenplum").upper()):
        world.defaults = world.defaults.reconnected()
    if re.search(r"\b(ALL|TEMP)", tree.sql("greenplum").upper()) and any(t.temporary for t in world.tables.values()):
        return Effect(unknown=["temporary tables dropped by DISCARD"])
    return Effect()
