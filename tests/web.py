"""A web server for the tests, on a port of 127.0.0.1 that the system chooses."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """A server that waits for its threads at the end, and ignores clients that close the connection.

    Otherwise a thread prints a traceback at an unexpected time. Python 3.11 parses source lines
    for the traceback, and counts the depth in a counter of the whole process. If another thread
    calls ast.parse at the same time, both fail with a SystemError.
    """

    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connection errors, which the client causes, and report all others."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[int]:
    """Run a server with this handler and yield its port."""
    with QuietServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
