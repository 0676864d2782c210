"""Positions of units on the axis of their key, and on the calendar."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.generation import Generation
from gpcatalog.model.bounds import (
    DAY,
    HOUR,
    INFINITY,
    MINUS_INFINITY,
    OPEN_HIGH,
    OPEN_LOW,
    BoundKind,
    Family,
    TermKind,
    added_again,
    parse,
)
from gpcatalog.planner import grid, time_key
from gpcatalog.planner.sets.arrays import SLOTS, Bools, Ints, moved, spans
from gpcatalog.planner.sets.bound_codes import BoundCodes
from gpcatalog.planner.sets.keep_reasons import KeepReason
from gpcatalog.planner.sets.roots import Root


def axes(
    bounds: BoundCodes,
    batch: list[Root],
    root: Ints,
    code: Ints,
    default: Bools,
    parents: npt.NDArray[Any],
) -> tuple[Ints, Ints, Ints, Ints, npt.NDArray[np.int8]]:
    """The position of every unit, and why some have none.

    Sets digits, shift and widths of the roots.
    """
    n = len(root)
    low, high = np.zeros(n, np.int64), np.ones(n, np.int64)
    why = np.zeros(n, dtype=np.int8)
    cal_low, cal_high = low.copy(), high.copy()
    for place, s, e in spans([r.index for r in batch], root):
        r = batch[place]
        here = slice(s, e)
        why[here][default[here]] = KeepReason.DEFAULT
        if not r.level:
            why[here] = KeepReason.UNPARSED
            continue
        if r.lists:
            _list_order(bounds, here, code, default, low, high, why, parents[here])
            cal_low[here], cal_high[here] = low[here], high[here]
            continue
        if r.several:
            low[here], high[here], lo, hi, good = bounds.tuples(r.several, code[here])
            why[here][~good & ~default[here]] = KeepReason.UNPARSED
            cal_low[here], cal_high[here] = _calendar(r, lo, hi, good)
            continue
        lo, hi, good = bounds.intervals(r.family, code[here])
        if r.numeric and (not good[~default[here]].all() or bounds.flagged(code[here])):
            # for fractions, and for INCLUSIVE and EXCLUSIVE ends if fractions may follow them: 6
            # does not follow 5 INCLUSIVE
            found = bounds.intervals(Family.NUMERIC, code[here])
            if found[2].sum() >= good.sum():
                r.family, (lo, hi, good) = Family.NUMERIC, found
        why[here][~good & ~default[here]] = KeepReason.UNPARSED
        lo, hi = np.where(good, lo, 0), np.where(good, hi, 1)
        low[here], high[here] = lo, hi
        cal_low[here], cal_high[here] = _calendar(r, lo, hi, good)
    return low, high, cal_low, cal_high, why


def _list_order(
    bounds: BoundCodes,
    here: slice,
    code: Ints,
    default: Bools,
    low: Ints,
    high: Ints,
    why: npt.NDArray[np.int8],
    parents: npt.NDArray[Any],
) -> None:
    """Lists have no axis: they are numbered in the text order of their values, set by set. Lists
    with NULL come last.
    """
    texts: list[tuple[bool, int, str, int]] = []
    for i, (c, p) in enumerate(zip(code[here].tolist(), parents.tolist(), strict=True)):
        bound = parse(bounds.texts[c]) if c < len(bounds.texts) else parse(None)
        if bound.kind is BoundKind.LIST:
            with_null = any(t.kind is TermKind.NULL for t in bound.values)
            texts.append((with_null, p, bound.values[0].value, i))
            if with_null and not default[here][i]:
                why[here.start + i] = KeepReason.NULL_IN_LIST
        elif not default[here][i]:
            why[here.start + i] = KeepReason.UNPARSED
    for position, (*_, i) in enumerate(sorted(texts)):
        low[here.start + i], high[here.start + i] = position, position + 1


def _calendar(r: Root, lo: Ints, hi: Ints, good: Bools) -> tuple[Ints, Ints]:
    """The units' ends on the calendar (unchanged for plain numbers)."""
    closed = good & (lo > MINUS_INFINITY) & (hi < INFINITY)
    if r.family.time:
        named = _in_policy_zone(r, lo, hi, closed)
        if named is not None:
            return named
        lengths = hi[closed] - lo[closed]
        if len(lengths) and int(np.median(lengths)) >= 20 * HOUR:
            # local midnights: the most frequent remainder of the starts is the calendar's origin
            values, counts = np.unique(lo[closed] % DAY, return_counts=True)
            if r.family is Family.TIMESTAMPTZ and len(values) > 1:
                local = _local(lo, hi, closed)
                if local is not None:  # midnights in winter and in summer
                    r.shift = int(np.median((lo - local[0])[closed]))
                    return local
            # midnights at 21:00 UTC belong to a zone three hours ahead, not to a zone 21 hours
            # behind
            r.shift = int(values[int(np.argmax(counts))])
            r.shift -= DAY if r.shift > 12 * HOUR else 0
        return moved(lo, -r.shift), moved(hi, -r.shift)
    if not closed.any():
        return lo, hi
    for digits in (8, 6):
        at, fits = grid.dates_from_numbers(lo, digits)
        to, fits_too = grid.dates_from_numbers(hi, digits)
        # an end such as 20240132 or 20240100 is not a date: three of four must be dates, the others
        # have no position
        if closed.sum() >= 2 and (fits & fits_too)[closed].mean() >= 0.75:
            r.digits = digits
            at = np.where(fits, at, np.where(lo <= MINUS_INFINITY, lo, OPEN_LOW))
            to = np.where(fits_too, to, np.where(hi >= INFINITY, hi, OPEN_HIGH))
            return at, to
    spans, counts = np.unique((hi - lo)[closed], return_counts=True)
    width = int(spans[int(np.argmax(counts))])
    span = int(hi[closed].max()) - int(lo[closed].min())
    r.widths = tuple(grid.round_multiples(width, max(span, width * 2), SLOTS - 1))
    return lo, hi


def _in_policy_zone(r: Root, lo: Ints, hi: Ints, closed: Bools) -> tuple[Ints, Ints] | None:
    """The ends in local time of the policy's time zone. None if the policy sets none, or if
    hours or days do not begin at each of the ends in that zone. Sets the shift of the root.
    """
    if r.family is not Family.TIMESTAMPTZ or not r.policy.time_zone or not closed.any():
        return None
    ends = np.unique(np.concatenate([lo[closed], hi[closed]]))
    daily = int(np.median(hi[closed] - lo[closed])) >= 20 * HOUR
    grain = grid.Grain.DAY if daily else grid.Grain.HOUR
    if not time_key.fits(r.policy.time_zone, ends.tolist(), grain):
        return None
    local = _in_zone(lo, hi, closed, r.policy.time_zone)
    r.shift = int(np.median((lo - local[0])[closed]))
    return local


def _local(lo: Ints, hi: Ints, closed: Bools) -> tuple[Ints, Ints] | None:
    """The ends in local time of a zone in which all of them are midnights; None if there is no
    such zone.
    """
    ends = np.unique(np.concatenate([lo[closed], hi[closed]]))
    zones = time_key.zones_of(ends.tolist(), grid.Grain.DAY, int(ends[-1]))
    return _in_zone(lo, hi, closed, zones[0]) if zones else None


def _in_zone(lo: Ints, hi: Ints, closed: Bools, zone: str) -> tuple[Ints, Ints]:
    """The ends in local time of a zone."""
    ends = np.unique(np.concatenate([lo[closed], hi[closed]]))
    key = time_key.TimeKey(family=Family.TIMESTAMPTZ, zone=zone)
    wall = np.array([key.cut(at) for at in ends.tolist()], dtype=np.int64)
    low, high = lo.copy(), hi.copy()
    low[closed] = wall[np.searchsorted(ends, lo[closed])]
    high[closed] = wall[np.searchsorted(ends, hi[closed])]
    for end in (low, high):  # the closed end of a range that is open on one side
        for i in np.flatnonzero(~closed & (end > MINUS_INFINITY) & (end < INFINITY)).tolist():
            with contextlib.suppress(ValueError):  # an end beyond the year 9999 is unchanged
                end[i] = key.cut(int(end[i]))
    return low, high


def can_be_added_again(
    bounds: BoundCodes, generation: Generation, code: Ints, parents: Ints
) -> Bools:
    """Units that Greenplum 6 accepts again when a rollback adds them; on other servers, all
    units.
    """
    found = np.ones(len(code), dtype=np.bool_)
    if not generation.rule_catalogs:
        return found
    texts = [*bounds.texts.tolist(), ""]
    odd = np.array(["EXCLUSIVE" in t and "INCLUSIVE" in t for t in texts], dtype=np.bool_)
    code = np.minimum(code, len(texts) - 1)
    for parent in np.unique(parents[odd[code]]).tolist():
        at = np.flatnonzero(parents == parent)
        siblings = [parse(texts[c]) for c in code[at].tolist()]
        found[at] = added_again(siblings, siblings)
    return found
