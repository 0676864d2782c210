"""The command `gpcatalog plan`: plan a server or a snapshot, and print the plan or write it to a
file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpcatalog.commands import options, snapshot_source, streams
from gpcatalog.commands.fleet import FleetChoice, file_for, reading
from gpcatalog.commands.options import (
    ColorChoice,
    Colour,
    Conninfo,
    Demo,
    Format,
    LockTimeout,
    SnapshotFile,
    StatementTimeout,
)
from gpcatalog.errors import CatalogError
from gpcatalog.model.file_choice import ALL_FILES
from gpcatalog.model.names import printable
from gpcatalog.model.output_file import STANDARD_OUTPUT, refuse_standard_output
from gpcatalog.services.plans import plan_snapshot

if TYPE_CHECKING:
    from gpcatalog.planner.planning import PlanResult
    from gpcatalog.planner.sets.roots import Root
    from gpcatalog.probes.timeouts import Timeouts


def _root_named(planned: PlanResult, name: str) -> Root:
    """Return the partitioned table with the name schema.table or table. Raises CatalogError."""
    roots = planned.reader.roots
    found = [r for r in roots if name in (f"{r.schema}.{r.name}", r.name)] or [
        r for r in roots if planned.table_plans[r.index].name == name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise CatalogError(
            f"several schemas have a table {name}",
            hint="say " + " or ".join(f"{r.schema}.{r.name}" for r in found[:5]),
        )
    import difflib

    similar = difflib.get_close_matches(
        name, [f"{r.schema}.{r.name}" for r in roots] + [r.name for r in roots], n=3
    )
    raise CatalogError(
        f"this snapshot has no partitioned table {name!r}",
        hint=f"perhaps {', '.join(similar)}"
        if similar
        else ("`gpcatalog plan` without --explain lists the tables"),
    )


def plan(
    conninfo: Conninfo = "",
    snapshot: SnapshotFile = "",
    demo: Demo = False,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Per-table rules in TOML: partition sizes by age, storage, recent days.",
            show_default=False,
        ),
    ] = "",
    workload: Annotated[
        str,
        typer.Option(
            "--workload",
            metavar="FILE",
            help=(
                "Typical queries, to estimate what is read: an SQL file, or pg_stat_statements"
                " as CSV."
            ),
            show_default=False,
        ),
    ] = "",
    target_leaves: Annotated[
        int | None,
        typer.Option(
            "--target-leaves",
            metavar="N",
            help="Largest number of tables and leaf partitions afterwards.",
            min=0,
            show_default=False,
        ),
    ] = None,
    target_files: Annotated[
        int | None,
        typer.Option(
            "--target-files",
            metavar="N",
            help="Largest number of files per segment afterwards.",
            min=0,
            show_default=False,
        ),
    ] = None,
    max_rewrite: Annotated[
        str,
        typer.Option(
            "--max-rewrite",
            metavar="SIZE",
            help="Largest number of rewritten bytes, such as 2TB.",
            show_default=False,
        ),
    ] = "",
    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="TIME",
            help="Longest time for all steps, such as 6h.",
            show_default=False,
        ),
    ] = "",
    max_lock: Annotated[
        int | None,
        typer.Option(
            "--max-lock",
            metavar="N",
            help="Maximum number of locks of a merge or conversion. Default: half of the lock table.",
            min=1,
            show_default=False,
        ),
    ] = None,
    headroom: Annotated[
        str,
        typer.Option(
            "--headroom",
            metavar="SIZE",
            help="Free disk space on the fullest segment. No step copies more than this.",
            show_default=False,
        ),
    ] = "",
    rate: Annotated[
        str,
        typer.Option(
            "--rate",
            metavar="SIZE",
            help="Copy rate of one segment in bytes per second. Default: 50MB (assumed).",
            show_default=False,
        ),
    ] = "",
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="TABLE",
            help="Show and explain the plan of one table.",
            show_default=False,
        ),
    ] = "",
    format: Annotated[
        Format, typer.Option("--format", help="Output format. json writes the plan file.")
    ] = Format.TEXT,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the output to this file.",
            show_default=False,
        ),
    ] = "",
    color: Colour = ColorChoice.AUTO,
    statement_timeout: StatementTimeout = 120.0,
    lock_timeout: LockTimeout = 1.0,
    *,
    fleet: FleetChoice,
) -> None:
    """Propose partition merges, conversions and drops.

    Every step is shown with its gain and its cost. Reads a snapshot, or takes one in a read-only
    session. It changes nothing: `gpcatalog migrate` writes the SQL. Without a target, the weights
    of the policy decide how far to go. With a target, the plan does no more than the target needs.
    With --all, it writes a plan for each database of the fleet file into the folder -o.

    \b
    Example: gpcatalog plan "host=mdw dbname=sales" \\
             --target-leaves 300000 --format json -o plan.json
    """
    overrides: dict[str, object] = {
        "target_leaves": target_leaves,
        "target_files": target_files,
        "max_rewrite": max_rewrite,
        "window": window,
        "max_lock": max_lock,
        "headroom": headroom,
    }
    timeouts = options.timeouts(statement_timeout, lock_timeout)
    request = _Request(policy, workload, overrides, rate, explain, format, color)
    if fleet.given:
        fleet.refuse(
            conninfo=conninfo, snapshot=snapshot, demo=demo, workload=workload, explain=explain
        )
        _plan_fleet(fleet, request, output, timeouts)
        return
    with snapshot_source.snapshot_of(
        conninfo, snapshot, demo, store=False, timeouts=timeouts, files=ALL_FILES
    ) as path:
        _plan_one(path, request, output)


@dataclass(frozen=True)
class _Request:
    """The options of a call that apply to each plan."""

    policy: str
    workload: str
    overrides: dict[str, object]
    rate: str
    explain: str
    format: Format
    color: ColorChoice


def _plan_one(path: Path, request: _Request, output: str) -> None:
    """Plan one snapshot, and print the plan or write it to a file."""
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(path) as opened:
        planned = plan_snapshot(
            opened,
            policy_file=Path(request.policy) if request.policy else None,
            workload_file=request.workload,
            overrides=request.overrides,
            rate=request.rate,
            progress=streams.progress,
        )
        streams.progress_done()
        root = _root_named(planned, request.explain) if request.explain else None
        with streams.destination(output, person=request.format is not Format.JSON) as stream:
            if request.format is Format.JSON:
                from gpcatalog.planner import plan_file

                plan_file.write(
                    planned.plan, planned.tables({root.index} if root else None), stream.write
                )
                return
            from gpcatalog.emit import plan_text

            out = streams.console(request.color)
            if output not in ("", STANDARD_OUTPUT):
                out.file = stream
                out.no_color = True
            if root is None:
                plan_text.show(
                    planned.plan, planned.table_plans, planned.left(), planned.losses(), out
                )
            else:
                from gpcatalog.planner.explain import Explainer

                plan_text.explain(
                    next(iter(planned.tables({root.index}))),
                    Explainer(planned, root).rows(),
                    planned.plan.weights,
                    out,
                )


def _plan_fleet(fleet: FleetChoice, request: _Request, output: str, timeouts: Timeouts) -> None:
    """Write the plan of each database of the fleet into a folder."""
    import msgspec

    if not output:
        raise CatalogError("with --all, -o is required", hint="give a folder for the plans")
    refuse_standard_output("-o", output)
    suffix = ".json" if request.format is Format.JSON else ".txt"

    from gpcatalog.planner.plan import NothingToPlan

    def write(cluster: str, database: str, path: Path) -> Path | None:
        settings = read.clusters[cluster]
        rules = request.policy or str(read.fleet.policy_of(settings) or "")
        limits = {
            key: value if request.overrides[key] in (None, "") else request.overrides[key]
            for key, value in msgspec.structs.asdict(settings.limits).items()
        }
        target = file_for(Path(output), cluster, database, suffix)
        try:
            _plan_one(path, replace(request, policy=rules, overrides=limits), str(target))
        except NothingToPlan as e:
            streams.log(printable(f"{cluster}/{database}: {e.message}"))
            return None
        return target

    with reading(fleet, "plan", store=False, timeouts=timeouts, files=ALL_FILES) as read:
        written = read.over(write)
        for paths in written.values():
            for target in filter(None, paths.values()):
                streams.out(f"{target}\n")
        read.report()
    read.end()
