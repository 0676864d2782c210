"""Subscribers of a table, and writers of the tables that its foreign keys reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import ALL, RETIRE, daily, night
from tests.upkeep.year import server_of

pytestmark = pytest.mark.usefixtures("one_day")
MOVE = ALL + 'default_rows = "move"\n'


@pytest.mark.parametrize(
    "published",
    ["FOR TABLE t", "FOR TABLE t_rest", "FOR ALL TABLES", "FOR TABLES IN SCHEMA public", "other"],
)
def test_published_rows_of_a_default_partition_are_not_moved(
    published: str, pgnew_dsn: str
) -> None:
    """Subscribers would delete the rows, and not get them again: they are inserted before the partition is published."""
    dsn = fresh_database(pgnew_dsn, "upkeep_publishes")
    daily(dsn, "t", 5)
    daily(dsn, "u", 5)
    soon = datetime.now(UTC).date() + timedelta(2)
    made.execute(
        dsn,
        "CREATE TABLE t_rest PARTITION OF t DEFAULT",
        f"INSERT INTO t VALUES ('{soon}', 1)",
        "CREATE PUBLICATION p " + ("FOR TABLE u" if published == "other" else published),
    )
    year, text = night(dsn, MOVE)
    done = year.run(text)
    left = made.fetch(dsn, "SELECT count(*) FROM ONLY t_rest")
    if published == "other":
        assert done.returncode == 0, done.stderr
        assert left == [(0,)]
        return
    assert left == [(1,)]
    assert "DELETE FROM ONLY public.t_rest" not in text
    assert any(
        "publication p publishes the rows of the default partition" in e for e in year.errors
    )


@pytest.mark.parametrize("how", ["attach", "detach"])
@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn", "pg19_dsn"])
def test_a_referenced_table_that_is_written(
    fixture: str, how: str, request: pytest.FixtureRequest
) -> None:
    """ATTACH and DETACH lock the referenced table: with the short timeout, so that its writers do not wait, and by name."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_references")
    made.execute(dsn, "CREATE TABLE dim (v int PRIMARY KEY, x int)")
    made.execute(dsn, "INSERT INTO dim SELECT generate_series(0, 40)")
    daily(dsn, "fact", 30)
    made.execute(dsn, "ALTER TABLE fact ADD FOREIGN KEY (v) REFERENCES dim")
    rules = ALL if how == "attach" else RETIRE.replace('"drop"', '"detach"').replace('"3d"', '"0d"')
    year, text = night(dsn, rules + "[upkeep]\nlock_attempts = 2\nlock_wait = 0.2\n")
    with psycopg.connect(dsn) as writer:
        writer.execute("UPDATE dim SET x = 1 WHERE v = 1")
        done = year.run(text)
        writer.rollback()
    assert done.returncode == 3, done.stderr
    assert (
        "the lock was not available in 2 attempts (LOCK TABLE ONLY public.dim IN SHARE ROW"
        " EXCLUSIVE MODE)"
    ) in done.stderr
    done = year.run(night(dsn, rules)[1])
    assert done.returncode == 0, done.stderr


def test_a_drop_waits_for_no_referenced_table(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_dropped_fact")
    made.execute(dsn, "CREATE TABLE dim (v int PRIMARY KEY, x int)")
    made.execute(dsn, "INSERT INTO dim SELECT generate_series(0, 40)")
    daily(dsn, "fact", 30)
    made.execute(dsn, "ALTER TABLE fact ADD FOREIGN KEY (v) REFERENCES dim")
    rules = RETIRE.replace('"3d"', '"0d"')
    year, text = night(dsn, rules, allow_drop=True)
    assert year.run(text).returncode == 0
    made.execute(dsn, "UPDATE gpcatalog_journal.upkeep SET at = at - interval '7 days'")
    year, text = night(dsn, rules + "[upkeep]\nlock_attempts = 2\n", allow_drop=True)
    with psycopg.connect(dsn) as writer:
        writer.execute("UPDATE dim SET x = 1 WHERE v = 1")
        done = year.run(text)
        writer.rollback()
    assert done.returncode == 0, done.stderr
    assert made.fetch(dsn, "SELECT count(*) FROM fact")[0][0] in (20, 21)


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_grants_of_detached_partitions_are_kept(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """EXCHANGE of Greenplum 6 gives a partition the grants of the other table."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_grants")
    made.roles(dsn, "mig_reader", "mig_writer")
    daily(dsn, "t", 40)
    greenplum = server_of(dsn).startswith("gp")
    oldest = "t_1_prt_1" if greenplum else f"t_{datetime.now(UTC).date() - timedelta(39):%Y%m%d}"
    made.execute(
        dsn,
        "GRANT SELECT ON t TO PUBLIC",
        "GRANT INSERT ON t TO mig_writer",
        f"REVOKE ALL ON {oldest} FROM PUBLIC, mig_writer",
        f"GRANT UPDATE ON {oldest} TO mig_reader WITH GRANT OPTION",
    )
    grants = f"""
        SELECT relacl::text, (SELECT count(*) FROM pg_shdepend s WHERE s.objid = c.oid AND s.classid = 1259 AND s.deptype = 'a'
                                 AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()))
          FROM pg_class c WHERE oid = '{oldest}'::regclass"""
    before = made.fetch(dsn, grants)
    assert "mig_reader=w*/" in str(before)
    year, text = night(dsn, RETIRE.replace("drop", "detach"))
    assert year.run(text).returncode == 0
    assert oldest not in str(made.fetch(dsn, PARTITIONS[server_of(dsn) == "gp6"]))
    assert made.fetch(dsn, grants) == before


PARTITIONS = (
    "SELECT inhrelid::regclass FROM pg_inherits",
    "SELECT parchildrelid::regclass FROM pg_partition_rule",
)
