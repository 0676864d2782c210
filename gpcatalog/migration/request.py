"""How a migration is to be written: copy mode, runner, patience.

Light, so that help answers at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """How rows are copied: locked keeps writers of the old leaves out all the while, online only
    for the last look and the swap.
    """

    LOCKED = "locked"
    ONLINE = "online"


class Runner(StrEnum):
    """What runs the files: psql, or anything that sends plain SQL statement by statement."""

    PSQL = "psql"
    PLAIN = "plain"


@dataclass(frozen=True, kw_only=True)
class Request:
    """How the files are to be written.

    most_copied:   upkeep: bytes that all merges of a run may copy; in online mode, a merge goes on the
                   next night where it stopped. None: any
    window:        seconds that a run may take: no step begins that would not end in it (estimate),
                   None: as long as it takes
    run_owner_code: let a superuser run functions of other roles that the tables reach
    merge_seconds: PostgreSQL 19: MERGE PARTITIONS, which keeps readers out while it copies, for
                   merges of at most so long (estimate)
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
