"""Sizes and bloat of the large auxiliary relations of append-optimized tables."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.model.auxiliary import COUNTED, KINDS
from gpcatalog.model.generations import is_greenplum

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

SINCE = 5  # snapshot schema that added the table
TOP = 2 * COUNTED  # relations in a report: all whose rows were counted, and their indexes


class AuxiliaryRelation(msgspec.Struct, kw_only=True, frozen=True):
    """One large auxiliary relation, or an index on one.

    schema, name:  of the append-optimized table
    relation:      schema and name of the auxiliary relation
    kind:          one of gpcatalog.model.auxiliary.KINDS
    segments:      number of segments where it is large
    bytes, reclaimable: total of these segments
    worst_content: content id of the segment with the most reclaimable bytes (or the most bytes)
    worst_bytes, worst_rows, worst_needed, worst_reclaimable: on that segment
    bloat:         worst_bytes / worst_needed; worst_needed counts as at least one page
    Figures that depend on rows are None if the rows were not counted.
    """

    schema: str
    name: str
    relation: str
    kind: str
    segments: int
    bytes: int
    reclaimable: int | None
    worst_content: int
    worst_bytes: int
    worst_rows: int | None
    worst_needed: int | None
    worst_reclaimable: int | None
    bloat: float | None


class AuxiliaryKind(msgspec.Struct, frozen=True):
    """Totals of one kind on all segments. reclaimable: None if some relations were not counted."""

    kind: str
    relations: int
    bytes: int
    reclaimable: int | None


class Auxiliary(msgspec.Struct, kw_only=True, frozen=True):
    """The large auxiliary relations of a database.

    large, uncounted: number of all of them, and of those whose rows were not counted
    bytes, reclaimable: on all segments; reclaimable of the counted ones, None if none was counted
    kinds:     totals by kind
    relations: at most TOP, those with the most reclaimable bytes first
    """

    large: int
    uncounted: int
    bytes: int
    reclaimable: int | None
    kinds: tuple[AuxiliaryKind, ...]
    relations: tuple[AuxiliaryRelation, ...]


def _reclaimable(row: dict[str, Any]) -> int | None:
    return None if row["needed"] is None else max(0, row["bytes"] - row["needed"])


def _sum(values: list[int | None]) -> int | None:
    """Sum of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _relation(rows: list[dict[str, Any]], block: int) -> AuxiliaryRelation:
    """Combine the rows of one relation."""
    worst = max(rows, key=lambda r: (_reclaimable(r) or 0, r["bytes"], -r["content"]))
    needed = worst["needed"]
    return AuxiliaryRelation(
        schema=worst["schema"],
        name=worst["name"],
        relation=worst["relation"],
        kind=worst["kind"],
        segments=len(rows),
        bytes=sum(row["bytes"] for row in rows),
        reclaimable=_sum([_reclaimable(row) for row in rows]),
        worst_content=worst["content"],
        worst_bytes=worst["bytes"],
        worst_rows=worst["rows"],
        worst_needed=needed,
        worst_reclaimable=_reclaimable(worst),
        bloat=None if needed is None else worst["bytes"] / max(needed, block),
    )


def _kind(kind: str, found: list[AuxiliaryRelation]) -> AuxiliaryKind:
    of = [a for a in found if a.kind == kind]
    known = all(a.reclaimable is not None for a in of)
    reclaimable = sum(a.reclaimable or 0 for a in of) if known else None
    return AuxiliaryKind(kind, len(of), sum(a.bytes for a in of), reclaimable)


def auxiliary(snapshot: Snapshot) -> Auxiliary | None:
    """Return the large auxiliary relations of a snapshot.

    None if they were not measured: on PostgreSQL, without a directory listing, in snapshots of older
    versions, or if the probe failed.
    """
    header = snapshot.header
    failed = snapshot.one(
        "SELECT count(*) AS n FROM coverage WHERE probe = 'auxiliary_relations' AND status <>"
        " 'read'"
    )["n"]
    if (
        not is_greenplum(header["generation"])
        or header["schema_version"] < SINCE
        or snapshot.files_basis != "directory"
        or failed
    ):
        return None
    by: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in snapshot.rows("SELECT * FROM auxiliary ORDER BY relation, content"):
        by[row["relation"]].append(row)
    found = sorted(
        (_relation(rows, header["block_size"]) for rows in by.values()),
        key=lambda a: (-(a.reclaimable or 0), -a.bytes, a.relation),
    )
    return Auxiliary(
        large=len(found),
        uncounted=sum(a.reclaimable is None for a in found),
        bytes=sum(a.bytes for a in found),
        reclaimable=_sum([a.reclaimable for a in found]) if found else 0,
        kinds=tuple(_kind(kind, found) for kind in KINDS),
        relations=tuple(found[:TOP]),
    )
