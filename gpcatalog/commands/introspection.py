"""The commands that tell of this program itself: `rules`, `probes`, `schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from gpcatalog.commands import streams
from gpcatalog.commands.options import ColorChoice, Colour
from gpcatalog.errors import CatalogError


def rules(
    id: Annotated[
        str,
        typer.Argument(metavar="ID", help="A rule; without it all are listed.", show_default=False),
    ] = "",
    color: Colour = ColorChoice.AUTO,
) -> None:
    """List the rules, or print one rule's page.

    Reads nothing but this program.

    Example: gpcatalog rules segment-catalog-bloat
    """
    from gpcatalog.audit import rules as audits
    from gpcatalog.check import rules as checks
    from gpcatalog.emit.terminal import table, text

    out = streams.console(color)
    if not id:
        for title, of in (("Of gpcatalog audit", audits), ("Of gpcatalog check", checks)):
            pages = [(name, of.page(name)[""]) for name in of.every()]
            out.print(table(title, ("rule", "finds"), pages, left=2))
            out.print()
        return
    page = checks.page(id) if id in checks.every() else audits.page(id)
    out.print(text(id, "bold"))
    out.print(text(page.pop("")))
    for part, body in page.items():
        out.print()
        out.print(text(part, "bold"))
        out.print(text(body))


def probes(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A probe; without it all are listed.", show_default=False
        ),
    ] = "",
    conninfo: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="CONNINFO|NAME",
            help="The server to write for: a connection, or greenplum6, greenplum7, postgres15 and so on",
        ),
    ] = "greenplum6",
    color: Colour = ColorChoice.AUTO,
) -> None:
    """Print the SQL that a probe would run on a server, before anyone runs it.

    With a connection it asks that server's version and nothing else.

    Example: gpcatalog probes relations --server "host=mdw dbname=sales"
    """
    from gpcatalog.emit.terminal import table
    from gpcatalog.model.server import named
    from gpcatalog.probes import library
    from gpcatalog.probes.connection import connect

    server = named(conninfo)
    if server is None:
        with connect(conninfo) as session:
            server = session.server
    if name:
        found = library.probe(name, server)
        streams.out(
            f"-- {found.origin}/{found.name}.sql, for {server.product}"
            f" {server.version}\n{found.sql.rstrip()}\n"
        )
        return
    rows = []
    for each in library.names(server):
        one = library.probe(each, server)
        rows.append((each, one.origin, one.prose))
    streams.console(color).print(table("", ("probe", "from", "reads"), rows, left=3))


def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="audit|cluster|doctor|estimate|growth|latency|plan", help="Which output."
        ),
    ] = "audit",
) -> None:
    """Print the JSON Schema of a `--format json` output.

    Reads nothing but this program.

    Example: gpcatalog schema audit
    """
    import msgspec

    from gpcatalog.audit.cluster import Cluster
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
        "growth": Growth,
        "latency": Latency,
        "plan": File,
    }
    if name not in kinds:
        raise CatalogError(f"no output is called {name}", hint="one of: " + ", ".join(kinds))
    streams.out(json_schema(kinds[name]))
