"""Conditions of statements on a partition key, compared with the rows that PostgreSQL selects."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import psycopg
import pytest

from gpcatalog.planner import workload
from gpcatalog.planner.workload import KeyPredicate
from tests.planner.made import FakeSnapshot, TableSpec
from tests.planner.test_plan import daily

FIRST = date(2026, 1, 1)
DAYS = [FIRST + timedelta(days=n) for n in range(120)]


@pytest.fixture(scope="module")
def server(pg15_server) -> Iterator[psycopg.Connection]:  # type: ignore[no-untyped-def]
    with psycopg.connect(pg15_server.conninfo("postgres"), autocommit=True) as conn:
        conn.execute("CREATE TEMP TABLE t (d date, n int)")
        with conn.cursor() as cursor:
            cursor.executemany("INSERT INTO t VALUES (%s, 1)", [(day,) for day in DAYS])
        yield conn


@functools.cache
def _snapshot() -> FakeSnapshot:
    return FakeSnapshot([TableSpec("t", daily(5))])


def read_workload(folder: Path, *statements: str) -> workload.Workload:
    file = folder / "asked.sql"
    file.write_text(";\n".join(statements))
    return workload.read(str(file), _snapshot())


def chosen(one: KeyPredicate) -> set[date]:
    """The days that a predicate selects."""
    low = date.fromisoformat(one.low[:10]) if one.low else None
    high = date.fromisoformat(one.high[:10]) if one.high else None
    return {
        day
        for day in DAYS
        if (low is None or day > low or (one.low_inclusive and day == low))
        and (high is None or day < high or (one.high_inclusive and day == high))
    }


def _constant(draw: random.Random) -> str:
    day = draw.choice(DAYS)
    return draw.choice(
        (
            f"'{day}'", f"date '{day}'", f"'{day}'::date", f"('{day}')", f"CAST('{day}' AS date)",
            f"date '{day - timedelta(days=3)}' + interval '3 days'", f"date '{day + timedelta(days=7)}' - interval '1 week'",
            f"date '{day - timedelta(days=2)}' + 2",
        )
    )  # fmt: skip


def _condition(draw: random.Random) -> str:
    column = draw.choice(("d", "x.d", "d::date", "(d)"))
    low, high = _constant(draw), _constant(draw)
    return draw.choice(
        (
            f"{column} = {low}", f"{low} = {column}", f"{column} < {low}", f"{low} < {column}", f"{column} <= {low}",
            f"{low} <= {column}", f"{column} > {low}", f"{low} > {column}", f"{column} >= {low}", f"{low} >= {column}",
            f"{column} BETWEEN {low} AND {high}", f"{column} IN ({low})",
            f"{column} >= {low} AND {column} < {high}", f"({column} > {low}) AND n = 1 AND ({column} <= {high})",
        )
    )  # fmt: skip


def test_intervals_are_what_the_server_selects(server: psycopg.Connection, tmp_path: Path) -> None:
    draw = random.Random(11)
    for _ in range(250):
        condition = _condition(draw)
        form = draw.choice(
            ("SELECT d FROM t x WHERE {}", "SELECT sum(n) FROM s.t AS x WHERE {}", "DELETE FROM t x WHERE {}", "UPDATE t x SET n = 2 WHERE {}")
        )  # fmt: skip
        found = read_workload(tmp_path, form.format(condition))
        (one,) = found.of("s", "t", "d")
        rows = server.execute(f"SELECT d FROM t x WHERE {condition}").fetchall()
        assert chosen(one) == {day for (day,) in rows}, (condition, one)
        assert (one.calls, one.point) == (1.0, False)


def test_lists_reach_from_the_least_to_the_greatest(tmp_path: Path) -> None:
    (one,) = read_workload(
        tmp_path, "SELECT 1 FROM t WHERE d IN ('2026-02-03', '2026-01-09', '2026-01-30')"
    ).of("s", "t", "d")
    assert (one.low, one.high, one.low_inclusive, one.high_inclusive) == (
        "2026-01-09",
        "2026-02-03",
        True,
        True,
    )


@pytest.mark.parametrize(
    "condition", ["d = $1", "$1 = d", "d IN ($1, '2026-01-01')", "d = $1 AND d > '2026-01-01'"]
)
def test_an_unknown_value_is_one_point(condition: str, tmp_path: Path) -> None:
    (one,) = read_workload(tmp_path, f"SELECT 1 FROM t WHERE {condition}").of("s", "t", "d")
    assert one.point
    assert (one.low, one.high) == (None, None)


@pytest.mark.parametrize(
    "condition",
    [
        "n = 1", "d = n", "n = d", "d + 1 = '2026-01-01'", "d <> '2026-01-01'", "d IS NULL", "d = '2026-01-01' OR n = 1",
        "d BETWEEN n AND '2026-01-01'", "d BETWEEN '2026-01-01' AND n", "'2026-01-01' BETWEEN '2026-01-01' AND d",
        "1 IN (d)", "d IN (n)", "d IN (SELECT d FROM other)", "other.d = '2026-01-01'", "d > random()", "1 = 1", "'a' BETWEEN 'a' AND 'b'",
    ],
)  # fmt: skip
def test_other_conditions_ask_for_no_part(condition: str, tmp_path: Path) -> None:
    found = read_workload(
        tmp_path,
        "SELECT 1 FROM t WHERE d = '2026-01-01'",
        f"SELECT 1 FROM t WHERE {condition}",
    )
    assert (found.understood, found.statements) == (1, 2)
    assert len(found.of("s", "t", "d")) == 1


def test_calls_of_a_file_of_statistics(tmp_path: Path) -> None:
    snapshot = FakeSnapshot([TableSpec("t", daily(5))])
    file = tmp_path / "pg_stat_statements.csv"
    file.write_text(
        '\ufeffCalls,"Query"\n7,"select 1 from s.t where d < \'2026-01-02\'"\nmany,"select 1 from t where d = $1"\n3,"select 2"\n',
        encoding="utf-8",
    )
    found = workload.read(str(file), snapshot)
    assert (found.understood, found.statements) == (2, 3)
    assert [one.calls for one in found.of("S", "T", "D")] == [7.0, 1.0]
    assert found.of("other", "t", "d")[0].calls == 1.0
    assert "2 of 3 statements" in found.description


def test_joins_and_aliases(tmp_path: Path) -> None:
    snapshot = FakeSnapshot([TableSpec("t", daily(5)), TableSpec("u", daily(5))])
    file = tmp_path / "joins.sql"
    file.write_text(
        "SELECT 1 FROM t a JOIN u b ON a.d = b.d AND b.d > '2026-01-02' WHERE a.d = '2026-01-03';"
        "SELECT 1 FROM t, u WHERE d = '2026-01-03'"  # it is unknown which of the two tables is meant
    )
    found = workload.read(str(file), snapshot)
    assert (found.understood, found.statements) == (1, 2)
    assert [(p.low, p.high) for p in found.of("s", "t", "d")] == [("2026-01-03", "2026-01-03")]
    assert [(p.low, p.high, p.low_inclusive) for p in found.of("s", "u", "d")] == [
        ("2026-01-02", None, False)
    ]
