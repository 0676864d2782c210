"""The program's first moment: a signal is answered before anything else is loaded."""

from __future__ import annotations

import gc
import os
import signal

# objects made before Python looks for cycles of unused ones (its default: 700). What is made while
# modules and the grammar are loaded stays, and was gone through again and again
COLLECT_AFTER = 50_000


def _early(number: int, _frame: object) -> None:
    try:
        os.write(2, b"gpcatalog: interrupted; no files were left behind\n")
    finally:
        os._exit(128 + number)


def main() -> None:
    """The command line, from the first moment on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _early)
    gc.set_threshold(COLLECT_AFTER)
    from gpcatalog.cli import main as run

    run()
