"""The terminal: one console for standard output, one for progress; colour and boxes only where a
person looks.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum

from rich.console import Console as Console  # for those who only hand one on
from rich.table import Table
from rich.text import Text

from gpcatalog.model.names import printable

WIDEST = 110  # columns of text beyond which a line is hard to read


class Color(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class _Console(Console):
    """A reader that went away ends the program as it ends any other: not with exit code 1, which
    means findings.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(color: Color = Color.AUTO, *, stderr: bool = False) -> Console:
    """A console that takes text as it is: no markup, no emoji, no guessing at highlights."""
    stream = sys.stderr if stderr else sys.stdout
    plain = color is Color.NEVER or (
        color is Color.AUTO and ("NO_COLOR" in os.environ or not stream.isatty())
    )
    made = _Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
        no_color=plain,
        force_terminal=True if color is Color.ALWAYS else None,
        legacy_windows=False,
    )
    if not stream.isatty():
        made.width = int(os.environ.get("COLUMNS") or 80)
    made.width = max(40, min(made.width, WIDEST))
    return made


def text(value: str, style: str = "") -> Text:
    """Text of unknown origin, harmless for a terminal."""
    return Text(printable(value), style=style)


def table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    styles: Sequence[str] | None = None,
) -> Table:
    """A table without boxes: the first `left` columns are names and may be folded, the others
    numbers to the right.
    """
    made = Table(
        box=None,
        title=title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        padding=(0, 1),
        show_edge=False,
    )
    for n, head in enumerate(heads):
        if n < left:
            made.add_column(head, overflow="fold", header_style="dim")
        else:
            made.add_column(head, justify="right", no_wrap=True, header_style="dim")
    for n, row in enumerate(rows):
        made.add_row(*(text(cell) for cell in row), style=styles[n] if styles else None)
    return made
