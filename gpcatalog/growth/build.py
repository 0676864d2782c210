"""Compute growth, rates and forecasts from points in time."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from gpcatalog.capacity import limits
from gpcatalog.capacity.limits import LOCK_SLOTS_SOURCE, Limit
from gpcatalog.capacity.trend import FEW, METHOD, TrendLine, fit, recent
from gpcatalog.growth.points import Point
from gpcatalog.growth.result import (
    Churn,
    Divergence,
    Forecast,
    GrowingTable,
    Growth,
    InstanceGrowth,
    LastOperation,
    OlderSnapshots,
    OperationDay,
    Series,
)
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.quantity import plural
from gpcatalog.model.timing import Curve, Timing

DAY = 86400.0
TOP = 50  # tables and schemas in a result
DIVERGENCE_RATIO = 1.25  # lowest ratio to the median segment that is reported as divergence
DIVERGENCE_BYTES = 1 << 20  # lowest difference in bytes to the median segment that is reported
SHRANK = 0.8
SHORTEST = 1.0  # days; a shorter series has no forecast, because it lacks the daily cycle
SHOWN = timedelta(days=14)  # shortest period of the days on which relations were created or altered
LONGEST_FORECAST = timedelta(days=20 * 365)
CURVES = {
    "scan": "catalog scan",
    "scan dispatched": "catalog scan, all segments",
    "describe": r"\d without a name",
}


def _has_segments(points: Sequence[Point]) -> bool:
    return is_greenplum(points[-1].head.generation)


def _entry(points: Sequence[Point]) -> str:
    """The addition to names of series of the coordinator; empty on a server without segments."""
    return ", coordinator" if _has_segments(points) else ""


def _days(points: Sequence[Point]) -> list[float]:
    return [(p.taken_at - points[0].taken_at).total_seconds() / DAY for p in points]


def _line(days: Sequence[float], values: Sequence[float | None]) -> TrendLine | None:
    known = [(x, y) for x, y in zip(days, values, strict=True) if y is not None]
    return recent([x for x, _ in known], [y for _, y in known]) if len(known) > 1 else None


def _series(
    what: str, unit: str, days: Sequence[float], values: Sequence[float | None]
) -> Series | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    line = _line(days, values)
    return Series(
        what=what,
        unit=unit,
        values=tuple(values),
        now=known[-1],
        change=known[-1] - known[0],
        per_day=line.slope if line else None,
        per_day_low=line.low if line else None,
        per_day_high=line.high if line else None,
        points=line.points if line else len(known),
        since_day=line.since if line else 0.0,
    )


def _median(values: Sequence[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


def _all_series(points: Sequence[Point], days: Sequence[float]) -> list[Series]:
    """All series for which at least one point has values."""
    found = [
        *_relation_series(points, days),
        *_catalog_series(points, days),
        _file_series(points, days),
        _series("database bytes", "bytes", days, [p.head.database_bytes for p in points]),
        _series("temporary relations", "rows", days, [float(p.temporary) for p in points]),
    ]
    return [s for s in found if s is not None]


def _relation_series(points: Sequence[Point], days: Sequence[float]) -> list[Series | None]:
    """Numbers of partitions and of their rows in the catalog."""
    return [
        _series(
            "tables and leaf partitions",
            "leaves",
            days,
            [float(p.partitions) for p in points],
        ),
        _series("leaf partitions", "leaves", days, [float(p.leaves) for p in points]),
        _series(
            "column-oriented leaves", "leaves", days, [float(p.leaves_ao_column) for p in points]
        )
        if _has_segments(points)
        else None,
        _series(
            f"pg_class rows{_entry(points)}",
            "rows",
            days,
            [p.relations.get(-1, (None, None))[0] for p in points],
        ),
        _series(
            f"pg_attribute rows{_entry(points)}",
            "rows",
            days,
            [p.relations.get(-1, (None, None))[1] for p in points],
        ),
    ]


def _catalog_series(points: Sequence[Point], days: Sequence[float]) -> list[Series | None]:
    """Bytes of catalogs: of the coordinator or server, of segments, and reclaimable bytes."""
    segments = [[p.bytes_of(c) for c in p.contents if c >= 0] for p in points]
    found = [
        _series(
            f"catalog bytes{_entry(points)}",
            "bytes",
            days,
            [float(p.bytes_of(-1)) if -1 in p.contents else None for p in points],
        )
    ]
    if any(segments):
        found += [
            _series(
                "catalog bytes, median segment",
                "bytes",
                days,
                [_median(s) if s else None for s in segments],
            ),
            _series(
                "catalog bytes, largest segment",
                "bytes",
                days,
                [max(s, default=None) for s in segments],
            ),
        ]
    reclaimable = [
        (
            float(sum(max(0, h.bytes - h.needed) for h in p.held.values() if h.needed is not None))
            if p.held
            else None
        )
        for p in points
    ]
    everywhere = ", all instances" if _has_segments(points) else ""
    found.append(_series(f"reclaimable catalog bytes{everywhere}", "bytes", days, reclaimable))
    return found


def _counted_alike(
    points: Sequence[Point], value: Callable[[Point], int | None]
) -> list[float | None]:
    """A number of files of each point; None if it was counted differently than in the newest
    point.
    """
    # the files of each instance are counted in a sample, too
    bases = [p.files_basis.replace("sample", "directory") for p in points]
    found = [
        value(p) if basis and basis == bases[-1] else None
        for p, basis in zip(points, bases, strict=True)
    ]
    return [None if n is None else float(n) for n in found]


def _file_series(points: Sequence[Point], days: Sequence[float]) -> Series | None:
    """All files of the database, as in the audit."""
    counted = _counted_alike(points, lambda p: p.files)
    where = "all segments" if _has_segments(points) else "this server"
    return _series(f"files, {where}", "files", days, counted)


def _instances(first: Point, last: Point, days: float) -> list[InstanceGrowth]:
    out = []
    for content, relation in sorted(last.held, key=lambda k: (k[1], k[0])):
        now = last.held[content, relation]
        then = first.held.get((content, relation))
        rows = (
            now.rows - then.rows
            if then and now.rows is not None and then.rows is not None
            else None
        )
        out.append(
            InstanceGrowth(
                content=content,
                relation=relation,
                rows_then=then.rows if then else None,
                rows_now=now.rows,
                bytes_then=then.bytes if then else None,
                bytes_now=now.bytes,
                rows_per_day=rows / days if rows is not None and days > 0 else None,
                bytes_per_day=(now.bytes - then.bytes) / days if then and days > 0 else None,
            )
        )
    return out


def _diverging(points: Sequence[Point]) -> list[Divergence]:
    last = points[-1]
    relations = sorted({relation for _, relation in last.held})
    by_point = []  # relation → (median bytes, content → bytes) of each point
    for p in points:
        grouped: dict[str, dict[int, int]] = defaultdict(dict)
        for (content, relation), catalog in p.held.items():
            if content >= 0:
                grouped[relation][content] = catalog.bytes
        by_point.append({r: (_median(list(of.values())), of) for r, of in grouped.items()})
    out = []
    for relation in relations:
        median, of = by_point[-1].get(relation, (0, {}))
        for content, bytes_ in sorted(of.items()):
            if (
                len(of) < 3
                or abs(bytes_ - median) < DIVERGENCE_BYTES
                or 1 / DIVERGENCE_RATIO < bytes_ / max(1, median) < DIVERGENCE_RATIO
            ):
                continue
            first = by_point[0].get(relation)
            then = (
                first[1][content] / first[0] if first and first[0] and content in first[1] else None
            )
            shrank: datetime | None = None
            for n in range(1, len(points)):
                before, after = by_point[n - 1].get(relation), by_point[n].get(relation)
                if (
                    before is None
                    or after is None
                    or content not in before[1]
                    or content not in after[1]
                ):
                    continue
                if (
                    after[1][content] < SHRANK * before[1][content]
                    and after[0] >= SHRANK * before[0]
                ):
                    shrank = points[n].taken_at
            out.append(
                Divergence(
                    relation=relation,
                    content=content,
                    bytes=bytes_,
                    median=median,
                    ratio=bytes_ / max(1, median),
                    then=then,
                    shrank_at=shrank,
                )
            )
    return sorted(out, key=lambda d: (-abs(d.bytes - d.median), d.relation, d.content))


def _moves(points: Sequence[Point]) -> tuple[Counter[int], Counter[int], int]:
    """Leaves added and dropped by root between consecutive snapshots, and the number of pairs of
    snapshots that both list their leaves.
    """
    added: Counter[int] = Counter()
    dropped: Counter[int] = Counter()
    for point in points[1:]:
        if point.moves is not None:
            added.update(point.moves.added)
            dropped.update(point.moves.dropped)
            continue
        for root, (old, new) in point.changes.items():  # short-lived leaves are unknown
            net = (new.leaves if new else 0) - (old.leaves if old else 0)
            (added if net > 0 else dropped)[root] += abs(net)
    return +added, +dropped, sum(point.moves is not None for point in points[1:])


def _difference(then: Any, now: Any) -> int | None:
    return now - then if then is not None and now is not None else None


def _growing_tables(
    points: Sequence[Point], added: Counter[int], dropped: Counter[int]
) -> tuple[list[GrowingTable], list[GrowingTable]]:
    first, last = points[0].roots, points[-1].roots
    seen = dict(first)
    for p in points[1:]:
        seen.update({oid: new for oid, (_, new) in p.changes.items() if new is not None})
    tables = []
    for root, known in seen.items():
        then, now = first.get(root), last.get(root)
        state = "there" if then and now else "new" if now else "dropped"
        tables.append(
            GrowingTable(
                schema=known.schema,
                name=known.name,
                state=state,
                leaves_then=then.leaves if then else 0,
                leaves_now=now.leaves if now else 0,
                added=added[root],
                dropped=dropped[root],
                rows=sum(
                    s * (r.class_rows + r.attribute_rows)
                    for s, r in ((1, now), (-1, then))
                    if r is not None
                ),
                files=_difference(then.files if then else 0, now.files if now else 0),
                bytes=_difference(then.bytes if then else 0, now.bytes if now else 0),
            )
        )
    schemas: dict[str, list[GrowingTable]] = defaultdict(list)
    for t in tables:
        schemas[t.schema].append(t)

    def total(of: list[GrowingTable], column: str) -> int | None:
        values = [getattr(g, column) for g in of]
        return None if None in values else sum(values)

    by_schema = [
        GrowingTable(
            schema=name,
            name=plural(len(of), "table"),
            state="there",
            leaves_then=total(of, "leaves_then") or 0,
            leaves_now=total(of, "leaves_now") or 0,
            added=total(of, "added") or 0,
            dropped=total(of, "dropped") or 0,
            rows=total(of, "rows") or 0,
            files=total(of, "files"),
            bytes=total(of, "bytes"),
        )
        for name, of in schemas.items()
    ]

    def weight(g: GrowingTable) -> tuple[float, float, str, str]:
        return (-abs(g.rows), -(g.added + g.dropped), g.schema, g.name)

    moved = [t for t in tables if t.rows or t.added or t.dropped or t.files or t.bytes]
    return (
        sorted(moved, key=weight),
        sorted((s for s in by_schema if s.rows or s.added or s.dropped), key=weight),
    )


def _churn(points: Sequence[Point], days: float) -> list[Churn]:
    """Rows that were inserted into and deleted from pg_class and pg_attribute. Counters that
    decreased (after a restart or a reset) count from 0.
    """
    counted: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for old, new in itertools.pairwise(points):
        before = {
            (t.what, t.content, t.subject): t.n for t in old.timings if t.what.startswith("rows ")
        }
        for t in new.timings:
            earlier = before.get((t.what, t.content, t.subject))
            if earlier is None or t.content is None:
                continue
            counted[t.content, t.subject][t.what.removeprefix("rows ")] += (
                t.n - earlier if t.n >= earlier else t.n
            )
    first, last = points[0], points[-1]
    out = []
    for (content, relation), n in sorted(
        counted.items(), key=lambda item: (item[0][1], item[0][0])
    ):
        place = 0 if relation == "pg_class" else 1
        net = None
        if content in first.relations and content in last.relations:
            net = last.relations[content][place] - first.relations[content][place]
        passing = max(0, n["inserted"] - net) if net is not None else None
        rate = passing / days if passing is not None and days > 0 else None
        out.append(
            Churn(
                content=content,
                relation=relation,
                inserted=n["inserted"],
                updated=n["updated"],
                deleted=n["deleted"],
                net=net,
                passing=passing,
                per_day=rate,
            )
        )
    return out


def reach(
    *, now: float, limit: float, line: TrendLine | None, last: datetime, x: float
) -> tuple[str, date | None, date | None, date | None]:
    """The state of a limit, and the expected, earliest and latest day when it will be reached.

    now, last: the last measurement and its time, from which the slopes of the line are extended
    x:         days from the first measurement to the last

    >>> last = datetime(2026, 1, 1)
    >>> reach(now=80, limit=100, line=TrendLine(1, 0, None, None, 3), last=last, x=80.0)[0]
    'too few points'
    >>> reach(now=80, limit=100, line=TrendLine(2, 0, 1, 4, 9), last=last, x=80.0)[1].isoformat()
    '2026-01-11'
    """
    if now >= limit:
        return "over", None, None, None
    if line is None or line.points < FEW or line.low is None or line.high is None:
        return "too few points", None, None, None
    if x < SHORTEST:
        return "too short a time", None, None, None

    def day(slope: float) -> date | None:
        if slope <= 0:
            return None
        left = timedelta(days=min((limit - now) / slope, LONGEST_FORECAST.days + 1.0))
        return (last + left).date() if left <= LONGEST_FORECAST else None

    if line.high <= 0 or (line.slope <= 0 and day(line.high) is None):
        return "not growing", None, None, None
    expected = day(line.slope)
    earliest = day(line.high)
    if expected is None:
        return ("not growing" if line.slope <= 0 else "far"), None, earliest, None
    return "reached", expected, earliest, day(line.low)


def _lock_needs(points: Sequence[Point]) -> list[float | None]:
    """Locks of DROP or TRUNCATE of the largest table, from its rows of pg_class, which a pruned
    snapshot has, too, and the locks per row of the last snapshot.
    """
    last = points[-1]
    known = last.most_locks is not None and last.most_class_rows > 0
    each = (last.most_locks or 0) / last.most_class_rows if known else 1.0
    return [each * p.most_class_rows for p in points]


def _forecasts(points: Sequence[Point], days: Sequence[float]) -> list[Forecast]:
    last = points[-1]
    greenplum = is_greenplum(last.head.generation)
    limited_series: list[tuple[str, list[float | None], Limit]] = []
    if greenplum:
        limited_series.append(
            (
                "column-oriented leaves",
                [float(p.leaves_ao_column) for p in points],
                limits.LEAVES_CEILING_AOCO,
            )
        )
        limited_series.append(
            (
                "tables and leaf partitions",
                [float(p.partitions) for p in points],
                limits.LEAVES_CEILING_AO_ROW,
            )
        )
        limited_series.append(
            ("leaves of the largest table", [float(p.most_leaves) for p in points],
             limits.LEAVES_PER_TABLE)
        )  # fmt: skip
        fullest = _counted_alike(points, lambda p: p.files_on_fullest_host)
        if fullest[-1] is not None:
            limited_series.append(
                ("files on the host with the most files", fullest, limits.FILES_PER_HOST)
            )
    if last.slots:
        slots = Limit(
            "lock-slots", last.slots, "locks", LOCK_SLOTS_SOURCE, "shared by all sessions"
        )
        limited_series.append(
            ("lock slots to drop or truncate the largest table",
             _lock_needs(points), slots)
        )  # fmt: skip
    if last.xid_age is not None and last.xid_limits is not None:
        ages = [None if p.xid_age is None else float(p.xid_age) for p in points]
        found = last.xid_limits
        stop = Limit("transactions-age", found.stop, "transactions", found.source)
        # below this age the server freezes automatically, and the age decreases: a line does not
        # show this
        if not found.freezes or last.xid_age >= found.finding:
            limited_series.append(("age of the oldest transaction", ages, stop))
    out = []
    for what, values, limit in limited_series:
        line = _line(days, values)
        now = next(v for v in reversed(values) if v is not None)
        state, expected, earliest, latest = reach(
            now=now, limit=limit.value, line=line, last=last.taken_at, x=days[-1]
        )
        out.append(
            Forecast(
                what=what, unit=limit.unit, now=now, limit=limit.value, limit_source=limit.source, limit_note=limit.note, state=state,
                per_day=line.slope if line else None, per_day_low=line.low if line else None, per_day_high=line.high if line else None,
                expected=expected, earliest=earliest, latest=latest, points=line.points if line else len(set(days)),
                since_day=line.since if line else 0.0,
            )
        )  # fmt: skip
    return out


def curves(series: Sequence[Sequence[Timing]], *, generation: str) -> list[Curve]:
    """Durations of catalog queries by number of leaves, with the slope on this server.

    Slopes are ms per 10,000 leaves. For Greenplum, the published slope is added.
    """
    out = []
    published = limits.CATALOG_QUERY_SLOPE if is_greenplum(generation) else None
    for what, title in CURVES.items():
        found = [
            (float(t.leaves), t.median_ms)
            for timings in series
            for t in timings
            if t.what == what and t.leaves is not None and t.median_ms
        ]
        if not found:
            continue
        line = (
            fit([x for x, _ in found], [y for _, y in found])
            if len({x for x, _ in found}) >= 3
            else None
        )
        if line is not None and (line.slope <= 0 or (line.low is not None and line.low <= 0)):
            line = None  # other causes outweigh the leaves: there is no usable slope
            state = "no clear effect of the number of leaves"
        else:
            state = "" if line is not None else "too few points"
        per = 10_000
        if what == "scan" and published is not None:
            title += ", coordinator"
        out.append(
            Curve(
                what=title,
                points=tuple(sorted(found)),
                slope=line.slope * per if line else None,
                slope_low=line.low * per if line and line.low is not None else None,
                slope_high=line.high * per if line and line.high is not None else None,
                base=line.base if line else None,
                state=state,
                published=published.value if published else None,
                source=published.source if published else "",
            )
        )
    return out


def _operation_days(point: Point, since: date) -> list[OperationDay]:
    found: dict[date, Counter[str]] = defaultdict(Counter)
    for row in point.days:
        if row.day >= since:
            found[row.day][row.action] += row.relations
            found[row.day][f"{row.action} {row.part}"] += row.relations
    return [
        OperationDay(day, n["CREATE"], n["CREATE leaf"], n["ALTER"], n["TRUNCATE"])
        for day, n in sorted(found.items())
    ]


def _last_operations(point: Point) -> list[LastOperation]:
    return [
        LastOperation(
            schema=r.schema,
            name=r.name,
            action=r.action,
            detail=r.detail or "",
            role=r.role or "",
            done_at=r.done_at.replace(tzinfo=UTC),
        )
        for r in point.operations[:TOP]
    ]


def build(
    points: Sequence[Point],
    skipped: Sequence[tuple[str, str]] = (),
    older: OlderSnapshots | None = None,
) -> Growth:
    """Growth over at least one point; one point alone has no rate and no forecast.

    skipped, older: snapshots that are not among the points, as in `series.Period`
    """
    first, last = points[0], points[-1]
    days = _days(points)
    added, dropped, pairs = _moves(points)
    tables, schemas = _growing_tables(points, added, dropped)
    head = last.head
    return Growth(
        product=head.product,
        version=head.version,
        host=head.host or "",
        port=head.port or 0,
        database=head.database,
        taken_at=tuple(p.taken_at for p in points),
        days=days[-1],
        method=METHOD,
        series=tuple(_all_series(points, days)),
        instances=tuple(_instances(first, last, days[-1])),
        diverging=tuple(_diverging(points)),
        leaves_added=sum(added.values()),
        leaves_dropped=sum(dropped.values()),
        leaves_compared=pairs,
        tables=tuple(tables[:TOP]),
        schemas=tuple(schemas[:TOP]),
        churn=tuple(_churn(points, days[-1])),
        forecasts=tuple(_forecasts(points, days)),
        curves=tuple(curves([p.timings for p in points], generation=points[-1].head.generation)),
        skipped=tuple(skipped),
        operation_days=tuple(
            _operation_days(last, min(first.taken_at, last.taken_at - SHOWN).date())
        ),
        last_operations=tuple(_last_operations(last)),
        older=older,
        tables_changed=len(tables),
        schemas_changed=len(schemas),
    )
