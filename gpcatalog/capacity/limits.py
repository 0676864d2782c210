"""All thresholds and published figures that the program prints, with their units and sources."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpcatalog.errors import CatalogError, Exit

MIB = 1024 * 1024
GIB = 1024 * MIB

PUBLISHED = "published: Data Sapience 2025"
SMALL_FILES = "published: Data Sapience 2025, TPC-DS on columnar files of one size, 4 streams"
GREENPLUM_DOCS = "Greenplum documentation"
GREENPLUM_SOURCE = "Greenplum source"


@dataclass(frozen=True)
class Limit:
    """One figure and its origin.

    id:     short kebab-case name, unique, stable (findings and JSON carry it)
    value:  the figure, in `unit`
    unit:   "rows", "bytes", "files", "files/s", "leaves", "sessions", "s", "ms", "days", "x"
            (ratio), "share" (0..1), "columns", "segments", "segfiles", "tables", "objects" or
            "series"
    source: origin of the figure; always printed with it
    note:   where the figure was measured, or how to interpret it
    """

    id: str
    value: float
    unit: str
    source: str
    note: str = ""


# --- A. the first published measurements: one vendor's test cluster, not general limits ----------

STAND = (
    "4 hosts × 8 segments, 64 cores, 1 TB RAM, 8 NVMe per host; 331 column-oriented tables with"
    " 100 columns, 5.4 M empty leaves"
)

PUBLISHED_SEGMENTS = Limit("published-segments", 32, "segments", PUBLISHED, STAND)
PUBLISHED_LEAVES = Limit("published-leaves", 5_400_000, "leaves", PUBLISHED, STAND)
PUBLISHED_TABLES = Limit("published-tables", 331, "tables", PUBLISHED, STAND)
PUBLISHED_COLUMNS_PER_LEAF = Limit(
    "published-columns-per-leaf",
    133,
    "columns",
    PUBLISHED,
    "pg_attribute rows of a column-oriented leaf with 100 columns: 100 + 33 internal",
)
PUBLISHED_FILES_PER_SEGMENT = Limit(
    "published-files-per-segment",
    32_000_000,
    "files",
    PUBLISHED,
    "all 5.4 M leaves empty, about 6 files per leaf",
)
PUBLISHED_FILES_PER_LEAF = Limit(
    "published-files-per-leaf", 6, "files", PUBLISHED, "empty column-oriented leaf, per segment"
)
PUBLISHED_CATALOG_BYTES = Limit(
    "published-catalog-bytes", 12 * 10**12, "bytes", PUBLISHED, "all instances, before vacuum"
)
PUBLISHED_CATALOG_BYTES_VACUUMED = Limit(
    "published-catalog-bytes-vacuumed", 9 * 10**12, "bytes", PUBLISHED, "all instances"
)
PUBLISHED_EMPTY_BYTES = Limit(
    "published-empty-bytes", 11 * 10**12, "bytes", PUBLISHED, "data files without rows"
)
CATALOG_QUERY_400K = Limit(
    "catalog-query-400k", 5, "s", PUBLISHED, "catalog query at 400,000 partitions"
)
CATALOG_QUERY_5400K = Limit(
    "catalog-query-5400k", 75, "s", PUBLISHED, "catalog query at 5.4 M partitions"
)
CATALOG_QUERY_5400K_VACUUMED = Limit(
    "catalog-query-5400k-vacuumed", 55, "s", PUBLISHED, "the same after VACUUM FULL of the catalog"
)
CATALOG_QUERY_SLOPE = Limit(
    "catalog-query-slope",
    100,
    "ms",
    PUBLISHED,
    "linear, per 10,000 empty partitions; about one catalog scan",
)
CREATE_1000_LEAVES_5400K = Limit(
    "create-1000-leaves-5400k",
    10,
    "s",
    PUBLISHED,
    "CREATE of another table with 1,000 partitions at 5.4 M partitions",
)
DROP_1000_LEAVES_5400K = Limit(
    "drop-1000-leaves-5400k", 600, "s", PUBLISHED, "DROP of that empty table"
)
SESSIONS_STOP_400K_LOW = Limit(
    "sessions-stop-400k-low",
    80,
    "sessions",
    PUBLISHED,
    "concurrent DDL/DML sessions at 400,000 partitions; the cluster stopped working",
)
SESSIONS_STOP_400K_HIGH = Limit(
    "sessions-stop-400k-high", 100, "sessions", PUBLISHED, SESSIONS_STOP_400K_LOW.note
)
LEAVES_CEILING_AOCO = Limit(
    "leaves-ceiling-aoco",
    300_000,
    "leaves",
    PUBLISHED,
    "approximate; any hardware, 100 concurrent sessions",
)
LEAVES_CEILING_AO_ROW = Limit(
    "leaves-ceiling-ao-row",
    1_000_000,
    "leaves",
    PUBLISHED,
    "approximate; NVMe and enough RAM, 500 concurrent sessions",
)
LEAVES_SEEN_LOW = Limit(
    "leaves-seen-low",
    100_000,
    "leaves",
    PUBLISHED,
    "column-oriented partitions of real clusters with a few hundred TB",
)
LEAVES_SEEN_HIGH = Limit("leaves-seen-high", 400_000, "leaves", PUBLISHED, LEAVES_SEEN_LOW.note)

# --- B. small files -------------------------------------------------------------------------------

AVERAGE_FILE_TARGET_LOW = Limit(
    "average-file-target-low", 30 * MIB, "bytes", SMALL_FILES, "cluster average, bytes / files"
)
AVERAGE_FILE_TARGET = Limit(
    "average-file-target",
    40 * MIB,
    "bytes",
    SMALL_FILES,
    ("cluster average, bytes / files; recommended minimum"),
)
AVERAGE_FILE_TOLERABLE_LOW = Limit(
    "average-file-tolerable-low", 10 * MIB, "bytes", SMALL_FILES, "tolerable minimum"
)
AVERAGE_FILE_TOLERABLE = Limit(
    "average-file-tolerable", 12 * MIB, "bytes", SMALL_FILES, "tolerable minimum"
)
SLOWDOWN_BOUNDARY = Limit(
    "slowdown-boundary",
    4 * MIB,
    "bytes",
    SMALL_FILES,
    ("the slowdown exceeds 1.8 × only below this size"),
)
SLOWDOWN_128MB = Limit("slowdown-128mb", 1.0, "x", SMALL_FILES, "reference: files of 128 MB")
SLOWDOWN_2MB = Limit("slowdown-2mb", 1.8, "x", SMALL_FILES, "files of 2 MB compared with 128 MB")
SLOWDOWN_256KB = Limit(
    "slowdown-256kb", 2.5, "x", SMALL_FILES, ("files of 0.25 MB compared with 128 MB")
)
SLOWDOWN_HDFS_2MB = Limit(
    "slowdown-hdfs-2mb", 1.5, "x", "published: another vendor's test", "HDFS at about 2 MB"
)
SLOWDOWN_OZONE_2MB = Limit(
    "slowdown-ozone-2mb", 4, "x", "published: another vendor's test", "Ozone S3 at about 2 MB"
)
SLOWDOWN_MINIO_2MB = Limit(
    "slowdown-minio-2mb", 8, "x", "published: another vendor's test", "MinIO at about 2 MB"
)
NAMENODE_OBJECTS_LOW = Limit(
    "namenode-objects-low", 200_000_000, "objects", PUBLISHED, "an HDFS NameNode in practice"
)
NAMENODE_OBJECTS_HIGH = Limit(
    "namenode-objects-high", 300_000_000, "objects", PUBLISHED, "an HDFS NameNode in practice"
)
NAMENODE_HEAP_PER_150M = Limit(
    "namenode-heap-per-150m", 100 * 10**9, "bytes", PUBLISHED, "approximate, per 150 M objects"
)
JINDOFS_WRITE_SHARE_1B = Limit(
    "jindofs-write-share-1b",
    0.88,
    "share",
    "published: JindoFS",
    "write rate at 1 B files compared with an empty file system",
)

# number of files by file size on the published test cluster: (MB per file, files)
SMALL_FILES_TABLE: tuple[tuple[float, int], ...] = (
    (128, 248), (96, 322), (64, 463), (48, 612), (32, 956), (24, 1339), (16, 1878), (12, 3338),
    (8, 7037), (4, 11733), (2, 28107), (1, 46836), (0.5, 102178), (0.25, 140102),
)  # fmt: skip


@dataclass(frozen=True)
class Bucket:
    """One bucket of the file-size histogram.

    label:     name in output
    upper:     largest size in bytes, inclusive; None if unlimited
    published: share (0..1) of the files of a production namespace
    """

    label: str
    upper: int | None
    published: float


FILE_BUCKETS: tuple[Bucket, ...] = (
    Bucket("0", 0, 0.024),
    Bucket("≤128 KB", 128 * 1024, 0.337),
    Bucket("≤1 MB", MIB, 0.167),
    Bucket("≤8 MB", 8 * MIB, 0.155),
    Bucket("≤64 MB", 64 * MIB, 0.182),
    Bucket("≤512 MB", 512 * MIB, 0.093),
    Bucket(">512 MB", None, 0.028),
)
FILE_BUCKETS_SOURCE = (
    "published: JindoFS, a production namespace of 1 B files (1.5 % more were directories)"
)

# --- C. the cost of removing files ----------------------------------------------------------------

_ZFS = "published: ZFS, 3 mirrors of 7200 rpm disks, 195,762 objects, 148 GiB"
_XFS = "published: XFS on one 7200 rpm disk, the same objects"

CREATE_ZFS_LOW = Limit("create-zfs-low", 87, "files/s", _ZFS)
CREATE_ZFS_HIGH = Limit("create-zfs-high", 89, "files/s", _ZFS)
CREATE_XFS = Limit("create-xfs", 116, "files/s", _XFS)
REMOVE_ZFS_LOW = Limit("remove-zfs-low", 86, "files/s", _ZFS)
REMOVE_ZFS_HIGH = Limit("remove-zfs-high", 95, "files/s", _ZFS)
REMOVE_ZFS_CLONE = Limit("remove-zfs-clone", 442, "files/s", _ZFS, "removed from a clone")
REMOVE_XFS = Limit("remove-xfs", 3295, "files/s", _XFS)
REMOVAL_RATES: tuple[Limit, ...] = (REMOVE_ZFS_LOW, REMOVE_ZFS_HIGH, REMOVE_ZFS_CLONE, REMOVE_XFS)
WALK_ZFS_COLD_LOW = Limit(
    "walk-zfs-cold-low", 137, "s", _ZFS, ("reading the directory tree with a cold cache")
)
WALK_ZFS_COLD_HIGH = Limit(
    "walk-zfs-cold-high", 143, "s", _ZFS, ("reading the directory tree with a cold cache")
)
FRAGMENTATION_COST = Limit(
    "fragmentation-cost", 0.17, "share", ("published: a file in 250,000 fragments under a mixed"
                                        " random load"),
    "maximum; physical fragmentation alone is not a reason to act",
)  # fmt: skip
FRAGMENTATION_COST_REALLOCATED = Limit(
    "fragmentation-cost-reallocated",
    0.08,
    "share",
    FRAGMENTATION_COST.source,
    "after reallocation by the storage system",
)

# --- D. Greenplum documentation and source --------------------------------------------------------

FILES_PER_HOST = Limit(
    "files-per-host", 100_000, "files", GREENPLUM_DOCS, "guideline for one segment host"
)
LEAVES_PER_TABLE = Limit(
    "leaves-per-table", 20_000, "leaves", GREENPLUM_DOCS, "recommended maximum for one table"
)
LEAVES_PER_LEVEL = Limit(
    "leaves-per-level", 32_767, "leaves", GREENPLUM_SOURCE, "limit for one level of a table"
)
DESCRIBE_SECONDS = Limit(
    "describe-seconds", 2, "s", GREENPLUM_DOCS, r"\d slower than this is a symptom of catalog bloat"
)
CATALOG_VACUUM_WANTED = Limit(
    "catalog-vacuum-wanted", 1, "days", GREENPLUM_DOCS, "nightly: REINDEX, VACUUM, then ANALYZE"
)
CATALOG_VACUUM_LATEST = Limit("catalog-vacuum-latest", 7, "days", GREENPLUM_DOCS, "at least weekly")
AO_CONCURRENT_INSERTS = Limit(
    "ao-concurrent-inserts", 127, "segfiles", GREENPLUM_SOURCE, "segno 1 to 127; 0 is reserved"
)
MAX_APPENDONLY_TABLES = Limit(
    "max-appendonly-tables",
    10_000,
    "tables",
    GREENPLUM_DOCS,
    "default of Greenplum 6; every changed leaf counts",
)
AO_COMPACTION_THRESHOLD = Limit(
    "ao-compaction-threshold",
    0.10,
    "share",
    GREENPLUM_DOCS,
    "share of hidden tuples above which VACUUM compacts",
)
BLOAT_MODERATE_GP6 = Limit(
    "bloat-moderate-gp6",
    5,
    "x",
    GREENPLUM_SOURCE,
    ("threshold of gp_bloat_diag for moderate bloat"),
)
BLOAT_SIGNIFICANT_GP6 = Limit(
    "bloat-significant-gp6",
    12,
    "x",
    GREENPLUM_SOURCE,
    ("threshold of gp_bloat_diag for significant bloat"),
)
BLOAT_MODERATE_GP7 = Limit(
    "bloat-moderate-gp7",
    3,
    "x",
    GREENPLUM_SOURCE,
    ("threshold of gp_bloat_diag for moderate bloat"),
)
BLOAT_SIGNIFICANT_GP7 = Limit(
    "bloat-significant-gp7",
    10,
    "x",
    GREENPLUM_SOURCE,
    ("threshold of gp_bloat_diag for significant bloat"),
)
BLOAT_MODERATE_DOCS = Limit(
    "bloat-moderate-docs", 4, "x", GREENPLUM_DOCS, "gp_bloat_diag as documented"
)
BLOAT_SIGNIFICANT_DOCS = Limit(
    "bloat-significant-docs", 10, "x", GREENPLUM_DOCS, "gp_bloat_diag as documented"
)

# --- E. VACUUM FULL of a bloated catalog ----------------------------------------------------------

VACUUM_FULL_SOURCE = "published: production notes, Greenplum 4 and 6"


@dataclass(frozen=True)
class VacuumFullNote:
    """One published VACUUM FULL of a bloated catalog.

    before, after: gigabytes (10⁹ bytes) of the catalog; minutes: duration; note: additional work
    """

    before: float
    after: float
    minutes: float
    note: str = ""


VACUUM_FULL_NOTES: tuple[VacuumFullNote, ...] = (
    VacuumFullNote(1400, 13, 10),
    VacuumFullNote(601, 1.7, 3),
    VacuumFullNote(60, 0.036, 9),
    VacuumFullNote(2276, 16.7, 20),
    VacuumFullNote(2130, 6.8, 57, "with 138 reindexes"),
    VacuumFullNote(160, 5, 30),
    VacuumFullNote(50, 12, 5),
    VacuumFullNote(400, 250, 420),
)

# --- F. figures of other systems ------------------------------------------------------------------

PG_PARTITIONS_DUMP = Limit(
    "pg-partitions-dump",
    460 * 60,
    "s",
    "gpdb issue 4594",
    "dump of DDL that joins pg_partitions; 28 min without the join",
)
CHECK_POSTGRES_BLOAT = Limit(
    "check-postgres-bloat",
    59 * 60,
    "s",
    "check_postgres issue 169",
    "because pg_attribute was bloated",
)
CITUS_TABLES = Limit("citus-tables", 37, "s", "citus issue 4648", "1,206 tables")
METRICS_PER_RELATION = Limit(
    "metrics-per-relation",
    390_000,
    "series",
    "citus issue 4648",
    "at 20,000 relations; one series per leaf is too many",
)
PLANNING_32_SUBPARTITIONS = Limit(
    "planning-32-subpartitions",
    32_953,
    "ms",
    "gpdb issue 11379",
    "4/8/16/32 subpartitions: 482/1,981/8,274/32,953 ms",
)

# --- G. measured for this project -----------------------------------------------------------------

BOOTSTRAP_ROWS_DISPLACED = Limit(
    "bootstrap-rows-displaced",
    16 * MIB,
    "bytes",
    "measured: PostgreSQL 15, 18, 19, Greenplum 6, 7",
    "of pg_attribute that a session start reads; 1.0 to 1.6 MB where the rows are in order",
)
BOOTSTRAP_ROWS_SLOW = Limit(
    "bootstrap-rows-slow",
    160 * MIB,
    "bytes",
    "measured: PostgreSQL 15, 18",
    "of pg_attribute that a session start reads: 30 to 290 ms, pages in memory",
)
SESSION_MEMORY = Limit(
    "session-memory",
    256 * MIB,
    "bytes",
    "limit of gpcatalog: half of what Greenplum's idle segment processes may keep",
    "that a session keeps after a query over one whole table",
)
SESSION_MEMORY_HIGH = Limit(
    "session-memory-high",
    GIB,
    "bytes",
    "limit of gpcatalog: an eighth of the default of gp_vmem_protect_limit",
    "that a session keeps after a query over one whole table",
)
LONG_DDL = Limit(
    "long-ddl",
    60,
    "s",
    "limit of gpcatalog: a minute in which nobody can read or write the table",
    "that a statement holds an AccessExclusiveLock on one table",
)
STATEMENT_MEM = Limit(
    "statement-mem",
    128_000 * 1024,
    "bytes",
    GREENPLUM_SOURCE,
    "default of statement_mem; a plan of the Postgres planner needs 100 KB for each leaf",
)

ALL: dict[str, Limit] = {x.id: x for x in list(globals().values()) if isinstance(x, Limit)}


def limit(id: str) -> Limit:
    """Return the figure with this id. Raises CatalogError (usage) for an unknown id.

    >>> limit("files-per-host").value
    100000
    """
    try:
        return ALL[id]
    except KeyError:
        raise CatalogError(
            f"unknown limit {id!r}",
            hint="one of: " + ", ".join(sorted(ALL)),
            exit_code=Exit.USAGE,
        ) from None


# --- formulas -------------------------------------------------------------------------------------


def catalog_query_ms(leaves: float) -> Limit:
    """Milliseconds that the published slope adds to a catalog query for this number of leaves (100
    ms per 10,000, linear).

    >>> catalog_query_ms(400_000).value
    4000.0
    """
    return Limit(
        "catalog-query", CATALOG_QUERY_SLOPE.value * max(leaves, 0) / 10_000, "ms", CATALOG_QUERY_SLOPE.source,
        "estimate from one test cluster; prefer a measurement on this server",
    )  # fmt: skip


# (bytes per file, slowdown): only three slowdowns were published; values between them are
# interpolated on the logarithm of the size
_SLOWDOWN = (
    (0.25 * MIB, SLOWDOWN_256KB.value),
    (2 * MIB, SLOWDOWN_2MB.value),
    (128 * MIB, SLOWDOWN_128MB.value),
)


def slowdown(average_bytes: float) -> Limit:
    """Estimated slowdown (ratio, ≥ 1) of scans compared with files of 128 MB, for an average file
    size in bytes.

    Interpolated linearly on log2(size) between the published points 0.25 MB 2.5 ×, 2 MB 1.8 × and
    128 MB 1 ×; outside them the nearest point is returned, and the note states this. Not defined
    for an average of 0 bytes or less: CatalogError.

    >>> slowdown(2 * MIB).value, slowdown(128 * MIB).value, slowdown(1024).value
    (1.8, 1.0, 2.5)
    """
    if not average_bytes > 0:
        raise CatalogError(f"an average file size must be more than 0 bytes, not {average_bytes:g}")
    note = "estimate, interpolated between three published points"
    if average_bytes <= _SLOWDOWN[0][0]:
        below_published = average_bytes < _SLOWDOWN[0][0]
        return Limit(
            "slowdown",
            _SLOWDOWN[0][1],
            "x",
            SMALL_FILES,
            "lower bound: nothing was published below 0.25 MB" if below_published else "",
        )
    for (small, slow), (large, fast) in itertools.pairwise(_SLOWDOWN):
        if average_bytes == large:
            return Limit("slowdown", fast, "x", SMALL_FILES)
        if average_bytes < large:
            along = math.log2(average_bytes / small) / math.log2(large / small)
            return Limit("slowdown", slow + (fast - slow) * along, "x", SMALL_FILES, note)
    return Limit("slowdown", SLOWDOWN_128MB.value, "x", SMALL_FILES, "files of 128 MB or more")


def removal_seconds(files: float, rate: Limit | float) -> float:
    """Seconds to remove `files` files at a rate in files per second; the cost is per object, not
    per byte.

    >>> round(removal_seconds(3_295_000, REMOVE_XFS))
    1000
    """
    per_second = rate.value if isinstance(rate, Limit) else rate
    if not per_second > 0:
        raise CatalogError(f"a removal rate must be more than 0 files/s, not {per_second:g}")
    return max(files, 0) / per_second


LOCK_SETTINGS = ("max_locks_per_transaction", "max_connections", "max_prepared_transactions")
LOCK_SLOTS_SOURCE = (
    "max_locks_per_transaction × (max_connections + max_prepared_transactions) of this server"
)


def lock_slots(settings: Mapping[str, object]) -> int | None:
    """Number of locks for which the shared lock table of one instance is sized, from its settings
    as text or numbers; None if one of them was not read.

    Every leaf and every index of a leaf needs one lock.

    >>> lock_slots(dict(zip(LOCK_SETTINGS, ("128", "250", "250"))))
    64000
    >>> lock_slots({"max_connections": "250"})
    """
    try:
        locks, connections, prepared = (int(str(settings[name])) for name in LOCK_SETTINGS)
    except (KeyError, ValueError):
        return None
    return locks * (connections + prepared)


def whole_number(setting: object) -> int | None:
    """A setting as a whole number; None for other text, which a snapshot from an unknown source may
    contain.

    >>> whole_number("64"), whole_number("\u00b2"), whole_number("9" * 30), whole_number(None)
    (64, None, None, None)
    """
    text = str(setting)
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def fast_path_slots(base: int, max_locks_per_transaction: object) -> int | None:
    """Number of locks on relations that a session keeps outside the shared lock table, by the major
    release of PostgreSQL that the server is based on; None if the setting determines it and was not
    read.

    Source: 16 before PostgreSQL 18; then groups of 16, enough for max_locks_per_transaction; the
    number of groups is a power of two, at most 1,024. Each relation belongs to one group, so locks
    may overflow earlier.

    >>> fast_path_slots(17, "64"), fast_path_slots(18, "64"), fast_path_slots(19, "100")
    (16, 64, 128)
    """
    if base < 18:
        return 16
    setting = whole_number(max_locks_per_transaction)
    if setting is None:
        return None
    groups = 1
    while groups < 1024 and groups * 16 < setting:
        groups *= 2
    return groups * 16


def bucket_of(size: int) -> Bucket:
    """The histogram bucket of a file of `size` bytes.

    >>> bucket_of(0).label, bucket_of(32768).label, bucket_of(2**40).label
    ('0', '≤128 KB', '>512 MB')
    """
    for bucket in FILE_BUCKETS:
        if bucket.upper is None or size <= bucket.upper:
            return bucket
    raise AssertionError("the last bucket has no end")
