"""Probes on one table that scan whole catalogs, executed for several tables together."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from gpcatalog.probes.connection import ProbeFailed, Session

BATCH_PROBE = "migration_hanging"


class ByTable:
    """Executes probes as a session does, but the probe TOGETHER for all tables at once. Several
    threads can use it at the same time; each session executes one statement at a time.

    sessions: one or more, on one server; roots: object IDs of the tables
    """

    def __init__(self, sessions: Sequence[Session], roots: Iterable[int]) -> None:
        self._sessions = sessions
        self._free: queue.SimpleQueue[Session] = queue.SimpleQueue()
        for session in sessions:
            self._free.put(session)
        self._roots = frozenset(roots)
        self._found: dict[int, list[dict[str, Any]]] | None = None
        self._batch_lock = threading.Lock()
        self._stopped = False

    def rows(self, name: str, /, **values: str) -> list[dict[str, Any]]:
        """Rows of a probe, as in Session.rows. Raises ProbeFailed.

        If the probe fails for all tables together, for example because it takes too long, it is
        executed for each table.
        """
        if name != BATCH_PROBE:
            return self._probe(name, **values)
        root = int(values["roots"])
        with self._batch_lock:
            if self._found is None and root in self._roots:
                self._probe_all()
        if self._found is None or root not in self._roots:
            return self._probe(name, **values)
        return self._found.get(root, [])

    def _probe(self, name: str, /, **values: str) -> list[dict[str, Any]]:
        """Rows of a probe, from the first free session. Raises ProbeFailed."""
        session = self._free.get()
        try:
            if self._stopped:
                raise ProbeFailed("failed", "the command was stopped")
            return session.rows(name, **values)
        finally:
            self._free.put(session)

    def stop(self) -> None:
        """Cancel the running statements and execute no more: further calls raise ProbeFailed."""
        self._stopped = True
        for session in self._sessions:
            session.cancel()

    def _probe_all(self) -> None:
        found = defaultdict(list)
        try:
            for row in self._probe(BATCH_PROBE, roots=", ".join(map(str, sorted(self._roots)))):
                found[row["root"]].append(row)
        except ProbeFailed:
            if len(self._roots) == 1:
                raise
            self._roots = frozenset()
            return
        self._found = found
