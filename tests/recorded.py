"""Counts of live servers, stored as data files, so that machines without those servers can compare with them.

    GPCATALOG_TEST_RECORD=1 pytest tests/capacity tests/effects tests/dialect/test_oracle.py tests/probes/test_truth.py

runs the matrices on every installed server and rewrites fixtures/recorded/. Each file names the server and the date. A live test of
recorded cases runs one case in GPCATALOG_TEST_SHARE (`.ci/run`: 8, other cases each day), or all cases if it is not set. This is enough
because the behavior of a server does not change, and predictions are compared with all recorded cases on every machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
FOLDER = Path(__file__).parent.parent / "fixtures/recorded"


def share() -> int:
    """The number n if one in n recorded cases runs on a live server again."""
    return (
        1
        if os.environ.get("GPCATALOG_TEST_RECORD")
        else int(os.environ.get("GPCATALOG_TEST_SHARE", "1"))
    )


def turn() -> int:
    """The number of the turn, which `.ci/run` sets (GPCATALOG_TEST_TURN)."""
    return int(os.environ.get("GPCATALOG_TEST_TURN", "0/1").partition("/")[0])


def some_of(cases: Iterable[T], part: int = 0) -> list[T]:
    """One case in `part` (default: share()), other cases in each turn."""
    part = part or share()
    return list(cases)[turn() % part :: part]


class Recording:
    """Counts of one matrix on one server, in the order in which they were taken."""

    def __init__(self, matrix: str, generation: str, banner: str) -> None:
        self.path = FOLDER / f"{matrix}_{generation}.json"
        self.head = {
            "server": banner.split(" on ")[0].split(" (Debian")[0],
            "recorded": f"{datetime.now(UTC):%Y-%m-%d}",
        }
        self.entries: list[Any] = []

    def add(self, entry: Any) -> None:
        self.entries.append(entry)

    def save(self, *, force: bool = False) -> None:
        """Write the file if `force` or GPCATALOG_TEST_RECORD is set: one entry per line, so that differences can be read."""
        if not force and not os.environ.get("GPCATALOG_TEST_RECORD"):
            return
        FOLDER.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(entry, sort_keys=True) for entry in self.entries)
        head = json.dumps(self.head)[1:-1]
        self.path.write_text(f'{{{head}, "entries": [\n{lines}\n]}}\n', encoding="utf-8")


# servers with recordings, by the fixture that returns a database on them
FIXTURES = {
    "gp6_dsn": "gp6",
    "gp7_dsn": "gp7",
    "pg_dsn": "pg15",
    "pgnew_dsn": "pg18",
    "pg19_dsn": "pg19",
}
SERVERS = tuple(FIXTURES.values())


def recorded(matrix: str) -> list[Path]:
    """Files of a matrix, one per server. A missing file fails the test that reads it."""
    return [FOLDER / f"{matrix}_{server}.json" for server in SERVERS]


def by_instance(found: dict[int, Any]) -> dict[str, Any]:
    """Counts of the coordinator, and each different set of counts of segments once.

    Segments with equal counts are one entry, under their lowest content ID: {"-1": …, "0": …}.
    """
    distinct: dict[str, Any] = {}
    for content in sorted(found):
        if content < 0 or found[content] not in [v for k, v in distinct.items() if k != "-1"]:
            distinct[str(content)] = dict(found[content])
    return distinct


def read(path: Path) -> list[Any]:
    entries: list[Any] = json.loads(path.read_text(encoding="utf-8"))["entries"]
    return entries
