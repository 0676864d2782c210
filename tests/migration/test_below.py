"""A partition is replaced with all partitions below it: a partition created after the plan stops the step, and no row is lost."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from gpcatalog.migration.request import Request
from tests.conftest import fresh_database
from tests.migration import made, zoo
from tests.migration.made import EAGER
from tests.recorded import FIXTURES

SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn")
LEAVES = "SELECT count(*) FROM pg_inherits i WHERE NOT EXISTS (SELECT 1 FROM pg_inherits b WHERE b.inhparent = i.inhrelid)"


def partitioned(dsn: str, fixture: str, *, days: int = 33, parts: str = "ab") -> None:
    """Create table t, partitioned by day and list, with 20 rows per day in the first two lists."""
    end = date(2022, 1, 1) + timedelta(days)
    if fixture.startswith("gp"):
        template = ", ".join(f"SUBPARTITION {p} VALUES ('{p}')" for p in parts)
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, r text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)"
            f" PARTITION BY RANGE (d) SUBPARTITION BY LIST (r) SUBPARTITION TEMPLATE ({template})"
            f" (START (date '2022-01-01') END (date '{end}') EVERY (interval '1 day'))",
        )
    else:
        made.execute(dsn, "CREATE TABLE t (id int, d date, r text) PARTITION BY RANGE (d)")
        for n in range(days):
            day = made.fetch(dsn, f"SELECT date '2022-01-01' + {n}, date '2022-01-02' + {n}")[0]
            made.execute(
                dsn,
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('{day[0]}') TO ('{day[1]}') PARTITION BY LIST (r)",
                *(
                    f"CREATE TABLE t_{n}_{p} PARTITION OF t_{n} FOR VALUES IN ('{p}')"
                    for p in parts
                ),
            )
    made.execute(
        dsn,
        f"INSERT INTO t SELECT i, date '2022-01-01' + i % {days}, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 660) i",
    )


def came(dsn: str, fixture: str, day: str) -> None:
    """Create subpartition c below the partition of a day, with one row."""
    if fixture == "gp6_dsn":
        made.execute(
            dsn, f"ALTER TABLE t ALTER PARTITION FOR (date '{day}') ADD PARTITION c VALUES ('c')"
        )
    elif fixture == "gp7_dsn":
        made.execute(
            dsn, f"ALTER TABLE t ALTER PARTITION FOR ('{day}') ADD PARTITION c VALUES ('c')"
        )
    else:
        ((middle,),) = made.fetch(
            dsn,
            "SELECT (SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = x.leaf)"
            f" FROM (SELECT tableoid AS leaf FROM t WHERE d = '{day}' LIMIT 1) x",
        )
        made.execute(dsn, f"CREATE TABLE t_c PARTITION OF {middle} FOR VALUES IN ('c')")
    made.execute(dsn, f"INSERT INTO t VALUES (4711, '{day}', 'c')")


@pytest.mark.parametrize("fixture", SERVERS)
def test_merge_and_back(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A subpartition is created before the script, or before its rollback."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_below")
    partitioned(dsn, fixture)
    files = made.written(
        dsn, tmp_path / "sql", made.plan_of(dsn, EAGER), request=Request(strict=False)
    )
    assert files.steps == 2
    (name,) = files.forward()
    files.run("0000_prepare.sql")
    came(dsn, fixture, "2022-01-08")
    rows = made.rows_of(dsn, "t")
    done = files.run(name, check=False)
    assert done.returncode == 3
    assert "below the partitions that this step removes: new" in done.stderr
    assert made.rows_of(dsn, "t") == rows
    made.execute(dsn, "DELETE FROM t WHERE r = 'c'")
    if fixture == "gp6_dsn":
        made.execute(dsn, "ALTER TABLE t ALTER PARTITION FOR (date '2022-01-08') DROP PARTITION c")
    else:
        made.execute(
            dsn,
            "DROP TABLE "
            + made.fetch(
                dsn, "SELECT relname FROM pg_class WHERE relname ~ '^t.*c$' AND relkind = 'r'"
            )[0][0],
        )
    files.run(name)
    came(dsn, fixture, "2022-01-09")
    assert made.fetch(dsn, "SELECT count(*) FROM t WHERE r = 'c'") == [(1,)]
    done = files.run(f"rollback/{name}", check=False)
    assert done.returncode == 3
    assert "below the partitions that this step removes: new" in done.stderr
    assert made.fetch(dsn, "SELECT count(*) FROM t") == [(661,)]


def three_levels(dsn: str, fixture: str, days: int) -> None:
    """Create table t, partitioned by day, list and range, with rows in all leaves."""
    end = date(2022, 1, 1) + timedelta(days)
    if fixture.startswith("gp"):
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, r text) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " SUBPARTITION BY LIST (r) SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a'), SUBPARTITION b VALUES ('b'))"
            " SUBPARTITION BY RANGE (id) SUBPARTITION TEMPLATE (SUBPARTITION lo START (0) END (100), SUBPARTITION hi START (100) END (1000))"
            f" (START (date '2022-01-01') END (date '{end}') EVERY (interval '1 day'))",
        )
    else:
        made.execute(dsn, "CREATE TABLE t (id int, d date, r text) PARTITION BY RANGE (d)")
        for n in range(days):
            day = date(2022, 1, 1) + timedelta(n)
            made.execute(
                dsn,
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('{day}') TO ('{day + timedelta(1)}') PARTITION BY LIST (r)",
                *(
                    statement
                    for p in "ab"
                    for statement in (
                        f"CREATE TABLE t_{n}_{p} PARTITION OF t_{n} FOR VALUES IN ('{p}') PARTITION BY RANGE (id)",
                        f"CREATE TABLE t_{n}_{p}_lo PARTITION OF t_{n}_{p} FOR VALUES FROM (0) TO (100)",
                        f"CREATE TABLE t_{n}_{p}_hi PARTITION OF t_{n}_{p} FOR VALUES FROM (100) TO (1000)",
                    )
                ),
            )
    made.execute(
        dsn,
        f"INSERT INTO t SELECT i, date '2022-01-01' + i % {days}, substr('ab', 1 + i % 2, 1) FROM generate_series(1, 660) i",
        "ANALYZE t",
    )


@pytest.mark.parametrize("fixture", SERVERS)
def test_three_levels(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Partitions of each level are named after their parents, and the rollback restores them."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_below_three")
    three_levels(dsn, fixture, 5)
    generation = FIXTURES[fixture]
    picture, rows = zoo.picture(dsn, generation), made.rows_of(dsn, "t")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, EAGER), count=True)
    assert (files.steps, files.refused) == (1, [])
    files.all()
    assert made.rows_of(dsn, "t") == rows
    after = zoo.picture(dsn, generation)
    assert len(after) == 1 + 1 + 2 + 4
    (top,) = [
        n
        for n in after
        if n.count("_") == min(m.count("_") for m in after if m != "public.t") and n != "public.t"
    ]
    assert all(n.startswith(top) for n in after if n != "public.t"), after.keys()
    ends = ("a", "a_lo", "a_hi", "b", "b_lo", "b_hi")
    if fixture.startswith("gp"):
        ends = tuple(
            f"2_prt_{e}".replace("_lo", "_3_prt_lo").replace("_hi", "_3_prt_hi") for e in ends
        )
    assert sorted(n.removeprefix(f"{top}_") for n in after if n not in ("public.t", top)) == sorted(
        ends
    )
    files.run(f"rollback/{files.forward()[0]}")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.picture(dsn, generation) == picture


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_template_says_what_new_tables_get(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Merged partitions have the subpartitions of their parts, even if the template differs now. The template does not change."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_template_other")
    partitioned(dsn, fixture)
    made.execute(
        dsn,
        "ALTER TABLE t SET SUBPARTITION TEMPLATE (SUBPARTITION a VALUES ('a') WITH (appendonly=true, orientation=column, compresstype=zlib),"
        " SUBPARTITION b VALUES ('b'), SUBPARTITION c VALUES ('c'), SUBPARTITION quiet VALUES ('it''s', 'x'))",
    )
    classic = fixture == "gp6_dsn"
    template = (
        "SELECT pg_get_partition_template_def('t'::regclass, true, true)"
        if classic
        else "SELECT template::text FROM gp_partition_template"
    )
    before, leaves, rows = (
        made.fetch(dsn, template),
        made.fetch(dsn, LEAVES),
        made.rows_of(dsn, "t"),
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, EAGER))
    assert files.refused == []
    files.all()
    assert made.fetch(dsn, template) == before
    assert made.fetch(dsn, LEAVES) == [(4,)]
    assert made.rows_of(dsn, "t") == rows
    with pytest.raises(Exception, match="no partition"):
        made.execute(dsn, "INSERT INTO t VALUES (1, '2022-01-08', 'c')")
    files.run(f"rollback/{files.forward()[0]}")
    assert made.fetch(dsn, template) == before
    assert made.fetch(dsn, LEAVES) == leaves
    assert made.rows_of(dsn, "t") == rows


@pytest.mark.parametrize("fixture", SERVERS)
def test_unpartition(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Unpartitioning removes all partitions: a new subpartition stops the step, even with --accept-new-leaves."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_below_plain")
    partitioned(dsn, fixture, days=3)
    rules = EAGER + 'unpartition_below = "10GB"\n'
    plan = made.plan_of(dsn, rules)
    assert [s.__struct_config__.tag for t in plan.tables for s in t.steps] == ["unpartition"], plan
    files = made.written(dsn, tmp_path / "sql", plan, request=Request(strict=False))
    files.run("0000_prepare.sql")
    came(dsn, fixture, "2022-01-02")
    done = files.run(files.forward()[0], check=False)
    assert done.returncode == 3
    assert "below the partitions that this step removes: new" in done.stderr
    assert made.fetch(dsn, "SELECT count(*) FROM t") == [(661,)]


@pytest.mark.parametrize("fixture", SERVERS)
def test_drop_of_empty_partitions(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A partition that was empty has a new subpartition with a row."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_below_empty")
    partitioned(dsn, fixture, days=6)
    made.execute(dsn, "DELETE FROM t WHERE d = '2022-01-03'")
    if fixture.startswith("gp"):
        # deleted rows keep their files
        made.execute(
            dsn,
            "TRUNCATE " + made.fetch(dsn, "SELECT 't_1_prt_3_2_prt_a'")[0][0],
            "TRUNCATE t_1_prt_3_2_prt_b",
        )
    else:
        made.execute(dsn, "TRUNCATE t_2")
    made.execute(dsn, "ANALYZE t")
    plan = made.plan_of(
        dsn,
        '[weights]\nrewrite = 0.0\nscan = 0.0\ndrop = 0.0\n[default]\nhot_days = 0\ngrains = {day = "0d"}\nempty = "drop"\n',
    )
    kinds = [s.__struct_config__.tag for t in plan.tables for s in t.steps]
    assert "drop-empty" in kinds, kinds
    files = made.written(dsn, tmp_path / "sql", plan, request=Request(strict=False))
    files.run("0000_prepare.sql")
    if fixture.startswith("gp"):
        came(dsn, fixture, "2022-01-03")
    else:
        made.execute(
            dsn,
            "CREATE TABLE t_c PARTITION OF t_2 FOR VALUES IN ('c')",
            "INSERT INTO t VALUES (4711, '2022-01-03', 'c')",
        )
    done = files.run(files.forward()[0], check=False)
    assert done.returncode == 3
    assert "below the partitions that this step removes: new" in done.stderr
    assert made.fetch(dsn, "SELECT count(*) FROM t WHERE r = 'c'") == [(1,)]


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_a_second_plan_after_a_dropped_column(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Merged partitions lack the dropped column, so the attribute numbers of their distribution key differ from the table's.

    The columns of the distribution key are the same.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "second_plan")
    made.execute(
        dsn,
        "CREATE TABLE t (gone int, id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (START (date '2022-01-01')"
        " END (date '2022-03-01') EVERY (interval '1 day'))",
        "ALTER TABLE t DROP COLUMN gone",
        "INSERT INTO t SELECT i, date '2022-01-01' + i % 59 FROM generate_series(1, 300) i",
    )
    rows = made.rows_of(dsn, "t")
    for name, leaves in (("month", 2), ("year", 1)):
        plan = made.plan_of(dsn, made.EAGER.replace("month", name))
        files = made.written(dsn, tmp_path / name, plan)
        assert not files.refused
        files.all()
        assert made.rows_of(dsn, "t") == rows
        found = made.fetch(dsn, "SELECT count(*) FROM pg_class WHERE relname LIKE 't\\_%'")
        assert found == [(leaves,)]


def test_ends_that_belong_to_a_partition(gp6_dsn: str, tmp_path: Path) -> None:
    """No value is between END ('2022-01-08') INCLUSIVE and START ('2022-01-09'): the partitions are merged and restored."""
    dsn = fresh_database(gp6_dsn, "inclusive_ends")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION a START (date '2022-01-06') END"
        " (date '2022-01-08') INCLUSIVE, PARTITION b START (date '2022-01-09') END (date '2022-02-01'))",
        "INSERT INTO t SELECT i, date '2022-01-06' + i % 26 FROM generate_series(1, 100) i",
    )
    rows = made.rows_of(dsn, "t")
    bounds = "SELECT partitionboundary FROM pg_partitions WHERE tablename = 't' ORDER BY partitionrangestart"
    before = made.fetch(dsn, bounds)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert not files.refused
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert len(made.fetch(dsn, bounds)) == 1
    files.run(f"rollback/{files.forward()[0]}")
    assert made.rows_of(dsn, "t") == rows
    assert made.fetch(dsn, bounds) == before


NEIGHBORS = (
    "(START (date '2022-01-01') END (date '2022-01-06') INCLUSIVE EVERY (interval '1 day'),"
    " {}PARTITION l START (date '2022-01-06') EXCLUSIVE END (date '2022-01-09')"
)
AFTER_INCLUSIVE = {
    "last": f"PARTITION BY RANGE (d) {NEIGHBORS.format('')})",
    "in_default": f"PARTITION BY RANGE (d) {NEIGHBORS.format('')}, DEFAULT PARTITION other)",
    "not_last": f"PARTITION BY RANGE (d) {NEIGHBORS.format('')}, PARTITION m START (date '2022-01-09') END (date '2022-03-01'))",
    "below": f"PARTITION BY LIST (id) SUBPARTITION BY RANGE (d) SUBPARTITION TEMPLATE {NEIGHBORS.format('SUB')})"
    " (PARTITION a VALUES (0), PARTITION b VALUES (1))",
}


def test_start_that_excludes_an_inclusive_end(gp6_dsn: str, tmp_path: Path) -> None:
    """Partitions of which one starts EXCLUSIVE where the one below ends INCLUSIVE are merged and restored."""
    dsn = fresh_database(gp6_dsn, "exclusive_starts")
    for name, parts in AFTER_INCLUSIVE.items():
        made.execute(
            dsn,
            f"CREATE TABLE {name} (id int, d date, v int) DISTRIBUTED BY (v) {parts}",
            f"INSERT INTO {name} SELECT i % 2, date '2022-01-01' + i % 8, i FROM generate_series(1, 100) i",
        )
    rows = {name: made.rows_of(dsn, name) for name in AFTER_INCLUSIVE}
    bounds = (
        "SELECT tablename::text, partitiontablename::text,"
        " regexp_replace(regexp_replace(partitionboundary, '^.*?PARTITION \\S+ ', ''), ' EVERY .*', '')"
        " FROM pg_partitions ORDER BY 1, 2"
    )
    before = made.fetch(dsn, bounds)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert not files.refused
    files.all()
    assert len(made.fetch(dsn, bounds)) < len(before) / 2
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert {name: made.rows_of(dsn, name) for name in AFTER_INCLUSIVE} == rows
    assert made.fetch(dsn, bounds) == before


def test_last_partition_that_starts_exclusive(gp6_dsn: str, tmp_path: Path) -> None:
    """A step, or a rollback, that adds such a partition where the server rejects it, is refused."""
    dsn = fresh_database(gp6_dsn, "exclusive_last")
    made.execute(
        dsn,
        # the first one is in another month
        "CREATE TABLE merged (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION a START (date '2021-11-01')"
        " END (date '2021-12-31') INCLUSIVE, PARTITION b START (date '2021-12-31') EXCLUSIVE END (date '2022-01-05'),"
        " PARTITION c START (date '2022-01-05') END (date '2022-01-09'))",
        "INSERT INTO merged SELECT i, date '2021-12-01' + i % 38 FROM generate_series(1, 200) i",
        "CREATE TABLE emptied (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION a START (date '2022-01-01')"
        " END (date '2022-01-31') INCLUSIVE, PARTITION b START (date '2022-01-31') EXCLUSIVE END (date '2022-02-09'))",
        "INSERT INTO emptied SELECT i, date '2022-01-01' + i % 6 FROM generate_series(1, 100) i",
        # the value where they meet belongs to none of them
        "CREATE TABLE merged_last (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION a START (date '2021-11-01')"
        " END (date '2021-12-31'), PARTITION b START (date '2021-12-31') EXCLUSIVE END (date '2022-01-05'),"
        " PARTITION c START (date '2022-01-05') END (date '2022-01-09'))",
        "INSERT INTO merged_last SELECT i, date '2022-01-01' + i % 8 FROM generate_series(1, 200) i",
        "INSERT INTO merged_last VALUES (1, '2021-11-05')",
        "CREATE TABLE merged_first (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION a START (date '2021-12-01')"
        " END (date '2021-12-20'), PARTITION b START (date '2021-12-20') END (date '2022-01-01'),"
        " PARTITION c START (date '2022-01-01') EXCLUSIVE END (date '2022-01-09'))",
        "INSERT INTO merged_first SELECT i, date '2021-12-01' + i % 31 FROM generate_series(1, 200) i",
        "INSERT INTO merged_first VALUES (1, '2022-01-05')",
        "CREATE TABLE emptied_first (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d) (PARTITION a START (date '2021-12-01')"
        " END (date '2022-01-01'), PARTITION b START (date '2022-01-01') EXCLUSIVE END (date '2022-01-31'),"
        " PARTITION c START (date '2022-02-01') END (date '2022-02-09'))",
        "INSERT INTO emptied_first SELECT i, date '2022-01-02' + i % 9 FROM generate_series(1, 100) i",
        "INSERT INTO emptied_first SELECT i, date '2022-02-02' FROM generate_series(1, 100) i",
    )
    rules = made.EAGER.replace('empty = "keep"', 'empty = "drop"')
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, rules))
    reasons = {r.table: r.reason for r in files.refused}
    last = "starts EXCLUSIVE where another partition ends, and no partition follows it"
    first = "ends where another partition starts EXCLUSIVE, and no partition precedes it"
    assert {
        table.removeprefix("public."): (last in r, first in r) for table, r in reasons.items()
    } == {
        "emptied": (True, False),
        "merged": (True, False),
        "merged_last": (True, False),
        "merged_first": (False, True),
        "emptied_first": (False, True),
    }
