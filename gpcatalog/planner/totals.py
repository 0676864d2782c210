"""Totals of a database: relations that are not planned, the sums with the plan, and the source
snapshot.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcatalog.audit.query_locks import shape_of, widest
from gpcatalog.capacity import limits as known_limits
from gpcatalog.capacity import memory
from gpcatalog.capacity.cost import relation_cost
from gpcatalog.capacity.model import Place, Shape
from gpcatalog.model.storage import Storage
from gpcatalog.planner import costs
from gpcatalog.planner.plan import Source, Totals
from gpcatalog.planner.resources import CATALOG, FILES, LEAVES, ROWS
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.planner.sets.roots import Root


@dataclass(frozen=True, kw_only=True)
class OtherRelations:
    """Relations that the optimizer does not change: plain tables, roots, intermediates above
    the units, leaves of other depths.
    """

    tables: int
    leaves: int
    rows: float
    files: float
    catalog: float
    bytes: int | None


def rest_of(reader: Reader, planned_leaves: int) -> OtherRelations:
    """Sum up the relations that a plan does not change; planned_leaves: leaves of planned
    tables.
    """
    gen, cluster = reader.generation, reader.cluster
    rows = files = catalog = 0.0
    tables = 0
    for r in reader.snapshot.rows(
        'SELECT kind, storage, "columns", toast, indexes, index_columns, owner, coalesce(filled,'
        " true) AS filled, count(*) AS n FROM relation WHERE kind IN ('table', 'root') GROUP BY ALL"
        " ORDER BY ALL"
    ):
        if r["kind"] == "table":
            tables += r["n"]
        storage = Storage(r["storage"]) if r["storage"] in set(Storage) else Storage.OTHER
        known = storage if storage in gen.storages else Storage.HEAP
        shape = Shape(
            known,
            r["columns"],
            toastable=r["toast"],
            indexes=costs._even(r["indexes"], r["index_columns"]),
            place=Place.PLAIN if r["kind"] == "table" else Place.ROOT,
            owned=r["owner"] != 10,
        )
        cost = relation_cost(gen, shape)
        rows += r["n"] * costs.counted(cost.segment if gen.greenplum else cost.coordinator)
        files += r["n"] * (
            0 if known is not storage else cost.filled if r["filled"] else cost.files
        )
        catalog += r["n"] * costs.catalog_bytes(gen, cluster, cost)
    counted = reader.snapshot.one(
        "SELECT count(*) FILTER (kind = 'leaf') AS leaves, sum(bytes) AS bytes FROM relation"
    )
    return OtherRelations(
        tables=tables,
        leaves=counted["leaves"] - planned_leaves,
        rows=rows,
        files=files,
        catalog=catalog,
        bytes=None if counted["bytes"] is None else int(counted["bytes"]),
    )


def totals(
    rest: OtherRelations, sums: np.ndarray[Any, Any], segments: int, *, greenplum: bool
) -> Totals:
    """Add the relations that are not changed to the sums of the chosen tables; segments:
    primaries.
    """
    leaves = rest.leaves + round(float(sums[LEAVES]))
    files = rest.files + float(sums[FILES])
    average = None if rest.bytes is None or files <= 0 else int(rest.bytes / (files * segments))
    return Totals(
        leaves=leaves,
        tables=rest.tables,
        rows=round(rest.rows + float(sums[ROWS])),
        catalog_bytes=round(rest.catalog + float(sums[CATALOG])),
        files=round(files),
        bytes=rest.bytes,
        average_file=average,
        catalog_query_ms=(
            known_limits.catalog_query_ms(leaves + rest.tables).value if greenplum else None
        ),
    )


class SessionBytes:
    """Estimated bytes that a session keeps after a query over all leaves of a table, on the
    instance where it keeps the most.
    """

    def __init__(self, reader: Reader) -> None:
        self.generation = reader.generation
        self.tables = {row["root"]: row for row in widest(reader.snapshot, None)}

    def of(self, root: Root, leaves: int) -> int:
        """For this number of leaves of a table, at least one; as many of them have rows as
        today.
        """
        row = self.tables.get(root.oid)
        if row is None:
            return 0  # it has no leaves
        number = max(1, leaves)
        filled = int(row["leaves"]) - int(row["empty"])
        sizes = memory.kept_bytes(
            self.generation,
            shape_of(self.generation.name, row),
            number,
            memory.Touch.SELECT,
            empty=max(0, number - filled),
        )
        return max(sizes.coordinator, sizes.segment or 0)


def source_of(reader: Reader) -> Source:
    """Return the snapshot, server and database of a plan."""
    h = reader.snapshot.header
    roots = reader.snapshot.rows("SELECT root, leaves FROM root_total ORDER BY root")
    lines = [
        h["snapshot_id"],
        h["database"],
        str(h["database_oid"]),
        *(f"{r['root']}:{r['leaves']}" for r in roots),
    ]
    counted = reader.snapshot.one(
        "SELECT count(*) FILTER (bytes IS NOT NULL) AS measured, count(*) FILTER (bytes IS NULL AND"
        " filled IS DISTINCT FROM false AND pages > 0) AS estimated, count(*) FILTER (bytes IS NULL"
        " AND filled IS DISTINCT FROM false AND NOT pages > 0) AS unknown FROM relation WHERE kind"
        " = 'leaf'"
    )
    sizes = (
        "none"
        if counted["unknown"] and not counted["measured"]
        else "estimate"
        if counted["estimated"] or counted["unknown"]
        else "measured"
    )
    return Source(
        h["snapshot_id"],
        h["taken_at"].strftime("%Y-%m-%dT%H:%M:%SZ"),
        h["database"],
        h["host"] or "",
        h["port"] or 0,
        h["product"],
        h["version"],
        h["generation"],
        h["version_num"],
        reader.cluster.segments,
        hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest(),
        sizes,
        h["filled_basis"] or "nothing",
        h.get("role") or "",
    )
