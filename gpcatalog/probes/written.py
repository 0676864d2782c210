"""When tables were written last, by the modification times of their files."""

from __future__ import annotations

from collections.abc import Sequence

from gpcatalog.probes.connection import Session

BATCH = 2000  # tables that one statement looks at


def last_written(session: Session, oids: Sequence[int]) -> dict[int, float]:
    """Seconds since each of these tables was written last, on the instance where that was latest.

    Rows of append-optimized tables lie in any of many files, so that their segment file lists and
    visibility maps tell. A heap is also written by VACUUM, and by its first readers. A table whose
    file is not found is left out. Raises ProbeFailed.
    """
    found: dict[int, float] = {}
    for start in range(0, len(oids), BATCH):
        part = list(oids[start : start + BATCH])
        of = {oid: oid for oid in part}
        if session.server.greenplum:
            listed = ", ".join(map(str, part))
            of |= {r["oid"]: r["leaf"] for r in session.rows("written_with", oids=listed)}
        for r in session.rows("written", oids=", ".join(map(str, of))):
            if r["seconds"] is not None:
                leaf = of[r["oid"]]
                found[leaf] = min(found.get(leaf, r["seconds"]), r["seconds"])
    return found
