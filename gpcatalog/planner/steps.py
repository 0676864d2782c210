"""Convert the chosen groups of one table to the steps of its plan, with names, bounds and
everything that a migration needs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpcatalog.capacity.cost import relation_cost
from gpcatalog.model.bounds import Bound, Family, joined_list, merged_text
from gpcatalog.model.names import qualified, relation_name
from gpcatalog.model.storage import Storage
from gpcatalog.planner import grid
from gpcatalog.planner.costs import KEEP, TARGETS, LeafClass, Table, counted, shape_of
from gpcatalog.planner.group import Problem, Solution
from gpcatalog.planner.operations import (
    AnyStep,
    Convert,
    DropEmpty,
    End,
    Gain,
    Leaf,
    Merge,
    NewLeaf,
    Price,
    Unit,
    step_id,
)
from gpcatalog.planner.options import DROP, Options
from gpcatalog.planner.relations import Relation, fingerprint
from gpcatalog.planner.resources import CATALOG, FILES, LEAVES, ROWS, SCAN, SECONDS
from gpcatalog.planner.sets.arrays import Floats
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.storage_options import option_pairs, target_options


class StepBuilder:
    """Builder of the steps of one table."""

    def __init__(self, reader: Reader, root: Root, problem: Problem, rows: list[Relation]) -> None:
        self.reader = reader
        self.root = root
        self.problem = problem
        self.chunk = problem.chunk
        self.classic = bool(reader.generation.rule_catalogs)
        self.table = qualified(root.schema, root.name)
        self.relation: dict[int, Relation] = {r.oid: r for r in rows}
        self.fingerprint = fingerprint(root.oid, rows)
        self.used_names = {r.name for r in rows if r.schema == root.schema}
        self.partitions = {r.partition_name for r in rows if r.partition_name}
        self.number_of = Counter(r.parent for r in rows)  # number of partitions by parent
        self.with_default = {r.parent for r in rows if r.is_default}
        self.between: dict[int, list[int]] = {}  # intermediates by parent
        for r in rows:
            if r.kind == "intermediate":
                self.between.setdefault(r.parent, []).append(r.oid)
        self._ends = reader.ends(root.family)
        self._counted: dict[tuple[int, int, bool], float] = {}
        self._above: dict[LeafClass, float] = {}

    def bound(self, oid: int) -> Bound:
        """The parsed bound of a relation."""
        return self._ends.bound(self.relation[oid].bound)

    def ends(self, first: int, last: int) -> tuple[End | None, End | None]:
        """Typed ends from the start of one unit to the end of another; None for lists."""
        return self._ends.of(self.relation[first].bound, self.relation[last].bound)

    def unit(self, oid: int) -> Unit:
        """Return a partition of the planned level as it is in a step."""
        r = self.relation[oid]
        return Unit(oid, r.name, r.partition_name, r.bound, *self._ends.of(r.bound, r.bound))

    def leaf(self, oid: int, unit: int, lane: int) -> Leaf:
        """Return a leaf as it is in a step; unit, lane: numbers within the step."""
        r = self.relation[oid]
        return Leaf(
            oid=oid,
            name=r.name,
            schema=r.schema,
            partition=r.partition_name,
            bound=r.bound,
            unit=unit,
            lane=lane,
            storage=r.storage,
            options=r.options,
            tablespace=r.tablespace,
            rows=r.tuples,
            bytes=r.bytes,
            segment_bytes=r.max_segment_bytes,
            filled=r.filled,
        )

    def lanes(self, start: int, end: int) -> list[list[int]]:
        """OIDs of the leaves of units start…end of one run, by lane, in the order of the units."""
        c = self.chunk
        run = int(c.run[start])
        first, length, count = int(c.run_unit[run]), int(c.run_length[run]), int(c.run_lanes[run])
        at = int(c.run_leaf[run])
        return [
            c.leaf_oid[at + n * length + start - first : at + n * length + end - first].tolist()
            for n in range(count)
        ]

    def path(self, leaf: int, unit: int) -> list[Relation]:
        """Relations from just below the unit down to the leaf."""
        found: list[Relation] = []
        at = self.relation[leaf]
        while at.oid != unit:
            found.append(at)
            at = self.relation[at.parent]
        return found[::-1]

    def new_leaves(
        self, lanes: list[list[int]], unit: int, name: str, partition: str, option: int
    ) -> tuple[NewLeaf, ...]:
        """The leaves of a merged or converted unit, one per lane."""
        found = []
        for lane in lanes:
            like = self.relation[lane[-1]]
            target = TARGETS[option]
            storage = Storage(like.storage) if target is None else target
            options = option_pairs(like.options)
            if target is not None and target != like.storage:
                options = target_options(like.options, storage, classic=self.classic)
            path = self.path(lane[-1], unit)
            new, label = name, partition
            for step in path:
                above = self.relation[step.parent].name
                own = step.partition_name or step.name.rpartition("_prt_")[2]
                # its name below the new parent is the same as below the old one
                if not self.classic:
                    own = (
                        step.name[len(above) :].removeprefix("_")
                        if step.name.startswith(above)
                        else step.name
                    )
                label = step.partition_name
                new = relation_name(
                    new, step.level, own or "part", classic=self.classic, used_names=self.used_names
                )
            if path:
                self.used_names.add(new)
            size, segment = (
                _sum(self.relation[o].bytes for o in lane),
                _sum(self.relation[o].max_segment_bytes for o in lane),
            )
            found.append(
                NewLeaf(
                    name=new,
                    partition=label,
                    bound=path[-1].bound if path else "",
                    path=tuple(p.partition_name or p.bound for p in path),
                    storage=storage.value,
                    options=options,
                    tablespace=like.tablespace,
                    bytes=size,
                    segment_bytes=segment,
                    like=lane[-1],
                )
            )
        return tuple(found)

    def gain(self, before: Any, after: Any, rows_coordinator: int) -> Gain:
        """Return what a step saves, from resources before and after."""
        return Gain(
            round(float(before[LEAVES] - after[LEAVES])),
            round(float(before[ROWS] - after[ROWS])),
            rows_coordinator,
            round(float(before[FILES] - after[FILES])),
            round(float(before[CATALOG] - after[CATALOG])),
        )

    def coordinator_rows(
        self, table: Table, leaves: Sequence[int], after: Sequence[int], option: int
    ) -> int:
        """Catalog rows saved on the coordinator: those of all `leaves` before, minus those of
        one leaf like each in `after` afterwards (positions).
        """
        classes = self.chunk.leaf_class

        def rows(klass: int, target: int, rewritten: bool) -> float:
            found = self._counted.get((klass, target, rewritten))
            if found is None:
                line = ((table.rewritten or table) if rewritten else table).costs[klass]
                cost = line[target] or line[KEEP]
                found = self._counted[klass, target, rewritten] = (
                    counted(cost.coordinator) if cost else 0.0
                )
            return found

        before = sum(n * rows(k, KEEP, False) for k, n in Counter(classes[leaves].tolist()).items())
        return round(
            before
            - sum(n * rows(k, option, True) for k, n in Counter(classes[after].tolist()).items())
        )

    def rows_above(self, units: Sequence[int]) -> int:
        """Catalog rows on the coordinator of intermediate partitions: those among these units,
        and those between the units and their leaves.
        """
        found, to_do = 0.0, list(units)
        while to_do:
            r = self.relation[to_do.pop()]
            if r.kind != "intermediate":
                continue
            to_do += self.between.get(r.oid, [])
            bounds, at = 0, r
            while at.parent in self.relation:
                bounds += not at.is_default
                at = self.relation[at.parent]
            one = LeafClass(
                storage=Storage(r.storage)
                if r.storage in self.reader.generation.storages
                else Storage.HEAP,
                columns=r.columns,
                toast=r.toast,
                indexes=r.indexes,
                index_columns=r.index_columns,
                owner=r.owner,
                tablespace=0,
                options="",
                persistence="",
                bounds=bounds,
                leaf=False,
                root=-1,
            )
            if one not in self._above:
                shape = shape_of(self.reader.generation, one, self.reader.shapes[self.root.index])
                self._above[one] = (
                    counted(relation_cost(self.reader.generation, shape).coordinator)
                    if shape
                    else 0.0
                )
            found += self._above[one]
        return round(found)

    def positions(self, start: int, end: int) -> list[list[int]]:
        """Positions in the chunk's leaf arrays, by lane."""
        c = self.chunk
        run = int(c.run[start])
        first, length, count = int(c.run_unit[run]), int(c.run_length[run]), int(c.run_lanes[run])
        at = int(c.run_leaf[run])
        return [
            list(range(at + n * length + start - first, at + n * length + end - first))
            for n in range(count)
        ]

    def locks(self, start: int, end: int, new_leaves: int) -> Floats:
        """Locks of the step that replaces the units start…end, as an array of one number."""
        ends = np.array([start]), np.array([end])
        return self.problem.locks.replacing(*ends, np.array([new_leaves]))

    def price(self, comps: Any, leaves: list[int], locks: Floats, *, copied: bool) -> Price:
        """Return the costs of a step; copied: whether the rows of the leaves are copied."""
        rows = [self.relation[o] for o in leaves]
        unknown = any(r.bytes is None and r.filled is not False for r in rows)
        size = None if unknown else sum(r.bytes or 0 for r in rows)
        segment = None if unknown else sum(r.max_segment_bytes or 0 for r in rows)
        return Price(
            size if copied else 0,
            segment if copied else 0,
            round(float(comps[SECONDS]), 3),
            round(float(locks.sum())),
            round(float(comps[SCAN]), 1),
        )

    def rests(self, *more: str, parent: int = 0) -> tuple[str, ...]:
        """Conditions of a step; with `parent`, also that a default partition next to the merged
        one contains none of its rows.
        """
        facts = self.root.facts
        found = list(more)
        if parent and parent in self.with_default:
            found.append("the default partition contains no rows of the new range")
        if "grants of leaves" in facts:
            found.append(
                f"grants of {facts['grants of leaves'][0][1]} of its partitions differ from those"
                " of the table"
            )
        if "comments of leaves" in facts:
            found.append(f"{facts['comments of leaves'][0][1]} of its partitions have comments")
        return tuple(found)

    def new_partition(self, slot: int, start: int, first: Bound) -> str:
        """Name of a merged partition: the calendar's name of its cell, or the number at which
        it begins.
        """
        if self.root.lists:
            stem = "g_" + re.sub(r"\W+", "_", first.values[0].value if first.values else "")[:20]
        elif self.root.calendar:
            stem = grid.label(grid.Grain(slot), int(self.chunk.cal_low[start]))
        else:
            low = self.root.family.number(abs(int(self.chunk.cal_low[start]))).replace(".", "_")
            stem = f"n{low}" if self.chunk.cal_low[start] >= 0 else f"m{low}"
        stem = f"p{stem}"
        name, n = stem, 1
        while name in self.partitions:
            n += 1
            name = f"{stem}_{n}"
        self.partitions.add(name)
        return name

    def grain(self, slot: int) -> str:
        """Return the words for the width of a slot."""
        if self.root.lists:
            return f"{self.root.widths[slot - 1]} values"
        return (
            grid.Grain(slot).word
            if self.root.calendar
            else self.root.family.number(self.root.widths[slot - 1])
        )

    def merge(self, start: int, end: int, slot: int, option: int, comps: Any, before: Any) -> Merge:
        """Return the step that merges units start to end.

        slot: width of the cell; option: target storage; comps, before: resources after and before
        """
        units = self.chunk.oid[start:end].tolist()
        lanes, at = self.lanes(start, end), self.positions(start, end)
        first, last = self.bound(units[0]), self.bound(units[-1])
        text = (
            joined_list([self.bound(o) for o in units], classic=self.classic)
            if self.root.lists
            else merged_text(first, last, classic=self.classic)
        )
        low, high = self.ends(units[0], units[-1])
        parent = self.relation[units[0]].parent or self.root.oid
        parent_name = self.relation[parent].name if parent in self.relation else self.root.name
        partition = self.new_partition(slot, start, first)
        name = relation_name(
            parent_name,
            self.root.level,
            partition,
            classic=self.classic,
            used_names=self.used_names,
        )
        self.used_names.add(name)
        new = self.new_leaves(lanes, units[-1], name, partition, option)
        number = {o: n for n, o in enumerate(units)}
        of = self.chunk.leaf_unit
        leaves = tuple(
            self.leaf(o, number[int(self.chunk.oid[int(of[p])])], n)
            for n, (lane, places) in enumerate(zip(lanes, at, strict=True))
            for o, p in zip(lane, places, strict=True)
        )
        target = TARGETS[option]
        every = [o for lane in lanes for o in lane]
        fewer = self.coordinator_rows(
            self.chunk.table, [p for lane in at for p in lane], [lane[-1] for lane in at], option
        )
        fewer += self.rows_above(units[:-1])
        stored = f", stored as {target.value}" if target else ""
        return Merge(
            id=step_id(
                "merge", self.table, text, target.value if target else "", *(str(parent_name),)
            ),
            explanation=f"{len(units)} partitions become one {self.grain(slot)}{stored}",
            gain=self.gain(before, comps, fewer),
            cost=self.price(comps, every, self.locks(start, end, len(lanes)), copied=True),
            rests_on=self.rests(
                "the rows of the leaves do not change until the swap", parent=parent
            ),
            whole=len(units) == self.number_of[parent],
            parent=parent,
            parent_name=parent_name,
            grain=self.grain(slot),
            partition=partition,
            name=name,
            bound=text,
            lower=low,
            upper=high,
            units=tuple(self.unit(o) for o in units),
            leaves=leaves,
            new=new,
        )

    def convert(self, start: int, option: int, comps: Any, before: Any) -> Convert:
        """Return the step that converts one unit to another storage; arguments as in merge."""
        oid = int(self.chunk.oid[start])
        lanes, at = self.lanes(start, start + 1), self.positions(start, start + 1)
        target = TARGETS[option]
        assert target is not None
        every = [o for lane in lanes for o in lane]
        new = tuple(
            NewLeaf(
                name=self.relation[lane[0]].name,
                partition=self.relation[lane[0]].partition_name,
                bound=self.relation[lane[0]].bound,
                path=tuple(p.partition_name or p.bound for p in self.path(lane[0], oid)),
                storage=target.value,
                options=target_options(
                    self.relation[lane[0]].options, target, classic=self.classic
                ),
                tablespace=self.relation[lane[0]].tablespace,
                bytes=self.relation[lane[0]].bytes,
                segment_bytes=self.relation[lane[0]].max_segment_bytes,
                like=lane[0],
            )
            for lane in lanes
        )
        parent = self.relation[oid].parent or self.root.oid
        fewer = self.coordinator_rows(
            self.chunk.table, [p for lane in at for p in lane], [lane[0] for lane in at], option
        )
        return Convert(
            id=step_id(
                "convert",
                self.table,
                self.relation[oid].name,
                self.relation[oid].bound,
                target.value,
            ),
            explanation=(
                f"{self.relation[every[0]].storage} becomes {target.value}:"
                f" {self._why_stored(target)}"
            ),
            gain=self.gain(before, comps, fewer),
            cost=self.price(comps, every, self.locks(start, start + 1, len(lanes)), copied=True),
            rests_on=self.rests("the rows of the leaf do not change until the swap")[:1],
            parent=parent,
            parent_name=self.relation[parent].name if parent in self.relation else self.root.name,
            units=(self.unit(oid),),
            leaves=tuple(self.leaf(o, 0, n) for n, lane in enumerate(lanes) for o in lane),
            new=new,
        )

    def _why_stored(self, target: Storage) -> str:
        if self.root.policy.storage != "auto":
            return "required by the policy"
        return {
            Storage.AO_ROW: "its column files are small",
            Storage.AO_COLUMN: (
                "its column files would be large enough, and queries read only some of its columns"
            ),
        }.get(target, "it is very small")

    def drop(self, places: list[int], comps: Any, before: Any) -> DropEmpty:
        """Return the step that drops adjacent empty units."""
        units = self.chunk.oid[places[0] : places[-1] + 1].tolist()
        lanes = [
            (n, o) for n, p in enumerate(places) for lane in self.lanes(p, p + 1) for o in lane
        ]
        spots = [x for p in places for lane in self.positions(p, p + 1) for x in lane]
        past = not self.root.calendar or int(self.chunk.cal_low[places[0]]) < self.reader.now
        names = ", ".join(str(self.relation[o].bound) for o in (units[0], units[-1]))
        basis = self.reader.snapshot.header["filled_basis"] or "nothing"
        parent = self.relation[units[0]].parent or self.root.oid
        return DropEmpty(
            id=step_id(
                "drop-empty",
                self.table,
                names,
                str(len(units)),
                *(str(self.relation[units[0]].name),),
            ),
            explanation=f"{len(lanes)} empty leaves "
            + (
                "in the past"
                if past
                else f"created more than {self.root.policy.premade_days:g} days in advance"
            ),
            gain=self.gain(
                before,
                comps,
                self.coordinator_rows(self.chunk.table, spots, [], KEEP) + self.rows_above(units),
            ),
            cost=self.price(
                comps,
                [o for _, o in lanes],
                self.problem.locks.removing(np.array(places[:1]), np.array(places[-1:]) + 1),
                copied=False,
            ),
            rests_on=(
                f"the leaves are empty (measured from {basis}; checked again under the lock)",
                (
                    "later rows of these ranges go to the default partition"
                    if parent in self.with_default
                    else "no later rows have these ranges; the server would reject them"
                ),
                *(
                    ()
                    if past
                    else (("the job that creates leaves in advance does not create these again"),)
                ),
            ),
            parent=parent,
            parent_name=self.relation[parent].name if parent in self.relation else self.root.name,
            where="past" if past else "premade",
            units=tuple(self.unit(o) for o in units),
            leaves=tuple(self.leaf(o, n, 0) for n, o in lanes),
        )

    def steps(self, solved: Solution, column: int = 0) -> list[AnyStep]:
        """Merges, conversions and drops of this table, in the order of the axis."""
        place = int(np.searchsorted(self.problem.roots, self.root.index))
        s, e = int(self.problem.unit_edges[place]), int(self.problem.unit_edges[place + 1])
        gs, ge = int(self.problem.group_edges[place]), int(self.problem.group_edges[place + 1])
        singles, groups = self.problem.singles, self.problem.groups
        stay = singles.comps[KEEP]
        assert stay is not None
        found: list[tuple[int, AnyStep]] = []
        for g in (np.flatnonzero(solved.group[gs:ge, column]) + gs).tolist():
            option = int(solved.group_option[g, column])
            a, b = int(groups.start[g]), int(groups.end[g])
            comps = _comps(groups, option)[g]
            found.append(
                (a, self.merge(a, b, int(groups.slot[g]), option, comps, stay[a:b].sum(axis=0)))
            )
        alone = (
            np.flatnonzero(solved.single[s:e, column] & (solved.single_option[s:e, column] != KEEP))
            + s
        )
        options = solved.single_option[alone, column]
        gone: list[int] = []

        def close() -> None:
            if gone:
                comps = _comps(singles, DROP)[gone].sum(axis=0)
                found.append((gone[0], self.drop(list(gone), comps, stay[gone].sum(axis=0))))
                gone.clear()

        for u, option in zip(alone.tolist(), options.tolist(), strict=True):
            if option == DROP:
                if gone and (u != gone[-1] + 1 or self.chunk.set[u] != self.chunk.set[gone[-1]]):
                    close()
                gone.append(u)
            else:
                found.append((u, self.convert(u, option, _comps(singles, option)[u], stay[u])))
        close()
        return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum; None if one of the values is unknown."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _comps(options: Options, option: int) -> Any:
    comps = options.comps[option]
    assert comps is not None
    return comps


def family_word(root: Root) -> str:
    """How values of the planned key are read, as text for people."""
    if root.lists:
        return "list values"
    if root.digits:
        return f"dates as {root.digits}-digit numbers"
    return root.family.value if root.family is not Family.OTHER else "-"
