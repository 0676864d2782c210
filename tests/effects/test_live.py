"""Statements that change the effect of later ones, on live servers: every complete prediction equals the effect on the server."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.effects.live import run

BOTH_GREENPLUMS = """
CREATE TABLE days (id int, d date, v text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)
  PARTITION BY RANGE (d) (START (date '2020-01-01') END (date '2020-01-04') EVERY (interval '1 day'), DEFAULT PARTITION rest);
CREATE TABLE stage (LIKE days INCLUDING ALL) DISTRIBUTED BY (id);
ALTER TABLE days EXCHANGE PARTITION FOR (date '2020-01-02') WITH TABLE stage;
ALTER TABLE stage ADD COLUMN more int;
DROP TABLE stage;
ALTER TABLE days DROP COLUMN v;
ALTER TABLE days ADD COLUMN w int;
ALTER TABLE days SPLIT DEFAULT PARTITION START (date '2020-02-01') END (date '2020-02-09') INTO (PARTITION feb, DEFAULT PARTITION);
ALTER TABLE days SPLIT PARTITION FOR (date '2020-02-01') AT (date '2020-02-05') INTO (PARTITION a, PARTITION b);
DROP TABLE days;
CREATE TABLE heaps (id int, d date, v text) DISTRIBUTED BY (id)
  PARTITION BY RANGE (d) (START (date '2020-01-01') END (date '2020-01-03') EVERY (interval '1 day'));
ALTER TABLE heaps DROP COLUMN v;
ALTER TABLE heaps ADD PARTITION late START (date '2020-02-01') END (date '2020-02-02');
CREATE INDEX heaps_bitmap ON heaps USING bitmap (id);
ALTER TABLE heaps ADD PARTITION later START (date '2020-03-01') END (date '2020-03-02');
ALTER TABLE heaps DROP PARTITION later;
DROP TABLE heaps;
CREATE EXTERNAL TABLE outside (LIKE sizes) LOCATION ('file://nowhere/x') FORMAT 'TEXT';
DROP EXTERNAL TABLE outside;
"""
SIX = """
SET gp_default_storage_options = 'appendonly=true,orientation=column';
CREATE TABLE asked (a int, b text) DISTRIBUTED BY (a);
CREATE TABLE told (a int, b text) WITH (appendonly=false) DISTRIBUTED BY (a);
CREATE TABLE parts (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (START (1) END (4) EVERY (1));
ALTER TABLE parts ADD PARTITION late START (10) END (20);
SELECT a INTO made FROM asked;
RESET gp_default_storage_options;
CREATE TABLE usual (a int, b text) DISTRIBUTED BY (a);
BEGIN;
SET LOCAL gp_default_storage_options = 'appendonly=true';
CREATE TABLE inside (a int) DISTRIBUTED BY (a);
COMMIT;
CREATE TABLE behind (a int) DISTRIBUTED BY (a);
CREATE TABLE copied (LIKE asked INCLUDING STORAGE) DISTRIBUTED BY (a);
CREATE TABLE numbered (a int, b text) WITH OIDS DISTRIBUTED BY (a);
CREATE TABLE numbered_too (a int) WITH (oids=true) DISTRIBUTED BY (a);
DROP TABLE numbered, numbered_too;
CREATE TABLE encoded (i int, j int, k int) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (i)
  PARTITION BY RANGE (j) SUBPARTITION BY LIST (k) SUBPARTITION TEMPLATE (SUBPARTITION x VALUES (1, 2), COLUMN i ENCODING (compresstype=zlib))
  (PARTITION p START (1) END (10));
ALTER TABLE encoded ADD PARTITION q START (10) END (20);
DROP TABLE encoded;
"""


def _storage_changes() -> str:
    """Changes between the three storages of Greenplum 7 in every order, with and without a TOAST relation, an index, a dropped column."""
    text = []
    shapes = itertools.product(
        ("i int, t text", "i int", "i int, t text, gone text"),
        itertools.permutations(("heap", "ao_row", "ao_column")),
    )
    for n, (columns, order) in enumerate(shapes):
        text.append(f"CREATE TABLE am{n} ({columns}) USING {order[0]} DISTRIBUTED BY (i);")
        text += [f"ALTER TABLE am{n} DROP COLUMN gone, DROP COLUMN t;"] if "gone" in columns else []
        text += [f"CREATE INDEX ON am{n} (i);"] if n % 2 else []
        text += [
            f"ALTER TABLE am{n} SET ACCESS METHOD {method};" for method in (*order[1:], order[0])
        ]
        later = ("ADD COLUMN x text", "OWNER TO CURRENT_USER", f"RENAME TO am{n}x")[n % 3]
        text += [f"ALTER TABLE am{n} {later};", f"DROP TABLE am{n}{'x' if n % 3 == 2 else ''};"]
    return "\n".join(text) + "\n"


ZONES_AND_OIDS = """
SET timezone = 'Europe/Berlin';
CREATE TABLE spring (id int, k timestamptz) DISTRIBUTED BY (id) PARTITION BY RANGE (k)
  (START ('2020-03-29 00:00') END ('2020-03-29 06:00') EVERY (INTERVAL '1 hour'));
SET TIME ZONE 'UTC';
CREATE TABLE even (id int, k timestamptz) DISTRIBUTED BY (id) PARTITION BY RANGE (k)
  (START ('2020-03-29 00:00') END ('2020-03-29 06:00') EVERY (INTERVAL '1 hour'));
"""
OIDS = """
SET default_with_oids = on;
CREATE TABLE numbered_rows (a int, b int) DISTRIBUTED BY (a);
CREATE TABLE plain_rows (a int, b int) WITHOUT OIDS DISTRIBUTED BY (a);
CREATE TABLE numbered_query AS SELECT 1 AS a DISTRIBUTED BY (a);
CREATE TABLE numbered_columns (a int, b text) WITH (appendonly=true) DISTRIBUTED BY (a);
RESET default_with_oids;
CREATE TABLE usual_rows (a int, b int) DISTRIBUTED BY (a);
ALTER TABLE numbered_rows SET WITHOUT OIDS;
"""
SEVEN = """
CREATE UNLOGGED TABLE quick (a int) DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (1) END (4) EVERY (2));
CREATE TABLE permanent (a int) DISTRIBUTED BY (a);
ALTER TABLE quick EXCHANGE PARTITION FOR (3) WITH TABLE permanent;
DROP TABLE permanent;
DROP TABLE quick;
SET default_table_access_method = ao_column;
CREATE TABLE asked (a int, b text) DISTRIBUTED BY (a);
CREATE TABLE told (a int, b text) USING heap DISTRIBUTED BY (a);
CREATE TABLE parts (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (START (1) END (4) EVERY (1));
ALTER TABLE parts ADD PARTITION late START (10) END (20);
RESET default_table_access_method;
CREATE TABLE usual (a int, b text) DISTRIBUTED BY (a);
CREATE TABLE copied (LIKE asked INCLUDING ALL) DISTRIBUTED BY (a);
"""
MODERN = """
CREATE TABLE p (a int, b text, c int) PARTITION BY RANGE (a);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (1) TO (2);
DROP TABLE p_1;
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (1) TO (2);
CREATE TABLE p_2 PARTITION OF p (a PRIMARY KEY) FOR VALUES FROM (2) TO (3);
CREATE INDEX p_1_own ON p_1 (b);
CREATE INDEX p_only ON ONLY p (b);
CREATE INDEX p_all ON p (b);
CREATE TABLE p_3 PARTITION OF p FOR VALUES FROM (3) TO (4) PARTITION BY LIST (c);
CREATE TABLE p_3_a PARTITION OF p_3 FOR VALUES IN (1);
DROP INDEX p_all;
ALTER TABLE p DROP COLUMN b;
DROP TABLE p;
CREATE TABLE q (a int) PARTITION BY RANGE (a);
CREATE TABLE q_1 (LIKE q);
CREATE INDEX ON q_1 (a);
CREATE INDEX ON q (a);
ALTER TABLE q ATTACH PARTITION q_1 FOR VALUES FROM (1) TO (2);
ALTER TABLE q DETACH PARTITION q_1;
DROP INDEX q_1_a_idx;
DROP TABLE q, q_1;
CREATE TABLE made (a int, b int GENERATED ALWAYS AS (a + 1) STORED, c int);
CREATE INDEX made_b ON made (b);
ALTER TABLE made DROP COLUMN a CASCADE;
DROP TABLE made;
CREATE TABLE referred (a int PRIMARY KEY);
CREATE TABLE refers (a int REFERENCES referred, b int) PARTITION BY RANGE (a);
CREATE TABLE refers_1 PARTITION OF refers FOR VALUES FROM (1) TO (10);
ALTER TABLE refers DETACH PARTITION refers_1;
ALTER TABLE refers ATTACH PARTITION refers_1 FOR VALUES FROM (1) TO (10);
DROP TABLE refers, refers_1;
DROP TABLE referred;
CREATE TABLE tree (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (a);
CREATE TABLE tree_1_1 PARTITION OF tree_1 FOR VALUES FROM (0) TO (5);
CREATE INDEX ON ONLY tree_1 (a);
CREATE INDEX ON tree (a);
DROP TABLE tree;
CREATE TABLE multi (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE multi_1 PARTITION OF multi FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (a);
CREATE TABLE multi_1_1 PARTITION OF multi_1 FOR VALUES FROM (0) TO (5);
ALTER TABLE multi DETACH PARTITION multi_1;
ALTER TABLE multi ATTACH PARTITION multi_1 FOR VALUES FROM (0) TO (10);
ALTER TABLE multi DROP CONSTRAINT multi_pkey;
CREATE INDEX multi_1_own ON multi_1 (a);
CREATE INDEX multi_a ON multi (a);
DROP INDEX multi_a;
DROP TABLE multi;
CREATE TABLE later (a int, b int) PARTITION BY RANGE (a);
CREATE INDEX ON later (a);
CREATE TABLE later_1 (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE later_1_1 PARTITION OF later_1 FOR VALUES FROM (0) TO (5);
CREATE INDEX ON ONLY later_1 (a);
ALTER TABLE later ATTACH PARTITION later_1 FOR VALUES FROM (0) TO (10);
DROP TABLE later;
"""
ALONE = """
CREATE TABLE ranges (a int4range, b int4range, EXCLUDE USING gist (a WITH &&, b WITH =) WHERE (a IS NOT NULL));
DROP TABLE ranges;
"""
EVERYWHERE = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN short AS varchar(10);
CREATE DOMAIN whole AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b text);
ALTER TYPE pair ADD ATTRIBUTE c int;
CREATE TABLE sizes (i int, m mood, w whole);
CREATE TABLE texts (i int, m mood, s short);
CREATE TABLE pairs (i int, p pair);
DROP TABLE pairs;
DROP TYPE pair;
BEGIN;
CREATE TABLE gone (a int, b text);
SAVEPOINT here;
ALTER TABLE texts ADD COLUMN n numeric;
ROLLBACK TO here;
ALTER TABLE gone DROP COLUMN b;
ROLLBACK;
CREATE TABLE gone (a int);
DROP TABLE gone;
BEGIN;
CREATE TEMP TABLE short_lived (a int, b text) ON COMMIT DROP;
COMMIT;
CREATE VIEW seen AS SELECT m, w, 1 AS one FROM sizes;
CREATE OR REPLACE VIEW seen AS SELECT m, w, 1 AS one, 2 AS two FROM sizes;
DROP VIEW seen;
CREATE TABLE parent (a int, b text, CHECK (a > 0));
CREATE TABLE child (c int) INHERITS (parent);
ALTER TABLE parent ADD COLUMN d int;
ALTER TABLE parent ADD CONSTRAINT positive CHECK (d > 0);
ALTER TABLE child ADD COLUMN e int;
ALTER TABLE parent ADD COLUMN e int;
ALTER TABLE parent DROP COLUMN e;
ALTER TABLE parent DROP COLUMN d;
DROP TABLE parent CASCADE;
CREATE SCHEMA there;
SET search_path TO there, public;
CREATE TABLE inside (a int, b text);
CREATE VIEW of_inside AS SELECT a FROM inside;
CREATE SEQUENCE counter;
CREATE TEMP VIEW not_inside AS SELECT 1 AS a;
SET search_path TO public;
CREATE TABLE inside (a int);
ALTER TABLE inside ADD COLUMN b int;
DROP SCHEMA there CASCADE;
DROP TABLE inside;
DROP VIEW not_inside;
DROP SCHEMA IF EXISTS there CASCADE;
RESET search_path;
CREATE SEQUENCE counter;
ALTER TABLE counter RENAME TO counted;
DROP SEQUENCE counted;
CREATE UNLOGGED TABLE fast (id int PRIMARY KEY, t text);
CREATE INDEX fast_t ON fast (t);
DROP TABLE fast;
CREATE TABLE one (a int, b int, c text);
CREATE TABLE two (b int, c text, d int);
CREATE VIEW merged AS SELECT * FROM one NATURAL LEFT JOIN two;
CREATE VIEW merged_by AS SELECT * FROM (one FULL JOIN two USING (b, c)) j;
CREATE TABLE from_merged AS SELECT * FROM one JOIN two USING (b, c) LIMIT 0;
DROP TABLE one CASCADE;
DROP TABLE two;
CREATE SCHEMA filled CREATE TABLE inside (a int, b text) CREATE VIEW of_it AS SELECT a FROM inside;
ALTER SCHEMA filled RENAME TO emptied;
DROP SCHEMA emptied CASCADE;
CREATE SCHEMA typed;
CREATE TYPE moving AS (a int, b int);
ALTER TYPE moving SET SCHEMA typed;
DROP SCHEMA typed CASCADE;
CREATE TABLE stored (a text, b int);
ALTER TABLE stored ALTER a SET STORAGE PLAIN;
ALTER TABLE stored ALTER a SET STORAGE EXTENDED;
DROP TABLE stored;
CREATE TABLE top (a int, b int);
CREATE TABLE under () INHERITS (top);
ALTER TABLE top RENAME b TO c;
ALTER TABLE top ADD COLUMN b text;
ALTER TABLE ONLY top DROP COLUMN c;
DROP TABLE top CASCADE;
CREATE FUNCTION unused(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
DROP SEQUENCE IF EXISTS numbers CASCADE;
"""
# PostgreSQL 17 and 18
NEWER = """
CREATE TABLE gtest2 (a int, b text GENERATED ALWAYS AS (a || ' sec') VIRTUAL);
CREATE TABLE l (LIKE gtest2 INCLUDING ALL);
CREATE TABLE l2 (LIKE gtest2);
DROP TABLE l, l2;
ALTER TABLE gtest2 ADD COLUMN c text GENERATED ALWAYS AS (a || 'x');
DROP TABLE gtest2;
CREATE DOMAIN d AS int;
ALTER DOMAIN d ADD CONSTRAINT x NOT NULL;
ALTER DOMAIN d DROP NOT NULL;
ALTER DOMAIN d ADD NOT NULL;
CREATE OPERATOR === (LEFTARG = int4, RIGHTARG = int4, FUNCTION = int4eq);
ALTER OPERATOR === (int4, int4) SET (hashes, merges = true, restrict = none);
"""
# reasons for effects that cannot be known from the text alone
UNKNOWN = ("whether the view already exists",)


@pytest.mark.parametrize(
    ("fixture", "scripts"),
    [
        pytest.param("gp6_dsn", (EVERYWHERE, BOTH_GREENPLUMS, SIX)),
        pytest.param("gp7_dsn", (EVERYWHERE, BOTH_GREENPLUMS, SEVEN, MODERN, _storage_changes())),
        pytest.param("pg_dsn", (EVERYWHERE, MODERN, ALONE)),
        pytest.param("pgnew_dsn", (EVERYWHERE, MODERN, ALONE, NEWER)),
    ],
)
def test_statements_that_change_what_later_ones_do(
    fixture: str, scripts: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "all.sql"
    file.write_text("".join(scripts))
    result = run(request.getfixturevalue(fixture), file)
    assert result.wrong == []
    assert result.unread == []
    assert result.refused == 0, result.refusals
    assert [(text, why) for _, text, why in result.unknown if why not in UNKNOWN] == []
    assert result.equal >= 30


# a leaf with an index of its own becomes a separate table of the state, so that FOR (…) is not resolved
UNKNOWN_EXCHANGE = """
CREATE TABLE wide (a int, b text) DISTRIBUTED BY (a) PARTITION BY RANGE (a)
    (PARTITION one START (1) END (10), PARTITION two START (11) END (20));
CREATE INDEX wide_a ON wide (a);
CREATE INDEX of_one ON wide_1_prt_one (a, b);
CREATE TABLE staging (a int, b text) DISTRIBUTED BY (a);
CREATE INDEX staging_a ON staging (a);
CREATE INDEX staging_b ON staging (lower(b));
ALTER TABLE wide EXCHANGE PARTITION FOR (11) WITH TABLE staging;
DROP TABLE staging;
DROP TABLE wide;
"""


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_a_table_exchanged_with_an_unknown_partition_is_unknown(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "all.sql"
    file.write_text(UNKNOWN_EXCHANGE)
    result = run(request.getfixturevalue(fixture), file)
    assert result.wrong == []
    assert result.refused == 0, result.refusals
    assert any("DROP TABLE staging" in text for _, text, _ in result.unknown)


# keys that are defined twice, types that exist in two schemas, names that a sequence keeps, temporary tables by their schema,
# savepoints with the same name, storage PLAIN: an earlier version made wrong predictions for them and reported them as complete
EVERY_ODD = """
CREATE TABLE keyed (id int PRIMARY KEY, more text, UNIQUE (id), CONSTRAINT named UNIQUE (id));
CREATE TABLE alone (id int PRIMARY KEY UNIQUE);
CREATE TABLE deferred (id int UNIQUE DEFERRABLE, UNIQUE (id), UNIQUE (id) DEFERRABLE, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE searches (id int, q tsquery);
CREATE TABLE plain (a int, b text);
ALTER TABLE plain ALTER b SET STORAGE PLAIN;
CREATE TABLE beside (LIKE plain INCLUDING STORAGE, c char(10));
CREATE TABLE pg_temp.hidden (a text);
DROP TABLE pg_temp.hidden;
CREATE TABLE hidden (a int);
DROP TABLE hidden;
BEGIN;
SAVEPOINT a;
CREATE TABLE twice (x text);
SAVEPOINT a;
RELEASE a;
ROLLBACK TO a;
COMMIT;
CREATE TABLE IF NOT EXISTS twice (x text);
CREATE SEQUENCE first;
ALTER SEQUENCE first RENAME TO second;
DROP SEQUENCE second;
CREATE TABLE indexed (a int, b text);
CREATE INDEX by_a ON indexed (a);
ALTER TABLE by_a RENAME TO by_number;
DROP INDEX by_number;
DROP TABLE indexed;
CREATE TABLE smallest AS SELECT - 9223372036854775808 AS a;
"""
THEN_UNKNOWN = """
CREATE SCHEMA tenant1;
CREATE SCHEMA tenant2;
CREATE DOMAIN tenant1.code AS int;
CREATE DOMAIN tenant2.code AS text;
CREATE TABLE tenant1.t (c tenant1.code);
CREATE TABLE serials (a serial, b text);
ALTER TABLE serials RENAME a TO aa;
DROP SEQUENCE serials_a_seq CASCADE;
DROP TABLE serials;
CREATE TABLE renamed (a serial);
ALTER SEQUENCE renamed_a_seq RENAME TO other;
DROP SEQUENCE other CASCADE;
DROP TABLE renamed;
"""
WITHOUT_SEGMENTS = """
CREATE TABLE excluded (a int, EXCLUDE (a WITH =), EXCLUDE (a WITH =), UNIQUE (a), PRIMARY KEY (a));
CREATE TABLE copied (LIKE excluded INCLUDING ALL, UNIQUE (a));
SELECT 1 AS a INTO UNLOGGED short;
BEGIN;
CREATE TABLE kept (x text);
COMMIT AND CHAIN;
CREATE TABLE undone (x int);
ROLLBACK;
CREATE TABLE IF NOT EXISTS undone (x int);
"""
ENDS = "CREATE TABLE ends (r int4range);\nCREATE TABLE bounds AS SELECT lower(r) AS a FROM ends;\n"


@pytest.mark.parametrize(
    ("fixture", "more"),
    [
        ("gp6_dsn", ZONES_AND_OIDS + OIDS),
        ("gp7_dsn", ZONES_AND_OIDS),
        ("pg_dsn", WITHOUT_SEGMENTS),
        ("pgnew_dsn", WITHOUT_SEGMENTS),
        ("pg19_dsn", WITHOUT_SEGMENTS),
    ],
    ids=["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"],
)
def test_statements_that_other_statements_undo(
    fixture: str, more: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "all.sql"
    file.write_text(EVERY_ODD + more)
    result = run(request.getfixturevalue(fixture), file)
    assert (result.wrong, result.unread, result.refusals) == ([], [], [])
    assert [(text, why) for _, text, why in result.unknown] == []
    file.write_text(THEN_UNKNOWN + (ENDS if more is WITHOUT_SEGMENTS else ""))
    result = run(request.getfixturevalue(fixture), file)
    assert (result.wrong, result.unread, result.refusals) == ([], [], [])
    assert {text.split()[2].rstrip(";") for _, text, _ in result.unknown} >= {
        "tenant1.t",
        "serials",
    }
