"""The inventory lists everything that a live server's catalogs can contain about a table or a partition."""

from __future__ import annotations

import pytest

from gpcatalog.migration.inventory import COLUMNS, DEPENDENTS, OTHER_CATALOGS
from tests.migration import made

SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg12_dsn", "pg19_dsn")
ALL = """
    SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
"""


@pytest.mark.parametrize("server", SERVERS)
def test_every_catalog_and_column(server: str, request: pytest.FixtureRequest) -> None:
    """Each catalog of the server is listed, with all of its columns if it describes relations."""
    dsn = request.getfixturevalue(server)
    query = ALL.replace("'pg_catalog'::regnamespace", "11") if server == "gp6_dsn" else ALL
    there: dict[str, set[str]] = {}
    for catalog, column in made.fetch(dsn, query):
        there.setdefault(catalog, set()).add(column)
    assert there.keys() - COLUMNS.keys() - OTHER_CATALOGS == set()
    missing = {
        f"{catalog}.{column}"
        for catalog in there.keys() & COLUMNS.keys()
        for column in there[catalog] - COLUMNS[catalog].keys()
    }
    assert missing == set()


@pytest.mark.parametrize("server", ["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_every_reference(server: str, request: pytest.FixtureRequest) -> None:
    """Catalogs that refer to relations or columns, according to the server's own list of references, are among those with columns."""
    dsn = request.getfixturevalue(server)
    query = "SELECT DISTINCT fktable::text FROM pg_get_catalog_foreign_keys() WHERE pktable IN ('pg_class'::regclass, 'pg_attribute'::regclass)"
    # shared descriptions and labels belong to databases, roles and tablespaces
    assert {t for (t,) in made.fetch(dsn, query)} - COLUMNS.keys() <= {
        "pg_shdescription",
        "pg_shseclabel",
    }


def unlisted(dsn: str) -> list[tuple[str, str, str]]:
    """Dependencies on partitioned tables and partitions from classes that are not listed: class, kind, an example."""
    query = """
        SELECT d.classid::regclass::text, d.deptype::text, min(d.objid::text) FROM pg_depend d JOIN pg_class c ON c.oid = d.refobjid
         WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid >= 16384 AND c.relkind IN ('r', 'p') GROUP BY 1, 2"""
    return [r for r in made.fetch(dsn, query) if r[0].removeprefix("pg_catalog.") not in DEPENDENTS]
