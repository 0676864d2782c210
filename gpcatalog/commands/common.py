"""Options of many commands: the connection with the options of psql, and the file for the
output.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.fleet import DEFAULTS, OPTIONS, FleetChoice
from gpcatalog.commands.options import Written
from gpcatalog.errors import CatalogError
from gpcatalog.model.output_file import STANDARD_OUTPUT
from gpcatalog.probes.timeouts import MOST_MS

_TIMEOUTS = ("statement_timeout", "lock_timeout")
_CONTEXT = "context"  # parameter of the context of a call, which only `complete` uses
Command = Callable[..., None]

_CONNECTION = {
    "host": Annotated[
        str,
        typer.Option("--host", "-h", metavar="HOST", help="Server host.", show_default=False),
    ],
    "port": Annotated[
        str,
        typer.Option("--port", "-p", metavar="PORT", help="Server port.", show_default=False),
    ],
    "username": Annotated[
        str,
        typer.Option(
            "--username", "-U", metavar="ROLE", help="Role to connect as.", show_default=False
        ),
    ],
    "dbname": Annotated[
        str,
        typer.Option(
            "--dbname", "-d", metavar="NAME", help="Database, or CONNINFO.", show_default=False
        ),
    ],
}
_OUTPUT = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the output to this file; - is standard output.",
        show_default=False,
    ),
]


def merged(conninfo: str, *, host: str, port: str, username: str, dbname: str) -> str:
    """Return the connection string with the given connection options; an option replaces a
    parameter.

    Raises CatalogError if both CONNINFO and --dbname are given, or if CONNINFO is malformed.
    """
    if conninfo and dbname:
        raise CatalogError("give CONNINFO or --dbname, not both")
    given = {"host": host, "port": port, "user": username}
    chosen = {name: value for name, value in given.items() if value}
    if not chosen:
        return conninfo or dbname
    from psycopg.conninfo import make_conninfo

    from gpcatalog.probes.target import parameters

    parameters("", **chosen)  # reports a port that is not a number
    return make_conninfo("", **(parameters(conninfo or dbname) | chosen))


@contextlib.contextmanager
def _output_to(path: str) -> Any:
    """Redirect standard output to a file, unless none or - is given."""
    if path in ("", STANDARD_OUTPUT):
        yield
        return
    ended: typer.Exit | CatalogError | None = None
    with streams.writing(Path(path)) as stream, contextlib.redirect_stdout(stream):
        try:
            yield
        except typer.Exit as e:  # findings: the output is complete
            if e.exit_code not in (0, 1) and not isinstance(e, streams.Finished):
                raise
            ended = e
        except CatalogError as e:
            if not e.complete:
                raise
            ended = e
    if ended is not None:
        raise ended


def _check_numbers(values: dict[str, Any]) -> None:
    """Raise CatalogError for a number that is infinite, or a timeout that no server accepts."""
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, float) and not math.isfinite(value):
            raise CatalogError(f"{option} must be a finite number")
        if name in _TIMEOUTS and round(value * 1000) > MOST_MS:
            raise CatalogError(
                f"{option} must be at most {MOST_MS / 1000} seconds",
                hint=f"the server has the limit {MOST_MS} ms",
            )


def _written(context: typer.Context) -> Written:
    """Return the options on the command line of a call, as they can be written."""
    found = {}
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            off = context.params.get(name) is False and parameter.secondary_opts
            found[name] = (off or parameter.opts)[0]
    return Written(found)


def complete(command: Command) -> Command:
    """Return the command with the shared options added.

    A command with a parameter `conninfo` gets --host, --port, --username and --dbname, a command
    with a parameter `fleet` the options of a fleet, a command with a parameter `written` the options
    on the command line, a command without a parameter `output` gets --output.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters = dict(signature.parameters)
    connects = "conninfo" in parameters
    fleets = parameters.pop("fleet", None) is not None
    needs_written = parameters.pop("written", None) is not None
    writes = not {"output", "html", "to"} & set(parameters)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        _check_numbers(values)
        if connects:
            given = {name: values.pop(name) for name in _CONNECTION}
            values["conninfo"] = merged(values["conninfo"], **given)
        if fleets:
            values["fleet"] = FleetChoice(**{name: values.pop(name) for name in OPTIONS})
        if needs_written:
            values["written"] = _written(values.pop(_CONTEXT))
        with _output_to(values.pop("output") if writes else ""):
            command(**values)

    added: dict[str, Any] = (_CONNECTION if connects else {}) | (
        {"output": _OUTPUT} if writes else {}
    )
    added |= OPTIONS if fleets else {}
    added |= {_CONTEXT: typer.Context} if needs_written else {}
    for name, annotation in added.items():
        parameters[name] = inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=DEFAULTS.get(name, ""),
            annotation=annotation,
        )
    ordered = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters.values()]
    run.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in ordered}
    del run.__dict__["__wrapped__"]
    return run
