"""Values of expressions that do not depend on a database, their conversions and their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.dialect.grammar import WORDS
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Step, Unknown


@dataclass(frozen=True)
class Release:
    """server_version_num of any minor release of a server.

    base:   PostgreSQL release that the server is based on, 9 for 9.4
    number: whether it was converted to a number; as text, it has no order
    """

    base: int
    number: bool = False

    @property
    def low(self) -> int:
        """The number of the first minor release."""
        return 90_400 if self.base == 9 else self.base * 10_000

    @property
    def high(self) -> int:
        """The largest possible number of a minor release."""
        return self.low + (99 if self.base == 9 else 9_999)

    def divided(self, by: Value) -> int:
        """The quotient by a number. Raises Unknown."""
        if type(by) is not int or by <= 0 or self.low // by != self.high // by or not self.number:
            raise Unknown("server_version_num")
        return self.low // by


class SomeName(str):
    """The name of a role or database that is not known. It equals no other text; a text that
    contains it has the effect of the same text with any other name.
    """

    __slots__ = ()


# a datetime with a time zone is a timestamptz in the local time of the session
Value = int | str | bool | date | datetime | Step | Release | tuple["Value", ...] | None


LARGEST = 2**31 - 1


LONGEST = 100_000  # maximum characters of a text; a loop could double it in each iteration


_UTC = ZoneInfo("UTC")


_TYPES = {
    "regclass": "regclass",
    "int": "integer smallint bigint int int2 int4 int8",
    "text": "text varchar name",
    "date": "date",
    "timestamp": "timestamp",
    "interval": "interval",
    "bool": "boolean bool",
}


_KINDS = {name: kind for kind, names in _TYPES.items() for name in names.split()}


def field_key(name: str, column: str) -> str:
    """The name in `Constants.known` of a field of a record, or of a column of an item of FROM."""
    return f"{name}\0{column}"


def kind_of(type_name: str) -> str:
    """The kind of the values of a type; "" for types that are not supported.

    >>> kind_of("BIGINT"), kind_of("timestamp without time zone"), kind_of("text[]"), kind_of("numeric")
    ('int', 'timestamp', 'text[]', '')
    """
    if (array := re.fullmatch(r"(.*\w) ?\[ ?\]", type_name.strip())) is not None:
        element = kind_of(array[1])
        return f"{element}[]" if element else ""
    name = " ".join(type_name.lower().split())
    name = {"character varying": "varchar", "timestamp without time zone": "timestamp"}.get(
        name, name
    )
    return _KINDS.get(name, "")


def converted(value: Value, kind: str) -> Value:
    """A value converted to another kind. Raises Unknown."""
    if value is None or (kind == "bool" and isinstance(value, bool)):
        return value
    if kind.endswith("[]"):
        return _array(value, kind.removesuffix("[]"))
    if kind == "text":
        return shown(value)
    if kind == "regclass" and isinstance(value, str) and re.fullmatch(r"[a-z_]\w*", value):
        return quoted(value.lower())  # as it is printed if search_path has its schema
    if kind == "int" and isinstance(value, Release):
        return replace(value, number=True)
    if kind == "int" and not isinstance(value, bool):
        if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
            return int(value)
        if isinstance(value, int):
            return value
    if kind in ("date", "timestamp"):
        return time_of(value, kind)
    if kind == "interval":
        if isinstance(value, str):
            return calendar.step(value)
        if isinstance(value, Step):
            return value
    raise Unknown("conversion of a value")


def _array(value: Value, kind: str) -> Value:
    if isinstance(value, str) and re.fullmatch(r"\{\w+(,\w+)*\}", value):
        value = tuple(value[1:-1].split(","))
    if not isinstance(value, tuple) or "null" in (str(one).lower() for one in value):
        raise Unknown("elements of an array")
    return tuple(converted(one, kind) for one in value)


def time_of(value: Value, kind: str) -> date:
    """A value converted to a date or timestamp. Raises Unknown."""
    if isinstance(value, str):
        read = calendar.value(exp.Literal.string(value), kind, _UTC)
        if not isinstance(read, date):
            raise Unknown("conversion of a text")
        return read
    if isinstance(value, datetime):
        return value.date() if kind == "date" else value.replace(tzinfo=None)
    if isinstance(value, date):
        return value if kind == "date" else datetime.combine(value, time())
    raise Unknown("conversion of a value")


def shown(value: Value) -> str:
    """A value as the server prints it. Raises Unknown."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise Unknown("text of a timestamptz")
        return (
            value.isoformat(sep=" ").rstrip("0") if value.microsecond else value.isoformat(sep=" ")
        )
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Unknown("text of a value")


def literal_of(value: Value) -> exp.Expression:
    """The expression whose value this is. Raises Unknown."""
    if value is None or isinstance(value, bool):
        return exp.Null() if value is None else exp.Boolean(this=value)
    if isinstance(value, int):
        number = exp.Literal.number(abs(value))
        return exp.Neg(this=number) if value < 0 else number
    if isinstance(value, date):
        kind = exp.DType.TIMESTAMP if isinstance(value, datetime) else exp.DType.DATE
        return exp.Cast(this=exp.Literal.string(shown(value)), to=exp.DataType(this=kind))
    if isinstance(value, str) and not isinstance(value, SomeName):
        return exp.Literal.string(value)
    raise Unknown("value without a literal")


def quoted(name: str) -> str:
    """A name as quote_ident() writes it. Raises Unknown for words of SQL.

    >>> quoted("p_2024"), quoted("a b")
    ('p_2024', '"a b"')
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        return '"' + name.replace('"', '""') + '"'
    if name in WORDS or name.upper() in WORDS:
        raise Unknown("whether a name is quoted")
    return name


def quoted_literal(value: str) -> str:
    """A text as quote_literal() writes it. Raises Unknown for one with a backslash."""
    if "\\" in value:
        raise Unknown("text with a backslash")
    return "'" + value.replace("'", "''") + "'"
