"""How a snapshot knows which tables are empty."""

from __future__ import annotations


def basis_words(filled_basis: str | None) -> str:
    """The source of emptiness in words, from a snapshot's `filled_basis`.

    >>> basis_words("files"), basis_words("segment file lists"), basis_words(None)
    ('file sizes', 'segment file lists', 'nothing')
    """
    if filled_basis == "files":
        return "file sizes"
    return filled_basis or "nothing"
