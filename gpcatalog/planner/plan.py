"""A plan as a value: the current state of a cluster, the state after the plan, and the steps
between; versioned, with stable IDs and a fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpcatalog.errors import CatalogError
from gpcatalog.planner import policy
from gpcatalog.planner.operations import AnyStep

SCHEMA = "gpcatalog.plan/2"


class NothingToPlan(CatalogError):
    """The database has no partitioned tables."""


class Source(msgspec.Struct, frozen=True):
    """The snapshot on which a plan is based.

    fingerprint: sha256 of its ID, its database, and the OID and number of leaves of every table
    sizes: "measured" (files), "estimate" (pages of the server's statistics) or "none"
    filled_basis: the source that shows which tables have rows
    role: the role that took the snapshot, '' in older plans
    """

    snapshot: str
    taken_at: str
    database: str
    host: str
    port: int
    product: str
    version: str
    generation: str
    version_num: int
    segments: int
    fingerprint: str
    sizes: str
    filled_basis: str
    role: str = ""


class Totals(msgspec.Struct, kw_only=True, frozen=True):
    """Totals of a database before or after a plan.

    leaves: leaf partitions; tables: unpartitioned tables; rows: catalog rows on one segment
            (PostgreSQL: on the server), by the cost model
    catalog_bytes: estimate, all instances, no bloat
    files: on one segment, by the cost model with one writer
    average_file: bytes of table data per file (estimate), without the bytes of indexes and catalogs
                  that an audit's average includes; None without sizes
    catalog_query_ms: what the published slope adds to a scan; None if none was published
    """

    leaves: int
    tables: int
    rows: int
    catalog_bytes: int
    files: int
    bytes: int | None
    average_file: int | None
    catalog_query_ms: float | None


class Effort(msgspec.Struct, kw_only=True, frozen=True):
    """Costs of all steps: bytes rewritten (all segments), seconds (estimate), additional bytes
    that queries read per day (estimate), leaves by kind.
    """

    rewrite: int
    seconds: float
    scan_bytes_per_day: float
    merges: int
    converted: int
    dropped: int


class MergeWay(msgspec.Struct, kw_only=True, frozen=True):
    """One way to perform all merges: "scripts" of `migrate`, or "MERGE PARTITIONS" of the server.

    seconds: of all merges (estimate); waiting: how long readers wait in this time (estimate);
             source: of the waiting times
    """

    way: str
    seconds: float
    waiting: float
    source: str


class LimitLine(msgspec.Struct, kw_only=True, frozen=True):
    """One limit of the command or the policy, with the values before and after."""

    name: str
    unit: str
    limit: float
    before: float
    after: float
    kept: bool
    source: str


class StatementTime(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Seconds of a statement before and after a plan.

    what: an action of `capacity.durations`, or "client"; subject: table, or name of the client;
          empty for the database
    measured: whether `before` was measured; `after` is always an estimate
    """

    what: str
    subject: str
    before: float
    after: float
    measured: bool = False


class CurvePoint(msgspec.Struct, kw_only=True, frozen=True):
    """One point of the trade-off over all tables: with a higher price of the gain, more is
    rewritten.
    """

    gain: float
    leaves: int
    rows: int
    files: int
    rewrite: int
    seconds: float
    scan_bytes_per_day: float
    chosen: bool = False


class Optimum(msgspec.Struct, frozen=True):
    """Quality of the choice: cost and bound in points; gap is their distance as a share of the
    cost.

    bound_over: "groupings" (no grouping of any table can be better) or "points" (no choice among
                the points of the curves can be better)
    """

    cost: float
    bound: float
    gap: float
    exact: bool
    bound_over: str


class Left(msgspec.Struct, frozen=True):
    """Leaves that are not changed, for one reason. examples: up to three names with details."""

    reason: str
    leaves: int
    examples: tuple[str, ...] = ()


class TablePlan(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One partitioned table.

    `name` is valid in SQL; `fingerprint` is that of its partitions (see `relations.fingerprint`).

    key: column by which it is planned; axis: how its values are read; level: depth of the units (1
         below the root), 0 if there are none
    distribution: as in DISTRIBUTED …;
    default: whether a default partition accepts rows that no other one accepts; alone: why nothing
             is planned; left: why leaves are not changed
    session_bytes: estimated minimum of bytes that a session keeps after a query over all leaves, on
                   the instance where it keeps the most; converted leaves with their storage of
                   today
    """

    oid: int
    schema: str
    table: str
    name: str
    storage: str
    options: str = ""
    key: str = ""
    axis: str = ""
    level: int = 0
    depth: int = 1
    distribution: str = ""
    leaves: int = 0
    leaves_after: int = 0
    rows: int = 0
    rows_after: int = 0
    files: int = 0
    files_after: int = 0
    catalog_bytes: int = 0
    catalog_bytes_after: int = 0
    session_bytes: int = 0
    session_bytes_after: int = 0
    rewrite: int = 0
    seconds: float = 0.0
    scan_bytes_per_day: float = 0.0
    merges: int = 0
    converted: int = 0
    dropped: int = 0
    fingerprint: str = ""
    default: bool = False
    alone: str = ""
    left: list[Left] = []
    steps: list[AnyStep] = []


class Plan(msgspec.Struct, kw_only=True):
    """A plan.

    The tables of the plan that `make` returns have no steps. The tables of its file (see plan_file)
    and of `full` have them.
    """

    schema: str = SCHEMA
    id: str
    gpcatalog_version: str
    made_at: str
    source: Source
    before: Totals
    after: Totals
    effort: Effort
    limits: list[LimitLine]
    optimum: Optimum
    weights: policy.Weights
    workload: policy.Workload
    workload_given: bool = False
    curve: list[CurvePoint]
    basis: list[str]
    notes: list[str]
    times: list[StatementTime] = []
    merge_ways: list[MergeWay] = []
    tables: list[TablePlan] = []


def changed(tables: Iterable[TablePlan]) -> list[TablePlan]:
    """Tables that a plan changes, those with the most saved leaves first."""
    found = [
        t
        for t in tables
        # removing a level changes no leaves
        if t.merges
        or t.converted
        or t.dropped
        or (t.leaves, t.rows) != (t.leaves_after, t.rows_after)
    ]
    return sorted(
        found,
        key=lambda t: (-(t.leaves - t.leaves_after), -(t.files - t.files_after), t.schema, t.table),
    )


def session_memory(tables: Iterable[TablePlan]) -> tuple[int, int]:
    """Estimated minimum of bytes that a session keeps after queries over all leaves of these
    tables, before and after a plan.
    """
    found = [(t.session_bytes, t.session_bytes_after) for t in tables]
    return sum(was for was, _ in found), sum(will for _, will in found)
