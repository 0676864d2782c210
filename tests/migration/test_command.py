"""The command migrate: exit codes, refusals, files, both kinds of runner."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.commands.migrate import migrate
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.planner import plan_file
from tests.conftest import fresh_database
from tests.migration import made

app = typer.Typer()
app.command()(migrate)


@pytest.fixture
def database(pg_dsn: str) -> str:
    dsn = fresh_database(pg_dsn, "mig_command")
    made.execute(dsn, "CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)")
    made.execute(
        dsn,
        "CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM ('2020-01-30') TO ('2020-01-31')",
        "CREATE TABLE t_8 PARTITION OF t FOR VALUES FROM ('2020-01-31') TO ('2020-02-01')",
        "INSERT INTO t SELECT i, date '2020-01-30' + i % 2 FROM generate_series(1, 10) i",
    )
    return dsn


def written_plan(dsn: str, folder: Path) -> Path:
    plan = made.plan_of(dsn)
    file = folder / "plan.json"
    with file.open("w") as out:
        plan_file.write(plan, plan.tables, out.write)
    return file


def call(*words: object) -> object:
    return CliRunner().invoke(app, [str(w) for w in words], catch_exceptions=True)


def test_files_run_with_any_runner(database: str, tmp_path: Path) -> None:
    file = written_plan(database, tmp_path)
    result = call(file, "-o", tmp_path / "sql", database, "--runner", "plain", "--count")
    assert result.exit_code == 0, result.output
    names = sorted(str(p.relative_to(tmp_path / "sql")) for p in (tmp_path / "sql").rglob("*.*"))
    assert names == [
        "0000_prepare.sql",
        "0001_public_t.sql",
        "cleanup.sql",
        "index.txt",
        "rollback/0001_public_t.sql",
        "verify.sql",
    ]
    with psycopg.connect(database, autocommit=True) as conn:
        for name in (
            "0000_prepare.sql",
            "0001_public_t.sql",
            "verify.sql",
            "rollback/0001_public_t.sql",
            "cleanup.sql",
        ):
            text = (tmp_path / "sql" / name).read_text()
            assert not [line for line in text.splitlines() if line.startswith("\\")]
            conn.execute(text.encode())  # type: ignore[arg-type]
    assert made.fetch(database, "SELECT count(*) FROM t_8") == [(5,)]
    again = call(file, "-o", tmp_path / "sql", database)
    assert isinstance(again.exception, CatalogError)
    assert "is not empty" in again.exception.message


def test_a_plan_of_another_database_is_refused(database: str, pg_dsn: str, tmp_path: Path) -> None:
    result = call(written_plan(database, tmp_path), "-o", tmp_path / "sql", pg_dsn)
    assert isinstance(result.exception, CatalogError)
    assert result.exception.exit_code is Exit.REFUSED
    assert not (tmp_path / "sql").exists()


def test_what_changed_is_refused_with_its_reason(database: str, tmp_path: Path) -> None:
    file = written_plan(database, tmp_path)
    made.execute(database, "CREATE VIEW seen AS SELECT * FROM t_8")
    result = call(file, "-o", tmp_path / "sql", database)
    assert isinstance(result.exception, CatalogError)
    assert result.exception.exit_code is Exit.REFUSED
    assert "a view uses it: t_8 (seen)" in result.output
    made.execute(database, "DROP VIEW seen", "ALTER TABLE t_8 RENAME TO t_9")
    result = call(file, "-o", tmp_path / "sql", database)
    assert "t_8 is now called t_9" in result.output
    assert not (tmp_path / "sql").exists()


def test_no_plan(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = call(tmp_path / "x.json", "-o", tmp_path / "sql")
    assert isinstance(result.exception, CatalogError)
    assert result.exception.exit_code is Exit.USAGE


def test_a_table_is_named_in_any_way(pg_dsn: str, tmp_path: Path) -> None:
    """With or without quotes and schema; a name that is not in the plan is an error and does not give an empty folder."""
    dsn = fresh_database(pg_dsn, "mig_named")
    days = [
        f"CREATE TABLE \"Big T_{n}\" PARTITION OF \"Big T\" FOR VALUES FROM ('2022-01-0{n}') TO ('2022-01-0{n + 1}')"
        for n in range(1, 5)
    ]
    made.execute(
        dsn,
        'CREATE TABLE "Big T" (id int, d date) PARTITION BY RANGE (d)',
        *days,
        "INSERT INTO \"Big T\" VALUES (1, '2022-01-02')",
    )
    file = written_plan(dsn, tmp_path)
    for n, name in enumerate(('public."Big T"', "public.Big T", '"Big T"', "Big T")):
        result = call(file, "-o", tmp_path / f"sql{n}", dsn, "--count", "--table", name)
        assert result.exit_code == 0, result.output
        assert (
            "% rows, but 1 were counted"
            in (tmp_path / f"sql{n}" / "0001_public_big_t.sql").read_text()
        )
    # before a connection: there is no server at this address
    result = call(
        file,
        "-o",
        tmp_path / "none",
        "host=127.0.0.1 port=1",
        "--table",
        "public.other",
    )
    assert isinstance(result.exception, CatalogError)
    assert (result.exception.exit_code, result.exception.message) == (
        Exit.USAGE,
        "the plan has no table public.other",
    )
    assert not (tmp_path / "none").exists()


def test_a_name_of_two_tables(pg_dsn: str, tmp_path: Path) -> None:
    """A name without a schema that matches two tables is an error; a name with a schema is not."""
    dsn = fresh_database(pg_dsn, "mig_named_twice")
    for schema in ("one", "two"):
        days = [
            f"CREATE TABLE {schema}.t_{n} PARTITION OF {schema}.t FOR VALUES FROM ('2022-01-0{n}') TO ('2022-01-0{n + 1}')"
            for n in range(1, 5)
        ]
        made.execute(
            dsn,
            f"CREATE SCHEMA {schema}",
            f"CREATE TABLE {schema}.t (id int, d date) PARTITION BY RANGE (d)",
            *days,
        )
        made.execute(dsn, f"INSERT INTO {schema}.t VALUES (1, '2022-01-02')")
    file = written_plan(dsn, tmp_path)
    result = call(file, "-o", tmp_path / "none", dsn, "--table", "t")
    assert isinstance(result.exception, CatalogError)
    assert result.exception.message == "the plan has 2 tables with the name t"
    assert result.exception.hint == "give the schema too: --table 'one.t'"
    result = call(file, "-o", tmp_path / "sql", dsn, "--table", "two.t")
    assert result.exit_code == 0, result.output
    assert [f.name for f in (tmp_path / "sql").glob("0001*")] == ["0001_two_t.sql"]


def test_losses_are_reported(database: str, tmp_path: Path) -> None:
    """Properties that the merged partitions will not have are printed before a file is run."""
    made.execute(
        database,
        "ALTER TABLE t_0 ALTER COLUMN id SET DEFAULT 7",
        "COMMENT ON COLUMN t_8.d IS 'day'",
    )
    result = call(written_plan(database, tmp_path), "-o", tmp_path / "sql", database)
    assert result.exit_code == 0, result.output
    written = (tmp_path / "sql" / "0001_public_t.sql").read_text()
    lines = [line for line in result.output.splitlines() if line.startswith("lost: public.t: ")]
    assert lines == [
        "lost: public.t: default of column id on 1 of 2 partitions: the new partition has none",
        "lost: public.t: comment on column d on 1 of 2 partitions: the new partition has none",
    ]
    assert written.count("LOST: ") == 2


def test_the_plans_role_connects(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --server, the role that took the snapshot connects again, unless PGUSER names another role."""
    dsn = database
    made.execute(
        dsn, "DROP ROLE IF EXISTS planning_role", "CREATE ROLE planning_role LOGIN SUPERUSER"
    )
    file = written_plan(re.sub(r"user=\S+", "user=planning_role", dsn), tmp_path)
    monkeypatch.delenv("PGUSER", raising=False)
    assert call(file, "-o", tmp_path / "sql").exit_code == 0
    monkeypatch.setenv("PGUSER", "nobody_of_this_name")
    result = call(file, "-o", tmp_path / "sql2")
    assert isinstance(result.exception, CatalogError)
    assert "nobody_of_this_name" in result.exception.message
