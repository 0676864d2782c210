"""Why one table is grouped as it is: every group leaf by leaf, and what coarser or finer would have
meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcatalog.model.bounds import DAY, INFINITY, MINUS_INFINITY
from gpcatalog.model.names import printable
from gpcatalog.model.quantity import count, size
from gpcatalog.model.storage import Storage
from gpcatalog.planner import grid
from gpcatalog.planner.costs import KEEP, TARGETS
from gpcatalog.planner.group import Problem, Solution, solve
from gpcatalog.planner.options import DROP
from gpcatalog.planner.planning import PlanResult
from gpcatalog.planner.resources import REWRITE, SCAN
from gpcatalog.planner.sets.keep_reasons import WHY_TEXT, KeepReason
from gpcatalog.planner.sets.roots import Root

_HEIGHTS = "▁▂▃▄▅▆▇█"
BARS = 60  # leaves of one group that are drawn; the rest is told as a number


@dataclass(frozen=True, kw_only=True)
class Row:
    """One group of the chosen grouping.

    where:  the range, for people; bars: one character a leaf (unit), · where empty, ? where its
            size is unknown
    what:   what becomes of it; coarser, finer: why not otherwise
    """

    where: str
    units: int
    leaves: int
    bytes: float
    bars: str
    what: str
    coarser: str = ""
    finer: str = ""


def _bars(problem: Problem, start: int, end: int, highest: float) -> str:
    c = problem.chunk
    drawn = []
    for u in range(start, min(end, start + BARS)):
        if c.unknown[u]:
            drawn.append("?")
        elif c.empty[u] or c.bytes[u] <= 0:
            drawn.append("·")
        else:
            drawn.append(_HEIGHTS[min(7, int(c.bytes[u] / highest * 7.999))])
    more = end - start - BARS
    return "".join(drawn) + (f" +{count(more)}" if more > 0 else "")


def _where(root: Root, problem: Problem, reader_texts: list[str], start: int, end: int) -> str:
    c = problem.chunk
    if (
        root.lists
        or not root.level
        or KeepReason(int(c.why[start])) in (KeepReason.DEFAULT, KeepReason.UNPARSED)
    ):
        return reader_texts[0] if end - start == 1 else f"{reader_texts[0]} … {reader_texts[-1]}"
    low, high = int(c.cal_low[start]), int(c.cal_high[end - 1])

    def one(at: int, open_word: str) -> str:
        if at <= MINUS_INFINITY or at >= INFINITY:
            return open_word
        return grid.shown(at) if root.calendar else root.family.number(at)

    return f"{one(low, 'start')} … {one(high, 'end')}"


class Explainer:
    """Explains one table of a finished plan."""

    def __init__(self, planned: PlanResult, root: Root) -> None:
        self.planned = planned
        self.root = root
        self.problem = next(planned._problems({root.index}))
        price = np.stack([planned.column(r) for r in self.problem.chunk.roots])
        solved = solve(self.problem, price, per_table=True)
        self.solved: Solution = planned.curves.settle(self.problem, solved, planned.outcome.choice)
        self.price = planned.column(root)
        place = int(np.searchsorted(self.problem.roots, root.index))
        self.units = int(self.problem.unit_edges[place]), int(self.problem.unit_edges[place + 1])
        self.groups = int(self.problem.group_edges[place]), int(self.problem.group_edges[place + 1])

    def _cost(self, group: int, option: int) -> float:
        comps = self.problem.groups.comps[option]
        assert comps is not None
        return float(comps[group] @ self.price)

    def _alone(self, start: int, end: int) -> float:
        """Points of the units alone, each under its cheapest option."""
        total = 0.0
        for u in range(start, end):
            comps = self.problem.singles.comps[int(self.solved.single_option[u, 0])]
            assert comps is not None
            total += float(comps[u] @ self.price)
        return total

    def _coarser(
        self, start: int, end: int, slot: int, chosen: dict[int, tuple[int, float]]
    ) -> str:
        """Why this stretch is not part of something wider."""
        problem, root, c = self.problem, self.root, self.problem.chunk
        gs, ge = self.groups
        wider = [
            g
            for g in range(gs, ge)
            if problem.groups.start[g] <= start
            and problem.groups.end[g] >= end
            and problem.groups.end[g] - problem.groups.start[g] > end - start
        ]
        if wider:
            g = min(wider, key=lambda x: int(problem.groups.end[x] - problem.groups.start[x]))
            a, b = int(problem.groups.start[g]), int(problem.groups.end[g])
            option = min(
                (
                    o
                    for o, may in enumerate(problem.groups.allowed)
                    if may[g] and problem.groups.comps[o] is not None
                ),
                key=lambda o: self._cost(g, o),
            )
            now, at = 0.0, a
            while at < b and at in chosen:
                at, cost = chosen[at]
                now += cost
            name = self._slot_name(int(problem.groups.slot[g]))
            comps = problem.groups.comps[option]
            assert comps is not None
            if at == b and self._cost(g, option) < now:
                return f"one {name} would cost less, but the limits do not leave room for it"
            if at == b:
                return (
                    f"one {name} would cost {self._cost(g, option) - now:,.0f} points more"
                    f" ({size(float(comps[g][REWRITE]))} rewritten, {size(float(comps[g][SCAN]))} a"
                    " day read more)"
                )
            return f"one {name} would overlap a cheaper neighbour"
        if not root.calendar:
            return "no wider round number holds it and is cold"
        now_at = self.planned.reader.now - root.shift
        ages = dict(root.wishes.grains)
        for grain in grid.Grain:
            if int(grain) <= slot:
                continue
            low, high = c.cal_low[start : start + 1], c.cal_high[end - 1 : end]
            if low[0] <= MINUS_INFINITY or high[0] >= INFINITY:
                return "it has no end"
            cell = grid.cells(grain, low)
            if grid.cells(grain, high - 1)[0] != cell[0]:
                continue
            if int(grain) not in ages:
                return f"the policy has no {grain.word}s"
            after = int(grid.cell_ends(grain, cell)[0])
            if ages[int(grain)] and after > now_at - ages[int(grain)] * DAY:
                return f"its {grain.word} is younger than {ages[int(grain)]:g} days"
            if after > int(c.hot_edge[start]):
                return f"its {grain.word} is not cold to the end"
            inside = np.flatnonzero(
                (c.cal_low[self.units[0] : self.units[1]] >= grid.cell_start(grain, int(cell[0])))
                & (c.cal_high[self.units[0] : self.units[1]] <= after)
                & (c.set[self.units[0] : self.units[1]] == c.set[start])
            )
            if len(inside) == end - start:
                continue
            total = float(c.segment[inside + self.units[0]].sum())
            if total > root.wishes.max_leaf:
                return (
                    f"its {grain.word} would hold {size(total)} on the fullest segment, over"
                    f" {size(root.wishes.max_leaf)}"
                )
            return f"its {grain.word} has a gap, a change of form or a unit that stays"
        return "nothing coarser is left"

    def _slot_name(self, slot: int) -> str:
        if self.root.lists:
            return f"group of {self.root.widths[slot - 1]} values"
        return (
            grid.Grain(slot).word
            if self.root.calendar
            else f"range of {self.root.family.number(self.root.widths[slot - 1])}"
        )

    def rows(self) -> list[Row]:
        """The groups in order of the axis, neighbours with the same fate and reason drawn as
        one.
        """
        problem, c = self.problem, self.problem.chunk
        s, e = self.units
        gs, ge = self.groups
        highest = float(c.bytes[s:e].max()) if e > s else 1.0
        operation = self.planned.wholes.operations.get(self.root.index)
        if operation:
            leaves, held = int(c.leaves[s:e].sum()), float(c.bytes[s:e].sum())
            said = (
                "unused subpartitions are dropped"
                if operation == "unused_subpartitions"
                else operation
            )
            return [
                Row(
                    where="the whole table",
                    units=e - s,
                    leaves=leaves,
                    bytes=held,
                    bars=_bars(problem, s, e, max(highest, 1.0)),
                    what=f"{said}: the policy says so",
                )
            ]
        texts = self._texts()
        pieces: list[tuple[int, int, int, int, float]] = []  # start, end, slot, option, cost
        for g in (np.flatnonzero(self.solved.group[gs:ge, 0]) + gs).tolist():
            option = int(self.solved.group_option[g, 0])
            pieces.append(
                (
                    int(problem.groups.start[g]),
                    int(problem.groups.end[g]),
                    int(problem.groups.slot[g]),
                    option,
                    self._cost(g, option),
                )
            )
        for u in (np.flatnonzero(self.solved.single[s:e, 0]) + s).tolist():
            option = int(self.solved.single_option[u, 0])
            comps = problem.singles.comps[option]
            assert comps is not None
            pieces.append((u, u + 1, 0, option, float(comps[u] @ self.price)))
        pieces.sort()
        chosen = {a: (b, cost) for a, b, _, _, cost in pieces}
        found: list[Row] = []
        open_: list[int] = []
        last = ""

        def flush() -> None:
            if open_:
                a, b = open_[0], open_[-1] + 1
                found.append(self._row(a, b, texts, highest, last))
                open_.clear()

        for a, b, slot, option, cost in pieces:
            if b - a == 1 and not slot:
                what = self._fate(a, option)
                if what != last or not open_ or c.set[open_[-1]] != c.set[a]:
                    flush()
                last = what
                open_.append(a)
                continue
            flush()
            last = ""
            target = TARGETS[option]
            what = f"merge into one {self._slot_name(slot)}" + (
                f" as {target.value}" if target else ""
            )
            saved = self._alone(a, b) - cost
            finer = (
                f"apart they would cost {saved:,.0f} points more"
                if saved >= 0
                else (
                    "alone this table would leave them apart; under the limits the sum over all"
                    " tables is less so"
                )
            )
            row = self._row(a, b, texts, highest, what)
            found.append(
                Row(
                    where=row.where,
                    units=row.units,
                    leaves=row.leaves,
                    bytes=row.bytes,
                    bars=row.bars,
                    what=what,
                    coarser=self._coarser(a, b, slot, chosen),
                    finer=finer,
                )
            )
        flush()
        return found

    def _row(self, a: int, b: int, texts: list[str], highest: float, what: str) -> Row:
        c = self.problem.chunk
        s = self.units[0]
        return Row(
            where=printable(_where(self.root, self.problem, texts[a - s : b - s], a, b)),
            units=b - a,
            leaves=int(c.leaves[a:b].sum()),
            bytes=float(c.bytes[a:b].sum()),
            bars=_bars(self.problem, a, b, max(highest, 1.0)),
            what=what,
        )

    def _texts(self) -> list[str]:
        s, e = self.units
        names = {
            r["oid"]: r["partition_name"] or r["name"]
            for r in self.planned.reader.snapshot.rows(
                "SELECT oid, name, partition_name FROM relation WHERE root = ?", [self.root.oid]
            )
        }
        return [names.get(o, "?") for o in self.problem.chunk.oid[s:e].tolist()]

    def _fate(self, u: int, option: int) -> str:
        c = self.problem.chunk
        if option == DROP:
            return "drop: empty"
        if option != KEEP:
            target = TARGETS[option]
            return f"convert to {target.value if target else ''}"
        why = KeepReason(int(c.why[u]))
        if why is not KeepReason.FREE:
            reason = (
                self.planned.reader.bounds.reason(self.root.family, int(c.code[u]))
                if why is KeepReason.UNPARSED
                else ""
            )
            return f"stays: {self.root.reason or WHY_TEXT[why]}" + (
                f" ({reason})" if reason else ""
            )
        wished = self.root.wishes.storage
        if wished in TARGETS and any(
            c.classes[k].storage != wished for k in c.leaf_class[c.leaf_unit == u].tolist()
        ):
            option = TARGETS.index(Storage(wished))
            if not self.problem.singles.allowed[option][u]:
                return (
                    f"stays: it cannot be stored as {wished}: the server has no such storage, or a"
                    " unique index does not allow it"
                )
            return f"stays: the limits leave no room to store it as {wished}"
        gs, ge = self.groups
        near = [
            g
            for g in range(gs, ge)
            if self.problem.groups.start[g] <= u < self.problem.groups.end[g]
        ]
        if not near:
            wide = dict(self.root.wishes.grains)
            if self.root.calendar and not wide:
                return "stays: the policy names no grain"
            return (
                "stays: no cell of the grid that is cold and within max_leaf holds it and a"
                " neighbour"
            )
        return "stays: merging it would cost more than it gives back, or than the limits leave"
