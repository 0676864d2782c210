"""The data of one snapshot for the charts of the page: files by storage, file sizes, leaves by
partition grain, and all tables.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

import msgspec

from gpcatalog.capacity.generation import GENERATIONS
from gpcatalog.capacity.limits import FILE_BUCKETS
from gpcatalog.capacity.model import EMPTY, FILLED, Index, Place, Shape, relation_files
from gpcatalog.model.bounds import DAY, OPEN_HIGH, OPEN_LOW, BoundKind, family, interval, parse
from gpcatalog.model.storage import Storage
from gpcatalog.store.snapshot import Snapshot

GRAINS = ("hour", "day", "week", "month", "quarter", "year", "longer", "list", "number", "other")


class FilesOf(msgspec.Struct, frozen=True):
    """Files of one storage type on one segment, derived by the cost model, including indexes and
    auxiliary relations.

    now: in the current state; full: if every leaf and table contained rows; as_row: in the current
         state, with ao_row instead of ao_column
    """

    storage: str
    relations: int
    now: int
    full: int
    as_row: int


class Grain(msgspec.Struct, frozen=True):
    """Partitioned tables whose first level has the same grain. median, most: leaves of a table."""

    grain: str
    tables: int
    leaves: int
    median: int
    most: int


class TableLine(msgspec.Struct, kw_only=True, frozen=True):
    """One table: rows of pg_class and pg_attribute on each instance; files and bytes on all
    segments, None if not read.
    """

    schema: str
    name: str
    storage: str
    leaves: int
    empty: int | None
    class_rows: int
    attribute_rows: int
    files: int | None
    bytes: int | None


class Picture(msgspec.Struct, frozen=True):
    """The chart data of one snapshot.

    sizes: files by bucket of limits.FILE_BUCKETS, each leaf with its average file size; empty if
           sizes were not read.
    """

    files: tuple[FilesOf, ...]
    sizes: tuple[int, ...]
    grains: tuple[Grain, ...]
    tables: tuple[TableLine, ...]


def _files(snapshot: Snapshot) -> tuple[FilesOf, ...]:
    generation = snapshot.header["generation"]
    if generation not in GENERATIONS:
        return ()
    gen = GENERATIONS[generation]
    found: dict[str, list[int]] = {}
    rows = snapshot.rows(
        'SELECT storage, "columns", toast, indexes, coalesce(filled, false) AS filled, count(*)'
        " AS n FROM relation WHERE storage IN ('heap', 'ao_row', 'ao_column') AND kind IN ('leaf',"
        " 'table') GROUP BY ALL"
    )
    for row in rows:
        storage = Storage(row["storage"])
        if storage not in gen.storages:
            continue
        shape = Shape(
            storage,
            row["columns"],
            toastable=row["toast"],
            indexes=(Index(),) * row["indexes"],
            place=Place.LEAF,
        )
        use = FILLED if row["filled"] else EMPTY
        as_row = replace(shape, storage=Storage.AO_ROW) if storage is Storage.AO_COLUMN else shape
        totals = found.setdefault(storage.value, [0, 0, 0, 0])
        for n, files in enumerate(
            (
                1,
                relation_files(gen, shape, use),
                relation_files(gen, shape, FILLED),
                relation_files(gen, as_row, use),
            )
        ):
            totals[n] += files * row["n"]
    return tuple(
        FilesOf(storage, *totals)
        for storage, totals in sorted(found.items(), key=lambda item: -item[1][1])
    )


def _sizes(snapshot: Snapshot) -> tuple[int, ...]:
    if not snapshot.one("SELECT count(*) AS n FROM relation WHERE files > 0 AND bytes IS NOT NULL")[
        "n"
    ]:
        return ()
    cases = " ".join(
        f"WHEN bytes <= {b.upper} * files THEN {n}"
        for n, b in enumerate(FILE_BUCKETS)
        if b.upper is not None
    )
    last = len(FILE_BUCKETS) - 1
    rows = snapshot.rows(
        f"SELECT CASE {cases} ELSE {last} END AS bucket, sum(files) AS n FROM relation WHERE files"
        " > 0 AND bytes IS NOT NULL GROUP BY 1"
    )
    counts = {r["bucket"]: int(r["n"]) for r in rows}
    return tuple(counts.get(n, 0) for n in range(len(FILE_BUCKETS)))


SAMPLED = 25  # bounds of a table that are read to determine its grain
# largest median width of partitions, in days, for each grain
_WIDEST = (
    ("hour", 0.5),
    ("day", 1.5),
    ("week", 10),
    ("month", 45),
    ("quarter", 125),
    ("year", 400),
)


def _grain(bounds: list[str], key_types: str) -> str:
    """The grain of the first level of a table, from a sample of its bounds.

    key_types: types of the key of that level, as stored in the snapshot

    >>> _grain(["FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')"], "date")
    'month'
    >>> _grain(["FOR VALUES IN ('a', 'b')"], "text"), _grain(["START (1) END (5)"], "integer")
    ('list', 'number')
    """
    read = [parse(text) for text in bounds]
    if any(bound.kind is BoundKind.LIST for bound in read):
        return "list"
    kind = family(key_types)
    widths = []
    for bound in read:
        try:
            low, high = interval(bound, kind)
        except ValueError:
            continue
        if low != OPEN_LOW and high != OPEN_HIGH:
            widths.append(high - low)
    if not widths or not kind.time:
        return "number" if widths else "other"
    days = statistics.median(widths) / DAY
    return next((grain for grain, most in _WIDEST if days <= most), "longer")


def _grains(snapshot: Snapshot) -> tuple[Grain, ...]:
    types = {
        r["root"]: r["key_types"] or ""
        for r in snapshot.rows("SELECT root, key_types FROM partition_key WHERE level = 0")
    }
    sampled: dict[int, list[str]] = {}
    # DuckDB builds the text of a bound when it is read: read only the sample
    for r in snapshot.rows(
        "SELECT root, bound FROM relation WHERE oid IN (SELECT unnest(arg_min(oid, bound_key,"
        f" {SAMPLED})) FROM relation WHERE level = 1 AND NOT is_default GROUP BY root) AND bound IS"
        " NOT NULL ORDER BY oid"
    ):
        sampled.setdefault(r["root"], []).append(r["bound"])
    leaves: dict[str, list[int]] = {}
    for r in snapshot.rows(
        "SELECT root, count(*) AS leaves FROM relation WHERE kind = 'leaf' GROUP BY root"
    ):
        grain = _grain(sampled.get(r["root"], []), types.get(r["root"], ""))
        leaves.setdefault(grain, []).append(int(r["leaves"]))
    return tuple(
        Grain(g, len(leaves[g]), sum(leaves[g]), int(statistics.median(leaves[g])), max(leaves[g]))
        for g in GRAINS
        if g in leaves
    )


def picture(snapshot: Snapshot) -> Picture:
    """Return the chart data of one snapshot; for a pruned one, its tables only."""
    rows = snapshot.rows('SELECT * FROM root_total ORDER BY attribute_rows DESC, "schema", name')
    tables = tuple(
        TableLine(
            schema=r["schema"],
            name=r["name"],
            storage=r["storage"],
            leaves=int(r["leaves"]),
            empty=int(r["empty_leaves"]) if r["empty_leaves"] is not None else None,
            class_rows=int(r["class_rows"]),
            attribute_rows=int(r["attribute_rows"]),
            files=int(r["files"]) if r["files"] is not None else None,
            bytes=int(r["bytes"]) if r["bytes"] is not None else None,
        )
        for r in rows
    )
    if snapshot.header["grain"] != "leaf":
        return Picture((), (), (), tables)
    return Picture(_files(snapshot), _sizes(snapshot), _grains(snapshot), tables)
