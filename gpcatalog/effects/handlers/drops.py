"""DROP TABLE and TRUNCATE; dispatch of other DROP statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.dependents import ALONE
from gpcatalog.effects.handlers.indexes import drop_indexes
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import DROPPED, DROPS, NO_RELATIONS, drops, handles
from gpcatalog.effects.handlers.views import drop_dependent_views
from gpcatalog.effects.keys import qualified
from gpcatalog.effects.relations import Table

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@handles("DropObject")
def drop(state: SchemaState, tree: exp.Expression) -> Effect:
    """The effect of DROP, from the handler registered for the kind of object."""
    effect = Effect(verb="drop")
    if tree.args.get("indexes"):
        return drop_indexes(state, tree)
    kind = tree.args.get("kind")
    if (handler := DROPS.get(str(kind))) is not None:
        return handler(state, tree)
    if kind in NO_RELATIONS:
        effect.minor.append(DROPPED)
        if cascades(tree) and kind not in ALONE:
            effect.add_unknown("other objects dropped by CASCADE")
        effect.verb = ""
        return effect
    return Effect(unknown=[DROPPED])


@drops("TABLE", "MATERIALIZED VIEW")
def drop_tables(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP TABLE and DROP MATERIALIZED VIEW."""
    effect = Effect(verb="drop")
    cascade = cascades(tree)
    dropped: set[tuple[str, str]] = set()  # dropped by this statement
    for name in tree.args.get("names") or ():
        table = state.find(name)
        if table is None and any(qualified(name) in (key, ("", key[1])) for key in dropped):
            continue
        if table is None:
            state.note_change_by_name(name)
            if not tree.args.get("exists") or state.opaque or state.may_exist(*qualified(name)):
                effect.add_unknown(f"unknown table {name.sql('greenplum')}")
            if tree.args.get("exists"):
                effect.may_exist.append(qualified(name))
            else:
                effect.exclusive = True
            continue
        effect.table = table
        if tree.args.get("exists") and (reason := state.why_not_found(name, table)):
            table.known = False
            effect.add_unknown(reason)
            continue
        effect.targets.append((table, state.leaves_of(table)))
        family = (table, *state.partitions_of(table))
        for one in family:
            dropped.add((one.schema, one.name))
            state.drop(one, effect)
        if cascade:
            children = state.inheriting(table)
            for child in children:
                state.drop(child, effect)
            gone = {(h.schema, h.name) for h in (*family, *children)} | {
                (p.schema or one.schema, p.name) for one in family for p in one.relations()
            }
            drop_dependent_views(state, gone, effect)
        if cascade:
            drop_foreign_keys(state, [table], effect)
    return effect


def drop_foreign_keys(state: SchemaState, targets: list[Table], effect: Effect) -> None:
    """CASCADE: drop the foreign keys of other tables that reference these."""
    keys = {(t.schema, t.name) for t in targets}
    for other in state.tables.values():
        kept = [k for k in other.foreign if k.target not in keys]
        if len(kept) < len(other.foreign):
            with state.changing(effect, other):
                other.foreign = kept


@handles("Truncate")
def truncate(state: SchemaState, tree: exp.Expression) -> Effect:
    """TRUNCATE: new files, the same rows."""
    effect = Effect(verb="truncate", exclusive=True)
    for name in tree.args.get("tables") or ():
        table = state.find(name)
        if table is not None:
            effect.table = table
            effect.targets.append((table, state.leaves_of(table)))
            effect.relations_locked += 1 + table.numbers[0]
            effect.exclusive = (table.schema, table.name) in state.before
    return effect
