"""What one relation costs, by its class: a table of the capacity model's answers that the planner's arrays point into."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.generation import GENERATIONS, Generation
from gpcatalog.capacity.model import EMPTY, FILLED, Cluster, Cost, Index, Place, Shape, relation_cost, relation_files
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage

# What a merged or converted leaf may be stored as; the first means as it is.
KEEP, TO_AO_ROW, TO_AO_COLUMN, TO_HEAP = range(4)
TARGETS = (None, Storage.AO_ROW, Storage.AO_COLUMN, Storage.HEAP)

# Seconds of DDL. Measured on Greenplum 6.24.3, 30 leaves of 20 columns: DROP PARTITION 4–8 ms, ADD 7–18 ms, EXCHANGE 3–32 ms.
DROP_SECONDS = 0.008
ADD_SECONDS = 0.018
EXCHANGE_SECONDS = 0.032
DDL_SOURCE = "measured: Greenplum 6.24.3, 30 leaves of 20 columns"
# No source gives a copying rate for a cluster nobody measured: stated, and settable with --rate.
COPY_RATE = 50 * 1024 * 1024
COPY_SOURCE = "assumed 50 MiB/s a segment; --rate sets it"


@dataclass(frozen=True)
class LeafClass:
    """What leaves that cost the same have in common; see the relation table of a snapshot.

    bounds: partitions with bounds on the path from below the root (pg_constraint rows on Greenplum 6)
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
    root: int  # index of the root whose columns and indexes it shares; -1 where nothing is known of them


@dataclass(frozen=True)
class RootShape:
    """Columns and indexes of a root, as the snapshot's facts tell them."""

    not_null: int = 0
    defaults: int = 0
    checks: int = 0
    indexes: tuple[Index, ...] = ()


def model_generation(name: str) -> Generation:
    """The cost model's generation for a server; a newer PostgreSQL than any measured counts as the newest one measured."""
    found = GENERATIONS.get(name)
    if found is None and name.startswith("pg"):
        found = GENERATIONS[max((g for g in GENERATIONS if g.startswith("pg")), key=lambda g: int(g[2:]))]
    if found is None:
        raise CatalogError(f"no cost model for the server generation {name!r}", hint="update gpcatalog")
    return found


def shape_of(gen: Generation, one: LeafClass, root: RootShape, storage: Storage | None = None) -> Shape | None:
    """The cost model's shape of a class, as it is or in another storage; None where the server cannot have that."""
    now = one.storage
    target = storage or now
    if target not in gen.storages:
        return None
    indexes = root.indexes if len(root.indexes) == one.indexes else _even(one.indexes, one.index_columns)
    if gen.rule_catalogs and target.append_optimized and any(i.constraint for i in indexes):
        if now.append_optimized:
            indexes = tuple(replace(i, constraint=False) for i in indexes)
        else:
            return None
    # ao_column of Greenplum 7 never has TOAST: whether another storage would need it is not known, so it is counted
    toast = one.toast or (target is not now and now not in gen.toast)
    return Shape(
        target,
        one.columns,
        toastable=toast,
        indexes=indexes,
        place=Place.LEAF if one.leaf else Place.INTERMEDIATE,
        bounds=one.bounds,
        not_null=root.not_null,
        defaults=root.defaults,
        checks=root.checks,
        owned=one.owner != 10,  # 10: the bootstrap superuser, whose objects have no pg_shdepend rows
    )


def _even(indexes: int, columns: int) -> tuple[Index, ...]:
    if not indexes:
        return ()
    each, more = divmod(max(columns, indexes), indexes)
    return tuple(Index(each + (1 if n < more else 0)) for n in range(indexes))


@dataclass
class Table:
    """Costs of every class under every target: arrays [class, target]; NaN where the server cannot have it.

    rows:   catalog rows on one segment (PostgreSQL: on the server)
    empty, filled: files on one segment
    catalog: estimated catalog bytes on all instances
    costs:  the full answers, for totals
    """

    rows: npt.NDArray[np.float64]
    empty: npt.NDArray[np.float64]
    filled: npt.NDArray[np.float64]
    catalog: npt.NDArray[np.float64]
    columns: npt.NDArray[np.float64]
    column_stored: npt.NDArray[np.bool_]
    costs: list[list[Cost | None]]

    @classmethod
    def of(cls, gen: Generation, cluster: Cluster, classes: list[LeafClass], roots: list[RootShape]) -> Table:
        """The table for these classes; external, foreign and unknown storages cost what a heap's catalog rows do, and no files."""
        n = len(classes)
        rows, empty, filled, catalog = (np.full((n, len(TARGETS)), np.nan) for _ in range(4))
        costs: list[list[Cost | None]] = []
        memo: dict[Shape, tuple[Cost, int, int]] = {}
        for c, one in enumerate(classes):
            root = roots[one.root] if 0 <= one.root < len(roots) else RootShape()
            line: list[Cost | None] = []
            for t, target in enumerate(TARGETS):
                if target is one.storage or (target is not None and not one.leaf):
                    line.append(None)
                    continue
                known = one if one.storage in gen.storages or t else replace(one, storage=Storage.HEAP)
                shape = shape_of(gen, known, root, target)
                if shape is None or (t and one.storage not in gen.storages):
                    line.append(None)
                    continue
                if shape not in memo:
                    leaf = shape.place is Place.LEAF
                    use = FILLED if leaf else EMPTY
                    memo[shape] = (relation_cost(gen, shape), relation_files(gen, shape, EMPTY), relation_files(gen, shape, use))
                cost, files_empty, files_filled = memo[shape]
                stored = one.storage in gen.storages
                rows[c, t] = sum(cost.segment.values() if gen.greenplum else cost.coordinator.values())
                empty[c, t] = files_empty if stored else 0
                filled[c, t] = files_filled if stored else 0
                catalog[c, t] = cluster.catalog_bytes(cost)
                line.append(cost)
            costs.append(line)
        return cls(
            rows,
            empty,
            filled,
            catalog,
            np.array([max(1, c.columns) for c in classes], dtype=np.float64),
            np.array([c.storage is Storage.AO_COLUMN for c in classes], dtype=np.bool_),
            costs,
        )
