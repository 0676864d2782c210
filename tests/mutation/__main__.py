"""Change the code at random, one small change at a time, and check whether a test fails.

    python -m tests.mutation PACKAGE... [--number 60] [--seed 1] [--workers 2]

PACKAGE is one of capacity, effects, audit, planner, migration, store, upkeep. cosmic-ray makes the changes
(`pip install cosmic-ray coverage`). Tests that need Greenplum do not run, so the figures are those of a machine with PostgreSQL only.
The checkout is copied first and never changed.

Places are chosen at random, then one change of each place, so that a line with many operators counts no more than others. Annotations
and marks of abstract methods are left out, because no test can detect changes in them. Each change runs the tests that reach its line,
determined once by coverage. For lines that run at import, all tests of the package run.

    killed      a test failed, or the tests took more than a minute plus four times the time without the change
    survived    no test failed: printed with its difference, for a person to review
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# the tests of each package, without those that need Greenplum
TESTS = {
    "capacity": (
        "tests/capacity",
        "tests/effects/test_matrix.py",
        "tests/test_doctests.py",
        "tests/test_value_classes.py",
    ),
    "effects": (
        "tests/effects",
        "tests/check",
        "tests/test_doctests.py",
        "tests/test_value_classes.py",
    ),
    "audit": (
        "tests/audit",
        "tests/report",
        "tests/test_doctests.py",
        "tests/test_value_classes.py",
    ),
    "planner": ("tests/planner", "tests/test_doctests.py", "tests/test_value_classes.py"),
    "migration": (
        "tests/migration",
        "tests/upkeep",
        "tests/hostile/test_names.py",
        "tests/hostile/test_replaced.py",
        "tests/planner/test_live.py",
        "tests/test_maintenance.py",
        "tests/test_doctests.py",
        "tests/test_value_classes.py",
    ),
    "store": (
        "tests/store",
        "tests/growth",
        "tests/hostile/test_snapshot_files.py",
        "tests/test_doctests.py",
        "tests/test_value_classes.py",
    ),
    "upkeep": ("tests/upkeep", "tests/test_doctests.py", "tests/test_value_classes.py"),
}
LIMIT = 3600  # seconds for one change, independent of its tests: cosmic-ray requires a limit
PYTEST = ("-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-m", "not greenplum")
PLUGIN = "tests.mutation.contexts"
DURATIONS = "durations.json"
OVERDUE = "the tests take too long with this change"
_CONFIG = """
[cosmic-ray]
module-path = "gpcatalog/{package}"
timeout = {limit}
excluded-modules = []
test-command = "{python} -m tests.mutation.one {package} {copy}"
[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True)
class Place:
    """Where a change starts: file relative to the root, line and column, both as cosmic-ray counts them."""

    file: str
    line: int
    column: int


def copy_of_checkout(folder: Path) -> Path:
    """Copy the files under version control into a folder and return it."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.split(b"\0")
    for name in filter(None, names):
        source = ROOT / os.fsdecode(name)
        target = folder / os.fsdecode(name)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return folder


def tests_by_line(folder: Path, package: str) -> dict[str, dict[str, list[str]]]:
    """Tests that reach a line, the fastest first, by file and line: {file: {line: [node id]}}.

    Lines that run only at import have no tests. Raises SystemExit if the tests fail without a change.
    """
    settings = folder / ".coveragerc"
    settings.write_text(f"[run]\ninclude = gpcatalog/{package}/*\n[json]\nshow_contexts = true\n")
    run = subprocess.run(
        [sys.executable, "-m", "coverage", "run", *PYTEST, "-p", PLUGIN, *TESTS[package]],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise SystemExit(
            f"the tests of {package} fail without a change:\n{(run.stdout + run.stderr)[-3000:]}"
        )
    subprocess.run(
        [sys.executable, "-m", "coverage", "json", "-q", "-o", "coverage.json"],
        cwd=folder,
        check=True,
    )
    took = json.loads((folder / DURATIONS).read_text())
    return {
        name: {
            line: sorted(filter(None, tests), key=lambda test: took.get(test, 0.0))
            for line, tests in facts["contexts"].items()
        }
        for name, facts in json.loads((folder / "coverage.json").read_text())["files"].items()
    }


def environment() -> dict[str, str]:
    """The environment for a run of tests: without compiled files, whose timestamps could hide a change."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


def annotations(file: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans of annotations and of marks of abstract methods in a module, as ((line, column), (line, column))."""
    spans = []
    for node in ast.walk(ast.parse(file.read_text())):
        for name in ("annotation", "returns"):
            note = getattr(node, name, None)
            if isinstance(note, ast.expr):
                spans.append(
                    (
                        (note.lineno, note.col_offset),
                        (note.end_lineno or note.lineno, note.end_col_offset or 0),
                    )
                )
        spans += [
            ((mark.lineno, 0), (mark.lineno + 1, 0))
            for mark in getattr(node, "decorator_list", ())
            if isinstance(mark, ast.Name) and mark.id == "abstractmethod"
        ]
    return spans


def draw(folder: Path, session: Path, number: int, seed: int) -> int:
    """Keep one change at each of `number` places of a session, delete all others, and return how many places there are."""
    with sqlite3.connect(session) as db:
        jobs: dict[Place, list[str]] = defaultdict(list)
        spans = {}
        for file, line, column, job in db.execute(
            "SELECT module_path, start_pos_row, start_pos_col, job_id FROM mutation_specs"
            " ORDER BY module_path, start_pos_row, start_pos_col, operator_name, operator_args"
        ):
            if file not in spans:
                spans[file] = annotations(folder / file)
            if not any(a <= (line, column) < b for a, b in spans[file]):
                jobs[Place(file, line, column)].append(job)
        chance = random.Random(seed)
        places = chance.sample(sorted(jobs, key=str), min(number, len(jobs)))
        drawn = {chance.choice(jobs[place]) for place in places}
        every = [job for (job,) in db.execute("SELECT job_id FROM work_items")]
        dropped = [(job,) for job in every if job not in drawn]
        db.executemany("DELETE FROM mutation_specs WHERE job_id = ?", dropped)
        db.executemany("DELETE FROM work_items WHERE job_id = ?", dropped)
    return len(jobs)


def share(session: Path, workers: int) -> list[Path]:
    """Divide the changes of a session among copies of it, and return the copies."""
    copies = []
    for worker in range(workers):
        copy = session.with_name(f"session{worker}.sqlite")
        shutil.copy(session, copy)
        with sqlite3.connect(copy) as db:
            jobs = [job for (job,) in db.execute("SELECT job_id FROM work_items ORDER BY job_id")]
            others = [(job,) for at, job in enumerate(jobs) if at % workers != worker]
            db.executemany("DELETE FROM mutation_specs WHERE job_id = ?", others)
            db.executemany("DELETE FROM work_items WHERE job_id = ?", others)
        copies.append(copy)
    return copies


@dataclass(frozen=True)
class Outcome:
    """The result of the changes of a package: numbers, and the differences of changes that survived."""

    places: int
    changed: int
    killed: int
    overdue: int  # included in killed
    survived: list[str]


def mutate(package: str, number: int, seed: int, workers: int, tool: str) -> Outcome:
    """Change a package at `number` places, with as many copies in parallel as there are workers."""
    with tempfile.TemporaryDirectory(prefix="gpcatalog-mutation-") as name:
        clean = copy_of_checkout(Path(name) / "clean")
        trees = [Path(name) / f"tree{worker}" for worker in range(workers)]
        for tree in trees:
            shutil.copytree(clean, tree)
        (clean / "tests.json").write_text(json.dumps(tests_by_line(trees[0], package)))
        shutil.copy(trees[0] / DURATIONS, clean / DURATIONS)
        config, session = Path(name) / "config.toml", Path(name) / "session.sqlite"
        config.write_text(
            _CONFIG.format(package=package, limit=LIMIT, python=sys.executable, copy=clean)
        )
        subprocess.run(
            [tool, "init", config, session], cwd=trees[0], check=True, capture_output=True
        )
        places = draw(trees[0], session, number, seed)
        copies = share(session, workers)
        running = [
            subprocess.Popen([tool, "exec", config, copy], cwd=tree, env=environment())
            for copy, tree in zip(copies, trees, strict=True)
        ]
        codes = [process.wait() for process in running]
        if any(codes):
            raise SystemExit("cosmic-ray failed")
        rows = []
        for copy in copies:
            with sqlite3.connect(copy) as db:
                rows += db.execute("SELECT test_outcome, diff, output FROM work_results")
    survived = [diff for outcome, diff, _ in rows if outcome == "SURVIVED"]
    overdue = sum(OVERDUE in (output or "") for *_, output in rows)
    return Outcome(places, len(rows), len(rows) - len(survived), overdue, survived)


def main() -> int:
    """Run the command; the exit code is 0 if at least 85 % of the changes were killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("packages", nargs="+", choices=sorted(TESTS))
    parser.add_argument("--number", type=int, default=60, help="changes for each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="changes tried at a time")
    given = parser.parse_args()
    folder = str(Path(sys.executable).parent)  # a virtual environment need not be activated
    tool = shutil.which("cosmic-ray", path=os.pathsep.join((folder, os.environ.get("PATH", ""))))
    if tool is None:
        parser.error("cosmic-ray is not installed: pip install cosmic-ray coverage")
    changed = killed = 0
    for package in given.packages:
        result = mutate(package, given.number, given.seed, given.workers, tool)
        changed, killed = changed + result.changed, killed + result.killed
        for diff in result.survived:
            print(diff)
        print(
            f"{package}: {result.places:,} places, {result.changed} changed,"
            f" {result.killed} killed ({100 * result.killed / result.changed:.0f} %),"
            f" {result.overdue} of them by the time limit"
        )
        sys.stdout.flush()
    print(f"all: {changed} changed, {killed} killed ({100 * killed / changed:.0f} %)")
    return 0 if killed >= 0.85 * changed else 1


if __name__ == "__main__":
    sys.exit(main())
