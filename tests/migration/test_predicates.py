"""Rows that satisfy a bound, adjacent ranges, and names below a new partition, compared with the server's routing and constants."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest

from gpcatalog.migration import predicates
from gpcatalog.migration.introspect import Relation
from gpcatalog.migration.predicates import (
    Refusal,
    adjacent,
    bound_outside,
    has_both_ends,
    holding_value,
    predicate,
    same_bound,
)
from gpcatalog.migration.subtree import child_name, label
from gpcatalog.model.bounds import parse
from tests.conftest import fresh_database

GRID = [None, *range(-1, 5)]


def end(r: random.Random, columns: int, word: str) -> str:
    values: list[str] = [str(r.randint(0, 3)) for _ in range(columns)]
    if r.random() < 0.4:
        at = r.randrange(columns)
        values[at:] = [word] * (columns - at)
    return ", ".join(values)


@pytest.mark.postgres
@pytest.mark.parametrize("columns", [1, 2])
def test_the_server_puts_the_same_rows_there(pg_dsn: str, columns: int) -> None:
    """A table with this partition and a default partition gets every row of a grid, including NULL values."""
    r = random.Random(columns)
    names = ["a", "b"][:columns]
    bounds = []
    while len(bounds) < 60:
        kind = r.choice(("range", "list")) if columns == 1 else "range"
        if kind == "list":
            values = r.sample(["NULL", "0", "1", "2", "3"], r.randint(1, 3))
            bounds.append((kind, f"FOR VALUES IN ({', '.join(values)})"))
        else:
            low, high = end(r, columns, "MINVALUE"), end(r, columns, "MAXVALUE")
            bounds.append((kind, f"FOR VALUES FROM ({low}) TO ({high})"))
    checked = 0
    with psycopg.connect(fresh_database(pg_dsn, "bounds"), autocommit=True) as conn:
        for kind, bound in bounds:
            conn.execute("DROP TABLE IF EXISTS t")
            conn.execute(f"CREATE TABLE t (a int, b int) PARTITION BY {kind} ({', '.join(names)})")
            conn.execute("CREATE TABLE t_rest PARTITION OF t DEFAULT")
            try:
                conn.execute(f"CREATE TABLE t_here PARTITION OF t {bound}")
            except psycopg.errors.InvalidObjectDefinition:
                continue  # an empty range
            with conn.cursor() as cur:
                cur.executemany(
                    "INSERT INTO t VALUES (%s, %s)", [(a, b) for a in GRID for b in GRID]
                )
            condition = predicate(parse(bound), *names)
            wrong = conn.execute(
                f"SELECT a, b, tableoid::regclass::text FROM t WHERE (tableoid = 't_here'::regclass) <> coalesce({condition}, false)"
            ).fetchall()
            assert not wrong, (bound, condition)
            checked += 1
    assert checked >= 30


@pytest.mark.parametrize(
    ("one", "two", "types", "meet"),
    [
        ("FROM (1) TO (5)", "FROM (5) TO (9)", ["integer"], True),
        ("FROM (1) TO (5)", "FROM (6) TO (9)", ["integer"], False),
        ("FROM (1) TO (5)", "FROM (4) TO (9)", ["integer"], False),
        ("FROM (1.0) TO (5.50)", "FROM (5.5) TO (9)", ["numeric"], True),
        ("FROM (1.0) TO (5.51)", "FROM (5.5) TO (9)", ["numeric"], False),
        ("FROM (1.0) TO (5.49)", "FROM (5.5) TO (9)", ["numeric"], False),
        ("FROM ('a') TO ('c')", "FROM ('c') TO ('d')", ["text"], True),
        ("FROM ('a') TO ('b')", "FROM ('c') TO ('d')", ["text"], False),
        ("FROM (1, 5) TO (2, 5)", "FROM (2, 5) TO (3, 0)", ["integer", "integer"], True),
        ("FROM (1, 5) TO (2, MAXVALUE)", "FROM (3, MINVALUE) TO (4, 0)", ["integer", "integer"], True),
        ("FROM (1, 5) TO (2, 4)", "FROM (2, 5) TO (3, 0)", ["integer", "integer"], False),
        ("FROM (1) TO (MAXVALUE)", "FROM (5) TO (9)", ["integer"], False),
    ],
)  # fmt: skip
def test_adjacent(one: str, two: str, types: list[str], meet: bool) -> None:
    assert adjacent(parse(f"FOR VALUES {one}"), parse(f"FOR VALUES {two}"), types) is meet


@pytest.mark.parametrize(
    ("one", "two", "meet"),
    [
        ("START (1) END (5)", "START (5) END (9)", True),
        ("START (1) END (5) INCLUSIVE", "START (5) EXCLUSIVE END (9)", True),
        ("START (1) END (5) INCLUSIVE", "START (5) END (9)", False),
        ("START (1) END (5) INCLUSIVE", "START (6) END (9)", True),
        ("START (1) END (5)", "START (4) EXCLUSIVE END (9)", True),
        ("START (1) END (5) INCLUSIVE", "START (7) END (9)", False),
        ("START ('2022-01-06'::date) END ('2022-01-31'::date) INCLUSIVE", "START ('2022-02-01'::date) END ('2022-03-01'::date)", True),
        ("START (1.5::numeric) END (5::numeric) INCLUSIVE", "START (6::numeric) END (9::numeric)", False),
        ("START (1) END (5)", "START (5) EXCLUSIVE END (9)", False),
        ("START (1.5::numeric) END (5.0::numeric) INCLUSIVE", "START (5::numeric) END (9::numeric)", False),
        ("START (1)", "START (5) END (9)", False),
        ("START (1) END (5)", "END (9)", False),
        ("VALUES ('a')", "START (5) END (9)", False),
        ("START (1) END (5)", "VALUES ('a')", False),
    ],
)  # fmt: skip
def test_adjacent_on_greenplum_6(one: str, two: str, meet: bool) -> None:
    types = [next((kind for kind in ("numeric", "date") if kind in one), "integer")]
    assert adjacent(parse(one), parse(two), types) is meet


def test_refusals() -> None:
    with pytest.raises(Refusal, match="several columns"):
        predicate(parse("FOR VALUES IN (1)"), "a", "b")
    with pytest.raises(Refusal, match="neither a range nor a list"):
        predicate(parse("FOR VALUES WITH (MODULUS 2, REMAINDER 0)"), "a")
    for nothing in ("FOR VALUES IN (NULL)", "START (1) EXCLUSIVE END (5)", "DEFAULT"):
        with pytest.raises(Refusal, match="neither a name nor a value"):
            holding_value(parse(nothing))


def test_values_and_ranges_of_greenplum_6() -> None:
    assert holding_value(parse("VALUES (NULL, 'b')")) == "'b'"
    assert holding_value(parse("START (1) END (5)")) == "1"
    assert holding_value(parse("START (1) EXCLUSIVE END (5) INCLUSIVE")) == "5"
    assert bound_outside(parse("START (1) END (5)")) == "START (5)"
    assert bound_outside(parse("START (1) END (5) INCLUSIVE")) == "END (1)"
    assert bound_outside(parse("START (1) EXCLUSIVE END (5) INCLUSIVE")) == ""
    assert bound_outside(parse("VALUES ('a')")) == "VALUES (NULL)"
    assert bound_outside(parse("VALUES ('a', NULL)")) == ""
    assert has_both_ends("START (1) END (5)")
    assert has_both_ends("VALUES ('a')")
    assert not has_both_ends("START (1)")
    assert not has_both_ends("END (5)")
    assert same_bound("START ('2026-01-01'::date) END (5)", "START ('2026-01-01') END ( 5 )")
    assert not same_bound("START (1) END (5)", "START (1) END (6)")
    assert predicates.predicate(parse("START (1)"), "k") == "(k IS NOT NULL AND k >= 1)"


def relation(name: str, level: int = 2, partition: str = "") -> Relation:
    facts: dict[str, Any] = dict.fromkeys(Relation.__dataclass_fields__, "")
    return Relation(**facts | {"name": name, "level": level, "partition": partition})


def test_names_below_a_partition() -> None:
    def named(
        parent: str, like: Relation, old: str, used_names: set[str], *, classic: bool = False
    ) -> str:
        return child_name(parent, like, old, used_names, classic=classic)

    east = relation("t_1_prt_jan_2_prt_east", partition="east")
    assert named("t_1_prt_q1", east, "t_1_prt_jan", set(), classic=True) == "t_1_prt_q1_2_prt_east"
    assert label(relation("t_1_prt_jan_2_prt_7")) == "7"
    seventh = relation("t_1_prt_jan_2_prt_7")
    assert named("t_1_prt_q1", seventh, "x", set(), classic=True) == "t_1_prt_q1_2_prt_7"
    # names are limited to 63 bytes, and the ending is kept
    long = named("p" * 63, east, "x", set(), classic=True)
    assert (len(long), long[-11:]) == (63, "_2_prt_east")

    used_names = {"q1_east"}
    assert named("q1", relation("jan_east"), "jan", set()) == "q1_east"
    assert named("q1", relation("jan_east"), "jan", used_names) == "q1_east_2"
    assert named("q1", relation("jan_east"), "jan", used_names) == "q1_east_3"
    assert used_names == {"q1_east", "q1_east_2", "q1_east_3"}
    assert named("q1", relation("elsewhere"), "jan", set()) == "q1_elsewhere"
    assert named("q1", relation("jan"), "jan", set()) == "q1_jan"
    shortened = named("ä" * 31, relation("jan_" + "b" * 59), "jan", set())
    assert len(shortened.encode()) <= 63
    assert shortened.endswith("b" * 39)
