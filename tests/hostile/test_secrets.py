"""A password appears in no output, message, snapshot, plan, script, page or temporary file, and not in the server's log."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from gpcatalog.lab.postgres import PrivateServer
from tests import program

pytestmark = pytest.mark.xdist_group("secrets")  # one server for all tests

SECRET = "s3cr3t-Zq9%/'x"
FORMS = {
    SECRET,
    quote(SECRET, safe=""),
    SECRET.replace("'", "\\'"),
    SECRET.replace("'", "''"),
    "s3cr3t",
}


@dataclass
class Guarded:
    server: PrivateServer
    plain: str  # host, port, user and database


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    """A server that asks one role for its password, and logs every statement."""
    with PrivateServer(settings={"log_statement": "all", "log_connections": "on"}) as server:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            verifier = conn.pgconn.encrypt_password(
                SECRET.encode(), b"guarded", b"scram-sha-256"
            ).decode()
            conn.execute(f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{verifier}'".encode())
            conn.execute("CREATE TABLE sales (id int, d date) PARTITION BY RANGE (d)")
            for day in range(1, 11):
                conn.execute(
                    f"CREATE TABLE sales_{day} PARTITION OF sales FOR VALUES FROM ('2020-01-{day:02}') TO ('2020-01-{day + 1:02}')".encode()
                )
            conn.execute(
                "INSERT INTO sales SELECT n, date '2020-01-01' + n FROM generate_series(0, 8) n"
            )
            hba = server.data / "pg_hba.conf"
            hba.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
            conn.execute("SELECT pg_reload_conf()")
        yield Guarded(server, f"host=127.0.0.1 port={server.port} user=guarded dbname=postgres")


def ways(guarded: Guarded, tmp_path: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Connection string and environment for each way to provide a password."""
    port = guarded.server.port
    passfile = tmp_path / "elsewhere" / "pgpass"
    passfile.parent.mkdir()
    passfile.write_text(f"127.0.0.1:{port}:*:guarded:{SECRET}\n")
    passfile.chmod(0o600)
    quoted = SECRET.replace("\\", "\\\\").replace("'", "\\'")
    return {
        "URI": (f"postgresql://guarded:{quote(SECRET, safe='')}@127.0.0.1:{port}/postgres", {}),
        "conninfo": (f"{guarded.plain} password='{quoted}'", {}),
        "PGPASSWORD": (guarded.plain, {"PGPASSWORD": SECRET}),
        "pgpass": (guarded.plain, {"PGPASSFILE": str(passfile)}),
        "passfile": (f"{guarded.plain} passfile='{passfile}'", {}),
    }


def commands(dsn: str) -> list[list[str]]:
    """Commands that connect, and commands with an unknown database, connection parameter or host."""
    wrong = [dsn.replace("/postgres", "/nobody") if "://" in dsn else f"{dsn} dbname=nobody"]
    wrong += [
        dsn + "?bad=1" if "://" in dsn else f"{dsn} bad=1",
        dsn.replace("127.0.0.1", "no-such-host.invalid"),
    ]
    return [
        ["audit", dsn],
        ["audit", dsn, "--format", "json", "--maintenance", "maintenance.sql"],
        ["audit", dsn, "--all-databases", "--no-store"],
        ["snapshot", "take", dsn, "--save", "taken.gpcatalog"],
        ["latency", dsn, "--allow-ddl", "--rounds", "1", "--leaves", "2"],
        ["growth", dsn],
        ["plan", dsn, "--format", "json", "-o", "plan.json"],
        ["migrate", "plan.json", "-o", "sql", dsn],
        ["report", dsn, "--html", "page.html"],
        ["metrics", dsn, "--to", "metrics.prom"],
        ["estimate", dsn, "--table", "public.sales"],
        ["probes", "relations", dsn],
        *([["audit", bad] for bad in wrong]),
    ]


@pytest.mark.long
@pytest.mark.parametrize("way", ["URI", "conninfo", "PGPASSWORD", "pgpass", "passfile"])
def test_it_is_nowhere(guarded: Guarded, tmp_path: Path, way: str) -> None:
    dsn, env = ways(guarded, tmp_path)[way]
    work = tmp_path / "work"
    (work / "tmp").mkdir(parents=True)
    failed = []
    given = way in (
        "URI",
        "conninfo",
    )  # only libpq handles the others: fewer commands are enough
    for words in [words for words in commands(dsn) if given or words[0] in ("audit", "latency")]:
        result = program.run(
            *words, text=False, cwd=work, timeout=200,
            env={**os.environ, "GPCATALOG_HOME": str(work / "home"), "TMPDIR": str(work / "tmp"), "GPCATALOG_DEBUG": "1", **env},
        )  # fmt: skip
        for form in FORMS:
            assert form.encode() not in result.stdout + result.stderr, (words[0], form)
        if result.returncode not in (0, 1):
            failed.append((words[0], result.returncode, result.stderr.decode()[-300:]))
    assert [code for _, code, _ in failed] in ([3, 2, 3], [3, 3, 3]), failed  # only the wrong ones
    written = [p for p in work.rglob("*") if p.is_file()]
    assert any(p.suffix == ".gpcatalog" for p in written)
    if given:
        assert {"taken.gpcatalog", "plan.json", "page.html", "metrics.prom", "maintenance.sql"} <= {
            p.name for p in written
        }
        assert any(p.suffix == ".sql" and p.parent.name == "sql" for p in written)
    for file in (*written, guarded.server.folder / "server.log"):
        content = file.read_bytes()
        for form in FORMS:
            assert form.encode() not in content, (file.name, form)


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "postgresql://u:s3cr3t%ret@mdw/db"],
        ["doctor", "postgresql://u:s3cr3t word@mdw/db"],
        ["growth", "postgresql://u:s3cr3t%zz@mdw/db"],
        ["report", "postgresql://u:s3cr3t%zz@mdw/db", "--html", "-"],
        ["probes", "relations", "postgresql://u:s3cr3t%zz@mdw/db"],
        ["growth", "postgresql://u:s3cr3t%f3@mdw/db"],
        ["doctor", "host=mdw password=s3cr3t\udcf3"],
        ["audit", "postgresql://u:pa@s3cr3t@127.0.0.1/db"],
        ["audit", "postgresql://u:pa/s3cr3t@127.0.0.1/db"],
        ["audit", "postgresql://u:s3cr3t/db"],
        ["audit", "host=127.0.0.1 port=s3cr3t"],
        ["audit", "host=127.0.0.1 password=one s3cr3t"],
        ["audit", "host=127.0.0.1 password=one s3cr3t=two"],
        ["audit", "host=127.0.0.1 password='s3cr3t"],
        ["latency", "host=127.0.0.1", "port=1", "password=s3cr3t"],
        ["latency", "host=127.0.0.1", "password='s3cr3t s3cr3t'"],
        ["plan", "--snapshot", "postgresql://u:s3cr3t@mdw/db"],
        ["snapshot", "export", "postgresql://u:pa@s3cr3t@mdw/db", "out"],
        ["estimate", "--server", "postgresql://u:s3cr3t@mdw/db", "--columns", "5"],
        ["check", "-", "--server", "postgresql://u:s3cr3t@mdw/db"],
        ["migrate", "postgresql://u:s3cr3t@mdw/db", "-o", "out"],
    ],
    ids=" ".join,
)
def test_not_when_it_was_typed_wrongly(tmp_path: Path, words: list[str]) -> None:
    """A % or @ that is not encoded, an extra quote or space, or a connection string where another argument belongs."""
    env = {**os.environ, "GPCATALOG_HOME": str(tmp_path), "GPCATALOG_DEBUG": "1"}
    result = program.run(*words, text=False, cwd=tmp_path, env=env)
    assert result.returncode in (2, 3), result.stderr.decode()
    assert result.stderr
    assert b"s3cr3t" not in result.stdout + result.stderr, result.stderr.decode()
    assert b"Traceback" not in result.stderr


def test_a_plan_sends_it_nowhere(guarded: Guarded, tmp_path: Path) -> None:
    """PGPASSWORD is sent to a host that the user names, but not to a host that only a plan file names."""
    env = {**os.environ, "GPCATALOG_HOME": str(tmp_path), "PGPASSWORD": SECRET}

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return program.run(*words, cwd=tmp_path, env=env | more)

    assert run("plan", guarded.plain, "--format", "json", "-o", "plan.json").returncode == 0
    refused = run("migrate", "plan.json", "-o", "sql")
    assert refused.returncode == 2
    assert "PGPASSWORD would be sent there" in refused.stderr
    assert not (tmp_path / "sql").exists()
    named = run("migrate", "plan.json", "-o", "sql", PGHOST="127.0.0.1", PGUSER="guarded")
    assert named.returncode == 0, named.stderr
