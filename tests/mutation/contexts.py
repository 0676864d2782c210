"""A pytest plugin that passes the name of the running test to coverage, and writes how long each test took.

By default, coverage uses the running function as the test; for a property, this is a function of hypothesis.
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
    """Attribute the lines that run from setup to teardown to this test."""
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
    """Write the times to the folder in which the tests run: {node id: seconds}."""
    Path(DURATIONS).write_text(json.dumps(_took))
