"""Probes on one table that scan whole catalogs, asked for several tables together."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from gpcatalog.probes.connection import ProbeFailed, Session

TOGETHER = "migration_hanging"


class ByTable:
    """Answers probes as a session does, but asks TOGETHER for all tables at once. Several threads
    may ask, as many at a time as there are sessions.

    sessions: on one server, one or more; roots: object IDs of the tables
    """

    def __init__(self, sessions: Sequence[Session], roots: Iterable[int]) -> None:
        self._sessions = sessions
        self._free: queue.SimpleQueue[Session] = queue.SimpleQueue()
        for session in sessions:
            self._free.put(session)
        self._roots = frozenset(roots)
        self._found: dict[int, list[dict[str, Any]]] | None = None
        self._asking = threading.Lock()
        self._stopped = False

    def rows(self, name: str, /, **values: str) -> list[dict[str, Any]]:
        """As Session.rows. Raises ProbeFailed.

        Where asking about all tables together fails, as it may take too long, each is asked about
        by itself.
        """
        if name != TOGETHER:
            return self._ask(name, **values)
        root = int(values["roots"])
        with self._asking:
            if self._found is None and root in self._roots:
                self._ask_for_all()
        if self._found is None or root not in self._roots:
            return self._ask(name, **values)
        return self._found.get(root, [])

    def _ask(self, name: str, /, **values: str) -> list[dict[str, Any]]:
        """Rows of a probe by the first session that is free. Raises ProbeFailed."""
        session = self._free.get()
        try:
            if self._stopped:
                raise ProbeFailed("failed", "the command was stopped")
            return session.rows(name, **values)
        finally:
            self._free.put(session)

    def stop(self) -> None:
        """End the statements under way, and ask nothing more: who asks gets ProbeFailed."""
        self._stopped = True
        for session in self._sessions:
            session.cancel()

    def _ask_for_all(self) -> None:
        found = defaultdict(list)
        try:
            for row in self._ask(TOGETHER, roots=", ".join(map(str, sorted(self._roots)))):
                found[row["root"]].append(row)
        except ProbeFailed:
            if len(self._roots) == 1:
                raise
            self._roots = frozenset()
            return
        self._found = found
