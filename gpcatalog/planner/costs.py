"""Costs of one relation, by its class: a table of results of the cost model. The planner's
arrays refer to its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.cost import Cluster, Cost, relation_cost
from gpcatalog.capacity.generation import GENERATIONS, NEWEST_MEASURED, Generation
from gpcatalog.capacity.limits import GIB
from gpcatalog.capacity.locks import object_locks
from gpcatalog.capacity.model import (
    EMPTY,
    FILLED,
    UNMEASURED_ROW_BYTES,
    Index,
    Instance,
    Place,
    Shape,
    Use,
    relation_files,
    relation_rows,
)
from gpcatalog.errors import CatalogError
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.storage import Storage

# Storage of a merged or converted leaf; the first one means unchanged.
KEEP, TO_AO_ROW, TO_AO_COLUMN, TO_HEAP = range(4)
TARGETS = (None, Storage.AO_ROW, Storage.AO_COLUMN, Storage.HEAP)

# In locked mode, a staging leaf is created and filled by one transaction. Then append-optimized
# rows go to segment file 0 on Greenplum 7, and to the first segment file on Greenplum 6. Measured
# on 6.25.3 and 7.0.0.
COPIED = Use(rows=True, segfiles=0, segment_zero=True)


def counted(rows: Mapping[str, float]) -> float:
    """Catalog rows that a plan counts: all except those of pg_stat_last_operation, which is a
    log of operations on a relation.
    """
    return sum(n for catalog, n in rows.items() if catalog != "pg_stat_last_operation")


def catalog_bytes(gen: Generation, cluster: Cluster, cost: Cost) -> float:
    """Estimated bytes of a relation's catalog rows on all instances, in catalogs that VACUUM
    FULL has rewritten.
    """
    known = {**gen.row_bytes, **gen.packed_row_bytes}

    def one(rows: Mapping[str, float]) -> float:
        return sum(n * known.get(catalog, UNMEASURED_ROW_BYTES) for catalog, n in rows.items())

    return (
        one(cost.coordinator) * cluster.entry_instances + one(cost.segment) * cluster.data_instances
    )


def removal_locks(gen: Generation, cost: Cost, bitmaps: int = 0) -> float:
    """Locks of the removal of a partition with these catalog rows by a step of a migration.
    Greenplum 6 does not lock its indexes and auxiliary relations, except those of bitmap indexes.
    """
    locks = object_locks(cost.coordinator)
    if gen.drop_locks_leaves:
        return locks
    return locks - (cost.coordinator["pg_class"] - 1) + BITMAP_RELATIONS * bitmaps


def creation_locks(gen: Generation, cost: Cost) -> float:
    """Locks of the creation of a partition with these catalog rows by a step of a migration.
    Greenplum 6 adds an empty one, exchanges it with a table, and removes it: they are two.
    """
    locks = object_locks(cost.coordinator)
    return locks if gen.drop_locks_leaves else 2 * (locks + 1)


BITMAP_RELATIONS = 2
"""Auxiliary relations of a bitmap index: a heap of its distinct values, with an index."""


@dataclass(frozen=True, kw_only=True)
class LeafClass:
    """Common properties of leaves that cost the same; see the relation table of a snapshot.

    bounds: number of partitions with bounds on the path below the root (pg_constraint rows on
            Greenplum 6)
    leaf:   False for intermediates
    """

    storage: Storage
    columns: int
    toast: bool
    indexes: int
    index_columns: int
    owner: int
    tablespace: int
    options: str
    persistence: str
    bounds: int
    leaf: bool
    # index of the root that has the same columns and indexes; -1 if nothing is known about them
    root: int

    @classmethod
    def of_row(
        cls, row: Mapping[str, Any], storage: Storage, *, bounds: int, leaf: bool, root: int
    ) -> LeafClass:
        """The class of a row of a snapshot's table `relation`, with this storage."""
        return cls(
            storage=storage,
            columns=int(row["columns"]),
            toast=bool(row["toast"]),
            indexes=int(row["indexes"]),
            index_columns=int(row["index_columns"]),
            owner=int(row["owner"] or 0),
            tablespace=int(row["tablespace"] or 0),
            options=row["options"] or "",
            persistence=row["persistence"] or "",
            bounds=bounds,
            leaf=leaf,
            root=root,
        )


@dataclass(frozen=True, kw_only=True)
class RootShape:
    """Columns and indexes of a root, from the snapshot's facts.

    live:  columns that are not dropped, 0 if unknown
    other: rows of its leaves in catalogs that no shape includes, such as triggers: (catalog, mean
           per leaf)
    """

    live: int = 0
    not_null: int = 0
    defaults: int = 0
    checks: int = 0
    depends: int = 0
    indexes: tuple[Index, ...] = ()
    other: tuple[tuple[str, float], ...] = ()


def model_generation(name: str) -> Generation:
    """The cost model's generation for a server. A PostgreSQL release newer than all measured
    ones counts as the newest measured one.
    """
    found = GENERATIONS.get(name)
    if found is None and not is_greenplum(name):
        found = GENERATIONS[f"pg{NEWEST_MEASURED}"]
    if found is None:
        raise CatalogError(
            f"there is no cost model for server generation {name!r}", hint="update gpcatalog"
        )
    return found


def shape_of(
    gen: Generation,
    one: LeafClass,
    root: RootShape,
    storage: Storage | None = None,
    *,
    copied: bool = False,
) -> Shape | None:
    """The cost model's shape of a class, unchanged or in another storage; None if the server does
    not support that.

    copied: rewritten, without dropped columns.
    """
    now = one.storage
    target = storage or now
    if target not in gen.storages:
        return None
    own = one.indexes - len(root.indexes)
    if own >= 0 and root.live:
        columns = one.index_columns - sum(index.columns for index in root.indexes)
        indexes = (
            *root.indexes,
            *(replace(index, attached=False) for index in _even(own, columns)),
        )
    else:
        indexes = _even(one.indexes, one.index_columns)
    if gen.rule_catalogs and target.append_optimized and any(i.constraint for i in indexes):
        if now.append_optimized:
            indexes = tuple(replace(i, constraint=False) for i in indexes)
        else:
            return None
    # ao_column of Greenplum 7 never has TOAST. It is unknown whether another storage would need it,
    # so it is counted.
    toast = one.toast or (target is not now and now not in gen.toast)
    return Shape(
        target,
        min(one.columns, root.live or one.columns) if copied else one.columns,
        toastable=toast,
        indexes=indexes,
        place=Place.LEAF if one.leaf else Place.INTERMEDIATE,
        bounds=one.bounds,
        not_null=root.not_null,
        defaults=root.defaults,
        checks=root.checks,
        depends=root.depends,
        exchanged=copied,
        owned=one.owner
        != 10,  # 10: the bootstrap superuser, whose objects have no pg_shdepend rows
        unlogged=one.persistence == "u",
    )


def _even(indexes: int, columns: int) -> tuple[Index, ...]:
    if not indexes:
        return ()
    each, more = divmod(max(columns, indexes), indexes)
    return tuple(Index(each + (1 if n < more else 0)) for n in range(indexes))


def _bitmaps(one: LeafClass, roots: Sequence[RootShape]) -> int:
    """Number of bitmap indexes of a leaf: those of its table, if it has as many indexes."""
    found = roots[one.root].indexes if 0 <= one.root < len(roots) else ()
    return sum(i.bitmap for i in found) if len(found) == one.indexes else 0


def heap_files(segment: npt.NDArray[np.float64], block: int) -> npt.NDArray[np.float64]:
    """Files of a heap table on one segment, without the first file, by its bytes there: a free
    space map from the second page on, and one file for each further GiB.

    >>> heap_files(np.array([0, 8192, 8193, 2**30 + 1]), 8192).tolist()
    [0.0, 0.0, 1.0, 2.0]
    """
    return np.asarray(
        (segment > block) + np.maximum(np.ceil(segment / GIB) - 1, 0), dtype=np.float64
    )


def _cost(
    gen: Generation, shape: Shape, *, written: bool, other: tuple[tuple[str, float], ...]
) -> tuple[Cost, int, int, float]:
    """Cost of one relation, its files on one segment without and with rows, and the catalog rows
    that its first rows add. other: further catalog rows of a leaf.
    """
    leaf = shape.place is Place.LEAF
    fresh = FILLED if gen.rule_catalogs or not written else COPIED
    use = fresh if leaf else EMPTY
    cost = relation_cost(gen, shape)
    if leaf and other:
        cost += Cost(coordinator=dict(other), segment=dict(other))
    arrived = counted(relation_rows(gen, shape, Instance.SEGMENT, use)) - counted(
        relation_rows(gen, shape)
    )
    return cost, relation_files(gen, shape, EMPTY), relation_files(gen, shape, use), arrived


@dataclass(kw_only=True)
class Table:
    """Costs of every class for every target: arrays [class, target]; NaN if the server does not
    support it.

    With target 0 (KEEP), a leaf is unchanged. `rewritten` contains the costs of leaves that are
    rewritten in their own storage.
    empty, filled: files on one segment
    catalog: estimated catalog bytes on all instances
    locks, new_locks: on one instance, of its removal, and of a new one like it; by class
    exchanged: whether a new partition is added and then exchanged (Greenplum 6)
    costs:  the full results, for totals
    """

    rows: npt.NDArray[np.float64]
    more: npt.NDArray[np.float64]
    empty: npt.NDArray[np.float64]
    filled: npt.NDArray[np.float64]
    catalog: npt.NDArray[np.float64]
    locks: npt.NDArray[np.float64]
    new_locks: npt.NDArray[np.float64]
    columns: npt.NDArray[np.float64]
    column_stored: npt.NDArray[np.bool_]
    costs: list[list[Cost | None]]
    exchanged: bool
    rewritten: Table | None = None

    @classmethod
    def of(
        cls,
        gen: Generation,
        cluster: Cluster,
        classes: list[LeafClass],
        roots: list[RootShape],
        *,
        copied: bool = False,
    ) -> Table:
        """The table for these classes. External, foreign and unknown storages cost the catalog
        rows of a heap table, and no files.
        """
        n = len(classes)
        rows, more, empty, filled, catalog = (np.full((n, len(TARGETS)), np.nan) for _ in range(5))
        costs: list[list[Cost | None]] = []
        memo: dict[
            tuple[Shape, bool, tuple[tuple[str, float], ...]], tuple[Cost, int, int, float]
        ] = {}
        for c, one in enumerate(classes):
            root = roots[one.root] if 0 <= one.root < len(roots) else RootShape()
            line: list[Cost | None] = []
            for t, target in enumerate(TARGETS):
                if target is one.storage or (target is not None and not one.leaf):
                    line.append(None)
                    continue
                known = (
                    one if one.storage in gen.storages or t else replace(one, storage=Storage.HEAP)
                )
                shape = shape_of(gen, known, root, target, copied=copied or target is not None)
                if shape is None or (t and one.storage not in gen.storages):
                    line.append(None)
                    continue
                written = copied or target is not None
                kind = (shape, written, root.other)
                if kind not in memo:
                    memo[kind] = _cost(gen, shape, written=written, other=root.other)
                cost, files_empty, files_filled, arrived = memo[kind]
                stored = one.storage in gen.storages
                rows[c, t] = counted(cost.segment if gen.greenplum else cost.coordinator)
                more[c, t] = arrived if stored else 0
                empty[c, t] = files_empty if stored else 0
                filled[c, t] = files_filled if stored else 0
                catalog[c, t] = catalog_bytes(gen, cluster, cost)
                line.append(cost)
            costs.append(line)
        kept = [line[KEEP] for line in costs]
        return cls(
            rows=rows,
            more=more,
            empty=empty,
            filled=filled,
            catalog=catalog,
            locks=np.array(
                [
                    removal_locks(gen, c, _bitmaps(one, roots)) if c else 0.0
                    for c, one in zip(kept, classes, strict=True)
                ]
            ),
            new_locks=np.array([creation_locks(gen, c) if c else 0.0 for c in kept]),
            columns=np.array([max(1, c.columns) for c in classes], dtype=np.float64),
            column_stored=np.array(
                [c.storage is Storage.AO_COLUMN for c in classes], dtype=np.bool_
            ),
            costs=costs,
            exchanged=not gen.drop_locks_leaves,
            rewritten=None if copied else cls.of(gen, cluster, classes, roots, copied=True),
        )

    def with_more(self, more: Table) -> Table:
        """The table for these classes, followed by the classes of another table."""

        def both(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([one, other])

        rewritten = (
            None
            if self.rewritten is None or more.rewritten is None
            else self.rewritten.with_more(more.rewritten)
        )
        return Table(
            rows=both(self.rows, more.rows),
            more=both(self.more, more.more),
            empty=both(self.empty, more.empty),
            filled=both(self.filled, more.filled),
            catalog=both(self.catalog, more.catalog),
            locks=both(self.locks, more.locks),
            new_locks=both(self.new_locks, more.new_locks),
            columns=both(self.columns, more.columns),
            column_stored=both(self.column_stored, more.column_stored),
            costs=self.costs + more.costs,
            exchanged=self.exchanged,
            rewritten=rewritten,
        )
