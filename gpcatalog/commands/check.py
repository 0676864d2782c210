"""The command `check`: files of DDL against rules and a budget."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.options import ColorChoice, FailOn
from gpcatalog.errors import CatalogError, Exit


class CheckFormat(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"


def _list_rules() -> None:
    from gpcatalog.check.rules import PARTS, every, page

    for name in every():
        parts = page(name)
        print(f"{name}: {parts['']}")
        for part in PARTS:
            print(f"  {part}: {parts.get(part, '')}")


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help=(
                "SQL files, folders (*.sql, *.ddl, *.psql, *.pgsql), globs, or - for standard"
                " input."
            ),
            show_default=False,
        ),
    ] = None,
    server: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="greenplum6, greenplum7, cloudberry2 or postgresNN.",
            show_default="greenplum7",
        ),
    ] = "",
    segments: Annotated[
        int,
        typer.Option(metavar="N", help="Primary segments of the cluster.", min=0, show_default="1"),
    ] = 0,
    hosts: Annotated[
        int, typer.Option(metavar="N", help="Segment hosts.", min=0, show_default="1")
    ] = 0,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="SNAPSHOT",
            help="Count from this snapshot: new totals, changes to tables it knows.",
        ),
    ] = None,
    diff: Annotated[
        str,
        typer.Option(
            metavar="REF",
            help="Judge only statements that git says changed since REF (or in A..B).",
        ),
    ] = "",
    output_format: Annotated[
        CheckFormat, typer.Option("--format", help="Output format.")
    ] = CheckFormat.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write here instead of standard output."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Settings; else gpcatalog.toml or pyproject.toml upwards from here.",
        ),
    ] = None,
    max_leaves: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Budget: leaves the whole change may add.", min=0, show_default=False
        ),
    ] = None,
    max_files: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Budget: files on a segment, filled, the change may add.",
            min=0,
            show_default=False,
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Budget: catalog rows on an instance the change may add.",
            min=0,
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Value of a psql variable or ${placeholder}; may be repeated.",
        ),
    ] = None,
    disable: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Switch a rule off; may be repeated.")
    ] = None,
    time_zone: Annotated[
        str,
        typer.Option(
            metavar="ZONE", help="Time zone of the session that will run it.", show_default="UTC"
        ),
    ] = "",
    fail_on: Annotated[
        FailOn | None,
        typer.Option(help="Lowest severity that makes the exit code 1.", show_default="warning"),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add to each finding how sure it is.")
    ] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print every rule's page and stop.")
    ] = False,
    color: Annotated[ColorChoice, typer.Option(help="When to colour.")] = ColorChoice.AUTO,
) -> None:
    """Work out what files of DDL will cost before they run, and hold it against rules and a budget.

    Reads the files (and a snapshot with --baseline); never contacts a server and never changes a
    file. Exit code 1: findings at or above --fail-on; 2: a file, a setting or the call is wrong.

    Example: gpcatalog check migrations/ --server greenplum6 --segments 32 --hosts 4
    """
    if rules:
        _list_rules()
        return
    if not files:
        if not diff:
            raise CatalogError(
                "no file to check",
                hint="name files or folders, - for standard input, or give --diff REF",
            )
        files = []
    import msgspec

    from gpcatalog.check import inputs
    from gpcatalog.check.run import run
    from gpcatalog.check.settings import discover, read
    from gpcatalog.model.finding import Severity

    if config is not None:
        settings = read(config)
        if settings is None:
            raise CatalogError(
                f"{config} has no settings of the check",
                hint="[check] in gpcatalog.toml, [tool.gpcatalog.check] in pyproject.toml",
            )
    else:
        settings, _ = discover(Path.cwd())
    known = None
    changes: dict[str, object] = {}
    if baseline is not None:
        from gpcatalog.effects.baseline import Baseline

        known = Baseline(baseline)
        changes = {"server": known.generation, "segments": known.segments, "hosts": known.hosts}
        if known.lock_slots and not settings.lock_slots:
            changes["lock_slots"] = known.lock_slots
    if server:
        changes["server"] = server
    if segments:
        changes["segments"] = segments
    if hosts:
        changes["hosts"] = hosts
    if time_zone:
        changes["time_zone"] = time_zone
    if disable:
        changes["disable"] = (*settings.disable, *disable)
    bounds = {
        name: value
        for name, value in (("leaves", max_leaves), ("files", max_files), ("rows", max_rows))
        if value is not None
    }
    if bounds:
        changes["change"] = msgspec.structs.replace(settings.change, **bounds)
    settings = msgspec.structs.replace(settings, **changes)

    values = inputs.properties(files)
    for pair in set_ or ():
        name, sign, value = pair.partition("=")
        if any("\ud800" <= c <= "\udfff" for c in pair):
            raise CatalogError(
                f"--set {inputs.shown(Path(name))}: the value is not UTF-8", hint="give it in UTF-8"
            )
        if not sign or not name:
            raise CatalogError(
                f"--set {pair}: no NAME=VALUE", hint="for example --set schema=sales"
            )
        values[name] = value

    touched = inputs.changed(diff) if diff else None
    only_changed = bool(diff) and not files
    if only_changed:
        assert touched is not None
        files = sorted(touched, key=lambda name: inputs.order_of(Path(name)))
    sources = inputs.gather(files, settings.exclude, values, undo=only_changed)
    if touched is not None:
        spelled: dict[str, list[tuple[int, int]]] = {}
        for (
            name,
            ranges,
        ) in touched.items():  # two names may be spelled alike: the ranges of both count then
            spelled.setdefault(inputs.shown(Path(name)), []).extend(ranges)
        touched = spelled
        here = Path.cwd()
        for source in sources:  # as git names them, from this folder
            path = Path(source.file)
            if path.is_absolute() and path.is_relative_to(here):
                source.file = str(path.relative_to(here))
            else:
                source.file = str(path)
    state = None
    if known is not None:
        from zoneinfo import ZoneInfo

        from gpcatalog.check.run import cost_edition, server_edition

        state = known.state(
            cost_edition(server_edition(settings.server)), ZoneInfo(settings.time_zone)
        )
    report = run(
        sources,
        settings,
        changed=touched,
        state=state,
        baseline=known.totals if known is not None else None,
        values=values,
        listed=output_format is CheckFormat.JSON,
    )

    if only_changed and any(f.finding.rule == "cost-unknown" for f in report.findings):
        streams.say(
            "gpcatalog: only changed files were read, so tables that earlier files create are not"
            f" known; name their folder, too: gpcatalog check FOLDER --diff {diff}"
        )
    if output_format is CheckFormat.TEXT:
        from gpcatalog.emit import check_text

        wanted = color is ColorChoice.ALWAYS or (
            color is ColorChoice.AUTO
            and output is None
            and sys.stdout.isatty()
            and not os.environ.get("NO_COLOR")
        )
        text = check_text.pieces(report, color=wanted, explain=explain)
    else:
        import importlib

        writer = importlib.import_module(f"gpcatalog.emit.check_{output_format.value}")
        text = writer.pieces(report) if hasattr(writer, "pieces") else iter([writer.render(report)])
    with streams.destination(str(output) if output is not None else "") as stream:
        stream.writelines(text)
        stream.flush()
    limit = fail_on.value if fail_on is not None else settings.fail_on
    if limit != "never" and any(
        f.finding.severity >= Severity[limit.upper()] for f in report.findings
    ):
        raise typer.Exit(Exit.FINDINGS)
