"""Statements in the databases of a snapshot that is being written, and their errors."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from gpcatalog.errors import CatalogError


def sql_path(path: Path) -> str:
    """The path as a literal of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def disk_error(path: Path, e: BaseException) -> CatalogError:
    """The error for a file that cannot be written."""
    text = str(e)
    if isinstance(e, OSError) and e.errno in (errno.ENOSPC, errno.EDQUOT):
        text = e.strerror or text
    full = (
        "No space left" in text
        or "ENOSPC" in text
        or "disk" in text.lower()
        or "quota" in text.lower()
        or "too large" in text
    )
    return CatalogError(
        f"cannot write {path}: {text.splitlines()[0] if text else type(e).__name__}",
        hint=(
            (
                "free disk space, or use --save with another location; an existing file was not"
                " changed"
            )
            if full
            else "the machine has too little free memory; an existing file was not changed"
            if isinstance(e, duckdb.OutOfMemoryException)
            else "check the folder and its permissions; an existing file was not changed"
        ),
    )


def _memory_limit(db: duckdb.DuckDBPyConnection) -> int:
    """MB that DuckDB may use: by default 80 % of the memory of the machine or container."""
    row = db.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    number, unit = str(row[0]).split()
    return int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit) / 1e6)


# MB that DuckDB may use for a snapshot; other data is written to temporary files next to the draft.
# A statement that needs more gets twice as much, up to the default limit of DuckDB
LEAST_MEMORY = 64


class Memory:
    """MB that DuckDB may use, shared by all connections of a Writer."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.now, self._most = LEAST_MEMORY, _memory_limit(db)
        self._set(db)

    def double(self, db: duckdb.DuckDBPyConnection) -> None:
        """Allow twice as much. Raises the current OutOfMemoryException at the default limit."""
        if self.now >= self._most:
            raise
        self.now = min(2 * self.now, self._most)
        self._set(db)

    def _set(self, db: duckdb.DuckDBPyConnection) -> None:
        db.execute(f"SET memory_limit = '{self.now}MB'")


class Statements:
    """Executes statements in the databases of a Writer, in one thread.

    target: the snapshot that is being written, named in errors
    """

    _db: duckdb.DuckDBPyConnection
    _memory: Memory
    target: Path

    def interrupt(self) -> None:
        """End the statement that runs in another thread; never raises."""
        with contextlib.suppress(Exception):
            self._db.interrupt()

    def load_csv(
        self,
        statement: str,
        file: Path,
        columns: dict[str, str],
        *,
        longest: int = 16 << 20,
        plain: bool = False,
    ) -> None:
        """Run `statement` (an INSERT); `{csv}` is replaced by the rows of a CSV file in the format
        of PostgreSQL's COPY.

        longest: maximum bytes of a line; this part of the file is in memory, and at least 4 MB
        plain: no field contains a quote or a line break, so that several threads can read the file
        """
        shape = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
        source = (
            f"read_csv('{str(file).replace(chr(39), chr(39) * 2)}', columns={{{shape}}},"
            " header=false, delim=',', quote='\"', escape='\"', "
            f"nullstr='', allow_quoted_nulls=false, auto_detect=false, parallel={plain},"
            f" max_line_size={longest}, buffer_size={max(4 << 20, longest)}, "
            "new_line='\\n')"  # not detected automatically: a name can contain a carriage return
        )
        self._do(lambda: self._db.execute(statement.format(csv=source)))

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        rows: list[tuple[Any, ...]] = self._do(
            lambda: self._db.execute(statement, list(parameters)).fetchall()
        )
        return rows

    def _do(self, action: Any) -> Any:
        """Run the action; repeat it with twice the memory if it was not enough. Raises
        CatalogError.
        """
        try:
            while True:
                try:
                    return action()
                except duckdb.OutOfMemoryException:
                    self._memory.double(self._db)
        except (
            duckdb.IOException,
            duckdb.OutOfMemoryException,
            duckdb.FatalException,
            duckdb.TransactionException,
            OSError,
        ) as e:
            raise disk_error(self.target, e) from None
