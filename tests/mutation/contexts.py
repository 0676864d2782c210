"""A plugin of pytest that tells coverage which test runs, and writes how long each took.

coverage itself takes the function that runs for the test; of a property that is one of hypothesis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tests.mutation.__main__ import DURATIONS

_took: dict[str, float] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Lines that run from setup to teardown are this test's."""
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(item.nodeid)
    yield
    if running is not None:
        running.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the time of a phase."""
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Write the times to the folder where the tests run: {node id: seconds}."""
    Path(DURATIONS).write_text(json.dumps(_took))
