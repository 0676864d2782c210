"""The growth section of the page: charts over a series of snapshots, and tables of changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from gpcatalog.capacity.limits import CATALOG_QUERY_SLOPE, LEAVES_CEILING_AO_ROW
from gpcatalog.capacity.trend import METHOD
from gpcatalog.emit.growth_text import (
    SKIPPED_SHOWN,
    amount,
    changed_rates,
    diverging_rows,
    older_snapshots,
    one_snapshot,
    signed,
    when,
)
from gpcatalog.emit.html_parts import Cell, figure, line_data, table
from gpcatalog.emit.svg import Curve, Lines, lines, safe
from gpcatalog.growth.points import Point
from gpcatalog.growth.projection import project
from gpcatalog.growth.result import Growth
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.quantity import count, duration, plural, size

CHANGED_SHOWN = 30  # tables in a list
_DAY = 86400.0


def _clock(points: Sequence[Point]) -> tuple[float, ...]:
    return tuple(p.taken_at.timestamp() for p in points)


def moment_text(points: Sequence[Point]) -> str:
    """The format of times on the axis of a chart: days, or hours for a short series."""
    return "%Y-%m-%d" if (points[-1].taken_at - points[0].taken_at) > timedelta(days=2) else "%H:%M"


def _instance_curves(points: Sequence[Point]) -> list[Curve]:
    """Catalog bytes of the coordinator and each segment; with more than five segments only of the
    largest, the median and the smallest one.
    """
    segments = sorted({c for p in points for c in p.contents if c >= 0})

    def curve(label: str, content: int, kind: str) -> Curve:
        return Curve(
            label,
            [
                (p.taken_at.timestamp(), float(p.bytes_of(content)))
                for p in points
                if content in p.contents
            ],
            kind,
        )

    found = [curve("coordinator" if segments else "server", -1, "a")]
    if len(segments) <= 5:
        return found + [curve(f"segment {c}", c, "bcdef"[n]) for n, c in enumerate(segments)]
    of = [
        (p.taken_at.timestamp(), sorted(float(p.bytes_of(c)) for c in p.contents if c >= 0))
        for p in points
    ]
    for label, kind, pick in (
        ("largest segment", "e", -1),
        ("median segment", "c", None),
        ("smallest segment", "f", 0),
    ):
        values = [(t, v[(len(v) - 1) // 2 if pick is None else pick]) for t, v in of if v]
        found.append(Curve(label, values, kind))
    return found


def segments_chart(points: Sequence[Point]) -> str:
    """Draw the catalog bytes of each instance over time."""
    if len(points) < 2:
        return ""
    form = moment_text(points)
    curves = _instance_curves(points)
    segments = len(curves) > 1
    title = "Catalog size by instance over time" if segments else "Catalog size over time"
    chart = Lines(
        title=title,
        curves=curves,
        x_text=lambda x: f"{datetime.fromtimestamp(x, UTC):{form}}",
        y_text=size,
        base=1024,
    )
    text = "Bytes of all catalogs of each instance." if segments else "Bytes of all catalogs."
    if segments:
        text += " If only one line falls, only that instance was vacuumed."
    return figure(title, text, lines(chart), line_data(chart, "snapshot (UTC)"))


def latency_chart(growth: Growth) -> str:
    """Draw the duration of a catalog scan against the number of leaves."""
    curves = [c for c in growth.curves if c.what.startswith("catalog scan")]
    xs = {x for c in curves for x, _ in c.points}
    if len(xs) < 2:
        return ""
    low, high = min(xs), max(xs)
    found, slopes = [], []
    for kind, c in zip("ac", curves, strict=False):
        found.append(Curve(c.what, c.points, kind, dots=True))
        if c.slope is not None and c.base is not None:
            line = [(x, c.base + c.slope * x / 10_000) for x in (low, high)]
            found.append(Curve(f"this server: {c.slope:.1f} ms / 10,000", line, kind))
            slopes.append(f"{c.slope:.1f} ms")
    published = curves[0].published
    if published is not None:
        start = min(y for c in curves for x, y in c.points if x == low)
        line = [(low, start), (high, start + published * (high - low) / 10_000)]
        found.append(Curve(f"published: {published:.0f} ms / 10,000", line, "b", dashed=True))
    own = (
        f"Every 10,000 leaves add {' and '.join(slopes)} on this server."
        if slopes
        else f"Slope of this server: {curves[0].state}."
    )
    title = "Duration of a catalog scan by number of leaves"

    def chart(digits: int) -> Lines:
        return Lines(
            title=title,
            curves=found,
            x_text=count,
            y_text=lambda y: f"{y:.{digits}f} ms" if y < 10_000 else f"{y / 1000:.{digits}f} s",
        )

    return figure(
        title,
        f"Median of each snapshot. {own}",
        lines(chart(0)),
        line_data(chart(1), "leaves"),
        f"Dashed line: {CATALOG_QUERY_SLOPE.source}; {CATALOG_QUERY_SLOPE.note}. Measured on one test cluster:"
        " prefer the slope of your own server"
        if published is not None
        else "",
    )


def forecast_chart(growth: Growth, points: Sequence[Point]) -> str:
    """Draw partitions over time, extended at the latest rate of growth."""
    series = next((s for s in growth.series if s.what == "tables and leaf partitions"), None)
    if series is None or len(points) < 2:
        return ""
    known = [(t, v) for t, v in zip(_clock(points), series.values, strict=True) if v is not None]
    found = [Curve("counted", known, "a")]
    band: list[tuple[float, float, float]] = []
    ahead = project(known)
    if ahead is not None:
        found.append(Curve("forecast", [ahead.start, ahead.end], "b", dashed=True))
        (last, start), (end, _) = ahead.start, ahead.end
        band = [(last, start, start), (end, ahead.low, ahead.high)]
        text = f"Tables and leaf partitions, and a forecast for the next {duration(end - last)}."
    else:
        text = "A forecast needs five snapshots over more than a day."
    limit = LEAVES_CEILING_AO_ROW
    top = max([v for _, v in known] + [h for _, _, h in band])
    limit_line = (
        (limit.value, f"{count(limit.value)}: {limit.source}")
        if 3 * top > limit.value and is_greenplum(points[-1].head.generation)
        else None
    )
    form = moment_text(points)
    chart = Lines(
        title="Forecast of partitions",
        curves=found,
        x_text=lambda x: f"{datetime.fromtimestamp(x, UTC):{form}}",
        y_text=count,
        band=band,
        limit=limit_line,
    )
    return figure(
        chart.title,
        text,
        lines(chart),
        line_data(chart, "snapshot (UTC)"),
        f"{METHOD}. An estimate" if band else "",
    )


# --- sections -------------------------------------------------------------------------------------


def skipped_note(growth: Growth) -> str:
    """The number of snapshots that are left out, with the first ones and the reasons."""
    if not growth.skipped:
        return ""
    first = "; ".join(f"{name}: {reason}" for name, reason in growth.skipped[:SKIPPED_SHOWN])
    more = len(growth.skipped) - SKIPPED_SHOWN
    rest = f"; and {count(more)} more" if more > 0 else ""
    number = plural(len(growth.skipped), "snapshot")
    verb = "is" if len(growth.skipped) == 1 else "are"
    return f"<p>{number} {verb} left out. {safe(first)}{rest}.</p>"


def growth_section(growth: Growth) -> str:
    """Tables of changes between the snapshots and of dates when limits will be reached."""
    note = older_snapshots(growth)
    note = f"<p class=dim>{safe(note)}</p>" if note else ""
    if len(growth.taken_at) < 2:
        if note:
            return f"<p>{safe(one_snapshot(growth))}</p>{note}"
        return (
            "<p>There is one snapshot. Take another one tomorrow to see growth:"
            " <code>gpcatalog snapshot take</code>.</p>"
        )
    out = [
        f"<p>{plural(len(growth.taken_at), 'snapshot')} in {duration(growth.days * _DAY)}:"
        f" {plural(growth.leaves_added, 'leaf', 'leaves')} added,"
        f" {count(growth.leaves_dropped)} dropped.</p>{note}",
        _changes_table(growth),
    ]
    if growth.forecasts:
        reached: list[tuple[Cell, ...]] = [
            ((f.what, f.limit_source), amount(f.now, f.unit), amount(f.limit, f.unit), when(f))
            for f in growth.forecasts
        ]
        title = "Limits that will be reached (estimate)"
        heads: tuple[str, ...] = ("limit of", "now", "limit", "reached")
        out.append(f"<h3>{title}</h3>" + table(heads, reached, label=title))
    if growth.diverging:
        title = "Segments of different size"
        heads = ("catalog", "segment", "bytes", "median", "ratio", "vacuumed separately (UTC)")
        out.append(f"<h3>{title}</h3>" + table(heads, diverging_rows(growth), label=title))
    if growth.tables:
        out.append("<h3>Tables that changed most</h3>" + _changed_tables(growth))
    return "".join(out)


def _changes_table(growth: Growth) -> str:
    """First and last value of each series; over a day or more, also the daily rate."""
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
                f"{signed(s.per_day_low, s.unit)} to {signed(s.per_day_high, s.unit)}"
                if s.per_day_low is not None
                else "not enough snapshots"
            )
            row += (signed(s.per_day, s.unit), band)
        rows.append(row)
    note = changed_rates(growth)
    daily = ("per day (estimate)", "95 % band") if long else ()
    heads = ("growth", "first", "last", "change", *daily)
    return table(heads, rows, label="Growth between the first and the last snapshot") + (
        f"<p class=dim>{safe(note)}</p>" if long and note else ""
    )


def _changed_tables(growth: Growth) -> str:
    """The tables with the largest changes of leaves, catalog rows and files."""
    rows = [
        (f"{t.schema}.{t.name}" + ("" if t.state == "there" else f" ({t.state})"), count(t.leaves_now), count(t.added),
         count(t.dropped), signed(t.rows, "rows"), signed(t.files, "files") if t.files is not None else "?",
         signed(t.bytes, "bytes") if t.bytes is not None else "?")
        for t in growth.tables[:CHANGED_SHOWN]
    ]  # fmt: skip
    heads = ("table", "leaves", "added", "dropped", "catalog rows", "files", "bytes")
    more = growth.tables_changed - len(rows)
    return table(heads, rows, label="Tables that changed most", name="changed") + (
        f"<p class=dim>{plural(more, 'more table')} changed.</p>" if more > 0 else ""
    )
