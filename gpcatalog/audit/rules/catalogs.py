"""Rules about the catalogs themselves: bloat, divergence, vacuum, statistics."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.report import InstanceTotal, Report
from gpcatalog.audit.rules.registry import rule
from gpcatalog.audit.verdicts import bloat_limits
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.quantity import count, size

WORTH_A_WARNING = 16 << 20  # reclaimable bytes on one instance from which bloat is a warning
DIVERGES = 1.5  # bytes of the worst segment's catalog to the median's


def _where(content: int, report: Report) -> str:
    if not report.server.segments:
        return "this server"
    return "the coordinator" if content == -1 else f"segment {content}"


@rule("segment-catalog-bloat")
def segment_catalog_bloat(report: Report) -> Iterator[Finding]:
    """The catalog of an instance holds far more bytes than its live rows need.

    What it finds: catalogs whose heap, TOAST and indexes are larger than their live rows need by
    more than gp_bloat_diag's factors (Greenplum 6: 5 and 12, Greenplum 7: 3 and 10, PostgreSQL: the
    documented 4 and 10), on every instance, for gp_bloat_diag itself looks at the coordinator's
    statistics alone.
    Why it matters: every catalog scan reads the dead rows too; planning, \\d, DDL and backup slow
    down in proportion.
    How sure it is: live rows are counted (pg_attribute derived exactly from pg_class), widths
    sampled; on test servers the bytes that VACUUM FULL and REINDEX gave back differed by less than
    5 % of the catalog.
    What to do: `gpcatalog audit --maintenance FILE` writes the script; find what makes the dead
    rows (temporary tables, partitions created and dropped) and vacuum the catalogs nightly.
    """
    moderate, significant = bloat_limits(report.server.generation)
    for summary in report.catalog_summary:
        known = [
            r for r in report.catalogs if r.relation == summary.relation and r.bloat is not None
        ]
        rows = [r for r in known if r.reclaimable_bytes]
        if not rows:
            continue
        worst = max(rows, key=lambda r: (r.reclaimable_bytes or 0, -r.content))
        bloat, reclaimable = worst.bloat or 1.0, worst.reclaimable_bytes or 0
        if bloat <= moderate.value:
            continue
        severity = Severity.CRITICAL if bloat > significant.value else Severity.WARNING
        if reclaimable < WORTH_A_WARNING:
            severity = Severity.NOTICE
        limit = significant if bloat > significant.value else moderate
        affected = [r for r in rows if (r.bloat or 1) > moderate.value]
        total = worst.heap_bytes + worst.toast_bytes + worst.index_bytes
        yield Finding(
            rule="segment-catalog-bloat",
            severity=severity,
            confidence=(
                Confidence.HIGH if worst.rows_basis in ("counted", "derived") else Confidence.LOW
            ),
            title=(
                f"{worst.relation} is bloated {bloat:.1f} × on {_where(worst.content, report)}: "
                f"{size(reclaimable)} of {size(total)} could be given back"
            ),
            detail=(
                f"{len(affected)} of {len(known)} instances are over {moderate.value:g} ×; on all"
                f" of them together {size(sum(r.reclaimable_bytes or 0 for r in affected))} are"
                " reclaimable."
            ),
            remedy=(
                "run the script that `gpcatalog audit --maintenance FILE` writes; then vacuum this"
                " catalog every night"
            ),
            relations=(f"pg_catalog.{worst.relation}",),
            relations_total=1,
            figures=(
                Figure("bloat factor", round(bloat, 2), "x", "derived"),
                Figure("limit", limit.value, "x", "limit"),
                Figure("bytes", total, "bytes", "measured"),
                Figure("reclaimable", reclaimable, "bytes", "derived"),
                Figure("live rows", worst.rows or 0, "rows", worst.rows_basis or "estimate"),
            ),
            source=limit.source,
            content=worst.content,
        )


@rule("segments-diverge")
def segments_diverge(report: Report) -> Iterator[Finding]:
    """One segment's catalog is much larger than the others'.

    What it finds: a segment whose catalogs take half as much again as the median segment's although
    rows are the same.
    Why it matters: a query is as slow as its slowest segment; VACUUM runs on each segment by
    itself, so one that was missed, or that an old transaction held back, stays bloated unseen.
    How sure it is: bytes are measured on every instance.
    What to do: look for transactions and prepared transactions on that segment; then vacuum its
    catalogs.
    """
    segments: list[InstanceTotal] = [t for t in report.instance_totals if t.content >= 0]
    if len(segments) < 2:
        return
    median = sorted(segments, key=lambda t: t.bytes)[(len(segments) - 1) // 2]
    worst = max(segments, key=lambda t: t.bytes)
    if (
        median.bytes
        and worst.bytes > DIVERGES * median.bytes
        and worst.bytes - median.bytes > WORTH_A_WARNING
    ):
        yield Finding(
            rule="segments-diverge",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            title=(
                f"the catalog of segment {worst.content} takes {size(worst.bytes)}, that of the"
                f" median one {size(median.bytes)}"
            ),
            detail=(
                f"rows of pg_class: {count(worst.class_rows)} there, {count(median.class_rows)} on"
                " the median segment."
            ),
            remedy=(
                f"look for old transactions on segment {worst.content}, then vacuum the catalogs"
                " there"
            ),
            figures=(
                Figure("worst segment", worst.bytes, "bytes", "measured"),
                Figure("median segment", median.bytes, "bytes", "measured"),
            ),
            source="measured on every instance",
            content=worst.content,
        )


@rule("segment-rows-differ")
def segment_rows_differ(report: Report) -> Iterator[Finding]:
    """Instances do not have the same number of rows in pg_class.

    What it finds: a segment whose pg_class has another number of rows than the other segments'.
    Why it matters: all instances share one definition of every table; a difference is a leftover of
    a crash, or worse.
    How sure it is: counted on every instance, a moment apart, so DDL under way shows as a small
    difference: medium.
    What to do: run the audit again in a quiet moment; if the difference stays, have gpcheckcat look
    at that segment.
    """
    segments = [t for t in report.instance_totals if t.content >= 0]
    if len(segments) < 2:
        return
    usual = sorted(t.class_rows for t in segments)[(len(segments) - 1) // 2]
    for one in segments:
        if one.class_rows != usual:
            yield Finding(
                rule="segment-rows-differ",
                severity=Severity.NOTICE,
                confidence=Confidence.MEDIUM,
                title=(
                    f"pg_class has {count(one.class_rows)} rows on segment {one.content},"
                    f" {count(usual)} on the median segment"
                ),
                detail=(
                    "DDL while the audit ran shows as a small difference; one that stays does not."
                ),
                remedy="run the audit again; if it stays, run gpcheckcat on this database",
                relations=("pg_catalog.pg_class",),
                relations_total=1,
                figures=(
                    Figure("rows here", one.class_rows, "rows", "counted"),
                    Figure("rows of the median segment", usual, "rows", "counted"),
                ),
                source="counted on every instance",
                content=one.content,
            )


@rule("catalog-not-vacuumed")
def catalog_not_vacuumed(report: Report) -> Iterator[Finding]:
    """The catalogs have not been vacuumed for longer than a week.

    What it finds: on Greenplum, pg_attribute or pg_class never vacuumed, or last vacuumed more than
    7 days ago, on some instance, while reclaimable bytes are there.
    Why it matters: Greenplum 6 has no autovacuum for user databases, Greenplum 7 only one on each
    segment by itself: what nobody vacuums only grows.
    How sure it is: the statistics tell the time; a crash or a statistics reset loses it, hence
    medium.
    What to do: vacuum the catalogs nightly, at least weekly: REINDEX, then VACUUM, then ANALYZE.
    """
    late = []
    if not is_greenplum(report.server.generation):
        return  # there autovacuum has its own rule
    for row in report.catalogs:
        if (
            row.relation not in ("pg_attribute", "pg_class")
            or (row.reclaimable_bytes or 0) < WORTH_A_WARNING // 4
        ):
            continue
        days = (
            (report.taken.taken_at - row.last_vacuum).total_seconds() / 86400
            if row.last_vacuum
            else None
        )
        if days is None or days > limits.CATALOG_VACUUM_LATEST.value:
            late.append((row, days))
    if late:
        row, days = max(late, key=lambda pair: pair[0].reclaimable_bytes or 0)
        when = (
            "was never vacuumed according to the statistics"
            if days is None
            else f"was last vacuumed {days:.0f} days ago"
        )
        yield Finding(
            rule="catalog-not-vacuumed",
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            title=f"{row.relation} {when} on {_where(row.content, report)}",
            detail=f"the same holds for {len(late)} pairs of catalog and instance.",
            remedy="schedule REINDEX, VACUUM and ANALYZE of the catalogs every night",
            relations=tuple(sorted({f"pg_catalog.{r.relation}" for r, _ in late})),
            relations_total=len({r.relation for r, _ in late}),
            figures=(Figure("limit", limits.CATALOG_VACUUM_LATEST.value, "days", "limit"),),
            source=limits.CATALOG_VACUUM_LATEST.source,
            content=row.content,
        )


@rule("autovacuum-off")
def autovacuum_off(report: Report) -> Iterator[Finding]:
    """Autovacuum is switched off on PostgreSQL.

    What it finds: autovacuum = off, or track_counts = off, which stops it as well.
    Why it matters: nothing removes the dead rows of the catalogs, nor of the tables.
    How sure it is: the setting was read.
    What to do: switch it on; where a job replaces it, let that job vacuum pg_catalog too.
    """
    if not is_greenplum(report.server.generation):
        for name in ("autovacuum", "track_counts"):
            if report.settings.get(name) == "off":
                yield Finding(
                    rule="autovacuum-off",
                    severity=Severity.WARNING,
                    confidence=Confidence.HIGH,
                    title=f"{name} is off: nothing vacuums the catalogs of this server",
                    detail=(
                        "dead rows of pg_attribute and pg_class stay until somebody vacuums them."
                    ),
                    remedy=f"set {name} = on, or vacuum pg_catalog in the job that replaces it",
                    source=f"setting {name}",
                )
