"""Intervals, dates and times are read and added as PostgreSQL does it."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import psycopg
import pytest
from sqlglot import exp

from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source, statements
from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Step, Unknown
from gpcatalog.effects.schema_state import SchemaState

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
SPELLED = (
    "1 year", "2 years", "1 yr", "3 yrs", "1 y", "1 month", "5 months", "1 mon", "2 mons", "1 decade", "2 decades",
    "1 century", "2 centuries", "1 week", "2 weeks", "3 w", "1 day", "10 days", "4 d", "1 hour", "30 hours", "1 hr", "2 hrs",
    "5 h", "1 minute", "90 minutes", "1 min", "2 mins", "3 m", "1 second", "100 seconds", "1 sec", "2 secs", "7 s",
    "1 millisecond", "1500 milliseconds", "1 msec", "2 msecs", "3 ms", "1 microsecond", "2 microseconds", "1 usec", "2 usecs",
    "3 us", "1.5 days", "0.5 weeks", "1.25 hours", "1.5 years", "-1 day", "+2 days", "1 day 12:00", "1 day -12:30",
    "12:34:56.789", "-00:00:01", "+01:02", "1 year 2 months 3 days 04:05:06", "1 day ago", "1 year 2 months ago",
    "-1 month 10 days", "@ 1 day", "@ 1 hour ago", "100:00", "1 mon 1 day 1 hour 1 min 1 sec 1 ms 1 us",
)  # fmt: skip
FIELDS = (
    ("3", "DAY"),
    ("-2", "MONTH"),
    ("5", "YEAR"),
    ("7", "HOUR"),
    ("9", "DAY TO HOUR"),
    ("4", "SECOND(3)"),
)
_PARTS = """
    (extract(year FROM i) * 12 + extract(month FROM i))::int, extract(day FROM i)::int,
    (extract(hour FROM i) * 3600000000 + extract(minute FROM i) * 60000000 + extract(microseconds FROM i))::int8
"""


@pytest.fixture(scope="module")
def server(pg15_server) -> psycopg.Connection:  # type: ignore[no-untyped-def]
    with psycopg.connect(pg15_server.conninfo("postgres"), autocommit=True) as conn:
        yield conn


def test_intervals(server: psycopg.Connection) -> None:
    rows = server.execute(
        f"SELECT {_PARTS} FROM unnest(%s::text[]) WITH ORDINALITY AS t(x, n), LATERAL (SELECT x::interval AS i) s ORDER BY n",
        [list(SPELLED)],
    ).fetchall()
    for text, parts in zip(SPELLED, rows, strict=True):
        assert calendar.step(text) == Step(*parts), text
        assert calendar.step(f"  {text.upper()} ") == Step(*parts)
    for text, fields in FIELDS:
        (parts,) = server.execute(
            f"SELECT {_PARTS} FROM (SELECT interval '{text}' {fields} AS i) s"
        ).fetchall()
        assert calendar.step(text, fields) == Step(*parts), (text, fields)


@pytest.mark.parametrize(
    "text", ["", "day", "1", "1 fortnight", "1.5 months", "P1D", "1 day x", "1-2"]
)
def test_intervals_that_are_not_read(text: str) -> None:
    with pytest.raises(Unknown):
        calendar.step(text)


def test_steps_forward() -> None:
    for step, forward in (
        (Step(), False), (Step(months=1), True), (Step(days=1), True), (Step(micros=1), True), (Step(days=-1), False),
        (Step(months=1, days=-29), True), (Step(months=1, days=-30), False), (Step(days=1, micros=-86_400_000_000), False),
    ):  # fmt: skip
        assert step.positive is forward, step


def _bases(draw: random.Random) -> list[datetime]:
    """Ends of months, leap days, daylight saving changes, and random days."""
    found = [
        datetime(year, month, day, draw.randrange(24), draw.randrange(60), draw.randrange(60))
        for year in (1900, 1999, 2000, 2023, 2024, 2100)
        for month in range(1, 13)
        for day in {1, 28, min(30, calendar._LAST[month - 1]), calendar._LAST[month - 1]}
    ]
    found += [datetime(2024, 2, 29), datetime(2000, 2, 29, 23, 59, 59)]
    found += [
        datetime(2024, 3, 31, 1, 30),
        datetime(2024, 10, 27, 3, 30),
        datetime(2024, 3, 10, 1, 0),
    ]
    return found


def test_sums(server: psycopg.Connection) -> None:
    draw = random.Random(17)
    steps = [calendar.step(text) for text in SPELLED] + [
        Step(months=-13),
        Step(months=23, days=-40, micros=1),
    ]
    cases = [(at, draw.choice(steps)) for at in _bases(draw) for _ in range(4)]
    args = [
        [at for at, _ in cases],
        *([getattr(step, part) for _, step in cases] for part in ("months", "days", "micros")),
    ]
    made = (
        "SELECT {} FROM unnest(%s::timestamp[], %s::int[], %s::int[], %s::int8[]) WITH ORDINALITY AS t(at, m, d, u, n),"
        " LATERAL (SELECT make_interval(months => m, days => d) + u * interval '1 microsecond' AS i) s ORDER BY n"
    )
    plain = server.execute(made.format("at + i, (at::date + i)::date"), args).fetchall()
    for (at, step), (stamp, day) in zip(cases, plain, strict=True):
        assert calendar.add(at, step) == stamp, (at, step)
        assert calendar.add(at.date(), step) == day, (at, step)
    for name in ZONES:
        zone = ZoneInfo(name)
        server.execute(f"SET TimeZone = '{name}'")
        rows = server.execute(
            made.format(
                "at::timestamptz AT TIME ZONE 'UTC', (at::timestamptz + i) AT TIME ZONE 'UTC'"
            ),
            args,
        )
        for (at, step), (first, last) in zip(cases, rows.fetchall(), strict=True):
            begun = first.replace(tzinfo=UTC).astimezone(zone)
            said = calendar.add(begun, step)
            assert isinstance(said, datetime)
            assert said.astimezone(UTC) == last.replace(tzinfo=UTC), (name, at, step)
    server.execute("RESET TimeZone")


def test_sums_that_have_no_value() -> None:
    for at, by in (
        (date(9999, 12, 31), Step(days=1)), (datetime(9999, 12, 31), Step(months=1)), (date(2024, 1, 1), Decimal(1)),
        ("a", Step(days=1)), (1, Step(days=1)),
    ):  # fmt: skip
        with pytest.raises(Unknown):
            calendar.add(at, by)
    assert calendar.add(3, Decimal("2")) == 5
    assert calendar.add(Decimal("1.5"), Decimal("0.25")) == Decimal("1.75")


DATES = ("2024-02-29", "1999-1-2", "20240131", "2024/03/04", "2024.05.06", "2024-06-07 08:09:10")
STAMPS = (
    "2024-02-29", "2024-02-29 01:02", "2024-02-29T01:02:03", "2024-2-3 4:05:06.7", "2024-12-31 23:59:59.999999",
    "2024-01-01 00:00:00Z", "2024-01-01 12:00+02", "2024-01-01 12:00:00-05:30", "2024-07-01 12:00 utc", "2024-07-01 01:00+0530",
)  # fmt: skip


def test_constants(server: psycopg.Connection) -> None:
    utc = ZoneInfo("UTC")
    for text in DATES:
        said = calendar.value(exp.Literal.string(text), "date", utc)
        assert said == server.execute("SELECT %s::text::date", [text]).fetchone()[0], text
    for text in STAMPS:
        said = calendar.value(exp.Literal.string(text), "timestamp", utc)
        assert said == server.execute("SELECT %s::text::timestamp", [text]).fetchone()[0], text
        for name in ZONES:
            server.execute(f"SET TimeZone = '{name}'")
            said = calendar.value(exp.Literal.string(text), "timestamptz", ZoneInfo(name))
            assert isinstance(said, datetime)
            found = server.execute(
                "SELECT %s::text::timestamptz AT TIME ZONE 'UTC'", [text]
            ).fetchone()[0]
            assert said.astimezone(UTC) == found.replace(tzinfo=UTC), (text, name)
    server.execute("RESET TimeZone")
    for text in ("01/02/2024", "today", "2024-02-30", "2024-13-01", "infinity", ""):
        for kind in ("date", "timestamp", "timestamptz"):
            with pytest.raises(Unknown):
                calendar.value(exp.Literal.string(text), kind, utc)
    assert calendar.value(exp.Literal.number("12"), "integer", utc) == 12
    for text in ("1e30", "x", "NaN"):
        with pytest.raises(Unknown):
            calendar.value(exp.Literal.string(text), "integer", utc)


def test_ranges_follow_the_servers_series(server: psycopg.Connection) -> None:
    for start, end, text in (
        ("2023-01-31", "2024-06-01", "1 month"), ("2024-01-01", "2024-03-05", "1 week"), ("2020-02-29", "2030-01-01", "1 year"),
        ("2024-01-01", "2024-01-03", "7 hours"),
    ):  # fmt: skip
        low, high = datetime.fromisoformat(start), datetime.fromisoformat(end)
        found = list(calendar.ranges(low, high, calendar.step(text), classic=True))
        # START plus multiples of the step, as with generate_series over the numbers of steps
        expected = [
            row[0]
            for row in server.execute(
                "SELECT s FROM (SELECT %s::timestamp + n * %s::interval AS s FROM generate_series(0, 1000) n) x"
                " WHERE s < %s ORDER BY 1",
                [low, text, high],
            )
        ]
        assert [lower for lower, _, _ in found] == expected
        assert [upper for _, upper, _ in found] == [*expected[1:], high]
        # the step is added to the previous bound, as generate_series does
        series = [
            row[0]
            for row in server.execute(
                "SELECT generate_series(%s::timestamp, %s, %s::interval)", [low, high, text]
            )
        ]
        later = list(calendar.ranges(low, high, calendar.step(text), classic=False))
        assert [lower for lower, _, _ in later] == [s for s in series if s < high]
        assert all(a[1] == b[0] for a, b in pairwise(later))


@pytest.mark.parametrize("server", ["gp6", "gp7"])
@pytest.mark.parametrize(
    ("kind", "split", "reason"),
    [
        ("numeric", "START ('NaN') END (10) EVERY (1)", "EVERY from or to NaN"),
        ("numeric", "START (1) END ('Infinity') EVERY (1)", "EVERY from or to Infinity"),
        ("numeric", "START (0) END (1) EVERY ('NaN')", "step that is not positive"),
        ("numeric", "START (0) END (1) EVERY ('1 day')", "step '1 day'"),
        ("float8", "START (0) END (1) EVERY (0.1)", "adds rounding errors"),
        ("real", "START (0) END (1) EVERY (0.1)", "adds rounding errors"),
        ("float8", "START (0) END (1) EVERY (0.25)", ""),
        ("numeric", "START (0) END (1) EVERY (0.25)", ""),
    ],
)
def test_numbers_that_are_none(server: str, kind: str, split: str, reason: str) -> None:
    """Bounds that cannot be computed are reported as unknown, not counted, and not an internal error; for a server, 10 × 0.1 is not 1."""
    (edition,) = editions(server)
    state = SchemaState(cost_edition(edition), ZoneInfo("UTC"))
    text = f"CREATE TABLE t (k {kind}) PARTITION BY RANGE (k) ({split})"
    (statement,) = statements(Source(text), (edition,))
    assert statement.tree is not None
    effect = state.apply(statement.tree)
    assert effect.failed == ""
    assert reason in "".join(effect.unknown) if reason else effect.unknown == []
    assert reason or effect.leaves_created == 4
