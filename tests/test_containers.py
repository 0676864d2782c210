"""Audits of servers in containers, if a Docker engine answers: images of servers that this machine cannot build itself."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import missing


def engine_answers() -> str:
    """The reason why no container can be started; empty if containers can be started. A quick connection to the socket decides."""
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        return ""
    path = host.removeprefix("unix://")
    if not Path(path).exists():
        return f"no Docker engine at {path}"
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        return "" if probe.connect_ex(path) == 0 else f"no Docker engine answers at {path}"


@pytest.mark.parametrize("image", ["postgres:12", "postgres:14", "postgres:17"])
def test_audit_in_a_container(image: str, tmp_path: Path) -> None:
    why = engine_answers()
    if why:
        missing("docker", why)
    from testcontainers.postgres import PostgresContainer

    with PostgresContainer(image) as server:
        dsn = server.get_connection_url(driver=None)
        with connect(dsn) as session:
            path = collect(session, tmp_path / "s.gpcatalog")
        with Snapshot(path) as snapshot:
            assert snapshot.header["generation"] == f"pg{image.removeprefix('postgres:')}"
            assert not snapshot.rows("SELECT * FROM coverage WHERE status = 'failed'")
