"""Locks of a step on one instance: on tables and indexes, and on the row types, constraints and
defaults of what it removes. Locks on catalogs are not included.

Counted at the end of the transactions of migrations on live servers (tests/migration/test_locks.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpcatalog.capacity.cost import relation_cost
from gpcatalog.capacity.locks import object_locks
from gpcatalog.model.storage import Storage
from gpcatalog.planner.costs import LeafClass, creation_locks, shape_of
from gpcatalog.planner.sets.keep_reasons import KeepReason

if TYPE_CHECKING:
    from gpcatalog.planner.sets.arrays import Floats, Ints
    from gpcatalog.planner.sets.chunk import Chunk
    from gpcatalog.planner.sets.reader import Reader
    from gpcatalog.planner.sets.roots import Root

JOURNAL = 20
"""Tables and indexes of the journal (12), the partitioned table itself, and the constraint that
proves the bound of a new leaf."""
AUXILIARY = 7
"""Most relations that a new leaf has and the old ones do not: the auxiliary relations of
append-optimized storage."""


@dataclass(frozen=True, kw_only=True)
class StepLocks:
    """Locks of the removal of units of a chunk, and of others in the same step.

    removed: of all units before each unit, and of all
    others:  by unit: of the partitions above it, and of the default partition next to it
    new:     by unit: of a new one like it
    default: by unit: of a new default partition next to it, if the step creates it again
    first, last: by unit: first unit of its set, and the end of its set
    exchanged: whether new partitions are added and then exchanged (Greenplum 6)
    """

    removed: Floats
    others: Floats
    new: Floats
    default: Floats
    first: Ints
    last: Ints
    exchanged: bool

    @classmethod
    def of(cls, chunk: Chunk) -> StepLocks:
        """The locks of steps of a chunk."""
        exchanged = chunk.table.exchanged
        again = chunk.new_locks / 2 if exchanged else np.zeros(len(chunk.set))
        default = chunk.locks if exchanged else _of_units(chunk)
        return cls(
            removed=np.concatenate([[0.0], np.cumsum(chunk.locks)]),
            others=JOURNAL + _of_default(chunk, default)[chunk.set] + _above(chunk)[chunk.root],
            new=chunk.new_locks,
            default=_of_default(chunk, again)[chunk.set],
            first=np.searchsorted(chunk.set, chunk.set, side="left"),
            last=np.searchsorted(chunk.set, chunk.set, side="right"),
            exchanged=exchanged,
        )

    def replacing(self, start: Ints, end: Ints, new_leaves: Ints) -> Floats:
        """Locks of steps that replace the units start…end by one with so many leaves."""
        found = self.removing(start, end) + self.new[start] + self.default[start]
        if self.exchanged:  # a temporary partition keeps the level while all others are removed
            whole = (start == self.first[start]) & (end == self.last[start])
            found += np.where(whole, self.new[start], 0.0)
        return np.asarray(found + AUXILIARY * new_leaves)

    def removing(self, start: Ints, end: Ints) -> Floats:
        """Locks of steps that remove the units start…end."""
        return np.asarray(self.others[start] + self.removed[end] - self.removed[start])


def locks_of_table(reader: Reader, root: Root) -> int:
    """Locks of a step that replaces a table and all of its partitions by one table."""
    gen, shapes, most, found = reader.generation, reader.shapes[root.index], 0.0, 0.0
    for r in reader.snapshot.rows(
        'SELECT kind, level, is_default, storage, "columns", toast, indexes, index_columns, owner,'
        " tablespace, '' AS options, '' AS persistence, count(*) AS n FROM relation WHERE root = ?"
        " GROUP BY ALL ORDER BY ALL",
        [root.oid],
    ):
        known = r["storage"] in gen.storages
        one = LeafClass.of_row(
            r,
            Storage(r["storage"]) if known else Storage.HEAP,
            bounds=r["level"] - bool(r["is_default"]),
            leaf=r["kind"] == "leaf",
            root=root.index,
        )
        shape = shape_of(gen, one, shapes)
        assert shape is not None  # only its own storage is requested
        cost = relation_cost(gen, shape)
        most = max(most, creation_locks(gen, cost))
        found += r["n"] * object_locks(cost.coordinator)
    others = root.leaves * object_locks(dict(shapes.other)) if shapes is not None else 0.0
    return round(JOURNAL + found + others + most)


def _of_default(chunk: Chunk, locks: Floats) -> Floats:
    """The locks of the default partition of each set, from locks by unit."""
    found = np.zeros(int(chunk.set.max(initial=-1)) + 1)
    at = np.flatnonzero(chunk.why == KeepReason.DEFAULT)
    np.maximum.at(found, chunk.set[at], locks[at])
    return found


def _of_units(chunk: Chunk) -> Floats:
    """Locks on the partitions of each unit and on their indexes: there are not more partitions
    above its leaves than leaves.
    """
    indexes = np.array([c.indexes for c in chunk.classes], dtype=np.float64)
    found = np.bincount(
        chunk.leaf_unit, weights=1 + indexes[chunk.leaf_class], minlength=len(chunk.set)
    )
    return np.where(chunk.leaves > 1, 2 * found, found)


def _above(chunk: Chunk) -> Floats:
    """Locks on the partitions above the units and on their indexes, by table: as many indexes as
    a leaf has.
    """
    found = np.zeros(max((r.index for r in chunk.roots), default=-1) + 1)
    indexes = np.array([c.indexes for c in chunk.classes], dtype=np.float64)
    np.maximum.at(found, chunk.root[chunk.leaf_unit], 1 + indexes[chunk.leaf_class])
    for root in chunk.roots:
        found[root.index] *= max(1, root.level)
    return found
