"""SET, RESET, set_config and DISCARD: settings that determine the storage of new tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import handles
from gpcatalog.effects.handlers.sequences import drop_sequence
from gpcatalog.effects.handlers.views import drop_dependent_views, drop_view
from gpcatalog.effects.session import settings_of

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@handles("SetVariable", "ResetVariable")
def set_variable(state: SchemaState, tree: exp.Expression) -> Effect:
    """SET and set_config(): settings that determine storage and names."""
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
    """ALTER DATABASE and ALTER ROLE … SET, for later sessions."""
    if changes := settings_of(tree):
        state.defaults = state.defaults.with_(changes, later=True)
    return Effect()


@handles("Discard")
def discard(state: SchemaState, tree: exp.Expression) -> Effect:
    """DISCARD and RESET ALL."""
    if re.search(r"\bALL\b", tree.sql("greenplum").upper()):
        state.defaults = state.defaults.reconnected()
    effect = Effect()
    if what := re.search(r"\bDISCARD\s+(ALL|TEMP)", tree.sql("greenplum").upper()):
        _drop_temporary(state, effect, all_of_it=what[1] == "ALL")
    return effect


def _drop_temporary(state: SchemaState, effect: Effect, *, all_of_it: bool) -> None:
    """Drop the temporary tables, views and sequences of the session.

    all_of_it: DISCARD ALL; on Greenplum 6 and 7, the rows on segments still existed after it
        (measured)
    """
    if state.edition.greenplum and any(t.temporary for t in state.tables.values()) and all_of_it:
        effect.add_unknown("temporary tables on segments, which are dropped later")
    if state.opaque:
        effect.add_unknown("temporary tables of code that was not read")
    if state.lost_temporary:
        effect.add_unknown("temporary tables whose name another table got")
    gone = set()
    for table in [t for t in state.tables.values() if t.temporary]:
        gone.add((table.schema, table.name))
        if (table.schema, table.name) in state.tables:
            effect.verb = "drop"
            state.drop(table, effect)
    for key in [k for k in state.views if k[0] == "pg_temp"]:
        gone.add(key)
        drop_view(state, key, effect)
    for key in [k for k in state.sequences if k[0] == "pg_temp"]:
        drop_sequence(state, key, effect)
    for kind, definition in list(state.types.definitions.items()):
        if definition.schema == "pg_temp":
            del state.types.definitions[kind]
            if definition.columns is not None:
                effect.add_rows({"pg_class": -1, "pg_attribute": -definition.columns})
    drop_dependent_views(state, gone, effect)
