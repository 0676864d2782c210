"""Columns of queries: their number, names and types as derived from the text, against those that the server reports."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest

from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source, statements
from gpcatalog.dialect.version import edition
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.function_types import _LIKE_FIRST, _SUMS, FUNCTIONS
from gpcatalog.effects.query_columns import columns_of
from gpcatalog.effects.schema_state import SchemaState
from tests import program
from tests.conftest import fresh_database

NUMBERS = (
    "1::int2",
    "2::int4",
    "3::int8",
    "4.5::numeric",
    "1.5::float4",
    "2.5::float8",
    "3",
    "4.5",
    "5000000000",
)
TIMES = ("date'2020-01-01'", "timestamp'2020-01-01'", "timestamptz'2020-01-01'", "interval'1day'")
VALUES = NUMBERS + TIMES
ALIASES = ("", "x", "AS x", "x(y)")
SETUP = (
    "CREATE TABLE base (a int, b varchar(10), c numeric(10,2), d date[])",
    "CREATE VIEW v AS SELECT * FROM base",
    "CREATE VIEW w(q) AS SELECT a + 1, a, b || 'x' AS z FROM v",
    "CREATE VIEW n AS SELECT a, a / 10 AS b FROM generate_series(1, 100) a",
    "CREATE TYPE pair AS (x int, y text)",
    "CREATE DOMAIN code AS varchar(3)",
    "CREATE FUNCTION one(int) RETURNS int AS 'SELECT 1' LANGUAGE sql",
    "CREATE FUNCTION many(int) RETURNS SETOF bigint AS 'SELECT 1::bigint' LANGUAGE sql",
    "CREATE FUNCTION of_table(int) RETURNS SETOF base AS 'SELECT * FROM base' LANGUAGE sql",
    "CREATE FUNCTION of_view() RETURNS w AS 'SELECT * FROM w' LANGUAGE sql",
    "CREATE FUNCTION of_pair() RETURNS SETOF pair AS 'SELECT 1, NULL::text' LANGUAGE sql",
    "CREATE FUNCTION of_code() RETURNS code AS 'SELECT NULL::code' LANGUAGE sql",
    "CREATE FUNCTION two(i int, OUT x int, OUT y text) AS 'SELECT 1, NULL::text' LANGUAGE sql",
    "CREATE FUNCTION single(i int, OUT x numeric) AS 'SELECT 1.5' LANGUAGE sql",
    "CREATE FUNCTION both_ways(INOUT x int, INOUT y text) AS 'SELECT 1, NULL::text' LANGUAGE sql",
    "CREATE FUNCTION tabled(int) RETURNS TABLE (x int, y date) AS 'SELECT 1, NULL::date' LANGUAGE sql",
    "CREATE FUNCTION sized(int) RETURNS TABLE (x varchar(5), y char(3)) AS 'SELECT NULL::varchar(5), NULL::char(3)' LANGUAGE sql",
    "CREATE FUNCTION records(int) RETURNS SETOF record AS 'SELECT 1, 2' LANGUAGE sql",
    "CREATE FUNCTION same(anyelement) RETURNS anyelement AS 'SELECT $1' LANGUAGE sql",
    "CREATE FUNCTION twice(int) RETURNS int AS 'SELECT 1' LANGUAGE sql",
    "CREATE FUNCTION twice(text) RETURNS text AS 'SELECT $1' LANGUAGE sql",
    "CREATE FUNCTION \"Quoted\"() RETURNS int AS 'SELECT 1' LANGUAGE sql",
    "CREATE FUNCTION again() RETURNS int AS 'SELECT 1' LANGUAGE sql",
    "DROP FUNCTION again()",
    "CREATE FUNCTION again() RETURNS SETOF base AS 'SELECT * FROM base' LANGUAGE sql",
)
QUERIES = [
    *(f"SELECT {a} {operator} {b} AS x" for a, operator, b in product(VALUES, "+-*/%", VALUES)),
    *(f"SELECT -{a} AS x" for a in VALUES),
    *(f"SELECT ARRAY[{a}, {b}] AS x" for a, b in product(VALUES, VALUES)),
    *(
        f"SELECT * FROM generate_series({a}, {b}) {alias}"
        for a, b, alias in product(NUMBERS, NUMBERS, ALIASES)
    ),
    *(
        f"SELECT * FROM generate_series({a}, {a}, interval '1 day') {alias}"
        for a, alias in product(TIMES[:3], ALIASES)
    ),
    "SELECT a, a / 10 AS b, x.a AS z FROM generate_series(1, 100) a, generate_series(1, 2) AS x(a)",
    *(
        f"SELECT sum(x), avg(x), min(x), max(x), count(x), sum(x) OVER () FROM (SELECT {value} AS x) s GROUP BY x"
        for value in VALUES
    ),
    "SELECT * FROM v",
    "SELECT * FROM w",
    "SELECT n.*, w.z FROM n, w",
    "SELECT * FROM w JOIN v USING (a)",
    "SELECT b, count(*) AS n FROM (SELECT b FROM n) AS inner_one GROUP BY b",
    "TABLE n",
    *(
        f"SELECT * FROM {call}{ordinality}{alias}"
        for call in (
            "one(1)",
            "many(1)",
            "of_table(1)",
            "of_view()",
            "of_pair()",
            "of_code()",
            "two(1)",
            "single(1)",
            "both_ways(1, 'x')",
            "tabled(1)",
            "same(1)",
            "twice(1)",
            "twice('x'::text)",
            '"Quoted"()',
            "again()",
        )
        for ordinality in ("", " WITH ORDINALITY")
        for alias in ("", " AS f", " f(k)")
    ),
    "SELECT * FROM sized(1)",
    "SELECT x, y FROM sized(1) f",
    "SELECT * FROM records(1) AS (p int, q int)",
    "SELECT * FROM records(1) AS r(p int, q varchar(4))",
    "SELECT one(1) AS a, many(1) AS b, single(1) AS c, twice(1) AS d, of_code() AS e",
    "SELECT f.x, f.y FROM two(1) f",
]
OTHERS = (
    "'x'::text",
    "'x'::varchar(5)",
    "'x'",
    "'x'::bytea",
    "'{}'::json",
    "'{}'::jsonb",
    "true",
    "ARRAY[1]",
    "'x'::name",
    "'1'::xid",
)
FUNCTIONS_OF_ARGUMENTS = [
    *(
        f"SELECT {name}({given}) AS x"
        for name in sorted({*FUNCTIONS, *_SUMS, *_LIKE_FIRST, "age", "lower", "upper", "substr"})
        for given in (*VALUES, *OTHERS)
    ),
    *(
        f"SELECT {name}({one}, {two}) AS x"
        for name in sorted(
            {*FUNCTIONS, "age", "round", "trunc", "substr", "date_trunc", "nth_value", "lag"}
        )
        for one, two in (
            ("'x'::text", "'x'"),
            ("'x'::bytea", "'x'"),
            ("4.5", "2"),
            ("3", "3"),
            ("'day'", "now()"),
            ("'day'", "date'2020-01-01'"),
        )
    ),
    *(
        f"SELECT {name}({given}) OVER () AS x"
        for name in sorted(_LIKE_FIRST)
        for given in (*VALUES, *OTHERS)
    ),
    *(
        f"SELECT {one} {operator} {two} AS x"
        for one, two in product(OTHERS, OTHERS[:3])
        for operator in (
            "||",
            "->",
            "->>",
            "#>",
            "#>>",
            "~",
            "!~*",
            "=",
            "<>",
            "LIKE",
            "NOT ILIKE",
            "IS DISTINCT FROM",
        )
    ),
    *(
        f"SELECT {name}({one}, {two}) AS x, CASE WHEN true THEN {one} ELSE {two} END AS y"
        for name in ("coalesce", "greatest", "least", "nullif")
        for one, two in product((*VALUES, *OTHERS), (*VALUES, *OTHERS, "NULL"))
    ),
    "SELECT coalesce(b, ''), coalesce(b, 'x'::text), coalesce(c, 0), coalesce(count(*), 0), least(c, 1.5), CASE WHEN a > 1 THEN b END FROM base GROUP BY a, b, c",
    "SELECT EXISTS (SELECT 1), a IN (1, 2), a NOT IN (SELECT 1), a BETWEEN 1 AND 2, a = ANY (ARRAY[1]), a IS NOT NULL FROM base",
    "SELECT (SELECT max(a) FROM base), (SELECT c FROM v WHERE v.a = base.a), (SELECT count(*) AS n FROM w) AS m FROM base",
    "WITH q AS (SELECT 1.5 AS y) SELECT (SELECT y FROM q), ARRAY(SELECT y FROM q), (SELECT base.c FROM q) FROM base",
    "SELECT EXTRACT(year FROM now()), POSITION('a' IN b), SUBSTRING(b FROM 1 FOR 2), CURRENT_USER, SESSION_USER, CURRENT_DATE FROM base",
    "SELECT current_schema, current_catalog, current_role, user",
    "SELECT current_timestamp, current_timestamp(3), localtimestamp, localtimestamp(3), current_time, localtime(2)",
    "SELECT trim(b), trim(LEADING FROM b), trim(TRAILING 'x' FROM b), trim('x'), overlay(b PLACING 'x' FROM 1) FROM base",
    "SELECT nullif(a, 1), coalesce(a, 1), count(*) FILTER (WHERE true), row_number() OVER (), array_agg(b) FROM base GROUP BY a",
]
# functions in FROM and LATERAL: their columns must be known
FROM_ITEMS = [
    *(
        f"SELECT * FROM {call}{ordinality}{alias}"
        for call in (
            "unnest(ARRAY[1, 2])",
            "unnest(ARRAY['a', 'b'])",
            "unnest(ARRAY['a'::varchar, 'b'])",
            "unnest(ARRAY[date'2020-01-01', '2020-01-02'])",
            "unnest(ARRAY[[1, 2], [3, 4]])",
            "unnest('{1}'::int[])",
            "unnest('{1}'::varchar(3)[])",
            "unnest(string_to_array('a,b', ','))",
            "unnest(ARRAY[1], '{x}'::text[])",
            "regexp_split_to_table('a b', ' ')",
            "regexp_matches('a b', ' ')",
            "string_to_table('a b', ' ')",
            "generate_subscripts(ARRAY[1, 2], 1)",
            "json_array_elements('[1]'::json)",
            "jsonb_array_elements('[1]'::jsonb)",
            "json_array_elements_text('[1]'::json)",
            "jsonb_each('{}'::jsonb)",
            "json_each('{}'::json)",
            "json_each_text('{}'::json)",
            "json_object_keys('{}'::json)",
            "jsonb_object_keys('{}'::jsonb)",
            "jsonb_path_query('{}'::jsonb, '$')",
            "json_populate_record(NULL::base, '{}'::json)",
            "json_populate_recordset(NULL::public.base, '[]'::json)",
            "jsonb_populate_recordset(NULL::v, '[]'::jsonb)",
            "aclexplode('{=r/postgres}'::aclitem[])",
            "pg_catalog.generate_series(1, 2)",
            "ROWS FROM (generate_series(1, 2), of_table(1))",
            "ROWS FROM (unnest(ARRAY[1]), json_to_record('{}') AS (p int, q text))",
            "ROWS FROM (generate_series(1, 2))",
        )
        for ordinality in ("", " WITH ORDINALITY")
        for alias in ("", " AS f", " f(k)", " f(k, l)")
    ),
    "SELECT * FROM json_to_recordset('[]') AS x(a int, b text)",
    "SELECT v.a, o.* FROM v CROSS JOIN LATERAL (SELECT b, c FROM base WHERE base.a = v.a LIMIT 3) o",
    "SELECT * FROM v, LATERAL (SELECT max(c) AS m, v.b AS same FROM base WHERE base.a = v.a) o",
    "SELECT * FROM v LEFT JOIN LATERAL (SELECT * FROM base x WHERE x.a = v.a) o(p, q) ON true",
    "SELECT o.* FROM v LEFT JOIN LATERAL (SELECT a AS outer_or_inner, b FROM n) o ON true",
    "SELECT s.x, t.y FROM (SELECT 1 AS x) s, LATERAL (SELECT s.x + 1 AS y) t",
    "SELECT * FROM base, unnest(string_to_array(b, ',')) WITH ORDINALITY AS part(word, position)",
    "SELECT * FROM base, LATERAL unnest(ARRAY[a, a + 1]) AS u",
    "SELECT * FROM base, generate_series(1, a) AS g(n)",
    "SELECT * FROM XMLTABLE('/r' PASSING '<r/>' COLUMNS i FOR ORDINALITY, x int PATH 'x', \"Y\" text DEFAULT 'a', z varchar(3) NOT NULL)",
    "SELECT * FROM XMLTABLE(XMLNAMESPACES('http://x' AS n), '/r' PASSING '<r/>' COLUMNS x int) AS t(k)",
    "SELECT * FROM JSON_TABLE('[]'::jsonb, '$[*]' COLUMNS (id FOR ORDINALITY, a int PATH '$.a', NESTED PATH '$.b[*]' COLUMNS (b text PATH '$'), c bool EXISTS PATH '$.c')) AS j",
]
# their number is not known from the text
UNKNOWN = [
    "SELECT * FROM unnest(ARRAY[ROW(1, 'a')::pair])",
    "SELECT * FROM unnest(NULL::pair[])",
    "SELECT * FROM unnest(NULL::base[])",
    "SELECT * FROM (SELECT NULL::pair[] AS p) s, unnest(s.p)",
    "SELECT * FROM unnest(ARRAY(SELECT base FROM base))",
    "SELECT * FROM unnest((SELECT array_agg(base) FROM base))",
    "SELECT * FROM jsonb_populate_record(NULL::pair, '{}'::jsonb)",
]


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15", "pg18"])
def test_the_server_agrees(server: str, request: pytest.FixtureRequest) -> None:
    fixture = {"pg15": "pg_dsn", "pg18": "pgnew_dsn"}.get(server, f"{server}_dsn")
    made = fresh_database(request.getfixturevalue(fixture), "query_columns")
    state = SchemaState(edition(server), ZoneInfo("UTC"))
    complete = accepted = 0
    with psycopg.connect(made, autocommit=True) as conn:
        types = dict(conn.execute("SELECT oid::int8, typname FROM pg_type").fetchall())
        for statement in statements(Source(";\n".join(SETUP) + ";"), editions(server)):
            conn.execute(statement.text.encode())
            state.apply(statement.tree)
        for query in [*QUERIES, *FUNCTIONS_OF_ARGUMENTS, *FROM_ITEMS, *UNKNOWN]:
            try:
                cursor = conn.execute(f"{query} LIMIT 0".encode())
                described = cursor.description or []
            except psycopg.Error:
                continue  # the operator does not exist
            accepted += 1
            (statement,) = statements(Source(query + ";"), editions(server))
            try:
                derived = columns_of(state, statement.tree)
            except Unknown:
                assert query not in FROM_ITEMS, query
                continue
            assert [c.name for c in derived] == [d.name for d in described], query
            real = [types[d.type_code] for d in described]
            real = ["_array" if name.startswith("_") else name for name in real]
            # the server reports the base type of a domain
            mine = ["varchar" if c.type == "code" else c.type for c in derived]
            assert all(m in ("", name) for m, name in zip(mine, real, strict=True)), (
                query,
                derived,
                real,
            )
            complete += all(c.type for c in derived)
            # a known length must be correct, because it determines whether a TOAST table is needed
            lengths = [cursor.pgresult.fmod(i) for i in range(len(derived))]
            for column, length in zip(derived, lengths, strict=True):
                if column.type in ("varchar", "bpchar") and column.typmod >= 0:
                    assert column.typmod == length, (query, column, length)
    assert accepted > 500
    assert complete / accepted > 0.7  # otherwise too little is tested


def test_a_view_that_changed_is_not_read_by_its_first_definition() -> None:
    state = SchemaState(edition("pg15"), ZoneInfo("UTC"))

    def width(query: str) -> int | None:
        (statement,) = statements(Source(query + ";"), editions("pg15"))
        try:
            return len(columns_of(state, statement.tree))
        except Unknown:
            return None

    def run(text: str) -> None:
        for statement in statements(Source(text), editions("pg15")):
            state.apply(statement.tree)

    run("CREATE TABLE t (a int, b text); CREATE VIEW v AS SELECT a FROM t;")
    assert width("SELECT * FROM v") == 1
    run("CREATE OR REPLACE VIEW v AS SELECT a, b FROM t;")
    assert width("SELECT * FROM v") == 2
    run("ALTER VIEW v OWNER TO other; ALTER VIEW v RENAME TO v2;")
    assert width("SELECT * FROM v2") == 2
    assert width("SELECT * FROM v") is None
    run("ALTER VIEW v2 RENAME COLUMN a TO c;")
    assert width("SELECT * FROM v2") is None
    run(
        "CREATE SCHEMA s; CREATE TABLE s.v3 (a int, b int, c int); CREATE VIEW v3 AS SELECT a FROM t; SET search_path = s, public;"
    )
    assert width("SELECT * FROM v3") in (3, None)
    run("CREATE TABLE l (LIKE v2); CREATE FOREIGN TABLE f (x int, y text) SERVER z;")
    assert width("SELECT * FROM f") == 2


@pytest.mark.parametrize("number", ["1" * 6000, "0b12", "0x", "1__0", "0x" + "f" * 200])
def test_numbers_that_no_server_has_end_no_check(number: str, tmp_path: Path) -> None:
    """A number that Python cannot convert, because it is very long or has invalid digits of another base, does not end the check."""
    file = tmp_path / "f.sql"
    file.write_text(f"CREATE TABLE t AS SELECT {number} AS a;\n")
    done = program.run("check", str(file), "--server", "postgresql19")
    assert done.returncode in (0, 1), done.stderr
    assert "internal" not in done.stdout + done.stderr


def test_a_time_zone_that_is_not_known_is_said(tmp_path: Path) -> None:
    file = tmp_path / "f.sql"
    file.write_text(
        "SET timezone = 'Nowhere/X';\n"
        "CREATE TABLE t (id int, k timestamptz) DISTRIBUTED BY (id) PARTITION BY RANGE (k)\n"
        " (START ('2020-03-29 00:00') END ('2020-03-29 06:00') EVERY (INTERVAL '1 hour'));\n"
    )
    done = program.run("check", str(file), "--server", "greenplum6")
    assert "cost not fully known: time zone Nowhere/X" in done.stdout
