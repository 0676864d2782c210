"""The text of a fleet report: the verdict, one line for each cluster, then findings."""

from __future__ import annotations

import msgspec
from rich.console import Console

from gpcatalog.audit.fleet import FleetCluster, FleetReport
from gpcatalog.audit.report import Verdict
from gpcatalog.emit.audit_text import amount, finding_table
from gpcatalog.emit.terminal import heading, table, text
from gpcatalog.model.finding import Finding, Severity
from gpcatalog.model.names import listed
from gpcatalog.model.quantity import count, plural, size

SHOWN = 20  # findings and limits in the output
NAMES = 3  # databases per finding


def _verdict(fleet: FleetReport) -> tuple[str, str]:
    """The headline and its style."""
    numbers = {s: sum(f.severity is s for f in fleet.findings) for s in Severity}
    failed = sum(not c.complete for c in fleet.clusters)
    words = []
    if numbers[Severity.CRITICAL]:
        words.append(f"{numbers[Severity.CRITICAL]} critical")
    if numbers[Severity.WARNING]:
        words.append(plural(numbers[Severity.WARNING], "warning"))
    summary = " and ".join(words) or "no warnings"
    clusters = plural(len(fleet.clusters), "cluster")
    head = f"{clusters}: {summary}"
    if failed:
        head = f"{failed} of {clusters} not read completely; {summary} in what was read"
    if not any(c.cluster is not None and c.cluster.databases for c in fleet.clusters):
        head = f"no database of {clusters} was read"
    worst = bool(numbers[Severity.CRITICAL]) or failed
    return head, "bold red" if worst else "bold yellow" if words else "bold green"


def _limits(member: FleetCluster) -> list[tuple[str, Verdict]]:
    """Limits with the state near or exceeded, with the database, or with the cluster for limits of
    the cluster.
    """
    seen = member.cluster
    if seen is None:
        return []
    every = [(member.name, v) for v in seen.verdicts] + [
        (f"{member.name}/{r.server.database}", v) for r in seen.databases for v in r.verdicts
    ]
    return [(where, v) for where, v in every if v.state in ("near", "over")]


def _use(verdict: Verdict) -> str:
    """The used share of a limit; for a minimum, the value and the minimum."""
    if verdict.minimum:
        value, least = (amount(v, verdict.unit) for v in (verdict.value, verdict.limit))
        return f"{value} (minimum {least})"
    return f"{verdict.share:.0%}" if verdict.share is not None else "?"


def _grouped(fleet: FleetReport) -> list[tuple[Finding, list[str]]]:
    """Findings of severity warning and critical, each with its databases, the worst first.

    The same finding in several databases is one entry.
    """
    found: dict[Finding, list[str]] = {}
    for member in fleet.clusters:
        for report in member.cluster.databases if member.cluster else ():
            for finding in report.findings:
                if finding.severity >= Severity.WARNING:
                    key = msgspec.structs.replace(finding, detail="")
                    found.setdefault(key, []).append(f"{member.name}/{report.server.database}")
    return sorted(found.items(), key=lambda entry: (-entry[0].severity, entry[0].title))


def _line(member: FleetCluster) -> tuple[str, ...]:
    """Cells of one cluster."""
    seen = member.cluster
    return (
        member.name,
        str(len(seen.databases)) if seen else "0",
        count(seen.leaves) if seen and seen.leaves is not None else "?",
        size(seen.catalog_bytes) if seen else "?",
        size(seen.reclaimable_bytes) if seen else "?",
        str(member.count(Severity.CRITICAL)) if seen else "?",
        str(member.count(Severity.WARNING)) if seen else "?",
        f"{member.oldest:%Y-%m-%d %H:%M}" if member.oldest is not None else "?",
    )


def show(fleet: FleetReport, out: Console) -> None:
    """Print the fleet's report."""
    head, style = _verdict(fleet)
    out.print(text(head, style))
    out.print()
    heads = (
        "Cluster",
        "dbs",
        "leaves",
        "catalog",
        "reclaim.",
        "crit.",
        "warn.",
        "snapshot",
    )
    out.print(table("", heads, [_line(c) for c in fleet.clusters]))
    out.print(
        text("Bytes of the catalogs on all instances; reclaimable bytes are estimates.", "dim")
    )
    for member in fleet.clusters:
        if member.error:
            out.print(text(f"not read: {member.name}: {member.error}", "yellow"))
        for one in member.unread:
            if not member.error or one.reason != member.error:
                out.print(
                    text(f"not audited: {member.name}/{one.database}: {one.reason}", "yellow")
                )
    limits = [entry for member in fleet.clusters for entry in _limits(member)]
    if limits:
        heading(out, "Limits")
        lines = [
            (where, v.what, v.word, _use(v))
            for where, v in sorted(limits, key=lambda e: -(e[1].share or 0.0))[:SHOWN]
        ]
        out.print(table("", ("database", "limit", "state", "used"), lines, left=3))
        _more(len(limits), out)
    if not any(c.cluster for c in fleet.clusters):
        return
    heading(out, "Findings")
    grouped = _grouped(fleet)
    if not grouped:
        out.print(text("no warnings", "green"))
    for finding, places in grouped[:SHOWN]:
        named = msgspec.structs.replace(finding, title=f"{listed(places, NAMES)}: {finding.title}")
        out.print(finding_table(named, full=False))
    _more(len(grouped), out)


def _more(total: int, out: Console) -> None:
    """Print how many entries of a list are not shown."""
    if total > SHOWN:
        out.print(text(f"and {total - SHOWN} more; --format json has all", "dim"))
