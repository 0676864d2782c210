"""One snapshot file: written whole or not at all, read-only ever after."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from gpcatalog.errors import CatalogError
from gpcatalog.store.packing import PACKED, pack, unpack
from gpcatalog.store.schema import SCHEMA_VERSION, TABLES, columns_of

SUFFIX = ".gpcatalog"
_BLOCK_SIZE = 16384  # DuckDB's smallest: a snapshot of a small database stays small
_LARGE_BLOCK_SIZE = 262144  # its usual one: each block carries dictionaries of its own, so many rows pack better in large ones
_LARGE_ROWS = 100_000


def _sql_path(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _disk_error(path: Path, e: BaseException) -> CatalogError:
    text = str(e)
    if isinstance(e, OSError) and e.errno in (errno.ENOSPC, errno.EDQUOT):
        text = e.strerror or text
    full = "No space left" in text or "ENOSPC" in text or "disk" in text.lower() or "quota" in text.lower()
    return CatalogError(
        f"cannot write {path}: {text.splitlines()[0] if text else type(e).__name__}",
        hint="free some space, or save elsewhere with --save; what was there before is untouched"
        if full
        else "check the folder and its permissions; what was there before is untouched",
    )


def _csv(value: Any) -> str:
    """One CSV field: NULL is nothing at all, everything else is quoted."""
    if value is None:
        return ""
    text = str(value)
    return '"' + text.replace('"', '""') + '"'


class Writer:
    """Builds a snapshot under a temporary name in the target's folder and renames it when `finish` is called.

    Rows gather in a work file; the draft is written in one go at the end, packed, without the holes that updates leave.
    Anything else, an exception or a kill, leaves the target as it was.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._draft = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(3)}.partial")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                raise CatalogError(f"cannot write {target}: it is a folder", hint="name a file")
            _sweep(target.parent)
            self._db = duckdb.connect(":memory:", config={"threads": "2", "preserve_insertion_order": "true"})
            self._db.execute(f"ATTACH {_sql_path(self.scratch('work'))} AS w")
            self._db.execute("USE w")
            for name, columns in TABLES.items():
                self._db.execute(f"CREATE TABLE {name} ({columns})")
        except (duckdb.Error, OSError) as e:
            self.abandon()
            raise _disk_error(target, e) from None

    def scratch(self, name: str) -> Path:
        """A path for a temporary file beside the draft, removed with it."""
        return self._draft.with_name(f"{self._draft.name}.{name}")

    def insert(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Append rows; keys are column names, missing ones become NULL."""
        batch = list(rows)
        if not batch:
            return
        columns = list(batch[0])
        names = ", ".join(f'"{c}"' for c in columns)
        # one statement a row is slow, and a file of CSV is the fastest way in
        file = self.scratch(f"{table}.csv")
        try:
            with file.open("w", encoding="utf-8", newline="") as out:
                for row in batch:
                    out.write(",".join(_csv(row.get(c)) for c in columns) + "\n")
        except OSError as e:
            raise _disk_error(self.target, e) from None
        kinds = {name: kind for name, kind in self._columns(table).items() if name in columns}
        self.load_csv(f"INSERT INTO {table} ({names}) SELECT * FROM {{csv}}", file, {name: kinds[name] for name in columns})
        file.unlink(missing_ok=True)

    def _columns(self, table: str) -> dict[str, str]:
        return {name: kind for _, name, kind, *_ in self._db.execute(f"PRAGMA table_info('{table}')").fetchall()}

    def load_csv(self, statement: str, file: Path, columns: dict[str, str]) -> None:
        """Run `statement` (an INSERT) with `{csv}` standing for the rows of a CSV file as PostgreSQL's COPY writes it."""
        shape = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
        source = (
            f"read_csv('{str(file).replace(chr(39), chr(39) * 2)}', columns={{{shape}}}, header=false, delim=',', quote='\"', escape='\"', "
            "nullstr='', allow_quoted_nulls=false, auto_detect=false, parallel=false, max_line_size=16777216, "
            "new_line='\\n')"  # not guessed: a name may hold a carriage return
        )
        self._do(lambda: self._db.execute(statement.format(csv=source)))

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement against the draft."""
        rows: list[tuple[Any, ...]] = self._do(lambda: self._db.execute(statement, list(parameters)).fetchall())
        return rows

    def _do(self, action: Any) -> Any:
        try:
            return action()
        except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.FatalException, OSError) as e:
            raise _disk_error(self.target, e) from None

    def finish(self) -> Path:
        """Close the draft and give it its name, atomically. Returns the target."""
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
        except (duckdb.Error, OSError) as e:
            self.abandon()
            raise _disk_error(self.target, e) from None
        self.abandon()
        return self.target

    def _write_draft(self) -> None:
        count = self._db.execute("SELECT count(*) FROM relation").fetchall()[0][0]
        block = _LARGE_BLOCK_SIZE if count >= _LARGE_ROWS else _BLOCK_SIZE
        self._db.execute(f"ATTACH {_sql_path(self._draft)} AS s (BLOCK_SIZE {block})")
        for name, columns in TABLES.items():
            if name == "relation":
                wanted = columns_of(name)
                self._db.execute(f"CREATE TABLE s.main.{PACKED} AS {pack(wanted)}")
                self._db.execute("USE s")  # a view names what it reads as its own file does
                self._db.execute(f"CREATE VIEW relation AS {unpack(wanted, PACKED)}")
                self._db.execute("USE w")
            else:
                self._db.execute(f"CREATE TABLE s.main.{name} ({columns})")
                self._db.execute(f"INSERT INTO s.main.{name} SELECT * FROM {name}")
        self._db.execute("CHECKPOINT s")
        self._db.execute("USE memory")
        self._db.execute("DETACH s")
        self._db.execute("DETACH w")

    def abandon(self) -> None:
        """Remove everything temporary; never raises."""
        with contextlib.suppress(Exception):
            self._db.close()
        for left in self._draft.parent.glob(f"{self._draft.name}*"):
            with contextlib.suppress(OSError):
                left.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.abandon()


def _sweep(folder: Path) -> None:
    """Remove drafts whose writer is dead: what a kill left behind."""
    for left in folder.glob(".*.partial*"):
        parts = left.name.split(f"{SUFFIX}.")[-1].split(".")
        if parts and parts[0].isdigit() and not Path(f"/proc/{parts[0]}").exists() and Path("/proc/self").exists():
            with contextlib.suppress(OSError):
                left.unlink()


class Snapshot:
    """A snapshot file, opened read-only. Any number of readers may share one.

    Raises CatalogError (exit code 2) when the file is missing, is no snapshot, is damaged or comes from a newer gpcatalog.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise CatalogError(f"no snapshot file at {path}", hint="`gpcatalog snapshot list` shows the stored ones")
        try:
            # nothing in a stranger's file may reach the network or other files
            self._db = duckdb.connect(
                str(path),
                read_only=True,
                config={"autoload_known_extensions": "false", "autoinstall_known_extensions": "false", "threads": "2"},
            )
            # a second reader of the same file in this process meets settings that are locked already
            if not self._db.execute("SELECT current_setting('lock_configuration')").fetchall()[0][0]:
                self._db.execute("SET enable_external_access = false")
                self._db.execute("SET lock_configuration = true")
        except (duckdb.Error, OSError) as e:
            raise self._damaged(e) from None
        try:
            self.header = self._read_header()
        except BaseException:
            self._db.close()
            raise

    def _damaged(self, e: BaseException) -> CatalogError:
        first = str(e).splitlines()[0] if str(e) else type(e).__name__
        return CatalogError(
            f"{self.path} is not a readable snapshot: {first[:200]}",
            hint="it is damaged, cut short, or something else; take a new one with `gpcatalog snapshot take`",
        )

    def _read_header(self) -> dict[str, Any]:
        try:
            rows = self._rows("SELECT schema_version FROM snapshot")
            version = rows[0]["schema_version"] if len(rows) == 1 else None
            if not isinstance(version, int):
                raise CatalogError(f"{self.path} is not a readable snapshot: it has no header", hint="take a new one")
            if version > SCHEMA_VERSION:
                raise CatalogError(
                    f"{self.path} was written by a newer gpcatalog (snapshot schema {version}, this one reads up to {SCHEMA_VERSION})",
                    hint="update gpcatalog",
                )
            kinds = {
                row["table_name"]: row["table_type"] for row in self._rows("SELECT table_name, table_type FROM information_schema.tables")
            }
            packed = kinds.get(PACKED) == "BASE TABLE"
            lacking = [name for name in TABLES if kinds.get(name) != "BASE TABLE" and not (name == "relation" and packed)]
            if lacking:
                raise CatalogError(f"{self.path} is not a readable snapshot: no table {lacking[0]}", hint="take a new one")
            if packed:  # our own view hides the file's: what a stranger wrote there is never run
                self._db.execute(f"CREATE TEMP VIEW relation AS {unpack(columns_of('relation'), f'main.{PACKED}')}")
            return self._rows("SELECT * FROM snapshot")[0]
        except duckdb.Error as e:
            raise self._damaged(e) from None

    def _rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        answer = self._db.execute(statement, list(parameters))
        names = [column[0] for column in answer.description or []]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows of a query as dictionaries. Raises CatalogError when the file turns out to be damaged."""
        try:
            return self._rows(statement, parameters)
        except (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException) as e:
            raise self._damaged(e) from None

    def columns(self, statement: str, parameters: Sequence[Any] = ()) -> dict[str, Any]:
        """Columns of a query as numpy arrays (masked where NULL)."""
        try:
            return dict(self._db.execute(statement, list(parameters)).fetchnumpy())
        except (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException) as e:
            raise self._damaged(e) from None

    def stream(self, statement: str) -> tuple[list[str], Iterator[list[tuple[Any, ...]]]]:
        """Column names of a query, and its rows in batches."""
        answer = self._db.execute(statement)

        def batches() -> Iterator[list[tuple[Any, ...]]]:
            while batch := answer.fetchmany(10_000):
                yield batch

        return [column[0] for column in answer.description or []], batches()

    def one(self, statement: str, parameters: Sequence[Any] = ()) -> dict[str, Any]:
        """The only row of a query."""
        return self.rows(statement, parameters)[0]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
