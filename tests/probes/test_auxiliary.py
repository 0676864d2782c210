"""Auxiliary relations of append-optimized tables, compared with their size after VACUUM FULL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit.auxiliary import Auxiliary, AuxiliaryRelation
from gpcatalog.audit.report import Coverage, Report
from gpcatalog.emit.files_text import auxiliary_line
from gpcatalog.migration.maintenance import script
from gpcatalog.model.auxiliary import BLOCK_DIRECTORY, INDEX_OF, KINDS, VISIBILITY_MAP
from gpcatalog.probes import auxiliary
from tests.conftest import fresh_database
from tests.live_report import report_of
from tests.test_maintenance import psql

SERVERS = ["gp6_dsn", "gp7_dsn"]

TABLES = """
    CREATE SCHEMA "odd ""one";
    CREATE TABLE "odd ""one"."by row's" (a int, b text) WITH (appendonly=true) DISTRIBUTED BY (a);
    CREATE TABLE by_column (a int, b text, c int, d int) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a);
    CREATE INDEX ON by_column (a);
"""
TOUCHED = ('"odd ""one"."by row\'s"', "by_column")
STEPS = 220
# each statement changes a row of a segment file list, of a visibility map and of a block directory
CHANGE = "".join(
    f"INSERT INTO {table} (a, b) SELECT g, g::text FROM generate_series(1, 10) g;"
    f" DELETE FROM {table} WHERE random() < 0.02;"
    for table in TOUCHED
)
SIZES = (
    "SELECT c.gp_segment_id, 'pg_aoseg.' || c.relname, pg_relation_size(c.oid) FROM gp_dist_random('pg_class') c"
    " WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pg_aoseg')"
)


@contextmanager
def no_row_may_go(dsn: str) -> Iterator[None]:
    """A transaction that may still need every row: no row is removed while it lasts."""
    with psycopg.connect(dsn) as conn:
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for table in TOUCHED:
            conn.execute(f"SELECT count(*) FROM {table}")
        yield


def bloated(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(TABLES)
        for table in TOUCHED:
            conn.execute(
                f"INSERT INTO {table} (a, b) SELECT g, g::text FROM generate_series(1, 100000) g"
            )
        with no_row_may_go(dsn):
            for _ in range(STEPS):
                conn.execute(CHANGE)


def measured(dsn: str) -> dict[tuple[int, str], int]:
    with psycopg.connect(dsn) as conn:
        return {(content, name): size for content, name, size in conn.execute(SIZES)}


def contents(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as conn:
        return [
            conn.execute(f"SELECT count(*), sum(a), sum(length(b)) FROM {table}").fetchall()[0]
            for table in TOUCHED
        ]


def found(report: Report) -> dict[str, AuxiliaryRelation]:
    assert report.auxiliary is not None
    return {a.kind + " of " + a.name: a for a in report.auxiliary.relations}


@pytest.mark.greenplum
@pytest.mark.parametrize("server", SERVERS)
def test_what_is_needed_is_what_the_server_leaves(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "beside")
    bloated(dsn)
    sizes, rows = measured(dsn), contents(dsn)
    before = report_of(dsn, tmp_path / "before.gpcatalog")
    large = found(before)
    assert {f"{BLOCK_DIRECTORY} of by_column", f"{VISIBILITY_MAP} of by row's"} <= large.keys()
    assert large.keys() <= {f"{k} of {name}" for k in KINDS for name in ("by row's", "by_column")}
    listed = {name for (_, name), size in sizes.items() if size >= 262144}
    assert {a.relation for a in large.values()} == listed
    for a in large.values():
        assert a.worst_bytes == sizes[a.worst_content, a.relation]
        assert a.bytes == sum(
            size for (_, name), size in sizes.items() if name == a.relation and size >= 262144
        )
    directory = large[f"{BLOCK_DIRECTORY} of by_column"]
    assert (directory.bloat or 0) > 10

    file = tmp_path / "maintenance.sql"
    file.write_text(script(before))
    assert f"VACUUM FULL {directory.relation};" in file.read_text()
    result = psql(dsn, file)
    assert result.returncode == 0, result.stderr
    left = measured(dsn)
    for a in large.values():
        if f"{a.relation};" in file.read_text():
            assert left[a.worst_content, a.relation] == a.worst_needed, a
    # the table is unchanged, and can be changed
    assert contents(dsn) == rows
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(CHANGE)
    after = report_of(dsn, tmp_path / "after.gpcatalog")
    assert f"{BLOCK_DIRECTORY} of by_column" not in found(after)


@pytest.mark.greenplum
@pytest.mark.parametrize("server", SERVERS)
def test_a_locked_one_is_not_waited_for(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "held")
    bloated(dsn)
    directory = found(report_of(dsn, tmp_path / "free.gpcatalog"))[
        f"{BLOCK_DIRECTORY} of by_column"
    ]
    with psycopg.connect(dsn) as conn:
        conn.execute(f"REINDEX INDEX {directory.relation}_index")
        report = report_of(dsn, tmp_path / "held.gpcatalog")
        conn.rollback()
    locked = found(report)[f"{BLOCK_DIRECTORY} of by_column"]
    assert locked.bytes == directory.bytes
    assert (locked.reclaimable, locked.bloat, locked.worst_rows) == (None, None, None)
    assert report.auxiliary is not None
    assert report.auxiliary.uncounted == 1
    kind = next(k for k in report.auxiliary.kinds if k.kind == BLOCK_DIRECTORY)
    assert kind.reclaimable is None
    note = next(c for c in report.coverage if c.probe == "auxiliary_rows")
    assert note.status == "busy"  # not "timed out": no session waited for the lock
    assert "AccessExclusiveLock" in note.reason
    assert f"VACUUM FULL {directory.relation};" not in script(report)


@pytest.mark.greenplum
@pytest.mark.parametrize("server", SERVERS)
def test_what_is_not_measured_is_unknown(
    server: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "unknown")
    bloated(dsn)

    def look(name: str) -> tuple[Auxiliary, dict[str, Coverage]]:
        report = report_of(dsn, tmp_path / f"{name}.gpcatalog")
        assert report.auxiliary is not None
        return report.auxiliary, {c.probe: c for c in report.coverage}

    all_of_them, _ = look("all")
    assert all_of_them.large > 1
    assert all_of_them.uncounted == 0
    assert "unknown" not in auxiliary_line(all_of_them)

    monkeypatch.setattr(auxiliary, "COUNT_SECONDS", 0.0)
    none, coverage = look("no time")
    assert (none.large, none.bytes) == (all_of_them.large, all_of_them.bytes)
    assert (none.uncounted, none.reclaimable) == (none.large, None)
    assert coverage["auxiliary_rows"].status == "timed out"
    assert auxiliary_line(none).endswith(f"; reclaimable bytes of {none.large} are unknown")
    monkeypatch.undo()

    monkeypatch.setattr(auxiliary, "KEPT", 1)
    one, coverage = look("one")
    largest = max(all_of_them.relations, key=lambda a: a.worst_bytes)
    assert [a.relation for a in one.relations] == [largest.relation]
    left_out = coverage["auxiliary_relations (the smaller ones)"]
    assert left_out.status == "not applicable"
    assert left_out.reason.startswith(f"{all_of_them.large - 1} of {all_of_them.large} large ")


@pytest.mark.greenplum
def test_a_role_without_rights_on_rows(gp7_dsn: str, tmp_path: Path) -> None:
    """On Greenplum 7: a role that may list directories but is not a superuser."""
    dsn = fresh_database(gp7_dsn, "lister")
    bloated(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS lister")
        conn.execute("CREATE ROLE lister LOGIN")
        for function in ("pg_ls_dir(text)", "pg_stat_file(text, boolean)"):
            conn.execute(f"GRANT EXECUTE ON FUNCTION {function} TO lister")
    try:
        report = report_of(dsn.replace("user=gpadmin", "user=lister"), tmp_path / "s.gpcatalog")
    finally:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("DROP OWNED BY lister")
            conn.execute("DROP ROLE lister")
    assert report.auxiliary is not None
    assert report.auxiliary.large == report.auxiliary.uncounted > 0
    assert report.auxiliary.reclaimable is None
    note = next(c for c in report.coverage if c.probe == "auxiliary_rows")
    assert (note.status, note.needs) == ("denied", "superuser")


def test_the_sql_has_the_same_words() -> None:
    text = (Path(__file__).parents[2] / "sql/gp/auxiliary_relations.sql").read_text()
    words = re.search(r"VALUES (.*)\) e \(kind\)", text)
    assert words is not None
    assert re.findall("'(.*?)'", words[1]) == [k for k in KINDS if k not in INDEX_OF.values()]
