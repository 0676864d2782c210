"""Options of a migration: copy mode, runner, retries.

This module has few imports, so that help is printed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """How rows are copied. locked: writers of the old leaves wait during the whole copy;
    online: they wait only for the last comparison, readers that began after it, and the swap.
    """

    LOCKED = "locked"
    ONLINE = "online"


class Runner(StrEnum):
    """The client that runs the files: psql, or any client that sends plain SQL, one statement
    at a time.
    """

    PSQL = "psql"
    PLAIN = "plain"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Options for writing the files.

    most_copied:   upkeep: maximum bytes that all merges of a run copy; in online mode, a merge
                   continues on the next night where it stopped. None: no limit
    window:        maximum seconds of a run: no step begins that would not end within this time
                   (estimate). None: no limit
    run_owner_code: allow a superuser to run functions of other roles that the tables use
    merge_seconds: PostgreSQL 19: use MERGE PARTITIONS, which blocks readers while it copies, for
                   merges of at most this duration (estimate)
    """

    mode: Mode = Mode.LOCKED
    runner: Runner = Runner.PSQL
    strict: bool = True
    attempts: int = 300
    wait_ms: int = 300
    pause_s: float = 1.0
    window: float | None = None
    merge_seconds: float = 0.0
    run_owner_code: bool = False
    most_copied: int | None = None

    @property
    def longest_wait(self) -> float:
        """Maximum seconds for which a step waits for one lock, from two minutes on in whole
        minutes.
        """
        found = self.attempts * (self.wait_ms / 1000 + self.pause_s)
        return found if found < 120 else -(-found // 60) * 60
