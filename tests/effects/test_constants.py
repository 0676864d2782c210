"""Expressions that check computes have the same values as on a live server."""

from __future__ import annotations

import os
import random

import psycopg
import pytest

from gpcatalog.dialect.grammar import WORDS
from gpcatalog.dialect.greenplum import editions, read_statement
from gpcatalog.dialect.lexer import scan
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.constants import Constants, shown

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
$q$it's$q$""".splitlines()


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
        kind = r.randrange(6)
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
