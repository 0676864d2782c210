"""The command `growth`: what changed between the snapshots of a series, and when limits come."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from gpcatalog.growth.result import Growth


class Format(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"


class ColorChoice(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def files_of(conninfo: str, folder: Path | None) -> list[Path]:
    """Snapshot files of the series meant: a folder, a connection's series, or the only series there is.

    Raises CatalogError (2) when there is none, or more than one to choose from.
    """
    from gpcatalog.store import series
    from gpcatalog.store.snapshot import SUFFIX

    if folder is not None:
        if conninfo:
            raise CatalogError("give a connection or --folder, not both")
        found = sorted(folder.glob(f"*{SUFFIX}"))
        if not found:
            raise CatalogError(f"no snapshot in {folder}", hint=f"snapshot files end in {SUFFIX}")
        return found
    if conninfo:
        from gpcatalog.probes.target import target

        where = target(conninfo)
        place = series.folder(where.host or "local", where.port, where.database)
        found = [stored.path for stored in series.snapshots(place)]
        if not found:
            raise CatalogError(f"no snapshot of {where.database} is stored in {place}", hint="`gpcatalog snapshot list` shows what is")
        return found
    places = {stored.path.parent for stored in series.snapshots()}
    if len(places) == 1:
        return [stored.path for stored in series.snapshots(places.pop())]
    if not places:
        raise CatalogError("no snapshot is stored", hint="`gpcatalog snapshot take` takes one; one a day makes a series")
    names = ", ".join(sorted(f"{p.parent.name} {p.name}" for p in places)[:6])
    raise CatalogError(f"{len(places)} series are stored: {names}", hint="name one by its connection or with --folder")


def measured(conninfo: str, folder: Path | None, days: float) -> Growth:
    """Growth of the series meant, over its last `days` days."""
    from datetime import timedelta

    from gpcatalog.growth.build import build
    from gpcatalog.growth.points import points

    found, lost = points(files_of(conninfo, folder), since=timedelta(days=days))
    return build(found, lost)


def growth(
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="[CONNINFO]",
            help="Whose series: as psql takes it. Only its host, port and database count; nothing is contacted.",
            show_default=False,
        ),
    ] = "",
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="Snapshots of this folder instead.", show_default=False)
    ] = None,
    days: Annotated[float, typer.Option("--days", help="How far to look back from the newest snapshot.", min=0.01)] = 90.0,
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
    color: Annotated[ColorChoice, typer.Option("--color", help="When to colour.")] = ColorChoice.AUTO,
) -> None:
    """What grew between the snapshots of a series, on which segment, through which tables, and when limits will be reached.

    Reads stored snapshots only; no server is contacted. A forecast needs five snapshots over more than a day.

    Example: gpcatalog growth "host=mdw dbname=sales"
    """
    result = measured(conninfo, folder, days)
    if format is Format.JSON:
        from gpcatalog.emit.as_json import encode

        sys.stdout.write(encode(result))
        return
    from gpcatalog.emit import growth_text
    from gpcatalog.emit.terminal import Color, console

    growth_text.show(result, console(Color(color.value)))
