"""Where a service sends lines for people: on what it does, or on what it left out."""

from __future__ import annotations

from collections.abc import Callable

Notify = Callable[[str], None]


def silent(line: str) -> None:
    """Drop the line."""
