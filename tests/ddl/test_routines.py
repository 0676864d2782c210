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


NOT_SEEN = "CREATE FUNCTION fires() RETURNS trigger AS $$ BEGIN CREATE TABLE made (a int); RETURN NEW; END $$ LANGUAGE plpgsql;"
EVENT = "CREATE FUNCTION event() RETURNS event_trigger AS $$ BEGIN CREATE TABLE made (a int); END $$ LANGUAGE plpgsql;"
# statements before, the one that runs the code without a word of it in its own text
HIDDEN = {
    "insert": ((), "INSERT INTO held SELECT 1 FROM makes()"),
    "update": (("INSERT INTO held VALUES (1)",), "UPDATE held SET a = (SELECT 1 FROM makes())"),
    "values": ((), "VALUES (makes())"),
    "table": ((), "CREATE TABLE copy AS SELECT 1 AS a FROM makes()"),
    "prepared": (("PREPARE p AS SELECT makes()",), "EXECUTE p"),
    "trigger": (
        (NOT_SEEN, "CREATE TRIGGER t BEFORE INSERT ON held FOR EACH ROW EXECUTE PROCEDURE fires()"),
        "INSERT INTO held VALUES (2)",
    ),
    "event trigger": (
        (
            EVENT,
            "CREATE EVENT TRIGGER e ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE PROCEDURE event()",
        ),
        "CREATE VIEW seen AS SELECT 1 AS a",
    ),
}
SEEN_AGAIN = {
    "disabled": (
        (*HIDDEN["event trigger"][0], "ALTER EVENT TRIGGER e DISABLE"),
        "CREATE VIEW seen AS SELECT 1 AS a",
    ),
    "dropped": (
        (*HIDDEN["event trigger"][0], "DROP EVENT TRIGGER e"),
        "CREATE VIEW seen AS SELECT 1 AS a",
    ),
    "other table": (
        (*HIDDEN["trigger"][0], "CREATE TABLE free (a int)"),
        "INSERT INTO free VALUES (2)",
    ),
}


@pytest.mark.parametrize("name", [*HIDDEN, *SEEN_AGAIN])
def test_code_that_a_statement_does_not_name(name: str, pg_dsn: str) -> None:
    before, last = HIDDEN.get(name) or SEEN_AGAIN[name]
    script = [
        "CREATE TABLE held (a int)",
        MAKES.rstrip(";"),
        *(s.rstrip(";") for s in before),
        last,
    ]
    found = run([Source(";\n".join(script) + ";")], Settings(server="pg15")).statements
    assert found[-1].cost.complete is (name in SEEN_AGAIN), found[-1]
    with psycopg.connect(fresh_database(pg_dsn, "hidden"), autocommit=True) as conn:
        for statement in script:
            conn.execute(statement.encode())
        made = conn.execute("SELECT to_regclass('made') IS NOT NULL").fetchone()
    assert made == (name in HIDDEN,)


def test_a_schema_is_created_in_the_servers_order(pg_dsn: str) -> None:
    text = "CREATE SCHEMA s CREATE INDEX i ON t (a) CREATE VIEW v AS SELECT a FROM t CREATE TABLE t (a serial, b int UNIQUE);"
    found = run([Source(text + "DROP SCHEMA s CASCADE;")], Settings(server="pg15")).statements
    with psycopg.connect(fresh_database(pg_dsn, "ordered"), autocommit=True) as conn:
        conn.execute(text.encode())
        rows = conn.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 's'::regnamespace")
        (counted,) = rows.fetchone() or (0,)
    for one, sign in zip(found, (1, -1), strict=True):
        assert one.cost.complete, one
        assert one.cost.rows_coordinator["pg_class"] == sign * counted
