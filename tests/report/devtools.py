"""Control Chromium through its DevTools pipe, to print pages with scripts disabled. No command-line option does this."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Browser:
    """A running browser with one page."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._buffer = b""
        self._number = 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable", page=True)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            found = os.read(self._receive, 1 << 20)
            assert found, "the browser ended"
            self._buffer += found
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def call(self, method: str, *, page: bool = False, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result. page: a method of the page, not of the browser."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if page:
            request["sessionId"] = self._session
        os.write(self._send, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def open(self, address: str, *, scripts: bool = True) -> None:
        """Open a page and wait until it is loaded."""
        self.call("Emulation.setScriptExecutionDisabled", page=True, value=not scripts)
        self.call("Page.navigate", page=True, url=address)
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def pdf(self, to: Path) -> Path:
        """Print the page to a file."""
        found = self.call("Page.printToPDF", page=True, printBackground=False)
        to.write_bytes(base64.b64decode(found["data"]))
        return to


@contextlib.contextmanager
def browser(program: str, profile: Path) -> Iterator[Browser]:
    """Start a headless browser; it reads commands from file descriptor 3 and writes answers to 4."""
    commands, answers = os.pipe(), os.pipe()

    def in_the_child() -> None:
        # through high numbers, because the pipes themselves may use 3 and 4
        high = (
            os.dup2(commands[0], 103, inheritable=False),
            os.dup2(answers[1], 104, inheritable=False),
        )
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    process = subprocess.Popen(
        [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
         f"--user-data-dir={profile}", "--remote-debugging-pipe"],
        preexec_fn=in_the_child, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(commands[0])
    os.close(answers[1])
    try:
        yield Browser(commands[1], answers[0])
    finally:
        os.close(commands[1])
        os.close(answers[0])
        process.terminate()
        process.wait(30)
