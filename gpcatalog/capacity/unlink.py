"""How fast a file system makes and removes small files, measured in a directory of our own."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from gpcatalog.capacity.estimate import Rates
from gpcatalog.errors import CatalogError, Exit

FILES = 20_000  # most that are made
SECONDS = 5.0  # longest that making, and removing, may take
BATCH = 100  # files between two looks at the clock
PREFIX = "gpcatalog-unlink-"


def measure(path: Path, *, files: int = FILES, seconds: float = SECONDS) -> Rates:
    """Make and remove files of one byte under `path` and tell the rates.

    Nothing is forced to disk, as nothing is when a server unlinks: what a file system's cache gains
    is part of the rate. All of it happens in a new directory that is removed however this ends.
    Raises CatalogError (usage) where that is not possible.

    files: most to make; seconds: after which making stops, and then removing is timed no longer
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
        made = 0
        began = time.perf_counter()
        while made < files and (made < BATCH or time.perf_counter() - began < seconds):
            for number in range(made, min(made + BATCH, files)):
                with open(scratch / str(number), "xb") as file:
                    file.write(b"\0")
                made += 1
        making = time.perf_counter() - began
        removed = 0
        began = time.perf_counter()
        while removed < made and (removed < BATCH or time.perf_counter() - began < seconds):
            for number in range(removed, min(removed + BATCH, made)):
                os.unlink(scratch / str(number))
                removed += 1
        removing = time.perf_counter() - began
    except OSError as e:
        raise CatalogError(
            f"cannot measure in {path}: {e.strerror}", exit_code=Exit.USAGE
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    # a clock too coarse to see the work would make the rate infinite
    return Rates(str(path), made, made / max(making, 1e-9), removed / max(removing, 1e-9))
