"""Trade-off curves: what every table can gain at which cost, and the choice for all tables
under the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpcatalog.planner import budget, frontier
from gpcatalog.planner.costs import KEEP
from gpcatalog.planner.group import Problem, Solution, prepare, solve
from gpcatalog.planner.policy import Weights
from gpcatalog.planner.resources import FILES, LEAVES, RESOURCES, REWRITE, SECONDS, prices
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.sets.keep_reasons import KeepReason
from gpcatalog.planner.sets.reader import KEPT, Reader

Floats = npt.NDArray[np.float64]

# Factors for the price of the gain: with 0, nothing changes; with the last one, only the gain
# counts.
GAINS = (0.0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 8.0, 64.0, 1e6)
ROUNDS = 8  # maximum rounds of column generation, if the problems fit in memory
NEAR = 1e-5  # share of the cost: if the distance to the bound is smaller, no more points are added
WAYS = {"leaves": LEAVES, "files": FILES, "rewrite": REWRITE, "seconds": SECONDS}


@dataclass(kw_only=True)
class Curves:
    """Points of all tables.

    columns: [resource, point] the prices for which each point is optimal
    totals:  [table, resource, point], tables in the reader's order
    problems: the problems if they fit in memory, otherwise None
    before:  [table, resource] resources without any change
    stays:   [table, KeepReason] number of leaves that are not changed, by reason
    picks:   by (table, point): the groups of points that were enumerated, and therefore have no
             prices
    fixed:   by table: its resources for all prices, if one operation changes it as a whole
    """

    columns: Floats
    totals: Floats
    problems: list[Problem] | None
    before: Floats
    stays: npt.NDArray[np.int64]
    picks: dict[tuple[int, int], tuple[frontier.Pick, ...]]
    fixed: dict[int, Floats] = field(default_factory=dict)

    def fix(self, sums: dict[int, Floats]) -> None:
        """Set the resources of tables that have no choice from now on."""
        self.fixed = sums
        for root, one in sums.items():
            self.totals[root] = one[:, None]

    def settle(self, problem: Problem, solved: Solution, choice: npt.NDArray[np.int64]) -> Solution:
        """The solution of one problem, with the groups of chosen points that were enumerated,
        not priced.
        """
        for place, root in enumerate(problem.roots.tolist()):
            picks = self.picks.get((root, int(choice[root])))
            if picks is not None:
                frontier.apply(solved, problem, place, picks)
        return solved


@dataclass(kw_only=True)
class Outcome:
    """The chosen points.

    choice:  [table] number of the column of prices
    cost:    points; bound: lower bound of the cost under the limits (of all groupings if
             `true_bound`, otherwise of the points of the curves); gap: their distance as a share of
             the cost
    exact:   whether the choice is the cheapest among the points
    """

    choice: npt.NDArray[np.int64]
    cost: float
    bound: float
    true_bound: bool
    exact: bool
    multipliers: Floats

    @property
    def gap(self) -> float:
        """Share of the cost by which the choice may be worse than the optimum."""
        return 0.0 if abs(self.cost) < 1e-9 else max(0.0, self.cost - self.bound) / abs(self.cost)


def sweep(weights: Weights, *, targets: bool) -> Floats:
    """The columns of prices for which every table is solved.

    Without targets, the price of a point is 1, and the sweep shows the results of other
    preferences. With targets, rows and files also have separate prices, because a conversion saves
    files, and a merge saves both.
    """
    found = [prices(weights, gain) for gain in GAINS]
    if targets:
        found += [prices(weights, gain, rows=0.0, files=1.0) for gain in GAINS[2:-1:2]]
        for press in (1.0, 10.0, 100.0, 1e6):
            column = prices(weights, 0.0)
            column[LEAVES] = press
            found.append(column)
    return np.stack(found, axis=1)


BETWEEN = 24  # additional points of the whole curve, between those for which every table was solved


def curve_over_tables(curves: Curves, weights: Weights) -> list[tuple[float, Floats]]:
    """The curve over all tables: factor for the price of the gain, and the sums of all resources,
    lowest factor first.

    Each table gets the point that costs least at this factor, among the points for which it was
    solved. Between the factors for which tables were solved, the factors at which changes of tables
    begin to pay are added, so the curve bends at the right places.
    """
    totals = curves.totals[:, :, : len(GAINS)]
    one, nothing = prices(weights, 1.0), prices(weights, 0.0)
    full, idle = totals[:, :, GAINS.index(1.0)], totals[:, :, 0]
    # points that all steps of a table cost, and points that they save
    price = (full - idle) @ nothing
    saved = (idle - full) @ (one - nothing)
    worthwhile_gains = (price / np.maximum(saved, 1e-9))[(saved > 1e-9) & (price > 0)]
    more = (
        np.quantile(worthwhile_gains, np.linspace(0, 1, BETWEEN)) * (1 + 1e-9)
        if len(worthwhile_gains)
        else np.zeros(0)
    )
    found = []
    rows = np.arange(len(totals))
    for gain in sorted({*GAINS, *more.tolist()}):
        choice = np.argmin(np.einsum("trp,r->tp", totals, prices(weights, gain)), axis=1)
        found.append((gain, totals[rows, :, choice].sum(axis=0)))
    return found


def _prefetched(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The same chunks; each is read while the previous one is processed."""
    with ThreadPoolExecutor(1) as reading:
        following = reading.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = reading.submit(next, chunks, None)
            yield chunk


def build(
    reader: Reader,
    *,
    rate: float,
    headroom: float | None,
    lock_limit: float | None,
    targets: bool,
    progress: Callable[[str], None],
) -> Curves:
    """Solve every table for every column of prices, one chunk at a time."""
    columns = sweep(reader.policy.weights, targets=targets)
    keep = sum(r.leaves for r in reader.roots) <= KEPT
    problems: list[Problem] = []
    parts: list[Floats] = []
    before = np.zeros((len(reader.roots), len(RESOURCES)))
    stays = np.zeros((len(reader.roots), len(KeepReason)), dtype=np.int64)
    done = 0
    for chunk in _prefetched(reader.chunks()):
        problem = prepare(
            chunk,
            now=reader.now,
            column_share=reader.policy.workload.column_share,
            rate=rate,
            headroom=headroom,
            lock_limit=lock_limit,
        )
        parts.append(solve(problem, columns).totals)
        stay = problem.singles.comps[KEEP]
        assert stay is not None
        np.add.at(before, chunk.root, stay)
        kept = ~chunk.droppable
        np.add.at(stays, (chunk.root[kept], chunk.why[kept].astype(np.int64)), chunk.leaves[kept])
        if keep:
            problems.append(problem)
        done += len(chunk.roots)
        progress(f"planned {done} of {len(reader.roots)} tables")
    totals = np.concatenate(parts) if parts else np.zeros((0, len(RESOURCES), columns.shape[1]))
    return Curves(
        columns=columns,
        totals=totals,
        problems=problems if keep else None,
        before=before,
        stays=stays,
        picks={},
    )


def _enumerate(curves: Curves, objective: Floats, ways: list[int]) -> bool:
    """Add all undominated groupings of small tables as points.

    Returns whether this includes all tables that have a choice.
    """
    if curves.problems is None or len(curves.totals) > frontier.TABLES:
        return False
    directions = np.stack([objective, *(np.eye(len(RESOURCES))[way] for way in ways)], axis=1)
    found: dict[int, list[frontier.Grouping]] = {}
    complete = True
    for problem in curves.problems:
        for place, root in enumerate(problem.roots.tolist()):
            if root in curves.fixed:
                continue
            some = frontier.ways(problem, place, directions)
            if some is None:
                complete = False
            else:
                found[root] = some
    most = max((len(w) for w in found.values()), default=0)
    points = curves.totals.shape[2]
    # tables with fewer groupings repeat their first point
    more = np.repeat(curves.totals[:, :, :1], most, axis=2)
    for root, some in found.items():
        for n, way in enumerate(some):
            more[root, :, n] = way.totals
            curves.picks[root, points + n] = way.picks
    curves.totals = np.concatenate([curves.totals, more], axis=2)
    # they have no prices of their own: for explanations, they get the last ones, which include the
    # multipliers
    curves.columns = np.concatenate(
        [curves.columns, np.repeat(curves.columns[:, -1:], most, axis=1)], axis=1
    )
    return complete


def decide(curves: Curves, objective: Floats, limits: dict[str, float]) -> Outcome:
    """Choose one point for every table: the cheapest by `objective` (prices) that keeps the limits.

    limits: "leaves", "files", "rewrite", "seconds" → maximum sum over the tables. Raises
            budget.Infeasible.
    If the problems are in memory, new points are added at the multipliers found, until the bound
    over all groupings is reached.
    """
    names = list(limits)
    ways = [WAYS[n] for n in names]
    limit = np.array([limits[n] for n in names])

    def master(nodes: int) -> budget.Selection:
        cost = np.einsum("trp,r->tp", curves.totals, objective)
        use = curves.totals[:, ways, :].transpose(0, 2, 1) if ways else np.zeros((*cost.shape, 0))
        return budget.choose(cost, use, limit, nodes=nodes)

    best_bound = -np.inf
    for attempt in range(ROUNDS if names and curves.problems else 0):
        upper: float | None = None
        try:
            chosen = master(0)
            multipliers, upper = chosen.multipliers, chosen.cost
        except budget.Infeasible as e:
            # use high prices for limited resources: other points may keep the limits
            if attempt > 1 or (attempt and e.alone):
                raise
            multipliers = 1e9 / np.maximum(np.abs(limit), 1.0)
        price = objective.copy()
        for way, m in zip(ways, multipliers.tolist(), strict=True):
            price[way] += m
        solutions = np.concatenate([solve(p, price[:, None]).totals for p in curves.problems or ()])
        for root, one in curves.fixed.items():
            solutions[root] = one[:, None]
        best_bound = max(
            best_bound, float(np.einsum("trp,r->", solutions, price)) - float(multipliers @ limit)
        )
        known = np.abs(curves.totals - solutions).max(axis=1).min(axis=1)
        curves.columns = np.concatenate([curves.columns, price[:, None]], axis=1)
        curves.totals = np.concatenate([curves.totals, solutions], axis=2)
        if upper is not None and (
            upper - best_bound <= NEAR * max(1.0, abs(upper)) or not (known > 1e-6).any()
        ):
            break
    complete = bool(names) and _enumerate(curves, objective, ways)
    # with many tables, one table has little effect: the gap is small, and reported
    chosen = master(budget.NODES if len(curves.totals) <= frontier.TABLES else budget.NODES // 20)
    true_bound = not names or best_bound > -np.inf
    bound = (
        chosen.cost if not names else min(best_bound, chosen.cost) if true_bound else chosen.bound
    )
    if complete and chosen.exact:  # all undominated groupings were among the points
        true_bound, bound = True, chosen.cost
    return Outcome(
        choice=chosen.choice,
        cost=chosen.cost,
        bound=bound,
        true_bound=true_bound,
        exact=chosen.exact,
        multipliers=chosen.multipliers,
    )
