"""Building blocks of the HTML page: text with code, sections, tables, and charts with their data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from gpcatalog.emit.svg import Lines, safe

# numbers of columns for which a row shows its head above its numbers on a phone
STACKED = (4, 5, 6)
FEW = 3  # maximum number of columns for which a table does not use the full width of the page
POINTS_SHOWN = 100  # rows of the data table of a line chart
_CODE = re.compile(r"`([^`]+)`")


class Prose(str):
    """A sentence of the program in a table cell: text in backticks is shown as code."""

    __slots__ = ()


class Markup(str):
    """HTML for a table cell that the program created from escaped parts."""

    __slots__ = ()


def link(text: str, href: str) -> Markup:
    """A link to another page of the site. href: a relative path of files and folders."""
    return Markup(f'<a href="{safe(quote(href))}">{safe(text)}</a>')


Cell = str | tuple[str, str]  # text, or text with a note below it


@dataclass(frozen=True)
class Data:
    """The numbers of a chart as a table: column heads and rows of text. note: what is left out."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def short(text: str, letters: int) -> str:
    """The text, with its end cut off if it is longer than this number of letters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


def prose(text: str) -> str:
    """A sentence of the program as HTML: escaped, with `code` in backticks as a code element.

    >>> prose("run `gpcatalog plan` & wait")
    'run <code>gpcatalog plan</code> &amp; wait'
    """
    parts = _CODE.split(text.replace(" ×", "\u00a0×"))
    return "".join(f"<code>{safe(p)}</code>" if n % 2 else safe(p) for n, p in enumerate(parts))


def ended(text: str) -> str:
    """The text with a full stop at the end.

    >>> ended("set autovacuum = on"), ended("Done.")
    ('set autovacuum = on.', 'Done.')
    """
    return text if text.endswith((".", "?", "!", "…")) else text + "."


def _words(cell: str) -> str:
    if isinstance(cell, Markup):
        return cell
    if isinstance(cell, Prose):
        return prose(cell)
    # a number and its unit stay on one line
    return safe(cell if len(cell) > 14 else cell.replace(" ", "\u00a0"))


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return _words(cell)
    return _words(cell[0]) + (f"<small>{prose(cell[1])}</small>" if cell[1] else "")


def _row(cells: Sequence[Cell], left: int) -> str:
    """The cells of a row; the first one is the row header."""
    first, *others = cells
    return f"<th scope=row>{_cell(first)}" + "".join(
        f"<td{' class=l' if n < left else ''}>{_cell(cell)}" for n, cell in enumerate(others, 1)
    )


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    label: str,
    name: str = "",
    left: int = 1,
    budget: int = 1 << 20,
    classes: Sequence[str] | None = None,
    foot: Sequence[str] = (),
) -> str:
    """An HTML table in a box that scrolls sideways. Cells are text and escaped here.

    label:   what the table contains, for screen readers
    name:    id of the table; a table with a name can be sorted and searched
    left:    number of text columns, aligned to the left; the others are numbers
    budget:  bytes after which no further row is written; the last row shows how many are left out
    classes: CSS class of each row
    foot:    cells of the last row, for example the sum of the rows that are left out
    """
    head = "".join(
        f"<th scope=col{' class=l' if 0 < n < left else ''}>{safe(h)}" for n, h in enumerate(heads)
    )
    body, used, rest = [], 0, 0
    for number, row in enumerate(rows):
        if rest:
            rest += 1
            continue
        style = f" class={classes[number]}" if classes and classes[number] else ""
        line = f"<tr{style}>{_row(row, left)}"
        used += len(line.encode())
        if used > budget:
            rest = 1
            continue
        body.append(line)
    if rest and not foot:
        foot = (f"{rest:,} more, left out here: --format json has all", *[""] * (len(heads) - 1))
    tail = f"<tfoot><tr>{_row(foot, left)}</tfoot>" if foot else ""
    attributes = f' id="{name}"' if name else ""
    kinds = ["sortable"] * bool(name) + ["stack"] * (len(heads) in STACKED)
    kinds += ["few"] * (len(heads) <= FEW)
    if kinds:
        attributes += f' class="{" ".join(kinds)}" style="--n:{3 if len(heads) in (4, 6) else 4}"'
    tools = (
        f'<div class=tools data-for="{name}" hidden><label>Search'
        f' <input type=search autocomplete=off aria-controls="{name}"></label>'
        " <span role=status></span></div>"
        if name
        else ""
    )
    return (
        f'{tools}<div class=wide role=region tabindex=0 aria-label="{safe(label)}">'
        f'<table{attributes} aria-label="{safe(label)}"><thead><tr>{head}</thead>'
        f"<tbody>{''.join(body)}</tbody>{tail}</table></div>"
    )


def figure(title: str, text: str, chart: str, data: Data, source: str = "") -> str:
    """A chart with its title, a sentence that explains it, and its numbers in a table that can be
    opened; empty if there is no chart.
    """
    if not chart:
        return ""
    source_text = f'<p class="source">{prose(ended(source))}</p>' if source else ""
    note = f"<p class=source>{safe(data.note)}</p>" if data.note else ""
    numbers = (
        "<details><summary>Numbers of this chart</summary>"
        f"{table(data.heads, data.rows, label=title)}{note}</details>"
    )
    return (
        f"<figure><figcaption><h3>{safe(title)}</h3><p>{safe(text)}</p></figcaption>"
        f"{chart}{source_text}{numbers}</figure>"
    )


def line_data(chart: Lines, x_head: str) -> Data:
    """The points of a line chart: one row for each x value, one column for each curve."""
    values: list[dict[float, str]] = []
    for curve in chart.curves:
        of: dict[float, str] = {}
        for x, y in curve.points:
            text = chart.y_text(y)
            of[x] = f"{of[x]}, {text}" if x in of else text
        values.append(of)
    found = sorted({x for of in values for x in of})
    step = -(-len(found) // POINTS_SHOWN) or 1
    shown = sorted({*found[::-1][::step]})
    rows = [(chart.x_text(x), *(of.get(x, "") for of in values)) for x in shown]
    for x, low, high in chart.band[1:]:
        rows.append(
            (f"{chart.x_text(x)}: 95 % band", f"{chart.y_text(low)} to {chart.y_text(high)}")
        )
    rows = [(*row, *[""] * (len(values) + 1 - len(row))) for row in rows]
    if chart.limit:
        rows.append((f"limit: {chart.limit[1]}", *[chart.y_text(chart.limit[0])] * len(values)))
    note = f"{len(shown)} of {len(found)} points." if len(shown) < len(found) else ""
    return Data((x_head, *(c.label for c in chart.curves)), rows, note)


@dataclass(frozen=True)
class Section:
    """A section of the page: its anchor, its heading in the table of contents, and its HTML."""

    anchor: str
    title: str
    body: str

    def html(self) -> str:
        """The section with its heading; empty if it has no contents."""
        if not self.body:
            return ""
        return (
            f'<section id="{self.anchor}" aria-labelledby="{self.anchor}-h">'
            f'<h2 id="{self.anchor}-h">{safe(self.title)}</h2>{self.body}</section>'
        )
