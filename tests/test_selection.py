"""What `.ci/run` leaves out today runs on another day: no case of a test is left out altogether."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import turn_of

_COLLECT = """
import pytest

class Collected:
    def pytest_deselected(self, items):
        for item in items:
            print("out", item.nodeid, sep="\\t")

    def pytest_collection_finish(self, session):
        for item in session.items:
            print("in", item.nodeid, sep="\\t")

pytest.main(["--collect-only", "-qq", "-n", "0"], plugins=[Collected()])
"""


@pytest.mark.parametrize("turns", range(1, 9))
def test_every_case_has_its_turn(turns: int) -> None:
    for cases in range(1, 20):
        for name in ("a", "b", "c"):
            begin = 20_787
            runs = [turn_of(name, cases, begin + n, turns) for n in range(turns)]
            assert set().union(*runs) == set(range(cases))
            assert all(runs)
            assert max(map(len, runs)) <= -(-cases // turns)


def test_every_test_runs_in_every_turn() -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", _COLLECT],
        capture_output=True, text=True, check=False, env=env | {"GPCATALOG_TEST_TURN": "20787/4"}, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    rows = [line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line]
    runs = {name for place, name in rows if place == "in"}
    left_out = {name for place, name in rows if place == "out"}
    assert len(runs) > 2000, done.stdout[-1000:] + done.stderr[-1000:]
    assert len(left_out) > 1000
    assert {name.partition("[")[0] for name in left_out} <= {
        name.partition("[")[0] for name in runs
    }
