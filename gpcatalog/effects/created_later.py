"""Tables that a file creates: without IF NOT EXISTS, they do not exist before."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.dialect.lexer import Tokens
from gpcatalog.dialect.script import Source, split
from gpcatalog.model.names import cut

_BEFORE_TABLE = ({"create"}, {"unlogged", "foreign"})
_QUOTED = "QIDENT"


class CreatedLater:
    """The names in CREATE TABLE of a file. It is read at the first question."""

    def __init__(self, source: Source | None = None) -> None:
        self._source = source
        self._names: set[tuple[str, str]] | None = None

    def has(self, schema: str, name: str) -> bool:
        """Whether the file creates a table of that name; "" is the schema public."""
        if self._names is None:
            self._names = set(_created(self._source)) if self._source is not None else set()
        return (schema or "public", name) in self._names


def _created(source: Source) -> Iterator[tuple[str, str]]:
    """(schema, name) of each table. Tables without a written schema are in public, unless the file
    sets search_path before them: then they are left out.
    """
    sets_path = False
    for piece in split(source):
        if piece.tokens is None or piece.reasons or piece.missing:
            continue
        sets_path |= "search_path" in source.text[piece.start : piece.end].lower()
        for schema, name in _table(piece.tokens):
            if schema or not sets_path:
                yield schema or "public", name


def _table(tokens: Tokens) -> Iterator[tuple[str, str]]:
    at = 0
    for words in _BEFORE_TABLE:
        if tokens.kinds[at] in words:
            at += 1
    if tokens.kinds[:1] != ["create"] or tokens.kinds[at : at + 1] != ["table"]:
        return
    if tokens.kinds[at + 1] == "if":
        return
    first = _name(tokens, at + 1)
    yield (first, _name(tokens, at + 3)) if tokens.kinds[at + 2] == "." else ("", first)


def _name(tokens: Tokens, at: int) -> str:
    value = tokens.values[at]
    return cut(value if tokens.kinds[at] == _QUOTED else value.lower())
