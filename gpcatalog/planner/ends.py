"""The typed ends of partitions, read from their bounds."""

from __future__ import annotations

from gpcatalog.model.bounds import (
    INFINITY,
    MINUS_INFINITY,
    Bound,
    BoundKind,
    Family,
    Term,
    interval,
    parse,
)
from gpcatalog.planner.operations import End

Pair = tuple[End | None, End | None]


def family_of(axis: str) -> Family:
    """The family for a table's `axis` in a plan.

    >>> family_of("timestamp"), family_of("dates as 8-digit numbers"), family_of("list values")
    (<Family.TIMESTAMP: 'timestamp'>, <Family.INTEGER: 'integer'>, <Family.OTHER: 'other'>)
    """
    if axis.startswith("dates as"):
        return Family.INTEGER
    return Family(axis) if axis in set(Family) else Family.OTHER


def _end(term: tuple[Term, ...] | None, inclusive: bool, at: int) -> End:
    if not term:
        return End()
    return End(
        term[0].value,
        term[0].sql,
        inclusive,
        None if at <= MINUS_INFINITY or at >= INFINITY else at,
    )


class Ends:
    """Bounds of one family, each parsed once."""

    def __init__(self, kind: Family) -> None:
        self.kind = kind
        self._bounds: dict[str, Bound] = {}
        self._ends: dict[str, Pair] = {}

    def bound(self, text: str) -> Bound:
        """The parsed bound of a text."""
        found = self._bounds.get(text)
        if found is None:
            found = self._bounds[text] = parse(text)
        return found

    def _pair(self, text: str) -> Pair:
        found = self._ends.get(text)
        if found is None:
            found = self._ends[text] = self._read(self.bound(text))
        return found

    def _read(self, bound: Bound) -> Pair:
        if bound.kind is not BoundKind.RANGE:
            return None, None
        try:
            low, high = interval(bound, self.kind)
        except ValueError:
            return None, None
        return _end(bound.lower, bound.lower_inclusive, low), _end(
            bound.upper, bound.upper_inclusive, high
        )

    def of(self, first: str, last: str) -> Pair:
        """Typed ends from the start of one bound to the end of another; None for lists and for
        bounds without a position on the axis.
        """
        low, high = self._pair(first)[0], self._pair(last)[1]
        return (None, None) if low is None or high is None else (low, high)
