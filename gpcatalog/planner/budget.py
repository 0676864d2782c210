"""Choose one point of the curve of every table under common limits, with the distance to the
best possible choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# maximum number of nodes of the exact search; if the search is completed with fewer, the choice is
# optimal among the points
NODES = 20_000
_EPS = 1e-9


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One point for every table.

    choice:      [table] number of its point
    multipliers: [limit] price of one unit of each limited resource, in points
    cost:        points of the choice
    bound:       lower bound of the cost of all choices among the points (Lagrangian dual)
    exact:       whether the search was completed: the choice is the cheapest among the points
    use:         [limit] use of each limited resource
    """

    choice: Ints
    multipliers: Floats
    cost: float
    bound: float
    exact: bool
    use: Floats

    @property
    def gap(self) -> float:
        """Distance to the bound as a share of the cost; 0 if the cost is 0."""
        return 0.0 if abs(self.cost) < _EPS else max(0.0, self.cost - self.bound) / abs(self.cost)


class Infeasible(ValueError):
    """No choice keeps the limits.

    alone: numbers of the limits that cannot be kept even alone; empty if only several limits
           together cannot be kept
    least: [limit] minimum use of each over all choices
    """

    def __init__(self, alone: list[int], least: Floats) -> None:
        super().__init__("no plan keeps the limits")
        self.alone = alone
        self.least = least


def dual(cost: Floats, use: Floats, limit: Floats, multipliers: Floats) -> tuple[float, Ints]:
    """The value of the Lagrangian, and the choice that has this value.

    cost: [table, point]; use: [table, point, limit].
    """
    priced = cost + use @ multipliers
    choice = np.argmin(priced, axis=1)
    return float(priced[np.arange(len(choice)), choice].sum() - multipliers @ limit), choice


def _multipliers(cost: Floats, use: Floats, limit: Floats) -> Floats:
    """Multipliers that (nearly) maximize the dual: each coordinate in turn by bisection, which
    is exact for one limit.
    """
    k = len(limit)
    mu = np.zeros(k)
    tables = np.arange(len(cost))
    spread = float(cost.max() - cost.min()) + 1.0
    best, kept = -np.inf, mu.copy()
    for _ in range(1 if k == 1 else 25):
        before = mu.copy()
        for j in range(k):
            others = cost + use @ np.where(np.arange(k) == j, 0.0, mu)

            def used(m: float, others: Floats = others, j: int = j) -> float:
                picked = np.argmin(others + m * use[:, :, j], axis=1)
                return float(use[tables, picked, j].sum())

            if used(0.0) <= limit[j] + _EPS:
                mu[j] = 0.0
                continue
            low, high = 0.0, spread / max(1.0, abs(float(limit[j])), 1.0)
            for _ in range(200):
                if used(high) <= limit[j] + _EPS or high > 1e18:
                    break
                low, high = high, high * 4
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (low, middle) if used(middle) <= limit[j] + _EPS else (middle, high)
            mu[j] = high
        value, _ = dual(cost, use, limit, mu)
        if value > best:
            best, kept = value, mu.copy()
        if np.allclose(mu, before, rtol=1e-6, atol=1e-15):
            break
    if k > 1:
        kept = _polyak(cost, use, limit, kept)
    return kept


def _polyak(cost: Floats, use: Floats, limit: Floats, mu: Floats) -> Floats:
    """Perform a few subgradient steps from the result of the bisections, which can stall if
    there are several limits.
    """
    tables = np.arange(len(cost))
    scale = np.maximum(np.abs(limit), 1.0)
    best, kept = dual(cost, use, limit, mu)[0], mu
    step = 0.05 * (abs(best) + 1.0)
    for _ in range(120):
        value, choice = dual(cost, use, limit, mu)
        if value > best:
            best, kept = value, mu
        else:
            step *= 0.93
        over = (use[tables, choice].sum(axis=0) - limit) / scale
        norm = float(over @ over)
        if norm < 1e-18:
            break
        mu = np.maximum(0.0, mu + step * over / norm / scale)
    return kept


def _violation(use: Floats, limit: Floats) -> Floats:
    scale = np.maximum(np.abs(limit), 1.0)
    return np.asarray((np.maximum(0.0, use - limit - _EPS * scale) / scale).sum(axis=-1))


def _repair(cost: Floats, use: Floats, limit: Floats, choice: Ints) -> Ints | None:
    """Change points until the limits are kept, those with the most relief for the least loss
    first; None if no change helps.
    """
    choice = choice.copy()
    tables = np.arange(len(cost))
    total = use[tables, choice].sum(axis=0)
    for _ in range(20 * len(cost) + 100):
        now = float(_violation(total, limit))
        if now == 0:
            return choice
        after = _violation(total - use[tables, choice][:, None, :] + use, limit)
        relief = now - after
        loss = cost - cost[tables, choice][:, None]
        worth = np.where(relief > 1e-15, relief / np.maximum(loss, 1e-12), -1.0)
        t, p = np.unravel_index(int(np.argmax(worth)), worth.shape)
        if worth[t, p] <= 0:
            return None
        total = total - use[t, choice[t]] + use[t, p]
        choice[t] = p
    return None


def _improve(cost: Floats, use: Floats, limit: Floats, choice: Ints) -> Ints:
    """Change one table's point at a time while this reduces the cost and the limits are kept."""
    choice = choice.copy()
    tables = np.arange(len(cost))
    total = use[tables, choice].sum(axis=0)
    for _ in range(20 * len(cost) + 100):
        fits = _violation(total - use[tables, choice][:, None, :] + use, limit) == 0
        gain = np.where(fits, cost[tables, choice][:, None] - cost, 0.0)
        t, p = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[t, p] <= _EPS:
            break
        total = total - use[t, choice[t]] + use[t, p]
        choice[t] = p
    return choice


def _search(
    cost: Floats, use: Floats, limit: Floats, mu: Floats, best: Ints | None, nodes: int
) -> tuple[Ints | None, bool]:
    """Search all choices that the bound does not rule out. This is exact.

    Returns the cheapest choice and whether the search was completed.
    """
    tables = np.arange(len(cost))
    bound, start = dual(cost, use, limit, mu)
    priced = cost + use @ mu
    # cost of a point above the cheapest point of its table, at these multipliers: choices with a
    # sum above the gap cannot be optimal
    excess = priced - priced[tables, start][:, None]
    cheapest = float(cost[tables, best].sum()) if best is not None else np.inf
    open_points = [
        np.flatnonzero(excess[t] < cheapest - bound - _EPS).tolist() or [int(start[t])]
        for t in range(len(cost))
    ]
    order = sorted(range(len(cost)), key=lambda t: -len(open_points[t]))
    least = np.zeros((len(order) + 1, len(limit)))
    for i in range(len(order) - 1, -1, -1):
        least[i] = least[i + 1] + use[order[i]][open_points[order[i]]].min(axis=0)
    slack = _EPS * np.maximum(np.abs(limit), 1.0)
    found = best
    visited = 0
    picked = [0] * len(order)

    def descend(i: int, over: float, used: Floats) -> bool:
        nonlocal cheapest, found, visited
        visited += 1
        if visited > nodes:
            return False
        if i == len(order):
            choice = np.array(
                [p for _, p in sorted(zip(order, picked, strict=True))], dtype=np.int64
            )
            total = float(cost[tables, choice].sum())
            if total < cheapest - _EPS:
                cheapest, found = total, choice
            return True
        t = order[i]
        for p in sorted(open_points[t], key=lambda p: excess[t, p]):
            if over + excess[t, p] >= cheapest - bound - _EPS:
                break
            then = used + use[t, p]
            if np.any(then + least[i + 1] > limit + slack):
                continue
            picked[i] = p
            if not descend(i + 1, over + float(excess[t, p]), then):
                return False
        return True

    if len(order) > 900:  # deeper than Python's stack; the gap is reported
        return found, False
    ended = descend(0, 0.0, np.zeros(len(limit)))
    return found, ended


def choose(cost: Floats, use: Floats, limit: Floats, *, nodes: int = NODES) -> Selection:
    """Choose the cheapest points, one for every table, for which the sums of `use` keep the limits.

    cost: [table, point] points; use: [table, point, limit]; limit: [limit]
    Lagrangian relaxation, repair, then an exact search of the choices that its bound does not rule
    out. Raises Infeasible.
    """
    tables = np.arange(len(cost))
    if not len(limit):
        choice = np.argmin(cost, axis=1) if len(cost) else np.zeros(0, np.int64)
        total = float(cost[tables, choice].sum())
        return Selection(
            choice=choice,
            multipliers=np.zeros(0),
            cost=total,
            bound=total,
            exact=True,
            use=np.zeros(0),
        )
    least = use.min(axis=1).sum(axis=0) if len(cost) else np.zeros(len(limit))
    alone = [
        j for j in range(len(limit)) if least[j] > limit[j] + _EPS * max(1.0, abs(float(limit[j])))
    ]
    if alone:
        raise Infeasible(alone, least)
    mu = _multipliers(cost, use, limit) if len(cost) else np.zeros(len(limit))
    bound, relaxed = dual(cost, use, limit, mu)
    best: Ints | None = None
    for begin in (relaxed, np.argmin(cost, axis=1), np.argmin(use.sum(axis=2), axis=1)):
        fixed = _repair(cost, use, limit, begin)
        if fixed is not None:
            fixed = _improve(cost, use, limit, fixed)
            if best is None or cost[tables, fixed].sum() < cost[tables, best].sum():
                best = fixed
    best, ended = _search(cost, use, limit, mu, best, nodes)
    if best is None:
        raise Infeasible([], least)
    total = float(cost[tables, best].sum())
    return Selection(
        choice=best,
        multipliers=mu,
        cost=total,
        bound=total if ended else min(bound, total),
        exact=ended,
        use=use[tables, best].sum(axis=0),
    )
