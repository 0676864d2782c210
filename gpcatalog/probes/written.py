"""The time of the last write to tables, from the modification times of their files."""

from __future__ import annotations

from collections.abc import Mapping

from gpcatalog.probes.connection import Session

BATCH = 2000  # tables that one statement checks
GIGABYTE = 1 << 30  # size of one file of a heap (RELSEG_SIZE of all known builds)


def last_written(session: Session, sizes: Mapping[int, int | None]) -> dict[int, float]:
    """Seconds since the last write to each of these tables, on the instance with the most recent
    write.

    sizes: bytes of each table on the instance where it is largest, by oid; None if unknown

    Every write to an append-optimized table changes its segment file list or its visibility map;
    its rows can be in any of many files. A heap is also written by VACUUM and by the first queries
    that read it; its rows are written to the files at a checkpoint. A table whose file is not
    found, or whose size is unknown, is left out. Raises ProbeFailed.
    """
    found: dict[int, float] = {}
    known = sorted(oid for oid, size in sizes.items() if size is not None)
    for start in range(0, len(known), BATCH):
        part = known[start : start + BATCH]
        of = {oid: oid for oid in part}
        if session.server.greenplum:
            listed = ", ".join(map(str, part))
            of |= {r["oid"]: r["leaf"] for r in session.rows("written_with", oids=listed)}
        for r in session.rows("written", oids=", ".join(map(str, of)), suffix="''"):
            _keep(found, of[r["oid"]], r["seconds"])
    large = [oid for oid in known if (sizes[oid] or 0) >= GIGABYTE]
    number = 1
    while large:  # a heap of more than a gigabyte has several files
        there = set()
        for start in range(0, len(large), BATCH):
            listed = ", ".join(map(str, large[start : start + BATCH]))
            for r in session.rows("written", oids=listed, suffix=f"'.{number}'"):
                _keep(found, r["oid"], r["seconds"])
                there |= {r["oid"]} if r["seconds"] is not None else set()
        large, number = sorted(there), number + 1
    return found


def _keep(found: dict[int, float], leaf: int, seconds: float | None) -> None:
    """Keep the shortest time of a table."""
    if seconds is not None:
        found[leaf] = min(found.get(leaf, seconds), seconds)
