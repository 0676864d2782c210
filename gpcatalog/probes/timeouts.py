"""Time limits of a session. This module does not import a database driver."""

from __future__ import annotations

from dataclasses import dataclass

MOST_MS = 2_147_483_647  # largest statement_timeout and lock_timeout of PostgreSQL, in milliseconds


@dataclass(frozen=True)
class Timeouts:
    """Time limits of a session: *_ms in milliseconds, *_s in seconds.

    grace_s: additional seconds without data from the server after which the connection counts as
             lost.
    """

    statement_ms: int = 120_000
    lock_ms: int = 1_000
    connect_s: int = 10
    grace_s: float = 10.0

    @property
    def silence_s(self) -> float:
        """Maximum seconds without data from the server. The server ends a statement itself, so a
        longer silence means that the network failed.
        """
        return self.statement_ms / 1000 + self.grace_s
