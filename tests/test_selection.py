"""What `.ci/run` leaves out is tried on another server: no case of a test is left out altogether."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_COLLECT = """
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        for item in session.items:
            left_out = item.get_closest_marker("every_server") is not None
            print("item", int(left_out), item.nodeid, sep="\\t")

pytest.main(["--collect-only", "-qq", "-n", "0"], plugins=[Collected()])
"""
_SERVER = re.compile(r"\b(?:gp[67]|pg(?:new|\d\d)?)(?:_dsn|_server|_cluster)?(?=[-\]])")


@pytest.fixture(scope="module")
def tests() -> dict[str, bool]:
    """All tests by name, and whether `.ci/run` leaves them out."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", _COLLECT],
        capture_output=True, text=True, check=False, env=env, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    rows = [line.split("\t", 2) for line in done.stdout.splitlines() if line.startswith("item\t")]
    assert len(rows) > 3000, done.stdout[-1000:] + done.stderr[-1000:]
    return {name: left_out == "1" for _, left_out, name in rows}


def test_every_case_is_tried_somewhere(tests: dict[str, bool]) -> None:
    kept = {_SERVER.sub("*", name) for name, left_out in tests.items() if not left_out}
    left = [name for name, left_out in tests.items() if left_out]
    assert len(left) > 100
    assert [name for name in left if _SERVER.sub("*", name) not in kept] == []


def test_every_test_of_greenplum_is_tried_on_one(tests: dict[str, bool]) -> None:
    found = [(n.partition("[")[0], left) for n, left in tests.items() if "[gp" in n]
    assert {n for n, left in found if left} <= {n for n, left in found if not left}
