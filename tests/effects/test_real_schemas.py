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
CREATE TABLE m2 (d date NOT NULL, p int) PARTITION BY RANGE ((p + 1), (p + 2));
CREATE TABLE m6 (d date NOT NULL, p int, q int) PARTITION BY RANGE ((p + q));
CREATE TABLE m7 (p int, q int, r int) PARTITION BY RANGE ((p + q), (q + r), p);
CREATE TABLE m9 (p int, q int) PARTITION BY RANGE (p);
CREATE TABLE m9a PARTITION OF m9 FOR VALUES FROM (1) TO (9) PARTITION BY RANGE ((q + p), (q + 1));
CREATE FOREIGN DATA WRAPPER w;
CREATE SERVER s2 FOREIGN DATA WRAPPER w;
CREATE FOREIGN TABLE f (a bigint NOT NULL) SERVER s2;
ALTER TABLE f ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY;
ALTER FOREIGN TABLE f ALTER COLUMN a DROP IDENTITY;
"""
UNSEEN = """
CREATE TABLE p (id int PRIMARY KEY, a int, b int);
CREATE UNIQUE INDEX p_a ON p (a);
CREATE UNIQUE INDEX p_b ON p (b);
CREATE TABLE c (id int, a int, b int, CONSTRAINT fa FOREIGN KEY (a) REFERENCES p (a), CONSTRAINT fb FOREIGN KEY (b) REFERENCES p (b));
DROP INDEX p_a CASCADE;
ALTER TABLE c ADD CONSTRAINT fa2 FOREIGN KEY (b) REFERENCES p (id);
DROP INDEX p_b CASCADE;
CREATE UNIQUE INDEX p_b2 ON p (b);
ALTER TABLE c ADD CONSTRAINT fb FOREIGN KEY (b) REFERENCES p (b);
CREATE SCHEMA ns;
CREATE OR REPLACE VIEW ns.v AS SELECT a FROM p;
CREATE OR REPLACE VIEW ns.v AS SELECT a, b FROM p;
CREATE TABLE ts (id text, t text, c int);
CREATE DOMAIN dd AS int;
ALTER TABLE ts DROP COLUMN t;
ALTER TABLE ts ALTER COLUMN c TYPE dd;
ALTER TABLE ts ADD COLUMN z int;
CREATE FUNCTION on_class(_tbl regclass) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('CREATE INDEX on_class_i ON %s (id)', _tbl); END $$;
SELECT on_class('ts');
DO $$ DECLARE v int; BEGIN
  SELECT current_setting('server_version_num')::integer INTO v;
  IF v >= 110000 THEN CREATE TABLE new_release (a int); ELSE CREATE TABLE old_release (a int, b text); END IF;
  IF current_setting('server_version_num')::int / 10000 < 9 THEN CREATE TABLE very_old (a int); END IF;
END $$;
CREATE FUNCTION f_ddl(i int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE s text; BEGIN SELECT 'SELECT 1' INTO s FROM pg_class LIMIT 1; EXECUTE s; RETURN 1; END $$;
CREATE VIEW vt AS SELECT a, f_ddl(a) AS x FROM p;
DROP VIEW vt;
CREATE TABLE vt (a int);
INSERT INTO vt VALUES (1);
UPDATE vt SET a = 2;
CREATE TABLE sw (id int PRIMARY KEY, n text);
CREATE INDEX ON sw (n);
ALTER TABLE sw RENAME TO sw_old;
CREATE TABLE sw (id int PRIMARY KEY, n text);
CREATE INDEX ON sw (n);
DROP INDEX sw_n_idx1;
ALTER TABLE sw_old DROP CONSTRAINT sw_pkey;
DROP TABLE sw_old;
ALTER TABLE sw DROP CONSTRAINT sw_pkey1;
CREATE TABLE x_pkey (i int);
CREATE TABLE x (i int PRIMARY KEY);
DROP TABLE x_pkey;
DROP INDEX IF EXISTS x_pkey;
ALTER TABLE x DROP CONSTRAINT x_pkey1;
CREATE TABLE a_b (c int);
CREATE TABLE a (b_c int, c int);
CREATE INDEX ON a_b (c);
CREATE INDEX ON a (b_c);
DROP INDEX a_b_c_idx;
DROP INDEX a_b_c_idx1;
CREATE TABLE ft (n int, CONSTRAINT ft_u UNIQUE (n));
CREATE TABLE fc (n int, CONSTRAINT fc_f FOREIGN KEY (n) REFERENCES ft (n));
ALTER TABLE ft RENAME COLUMN n TO m;
ALTER TABLE ft DROP CONSTRAINT ft_u CASCADE;
ALTER TABLE fc ADD CONSTRAINT fc_f CHECK (n > 0);
CREATE TABLE sd1 (id serial, n text);
CREATE TABLE sd2 (id int DEFAULT nextval('sd1_id_seq'), n text);
ALTER TABLE sd1 DROP COLUMN id CASCADE;
CREATE TABLE sa1 (id serial, n text);
CREATE TABLE sb1 (LIKE sa1 INCLUDING DEFAULTS);
CREATE TABLE sb2 (id int DEFAULT nextval('sa1_id_seq'), n text);
DROP TABLE sa1 CASCADE;
ALTER TABLE sb1 ADD COLUMN z int;
ALTER TABLE sb2 ALTER COLUMN id DROP DEFAULT;
CREATE TABLE dt (a int, b int);
DO $$ BEGIN
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'dt' AND column_name = 'a') THEN
    CREATE INDEX dt_1 ON dt (a);
  END IF;
  IF NOT EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'dt' AND column_name = 'c') THEN
    ALTER TABLE dt ADD COLUMN c int;
  END IF;
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'dt' AND column_name = 'b') THEN
    CREATE INDEX dt_2 ON dt (b);
  END IF;
END $$;
DO $$ BEGIN EXECUTE format('GRANT SELECT ON dt TO %I', current_user); END $$;
DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET timezone TO ''UTC'''; END $$;
CREATE VIEW vd AS SELECT a FROM p;
DROP VIEW vd;
CREATE OR REPLACE VIEW vd AS SELECT a, b FROM p;
DROP VIEW IF EXISTS vn;
CREATE OR REPLACE VIEW vn AS SELECT a FROM p;
DROP SCHEMA ns CASCADE;
CREATE SCHEMA IF NOT EXISTS os;
DROP SCHEMA os;
CREATE TABLE sp (x int);
CREATE INDEX sp_i ON sp (x);
CREATE VIEW sp_v AS SELECT x FROM sp;
CREATE SCHEMA sa;
SET search_path = sa;
DROP TABLE IF EXISTS sp;
DROP INDEX IF EXISTS sp_i;
DROP VIEW IF EXISTS sp_v;
CREATE TABLE sp (x int, y text);
ALTER TABLE sp ADD COLUMN z int;
SET search_path = pg_temp;
CREATE TABLE tt (x int);
DROP TABLE tt;
SET search_path = pg_catalog;
DROP TABLE IF EXISTS sp;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.st (x int);
CREATE INDEX st_i ON public.st (x);
CREATE SEQUENCE public.st_s;
DROP INDEX IF EXISTS st_i;
DROP SEQUENCE IF EXISTS st_s;
DROP TABLE IF EXISTS st CASCADE;
ALTER TABLE public.st ADD COLUMN y text;
RESET search_path;
DROP INDEX st_i;
DROP TABLE st;
"""
# since PostgreSQL 18, these constraints have rows
FACTS = """
CREATE DOMAIN never AS int NOT NULL;
CREATE TABLE p (id int, n varchar(9) NOT NULL, m text, w numeric(9, 2), b never, CONSTRAINT p_c CHECK (id > 0));
CREATE TABLE u (id int PRIMARY KEY, n text);
CREATE TABLE r (id int, CONSTRAINT r_f FOREIGN KEY (id) REFERENCES u (id));
DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'n' AND is_nullable = 'NO') THEN
    CREATE TABLE f1 (a int);
  END IF;
  IF EXISTS (SELECT 1 FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'm' AND is_nullable = 'NO') THEN
    CREATE TABLE f2 (a int, b text);
  END IF;
  IF EXISTS (SELECT true FROM information_schema.columns WHERE table_name = 'u' AND column_name = 'id' AND is_nullable IN ('NO')) THEN
    CREATE TABLE f3 (a int);
  END IF;
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'n' AND data_type = 'character varying') THEN
    CREATE TABLE f4 (a int);
  END IF;
  IF NOT EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'w' AND data_type = 'numeric') THEN
    CREATE TABLE f5 (a int, b text);
  END IF;
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'm' AND (data_type = 'integer' OR udt_name = 'text')) THEN
    CREATE TABLE f6 (a int);
  END IF;
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'm' AND data_type IN ('integer', 'bigint')) THEN
    CREATE TABLE f7 (a int, b text);
  END IF;
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name IN ('zz', 'm') AND table_catalog = current_database()) THEN
    CREATE TABLE f8 (a int);
  END IF;
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'p'::regclass AND attname = 'n' AND attnotnull AND NOT attisdropped) THEN
    CREATE TABLE f9 (a int);
  END IF;
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'p'::regclass AND attname = 'n' AND NOT attnotnull) THEN
    CREATE TABLE f10 (a int, b text);
  END IF;
END $$;
DO $$ BEGIN
  IF NOT EXISTS (SELECT constraint_name FROM information_schema.table_constraints WHERE table_name = 'p' AND constraint_type = 'PRIMARY KEY') THEN
    CREATE TABLE k1 (a int);
  END IF;
  IF NOT EXISTS (SELECT FROM information_schema.table_constraints WHERE table_name = 'u' AND constraint_type = 'PRIMARY KEY' AND table_catalog = (SELECT current_database())) THEN
    CREATE TABLE k2 (a int, b text);
  END IF;
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'u'::regclass AND contype = 'p') THEN
    CREATE TABLE k3 (a int);
  END IF;
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'r'::regclass AND contype = 'f') THEN
    CREATE TABLE k4 (a int);
  END IF;
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'r'::regclass AND contype = 'u') THEN
    CREATE TABLE k5 (a int, b text);
  END IF;
  IF EXISTS (SELECT FROM information_schema.table_constraints WHERE constraint_name = 'p_c' AND constraint_type = 'CHECK') THEN
    CREATE TABLE k6 (a int);
  END IF;
END $$;
ALTER TABLE p ALTER COLUMN n DROP NOT NULL, ALTER COLUMN m TYPE varchar(9);
DO $$ BEGIN
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'n' AND is_nullable = 'YES') THEN
    CREATE TABLE n1 (a int);
  END IF;
  IF EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'p' AND column_name = 'm' AND data_type = 'text') THEN
    CREATE TABLE n2 (a int, b text);
  END IF;
END $$;
"""

# names of partitions that become too long with the new name of their table
RENAMED = {
    "gp6_dsn": """
CREATE TABLE c (a int, b int) DISTRIBUTED BY (a) PARTITION BY LIST (a) (PARTITION a12345678901234567890123456789 VALUES (1), PARTITION b VALUES (2));
ALTER TABLE c RENAME TO c_renamed_to_a_long_name_12;
CREATE TABLE IF NOT EXISTS c_renamed_to_a_long_name_12_1_prt_a1234567890123456789012345678 (a int);
CREATE TABLE c_1_prt_b (a int);
DROP TABLE c_1_prt_b;
ALTER TABLE c_renamed_to_a_long_name_12 RENAME TO c;
CREATE TABLE IF NOT EXISTS c_1_prt_a1234567890123456789012345678 (a int);
CREATE TABLE c_renamed_to_a_long_name_12_1_prt_b (a int);
DROP TABLE c_renamed_to_a_long_name_12_1_prt_b;
DROP TABLE c;
""",
    "gp7_dsn": """
CREATE TABLE c (a int, b int) PARTITION BY LIST (a);
CREATE TABLE c_exact_38_xxxxxxxxxxxxxxxxxxxxxxxxxxx PARTITION OF c FOR VALUES IN (2);
CREATE TABLE c_exact_39_xxxxxxxxxxxxxxxxxxxxxxxxxxxx PARTITION OF c FOR VALUES IN (3) PARTITION BY LIST (b);
CREATE TABLE c_short PARTITION OF c_exact_39_xxxxxxxxxxxxxxxxxxxxxxxxxxxx FOR VALUES IN (3);
CREATE TABLE "c_\u00e9_38_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" PARTITION OF c FOR VALUES IN (5);
ALTER TABLE c RENAME TO c_renamed_to_a_long_name_1;
CREATE INDEX ON c_exact_39_xxxxxxxxxxxxxxxxxxxxxxxxxxxx (a);
DROP TABLE c_renamed_to_a_long_name_1_exact_38_xxxxxxxxxxxxxxxxxxxxxxxxxxx;
DROP TABLE c_renamed_to_a_long_name_1_short;
DROP TABLE "c_\u00e9_38_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
DROP TABLE c_exact_39_xxxxxxxxxxxxxxxxxxxxxxxxxxxx;
DROP TABLE c_renamed_to_a_long_name_1;
""",
}

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
    for text in (EVERYWHERE + ("" if server.startswith("gp") else POSTGRES), UNSEEN, FACTS):
        file = tmp_path / "s.sql"
        file.write_text(text)
        result = run(request.getfixturevalue(server), file)
        assert (result.wrong, result.unknown) == ([], [])


@pytest.mark.parametrize("server", list(RENAMED))
def test_names_of_partitions_after_a_rename(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "s.sql"
    file.write_text(RENAMED[server])
    result = run(request.getfixturevalue(server), file)
    assert (result.wrong, result.unknown) == ([], [])


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("ALTER TABLE IF EXISTS t ADD a int; CREATE TABLE t (a int);", True),
        ("ALTER TABLE IF EXISTS public.t ADD a int; CREATE TABLE t (a int);", True),
        ("ALTER TABLE IF EXISTS t ADD a int; CREATE TABLE IF NOT EXISTS t (a int);", False),
        ("ALTER TABLE IF EXISTS s.t ADD a int; CREATE TABLE t (a int);", False),
        ("ALTER TABLE IF EXISTS t ADD a int; -- CREATE TABLE t (a int);", False),
        (
            "ALTER TABLE IF EXISTS t ADD a int; SELECT set_config('search_path', 's', false);"
            " CREATE TABLE t (a int);",
            False,
        ),
    ],
)
def test_a_table_that_is_created_later_does_not_exist(text: str, known: bool) -> None:
    assert ("cost-unknown" not in fired(text, server="postgres18")) is known


@pytest.mark.parametrize(
    "condition",
    [
        "current_setting('server_version_num')::int = 180003",
        "current_setting('server_version_num')::int >= 180003",
        "current_setting('server_version_num')::int <= 180000",
        "current_setting('server_version_num')::int / 1000 > 179",
        "current_setting('server_version_num') > '17'",
        "current_setting('server_version') = '18.1'",
        "'x' || current_setting('server_version_num') = 'x180000'",
        "current_user = 'gpcatalog_role'",
        "current_user <> session_user",
        "current_database() = 'sales'",
    ],
)
def test_servers_and_roles_are_unknown(condition: str) -> None:
    text = f"DO $$ BEGIN IF {condition} THEN CREATE TABLE t (a int); END IF; END $$;"
    assert "cost-unknown" in fired(text, server="postgres18")


@pytest.mark.parametrize(
    "condition",
    [
        "FROM information_schema.columns WHERE table_name = 't' AND column_name = 'd' AND is_nullable = 'NO'",
        "FROM information_schema.columns WHERE table_name = 't' AND column_name = 'd' AND data_type = 'integer'",
        "FROM information_schema.columns WHERE table_name = 't' AND column_name = 'a' AND ordinal_position = 1",
        "FROM information_schema.columns WHERE table_name = 't' AND column_name = 'a' AND table_catalog = 'sales'",
        "FROM information_schema.columns WHERE table_name = 't' AND column_name = 'a' AND table_catalog = current_user",
        "FROM information_schema.columns WHERE table_name = 'x' AND (column_name = 'a' OR is_nullable = 'NO')",
        "FROM information_schema.table_constraints WHERE table_name = 't' AND constraint_type = 'CHECK'",
        "FROM information_schema.table_constraints WHERE constraint_name = 't_c' AND constraint_type = 'UNIQUE'",
        "FROM pg_constraint WHERE contype = 'p'",
    ],
)
def test_facts_that_are_unknown(condition: str) -> None:
    text = (
        "CREATE DOMAIN never AS int NOT NULL; CREATE TABLE t (a int, d never, CONSTRAINT t_c CHECK (a > 0));"
        f" DO $$ BEGIN IF EXISTS (SELECT {condition}) THEN CREATE TABLE x (a int); END IF; END $$;"
    )
    assert "cost-unknown" in fired(text, server="postgres18")


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
