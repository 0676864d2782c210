"""The example of docs/migrate.md, line by line, on live servers: at the end there is one leaf with the same rows, and no other objects."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.conftest import fresh_database

PAGE = Path(__file__).parent.parent / "docs/migrate.md"


def blocks() -> tuple[dict[str, str], str]:
    """The SQL that creates the table, by server; and the commands."""
    text = (
        PAGE.read_text()
        .split("## Example: from the first audit to a merged table")[1]
        .split("\n## ")[0]
    )
    statements = {m[1]: m[2] for m in re.finditer(r"```sql\n-- on (\w+)\n(.*?)```", text, re.S)}
    commands = re.search(r"```sh\n(.*?)```", text, re.S)
    assert commands is not None
    return statements, commands[1]


@pytest.mark.long
@pytest.mark.parametrize("server", ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_the_tour(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    statements, commands = blocks()
    dsn = fresh_database(request.getfixturevalue(server), "tour")
    words = conninfo_to_dict(dsn)
    names = {
        "host": "PGHOST",
        "port": "PGPORT",
        "user": "PGUSER",
        "dbname": "PGDATABASE",
        "password": "PGPASSWORD",
    }
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {
        names[k]: str(v) for k, v in words.items() if k in names
    }
    env |= {
        "GPCATALOG_HOME": str(tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def sh(script: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (script, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    (tmp_path / "made.sql").write_text(
        statements["Greenplum" if server.startswith("gp") else "PostgreSQL"]
    )
    sh("psql -X -q -v ON_ERROR_STOP=1 -f made.sql")
    digest = "SELECT count(*), sum(id), sum(amount), max(note) FROM sales.orders"
    with psycopg.connect(dsn) as conn:
        before = conn.execute(digest).fetchone()
    for line in commands.strip().splitlines():
        output = sh(f"{{ {line.partition('  #')[0]}; }} 2>&1" if "verify.sql" in line else line)
        if "verify.sql" in line:
            assert "compared partitions have unchanged rows (60000 rows)" in output, output
            assert output.rstrip().endswith("INFO:  OK: 1 of 1 tables"), output
        elif "audit" in line or "doctor" in line:
            assert "tour" in output
        elif "--explain" in line:
            assert "merge" in output
    with psycopg.connect(dsn) as conn:
        assert conn.execute(digest).fetchone() == before
        assert not conn.execute(
            "SELECT 1 FROM pg_namespace WHERE nspname LIKE 'gpcatalog%'"
        ).fetchall()
    assert (tmp_path / "maintenance.sql").exists()
    snapshots = sorted((tmp_path / "home").rglob("*.gpcatalog"))
    from gpcatalog.store.snapshot import Snapshot

    leaves = []
    for path in snapshots:
        with Snapshot(path) as snapshot:
            leaves.append(
                snapshot.one("SELECT count(*) AS n FROM relation WHERE kind = 'leaf'")["n"]
            )
    assert leaves[0] == 366
    assert leaves[-1] < 20
