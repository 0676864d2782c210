"""Candidates: consecutive units that may become one partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcatalog.model.bounds import DAY, INFINITY, MINUS_INFINITY
from gpcatalog.planner import grid
from gpcatalog.planner.sets.arrays import SLOTS, Bools, Ints, spans
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.sets.keep_reasons import KeepReason


@dataclass
class _Cells:
    """The calendar cell of one width that contains each unit.

    fit: whether the cell contains the whole unit; cell: its number; after: its end
    latest: latest end of the table's cells: a cell that ends later is hot, or too young for the
            width
    """

    fit: Bools
    cell: Ints
    after: Ints
    latest: Ints


@dataclass
class _Months:
    """Months since 1970-01 of the first and the last microsecond of each unit in a calendar cell."""

    low: Ints
    last: Ints

    @classmethod
    def read(cls, chunk: Chunk, free: Bools) -> _Months:
        """Months of all free units of tables with a calendar; 0 for the others."""
        at = free & np.isin(chunk.root, [r.index for r in chunk.roots if r.level and r.calendar])
        found = cls(*np.zeros((2, len(free)), dtype=np.int64))
        found.low[at] = grid.months(chunk.cal_low[at])
        found.last[at] = grid.months(chunk.cal_high[at] - 1)
        return found


def _cells(chunk: Chunk, free: Bools, months: _Months, *, slot: int, now: int) -> _Cells:
    """Cells of one width of every table that may use it; units of other tables fit into no cell."""
    n = len(chunk.root)
    found = _Cells(
        fit=np.zeros(n, dtype=np.bool_),
        cell=np.zeros(n, dtype=np.int64),
        after=np.zeros(n, dtype=np.int64),
        latest=np.full(n, -(2**62), dtype=np.int64),
    )
    calendar = np.zeros(n, dtype=np.bool_)
    for k, s, e in spans([r.index for r in chunk.roots], chunk.root.astype(np.int64)):
        r = chunk.roots[k]
        if not r.level:
            continue
        if r.calendar:
            ages = dict(r.policy.grains)
            if slot not in ages:
                continue
            calendar[s:e] = True
            found.latest[s:e] = np.minimum(
                chunk.hot_edge[s:e], int(now - r.shift - ages[slot] * DAY)
            )
        elif slot <= len(r.widths):
            width = r.widths[slot - 1]
            cell = np.floor_divide(chunk.cal_low[s:e], width)
            found.cell[s:e] = cell
            found.fit[s:e] = free[s:e] & (np.floor_divide(chunk.cal_high[s:e] - 1, width) == cell)
            found.after[s:e] = chunk.cal_high[s:e] if r.lists else (cell + 1) * width
            found.latest[s:e] = chunk.hot_edge[s:e]
    timed = np.flatnonzero(calendar & free)
    if len(timed):
        grain = grid.Grain(slot)
        # months are expensive to compute, and are used for quarters and years, too
        per = grid.MONTHS.get(grain)
        if per:
            begin, last = months.low[timed] // per, months.last[timed] // per
        else:
            begin = grid.cells(grain, chunk.cal_low[timed])
            last = grid.cells(grain, chunk.cal_high[timed] - 1)
        found.cell[timed] = begin
        found.fit[timed] = last == begin
        found.after[timed] = grid.cell_ends(grain, begin)
    return found


def candidates(chunk: Chunk, now: int) -> tuple[Ints, Ints, npt.NDArray[np.int8]]:
    """Consecutive units within one cell, for every width that a table may use: start, end,
    slot. The same units are returned once, with the finest width.
    """
    n = len(chunk.root)
    starts, ends, slots = [], [], []
    free = (
        (chunk.why == KeepReason.FREE)
        & (chunk.cal_low > MINUS_INFINITY)
        & (chunk.cal_high < INFINITY)
    )
    run_starts = np.zeros(n, dtype=np.bool_)
    run_starts[chunk.run_unit] = True
    months = _Months.read(chunk, free)
    for slot in range(1, SLOTS):
        cells = _cells(chunk, free, months, slot=slot, now=now)
        # the whole cell must be cold: a cell that is half hot now would soon be rewritten again
        fit, cell = cells.fit & (cells.after <= cells.latest), cells.cell
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
