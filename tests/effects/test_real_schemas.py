"""Statements that occur in schema files of public projects, and were predicted wrongly or needlessly unknown: now equal on live servers."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from tests import program
from tests.check.test_check import check, fired
from tests.conftest import fresh_database
from tests.effects.live import run

EVERYWHERE = """
CREATE SCHEMA b;
CREATE TYPE b.mood AS ENUM ('a');
CREATE DOMAIN b.word AS text CHECK (VALUE <> '');
CREATE TYPE b.pair AS (x int, y text);
DROP SCHEMA b CASCADE;
CREATE SCHEMA b;
CREATE TYPE b.mood AS ENUM ('a');
CREATE DOMAIN b.word AS text;
CREATE TYPE b.pair AS (x int, y text);
CREATE TABLE t (id int, a text);
CREATE INDEX i ON t (a);
DROP INDEX IF EXISTS b.i;
DROP INDEX IF EXISTS t.i;
DROP INDEX IF EXISTS t_a_idx1;
DROP INDEX IF EXISTS tail;
CREATE INDEX j ON t (a);
CREATE TABLE c1 (a int CHECK (b > 0), b int);
CREATE TABLE c2 (a int CHECK (a > 0 AND b IS NULL), b int);
CREATE TABLE c3 (a int, CONSTRAINT c CHECK (a > b), b int);
ALTER TABLE t ADD COLUMN d int CHECK (e > d), ADD COLUMN e int;
CREATE TABLE k (a int NOT NULL, b text);
ALTER TABLE k DROP CONSTRAINT IF EXISTS nothing;
ALTER TABLE k ADD COLUMN c int;
CREATE INDEX ON k (c);
DROP EXTENSION IF EXISTS nothing;
DROP EXTENSION IF EXISTS nothing CASCADE;
DROP SERVER IF EXISTS nothing CASCADE;
DROP FOREIGN DATA WRAPPER IF EXISTS nothing CASCADE;
ALTER TABLE IF EXISTS ONLY public.later DROP CONSTRAINT IF EXISTS later_pkey;
ALTER TABLE IF EXISTS later ALTER COLUMN a DROP DEFAULT;
DROP TABLE IF EXISTS later;
CREATE TABLE public.later (a int NOT NULL);
CREATE TABLE w1 (id int PRIMARY KEY, n text, m text);
ALTER TABLE w1 DROP COLUMN n;
CLUSTER w1 USING w1_pkey;
ALTER TABLE w1 DROP COLUMN m;
ALTER TABLE w1 ADD COLUMN z int;
CLUSTER w1;
ALTER TABLE w1 ADD COLUMN y int;
"""
POSTGRES = """
SELECT;
SELECT WHERE 1 = 1;
CREATE TABLE s (a int CHECK (tableoid > 0));
CREATE EXTENSION cube;
CREATE EXTENSION seg;
CREATE EXTENSION isn;
CREATE TABLE e (a cube, b seg, c isbn13, d ean13);
CREATE TABLE w2 (id int, n text, m text);
ALTER TABLE w2 DROP COLUMN n, DROP COLUMN m;
ALTER TABLE w2 SET LOGGED;
ALTER TABLE w2 ADD COLUMN z int;
ALTER TABLE w2 SET UNLOGGED;
ALTER TABLE w2 ADD COLUMN y int;
CREATE TABLE w3 (id int, n varchar(2000) NOT NULL, m text);
ALTER TABLE w3 DROP COLUMN m;
ALTER TABLE w3 ALTER COLUMN n DROP NOT NULL, ALTER COLUMN n TYPE text;
ALTER TABLE w3 ALTER COLUMN n TYPE varchar(5), ALTER COLUMN id TYPE bigint;
ALTER TABLE w3 ADD COLUMN z int;
"""
# since PostgreSQL 18, these constraints have rows
NAMED = """
CREATE TABLE t (a int NOT NULL, b int);
ALTER TABLE t ADD CONSTRAINT nn NOT NULL b;
ALTER TABLE t DROP CONSTRAINT IF EXISTS nn;
CREATE TABLE u (a int CONSTRAINT x NOT NULL, b int);
ALTER TABLE u DROP CONSTRAINT IF EXISTS x;
CREATE TABLE l (LIKE u INCLUDING ALL);
CREATE TABLE v (a int NOT NULL);
ALTER TABLE v RENAME TO w;
ALTER TABLE w DROP CONSTRAINT IF EXISTS v_a_not_null;
CREATE TABLE p (a int CONSTRAINT zz NOT NULL) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (2);
ALTER TABLE p1 DROP CONSTRAINT IF EXISTS zz;
"""


@pytest.mark.parametrize("server", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_they_are_equal(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    file = tmp_path / "s.sql"
    file.write_text(EVERYWHERE + ("" if server.startswith("gp") else POSTGRES))
    result = run(request.getfixturevalue(server), file)
    assert (result.wrong, result.unknown) == ([], [])


@pytest.mark.parametrize("server", ["pgnew_dsn", "pg19_dsn"])
def test_names_of_not_null_constraints(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "s.sql"
    file.write_text(NAMED)
    assert run(request.getfixturevalue(server), file).wrong == []


def test_a_query_without_targets_is_no_internal_error() -> None:
    assert not {
        f.finding.rule for f in check("SELECT; SELECT WHERE true;", server="postgres18").findings
    }


FUNCTION = "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN {body} END $$;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("LOOP CREATE TEMP TABLE x (a int); END LOOP;", True),
        ("FOR r IN 1..2 LOOP LOOP EXIT; END LOOP; CREATE TEMP TABLE x (a int); END LOOP;", True),
        ("LOOP EXECUTE 'CREATE TEMPORARY TABLE x (a int)'; END LOOP;", True),
        ("LOOP EXIT; END LOOP; CREATE TEMP TABLE x (a int);", False),
        ("CREATE TEMP TABLE x (a int); LOOP INSERT INTO x VALUES (1); END LOOP;", False),
        ("LOOP /* not CREATE TEMP TABLE */ EXIT; -- CREATE TEMP TABLE\n END LOOP;", False),
    ],
)
def test_temporary_tables_in_loops(body: str, expected: bool) -> None:
    assert (
        "temp-table-in-loop" in fired(FUNCTION.format(body=body), server="postgres18")
    ) is expected


def test_names_in_a_baseline_are_not_known(pgnew_dsn: str, tmp_path: Path) -> None:
    """DROP CONSTRAINT IF EXISTS can mean a NOT NULL constraint of a table that existed before."""
    dsn = fresh_database(pgnew_dsn, "named_not_null")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t (a int CONSTRAINT nn NOT NULL)")
    with connect(dsn) as session:
        baseline = collect(session, tmp_path / "s.gpcatalog")
    file = tmp_path / "change.sql"
    file.write_text("ALTER TABLE t DROP CONSTRAINT IF EXISTS nn;")
    result = program.run(
        "check", str(file), "--baseline", str(baseline), "--format", "json", "--fail-on", "never"
    )
    assert json.loads(result.stdout)["statements"][0]["unknown"] == ["unknown constraint nn"]
