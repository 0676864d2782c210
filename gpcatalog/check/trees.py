"""Leaves of partitioned tables whose partitions are separate tables (PARTITION OF, ATTACH)."""

from __future__ import annotations

from gpcatalog.check.report import RuleContext
from gpcatalog.effects.relations import Table
from gpcatalog.effects.schema_state import SchemaState


def root_of(state: SchemaState, table: Table) -> Table:
    """The root of the partition tree of a table; the table itself if it is not a partition."""
    seen = {(table.schema, table.name)}
    while table.parent is not None:
        above = state.tables.get(table.parent)
        if above is None or table.parent in seen:
            break
        seen.add(table.parent)
        table = above
    return table


def _added(s: RuleContext) -> int:
    """Maximum number of leaves that the statement adds to the tree."""
    added = s.effect.leaves_created
    for action in s.effect.actions:
        if type(action).__name__ == "AttachPartition":
            child = s.state.find(action.this)
            if child is not None:
                added += s.state.leaves_of(child)
    return added


def in_tree(table: Table | None) -> bool:
    """Whether a table is in a tree of separate tables."""
    return table is not None and (table.parent is not None or bool(table.own_children))


def exceeds(s: RuleContext, limit_id: str, limit: int) -> tuple[Table, int] | None:
    """The root and its number of leaves if this statement makes its tree exceed a limit of leaves.

    None also for later statements on the same tree. After a count, all leaves are counted again
    only when as many were added as the limit allowed then, so that long scripts take linear time.
    """
    table = s.effect.table
    if table is None or not in_tree(table):
        return None
    added = _added(s)
    if not added:
        return None
    root = root_of(s.state, table)
    key = (limit_id, root.schema, root.name, limit)
    left = s.leaves_left.get(key)
    if left is not None and left < 0:
        return None  # reported before
    if left is not None and added <= left:
        s.leaves_left[key] = left - added
        return None
    leaves = s.state.leaves_of(root)
    s.leaves_left[key] = limit - leaves
    return (root, leaves) if leaves > limit >= leaves - added else None
