"""Folders of the series of snapshots: one per database of a server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpcatalog.probes.connection import Session
    from gpcatalog.store.snapshot import Snapshot


def series_of_session(session: Session) -> Path:
    """The folder of the series of a session's database."""
    from gpcatalog.store import series

    target = session.target
    return series.folder(target["host"] or "local", target["port"], target["dbname"])


def series_of_snapshot(snapshot: Snapshot) -> Path:
    """The folder of the series of a snapshot's database."""
    from gpcatalog.store import series

    head = snapshot.header
    return series.folder(head["host"] or "local", head["port"] or 0, head["database"])


@contextlib.contextmanager
def place_for(session: Session, *, store: bool, save: str = "") -> Iterator[Path]:
    """Yield the path for a new snapshot of the session's database: `save`, a path in its series, or
    one in a folder that is removed at the end.
    """
    import tempfile
    from datetime import UTC, datetime

    from gpcatalog.store import series
    from gpcatalog.store.snapshot import SUFFIX

    if save:
        yield Path(save)
    elif store:
        path = series.new_path(series_of_session(session), datetime.now(UTC))
        try:
            yield path
        finally:
            series.release(path)
    else:
        with tempfile.TemporaryDirectory(prefix="gpcatalog-") as folder:
            yield Path(folder) / f"now{SUFFIX}"
