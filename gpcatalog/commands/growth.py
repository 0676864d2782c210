"""The command `growth`: what changed between the snapshots of a series, and when limits come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import snapshot_source, streams
from gpcatalog.commands.options import ColorChoice, Colour, Format, OutputFormat

if TYPE_CHECKING:
    from gpcatalog.growth.result import Growth


def measured(conninfo: str, folder: Path | None, days: float) -> Growth:
    """Growth of the series meant, over its last `days` days."""
    from datetime import timedelta

    from gpcatalog.growth.build import build
    from gpcatalog.growth.points import points

    found, lost = points(snapshot_source.files_of(conninfo, folder), since=timedelta(days=days))
    return build(found, lost)


def growth(
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="CONNINFO",
            help=(
                "Whose series: as psql takes it. Only its host, port and database count; nothing is"
                " contacted."
            ),
            show_default=False,
        ),
    ] = "",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Snapshots of this folder instead.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float,
        typer.Option("--days", help="How far to look back from the newest snapshot.", min=0.01),
    ] = 90.0,
    format: OutputFormat = Format.TEXT,
    color: Colour = ColorChoice.AUTO,
) -> None:
    """What grew between the snapshots of a series, on which segment, through which tables, and when
    limits will be reached.

    Reads stored snapshots only; no server is contacted. A forecast needs five snapshots over more
    than a day.

    Example: gpcatalog growth "host=mdw dbname=sales"
    """
    result = measured(conninfo, folder, days)
    if format is Format.JSON:
        streams.as_json(result)
        return
    from gpcatalog.emit import growth_text

    growth_text.show(result, streams.console(color))
