"""Snapshot files: complete or absent, read-only, and checked before they are used."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.store import series, statements
from gpcatalog.store.schema import SCHEMA_VERSION
from gpcatalog.store.snapshot import Snapshot, Writer
from tests.growth.test_packing import relation

HEADER = {
    "schema_version": SCHEMA_VERSION,
    "snapshot_id": "ab" * 8,
    "gpcatalog_version": "0",
    "taken_at": "2026-11-21 10:00:00",
    "banner": "PostgreSQL 15.1",
    "product": "PostgreSQL",
    "version": "15.1",
    "generation": "pg15",
    "version_num": 150001,
    "database": 'we"ird, name\n\\N',
    "database_oid": 5,
    "block_size": 8192,
    "grain": "leaf",
}


def make(path: Path, **more: object) -> Path:
    with Writer(path) as writer:
        writer.insert("snapshot", [HEADER | more])
        return writer.finish()


def test_text_survives_as_it_is(tmp_path: Path) -> None:
    hostile = [
        "",
        "plain",
        'a"b',
        "a,b",
        "line\nbreak\r\n",
        "\\N",
        "tab\t",
        "é日本\u202e",
        "'; DROP TABLE x; --",
        " NULL ",
        None,
    ]
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert(
            "setting", [{"name": str(n), "setting": text} for n, text in enumerate(hostile)]
        )
        path = writer.finish()
    with Snapshot(path) as snapshot:
        assert [
            r["setting"] for r in snapshot.rows("SELECT setting FROM setting ORDER BY name::int")
        ] == hostile
        assert snapshot.header["database"] == HEADER["database"]


def test_an_abandoned_draft_leaves_nothing(tmp_path: Path) -> None:
    target = make(tmp_path / "s.gpcatalog")
    before = target.read_bytes()

    def fails() -> None:
        with Writer(target) as writer:
            writer.insert("snapshot", [HEADER])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.gpcatalog"]


def test_rows_that_are_packed_in_a_thread_are_the_same(tmp_path: Path) -> None:
    found = []
    for name, early in (("a", True), ("b", False)):
        with Writer(tmp_path / name) as writer:
            writer.insert("snapshot", [HEADER])
            writer.insert("relation", [relation(n, f"t_{n}", None) for n in range(5)])
            if early:
                writer.pack()
                writer.insert("setting", [{"name": "meanwhile", "setting": "1"}])
                writer.packed()
            writer.finish()
        with Snapshot(tmp_path / name) as snapshot:
            found.append(snapshot.rows("SELECT * FROM relation ORDER BY oid"))
            assert len(snapshot.rows("SELECT * FROM setting")) == early
    assert found[0] == found[1]
    assert [row["name"] for row in found[0]] == ["t_0", "t_1", "t_2", "t_3", "t_4"]


def test_an_error_of_the_thread_that_packs_is_one_error(tmp_path: Path) -> None:
    target = make(tmp_path / "s.gpcatalog")
    before = target.read_bytes()

    def fails() -> None:
        with Writer(target) as writer:
            writer.insert("snapshot", [HEADER])
            writer._draft.mkdir()
            writer.pack()
            writer.finish()

    with pytest.raises(CatalogError, match=r"cannot write .*s\.gpcatalog"):
        fails()
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.gpcatalog"]


def test_a_thread_that_packs_ends_with_the_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "SELECT count(*) FROM range(10_000_000_000) a, range(10_000_000_000) b"
    monkeypatch.setattr("gpcatalog.store.snapshot.pack", lambda names: endless)
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.pack()
        time.sleep(0.3)  # the statement would take years
        writer.abandon()
        assert writer._packed.is_set()
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_a_draft_is_created_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB raises another error than the signal handler."""

    def interrupted(db: object) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("gpcatalog.store.snapshot.Memory", interrupted)
    with pytest.raises(RuntimeError):
        Writer(tmp_path / "s.gpcatalog")
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_file_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    def fails() -> None:
        with Writer(tmp_path / "s.gpcatalog") as writer:
            writer.scratch("x.csv").symlink_to("/dev/full")
            with writer.appending(writer.scratch("x.csv")) as out:
                out.write(b"x" * 100_000)

    with pytest.raises(CatalogError, match=r"cannot write .*s\.gpcatalog: No space left") as caught:
        fails()
    assert "an existing file was not changed" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_harms_nothing(tmp_path: Path) -> None:
    """After SIGKILL during a save, the old file stays, and the next save removes the temporary file."""
    target = make(tmp_path / "s.gpcatalog")
    before = target.read_bytes()
    code = (
        "import sys, time; from pathlib import Path; from gpcatalog.store.snapshot import Writer\n"
        f"w = Writer(Path({str(target)!r})); w.insert('setting', [{{'name': 'x', 'setting': 'y' * 100000}}])\n"
        "print('ready', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert target.read_bytes() == before
    assert len(list(tmp_path.iterdir())) > 1
    make(tmp_path / "other.gpcatalog")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.gpcatalog", "s.gpcatalog"]


@pytest.mark.parametrize("keep", [0, 1, 100, 4096, 20000, 60000])
def test_a_truncated_file_is_reported(tmp_path: Path, keep: int) -> None:
    path = make(tmp_path / "s.gpcatalog")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CatalogError, match="not a readable snapshot") as caught:
        Snapshot(path)
    assert caught.value.exit_code == Exit.USAGE
    assert caught.value.hint


def test_corruption_is_reported_or_harmless(tmp_path: Path) -> None:
    """Bytes at intervals of at least 512 are inverted, one at a time: the result is a clear message or the right answer."""
    path = make(tmp_path / "s.gpcatalog")
    content = path.read_bytes()
    reported = 0
    for at in range(0, len(content), max(512, len(content) // 60)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            with Snapshot(path) as snapshot:
                assert snapshot.header["snapshot_id"] == HEADER["snapshot_id"]
                snapshot.rows("SELECT * FROM relation")
        except CatalogError:
            reported += 1
    assert reported > 0


def test_something_else_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are not the bytes you are looking for\n" * 1000)
    with pytest.raises(CatalogError, match="not a readable snapshot"):
        Snapshot(path)
    with duckdb.connect(str(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE snapshot (schema_version INTEGER)")
    with pytest.raises(CatalogError, match="not a readable snapshot"):
        Snapshot(tmp_path / "other.db")


def test_a_newer_schema_is_reported(tmp_path: Path) -> None:
    path = make(tmp_path / "s.gpcatalog", schema_version=SCHEMA_VERSION + 1)
    with pytest.raises(CatalogError, match="newer gpcatalog") as caught:
        Snapshot(path)
    assert "update" in caught.value.hint


def test_a_view_cannot_pose_as_a_table(tmp_path: Path) -> None:
    """An untrusted snapshot must not run SQL of its author when it is read."""
    path = make(tmp_path / "s.gpcatalog")
    with duckdb.connect(str(path)) as db:
        db.execute("DROP TABLE setting")
        db.execute("CREATE VIEW setting AS SELECT content AS name FROM read_text('/etc/passwd')")
    with pytest.raises(CatalogError, match="not a readable snapshot"):
        Snapshot(path)


def test_reading_reaches_nothing_else(tmp_path: Path) -> None:
    with (
        Snapshot(make(tmp_path / "s.gpcatalog")) as snapshot,
        pytest.raises(CatalogError, match="disabled by configuration"),
    ):
        snapshot.rows("SELECT * FROM read_text('/etc/passwd')")


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    """A file size limit simulates the full disk: writes fail in the same places."""
    target = make(tmp_path / "s.gpcatalog")
    before = target.read_bytes()
    code = (
        "import resource, signal, sys; from pathlib import Path; from gpcatalog.errors import CatalogError\n"
        "from gpcatalog.store.snapshot import Writer\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000))\n"
        "try:\n"
        f"    w = Writer(Path({str(target)!r}))\n"
        "    with w:\n"
        "        w.insert('setting', [{'name': str(n), 'setting': str(n * 7919 % 104729) * 40} for n in range(20000)]); w.finish()\n"
        "except CatalogError as e:\n"
        "    print(e.message, '|', e.hint)\n"
    )
    assert resource.RLIMIT_FSIZE is not None
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert "cannot write" in result.stdout
    assert "was not changed" in result.stdout
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.gpcatalog"]


def test_a_statement_gets_more_memory_where_it_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of 64 MB cannot be divided, and 16 MB are not enough for it."""
    large = "CREATE TEMP TABLE t AS SELECT list(i) AS l FROM range(8000000) r (i)"
    monkeypatch.setattr(statements, "LEAST_MEMORY", 16)
    with Writer(tmp_path / "a.gpcatalog") as writer:
        writer.execute(large)
        assert writer.execute("SELECT len(l) FROM t") == [(8_000_000,)]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert 16 < writer._memory.now < writer._memory._most < memory / 1e6
        writer.abandon()
    monkeypatch.setattr(statements, "_memory_limit", lambda db: 32)
    with (
        pytest.raises(CatalogError, match="Out of Memory") as raised,
        Writer(tmp_path / "a.gpcatalog") as writer,
    ):
        writer.execute(large)
    assert "too little free memory" in raised.value.hint
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_target(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="it is a folder"):
        Writer(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_forbidden_folder_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CatalogError, match="cannot write"):
        make(tmp_path / "s.gpcatalog")


def test_many_readers_and_a_writer_share_a_series(tmp_path: Path) -> None:
    path = make(tmp_path / "s.gpcatalog")
    code = (
        "import time; from pathlib import Path; from gpcatalog.store.snapshot import Snapshot\n"
        f"with Snapshot(Path({str(path)!r})): print('open', flush=True); time.sleep(30)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        with Snapshot(path) as mine:
            assert mine.header["version"] == "15.1"
        make(path, version="15.2")
        with Snapshot(path) as mine:
            assert mine.header["version"] == "15.2"
    finally:
        child.kill()
        child.wait()


def test_series_names(home: Path) -> None:
    from datetime import UTC, datetime

    place = series.folder("../../etc", 5432, "a/../b")
    assert place.is_relative_to(home)
    assert ".." not in place.relative_to(home).parts
    now = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
    first = make(series.new_path(place, now))
    second = make(series.new_path(place, now))
    assert first != second
    listed = list(series.snapshots())
    assert [s.path for s in listed] == sorted([first, second])
    assert listed[0].taken_at == now
    assert series.find(first.name) == first
    with pytest.raises(CatalogError, match="no snapshot file"):
        series.find("nothing-like-it")


def test_equal_bounds_have_equal_keys(tmp_path: Path) -> None:
    bounds = [
        "START (1) END (2)",
        "START (01) END (2)",
        "START (1) END (2)",
        "100% (1)",
        "%d (1)",
        "",
        None,
        "1" * 40,
        "FOR VALUES IN ('1')",
    ]
    row = {
        "schema": "s",
        "level": 1,
        "kind": "leaf",
        "storage": "heap",
        "columns": 1,
        "toast": False,
        "indexes": 0,
        "index_columns": 0,
    }
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert(
            "relation",
            [
                row
                | {
                    "oid": n,
                    "root": 1,
                    "name": f"t{n}",
                    "block_directory": False,
                    "is_default": False,
                    "bound": bound,
                }
                for n, bound in enumerate(bounds, 2)
            ],
        )
        path = writer.finish()
    with Snapshot(path) as snapshot:
        found = snapshot.rows("SELECT bound, bound_key FROM relation ORDER BY oid")
    assert [r["bound"] for r in found] == bounds
    assert (
        len({(r["bound"], r["bound_key"]) for r in found})
        == len({r["bound"] for r in found})
        == len({r["bound_key"] for r in found})
    )
