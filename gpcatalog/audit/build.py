"""Build a report from a snapshot: sums, medians and shares, all computed from its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gpcatalog.audit.auxiliary import auxiliary
from gpcatalog.audit.drop_locks import most_locks
from gpcatalog.audit.files import build_files
from gpcatalog.audit.partition_cover import partition_cover, upkeep_state
from gpcatalog.audit.query_locks import query_locks
from gpcatalog.audit.report import (
    Age,
    CatalogRow,
    CatalogSummary,
    Census,
    Count,
    Coverage,
    Forecast,
    Holder,
    Instance,
    InstanceTotal,
    Owner,
    Report,
    ServerFacts,
    SessionStart,
    SnapshotInfo,
    TempSchema,
)
from gpcatalog.audit.session_memory import session_memory
from gpcatalog.audit.statement_times import statement_times
from gpcatalog.audit.verdicts import verdicts
from gpcatalog.capacity import limits
from gpcatalog.model.generations import is_greenplum
from gpcatalog.model.quantity import plural
from gpcatalog.model.timing import Timing
from gpcatalog.store.snapshot import Snapshot

TOP = 20  # tables and schemas in a report


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None else None


def _ratio(bytes_: int, needed: int | None) -> float | None:
    """Bloat factor; 1 for an empty catalog that needs no bytes."""
    if needed is None:
        return None
    return bytes_ / needed if needed else 1.0


def _catalog_row(row: dict[str, Any]) -> CatalogRow:
    total = row["heap_bytes"] + row["toast_bytes"] + row["index_bytes"]
    needed = heap_reclaimable = None
    if row["heap_needed"] is not None and row["index_needed"] is not None:
        toast_needed = row["toast_bytes"] if row["toast_needed"] is None else row["toast_needed"]
        needed = row["heap_needed"] + row["index_needed"] + toast_needed
        heap_reclaimable = max(0, row["heap_bytes"] - row["heap_needed"])
    return CatalogRow(
        content=row["content"],
        relation=row["relation"],
        shared=bool(row["shared"]),
        rows=row["rows"],
        rows_basis=row["rows_basis"],
        heap_bytes=row["heap_bytes"],
        toast_bytes=row["toast_bytes"],
        index_bytes=row["index_bytes"],
        needed_bytes=needed,
        heap_reclaimable=heap_reclaimable,
        reclaimable_bytes=max(0, total - needed) if needed is not None else None,
        bloat=_ratio(total, needed),
        dead_tuples=row["dead_tuples"],
        last_vacuum=_utc(row["last_vacuum"]),
    )


def _bytes(row: CatalogRow) -> int:
    return row.heap_bytes + row.toast_bytes + row.index_bytes


def _middle(values: Sequence[int]) -> int:
    """Lower median: always the value of an existing instance."""
    return sorted(values)[(len(values) - 1) // 2]


def _summaries(rows: Iterable[CatalogRow]) -> tuple[CatalogSummary, ...]:
    by_relation: dict[str, list[CatalogRow]] = defaultdict(list)
    for row in rows:
        by_relation[row.relation].append(row)
    out = []
    for relation, instances in by_relation.items():
        coordinator = next((r for r in instances if r.content == -1), None)
        segments = [r for r in instances if r.content >= 0] or instances
        worst = max(segments, key=lambda r: (_bytes(r), -r.content))
        counted = [r.rows for r in segments if r.rows is not None]
        out.append(
            CatalogSummary(
                relation=relation,
                coordinator_rows=coordinator.rows if coordinator else None,
                coordinator_bytes=_bytes(coordinator) if coordinator else 0,
                median_rows=_middle(counted) if counted else None,
                median_bytes=_middle([_bytes(r) for r in segments]),
                worst_content=worst.content,
                worst_rows=worst.rows,
                worst_bytes=_bytes(worst),
                worst_needed=worst.needed_bytes,
                worst_reclaimable=worst.reclaimable_bytes,
                worst_bloat=worst.bloat,
                reclaimable_bytes=sum(r.reclaimable_bytes or 0 for r in instances),
            )
        )
    return tuple(sorted(out, key=lambda s: (-max(s.worst_bytes, s.coordinator_bytes), s.relation)))


def _totals(rows: Iterable[CatalogRow], snapshot: Snapshot) -> tuple[InstanceTotal, ...]:
    counts = {
        row["content"]: (int(row["relations"]), int(row["attributes"]))
        for row in snapshot.rows(
            "SELECT content, sum(relations) AS relations, sum(attributes) AS attributes FROM"
            " class_count GROUP BY content"
        )
    }
    by_content: dict[int, list[CatalogRow]] = defaultdict(list)
    for row in rows:
        by_content[row.content].append(row)
    out = []
    for content in sorted(by_content):
        of = by_content[content]
        total = sum(_bytes(r) for r in of)
        reclaimable = sum(r.reclaimable_bytes or 0 for r in of)
        relations, attributes = counts.get(content, (0, 0))
        bloat = _ratio(total, total - reclaimable) or 1.0
        out.append(
            InstanceTotal(
                content=content,
                bytes=total,
                needed_bytes=total - reclaimable,
                reclaimable_bytes=reclaimable,
                bloat=bloat,
                class_rows=relations,
                attribute_rows=attributes,
            )
        )
    return tuple(out)


def _census(snapshot: Snapshot) -> Census | None:
    """Counts of tables and partitions; None, not 0, if they could not be read."""
    if snapshot.unread("relations"):
        return None
    if snapshot.header["grain"] != "leaf":
        return _census_from_roots(snapshot)
    counts = tuple(
        Count(row["kind"], row["storage"], row["n"], int(row["empty"]) if row["known"] else None)
        for row in snapshot.rows(
            "SELECT kind, storage, count(*) AS n, bool_or(filled IS NOT NULL) AS known, count(*)"
            " FILTER (NOT filled) AS empty FROM relation GROUP BY kind, storage ORDER BY kind, n"
            " DESC, storage"
        )
    )
    width = snapshot.one(
        "SELECT max(n) AS widest FROM (SELECT count(*) AS n FROM relation WHERE parent IS NOT NULL"
        " GROUP BY parent)"
    )
    defaults = _default_partitions_filled(snapshot)
    return _assemble(
        snapshot,
        counts,
        int(width["widest"] or 0),
        tuple(defaults[:TOP]),
        len(defaults),
    )


def _default_partitions_filled(snapshot: Snapshot) -> list[str]:
    """Names of the default partitions with rows, those with the most bytes first. A default
    partition that is itself partitioned has rows if one of the leaves below it has.
    """
    # most databases have none, and the other statement reads the names of all tables
    if not snapshot.rows("SELECT 1 FROM relation WHERE is_default LIMIT 1"):
        return []
    return [
        f"{row['schema']}.{row['name']}"
        for row in snapshot.rows(
            # the level increases: the parents in a file from an unknown source may form a cycle
            """WITH RECURSIVE below AS (
                   SELECT oid AS top, oid, level FROM relation WHERE is_default
                   UNION ALL
                   SELECT b.top, r.oid, r.level FROM below b JOIN relation r ON r.parent = b.oid AND r.level > b.level)
               SELECT t."schema", t.name
                 FROM below b JOIN relation t ON t.oid = b.top JOIN relation l ON l.oid = b.oid
                WHERE l.kind = 'leaf' AND l.filled
                GROUP BY t.oid, t."schema", t.name
                ORDER BY sum(coalesce(l.bytes, 0)) DESC, t."schema", t.name"""
        )
    ]


def _census_from_roots(snapshot: Snapshot) -> Census:
    """Counts of tables and partitions from a pruned snapshot, which has one row per root."""
    counts = []
    for row in snapshot.rows(
        "SELECT storage, sum(leaves) AS leaves, sum(empty_leaves) AS empty, count(*) FILTER (kind ="
        " 'root') AS roots, count(*) FILTER (kind = 'table') AS tables FROM root_total GROUP BY"
        " storage ORDER BY storage"
    ):
        empty = int(row["empty"]) if row["empty"] is not None else None
        for kind, n, none in (
            ("leaf", row["leaves"], empty),
            ("root", row["roots"], None),
            ("table", row["tables"], None),
        ):
            if n:
                counts.append(Count(kind, row["storage"], int(n), none))
    return _assemble(snapshot, tuple(counts), 0, (), 0)


def _assemble(
    snapshot: Snapshot,
    counts: tuple[Count, ...],
    widest: int,
    defaults: tuple[str, ...],
    defaults_total: int,
) -> Census:
    def total(kind: str, storage: str | None = None) -> int:
        return sum(c.relations for c in counts if c.kind == kind and storage in (None, c.storage))

    known = [c.empty for c in counts if c.kind == "leaf" and c.empty is not None]
    per_root = [
        row["leaves"] for row in snapshot.rows("SELECT leaves FROM root_total WHERE kind = 'root'")
    ]
    leaves, plain = total("leaf"), total("table")
    return Census(
        counts=counts,
        partitioned_tables=total("root"),
        leaves=leaves,
        leaves_ao_column=total("leaf", "ao_column"),
        leaves_ao_row=total("leaf", "ao_row"),
        leaves_heap=total("leaf", "heap"),
        empty_leaves=sum(known) if known or not leaves else None,
        unpartitioned=plain,
        partitions_metric=leaves + plain,
        leaves_per_table_median=_middle(per_root) if per_root else 0,
        leaves_per_table_max=max(per_root, default=0),
        default_partitions_filled=defaults,
        default_partitions_filled_total=defaults_total,
        widest_level=widest,
    )


def _owners(
    snapshot: Snapshot, needed: int, class_rows: int
) -> tuple[tuple[Owner, ...], tuple[Owner, ...]]:
    """The tables and the schemas with the most catalog rows, by rows in pg_attribute."""
    a_row = needed / class_rows if class_rows and needed else None

    def owner(row: dict[str, Any], name: str, storage: str) -> Owner:
        return Owner(
            schema=row["schema"],
            name=name,
            storage=storage,
            leaves=int(row["leaves"]),
            empty_leaves=int(row["empty_leaves"]) if row["empty_leaves"] is not None else None,
            class_rows=int(row["class_rows"]),
            attribute_rows=int(row["attribute_rows"]),
            catalog_bytes=None if a_row is None else int(row["class_rows"] * a_row),
            files=int(row["files"]) if row["files"] is not None else None,
            bytes=int(row["bytes"]) if row["bytes"] is not None else None,
        )

    # those of root_total are the main files only
    totals = (
        "(SELECT t.* EXCLUDE (files, bytes), CASE WHEN l.listed THEN coalesce(f.files, 0) END AS"
        " files, CASE WHEN l.listed THEN coalesce(f.bytes, 0) END AS bytes FROM root_total t CROSS"
        " JOIN (SELECT count(*) > 0 AS listed FROM file_total WHERE basis = 'directory') l LEFT JOIN (SELECT"
        " root, sum(files) AS files, sum(bytes) AS bytes FROM file_total WHERE basis = 'directory'"
        " GROUP BY root) f USING (root))"
    )
    tables = snapshot.rows(
        f'SELECT * FROM {totals} ORDER BY attribute_rows DESC, "schema", name LIMIT ?',
        [TOP],
    )
    schemas = snapshot.rows(
        'SELECT "schema", count(*) AS n, sum(leaves) AS leaves, sum(empty_leaves) AS empty_leaves,'
        " sum(class_rows) AS class_rows, sum(attribute_rows) AS attribute_rows, sum(files) AS"
        f' files, sum(bytes) AS bytes FROM {totals} GROUP BY "schema" ORDER BY attribute_rows'
        ' DESC, "schema" LIMIT ?',
        [TOP],
    )
    return (
        tuple(owner(row, row["name"], row["storage"]) for row in tables),
        tuple(owner(row, plural(row["n"], "table"), "") for row in schemas),
    )


def _forecasts(
    report_now: dict[str, float], older: Snapshot | None, days: float, *, greenplum: bool
) -> tuple[Forecast, ...]:
    if older is None or days <= 0:
        return ()
    then = _figures(older)
    out = []
    for what, unit, limit in (
        ("partitions", "leaves", limits.LEAVES_CEILING_AO_ROW if greenplum else None),
        ("pg_class rows an instance", "rows", None),
        ("pg_attribute rows an instance", "rows", None),
        ("catalog bytes of the largest instance", "bytes", None),
    ):
        before, now = then.get(what), report_now.get(what)
        if before is None or now is None:
            continue  # not read in one of the two snapshots
        rate = (now - before) / days
        left = (
            (limit.value - now) / rate
            if limit is not None and rate > 0 and now < limit.value
            else None
        )
        out.append(
            Forecast(
                what=what,
                unit=unit,
                then=before,
                now=now,
                days=days,
                per_day=rate,
                limit=limit.value if limit else None,
                days_left=left,
                source="two snapshots, a straight line (estimate)",
            )
        )
    return tuple(out)


def _figures(snapshot: Snapshot) -> dict[str, float]:
    """The figures for the forecast, without those that could not be read."""
    metric = snapshot.one(
        "SELECT coalesce(sum(CASE WHEN kind = 'table' THEN 1 ELSE leaves END), 0) AS n FROM"
        " root_total"
    )["n"]
    counts = snapshot.rows(
        "SELECT sum(relations) AS r, sum(attributes) AS a FROM class_count GROUP BY content"
    )
    size = snapshot.one(
        "SELECT coalesce(max(b), 0) AS b FROM (SELECT sum(heap_bytes + toast_bytes + index_bytes)"
        " AS b FROM catalog GROUP BY content)"
    )["b"]
    found = {}
    if not snapshot.unread("relations"):
        found["partitions"] = float(metric)
    if not snapshot.unread("class_counts", "segment_class_counts"):
        found["pg_class rows an instance"] = float(max((c["r"] for c in counts), default=0))
        found["pg_attribute rows an instance"] = float(max((c["a"] for c in counts), default=0))
    if not snapshot.unread("catalog_sizes", "segment_catalog_sizes"):
        found["catalog bytes of the largest instance"] = float(size)
    return found


def _instances(snapshot: Snapshot) -> tuple[Instance, ...]:
    """Instances of the cluster, by content; primaries before mirrors."""
    return tuple(
        Instance(
            dbid=row["dbid"] or 0,
            content=row["content"],
            role=row["role"] or "",
            preferred_role=row["preferred_role"] or "",
            mode=row["mode"] or "",
            status=row["status"] or "",
            port=row["port"] or 0,
            hostname=row["hostname"] or "",
        )
        for row in snapshot.rows("SELECT * FROM instance ORDER BY content, role DESC, dbid")
    )


def _server(header: Mapping[str, Any], instances: Sequence[Instance]) -> ServerFacts:
    """The server that a snapshot's header names, with the size of its cluster."""
    primaries = [i for i in instances if i.content >= 0 and i.role == "p"]
    return ServerFacts(
        product=header["product"],
        version=header["version"],
        generation=header["generation"],
        banner=header["banner"],
        host=header["host"] or "",
        port=header["port"] or 0,
        database=header["database"],
        role=header["role"] or "",
        superuser=bool(header["superuser"]),
        standby=bool(header["standby"]),
        block_size=header["block_size"],
        encoding=header["encoding"] or "",
        segments=len(primaries),
        hosts=len({i.hostname for i in primaries}) or 1,
        mirrors=sum(1 for i in instances if i.content >= 0 and i.role == "m"),
        database_bytes=header["database_bytes"],
        started_at=_utc(header["started_at"]),
    )


def _holders(snapshot: Snapshot) -> tuple[Holder, ...]:
    """What prevents VACUUM from removing old row versions, the oldest transaction first."""
    return tuple(
        Holder(
            content=row["content"],
            holder=row["holder"],
            name=row["name"] or "",
            database=row["database"] or "",
            role=row["role"] or "",
            detail=(row["detail"] or "").strip(),
            seconds=row["seconds"],
            xid_age=row["xid_age"],
        )
        for row in snapshot.rows(
            "SELECT * FROM horizon ORDER BY xid_age DESC NULLS LAST, holder, name"
        )
    )


def _relations_by_kind(snapshot: Snapshot) -> dict[str, int]:
    """Relations of the entry instance by relkind."""
    rows = snapshot.rows(
        "SELECT relkind, sum(relations) AS n FROM class_count WHERE content = -1 GROUP BY relkind"
        " ORDER BY relkind"
    )
    return {row["relkind"]: int(row["n"]) for row in rows}


def _temporary_relations(snapshot: Snapshot) -> int:
    """Temporary relations of the entry instance."""
    found = snapshot.one(
        "SELECT coalesce(sum(relations), 0) AS n FROM class_count WHERE content = -1 AND"
        " persistence = 't'"
    )
    return int(found["n"])


def _session_starts(snapshot: Snapshot) -> tuple[SessionStart, ...] | None:
    """The pages that a session start reads on each instance; None if they were not read."""
    block = snapshot.header["block_size"]
    return (
        tuple(
            SessionStart(content=row["content"], pages=row["pages"], bytes=row["pages"] * block)
            for row in snapshot.rows("SELECT * FROM session_start ORDER BY content")
        )
        or None
    )


def _ages(snapshot: Snapshot) -> tuple[Age, ...] | None:
    """Ages of databases and relations, the oldest first; None if they were not read."""
    return (
        tuple(
            Age(**row)
            for row in snapshot.rows("SELECT * FROM age ORDER BY xid_age DESC, kind, content, name")
        )
        or None
    )


def _snapshot_info(header: Mapping[str, Any]) -> SnapshotInfo:
    """When and how the snapshot was taken."""
    taken_at = _utc(header["taken_at"])
    assert taken_at is not None
    return SnapshotInfo(
        snapshot_id=header["snapshot_id"],
        taken_at=taken_at,
        seconds=header["seconds"] or 0.0,
        gpcatalog_version=header["gpcatalog_version"],
        grain=header["grain"],
        filled_basis=header["filled_basis"],
    )


def _coverage(snapshot: Snapshot) -> tuple[Coverage, ...]:
    """The status of each probe: what it read, or why it did not."""
    return tuple(
        Coverage(
            row["probe"], row["status"], row["reason"] or "", row["needs"] or "", row["seconds"]
        )
        for row in snapshot.rows("SELECT * FROM coverage")
    )


def build(snapshot: Snapshot, older: Snapshot | None = None) -> Report:
    """Build the report of one snapshot, without findings; with a forecast if an older snapshot of
    the same database is given.
    """
    header = snapshot.header
    rows = tuple(
        _catalog_row(row)
        for row in snapshot.rows("SELECT * FROM catalog ORDER BY relation, content")
    )
    instances = _instances(snapshot)
    totals = _totals(rows, snapshot)
    entry = next((t for t in totals if t.content == -1), None)
    tables, schemas = _owners(
        snapshot, entry.needed_bytes if entry else 0, entry.class_rows if entry else 0
    )
    days = 0.0
    if older is not None:
        days = (header["taken_at"] - older.header["taken_at"]).total_seconds() / 86400
    report = Report(
        taken=_snapshot_info(header),
        server=_server(header, instances),
        instances=instances,
        settings={
            row["name"]: row["setting"] or ""
            for row in snapshot.rows("SELECT name, setting FROM setting ORDER BY name")
        },
        instance_totals=totals,
        catalog_summary=_summaries(rows),
        relations_by_kind=_relations_by_kind(snapshot),
        census=_census(snapshot),
        tables=tables,
        schemas=schemas,
        holders=_holders(snapshot),
        temp_schemas=tuple(
            TempSchema(row["schema"], row["relations"], row["alive"])
            for row in snapshot.rows("SELECT * FROM temp_schema")
        ),
        temporary_relations=_temporary_relations(snapshot),
        verdicts=(),
        forecasts=_forecasts(
            _figures(snapshot),
            older,
            days,
            greenplum=is_greenplum(snapshot.header["generation"]),
        ),
        coverage=_coverage(snapshot),
        catalogs=rows,
        timings=tuple(Timing(**row) for row in snapshot.rows("SELECT * FROM timing")),
        session_starts=_session_starts(snapshot),
        ages=_ages(snapshot),
        query_locks=query_locks(snapshot),
        most_locks=most_locks(snapshot),
        session_memory=session_memory(snapshot),
        statement_times=statement_times(snapshot),
        auxiliary=auxiliary(snapshot),
        partition_cover=partition_cover(snapshot),
        upkeep=upkeep_state(snapshot),
        files=build_files(snapshot),
    )
    return verdicts(report)
