"""A real Prometheus that scrapes one page, with the rules of gpcatalog."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from gpcatalog.emit.alerts import rules_text
from gpcatalog.lab.postgres import free_port
from tests.conftest import program, wait_for_port
from tests.web import serving


@contextlib.contextmanager
def one_page(page: Callable[[], str]) -> Iterator[int]:
    """Serve one page in the text format of Prometheus; return the port of the web server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(page().encode())

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as port:
        yield port


class Prometheus:
    """A Prometheus with the rules of gpcatalog, which scrapes one page every second."""

    def __init__(self, folder: Path, target: int) -> None:
        path = program("prometheus", "prometheus")
        settings = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [
                {
                    "job_name": "gpcatalog",
                    "honor_labels": True,
                    "static_configs": [{"targets": [f"127.0.0.1:{target}"]}],
                }
            ],
        }
        (folder / "rules.yml").write_text(rules_text())
        (folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
        self.port = free_port()
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [
                path,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            stdout=self.log,
            stderr=self.log,
        )
        wait_for_port(self.port)
        until = time.monotonic() + 60
        while not self._ready():
            assert time.monotonic() < until, "Prometheus does not become ready"
            time.sleep(0.2)

    def _ready(self) -> bool:
        """Whether Prometheus answers queries; its port is open earlier."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=30):
                return True
        except urllib.error.HTTPError:
            return False

    def get(self, path: str, **values: str) -> Any:
        """Return an answer of the HTTP API."""
        query = urllib.parse.urlencode(values)
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)["data"]

    def values(self, expr: str) -> list[dict[str, Any]]:
        """The current series of an expression."""
        found: list[dict[str, Any]] = self.get("query", query=expr)["result"]
        return found

    def wait_for(self, expr: str) -> list[dict[str, Any]]:
        """Wait until an expression has series, and return them."""
        until = time.monotonic() + 60
        while not (found := self.values(expr)):
            assert time.monotonic() < until, expr
            time.sleep(0.5)
        return found

    def close(self) -> None:
        """Stop Prometheus."""
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
