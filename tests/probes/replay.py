"""Record the answers of a live server to every probe of an audit, and replay them without the server.

`RecordingSession` wraps a live session and records its answers; `ReplaySession` returns the same answers, so that the
complete path from the rows of a probe to the snapshot is tested on machines without that server. Answers are found by the
probe's name and returned in the recorded order. The text of a probe may change, but not what it returns.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from gpcatalog.model.server import identify
from gpcatalog.probes import collect
from gpcatalog.probes.connection import ProbeFailed, Session, Timeouts
from tests.recorded import Recording


def collected(session: Any, target: Path) -> Path:
    """Collect a snapshot in a session that records or replays.

    Parts that an audit reads only while there is time are read completely, so that the statements are the same on a slower machine.
    """
    with patch.object(collect, "RECONCILE_SHARE", 1e6):
        return collect.collect(session, target)


_TYPES: dict[str, tuple[type, Any, Any]] = {
    "time": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "seconds": (timedelta, timedelta.total_seconds, lambda x: timedelta(seconds=x)),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
}


def encoded(value: Any) -> Any:
    """A value of a row in JSON; a value that JSON does not support is {"$type": text}."""
    for name, (kind, write, _) in _TYPES.items():
        if isinstance(value, kind):
            return {f"${name}": write(value)}
    if isinstance(value, list | tuple):
        return [encoded(x) for x in value]
    if isinstance(value, dict):
        return {key: encoded(x) for key, x in value.items()}
    return value


def decoded(value: Any) -> Any:
    """Reverse `encoded`."""
    if isinstance(value, list):
        return [decoded(x) for x in value]
    if isinstance(value, dict):
        for name, (_, _, read) in _TYPES.items():
            if value.keys() == {f"${name}"}:
                return read(value[f"${name}"])
        return {key: decoded(x) for key, x in value.items()}
    return value


class Answers:
    """Recorded answers by probe or statement, in order. An answer is {"rows"}, {"csv"} or {"failed"}."""

    def __init__(self) -> None:
        self.recorded: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._given: dict[str, int] = defaultdict(int)
        self._lock = threading.Lock()

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        with self._lock:
            self.recorded[key].append(answer)

    def give(self, key: str) -> dict[str, Any]:
        """Return the next answer; the last one is repeated. Raises KeyError if no answer was recorded."""
        with self._lock:
            answers = self.recorded.get(key)
            if not answers:
                raise KeyError(f"no answer is recorded for {key}: record again")
            number = self._given[key]
            self._given[key] += 1
            return answers[min(number, len(answers) - 1)]

    def add_to(self, recording: Recording, hidden: dict[str, str]) -> None:
        """Add all answers to a recording. hidden: texts of this machine, and their replacements."""
        for key, answers in sorted(self.recorded.items()):
            for answer in answers:
                text = json.dumps([key, answer])
                for ours, instead in hidden.items():
                    text = text.replace(json.dumps(ours)[1:-1], instead)
                recording.add(json.loads(text))

    def load(self, entries: Sequence[Any]) -> Self:
        for key, answer in entries:
            self.recorded[key].append(answer)
        return self


def table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows as lists, with the column names only once."""
    names = list(rows[0]) if rows else []
    return {"columns": names, "rows": [[encoded(row[name]) for name in names] for row in rows]}


class RecordingSession(Session):
    """A live session whose answers are recorded. prefix: "utility " for a session of the coordinator alone."""

    def __init__(self, live: Session, answers: Answers, prefix: str = "") -> None:
        self.live, self.answers, self.prefix = live, answers, prefix
        self.server, self.facts, self.timeouts = live.server, live.facts, live.timeouts
        self.monitored = live.monitored
        self._names: dict[str, str] = {}
        answers.recorded["session"] = [{"facts": encoded(live.facts), "target": live.target}]

    @property
    def target(self) -> dict[str, str]:
        return self.live.target

    def statement(self, name: str, /, **values: str) -> str:
        text = self.live.statement(name, **values)
        self._names[text] = name
        return text

    def query(self, statement: str, params: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        key = self.prefix + self._names.get(statement, statement)
        try:
            rows = self.live.query(statement, params)
        except ProbeFailed as e:
            self.answers.keep(key, {"failed": [e.status, e.reason]})
            raise
        self.answers.keep(key, table(rows))
        return rows

    def stream(self, statement: str, form: str = "csv") -> Iterator[bytes]:
        key = self.prefix + self._names[statement]
        blocks = []
        try:
            for block in self.live.stream(statement, form):
                blocks.append(block)
                yield block
        except ProbeFailed as e:
            self.answers.keep(key, {"failed": [e.status, e.reason]})
            raise
        self.answers.keep(key, {"csv": b"".join(blocks).decode().splitlines(keepends=True)})

    def fresh(self) -> Session:
        return RecordingSession(self.live.fresh(), self.answers, self.prefix)

    def utility(self) -> Session | None:
        alone = self.live.utility()
        self.answers.keep("utility", {"opened": alone is not None})
        return None if alone is None else RecordingSession(alone, self.answers, "utility ")

    def cancel(self) -> None:
        self.live.cancel()

    def close(self) -> None:
        self.live.close()


class ReplaySession(Session):
    """A session without a server: every probe returns its recorded answer."""

    def __init__(self, answers: Answers, prefix: str = "") -> None:
        (known,) = answers.recorded["session"]
        self.answers, self.prefix = answers, prefix
        self.facts, self._target = decoded(known["facts"]), known["target"]
        self.server = identify(
            self.facts["banner"],
            self.facts["server_version_num"],
            has_segments=self.facts["has_segments"],
        )
        self.timeouts = Timeouts()
        self.monitored = False

    @property
    def target(self) -> dict[str, str]:
        return dict(self._target)

    def statement(self, name: str, /, **values: str) -> str:
        return name

    def query(self, statement: str, params: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        answer = self._answer(statement)
        return [
            dict(zip(answer["columns"], map(decoded, row), strict=True)) for row in answer["rows"]
        ]

    def _answer(self, statement: str) -> dict[str, Any]:
        answer = self.answers.give(self.prefix + statement)
        if "failed" in answer:
            raise ProbeFailed(*answer["failed"])
        return answer

    def stream(self, statement: str, form: str = "csv") -> Iterator[bytes]:
        yield "".join(self._answer(statement)["csv"]).encode()

    def fresh(self) -> Session:
        return ReplaySession(self.answers, self.prefix)

    def utility(self) -> Session | None:
        opened = self.answers.give("utility")["opened"]
        return ReplaySession(self.answers, "utility ") if opened else None

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass
