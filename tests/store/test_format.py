"""The format of snapshot files, as a list that changes only on purpose, and its limits.

GPCATALOG_TEST_UPDATE=1 pytest tests/store/test_format.py    writes the list again; check the difference: existing files must stay readable
"""

from __future__ import annotations

import csv
import errno
import os
import socket
import subprocess
import sys
import time
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import psycopg
import pytest

from gpcatalog.errors import CatalogError
from gpcatalog.store import packing, prune, schema, series, snapshot, validation
from gpcatalog.store.export import export
from gpcatalog.store.prune import Fate, Policy, decide
from gpcatalog.store.schema import TABLES, columns_of
from gpcatalog.store.series import StoredSnapshot
from gpcatalog.store.snapshot import Snapshot, Writer
from gpcatalog.store.statements import disk_error
from tests.growth.test_packing import relation
from tests.store.test_snapshot import HEADER, make

GOLDEN = Path(__file__).parent / "golden/format.txt"
NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


# --- the format -----------------------------------------------------------------------------------


def test_the_format(tmp_path: Path) -> None:
    lines = [f"schema version {schema.SCHEMA_VERSION}"]
    with duckdb.connect(str(make(tmp_path / "s.gpcatalog")), read_only=True) as db:
        shown = "SELECT table_name || '.' || column_name || ': ' || data_type || CASE WHEN is_nullable THEN '' ELSE ' NOT NULL' END FROM duckdb_columns()"
        lines += [row[0] for row in db.execute(f"{shown} WHERE NOT internal ORDER BY 1").fetchall()]
    for version in range(1, schema.SCHEMA_VERSION + 1):
        missing = [table for table in TABLES if validation.may_lack(table, version)]
        missing += [
            f"{table}.{name}"
            for table in TABLES
            for name, _, _ in validation.expected_columns(table, version)[1]
        ]
        lines.append(f"files of version {version} may lack: {', '.join(missing) or 'nothing'}")
    for table in TABLES:
        lines += [f"{table}.{c}: {text}" for c, text in validation.conditions(table).items()]
    packed = validation.conditions("relation", packed=True)
    lines += [f"{packing.PACKED}.{column}: {text}" for column, text in packed.items()]
    lines += [packing.pack(columns_of("relation")), packing.unpack(columns_of("relation"), "t", keyed=True)]  # fmt: skip
    lines += [f"sealed: {name} = {value}" for name, value in snapshot._SEALED.items()]
    text = "\n".join(lines) + "\n"
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


@pytest.mark.parametrize(
    ("name", "form", "numbers"),
    [
        ("sales_1_prt_20", "sales_%d_prt_%d", (1, 20, 0, 0, 0, 0)),
        ("p007", "p%03d", (7, 0, 0, 0, 0, 0)),
        ("0", "%d", (0, 0, 0, 0, 0, 0)),
        ("100%", "%d%%", (100, 0, 0, 0, 0, 0)),
        ("1_2_3_4_5_6", "%d_%d_%d_%d_%d_%d", (1, 2, 3, 4, 5, 6)),
        ("1_2_3_4_5_6_7", "1_2_3_4_5_6_7", (0,) * 6),
        ("a" + "9" * 18, "a%d", (999_999_999_999_999_999, 0, 0, 0, 0, 0)),
        ("a" + "1" * 19, "a" + "1" * 19, (0,) * 6),
    ],
)
def test_numbers_are_stored_separately(
    name: str, form: str, numbers: tuple[int, ...], tmp_path: Path
) -> None:
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert("relation", [relation(5, name, None)])
        path = writer.finish()
    with duckdb.connect(str(path), read_only=True) as db:
        query = f"SELECT name_form, {', '.join(f'name_{n}' for n in range(1, 7))} FROM {packing.PACKED}"  # fmt: skip
        assert db.execute(query).fetchall() == [(form, *numbers)]


def test_more_rows_go_into_larger_blocks(tmp_path: Path) -> None:
    row = {**relation(1, "t", None), "schema": "s", "options": ""}
    columns = columns_of("relation")
    for rows, size in (
        (0, 16384),
        (19_999, 16384),
        (20_000, 65536),
        (499_999, 65536),
        (500_000, 262144),
    ):
        with Writer(tmp_path / f"{rows}.gpcatalog") as writer:
            writer.insert("snapshot", [HEADER])
            if rows:
                writer.insert("relation", [row])
                names = ", ".join(f'"{c}"' for c in columns)
                writer.execute(
                    f"INSERT INTO relation SELECT {names} FROM relation, range({rows - 1})"
                )
            path = writer.finish()
        with duckdb.connect(str(path), read_only=True) as db:
            assert db.execute("CALL pragma_database_size()").fetchall()[0][2] == size, rows


def test_a_file_with_more_rows_than_any_server_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert snapshot.MOST_ROWS == 200_000_000
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert("setting", [{"name": str(n)} for n in range(3)])
        path = writer.finish()
    monkeypatch.setattr(snapshot, "MOST_ROWS", 3)
    Snapshot(path).close()
    monkeypatch.setattr(snapshot, "MOST_ROWS", 2)
    with pytest.raises(
        CatalogError, match="setting has 3 rows, which is more than a server can have"
    ):
        Snapshot(path)


def test_a_strangers_file_is_sealed_off(tmp_path: Path) -> None:
    with Snapshot(make(tmp_path / "s.gpcatalog")) as opened:
        for name, value in snapshot._SEALED.items():
            shown = opened.one(f"SELECT current_setting('{name}')::VARCHAR AS v")["v"]
            assert shown == value, name
        for name, value in {"enable_external_access": "false", "lock_configuration": "true"}.items():  # fmt: skip
            assert opened.one(f"SELECT current_setting('{name}')::VARCHAR AS v")["v"] == value
        with pytest.raises(CatalogError):
            opened.rows("SET threads = 4")


# --- drafts and claims ----------------------------------------------------------------------------


def _dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_drafts_and_claims_of_the_dead_are_swept(tmp_path: Path) -> None:
    host = f"{zlib.crc32(socket.gethostname().encode()):08x}"
    assert snapshot.me() == f"{os.getpid()}-{host}"
    other = "0badcafe"
    dead, alive = _dead_pid(), os.getppid()
    young, old = time.time() - 2 * 86400 + 60, time.time() - 2 * 86400 - 60
    drafts = {  # writer: (time of the last change, whether the files are removed)
        f"{dead}-{host}": (young, True),
        f"{alive}-{host}": (old, False),
        f"{dead}-{other}": (young, False),
        f"{alive}-{other}": (old, True),
        f"x-{host}": (young, False),
        "nobody": (old, True),
    }
    remaining = set()
    for n, (who, (when, swept)) in enumerate(drafts.items()):
        draft = tmp_path / f".a{n}.gpcatalog.{who}.abc.partial"
        spill = tmp_path / f"{draft.name}.spill"
        claim = tmp_path / f".b{n}.gpcatalog.claim"
        draft.write_text("x")
        spill.mkdir()
        (spill / "inside").write_text("x")
        claim.write_text(who)
        for path in (draft, spill, claim):
            os.utime(path, (when, when))
        remaining |= set() if swept else {draft, spill, claim}
    unreadable = tmp_path / ".c.gpcatalog.claim"
    unreadable.write_bytes(b"\xff\xfe")
    make(tmp_path / "s.gpcatalog")
    assert set(tmp_path.iterdir()) == {*remaining, unreadable, tmp_path / "s.gpcatalog"}


def test_a_claim_goes_with_its_writer(tmp_path: Path) -> None:
    path = series.new_path(tmp_path, NOW)
    claim = snapshot.claim_of(path)
    assert path.name == "20261121T100000Z.gpcatalog"
    assert claim.name == ".20261121T100000Z.gpcatalog.claim"
    assert claim.read_text() == snapshot.me()
    second = series.new_path(tmp_path, NOW)
    assert second.name == "20261121T100000Z-2.gpcatalog"
    claim.write_text("1-somebody")
    make(path)
    assert claim.exists()  # it belongs to another process
    claim.write_text(snapshot.me())
    make(path)
    assert not claim.exists()
    (tmp_path / "20261121T100000Z-3.gpcatalog").write_text("")
    assert series.new_path(tmp_path, NOW).name == "20261121T100000Z-4.gpcatalog"
    east = datetime.fromisoformat("2026-11-22T01:00:00+03:00")
    assert series.new_path(tmp_path, east).name == "20261121T220000Z.gpcatalog"


def test_names_are_given_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert series.new_path(tmp_path / "file", NOW).parent == tmp_path / "file"
    with pytest.raises(CatalogError, match="cannot write"):
        make(series.new_path(tmp_path / "file", NOW))


# --- series ---------------------------------------------------------------------------------------


def test_where_series_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPCATALOG_HOME", str(tmp_path / "own"))
    assert series.home() == tmp_path / "own"
    monkeypatch.setenv("GPCATALOG_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert series.home() == tmp_path / "data/gpcatalog"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert series.home() == tmp_path / "me/.local/share/gpcatalog"
    assert series.folder("h/1", "5432", "..") == series.home() / "h%2f1-5432" / "%2e%2e"
    assert series.folder("h", 1, "").name == "%"
    assert series.folder("h", 1, "a.b-c_D9 é").name == "a.b-c_D9%20%c3%a9"


def test_stored_snapshots_are_found_by_name(home: Path) -> None:
    first = make(series.folder("a", 1, "d") / "20261121T100000Z.gpcatalog")
    second = make(series.folder("b", 1, "d") / "20261121T100000Z.gpcatalog")
    third = make(series.folder("b", 1, "d") / "20261121T100000Z-2.gpcatalog")
    (third.parent / "20261121.gpcatalog").write_text("no time of ours")
    (third.parent / "x20261121T100000Z.gpcatalog").write_text("nor this")
    (home / "file").write_text("")
    found = list(series.snapshots())
    assert [s.path for s in found] == [first, third, second]
    assert (found[1].server, found[1].database, found[1].taken_at) == ("b-1", "d", NOW)
    assert found[0].bytes == first.stat().st_size
    assert [s.path for s in series.snapshots(second.parent)] == [third, second]
    assert series.find("20261121T100000Z-2") == series.find(third.name) == third
    assert series.find(str(first)) == first
    assert series.find("no/such") == Path("no/such")
    with pytest.raises(CatalogError) as caught:
        series.find("20261121T100000Z")
    assert caught.value.message == "2 stored snapshots have the name 20261121T100000Z"
    assert caught.value.hint == "give the full path; `gpcatalog snapshot list` shows it"
    with pytest.raises(CatalogError) as caught:
        series.find("20261121T100000")
    assert caught.value.message == "there is no snapshot file 20261121T100000"


def _stored(days: float, path: Path) -> StoredSnapshot:
    return StoredSnapshot(path, NOW - timedelta(days=days), "s", "d")


def test_pruning_at_the_edges(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"1234567")
    assert (Policy().all_days, Policy().totals_days) == (30, 180)
    ages = (0, 30, 30.01, 31, 37, 180, 187.01, 194, 200, 201)
    fates = decide([_stored(days, file) for days in ages], NOW, Policy())
    assert all(d.bytes == 7 for d in fates)
    found = {d.stored.taken_at: d.fate for d in fates}
    # 21 November 2026 is a Saturday: 30 days before is Thursday, 22 October, in the same week as 30.01 and 31 days before
    expected = [Fate.KEEP, Fate.KEEP, Fate.REMOVE, Fate.KEEP, Fate.KEEP, Fate.KEEP, Fate.TOTALS, Fate.TOTALS, Fate.REMOVE, Fate.TOTALS]  # fmt: skip
    assert [found[NOW - timedelta(days=days)] for days in ages] == expected
    (lonely,) = decide([_stored(4000, file)], NOW, Policy(0, 0))
    assert lonely.fate is Fate.KEEP  # the newest snapshot is kept complete
    with pytest.raises(CatalogError) as caught:
        Policy(-1, 3)
    assert caught.value.message == "--keep-all -1 and --keep-leaves 3 are inconsistent"


def test_totals_only_once(tmp_path: Path) -> None:
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert("relation", [relation(3, "t", None)])
        path = writer.finish()
    assert not prune.totals_only(path)  # the file has no totals
    with Writer(path) as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert("relation", [relation(3, "t", None)])
        writer.insert(
            "root_total",
            [{"root": 1, "schema": "s", "name": "t", "kind": "root", "storage": "heap", "leaves": 1, "class_rows": 2, "attribute_rows": 3}],
        )  # fmt: skip
        writer.insert("setting", [{"name": "a", "setting": "b"}])
        writer.finish()
    assert prune.totals_only(path)
    assert not prune.totals_only(path)
    with Snapshot(path) as thin:
        assert thin.header["grain"] == "root"
        assert thin.rows("SELECT * FROM relation") == []
        assert thin.one("SELECT name, setting FROM setting") == {"name": "a", "setting": "b"}


# --- export and messages --------------------------------------------------------------------------


def test_a_server_reads_what_was_exported(tmp_path: Path, pg_dsn: str) -> None:
    """COPY … (FORMAT csv) reads every value as it was, also NULL and the empty text."""
    with Snapshot(Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog") as opened:
        export(opened, tmp_path / "out")
        seen = [0, 0]
        with psycopg.connect(pg_dsn, autocommit=True, prepare_threshold=None) as conn:
            for table in TABLES:
                names = ", ".join(f'"{c}"' for c in columns_of(table))
                stored = [
                    tuple(None if v is None else str(v) for v in row)
                    for batch in opened.stream(f"SELECT {names} FROM {table}")[1]
                    for row in batch
                ]
                conn.execute("DROP TABLE IF EXISTS pg_temp.x")
                conn.execute(
                    f"CREATE TEMP TABLE x ({', '.join(f'c{n} text' for n in range(names.count(',') + 1))})"
                )
                with conn.cursor().copy("COPY x FROM STDIN (FORMAT csv, HEADER)") as copy:
                    copy.write((tmp_path / f"out/{table}.csv").read_bytes())
                assert Counter(conn.execute("SELECT * FROM x").fetchall()) == Counter(stored), table
                seen[0] += sum(v is None for row in stored for v in row)
                seen[1] += sum(v == "" for row in stored for v in row)
    assert all(seen), seen


def test_export(tmp_path: Path) -> None:
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert("setting", [{"name": f"n{n}", "setting": 'a"b,\n' if n else None} for n in range(10_001)])  # fmt: skip
        path = writer.finish()
    with Snapshot(path) as opened:
        rows = export(opened, tmp_path / "deep/out")
        assert rows == dict.fromkeys(TABLES, 0) | {"snapshot": 1, "setting": 10_001}
        with pytest.raises(CatalogError) as caught:
            export(opened, tmp_path / "deep/out")
        assert caught.value.message == f"{tmp_path}/deep/out exists already"
        (tmp_path / "file").write_text("")
        with pytest.raises(CatalogError, match="cannot create"):
            export(opened, tmp_path / "file/out")
        opened.close()
        with pytest.raises(CatalogError, match="already closed"):
            export(opened, tmp_path / "half")
        assert not (tmp_path / "half").exists()
    with (tmp_path / "deep/out/setting.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.reader(file))
    assert found[:3] == [["name", "setting", "unit", "source"], ["n0", "", "", ""], ["n1", 'a"b,\n', "", ""]]  # fmt: skip
    assert len(found) == 10_002
    assert {f.name for f in (tmp_path / "deep/out").iterdir()} == {f"{table}.csv" for table in TABLES}  # fmt: skip


@pytest.mark.parametrize(
    ("error", "text", "space"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device", True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Disk quota exceeded", True),
        (OSError(errno.EACCES, "Permission denied"), "[Errno 13] Permission denied", False),
        (duckdb.IOException("ENOSPC while writing\nmore"), "ENOSPC while writing", True),
        (duckdb.IOException("the disk is gone"), "the disk is gone", True),
        (duckdb.IOException("over quota"), "over quota", True),
        (duckdb.IOException("File too large"), "File too large", True),
        (duckdb.IOException("No space left"), "No space left", True),
        (duckdb.IOException("locked"), "locked", False),
        (duckdb.IOException(""), "IOException", False),
    ],
)
def test_what_cannot_be_written_is_reported(error: Exception, text: str, space: bool) -> None:
    reported = disk_error(Path("/a/b"), error)
    assert reported.message == f"cannot write /a/b: {text}"
    assert reported.hint == (
        "free disk space, or use --save with another location; an existing file was not changed"
        if space
        else "check the folder and its permissions; an existing file was not changed"
    )


def test_a_newer_duckdb_is_named(tmp_path: Path) -> None:
    """The message of DuckDB 1.3; in a damaged file, the number can have any value."""
    message = "IO Error: Trying to read a database file with version number {}, but we can only read versions between 64 and 66."
    with Snapshot(make(tmp_path / "s.gpcatalog")) as opened:
        error = opened._damaged(duckdb.IOException(message.format(67)))
        assert "was written by a newer DuckDB than" in error.message
        assert error.hint == "upgrade DuckDB: pip install --upgrade duckdb"
        assert "not a readable snapshot" in opened._damaged(message.format(63)).message


def test_the_oldest_duckdb_can_read_what_is_written(tmp_path: Path) -> None:
    """The storage version in the file is that of the oldest release that pyproject.toml allows."""
    with duckdb.connect(str(make(tmp_path / "s.gpcatalog")), read_only=True) as db:
        row = db.execute(
            "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 's'"
        ).fetchone()
    assert row is not None
    oldest = snapshot._STORAGE.removeprefix("v").rsplit(".", 1)[0]
    assert str(row[0]).startswith(f"v{oldest}.")
    assert f'"duckdb>={oldest}"' in (Path(__file__).parents[2] / "pyproject.toml").read_text()


def test_what_does_not_fit_together_is_the_files_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.gpcatalog"
    path.write_bytes(make(tmp_path / "other.gpcatalog").read_bytes())
    for error in (TypeError, ZeroDivisionError, KeyError, ValueError):
        with (
            pytest.raises(CatalogError, match=f"is inconsistent: {error.__name__}: "),
            Snapshot(path),
        ):  # fmt: skip
            raise error("x  " * 100)
        with (
            pytest.raises(CatalogError, match="inconsistent"),
            snapshot.file_errors(path),
        ):
            raise error
    with pytest.raises(CatalogError) as caught, snapshot.file_errors(path):
        raise ValueError("y" * 200)
    assert caught.value.message.endswith(": ValueError: " + "y" * 150)
    with pytest.raises(RuntimeError), snapshot.file_errors(path):
        raise RuntimeError
    with (
        pytest.raises(ValueError, match="ours"),
        snapshot.file_errors(tmp_path / "other.gpcatalog"),
    ):
        raise ValueError("ours")  # this process wrote the file, so the error is in gpcatalog
    monkeypatch.setenv("GPCATALOG_DEBUG", "1")
    with pytest.raises(ValueError, match="shown"), snapshot.file_errors(path):
        raise ValueError("shown")


def test_queries(tmp_path: Path) -> None:
    with Writer(tmp_path / "s.gpcatalog") as writer:
        writer.insert("snapshot", [HEADER])
        writer.insert("setting", [])
        writer.insert("setting", [{"name": str(n)} for n in range(20_001)])
        assert writer.execute("SELECT count(*) + ? FROM setting", [1]) == [(20_002,)]
        path = writer.finish()
    with Snapshot(path) as opened:
        names, batches = opened.stream("SELECT name, unit FROM setting")
        assert names == ["name", "unit"]
        assert [len(batch) for batch in batches] == [10_000, 10_000, 1]
        assert opened.one("SELECT count(*) AS n FROM setting WHERE name > ?", ["9"])["n"] == 1110
        assert list(opened.columns("SELECT name::int AS n FROM setting WHERE n < 3")["n"]) == [0, 1, 2]  # fmt: skip
        with pytest.raises(duckdb.Error):
            opened.rows("SELECT nonsense FROM setting")  # an error of gpcatalog, not of the file
        assert opened.header["taken_at"] == datetime(2026, 11, 21, 10)
