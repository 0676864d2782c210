"""Comments and other properties of single leaves: what a merge loses is listed, and the rollback restores it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ["gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]
DAYS = range(1, 6)
# comments on everything in the database, and owners and targets of statistics objects
COMMENTS = """
    SELECT d.classid::regclass::text, pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
      FROM (SELECT classoid, classoid AS classid, objoid, objsubid, description FROM pg_description
             WHERE objoid >= 16384) d
     WHERE pg_describe_object(d.classoid, d.objoid, d.objsubid) !~ 'gpcatalog_journal'
     ORDER BY 1, 2"""
OBJECTS = """
    SELECT s.stxname::text, s.stxrelid::regclass::text, pg_get_userbyid(s.stxowner)::text
      FROM pg_statistic_ext s ORDER BY 1"""


def _table(dsn: str, table: str, *, distributed: str = "") -> None:
    made.execute(
        dsn,
        f"CREATE TABLE {table} (id int NOT NULL, d date, v text, CONSTRAINT {table}_ck CHECK (id >= 0))"
        f"{distributed} PARTITION BY RANGE (d)",
        f"CREATE INDEX {table}_v ON {table} (v)",
        *(
            f"CREATE TABLE {table}_{n} PARTITION OF {table} FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}')"
            for n in DAYS
        ),
        f"INSERT INTO {table} SELECT i, date '2020-01-01' + i % 5, 'x' FROM generate_series(1, 50) i",
    )


def _trigger(dsn: str, table: str) -> None:
    made.execute(
        dsn,
        f"CREATE TRIGGER tr AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    )


def _not_null(dsn: str, table: str) -> str:
    """Name of the NOT NULL constraint of a table; '' before PostgreSQL 18, where it has none."""
    found = made.fetch(
        dsn,
        f"SELECT conname::text FROM pg_constraint WHERE contype = 'n' AND conrelid = '{table}'::regclass",
    )
    return found[0][0] if found else ""


def _comment(dsn: str, leaf: str, *, trigger: bool, text: str = "its own") -> set[str]:
    """Comment on every object of a leaf. Returns what a merge is expected to lose."""
    table = leaf.rpartition("_")[0]
    made.execute(
        dsn,
        f"COMMENT ON COLUMN {leaf}.v IS '{text}'",
        f"COMMENT ON CONSTRAINT {table}_ck ON {leaf} IS '{text}'",
        f"COMMENT ON INDEX {leaf}_v_idx IS '{text}'",
    )
    found = {"comment on column v", f"comment on constraint {table}_ck"}
    if trigger:
        made.execute(dsn, f"COMMENT ON TRIGGER tr ON {leaf} IS '{text}'")
        found.add("comment on trigger tr")
    if name := _not_null(dsn, leaf):
        made.execute(dsn, f"COMMENT ON CONSTRAINT {name} ON {leaf} IS '{text}'")
        found.add("comment on NOT NULL of column id")
    return found


@pytest.mark.parametrize("fixture", SERVERS)
def test_comments_of_one_leaf(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The plan and `migrate` list each comment of one leaf, also of the newest one. The rollback restores all of them."""
    dsn = fresh_database(request.getfixturevalue(fixture), "comments")
    trigger = fixture != "gp7_dsn"  # Greenplum 7 has no row triggers on partitioned tables
    for table in ("old", "newest", "same"):
        _table(dsn, table)
        if trigger:
            _trigger(dsn, table)
    expected = {
        "old": _comment(dsn, "old_2", trigger=trigger),
        "newest": _comment(dsn, "newest_5", trigger=trigger),
        "same": set[str](),
    }
    for n in DAYS:
        kept = _comment(dsn, f"same_{n}", trigger=trigger)
    before = made.fetch(dsn, COMMENTS)
    plan = made.plan_of(dsn)
    planned = {
        t.table: {line.partition(" on 1 of 5 ")[0] for s in t.steps for line in s.lost}
        for t in plan.tables
    }
    files = made.written(dsn, tmp_path / "sql", plan)
    assert not files.refused
    for work in files.work:
        table = work.context.root.name
        lost = {
            line.partition(" on 1 of 5 ")[0]
            for change in work.forward
            for line in change.lost
            if not line.startswith("comments and statistics targets of indexes")
        }
        assert (table, lost) == (table, expected[table])
        assert planned[table] - {"comments and statistics targets of indexes"} == lost
    files.all()
    # those that all leaves have are kept
    after = [text for _, what, text in made.fetch(dsn, COMMENTS) if "same" in what]
    assert len(after) == len(kept) + 1
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert made.fetch(dsn, COMMENTS) == before


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_trigger_comments_below_a_removed_level(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A leaf that replaces its parent keeps the comments of its triggers, and so does the leaf that the rollback restores."""
    dsn = fresh_database(request.getfixturevalue(fixture), "comments_flatten")
    made.execute(dsn, "CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)")
    for n in DAYS:
        made.execute(
            dsn,
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}') PARTITION BY LIST (id)",
            f"CREATE TABLE t_{n}_x PARTITION OF t_{n} DEFAULT",
        )
    _trigger(dsn, "t")
    made.execute(dsn, "COMMENT ON TRIGGER tr ON t_2_x IS 'of the leaf'")
    before = made.fetch(dsn, COMMENTS)
    plan = made.plan_of(dsn, made.EAGER + "flatten = true\n")
    files = made.written(dsn, tmp_path / "sql", plan)
    assert {type(change).__name__ for work in files.work for change in work.forward} == {
        "FlattenLevel"
    }
    assert not any(change.lost for work in files.work for change in work.forward)
    files.all()
    assert [row[1:] for row in made.fetch(dsn, COMMENTS)] == [
        ("trigger tr on table t_2", "of the leaf")
    ]
    files.run(f"rollback/{files.forward()[0]}")
    assert made.fetch(dsn, COMMENTS) == before


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_properties_of_statistics_objects(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Owner, target and comment of the objects of single leaves are listed, and so is a second object for the same columns."""
    dsn = fresh_database(request.getfixturevalue(fixture), "comments_statistics")
    made.roles(dsn, "mig_other")
    _table(dsn, "t")
    made.execute(
        dsn,
        *(f"CREATE STATISTICS x{n} ON id, v FROM t_{n}" for n in DAYS),
        "ALTER STATISTICS x1 SET STATISTICS 50",
        "COMMENT ON STATISTICS x2 IS 'its own'",
        "ALTER STATISTICS x3 OWNER TO mig_other",
        "CREATE STATISTICS y4 ON id, v FROM t_4",
    )
    before = (made.fetch(dsn, COMMENTS), made.fetch(dsn, OBJECTS))
    plan = made.plan_of(dsn)
    files = made.written(dsn, tmp_path / "sql", plan)
    (work,) = files.work
    expected = {
        "statistics object public.x1: the new object has another statistics target or none",
        "statistics object public.x2: the new object has another comment or none",
        "statistics object public.x3: the new object has another owner or none",
        "statistics object public.y4: the partitions do not all have the same ones",
    }
    assert {line for change in work.forward for line in change.lost} == expected
    assert {line for step in plan.tables[0].steps for line in step.lost} == expected
    files.all()
    files.run(f"rollback/{files.forward()[0]}")
    assert (made.fetch(dsn, COMMENTS), made.fetch(dsn, OBJECTS)) == before


@pytest.mark.parametrize("fixture", ["pgnew_dsn", "pg19_dsn"])
def test_tablespace_of_one_index(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """An index that is in another tablespace on one leaf is listed, and the rollback restores it."""
    dsn = fresh_database(request.getfixturevalue(fixture), "comments_tablespace")
    if not made.fetch(dsn, "SELECT 1 FROM pg_tablespace WHERE spcname = 'mig_indexes'"):
        made.execute(
            dsn,
            "SET allow_in_place_tablespaces = on",
            "CREATE TABLESPACE mig_indexes LOCATION ''",
        )
    _table(dsn, "t")
    made.execute(dsn, "ALTER INDEX t_2_v_idx SET TABLESPACE mig_indexes")
    places = "SELECT relname::text FROM pg_class WHERE reltablespace <> 0 AND relkind = 'i'"
    before = made.fetch(dsn, f"{places} AND relname LIKE 't%'")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    (work,) = files.work
    assert [line for change in work.forward for line in change.lost] == [
        "tablespace of index btree (v) on 1 of 5 partitions: the new partition has that of t_5"
    ]
    files.all()
    files.run(f"rollback/{files.forward()[0]}")
    assert made.fetch(dsn, f"{places} AND relname LIKE 't%'") == before


def test_comment_on_a_constraint_of_one_leaf(gp6_dsn: str, tmp_path: Path) -> None:
    """On Greenplum 6, too, the plan and `migrate` list a comment on a CHECK constraint, and the rollback restores it."""
    dsn = fresh_database(gp6_dsn, "comments_classic")
    for table in ("t", "same"):
        made.execute(
            dsn,
            f"CREATE TABLE {table} (id int, d date, CONSTRAINT ck CHECK (id >= 0)) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2020-01-01') END (date '2020-01-06') EVERY (interval '1 day'))",
            f"INSERT INTO {table} SELECT i, date '2020-01-01' + i % 5 FROM generate_series(1, 50) i",
        )
    made.execute(
        dsn,
        "COMMENT ON CONSTRAINT ck ON t_1_prt_2 IS 'its own'",
        *(f"COMMENT ON CONSTRAINT ck ON same_1_prt_{n} IS 'all'" for n in DAYS),
    )
    before = made.fetch(dsn, COMMENTS)
    plan = made.plan_of(dsn)
    lost = "comment on constraint ck on 1 of 5 partitions: the new partition has none"
    planned = {t.table: [line for s in t.steps for line in s.lost] for t in plan.tables}
    assert planned == {"t": [lost], "same": []}
    files = made.written(dsn, tmp_path / "sql", plan)
    reported = {
        w.context.root.name: [line for c in w.forward for line in c.lost] for w in files.work
    }
    assert reported == {"t": [lost], "same": []}
    files.all()
    assert [text for _, _, text in made.fetch(dsn, COMMENTS)] == ["all"]
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert made.fetch(dsn, COMMENTS) == before
