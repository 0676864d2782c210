"""The command `check`: check files of DDL against rules and a budget."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.options import ColorChoice, FailOn
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.output_file import STANDARD_OUTPUT

if TYPE_CHECKING:
    from gpcatalog.capacity.durations import Pace
    from gpcatalog.check.report import CheckReport
    from gpcatalog.check.settings import Settings
    from gpcatalog.dialect.script import Source
    from gpcatalog.effects.baseline import Baseline
    from gpcatalog.effects.schema_state import SchemaState

    LineRanges = list[tuple[int, int]]  # first and last line


class CheckFormat(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"


def _list_rules(color: ColorChoice, output: str) -> None:
    """Print the documentation of all rules. output: file, standard output if empty."""
    from gpcatalog.check.rules import every, page
    from gpcatalog.emit.rules_text import show_page

    with (
        streams.destination(output, person=True) as stream,
        contextlib.redirect_stdout(stream),
    ):
        out = streams.console(color)
        for n, name in enumerate(every()):
            if n:
                out.print("\n")
            show_page(name, page(name), out)


def _settings(config: Path | None) -> Settings:
    """Return the settings of the given file, else those found in this folder or a parent folder.

    Raises CatalogError if the given file has none.
    """
    from gpcatalog.check.settings import discover, read

    if config is None:
        return discover(Path.cwd())[0]
    settings = read(config)
    if settings is None:
        raise CatalogError(
            f"{config} has no settings for gpcatalog check",
            hint=(
                "use section [check] in gpcatalog.toml or [tool.gpcatalog.check] in pyproject.toml"
            ),
        )
    return settings


def _with_baseline(settings: Settings, known: Baseline) -> Settings:
    """Return the settings with the server and size of the baseline's cluster, which replace those
    of the file.
    """
    import msgspec

    return msgspec.structs.replace(
        settings,
        server=known.generation,
        segments=known.segments,
        hosts=known.hosts,
        lock_slots=settings.lock_slots or known.lock_slots or 0,
    )


def _with_options(
    settings: Settings,
    *,
    server: str,
    segments: int,
    hosts: int,
    time_zone: str,
    disable: list[str],
    budget: Mapping[str, int | None],
) -> Settings:
    """Return the settings with the options of the call; the values "", 0 and None change nothing.

    budget: numbers of leaves, files and rows that the whole change may add
    """
    import msgspec

    given = {"server": server, "segments": segments, "hosts": hosts, "time_zone": time_zone}
    changes: dict[str, object] = {name: value for name, value in given.items() if value}
    if disable:
        changes["disable"] = (*settings.disable, *disable)
    bounds = {name: value for name, value in budget.items() if value is not None}
    if bounds:
        changes["change"] = msgspec.structs.replace(settings.change, **bounds)
    return msgspec.structs.replace(settings, **changes)


def _values(files: list[str], pairs: list[str]) -> dict[str, str]:
    """Values of psql variables and placeholders: first from property files, then from NAME=VALUE
    pairs.

    Raises CatalogError for a pair without `=` or not in UTF-8.
    """
    from gpcatalog.check import inputs

    values = inputs.properties(files)
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if any("\ud800" <= c <= "\udfff" for c in pair):
            raise CatalogError(
                f"--set {inputs.shown(Path(name))}: the value is not valid UTF-8",
                hint=("give the value in UTF-8"),
            )
        if not sign or not name:
            raise CatalogError(
                f"--set {pair}: expected NAME=VALUE", hint="for example --set schema=sales"
            )
        values[name] = value
    return values


def _sources(
    files: list[str], diff: str, exclude: tuple[str, ...], values: Mapping[str, str]
) -> tuple[list[Source], dict[str, LineRanges] | None]:
    """The sources to read, and the changed lines of each file by its name; None without `diff`.

    Without `files`, the changed files are read. With `diff`, sources have the names that git
    prints.
    """
    from gpcatalog.check import inputs

    if not diff:
        return inputs.gather(files, exclude, values), None
    touched = inputs.changed(diff)
    names = files or sorted(touched, key=lambda name: inputs.order_of(Path(name)))
    sources = inputs.gather(names, exclude, values, undo=not files)
    spelled: dict[str, LineRanges] = {}
    # two names can have the same printed form: then the ranges of both count
    for name, ranges in touched.items():
        spelled.setdefault(inputs.shown(Path(name)), []).extend(ranges)
    here = Path.cwd()
    for source in sources:  # use the names that git prints, relative to this folder
        path = Path(source.file)
        if path.is_absolute() and path.is_relative_to(here):
            source.file = str(path.relative_to(here))
        else:
            source.file = str(path)
    return sources, spelled


def _pace(known: Baseline | None) -> Pace:
    """The speed of the server of the baseline."""
    from gpcatalog.audit.pace import pace
    from gpcatalog.capacity.durations import REFERENCE

    return REFERENCE if known is None else pace(known.snapshot)


def _baseline_state(known: Baseline, settings: Settings) -> SchemaState:
    """The schema state of the baseline, for the server of the settings."""
    from gpcatalog.check.run import cost_edition, server_edition, zone_of

    return known.state(cost_edition(server_edition(settings.server)), zone_of(settings))


def _text(
    report: CheckReport,
    output_format: CheckFormat,
    *,
    explain: bool,
    color: ColorChoice,
    to_terminal: bool,
) -> Iterator[str]:
    """Yield the text of the report in pieces, in the given format.

    to_terminal: the text is written to standard output and may be colored
    """
    if output_format is CheckFormat.TEXT:
        from gpcatalog.emit import check_text

        use_color = color is ColorChoice.ALWAYS or (
            color is ColorChoice.AUTO
            and to_terminal
            and sys.stdout.isatty()
            and not os.environ.get("NO_COLOR")
        )
        return check_text.pieces(report, color=use_color, explain=explain)
    writer = importlib.import_module(f"gpcatalog.emit.check_{output_format.value}")
    pieces: Iterator[str] = (
        writer.pieces(report) if hasattr(writer, "pieces") else iter([writer.render(report)])
    )
    return pieces


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
            help="greenplum6, greenplum7, cloudberry2, or postgres12 to postgres19.",
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
            help="Start from the tables in this snapshot.",
        ),
    ] = None,
    diff: Annotated[
        str,
        typer.Option(
            metavar="REF",
            help=(
                "Report only statements that changed since the git revision REF, or in the"
                " range A..B."
            ),
        ),
    ] = "",
    output_format: Annotated[
        CheckFormat, typer.Option("--format", help="Output format.")
    ] = CheckFormat.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the output to this file."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=(
                "File with settings. Default: gpcatalog.toml or pyproject.toml in this"
                " folder or above."
            ),
        ),
    ] = None,
    max_leaves: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Budget: number of leaves that the change may add.",
            min=0,
            show_default=False,
        ),
    ] = None,
    max_files: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=(
                "Budget: number of files per segment that the change may add, with rows in"
                " every leaf."
            ),
            min=0,
            show_default=False,
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Budget: number of catalog rows per instance that the change may add.",
            min=0,
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Value of a psql variable or ${placeholder}. Can be given several times.",
        ),
    ] = None,
    disable: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="Disable this rule. Can be given several times."),
    ] = None,
    time_zone: Annotated[
        str,
        typer.Option(
            metavar="ZONE", help="Time zone of the session that runs the files.", show_default="UTC"
        ),
    ] = "",
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="Exit with 1 if there are findings of this severity or worse.",
            show_default="warning",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the confidence of each finding.")
    ] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print the documentation of all rules.")
    ] = False,
    color: Annotated[ColorChoice, typer.Option(help="Use color in the output.")] = ColorChoice.AUTO,
) -> None:
    """Predict the cost of DDL files, for checks in CI.

    Compares the cost with rules and budgets. Reads the files (and a snapshot with --baseline),
    never contacts a server and never changes a file. Exit code 1: findings at or above --fail-on;
    2: invalid usage, file or setting.

    Example: gpcatalog check migrations/ --server greenplum6 --segments 32 --hosts 4
    """
    if rules:
        _list_rules(color, str(output or ""))
        return
    if not files:
        if not diff:
            raise CatalogError(
                "there is no file to check",
                hint="give files, folders, - for standard input, or --diff REF",
            )
        files = []
    from gpcatalog.check.run import run
    from gpcatalog.model.finding import Severity

    settings = _settings(config)
    known = None
    if baseline is not None:
        from gpcatalog.effects.baseline import Baseline

        known = Baseline(baseline)
        settings = _with_baseline(settings, known)
    settings = _with_options(
        settings,
        server=server,
        segments=segments,
        hosts=hosts,
        time_zone=time_zone,
        disable=disable or [],
        budget={"leaves": max_leaves, "files": max_files, "rows": max_rows},
    )
    values = _values(files, set_ or [])
    only_changed = bool(diff) and not files
    sources, changed = _sources(files, diff, settings.exclude, values)
    report = run(
        sources,
        settings,
        changed=changed,
        state=_baseline_state(known, settings) if known is not None else None,
        baseline=known.totals if known is not None else None,
        values=values,
        listed=output_format is CheckFormat.JSON,
        pace=_pace(known),
    )
    if only_changed and any(f.finding.rule == "cost-unknown" for f in report.findings):
        streams.log(
            "gpcatalog: only changed files were read, so tables of other files are unknown; add"
            f" their folder: gpcatalog check FOLDER --diff {diff}"
        )
    printed = str(output or STANDARD_OUTPUT) == STANDARD_OUTPUT
    text = _text(report, output_format, explain=explain, color=color, to_terminal=printed)
    to_person = output_format is CheckFormat.TEXT
    with streams.destination(str(output or ""), person=to_person) as stream:
        stream.writelines(text)
        stream.flush()
    limit = fail_on.value if fail_on is not None else settings.fail_on
    if limit != "never" and any(
        f.finding.severity >= Severity[limit.upper()] for f in report.findings
    ):
        raise typer.Exit(Exit.FINDINGS)
