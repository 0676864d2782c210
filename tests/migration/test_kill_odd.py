"""The scripts of all odd tables are interrupted: no row is lost, the second run finishes, and the cleanup removes everything.

By default, each table is interrupted once, in its forward or rollback script, so that all phases are covered over the tables. A quarter
of the tables is abandoned in the end. On Greenplum, only some of the tables are used. GPCATALOG_TEST_KILLS=5 interrupts every script at
five points, forward and rollback, GPCATALOG_TEST_KILLS=all at all points. Both use all tables, abandon each of them, and run every
server, policy and mode.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from gpcatalog.migration.writer import Phase
from tests.conftest import fresh_database
from tests.migration import made, roundtrip
from tests.migration.test_kill import MARK, kill_at, leftovers
from tests.migration.test_roundtrip import (
    BINARIES,
    CANNOT,
    POLICIES,
    RESHAPED,
    chosen,
    make,
    reordered,
)

KILLS = os.environ.get("GPCATALOG_TEST_KILLS", "")
ROUNDS = 1000 if KILLS == "all" else int(KILLS or 1)
USUAL = [
    ("gp6_dsn", "merge", Mode.LOCKED),
    ("gp7_dsn", "merge", Mode.ONLINE),
    ("pg_dsn", "merge", Mode.LOCKED),
    ("pg_dsn", "merge", Mode.ONLINE),
]
SOME = """plain premade_default owner owners grants two_levels two_levels_default three_levels days_of_years template_changed hash_below
    halves_of_days indexed index_options constraints keyed encodings timestamptz_key""".split()
# a table is unpartitioned in locked mode only
REST = [
    (f, p, m)
    for f in BINARIES
    for p in POLICIES
    for m in Mode
    if (f, p, m) not in USUAL and (p, m) != ("plain", Mode.ONLINE)
]
SLOW = 60  # one of so many kills ends a runner whose backend is working
COMMIT = re.compile(r"^COMMIT;\n", re.M)
STEP = re.compile(r"^-- ===== ", re.M)
BACKEND = "    PERFORM pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid());\n"
RUNNER = "\\! kill -KILL $PPID\n"


@dataclass(frozen=True)
class Break:
    """Where a script is interrupted: name of the phase, how many points of this name are before it, and the inserted text."""

    phase: str
    number: int
    at: int
    what: str

    def put(self, text: str) -> str:
        return text[: self.at] + self.what + text[self.at :]


def breaks(text: str) -> list[Break]:
    """A backend ends at the start of a phase; psql is killed after all statements of a transaction, before it sends COMMIT."""
    found = [Break(m[1], n, m.end(), BACKEND) for n, m in enumerate(MARK.finditer(text))]
    return found + [
        Break("commit", n, m.start(), RUNNER) for n, m in enumerate(COMMIT.finditer(text))
    ]


def first_step(text: str) -> list[Break]:
    """The points before the second step: a table that is abandoned there is unchanged."""
    begins = [m.start() for m in STEP.finditer(text)]
    end = min(
        [*begins[1:], text.rindex("BEGIN ISOLATION")]
    )  # the last transaction only allows other runs again
    return [b for b in breaks(text) if begins[0] < b.at < end]


class Breaker:
    """Interrupts scripts, each time at a point whose phase was used least, and counts the points."""

    def __init__(self, files: made.Written) -> None:
        self.files = files
        self.hits: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.used: dict[str, set[Break]] = {}

    def left(self, name: str) -> list[Break]:
        """Points of a script at which it was not interrupted yet."""
        return [
            b
            for b in breaks((self.files.folder / name).read_text())
            if b not in self.used.get(name, ())
        ]

    def one(self, name: str, places: list[Break]) -> None:
        """Interrupt a script at one of these points."""
        least = min(self.hits[b.phase] for b in places)
        place = random.Random(name[-20:]).choice([b for b in places if self.hits[b.phase] == least])
        self.used.setdefault(name, set()).add(place)
        self.hits[place.phase] += 1
        kind = "runner" if place.what == RUNNER else "backend"
        if kind == "backend" and self.hits.total() % SLOW == 0:
            kind = "runner at work"
            assert kill_at(self.files, name, place.number, "runner"), (name, place)
        else:
            done = self.files.run(
                name, check=False, text=place.put((self.files.folder / name).read_text())
            )
            ended = (
                done.returncode == -9
                if kind == "runner"
                else "terminating connection due to administrator command" in done.stderr
            )
            assert ended, (name, place, done.returncode, done.stderr[-3000:])
        self.kinds[kind] += 1

    def each(self, places: dict[str, list[Break]]) -> None:
        """Interrupt these scripts, and wait until their backends have ended."""
        for name, ways in places.items():
            self.one(name, ways)
        query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        until = time.monotonic() + 60
        while made.fetch(self.files.dsn, query):
            assert time.monotonic() < until, "a killed backend stays"
            time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize(("fixture", "policy", "mode"), [*USUAL, *(REST if KILLS else [])])
def test_killed(
    fixture: str, policy: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In rounds, all forward scripts are interrupted and run again, then all rollbacks. In the end, scripts are abandoned."""
    dsn = fresh_database(request.getfixturevalue(fixture), f"kill_{policy}_{mode}")
    binary, classic = BINARIES[fixture], fixture == "gp6_dsn"
    if not Path(binary).exists():
        pytest.skip(f"no {binary}")
    # each leaf is processed separately: all tables would take minutes on Greenplum
    only = (
        None
        if not fixture.startswith("gp")
        else RESHAPED
        if policy == "reshape"
        else None
        if KILLS
        else SOME
    )
    tables, cannot = make(dsn, classic=classic, only=only)
    assert only is not None or len(cannot) == CANNOT[fixture], cannot
    before, rows = roundtrip.dump(binary, dsn), roundtrip.contents(dsn, tables)
    files = made.written(
        dsn,
        tmp_path / "sql",
        made.plan_of(dsn, POLICIES[policy]),
        request=Request(mode=mode, pause_s=0.05),
    )
    assert files.refused == []
    scripts = files.forward()
    assert len(scripts) > (0 if policy == "reshape" else 0.6 * len(tables))
    breaker = Breaker(files)
    breaker.each({"0000_prepare.sql": breaker.left("0000_prepare.sql")})
    files.run("0000_prepare.sql")
    expected = 2  # 0000_prepare.sql and cleanup.sql
    for n in range(ROUNDS):
        run = [
            name
            for name in scripts
            if n == 0 or breaker.left(name) or breaker.left(f"rollback/{name}")
        ]
        if not run:
            break
        for names in (run, [f"rollback/{name}" for name in run]):
            ways = {
                name: places
                for i, name in enumerate(names)
                if (KILLS or i % 2 == (names is run)) and (places := breaker.left(name))
            }
            breaker.each(ways)
            expected += len(ways)
            assert roundtrip.contents(dsn, tables) == rows
            again = (
                names if n == 0 and (KILLS or names is run) else []
            )  # a finished file has nothing to do
            messages = files.run_together(*names, *again, "verify.sql")
            assert f"OK: {len(scripts)} of {len(scripts)} tables" in messages
            assert roundtrip.contents(dsn, tables) == rows
    # started again, and abandoned
    given_up = scripts if KILLS else scripts[::4]
    breaker.each({name: first_step((files.folder / name).read_text()) for name in given_up})
    breaker.each({"cleanup.sql": breaker.left("cleanup.sql")})
    assert breaker.hits.total() == expected + len(given_up) > len(scripts)
    assert roundtrip.contents(dsn, tables) == rows
    files.run("cleanup.sql")
    assert leftovers(dsn) == []
    assert roundtrip.contents(dsn, tables) == rows
    was, now = (
        {n: reordered(n, chosen(t, classic=classic)) for n, t in d.items()}
        for d in (before, roundtrip.dump(binary, dsn))
    )
    differing = roundtrip.differences(was, now)
    assert differing == [], "\n".join(
        f"{n}\n{was.get(n)}\n---\n{now.get(n)}" for n in differing[:3]
    )
    print(
        f"{fixture} {policy} {mode}: {len(scripts)} tables, {dict(breaker.kinds)}, {dict(breaker.hits)}"
    )
    there = {
        b.phase
        for name in files.names
        if name[0].isdigit() or name.startswith("rollback/")
        for b in breaks((files.folder / name).read_text())
    }
    assert there >= {"guard", "exclusive", "swap", "note", "commit"}
    assert there <= {p.name.lower() for p in Phase} | {"commit"}
    if len(scripts) >= 30:  # Greenplum reshapes a dozen tables, PostgreSQL one
        assert breaker.hits.keys() == there
        assert min(breaker.hits.values()) >= 3, breaker.hits
