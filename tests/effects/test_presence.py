"""Blocks that check whether an object exists, or catch the error that it exists: their predicted effect equals that on live servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.effects.live import run
from tests.recorded import FIXTURES

TYPE = "CREATE TYPE mood AS ENUM ('a', 'b')"
NO_TYPE = "NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'mood')"
COLUMNS = (
    "SELECT 1 FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 't'"
)
ATTRIBUTES = (
    "SELECT 1 FROM pg_attribute WHERE attrelid = 't'::regclass AND NOT attisdropped AND attname ="
)
CONSTRAINT = "SELECT 1 FROM pg_constraint WHERE conrelid = 'public.t'::regclass AND conname = "
IN_PUBLIC = "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname"
TABLE = "CREATE TABLE t (a int PRIMARY KEY, b text)"

# some statements run twice: the second time, the object exists
KNOWN = (
    f"BEGIN {TYPE}; EXCEPTION WHEN duplicate_object THEN NULL; END",
    f"BEGIN {TYPE}; EXCEPTION WHEN duplicate_object THEN NULL; END",
    f"BEGIN {TYPE}; EXCEPTION WHEN others THEN RAISE NOTICE 'there: %', SQLERRM; END",
    f"BEGIN IF {NO_TYPE} THEN {TYPE}; END IF; END",
    f"BEGIN IF {NO_TYPE.replace('mood', 'other')} THEN {TYPE.replace('mood', 'other')}; END IF; END",
    f"BEGIN {TABLE}; EXCEPTION WHEN duplicate_table THEN NULL; END",
    f"BEGIN {TABLE}; EXCEPTION WHEN duplicate_table OR duplicate_object THEN NULL; END",
    "BEGIN ALTER TABLE t ADD COLUMN c mood; EXCEPTION WHEN duplicate_column THEN NULL; END",
    "BEGIN ALTER TABLE t ADD COLUMN c mood; EXCEPTION WHEN duplicate_column THEN NULL; END",
    f"BEGIN IF NOT EXISTS ({COLUMNS} AND column_name = 'd') THEN ALTER TABLE t ADD COLUMN d int; END IF; END",
    f"BEGIN IF NOT EXISTS ({COLUMNS} AND column_name = 'd') THEN ALTER TABLE t ADD COLUMN d int; END IF; END",
    f"BEGIN IF EXISTS ({ATTRIBUTES} 'd') AND NOT EXISTS ({ATTRIBUTES} 'e') THEN ALTER TABLE t RENAME COLUMN d TO e; END IF; END",
    f"DECLARE v boolean; BEGIN v := EXISTS ({ATTRIBUTES} 'e'); IF v THEN ALTER TABLE t DROP COLUMN e; END IF; END",
    f"BEGIN IF NOT EXISTS ({CONSTRAINT} 'ck') THEN ALTER TABLE t ADD CONSTRAINT ck CHECK (a > 0); END IF; END",
    f"BEGIN IF NOT EXISTS ({CONSTRAINT} 'ck') THEN ALTER TABLE t ADD CONSTRAINT ck CHECK (a > 0); END IF; END",
    "BEGIN ALTER TABLE t ADD CONSTRAINT ck CHECK (a > 0); EXCEPTION WHEN duplicate_object THEN NULL; END",
    f"BEGIN IF NOT EXISTS (SELECT 1 FROM pg_class c {IN_PUBLIC} = 'ix') THEN CREATE INDEX ix ON t (b); END IF; END",
    f"BEGIN IF NOT EXISTS (SELECT 1 FROM pg_class c {IN_PUBLIC} = 'ix') THEN CREATE INDEX ix ON t (b); END IF; END",
    "BEGIN IF NOT EXISTS (SELECT 1 FROM pg_indexes WHERE indexname = 'ix') THEN CREATE INDEX ix ON t (b); END IF; END",
    "BEGIN IF to_regclass('public.t') IS NULL THEN CREATE TABLE t (a int); END IF; END",
    "BEGIN IF to_regclass('u') IS NULL THEN CREATE TABLE u (a int); END IF; IF to_regclass('t') IS NOT NULL THEN DROP TABLE t; END IF; END",
    "BEGIN CREATE SCHEMA s; EXCEPTION WHEN duplicate_schema THEN NULL; END",
    "BEGIN IF NOT EXISTS (SELECT FROM information_schema.schemata WHERE schema_name = 's') THEN CREATE SCHEMA s; END IF; END",
    "BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'nobody_at_all') THEN COMMENT ON TABLE u IS 'x'; END IF; END",
    "BEGIN BEGIN CREATE SEQUENCE q; EXCEPTION WHEN others THEN NULL; END; CREATE TABLE w (a int); END",
)
# the statement fails for another reason, or it is not known whether the object exists: the effect must be unknown
DOUBTFUL = (
    "BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'int4') THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN CREATE TYPE nowhere.n AS ENUM ('a'); EXCEPTION WHEN others THEN NULL; END",
    "BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type, generate_series(1, 0) WHERE typname = 'mood') THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN IF NOT EXISTS (SELECT 1 FROM tables WHERE table_name = 'n') THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN CREATE TABLE n (a int REFERENCES nowhere); EXCEPTION WHEN others THEN NULL; END",
    "BEGIN CREATE TABLE n (a int); ALTER TABLE nowhere ADD COLUMN a int; EXCEPTION WHEN undefined_table THEN NULL; END",
    "BEGIN CREATE TABLE n (a int PRIMARY KEY); INSERT INTO n VALUES (1), (1); EXCEPTION WHEN unique_violation THEN NULL; END",
    "BEGIN CREATE TABLE n (a int); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END",
    f"BEGIN {TYPE}; BEGIN {TYPE}; EXCEPTION WHEN duplicate_object THEN NULL; END; END",
    "BEGIN CREATE TABLE n (a int); IF to_regclass('n') IS NULL THEN CREATE TABLE m (a int); END IF; END",
    "BEGIN IF NOT EXISTS (SELECT count(*) FROM pg_type WHERE typname = 'nothing') THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN IF NOT EXISTS (SELECT 1 FROM pg_class WHERE relname LIKE 'pg_cl%') THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN IF EXISTS (SELECT 1 FROM pg_type WHERE typname = '_int4') THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN IF EXISTS (SELECT 1 FROM pg_namespace) THEN CREATE TABLE n (a int); END IF; END",
    "BEGIN CREATE TABLE n (a int); EXCEPTION WHEN duplicate_table THEN CREATE TABLE m (a int); END",
    "DECLARE b int; BEGIN IF NOT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'nowhere' LIMIT 0) THEN CREATE TABLE n (a int); END IF; END",
)


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_blocks(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = request.getfixturevalue(fixture)
    file = tmp_path / "known.sql"
    file.write_text("".join(f"DO $$ {body} $$;\n" for body in KNOWN))
    result = run(fresh_database(dsn, "presence"), file)
    assert result.wrong == []
    assert result.unread == []
    assert result.refusals == []
    assert result.unknown == []
    assert result.equal == len(KNOWN)


# objects before a block, and the condition of the block: no prediction may differ from the server
AFTER = (
    ("CREATE VIEW v AS SELECT 1 AS a", "typname = 'v'", "pg_type"),
    ("CREATE TYPE pair AS (a int)", "relname = 'pair'", "pg_class"),
    (
        "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a",
        "table_name = 'm'",
        "information_schema.tables",
    ),
    ("CREATE TABLE p (a int) PARTITION BY LIST (a)", "relname = 'p' AND relkind = 'r'", "pg_class"),
    ("CREATE TABLE p (a int) PARTITION BY LIST (a)", "tablename = 'p'", "pg_tables"),
    ("CREATE SCHEMA IF NOT EXISTS s", "nspname = 's'", "pg_namespace"),
    ("CREATE SCHEMA s; CREATE TABLE s.t (a int)", "table_name = 't'", "information_schema.tables"),
    (
        "CREATE SCHEMA s; CREATE TABLE s.t (a int)",
        "tablename = 't' AND schemaname = 'public'",
        "pg_tables",
    ),
    (
        "CREATE TABLE a (x int); CREATE TABLE b (x int)",
        "relname = 'a' AND relname = 'b'",
        "pg_class",
    ),
    ("CREATE EXTENSION pg_stat_statements", "relname = 'pg_stat_statements'", "pg_class"),
    ("CREATE EXTENSION citext", "typname = 'citext'", "pg_type"),
    ("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY)", "relname = 't_id_seq'", "pg_class"),
    ('CREATE TABLE "T" (a int)', "relname = 't'", "pg_class"),
    (
        "CREATE TABLE t (a int); ALTER TABLE t RENAME TO u; DROP TABLE u",
        "relname = 'u'",
        "pg_class",
    ),
)


UNANSWERED = {
    ("table_name = 'm'", "information_schema.tables"),
    ("relname = 'p' AND relkind = 'r'", "pg_class"),
    ("relname = 'a' AND relname = 'b'", "pg_class"),
    ("relname = 'pg_stat_statements'", "pg_class"),
    ("typname = 'citext'", "pg_type"),
}


@pytest.mark.parametrize(("before", "condition", "place"), AFTER)
@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_what_queries_find(
    before: str,
    condition: str,
    place: str,
    fixture: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    file = tmp_path / "after.sql"
    looks = f"EXISTS (SELECT 1 FROM {place} WHERE {condition})"
    file.write_text(
        f"{before};\nDO $$ BEGIN IF {looks} THEN CREATE TABLE there (a int); ELSE CREATE TABLE missing (a int, b int); END IF; END $$;\n"
        "CREATE SCHEMA other; SET search_path = other;\n"
        "DO $$ BEGIN CREATE TABLE t (a int, b int); EXCEPTION WHEN duplicate_table THEN NULL; END $$;\n"
    )
    result = run(fresh_database(request.getfixturevalue(fixture), "found"), file)
    assert result.wrong == []
    assert result.unread == []
    answered = not any("there (a int)" in text for _, text, _ in result.unknown)
    assert answered is ((condition, place) not in UNANSWERED)


@pytest.mark.parametrize("body", DOUBTFUL)
def test_nothing_is_claimed(body: str, pg_dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "doubtful.sql"
    file.write_text(f"DO $$ {body} $$;\n")
    result = run(fresh_database(pg_dsn, "doubtful"), file)
    assert result.wrong == []
    assert len(result.unknown) + len(result.refusals) == 1
