"""Sums over the statements of a check, updated with each statement: of the whole change and of each
table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpcatalog.check.report import Cost, LockHeld, TableCost
from gpcatalog.dialect.script import Source
from gpcatalog.effects.effect import REJECTED


class StatementPosition(NamedTuple):
    """The position of a statement: its file, the offsets of its first character and after its last,
    its number in the run.
    """

    source: Source
    start: int
    end: int
    number: int


class _Sum:
    """The sum of several costs; of locks, the maximum."""

    __slots__ = (
        "complete",
        "coordinator",
        "empty",
        "filled",
        "last",
        "leaves",
        "locks",
        "relations",
        "segment",
        "times",
    )

    def __init__(self) -> None:
        self.coordinator: Counter[str] = Counter()
        self.segment: Counter[str] = Counter()
        self.leaves = self.relations = self.empty = self.filled = self.locks = 0
        self.complete = True
        self.last: Cost | None = (
            # equal costs often follow each other: they are counted, and added when a different one
            # follows
            None
        )
        self.times = 0

    def add(self, cost: Cost) -> None:
        if cost is not self.last:
            self._settle()
            self.last = cost
        self.times += 1

    def _settle(self) -> None:
        cost, n = self.last, self.times
        if cost is None:
            return
        for catalog, rows in cost.rows_coordinator.items():
            self.coordinator[catalog] += rows * n
        for catalog, rows in cost.rows_segment.items():
            self.segment[catalog] += rows * n
        self.leaves += cost.leaves * n
        self.relations += cost.relations * n
        self.empty += cost.files_empty * n
        self.filled += cost.files_filled * n
        self.locks = max(self.locks, cost.locks)
        self.complete = self.complete and cost.complete
        self.last, self.times = None, 0

    @property
    def cost(self) -> Cost:
        """The sum as a cost."""
        self._settle()
        on_coordinator = {k: v for k, v in self.coordinator.items() if v}
        on_segment = {k: v for k, v in self.segment.items() if v}
        return Cost(
            leaves=self.leaves,
            relations=self.relations,
            rows_coordinator=on_coordinator,
            rows_segment=on_segment,
            files_empty=self.empty,
            files_filled=self.filled,
            locks=self.locks,
            complete=self.complete,
        )


class _OfTable:
    """What the change adds to one table; the values of a `TableCost`."""

    __slots__ = (
        "complete",
        "coordinator",
        "empty",
        "exclusive",
        "filled",
        "held",
        "leaves",
        "locks",
        "segment",
    )

    def __init__(self) -> None:
        self.leaves = self.coordinator = self.segment = self.empty = self.filled = self.locks = 0
        self.complete = True
        self.exclusive = False
        self.held: list[LockHeld] | None = None


@dataclass(kw_only=True)
class Totals:
    """The sums of a run.

    seconds: estimated time of the DDL; a lower bound unless seconds_complete
    first: the first statement
    most_leaves, most_files: the statement that adds most; None if none adds any
    not_counted: rows that the sums do not include, with the number of statements
    rejected, partly_unknown: numbers of statements, as in CheckReport
    """

    first: StatementPosition | None = None
    most_leaves: StatementPosition | None = None
    most_files: StatementPosition | None = None
    _total: _Sum = field(default_factory=_Sum)
    _by_table: dict[str, _OfTable] = field(default_factory=dict)
    seconds: float = 0.0
    seconds_complete: bool = True
    not_counted: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    partly_unknown: int = 0
    _leaves: int = 0
    _files: int = 0

    def add(self, cost: Cost, at: StatementPosition) -> None:
        """Add a statement to the sum of the change."""
        self._total.add(cost)
        self.first = self.first or at
        if cost.leaves > self._leaves:
            self._leaves, self.most_leaves = cost.leaves, at
        if cost.files_filled > self._files:
            self._files, self.most_files = cost.files_filled, at

    def add_left_out(self, not_counted: Sequence[str], reasons: Sequence[str]) -> None:
        """Count a statement by the rows that are not counted, and by what is unknown about it."""
        self.not_counted.update(not_counted)
        if any(reason.startswith(REJECTED) for reason in reasons):
            self.rejected += 1
        elif reasons:
            self.partly_unknown += 1

    def add_seconds(self, seconds: float, *, complete: bool) -> None:
        """Add the time of a statement; complete: all of it is known."""
        self.seconds += seconds
        self.seconds_complete = self.seconds_complete and complete

    def add_to_table(
        self, table: str, cost: Cost, held: LockHeld | None, *, exclusive: bool
    ) -> None:
        """Add the cost of a statement to one table; held: its lock on a table of the baseline."""
        of = self._by_table.get(table)
        if of is None:
            of = self._by_table[table] = _OfTable()
        of.leaves += cost.leaves
        of.coordinator += sum(cost.rows_coordinator.values())
        of.segment += sum(cost.rows_segment.values())
        of.empty += cost.files_empty
        of.filled += cost.files_filled
        of.locks = max(of.locks, cost.locks)
        of.complete = of.complete and cost.complete
        of.exclusive = of.exclusive or exclusive
        if held is not None:
            of.held = of.held or []
            of.held.append(held)

    @property
    def cost(self) -> Cost:
        """The cost of the whole change."""
        return self._total.cost

    def tables(self) -> tuple[TableCost, ...]:
        """The cost of each table, largest first; statements without a table are left out.

        It can be called only once, because it removes the values.
        """
        found = []
        while self._by_table:  # each value is freed when it is copied to the report
            name, t = self._by_table.popitem()
            rows = max(t.segment, t.coordinator)
            found.append(
                TableCost(
                    table=name,
                    leaves=t.leaves,
                    rows=rows,
                    files_empty=t.empty,
                    files_filled=t.filled,
                    locked=t.locks,
                    exclusive=t.exclusive,
                    complete=t.complete,
                    held=tuple(t.held or ()),
                )
            )
        return tuple(sorted(found, key=lambda t: (-abs(t.rows), t.table)))
