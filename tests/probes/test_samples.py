"""Estimates from a sample of the files compared with all files, a few segments at a time, and audits without files."""

from __future__ import annotations

import contextlib
import io
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest import mock

import psycopg
import pytest
from rich.console import Console

from gpcatalog.audit.build import build
from gpcatalog.emit.files_text import show_files
from gpcatalog.model.file_choice import FileChoice, FileSelection
from gpcatalog.model.quantity import count, size
from gpcatalog.model.server import Server
from gpcatalog.probes import file_sums, files
from gpcatalog.probes.collect import Collector
from gpcatalog.probes.connection import Session, Timeouts, connect
from gpcatalog.probes.files import FileSection
from gpcatalog.probes.listing import EVERYWHERE, Listing
from gpcatalog.store.snapshot import Snapshot, Writer
from tests.conftest import fresh_database
from tests.probes.test_files import Place, cluster, owners, place, walk
from tests.test_cli import run

__all__ = ["cluster", "place"]  # fixtures

SAMPLE = FileChoice(FileSelection.SAMPLE)


def read(
    place: Place, folder: Path, choice: FileChoice, limits: Timeouts | None = None
) -> Snapshot:
    """A snapshot with only the sections that files need."""
    with (
        connect(place.dsn, timeouts=limits) as session,
        Writer(folder / f"{choice.files}.gpcatalog") as writer,
    ):
        collector = Collector(session, writer, lambda _: None)
        collector._instances()
        collector._relations()
        section = FileSection(session, writer, collector._covered, collector.contents, choice)
        collector._filled(section, section.begin(collector._attribute_bytes()))
        collector._root_totals()
        collector._header(datetime.now(UTC), 0.0)
        return Snapshot(writer.finish())


def fill(place: Place) -> None:
    """Create tables of different size, with rows in most leaves: about 6,000 files on each instance."""
    columns = ", ".join(f"c{n} int" for n in range(18))
    values = ", ".join(["x"] * 18)
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        for name, leaves in (("large", 170), ("middle", 60), ("small", 30)):
            if place.greenplum:
                storage = "appendonly=true, orientation=column"
                conn.execute(
                    f"CREATE TABLE {name} (a int, d int, {columns}) WITH ({storage}) DISTRIBUTED BY (a)"
                    f" PARTITION BY RANGE (d) (START (1) END ({leaves + 1}) EVERY (1))".encode()
                )
            else:
                leaves *= 6
                conn.execute(
                    f"CREATE TABLE {name} (a int PRIMARY KEY, b text, {columns}) PARTITION BY RANGE (a)".encode()
                )
                for start in range(0, leaves, 200):
                    conn.execute(
                        "".join(
                            f"CREATE TABLE {name}_{n} PARTITION OF {name} FOR VALUES FROM ({n}) TO ({n + 1});"
                            for n in range(start, min(start + 200, leaves))
                        ).encode()
                    )
            first = f"x, x % {leaves} + 1" if place.greenplum else "x, 'b'"
            rows = leaves * 20 if place.greenplum else leaves * 3 // 4 - 1
            conn.execute(
                f"INSERT INTO {name} SELECT {first}, {values} FROM generate_series(1, {rows}) x".encode()
            )
        conn.execute("CHECKPOINT")


def test_a_sample_estimates_what_the_directories_hold(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FEWEST", 1000)
    fill(place)
    truth: Counter[str] = Counter()
    on_instance: Counter[int] = Counter()
    of_table: Counter[int] = Counter()
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        found = owners(conn, place)
        with read(place, tmp_path, SAMPLE) as snapshot:
            for content, temp, node, _, length in walk(place, found):
                oid = found.nodes.get((content, temp, node))
                on_instance[content] += 1
                of_table[found.parts[oid][0] if oid else 0] += 1
                truth += Counter(files=1, bytes=length, empty=length == 0)
            report = build(snapshot)
            notes = snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
            roots = {r["name"]: r["root"] for r in snapshot.rows("SELECT * FROM root_total")}
            leaves = snapshot.one(
                "SELECT count(files) AS files, count(filled) AS filled, count(*) AS n,"
                " count(*) FILTER (filled) AS with_rows FROM relation WHERE kind = 'leaf'"
            )
    seen = report.files
    assert not notes
    assert seen.basis == "sample"
    assert seen.sample.one_in == files.SHARE
    # the number of files is counted, not estimated
    assert {i.content: i.files for i in seen.instances} == dict(on_instance)
    assert seen.files == truth["files"]
    assert abs(seen.bytes - truth["bytes"]) <= 3 * seen.sample.bytes_error
    # 30 filenodes of an index or segment file list on each segment contain most of the bytes
    assert 0 < seen.sample.bytes_error < truth["bytes"] / 2
    assert abs(seen.empty - truth["empty"]) <= 3 * seen.sample.empty_error
    assert 0 < seen.sample.empty_error < truth["files"] / 4
    tables = {t.name: t for t in seen.tables}
    large = tables["large"]
    assert abs(large.files - of_table[roots["large"]]) <= 3 * large.files_error
    # about 32 of its file numbers with columns are in the sample: the expected error is 2.13 / sqrt(32)
    # = 0.38 of its files, and it has an error of 18 % itself (15 degrees of freedom): up to 4 of these
    assert 0 < large.files_error < of_table[roots["large"]] * 2 / 3
    for name in ("middle", "small") if place.greenplum else ():
        # with fewer than 160 leaves, the sample has too few of them
        assert name not in tables or tables[name].files_error is None
    # a leaf is in the sample by chance: its size remains unknown, but not whether it has rows
    assert leaves["files"] == 0
    assert leaves["filled"] == leaves["n"] > leaves["with_rows"] * (not place.greenplum)
    assert not seen.orphans
    out = Console(file=io.StringIO(), width=100)
    show_files(seen, out)
    shown = out.file.getvalue()
    assert f"{size(seen.bytes)} ± {size(seen.sample.bytes_error)}, about " in shown
    assert "the rest is estimated from 1 in 16 file numbers" in " ".join(shown.split())
    assert f"{count(tables['large'].files)} ± {count(tables['large'].files_error)}" in shown
    if place.greenplum and "middle" in tables:
        assert f" about {count(tables['middle'].files)} " in shown


def test_large_relations_are_in_every_sample(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Selected by the sizes in the directories: a heap of 40 pages per instance, one of 10, and the same append-optimized."""
    block = 32768 if place.greenplum else 8192
    page_counts = {"large": 40, "little": 10}  # all segments together have more than 20 of both
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        for name, pages in page_counts.items():
            rows = pages * len(place.data) * (block // 1100)
            for kind, options in (("", ""), ("ao_", " WITH (appendonly=true)"))[
                : 1 + place.greenplum
            ]:
                by = " DISTRIBUTED BY (a)" if place.greenplum else ""
                conn.execute(f"CREATE TABLE {kind}{name} (a int, b text){options}{by}".encode())
                conn.execute(f"ALTER TABLE {kind}{name} ALTER b SET STORAGE PLAIN".encode())
                conn.execute(
                    f"INSERT INTO {kind}{name} SELECT x, repeat('x', 1000) FROM generate_series(1, {rows}) x".encode()
                )
                conn.execute(f"ANALYZE {kind}{name}".encode())
        conn.execute("CHECKPOINT")
        found = owners(conn, place)
        names = {
            oid: name
            for name, oid in conn.execute("SELECT relname, oid::int8 FROM pg_class").fetchall()
        }
        sizes = Counter[tuple[int, int]]()
        for content, temp, node, fork, length in walk(place, found):
            if not fork and not temp:
                sizes[content, node] += length
    monkeypatch.setattr(files, "ALWAYS", 20 * block)
    with (
        connect(place.dsn) as session,
        Writer(tmp_path / "s.gpcatalog") as writer,
    ):
        collector = Collector(session, writer, lambda _: None)
        collector._instances()
        section = FileSection(session, writer, collector._covered, collector.contents)
        always = set(section._always())
        monkeypatch.setattr(files, "MOST_ALWAYS", 3)
        assert len(section._always()) == 3
        writer.abandon()
    assert [c["reason"] for c in collector.coverage if c["probe"] == "large_relations"] == [
        "",
        "only the 3 largest were taken into the sample",
    ]
    kinds = {
        place_of: "catalog" if oid < 16384 else names[oid].removeprefix("ao_")
        for place_of, oid in ((at, found.nodes.get((at[0], False, at[1]), 0)) for at in sizes)
        if oid
    }
    expected = {node for (_, node), kind in kinds.items() if kind in ("catalog", "large")}
    assert expected <= always
    little = {at for at, kind in kinds.items() if kind == "little"}
    # on another segment, it may be the filenode of a large relation
    assert {node for _, node in little} & always <= expected
    assert all(0 < sizes[at] < 15 * block for at in little)
    seen = {at for at, kind in kinds.items() if kind == "large"}
    assert all(25 * block < sizes[at] < 60 * block for at in seen)
    assert len(seen) == (1 + bool(place.greenplum)) * len(place.data)


def test_without_large_relations_bytes_have_no_error(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FEWEST", 10)
    monkeypatch.setattr(FileSection, "_always", lambda _: [])
    place = Place(fresh_database(pg_dsn, "catalogs_alone"), {}, 0, tmp_path)
    with read(place, tmp_path, SAMPLE) as snapshot:
        seen = build(snapshot).files
    assert seen.bytes > 0
    assert seen.sample.bytes_error is None
    out = Console(file=io.StringIO(), width=200)
    show_files(seen, out)
    shown = out.file.getvalue()
    assert f"about {size(seen.bytes)}, " in shown
    assert "Bytes may be far off" in shown


def test_segments_a_few_at_a_time_have_the_same_files(cluster: Place, tmp_path: Path) -> None:
    with psycopg.connect(cluster.dsn, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE t (a int, b text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (a)"
        )
        conn.execute("INSERT INTO t SELECT x, 'b' FROM generate_series(1, 1000) x")
        conn.execute("CHECKPOINT")
    found = {}
    for most in (0, files.MOST_ROWS):
        for parallel in (0, 1, 2):
            folder = tmp_path / f"{most}-{parallel}"
            folder.mkdir()
            with (
                mock.patch("gpcatalog.probes.files.MOST_ROWS", most),
                read(cluster, folder, FileChoice(parallel=parallel)) as snapshot,
            ):
                assert not snapshot.rows("SELECT * FROM coverage WHERE status <> 'read'")
                found[most, parallel] = [
                    snapshot.rows(
                        "SELECT * FROM file_total WHERE basis = 'directory' ORDER BY ALL"
                    ),
                    snapshot.rows("SELECT * FROM file_bucket ORDER BY ALL"),
                    snapshot.rows(
                        "SELECT oid, files, bytes, max_segment_bytes FROM relation ORDER BY ALL"
                    ),
                ]
    first = found[0, 0]
    assert {row["content"] for row in first[0]} == {0, 1, 2}
    assert all(rows == first for rows in found.values())


@pytest.mark.parametrize(
    ("parallel", "batches"),
    [(0, [EVERYWHERE]), (1, ["0, 1, 4", "2, 3"]), (2, ["0, 1, 2, 3, 4"]), (9, ["0, 1, 2, 3, 4"])],
)
def test_batches_take_as_many_segments_of_each_host(
    parallel: int, batches: list[str], tmp_path: Path
) -> None:
    hosts = ["b", "a", "b", "a", "c"]
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert(
            "instance",
            [
                {"dbid": n + 2, "content": n, "role": role, "hostname": host}
                for n, host in enumerate(hosts)
                for role in "pm"
            ],
        )
        session = SimpleNamespace(server=Server("Greenplum Database", "6.25.3", "gp6", 90426))
        section = FileSection(
            cast(Session, session),
            writer,
            contextlib.nullcontext,
            range(5),
            FileChoice(parallel=parallel),
        )
        assert section._batches() == batches
        writer.abandon()


def test_many_files_are_sampled_unless_all_are_selected(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "COUNTED_FROM", 0)
    monkeypatch.setattr(files, "FEWEST", 10)
    # only catalogs, which are in every sample
    place = Place(fresh_database(pg_dsn, "catalogs_alone"), {}, 0, tmp_path)

    def basis(choice: FileChoice, limits: Timeouts | None = None) -> tuple[str, str]:
        with read(place, tmp_path, choice, limits) as snapshot:
            counted = snapshot.rows("SELECT reason FROM coverage WHERE probe = 'file_counts'")
            return snapshot.files_basis, counted[0]["reason"] if counted else "-"

    assert basis(FileChoice()) == ("directory", "")
    monkeypatch.setattr(files, "MOST_FILES", 100)
    sampled, reason = basis(FileChoice())
    assert sampled == "sample"
    assert "the sizes of a sample of 1 in 16 file numbers were read" in reason
    assert basis(FileChoice(FileSelection.ALL)) == ("directory", "")
    monkeypatch.setattr(files, "MOST_FILES", 10**9)
    monkeypatch.setattr(files, "LISTING_FACTOR", 1e6)  # listing all exceeds the timeout
    assert basis(FileChoice())[0] == "sample"
    monkeypatch.setattr(files, "FEWEST", 10**9)
    sampled, reason = basis(SAMPLE)
    assert sampled == "directory"
    assert "too few files for a sample" in reason


def test_without_files_nothing_is_reported_about_them(place: Place, tmp_path: Path) -> None:
    with psycopg.connect(place.dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t AS SELECT 1 AS a")
    with read(place, tmp_path, FileChoice(FileSelection.NONE)) as snapshot:
        report = build(snapshot)
        notes = {r["probe"]: r["reason"] for r in snapshot.rows("SELECT * FROM coverage")}
        table = snapshot.one("SELECT * FROM relation WHERE name = 't'")
    assert report.files is None
    assert report.server.database_bytes is None
    assert notes["relation_files"] == "--files none: the directories were not listed"
    assert not {"file_counts", "file_names", "segment_files", "database_size"} & set(notes)
    assert table["files"] is None
    assert table["filled"]


def test_intervals_hold_the_truth_about_as_often_as_they_say(tmp_path: Path) -> None:
    """100 samples of 1 in 16 filenodes of a generated population: about 95 % of the intervals contain the true value."""
    chance = random.Random(21)
    numbers = [
        # instance, root, files of the filenode, bytes, empty files
        (content, root, n, n * chance.randrange(1, 10**6), chance.randrange(n + 1))
        for content in (0, 1)
        for root, many in ((1, 4000), (2, 1500), (3, 500), (4, 30))
        for n in (chance.choice((1, 2, 21)) for _ in range(many))
    ]
    # large relations with most of the bytes: every sample contains all of them
    large = [(content, 1, 4, 10**9, 0) for content in (0, 1) for _ in range(5)]
    numbers += large
    counts = Counter[int]()
    for content, _, n, _, _ in numbers:
        counts[content] += n
    true = Counter[tuple[int | None, str]]()
    for _, root, n, size_of, empty in numbers:
        for of in (root, None):
            true += Counter({(of, "files"): n, (of, "empty_files"): empty, (of, "bytes"): size_of})
    within: Counter[tuple[int | None, str]] = Counter()
    rounds = 100
    with Writer(tmp_path / "s.gpcatalog") as writer:
        # a sample contains too little of root 4 for an error
        writer.execute("INSERT INTO relation BY NAME SELECT 1000 * root + n AS oid, root, 's' AS \"schema\", 't' AS name, 1 AS level,"
                       " 'leaf' AS kind, 'heap' AS storage, 1 AS \"columns\", false AS toast, 0 AS indexes, 0 AS index_columns,"
                       " false AS block_directory, false AS is_default FROM range(1, 5) r (root), range(160) l (n)"
                       " WHERE root < 4 OR n < 159")  # fmt: skip
        for _ in range(rounds):
            file_sums.load_sums(writer, [])
            drawn = [
                (*number, chance.randrange(16))
                for number in numbers
                if number not in large and chance.random() < 1 / 16
            ]
            values = ", ".join(
                [*map(str, drawn), *(f"({', '.join(map(str, number))}, NULL)" for number in large)]
            )
            writer.execute(
                f"INSERT INTO listed BY NAME SELECT 2 AS what, content, root AS oid, 11 AS part, chunk, sum(files) AS files,"
                f" sum(bytes) AS bytes, sum(empty) AS n0, 0 AS n1, 0 AS n2 FROM (VALUES {values})"
                " v (content, root, files, bytes, empty, chunk) GROUP BY content, root, chunk"
            )
            file_sums.project(writer, 16, dict(counts), large=True)
            for figure in ("files", "empty_files", "bytes"):
                column = "n0" if figure == "empty_files" else figure
                for root, estimate, error in writer.execute(
                    f"SELECT s.root, (SELECT sum({column}) FROM listed WHERE s.root IS NULL OR oid = s.root), s.{figure}"
                    " FROM file_sample s"
                ):
                    within[root, figure] += abs(estimate - true[root, figure]) <= error + 1e-6
            for table in ("listed", "sampled", "sample_part"):
                writer.execute(f"DROP TABLE {table}")
            writer.execute("DELETE FROM file_sample")
        writer.abandon()
    assert within.pop((None, "files")) == rounds  # counted
    assert len(within) == 11
    # four standard deviations of a binomial distribution
    assert all(0.86 * rounds <= n <= rounds for n in within.values()), within
    assert sum(within.values()) < len(within) * rounds  # the intervals are not simply wide


def test_a_listing_that_takes_too_long_is_followed_by_a_sample(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy server, all files could not be listed within the statement timeout."""
    monkeypatch.setattr(files, "FEWEST", 10)
    # only catalogs, which are in every sample
    place = Place(fresh_database(pg_dsn, "catalogs_alone"), {}, 0, tmp_path)
    read_files = Listing.read_files

    def slow(listing: Listing, session: Session) -> None:
        if listing.share == 1:
            with connect(place.dsn, timeouts=Timeouts(statement_ms=100)) as hurried:
                hurried.query("SELECT pg_catalog.pg_sleep(86400)")
        read_files(listing, session)

    monkeypatch.setattr(Listing, "read_files", slow)
    found = {}
    for choice in (FileChoice(), FileChoice(FileSelection.ALL)):
        with read(place, tmp_path, choice) as snapshot:
            notes = {
                r["probe"]: r["status"]
                for r in snapshot.rows("SELECT * FROM coverage WHERE probe LIKE 'relation_files%'")
            }
            found[choice.files] = (snapshot.files_basis, notes)
    late = {"relation_files": "timed out"}
    assert found[FileSelection.AUTO] == ("sample", {**late, "relation_files of a sample": "read"})
    assert found[FileSelection.ALL] == ("", late)  # the database has no tables


def test_names_that_take_too_long_are_not_followed_by_sizes(
    pg_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "COUNTED_FROM", 0)
    place = Place(pg_dsn, {}, 0, tmp_path)

    def slow(section: FileSection) -> dict[int, int]:
        with connect(place.dsn, timeouts=Timeouts(statement_ms=100)) as hurried:
            hurried.query("SELECT pg_catalog.pg_sleep(86400)")
        return {}

    monkeypatch.setattr(FileSection, "_counts", slow)
    with read(place, tmp_path, FileChoice()) as snapshot:
        notes = snapshot.rows("SELECT * FROM coverage WHERE status <> 'read' ORDER BY probe")
        assert [n["probe"] for n in notes] == ["file_counts", "relation_files"]
        assert [n["status"] for n in notes] == ["timed out"] * 2
        assert snapshot.files_basis == ""
    with read(place, tmp_path, FileChoice(FileSelection.ALL)) as snapshot:
        assert snapshot.files_basis == "directory"


def test_segments_of_postgresql_are_no_choice(pg_dsn: str) -> None:
    result = run("audit", pg_dsn, "--no-store", "--parallel", "2")
    assert result.returncode == 2
    assert "--parallel is for the segments of Greenplum, and this server is" in result.stderr
