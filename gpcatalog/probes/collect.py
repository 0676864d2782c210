"""One read-only pass over a database: writes the results of all probes to a snapshot, and records
in its coverage what was not read.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import gpcatalog
from gpcatalog.capacity import session_start
from gpcatalog.capacity.generation import (
    BLOCK_DIRECTORY_COLUMNS,
    BLOCK_DIRECTORY_INDEX_COLUMNS,
    TOAST_COLUMNS,
    TOAST_INDEX_COLUMNS,
    VISIMAP_COLUMNS,
    VISIMAP_INDEX_COLUMNS,
    generation,
)
from gpcatalog.capacity.limits import lock_slots
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.file_choice import FileChoice
from gpcatalog.model.quantity import plural
from gpcatalog.model.scope import Scope
from gpcatalog.model.storage import Storage
from gpcatalog.model.timing import SPEED, SPEED_DISPATCHED, Timing
from gpcatalog.probes import clients as client_queries
from gpcatalog.probes import latency, library
from gpcatalog.probes.auxiliary import keep_auxiliary
from gpcatalog.probes.catalogs import CatalogSection, keep_statistics
from gpcatalog.probes.connection import ProbeFailed, Session
from gpcatalog.probes.files import RECONCILE_SHARE, FileSection
from gpcatalog.probes.free_session import FreeSession
from gpcatalog.probes.listing import Listing
from gpcatalog.probes.partition_properties import partition_properties
from gpcatalog.store.schema import SCHEMA_VERSION
from gpcatalog.store.snapshot import Writer

Progress = Callable[[str], None]

DEFINITIONS_BATCH = 2000  # tables whose columns are read by one statement
# the tables whose locks are reported
_MOST_LEAVES = "SELECT root FROM relation WHERE kind = 'leaf' GROUP BY root ORDER BY count(*) DESC, root LIMIT 5"
NONEMPTY_BATCH = 20_000  # tables opened by one statement if directories may not be listed

# columns of the probe relations in COPY, with their DuckDB types
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

# oids of catalogs, the same on every server
PG_ATTRIBUTE, PG_CLASS, PG_DATABASE = 1249, 1259, 1262


def attribution(generation_name: str) -> tuple[str, str]:
    """SQL expressions over `relation r`: the numbers of rows in pg_class and pg_attribute of one
    table, its indexes, TOAST and auxiliary relations.
    """
    g = generation(generation_name)
    aux = g.heap_system_columns  # system columns of auxiliary and TOAST relations
    ao = "r.storage IN ('ao_row', 'ao_column')"
    has_aux = ao + ("" if g.root_is_table else " AND r.kind IN ('leaf', 'table')")
    ao_system = g.system_columns.get(Storage.AO_ROW, aux)
    segments = {
        storage: g.segment_columns.get(storage, 0)
        for storage in (Storage.AO_ROW, Storage.AO_COLUMN)
    }
    rows = (
        "1 + r.indexes + CASE WHEN r.toast THEN 2 ELSE 0 END"
        f" + CASE WHEN {has_aux} THEN 3 ELSE 0 END + CASE WHEN r.block_directory THEN 2 ELSE 0 END"
    )
    attributes = (
        f"""r."columns" + r.index_columns + CASE WHEN {ao} THEN {ao_system} ELSE {g.system_columns[Storage.HEAP]} END"""
        f" + CASE WHEN r.toast THEN {TOAST_COLUMNS + aux + TOAST_INDEX_COLUMNS} ELSE 0 END"
        f" + CASE WHEN {has_aux} THEN {VISIMAP_COLUMNS + aux + VISIMAP_INDEX_COLUMNS + aux}"
        f" + CASE r.storage WHEN 'ao_row' THEN {segments[Storage.AO_ROW]} ELSE"
        f" {segments[Storage.AO_COLUMN]} END ELSE 0 END"
        " + CASE WHEN r.block_directory THEN"
        f" {BLOCK_DIRECTORY_COLUMNS + aux + BLOCK_DIRECTORY_INDEX_COLUMNS} ELSE 0 END"
    )
    return rows, attributes


class Collector:
    """Runs the probes of one session and writes their results to one writer, section by section."""

    def __init__(
        self,
        session: Session,
        writer: Writer,
        progress: Progress,
        plan: Sequence[int] = (),
        *,
        scope: Scope = Scope.STORED,
        clients: bool = False,
        files: FileChoice | None = None,
    ) -> None:
        self.session = session
        self.files = files or FileChoice()
        self.plan = plan
        self.clients = clients
        self.scope = scope
        self.writer = writer
        self.progress = progress
        self.contents: list[int] = [-1]
        self.coverage: list[dict[str, Any]] = []
        self.filled_basis: str | None = None
        self.database_bytes: int | None = None

    @contextlib.contextmanager
    def _covered(self, probe: str, label: str = "") -> Iterator[dict[str, Any]]:
        """Record the status of a probe, and its duration unless the block records it. A failed
        probe ends its section, not the audit.
        """
        found = library.probe(probe, self.session.server)
        note: dict[str, Any] = {
            "probe": label or probe,
            "status": "read",
            "reason": "",
            "needs": "",
            "origin": found.origin,
        }
        begun = time.perf_counter()
        try:
            yield note
        except ProbeFailed as e:
            note |= {
                "status": e.status,
                "reason": e.reason,
                "needs": found.header("needs") if e.status == "denied" else "",
            }
        finally:
            note.setdefault("seconds", round(time.perf_counter() - begun, 6))
            self.coverage.append(note)

    def _skipped(self, probe: str, status: str, reason: str) -> None:
        found = library.probe(probe, self.session.server)
        needs = found.header("needs") if status == "denied" else ""
        self.coverage.append(
            {
                "probe": probe,
                "status": status,
                "reason": reason,
                "needs": needs,
                "seconds": None,
                "origin": found.origin,
            },
        )

    def run(self) -> None:
        """Run all sections, the most important first, because the session can end early."""
        begun, clock = datetime.now(UTC), time.perf_counter()
        self._instances()
        with self._covered("settings"):
            self.writer.insert("setting", self.session.rows("settings"))
        uneven = FreeSession("uneven_partitions") if self.scope >= Scope.PLAN else None
        files = FileSection(
            self.session,
            self.writer,
            self._covered,
            self.contents,
            self.files,
            self.progress,
            uneven,
        )
        self.progress("catalogs")
        catalogs = CatalogSection(self.session, self.writer, self._covered, self.contents)
        # the catalogs are counted on all segments, therefore the listing starts afterwards
        greenplum = self.session.server.greenplum
        listing = None if greenplum else files.begin(self._attribute_bytes())
        try:
            catalogs.run()
            if greenplum:
                listing = files.begin(self._attribute_bytes(catalogs))
            self._tables(catalogs, files, listing, uneven)
        except BaseException:
            if listing is not None:
                listing.stop()
            raise
        self.progress("transactions and leftovers")
        self._holders()
        self._activity()
        self.writer.packed()
        self.progress("latency")
        self._timings()
        self._header(begun, time.perf_counter() - clock)

    def _tables(
        self,
        catalogs: CatalogSection,
        files: FileSection,
        listing: Listing | None,
        uneven: FreeSession | None,
    ) -> None:
        """Read everything about tables; the files are read in another session."""

        def read_files() -> None:
            self.progress("files")
            self._filled(files, listing)
            self._root_totals(catalogs.converted)
            self.writer.pack()

        self.progress("tables and partitions")
        self._relations()
        # on Greenplum, _filled opens sessions, and `uneven` may be in the other session
        early = not self.session.server.greenplum and listing is not None
        waiting = True
        steps: list[Callable[[], None]] = [
            self._partition_facts,
            self._upkeep,
            self._definitions,
            partial(self._sessions, catalogs),
            self._statistics,
        ]
        if uneven is not None:
            steps.append(partial(self._uneven_partitions, uneven))
        for step in steps:
            if waiting and early and listing is not None and listing.ended:
                read_files()  # the rows of tables are packed during the next steps
                waiting = False
            step()
        if waiting:
            read_files()

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

    def _attribute_bytes(self, catalogs: CatalogSection | None = None) -> int | None:
        """Bytes of pg_attribute on the largest segment, as measured by `catalogs`, or on the only
        server; None if unknown.
        """
        if catalogs is not None:
            found = [of[PG_ATTRIBUTE] for of in catalogs.sizes.values() if PG_ATTRIBUTE in of]
        else:
            found = []
            with contextlib.suppress(ProbeFailed):
                sizes = self.session.rows("catalog_sizes")
                found = [row for row in sizes if row["oid"] == PG_ATTRIBUTE]
        return max((int(row["bytes"]) for row in found), default=None)

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

    # -- the census --------------------------------------------------------------------------------

    def _relations(self) -> None:
        file = self.writer.scratch("relations.csv")
        with self._covered("relations"):
            self._stream("relations", file)
            names = ", ".join(f'"{c}"' for c in _RELATION_CSV)
            # "" means no name and no bound
            self.writer.load_csv(
                f"INSERT INTO relation ({names}) SELECT * FROM {{csv}} ORDER BY root, level, oid",
                file,
                _RELATION_CSV,
            )
        with self._covered("partition_keys"):
            self.writer.insert("partition_key", self.session.rows("partition_keys"))

    def _upkeep(self) -> None:
        """Read what the scripts of upkeep recorded in their journal, if there is one."""
        with self._covered("upkeep_home"):
            if self.session.rows("upkeep_home"):
                with self._covered("upkeep_runs"):
                    rows = self.session.rows("upkeep_runs")
                    for r in rows:
                        r["recorded_at"] = r.pop("at").astimezone(UTC).replace(tzinfo=None)
                    self.writer.insert("upkeep_event", rows)

    def _definitions(self) -> None:
        """Read the definitions of tables that are not partitions, and of views, sequences and
        types, for `check --baseline`. A snapshot that is not stored only needs those of the tables
        with the most leaves, whose locks are reported.
        """
        stored = self.scope is Scope.STORED
        wanted = "kind IN ('root', 'table')" if stored else f"oid IN ({_MOST_LEAVES})"
        found = self.writer.execute(f"SELECT oid FROM relation WHERE {wanted} ORDER BY oid")
        tables = [oid for (oid,) in found]
        own: list[int] = []
        if stored:
            with self._covered("own_indexes"):
                rows = self.session.rows("own_indexes")
                own = sorted({row["oid"] for row in rows} - set(tables))
        for probe, oids in (("definitions", tables), ("definitions_of_indexes", tables + own)):
            with self._covered(probe):
                for start in range(0, len(oids), DEFINITIONS_BATCH):
                    part = ", ".join(map(str, oids[start : start + DEFINITIONS_BATCH]))
                    self.writer.insert("definition", self.session.rows(probe, oids=part))
        if stored:
            with self._covered("definitions_of_others"):
                self.writer.insert("definition", self.session.rows("definitions_of_others"))

    def _partition_facts(self) -> None:
        """Read the objects that depend on partitions, for the planner, and the configuration of
        pg_partman if it is installed.
        """
        if self.scope < Scope.PLAN:
            if "pending_detaches" in library.names(self.session.server):
                with self._covered("pending_detaches"):
                    rows = self.session.rows("pending_detaches")
                    self.writer.insert("partition_fact", rows)
            return
        with self._covered("partition_facts"):
            self.writer.insert("partition_fact", self.session.rows("partition_facts"))
        if self.session.server.classic_partitions:
            return
        with self._covered("partman_home"):
            for home in self.session.rows("partman_home"):
                with self._covered("partman"):
                    found = self.session.rows(
                        "partman", schema=home["schema"], schema_name=home["schema_name"]
                    )
                    versions = [
                        {
                            "root": r["root"],
                            "oid": r["oid"],
                            "fact": "pg_partman version",
                            "detail": home["version"],
                        }
                        for r in found
                    ]
                    self.writer.insert("partition_fact", [*found, *versions])

    def _uneven_partitions(self, probe: FreeSession) -> None:
        """Read how partitions differ from their table."""
        with self._covered("uneven_partitions") as note:
            uneven, note["seconds"] = probe.rows(self.session)
            if uneven:
                with self._covered("partition_properties"):
                    self.writer.insert("partition_fact", partition_properties(self.session, uneven))

    def _stream(self, probe: str, file: Path, **values: str) -> None:
        """Append the rows of a probe to a CSV file, so that several statements can fill one
        file.
        """
        statement = self.session.statement(probe, **values)
        with self.writer.appending(file) as out:
            for block in self.session.stream(statement):
                out.write(block)

    def _filled(self, section: FileSection, listing: Listing | None) -> None:
        """Determine which tables contain rows, and their files: from the directories if the role
        may list them, else from the catalogs. For a sample, and without a listing (None), only
        which tables contain rows is read from the catalogs.
        """
        read = listing is not None and section.from_directories(listing)
        if listing is not None and not read:
            sample = section.sample()
            if sample is not None and section.from_directories(sample):
                listing, read = sample, True
        if read and listing is not None and listing.share == 1:
            self.filled_basis, self.database_bytes = "files", section.database_bytes
            if self.session.server.greenplum:
                seconds = RECONCILE_SHARE * listing.seconds
                busy = self._busy()
                section.from_catalogs(busy, seconds=seconds)
                segments = [content for content in self.contents if content >= 0]
                keep_auxiliary(self.session, self.writer, self._covered, busy, segments)
            return
        found: set[int] = set()
        busy = self._busy()
        with self._covered("nonempty_relations"):
            total = self.writer.execute("SELECT count(*) FROM relation")[0][0]
            parts = max(1, -(-int(total) // NONEMPTY_BATCH)) if self.session.server.greenplum else 1
            for part in range(parts):
                answer = self.session.rows(
                    "nonempty_relations", part=str(part), parts=str(parts), busy=busy
                )
                found.update(row["oid"] for row in answer)
            self.filled_basis = (
                "segment file lists" if self.session.server.greenplum else "statistics (estimate)"
            )
            self.writer.execute("CREATE TEMP TABLE filled_now (oid UINTEGER)")
            file = self.writer.scratch("filled.csv")
            with self.writer.appending(file) as out:
                out.write("".join(f"{oid}\n" for oid in sorted(found)).encode())
            self.writer.load_csv(
                "INSERT INTO filled_now SELECT * FROM {csv}", file, {"oid": "UINTEGER"}
            )
            unknown = "('external', 'foreign', 'none', 'other')"
            self.writer.execute(
                "UPDATE relation SET filled = oid IN (SELECT oid FROM filled_now)"
                f" WHERE storage NOT IN {unknown} AND kind NOT IN ('root', 'intermediate')"
            )
            if busy != "0":
                self.writer.execute(
                    "UPDATE relation SET filled = NULL WHERE storage IN ('heap', 'ao_row',"
                    f" 'ao_column') AND oid IN ({busy})"
                )
        if read or listing is None:
            return
        section.from_catalogs(busy)
        with self._covered("database_size"):
            self.database_bytes = self.session.rows("database_size")[0]["bytes"]

    def _busy(self) -> str:
        """Oids, comma-separated, of relations that another session has locked exclusively: opening
        one would wait.
        """
        oids: list[int] = []
        with self._covered("busy_relations"):
            oids = [row["oid"] for row in self.session.rows("busy_relations")]
        return ", ".join(str(oid) for oid in sorted(oids)) or "0"

    def _root_totals(self, converted: Mapping[int, int] | None = None) -> None:
        """Write one row for each root or other table: its leaves, the empty ones, and the rows of
        all of them in pg_class and pg_attribute. converted: rows of pg_attribute above the usual
        number, by oid.
        """
        rows, attributes = attribution(self.session.server.generation)
        # the segment file lists contain the files of append-optimized tables only
        listed = "true" if self.filled_basis == "files" else "false"
        self.writer.execute("CREATE TEMP TABLE converted (oid UINTEGER, attributes INTEGER)")
        file = self.writer.scratch("converted.csv")
        with self.writer.appending(file) as out:
            lines = (f"{oid},{more}\n" for oid, more in (converted or {}).items())
            out.write("".join(lines).encode())
        self.writer.load_csv(
            "INSERT INTO converted SELECT * FROM {csv}",
            file,
            {"oid": "UINTEGER", "attributes": "INTEGER"},
        )
        self.writer.execute(f"""
            INSERT INTO root_total
            SELECT r.root, any_value(coalesce(t."schema", r."schema")), any_value(coalesce(t.name, r.name)),
                   any_value(coalesce(t.kind, r.kind)),
                   coalesce(mode(r.storage) FILTER (r.kind IN ('leaf', 'table')), any_value(r.storage)),
                   count(*) FILTER (r.kind = 'leaf'),
                   CASE WHEN bool_or(r.filled IS NOT NULL) THEN count(*) FILTER (r.kind = 'leaf' AND NOT r.filled) END,
                   sum({rows}), sum({attributes} + coalesce(x.attributes, 0)), sum(r.files) FILTER ({listed}), sum(r.bytes)
              FROM relation r LEFT JOIN relation t ON t.oid = r.root
              LEFT JOIN converted x ON x.oid = r.oid
             GROUP BY r.root ORDER BY 1
        """)

    # -- obstacles to removing dead rows -----------------------------------------------------------

    def _holders(self) -> None:
        with self._covered("horizon"):
            self.writer.insert(
                "horizon", [{"content": -1, **row} for row in self.session.rows("horizon")]
            )
        if "hidden_sessions" in library.names(self.session.server):
            with self._covered("hidden_sessions"):
                hidden = self.session.rows("hidden_sessions")[0]["hidden"]
                if hidden:
                    raise ProbeFailed(
                        "denied",
                        f"transactions of {plural(hidden, 'session')} of other roles are not"
                        " visible: they may prevent VACUUM from removing dead rows",
                    )
        if self.session.server.greenplum:
            with self._covered("segment_prepared"):
                rows = self.session.rows("segment_prepared")
                self.writer.insert(
                    "horizon", [{"holder": "prepared transaction", **row} for row in rows]
                )
        with self._covered("temp_schemas"):
            self.writer.insert("temp_schema", self.session.rows("temp_schemas"))

    def _sessions(self, catalogs: CatalogSection) -> None:
        """Read ages, and the pages of a session start. Segments of Greenplum 6 would wait for a
        catalog that another session has locked.
        """
        for probe, reads in (("database_ages", PG_DATABASE), ("relation_ages", PG_CLASS)):
            with self._covered(probe):
                catalogs.refuse_busy(reads)
                self.writer.insert("age", self.session.rows(probe))
        with self._covered("session_start"):
            catalogs.refuse_busy(PG_ATTRIBUTE)
            self.writer.insert(
                "session_start", self.session.rows("session_start", relations=session_start.OIDS)
            )

    # -- durations ---------------------------------------------------------------------------------

    def _lock_slots(self) -> int | None:
        """Lock slots of the entry instance; None if the settings were not read."""
        found = dict(
            self.writer.execute("SELECT name, setting FROM setting WHERE name LIKE 'max%'")
        )
        return lock_slots(found)

    def _timings(self) -> None:
        """Measure connections, catalog scans and planning."""
        session = self.session
        leaves = int(
            self.writer.execute("SELECT count(*) FROM relation WHERE kind IN ('leaf', 'table')")[0][
                0
            ]
        )
        found: list[Timing] = []
        with self._covered("scan_class"):
            found.append(latency.scanning(session, "scan_class", "scan", leaves))
        if session.server.greenplum:
            with self._covered("scan_class_dispatched"):
                found.append(
                    latency.scanning(session, "scan_class_dispatched", "scan dispatched", leaves)
                )
        with self._covered("speed"):
            found.append(latency.scanning(session, "speed", SPEED, leaves))
        if session.server.greenplum:
            with self._covered("speed_dispatched"):
                found.append(
                    latency.scanning(session, "speed_dispatched", SPEED_DISPATCHED, leaves)
                )
        with self._covered("describe"):
            found.append(latency.scanning(session, "describe", "describe", leaves, rounds=1))
        with self._covered("server", "connect"):
            found.append(latency.connecting(session))
            found.append(latency.answering(session))
        found += self._planning()
        if self.clients:
            self.progress("queries of clients")
            found += client_queries.timings(session, self.writer, self._covered)
        self._keep_timings(found)

    def _keep_timings(self, found: list[Timing]) -> None:
        self.writer.insert("timing", [msgspec.structs.asdict(one) for one in found])

    def _statistics(self) -> None:
        """Read counters of written rows, and the last DDL of relations."""
        session = self.session
        with self._covered("catalog_statistics"):
            statistics = session.rows("catalog_statistics")
            self._keep_timings(latency.writes(statistics))
            keep_statistics(self.writer, statistics)
        if session.server.greenplum:
            with self._covered("operation_days"):
                self.writer.insert("operation_day", session.rows("operation_days"))
            with self._covered("last_operations"):
                self.writer.insert("last_operation", session.rows("last_operations"))

    def _activity(self) -> None:
        """Read DDL of other sessions, waits, and the times of statements."""
        session = self.session
        with self._covered("ddl_activity"):
            self._keep_timings(latency.activity_timings(latency.activity(session)))
        if "lock_manager_waits" in library.names(session.server):
            with self._covered("lock_manager_waits"):
                self._keep_timings(latency.lock_manager_waits(session))
        with self._covered("statements"):
            self._keep_timings(latency.statements(session))

    def _planning(self) -> list[Timing]:
        """Time the planning of the tables that the user named. The caller has checked that this
        runs no code of their owners.
        """
        if not self.plan:
            return []
        rows = self.writer.execute(
            f"""SELECT t."schema", t.name, greatest(t.leaves, 1), t.class_rows, t.root IN (
                       SELECT root FROM relation WHERE storage IN ('foreign', 'external')) AS elsewhere
                  FROM root_total t WHERE t.root IN ({", ".join(map(str, self.plan))}) ORDER BY t.leaves DESC, 1, 2"""
        )
        found: list[Timing] = []
        slots = self._lock_slots()
        for schema, name, leaves, class_rows, elsewhere in rows:
            root = latency.Root(schema, name, leaves, class_rows)
            if elsewhere:
                self._skipped(
                    "plan",
                    "not applicable",
                    f"{schema}.{name} has external or foreign leaves: planning may connect to"
                    " another server",
                )
            elif not latency.affordable(root, slots):
                self._skipped(
                    "plan",
                    "not applicable",
                    f"planning {schema}.{name} needs more than a tenth of the lock slots",
                )
            else:
                with self._covered("plan", f"plan {schema}.{name}"):
                    found += latency.planning(self.session, root)
        return found


def collect(
    session: Session,
    target: Path,
    progress: Progress = lambda _: None,
    *,
    timings: Iterable[Timing] = (),
    plan: Sequence[int] = (),
    scope: Scope = Scope.STORED,
    clients: bool = False,
    files: FileChoice | None = None,
) -> Path:
    """Take one snapshot of the session's database into the file `target`.

    timings: earlier measurements for the snapshot. plan: oids of tables whose planning is measured;
             the caller has checked them.
    scope: for what the snapshot is used.
    clients: also time the catalog queries of other programs.
    files: which files are read.

    Raises CatalogError if the connection is lost or the file cannot be written; `target` is then
    unchanged.
    """
    with Writer(target) as writer:
        collector = Collector(
            session,
            writer,
            progress,
            plan,
            scope=scope,
            clients=clients,
            files=files,
        )
        collector.run()
        writer.insert("timing", [msgspec.structs.asdict(one) for one in timings])
        if all(
            note["status"] != "read"
            for note in collector.coverage
            if note["probe"] in {"relations", "class_counts"}
        ):
            note = next(n for n in collector.coverage if n["probe"] == "class_counts")
            raise CatalogError(
                f"the catalogs cannot be read: {note['reason']}",
                hint=(
                    "see the server log, and check with gpstate -e that no segment is down"
                    if note["status"] == "segment down"
                    else "try again when the server is less busy"
                ),
                exit_code=Exit.UNREACHABLE,
            )
        return writer.finish()
