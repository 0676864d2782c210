"""A plan as a value: what a cluster has, what it would have, and the steps between; versioned, with
stable ids and a fingerprint.
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
    """The snapshot a plan rests on.

    fingerprint: sha256 over its id, database and every table's oid and number of leaves
    sizes: "measured" (files), "estimate" (pages of the server's statistics) or "none"
    filled_basis: how it was told which tables hold rows
    role: who took the snapshot, '' in older plans
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
    """What a database has, or would have.

    leaves: leaf partitions; tables: unpartitioned tables; rows: catalog rows on one segment
            (PostgreSQL: on the server), by the cost
    model; catalog_bytes: estimate, all instances, no bloat; files: on one segment, by the cost
    model with one writer;
    average_file: bytes of table data a file (estimate), without the bytes of indexes and catalogs
                  that an audit's average has; None without sizes
    catalog_query_ms: what the published slope adds to a scan; None where none was published
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
    """What all steps cost: bytes rewritten (all segments), seconds (estimate), bytes a day read
    more (estimate), leaves by kind.
    """

    rewrite: int
    seconds: float
    scan_bytes_per_day: float
    merges: int
    converted: int
    dropped: int


class MergeWay(msgspec.Struct, kw_only=True, frozen=True):
    """One way to carry out all merges: "scripts" of `migrate`, or "MERGE PARTITIONS" of the server.

    seconds: of all merges (estimate); waiting: how long readers wait in these (estimate); source:
             of the waiting times
    """

    way: str
    seconds: float
    waiting: float
    source: str


class LimitLine(msgspec.Struct, kw_only=True, frozen=True):
    """One limit of the call or the policy, what there was and what there will be."""

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
    measured: before was measured (and after is an estimate), instead of both estimated
    """

    what: str
    subject: str
    before: float
    after: float
    measured: bool = False


class CurvePoint(msgspec.Struct, kw_only=True, frozen=True):
    """One point of the trade-off over all tables: press harder on what is gained, rewrite more."""

    gain: float
    leaves: int
    rows: int
    files: int
    rewrite: int
    seconds: float
    scan_bytes_per_day: float
    chosen: bool = False


class Optimum(msgspec.Struct, frozen=True):
    """How good the choice is: cost and bound in points; gap is their distance as a share of the
    cost.

    bound_over: "groupings" (no grouping of any table can do better) or "points" (no choice among
                the points of the curves)
    """

    cost: float
    bound: float
    gap: float
    exact: bool
    bound_over: str


class Left(msgspec.Struct, frozen=True):
    """Leaves left alone for one reason. examples: up to three names with detail."""

    reason: str
    leaves: int
    examples: tuple[str, ...] = ()


class TablePlan(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One partitioned table.

    `name` is fit for SQL; `fingerprint` is of its partitions (see `relations.fingerprint`).

    key: column that is planned by; axis: how its values are read; level: depth of the units (1
         below the root), 0 where none
    distribution: as in DISTRIBUTED …;
    default: whether a default partition takes what no other does; alone: why nothing is planned;
             left: why leaves stay as they are
    session_bytes: estimated bytes that a session keeps at least after a query over all leaves, on
                   the instance where it keeps the most; converted leaves as stored today
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

    What `make` returns holds tables without steps; its file (see plan_file) and `full` have
    them.
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
    """Tables that a plan changes, most leaves saved first."""
    found = [
        t for t in tables if t.merges or t.converted or t.dropped or t.leaves != t.leaves_after
    ]
    return sorted(
        found,
        key=lambda t: (-(t.leaves - t.leaves_after), -(t.files - t.files_after), t.schema, t.table),
    )


def session_memory(tables: Iterable[TablePlan]) -> tuple[int, int]:
    """Estimated bytes that a session keeps at least after queries over all leaves of these tables,
    before and after a plan.
    """
    found = [(t.session_bytes, t.session_bytes_after) for t in tables]
    return sum(was for was, _ in found), sum(will for _, will in found)
