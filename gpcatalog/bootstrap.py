"""The entry point of the program: handles signals before anything else is imported."""

from __future__ import annotations

import gc
import os
import signal

from gpcatalog.signals import handled

# allocated objects from which Python runs the garbage collector (its default: 700). What is
# allocated while modules and the grammar are loaded is never freed, and was scanned repeatedly
COLLECT_AFTER = 50_000


def _stop_before_start(number: int, _frame: object) -> None:
    try:
        os.write(2, b"gpcatalog: interrupted; no files were left behind\n")
    except OSError:
        pass  # the terminal was closed
    finally:
        os._exit(128 + number)


def main() -> None:
    """Install early signal handlers, then import and run the command line."""
    for number in handled():
        signal.signal(number, _stop_before_start)
    gc.set_threshold(COLLECT_AFTER)
    from gpcatalog.cli import main as run

    run()
