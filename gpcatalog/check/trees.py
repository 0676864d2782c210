"""Leaves of partitioned tables whose partitions are tables of their own in the script."""

from __future__ import annotations

from gpcatalog.check.report import RuleContext
from gpcatalog.effects.relations import Table
from gpcatalog.effects.schema_state import SchemaState


def root_of(state: SchemaState, table: Table) -> Table:
    """The table at the top of the tree that this one is in."""
    seen = {(table.schema, table.name)}
    while table.parent is not None:
        above = state.tables.get(table.parent)
        if above is None or table.parent in seen:
            break
        seen.add(table.parent)
        table = above
    return table


def leaves_of(state: SchemaState, table: Table) -> int:
    """Partitions below it that hold rows, at every level."""
    below = [one for one in (table, *state.partitions_of(table)) if one.partitioned or one is table]
    plain = sum(not one.partitioned for one in state.partitions_of(table))
    return plain + sum(one.numbers[1] for one in below)


def _added(s: RuleContext) -> int:
    """Leaves that the statement brings below the root of its table, at most."""
    made = s.effect.leaves_made
    for action in s.effect.actions:
        if type(action).__name__ == "AttachPartition":
            child = s.state.find(action.this)
            if child is not None:
                made += leaves_of(s.state, child) if child.partitioned else 1
    return made


def crosses(s: RuleContext, subject: str, limit: int) -> tuple[Table, int] | None:
    """The root and its number of leaves where this statement brings it over a limit, of a tree of
    tables; told once.

    All leaves are counted only when as many were added as the limit had left at the last count.
    subject: names the limit.
    """
    table = s.effect.table
    if table is None or (table.parent is None and not table.own_children):
        return None
    added = _added(s)
    if not added:
        return None
    root = root_of(s.state, table)
    key = (subject, root.schema, root.name, limit)
    room = s.room.get(key)
    if room is not None and (room < 0 or added <= room):
        s.room[key] = room - added if room >= 0 else room
        return None
    leaves = leaves_of(s.state, root)
    s.room[key] = limit - leaves  # below 0: it was told
    return (root, leaves) if leaves > limit >= leaves - added else None
