"""The commands that describe gpcatalog itself: `rules`, `probes`, `schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.options import ColorChoice, Colour
from gpcatalog.errors import CatalogError


def rules(
    id: Annotated[
        str,
        typer.Argument(metavar="ID", help="Show this rule. Default: list all.", show_default=False),
    ] = "",
    color: Colour = ColorChoice.AUTO,
) -> None:
    """List the rules of audit and check, or show one.

    A page explains what a rule finds, why it matters and what to do. No server is contacted.

    Example: gpcatalog rules segment-catalog-bloat
    """
    import gpcatalog
    from gpcatalog.emit.rules_text import show_page
    from gpcatalog.emit.terminal import table
    from gpcatalog.model.rule_registry import pages_in

    package = Path(gpcatalog.__file__).parent
    audits, checks = (pages_in(package / part / "rules") for part in ("audit", "check"))
    out = streams.console(color)
    if not id:
        for title, pages in (
            ("Rules of gpcatalog audit", audits),
            ("Rules of gpcatalog check", checks),
        ):
            lines = [(name, page[""]) for name, page in pages.items()]
            out.print(table(title, ("rule", "finds"), lines, left=2))
            out.print()
        return
    found = [
        (f"{id}: rule of gpcatalog {command}", pages[id])
        for command, pages in (("audit", audits), ("check", checks))
        if id in pages
    ]
    if not found:
        raise CatalogError(f"unknown rule: {id}", hint="`gpcatalog rules` lists all rules")
    for n, (title, page) in enumerate(found):
        if n:
            out.print()
        show_page(title, page, out)


def probes(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Show this probe. Default: list all.", show_default=False
        ),
    ] = "",
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="CONNINFO",
            help="Connection as for psql: show the SQL for this server.",
            show_default=False,
        ),
    ] = "",
    server: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="NAME",
            help="Show the SQL for this server: greenplum6, greenplum7, postgresql15 and so on.",
        ),
    ] = "greenplum6",
    color: Colour = ColorChoice.AUTO,
) -> None:
    """List the probes, or show the SQL of one.

    A connection is only used to read the version of the server.

    Example: gpcatalog probes relations --server greenplum7
    """
    from gpcatalog.capacity.generation import generation
    from gpcatalog.emit.terminal import table
    from gpcatalog.model.server import named
    from gpcatalog.probes import library

    if conninfo:
        from gpcatalog.probes.connection import connect

        with connect(conninfo) as session:
            chosen = session.server
    else:
        generation(server)  # reports an unknown probe
        found_server = named(server)
        assert found_server is not None
        chosen = found_server
    if name:
        found = library.probe(name, chosen)
        streams.out(
            f"-- {found.origin}/{found.name}.sql, for {chosen.product}"
            f" {chosen.version}\n{found.sql.rstrip()}\n"
        )
        return
    rows = []
    for each in library.names(chosen):
        one = library.probe(each, chosen)
        rows.append((each, one.origin, one.prose))
    streams.console(color).print(table("", ("probe", "from", "reads"), rows, left=3))


def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="audit|cluster|doctor|estimate|fleet|growth|latency|notification|plan",
            help=("Output whose JSON Schema is printed."),
        ),
    ] = "audit",
) -> None:
    """Print the JSON Schema of an output format.

    The schema describes the output of `--format json`. No server is contacted.

    Example: gpcatalog schema audit
    """
    import msgspec

    from gpcatalog.audit.changes import Notification
    from gpcatalog.audit.cluster import Cluster
    from gpcatalog.audit.fleet import FleetReport
    from gpcatalog.audit.report import Report
    from gpcatalog.capacity.estimate import Estimate
    from gpcatalog.doctor.result import Doctor
    from gpcatalog.emit.as_json import json_schema
    from gpcatalog.growth.result import Growth
    from gpcatalog.latency.result import Latency
    from gpcatalog.planner.plan_file import File

    kinds: dict[str, type[msgspec.Struct]] = {
        "audit": Report,
        "cluster": Cluster,
        "doctor": Doctor,
        "estimate": Estimate,
        "fleet": FleetReport,
        "growth": Growth,
        "latency": Latency,
        "notification": Notification,
        "plan": File,
    }
    if name not in kinds:
        raise CatalogError(f"unknown output {name}", hint="one of: " + ", ".join(kinds))
    streams.out(json_schema(kinds[name]))
