"""The output of a worker process, read in pieces, and the results of a worker that does not end normally."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from gpcatalog.commands.fleet import FleetRun, _Progress
from gpcatalog.errors import Exit
from gpcatalog.fleet import run as fleet_run
from gpcatalog.fleet.messages import DatabaseList, Failure, Message, NewSnapshot, ReadProgress
from gpcatalog.fleet.run import ClusterRun, _Worker, worst
from gpcatalog.fleet.settings import Fleet

MESSAGES: list[Message] = [
    DatabaseList(["a", "b\n", "c"]),
    ReadProgress("a", "relations"),
    NewSnapshot("a", "/x/a.gpcatalog"),
    Failure("b\n", "no", int(Exit.UNREACHABLE)),
    NewSnapshot("c", "/x/c.gpcatalog"),
]


def worker(code: str) -> _Worker:
    """A worker that runs Python code."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    errors = io.BytesIO(b"gpcatalog: postgresql://u:secret@h/d is broken\n  hint: x\n")
    return _Worker(ClusterRun(name="one"), process, errors, time.monotonic())


def lines(messages: list[Message]) -> bytes:
    return b"".join(msgspec.json.encode(m) + b"\n" for m in messages)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_messages_in_pieces(size: int) -> None:
    heard: list[tuple[str, Message]] = []
    one, text = worker("pass"), lines(MESSAGES)
    for begin in range(0, len(text), size):
        one.process_output(text[begin : begin + size], lambda name, m: heard.append((name, m)))
    found = one.end("")
    assert heard == [("one", m) for m in MESSAGES]
    assert {k: str(v) for k, v in found.snapshots.items()} == {
        "a": "/x/a.gpcatalog",
        "c": "/x/c.gpcatalog",
    }
    assert (found.unread, found.error, found.exit_code) == ({"b\n": "no"}, "", Exit.UNREACHABLE)


def test_one_that_dies_names_what_it_left() -> None:
    one = worker("import os; os.kill(os.getpid(), 9)")
    one.process_output(lines(MESSAGES[:3]), lambda *_: None)
    found = one.end("")
    assert found.error == "its process ended with -9: postgresql://u:********@h/d is broken"
    assert set(found.unread) == {"b\n", "c"}
    assert found.exit_code is Exit.INTERNAL


def test_one_that_writes_something_else_is_no_traceback() -> None:
    one = worker("pass")
    one.process_output(b"warning of a library\n" + lines(MESSAGES), lambda *_: None)
    found = one.end("")
    assert found.error == "its process wrote something else: warning of a library"
    assert set(found.snapshots) == {"a", "c"}
    assert found.exit_code is Exit.INTERNAL


def test_names_of_a_stranger_reach_no_terminal_raw(capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal control sequences in database names are not written to the terminal."""
    evil = "\x1b]0;owned\x07\x1b[2J"
    run = ClusterRun(name="one", unread={evil: f"no {evil}"}, error=f"end {evil}")
    fleet = Fleet(file=Path("f"), jobs=1, timeout=None, schedule="", clusters={})
    FleetRun(fleet=fleet, clusters={}, runs=[run], stored=True, until=None).report()
    _Progress(1).end(run)
    stderr = capsys.readouterr().err
    assert stderr.count("owned") >= 4
    assert not {c for c in stderr if c < " "} - {"\n"}


def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has closed its output but does not end is killed: otherwise the run would not end."""
    monkeypatch.setattr(fleet_run, "GRACE", 0.5)
    one = worker("import os, time; os.close(1); time.sleep(600)")
    one.process_output(lines(MESSAGES), lambda *_: None)
    found = one.end("")
    assert found.error.startswith("its process ended with -9")
    assert set(found.snapshots) == {"a", "c"}


def test_the_worst_code_stands_for_all() -> None:
    assert worst() is Exit.CLEAN
    order = [Exit.CLEAN, Exit.FINDINGS, Exit.USAGE, Exit.REFUSED, Exit.UNREACHABLE, Exit.INTERNAL]
    for n, code in enumerate(order):
        assert worst(*order[: n + 1]) is worst(*reversed(order[: n + 1])) is code
