"""Cached data of stored snapshots, in a file in the folder of the series.

The cache only saves time: data that is missing or does not match its snapshot is read from the
snapshot again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from gpcatalog import __version__
from gpcatalog.growth.points import Figures, Moves, Root
from gpcatalog.model.folders import listed
from gpcatalog.store import series
from gpcatalog.store.snapshot import SUFFIX

FILE = ".points"
FORMAT = f"3 {__version__}"  # another version of the program may read different data
Identity = tuple[str, int, int]  # name, size in bytes, modification time in ns of a snapshot file


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """The cached data of one snapshot.

    before: the snapshot that the changes of tables refer to; None if all tables are listed
    roots:  tables that differ, by oid; None for a table that no longer exists
    moves:  leaves compared with the snapshot before; None if they were not compared
    """

    identity: Identity
    figures: Figures
    before: Identity | None
    roots: list[tuple[int, Root | None]]
    moves: Moves | None

    def present(self) -> Iterable[tuple[int, Root]]:
        """The tables that exist."""
        return ((oid, root) for oid, root in self.roots if root is not None)


class _File(msgspec.Struct, kw_only=True, frozen=True):
    """The cache file: entries by time. format: valid for this version of the program only."""

    format: str
    entries: list[Entry]


def identity_of(path: Path) -> Identity:
    """Name, size and modification time of a snapshot file, to detect changes. Raises OSError."""
    found = path.stat()
    return path.name, found.st_size, found.st_mtime_ns


def _stored(place: Path) -> bool:
    """Whether the folder is one of the stored series; cache files are not written to other
    folders.
    """
    return place.resolve().is_relative_to(series.home().resolve())


def is_complete_series(place: Path, paths: Iterable[Path]) -> bool:
    """Whether these files are all the snapshots of a stored series."""
    return _stored(place) and set(listed(place, f"*{SUFFIX}")) <= set(paths)


def read(place: Path) -> dict[Path, Entry]:
    """Read the entries of a folder whose snapshots have not changed."""
    if not _stored(place):
        return {}
    try:
        found = msgspec.msgpack.decode((place / FILE).read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, ValueError, RecursionError):
        return {}
    if found.format != FORMAT:
        return {}
    entries = {}
    for entry in found.entries:
        path = place / os.path.basename(entry.identity[0])
        with contextlib.suppress(OSError, ValueError):
            if identity_of(path) == entry.identity:
                entries[path] = entry
    return entries


def write(place: Path, entries: Sequence[Entry]) -> None:
    """Write these entries. If the folder cannot be written, there is no cache."""
    draft = place / f"{FILE}.{os.getpid()}.partial"
    content = msgspec.msgpack.encode(_File(format=FORMAT, entries=list(entries)))
    with contextlib.suppress(OSError):
        try:
            draft.write_bytes(content)
            os.replace(draft, place / FILE)
        finally:
            draft.unlink(missing_ok=True)
