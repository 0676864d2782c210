"""The page's part on growth: charts over a series of snapshots, and what changed between them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from gpcatalog.capacity.limits import (
    CATALOG_QUERY_SLOPE,
    LEAVES_CEILING_AO_ROW,
)
from gpcatalog.capacity.trend import METHOD
from gpcatalog.emit.growth_text import amount, diverging_rows, signed, when
from gpcatalog.emit.html_parts import Cell, figure, table
from gpcatalog.emit.svg import Curve, Lines, lines
from gpcatalog.growth.points import Point
from gpcatalog.growth.projection import project
from gpcatalog.growth.result import Growth
from gpcatalog.model.quantity import count, duration, plural, size

# of the page that the list of tables may take; what is left out is summed up in its last row
TABLES_BYTES = 200_000
FINDINGS_SHOWN = 60
LOCKS_SHOWN = 12
SEGMENTS_SHOWN = 64
_DAY = 86400.0


# --- the verdict ----------------------------------------------------------------------------------


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"


def _clock(points: Sequence[Point]) -> tuple[float, ...]:
    return tuple(p.taken_at.timestamp() for p in points)


def _moment_text(points: Sequence[Point]) -> str:
    return "%Y-%m-%d" if (points[-1].taken_at - points[0].taken_at) > timedelta(days=2) else "%H:%M"


def segments_chart(points: Sequence[Point]) -> str:
    """Draw the bytes of pg_attribute on each segment over time."""
    if len(points) < 2:
        return ""
    form = _moment_text(points)
    segments = sorted({c for p in points for c in p.contents if c >= 0})
    entry = Curve(
        "coordinator" if segments else "server",
        [(p.taken_at.timestamp(), float(p.bytes_of(-1))) for p in points if -1 in p.contents],
        "a",
    )
    found = [entry]
    if 0 < len(segments) <= 5:
        found += [
            Curve(
                f"segment {c}",
                [(p.taken_at.timestamp(), float(p.bytes_of(c))) for p in points if c in p.contents],
                "bcdef"[n],
            )
            for n, c in enumerate(segments)
        ]
    elif segments:
        of = [
            (p.taken_at.timestamp(), sorted(float(p.bytes_of(c)) for c in p.contents if c >= 0))
            for p in points
        ]
        for label, kind, pick in (
            ("largest segment", "e", -1),
            ("median segment", "c", None),
            ("smallest segment", "f", 0),
        ):
            found.append(
                Curve(
                    label,
                    [(t, v[(len(v) - 1) // 2 if pick is None else pick]) for t, v in of if v],
                    kind,
                )
            )
    return figure(
        "Do all segments' catalogs grow alike?",
        "catalog bytes of each instance over time; a line that falls alone was vacuumed alone.",
        lines(
            Lines(
                title="catalog bytes of each instance over time",
                curves=found,
                x_text=lambda x: f"{datetime.fromtimestamp(x, UTC):{form}}",
                y_text=size,
                base=1024,
            )
        ),
    )


def latency_chart(growth: Growth) -> str:
    """Draw the time of a catalog scan against leaves."""
    wanted = [c for c in growth.curves if c.what.startswith("catalog scan")]
    if len({x for c in wanted for x, _ in c.points}) < 2:
        return ""
    found, says = [], []
    widest = max(x for c in wanted for x, _ in c.points) or 10_000
    for kind, c in zip("ac", wanted, strict=False):
        found.append(Curve(c.what, c.points, kind, dots=True))
        if c.slope is not None and c.base is not None:
            ends = (min(x for x, _ in c.points), widest)
            found.append(
                Curve(
                    f"own slope {c.slope:.1f} ms / 10,000",
                    [(x, c.base + c.slope * x / 10_000) for x in ends],
                    kind,
                )
            )
            says.append(f"{c.slope:.1f} ms")
    start = min(
        (y for c in wanted for x, y in c.points if x == min(x for x, _ in c.points)), default=0.0
    )
    low = min(x for c in wanted for x, _ in c.points)
    published = [(x, start + CATALOG_QUERY_SLOPE.value * (x - low) / 10_000) for x in (low, widest)]
    if widest > low:
        found.append(
            Curve(
                f"published: {CATALOG_QUERY_SLOPE.value:.0f} ms / 10,000",
                published,
                "b",
                dashed=True,
            )
        )
    own = (
        f"own slope {' and '.join(says)} for every 10,000 leaves"
        if says
        else "too few different numbers of leaves for a slope of its own"
    )
    return figure(
        "How long does one scan of the catalog take?",
        f"median of each snapshot against leaves; {own}.",
        lines(
            Lines(
                title="catalog scan against leaves",
                curves=found,
                x_text=count,
                y_text=lambda y: f"{y:.0f} ms" if y < 10_000 else f"{y / 1000:.0f} s",
            )
        ),
        f"{CATALOG_QUERY_SLOPE.source}; {CATALOG_QUERY_SLOPE.note}. One vendor's stand: your own"
        " measurement wins.",
    )


def forecast_chart(growth: Growth, points: Sequence[Point]) -> str:
    """Draw partitions over time, carried on by the trend."""
    series = next((s for s in growth.series if s.what.startswith("partitions")), None)
    if series is None or len(points) < 2:
        return ""
    known = [(t, v) for t, v in zip(_clock(points), series.values, strict=True) if v is not None]
    found = [Curve("counted", known, "a")]
    band: list[tuple[float, float, float]] = []
    ahead = project(known)
    if ahead is not None:
        found.append(Curve("by the line", [ahead.start, ahead.end], "b", dashed=True))
        (last, start), (far, _) = ahead.start, ahead.end
        band = [(last, start, start), (far, ahead.low, ahead.high)]
        says = f"as far ahead as the series goes back ({duration(far - last)})."
    else:
        says = (
            "too few points or too short a time for a band: five snapshots over more than a day are"
            " needed."
        )
    limit = LEAVES_CEILING_AO_ROW
    top = max([v for _, v in known] + [h for _, _, h in band])
    near = (
        (limit.value, f"{count(limit.value)}: {limit.source}")
        if 3 * top > limit.value and points[-1].header["generation"][:2] != "pg"
        else None
    )
    form = _moment_text(points)
    return figure(
        "Where do the partitions go?",
        says,
        lines(
            Lines(
                title="partitions over time with a forecast",
                curves=found,
                x_text=lambda x: f"{datetime.fromtimestamp(x, UTC):{form}}",
                y_text=count,
                band=band,
                limit=near,
            )
        ),
        f"{METHOD}. An estimate." if band else "",
    )


# --- sections -------------------------------------------------------------------------------------


def growth_section(growth: Growth) -> str:
    """Write the tables of what grew, through which tables, and when limits are reached."""
    if len(growth.taken_at) < 2:
        return "<h2>Growth</h2><p class=dim>One snapshot has no growth: take one a day.</p>"
    out = [
        (
            f"<h2>Growth</h2><p>{plural(len(growth.taken_at), 'snapshot')} in"
            f" {duration(growth.days * _DAY)}; leaves added {count(growth.leaves_added)}, dropped"
            f" {count(growth.leaves_dropped)}.</p>"
        ),
        _changes_table(growth),
    ]
    if growth.forecasts:
        reached: list[tuple[Cell, ...]] = [
            ((f.what, f.limit_source), amount(f.now, f.unit), amount(f.limit, f.unit), when(f))
            for f in growth.forecasts
        ]
        out.append(
            "<h3>When limits are reached (estimate)</h3>"
            + table(("limit of", "now", "limit", "reached"), reached)
        )
    if growth.diverging:
        heads = ("catalog", "segment", "bytes", "median", "of median", "shrank alone")
        out.append("<h3>Diverging segments</h3>" + table(heads, diverging_rows(growth)))
    if growth.tables:
        out.append("<h3>Tables that changed most</h3>" + _changed_tables(growth))
    return "".join(out)


def _changes_table(growth: Growth) -> str:
    """What each series changed by; over a day or more, also by how much a day."""
    long = growth.days >= 1
    rows: list[tuple[Cell, ...]] = []
    for s in growth.series:
        then = next(v for v in s.values if v is not None)
        row: tuple[Cell, ...] = (
            s.what,
            amount(then, s.unit),
            amount(s.now, s.unit),
            signed(s.change, s.unit),
        )
        if long:
            band = (
                f"{signed(s.per_day_low, s.unit)} … {signed(s.per_day_high, s.unit)}"
                if s.per_day_low is not None
                else "too few points"
            )
            row += (signed(s.per_day, s.unit), band)
        rows.append(row)
    return table(
        ("", "then", "now", "change", *(("a day (estimate)", "band") if long else ())), rows
    )


def _changed_tables(growth: Growth) -> str:
    """The tables whose leaves, catalog rows and files changed most."""
    rows = [
        (f"{t.schema}.{t.name}", t.state, count(t.leaves_now), count(t.added), count(t.dropped), signed(t.rows, "rows"),
         signed(t.files, "files") if t.files is not None else "?", signed(t.bytes, "bytes") if t.bytes is not None else "?")
        for t in growth.tables[:30]
    ]  # fmt: skip
    return table(
        ("table", "", "leaves", "added", "dropped", "catalog rows", "files", "bytes"),
        rows,
        name="changed",
        left=2,
    )
