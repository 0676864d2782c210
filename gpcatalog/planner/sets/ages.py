"""Effect of age, retention, policy and dependent objects on units: which stay, which may be
dropped, where merges stop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.generation import Generation
from gpcatalog.model.bounds import (
    DAY,
    INFINITY,
    MINUS_INFINITY,
    OPEN_HIGH,
    Term,
    TermKind,
    axis,
    timestamp_axis,
)
from gpcatalog.planner import grid
from gpcatalog.planner.calendar_age import moment_before
from gpcatalog.planner.sets.arrays import Bools, Ints, spans
from gpcatalog.planner.sets.keep_reasons import DEPENDENT_FACTS, KEY_BELOW, KeepReason
from gpcatalog.planner.sets.roots import Root


def units_with_dependents(batch: list[Root], oid: Ints, of: Ints) -> tuple[list[int], list[int]]:
    """Units with dependent objects, and units with another distribution."""
    dependent: list[int] = []
    other_distribution: list[int] = []
    for r in batch:
        for fact, into in (
            *((f, dependent) for f in DEPENDENT_FACTS),
            ("other distribution", other_distribution),
        ):
            for one, _ in r.facts.get(fact, ()):
                if one != r.oid:
                    into += [int(of[i]) for i in np.flatnonzero(oid == one).tolist() if of[i] >= 0]
    return dependent, other_distribution


def keys_below(batch: list[Root], oid: Ints) -> npt.NDArray[np.uint64]:
    """A number of the partition key of each relation, where the partitions of one level of its
    table have several keys: equal numbers mean equal keys. 0 for all other relations.

    oid: OIDs of relations
    """
    found = np.zeros(len(oid), dtype=np.uint64)
    keys = [one for r in batch for one in r.facts.get(KEY_BELOW, ())]
    if not keys or not len(oid):
        return found
    numbers: dict[str, int] = {}
    values = np.array([numbers.setdefault(text, len(numbers) + 1) for _, text in keys], np.uint64)
    wanted = np.array([one for one, _ in keys], dtype=np.int64)
    by_oid = np.argsort(oid, kind="stable")
    at = by_oid[np.minimum(np.searchsorted(oid[by_oid], wanted), len(oid) - 1)]
    there = oid[at] == wanted
    found[at[there]] = values[there]
    return found


def _before(now: int, root: Root, days: float, months: int) -> int:
    """Where rows of this age end, in local time of the key."""
    return moment_before(now - root.shift, int(days * DAY), months)


def ages(
    generation: Generation,
    now: int,
    batch: list[Root],
    root: Ints,
    sets: npt.NDArray[np.int32],
    low: Ints,
    high: Ints,
    cal_low: Ints,
    cal_high: Ints,
    why: npt.NDArray[np.int8],
    empty: Bools,
) -> tuple[Ints, Bools, Bools]:
    """By unit: the edge of the hot window, whether it may be dropped if it is empty, whether it
    is past its retention.
    """
    n = len(root)
    edge = np.full(n, OPEN_HIGH, dtype=np.int64)
    drop, past = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for place, s, e in spans([r.index for r in batch], root):
        r = batch[place]
        if not r.level:
            continue
        here = slice(s, e)
        w = r.policy
        usable = (
            (why[here] != KeepReason.UNPARSED)
            & (why[here] != KeepReason.DEFAULT)
            & (why[here] != KeepReason.HAS_DEPENDENTS)
            & (why[here] != KeepReason.EXTERNAL)
        )
        if r.calendar:
            hot = int(now - r.shift - w.hot_days * DAY)
            edge[here] = hot
            ahead = int(now - r.shift + w.premade_days * DAY)
            # a leaf with an open end accepts rows that no other leaf accepts: it is never dropped
            closed = (cal_low[here] > MINUS_INFINITY) & (cal_high[here] < INFINITY)
            drop[here] = (
                empty[here] & usable & closed & ((cal_high[here] <= hot) | (cal_low[here] >= ahead))
            )
            after, months = w.externalise_after, w.externalise_after_months
            if after is not None and generation.greenplum:
                old = (
                    (why[here] == KeepReason.FREE)
                    & ~empty[here]
                    & (cal_high[here] <= _before(now, r, after, months))
                )
                why[here][old] = KeepReason.EXTERNALISE
            if w.keep is not None:
                past[here] = usable & (cal_high[here] <= _before(now, r, w.keep, w.keep_months))
        elif not r.lists:
            # numbers have no clock: rows are assumed to be written to the highest leaf with rows
            for at in np.unique(sets[here]).tolist():
                i = np.flatnonzero(sets[here] == at) + s
                full = i[
                    ~empty[i] & (why[i] != KeepReason.DEFAULT) & (why[i] != KeepReason.UNPARSED)
                ]
                some = i[(why[i] != KeepReason.DEFAULT) & (why[i] != KeepReason.UNPARSED)]
                if len(some):
                    edge[i] = cal_low[full].max() if len(full) else cal_low[some].max()
                # a set that never had rows does not show which leaves are in the past
                if len(full):
                    closed = (cal_low[i] > MINUS_INFINITY) & (cal_high[i] < INFINITY)
                    drop[i] = empty[i] & usable[i - s] & closed & (cal_high[i] <= edge[i])
        if w.empty != "drop":
            drop[here] = False
        if generation.rule_catalogs:
            _keep_some(r, s, sets[here], why[here], drop)
        kept = np.flatnonzero(~drop[here])
        if not len(kept):  # a table keeps its last partition
            drop[e - 1] = False
    return edge, drop, past


def _keep_some(
    root: Root, start: int, sets: npt.NDArray[np.int32], why: npt.NDArray[np.int8], drop: Bools
) -> None:
    """Keep the last partition of every parent on Greenplum 6, where a parent has at least one.

    A default partition can remain alone only if a rollback can split the others off from it again:
    in a table with one level.
    """
    alone = root.level == root.depth == 1
    for at in np.unique(sets).tolist():
        i = np.flatnonzero(sets == at)
        others = i[why[i] != KeepReason.DEFAULT] + start
        if len(others) and drop[others].all() and (len(others) == len(i) or not alone):
            drop[others[-1]] = False


def named(batch: list[Root], root: Ints) -> Bools:
    """Units of tables for which the policy sets grains: they are merged by the calendar even if
    sizes are unknown.
    """
    named = {r.index: r.policy.grains_named for r in batch}
    flags = np.zeros((max(named) + 1) if named else 1, dtype=np.bool_)
    for index, flag in named.items():
        flags[index] = flag
    return np.asarray(flags[root], dtype=np.bool_)


def add_stops(batch: list[Root], root: Ints, cal_low: Ints, cal_high: Ints, stop: Bools) -> None:
    """Set stops at retention units and boundaries, which no merged leaf may cross. A unit that
    crosses one already is not merged: there are stops on both sides.
    """
    for place, s, e in spans([r.index for r in batch], root):
        r = batch[place]
        low, high = cal_low[s:e], cal_high[s:e]
        for first, last in _pieces(r, low, high):
            stop[s + 1 : e] |= first[1:] != first[:-1]
            stop[s:e] |= first != last
            stop[s + 1 : e] |= (first != last)[:-1]


def crosses_a_stop(root: Root, cal_low: Ints, cal_high: Ints) -> Bools:
    """Which units cross a retention unit or a boundary."""
    found = np.zeros(len(cal_low), dtype=np.bool_)
    for first, last in _pieces(root, cal_low, cal_high):
        found |= first != last
    return found


def _pieces(root: Root, low: Ints, high: Ints) -> Iterator[tuple[Ints, Ints]]:
    """For the retention unit and for each boundary: the number of the piece in which each unit
    begins, and of the one in which it ends.
    """
    policy = root.policy
    if not root.level or root.lists:
        return
    if policy.retention_unit is not None and root.calendar:
        grain = grid.Grain(policy.retention_unit)
        first, last = (grid.cells(grain, np.clip(a, -(2**60), 2**60)) for a in (low, high - 1))
        yield first, last
    for text in policy.boundaries:
        try:
            at = (
                timestamp_axis(text) - root.shift
                if root.calendar
                else axis(Term(TermKind.VALUE, "", text), root.family)
            )
        except ValueError:
            continue
        yield (low >= at).astype(np.int64), (high > at).astype(np.int64)
