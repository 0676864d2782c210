"""Settings of a role or database, and partitions that the server cannot read, do not stop a migration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made, zoo

# settings that change how the server prints names and values
OUTPUT_SETTINGS = "-c quote_all_identifiers=on -c bytea_output=escape -c extra_float_digits=0 -c intervalstyle=iso_8601 -c datestyle=german"
# settings that change properties of a new table that its statement does not specify
GREENPLUM = " -c gp_default_storage_options=appendonly=true -c gp_use_legacy_hashops=on"


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_settings_of_a_role(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The files are run alternately with these settings and without them."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_settings")
    of_greenplum = GREENPLUM if fixture.startswith("gp") else ""
    if fixture == "gp7_dsn":
        of_greenplum = of_greenplum.replace("appendonly=true", "checksum=false")
    columns = "id int, d date, b bytea, f float8, i interval"
    if fixture == "gp6_dsn":
        made.execute(
            dsn,
            f"CREATE TABLE t ({columns}) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2020-01-01') END (date '2020-01-06') EVERY (interval '1 day'))",
        )
    else:
        made.execute(
            dsn,
            f"CREATE TABLE t ({columns}) PARTITION BY RANGE (d)",
            *(
                f"CREATE TABLE t_1_prt_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO"
                f" ('2020-01-0{n + 1}')"
                for n in range(1, 6)
            ),
        )
    made.execute(
        dsn,
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 5, '\\x00ff5c'::bytea, 1 / 3.0,"
        " i * interval '1 day 2 hours' FROM generate_series(1, 100) i",
        "CREATE INDEX ON t (upper(encode(b, 'hex')))",
        "CREATE TRIGGER kept BEFORE UPDATE ON t_1_prt_2 FOR EACH ROW"
        " EXECUTE PROCEDURE suppress_redundant_updates_trigger('an argument')",
        "ANALYZE t",
    )
    rows, picture = made.rows_of(dsn, "t"), zoo.picture(dsn, fixture.removesuffix("_dsn"))
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    (name,) = files.forward()
    # the trigger of one partition is lost, as reported, and the rollback does not restore it
    back = f"rollback/{name}"
    for n, file in enumerate(("0000_prepare.sql", name, "verify.sql", back, "verify.sql", name)):
        options = OUTPUT_SETTINGS + of_greenplum if n % 2 else ""
        done = files.run(file, PGOPTIONS=options)
        assert made.rows_of(dsn, "t") == rows
        if file == "verify.sql":
            assert "OK: 1 of 1 tables" in done.stderr, done.stderr
            assert "differ" not in done.stderr
        if file == back:
            assert zoo.picture(dsn, fixture.removesuffix("_dsn")) == picture
        if file == name:
            assert zoo.picture(dsn, fixture.removesuffix("_dsn")) != picture


@pytest.mark.postgres
def test_a_foreign_partition_that_nobody_reaches(pg_dsn: str, tmp_path: Path) -> None:
    """ANALYZE of the complete table fails: the steps are done, and index.sql continues with the next table."""
    dsn = fresh_database(pg_dsn, "mig_unreached")
    made.execute(
        dsn,
        "CREATE EXTENSION postgres_fdw",
        "CREATE SERVER gone FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1')",
        "CREATE USER MAPPING FOR CURRENT_USER SERVER gone",
    )
    for table, rows in (("near", 20000), ("far", 100)):
        made.execute(
            dsn,
            f"CREATE TABLE {table} (id int, d date) PARTITION BY RANGE (d)",
            *(
                f"CREATE TABLE {table}_{n} PARTITION OF {table} FOR VALUES FROM ('2020-01-0{n}')"
                f" TO ('2020-01-0{n + 1}')"
                for n in range(1, 6)
            ),
            f"INSERT INTO {table} SELECT i, date '2020-01-01' + i % 5"
            f" FROM generate_series(1, {rows}) i",
        )
    made.execute(
        dsn,
        "CREATE FOREIGN TABLE far_away PARTITION OF far FOR VALUES FROM ('2019-12-01') TO"
        " ('2020-01-01') SERVER gone OPTIONS (table_name 'x')",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert [n.partition("public_")[2] for n in files.forward()] == ["far.sql", "near.sql"]
    done = files.run("index.sql")
    assert "public.far: the steps are done, but ANALYZE failed: could not connect" in done.stderr
    assert "public.near: the steps are done" not in done.stderr
    assert made.fetch(dsn, "SELECT count(*) FROM ONLY near_p2020m01") == [(20000,)]
    assert made.fetch(dsn, "SELECT count(*) FROM ONLY far_p2020m01") == [(100,)]
    assert made.fetch(dsn, "SELECT count(*) FROM pg_stats WHERE tablename = 'near'") == [(2,)]
