"""ALTER TABLE … MERGE PARTITIONS and SPLIT PARTITION of PostgreSQL 19: new partitions for old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.actions import acts
from gpcatalog.effects.handlers.create_table import created, inherit_partition, set_storage
from gpcatalog.effects.relations import Table

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@acts("MergePartitions")
def _merge(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    _replace(state, table, action, action.args["tables"], [action.this], effect)


@acts("SplitPartitionInto")
def _split(state: SchemaState, table: Table, action: exp.Expression, effect: Effect) -> None:
    pieces = [piece.this for piece in action.args["split_into_partition"]]
    _replace(state, table, action, [action.this], pieces, effect)


def _replace(
    state: SchemaState,
    table: Table,
    action: exp.Expression,
    old: list[exp.Expression],
    new: list[exp.Expression],
    effect: Effect,
) -> None:
    """Remove the old partitions and create new ones, as with PARTITION OF."""
    gone = [state.find(name) for name in old]
    if not table.known or any(one is None or not one.known for one in gone):
        effect.add_unknown("unknown partitions in MERGE PARTITIONS or SPLIT PARTITION")
        for name in old:
            state.note_change_by_name(name)
        return
    for one in gone:
        assert one is not None
        for part in (one, *state.partitions_of(one)):
            state.drop(part, effect)
    target = action.parent.this if action.parent is not None else None
    if isinstance(target, gx.RelationName):
        target = target.this
    of = exp.PartitionedOfProperty(this=target)
    for name in new:
        new_table = Table(*state.new_name(name))
        set_storage(state, new_table, "")
        inherit_partition(state, new_table, of, "")
        effect.absorb(created(state, new_table, of))
