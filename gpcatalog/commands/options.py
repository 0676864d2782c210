"""Options and arguments of several commands: the same name and help text everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.file_choice import FileChoice, FileSelection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpcatalog.model.finding import Finding
    from gpcatalog.probes.timeouts import Timeouts


class Format(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"


class AuditFormat(StrEnum):
    """Output format of an audit."""

    TEXT = "text"
    JSON = "json"
    NAGIOS = "nagios"


class ColorChoice(StrEnum):
    """Use color: on terminals, always or never."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class FailOn(StrEnum):
    """The lowest severity of findings that makes the exit code 1."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"
    NEVER = "never"

    def reached(self, findings: tuple[Finding, ...]) -> bool:
        """Whether a finding is of this severity or worse."""
        from gpcatalog.model.finding import Severity

        return self is not FailOn.NEVER and any(f.severity >= Severity[self.name] for f in findings)


Conninfo = Annotated[
    str,
    typer.Argument(
        metavar="CONNINFO",
        help=(
            'Connection parameters as for psql: a database name, "host=HOST port=PORT'
            ' dbname=NAME" or postgresql://URI. PG* variables, .pgpass and service files are'
            " used."
        ),
        show_default=False,
    ),
]
SnapshotFile = Annotated[
    str,
    typer.Option(
        "--snapshot",
        metavar="FILE",
        help="Read this snapshot instead of a server.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        help="Read the snapshots in this folder.",
        show_default=False,
    ),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Use a temporary PostgreSQL server with a bloated catalog.",
    ),
]
Store = Annotated[
    bool,
    typer.Option(
        "--store/--no-store", help="Store the new snapshot in the series of this database."
    ),
]
StatementTimeout = Annotated[
    float, typer.Option(metavar="SECONDS", help="Time limit for each statement.", min=0.1)
]
LockTimeout = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Time limit for each wait for a lock.", min=0.01),
]
FilesRead = Annotated[
    FileSelection,
    typer.Option(
        "--files",
        help=(
            "Files whose sizes are read; auto: all, or a sample if a host has very many (see the"
            " documentation of audit) or reading all would take too long."
        ),
    ),
]
Parallel = Annotated[
    int | None,
    typer.Option(
        "--parallel",
        metavar="N",
        help="On Greenplum, list the directories of N segments of each host at the same time.",
        min=1,
        show_default="all",
    ),
]
NotifyCommand = Annotated[
    str,
    typer.Option(
        "--notify-command",
        metavar="CMD",
        help=(
            "Run this program, without a shell, when problems are new, worse, better or gone;"
            " it receives the change as JSON on standard input."
        ),
        show_default=False,
    ),
]
OutputFormat = Annotated[Format, typer.Option("--format", help="Output format.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show all details and sources.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show only the verdict.")]
Colour = Annotated[ColorChoice, typer.Option("--color", help="Use color in the output.")]


def detail(*, verbose: bool, quiet: bool) -> str:
    """The amount of output: "all", "verdict" or "summary". Raises CatalogError if both are
    given.
    """
    if verbose and quiet:
        raise CatalogError("give --verbose or --quiet, not both")
    return "all" if verbose else "verdict" if quiet else "summary"


def timeouts(statement: float, lock: float) -> Timeouts:
    """Return the timeouts of a session from seconds."""
    from gpcatalog.probes.timeouts import Timeouts

    return Timeouts(statement_ms=round(statement * 1000), lock_ms=round(lock * 1000))


def file_choice(files: FileSelection, parallel: int | None, **without_server: object) -> FileChoice:
    """Return which files are read. without_server: options that are used without a server.

    Raises CatalogError (2) if the choice has no effect.
    """
    choice = FileChoice(files, parallel or 0)
    given = "--parallel" if parallel else "--files"
    for name, value in without_server.items():
        if value and choice != FileChoice():
            raise CatalogError(
                f"{given} cannot be combined with --{name}, which reads no directory"
            )
    if parallel and files is FileSelection.NONE:
        raise CatalogError("--parallel cannot be combined with --files none, which lists nothing")
    return choice


class Written(dict[str, str]):
    """The options on the command line of a call: as written, such as --no-toast, by parameter."""

    def refuse(self, parameters: Iterable[str], reason: str, hint: str) -> None:
        """Raise CatalogError (2) if one of these options is written, because it would have no
        effect.

        reason: the rest of the sentence that begins with the option
        """
        for name in parameters:
            if name in self:
                raise CatalogError(f"{self[name]} {reason}", hint=hint, exit_code=Exit.USAGE)


NONE_WRITTEN = Written()
