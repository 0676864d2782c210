"""The distinct bounds of a snapshot, each parsed once, and their positions on an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcatalog.model.bounds import (
    Axis,
    Family,
    TupleEnd,
    first_column,
    parse,
    spelled_dates,
    tuple_ends,
)
from gpcatalog.planner.sets.arrays import Bools, Ints
from gpcatalog.store.snapshot import Snapshot


class BoundCodes:
    """The distinct bounds of a snapshot and, parsed on demand, their positions on a family's
    axis.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        # The text of each bound is read from one partition. Two of 5 million bounds have the same
        # key of 64 bits in one of a million snapshots; a step with such bounds would not pass the
        # migration's comparison of bounds.
        found = snapshot.columns(
            "SELECT bound_key AS h, bound FROM relation WHERE oid IN (SELECT min(oid) FROM relation"
            " GROUP BY bound_key) AND bound <> '' ORDER BY 1"
        )
        self.hashes: npt.NDArray[np.uint64] = np.asarray(found["h"], dtype=np.uint64)
        self.texts: npt.NDArray[Any] = np.asarray(found["bound"], dtype=object)
        self._axes: dict[Family, Axis] = {}
        self._memo: dict[Family, tuple[Ints, Ints, Bools, Bools]] = {}
        self._reasons: dict[tuple[Family, int], str] = {}

    def codes(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Position of each hash among the distinct bounds; the number of bounds if there is
        none.
        """
        at = np.searchsorted(self.hashes, hashes)
        missing = at >= len(self.hashes)
        at[missing] = 0
        if len(self.hashes):
            missing |= self.hashes[at] != hashes
        at[missing] = len(self.hashes)
        return at

    def intervals(self, kind: Family, codes: npt.NDArray[np.int64]) -> tuple[Ints, Ints, Bools]:
        """Lower end, upper end and whether they are known, for bounds by code.

        Each distinct bound is parsed once per family.
        """
        n = len(self.texts)
        if kind not in self._memo:
            self._memo[kind] = (
                np.zeros(n + 1, np.int64),
                np.zeros(n + 1, np.int64),
                np.zeros(n + 1, np.bool_),
                np.zeros(n + 1, np.bool_),
            )
        low, high, good, done = self._memo[kind]
        axis_ = self._axes.setdefault(kind, Axis(kind))
        for code in np.unique(codes[~done[codes]]).tolist():
            done[code] = True
            if code == n:
                self._reasons[kind, code] = "it has no bound"
                continue
            try:
                low[code], high[code] = axis_.interval(self.texts[code])
                good[code] = True
            except ValueError as e:
                self._reasons[kind, code] = str(e)
        return low[codes], high[codes], good[codes]

    def tuples(
        self, kinds: Sequence[Family], codes: npt.NDArray[np.int64]
    ) -> tuple[Ints, Ints, Ints, Ints, Bools]:
        """Return the positions of ranges of several columns: their ends in order, their ends on the
        axis of the first column, and whether they are known.

        Columns of a year and a month, or of a year, a month and a day, use the axis of dates as
        numbers.
        """
        n = len(codes)
        good = np.zeros(n, np.bool_)
        ends: dict[int, tuple[TupleEnd, TupleEnd]] = {}
        for i, code in enumerate(codes.tolist()):
            try:
                ends[i] = tuple_ends(
                    parse(self.texts[code]) if code < len(self.texts) else parse(None), kinds
                )
                good[i] = True
            except ValueError as e:
                self._reasons[kinds[0], code] = str(e)
        place = {
            end: at
            for at, end in enumerate(sorted({end for pair in ends.values() for end in pair}))
        }
        low, high = np.zeros(n, np.int64), np.ones(n, np.int64)
        first_low, first_high = low.copy(), high.copy()
        dates = spelled_dates([end for pair in ends.values() for end in pair], kinds)
        for i, (start, end) in ends.items():
            low[i], high[i] = place[start], place[end]
            if dates is not None:
                first_low[i], first_high[i] = dates[start], dates[end]
            else:
                first_low[i], first_high[i] = (
                    first_column(start, kinds[0], upper=False),
                    first_column(end, kinds[0], upper=True),
                )
        return low, high, first_low, first_high, good

    def flagged(self, codes: npt.NDArray[np.int64]) -> bool:
        """Whether one of these bounds contains EXCLUSIVE or INCLUSIVE."""
        return any(
            "CLUSIVE" in self.texts[code]
            for code in np.unique(codes[codes < len(self.texts)]).tolist()
        )

    def reason(self, kind: Family, code: int) -> str:
        """Why a bound has no position on the axis."""
        return self._reasons.get((kind, int(code)), "")
