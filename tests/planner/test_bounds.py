"""Bounds in three notations, values on their axis, calendars, and the messages for invalid policies."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpcatalog.errors import CatalogError
from gpcatalog.model.bounds import (
    DAY,
    INFINITY,
    MINUS_INFINITY,
    OPEN_HIGH,
    OPEN_LOW,
    Axis,
    BoundKind,
    Family,
    TermKind,
    interval,
    joined_list,
    merged_text,
    parse,
    timestamp_axis,
)
from gpcatalog.model.names import relation_name
from gpcatalog.planner import grid, policy
from gpcatalog.planner.grid import Grain


@pytest.mark.parametrize(
    ("text", "kind", "ends"),
    [
        # as Greenplum 6.25.3 and 7.0.0 and PostgreSQL print them
        ("START ('-20'::integer) END ('-10'::integer)", Family.INTEGER, (-20, -10)),
        ("START ('-10'::integer) END (0)", Family.INTEGER, (-10, 0)),
        ("START ('9999999980'::bigint) END ('19999999980'::bigint)", Family.INTEGER, (9999999980, 19999999980)),
        ("START ('1'::smallint) END ('11'::smallint)", Family.INTEGER, (1, 11)),
        ("START (0.00::numeric(10,2)) END (10.00::numeric(10,2))", Family.INTEGER, (0, 10)),
        ("START () EXCLUSIVE END ('4713-01-01 00:00:00 BC'::timestamp without time zone)", Family.TIMESTAMP,
         (OPEN_LOW, -210863520000 * 10**6)),
        ("START ('2020-01-01'::date) END ()", Family.DATE, (18262 * DAY, OPEN_HIGH)),
        ("START ('2020-01-01'::date) EXCLUSIVE END ('2020-01-31'::date) INCLUSIVE", Family.DATE, (18263 * DAY, 18293 * DAY)),
        ("START ('2020-01-01 00:00:00'::timestamp without time zone) EXCLUSIVE END ('infinity'::timestamp without time zone)",
         Family.TIMESTAMP,
         (18262 * DAY + 1, INFINITY)),
        ("END (5) INCLUSIVE", Family.INTEGER, (OPEN_LOW, 6)),
        ("FOR VALUES FROM ('2020-01-01') TO (MAXVALUE)", Family.DATE, (18262 * DAY, OPEN_HIGH)),
        ("FOR VALUES FROM (MINVALUE) TO ('-20')", Family.INTEGER, (OPEN_LOW, -20)),
        ("FOR VALUES FROM ('-infinity') TO ('2020-01-01 01:00:00+00')", Family.TIMESTAMPTZ, (MINUS_INFINITY, 18262 * DAY + DAY // 24)),
        ("FOR VALUES FROM ('0044-03-15 BC') TO ('12020-01-01')", Family.DATE,
         (timestamp_axis("0044-03-15 BC"), timestamp_axis("12020-01-01"))),
        ("START ((-5)) END (-1)", Family.INTEGER, (-5, -1)),
    ],
)  # fmt: skip
def test_intervals(text: str, kind: Family, ends: tuple[int, int]) -> None:
    assert interval(parse(text), kind) == ends
    assert Axis(kind).interval(text) == ends


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        (
            "START ('-20.50'::numeric(10,2)) END ('-10.25'::numeric(10,2))",
            Family.INTEGER,
            "not a whole number",
        ),
        ("START ('a'::text) END ('m'::text)", Family.TEXT, "no order that gpcatalog knows"),
        ("FOR VALUES FROM (1, 'a') TO (2, MINVALUE)", Family.INTEGER, "several columns"),
        ("FOR VALUES FROM (1) TO (2, 3)", Family.INTEGER, "different number of columns"),
        (
            "FOR VALUES FROM (9223372036854775807) TO (MAXVALUE)",
            Family.INTEGER,
            "beyond the numbers that gpcatalog can order",
        ),
        ("FOR VALUES FROM ('2020-02-30') TO ('2020-03-01')", Family.DATE, "is not a date"),
        ("FOR VALUES FROM ('01/02/2020') TO ('2020-03-01')", Family.DATE, "ISO format"),
        ("FOR VALUES FROM (5) TO (5)", Family.INTEGER, "ends before it begins"),
        ("START (now()) END (later())", Family.DATE, "a value is expected at 'now()'"),
        ("START (1) START (2)", Family.INTEGER, "START or END is expected"),
        ("FOR VALUES FROM (1", Family.INTEGER, "not closed"),
        ("FOR VALUES WITH (modulus 4, remainder 1)", Family.INTEGER, "hash bound is not a range"),
        ("FOR VALUES IN (1)", Family.INTEGER, "list bound is not a range"),
        ("START (1.0000001::numeric) END (2)", Family.NUMERIC, "more than six decimal places"),
        ("START (1e15) END (2e15)", Family.NUMERIC, "beyond the numbers that gpcatalog can order"),
        ("START ('NaN'::numeric) END (2)", Family.NUMERIC, "not a number"),
        ("something else", Family.INTEGER, "it begins with"),
    ],
)
def test_no_interval_and_why(text: str, kind: Family, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(").replace(")", r"\)")):
        interval(parse(text), kind)


def test_decimals() -> None:
    """No value is between 5 INCLUSIVE and 5 EXCLUSIVE; between 5 INCLUSIVE and 5.000001 are all numbers with more digits."""
    first, second, third = (
        "START (4.5) END (5) INCLUSIVE",
        "START (5) EXCLUSIVE END (6)",
        "START (5.000001) END (6)",
    )
    low, high = interval(parse(first), Family.NUMERIC)
    assert (Family.NUMERIC.number(low), high - low) == ("4.5", 5_000_001)
    assert interval(parse(second), Family.NUMERIC)[0] == high
    assert interval(parse(third), Family.NUMERIC)[0] > high


def test_lists() -> None:
    b = parse(r"VALUES ('a'::text, 'b''c'::text, NULL::text, 'q\w'::text)")
    assert b.kind is BoundKind.LIST
    assert [t.value for t in b.values] == ["a", "b'c", "", r"q\w"]
    assert b.values[2].kind is TermKind.NULL
    assert (
        joined_list([b, parse("VALUES ('z'::text)")], classic=True)
        == r"VALUES ('a'::text, 'b''c'::text, NULL::text, 'q\w'::text, 'z'::text)"
    )
    assert parse("FOR VALUES IN ('a,b', '(', ')', '::date')").values[3].value == "::date"
    assert parse("FOR VALUES IN (E'tab\\tend', true)").values[0].value == "tab\tend"
    assert parse("VALUES ('a '::character(2))").values[0].value == "a "
    assert parse("""VALUES ('a'::"My ""Type".x)""").values[0].value == "a"
    assert parse("DEFAULT").kind is BoundKind.DEFAULT
    assert parse(None).kind is parse("  ").kind is BoundKind.NONE
    assert parse("FOR VALUES WITH (modulus 4, remainder 3)").remainder == 3


@settings(max_examples=500)
@given(
    st.one_of(
        st.text(), st.from_regex(r"(FOR VALUES|START|END|VALUES|FROM|TO|IN|[('),:0-9a-z ]){1,12}")
    )
)
def test_garbage_never_raises(text: str) -> None:
    b = parse(text)
    assert b.kind is not BoundKind.UNPARSED or b.reason


_MOMENT = st.one_of(
    st.dates().map(str),
    st.datetimes().map(str),
    st.integers(-5, 10**20).map(str),
    st.sampled_from(["2023-02-29", "24:00", "", "1 2"]),
)


@given(
    st.sampled_from(
        [
            "START ('{}'::date) END ('{}'::date)",
            "START ('{}'::timestamp without time zone) END ('{}'::timestamp without time zone) INCLUSIVE",
            "FOR VALUES FROM ('{}') TO ('{}')",
            "FOR VALUES FROM ({}) TO ({})",
            "START ({}) END ({})",
            "START ({}) EXCLUSIVE END ({})",
        ]
    ),
    _MOMENT,
    _MOMENT,
    st.sampled_from(Family),
)
@settings(max_examples=500)
def test_the_short_way_is_the_long_way(form: str, low: str, high: str, kind: Family) -> None:
    text = form.format(low, high)
    try:
        long: object = interval(parse(text), kind)
    except ValueError as e:
        long = str(e)
    try:
        short: object = Axis(kind).interval(text)
    except ValueError as e:
        short = str(e)
    assert short == long


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_axis_is_pythons_calendar(moment: datetime) -> None:
    want = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert timestamp_axis(moment.isoformat(sep=" ", timespec="microseconds")) == want
    at = np.array([want])
    assert (
        int(grid.cells(Grain.WEEK, at)[0])
        == (moment.date().toordinal() - 1 - (date(1969, 12, 29).toordinal() - 1)) // 7
    )
    for grain in Grain:
        cell = int(grid.cells(grain, at)[0])
        assert (
            grid.cell_start(grain, cell)
            <= want
            < int(grid.cell_ends(grain, np.array([cell]))[0])
            == grid.cell_start(grain, cell + 1)
        )


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.booleans())
def test_merged_bound_is_the_union(cuts: list[int], classic: bool) -> None:
    cuts.sort()
    spell = "START ({}) END ({})" if classic else "FOR VALUES FROM ('{}') TO ('{}')"
    found = [parse(spell.format(a, b)) for a, b in itertools.pairwise(cuts)]
    assert interval(parse(merged_text(found[0], found[-1], classic=classic)), Family.INTEGER) == (
        cuts[0],
        cuts[-1],
    )


@given(st.integers(1, 10**6), st.integers(1, 10**9))
def test_round_multiples_nest_the_leaves(width: int, span: int) -> None:
    for m in grid.round_multiples(width, span):
        assert m % width == 0
        assert width < m <= max(span, 2 * width)


def test_dates_that_are_numbers() -> None:
    at, good = grid.dates_from_numbers(np.array([20240229, 20230229, 202402, 20241301]), 8)
    assert good.tolist() == [True, False, False, False]
    assert grid.number_from_date(int(at[0]), 8) == 20240229


@given(
    st.text(min_size=1).filter(lambda t: "\x00" not in t),
    st.text("abc019", min_size=1, max_size=20),
    st.booleans(),
)
def test_names_fit(parent: str, partition: str, classic: bool) -> None:
    used_names: set[str] = set()
    for _ in range(3):
        name = relation_name(parent, 1, partition, classic=classic, used_names=used_names)
        assert len(name.encode("utf-8", "surrogatepass")) <= 63
        assert name not in used_names
        used_names.add(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "unknown key 'x' in the top level"),
        ("[weights]\nrows = 1", "unknown key 'rows' in [weights]"),
        ('[[table]]\nmatch = "a.*"\ngrian = "x"', "unknown key 'grian' in [table[0]]"),
        (
            '[default]\nmin_leaf = "10GB"\nmax_leaf = "1GB"',
            "min_leaf (10737418240 bytes) is more than max_leaf (1073741824 bytes)",
        ),
        ("[default]\ngrains = {fortnight = 1}", "'fortnight' is not a valid grain"),
        ('[default]\ngrains = {day = "often"}', "'often' is not a period"),
        ('[limits]\nmax_rewrite = "10 apples"', "max_rewrite: '10 apples' is not a size"),
        ('[limits]\nwindow = "soon"', "window: 'soon' is not a period"),
        ("[default]\nhot_days = []", "Expected `float | str | null`, got `array`"),
        ('[default]\nkeep = "10d"', "keep (10 days) is less than hot_days (31 days)"),
        ('[default]\nexternalise_after = "1d"', "externalise_after (1 days) is less than hot_days"),
        ('[default]\nstorage = "parquet"', "'parquet' is not a valid value"),
        ("[weights]\nrow = -1", "Expected `float` >= 0"),
        ("a =", "is not valid TOML"),
    ],
)
def test_policies_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        policy.loads(text)
    assert message in caught.value.message


def test_rules_lie_over_one_another() -> None:
    rules = policy.loads(
        '[default]\nhot_days = 10\nmax_leaf = "1GB"\n[[table]]\nmatch = "sales.*"\nhot_days = "2 weeks"\n[[table]]\nmatch = "sales.big"\n'
        'grains = {month = "60d", year = "2y"}\nstorage = "ao_row"\n'
    )
    plain, sales, big = (
        policy.resolve_policy(rules, s, n)
        for s, n in (("a", "b"), ("sales", "x"), ("sales", "big"))
    )
    assert (plain.hot_days, sales.hot_days, big.hot_days) == (10, 14, 14)
    assert big.grains == ((int(Grain.MONTH), 60.0), (int(Grain.YEAR), 730.485))
    assert (plain.storage, big.storage, big.max_leaf) == ("auto", "ao_row", 1 << 30)
