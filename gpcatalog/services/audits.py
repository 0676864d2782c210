"""The report of a snapshot with findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpcatalog.errors import CatalogError
from gpcatalog.services.notify import Notify, silent
from gpcatalog.services.series import series_of_snapshot

if TYPE_CHECKING:
    from gpcatalog.audit.report import Report
    from gpcatalog.store.snapshot import Snapshot


def _older_of(place: Path, snapshot: Snapshot) -> Path | None:
    """The oldest stored snapshot of the same database, at least an hour older and at most 90
    days.
    """
    from datetime import UTC, timedelta

    from gpcatalog.store import series

    taken_at = snapshot.header["taken_at"].replace(tzinfo=UTC)
    for stored in series.snapshots(place):
        if (
            timedelta(hours=1) <= taken_at - stored.taken_at <= timedelta(days=90)
            and stored.path != snapshot.path
        ):
            return stored.path
    return None


def audit_snapshot(
    path: Path,
    only: list[str] | None = None,
    *,
    forecast: bool = True,
    notify: Notify = silent,
) -> Report:
    """Return the report of one snapshot file with findings, and with a forecast if its series
    contains an older snapshot of the same database.

    notify: called with a line about what was left out
    """
    import msgspec

    from gpcatalog.audit import rules
    from gpcatalog.audit.build import build
    from gpcatalog.store.snapshot import Snapshot

    with Snapshot(path) as snapshot:
        older_path = _older_of(series_of_snapshot(snapshot), snapshot) if forecast else None
        older = None
        try:
            if older_path is not None:
                try:
                    older = Snapshot(older_path)
                except CatalogError as e:
                    notify(f"gpcatalog: no forecast: {e.message}")
                if (
                    older is not None
                    and older.header["database_oid"] != snapshot.header["database_oid"]
                ):
                    older.close()
                    older = None  # the database was dropped and created again with the same name
            report = build(snapshot, older)
        finally:
            if older is not None:
                older.close()
    return msgspec.structs.replace(
        report, findings=rules.run(report, only or []), only=tuple(only or ())
    )
