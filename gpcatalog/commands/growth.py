"""The command `growth`: changes between the snapshots of a series, and forecasts of limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import snapshot_source, streams
from gpcatalog.commands.options import ColorChoice, Colour, Format, OutputFormat

if TYPE_CHECKING:
    from gpcatalog.growth.result import Growth


def measured(conninfo: str, folder: Path | None, days: float) -> Growth:
    """Return the growth of the chosen series over its last `days` days."""
    from gpcatalog.growth.build import build
    from gpcatalog.growth.series import length, period

    found = period(snapshot_source.files_of(conninfo, folder), since=length(days))
    return build(found.points, found.skipped, found.older)


def growth(
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="CONNINFO",
            help=(
                "Read the stored snapshots of this database; CONNINFO as for psql. No connection"
                " is made."
            ),
            show_default=False,
        ),
    ] = "",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Read the snapshots in this folder.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float,
        typer.Option("--days", help="Length of the period before the newest snapshot.", min=0.01),
    ] = 90.0,
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Report what grew between snapshots, and forecast limits.

    Reads stored snapshots only. A forecast needs five snapshots over more than a day.

    Example: gpcatalog growth "host=mdw dbname=sales"
    """
    result = measured(conninfo, folder, days)
    if format is Format.JSON:
        streams.as_json(result)
        return
    from gpcatalog.emit import growth_text

    growth_text.show(result, streams.console(color))
