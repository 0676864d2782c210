"""Empty leaves are dropped and created again; column storage is converted to row storage and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from tests.conftest import fresh_database
from tests.migration import made, zoo

DROPS = made.EAGER.replace('"keep"\nstorage', '"drop"\nstorage').replace(
    'grains = {month = "0d"}', 'grains = {day = "0d"}'
)
CONVERTS = made.EAGER.replace('storage = "keep"', 'storage = "ao_row"').replace(
    'grains = {month = "0d"}', 'grains = {day = "0d"}'
)


def gapped(dsn: str, greenplum: bool, more: int = 0) -> None:
    """Create a table of ten days; the 3rd to the 5th are empty."""
    wide = "".join(f", c{n} int" for n in range(more))
    if greenplum:
        made.execute(
            dsn,
            f"CREATE TABLE t (id int, d date, v text ENCODING (compresstype=zlib, compresslevel=7){wide}) WITH (appendonly=true, orientation=column)"
            " DISTRIBUTED BY (id) PARTITION BY RANGE (d) (START (date '2020-01-01') END (date '2020-01-11') EVERY (interval '1 day'))",
        )
    else:
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, v text) PARTITION BY RANGE (d)",
            *zoo._pg_days("t", first="2020-01-01", number=10),
        )
    made.execute(
        dsn,
        "CREATE INDEX t_v ON t (v)",
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 2, 'x' || i FROM generate_series(1, 100) i",
        "INSERT INTO t SELECT i, date '2020-01-06' + i % 5, 'x' || i FROM generate_series(1, 100) i",
        "ANALYZE t",
    )


@pytest.mark.parametrize(
    ("fixture", "mode"),
    [
        ("gp6_dsn", Mode.LOCKED),
        ("gp7_dsn", Mode.ONLINE),
        ("pg_dsn", Mode.LOCKED),
        ("pgnew_dsn", Mode.ONLINE),
    ],
)
def test_empty_leaves(
    fixture: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_drop")
    generation = {"gp6_dsn": "gp6", "gp7_dsn": "gp7", "pg_dsn": "pg15", "pgnew_dsn": "pg18"}[
        fixture
    ]
    gapped(dsn, fixture.startswith("gp"))
    picture, rows = zoo.picture(dsn, generation), made.rows_of(dsn, "t")
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn, DROPS), request=Request(mode=mode)
    )
    assert files.steps == 1
    assert files.refused == []
    files.run("0000_prepare.sql")
    # a row that was inserted since the plan stops the step before anything changes
    made.execute(dsn, "INSERT INTO t VALUES (1, '2020-01-04', 'late')")
    done = files.run("0001_public_t.sql", check=False)
    assert done.returncode == 3
    assert "was empty and now contains rows" in done.stderr
    assert zoo.picture(dsn, generation).keys() == picture.keys()
    made.execute(dsn, "DELETE FROM t WHERE v = 'late'")
    files.all()
    assert (
        len([n for n in zoo.picture(dsn, generation) if "idx" not in n])
        == len([n for n in picture if "idx" not in n]) - 3
    )
    assert made.rows_of(dsn, "t") == rows
    files.run("rollback/0001_public_t.sql")
    back = zoo.picture(dsn, generation)
    assert back.keys() == picture.keys()
    assert {n: v[:1] + v[3:] for n, v in back.items()} == {
        n: v[:1] + v[3:] for n, v in picture.items()
    }
    made.execute(dsn, "INSERT INTO t VALUES (1, '2020-01-04', 'late')")


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_storage(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_convert")
    generation = fixture[:3]
    gapped(dsn, True, more=24)
    picture, rows = zoo.picture(dsn, generation), made.rows_of(dsn, "t")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, CONVERTS))
    assert files.refused == []
    assert files.steps == 10
    files.all()
    after = zoo.picture(dsn, generation)
    assert made.rows_of(dsn, "t") == rows
    assert after.keys() == picture.keys()
    assert sum(v[3] in ("a", "ao_row") for v in after.values()) == files.steps
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    back = zoo.picture(dsn, generation)
    assert {n: v[:2] + v[3:] for n, v in back.items()} == {
        n: v[:2] + v[3:] for n, v in picture.items()
    }


BOUNDS = {
    "gp6_dsn": "SELECT pg_get_partition_def('t'::regclass, true)",
    "gp7_dsn": "SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname LIKE 't_1_prt%' ORDER BY 1",
}


@pytest.mark.parametrize("fixture", list(BOUNDS))
@pytest.mark.parametrize(
    ("key", "partitions"),
    [
        ("k", "PARTITION a END (10), PARTITION b START (10) END (20), PARTITION c START (20)"),
        ("d", "PARTITION a END (date '2020-02-01')"),
        ("k", "PARTITION a END (10), PARTITION c START (20), DEFAULT PARTITION other"),
    ],
    ids=["three", "one", "with_default"],
)
def test_storage_of_partitions_without_an_end(
    fixture: str, key: str, partitions: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Greenplum 6 stores an empty expression for the end that CREATE TABLE does not name."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_without_end")
    generation = fixture[:3]
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date, v text, k int) WITH (appendonly=true, orientation=column)"
        f" DISTRIBUTED BY (id) PARTITION BY RANGE ({key}) ({partitions})",
        "INSERT INTO t SELECT i, date '2020-01-01', 'x', i % 10 FROM generate_series(1, 50) i",
    )
    if key == "k":
        made.execute(dsn, "INSERT INTO t SELECT i, NULL, 'y', 90 FROM generate_series(1, 50) i")
    made.execute(dsn, "ANALYZE t")
    bounds, picture, rows = (
        made.fetch(dsn, BOUNDS[fixture]),
        zoo.picture(dsn, generation),
        made.rows_of(dsn, "t"),
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, CONVERTS))
    assert files.refused == []
    assert files.steps >= 1
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert sum(v[3] in ("a", "ao_row") for v in zoo.picture(dsn, generation).values()) >= 1
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.changed(picture, zoo.picture(dsn, generation)) == []
    assert str(made.fetch(dsn, BOUNDS[fixture])).replace(", checksum='true'", "") == str(bounds)
