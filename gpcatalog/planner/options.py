"""Costs of groups of units for each storage, and the storage that they may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity import limits
from gpcatalog.capacity.seconds import ADD_SECONDS, COPY_RATE, DROP_SECONDS, EXCHANGE_SECONDS
from gpcatalog.model.storage import Storage
from gpcatalog.planner.costs import (
    KEEP,
    TARGETS,
    TO_AO_COLUMN,
    TO_AO_ROW,
    TO_HEAP,
    heap_files,
)
from gpcatalog.planner.resources import (
    CATALOG,
    CONVERTED,
    FILES,
    LEAVES,
    MERGES,
    OTHER_STORAGE,
    RESOURCES,
    REWRITE,
    ROWS,
    SCAN,
    SECONDS,
)
from gpcatalog.planner.sets.arrays import Bools, Floats, Ints
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.step_locks import StepLocks

DROP = len(TARGETS)  # the option after the storage targets: drop the empty unit


@dataclass
class Options:
    """Groups, and their costs for each storage.

    start, end: units, end exclusive; slot: width of the cell (grain, or number of the round
                multiple), 0 for a single unit
    comps[o]:   resources [group, resource] with option o (a storage target, or DROP); None if no
                group may use it
    allowed[o]: which groups may use it
    """

    start: Ints
    end: Ints
    slot: npt.NDArray[np.int8]
    comps: list[Floats | None]
    allowed: list[Bools]


@dataclass(frozen=True, kw_only=True)
class CostSettings:
    """Settings for the calculation of costs, and limits that every step keeps.

    column_share: share of a table's columns that a query reads
    rate:         bytes per second that one segment copies
    headroom:     maximum bytes that a step copies on the fullest segment; None: no limit
    lock_limit:   maximum locks that a step holds; None: no limit
    """

    column_share: float
    rate: float = COPY_RATE
    headroom: float | None = None
    lock_limit: float | None = None


def _cumulated(values: Ints) -> Ints:
    """Sums up to each position, beginning with 0."""
    return np.concatenate([[0], np.cumsum(values)])


@dataclass(frozen=True, kw_only=True)
class LeafSums:
    """Sums over the leaves of a chunk.

    bytes, segment, filled: sums up to each leaf, beginning with 0: bytes, bytes on the fullest
                            segment, number of leaves that have rows
    unit_files: files on one segment of the leaves of every unit
    """

    bytes: Ints
    segment: Ints
    filled: Ints
    unit_files: Floats

    @classmethod
    def of(cls, chunk: Chunk) -> LeafSums:
        """Sums of a chunk. Unknown sizes count as 0, and leaves with unknown content as filled."""
        n = len(chunk.root)
        return cls(
            bytes=_cumulated(np.maximum(chunk.leaf_bytes, 0).astype(np.int64)),
            segment=_cumulated(np.maximum(chunk.leaf_segment, 0).astype(np.int64)),
            filled=_cumulated((chunk.leaf_filled != 0).astype(np.int64)),
            unit_files=(
                np.bincount(chunk.leaf_unit, weights=chunk.leaf_files, minlength=n).astype(
                    np.float64
                )
                if n
                else np.zeros(0)
            ),
        )


def _expand(lanes: Ints) -> tuple[Ints, Ints, Ints]:
    """Group number, lane number and first position, for groups with these numbers of lanes."""
    first = np.concatenate([[0], np.cumsum(lanes)])[:-1] if len(lanes) else np.zeros(0, np.int64)
    of = np.repeat(np.arange(len(lanes)), lanes)
    return of, np.arange(len(of)) - first[of], first


@dataclass(frozen=True, kw_only=True)
class _Lanes:
    """The leaves of groups, by lane: the leaves of one lane become one new leaf.

    By group: number (of lanes), first (position of its first lane).
    one_each: whether every group has one lane
    By lane:  klass (class of its first leaf), size, segment (bytes, bytes on the
              fullest segment), filled (whether any of its leaves has rows), holds (whether its
              first leaf has rows)
    """

    number: Ints
    first: Ints
    one_each: bool
    klass: npt.NDArray[np.int32]
    size: Floats
    segment: Floats
    filled: Bools
    holds: Bools

    @classmethod
    def read(cls, chunk: Chunk, start: Ints, end: Ints, *, sums: LeafSums) -> _Lanes:
        """Lanes of the groups of units start…end."""
        run = chunk.run[start]
        number = chunk.run_lanes[run]
        of, lane, first = _expand(number)
        leaf = (
            chunk.run_leaf[run][of]
            + lane * chunk.run_length[run][of]
            + (start - chunk.run_unit[run])[of]
        )
        to = leaf + (end - start)[of]
        return cls(
            number=number,
            first=first,
            one_each=bool((number == 1).all()),
            klass=chunk.leaf_class[leaf] if len(leaf) else np.zeros(0, np.int32),
            size=(sums.bytes[to] - sums.bytes[leaf]).astype(np.float64),
            segment=(sums.segment[to] - sums.segment[leaf]).astype(np.float64),
            filled=(sums.filled[to] - sums.filled[leaf]) > 0,
            holds=chunk.leaf_filled[leaf] != 0 if len(leaf) else np.zeros(0, np.bool_),
        )

    def add(self, values: Floats) -> Floats:
        """Sums by group of values by lane; 0 for a group without leaves."""
        return self._by_group(np.add, values)

    def most(self, values: Floats) -> Floats:
        """Largest value of every group; 0 for a group without leaves."""
        return self._by_group(np.maximum, values)

    def _by_group(self, function: np.ufunc, values: Floats) -> Floats:
        if self.one_each:
            return np.asarray(values, dtype=np.float64)
        # an intermediate partition may have no partitions yet; reduceat does not support empty
        # groups
        found = np.zeros(len(self.number))
        some = self.number > 0
        if some.any():
            found[some] = function.reduceat(values, self.first[some])
        return found


class _PolicyByGroup:
    """Settings of the policy for the table of each group."""

    def __init__(self, chunk: Chunk, start: Ints) -> None:
        self._roots = chunk.root[start]
        self._distinct: list[int] = np.unique(self._roots).tolist()
        self._of = {r.index: r.policy for r in chunk.roots}
        self._lines = max(self._distinct, default=0) + 1

    def storage(self, name: str) -> Bools:
        """Whether `ResolvedPolicy.storage` is `name`, by group."""
        line = np.zeros(self._lines, dtype=np.bool_)
        for index in self._distinct:
            line[index] = self._of[index].storage == name
        return np.asarray(line[self._roots], dtype=np.bool_)

    def size(self, name: str) -> Floats:
        """A size in bytes from the policy, by group."""
        line = np.zeros(self._lines)
        for index in self._distinct:
            line[index] = float(getattr(self._of[index], name))
        return np.asarray(line[self._roots], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Groups of units, with the values that do not depend on their storage; all fields except
    `lanes` are by group.

    count:   units
    bytes, segment, largest: bytes, bytes on the fullest segment, and those of the largest new leaf
    column_file: bytes of the largest column file on the fullest segment, if all columns have the
                 same size
    rows_above, files_above, catalog_above: resources of partitions between the units and the leaves
    seconds: time of the copy and of its statements
    calls:   calls per day that read a part of the group; reads_now: bytes per day that they read
             now
    """

    start: Ints
    end: Ints
    count: Ints
    lanes: _Lanes
    bytes: Floats
    segment: Floats
    largest: Floats
    column_file: Floats
    rows_above: Floats
    files_above: Floats
    catalog_above: Floats
    seconds: Floats
    calls: Floats
    reads_now: Floats

    @classmethod
    def read(cls, chunk: Chunk, start: Ints, end: Ints, *, sums: LeafSums, rate: float) -> _Groups:
        """Groups of units start…end; rate: bytes per second that one segment copies."""
        lanes = _Lanes.read(chunk, start, end, sums=sums)
        table, klass, count = chunk.table, lanes.klass, end - start
        keep_rows = np.nan_to_num(
            table.rows[klass, KEEP] + np.where(lanes.holds, table.more[klass, KEEP], 0.0)
        )
        keep_catalog = np.nan_to_num(table.catalog[klass, KEEP])
        segment = lanes.add(lanes.segment)
        ddl = (
            np.where(count > 1, count, 1) * lanes.number * DROP_SECONDS
            + ADD_SECONDS
            + lanes.number * EXCHANGE_SECONDS
        )
        calls, reads_now = _calls_and_reads(chunk, start, end)
        return cls(
            start=start,
            end=end,
            count=count,
            lanes=lanes,
            bytes=lanes.add(lanes.size),
            segment=segment,
            largest=lanes.most(lanes.segment),
            column_file=lanes.most(
                np.where(lanes.filled, lanes.segment / table.columns[klass], 0.0)
            ),
            rows_above=chunk.rows[start] - lanes.add(keep_rows),
            files_above=chunk.files[start] - sums.unit_files[start],
            catalog_above=chunk.catalog[start] - lanes.add(keep_catalog),
            seconds=ddl + segment / rate,
            calls=calls,
            reads_now=reads_now,
        )


def _overlaps(chunk: Chunk, start: Ints, end: Ints) -> Floats:
    """Calls per day for a range that overlaps units start…end, if a workload contains ranges."""
    found = np.zeros(len(start))
    for index, intervals in chunk.intervals.items():
        at = np.flatnonzero(chunk.root[start] == index)
        if len(at):
            found[at] = intervals.overlapping(chunk.low[start[at]], chunk.high[end[at] - 1])
    return found


def _calls_and_reads(chunk: Chunk, start: Ints, end: Ints) -> tuple[Floats, Floats]:
    """Calls per day that read a part of units start…end, and bytes per day that they read now."""
    edges = np.concatenate([[0.0], np.cumsum(chunk.rate)])
    calls = edges[end] - edges[start]
    every = np.arange(len(chunk.root))
    alone_rate = chunk.rate + _overlaps(chunk, every, every + 1)
    calls = calls + _overlaps(chunk, start, end)
    before = np.concatenate([[0.0], np.cumsum(alone_rate * chunk.scanned)])
    return calls, before[end] - before[start]


def _within_limits(
    groups: _Groups,
    policies: _PolicyByGroup,
    *,
    locks: StepLocks,
    alone: bool,
    settings: CostSettings,
) -> Bools:
    """Which groups fit the policy, the free space and the lock table."""
    fits = np.ones(len(groups.start), dtype=np.bool_)
    if not alone:
        fits &= groups.largest <= policies.size("max_leaf")
    if settings.headroom is not None:
        fits &= groups.segment <= settings.headroom
    if settings.lock_limit is not None:
        held = locks.replacing(groups.start, groups.end, groups.lanes.number)
        fits &= held <= settings.lock_limit
    return fits


@dataclass(frozen=True, kw_only=True)
class _NewLeaves:
    """The new leaf of every lane with one option.

    same: whether the storage is unchanged; rows, catalog: catalog rows and bytes; files; columnar:
    whether a query reads only some of its columns
    """

    same: Bools
    rows: Floats
    files: Floats
    catalog: Floats
    columnar: Bools

    @classmethod
    def read(cls, chunk: Chunk, lanes: _Lanes, option: int) -> _NewLeaves:
        """New leaves for a storage target, by its number; rows are NaN if the server does not
        support it.
        """
        target, table, klass = TARGETS[option], chunk.table, lanes.klass
        rewritten = table.rewritten or table
        storages = [c.storage for c in chunk.classes]
        same_class = np.array([target is None or s is target for s in storages], dtype=np.bool_)
        same = same_class[klass]

        def cost(of_same: Floats, of_other: Floats) -> Floats:
            # there are few classes, but many lanes
            by_class = np.where(same_class, of_same[:, KEEP], of_other[:, option])
            return np.asarray(by_class.take(klass))

        rows = cost(rewritten.rows, table.rows)
        heap = np.array(
            [(s if target is None else target) is Storage.HEAP for s in storages], dtype=np.bool_
        )
        filled_files = cost(rewritten.filled, table.filled)
        if heap.any():
            filled_files += heap_files(np.where(heap[klass], lanes.segment, 0.0), chunk.block)
        return cls(
            same=same,
            rows=rows + np.where(lanes.filled, cost(rewritten.more, table.more), 0.0),
            files=np.where(lanes.filled, filled_files, cost(rewritten.empty, table.empty)),
            catalog=cost(rewritten.catalog, table.catalog),
            columnar=(
                table.column_stored[klass]
                if option == KEEP
                else np.where(same, table.column_stored[klass], target == "ao_column")
            ),
        )


def _convertible(
    chunk: Chunk, groups: _Groups, new: _NewLeaves, *, policies: _PolicyByGroup, option: int
) -> Bools:
    """Which groups are to be converted to another target: the server supports it, and the
    policy or their size requires it.
    """
    lanes, table = groups.lanes, chunk.table
    klass = lanes.klass
    possible = ~np.isnan(lanes.add(new.rows)) & (lanes.most((~new.same).astype(np.float64)) > 0)
    auto = policies.storage("auto")
    if option == TO_HEAP:
        small = groups.largest < policies.size("heap_below")
        return np.asarray(possible & ((auto & small) | policies.storage("heap")))
    if option == TO_AO_ROW:
        from_column = lanes.most((~table.column_stored[klass]).astype(np.float64)) == 0
        small = groups.column_file < policies.size("small_column_file")
        possible &= (auto & from_column & small) | policies.storage("ao_row")
    elif option == TO_AO_COLUMN:
        from_row = np.array([c.storage.value == "ao_row" for c in chunk.classes], dtype=np.bool_)
        rows_only = lanes.most((~from_row[klass]).astype(np.float64)) == 0
        large = groups.column_file >= limits.AVERAGE_FILE_TARGET.value
        possible &= (auto & rows_only & large) | policies.storage("ao_column")
    return np.asarray(possible)


def _resources(groups: _Groups, new: _NewLeaves, *, alone: bool, column_share: float) -> Floats:
    """Resources of every group with these new leaves, [group, resource]."""
    lanes = groups.lanes
    share = np.where(new.columnar, column_share, 1.0)
    found = np.zeros((len(groups.start), len(RESOURCES)))
    found[:, ROWS] = groups.rows_above + np.nan_to_num(lanes.add(new.rows))
    found[:, FILES] = groups.files_above + np.nan_to_num(lanes.add(new.files))
    found[:, LEAVES] = lanes.number
    found[:, CATALOG] = groups.catalog_above + np.nan_to_num(lanes.add(new.catalog))
    found[:, MERGES] = 0 if alone else 1
    found[:, CONVERTED] = lanes.add((~new.same).astype(np.float64))
    found[:, REWRITE] = groups.bytes
    found[:, SECONDS] = groups.seconds
    found[:, SCAN] = groups.calls * lanes.add(lanes.size * share) - groups.reads_now
    return found


def stored_as(chunk: Chunk) -> npt.NDArray[np.object_]:
    """Storage of every class of leaves, by name."""
    return np.array([c.storage.value for c in chunk.classes], dtype=object)


def _count_other_storage(
    chunk: Chunk,
    lanes: _Lanes,
    policies: _PolicyByGroup,
    *,
    comps: list[Floats | None],
    allowed: list[Bools],
) -> None:
    """Count leaves that the policy wants to convert and that could be converted, in groups that
    keep their storage.
    """
    kept = comps[KEEP]
    if kept is None:
        return
    kept[:, OTHER_STORAGE] = 0
    for option, target in enumerate(TARGETS):
        if target is None:
            continue
        with_target = policies.storage(target.value)
        if not with_target.any():
            continue
        others = stored_as(chunk) != target.value
        kept[:, OTHER_STORAGE] += np.where(
            with_target & allowed[option], lanes.add(others[lanes.klass].astype(np.float64)), 0.0
        )


def evaluate(
    chunk: Chunk,
    start: Ints,
    end: Ints,
    *,
    slot: npt.NDArray[np.int8],
    sums: LeafSums,
    locks: StepLocks,
    alone: bool,
    settings: CostSettings,
) -> Options:
    """Resources of every group for every storage target, and which targets it may have.

    start, end: units of every group, end exclusive; slot: width of its cell
    alone: the groups are single units, which are converted or unchanged
    """
    groups = _Groups.read(chunk, start, end, sums=sums, rate=settings.rate)
    policies = _PolicyByGroup(chunk, start)
    fits = _within_limits(groups, policies, locks=locks, alone=alone, settings=settings)
    comps: list[Floats | None] = []
    allowed: list[Bools] = []
    for option in range(len(TARGETS)):
        new = _NewLeaves.read(chunk, groups.lanes, option)
        may = (
            not alone
            if option == KEEP
            else _convertible(chunk, groups, new, policies=policies, option=option)
        )
        possible = fits & may
        allowed.append(possible)
        comps.append(
            _resources(groups, new, alone=alone, column_share=settings.column_share)
            if possible.any()
            else None
        )
    _count_other_storage(chunk, groups.lanes, policies, comps=comps, allowed=allowed)
    return Options(start, end, slot, comps, allowed)
