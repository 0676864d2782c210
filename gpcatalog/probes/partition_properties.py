"""Properties of partitions that differ from those of their table."""

from __future__ import annotations

from typing import Any

from gpcatalog.model import properties
from gpcatalog.model.names import oid_array
from gpcatalog.probes.connection import Session

PROPERTIES_BATCH = 500  # partitions whose properties are read by one statement
_RELATION = ("relation", "")  # kind and name of the row that each relation has


def partition_properties(session: Session, uneven: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Properties of these partitions, {root, oid}, that differ from those of their table. A row
    with the table itself, or 0, as oid: some of its partitions have privileges, or privileges
    on columns.

    uneven: rows of the probe uneven_partitions. Raises ProbeFailed.
    """
    descendants: dict[int, list[int]] = {}
    marked = set[tuple[int, int]]()
    for row in uneven:
        if row["oid"] in (0, row["root"]):
            marked.add((row["root"], row["oid"]))
        else:
            descendants.setdefault(row["root"], []).append(row["oid"])
    oids = sorted({*descendants, *(oid for parts in descendants.values() for oid in parts)})
    found: dict[int, dict[tuple[str, str], str]] = {oid: {} for oid in oids}
    for start in range(0, len(oids), PROPERTIES_BATCH):
        part = oid_array(oids[start : start + PROPERTIES_BATCH])
        for row in session.rows("partition_properties", oids=part):
            found[row["oid"]][row["what"], row["name"]] = row["value"]
    # relations that were dropped since have no row at all
    known = {oid for oid, own in found.items() if own.pop(_RELATION, None) is not None}
    return [
        {"root": root, "oid": root, "fact": properties.FACT, "detail": detail}
        for root, parts in sorted(descendants.items())
        if root in known
        for detail in properties.facts(
            found[root],
            {oid: found[oid] for oid in parts if oid in known},
            granted=(root, root) in marked,
            columns_granted=(root, 0) in marked,
        )
    ]
