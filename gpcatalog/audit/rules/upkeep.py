"""Rules about the partitions that future rows need, and about the scripts that create them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpcatalog.audit.partition_cover import PartitionCover, TableCover
from gpcatalog.audit.report import Report
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import plural
from gpcatalog.model.upkeep_runs import OVERDUE_DAYS

SHOWN = 3  # tables or reasons that a finding lists


def _cover_text(t: TableCover) -> str:
    policy_note = f", the policy asks for {t.wanted_days:g}" if t.wanted_days is not None else ""
    return f"{t.schema}.{t.name} until {t.until} ({t.days:g} days{policy_note})"


def _named(tables: Sequence[TableCover]) -> tuple[str, ...]:
    return tuple(f"{t.schema}.{t.name}" for t in tables[:10])


@rule("premake-cover-low", Harm.OUTAGE)
def premake_cover_low(report: Report) -> Iterator[Finding]:
    """Tables have no partition for rows that are about to come.

    What it finds: tables that upkeep maintains, with less cover than their policy asks for, and
    other tables cut by time whose last partition ends within a day or ended recently.
    Why it matters: without a partition, inserting a row fails. With a default partition, the row is
    stored there, and adding its partition later requires moving it.
    How sure it is: high for tables that upkeep maintains. Medium for others: whether rows still
    come is not known, and dates are compared with the time in UTC.
    What to do: create the coming partitions: `gpcatalog upkeep script`, or your own job.
    """
    cover = report.partition_cover
    if cover is None or not cover.low:
        return
    low = [t for t in cover.least if t.low]
    for default, total in ((False, cover.failing), (True, cover.low - cover.failing)):
        tables = [t for t in low if t.has_default is default]
        if not total:
            continue
        maintained = any(t.wanted_days is not None for t in tables)
        fails = maintained and any(
            t.wanted_days is not None and t.days is not None and t.days <= 0 for t in tables
        )
        yield Finding(
            rule="premake-cover-low",
            severity=(
                Severity.NOTICE if default else Severity.CRITICAL if fails else Severity.WARNING
            ),
            confidence=Confidence.HIGH if maintained else Confidence.MEDIUM,
            title=(
                f"{plural(total, 'table')} {'has' if total == 1 else 'have'} too few partitions"
                f" ahead: {'rows will go to the default partition' if default else 'inserts will fail'}"
            ),
            detail="; ".join(_cover_text(t) for t in tables[:SHOWN]) + "." if tables else "",
            remedy=_first_finish(cover)
            + "create the coming partitions: `gpcatalog upkeep script`, or your own job",
            relations=_named(tables),
            relations_total=total,
            figures=(Figure("tables", total, "tables", "counted"),),
            source="derived from the bounds of the partitions and the time of the snapshot",
        )


def _first_finish(cover: PartitionCover) -> str:
    """What to do before a partition can be created in the range of one that is being detached."""
    if not cover.pending:
        return ""
    more = "" if len(cover.pending) == 1 else f" and {len(cover.pending) - 1} more"
    return (
        f"finish the interrupted DETACH PARTITION CONCURRENTLY of {cover.pending[0]}{more} first: ALTER"
        " TABLE … DETACH PARTITION … FINALIZE, and rename or drop the table if the new partition gets"
        " its name; then "
    )


@rule("partition-gap", Harm.OUTAGE)
def partition_gap(report: Report) -> Iterator[Finding]:
    """Partitions are missing between others.

    What it finds: tables cut by time with a range between two partitions that has none, in the
    last 35 days or in the future.
    Why it matters: inserting a row of that range fails, or the row is stored in the default
    partition.
    How sure it is: high that the range has no partition. Whether rows of it come is not known.
    What to do: create them: `fill_gaps` in the policy of `gpcatalog upkeep script`, or by hand.
    """
    cover = report.partition_cover
    if cover is None or not cover.gapped:
        return
    urgent = any(t.gap_ahead and not t.has_default for t in cover.gaps)
    shown = "; ".join(
        f"{t.schema}.{t.name} {t.first_gap}" + (f" and {t.gaps - 1} more" if t.gaps > 1 else "")
        for t in cover.gaps[:SHOWN]
    )
    yield Finding(
        rule="partition-gap",
        severity=Severity.WARNING if urgent else Severity.NOTICE,
        confidence=Confidence.HIGH,
        title=f"{plural(cover.gapped, 'table')} {'has' if cover.gapped == 1 else 'have'} gaps between partitions",
        detail=f"Without a partition: {shown}.",
        remedy=_first_finish(cover)
        + "create the missing partitions: `fill_gaps` in the policy of `gpcatalog upkeep`",
        relations=_named(cover.gaps),
        relations_total=cover.gapped,
        figures=(Figure("tables", cover.gapped, "tables", "counted"),),
        source="derived from the bounds of the partitions",
    )


@rule("upkeep-overdue", Harm.UPKEEP)
def upkeep_overdue(report: Report) -> Iterator[Finding]:
    """Scripts of upkeep do not run any more, or the last one failed.

    What it finds: databases with a journal of upkeep where no run ended in the last two days, or
    where steps of the last run failed.
    Why it matters: coming partitions are not created, and old ones are not merged or removed.
    How sure it is: high: the scripts record every run. A script that cannot connect leaves no row.
    What to do: look at the output of the job that runs the scripts, and at
    `gpcatalog upkeep status`.
    """
    state = report.upkeep
    if state is None or not (state.overdue or state.failures):
        return
    if state.overdue:
        since = f"since {state.ended:%Y-%m-%d %H:%M} UTC" if state.ended else "in the last 40 days"
        title = f"no script of upkeep has ended {since}"
    else:
        title = f"the last script of upkeep failed for {plural(len(state.failures), 'step')}"
    yield Finding(
        rule="upkeep-overdue",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        title=title,
        detail=(
            "Failed steps of the last run: " + "; ".join(state.failures[:SHOWN]) + "."
            if state.failures
            else f"A script should run every night; this is reported after {OVERDUE_DAYS} days."
        ),
        remedy="look at the output of the job, and at `gpcatalog upkeep status`",
        figures=(Figure("maintained tables", state.tables, "tables", "counted"),),
        source="the journal of upkeep in the schema gpcatalog_journal",
    )
