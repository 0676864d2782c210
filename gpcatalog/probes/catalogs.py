"""The catalog section: rows, bytes and needed bytes of every system catalog on every instance."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from gpcatalog.capacity import bloat
from gpcatalog.probes import library
from gpcatalog.probes.connection import MONITOR, ProbeFailed, Session
from gpcatalog.store.snapshot import Writer

Covered = Callable[..., AbstractContextManager[dict[str, Any]]]

# Catalogs whose rows are always counted: they grow with tables, leaves and columns. Others are
# counted if they are large.
COUNTED = frozenset(
    """
    pg_class pg_attribute pg_type pg_depend pg_index pg_attribute_encoding pg_appendonly pg_statistic pg_inherits pg_constraint
    pg_attrdef pg_partition pg_partition_rule pg_partition_encoding pg_partitioned_table gp_distribution_policy gp_fastsequence
    gp_partition_template pg_stat_last_operation
    """.split()
)
# shared catalogs are small and their statistics are often stale: they are counted if the role may
# read them
SUPERUSER_ONLY = frozenset({"pg_authid", "pg_subscription"})
LARGE = 1 << 20  # bytes on one instance from which any catalog is counted
LARGE_SHARE = 0.02  # and its lowest share of the catalog bytes of that instance
BY_INDEX = (
    2 << 20
)  # heap bytes from which row widths come from the rows of sampled relations, found by index
HASHED = 4 << 20  # heap bytes below which a full scan is as fast as the index
SAMPLE_ROWS = 20_000  # target number of rows of a sample

# Catalogs with an index whose first column is the oid of a relation (for pg_type, of its row type)
_KEYED = {
    "pg_class": "oid",
    "pg_attribute": "attrelid",
    "pg_attribute_encoding": "attrelid",
    "pg_statistic": "starelid",
    "pg_index": "indexrelid",
    "pg_constraint": "conrelid",
    "pg_appendonly": "relid",
    "pg_inherits": "inhrelid",
    "pg_partition_rule": "parchildrelid",
    "gp_distribution_policy": "localoid",
    "gp_fastsequence": "objid",
    "pg_type": "oid",
}


@dataclass
class Index:
    """One index of a catalog."""

    oid: int
    name: str
    key: bloat.IndexKey
    unique: bool


@dataclass(kw_only=True)
class Catalog:
    """The measurements of one catalog: rows by instance, widths of its tuples and index entries.

    source, width, on_segments: SQL for its rows, for the bytes of a row t, and for its rows on all
        segments
    """

    name: str
    oid: int
    shared: bool
    fixed: bool = False  # every column has a fixed width: one row is enough to measure it
    indexes: list[Index] = field(default_factory=list)
    toast_oids: set[int] = field(default_factory=set)
    rows: dict[int, int] = field(default_factory=dict)
    basis: dict[int, str] = field(default_factory=dict)
    tuple_bytes: float | None = None
    page_share: float | None = None
    entry_bytes: dict[int, float] = field(default_factory=dict)
    sample: int = 0
    source: str = ""
    width: str = "pg_catalog.pg_column_size(t.*)"
    on_segments: str = ""

    def __post_init__(self) -> None:
        self.source = self.source or f"pg_catalog.{self.name}"
        self.on_segments = self.on_segments or f"gp_dist_random('pg_catalog.{self.name}')"


Sizes = dict[int, dict[int, dict[str, Any]]]  # content → oid → row of catalog_sizes


class CatalogSection:
    """Measures the catalogs of one session's server and writes them to a writer.

    On Greenplum, the entry instance is read in a separate session in utility mode, at the same time
    as the segments: a session on the coordinator would add up all instances. If the server refuses
    this session, the main session reads both, one after the other.
    """

    def __init__(
        self, session: Session, writer: Writer, covered: Covered, contents: list[int]
    ) -> None:
        self.session = session
        self.writer = writer
        self.covered = covered
        self.contents = contents
        self.catalogs: dict[str, Catalog] = {}
        self.sizes: Sizes = defaultdict(dict)
        self.class_counts: list[dict[str, Any]] = []
        self.converted: dict[int, int] = {}  # by oid: rows of pg_attribute above the usual number
        self.busy: frozenset[int] = (
            frozenset()
        )  # oids of catalogs with a lock for which a segment would wait
        self.sampled: tuple[str, str] | None = (
            None  # oids of relations, and of their row types, as SQL arrays
        )

    def run(self) -> None:
        """Measure all catalogs and write the results."""
        with self._entry() as entry:
            self._run_both(entry, lambda: self._of_entry(entry), self._of_segments)
            if entry is self.session and self.session.server.greenplum:
                self._sizes_of_all()
            self._from_class_counts()
            catalogs = self._catalogs_to_measure()
            self._run_both(
                entry,
                lambda: self._measure_entry(entry, catalogs),
                lambda: self._measure_segments(catalogs),
            )
        self._write()

    def _run_both(
        self, entry: Session, entry_work: Callable[[], None], segments_work: Callable[[], None]
    ) -> None:
        """Run both functions, at the same time if the entry instance has its own session."""
        if entry is self.session:
            segments_work()
            entry_work()
            return
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(entry_work)
            try:
                segments_work()
            except BaseException:
                entry.cancel()
                raise
            future.result()

    @contextlib.contextmanager
    def _entry(self) -> Iterator[Session]:
        """The session that reads only the entry instance."""
        if not self.session.server.greenplum:
            yield self.session
            return
        alone = self.session.utility()
        if alone is None:
            yield self.session
            return
        with alone:
            yield alone

    def _relations(self, entry: Session) -> None:
        with self.covered("catalog_relations"):
            relations = {row["oid"]: row for row in entry.rows("catalog_relations")}
        with self.covered("catalog_columns"):
            columns: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
            oids = ",".join(
                str(oid)
                for oid, row in relations.items()
                if row["relkind"] == "r" and row["namespace"] == 11
            )
            for row in entry.rows("catalog_columns", oids=f"'{{{oids}}}'::oid[]"):
                columns[row["oid"]][row["number"]] = row
        by_oid = {}
        for oid, row in relations.items():
            if row["relkind"] == "r" and row["namespace"] == 11:
                one = Catalog(name=row["relation"], oid=oid, shared=row["shared"])
                if one.name == "pg_statistic" and self.session.monitored:
                    # the view returns the width of each row, without its sample values
                    one.source, one.width = f"{MONITOR}.pg_statistic", "t.row_bytes"
                    one.on_segments = f"{MONITOR}.segment_statistic"
                one.fixed = all(c["length"] > 0 for number, c in columns[oid].items() if number > 0)
                self.catalogs[one.name] = by_oid[oid] = one
                if row["toast_oid"]:
                    one.toast_oids.add(row["toast_oid"])
                    by_oid[row["toast_oid"]] = one
        for oid, row in relations.items():
            owner = by_oid.get(row["indexed_oid"] or 0)
            if row["relkind"] != "i" or owner is None:
                continue
            if row["indexed_oid"] != owner.oid:
                owner.toast_oids.add(oid)
                continue
            of = columns[owner.oid]
            key = tuple(
                (of[n]["name"], of[n]["type"]) for n in map(int, row["key"].split()) if n in of
            )
            owner.indexes.append(Index(oid, row["relation"], bloat.IndexKey(key), row["is_unique"]))

    def _of_entry(self, entry: Session) -> None:
        self._relations(entry)
        if entry is self.session and self.session.server.greenplum:
            self._entry_classes(entry)
            return  # the sizes would be those of all instances
        with self.covered("catalog_sizes"):
            for row in entry.rows("catalog_sizes"):
                self.sizes[-1][row["oid"]] = row
        self._entry_classes(entry)

    def _entry_classes(self, entry: Session) -> None:
        self._class_counts(entry, "class_counts")
        if "converted_tables" in library.names(entry.server):
            with self.covered("converted_tables"):
                self.converted = {
                    row["oid"]: row["attributes"] for row in entry.rows("converted_tables")
                }
        self._draw_sample(entry)

    def _of_segments(self) -> None:
        if not self.session.server.greenplum:
            return
        if self.session.server.classic_partitions:
            # segments of Greenplum 6 ignore lock_timeout: locked catalogs are not read
            with self.covered("busy_relations", "busy_relations of the catalog"):
                self.busy = frozenset(
                    row["oid"] for row in self.session.rows("busy_relations") if row["oid"] < 16384
                )
        with self.covered("segment_catalog_sizes"):
            for row in self.session.rows("segment_catalog_sizes", busy=self._busy_oids()):
                self.sizes[row["content"]][row["oid"]] = row
        self._class_counts(self.session, "segment_class_counts")

    def refuse_busy(self, oid: int) -> None:
        """Raise ProbeFailed if a segment would wait for a lock on this catalog."""
        if oid in self.busy:
            raise ProbeFailed("busy", "another session has an AccessExclusiveLock on it")

    def _busy_oids(self) -> str:
        return ", ".join(map(str, sorted(self.busy))) or "0"

    def _sizes_of_all(self) -> None:
        """The sizes on the entry instance if only a coordinator session is possible: those of all
        instances minus those of the segments.
        """
        with self.covered("catalog_sizes_all"):
            for row in self.session.rows("catalog_sizes_all", busy=self._busy_oids()):
                elsewhere = sum(
                    of[row["oid"]]["bytes"]
                    for content, of in self.sizes.items()
                    if content >= 0 and row["oid"] in of
                )
                self.sizes[-1][row["oid"]] = row | {"bytes": max(0, row["bytes"] - elsewhere)}

    def _bytes(self, one: Catalog, of: dict[int, dict[str, Any]]) -> int:
        return sum(
            of[oid]["bytes"] for oid in (one.oid, *(i.oid for i in one.indexes)) if oid in of
        )

    def _largest_heap(self, one: Catalog) -> int:
        return max((of[one.oid]["bytes"] for of in self.sizes.values() if one.oid in of), default=0)

    def _catalogs_to_measure(self) -> list[Catalog]:
        """Catalogs to count: those that grow with tables, and others that are large on an
        instance.
        """
        total = {
            content: sum(row["bytes"] for row in of.values()) for content, of in self.sizes.items()
        }
        out = []
        for one in self.catalogs.values():
            large = any(
                self._bytes(one, of) >= max(LARGE, LARGE_SHARE * total[content])
                for content, of in self.sizes.items()
                if one.oid in of
            )
            if one.name in COUNTED or large or (one.shared and self._may_count(one)):
                out.append(one)
            elif one.shared:
                self._not_counted(one)
        return out

    def _may_count(self, one: Catalog) -> bool:
        return one.name not in SUPERUSER_ONLY or bool(self.session.facts["superuser"])

    def _not_counted(self, one: Catalog) -> None:
        """Record that the rows of a catalog which only superusers may read are an estimate."""
        probes = ["catalog_widths"]
        if self.session.server.greenplum:
            probes.append("segment_catalog_rows")
        for probe in probes:
            with self.covered(probe, f"{probe} {one.name}"):
                raise ProbeFailed(
                    "not applicable",
                    f"only superusers read {one.name}, which contains passwords: its number of rows"
                    " is an estimate, and its reclaimable bytes are unknown",
                )

    # -- the entry instance ------------------------------------------------------------------------

    def _measure_entry(self, entry: Session, catalogs: list[Catalog]) -> None:
        """Count rows on the entry instance and measure widths. Definitions are the same on all
        instances, and therefore rows and their widths.
        """
        shares_keys = "catalog_duplicates" in library.names(entry.server)
        for one in catalogs:
            heap = self._largest_heap(one)
            if -1 not in one.rows and not self._by_index(one, heap):
                with self.covered("catalog_widths", f"catalog_widths {one.name}"):
                    self._widths(entry, one, heap)
            else:
                if -1 not in one.rows:
                    with self.covered("catalog_rows", f"catalog_rows {one.name}"):
                        one.rows[-1], one.basis[-1] = (
                            entry.rows("catalog_rows", source=one.source)[0]["rows"],
                            "counted",
                        )
                with self.covered("catalog_sample", f"catalog_sample {one.name}"):
                    self._sample(entry, one)
            if shares_keys and one.entry_bytes:
                self._duplicates(entry, one, heap)

    def _by_index(self, one: Catalog, heap: int) -> bool:
        return heap >= BY_INDEX and (one.fixed or (one.name in _KEYED and self.sampled is not None))

    def _class_counts(self, session: Session, probe: str) -> None:
        """Read the numbers of relations by kind. The rows of pg_class and, derived, of pg_attribute
        are computed from them.
        """
        with self.covered(probe):
            self.class_counts += session.rows(probe)

    def _from_class_counts(self) -> None:
        self._add_converted()
        for name, column, basis in (
            ("pg_class", "relations", "counted"),
            ("pg_attribute", "attributes", "derived"),
        ):
            one = self.catalogs.get(name)
            for row in self.class_counts if one is not None else ():
                assert one is not None
                one.rows[row["content"]] = one.rows.get(row["content"], 0) + int(row[column])
                one.basis[row["content"]] = basis

    def _add_converted(self) -> None:
        """Add the system columns of converted tables, which are the same on all instances, once to
        the counts of each instance.
        """
        found: set[int] = set()
        for row in sorted(self.class_counts, key=lambda row: row["relkind"] != "r"):
            if row["content"] not in found:
                row["attributes"] = int(row["attributes"]) + sum(self.converted.values())
                found.add(row["content"])

    def _draw_sample(self, entry: Session) -> None:
        relations = sum(
            int(row["relations"]) for row in list(self.class_counts) if row["content"] == -1
        )
        mask = (1 << max(0, (relations // 500).bit_length())) - 1
        with self.covered("sampled_relations"):
            rows = entry.rows("sampled_relations", mask=str(mask))
            if rows:
                oids = ",".join(str(row["oid"]) for row in rows)
                types = ",".join(str(row["type_oid"]) for row in rows if row["type_oid"])
                self.sampled = f"'{{{oids}}}'::oid[]", f"'{{{types}}}'::oid[]"

    def _entries(self, one: Catalog, condition: str = "") -> str:
        parts = []
        for n, index in enumerate(one.indexes):
            expression = index.key.entry_sql()
            parts.append(
                f"pg_catalog.avg({f'CASE WHEN {condition} THEN {expression} END' if condition else expression})::float8"
                f" AS e{n}"
            )
        return ", ".join(parts) or "NULL::float8 AS none"

    def _share(self, one: Catalog, condition: str = "") -> str:
        block = self.session.facts["block_size"]
        width = f"((LEAST({one.width}, {self._toast_target()}) + 7) / 8) * 8"
        share = bloat.page_share_sql(width, block)
        return f"pg_catalog.avg({f'CASE WHEN {condition} THEN {share} END' if condition else share})::float8"

    def _toast_target(self) -> str:
        return str(self.session.facts["block_size"] // 4)

    @staticmethod
    def _every(column: str | None, heap: int) -> str:
        """A condition that selects about SAMPLE_ROWS rows of at least 64 bytes. It uses a hash,
        because oids are assigned in patterns.
        """
        modulus = 1 << max(0, (heap // 64 // SAMPLE_ROWS).bit_length())
        return (
            f"(pg_catalog.hashoid(t.{column}) & {modulus - 1}) = 0"
            if column and modulus > 1
            else "true"
        )

    def _widths(self, entry: Session, one: Catalog, heap: int) -> None:
        key = next((column for index in one.indexes if (column := index.key.sample_column())), None)
        condition = self._every(key, heap)
        row = entry.rows(
            "catalog_widths",
            source=one.source,
            width=one.width,
            sampled=condition,
            entries=self._entries(one, condition if condition != "true" else ""),
            share=self._share(one, condition if condition != "true" else ""),
            toast_target=self._toast_target(),
        )[0]
        one.rows[-1], one.basis[-1] = row["rows"], "counted"
        self._keep(one, row)

    def _sample(self, entry: Session, one: Catalog) -> None:
        source = one.source
        name = _KEYED.get(one.name)
        oid = ", x.oid" if name == "oid" else ""  # a system column on Greenplum 6
        if self.sampled is not None and name is not None and not one.fixed:
            oids = self.sampled[one.name == "pg_type"]
            # a small catalog is scanned, and a list would be searched for every row
            condition = (
                f"IN (SELECT pg_catalog.unnest({oids}))"
                if self._largest_heap(one) < HASHED
                else f"= ANY ({oids})"
            )
            rows = f"SELECT x.*{oid} FROM {source} x WHERE x.{name} {condition}"
            if one.rows.get(-1, 0) <= SAMPLE_ROWS:
                rows = f"SELECT x.*{oid} FROM {source} x"  # small enough to be read completely
        else:
            rows = f"SELECT x.* FROM {source} x LIMIT 1000"
        if not self.session.server.classic_partitions:
            rows = rows.replace(", x.oid", "")
        row = entry.rows(
            "catalog_sample",
            rows=rows,
            width=one.width,
            entries=self._entries(one),
            share=self._share(one),
            toast_target=self._toast_target(),
        )[0]
        self._keep(one, row)

    def _duplicates(self, entry: Session, one: Catalog, heap: int) -> None:
        """Measure non-unique indexes: entries are smaller if equal keys share a posting list."""
        for index in one.indexes:
            if index.unique or not one.rows.get(-1):
                continue
            with self.covered("catalog_duplicates", f"catalog_duplicates {index.name}"):
                row = entry.rows(
                    "catalog_duplicates",
                    source=one.source,
                    entry=index.key.entry_sql(),
                    keys=", ".join(f"t.{column}" for column, _ in index.key.columns),
                    posting=str(self.session.facts["block_size"] // 10 // 6 - 4),
                    sampled=self._every(index.key.sample_column(), heap),
                )[0]
                if row["entry_bytes"] is not None:
                    one.entry_bytes[index.oid] = row["entry_bytes"]

    @staticmethod
    def _keep(one: Catalog, row: dict[str, Any]) -> None:
        one.sample, one.tuple_bytes, one.page_share = (
            row["sample"] or 0,
            row["tuple_bytes"],
            row["page_share"],
        )
        one.entry_bytes = {
            index.oid: row[f"e{n}"]
            for n, index in enumerate(one.indexes)
            if row[f"e{n}"] is not None
        }

    # -- the segments ------------------------------------------------------------------------------

    def _measure_segments(self, catalogs: list[Catalog]) -> None:
        if not self.session.server.greenplum:
            return
        for one in catalogs:
            if one.name in ("pg_class", "pg_attribute"):
                continue
            with self.covered("segment_catalog_rows", f"segment_catalog_rows {one.name}"):
                self.refuse_busy(one.oid)
                for row in self.session.rows("segment_catalog_rows", source=one.on_segments):
                    one.rows[row["content"]] = row["rows"]
                    one.basis[row["content"]] = "counted"
                for content in self.contents:
                    if (
                        content >= 0 and content not in one.rows
                    ):  # GROUP BY returns no row for an instance without rows
                        one.rows[content], one.basis[content] = 0, "counted"

    # -- writing to the snapshot -------------------------------------------------------------------

    def _write(self) -> None:
        rows, widths = [], []
        for one in sorted(self.catalogs.values(), key=lambda c: c.name):
            if one.tuple_bytes is not None:
                widths.append(
                    {
                        "relation": one.name,
                        "catalog": one.name,
                        "bytes": one.tuple_bytes,
                        "sample": one.sample,
                    }
                )
                for index in one.indexes:
                    if index.oid in one.entry_bytes:
                        entry = {
                            "relation": index.name,
                            "catalog": one.name,
                            "bytes": one.entry_bytes[index.oid],
                            "sample": one.sample,
                        }
                        widths.append(entry)
            for content, of in sorted(self.sizes.items()):
                if one.oid in of:
                    rows.append(self._row(one, content, of))
        self.writer.insert("class_count", self.class_counts)
        self.writer.insert("catalog", rows)
        self.writer.insert("catalog_width", widths)

    def _row(self, one: Catalog, content: int, of: dict[int, dict[str, Any]]) -> dict[str, Any]:
        block = self.session.facts["block_size"]
        heap = of[one.oid]
        indexes = [index for index in one.indexes if index.oid in of]
        live = one.rows.get(content)
        basis = one.basis.get(content)
        heap_needed = index_needed = None
        if live is not None and (one.page_share is not None or live == 0):
            heap_needed = min(heap["bytes"], bloat.heap_bytes(live, one.page_share or 0.0, block))
            index_needed = sum(
                min(
                    of[index.oid]["bytes"],
                    bloat.btree_bytes(live, one.entry_bytes.get(index.oid, 16), block),
                )
                for index in indexes
            )
        if live is None and heap["reltuples"] > 0:
            live, basis = int(heap["reltuples"]), "estimate"
        return {
            "content": content,
            "relation": one.name,
            "shared": one.shared,
            "rows": live,
            "rows_basis": basis,
            "heap_bytes": heap["bytes"],
            "toast_bytes": sum(of[oid]["bytes"] for oid in one.toast_oids if oid in of),
            "index_bytes": sum(of[index.oid]["bytes"] for index in indexes),
            "heap_needed": heap_needed,
            "toast_needed": None,
            "index_needed": index_needed,
            "dead_tuples": None,  # from the statistics: keep_statistics
            "last_vacuum": None,
        }


def keep_statistics(writer: Writer, statistics: Iterable[dict[str, Any]]) -> None:
    """Write the results of the probe catalog_statistics to the rows of the catalogs: dead rows, and
    the time of the last VACUUM.
    """
    writer.execute(
        "CREATE TEMP TABLE catalog_statistic (content INTEGER, relation VARCHAR, dead_tuples"
        " BIGINT, last_vacuum TIMESTAMP)"
    )
    writer.insert(
        "catalog_statistic",
        [
            {
                "content": row["content"],
                "relation": row["relation"],
                "dead_tuples": row["dead_tuples"],
                "last_vacuum": (
                    at.astimezone(UTC).replace(tzinfo=None) if (at := row["last_vacuum"]) else None
                ),
            }
            for row in statistics
        ],
    )
    writer.execute(
        "UPDATE catalog SET dead_tuples = s.dead_tuples, last_vacuum = s.last_vacuum FROM"
        " catalog_statistic s WHERE s.content = catalog.content AND s.relation = catalog.relation"
    )
