"""Values of partition bounds and the steps between them, as the server computes them: months, time
zones, numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.dialect import expressions as gx

Value = int | Decimal | date | datetime | str
MOST = 200_000  # maximum partitions of one table to expand; a level can have 32,767


class Unknown(Exception):
    """A value that cannot be computed without the server; the message contains the reason."""


@dataclass(frozen=True)
class Step:
    """An interval: months, days and microseconds are added in this order, as the server does."""

    months: int = 0
    days: int = 0
    micros: int = 0

    @property
    def positive(self) -> bool:
        """Whether the interval is positive."""
        return self.months * 30 * 86_400_000_000 + self.days * 86_400_000_000 + self.micros > 0


_UNITS: dict[str, tuple[int, int, int]] = {}
for _names, _unit in (
    ("year years yr yrs y", (12, 0, 0)),
    ("month months mon mons", (1, 0, 0)),
    ("decade decades", (120, 0, 0)),
    ("century centuries", (1200, 0, 0)),
    ("week weeks w", (0, 7, 0)),
    ("day days d", (0, 1, 0)),
    ("hour hours hr hrs h", (0, 0, 3_600_000_000)),
    ("minute minutes min mins m", (0, 0, 60_000_000)),
    ("second seconds sec secs s", (0, 0, 1_000_000)),
    ("millisecond milliseconds msec msecs ms", (0, 0, 1_000)),
    ("microsecond microseconds usec usecs us", (0, 0, 1)),
):
    for _name in _names.split():
        _UNITS[_name] = _unit
_PIECE = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)")
_CLOCK = re.compile(r"\s*([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?")


def step(text: str, fields: str = "") -> Step:
    """The interval of a text in the usual forms.

    >>> step("1 month"), step("1 day 12:00"), step("3", "DAY")
    (Step(months=1, days=0, micros=0), Step(months=0, days=1, micros=43200000000), Step(months=0, days=3, micros=0))
    """
    rest = text.strip().lower().removeprefix("@").strip()
    ago = rest.endswith(" ago")
    rest = rest.removesuffix(" ago")
    months = days = micros = Decimal(0)
    if fields and re.fullmatch(r"[+-]?\d+", rest):
        rest += " " + fields.split()[-1].split("(")[0].lower()
    at, seen = 0, False
    while rest[at:].strip():
        clock = _CLOCK.match(rest, at)
        piece = None if clock else _PIECE.match(rest, at)
        if clock:
            sign = -1 if clock[1] == "-" else 1
            micros += (
                sign
                * (int(clock[2]) * 3600 + int(clock[3]) * 60 + Decimal(clock[4] or 0))
                * 1_000_000
            )
            at = clock.end()
        elif piece and piece[2] in _UNITS:
            unit = _UNITS[piece[2]]
            amount = Decimal(piece[1])
            if unit[0] and amount != amount.to_integral_value() and unit[0] == 1:
                raise Unknown(f"fraction of a month in {text!r}")
            months += amount * unit[0]
            if unit[1]:
                whole_days = (amount * unit[1]).to_integral_value(rounding="ROUND_DOWN")
                days += whole_days
                micros += (amount * unit[1] - whole_days) * 86_400_000_000
            micros += amount * unit[2]
            at = piece.end()
        else:
            raise Unknown(f"interval {text!r}")
        seen = True
    if not seen:
        raise Unknown(f"interval {text!r}")
    sign = -1 if ago else 1
    return Step(sign * int(months), sign * int(days), sign * int(micros))


_DATE = re.compile(r"(\d{4})[-/.]?(\d{1,2})[-/.]?(\d{1,2})\Z")
_STAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:["
    r" T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?\Z",
    re.IGNORECASE,
)


# the day of a year, or two digits each for year, month and day
_ODD_DATE = re.compile(r"\d{4}[.-]\d{3}(?!\d)|\d{6}(?!\d)")


def _as_date(text: str) -> date:
    if _ODD_DATE.match(text.strip()):
        raise Unknown(f"date {text!r}")
    found = _DATE.match(text.strip()) or _STAMP.match(text.strip())
    if found is None:
        raise Unknown(f"date {text!r} (depends on DateStyle or is not ISO 8601)")
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError as e:
        raise Unknown(f"date {text!r}: {e}") from None


def _as_stamp(text: str, zone: ZoneInfo | None) -> datetime:
    found = _STAMP.match(text.strip())
    if found is None:
        plain = _as_date(text)
        return datetime(plain.year, plain.month, plain.day, tzinfo=zone)
    parts = [int(found[i] or 0) for i in (1, 2, 3, 4, 5, 6)]
    micros = int((found[7] or "0").ljust(6, "0"))
    try:
        stamp = datetime(*parts, micros)  # type: ignore[call-arg, arg-type]
    except ValueError as e:
        raise Unknown(f"timestamp {text!r}: {e}") from None
    if zone is None:
        return stamp
    if found[8]:
        mark = found[8].upper()
        if re.fullmatch(r"[+-]\d{3}", mark):
            raise Unknown(f"timestamp {text!r}")  # hours and minutes
        if mark in ("Z", "UTC"):
            offset = timedelta()
        else:
            digits = mark[1:].replace(":", "")
            offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0)) * (
                -1 if mark[0] == "-" else 1
            )
        return (stamp.replace(tzinfo=UTC) - offset).astimezone(zone)
    return stamp.replace(tzinfo=zone)


def kind_of(type_name: str) -> str:
    """How values of a type are ordered: "integer", "numeric", "date", "timestamp", "timestamptz" or
    "text".

    >>> kind_of("INTEGER"), kind_of("TIMESTAMP(0) WITH TIME ZONE"), kind_of("CHARACTER VARYING(3)")
    ('integer', 'timestamptz', 'text')
    """
    name = re.sub(r"\s*\([^)]*\)", "", type_name).strip().lower()
    if name in (
        "integer",
        "bigint",
        "smallint",
        "int",
        "int2",
        "int4",
        "int8",
        "serial",
        "bigserial",
        "smallserial",
        "oid",
    ):
        return "integer"
    if name in ("numeric", "decimal", "real", "double precision", "float4", "float8"):
        return "numeric"
    if name == "date":
        return "date"
    if name in ("timestamp", "timestamp without time zone"):
        return "timestamp"
    if name in ("timestamptz", "timestamp with time zone"):
        return "timestamptz"
    return "text"


def raw(node: exp.Expression) -> tuple[str, str, str]:
    """The text of a constant, its written type ("" if none is written) and its interval fields.
    Raises Unknown.
    """
    if isinstance(node, exp.Paren):
        return raw(node.this)
    if isinstance(node, exp.Neg):
        text, type_name, fields = raw(node.this)
        return "-" + text, type_name or "number", fields
    if isinstance(node, exp.Literal):
        return str(node.this), "" if node.is_string else "number", ""
    if isinstance(node, exp.Heredoc | exp.National):
        return str(node.this), "", ""
    if isinstance(node, exp.Cast):
        text, _, fields = raw(node.this)
        return text, node.args["to"].sql("greenplum"), fields
    if isinstance(node, gx.TypedLiteral):
        text, _, _ = raw(node.this)
        return text, node.args["to"].sql("greenplum"), str(node.args.get("fields") or "")
    if isinstance(node, gx.OperatorCall) and node.args.get("this") is None:
        return raw(node.expression)
    raise Unknown(f"value that is not a constant: {node.sql('greenplum')}")


def _integer(text: str) -> int:
    """An integer constant. Raises Unknown if it is far larger than 64 bits."""
    number = Decimal(text)
    if not number.is_finite() or number.adjusted() > 20:
        raise Unknown(f"number {text!r}")
    return int(number.to_integral_value(ROUND_HALF_UP))  # as the server converts numeric


def _same_kind(written: str, kind: str, text: str) -> bool:
    """Whether a constant with this type ("" if none is written) has the value of its text as a key
    of this kind.
    """
    if written in ("", "number", "text") or written.lower().startswith(
        ("text", "varchar", "unknown")
    ):
        return True
    if "(" in written:
        return False  # rounded to a precision
    own = kind_of(written)
    return own == kind or (own == "date" and kind == "timestamp" and len(text.strip()) <= 10)


def value(node: exp.Expression, kind: str, zone: ZoneInfo) -> Value:
    """The value of a bound, in the kind of its column."""
    text, written, _ = raw(node)
    if kind in ("date", "timestamp", "timestamptz") and not _same_kind(written, kind, text):
        raise Unknown(f"{written} for a key of type {kind}")
    try:
        if kind == "integer":
            return _integer(text)
        if kind in ("numeric", "float"):
            return Decimal(text)
    except InvalidOperation:
        raise Unknown(f"number {text!r}") from None
    if kind == "date":
        return _as_date(text)
    if kind == "timestamp":
        return _as_stamp(text, None)
    if kind == "timestamptz":
        return _as_stamp(text, zone)
    return text


def stride(node: exp.Expression, kind: str) -> Step | Decimal:
    """The value of EVERY: an interval for times, a number for numbers and whole days of dates."""
    text, type_name, fields = raw(node)
    if kind in ("integer", "numeric", "float"):
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise Unknown(f"step {text!r}") from None
        if kind == "float" and number.is_finite() and Decimal(float(number)) != number:
            # 0.1 added ten times is less than 1, so one more partition may be created
            raise Unknown(f"EVERY {text} of a floating-point key: the server adds rounding errors")
        return number
    if type_name == "number":
        if kind == "date":
            return Step(days=_integer(text))
        raise Unknown(f"number as the step of a {kind}")
    if type_name == "" and re.fullmatch(r"[+-]?\d+", text.strip()):
        raise Unknown(f"step {text!r}")
    return step(
        text,
        fields
        or (
            type_name.upper().removeprefix("INTERVAL").strip()
            if type_name.upper().startswith("INTERVAL ")
            else ""
        ),
    )


_LAST = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _add_months(at: date, months: int) -> date:
    index = at.year * 12 + at.month - 1 + months
    year, month = divmod(index, 12)
    leap = month == 1 and (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    return at.replace(year=year, month=month + 1, day=min(at.day, _LAST[month] + leap))


def add(at: Value, by: Step | Decimal) -> Value:
    """at + by.

    >>> add(date(2020, 1, 31), Step(months=1))
    datetime.date(2020, 2, 29)
    """
    try:
        if isinstance(by, Decimal):
            if isinstance(at, int):
                return int(at + by)
            if isinstance(at, Decimal):
                return at + by
            raise Unknown("number added to a time")
        if isinstance(at, datetime):
            moved = _add_months(at, by.months) if by.months else at
            # no addition of 0 days: it would reset fold, which distinguishes two equal local times
            if by.days:
                moved = moved + timedelta(days=by.days)
            assert isinstance(moved, datetime)
            if by.micros:
                if moved.tzinfo is None:
                    moved += timedelta(microseconds=by.micros)
                else:  # hours are added in UTC, days and months in local time
                    moved = (moved.astimezone(UTC) + timedelta(microseconds=by.micros)).astimezone(
                        moved.tzinfo
                    )
            return moved
        if isinstance(at, date):
            moved_ = _add_months(at, by.months) if by.months else at
            moved_ = moved_ + timedelta(days=by.days)
            # a date plus an interval is a timestamp, which is truncated to a date
            return moved_ + timedelta(days=by.micros // 86_400_000_000)
    except (ValueError, OverflowError):
        raise Unknown("time after the year 9999") from None
    raise Unknown("step of this type")


def _before(a: Value, b: Value) -> bool:
    if isinstance(a, datetime) and isinstance(b, datetime) and a.tzinfo is not None:
        return a.astimezone(UTC) < b.astimezone(UTC)
    if isinstance(a, Decimal) and a.is_nan():
        return False  # the server sorts NaN after all numbers
    if isinstance(b, Decimal) and b.is_nan():
        return True
    return a < b  # type: ignore[operator]


def _following(at: Value) -> Value:
    """The next value of a discrete type, with which Greenplum 7 replaces END INCLUSIVE and START
    EXCLUSIVE.
    """
    if isinstance(at, datetime):
        return at + timedelta(microseconds=1)
    if isinstance(at, int):
        return at + 1
    if isinstance(at, date):
        return at + timedelta(days=1)
    raise Unknown("END INCLUSIVE or START EXCLUSIVE of this type")


def ranges(
    start: Value,
    end: Value,
    by: Step | Decimal,
    *,
    classic: bool,
    closed: bool = False,
    open_start: bool = False,
) -> Iterator[tuple[Value, Value, bool]]:
    """The ranges that START, END and EVERY create: lower bound, upper bound, and whether the upper
    bound is included; the last range ends at END.

    classic: Greenplum 6 adds multiples of the step to START and marks the last range as INCLUSIVE;
        otherwise, Greenplum 7 adds the step to the end of each range and replaces an INCLUSIVE END
        (EXCLUSIVE START) by the next value

    >>> [(a, b) for a, b, _ in ranges(1, 10, Decimal(3), classic=True, closed=True)]
    [(1, 4), (4, 7), (7, 10)]
    >>> [(a, b) for a, b, _ in ranges(1, 10, Decimal(3), classic=False, closed=True)]
    [(1, 4), (4, 7), (7, 10), (10, 11)]
    """
    if not (by.is_finite() and by > 0 if isinstance(by, Decimal) else by.positive):
        raise Unknown("step that is not positive")
    for bound in (start, end):
        if isinstance(bound, Decimal) and not bound.is_finite():
            raise Unknown(f"EVERY from or to {bound}")
    if not classic:
        if closed:
            end, closed = _following(end), False
        if open_start:
            start = _following(start)
    at, number = start, 0
    while _before(at, end):
        number += 1
        if number > MOST:
            raise Unknown(f"more than {MOST:,} partitions")
        if classic:
            following = add(
                start,
                (
                    by * number
                    if isinstance(by, Decimal)
                    else Step(by.months * number, by.days * number, by.micros * number)
                ),
            )
        else:
            following = add(at, by)
        if not _before(at, following):
            raise Unknown("step that is not positive")
        last = not _before(following, end)
        yield at, (end if last else following), last and closed
        at = following
