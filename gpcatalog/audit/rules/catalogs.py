"""Rules about the catalogs themselves: bloat, divergence, vacuum, statistics."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.places import where
from gpcatalog.audit.report import Holder, InstanceTotal, Report
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.audit.verdicts import bloat_limits
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.names import listed
from gpcatalog.model.quantity import count, plural, size

WORTH_A_WARNING = 16 << 20  # reclaimable bytes on one instance from which bloat is a warning
AUXILIARY_WORTH = 1 << 20  # reclaimable bytes on one segment from which bloat is reported
HELD_BACK = 1_000  # lowest xid age of what prevents the removal of dead rows that is named
DIVERGES = 1.5  # lowest reported ratio of the worst segment's catalog bytes to the median's


def bloated(report: Report) -> bool:
    """Whether some catalog has enough reclaimable bytes for a warning."""
    moderate, _ = bloat_limits(report.server.generation)
    return any(
        (r.bloat or 0) > moderate.value and (r.reclaimable_bytes or 0) >= WORTH_A_WARNING
        for r in report.catalogs
    )


def holders_of_rows(report: Report) -> list[Holder]:
    """What has prevented VACUUM from removing the dead rows of at least 1,000 transactions."""
    return [h for h in report.holders if (h.xid_age or 0) >= HELD_BACK]


def _prevented(report: Report) -> str:
    """Why dead rows cannot be removed now; "" if nothing prevents it."""
    names = [f"{h.holder} {h.name}" for h in holders_of_rows(report)]
    if not names:
        return ""
    return (
        "VACUUM cannot remove the newest of these rows before"
        f" {listed(names, 3)} {'ends' if len(names) == 1 else 'end'}."
    )


@rule("segment-catalog-bloat", Harm.SLOW)
def segment_catalog_bloat(report: Report) -> Iterator[Finding]:
    """A catalog is much larger than its live rows need.

    What it finds: catalogs whose heap, TOAST and indexes exceed the bytes that their live rows need
    by more than the factors of gp_bloat_diag (Greenplum 6: 5 and 12, Greenplum 7: 3 and 10,
    PostgreSQL: the documented 4 and 10). Every instance is checked; gp_bloat_diag uses the
    statistics of the coordinator only.
    Why it matters: every catalog scan reads the dead rows too. Planning, \\d, DDL and backup slow
    down in proportion.
    How sure it is: live rows are counted (those of pg_attribute derived from pg_class), row widths
    are sampled. On test servers VACUUM FULL and REINDEX freed the predicted bytes within 5 % of the
    catalog. What prevents VACUUM from removing dead rows is named: until it ends, less is freed.
    What to do: run the script that `gpcatalog audit --maintenance FILE` writes. Find the cause of
    the dead rows (temporary tables, partitions created and dropped) and vacuum the catalogs nightly.
    """
    moderate, significant = bloat_limits(report.server.generation)
    prevented = _prevented(report)
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
                f"{worst.relation} is {bloat:.1f} × larger than needed on"
                f" {where(worst.content, report)} ({size(reclaimable)} of {size(total)}"
                " reclaimable)"
            ),
            detail=" ".join(
                part
                for part in (
                    report.server.segments
                    and f"{len(affected)} of {len(known)} instances exceed {moderate.value:g} ×;"
                    f" {size(sum(r.reclaimable_bytes or 0 for r in affected))} are reclaimable on"
                    " them.",
                    prevented,
                )
                if part
            ),
            remedy=(
                ("end what prevents the removal of dead rows, then " if prevented else "")
                + "run the script that `gpcatalog audit --maintenance FILE` writes, then vacuum this"
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


@rule("auxiliary-relation-bloat", Harm.SLOW)
def auxiliary_relation_bloat(report: Report) -> Iterator[Finding]:
    """Auxiliary relations of append-optimized tables are much larger than needed.

    What it finds: segment file lists, visibility maps, block directories and their indexes of at
    least 256 KB on a segment. They are reported if they exceed the bytes that their rows need by
    more than the factor of gp_bloat_diag (Greenplum 6: 5, Greenplum 7: 3) and by at least 1 MB.
    Why it matters: every scan of the table reads the segment file list and the visibility map.
    Index scans read the block directory. INSERT, UPDATE and DELETE search and extend them. VACUUM
    of the table removes dead rows but shortens these relations only at their end. gp_toolkit shows
    neither their size nor their bloat.
    How sure it is: sizes are those of the files, and rows are counted on every segment. On
    Greenplum 6.25.3 and 7.0.0, VACUUM FULL left exactly the predicted bytes.
    What to do: run the script that `gpcatalog audit --maintenance FILE` writes. It runs VACUUM FULL
    on the auxiliary relation only; statements on the table wait meanwhile. The cause is usually
    many small INSERT, UPDATE or DELETE statements while another transaction stays open.
    """
    found = report.auxiliary
    moderate, significant = bloat_limits(report.server.generation)
    bloated = [
        a
        for a in (found.relations if found is not None else ())
        if (a.bloat or 0) > moderate.value and (a.worst_reclaimable or 0) >= AUXILIARY_WORTH
    ]
    if not bloated:
        return
    worst = max(bloated, key=lambda a: (a.worst_reclaimable or 0, a.relation))
    bloat, reclaimable = worst.bloat or 1.0, worst.worst_reclaimable or 0
    limit = significant if bloat > significant.value else moderate
    tables = sorted({f"{a.schema}.{a.name}" for a in bloated})
    yield Finding(
        rule="auxiliary-relation-bloat",
        severity=Severity.WARNING if reclaimable >= WORTH_A_WARNING else Severity.NOTICE,
        confidence=Confidence.HIGH,
        title=(
            f"the {worst.kind} of {worst.schema}.{worst.name} is {bloat:.1f} × larger than needed"
            f" on {where(worst.worst_content, report)} ({size(reclaimable)} of"
            f" {size(worst.worst_bytes)} reclaimable)"
        ),
        detail=(
            f"More than {moderate.value:g} × larger than needed:"
            f" {plural(len(bloated), 'auxiliary relation')} of {plural(len(tables), 'table')}."
            f" {size(sum(a.reclaimable or 0 for a in bloated))} are reclaimable on all segments."
        ),
        remedy=(
            "run the script that `gpcatalog audit --maintenance FILE` writes, and load this table"
            " with fewer and larger statements"
        ),
        relations=tuple(tables[:10]),
        relations_total=len(tables),
        figures=(
            Figure("bloat factor", round(bloat, 2), "x", "derived"),
            Figure("limit", limit.value, "x", "limit"),
            Figure("bytes", worst.worst_bytes, "bytes", "measured"),
            Figure("reclaimable", reclaimable, "bytes", "derived"),
            Figure("live rows", worst.worst_rows or 0, "rows", "counted"),
        ),
        source=limit.source,
        content=worst.worst_content,
    )


@rule("segments-diverge", Harm.SLOW)
def segments_diverge(report: Report) -> Iterator[Finding]:
    """The catalog of one segment is much larger than those of the others.

    What it finds: a segment whose catalogs take at least 1.5 times the bytes of the median segment.
    Why it matters: a query is as slow as its slowest segment. VACUUM runs on each segment
    separately: a segment that was skipped, or where an old transaction prevented VACUUM from
    removing rows, stays bloated unnoticed.
    How sure it is: bytes are measured on every instance.
    What to do: look for old transactions and prepared transactions on that segment, then vacuum its
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
                f"the catalog of segment {worst.content} has {size(worst.bytes)}, that of the median"
                f" segment {size(median.bytes)}"
            ),
            detail=(
                f"Rows of pg_class: {count(worst.class_rows)} on this segment,"
                f" {count(median.class_rows)} on the median segment."
            ),
            remedy=(
                f"look for old transactions on segment {worst.content}, then vacuum its catalogs"
            ),
            figures=(
                Figure("worst segment", worst.bytes, "bytes", "measured"),
                Figure("median segment", median.bytes, "bytes", "measured"),
            ),
            source="measured on every instance",
            content=worst.content,
        )


@rule("segment-rows-differ", Harm.OUTAGE)
def segment_rows_differ(report: Report) -> Iterator[Finding]:
    """The segments have different numbers of rows in pg_class.

    What it finds: a segment whose number of rows in pg_class differs from the other segments.
    Why it matters: every table is defined on all instances. A difference is left by a crash, or is
    a sign of catalog corruption.
    How sure it is: medium: counted on every instance, but not at the same moment, so running DDL
    causes small differences.
    What to do: run the audit again while no DDL runs. If the difference stays, run gpcheckcat.
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
                    f"pg_class has {count(one.class_rows)} rows on segment {one.content} and"
                    f" {count(usual)} on the median segment"
                ),
                detail=("DDL that ran during the audit causes small differences, which disappear."),
                remedy="run the audit again; if the difference stays, run gpcheckcat on this database",
                relations=("pg_catalog.pg_class",),
                relations_total=1,
                figures=(
                    Figure("rows here", one.class_rows, "rows", "counted"),
                    Figure("rows of the median segment", usual, "rows", "counted"),
                ),
                source="counted on every instance",
                content=one.content,
            )


@rule("catalog-not-vacuumed", Harm.UPKEEP)
def catalog_not_vacuumed(report: Report) -> Iterator[Finding]:
    """A catalog was not vacuumed for more than 7 days.

    What it finds: on Greenplum, pg_attribute or pg_class that has reclaimable bytes and was never
    vacuumed, or more than 7 days ago, on any instance.
    Why it matters: Greenplum 6 has no autovacuum for user databases; in Greenplum 7 it runs on each
    segment separately. Without VACUUM the catalogs only grow.
    How sure it is: medium: the time comes from the statistics, which a crash or a reset clears.
    What to do: vacuum the catalogs nightly, at least weekly: REINDEX, then VACUUM, then ANALYZE.
    """
    late = []
    if not is_greenplum(report.server.generation):
        return  # PostgreSQL: see autovacuum-off
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
            title=f"{row.relation} {when} on {where(row.content, report)}",
            detail=f"{plural(len(late), 'catalog/instance combination')} affected.",
            remedy="schedule REINDEX, VACUUM and ANALYZE of the catalogs every night",
            relations=tuple(sorted({f"pg_catalog.{r.relation}" for r, _ in late})),
            relations_total=len({r.relation for r, _ in late}),
            figures=(Figure("limit", limits.CATALOG_VACUUM_LATEST.value, "days", "limit"),),
            source=limits.CATALOG_VACUUM_LATEST.source,
            content=row.content,
        )


@rule("autovacuum-off", Harm.UPKEEP)
def autovacuum_off(report: Report) -> Iterator[Finding]:
    """Autovacuum is disabled on PostgreSQL.

    What it finds: autovacuum = off, or track_counts = off, which disables it too.
    Why it matters: dead rows of catalogs and tables are not removed.
    How sure it is: the setting was read. A standby has its own, so there it is only a notice: the
    primary may have another one.
    What to do: enable it. If a job replaces it, that job must vacuum pg_catalog too.
    """
    if not is_greenplum(report.server.generation):
        for name in ("autovacuum", "track_counts"):
            if report.settings.get(name) == "off":
                standby = report.server.standby
                yield Finding(
                    rule="autovacuum-off",
                    severity=Severity.NOTICE if standby else Severity.WARNING,
                    confidence=Confidence.LOW if standby else Confidence.HIGH,
                    title=(
                        f"{name} is off on this standby: if it is off on the primary, too, the catalogs"
                        " are not vacuumed automatically"
                        if standby
                        else f"{name} is off: the catalogs of this server are not vacuumed automatically"
                    ),
                    detail=("Dead rows of pg_attribute and pg_class stay until a manual VACUUM."),
                    remedy=f"set {name} = on, or vacuum pg_catalog in your own job",
                    source=f"setting {name}",
                )
