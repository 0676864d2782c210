"""Functions and operators of values that do not depend on a database: those that build names and
bounds of partitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta

from sqlglot import exp

from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Step, Unknown
from gpcatalog.effects.constant_values import (
    LARGEST,
    LONGEST,
    Release,
    SomeName,
    Value,
    converted,
    quoted,
    quoted_literal,
    shown,
    time_of,
)

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


_PATTERN = re.compile(
    r'IYYY|YYYY|YY|MM|MON|Mon|mon|DDD|DD|HH24|MI|SS|IW|WW|Q|"[^"]*"|[^A-Za-z"]'
    r"|iyyy|yyyy|yy|mm|ddd|dd|hh24|mi|ss|iw|ww|q"
)


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
                text_
                if found[2] == "s"
                else quoted(text_)
                if found[2] == "I"
                else quoted_literal(text_)
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
            "IYYY": f"{at.isocalendar()[0]:04}",
            "IW": f"{at.isocalendar()[1]:02}",
            "WW": f"{(at.timetuple().tm_yday + 6) // 7:02}",
            "DDD": f"{at.timetuple().tm_yday:03}",
            "Q": str((at.month + 2) // 3),
        }
        month = _MONTHS[at.month - 1]
        texts |= {name.lower(): text for name, text in texts.items()}
        texts |= {"Mon": month, "MON": month.upper(), "mon": month.lower()}
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
    if width > LONGEST:
        raise Unknown("text that is too long")
    more = (fill * max(width, 0))[: max(width - len(text), 0)]
    return (more + text if left else text + more)[:width]


def _truncated(given: Sequence[Value]) -> datetime:
    unit, at = given
    if not isinstance(at, date) or unit not in ("year", "quarter", "month", "week", "day"):
        raise Unknown("date_trunc()")
    moment = at if isinstance(at, datetime) else datetime.combine(at, time(), UTC)
    moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return moment - timedelta(moment.weekday())
    months = {"year": 12, "quarter": 3}.get(str(unit), 1)
    return moment.replace(
        day=moment.day if unit == "day" else 1, month=(moment.month - 1) // months * months + 1
    )


def field_of(given: Sequence[Value]) -> str:
    """The text of a field of a date. It is no integer, because the server divides it in another
    way. Raises Unknown.
    """
    field, at = given
    if not isinstance(at, date):
        raise Unknown("field of a date")
    found = {
        "year": at.year,
        "isoyear": at.isocalendar()[0],
        "quarter": (at.month + 2) // 3,
        "month": at.month,
        "week": at.isocalendar()[1],
        "day": at.day,
        "dow": at.isoweekday() % 7,
        "isodow": at.isoweekday(),
        "doy": at.timetuple().tm_yday,
    }.get(str(field).lower())
    if found is None:
        raise Unknown("field of a date")
    return str(found)


def _make_interval(given: Sequence[Value]) -> Step:
    """The result of make_interval() of years, months, weeks and days."""
    numbers = [one for one in given if type(one) is int]
    if len(numbers) < len(given) or len(given) > 4:
        raise Unknown("make_interval()")
    years, months, weeks, days = (*numbers, 0, 0, 0, 0)[:4]
    return Step(years * 12 + months, weeks * 7 + days, 0)


def _greatest(given: Sequence[Value], choose: Callable[[list[int]], int]) -> int:
    numbers = [one for one in given if type(one) is int]
    if len(numbers) < len(given):
        raise Unknown("values to compare")
    return choose(numbers)


def _with_separator(given: Sequence[Value]) -> str:
    return _text(given[0]).join(shown(one) for one in given[1:] if one is not None)


def _to_hex(given: Sequence[Value]) -> str:
    (number,) = given
    if type(number) is not int or number < 0:
        raise Unknown("hexadecimal number")
    return f"{number:x}"


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
    text, first, size = (*given, LARGEST)[:3]
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


FUNCTIONS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "date_part": field_of,
    "make_interval": _make_interval,
    "greatest": lambda given: _greatest(given, max),
    "least": lambda given: _greatest(given, min),
    "mod": lambda given: computed(exp.Mod(), *given),
    "abs": lambda given: abs(_greatest(given, max)),
    "concat_ws": _with_separator,
    "to_hex": _to_hex,
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
    "quote_literal": lambda given: quoted_literal(shown(given[0])),
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
        times = [time_of(value, "timestamp") for value in (one, two)]
        return times[0], times[1]
    if type(one) is not type(two) or isinstance(one, bool | Step) or one is None:
        raise Unknown("comparison of values")
    return one, two


def compared(node: exp.Expression, one: Value, two: Value) -> bool:
    """The result of a comparison. Raises Unknown."""
    if isinstance(one, SomeName) or isinstance(two, SomeName):
        raise Unknown("name of a role or database")
    if isinstance(one, Release):
        ends = {compared(node, number, two) for number in (one.low, one.high)}
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


def moved(at: date, by: Step) -> datetime:
    """A date or time plus an interval. Raises Unknown."""
    moment = at if isinstance(at, datetime) else datetime.combine(at, time())
    if moment.tzinfo is not None and by.micros:
        raise Unknown("hours of a time zone")
    found = calendar.add(moment, by)
    assert isinstance(found, datetime)
    return found


def computed(node: exp.Expression, one: Value, two: Value) -> Value:
    """The result of +, -, *, / or %."""
    sign = -1 if isinstance(node, exp.Sub) else 1
    if isinstance(node, exp.Add | exp.Sub):
        if isinstance(two, date) and sign == 1:
            one, two = two, one
        if isinstance(one, date) and isinstance(two, Step):
            return moved(one, _times(two, sign))
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
    if (two == 0 and isinstance(node, exp.Div | exp.Mod)) or abs(found) > LARGEST:
        raise Unknown("number that is too large")
    return found
