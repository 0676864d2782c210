"""The summary of the clusters of a fleet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from gpcatalog.audit.cluster import Cluster, Unread
from gpcatalog.audit.rules.registry import refuses_transactions
from gpcatalog.model.finding import Finding, Severity

SCHEMA = "gpcatalog.fleet/1"


class FleetCluster(msgspec.Struct, kw_only=True, frozen=True):
    """One cluster of a fleet.

    cluster: its databases; None if none could be audited
    unread:  databases that could not be audited, and why
    error:   why the cluster could not be read or was read incompletely; empty if it was read
    seconds: duration of reading; None if reading did not start, or if only stored snapshots were
             used
    oldest:  time of the oldest snapshot among its databases
    """

    name: str
    labels: dict[str, str]
    cluster: Cluster | None
    unread: tuple[Unread, ...]
    error: str
    seconds: float | None
    oldest: datetime | None

    @property
    def complete(self) -> bool:
        """Whether every requested database could be audited."""
        return self.cluster is not None and not self.unread and not self.error

    def count(self, severity: Severity) -> int:
        """Number of findings of a severity."""
        return sum(f.severity is severity for f in self.cluster.findings) if self.cluster else 0


class FleetReport(msgspec.Struct, kw_only=True, frozen=True):
    """All clusters; titles of findings begin with the cluster and the database; the worst finding
    first.
    """

    clusters: tuple[FleetCluster, ...]
    findings: tuple[Finding, ...]
    schema: str = SCHEMA


def combine_clusters(clusters: Sequence[FleetCluster]) -> FleetReport:
    """Combine the clusters of a fleet."""
    findings = [
        msgspec.structs.replace(f, title=f"{c.name}/{f.title}")
        for c in clusters
        for f in (c.cluster.findings if c.cluster else ())
    ]
    return FleetReport(
        clusters=tuple(clusters),
        findings=tuple(
            sorted(findings, key=lambda f: (not refuses_transactions(f), -f.severity, f.title))
        ),
    )
