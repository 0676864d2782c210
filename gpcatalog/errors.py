"""What ends a command early: a failure, with what to do and the exit code, or a signal."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Documented exit codes of every command."""

    CLEAN = 0
    FINDINGS = 1  # findings at or above --fail-on
    USAGE = 2  # the call or an input file is wrong
    UNREACHABLE = 3  # the server cannot be reached or read
    REFUSED = 4  # a plan or migration that would be unsafe
    INTERNAL = 70
    INTERRUPTED = 130  # Ctrl-C, as shells number it


# exit codes in the manual pages; the table of the README is the same
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
    "130, 143": (
        "interrupted by SIGINT or SIGTERM; nothing incomplete remains, here or on the server"
    ),
    "141": "the reader closed the output, as in gpcatalog rules | head -n 1",
}


class CatalogError(Exception):
    """A failure that is told to the user in one message, never as a traceback.

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
        # message and hint in one line, for a list of what could not be read
        self.reason = message + (f"; {hint}" if hint else "")
        self.complete = complete  # what was to be written is: the output file is kept


received: list[int] = []  # signals that came


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM: unwinds everything, so that no session and no half-written file is
    left.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_if_interrupted() -> None:
    """Raise Interrupted if a signal came.

    For handlers of any exception: a library may turn the exception of a signal into an error of its
    own (DuckDB: RuntimeError, "Query interrupted"), which is no bug and no damaged file.
    """
    if received:
        raise Interrupted(received[0])
