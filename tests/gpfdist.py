"""gpfdist, the Greenplum program that serves files to external tables."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

from gpcatalog.lab.postgres import free_port
from tests import greenplum
from tests.conftest import missing, wait_for_port


@contextlib.contextmanager
def gpfdist(generation: str, folder: str) -> Iterator[int]:
    """Run gpfdist of a generation ("gp6", "gp7") in a folder and yield its port; skips the test if gpfdist is not installed."""
    place = greenplum.installed(int(generation[2]))
    program = place / "bin" / "gpfdist" if place is not None else None
    if program is None or not program.exists():
        missing("gpfdist", f"not at {program}")
    port = free_port()
    server = subprocess.Popen(
        [str(program), "-d", folder, "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port)
        yield port
    finally:
        server.kill()
        server.wait()
