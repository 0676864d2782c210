"""Sizes, rows and needed bytes of the large auxiliary relations of append-optimized tables.

The sizes come from the directory listing. The rows of the largest relations are counted.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from gpcatalog.capacity import bloat
from gpcatalog.model.auxiliary import BLOCK_DIRECTORY, COUNTED, INDEX_OF, VISIBILITY_MAP
from gpcatalog.model.names import qualified, quote_ident, quote_literal
from gpcatalog.probes.connection import ProbeFailed, Session
from gpcatalog.store.snapshot import Writer

Covered = Callable[..., contextlib.AbstractContextManager[dict[str, Any]]]

KEPT = 1_000  # number of the largest auxiliary relations and indexes that a snapshot stores
COUNT_SECONDS = 10.0  # time limit after which no further relation is counted
MAX_FAILURES = 3  # number of failed statements after which no further relation is counted

# columns of the indexes, as in aovisimap.c and aoblkdir.c of Greenplum
_KEYS = {
    VISIBILITY_MAP: "segno:int4,first_row_no:int8",
    BLOCK_DIRECTORY: "segno:int4,columngroup_no:int4,first_row_no:int8",
}


def _entry_bytes(kind: str) -> int:
    """Bytes of an index entry; every key column has a fixed width."""
    return int(bloat.IndexKey.parse(_KEYS[kind]).entry_sql())


def keep_auxiliary(
    session: Session, writer: Writer, covered: Covered, busy: str, segments: Sequence[int]
) -> None:
    """Store the large auxiliary relations of the directory listing.

    busy: oids, comma-separated, of relations that are not opened because a segment would wait for
          their locks; segments: content ids of all segments
    """
    listed = [
        oid
        for (oid,) in writer.execute(
            "SELECT oid FROM listed WHERE what = 5 GROUP BY oid ORDER BY max(bytes -"
            " coalesce(fork_bytes, 0)) DESC, oid"
        )
    ]
    if not listed:
        return
    if len(listed) > KEPT:
        with covered("auxiliary_relations", "auxiliary_relations (the smaller ones)"):
            raise ProbeFailed(
                "not applicable",
                f"{len(listed) - KEPT:,} of {len(listed):,} large auxiliary relations and indexes"
                f" are not stored: a snapshot stores the {KEPT:,} largest",
            )
        listed = listed[:KEPT]
    found: list[dict[str, Any]] = []
    with covered("auxiliary_relations"):
        found = session.rows("auxiliary_relations", oids=", ".join(map(str, listed)))
    position = {oid: n for n, oid in enumerate(listed)}
    found.sort(key=lambda row: min(position.get(row[oid], KEPT) for oid in ("oid", "index_oid")))
    counts = _count(session, covered, found, busy, segments)
    _store(writer, found, counts, session.facts["block_size"])


def _store(
    writer: Writer,
    found: list[dict[str, Any]],
    counts: dict[tuple[int, int], tuple[int, float]],
    block: int,
) -> None:
    """Write one row per relation or index, and segment."""
    named = {}
    for row in found:
        named[row["oid"]] = (row, row["kind"], row["name"])
        if row["index_oid"] is not None and row["kind"] in INDEX_OF:
            named[row["index_oid"]] = (row, INDEX_OF[row["kind"]], row["index_name"])
    owners = ", ".join(str(row["owner_oid"]) for row in found) or "0"
    roots = dict(writer.execute(f"SELECT oid, root FROM relation WHERE oid IN ({owners})"))
    rows = []
    for oid, content, size in writer.execute(
        "SELECT oid, content, bytes - coalesce(fork_bytes, 0) FROM listed WHERE what = 5 ORDER BY"
        " oid, content"
    ):
        if oid not in named:
            continue  # dropped after the listing, temporary, or not among the largest
        row, kind, name = named[oid]
        counted = counts.get((row["oid"], content))
        needed = None
        if counted is not None:
            n, pages = counted
            needed = (
                bloat.heap_bytes(1, pages, block)
                if kind == row["kind"]
                else bloat.btree_bytes(n, _entry_bytes(row["kind"]), block)
            )
        rows.append(
            {
                "content": content,
                "root": roots.get(row["owner_oid"], row["owner_oid"]),
                "oid": row["owner_oid"],
                "schema": row["owner_schema"],
                "name": row["owner_name"],
                "relation": f"{row['schema']}.{name}",
                "kind": kind,
                "bytes": size,
                "rows": None if counted is None else counted[0],
                "needed": None if needed is None else min(size, needed),
            }
        )
    writer.insert("auxiliary", rows)


def _count(
    session: Session,
    covered: Covered,
    found: list[dict[str, Any]],
    busy: str,
    segments: Sequence[int],
) -> dict[tuple[int, int], tuple[int, float]]:
    """Rows and needed pages of the largest relations, by oid and content id."""
    locked = set(map(int, busy.split(", ")))
    block = session.facts["block_size"]
    out: dict[tuple[int, int], tuple[int, float]] = {}
    counted = 0
    largest = found[:COUNTED]
    failures: list[ProbeFailed] = []
    with covered("auxiliary_rows"):
        begun = time.perf_counter()
        for row in largest:
            if time.perf_counter() - begun >= COUNT_SECONDS:
                failures.append(
                    ProbeFailed("timed out", f"counting ended after {COUNT_SECONDS:g} seconds")
                )
                break
            try:
                if locked & {row["oid"], row["index_oid"]}:  # the planner opens the index, too
                    raise ProbeFailed("busy", "another session has an AccessExclusiveLock on it")
                columns = ", ".join(map(quote_ident, row["columns"]))
                width = f"((pg_catalog.pg_column_size(ROW({columns})) + 7) / 8 * 8)"
                answer = session.rows(
                    "auxiliary_rows",
                    source=quote_literal(qualified(row["schema"], row["name"])),
                    share=bloat.page_share_sql(width, block),
                )
            except ProbeFailed as e:
                failures.append(e)
                if e.status == "denied" or len(failures) >= MAX_FAILURES:
                    break
                continue
            counted += 1
            # GROUP BY returns no row for a segment without rows
            out |= {(row["oid"], content): (0, 0.0) for content in segments}
            out |= {(row["oid"], one["content"]): (one["rows"], one["pages"]) for one in answer}
        if failures:
            raise ProbeFailed(
                failures[0].status,
                f"rows counted in {counted} of the {len(largest)} largest auxiliary relations:"
                f" {failures[0].reason}",
            )
    return out
