"""List partitions by date: each one has the values of one or several days, months or years."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from gpcatalog.model.bounds import (
    DAY,
    Bound,
    BoundKind,
    Family,
    TermKind,
    date_of_number,
    family,
    parse,
    timestamp_axis,
)
from gpcatalog.planner import grid
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.policy import ResolvedPolicy
from gpcatalog.planner.relations import Relation
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.time_key import TimeKey, cell_of, is_start, micros, moment_of

# formats of months and days in texts
_FORMS = ("%Y-%m", "%Y%m", "%Y_%m", "%Y/%m", "%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%Y_%m_%d")


def _of_text(text: str, form: str) -> int:
    """Local time of a text with a date format. Raises ValueError.

    >>> _of_text("2024-02", "%Y-%m") // DAY
    19754
    """
    moment = datetime.strptime(text, form)
    if moment.strftime(form) != text:
        raise ValueError(f"{text!r} is not a date")
    return micros(moment)


def _readers(kind: Family) -> list[tuple[TimeKey, Callable[[str], int]]]:
    """The keys that values of a type may have, each with the function that reads a value."""
    if kind is Family.DATE:
        return [(TimeKey(family=kind, listed=True), timestamp_axis)]
    if kind is Family.INTEGER:
        return [
            (
                TimeKey(family=kind, digits=digits, listed=True),
                lambda text, digits=digits: date_of_number(int(text), digits),  # type: ignore[misc]
            )
            for digits in (8, 6)
        ]
    if kind is Family.TEXT:
        return [
            (
                TimeKey(family=kind, form=form, listed=True),
                lambda text, form=form: _of_text(text, form),  # type: ignore[misc]
            )
            for form in _FORMS
        ]
    return []


def _values(bound: Bound) -> list[str]:
    return [v.value for v in bound.values if v.kind is TermKind.VALUE]


class ListKey:
    """The level of a table whose list values are dates.

    level: depth of its partitions; key: mapping of its values to the calendar
    evidence: a sentence on it
    """

    def __init__(
        self, level: int, key: TimeKey, read: Callable[[str], int], grain: Grain, days: int
    ) -> None:
        self.level = level
        self.key = key
        self.evidence = f"lists of {grain.word}s: {days} values"
        self._read = read
        self._grain = grain

    def range_of(self, bound: Bound) -> tuple[int, int] | None:
        """The range that a list covers in local time; None for a list that contains only NULL.

        Raises ValueError if its values are not consecutive.
        """
        if bound.kind is not BoundKind.LIST:
            raise ValueError(bound.reason or f"a {bound.kind} bound is not a list")
        cells = sorted({cell_of(self._grain, self._read(v)) for v in _values(bound)})
        if not cells:
            return None
        if any(v.kind is TermKind.NULL for v in bound.values):
            raise ValueError("it has NULL beside dates")  # rows with NULL have no age
        if cells[-1] - cells[0] != len(cells) - 1:
            raise ValueError("its values do not follow each other")
        return grid.cell_start(self._grain, cells[0]), grid.cell_start(self._grain, cells[-1] + 1)


def list_key(root: Root, relations: Sequence[Relation], policy: ResolvedPolicy) -> ListKey | None:
    """The first level of list partitions whose values are all dates; None if there is none."""
    for k in root.keys:
        if k.strategy != "list" or len(k.parts) != 1:
            continue
        level = k.level + 1
        bounds = [parse(r.bound) for r in relations if r.kind != "root" and r.level == level]
        texts = sorted({v for b in bounds if b.kind is BoundKind.LIST for v in _values(b)})
        for key, read in _readers(family(k.parts[0])) if texts else ():
            try:
                days = [read(v) for v in texts]
                grain = _grain(days, key, policy)
                starts_only = all(is_start(grain, day) for day in days)
            except (ValueError, OverflowError):
                continue
            if starts_only:
                clocked = replace(key, clock=policy.time_zone)
                return ListKey(level, clocked, read, grain, len(texts))
    return None


def _grain(days: Sequence[int], key: TimeKey, policy: ResolvedPolicy) -> Grain:
    """The grain of the policy; else months if there are several values and all are the first
    day of a month, otherwise days.
    """
    if policy.grain is not None:
        return max(Grain(policy.grain), key.finest)
    months = key.finest is Grain.MONTH or (
        len(days) > 1 and all(moment_of(day).day == 1 and day % DAY == 0 for day in days)
    )
    return Grain.MONTH if months else Grain.DAY
