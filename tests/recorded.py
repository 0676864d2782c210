"""What live servers counted, kept as data: machines without those servers compare with it.

    GPCATALOG_TEST_RECORD=1 pytest tests/capacity tests/effects tests/dialect/test_oracle.py tests/probes/test_truth.py

runs the matrices on every server that is installed and writes fixtures/recorded/ anew. A file says which server
counted, and when. A live test of what is recorded takes one case in GPCATALOG_TEST_SHARE (`.ci/run`: 8, others each day), else all of
them: what a server did does not change, and what is predicted is compared with all recorded cases on every machine.
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
    """One recorded case in so many is to run on a live server again."""
    return (
        1
        if os.environ.get("GPCATALOG_TEST_RECORD")
        else int(os.environ.get("GPCATALOG_TEST_SHARE", "1"))
    )


def turn() -> int:
    """The number of the turn, which `.ci/run` gives (GPCATALOG_TEST_TURN)."""
    return int(os.environ.get("GPCATALOG_TEST_TURN", "0/1").partition("/")[0])


def some_of(cases: Iterable[T], part: int = 0) -> list[T]:
    """One case in so many (share()): others each turn."""
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

    def save(self, *, asked: bool = False) -> None:
        """Write the file, if it was asked for: an entry a line, so that differences can be read."""
        if not asked and not os.environ.get("GPCATALOG_TEST_RECORD"):
            return
        FOLDER.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(entry, sort_keys=True) for entry in self.entries)
        head = json.dumps(self.head)[1:-1]
        self.path.write_text(f'{{{head}, "entries": [\n{lines}\n]}}\n', encoding="utf-8")


# servers with recordings, by the fixture that gives a database on them
FIXTURES = {
    "gp6_dsn": "gp6",
    "gp7_dsn": "gp7",
    "pg_dsn": "pg15",
    "pgnew_dsn": "pg18",
    "pg19_dsn": "pg19",
}
SERVERS = tuple(FIXTURES.values())


def recorded(matrix: str) -> list[Path]:
    """Files of a matrix, one a server. One that is missing fails the test that reads it."""
    return [FOLDER / f"{matrix}_{server}.json" for server in SERVERS]


def by_instance(found: dict[int, Any]) -> dict[str, Any]:
    """Counts of the coordinator, and those of segments where they differ, each once.

    Segments are told apart by their counts alone: {"-1": …, "0": …} with the least content of each.
    """
    kept: dict[str, Any] = {}
    for content in sorted(found):
        if content < 0 or found[content] not in [v for k, v in kept.items() if k != "-1"]:
            kept[str(content)] = dict(found[content])
    return kept


def read(path: Path) -> list[Any]:
    entries: list[Any] = json.loads(path.read_text(encoding="utf-8"))["entries"]
    return entries
