"""A cursor over the tokens of one statement that records the furthest position and what was
expected there.
"""

from __future__ import annotations

from gpcatalog.dialect.lexer import END, Tokens


class Mismatch(Exception):
    """The expected token is missing; the reader's `note` has recorded it."""


class Reader:
    """The tokens, the current position, and the furthest failure."""

    __slots__ = (
        "ends",
        "expected",
        "furthest",
        "i",
        "kinds",
        "no_select",
        "starts",
        "text",
        "tokens",
        "values",
    )

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.text = tokens.text
        self.kinds = [*tokens.kinds, END, END]  # so that two tokens ahead can always be read
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.i = 0
        self.furthest = 0
        self.expected: dict[str, None] = {}
        # parentheses that were tried as a subquery without success; otherwise, time grows with 2 to
        # the power of the nesting depth
        self.no_select: set[int] = set()

    def note(self, what: str) -> None:
        """Record that `what` was expected at the current token."""
        if self.i > self.furthest:
            self.furthest = self.i
            self.expected = {what: None}
        elif self.i == self.furthest:
            self.expected[what] = None

    def miss(self, what: str) -> Mismatch:
        """Record it and return the exception to raise."""
        self.note(what)
        return Mismatch(what)

    def accept(self, kind: str) -> bool:
        """Consume the token if it is of that kind; return whether it was."""
        if self.kinds[self.i] == kind:
            self.i += 1
            return True
        self.note(kind)
        return False

    def accept_any(self, *kinds: str) -> str:
        """Consume the next token if it has one of these kinds. Returns the kind, or ""."""
        kind = self.kinds[self.i]
        if kind in kinds:
            self.i += 1
            return kind
        for each in kinds:
            self.note(each)
        return ""

    def sequence(self, *kinds: str) -> bool:
        """Consume these tokens if all of them come next; return whether they did."""
        i = self.i
        if self.kinds[i : i + len(kinds)] == list(kinds):
            self.i += len(kinds)
            return True
        self.note(kinds[0])
        return False

    def expect(self, *kinds: str) -> None:
        """Consume these tokens, or raise Mismatch."""
        for kind in kinds:
            if self.kinds[self.i] != kind:
                raise self.miss(kind)
            self.i += 1

    def peek(self, ahead: int = 0) -> str:
        """Kind of the token that is so many tokens ahead."""
        i = self.i + ahead
        return self.kinds[i] if i < len(self.kinds) else END
