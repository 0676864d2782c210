"""Time of the statements of a check: the action of the time model for each statement, and the number of leaves."""

from __future__ import annotations

import pytest

from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace
from gpcatalog.capacity.model import Index, Shape
from gpcatalog.check.report import CheckReport
from gpcatalog.check.run import run
from gpcatalog.check.settings import Settings
from gpcatalog.dialect.script import Source
from gpcatalog.emit import check_text
from gpcatalog.model.storage import Storage

GREENPLUM = (
    "CREATE TABLE t (k int, note text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (k)"
    " PARTITION BY RANGE (k) (START (0) END (100) EVERY (1), DEFAULT PARTITION others);"
)
POSTGRES = "CREATE TABLE t (k int, note text) PARTITION BY RANGE (k);" + "".join(
    f"CREATE TABLE t{n} PARTITION OF t FOR VALUES FROM ({n}) TO ({n + 1});" for n in range(20)
)


def checked(sql: str, server: str, pace: Pace = durations.REFERENCE) -> CheckReport:
    return run([Source(sql, "x.sql")], Settings(server=server), pace=pace)


def expected(server: str, action: Action, leaves: int, columns: int = 2, indexes: int = 0) -> float:
    storage = Storage.AO_COLUMN if server.startswith("gp") else Storage.HEAP
    shape = Shape(storage, columns, toastable=True, indexes=(Index(),) * indexes)
    found = durations.seconds(server, shape, action, leaves)
    assert found is not None
    return found


CASES = {
    "CREATE INDEX ON t (k)": (Action.CREATE_INDEX, 2, 1, 1),
    "ALTER TABLE t ADD COLUMN a int": (Action.ADD_COLUMN, 3, 0, 1),
    "ALTER TABLE t RENAME COLUMN note TO other": (Action.ADD_COLUMN, 2, 0, 1),
    "ALTER TABLE t ADD CHECK (k > 0) NOT VALID": (Action.ADD_COLUMN, 2, 0, 1),
    "ALTER TABLE t ALTER note TYPE varchar(9)": (Action.TRUNCATE, 2, 0, 1),
    "TRUNCATE t": (Action.TRUNCATE, 2, 0, 1),
    "DROP TABLE t": (Action.DROP, 2, 0, 1),
}


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15", "pg19"])
@pytest.mark.parametrize("sql", CASES)
def test_statements_on_all_partitions(sql: str, server: str) -> None:
    action, columns, indexes, times = CASES[sql]
    before = GREENPLUM if server.startswith("gp") else POSTGRES
    report = checked(f"{before}{sql};", server)
    if server == "gp6" and "TYPE" in sql:
        assert report.statements[-1].seconds is None  # encoding rows are not known
        return
    leaves = 101 if server.startswith("gp") else 20
    took = times * expected(server, action, leaves, columns, indexes)
    # on PostgreSQL, the root is counted, too, if all partitions are separate tables
    assert report.statements[-1].seconds == pytest.approx(took, rel=0.12)


@pytest.mark.parametrize("server", ["gp6", "gp7"])
def test_statements_of_greenplum(server: str) -> None:
    one = checked(GREENPLUM, server)
    created = expected(server, Action.CREATE, 101)
    assert one.statements[0].seconds == pytest.approx(created, abs=1e-4)
    assert one.seconds == pytest.approx(created, abs=1e-3)
    for sql, action, leaves in (
        ("ALTER TABLE t DROP PARTITION FOR (5)", Action.DROP_PARTITION, 100),
        (
            "ALTER TABLE t SPLIT DEFAULT PARTITION START (200) END (201) INTO (PARTITION a, DEFAULT"
            " PARTITION)",
            Action.SPLIT,
            102,
        ),
    ):
        report = checked(f"{GREENPLUM}{sql};", server)
        took = expected(server, action, leaves)
        assert report.statements[-1].seconds == pytest.approx(took, rel=0.02), sql
    without = GREENPLUM.replace(", DEFAULT PARTITION others", "")
    report = checked(f"{without}ALTER TABLE t ADD PARTITION a START (200) END (201);", server)
    took = expected(server, Action.ADD, 101)
    assert report.statements[-1].seconds == pytest.approx(took, rel=0.02)


def test_partitions_that_are_tables_of_their_own() -> None:
    report = checked(POSTGRES + "DROP TABLE t3;", "pg15")
    root, *leaves, drop = report.statements
    assert root.seconds == pytest.approx(expected("pg15", Action.CREATE, 1), abs=1e-4)
    # all in one session: together they take as long as one CREATE with all leaves
    together = sum(one.seconds or 0 for one in (root, *leaves))
    assert together == pytest.approx(expected("pg15", Action.CREATE, 20), rel=0.05)
    assert drop.seconds == pytest.approx(expected("pg15", Action.DROP_PARTITION, 20), rel=0.05)


def test_no_time_for_what_is_not_ddl() -> None:
    report = checked(
        "SELECT 1; SET lock_timeout = 5; CREATE TABLE IF NOT EXISTS a (b int);", "pg15"
    )
    assert [bool(s.seconds) for s in report.statements] == [False, False, True]
    again = checked("CREATE TABLE a (b int); CREATE TABLE IF NOT EXISTS a (b int);", "pg15")
    assert again.statements[1].seconds == 0


def test_text() -> None:
    many = GREENPLUM.replace("100", "5000")
    took = expected("gp6", Action.CREATE, 5001)
    assert took > 1
    for pace, words in (
        (
            durations.REFERENCE,
            "(estimate; the speed of the test servers; that of this server is not known)",
        ),
        (
            Pace(2.0, "speed"),
            "2.0 × the time of the test servers, by counting numbers",
        ),
        (Pace(0.5, "ddl"), "0.5 × the time of the test servers, by DDL of gpcatalog"),
    ):
        report = checked(many, "gp6", pace)
        assert report.seconds == pytest.approx(took * pace.factor, rel=0.01)
        text = " ".join(check_text.render(report).split())
        assert "time of the DDL: about " in text
        assert words in text
    assert "time of the DDL" not in check_text.render(checked("CREATE TABLE a (b int);", "gp6"))


def seconds(sql: str, server: str) -> float:
    """Seconds of the last statement, which must be known."""
    found = checked(sql, server).statements[-1].seconds
    assert found is not None, sql
    return found


LEVELS = "CREATE TABLE t (k int, note text) PARTITION BY RANGE (k);" + "".join(
    f"CREATE TABLE m{m} PARTITION OF t FOR VALUES FROM ({m * 10}) TO ({m * 10 + 10}) PARTITION"
    " BY RANGE (k);"
    + "".join(
        f"CREATE TABLE t{m}_{n} PARTITION OF m{m} FOR VALUES FROM ({m * 10 + n}) TO"
        f" ({m * 10 + n + 1});"
        for n in range(10)
    )
    for m in range(5)
)


@pytest.mark.parametrize(
    ("sql", "action", "leaves"),
    [
        ("CREATE INDEX ON {} (k)", Action.CREATE_INDEX, 50),
        ("TRUNCATE {}", Action.TRUNCATE, 50),
        ("DROP TABLE {}", Action.DROP, 50),
        ("ALTER TABLE {} ADD COLUMN a int", Action.ADD_COLUMN, 50),
    ],
)
def test_leaves_of_all_levels_count(sql: str, action: Action, leaves: int) -> None:
    columns, indexes = 2 + (action is Action.ADD_COLUMN), int(action is Action.CREATE_INDEX)
    for name, n in (("t", leaves), ("m1", 10)):
        if name == "m1" and action is Action.ADD_COLUMN:
            continue  # not allowed
        took = seconds(LEVELS + sql.format(name) + ";", "pg15")
        assert took == pytest.approx(expected("pg15", action, n, columns, indexes), abs=2e-4)


def test_a_unique_constraint_builds_an_index() -> None:
    took = seconds(POSTGRES + "ALTER TABLE t ADD UNIQUE (k);", "pg15")
    assert took == pytest.approx(expected("pg15", Action.CREATE_INDEX, 20, 2, 1), abs=2e-4)


def test_create_of_two_levels_reads_shorter_lists() -> None:
    head = "CREATE TABLE t (k int, l int) DISTRIBUTED BY (k) PARTITION BY RANGE (k)"
    flat = seconds(f"{head} (START (0) END (5000) EVERY (1));", "gp7")
    two = seconds(
        f"{head} SUBPARTITION BY RANGE (l) SUBPARTITION TEMPLATE (START (0) END (50) EVERY (1))"
        " (START (0) END (100) EVERY (1));",
        "gp7",
    )
    assert two < flat / 3


def test_several_tables_add_up() -> None:
    plain = "".join(
        f"CREATE TABLE {name} (k int, note text) WITH (appendonly=true, orientation=column)"
        " DISTRIBUTED BY (k);"
        for name in "ab"
    )
    for sql in ("DROP TABLE a, t, b;", "DROP TABLE t, b, a;"):
        assert seconds(plain + GREENPLUM + sql, "gp6") > seconds(GREENPLUM + "DROP TABLE t;", "gp6")
    one, other = (
        seconds(plain + GREENPLUM + f"TRUNCATE {names};", "gp6") for names in ("a, t", "t, a")
    )
    assert one == pytest.approx(other)
    many = ", ".join(f"t{n}" for n in range(10))
    all_ten = seconds(f"{POSTGRES}DROP TABLE {many};", "pg15")
    assert all_ten > 3 * seconds(POSTGRES + "DROP TABLE t1;", "pg15")


def test_statements_on_one_partition() -> None:
    all_partitions = seconds(GREENPLUM + "CREATE INDEX ON t (k);", "gp6")
    assert seconds(GREENPLUM + "CREATE INDEX ON t_1_prt_2 (k);", "gp6") < all_partitions / 10
    attach = "CREATE TABLE x (k int, note text);ALTER TABLE t ATTACH PARTITION x FOR VALUES FROM (100) TO (101);"
    assert seconds(POSTGRES + attach, "pg15") == pytest.approx(
        expected("pg15", Action.ADD, 20), rel=0.05
    )
    detach = seconds(POSTGRES + "ALTER TABLE t DETACH PARTITION t3;", "pg15")
    assert detach == pytest.approx(expected("pg15", Action.DROP_PARTITION, 20), rel=0.05)
    rename = seconds(POSTGRES + "ALTER TABLE t RENAME TO u;", "pg15")
    assert rename == pytest.approx(expected("pg15", Action.ADD_COLUMN, 1), abs=1e-3)


def test_several_actions_pay_the_fixed_time_once() -> None:
    two = seconds(GREENPLUM + "ALTER TABLE t ADD COLUMN a int, ADD COLUMN b int;", "gp7")
    one = expected("gp7", Action.ADD_COLUMN, 101, 4)
    figures = durations.figures("gp7", Storage.AO_COLUMN, Action.ADD_COLUMN)
    assert figures is not None
    assert two == pytest.approx(2 * one - figures.fixed / 1000, abs=1e-3)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE nobody_knows;",
        "DROP TABLE IF EXISTS nobody_knows;",
        "ALTER TABLE nobody_knows ADD COLUMN a int;",
        "CREATE INDEX ON nobody_knows (a);",
        "DO $$ BEGIN EXECUTE 'DROP TABLE t'; END $$;",
        "CREATE TABEL a (b int);",
        "CLUSTER t;",
        "VACUUM FULL t;",
        "REINDEX TABLE t;",
        "CREATE INDEX i ON t (k); DROP INDEX i;",
        "DROP SCHEMA s CASCADE;",
    ],
)
def test_unknown_time_is_not_zero(sql: str) -> None:
    before = "CREATE SCHEMA s; CREATE TABLE s.a (k int);" + POSTGRES
    report = checked(before + sql, "pg15")
    assert not report.seconds_complete
    assert report.statements[-1].seconds is None
    assert checked(before, "pg15").seconds_complete
    long = checked(sql + GREENPLUM.replace("100", "5000"), "gp6")
    assert "time of the DDL: at least about" in check_text.render(long)
