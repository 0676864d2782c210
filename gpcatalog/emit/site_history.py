"""The history page of one database on a site: charts over time, and a comparison of two
snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from gpcatalog.emit.growth_text import amount, signed
from gpcatalog.emit.html_frame import contents, document, part
from gpcatalog.emit.html_growth import (
    forecast_chart,
    growth_section,
    latency_chart,
    moment_text,
    segments_chart,
)
from gpcatalog.emit.html_parts import Section, figure, line_data, table
from gpcatalog.emit.svg import Curve, Lines, lines, safe
from gpcatalog.growth.points import Point
from gpcatalog.growth.result import Growth, Series
from gpcatalog.model.quantity import duration, plural

# drawn in a separate chart, or with the catalogs of all instances
_ELSEWHERE = ("tables and leaf partitions", "catalog bytes")
SKIPPED_SHOWN = 20


def _chart(series: Series, points: Sequence[Point]) -> str:
    """A chart of one figure over time."""
    known = [
        (p.taken_at.timestamp(), v)
        for p, v in zip(points, series.values, strict=True)
        if v is not None
    ]
    if len(known) < 2 or not any(v for _, v in known):
        return ""
    form = moment_text(points)
    title = series.what
    if not title.startswith("pg_"):
        title = title[0].upper() + title[1:]
    chart = Lines(
        title=title,
        curves=[Curve(series.what, known)],
        x_text=lambda x: f"{datetime.fromtimestamp(x, UTC):{form}}",
        y_text=lambda y: amount(y, series.unit),
        base=1024 if series.unit == "bytes" else 10,
    )
    text = f"{amount(known[0][1], series.unit)} to {amount(known[-1][1], series.unit)}"
    if series.per_day is not None:
        text += f", {signed(series.per_day, series.unit)} per day (estimate)"
    return figure(title, f"{text}.", lines(chart), line_data(chart, "snapshot (UTC)"))


def _charts(growth: Growth, points: Sequence[Point]) -> str:
    every = [forecast_chart(growth, points), segments_chart(points), latency_chart(growth)]
    every += [_chart(s, points) for s in growth.series if not s.what.startswith(_ELSEWHERE)]
    found = "".join(every)
    return f"<div class=charts>{found}</div>" if found else ""


def _compare(growth: Growth) -> str:
    """The form to compare two snapshots; the script fills it."""
    if len(growth.taken_at) < 2:
        return ""
    boxes = "".join(
        f"<label>{words} <select id={name} disabled></select></label>"
        for words, name in (("From", "from"), ("to", "to"))
    )
    kinds = "".join(f"<option>{kind}" for kind in ("tables", "schemas", "catalogs", "totals"))
    return (
        f"<div class=tools>{boxes}<label>Show <select id=kind disabled>{kinds}</select></label>"
        "</div><p id=compare-note class=dim role=status></p><div id=compare-rows><noscript>"
        "<p>The comparison needs JavaScript.</p></noscript></div>"
    )


def _schemas(growth: Growth) -> str:
    """The growth of each schema over the period."""
    rows = [
        (s.schema, s.name, f"{s.leaves_now:,}", signed(s.rows, "rows"),
         signed(s.files, "files"), signed(s.bytes, "bytes"))
        for s in growth.schemas
    ]  # fmt: skip
    if not rows or len(growth.taken_at) < 2:
        return ""
    title = "Schemas that changed most"
    heads = ("schema", "tables", "leaves", "catalog rows", "files", "size")
    return f"<h3>{title}</h3>" + table(heads, rows, label=title, left=2)


def _skipped(growth: Growth) -> str:
    """Snapshots that were left out, with the reasons."""
    if not growth.skipped:
        return ""
    rows = list(growth.skipped[:SKIPPED_SHOWN])
    more = len(growth.skipped) - len(rows)
    foot = (f"{more:,} more", "") if more > 0 else ()
    return table(("snapshot", "reason"), rows, label="Snapshots left out", left=2, foot=foot)


def page(
    place: str, growth: Growth, points: Sequence[Point], links: Sequence[tuple[str, str]]
) -> str:
    """The page of one database. place: its cluster and name; links: other pages of the site."""
    first, last = growth.taken_at[0], growth.taken_at[-1]
    sections = [
        Section("charts", "Charts", _charts(growth, points)),
        Section("compare", "Two snapshots compared", _compare(growth)),
        Section("growth", "Growth", growth_section(growth) + _schemas(growth)),
        Section("skipped", "Snapshots left out", _skipped(growth)),
    ]
    sections = [s for s in sections if s.body]
    anchors = [(s.title, f"#{s.anchor}") for s in sections]
    body = (
        '<a class=skip href="#main">Skip to the charts</a>'
        f"<header>{contents(links, 'Site')}<h1>History of {safe(place)}</h1>"
        f"<p class=dim>{plural(len(points), 'snapshot')}, {first:%Y-%m-%d %H:%M} to"
        f" {last:%Y-%m-%d %H:%M} UTC ({duration(growth.days * 86400)})</p>"
        f"{contents(anchors, 'Contents')}</header>"
        f"<main id=main tabindex=-1>{''.join(s.html() for s in sections)}</main>"
        f"<footer>{safe(growth.method)}.</footer>"
    )
    page_script = part("page.js")
    compared = len(growth.taken_at) > 1
    if compared:
        page_script += part("rows.js") + part("compare.js")
    data = ("history.js",) if compared else ()
    return document(f"History of {place} · gpcatalog", body, page_script, data=data)
