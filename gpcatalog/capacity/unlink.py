"""The rate at which a file system creates and removes small files, measured in a temporary
directory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from gpcatalog.capacity.estimate import Rates
from gpcatalog.errors import CatalogError, Exit

FILES = 20_000  # maximum number of files
SECONDS = 5.0  # maximum duration of creation, and of removal
BATCH = 100  # files between two checks of the time
PREFIX = "gpcatalog-unlink-"


def measure(path: Path, *, files: int = FILES, seconds: float = SECONDS) -> Rates:
    """Create and remove files of one byte under `path` and return the rates.

    Files are not synced to disk, because a server does not sync when it unlinks files: the rate
    includes the effect of the file system's cache. All files are in a new directory that is removed
    in any case. Raises CatalogError (usage) if the measurement is not possible.

    files: maximum number; seconds: time limit of the creation and of the timed removal
    """
    try:
        scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=path))
    except OSError as e:
        raise CatalogError(
            f"cannot measure in {path}: {e.strerror}",
            hint="give a writable directory on the file system of the segments",
            exit_code=Exit.USAGE,
        ) from None
    try:
        created = 0
        began = time.perf_counter()
        while created < files and (created < BATCH or time.perf_counter() - began < seconds):
            for number in range(created, min(created + BATCH, files)):
                with open(scratch / str(number), "xb") as file:
                    file.write(b"\0")
                created += 1
        making = time.perf_counter() - began
        removed = 0
        began = time.perf_counter()
        while removed < created and (removed < BATCH or time.perf_counter() - began < seconds):
            for number in range(removed, min(removed + BATCH, created)):
                os.unlink(scratch / str(number))
                removed += 1
        removing = time.perf_counter() - began
    except OSError as e:
        raise CatalogError(
            f"cannot measure in {path}: {e.strerror}", exit_code=Exit.USAGE
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    # a clock with a too coarse resolution would make the rate infinite
    return Rates(str(path), created, created / max(making, 1e-9), removed / max(removing, 1e-9))
