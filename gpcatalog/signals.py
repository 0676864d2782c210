"""Signals that end the program. Imported first: it loads nothing else."""

from __future__ import annotations

import signal


def handled() -> tuple[signal.Signals, ...]:
    """The signals that end the program. nohup ignores SIGHUP, which is sent when a terminal or an
    SSH connection closes.
    """
    hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return (*([signal.SIGHUP] if hangs_up else []), signal.SIGINT, signal.SIGTERM)
