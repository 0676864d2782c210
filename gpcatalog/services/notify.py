"""The function that gets messages of a service: about its progress, or about what it left out."""

from __future__ import annotations

from collections.abc import Callable

Notify = Callable[[str], None]


def silent(line: str) -> None:
    """Discard the line."""
