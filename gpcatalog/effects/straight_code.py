"""Bodies of functions and DO blocks whose statements run one after the other: their effect is the
sum of the statements' effects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from gpcatalog.dialect.grammar import WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.version import Edition
from gpcatalog.errors import CatalogError


@dataclass(frozen=True)
class Routine:
    """A function of a script. signature: its arguments as text; plain: it sets no setting."""

    signature: str
    language: str
    body: str
    plain: bool


_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|;", re.DOTALL
)
# statements of PL/pgSQL that branch, repeat, or run text
_CONTROL = frozenset(
    """if elsif elseif else end loop while for foreach case when begin declare exception execute exit
    continue open fetch close move commit rollback savepoint set call""".split()
)
_ASSIGNMENT = re.compile(r"[\w.\"\[\]]+\s*:?=(?!=)")
_RETURNS = re.compile(r"return\b(?!\s+(?:next|query)\b)", re.IGNORECASE)
_SAYS = re.compile(r"raise\s+(?:debug|log|info|notice|warning)\b", re.IGNORECASE)
_INTO_VARIABLE = re.compile(r"\binto\b", re.IGNORECASE)


def _pieces(body: str) -> list[str]:
    """Cut a body at semicolons outside quotes, without comments."""
    found, now, at = [], "", 0
    for token in _TOKEN.finditer(body):
        now += body[at : token.start()]
        at = token.end()
        if token[0] == ";":
            found.append(now.strip())
            now = ""
        elif not token[0].startswith(("--", "/*")):
            now += token[0]
        else:
            now += " "
    return [*found, (now + body[at:]).strip()]


def _inside(body: str) -> list[str] | None:
    """Statements between BEGIN and END; None where there are declarations that run something, or
    more than one block.
    """
    pieces = _pieces(body)
    while pieces and not pieces[-1]:
        pieces.pop()
    if not pieces or not re.fullmatch(r"end(?:\s+\w+)?", pieces.pop(), re.IGNORECASE):
        return None
    start = next((n for n, p in enumerate(pieces) if re.match(r"begin\b", p, re.IGNORECASE)), None)
    if start is None or any("(" in p and re.search(r":=|\bdefault\b", p) for p in pieces[:start]):
        return None
    if pieces[:start] and not re.match(r"declare\b", pieces[0], re.IGNORECASE):
        return None
    first = re.sub(r"^begin\b\s*", "", pieces[start], flags=re.IGNORECASE)
    found = [p for p in (first, *pieces[start + 1 :]) if p]
    last = next((n for n, p in enumerate(found) if _RETURNS.match(p)), len(found))
    return found[: last + 1]  # what stands behind RETURN does not run


def _sql(statement: str) -> str | None:
    """The SQL of a statement of PL/pgSQL, "" for one without; None where its effect depends on how
    it runs.

    >>> _sql("perform f(1)"), _sql("x := 3"), _sql("if a then drop table t"), _sql("drop table t")
    ('SELECT f(1)', 'SELECT 3', None, 'drop table t')
    """
    word, _, rest = statement.partition(" ")
    word = re.split(r"\W", word.lower(), maxsplit=1)[0]
    if assigned := _ASSIGNMENT.match(statement):
        return f"SELECT {statement[assigned.end() :].strip()}"
    if word in _CONTROL or statement.startswith("<<"):
        return None
    if word == "raise":
        return "" if _SAYS.match(statement) else None
    if word in ("null", "get"):
        return ""
    if word == "perform":
        return f"SELECT {rest}"
    if word == "return":
        if re.match(r"query\b", rest, re.IGNORECASE):
            return None if "execute" in rest.lower() else rest.partition(" ")[2]
        value = re.sub(r"^next\b", "", rest.strip(), flags=re.IGNORECASE).strip()
        return f"SELECT {value}" if value else ""
    if word in ("select", "with") and _INTO_VARIABLE.search(statement):
        # the target is a variable: without it, what the query calls is left
        return re.sub(
            r"\binto\s+(?:strict\s+)?[\w.\"]+(?:\s*,\s*[\w.\"]+)*",
            "",
            statement,
            flags=re.IGNORECASE,
        )
    return statement


def statements_of(
    body: str, language: str, edition: Edition, harmless: Callable[[str], bool]
) -> list[exp.Expression] | None:
    """Trees of the statements of a body in their order; None where they are not all run, each once.

    harmless: whether a text that is no statement of this grammar surely runs no DDL
    """
    if language == "sql":
        texts: list[str] | None = [p for p in _pieces(body) if p]
    elif language == "plpgsql":
        texts = _inside(body)
    else:
        return None
    if texts is None:
        return None
    found = []
    for text in texts:
        sql = _sql(text) if language == "plpgsql" else text
        if sql is None:
            return None
        if not sql:
            continue
        try:
            tree, _ = read_statement(scan(sql, 0, WORDS)[0], (edition,))
        except (CatalogError, SyntaxFault, LexError, ValueError, RecursionError):
            if harmless(sql):
                continue
            return None
        found.append(tree)
    return found
