"""The program's first moment: a signal is answered before anything else is loaded."""

from __future__ import annotations

import os
import signal


def _early(number: int, _frame: object) -> None:
    try:
        os.write(2, b"gpcatalog: interrupted; no files were left behind\n")
    finally:
        os._exit(128 + number)


def main() -> None:
    """The command line, from the first moment on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _early)
    from gpcatalog.cli import main as run

    run()
