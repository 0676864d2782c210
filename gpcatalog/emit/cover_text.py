"""The part of an audit about partitions created in advance and runs of upkeep."""

from __future__ import annotations

from rich.console import Console

from gpcatalog.audit.partition_cover import PartitionCover, TableCover, UpkeepState
from gpcatalog.audit.report import Report
from gpcatalog.emit.terminal import heading, table, text
from gpcatalog.model.quantity import plural

SHOWN = 5  # tables
COVER_HEADS = ("Partitions ahead", "until", "days", "asked", "rows beyond", "gaps")


def cover_row(t: TableCover) -> tuple[str, ...]:
    """The cells of one table below COVER_HEADS."""
    return (
        f"{t.schema}.{t.name}",
        "no end" if t.until is None else t.until,
        "" if t.days is None else f"{t.days:g}",
        "" if t.wanted_days is None else f"{t.wanted_days:g}",
        "none" if t.until is None else "default" if t.has_default else "fail",
        str(t.gaps),
    )


def cover_line(cover: PartitionCover) -> str:
    """The number of tables, and the meaning of the columns."""
    unknown = (
        f" Bounds of {plural(cover.unknown, 'other table')} are not understood."
        if cover.unknown
        else ""
    )
    return (
        f"{plural(cover.tables, 'table')} partitioned by time"
        f" {'is' if cover.tables == 1 else 'are'} in use or maintained by upkeep.{unknown} asked: days"
        " in the policy of upkeep; rows beyond: inserting them fails or uses the default partition;"
        " none: the newest partition has no end."
    )


def upkeep_line(state: UpkeepState) -> str:
    """The last run of upkeep in one sentence."""
    ended = f"{state.ended:%Y-%m-%d %H:%M} UTC" if state.ended else "none in the last 40 days"
    failed = f"; {plural(len(state.failures), 'failed step')} in the last run"
    waiting = f"; {plural(state.waiting, 'partition')} exceeded its limits" if state.waiting else ""
    return (
        f"Upkeep maintains {plural(state.tables, 'table')}; last run that ended: {ended}"
        f"{waiting}{failed if state.failures else ''}."
    )


def show_cover(report: Report, out: Console) -> None:
    """Print the tables with the least cover, and the last run of upkeep."""
    cover, state = report.partition_cover, report.upkeep
    if cover is not None and (cover.tables or cover.unknown):
        out.print()
        if cover.least:
            out.print(table("", COVER_HEADS, [cover_row(t) for t in cover.least[:SHOWN]]))
            if cover.tables > SHOWN:
                out.print(
                    text(f"The {SHOWN} of {cover.tables} tables that need attention first.", "dim")
                )
        out.print(text(cover_line(cover), "dim"))
    elif state is not None:
        heading(out, "Upkeep")
    if state is not None:
        out.print(text(upkeep_line(state)))
