"""Explain the plan of one table: every group leaf by leaf, and the effect of coarser or finer
groups.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gpcatalog.model.bounds import DAY, INFINITY, MINUS_INFINITY, shown_time
from gpcatalog.model.names import printable
from gpcatalog.model.quantity import count, size
from gpcatalog.model.storage import Storage
from gpcatalog.planner import grid
from gpcatalog.planner.costs import KEEP, TARGETS
from gpcatalog.planner.group import Problem, Solution, solve
from gpcatalog.planner.options import DROP
from gpcatalog.planner.planning import PlanResult
from gpcatalog.planner.resources import REWRITE, SCAN
from gpcatalog.planner.sets.ages import crosses_a_stop
from gpcatalog.planner.sets.keep_reasons import KEY_BELOW, WHY_TEXT, KeepReason
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.unchanged import first_dependent

_HEIGHTS = "▁▂▃▄▅▆▇█"
BARS = 60  # leaves of one group that are drawn; for the others, only their number is shown


@dataclass(frozen=True, kw_only=True)
class Row:
    """One group of the chosen grouping.

    where:  the range, for people; bars: one character per leaf (unit), · if empty, ? if its size is
            unknown
    what:   what happens to it; coarser, finer: why it is not coarser or finer
    """

    where: str
    units: int
    leaves: int
    bytes: float
    bars: str
    what: str
    coarser: str = ""
    finer: str = ""


class _Piece(NamedTuple):
    """One chosen group, or a single unit (slot 0): units start…end with an option, and its
    points.
    """

    start: int
    end: int
    slot: int
    option: int
    cost: float


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
        return shown_time(at) if root.calendar else root.family.number(at)

    return f"{one(low, 'start')} … {one(high, 'end')}"


class Explainer:
    """Explanation of one table of a finished plan."""

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
        s, e = self.units
        # bytes of the largest unit, which has a full bar
        self.highest = max(float(self.problem.chunk.bytes[s:e].max()) if e > s else 1.0, 1.0)
        self.groups = int(self.problem.group_edges[place]), int(self.problem.group_edges[place + 1])

    def _cost(self, group: int, option: int) -> float:
        comps = self.problem.groups.comps[option]
        assert comps is not None
        return float(comps[group] @ self.price)

    def _over_limits(self, unit: int) -> str:
        """Why the merge of a partition with a neighboring one is not possible: too many locks or too
        many bytes; "" if it is.
        """
        c = self.problem.chunk
        run = int(c.run[unit])
        first = int(c.run_unit[run])
        length = int(c.run_length[run])
        if length < 2:
            return ""
        start = np.array([min(unit, first + length - 2)])
        locks = float(self.problem.locks.replacing(start, start + 2, c.run_lanes[run])[0])
        limit, headroom = self.planned.lock_limit, self.planned.headroom
        if limit is not None and locks > limit:
            return f"a merge of two partitions needs up to {locks:,.0f} locks, the limit is {limit:,.0f}"
        copied = float(c.segment[start[0]] + c.segment[start[0] + 1])
        if headroom is not None and copied > headroom:
            return (
                f"a merge of two partitions copies {size(copied)}, the headroom is {size(headroom)}"
            )
        return ""

    def _alone(self, start: int, end: int) -> float:
        """Points of the units as single units, each with its cheapest option."""
        total = 0.0
        for u in range(start, end):
            comps = self.problem.singles.comps[int(self.solved.single_option[u, 0])]
            assert comps is not None
            total += float(comps[u] @ self.price)
        return total

    def _coarser(
        self, start: int, end: int, slot: int, chosen: dict[int, tuple[int, float]]
    ) -> str:
        """Why these units are not part of a wider group.

        chosen: end and points of every chosen group, by its start
        """
        problem = self.problem
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
            return self._dearer(g, chosen)
        if not self.root.calendar:
            return "no larger range contains only old values"
        for grain in grid.Grain:
            if int(grain) > slot and (reason := self._no_cell(start, end, grain)):
                return reason
        return "there is no larger interval"

    def _dearer(self, group: int, chosen: dict[int, tuple[int, float]]) -> str:
        """Why a wider candidate was not chosen instead of the groups in it."""
        groups = self.problem.groups
        a, b = int(groups.start[group]), int(groups.end[group])
        option = min(
            (
                o
                for o, may in enumerate(groups.allowed)
                if may[group] and groups.comps[o] is not None
            ),
            key=lambda o: self._cost(group, o),
        )
        now, at = 0.0, a
        while at < b and at in chosen:
            at, cost = chosen[at]
            now += cost
        name = self._slot_name(int(groups.slot[group]))
        comps = groups.comps[option]
        assert comps is not None
        if at == b and self._cost(group, option) < now:
            return f"one {name} would cost less, but exceeds the limits"
        if at == b:
            return (
                f"one {name} would cost {self._cost(group, option) - now:,.0f} more points"
                f" ({size(float(comps[group][REWRITE]))} rewritten,"
                f" {size(float(comps[group][SCAN]))} more read per day)"
            )
        return f"one {name} would overlap a cheaper merge"

    def _no_cell(self, start: int, end: int, grain: grid.Grain) -> str:
        """Why no cell of this grain is a candidate that contains the units; empty if the cell
        contains no other units.
        """
        root, c = self.root, self.problem.chunk
        now_at = self.planned.reader.now - root.shift
        ages = dict(root.policy.grains)
        low, high = c.cal_low[start : start + 1], c.cal_high[end - 1 : end]
        if low[0] <= MINUS_INFINITY or high[0] >= INFINITY:
            return "the range has no end"
        cell = grid.cells(grain, low)
        if grid.cells(grain, high - 1)[0] != cell[0]:
            return ""
        if int(grain) not in ages:
            return f"the policy does not allow the interval {grain.word}"
        after = int(grid.cell_ends(grain, cell)[0])
        if ages[int(grain)] and after > now_at - ages[int(grain)] * DAY:
            return f"its {grain.word} ended less than {ages[int(grain)]:g} days ago"
        if after > int(c.hot_edge[start]):
            return f"its {grain.word} contains recent partitions"
        inside = np.flatnonzero(
            (c.cal_low[self.units[0] : self.units[1]] >= grid.cell_start(grain, int(cell[0])))
            & (c.cal_high[self.units[0] : self.units[1]] <= after)
            & (c.set[self.units[0] : self.units[1]] == c.set[start])
        )
        if len(inside) == end - start:
            return ""
        total = float(c.segment[inside + self.units[0]].sum())
        if total > root.policy.max_leaf:
            return (
                f"its {grain.word} would contain {size(total)} on the fullest segment, more than"
                f" max_leaf = {size(root.policy.max_leaf)}"
            )
        return (
            f"its {grain.word} has a gap, partitions of different shape or a partition"
            " that cannot change"
        )

    def _slot_name(self, slot: int) -> str:
        if self.root.lists:
            return f"group of {self.root.widths[slot - 1]} values"
        return (
            grid.Grain(slot).word
            if self.root.calendar
            else f"range of {self.root.family.number(self.root.widths[slot - 1])}"
        )

    def rows(self) -> list[Row]:
        """The groups in the order of the axis. Neighbors with the same result and reason become
        one row.
        """
        operation = self.planned.table_operations.operations.get(self.root.index)
        if operation:
            return [self._operation_row(operation)]
        pieces = self._pieces()
        chosen = {piece.start: (piece.end, piece.cost) for piece in pieces}
        c, texts = self.problem.chunk, self._texts()
        found: list[Row] = []
        alike: list[int] = []  # adjacent single units with the same result
        result = ""

        def close() -> None:
            if alike:
                found.append(self._row(alike[0], alike[-1] + 1, texts, result))
                alike.clear()

        for piece in pieces:
            if piece.end - piece.start == 1 and not piece.slot:
                what = self._unit_result(piece.start, piece.option)
                if what != result or not alike or c.set[alike[-1]] != c.set[piece.start]:
                    close()
                result = what
                alike.append(piece.start)
                continue
            close()
            result = ""
            found.append(self._merged(piece, texts, chosen))
        close()
        return found

    def _operation_row(self, operation: str) -> Row:
        """The only row of a table that an operation changes as a whole."""
        c = self.problem.chunk
        s, e = self.units
        text = (
            "unused subpartitions are dropped" if operation == "unused_subpartitions" else operation
        )
        return Row(
            where="the whole table",
            units=e - s,
            leaves=int(c.leaves[s:e].sum()),
            bytes=float(c.bytes[s:e].sum()),
            bars=_bars(self.problem, s, e, self.highest),
            what=f"{text}, as the policy requires",
        )

    def _pieces(self) -> list[_Piece]:
        """The chosen groups and single units, in the order of the axis."""
        problem = self.problem
        s, e = self.units
        gs, ge = self.groups
        pieces = []
        for g in (np.flatnonzero(self.solved.group[gs:ge, 0]) + gs).tolist():
            option = int(self.solved.group_option[g, 0])
            pieces.append(
                _Piece(
                    int(problem.groups.start[g]),
                    int(problem.groups.end[g]),
                    int(problem.groups.slot[g]),
                    option,
                    self._cost(g, option),
                )
            )
        for u in (np.flatnonzero(self.solved.single[s:e, 0]) + s).tolist():
            option = int(self.solved.single_option[u, 0])
            pieces.append(_Piece(u, u + 1, 0, option, self._alone(u, u + 1)))
        return sorted(pieces)

    def _merged(self, piece: _Piece, texts: list[str], chosen: dict[int, tuple[int, float]]) -> Row:
        """The row of one group that becomes one partition.

        chosen: end and points of every chosen group, by its start
        """
        a, b = piece.start, piece.end
        target = TARGETS[piece.option]
        what = f"merge into one {self._slot_name(piece.slot)}" + (
            f" as {target.value}" if target else ""
        )
        saved = self._alone(a, b) - piece.cost
        finer = (
            f"separate leaves would cost {saved:,.0f} more points"
            if saved >= 0
            else (
                "separate leaves would be cheaper for this table alone, but not for all tables"
                " within the limits"
            )
        )
        return replace(
            self._row(a, b, texts, what),
            coarser=self._coarser(a, b, piece.slot, chosen),
            finer=finer,
        )

    def _row(self, a: int, b: int, texts: list[str], what: str) -> Row:
        """The row of units a…b; texts: names of the table's units; what: what happens to them."""
        c = self.problem.chunk
        s = self.units[0]
        return Row(
            where=printable(_where(self.root, self.problem, texts[a - s : b - s], a, b)),
            units=b - a,
            leaves=int(c.leaves[a:b].sum()),
            bytes=float(c.bytes[a:b].sum()),
            bars=_bars(self.problem, a, b, self.highest),
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

    @functools.cached_property
    def _relations(self) -> dict[int, tuple[int, str]]:
        """OID of the parent, and name, of each partition of the table."""
        rows = self.planned.reader.snapshot.rows(
            "SELECT oid, coalesce(parent, 0) AS parent, name FROM relation WHERE root = ?",
            [self.root.oid],
        )
        return {r["oid"]: (r["parent"], r["name"]) for r in rows if r["oid"] != self.root.oid}

    def _alike(self, u: int) -> str:
        """What the partitions of a merge have in common, for a unit without such a neighbor."""
        keys = dict(self.root.facts.get(KEY_BELOW, ()))
        if not keys:
            return "storage, indexes, owner, tablespace, options and persistence"
        own = keys.get(int(self.problem.chunk.oid[u]), "")
        return (
            "storage, indexes, owner, tablespace, options, persistence and partition keys below it"
            + (f" (its own is {printable(own)})" if own else "")
        )

    def _unit_result(self, u: int, option: int) -> str:
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
                else first_dependent(self.root, self._relations, int(c.oid[u]))
                if why is KeepReason.HAS_DEPENDENTS
                else ""
            )
            return f"not changed: {self.root.reason or WHY_TEXT[why]}" + (
                f" ({reason})" if reason else ""
            )
        policy_storage = self.root.policy.storage
        if policy_storage in TARGETS and any(
            c.classes[k].storage != policy_storage for k in c.leaf_class[c.leaf_unit == u].tolist()
        ):
            option = TARGETS.index(Storage(policy_storage))
            if not self.problem.singles.allowed[option][u]:
                return (
                    f"not changed: storage {policy_storage} is not supported by the server or by a unique"
                    " index"
                )
            return f"not changed: a conversion to {policy_storage} would exceed the limits"
        gs, ge = self.groups
        near = [
            g
            for g in range(gs, ge)
            if self.problem.groups.start[g] <= u < self.problem.groups.end[g]
        ]
        if not near and (over := self._over_limits(u)):
            return f"not changed: {over}"
        if not near:
            wide = dict(self.root.policy.grains)
            if self.root.calendar and not wide:
                return "not changed: the policy has no grains"
            if crosses_a_stop(self.root, c.cal_low[u : u + 1], c.cal_high[u : u + 1]).any():
                return "not changed: a boundary or the end of a retention unit of the policy is inside it"
            return (
                "not changed: no old interval within max_leaf contains it and a neighboring"
                f" partition with the same {self._alike(u)}"
            )
        return "not changed: a merge would cost more than it saves, or exceed the limits"
