"""Calls of functions: where check says that a call changes nothing, the server's catalogs stay as they are."""

from __future__ import annotations

import psycopg
import pytest

from gpcatalog.check.run import run
from gpcatalog.check.settings import Settings
from gpcatalog.dialect.script import Source
from tests.conftest import fresh_database

# (language, body, harmless)
BODIES = (
    ("plpgsql", "BEGIN EXECUTE 'SELECT 1'; END", True),
    ("plpgsql", "BEGIN EXECUTE 'DELETE FROM ' || 'held' || ' WHERE a = 1'; END", True),
    ("plpgsql", "BEGIN EXECUTE 'insert into held values ($1)' USING 1; END", True),
    ("plpgsql", "BEGIN TRUNCATE held; INSERT INTO held VALUES (1); END", True),
    ("plpgsql", "DECLARE n int; BEGIN SELECT count(*) INTO n FROM held; END", True),
    ("plpgsql", "DECLARE n int; BEGIN EXECUTE 'SELECT count(*) FROM held' INTO n; END", True),
    (
        "plpgsql",
        "DECLARE r record; BEGIN FOR r IN SELECT * FROM held LOOP UPDATE held SET a = a; END LOOP; END",
        True,
    ),
    (
        "sql",
        "INSERT INTO held VALUES (1); SELECT ROW('x', 1000.0, 25, '(2,2)'); SELECT NULL::void",
        True,
    ),
    (
        "plpgsql",
        "DECLARE n int; t text := 'held'; BEGIN EXECUTE 'SELECT count(*) FROM ' || t INTO n; END",
        True,
    ),
    (
        "plpgsql",
        "DECLARE r record; t text := 'held'; BEGIN FOR r IN EXECUTE 'select * from ' || t || ' where a > 0' LOOP"
        " NULL; END LOOP; END",
        True,
    ),
    (
        "plpgsql",
        "DECLARE n int; t text := 'x'; BEGIN EXECUTE 'SELECT length(''' || t || ''')' INTO n; END",
        True,
    ),
    ("plpgsql", "DECLARE t text := 'makes'; BEGIN EXECUTE 'SELECT ' || t || '()'; END", False),
    (
        "plpgsql",
        "DECLARE t text := 'makes'; BEGIN EXECUTE 'SELECT * FROM ' || t || '()'; END",
        False,
    ),
    ("plpgsql", "BEGIN EXECUTE 'SELECT * FROM held, ' || 'makes()'; END", False),
    (
        "plpgsql",
        "BEGIN EXECUTE 'SELECT a FROM held' || '; CREATE TABLE made (a int)'; END",
        False,
    ),
    ("plpgsql", "BEGIN CREATE TABLE made (a int); END", False),
    ("plpgsql", "BEGIN EXECUTE 'CREATE TABLE made (a int)'; END", False),
    ("plpgsql", "BEGIN EXECUTE 'CREATE' || ' TABLE made (a int)'; END", False),
    (
        "plpgsql",
        "DECLARE t text := 'cre'; BEGIN t := t || 'ate table made (a int)'; EXECUTE t; END",
        False,
    ),
    ("plpgsql", "BEGIN EXECUTE 'SELECT 1; CREATE TABLE made (a int)'; END", False),
    ("plpgsql", "BEGIN EXECUTE 'SELECT * INTO made FROM held'; END", False),
    ("plpgsql", "BEGIN EXECUTE 'WITH x AS (SELECT 1 AS a) SELECT * INTO made FROM x'; END", False),
    ("plpgsql", "BEGIN EXECUTE format('DROP %s held', 'TABLE'); END", False),
    (
        "plpgsql",
        "BEGIN EXECUTE 'explain analyze ' || 'create table made as select 1 as a'; END",
        False,
    ),
    ("sql", "CREATE TABLE made (a int); SELECT NULL::void", False),
    ("plpgsql", "BEGIN PERFORM makes(); END", False),
    ("plpgsql", "DECLARE n int; BEGIN n := (SELECT count(makes()) FROM held); END", False),
    ("plpgsql", "BEGIN EXECUTE 'SELECT makes()'; END", False),
)
MAKES = "CREATE FUNCTION makes() RETURNS void AS $$ BEGIN CREATE TABLE made (a int); END $$ LANGUAGE plpgsql VOLATILE;"


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15", "pg18"])
def test_a_call_that_is_told_to_change_nothing_changes_nothing(
    server: str, request: pytest.FixtureRequest
) -> None:
    fixture = {"pg15": "pg_dsn", "pg18": "pgnew_dsn"}.get(server, f"{server}_dsn")
    made = fresh_database(request.getfixturevalue(fixture), "routines")
    with psycopg.connect(made, autocommit=True) as conn:
        conn.execute("CREATE TABLE held (a int)")
        conn.execute("INSERT INTO held VALUES (1)")
        conn.execute(MAKES.encode())
        for language, body, harmless in BODIES:
            function = f"CREATE FUNCTION tried() RETURNS void AS $$ {body} $$ LANGUAGE {language} VOLATILE;"
            script = f"CREATE TABLE held (a int);\n{MAKES}\n{function}\nSELECT tried();"
            called = run([Source(script)], Settings(server=server)).statements[-1]
            assert called.cost.complete is harmless, body
            with conn.transaction(force_rollback=True):
                try:
                    conn.execute("SET LOCAL check_function_bodies = off")
                    conn.execute(function.encode())
                    before = conn.execute(
                        "SELECT count(*), count(*) FILTER (WHERE relname = 'made') FROM pg_class"
                    ).fetchone()
                    conn.execute("SELECT tried()")
                    after = conn.execute(
                        "SELECT count(*), count(*) FILTER (WHERE relname = 'made') FROM pg_class"
                    ).fetchone()
                except psycopg.Error:
                    assert not harmless, body
                    continue
            assert (before == after) or not harmless, body
