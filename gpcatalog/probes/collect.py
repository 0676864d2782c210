"""One read-only pass over a database: every probe's answer goes into a snapshot, and what was not read into its coverage."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

import gpcatalog
from gpcatalog.capacity import bloat
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.timing import Timing
from gpcatalog.probes import latency, library
from gpcatalog.probes.connection import ProbeFailed, Session
from gpcatalog.store.schema import SCHEMA_VERSION
from gpcatalog.store.snapshot import Writer

Progress = Callable[[str], None]

# Catalogs that are always counted: they grow with tables, leaves and columns. Any other is counted once it is large.
COUNTED = frozenset(
    """
    pg_class pg_attribute pg_type pg_depend pg_index pg_attribute_encoding pg_appendonly pg_statistic pg_inherits pg_constraint
    pg_attrdef pg_partition pg_partition_rule pg_partition_encoding pg_partitioned_table gp_distribution_policy gp_fastsequence
    gp_partition_template pg_stat_last_operation pg_stat_last_shoperation pg_shdepend pg_description pg_rewrite pg_trigger pg_proc
    """.split()
)
LARGE = 1 << 20  # bytes on one instance from which on any catalog is counted
SAMPLE_ROWS = 20_000  # rows aimed at when the width of a tuple is sampled
NONEMPTY_BATCH = 20_000  # tables opened by one statement where directories may not be listed

# COPY columns of the probe relations, as DuckDB reads them
_RELATION_CSV = {
    "oid": "UINTEGER",
    "schema": "VARCHAR",
    "name": "VARCHAR",
    "root": "UINTEGER",
    "parent": "UINTEGER",
    "level": "UTINYINT",
    "kind": "VARCHAR",
    "storage": "VARCHAR",
    "columns": "USMALLINT",
    "toast": "BOOLEAN",
    "indexes": "USMALLINT",
    "index_columns": "USMALLINT",
    "block_directory": "BOOLEAN",
    "persistence": "VARCHAR",
    "owner": "UINTEGER",
    "tablespace": "UINTEGER",
    "pages": "BIGINT",
    "tuples": "DOUBLE",
    "options": "VARCHAR",
    "bound": "VARCHAR",
    "partition_name": "VARCHAR",
    "is_default": "BOOLEAN",
}


@dataclass
class _Catalog:
    """What was measured of one catalog: sizes by instance, widths of its tuples and index entries."""

    name: str
    shared: bool
    indexes: dict[int, tuple[str, bloat.IndexKey, bool]] = field(default_factory=dict)  # oid → name, key, unique
    toast_oids: set[int] = field(default_factory=set)
    oid: int = 0
    rows: dict[int, int] = field(default_factory=dict)
    basis: dict[int, str] = field(default_factory=dict)
    tuple_bytes: float | None = None
    entry_bytes: dict[int, float] = field(default_factory=dict)
    sample: int = 0


@dataclass(frozen=True)
class _Generation:
    """What the auxiliary relations of a table add, in rows of pg_attribute (their own columns and system columns).

    ao_roots: roots and intermediates of append-optimized tables have auxiliary relations as their leaves do
    """

    system: int  # system columns of a heap relation
    ao_system: int  # and of an append-optimized one
    toast: int = 3  # chunk_id, chunk_seq, chunk_data
    toast_index: int = 2
    aoseg: int = 8
    aocsseg: int = 7
    visimap: int = 3
    visimap_index: int = 2
    block_directory: int = 4
    block_directory_index: int = 3
    ao_roots: bool = False


_GENERATIONS = {
    "gp6": _Generation(system=7, ao_system=7, ao_roots=True),
    "gp7": _Generation(system=7, ao_system=3),
    "cb2": _Generation(system=7, ao_system=3),
}
_POSTGRES = _Generation(system=6, ao_system=6)


def attribution(generation: str) -> tuple[str, str]:
    """SQL over `relation r`: the rows that one table, its indexes, TOAST and auxiliary relations have in pg_class and pg_attribute."""
    g = _GENERATIONS.get(generation, _POSTGRES)
    has_aux = "r.storage IN ('ao_row', 'ao_column')" + ("" if g.ao_roots else " AND r.kind IN ('leaf', 'table')")
    rows = (
        "1 + r.indexes + CASE WHEN r.toast THEN 2 ELSE 0 END"
        f" + CASE WHEN {has_aux} THEN 3 ELSE 0 END + CASE WHEN r.block_directory THEN 2 ELSE 0 END"
    )
    attributes = (
        f"""r."columns" + r.index_columns + CASE WHEN r.storage IN ('ao_row', 'ao_column') THEN {g.ao_system} ELSE {g.system} END"""
        f" + CASE WHEN r.toast THEN {g.toast + g.system + g.toast_index} ELSE 0 END"
        f" + CASE WHEN {has_aux} THEN {g.visimap + g.system + g.visimap_index + g.system}"
        f" + CASE r.storage WHEN 'ao_row' THEN {g.aoseg} ELSE {g.aocsseg} END ELSE 0 END"
        f" + CASE WHEN r.block_directory THEN {g.block_directory + g.system + g.block_directory_index} ELSE 0 END"
    )
    return rows, attributes


class Collector:
    """Runs the probes of one session into one writer, section by section."""

    def __init__(self, session: Session, writer: Writer, progress: Progress) -> None:
        self.session = session
        self.writer = writer
        self.progress = progress
        self.contents: list[int] = [-1]
        self.coverage: list[dict[str, Any]] = []
        self.filled_basis: str | None = None
        self.database_bytes: int | None = None

    @contextlib.contextmanager
    def _covered(self, probe: str, label: str = "") -> Iterator[None]:
        """Note how a probe went; a failed one ends its own section, not the audit."""
        found = library.probe(probe, self.session.server)
        note: dict[str, Any] = {"probe": label or probe, "status": "read", "reason": "", "needs": "", "origin": found.origin}
        begun = time.perf_counter()
        try:
            yield
        except ProbeFailed as e:
            note |= {"status": e.status, "reason": e.reason, "needs": found.header("needs") if e.status == "denied" else ""}
        finally:
            note["seconds"] = round(time.perf_counter() - begun, 6)
            self.coverage.append(note)

    def _skipped(self, probe: str, status: str, reason: str) -> None:
        found = library.probe(probe, self.session.server)
        needs = found.header("needs") if status == "denied" else ""
        self.coverage.append(
            {"probe": probe, "status": status, "reason": reason, "needs": needs, "seconds": None, "origin": found.origin},
        )

    def run(self) -> None:
        """All sections, in the order of what matters most should the session die half-way."""
        begun, clock = datetime.now(UTC), time.perf_counter()
        self._instances()
        with self._covered("settings"):
            self.writer.insert("setting", self.session.rows("settings"))
        self.progress("catalogs")
        self._catalogs()
        self.progress("tables and partitions")
        self._relations()
        self.progress("files")
        self._filled()
        self._root_totals()
        self.progress("transactions and leftovers")
        self._holders()
        self.progress("latency")
        self._timings()
        self._header(begun, time.perf_counter() - clock)

    def _header(self, begun: datetime, seconds: float) -> None:
        facts, server, target = self.session.facts, self.session.server, self.session.target
        self.writer.insert("coverage", self.coverage)
        self.writer.insert(
            "snapshot",
            [
                {
                    "schema_version": SCHEMA_VERSION,
                    "snapshot_id": secrets.token_hex(8),
                    "gpcatalog_version": gpcatalog.__version__,
                    "taken_at": begun.replace(tzinfo=None),
                    "seconds": seconds,
                    "banner": facts["banner"],
                    "product": server.product,
                    "version": server.version,
                    "generation": server.generation,
                    "version_num": server.version_num,
                    "host": target["host"],
                    "port": int(target["port"]),
                    "database": facts["database"],
                    "database_oid": facts["database_oid"],
                    "encoding": facts["encoding"],
                    "block_size": facts["block_size"],
                    "standby": facts["standby"],
                    "started_at": facts["started"].astimezone(UTC).replace(tzinfo=None),
                    "role": facts["role"],
                    "superuser": facts["superuser"],
                    "database_bytes": self.database_bytes,
                    "filled_basis": self.filled_basis,
                    "grain": "leaf",
                }
            ],
        )

    def _instances(self) -> None:
        if not self.session.server.greenplum:
            target = self.session.target
            self.writer.insert(
                "instance",
                [{"dbid": 1, "content": -1, "role": "p", "preferred_role": "p", "mode": "n", "status": "u"}
                 | {"port": int(target["port"]), "hostname": target["host"]}],
            )  # fmt: skip
            return
        with self._covered("instances"):
            rows = self.session.rows("instances")
            self.writer.insert("instance", rows)
            self.contents = sorted({row["content"] for row in rows if row["role"] == "p"})

    # -- the catalog section ---------------------------------------------------------------------------------------------

    def _catalogs(self) -> None:
        catalogs: dict[str, _Catalog] = {}
        sizes: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)  # content → oid → row
        with self._covered("catalog_relations"):
            for row in self.session.rows("catalog_relations"):
                one = catalogs.setdefault(row["catalog"], _Catalog(row["catalog"], row["shared"]))
                if row["toast"]:
                    one.toast_oids.add(row["oid"])
                elif row["relkind"] == "i":
                    one.indexes[row["oid"]] = (row["relation"], bloat.IndexKey.parse(row["key"]), row["is_unique"])
                else:
                    one.oid = row["oid"]
        with self._covered("catalog_sizes"):
            for row in self.session.rows("catalog_sizes"):
                sizes[row["content"]][row["oid"]] = row
        if self.session.server.greenplum:
            with self._covered("catalog_sizes_all"):
                for row in self.session.rows("catalog_sizes_all"):
                    elsewhere = sum(
                        sizes[content][row["oid"]]["bytes"] for content in sizes if content >= 0 and row["oid"] in sizes[content]
                    )
                    sizes[-1][row["oid"]] = row | {"bytes": max(0, row["bytes"] - elsewhere)}
        self._class_counts(catalogs)
        shares_keys = "catalog_duplicates" in library.names(self.session.server)
        for one in catalogs.values():
            largest = max((by_oid[o]["bytes"] for by_oid in sizes.values() for o in (one.oid, *one.indexes) if o in by_oid), default=0)
            if one.oid and (one.name in COUNTED or largest >= LARGE):
                self._count(one, largest)
                if shares_keys and one.entry_bytes:
                    self._duplicates(one, largest)
        self._write_catalogs(catalogs, sizes)

    def _class_counts(self, catalogs: dict[str, _Catalog]) -> None:
        """Relations by kind, and with them the rows of pg_class and, derived, of pg_attribute on every instance."""
        with self._covered("class_counts"):
            rows = self.session.rows("class_counts")
            self.writer.insert("class_count", rows)
            for name, column, basis in (("pg_class", "relations", "counted"), ("pg_attribute", "attributes", "derived")):
                one = catalogs.get(name)
                for row in rows if one else ():
                    assert one is not None
                    one.rows[row["content"]] = one.rows.get(row["content"], 0) + int(row[column])
                    one.basis[row["content"]] = basis

    def _count(self, one: _Catalog, largest: int) -> None:
        """Rows of one catalog on every instance, and the width of its tuples and index entries from a sample."""
        if -1 in one.rows:  # pg_class and pg_attribute are known from class_counts
            with self._covered("catalog_sample", f"catalog_sample {one.name}"):
                self._sample(one, largest)
            return
        with self._covered("catalog_widths", f"catalog_widths {one.name}"):
            self._widths(one, largest)
        if -1 in one.rows and self.session.server.greenplum:
            with self._covered("catalog_rows", f"catalog_rows {one.name}"):
                for row in self.session.rows("catalog_rows", catalog=one.name):
                    one.rows[row["content"]] = row["rows"]
                    one.basis[row["content"]] = "counted"
                for content in self.contents:
                    if content >= 0 and content not in one.rows:  # GROUP BY gives no row for an instance without any
                        one.rows[content], one.basis[content] = 0, "counted"

    def _entries(self, one: _Catalog, condition: str) -> tuple[str, list[int]]:
        oids = list(one.indexes)
        parts = []
        for n, oid in enumerate(oids):
            expression = one.indexes[oid][1].entry_sql()
            value = f"CASE WHEN {condition} THEN {expression} END" if condition else expression
            parts.append(f"pg_catalog.avg({value})::float8 AS e{n}")
        return ", ".join(parts) or "NULL::float8 AS none", oids

    @staticmethod
    def _sampled(column: str | None, largest: int) -> str:
        """Condition that leaves about SAMPLE_ROWS rows of at least 64 bytes; hashed, since oids are handed out in patterns."""
        modulus = 1 << max(0, (largest // 64 // SAMPLE_ROWS).bit_length())
        return f"(pg_catalog.hashoid(t.{column}) & {modulus - 1}) = 0" if column and modulus > 1 else "true"

    def _duplicates(self, one: _Catalog, largest: int) -> None:
        """Indexes that are not unique take less where equal keys share a posting list."""
        for oid, (name, key, unique) in one.indexes.items():
            if unique or not one.rows.get(-1):
                continue
            with self._covered("catalog_duplicates", f"catalog_duplicates {name}"):
                row = self.session.rows(
                    "catalog_duplicates",
                    catalog=one.name,
                    entry=key.entry_sql(),
                    keys=", ".join(f"t.{column}" for column, _ in key.columns),
                    posting=str(self.session.facts["block_size"] // 10 // 6 - 4),
                    sampled=self._sampled(key.sample_column(), largest),
                )[0]
                if row["entry_bytes"] is not None:
                    one.entry_bytes[oid] = row["entry_bytes"]

    def _widths(self, one: _Catalog, largest: int) -> None:
        key = next((column for _, k, _ in one.indexes.values() if (column := k.sample_column())), None)
        condition = self._sampled(key, largest)
        entries, oids = self._entries(one, condition)
        row = self.session.rows(
            "catalog_widths", catalog=one.name, sampled=condition, entries=entries, toast_target=str(self.session.facts["block_size"] // 4)
        )[0]
        one.rows[-1], one.basis[-1] = row["rows"], "counted"
        self._keep_widths(one, row, oids)

    def _sample(self, one: _Catalog, largest: int) -> None:
        key = "attrelid" if one.name == "pg_attribute" else "oid"
        entries, oids = self._entries(one, "")
        modulus = 1 << max(0, (one.rows[-1] // 32 // 1000).bit_length())
        row = self.session.rows(
            "catalog_sample", catalog=one.name, key=key, entries=entries, toast_target=str(self.session.facts["block_size"] // 4),
            picked=f"(pg_catalog.hashoid(c.oid) & {modulus - 1}) = 0",
        )[0]  # fmt: skip
        self._keep_widths(one, row, oids)

    @staticmethod
    def _keep_widths(one: _Catalog, row: dict[str, Any], oids: list[int]) -> None:
        one.sample, one.tuple_bytes = row["sample"] or 0, row["tuple_bytes"]
        one.entry_bytes = {oid: row[f"e{n}"] for n, oid in enumerate(oids) if row[f"e{n}"] is not None}

    def _write_catalogs(self, catalogs: dict[str, _Catalog], sizes: dict[int, dict[int, dict[str, Any]]]) -> None:
        block = self.session.facts["block_size"]
        rows, widths = [], []
        for one in sorted(catalogs.values(), key=lambda c: c.name):
            if not one.oid:
                continue
            if one.tuple_bytes is not None:
                widths.append({"relation": one.name, "catalog": one.name, "bytes": one.tuple_bytes, "sample": one.sample})
                for oid, bytes_ in one.entry_bytes.items():
                    widths.append({"relation": one.indexes[oid][0], "catalog": one.name, "bytes": bytes_, "sample": one.sample})
            for content, by_oid in sorted(sizes.items()):
                if one.oid not in by_oid:
                    continue
                heap = by_oid[one.oid]
                index = sum(by_oid[o]["bytes"] for o in one.indexes if o in by_oid)
                toast = sum(by_oid[o]["bytes"] for o in one.toast_oids if o in by_oid)
                live = one.rows.get(content)
                counted = live is not None
                if not counted and heap["reltuples"] > 0:
                    live = int(heap["reltuples"])
                needed = counted and one.tuple_bytes is not None
                heap_needed = index_needed = None
                if live is not None and (needed or live == 0) and counted:
                    heap_needed = min(heap["bytes"], bloat.heap_bytes(live, one.tuple_bytes or block, block))
                    index_needed = sum(
                        min(by_oid[o]["bytes"], bloat.btree_bytes(live, one.entry_bytes.get(o, 16), block))
                        for o in one.indexes
                        if o in by_oid
                    )
                vacuumed = heap["last_vacuum"]
                rows.append(
                    {
                        "content": content,
                        "relation": one.name,
                        "shared": one.shared,
                        "rows": live,
                        "rows_basis": one.basis.get(content) or ("estimate" if live is not None else None),
                        "heap_bytes": heap["bytes"],
                        "toast_bytes": toast,
                        "index_bytes": index,
                        "heap_needed": heap_needed,
                        "toast_needed": None,
                        "index_needed": index_needed,
                        "dead_tuples": heap["dead_tuples"],
                        "last_vacuum": vacuumed.astimezone(UTC).replace(tzinfo=None) if vacuumed else None,
                    }
                )
        self.writer.insert("catalog", rows)
        self.writer.insert("catalog_width", widths)

    # -- the census ------------------------------------------------------------------------------------------------------

    def _relations(self) -> None:
        file = self.writer.scratch("relations.csv")
        with self._covered("relations"):
            self._stream("relations", file)
            names = ", ".join(f'"{c}"' for c in _RELATION_CSV)
            # "" stands for no name and no bound
            self.writer.load_csv(
                f"INSERT INTO relation ({names}) SELECT * FROM {{csv}} ORDER BY root, level, oid",
                file,
                _RELATION_CSV,
            )
        with self._covered("partition_keys"):
            self.writer.insert("partition_key", self.session.rows("partition_keys"))
        self._partition_facts()

    def _partition_facts(self) -> None:
        """What hangs on partitions, for the planner; pg_partman's configuration where it is installed."""
        with self._covered("partition_facts"):
            self.writer.insert("partition_fact", self.session.rows("partition_facts"))
        if self.session.server.classic_partitions:
            return
        with self._covered("partman_home"):
            for home in self.session.rows("partman_home"):
                with self._covered("partman"):
                    found = self.session.rows("partman", schema=home["schema"])
                    versions = [
                        {"root": r["root"], "oid": r["oid"], "fact": "pg_partman version", "detail": home["version"]} for r in found
                    ]
                    self.writer.insert("partition_fact", [*found, *versions])

    def _stream(self, probe: str, file: Path, **values: str) -> None:
        """The probe's rows as a CSV file; appended, so that several statements may fill one file."""
        statement = library.probe(probe, self.session.server).statement(**values)
        with file.open("ab") as out:
            for block in self.session.stream_csv(statement):
                out.write(block)

    def _filled(self) -> None:
        """Which tables hold rows: from the directories where the role may list them, else from what the catalogs tell."""
        if self._from_directories():
            return
        found: set[int] = set()
        busy = self._busy()
        with self._covered("nonempty_relations"):
            total = self.writer.execute("SELECT count(*) FROM relation")[0][0]
            parts = max(1, -(-int(total) // NONEMPTY_BATCH)) if self.session.server.greenplum else 1
            for part in range(parts):
                answer = self.session.rows("nonempty_relations", part=str(part), parts=str(parts), busy=busy)
                found.update(row["oid"] for row in answer)
            self.filled_basis = "segment file lists" if self.session.server.greenplum else "statistics (estimate)"
            self.writer.execute("CREATE TEMP TABLE filled_now (oid UINTEGER)")
            file = self.writer.scratch("filled.csv")
            file.write_text("".join(f"{oid}\n" for oid in sorted(found)))
            self.writer.load_csv("INSERT INTO filled_now SELECT * FROM {csv}", file, {"oid": "UINTEGER"})
            unknown = "('external', 'foreign', 'none', 'other')"
            self.writer.execute(
                "UPDATE relation SET filled = oid IN (SELECT oid FROM filled_now)"
                f" WHERE storage NOT IN {unknown} AND kind NOT IN ('root', 'intermediate')"
            )
            if busy != "0":
                self.writer.execute(f"UPDATE relation SET filled = NULL WHERE storage = 'heap' AND oid IN ({busy})")
        with self._covered("database_size"):
            self.database_bytes = self.session.rows("database_size")[0]["bytes"]

    def _busy(self) -> str:
        """Oids, comma-separated, of relations that another session holds exclusively: opening one would wait."""
        oids: list[int] = []
        with self._covered("busy_relations"):
            oids = [row["oid"] for row in self.session.rows("busy_relations")]
        return ", ".join(str(oid) for oid in sorted(oids)) or "0"

    def _from_directories(self) -> bool:
        file = self.writer.scratch("files.csv")
        with self._covered("relation_files"):
            for place in self.session.rows("tablespaces"):
                self._stream("relation_files", file, folder=place["folder"], tablespace=str(place["tablespace"]))
            self.writer.execute("CREATE TEMP TABLE files_now (oid UINTEGER, files BIGINT, bytes BIGINT, max_segment_bytes BIGINT)")
            self.writer.load_csv(
                "INSERT INTO files_now SELECT * FROM {csv}",
                file,
                {"oid": "UINTEGER", "files": "BIGINT", "bytes": "BIGINT", "max_segment_bytes": "BIGINT"},
            )
            stored = "storage IN ('heap', 'ao_row', 'ao_column', 'other') AND kind NOT IN ('root', 'intermediate')"
            self.writer.execute(f"UPDATE relation SET files = 0, bytes = 0, max_segment_bytes = 0, filled = false WHERE {stored}")
            self.writer.execute(
                "UPDATE relation SET files = f.files, bytes = f.bytes, max_segment_bytes = f.max_segment_bytes, filled = f.bytes > 0"
                f" FROM files_now f WHERE f.oid = relation.oid AND {stored}"
            )
            self.filled_basis = "files"
            with self._covered("database_size"):
                self.database_bytes = self.session.rows("database_size")[0]["bytes"]
            return True
        return False

    def _root_totals(self) -> None:
        """One row a root or plain table: its leaves, the empty ones, and the rows it all has in pg_class and pg_attribute."""
        rows, attributes = attribution(self.session.server.generation)
        self.writer.execute(f"""
            INSERT INTO root_total
            SELECT r.root, any_value(coalesce(t."schema", r."schema")), any_value(coalesce(t.name, r.name)),
                   any_value(coalesce(t.kind, r.kind)),
                   coalesce(mode(r.storage) FILTER (r.kind IN ('leaf', 'table')), any_value(r.storage)),
                   count(*) FILTER (r.kind = 'leaf'),
                   CASE WHEN bool_or(r.filled IS NOT NULL) THEN count(*) FILTER (r.kind = 'leaf' AND NOT r.filled) END,
                   sum({rows}), sum({attributes}), sum(r.files), sum(r.bytes)
              FROM relation r LEFT JOIN relation t ON t.oid = r.root
             GROUP BY r.root ORDER BY 1
        """)

    # -- what keeps dead rows ----------------------------------------------------------------------------------------------

    def _holders(self) -> None:
        with self._covered("horizon"):
            self.writer.insert("horizon", [{"content": -1, **row} for row in self.session.rows("horizon")])
        if self.session.server.greenplum:
            with self._covered("segment_prepared"):
                rows = self.session.rows("segment_prepared")
                self.writer.insert("horizon", [{"holder": "prepared transaction", **row} for row in rows])
        with self._covered("temp_schemas"):
            self.writer.insert("temp_schema", self.session.rows("temp_schemas"))


    # -- how long things take ------------------------------------------------------------------------------------------------

    def _lock_slots(self) -> int | None:
        """Lock slots of the entry instance; None when the settings were not read."""
        found = dict(self.writer.execute("SELECT name, setting FROM setting WHERE name LIKE 'max%'"))
        try:
            return lock_slots(*(int(found[f"max_{what}"]) for what in ("locks_per_transaction", "connections", "prepared_transactions")))
        except (KeyError, ValueError):
            return None

    def _timings(self) -> None:
        """Connect, catalog scans, planning of the widest tables, DDL that others run, and counters of rows written."""
        session = self.session
        leaves = int(self.writer.execute("SELECT count(*) FROM relation WHERE kind IN ('leaf', 'table')")[0][0])
        found: list[Timing] = []
        with self._covered("scan_class"):
            found.append(latency.scanning(session, "scan_class", "scan", leaves))
        if session.server.greenplum:
            with self._covered("scan_class_dispatched"):
                found.append(latency.scanning(session, "scan_class_dispatched", "scan dispatched", leaves))
        with self._covered("describe"):
            found.append(latency.scanning(session, "describe", "describe", leaves, rounds=1))
        with self._covered("server", "connect"):
            found.append(latency.connecting(session))
        with self._covered("ddl_activity"):
            found += latency.activity_timings(latency.activity(session))
        with self._covered("statements"):
            found += latency.statements(session)
        with self._covered("catalog_writes"):
            found += latency.writes(session)
        rows = self.writer.execute(
            f"""SELECT t."schema", t.name, t.leaves, t.class_rows FROM root_total t WHERE t.kind = 'root' AND t.leaves > 0
                ORDER BY t.leaves DESC, 1, 2 LIMIT {latency.WIDEST}"""
        )
        roots, spared = latency.affordable([latency.Root(*row) for row in rows], self._lock_slots())
        for root in roots:
            with self._covered("plan", f"plan {root.schema}.{root.name}"):
                found += latency.planning(session, root)
        for root in spared:
            self._skipped("plan", "not applicable", f"planning {root.schema}.{root.name} takes more than a tenth of the lock slots")
        self.writer.insert("timing", [msgspec.structs.asdict(one) for one in found])


def collect(session: Session, target: Path, progress: Progress = lambda _: None, *, timings: Iterable[Timing] = ()) -> Path:
    """Take one snapshot of the session's database into the file `target`; `timings`: what was measured before and belongs into it.

    Raises CatalogError when the server is lost or the file cannot be written; `target` is then as it was.
    """
    with Writer(target) as writer:
        collector = Collector(session, writer, progress)
        collector.run()
        writer.insert("timing", [msgspec.structs.asdict(one) for one in timings])
        if all(note["status"] != "read" for note in collector.coverage if note["probe"] in {"relations", "class_counts"}):
            note = next(n for n in collector.coverage if n["probe"] == "class_counts")
            raise CatalogError(
                f"the catalogs cannot be read: {note['reason']}",
                hint="see the server's log; is a segment down?"
                if note["status"] == "segment down"
                else "try again when the server is less busy",
                exit_code=Exit.UNREACHABLE,
            )
        return writer.finish()
