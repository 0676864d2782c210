"""Rules about tables and their leaves: how many, how empty, how near to a limit."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.report import Report, Verdict
from gpcatalog.audit.rules.registry import rule
from gpcatalog.capacity import limits
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, plural, size

EMPTY_SHARE = 0.1  # share of empty leaves from which on they are told as a warning
TINY_LEAVES = 100  # leaves from which on a table is looked at for emptiness


def _over(report: Report, *ids: str) -> Iterator[Verdict]:
    for verdict in report.verdicts:
        if verdict.id in ids and verdict.state in ("near", "over"):
            yield verdict


@rule("leaf-count-near-limit")
def leaf_count_near_limit(report: Report) -> Iterator[Finding]:
    """The number of partitions comes near what clusters were seen to bear, or is over it.

    What it finds: column-oriented leaves from 80 % of the published ceiling of 300,000 on, all
    partitions from 80 % of the published 1,000,000 on.
    Why it matters: at 400,000 partitions a published test cluster stopped with 80 to 100 concurrent
    sessions.
    How sure it is: leaves are counted; the ceiling is one vendor's stand, never a law: low.
    What to do: merge fine partitions (`gpcatalog plan`), stop premaking far ahead, convert small
    column-oriented leaves to rows.
    """
    for v in _over(report, limits.LEAVES_CEILING_AOCO.id, limits.LEAVES_CEILING_AO_ROW.id):
        yield Finding(
            rule="leaf-count-near-limit",
            severity=Severity.CRITICAL if v.state == "over" else Severity.WARNING,
            confidence=Confidence.LOW,
            title=(
                f"{count(v.value or 0)} {v.what}: {v.share or 0:.0%} of the published ceiling of"
                f" {count(v.limit)}"
            ),
            detail=f"{v.note}; {v.source}.",
            remedy="merge fine partitions and drop empty ones: `gpcatalog plan`",
            relations=tuple(f"{t.schema}.{t.name}" for t in report.tables[:5]),
            relations_total=report.census.partitioned_tables if report.census else 0,
            figures=(
                Figure("now", v.value or 0, "leaves", "counted"),
                Figure("ceiling", v.limit, "leaves", "published"),
            ),
            source=v.source,
        )


@rule("table-has-too-many-leaves")
def table_has_too_many_leaves(report: Report) -> Iterator[Finding]:
    """One table has more leaves than the documentation advises, or one level nears its hard
    limit.

    What it finds: tables near or over 20,000 leaves, levels near 32,767 partitions.
    Why it matters: planning, DDL and locks of this table grow with its leaves; at the hard limit
    ADD PARTITION fails.
    How sure it is: counted; 20,000 is the documentation's figure, 32,767 the source's.
    What to do: a coarser grain: `gpcatalog plan --explain TABLE`.
    """
    widest = [t for t in report.tables if t.leaves]
    for v in _over(report, limits.LEAVES_PER_TABLE.id, limits.LEAVES_PER_LEVEL.id):
        hard = v.id == limits.LEAVES_PER_LEVEL.id
        yield Finding(
            rule="table-has-too-many-leaves",
            severity=Severity.CRITICAL if hard else Severity.WARNING,
            confidence=Confidence.HIGH,
            title=f"{v.what}: {count(v.value or 0)}, {v.share or 0:.0%} of {count(v.limit)}",
            detail=(
                "ADD PARTITION fails beyond it. "
                if hard
                else "the documentation asks for another design beyond it. "
            )
            + f"({v.source})",
            remedy="choose a coarser grain and merge the old leaves: `gpcatalog plan`",
            relations=tuple(
                f"{t.schema}.{t.name}" for t in sorted(widest, key=lambda t: -t.leaves)[:5]
            ),
            relations_total=len(widest),
            figures=(
                Figure("now", v.value or 0, "leaves", "counted"),
                Figure("limit", v.limit, "leaves", "limit"),
            ),
            source=v.source,
        )


@rule("empty-leaves")
def empty_leaves(report: Report) -> Iterator[Finding]:
    """Many leaf partitions hold no row.

    What it finds: databases in which at least a tenth of the leaves, and at least 100, are empty;
    the tables that own most of them.
    Why it matters: an empty leaf costs the same catalog rows as a full one; past gaps and far-ahead
    premaking are pure cost.
    How sure it is: high where the files were listed; medium from segment file lists, low from
    statistics.
    What to do: drop those that nothing will fill, make fewer ahead: `gpcatalog plan`.
    """
    census = report.census
    if (
        census is None
        or census.empty_leaves is None
        or census.empty_leaves < TINY_LEAVES
        or census.empty_leaves < EMPTY_SHARE * census.leaves
    ):
        return
    owners = sorted(
        (t for t in report.tables if t.empty_leaves), key=lambda t: -(t.empty_leaves or 0)
    )
    confidence = {"files": Confidence.HIGH, "segment file lists": Confidence.MEDIUM}.get(
        report.taken.filled_basis or "", Confidence.LOW
    )
    yield Finding(
        rule="empty-leaves",
        severity=Severity.WARNING,
        confidence=confidence,
        title=(
            f"{count(census.empty_leaves)} of {count(census.leaves)} leaves are empty"
            f" ({census.empty_leaves / census.leaves:.0%})"
        ),
        detail=(
            "most of them: "
            + ", ".join(f"{t.schema}.{t.name} {count(t.empty_leaves or 0)}" for t in owners[:3])
            + "."
            if owners
            else ""
        ),
        remedy="drop empty leaves that nothing will fill and premake fewer: `gpcatalog plan`",
        relations=tuple(f"{t.schema}.{t.name}" for t in owners[:10]),
        relations_total=len(owners),
        figures=(
            Figure(
                "empty leaves",
                census.empty_leaves,
                "leaves",
                "measured" if confidence is Confidence.HIGH else "estimate",
            ),
            Figure("leaves", census.leaves, "leaves", "counted"),
        ),
        source=f"told by {report.taken.filled_basis}",
    )


@rule("default-partition-holds-rows")
def default_partition_holds_rows(report: Report) -> Iterator[Finding]:
    """A default partition holds rows.

    What it finds: default partitions with bytes in them.
    Why it matters: their rows are pruned by no query; on Greenplum 6 ADD PARTITION is refused
    beside a default, and a SPLIT rewrites it whole under an exclusive lock; ATTACH scans it.
    How sure it is: high where the files were listed; a deleted row still counts as bytes until
    VACUUM.
    What to do: find out which key values land there, make the partitions they belong to, move them.
    """
    census = report.census
    if census is not None and census.default_partitions_filled_total:
        yield Finding(
            rule="default-partition-holds-rows",
            severity=Severity.NOTICE,
            confidence=Confidence.HIGH if report.taken.filled_basis == "files" else Confidence.LOW,
            title=(
                f"{plural(census.default_partitions_filled_total, 'default partition')} with rows"
            ),
            detail="the largest first: " + ", ".join(census.default_partitions_filled[:3]) + ".",
            remedy="find the key values that land there and make partitions for them",
            relations=census.default_partitions_filled[:10],
            relations_total=census.default_partitions_filled_total,
            figures=(
                Figure(
                    "default partitions",
                    census.default_partitions_filled_total,
                    "leaves",
                    "counted",
                ),
            ),
            source=f"told by {report.taken.filled_basis}",
        )


@rule("lock-slots-too-few")
def lock_slots_too_few(report: Report) -> Iterator[Finding]:
    """DROP of the widest table may need more lock slots than the server has.

    What it finds: tables whose leaves, indexes and auxiliary relations outnumber, or nearly, the
    slots of the lock table.
    Why it matters: the statement fails with "out of shared memory", and so do others that run
    beside it.
    How sure it is: an upper bound: statements seen took between one lock a leaf and one a relation:
    medium.
    What to do: raise max_locks_per_transaction (restart), or drop partitions in portions.
    """
    for v in _over(report, "lock-slots"):
        yield Finding(
            rule="lock-slots-too-few",
            severity=Severity.WARNING if v.state == "over" else Severity.NOTICE,
            confidence=Confidence.MEDIUM,
            title=f"{v.what}: {count(v.value or 0)}, the server has {count(v.limit)} slots",
            detail=f"{v.note}.",
            remedy="raise max_locks_per_transaction, or drop partitions in portions",
            figures=(
                Figure("locks", v.value or 0, "locks", "derived"),
                Figure("slots", v.limit, "locks", "derived"),
            ),
            source=v.source,
        )


@rule("append-only-tables-near-limit")
def append_only_tables_near_limit(report: Report) -> Iterator[Finding]:
    """More append-optimized tables hold rows than Greenplum 6 can track at a time.

    What it finds: filled append-optimized tables and leaves near or over max_appendonly_tables.
    Why it matters: a load that touches more of them at once fails.
    How sure it is: an upper bound: only those written to at the same time count: low.
    What to do: raise max_appendonly_tables before a load that touches many leaves, or merge leaves.
    """
    for v in _over(report, limits.MAX_APPENDONLY_TABLES.id):
        yield Finding(
            rule="append-only-tables-near-limit",
            severity=Severity.NOTICE,
            confidence=Confidence.LOW,
            title=(
                f"{count(v.value or 0)} append-optimized tables hold rows, max_appendonly_tables is"
                f" {count(v.limit)}"
            ),
            detail=f"{v.note}.",
            remedy="raise max_appendonly_tables, or merge leaves",
            figures=(
                Figure("tables", v.value or 0, "tables", "counted"),
                Figure("limit", v.limit, "tables", "limit"),
            ),
            source=v.source,
        )


@rule("catalog-owned-by-few")
def catalog_owned_by_few(report: Report) -> Iterator[Finding]:
    """A few tables own most of the catalog.

    What it finds: the tables that together own at least half of pg_attribute, when there are no
    more than five of them.
    Why it matters: working on them alone solves most of the problem.
    How sure it is: rows are derived from each table's own columns, indexes and auxiliary relations,
    exactly: high.
    What to do: start with these: `gpcatalog plan --explain TABLE`.
    """
    entry = next((t for t in report.instance_totals if t.content == -1), None)
    if entry is None or not entry.attribute_rows:
        return
    if report.census is None or report.census.leaves < TINY_LEAVES:
        return
    sum_rows = 0
    for n, table in enumerate(report.tables[:5], start=1):
        sum_rows += table.attribute_rows
        if sum_rows * 2 >= entry.attribute_rows:
            names = tuple(f"{t.schema}.{t.name}" for t in report.tables[:n])
            yield Finding(
                rule="catalog-owned-by-few",
                severity=Severity.INFO,
                confidence=Confidence.HIGH,
                title=(
                    f"{n} {'tables own' if n > 1 else 'table owns'}"
                    f" {sum_rows / entry.attribute_rows:.0%} of pg_attribute"
                ),
                detail=(
                    f"about {size(sum(t.catalog_bytes for t in report.tables[:n]))} of catalog on"
                    " each instance (estimate)."
                ),
                remedy="start with these: `gpcatalog plan --explain TABLE`",
                relations=names,
                relations_total=n,
                figures=(Figure("rows of pg_attribute", sum_rows, "rows", "derived"),),
                source="derived from columns, indexes and auxiliary relations",
            )
            return
