"""The parts of the time of each command, as the table of docs/profile.md.

    python -m tests.bench.profile [--server CONNINFO] [--plan PLAN] SNAPSHOT

SNAPSHOT is a snapshot file with many leaves; with a server, commands that need a server are profiled, too. The shares are those of
Python's profiler, which makes Python code look slower than it is; the seconds are those of a run without the profiler.
"""

from __future__ import annotations

import argparse
import pstats
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

DDL = "CREATE TABLE t (a int, k date) DISTRIBUTED BY (a) PARTITION BY RANGE (k) (START (date '2025-01-01') END (date '2026-01-01') EVERY (interval '1 day'));\n"
COLUMNS = ("server", "DuckDB", "imports", "reading, judging, planning", "output", "other")


def group(file: str, name: str) -> str:
    """The column of the table to which a function belongs."""
    if "psycopg" in file or "copy_out" in file or "'select." in name or "psycopg" in name:
        return "server"
    if "/gpcatalog/store/" in file:  # functions of DuckDB itself are not in the profile
        return "DuckDB"
    if "importlib" in file or any(
        word in name
        for word in ("marshal", "create_dynamic", "built-in method builtins.exec", "posix.stat")
    ):
        return "imports"
    if "/gpcatalog/emit/" in file or "/rich/" in file or "/typer/" in file or "json" in name:
        return "output"
    return "reading, judging, planning" if "/gpcatalog/" in file else "other"


def shares(words: list[str], folder: Path) -> dict[str, float]:
    """Share (0..1) of the time of a command, by column."""
    out = folder / "profile"
    subprocess.run(
        [sys.executable, "-m", "cProfile", "-o", str(out), "-m", "gpcatalog", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    found: dict[str, float] = defaultdict(float)
    for (file, _, name), (_, _, own, _, _) in pstats.Stats(str(out)).stats.items():  # type: ignore[attr-defined]
        found[group(file, name)] += own
    total = sum(found.values())
    return {column: found[column] / total for column in COLUMNS}


def seconds(words: list[str]) -> float:
    """Lowest wall-clock seconds of three runs."""
    took = []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "gpcatalog", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        took.append(time.perf_counter() - begun)
    return min(took)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("snapshot", metavar="SNAPSHOT")
    parser.add_argument("--server", metavar="CONNINFO")
    parser.add_argument("--plan", metavar="PLAN", help="a plan of that server, for migrate")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.sql").write_text(DDL * 200)
        file = ["--snapshot", chosen.snapshot]
        commands = {
            "rules": ["rules"],
            "check of 200 statements": ["check", str(folder / "t.sql")],
            "audit --snapshot": ["audit", *file],
            "plan --snapshot": ["plan", *file],
            "report --snapshot": ["report", *file, "--html", str(folder / "page.html")],
        }
        if chosen.server:
            commands["audit of a server"] = ["audit", chosen.server, "--no-store"]
        if chosen.plan and chosen.server:
            commands["migrate"] = ["migrate", chosen.plan, chosen.server, "-o", "OUT"]
        print(f"| command | seconds | {' | '.join(COLUMNS)} |")
        print(f"| --- | --: |{' --: |' * len(COLUMNS)}")
        for n, (title, words) in enumerate(commands.items()):
            out = [[w.replace("OUT", str(folder / f"out{n}{k}")) for w in words] for k in range(2)]
            took, of = seconds(out[0]), shares(out[1], folder)
            cells = " | ".join(f"{of[column]:.0%}" for column in COLUMNS)
            print(f"| `{title}` | {took:.2f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
