"""Locks, disk space and time are checked at the start of a step, and transactions are split to fit."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from gpcatalog.commands import migrate as command
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Outcome, Source, split, statements
from gpcatalog.migration.folder import Folder
from gpcatalog.migration.operations import RefusedStep
from gpcatalog.migration.request import Request
from gpcatalog.migration.steps.drop_empty import DropPartitions
from gpcatalog.migration.translate import translate
from gpcatalog.probes.connection import connect
from tests.conftest import fresh_database
from tests.migration import made, zoo
from tests.migration.test_drop_convert import DROPS, gapped
from tests.migration.test_grammar import inside
from tests.migration.test_kill import table


def ended(dsn: str) -> None:
    """Wait until the session of the last script has ended: on a busy machine, it holds its locks longer than its client runs."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(100):
            others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'psql'"
            if conn.execute(others.encode()).fetchone() is None:
                return
            time.sleep(0.1)
    raise AssertionError("the session of a script does not end")


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_no_room(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_room")
    greenplum = fixture.startswith("gp")
    table(dsn, greenplum)
    rows = made.rows_of(dsn, "t")
    plan = made.plan_of(dsn)
    # the window is shorter than any step: migrate refuses it
    none = made.written(dsn, tmp_path / "none", plan, request=Request(window=0.001))
    assert none.steps == 0
    assert "(estimate); the window is 0 s" in none.refused[0].reason
    files = made.written(dsn, tmp_path / "sql", plan, request=Request(window=3600))
    name = files.forward()[0]
    text = (files.folder / name).read_text()
    files.run("0000_prepare.sql")
    many = re.sub(r"expect_locks\(\d+\)", "expect_locks(999999999)", text)
    done = files.run(name, check=False, text=many)
    assert (done.returncode, "about 999999999 locks are needed" in done.stderr) == (3, True)
    ended(dsn)
    late = text.replace("window_from_now(3600)", "window_from_now(0)")
    done = files.run(name, check=False, text=late)
    ended(dsn)
    assert (done.returncode, "run this file again in the next window" in done.stderr) == (3, True)
    assert made.rows_of(dsn, "t") == rows
    files.run(name)
    files.run("cleanup.sql")
    assert made.rows_of(dsn, "t") == rows


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_no_disk(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_disk")
    table(dsn, True)
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    name = files.forward()[0]
    files.run("0000_prepare.sql")
    text = (files.folder / name).read_text()
    assert "expect_room(" in text
    kind = "" if fixture == "gp6_dsn" else "FOREIGN "
    made.execute(
        dsn,
        f"ALTER {kind}TABLE gp_toolkit.gp_disk_free RENAME TO gp_disk_free_was",
        "CREATE TABLE gp_toolkit.gp_disk_free (dfsegment int, dfspace bigint) DISTRIBUTED BY (dfsegment)",
        "INSERT INTO gp_toolkit.gp_disk_free VALUES (0, 900000000), (1, 0)",
    )
    done = files.run(name, check=False)
    assert done.returncode == 3
    assert "but the fullest segment has only 0 bytes free" in done.stderr
    made.execute(dsn, "UPDATE gp_toolkit.gp_disk_free SET dfspace = 900000000")
    files.run(name)


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_drops_are_cut(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_cut")
    gapped(dsn, fixture.startswith("gp"))
    rows = made.rows_of(dsn, "t")
    plan = made.plan_of(dsn, DROPS)
    with connect(dsn) as session:
        session.query("SELECT pg_catalog.set_config('search_path', 'pg_catalog', false)")
        work = translate(session.rows, session.server, plan.id, plan.tables[0], slots=40)
        assert not isinstance(work, RefusedStep)
        cut = [c for c in work.forward if isinstance(c, DropPartitions)]
        assert [len(c.gone) for c in cut] == [1, 1, 1]
        step = cut[0].id.removesuffix("-1")
        assert [c.id for c in cut] == [f"{step}-1", f"{step}-2", f"{step}-3"]
        assert step in {s.id for s in plan.tables[0].steps}
        none = translate(session.rows, session.server, plan.id, plan.tables[0], slots=10)
        assert not isinstance(none, RefusedStep)
        assert "locks; the server has 10 for all sessions" in none.refused[0].reason
        command.write(tmp_path / "sql", Folder(plan, session.server, Request()).files([work]))
    files = made.Written(
        dsn, tmp_path / "sql", sorted(str(p.name) for p in (tmp_path / "sql").iterdir()), [], 3
    )
    files.all()
    assert made.rows_of(dsn, "t") == rows
    assert made.fetch(dsn, "SELECT count(*) FROM pg_inherits WHERE inhparent = 't'::regclass") == [
        (7,)
    ]
    files.run("rollback/0001_public_t.sql")
    assert made.fetch(dsn, "SELECT count(*) FROM pg_inherits WHERE inhparent = 't'::regclass") == [
        (10,)
    ]


def test_merge_partitions_of_postgresql_19(pgnew_dsn: str, tmp_path: Path) -> None:
    """The statements for PostgreSQL 19 are typed by the dialect, and used only if readers may wait."""
    dsn = fresh_database(pgnew_dsn, "mig_19")
    table(dsn, False)
    plan = made.plan_of(dsn)
    with connect(dsn) as session:
        work = translate(session.rows, session.server, plan.id, plan.tables[0])
        assert not isinstance(work, RefusedStep)
        coming = replace(session.server, version_num=190000, generation="pg19", version="19.0")
    for seconds, number in ((0.0, 0), (0.0001, 0), (60.0, 2)):
        files = Folder(plan, coming, Request(merge_seconds=seconds)).files([work])
        text = "".join(next(pieces for name, pieces in files if name == "0001_public_t.sql"))
        assert text.count("MERGE PARTITIONS (") == number
        assert ("readers wait during the copy" in text) == bool(number)
    # a server without the statement does not get it
    files = Folder(plan, session.server, Request(merge_seconds=60.0)).files([work])
    assert not any("MERGE PARTITIONS (" in piece for _, pieces in files for piece in pieces)
    for one in inside(text):
        assert [s.outcome for s in statements(Source(one), editions("pg19"))] == [Outcome.TYPED], (
            one
        )
    assert len(list(split(Source(text.replace("\\set ON_ERROR_STOP on", ""))))) > 10


def test_merge_partitions_done_by_postgresql_19(pg19_dsn: str, tmp_path: Path) -> None:
    """The same rows, owner, grants, comment and indexes as by copying; nothing is done twice, and the rollback works."""
    pictures = []
    for mode, seconds in (("copied", 0.0), ("merged", 60.0)):
        dsn = fresh_database(pg19_dsn, f"mig_{mode}")
        made.roles(dsn, "mig_owner", "mig_reader")
        made.execute(
            dsn,
            "CREATE TABLE t (gone int, id int, d date, v text DEFAULT 'x', PRIMARY KEY (id, d)) PARTITION BY RANGE (d)",
            *zoo._pg_days("t", first="2020-01-20", number=30),
            "CREATE TABLE t_other PARTITION OF t DEFAULT",
            "ALTER TABLE t DROP COLUMN gone",
            "CREATE INDEX t_v ON t (v)",
            "ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0)",
            "INSERT INTO t (id, d) SELECT i, date '2020-01-20' + i % 31 FROM generate_series(1, 900) i",
            "ALTER TABLE t OWNER TO mig_owner",
            "GRANT SELECT ON t TO mig_reader",
        )
        for (leaf,) in made.fetch(
            dsn, "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 't'::regclass"
        ):
            made.execute(
                dsn,
                f"ALTER TABLE {leaf} OWNER TO mig_owner",
                f"GRANT SELECT ON {leaf} TO mig_reader",
            )
        made.execute(dsn, "ANALYZE t")
        rows, first = made.rows_of(dsn, "t"), zoo.picture(dsn, "pg18")
        files = made.written(
            dsn,
            tmp_path / mode,
            made.plan_of(dsn),
            request=Request(merge_seconds=seconds),
            count=True,
        )
        assert files.refused == []
        text = (tmp_path / mode / "0001_public_t.sql").read_text()
        assert text.count("MERGE PARTITIONS (") == (2 if seconds else 0)
        files.all()
        assert made.rows_of(dsn, "t") == rows
        pictures.append(zoo.picture(dsn, "pg18"))
        assert "readers waited" not in files.run("0001_public_t.sql").stderr
        files.run("rollback/0001_public_t.sql")
        assert made.rows_of(dsn, "t") == rows
        assert zoo.picture(dsn, "pg18") == first
        files.run("cleanup.sql")
    assert pictures[0] == pictures[1]
