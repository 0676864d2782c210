"""Partitions past their retention go to files: on live Greenplum servers, through gpfdist."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.planner import policy
from tests.conftest import fresh_database, missing
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
external_location = "gpfdist://127.0.0.1:{port}/{{table}}/{{schema}}.{{partition}}_{{day}}.txt"
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def gpfdist(generation: str, place: str, port: int) -> Iterator[None]:
    """The server's own program for files, in a folder."""
    program = Path(f"/usr/local/greenplum-db-{generation[2]}/bin/gpfdist")
    if not program.exists():
        missing("gpfdist", f"not at {program}")
    server = subprocess.Popen(
        [program, "-d", place, "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


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
    rows = made.asked(dsn, "SELECT count(*), sum(v) FROM t")
    outside = "SELECT count(*) FROM pg_class WHERE relname LIKE 't\\_1\\_prt\\_%' AND " + (
        "relstorage = 'x'" if fixture == "gp6_dsn" else "relkind = 'f'"
    )
    port = free_port()
    with tempfile.TemporaryDirectory() as place, gpfdist(fixture, place, port):
        # there is no such folder: the steps fail, the other table is maintained
        year, text = night(dsn, RULES.format(port=port))
        done = year.run(text)
        assert done.returncode == 3
        assert "tables with a failed step: 2;" in done.stderr
        assert made.asked(dsn, outside) == [(0,)]
        assert made.asked(dsn, "SELECT count(*), sum(v) FROM t") == rows
        Path(place, "t").mkdir()
        Path(place, "strict").mkdir()
        year, text = night(dsn, RULES.format(port=port))
        done = year.run(text)
        why = "NOT NULL (column d)" if fixture == "gp6_dsn" else "constraint small of the table"
        assert f"cannot have {why}" in text
        assert "tables with a failed step: 1;" in done.stderr
        assert made.asked(dsn, outside) == [(3,)]
        assert len(list(Path(place, "t").iterdir())) == 3
        assert made.asked(dsn, "SELECT count(*), sum(v) FROM t") == rows
        assert made.asked(dsn, f"SELECT count(*) FROM t WHERE {old}") == [(3,)]
        # what is in files stays, and is not merged or moved again
        _, again = night(dsn, RULES.format(port=port) + 'grains = { week = "5d" }\n')
        assert "public.t: externalize" not in again
        assert "public.t: merge" not in again


def test_not_on_postgresql(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_no_files")
    daily(dsn, "t", 14)
    _, text = night(dsn, RULES.format(port=1))
    assert "public.t: retention externalize needs external tables" in text


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "is not a location"),
        ("/tmp/{partition}_{day}", "is not a location"),
        ("gpfdist://h/{schema}{partition}_{day} file:///x", "is not a location"),
        ("gpfdist://h/{schema}/{partition}", "has no {day}"),
        ("s3://b/{schema}/{day}.txt", "has no {partition}"),
        ("s3://b/{table}/{partition}/{day}.txt", "has no {schema}"),
    ],
)
def test_wrong_locations(place: str, said: str) -> None:
    rules = f'[default]\nkeep = "90d"\nretention = "externalize"\nexternal_location = "{place}"\n'
    with pytest.raises(CatalogError, match=said):
        policy.wishes_for(policy.loads(rules), "s", "t")


def test_a_location_without_the_retention() -> None:
    rules = '[default]\nexternal_location = "gpfdist://h/{partition}_{day}"\n'
    with pytest.raises(CatalogError, match='external_location is for retention = "externalize"'):
        policy.wishes_for(policy.loads(rules), "s", "t")
