"""The results of probes equal the contents of the server: counted rows, derived rows of pg_attribute, reclaimed bytes.

The answers of every server and its own counts are recorded (tests/recorded.py), and compared on machines without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpcatalog.audit.build import build
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.probes import zoo
from tests.probes.replay import Answers, RecordingSession, ReplaySession, collected
from tests.recorded import Recording, read, recorded

SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn", "pg19_dsn"]


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> str:
    """Conninfo of an empty database on each server."""
    return fresh_database(request.getfixturevalue(request.param), "truth")


def fill(conn: psycopg.Connection) -> None:
    """Create tables of every kind, and rows in shared catalogs that are missing in their statistics."""
    zoo.make(conn)
    if not conn.execute(
        "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = 'truth_owner'"
    ).fetchone():
        conn.execute("CREATE ROLE truth_owner")
    for n in range(20):
        conn.execute(f"CREATE TABLE owned_{n} (a int)")
        conn.execute(f"ALTER TABLE owned_{n} OWNER TO truth_owner")
    if "Greenplum Database 7" in conn.execute("SELECT version()").fetchone()[0]:
        # these tables keep the system columns of the access method with which they were created
        for method, other in (("heap", "ao_column"), ("ao_row", "heap"), ("ao_column", "ao_row")):
            conn.execute(f"CREATE TABLE was_{method} (a int, b text) USING {method}")
            conn.execute(f"ALTER TABLE was_{method} SET ACCESS METHOD {other}")
        conn.execute(
            "CREATE TABLE turned (a int, b int) USING heap PARTITION BY RANGE (b) (START (0) END (4) EVERY (1))"
        )
        conn.execute("ALTER TABLE turned SET ACCESS METHOD ao_row")


def snapshot_of(dsn: str, folder: Path) -> Snapshot:
    with connect(dsn) as session:
        return Snapshot(collect(session, folder / "now.gpcatalog"))


def counted(conn: psycopg.Connection, relation: str, segments: bool) -> dict[int, int]:
    """Rows of a catalog by content ID, counted with simple statements."""
    here = conn.execute(f"SELECT count(*) FROM pg_catalog.{relation}").fetchone()[0]
    rows = {-1: here}
    if segments:
        found = dict(
            conn.execute(
                f"SELECT gp_segment_id, count(*) FROM gp_dist_random('pg_catalog.{relation}') GROUP BY 1"
            ).fetchall()
        )
        rows |= {content: found.get(content, 0) for content in range(3)}
    return rows


def test_rows_equal_count(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        fill(conn)
        with snapshot_of(database, tmp_path) as snapshot:
            segments = snapshot.header["generation"].startswith("gp")
            compared = 0
            rows = snapshot.rows(
                "SELECT content, relation, rows, rows_basis FROM catalog WHERE rows_basis IN ('counted', 'derived')"
            )
            for relation in sorted({row["relation"] for row in rows}):
                reported = {
                    row["content"]: row["rows"] for row in rows if row["relation"] == relation
                }
                assert reported == counted(conn, relation, segments), relation
                compared += len(reported)
            assert not snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
    print(f"compared {compared} rows of instance × catalog")
    assert compared >= (60 if segments else 10)


def test_attribution_is_exact(database: str, tmp_path: Path) -> None:
    """The rows that belong to tables and the other rows add up to pg_class and pg_attribute."""
    with psycopg.connect(database, autocommit=True) as conn:
        fill(conn)
        with snapshot_of(database, tmp_path) as snapshot:
            owned = snapshot.one(
                "SELECT sum(class_rows) AS c, sum(attribute_rows) AS a FROM root_total"
            )
        # rows that belong to no table: the system's own relations, views, sequences, composite types, and what belongs to them
        rest = conn.execute("""
            SELECT count(*), sum((SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid))
              FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.oid < 16384 OR c.relkind IN ('v', 'c', 'S') OR n.nspname IN ('gp_toolkit', 'pg_ext_aux')
        """).fetchone()
        every = conn.execute(
            "SELECT (SELECT count(*) FROM pg_catalog.pg_class), (SELECT count(*) FROM pg_catalog.pg_attribute)"
        ).fetchone()
    assert (int(owned["c"]) + rest[0], int(owned["a"]) + rest[1]) == every


@pytest.mark.parametrize("vacuumed", [False, True])
def test_empty_leaves_are_reported(database: str, tmp_path: Path, vacuumed: bool) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        fill(conn)
        if vacuumed:
            conn.execute("VACUUM")
        names = [r[0] for r in conn.execute("SELECT c.oid::regclass::text FROM pg_catalog.pg_class c WHERE relname ~ '^sales_'"
                                            " AND relkind IN ('r') AND relname <> 'sales'").fetchall()]  # fmt: skip
        with snapshot_of(database, tmp_path) as snapshot:
            reported = {
                r["name"]: r["filled"]
                for r in snapshot.rows("SELECT name, filled FROM relation WHERE kind = 'leaf'")
            }
        for name in names:
            holds = conn.execute(f"SELECT EXISTS (SELECT 1 FROM {name})").fetchone()[0]
            assert reported[name] == holds, name
    assert {True, False} <= set(reported.values())


# the tables of a snapshot that contain only answers of probes; the others contain times and identities
COMPARED = ("catalog", "relation", "root_total", "partition_key", "partition_fact", "definition")


def contents(snapshot: Snapshot) -> dict[str, list[str]]:
    """Rows of these tables as text, sorted."""
    return {
        name: sorted(str(dict(row)) for row in snapshot.rows(f"SELECT * FROM {name}"))
        for name in COMPARED
    }


def oracle(conn: psycopg.Connection, snapshot: Snapshot) -> dict[str, list[Any]]:
    """The server's own counts: [name, count] by kind of statement."""
    segments = snapshot.header["generation"].startswith("gp")
    known = snapshot.rows("SELECT DISTINCT relation FROM catalog WHERE rows_basis <> 'estimate'")
    leaves = snapshot.rows('SELECT "schema", name FROM relation WHERE filled IS NOT NULL')
    own = """
        SELECT count(*), sum((SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid))
          FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE NOT (c.oid < 16384 OR c.relkind IN ('v', 'c', 'S') OR n.nspname IN ('gp_toolkit', 'pg_ext_aux'))
    """
    return {
        "rows": [
            [name, sorted(counted(conn, name, segments).items())]
            for name in sorted(row["relation"] for row in known)
        ],
        "filled": [
            [name, conn.execute(f"SELECT EXISTS (SELECT 1 FROM {name})").fetchone()[0]]
            for name in sorted(f'"{row["schema"]}"."{row["name"]}"' for row in leaves)
        ],
        "attributed": [int(x) for x in conn.execute(own).fetchone()],
    }


def compare(snapshot: Snapshot, counts: dict[str, list[Any]]) -> None:
    """Check that a snapshot contains what the server counted."""
    for name, rows in counts["rows"]:
        stored = snapshot.rows(
            "SELECT content, rows FROM catalog WHERE relation = ? AND rows_basis <> 'estimate'",
            [name],
        )
        known = {row["content"]: row["rows"] for row in stored}
        assert known, name
        assert known.items() <= dict(map(tuple, rows)).items(), name
    stored = snapshot.rows(
        """SELECT '"' || "schema" || '"."' || name || '"' AS name, filled FROM relation WHERE filled IS NOT NULL"""
    )
    assert sorted([row["name"], row["filled"]] for row in stored) == counts["filled"]
    owned = snapshot.one("SELECT sum(class_rows) AS c, sum(attribute_rows) AS a FROM root_total")
    assert [int(owned["c"]), int(owned["a"])] == counts["attributed"]


def test_recorded_answers_give_the_same_snapshot(database: str, tmp_path: Path) -> None:
    """The live audit and its replay give the same snapshot; the answers are recorded."""
    answers = Answers()
    with psycopg.connect(database, autocommit=True) as conn:
        fill(conn)
        with connect(database) as session:
            name = session.server.generation
            live = collected(RecordingSession(session, answers), tmp_path / "live.gpcatalog")
        replayed = collected(ReplaySession(answers), tmp_path / "replayed.gpcatalog")
        with Snapshot(live) as first, Snapshot(replayed) as second:
            assert contents(first) == contents(second)
            counts = oracle(conn, first)
            compare(first, counts)
            recording = Recording("truth", name, first.header["banner"])
    recording.add(["counts", counts])
    answers.add_to(recording, {})
    recording.save()


@pytest.mark.parametrize("path", recorded("truth"), ids=lambda p: p.stem)
def test_recorded_answers_hold_what_was_counted(path: Path, tmp_path: Path) -> None:
    """Without a server: a snapshot is built from the answers of the last recording, and has the recorded figures."""
    (_, counts), *entries = read(path)
    snapshot_file = collected(
        ReplaySession(Answers().load(entries)), tmp_path / "replayed.gpcatalog"
    )
    with Snapshot(snapshot_file) as snapshot:
        assert not snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
        compare(snapshot, counts)
        assert len(counts["rows"]) >= 10
        assert {filled for _, filled in counts["filled"]} == {True, False}
        assert build(snapshot).tables


# pg_class is last, because rewriting the others updates its rows
BLOATED = ("pg_attribute", "pg_depend", "pg_type", "pg_index", "pg_class")


def catalog_bytes(dsn: str, folder: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """(relation, content) → bytes and reclaimable bytes, as reported by the audit."""
    with snapshot_of(dsn, folder) as snapshot:
        report = build(snapshot)
    return {
        (r.relation, r.content): (
            r.heap_bytes + r.toast_bytes + r.index_bytes,
            r.reclaimable_bytes or 0,
        )
        for r in report.catalogs
        if r.relation in BLOATED
    }


@pytest.mark.long
def test_reclaimable_is_what_vacuum_full_gives_back(database: str, tmp_path: Path) -> None:
    """At about 0, 30, 70 and 95 % dead rows, the reclaimable bytes of the audit equal those of VACUUM FULL and REINDEX.

    The difference is at most 5 % of the catalog's size.
    """
    greenplum = "gpadmin" in database
    page = 32768 if greenplum else 8192
    worst = 0.0
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("SET client_min_messages = error")
        _leaves(conn, "kept", 50 if greenplum else 300, greenplum)
        for dead, rounds in ((0, 0), (30, 1), (70, 3), (95, 12)):
            for _ in range(rounds):
                _leaves(conn, "gone", 50 if greenplum else 300, greenplum)
                conn.execute("DROP TABLE gone")
            before = catalog_bytes(database, tmp_path)
            for relation in BLOATED:
                conn.execute(f"VACUUM FULL pg_catalog.{relation}")
                conn.execute(f"REINDEX TABLE pg_catalog.{relation}")
            after = catalog_bytes(database, tmp_path)
            for key, (size, reclaimable) in before.items():
                gained = size - after[key][0]
                # a difference of two pages is accepted, even if it is a large share of a small catalog
                off = max(0, abs(gained - reclaimable) - 2 * page) / size
                worst = max(worst, abs(gained - reclaimable) / size)
                print(
                    f"{dead:>3} % {key[0]:<14} content {key[1]:>2}: {size:>9} bytes, said {reclaimable:>9}, given back {gained:>9}"
                )
                assert off <= 0.05, (dead, key, size, reclaimable, gained)
    print(f"largest difference {worst:.2%} of a catalog's size")


def _leaves(conn: psycopg.Connection, name: str, leaves: int, greenplum: bool) -> None:
    columns = "k int, a int, b text, c text, d numeric, e int, f int, g text"
    if greenplum:
        conn.execute(
            f"CREATE TABLE {name} ({columns}) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a)"
            f" PARTITION BY RANGE (k) (START (0) END ({leaves}) EVERY (1))"
        )
        return
    conn.execute(f"CREATE TABLE {name} ({columns}) PARTITION BY RANGE (k)")
    conn.execute(
        f"DO $$ BEGIN FOR n IN 0..{leaves - 1} LOOP EXECUTE format('CREATE TABLE {name}_%s PARTITION OF {name}"
        f" FOR VALUES FROM (%s) TO (%s)', n, n, n + 1); END LOOP; END $$"
    )
