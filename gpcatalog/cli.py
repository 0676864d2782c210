"""The command line: the list of commands, and the handling of signals, errors and exit codes."""

from __future__ import annotations

import copy
import errno
import io
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from types import FrameType
from typing import Annotated, NoReturn, TextIO, cast

import typer

from gpcatalog import __version__
from gpcatalog.commands import fleet, introspection, snapshot, upkeep
from gpcatalog.commands.audit import audit
from gpcatalog.commands.check import check
from gpcatalog.commands.common import complete
from gpcatalog.commands.doctor import doctor
from gpcatalog.commands.estimate import estimate
from gpcatalog.commands.growth import growth
from gpcatalog.commands.lab import lab
from gpcatalog.commands.latency import latency
from gpcatalog.commands.man import man
from gpcatalog.commands.migrate import migrate
from gpcatalog.commands.plan import plan
from gpcatalog.commands.report import metrics, report
from gpcatalog.commands.schedule import schedule
from gpcatalog.commands.site import site
from gpcatalog.commands.streams import (
    advice,
    fail,
    kept,
    log,
    log_as_json,
    out,
    progress_done,
)
from gpcatalog.commands.usage_errors import in_own_words, is_usage_error
from gpcatalog.errors import CatalogError, Exit, Interrupted, raise_if_interrupted, received
from gpcatalog.fleet import WORKER
from gpcatalog.model.names import listed, printable
from gpcatalog.model.plain_text import spelled_out
from gpcatalog.model.secrets import MaskedSecret
from gpcatalog.signals import handled

# the name in messages and in shell completion, however the program was started: a completion of
# `python -m gpcatalog` would be registered for every `python`
NAME = "gpcatalog"

app = typer.Typer(
    name=NAME,
    help=(
        "Analyze catalog bloat of Greenplum and PostgreSQL, and plan partitions. Connections are"
        " read-only."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help"]},
)
app.add_typer(snapshot.app, name="snapshot")
app.add_typer(upkeep.app, name="upkeep")
for command in (
    audit,
    doctor,
    latency,
    growth,
    report,
    metrics,
    estimate,
    plan,
    migrate,
    check,
    site,
    schedule,
    introspection.rules,
    introspection.probes,
    introspection.schema,
    lab,
):
    app.command(command.__name__)(complete(command))
app.command("man")(complete(man))
app.command(WORKER, hidden=True)(fleet.worker)


class LogFormat(StrEnum):
    """Format of the messages on standard error."""

    TEXT = "text"
    JSON = "json"


def _version(value: bool) -> None:
    if value:
        out(f"gpcatalog {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    log_format: Annotated[
        LogFormat,
        typer.Option(
            "--log-format",
            help="Format of messages on standard error; json: one object on each line.",
        ),
    ] = LogFormat.TEXT,
) -> None:
    log_as_json(log_format is LogFormat.JSON)


KEPT_SHOWN = 5  # files already written that the message of an interrupted run lists
_AGAIN = 0.02  # seconds after which a signal that arrived during an import is sent again


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _unwind(number: int, frame: FrameType | None) -> None:
    if _importing(
        frame
    ):  # an exception during the import of a native library can abort the process
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    if received:  # one is enough: the cleanup must not be interrupted
        return
    received.append(number)
    if number == signal.SIGHUP:
        _leave_terminal()
    # for programs that the cleanup starts. Ignoring the signals instead would make Python print an
    # error for one that has already arrived
    signal.pthread_sigmask(signal.SIG_BLOCK, handled())
    raise Interrupted(number)


# errors of the operating system that a path or its permissions cause, whatever is done with it
_INACCESSIBLE = (
    errno.EACCES,
    errno.EPERM,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EROFS,
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _ClosedOutput(io.TextIOBase):
    """Standard output that the caller closed: what is printed is an error and not lost."""

    encoding = "utf-8"

    def writable(self) -> bool:
        """Return True: printing is tried."""
        return True

    def write(self, text: str) -> int:
        """Raise OSError for a text."""
        if text:
            raise OSError(errno.EIO, "standard output is closed")
        return 0


def _leave_terminal() -> None:
    """Redirect streams to a terminal that was closed to the null device: messages of the cleanup
    would fail.
    """
    for descriptor in (1, 2):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as e:
            if e.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _nobody_reads() -> None:
    """Redirect standard output to the null device, so that the remaining output neither blocks nor
    fails at the end.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _unanswered(e: Exception) -> CatalogError | None:
    """Convert a query that the server did not answer, and that every command needs, to a
    CatalogError; None for other failures.
    """
    probes = sys.modules.get("gpcatalog.probes.connection")  # not loaded: no query was sent
    if probes is None or not isinstance(e, probes.ProbeFailed) or os.environ.get("GPCATALOG_DEBUG"):
        return None
    hints = {
        "timed out": "another session holds a lock, or the server is busy; try again",
        "busy": "another session holds a lock; try again",
        "denied": "`gpcatalog doctor` shows which privileges are missing",
        "segment down": "gpstate -e shows which segments are down",
    }
    return CatalogError(
        f"the server did not answer a query: {e.reason}",
        hint=hints.get(e.status, "the log of the server has more"),
        exit_code=Exit.UNREACHABLE,
    )


def _named(words: Iterable[str]) -> str:
    """Return the command that the words of a command line name; "" if there is none.

    >>> _named(["--log-format", "json", "audit", "--help"]), _named(["--version"])
    ('audit', '')
    """
    left = iter(words)
    for word in left:
        if word == "--log-format":
            next(left, None)
        elif not word.startswith("-"):
            return word
    return ""


def _only(name: str) -> typer.Typer:
    """Return the program with one command, because typer takes 10 ms to read the options of all.
    Return it with all commands if this command does not exist or needs the others.
    """
    commands = [c for c in app.registered_commands if c.name == name]
    groups = [g for g in app.registered_groups if g.name == name]
    if name == man.__name__ or not (commands or groups):
        return app
    one = copy.copy(app)
    one.registered_commands, one.registered_groups = commands, groups
    return one


def _is_plugin(words: Sequence[str]) -> bool:
    """Whether a command line requests the output of a Nagios plugin, which only audit supports.

    >>> _is_plugin(["audit", "--format", "nagios"]), _is_plugin(["check", "--format=nagios"])
    (True, False)
    """
    asked = "--format=nagios" in words or ("--format", "nagios") in pairwise(words)
    return asked and _named(words) == "audit"


def _failed(message: str, hint: str, exit_code: int) -> int:
    """Report a failure; returns the exit code of the process.

    A Nagios plugin prints the message on standard output with the state UNKNOWN. The words of the
    command line are searched for this format, because the failure can be that the command line
    could not be parsed.
    """
    if _is_plugin(sys.argv[1:]):
        from gpcatalog.commands.audit import unknown_state

        progress_done()
        return unknown_state(message)
    fail(message, hint, exit_code=exit_code)
    return exit_code


def _run() -> int:
    """Run a command; convert errors to an exit code and at most one message."""
    try:
        try:
            code = _only(_named(sys.argv[1:]))(standalone_mode=False, prog_name=NAME)
            sys.stdout.flush()
            raise SystemExit(code if isinstance(code, int) else 0)
        except SystemExit:
            sys.stdout.flush()
            raise
        except Exception as e:
            raise_if_interrupted()
            if type(e).__name__ == "NoArgsIsHelpError":
                log(str(e))
                return int(Exit.USAGE)
            if is_usage_error(e):
                raise in_own_words(e) from None
            lost = _unanswered(e)
            if lost is not None:
                raise lost from None
            raise
    except CatalogError as e:
        return _failed(printable(e.message), printable(e.hint), int(e.exit_code))
    except BrokenPipeError:
        _nobody_reads()
        return 128 + signal.SIGPIPE
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(bool(e.code))
        if code == 1 and type(sys.stdout).__name__ == "PacifyFlushWrapper":
            code = (
                128 + signal.SIGPIPE
            )  # typer's exit code when the reader closed the pipe, which is not a finding
        if code in (Exit.CLEAN, Exit.FINDINGS):
            for line in dict.fromkeys(advice):
                log(printable(line))
        return code
    except Exception as e:
        if isinstance(e, OSError) and e.errno in _FULL:
            _nobody_reads()
            # not in the format of a plugin: writing to standard output may be what failed
            code = int(Exit.UNREACHABLE if _is_plugin(sys.argv[1:]) else Exit.USAGE)
            fail(
                f"cannot write: {e.strerror}",
                "standard output was closed, or the disk for temporary files is full",
                exit_code=code,
            )
            return code
        if os.environ.get("GPCATALOG_DEBUG"):
            progress_done()
            raise
        if isinstance(e, OSError) and e.filename and e.errno in _INACCESSIBLE:
            return _failed(
                printable(f"cannot access {e.filename}: {e.strerror}"),
                "check the path and the permissions of the file and of its folders",
                int(Exit.USAGE),
            )
        return _failed(
            f"internal error: {type(e).__name__}: {' '.join(str(e).split())[:300]}",
            "this is a bug; run the command again with GPCATALOG_DEBUG=1 and report the output",
            int(Exit.INTERNAL),
        )
    return 0


def main() -> NoReturn:
    """Run the command line with what all commands need: closed or full streams, signals, masked
    passwords in messages.
    """
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 # replaces a stream that the caller closed
    sys.stdout = sys.stdout or cast(TextIO, _ClosedOutput())
    sys.stderr = sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        spelled_out(stream)
    sys.stderr = MaskedSecret(sys.stderr)
    signals = handled()
    for number in signals:
        signal.signal(number, _unwind)
    try:
        code = _run()
    except Interrupted as e:
        _nobody_reads()
        left = (
            f"already written: {listed(kept, KEPT_SHOWN)}" if kept else "no files were left behind"
        )
        code = 128 + e.number
        fail(f"interrupted; {printable(left)}", exit_code=code)
    for number in signals:
        signal.signal(number, signal.SIG_IGN)  # all output is written
    sys.exit(code)


if __name__ == "__main__":
    main()
