"""Code that runs DDL although the statement itself does not show it: a prediction equals the server, or states what is unknown.

The effects on the servers are recorded, and compared on machines without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpcatalog.dialect.script import Source
from tests.capacity.live import own_database
from tests.effects.live import Result, begin, follow, replay
from tests.effects.routes import cases
from tests.effects.test_scripts import banner
from tests.recorded import FIXTURES, Recording, read, recorded, share, some_of

EXACT = 0.3  # share of the statements whose effect must be known


def judge(result: Result) -> None:
    print(result.line("routes"))
    assert result.wrong == []
    assert result.unread == []
    assert result.equal >= EXACT * result.accepted


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_routes(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn, server = request.getfixturevalue(fixture), FIXTURES[fixture]
    recording, result = Recording("routes", server, banner(dsn)), Result()
    with own_database(dsn, "gpcatalog_routes") as live:
        begin(live)
        for text in some_of(cases(), 2 * share() if share() > 1 else 1):
            recording.add({"script": text})
            if "BEGIN;" not in text:
                live.work.execute(b"BEGIN")
                result.add(follow(live, Source(text, text), recording))
                live.work.execute(b"ROLLBACK")
                continue
            # the script contains its own transactions
            with own_database(dsn, "gpcatalog_route") as other:
                begin(other)
                result.add(follow(other, Source(text, text), recording))
    judge(result)
    recording.save()


@pytest.mark.parametrize("path", recorded("routes"), ids=lambda p: p.stem)
def test_routes_did_what_is_predicted(path: Path) -> None:
    """Predictions agree with the recorded effects; needs no server."""
    scripts: dict[str, list[dict[str, Any]]] = {}
    for entry in read(path):
        if "script" in entry:
            now = scripts.setdefault(entry["script"], [])
        else:
            now.append(entry)
    assert list(scripts) == list(cases()), "the scripts have changed: record them again"
    result = Result()
    for entries in scripts.values():
        result.add(replay(entries, path.stem.rpartition("_")[2]))
    judge(result)
