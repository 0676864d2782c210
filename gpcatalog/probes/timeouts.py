"""Time limits of a session; no library that connects is needed to choose them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """How long a probe may take, in milliseconds.

    grace_s: how much longer than that a server may be silent before it counts as lost.
    """

    statement_ms: int = 120_000
    lock_ms: int = 1_000
    connect_s: int = 10
    grace_s: float = 10.0

    @property
    def silence_s(self) -> float:
        """Longest that a server may say nothing: it ends a statement itself, so a longer silence is
        a network that was cut.
        """
        return self.statement_ms / 1000 + self.grace_s
