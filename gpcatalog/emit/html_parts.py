"""What the page's sections are made of: tables to sort and search, figures, plurals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpcatalog.emit.svg import safe


def short(text: str, letters: int) -> str:
    """The text, its end cut off where it is longer than so many letters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


Cell = str | tuple[str, str]  # words, or words and a small line below them


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return safe(
            cell if len(cell) > 14 else cell.replace(" ", "\u00a0")
        )  # a number stays with its unit
    return safe(cell[0]) + (f"<small>{safe(cell[1])}</small>" if cell[1] else "")


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    name: str = "",
    left: int = 1,
    budget: int = 1 << 20,
    classes: Sequence[str] | None = None,
    foot: Sequence[str] = (),
) -> str:
    """A table; cells are texts, escaped here.

    The first `left` columns are words. name: sortable and searchable under this id.
    """

    def kind(n: int) -> str:
        return " class=l" if 0 < n < left else ""

    head = "".join(f"<th{kind(n)}>{safe(h)}" for n, h in enumerate(heads))
    body, used = [], 0
    for number, row in enumerate(rows):
        style = f" class={classes[number]}" if classes and classes[number] else ""
        line = f"<tr{style}>" + "".join(f"<td{kind(n)}>{_cell(cell)}" for n, cell in enumerate(row))
        used += len(line.encode())
        if used > budget:
            break
        body.append(line)
    tail = (
        "<tfoot><tr>"
        + "".join(f"<td{kind(n)}>{safe(cell)}" for n, cell in enumerate(foot))
        + "</tfoot>"
        if foot
        else ""
    )
    search = (
        f'<input type=search data-for="{name}" placeholder="Search…" aria-label="Search" hidden>'
        if name
        else ""
    )
    sortable = f' class=sortable id="{name}"' if name else ""
    return (
        f"{search}<div"
        f" class=wide><table{sortable}><thead><tr>{head}</thead><tbody>{''.join(body)}</tbody>{tail}</table></div>"
    )


def figure(title: str, says: str, chart: str, source: str = "") -> str:
    """A chart with the question it answers and what it shows; nothing where there is no chart."""
    if not chart:
        return ""
    below = f'<p class="source">{safe(source)}</p>' if source else ""
    return f"<figure><h3>{safe(title)}</h3><p>{safe(says)}</p>{chart}{below}</figure>"
