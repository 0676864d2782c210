"""The additional time of a session start without pg_internal.init: the pages that it reads, and the
time of one scan of pg_attribute on this server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from gpcatalog.model.timing import ATTRIBUTE_SCAN, ATTRIBUTE_SCAN_DISPATCHED, Timing

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot


class Startup(msgspec.Struct, kw_only=True, frozen=True):
    """A session start on one instance.

    pages_read: of pg_attribute, from its start; pages: all pages of pg_attribute
    scan_ms:    the fastest scan of all its pages by a query; on segments, that of the slowest
                segment
    start_ms:   pages_read at this speed: an upper bound, because a query does more with each row
    """

    content: int
    pages_read: int
    pages: int
    scan_ms: float
    start_ms: float


def startups(snapshot: Snapshot, timings: Sequence[Timing]) -> tuple[Startup, ...]:
    """Session starts of all instances whose pages were read and scans timed, the slowest first."""
    scans = {t.what: t.min_ms for t in timings}
    rows = snapshot.rows(
        "SELECT s.content, s.pages AS pages_read, c.heap_bytes // ? AS pages FROM session_start s"
        " JOIN catalog c ON c.content = s.content AND c.relation = 'pg_attribute'",
        [snapshot.header["block_size"]],
    )
    found = []
    for row in rows:
        scan = scans.get(ATTRIBUTE_SCAN if row["content"] == -1 else ATTRIBUTE_SCAN_DISPATCHED)
        if scan is not None and row["pages"]:
            took = scan * row["pages_read"] / row["pages"]
            found.append(Startup(**row, scan_ms=scan, start_ms=round(took, 3)))
    return tuple(sorted(found, key=lambda s: (-s.start_ms, s.content)))
