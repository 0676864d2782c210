"""A run over clusters: one worker process for each, several at the same time, under one time
limit.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from gpcatalog.errors import Exit
from gpcatalog.fleet import WORKER
from gpcatalog.fleet.messages import DatabaseList, Failure, Job, Message, NewSnapshot, ReadProgress
from gpcatalog.model import secrets

GRACE = 15.0  # seconds for a worker to close its sessions before it is killed
_LINES = msgspec.json.Decoder(DatabaseList | ReadProgress | NewSnapshot | Failure)
_ORDER = (Exit.CLEAN, Exit.FINDINGS, Exit.USAGE, Exit.REFUSED, Exit.UNREACHABLE, Exit.INTERNAL)


@dataclass(kw_only=True)
class ClusterRun:
    """The result of reading one cluster.

    snapshots: new snapshot file of each database that was read
    unread:    reason for each database that was not read
    error:     why the cluster could not be read or was read incompletely; empty if it was read
    seconds:   duration; None if reading did not start, or if only stored snapshots were used
    """

    name: str
    snapshots: dict[str, Path] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    error: str = ""
    exit_code: Exit = Exit.CLEAN
    seconds: float | None = None

    def fail(self, code: int) -> None:
        """Set the exit code to this code if it is worse."""
        self.exit_code = worst(self.exit_code, Exit(code))


def worst(*codes: Exit) -> Exit:
    """The worst of several exit codes. From the worst: internal error, unreachable server, refusal,
    wrong usage, findings.

    >>> worst(Exit.FINDINGS, Exit.UNREACHABLE, Exit.CLEAN).name
    'UNREACHABLE'
    """
    return max(codes, key=_ORDER.index, default=Exit.CLEAN)


@dataclass
class _Worker:
    """A process that reads a cluster, and what it has reported."""

    run: ClusterRun
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    started: float
    pending: set[str] = field(default_factory=set)
    text: bytes = b""
    done: bool = False

    def process_output(self, piece: bytes, notify: Callable[[str, Message], None]) -> None:
        """Process output of the worker process."""
        *lines, self.text = (self.text + piece).split(b"\n")
        for line in lines:
            try:
                message = _LINES.decode(line)
            except msgspec.DecodeError:  # output of a library on standard output
                words = secrets.masked(line.decode("utf-8", "replace"))
                self.run.error = f"its process wrote something else: {words[:200]}"
                self.run.fail(Exit.INTERNAL)
                continue
            if isinstance(message, DatabaseList):
                self.pending = set(message.databases)
                self.done = not self.pending
            elif isinstance(message, NewSnapshot):
                self.pending.discard(message.database)
                self.run.snapshots[message.database] = Path(message.path)
            elif isinstance(message, Failure):
                self.run.fail(message.exit_code)
                if message.database:
                    self.pending.discard(message.database)
                    self.run.unread[message.database] = message.reason
                else:
                    self.run.error = message.reason
                    self.done = True
            notify(self.run.name, message)

    def end(self, late: str) -> ClusterRun:
        """Wait for the process and return the result. late: why it was stopped, empty if it was
        not.
        """
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:  # it has closed its output but does not end
            self.process.kill()
            code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.run.seconds = time.monotonic() - self.started
        if late:
            self.run.error = late
            self.run.fail(Exit.UNREACHABLE)
        elif code != 0 or (self.pending and not self.done):
            self.errors.seek(0)
            lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
            words = secrets.masked(lines[0].removeprefix("gpcatalog: ")) if lines else ""
            self.run.error = f"its process ended with {code}" + (f": {words}" if words else "")
            self.run.fail(Exit.INTERNAL)
        for name in sorted(self.pending):
            self.run.unread.setdefault(name, self.run.error or "was not reached")
        self.errors.close()
        return self.run


def _start(name: str, job: Job) -> _Worker:
    """Start the worker process of a cluster and send its job to standard input."""
    errors = tempfile.TemporaryFile()  # noqa: SIM115 # closed in `end`
    paths = os.pathsep.join(p for p in sys.path if p)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gpcatalog", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,  # the worker gets Ctrl-C only from this process
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as stream:
        stream.write(msgspec.json.encode(job))
    return _Worker(ClusterRun(name=name), process, errors, time.monotonic())


def _stop(workers: list[_Worker]) -> None:
    """End processes with SIGTERM; kill those that do not end."""
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            worker.process.terminate()
    until = time.monotonic() + GRACE
    for worker in workers:
        try:
            worker.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()


def read_all(
    jobs: dict[str, Job],
    *,
    at_once: int,
    timeout: float | None,
    notify: Callable[[str, Message], None],
) -> Generator[ClusterRun, None, None]:
    """Read the clusters and yield each result when it is complete.

    at_once: number of clusters at the same time; timeout: seconds for all, None for no limit;
             notify: called with the name of a cluster and each message of its worker. Clusters that
             are not finished in time are stopped
    and reported with a reason. No process remains, even if the caller fails.
    """
    waiting = deque(jobs.items())
    until = None if timeout is None else time.monotonic() + timeout
    busy: list[_Worker] = []
    late = "" if timeout is None else f"not finished within the time limit of {timeout:g} s"
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or busy:
                if until is not None and time.monotonic() >= until:
                    break
                while waiting and len(busy) < at_once:
                    worker = _start(*waiting.popleft())
                    busy.append(worker)
                    assert worker.process.stdout is not None
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
                left = None if until is None else max(0.0, until - time.monotonic())
                for key, _ in selector.select(left):
                    worker = key.data
                    piece = os.read(key.fd, 1 << 16)
                    if piece:
                        worker.process_output(piece, notify)
                        continue
                    selector.unregister(key.fileobj)
                    busy.remove(worker)
                    yield worker.end("")
            _stop(busy)
            for worker in busy:
                assert worker.process.stdout is not None
                worker.process_output(worker.process.stdout.read(), notify)
                yield worker.end(late)
            busy = []
            for name, _ in waiting:
                yield ClusterRun(name=name, error=late, exit_code=Exit.UNREACHABLE)
        finally:
            _stop(busy)
