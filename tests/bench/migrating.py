"""`gpcatalog migrate` of a database, from its plan to the folder of scripts, compared with reading the needed data of the leaves.

    python -m tests.bench.migrating CONNINFO [--pairs 5]

The plan merges all leaves of all partitioned tables by month (`python -m tests.bench fill` creates such tables). The floor is a COPY of
names, bounds and columns of all leaves, and of the definitions of their indexes, by one session.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import psycopg

from tests.bench.process import process
from tests.bench.table import Line, seconds, show
from tests.migration import made

MB = 2**20
GOAL_SECONDS, GOAL_MB, GOAL_LEAVES = 5, 200, 22_000

_LEAVES = {
    "classic": "SELECT parchildrelid AS oid FROM pg_catalog.pg_partition_rule",
    "declarative": "SELECT oid FROM pg_catalog.pg_class WHERE relispartition AND relkind IN ('r', 'f')",
}
_NAMES = {
    "classic": "SELECT c.oid, c.relname, pg_catalog.pg_get_partition_rule_def(r.oid)"
    " FROM pg_catalog.pg_partition_rule r JOIN pg_catalog.pg_class c ON c.oid = r.parchildrelid",
    "declarative": "SELECT c.oid, c.relname, pg_catalog.pg_get_expr(c.relpartbound, c.oid)"
    " FROM pg_catalog.pg_class c WHERE c.relispartition AND c.relkind IN ('r', 'f')",
}


def floor(conn: psycopg.Connection) -> list[str]:
    """COPY statements of the data that any program needs to write the scripts."""
    banner = conn.execute("SELECT version()").fetchone()[0]
    kind = "classic" if "Greenplum Database 6" in banner else "declarative"
    leaves = f"({_LEAVES[kind]}) l"
    return [
        f"COPY ({_NAMES[kind]}) TO STDOUT",
        "COPY (SELECT a.attrelid, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull"
        f" FROM {leaves} JOIN pg_catalog.pg_attribute a ON a.attrelid = l.oid WHERE a.attnum > 0) TO STDOUT",
        "COPY (SELECT i.indrelid, pg_catalog.pg_get_indexdef(i.indexrelid)"
        f" FROM {leaves} JOIN pg_catalog.pg_index i ON i.indrelid = l.oid) TO STDOUT",
    ]


def _drain(conn: psycopg.Connection, statements: list[str]) -> None:
    for statement in statements:
        with conn.cursor().copy(statement.encode()) as copied:
            for _ in copied:
                pass


def measure(dsn: str, pairs: int) -> tuple[str, list[Line]]:
    """All lines of the table for one database."""
    with tempfile.TemporaryDirectory() as name, psycopg.connect(dsn, autocommit=True) as conn:
        folder = Path(name)
        rules, plan = folder / "policy.toml", folder / "plan.json"
        rules.write_text(made.EAGER)
        env = {"GPCATALOG_HOME": str(folder / "home")}
        process("snapshot", "take", dsn, env=env)
        (snapshot,) = (folder / "home").rglob("*.gpcatalog")
        process("plan", "--snapshot", str(snapshot), "--policy", str(rules), "--format", "json",
                "-o", str(plan), env=env)  # fmt: skip
        statements = floor(conn)
        with conn.cursor() as cur:
            cur.execute(statements[0].removeprefix("COPY (").removesuffix(") TO STDOUT").encode())
            leaves = cur.rowcount
        runs, floors = [], []
        for pair in range(pairs + 1):
            out = folder / f"scripts{pair}"
            run = process("migrate", str(plan), "-o", str(out), dsn, env=env)
            took = seconds(lambda: _drain(conn, statements))
            if pair:  # the first run is a warm-up
                runs.append(run)
                floors.append(took)
        size = sum(f.stat().st_size for f in out.iterdir())
    median, peak = statistics.median(r.seconds for r in runs), max(r.peak for r in runs) / MB
    share = leaves / GOAL_LEAVES
    spread = f"{min(r.seconds for r in runs):.1f} to {max(r.seconds for r in runs):.1f} s"
    cpu = statistics.median(r.cpu for r in runs)
    return f"migrate of {leaves:,} leaves, {os.cpu_count()} cores", [
        Line(
            "migrate",
            "COPY of names, bounds, columns and indexes",
            statistics.median(r.seconds / f for r, f in zip(runs, floors, strict=True)),
            detail=f"{spread}, of which {cpu:.1f} s of processor time; floor {statistics.median(floors):.1f} s; scripts {size / MB:,.0f} MB",
        ),
        Line("migrate", f"{GOAL_SECONDS * share:.1f} s", median / (GOAL_SECONDS * share), 1.0, detail=f"{median:.1f} s"),
        Line("migrate, memory", f"{GOAL_MB} MB", peak / GOAL_MB, 1.0, detail=f"{peak:,.0f} MB"),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dsn", metavar="CONNINFO")
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    show(*measure(given.dsn, given.pairs))


if __name__ == "__main__":
    main()
