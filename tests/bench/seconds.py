"""Measured time of DDL, planning and a metadata backup, compared with the prediction of `capacity.durations`.

    python -m tests.bench.seconds SERVER CONNINFO [--leaves 100 1000] [--columns 20] [--indexes 1] [--storage heap ao_column]
                                  [--segments 3] [--pg-dump PROGRAM] [--record]
    python -m tests.bench.seconds --fit

SERVER is a generation ("gp6", "pg18"); CONNINFO must connect as a superuser to a separate database, on a machine that does nothing else.
Each line: a statement on a table with empty leaves, seconds measured, seconds predicted for the test servers, and their ratio. --record
adds them to fixtures/recorded/seconds_SERVER.json, which tests/capacity/test_durations.py compares on any machine. --fit computes the
figures of gpcatalog/capacity/duration_figures.py from these files and writes them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import combinations, product
from pathlib import Path

import numpy as np
import psycopg

from gpcatalog.capacity import durations
from gpcatalog.capacity.model import Index, Shape
from gpcatalog.model.storage import Storage
from gpcatalog.probes import latency, library
from gpcatalog.probes.connection import connect
from tests.bench import partitioned
from tests.recorded import Recording

SERVERS = ("gp6", "gp7", "pg15", "pg18", "pg19")
FIGURES = Path(__file__).parents[2] / "gpcatalog/capacity/duration_figures.py"

# without statistics of these catalogs, the queries of pg_dump take minutes
ANALYZED = (
    "pg_class",
    "pg_attribute",
    "pg_attribute_encoding",
    "pg_constraint",
    "pg_depend",
    "pg_index",
    "pg_inherits",
    "pg_type",
)
TIMES = 3  # runs of statements on one partition; the median counts


def _timed(conn: psycopg.Connection, *statements: str) -> float:
    begun = time.perf_counter()
    for statement in statements:
        conn.execute(statement.encode())
    return time.perf_counter() - begun


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _planning(dsn: str, name: str, leaves: int) -> Iterator[tuple[str, float]]:
    """Seconds of EXPLAIN in new sessions, for one leaf and for all leaves, each the first and the second time."""
    for what, condition in (("pruned", f" WHERE k = {leaves // 2}"), ("all", "")):
        with psycopg.connect(dsn, autocommit=True) as conn:
            if "Greenplum" in conn.execute("SELECT version()").fetchone()[0]:
                conn.execute("SET optimizer = off")
                conn.execute("SET max_statement_mem = '8GB'")
                conn.execute("SET statement_mem = '4GB'")
            conn.execute("SELECT 1")
            statement = f"EXPLAIN SELECT * FROM {name}{condition}"
            try:
                first = _timed(conn, statement)
            except psycopg.InternalError as e:  # out of memory
                print(f"plan {what}: {str(e).splitlines()[0]}", flush=True)
                continue
            yield f"plan {what}, first", first
            yield f"plan {what}, again", _median([_timed(conn, statement) for _ in range(TIMES)])


def _dump(program: str, dsn: str) -> float:
    begun = time.perf_counter()
    env = {**os.environ, "LD_LIBRARY_PATH": str(Path(program).parent.parent / "lib")}
    subprocess.run([program, "-s", "-d", dsn], check=True, stdout=subprocess.DEVNULL, env=env)
    return time.perf_counter() - begun


def measurements(
    dsn: str, storage: str, columns: int, indexes: int, leaves: int, *, pg_dump: str = ""
) -> Iterator[tuple[str, float]]:
    """Statements and their seconds, in the order in which they run."""
    name = "timed"
    with psycopg.connect(dsn, autocommit=True) as conn:
        greenplum = "Greenplum" in conn.execute("SELECT version()").fetchone()[0]
        if greenplum:
            conn.execute("SET optimizer = off")
        conn.execute(f"DROP TABLE IF EXISTS {name}")
    with psycopg.connect(dsn, autocommit=True) as conn:
        statements = partitioned.statements(name, columns, storage, leaves, greenplum=greenplum)
        yield "create", _timed(conn, *statements)
    for statement in partitioned.indexes(name, indexes):
        with psycopg.connect(dsn, autocommit=True) as conn:
            yield "create index", _timed(conn, statement)
    yield from _planning(dsn, name, leaves)
    if pg_dump:
        with psycopg.connect(dsn, autocommit=True) as conn:
            for catalog in ANALYZED:
                if catalog == "pg_attribute_encoding" and not greenplum:
                    continue
                conn.execute(f"ANALYZE pg_catalog.{catalog}")
        yield "backup", _dump(pg_dump, dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield "add column", _timed(conn, f"ALTER TABLE {name} ADD COLUMN more int")
    added, dropped, split = [], [], []
    for n in range(TIMES):
        at = leaves + n
        with psycopg.connect(dsn, autocommit=True) as conn:
            if greenplum:
                added.append(
                    _timed(
                        conn,
                        f"ALTER TABLE {name} ADD PARTITION p{at} START ({at}) END ({at + 1})"
                        + partitioned.WITH[storage],
                    )
                )
            else:
                added.append(
                    _timed(
                        conn,
                        f"CREATE TABLE {name}_{at} PARTITION OF {name} FOR VALUES FROM ({at}) TO"
                        f" ({at + 1})",
                    )
                )
    yield "add", _median(added)
    for n in range(TIMES):
        at = leaves + n
        with psycopg.connect(dsn, autocommit=True) as conn:
            if greenplum:
                dropped.append(_timed(conn, f"ALTER TABLE {name} DROP PARTITION p{at}"))
            else:
                dropped.append(_timed(conn, f"DROP TABLE {name}_{at}"))
    yield "drop partition", _median(dropped)
    if greenplum:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(
                f"ALTER TABLE {name} ADD DEFAULT PARTITION others{partitioned.WITH[storage]}".encode()
            )
        for n in range(TIMES):
            at = leaves + 10 + n
            with psycopg.connect(dsn, autocommit=True) as conn:
                split.append(
                    _timed(
                        conn,
                        f"ALTER TABLE {name} SPLIT DEFAULT PARTITION START ({at}) END ({at + 1})"
                        f" INTO (PARTITION s{at}, DEFAULT PARTITION)",
                    )
                )
        yield "split", _median(split)
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield "truncate", _timed(conn, f"TRUNCATE {name}")
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield "drop", _timed(conn, f"DROP TABLE {name}")


def pace_of(server: str, dsn: str) -> durations.Pace:
    """The speed factor of a server, as an audit computes it."""
    with connect(dsn) as session:
        names = library.names(session.server)
        took = {
            probe: latency.scanning(session, probe, probe, 0, rounds=5).min_ms
            for probe in ("speed", "speed_dispatched")
            if probe in names
        }
        answer = latency.answering(session).min_ms
    return durations.pace_of_speed(
        server, took["speed"], took.get("speed_dispatched"), answer or 0.0
    )


def recording(server: str, banner: str = "") -> Recording:
    """The recorded measurements of a server, for additions: [storage, columns, indexes, leaves, segments, statement, seconds, pace]."""
    found = Recording("seconds", server, banner)
    if found.path.exists():
        stored = json.loads(found.path.read_text())
        found.entries = stored["entries"]
        found.head["server"] = found.head["server"] or stored["server"]
    return found


# --- the fit --------------------------------------------------------------------------------------

WITHOUT_SQUARE = ("add column", "backup")  # the server processes each leaf separately
# statements that run when the table has its new column
LATER = ("add column", "add", "drop partition", "split", "truncate", "drop")
ROUNDS = 15
SUBSETS = [c for n in range(1, 6) for c in combinations(range(5), n)]


def terms(what: str, columns: int, indexes: int, leaves: int) -> list[float]:
    """Numbers by which the figures of an action are multiplied: fixed, leaf, column, index, square."""
    columns += what in LATER
    indexes = 0 if what == "create" else indexes
    square = 0 if what in WITHOUT_SQUARE else leaves * leaves
    return [1, leaves, leaves * columns, leaves * indexes, square]


def _least_squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Non-negative least squares: the best of all subsets of terms whose solution is not negative."""
    scale = np.where(a.max(0) > 0, a.max(0), 1)
    a = a / scale
    gram, right = a.T @ a, a.T @ b
    best, least = np.zeros(a.shape[1]), 0.0
    for subset in SUBSETS:
        of = list(subset)
        if (np.diag(gram)[of] == 0).any():
            continue
        found, *_ = np.linalg.lstsq(gram[np.ix_(of, of)], right[of], rcond=1e-10)
        cost = -found @ right[of]  # the sum of squares, minus that without any term
        if (found >= 0).all() and cost < least - 1e-12:
            best, least = np.zeros(a.shape[1]), cost
            best[of] = found
    return best / scale


def fitted(points: list[tuple[list[float], float]]) -> list[float]:
    """Figures in milliseconds for (terms, seconds) that keep the logarithm of the ratio of predicted to
    measured time small; single slow measurements have a low weight.
    """
    a = np.array([t for t, _ in points], dtype=float)
    measured = np.array([s * 1000 for _, s in points])
    weight = 1 / measured
    for _ in range(ROUNDS):
        x = _least_squares(a * weight[:, None], measured * weight)
        predicted = np.maximum(a @ x, 1e-6)
        off = np.maximum(np.abs(np.log(predicted / measured)), 0.1)
        weight = 1 / np.sqrt(predicted * measured * off)
    # figures that are less than a thousandth of every measurement are rounding errors of the iteration
    return [
        float(f"{n:.3g}") if (n * a[:, k] > 1e-3 * measured).any() else 0.0 for k, n in enumerate(x)
    ]


def figures(
    without: Collection[tuple[int, int, int]] = (),
) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Figures of each server, storage and action, from the recorded measurements.

    without: shapes to leave out, as (columns, indexes, leaves)
    """
    points = defaultdict(list)
    for server in SERVERS:
        for storage, columns, indexes, leaves, _, what, seconds, pace in recording(server).entries:
            if (columns, indexes, leaves) in without:
                continue
            points[server, storage, what].append(
                (terms(what, columns, indexes, leaves), seconds / pace)
            )
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for (server, storage, what), of in points.items():
        found.setdefault((server, storage), {})[what] = fitted(of)
    return found


def table() -> str:
    """The assignment of FIGURES in capacity/duration_figures.py."""
    lines = ["FIGURES: Mapping[tuple[str, str], Mapping[str, Figures]] = {"]
    for (server, storage), actions in sorted(figures().items()):
        lines.append(f'    ("{server}", "{storage}"): {{')
        for what in sorted(actions):
            values = ", ".join(f"{n:g}" for n in actions[what])
            lines.append(f'        "{what}": Figures({values}),')
        lines.append("    },")
    return "\n".join([*lines, "}", ""])


def main() -> None:
    """Measure and print."""
    if sys.argv[1:] == ["--fit"]:
        text = FIGURES.read_text()
        FIGURES.write_text(text[: text.index("FIGURES: ")] + table())
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("conninfo")
    parser.add_argument("--leaves", type=int, nargs="+", default=[300])
    parser.add_argument("--columns", type=int, nargs="+", default=[20])
    parser.add_argument("--indexes", type=int, nargs="+", default=[1])
    parser.add_argument("--storage", nargs="+", default=["heap"])
    parser.add_argument("--segments", type=int, default=0)
    parser.add_argument("--pg-dump", default="")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    pace = pace_of(given.server, given.conninfo)
    print(f"this server takes {pace.factor:.2f} × the time of the test servers")
    with psycopg.connect(given.conninfo) as conn:
        stored = recording(given.server, conn.execute("SELECT version()").fetchone()[0])
    for leaves, storage, columns, indexes in product(
        given.leaves, given.storage, given.columns, given.indexes
    ):
        shape = Shape(Storage(storage), columns, toastable=True, indexes=(Index(),) * indexes)
        for what, seconds in measurements(
            given.conninfo, storage, columns, indexes, leaves, pg_dump=given.pg_dump
        ):
            predicted = durations.seconds(
                given.server, shape, durations.Action(what), leaves, pace=pace
            )
            ratio = f"{seconds / predicted:5.2f}" if predicted else "    -"
            print(
                f"{storage:<10} {columns:>3} columns {indexes} indexes {leaves:>6,} leaves {what:<20}"
                f" {seconds:10.4f} s, predicted {predicted or 0:10.4f} s, ratio {ratio}",
                flush=True,
            )
            row = [storage, columns, indexes, leaves, given.segments, what, round(seconds, 5)]
            stored.add([*row, round(pace.factor, 2)])
    if given.record:
        stored.save(force=True)


if __name__ == "__main__":
    main()
