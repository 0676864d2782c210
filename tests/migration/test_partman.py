"""pg_partman after a merge: it reads the merged partitions, and creates no more partitions of the old length."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tests.conftest import fresh_database
from tests.migration import made

SUNDRY = made.EAGER.replace("hot_days = 0", "hot_days = 5")
LEAVES = """SELECT c.relname::text, (b.x[1])::timestamptz, (b.x[2])::timestamptz
              FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
                   LATERAL (SELECT regexp_match(pg_get_expr(c.relpartbound, 0), $r$FROM \\('([^']+)'\\) TO \\('([^']+)'\\)$r$)) b(x)
             WHERE i.inhparent = 't'::regclass AND b.x IS NOT NULL ORDER BY 2"""


def partman(dsn: str) -> int:
    """Major version of pg_partman in a database; the test is skipped if it is not available."""
    path = os.environ.get("GPCATALOG_TEST_PARTMAN")
    with psycopg.connect(dsn, autocommit=True) as conn:
        if path and conn.info.server_version >= 180000:
            conn.execute(
                "SELECT set_config('extension_control_path', %s, false)", [f"$system:{path}"]
            )
        there = conn.execute(
            "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'"
        ).fetchone()
        if there is None:
            pytest.skip(
                "no pg_partman: install postgresql-15-partman; GPCATALOG_TEST_PARTMAN names a folder for PostgreSQL 18"
            )
        conn.execute("CREATE SCHEMA partman")
        conn.execute("CREATE EXTENSION pg_partman SCHEMA partman")
        return int(there[0].split(".")[0])


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
@pytest.mark.parametrize("kind", ["date", "timestamptz"])
def test_maintenance_follows(
    fixture: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_partman")
    version = partman(dsn)
    say = "'t_made', 'd', 'native', 'daily'" if version == 4 else "'public.t', 'd', '1 day'"
    made.execute(
        dsn,
        # another table, which does not change
        "CREATE TABLE a (id int NOT NULL, d date NOT NULL) PARTITION BY RANGE (d)",
        f"SELECT partman.create_parent({say.replace('t_made', 'public.a').replace('public.t', 'public.a')}, p_premake := 2)",
        f"CREATE TABLE t (id int NOT NULL, d {kind} NOT NULL, v text) PARTITION BY RANGE (d)",
        f"SELECT partman.create_parent({say.replace('t_made', 'public.t')}, p_premake := 6, p_start_partition := (current_date - 70)::text)",
        "CREATE INDEX t_v ON t (v)",
        "INSERT INTO t SELECT i, current_date - i % 70, 'x' || i FROM generate_series(1, 700) i",
        "CREATE UNIQUE INDEX ON partman.template_public_t (id)",
        "ANALYZE t",
    )
    rows, before = made.rows_of(dsn, "t"), made.fetch(dsn, LEAVES)
    plan = made.plan_of(dsn, SUNDRY + "[[table]]\nmatch = 'public.a'\nskip = true\n")
    kinds = [s.__struct_config__.tag for t in plan.tables if t.table == "t" for s in t.steps]
    assert kinds.count("merge") >= 1
    assert kinds[-1] == "reconfigure"
    files = made.written(dsn, tmp_path / "sql", plan)
    assert files.refused == []
    files.all()
    after = made.fetch(dsn, LEAVES)
    assert len(after) < len(before) - 20
    assert made.rows_of(dsn, "t") == rows
    assert made.fetch(
        dsn,
        "SELECT partition_interval::interval = '1 month', premake FROM partman.part_config WHERE parent_table = 'public.t'",
    ) == [(True, 1)]
    # it reads all partitions in order, whether it created them or not
    shown = [
        r[0]
        for r in made.fetch(
            dsn, "SELECT partition_tablename FROM partman.show_partitions('public.t')"
        )
    ]
    assert sorted(shown) == sorted(r[0] for r in after)
    # the last partition is a complete month, with the properties of the template
    (_, start, end) = after[-1]
    assert (start.day, end.day, (end - start).days > 27) == (1, 1, True)
    unique = "SELECT count(*) FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid WHERE x.indisunique AND c.relname = '{}'"
    assert made.fetch(dsn, unique.format(after[-1][0])) == [(1,)]
    # later months
    for months in range(4):
        made.execute(
            dsn, "SELECT partman.run_maintenance('public.t')", "SELECT partman.run_maintenance()"
        )
        made.execute(
            dsn,
            f"INSERT INTO t SELECT 1000 + {months}, max({LEAVES_END}) - interval '1 day', 'later' FROM {LEAVES_FROM}",
        )
    made.execute(dsn, "SELECT partman.run_maintenance()")
    new = [r for r in made.fetch(dsn, LEAVES) if r not in after]
    assert len(new) >= 3
    assert all(
        start.day == 1 and end.day == 1 and 27 < (end - start).days < 32 for _, start, end in new
    )
    defaults = made.fetch(dsn, "SELECT count(*) FROM t_default")
    assert defaults == [(0,)]
    # the rollback
    files.run("rollback/0001_public_t.sql")
    assert made.fetch(
        dsn,
        "SELECT partition_interval::interval = '1 day', premake FROM partman.part_config WHERE parent_table = 'public.t'",
    ) == [(True, 6)]
    files.run("cleanup.sql")


LEAVES_FROM = f"({LEAVES}) q (name, low, high)"
LEAVES_END = "q.high"


def test_changed_configuration_stops_it(pg_dsn: str, tmp_path: Path) -> None:
    dsn = fresh_database(pg_dsn, "mig_partman_changed")
    partman(dsn)
    made.execute(
        dsn,
        "CREATE TABLE t (id int NOT NULL, d date NOT NULL) PARTITION BY RANGE (d)",
        "SELECT partman.create_parent('public.t', 'd', 'native', 'daily', p_start_partition := (current_date - 70)::text)",
        "INSERT INTO t SELECT i, current_date - i % 70 FROM generate_series(1, 700) i",
        "ANALYZE t",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, SUNDRY))
    files.run("0000_prepare.sql")
    made.execute(dsn, "DROP TABLE partman.template_public_t")
    done = files.run("0001_public_t.sql", check=False)
    assert done.returncode == 3
    assert "template table partman.template_public_t does not exist any more" in done.stderr
    made.execute(dsn, "UPDATE partman.part_config SET partition_interval = '1 week'")
    assert "interval is 1 week and was" in files.run("0001_public_t.sql", check=False).stderr
