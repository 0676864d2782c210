"""Auxiliary relations of append-optimized tables that are larger than their rows need."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from gpcatalog.model.auxiliary import KINDS
from gpcatalog.model.generations import is_greenplum

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

TOP = 100  # relations that a report has: as many as have their rows counted


class AuxiliaryRelation(msgspec.Struct, kw_only=True, frozen=True):
    """One large auxiliary relation, or an index of one.

    schema, name:  of the append-optimized table
    relation:      schema and name of the auxiliary relation itself
    kind:          see gpcatalog.model.auxiliary
    segments:      segments where it is large; bytes, reclaimable: on all of them
    worst_content: where most bytes are reclaimable, or where it is largest if that is not known;
                   worst_bytes, worst_rows, worst_needed: there
    rows, reclaimable and needed are None where the rows were not counted.
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

    @property
    def worst_reclaimable(self) -> int | None:
        """Reclaimable bytes on the worst segment."""
        return None if self.worst_needed is None else max(0, self.worst_bytes - self.worst_needed)

    @property
    def bloat(self) -> float | None:
        """Bytes to needed bytes on the worst segment; a relation without rows counts as one that
        needs a page of 32 KB.
        """
        if self.worst_needed is None:
            return None
        return self.worst_bytes / max(self.worst_needed, 32 << 10)


class AuxiliaryKind(msgspec.Struct, frozen=True):
    """All large ones of one kind, on all segments. reclaimable: None where some were not counted."""

    kind: str
    relations: int
    bytes: int
    reclaimable: int | None


class Auxiliary(msgspec.Struct, kw_only=True, frozen=True):
    """The large auxiliary relations, those with the most reclaimable bytes first.

    large, uncounted: all of them, and those whose rows were not counted; bytes, reclaimable: of all
        on all segments (of the counted ones)
    kinds: the same by kind, also of kinds without any; relations: the first of them
    """

    large: int
    uncounted: int
    bytes: int
    reclaimable: int
    kinds: tuple[AuxiliaryKind, ...]
    relations: tuple[AuxiliaryRelation, ...]


def _relation(rows: list[dict[str, Any]]) -> AuxiliaryRelation:
    """All rows of one relation as one."""

    def reclaimable(row: dict[str, Any]) -> int | None:
        return None if row["needed"] is None else max(0, row["bytes"] - row["needed"])

    worst = max(rows, key=lambda r: (reclaimable(r) or 0, r["bytes"], -r["content"]))
    known = [n for row in rows if (n := reclaimable(row)) is not None]
    return AuxiliaryRelation(
        schema=worst["schema"],
        name=worst["name"],
        relation=worst["relation"],
        kind=worst["kind"],
        segments=len(rows),
        bytes=sum(row["bytes"] for row in rows),
        reclaimable=sum(known) if known else None,
        worst_content=worst["content"],
        worst_bytes=worst["bytes"],
        worst_rows=worst["rows"],
        worst_needed=worst["needed"],
    )


def _kind(kind: str, of: list[AuxiliaryRelation]) -> AuxiliaryKind:
    known = all(a.reclaimable is not None for a in of)
    return AuxiliaryKind(
        kind,
        len(of),
        sum(a.bytes for a in of),
        sum(a.reclaimable or 0 for a in of) if known else None,
    )


def auxiliary(snapshot: Snapshot) -> Auxiliary | None:
    """The large auxiliary relations of a snapshot; None where they were not looked for: without
    append-optimized tables in the server, without a listing of the directories, or in snapshots of
    older versions.
    """
    header = snapshot.header
    failed = snapshot.one(
        "SELECT count(*) AS n FROM coverage WHERE probe = 'auxiliary_relations' AND status <>"
        " 'read'"
    )["n"]
    if (
        not is_greenplum(header["generation"])
        or header["schema_version"] < 5
        or snapshot.files_basis != "directory"
        or failed
    ):
        return None
    by: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in snapshot.rows("SELECT * FROM auxiliary ORDER BY relation, content"):
        by[row["relation"]].append(row)
    found = sorted(
        (_relation(rows) for rows in by.values()),
        key=lambda a: (-(a.reclaimable or 0), -a.bytes, a.relation),
    )
    return Auxiliary(
        large=len(found),
        uncounted=sum(a.reclaimable is None for a in found),
        bytes=sum(a.bytes for a in found),
        reclaimable=sum(a.reclaimable or 0 for a in found),
        kinds=tuple(_kind(kind, [a for a in found if a.kind == kind]) for kind in KINDS),
        relations=tuple(found[:TOP]),
    )
