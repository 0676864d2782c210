"""Partitions past their retention are moved to files: on live Greenplum servers, through gpfdist."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.planner import policy
from tests.conftest import fresh_database
from tests.gpfdist import gpfdist
from tests.migration import made
from tests.upkeep.test_live import daily, night

pytestmark = pytest.mark.usefixtures("one_day")
RULES = """
[default]
automatic_maintenance = true
premake = "2d"
hot_days = 5
keep = "10d"
retention = "externalize"
external_location = "gpfdist://127.0.0.1:{port}/new/{{file}}.txt"
"""


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_externalize(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_files")
    daily(dsn, "t", 14)
    daily(dsn, "strict", 14)
    if fixture == "gp6_dsn":
        made.execute(dsn, "ALTER TABLE t ALTER COLUMN d DROP NOT NULL")
    else:
        made.execute(dsn, "ALTER TABLE strict ADD CONSTRAINT small CHECK (v < 1000)")
    daily(dsn, "u", 3)
    old = f"d < '{datetime.now(UTC).date() - timedelta(10)}'"
    rows = made.fetch(dsn, "SELECT count(*), sum(v) FROM t")
    outside = "SELECT count(*) FROM pg_class WHERE relname LIKE 't\\_1\\_prt\\_%' AND " + (
        "relstorage = 'x'" if fixture == "gp6_dsn" else "relkind = 'f'"
    )
    with tempfile.TemporaryDirectory() as place, gpfdist(fixture, place) as port:
        # the folder does not exist: the steps fail, and the other table is maintained
        year, text = night(dsn, RULES.format(port=port))
        done = year.run(text)
        assert done.returncode == 3
        assert "tables with a failed step: 2;" in done.stderr
        assert made.fetch(dsn, outside) == [(0,)]
        assert made.fetch(dsn, "SELECT count(*), sum(v) FROM t") == rows
        Path(place, "new").mkdir()
        year, text = night(dsn, RULES.format(port=port))
        done = year.run(text)
        why = "NOT NULL (column d)" if fixture == "gp6_dsn" else "constraint small of the table"
        assert f"cannot have {why}" in text
        assert "tables with a failed step: 1;" in done.stderr
        assert made.fetch(dsn, outside) == [(3,)]
        files = sorted(file.name for file in Path(place, "new").iterdir())
        assert len(files) == 3
        assert all(name.startswith("upkeep_files.public.t_1_prt_") for name in files), files
        assert made.fetch(dsn, "SELECT count(*), sum(v) FROM t") == rows
        assert made.fetch(dsn, f"SELECT count(*) FROM t WHERE {old}") == [(3,)]
        # external partitions are kept, and not merged or moved again
        year, again = night(dsn, RULES.format(port=port) + 'grains = { week = "5d" }\n')
        assert "public.t: externalize" not in again
        year.run(again)  # on some days of the week, others of the same week are merged
        assert made.fetch(dsn, outside) == [(3,)]
        assert sorted(file.name for file in Path(place, "new").iterdir()) == files
        assert made.fetch(dsn, "SELECT count(*), sum(v) FROM t") == rows


def test_not_on_postgresql(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_no_files")
    daily(dsn, "t", 14)
    _, text = night(dsn, RULES.format(port=1))
    assert "public.t: retention externalize needs external tables" in text


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "is not a location"),
        ("/tmp/{file}", "is not a location"),
        ("gpfdist://h/{file} file:///{file}", "is not a location"),
        ("gpfdist://h/{partition}.txt", "has no {file}"),
        ("s3://b/{file} s3://b/all", "has no {file}"),
    ],
)
def test_wrong_locations(place: str, message: str) -> None:
    rules = f'[default]\nkeep = "90d"\nretention = "externalize"\nexternal_location = "{place}"\n'
    with pytest.raises(CatalogError, match=message):
        policy.resolve_policy(policy.loads(rules), "s", "t")


def test_a_location_without_the_retention() -> None:
    rules = '[default]\nexternal_location = "gpfdist://h/{file}"\n'
    with pytest.raises(CatalogError, match='external_location is for retention = "externalize"'):
        policy.resolve_policy(policy.loads(rules), "s", "t")
