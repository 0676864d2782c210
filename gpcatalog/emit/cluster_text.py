"""The text of a cluster report: one line for each database, then the sum."""

from __future__ import annotations

from rich.console import Console

from gpcatalog.audit.cluster import Cluster
from gpcatalog.audit.report import Report
from gpcatalog.emit.audit_text import findings, verdicts
from gpcatalog.emit.terminal import table, text
from gpcatalog.model.quantity import count, size


def _database_line(report: Report) -> tuple[str, ...]:
    """The line of one database: rows are those of the entry instance, bytes those of all
    instances.
    """
    entry = next((t for t in report.instance_totals if t.content == -1), None)
    return (
        report.server.database,
        count(report.census.leaves) if report.census else "?",
        count(report.census.partitions_metric) if report.census else "?",
        count(entry.class_rows) if entry else "?",
        count(entry.attribute_rows) if entry else "?",
        size(sum(t.bytes for t in report.instance_totals)),
        size(sum(t.reclaimable_bytes for t in report.instance_totals)),
        str(len(report.findings)),
    )


def _sum_line(cluster: Cluster) -> tuple[str, ...]:
    """The line of all databases together."""
    return (
        "all",
        count(cluster.leaves) if cluster.leaves is not None else "?",
        count(cluster.partitions_metric) if cluster.partitions_metric is not None else "?",
        count(cluster.class_rows),
        count(cluster.attribute_rows),
        size(cluster.catalog_bytes),
        size(cluster.reclaimable_bytes),
        str(len(cluster.findings)),
    )


def show(cluster: Cluster, out: Console) -> None:
    """Print the cluster's report."""
    first = cluster.databases[0].server
    out.print(
        text(
            f"{first.product} {first.version} · {first.host or 'local'}:{first.port} ·"
            f" {len(cluster.databases)} databases",
            "bold",
        )
    )
    rows = [*(_database_line(report) for report in cluster.databases), _sum_line(cluster)]
    out.print()
    heads = (
        "Database",
        "leaves",
        "metric",
        "pg_class",
        "pg_attr.",
        "catalog",
        "reclaim.",
        "findings",
    )
    out.print(table("", heads, rows, styles=["" for _ in rows[:-1]] + ["bold"]))
    out.print(
        text(
            "Rows on the coordinator or server. Catalog bytes on all instances; shared catalogs"
            " are counted in every database.",
            "dim",
        )
    )
    for one in cluster.unread:
        out.print(text(f"not audited: {one.database}: {one.reason}", "yellow"))
    findings(cluster.findings, out)
    if cluster.verdicts:
        verdicts(cluster.verdicts, out)
