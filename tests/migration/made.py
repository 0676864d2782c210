"""From DDL on a live server to a plan and its files, which psql runs."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from gpcatalog.commands import migrate as command
from gpcatalog.migration.request import Request
from gpcatalog.planner import plan_file, planning, policy
from gpcatalog.planner.plan import Plan
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.services.migrations import write_migration
from gpcatalog.store.snapshot import Snapshot
from tests.migration import kept
from tests.program import PSQL

# everything is old, leaves are merged into months at any cost, and no table is too small
EAGER = """
[weights]
rewrite = 0.0
scan = 0.0
drop = 0.0
[default]
grains = {month = "0d"}
hot_days = 0
empty = "keep"
storage = "keep"
"""


def plan_of(dsn: str, rules: str = EAGER, *, clients: bool = False, without: str = "") -> Plan:
    """Take a snapshot of a database and plan it; return the plan as read from its file.

    clients: whether to run queries of clients
    without: a fact about tables that the snapshot does not have, like one of an older version
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.toml"
        file.write_text(rules)
        with connect(dsn) as session:
            path = collect(session, Path(folder) / "now.gpcatalog", clients=clients)
        if without:
            with duckdb.connect(str(path)) as db:
                db.execute("DELETE FROM partition_fact WHERE fact = ?", [without])
                assert db.fetchone() != (0,)
        with Snapshot(path) as snapshot:
            planned = planning.make(
                snapshot, policy.read(file), planning.Request(policy.read(file).limits)
            )
            pieces: list[str] = []
            plan_file.write(planned.plan, planned.tables(), pieces.append)
            read = plan_file.read("".join(pieces))
            assert read == planned.full()
            return read


@dataclass
class Written:
    """A folder of files, and the steps that were refused."""

    dsn: str
    folder: Path
    names: list[str]
    refused: list[Any]
    steps: int
    work: list[Any] = field(default_factory=list)

    def run(
        self, name: str, *, check: bool = True, text: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one file with psql, or `text` instead of the file."""
        path = self.folder / name
        if text is not None:
            path = self.folder / "changed.sql"
            path.write_text(text)
        done = subprocess.run(
            [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.dsn, "-f", path],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **environment},
            timeout=300,
        )
        assert not check or done.returncode == 0, f"{name}: {done.stderr[-3000:]}"
        return done

    def run_together(self, *names: str) -> str:
        """Run files one after the other in one session of psql; return its messages."""
        files = [word for name in names for word in ("-f", self.folder / name)]
        done = subprocess.run(
            [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.dsn, *files],
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr

    def forward(self) -> list[str]:
        """Names of the forward files of tables."""
        return [n for n in self.names if n[0].isdigit() and not n.startswith("0000")]

    def all(self) -> None:
        for name in ("0000_prepare.sql", *self.forward(), "verify.sql"):
            self.run(name)


def written(
    dsn: str,
    folder: Path,
    plan: Plan,
    *,
    request: Request | None = None,
    count: bool = False,
    edit: bool = True,
) -> Written:
    """Write the files of a plan."""
    with connect(dsn) as live:
        place = kept.place(live.server.generation)
        keeper = kept.Keeper(live, place) if place is not None else None
        session = keeper.session if keeper is not None else live
        scripts, work, refused = write_migration(
            session,
            plan,
            request or Request(),
            count=count,
            at_once=2 if keeper is None else 1,  # answers are recorded in the order of the tables
        )
        files = {name: "".join(pieces) for name, pieces in scripts}
        if keeper is not None:
            keeper.keep(plan, request or Request(), count, files)
    command.write(folder, ((name, [text]) for name, text in files.items()))
    return Written(dsn, folder, sorted(files), refused, sum(len(w.forward) for w in work), work)


def rows_of(dsn: str, table: str) -> tuple[int, str]:
    """Number of the rows of a table, and a hash of them that does not depend on their order."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET extra_float_digits = 3")
        conn.execute("SET TimeZone = 'UTC'")
        found = conn.execute(
            f"SELECT count(*), coalesce(sum(hashtext(t.*::text)::bigint), 0)::text FROM {table} t"
        ).fetchone()
    assert found is not None
    return found[0], found[1]


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        for s in statements:
            conn.execute(s)


def fetch(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return conn.execute(query).fetchall()


def roles(dsn: str, *names: str, options: str = "") -> None:
    """Create the roles that the server does not have; databases of other tests share them."""
    for name in names:
        if not fetch(dsn, f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'"):
            execute(dsn, f"CREATE ROLE {name} {options}")
