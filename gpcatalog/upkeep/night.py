"""What one night does: a pure function of the partitions, the rules and the clock.

Partitions are created first; the limits of the night do not apply to this. Then, within these
limits, partitions past their retention are removed, and old ones are merged: the oldest first, one
merge of each table in turn.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpcatalog.model.bounds import DAY, INFINITY, MINUS_INFINITY, OPEN_HIGH, STRAY
from gpcatalog.model.names import NAMEDATALEN, cut
from gpcatalog.model.quantity import plural
from gpcatalog.planner import grid
from gpcatalog.planner.calendar_age import moment_before
from gpcatalog.planner.grid import Grain
from gpcatalog.planner.time_key import TimeKey, cell_of
from gpcatalog.upkeep.naming import NameTemplate
from gpcatalog.upkeep.partitions import Partition, PartitionSet
from gpcatalog.upkeep.rules import ANNOUNCED, NightLimits, TableRules
from gpcatalog.upkeep.spacing import Spacing

Place = tuple[int, int, int]
"""A merge: OID of the parent, start and end in local time."""
# maximum of new partitions below one parent in one night; those next to today come first
MOST_CREATED = 400
MOST_COUNTED = 10_000  # missing partitions of the future that are counted


@dataclass(frozen=True, kw_only=True)
class TableState:
    """One table: its partitions and rules.

    left_alone: why its partitions are not merged; empty if they may be
    kept: why its partitions are not detached or dropped; empty if they may be
    without_effect: sentences on keys of the policy that have no effect on this table
    read_at: when the partitions were read: steps of scripts that were written from other snapshots
             have other IDs
    pending: sentences on partitions whose detach is not finished
    key_type, greatest: type of a key of whole numbers, and its greatest number; None: no limit
    """

    oid: int
    schema: str
    name: str
    key: TimeKey
    template: NameTemplate
    rules: TableRules
    sets: tuple[PartitionSet, ...]
    left_alone: str = ""
    kept: str = ""
    without_effect: tuple[str, ...] = ()
    read_at: str = ""
    pending: tuple[str, ...] = ()
    key_type: str = ""
    greatest: int | None = None

    @property
    def leaves(self) -> int:
        """Leaf partitions, including default partitions."""
        return sum(
            sum(p.leaves for p in s.taken) + (s.default.leaves if s.default else 0)
            for s in self.sets
        )

    @functools.cached_property
    def with_rows(self) -> list[int]:
        """Starts of the ranges that are known to have rows below any parent, the newest first."""
        lows = {p.low for s in self.sets for p in s.parts if p.closed and p.filled}
        return sorted(lows, reverse=True)


@dataclass(frozen=True, kw_only=True)
class NewPartition:
    """A partition to be created: its range in local time and its name (Greenplum 6: its label)."""

    low: int
    high: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Create:
    """New partitions below one parent, each created like the newest existing one.

    why: "premake", "gap", or "default rows" for ranges that are created only if the default
         partition has rows of these ranges
    """

    table: int
    parent: int
    like: Partition
    new: tuple[NewPartition, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Retire:
    """Partitions past their retention that are removed. how: detach, externalize or drop."""

    table: int
    parent: int
    parts: tuple[Partition, ...]
    how: str


@dataclass(frozen=True, kw_only=True)
class RollUp:
    """A merge of adjacent partitions of one calendar cell into one.

    bytes: that are copied tonight; complete: the merge ends tonight; otherwise, it continues on
           another night
    """

    table: int
    parent: int
    parts: tuple[Partition, ...]
    grain: Grain
    name: str
    bytes: int
    complete: bool = True

    @property
    def low(self) -> int:
        """Start of the merged range."""
        return self.parts[0].low

    @property
    def high(self) -> int:
        """End of the merged range."""
        return self.parts[-1].high


@dataclass(frozen=True, kw_only=True)
class Note:
    """A note on a table for a person: what is skipped and why."""

    table: int
    what: str
    text: str


@dataclass(kw_only=True)
class Night:
    """What one night does, in this order."""

    create: list[Create] = field(default_factory=list)
    retire: list[Retire] = field(default_factory=list)
    rollups: list[RollUp] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    waiting: int = 0  # partitions that are due but exceed the limits of the night

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.create or self.retire or self.rollups)


def uncovered(parts: Sequence[Partition], low: int, high: int) -> list[tuple[int, int]]:
    """Parts of [low, high) that no partition covers.

    >>> a, b = Partition(low=0, high=5), Partition(low=7, high=9)
    >>> uncovered([a, b], 2, 12)
    [(5, 7), (9, 12)]
    """
    found, at = [], low
    for p in parts:
        if p.high <= at:
            continue
        if p.low >= high:
            break
        if p.low > at:
            found.append((at, p.low))
        at = max(at, p.high)
    if at < high:
        found.append((at, high))
    return found


def cover_end(parts: Sequence[Partition], now: int) -> int:
    """Where the unbroken cover that starts now ends, in local time; now if no partition covers
    it.
    """
    gaps = uncovered(parts, now, OPEN_HIGH)
    return gaps[0][0] if gaps else OPEN_HIGH


def _cells(spacing: Spacing, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Divide a range at the boundaries of partitions."""
    while low < high:
        end = min(spacing.end(low), high)
        yield low, end
        low = end


def night(
    tables: Sequence[TableState],
    now: int,
    limits: NightLimits,
    copied: Mapping[Place, int] | None = None,
    excluded: Collection[Place] = (),
    *,
    allow_drop: bool = True,
) -> Night:
    """Plan one night.

    now: microseconds since 1970, UTC; copied: bytes of each merge that earlier nights have copied;
    excluded: merges that are not possible; allow_drop: whether partitions may be dropped with their
              rows
    """
    found = Night()
    for t in tables:
        found.notes += [Note(table=t.oid, what="policy", text=text) for text in t.without_effect]
        found.notes += [Note(table=t.oid, what="detach", text=text) for text in t.pending]
        found.notes += [Note(table=t.oid, what="numbers", text=text) for text in _far_ahead(t)]
        for s in t.sets:
            _create(t, s, t.key.now(now), found)
    left = _RemainingLimits(leaves=limits.max_leaves, bytes=limits.max_rewrite)
    for t in tables:
        for s in t.sets:
            _retire(t, s, t.key.now(now), found, left, allow_drop=allow_drop)
    _roll_up(tables, now, left, found, copied or {}, excluded)
    return found


def _likes(t: TableState, s: PartitionSet) -> Partition | None:
    """The newest partition that new ones can be created like: one between the usual
    boundaries, if there is one.
    """
    usable = [p for p in s.parts if p.closed and p.movable and p.leaves]
    exact = [p for p in usable if t.rules.spacing.matches(p)]
    return exact[-1] if exact else usable[-1] if usable else None


def _create(t: TableState, s: PartitionSet, now: int, found: Night) -> None:
    like = _likes(t, s)
    reason = ""
    if s.unread:
        reason = f"bounds are not understood: {s.unread[0]}"
    elif like is None:
        reason = (
            f"{s.parent_name} has no partition with both ends that a new one can be like: create"
            " its first partition by hand"
        )
    if reason or like is None:
        found.notes.append(Note(table=t.oid, what="create", text=reason))
        return
    past = _gaps(t, s, now)
    used: set[str] = {p.label or p.name for p in s.taken} | {p.name for p in s.taken}
    for why, ranges in _missing_ranges(t, s, now, past):
        # an hour that is skipped when daylight saving time begins has no partition
        cells = _possible(t, s, [c for c in ranges if t.key.axis(c[0]) < t.key.axis(c[1])], found)
        if len(cells) > MOST_CREATED:
            many = str(len(cells)) if len(ranges) <= MOST_COUNTED else f"over {MOST_COUNTED}"
            text = (
                f"{MOST_CREATED} of {many} new partitions below {s.parent_name} are created"
                " tonight, the others in the next nights"
            )
            found.notes.append(Note(table=t.oid, what="create", text=text))
            # those next to today
            cells = cells[:MOST_CREATED] if why == "premake" else cells[-MOST_CREATED:]
        if cells:
            new = tuple(_new_partition(t, s, low, high, used) for low, high in cells)
            if why == "premake":
                found.notes += _other_boundaries(t, s, cells[0])
            found.create.append(Create(table=t.oid, parent=s.parent, like=like, new=new, why=why))
    if past and not t.rules.fill_gaps:
        text = (
            f"{len(past)} {'' if t.key.width else t.rules.spacing.word + ' '}ranges of the past below"
            f" {s.parent_name} have no partition; the first begins {t.key.shown(past[0][0])}"
        )
        found.notes.append(Note(table=t.oid, what="gap", text=text))
    endless = next((p for p in s.parts if p.high >= INFINITY and p.low < OPEN_HIGH), None)
    if endless is not None and endless.low < _premake_end(t, now):
        text = (
            f"{endless.name}, the newest partition of {s.parent_name}, has no end: it takes all"
            f" rows from {t.key.shown(endless.low)}, so no partitions are created after this"
        )
        found.notes.append(Note(table=t.oid, what="create", text=text))


def _other_boundaries(t: TableState, s: PartitionSet, first: tuple[int, int]) -> list[Note]:
    """A note if the partition before the first new one, or the first new one itself, is not bounded
    as later ones are: from now on, the table has other boundaries.
    """
    before = [p for p in s.parts if p.closed and p.high <= first[0]]
    if t.key.width or t.key.listed or not before:
        return []
    odd, spacing = before[-1], t.rules.spacing
    if all(map(spacing.is_boundary, (odd.low, odd.high))):
        if spacing.is_boundary(first[1]):
            return []
        odd = next((p for p in s.parts if p.low >= first[1]), odd)  # it ends the first new one
    begin = first[1] if spacing.is_boundary(first[1]) else spacing.end(first[1])
    end = spacing.end(begin)
    usual = (
        f"partitions of grain {spacing.word} begin {_BEGINNINGS[spacing.grain]}"
        if spacing.calendar
        else f"most partitions have ranges of {spacing.word}"
    )
    text = (
        f"{usual}, {odd.name} has other"
        f" boundaries ({t.key.shown(odd.low)} to {t.key.shown(odd.high)}): the first new one is from"
        f" {t.key.shown(first[0])} to {t.key.shown(first[1])}, later ones are like"
        f" {t.key.shown(begin)} to {t.key.shown(end)}. To keep the old boundaries, set"
        " automatic_maintenance = false and create partitions by hand"
    )
    return [Note(table=t.oid, what="create", text=text)]


_BEGINNINGS = {
    Grain.HOUR: "on the hour",
    Grain.DAY: "at midnight",
    Grain.WEEK: "on Mondays",
    Grain.MONTH: "on the first day of a month",
    Grain.QUARTER: "on the first day of a quarter",
    Grain.YEAR: "on January 1",
}


def _possible(
    t: TableState, s: PartitionSet, cells: list[tuple[int, int]], found: Night
) -> list[tuple[int, int]]:
    """Ranges whose numbers the type of the key has; adds a note on the others."""
    most = t.greatest
    if most is None:
        return cells
    good = [c for c in cells if int(t.key.text(c[0] if t.key.listed else c[1])) <= most]
    if len(good) < len(cells):
        text = (
            f"{plural(len(cells) - len(good), 'new partition')} below {s.parent_name} cannot be"
            f" created: the greatest number of type {t.key_type} is {most}"
        )
        found.notes.append(Note(table=t.oid, what="create", text=text))
    return good


def _gaps(t: TableState, s: PartitionSet, now: int) -> list[tuple[int, int]]:
    """Ranges of the past without a partition, after the start of the first partition and within
    `keep`.
    """
    spacing, past = t.rules.spacing, _past(t, now)
    today = spacing.start(now)
    begin = min((p.low for p in s.parts if p.low > MINUS_INFINITY), default=today)
    if begin >= today:
        return []
    found = [c for gap in uncovered(s.taken, begin, today) for c in _cells(spacing, *gap)]
    # a partition past its retention would be removed again
    return found if past is None else [c for c in found if c[1] > past]


def _premake_end(t: TableState, now: int) -> int:
    """Where the cover ends after partitions were created. now: local time."""
    return t.rules.spacing.end(now + t.rules.premake - 1)


def _missing_ranges(
    t: TableState, s: PartitionSet, now: int, past: list[tuple[int, int]]
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Ranges that need a partition, by reason."""
    rules = t.rules
    today = rules.spacing.start(now)
    last = _premake_end(t, now)
    if cover_end(s.parts, now) < now + rules.least:
        # divided at today, so that new partitions do not reach into a gap of the past
        cells = (c for gap in uncovered(s.taken, today, last) for c in _cells(rules.spacing, *gap))
        yield "premake", list(itertools.islice(cells, MOST_COUNTED + 1))
    if rules.fill_gaps:
        yield "gap", past
    elif rules.move_default and s.default is not None and s.default.filled is not False:
        yield "default rows", past


def _new_partition(
    t: TableState, s: PartitionSet, low: int, high: int, used: set[str]
) -> NewPartition:
    stem = t.template.name(s.parent_name, t.key.moment(low), t.key.moment(high))
    name, n = stem, 1
    while name in used:
        n += 1
        number = f"_{n}"
        name = cut(stem, NAMEDATALEN - len(number)) + number
    used.add(name)
    return NewPartition(low=low, high=high, name=name)


def _far_ahead(t: TableState) -> list[str]:
    """A sentence if the newest rows of plain numbers are far ahead of the others: this may be an
    error of an application.
    """
    lows = t.with_rows if t.key.width else []
    if len(lows) < 2 or lows[0] - lows[1] <= STRAY * DAY:
        return []
    return [
        f"the newest rows, from {t.key.shown(lows[0])}, are {(lows[0] - lows[1]) // DAY} partitions"
        f" ahead of the others, which end below {t.key.shown(lows[1] + DAY)}: premake counts from the"
        " newest rows; keep_partitions counts partitions with rows"
    ]


def _past(t: TableState, now: int, early: int = 0) -> int | None:
    """The local time before which partitions end that are past their retention; None if there are
    none.

    early: time before this happens. Plain numbers have no clock: one row with a great number must
    not make the others old. Therefore, the newest `keep_partitions` ranges with rows before the
    newest one stay, wherever they are.
    """
    keep = t.rules.keep
    if keep is None:
        return None
    end = moment_before(now + early, keep, t.rules.keep_months)
    if t.key.width:
        lows, number = t.with_rows, max(keep - early, 0) // DAY
        if len(lows) <= number:
            return None
        end = min(end, lows[number])
    return end


def _past_keep(t: TableState, s: PartitionSet, now: int) -> list[Partition]:
    past = _past(t, now)
    if past is None:
        return []
    # partitions that were moved to files stay
    files = t.rules.retention == "externalize"
    return [p for p in s.parts if p.closed and p.high <= past and (p.movable or not files)]


def to_be_announced(t: TableState, s: PartitionSet, now: int) -> list[Partition]:
    """Partitions whose drop is announced: past their retention now, or in seven days.

    now: local time of the table's key
    """
    past = _past(t, now, early=ANNOUNCED)
    if t.rules.retention != "drop" or past is None or t.kept:
        return []
    return [p for p in s.parts if p.closed and p.high <= past]


@dataclass
class _RemainingLimits:
    """The rest of the limits of the night: partitions, and bytes that are copied."""

    leaves: int
    bytes: int


def _partitions_to_move(due: list[Partition], left: _RemainingLimits) -> list[Partition]:
    """Partitions that are moved to files tonight. A partition of unknown size, or one that is
    larger than the rest of the limit, is the last one.
    """
    found = []
    for p in due[: max(left.leaves, 0)]:
        if left.bytes <= 0:
            break
        found.append(p)
        left.bytes -= left.bytes if p.bytes is None else p.bytes
    return found


def _retire(
    t: TableState,
    s: PartitionSet,
    now: int,
    found: Night,
    left: _RemainingLimits,
    *,
    allow_drop: bool,
) -> None:
    """Add partitions past their retention to the night, and subtract them from the rest of the
    limits.
    """
    due = _past_keep(t, s, now)
    if not due:
        return
    stays = ""
    if t.rules.retention == "none":
        stays = "retention is none"
    elif t.kept:
        stays = t.kept
    elif t.rules.retention == "drop" and not allow_drop:
        stays = "partitions are dropped only with --allow-drop"
    if stays:
        text = f"{len(due)} partitions of {s.parent_name} are past keep and stay: {stays}"
        found.notes.append(Note(table=t.oid, what="retention", text=text))
        return
    files = t.rules.retention == "externalize"
    if len(due) == len(s.parts) and not files:  # a table keeps its last partition
        due = due[:-1]
    now_ = _partitions_to_move(due, left) if files else due[: max(left.leaves, 0)]
    found.waiting += len(due) - len(now_)
    if now_:
        found.retire.append(
            Retire(table=t.oid, parent=s.parent, parts=tuple(now_), how=t.rules.retention)
        )
    left.leaves -= len(now_)


def _due_merges(
    t: TableState, s: PartitionSet, now: int, excluded: Collection[Place], found: Night
) -> Iterator[tuple[Grain, list[Partition]]]:
    """Runs of partitions to merge, with the grain of their cell.

    found: gets a note on merges that would be too large
    """
    large: list[Partition] = []
    past = {p.low for p in _past_keep(t, s, now)}
    # Announced partitions are not merged: the merged partition would have to be announced again.
    # The other partitions of their cell are not merged either.
    announced = to_be_announced(t, s, now)
    merged: set[int] = set()
    # the same applies to cells in which a gap is filled tonight: they are merged once, later
    filled = [
        (n.low, n.high)
        for c in found.create
        if c.why == "gap" and (c.table, c.parent) == (t.oid, s.parent)
        for n in c.new
    ]
    for grain, age in t.rules.rollups:
        spans = [*((p.low, p.high) for p in announced), *filled]
        leaving = {cell_of(grain, at) for low, high in spans for at in (low, high - 1)}
        runs: dict[int, list[list[Partition]]] = {}
        for p in s.parts:
            if not p.closed or not p.movable or p.low in past or p.low in merged:
                continue
            cell = cell_of(grain, p.low)
            end = grid.cell_start(grain, cell + 1)
            if cell in leaving or p.high > end or end > now - max(age, t.rules.hot):
                continue
            lines = runs.setdefault(cell, [])
            if lines and lines[-1][-1].high == p.low:
                lines[-1].append(p)
            else:
                lines.append([p])
        for lines in runs.values():
            for run in lines:
                size = sum(p.segment_bytes or 0 for p in run)
                if len(run) < 2:
                    continue
                # a merge that is too large for a year may be possible for months
                if size > t.rules.max_leaf:
                    if grain is t.rules.rollups[-1][0]:
                        large.append(run[0])
                elif (s.parent, run[0].low, run[-1].high) not in excluded:
                    merged |= {p.low for p in run}
                    yield grain, run
    if large:
        text = (
            f"{len(large)} merges below {s.parent_name} would be larger than max_leaf and are left out;"
            f" the first begins {t.key.shown(min(p.low for p in large))}"
        )
        found.notes.append(Note(table=t.oid, what="merge", text=text))


def _of_known_size(t: TableState, run: list[Partition], found: Night) -> bool:
    """Whether the sizes of all partitions are known; if not, add a note."""
    if all(p.bytes is not None for p in run):
        return True
    text = (
        f"sizes of partitions from {t.key.shown(run[0].low)} are unknown, so their merge cannot be"
        " kept within the limits: write the script as a role that can read them, such as a"
        " superuser (with --owner-runs if their owner runs it)"
    )
    found.notes.append(Note(table=t.oid, what="merge", text=text))
    return False


def _roll_up(
    tables: Sequence[TableState],
    now: int,
    left: _RemainingLimits,
    found: Night,
    copied: Mapping[Place, int],
    excluded: Collection[Place],
) -> None:
    """Add merges until the limits are reached: the oldest first, one merge of each table in
    turn.
    """
    queues: list[list[RollUp]] = []
    for t in tables:
        if t.left_alone and t.rules.rollups:
            found.notes.append(Note(table=t.oid, what="merge", text=t.left_alone))
            continue
        line: list[RollUp] = []
        for s in t.sets:
            used = {p.label or p.name for p in s.parts}
            line += [
                _merged(t, s, grain, run, copied, used)
                for grain, run in _due_merges(t, s, t.key.now(now), excluded, found)
                if _of_known_size(t, run, found)
            ]
        if line:
            queues.append(sorted(line, key=lambda r: (r.low, r.parent)))
    while queues:
        for line in list(queues):
            merge = line.pop(0)
            if not line:
                queues.remove(line)
            if len(merge.parts) > left.leaves or left.bytes <= 0:
                found.waiting += len(merge.parts)
                continue
            if merge.bytes > left.bytes:
                # it continues on the next night where it stops tonight
                merge = replace(merge, bytes=left.bytes, complete=False)
            found.rollups.append(merge)
            left.bytes -= merge.bytes
            left.leaves -= len(merge.parts)


def _merged(
    t: TableState,
    s: PartitionSet,
    grain: Grain,
    parts: list[Partition],
    copied: Mapping[Place, int],
    used: set[str],
) -> RollUp:
    stem = name = grid.label(grain, parts[0].low)
    n = 1
    while name in used:
        n += 1
        name = f"{stem}_{n}"
    used.add(name)
    done = copied.get((s.parent, parts[0].low, parts[-1].high), 0)
    size = sum(p.bytes or 0 for p in parts)
    return RollUp(
        table=t.oid,
        parent=s.parent,
        parts=tuple(parts),
        grain=grain,
        name=name,
        bytes=max(size - done, 0),
    )
