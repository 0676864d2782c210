"""Pages of rules as text."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from gpcatalog.emit.terminal import text


def show_page(rule: str, page: Mapping[str, str], out: Console) -> None:
    """Print the page of one rule. page: its first line with the key "", then its parts by
    heading.
    """
    out.print(text(rule, "bold"))
    out.print(text(page[""]))
    for part, body in page.items():
        if part:
            out.print()
            out.print(text(part, "bold"))
            out.print(text(body))
