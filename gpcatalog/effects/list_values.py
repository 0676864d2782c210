"""Values of list partitions that can be compared exactly: constants of numbers, texts and truth
values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from sqlglot import exp

from gpcatalog.effects.keys import Column

Values = frozenset[int | str | bool | float | Decimal | None]  # None is NULL
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
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{node.this.this}"
    if type(node) is not exp.Literal:
        return "?"
    text = str(node.this)
    return "'" + text.replace("'", "''") + "'" if node.is_string else text


def _all(texts: list[str], column: Column) -> Values | None:
    if column.own_type or (not column.exact and column.type not in _WITH_LENGTH):
        return None
    found = [_exact(text, column) for text in texts]
    return None if _NOT_EXACT in found else frozenset(found)  # type: ignore[arg-type]


_NOT_EXACT = object()  # a value that cannot be compared exactly
_WITH_LENGTH = ("varchar", "bpchar", "numeric")
_NUMBER = re.compile(r"('?)\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*\1")
_TEXT = re.compile(r"'((?:[^'\\]|'')*)'")
# the words for truth values (boolin); the server accepts their unique beginnings, too
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True} | dict.fromkeys(
    ("false", "no", "off", "0"), False
)


def _exact(text: str, column: Column) -> object:
    """A value; _NOT_EXACT if it cannot be compared exactly."""
    if text.upper() == "NULL":
        return None
    kind = column.type
    if kind in (*_INTEGERS, "numeric", "float8"):
        return _number(text, column)
    found = _TEXT.fullmatch(text)
    constant = found[1].replace("''", "'") if found else None
    if kind == "bool":
        word = (text if constant is None else constant).strip().lower()
        meant = {_TRUTHS[one] for one in _TRUTHS if word and one.startswith(word)}
        return meant.pop() if len(meant) == 1 else _NOT_EXACT
    if constant is None or kind not in ("text", "varchar", "bpchar"):
        return _NOT_EXACT
    if kind == "bpchar":
        constant = constant.rstrip(" ")
    longest = column.typmod - 4 if column.typmod != -1 else len(constant)
    return constant if len(constant) <= longest else _NOT_EXACT


def _number(text: str, column: Column) -> object:
    kind, found = column.type, _NUMBER.fullmatch(text)
    if found is None:
        special = text.strip("'").strip().lower().lstrip("+")
        return _SPECIAL.get(special, _NOT_EXACT) if kind == "float8" else _NOT_EXACT
    number = Decimal(found[2])
    if kind == "float8":
        return float(number)
    if kind == "numeric":
        scale = (column.typmod - 4) & 0x7FF if column.typmod != -1 else None
        rounded = scale is not None and number != round(number, scale)
        return _NOT_EXACT if rounded else number
    quoted = found[1] and not re.fullmatch(r"[+-]?\d+", found[2])  # not accepted for integers
    return _NOT_EXACT if quoted or number != int(number) else int(number)


_SPECIAL = {
    **dict.fromkeys(("infinity", "inf"), float("inf")),
    **dict.fromkeys(("-infinity", "-inf"), float("-inf")),
    "nan": "nan",
}
