"""Options and arguments that several commands share: one spelling, one help text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gpcatalog.model.finding import Finding
    from gpcatalog.probes.connection import Timeouts


class Format(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"


class ColorChoice(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class FailOn(StrEnum):
    """Severity from which on findings make the exit code 1."""

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
            'As psql takes it: a database name, "host=HOST port=PORT dbname=NAME" or postgresql://URI; PG*'
            " variables, .pgpass and services count."
        ),
        show_default=False,
    ),
]
SnapshotFile = Annotated[
    str,
    typer.Option(
        "--snapshot",
        metavar="FILE",
        help="Use this snapshot; no server is contacted.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        help="The series of this folder instead of a connection's.",
        show_default=False,
    ),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="On a private PostgreSQL filled with a bad catalog; it is removed afterwards.",
    ),
]
Store = Annotated[
    bool,
    typer.Option("--store/--no-store", help="Keep a new snapshot in the series of this database."),
]
StatementTimeout = Annotated[
    float, typer.Option(metavar="SECONDS", help="Longest that one statement may take.", min=0.1)
]
LockTimeout = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Longest that a statement may wait for a lock.", min=0.01),
]
OutputFormat = Annotated[Format, typer.Option("--format", help="Output format.")]
Colour = Annotated[ColorChoice, typer.Option("--color", help="When to colour.")]


def timeouts(statement: float, lock: float) -> Timeouts:
    """Limits of a session from seconds."""
    from gpcatalog.probes.connection import Timeouts

    return Timeouts(statement_ms=round(statement * 1000), lock_ms=round(lock * 1000))
