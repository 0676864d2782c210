"""DROP TABLE and TRUNCATE; dispatch of other DROP statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects import held_locks
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.dependents import ALONE
from gpcatalog.effects.handlers.indexes import drop_indexes
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import DROPPED, DROPS, NO_RELATIONS, drops, handles
from gpcatalog.effects.handlers.sequences import any_default, note_defaults
from gpcatalog.effects.handlers.views import VIEWS, doubt_views, drop_dependent_views
from gpcatalog.effects.keys import Key, qualified
from gpcatalog.effects.outer_dependencies import FOREIGN
from gpcatalog.effects.relations import Table
from gpcatalog.effects.ties import keys_of_partitions
from gpcatalog.effects.view_sequences import owned_sequences

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@handles("DropObject")
def drop(state: SchemaState, tree: exp.Expression) -> Effect:
    """The effect of DROP, from the handler registered for the kind of object."""
    effect = _drop(state, tree)
    effect.locks += held_locks.dropped_with(effect)
    return effect


def _drop(state: SchemaState, tree: exp.Expression) -> Effect:
    effect = Effect(verb="drop")
    if tree.args.get("indexes"):
        gone: list[tuple[Table, Key]] = []
        effect = drop_indexes(state, tree, gone)
        for table, key in gone if cascades(tree) else ():
            drop_referencing(state, table, key, effect)
        return effect
    kind = tree.args.get("kind")
    if (handler := DROPS.get(str(kind))) is not None:
        return handler(state, tree)
    if kind in NO_RELATIONS:
        effect.minor.append(DROPPED)
        if cascades(tree) and kind not in ALONE and not _without_foreign_tables(state, str(kind)):
            effect.add_unknown("other objects dropped by CASCADE")
        effect.verb = ""
        return effect
    return Effect(unknown=[DROPPED])


def _without_foreign_tables(state: SchemaState, kind: str) -> bool:
    """Whether only user mappings depend on an object of this kind: the script has no foreign table,
    and the database is assumed to have none.
    """
    if kind not in ("SERVER", "FOREIGN DATA WRAPPER"):
        return False
    unread = state.existing is not None or state.unsure or state.extended
    return not unread and all(view.rule for view in state.views.values())


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
        named = (
            [found for one in family for found in owned_sequences(state, one)] if cascade else []
        )
        effect.locks += held_locks.above(state, table)
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
            drop_dependent_views(state, gone | {key for key, _, sure in named if sure}, effect)
            if doubt_views(state, {k for k, _, sure in named if not sure}, VIEWS):
                effect.add_unknown(VIEWS)
            drop_foreign_keys(state, [table], effect)
            # a sequence of the table is dropped with the defaults of other tables that use it
            sequences = any(one.owned or one.sequence_names for one in family)
            if sequences and any_default(state):
                note_defaults(state, effect)
    return effect


def drop_foreign_keys(state: SchemaState, targets: list[Table], effect: Effect) -> None:
    """CASCADE: drop the foreign keys of other tables that reference these."""
    keys = {(t.schema, t.name) for t in targets}
    for other in state.tables.values():
        kept = [k for k in other.foreign if k.target not in keys]
        if len(kept) < len(other.foreign):
            if keys_of_partitions(state, other):
                effect.minor.append(FOREIGN)
            with state.changing(effect, other):
                other.foreign = kept


def drop_referencing(state: SchemaState, table: Table, key: Key, effect: Effect) -> None:
    """CASCADE: drop the foreign keys that reference a key of a table, which is already dropped."""
    target = table.schema, table.name
    columns = set(key.simple)
    # a foreign key may depend on any unique index of these columns
    same = any(
        (k.constraint or k.like.startswith("True")) and set(k.simple) == columns
        for k in table.indexes
    )
    for other in state.tables.values():
        found = [f for f in other.foreign if f.target == target]
        if not found:
            continue
        if any(not f.to for f in found) and not key.like.startswith("primary key"):
            found = [f for f in found if f.to]  # the others reference the primary key
        dropped = [f for f in found if not f.to or set(f.to) == columns]
        if not dropped:
            continue
        if same or not other.known or other.uncounted or keys_of_partitions(state, other):
            effect.add_unknown("foreign keys dropped by CASCADE")
            for one in (other, *state.partitions_of(other)):
                one.uncounted = one.uncounted or "foreign keys dropped by CASCADE"
            continue
        with state.changing(effect, other):
            other.foreign = [f for f in other.foreign if f not in dropped]


@handles("Truncate")
def truncate(state: SchemaState, tree: exp.Expression) -> Effect:
    """TRUNCATE: new files, the same rows."""
    effect = Effect(verb="truncate", exclusive=True)
    for name in tree.args.get("tables") or ():
        table = state.find(name)
        if table is not None:
            effect.table = table
            effect.targets.append((table, state.leaves_of(table)))
            effect.locks += held_locks.truncated(state, table)
            effect.exclusive = (table.schema, table.name) in state.before
        elif (hit := state.partition(*qualified(name))) is not None:
            effect.locks += held_locks.truncated_partition(state, *hit)
    return effect
