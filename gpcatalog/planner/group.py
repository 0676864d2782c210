"""Per table: the exact optimum over all groupings of consecutive leaves on the grid, for many
prices at once.

A candidate is the stretch of one run that lies inside one cell of one width: it begins and ends on
the cell's edges, or where the run itself does. A grouping covers every unit once: alone (kept,
stored otherwise, or dropped while empty) or in one candidate. Costs add up over groups, so the
cheapest grouping is a shortest path; it is found for all tables and all prices side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity import limits
from gpcatalog.capacity.seconds import ADD_SECONDS, COPY_RATE, DROP_SECONDS, EXCHANGE_SECONDS
from gpcatalog.model.bounds import DAY, INFINITY, MINUS_INFINITY
from gpcatalog.model.storage import Storage
from gpcatalog.planner import grid
from gpcatalog.planner.costs import (
    KEEP,
    TARGETS,
    TO_AO_COLUMN,
    TO_AO_ROW,
    TO_HEAP,
    heap_files,
)
from gpcatalog.planner.policy import Weights
from gpcatalog.planner.sets.arrays import SLOTS, Ints
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.sets.keep_reasons import KeepReason

# Resources of a choice, in this order everywhere: catalog rows and files of one segment, leaves,
# bytes rewritten on all segments,
# seconds, bytes a day that queries read more on all segments, leaves dropped, catalog bytes on all
# instances (estimate), merges,
# leaves converted.
RESOURCES = (
    "rows",
    "files",
    "leaves",
    "rewrite",
    "seconds",
    "scan",
    "dropped",
    "catalog",
    "merges",
    "converted",
    "unwished",
)
ROWS, FILES, LEAVES, REWRITE, SECONDS, SCAN, DROPPED, CATALOG, MERGES, CONVERTED, UNWISHED = range(
    len(RESOURCES)
)
# points for each cold leaf that is not stored as the policy says; by the default weights, rewriting
# 47 TiB costs as many
UNWISHED_PRICE = 1e6
PLACES = 6  # of a point: sums in another order must not turn a tie into a choice
DROP = len(TARGETS)  # the option after the storage targets: drop the empty unit

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MIB = limits.MIB


def prices(weights: Weights, gain: float = 1.0, rows: float = 1.0, files: float = 1.0) -> Floats:
    """One column of prices: points a unit of each resource, what is gained (rows, files) times
    `gain`.
    """
    found = np.zeros(len(RESOURCES))
    found[ROWS], found[FILES] = weights.row * gain * rows, weights.file * gain * files
    found[REWRITE], found[SCAN], found[DROPPED] = (
        weights.rewrite / MIB,
        weights.scan / MIB,
        weights.drop,
    )
    found[UNWISHED] = UNWISHED_PRICE
    return found


@dataclass
class Options:
    """Groups and what each would cost under each way of storing it.

    start, end: units, end exclusive; slot: width of the cell (grain, or number of the round
                multiple), 0 for a unit alone
    comps[o]:   resources [group, resource] under option o (a storage target, or DROP); None where
    no group may take it allowed[o]: which groups may
    """

    start: Ints
    end: Ints
    slot: npt.NDArray[np.int8]
    comps: list[Floats | None]
    allowed: list[Bools]


@dataclass(kw_only=True)
class Problem:
    """One chunk, ready to be solved at any prices: units alone, candidates, and which belong to
    which table.
    """

    chunk: Chunk
    singles: Options
    groups: Options
    unit_edges: Ints  # first unit of every table of the chunk, and the end
    group_edges: Ints
    roots: Ints  # index of every table of the chunk


@dataclass
class Solution:
    """The cheapest grouping under each column of prices.

    totals: [table of the chunk, resource, price]: what it leaves behind and costs
    single: [unit, price] whether the unit stands alone; single_option: under which option
    group:  [candidate, price] whether it is made; group_option
    """

    totals: Floats
    single: Bools
    single_option: npt.NDArray[np.int8]
    group: Bools
    group_option: npt.NDArray[np.int8]


def _expand(lanes: Ints) -> tuple[Ints, Ints, Ints]:
    """Group number, lane number and first position for groups of so many lanes each."""
    first = np.concatenate([[0], np.cumsum(lanes)])[:-1] if len(lanes) else np.zeros(0, np.int64)
    of = np.repeat(np.arange(len(lanes)), lanes)
    return of, np.arange(len(of)) - first[of], first


def _overlaps(chunk: Chunk, start: Ints, end: Ints) -> Floats:
    """Calls a day that ask for a range overlapping units start…end, where a workload says so."""
    found = np.zeros(len(start))
    for index, intervals in chunk.intervals.items():
        at = np.flatnonzero(chunk.root[start] == index)
        if len(at):
            found[at] = intervals.overlapping(chunk.low[start[at]], chunk.high[end[at] - 1])
    return found


def _cumulated(values: Ints) -> Ints:
    """Sums up to each position, 0 first."""
    return np.concatenate([[0], np.cumsum(values)])


def _evaluate(
    chunk: Chunk,
    start: Ints,
    end: Ints,
    slot: npt.NDArray[np.int8],
    cumulated: tuple[Ints, Ints, Ints],
    unit_leaf_files: Floats,
    *,
    column_share: float,
    rate: float,
    headroom: float | None,
    lock_limit: float | None,
    alone: bool,
) -> Options:
    """Resources of every group under every storage target, and which targets it may take."""
    table, n = chunk.table, len(start)
    anew = table.anew or table
    run = chunk.run[start]
    lanes = chunk.run_lanes[run]
    of, lane, first = _expand(lanes)
    leaf = (
        chunk.run_leaf[run][of]
        + lane * chunk.run_length[run][of]
        + (start - chunk.run_unit[run])[of]
    )
    to = leaf + (end - start)[of]
    sum_bytes, sum_segment, sum_filled = cumulated
    size = (sum_bytes[to] - sum_bytes[leaf]).astype(np.float64)
    segment = (sum_segment[to] - sum_segment[leaf]).astype(np.float64)
    filled = (sum_filled[to] - sum_filled[leaf]) > 0
    klass = chunk.leaf_class[leaf] if len(leaf) else np.zeros(0, np.int32)

    def add(values: Floats) -> Floats:
        # lanes may be 0 only for groups without leaves, which do not occur: units have at least one
        return np.add.reduceat(values, first) if n else np.zeros(0)

    def most(values: Floats) -> Floats:
        return np.maximum.reduceat(values, first) if n else np.zeros(0)

    here = chunk.leaf_filled[leaf] != 0 if len(leaf) else np.zeros(0, np.bool_)
    keep_rows = np.nan_to_num(
        table.rows[klass, KEEP] + np.where(here, table.more[klass, KEEP], 0.0)
    )
    rows_above = chunk.rows[start] - add(keep_rows)
    files_above = chunk.files[start] - unit_leaf_files[start]
    catalog_above = chunk.catalog[start] - add(np.nan_to_num(table.catalog[klass, KEEP]))
    count = end - start
    wishes = {r.index: r.wishes for r in chunk.roots}
    roots = chunk.root[start]
    distinct = np.unique(roots).tolist()

    def by_root(value: str) -> Floats:
        line = np.zeros((max(distinct) if distinct else 0) + 1)
        for index in distinct:
            line[index] = float(getattr(wishes[index], value))
        return np.asarray(line[roots], dtype=np.float64)

    storage_wish = np.array(["auto"] * ((max(distinct) if distinct else 0) + 1), dtype=object)
    for index in distinct:
        storage_wish[index] = wishes[index].storage
    wish = storage_wish[roots] if n else storage_wish[:0]
    named = ~np.isin(wish.astype(str), ("auto", "keep"))

    bytes_sum, segment_sum, segment_max = add(size), add(segment), most(segment)
    fits = np.ones(n, dtype=np.bool_)
    if not alone:
        fits &= segment_max <= by_root("max_leaf")
    if headroom is not None:
        fits &= segment_sum <= headroom
    if lock_limit is not None:
        held = np.array([r.leaves for r in chunk.roots], dtype=np.float64)
        place = np.searchsorted([r.index for r in chunk.roots], roots)
        indexes = np.array([c.indexes for c in chunk.classes], dtype=np.float64)
        # every leaf of the table, and of those dropped the indexes and auxiliary relations as well
        fits &= 1 + held[place] + count * add(indexes[klass] + 4) <= lock_limit
    ddl = (
        np.where(count > 1, count, 1) * lanes * DROP_SECONDS
        + ADD_SECONDS
        + lanes * EXCHANGE_SECONDS
    )
    seconds = ddl + segment_sum / rate
    edges = np.concatenate([[0.0], np.cumsum(chunk.rate)])
    asked = edges[end] - edges[start]
    alone_rate = chunk.rate + _overlaps(
        chunk, np.arange(len(chunk.root)), np.arange(len(chunk.root)) + 1
    )
    asked = asked + _overlaps(chunk, start, end)
    before = np.concatenate([[0.0], np.cumsum(alone_rate * chunk.scanned)])
    reads_now = before[end] - before[start]

    comps: list[Floats | None] = []
    allowed: list[Bools] = []
    column_file = most(np.where(filled, segment / table.columns[klass], 0.0)) if n else np.zeros(0)
    storages = [c.storage for c in chunk.classes]
    for option, target in enumerate(TARGETS):
        same = np.array([target is None or s is target for s in storages], dtype=np.bool_)
        lane_rows = np.where(same[klass], anew.rows[klass, KEEP], table.rows[klass, option])
        lane_rows = lane_rows + np.where(
            filled, np.where(same[klass], anew.more[klass, KEEP], table.more[klass, option]), 0.0
        )
        lane_catalog = np.where(
            same[klass], anew.catalog[klass, KEEP], table.catalog[klass, option]
        )
        lane_empty = np.where(same[klass], anew.empty[klass, KEEP], table.empty[klass, option])
        lane_filled = np.where(same[klass], anew.filled[klass, KEEP], table.filled[klass, option])
        heap = np.array(
            [(s if target is None else target) is Storage.HEAP for s in storages], dtype=np.bool_
        )
        lane_filled = lane_filled + heap_files(np.where(heap[klass], segment, 0.0), chunk.block)
        possible = fits.copy()
        if option == KEEP:
            possible &= not alone
        else:
            possible &= ~np.isnan(add(lane_rows)) & (most((~same[klass]).astype(np.float64)) > 0)
            auto = wish == "auto"
            from_column = most((~table.column_stored[klass]).astype(np.float64)) == 0
            if option == TO_AO_ROW:
                small = column_file < by_root("small_column_file")
                possible &= (auto & from_column & small) | (wish == "ao_row")
            elif option == TO_AO_COLUMN:
                from_row = np.array([s.value == "ao_row" for s in storages], dtype=np.bool_)
                rows_only = most((~from_row[klass]).astype(np.float64)) == 0
                possible &= (
                    auto & rows_only & (column_file >= limits.AVERAGE_FILE_TARGET.value)
                ) | (wish == "ao_column")
            elif option == TO_HEAP:
                possible &= (auto & (segment_max < by_root("heap_below"))) | (wish == "heap")
        possible = np.asarray(possible, dtype=np.bool_)
        allowed.append(possible)
        if not possible.any():
            comps.append(None)
            continue
        columnar = (
            table.column_stored[klass]
            if option == KEEP
            else np.where(same[klass], table.column_stored[klass], target == "ao_column")
        )
        share = np.where(columnar, column_share, 1.0)
        found = np.zeros((n, len(RESOURCES)))
        found[:, ROWS] = rows_above + np.nan_to_num(add(lane_rows))
        found[:, FILES] = files_above + np.nan_to_num(
            add(np.where(filled, lane_filled, lane_empty))
        )
        found[:, LEAVES] = lanes
        found[:, CATALOG] = catalog_above + np.nan_to_num(add(lane_catalog))
        found[:, MERGES] = 0 if alone else 1
        found[:, CONVERTED] = add((~same[klass]).astype(np.float64))
        if option == KEEP:
            found[:, UNWISHED] = add(
                (_stored_as(chunk)[klass] != np.repeat(wish, lanes)) & np.repeat(named, lanes)
            )
        found[:, REWRITE] = bytes_sum
        found[:, SECONDS] = seconds
        found[:, SCAN] = asked * add(size * share) - reads_now
        comps.append(found)
    kept = comps[KEEP]
    for option, target in enumerate(TARGETS):
        if target is not None and kept is not None:
            kept[(wish == target.value) & ~allowed[option], UNWISHED] = 0  # it cannot be had
    return Options(start, end, slot, comps, allowed)


def candidates(chunk: Chunk, now: int) -> tuple[Ints, Ints, npt.NDArray[np.int8]]:
    """Stretches of units that one cell holds, for every width a table may use: start, end, slot;
    the finest width names a stretch.
    """
    n = len(chunk.root)
    starts, ends, slots = [], [], []
    edges = np.searchsorted(chunk.root, [r.index for r in chunk.roots])
    edges = np.append(edges, n)
    free = (
        (chunk.why == KeepReason.FREE)
        & (chunk.cal_low > MINUS_INFINITY)
        & (chunk.cal_high < INFINITY)
    )
    run_starts = np.zeros(n, dtype=np.bool_)
    run_starts[chunk.run_unit] = True
    for slot in range(1, SLOTS):
        fit = np.zeros(n, dtype=np.bool_)
        cell = np.zeros(n, dtype=np.int64)
        after = np.zeros(n, dtype=np.int64)
        latest = np.full(n, -(2**62), dtype=np.int64)
        calendar = np.zeros(n, dtype=np.bool_)
        for k, r in enumerate(chunk.roots):
            s, e = int(edges[k]), int(edges[k + 1])
            if s == e or not r.level:
                continue
            if r.calendar:
                ages = dict(r.wishes.grains)
                if slot not in ages:
                    continue
                calendar[s:e] = True
                latest[s:e] = np.minimum(chunk.hot_edge[s:e], int(now - r.shift - ages[slot] * DAY))
            elif slot <= len(r.widths):
                width = r.widths[slot - 1]
                cell[s:e] = np.floor_divide(chunk.cal_low[s:e], width)
                fit[s:e] = free[s:e] & (
                    np.floor_divide(chunk.cal_high[s:e] - 1, width) == cell[s:e]
                )
                after[s:e] = (cell[s:e] + 1) * width
                latest[s:e] = chunk.hot_edge[s:e]
                if r.lists:
                    after[s:e] = chunk.cal_high[s:e]
        timed = np.flatnonzero(calendar & free)
        if len(timed):
            grain = grid.Grain(slot)
            begin = grid.cells(grain, chunk.cal_low[timed])
            cell[timed] = begin
            fit[timed] = grid.cells(grain, chunk.cal_high[timed] - 1) == begin
            after[timed] = grid.cell_ends(grain, begin)
        # the whole cell must be cold: what is half hot now would be rewritten again soon
        fit &= after <= latest
        if not fit.any():
            continue
        stop = run_starts | ~fit
        stop[1:] |= ~fit[:-1] | (cell[1:] != cell[:-1])
        begin = np.flatnonzero(stop)
        length = np.diff(np.append(begin, n))
        good = (length > 1) & fit[begin]
        starts.append(begin[good])
        ends.append(begin[good] + length[good])
        slots.append(np.full(int(good.sum()), slot, dtype=np.int8))
    if not starts:
        none = np.zeros(0, np.int64)
        return none, none, np.zeros(0, np.int8)
    start, end, slot_of = np.concatenate(starts), np.concatenate(ends), np.concatenate(slots)
    _, first = np.unique(start * (n + 1) + end, return_index=True)
    return start[first], end[first], slot_of[first]


def _stored_as(chunk: Chunk) -> npt.NDArray[np.object_]:
    return np.array([c.storage.value for c in chunk.classes], dtype=object)


def prepare(
    chunk: Chunk,
    *,
    now: int,
    column_share: float,
    rate: float = COPY_RATE,
    headroom: float | None = None,
    lock_limit: float | None = None,
) -> Problem:
    """All choices of a chunk with what each costs.

    rate: bytes a second that one segment copies; headroom: bytes; lock_limit: locks.
    """
    n = len(chunk.root)
    known = np.maximum(chunk.leaf_bytes, 0).astype(np.int64)
    segment = np.maximum(chunk.leaf_segment, 0).astype(np.int64)
    filled = (chunk.leaf_filled != 0).astype(np.int64)
    cumulated = (_cumulated(known), _cumulated(segment), _cumulated(filled))
    unit_leaf_files = (
        np.bincount(chunk.leaf_unit, weights=chunk.leaf_files, minlength=n).astype(np.float64)
        if n
        else np.zeros(0)
    )

    def evaluated(first: Ints, last: Ints, slots: npt.NDArray[np.int8], *, alone: bool) -> Options:
        return _evaluate(
            chunk,
            first,
            last,
            slots,
            cumulated,
            unit_leaf_files,
            alone=alone,
            column_share=column_share,
            rate=rate,
            headroom=headroom,
            lock_limit=lock_limit,
        )

    start, end, slot = candidates(chunk, now)
    # a merge of leaves that all have min_leaf or more is not wanted
    smallest = {r.index: r.wishes.min_leaf for r in chunk.roots if r.wishes.min_leaf}
    if smallest and len(start):
        line = np.zeros(int(chunk.root.max()) + 1)
        for index, size in smallest.items():
            line[index] = size
        small = (chunk.segment < line[chunk.root]).astype(np.int64)
        seen = np.concatenate([[0], np.cumsum(small)])
        wanted = (line[chunk.root[start]] == 0) | (seen[end] > seen[start])
        start, end, slot = start[wanted], end[wanted], slot[wanted]
    groups = evaluated(start, end, slot, alone=False)
    some = np.zeros(len(start), dtype=np.bool_)
    for may in groups.allowed:
        some |= may
    if not some.all():
        groups = Options(
            start[some],
            end[some],
            slot[some],
            [None if c is None else c[some] for c in groups.comps],
            [a[some] for a in groups.allowed],
        )

    every = np.arange(n, dtype=np.int64)
    alone = evaluated(every, every + 1, np.zeros(n, np.int8), alone=True)
    cold = chunk.why == KeepReason.FREE
    alone.allowed = [a & cold & ~chunk.unknown for a in alone.allowed]
    alone.comps = [c if a.any() else None for c, a in zip(alone.comps, alone.allowed, strict=True)]
    stay = np.zeros((n, len(RESOURCES)))
    stay[:, ROWS], stay[:, FILES], stay[:, LEAVES], stay[:, CATALOG] = (
        chunk.rows,
        chunk.files,
        chunk.leaves,
        chunk.catalog,
    )
    convertible = np.zeros(n, dtype=np.bool_)
    for r in chunk.roots:
        if r.wishes.storage in TARGETS:
            option = TARGETS.index(Storage(r.wishes.storage))
            at = chunk.root == r.index
            stay[at & cold, UNWISHED] = np.bincount(
                chunk.leaf_unit,
                weights=_stored_as(chunk)[chunk.leaf_class] != r.wishes.storage,
                minlength=n,
            )[at & cold]
            convertible |= at & alone.allowed[option]
    stay[~convertible, UNWISHED] = 0  # nothing could be done about it
    alone.comps[KEEP], alone.allowed[KEEP] = stay, np.ones(n, dtype=np.bool_)
    gone: Floats | None = None
    if chunk.droppable.any():
        gone = np.zeros((n, len(RESOURCES)))
        gone[:, SECONDS], gone[:, DROPPED] = chunk.leaves * DROP_SECONDS, chunk.leaves
    alone.comps.append(gone)
    alone.allowed.append(chunk.droppable)
    indexes = np.array([r.index for r in chunk.roots], dtype=np.int64)
    unit_edges = np.append(np.searchsorted(chunk.root, indexes), n)
    group_edges = np.searchsorted(groups.start, unit_edges)
    order = np.argsort(groups.start, kind="stable")
    if len(order) and (order[1:] < order[:-1]).any():
        groups = Options(
            groups.start[order],
            groups.end[order],
            groups.slot[order],
            [None if c is None else c[order] for c in groups.comps],
            [a[order] for a in groups.allowed],
        )
        group_edges = np.searchsorted(groups.start, unit_edges)
    return Problem(
        chunk=chunk,
        singles=alone,
        groups=groups,
        unit_edges=unit_edges,
        group_edges=group_edges,
        roots=indexes,
    )


def _cheapest(
    options: Options, price: Floats, tables: Ints | None
) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Cost of every group under its cheapest option, [group, price], in whole 10^-PLACES of a
    point, and which option that is.

    Whole numbers add up to the same sum in any order. The earlier of equal options stays.
    price: [resource, L] for all tables alike, or [table, resource] where `tables` says which table
           a group belongs to (L is 1).
    """
    n, width = len(options.start), price.shape[1] if tables is None else 1
    scaled = price * 10.0**PLACES
    best = np.full((n, width), np.inf)
    which = np.zeros((n, width), dtype=np.int8)
    cost, better = np.empty((n, width)), np.empty((n, width), dtype=np.bool_)
    for option, (comps, allowed) in enumerate(zip(options.comps, options.allowed, strict=True)):
        if comps is None:
            continue
        if tables is None:
            np.matmul(comps, scaled, out=cost)
        else:
            np.einsum("ij,ij->i", comps, scaled[tables], out=cost[:, 0])
        np.rint(cost, out=cost)
        if not allowed.all():
            cost[~allowed] = np.inf
        np.less(cost, best, out=better)
        np.copyto(best, cost, where=better)
        np.copyto(which, np.int8(option), where=better)
    return best, which


def solve(problem: Problem, price: Floats, *, per_table: bool = False) -> Solution:
    """The cheapest grouping of every table under every column of prices.

    price: [resource, L]; with per_table [table of the chunk, resource], one column of its own for
           each.
    Exact: a shortest path over all candidates. Ties go to leaving things as they are.
    """
    chunk, singles, groups = problem.chunk, problem.singles, problem.groups
    n, m = len(chunk.root), len(groups.start)
    width = 1 if per_table else price.shape[1]
    unit_table = (
        np.repeat(np.arange(len(problem.roots)), np.diff(problem.unit_edges)) if per_table else None
    )
    group_table = (
        np.repeat(np.arange(len(problem.roots)), np.diff(problem.group_edges))
        if per_table
        else None
    )
    base, base_option = _cheapest(singles, price, unit_table)
    cost, group_option = _cheapest(groups, price, group_table)
    single = np.ones((n, width), dtype=np.bool_)
    made = np.zeros((m, width), dtype=np.bool_)
    if m:
        _shortest(groups, base, cost, single, made, n)
    return Solution(
        _totals(problem, single, base_option, made, group_option, width),
        single,
        base_option,
        made,
        group_option,
    )


def _shortest(
    groups: Options, base: Floats, cost: Floats, single: Bools, made: Bools, n: int
) -> None:
    """Shortest paths of all components side by side; marks units alone in `single` and candidates
    in `made`.

    Units between which no candidate begins or ends are one link of the chain: whoever takes one of
    them alone takes all.
    """
    width = base.shape[1]
    edge = np.zeros(n + 1, dtype=np.bool_)
    edge[groups.start] = True
    edge[groups.end] = True
    # a component is a stretch that no candidate crosses the ends of: components know nothing of one
    # another
    cover = np.zeros(n + 1, dtype=np.int64)
    np.add.at(cover, groups.start + 1, 1)
    np.add.at(cover, groups.end, -1)
    inside = np.cumsum(cover)[:n] > 0  # unit i hangs together with unit i - 1
    heads = edge[:n] | ~inside
    link = np.flatnonzero(heads)  # first unit of every link
    of = np.cumsum(heads) - 1  # link of every unit
    weight = np.add.reduceat(base, link, axis=0) if len(link) < n else base
    first = np.flatnonzero(~inside[link])  # first link of every component
    length = np.diff(np.append(first, len(link)))
    component = np.cumsum(~inside[link]) - 1
    longer = np.unique(
        component[of[groups.start]]
    )  # the others are single units, alone whatever happens
    longer = longer[np.argsort(-length[longer], kind="stable")]
    rank = np.full(len(first), -1, dtype=np.int64)
    rank[longer] = np.arange(len(longer))
    lengths = length[longer]
    deepest = int(lengths[0])
    # blocks by position: block p holds position p of every component at least p long, longest
    # first, so blocks are prefixes
    alive = np.searchsorted(-lengths, -np.arange(deepest + 1), side="right")
    offset = np.concatenate([[0], np.cumsum(alive)])
    best = np.empty((int(offset[-1]), width))
    best[: alive[0]] = 0.0
    choice = np.zeros((int(offset[-1]), width), dtype=np.int8)
    begin = first[longer]

    from_link = of[groups.start]
    to_link = of[groups.end - 1] + 1
    c = rank[component[from_link]]
    position = to_link - first[component[from_link]]
    origin = offset[from_link - first[component[from_link]]] + c
    order = np.lexsort((groups.slot, position))
    position_s, slot_s = position[order], groups.slot[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (position_s[1:] != position_s[:-1]) | (slot_s[1:] != slot_s[:-1])
    cuts = np.append(np.flatnonzero(new), len(order)).tolist()
    by_position: dict[int, list[tuple[int, int, int]]] = {}
    for a, b in pairwise(cuts):
        by_position.setdefault(int(position_s[a]), []).append((a, b, int(slot_s[a])))
    c_s, origin_s = c[order], origin[order]
    cost_s = cost[order]
    alive_l, offset_l = alive.tolist(), offset.tolist()
    for p in range(1, deepest + 1):
        k, o, before = alive_l[p], offset_l[p], offset_l[p - 1]
        here = best[before : before + k] + weight[begin[:k] + (p - 1)]
        block = choice[o : o + k]
        for a, b, slot in by_position.get(p, ()):
            at = c_s[a:b]
            other = best[origin_s[a:b]] + cost_s[a:b]
            old = here[at]
            better = other < old
            here[at] = np.where(better, other, old)
            chosen = block[at]
            chosen[better] = slot
            block[at] = chosen
        best[o : o + k] = here
    on = np.zeros((int(offset[-1]), width), dtype=np.bool_)
    for_end = offset[lengths] + np.arange(len(longer))
    on[for_end] = True
    apart = np.ones((len(link), width), dtype=np.bool_)
    for p in range(deepest, 0, -1):
        k, o, before = alive_l[p], offset_l[p], offset_l[p - 1]
        reached, chosen = on[o : o + k], choice[o : o + k]
        alone = reached & (chosen == 0)
        apart[begin[:k] + (p - 1)] = alone
        on[before : before + k] |= alone
        for a, b, slot in by_position.get(p, ()):
            at = c_s[a:b]
            taken = reached[at] & (chosen[at] == slot)
            on[origin_s[a:b]] |= taken
            made[order[a:b]] = taken
    np.take(apart, of, axis=0, out=single)


def _totals(
    problem: Problem,
    single: Bools,
    single_option: npt.NDArray[np.int8],
    made: Bools,
    group_option: npt.NDArray[np.int8],
    width: int,
) -> Floats:
    totals = np.zeros((len(problem.roots), len(RESOURCES), width))
    for options, used, which, edges in (
        (problem.singles, single, single_option, problem.unit_edges.tolist()),
        (problem.groups, made, group_option, problem.group_edges.tolist()),
    ):
        for option, comps in enumerate(options.comps):
            if comps is None:
                continue
            mask = used & (which == option)
            for t, (s, e) in enumerate(pairwise(edges)):
                if s != e:
                    totals[t] += comps[s:e].T @ mask[s:e].astype(np.float64)
    return totals
