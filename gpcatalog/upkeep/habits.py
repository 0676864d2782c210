"""Common properties of the partitions of a table: calendar, time zone, names.

If a property cannot be derived from the partitions, an error states what the policy must set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gpcatalog.model.bounds import DAY, INFINITY, MINUS_INFINITY, STRAY, Family
from gpcatalog.model.quantity import plural
from gpcatalog.planner import grid, time_key
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.policy import ResolvedPolicy
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.time_key import TimeKey
from gpcatalog.upkeep import naming
from gpcatalog.upkeep.partitions import Partition, PartitionSet, RawPartition, RawSet
from gpcatalog.upkeep.spacing import Spacing, equal_distances

NEWEST = 12  # partitions whose grain and names are compared
AGREE = 10 / 12  # share of them that must agree
ZONES_SHOWN = 4


class UnclearHabits(Exception):
    """The reason why upkeep cannot be planned for a table."""


@dataclass(frozen=True, kw_only=True)
class Habits:
    """Common properties of the partitions of a table.

    spacing: of new partitions; newest: number of partitions that were compared
    evidence: sentences
    """

    key: TimeKey
    spacing: Spacing
    template: naming.NameTemplate
    newest: int
    evidence: tuple[str, ...]


def grain_of(low: int, high: int) -> Grain | None:
    """The grain for which a range in local time is exactly one calendar cell; None if there is
    none.

    >>> grain_of(0, DAY), grain_of(0, 31 * DAY), grain_of(0, 2 * DAY)
    (<Grain.DAY: 2>, <Grain.MONTH: 4>, None)
    """
    for grain in Grain:
        cell = time_key.cell_of(grain, low)
        if grid.cell_start(grain, cell) == low and grid.cell_start(grain, cell + 1) == high:
            return grain
    return None


def _bounded_partitions(raw: Sequence[RawPartition]) -> list[RawPartition]:
    return [p for p in raw if p.low > MINUS_INFINITY and p.high < INFINITY]


def _digits(parts: Sequence[RawPartition]) -> int:
    """8 or 6 if all bounds of whole-number partitions are dates of that many digits; otherwise
    0.
    """
    ends = np.array([e for p in parts for e in (p.low, p.high)], dtype=np.int64)
    for digits in (8, 6):
        if len(ends) and grid.dates_from_numbers(ends, digits)[1].all():
            return digits
    return 0


def _zone(parts: Sequence[RawPartition], policy_zone: str, now: int) -> tuple[str, str]:
    """The time zone in which days begin at every bound, and a sentence on how it was found.
    Raises Unclear.
    """
    ends = {e for p in parts for e in (p.low, p.high)}
    hourly = all((p.high - p.low) < DAY // 2 for p in parts[-NEWEST:])
    grain = Grain.HOUR if hourly else Grain.DAY
    if policy_zone:
        if not time_key.fits(policy_zone, ends, grain):
            raise UnclearHabits(
                f"not all of its partitions begin at midnight in the time zone {policy_zone} of the"
                " policy"
            )
        return (
            policy_zone,
            f"time zone {policy_zone} by the policy: all {len(ends)} bounds are midnights",
        )
    if hourly:
        return "UTC", "hourly partitions are named in UTC; the policy can set time_zone"
    found = time_key.zones_of(ends, grain, now)
    if not found:
        raise UnclearHabits(
            "there is no time zone in which all of its partitions begin at midnight; merge or drop"
            " the others"
        )
    if len(found) > 1:
        some = ", ".join(found[:ZONES_SHOWN]) + (" …" if len(found) > ZONES_SHOWN else "")
        raise UnclearHabits(
            f"its bounds are midnights in several time zones ({some}): set time_zone"
        )
    return found[0], f"time zone {found[0]}: all {len(ends)} bounds are midnights there alone"


def key_of(
    root: Root, sets: Sequence[RawSet], policy: ResolvedPolicy, now: int
) -> tuple[TimeKey, str]:
    """How key values are mapped to a calendar, and a sentence on it. now: microseconds, UTC.

    Raises Unclear.
    """
    if root.several:
        raise UnclearHabits("its range key has several columns")
    parts = _bounded_partitions([p for s in sets for p in s.parts])
    if root.family is Family.TIMESTAMPTZ:
        if not parts:
            raise UnclearHabits("it has no partition with both ends")
        zone, evidence = _zone(parts, policy.time_zone, now)
        return TimeKey(family=root.family, zone=zone), evidence
    if root.family.time:
        return TimeKey(family=root.family, clock=policy.time_zone), ""
    if root.family is Family.INTEGER:
        digits = 0 if root.numeric else _digits(parts)
        if digits:
            evidence = f"whole numbers that are dates of {digits} digits"
            return TimeKey(family=root.family, digits=digits, clock=policy.time_zone), evidence
        _refuse_dates(parts)
        return _numbers(sets)
    raise UnclearHabits("its key is neither a date nor a whole number")


def _refuse_dates(parts: Sequence[RawPartition]) -> None:
    """Raise Unclear for whole numbers of which most, but not all, are dates. Such keys are not
    plain numbers: they have gaps between months or years.
    """
    ends = np.array([e for p in parts for e in (p.low, p.high)], dtype=np.int64)
    for digits in (8, 6):
        good = grid.dates_from_numbers(ends, digits)[1]
        if len(ends) and good.mean() >= 0.5:
            raise UnclearHabits(
                f"its bounds are dates of {digits} digits, but {ends[~good][0]} is none"
            )


MOST_CELLS = 1_000_000  # maximum number of partitions that fit between the first and the last one


def _without_strays(parts: Sequence[RawPartition], width: int) -> list[RawPartition]:
    """The partitions in order, without those after a wide gap. Raises Unclear if one of these may
    have rows, because it would count as the newest one.

    The run of partitions between wide gaps that has the most partitions is used as the table.
    """
    runs: list[list[RawPartition]] = []
    for p in sorted(parts, key=lambda p: p.low):
        if not runs or p.low - runs[-1][-1].high > STRAY * width:
            runs.append([])
        runs[-1].append(p)
    most = max(range(len(runs)), key=lambda n: len(runs[n]), default=0)
    for p in (p for run in runs[most + 1 :] for p in run):
        if p.filled is not False:
            raise UnclearHabits(
                f"{p.relation.name} is far from its other partitions and may have rows, so the"
                " newest rows are not known"
            )
    return [p for run in runs[: most + 1] for p in run]


def _numbers(sets: Sequence[RawSet]) -> tuple[TimeKey, str]:
    """The key of plain numbers: one partition counts as a day, and the newest one with rows as
    today.

    Raises Unclear.
    """
    best = max(sets, key=lambda s: len(s.parts), default=None)
    line = _bounded_partitions(best.parts) if best else []
    usual = sorted(p.high - p.low for p in line)[len(line) // 2] if line else 0
    newest = _without_strays(line, usual)[-NEWEST:]
    widths = Counter(p.high - p.low for p in newest)
    width, number = widths.most_common(1)[0] if widths else (0, 0)
    if len(newest) < 2 or number < AGREE * len(newest):
        raise UnclearHabits(
            f"it has {plural(len(newest), 'partition')} with both ends: that shows no width"
            if len(newest) < 2
            else f"its newest {len(newest)} partitions differ in width"
        )
    anchor = next(p.low for p in reversed(newest) if p.high - p.low == width) % width
    parts = _without_strays(_bounded_partitions([p for s in sets for p in s.parts]), width)
    if (parts[-1].high - parts[0].low) // width > MOST_CELLS:
        raise UnclearHabits(
            f"its partitions span more than {MOST_CELLS:,} partitions of this width"
        )
    if abs(parts[-1].high) // width >= INFINITY // DAY // 4:
        raise UnclearHabits("its numbers are too large for partitions of this width")
    if width > DAY and any((e - anchor) % width for p in parts for e in (p.low, p.high)):
        raise UnclearHabits("its partitions differ in width")
    rows = [p for p in parts if p.filled]
    last = max(rows, key=lambda p: p.low, default=None)
    if any(p.filled is None for p in parts if last is None or p.low > last.low):
        raise UnclearHabits("whether its newest partitions have rows is unknown")
    key = TimeKey(family=Family.INTEGER, width=width, anchor=anchor)
    evidence = f"{width:,} numbers a partition: {number} of its newest {len(newest)} partitions"
    if last is None:
        return replace(
            key, position=key.local(min(p.low for p in parts))
        ), f"{evidence}; it has no rows"
    # the end of the partition, as if all its numbers were used
    rest = f"; the newest rows are below {last.high:,}"
    return replace(key, position=key.local(last.high) - 1), evidence + rest


def _newest(sets: Sequence[PartitionSet]) -> list[tuple[str, Partition]]:
    """The newest partitions of the parent that has the most, oldest first, without stray
    partitions.
    """
    best = max(sets, key=lambda s: len(s.parts), default=None)
    if best is None:
        return []
    parts = [p for p in best.parts if p.closed]
    while len(parts) > 1 and parts[-1].low - parts[-2].high > STRAY * (
        parts[-1].high - parts[-1].low
    ):
        parts.pop()
    return [(best.parent_name, p) for p in parts[-NEWEST:]]


def _spacing(
    newest: Sequence[Partition], policy: ResolvedPolicy, *, listed: bool
) -> tuple[Spacing, str]:
    """The spacing of new partitions, and a sentence on how it was found. Raises Unclear."""
    grains = [grain_of(p.low, p.high) for p in newest]
    usual, number = Counter(grains).most_common(1)[0] if grains else (None, 0)
    if policy.grain is not None:
        grain = Grain(policy.grain)
        agree = sum(g is grain for g in grains)
        why = f"grain {grain.word} by the policy; {agree} of {len(grains)} newest have it"
        return Spacing(grain), why
    if len(newest) < 2:
        raise UnclearHabits(f"it has {plural(len(newest), 'partition')} with both ends: set grain")
    if usual is None or number < AGREE * len(grains):
        equal = None if listed else equal_distances(newest, AGREE)
        if equal is not None:
            number = sum(map(equal.matches, newest))
            return equal, f"ranges of {equal.word}: {number} of its newest {len(grains)} partitions"
        found = ", ".join(
            f"{n} {g.word if g is not None else 'of other lengths'}"
            for g, n in Counter(grains).most_common()
        )
        raise UnclearHabits(
            f"its newest {len(grains)} partitions do not agree on a grain ({found}): set grain"
        )
    return Spacing(usual), f"grain {usual.word}: {number} of its newest {len(grains)} partitions"


NAMES_COMPARED = 40  # successive partitions


def _refuse_same_names(
    template: naming.NameTemplate,
    name_format: str,
    newest: Sequence[tuple[str, Partition]],
    spacing: Spacing,
    key: TimeKey,
) -> None:
    """Raise Unclear if the template gives several successive partitions one name."""
    parent, last = newest[-1] if newest else ("", None)
    starts = [spacing.start(0 if last is None else last.low)]
    while len(starts) <= NAMES_COMPARED:
        starts.append(spacing.end(starts[-1]))
    try:
        cells = [(key.moment(a), key.moment(b)) for a, b in pairwise(starts)]
    except OverflowError:  # after the year 9999
        return
    found = naming.same_name(template, parent, cells)
    if found is not None:
        name, first, second = found
        raise UnclearHabits(
            f"the name {name_format} of the policy is {name} for several partitions of"
            f" {'grain ' if spacing.calendar else ''}{spacing.word}, for example those from {first} and {second}"
        )


def _template(
    newest: Sequence[tuple[str, Partition]],
    spacing: Spacing,
    name_format: str,
    key: TimeKey,
    *,
    classic: bool,
) -> tuple[naming.NameTemplate, str]:
    if name_format:
        numbers = any(f"{{{n}}}" in name_format for n in naming.NUMBERS)
        if numbers is not bool(key.width):
            kind = "numbers" if key.width else "dates"
            raise UnclearHabits(
                f"its key has {kind}, but the name {name_format} of the policy shows none"
            )
        text = (
            name_format
            if classic or naming.TABLE in name_format
            else f"{naming.TABLE}_{name_format}"
        )
        template = naming.NameTemplate(text)
        _refuse_same_names(template, name_format, newest, spacing, key)
        return template, f"names {text} by the policy"
    names = [
        (
            parent,
            p.label if classic else p.name,
            key.moment(p.low),
            key.moment(p.high),
        )
        for parent, p in newest
        if spacing.matches(p) and (p.label or not classic)
    ]
    found, agree = naming.infer(names, classic=classic)
    if found is None:
        form = None if key.width else spacing.date_format
        found = naming.default_template(form, classic=classic)
        return found, f"names {found.text}, as the names of its partitions follow no template"
    return found, f"names {found.text}: {agree} of its newest {len(names)} partitions"


def localized(sets: Sequence[RawSet], key: TimeKey) -> list[PartitionSet]:
    """The sets in local time. Partitions with a bound that is not a date are listed as unread."""
    found = []
    for s in sets:
        unread: list[str] = list(s.unread)
        parts: list[Partition] = []
        pending: list[Partition] = []
        for line, raw in ((parts, s.parts), (pending, s.pending)):
            for p in raw:
                try:
                    line.append(_part(p, key.cut(p.low), key.cut(p.high)))
                except ValueError as e:
                    unread.append(f"{p.relation.name}: {e}")
        found.append(
            PartitionSet(
                parent=s.parent,
                parent_name=s.parent_name,
                parts=tuple(sorted(parts, key=lambda p: (p.low, p.high, p.oid))),
                default=None if s.default is None else _part(s.default, 0, 0),
                unread=tuple(unread),
                pending=tuple(pending),
            )
        )
    return found


def _part(raw: RawPartition, low: int, high: int) -> Partition:
    r = raw.relation
    return Partition(
        low=low,
        high=high,
        name=r.name,
        oid=r.oid,
        schema=r.schema,
        label=r.partition_name,
        bound=r.bound,
        filled=raw.filled,
        bytes=raw.bytes,
        segment_bytes=raw.segment_bytes,
        leaves=raw.leaves,
        movable=raw.movable,
        rows=raw.rows,
    )


def habits(
    root: Root,
    raw: Sequence[RawSet],
    policy: ResolvedPolicy,
    now: int,
    *,
    classic: bool,
    listed: tuple[TimeKey, str] | None = None,
) -> tuple[Habits, list[PartitionSet]]:
    """Common properties of the partitions of a table, and its sets in local time.

    now: microseconds since 1970, UTC; classic: Greenplum 6; listed: the key of a table with list
         partitions.
    Raises Unclear.
    """
    key, key_evidence = listed or key_of(root, raw, policy, now)
    sets = localized(raw, key)
    newest = _newest(sets)
    if key.width:
        spacing, why = Spacing(Grain.DAY), ""
    else:
        spacing, why = _spacing([p for _, p in newest], policy, listed=listed is not None)
    if spacing.grain < key.finest:
        raise UnclearHabits(f"grain {spacing.grain.word} is finer than its key can say")
    template, names = _template(newest, spacing, policy.name, key, classic=classic)
    evidence = tuple(x for x in (key_evidence, why, names) if x)
    return (
        Habits(key=key, spacing=spacing, template=template, newest=len(newest), evidence=evidence),
        sets,
    )
