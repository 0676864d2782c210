"""Every command accepts the same names of servers."""

from __future__ import annotations

import pytest

from gpcatalog.dialect.greenplum import editions
from gpcatalog.model import generations
from gpcatalog.model.server import named
from tests import program

COMMANDS = (
    ("check", "-"),
    ("estimate", "--storage", "heap", "--columns", "3", "--leaves", "2"),
    ("probes", "relations"),
)
NAMES = ("gp6", "Greenplum 7", "greengage6", "cloudberry2", "pg15", "PostgreSQL 18", "postgres19")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_every_command_takes_every_name(command: tuple[str, ...], name: str) -> None:
    done = program.run(*command, "--server", name, given="CREATE TABLE t (a int);")
    assert done.returncode in (0, 1), done.stderr  # 1: check has findings
    assert done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_one_name_is_one_generation(name: str) -> None:
    found = generations.named(name)
    generation = found.name if found else None
    assert generation is not None
    (edition,) = editions(name)
    server = named(name)
    assert server is not None
    assert edition.name == server.generation == generation


@pytest.mark.parametrize(
    "name",
    [
        "",
        "sales",
        "host=mdw",
        "postgres9",
        "pg11",
        "greenplum5",
        "gp8",
        "pg٣٤",
        "greenplum",
        "pg150",
    ],
)
def test_other_words_are_no_server(name: str) -> None:
    assert generations.named(name) is None
    assert named(name) is None
