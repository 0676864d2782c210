"""How far in advance tables with time partitions have partitions, and the state of upkeep."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.model.bounds import (
    DAY,
    INFINITY,
    MINUS_INFINITY,
    STRAY,
    Axis,
    Family,
    date_of_number,
    family,
    shown_time,
)
from gpcatalog.model.names import qualified
from gpcatalog.model.upkeep_runs import OVERDUE_DAYS, maintained, runs

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

TOP = 20  # tables in a report
# a table whose cover ended earlier counts as no longer written; older gaps are not reported
RECENT = 35 * DAY
LENGTHS = 2  # lengths of the newest partition, plus a day, until a table is no longer in use
LEAST_DAYS = 1.0  # days of cover if no policy sets them: rows of tomorrow need a partition

Stretch = tuple[int, int]


class TableCover(msgspec.Struct, kw_only=True, frozen=True):
    """How far in advance one table has partitions, measured at the parent with the least cover.

    until:       first moment without a partition (UTC; dates unchanged); None: no end
    days:        from the snapshot until then, below 0 if it has passed; None: no end
    partition_days: length of its newest partition; None if it has no end
    has_default: whether later rows are inserted into a default partition; else INSERT fails
    wanted_days: days that the policy of upkeep requires; None if upkeep does not maintain it
    gaps:        ranges without a partition between partitions; ranges that ended more than 35 days
                 ago are left out
    first_gap:   begin and end of the first gap; empty without one
    gap_ahead:   whether a gap ends in the future
    """

    schema: str
    name: str
    until: str | None
    days: float | None
    partition_days: float | None
    has_default: bool
    wanted_days: float | None
    gaps: int
    first_gap: str
    gap_ahead: bool

    @property
    def low(self) -> bool:
        """Whether the cover is less than the policy requires, or without a policy less than a
        day.
        """
        needed = LEAST_DAYS if self.wanted_days is None else self.wanted_days
        return self.days is not None and self.days < needed


class PartitionCover(msgspec.Struct, kw_only=True, frozen=True):
    """The tables with time partitions that seem to be in use or that upkeep maintains.

    tables:  number; unknown: number of tables whose bounds could not be read, not included
    low:     number with less cover than they need; failing: of these, those without a default
             partition
    least_days: of the table with the least cover, below 0 if it has ended; None without one
    least:   the tables with the least cover: those where inserts fail first, and of these those
             that upkeep maintains
    gapped:  tables with gaps; gaps: those with the most
    pending: partitions whose DETACH CONCURRENTLY was interrupted; their ranges count as gaps
    """

    tables: int
    unknown: int
    low: int
    failing: int
    least_days: float | None
    least: tuple[TableCover, ...]
    gapped: int
    gaps: tuple[TableCover, ...]
    pending: tuple[str, ...] = ()


class UpkeepState(msgspec.Struct, kw_only=True, frozen=True):
    """The state that the journal of upkeep records.

    begun, failures: of the last run; ended: of the last run that ended; None if none is known
    waiting: partitions that were due then and exceeded the limits of the night, None if unknown
    tables: number maintained; overdue: whether no run ended in the last two days
    """

    begun: datetime | None
    ended: datetime | None
    failures: tuple[str, ...]
    waiting: int | None
    tables: int
    overdue: bool


def _events(snapshot: Snapshot) -> list[dict[str, Any]]:
    return snapshot.rows(
        'SELECT plan, relation, state, detail, recorded_at AS "at" FROM upkeep_event'
        " ORDER BY recorded_at, state"
    )


def upkeep_state(snapshot: Snapshot) -> UpkeepState | None:
    """The last runs of upkeep; None without a journal, or if it was not read."""
    rows = _events(snapshot)
    if not rows:
        return None
    found = runs(rows)
    taken_at = snapshot.header["taken_at"]
    complete = [r for r in found if r.ended is not None]
    last = complete[-1] if complete else None
    return UpkeepState(
        begun=found[-1].begun.replace(tzinfo=UTC) if found else None,
        ended=last.ended.replace(tzinfo=UTC) if last is not None and last.ended else None,
        waiting=last.waiting if last is not None else None,
        failures=found[-1].failures if found else (),
        tables=len(maintained(rows)),
        overdue=last is None
        or last.ended is None
        or taken_at - last.ended > timedelta(days=OVERDUE_DAYS),
    )


def _levels(snapshot: Snapshot) -> dict[Family, dict[int, int]]:
    """The level of the time partitions by table oid, by family of the key: the first range level
    with a date, else with a whole number, which may be a date.
    """
    found: dict[int, tuple[int, int, Family]] = {}
    for r in snapshot.rows(
        "SELECT root, level, key_types FROM partition_key WHERE strategy = 'range'"
    ):
        kind = family(r["key_types"] or "")
        if kind.time or kind is Family.INTEGER:
            rank = (0 if kind.time else 1, r["level"], kind)
            found[r["root"]] = min(found.get(r["root"], rank), rank)
    levels: dict[Family, dict[int, int]] = {}
    for root, (_, level, kind) in found.items():
        levels.setdefault(kind, {})[root] = level + 1
    return levels


_CUT = (
    "WITH cut AS (SELECT unnest(?::UINTEGER[]) AS root, unnest(?::UTINYINT[]) AS level),"
    " part AS (SELECT r.oid, r.root, r.parent, r.bound_key, r.is_default FROM relation r JOIN cut"
    " USING (root, level) WHERE r.kind IN ('leaf', 'intermediate')"
    # a partition whose DETACH CONCURRENTLY is not finished accepts no rows
    " AND r.oid NOT IN (SELECT oid FROM partition_fact WHERE fact = 'pending detach'))"
)


def _number_stretch(low: int, high: int) -> Stretch:
    """Convert a range of whole numbers to a range of time. Raises ValueError if they are not
    dates.
    """
    begin, end = (
        date_of_number(value, 8 if value >= 10_000_000 else 6)
        if MINUS_INFINITY < value < INFINITY
        else value
        for value in (low, high)
    )
    return begin, end


def _read(bounds: list[str], kind: Family) -> dict[str, Stretch | None]:
    """The ranges of bounds; None for bounds that cannot be parsed or are not dates."""
    axis = Axis(kind)
    found: dict[str, Stretch | None] = {}
    for text in bounds:
        try:
            low, high = axis.interval(text)
            found[text] = _number_stretch(low, high) if kind is Family.INTEGER else (low, high)
        except ValueError:
            found[text] = None
    return found


class _Line(msgspec.Struct, frozen=True):
    """The partitions of one parent: the end of the cover, the length of the newest one, gaps."""

    end: int
    length: int
    gaps: tuple[Stretch, ...]


def _line(parts: list[Stretch], now: int) -> _Line:
    """The cover of one parent, from its recent partitions and the one before them; at least one
    partition.
    """
    parts = sorted(parts)
    while len(parts) > 1 and parts[-1][0] - parts[-2][1] > STRAY * (parts[-1][1] - parts[-1][0]):
        parts.pop()
    at, reached = now, MINUS_INFINITY
    gaps = []
    for low, high in parts:
        if MINUS_INFINITY < reached < low and low > now - RECENT:
            gaps.append((reached, low))
        if low <= at:
            at = max(at, high)
        reached = max(reached, high)
    if at == now:  # no partition covers now: use the end of the last one before
        at = max((high for _, high in parts if high <= now), default=now)
    return _Line(end=at, length=parts[-1][1] - parts[-1][0], gaps=tuple(gaps))


def _tables(
    snapshot: Snapshot, kind: Family, levels: dict[int, int], now: int
) -> Iterator[tuple[int, list[_Line] | None, bool]]:
    """Tables: oid, cover of each parent (None: unknown), and whether all have a default
    partition.
    """
    cut: list[Any] = [list(levels), list(levels.values())]
    # DuckDB builds the text of a bound when it is read: read one partition of each bound
    keys = {
        r["bound"]: r["bound_key"]
        for r in snapshot.rows(
            f"{_CUT} SELECT bound_key, bound FROM relation WHERE oid IN (SELECT min(oid) FROM part"
            " WHERE NOT is_default GROUP BY bound_key) AND bound IS NOT NULL",
            cut,
        )
    }
    read = _read(list(keys), kind)
    odd = [bound is None for bound in read.values()]
    ends = [0 if bound is None else bound[1] for bound in read.values()]
    recent = [end > now - RECENT and not o for end, o in zip(ends, odd, strict=True)]

    @cache
    def line(bounds: tuple[str, ...]) -> _Line:
        return _line([stretch for b in bounds if (stretch := read[b]) is not None], now)

    rows = snapshot.rows(
        f"{_CUT}, mark AS (SELECT unnest(?::UBIGINT[]) AS bound_key, unnest(?::VARCHAR[]) AS bound,"
        " unnest(?::BOOLEAN[]) AS odd, unnest(?::BOOLEAN[]) AS recent, unnest(?::BIGINT[]) AS high),"
        ' lines AS (SELECT root, parent, bool_or(is_default) AS "default",'
        " list_sort(list_distinct(list(m.bound) FILTER (m.recent))) AS bounds,"
        # the newest older partition shows where the cover ended, and whether a gap follows
        " arg_max(m.bound, m.high) FILTER (NOT m.odd AND NOT m.recent) AS before,"
        " count(*) FILTER (m.odd) AS odd, count(*) FILTER (NOT is_default) AS parts"
        " FROM part p LEFT JOIN mark m ON m.bound_key = p.bound_key AND NOT p.is_default"
        " GROUP BY root, parent)"
        ' SELECT root, bounds, before, bool_and("default") AS "default", sum(odd) AS odd,'
        " sum(parts) AS parts FROM lines GROUP BY root, bounds, before ORDER BY root",
        [*cut, list(keys.values()), list(read), odd, recent, ends],
    )
    by_root: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_root.setdefault(row["root"], []).append(row)
    for root, of in by_root.items():
        every = all(row["default"] for row in of)
        strange = sum(row["odd"] for row in of)
        if strange:
            # mostly numbers that are not dates: not a table with time partitions
            if kind is not Family.INTEGER or 2 * strange <= sum(row["parts"] for row in of):
                yield root, None, every
            continue
        lines = [
            line((*(row["bounds"] or ()), *([row["before"]] if row["before"] else ())))
            for row in of
            if row["bounds"] or row["before"]
        ]
        if lines:
            yield root, lines, every


def _in_use(end: int, length: int, now: int) -> bool:
    """Whether a table is probably still in use: its last partition ended recently."""
    return now - end <= min(LENGTHS * length, RECENT) + DAY


def partition_cover(snapshot: Snapshot) -> PartitionCover | None:
    """The cover of all tables with time partitions.

    None for a pruned snapshot, or if the partitions or their keys were not read.
    """
    if snapshot.header["grain"] != "leaf" or snapshot.unread("relations", "partition_keys"):
        return None
    taken_at = snapshot.header["taken_at"]
    now = (taken_at - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    days_by_table = maintained(_events(snapshot))
    names = {
        r["oid"]: (r["schema"], r["name"])
        for r in snapshot.rows("SELECT oid, \"schema\", name FROM relation WHERE kind = 'root'")
    }
    found: list[TableCover] = []
    unknown = 0
    for kind, levels in sorted(_levels(snapshot).items()):
        for root, lines, default in _tables(snapshot, kind, levels, now):
            schema, name = names.get(root, ("", ""))
            if lines is None:
                unknown += 1
                continue
            least = min(lines, key=lambda one: one.end)
            wanted_days = days_by_table.get(qualified(schema, name))
            if wanted_days is not None or _in_use(least.end, least.length, now):
                found.append(
                    _cover(schema, name, lines, now, wanted_days=wanted_days, default=default)
                )
    found.sort(key=lambda t: (INFINITY if t.days is None else t.days, t.schema, t.name))
    low = [t for t in found if t.low]
    gapped = [t for t in found if t.gaps]
    return PartitionCover(
        tables=len(found),
        unknown=unknown,
        low=len(low),
        failing=sum(not t.has_default for t in low),
        least_days=min((t.days for t in found if t.days is not None), default=None),
        least=tuple(
            sorted(found, key=lambda t: (not t.low, t.has_default, t.wanted_days is None))[:TOP]
        ),
        gapped=len(gapped),
        gaps=tuple(sorted(gapped, key=lambda t: (not t.gap_ahead, -t.gaps, t.name))[:TOP]),
        pending=tuple(
            qualified(r["schema"], r["name"])
            for r in snapshot.rows(
                "SELECT schema, name FROM relation WHERE oid IN (SELECT oid FROM partition_fact"
                f" WHERE fact = 'pending detach') ORDER BY schema, name LIMIT {TOP}"
            )
        ),
    )


def _cover(
    schema: str,
    name: str,
    lines: list[_Line],
    now: int,
    *,
    wanted_days: float | None,
    default: bool,
) -> TableCover:
    least = min(lines, key=lambda one: one.end)
    endless = least.end >= INFINITY
    gaps = sorted(gap for one in lines for gap in one.gaps)
    return TableCover(
        schema=schema,
        name=name,
        until=None if endless else shown_time(least.end),
        days=None if endless else round((least.end - now) / DAY, 2),
        partition_days=None if least.length >= INFINITY else round(least.length / DAY, 2),
        has_default=default,
        wanted_days=wanted_days,
        gaps=len(gaps),
        first_gap=f"{shown_time(gaps[0][0])} to {shown_time(gaps[0][1])}" if gaps else "",
        gap_ahead=any(high > now for _, high in gaps),
    )
