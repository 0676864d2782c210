"""Forecast of the coming nights: what each night does, and the partitions of the tables after
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpcatalog.model.bounds import DAY
from gpcatalog.upkeep.night import (
    Create,
    Night,
    Place,
    Retire,
    RollUp,
    TableState,
    night,
    to_be_announced,
)
from gpcatalog.upkeep.partitions import Partition, PartitionSet
from gpcatalog.upkeep.rules import ANNOUNCED, NightLimits

RATE_PARTS = 12  # newest partitions with rows, from which the growth per day is estimated


@dataclass(frozen=True, kw_only=True)
class ForecastNight:
    """One night of the forecast.

    now: microseconds since 1970, UTC; leaves: number of leaf partitions of each table afterwards,
         by OID
    announced: partitions whose drop is announced for the first time
    """

    now: int
    night: Night
    leaves: dict[int, int]
    announced: int = 0


Rate = tuple[int, int]
"""Bytes that one day adds below one parent: on all segments, and to the largest leaf on the
fullest segment.
"""


def daily_bytes(s: PartitionSet, now: int) -> Rate:
    """Estimate the growth per day from the newest complete partitions of a parent; 0 if there are
    none.

    now: local time
    """
    full = [p for p in s.parts if p.closed and p.filled and p.bytes and p.high <= now]
    full = full[-RATE_PARTS:]
    days = sum(p.high - p.low for p in full) / DAY or 1.0
    every, largest = sum(p.bytes or 0 for p in full), sum(p.segment_bytes or 0 for p in full)
    return round(every / days), round(largest / days)


def created(s: PartitionSet, action: Create) -> PartitionSet:
    """The partition set with new partitions."""
    new = [
        Partition(
            low=n.low,
            high=n.high,
            name=n.name,
            label=n.name,
            leaves=action.like.leaves,
        )
        for n in action.new
    ]
    return replace(s, parts=tuple(sorted([*s.parts, *new], key=lambda p: p.low)))


def retired(s: PartitionSet, action: Retire) -> PartitionSet:
    """The set without partitions that were detached or dropped; partitions moved to files stay."""
    gone = {p.low for p in action.parts}
    if action.how == "externalize":
        parts = (replace(p, movable=False, bytes=0) if p.low in gone else p for p in s.parts)
        return replace(s, parts=tuple(parts))
    return replace(s, parts=tuple(p for p in s.parts if p.low not in gone))


def rolled_up(s: PartitionSet, action: RollUp) -> PartitionSet:
    """The set with one partition in place of the merged ones."""
    gone = {p.low for p in action.parts}
    known = all(p.bytes is not None for p in action.parts)
    one = Partition(
        low=action.low,
        high=action.high,
        name=action.name,
        label=action.name,
        filled=any(p.filled for p in action.parts),
        bytes=sum(p.bytes or 0 for p in action.parts) if known else None,
        segment_bytes=sum(p.segment_bytes or 0 for p in action.parts) if known else None,
        leaves=action.parts[-1].leaves,
    )
    rest = [p for p in s.parts if p.low not in gone]
    return replace(s, parts=tuple(sorted([*rest, one], key=lambda p: p.low)))


def applied(tables: Sequence[TableState], done: Night) -> list[TableState]:
    """The tables after a night; merges that continue on another night change nothing."""
    found = []
    for t in tables:
        sets = list(t.sets)
        for n, s in enumerate(sets):
            for create in done.create:
                # it is not known in advance whether the default partition has rows of a range
                if create.table == t.oid and create.parent == s.parent:
                    s = s if create.why == "default rows" else created(s, create)
            for gone in done.retire:
                if gone.table == t.oid and gone.parent == s.parent:
                    s = retired(s, gone)
            for merge in done.rollups:
                if merge.table == t.oid and merge.parent == s.parent and merge.complete:
                    s = rolled_up(s, merge)
            sets[n] = s
        found.append(replace(t, sets=tuple(sets)))
    return found


def _after_inserts(t: TableState, rates: dict[int, Rate], now: int) -> TableState:
    """The table after one day of inserts: the current partition has more bytes."""
    local = t.key.now(now)
    sets = []
    for s in t.sets:
        parts = tuple(
            p
            if not p.low <= local < p.high
            else replace(
                p,
                filled=True,
                bytes=None if p.bytes is None else p.bytes + rates[s.parent][0],
                segment_bytes=None
                if p.segment_bytes is None
                else p.segment_bytes + rates[s.parent][1],
            )
            for p in s.parts
        )
        sets.append(replace(s, parts=parts))
    return replace(t, sets=tuple(sets))


class _Announcements:
    """Partitions whose drop was announced, and the time of the announcement."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int], int] = {}

    def add(self, tables: Sequence[TableState], now: int, since: int) -> int:
        """Announce partitions that will be past their retention in seven days; returns how many are
        new.

        since: time of the announcement
        """
        before = len(self._since)
        for t in tables:
            for s in t.sets:
                for p in to_be_announced(t, s, t.key.now(now)):
                    self._since.setdefault((s.parent, p.low), since)
        return len(self._since) - before

    def only_announced(self, tonight: Night, now: int) -> Night:
        """The night without drops that were not announced at least seven days before."""
        kept = []
        for gone in tonight.retire:
            parts = tuple(
                p
                for p in gone.parts
                if gone.how != "drop"
                or now - self._since.get((gone.parent, p.low), now) >= ANNOUNCED
            )
            if parts:
                kept.append(replace(gone, parts=parts))
        return replace(tonight, retire=kept)


def forecast(
    tables: Sequence[TableState],
    now: int,
    limits: NightLimits,
    days: int,
    *,
    announced: bool = False,
) -> Iterator[ForecastNight]:
    """Yield the nights from now on, one per day.

    now: microseconds since 1970, UTC. Rows are assumed to arrive as fast as in the newest
         partitions. The rows of a day go to the partition of that day.

    announced: drops that are due were announced by earlier nights; otherwise, the first ones wait
               seven days
    """
    state = list(tables)
    rates = {
        # how fast plain numbers grow is not known
        s.parent: (0, 0) if t.key.width else daily_bytes(s, t.key.now(now))
        for t in tables
        for s in t.sets
    }
    copied: dict[Place, int] = {}
    announcements = _Announcements()
    for day in range(days):
        at = now + day * DAY
        new = announcements.add(state, at, at - ANNOUNCED if announced and not day else at)
        tonight = announcements.only_announced(night(state, at, limits, copied), at)
        for merge in tonight.rollups:
            place = (merge.parent, merge.low, merge.high)
            if merge.complete:
                copied.pop(place, None)
            else:
                copied[place] = copied.get(place, 0) + merge.bytes
        state = applied(state, tonight)
        yield ForecastNight(
            now=at,
            night=tonight,
            leaves={t.oid: t.leaves for t in state},
            announced=new,
        )
        state = [_after_inserts(t, rates, at) for t in state]
