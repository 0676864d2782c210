"""Consoles for standard output and standard error: color on terminals only, no trailing blanks in
files and pipes.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import IO, Any, TextIO, cast

from rich.console import Console as Console  # for modules that only pass a console on
from rich.table import Table
from rich.text import Text

from gpcatalog.model.names import printable

WIDEST = 110  # maximum number of columns: longer lines are hard to read


class Color(StrEnum):
    """Use color: on terminals, always or never."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


# blanks at the end of a line, and the escape sequences that end its style
_TRAILING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)


class _WithoutTrailingBlanks:
    """A stream that removes the blanks at the end of each line; each line must be written at
    once.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, words: str) -> int:
        self._stream.write(_TRAILING.sub(r"\1", words))
        return len(words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Console(Console):
    """A console whose reader may close the pipe: the program then ends with the exit code of
    SIGPIPE, not with 1, which means findings.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(color: Color = Color.AUTO, *, stderr: bool = False) -> Console:
    """Return a console without markup, emoji and automatic highlighting."""
    stream = sys.stderr if stderr else sys.stdout
    plain = color is Color.NEVER or (
        color is Color.AUTO and ("NO_COLOR" in os.environ or not stream.isatty())
    )
    terminal = _Console(
        file=stream if stream.isatty() else cast("IO[str]", _WithoutTrailingBlanks(stream)),
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
        no_color=plain,
        force_terminal=True if color is Color.ALWAYS else None,
        legacy_windows=False,
    )
    if not stream.isatty():
        terminal.width = int(os.environ.get("COLUMNS") or 80)
    terminal.width = max(40, min(terminal.width, WIDEST))
    return terminal


def text(value: str, style: str = "") -> Text:
    """Text of unknown origin with control characters escaped."""
    return Text(printable(value), style=style)


def heading(out: Console, words: str) -> None:
    """Print an empty line and a heading."""
    out.print()
    out.print(Text(words, style="bold"))


def table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    styles: Sequence[str] | None = None,
) -> Table:
    """A table without borders. The first `left` columns are names and may wrap; the others are
    numbers, aligned to the right.
    """
    grid = Table(
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
            grid.add_column(head, overflow="fold", header_style="dim")
        else:
            grid.add_column(head, justify="right", no_wrap=True, header_style="dim")
    for n, row in enumerate(rows):
        grid.add_row(*(text(cell) for cell in row), style=styles[n] if styles else None)
    return grid
