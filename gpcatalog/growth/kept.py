"""What was read of stored snapshots, in a file beside them.

It saves time only: what is missing or does not fit its snapshot is read from the snapshot again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from gpcatalog import __version__
from gpcatalog.growth.points import Figures, Moves, Root
from gpcatalog.store import series
from gpcatalog.store.snapshot import SUFFIX

FILE = ".points"
FORMAT = f"1 {__version__}"  # another version of the program may read other figures
Identity = tuple[str, int, int]  # name, bytes and time of change in ns of a snapshot file


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """What was read of one snapshot.

    before: the snapshot whose tables the changes are based on; None if all tables are listed
    roots:  tables by their oid that differ; None for one that is no longer there
    moves:  leaves compared with the snapshot before; None where they were not
    """

    identity: Identity
    figures: Figures
    before: Identity | None
    roots: list[tuple[int, Root | None]]
    moves: Moves | None

    def present(self) -> Iterable[tuple[int, Root]]:
        """The tables that are there."""
        return ((oid, root) for oid, root in self.roots if root is not None)


class _File(msgspec.Struct, kw_only=True, frozen=True):
    """The file: entries in order of time. format: of this version of the program only."""

    format: str
    entries: list[Entry]


def identity_of(path: Path) -> Identity:
    """Name, size and time of a snapshot file; a changed file has others. Raises OSError."""
    found = path.stat()
    return path.name, found.st_size, found.st_mtime_ns


def _stored(place: Path) -> bool:
    """Whether the folder is one of the stored series: nothing is written elsewhere."""
    return place.resolve().is_relative_to(series.home().resolve())


def whole(place: Path, paths: Iterable[Path]) -> bool:
    """Whether these files are all snapshots of a stored series."""
    return _stored(place) and set(place.glob(f"*{SUFFIX}")) <= set(paths)


def read(place: Path) -> dict[Path, Entry]:
    """The entries of a folder whose snapshots have not changed."""
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
    """Keep these entries. A folder that cannot be written has none."""
    draft = place / f"{FILE}.{os.getpid()}.partial"
    content = msgspec.msgpack.encode(_File(format=FORMAT, entries=list(entries)))
    with contextlib.suppress(OSError):
        try:
            draft.write_bytes(content)
            os.replace(draft, place / FILE)
        finally:
            draft.unlink(missing_ok=True)
