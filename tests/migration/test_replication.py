"""Migrations with a live subscriber: published tables do not change, the others are merged, and the subscriber continues."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpcatalog.lab.postgres import PrivateServer
from tests.conftest import fresh_database
from tests.migration import made


def daily(dsn: str, *tables: str) -> None:
    """Create tables with two months of daily partitions."""
    for table in tables:
        schema = table.partition(".")[0] if "." in table else "public"
        made.execute(
            dsn,
            f"CREATE SCHEMA IF NOT EXISTS {schema}",
            f"CREATE TABLE {table} (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)",
            f"""DO $$ BEGIN FOR i IN 0..9 LOOP
                  EXECUTE format('CREATE TABLE {table}_%s PARTITION OF {table} FOR VALUES FROM (%L) TO (%L)',
                                 i, date '2022-01-01' + i, date '2022-01-02' + i);
                END LOOP; END $$""",
        )


def number(dsn: str, table: str) -> int:
    return int(made.fetch(dsn, f"SELECT count(*) FROM {table}")[0][0])


def arrived(dsn: str, table: str, expected: int) -> bool:
    """Whether the table has this number of rows within half a minute."""
    for _ in range(300):
        if number(dsn, table) == expected:
            return True
        time.sleep(0.1)
    return False


def steps(dsn: str) -> dict[str, int]:
    return {t.name: len(t.steps) for t in made.plan_of(dsn).tables}


def reasons(dsn: str) -> dict[str, str]:
    return {t.name: t.alone for t in made.plan_of(dsn).tables}


@pytest.fixture
def publisher(pg15_server: PrivateServer) -> str:
    dsn = fresh_database(pg15_server.conninfo(), "publisher")
    daily(dsn, "sent", "kept", "other.moved")
    return dsn


@pytest.fixture
def subscriber(own_server: PrivateServer, publisher: str) -> Iterator[str]:
    """A database that subscribes to the publication `p` of the publisher."""
    dsn = fresh_database(own_server.conninfo(), "subscriber")
    daily(dsn, "sent", "kept", "other.moved")
    yield dsn
    made.execute(dsn, "DROP SUBSCRIPTION IF EXISTS s")
    made.execute(publisher, "DROP PUBLICATION IF EXISTS p")


def subscribe(dsn: str, publisher: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"CREATE SUBSCRIPTION s CONNECTION '{publisher}' PUBLICATION p")


@pytest.mark.parametrize("how", ["", " WITH (publish_via_partition_root)"])
def test_the_subscriber_goes_on(publisher: str, subscriber: str, tmp_path: Path, how: str) -> None:
    """A table that is published by name is kept. Merges of other tables neither stop the subscriber nor change it."""
    made.execute(publisher, f"CREATE PUBLICATION p FOR TABLE sent{how}")
    subscribe(subscriber, publisher)
    fill = "INSERT INTO {} SELECT i, date '2022-01-01' + i % 10 FROM generate_series({}, {}) i"
    made.execute(publisher, *(fill.format(t, 1, 100) for t in ("sent", "kept", "other.moved")))
    assert arrived(subscriber, "sent", 100)
    planned = steps(publisher)
    assert planned == {"public.sent": 0, "public.kept": 1, "other.moved": 1}
    assert "subscribers would not get" in reasons(publisher)["public.sent"]
    files = made.written(publisher, tmp_path / "sql", made.plan_of(publisher))
    files.run("0000_prepare.sql")
    for name in files.forward():
        files.run(name)
        made.execute(
            publisher,
            fill.format("sent", 101, 150) if "kept" in name else fill.format("sent", 151, 200),
        )
    assert arrived(subscriber, "sent", 200)
    assert number(publisher, "kept") == 100
    files.run("verify.sql")
    for name in files.forward():
        files.run(f"rollback/{name}")
    files.run("cleanup.sql")
    made.execute(publisher, fill.format("sent", 201, 250))
    assert arrived(subscriber, "sent", 250)
    # on the subscriber, partitions that are published by name are kept; a table that is published through its root can be merged
    assert steps(subscriber) == {"public.sent": int(bool(how)), "public.kept": 1, "other.moved": 1}
    there = made.written(subscriber, tmp_path / "there", made.plan_of(subscriber))
    there.all()
    made.execute(publisher, fill.format("sent", 251, 300))
    assert arrived(subscriber, "sent", 300)


@pytest.mark.parametrize(
    ("published", "left"),
    [
        ("FOR TABLES IN SCHEMA other", {"other.moved"}),
        ("FOR ALL TABLES", {"public.sent", "public.kept", "other.moved"}),
    ],
)
def test_whole_schemas_stay(
    publisher: str, subscriber: str, tmp_path: Path, published: str, left: set[str]
) -> None:
    """New partitions would be sent to a subscriber that does not have them, and its replication would stop for all tables."""
    made.execute(publisher, f"CREATE PUBLICATION p {published}")
    subscribe(subscriber, publisher)
    made.execute(
        publisher,
        "INSERT INTO other.moved SELECT i, date '2022-01-01' + i % 10 FROM generate_series(1, 100) i",
    )
    assert arrived(subscriber, "other.moved", 100)
    planned = steps(publisher)
    assert {name for name, n in planned.items() if not n} == left
    if len(left) == len(planned):
        return
    files = made.written(publisher, tmp_path / "sql", made.plan_of(publisher))
    assert not any("moved" in name for name in files.forward())
    files.all()
    made.execute(
        publisher,
        "INSERT INTO other.moved SELECT i, date '2022-01-01' + i % 10 FROM generate_series(101, 200) i",
    )
    assert arrived(subscriber, "other.moved", 200)
