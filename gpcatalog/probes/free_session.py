"""A probe that the first of two sessions executes that has no other work."""

from __future__ import annotations

import threading
import time
from typing import Any

from gpcatalog.probes.connection import Session


class FreeSession:
    """One probe without values, for an audit with a second session."""

    def __init__(self, probe: str) -> None:
        self._probe = probe
        self._begun = threading.Lock()
        self._session: Session | None = None
        self._thread: threading.Thread | None = None
        self._found: list[dict[str, Any]] = []
        self._seconds = 0.0
        self._failed: Exception | None = None

    def start(self, session: Session) -> bool:
        """Execute it in the second session, which is closed afterwards, in a thread. False if the
        first session executes it already.
        """
        if not self._begun.acquire(blocking=False):
            return False
        self._session = session
        self._thread = threading.Thread(target=self._run, args=(session,), daemon=True)
        self._thread.start()
        return True

    def _run(self, session: Session) -> None:
        try:
            self._execute(session)
        # any error is raised by `rows`
        except Exception as e:
            self._failed = e
        finally:
            session.close()

    def _execute(self, session: Session) -> None:
        begun = time.perf_counter()
        self._found = session.rows(self._probe)
        self._seconds = time.perf_counter() - begun

    def rows(self, session: Session) -> tuple[list[dict[str, Any]], float]:
        """Its rows and its seconds: execute it in the first session, or wait for the second one.
        Raises ProbeFailed.
        """
        if self._begun.acquire(blocking=False):
            self._execute(session)
        elif self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._found, self._seconds

    def stop(self) -> None:
        """Ask the server to cancel it in the second session, and wait up to 2 seconds; never
        raises.
        """
        self._begun.acquire(blocking=False)
        if self._session is not None and self._thread is not None and self._thread.is_alive():
            self._session.cancel()
            self._thread.join(2)
