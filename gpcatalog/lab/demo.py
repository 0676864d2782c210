"""The demo: a temporary PostgreSQL server with the catalog of a shop without partition
maintenance.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from gpcatalog.lab.postgres import PrivateServer

# Each step is (description, SQL). DO blocks commit repeatedly: thousands of CREATEs in one
# transaction would need as many locks.
_DAILY = """
DO $$
DECLARE t int; d int;
BEGIN
  FOR t IN 1..8 LOOP
    EXECUTE format('CREATE TABLE sales.orders_%s (id bigint, placed date, customer int, amount numeric, note text) '
                   'PARTITION BY RANGE (placed)', t);
    FOR d IN 0..419 LOOP  -- the last 120 days lie in the future
      EXECUTE format('CREATE TABLE sales.orders_%s_%s PARTITION OF sales.orders_%s FOR VALUES FROM (%L) TO (%L)', t,
                     to_char(current_date - 300 + d, 'YYYYMMDD'), t, current_date - 300 + d, current_date - 299 + d);
      IF d % 50 = 49 THEN COMMIT; END IF;
    END LOOP;
    EXECUTE format('CREATE TABLE sales.orders_%s_other PARTITION OF sales.orders_%s DEFAULT', t, t);
    EXECUTE format('INSERT INTO sales.orders_%s SELECT n, current_date - 330 + n %% 331, n, n, ''note '' || n '
                   'FROM generate_series(1, 3310) n', t);
    COMMIT;
  END LOOP;
END $$
"""
_HOURLY = """
DO $$
DECLARE t int; h int;
BEGIN
  FOR t IN 1..5 LOOP
    EXECUTE format('CREATE TABLE web.clicks_%s (at timestamptz, page text, visitor bigint, primary key (at, visitor)) '
                   'PARTITION BY RANGE (at)', t);
    FOR h IN 0..335 LOOP
      EXECUTE format('CREATE TABLE web.clicks_%s_h%s PARTITION OF web.clicks_%s FOR VALUES FROM (%L) TO (%L)', t, h, t,
                     date_trunc('day', now()) - interval '10 days' + h * interval '1 hour',
                     date_trunc('day', now()) - interval '10 days' + (h + 1) * interval '1 hour');
      IF h % 50 = 49 THEN COMMIT; END IF;
    END LOOP;
    EXECUTE format('INSERT INTO web.clicks_%s SELECT date_trunc(''day'', now()) - interval ''10 days'' '
                   '+ n * interval ''7 minutes'', ''/'', n FROM generate_series(0, 2000) n', t);
    COMMIT;
  END LOOP;
END $$
"""
_LEVELS = """
DO $$
DECLARE t int; m int; k int; parent text; since date;
BEGIN
  FOR t IN 1..4 LOOP
    EXECUTE format('CREATE TABLE iot.readings_%s (at date, site int, value float8) PARTITION BY RANGE (at)', t);
    FOR m IN 0..35 LOOP
      since := date_trunc('month', current_date)::date - (35 - m) * interval '1 month';
      parent := format('readings_%s_%s', t, to_char(since, 'YYYYMM'));
      EXECUTE format('CREATE TABLE iot.%I PARTITION OF iot.readings_%s FOR VALUES FROM (%L) TO (%L) PARTITION BY LIST (site)',
                     parent, t, since, since + interval '1 month');
      FOR k IN 1..10 LOOP
        EXECUTE format('CREATE TABLE iot.%I PARTITION OF iot.%I FOR VALUES IN (%s)', parent || '_site' || k, parent, k);
      END LOOP;
      COMMIT;
    END LOOP;
    -- only three of the ten sites ever sent anything
    EXECUTE format('INSERT INTO iot.readings_%s SELECT date_trunc(''month'', current_date)::date - n %% 1000, 1 + n %% 3, n '
                   'FROM generate_series(1, 3000) n', t);
    COMMIT;
  END LOOP;
END $$
"""
_SMALL = """
DO $$
DECLARE t int; m int; since date;
BEGIN
  FOR t IN 1..180 LOOP
    EXECUTE format('CREATE TABLE finance.ledger_%s (booked date, account int, amount numeric) PARTITION BY RANGE (booked)', t);
    FOR m IN 0..11 LOOP
      since := date_trunc('year', current_date)::date + m * interval '1 month';
      EXECUTE format('CREATE TABLE finance.ledger_%s_%s PARTITION OF finance.ledger_%s FOR VALUES FROM (%L) TO (%L)', t,
                     to_char(since, 'YYYYMM'), t, since, since + interval '1 month');
    END LOOP;
    IF t % 3 = 0 THEN
      EXECUTE format('INSERT INTO finance.ledger_%s SELECT date_trunc(''year'', current_date)::date + n, n, n '
                     'FROM generate_series(0, 90, 10) n', t);
    END IF;
    COMMIT;
  END LOOP;
END $$
"""
_NUMBERED = """
DO $$
DECLARE t int; b int;
BEGIN
  FOR t IN 1..2 LOOP
    EXECUTE format('CREATE TABLE sales.lines_%s (order_id bigint, line int, sku text) PARTITION BY RANGE (order_id)', t);
    FOR b IN 0..149 LOOP
      EXECUTE format('CREATE TABLE sales.lines_%s_%s PARTITION OF sales.lines_%s FOR VALUES FROM (%s) TO (%s)',
                     t, b, t, b * 1000, (b + 1) * 1000);
      IF b % 50 = 49 THEN COMMIT; END IF;
    END LOOP;
    EXECUTE format('INSERT INTO sales.lines_%s SELECT n * 20, 1, ''sku'' FROM generate_series(0, 3000) n', t);
    COMMIT;
  END LOOP;
END $$
"""
_DROPPED = """
DO $$
DECLARE r int; b int;
BEGIN
  FOR r IN 1..8 LOOP
    EXECUTE 'CREATE TABLE staging.load (k int, a text, b text, c text, d text, e text, f text, g text, h text) PARTITION BY RANGE (k)';
    FOR b IN 0..99 LOOP
      EXECUTE format('CREATE TABLE staging.load_%s PARTITION OF staging.load FOR VALUES FROM (%s) TO (%s)', b, b, b + 1);
    END LOOP;
    COMMIT;
    EXECUTE 'DROP TABLE staging.load';
    COMMIT;
  END LOOP;
END $$
"""
_CHURN = """
DO $$
DECLARE n int;
BEGIN
  FOR n IN 1..2500 LOOP
    CREATE TEMP TABLE step (a int, b int, c text, d text, e numeric, f date, g date, h int, i int, j text, k int, l int);
    DROP TABLE step;
    IF n % 100 = 0 THEN COMMIT; END IF;
  END LOOP;
END $$
"""
_WIDE = """
DO $$
DECLARE n int; columns text := (SELECT string_agg('c' || k || ' int', ', ') FROM generate_series(1, 500) k);
BEGIN
  FOR n IN 1..1200 LOOP
    EXECUTE 'CREATE TABLE staging.export (' || columns || ')';
    EXECUTE 'DROP TABLE staging.export';
    IF n % 20 = 0 THEN COMMIT; END IF;
  END LOOP;
END $$
"""
STEPS = (
    (
        "schemas",
        (
            "CREATE SCHEMA sales; CREATE SCHEMA web; CREATE SCHEMA iot; CREATE SCHEMA finance;"
            " CREATE SCHEMA staging"
        ),
    ),
    ("8 tables by day, premade 120 days ahead", _DAILY),
    ("5 tables by hour", _HOURLY),
    ("4 tables by month and site", _LEVELS),
    ("180 small tables by month", _SMALL),
    ("2 tables by number", _NUMBERED),
    ("tables loaded and dropped", _DROPPED),
    ("2,500 temporary tables", _CHURN),
    ("wide tables exported and dropped", _WIDE),
    # a two-phase commit whose coordinator failed: VACUUM must keep all rows that it could still see
    (
        "a forgotten prepared transaction",
        "BEGIN; CREATE TABLE staging.forgotten (a int); PREPARE TRANSACTION 'nightly-load-4711'",
    ),
)


def fill(conninfo: str, progress: Callable[[str], None] = lambda _: None) -> None:
    """Run the DDL of the demo in an empty database; it creates about 9,500 leaf partitions."""
    import psycopg

    with psycopg.connect(conninfo, autocommit=True) as conn:
        for what, sql in STEPS:
            progress(f"demo: {what}")
            conn.execute(sql.encode())


@contextlib.contextmanager
def demo_server(
    progress: Callable[[str], None] = lambda _: None, *, keep_at: Path | None = None
) -> Iterator[PrivateServer]:
    """A temporary PostgreSQL server with a bloated catalog in database "shop"; it is removed at the
    end unless keep_at is given.

    Raises CatalogError if no server binaries are found or the server does not start.
    """
    import psycopg

    # the server ends first after Ctrl-C: psycopg would log that its connection is lost
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    progress("demo: starting a temporary PostgreSQL server")
    # autovacuum is off, so that the dead rows of the demo remain visible
    settings = {"autovacuum": "off", "max_prepared_transactions": "10"}
    with PrivateServer(settings=settings, keep_at=keep_at) as server:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            there = conn.execute(
                "SELECT 1 FROM pg_catalog.pg_database WHERE datname = 'shop'"
            ).fetchone()
            if there is None:
                conn.execute("CREATE DATABASE shop")
        if there is None:
            fill(server.conninfo("shop"), progress)
        yield server
