"""Charts as inline SVG: lines with a band, and stacked bars.

Classes select the colors from the style sheet of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from gpcatalog.model.names import printable

WIDTH = 400  # units of the view box; the page scales it, to about one pixel per unit on a phone
_LETTER = 7.6  # mean width of a letter of the 13 px font, in the same units
_GAP = 14.0  # between a text and the next element, and reserve for wide letters


def safe(text: str) -> str:
    """Text of unknown origin as HTML text or attribute: control characters and markup are
    escaped.
    """
    return escape(printable(text), quote=True)


def cut(text: str, letters: int) -> str:
    """The text, shortened in the middle to this number of letters.

    >>> cut("pg_attribute_encoding", 12)
    'pg_att…oding'
    """
    if len(text) <= letters:
        return text
    head = (letters - 1 + 1) // 2
    return f"{text[:head]}…{text[len(text) - (letters - 1 - head) :]}"


def nice(top: float, *, parts: int = 4, base: float = 10) -> list[float]:
    """Round values for the marks of an axis from 0 to at least `top`; base 1024 for bytes.

    >>> nice(87), nice(3 * 1024**2, base=1024)
    ([0.0, 25.0, 50.0, 75.0, 100.0], [0.0, 1048576.0, 2097152.0, 3145728.0])
    """
    if not top > 0:
        return [0.0, 1.0]
    if base == 1024:
        unit = 1024.0 ** max(0, math.floor(math.log(top, 1024)))
        return [m * unit for m in nice(top / unit, parts=parts)]
    rough = top / parts
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    return [n * step for n in range(math.ceil(top / step - 1e-9) + 1)]


def _svg(height: float, title: str, body: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img"'
        f' aria-label="Chart: {safe(title)}">{"".join(body)}</svg>'
    )


def _text(x: float, y: float, words: str, *, anchor: str = "", kind: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{where}{style}>{safe(words)}</text>'


@dataclass(frozen=True)
class Curve:
    """One line of a chart.

    kind: CSS class "a" … "f"; dashed: an estimate or a published figure; dots: draw points instead
          of a line.
    """

    label: str
    points: Sequence[tuple[float, float]]
    kind: str = "a"
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A chart of lines.

    band: (x, low, high); limit: a horizontal line with its label; x_text, y_text: formats of marks.
    """

    title: str
    curves: Sequence[Curve]
    x_text: Callable[[float], str]
    y_text: Callable[[float], str]
    band: Sequence[tuple[float, float, float]] = ()
    limit: tuple[float, str] | None = None
    base: float = 10
    x_marks: Sequence[float] = field(default_factory=tuple)


@dataclass(frozen=True)
class _Scale:
    """Coordinates of values in a line chart, in units of the view box; the y axis begins at 0.

    low_x, high_x: ends of the x axis; high_y: highest mark of the y axis; left: width of the labels
                   of the y axis
    """

    low_x: float
    high_x: float
    high_y: float
    left: float
    height: float = 230.0
    right: float = WIDTH - 10.0
    top: float = 12.0
    bottom: float = 22.0

    def x(self, value: float) -> float:
        """The x coordinate of a value."""
        share = (value - self.low_x) / ((self.high_x - self.low_x) or 1)
        return self.left + share * (self.right - self.left)

    def y(self, value: float) -> float:
        """The y coordinate of a value; values below 0 have that of 0."""
        share = max(0.0, value) / self.high_y
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def point(self, x: float, y: float) -> str:
        """Both coordinates in the syntax of SVG."""
        return f"{self.x(x):.1f},{self.y(y):.1f}"


def lines(chart: Lines) -> str:
    """The chart as SVG; the y axis starts at 0, so that changes are shown in proportion."""
    known = [p for c in chart.curves for p in c.points]
    xs = [x for x, _ in known] + [x for x, _, _ in chart.band]
    ys = (
        [y for _, y in known]
        + [h for _, _, h in chart.band]
        + ([chart.limit[0]] if chart.limit else [])
    )
    if not xs:
        return ""
    marks = nice(max(ys), base=chart.base)
    left = max(len(chart.y_text(m)) for m in marks) * _LETTER + _GAP
    scale = _Scale(min(xs), max(xs), marks[-1], left)
    body = _axes(chart, scale, marks)
    if chart.band:
        upper = " ".join(scale.point(x, high) for x, _, high in chart.band)
        lower = " ".join(scale.point(x, low) for x, low, _ in reversed(chart.band))
        body.append(f'<polygon class="band" points="{upper} {lower}"/>')
    if chart.limit:
        body += _limit(chart.limit, scale)
    for curve in chart.curves:
        body += _curve(curve, scale)
    return _svg(scale.height, chart.title, body) + legend(
        [(c.label, c.kind + (" dash" if c.dashed else "")) for c in chart.curves]
    )


def _axes(chart: Lines, scale: _Scale, marks: Sequence[float]) -> list[str]:
    """Horizontal lines at the marks of the y axis, and the labels of both axes."""
    body = []
    for m in marks:
        y = scale.y(m)
        body.append(f'<path class="grid" d="M{scale.left:g} {y:.1f}H{scale.right:g}"/>')
        body.append(_text(scale.left - 6, y + 4, chart.y_text(m), anchor="end"))
    low, high = scale.low_x, scale.high_x
    ends = chart.x_marks or ([low, (low + high) / 2, high] if high > low else [low])
    for n, x in enumerate(ends):
        anchor = (
            "start"
            if n == 0 and len(ends) > 1
            else "end"
            if n == len(ends) - 1 and len(ends) > 1
            else "middle"
        )
        body.append(_text(scale.x(x), scale.height - 5, chart.x_text(x), anchor=anchor))
    return body


def _limit(limit: tuple[float, str], scale: _Scale) -> list[str]:
    """The horizontal line of a limit with its label, which is above the line if there is space."""
    y = scale.y(limit[0])
    return [
        f'<path class="limit" d="M{scale.left:g} {y:.1f}H{scale.right:g}"/>',
        _text(
            scale.right,
            y - 4 if y > 24 else y + 12,
            cut(limit[1], 44),
            anchor="end",
            kind="limit-text",
        ),
    ]


def _curve(curve: Curve, scale: _Scale) -> list[str]:
    """A curve as a line, or as points if `dots` is set or it has only one point."""
    body = []
    if len(curve.points) > 1 and not curve.dots:
        path = " ".join(scale.point(x, y) for x, y in curve.points)
        body.append(
            f'<polyline class="line {curve.kind}{" dash" if curve.dashed else ""}"'
            f' points="{path}"/>'
        )
    if curve.dots or len(curve.points) == 1:
        body += [
            f'<circle class="dot {curve.kind}" cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}" r="2.6"/>'
            for x, y in curve.points
        ]
    return body


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Labels with their colors, as HTML below the chart."""
    if len(entries) < 2:
        return ""
    return (
        '<p class="legend">'
        + "".join(
            f'<span><i class="key {kind}"></i>{safe(label)}</span>' for label, kind in entries
        )
        + "</p>"
    )


@dataclass(frozen=True)
class Bar:
    """One horizontal bar: parts in order, each (value, class); note: text at its end."""

    label: str
    parts: Sequence[tuple[float, str]]
    note: str = ""


def bars(title: str, rows: Sequence[Bar], *, label_letters: int = 20) -> str:
    """Horizontal stacked bars, one per row, all on one scale."""
    if not rows:
        return ""
    step, height = 22.0, 22.0 * len(rows) + 4
    longest = max(len(cut(r.label, label_letters)) for r in rows)
    left = min(WIDTH * 0.44, longest * _LETTER + _GAP)
    note_width = max(len(r.note) for r in rows) * _LETTER + _GAP
    most = max(sum(max(0.0, v) for v, _ in r.parts) for r in rows) or 1
    span = WIDTH - left - note_width
    body = []
    for n, row in enumerate(rows):
        y = n * step + 4
        body.append(_text(left - 6, y + 12, cut(row.label, label_letters), anchor="end"))
        x = left
        for value, kind in row.parts:
            width = max(0.0, value) / most * span
            if width > 0:
                gap = 1.0 if x > left and width > 2 else 0.0  # a gap also separates parts
                body.append(
                    f'<rect class="bar {kind}" x="{x + gap:.1f}" y="{y:.1f}"'
                    f' width="{max(width - gap, 0.6):.1f}" height="15"/>'
                )
            x += width
        if row.note:
            body.append(_text(x + 5, y + 12, row.note, kind="note"))
    return _svg(height, title, body)


def sparkline(title: str, points: Sequence[tuple[float, float]]) -> str:
    """A small line without axes, from the lowest to the highest value; empty for one point."""
    if len(points) < 2:
        return ""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    wide, high = (max(xs) - min(xs)) or 1, (max(ys) - min(ys)) or 1
    path = " ".join(
        f"{1 + 98 * (x - min(xs)) / wide:.1f},{(19 - 16 * (y - min(ys)) / high) if max(ys) > min(ys) else 11:.1f}"
        for x, y in points
    )
    return (
        f'<svg class=spark viewBox="0 0 100 22" role="img" aria-label="Chart: {safe(title)}">'
        f'<polyline class="line a" points="{path}"/></svg>'
    )
