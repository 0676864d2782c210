"""How an output file is written: a regular file is replaced, a device or a pipe is written through."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from gpcatalog.errors import CatalogError

STANDARD_OUTPUT = "-"  # as the value of an option for a file
_LINKS = 40  # symbolic links in a chain; the limit of Linux
_DESCRIPTORS = re.compile(r"/proc/(\d+)(?:/task/\d+)?/fd|/dev/fd")


@dataclass(frozen=True)
class OutputFile:
    """The place of an output.

    path:       the file after all symbolic links, so that replacing it keeps them
    special:    whether it is a device or a pipe, which is written and never replaced
    descriptor: number of the open file of this process that the path names, as /dev/stdout does;
                None if it names none
    """

    path: Path
    special: bool = False
    descriptor: int | None = None

    def open(self) -> int:
        """Return a new file descriptor for writing to a special file. Raises OSError."""
        if self.descriptor is not None:
            return os.dup(self.descriptor)
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)


def _descriptor(path: Path) -> tuple[bool, int | None]:
    """Whether the path names an open file of a process, and its number if it is this process."""
    found = _DESCRIPTORS.fullmatch(os.path.realpath(path.parent))
    if found is None or not path.name.isdigit():
        return False, None
    mine = found[1] in (None, str(os.getpid()))
    return True, int(path.name) if mine else None


def locate(path: Path) -> OutputFile:
    """Return where the output for this path is written. Nothing is opened.

    Raises CatalogError for a folder, a socket, and a chain of symbolic links without an end.
    """
    place = path
    try:
        for _ in range(_LINKS):
            named, descriptor = _descriptor(place)
            if named:
                return OutputFile(place, special=True, descriptor=descriptor)
            if not place.is_symlink():
                break
            place = place.parent / place.readlink()
        else:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        mode = place.stat().st_mode
    except FileNotFoundError:
        return OutputFile(place)
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        raise CatalogError(
            f"cannot write {path}: {reason}", hint="an existing file was not changed"
        ) from None
    for kind, found in (("folder", stat.S_ISDIR(mode)), ("socket", stat.S_ISSOCK(mode))):
        if found:
            raise CatalogError(
                f"cannot write {path}: it is a {kind}", hint="give the name of a file"
            )
    return OutputFile(place, special=not stat.S_ISREG(mode))


def regular(path: Path) -> Path:
    """Return the file after all symbolic links, for an output that must be a regular file.

    Raises CatalogError for a folder, and for a device, a pipe or a socket.
    """
    found = locate(path)
    if found.special:
        raise CatalogError(
            f"cannot write {path}: it is a device or a pipe",
            hint="give the name of a regular file",
        )
    return found.path


def refuse_standard_output(option: str, value: object) -> None:
    """Raise CatalogError (2) if - is given for an output that standard output cannot receive.

    option: as the message names it; value: its value, of any type
    """
    if str(value) == STANDARD_OUTPUT:
        raise CatalogError(
            f"{option} - is not possible: this output cannot be written to standard output",
            hint="give another name",
        )
