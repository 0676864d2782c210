"""Typed partition bounds, parsed from the three notations that a snapshot contains. A bound
that cannot be parsed contains the reason.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum

# Ends of the axis, for bounds that are open. The value 'infinity' is one step before the end.
OPEN_LOW = -(2**63)
OPEN_HIGH = 2**63 - 1
MINUS_INFINITY = OPEN_LOW + 1
INFINITY = OPEN_HIGH - 1

# a partition after a gap of more than this many times its own length is a stray partition
STRAY = 12

SECOND = 1_000_000  # the time axis counts microseconds since 1970-01-01 00:00 UTC
HOUR = 3600 * SECOND
DAY = 24 * HOUR
DECIMAL = (
    10**7
    # the axis of numeric keys counts ten-millionths: values have up to six decimal places, and the
    # seventh place is for the next value
)


class Family(StrEnum):
    """Families of key types. A family defines how values are mapped to an axis of 64-bit
    integers.
    """

    DATE = "date"  # microseconds, whole days
    TIMESTAMP = "timestamp"  # microseconds, as written
    TIMESTAMPTZ = "timestamptz"  # microseconds, UTC
    INTEGER = "integer"  # the value itself; also numeric keys if no bound has a fraction
    NUMERIC = "numeric"  # ten-millionths; values with up to six decimal places
    TEXT = "text"  # no axis: the order depends on the collation
    OTHER = "other"

    @property
    def time(self) -> bool:
        """True for date and timestamp keys."""
        return self in (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ)

    @property
    def ordered(self) -> bool:
        """True for keys whose values have a known position on an axis."""
        return self.time or self in (Family.INTEGER, Family.NUMERIC)

    @property
    def step(self) -> int:
        """Distance on the axis from a value to the next value; 0 if there is none (text)."""
        return {
            Family.DATE: DAY,
            Family.TIMESTAMP: 1,
            Family.TIMESTAMPTZ: 1,
            Family.INTEGER: 1,
            Family.NUMERIC: 1,
        }.get(self, 0)

    def number(self, at: int) -> str:
        """The number at a position of the axis, as text.

        >>> Family.INTEGER.number(-5), Family.NUMERIC.number(25_000_000), Family.NUMERIC.number(10**9)
        ('-5', '2.5', '100')
        """
        if self is not Family.NUMERIC:
            return str(at)
        return (
            f"{Decimal(at) / DECIMAL:f}".rstrip("0").rstrip(".")
            if at % DECIMAL
            else str(at // DECIMAL)
        )


def family(key_type: str) -> Family:
    """The family of a type name that format_type returns.

    >>> family("timestamp without time zone"), family("numeric(10,2)"), family("character varying(4)"), family("mydomain")
    (<Family.TIMESTAMP: 'timestamp'>, <Family.NUMERIC: 'numeric'>, <Family.TEXT: 'text'>, <Family.OTHER: 'other'>)
    """
    name = re.sub(r"\(\d+(,\s*-?\d+)?\)", "", key_type).strip()
    return {
        "date": Family.DATE,
        "timestamp without time zone": Family.TIMESTAMP,
        "timestamp with time zone": Family.TIMESTAMPTZ,
        "smallint": Family.INTEGER,
        "integer": Family.INTEGER,
        "bigint": Family.INTEGER,
        "numeric": Family.NUMERIC,
        "text": Family.TEXT,
        "character varying": Family.TEXT,
        "character": Family.TEXT,
    }.get(name, Family.OTHER)


class TermKind(StrEnum):
    """Kinds of values in a bound."""

    VALUE = "value"
    NULL = "null"
    MINVALUE = "minvalue"
    MAXVALUE = "maxvalue"


@dataclass(frozen=True, slots=True)
class Term:
    """One value of a bound.

    sql:   as the server printed it, including casts
    value: the text inside its quotes, or the number; empty for NULL, MINVALUE and MAXVALUE
    """

    kind: TermKind
    sql: str
    value: str = ""


class BoundKind(StrEnum):
    """Forms of a bound."""

    RANGE = "range"
    LIST = "list"
    DEFAULT = "default"
    HASH = "hash"
    NONE = "none"  # roots
    UNPARSED = "unparsed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A parsed bound.

    text:   as in the snapshot
    lower, upper: range: the values of each end, None if the end is open; more than one for a key of
                  several columns
    lower_inclusive, upper_inclusive: range: whether the end itself belongs to it (declarative is
        always [ , ))
    values: list: the values; for a list over several columns, one row after the other
    modulus, remainder: hash
    reason: unparsed: the parse error
    """

    kind: BoundKind
    text: str
    lower: tuple[Term, ...] | None = None
    upper: tuple[Term, ...] | None = None
    lower_inclusive: bool = True
    upper_inclusive: bool = False
    values: tuple[Term, ...] = ()
    modulus: int = 0
    remainder: int = 0
    reason: str = ""


_TERM = re.compile(
    r"""\s*(?:
        (?P<string>[eE]?'(?:[^']|'')*')
      | (?P<number>\(?\s*[-+]?\s*(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*\)?)
      | (?P<word>NULL|MINVALUE|MAXVALUE|true|false)\b
    )
    (?P<cast>(?:\s*::\s*(?:"(?:[^"]|"")+"|[A-Za-z_][\w$]*)(?:\.(?:"(?:[^"]|"")+"|[A-Za-z_][\w$]*))?
        (?:\s+(?:without|with|varying|precision|time|zone))*\s*(?:\(\s*\d+(?:\s*,\s*-?\d+)?\s*\))?
        (?:\s+(?:without|with)\s+time\s+zone)?)*)\s*""",
    re.X,
)


def _unquote(text: str) -> str:
    if text[0] in "eE":
        body = text[2:-1].replace("''", "'")
        return re.sub(
            r"\\(.)",
            lambda m: {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(m[1], m[1]),
            body,
            flags=re.S,
        )
    return text[1:-1].replace("''", "'")


class _Garbage(ValueError):
    pass


def _terms(text: str) -> tuple[Term, ...]:
    """Terms of a comma-separated list. Raises _Garbage."""
    found: list[Term] = []
    at = 0
    while True:
        m = _TERM.match(text, at)
        if m is None or m.end() == at:
            raise _Garbage(f"a value is expected at {text[at : at + 30]!r}")
        sql = m[0].strip()
        if m["string"]:
            found.append(Term(TermKind.VALUE, sql, _unquote(m["string"])))
        elif m["number"]:
            found.append(Term(TermKind.VALUE, sql, re.sub(r"[()\s]", "", m["number"]).lstrip("+")))
        elif m["word"] in ("true", "false"):
            found.append(Term(TermKind.VALUE, sql, m["word"]))
        else:
            found.append(Term(TermKind(m["word"].lower()), sql))
        at = m.end()
        if at == len(text):
            return tuple(found)
        if text[at] != ",":
            raise _Garbage(f"a comma is expected at {text[at : at + 30]!r}")
        at += 1


def _in_parentheses(text: str, at: int) -> tuple[str, int]:
    """The text between the parenthesis at `at` and its closing parenthesis, and the position after
    it.

    Raises _Garbage.
    """
    depth, quoted = 0, False
    for i in range(at, len(text)):
        c = text[i]
        if quoted:
            # a doubled quote closes and reopens the constant; a backslash is an escape only in
            # E'…', which servers print if a constant contains backslashes
            quoted = c != "'"
        elif c == "'":
            quoted = True
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                return text[at + 1 : i], i + 1
    raise _Garbage("a parenthesis is not closed")


_CLASSIC = re.compile(r"\s*(START|END)\s*(?=\()")
_FLAG = re.compile(r"\s*(EXCLUSIVE|INCLUSIVE)\b")
_HASH = re.compile(r"\s*WITH\s*\(\s*modulus\s+(\d+)\s*,\s*remainder\s+(\d+)\s*\)\s*\Z", re.I)


def _classic(text: str) -> Bound:
    ends: dict[str, tuple[tuple[Term, ...] | None, bool]] = {}
    at = 0
    while at < len(text):
        m = _CLASSIC.match(text, at)
        if m is None or m[1] in ends:
            raise _Garbage(f"START or END is expected at {text[at : at + 30]!r}")
        inner, at = _in_parentheses(text, m.end())
        inclusive = m[1] == "START"  # the server's default
        flag = _FLAG.match(text, at)
        if flag:
            inclusive, at = flag[1] == "INCLUSIVE", flag.end()
        # an end without limit is printed as empty parentheses
        ends[m[1]] = (_terms(inner) if inner.strip() else None, inclusive)
        if not text[at:].strip():
            break
    lower, lower_in = ends.get("START", (None, True))
    upper, upper_in = ends.get("END", (None, False))
    return Bound(
        kind=BoundKind.RANGE,
        text=text,
        lower=lower,
        upper=upper,
        lower_inclusive=lower_in,
        upper_inclusive=upper_in,
    )


def _declarative(text: str) -> Bound:
    rest = text[len("FOR VALUES") :].lstrip()
    if m := _HASH.match(rest):
        return Bound(kind=BoundKind.HASH, text=text, modulus=int(m[1]), remainder=int(m[2]))
    if rest.startswith("IN"):
        inner, at = _in_parentheses(rest, rest.index("("))
        if rest[at:].strip():
            raise _Garbage(f"unexpected text {rest[at : at + 30]!r}")
        return Bound(kind=BoundKind.LIST, text=text, values=_terms(inner))
    if not rest.startswith("FROM"):
        raise _Garbage(f"FROM, IN or WITH is expected at {rest[:30]!r}")
    low, at = _in_parentheses(rest, rest.index("("))
    tail = rest[at:].lstrip()
    if not tail.startswith("TO"):
        raise _Garbage(f"TO is expected at {tail[:30]!r}")
    high, at = _in_parentheses(tail, tail.index("("))
    if tail[at:].strip():
        raise _Garbage(f"unexpected text {tail[at : at + 30]!r}")
    lower, upper = _terms(low), _terms(high)
    if len(lower) != len(upper):
        raise _Garbage("its two ends have a different number of columns")
    return Bound(
        kind=BoundKind.RANGE,
        text=text,
        lower=None if all(t.kind is TermKind.MINVALUE for t in lower) else lower,
        upper=None if all(t.kind is TermKind.MAXVALUE for t in upper) else upper,
    )


@functools.lru_cache(maxsize=4_096)  # a step of a migration reads the bound of a leaf several times
def parse(text: str | None) -> Bound:
    """Return the parsed bound of `text`; never raises.

    >>> b = parse("START ('2020-01-01'::date) EXCLUSIVE END ('2020-02-01'::date) INCLUSIVE")
    >>> b.kind, b.lower[0].value, b.lower_inclusive, b.upper_inclusive
    (<BoundKind.RANGE: 'range'>, '2020-01-01', False, True)
    >>> parse("FOR VALUES IN ('a', NULL)").values[1].kind
    <TermKind.NULL: 'null'>
    >>> parse("FOR VALUES FROM (f(x)) TO (1)").reason
    "a value is expected at 'f(x)'"
    """
    if text is None or not text.strip():
        return Bound(kind=BoundKind.NONE, text=text or "")
    bare = text.strip()
    try:
        if bare == "DEFAULT":
            return Bound(kind=BoundKind.DEFAULT, text=text)
        if bare.startswith("FOR VALUES"):
            return _declarative(bare)
        if bare.startswith("VALUES"):
            inner, at = _in_parentheses(bare, bare.index("("))
            if bare[at:].strip():
                raise _Garbage(f"unexpected text {bare[at : at + 30]!r}")
            return Bound(kind=BoundKind.LIST, text=text, values=_terms(inner))
        if bare.startswith(("START", "END")):
            return _classic(bare)
        raise _Garbage(f"it begins with {bare[:30]!r}")
    except (_Garbage, ValueError, RecursionError) as e:
        return Bound(kind=BoundKind.UNPARSED, text=text, reason=str(e) or type(e).__name__)


# --- values on an axis ----------------------------------------------------------------------------

_STAMP = re.compile(
    r"(?P<y>\d{1,6})-(?P<m>\d\d)-(?P<d>\d\d)"
    r"(?:[ T](?P<h>\d\d):(?P<mi>\d\d)(?::(?P<s>\d\d)(?:\.(?P<f>\d{1,6}))?)?)?"
    r"(?P<z>[+-]\d\d(?::?\d\d(?::?\d\d)?)?|Z)?(?P<bc> BC)?\Z"
)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar, year 0 being 1 BC.

    >>> days_from_civil(1970, 1, 1), days_from_civil(2000, 3, 1), days_from_civil(-4712, 1, 1)
    (0, 11017, -2440550)
    """
    y = year - (month <= 2)
    era = y // 400
    yoe = y - era * 400
    doy = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468


def month_days(year: int, month: int) -> int:
    """Number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def timestamp_axis(text: str) -> int:
    """Microseconds since 1970 of a date or timestamp in ISO style; a time zone offset is
    subtracted.

    Raises ValueError.

    >>> timestamp_axis("2020-01-01 00:00:00+03"), timestamp_axis("0001-01-01 BC") // DAY
    (1577826000000000, -719528)
    """
    if text in ("infinity", "-infinity"):
        return INFINITY if text == "infinity" else MINUS_INFINITY
    m = _STAMP.match(text)
    if m is None:
        raise ValueError(f"{text!r} is not a date or timestamp in ISO format")
    year = int(m["y"]) if not m["bc"] else 1 - int(m["y"])
    month, day, hour, minute, second = (
        int(m["m"]),
        int(m["d"]),
        int(m["h"] or 0),
        int(m["mi"] or 0),
        int(m["s"] or 0),
    )
    if not (
        1 <= month <= 12
        and 1 <= day <= month_days(year, month)
        and hour <= 24
        and minute < 60
        and second <= 60
    ):
        raise ValueError(f"{text!r} is not a date")
    at = (
        days_from_civil(year, month, day) * DAY
        + hour * HOUR
        + minute * 60 * SECOND
        + second * SECOND
    )
    at += int((m["f"] or "").ljust(6, "0"))
    zone = m["z"]
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(6, "0")
        offset = int(digits[:2]) * HOUR + int(digits[2:4]) * 60 * SECOND + int(digits[4:6]) * SECOND
        at -= offset if zone[0] == "+" else -offset
    return at


def shown_time(at: int) -> str:
    """A position of the time axis as text for people: only the date if it is midnight.

    >>> shown_time(0), shown_time(HOUR), shown_time(-(2**62))
    ('1970-01-01', '1970-01-01 01:00', 'far past')
    """
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(at))
    except OverflowError:
        return "far past" if at < 0 else "far future"
    text = moment.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00").removesuffix(" 00:00")
    return text if moment.year >= 1000 else text.zfill(10)


def axis(term: Term, kind: Family) -> int:
    """The position of a value on its family's axis. Raises ValueError if it has none.

    >>> axis(parse("FOR VALUES FROM ('-20') TO (0)").lower[0], Family.INTEGER)
    -20
    """
    if term.kind is TermKind.MINVALUE:
        return OPEN_LOW
    if term.kind is TermKind.MAXVALUE:
        return OPEN_HIGH
    if term.kind is TermKind.NULL:
        raise ValueError("NULL has no position in a range")
    if kind.time:
        return timestamp_axis(term.value)
    if kind in (Family.INTEGER, Family.NUMERIC):
        try:
            number = Decimal(term.value)
        except InvalidOperation:
            raise ValueError(f"{term.value!r} is not a number") from None
        if not number.is_finite():
            raise ValueError(f"{term.value} is not a number that gpcatalog supports")
        if kind is Family.NUMERIC and abs(number.adjusted()) <= 20:
            number *= DECIMAL
            if number != number.to_integral_value() or int(number) % 10:
                raise ValueError(f"{term.value} has more than six decimal places")
        if number != number.to_integral_value():
            raise ValueError(f"{term.value} is not a whole number")
        if number.adjusted() > 20:  # never written out: 1e999999 would have a million digits
            raise ValueError(f"{term.value} is beyond the numbers that gpcatalog can order")
        integer = int(number)
        if not MINUS_INFINITY < integer < INFINITY:
            raise ValueError(f"{term.value} is beyond the numbers that gpcatalog can order")
        return integer
    raise ValueError(f"values of type {kind} have no order that gpcatalog knows")


def interval(bound: Bound, kind: Family) -> tuple[int, int]:
    """Return [lower, upper) of a range bound of one column on the axis; OPEN_LOW or OPEN_HIGH for
    an open end.

    EXCLUSIVE starts and INCLUSIVE ends of Greenplum 6 are moved by one step of the type. Raises
    ValueError with the reason if there is no such range.

    >>> b = parse("START (1) EXCLUSIVE END (5) INCLUSIVE")
    >>> interval(b, Family.INTEGER)
    (2, 6)
    """
    if bound.kind is not BoundKind.RANGE:
        raise ValueError(bound.reason or f"a {bound.kind} bound is not a range")
    if any(end is not None and len(end) != 1 for end in (bound.lower, bound.upper)):
        raise ValueError("the key has several columns")
    low = OPEN_LOW if bound.lower is None else axis(bound.lower[0], kind)
    high = OPEN_HIGH if bound.upper is None else axis(bound.upper[0], kind)
    if low > MINUS_INFINITY and not bound.lower_inclusive:
        low += kind.step
    if high < INFINITY and bound.upper_inclusive:
        high += kind.step
    if low >= high:
        raise ValueError("it ends before it begins")
    return low, high


# --- ranges of several columns --------------------------------------------------------------------

TupleEnd = tuple[tuple[int, int], ...]
"""One end of a range of several columns. Ends compare as on the server. Each column is (-1, 0)
for MINVALUE, (0, position) for a value, or (1, 0) for MAXVALUE.
"""


def tuple_ends(bound: Bound, kinds: Sequence[Family]) -> tuple[TupleEnd, TupleEnd]:
    """Both ends of a range of several columns. Raises ValueError with the reason if there are none.

    >>> tuple_ends(parse("FOR VALUES FROM (2022, MINVALUE) TO (2022, 5)"), [Family.INTEGER, Family.INTEGER])
    (((0, 2022), (-1, 0)), ((0, 2022), (0, 5)))
    >>> tuple_ends(parse("FOR VALUES FROM (2021, MAXVALUE) TO (2022, MAXVALUE)"), [Family.INTEGER, Family.INTEGER])
    (((0, 2022), (-1, 0)), ((0, 2023), (-1, 0)))
    """
    if bound.kind is not BoundKind.RANGE:
        raise ValueError(bound.reason or f"a {bound.kind} bound is not a range")
    ends: list[TupleEnd] = []
    for end, nothing in ((bound.lower, (-1, 0)), (bound.upper, (1, 0))):
        if end is not None and len(end) != len(kinds):
            raise ValueError("its ends and the key have a different number of columns")
        places: list[tuple[int, int]] = []
        for term, kind in zip(end or (), kinds, strict=end is not None):
            if places and places[-1][0]:  # values after MINVALUE or MAXVALUE have no meaning
                places.append(places[-1])
            elif term.kind in (TermKind.MINVALUE, TermKind.MAXVALUE):
                places.append((-1, 0) if term.kind is TermKind.MINVALUE else (1, 0))
            else:
                places.append((0, axis(term, kind)))
        ends.append(_next_values(places, kinds) if end is not None else (nothing,) * len(kinds))
    if ends[0] >= ends[1]:
        raise ValueError("it ends before it begins")
    return ends[0], ends[1]


def _next_values(places: list[tuple[int, int]], kinds: Sequence[Family]) -> TupleEnd:
    """Return the same end with the next value instead of MAXVALUE, if the type has a next
    value: there is nothing between (5, MAXVALUE) and (6, MINVALUE).
    """
    at = next((n for n, (infinite, _) in enumerate(places) if infinite), len(places))
    if (
        0 < at < len(places)
        and places[at][0] > 0
        and kinds[at - 1] in (Family.DATE, Family.INTEGER)
    ):
        return (
            *places[: at - 1],
            (0, places[at - 1][1] + kinds[at - 1].step),
            *((-1, 0),) * (len(places) - at),
        )
    return tuple(places)


def first_column(end: TupleEnd, kind: Family, *, upper: bool) -> int:
    """The position of an end on the axis of its first column. An upper end includes its first
    value, unless the range contains no rows with that value.

    >>> first_column(((0, 7), (0, 5)), Family.INTEGER, upper=True), first_column(((0, 7), (-1, 0)), Family.INTEGER, upper=True)
    (8, 7)
    """
    infinite, at = end[0]
    if infinite:
        return OPEN_LOW if infinite < 0 else OPEN_HIGH
    return at + (kind.step if upper and end[1][0] >= 0 else 0)


def spelled_dates(ends: Sequence[TupleEnd], kinds: Sequence[Family]) -> dict[TupleEnd, int] | None:
    """Return ends of (year, month) or (year, month, day) as numbers such as 202201 or 20220131;
    None if not all are such dates.

    >>> spelled_dates([((0, 2022), (0, 1)), ((0, 2022), (0, 13)), ((0, 2024), (-1, 0))], [Family.INTEGER, Family.INTEGER]).values()
    dict_values([202201, 202301, 202401])
    """
    if not 2 <= len(kinds) <= 3 or any(kind is not Family.INTEGER for kind in kinds):
        return None
    found: dict[TupleEnd, int] = {}
    for end in ends:
        if end[0][0]:
            found[end] = OPEN_LOW if end[0][0] < 0 else OPEN_HIGH
            continue
        year, *rest = [at if not infinite else 1 if infinite < 0 else 0 for infinite, at in end]
        month, day = rest[0], rest[1] if len(rest) > 1 else 1
        if month == 13 and day == 1:
            year, month = year + 1, 1
        if not (1900 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= month_days(year, month)):
            return None
        found[end] = year * 100 + month if len(kinds) == 2 else year * 10_000 + month * 100 + day
    return found


def date_of_number(value: int, digits: int) -> int:
    """Microseconds since 1970 of a date written as a number: 20240131 (digits 8) or 202401 (digits
    6).

    Raises ValueError if the number is not a date.

    >>> date_of_number(19700102, 8) // DAY, date_of_number(197002, 6) // DAY
    (1, 31)
    """
    rest, day = divmod(value, 100) if digits == 8 else (value, 1)
    year, month = divmod(rest, 100)
    if not (1900 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= month_days(year, month)):
        raise ValueError(f"{value} is not a date")
    return days_from_civil(year, month, day) * DAY


_PLAIN = re.compile(
    r"(?:START \('(?P<a>[-0-9: ]+)'::[a-z ]+\) END \('(?P<b>[-0-9: ]+)'::[a-z ]+\)"
    r"|FOR VALUES FROM \('(?P<c>[-0-9: ]+)'\) TO \('(?P<d>[-0-9: ]+)'\)"
    r"|START \((?P<e>[0-9]{1,18})\) END \((?P<f>[0-9]{1,18})\)"
    r"|FOR VALUES FROM \((?P<g>[0-9]{1,18})\) TO \((?P<h>[0-9]{1,18})\))"
)


class Axis:
    """Parser of the bounds of one family. It has a shortcut for the usual notations of ranges,
    which nearly all bounds have.
    """

    def __init__(self, kind: Family) -> None:
        self.kind = kind
        self._seen: dict[str, int] = {}

    def interval(self, text: str) -> tuple[int, int]:
        """Return `interval(parse(text), kind)`. Raises ValueError.

        >>> Axis(Family.INTEGER).interval("FOR VALUES FROM (1) TO (5)")
        (1, 5)
        """
        m = _PLAIN.fullmatch(text)
        if m is not None:
            low, high = (part for part in m.groups() if part is not None)
            if self.kind.time and (m["a"] or m["c"]):
                start, end = self._stamp(low), self._stamp(high)
                if start < end:
                    return start, end
            elif self.kind is Family.INTEGER and (m["e"] or m["g"]) and int(low) < int(high):
                return int(low), int(high)
        return interval(parse(text), self.kind)

    def _stamp(self, text: str) -> int:
        # the end of one leaf is the start of the next
        found = self._seen.get(text)
        if found is None:
            found = self._seen[text] = timestamp_axis(text)
        return found


def merged_text(first: Bound, last: Bound, *, classic: bool) -> str:
    """The bound from the start of `first` to the end of `last`, as the server prints it.

    >>> a, b = parse("START (1) END (2)"), parse("START (2) END (3) INCLUSIVE")
    >>> merged_text(a, b, classic=True)
    'START (1) END (3) INCLUSIVE'
    >>> a, b = parse("FOR VALUES FROM (MINVALUE) TO (2)"), parse("FOR VALUES FROM (2) TO ('-3')")
    >>> merged_text(a, b, classic=False)
    "FOR VALUES FROM (MINVALUE) TO ('-3')"
    """
    if not classic:
        low = ", ".join(t.sql for t in first.lower) if first.lower else "MINVALUE"
        high = ", ".join(t.sql for t in last.upper) if last.upper else "MAXVALUE"
        return f"FOR VALUES FROM ({low}) TO ({high})"
    parts = []
    if first.lower:
        parts.append(
            f"START ({', '.join(t.sql for t in first.lower)})"
            + ("" if first.lower_inclusive else " EXCLUSIVE")
        )
    if last.upper:
        parts.append(
            f"END ({', '.join(t.sql for t in last.upper)})"
            + (" INCLUSIVE" if last.upper_inclusive else "")
        )
    return " ".join(parts)


def joined_list(bounds: list[Bound], *, classic: bool) -> str:
    """The list bound that contains the values of all `bounds`.

    >>> joined_list([parse("FOR VALUES IN ('a')"), parse("FOR VALUES IN ('b', NULL)")], classic=False)
    "FOR VALUES IN ('a', 'b', NULL)"
    """
    values = ", ".join(t.sql for b in bounds for t in b.values)
    return f"VALUES ({values})" if classic else f"FOR VALUES IN ({values})"


def added_again(siblings: Sequence[Bound], bounds: Sequence[Bound]) -> list[bool]:
    """Return, for each bound, whether Greenplum 6 accepts the partition when it is added again next
    to its siblings.

    Greenplum 6.25.3 reports an overlap for a partition of one day or one whole number that starts
    EXCLUSIVE and ends INCLUSIVE, if its neighbour ends INCLUSIVE at the same value. It accepts
    wider partitions.

    >>> one, two = parse("START (1) END (2) INCLUSIVE"), parse("START (2) EXCLUSIVE END (3) INCLUSIVE")
    >>> added_again([one, two], [one, two])
    [True, False]
    """
    ends = {b.upper[0].value for b in siblings if b.upper and b.upper_inclusive}
    found = []
    for b in bounds:
        if b.lower and b.upper and not b.lower_inclusive and b.upper_inclusive:
            start, end = b.lower[0].value, b.upper[0].value
            found.append(start not in ends or not _next(start, end))
        else:
            found.append(True)
    return found


def _next(one: str, two: str) -> bool:
    """Whether the second day or whole number directly follows the first."""
    try:
        return (date.fromisoformat(two) - date.fromisoformat(one)).days == 1
    except ValueError:
        return one.lstrip("-").isdigit() and two.lstrip("-").isdigit() and int(two) - int(one) == 1
