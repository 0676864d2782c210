"""All claims about speed and size in one table, as ratios to references that are measured in the same run.

    python -m tests.bench [--gp6 CONNINFO] [--gp7 CONNINFO] [--pg CONNINFO] [--pairs 5] [--patience 120] [--leaves 100000 1000000 5400000]
                          [--readers] [--load PAIRS] [--save FILE] [--compare FILE]
    python -m tests.bench fill CONNINFO LEAVES     # creates tables of 20 columns with this number of daily leaves, ao_column on Greenplum
    python -m tests.bench grow CONNINFO LEAVES …   # fills to each number in turn and audits: shows whether the cost is linear

A reference is a floor (the least work for the same result) or a rival (another program, or views that report a part of the same).
The live parts need a database with many leaves (≥ 20,000 on Greenplum, 100,000 on PostgreSQL) on a machine that does nothing else.
If no server is given for a part, the part is skipped with a message. The other parts use synthetic snapshots and need no server.
The goals are those of the project's issues; a line without a goal is only for information.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from gpcatalog.lab.synthetic import published
from gpcatalog.store.snapshot import Snapshot
from tests.bench import audit, files, html_size, load, migrating, plan_scale, readers, table
from tests.bench.process import process
from tests.bench.table import Line

MB, GB = 2**20, 2**30
MEMORY = {
    100_000: None,
    1_000_000: 400 * MB,
    5_400_000: 1.5 * GB,
}  # goals of the client's memory, by number of leaves


def exponent(points: list[tuple[int, float]]) -> float:
    """Slope of log(cost) over log(leaves) by least squares: 1 is linear."""
    xs, ys = [math.log(n) for n, _ in points], [math.log(c) for _, c in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum(
        (a - x) ** 2 for a in xs
    )


def synthetic(sizes: list[int], folder: Path) -> list[Line]:
    """Size of snapshots with these numbers of leaves, and time and memory of audit, plan and report page for them."""
    lines: list[Line] = []
    cost: dict[str, list[tuple[int, float]]] = {
        "audit --snapshot": [],
        "plan --snapshot": [],
        "report --html": [],
    }
    env = {"GPCATALOG_HOME": str(folder / "home")}
    for size in sizes:
        path = folder / f"{size}.gpcatalog"
        html_size._with_totals(path, list(published(size, 331)), "gp6", 32)
        with Snapshot(path) as snapshot:
            rows = int(snapshot.one("SELECT count(*) AS n FROM relation")["n"])
        each = path.stat().st_size / rows
        lines.append(
            Line(
                f"snapshot of {size:,} leaves",
                "25 bytes a leaf",
                each / 25,
                1.0,
                detail=f"{each:.1f} bytes a leaf",
            )
        )
        floor = plan_scale.measured(plan_scale.FLOOR, str(path))
        page = folder / "page.html"
        for name, words in (
            ("audit --snapshot", ("audit", "--snapshot", str(path), "--format", "json")),
            ("plan --snapshot", ("plan", "--snapshot", str(path))),
            ("report --html", ("report", "--snapshot", str(path), "--html", str(page))),
        ):
            run = process(*words, env=env)
            cost[name].append((size, run.cpu))
            detail = f"{run.seconds:.1f} s, {run.cpu:.1f} s of CPU : {floor['seconds']:.1f} s"
            lines.append(
                Line(
                    f"{name}, {size:,} leaves",
                    "reading the leaf columns",
                    run.seconds / floor["seconds"],
                    detail=detail,
                )
            )
            goal = MEMORY.get(size)
            if goal:
                lines.append(
                    Line(
                        "  its memory",
                        f"{goal / MB:,.0f} MB",
                        run.peak / goal,
                        1.0,
                        detail=f"{run.peak / MB:,.0f} MB at most",
                    )
                )
        size_of_page = page.stat().st_size
        lines.append(
            Line(
                "  the page",
                "500 KB",
                size_of_page / 500_000,
                1.0,
                detail=f"{size_of_page:,} bytes",
            )
        )
        path.unlink()
    if len(sizes) > 1:
        for name, points in cost.items():
            many = (
                [(n, c) for n, c in points if n >= 1_000_000]
                if len([n for n, _ in points if n >= 1_000_000]) > 1
                else points
            )
            lines.append(
                Line(
                    f"{name}, CPU over leaves",
                    "linear: exponent 1",
                    exponent(many),
                    1.1,
                    detail=f"fitted from {many[0][0]:,} to {many[-1][0]:,}",
                )
            )
    return lines


def dialect() -> Line:
    """Statements per second that the reader of check parses, against 2,000."""
    output = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "ddl_speed.py")],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    line = next(x for x in output.splitlines() if x.startswith("read:"))
    rate = float(line.split(", ")[1].split()[0].replace(",", ""))
    return Line(
        "check: statements read a second",
        "2,000 a second",
        rate / 2000,
        1.0,
        times_faster=True,
        detail=line.removeprefix("read: "),
    )


def grow(dsn: str, sizes: list[int]) -> list[Line]:
    """Fill the database to each size in turn; the seconds of a whole audit (the better of two runs), and the exponent over leaves."""
    points, lines, there = [], [], 0
    for size in sorted(sizes):
        fill(dsn, size, there)
        there = size
        runs = [process("audit", dsn, "--no-store", "--format", "json") for _ in range(3)][1:]
        points.append((size, min(r.seconds for r in runs)))
        detail = f"{points[-1][1]:.1f} s, client {max(r.peak for r in runs) / MB:,.0f} MB"
        lines.append(
            Line(
                f"whole audit, {size:,} leaves",
                f"{points[0][0]:,} leaves",
                points[-1][1] / points[0][1],
                detail=detail,
            )
        )
    lines.append(Line("whole audit, time over leaves", "linear: exponent 1", exponent(points), 1.1))
    return lines


def fill(dsn: str, leaves: int, there: int = 0) -> None:
    """Create and analyze tables of 20 columns and 1,000 daily leaves each, with rows in every second leaf.

    leaves: number afterwards; there: number that already exist.
    """
    columns = ", ".join(
        [
            "day date",
            "id bigint",
            *(f"i{n} int" for n in range(8)),
            *(f"t{n} text" for n in range(6)),
            *(f"n{n} numeric" for n in range(4)),
        ]
    )
    with psycopg.connect(dsn, autocommit=True) as conn:
        banner = conn.execute("SELECT version()").fetchone()[0]
        greenplum = "Greenplum" in banner
        for table in range(-(-there // 1000), -(-leaves // 1000)):
            name = f"bench_{table:04}"
            if greenplum:
                conn.execute(
                    f"CREATE TABLE {name} ({columns}) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)"
                    " PARTITION BY RANGE (day) (START (date '2020-01-01') END (date '2022-09-27') EVERY (interval '1 day'))"
                )
            else:
                conn.execute(f"CREATE TABLE {name} ({columns}) PARTITION BY RANGE (day)")
                for half in range(4):
                    conn.execute(
                        f"DO $$ BEGIN FOR n IN {half * 250}..{half * 250 + 249} LOOP EXECUTE format('CREATE TABLE {name}_%s PARTITION OF {name}"
                        " FOR VALUES FROM (%L) TO (%L)', n, date '2020-01-01' + n, date '2020-01-01' + n + 1); END LOOP; END $$"
                    )
            conn.execute(
                f"INSERT INTO {name} (day, id) SELECT date '2020-01-01' + 2 * (g % 500), g FROM generate_series(1, 2000) g"
            )
            conn.execute(f"ANALYZE {name}")
            print(f"\r{name}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for server in ("gp6", "gp7", "pg"):
        parser.add_argument(f"--{server}", metavar="CONNINFO", help="a database with many leaves")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument(
        "--patience", type=float, default=120.0, help="seconds that a rival may take"
    )
    parser.add_argument(
        "--leaves",
        type=int,
        nargs="*",
        default=[100_000, 1_000_000, 5_400_000],
        help="sizes of synthetic snapshots",
    )
    parser.add_argument(
        "--readers", action="store_true", help="how long readers wait for a merge, too"
    )
    parser.add_argument(
        "--load",
        type=int,
        metavar="PAIRS",
        default=0,
        help="what an audit does to 100 sessions of DDL, in so many pairs",
    )
    parser.add_argument("--save", metavar="FILE", help="write the ratios to this file")
    parser.add_argument(
        "--compare",
        metavar="FILE",
        help="print ratios that are more than 10 %% worse than those saved",
    )
    if sys.argv[1:2] == ["fill"]:
        fill(sys.argv[2], int(sys.argv[3]))
        return
    if sys.argv[1:2] == ["grow"]:
        table.show(
            "An audit as its database grows", grow(sys.argv[2], [int(n) for n in sys.argv[3:]])
        )
        return
    chosen = parser.parse_args()
    shown: list[tuple[str, list[Line]]] = []

    def show(title: str, lines: list[Line]) -> None:
        table.show(title, lines)
        shown.append((title, lines))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for server in ("gp6", "gp7", "pg"):
            dsn = getattr(chosen, server)
            if not dsn:
                print(f"\n{server}: left out, no --{server} given")
                continue
            title, lines = audit.measure(dsn, chosen.pairs, chosen.patience, folder)
            lines += files.measure(dsn, chosen.pairs, folder)
            audit_run = process("audit", dsn, "--no-store", "--format", "json")
            lines.append(
                Line(
                    "whole audit, memory of the client",
                    "400 MB",
                    audit_run.peak / (400 * MB),
                    1.0,
                    detail=f"{audit_run.peak / MB:,.0f} MB",
                )
            )
            show(title, lines)
            show(*migrating.measure(dsn, chosen.pairs))
            if chosen.readers:
                show(*readers.measure(readers.options().parse_args([dsn])))
            if chosen.load:
                show(*load.measure(dsn, pairs=chosen.load))
        if chosen.leaves:
            show("Synthetic snapshots, 331 tables", synthetic(sorted(chosen.leaves), folder))
        show("DDL", [dialect()])
    ratios = table.ratios(shown)
    if chosen.save:
        Path(chosen.save).write_text(json.dumps(ratios, indent=1, sort_keys=True) + "\n")
    if chosen.compare and table.regressions(json.loads(Path(chosen.compare).read_text()), ratios):
        sys.exit(1)


if __name__ == "__main__":
    main()
