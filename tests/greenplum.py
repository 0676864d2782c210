"""A temporary Greenplum cluster from an installed server: one coordinator and three segments on the loopback address."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gpcatalog.lab import postgres, process

SEGMENTS = 3


def installed(generation: int) -> Path | None:
    """GPHOME of Greenplum 6 or 7: that of the environment, or the default folder; None if neither contains this major version."""
    for place in (os.environ.get("GPHOME"), f"/usr/local/greenplum-db-{generation}"):
        if place and (Path(place) / "bin/postgres").is_file() and _major(Path(place)) == generation:
            return Path(place)
    return None


def _major(home: Path) -> int:
    output = subprocess.run(
        [home / "bin/postgres", "--version"],
        capture_output=True,
        text=True,
        check=False,
        env=postgres.clean_environment(home / "lib"),
    ).stdout
    return 6 if " 9.4" in output else 7 if " 12." in output else 0


class Cluster:
    """One cluster; `dsn(database)` connects to the coordinator as superuser gpadmin."""

    def __init__(self, generation: int, home: Path) -> None:
        self.generation = generation
        self.home = home
        self.folder = Path(tempfile.mkdtemp(prefix=f"gpcatalog-gp{generation}-"))
        process.hand_over(self.folder)
        self.ports = [postgres.free_port() for _ in range(SEGMENTS + 1)]
        self.env = postgres.clean_environment(home / "lib")

    def data(self, content: int) -> Path:
        return self.folder / ("coordinator" if content < 0 else f"segment{content}")

    def dsn(self, database: str = "postgres") -> str:
        return f"host=127.0.0.1 port={self.ports[0]} user=gpadmin dbname={database}"

    def _ctl(self, content: int, *words: str, what: str) -> None:
        process.run(
            [self.home / "bin/pg_ctl", "-w", "-t", "90", "-D", self.data(content), *words],
            env=self.env,
            log=self.folder / f"pg_ctl{content}.log",
            what=what,
        )

    def start_instance(self, content: int) -> None:
        port = self.ports[content + 1]
        if content < 0:
            mode = "-E" if self.generation == 6 else "-c gp_role=dispatch"
        else:
            mode = "" if self.generation == 6 else "-c gp_role=execute"
        self._ctl(
            content,
            "-l",
            str(self.folder / f"server{content}.log"),
            "-o",
            f"-p {port} {mode}",
            "start",
            what=f"start {content}",
        )

    def stop_instance(self, content: int, mode: str = "fast") -> None:
        if (self.data(content) / "postmaster.pid").exists():
            self._ctl(content, "-m", mode, "stop", what=f"stop {content}")

    def make(self) -> Cluster:
        process.run(
            [
                self.home / "bin/initdb",
                "-D",
                self.data(-1),
                "-U",
                "gpadmin",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "--shared_buffers=64MB",
            ],
            env=self.env,
            what="initdb",
        )
        for content in range(SEGMENTS):  # a copy takes a tenth of the time of initdb
            process.run(
                ["cp", "-a", self.data(-1), self.data(content)],
                env=self.env,
                what=f"copy for instance {content}",
            )
        for content in range(-1, SEGMENTS):
            data = self.data(content)
            with (data / "postgresql.conf").open("a") as conf:
                conf.write(
                    f"max_connections={60 if content < 0 else 200}\nport={self.ports[content + 1]}\nlisten_addresses='127.0.0.1'\ngp_contentid={content}\n"
                    "fsync=off\nfull_page_writes=off\nautovacuum=off\nmax_locks_per_transaction=2048\ngp_vmem_protect_limit=8192\nlogging_collector=on\n"
                    # the coordinator connects to itself through the default socket directory of libpq
                    f"unix_socket_directories='{self.folder},/tmp'\n"
                    + ("checkpoint_segments=16\n" if self.generation == 6 else "max_wal_size=1GB\n")
                )
            (data / "internal.auto.conf").open("a").write(f"gp_dbid={content + 2}\n")
            (data / "pg_hba.conf").write_text(
                "local all all trust\nhost all all 127.0.0.1/32 trust\n"
            )
        self._register()
        for content in range(SEGMENTS):
            self.start_instance(content)
        self.start_instance(-1)
        if self.generation == 7:
            for database in ("template1", "postgres"):
                self.psql("CREATE EXTENSION gp_toolkit", database=database)
        return self

    def _register(self) -> None:
        """Register the segments at the coordinator, in utility mode."""
        utility = "-c gp_role=utility" + (" -m" if self.generation == 6 else "")
        self._ctl(
            -1,
            "-o",
            f"-p {self.ports[0]} {utility}",
            "start",
            what="start the coordinator in utility mode",
        )
        calls = "".join(
            f"SELECT gp_add_segment({content + 2}::int2, ({content})::int2, 'p', 'p', 'n', 'u', "
            f"{self.ports[content + 1]}, 'localhost', '127.0.0.1', '{self.data(content)}');"
            for content in range(-1, SEGMENTS)
        )
        option = "gp_session_role" if self.generation == 6 else "gp_role"
        self.psql(calls, database="template1", options=f"-c {option}=utility")
        self.stop_instance(-1)

    def psql(self, sql: str, *, database: str = "postgres", options: str = "") -> None:
        env = {**self.env, "PGOPTIONS": options} if options else self.env
        process.run(
            [
                self.home / "bin/psql",
                "-Xq",
                "-v",
                "ON_ERROR_STOP=1",
                "-d",
                self.dsn(database),
                "-c",
                sql,
            ],
            env=env,
            what="psql",
        )

    def close(self) -> None:
        for content in range(-1, SEGMENTS):
            self.stop_instance(content, "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
