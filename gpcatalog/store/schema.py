"""The tables of a snapshot file, and the schema versions that added them."""

from __future__ import annotations

SCHEMA_VERSION = 9

# Tables and columns added after version 1, as "table" or "table.column". A file of an older version
# may lack them and is read as if they were empty. A file of the version that added them, or of a
# later one, must have them. To add a table or column: increment SCHEMA_VERSION and add its name
# here.
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
    "orphan.relation": 9,
}

# All tables of a snapshot. content is the content id of an instance: -1 the coordinator (or the
# only server), 0… segments.
TABLES: dict[str, str] = {
    # one row: server, database and settings of the snapshot
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
    # primaries, mirrors, coordinator, standby as in gp_segment_configuration; one row on PostgreSQL
    "instance": (
        """
        dbid INTEGER, content INTEGER NOT NULL, role VARCHAR, preferred_role VARCHAR, mode VARCHAR, status VARCHAR, port INTEGER,
        hostname VARCHAR
    """
    ),
    "setting": "name VARCHAR NOT NULL, setting VARCHAR, unit VARCHAR, source VARCHAR",
    # one row per catalog and instance; rows_basis: counted, derived or estimate; needed bytes after
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
    # bytes of a tuple of each catalog and of an entry of each index, from a sample; names that end
    # in _index are indexes
    "catalog_width": (
        "relation VARCHAR NOT NULL, catalog VARCHAR NOT NULL, bytes DOUBLE, sample BIGINT"
    ),
    # relations of an instance by kind; storage and persistence are known for the entry instance
    # only
    "class_count": (
        """
        content INTEGER NOT NULL, relkind VARCHAR NOT NULL, storage VARCHAR, persistence VARCHAR, relations BIGINT NOT NULL,
        attributes BIGINT NOT NULL
    """
    ),
    # one row per table: leaves, intermediates, roots, plain tables
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
    # pruned snapshots have one row per root instead of one per leaf; complete ones have both
    "root_total": (
        """
        root UINTEGER NOT NULL, "schema" VARCHAR NOT NULL, name VARCHAR NOT NULL, kind VARCHAR NOT NULL, storage VARCHAR NOT NULL,
        leaves BIGINT NOT NULL, empty_leaves BIGINT, class_rows BIGINT NOT NULL, attribute_rows BIGINT NOT NULL,
        files BIGINT, bytes BIGINT
    """
    ),
    # files by root, part and instance; root 0: files that belong to no table. part: main,
    # auxiliary, toast, index, fork, sequence, catalog, other, unowned. basis: directory, sample
    # (estimates from a part of the file numbers), or catalog (segment file lists, with sizes only
    # from them). small: of at most 1 MB, including empty files; hollow_bytes: of indexes without an
    # entry
    "file_total": (
        """
        content INTEGER NOT NULL, root UINTEGER NOT NULL, part VARCHAR NOT NULL, basis VARCHAR NOT NULL, files BIGINT NOT NULL,
        bytes BIGINT, empty_files BIGINT, small_files BIGINT, hollow_bytes BIGINT
    """
    ),
    # the histogram of file sizes, forks with their relation; storage: storage type of tables, for
    # other files their part
    "file_bucket": (
        """
        content INTEGER NOT NULL, storage VARCHAR NOT NULL, bucket VARCHAR NOT NULL, files BIGINT NOT NULL, bytes BIGINT NOT NULL
    """
    ),
    # errors of the estimates from a sample of 1 in `one_in` file numbers, half the width of a 95 %
    # interval: of one root, or of all files if root is NULL
    "file_sample": (
        """
        root UINTEGER, one_in INTEGER NOT NULL,
        files DOUBLE NOT NULL, empty_files DOUBLE NOT NULL, small_files DOUBLE NOT NULL, bytes DOUBLE
    """
    ),
    # files without a row in pg_class, by relfilenode, and (kind missing) rows without a file; see
    # probes/files.py for the kinds. relation: schema and name of a row without a file
    "orphan": (
        """
        content INTEGER NOT NULL, node BIGINT NOT NULL, folder VARCHAR NOT NULL, files BIGINT NOT NULL, bytes BIGINT NOT NULL,
        age_seconds DOUBLE, kind VARCHAR NOT NULL, relation VARCHAR
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
    # additional facts for a plan: fact is distribution, foreign key, view, columns, index, every,
    # pg_partman, …
    "partition_fact": (
        "root UINTEGER NOT NULL, oid UINTEGER NOT NULL, fact VARCHAR NOT NULL, detail VARCHAR"
    ),
    # data for `check --baseline` about tables that are not partitions, and about views, sequences,
    # types and templates; one row per fact, detail is JSON. name: of the index, constraint, parent,
    # view, … ; for a template its level
    "definition": (
        "oid UINTEGER NOT NULL, what VARCHAR NOT NULL, name VARCHAR NOT NULL, detail VARCHAR"
    ),
    "horizon": (
        """
        content INTEGER NOT NULL, holder VARCHAR NOT NULL, name VARCHAR, "database" VARCHAR, role VARCHAR, detail VARCHAR, seconds DOUBLE,
        xid_age BIGINT
    """
    ),
    # pages at the start of pg_attribute that a session start reads without pg_internal.init
    "session_start": "content INTEGER NOT NULL, pages BIGINT NOT NULL",
    # transactions and multixacts since the oldest one that may still exist, for each database, and
    # for the oldest catalog and relation of this database; kind: database, catalog, relation
    "age": (
        """
        content INTEGER NOT NULL, kind VARCHAR NOT NULL, name VARCHAR NOT NULL, xid_age BIGINT NOT NULL, multixact_age BIGINT
    """
    ),
    # timings, and counters of the server: `gpcatalog.model.timing.Timing` defines the meaning of
    # each row
    "timing": (
        """
        what VARCHAR NOT NULL, subject VARCHAR NOT NULL, content INTEGER, n BIGINT NOT NULL,
        min_ms DOUBLE, median_ms DOUBLE, p95_ms DOUBLE, mean_ms DOUBLE, leaves BIGINT
    """
    ),
    # pg_stat_last_operation for relations that still exist (Greenplum): number of relations whose
    # last action of a kind was on this day (UTC); part: relation, or leaf of a partitioned table
    "operation_day": (
        "day DATE NOT NULL, action VARCHAR NOT NULL, part VARCHAR NOT NULL, relations BIGINT NOT"
        " NULL"
    ),
    # the last CREATE, ALTER or TRUNCATE of partitioned and plain tables, only the newest ones
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
    # status of each probe: read, denied, timed out, busy, segment down, failed, not applicable
    "coverage": (
        "probe VARCHAR NOT NULL, status VARCHAR NOT NULL, reason VARCHAR, needs VARCHAR, seconds"
        " DOUBLE, origin VARCHAR"
    ),
}


def columns_of(table: str) -> list[str]:
    """Names of the columns of a table, in order.

    >>> columns_of("temp_schema")
    ['schema', 'relations', 'alive']
    """
    return [name for name, _, _ in shape_of(table)]


def shape_of(table: str) -> list[tuple[str, str, bool]]:
    """Name, type, and whether NULL is allowed, for the columns of a table, in order.

    >>> shape_of("temp_schema")[0]
    ('schema', 'VARCHAR', False)
    """
    parts = (part.split() for part in TABLES[table].split(","))
    return [(words[0].strip('"'), words[1], words[2:] != ["NOT", "NULL"]) for words in parts]
