"""The cases that `.ci/run` leaves out today run on another day: no case of a test is always left out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import LONG_TURNS, long_turn_of, turn_of

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


def test_every_long_test_has_its_turn() -> None:
    for name in ("a", "b", "c", "d"):
        own = [long_turn_of(name, 20_787 + n) for n in range(4 * LONG_TURNS)]
        runs = [turn for turn in own if turn is not None]
        assert runs == list(range(runs[0], runs[0] + 4))  # each of its cases also has a turn
        assert all(sum(t is not None for t in own[n : n + 3]) == 1 for n in range(len(own) - 3))


def collected(**more: str) -> tuple[set[str], set[str]]:
    """The tests that pytest selects, and those that it leaves out."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", _COLLECT],
        capture_output=True, text=True, check=False, env=env | more, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    rows = [line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line]
    runs = {name for place, name in rows if place == "in"}
    assert len(runs) > 2000, done.stdout[-1000:] + done.stderr[-1000:]
    return runs, {name for place, name in rows if place == "out"}


def test_every_test_but_long_ones_runs_in_every_turn() -> None:
    runs, left_out = collected(GPCATALOG_TEST_TURN="20787/4")
    assert len(left_out) > 1000
    long = {name.partition("[")[0] for name in left_out} - {name.partition("[")[0] for name in runs}
    for name in long:
        path, _, function = name.partition("::")
        text = (Path(__file__).parents[1] / path).read_text()
        before = text[: text.index(f"def {function.partition('@')[0]}(")]
        assert "@pytest.mark.long" in before[before.rindex("\n\n\n") :], name
        assert long_turn_of(name, 20_787) is None
    assert 10 <= len(long) <= 40
