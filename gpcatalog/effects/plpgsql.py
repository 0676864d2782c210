"""Statements of PL/pgSQL: what a block consists of, and the SQL of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpcatalog.dialect.script import Source, split

# statements of PL/pgSQL that branch, repeat, or run text
_CONTROL = frozenset(
    """if elsif elseif else end loop while for foreach case when begin declare exception execute exit
    continue open fetch close move commit rollback savepoint set call""".split()
)
_LEVELS = frozenset("debug log info notice warning".split())  # of RAISE: those that go on
_NAME = re.compile(r'\w+|"(?:[^"]|"")*"')


def pieces(body: str) -> list[list[str]] | None:
    """Texts of the tokens of each statement, without comments; None where the server's scanner
    would refuse the body.
    """
    found = []
    for piece in split(Source(body)):
        if piece.tokens is None or piece.error is not None:
            return None
        t = piece.tokens
        texts = [t.text[s:e] for s, e in zip(t.starts, t.ends, strict=True) if s < e]
        if texts and texts[-1] == ";":
            texts.pop()
        if texts:
            found.append(texts)
    return found


def inside(pieces: list[list[str]]) -> list[list[str]] | None:
    """Statements between BEGIN and END; None where a declaration has a value, or there are more
    blocks than one.
    """
    if not pieces or pieces[-1][0].lower() != "end" or len(pieces.pop()) > 2:
        return None
    start = next((n for n, p in enumerate(pieces) if p[0].lower() == "begin"), None)
    if start is None or (start and pieces[0][0].lower() != "declare"):
        return None
    if any("(" in p and {":=", "=", "default", "DEFAULT"} & set(p) for p in pieces[:start]):
        return None
    found = [p for p in (pieces[start][1:], *pieces[start + 1 :]) if p]
    ends = (n for n, p in enumerate(found) if p[0].lower() == "return" and not gives_rows(p))
    return found[: next(ends, len(found)) + 1]  # statements after RETURN do not run


def gives_rows(statement: Sequence[str]) -> bool:
    """Whether a RETURN goes on: RETURN NEXT and RETURN QUERY."""
    return len(statement) > 1 and statement[1].lower() in ("next", "query")


def assigned(statement: list[str]) -> list[str] | None:
    """What is assigned to a variable; None for other statements."""
    for n, text in enumerate(statement):
        if text in (":=", "=") and n:
            return statement[n + 1 :]
        # a name, its fields and its elements
        if not (_NAME.fullmatch(text) if n % 2 == 0 else text in ".["):
            return None
    return None


def without_target(statement: list[str]) -> list[str]:
    """A query without INTO and the variables behind it."""
    at = next((n for n, text in enumerate(statement) if text.lower() == "into"), None)
    if at is None:
        return statement
    end = at + 1 + (statement[at + 1 : at + 2] == ["strict"])
    while end < len(statement) and _NAME.fullmatch(statement[end]):
        end += 1
        if statement[end : end + 1] not in (["."], [","]):
            break
        end += 1
    return statement[:at] + statement[end:]


def sql(statement: list[str]) -> str | None:
    """The SQL of a statement of PL/pgSQL, "" for one without; None where its effect depends on how
    it runs.

    >>> sql(["perform", "f", "(", ")"]), sql(["x", ":=", "3"]), sql(["if", "a", "then"])
    ('SELECT f ( )', 'SELECT 3', None)
    >>> sql(["raise", "notice", "'%'", ",", "f", "(", ")"]), sql(["raise", "notice", "'a'"])
    ('SELECT f ( )', '')
    >>> sql(["select", "a", "into", "strict", "r", ".", "x", ",", "y", "from", "t"])
    'select a from t'
    """
    if (value := assigned(statement)) is not None:
        return " ".join(["SELECT", *value])
    word, rest = statement[0].lower(), statement[1:]
    if word in _CONTROL or word == "<<":
        return None
    if word == "raise":
        if not rest or rest[0].lower() not in _LEVELS:
            return None
        # a format and its arguments; USING has expressions too
        given = rest[3:] if rest[2:3] == [","] else []
        if "(" in rest and (not given or "using" in map(str.lower, rest)):
            return None
        return " ".join(["SELECT", *given]) if given else ""
    if word in ("null", "get"):
        return ""
    if word == "perform":
        return " ".join(["SELECT", *rest])
    if word == "return":
        if rest[:1] and rest[0].lower() == "query":
            return None if "execute" in map(str.lower, rest) else " ".join(rest[1:])
        value = rest[1:] if gives_rows(statement) else rest
        return " ".join(["SELECT", *value]) if value else ""
    return " ".join(without_target(statement) if word in ("select", "with") else statement)
