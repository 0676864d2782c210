"""Partitions that are not created, and patterns that match no table: reported, and psql or the program fails."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from gpcatalog.cli import app
from gpcatalog.errors import CatalogError
from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import ALL, daily, night

pytestmark = pytest.mark.usefixtures("one_day")
FAILED = "SELECT relation, detail FROM gpcatalog_journal.upkeep WHERE state = 'failed'"


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_a_name_that_is_in_use_when_the_script_is_written(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """Only the partitions of these names are refused, with the reason; the others are created. The next night creates them."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_name_known")
    daily(dsn, "t", 5)
    rules = ALL + 'name = "{table}_{%Y%m%d}"\n'
    first = "t_1_prt_" if fixture == "gp6_dsn" else ""
    days = [datetime.now(UTC).date() + timedelta(n) for n in (2, 4)]
    names = [f"{first}t_{day:%Y%m%d}" for day in days]
    for name in names:
        made.execute(dsn, f"CREATE VIEW {name} AS SELECT 1 AS x")
    year, text = night(dsn, rules)
    for name in names:
        assert any(f"a relation named public.{name} exists already" in e for e in year.errors)
    assert year.run(text).returncode == 3
    assert year.leaves()["t"] == 8
    made.execute(dsn, *(f"DROP VIEW {name}" for name in names))
    assert year.run(text).returncode == 3  # the script does not create them
    year, text = night(dsn, rules)
    assert not year.errors
    assert year.run(text).returncode == 0
    assert year.leaves()["t"] == 10


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_a_name_that_is_in_use(fixture: str, request: pytest.FixtureRequest) -> None:
    """Only the partition of this name is refused; the message has the other relation."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_name_in_use")
    daily(dsn, "t", 5)
    soon = datetime.now(UTC).date() + timedelta(3)
    gp = fixture.startswith("gp")
    rules = ALL + 'name = "{table}_{%Y%m%d}"\n'
    year, text = night(dsn, rules)
    made.execute(dsn, f"CREATE VIEW t_{soon:%Y%m%d} AS SELECT 1 AS x")
    done = year.run(text)
    assert done.returncode == 3, done.stderr
    assert year.leaves()["t"] == 9
    [(table, why)] = made.fetch(dsn, FAILED)
    assert table == "public.t"
    assert f"t_{soon:%Y%m%d} is not created, because its name is in use" in why
    assert f'view "public"."t_{soon:%Y%m%d}" of role' in why
    assert not made.fetch(dsn, "SELECT 1 FROM pg_class WHERE relname LIKE 'gpu%'"), gp
    assert year.run(text).returncode == 3  # the step is not done
    made.execute(dsn, f"DROP VIEW t_{soon:%Y%m%d}")
    assert year.run(text).returncode == 0
    assert year.leaves()["t"] == 10


DETACH = """
[default]
automatic_maintenance = true
premake = "1d"
hot_days = 3
keep = "5d"
retention = "detach"
retention_schema = "archive"
"""


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_a_name_that_is_in_use_where_partitions_are_moved(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """The script has no step that would fail because of it; the other partitions are moved."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_archived_name")
    made.execute(dsn, "CREATE SCHEMA archive", "CREATE SCHEMA s")
    daily(dsn, "t", 10)
    daily(dsn, "s.t", 10)
    oldest = [
        name
        for (name,) in made.fetch(
            dsn,
            "SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE"
            " c.relnamespace = 's'::regnamespace::oid ORDER BY c.oid"
            if fixture != "gp6_dsn"
            else "SELECT partitiontablename FROM pg_partitions WHERE schemaname = 's' ORDER BY"
            " partitionposition",
        )
    ]
    made.execute(
        dsn,
        f"CREATE VIEW archive.{oldest[0]} AS SELECT 1 AS x",
        f"CREATE INDEX taken_i ON {oldest[1]} (v)",
        "CREATE TABLE archive.other (v int)",
        "CREATE INDEX taken_i ON archive.other (v)",
    )
    year, text = night(dsn, DETACH)
    why = "\n".join(year.errors)
    assert f"a relation named archive.{oldest[0]} exists already" in why
    assert "a relation named archive.taken_i exists already" in why
    assert f"another table detaches archive.{oldest[2]} in the same night" in why
    done = year.run(text)
    assert done.returncode == 3, done.stderr
    assert all("rename" in detail for _, detail in made.fetch(dsn, FAILED))
    moved = made.fetch(
        dsn, "SELECT tablename FROM pg_tables WHERE schemaname = 'archive' ORDER BY 1"
    )
    assert [name for (name,) in moved] == sorted(["other", *oldest[1:4]])


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_rows_in_the_default_partition_are_reported(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """The partition is not created: psql fails and the journal has the reason; the others are created."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_reported")
    daily(dsn, "t", 5)
    soon = datetime.now(UTC).date() + timedelta(2)
    made.execute(
        dsn,
        "ALTER TABLE t ADD DEFAULT PARTITION rest"
        if fixture.startswith("gp")
        else "CREATE TABLE t_rest PARTITION OF t DEFAULT",
        f"INSERT INTO t VALUES ('{soon}', 1)",
    )
    year, text = night(dsn, ALL)
    done = year.run(text)
    assert done.returncode == 3, done.stderr
    assert year.leaves()["t"] == 10
    [(table, why)] = made.fetch(dsn, FAILED)
    assert table == "public.t"
    assert "is not created: the default partition has rows of its range" in why


def test_a_pattern_that_matches_no_table(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_pattern")
    daily(dsn, "t", 5)
    made.execute(dsn, "CREATE TABLE bare (d date) PARTITION BY RANGE (d)")
    for pattern in ("publc.t", 'public."t"', "public.T"):
        with pytest.raises(CatalogError) as failed:
            night(dsn, f"[[table]]\nmatch = '{pattern}'\nautomatic_maintenance = true\n")
        assert f"table[0].match: {pattern!r} matches no partitioned table" in str(failed.value)
    # the others are maintained; a table without partitions is reported
    year, _ = night(dsn, ALL + "[[table]]\nmatch = 'publc.t'\nkeep = '5y'\n")
    assert (
        "publc.t: no partitioned table matches this pattern of the policy (table[0])" in year.errors
    )
    assert any(e.startswith("public.bare: it has no partition that a new one") for e in year.errors)


def test_the_journal_of_another_role(pg_dsn: str) -> None:
    """A superuser does not read it, and no GRANT helps: the messages name the role that can."""
    dsn = fresh_database(pg_dsn, "upkeep_of_another")
    role = "keeper_of_upkeep"
    made.execute(
        dsn,
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role}; END IF; END $$",
        f"CREATE SCHEMA gpcatalog_journal AUTHORIZATION {role}",
        "CREATE TABLE gpcatalog_journal.upkeep (plan text, relation text, step text, state text, detail text, at timestamptz)",
        f"ALTER TABLE gpcatalog_journal.upkeep OWNER TO {role}",
    )
    daily(dsn, "t", 5)
    status = CliRunner().invoke(app, ["upkeep", "status", dsn]).exception
    assert isinstance(status, CatalogError)
    assert f"belongs partly to {role}" in status.message
    assert status.hint == "connect as the role that runs the scripts"
    doctor = " ".join(CliRunner().invoke(app, ["doctor", dsn]).output.split())
    assert f"belongs partly to {role}: reading it could run code of that role" in doctor
    assert "only that role reads it" in doctor
    assert "GRANT USAGE ON SCHEMA gpcatalog_journal" not in doctor
