"""DDL that creates every kind of relation in the catalogs, by server family."""

from __future__ import annotations

import psycopg

_ANY = """
CREATE TABLE plain (id int PRIMARY KEY, t text, n numeric);
CREATE TABLE ints (a int, b bigint, c int);
ALTER TABLE ints ADD COLUMN d int;
ALTER TABLE ints DROP COLUMN b;
CREATE VIEW seen AS SELECT id, t FROM plain;
CREATE INDEX plain_t ON plain (t, n);
CREATE SEQUENCE counter;
CREATE TYPE pair AS (a int, b text);
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE MATERIALIZED VIEW kept AS SELECT id FROM plain;
CREATE UNLOGGED TABLE passing (a int, b text);
CREATE TABLE child () INHERITS (ints);
INSERT INTO plain SELECT n, repeat('x', n % 200), n FROM generate_series(1, 500) n;
"""
_GREENPLUM = """
CREATE TABLE sales (id int, d date, amt numeric, note text) WITH (appendonly=true, orientation=column, compresstype=zlib)
  DISTRIBUTED BY (id) PARTITION BY RANGE (d)
  (START (date '2024-01-01') END (date '2024-03-01') EVERY (interval '1 day'), DEFAULT PARTITION other);
CREATE TABLE events (id int, at timestamp, k int, v text) WITH (appendonly=true, orientation=row) DISTRIBUTED BY (id)
  PARTITION BY RANGE (at) SUBPARTITION BY LIST (k)
  SUBPARTITION TEMPLATE (SUBPARTITION a VALUES (1, 2), SUBPARTITION b VALUES (3), DEFAULT SUBPARTITION rest)
  (START (timestamp '2024-01-01') END (timestamp '2024-07-01') EVERY (interval '1 month'));
CREATE INDEX events_k ON events (k);
ALTER TABLE sales ADD COLUMN late int DEFAULT 7;
ALTER TABLE sales DROP COLUMN amt;
CREATE TABLE aorow (a int, b text) WITH (appendonly=true) DISTRIBUTED RANDOMLY;
CREATE TABLE replicated (a int, b text) DISTRIBUTED REPLICATED;
CREATE EXTERNAL WEB TABLE outside (a int) EXECUTE 'echo 1' ON MASTER FORMAT 'text';
INSERT INTO sales (id, d, note) SELECT n, date '2024-01-01' + n % 20, 'x' FROM generate_series(1, 2000) n;
INSERT INTO events SELECT n, timestamp '2024-01-01' + n % 180 * interval '1 day', n % 5, 'v' FROM generate_series(1, 2000) n;
"""
_POSTGRES = """
CREATE TABLE sales (id int, d date, amt numeric, note text) PARTITION BY RANGE (d);
CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE sales_2 PARTITION OF sales FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY LIST (id);
CREATE TABLE sales_2_a PARTITION OF sales_2 FOR VALUES IN (1, 2, NULL);
CREATE TABLE sales_2_rest PARTITION OF sales_2 DEFAULT;
CREATE TABLE sales_other PARTITION OF sales DEFAULT;
CREATE INDEX sales_d ON sales (d);
ALTER TABLE sales ADD COLUMN late int DEFAULT 7;
ALTER TABLE sales DROP COLUMN amt;
CREATE TABLE hashed (a int) PARTITION BY HASH (a);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE outside (a int) SERVER nowhere;
INSERT INTO sales SELECT n, date '2024-01-01' + n % 70, 'x' FROM generate_series(1, 500) n;
"""


def make(conn: psycopg.Connection) -> None:
    """Run the DDL that this server supports; `conn` must be in autocommit mode."""
    banner = conn.execute("SELECT version()").fetchone()[0]
    greenplum = "Greenplum" in banner
    conn.execute("SET client_min_messages = error")
    for statement in (_ANY + (_GREENPLUM if greenplum else _POSTGRES)).split(";\n"):
        text = statement.strip()
        if "Greenplum Database 6" in banner:
            text = text.replace("UNLOGGED ", "")
        if "Greenplum Database 7" in banner:
            text = text.replace("ON MASTER", "ON COORDINATOR")
        if text:
            conn.execute(text)
    conn.execute("CREATE TEMP TABLE mine (a int, b text)")
