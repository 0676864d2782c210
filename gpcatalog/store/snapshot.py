"""One snapshot file: written completely or not at all, and read-only afterwards."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import duckdb

from gpcatalog.errors import CatalogError
from gpcatalog.model.output_file import regular
from gpcatalog.store.packing import PACKED, key, pack, unpack
from gpcatalog.store.schema import SCHEMA_VERSION, TABLES, columns_of, shape_of
from gpcatalog.store.statements import Memory, Statements, disk_error, sql_path
from gpcatalog.store.validation import (
    MOST_ROWS,
    conditions,
    expected_columns,
    may_lack,
    packed_columns,
)

SUFFIX = ".gpcatalog"
# Number of relations → block size of DuckDB in bytes. Small blocks keep the snapshot of a small
# database small, but numbers are not compressed in blocks below 64 KB. Each block has its own
# dictionaries, so a very large number of rows is compressed better in large blocks. Measured:
# 75,000 rows take 30 bytes each in 64 KB blocks, 46 in 16 KB, 49 in 256 KB; 200,000 take 26, 48 and
# 33.
_BLOCK_SIZES = ((500_000, 262144), (20_000, 65536), (0, 16384))
# The oldest DuckDB that can read the files, as required in pyproject.toml. Newer formats save
# little: 200,000 leaves take 3.55 MB in this one, 3.42 MB in that of 2.0.
_STORAGE = "v1.3.0"
_ABANDONED = 2 * 86400.0  # seconds after which a draft of another host is removed
_FILE = "file"  # the database name of an attached snapshot file
_WRITTEN: set[Path] = set()  # by this process: an error with such a file is a bug of gpcatalog
_WORD = re.compile(r"\w+")
_NEWER = re.compile(
    r"file with version number (\d+), but we can only read versions? between \d+ and (\d+)"
)
# a file from an unknown source must not access the network or other files, and reading must not use
# disk space
_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
    "threads": "2",
}


# rows that one thread works on; DuckDB's default of 122,880 is more than most databases have leaves
_ROWS_PER_THREAD = 8192


def _csv(value: Any) -> str:
    """One CSV field: NULL is an empty field, all other values are quoted."""
    if value is None:
        return ""
    text = str(value)
    return '"' + text.replace('"', '""') + '"'


class Writer(Statements):
    """Writes a snapshot with a temporary name in the folder of the target; `finish` renames it.

    Rows are collected in a work file. The draft is written at the end in one step, packed, without
    the free space that updates leave. After an exception or a kill, the target is unchanged.
    """

    def __init__(self, target: Path) -> None:
        self._named = target
        self._packing: Statements | None = None  # of the thread that writes the rows of `relation`
        self._packed = threading.Event()  # whether it has ended
        self._failed: Exception | None = None
        target = regular(target)
        self.target = target
        self._draft = target.with_name(f".{target.name}.{me()}.{secrets.token_hex(3)}.partial")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _sweep(target.parent)
            self._db = duckdb.connect(
                ":memory:",
                config={
                    "threads": "2",
                    "preserve_insertion_order": "true",
                    "temp_directory": str(self.scratch("spill")),
                },
            )
            self._memory = Memory(self._db)
            self._db.execute(
                f"ATTACH {sql_path(self.scratch('work'))} AS w (ROW_GROUP_SIZE {_ROWS_PER_THREAD})"
            )
            self._db.execute("USE w")
            self._db.execute("PRAGMA disable_checkpoint_on_shutdown")  # the work file is removed
            self._db.execute(
                "".join(
                    f"CREATE TABLE {name} ({columns});" for name, columns in TABLES.items()
                ).join(("BEGIN;", "COMMIT;"))
            )
        except (duckdb.Error, OSError) as e:
            self.abandon()
            raise disk_error(target, e) from None
        except BaseException:  # DuckDB may raise another error than a signal handler
            self.abandon()
            raise

    def another(self) -> Statements:
        """Statements that another thread may execute at the same time.

        The tables that they create are in the database `memory`, and disappear with the draft.
        """
        found = Statements()
        found.target, found._memory, found._db = self.target, self._memory, self._db.cursor()
        found.execute("USE memory")
        return found

    def scratch(self, name: str) -> Path:
        """The path of a temporary file next to the draft, which is removed with the draft."""
        return self._draft.with_name(f"{self._draft.name}.{name}")

    @contextlib.contextmanager
    def appending(self, file: Path) -> Iterator[BinaryIO]:
        """Open a temporary file to append to it. Raises CatalogError if it cannot be written."""
        try:
            with file.open("ab") as out:
                yield out
        except OSError as e:
            raise disk_error(self.target, e) from None

    def insert(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Append rows; keys are column names, missing ones become NULL."""
        batch = list(rows)
        if not batch:
            return
        columns = list(batch[0])
        names = ", ".join(f'"{c}"' for c in columns)
        # one statement per row is slow, and a CSV file is the fastest method
        file = self.scratch(f"{table}.csv")
        try:
            with file.open("w", encoding="utf-8", newline="") as out:
                for row in batch:
                    out.write(",".join(_csv(row.get(c)) for c in columns) + "\n")
        except OSError as e:
            raise disk_error(self.target, e) from None
        kinds = {name: kind for name, kind in self._columns(table).items() if name in columns}
        self.load_csv(
            f"INSERT INTO {table} ({names}) SELECT * FROM {{csv}}",
            file,
            {name: kinds[name] for name in columns},
        )
        file.unlink(missing_ok=True)

    def _columns(self, table: str) -> dict[str, str]:
        return {
            name: kind
            for _, name, kind, *_ in self._db.execute(f"PRAGMA table_info('{table}')").fetchall()
        }

    def pack(self) -> None:
        """Start to write the rows of `relation`, which are complete now, in a thread."""
        self._packing = packing = self.another()
        threading.Thread(target=self._pack, args=(packing,), daemon=True).start()

    def _pack(self, packing: Statements) -> None:
        try:
            self._write_relations(packing)
        # any error is raised by `packed`
        except Exception as e:
            self._failed = e
        finally:
            self._packed.set()

    def packed(self) -> None:
        """Wait until the rows of `relation` are written. Raises CatalogError."""
        if self._packing is not None:
            self._packed.wait()
        if self._failed is not None:
            raise self._failed

    def _write_relations(self, by: Statements) -> None:
        """Create the draft with the packed rows of `relation`."""
        by.execute("USE w")
        count = by.execute("SELECT count(*) FROM relation")[0][0]
        block = next(size for rows, size in _BLOCK_SIZES if count >= rows)
        by.execute(
            f"ATTACH {sql_path(self._draft)} AS s"
            f" (BLOCK_SIZE {block}, STORAGE_VERSION '{_STORAGE}')"
        )
        names = columns_of("relation")
        by.execute(f"CREATE TABLE s.main.{PACKED} AS {pack(names)}")
        by.execute("USE s")  # names in a view refer to its own file
        by.execute(f"CREATE VIEW relation AS {unpack(names, PACKED)}")
        by.execute("USE memory")

    def finish(self) -> Path:
        """Close the draft and rename it to the target, atomically. Returns the target."""
        try:
            self._write_draft()
            self._db.close()
            with self._draft.open("rb") as f:
                os.fsync(f.fileno())
            os.replace(self._draft, self.target)
            with contextlib.suppress(OSError):
                folder = os.open(self.target.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except CatalogError:
            self.abandon()
            raise
        except (duckdb.Error, OSError) as e:
            self.abandon()
            raise disk_error(self.target, e) from None
        self.abandon()
        _WRITTEN.update((self._named.absolute(), self.target.absolute()))
        return self.target

    def _write_draft(self) -> None:
        if self._packing is None:
            self._write_relations(self)
        self.packed()
        self._db.execute("USE w")
        for name, columns in TABLES.items():
            if name != "relation":
                self._db.execute(f"CREATE TABLE s.main.{name} ({columns})")
                self.execute(f"INSERT INTO s.main.{name} SELECT * FROM {name}")
        self._db.execute("CHECKPOINT s")
        self._db.execute("USE memory")
        self._db.execute("DETACH s")

    def abandon(self) -> None:
        """Remove all temporary files; never raises."""
        if self._packing is not None and not self._packed.is_set():
            self._packing.interrupt()
            self._packed.wait(2)
        with contextlib.suppress(Exception):
            self._db.close()
        claim = claim_of(self.target)
        for left in (
            *self._draft.parent.glob(f"{self._draft.name}*"),
            *([claim] if _claimant(claim) == me() else []),
        ):
            _remove(left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abandon()


def me() -> str:
    """Identify this process in names of drafts: pid and host, because several hosts can share a
    store.
    """
    return f"{os.getpid()}-{zlib.crc32(socket.gethostname().encode()):08x}"


def claim_of(target: Path) -> Path:
    """The file that reserves a name for a running audit; it contains the identification of the
    process.
    """
    return target.with_name(f".{target.name}.claim")


def _claimant(claim: Path) -> str:
    try:
        return claim.read_text()
    except (OSError, UnicodeError):
        return ""


def _sweep(folder: Path) -> None:
    """Remove drafts and claims of processes that no longer exist, which a kill left behind.

    Those of another host are removed when they are two days old.
    """
    for left in (*folder.glob(".*.partial*"), *folder.glob(f".*{SUFFIX}.claim")):
        who = (
            _claimant(left)
            if left.name.endswith(".claim")
            else left.name.split(f"{SUFFIX}.")[-1].split(".")[0]
        )
        pid, _, host = who.partition("-")
        here = host == me().partition("-")[2] and pid.isdigit() and Path("/proc/self").exists()
        try:
            old = time.time() - left.stat().st_mtime > _ABANDONED
        except OSError:
            continue
        if (here and not Path(f"/proc/{pid}").exists()) or (old and not here):
            _remove(left)


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        left.unlink()


def _explain(path: Path, e: BaseException | None) -> None:
    """Raise CatalogError for an error caused by inconsistent values in a file from an unknown
    source.
    """
    strange = path.absolute() not in _WRITTEN and not os.environ.get("GPCATALOG_DEBUG")
    if strange and isinstance(e, (TypeError, ArithmeticError, LookupError, ValueError)):
        raise CatalogError(
            f"{path} is inconsistent: {type(e).__name__}: {' '.join(str(e).split())[:150]}",
            hint=(
                "take a new snapshot; if gpcatalog wrote this file, it is a bug: report the"
                " output with GPCATALOG_DEBUG=1"
            ),
        ) from None


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[Path]:
    """For work with data from the file: errors caused by its values are reported as errors in the
    file. Raises CatalogError.
    """
    try:
        yield path
    except Exception as e:
        _explain(path, e)
        raise


class Snapshot:
    """A snapshot file, opened read-only.

    Several readers can share one file. The file is not trusted: only the data of base tables with
    the known columns is read, the values of each table are checked before its first use, and views,
    macros and generated columns of the file are never used.

    Raises CatalogError (exit code 2) if the file is missing, is not a snapshot, is damaged or was
    written by a newer gpcatalog. Its methods raise it, too, if data is damaged or contains values
    that no server could have returned.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checked: set[str] = set()  # tables whose values were checked
        self._views: dict[str, str] = {}  # statements that create the views that were not used yet
        self._packed = False
        if not path.is_file():
            raise CatalogError(
                f"there is no snapshot file {path}",
                hint="`gpcatalog snapshot list` shows the stored snapshots",
            )
        self._db = duckdb.connect(":memory:", config=_SEALED)
        try:
            # the file is attached as a separate database next to an empty one: names in a statement
            # are never looked up in it
            self._db.execute(
                f"ATTACH {sql_path(path.absolute())} AS {_FILE} (READ_ONLY, TYPE duckdb)"
            )
            self._db.execute("SET enable_external_access = false")
            self._db.execute("SET lock_configuration = true")
            self.header = self._read_header()
        except (duckdb.Error, OSError, MemoryError) as e:
            self._db.close()
            raise self._damaged(e) from None
        except BaseException:
            self._db.close()
            raise

    def _damaged(self, e: BaseException | str) -> CatalogError:
        first = e if isinstance(e, str) else str(e).splitlines()[0] if str(e) else type(e).__name__
        newer = _NEWER.search(first)
        if newer is not None and int(newer[1]) > int(newer[2]):
            return CatalogError(
                (
                    f"{self.path} was written by a newer DuckDB than the installed version"
                    f" {duckdb.__version__}"
                ),
                hint="upgrade DuckDB: pip install --upgrade duckdb",
            )
        return CatalogError(
            f"{self.path} is not a readable snapshot: {first[:200]}",
            hint=(
                "the file is damaged, incomplete or not a snapshot; take a new one with"
                " `gpcatalog snapshot take`"
            ),
        )

    def _read_header(self) -> dict[str, Any]:
        found: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind, default in self._db.execute(
            "SELECT c.table_name, c.column_name, c.data_type, c.column_default FROM"
            " duckdb_columns() c"
            # base tables only
            " JOIN duckdb_tables() t USING (database_name, schema_name, table_name)"
            f" WHERE c.database_name = '{_FILE}' AND c.schema_name = 'main' ORDER BY c.table_name,"
            " c.column_index"
        ).fetchall():
            # a generated column is an expression of the file and is not one of the known columns
            found.setdefault(table, []).append((column, kind if default is None else ""))
        if not any(column == "schema_version" for column, _ in found.get("snapshot", ())):
            raise self._damaged("it has no header")
        version = self._version()
        for table in TABLES:
            self._views[table] = self._view(table, found, version)
        self._few_rows()
        return self.rows("SELECT * FROM snapshot")[0]

    def _version(self) -> int:
        rows = self._db.execute(
            f"SELECT schema_version FROM {_FILE}.main.snapshot LIMIT 2"
        ).fetchall()
        version = rows[0][0] if len(rows) == 1 else None
        if not isinstance(version, int):
            raise self._damaged("it has no header")
        if version > SCHEMA_VERSION:
            raise CatalogError(
                f"{self.path} was written by a newer gpcatalog (snapshot schema {version}; this"
                f" version reads schemas up to {SCHEMA_VERSION})",
                hint="update gpcatalog",
            )
        return version

    def _view(self, table: str, found: dict[str, list[tuple[str, str]]], version: int) -> str:
        """The statement that creates a view with the name of the table over the data in the file;
        the view is empty if the file is older than the table.
        """
        if table == "relation" and PACKED in found:
            if found[PACKED] != [(name, kind) for name, kind, _ in packed_columns()]:
                raise self._damaged(f"{PACKED} does not have the columns of a snapshot")
            self._packed = True
            return (
                "CREATE TEMP VIEW relation AS"
                f" {unpack(columns_of('relation'), f'{_FILE}.main.{PACKED}', keyed=True)}"
            )
        if table not in found:
            if not may_lack(table, version):
                raise self._damaged(f"no table {table}")
            nothing = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind, _ in shape_of(table))
            return f"CREATE TEMP VIEW {table} AS SELECT {nothing} WHERE false"
        must, may = expected_columns(table, version)
        file_columns = dict(found[table])
        allowed = {name: kind for name, kind, _ in (*must, *may)}
        if any(file_columns.get(name) != kind for name, kind, _ in must) or any(
            allowed.get(name) != kind for name, kind in file_columns.items()
        ):
            raise self._damaged(f"{table} does not have the columns of a snapshot")
        select_list = ", ".join(
            f'"{name}"' if name in file_columns else f'NULL::{kind} AS "{name}"'
            for name, kind, _ in shape_of(table)
        )
        if table == "relation":
            select_list += f", {key(packed=False)} AS bound_key"
        return f"CREATE TEMP VIEW {table} AS SELECT {select_list} FROM {_FILE}.main.{table}"

    def _few_rows(self) -> None:
        for table, rows in self._db.execute(
            "SELECT table_name, estimated_size FROM duckdb_tables() WHERE database_name ="
            f" '{_FILE}' AND schema_name = 'main'"
        ).fetchall():
            if rows > MOST_ROWS:
                raise self._damaged(
                    f"{table} has {rows:,} rows, which is more than a server can have"
                )

    def _check(self, statement: str) -> None:
        """Create the view and check the values of each table that the statement is the first to
        use.
        """
        for table in set(_WORD.findall(statement)) & TABLES.keys() - self._checked:
            if table in self._views:
                self._db.execute(self._views.pop(table))
            packed = table == "relation" and self._packed
            source = f"{_FILE}.main.{PACKED}" if packed else table
            # most files have no rows in some tables, and planning the conditions takes longer than
            # reading
            if not self._db.execute(f"SELECT 1 FROM {source} LIMIT 1").fetchone():
                self._checked.add(table)
                continue
            of = conditions(table, packed=packed)
            # there are few forms, and their condition is expensive: each is checked once
            sums = ", ".join(
                (
                    f"(WITH f AS MATERIALIZED (SELECT {column}, count(*) AS n FROM {source} GROUP"
                    f" BY 1) SELECT coalesce(sum(n), 0)::BIGINT FROM f WHERE NOT ({text}))"
                    if packed and column.endswith("_form")
                    else f"count(*) FILTER (WHERE NOT ({text}))"
                )
                for column, text in of.items()
            )
            wrong = self._db.execute(f"SELECT {sums} FROM {source}").fetchall()[0]
            for column, n in zip(of, wrong, strict=True):
                if n:
                    raise self._damaged(f"{table}.{column} has invalid values in {n:,} rows")
            self._checked.add(table)

    def _run_query(self, statement: str, parameters: Sequence[Any]) -> Any:
        self._check(statement)
        return self._db.execute(statement, list(parameters))

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        with self._file_errors():
            answer = self._run_query(statement, parameters)
            names = [column[0] for column in answer.description or []]
            return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def columns(self, statement: str, parameters: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the columns of a query as numpy arrays (masked for NULL)."""
        with self._file_errors():
            return dict(self._run_query(statement, parameters).fetchnumpy())

    def stream(self, statement: str) -> tuple[list[str], Iterator[list[tuple[Any, ...]]]]:
        """Return the column names of a query, and its rows in batches."""
        with self._file_errors():
            answer = self._run_query(statement, ())

        def batches() -> Iterator[list[tuple[Any, ...]]]:
            while True:
                with self._file_errors():
                    batch = answer.fetchmany(10_000)
                if not batch:
                    return
                yield batch

        return [column[0] for column in answer.description or []], batches()

    @contextlib.contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
            raise  # a bug in this program, not in the file
        except (duckdb.Error, OverflowError, ValueError, MemoryError) as e:
            raise self._damaged(e) from None

    def one(self, statement: str, parameters: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the only row of a query."""
        return self.rows(statement, parameters)[0]

    @property
    def files_basis(self) -> str:
        """How the files of this snapshot were counted.

        "directory": in the data directories; "sample": also there, with figures estimated from a
                     part of the files; "catalog": by segment file lists and relations; empty if
                     none was read.
        """
        found = {row["basis"] for row in self.rows("SELECT DISTINCT basis FROM file_total")}
        return next((one for one in ("directory", "sample", "catalog") if one in found), "")

    def files_on_hosts(self) -> dict[str, list[int]]:
        """[primaries, mirrors, files of primaries, files of mirrors] of this database by host.

        A mirror is counted with as many files as its primary. Empty if files were not counted.
        """
        found: dict[str, list[int]] = {}
        for row in self.rows(
            "SELECT i.hostname, i.role, count(*) AS instances, sum(f.n) AS n FROM instance i JOIN"
            " (SELECT content, sum(files) AS n FROM file_total WHERE basis = ? GROUP BY content) f"
            " ON f.content = i.content GROUP BY ALL ORDER BY ALL",
            [self.files_basis],
        ):
            one = found.setdefault(row["hostname"] or "", [0, 0, 0, 0])
            mirror = row["role"] == "m"
            one[mirror] += int(row["instances"])
            one[2 + mirror] += int(row["n"])
        return found

    def unread(self, *probes: str) -> dict[str, str]:
        """Those of these probes that could not be read when the snapshot was taken, with the
        reason: their tables are empty without meaning that there are no rows on the server.
        """
        rows = self.rows("SELECT probe, status, reason FROM coverage WHERE status <> 'read'")
        return {
            r["probe"]: f"{r['status']}: {r['reason']}" if r["reason"] else r["status"]
            for r in rows
            if r["probe"] in probes
        }

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        _explain(self.path, value)
