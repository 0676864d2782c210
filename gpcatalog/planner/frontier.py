"""All undominated groupings of a small table, for an exact choice under limits: they include
points that are not optimal for any prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcatalog.planner.group import Problem, Solution

Floats = npt.NDArray[np.float64]

UNITS = 40  # maximum number of units of a table whose groupings are enumerated
TABLES = 60  # maximum number of tables of a plan whose groupings are enumerated
# maximum number of undominated groupings of consecutive units; with more, the table is not
# enumerated, and only its curve is used
CAP = 160

Pick = tuple[bool, int, int]  # whether a candidate or a single unit; its number; its option


@dataclass(frozen=True)
class Grouping:
    """One grouping: its totals and its groups."""

    totals: Floats
    picks: tuple[Pick, ...]


def _undominated(keys: Floats) -> npt.NDArray[np.int64]:
    """Rows that no other row dominates or equals in every column (the first of equal rows is
    kept).
    """
    order = np.lexsort(keys.T[::-1])
    rounded = np.round(keys[order], 9)
    found: list[int] = []
    for i in range(len(order)):
        row = rounded[i]
        if found and bool((rounded[found] <= row).all(axis=1).any()):
            continue
        found.append(i)
    return np.asarray(order[found], dtype=np.int64)


def ways(problem: Problem, table: int, directions: Floats) -> list[Grouping] | None:
    """All groupings of a table that no other one dominates in all directions; None if there are too
    many.

    table: position in the problem; directions: [resource, direction], such as the objective and
           each limited resource
    """
    s, e = int(problem.unit_edges[table]), int(problem.unit_edges[table + 1])
    if not 0 < e - s <= UNITS:
        return None
    gs, ge = int(problem.group_edges[table]), int(problem.group_edges[table + 1])
    arriving: dict[int, list[tuple[int, Pick, Floats]]] = {}
    for u in range(s, e):
        for option, (comps, allowed) in enumerate(
            zip(problem.singles.comps, problem.singles.allowed, strict=True)
        ):
            if comps is not None and allowed[u]:
                arriving.setdefault(u + 1, []).append((u, (False, u, option), comps[u]))
    for g in range(gs, ge):
        for option, (comps, allowed) in enumerate(
            zip(problem.groups.comps, problem.groups.allowed, strict=True)
        ):
            if comps is not None and allowed[g]:
                arriving.setdefault(int(problem.groups.end[g]), []).append(
                    (int(problem.groups.start[g]), (True, g, option), comps[g])
                )
    totals: dict[int, Floats] = {s: np.zeros((1, directions.shape[0]))}
    predecessors: dict[int, list[tuple[int, int, Pick]]] = {s: []}
    for u in range(s + 1, e + 1):
        sums, origin = [], []
        for start, pick, comps in arriving[u]:
            here = totals[start] + comps
            sums.append(here)
            origin += [(start, n, pick) for n in range(len(here))]
        every = np.concatenate(sums)
        kept = _undominated(every @ directions)
        if len(kept) > CAP:
            return None
        totals[u], predecessors[u] = every[kept], [origin[k] for k in kept.tolist()]
    found = []
    for n in range(len(totals[e])):
        picks: list[Pick] = []
        at, label = e, n
        while at > s:
            at, label, pick = predecessors[at][label]
            picks.append(pick)
        found.append(Grouping(totals[e][n], tuple(picks[::-1])))
    return found


def apply(solved: Solution, problem: Problem, table: int, picks: tuple[Pick, ...]) -> None:
    """Write the grouping of this table to one column of a solution."""
    s, e = int(problem.unit_edges[table]), int(problem.unit_edges[table + 1])
    gs, ge = int(problem.group_edges[table]), int(problem.group_edges[table + 1])
    solved.single[s:e, 0] = False
    solved.group[gs:ge, 0] = False
    for grouped, index, option in picks:
        marks, options = (
            (solved.group, solved.group_option)
            if grouped
            else (solved.single, solved.single_option)
        )
        marks[index, 0] = True
        options[index, 0] = option
