"""List folders. A folder that cannot be read is an error and never an empty list."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NoReturn

from gpcatalog.errors import CatalogError


def _unreadable(e: OSError) -> NoReturn:
    raise CatalogError(
        f"cannot read the folder {e.filename}: {e.strerror or e}",
        hint="check its permissions, or run the command as its owner",
    ) from None


def listed(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the sorted paths in a folder whose names match a pattern; none if it does not exist.

    Raises CatalogError (2) if the folder cannot be read.
    """
    try:
        return [folder / name for name in sorted(os.listdir(folder)) if fnmatchcase(name, pattern)]
    except FileNotFoundError:
        return []
    except OSError as e:
        _unreadable(e)


def require_readable(folder: Path) -> None:
    """Raise CatalogError (2) if the folder or a folder below it cannot be read."""
    for _ in os.walk(folder, onerror=_unreadable):
        pass
