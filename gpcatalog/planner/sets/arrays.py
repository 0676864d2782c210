"""Types of arrays, and functions for them that several modules use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gpcatalog.model.bounds import INFINITY, MINUS_INFINITY

# widths of cells that a set may have: 1..6 are the calendar's grains; integer keys use up to 8
# round multiples
SLOTS = 9

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Finalizer of splitmix64; sums of its values identify sets."""
    x = (x ^ (x >> np.uint64(30))) * _M1
    x = (x ^ (x >> np.uint64(27))) * _M2
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def spans(indexes: Sequence[int], root: Ints) -> Iterator[tuple[int, int, int]]:
    """Yield (position in `indexes`, start, end) of each table's part of an array that is sorted
    by `root`, an index of tables.
    """
    starts = np.searchsorted(root, np.asarray(indexes, dtype=np.int64))
    ends = np.append(starts[1:], len(root))
    for n, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if start != end:
            yield n, start, end


def moved(values: Ints, by: int) -> Ints:
    """Move values on the axis; open ends are unchanged."""
    if by == 0:
        return values
    ends = (values <= MINUS_INFINITY) | (values >= INFINITY)
    return np.where(ends, values, values + np.where(ends, 0, by))
