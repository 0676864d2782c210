"""A lock that prevents two concurrent runs of one schedule."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.store import series


def lock_file(command: str, file: Path, clusters: Sequence[str]) -> Path:
    """The lock file of a command over these clusters of a fleet file."""
    key = "\0".join([command, str(file.resolve()), *clusters])
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    return series.home() / f"{command.replace(' ', '-')}-{digest}.lock"


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of a file. The operating system releases it when the process ends for any
    reason.

    Raises CatalogError (4) if another process holds it, (2) if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # the file is written: a symbolic link of another user must not redirect this to another
        # file
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        stream = os.fdopen(number, "r+", encoding="utf-8")
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise CatalogError(f"{path} is a symbolic link", hint="remove it") from None
        raise CatalogError(f"cannot write {path}: {e.strerror or e}") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            who = stream.read(200).strip() or "another process"
            raise CatalogError(
                f"this run is active already: {who}",
                hint="wait until it ends, or stop that process",
                exit_code=Exit.REFUSED,
            ) from None
        stream.seek(0)
        stream.truncate()
        stream.write(f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n")
        stream.flush()
        yield


def only_run(
    command: str, file: Path, clusters: Sequence[str]
) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of a command over these clusters of a fleet file.

    Raises CatalogError, as `exclusive`.
    """
    return exclusive(lock_file(command, file, clusters))
