"""Expressions that check computes have the same values as on a live server."""

from __future__ import annotations

import os
import random
from datetime import datetime

import psycopg
import pytest

from gpcatalog.dialect.grammar import WORDS
from gpcatalog.dialect.greenplum import editions, read_statement
from gpcatalog.dialect.lexer import scan
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.constant_queries import ConstantQueries
from gpcatalog.effects.constant_values import shown
from gpcatalog.effects.constants import Constants

WRITTEN = """format('%s_%I_%L_%%', 1, 'A b', 'it''s')
format('%2$s%1$s%s', 'a', 'b')
format('%s', NULL)
format('%L', NULL)
to_char(date '2024-02-29', 'YYYY-MM-DD YY "day" HH24:MI:SS')
to_char(timestamp '2024-02-29 13:04:05', 'YYYYMMDDHH24MISS')
to_char(7, 'FM000')
to_char(1234, 'FM000')
lpad('abc', 2, 'x') || rpad('abc', 6, 'xy') || lpad('a', 4) || lpad('a', -1, 'b')
date_trunc('month', timestamp '2024-02-29 13:04:05')
date_trunc('year', date '2024-02-29')::date
date_trunc('day', date '2024-02-29')::timestamp + interval '1 month'
make_date(2024, 2, 30 - 1)
concat('a', NULL, 1, date '2024-01-01')
coalesce(NULL, 'x') || coalesce(2, 3)
quote_ident('user') || quote_ident('Ab') || quote_ident('a_b') || quote_ident('1a')
quote_ident('a$b') || quote_ident('ä') || quote_ident('select') || quote_ident('name')
quote_literal('it''s') || quote_literal(5) || quote_literal(date '2024-01-01')
CASE WHEN 1 > 2 THEN 'a' WHEN date '2024-01-01' < '2024-01-02' THEN 'b' END
'2024-01-31'::date + interval '1 month' - interval '2 days 3 hours'
date '2024-03-01' - date '2024-02-01'
(date '2024-01-01' + 31)::text || 'x'
'a' || 1 || date '2024-01-01' || timestamp '2024-01-01 00:00:00.5'
interval '1 day' * 3 + date '2024-01-01'
-7 / 2
-7 % 3
7 / -2 * 3 - -1
NOT (1 = 2 OR 'a' <> 'a') AND true
upper('a')
'5'::int + 1
5::text || '5'
'x'::varchar(2) || 'y'
1 / 0
2147483647 + 1
'12' = 12
'2024-01-01' <= date '2024-01-01'
timestamp '2024-01-01' > date '2023-12-31'
date '2024-01-01' = timestamp '2024-01-01 00:00:01'
E'a\\n'
$q$it's$q$
upper('aB_1') || lower('Ab')
upper('ä')
replace('a_b_c', '_', '-') || replace('abc', '', 'x') || replace('aaa', 'aa', 'b')
split_part('a,b,c', ',', 2) || split_part('a,b', ',', 3) || split_part('a--b', '--', 2)
split_part('a,b', ',', 0)
left('abc', 2) || left('abc', -1) || left('abc', 9) || left('abc', -5) || left('abc', 0)
right('abc', 2) || right('abc', -1) || right('abc', 9) || right('abc', -5) || right('abc', 0)
substr('abcdef', 2, 3) || substr('abcdef', 5) || substr('abcdef', 0, 3) || substr('abcdef', -1, 4) || substr('abc', 9)
length('abc') + char_length('') + length('ä')
btrim('  a b  ') || '|'
(ARRAY['a', 'b'])[2] || coalesce((ARRAY['a', 'b'])[3], 'none') || coalesce((ARRAY['a'])[0], 'zero')
array_length(ARRAY[1, 2, 3], 1) + array_upper(ARRAY[1, 2], 1)
cardinality(ARRAY['x', 'y'])
(string_to_array('a,b,,c', ','))[3] || array_to_string(string_to_array('a,b,c', ','), '+')
array_to_string(ARRAY['a', NULL, 'b'], '-')
to_date('20240229', 'YYYYMMDD')
to_date('2024-02', 'YYYY-MM')
to_date('29.02.2024', 'DD.MM.YYYY') + 1
to_date('2024', 'YYYY')
to_char(date '2024-12-30', 'IYYY IW WW DDD Q Mon MON mon')
to_char(date '2027-01-03', 'iyyy_iw_ww_ddd_q yyyymmdd yy')
to_char(timestamp '2024-02-09 03:04:05', 'yyyy_mm_dd_hh24_mi_ss')
date_trunc('week', timestamp '2024-02-29 13:04:05')
date_trunc('week', date '2024-01-01')::date
date_trunc('quarter', timestamp '2024-06-30')
extract(year from date '2024-02-29') || '-' || extract(quarter from date '2024-12-31')
extract(month from timestamp '2024-02-29 10:00')::int + extract(day from date '2024-02-29')::int
extract(week from date '2024-12-30')::text || extract(isoyear from date '2024-12-30')::text || extract(dow from date '2024-12-29')::text
extract(doy from date '2024-12-31')::int || 'x' || extract(isodow from date '2024-12-29')
date_part('year', date '2024-02-29')::text
extract(hour from timestamp '2024-02-29 10:00')
date '2024-01-31' + make_interval(months => 1)
date '2024-01-31' + make_interval(1, 1, 1, 1)
date '2024-01-31' + make_interval(days := 3, years := 1)
greatest(1, 3, 2) + least(4, 5) + mod(7, 4) + abs(-3)
concat_ws('_', 'a', NULL, 1, date '2024-01-01')
to_hex(255) || to_hex(0)""".splitlines()


class Maker:
    """Generates random expressions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def number(self, depth: int = 0) -> str:
        r = self._random
        if depth > 2 or r.random() < 0.3:
            return str(r.choice([0, 1, 2, 3, 7, 12, 100, 4096]))
        kind = r.randrange(4)
        if kind == 0:
            return f"({self.time(depth + 1, 'date')} - {self.time(depth + 1, 'date')})"
        if kind == 1:
            return (
                f"CASE WHEN {self.number(depth + 1)} {r.choice(['<', '<=', '=', '<>', '>', '>='])} {self.number(depth + 1)}"
                f" THEN {self.number(depth + 1)} ELSE {self.number(depth + 1)} END"
            )
        return f"({self.number(depth + 1)} {r.choice('+-*/%')} {self.number(depth + 1)})"

    def time(self, depth: int, kind: str) -> str:
        r = self._random
        text = f"{r.randrange(1999, 2031)}-{r.randrange(1, 13):02}-{r.choice([1, 15, 28, 29, 30, 31]):02}"
        if kind == "timestamp" and r.random() < 0.5:
            text += f" {r.randrange(24):02}:{r.randrange(60):02}:{r.randrange(60):02}"
        if depth > 2 or r.random() < 0.4:
            return r.choice([f"{kind} '{text}'", f"'{text}'::{kind}"])
        step = f"interval '{r.randrange(-3, 15)} {r.choice(['day', 'month', 'year', 'hours'])}'"
        if r.random() < 0.3:
            return f"date_trunc('{r.choice(['day', 'month', 'year'])}', {self.time(depth + 1, kind)})::{kind}"
        sign = r.choice("+-")
        if kind == "date" and r.random() < 0.5:
            return f"({self.time(depth + 1, kind)} {sign} {self.number(2)})"
        return f"({self.time(depth + 1, kind)} {sign} {step} * {r.randrange(4)})::{kind}"

    def text(self, depth: int = 0) -> str:
        r = self._random
        if depth > 1 or r.random() < 0.2:
            return r.choice(["'a'", "'it''s'", "'p_'", "'A b'", "''", "'2024'"])
        kind = r.randrange(9)
        if kind == 6:
            return f"{r.choice(['left', 'right'])}({self.text(depth + 1)}, {r.randrange(-3, 6)})"
        if kind == 7:
            return f"{r.choice(['upper', 'lower', 'btrim'])}({self.text(depth + 1)})"
        if kind == 8:
            return f"substr({self.text(depth + 1)}, {r.randrange(-2, 5)}, {r.randrange(5)})"
        if kind == 0:
            return f"to_char({self.time(1, r.choice(['date', 'timestamp']))}, '{r.choice(['YYYYMMDD', 'YYYY_MM', 'YYMM', 'DD.MM.YYYY', 'HH24MISS'])}')"
        if kind == 1:
            return f"lpad({self.number(1)}::text, {r.randrange(6)}, '{r.choice(['0', 'xy'])}')"
        if kind == 2:
            return f"format('{r.choice(['t_%s_%s', '%I.%I', '%L;%s', '%2$s-%1$s'])}', {self.text(depth + 1)}, {self.any(depth + 1)})"
        if kind == 3:
            return f"concat({self.any(depth + 1)}, {self.any(depth + 1)})"
        if kind == 4:
            return f"quote_literal({self.text(depth + 1)})"
        return f"({self.text(depth + 1)} || {self.any(depth + 1)})"

    def any(self, depth: int = 0) -> str:
        kind = self._random.randrange(4)
        if kind == 0:
            return self.number(depth)
        if kind == 1:
            return self.time(depth, self._random.choice(["date", "timestamp"]))
        return self.text(depth)


def computed(expression: str) -> str | None:
    """The value that check computes for an expression, as text; None if check cannot compute it."""
    (edition,) = editions("gp6")
    tree, _ = read_statement(scan(f"SELECT {expression}", 0, WORDS)[0], (edition,))
    try:
        value = Constants({}, ()).value(tree.expressions[0])
        return str(value).lower() if isinstance(value, bool) else shown(value)
    except Unknown:
        return None


@pytest.mark.parametrize("fixture", ["gp6_dsn", "pg_dsn", "pgnew_dsn"])
def test_the_server_computes_the_same(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = request.getfixturevalue(fixture)
    seed = int(os.environ.get("GPCATALOG_TEST_SEEDS", "1").split("-")[0])
    maker = Maker(seed)
    expressions = [*WRITTEN, *(maker.any() for _ in range(600))]
    equal = 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        for expression in expressions:
            ours = computed(expression)
            if ours is None:
                continue
            try:
                row = conn.execute(f"SELECT ({expression})::text".encode()).fetchone()
            except psycopg.Error:
                continue  # code that computes it would also fail
            assert row is not None
            assert (expression, ours) == (expression, row[0])
            equal += 1
    assert equal > 0.6 * len(expressions)


QUERIES = """SELECT generate_series(1, 5) AS n
SELECT generate_series(1, 0) AS n
SELECT generate_series(9, 1, -4), 'x' AS t
SELECT x::date FROM generate_series('2026-01-31'::date, '2026-05-10', interval '1 month') x
SELECT x::date AS a, (x + interval '1 month')::date AS b FROM generate_series(timestamp '2026-01-01', '2026-03-10', '1 month') AS x
SELECT x FROM generate_series(timestamp '2026-01-01', timestamp '2026-03-10', '10 days') AS x
SELECT d, d + 1 AS e, d * 2 FROM generate_series(1, 3) AS t(d)
SELECT t.d, g.* FROM generate_series(1, 3) AS t(d), generate_series(1, t.d) g
SELECT unnest(ARRAY['p','q'])
SELECT unnest('{p,q}'::text[]) || '_x'
SELECT * FROM (VALUES ('v1', 'int'), ('v2', 'text')) AS v(name, typ)
SELECT v.*, 1 FROM (VALUES ('v1', 1), ('v2', 2)) AS v(name) WHERE column2 > 1
VALUES ('w1', 'int'), ('w2', 'text')
SELECT * FROM unnest(ARRAY['a','b']) AS u
SELECT u FROM unnest(ARRAY['a','b']) AS u(u)
SELECT regexp_split_to_table('k1,k2', ',')
SELECT regexp_split_to_table('k1,  k2,k3', ',\\s*')
SELECT 'p_' || generate_series(1, 3) || '_x' AS name, g FROM unnest(ARRAY['a','b']) g
SELECT regexp_split_to_table('k1.k2', '.')
SELECT g FROM generate_series(0, 9) g ORDER BY g DESC LIMIT 3
SELECT g % 3 AS m, g FROM generate_series(0, 9) g ORDER BY 1, g DESC
SELECT g FROM generate_series(0, 9) g ORDER BY g % 4, g
SELECT t FROM unnest(ARRAY['b','a']) t ORDER BY t LIMIT 1
SELECT DISTINCT g % 3 AS m FROM generate_series(0, 9) g ORDER BY m
SELECT a, b FROM generate_series(4, 6) WITH ORDINALITY AS t(a, b)
SELECT a, ordinality FROM unnest(ARRAY['x','y']) WITH ORDINALITY AS a
SELECT s.a FROM generate_series(1, 5) s(a) WHERE s.a > 1 AND a <> 3
SELECT a.x, b.y FROM generate_series(1, 3) a(x), generate_series(1, 2) b(y)
SELECT x FROM generate_series(1, 3) a(x), generate_series(1, 2) b(x)
SELECT a.x, b.y FROM generate_series(1, 3) a(x) CROSS JOIN unnest('{a,b}'::text[]) b(y)
WITH q AS (SELECT generate_series(1, 3) AS n), w(k) AS (SELECT n * 2 FROM q) SELECT q.n, w.k FROM q, w WHERE w.k = q.n * 2
SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y'
SELECT 1 UNION SELECT 1
SELECT n FROM (SELECT generate_series(1, 4) AS n) s WHERE n % 2 = 0
SELECT DISTINCT a FROM (SELECT 1 AS a) s WHERE a > 0
SELECT generate_subscripts(ARRAY['a','b'], 1) AS i
SELECT (ARRAY['a','b'])[i] FROM generate_series(1, 3) i
SELECT format('p%s', to_char(d, 'YYYYMM')) AS name, d::date AS low FROM generate_series(timestamp '2025-11-01', '2026-02-01', '1 month') d
SELECT CASE WHEN g = 1 THEN 'one' ELSE 'more' END FROM generate_series(1, 2) g
SELECT g FROM generate_series(1, 3) g WHERE NULL
SELECT g FROM generate_series(1, 3) g WHERE g = (SELECT 2)
SELECT count(*) FROM generate_series(1, 3)
SELECT g FROM generate_series(1, 3) g GROUP BY g
SELECT g FROM generate_series(1, 3) g OFFSET 1
SELECT generate_series(1, 2), generate_series(1, 3)
SELECT upper(t) AS "T", t FROM unnest(string_to_array('a,b', ',')) t""".splitlines()


def plain(value: object) -> object:
    """A value without its time zone, and numbers as integers."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_queries_have_the_rows_of_the_server(fixture: str, request: pytest.FixtureRequest) -> None:
    """Names of columns, and rows in their order; the session is in UTC."""
    (edition,) = editions("gp6" if fixture == "gp6_dsn" else "gp7")
    equal, unknown = 0, []
    with psycopg.connect(request.getfixturevalue(fixture), autocommit=True) as conn:
        conn.execute("SET timezone = 'UTC'")
        for query in QUERIES:
            tree, _ = read_statement(scan(query, 0, WORDS)[0], (edition,))
            try:
                ours = ConstantQueries(Constants({}, ()), ()).rows(tree)
            except Unknown:
                unknown.append(query)
                continue
            cursor = conn.execute(query)
            rows = [tuple(map(plain, row)) for row in cursor.fetchall()]
            found = [tuple(map(plain, row)) for row in ours.rows]
            assert (found if ours.ordered else sorted(found)) == (
                rows if ours.ordered else sorted(rows)
            ), query
            # "" is the name of a type, which is not computed
            for name, column in zip(ours.columns, cursor.description, strict=True):
                assert name in ("", column.name), query
            equal += 1
    assert equal == 38, unknown


def test_names_of_variables_and_columns_are_not_confused() -> None:
    """PL/pgSQL refuses a name that both have."""
    (edition,) = editions("gp6")
    for query, found in (("SELECT d FROM generate_series(1, 2) d", False), ("SELECT d.d FROM generate_series(1, 2) d", True),
                         ("SELECT e FROM generate_series(1, 2) e", True)):  # fmt: skip
        tree, _ = read_statement(scan(query, 0, WORDS)[0], (edition,))
        queries = ConstantQueries(Constants({}, ()), {"d"})
        if found:
            assert queries.rows(tree).rows == [(1,), (2,)]
        else:
            with pytest.raises(Unknown):
                queries.rows(tree)
