"""The summary of several databases of one cluster."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpcatalog.audit.report import Report, Verdict
from gpcatalog.audit.rules.registry import refuses_transactions
from gpcatalog.audit.verdicts import verdict
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Finding
from gpcatalog.model.generations import is_greenplum

SCHEMA = "gpcatalog.cluster/1"


class Unread(msgspec.Struct, frozen=True):
    """A database that could not be audited, and why."""

    database: str
    reason: str


class Cluster(msgspec.Struct, kw_only=True, frozen=True):
    """All databases of a cluster.

    verdicts are computed for the sum of all databases; titles of findings begin with the name of
    the database.
    """

    databases: tuple[Report, ...]
    unread: tuple[Unread, ...]
    partitions_metric: int | None  # None if the tables of a database could not be read
    leaves: int | None
    class_rows: int  # rows of pg_class on the entry instance, all databases
    attribute_rows: int
    catalog_bytes: int  # on all instances
    reclaimable_bytes: int
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    schema: str = SCHEMA


def combine(reports: Sequence[Report], unread: Sequence[tuple[str, str]]) -> Cluster:
    """Combine the reports of a cluster, at least one."""
    census = [r.census for r in reports if r.census is not None]
    # a sum without one of the databases would be wrong
    complete = len(census) == len(reports)
    ao_column = sum(c.leaves_ao_column for c in census) if complete else None
    metric = sum(c.partitions_metric for c in census) if complete else None
    entries = [t for r in reports for t in r.instance_totals if t.content == -1]
    every = [t for r in reports for t in r.instance_totals]
    found = []
    if is_greenplum(reports[0].server.generation):
        found = [
            verdict(
                "column-oriented leaves, all databases",
                ao_column,
                limits.LEAVES_CEILING_AOCO,
                note="with 100 concurrent sessions",
            ),
            verdict(
                "partitions, all databases",
                metric,
                limits.LEAVES_CEILING_AO_ROW,
                note="with 500 concurrent sessions, row-oriented",
            ),
        ]
    findings = [
        msgspec.structs.replace(f, title=f"{r.server.database}: {f.title}")
        for r in reports
        for f in r.findings
    ]
    return Cluster(
        databases=tuple(reports),
        unread=tuple(Unread(name, reason) for name, reason in unread),
        partitions_metric=metric,
        leaves=sum(c.leaves for c in census) if complete else None,
        class_rows=sum(t.class_rows for t in entries),
        attribute_rows=sum(t.attribute_rows for t in entries),
        catalog_bytes=sum(t.bytes for t in every),
        reclaimable_bytes=sum(t.reclaimable_bytes for t in every),
        verdicts=tuple(found),
        findings=tuple(
            sorted(findings, key=lambda f: (not refuses_transactions(f), -f.severity, f.title))
        ),
    )
