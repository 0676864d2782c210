"""Memory that a session keeps after a statement on a whole partitioned table, measured by the operating system.

    python -m tests.bench.memory SERVER CONNINFO [--leaves 100 500] [--columns 5 20 60] [--indexes 0 2] [--storage heap ao_column]

SERVER is a generation ("gp6", "pg18"); CONNINFO must connect as a superuser to a database that may be filled. The server must run on
this machine: anonymous memory of its processes is read from /proc. Prints one line for each table and statement: measured and predicted
KB per leaf of the session on the coordinator and on one segment.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg

from gpcatalog.capacity import memory
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.model.storage import Storage
from tests.bench import partitioned

STATEMENTS = {
    memory.Touch.COUNT: "SELECT count(*) FROM {t}",
    memory.Touch.SELECT: "SELECT * FROM {t}",
}
ROWS = 12  # rows of each leaf: enough for every segment


def make(
    conn: psycopg.Connection, name: str, shape: Shape, leaves: int, *, rows: int = ROWS
) -> None:
    """Create the table with its leaves and indexes, and this number of rows in each leaf."""
    greenplum = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
    conn.execute(f"DROP TABLE IF EXISTS {name}")
    statements = partitioned.statements(
        name, shape.columns, shape.storage.value, leaves, greenplum=greenplum
    )
    for begin in range(0, len(statements), 500):
        conn.execute("; ".join(statements[begin : begin + 500]))
    for statement in partitioned.indexes(name, len(shape.indexes)):
        conn.execute(statement)
    conn.execute(
        f"INSERT INTO {name} SELECT k, 'n' || r FROM generate_series(0, {leaves - 1}) k, generate_series(1, {rows}) r"
    )


def anonymous(pid: int) -> int:
    """Bytes of anonymous memory of a process, without shared buffers."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.M)[1]) * 1024


def skip_unreadable(dsn: str) -> None:
    """Skip a test if the memory of the server processes cannot be read: as another user, or as root
    of a container without the privilege to trace processes.
    """
    import pytest

    with psycopg.connect(dsn) as conn:
        try:
            anonymous(conn.info.backend_pid)
        except OSError as e:
            pytest.skip(f"memory of the server's processes cannot be read: {e.strerror}")


def _segment_processes(session: int) -> list[int]:
    """IDs of the processes of a Greenplum session on segment 0."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if re.search(rf"postgres: .* con{session} seg0 ", words):
            found.append(int(place.parent.name))
    return found


def session_bytes(dsn: str, statement: str) -> tuple[int, int | None]:
    """Bytes that a new session keeps after the statement: in its own process, and in all its processes on segment 0."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        greenplum = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
        session = 0
        if greenplum:
            conn.execute("SET optimizer = off")
            conn.execute("SET statement_mem = '1900MB'")
            session = int(conn.execute("SHOW gp_session_id").fetchone()[0])
            conn.execute("SELECT count(*) FROM gp_dist_random('pg_am')").fetchone()
        conn.execute("SELECT 1")
        pid = conn.info.backend_pid
        before = anonymous(pid)
        there = {p: anonymous(p) for p in _segment_processes(session)} if greenplum else {}
        conn.execute(statement).fetchall()
        own = anonymous(pid) - before
        if not greenplum:
            return own, None
        after = {p: anonymous(p) for p in _segment_processes(session)}
        return own, sum(n - there.get(p, 0) for p, n in after.items())


def measurements(
    dsn: str, shape: Shape, leaves: int, *, rows: int = ROWS
) -> Iterator[tuple[memory.Touch, int, int | None]]:
    """Bytes that a session keeps after each statement on a table of this shape, as in `session_bytes`."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        make(conn, "held", shape, leaves, rows=rows)
    for touch, text in STATEMENTS.items():
        yield touch, *session_bytes(dsn, text.format(t="held"))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DROP TABLE held")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("conninfo")
    parser.add_argument("--leaves", type=int, nargs="+", default=[300])
    parser.add_argument("--columns", type=int, nargs="+", default=[20])
    parser.add_argument("--indexes", type=int, nargs="+", default=[1])
    parser.add_argument("--storage", nargs="+", default=["heap"])
    parser.add_argument("--rows", type=int, default=ROWS, help="of each leaf")
    given = parser.parse_args()
    print(
        "storage columns indexes leaves statement | KB a leaf: own, predicted | segment, predicted"
    )
    for storage in given.storage:
        for columns in given.columns:
            for indexes in given.indexes:
                shape = Shape(
                    Storage(storage),
                    columns,
                    toastable=True,
                    indexes=(Index(),) * indexes,
                    place=Place.LEAF,
                )
                for leaves in given.leaves:
                    for touch, own, there in measurements(
                        given.conninfo, shape, leaves, rows=given.rows
                    ):
                        predicted = memory.kept_bytes(
                            given.server, shape, leaves, touch, empty=0 if given.rows else leaves
                        )
                        figures = [own, predicted.coordinator, there, predicted.segment]
                        shown = [
                            f"{n / leaves / 1024:8.1f}" if n is not None else "       -"
                            for n in figures
                        ]
                        print(storage, columns, indexes, leaves, touch, "|", *shown, flush=True)


if __name__ == "__main__":
    main()
