"""Bounds of the partitions of a table, to find those that overlap."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.ties import Name

End = tuple[int, Any]  # (-1, 0) is MINVALUE, (1, 0) MAXVALUE, (0, value) a value
_LOWEST, _HIGHEST = (-1, 0), (1, 0)


@dataclass(frozen=True)
class Bound:
    """The bound of one partition.

    default: it is the default partition; low, high: of a range; values: of a list
    """

    default: bool = False
    low: End | None = None
    high: End | None = None
    values: frozenset[Any] = frozenset()

    def overlaps(self, other: Bound) -> bool:
        """Whether a row can belong to both."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return bool(self.values & other.values)
        return self.low < other.high and other.low < self.high


def bound_of(node: exp.Expression | None, key: Column | None, zone: ZoneInfo) -> Bound | None:
    """The bound of a partition of a table with this single key column; None if it is not
    understood.
    """
    if isinstance(node, gx.BoundDefault):
        return Bound(default=True)
    if key is None or key.own_type or key.typmod != -1:
        return None  # values are rounded to a precision
    kind = calendar.kind_of(key.type)
    try:
        if isinstance(node, gx.BoundFromTo) and len(node.args["lower"]) == 1:
            if kind not in ("integer", "date", "timestamp", "timestamptz"):
                return None  # the order of text depends on its collation
            low, high = (_end(node.args[end][0], kind, zone) for end in ("lower", "upper"))
            return Bound(low=low, high=high)
        if isinstance(node, gx.BoundIn) and kind != "numeric" and key.type in _COMPARED:
            return Bound(values=frozenset(_value(v, kind, zone) for v in node.expressions))
    except (Unknown, OverflowError, ValueError):
        return None
    return None


# types whose values are equal if calendar.value returns equal values for their texts
_COMPARED = ("int2", "int4", "int8", "date", "timestamp", "timestamptz", "text", "varchar")


def _end(node: exp.Expression, kind: str, zone: ZoneInfo) -> End:
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        name = fold(node.this)
        if name in ("minvalue", "maxvalue") and not node.this.args.get("quoted"):
            return _LOWEST if name == "minvalue" else _HIGHEST
    return 0, _value(node, kind, zone)


def _value(node: exp.Expression, kind: str, zone: ZoneInfo) -> object:
    return None if isinstance(node, exp.Null) else _moment(calendar.value(node, kind, zone))


def _moment(value: object) -> object:
    """Convert a time with a time zone to UTC, for comparison."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def of_value(value: object) -> End | None:
    """The end of a range that was read before; None if it is open or was not understood."""
    return None if value is None or isinstance(value, str) else (0, _moment(value))


@dataclass
class TakenBounds:
    """The bounds of a table's partitions; those of dropped partitions are removed when a search
    finds them.

    seen, last: how many partitions of a list were added, and the last of them
    """

    default: Name | None = None
    ranges: list[tuple[End, End, Name]] = field(default_factory=list)
    values: dict[Any, Name] = field(default_factory=dict)
    seen: int = 0
    last: object = None

    def copy(self) -> TakenBounds:
        """An independent copy of the bounds."""
        return TakenBounds(self.default, list(self.ranges), dict(self.values))

    def add(self, name: Name, bound: Bound) -> None:
        """Add the bound of a partition that was created or attached."""
        if bound.default:
            self.default = name
        elif bound.low is not None and bound.high is not None:
            insort(self.ranges, (bound.low, bound.high, name))
        for value in bound.values:
            self.values[value] = name

    def overlapping(self, bound: Bound, there: Callable[[Name], bool]) -> Name | None:
        """A partition whose bound overlaps this one; there: returns whether a partition still
        exists.
        """
        if bound.default:
            return self.default if self.default is not None and there(self.default) else None
        for value in bound.values:
            name = self.values.get(value)
            if name is not None and there(name):
                return name
        while bound.low is not None and bound.high is not None:
            at = bisect_left(self.ranges, (bound.high,))
            # ranges do not overlap each other: the last one that begins before this one's end
            if not at or self.ranges[at - 1][1] <= bound.low:
                return None
            if there(self.ranges[at - 1][2]):
                return self.ranges[at - 1][2]
            del self.ranges[at - 1]
        return None
