"""Rules about the number of partitions, empty leaves and default partitions."""

from __future__ import annotations

from collections.abc import Iterator

from gpcatalog.audit.report import Report, Verdict
from gpcatalog.audit.rules.registry import Harm, rule
from gpcatalog.capacity import limits
from gpcatalog.model.emptiness import basis_words
from gpcatalog.model.finding import Confidence, Figure, Finding, Severity
from gpcatalog.model.quantity import count, plural, size

EMPTY_SHARE = 0.1  # lowest share of empty leaves that is reported
TINY_LEAVES = 100  # lowest number of empty leaves that is reported


def _exceeded_limits(report: Report, *ids: str) -> Iterator[Verdict]:
    for verdict in report.verdicts:
        if verdict.id in ids and verdict.state in ("near", "over"):
            yield verdict


@rule("leaf-count-near-limit", Harm.OUTAGE)
def leaf_count_near_limit(report: Report) -> Iterator[Finding]:
    """The number of partitions is close to, or above, the largest that was published as stable.

    What it finds: at least 80 % of 300,000 column-oriented leaves, or at least 80 % of 1,000,000
    tables and leaf partitions.
    Why it matters: a published test cluster with 400,000 partitions stopped working with 80 to 100
    concurrent sessions.
    How sure it is: low: leaves are counted, but the ceiling was published for one test cluster.
    What to do: merge small partitions (`gpcatalog plan`), create fewer partitions in advance, and
    convert small column-oriented leaves to row orientation.
    """
    for v in _exceeded_limits(
        report, limits.LEAVES_CEILING_AOCO.id, limits.LEAVES_CEILING_AO_ROW.id
    ):
        yield Finding(
            rule="leaf-count-near-limit",
            severity=Severity.CRITICAL if v.state == "over" else Severity.WARNING,
            confidence=Confidence.LOW,
            title=(
                f"{count(v.value or 0)} {v.what}: {v.share or 0:.0%} of the published ceiling of"
                f" {count(v.limit)}"
            ),
            detail=f"Published: {v.note}.",
            remedy="merge small partitions and drop empty ones: `gpcatalog plan`",
            relations=tuple(f"{t.schema}.{t.name}" for t in report.tables[:5]),
            relations_total=report.census.partitioned_tables if report.census else 0,
            figures=(
                Figure("now", v.value or 0, "leaves", "counted"),
                Figure("ceiling", v.limit, "leaves", "published"),
            ),
            source=v.source,
        )


@rule("table-has-too-many-leaves", Harm.OUTAGE)
def table_has_too_many_leaves(report: Report) -> Iterator[Finding]:
    """A table has more leaves than the documentation recommends, or a level is close to its limit.

    What it finds: at least 80 % of 20,000 leaves in one table, or of 32,767 partitions in one
    level.
    Why it matters: planning time, DDL time and locks grow with the number of leaves. At 32,767 ADD
    PARTITION fails.
    How sure it is: high: leaves are counted. 20,000 comes from the documentation, 32,767 from the
    server's source code.
    What to do: use larger partitions: `gpcatalog plan --explain TABLE`.
    """
    widest = [t for t in report.tables if t.leaves]
    for v in _exceeded_limits(report, limits.LEAVES_PER_TABLE.id, limits.LEAVES_PER_LEVEL.id):
        hard = v.id == limits.LEAVES_PER_LEVEL.id
        yield Finding(
            rule="table-has-too-many-leaves",
            severity=Severity.CRITICAL if hard else Severity.WARNING,
            confidence=Confidence.HIGH,
            title=f"{v.what}: {count(v.value or 0)}, {v.share or 0:.0%} of the limit of {count(v.limit)}",
            detail=(
                "ADD PARTITION fails at the limit."
                if hard
                else "The documentation recommends a different design above the limit."
            ),
            remedy="use larger partitions and merge the old leaves: `gpcatalog plan`",
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


@rule("empty-leaves", Harm.SPACE)
def empty_leaves(report: Report) -> Iterator[Finding]:
    """Many leaf partitions are empty.

    What it finds: databases where at least a tenth of the leaves, and at least 100, are empty.
    Why it matters: an empty leaf has as many catalog rows as a filled one.
    How sure it is: high if measured from file sizes, medium if taken from segment file lists, low
    if taken from statistics.
    What to do: drop leaves that will stay empty and create fewer in advance: `gpcatalog plan`.
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
            "Largest: "
            + ", ".join(f"{t.schema}.{t.name} {count(t.empty_leaves or 0)}" for t in owners[:3])
            + "."
            if owners
            else ""
        ),
        remedy="drop leaves that will stay empty and create fewer in advance: `gpcatalog plan`",
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
        source=f"measured from {basis_words(report.taken.filled_basis)}",
    )


@rule("default-partition-holds-rows", Harm.SLOW)
def default_partition_holds_rows(report: Report) -> Iterator[Finding]:
    """A default partition contains rows.

    What it finds: default partitions with data, also those that are partitioned themselves.
    Why it matters: queries cannot prune their rows. Greenplum 6 rejects ADD PARTITION on a table
    with a default partition, and SPLIT rewrites it under an exclusive lock. ATTACH scans it.
    How sure it is: high if measured from file sizes. Deleted rows count until VACUUM.
    What to do: find the key values in the default partition, create partitions for them and move
    the rows.
    """
    census = report.census
    if census is not None and census.default_partitions_filled_total:
        yield Finding(
            rule="default-partition-holds-rows",
            severity=Severity.NOTICE,
            confidence=Confidence.HIGH if report.taken.filled_basis == "files" else Confidence.LOW,
            title=(
                f"{plural(census.default_partitions_filled_total, 'default partition')}"
                f" {'contains' if census.default_partitions_filled_total == 1 else 'contain'} rows"
            ),
            detail="Largest: " + ", ".join(census.default_partitions_filled[:3]) + ".",
            remedy="create partitions for the key values in them and move the rows",
            relations=census.default_partitions_filled[:10],
            relations_total=census.default_partitions_filled_total,
            figures=(
                Figure(
                    "default partitions",
                    census.default_partitions_filled_total,
                    "tables",
                    "counted",
                ),
            ),
            source=f"measured from {basis_words(report.taken.filled_basis)}",
        )


@rule("lock-slots-too-few", Harm.OUTAGE)
def lock_slots_too_few(report: Report) -> Iterator[Finding]:
    """DROP or TRUNCATE of the widest table may need more lock slots than the server has.

    What it finds: tables of which DROP or TRUNCATE needs at least 80 % of the slots of the lock
    table. Both lock leaves, indexes and auxiliary relations (DROP not on Greenplum 6). DROP also
    locks the row types, constraints and defaults of each of them.
    Why it matters: the statement fails with "out of shared memory", and so do concurrent ones.
    How sure it is: medium: the locks of tables like this were counted on live servers, but leaves
    can differ from each other, and other sessions use slots, too.
    What to do: raise max_locks_per_transaction (restart), or drop or truncate a few partitions at a
    time.
    """
    for v in _exceeded_limits(report, "lock-slots"):
        yield Finding(
            rule="lock-slots-too-few",
            severity=Severity.WARNING if v.state == "over" else Severity.NOTICE,
            confidence=Confidence.MEDIUM,
            title=f"{v.what}: {count(v.value or 0)}; the server has {count(v.limit)} lock slots",
            detail=f"{v.note.capitalize()}.",
            remedy=(
                "raise max_locks_per_transaction, or drop or truncate a few partitions at a time"
            ),
            figures=(
                Figure("locks", v.value or 0, "locks", "derived"),
                Figure("slots", v.limit, "locks", "derived"),
            ),
            source=v.source,
        )


@rule("append-only-tables-near-limit", Harm.OUTAGE)
def append_only_tables_near_limit(report: Report) -> Iterator[Finding]:
    """Greenplum 6 may have too few slots for append-optimized tables.

    What it finds: filled append-optimized tables and leaves, at least 80 % of
    max_appendonly_tables.
    Why it matters: a transaction fails when more of them are written to at the same time.
    How sure it is: low: this is an upper bound, because only tables with concurrent writes count.
    What to do: raise max_appendonly_tables before a load that writes to many leaves, or merge
    leaves.
    """
    for v in _exceeded_limits(report, limits.MAX_APPENDONLY_TABLES.id):
        yield Finding(
            rule="append-only-tables-near-limit",
            severity=Severity.NOTICE,
            confidence=Confidence.LOW,
            title=(
                f"{count(v.value or 0)} append-optimized tables contain rows, {v.share or 0:.0%} of"
                f" max_appendonly_tables ({count(v.limit)})"
            ),
            detail=f"{v.note.capitalize()}.",
            remedy="raise max_appendonly_tables, or merge leaves",
            figures=(
                Figure("tables", v.value or 0, "tables", "counted"),
                Figure("limit", v.limit, "tables", "limit"),
            ),
            source=v.source,
        )


@rule("catalog-owned-by-few", Harm.SPACE)
def catalog_owned_by_few(report: Report) -> Iterator[Finding]:
    """A few tables have most of the catalog rows.

    What it finds: up to five tables that together have at least half of the rows of pg_attribute.
    Why it matters: changing these tables alone solves most of the problem.
    How sure it is: high: rows are derived from the columns, indexes and auxiliary relations of each
    table.
    What to do: start with these tables: `gpcatalog plan --explain TABLE`.
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
            used = [t.catalog_bytes for t in report.tables[:n] if t.catalog_bytes is not None]
            yield Finding(
                rule="catalog-owned-by-few",
                severity=Severity.INFO,
                confidence=Confidence.HIGH,
                title=(
                    f"{n} {'tables have' if n > 1 else 'table has'}"
                    f" {sum_rows / entry.attribute_rows:.0%} of the rows of pg_attribute"
                ),
                detail=(
                    f"They use about {size(sum(used))} of the catalog on each instance (estimate)."
                    if len(used) == n
                    else ""
                ),
                remedy="start with these tables: `gpcatalog plan --explain TABLE`",
                relations=names,
                relations_total=n,
                figures=(Figure("rows of pg_attribute", sum_rows, "rows", "derived"),),
                source="derived from columns, indexes and auxiliary relations",
            )
            return
