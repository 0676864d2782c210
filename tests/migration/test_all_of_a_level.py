"""All partitions below each one are merged: Greenplum 6 keeps a temporary one meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made, zoo


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_lists(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """No other value is as certain to be in none of the lists as NULL, also if the column is NOT NULL."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_all_lists")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, v text, k char(1) NOT NULL) DISTRIBUTED BY (id) PARTITION BY LIST (v)"
        " SUBPARTITION BY LIST (k) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b'))"
        " (PARTITION x VALUES ('x'), PARTITION y VALUES ('y'))",
        "INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN 'x' ELSE 'y' END, CASE i % 5 WHEN 0 THEN 'a' ELSE 'b' END"
        " FROM generate_series(1, 70) i",
        "ANALYZE t",
    )
    rows, picture = made.rows_of(dsn, "t"), zoo.picture(dsn, fixture[:3])
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn, made.EAGER + "merge_lists = 10\n")
    )
    assert (files.steps, files.refused) == (3, [])  # with the subpartition template
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert len(zoo.picture(dsn, fixture[:3])) == len(picture) - 2
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.changed(picture, zoo.picture(dsn, fixture[:3])) == []
    files.run("cleanup.sql")
