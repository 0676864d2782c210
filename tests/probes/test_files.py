"""Files as counted by the audit equal the files in the data directories, on every server and after each kind of change."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import duckdb
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcatalog.audit.files import TableFiles, build_files
from gpcatalog.capacity.limits import GIB, MIB, bucket_of
from gpcatalog.errors import CatalogError
from gpcatalog.lab import process
from gpcatalog.probes import file_sums
from gpcatalog.probes.collect import Collector, collect
from gpcatalog.probes.connection import GuardedConnection, Session, Timeouts, connect
from gpcatalog.probes.files import FileSection
from gpcatalog.probes.listing import MOST_ROWS, Listing
from gpcatalog.store.snapshot import Snapshot, Writer
from gpcatalog.store.statements import Statements
from tests.conftest import fresh_database

NAME = re.compile(r"(?P<temp>t[0-9]*_)?(?P<node>[0-9]+)(?P<fork>_(fsm|vm|init))?(\.[0-9]+)?")


@dataclass
class Place:
    """A database on a live server, and the data directories of its instances by content ID."""

    dsn: str
    data: dict[int, Path]
    greenplum: int  # 0 on PostgreSQL
    scratch: Path  # a folder that the server may use for a tablespace


def _greenplum(request: pytest.FixtureRequest, generation: int) -> Place:
    cluster = request.getfixturevalue(f"gp{generation}_cluster")
    dsn = fresh_database(request.getfixturevalue(f"gp{generation}_dsn"), "files")
    return Place(
        dsn, {content: cluster.data(content) for content in range(3)}, generation, cluster.folder
    )


def _postgres(request: pytest.FixtureRequest, fixture: str) -> Place:
    server = request.getfixturevalue(
        {"pg_dsn": "pg15_server", "pgnew_dsn": "pgnew_server"}[fixture]
    )
    dsn = fresh_database(request.getfixturevalue(fixture), "files")
    with psycopg.connect(dsn, autocommit=True) as conn:
        data = Path(conn.execute("SHOW data_directory").fetchone()[0])
    del server
    return Place(dsn, {-1: data}, 0, data.parent)


@pytest.fixture(params=["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param.startswith("gp"):
        return _greenplum(request, int(request.param[2]))
    return _postgres(request, request.param)


@pytest.fixture(params=["gp6_dsn", "gp7_dsn"])
def cluster(request: pytest.FixtureRequest) -> Place:
    return _greenplum(request, int(request.param[2]))


@pytest.fixture(params=["pg_dsn", "pgnew_dsn"])
def server(request: pytest.FixtureRequest) -> Place:
    return _postgres(request, request.param)


@dataclass
class Owners:
    """Owners of files: (content, temporary, filenode) → OID, and OID → (root, part)."""

    nodes: dict[tuple[int, bool, int], int]
    parts: dict[int, tuple[int, str]]
    indexes: set[int]
    folders: list[str]


def owners(conn: psycopg.Connection, place: Place) -> Owners:
    """Read the owners with simple statements, joined in Python and not by the server."""

    def pairs(statement: str) -> list[tuple]:
        return conn.execute(statement).fetchall()

    where = "gp_dist_random('pg_catalog.pg_class')" if place.greenplum else "pg_catalog.pg_class"
    content = "gp_segment_id" if place.greenplum else "-1"
    files = "relkind IN ('r', 'm', 'i', 't', 'S', 'o', 'b', 'M')" + (
        " AND relstorage NOT IN ('x', 'f', 'v')" if place.greenplum == 6 else ""
    )
    nodes = {
        (c, temp, node): oid
        for c, temp, node, oid in pairs(
            f"SELECT {content}, relpersistence = 't', pg_relation_filenode(oid)::int8, oid::int8 FROM {where}"
            f" WHERE {files} AND reltablespace <> 1664"
        )
    }
    kinds = dict(pairs("SELECT oid::int8, relkind::text FROM pg_class"))
    of_index = dict(pairs("SELECT indexrelid::int8, indrelid::int8 FROM pg_index"))
    owner = {
        child: (oid, "toast")
        for child, oid in pairs(
            "SELECT reltoastrelid::int8, oid::int8 FROM pg_class WHERE reltoastrelid <> 0"
        )
    }
    if place.greenplum:
        for oid, *aux in pairs(
            "SELECT relid::int8, segrelid::int8, visimaprelid::int8, blkdirrelid::int8 FROM pg_appendonly"
        ):
            owner |= {child: (oid, "auxiliary") for child in aux if child}
    if place.greenplum == 6:
        parent = dict(
            pairs(
                "SELECT parchildrelid::int8, parrelid::int8 FROM pg_partition_rule r JOIN pg_partition p ON p.oid = r.paroid"
            )
        )
    else:
        parent = dict(
            pairs(
                "SELECT oid::int8, pg_partition_root(oid)::oid::int8 FROM pg_class WHERE relispartition AND relkind IN ('r', 'p')"
            )
        )
    parts = {}
    for oid, kind in kinds.items():
        part = "index" if oid in of_index else "sequence" if kind == "S" else "main"
        table = of_index.get(oid, oid)
        if table in owner:
            table, part = owner[table]
        parts[oid] = (parent.get(table, table), part) if table >= 16384 else (0, "catalog")
    folders = pairs(
        "SELECT DISTINCT regexp_replace(pg_relation_filepath(oid), '/[^/]+$', '') FROM pg_class"
        f" WHERE {files} AND reltablespace <> 1664 AND pg_relation_filepath(oid) IS NOT NULL"
    )
    return Owners(nodes, parts, set(of_index), [folder for (folder,) in folders])


def walk(place: Place, found: Owners) -> Iterator[tuple[int, bool, int, bool, int]]:
    """(content, temporary, filenode, fork, bytes) of every file of a relation, from the directories."""
    for content, data in place.data.items():
        for folder in found.folders:
            for entry in os.scandir(data / folder):
                name = NAME.fullmatch(entry.name)
                if name:
                    yield (
                        content,
                        bool(name["temp"]),
                        int(name["node"]),
                        bool(name["fork"]),
                        entry.stat().st_size,
                    )


def take_snapshot(place: Place, folder: Path, *, summed: bool = False) -> Snapshot:
    """A snapshot with only the sections that files need; a complete audit takes five times as long.

    summed: whether the server sums the files, as if there are many
    """
    most = 0 if summed else MOST_ROWS
    with (
        mock.patch("gpcatalog.probes.files.MOST_ROWS", most),
        connect(place.dsn) as session,
        Writer(folder / "files.gpcatalog") as writer,
    ):
        collector = Collector(session, writer, lambda _: None)
        collector._instances()
        collector._relations()
        files = FileSection(session, writer, collector._covered, collector.contents)
        listing = files.begin()
        assert listing.summed == summed
        collector._filled(files, listing)
        collector._root_totals()
        collector._header(datetime.now(UTC), 0.0)
        return Snapshot(writer.finish())


def compare(place: Place, conn: psycopg.Connection, folder: Path) -> int:
    """Compare every figure of the section with the directories, summed by gpcatalog and by the server; return the number of files."""
    found = {compare_with(place, conn, folder, summed=summed) for summed in (True, False)}
    assert len(found) == 1
    return found.pop()


def compare_with(place: Place, conn: psycopg.Connection, folder: Path, *, summed: bool) -> int:
    with take_snapshot(place, folder, summed=summed) as snapshot:
        found = owners(conn, place)
        tables = {r["root"] for r in snapshot.rows("SELECT DISTINCT root FROM relation")}
        totals: dict[tuple[int, int, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
        block = snapshot.header["block_size"]
        buckets: Counter[tuple[int, str]] = Counter()
        main: Counter[int] = Counter()
        for content, temp, node, fork, size in walk(place, found):
            oid = found.nodes.get((content, temp, node))
            root, part = found.parts[oid] if oid else (0, "unowned")
            if oid and root and root not in tables:
                root, part = 0, "other"
            if fork:
                part = "fork"
            elif part == "main":
                main[oid] += 1
            hollow = size if size == block and oid in found.indexes and root and not fork else 0
            for n, more in enumerate((1, size, size == 0, size <= MIB, hollow)):
                totals[content, root, part][n] += more
            buckets[content, bucket_of(size).label] += 1
        stored = {
            (r["content"], r["root"], r["part"]): [
                r["files"],
                r["bytes"],
                r["empty_files"],
                r["small_files"],
                r["hollow_bytes"],
            ]
            for r in snapshot.rows("SELECT * FROM file_total WHERE basis = 'directory'")
        }
        assert not snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
        assert stored == dict(totals)
        in_buckets = {
            (r["content"], r["bucket"]): r["files"]
            for r in snapshot.rows(
                "SELECT content, bucket, sum(files) AS files FROM file_bucket GROUP BY ALL"
            )
        }
        assert in_buckets == dict(buckets)
        leaves = snapshot.rows(
            "SELECT oid, files FROM relation WHERE files IS NOT NULL AND kind IN ('leaf', 'table')"
        )
        assert {r["oid"]: r["files"] for r in leaves} == {r["oid"]: main[r["oid"]] for r in leaves}
        # the segment file lists of tables agree with the directory wherever both are known
        both = snapshot.rows(
            "SELECT d.root, d.content, d.files - d.empty_files AS files, c.files - c.empty_files AS listed FROM file_total c"
            " LEFT JOIN file_total d ON d.basis = 'directory' AND d.root = c.root AND d.content = c.content AND d.part = c.part"
            " WHERE c.basis = 'catalog'"
        )
        assert all(r["files"] == r["listed"] for r in both), [
            r for r in both if r["files"] != r["listed"]
        ]
        if place.greenplum:
            assert both
        assert not snapshot.rows("SELECT * FROM orphan WHERE kind IN ('candidate', 'missing')")
        assert not snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
        return sum(buckets.values())


STORAGES = {
    "heap": "",
    "ao_row": "WITH (appendonly=true)",
    "ao_column": "WITH (appendonly=true, orientation=column)",
}
FILL = "INSERT INTO {} SELECT n, n % 5, repeat('x', n % 50), n FROM generate_series(1, 300) n"


def _make_greenplum(conn: psycopg.Connection) -> None:
    for storage, options in STORAGES.items():
        columns = "(a int, k int, t text, n bigint)"
        by_k = "PARTITION BY RANGE (k) (START (0) END (8) EVERY (1), DEFAULT PARTITION rest)"
        conn.execute(f"CREATE TABLE {storage}_plain {columns} {options} DISTRIBUTED BY (a)")
        conn.execute(f"CREATE TABLE {storage}_empty {columns} {options} DISTRIBUTED BY (a)")
        conn.execute(f"CREATE TABLE {storage}_parted {columns} {options} DISTRIBUTED BY (a) {by_k}")
        conn.execute(
            f"CREATE TABLE {storage}_born {options} AS SELECT n AS a, 'x'::text AS t FROM generate_series(1, 50) n DISTRIBUTED BY (a)"
        )
        conn.execute(f"CREATE INDEX {storage}_n ON {storage}_parted (n)")
    conn.execute("CREATE SEQUENCE counter")
    conn.execute("CREATE TEMP TABLE mine (a int, t text) DISTRIBUTED BY (a)")


@pytest.mark.long
def test_greenplum_after_everything(cluster: Place, tmp_path: Path) -> None:
    space = cluster.scratch / "space"
    space.mkdir(exist_ok=True)
    process.hand_over(space)
    counts = []
    with (
        psycopg.connect(cluster.dsn, autocommit=True) as conn,
        psycopg.connect(cluster.dsn) as other,
    ):
        conn.execute("SET client_min_messages = error")
        _make_greenplum(conn)
        tables = [f"{storage}_{kind}" for storage in STORAGES for kind in ("plain", "parted")]

        def step(*statements: str) -> None:
            for statement in statements:
                conn.execute(statement)
            counts.append(compare(cluster, conn, tmp_path))

        step()
        step(
            *[FILL.format(table) for table in tables],
            "INSERT INTO mine SELECT n, 'x' FROM generate_series(1, 9) n",
        )
        # two writers at the same time: the second creates segment files of its own
        for table in tables:
            other.execute(FILL.format(table))
        for table in tables:
            conn.execute(FILL.format(table))
        other.commit()
        step()
        assert counts[2] > counts[1] > counts[0]
        step(*[f"DELETE FROM {table} WHERE a % 2 = 0" for table in tables], "VACUUM")
        columns = [
            f"ALTER TABLE {table} {what}"
            for table in tables
            for what in ("ADD COLUMN m int DEFAULT 5", "DROP COLUMN t")
        ]
        step(
            *columns,
            *[
                f"INSERT INTO {table} SELECT n, n % 5, n, n FROM generate_series(1, 90) n"
                for table in tables
            ],
        )
        step(*[f"ALTER TABLE {table} SET DISTRIBUTED RANDOMLY" for table in tables])
        step(
            "TRUNCATE " + ", ".join(tables[::2]),
            f"CREATE TABLESPACE files_space LOCATION '{space}'",
        )
        step(f"CREATE TABLE elsewhere (a int, t text) {STORAGES['ao_column']} TABLESPACE files_space DISTRIBUTED BY (a)",
             "INSERT INTO elsewhere SELECT n, 'x' FROM generate_series(1, 90) n")  # fmt: skip
        step("DROP TABLE elsewhere", "DROP TABLESPACE files_space")
    print("files, step by step:", counts)


def test_postgres_after_everything(server: Place, tmp_path: Path) -> None:
    space = server.scratch / "space"
    space.mkdir(exist_ok=True)
    process.hand_over(space)
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        for statement in (
            "CREATE TABLE plain (id int PRIMARY KEY, t text)",
            "CREATE TABLE parted (k int, t text) PARTITION BY LIST (k)",
            "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1)",
            "CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) PARTITION BY RANGE (t)",
            "CREATE TABLE parted_2_a PARTITION OF parted_2 DEFAULT",
            "CREATE INDEX ON parted (t)",
            "CREATE UNLOGGED TABLE passing (a int PRIMARY KEY, t text)",
            "CREATE TEMP TABLE mine (a int, t text)",
            "CREATE MATERIALIZED VIEW kept AS SELECT 1 AS a",
            "CREATE SEQUENCE counter",
            f"CREATE TABLESPACE files_space LOCATION '{space}'",
            "CREATE TABLE elsewhere (a int, t text) TABLESPACE files_space",
        ):
            conn.execute(statement)
        counts = [compare(server, conn, tmp_path)]
        for table in ("plain", "passing", "mine", "elsewhere"):
            conn.execute(
                f"INSERT INTO {table} SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n"
            )
        conn.execute(
            "INSERT INTO parted SELECT 1 + n % 2, repeat('x', 50) FROM generate_series(1, 2000) n"
        )
        counts.append(compare(server, conn, tmp_path))
        conn.execute("VACUUM")
        counts.append(compare(server, conn, tmp_path))
        assert counts[2] > counts[1] > counts[0]
        conn.execute("TRUNCATE plain")
        conn.execute("VACUUM FULL parted_1")
        compare(server, conn, tmp_path)
        # more than 1 GB without writing it: pages that were never written are read as zeros, which the server accepts as new pages
        conn.execute("CREATE TABLE large (a int)")
        conn.execute("INSERT INTO large VALUES (1)")
        conn.execute("CHECKPOINT")
        file = server.data[-1] / conn.execute("SELECT pg_relation_filepath('large')").fetchone()[0]
        for name, size in (
            (file, GIB),
            (file.with_name(f"{file.name}.1"), GIB),
            (file.with_name(f"{file.name}.2"), 8192),
        ):
            with name.open("ab") as one:
                one.truncate(size)
            process.hand_over(name)
        with psycopg.connect(server.dsn) as fresh:
            assert fresh.execute("SELECT pg_relation_size('large')").fetchone()[0] == 2 * GIB + 8192
        compare(server, conn, tmp_path)
        conn.execute("DROP TABLE large, elsewhere")
        conn.execute("DROP TABLESPACE files_space")
    print("files, step by step:", counts)


FORKS = st.sampled_from(["", "_fsm", "_vm", "_init"])
NUMBERED = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "t_", "t3_", "t12_", "x", "t"]),
    st.integers(0, 2**33) | st.sampled_from(["007", ""]),
    FORKS | st.just("_fms"),
    st.integers(0, 204800).map(".{}".format) | st.sampled_from(["", ".", ".1.2", "~"]),
)


@given(NUMBERED | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12))
def test_names_are_read_as_the_server_writes_them(name: str) -> None:
    """Compared with the pattern of this module: filenode, fork, and whether the file is temporary. All other names are left out."""
    read = duckdb.execute(
        f"SELECT temp, node, fork FROM ({file_sums.READ.format(csv='(SELECT 0 AS content, $name AS file, 0 AS size)')})",
        {"name": name},
    ).fetchall()
    match = NAME.fullmatch(name)
    if match is None or not 0 < int(match["node"]) < 2**32 or not name.isascii():
        assert read == []
    else:
        assert read == [(bool(match["temp"]), int(match["node"]), bool(match["fork"]))]


STRANGERS = [
    "PG_VERSION",
    "pg_filenode.map",
    "pg_internal.init",
    "123~",
    "backup.tar",
    ".5",
    "12a",
    "1.2.3",
    "_fsm",
    "t_x",
]


def test_strangers_in_the_folder_are_left_alone(
    pg_dsn: str, pg15_server: object, tmp_path: Path
) -> None:
    dsn = fresh_database(pg_dsn, "strangers")
    with psycopg.connect(dsn, autocommit=True) as conn:
        found = conn.execute(
            "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('pg_class')"
        ).fetchone()[0]
        files = [
            file
            for file in (Path(found).with_name(name) for name in STRANGERS)
            if not file.exists()
        ]
        assert len(files) >= 7
        for file in files:
            file.write_bytes(b"x")
            process.hand_over(file)
        try:
            with (
                connect(dsn) as session,
                Snapshot(collect(session, tmp_path / "s.gpcatalog")) as snapshot,
            ):
                assert not snapshot.rows(
                    "SELECT * FROM coverage WHERE probe = 'relation_files' AND status <> 'read'"
                )
                assert not snapshot.rows("SELECT * FROM orphan WHERE kind = 'candidate'")
        finally:
            for file in files:
                file.unlink()


HOSTILE = [
    b"16384,8192",
    b"16385\n0,16386,8192",
    b"16387\\n",
    b'"16388"',
    b"16389\r",
    b"16390\t1",
    b"16391\xff\xc3",
    b"'16392",
]


def test_names_of_files_that_look_like_records(place: Place, tmp_path: Path) -> None:
    """Files of an instance whose names contain separators, quotes or no characters of the encoding."""
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        if place.greenplum:
            _make_greenplum(conn)
        found = conn.execute("SELECT pg_relation_filepath('pg_class')").fetchone()[0]
        before = compare(place, conn, tmp_path)
        files = [
            os.path.join(bytes(place.data[max(place.data)]), os.path.dirname(found).encode(), name)
            for name in HOSTILE
        ]
        try:
            for file in files:
                Path(os.fsdecode(file)).write_bytes(b"x" * 77)
                process.hand_over(Path(os.fsdecode(file)))
            assert compare(place, conn, tmp_path) == before
            assert not [o for o in orphans(place, tmp_path, False) if o["bytes"] == 77]
        finally:
            for file in files:
                os.unlink(file)


def test_a_segment_with_many_files_sums_them(place: Place, tmp_path: Path) -> None:
    """Above a number of files, an instance does not send their names."""
    with (
        mock.patch("gpcatalog.probes.files.MOST_NAMES", 10),
        connect(place.dsn) as session,
        Snapshot(collect(session, tmp_path / "s.gpcatalog")) as snapshot,
    ):
        read = {
            r["probe"] for r in snapshot.rows("SELECT probe FROM coverage WHERE status = 'read'")
        }
    assert "relation_files" in read
    assert "file_names" not in read


def orphans(place: Place, folder: Path, summed: bool) -> list[dict]:
    with take_snapshot(place, folder, summed=summed) as snapshot:
        return snapshot.rows("SELECT * FROM orphan ORDER BY content, node")


@pytest.mark.parametrize("summed", [False, True])
def test_orphans_and_missing_files(place: Place, tmp_path: Path, summed: bool) -> None:
    content = max(place.data)
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE kept (a int, t text)")
        conn.execute("CREATE TABLE dropped AS SELECT n AS a FROM generate_series(1, 1000) n")
        conn.execute("CHECKPOINT")
        folder = (
            place.data[content]
            / conn.execute("SELECT pg_relation_filepath('kept')").fetchone()[0].rsplit("/", 1)[0]
        )
        before = {(o["content"], o["node"]) for o in orphans(place, tmp_path, summed)}

        def create_file(name: str, size: int, age: float) -> Path:
            file = folder / name
            file.write_bytes(b"x" * size)
            process.hand_over(file)
            when = file.stat().st_mtime - age
            os.utime(file, (when, when))
            return file

        files = [
            create_file("4000000001", 5000, 86400),
            create_file("4000000001.1", 70, 86400),
            create_file("4000000002", 900, 0),
            create_file("4000000003", 0, 86400),
        ]
        conn.execute("DROP TABLE dropped")
        with psycopg.connect(place.dsn) as busy:
            busy.execute("CREATE TABLE unseen AS SELECT n AS a FROM generate_series(1, 1000) n")
            found = [
                o
                for o in orphans(place, tmp_path, summed)
                if (o["content"], o["node"]) not in before
            ]
            busy.rollback()
        mine = {
            o["node"]: o for o in found if o["node"] > 4_000_000_000 and o["content"] == content
        }
        assert {node: o["kind"] for node, o in mine.items()} == {
            4000000001: "candidate",
            4000000002: "may be in use",
            4000000003: "awaits a checkpoint",
        }
        assert (mine[4000000001]["files"], mine[4000000001]["bytes"]) == (2, 5070)
        assert 86400 <= mine[4000000001]["age_seconds"] < 90000
        # files that others create and drop are listed, but never as candidates
        others = [o for o in found if o["node"] < 4_000_000_000]
        assert others
        assert {o["kind"] for o in others} <= {"may be in use", "awaits a checkpoint"}
        for file in files:
            file.unlink()

        node = "pg_relation_filenode('kept')::int8"
        at = f"SELECT {node}" if not place.greenplum else (
            f"SELECT pg_relation_filenode(oid)::int8 FROM gp_dist_random('pg_class')"
            f" WHERE oid = 'kept'::regclass AND gp_segment_id = {content}"
        )  # fmt: skip
        file = folder / str(conn.execute(at).fetchone()[0])
        hidden = file.with_name("hidden")
        file.rename(hidden)
        try:
            missing = [o for o in orphans(place, tmp_path, summed) if o["kind"] == "missing"]
        finally:
            hidden.rename(file)
        assert [(o["content"], o["node"], o["files"], o["relation"]) for o in missing] == [
            (content, int(file.name), 0, "public.kept")
        ]
        assert not [o for o in orphans(place, tmp_path, summed) if o["kind"] == "missing"]


@pytest.mark.parametrize("first", ["relations", "files"])
def test_what_changes_between_relations_and_files_is_no_orphan(
    place: Place, tmp_path: Path, first: str
) -> None:
    """Tables are dropped, rewritten and created between the two: no file is a candidate or missing."""
    rows = "AS SELECT n AS a FROM generate_series(1, 1000) n"
    with (
        psycopg.connect(place.dsn, autocommit=True) as conn,
        connect(place.dsn) as session,
        Writer(tmp_path / "s.gpcatalog") as writer,
    ):
        conn.execute("SET client_min_messages = error")
        for name in ("dropped", "rewritten", "stays"):
            conn.execute(f"CREATE TABLE {name} {rows}".encode())
        conn.execute("CHECKPOINT")
        collector = Collector(session, writer, lambda _: None)
        collector._instances()
        collector._relations()
        section = FileSection(session, writer, collector._covered, collector.contents)
        now = session.rows("oldest_transaction")[0]
        # otherwise, all of these files would be too young
        now = {**now, "clock": now["clock"] + 86400, "oldest": None}
        listing = Listing(session, writer, now, summed=False)
        reads = [lambda: listing.read_relations(session), lambda: listing.read_files(session)]
        for n, read in enumerate(reads if first == "relations" else reads[::-1]):
            read()
            if n == 0:
                conn.execute("DROP TABLE dropped")
                conn.execute("VACUUM FULL rewritten")
                conn.execute(f"CREATE TABLE created {rows}".encode())
        listing.join()
        assert section.from_directories(listing)
        listed = writer.execute(
            "SELECT count(*) FROM numbered WHERE (oid IS NULL) <> (bucket IS NULL)"
        )
        kinds = {kind for (kind,) in writer.execute("SELECT kind FROM orphan")}
        files = {
            name: (count, filled)
            for name, count, filled in writer.execute("SELECT name, files, filled FROM relation")
        }
        writer.abandon()
    assert listed[0][0] > 0  # the two listings differ
    # a dropped relation keeps its empty first file until the next checkpoint
    assert kinds <= {"awaits a checkpoint"} | ({"candidate"} if first == "relations" else set())
    assert files["rewritten"] == (None, None)
    assert files["stays"] == (len(place.data), True)


def test_a_listing_that_is_interrupted_ends_on_the_server(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C while the relations are read, the other session ends."""
    begun = threading.Event()

    def endless(listing: Listing, session: Session) -> None:
        begun.set()
        session.query("SELECT pg_catalog.pg_sleep(86400)")

    def interrupted(listing: Listing, session: Session) -> None:
        begun.wait()
        time.sleep(0.2)  # the statement is running
        raise KeyboardInterrupt

    monkeypatch.setattr(Listing, "_both_at_once", True)  # as on Greenplum
    monkeypatch.setattr(Listing, "read_files", endless)
    monkeypatch.setattr(Listing, "read_relations", interrupted)
    limits = Timeouts(statement_ms=86_400_000)
    with connect(pg_dsn, timeouts=limits) as session, Writer(tmp_path / "s.gpcatalog") as writer:
        listing = Listing(session, writer, {}, summed=False)
        with pytest.raises(KeyboardInterrupt):
            listing.begin(session.fresh())
        assert listing._ended.wait(60)  # the statement would take a day
        writer.abandon()


def test_a_join_that_is_interrupted_ends(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an error in the main thread, the statements of the other thread end."""
    begun = threading.Event()

    def endless(work: Statements, *_: object) -> None:
        begun.set()
        work.execute("SELECT count(*) FROM range(10_000_000_000) a, range(10_000_000_000) b")

    monkeypatch.setattr("gpcatalog.probes.file_sums.load", endless)
    with connect(pg_dsn) as session, Writer(tmp_path / "s.gpcatalog") as writer:
        listing = Listing(session, writer, {}, summed=False)
        listing.begin(session.fresh())
        assert begun.wait(60)
        time.sleep(0.2)  # the statement is running
        listing.stop()
        assert listing._ended.is_set()  # the statement would take years
        writer.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_during_the_join_is_one_error(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the other thread is that of the command."""

    def full(work: Statements, *_: object) -> None:
        work._do(lambda: os.truncate("/dev/full/x", 0))

    monkeypatch.setattr("gpcatalog.probes.file_sums.load", full)
    with (
        connect(pg_dsn) as session,
        pytest.raises(CatalogError, match=r"cannot write .*s\.gpcatalog"),
    ):
        collect(session, tmp_path / "s.gpcatalog")
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_rechecked_have_no_age(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcatalog.probes.listing.RECHECK_SECONDS", -1.0)
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        found = conn.execute("SELECT pg_relation_filepath('pg_class')").fetchone()
    assert found is not None
    content = max(place.data)
    file = (place.data[content] / found[0]).with_name("4000000009")
    file.write_bytes(b"x" * 100)
    process.hand_over(file)
    os.utime(file, (1, 1))
    try:
        with (
            connect(place.dsn) as session,
            Snapshot(collect(session, tmp_path / "s.gpcatalog")) as snapshot,
        ):
            (orphan,) = snapshot.rows("SELECT * FROM orphan WHERE node = 4000000009")
            note = snapshot.one("SELECT * FROM coverage WHERE probe = 'orphan_files'")
    finally:
        file.unlink()
    assert (orphan["content"], orphan["bytes"], orphan["age_seconds"]) == (content, 100, None)
    assert orphan["kind"] == "may be in use"
    assert note["status"] == "timed out"
    assert "were not read again" in note["reason"]


@pytest.mark.parametrize("filled", [False, True])
def test_a_role_without_directories_counts_the_same_main_files(
    cluster: Place, tmp_path: Path, filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The segment file lists, read for one table per batch and one batch per session, have the figures of the directories."""
    monkeypatch.setattr("gpcatalog.probes.files.BATCH", 3)
    monkeypatch.setattr("gpcatalog.probes.files.BATCHES_A_SESSION", 1)
    with psycopg.connect(cluster.dsn, autocommit=True) as conn:
        conn.execute("SET client_min_messages = error")
        _make_greenplum(conn)
        if filled:
            for storage in STORAGES:
                conn.execute(FILL.format(f"{storage}_parted"))
        conn.execute("DROP ROLE IF EXISTS files_nobody")
        conn.execute("CREATE ROLE files_nobody LOGIN")
    plain = Place(
        cluster.dsn.replace("user=gpadmin", "user=files_nobody"),
        cluster.data,
        cluster.greenplum,
        cluster.scratch,
    )
    question = "SELECT content, root, part, files FROM file_total WHERE basis = '{}' AND part IN {} AND root <> 0 ORDER BY ALL"
    seen = "('main', 'auxiliary', 'toast', 'index')"
    with take_snapshot(cluster, tmp_path) as full:
        expected = full.rows(question.format("directory", seen))
    with take_snapshot(plain, tmp_path) as snapshot:
        assert snapshot.rows(question.format("catalog", seen)) == expected
        assert not snapshot.rows("SELECT * FROM file_total WHERE basis = 'directory'")
        assert not snapshot.rows(
            "SELECT * FROM coverage WHERE probe = 'segment_files' AND status <> 'read'"
        )


def test_files_to_come_are_those_that_come(cluster: Place, tmp_path: Path) -> None:
    """Predicted files of filled leaves and of each storage equal the files counted after all leaves are filled."""

    def files() -> dict[str, TableFiles]:
        with take_snapshot(cluster, tmp_path) as snapshot:
            section = build_files(snapshot)
        assert section is not None
        assert section.basis == "directory"
        return {t.name: t for t in section.tables}

    with psycopg.connect(cluster.dsn, autocommit=True) as conn:
        conn.execute("SET client_min_messages = error")
        for storage, options in STORAGES.items():
            conn.execute(
                f"CREATE TABLE {storage}_t (a int, k int, n bigint) {options} DISTRIBUTED BY (a)"
                " PARTITION BY RANGE (k) (START (0) END (4) EVERY (1))"
            )
        before = files()
        for storage in STORAGES:
            conn.execute(
                f"INSERT INTO {storage}_t SELECT n, n % 4, n FROM generate_series(1, 300) n"
            )
        after = files()
    for storage in STORAGES:
        name = f"{storage}_t"
        root = (
            after[name].files
            - {
                "heap": after[name].as_heap,
                "ao_row": after[name].as_ao_row,
                "ao_column": after[name].as_ao_column,
            }[storage]
        )
        assert root in (0, 3, 12)  # on Greenplum 6, a root has files of its own
        assert before[name].when_filled == after[name].when_filled == after[name].files
    # the predictions of a table for other storages are the figures of the other tables
    leaves_only = {storage: after[f"{storage}_t"] for storage in STORAGES}
    assert len({(t.as_ao_column, t.as_ao_row, t.as_heap) for t in leaves_only.values()}) == 1
    column, row = leaves_only["ao_column"], leaves_only["ao_row"]
    assert column.removable == column.main - row.main
    assert row.removable == 0


def test_a_table_that_came_after_the_listing_is_not_reported_empty(
    pg_dsn: str, tmp_path: Path
) -> None:
    dsn = fresh_database(pg_dsn, "files_late")
    with (
        psycopg.connect(dsn, autocommit=True) as conn,
        connect(dsn) as session,
        Writer(tmp_path / "s.gpcatalog") as writer,
    ):
        conn.execute("CREATE TABLE early (a int)")
        collector = Collector(session, writer, lambda _: None)
        collector._instances()
        files = FileSection(session, writer, collector._covered, collector.contents)
        listing = files.begin()
        listing.end()
        conn.execute("CREATE TABLE late AS SELECT generate_series(1, 1000) a")
        collector._relations()
        collector._filled(files, listing)
        rows = writer.execute(
            "SELECT name, filled, files FROM relation WHERE name IN ('early', 'late') ORDER BY name"
        )
        writer.abandon()
    assert [tuple(row) for row in rows] == [("early", False, 1), ("late", None, None)]


@pytest.fixture
def single(pg_dsn: str) -> str:
    """A database, and a role `single` with a connection limit of 1."""
    dsn = fresh_database(pg_dsn, "files_single")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS single")
        conn.execute("CREATE ROLE single LOGIN CONNECTION LIMIT 1")
    return dsn


def test_a_connection_that_ended_may_still_count(single: str) -> None:
    """The server counts a connection for a moment after the client has closed it."""
    holder = psycopg.connect(single, user="single")
    GuardedConnection.ended = time.monotonic()
    threading.Timer(0.3, holder.close).start()
    with connect(single, user="single") as session:
        assert session.target["user"] == "single"


def test_connections_of_others_are_not_waited_for(single: str) -> None:
    GuardedConnection.ended = -math.inf
    with (
        psycopg.connect(single, user="single"),
        mock.patch.object(time, "sleep", side_effect=AssertionError("it waits")),
        pytest.raises(CatalogError, match="too many connections for role"),
    ):
        connect(single, user="single")


def test_a_role_with_one_connection_lists_all_the_same(single: str, tmp_path: Path) -> None:
    """The listing runs in a session of its own only if another connection is available."""
    with psycopg.connect(single, autocommit=True) as conn:
        conn.execute(
            "GRANT EXECUTE ON FUNCTION pg_ls_dir(text), pg_stat_file(text, boolean) TO single"
        )
        conn.execute("CREATE TABLE t AS SELECT generate_series(1, 1000) a")
    with (
        connect(single, user="single") as session,
        Snapshot(collect(session, tmp_path / "s.gpcatalog")) as snapshot,
    ):
        assert snapshot.header["filled_basis"] == "files"
        assert snapshot.one("SELECT filled FROM relation WHERE name = 't'")["filled"] is True
        lost = {
            r["probe"]: r["reason"]
            for r in snapshot.rows("SELECT probe, reason FROM coverage WHERE status = 'failed'")
        }
    assert "connect" in lost
    assert all("too many connections" in reason for reason in lost.values()), lost
