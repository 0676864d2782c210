"""The structure of an audit's result; `--format json` prints it unchanged."""

from __future__ import annotations

from datetime import datetime

import msgspec

from gpcatalog.audit.auxiliary import Auxiliary
from gpcatalog.audit.drop_locks import MostLocks
from gpcatalog.audit.files import Files
from gpcatalog.audit.partition_cover import PartitionCover, UpkeepState
from gpcatalog.audit.query_locks import QueryLocks
from gpcatalog.audit.session_memory import SessionMemory
from gpcatalog.audit.statement_times import StatementTimes
from gpcatalog.model.finding import Finding
from gpcatalog.model.timing import Timing

SCHEMA = "gpcatalog.audit/1"


class SnapshotInfo(msgspec.Struct, kw_only=True, frozen=True):
    """The snapshot of the report. seconds: duration of reading the server."""

    snapshot_id: str
    taken_at: datetime
    seconds: float
    gpcatalog_version: str
    grain: str  # "leaf", or "root" once pruned
    # source of emptiness: "files", "segment file lists" or "statistics (estimate)"
    filled_basis: str | None


class ServerFacts(msgspec.Struct, kw_only=True, frozen=True):
    """Server and database of the report.

    database_bytes: data files of the database with all forks on all segments, or the only server;
        without the coordinator and mirrors; None if not read. If the files were not listed, it is
        pg_database_size() of each segment, which includes some small files of the server itself.
        In older snapshots, forks are not included, and the coordinator is if files were not listed.
    """

    product: str
    version: str
    generation: str
    banner: str
    host: str
    port: int
    database: str
    role: str
    superuser: bool
    standby: bool
    block_size: int
    encoding: str
    segments: int
    hosts: int
    mirrors: int
    database_bytes: int | None
    started_at: datetime | None


class Instance(msgspec.Struct, kw_only=True, frozen=True):
    """One row of gp_segment_configuration. role, preferred_role: p/m; mode: s/n; status: u/d."""

    dbid: int
    content: int
    role: str
    preferred_role: str
    mode: str
    status: str
    port: int
    hostname: str


class CatalogRow(msgspec.Struct, kw_only=True, frozen=True):
    """One catalog on one instance; bytes are those of the main forks.

    rows:              live rows, None if they could not be read
    rows_basis:        "counted", "derived" (pg_attribute, from pg_class) or "estimate" (reltuples)
    needed_bytes:      bytes that the live rows need after VACUUM FULL and REINDEX (heap and
                       indexes; all bytes of TOAST count as needed)
    reclaimable_bytes: heap, TOAST and index bytes minus the needed ones
    bloat:             ratio of the bytes to the needed bytes
    """

    content: int
    relation: str
    shared: bool
    rows: int | None
    rows_basis: str | None
    heap_bytes: int
    toast_bytes: int
    index_bytes: int
    needed_bytes: int | None
    heap_reclaimable: int | None
    reclaimable_bytes: int | None
    bloat: float | None
    dead_tuples: int | None
    last_vacuum: datetime | None


class InstanceTotal(msgspec.Struct, kw_only=True, frozen=True):
    """All catalogs of one instance together; sizes in bytes."""

    content: int
    bytes: int
    needed_bytes: int
    reclaimable_bytes: int
    bloat: float
    class_rows: int
    attribute_rows: int


class CatalogSummary(msgspec.Struct, kw_only=True, frozen=True):
    """One catalog over the cluster: the coordinator, the median segment and the worst segment (the
    one with the most bytes, by its content id).
    """

    relation: str
    coordinator_rows: int | None
    coordinator_bytes: int
    median_rows: int | None
    median_bytes: int
    worst_content: int
    worst_rows: int | None
    worst_bytes: int
    worst_needed: int | None
    worst_reclaimable: int | None
    worst_bloat: float | None
    reclaimable_bytes: int  # on all instances


class Count(msgspec.Struct, frozen=True):
    """Number of tables of one kind and storage. empty: None if unknown."""

    kind: str
    storage: str
    relations: int
    empty: int | None


class Census(msgspec.Struct, kw_only=True, frozen=True):
    """Counts of tables and partitions.

    partitions_metric: plain tables and leaf partitions, the metric of the published limits.
    """

    counts: tuple[Count, ...]
    partitioned_tables: int
    leaves: int
    leaves_ao_column: int
    leaves_ao_row: int
    leaves_heap: int
    empty_leaves: int | None
    unpartitioned: int
    partitions_metric: int
    leaves_per_table_median: int
    leaves_per_table_max: int
    default_partitions_filled: tuple[str, ...]
    default_partitions_filled_total: int
    widest_level: int  # most children of one parent


class Owner(msgspec.Struct, kw_only=True, frozen=True):
    """A table or a schema, with the catalog rows of its leaves, indexes, TOAST and auxiliary
    relations.

    class_rows, attribute_rows: rows in pg_class and pg_attribute of each instance
    catalog_bytes:              estimate: its share of pg_class rows × needed bytes of all catalogs
        on the entry instance; None if they were not read
    files, bytes:               of the tables, indexes, TOAST and auxiliary relations, with forks;
        None if the directories were not listed
    """

    schema: str
    name: str
    storage: str
    leaves: int
    empty_leaves: int | None
    class_rows: int
    attribute_rows: int
    catalog_bytes: int | None
    files: int | None
    bytes: int | None


class Holder(msgspec.Struct, kw_only=True, frozen=True):
    """Something that prevents VACUUM from removing dead rows. xid_age: transactions begun since."""

    content: int
    holder: str
    name: str
    database: str
    role: str
    detail: str
    seconds: float | None
    xid_age: int | None


class TempSchema(msgspec.Struct, frozen=True):
    """A temporary schema. alive: whether its session still exists, None if the server does not
    report it.
    """

    schema: str
    relations: int
    alive: bool | None


class SessionStart(msgspec.Struct, kw_only=True, frozen=True):
    """The part of pg_attribute that a session start reads on one instance if it finds no valid
    pg_internal.init.

    pages: read from the start of pg_attribute, for all relations that the session needs before it
           can use an index
    bytes: of these pages
    """

    content: int
    pages: int
    bytes: int


class Age(msgspec.Struct, kw_only=True, frozen=True):
    """Transactions and multixacts since the oldest one that may still be in a database or relation.

    kind: "database"; or "catalog" and "relation" for the oldest ones of the audited database
    multixact_age: None if the server does not report it
    """

    content: int
    kind: str
    name: str
    xid_age: int
    multixact_age: int | None


class Verdict(msgspec.Struct, kw_only=True, frozen=True):
    """One limit and the value of this database.

    state: "ok", "near" (from 80 % on), "over" or "not measured".
    minimum: the limit is a lower bound. share is then limit / value, "near" means below the limit
             and "over" below the tolerable value
    """

    id: str
    what: str
    value: float | None
    limit: float
    unit: str
    share: float | None
    state: str
    source: str
    note: str
    minimum: bool = False

    @property
    def word(self) -> str:
        """The text of the state."""
        return (MINIMUM_WORDS if self.minimum else STATE_WORDS)[self.state]


# texts of the states of limits, the worst first
STATE_WORDS = {"over": "exceeded", "near": "above 80 %", "ok": "ok", "not measured": "not read"}
MINIMUM_WORDS = STATE_WORDS | {"over": "too small", "near": "small"}


class Forecast(msgspec.Struct, kw_only=True, frozen=True):
    """The forecast of one figure from two snapshots: a straight line.

    per_day: change per day; days_left: until the limit, None if it does not grow or has no limit
    """

    what: str
    unit: str
    then: float
    now: float
    days: float
    per_day: float
    limit: float | None
    days_left: float | None
    source: str


class Coverage(msgspec.Struct, frozen=True):
    """The status of one probe. needs: the privilege that is missing."""

    probe: str
    status: str
    reason: str
    needs: str
    seconds: float | None


class Report(msgspec.Struct, kw_only=True, frozen=True):
    """The result of an audit. The rules fill findings."""

    taken: SnapshotInfo
    server: ServerFacts
    instances: tuple[Instance, ...]
    settings: dict[str, str]
    instance_totals: tuple[InstanceTotal, ...]
    catalog_summary: tuple[CatalogSummary, ...]
    relations_by_kind: dict[str, int]  # relkind of pg_class → relations on the entry instance
    census: Census | None  # None if the tables and partitions could not be read
    tables: tuple[Owner, ...]
    schemas: tuple[Owner, ...]
    holders: tuple[Holder, ...]
    temp_schemas: tuple[TempSchema, ...]
    temporary_relations: int  # rows of pg_class with relpersistence 't' on the entry instance
    verdicts: tuple[Verdict, ...]
    forecasts: tuple[Forecast, ...]
    coverage: tuple[Coverage, ...]
    catalogs: tuple[CatalogRow, ...]
    timings: tuple[Timing, ...] = ()
    findings: tuple[Finding, ...] = ()
    only: tuple[str, ...] = ()  # the rules that ran; empty: all
    session_starts: tuple[SessionStart, ...] | None = None  # None if not read
    ages: tuple[Age, ...] | None = None  # by age, the oldest first; None if not read
    query_locks: QueryLocks | None = None  # None if the leaves were not read
    most_locks: MostLocks | None = None  # None without partitioned tables, or if not read
    session_memory: SessionMemory | None = None  # None if the leaves were not read
    statement_times: StatementTimes | None = None
    auxiliary: Auxiliary | None = None  # None if they were not measured
    partition_cover: PartitionCover | None = None  # None if the leaves were not read
    upkeep: UpkeepState | None = None  # None without a journal, or if it was not read
    files: Files | None = None  # None if neither directories nor segment file lists were read
    schema: str = SCHEMA
