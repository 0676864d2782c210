"""The setting standard_conforming_strings of a script: whether a backslash in '…' begins an escape,
as in dumps of old servers.
"""

from __future__ import annotations

from gpcatalog.dialect.lexer import Tokens

SETTING = "standard_conforming_strings"
_OFF = frozenset(("off", "of", "false", "fals", "fal", "fa", "f", "no", "n", "0"))
_ENDS = frozenset(("commit", "end", "rollback", "abort"))


class Strings:
    """The setting of a session, changed by its statements; it is on at the beginning.

    SET LOCAL is undone at the end of the transaction, SET by ROLLBACK.
    """

    def __init__(self) -> None:
        self.escapes = False
        self._session = False  # session value, which SET LOCAL does not change
        self._before: bool | None = None  # session value at BEGIN

    def follow(self, tokens: Tokens) -> None:
        """Apply a statement to the setting.

        >>> from gpcatalog.dialect.lexer import scan
        >>> strings = Strings()
        >>> for text in ("BEGIN", "SET standard_conforming_strings = off", "ROLLBACK"):
        ...     strings.follow(scan(text, 0, frozenset(("begin", "set", "rollback")))[0])
        ...     print(strings.escapes)
        False
        True
        False
        """
        kinds = tokens.kinds
        first, second = kinds[0], kinds[1]
        if first == "set":
            self._set(tokens, 2 if second in ("local", "session") else 1)
        elif first in ("begin", "start"):
            if self._before is None:
                self._before = self._session
        elif first in _ENDS and "to" not in kinds:  # not ROLLBACK TO a savepoint
            if first in ("rollback", "abort") and self._before is not None:
                self._session = self._before
            self.escapes, self._before = self._session, None
        elif (first == "reset" and (second == "all" or _named(tokens, 1))) or (
            first == "discard" and second == "all"
        ):
            self.escapes = self._session = False

    def _set(self, tokens: Tokens, at: int) -> None:
        if not _named(tokens, at) or tokens.kinds[at + 1] not in ("=", "to"):
            return
        self.escapes = tokens.values[at + 2].lower() in _OFF
        if tokens.kinds[1] != "local":
            self._session = self.escapes


def _named(tokens: Tokens, at: int) -> bool:
    """Whether the token at this index is the name of the setting."""
    return at + 1 < len(tokens) and tokens.values[at].lower() == SETTING
