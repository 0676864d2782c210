"""The program behaves the same in a forked process and in a new interpreter."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import program

FIXTURE = str(Path(__file__).parent.parent / "fixtures" / "greenplum6.gpcatalog")


@pytest.mark.turns
@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("rules",),
        ("audit", "--snapshot", FIXTURE, "--fail-on", "info"),
        ("audit", "--snapshot", "none.gpcatalog"),
        ("check", "-", "--server", "gp6"),
        ("estimate", "--leaves", "x"),
        ("snapshot", "list"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("encoding", ["", "ascii", "koi8-r"])
def test_it_equals_a_new_interpreter(words: tuple[str, ...], encoding: str, tmp_path: Path) -> None:
    env = {**os.environ, "COLUMNS": "70"}
    if encoding:
        env["PYTHONIOENCODING"] = encoding
    given = "CREATE TABLE é (a int);"
    (tmp_path / "here").mkdir()
    result = program.run(*words, env=env, cwd=tmp_path / "here", text=False, given=given)
    fresh = subprocess.run(
        [sys.executable, "-m", "gpcatalog", *words],
        input=given.encode(), capture_output=True, cwd=tmp_path / "here", env={**env, "PYTHONPATH": str(program.ROOT)},
    )  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr) == (
        fresh.returncode,
        fresh.stdout,
        fresh.stderr,
    )


def test_what_takes_too_long_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:  # never answers
        port = door.getsockname()[1]
        with pytest.raises(subprocess.TimeoutExpired):
            program.run("audit", f"host=127.0.0.1 port={port} connect_timeout=60", timeout=1)


def test_another_environment_of_python_is_a_new_interpreter() -> None:
    result = program.run("--version", env={**os.environ, "PYTHONVERBOSE": "1"})
    assert result.returncode == 0
    assert "import 'gpcatalog" in result.stderr
