"""A web server for the tests, on a port of 127.0.0.1 that the system chooses."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """It waits for its threads at the end, and ignores clients that hang up.

    Otherwise a thread prints a traceback at a moment of its own. Python 3.11 parses source lines
    for it, and counts the depth of that in a counter of the whole process: where another thread
    calls ast.parse meanwhile, both fail with a SystemError.
    """

    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Of all errors, those of the connection are the client's."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server that answers with this handler."""
    with QuietServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
