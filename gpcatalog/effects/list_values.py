"""Values of list partitions that can be compared exactly: constants of integer and text columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp

from gpcatalog.effects.keys import Column

Values = frozenset[int | str | None]  # None is NULL
_INTEGERS = ("int2", "int4", "int8")


def written_values(nodes: Iterable[exp.Expression], column: Column) -> Values | None:
    """The values of VALUES or AT for a key column; None if they cannot be compared exactly."""
    return _all([_of_node(node) for node in nodes], column)


def stored_values(texts: Iterable[str], column: Column) -> Values | None:
    """The same for values that are stored as SQL."""
    return _all(list(texts), column)


def _of_node(node: exp.Expression) -> str:
    """A constant as SQL; "?" for everything else."""
    if isinstance(node, exp.Paren):
        return _of_node(node.this)
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{node.this.this}"
    if type(node) is not exp.Literal:
        return "?"
    text = str(node.this)
    return "'" + text.replace("'", "''") + "'" if node.is_string else text


def _all(texts: list[str], column: Column) -> Values | None:
    if not column.exact:
        return None
    found = [_exact(text, column.type) for text in texts]
    return None if "?" in found else frozenset(found)


def _exact(text: str, kind: str) -> int | str | None:
    """A value; "?" if it cannot be compared exactly, and also for a text of this one character."""
    if text.upper() == "NULL":
        return None
    if kind in _INTEGERS:
        number = re.fullmatch(r"'?\s*([+-]?\d+)\s*'?", text)
        return int(number[1]) if number else "?"
    constant = re.fullmatch(r"'((?:[^'\\]|'')*)'", text) if kind == "text" else None
    return constant[1].replace("''", "'") if constant else "?"
