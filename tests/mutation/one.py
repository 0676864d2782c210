"""Run the tests that reach the one line in which a tree differs from its clean copy.

    python -m tests.mutation.one PACKAGE CLEAN

cosmic-ray starts this in the changed tree; its exit code is pytest's, or 9 after the time limit.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.mutation.__main__ import DURATIONS, OVERDUE, PYTEST, TESTS, environment


def changed_line(clean: Path, package: str) -> tuple[str, int]:
    """File and first line of the change. Raises SystemExit if there is none."""
    for file in sorted(Path("gpcatalog", package).rglob("*.py")):
        before, after = (clean / file).read_text().splitlines(), file.read_text().splitlines()
        for tag, start, *_ in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
            if tag != "equal":
                return str(file), start + 1
    raise SystemExit("nothing is changed")


def statement_lines(text: str, line: int) -> range:
    """Lines of the smallest statement that contains a line: coverage counts only its first line."""
    best = range(line, line + 1)
    size = 1 << 30
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            length = (node.end_lineno or line) - node.lineno
            if length < size:
                best, size = range(node.lineno, (node.end_lineno or line) + 1), length
    return best


def main() -> int:
    """Run pytest with the tests that reach the line, or with all tests of the package if none does; return the exit code."""
    package, clean = sys.argv[1], Path(sys.argv[2])
    file, line = changed_line(clean, package)
    lines = json.loads((clean / "tests.json").read_text()).get(file, {})
    around = statement_lines((clean / file).read_text(), line)
    tests = list(dict.fromkeys(test for n in around for test in lines.get(str(n), [])))
    took = json.loads((clean / DURATIONS).read_text())
    limit = 60 + 4 * sum(took.get(test, 0.0) for test in tests or took)
    # a process group of its own, so that no process of the tests survives the limit
    process = subprocess.Popen(
        [sys.executable, *PYTEST, *(tests or TESTS[package])],
        env=environment(),
        process_group=0,
    )
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        print(f"{OVERDUE}: {limit:.0f} s")
        return 9


if __name__ == "__main__":
    sys.exit(main())
