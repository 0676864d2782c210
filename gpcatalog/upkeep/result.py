"""Results of `gpcatalog upkeep`: rules that the tables follow, the coming nights, the state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from gpcatalog.capacity import durations
from gpcatalog.model.bounds import DAY, INFINITY, shown_time
from gpcatalog.model.names import qualified
from gpcatalog.model.quantity import plural
from gpcatalog.model.upkeep_runs import OVERDUE_DAYS, Run
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.upkeep.forecast import ForecastNight
from gpcatalog.upkeep.night import Night, TableState, cover_end, night, uncovered
from gpcatalog.upkeep.reader import ReadTable, Unplanned
from gpcatalog.upkeep.rules import ANNOUNCED, PREMAKE_DAYS, NightLimits


def _day(at: int) -> str:
    return shown_time(at)[:10]


class LeftAlone(msgspec.Struct, frozen=True):
    """A table that upkeep does not maintain, and the reason."""

    table: str
    reason: str


def left_alone(unplanned: Iterable[Unplanned]) -> list[LeftAlone]:
    """Tables that upkeep does not maintain."""
    return [LeftAlone(qualified(u.schema, u.name), u.reason) for u in unplanned]


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """How far into the future the partitions of a table reach.

    until: first moment or number without a partition, as text; None if a partition has no end
    days:  from now until then; for plain numbers: partitions after the newest rows
    gaps:  ranges of the past without a partition
    default_rows: whether the default partition has rows: null if there is none or if it is unknown
    """

    until: str | None
    days: float | None
    gaps: int
    default_rows: bool | None


def cover_of(t: TableState, now: int) -> Cover:
    """The cover of the parent whose cover ends first. now: microseconds since 1970, UTC."""
    local = t.key.now(now)
    ends = [cover_end(s.parts, local) for s in t.sets]
    least = min(ends, default=local)
    gaps = 0
    for s in t.sets:
        lows = [p.low for p in s.parts if p.closed]
        if lows:
            gaps += len(uncovered(s.parts, min(lows), min(local, max(p.high for p in s.parts))))
    filled = [s.default.filled for s in t.sets if s.default is not None]
    return Cover(
        until=None if least >= INFINITY else t.key.shown(least),
        days=None if least >= INFINITY else round((least - local) / DAY, 2),
        gaps=gaps,
        default_rows=None if not filled or None in filled else any(filled),
    )


class TableAdoption(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that one table seems to follow.

    numbers: numbers of one partition if the key is a plain number, otherwise 0; evidence: sentences
    """

    table: str
    schema: str
    name: str
    grain: str
    numbers: int
    template: str
    time_zone: str
    premake_days: float
    leaves: int
    cover: Cover
    evidence: tuple[str, ...]


class Adoption(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that all tables of a database seem to follow."""

    format: str = msgspec.field(default="gpcatalog.upkeep-adopt/1", name="schema")
    database: str
    tables: list[TableAdoption]
    left_alone: list[LeftAlone]


def adoption(
    reader: Reader, tables: Sequence[ReadTable], unplanned: Sequence[Unplanned], now: int
) -> Adoption:
    """The rules that every table seems to follow. now: microseconds since 1970, UTC."""
    found = [
        TableAdoption(
            table=qualified(t.state.schema, t.state.name),
            schema=t.state.schema,
            name=t.state.name,
            grain=t.habits.spacing.word,
            numbers=t.state.key.width,
            template=t.habits.template.text,
            time_zone=t.state.key.zone,
            premake_days=PREMAKE_DAYS[t.habits.spacing.grain],
            leaves=t.state.leaves,
            cover=cover_of(t.state, now),
            evidence=t.habits.evidence,
        )
        for t in tables
    ]
    return Adoption(
        database=reader.snapshot.header["database"], tables=found, left_alone=left_alone(unplanned)
    )


class NightLine(msgspec.Struct, frozen=True, kw_only=True):
    """What one night does to one table.

    created, merged, detached, externalized, dropped: number of partitions; into: partitions that
    merges create; unfinished: merges that continue on another night
    bytes: copied by merges and to files (estimate); lock_seconds: longest time that readers wait
    (estimate); both null if unknown; consent: the option by which a person must agree
    """

    day: str
    table: str
    created: int = 0
    merged: int = 0
    into: int = 0
    unfinished: int = 0
    detached: int = 0
    externalized: int = 0
    dropped: int = 0
    bytes: int | None = 0
    lock_seconds: float | None = None
    consent: str = ""


class TableForecast(msgspec.Struct, frozen=True, kw_only=True):
    """Leaf partitions of a table now, after the last night, and the maximum in between.

    rows, files: catalog rows and files on one segment (PostgreSQL: the server), by the cost model,
                 if new partitions are like those of today; null if unknown
    """

    table: str
    leaves: int
    leaves_after: int
    most: int
    rows: int | None
    rows_after: int | None
    files: int | None
    files_after: int | None


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """The coming nights.

    idle: nights without work; curve: (day, leaf partitions of all tables), about 60 points
    """

    format: str = msgspec.field(default="gpcatalog.upkeep-calendar/1", name="schema")
    database: str
    first: str
    days: int
    idle: int
    nights: list[NightLine]
    tables: list[TableForecast]
    curve: list[tuple[str, int]]
    left_alone: list[LeftAlone]
    notes: list[str]


def _costs(reader: Reader, table: ReadTable) -> tuple[float, float] | None:
    """Average catalog rows and files of a leaf of a table on one segment; None if unknown."""
    rows = files = leaves = 0.0
    if table.root.level:
        for chunk in reader.chunks({table.root.index}):
            rows += float(chunk.rows.sum())
            files += float(chunk.files.sum())
            leaves += float(chunk.leaves.sum())
    return (rows / leaves, files / leaves) if leaves else None


# Greenplum 6.24.3, 1,000 column-oriented leaves: ADD of a partition takes 30 ms. With EXCHANGE and
# DROP of a table that was created before, it takes 48 ms (7 of them: 334 ms). With a default
# partition, which is dropped and added again, it takes 150 ms.
EXCHANGE_FACTOR, DEFAULT_PARTITION_FACTOR = 48 / 30, 150 / 30


# Every server scans the default partition under the lock for each new partition. 1.5 million rows
# in memory, 192 MiB on 2 cores: 0.2 s on PostgreSQL 18 (960 MiB/s), 0.12 s on 3 segments of
# Greenplum 6 and 7 (530 MiB/s per segment).
SCAN_RATE = 500 * 1024 * 1024  # bytes per second on one segment
SCAN_ROWS = 4_000_000  # rows per second on one segment; compressed rows have few bytes


def _scan_seconds(t: TableState) -> float | None:
    """Estimated time of one scan of the largest default partition; None if its size is unknown."""
    found = 0.0
    for s in t.sets:
        if s.default is None:
            continue
        if s.default.bytes is None or s.default.segment_bytes is None:
            return None
        # all its leaves on the fullest segment
        size = min(s.default.bytes, s.default.segment_bytes * s.default.leaves)
        rows = (s.default.rows or 0.0) * size / (s.default.bytes or 1)
        found = max(found, size / SCAN_RATE, rows / SCAN_ROWS)
    return found


_GONE = {"drop": "dropped", "detach": "detached", "externalize": "externalized"}


class _Locks:
    """How long readers wait for the steps of a night, by the time model of DDL."""

    def __init__(self, reader: Reader) -> None:
        self.generation = reader.snapshot.header["generation"]
        self.classic = bool(reader.generation.rule_catalogs)

    def seconds(self, table: ReadTable, leaves: int, line: dict[str, int]) -> float | None:
        """Longest wait for one step of a night, in seconds; None if the size of a default partition
        that is scanned is unknown.
        """
        default = any(s.default is not None for s in table.state.sets)
        add, drop = (
            durations.seconds(self.generation, table.shape, action, leaves) or 0.0
            for action in (durations.Action.ADD, durations.Action.DROP_PARTITION)
        )
        found = 0.0
        if line.get("created"):
            # on other servers, readers and writers continue during ATTACH if there is no default
            # partition
            each = add if default else 0.0
            if self.classic:
                each = add * (DEFAULT_PARTITION_FACTOR if default else EXCHANGE_FACTOR)
            scan = _scan_seconds(table.state)
            if scan is None:
                return None
            each += scan
            # with a default partition, each is a separate step unless rows of the default partition
            # are moved
            alone = default and not table.state.rules.move_default
            found = each * (1 if alone else line["created"])
        if line.get("into"):
            found = max(found, add + drop * line["merged"] / line["into"])
        one = bool(line.get("detached") or line.get("externalized"))
        gone = drop * line["dropped"] if line.get("dropped") else drop * one
        return max(found, gone)


def _lines(by_oid: dict[int, ReadTable], at: ForecastNight, locks: _Locks) -> Iterable[NightLine]:
    counts: dict[int, dict[str, int]] = {}
    unknown: set[int] = set()

    def add(oid: int, what: str, number: int) -> None:
        line = counts.setdefault(oid, {})
        line[what] = line.get(what, 0) + number

    for c in at.night.create:
        if c.why != "default rows":
            add(c.table, "created", len(c.new))
    for r in at.night.retire:
        add(r.table, _GONE[r.how], len(r.parts))
        if r.how == "externalize":
            add(r.table, "bytes", sum(p.bytes or 0 for p in r.parts))
            unknown |= {r.table for p in r.parts if p.bytes is None}
    for m in at.night.rollups:
        add(m.table, "merged", len(m.parts) if m.complete else 0)
        add(m.table, "into", int(m.complete))
        add(m.table, "unfinished", int(not m.complete))
        add(m.table, "bytes", m.bytes)
    for oid, line in counts.items():
        t = by_oid[oid].state
        seconds = locks.seconds(by_oid[oid], at.leaves[oid], line)
        copied = line.pop("bytes", 0)
        yield NightLine(
            day=_day(at.now),
            table=qualified(t.schema, t.name),
            **line,
            bytes=None if oid in unknown else copied,
            lock_seconds=None if seconds is None else round(seconds, 3),
            consent="--allow-drop" if line.get("dropped") else "",
        )


def calendar(
    reader: Reader,
    tables: Sequence[ReadTable],
    unplanned: Sequence[Unplanned],
    nights: Iterable[ForecastNight],
    days: int,
    now: int,
) -> Calendar:
    """The calendar of the nights. `nights` is iterated once. now: microseconds since 1970, UTC."""
    by_oid = {t.state.oid: t for t in tables}
    locks = _Locks(reader)
    lines: list[NightLine] = []
    idle = 0
    last = {t.state.oid: t.state.leaves for t in tables}
    most = dict(last)
    curve: list[tuple[str, int]] = []
    notes: dict[str, None] = {}
    for n, at in enumerate(nights):
        found = list(_lines(by_oid, at, locks))
        lines += found
        idle += not found
        last = at.leaves
        most = {oid: max(most[oid], number) for oid, number in last.items()}
        if n % max(days // 60, 1) == 0 or n == days - 1:
            curve.append((_day(at.now), sum(last.values())))
        if n == 0:
            for note in at.night.notes:
                t = by_oid[note.table].state
                notes[f"{qualified(t.schema, t.name)}: {note.text}"] = None
    waits = sum(bool(t.state.rules.quiet) for t in tables)
    if waits:
        text = f"{plural(waits, 'table')} with quiet: the script of a night looks at the files, and"
        notes[f"{text} may merge less than this forecast"] = None
    if any(line.lock_seconds is None for line in lines):
        notes["times of locks are unknown where the size of a default partition is unknown"] = None
    forecasts = []
    for read in tables:
        costs = _costs(reader, read)
        t = read.state
        before, after = t.leaves, last[t.oid]
        forecasts.append(
            TableForecast(
                table=qualified(t.schema, t.name),
                leaves=before,
                leaves_after=after,
                most=most[t.oid],
                rows=None if costs is None else round(costs[0] * before),
                rows_after=None if costs is None else round(costs[0] * after),
                files=None if costs is None else round(costs[1] * before),
                files_after=None if costs is None else round(costs[1] * after),
            )
        )
    return Calendar(
        database=reader.snapshot.header["database"],
        first=_day(now),
        days=days,
        idle=idle,
        nights=lines,
        tables=forecasts,
        curve=curve,
        left_alone=left_alone(unplanned),
        notes=list(notes),
    )


class TableStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is due for a table tonight.

    wanted_days: minimum cover that the policy requires; unit: of the cover, "days" or "partitions"
    (plain numbers); drop: those of `remove` whose rows are dropped, after their announcement
    """

    table: str
    leaves: int
    cover: Cover
    wanted_days: float
    unit: str
    create: int
    merge: int
    remove: int
    drop: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The state of upkeep. problems: sentences on what is wrong; journal: whether there is one."""

    format: str = msgspec.field(default="gpcatalog.upkeep-status/1", name="schema")
    database: str
    journal: bool
    last: Run | None
    unfinished: list[str]
    tables: list[TableStatus]
    left_alone: list[LeftAlone]
    waiting: int
    problems: list[str]


def _table_status(t: TableState, tonight: Night, now: int) -> TableStatus:
    return TableStatus(
        table=qualified(t.schema, t.name),
        leaves=t.leaves,
        cover=cover_of(t, now),
        wanted_days=t.rules.cover_days,
        unit="partitions" if t.key.width else "days",
        create=sum(len(c.new) for c in tonight.create if c.table == t.oid),
        merge=sum(len(m.parts) for m in tonight.rollups if m.table == t.oid),
        remove=sum(len(r.parts) for r in tonight.retire if r.table == t.oid),
        drop=sum(len(r.parts) for r in tonight.retire if r.table == t.oid and r.how == "drop"),
    )


ANNOUNCED_DAYS = ANNOUNCED // DAY
LONGEST_RUN = timedelta(hours=1)
"""How long a run that has not ended counts as one that goes on."""


def status(
    reader: Reader,
    tables: Sequence[ReadTable],
    unplanned: Sequence[Unplanned],
    runs: Sequence[Run] | None,
    unfinished: Sequence[str],
    now: int,
    limits: NightLimits,
) -> Status:
    """The state of upkeep.

    runs: from the journal, newest last; None if there is no journal
    """
    states = [t.state for t in tables]
    tonight = night(states, now, limits)
    found = [_table_status(t, tonight, now) for t in states]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now)
    problems = [
        f"{t.table} is covered until {t.cover.until}: {t.cover.days:g} {t.unit}, and the policy"
        f" asks for {t.wanted_days:g}"
        for t in found
        if t.cover.days is not None and t.cover.days < t.wanted_days
    ]
    problems += [f"{qualified(t.schema, t.name)}: {text}" for t in states for text in t.pending]
    problems += [f"{u.schema}.{u.name} is not maintained: {u.reason}" for u in unplanned]
    last = runs[-1] if runs else None
    if last is None:
        problems.append("no script of upkeep has run on this database")
    else:
        problems += [f"the last run failed: {reason}" for reason in last.failures]
        if last.ended is None and moment - last.begun > LONGEST_RUN:
            problems.append(
                f"the last run, begun {last.begun:%Y-%m-%d %H:%M}, has not ended: unless it still"
                " goes on, run its script again, or tonight's"
            )
        ended = [r.ended for r in runs or () if r.ended is not None]
        if not ended or moment - max(ended) > timedelta(days=OVERDUE_DAYS):
            when = f"since {max(ended):%Y-%m-%d %H:%M}" if ended else "yet"
            problems.append(f"no run has ended {when}")
    return Status(
        database=reader.snapshot.header["database"],
        journal=runs is not None,
        last=last,
        unfinished=list(unfinished),
        tables=found,
        left_alone=left_alone(unplanned),
        waiting=tonight.waiting,
        problems=problems,
    )
