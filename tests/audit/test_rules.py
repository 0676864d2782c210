"""Every rule of the audit, on snapshots for which it must report a finding, and on very similar snapshots for which it must not.

The snapshots are files: `lab/synthetic.py` writes their tables, and the tests add rows to them.
"""

from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.cluster import combine
from gpcatalog.lab.synthetic import TAKEN_AT, Spec, write
from gpcatalog.migration.maintenance import script
from gpcatalog.model.finding import Confidence, Severity
from gpcatalog.store.schema import columns_of
from gpcatalog.store.snapshot import Snapshot

# in one process, which caches the snapshots that the cases start from
pytestmark = pytest.mark.xdist_group("rules")
MIB = 1 << 20
DAY = timedelta(days=1)
SMALL = Spec(name="t", leaves=3, columns=2, bytes=None)
Row = dict[str, Any]


# the totals that an audit counts for each table, computed from its relations
_ROOTS = """
    INSERT INTO root_total
    SELECT root, "schema", split_part(min(name) FILTER (kind = 'root'), '_1_prt', 1), 'root', min(storage), count(*) FILTER (kind = 'leaf'),
           count(*) FILTER (kind = 'leaf' AND NOT filled), count(*), sum("columns"), sum(files), sum(bytes)
      FROM relation GROUP BY root, "schema"
"""


# copies of leaves: faster than writing many leaves with lab/synthetic.py
_COPIES = """
    CREATE TABLE unpacked AS
    SELECT * FROM relation UNION ALL
    SELECT r.* REPLACE ((oid + 1000 * n)::UINTEGER AS oid, regexp_replace(name, '[0-9]+$', (n + 1)::VARCHAR) AS name,
                        CASE WHEN bound LIKE 'START%' THEN format('START ({{}}) END ({{}})', n * 1000, n * 1000 + 1000)
                             ELSE format('FOR VALUES FROM ({{}}) TO ({{}})', n * 1000, n * 1000 + 1000) END AS bound)
      FROM relation r, range(1, {copies} + 1) c (n) WHERE kind = 'leaf';
    DROP VIEW relation;
    DROP TABLE relation_packed;
    ALTER TABLE unpacked RENAME TO relation
"""


@functools.cache
def _base(
    specs: tuple[Spec, ...],
    generation: str,
    segments: int,
    settings: tuple[tuple[str, int], ...] | None,
) -> bytes:
    """A snapshot of these tables, as bytes; cached, because most cases start from the same one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "base.gpcatalog"
        given = None if settings is None else dict(settings)
        write(file, specs, generation=generation, segments=segments, settings=given)
        return file.read_bytes()


@dataclass(frozen=True)
class Given:
    """A snapshot: its partitioned tables, rows to insert into other tables of the file, and statements that run on the file at the end."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    specs: tuple[Spec, ...] = (SMALL,)
    generation: str = "gp6"
    segments: int = 4
    settings: dict[str, int] | None = None
    sql: tuple[str, ...] = ()
    copies: int = 0  # additional copies of each leaf

    @property
    def leaves(self) -> int:
        """Number of leaves of all tables."""
        return len(self.specs) * self.copies + sum(
            spec.leaves * max(1, spec.lists) for spec in self.specs
        )

    def write(self, file: Path) -> Path:
        settings = None if self.settings is None else tuple(self.settings.items())
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_base(self.specs, self.generation, self.segments, settings))
        with duckdb.connect(str(file)) as db:
            for table, rows in self.rows.items():
                names = columns_of(table)
                for row in rows:
                    assert row.keys() <= set(names), row.keys() - set(names)
                    db.execute(
                        f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(names))})',
                        [row.get(name) for name in names],
                    )
            if self.copies:
                db.execute(_COPIES.format(copies=self.copies))
            db.execute(_ROOTS)
            for statement in self.sql:
                db.execute(statement)
        return file


def catalog(relation: str, content: int, heap: int, needed: int, **more: Any) -> Row:
    row = {
        "relation": relation,
        "content": content,
        "shared": False,
        "rows": 1000,
        "rows_basis": "counted",
        "heap_bytes": heap,
    }
    return {
        **row,
        "toast_bytes": 0,
        "index_bytes": 0,
        "heap_needed": needed,
        "toast_needed": 0,
        "index_needed": 0,
        **more,
    }


def counted(
    content: int, relations: int, attributes: int = 0, kind: str = "r", persistence: str = "p"
) -> Row:
    row = {"content": content, "relkind": kind, "storage": "heap", "persistence": persistence}
    return {**row, "relations": relations, "attributes": attributes}


def files(
    content: int,
    number: int,
    size: int,
    empty: int = 0,
    root: int = 0,
    part: str = "main",
    basis: str = "directory",
) -> Row:
    row = {
        "content": content,
        "root": root,
        "part": part,
        "basis": basis,
        "files": number,
        "bytes": size,
        "empty_files": empty,
    }
    return {**row, "small_files": number, "hollow_bytes": 0}


def every_segment(
    number: int, size: int, empty: int = 0, segments: int = 4, root: int = 0
) -> list[Row]:
    return [files(content, number, size, empty, root) for content in range(segments)]


def timed(what: str, **more: Any) -> list[Row]:
    return [{"what": what, "subject": "", "n": 1, **more}]


def orphan(kind: str, content: int = 1) -> Row:
    return {
        "content": content,
        "node": 4711,
        "folder": "base/1",
        "files": 2,
        "bytes": 3 * MIB,
        "age_seconds": 7200.0,
        "kind": kind,
    }


def holder(kind: str, seconds: float | None = None, age: int | None = None) -> dict[str, list[Row]]:
    row = {
        "content": -1,
        "holder": kind,
        "name": "4242",
        "database": "d",
        "role": "r",
        "detail": "x",
        "seconds": seconds,
        "xid_age": age,
    }
    return {"horizon": [row]}


def bloated(
    heap: int, needed: int, generation: str = "gp6", content: int = 2, **more: Any
) -> Given:
    rows = [
        catalog("pg_attribute", content, heap, needed, **more),
        catalog("pg_attribute", -1, needed, needed),
    ]
    return Given({"catalog": rows}, generation=generation)


BLOATED = bloated(130 * MIB, 10 * MIB)


def sized(first: int, others: int) -> Given:
    rows = [catalog("pg_class", n, first if n == 3 else others, MIB) for n in range(4)]
    return Given({"catalog": rows, "class_count": [counted(n, 500) for n in range(4)]})


def class_rows(*numbers: int) -> Given:
    rows = [catalog("pg_class", n, MIB, MIB) for n in range(len(numbers))]
    return Given(
        {"catalog": rows, "class_count": [counted(n, number) for n, number in enumerate(numbers)]}
    )


def vacuumed(
    days: float | None, relation: str = "pg_class", heap: int = 20 * MIB, generation: str = "gp6"
) -> Given:
    last = None if days is None else TAKEN_AT - days * DAY
    return Given(
        {"catalog": [catalog(relation, 1, heap, 8 * MIB, last_vacuum=last)]}, generation=generation
    )


def setting(name: str, value: str, generation: str) -> Given:
    return Given(
        {"setting": [{"name": name, "setting": value, "source": "x"}]}, generation=generation
    )


def leaves(
    number: int,
    storage: str = "ao_column",
    tables: int = 1,
    lists: int = 0,
    empty: int = 0,
    **more: Any,
) -> Given:
    filled = 1 - empty / number
    copied = not lists and not empty
    spec = Spec(
        name="t",
        leaves=1 if copied else number // max(1, lists),
        lists=lists,
        storage=storage,
        columns=2,
        bytes=None,
        filled=filled,
        step="integer",
        start=0,
    )
    return Given(
        specs=tuple(Spec(**{**spec.__dict__, "name": f"t{n}"}) for n in range(tables)),
        copies=number - 1 if copied else 0,
        **more,
    )


def slots(number: int) -> dict[str, int]:
    return {
        "max_locks_per_transaction": number,
        "max_connections": 1,
        "max_prepared_transactions": 0,
    }


def column_table(
    columns: int, leaves_: int, size: int, storage: str = "ao_column", tables: int = 1
) -> Given:
    spec = Spec(name="t", leaves=leaves_, columns=columns, storage=storage, bytes=size)
    return Given(
        specs=tuple(Spec(**{**spec.__dict__, "name": f"t{n}"}) for n in range(tables)),
        sql=(
            "INSERT INTO file_total SELECT c, root, 'main', 'directory', sum(files) // 4, sum(bytes) // 4, 0, 0, 0"
            " FROM relation, range(4) t(c) WHERE kind = 'leaf' GROUP BY root, c",
        ),
    )


def compared(listed: int, here: int) -> Given:
    return Given(
        {
            "file_total": [
                files(1, here, 10, 0, 20000),
                {**files(1, listed, 10, 0, 20000, basis="catalog"), "small_files": None},
            ]
        }
    )


def started(generation: str = "gp6", **pages: int) -> Given:
    """A snapshot with pages of pg_attribute that a session start reads: c for the coordinator, s0, s1, … for segments."""
    rows = [
        {"content": -1 if name == "c" else int(name[1:]), "pages": n} for name, n in pages.items()
    ]
    return Given({"session_start": rows}, generation=generation)


def auxiliary(
    size: int,
    needed: int | None,
    generation: str = "gp6",
    kind: str = "visibility map",
) -> Given:
    """A snapshot with auxiliary relations of s.t: a small one on segment 0, and one of this size on segment 1."""
    row = {
        "root": 20000,
        "oid": 20000,
        "schema": "s",
        "name": "t",
        "relation": "pg_aoseg.x",
        "kind": kind,
    }
    rows = [
        row | {"content": 0, "bytes": 32768, "rows": None if needed is None else 1, "needed": needed and 32768},
        row | {"content": 1, "bytes": size, "rows": None if needed is None else 7, "needed": needed},
    ]  # fmt: skip
    listed = files(0, 1, 1, 0, 20000)
    return Given({"auxiliary": rows, "file_total": [listed]}, generation=generation)


def aged(
    age: int, multixacts: int | None = None, generation: str = "gp6", content: int = 1, **more: Any
) -> Given:
    rows = [
        {"content": -1, "kind": "database", "name": "d", "xid_age": 5, "multixact_age": multixacts and 5},
        {"content": content, "kind": "database", "name": "e f", "xid_age": age, "multixact_age": multixacts},
        {"content": content, "kind": "relation", "name": "s.t", "xid_age": 2 * 10**9},
    ]  # fmt: skip
    names = ("xid_stop_limit", "xid_warn_limit", "autovacuum", "autovacuum_freeze_max_age")
    names = (*names, "autovacuum_multixact_freeze_max_age")
    settings = [
        {"name": name, "setting": str(more[name]), "source": "x"} for name in names if name in more
    ]
    return Given({"age": rows, "setting": settings}, generation=generation)


def waits(*sessions: tuple[int, int], generation: str = "gp6") -> Given:
    """A snapshot with active and waiting sessions of the coordinator, segment 0, segment 1, …"""
    return Given(
        {
            "timing": [
                row
                for content, (active, waiting) in enumerate(sessions, -1)
                for row in (
                    *timed("active sessions", content=content, n=active),
                    *timed("lock manager waits", content=content, n=waiting),
                )
            ]
        },
        generation=generation,
    )


def wide(number: int, columns: int = 2, generation: str = "gp6", **settings: str) -> Given:
    """A table with this number of column-oriented leaves (heap on PostgreSQL), and settings of the server."""
    storage = "heap" if generation.startswith("pg") else "ao_column"
    spec = Spec(name="t", leaves=number, columns=columns, storage=storage, bytes=None,
                step="integer", start=0)  # fmt: skip
    rows = [{"name": name, "setting": value, "source": "x"} for name, value in settings.items()]
    return Given({"setting": rows}, specs=(spec,), generation=generation)


QUEUE = {"statement_mem": "20480", "gp_resource_manager": "queue", "optimizer": "off"}

ON = {"autovacuum": "on", "autovacuum_freeze_max_age": 1000}
MULTI_ON = {"autovacuum": "on", "autovacuum_multixact_freeze_max_age": 1000}

C, W, N, INFO = Severity.CRITICAL, Severity.WARNING, Severity.NOTICE, Severity.INFO
instance_down = "UPDATE instance SET status = 'd' WHERE content = 1"
swapped = "UPDATE instance SET preferred_role = 'm' WHERE content = 1"


# the relations as a table that SQL can change
PLAIN = (
    "CREATE TABLE plain AS FROM relation",
    "DROP VIEW relation",
    "DROP TABLE relation_packed",
    "ALTER TABLE plain RENAME TO relation",
)


def ends(until: date, days: int = 365, **more: Any) -> Given:
    """A table with daily partitions, the last of which ends on the date `until`; the snapshot was taken at noon on 1 July 2026."""
    spec = Spec(
        name="t",
        leaves=days,
        columns=2,
        start=more.get("start", until - timedelta(days)),
        step=more.get("step", "day"),
        lists=more.get("lists", 0),
        default=more.get("default", False),
    )
    return Given(
        {"upkeep_event": more.get("events", [])},
        (spec,),
        sql=(*PLAIN, *more.get("sql", ())),
        generation=more.get("generation", "gp6"),
    )


def event(state: str, hours: float, detail: str = "", relation: str = "") -> Row:
    """A row of the upkeep journal, recorded this number of hours before the snapshot."""
    row = {"plan": "upkeep-1", "relation": relation, "state": state, "detail": detail}
    return {**row, "recorded_at": TAKEN_AT - timedelta(hours=hours)}


def asks(days: str, name: str = "synthetic.t", hours: float = 900) -> list[Row]:
    """Journal rows: the policy requires this number of days of cover, and a run has ended."""
    return [event("maintained", hours, days, name), *ran(5)]


def ran(hours: float) -> list[Row]:
    """Journal rows of a run that ended this number of hours before the snapshot."""
    return [event("begun", hours + 0.1), event("ended", hours, "0 failed, 3 waiting")]


def without(*days: str) -> str:
    """SQL that removes the partitions that begin on these days."""
    named = " OR ".join(f"contains(bound, 'START (''{day}')" for day in days)
    return f"DELETE FROM relation WHERE kind = 'leaf' AND ({named})"


def detaching(day: str) -> str:
    """SQL that makes the DETACH CONCURRENTLY of the partition that begins on this day an unfinished one."""
    return (
        "INSERT INTO partition_fact SELECT root, oid, 'pending detach', name FROM relation"
        f" WHERE kind = 'leaf' AND contains(bound, 'START (''{day}')"
    )


# the last partition of the first level is the default partition
default_middle = (
    "UPDATE relation SET is_default = true, bound = 'DEFAULT' WHERE oid IN (SELECT max(oid) FROM"
    " relation WHERE kind = 'intermediate')"
)


def spelled(text: str) -> str:
    """SQL that writes the dates of all bounds in another format: \\1, \\2 and \\3 are year, month and day."""
    return (
        r"UPDATE relation SET bound = regexp_replace(bound, '''(\d+)-(\d+)-(\d+)''::date',"
        f" '{text}', 'g') WHERE bound IS NOT NULL"
    )


NUMBERS = "UPDATE partition_key SET key_types = 'integer'"


# rule → snapshots with the severity that the rule must report; None if it must report nothing
CASES: dict[str, list[tuple[Given, Severity | None]]] = {
    "segment-catalog-bloat": [
        (bloated(130 * MIB, 10 * MIB), C),
        (bloated(120 * MIB, 10 * MIB), W),  # 12 × is not over 12
        (bloated(51 * MIB, 10 * MIB), W),
        (bloated(50 * MIB, 10 * MIB), None),
        (bloated(20 * MIB, 4 * MIB + 1), None),
        (bloated(18 * MIB, 3 * MIB), N),  # over the factor, but only 15 MB
        (bloated(31 * MIB, 10 * MIB, "gp7"), W),
        (bloated(30 * MIB, 10 * MIB, "gp7"), None),
        (bloated(101 * MIB, 10 * MIB, "gp7"), C),
        (bloated(41 * MIB, 10 * MIB, "pg15", content=-1), W),
        (bloated(40 * MIB, 10 * MIB, "pg15", content=-1), None),
        (bloated(100 * MIB, 0, heap_needed=None), None),  # the needed size is not known
    ],
    "auxiliary-relation-bloat": [
        (auxiliary(2 * MIB, 256 << 10), N),
        (auxiliary(5 * MIB, MIB), None),  # 5 × is not over 5
        (auxiliary(20 * MIB, 3 * MIB), W),
        (auxiliary(10 * MIB, 3 * MIB, "gp7"), N),  # 3.3 ×
        (auxiliary(MIB + (32 << 10), 0), N),  # no rows: counts as one page
        (auxiliary(MIB - 1, 0), None),
        (auxiliary(90 * MIB, None), None),  # not counted: the needed size is not known
        (auxiliary(90 * MIB, 0, "pg15"), None),
        (Given(), None),
    ],
    "segments-diverge": [
        (sized(90 * MIB, 50 * MIB), W),
        (sized(75 * MIB, 50 * MIB), None),
        (sized(76 * MIB, 50 * MIB), W),
        (sized(30 * MIB, 15 * MIB), None),  # twice as large, but only by 15 MB
        (Given({"catalog": [catalog("pg_class", 0, 90 * MIB, MIB)]}, segments=1), None),
    ],
    "segment-rows-differ": [
        (class_rows(500, 500, 501, 500), N),
        (class_rows(500, 500, 499, 500), N),
        (class_rows(500, 500, 500, 500), None),
        (class_rows(500), None),
    ],
    "bootstrap-rows-displaced": [
        (started(c=38, s0=511, s1=40), None),
        (started(c=38, s0=512, s1=40), N),  # 16 MB in pages of 32 KB
        (started(c=38, s0=5119, s1=40), N),
        (started(c=5120, s0=38), W),
        (started("pg15", c=2047), None),
        (started("pg15", c=2048), N),
        (started("pg15", c=20480), W),
        (Given(), None),
    ],
    "statement-memory": [
        (wide(202, **QUEUE), None),  # 204 × 100 KB fit in 20 MB
        (wide(203, **QUEUE), W),
        (wide(203, **{**QUEUE, "optimizer": "on"}), N),
        (wide(203, **{**QUEUE, "gp_resource_manager": "none"}), W),
        (wide(203, **{**QUEUE, "gp_resource_manager": "group"}), None),
        (wide(203, **QUEUE, gp_resqueue_memory_policy="none"), None),
        (wide(203, **QUEUE, gp_resqueue_memory_policy="auto"), W),
        (wide(203, **{**QUEUE, "statement_mem": "\u00b2"}), None),
        (wide(203, generation="pg15", **QUEUE), None),
        (wide(2000), None),  # the setting was not read
    ],
    "session-memory": [
        (wide(294, columns=100), None),  # 40.2 + 8.5 × 100 KB per leaf on each segment
        (wide(295, columns=100), N),
        (wide(1177, columns=100, gp_vmem_protect_limit="8192"), N),
        (wide(1178, columns=100, gp_vmem_protect_limit="8192"), W),
        (wide(1178, columns=100, gp_vmem_protect_limit="512"), W),
        (wide(1178, columns=100, generation="gp7"), W),
        (wide(2000, columns=100, generation="pg15"), None),  # 48 KB per leaf
        (wide(6000, columns=100, generation="pg15"), N),
        (Given(), None),
    ],
    "long-ddl": [
        (wide(3500), None),
        (wide(8000), N),
        (wide(3500, generation="pg15"), None),
        (Given({"timing": timed("speed", n=1, min_ms=14.0)}, specs=wide(3500).specs), N),
        (Given(), None),
    ],
    "lock-manager-waits": [
        (Given({"timing": timed("lock manager waits", n=0, content=-1)}), None),
        (waits((9, 0), (4, 1)), W),
        (
            Given(
                {**waits((9, 2)).rows}, specs=(Spec(name="t", leaves=20, columns=2, bytes=None),)
            ),
            W,
        ),
        (waits((9, 3), (9, 3), generation="pg15"), W),
        (waits((9, 0), (9, 0)), None),
        (Given(), None),
    ],
    "transactions-age": [
        (aged(773_741_822), None),  # half of 2³¹ − 1 − 100 M − 500 M
        (aged(773_741_823), W),
        (aged(1_547_483_646), W),
        (aged(1_547_483_647), C),
        (aged(799, xid_stop_limit=2_147_482_000, xid_warn_limit=47), None),
        (aged(800, xid_stop_limit=2_147_482_000, xid_warn_limit=47), W),
        (aged(1600, xid_stop_limit=2_147_482_000, xid_warn_limit=47), C),
        (aged(3000, **ON), None),  # Greenplum 6 has no autovacuum of user databases
        (aged(1999, generation="gp7", **ON), None),
        (aged(2000, generation="gp7", **ON), W),
        (aged(2000, generation="gp7", **{**ON, "autovacuum": "off"}), None),
        (aged(2000, generation="pg15", content=-1, **ON), W),
        (aged(2000, generation="pg15", content=-1, **{**ON, "autovacuum": "off"}), W),
        (aged(1999, generation="pg15", content=-1, **{**ON, "autovacuum": "off"}), None),
        (aged(2_107_483_647, generation="pg15", content=-1, **ON), C),
        (aged(2_047_483_647, generation="pg19", content=-1, **ON), C),
        (aged(5, 1999, generation="pg15", content=-1, **MULTI_ON), None),
        (aged(5, 2000, generation="pg15", content=-1, **MULTI_ON), W),
        (aged(5, 2_137_483_547, generation="gp7"), C),
        (aged(5, 2_137_483_546, generation="gp7"), W),
        (Given(), None),
        (aged(2_047_483_646), C),
        (aged(2_047_483_647), C),  # the server refuses transactions
        (aged(2_144_483_646, generation="pg19", content=-1), C),
        (aged(2_144_483_647, generation="pg19", content=-1), C),
        (aged(5, 2_144_483_647, generation="pg19", content=-1), C),
    ],
    "catalog-not-vacuumed": [
        (vacuumed(8), W),
        (vacuumed(6.9), None),
        (vacuumed(None), W),
        (vacuumed(None, "pg_attribute"), W),
        (vacuumed(None, "pg_type"), None),
        (vacuumed(None, heap=11 * MIB), None),  # less than 4 MB reclaimable
        (vacuumed(None, generation="pg15"), None),
    ],
    "autovacuum-off": [
        (setting("autovacuum", "off", "pg15"), W),
        (setting("track_counts", "off", "pg15"), W),
        (setting("autovacuum", "on", "pg15"), None),
        (setting("autovacuum", "off", "gp7"), None),
    ],
    "catalog-horizon-held": [
        (Given(holder("session", 3601)), W),
        (Given(holder("session", 3600)), None),
        (Given(holder("prepared transaction", 4000)), W),
        (Given(holder("replication slot", None, 1_000_001)), W),
        (Given(holder("replication slot", None, 1_000_000)), None),
        # the catalogs are bloated
        (Given(BLOATED.rows | holder("prepared transaction", 60, 1_000)), W),
        (Given(BLOATED.rows | holder("replication slot", None, 1_000)), W),
        (Given(BLOATED.rows | holder("prepared transaction", 60, 999)), None),
    ],
    "leftover-temp-schemas": [
        (Given({"temp_schema": [{"schema": "pg_temp_9", "relations": 3, "alive": False}]}), W),
        (Given({"temp_schema": [{"schema": "pg_temp_9", "relations": 0, "alive": False}]}), None),
        (Given({"temp_schema": [{"schema": "pg_temp_9", "relations": 3, "alive": True}]}), None),
        (
            Given({"temp_schema": [{"schema": "pg_temp_9", "relations": 3, "alive": None}]}),
            None,
        ),  # the server does not report this
    ],
    "temp-table-churn": [
        (
            Given(
                {
                    "catalog": [catalog("pg_class", -1, MIB, MIB)],
                    "class_count": [counted(-1, 899), counted(-1, 101, persistence="t")],
                }
            ),
            N,
        ),
        (
            Given(
                {
                    "catalog": [catalog("pg_class", -1, MIB, MIB)],
                    "class_count": [counted(-1, 910), counted(-1, 101, persistence="t")],
                }
            ),
            None,
        ),
        (
            Given(
                {
                    "catalog": [catalog("pg_class", -1, MIB, MIB)],
                    "class_count": [counted(-1, 100), counted(-1, 100, persistence="t")],
                }
            ),
            None,
        ),
    ],
    "segment-down": [
        (Given(sql=(instance_down,)), C),
        (Given(sql=(swapped,)), W),
        (Given({"coverage": [{"probe": "x", "status": "segment down", "reason": "gone"}]}), C),
        (Given({"coverage": [{"probe": "x", "status": "denied", "reason": "no"}]}), None),
    ],
    "leaf-count-near-limit": [
        (leaves(120_001, tables=2), W),  # limit: 300,000 column-oriented leaves
        (leaves(150_001, tables=2), C),
        (leaves(119_999, tables=2), None),
        (leaves(120_001, "ao_row", tables=2), None),
        (leaves(400_000, "ao_row", tables=2), W),  # limit: 1,000,000 leaves of all kinds
        (leaves(120_001, tables=2, generation="pg15"), None),
    ],
    "table-has-too-many-leaves": [
        (leaves(20_001), W),
        (leaves(16_000), W),
        (leaves(15_999), None),
        (leaves(26_300), C),  # limit: 32,767 partitions of one parent
        (leaves(15_999, tables=2), None),
    ],
    "empty-leaves": [
        (leaves(1000, empty=100), W),
        (leaves(1000, empty=99), None),
        (leaves(1100, empty=100), None),  # less than 10 %
    ],
    "default-partition-holds-rows": [
        (Given(specs=(Spec(name="t", leaves=3, columns=2, default=True, default_filled=True),)), N),
        (Given(specs=(Spec(name="t", leaves=3, columns=2, default=True),)), None),
        # a default partition that is partitioned itself, with and without rows
        (
            Given(
                specs=(Spec(name="t", leaves=3, columns=2, lists=2),), sql=(*PLAIN, default_middle)
            ),
            N,
        ),
        (
            Given(
                specs=(Spec(name="t", leaves=3, columns=2, lists=2),),
                sql=(*PLAIN, default_middle, "UPDATE relation SET filled = false"),
            ),
            None,
        ),
    ],
    "premake-cover-low": [
        (ends(date(2026, 7, 3)), None),
        (ends(date(2026, 7, 2)), W),  # half a day ahead
        (ends(date(2026, 7, 2), default=True), N),
        (ends(date(2026, 7, 2), lists=3), W),
        (ends(date(2026, 7, 2), generation="gp7"), W),
        (ends(date(2026, 6, 29)), W),  # two and a half days ago: may still be in use
        (ends(date(2026, 6, 28)), None),
        (ends(date(2026, 7, 1), 13, start=date(2025, 6, 1), step="month"), W),
        (ends(date(2026, 6, 1), 12, start=date(2025, 6, 1), step="month"), W),
        (ends(date(2026, 5, 1), 11, start=date(2025, 6, 1), step="month"), None),
        (ends(date(2026, 7, 6), events=asks("5")), W),
        (ends(date(2026, 7, 6), events=asks("4.5")), None),
        (ends(date(2026, 7, 6), events=[*asks("5"), *asks("3", hours=800)]), None),
        (ends(date(2026, 7, 6), events=[*asks("3"), *asks("5", hours=800)]), W),
        # the policy no longer requires it
        (ends(date(2026, 7, 6), events=[*asks("5"), *asks("", hours=800)]), None),
        (ends(date(2026, 7, 6), events=asks("5", "synthetic.u")), None),
        (ends(date(2026, 7, 1), events=asks("5")), C),
        (ends(date(2026, 7, 1), events=asks("5"), default=True), N),
        (ends(date(2026, 6, 1), events=asks("5")), C),
        (ends(date(2026, 1, 1), events=asks("5")), C),  # independent of the age
        # among many other tables whose partitions have also ended
        (
            Given(
                {"upkeep_event": asks("5")},
                (
                    *(
                        Spec(
                            name=f"x{n}", leaves=12, columns=2, step="month", start=date(2025, 6, 1)
                        )
                        for n in range(25)
                    ),
                    Spec(name="t", leaves=9, columns=2, start=date(2026, 6, 22)),
                ),
            ),
            C,
        ),
        # dates stored as integers
        (ends(date(2026, 7, 2), sql=(spelled(r"\1\2\3"), NUMBERS)), W),
        (ends(date(2026, 7, 3), sql=(spelled(r"\1\2\3"), NUMBERS)), None),
        (ends(date(2026, 7, 2), sql=(spelled(r"1\1\2\3"), NUMBERS)), None),  # not dates
        (ends(date(2026, 7, 2), sql=(spelled("garbage"),)), None),
        (
            ends(
                date(2026, 7, 2),
                sql=(
                    spelled(r"\1\2\3"),
                    NUMBERS,
                    "UPDATE relation SET bound = 'START (0) END (9)' WHERE name = 't_1_prt_1'",
                ),
            ),
            None,
        ),  # cover is unknown
        (ends(date(2026, 7, 2), sql=("UPDATE snapshot SET grain = 'root'",)), None),
    ],
    "partition-gap": [
        (ends(date(2026, 7, 8)), None),
        (ends(date(2026, 7, 8), sql=(without("2026-07-05"),)), W),
        (ends(date(2026, 7, 8), sql=(without("2026-07-05"),), default=True), N),
        (ends(date(2026, 7, 8), sql=(detaching("2026-07-05"),)), W),
        (ends(date(2026, 7, 8), sql=(without("2026-06-20"),)), N),
        (ends(date(2026, 7, 8), sql=(without("2026-05-20"),)), None),
        # a gap that ended in the last five weeks, but began before them
        (ends(date(2026, 7, 8), sql=(without(*(f"2026-05-{n}" for n in range(10, 32))),)), N),
        # the last partition counts, or is too far from the others to count
        (ends(date(2026, 7, 18), sql=(without(*(f"2026-07-{n:02}" for n in range(5, 17))),)), W),
        (ends(date(2026, 7, 18), sql=(without(*(f"2026-07-{n:02}" for n in range(4, 17))),)), None),
    ],
    "upkeep-overdue": [
        (Given({"upkeep_event": ran(47)}), None),
        (Given({"upkeep_event": ran(49)}), W),
        (Given({"upkeep_event": [*ran(60), event("begun", 1)]}), W),
        (Given({"upkeep_event": [event("failed", 1.05, "no", "s.t"), *ran(1)]}), W),
        (
            Given({"upkeep_event": [event("failed", 29.05, "no", "s.t"), *ran(29), *ran(5)]}),
            None,
        ),
        (Given({"upkeep_event": [event("maintained", 2000, "5", "s.t")]}), W),
        (Given(), None),
    ],
    "lock-slots-too-few": [
        (leaves(1000, "heap", settings=slots(2002)), W),  # 2,003 locks: a row type and a CHECK each
        (leaves(1000, "heap", settings=slots(2503)), N),
        (leaves(1000, "heap", settings=slots(2504)), None),
        (leaves(1000, "heap", settings={}), None),  # the settings were not read
    ],
    "append-only-tables-near-limit": [
        (leaves(1000, settings={"max_appendonly_tables": 1250}), N),
        (leaves(1000, settings={"max_appendonly_tables": 1251}), None),
        (leaves(1000, "heap", settings={"max_appendonly_tables": 1000}), None),
        (leaves(1000, settings={"max_appendonly_tables": 1000}, generation="gp7"), None),
    ],
    "catalog-owned-by-few": [
        (
            Given(
                {
                    "catalog": [catalog("pg_class", -1, MIB, MIB)],
                    "class_count": [counted(-1, 1, 4000)],
                },
                (Spec(name="t", leaves=100, bytes=None),),
            ),
            INFO,
        ),
        (
            Given(
                {
                    "catalog": [catalog("pg_class", -1, MIB, MIB)],
                    "class_count": [counted(-1, 1, 400_000)],
                },
                (Spec(name="t", leaves=100, bytes=None),),
            ),
            None,
        ),
        (
            Given(
                {
                    "catalog": [catalog("pg_class", -1, MIB, MIB)],
                    "class_count": [counted(-1, 1, 4000)],
                },
                (Spec(name="t", leaves=99, bytes=None),),
            ),
            None,
        ),
    ],
    "describe-slow": [
        (Given({"timing": timed("describe", median_ms=2001.0)}), W),
        (Given({"timing": timed("describe", median_ms=2000.0)}), None),
        (Given({"timing": timed("connect", median_ms=9000.0)}), None),
    ],
    "planning-slow": [
        (Given({"timing": timed("plan", median_ms=1001.0, leaves=9)}), N),
        (Given({"timing": timed("plan", median_ms=1000.0)}), None),
        (Given({"timing": timed("plan again", median_ms=9000.0)}), None),
    ],
    "ddl-waits": [
        (Given({"timing": timed("waiting ddl", p95_ms=10_001.0)}), W),
        (Given({"timing": timed("waiting ddl", p95_ms=10_000.0)}), None),
        (Given({"timing": timed("running ddl", p95_ms=90_000.0)}), None),
    ],
    "backup-locks-too-many": [
        (leaves(1000, settings=slots(1000)), W),  # 1000 leaves and the root
        (leaves(1000, settings=slots(1001)), N),
        (leaves(1000, settings=slots(1252)), None),
        (leaves(1000, settings={}), None),
    ],
    "files-per-host-over-guideline": [
        (Given({"file_total": every_segment(100_001, 10**12)}), W),
        (Given({"file_total": every_segment(100_000, 10**12)}), N),
        (Given({"file_total": every_segment(79_990, 10**12)}), None),
        (Given({"file_total": [files(-1, 200_000, 10**12)]}, generation="pg15"), None),
    ],
    "average-file-too-small": [
        (Given({"file_total": every_segment(2500, 2500 * 10 * MIB - 4)}), W),
        (Given({"file_total": every_segment(2500, 2500 * 10 * MIB)}), None),
        (Given({"file_total": every_segment(2499, 2499 * MIB)}), None),  # fewer than 10,000
        (Given({"file_total": [files(-1, 20_000, 20_000 * MIB)]}, generation="pg15"), None),
    ],
    "column-files-multiply": [
        (column_table(20, 200, 4 * 20 * MIB), W),
        (column_table(20, 200, 4 * 20 * MIB, tables=3), W),  # one finding for all tables
        (column_table(20, 200, 4 * 20 * 20 * MIB), None),  # files larger than 8 MB
        (column_table(2, 2000, 4 * 2 * MIB), None),  # too few columns
        (column_table(20, 100, 4 * 20 * MIB), None),  # fewer than 10,000 additional files
        (column_table(20, 200, 4 * 20 * MIB, "ao_row"), None),
    ],
    "zero-size-files": [
        (Given({"file_total": every_segment(2500, 10**12, 625)}), N),
        (Given({"file_total": every_segment(2500, 10**12, 624)}), None),
        (Given({"file_total": every_segment(2499, 10**12, 2000)}), None),
    ],
    "orphan-file-candidates": [
        (Given({"file_total": every_segment(1, 1), "orphan": [orphan("candidate")]}), N),
        (Given({"file_total": every_segment(1, 1), "orphan": [orphan("may be in use")]}), None),
        (Given({"file_total": every_segment(1, 1)}), None),
    ],
    "missing-files": [
        (Given({"file_total": every_segment(1, 1), "orphan": [orphan("missing")]}), C),
        (Given({"file_total": every_segment(1, 1), "orphan": [orphan("candidate")]}), None),
    ],
    "files-differ-from-catalog": [
        (compared(3, 2), W),
        (compared(2, 3), INFO),
        (compared(3, 3), None),
    ],
}
# rules that report several tables in one finding
ONCE = {"column-files-multiply", "empty-leaves", "zero-size-files", "missing-files"}
MANY = 100_000  # with more leaves, a snapshot takes seconds to write and to read
PAIRS = [(rule, n) for rule, cases in CASES.items() for n in range(len(cases))]
LARGE = [(rule, n) for rule, n in PAIRS if CASES[rule][n][0].leaves > MANY]
SMALLER = [pair for pair in PAIRS if pair not in LARGE]


def test_every_rule_has_a_case_where_it_speaks_and_one_where_it_is_silent() -> None:
    assert set(CASES) == set(rules.every())
    for rule, cases in CASES.items():
        assert {expected is None for _, expected in cases} == {True, False}, rule


@functools.cache
def findings(rule: str, n: int) -> tuple[Any, ...]:
    """The findings of a rule in its case of this number; tests/audit/test_uneven.py also compares them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Snapshot(CASES[rule][n][0].write(Path(folder) / "made.gpcatalog")) as snapshot,
    ):
        return tuple(rules.run(build(snapshot), [rule]))


def test_an_unfinished_detach_is_finished_before_the_range_gets_a_partition() -> None:
    remedies = [
        f.remedy for n in range(len(CASES["partition-gap"])) for f in findings("partition-gap", n)
    ]
    first = [text for text in remedies if "FINALIZE" in text]
    assert len(first) == 1
    assert first[0].startswith("finish the interrupted DETACH PARTITION CONCURRENTLY of ")


@pytest.mark.parametrize(("rule", "n"), SMALLER, ids=[f"{rule}-{n}" for rule, n in SMALLER])
def test_rule(rule: str, n: int) -> None:
    check_case(rule, n)


@pytest.mark.turns
@pytest.mark.parametrize(("rule", "n"), LARGE, ids=[f"{rule}-{n}" for rule, n in LARGE])
def test_rule_on_many_leaves(rule: str, n: int) -> None:
    check_case(rule, n)


def check_case(rule: str, n: int) -> None:
    expected = CASES[rule][n][1]
    found = findings(rule, n)
    if expected is None:
        assert not found, found
        return
    assert found
    assert rule not in ONCE or len(found) == 1
    assert found[0].severity is expected, found[0]
    for finding in found:
        assert finding.rule == rule
        assert finding.title
        assert finding.remedy
        assert finding.source
        assert finding.relations_total >= len(finding.relations)
        assert all(figure.unit in ("rows", "bytes", "files", "leaves", "s", "ms", "x", "share", "locks", "transactions", "multixacts", "days", "tables",
                                   "sessions") for figure in finding.figures)  # fmt: skip


def _found(given: Given, rule: str, file: Path) -> Any:
    with Snapshot(given.write(file)) as snapshot:
        return rules.run(build(snapshot), [rule])[0]


def test_figures_and_places(tmp_path: Path) -> None:
    bloat = _found(bloated(130 * MIB, 10 * MIB), "segment-catalog-bloat", tmp_path / "1")
    assert (bloat.content, bloat.confidence) == (2, Confidence.HIGH)
    assert {f.name: f.value for f in bloat.figures} == {
        "bloat factor": 13.0, "limit": 12.0, "bytes": 130 * MIB, "reclaimable": 120 * MIB, "live rows": 1000,
    }  # fmt: skip
    assert "1 of 2 instances" in bloat.detail
    estimated = bloated(130 * MIB, 10 * MIB, rows_basis="estimate")
    assert _found(estimated, "segment-catalog-bloat", tmp_path / "2").confidence is Confidence.LOW
    host = _found(
        Given({"file_total": every_segment(100_001, 10**12)}),
        "files-per-host-over-guideline",
        tmp_path / "3",
    )
    assert host.figures[0].value == 100_001
    missing = _found(
        Given({"file_total": every_segment(1, 1), "orphan": [orphan("missing", 3)]}),
        "missing-files",
        tmp_path / "4",
    )
    assert missing.content == 3
    assert "base/1/4711 on segment 3" in missing.detail
    owned = _found(leaves(20_001), "table-has-too-many-leaves", tmp_path / "5")
    assert owned.relations == ("synthetic.t0",)
    assert owned.figures[0].value == 20_001


def test_what_prevents_vacuum_is_named_with_the_bloat(tmp_path: Path) -> None:
    both = BLOATED.rows | {
        "horizon": [
            *holder("prepared transaction", 60, 15_000)["horizon"],
            *holder("replication slot", None, 14_000)["horizon"],
            *holder("session", 1, 10)["horizon"],
        ]
    }
    found = _found(Given(both), "segment-catalog-bloat", tmp_path / "1")
    assert "before prepared transaction 4242, replication slot 4242 end" in found.detail
    assert found.remedy.startswith(
        "end what prevents the removal of dead rows, then run the script"
    )
    alone = _found(BLOATED, "segment-catalog-bloat", tmp_path / "2")
    assert "VACUUM cannot" not in alone.detail
    with Snapshot(Given(both).write(tmp_path / "3" / "made.gpcatalog")) as snapshot:
        written = script(build(snapshot))
    assert "--   prepared transaction 4242 (15,000 transactions)" in written
    assert "--   replication slot 4242 (14,000 transactions)" in written


def test_the_worst_comes_first(tmp_path: Path) -> None:
    rows = {
        **holder("session", 9999),
        "temp_schema": [{"schema": "pg_temp_9", "relations": 3, "alive": False}],
    }
    with Snapshot(Given(rows, sql=(instance_down,)).write(tmp_path / "made.gpcatalog")) as snapshot:
        found = rules.run(build(snapshot))
    severities = [f.severity for f in found]
    assert severities == sorted(severities, reverse=True)
    assert found[0].rule == "segment-down"


def refusing(generation: str, *names: str) -> Given:
    """A snapshot of a server that refuses new transactions, because these databases are too old."""
    rows = [
        {"content": -1, "kind": "database", "name": name, "xid_age": 2_147_000_000, "multixact_age": 5}
        for name in names
    ]  # fmt: skip
    return Given(
        {
            **bloated(130 * MIB, 10 * MIB).rows,
            "age": rows,
        },
        generation="pg15" if generation == "pg13" else generation,
        segments=0 if generation.startswith("pg") else 4,
        sql=(f"UPDATE snapshot SET generation = '{generation}'",),
    )


@pytest.mark.parametrize(
    ("generation", "names", "remedy"),
    [
        ("pg19", ["xw"], "act now, statements that write fail already: as superuser, run vacuumdb without --full and --freeze on database xw"),
        ("pg13", ["xw"], "act now, statements that write fail already: as superuser, run VACUUM (TRUNCATE off) on database xw"),
        ("pg19", ["b c", "a", "template0"], "act now, statements that write fail already: as superuser, run vacuumdb without --full and --freeze on each"
         " of the databases a, 'b c'; for template0, wait for autovacuum, or run VACUUM in single-user mode (postgres --single)"),
        ("pg19", ["template0"], "act now, statements that write fail already: for template0, wait for autovacuum, or run VACUUM in single-user mode"
         " (postgres --single)"),
        ("gp6", ["xw", "y"], "act now, statements that write fail already: lower xid_stop_limit by 10,000,000 on all instances and restart the cluster;"
         " as superuser, run vacuumdb --freeze on each of the databases xw, y; then set xid_stop_limit as before and restart"),
    ],
)  # fmt: skip
def test_a_server_that_refuses_transactions_comes_first(
    generation: str, names: list[str], remedy: str, tmp_path: Path
) -> None:
    """Its remedy is urgent, names all databases, and comes before remedies that would fail."""
    with Snapshot(refusing(generation, *names).write(tmp_path / "made.gpcatalog")) as snapshot:
        report = build(snapshot)
    report = msgspec.structs.replace(report, findings=rules.run(report))
    assert len({f.rule for f in report.findings if f.severity is C}) > 1
    assert report.findings[0].rule == "transactions-age"
    assert report.findings[0].remedy == remedy
    assert "; the server refuses new ones (limit " in report.findings[0].title
    assert combine([report], []).findings[0].remedy == remedy


def test_a_standby_names_its_primary(tmp_path: Path) -> None:
    """A remedy that writes is for the primary; a session of the standby is ended on the standby."""
    given = Given(
        {**holder("session", 9999), **setting("autovacuum", "off", "pg19").rows},
        generation="pg19",
        segments=0,
        sql=("UPDATE snapshot SET standby = true",),
    )
    with Snapshot(given.write(tmp_path / "made.gpcatalog")) as snapshot:
        found = {f.rule: f for f in rules.run(build(snapshot))}
    off = found["autovacuum-off"]
    assert off.remedy.startswith("on the primary (this server is a standby): set autovacuum = on")
    assert off.title.startswith("autovacuum is off on this standby: if it is off on the primary")
    assert (off.severity, off.confidence) == (N, Confidence.LOW)
    assert found["catalog-horizon-held"].remedy.startswith("wait for it, or end it: ")


def test_an_active_slot_points_to_its_standby(tmp_path: Path) -> None:
    """With hot_standby_feedback, a transaction of the standby holds the rows."""
    rows = holder("replication slot", None, 2_000_000)
    for state, remedy in (
        ("active", "end the old transaction on its standby"),
        ("inactive", "restart its consumer, or drop"),
    ):
        rows["horizon"][0]["detail"] = state
        with Snapshot(Given(rows).write(tmp_path / f"{state}.gpcatalog")) as snapshot:
            (found,) = [f for f in rules.run(build(snapshot)) if f.rule == "catalog-horizon-held"]
        assert found.remedy.startswith(remedy)
