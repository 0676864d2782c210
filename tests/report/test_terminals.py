"""Terminals and pipes that do not support UTF-8: reports are complete and use supported characters only.

Output for programs remains UTF-8.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gpcatalog.cli import app
from tests import program

FIXTURE = str(Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog")
ENCODINGS = ("ascii", "iso-8859-1", "koi8-r", "cp1252", "utf-8")
COMMANDS = (
    ("audit", "--snapshot", FIXTURE),
    ("plan", "--snapshot", FIXTURE),
    ("growth", "--folder", str(Path(FIXTURE).parent)),
    ("rules",),
    ("rules", "segment-catalog-bloat"),
    ("--help",),
    ("audit", "--help"),
    ("estimate", "--leaves", "100", "--columns", "é"),
    ("snapshot", "list"),
)


def run_with_encoding(*words: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    return program.run(*words, text=False, env=os.environ | {"PYTHONIOENCODING": encoding})


@pytest.mark.turns
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]).replace("/", ""))
def test_text_is_complete(words: tuple[str, ...]) -> None:
    reference = run_with_encoding(*words, encoding="utf-8")
    assert reference.returncode in (0, 1, 2)
    for encoding in ENCODINGS[:-1]:
        found = run_with_encoding(*words, encoding=encoding)
        assert found.returncode == reference.returncode, found.stderr
        text = (found.stdout + found.stderr).decode(encoding)
        expected = (reference.stdout + reference.stderr).decode()
        assert text.count("\n") == expected.count("\n")
        assert "internal error" not in text
        assert "codec" not in text


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_data_is_utf8(encoding: str, tmp_path: Path) -> None:
    for words in (
        ("audit", "--snapshot", FIXTURE, "--format", "json"),
        ("plan", "--snapshot", FIXTURE, "--format", "json"),
    ):
        found = run_with_encoding(*words, encoding=encoding)
        assert found.returncode == 0, found.stderr
        json.loads(found.stdout.decode("utf-8"))
    (tmp_path / "größe.sql").write_text("CREATE TABLE größe (a int);", encoding="utf-8")
    checked = run_with_encoding(
        "check", str(tmp_path), "--server", "gp6", "--format", "json", encoding=encoding
    )
    assert "größe" in checked.stdout.decode("utf-8")
    assert json.loads(checked.stdout.decode("utf-8"))


@pytest.mark.parametrize("command", ["", *sorted(c.name or "" for c in app.registered_commands)])
def test_help_is_ascii(command: str) -> None:
    """The option library writes help in UTF-8 even if the terminal is ASCII."""
    found = run_with_encoding(*command.split(), "--help", encoding="utf-8")
    assert found.returncode == 0
    assert found.stdout.isascii()
