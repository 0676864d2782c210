"""What the README shows is what the program prints."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(as a test checks it:\n\n```text\n)(.*?)(```)", re.S)


def test_the_real_run() -> None:
    """The run shown is the recorded cluster's; GPCATALOG_TEST_UPDATE=1 writes it anew."""
    golden = (ROOT / "fixtures/greenplum6.txt").read_text()
    shown = "\n".join(line.rstrip() for line in golden.splitlines()) + "\n"
    text = README.read_text()
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        README.write_text(BLOCK.sub(lambda m: m[1] + shown + m[3], text))
        text = README.read_text()
    found = BLOCK.search(text)
    assert found is not None
    assert found[2] == shown


def test_the_commands_named_exist() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "gpcatalog", "--help"], capture_output=True, text=True, check=True
    ).stdout
    listed = set(re.findall(r"^  ([a-z]+) ", said.split("Commands:")[1], re.M))
    named = set(re.findall(r"`?gpcatalog ([a-z]+)\b", README.read_text())) - {"audit"}
    assert named <= listed | {"audit", "is", "measures"}, named - listed


def test_the_exit_codes_are_the_programs() -> None:
    from gpcatalog.errors import Exit

    table = README.read_text().split("## Exit codes")[1].split("##")[0]
    told = {
        int(code)
        for line in table.splitlines()
        for code in re.findall(r"\b(\d+)\b", line.split("|")[1] if "|" in line else "")
    }
    assert {int(e) for e in Exit} <= told


def _commands() -> list[tuple[str, str]]:
    """Every command with the first line of its page."""
    from typer.main import get_command

    from gpcatalog.cli import app

    def walk(group: Any, before: str) -> Iterator[tuple[str, str]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from walk(command, f"{before}{name} ")
            else:
                yield (
                    f"{before}{name}",
                    " ".join((command.help or "").strip().split("\n\n")[0].split()),
                )

    return list(walk(get_command(app), ""))


def test_every_command_is_listed_as_its_page_says() -> None:
    """GPCATALOG_TEST_UPDATE=1 writes the table anew."""
    made = "".join(f"| `{name}` | {line} |\n" for name, line in _commands())
    text = README.read_text()
    part = re.compile(r"(## Commands\n.*?\| command \| \|\n\| --- \| --- \|\n)(.*?)(\n## )", re.S)
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        README.write_text(part.sub(lambda m: m[1] + made + m[3], text))
        text = README.read_text()
    found = part.search(text)
    assert found is not None
    assert found[2] == made


def test_every_page_says_what_it_reads_and_gives_an_example() -> None:
    from typer.main import get_command

    from gpcatalog.cli import app

    root: Any = get_command(app)
    for name, _ in _commands():
        command = root
        for word in name.split():
            command = command.commands[word]
        assert f"Example: gpcatalog {name}" in command.help, name
        assert len(command.help.split("\n\n")) >= 3, name
        for option in command.params:
            assert option.help, (name, option.name)


def test_the_fault_table_is_the_tests() -> None:
    assert (ROOT / "fixtures/faults.md").read_text().strip() in README.read_text()


def texts(file: Path) -> str:
    """All strings of a module, pieces of one literal put together, a gap for each value in them."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.JoinedStr):
            found.append(
                "".join(v.value if isinstance(v, ast.Constant) else "\0" for v in node.values)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return "\n".join(found)


def test_the_messages_named_are_the_programs() -> None:
    """Each message of the troubleshooting table, up to its first gap, stands in the program or in what it writes."""
    table = README.read_text().split("## Troubleshooting")[1].split("What a fault does")[0]
    said = "".join(texts(p) for p in sorted((ROOT / "gpcatalog").rglob("*.py")))
    said += "".join(p.read_text() for p in sorted((ROOT / "sql").rglob("*.part")))
    named = [
        m
        for row in table.splitlines()
        if row.startswith("| `")
        for m in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]
    assert len(named) > 10
    for message in named:
        for piece in re.split(r"\s*…\s*", message):
            assert not piece or piece in said, message
