"""Unused subpartitions are dropped, also from the template; if subpartitions are merged, the template is changed accordingly."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcatalog.planner.operations import DropEmpty, Merge, Reconfigure
from tests.conftest import fresh_database
from tests.migration import made, zoo

GENERATION = {"gp6_dsn": "gp6", "gp7_dsn": "gp7"}
TRIM = made.EAGER + 'unused_subpartitions = "drop"\n'


def leaves(dsn: str) -> list[str]:
    return [
        n
        for (n,) in made.fetch(
            dsn,
            "SELECT relname::text FROM pg_class WHERE relname LIKE 't\\_1\\_prt%2\\_prt%' AND relkind = 'r' ORDER BY 1",
        )
    ]


def by_region(dsn: str, other: str = ", DEFAULT SUBPARTITION other") -> None:
    made.execute(
        dsn,
        "CREATE TABLE t (id int, day date, region text, v text ENCODING (compresstype=zlib, compresslevel=5))"
        " WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id) PARTITION BY RANGE (day) SUBPARTITION BY LIST (region)"
        " SUBPARTITION TEMPLATE (SUBPARTITION usa VALUES ('usa') WITH (appendonly=true, orientation=row),"
        " SUBPARTITION \"E'u\" VALUES ('eu', 'uk') WITH (appendonly=true, orientation=column),"
        f" SUBPARTITION asia VALUES ('asia') WITH (appendonly=true, orientation=column){other})"
        " (START (date '2024-01-01') END (date '2024-01-06') EVERY (interval '1 day'))",
        "CREATE INDEX t_v ON t (v)",
        "INSERT INTO t SELECT i, date '2024-01-01' + i % 4, CASE i % 3 WHEN 0 THEN 'usa' ELSE 'uk' END, 'x' FROM generate_series(1, 300) i",
        "ANALYZE t",
    )


def weighed(dsn: str) -> tuple[int, int]:
    """Rows of all catalogs of the cost model on the first segment: without pg_depend, and of pg_depend."""
    found = 0
    names = "pg_class pg_attribute pg_type pg_index pg_inherits pg_constraint pg_appendonly pg_attribute_encoding gp_fastsequence gp_distribution_policy".split()
    for name in names:
        ((n,),) = made.fetch(
            dsn, f"SELECT count(*) FROM gp_dist_random('pg_catalog.{name}') WHERE gp_segment_id = 0"
        )
        found += n
    ((depend,),) = made.fetch(
        dsn, "SELECT count(*) FROM gp_dist_random('pg_catalog.pg_depend') WHERE gp_segment_id = 0"
    )
    return found, depend


@pytest.mark.parametrize("fixture", GENERATION)
def test_unused_subpartitions(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_trim")
    by_region(dsn)
    picture, rows = zoo.picture(dsn, GENERATION[fixture]), made.rows_of(dsn, "t")
    plan = made.plan_of(dsn, TRIM)
    table = plan.tables[0]
    *drops, last = table.steps
    assert [type(s) for s in drops] == [DropEmpty] * 5
    assert {s.where for s in drops} == {"unused"}
    assert all("asia" in leaf.bound for s in drops for leaf in s.leaves)
    assert isinstance(last, Reconfigure)
    assert last.maker == "template"
    assert (table.leaves, table.leaves_after) == (20, 15)
    files = made.written(dsn, tmp_path / "sql", plan)
    assert (files.steps, files.refused) == (6, [])
    assert not any(o.lost for w in files.work for o in w.forward)
    files.run("0000_prepare.sql")  # creates the journal, which has catalog rows of its own
    before = weighed(dsn)
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert len(leaves(dsn)) == 15
    after = weighed(dsn)
    assert (
        sum(before) - sum(after) == sum(s.gain.rows for s in drops) == table.rows - table.rows_after
    )
    # a new partition has the other three, stored as in the template; rows of the dropped value are stored in the default partition
    made.execute(
        dsn, "ALTER TABLE t ADD PARTITION new START (date '2024-01-06') END (date '2024-01-07')"
    )
    fresh = [n for n in leaves(dsn) if "prt_new" in n]
    assert [n.rsplit("_prt_", 1)[1] for n in fresh] == ["E'u", "other", "usa"]
    made.execute(
        dsn,
        "INSERT INTO t VALUES (1, '2024-01-06', 'asia', 'y')",
        "INSERT INTO t VALUES (2, '2024-01-01', 'asia', 'y')",
    )
    kinds = {
        n.rsplit("_prt_", 1)[1]: v
        for n, v in zoo.picture(dsn, GENERATION[fixture]).items()
        if "prt_new_2" in n
    }
    assert kinds["usa"][3] in ("a", "ao_row")
    made.execute(dsn, "ALTER TABLE t DROP PARTITION new", "DELETE FROM t WHERE region = 'asia'")
    files.run("0001_public_t.sql")
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    assert zoo.changed(picture, zoo.picture(dsn, GENERATION[fixture])) == []
    made.execute(
        dsn, "ALTER TABLE t ADD PARTITION new START (date '2024-01-06') END (date '2024-01-07')"
    )
    assert sorted(n.rsplit("_prt_", 1)[1] for n in leaves(dsn) if "prt_new" in n) == sorted(
        ["E'u", "asia", "other", "usa"]
    )
    files.run("cleanup.sql")


def test_a_template_that_differs_from_the_partitions(gp7_dsn: str, tmp_path: Path) -> None:
    """Greenplum 7 does not print the options of a template: it is written from the partitions, which is announced."""
    dsn = fresh_database(gp7_dsn, "mig_other_template")
    by_region(dsn)
    made.execute(
        dsn,
        "ALTER TABLE t SET SUBPARTITION TEMPLATE (SUBPARTITION usa VALUES ('usa'), SUBPARTITION mars VALUES ('mars'))",
    )
    lost = (
        "what distinguishes the subpartition template of level 1 from the partitions: a rollback writes it from the"
        " partitions"
    )
    for name, rules in (
        ("trimmed", TRIM),
        ("plain", made.EAGER + 'unpartition_below = "10GB"\n'),
    ):
        files = made.written(dsn, tmp_path / name, made.plan_of(dsn, rules))
        assert files.refused == []
        assert [o.lost for w in files.work for o in w.forward if lost in o.lost] != [], name


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_unused_subpartitions_of_postgresql(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_trim")
    made.execute(dsn, "CREATE TABLE t (id int, day date, region text) PARTITION BY RANGE (day)")
    for n in range(1, 5):
        made.execute(
            dsn,
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2024-01-0{n}') TO ('2024-01-0{n + 1}') PARTITION BY LIST (region)",
            *(
                f"CREATE TABLE t_{n}_{r} PARTITION OF t_{n} FOR VALUES IN ('{r}')"
                for r in ("usa", "eu", "asia")
            ),
        )
    made.execute(
        dsn,
        "CREATE INDEX t_i ON t (id)",
        "INSERT INTO t SELECT i, date '2024-01-01' + i % 4, CASE i % 2 WHEN 0 THEN 'usa' ELSE 'eu' END FROM generate_series(1, 100) i",
        "ANALYZE t",
    )
    rows, picture = made.rows_of(dsn, "t"), zoo.picture(dsn, "pg18")
    plan = made.plan_of(dsn, TRIM)
    assert [type(s) for s in plan.tables[0].steps] == [DropEmpty] * 4  # no template to change
    assert plan.tables[0].seconds == pytest.approx(
        sum(s.cost.seconds for s in plan.tables[0].steps)
    )
    files = made.written(dsn, tmp_path / "sql", plan)
    assert (files.steps, files.refused) == (4, [])
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert not [n for n in zoo.picture(dsn, "pg18") if "asia" in n]
    files.run("rollback/0001_public_t.sql")
    assert zoo.changed(picture, zoo.picture(dsn, "pg18")) == []
    files.run("cleanup.sql")


def test_the_way_back_beside_nothing_but_a_default(gp7_dsn: str, tmp_path: Path) -> None:
    dsn = fresh_database(gp7_dsn, "mig_lone")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, day date) DISTRIBUTED BY (id) PARTITION BY RANGE (day)"
        " (START (date '2024-01-01') END (date '2024-01-03') EVERY (interval '1 day'), DEFAULT PARTITION other)",
        "INSERT INTO t VALUES (1, '2025-01-01')",
        "ANALYZE t",
    )
    picture = zoo.picture(dsn, "gp7")
    files = made.written(
        dsn,
        tmp_path / "sql",
        made.plan_of(
            dsn,
            made.EAGER.replace('"keep"', '"drop"', 1)
            .replace("[default]", "[default]\ngrains = {}", 1)
            .replace('grains = {month = "0d"}\n', ""),
        ),
    )
    assert files.steps == 1
    files.all()
    assert len(zoo.picture(dsn, "gp7")) == len(picture) - 2
    files.run("rollback/0001_public_t.sql")
    assert zoo.picture(dsn, "gp7") == picture
    files.run("cleanup.sql")


@pytest.mark.parametrize("fixture", GENERATION)
def test_a_value_that_came_since_stops_it(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_trim")
    by_region(dsn, other="")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, TRIM))
    made.execute(dsn, "INSERT INTO t VALUES (1, '2024-01-01', 'asia', 'y')")
    files.run("0000_prepare.sql")
    assert "was empty and now contains rows" in files.run("0001_public_t.sql", check=False).stderr
    assert len(leaves(dsn)) == 15
    # the subpartition has a row below one partition: no plan drops it any more
    assert not [s for s in made.plan_of(dsn, TRIM).tables[0].steps if isinstance(s, DropEmpty)]


@pytest.mark.long
@pytest.mark.parametrize("fixture", GENERATION)
def test_template_follows_merges(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_grain")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, day date, region text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)"
        " PARTITION BY LIST (region) SUBPARTITION BY RANGE (day)"
        " SUBPARTITION TEMPLATE (START (date '2023-12-30') END (date '2024-03-01') EVERY (interval '1 day')"
        " WITH (appendonly=true, orientation=column), DEFAULT SUBPARTITION rest)"
        " (PARTITION a VALUES ('a'), PARTITION b VALUES ('b'))",
        "INSERT INTO t SELECT i, date '2023-12-30' + i % 62, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 1000) i",
        "ANALYZE t",
    )
    rows = made.rows_of(dsn, "t")
    plan = made.plan_of(dsn)
    merges = [s for s in plan.tables[0].steps if isinstance(s, Merge)]
    assert len(merges) == 6
    follow = next(s for s in plan.tables[0].steps if isinstance(s, Reconfigure))
    assert follow.maker == "template"
    # the template is not changed if the names of merges already exist
    used_names = [s.name for s in merges if s.parent_name == follow.now["like"]]
    made.execute(dsn, *(f'CREATE TABLE "{name}" (i int)' for name in used_names))
    incomplete = made.written(dsn, tmp_path / "held", plan)
    assert [r.reason for r in incomplete.refused] == [
        *(
            f"a relation named public.{name} exists already: drop or rename it"
            for name in used_names
        ),
        f"the steps below {follow.now['like']} that this step depends on were refused",
    ]
    assert incomplete.steps == len(merges) - len(used_names) == 3
    made.execute(dsn, *(f'DROP TABLE "{name}"' for name in used_names))
    files = made.written(dsn, tmp_path / "sql", plan)
    assert files.refused == []
    files.all()
    assert made.rows_of(dsn, "t") == rows
    made.execute(
        dsn,
        "ALTER TABLE t ADD PARTITION c VALUES ('c')",
        "INSERT INTO t VALUES (1, '2024-02-29', 'c')",
    )
    assert (
        len([n for n in leaves(dsn) if "prt_c" in n]) == 4
    )  # two days of December, January, February, the default partition
    made.execute(dsn, "ALTER TABLE t DROP PARTITION c")
    files.run("rollback/0001_public_t.sql")
    assert made.rows_of(dsn, "t") == rows
    made.execute(dsn, "ALTER TABLE t ADD PARTITION c VALUES ('c')")
    assert len([n for n in leaves(dsn) if "prt_c" in n]) == 63
    files.run("cleanup.sql")
