"""Read partition sets from a snapshot, one chunk of tables at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.cost import Cluster
from gpcatalog.capacity.generation import Generation
from gpcatalog.capacity.limits import GIB
from gpcatalog.model.bounds import (
    Family,
)
from gpcatalog.model.storage import Storage
from gpcatalog.planner.costs import LeafClass, Table, heap_files, model_generation
from gpcatalog.planner.ends import Ends
from gpcatalog.planner.policy import Policy
from gpcatalog.planner.sets.ages import add_stops, ages, keys_below, named, units_with_dependents
from gpcatalog.planner.sets.arrays import Bools, Floats, Ints, mix
from gpcatalog.planner.sets.axes import axes, can_be_added_again
from gpcatalog.planner.sets.bound_codes import BoundCodes
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.sets.keep_reasons import KeepReason
from gpcatalog.planner.sets.rates import Intervals, rates
from gpcatalog.planner.sets.roots import Root, load_roots, root_shape
from gpcatalog.planner.storage_options import comparable_options
from gpcatalog.planner.workload import Workload
from gpcatalog.store.snapshot import Snapshot

CHUNK = 80_000  # leaves that are read and planned at once: limits memory
# maximum number of leaves for which prepared problems are kept instead of read a second time
KEPT = 500_000


class Reader:
    """Reader of partition sets in a snapshot, one chunk of tables at a time."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        *,
        now: datetime | None = None,
        workload: Workload | None = None,
    ) -> None:
        self.workload = workload
        self.snapshot = snapshot
        self.policy = policy
        self.generation: Generation = model_generation(snapshot.header["generation"])
        nodes = snapshot.one(
            "SELECT count(*) FILTER (content >= 0 AND role = 'p') AS primaries, count(*) FILTER"
            " (content >= 0 AND role = 'm') AS mirrors, count(*) FILTER (content = -1 AND role ="
            " 'm') AS standby FROM instance"
        )
        self.cluster = Cluster(
            int(nodes["primaries"]), mirrors=nodes["mirrors"] > 0, standby=nodes["standby"] > 0
        )
        self.segments = max(1, self.cluster.segments)
        moment = now or snapshot.header["taken_at"].replace(tzinfo=UTC)
        self.now = int(moment.timestamp() * 1_000_000)
        self.roots = load_roots(snapshot, policy)
        self.bounds = BoundCodes(snapshot)
        self.shapes = [root_shape(r.facts, r.leaves) for r in self.roots]
        self._classes: dict[LeafClass, int] = {}
        self._table: Table | None = None  # costs of the first classes
        self._ends: dict[Family, Ends] = {}
        self.intervals: dict[
            int, Intervals
        ] = {}  # by index of the root, if a workload contains ranges
        self.block = int(snapshot.header["block_size"])
        self._oids = np.array([r.oid for r in self.roots], dtype=np.int64)
        rows = snapshot.rows("""
            SELECT hash(storage, "columns", toast, indexes, index_columns, owner, tablespace, options, persistence) AS h,
                   any_value(storage) AS storage,
                   any_value("columns") AS "columns", any_value(toast) AS toast, any_value(indexes) AS indexes,
                   any_value(index_columns) AS index_columns, any_value(owner) AS owner, any_value(tablespace) AS tablespace,
                   any_value(options) AS options, any_value(persistence) AS persistence
              FROM relation WHERE kind IN ('leaf', 'intermediate') GROUP BY 1 ORDER BY 1""")
        self._shape_hashes = np.array([r["h"] for r in rows], dtype=np.uint64)
        self._shape_rows = rows

    def ends(self, kind: Family) -> Ends:
        """The parser of typed ends for one family; it keeps what it has parsed."""
        return self._ends.setdefault(kind, Ends(kind))

    def chunks(self, only: set[int] | None = None) -> Iterator[Chunk]:
        """Chunks of whole tables, ordered by OID; `only` contains indexes of roots."""
        batch: list[Root] = []
        size = 0
        for root in self.roots:
            if only is not None and root.index not in only:
                continue
            batch.append(root)
            size += root.leaves
            if size >= CHUNK:
                yield self._chunk(batch)
                batch, size = [], 0
        if batch:
            yield self._chunk(batch)

    def _read(self, batch: list[Root]) -> dict[str, npt.NDArray[Any]]:
        # without a directory listing, bytes are an estimate from the server's pages; an empty table
        # needs no estimate
        size = (
            "coalesce(bytes, CASE WHEN filled = false THEN 0 WHEN pages > 0 THEN pages *"
            f" {self.block} ELSE -1 END)"
        )
        segment = (
            "coalesce(max_segment_bytes, CASE WHEN filled = false THEN 0"
            f" WHEN pages > 0 THEN ceil(pages * {self.block} / {self.segments}.0) ELSE -1 END)"
        )
        lo, hi = batch[0].oid, batch[-1].oid
        found = self.snapshot.columns(
            f"""SELECT oid, root, coalesce(parent, 0)::UINTEGER AS parent, level, (kind = 'leaf') AS leaf, is_default,
                       coalesce(filled::TINYINT, -1::TINYINT) AS filled, {size}::BIGINT AS bytes, {segment}::BIGINT AS segment,
                       coalesce(files, -1)::BIGINT AS files,
                       hash(storage, "columns", toast, indexes, index_columns, owner, tablespace, options, persistence) AS shape,
                       bound_key AS bound
                  FROM relation WHERE kind IN ('leaf', 'intermediate') AND root BETWEEN {lo} AND {hi} ORDER BY root, level, oid"""
        )
        arrays = {name: np.asarray(values) for name, values in found.items()}
        selected = np.isin(
            arrays["root"], np.array([r.oid for r in batch], dtype=arrays["root"].dtype)
        )
        if not selected.all():
            arrays = {name: values[selected] for name, values in arrays.items()}
        return arrays

    def _classify(
        self, shape: npt.NDArray[np.uint64], root: npt.NDArray[np.int64], bounds: Ints, leaf: Bools
    ) -> npt.NDArray[np.int32]:
        """Class of every relation: its properties, the number of bounds on its path, and the
        root that has its columns.
        """
        at = np.searchsorted(self._shape_hashes, shape)
        packed = ((root * 64 + bounds) * 2 + leaf) * (len(self._shape_rows) + 1) + at
        distinct, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), dtype=np.int32)
        for n, i in enumerate(first.tolist()):
            r = self._shape_rows[int(at[i])]
            known = r["storage"] in set(Storage)
            one = LeafClass.of_row(
                r,
                Storage(r["storage"]) if known else Storage.OTHER,
                bounds=int(bounds[i]),
                leaf=bool(leaf[i]),
                root=int(root[i]),
            )
            codes[n] = self._classes.setdefault(one, len(self._classes))
        return codes[inverse]

    def _alike(self) -> npt.NDArray[np.int32]:
        """By class: the number of the classes that can be merged with it. Dropped columns, which
        only older partitions have, are not in a new one.
        """
        found: dict[LeafClass, int] = {}
        return np.array(
            [
                found.setdefault(
                    replace(
                        c,
                        columns=0 if self.shapes[c.root].live else c.columns,
                        options=str(comparable_options(c.options, c.storage)),
                    ),
                    len(found),
                )
                for c in self._classes
            ],
            dtype=np.int32,
        )

    def _heap_files(self, klass: npt.NDArray[np.int32], segment: Floats) -> Floats:
        heap = np.array([c.storage is Storage.HEAP for c in self._classes], dtype=np.bool_)
        return heap_files(np.where(heap[klass], segment, 0.0), self.block)

    def _costs(self) -> Table:
        """Costs of all existing classes."""
        known = 0 if self._table is None else len(self._table.costs)
        if self._table is None or known < len(self._classes):
            new = Table.of(self.generation, self.cluster, list(self._classes)[known:], self.shapes)
            self._table = new if self._table is None else self._table.with_more(new)
        return self._table

    def _chunk(self, batch: list[Root]) -> Chunk:
        tree = _Tree(self._read(batch), batch)
        klass = self._classify(tree.shape, tree.root, tree.bounds_on_path, tree.leaf)
        table = self._costs()
        size = self._sizes(tree, table, klass)
        place = self._places(tree, size.external, batch)
        order = place.order
        signature = tree.signatures(self._alike()[klass], keys_below(batch, tree.oid))[order]
        empty = size.empty[order]
        edge, droppable = self._mark_by_age(batch, place, empty=empty, unknown=size.unknown[order])
        leaves = size.leaves[order]
        runs = _Runs.of(_run_starts(batch, place, signature), leaves)
        at, leaf_unit = _leaf_order(tree, order, runs)
        rate = rates(
            self.policy, self.workload, self.now, self.intervals, batch, place.root, place.sets, place.low, place.high,
            place.cal_low, place.cal_high,
        )  # fmt: skip
        return Chunk(
            roots=batch,
            table=table,
            classes=list(self._classes),
            oid=tree.oid[tree.units][order].astype(np.uint32),
            root=place.root.astype(np.int32),
            set=place.sets,
            low=place.low,
            high=place.high,
            cal_low=place.cal_low,
            cal_high=place.cal_high,
            code=place.code,
            leaves=leaves,
            bytes=size.bytes[order],
            segment=size.segment[order],
            rows=size.rows[order],
            files=size.files[order],
            catalog=size.catalog[order],
            locks=size.locks[order],
            new_locks=size.new_locks[order],
            rate=rate,
            scanned=size.scanned[order],
            why=place.why,
            empty=empty,
            droppable=droppable,
            unknown=size.unknown[order],
            run=runs.of_unit,
            run_unit=runs.unit,
            run_length=runs.length,
            run_lanes=runs.lanes,
            run_leaf=runs.leaf,
            leaf_oid=tree.oid[at].astype(np.uint32),
            leaf_unit=leaf_unit,
            leaf_class=klass[at],
            leaf_bytes=tree.bytes[at],
            leaf_segment=tree.segment[at],
            leaf_filled=tree.filled[at],
            leaf_files=size.file_now[at],
            hot_edge=edge,
            intervals=dict(self.intervals),  # the next chunk adds its own
            block=self.block,
        )

    def _mark_by_age(
        self, batch: list[Root], place: _Places, *, empty: Bools, unknown: Bools
    ) -> tuple[Ints, Bools]:
        """Mark units in `place.why` that stay because of their age or an unknown size. Returns
        by unit: the edge of the hot window, and whether it may be dropped if it is empty.
        """
        edge, droppable, past = ages(
            self.generation,
            self.now,
            batch,
            place.root,
            place.sets,
            place.low,
            place.high,
            place.cal_low,
            place.cal_high,
            place.why,
            empty,
        )
        why = place.why
        for stays, reason in (
            (past, KeepReason.PAST_RETENTION),
            (place.cal_high > edge, KeepReason.HOT),
            (unknown & ~named(batch, place.root), KeepReason.UNKNOWN_SIZE),
        ):
            why[(why == KeepReason.FREE) & stays] = reason
        return edge, droppable

    def _sizes(self, tree: _Tree, table: Table, klass: npt.NDArray[np.int32]) -> _Sizes:
        """Sum bytes, catalog rows and files of each unit and of everything below it."""
        li, filled, files = tree.leaves, tree.filled, tree.files
        unknown_leaf = (tree.bytes[li] < 0) & (filled[li] != 0)
        clean, clean_segment = np.maximum(tree.bytes[li], 0), np.maximum(tree.segment[li], 0)
        file_now = np.where(
            filled != 0,
            table.filled[klass, 0] + self._heap_files(klass, tree.segment),
            table.empty[klass, 0],
        )
        # if the directories were listed, the table's own files are known, including those of
        # several writers, but not forks
        listed = files / self.segments
        space_map = self._heap_files(klass, np.minimum(tree.segment, GIB))
        file_now = np.where(files > 0, table.empty[klass, 0] - 1 + listed + space_map, file_now)
        file_now = np.nan_to_num(np.where(tree.leaf, file_now, table.empty[klass, 0]))
        rows_now = np.nan_to_num(table.rows[:, 0])[klass]
        rows_now += np.where(tree.leaf & (filled != 0), np.nan_to_num(table.more[klass, 0]), 0.0)
        leaves = np.bincount(tree.of[li], minlength=tree.number).astype(np.int64)
        share = np.where(table.column_stored[klass[li]], self.policy.workload.column_share, 1.0)
        stored = np.array(
            [c.storage in self.generation.storages for c in self._classes], dtype=np.bool_
        )
        return _Sizes(
            leaves=leaves,
            bytes=tree.total(clean),
            segment=tree.total(clean_segment),
            rows=tree.total_of_all(rows_now),
            files=tree.total_of_all(file_now),
            catalog=tree.total_of_all(np.nan_to_num(table.catalog[klass, 0])),
            locks=tree.total_of_all(table.locks[klass]),
            new_locks=tree.total_of_all(table.new_locks[klass]),
            scanned=tree.total(clean * share),
            unknown=tree.total(unknown_leaf.astype(np.float64)) > 0,
            empty=(tree.total((filled[li] != 0).astype(np.float64)) == 0) & (leaves > 0),
            external=tree.total((~stored[klass[li]]).astype(np.float64)) > 0,
            file_now=file_now,
        )

    def _places(self, tree: _Tree, external: Bools, batch: list[Root]) -> _Places:
        """Determine the positions of units, ordered by table, set and axis, and why some are
        not changed.
        """
        units = tree.units
        root = tree.root[units]
        code = self.bounds.codes(np.asarray(tree.bound[units], dtype=np.uint64))
        low, high, cal_low, cal_high, why = axes(
            self.bounds, batch, root, code, tree.is_default[units], tree.parent_oid[units]
        )
        parent = tree.parent[units]
        dependent, other_distribution = units_with_dependents(batch, tree.oid, tree.of)
        numbers = np.arange(tree.number)
        for stays, reason in (
            (external, KeepReason.EXTERNAL),
            (~can_be_added_again(self.bounds, self.generation, code, parent), KeepReason.NOT_AGAIN),
            (np.isin(numbers, dependent), KeepReason.HAS_DEPENDENTS),
            (np.isin(numbers, other_distribution), KeepReason.OTHER_DISTRIBUTION),
            (np.bincount(tree.of[tree.leaves], minlength=tree.number) == 0, KeepReason.NO_LEAVES),
        ):
            why[(why == KeepReason.FREE) & stays] = reason
        set_key = np.where(parent < 0, -1 - root, parent)
        nowhere = (why == KeepReason.UNPARSED) | (
            why == KeepReason.DEFAULT
        )  # these have no position on the axis
        order = np.lexsort((tree.oid[units], low, nowhere, set_key, root))
        root, set_key = root[order], set_key[order]
        new_set = np.ones(tree.number, dtype=np.bool_)
        new_set[1:] = (set_key[1:] != set_key[:-1]) | (root[1:] != root[:-1])
        return _Places(
            order=order,
            root=root,
            code=code[order],
            low=low[order],
            high=high[order],
            cal_low=cal_low[order],
            cal_high=cal_high[order],
            why=why[order],
            new_set=new_set,
            sets=(np.cumsum(new_set) - 1).astype(np.int32),
        )


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """Sums by unit, in the order of reading; file_now: files on one segment of every relation."""

    leaves: Ints
    bytes: Floats
    segment: Floats
    rows: Floats
    files: Floats
    catalog: Floats
    locks: Floats
    new_locks: Floats
    scanned: Floats
    unknown: Bools
    empty: Bools
    external: Bools
    file_now: Floats


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Units ordered by table, set and axis.

    order: positions of units in the order of reading.
    """

    order: Ints
    root: Ints
    code: Ints
    low: Ints
    high: Ints
    cal_low: Ints
    cal_high: Ints
    why: npt.NDArray[np.int8]
    new_set: Bools
    sets: npt.NDArray[np.int32]


def _run_starts(batch: list[Root], place: _Places, signature: npt.NDArray[np.uint64]) -> Bools:
    """Which units begin a run: those that cannot be merged with the unit before.

    signature: by unit: the properties of its leaves
    """
    stop = place.new_set.copy()
    free = place.why == KeepReason.FREE
    stop[1:] |= (
        ~free[1:]
        | ~free[:-1]
        | (place.high[:-1] != place.low[1:])
        | (signature[1:] != signature[:-1])
    )
    add_stops(batch, place.root, place.cal_low, place.cal_high, stop)
    return stop


@dataclass(frozen=True, kw_only=True)
class _Runs:
    """Runs of units: of_unit (run of every unit), and by run: first unit, length, lanes, first
    leaf.
    """

    of_unit: npt.NDArray[np.int32]
    unit: Ints
    length: Ints
    lanes: Ints
    leaf: Ints

    @classmethod
    def of(cls, starts: Bools, leaves: Ints) -> _Runs:
        """Runs of units that begin at `starts`, with these numbers of leaves."""
        unit = np.flatnonzero(starts)
        length = np.diff(np.append(unit, len(starts)))
        lanes = leaves[unit] if len(starts) else np.zeros(0, np.int64)
        return cls(
            of_unit=(np.cumsum(starts) - 1).astype(np.int32),
            unit=unit,
            length=length,
            lanes=lanes,
            leaf=(
                np.concatenate([[0], np.cumsum(length * lanes)])[:-1]
                if len(starts)
                else np.zeros(0, np.int64)
            ),
        )


def _leaf_order(tree: _Tree, order: Ints, runs: _Runs) -> tuple[Ints, Ints]:
    """Positions of the leaves in the tree, by (run, lane, unit), and the unit of each."""
    positions = np.empty(tree.number, dtype=np.int64)
    positions[order] = np.arange(tree.number)
    unit = positions[tree.of[tree.leaves]]
    found = np.lexsort((unit, tree.path[tree.leaves], runs.of_unit[unit]))
    return tree.leaves[found], unit[found]


class _Tree:
    """Relations of some tables in the order of reading, with the unit of each: the partition of the
    planned level that contains it.

    units: positions of units; number: how many; of: number of its unit by relation, -1 above the
           level; leaves: positions of leaves
    path: the partitions between a relation and its unit, as a number; bounds_on_path: number of
          bounds on its path to the root
    """

    def __init__(self, read: dict[str, npt.NDArray[Any]], batch: list[Root]) -> None:
        n = len(read["oid"])
        self.oid, self.leaf = read["oid"].astype(np.int64), read["leaf"].astype(np.bool_)
        self.level, self.shape, self.bound = (
            read["level"].astype(np.int64),
            read["shape"],
            read["bound"],
        )
        self.is_default, self.filled = (
            read["is_default"].astype(np.bool_),
            read["filled"].astype(np.int8),
        )
        self.bytes, self.segment = (
            read["bytes"].astype(np.float64),
            read["segment"].astype(np.float64),
        )
        self.files, self.parent_oid = read["files"], read["parent"]
        self.parent = self._parents()
        local_root = np.searchsorted(
            np.array([r.oid for r in batch], dtype=np.int64), read["root"].astype(np.int64)
        )
        self.root = np.array([r.index for r in batch], dtype=np.int64)[local_root]
        self.unit_level = np.array([r.level or 1 for r in batch], dtype=np.int64)[local_root]
        self.unit, self.path = self._climb()
        self.bounds_on_path = self._bounds()
        self.is_unit = self.level == self.unit_level
        self.units = np.flatnonzero(self.is_unit)
        self.number = len(self.units)
        number = np.full(n, -1, dtype=np.int64)
        number[self.units] = np.arange(self.number)
        self.of = np.where(self.level >= self.unit_level, number[self.unit], -1)
        self.inside = self.of >= 0
        self.leaves = np.flatnonzero(self.inside & self.leaf)

    def _parents(self) -> Ints:
        """Positions of parents, by binary search of OIDs; -1 if the parent is the root."""
        if not len(self.oid):
            return np.zeros(0, np.int64)
        by_oid = np.argsort(self.oid, kind="stable")
        in_order = self.oid[by_oid]
        at = np.searchsorted(in_order, self.parent_oid.astype(np.int64))
        at[at >= len(self.oid)] = 0
        return np.where(in_order[at] == self.parent_oid, by_oid[at], -1)

    def _climb(self) -> tuple[Ints, npt.NDArray[np.uint64]]:
        """Position of the unit of every relation (its own position above the planned level),
        and the bounds below the unit as a number.
        """
        unit = np.arange(len(self.oid), dtype=np.int64)
        path = np.zeros(len(self.oid), dtype=np.uint64)
        with np.errstate(over="ignore"):
            while (deeper := self.level[unit] > self.unit_level).any():
                i = np.flatnonzero(deeper)
                path[i] = mix(path[i] + self.bound[unit[i]] + np.uint64(1))
                unit[i] = self.parent[unit[i]]
        return unit, path

    def _bounds(self) -> Ints:
        bounded = (~self.is_default).astype(np.int64)
        found, at = bounded.copy(), self.parent.copy()
        while (at >= 0).any():
            i = np.flatnonzero(at >= 0)
            found[i] += bounded[at[i]]
            at[i] = self.parent[at[i]]
        return found

    def signatures(
        self, klass: npt.NDArray[np.int32], keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.uint64]:
        """The relations below each unit, as a number: equal numbers mean equal subpartitions of
        equal shape, which are divided by equal keys.

        keys: a number of the partition key of each relation, see `keys_below`
        """
        found = np.zeros(self.number, dtype=np.uint64)
        with np.errstate(over="ignore"):
            shape_key = klass.astype(np.uint64) * np.uint64(2) + self.leaf.astype(np.uint64)
            one = mix(
                self.path
                ^ mix(
                    np.where(self.is_unit & ~self.leaf, np.uint64(0), shape_key)
                    + np.uint64(7)
                    + mix(keys)
                )
            )
            np.add.at(found, self.of[self.inside], one[self.inside])
        return found

    def total(self, of_leaves: Floats) -> Floats:
        """Sums by unit of values by leaf."""
        return np.asarray(
            np.bincount(self.of[self.leaves], weights=of_leaves, minlength=self.number),
            dtype=np.float64,
        )

    def total_of_all(self, of_relations: Floats) -> Floats:
        """Sums by unit of values by relation, for the unit and all relations below it."""
        inside = self.inside
        return np.asarray(
            np.bincount(self.of[inside], weights=of_relations[inside], minlength=self.number),
            dtype=np.float64,
        )
