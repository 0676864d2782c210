"""Extensions on live servers: those that create no relations, according to the program, add no rows to the counted catalogs and no file."""

from __future__ import annotations

import psycopg
import pytest

from gpcatalog.effects.extensions import TYPES, WITHOUT_RELATIONS
from tests.check.test_check import check
from tests.conftest import fresh_database

COUNTS = """SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute), (SELECT count(*) FROM pg_index),
                   (SELECT count(*) FROM pg_inherits), (SELECT count(*) FROM pg_attrdef), (SELECT count(*) FROM pg_trigger)"""
SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn")


@pytest.mark.parametrize("server", SERVERS)
def test_extensions_create_no_relations(server: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "extensions")
    created = set()
    with psycopg.connect(dsn, autocommit=True) as conn:
        available = {
            (name, cascade)
            for name, cascade in conn.execute(
                "SELECT name, current_setting('server_version_num')::int >= 90600"
                " FROM pg_available_extensions WHERE installed_version IS NULL"
            )
            if name in WITHOUT_RELATIONS
        }
        types = set(conn.execute("SELECT typname FROM pg_type"))
        for name, cascade in sorted(available):
            before = conn.execute(COUNTS).fetchone()
            try:
                conn.execute(f'CREATE EXTENSION "{name}"{" CASCADE" if cascade else ""}'.encode())
            except psycopg.errors.UndefinedFile:
                continue  # its library was not built
            assert conn.execute(COUNTS).fetchone() == before, name
            created.add(name)
            conn.execute(f'ALTER EXTENSION "{name}" UPDATE'.encode())
            assert conn.execute(COUNTS).fetchone() == before, name
        new = {name for (name,) in set(conn.execute("SELECT typname FROM pg_type")) - types}
    assert {name for name in new if not name.startswith("_")} <= TYPES
    assert {"citext", "hstore", "ltree", "pg_trgm", "pgcrypto"} & available_names(
        available
    ) <= created
    assert len(created) >= 5


def available_names(found: set[tuple[str, bool]]) -> set[str]:
    return {name for name, _ in found}


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE EXTENSION IF NOT EXISTS "uuid-ossp"',
        "CREATE EXTENSION pgcrypto SCHEMA public",
        "ALTER EXTENSION hstore UPDATE TO '1.8'",
        "ALTER EXTENSION citext SET SCHEMA other",
        "ALTER EXTENSION unknown ADD TABLE t",
        "DROP EXTENSION IF EXISTS pg_trgm, unaccent",
    ],
)
@pytest.mark.parametrize("server", ["greenplum6", "postgres18"])
def test_their_statements_are_complete(statement: str, server: str) -> None:
    (one,) = check(statement, server=server).statements
    assert (one.unknown, one.cost.complete) == ((), True)
    assert one.not_counted


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE EXTENSION postgis",
        "CREATE EXTENSION pg_stat_statements",
        "ALTER EXTENSION postgis UPDATE",
        "DROP EXTENSION citext CASCADE",
        "DROP EXTENSION citext, postgis",
    ],
)
@pytest.mark.parametrize("server", ["greenplum6", "postgres18"])
def test_other_statements_are_unknown(statement: str, server: str) -> None:
    (one,) = check(statement, server=server).statements
    assert one.unknown
    assert not one.cost.complete
