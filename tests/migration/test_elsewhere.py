"""What a plan knows about other tables: objects of theirs that need a partition, and names of their new partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ["gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]
DAYS = (11, 12, 13)
# by name of the constant: what another relation has
NEEDS = {
    "default": "CREATE TABLE other (a int, r regclass DEFAULT '{leaf}'::regclass)",
    "check": "CREATE TABLE other (r regclass CHECK (r <> '{leaf}'::regclass))",
    "domain": "CREATE DOMAIN other AS regclass CHECK (VALUE <> '{leaf}'::regclass)",
    "policy": "CREATE POLICY p ON third USING (a IN (SELECT id FROM {leaf}))",
    "statistics": "CREATE STATISTICS s ON (r = '{leaf}'::regclass), a FROM third",
    "trigger": "CREATE TRIGGER w BEFORE UPDATE ON third FOR EACH ROW WHEN (OLD.r = '{leaf}'::regclass)"
    " EXECUTE FUNCTION suppress_redundant_updates_trigger()",
}


def _declarative(dsn: str, name: str, tail: str) -> None:
    made.execute(
        dsn,
        f"CREATE TABLE {name} (id int, d date) PARTITION BY RANGE (d){tail}",
        *(
            f"CREATE TABLE {name[0]}_{day} PARTITION OF {name} FOR VALUES FROM ('2020-01-{day}') TO ('2020-01-{day + 1}')"
            for day in DAYS
        ),
    )


@pytest.mark.parametrize("fixture", SERVERS)
@pytest.mark.parametrize("what", NEEDS)
def test_partitions_that_other_relations_need(
    fixture: str, what: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """DROP TABLE would fail after the copy: such a partition is not part of a plan, and `migrate` refuses it later."""
    if what == "statistics" and fixture == "gp7_dsn":
        pytest.skip("Greenplum 7 has no statistics of expressions")
    dsn = fresh_database(request.getfixturevalue(fixture), "needed_elsewhere")
    tail = " DISTRIBUTED BY (id)" if fixture == "gp7_dsn" else ""
    _declarative(dsn, "t", tail)
    made.execute(dsn, "CREATE TABLE third (a int, r regclass)")
    plan = made.plan_of(dsn)
    assert len(plan.tables[0].steps) == 1

    made.execute(dsn, NEEDS[what].format(leaf="t_12"))
    (refused,) = made.written(dsn, tmp_path, plan).refused
    assert "another object depends on it" in refused.reason, refused.reason
    now = made.plan_of(dsn)
    assert not now.tables[0].steps
    texts = [example for left in now.tables[0].left for example in left.examples]
    assert any(text.startswith("t_12: ") and text.endswith("which needs t_12") for text in texts)


def test_partitions_that_other_relations_need_on_greenplum_6(gp6_dsn: str, tmp_path: Path) -> None:
    dsn = fresh_database(gp6_dsn, "needed_elsewhere")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        " (START (date '2020-01-11') END (date '2020-01-14') EVERY (interval '1 day'))",
    )
    plan = made.plan_of(dsn)
    for what in ("default", "check", "domain"):
        made.execute(dsn, NEEDS[what].format(leaf="t_1_prt_2").replace("other", f"other_{what}"))
    (refused,) = made.written(dsn, tmp_path, plan).refused
    assert "another object depends on it" in refused.reason, refused.reason
    assert not made.plan_of(dsn).tables[0].steps


@pytest.mark.parametrize("fixture", SERVERS)
def test_long_names_of_two_tables_remain_different(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The names of new partitions and of their indexes are shortened, so that those of two tables could be the same."""
    dsn = fresh_database(request.getfixturevalue(fixture), "long_names")
    tail = " DISTRIBUTED BY (id)" if fixture == "gp7_dsn" else ""
    common = "_table_with_a_name_of_almost_sixty_three_characters_like_zzz"
    for letter in "ab":
        _declarative(dsn, f"{letter}{common}", tail)
        made.execute(
            dsn,
            f"ALTER TABLE {letter}{common} RENAME TO x{common}_{letter}",
            f"CREATE INDEX ON x{common}_{letter} (id)",
        )
    files = made.written(dsn, tmp_path, made.plan_of(dsn))
    assert not files.refused
    assert len(files.forward()) == 2
    files.all()
    for name in files.forward():
        files.run(f"rollback/{name}")
