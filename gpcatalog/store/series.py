"""A series: the snapshots of one database over time, in one folder."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from gpcatalog.errors import CatalogError
from gpcatalog.model.folders import listed
from gpcatalog.store.snapshot import SUFFIX, claim_of, me

HOME_VARIABLE = "GPCATALOG_HOME"
_STAMP = "%Y%m%dT%H%M%SZ"
_FILE = re.compile(r"(\d{8}T\d{6}Z)(?:-\d+)?" + re.escape(SUFFIX) + r"\Z")


def home() -> Path:
    """The folder of all series: GPCATALOG_HOME, else gpcatalog in the user's data folder
    (XDG_DATA_HOME).
    """
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "gpcatalog"


def safe_name(text: str) -> str:
    r"""Convert a name to a part of a path: special characters are encoded, so two names never get
    the same result.

    >>> safe_name("Sales DB"), safe_name("/tmp"), safe_name("..")
    ('Sales%20DB', '%2ftmp', '%2e%2e')
    """
    plain = re.sub(rb"[^A-Za-z0-9_.-]", lambda m: b"%%%02x" % m[0][0], text.encode()).decode()
    return plain.replace(".", "%2e") if set(plain) == {"."} else plain or "%"


_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")  # one series; new ones use the first name


def folder(host: str, port: str | int, database: str) -> Path:
    """The folder of the series of one database; all names of this host have the same folder."""
    names = _THIS_MACHINE if host in _THIS_MACHINE else (host,)
    places = [home() / f"{safe_name(name)}-{port}" / safe_name(database) for name in names]
    return next((place for place in places if place.is_dir()), places[0])


def databases(host: str, port: str | int) -> list[str]:
    """Databases of a server that have a series."""
    names = _THIS_MACHINE if host in _THIS_MACHINE else (host,)
    places = [home() / f"{safe_name(name)}-{port}" for name in names]
    return sorted({unquote(place.name) for top in places if top.is_dir() for place in listed(top)})


@dataclass(frozen=True)
class StoredSnapshot:
    """One stored snapshot: its path, the time when it was taken, its server and database."""

    path: Path
    taken_at: datetime
    server: str
    database: str

    @property
    def bytes(self) -> int:
        """Size of the file in bytes."""
        return self.path.stat().st_size


def new_path(place: Path, taken_at: datetime) -> Path:
    """A unique file name for a snapshot taken at this time: it is reserved until the Writer of this
    process is done.
    """
    stamp = taken_at.astimezone(UTC).strftime(_STAMP)
    path = place / f"{stamp}{SUFFIX}"
    count = 1
    while path.exists() or not _claimed(path):
        count += 1
        path = place / f"{stamp}-{count}{SUFFIX}"
    return path


def release(path: Path) -> None:
    """Remove the reservation of a name by this process, if no Writer has removed it."""
    claim = claim_of(path)
    with contextlib.suppress(OSError):
        if claim.read_text() == me():
            claim.unlink()


def _claimed(path: Path) -> bool:
    """Whether the name is now reserved for this process.

    True if the folder cannot be written: the Writer reports the reason.
    """
    claim = claim_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with claim.open("x") as out:
            out.write(me())
    except FileExistsError:
        return not claim.parent.is_dir()  # there is a file with the name of the folder
    except OSError:
        return True
    if path.exists():  # it was created between the check and the reservation
        claim.unlink(missing_ok=True)
        return False
    return True


def snapshots(place: Path | None = None) -> Iterator[StoredSnapshot]:
    """Stored snapshots of one series, or of all series, the oldest first within each.

    Raises CatalogError (2) if a folder cannot be read.
    """
    servers = (p for p in listed(home()) if p.is_dir()) if place is None else ()
    places = [p for server in servers for p in listed(server) if p.is_dir()]
    for one in places if place is None else [place]:
        for file in listed(one, f"*{SUFFIX}"):
            found = _FILE.match(file.name)
            if found:
                taken_at = datetime.strptime(found[1], _STAMP).replace(tzinfo=UTC)
                yield StoredSnapshot(file, taken_at, one.parent.name, one.name)


def find(name: str) -> Path:
    """The snapshot file for a path, or for the name of a stored file.

    Raises CatalogError if no stored file has this name, or more than one has it.
    """
    path = Path(name)
    if path.exists() or os.sep in name:
        return path
    matches = [stored.path for stored in snapshots() if stored.path.name in (name, name + SUFFIX)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise CatalogError(
            f"{len(matches)} stored snapshots have the name {name}",
            hint="give the full path; `gpcatalog snapshot list` shows it",
        )
    raise CatalogError(
        f"there is no snapshot file {name}",
        hint=("`gpcatalog snapshot list` shows the stored snapshots"),
    )
