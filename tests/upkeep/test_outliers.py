"""One row or partition far ahead makes no other partition old; a pending detach is no cover."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit.partition_cover import partition_cover
from gpcatalog.model.scope import Scope
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration import made
from tests.upkeep.test_live import ALL, daily, night
from tests.upkeep.test_numbers_and_lists import RULES, bounds, ids, run
from tests.upkeep.year import server_of

pytestmark = pytest.mark.usefixtures("one_day")
KEEP = RULES + 'retention = "detach"\nkeep_partitions = 5\n'


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_a_stray_number(fixture: str, request: pytest.FixtureRequest) -> None:
    """One row 13 partitions ahead counts as one partition: the five before it that have rows stay."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_stray_number")
    ids(dsn, "t", 24)
    made.execute(
        dsn,
        "INSERT INTO t SELECT n, 1 FROM generate_series(0, 9999) n",
        "INSERT INTO t VALUES (23500, 1)",
    )
    year, text = night(dsn, KEEP)
    assert year.run(text).returncode == 0
    assert made.fetch(dsn, "SELECT min(id), count(*) FROM t") == [(5000, 5001)]
    [note] = [e for e in year.errors if "ahead of the others" in e]
    assert "the newest rows, from 23000, are 14 partitions ahead of the others" in note
    assert "which end below 10000" in note


@pytest.mark.parametrize("gap", [3, 12])
def test_a_stray_partition_of_numbers(gap: int, pg_dsn: str) -> None:
    """A partition after a gap, with a row: the partitions before it do not become old."""
    dsn = fresh_database(pg_dsn, "upkeep_stray_numbers")
    ids(dsn, "t", 10)
    low = (10 + gap) * 1000
    made.execute(
        dsn,
        f"CREATE TABLE t_far PARTITION OF t FOR VALUES FROM ({low}) TO ({low + 1000})",
        "INSERT INTO t SELECT n, 1 FROM generate_series(0, 9999) n",
        f"INSERT INTO t VALUES ({low}, 1)",
    )
    run(dsn, KEEP)
    assert made.fetch(dsn, "SELECT min(id), count(*) FROM t") == [(5000, 5001)]


def test_fewer_partitions_with_rows_than_are_kept(pg_dsn: str) -> None:
    """Partitions without rows do not count, and are removed only behind those that do."""
    dsn = fresh_database(pg_dsn, "upkeep_sparse_numbers")
    ids(dsn, "t", 20)
    made.execute(dsn, "INSERT INTO t VALUES (3500, 1), (19500, 1)")
    run(dsn, KEEP)
    assert len(bounds(dsn, "t")) == 24
    made.execute(dsn, "INSERT INTO t SELECT n * 1000, 1 FROM generate_series(15, 18) n")
    run(dsn, KEEP)
    assert made.fetch(dsn, "SELECT min(id) FROM t") == [(3500,)]
    assert len(bounds(dsn, "t")) == 21


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_a_date_far_ahead(fixture: str, request: pytest.FixtureRequest) -> None:
    """The clock decides the age of dates: a far partition, or one to infinity, makes nothing old."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_far_date")
    daily(dsn, "t", 20)
    rules = ALL + 'retention = "detach"\nkeep = "15d"\n'
    if server_of(dsn).startswith("gp"):
        far = ("ALTER TABLE t ADD PARTITION far START (date '2999-01-01') END (date '2999-01-02')",)
    else:
        far = (
            "CREATE TABLE t_far PARTITION OF t FOR VALUES FROM ('2999-01-01') TO ('2999-01-02')",
            "CREATE TABLE t_end PARTITION OF t FOR VALUES FROM ('9999-12-31') TO ('infinity')",
        )
    made.execute(dsn, *far, "INSERT INTO t VALUES ('2999-01-01', 1)")
    year, text = night(dsn, rules)
    assert year.run(text).returncode == 0
    oldest = datetime.now(UTC).date() - timedelta(15)
    assert made.fetch(dsn, "SELECT min(d) FROM t") == [(oldest,)]
    assert year.leaves()["t"] == 16 + len(far) + 5


def detach_halfway(dsn: str, name: str) -> None:
    """Leave the detach of a partition pending."""
    with psycopg.connect(dsn) as reader, psycopg.connect(dsn, autocommit=True) as other:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM t")
        other.execute("SET statement_timeout = '1s'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            other.execute(f"ALTER TABLE t DETACH PARTITION {name} CONCURRENTLY")
        reader.rollback()


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_a_pending_detach(
    fixture: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A partition of a pending detach is no cover, and is neither created nor removed nor merged."""
    import typer

    from gpcatalog.commands.upkeep import status

    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_pending_detach")
    today = datetime.now(UTC).date()
    daily(dsn, "t", 12)
    ahead, old = today + timedelta(1), today - timedelta(10)
    made.execute(
        dsn,
        f"CREATE TABLE t_ahead PARTITION OF t FOR VALUES FROM ('{ahead}') TO ('{ahead + timedelta(1)}')",
    )
    detach_halfway(dsn, "t_ahead")
    rules = ALL + 'retention = "detach"\nkeep = "10d"\n'
    year, text = night(dsn, rules)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    [note] = [e for e in year.errors if "DETACH PARTITION CONCURRENTLY" in e]
    assert "ALTER TABLE public.t DETACH PARTITION public.t_ahead FINALIZE" in note
    assert made.fetch(dsn, f"SELECT 1 FROM pg_class WHERE relname LIKE 't%{ahead:%Y%m%d}'") == []
    (tmp_path / "p.toml").write_text(rules)
    with pytest.raises(typer.Exit):
        status(dsn, policy=str(tmp_path / "p.toml"))
    shown = " ".join(capsys.readouterr().out.split())
    assert f"public.t is covered until {ahead}" in shown
    assert "DETACH PARTITION public.t_ahead FINALIZE" in shown
    with connect(dsn) as session:
        path = collect(session, tmp_path / "pending.gpcatalog", scope=Scope.PLAN)
    with Snapshot(path) as snapshot:
        audited = partition_cover(snapshot)
    assert audited is not None
    assert str(audited.least[0].until).startswith(str(ahead))
    # after the statement of the note, the partition is created
    made.execute(dsn, "ALTER TABLE public.t DETACH PARTITION public.t_ahead FINALIZE")
    year, text = night(dsn, rules)
    assert year.run(text).returncode == 0
    assert not [e for e in year.errors if "DETACH PARTITION CONCURRENTLY" in e]
    made.execute(dsn, f"INSERT INTO t VALUES ('{ahead}', 1)")
    # an old one is not removed either
    made.execute(
        dsn,
        f"CREATE TABLE t_old PARTITION OF t FOR VALUES FROM ('{old - timedelta(5)}') TO ('{old - timedelta(4)}')",
    )
    detach_halfway(dsn, "t_old")
    year, text = night(dsn, rules)
    assert year.run(text).returncode == 0
    assert "t_old FINALIZE" in "".join(year.errors)
    assert "detach 1 partition" not in text
