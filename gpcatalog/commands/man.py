"""The command `man`: manual pages with the text of --help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpcatalog.commands import streams
from gpcatalog.errors import CatalogError
from gpcatalog.model.output_file import refuse_standard_output

if TYPE_CHECKING:
    from gpcatalog.emit.man import Page, Parameter

PROGRAM = "gpcatalog"


def _values(kind: Any) -> str:
    """The placeholder of a value, for an option without a metavar."""
    choices = getattr(kind, "choices", None)
    if choices:
        return "|".join(choices)
    return "NUMBER" if kind.name.startswith(("int", "float")) else "TEXT"


def _parameter(parameter: Any) -> Parameter:
    """The description of an option or argument for a page."""
    from gpcatalog.emit.man import Parameter

    argument = parameter.param_type_name == "argument"
    flag = bool(getattr(parameter, "is_flag", False))
    default = parameter.default
    shown = bool(parameter.show_default) and not flag and default not in (None, "", False)
    return Parameter(
        names=(*parameter.opts, *parameter.secondary_opts),
        metavar="" if flag else parameter.metavar or _values(parameter.type),
        help=" ".join((parameter.help or "").split()),
        default=str(getattr(default, "value", default)) if shown and not argument else "",
        required=bool(parameter.required),
        argument=argument,
    )


def _pages(command: Any, name: str) -> Iterator[Page]:
    """Yield the page of a command, then those of its subcommands."""
    from gpcatalog.emit.man import Page

    children = {k: c for k, c in getattr(command, "commands", {}).items() if not c.hidden}

    def summary(one: Any) -> str:
        return " ".join((one.help or "").split("\n\n")[0].split())

    yield Page(
        name=name,
        help=command.help or "",
        parameters=tuple(_parameter(p) for p in command.params if not p.hidden),
        children=tuple((key, summary(one)) for key, one in children.items()),
    )
    for key, one in children.items():
        yield from _pages(one, f"{name} {key}")


def man(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Words of a command, such as snapshot take."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Write the pages of all commands to files in this folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print a manual page.

    The pages have the same text as --help. With --folder, it writes one file per command, for a
    folder man1 of MANPATH. No server is contacted.

    Example: gpcatalog man audit | man -l -
    """
    from gpcatalog import __version__
    from gpcatalog.emit.man import roff

    pages = {page.name: page for page in _pages(context.find_root().command, PROGRAM)}
    if folder is None:
        name = " ".join([PROGRAM, *(command or [])])
        if name not in pages:
            raise CatalogError(
                f"there is no command {' '.join(command or [])!r}",
                hint=f"{PROGRAM} --help lists the commands",
            )
        streams.out(roff(pages[name], __version__))
        return
    refuse_standard_output("--folder", folder)
    if command:
        raise CatalogError("--folder writes all pages; it cannot be combined with a command")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise CatalogError(f"cannot create {folder}: {e.strerror or e}") from None
    for page in pages.values():
        streams.save(folder / page.file, roff(page, __version__))
        streams.out(f"{folder / page.file}\n")
