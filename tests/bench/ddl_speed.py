"""Speed of the DDL dialect as a ratio to a floor measured in the same run: sqlglot's own PostgreSQL tokenizer on the same text.

    python tests/bench/ddl_speed.py [FOLDER …]

Without folders, the corpus in fixtures/ddl is read repeatedly. The floor only splits the text into tokens; the dialect splits, parses
and builds trees. Prints one line per figure; the exit code is 1 if a ratio is worse than its bound.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError

from gpcatalog.dialect.greenplum import Greenplum, editions
from gpcatalog.dialect.script import Outcome, Source, split, statements

BOUND = 3.0  # the dialect may take this many times the time of the floor


def best(action: Callable[[], object], rounds: int) -> float:
    """Median seconds of some rounds, after a warm-up round."""
    action()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    folders = chosen.folders or [Path(__file__).parents[2] / "fixtures" / "ddl"]
    files = sorted(f for folder in folders for f in folder.rglob("*.sql"))
    repeat = 1 if chosen.folders else 20
    sources = [Source(f.read_text(errors="replace"), str(f)) for f in files] * repeat
    grammars = editions("gp7")
    pieces = [source.text[p.start : p.end] for source in sources for p in split(source)]
    tokenizer = Postgres()

    def floor() -> None:
        for text in pieces:
            try:
                tokenizer.tokenize(text)
            except TokenError:
                continue

    def read() -> list[Outcome]:
        return [s.outcome for source in sources for s in statements(source, grammars)]

    outcomes = read()
    trees = [
        s.tree for source in sources for s in statements(source, grammars) if s.tree is not None
    ]
    dialect = Greenplum()

    def write() -> None:
        for tree in trees:
            dialect.generate(tree, copy=False)

    lowest = best(floor, chosen.rounds)
    reading = best(read, chosen.rounds)
    writing = best(write, chosen.rounds)
    number = len(outcomes)
    print(
        f"statements {number}, typed {outcomes.count(Outcome.TYPED)}, characters {sum(map(len, pieces))}"
    )
    print(
        f"floor (sqlglot's PostgreSQL tokenizer): {lowest:.3f} s, {number / lowest:,.0f} statements/s"
    )
    print(
        f"read: {reading:.3f} s, {number / reading:,.0f} statements/s, {reading / lowest:.2f} × the floor (bound {BOUND})"
    )
    print(
        f"write: {writing:.3f} s, {len(trees) / writing:,.0f} statements/s, {writing / lowest:.2f} × the floor"
    )
    return 0 if reading / lowest <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
