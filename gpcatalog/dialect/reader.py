"""A cursor over one statement's tokens that remembers how far it came and what it expected
there.
"""

from __future__ import annotations

from gpcatalog.dialect.lexer import END, Tokens


class Mismatch(Exception):
    """What was looked for is not here; the reader's `note` says what was."""


class Reader:
    """Position, tokens, and the furthest failure."""

    __slots__ = (
        "ends",
        "far",
        "i",
        "kinds",
        "no_select",
        "starts",
        "text",
        "tokens",
        "values",
        "wanted",
    )

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.text = tokens.text
        self.kinds = [*tokens.kinds, END, END]  # looking two ahead is always possible
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.i = 0
        self.far = 0
        self.wanted: dict[str, None] = {}
        # parentheses already tried as a subquery in vain: without this memory, nesting costs two to
        # the depth
        self.no_select: set[int] = set()

    def note(self, what: str) -> None:
        """Remember that `what` was expected at the current token."""
        if self.i > self.far:
            self.far = self.i
            self.wanted = {what: None}
        elif self.i == self.far:
            self.wanted[what] = None

    def miss(self, what: str) -> Mismatch:
        """Note it and hand back the exception to raise."""
        self.note(what)
        return Mismatch(what)

    def accept(self, kind: str) -> bool:
        """Take the token if it is of that kind."""
        if self.kinds[self.i] == kind:
            self.i += 1
            return True
        self.note(kind)
        return False

    def accept_any(self, *kinds: str) -> str:
        """Take the token if it is of one of the kinds; which, or ""."""
        kind = self.kinds[self.i]
        if kind in kinds:
            self.i += 1
            return kind
        for each in kinds:
            self.note(each)
        return ""

    def sequence(self, *kinds: str) -> bool:
        """Take these tokens if all of them come next."""
        i = self.i
        if self.kinds[i : i + len(kinds)] == list(kinds):
            self.i += len(kinds)
            return True
        self.note(kinds[0])
        return False

    def expect(self, *kinds: str) -> None:
        """Take these tokens or fail."""
        for kind in kinds:
            if self.kinds[self.i] != kind:
                raise self.miss(kind)
            self.i += 1

    def peek(self, ahead: int = 0) -> str:
        """Kind of a token further on."""
        i = self.i + ahead
        return self.kinds[i] if i < len(self.kinds) else END
