"""Bounds of the partitions of a table, to find those that overlap."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.list_values import written_values
from gpcatalog.effects.ties import Name

# (-1, 0) is MINVALUE, (1, 0) MAXVALUE, (0, value) a value; of several columns, a tuple of these
End = tuple[Any, ...]
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


def bound_of(node: exp.Expression | None, keys: Sequence[Column], zone: ZoneInfo) -> Bound | None:
    """The bound of a partition of a table with these key columns; None if it is not understood."""
    if isinstance(node, gx.BoundDefault):
        return Bound(default=True)
    if isinstance(node, gx.BoundIn) and len(keys) == 1 and keys[0].type in _PLAIN:
        values = written_values(node.expressions, keys[0])
        return Bound(values=values) if values is not None else None
    if not keys or not all(key.exact for key in keys):
        return None
    kinds = [calendar.kind_of(key.type) for key in keys]
    try:
        if isinstance(node, gx.BoundFromTo):
            if not {"integer", "date", "timestamp", "timestamptz"}.issuperset(kinds):
                return None  # the order of text depends on its collation
            low, high = (_ends(node.args[end], kinds, zone) for end in ("lower", "upper"))
            return Bound(low=low, high=high)
        compared = len(keys) == 1 and kinds[0] != "numeric" and keys[0].type in _COMPARED
        if isinstance(node, gx.BoundIn) and compared:
            return Bound(values=frozenset(_value(v, kinds[0], zone) for v in node.expressions))
    except (Unknown, OverflowError, ValueError):
        return None
    return None


def _ends(values: Sequence[exp.Expression], kinds: Sequence[str], zone: ZoneInfo) -> End:
    """One end of a range. Raises Unknown."""
    if len(values) != len(kinds):
        raise Unknown("number of values")
    ends = [_end(value, kind, zone) for value, kind in zip(values, kinds, strict=True)]
    return ends[0] if len(ends) == 1 else tuple(ends)


# types of values of lists: compared as written, and equal if calendar.value returns equal values
_PLAIN = ("int2", "int4", "int8", "numeric", "float8", "bool", "text", "varchar", "bpchar")
_COMPARED = ("date", "timestamp", "timestamptz")


def _end(node: exp.Expression, kind: str, zone: ZoneInfo) -> End:
    if isinstance(node, exp.Null):
        raise Unknown("NULL in a range")
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        name = fold(node.this)
        if name in ("minvalue", "maxvalue") and not node.this.args.get("quoted"):
            return _LOWEST if name == "minvalue" else _HIGHEST
    return 0, _value(node, kind, zone)


def _value(node: exp.Expression, kind: str, zone: ZoneInfo) -> object:
    return None if isinstance(node, exp.Null) else _moment(calendar.value(node, kind, zone))


def _moment(value: object) -> object:
    """Convert a time with a time zone to UTC, for comparison. Raises Unknown for a local time that
    exists twice, or not at all.
    """
    if isinstance(value, datetime) and value.tzinfo is not None:
        if value.replace(fold=0).utcoffset() != value.replace(fold=1).utcoffset():
            raise Unknown("local time at a change of the clocks")
        return value.astimezone(UTC)
    return value


def of_value(value: object) -> End | None:
    """The end of a range that was read before; None if it is open or was not understood."""
    try:
        return None if value is None or isinstance(value, str) else (0, _moment(value))
    except Unknown:
        return None


@dataclass
class TakenBounds:
    """The bounds of a table's partitions; those of dropped partitions are removed when a search
    finds them.

    hashes: names by modulus and remainder; known: all other bounds
    seen, last: how many partitions of a list were added, and the last of them
    """

    default: Name | None = None
    ranges: list[tuple[End, End, Name]] = field(default_factory=list)
    values: dict[Any, Name] = field(default_factory=dict)
    hashes: dict[int, dict[int, Name]] = field(default_factory=dict)
    known: dict[Name, Bound] = field(default_factory=dict)
    seen: int = 0
    last: object = None

    def copy(self) -> TakenBounds:
        """An independent copy of the bounds."""
        return TakenBounds(
            self.default,
            list(self.ranges),
            dict(self.values),
            {modulus: dict(names) for modulus, names in self.hashes.items()},
            dict(self.known),
        )

    def add(self, name: Name, bound: Bound) -> None:
        """Add the bound of a partition that was created or attached."""
        self._remove(name)  # of a dropped partition with the same name
        self.known[name] = bound
        if bound.default:
            self.default = name
        elif bound.low is not None and bound.high is not None:
            insort(self.ranges, (bound.low, bound.high, name))
        for value in bound.values:
            self.values[value] = name

    def add_hash(self, name: Name, modulus: int, remainder: int) -> None:
        """Add the bound of a hash partition."""
        self._remove(name)
        self.hashes.setdefault(modulus, {})[remainder] = name

    def _remove(self, name: Name) -> Bound | None:
        """Remove the bound of a partition, and return it."""
        for names in self.hashes.values():
            for remainder in [one for one, other in names.items() if other == name]:
                del names[remainder]
        bound = self.known.pop(name, None)
        if bound is None:
            return None
        if self.default == name:
            self.default = None
        if bound.low is not None and bound.high is not None:
            self.ranges = [one for one in self.ranges if one[2] != name]
        for value in bound.values:
            if self.values.get(value) == name:
                del self.values[value]
        return bound

    def rename(self, old: Name, new: Name) -> None:
        """Note that a partition has another name."""
        hashes = [
            (modulus, remainder)
            for modulus, names in self.hashes.items()
            for remainder, name in names.items()
            if name == old
        ]
        bound = self._remove(old)
        if bound is not None:
            self.add(new, bound)
        for modulus, remainder in hashes:
            self.add_hash(new, modulus, remainder)

    def same_hash(self, modulus: int, remainder: int, there: Callable[[Name], bool]) -> str:
        """What is wrong with a new hash partition; "" if it fits the others."""
        for other, names in self.hashes.items():
            known = {one: name for one, name in names.items() if there(name)}
            if not known:
                continue
            small, large = sorted((modulus, other))
            if large % small:
                return f"of moduli {small} and {large}, none is a factor of the other"
            if other <= modulus:
                name = known.get(remainder % other)
            else:
                alike = range(remainder, other, modulus)
                name = next((known[one] for one in alike if one in known), None)
            if name is not None:
                return f"the bound overlaps that of {name[1]}"
        return ""

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
