"""A change since the plan stops a script before it changes anything, and the script reports the change."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from tests.conftest import fresh_database
from tests.migration import made

# statements that change the table, statements that undo the change, and the message
CHANGES = {
    "leaf added": ("{add}", "{drop}", "new or different"),
    "column added": (
        "ALTER TABLE t ADD COLUMN more int",
        "ALTER TABLE t DROP COLUMN more",
        "the columns of public.t are",
    ),
    "owner changed": (
        "ALTER TABLE t OWNER TO mig_owner",
        "ALTER TABLE t OWNER TO {me}",
        "the owner of public.t is mig_owner and was",
    ),
    "rows added": (
        "INSERT INTO t VALUES (1, '2020-01-30', 'new')",
        "DELETE FROM t WHERE v = 'new'",
        "11 rows, but 10 were counted",
    ),
    "table gone": ("DROP TABLE t", "", "table public.t does not exist any more"),
}


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_changed_since_planned(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    base = request.getfixturevalue(fixture)
    dsn = fresh_database(base, "mig_guard")
    made.roles(dsn, "mig_owner")
    greenplum = fixture.startswith("gp")
    add = (
        "ALTER TABLE t ADD PARTITION late START (date '2021-01-01') END (date '2021-02-01')"
        if greenplum
        else "CREATE TABLE t_late PARTITION OF t FOR VALUES FROM ('2021-01-01') TO ('2021-02-01')"
    )

    drop = "ALTER TABLE t DROP PARTITION late" if greenplum else "DROP TABLE t_late"
    me = "gpadmin" if greenplum else "postgres"
    if greenplum:
        made.execute(
            dsn,
            "CREATE TABLE t (id int, d date, v text) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2020-01-30') END (date '2020-02-03') EVERY (interval '1 day'))",
        )
    else:
        made.execute(dsn, "CREATE TABLE t (id int, d date, v text) PARTITION BY RANGE (d)")
        for a, b in pairwise(
            ["2020-01-30", "2020-01-31", "2020-02-01", "2020-02-02", "2020-02-03"]
        ):
            made.execute(
                dsn, f"CREATE TABLE \"t_{a}\" PARTITION OF t FOR VALUES FROM ('{a}') TO ('{b}')"
            )
    made.execute(
        dsn, "INSERT INTO t SELECT i, date '2020-01-30' + i % 4, 'x' FROM generate_series(1, 20) i"
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn), count=True)
    assert files.steps == 2
    files.run("0000_prepare.sql")
    partitions = "SELECT relname FROM pg_class WHERE relname LIKE 't\\_%' ORDER BY 1"
    for what, (change, undo, message) in CHANGES.items():
        made.execute(dsn, change.format(add=add))
        before = made.fetch(dsn, partitions)
        done = files.run("0001_public_t.sql", check=False)
        assert done.returncode == 3, what
        assert message in done.stderr, what
        assert made.fetch(dsn, partitions) == before
        if undo:
            made.execute(dsn, undo.format(drop=drop, me=me))


def test_journal_is_asked_for(pg_dsn: str, tmp_path: Path) -> None:
    dsn = fresh_database(pg_dsn, "mig_nojournal")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)",
        "CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')",
        "CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2020-01-02') TO ('2020-01-03')",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    done = files.run("0001_public_t.sql", check=False)
    assert done.returncode == 3
    assert "run 0000_prepare.sql first" in done.stderr


def test_grants_of_a_role_that_the_session_may_not_become(pg_dsn: str, tmp_path: Path) -> None:
    """The owner grants instead of the other role; the file states it, and a message reports it."""
    dsn = fresh_database(pg_dsn, "mig_grantor")
    made.roles(dsn, "mig_login", "mig_grantor", "mig_reader", options="LOGIN")
    made.execute(
        dsn,
        "GRANT CREATE ON DATABASE mig_grantor TO mig_login",
        "GRANT CREATE, USAGE ON SCHEMA public TO mig_login",
        "CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)",
        *(
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}')"
            for n in range(1, 6)
        ),
        "INSERT INTO t SELECT i, date '2020-01-01' + i % 5 FROM generate_series(1, 20) i",
        *(f"GRANT SELECT ON t_{n} TO mig_grantor WITH GRANT OPTION" for n in range(1, 6)),
        "SET ROLE mig_grantor",
        *(f"GRANT SELECT ON t_{n} TO mig_reader" for n in range(1, 6)),
        "RESET ROLE",
        *(f"ALTER TABLE {t} OWNER TO mig_login" for t in ("t", *(f"t_{n}" for n in range(1, 6)))),
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    assert (
        "grants by mig_grantor are repeated by that role"
        in (files.folder / "0001_public_t.sql").read_text()
    )
    mine = replace(files, dsn=f"{dsn} user=mig_login")
    acl = "SELECT DISTINCT array_to_string(relacl, ' ') FROM pg_class WHERE relname LIKE 't\\_%'"
    mine.run("0000_prepare.sql")
    done = mine.run("0001_public_t.sql")
    assert (
        "granted by the owner, because this session cannot SET ROLE to mig_grantor: GRANT SELECT"
        in done.stderr
    )
    assert made.fetch(dsn, acl) == [
        ("mig_login=arwdDxt/mig_login mig_grantor=r*/mig_login mig_reader=r/mig_login",)
    ]
    mine.run("rollback/0001_public_t.sql")
    mine.run("cleanup.sql")
    # a superuser can SET ROLE
    files.run("0000_prepare.sql")
    files = made.written(dsn, tmp_path / "again", made.plan_of(dsn))
    files.run("0001_public_t.sql")
    assert files.run("verify.sql").returncode == 0


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_a_table_that_is_locked_is_refused(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Another session locks one table while `migrate` reads it: the other table is migrated."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_locked")
    for name in ("free", "locked"):
        parts = (
            " DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2020-01-30') END (date '2020-02-02') EVERY (interval '1 day'))"
            if fixture.startswith("gp")
            else " PARTITION BY RANGE (d)"
        )
        made.execute(dsn, f"CREATE TABLE {name} (id int, d date){parts}")
        for day in (30, 31) if not fixture.startswith("gp") else ():
            made.execute(
                dsn,
                f"CREATE TABLE {name}_{day} PARTITION OF {name} FOR VALUES FROM ('2020-01-{day}')"
                f" TO (date '2020-01-{day}' + 1)",
            )
        made.execute(dsn, f"INSERT INTO {name} SELECT i, '2020-01-30' FROM generate_series(1, 9) i")
    plan = made.plan_of(dsn)
    assert {t.table for t in plan.tables if t.steps} == {"free", "locked"}
    with psycopg.connect(dsn) as holder:
        holder.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE")
        files = made.written(dsn, tmp_path / "sql", plan)
    done = [t.context.root.name for t in files.work if t.forward]
    if fixture == "gp6_dsn":  # Greenplum 6 reads nothing here that needs a lock of the table
        assert (done, files.refused) == (["free", "locked"], [])
        return
    assert done == ["free"]
    (refused,) = files.refused
    assert refused.table == "public.locked"
    assert "it could not be read: canceling statement due to lock timeout" in refused.reason


def test_cleanup_keeps_what_upkeep_stored(pg_dsn: str, tmp_path: Path) -> None:
    """Both use one schema; a night of upkeep may have no step."""
    dsn = fresh_database(pg_dsn, "mig_cleanup")
    made.execute(
        dsn,
        "CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)",
        *(
            f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}')"
            for n in range(1, 6)
        ),
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    files.run("0000_prepare.sql")
    files.run("0001_public_t.sql")
    made.execute(
        dsn,
        "INSERT INTO gpcatalog_journal.upkeep (plan, relation, step, state, detail) VALUES ('upkeep', 't', '', 'announced', '')",
    )
    files.run("cleanup.sql")
    left = [
        made.fetch(dsn, f"SELECT count(*) FROM gpcatalog_journal.{t}")[0][0]
        for t in ("step", "tree", "upkeep")
    ]
    assert left == [0, 0, 1]
    made.execute(dsn, "DELETE FROM gpcatalog_journal.upkeep")
    files.run("cleanup.sql")
    assert made.fetch(dsn, "SELECT to_regnamespace('gpcatalog_journal')") == [(None,)]
