"""Time of the statements of a check: which action of the time model each one is, on how many leaves."""

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
    "ALTER TABLE t ADD COLUMN a int, ADD COLUMN b int": (Action.ADD_COLUMN, 4, 0, 2),
    "ALTER TABLE t RENAME COLUMN note TO other": (Action.ADD_COLUMN, 2, 0, 1),
    "ALTER TABLE t ALTER k TYPE bigint": (Action.TRUNCATE, 2, 0, 1),
    "TRUNCATE t": (Action.TRUNCATE, 2, 0, 1),
    "DROP TABLE t": (Action.DROP, 2, 0, 1),
}


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15", "pg19"])
@pytest.mark.parametrize("sql", CASES)
def test_statements_over_a_whole_table(sql: str, server: str) -> None:
    action, columns, indexes, times = CASES[sql]
    before = GREENPLUM if server.startswith("gp") else POSTGRES
    report = checked(f"{before}{sql};", server)
    leaves = 101 if server.startswith("gp") else 20
    took = times * expected(server, action, leaves, columns, indexes)
    # PostgreSQL counts the root too where all partitions are tables of their own
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
    root, *leaves, gone = report.statements
    assert root.seconds == pytest.approx(expected("pg15", Action.CREATE, 1), abs=1e-4)
    for n, one in enumerate(leaves, 1):
        assert one.seconds == pytest.approx(expected("pg15", Action.ADD, n), rel=0.02)
    assert gone.seconds == pytest.approx(expected("pg15", Action.DROP_PARTITION, 20), rel=0.05)


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
        (durations.REFERENCE, "as on the test servers"),
        (Pace(2.0, "speed"), "2.0 × the time on the test servers (by counting numbers, in"),
        (Pace(0.5, "ddl"), "0.5 × the time on the test servers (by its own DDL, in the"),
    ):
        report = checked(many, "gp6", pace)
        assert report.seconds == pytest.approx(took * pace.factor, rel=0.01)
        text = " ".join(check_text.render(report).split())
        assert "time of the DDL: about " in text
        assert words in text
    assert "time of the DDL" not in check_text.render(checked("CREATE TABLE a (b int);", "gp6"))
