"""A Prometheus with the metrics of a recorded Greenplum 6, for tests of the dashboards and alerts that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gpcatalog.emit.metrics import clusters, text_format
from tests.report.prometheus import Prometheus, one_page
from tests.test_cli import FIXTURE, run


@pytest.fixture(scope="session")
def metrics_text() -> str:
    """The metrics of a recorded Greenplum 6, and those of a run over two clusters, of which one is down."""
    result = run("metrics", "--snapshot", str(FIXTURE))
    assert result.returncode == 0, result.stderr
    fleet = [({"cluster": "one", "site": "berlin"}, 2, 1, 3.5), ({"cluster": "down"}, 0, -1, None)]
    return result.stdout + text_format([clusters(fleet)])


@pytest.fixture(scope="session")
def prometheus(metrics_text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that scrapes these metrics. The use of the limits increases with every scrape."""
    scrapes = 0

    def page() -> str:
        nonlocal scrapes
        scrapes += 1
        return re.sub(
            r"^(gpcatalog_limit_ratio\{.*\}) (\S+)$",
            lambda m: f"{m[1]} {float(m[2]) * (1 + scrapes / 1000)}",
            metrics_text,
            flags=re.M,
        )

    with one_page(page) as port:
        server = Prometheus(tmp_path_factory.mktemp("prometheus"), port)
        try:
            server.wait_for("gpcatalog_server")
            yield server
        finally:
            server.close()
