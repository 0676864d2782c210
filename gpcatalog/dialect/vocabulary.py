"""Words that are allowed as names and labels in one edition, and the precedence of its
operators.
"""

from __future__ import annotations

from gpcatalog.dialect.lexer import (
    BCONST,
    DOLLAR,
    ESCONST,
    FCONST,
    ICONST,
    IDENT,
    NCONST,
    OP,
    PARAM,
    PSQLVAR,
    QIDENT,
    SCONST,
    USCONST,
    XCONST,
)
from gpcatalog.dialect.version import Edition

STRINGS = frozenset((SCONST, ESCONST, USCONST, DOLLAR))
MATH = frozenset(("+", "-", "*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>"))
ALL_OPS = MATH | {OP}
# precedence level, and associativity: l left, r right, n none
_LEVELS_NEW: dict[str, tuple[int, str]] = {
    "or": (1, "l"),
    "and": (2, "l"),
    "is": (4, "n"),
    "isnull": (4, "n"),
    "notnull": (4, "n"),
    **dict.fromkeys(("<", ">", "=", "<=", ">=", "<>"), (5, "n")),
    **dict.fromkeys(("between", "in", "like", "ilike", "similar", "not"), (6, "n")),
    OP: (8, "l"),
    "operator": (8, "l"),
    "+": (9, "l"),
    "-": (9, "l"),
    "*": (10, "l"),
    "/": (10, "l"),
    "%": (10, "l"),
    "^": (11, "l"),
    "at": (12, "l"),
    "collate": (13, "l"),
    "::": (16, "l"),
}
_LEVELS_OLD: dict[str, tuple[int, str]] = {
    "or": (1, "l"),
    "and": (2, "l"),
    "=": (4, "r"),
    "<": (5, "n"),
    ">": (5, "n"),
    "like": (6, "n"),
    "ilike": (6, "n"),
    "similar": (6, "n"),
    "not": (6, "n"),
    "between": (8, "n"),
    "in": (9, "n"),
    **dict.fromkeys((OP, "operator", "<=", ">=", "<>", "=>"), (11, "l")),
    "notnull": (12, "n"),
    "isnull": (13, "n"),
    "is": (14, "n"),
    "+": (15, "l"),
    "-": (15, "l"),
    "*": (16, "l"),
    "/": (16, "l"),
    "%": (16, "l"),
    "^": (17, "l"),
    "at": (18, "l"),
    "collate": (19, "l"),
    "::": (22, "l"),
}
NILADIC = frozenset(
    """current_date current_time current_timestamp localtime localtimestamp current_role current_user session_user user
    current_catalog current_schema system_user""".split()
)
_RESERVED_STARTS = frozenset(
    """not null true false case cast array default unique current_date current_time current_timestamp localtime
    localtimestamp current_role current_user session_user user current_catalog decode table""".split()
)


class Vocabulary:
    """The words that are allowed as names and labels in one edition, and its operator
    precedence.
    """

    def __init__(self, edition: Edition, words: frozenset[str]) -> None:
        classes = edition.classes
        refused = {w for w, c in classes.items() if c.islower()}

        def but(letters: str) -> frozenset[str]:
            return frozenset(w for w in words if classes.get(w, "U").upper() not in letters) | {
                IDENT,
                QIDENT,
                PSQLVAR,
            }

        self.words = words
        self.column = but("TR")
        self.function = but("CR")
        self.unreserved = but("R")
        self.label = but("")
        self.reserved = frozenset(w for w, c in classes.items() if c in "Rr")
        self.bare_label = frozenset(self.label - refused)
        self.partition = frozenset(self.bare_label - edition.no_partition_name)
        self.levels = _LEVELS_NEW if edition.base >= 10 else _LEVELS_OLD
        self.unary_minus = 14 if edition.base >= 10 else 20
        self.old = edition.base < 10
        self.starts = (
            self.column
            | self.function
            | _RESERVED_STARTS
            | {
                SCONST,
                ESCONST,
                USCONST,
                NCONST,
                DOLLAR,
                BCONST,
                XCONST,
                ICONST,
                FCONST,
                PARAM,
                OP,
                "(",
                "+",
                "-",
            }
        )
