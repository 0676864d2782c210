"""The exact optimum over all groupings of consecutive leaves on the grid, for each table and for
many prices at once.

A candidate consists of the units of one run inside one cell of one width: it begins and ends at the
edges of the cell, or of the run. A grouping contains every unit once: alone (kept, converted, or
dropped if empty) or in one candidate. The costs of groups are added, so the cheapest grouping is a
shortest path. It is computed for all tables and all prices at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.seconds import COPY_RATE, DROP_SECONDS
from gpcatalog.model.storage import Storage
from gpcatalog.planner.candidates import candidates
from gpcatalog.planner.costs import KEEP, TARGETS
from gpcatalog.planner.options import CostSettings, LeafSums, Options, evaluate, stored_as
from gpcatalog.planner.resources import (
    CATALOG,
    DROPPED,
    FILES,
    LEAVES,
    OTHER_STORAGE,
    RESOURCES,
    ROWS,
    SECONDS,
)
from gpcatalog.planner.sets.arrays import Bools, Floats, Ints
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.sets.keep_reasons import KeepReason
from gpcatalog.planner.shortest_path import shortest
from gpcatalog.planner.step_locks import StepLocks

PLACES = 6  # decimal places of a point: sums in another order must not decide between equal costs


@dataclass(kw_only=True)
class Problem:
    """One chunk, prepared for any prices: single units, candidates, and the tables to which
    they belong.
    """

    chunk: Chunk
    singles: Options
    groups: Options
    unit_edges: Ints  # first unit of every table of the chunk, and the end
    group_edges: Ints
    roots: Ints  # index of every table of the chunk
    locks: StepLocks


@dataclass
class Solution:
    """The cheapest grouping for each column of prices.

    totals: [table of the chunk, resource, price]: its resources afterwards, and its costs
    single: [unit, price] whether the unit is a single unit; single_option: its option
    group:  [candidate, price] whether it is chosen; group_option: its option
    """

    totals: Floats
    single: Bools
    single_option: npt.NDArray[np.int8]
    group: Bools
    group_option: npt.NDArray[np.int8]


# rows of units or candidates that are priced at once: with all prices, they fit in a core's cache
BLOCK = 2048


def _selected(options: Options, which: Bools | Ints) -> Options:
    """Select some groups: by a mask, or by their numbers in another order."""
    return Options(
        options.start[which],
        options.end[which],
        options.slot[which],
        [None if c is None else c[which] for c in options.comps],
        [a[which] for a in options.allowed],
    )


def _without_large_merges(
    chunk: Chunk, start: Ints, end: Ints, slot: npt.NDArray[np.int8]
) -> tuple[Ints, Ints, npt.NDArray[np.int8]]:
    """The candidates without merges of leaves that all have min_leaf or more, which are not
    wanted.
    """
    smallest = {r.index: r.policy.min_leaf for r in chunk.roots if r.policy.min_leaf}
    if not smallest or not len(start):
        return start, end, slot
    line = np.zeros(int(chunk.root.max()) + 1)
    for index, size in smallest.items():
        line[index] = size
    small = (chunk.segment < line[chunk.root]).astype(np.int64)
    seen = np.concatenate([[0], np.cumsum(small)])
    useful = (line[chunk.root[start]] == 0) | (seen[end] > seen[start])
    return start[useful], end[useful], slot[useful]


def _groups(
    chunk: Chunk, sums: LeafSums, locks: StepLocks, *, now: int, settings: CostSettings
) -> Options:
    """The candidates that at least one option allows, ordered by first unit."""
    start, end, slot = _without_large_merges(chunk, *candidates(chunk, now))
    groups = evaluate(
        chunk, start, end, slot=slot, sums=sums, locks=locks, alone=False, settings=settings
    )
    some = np.zeros(len(start), dtype=np.bool_)
    for may in groups.allowed:
        some |= may
    if not some.all():
        groups = _selected(groups, some)
    order = np.argsort(groups.start, kind="stable")
    if len(order) and (order[1:] < order[:-1]).any():
        groups = _selected(groups, order)
    return groups


def _singles(chunk: Chunk, sums: LeafSums, locks: StepLocks, *, settings: CostSettings) -> Options:
    """Every unit alone: kept, converted, or dropped."""
    n = len(chunk.root)
    every = np.arange(n, dtype=np.int64)
    alone = evaluate(
        chunk,
        every,
        every + 1,
        slot=np.zeros(n, np.int8),
        sums=sums,
        locks=locks,
        alone=True,
        settings=settings,
    )
    cold = chunk.why == KeepReason.FREE
    alone.allowed = [a & cold & ~chunk.unknown for a in alone.allowed]
    alone.comps = [c if a.any() else None for c, a in zip(alone.comps, alone.allowed, strict=True)]
    alone.comps[KEEP], alone.allowed[KEEP] = (
        _unchanged_resources(chunk, cold, alone.allowed),
        np.ones(n, dtype=np.bool_),
    )
    gone: Floats | None = None
    if chunk.droppable.any():
        gone = np.zeros((n, len(RESOURCES)))
        gone[:, SECONDS], gone[:, DROPPED] = chunk.leaves * DROP_SECONDS, chunk.leaves
    alone.comps.append(gone)
    alone.allowed.append(chunk.droppable)
    return alone


def _unchanged_resources(chunk: Chunk, cold: Bools, allowed: list[Bools]) -> Floats:
    """Resources of unchanged units; allowed: by option, which units may have this storage."""
    n = len(chunk.root)
    stay = np.zeros((n, len(RESOURCES)))
    stay[:, ROWS], stay[:, FILES], stay[:, LEAVES], stay[:, CATALOG] = (
        chunk.rows,
        chunk.files,
        chunk.leaves,
        chunk.catalog,
    )
    convertible = np.zeros(n, dtype=np.bool_)
    for r in chunk.roots:
        if r.policy.storage in TARGETS:
            option = TARGETS.index(Storage(r.policy.storage))
            at = chunk.root == r.index
            stay[at & cold, OTHER_STORAGE] = np.bincount(
                chunk.leaf_unit,
                weights=stored_as(chunk)[chunk.leaf_class] != r.policy.storage,
                minlength=n,
            )[at & cold]
            convertible |= at & allowed[option]
    stay[~convertible, OTHER_STORAGE] = 0  # these leaves cannot be converted
    return stay


def prepare(
    chunk: Chunk,
    *,
    now: int,
    column_share: float,
    rate: float = COPY_RATE,
    headroom: float | None = None,
    lock_limit: float | None = None,
) -> Problem:
    """All choices of a chunk, with their costs.

    rate: bytes per second that one segment copies; headroom: bytes; lock_limit: locks.
    """
    settings = CostSettings(
        column_share=column_share, rate=rate, headroom=headroom, lock_limit=lock_limit
    )
    sums, locks = LeafSums.of(chunk), StepLocks.of(chunk)
    groups = _groups(chunk, sums, locks, now=now, settings=settings)
    indexes = np.array([r.index for r in chunk.roots], dtype=np.int64)
    unit_edges = np.append(np.searchsorted(chunk.root, indexes), len(chunk.root))
    return Problem(
        chunk=chunk,
        singles=_singles(chunk, sums, locks, settings=settings),
        groups=groups,
        unit_edges=unit_edges,
        group_edges=np.searchsorted(groups.start, unit_edges),
        roots=indexes,
        locks=locks,
    )


def _cheapest(
    options: Options, price: Floats, tables: Ints | None
) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Cost of every group with its cheapest option, [group, price], as an integer in units of
    10^-PLACES points, and this option.

    Integers have the same sum in any order. Of options with equal costs, the first one is used.
    price: [resource, L] for all tables, or [table, resource] if `tables` contains the table of each
           group (L is 1).
    """
    n, width = len(options.start), price.shape[1] if tables is None else 1
    scaled = price * 10.0**PLACES
    best = np.full((n, width), np.inf)
    which = np.zeros((n, width), dtype=np.int8)
    all_allowed = [bool(allowed.all()) for allowed in options.allowed]
    for start in range(0, n, BLOCK):
        at = slice(start, start + BLOCK)
        for option, (comps, allowed) in enumerate(zip(options.comps, options.allowed, strict=True)):
            if comps is None:
                continue
            cost = (
                comps[at] @ scaled
                if tables is None
                else np.einsum("ij,ij->i", comps[at], scaled[tables[at]])[:, None]
            )
            np.rint(cost, out=cost)
            if not all_allowed[option]:
                cost[~allowed[at]] = np.inf
            better = cost < best[at]
            np.copyto(best[at], cost, where=better)
            np.copyto(which[at], np.int8(option), where=better)
    return best, which


def solve(problem: Problem, price: Floats, *, per_table: bool = False) -> Solution:
    """The cheapest grouping of every table for every column of prices.

    price: [resource, L]; with per_table [table of the chunk, resource], one column for each table.
    This is exact: a shortest path over all candidates. If costs are equal, units are not changed.
    """
    singles, groups = problem.singles, problem.groups
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
    single, chosen = shortest(groups, base, cost)
    return Solution(
        _totals(problem, single, base_option, chosen, group_option, width),
        single,
        base_option,
        chosen,
        group_option,
    )


def _totals(
    problem: Problem,
    single: Bools,
    single_option: npt.NDArray[np.int8],
    chosen: Bools,
    group_option: npt.NDArray[np.int8],
    width: int,
) -> Floats:
    totals = np.zeros((len(problem.roots), len(RESOURCES), width))
    for options, used, which, edges in (
        (problem.singles, single, single_option, problem.unit_edges.tolist()),
        (problem.groups, chosen, group_option, problem.group_edges.tolist()),
    ):
        for t, (first, last) in enumerate(pairwise(edges)):
            for start in range(first, last, BLOCK):
                at = slice(start, min(start + BLOCK, last))
                used_here, which_here = used[at], which[at]
                for option, comps in enumerate(options.comps):
                    if comps is not None:
                        mask = used_here & (which_here == option)
                        totals[t] += comps[at].T @ mask.astype(np.float64)
    return totals
