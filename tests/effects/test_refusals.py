"""`refusal` returns a reason for statements that a live server rejects, and for no statement that the server accepts."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import psycopg
import pytest

from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.script import Source
from gpcatalog.effects.refusals import refusal
from gpcatalog.effects.schema_state import SchemaState
from tests.conftest import fresh_database
from tests.effects.live import editions, statements
from tests.recorded import FIXTURES

RANGE = "CREATE TABLE t (a int, b text) PARTITION BY RANGE (a)"
LIST = "CREATE TABLE t (a text, b int) PARTITION BY LIST (a)"
PART = "PARTITION OF t FOR VALUES"
DAYS = "CREATE TABLE t (a timestamptz, b text) PARTITION BY RANGE (a)"

# scripts whose last statement is rejected; the statements before it are accepted
EVERYWHERE = (
    # names
    "CREATE TABLE t (a int); CREATE VIEW t AS SELECT 2 AS x",
    "CREATE TABLE t (a int); CREATE SEQUENCE t",
    "CREATE VIEW t AS SELECT 1 AS x; CREATE TABLE t (a int)",
    "CREATE SEQUENCE t; CREATE TABLE t (a int)",
    "CREATE SEQUENCE t; CREATE SEQUENCE t",
    "CREATE VIEW v AS SELECT 1 AS x; CREATE VIEW v AS SELECT 2 AS x",
    "CREATE SCHEMA s; CREATE SCHEMA s",
    "CREATE TYPE e AS ENUM ('a'); CREATE TYPE e AS ENUM ('b')",
    "CREATE DOMAIN e AS int; CREATE TYPE e AS ENUM ('b')",
    "CREATE TABLE t (a int); CREATE INDEX i ON t (a); CREATE INDEX i ON t (a)",
    "CREATE TABLE t (a int); CREATE TABLE u (a int); ALTER TABLE t RENAME TO u",
    "CREATE TABLE t (a int); ALTER TABLE t RENAME TO t",
    "CREATE TABLE t (a int); CREATE INDEX t ON t (a)",
    "CREATE SCHEMA s; CREATE TABLE t (a int); CREATE TABLE s.t (a int); ALTER TABLE t SET SCHEMA s",
    "CREATE SCHEMA s; CREATE TABLE t (a int); CREATE VIEW s.t AS SELECT 1 AS x; ALTER TABLE t SET SCHEMA s",
    # columns
    "CREATE TABLE t (a int, a text)",
    'CREATE TABLE t ("A" int, a int, "a" text)',
    "CREATE TABLE t AS SELECT 1 AS a, 2 AS a",
    "CREATE VIEW v AS SELECT 1 AS a, 2 AS a",
    "CREATE TABLE t (a int); CREATE TABLE u AS SELECT * FROM t JOIN t x ON x.a = t.a",
    "CREATE TABLE t (a int); ALTER TABLE t ADD COLUMN a text",
    "CREATE TABLE t (a int); ALTER TABLE t ADD COLUMN b text, ADD COLUMN b text",
    "CREATE TABLE t (a int); ALTER TABLE t DROP COLUMN zz",
    "CREATE TABLE t (a int); ALTER TABLE t ALTER COLUMN zz SET NOT NULL",
    "CREATE TABLE t (a int); ALTER TABLE t ALTER a SET STATISTICS 5, ALTER zz TYPE text",
    "CREATE TABLE t (a int, b int); ALTER TABLE t RENAME a TO b",
    "CREATE TABLE t (a int); ALTER TABLE t RENAME zz TO b",
    "CREATE TABLE t (a int); CREATE INDEX i ON t (zz)",
    "CREATE TABLE t (a int); ALTER TABLE t RENAME a TO b; ALTER TABLE t DROP COLUMN a",
    "CREATE TABLE t (a int, b int); ALTER TABLE t DROP COLUMN a; CREATE INDEX i ON t (a)",
    # keys and constraints
    "CREATE TABLE t (a int PRIMARY KEY, b int PRIMARY KEY)",
    "CREATE TABLE t (a int PRIMARY KEY, b int, PRIMARY KEY (a, b))",
    "CREATE TABLE t (a int PRIMARY KEY); ALTER TABLE t ADD PRIMARY KEY (a)",
    "CREATE TABLE t (a int PRIMARY KEY); ALTER TABLE t ADD COLUMN b int PRIMARY KEY",
    "CREATE TABLE t (a int, PRIMARY KEY (b))",
    "CREATE TABLE t (a int, UNIQUE (a, a))",
    "CREATE TABLE t (a int); ALTER TABLE t ADD PRIMARY KEY (zz)",
    "CREATE TABLE t (a int, CONSTRAINT c CHECK (a > 0), CONSTRAINT c CHECK (a > 1))",
    "CREATE TABLE t (a int, CONSTRAINT c CHECK (a > 0)); ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)",
    "CREATE TABLE t (a int CONSTRAINT c CHECK (a > 0)); ALTER TABLE t ADD CONSTRAINT c UNIQUE (a)",
    "CREATE TABLE p (a int); CREATE TABLE c (a int REFERENCES p (a))",
    "CREATE TABLE p (a int); CREATE TABLE c (a int REFERENCES p)",
    "CREATE TABLE p (a int PRIMARY KEY, b int); CREATE TABLE c (a int REFERENCES p (b))",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int REFERENCES p (zz))",
    "CREATE TABLE p (a int, b int, PRIMARY KEY (a, b)); CREATE TABLE c (a int REFERENCES p)",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int, FOREIGN KEY (zz) REFERENCES p)",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int); ALTER TABLE c ADD FOREIGN KEY (zz) REFERENCES p",
    "CREATE TABLE p (a int); CREATE TABLE c (a int); ALTER TABLE c ADD FOREIGN KEY (a) REFERENCES p",
    "CREATE TABLE p (a int, b int); CREATE INDEX ON p (a); CREATE TABLE c (a int REFERENCES p (a))",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE t (a int CONSTRAINT c CHECK (a > 0) CONSTRAINT c REFERENCES p)",
    "CREATE TABLE t (a int CONSTRAINT c UNIQUE CONSTRAINT c CHECK (a > 0))",
    # DROP
    "CREATE TABLE t (a serial); CREATE VIEW v AS SELECT nextval('t_a_seq') AS n; DROP TABLE t",
    "CREATE TABLE t (a serial, b int); CREATE VIEW v AS SELECT nextval('t_a_seq') AS n; ALTER TABLE t DROP COLUMN a",
    "CREATE TABLE t (a int); CREATE VIEW v AS SELECT NULL::t AS r; DROP TABLE t",
    "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t",
    "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; DROP TABLE IF EXISTS t",
    "CREATE VIEW v AS SELECT 1 AS a; CREATE VIEW w AS SELECT a FROM v; DROP VIEW v",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int REFERENCES p); DROP TABLE p",
    "CREATE TABLE p (a int); CREATE TABLE c () INHERITS (p); DROP TABLE p",
    "CREATE SCHEMA s; CREATE TABLE s.t (a int); DROP SCHEMA s",
    "CREATE SCHEMA s; CREATE SEQUENCE s.q; DROP SCHEMA s",
    "CREATE TABLE t (a int); DROP VIEW t",
    "CREATE VIEW v AS SELECT 1 AS x; DROP TABLE v",
    "CREATE VIEW v AS SELECT 1 AS x; DROP TABLE IF EXISTS v CASCADE",
    # columns of views
    "CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a FROM t; ALTER TABLE t DROP COLUMN a",
    "CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT b FROM t WHERE a > 0; ALTER TABLE t ALTER a TYPE text",
    "CREATE VIEW v AS SELECT 1 AS a, 2 AS b; CREATE OR REPLACE VIEW v AS SELECT 1 AS a",
    "CREATE VIEW v AS SELECT 1 AS a, 2 AS b; CREATE OR REPLACE VIEW v AS SELECT 1 AS a, 3 AS c, 2 AS b",
    "CREATE TABLE t (a int, b int); CREATE VIEW v (x) AS SELECT a FROM t; CREATE OR REPLACE VIEW v (y) AS SELECT a FROM t",
    # transactions
    "BEGIN; VACUUM",
    "BEGIN; CREATE DATABASE never_made",
    "CREATE TABLE t (a int); CREATE INDEX i ON t (a); BEGIN; REINDEX DATABASE mig_never",
    "BEGIN; DROP DATABASE never_made",
)
DECLARATIVE = (
    "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE t (a int) SERVER s;"
    " CREATE VIEW v AS SELECT a FROM t; DROP FOREIGN TABLE t",
    "CREATE TABLE t (a int); BEGIN; CREATE INDEX CONCURRENTLY i ON t (a)",
    "CREATE TABLE t (a int); CREATE INDEX i ON t (a); BEGIN; DROP INDEX CONCURRENTLY i",
    "CREATE TABLE t (a int, b int, PRIMARY KEY (b)) PARTITION BY RANGE (a)",
    "CREATE TABLE t (a int, PRIMARY KEY (a)) PARTITION BY RANGE ((a + 1))",
    "CREATE TABLE t (a int) PARTITION BY RANGE (b)",
    f"{RANGE}; ALTER TABLE t ADD UNIQUE (b)",
    f"{RANGE}; ALTER TABLE t DROP COLUMN a",
    f"{RANGE}; ALTER TABLE t DROP COLUMN a CASCADE",
    f"{RANGE}; ALTER TABLE t ALTER COLUMN a TYPE int8",
    f"{RANGE}; CREATE UNIQUE INDEX ON t (b)",
    f"{RANGE}; CREATE INDEX CONCURRENTLY ON t (a)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); CREATE TABLE y {PART} FROM (3) TO (8)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (MINVALUE) TO (5); CREATE TABLE y {PART} FROM (-3) TO (0)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (2); CREATE TABLE z {PART} FROM (4) TO (5); CREATE TABLE y {PART} FROM (0) TO (9)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (5) TO (5)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (6) TO (5)",
    f"{RANGE}; CREATE TABLE x {PART} IN (1)",
    f"{LIST}; CREATE TABLE x {PART} FROM ('a') TO ('b')",
    f"{LIST}; CREATE TABLE x {PART} IN ('a', 'b'); CREATE TABLE y {PART} IN ('b')",
    f"{LIST}; CREATE TABLE x {PART} IN (NULL); CREATE TABLE y {PART} IN ('b', NULL)",
    f"{RANGE}; CREATE TABLE x PARTITION OF t DEFAULT; CREATE TABLE y PARTITION OF t DEFAULT",
    f"{DAYS}; CREATE TABLE x {PART} FROM ('2024-01-01 00:00+00') TO ('2024-01-02'); CREATE TABLE y {PART}"
    " FROM ('2024-01-01 12:00+02') TO ('2024-01-03')",
    "CREATE TABLE t (a int); CREATE TABLE x PARTITION OF t DEFAULT",
    f"{RANGE}; CREATE TABLE x (a int); ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (1) TO (2)",
    f"{RANGE}; CREATE TABLE x (a int, b text, c int); ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (1) TO (2)",
    f"{RANGE}; CREATE TABLE x (a int8, b text); ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (1) TO (2)",
    f"{RANGE}; CREATE TABLE y {PART} FROM (1) TO (5); CREATE TABLE x (a int, b text); ALTER TABLE t ATTACH PARTITION x"
    " FOR VALUES FROM (4) TO (7)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (6) TO (7)",
    "CREATE TABLE t (a int); CREATE TABLE x (a int); ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (1) TO (2)",
    "CREATE TEMP TABLE t (a int) PARTITION BY RANGE (a); CREATE TABLE x PARTITION OF t DEFAULT",
    "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; DROP TABLE m",
    "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW m AS SELECT a FROM t; DROP TABLE t",
    "CREATE TABLE t (a int, b int); CREATE MATERIALIZED VIEW m AS SELECT a FROM t; ALTER TABLE t DROP COLUMN a",
)
POSTGRESQL = (
    "CREATE TABLE t (a int, b int) PARTITION BY LIST (a, b)",
    "CREATE TABLE t (a int) PARTITION BY HASH (a); CREATE TABLE x PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 4)",
    "CREATE TABLE t (a int) PARTITION BY HASH (a); CREATE TABLE x PARTITION OF t DEFAULT",
    "CREATE TABLE t (a int); BEGIN; REINDEX TABLE CONCURRENTLY t",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (2); BEGIN; ALTER TABLE t DETACH PARTITION x CONCURRENTLY",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (2); CREATE TABLE y PARTITION OF t DEFAULT; ALTER TABLE t DETACH PARTITION x"
    " CONCURRENTLY",
)
SINCE_18 = ("CREATE UNLOGGED TABLE t (a int) PARTITION BY RANGE (a)",)
GREENPLUM = (
    "CREATE EXTERNAL TABLE t (a int) LOCATION ('gpfdist://h:8080/x') FORMAT 'TEXT'; CREATE VIEW v AS SELECT a FROM t; DROP EXTERNAL TABLE t",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (c)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a); CREATE UNIQUE INDEX ON t (b)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a, a)",
    "CREATE TABLE t (a int PRIMARY KEY, b int) DISTRIBUTED BY (b)",
    "CREATE TABLE t (a int UNIQUE, b int) DISTRIBUTED RANDOMLY",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (zz) (START (1) END (3) EVERY (1))",
    "CREATE TABLE t (a int PRIMARY KEY, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (START (1) END (3) EVERY (1))",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (PARTITION p START (1) END (3)); ALTER TABLE t ADD"
    " PARTITION p START (3) END (4)",
)
TWO_LEVELS = (
    "CREATE TABLE t (a int, b int, c text) DISTRIBUTED BY (a) PARTITION BY RANGE (b) SUBPARTITION BY {kind} (c) SUBPARTITION TEMPLATE"
    " ({parts}) (START (1) END (3) EVERY (1), DEFAULT PARTITION d)"
)
BY_LIST = TWO_LEVELS.format(
    kind="LIST", parts="SUBPARTITION x VALUES ('x'), DEFAULT SUBPARTITION o"
)
ONE_LEVEL = "CREATE TABLE t (a int, b {kind}) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (PARTITION p START ({first}) END ({last}))"
NUMBERS = ONE_LEVEL.format(kind="int", first=1, last=5)
TIMES = ONE_LEVEL.format(
    kind="timestamptz", first="'2024-01-01 00:00+00'", last="'2024-02-01 00:00+00'"
)
GREENPLUM += (
    f"{NUMBERS}; ALTER TABLE t ADD PARTITION q START (4) END (6)",
    f"{NUMBERS}; ALTER TABLE t ADD PARTITION q START (0) END (9)",
    f"{NUMBERS}; ALTER TABLE t ADD PARTITION q START (5) END (7); ALTER TABLE t ADD PARTITION r START (6) END (7)",
    f"{TIMES}; ALTER TABLE t ADD PARTITION q START ('2024-02-01 01:00+02') END ('2024-03-01 00:00+00')",
    "CREATE TABLE t (a int, b text) DISTRIBUTED BY (a) PARTITION BY LIST (b) (PARTITION p VALUES ('x', 'y')); ALTER TABLE t ADD"
    " PARTITION q VALUES ('z', 'y')",
    f"{BY_LIST}; ALTER TABLE t DROP COLUMN b",
    f"{BY_LIST}; ALTER TABLE t DROP COLUMN c CASCADE",
    f"{BY_LIST}; ALTER TABLE t ALTER COLUMN b TYPE int8",
    f"{BY_LIST}; ALTER TABLE t ALTER COLUMN c TYPE varchar(9)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED REPLICATED PARTITION BY RANGE (b) (START (1) END (3) EVERY (1))",
    f"{BY_LIST}; ALTER TABLE t SPLIT DEFAULT PARTITION START (5) END (6) INTO (PARTITION p, DEFAULT PARTITION)",
    f"{BY_LIST}; ALTER TABLE t ALTER PARTITION FOR (1) SPLIT DEFAULT PARTITION AT ('y') INTO (PARTITION y, DEFAULT PARTITION)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED RANDOMLY; CREATE UNIQUE INDEX ON t (b)",
)
LONG_NAME = (
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a) PARTITION BY LIST (b) (PARTITION {0} VALUES (1), PARTITION b VALUES (2));"
    " ALTER TABLE t RENAME TO t_with_the_name_of_26_bytes"
)
GREENPLUM_6 = (
    LONG_NAME.format("x" * 31),
    LONG_NAME.format("\u00e9" * 16),
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (START (1) END (3) EVERY (1), DEFAULT PARTITION d);"
    " ALTER TABLE t ADD PARTITION START (3) END (4)",
    "CREATE TABLE t (a int, b int) WITH (appendonly=true) DISTRIBUTED BY (a); CREATE UNIQUE INDEX ON t (a)",
    "CREATE TYPE e AS ENUM ('a'); BEGIN; ALTER TYPE e ADD VALUE 'b'",
    "CREATE TABLE t (a int); ALTER TABLE t ADD PARTITION p START (3) END (4)",
)

# similar scripts, accepted by every server that supports their syntax
ACCEPTED = (
    "CREATE SCHEMA s; CREATE TABLE t (a int); CREATE TABLE s.u (a int); ALTER TABLE t SET SCHEMA s",
    "CREATE TABLE t (a serial, b int); CREATE VIEW v AS SELECT nextval('t_a_seq') AS n; ALTER TABLE t DROP COLUMN b",
    "CREATE TABLE t (a serial); CREATE VIEW v AS SELECT nextval('t_a_seq') AS n; DROP VIEW v; DROP TABLE t",
    "CREATE SCHEMA s; CREATE TYPE s.t AS ENUM ('a'); CREATE TABLE t (a int); CREATE VIEW v AS SELECT 'a'::s.t AS r; DROP TABLE t",
    "CREATE TABLE p (a int, CONSTRAINT c CHECK (a > 0)); CREATE TABLE d () INHERITS (p); ALTER TABLE d ADD CONSTRAINT c CHECK (a > 0)",
    "CREATE VIEW v AS SELECT 1 AS x; CREATE TEMP TABLE v (a int); DROP TABLE v",
    "CREATE VIEW v AS SELECT lower('a'), upper('b'); CREATE OR REPLACE VIEW v AS SELECT lower('c'), upper('d')",
    "CREATE VIEW v AS SELECT 1 + 1, 2 AS b; CREATE OR REPLACE VIEW v AS SELECT 3 * 2, 2 AS b",
    "CREATE TABLE t AS SELECT lower('a'), upper('b'), now(), current_date",
    "CREATE TABLE p (a int, b int); CREATE UNIQUE INDEX ON p (a DESC); CREATE TABLE c (x int REFERENCES p (a))",
    "CREATE TABLE p (a int, b int, CONSTRAINT k UNIQUE (a)); ALTER TABLE p RENAME a TO c; CREATE TABLE c (x int REFERENCES p (c))",
    'CREATE TABLE t ("A" int, a int)',
    "CREATE TABLE p (a int); CREATE TABLE c (a int) INHERITS (p)",
    "CREATE TABLE t (a int); CREATE SCHEMA s; CREATE VIEW s.t AS SELECT 2 AS x",
    "CREATE TABLE t (a int); CREATE TEMP TABLE t (a int)",
    "CREATE TEMP TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; CREATE VIEW public.v AS SELECT 1 AS b",
    "CREATE TABLE t (a int); DROP TABLE t; CREATE VIEW t AS SELECT 1 AS x",
    "CREATE TABLE t (a int); ALTER TABLE t RENAME TO u; CREATE VIEW t AS SELECT 1 AS x",
    "CREATE VIEW v AS SELECT 1 AS x; DROP VIEW v; CREATE VIEW v AS SELECT 2 AS y",
    "CREATE SCHEMA s; DROP SCHEMA s; CREATE SCHEMA s",
    "CREATE SCHEMA s; ALTER SCHEMA s RENAME TO r; CREATE SCHEMA s",
    "CREATE SCHEMA s; CREATE TYPE e AS ENUM ('a'); CREATE TYPE s.e AS ENUM ('b')",
    "CREATE TYPE e AS ENUM ('a'); DROP TYPE e; CREATE TYPE e AS ENUM ('b')",
    "CREATE TABLE t (a int); ALTER TABLE t DROP COLUMN a, ADD COLUMN a text",
    "CREATE TABLE t (a int); ALTER TABLE t DROP COLUMN IF EXISTS zz",
    "CREATE TABLE t (a int); ALTER TABLE t RENAME a TO b; ALTER TABLE t ADD COLUMN a int",
    "CREATE TABLE t (a int, CONSTRAINT c CHECK (a > 0)); ALTER TABLE t DROP CONSTRAINT c, ADD CONSTRAINT c CHECK (a > 1)",
    "CREATE TABLE t (a int CONSTRAINT c CHECK (a > 0)); CREATE TABLE u (a int CONSTRAINT c CHECK (a > 0))",
    "CREATE TABLE t (a int CONSTRAINT c NOT NULL, b int CONSTRAINT d NOT NULL)",
    "CREATE TABLE t (a int PRIMARY KEY, b int REFERENCES t)",
    "CREATE TABLE p (a int); CREATE UNIQUE INDEX ON p (a); CREATE TABLE c (a int REFERENCES p (a))",
    "CREATE TABLE p (a int, b int, PRIMARY KEY (a, b)); CREATE TABLE c (x int, y int, FOREIGN KEY (y, x) REFERENCES p (b, a))",
    "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; DROP VIEW v; DROP TABLE t",
    "CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t CASCADE",
    "CREATE TABLE t (a int); CREATE VIEW v AS WITH t AS (SELECT 1 AS a) SELECT a FROM t; DROP TABLE t",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int REFERENCES p); DROP TABLE p, c",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int REFERENCES p); DROP TABLE c; DROP TABLE p",
    "CREATE TABLE p (a int PRIMARY KEY); CREATE TABLE c (a int CONSTRAINT f REFERENCES p); ALTER TABLE c DROP CONSTRAINT f; DROP TABLE p",
    "CREATE TABLE p (a int); CREATE TABLE c () INHERITS (p); DROP TABLE c, p",
    "CREATE SCHEMA s; CREATE TABLE s.t (a int); ALTER TABLE s.t SET SCHEMA public; DROP SCHEMA s",
    "CREATE SCHEMA s; CREATE TABLE s.t (a int); DROP SCHEMA s CASCADE",
    "CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a FROM t; ALTER TABLE t DROP COLUMN b",
    "CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a AS b FROM t ORDER BY b; ALTER TABLE t DROP COLUMN b",
    "CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a FROM t; ALTER TABLE t RENAME a TO c; ALTER TABLE t RENAME b TO a;"
    " ALTER TABLE t DROP COLUMN a",
    "CREATE VIEW v AS SELECT 1 AS a; CREATE OR REPLACE VIEW v AS SELECT 1 AS a, 2 AS b",
    "CREATE TABLE t (a int); BEGIN; CREATE INDEX i ON t (a); REINDEX TABLE t",
    "CREATE TABLE t (a int); BEGIN; ANALYZE t",
    "BEGIN; COMMIT; VACUUM",
    "CREATE SCHEMA s; SET search_path = s, public; CREATE TABLE t (a int); SET search_path = public; CREATE VIEW t AS SELECT 1 AS x",
    "CREATE TABLE t (a int); BEGIN; DROP TABLE t; ROLLBACK; ALTER TABLE t ADD COLUMN b int",
    "CREATE TABLE t (a int); BEGIN; ALTER TABLE t ADD COLUMN b int; ROLLBACK; ALTER TABLE t ADD COLUMN b int",
    "BEGIN; CREATE VIEW v AS SELECT 1 AS x; ROLLBACK; CREATE VIEW v AS SELECT 1 AS x",
    "CREATE TABLE t (a serial); CREATE SEQUENCE a_seq",
)
ACCEPTED_DECLARATIVE = (
    "CREATE TABLE t (a int, PRIMARY KEY (a)) PARTITION BY RANGE ((a))",
    "CREATE TABLE t (a int PRIMARY KEY); ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (a)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); CREATE TABLE y {PART} FROM (5) TO (8)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); DROP TABLE x; CREATE TABLE y {PART} FROM (3) TO (8)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); ALTER TABLE t DETACH PARTITION x; CREATE TABLE y {PART} FROM (3) TO (8)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); ALTER TABLE t DETACH PARTITION x; ALTER TABLE t ATTACH PARTITION x FOR VALUES"
    " FROM (1) TO (9)",
    f"{RANGE}; CREATE TABLE x PARTITION OF t DEFAULT; DROP TABLE x; CREATE TABLE y PARTITION OF t DEFAULT",
    f"{RANGE}; CREATE TABLE x PARTITION OF t DEFAULT; CREATE TABLE y {PART} FROM (1) TO (2)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (MINVALUE) TO (5); CREATE TABLE y {PART} FROM (5) TO (MAXVALUE)",
    f"{LIST}; CREATE TABLE x {PART} IN ('a', NULL); CREATE TABLE y {PART} IN ('A', ' a')",
    f"{RANGE}; BEGIN; CREATE TABLE x {PART} FROM (1) TO (5); ROLLBACK; CREATE TABLE y {PART} FROM (3) TO (8)",
    f"{DAYS}; CREATE TABLE x {PART} FROM ('2024-01-01 00:00+00') TO ('2024-01-01 12:00+00'); CREATE TABLE y {PART}"
    " FROM ('2024-01-01 14:00+02') TO ('2024-01-03')",
    "CREATE TABLE t (a int, b int, PRIMARY KEY (b, a)) PARTITION BY RANGE (a)",
    "CREATE TABLE t (a int, b int) PARTITION BY RANGE (a); CREATE TABLE x PARTITION OF t FOR VALUES FROM (1) TO (9) PARTITION BY RANGE"
    " (a); CREATE TABLE y PARTITION OF x FOR VALUES FROM (1) TO (9)",
    "CREATE TABLE t (a int, b int) PARTITION BY RANGE (a, b); CREATE TABLE x PARTITION OF t FOR VALUES FROM (1, 1) TO (1, 5); CREATE"
    " TABLE y PARTITION OF t FOR VALUES FROM (1, 5) TO (2, 1)",
    "CREATE TABLE t (a varchar(2)) PARTITION BY LIST (a); CREATE TABLE x PARTITION OF t FOR VALUES IN ('a'); CREATE TABLE y PARTITION"
    " OF t FOR VALUES IN ('b')",
    "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) STORED); ALTER TABLE t DROP COLUMN b",
)
ACCEPTED_POSTGRESQL = (
    f"{RANGE}; CREATE TABLE x (b text, a int); ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (1) TO (2)",
    f"{RANGE}; CREATE TABLE x {PART} FROM (1) TO (5); CREATE UNIQUE INDEX ON x (b)",
)
ACCEPTED_GREENPLUM = (
    LONG_NAME.format("x" * 29),
    LONG_NAME.format("x" * 30),
    f"{NUMBERS}; ALTER TABLE t ADD PARTITION q START (5) END (6)",
    f"{NUMBERS}; ALTER TABLE t ADD PARTITION q START (-1) END (1)",
    f"{NUMBERS}; ALTER TABLE t ADD PARTITION q START (5) END (7); ALTER TABLE t DROP PARTITION q; ALTER TABLE t ADD PARTITION r START"
    " (6) END (8)",
    f"{TIMES}; ALTER TABLE t ADD PARTITION q START ('2024-02-01 02:00+02') END ('2024-03-01 00:00+00')",
    "CREATE TABLE t (a int, b text) DISTRIBUTED BY (a) PARTITION BY LIST (b) (PARTITION p VALUES ('x', 'y')); ALTER TABLE t ADD"
    " PARTITION q VALUES ('z', 'Y')",
    "CREATE TABLE t (a int, b int, PRIMARY KEY (b, a)) DISTRIBUTED BY (a)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a); CREATE UNIQUE INDEX ON t (b, a)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (PARTITION p START (3) END (5), PARTITION r"
    " START (1) END (3)); ALTER TABLE t DROP PARTITION p, ADD PARTITION p START (3) END (4)",
    "CREATE TABLE t (a int, b int) DISTRIBUTED BY (a) PARTITION BY RANGE (b) (PARTITION p START (1) END (3)); ALTER TABLE t RENAME"
    " PARTITION p TO q; ALTER TABLE t ADD PARTITION p START (3) END (4)",
)


def scripts(server: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Scripts whose last statement this server rejects, and scripts whose last statement it accepts."""
    if server == "gp6":
        return (*EVERYWHERE, *GREENPLUM, *GREENPLUM_6), (*ACCEPTED, *ACCEPTED_GREENPLUM)
    rejected, accepted = (*EVERYWHERE, *DECLARATIVE), (*ACCEPTED, *ACCEPTED_DECLARATIVE)
    if server == "gp7":
        return (*rejected, *GREENPLUM), (*accepted, *ACCEPTED_GREENPLUM)
    rejected += (*POSTGRESQL, *(SINCE_18 if server in ("pg18", "pg19") else ()))
    return rejected, (*accepted, *ACCEPTED_POSTGRESQL)


CLEAN = (
    "DROP SCHEMA IF EXISTS s CASCADE",
    "DROP SCHEMA IF EXISTS r CASCADE",
    "DROP SCHEMA public CASCADE",
    "CREATE SCHEMA public",
)


def judged(conn: psycopg.Connection, text: str, generation: str) -> tuple[str, str]:
    """The error of the server for the last statement, and the predicted reason; "" if the statement is accepted."""
    (edition,) = editions(generation)
    state = SchemaState(cost_edition(edition), ZoneInfo("UTC"))
    *before, last = statements(Source(text), (edition,))
    for one in before:
        assert one.tree is not None, text
        conn.execute(one.text.encode())
        effect = state.apply(one.tree, rolled_back=True)
        assert not any("rejected" in reason for reason in effect.unknown), (one.text, effect)
    assert last.tree is not None, text
    why = refusal(state, last.tree)
    try:
        conn.execute(last.text.encode())
    except psycopg.Error as e:
        return str(e), why
    return "", why


@pytest.mark.long
@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_refusals(fixture: str, request: pytest.FixtureRequest) -> None:
    server = FIXTURES[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "refusals")
    wrong = []
    for expected, texts in zip((True, False), scripts(server), strict=True):
        for text in texts:
            with psycopg.connect(
                dsn, autocommit=True, options="-c client_min_messages=error"
            ) as conn:
                said, why = judged(conn, text, server)
                if bool(said) is not expected or bool(why) is not expected:
                    wrong.append((text, said, why))
            with psycopg.connect(
                dsn, autocommit=True, options="-c client_min_messages=error"
            ) as conn:
                for clean in CLEAN:
                    conn.execute(clean)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15", "pg18"])
def test_what_may_not_have_run_makes_nothing_certain(server: str) -> None:
    """If earlier statements may not have run, it is uncertain whether an object exists; an error within one statement remains certain."""
    (edition,) = editions(server)
    for uncertain, certain in (
        ("CREATE VIEW v AS SELECT 1 AS x; CREATE VIEW v AS SELECT 1 AS x", False),
        ("CREATE TABLE t (a int); ALTER TABLE t ADD COLUMN a int", False),
        ("CREATE TABLE t (a int); DROP TABLE t; CREATE TABLE t (a int, a int)", True),
    ):
        state = SchemaState(cost_edition(edition), ZoneInfo("UTC"))
        state.perhaps = True
        *before, last = statements(Source(uncertain), (edition,))
        for one in before:
            assert one.tree is not None
            state.apply(one.tree)
        assert last.tree is not None
        assert bool(refusal(state, last.tree)) is certain, uncertain
