"""Operations on a whole table: it loses its partitions, or a level of them."""

from __future__ import annotations

from typing import Any

from gpcatalog.capacity.model import Place, Shape, relation_cost
from gpcatalog.model.storage import Storage
from gpcatalog.planner import costs
from gpcatalog.planner.operations import AnyStep, Flatten, Gain, NewLeaf, Price, Unpartition, step_id
from gpcatalog.planner.plan import TablePlan
from gpcatalog.planner.sets import Reader, Root, _root_shape
from gpcatalog.planner.steps import Scribe, option_pairs


def chosen(reader: Reader) -> dict[int, str]:
    """Tables that lose their partitions, or a level, where the policy says so; nothing else is done to them."""
    found: dict[int, str] = {}
    for root in reader.roots:
        w = root.wishes
        if (
            root.reason
            and root.level == 0
            and ("lock" in root.reason or "foreign" in root.reason or "skip" in root.reason or "replicated" in root.reason)
        ):
            continue
        if "pg_partman" in root.facts or not (w.unpartition_below or w.flatten):
            continue
        r = reader.snapshot.one(
            "SELECT sum(bytes) AS bytes, count(*) FILTER (bytes IS NULL AND filled IS DISTINCT FROM false) AS unknown,"
            " count(*) FILTER (storage NOT IN ('heap', 'ao_row', 'ao_column')) AS odd, count(DISTINCT \"columns\") AS shapes,"
            " count(*) FILTER (kind = 'leaf') AS leaves, count(DISTINCT parent) FILTER (kind = 'leaf') AS parents"
            " FROM relation WHERE root = ? AND kind = 'leaf'",
            [root.oid],
        )
        if r["unknown"] or r["odd"] or r["shapes"] != 1:
            continue
        if w.unpartition_below and int(r["bytes"] or 0) < w.unpartition_below:
            found[root.index] = "unpartition"
        elif w.flatten and root.depth == 2 and r["leaves"] == r["parents"]:
            found[root.index] = "flatten"
    return found


def _plain_shape(root: Root, leaf: dict[str, Any], place: Place, indexes: int) -> Shape:
    known = _root_shape(root.facts)
    return Shape(
        Storage(leaf["storage"]),
        int(leaf["columns"]),
        toastable=bool(leaf["toast"]),
        indexes=known.indexes if len(known.indexes) == indexes else (),
        place=place,
        not_null=known.not_null,
        defaults=known.defaults,
        checks=known.checks,
    )


def after(reader: Reader, root: Root, operation: str) -> tuple[float, float, float, float]:
    """leaves, rows, files, catalog bytes of a table after it was taken as a whole; of the root's own nothing is counted twice."""
    leaf = reader.snapshot.one(
        "SELECT storage, \"columns\", toast, indexes FROM relation WHERE root = ? AND kind = 'leaf' ORDER BY oid LIMIT 1", [root.oid]
    )
    gen = reader.generation
    place = Place.PLAIN if operation == "unpartition" else Place.LEAF
    cost = relation_cost(gen, _plain_shape(root, leaf, place, leaf["indexes"]))
    number = 1 if operation == "unpartition" else root.leaves
    rows = costs.counted(cost.segment if gen.greenplum else cost.coordinator)
    return (
        (0.0 if operation == "unpartition" else number),
        rows * number,
        cost.filled * number,
        costs.catalog_bytes(gen, reader.cluster, cost) * number,
    )


def step(operation: str, scribe: Scribe, table: TablePlan) -> AnyStep:
    leaves = [r for r in scribe.relation.values() if r.kind == "leaf"]
    leaves.sort(key=lambda r: r.oid)
    size = sum(r.bytes or 0 for r in leaves)
    segment = sum(r.max_segment_bytes or 0 for r in leaves)
    gain = Gain(
        table.leaves - table.leaves_after,
        table.rows - table.rows_after,
        table.rows - table.rows_after,
        table.files - table.files_after,
        table.catalog_bytes - table.catalog_bytes_after,
    )
    locks = 1 + len(leaves) + sum(r.indexes + 4 for r in leaves)
    price = Price(size, segment, table.seconds, locks, table.scan_bytes_per_day)
    rests = scribe.rests("the table holds the same rows when it is swapped")
    held = tuple(scribe.leaf(r.oid, 0, 0) for r in leaves)
    like = leaves[-1]
    if operation == "unpartition":
        new = NewLeaf(
            scribe.root.name,
            storage=like.storage,
            options=option_pairs(like.options),
            tablespace=like.tablespace,
            bytes=size,
            segment_bytes=segment,
            like=like.oid,
        )
        return Unpartition(
            id=step_id("unpartition", scribe.table),
            explanation=f"{size} bytes in {len(leaves)} leaves: smaller than unpartition_below",
            gain=gain,
            cost=price,
            rests_on=rests,
            leaves=held,
            new=(new,),
        )
    units = tuple(scribe.unit(r.parent) for r in leaves)
    news = tuple(
        NewLeaf(
            scribe.relation[r.parent].name,
            scribe.relation[r.parent].partition_name,
            scribe.relation[r.parent].bound,
            (),
            r.storage,
            option_pairs(r.options),
            r.tablespace,
            r.bytes,
            r.max_segment_bytes,
            r.oid,
        )
        for r in leaves
    )
    return Flatten(
        id=step_id("flatten", scribe.table),
        explanation="every parent has one partition: its level prunes nothing",
        gain=gain,
        cost=price,
        rests_on=rests,
        proposal=True,
        level=2,
        units=units,
        leaves=held,
        new=news,
    )
