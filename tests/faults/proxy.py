"""A TCP proxy between gpcatalog and a server: it can call a function at a given probe, discard all data, or close connections."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_MARK = re.compile(rb"/\* gpcatalog:(\w+)")


class Proxy:
    """A proxy on the loopback address. It calls `then` before it forwards the probe `at` for the first time.

    passed: names of the probes that the proxy has received.
    """

    def __init__(
        self, port: int, at: str = "", then: Callable[[Proxy], None] | None = None
    ) -> None:
        self.target = port
        self.at = at
        self.then = then
        self.passed: list[str] = []
        self.swallowing = threading.Event()
        self._pairs: list[socket.socket] = []
        self._ending = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._ending:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                continue
            self._pairs += [client, server]
            threading.Thread(target=self._pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, asking: bool) -> None:
        while not self._ending:
            try:
                block = source.recv(65536)
            except OSError:
                block = b""
            if asking:
                for name in _MARK.findall(block):
                    self._pass(name.decode())
            if self.swallowing.is_set():
                if not block:
                    return
                continue  # discarded: the receiver waits forever
            try:
                if not block:
                    sink.shutdown(socket.SHUT_RDWR)
                    return
                sink.sendall(block)
            except OSError:
                return

    def _pass(self, name: str) -> None:
        self.passed.append(name)
        if name == self.at and self.then is not None:
            then, self.then = self.then, None
            then(self)

    def hang_up(self) -> None:
        """Close every connection, as a firewall that resets connections does."""
        for one in self._pairs:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the listener and all connections."""
        self._ending = True
        for one in (self._listener, *self._pairs):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
