"""Exceptions that end a command early: a failure with a hint and an exit code, or a signal."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Documented exit codes of every command."""

    CLEAN = 0
    FINDINGS = 1  # findings at or above --fail-on
    USAGE = 2  # wrong usage, or an invalid input file
    UNREACHABLE = 3  # the server cannot be reached or read
    REFUSED = 4  # a plan or migration that would be unsafe
    INTERNAL = 70
    INTERRUPTED = 130  # Ctrl-C; the exit code that shells use


# exit codes in the manual pages; the table in the README is the same
EXIT_TEXTS = {
    "0": "success; no finding at or above --fail-on",
    "1": (
        "at least one finding at or above --fail-on (audit: never by default; check: warning by"
        " default); upkeep status: a problem"
    ),
    "2": (
        "wrong usage, an input file that is missing or invalid, or an output that cannot be written"
    ),
    "3": "the server cannot be reached or read, or the program of --notify-command failed",
    "4": "refused: the operation would be unsafe, or the same run over a fleet is active",
    "70": "internal error: a bug",
    "129, 130, 143": (
        "interrupted by SIGHUP, SIGINT or SIGTERM; nothing incomplete remains, here or on the server"
    ),
    "141": "the reader closed the output, as in gpcatalog rules | head -n 1",
}


class CatalogError(Exception):
    """A failure that is reported to the user in one message, never as a traceback.

    >>> e = CatalogError("no such file: x", hint="name a snapshot", exit_code=Exit.USAGE)
    >>> e.message, e.hint, int(e.exit_code)
    ('no such file: x', 'name a snapshot', 2)
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        exit_code: Exit = Exit.USAGE,
        complete: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
        # message and hint in one line, for lists of what could not be read
        self.reason = message + (f"; {hint}" if hint else "")
        self.complete = complete  # the output was written completely: the output file is kept


received: list[int] = []  # signals that were received


class Interrupted(BaseException):
    """Raised by Ctrl-C, SIGTERM or SIGHUP; it unwinds the stack, so that no session and no half-written
    file remains.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_if_interrupted() -> None:
    """Raise Interrupted if a signal was received.

    For handlers of all exceptions: a library may convert the exception of a signal to an error of
    its own (DuckDB: RuntimeError, "Query interrupted"). This is neither a bug nor a damaged file.
    """
    if received:
        raise Interrupted(received[0])
