"""Metrics of a report in the text format of Prometheus. The number of series is limited and does
not depend on the number of leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpcatalog.audit.files import LISTED
from gpcatalog.audit.report import Age, Report
from gpcatalog.capacity.limits import FILE_BUCKETS
from gpcatalog.model.auxiliary import LARGE
from gpcatalog.model.clients import BY_TITLE, CLIENT
from gpcatalog.model.finding import Severity
from gpcatalog.model.names import printable
from gpcatalog.model.quantity import size
from gpcatalog.model.timing import LOCK_MANAGER_WAITS, Timing

CATALOGS = 12  # catalogs with their own series on each instance; the others are added up as "other"
_LARGEST = {b.label: "+Inf" if b.upper is None else str(b.upper) for b in FILE_BUCKETS}


def label(text: str) -> str:
    r"""The value of a label, with control characters escaped, in the syntax of the format.

    >>> print(label('a"b\\c' + chr(10)))
    a\"b\\c\\x0a
    """
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


@dataclass
class Family:
    """One metric family. The name of a counter ends in _total, other names end with the unit."""

    name: str
    help: str
    kind: str = "gauge"
    samples: list[tuple[dict[str, str], float]] = field(default_factory=list)

    def add(self, value: float | None, **labels: str) -> None:
        """Add one sample; an unknown value is left out, not set to 0."""
        if value is not None:
            self.samples.append((labels, float(value)))

    def text(self) -> str:
        """The lines of the family."""
        if not self.samples:
            return ""
        lines = [f"# HELP {self.name} {self.help}", f"# TYPE {self.name} {self.kind}"]
        for labels, value in self.samples:
            inside = ",".join(f'{key}="{label(text)}"' for key, text in labels.items())
            number = repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
            lines.append(f"{self.name}{{{inside}}} {number}")
        return "\n".join(lines) + "\n"


def _catalogs(report: Report, database: str) -> list[Family]:
    sizes = Family(
        "gpcatalog_catalog_bytes",
        "Bytes of a catalog with its TOAST table and indexes on one instance.",
    )
    reclaimable = Family(
        "gpcatalog_catalog_reclaimable_bytes",
        "Bytes of a catalog that VACUUM FULL and REINDEX would free (estimate).",
    )
    rows = Family(
        "gpcatalog_catalog_rows",
        "Live rows of a catalog on one instance; of small catalogs, an estimate of the server.",
    )
    shown = {s.relation for s in report.catalog_summary[:CATALOGS]}
    other: dict[int, list[int]] = {}
    for row in report.catalogs:
        total = row.heap_bytes + row.toast_bytes + row.index_bytes
        where = {"database": database, "content": str(row.content)}
        if row.relation in shown:
            sizes.add(total, **where, catalog=row.relation)
            reclaimable.add(row.reclaimable_bytes, **where, catalog=row.relation)
            rows.add(row.rows, **where, catalog=row.relation)
        else:
            sums = other.setdefault(row.content, [0, 0])
            sums[0] += total
            sums[1] += row.reclaimable_bytes or 0
    for content, (total, free) in sorted(other.items()):
        sizes.add(total, database=database, content=str(content), catalog="other")
        reclaimable.add(free, database=database, content=str(content), catalog="other")
    return [sizes, reclaimable, rows]


def _census(report: Report, database: str) -> list[Family]:
    leaves = Family("gpcatalog_leaves", "Leaf partitions by storage.")
    empty = Family("gpcatalog_empty_leaves", "Leaf partitions without rows by storage.")
    tables = Family("gpcatalog_plain_tables", "Tables without partitions by storage.")
    census = report.census
    for c in census.counts if census else ():
        if c.kind == "leaf":
            leaves.add(c.relations, database=database, storage=c.storage)
            empty.add(c.empty, database=database, storage=c.storage)
        elif c.kind == "table":
            tables.add(c.relations, database=database, storage=c.storage)
    partitioned = Family("gpcatalog_partitioned_tables", "Number of partitioned tables.")
    partitioned.add(census.partitioned_tables if census else None, database=database)
    widest = Family(
        "gpcatalog_widest_table_leaves", ("Leaf partitions of the table with the most leaves.")
    )
    widest.add(census.leaves_per_table_max if census else None, database=database)
    defaults = Family(
        "gpcatalog_default_partitions_filled", "Default partitions that contain rows."
    )
    defaults.add(census.default_partitions_filled_total if census else None, database=database)
    temporary = Family(
        "gpcatalog_temporary_relations", "Temporary relations on the coordinator or server."
    )
    temporary.add(report.temporary_relations, database=database)
    bytes_ = Family(
        "gpcatalog_database_bytes", "Bytes of the database on all segments or the server."
    )
    bytes_.add(report.server.database_bytes, database=database)
    return [leaves, empty, tables, partitioned, widest, defaults, temporary, bytes_]


def _auxiliary(report: Report, database: str) -> list[Family]:
    """Bytes of the large auxiliary relations by kind, on all segments."""
    total = Family(
        "gpcatalog_auxiliary_bytes",
        f"Bytes of auxiliary relations of {size(LARGE)} or more on a segment, by kind.",
    )
    free = Family(
        "gpcatalog_auxiliary_reclaimable_bytes",
        "Bytes that VACUUM FULL of these auxiliary relations would free (derived).",
    )
    for k in report.auxiliary.kinds if report.auxiliary is not None else ():
        total.add(k.bytes, database=database, kind=k.kind)
        free.add(k.reclaimable, database=database, kind=k.kind)
    return [total, free]


def _files(report: Report, database: str) -> list[Family]:
    """Files of the data directories, or of the segment file lists; nothing if neither was read."""
    seen = report.files
    if seen is None:
        return []
    by_part = Family("gpcatalog_files", "Files of this database on all segments by part.")
    for p in seen.parts:
        by_part.add(p.files, database=database, part=p.part)
    instances = Family("gpcatalog_instance_files", "Files of this database on one instance.")
    for i in seen.instances:
        instances.add(i.files, database=database, content=str(i.content))
    buckets = Family(
        "gpcatalog_files_by_size",
        "Files by their size and storage; max_bytes is the largest size of a bucket.",
    )
    for b in seen.buckets:
        buckets.add(b.files, database=database, max_bytes=_LARGEST[b.label], storage=b.storage)
    total = Family("gpcatalog_files_bytes", "Bytes of the files by size and storage.")
    total.add(seen.bytes, database=database)
    filled = Family(
        "gpcatalog_files_when_filled", "Files when every empty leaf has rows (derived)."
    )
    filled.add(seen.when_filled, database=database)
    removable = Family(
        "gpcatalog_files_removable",
        (
            "Files that a conversion of column-oriented leaves to row orientation would remove"
            " (derived; an estimate if the files of a leaf are unknown)."
        ),
    )
    removable.add(seen.removable, database=database)
    hosts = Family(
        "gpcatalog_host_files",
        (
            "Files of this database on one host; a mirror is assumed to have as many files as"
            " its primary."
        ),
    )
    for h in seen.hosts:
        hosts.add(h.files + h.mirror_files, database=database, host=h.host)
    sample = Family(
        "gpcatalog_files_sample",
        (
            "1 if the sizes of all files were read; n if those of 1 in n file numbers: files by"
            " part, by size and their bytes are estimates."
        ),
    )
    if seen.basis in LISTED:
        sample.add(seen.sample.one_in if seen.sample else 1, database=database)
    listed = Family(
        "gpcatalog_files_listed",
        (
            "1 if the data directories were listed; 0 if files were counted from the catalogs: all"
            " numbers of files and their bytes are lower bounds then."
        ),
    )
    listed.add(int(seen.basis in LISTED), database=database)
    return [by_part, instances, buckets, total, filled, removable, hosts, sample, listed]


def _audit_families(report: Report, database: str) -> list[Family]:
    limits = Family(
        "gpcatalog_limit_ratio",
        "Current value divided by the limit; 1 is the limit.",
    )
    for v in report.verdicts:
        limits.add(v.share, database=database, limit=v.id)
    findings = Family("gpcatalog_findings", "Findings of an audit by severity.")
    for severity in Severity:
        findings.add(
            sum(1 for f in report.findings if f.severity is severity),
            database=database,
            severity=severity.word,
        )
    by_rule = Family(
        "gpcatalog_rule_findings", "Findings of an audit by rule, where there are any."
    )
    for (rule, severity), n in sorted(
        Counter((f.rule, f.severity) for f in report.findings).items()
    ):
        by_rule.add(n, database=database, rule=rule, severity=severity.word)
    probes = Family("gpcatalog_probes", "Probes of the snapshot by status.")
    for status in sorted({"read", *(c.status for c in report.coverage)}):
        probes.add(
            sum(1 for c in report.coverage if c.status == status), database=database, status=status
        )
    horizon = Family(
        "gpcatalog_horizon_transactions",
        (
            "Age in transactions of the oldest session, prepared transaction or slot that"
            " prevents VACUUM from removing dead rows."
        ),
    )
    states = {c.probe: c.status for c in report.coverage}
    if states.get("horizon") == states.get("hidden_sessions", "read") == "read":
        horizon.add(
            max((h.xid_age for h in report.holders if h.xid_age is not None), default=0),
            database=database,
        )
    return [limits, findings, by_rule, probes, horizon, *_instances_state(report, database)]


def _upkeep(report: Report, database: str) -> list[Family]:
    """Partitions created in advance, and runs of upkeep."""
    cover, state = report.partition_cover, report.upkeep
    low = Family(
        "gpcatalog_tables_low_cover",
        "Tables with too few partitions ahead; beyond: whether rows without one fail or go to the"
        " default partition.",
    )
    found = [low]
    figures: list[tuple[str, str, float | None]] = []
    if cover is not None:
        low.add(cover.failing, database=database, beyond="error")
        low.add(cover.low - cover.failing, database=database, beyond="default partition")
        figures += [
            ("tables_unknown_cover", "Tables whose bounds are not understood.", cover.unknown),
            ("tables_with_gaps", "Tables with gaps between partitions.", cover.gapped),
            (
                "least_cover_seconds",
                "Time until the first table runs out of partitions, below 0 where one has.",
                cover.least_days * 86400 if cover.least_days is not None else None,
            ),
        ]
    if state is not None:
        figures += [
            (
                "upkeep_waiting_partitions",
                "Partitions that were due in the last upkeep run and exceeded its limits.",
                state.waiting,
            ),
            (
                "upkeep_failed_steps",
                "Failed steps of the last upkeep run.",
                len(state.failures),
            ),
            ("upkeep_tables", "Tables that upkeep maintains.", state.tables),
            (
                "upkeep_last_end_timestamp_seconds",
                "End of the last upkeep run that ended.",
                state.ended.timestamp() if state.ended is not None else None,
            ),
        ]
    for name, help, value in figures:
        family = Family(f"gpcatalog_{name}", help)
        family.add(value, database=database)
        found.append(family)
    return found


def _instances_state(report: Report, database: str) -> list[Family]:
    """Series of each instance: bytes that a session start reads, and ages of transactions."""
    starts = Family(
        "gpcatalog_session_start_bytes",
        "Bytes of pg_attribute that a session start reads without pg_internal.init.",
    )
    for s in report.session_starts or ():
        starts.add(s.bytes, database=database, content=str(s.content))
    transactions = Family(
        "gpcatalog_oldest_transaction_age",
        "Transactions since the oldest one that any database of an instance may contain.",
    )
    multixacts = Family(
        "gpcatalog_oldest_multixact_age",
        "Multixacts since the oldest one that any database of an instance may contain.",
    )
    of: dict[int, list[Age]] = {}
    for a in report.ages or ():
        if a.kind == "database":
            of.setdefault(a.content, []).append(a)
    for content, ages in sorted(of.items()):
        where = {"database": database, "content": str(content)}
        transactions.add(max(a.xid_age for a in ages), **where)
        known = [a.multixact_age for a in ages if a.multixact_age is not None]
        multixacts.add(max(known, default=None), **where)
    return [starts, transactions, multixacts]


def _top(report: Report, database: str, top: int) -> list[Family]:
    leaves = Family(
        "gpcatalog_table_leaves",
        (f"Leaf partitions of the {top} tables with the most catalog rows."),
    )
    rows = Family(
        "gpcatalog_table_catalog_rows",
        f"Rows in pg_class and pg_attribute of the {top} tables with the most catalog rows.",
    )
    for t in report.tables[:top]:
        leaves.add(t.leaves, database=database, schema=t.schema, table=t.name)
        rows.add(t.class_rows + t.attribute_rows, database=database, schema=t.schema, table=t.name)
    kept = Family(
        "gpcatalog_table_session_bytes",
        "Estimated bytes that a session keeps after a query over a whole table, on the instance"
        f" where it keeps the most; the {top} tables with the most.",
    )
    for m in report.session_memory.most[:top] if report.session_memory else ():
        kept.add(m.most, database=database, schema=m.schema, table=m.name)
    times = Family(
        "gpcatalog_table_statement_seconds",
        f"Estimated duration of statements on a whole table without rows; the {top} tables with the"
        " longest.",
    )
    for s in report.statement_times.tables[:top] if report.statement_times else ():
        for statement in ("add column", "create index", "truncate", "drop"):
            times.add(
                s.seconds[statement],
                database=database,
                schema=s.schema,
                table=s.name,
                statement=statement,
            )
    return [leaves, rows, kept, times]


def _timings(timings: Sequence[Timing], database: str) -> list[Family]:
    seconds = Family(
        "gpcatalog_latency_seconds",
        "Minimum, median and 95th percentile of the measured durations.",
    )
    clients = Family(
        "gpcatalog_client_seconds",
        "Median duration of the catalog queries of a client (latency --clients).",
    )
    waits = Family("gpcatalog_lock_manager_waits", "Sessions that wait for the shared lock table.")
    ddl = Family("gpcatalog_ddl_sessions", "Sessions that run DDL or wait for a lock with DDL.")
    written = Family(
        "gpcatalog_catalog_rows_written_total",
        "Rows written to a catalog of one instance according to its statistics.",
        kind="counter",
    )
    medians: dict[str, float] = {}  # one series for each, for any contents of the snapshot file
    for t in timings:
        if t.what.startswith("rows "):
            kind = t.what.removeprefix("rows ")
            written.add(
                t.n, database=database, content=str(t.content), catalog=t.subject, kind=kind
            )
        elif t.what == LOCK_MANAGER_WAITS:
            waits.add(t.n, database=database, content=str(t.content))
        elif t.what in ("running ddl", "waiting ddl"):
            ddl.add(t.n, database=database, state=t.what.removesuffix(" ddl"))
        elif t.what == CLIENT:
            if t.subject in BY_TITLE and t.median_ms is not None:
                medians[t.subject] = t.median_ms
        elif not t.subject:  # there are no series for tables here
            for statistic, value in (("min", t.min_ms), ("median", t.median_ms), ("p95", t.p95_ms)):
                if value is not None:
                    seconds.add(value / 1000, database=database, what=t.what, statistic=statistic)
    for title, median in medians.items():
        clients.add(median / 1000, database=database, client=title)
    return [seconds, clients, waits, ddl, written]


def families(report: Report, timings: Sequence[Timing], *, top: int = 10) -> list[Family]:
    """The metric families of one database.

    top: number of tables with two series each. The number of series grows with instances (3 per
         catalog, for 12 catalogs), never with tables or leaves.
    """
    server, database = report.server, report.server.database
    who = Family("gpcatalog_server", "Server and database as labels; always 1.")
    who.add(
        1, database=database, product=server.product, version=server.version, generation=server.generation, host=server.host,
        port=str(server.port),
    )  # fmt: skip
    snapshot_time = Family("gpcatalog_snapshot_timestamp_seconds", "Time of the snapshot.")
    snapshot_time.add(report.taken.taken_at.timestamp(), database=database)
    duration = Family("gpcatalog_snapshot_duration_seconds", "Duration of the snapshot.")
    duration.add(report.taken.seconds, database=database)
    return [
        who,
        snapshot_time,
        duration,
        *_catalogs(report, database),
        *_census(report, database),
        *_files(report, database),
        *_auxiliary(report, database),
        *_audit_families(report, database),
        *_upkeep(report, database),
        *_top(report, database, top),
        *_timings(timings, database),
    ]


def of_report(
    report: Report,
    timings: Sequence[Timing],
    labels: Mapping[str, str] | None = None,
    *,
    top: int = 10,
) -> list[Family]:
    """The families of one database with additional labels. Every sample has the label server, so
    that files of several servers can be in one folder.
    """
    more = {**(labels or {}), "server": f"{report.server.host}:{report.server.port}"}
    return [
        replace(f, samples=[({**more, **own}, value) for own, value in f.samples])
        for f in families(report, timings, top=top)
    ]


def clusters(runs: Sequence[tuple[dict[str, str], int, int, float | None]]) -> list[Family]:
    """Families about a run over a fleet. For each cluster: its labels, the number of databases that
    were read and that were not read (-1: the cluster could not be read), and seconds (None: not
    started).
    """
    up = Family("gpcatalog_cluster_up", "1 if the last run could read the cluster, otherwise 0.")
    read = Family("gpcatalog_cluster_databases_read", "Databases that the last run read.")
    unread = Family(
        "gpcatalog_cluster_databases_unread", "Databases that the last run could not read."
    )
    took = Family("gpcatalog_cluster_run_duration_seconds", "Duration of the last run.")
    for labels, good, bad, seconds in runs:
        up.add(0 if bad < 0 else 1, **labels)
        read.add(good, **labels)
        unread.add(bad if bad >= 0 else None, **labels)
        took.add(seconds, **labels)
    return [up, read, unread, took]


def text_format(databases: Sequence[Sequence[Family]]) -> str:
    """Text in the format of Prometheus, version 0.0.4, for a textfile collector. A family of
    several databases is written once.
    """
    merged: dict[str, Family] = {}
    for found in databases:
        for family in found:
            known = merged.setdefault(family.name, replace(family, samples=[]))
            known.samples.extend(family.samples)
    return "".join(f.text() for f in merged.values())


def exposition(report: Report, timings: Sequence[Timing], *, top: int = 10) -> str:
    """The text of one database; see `families`."""
    return text_format([of_report(report, timings, top=top)])
