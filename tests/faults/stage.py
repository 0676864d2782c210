"""A live server for fault tests, and checks that must pass after each fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gpcatalog.growth import cache
from gpcatalog.store.snapshot import Snapshot
from tests import program
from tests.conftest import fresh_database
from tests.greenplum import SEGMENTS, Cluster
from tests.program import hear_hangups

SERVERS = ["gp6", "gp7", "pg", "pgnew"]
DATABASE = "faults"


@dataclass
class Result:
    """The result of a command. code: exit code, negative if a signal killed the command."""

    code: int
    out: str
    err: str

    def one_message(self, code: int, *words: str, printed: bool = False) -> None:
        """Check the exit code, and that there is one message with these words, at most one hint, and no output unless `printed`."""
        lines = self.err.strip().splitlines()
        assert self.code == code, (self.code, self.err[-800:])
        assert lines, self.err
        assert lines[0].startswith("gpcatalog: "), self.err
        assert len(lines) <= 2, self.err
        assert "Traceback" not in self.err
        assert "internal error" not in self.err
        for word in words:
            assert word in lines[0], (word, self.err)
        assert printed or self.out == "", self.out


class Stage:
    """A server with a separate database for fault tests."""

    def __init__(self, kind: str, request: pytest.FixtureRequest) -> None:
        self.kind = kind
        self.greenplum = kind.startswith("gp")
        self.owner = request.getfixturevalue(
            {
                "gp6": "gp6_cluster",
                "gp7": "gp7_cluster",
                "pg": "pg15_server",
                "pgnew": "pgnew_server",
            }[kind]
        )
        base = self.owner.dsn("template1") if self.greenplum else self.owner.conninfo("postgres")
        self.dsn = fresh_database(base, DATABASE)
        self.port = int(str(conninfo_to_dict(self.dsn)["port"]))
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            if self.greenplum:
                conn.execute(
                    "CREATE TABLE sales (id int, d date) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
                    " (START (date '2026-01-01') END (date '2026-01-21') EVERY (interval '1 day'))"
                )
            else:
                conn.execute("CREATE TABLE sales (id int, d date) PARTITION BY RANGE (d)")
                for n in range(1, 21):
                    conn.execute(
                        f"CREATE TABLE sales_1_prt_{n} PARTITION OF sales FOR VALUES FROM ('2026-01-{n:02}') TO ('2026-01-{n + 1:02}')".encode()
                    )
            conn.execute(
                "INSERT INTO sales SELECT n, date '2026-01-05' FROM generate_series(1, 500) n"
            )
            # on these servers, a commit survives a crash only after it is flushed, up to 0.6 s later
            conn.execute("CHECKPOINT")

    @property
    def leaf(self) -> str:
        return "sales_1_prt_5"

    # -- faults ----------------------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """Restart the coordinator or the server in immediate mode."""
        if isinstance(self.owner, Cluster):
            self.owner.stop_instance(-1, "immediate")
            self.owner.start_instance(-1)
        else:
            self.owner.stop("immediate")
            self.owner.start()

    def settle(self) -> None:
        """Wait until all instances answer again."""
        question = "SELECT count(*) FROM gp_dist_random('gp_id')" if self.greenplum else "SELECT 1"
        for _ in range(240):
            try:
                with psycopg.connect(self.dsn, connect_timeout=5) as conn:
                    conn.execute(question.encode()).fetchone()
                return
            except psycopg.Error:
                time.sleep(0.5)
        pytest.fail("the server did not come back")

    # -- running commands and checking the server --------------------------------------------------------------------------

    def through(self, port: int) -> str:
        """Conninfo of a connection through a proxy on this port."""
        return make_conninfo(self.dsn, port=port)

    def sessions(self) -> int:
        """Number of sessions of gpcatalog on the coordinator or server, and of their processes that still work on segments."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            count = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'gpcatalog%' OR query LIKE '/* gpcatalog:%'"
            row = conn.execute(
                f"{count} AND pid <> pg_backend_pid()".replace(
                    " OR ", " AND pid <> pg_backend_pid() OR "
                ).encode()
            ).fetchone()
            assert row is not None
            return int(row[0]) + self._on_segments()

    def _on_segments(self) -> int:
        if not isinstance(self.owner, Cluster):
            return 0
        option = "gp_session_role" if self.kind == "gp6" else "gp_role"
        found = 0
        for content in range(SEGMENTS):
            dsn = make_conninfo(
                self.dsn, port=self.owner.ports[content + 1], options=f"-c {option}=utility"
            )
            with psycopg.connect(dsn) as conn:
                row = conn.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' AND query LIKE '/* gpcatalog:%'"
                ).fetchone()
                assert row is not None
                found += int(row[0])
        return found

    def quiet(self, seconds: float = 30) -> None:
        """Check that no session of gpcatalog is left on the server after some seconds."""
        end = time.monotonic() + seconds
        while (n := self.sessions()) and time.monotonic() < end:
            time.sleep(0.2)
        assert n == 0, f"{n} sessions of gpcatalog are left"


def start(*words: str, home: Path, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gpcatalog", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "GPCATALOG_HOME": str(home), "COLUMNS": "80", **env},
        preexec_fn=hear_hangups,
    )


def end(child: subprocess.Popen[str], seconds: float = 180) -> Result:
    """Wait for the end of a command and return its result; a command that hangs fails the test."""
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        pytest.fail(f"gpcatalog still hangs after {seconds} s")
    return Result(child.returncode, out, err)


def run(*words: str, home: Path, **env: str) -> Result:
    try:
        result = program.run(
            *words,
            timeout=180,
            env={**os.environ, "GPCATALOG_HOME": str(home), "COLUMNS": "80", **env},
        )
    except subprocess.TimeoutExpired:
        pytest.fail("gpcatalog still hangs after 180 s")
    return Result(result.returncode, result.stdout, result.stderr)


def interrupting(
    child: Callable[[], subprocess.Popen[str]], number: signal.Signals
) -> Callable[[object], None]:
    """A function for a proxy to call: it sends the signal and waits for its arrival."""

    def then(_: object) -> None:
        child().send_signal(number)
        time.sleep(0.1)

    return then


def stored(home: Path) -> list[Path]:
    """All files of the store that are not temporary; checks that each of them can be opened."""
    files = [p for p in home.rglob("*") if p.is_file() and not p.name.startswith(".")]
    for path in files:
        with Snapshot(path) as snapshot:
            assert snapshot.one("SELECT count(*) AS n FROM relation WHERE kind = 'leaf'")["n"] >= 20
    return files


def drafts(home: Path) -> list[Path]:
    """Temporary files: names that begin with a dot, except the file with totals of snapshots."""
    found = [p for p in home.rglob(".*") if p.is_file()] if home.exists() else []
    return [p for p in found if p.name != cache.FILE]
