"""Whole processes of gpcatalog, with their time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One process: wall-clock seconds, processor seconds, peak resident bytes."""

    seconds: float
    cpu: float
    peak: int


# the process reports its own peak, because the peak that getrusage returns for a child is at least that of its parent at the start
_CHILD = """
import atexit, re, sys
from pathlib import Path
place = Path(sys.argv[1])
atexit.register(lambda: place.write_text(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
sys.argv = ["gpcatalog", *sys.argv[2:]]
from gpcatalog.cli import main
main()
"""


def process(*words: str, env: dict[str, str] | None = None) -> Run:
    """Run gpcatalog with these arguments. Raises CalledProcessError when it fails."""
    with tempfile.NamedTemporaryFile("r") as peak_file:
        begun = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, peak_file.name, *words],
            stdout=subprocess.DEVNULL,
            env=env and {**os.environ, **env},
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, words)
        return Run(
            time.perf_counter() - begun, used.ru_utime + used.ru_stime, int(peak_file.read()) * 1024
        )
