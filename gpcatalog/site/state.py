"""The state of a site: a file in its folder that records which pages are up to date. The file also
marks the folder as a site.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from gpcatalog import __version__
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.names import json_safe
from gpcatalog.site.summary import Summary

FILE = ".gpcatalog-site.json"
LOCK = ".gpcatalog-site.lock"
SCHEMA = "gpcatalog.site/1"


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """The pages of one database.

    place:   its cluster and name; made_of: digest of all input of its pages
    files:   its data files and pages, the newest report last
    """

    place: str
    made_of: str
    files: tuple[str, ...]
    summary: Summary


class State(msgspec.Struct, kw_only=True):
    """The site. databases: by folder; files: all files of the site, relative to its folder."""

    schema: str = SCHEMA
    version: str = __version__
    databases: dict[str, Entry] = {}
    files: tuple[str, ...] = ()


def read(folder: Path) -> State:
    """Read the state of a site; it is empty for a new folder, or for a site of another version.

    Raises CatalogError (4) for a folder with other files.
    """
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except FileNotFoundError:
        return State()
    except OSError as e:
        raise CatalogError(f"cannot read {folder}: {e.strerror or e}") from None
    if FILE not in names:
        if names - {LOCK}:
            raise CatalogError(
                f"{folder} has other files and is not a site of gpcatalog",
                hint="give an empty or new folder",
                exit_code=Exit.REFUSED,
            )
        return State()
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=State)
    except OSError as e:
        raise CatalogError(f"cannot read {folder / FILE}: {e.strerror or e}") from None
    except (msgspec.DecodeError, msgspec.ValidationError, ValueError, RecursionError):
        return State()  # all pages are written again
    if found.schema != SCHEMA or found.version != __version__:
        return State(files=found.files)
    return found


def encode(state: State) -> str:
    """The content of the state file."""
    return json_safe(msgspec.json.encode(state).decode()) + "\n"


def inside(folder: Path, name: str) -> Path | None:
    """The path of a file of the site; None for a name that points outside the folder."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts:
        return None
    path = folder.joinpath(*parts)
    with contextlib.suppress(OSError):
        if path.resolve().is_relative_to(folder.resolve()):
            return path
    return None


def complete(folder: Path, entry: Entry) -> bool:
    """Whether all files of a database exist."""
    paths = [inside(folder, name) for name in entry.files]
    return all(path is not None and path.is_file() for path in paths)


def remove(folder: Path, names: Iterable[str]) -> int:
    """Delete files that are no longer part of the site, and folders that become empty.

    Returns the number of deleted files.
    """
    removed = 0
    for name in names:
        path = inside(folder, name)
        if path is None or not path.is_file() or path.is_symlink():
            continue
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
            for parent in path.parents:
                if parent == folder:
                    break
                parent.rmdir()  # fails and ends the loop if the folder is not empty
    return removed
