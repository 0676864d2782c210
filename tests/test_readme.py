"""What the README shows is what the program prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
    said = subprocess.run([sys.executable, "-m", "gpcatalog", "--help"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  ([a-z]+) ", said.split("Commands:")[1], re.M))
    named = set(re.findall(r"`?gpcatalog ([a-z]+)\b", README.read_text())) - {"audit"}
    assert named <= listed | {"audit", "is", "measures"}, named - listed


def test_the_exit_codes_are_the_programs() -> None:
    from gpcatalog.errors import Exit

    table = README.read_text().split("## Exit codes")[1].split("##")[0]
    told = {int(code) for line in table.splitlines() for code in re.findall(r"\b(\d+)\b", line.split("|")[1] if "|" in line else "")}
    assert {int(e) for e in Exit} <= told
