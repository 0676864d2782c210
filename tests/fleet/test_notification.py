"""The program of --notify-command: when it runs, what it receives, and what happens if it fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpcatalog.lab.postgres import PrivateServer, free_port
from tests.test_cli import one_message, run

PROGRAM = """\
import sys
from pathlib import Path
folder = Path(sys.argv[1])
(folder / f"{len(list(folder.iterdir()))}.json").write_bytes(sys.stdin.buffer.read())
print("noise on standard output")
sys.exit(int(sys.argv[2]))
"""


class Program:
    """A program that stores what it receives and ends with the given exit code."""

    def __init__(self, place: Path) -> None:
        self.file = place / "a program.py"
        self.file.write_text(PROGRAM)
        self.received = place / "received"
        self.received.mkdir()

    def command(self, code: int = 0) -> str:
        return f"'{sys.executable}' '{self.file}' '{self.received}' {code}"

    def take(self) -> list[dict[str, Any]]:
        """Return the notifications received so far, and delete them."""
        files = sorted(self.received.iterdir(), key=lambda f: int(f.stem))
        found = [json.loads(f.read_text()) for f in files]
        for file in files:
            file.unlink()
        return found


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def autovacuum(server: PrivateServer, value: str) -> None:
    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as conn:
        conn.execute(f"ALTER SYSTEM SET autovacuum = {value}".encode())
        conn.execute("SELECT pg_reload_conf()")


def rules(problems: list[dict[str, Any]]) -> list[str]:
    return [p["rule"] for p in problems]


def test_it_runs_when_the_state_changes(own_server: PrivateServer, program: Program) -> None:
    dsn = own_server.conninfo("postgres")

    def audit() -> list[dict[str, Any]]:
        result = run("audit", dsn, "--notify-command", program.command(), "--format", "json")
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["schema"].startswith("gpcatalog.audit/")
        return program.take()

    (first,) = audit()
    assert first["schema"] == "gpcatalog.notification/1"
    assert (first["before"], first["state"]) == (None, "warning")
    assert rules(first["new"]) == ["autovacuum-off"]
    assert first["new"][0]["place"].endswith("/postgres")
    assert first["new"][0]["remedy"]
    assert audit() == []
    autovacuum(own_server, "on")
    (resolved,) = audit()
    assert (resolved["before"], resolved["state"], resolved["new"]) == ("warning", "ok", [])
    assert rules(resolved["gone"]) == ["autovacuum-off"]
    assert audit() == []


def test_a_failure_is_reported_and_repeated(own_server: PrivateServer, program: Program) -> None:
    dsn = own_server.conninfo("postgres")
    words = ("audit", dsn, "--quiet", "--notify-command")
    failed = run(*words, program.command(7))
    assert failed.returncode == 3
    assert "WARNING" in failed.stdout
    assert "the notification command failed with 7: noise on standard output" in failed.stderr
    assert len(program.take()) == 1
    # each command has its own state; the same command is called again
    assert run(*words, program.command(7)).returncode == 3
    assert len(program.take()) == 1


def test_a_server_that_is_down_is_news_and_hides_no_problem(
    own_server: PrivateServer, program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "f.toml"
    place = psycopg.conninfo.conninfo_to_dict(own_server.conninfo("postgres"))

    def audit(port: object) -> list[dict[str, Any]]:
        conninfo = psycopg.conninfo.make_conninfo(**(place | {"port": port}))
        file.write_text(f'[cluster.one]\nconninfo = "{conninfo}"\ndatabases = ["postgres"]\n')
        run("audit", "--config", str(file), "--notify-command", program.command())
        return program.take()

    (first,) = audit(place["port"])
    assert rules(first["new"]) == ["autovacuum-off"]
    (down,) = audit(free_port())
    assert (rules(down["new"]), down["gone"]) == (["unread"], [])
    assert down["state"] == "critical"
    assert down["new"][0]["title"].startswith("could not be audited: cannot connect")
    (up,) = audit(place["port"])
    assert (rules(up["gone"]), up["new"]) == (["unread"], [])


def test_one_database_that_is_down(program: Program) -> None:
    result = run(
        "audit",
        f"host=127.0.0.1 port={free_port()} dbname=x",
        "--notify-command",
        program.command(),
    )
    one_message(result, 3, "cannot connect")
    (down,) = program.take()
    assert rules(down["new"]) == ["unread"]


def test_all_databases_of_a_server_that_goes_and_comes(
    own_server: PrivateServer, program: Program
) -> None:
    """Each time a server goes down and comes up again, there are two notifications of the same state."""
    place = psycopg.conninfo.conninfo_to_dict(own_server.conninfo("postgres"))

    def audit(*, up: bool) -> list[dict[str, Any]]:
        if not up:
            own_server.stop()
        dsn = psycopg.conninfo.make_conninfo(**place)
        run("audit", dsn, "--all-databases", "--notify-command", program.command())
        return program.take()

    (first,) = audit(up=True)
    assert rules(first["new"]) == ["autovacuum-off"]
    (down,) = audit(up=False)
    assert (rules(down["new"]), down["gone"]) == (["unread"], [])
    own_server.start()
    (again,) = audit(up=True)
    assert (rules(again["gone"]), again["new"]) == (["unread"], [])
    (down,) = audit(up=False)
    assert rules(down["new"]) == ["unread"]


def test_the_first_error_is_reported_when_the_program_fails_too(program: Program) -> None:
    result = run(
        *("audit", f"host=127.0.0.1 port={free_port()} dbname=x"),
        *("--notify-command", program.command(5)),
    )
    assert result.returncode == 3
    first, second, *_ = result.stderr.splitlines()
    assert first.startswith("gpcatalog: the notification command failed with 5")
    assert second.startswith("gpcatalog: cannot connect")


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (("--notify-command", "no-such-program x"), "there is no program 'no-such-program'"),
        (("--notify-command", "'"), "--notify-command: No closing quotation"),
        (("--notify-command", "cat", "--format", "nagios"), ""),
        (("--notify-command", "cat", "--only", "autovacuum-off"), "cannot be combined with --only"),
        (("--notify-command", "cat", "--demo"), "cannot be combined with --demo"),
    ],
)
def test_wrong_calls(words: tuple[str, ...], pattern: str) -> None:
    result = run("audit", *words)
    if "nagios" in words:
        assert result.returncode == 3
        assert "--notify-command cannot be combined with --format nagios" in result.stdout
    else:
        one_message(result, 2, pattern)
