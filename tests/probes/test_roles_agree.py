"""Figures that a superuser and a role without privileges read from the same database agree, and what that role cannot see is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from gpcatalog.audit.build import build
from gpcatalog.audit.files import TableFiles
from gpcatalog.audit.report import Report
from gpcatalog.cli import app
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database

SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn")
PLAIN, OTHER = "plain_reader", "other_session"


@pytest.fixture(params=SERVERS)
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """Conninfo of the superuser of an empty database; the roles PLAIN and OTHER have no privileges."""
    conninfo = fresh_database(request.getfixturevalue(request.param), "agree")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for role in (PLAIN, OTHER):
            conn.execute(f"DROP ROLE IF EXISTS {role}")
            conn.execute(f"CREATE ROLE {role} LOGIN")
    yield conninfo
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for role in (PLAIN, OTHER):
            conn.execute(f"DROP ROLE {role}")


def of_role(dsn: str, role: str) -> str:
    return re.sub(r"user=\w+", f"user={role}", dsn)


def audited(dsn: str, file: Path) -> Report:
    with connect(dsn) as session:
        collect(session, file)
    with Snapshot(file) as snapshot:
        return build(snapshot)


def test_the_size_of_the_database_is_that_of_the_server(dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t AS SELECT n AS a FROM generate_series(1, 100000) n")
        conn.execute("VACUUM t")
        (size,) = (whole,) = conn.execute("SELECT pg_database_size(current_database())").fetchone()
        if "Greenplum" in conn.execute("SELECT version()").fetchone()[0]:
            # a function on the coordinator includes it
            text = "SELECT pg_database_size(current_database()) AS n, generate_series(1, 1)"
            (size,) = conn.execute(
                f"SELECT sum(n)::int8 FROM ({text} FROM gp_dist_random('gp_id')) s"
            ).fetchone()
            assert size < whole
    for n, who in enumerate((dsn, of_role(dsn, PLAIN))):
        report = audited(who, tmp_path / f"{n}.gpcatalog")
        # the server has up to 200 KB of its own files on each instance
        files = (report.server.segments or 1) * 200_000
        assert size - files <= report.server.database_bytes <= size, who


@pytest.mark.parametrize("dsn", ["gp6_dsn", "gp7_dsn"], indirect=True)
def test_removable_files_are_those_that_ao_row_saves(dsn: str, tmp_path: Path) -> None:
    """For rows on one segment, on all segments, with two writers of one row each, and in segment file 0."""
    columns = "d date, k int, t text"
    with psycopg.connect(dsn, autocommit=True) as conn:
        for orientation in ("column", "row"):
            storage = f"WITH (appendonly=true, orientation={orientation})"
            for name, key in (("one", "1"), ("all", "n")):
                table = f"{name}_{orientation}"
                conn.execute(f"CREATE TABLE {table} ({columns}) {storage} DISTRIBUTED BY (k)")
                conn.execute(
                    f"INSERT INTO {table} SELECT '2026-01-01', {key}, 'x' FROM generate_series(1, 100) n"
                )
            conn.execute(
                f"CREATE TABLE parts_{orientation} (k int, s int, v int) {storage} DISTRIBUTED BY (k)"
                " PARTITION BY RANGE (s) (START (0) END (10) EVERY (1))"
            )
            conn.execute(
                f"INSERT INTO parts_{orientation} SELECT 1, s, 1 FROM generate_series(0, 8) s"
            )
            conn.execute(
                f"CREATE TABLE made_{orientation} {storage} AS SELECT 1 AS k, 2 AS a, 3 AS b, 4 AS c"
                " DISTRIBUTED BY (k)"
            )
    for n, who in enumerate((dsn, of_role(dsn, PLAIN))):
        files = audited(who, tmp_path / f"{n}.gpcatalog").files
        assert files is not None
        tables: dict[str, TableFiles] = {t.name: t for t in files.tables}
        for name in ("one", "all", "parts", "made"):
            column, row = tables[f"{name}_column"], tables[f"{name}_row"]
            # the segment file list does not contain the first file of a column in segment file 0
            assert column.removable == column.main - row.main > 0, (who, name)
            assert (column.removable_estimated, row.removable) == (False, 0)
        assert files.removable == sum(t.removable for t in tables.values())
        assert files.removable_estimated is False


@pytest.mark.parametrize("dsn", ["gp6_dsn", "gp7_dsn"], indirect=True)
def test_removable_files_of_a_locked_table_are_unknown(dsn: str, tmp_path: Path) -> None:
    """A table that another session has locked is not opened: whether it has rows is unknown, not false."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE c (k int, v int) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (k)"
        )
        conn.execute("INSERT INTO c SELECT n, n FROM generate_series(1, 100) n")
    with psycopg.connect(dsn) as locking:
        locking.execute("LOCK TABLE c IN ACCESS EXCLUSIVE MODE")
        files = audited(of_role(dsn, PLAIN), tmp_path / "now.gpcatalog").files
    assert files is not None
    (table,) = files.tables
    assert (table.removable, table.removable_estimated) == (None, None)
    assert (files.removable, files.removable_estimated) == (None, None)


def test_a_partitioned_default_partition_with_rows_is_reported(dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        if "Greenplum" in conn.execute("SELECT version()").fetchone()[0]:
            name = "p_1_prt_other"
            conn.execute(
                "CREATE TABLE p (id int, s int, r int) DISTRIBUTED BY (id) PARTITION BY RANGE (r)"
                " SUBPARTITION BY RANGE (s) SUBPARTITION TEMPLATE (START (0) END (4) EVERY (2))"
                " (START (0) END (4) EVERY (2), DEFAULT PARTITION other)"
            )
        else:
            name = "p_other"
            conn.execute("CREATE TABLE p (id int, s int, r int) PARTITION BY RANGE (r)")
            conn.execute(f"CREATE TABLE {name} PARTITION OF p DEFAULT PARTITION BY RANGE (s)")
            conn.execute(f"CREATE TABLE p_leaf PARTITION OF {name} FOR VALUES FROM (0) TO (4)")
        assert audited(dsn, tmp_path / "0.gpcatalog").census.default_partitions_filled == ()
        conn.execute("INSERT INTO p VALUES (1, 1, 99)")
        conn.execute("ANALYZE")
    for n, who in enumerate((dsn, of_role(dsn, PLAIN)), 1):
        census = audited(who, tmp_path / f"{n}.gpcatalog").census
        assert census.default_partitions_filled == (f"public.{name}",), who
        assert census.default_partitions_filled_total == 1


def test_transactions_of_other_roles_are_visible_or_named(dsn: str, tmp_path: Path) -> None:
    """Greenplum 6 hides them: then the audit names them, and the metric is absent, not 0."""
    file = tmp_path / "now.gpcatalog"
    with psycopg.connect(of_role(dsn, OTHER)) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM pg_class")
        report = audited(of_role(dsn, PLAIN), file)
        seen = any(h.holder == "session" and h.role == OTHER for h in report.holders)
        states = {c.probe: c for c in report.coverage}
        hidden = states.get("hidden_sessions")
        assert seen is (hidden is None), hidden
        if hidden is not None:
            assert (report.server.generation, hidden.status) == ("gp6", "denied")
            assert "not visible" in hidden.reason
            assert "superuser" in hidden.needs
        metrics = CliRunner().invoke(app, ["metrics", "--snapshot", str(file)]).stdout
        assert ("\ngpcatalog_horizon_transactions{" in metrics) is seen
        everything = audited(dsn, tmp_path / "all.gpcatalog")
        assert any(h.role == OTHER for h in everything.holders)
        assert {c.status for c in everything.coverage if c.probe == "hidden_sessions"} <= {"read"}


def test_estimated_rows_of_catalogs_are_marked(dsn: str, tmp_path: Path) -> None:
    """Estimates have "~" before them in the text; catalogs that only superusers read are named."""
    file = tmp_path / "now.gpcatalog"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("VACUUM")
    report = audited(of_role(dsn, PLAIN), file)
    text = CliRunner().invoke(app, ["audit", "--verbose", "--snapshot", str(file)]).stdout
    shown = dict(re.findall(r"^(pg_\w+) +(~?[\d,]+|\?) ", text, re.M))
    bases = {r.relation: r.rows_basis for r in report.catalogs if r.content == -1}
    marked = {name: rows.startswith("~") for name, rows in shown.items()}
    assert len(marked) > 10
    assert marked == {name: bases[name] == "estimate" for name in shown}
    assert any(marked.values())
    assert "~: estimate of the last" in text
    named = {c.probe: c.status for c in report.coverage}
    assert bases["pg_authid"] == "estimate"
    assert named["catalog_widths pg_authid"] == "not applicable"
