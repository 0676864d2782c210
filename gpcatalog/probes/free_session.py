"""A probe that the first of two sessions executes that has no other work."""

from __future__ import annotations

import threading
import time
from typing import Any

from gpcatalog.probes.connection import ProbeFailed, Session

_WAITS = (0.1, 0.4, 0.5, 1.0)  # seconds for which each attempt to cancel is waited for


def cancel_until(session: Session, ended: threading.Event) -> None:
    """Ask the server to cancel what the session executes, until the event; never raises. Waits up
    to 2 seconds.

    A thread may begin a statement between two attempts. Thread.join and Thread.is_alive cannot
    replace the event: after a join that a signal has interrupted, the thread counts as ended.
    """
    for seconds in _WAITS:
        session.cancel()
        if ended.wait(seconds):
            return


class FreeSession:
    """One probe without values, for an audit with a second session."""

    def __init__(self, probe: str) -> None:
        self._probe = probe
        self._lock = threading.Lock()  # protects the next two
        self._begun = False
        self._session: Session | None = None  # the second session, if it executes the probe
        self._stopped = False
        self._ended = threading.Event()  # of the second session
        self._found: list[dict[str, Any]] = []
        self._seconds = 0.0
        self._failed: Exception | None = None

    def start(self, session: Session) -> bool:
        """Execute it in the second session, which is closed afterwards, in a thread. False if the
        first session executes it already, or no thread can be started.
        """
        with self._lock:
            if self._begun:
                return False
            self._begun, self._session = True, session
        try:
            threading.Thread(target=self._run, args=(session,), daemon=True).start()
        except RuntimeError as e:  # no more threads: `rows` executes it in the first session
            self._failed = e
            self._ended.set()
            return False
        return True

    def _run(self, session: Session) -> None:
        try:
            if not self._stopped:
                self._execute(session)
        # any error is raised by `rows`
        except Exception as e:
            self._failed = e
        finally:
            session.close()
            self._ended.set()

    def _execute(self, session: Session) -> None:
        begun = time.perf_counter()
        self._found = session.rows(self._probe)
        self._seconds = time.perf_counter() - begun

    def rows(self, session: Session) -> tuple[list[dict[str, Any]], float]:
        """Its rows and its seconds: wait for the second session, or execute it in the first one,
        also if the second one was lost. Raises ProbeFailed.
        """
        with self._lock:
            first, self._begun = not self._begun, True
        if not first:
            self._ended.wait()
            if isinstance(self._failed, ProbeFailed):
                raise self._failed
        if first or self._failed is not None:
            self._execute(session)
        return self._found, self._seconds

    def stop(self) -> None:
        """End it in the second session, on the server too; never raises. Waits up to 2 seconds."""
        self._stopped = True
        with self._lock:
            self._begun, session = True, self._session
        if session is not None and not self._ended.is_set():
            cancel_until(session, self._ended)
