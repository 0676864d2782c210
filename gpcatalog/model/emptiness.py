"""How a snapshot determines which tables are empty."""

from __future__ import annotations


def basis_words(filled_basis: str | None) -> str:
    """The words for a snapshot's `filled_basis`, the source that shows which tables are empty.

    >>> basis_words("files"), basis_words("segment file lists"), basis_words(None)
    ('file sizes', 'segment file lists', 'nothing')
    """
    if filled_basis == "files":
        return "file sizes"
    return filled_basis or "nothing"
