"""Auxiliary relations of append-optimized tables: bytes, rows and needed bytes of the large ones.

Their files are in the listing of the directories; the rows of the largest are counted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from gpcatalog.capacity import bloat
from gpcatalog.model.auxiliary import BLOCK_DIRECTORY, INDEX_OF, VISIBILITY_MAP
from gpcatalog.model.names import qualified, quote_literal
from gpcatalog.probes.connection import ProbeFailed, Session
from gpcatalog.store.snapshot import Writer

Covered = Callable[..., contextlib.AbstractContextManager[dict[str, Any]]]

KEPT = 1_000  # auxiliary relations and indexes that a snapshot has at most, the largest
COUNTED = 100  # of them whose rows are counted: each is a statement and a scan on all segments
GIVEN_UP = 3  # relations that failed after which no other is asked for

# columns of the indexes (aosegfiles.c, aovisimap.c and aoblkdir.c of Greenplum make them)
_KEYS = {
    VISIBILITY_MAP: "segno:int4,first_row_no:int8",
    BLOCK_DIRECTORY: "segno:int4,columngroup_no:int4,first_row_no:int8",
}


def _entry_bytes(kind: str) -> int:
    """Bytes of an entry of the index; every key column has a fixed width."""
    return int(bloat.IndexKey.parse(_KEYS[kind]).entry_sql())


def keep_auxiliary(
    session: Session, writer: Writer, covered: Covered, busy: str, segments: Sequence[int]
) -> None:
    """Keep the large auxiliary relations that the listing found.

    busy: oids, comma-separated, that must not be opened: a segment would wait for them; segments:
    content ids of all segments
    """
    listed = writer.execute(
        "SELECT oid FROM listed WHERE what = 5 GROUP BY oid ORDER BY max(bytes -"
        f" coalesce(fork_bytes, 0)) DESC, oid LIMIT {KEPT}"
    )
    if not listed:
        return
    found: list[dict[str, Any]] = []
    with covered("auxiliary_relations"):
        found = session.rows("auxiliary_relations", oids=", ".join(str(oid) for (oid,) in listed))
    order = {oid: n for n, (oid,) in enumerate(listed)}

    def place(row: dict[str, Any]) -> int:
        return min(order.get(row["oid"], KEPT), order.get(row["index_oid"], KEPT))

    found.sort(key=place)
    pages = _count(session, covered, found, busy, segments)
    of = {}
    for row in found:
        of[row["oid"]] = (row, row["kind"], row["name"])
        if row["index_oid"] is not None and row["kind"] in INDEX_OF:
            of[row["index_oid"]] = (row, INDEX_OF[row["kind"]], row["index_name"])
    block = session.facts["block_size"]
    rows = []
    sizes = writer.execute(
        "SELECT l.oid, l.content, l.bytes - coalesce(l.fork_bytes, 0) FROM listed l WHERE l.what ="
        " 5 ORDER BY l.oid, l.content"
    )
    roots = dict(writer.execute("SELECT oid, root FROM relation"))
    for oid, content, bytes_ in sizes:
        if oid not in of:
            continue  # dropped since it was listed, temporary, or beyond the largest
        row, kind, name = of[oid]
        counted = pages.get((row["oid"], content))
        needed = None
        if counted is not None:
            needed = min(
                bytes_,
                (
                    bloat.heap_bytes(1, counted[1], block)
                    if kind == row["kind"]
                    else bloat.btree_bytes(counted[0], _entry_bytes(row["kind"]), block)
                ),
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
                "bytes": bytes_,
                "rows": None if counted is None else counted[0],
                "needed": needed,
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
    """Rows, and the pages that they fill, by oid and content id, of the first relations."""
    held = set(map(int, busy.split(", ")))
    block = session.facts["block_size"]
    out: dict[tuple[int, int], tuple[int, float]] = {}
    with covered("auxiliary_rows"):
        failures: list[ProbeFailed] = []
        lost = 0
        wanted = found[:COUNTED]
        for n, row in enumerate(wanted):
            try:
                if held & {row["oid"], row["index_oid"]}:  # planning opens the index, too
                    raise ProbeFailed("busy", "another session has an AccessExclusiveLock on it")
                width = f"((pg_catalog.pg_column_size(ROW({row['columns']})) + 7) / 8 * 8)"
                answer = session.rows(
                    "auxiliary_rows",
                    source=quote_literal(qualified(row["schema"], row["name"])),
                    share=bloat.page_share_sql(width, block),
                )
            except ProbeFailed as e:
                failures.append(e)
                lost += 1
                if e.status == "denied" or len(failures) >= GIVEN_UP:
                    lost = len(wanted) - n - 1 + lost
                    break
                continue
            # GROUP BY gives no row for a segment without any
            out |= {(row["oid"], content): (0, 0.0) for content in segments}
            out |= {(row["oid"], one["content"]): (one["rows"], one["pages"]) for one in answer}
        if failures:
            raise ProbeFailed(
                failures[0].status,
                f"{lost} of {len(wanted)} large auxiliary relations were not counted:"
                f" {failures[0].reason}",
            )
    return out
