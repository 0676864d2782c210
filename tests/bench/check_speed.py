"""Speed and memory of `gpcatalog check` on a dump, compared with other parsers: whole processes on the same file.

    python -m tests.bench.check_speed [--tables 6000] [--rounds 3]

The dump is generated in the format of pg_dump for PostgreSQL, with 11 statements per table. Stock sqlglot (only its parser), pglast
(libpg_query with trees in Python) and squawk (a linter in Rust) are measured if they are installed: `pip install pglast squawk-cli` in
the environment of gpcatalog. The figures of gpcatalog include everything it does: parsing, schema state, costs, rules, report.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TABLE = """
CREATE TABLE public.fact_{n} (
    id bigint NOT NULL,
    d date,
    a integer DEFAULT 0,
    b text,
    c numeric(12,2),
    e timestamp without time zone
);
ALTER TABLE public.fact_{n} OWNER TO owner;
COMMENT ON TABLE public.fact_{n} IS 'the table {n}';
COMMENT ON COLUMN public.fact_{n}.a IS 'x';
CREATE SEQUENCE public.s_{n} START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
ALTER SEQUENCE public.s_{n} OWNED BY public.fact_{n}.id;
ALTER TABLE ONLY public.fact_{n} ADD CONSTRAINT fact_{n}_check CHECK ((a > 0));
CREATE INDEX i_{n} ON public.fact_{n} USING btree (d);
REVOKE ALL ON TABLE public.fact_{n} FROM PUBLIC;
GRANT SELECT ON TABLE public.fact_{n} TO reporting;
CREATE VIEW public.v_{n} AS SELECT fact_{n}.id, fact_{n}.d FROM public.fact_{n} WHERE (fact_{n}.a > 5);
"""
STATEMENTS = 11
GOAL_RATE = 4000  # statements per second, with all of this
GOAL_BYTES = 150 << 20

_SQLGLOT = "import sys, sqlglot; sqlglot.parse(open(sys.argv[1]).read(), read='postgres', error_level=sqlglot.ErrorLevel.IGNORE)"
_PGLAST = "import sys, pglast; pglast.parse_sql(open(sys.argv[1]).read())"
_READER = """
import sys
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source, statements
for _ in statements(Source(open(sys.argv[1]).read()), editions("pg15")):
    pass
"""


@dataclass(frozen=True)
class Run:
    """One process: wall-clock seconds, peak resident bytes."""

    seconds: float
    peak: int


def process(words: Sequence[str]) -> Run:
    """Run a process and discard its output; Python may store compiled files, as it does for a user."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    begun = time.perf_counter()
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    pid = os.posix_spawnp(words[0], list(words), environment, file_actions=null)
    _, _, usage = os.wait4(pid, 0)
    return Run(time.perf_counter() - begun, usage.ru_maxrss * 1024)


def main() -> int:
    """Measure and print; returns exit code 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    number = given.tables * STATEMENTS
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "dump.sql"
        dump.write_text("".join(_TABLE.format(n=n) for n in range(given.tables)))
        check = [
            sys.executable,
            "-m",
            "gpcatalog",
            "check",
            str(dump),
            "--server",
            "postgres15",
            "--fail-on",
            "never",
        ]
        runs = {
            "gpcatalog check": check,
            "gpcatalog check, SARIF": [*check, "--format", "sarif"],
            "its reader alone": [sys.executable, "-c", _READER, str(dump)],
            "sqlglot": [sys.executable, "-c", _SQLGLOT, str(dump)],
        }
        if importlib.util.find_spec("pglast") is not None:
            runs["pglast"] = [sys.executable, "-c", _PGLAST, str(dump)]
        if (squawk := shutil.which("squawk")) is not None:
            runs["squawk"] = [squawk, str(dump)]
        print(
            f"{number:,} statements, {dump.stat().st_size / 1e6:.1f} MB; medians of {given.rounds} whole processes"
        )
        empty = Path(folder) / "empty.sql"
        empty.touch()
        process([*check[:4], str(empty)])  # compile the modules before the measured runs
        figures: dict[str, Run] = {}
        for name, words in runs.items():
            found = [process(words) for _ in range(given.rounds)]
            one = Run(statistics.median(r.seconds for r in found), max(r.peak for r in found))
            figures[name] = one
            against = figures["gpcatalog check"].seconds / one.seconds
            print(
                f"{name:24} {one.seconds:7.2f} s  {number / one.seconds:9,.0f}/s  {one.peak / 2**20:6.0f} MB  check : this {against:5.2f} ×"
            )
    for name in ("pglast", "squawk"):
        if name not in figures:
            print(f"{name:24} not installed")
    gpcatalog_run = figures["gpcatalog check"]
    return int(number / gpcatalog_run.seconds < GOAL_RATE or gpcatalog_run.peak > GOAL_BYTES)


if __name__ == "__main__":
    sys.exit(main())
