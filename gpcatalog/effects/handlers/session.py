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
    from gpcatalog.effects.schema_state import SchemaState


@handles("SetVariable", "ResetVariable")
def set_variable(state: SchemaState, tree: exp.Expression) -> Effect:
    """SET and set_config(): settings that decide storage and names."""
    changes = settings_of(tree)
    if changes:
        call = next(
            (c for c in tree.find_all(exp.Anonymous, gx.FunctionCall) if len(c.expressions) == 3),
            None,
        )
        local = str(tree.args.get("scope") or "").upper() == "LOCAL" or (
            call is not None
            and isinstance(call.expressions[2], exp.Boolean)
            and bool(call.expressions[2].this)
        )
        if local and state.in_transaction and state.outer_defaults is None:
            state.outer_defaults = state.defaults
        elif local and not state.in_transaction:
            return Effect()  # it ends with the statement
        elif state.outer_defaults is not None:
            state.outer_defaults = state.outer_defaults.with_(changes)
        state.defaults = state.defaults.with_(changes)
    return Effect()


@handles("AlterDatabase", "AlterRole")
def set_for_sessions(state: SchemaState, tree: exp.Expression) -> Effect:
    """ALTER DATABASE and ALTER ROLE … SET, for sessions to come."""
    if changes := settings_of(tree):
        state.defaults = state.defaults.with_(changes, later=True)
    return Effect()


@handles("Discard")
def discard(state: SchemaState, tree: exp.Expression) -> Effect:
    """DISCARD and RESET ALL."""
    if re.search(r"\bALL\b", tree.sql("greenplum").upper()):
        state.defaults = state.defaults.reconnected()
    if re.search(r"\b(ALL|TEMP)", tree.sql("greenplum").upper()) and any(
        t.temporary for t in state.tables.values()
    ):
        return Effect(unknown=["temporary tables dropped by DISCARD"])
    return Effect()
