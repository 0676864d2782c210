"""The tables of a snapshot file, version by version."""

from __future__ import annotations

SCHEMA_VERSION = 8

# What came after version 1, as "table" or "table.column": a file of an older version may lack it
# and is read as if it held nothing there.
# A file of the version that brought it, or of a later one, must have it. Adding a table or column:
# count SCHEMA_VERSION up, name it here.
ADDED = {
    "partition_fact": 2,
    "timing": 2,
    "file_total": 2,
    "file_bucket": 2,
    "orphan": 2,
    "operation_day": 2,
    "last_operation": 2,
    "definition": 3,
    "session_start": 4,
    "age": 4,
    "auxiliary": 5,
    "upkeep_event": 6,
    "file_sample": 7,
    "file_sample.bytes": 8,
}

# Every table of a snapshot. content is the content id of an instance: -1 the coordinator (or the
# only server), 0… segments.
TABLES: dict[str, str] = {
    # one row: whose snapshot it is
    "snapshot": (
        """
        schema_version INTEGER NOT NULL, snapshot_id VARCHAR NOT NULL, gpcatalog_version VARCHAR NOT NULL,
        taken_at TIMESTAMP NOT NULL, seconds DOUBLE,
        banner VARCHAR NOT NULL, product VARCHAR NOT NULL, version VARCHAR NOT NULL, generation VARCHAR NOT NULL,
        version_num INTEGER NOT NULL, host VARCHAR, port INTEGER, "database" VARCHAR NOT NULL, database_oid BIGINT NOT NULL,
        encoding VARCHAR, block_size INTEGER NOT NULL,
        standby BOOLEAN, started_at TIMESTAMP, role VARCHAR, superuser BOOLEAN,
        database_bytes BIGINT, filled_basis VARCHAR, grain VARCHAR NOT NULL
    """
    ),
    # primaries, mirrors, coordinator, standby as gp_segment_configuration has them; one row on
    # PostgreSQL
    "instance": (
        """
        dbid INTEGER, content INTEGER NOT NULL, role VARCHAR, preferred_role VARCHAR, mode VARCHAR, status VARCHAR, port INTEGER,
        hostname VARCHAR
    """
    ),
    "setting": "name VARCHAR NOT NULL, setting VARCHAR, unit VARCHAR, source VARCHAR",
    # one row a catalog and instance; rows_basis: counted, derived or estimate; needed bytes after
    # VACUUM FULL and REINDEX
    "catalog": (
        """
        content INTEGER NOT NULL, relation VARCHAR NOT NULL, shared BOOLEAN,
        "rows" BIGINT, rows_basis VARCHAR,
        heap_bytes BIGINT, toast_bytes BIGINT, index_bytes BIGINT,
        heap_needed BIGINT, toast_needed BIGINT, index_needed BIGINT,
        dead_tuples BIGINT, last_vacuum TIMESTAMP
    """
    ),
    # bytes of a tuple of each catalog and of an entry of each index, from a sample; names ending in
    # _index are indexes
    "catalog_width": (
        "relation VARCHAR NOT NULL, catalog VARCHAR NOT NULL, bytes DOUBLE, sample BIGINT"
    ),
    # relations of an instance by kind; storage and persistence are told for the entry instance only
    "class_count": (
        """
        content INTEGER NOT NULL, relkind VARCHAR NOT NULL, storage VARCHAR, persistence VARCHAR, relations BIGINT NOT NULL,
        attributes BIGINT NOT NULL
    """
    ),
    # one row a table: leaves, intermediates, roots, plain tables
    "relation": (
        """
        oid UINTEGER NOT NULL, "schema" VARCHAR NOT NULL, name VARCHAR NOT NULL, root UINTEGER NOT NULL, parent UINTEGER,
        level UTINYINT NOT NULL,
        kind VARCHAR NOT NULL, storage VARCHAR NOT NULL, "columns" USMALLINT NOT NULL, toast BOOLEAN NOT NULL,
        indexes USMALLINT NOT NULL, index_columns USMALLINT NOT NULL, block_directory BOOLEAN NOT NULL, persistence VARCHAR,
        owner UINTEGER, tablespace UINTEGER, pages BIGINT, tuples DOUBLE, options VARCHAR, bound VARCHAR, partition_name VARCHAR,
        is_default BOOLEAN NOT NULL, filled BOOLEAN, files BIGINT, bytes BIGINT, max_segment_bytes BIGINT
    """
    ),
    # pruned snapshots keep one row a root instead of one a leaf; whole ones carry both
    "root_total": (
        """
        root UINTEGER NOT NULL, "schema" VARCHAR NOT NULL, name VARCHAR NOT NULL, kind VARCHAR NOT NULL, storage VARCHAR NOT NULL,
        leaves BIGINT NOT NULL, empty_leaves BIGINT, class_rows BIGINT NOT NULL, attribute_rows BIGINT NOT NULL,
        files BIGINT, bytes BIGINT
    """
    ),
    # files by root, part and instance; root 0: what belongs to no table. part: main, auxiliary,
    # toast, index, fork, sequence, catalog,
    # other, unowned. basis: directory, sample (estimates from a part of the file numbers), or
    # catalog (segment file lists, no sizes but theirs). small: of at most 1 MB,
    # the empty ones among them; hollow_bytes: of indexes that hold no entry
    "file_total": (
        """
        content INTEGER NOT NULL, root UINTEGER NOT NULL, part VARCHAR NOT NULL, basis VARCHAR NOT NULL, files BIGINT NOT NULL,
        bytes BIGINT, empty_files BIGINT, small_files BIGINT, hollow_bytes BIGINT
    """
    ),
    # the histogram of file sizes, forks with their relation; storage of tables, of everything else
    # its part
    "file_bucket": (
        """
        content INTEGER NOT NULL, storage VARCHAR NOT NULL, bucket VARCHAR NOT NULL, files BIGINT NOT NULL, bytes BIGINT NOT NULL
    """
    ),
    # errors of the estimates from a sample of 1 in `one_in` file numbers, half the width of a 95 %
    # interval: of one root, or of all files where root is NULL
    "file_sample": (
        """
        root UINTEGER, one_in INTEGER NOT NULL,
        files DOUBLE NOT NULL, empty_files DOUBLE NOT NULL, small_files DOUBLE NOT NULL, bytes DOUBLE
    """
    ),
    # files without a row in pg_class, by relfilenode, and (kind missing) rows without a file; see
    # probes/files.py for the kinds
    "orphan": (
        """
        content INTEGER NOT NULL, node BIGINT NOT NULL, folder VARCHAR NOT NULL, files BIGINT NOT NULL, bytes BIGINT NOT NULL,
        age_seconds DOUBLE, kind VARCHAR NOT NULL
    """
    ),
    # one row per large auxiliary relation (or its index) and segment. oid, schema, name: of the
    # append-optimized table; rows: of the auxiliary relation, NULL if not counted; needed: bytes
    # after VACUUM FULL
    "auxiliary": (
        """
        content INTEGER NOT NULL, root UINTEGER NOT NULL, oid UINTEGER NOT NULL, "schema" VARCHAR NOT NULL, name VARCHAR NOT NULL,
        relation VARCHAR NOT NULL, kind VARCHAR NOT NULL, bytes BIGINT NOT NULL, "rows" BIGINT, needed BIGINT
    """
    ),
    "partition_key": (
        """
        root UINTEGER NOT NULL, level UTINYINT NOT NULL, strategy VARCHAR NOT NULL, "key" VARCHAR, key_types VARCHAR, has_template BOOLEAN
    """
    ),
    # what a plan must know besides the tree: fact is distribution, foreign key, view, columns,
    # index, every, pg_partman, …
    "partition_fact": (
        "root UINTEGER NOT NULL, oid UINTEGER NOT NULL, fact VARCHAR NOT NULL, detail VARCHAR"
    ),
    # what `check --baseline` must know of tables that are no partitions, and of views, sequences,
    # types and templates; one row a fact,
    # detail is JSON. name: of the index, constraint, parent, view, … ; of a template its level
    "definition": (
        "oid UINTEGER NOT NULL, what VARCHAR NOT NULL, name VARCHAR NOT NULL, detail VARCHAR"
    ),
    "horizon": (
        """
        content INTEGER NOT NULL, holder VARCHAR NOT NULL, name VARCHAR, "database" VARCHAR, role VARCHAR, detail VARCHAR, seconds DOUBLE,
        xid_age BIGINT
    """
    ),
    # pages of pg_attribute that a session start reads from the front without pg_internal.init
    "session_start": "content INTEGER NOT NULL, pages BIGINT NOT NULL",
    # transactions and multixacts since the oldest that may still be there, of each database and of
    # the catalog and the relation of this one with the oldest; kind: database, catalog, relation
    "age": (
        """
        content INTEGER NOT NULL, kind VARCHAR NOT NULL, name VARCHAR NOT NULL, xid_age BIGINT NOT NULL, multixact_age BIGINT
    """
    ),
    # what was timed, and counters of the server: `gpcatalog.model.timing.Timing` says what each row
    # means
    "timing": (
        """
        what VARCHAR NOT NULL, subject VARCHAR NOT NULL, content INTEGER, n BIGINT NOT NULL,
        min_ms DOUBLE, median_ms DOUBLE, p95_ms DOUBLE, mean_ms DOUBLE, leaves BIGINT
    """
    ),
    # what pg_stat_last_operation keeps of relations that still exist (Greenplum): how many met an
    # action for the last time on a day (UTC);
    # part: relation, or leaf of a partitioned table
    "operation_day": (
        "day DATE NOT NULL, action VARCHAR NOT NULL, part VARCHAR NOT NULL, relations BIGINT NOT"
        " NULL"
    ),
    # the last CREATE, ALTER or TRUNCATE of partitioned and plain tables, the newest ones only
    "last_operation": (
        """
        oid UINTEGER NOT NULL, action VARCHAR NOT NULL, detail VARCHAR, role VARCHAR, done_at TIMESTAMP NOT NULL
    """
    ),
    # rows of the journal of upkeep scripts: runs of the last 40 days, and the tables that they
    # maintain; see gpcatalog.model.upkeep_runs
    "upkeep_event": (
        "plan VARCHAR NOT NULL, relation VARCHAR NOT NULL, state VARCHAR NOT NULL, detail VARCHAR,"
        " recorded_at TIMESTAMP NOT NULL"
    ),
    "temp_schema": '"schema" VARCHAR NOT NULL, relations BIGINT NOT NULL, alive BOOLEAN',
    # what was read and what was not; status: read, denied, timed out, busy, segment down, failed,
    # not applicable
    "coverage": (
        "probe VARCHAR NOT NULL, status VARCHAR NOT NULL, reason VARCHAR, needs VARCHAR, seconds"
        " DOUBLE, origin VARCHAR"
    ),
}


def columns_of(table: str) -> list[str]:
    """Names of a table's columns, in order.

    >>> columns_of("temp_schema")
    ['schema', 'relations', 'alive']
    """
    return [name for name, _, _ in shape_of(table)]


def shape_of(table: str) -> list[tuple[str, str, bool]]:
    """Name, type and whether it may be NULL of a table's columns, in order.

    >>> shape_of("temp_schema")[0]
    ('schema', 'VARCHAR', False)
    """
    parts = (part.split() for part in TABLES[table].split(","))
    return [(words[0].strip('"'), words[1], words[2:] != ["NOT", "NULL"]) for words in parts]
