"""A hot standby: what writes is for the primary, and every output states it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpcatalog.lab.postgres import PrivateServer
from tests.program import run
from tests.test_maintenance import CHURN, psql


@pytest.fixture(scope="module")
def standby() -> Iterator[PrivateServer]:
    """A server in recovery, with bloated catalogs and a role without privileges."""
    with PrivateServer(settings={"autovacuum": "off"}) as server:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            conn.execute("CREATE ROLE reader LOGIN")
            for _ in range(100):
                conn.execute(CHURN * 20)
        server.stop()
        (server.data / "standby.signal").touch()
        server.start()
        yield server


def test_the_script_is_for_the_primary(standby: PrivateServer, tmp_path: Path) -> None:
    """On the standby, the script ends with one message; on the server without recovery it runs."""
    file, page = tmp_path / "maintenance.sql", tmp_path / "page.html"
    result = run("audit", standby.conninfo(), "--no-store", "--maintenance", str(file))
    assert result.returncode == 0, result.stderr
    assert f"wrote the maintenance script {file}; run it on the primary" in result.stderr
    assert "Next: on the primary (this server is a standby): " in " ".join(result.stdout.split())
    text = file.read_text()
    assert "-- That server was a standby. Run this script on its primary" in text
    assert "REINDEX TABLE" in text
    failed = psql(standby.conninfo(), file)
    assert failed.returncode == 3
    errors = [line for line in failed.stderr.splitlines() if "ERROR" in line]
    assert len(errors) == 1
    assert errors[0].endswith("ERROR:  this server is a standby; run this script on the primary")
    run("report", standby.conninfo(), "--no-store", "--html", str(page))
    assert ", standby, " in page.read_text()


def test_doctor_names_the_primary(standby: PrivateServer) -> None:
    reader = standby.conninfo().replace("user=postgres", "user=reader")
    shown = " ".join(run("doctor", reader).stdout.split())
    assert "Run these statements as superuser on the primary to grant the missing" in shown
    assert "CREATE EXTENSION" in shown
    script = run("doctor", reader, "--create-role", "monitor").stdout
    assert "-- This server is a standby. Run this file on its primary." in script


def test_the_same_script_runs_on_the_primary(standby: PrivateServer, tmp_path: Path) -> None:
    file = tmp_path / "maintenance.sql"
    run("audit", standby.conninfo(), "--no-store", "--maintenance", str(file))
    standby.stop()
    (standby.data / "standby.signal").unlink()
    standby.start()
    done = psql(standby.conninfo(), file)
    assert done.returncode == 0, done.stderr
    assert "standby" not in run("doctor", standby.conninfo()).stdout
