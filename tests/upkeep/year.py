"""Nights of upkeep on a live server, one after the other, while other jobs write rows and create partitions.

    python -m tests.upkeep.year CONNINFO [--first 2025-03-20] [--nights 365] [--kills 20] [--shape plain]

CONNINFO must connect as superuser to an empty database that may be filled. Every night, a new snapshot is taken, a script is
written for that day, and psql runs it. The rows of every table are also written to a plain table, the reference: in the end,
both must have the same rows. Each night is checked: no failed insert, no gap within the cover, and as many leaves as forecast.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg

from gpcatalog.model.scope import Scope
from gpcatalog.planner import policy as policies
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.services import upkeep
from gpcatalog.store.snapshot import Snapshot
from tests.program import PSQL

HISTORY = 70  # days of partitions before the first night
AHEAD = 3  # days of partitions after it
PREMAKE = 6
POLICY = """
[upkeep]
lock_wait = "200ms"
lock_attempts = 50
max_rewrite = "{budget}"
[default]
hot_days = 5
premake = "6d"
premake_batch = "2d"
grains = {{month = "12d"}}
automatic_maintenance = true
[[table]]
match = "*.tz"
time_zone = "Europe/Berlin"
[[table]]
match = "*.rows_in_default"
default_rows = "move"
[[table]]
match = "*.plain"
keep = "45d"
retention = "detach"
retention_schema = "archive"
[[table]]
match = "*.numbers"
keep = "45d"
retention = "drop"
"""


@dataclass(frozen=True)
class ShapeOf:
    """A shape of table. key: type of its key; text: expression for a day (and hour) as a value."""

    name: str
    key: str
    default: bool = False
    two_levels: bool = False

    def value(self, day: date, hour: int = 0) -> str:
        """A value on a day, in local time if the key has a time zone."""
        if self.key == "int":
            return f"{day:%Y%m%d}"
        if self.key == "timestamptz":
            return f"timestamptz '{day} {hour:02d}:30 Europe/Berlin'"
        return f"date '{day}'"

    def bound(self, day: date) -> str:
        """A bound as a user writes it."""
        if self.key == "int":
            return f"{day:%Y%m%d}"
        if self.key == "timestamptz":
            return f"'{day} 00:00 Europe/Berlin'"
        return f"'{day}'"


SHAPES = (
    ShapeOf("plain", "date"),
    ShapeOf("empty_default", "date", default=True),
    ShapeOf("rows_in_default", "date", default=True),
    ShapeOf("two_levels", "date", two_levels=True),
    ShapeOf("tz", "timestamptz"),
    ShapeOf("numbers", "int"),
)


def ddl(shape: ShapeOf, server: str, first: date) -> list[str]:
    """Statements for the table with its history."""
    name = shape.name
    columns = f"k {shape.key} NOT NULL, region text, v int, note text DEFAULT 'n'"
    days = [first + timedelta(n) for n in range(-HISTORY, AHEAD)]
    if server.startswith("pg"):
        found = [f"CREATE TABLE {name} ({columns}) PARTITION BY RANGE (k)"]
        for day in days:
            leaf = f"{name}_p{day:%Y%m%d}"
            span = f"FOR VALUES FROM ({shape.bound(day)}) TO ({shape.bound(day + timedelta(1))})"
            if shape.two_levels:
                found.append(
                    f"CREATE TABLE {leaf} PARTITION OF {name} {span} PARTITION BY LIST (region)"
                )
                found += [
                    f"CREATE TABLE {leaf}_{r} PARTITION OF {leaf} FOR VALUES IN ('{r}')"
                    for r in ("eu", "us")
                ]
            else:
                found.append(f"CREATE TABLE {leaf} PARTITION OF {name} {span}")
        if shape.default:
            found.append(f"CREATE TABLE {name}_other PARTITION OF {name} DEFAULT")
        return [*found, f"CREATE INDEX {name}_v ON {name} (v)"]
    storage = "WITH (appendonly=true, orientation=column, compresstype=zlib)"
    parts = [
        f"PARTITION p{day:%Y%m%d} START ({shape.bound(day)}) END ({shape.bound(day + timedelta(1))})"
        f" {storage}"
        for day in days
    ]
    if shape.default:
        parts.append(f"DEFAULT PARTITION other {storage}")
    below = (
        " SUBPARTITION BY LIST (region) SUBPARTITION TEMPLATE (SUBPARTITION eu VALUES ('eu')"
        f" {storage}, SUBPARTITION us VALUES ('us') {storage})"
        if shape.two_levels
        else ""
    )
    index = [] if shape.two_levels else [f"CREATE INDEX {name}_v ON {name} (v)"]
    return [
        f"CREATE TABLE {name} ({columns}) {storage} DISTRIBUTED BY (v) PARTITION BY RANGE (k)"
        f"{below} ({', '.join(parts)})",
        *index,
    ]


@dataclass
class Year:
    """A run of nights on one database."""

    dsn: str
    server: str
    first: date
    shapes: tuple[ShapeOf, ...] = SHAPES
    kills: float = 0.0  # share of the nights that are interrupted at random
    killed: frozenset[int] | None = None  # the nights that are interrupted; replaces `kills`
    budget: str = "1GB"
    seed: int = 1
    errors: list[str] = field(default_factory=list)
    promised: dict[str, int] = field(default_factory=dict)
    number: int = 0
    interrupted: int = 0
    nights: int = 0
    slowest: float = 0.0
    waited: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.policy = policies.loads(POLICY.format(budget=self.budget))
        self.classic = self.server == "gp6"

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            conn.execute("SET DateStyle = 'ISO, MDY'")
            for s in statements:
                conn.execute(s.encode())

    def make(self) -> None:
        """Create the tables with their history, and the reference tables."""
        self.execute("CREATE SCHEMA archive")
        for shape in self.shapes:
            self.execute(*ddl(shape, self.server, self.first))
            self.execute(
                f"CREATE TABLE ref_{shape.name} (k {shape.key}, region text, v int, note text)"
            )
            for n in range(-HISTORY, 0, 7):
                self.write(shape, self.first + timedelta(n), 4)
            if shape.name == "rows_in_default":  # on days before all partitions, and in a gap
                self.write(shape, self.first - timedelta(HISTORY + 3), 5)
                gap = self.first - timedelta(9)
                self.drop(shape, gap)
                self.write(shape, gap, 7)

    def drop(self, shape: ShapeOf, day: date) -> None:
        """Drop the partition of a day, and delete its rows from the reference."""
        self.execute(
            f"DELETE FROM ref_{shape.name} WHERE k = {shape.value(day)}",
            f"DROP TABLE {shape.name}_p{day:%Y%m%d}"
            if self.server.startswith("pg")
            else f"ALTER TABLE {shape.name} DROP PARTITION p{day:%Y%m%d}",
        )

    def write(self, shape: ShapeOf, day: date, rows: int) -> None:
        """Insert rows of a day into the table and its reference; record a failed insert as an error."""
        self.number += rows
        values = ", ".join(
            f"({shape.value(day, (n * 11) % 24)}, '{('eu', 'us')[n % 2]}', {self.number + n})"
            for n in range(rows)
        )
        with psycopg.connect(self.dsn) as conn:
            conn.execute("SET DateStyle = 'ISO, MDY'")
            try:
                conn.execute(f"INSERT INTO {shape.name} (k, region, v) VALUES {values}".encode())
                conn.execute(
                    f"INSERT INTO ref_{shape.name} SELECT x.*, 'n' FROM (VALUES {values}) x".encode()
                )
            except psycopg.Error as e:
                conn.rollback()
                self.errors.append(f"insert into {shape.name} of {day}: {e}")

    def rival(self, shape: ShapeOf, day: date) -> None:
        """Create a partition of a day as another job does, such as cron of the owner; it may already exist."""
        name = f"{shape.name}_p{day:%Y%m%d}"
        low, high = shape.bound(day), shape.bound(day + timedelta(1))
        if self.server.startswith("pg"):
            text = (
                f"CREATE TABLE {name} PARTITION OF {shape.name} FOR VALUES FROM ({low}) TO ({high})"
            )
        elif self.classic and shape.default:
            text = (
                f"ALTER TABLE {shape.name} SPLIT DEFAULT PARTITION START ({low}) END ({high})"
                f" INTO (PARTITION p{day:%Y%m%d}, DEFAULT PARTITION)"
            )
        else:
            text = (
                f"ALTER TABLE {shape.name} ADD PARTITION p{day:%Y%m%d} START ({low}) END ({high})"
                " WITH (appendonly=true, orientation=column, compresstype=zlib)"
            )
        try:
            self.execute(text)
        except psycopg.Error as e:
            if not re.search("overlap|already exist|not exist|no default", str(e)):
                self.errors.append(f"rival of {shape.name} on {day}: {e}")

    def script(self, day: date) -> str:
        """The script of tonight; also stores the number of leaves that it predicts."""
        with (
            tempfile.TemporaryDirectory() as folder,
            connect(self.dsn) as session,
        ):
            path = collect(session, Path(folder) / "now.gpcatalog", scope=Scope.PLAN)
            with Snapshot(path) as snapshot:
                begun = time.perf_counter()
                prepared = upkeep.prepare(snapshot, self.policy, upkeep.today_of(day.isoformat()))
                for bad in prepared.unplanned:
                    if not bad.name.startswith("ref_"):
                        self.errors.append(f"{day}: {bad.name}: {bad.reason}")
                work = upkeep.night_work(session, prepared, allow_drop=True)
                self.slowest = max(self.slowest, time.perf_counter() - begun)
                for r in work.refused:
                    self.errors.append(f"{day}: {r.table} {r.operation} refused: {r.reason}")
                [tonight] = upkeep.nights(prepared, 1, announced=True)
                self.promised = {t.name: tonight.leaves[t.oid] for t in prepared.states}
                # the server's clock differs from the simulated date
                return upkeep.script_of(session, work).replace(
                    f"'{day}'::date", f"'{datetime.now(UTC).date()}'::date"
                )

    def run(
        self, text: str, *, kill_after: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a script with psql, or kill psql and its server process in the middle of it."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql", delete=False) as file:
            file.write(text)
        try:
            command = [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.dsn, "-f", file.name]
            env = {**os.environ, "PGAPPNAME": "upkeep_night"}
            if kill_after is None:
                return subprocess.run(
                    command, capture_output=True, text=True, check=False, env=env, timeout=600
                )
            with subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env
            ) as process:
                time.sleep(kill_after)
                process.kill()
            with psycopg.connect(self.dsn, autocommit=True) as conn:
                deadline = time.monotonic() + 60
                while (
                    time.monotonic() < deadline
                    and conn.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'upkeep_night'"
                    ).fetchall()
                ):
                    time.sleep(0.05)
            return subprocess.CompletedProcess(command, -9, "", "")
        finally:
            Path(file.name).unlink()

    def night(self, day: date, *, promise: bool = True) -> None:
        """Run one night: the script, perhaps killed and run again."""
        text = self.script(day)
        self.nights += 1
        by_chance = self.random.random() < self.kills
        if by_chance if self.killed is None else self.nights - 1 in self.killed:
            self.interrupted += 1
            self.run(text, kill_after=self.random.uniform(0.05, 2.5))
        done = self.run(text)
        if done.returncode:
            self.errors.append(f"{day}: {done.stderr[-600:]}")
        for found in re.findall(r"readers waited (\d+) ms", done.stderr):
            self.waited = max(self.waited, int(found) / 1000)
        if promise:
            leaves = self.leaves()
            for name, number in self.promised.items():
                # drops wait seven nights, and the rows of a default partition are not known before
                unknown = name == "rows_in_default" or (name == "numbers" and self.nights <= 8)
                if leaves[name] != number and not unknown:
                    self.errors.append(f"{day}: {name} has {leaves[name]} leaves, not {number}")
        # a drop waits seven days after its announcement
        self.execute(
            "UPDATE gpcatalog_journal.upkeep SET at = at - interval '1 day' WHERE state = 'announced'"
        )

    def day(self, day: date) -> None:
        """Simulate others on a day: rows of today and of the cover, late rows, and sometimes another job."""
        for shape in self.shapes:
            self.write(shape, day, 6)
            self.write(shape, day + timedelta(PREMAKE - 2), 1)
            self.write(shape, day - timedelta(self.random.randint(1, 30)), 2)
        if self.random.random() < 0.3:
            self.rival(self.random.choice(self.shapes[:3]), day + timedelta(PREMAKE))

    def leaves(self) -> dict[str, int]:
        """Number of leaves of each table, as the server reports them."""
        query = """WITH RECURSIVE t (root, oid) AS (
                       SELECT c.oid, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
                       UNION ALL SELECT t.root, i.inhrelid FROM t JOIN pg_inherits i ON i.inhparent = t.oid)
                   SELECT r.relname, count(*) FROM t JOIN pg_class r ON r.oid = t.root JOIN pg_class c ON c.oid = t.oid
                    WHERE t.oid <> t.root AND c.relkind = 'r'
                          AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = t.oid) GROUP BY 1"""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            return dict(conn.execute(query).fetchall())

    def shown(self) -> str:
        """The number of leaves of each table, in one line."""
        leaves = self.leaves()
        return ", ".join(f"{s.name} {leaves[s.name]}" for s in self.shapes)

    def compare(self) -> Iterator[tuple[str, object]]:
        """Tables whose rows differ from their reference, with the number of different rows."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            away = [
                r[0]
                for r in conn.execute(
                    "SELECT tablename FROM pg_tables WHERE schemaname = 'archive' ORDER BY 1"
                ).fetchall()
            ]
            for shape in self.shapes:
                mine = [
                    f"archive.{a}" for a in away if a.startswith((shape.name, f"{shape.name}_"))
                ]
                every = " UNION ALL ".join(
                    f"SELECT k, region, v, note FROM {t}" for t in (shape.name, *mine)
                )
                where = ""
                if shape.name == "numbers":  # dropped rows are older than all others
                    where = f" WHERE k >= (SELECT min(k) FROM {shape.name})"
                sides = (every, f"SELECT k, region, v, note FROM ref_{shape.name}{where}")
                for one, two in (sides, sides[::-1]):
                    query = f"SELECT count(*) FROM (({one}) EXCEPT ALL ({two})) x"
                    [(number,)] = conn.execute(query.encode()).fetchall()
                    if number:
                        yield shape.name, number


def server_of(dsn: str) -> str:
    """Generation of a server: gp6, gp7 or pg15."""
    with connect(dsn) as session:
        return session.server.generation


def main() -> None:
    """Run the nights and report the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("conninfo")
    parser.add_argument("--first", default="2025-03-20")
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--shape", action="append", default=[])
    given = parser.parse_args()
    first = date.fromisoformat(given.first)
    year = Year(
        given.conninfo,
        server_of(given.conninfo),
        first,
        shapes=tuple(s for s in SHAPES if not given.shape or s.name in given.shape),
        killed=frozenset(random.Random(1).sample(range(given.nights), given.kills)),
    )
    year.make()
    for n in range(given.nights):
        day = first + timedelta(n)
        begun = time.perf_counter()
        year.night(day)
        year.day(day)
        print(f"{day}: {time.perf_counter() - begun:.1f} s, {year.shown()}", flush=True)
        for error in year.errors:
            print(f"  ERROR {error}", flush=True)
        year.errors.clear()
    print(f"{year.interrupted} nights interrupted, different rows: {list(year.compare())}")
    print(f"longest wait of readers {year.waited:.2f} s, slowest script {year.slowest:.1f} s")


if __name__ == "__main__":
    main()
