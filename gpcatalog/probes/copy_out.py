"""Rows of a COPY as large blocks of text.

psycopg returns each row through its own chain of calls, which takes several times as long as the
rows themselves. Here a row that has arrived is taken from libpq at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import generators
from psycopg.pq import ExecStatus
from psycopg.waiting import Wait

BLOCK = 10_000  # rows that are returned together, at least (except the last block)


def _more(pgconn: Any) -> Any:
    """psycopg's form of waiting: what has arrived is in libpq afterwards."""
    while not (yield Wait.R):
        pass
    pgconn.consume_input()


def blocks(conn: psycopg.Connection[Any], statement: bytes) -> Iterator[bytes]:
    """Whole rows of one `COPY ... TO STDOUT`, as the server sends them, in blocks of some 10,000 rows.

    A reader that stops early cancels the statement; the connection stays usable.
    Raises psycopg.Error.
    """
    pgconn = conn.pgconn
    pgconn.send_query(statement)
    _check(conn, ExecStatus.COPY_OUT)
    ended = False
    try:
        rows: list[memoryview] = []
        take, keep = pgconn.get_copy_data, rows.append
        while True:
            length, row = take(1)
            if length > 0:
                keep(row)
            elif length == 0:
                if len(rows) >= BLOCK:
                    yield b"".join(rows)
                    rows.clear()
                conn.wait(_more(pgconn))
            else:
                break
        ended = True
        _check(conn, ExecStatus.COMMAND_OK)
        if rows:
            yield b"".join(rows)
    finally:
        if not ended:
            _drop(conn)


def _check(conn: psycopg.Connection[Any], wanted: ExecStatus) -> None:
    """Raise what the server reports instead of the wanted status."""
    for result in conn.wait(generators.execute(conn.pgconn)):
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result, encoding=conn.info.encoding)
        if result.status != wanted:
            raise psycopg.InternalError(f"COPY returned {ExecStatus(result.status).name}")


def _drop(conn: psycopg.Connection[Any]) -> None:
    """End a COPY that nobody reads to its end; never raises."""
    with contextlib.suppress(psycopg.Error):
        conn.cancel_safe(timeout=5)
        pgconn = conn.pgconn
        while (length := pgconn.get_copy_data(1)[0]) >= 0:
            if length == 0:
                conn.wait(_more(pgconn))
        conn.wait(generators.execute(pgconn))
