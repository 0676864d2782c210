"""The report of an audit of a live server."""

from __future__ import annotations

from pathlib import Path

from gpcatalog.audit.build import build
from gpcatalog.audit.report import Report
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot


def report_of(dsn: str, file: Path) -> Report:
    """Write a snapshot to a file and build its report, without findings."""
    with connect(dsn) as session, Snapshot(collect(session, file)) as snapshot:
        return build(snapshot)
