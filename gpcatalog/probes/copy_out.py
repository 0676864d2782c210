"""Rows of a COPY in large blocks of text.

psycopg returns each row through several calls, which take several times as long as reading the
rows. This module reads each row that has arrived directly from libpq.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import generators
from psycopg.pq import ExecStatus
from psycopg.waiting import Wait

BLOCK = 10_000  # minimum number of rows per block (except the last block), if rows are short
BYTES = 1 << 20  # number of bytes from which a block is complete with fewer rows


def _more(pgconn: Any) -> Any:
    """Wait in the form that psycopg needs, then pass the received data to libpq."""
    while not (yield Wait.R):
        pass
    pgconn.consume_input()


def blocks(conn: psycopg.Connection[Any], statement: bytes) -> Iterator[bytes]:
    """Yield the rows of one `COPY ... TO STDOUT`, as the server sends them, in blocks of about
    10,000 rows or 1 MB.

    If the caller stops early, the statement is canceled; the connection remains usable. Raises
    psycopg.Error.
    """
    pgconn = conn.pgconn
    pgconn.send_query(statement)
    _check(conn, ExecStatus.COPY_OUT)
    ended, size = False, 0
    try:
        rows: list[memoryview] = []
        take, keep = pgconn.get_copy_data, rows.append
        while True:
            length, row = take(1)
            if length > 0:
                keep(row)
                size += length
            elif length == 0:
                if len(rows) >= BLOCK or size >= BYTES:
                    yield b"".join(rows)
                    rows.clear()
                    size = 0
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


def _check(conn: psycopg.Connection[Any], expected: ExecStatus) -> None:
    """Raise the error of the server, or an error if the status is not the expected one."""
    for result in conn.wait(generators.execute(conn.pgconn)):
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result, encoding=conn.info.encoding)
        if result.status != expected:
            raise psycopg.InternalError(f"COPY returned {ExecStatus(result.status).name}")


def _drop(conn: psycopg.Connection[Any]) -> None:
    """Cancel a COPY that is not read to its end; never raises."""
    with contextlib.suppress(psycopg.Error):
        conn.cancel_safe(timeout=5)
        pgconn = conn.pgconn
        while (length := pgconn.get_copy_data(1)[0]) >= 0:
            if length == 0:
                conn.wait(_more(pgconn))
        conn.wait(generators.execute(pgconn))
