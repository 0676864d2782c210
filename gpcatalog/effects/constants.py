"""Expressions of PL/pgSQL whose value does not depend on a database: numbers, texts, dates and
intervals, and the functions that build names and bounds of partitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.grammar import WORDS
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Step, Unknown
from gpcatalog.effects.keys import fold
from gpcatalog.model.names import NAMEDATALEN


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


_ROLES = ("current_user", "session_user", "current_role", "user")
# a datetime with a time zone is a timestamptz in the local time of the session
Value = int | str | bool | date | datetime | Step | Release | tuple["Value", ...] | None
_LARGEST = 2**31 - 1
_LONGEST = 100_000  # maximum characters of a text; a loop could double it in each iteration
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
_PATTERN = re.compile(r'YYYY|YY|MM|DD|HH24|MI|SS|"[^"]*"|[^A-Za-z"]')


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
        return _time(value, kind)
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


def _time(value: Value, kind: str) -> date:
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


def _literal(value: str) -> str:
    if "\\" in value:
        raise Unknown("text with a backslash")
    return "'" + value.replace("'", "''") + "'"


def _format(given: Sequence[Value]) -> str:
    """The result of format() with %s, %I and %L, with or without argument numbers."""
    text, values = given[0], given[1:]
    if not isinstance(text, str):
        raise Unknown("format of no text")
    out, at, last = [], 0, 0
    for found in re.finditer(r"%(?:(\d+)\$)?([sIL%])?", text):
        out.append(text[last : found.start()])
        last = found.end()
        if found[2] is None:
            raise Unknown("width in a format")
        if found[2] == "%":
            out.append("%")
            continue
        at = int(found[1]) if found[1] else at + 1
        if not 0 < at <= len(values):
            raise Unknown("argument of format() that is not there")
        value = values[at - 1]
        if value is None:
            if found[2] == "I":
                raise Unknown("name that is NULL")
            out.append("NULL" if found[2] == "L" else "")
        else:
            text_ = shown(value)
            out.append(
                text_ if found[2] == "s" else quoted(text_) if found[2] == "I" else _literal(text_)
            )
    return "".join([*out, text[last:]])


def _to_char(given: Sequence[Value]) -> str:
    value, form = given
    if not isinstance(form, str):
        raise Unknown("format of no text")
    if isinstance(value, date):
        parts = _PATTERN.findall(form)
        if "".join(parts) != form:
            raise Unknown("format of a date")
        at = value if isinstance(value, datetime) else datetime.combine(value, time())
        texts = {
            "YYYY": f"{at.year:04}",
            "YY": f"{at.year % 100:02}",
            "MM": f"{at.month:02}",
            "DD": f"{at.day:02}",
            "HH24": f"{at.hour:02}",
            "MI": f"{at.minute:02}",
            "SS": f"{at.second:02}",
        }
        return "".join(texts.get(part, part.strip('"')) for part in parts)
    if (
        isinstance(value, int)
        and re.fullmatch(r"FM0+", form)
        and 0 <= value < 10 ** (len(form) - 2)
    ):
        return str(value).zfill(len(form) - 2)
    raise Unknown("to_char() of a value")


def _padded(given: Sequence[Value], *, left: bool) -> str:
    text, width, fill = (*given, " ")[:3]
    if not (isinstance(text, str) and isinstance(width, int) and isinstance(fill, str) and fill):
        raise Unknown("padding of a value")
    if width > _LONGEST:
        raise Unknown("text that is too long")
    more = (fill * max(width, 0))[: max(width - len(text), 0)]
    return (more + text if left else text + more)[:width]


def _truncated(given: Sequence[Value]) -> datetime:
    unit, at = given
    if not isinstance(at, date) or unit not in ("year", "month", "day"):
        raise Unknown("date_trunc()")
    moment = at if isinstance(at, datetime) else datetime.combine(at, time(), UTC)
    moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return moment.replace(
        day=moment.day if unit == "day" else 1, month=1 if unit == "year" else moment.month
    )


def _make_date(given: Sequence[Value]) -> date:
    year, month, day = given
    if not (isinstance(year, int) and isinstance(month, int) and isinstance(day, int)):
        raise Unknown("make_date()")
    return date(year, month, day)


def _text(value: Value) -> str:
    """A text argument, without the name of a role or database. Raises Unknown."""
    if not isinstance(value, str) or isinstance(value, SomeName):
        raise Unknown("argument that is no text")
    return value


def _changed_case(given: Sequence[Value], change: Callable[[str], str]) -> str:
    (value,) = given
    if not _text(value).isascii():  # depends on the locale
        raise Unknown("upper and lower case")
    return change(_text(value))


def _replaced(given: Sequence[Value]) -> str:
    text, old, new = map(_text, given)
    return text.replace(old, new) if old else text


def _part(given: Sequence[Value]) -> str:
    """The result of split_part()."""
    text, separator, number = given
    if type(number) is not int or number < 1 or not _text(separator):
        raise Unknown("part of a text")
    parts = _text(text).split(_text(separator))
    return parts[number - 1] if number <= len(parts) else ""


def _end(given: Sequence[Value], *, left: bool) -> str:
    """The result of left() or right(), which count from the other end if negative."""
    text, number = given
    if type(number) is not int:
        raise Unknown("part of a text")
    whole = _text(text)
    size = max(number if number >= 0 else len(whole) + number, 0)
    return whole[:size] if left else whole[max(len(whole) - size, 0) :]


def _substring(given: Sequence[Value]) -> str:
    text, first, size = (*given, _LARGEST)[:3]
    if type(first) is not int or type(size) is not int or size < 0:
        raise Unknown("part of a text")
    return _text(text)[max(first - 1, 0) : max(first - 1 + size, 0)]


def _length(given: Sequence[Value]) -> int:
    (array, dimension) = (*given, 1)[:2]
    if not isinstance(array, tuple) or dimension != 1 or not array:
        raise Unknown("length of an array")
    return len(array)


def _array_of(given: Sequence[Value]) -> Value:
    """The result of string_to_array() without a text for NULL."""
    text, separator = given
    if not _text(text) or not _text(separator):
        raise Unknown("parts of a text")
    return tuple(_text(text).split(_text(separator)))


def _joined(given: Sequence[Value]) -> str:
    """The result of array_to_string() without a text for NULL."""
    array, separator = given
    if not isinstance(array, tuple):
        raise Unknown("text of an array")
    return _text(separator).join(shown(one) for one in array if one is not None)


def _date_of(given: Sequence[Value]) -> date:
    """The result of to_date() for formats whose parts have a fixed width."""
    text, form = map(_text, given)
    digits = {"YYYY": r"(?P<y>\d{4})", "MM": r"(?P<m>\d\d)", "DD": r"(?P<d>\d\d)"}
    pattern = "".join(digits.get(one, re.escape(one)) for one in re.findall(r"YYYY|MM|DD|.", form))
    found = re.fullmatch(pattern, text) if re.fullmatch(r"(YYYY|MM|DD|[-_/.])+", form) else None
    parts = {} if found is None else found.groupdict()
    if "y" not in parts:
        raise Unknown("to_date()")
    return date(int(parts["y"]), int(parts.get("m", 1)), int(parts.get("d", 1)))


_FUNCTIONS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "upper": lambda given: _changed_case(given, str.upper),
    "lower": lambda given: _changed_case(given, str.lower),
    "replace": _replaced,
    "split_part": _part,
    "left": lambda given: _end(given, left=True),
    "right": lambda given: _end(given, left=False),
    "substr": _substring,
    "length": lambda given: len(_text(*given)),
    "char_length": lambda given: len(_text(*given)),
    "btrim": lambda given: _text(*given).strip(" "),
    "array_length": _length,
    "array_upper": _length,
    "cardinality": _length,
    "string_to_array": _array_of,
    "array_to_string": _joined,
    "to_date": _date_of,
    "format": _format,
    "to_char": _to_char,
    "lpad": lambda given: _padded(given, left=True),
    "rpad": lambda given: _padded(given, left=False),
    "date_trunc": _truncated,
    "make_date": _make_date,
    "quote_ident": lambda given: quoted(shown(given[0])),
    "quote_literal": lambda given: _literal(shown(given[0])),
    "concat": lambda given: "".join(shown(one) for one in given if one is not None),
    "coalesce": lambda given: next((one for one in given if one is not None), None),
}


def _same(one: Value, two: Value) -> tuple[Value, Value]:
    """Two values to compare, converted to the same kind."""
    for a, b, swapped in ((one, two, False), (two, one, True)):
        if isinstance(a, str) and not isinstance(b, str):
            kind = (
                "int" if isinstance(b, int) else "timestamp" if isinstance(b, datetime) else "date"
            )
            return (b, converted(a, kind)) if swapped else (converted(a, kind), b)
    if isinstance(one, date) and isinstance(two, date):
        times = [_time(value, "timestamp") for value in (one, two)]
        return times[0], times[1]
    if type(one) is not type(two) or isinstance(one, bool | Step) or one is None:
        raise Unknown("comparison of values")
    return one, two


def _compared(node: exp.Expression, one: Value, two: Value) -> bool:
    if isinstance(one, SomeName) or isinstance(two, SomeName):
        raise Unknown("name of a role or database")
    if isinstance(one, Release):
        ends = {_compared(node, number, two) for number in (one.low, one.high)}
        inside = isinstance(two, int) and one.low <= two <= one.high
        if not one.number or len(ends) > 1 or (inside and isinstance(node, exp.EQ | exp.NEQ)):
            raise Unknown("server_version_num")
        return ends.pop()
    one, two = _same(one, two)
    if isinstance(one, str) and not isinstance(node, exp.EQ | exp.NEQ):
        raise Unknown("order of texts")
    less, equal = one < two, one == two  # type: ignore[operator]
    results = {
        "LT": less,
        "LTE": less or equal,
        "GT": not less and not equal,
        "GTE": not less,
        "EQ": equal,
        "NEQ": not equal,
    }
    return results[type(node).__name__]


def _times(step: Step, number: int) -> Step:
    return Step(step.months * number, step.days * number, step.micros * number)


def _moved(at: date, by: Step) -> datetime:
    moment = at if isinstance(at, datetime) else datetime.combine(at, time())
    if moment.tzinfo is not None and by.micros:
        raise Unknown("hours of a time zone")
    found = calendar.add(moment, by)
    assert isinstance(found, datetime)
    return found


def _computed(node: exp.Expression, one: Value, two: Value) -> Value:
    """The result of +, -, *, / or %."""
    sign = -1 if isinstance(node, exp.Sub) else 1
    if isinstance(node, exp.Add | exp.Sub):
        if isinstance(two, date) and sign == 1:
            one, two = two, one
        if isinstance(one, date) and isinstance(two, Step):
            return _moved(one, _times(two, sign))
        if isinstance(one, date) and not isinstance(one, datetime) and type(two) is int:
            return date.fromordinal(one.toordinal() + sign * two)
        if type(one) is date and type(two) is date and sign == -1:
            return one.toordinal() - two.toordinal()
    if isinstance(one, Release) and isinstance(node, exp.Div):
        return one.divided(two)
    if isinstance(node, exp.Mul):
        if isinstance(one, Step):
            one, two = two, one
        if type(one) is int and isinstance(two, Step):
            return _times(two, one)
    if type(one) is not int or type(two) is not int:
        raise Unknown("computation with values")
    if isinstance(node, exp.Div | exp.Mod):
        quotient = abs(one) // abs(two) * (1 if (one < 0) == (two < 0) else -1) if two else 0
        found = quotient if isinstance(node, exp.Div) else one - quotient * two
    else:
        found = one * two if isinstance(node, exp.Mul) else one + sign * two
    if (two == 0 and isinstance(node, exp.Div | exp.Mod)) or abs(found) > _LARGEST:
        raise Unknown("number that is too large")
    return found


class Constants:
    """Computes expressions of one block.

    known: values of its variables by name
    own: functions of the script, which may be called instead of the server's functions
    finds: returns whether a query, or to_regclass(), finds something
    base:  PostgreSQL release that the server is based on
    """

    def __init__(
        self,
        known: Mapping[str, Value],
        own: Collection[str],
        finds: Callable[[exp.Expression], bool] | None = None,
        *,
        base: int | None = None,
    ) -> None:
        self.known = known
        self.own = own
        self.finds = finds
        self.base = base

    def value(self, node: exp.Expression) -> Value:
        """The value of an expression. Raises Unknown."""
        try:
            found = self._value(node)
        except (ValueError, OverflowError, IndexError, TypeError) as e:
            raise Unknown(str(e)) from None
        if isinstance(found, str) and len(found) > _LONGEST:
            raise Unknown("text that is too long")
        return found

    def _value(self, node: exp.Expression) -> Value:
        if isinstance(node, exp.Paren):
            return self._value(node.this)
        if isinstance(node, exp.Literal):
            if node.is_string:
                return str(node.this)
            if not str(node.this).isdigit() or int(node.this) > _LARGEST:
                raise Unknown("number")
            return int(node.this)
        if isinstance(node, exp.Column):
            name, table = fold(node.this), node.args.get("table")
            if table is not None:
                name = field_key(fold(table), name)
            if name not in self.known or node.args.get("db") is not None:
                raise Unknown(f"value of {fold(node.this)}")
            return self.known[name]
        if isinstance(node, exp.Heredoc | exp.RawString):
            return str(node.this)
        if isinstance(node, gx.ArrayValue):
            return tuple(self._value(one) for one in node.expressions)
        if isinstance(node, gx.Subscript):
            return self._element(node)
        if isinstance(node, exp.Boolean | exp.Null):
            return bool(node.this) if isinstance(node, exp.Boolean) else None
        if isinstance(node, exp.Cast | gx.TypedLiteral):
            return self.cast(self._value(node.this), node)
        if isinstance(node, exp.Neg):
            return _computed(exp.Sub(), 0, self._value(node.this))
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
            return _computed(node, self._value(node.this), self._value(node.expression))
        if isinstance(node, exp.Anonymous | gx.FunctionCall):
            return self._call(node)
        if isinstance(node, gx.SpecialCall) and str(node.this).lower() in _ROLES:
            return SomeName("gpcatalog_role")
        return self._condition(node)

    def _element(self, node: exp.Expression) -> Value:
        """An element of an array that is numbered from 1; NULL outside of it."""
        array = self._value(node.this)
        if {k for k, v in node.args.items() if v} - {"this", "lower"} or not isinstance(
            array, tuple
        ):
            raise Unknown("element of an array")
        at = self._value(node.args["lower"])
        if type(at) is not int:
            raise Unknown("element of an array")
        return array[at - 1] if 1 <= at <= len(array) else None

    def _condition(self, node: exp.Expression) -> Value:
        """The value of a comparison, AND, OR, NOT, CASE, or a concatenation of texts."""
        if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ | exp.NEQ):
            return _compared(node, self._value(node.this), self._value(node.expression))
        if isinstance(node, exp.Not):
            return not self._true(node.this)
        if isinstance(node, exp.And | exp.Or):
            return self._both(node)
        if (found := self._found(node)) is not None:
            return found
        if isinstance(node, exp.Case) and node.args.get("this") is None:
            for one in node.args["ifs"]:
                if self._true(one.this):
                    return self._value(one.args["true"])
            default = node.args.get("default")
            return None if default is None else self._value(default)
        if isinstance(node, gx.OperatorCall) and str(node.args["operator"].this) == "||":
            parts = [self._value(node.this), self._value(node.expression)]
            if not any(isinstance(part, str) for part in parts) or None in parts:
                raise Unknown("parts of a text")
            return "".join(shown(part) for part in parts)
        raise Unknown("expression")

    def _both(self, node: exp.Expression) -> bool:
        """The value of AND and OR: one side can determine it, even if the other is unknown."""
        decides = isinstance(node, exp.Or)
        try:
            if self._true(node.this) is decides:
                return decides
        except Unknown:
            calls = list(node.this.find_all(exp.Anonymous, gx.FunctionCall))  # these have run
            if not calls and self._true(node.expression) is decides:
                return decides
            raise
        return self._true(node.expression)

    def _found(self, node: exp.Expression) -> bool | None:
        """The value of EXISTS (query) and of to_regclass(name) IS [NOT] NULL; None for other
        expressions.
        """
        if self.finds is None:
            return None
        if isinstance(node, gx.Predicate) and str(node.args.get("words")) == "EXISTS":
            return self.finds(node.expressions[0])
        null = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)
        argument = node.this if null or str(node.args.get("words")) == "IS NOT NULL" else None
        if isinstance(argument, exp.Anonymous) and str(argument.this).lower() == "to_regclass":
            return self.finds(argument) is not null
        return None

    def _true(self, node: exp.Expression) -> bool:
        value = self._value(node)
        if not isinstance(value, bool):
            raise Unknown("condition")
        return value

    def knowing(self, known: Mapping[str, Value]) -> Constants:
        """The same with other values of variables."""
        return Constants(known, self.own, self.finds, base=self.base)

    def cast(self, value: Value, node: exp.Expression) -> Value:
        """A value converted to the type of a cast. Raises Unknown."""
        to = node.args["to"]
        if to.this == exp.DataType.Type.ARRAY and len(to.expressions) == 1:
            kind = kind_of(f"{to.expressions[0].sql('greenplum')}[]")
        else:
            kind = "" if to.expressions else kind_of(to.sql("greenplum"))
        if kind == "interval" and isinstance(value, str):
            return calendar.step(value, str(node.args.get("fields") or ""))
        if not kind or node.args.get("fields"):
            raise Unknown("value of another type")
        cut = kind == "text" and to.sql("greenplum").lower() == "name"
        if cut and len(shown(value).encode()) > NAMEDATALEN:
            raise Unknown("name that is cut")
        return converted(value, kind)

    def _call(self, node: exp.Expression) -> Value:
        name = node.this if isinstance(node.this, str) else node.this.sql("greenplum")
        name = str(name).lower().removeprefix("pg_catalog.")
        plain = {k for k, v in node.args.items() if v} <= {"this", "expressions"}
        if name in self.own or not plain:
            raise Unknown(f"value of {name}()")
        if name == "current_setting" and self.base is not None:
            if self._value(node.expressions[0]) != "server_version_num":
                raise Unknown("value of a setting")
            return Release(self.base)
        if name == "current_database":
            return SomeName("gpcatalog_database")
        if name not in _FUNCTIONS:
            raise Unknown(f"value of {name}()")
        return _FUNCTIONS[name]([self._value(one) for one in node.expressions])

    def series(self, call: exp.Expression) -> list[Value]:
        """The values of generate_series(); times are returned as timestamptz. Raises Unknown."""
        given = [self.value(one) for one in call.expressions]
        if all(type(one) is int for one in given) and 2 <= len(given) <= 3:
            first, last, by = (*given, 1)[:3]
            assert isinstance(first, int)
            assert isinstance(last, int)
            if not isinstance(by, int) or by == 0:
                raise Unknown("step of a series")
            numbers = range(first, last + (1 if by > 0 else -1), by)
            if len(numbers) > calendar.MOST:
                raise Unknown("number of rows")
            return list(numbers)
        if len(given) != 3 or not isinstance(given[0], date):
            raise Unknown("series")
        # of timestamps without time zone, if none is a date, which is converted to timestamptz
        plain = isinstance(given[0], datetime) and given[0].tzinfo is None
        plain = plain and (
            isinstance(given[1], str) or (type(given[1]) is datetime and given[1].tzinfo is None)
        )
        at, last_, by_ = (
            _time(given[0], "timestamp"),
            _time(given[1], "timestamp"),
            converted(given[2], "interval"),
        )
        assert isinstance(by_, Step)
        if not by_.positive or by_.micros:
            raise Unknown("step of a series")
        found: list[Value] = []
        while at <= last_ and len(found) < calendar.MOST:
            found.append(at if plain or not isinstance(at, datetime) else at.replace(tzinfo=UTC))
            at = _moved(at, by_)
        return found
