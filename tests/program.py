"""Run gpcatalog in a new process without importing it again: a process that has imported gpcatalog forks for each command.

A test starts hundreds of short commands, each of which would need 0.3 s of processor time to load. Variables that Python reads from the
environment when it starts cannot be changed afterwards. If they differ, for example the encoding, a new interpreter is started.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent
# the newest psql itself: /usr/bin/psql of Debian is a script that looks for it and takes ten times as long to start
PSQL = max(
    map(str, Path("/usr/lib/postgresql").glob("*/bin/psql")),
    key=lambda path: int(Path(path).parts[-3]),
    default="psql",
)
_AT_START = ("PYTHON", "LC_", "LANG", "LD_")  # names of variables that a new interpreter reads


def hear_hangups() -> None:
    """For a new process: SIGHUP ends it, even if the suite runs under nohup, which ignores it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def run(
    *words: str,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    text: bool = True,
    timeout: float = 120,
    given: str | None = None,
) -> subprocess.CompletedProcess[Any]:
    """Run `gpcatalog` with these arguments and return its output and exit code.

    env: all variables, None for those of the tests; given: standard input; text: whether output is
        decoded. Raises subprocess.TimeoutExpired.
    """
    env = dict(os.environ) if env is None else env
    if _started_with(env) != _started_with(dict(os.environ)):
        return subprocess.run(
            [sys.executable, "-m", "gpcatalog", *words],
            capture_output=True, text=text, check=False, timeout=timeout, cwd=cwd, env=env,
            **({"stdin": subprocess.DEVNULL} if given is None else {"input": given if text else given.encode()}),
        )  # fmt: skip
    with contextlib.ExitStack() as files:
        streams = [files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams[0].write((given or "").encode())
        streams[0].seek(0)
        code = _imported().run(words, env, cwd, [stream.fileno() for stream in streams], timeout)
        outputs = []
        for stream in streams[1:]:
            stream.seek(0)
            found: Any = stream.read()
            outputs.append(found.decode() if text else found)
    return subprocess.CompletedProcess(["gpcatalog", *words], code, *outputs)


def _started_with(env: dict[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_AT_START)
        and name != "PYTHONIOENCODING"
        and (name, value) != ("PYTHONPATH", str(ROOT))
    }


class _Imported:
    """A process that has imported gpcatalog and forks at each request."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        code = f"from tests.program import serve; serve({other.fileno()})"
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            pass_fds=[other.fileno()],
            start_new_session=True,
        )
        other.close()

    def run(
        self,
        words: tuple[str, ...],
        env: dict[str, str],
        cwd: Path | None,
        streams: list[int],
        timeout: float,
    ) -> int:
        """Run one command and return its exit code: negative for a signal, as in subprocess."""
        request = json.dumps([words, env, str(cwd or Path.cwd())]).encode()
        read, write = os.pipe()
        try:
            socket.send_fds(self._socket, [request], [*streams, write])
        finally:
            os.close(write)
        with open(read, "rb", buffering=0) as reply:
            pid = int(self._line(reply, 60))
            try:
                return os.waitstatus_to_exitcode(int(self._line(reply, timeout)))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["gpcatalog", *words], timeout) from None

    @staticmethod
    def _line(reply: io.RawIOBase, timeout: float) -> bytes:
        end, line = time.monotonic() + timeout, b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([reply], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            more = reply.read(1)  # not more: the next line may already be in the pipe
            assert more, "the process that starts the program is gone"
            line += more
        return line


_one: _Imported | None = None
_lock = threading.Lock()


def _imported() -> _Imported:
    global _one
    with _lock:
        if _one is None:
            _one = _Imported()
        return _one


# -- in the process that has imported the program ------------------------------------------------------


def serve(number: int) -> None:
    """Answer requests on the socket with this number until the other side closes it.

    Each request is answered in a forked process, which ends with the program and never returns to the caller.
    """
    import gpcatalog

    for module in pkgutil.walk_packages(gpcatalog.__path__, "gpcatalog."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
    gc.collect()
    gc.freeze()
    asks = socket.socket(fileno=number)
    # this process does not wait for the child processes, which wait for the program
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, streams, _, _ = socket.recv_fds(asks, 1 << 20, 4)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asks.close()
            _wait_or_run(request, streams)
        for stream in streams:
            os.close(stream)


def _wait_or_run(request: bytes, streams: list[int]) -> NoReturn:
    reply = streams.pop()
    pid = os.fork()
    if pid:
        for stream in streams:
            os.close(stream)
        os.write(reply, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        os.write(reply, b"%d\n" % status)
        os._exit(0)
    os.close(reply)
    words, env, folder = json.loads(request)
    for n, stream in enumerate(streams):
        os.dup2(stream, n)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    encoding, _, how = env.get("PYTHONIOENCODING", "").partition(":")
    for n, (name, of) in enumerate(
        (("stdin", sys.stdin), ("stdout", sys.stdout), ("stderr", sys.stderr))
    ):
        stream = open(  # noqa: SIM115
            n,
            "w" if n else "r",
            encoding=encoding or of.encoding,
            errors=of.errors if n == 2 or not encoding else how or "strict",
            buffering=1 if n == 2 else -1,
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = [str(ROOT / "gpcatalog" / "__main__.py"), *words]
    # as with python -m: messages name the program
    sys.modules["__main__"].__package__ = "gpcatalog"
    from gpcatalog.bootstrap import main

    # without the normal end of Python: unloading all imported modules would take longer than most commands
    try:
        main()
    except SystemExit as e:
        code = int(e.code or 0)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)
