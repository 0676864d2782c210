"""Expressions of PL/pgSQL whose value does not depend on a database: numbers, texts, dates and
intervals, and the functions that build names and bounds of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Step, Unknown
from gpcatalog.effects.constant_functions import FUNCTIONS, compared, computed, field_of, moved
from gpcatalog.effects.constant_values import (
    LARGEST,
    LONGEST,
    Release,
    SomeName,
    Value,
    converted,
    field_key,
    kind_of,
    shown,
    time_of,
)
from gpcatalog.effects.keys import fold
from gpcatalog.model.names import NAMEDATALEN

_ROLES = ("current_user", "session_user", "current_role", "user")


_PARTS = ("years", "months", "weeks", "days")  # arguments of make_interval()


@dataclass
class Clock:
    """The current time. used: whether an expression has read it."""

    now: datetime
    used: bool = False

    def read(self) -> datetime:
        """The time without fractions of a second, in UTC."""
        self.used = True
        return self.now.replace(microsecond=0)


_OTHER_DAYS = (1, 31, 62, 100, 200, 380)
_Result = TypeVar("_Result")


def same_every_day(
    compute: Callable[[Clock], _Result], shape: Callable[[_Result], object]
) -> _Result:
    """A result that may depend on the current time, as of today. Raises Unknown if its shape is
    another on other days.
    """
    today = Clock(datetime.now(UTC))
    found = compute(today)
    if today.used:
        usual = shape(found)
        for days in _OTHER_DAYS:
            if shape(compute(Clock(today.now + timedelta(days)))) != usual:
                raise Unknown("current time")
    return found


_TIMES = frozenset("now clock_timestamp statement_timestamp transaction_timestamp".split())


class Constants:
    """Computes expressions of one block.

    known: values of its variables by name
    own: functions of the script, which may be called instead of the server's functions
    finds: returns whether a query, or to_regclass(), finds something
    base:  PostgreSQL release that the server is based on
    clock: the current time; without it, functions of it are unknown
    """

    def __init__(
        self,
        known: Mapping[str, Value],
        own: Collection[str],
        finds: Callable[[exp.Expression], bool] | None = None,
        *,
        base: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.known = known
        self.own = own
        self.finds = finds
        self.base = base
        self.clock = clock

    def value(self, node: exp.Expression) -> Value:
        """The value of an expression. Raises Unknown."""
        try:
            found = self._value(node)
        except (ValueError, OverflowError, IndexError, TypeError) as e:
            raise Unknown(str(e)) from None
        if isinstance(found, str) and len(found) > LONGEST:
            raise Unknown("text that is too long")
        return found

    def _value(self, node: exp.Expression) -> Value:
        if isinstance(node, exp.Paren):
            return self._value(node.this)
        if isinstance(node, exp.Literal):
            if node.is_string:
                return str(node.this)
            if not str(node.this).isdigit() or int(node.this) > LARGEST:
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
            return computed(exp.Sub(), 0, self._value(node.this))
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
            return computed(node, self._value(node.this), self._value(node.expression))
        if isinstance(node, exp.Anonymous | gx.FunctionCall):
            return self._call(node)
        if isinstance(node, gx.SpecialCall):
            return self._special(node)
        return self._condition(node)

    def _special(self, node: exp.Expression) -> Value:
        """The value of a function with a syntax of its own."""
        name = str(node.this).lower()
        if name in _ROLES:
            return SomeName("gpcatalog_role")
        if name == "extract" and len(node.expressions) == 3:
            unit, _, at = node.expressions
            word = str(unit.this) if isinstance(unit, exp.Literal) else fold(unit)
            return field_of([word, self._value(at)])
        if self.clock is not None and name == "current_date":
            return self.clock.read().date()
        if self.clock is not None and name in ("current_timestamp", "localtimestamp"):
            return self.clock.read().replace(tzinfo=None if name == "localtimestamp" else UTC)
        raise Unknown(f"value of {name}()")

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
            return compared(node, self._value(node.this), self._value(node.expression))
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
        return Constants(known, self.own, self.finds, base=self.base, clock=self.clock)

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
        if name in _TIMES and self.clock is not None:
            return self.clock.read()
        if name == "current_database":
            return SomeName("gpcatalog_database")
        if name not in FUNCTIONS:
            raise Unknown(f"value of {name}()")
        return FUNCTIONS[name](self._arguments(name, node.expressions))

    def _arguments(self, name: str, nodes: Sequence[exp.Expression]) -> list[Value]:
        """The values of arguments; those with names only for make_interval()."""
        if name != "make_interval" or not any(isinstance(one, gx.NamedArgument) for one in nodes):
            return [self._value(one) for one in nodes]
        found: list[Value] = [0] * len(_PARTS)
        for one in nodes:
            if not isinstance(one, gx.NamedArgument) or fold(one.this) not in _PARTS:
                raise Unknown("make_interval()")
            found[_PARTS.index(fold(one.this))] = self._value(one.expression)
        return found

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
            time_of(given[0], "timestamp"),
            time_of(given[1], "timestamp"),
            converted(given[2], "interval"),
        )
        assert isinstance(by_, Step)
        if not by_.positive or by_.micros:
            raise Unknown("step of a series")
        found: list[Value] = []
        while at <= last_ and len(found) < calendar.MOST:
            found.append(at if plain or not isinstance(at, datetime) else at.replace(tzinfo=UTC))
            at = moved(at, by_)
        return found
