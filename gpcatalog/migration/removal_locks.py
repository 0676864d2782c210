"""Locks of steps that remove partitions, from what the server shows of the table now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gpcatalog.capacity.cost import relation_cost
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.model.storage import Storage
from gpcatalog.planner.costs import model_generation, removal_locks
from gpcatalog.planner.step_locks import JOURNAL

if TYPE_CHECKING:
    from gpcatalog.migration.introspect import Relation
    from gpcatalog.migration.live_table import LiveTable


def locks_of_removal(live: LiveTable, units: Sequence[Relation]) -> int:
    """Number of locks of the removal of partitions in one transaction, at most: on what is removed,
    on the partitions above, and on the default partition next to it.
    """
    return others(live, units[0]) + sum(locks_of_unit(live, u) for u in units)


def others(live: LiveTable, unit: Relation) -> int:
    """Number of locks of the removal of a partition on what is not removed."""
    table = live.table
    parent = live.parent_of([unit])
    default = table.default_of(parent.oid)
    above = (1 + len(table.indexes[table.root.oid])) * (1 + parent.level)
    return JOURNAL + above + (locks_of_unit(live, default) if default else 0)


def locks_of_unit(live: LiveTable, unit: Relation) -> int:
    """Number of locks of the removal of a partition and everything below it, on itself."""
    return round(sum(_one(live, r) for r in live.unit(unit).everything))


def _one(live: LiveTable, relation: Relation) -> float:
    """Locks of the removal of one relation. Relations whose details were not read have those of the
    table.
    """
    table = live.table
    oid = relation.oid if relation.oid in table.columns else table.root.oid
    traits = [what for what, _ in table.traits.get(oid, {})]
    gen = model_generation(table.server.generation)
    leaf = relation.kind == "leaf"
    stored = leaf and relation.storage in {s.value for s in gen.storages}
    shape = Shape(
        Storage(relation.storage) if stored else Storage.HEAP,
        len(table.columns[oid]),
        toastable=relation.toast,
        indexes=tuple(
            Index(1, constraint=bool(i.constraint_kind), bitmap=i.body.startswith("USING bitmap "))
            for i in table.indexes.get(oid, ())
        ),
        place=Place.LEAF if leaf else Place.INTERMEDIATE,
        bounds=relation.level,
        not_null=sum(c.not_null for c in table.columns[oid]),
        defaults=traits.count("default"),
        # those of the table, which all of its partitions have; the shape includes those of bounds
        checks=table.root.checks if live.classic else traits.count("check"),
    )
    return _locks_of_shape(gen.name, shape) + traits.count("trigger") + traits.count("statistics")


@lru_cache(maxsize=256)
def _locks_of_shape(generation: str, shape: Shape) -> float:
    gen = model_generation(generation)
    return removal_locks(gen, relation_cost(gen, shape), sum(i.bitmap for i in shape.indexes))
