"""Operations on a whole table: remove its partitions, a level of them, or subpartitions that
are never used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.cost import Cost, relation_cost
from gpcatalog.capacity.locks import object_locks
from gpcatalog.capacity.model import (
    FILLED,
    Instance,
    Place,
    Shape,
    relation_files,
    relation_rows,
)
from gpcatalog.capacity.seconds import DROP_SECONDS
from gpcatalog.model.names import listed, printable
from gpcatalog.model.storage import Storage
from gpcatalog.planner import costs, limits, proposals
from gpcatalog.planner.operations import (
    NO_FLATTEN,
    AnyStep,
    DropEmpty,
    Flatten,
    Gain,
    NewLeaf,
    Price,
    Unpartition,
    step_id,
)
from gpcatalog.planner.plan import TablePlan
from gpcatalog.planner.relations import Relation
from gpcatalog.planner.resources import (
    CATALOG,
    DROPPED,
    FILES,
    LEAVES,
    RESOURCES,
    REWRITE,
    ROWS,
    SECONDS,
)
from gpcatalog.planner.sets.keep_reasons import DEPENDENT_FACTS, KeepReason
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.planner.sets.roots import Root, root_shape
from gpcatalog.planner.step_locks import JOURNAL, locks_of_table
from gpcatalog.planner.steps import StepBuilder
from gpcatalog.planner.storage_options import option_pairs

Floats = npt.NDArray[np.float64]
KEEPS_UNUSED = (
    "recent and future partitions without a default subpartition keep them, and so does the"
    " subpartition template"
)


@dataclass
class TableOperations:
    """Tables that one operation changes as a whole, by index of the root.

    operations: "unpartition", "flatten" or "unused_subpartitions"; sums: resources of each table
                afterwards, and costs; refused: number of tables by reason for which an operation of
                the policy is not possible
    """

    operations: dict[int, str] = field(default_factory=dict)
    sums: dict[int, Floats] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)

    def notes(self, roots: Sequence[Root]) -> list[str]:
        """Return the sentence of the plan on tables that lose a level; none if there are none."""
        names = [f"{r.schema}.{r.name}" for r in roots if self.operations.get(r.index) == "flatten"]
        if not names:
            return []
        tables = listed([printable(n) for n in names], 5)
        return [
            f"One level of partitions is removed (flatten), and the leaves stay as they are: {tables}."
            " Rows that this level rejects are accepted afterwards."
        ]


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """An operation that the policy requires for a table, and that is possible.

    bytes, segment: size of the table, on all segments and on the fullest one
    bounds: of the subpartitions that are never used
    """

    root: Root
    operation: str
    bytes: float
    segment: float
    bounds: list[str]


def _leaves(reader: Reader, root: Root) -> dict[str, Any]:
    """Totals of the leaves of a table, and in how many ways they differ."""
    return reader.snapshot.one(
        "SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(max_segment_bytes), 0) AS"
        " segment, count(*) FILTER (bytes IS NULL AND filled IS DISTINCT FROM false) AS"
        " unknown, count(*) FILTER (storage NOT IN ('heap', 'ao_row', 'ao_column')) AS odd,"
        ' count(DISTINCT "columns") AS shapes, count(DISTINCT persistence) AS persistences,'
        " count(DISTINCT indexes) AS index_numbers, max(indexes) AS most_indexes, count(*) AS"
        " leaves, count(DISTINCT parent) AS parents FROM relation WHERE root = ? AND kind = 'leaf'",
        [root.oid],
    )


def _candidate(
    reader: Reader,
    root: Root,
    *,
    headroom: float | None,
    lock_limit: float | None,
    refused: Counter[str],
) -> _Candidate | None:
    """The operation that the policy requires for a table, or None. An operation that is not
    possible is counted in `refused`.
    """
    w = root.policy
    if not (w.unpartition_below or w.flatten or w.unused_subpartitions == "drop") or w.skip:
        return None
    r = _leaves(reader, root)
    bounds: list[str] = []
    if w.unpartition_below and (r["unknown"] or int(r["bytes"]) < w.unpartition_below):
        operation = "unpartition"
    elif w.flatten and root.depth == 2 and r["leaves"] == r["parents"]:
        if reader.generation.rule_catalogs:
            refused[f"flatten: {NO_FLATTEN}"] += 1
            return None
        operation = "flatten"
    elif w.unused_subpartitions == "drop" and (bounds := unused(reader, root)):
        operation = "unused_subpartitions"
        if kept := keeping_parents(reader, root):
            refused[f"{operation}: {KEEPS_UNUSED}"] += 1
        if len(kept) == r["parents"]:
            return None
    else:
        return None
    obstacle = _obstacle(root)
    if operation != "unused_subpartitions":
        obstacle = (
            obstacle
            or _dependency_obstacle(root, operation)
            or _merge_obstacle(reader, root, r, headroom, lock_limit)
        )
    if obstacle:
        refused[f"{operation}: {obstacle}"] += 1
        return None
    return _Candidate(
        root=root,
        operation=operation,
        bytes=float(r["bytes"]),
        segment=float(r["segment"]),
        bounds=bounds,
    )


def _reserve(limits_left: dict[str, float], needed: dict[str, float]) -> list[str]:
    """Subtract what is needed from the rest of the limits, unless it exceeds one of them;
    return the names of the exceeded limits.
    """
    over = [n for n in ("rewrite", "seconds") if needed[n] > limits_left.get(n, np.inf)]
    if not over:
        for n, value in needed.items():
            if n in limits_left:
                limits_left[n] -= value
    return over


def choose_operations(
    reader: Reader,
    before: Floats,
    *,
    rate: float,
    headroom: float | None,
    lock_limit: float | None,
    limits_left: dict[str, float],
) -> TableOperations:
    """Choose the tables that lose their partitions, a level or subpartitions because of the policy;
    they are not changed in any other way.

    The smallest come first. What they rewrite and how long they take is subtracted from
    `limits_left` ("rewrite" and "seconds") before anything else is planned. before: resources of
    every table before the plan; rate: bytes per second that one segment copies
    """
    found = TableOperations()
    candidates = [
        one
        for root in reader.roots
        if (
            one := _candidate(
                reader, root, headroom=headroom, lock_limit=lock_limit, refused=found.refused
            )
        )
    ]
    for one in sorted(candidates, key=lambda one: (one.bytes, one.root.oid)):
        root, operation = one.root, one.operation
        # a level is removed without copying rows
        size, segment = (one.bytes, one.segment) if operation == "unpartition" else (0.0, 0.0)
        less = trimmed(reader, root, one.bounds) if operation == "unused_subpartitions" else None
        dropped = root.leaves if less is None else float(less[LEAVES])
        seconds = segment / rate + dropped * DROP_SECONDS
        plain = float(operation == "unpartition")
        over = _reserve(limits_left, {"rewrite": size, "seconds": seconds, "leaves": plain})
        if over:
            found.refused[
                f"{operation} would exceed {' and '.join(limits.NAMES[n] for n in over)}"
            ] += 1
            continue
        sums = np.zeros(len(RESOURCES))
        if less is not None:
            sums = before[root.index] - less
        else:
            sums[LEAVES], sums[ROWS], sums[FILES], sums[CATALOG] = after(reader, root, operation)
        sums[REWRITE], sums[SECONDS] = size, seconds
        found.operations[root.index], found.sums[root.index] = operation, sums
    return found


def _obstacle(root: Root) -> str:
    """Why none of these operations is possible; empty if they are."""
    if root.blocked:
        return root.reason
    if "pg_partman" in root.facts:
        return "pg_partman maintains it"
    return ""


def _dependency_obstacle(root: Root, operation: str) -> str:
    """The object that depends on the table or its partitions and would not move to the table
    that replaces them; empty if there is none.
    """
    if operation == "flatten" and any("" in k.parts for k in root.keys if k.level == 0):
        return "its key is an expression"
    if operation == "unpartition" and "identity" in root.facts:
        return (
            f"column {root.facts['identity'][0][1]} is an identity column, and its sequence would"
            " restart"
        )
    if operation == "unpartition" and (own := root.facts.get("properties between")):
        return (
            f"an intermediate partition has its own property ({own[0][1]}), which a rollback"
            " would not restore"
        )
    for fact in DEPENDENT_FACTS:
        for oid, detail in root.facts.get(fact, ()):
            if operation == "unpartition" or oid != root.oid:
                return f"{fact} {detail} depends on {'it' if oid == root.oid else 'a partition'}"
    return ""


def _merge_obstacle(
    reader: Reader,
    root: Root,
    r: dict[str, Any],
    headroom: float | None,
    lock_limit: float | None,
) -> str:
    """Why the leaves cannot be merged into one table, or moved to another parent."""
    if r["unknown"]:
        return "its size is not known"
    if r["odd"]:
        return "it has leaves whose storage is external or foreign, or whose access method is not supported"
    if r["persistences"] > 1:
        return "only some of its leaves are unlogged"
    if r["shapes"] != 1:
        return "its leaves have different columns"
    facts_read = "columns" in root.facts  # facts of this table were read
    if r["index_numbers"] > 1 or (
        facts_read and r["most_indexes"] != len(root.facts.get("index", ()))
    ):
        return "the indexes of its leaves differ from those of the table"
    if headroom is not None and float(r["segment"]) > headroom:
        return "it is larger than headroom"
    if lock_limit is not None and (locks := locks_of_table(reader, root)) > lock_limit:
        return f"its {locks:,} locks do not fit {lock_limit:,.0f}"
    return ""


def unused(reader: Reader, root: Root) -> list[str]:
    """Bounds of list subpartitions that exist below every partition and have no rows below any
    partition, if others have rows.
    """
    if root.depth != 2 or not any(k.level == 1 and k.strategy == "list" for k in root.keys):
        return []
    rows = reader.snapshot.rows(
        "SELECT bound, count(*) AS n, bool_and(filled IS FALSE) AS empty, bool_or(is_default) AS"
        " other FROM relation WHERE root = ? AND kind = 'leaf' AND level = 2 GROUP BY bound ORDER"
        " BY min(oid)",
        [root.oid],
    )
    parents = max((r["n"] for r in rows), default=0)
    found = [
        r["bound"]
        for r in rows
        if r["empty"] and not r["other"] and r["n"] == parents and r["bound"]
    ]
    others = sum(not r["other"] for r in rows)
    if reader.generation.rule_catalogs and len(found) == others:
        # Greenplum 6 could not create them again if only the default partition existed
        found = found[:-1]
    filled = any(not r["empty"] for r in rows)
    return found if parents > 1 and filled and root.leaves == sum(r["n"] for r in rows) else []


def keeping_parents(reader: Reader, root: Root) -> set[int]:
    """OIDs of the partitions that keep unused subpartitions, because rows may still arrive in them
    and no default subpartition accepts these rows: recent and future ones, and those of unknown age.
    """
    rows = reader.snapshot.rows(
        "SELECT parent, bool_or(is_default) AS other FROM relation WHERE root = ? AND kind = 'leaf'"
        " AND level = 2 GROUP BY parent",
        [root.oid],
    )
    found = {r["parent"] for r in rows if not r["other"]}
    if not found or root.level != 1 or root.lists:
        return found
    for chunk in reader.chunks({root.index}):
        at = (chunk.root == root.index) & (chunk.cal_high <= chunk.hot_edge)
        at &= (chunk.why != KeepReason.DEFAULT) & (chunk.why != KeepReason.UNPARSED)
        found -= set(chunk.oid[at].tolist())
    return found


@dataclass(frozen=True)
class _UnusedSubpartitions:
    """Subpartitions of one partition that are never used and cost the same: their number, and
    the costs of all of them.
    """

    parent: int
    number: int
    cost: Cost


def _unused_costs(reader: Reader, root: Root, bounds: list[str]) -> list[_UnusedSubpartitions]:
    """Costs of subpartitions with these bounds, by partition, except those that it keeps; the
    cost model is used once per shape.
    """
    kept = keeping_parents(reader, root)
    marks = ", ".join("?" for _ in bounds)
    shape = 'l.storage, l."columns", l.toast, l.indexes, l.index_columns, l.owner, p.is_default'
    rows = reader.snapshot.rows(
        f"SELECT l.parent, min(l.oid) AS oid, count(*) AS n, {shape} FROM relation l JOIN (SELECT"
        " oid, is_default FROM relation WHERE root = ? AND kind = 'intermediate') p ON p.oid ="
        f" l.parent WHERE l.root = ? AND l.kind = 'leaf' AND l.bound IN ({marks}) GROUP BY"
        f" l.parent, {shape} ORDER BY 1, 2",
        [root.oid, root.oid, *bounds],
    )
    known: dict[tuple[Any, ...], Cost] = {}
    found = []
    for r in rows:
        if r["parent"] in kept:
            continue
        key = tuple(v for k, v in r.items() if k not in ("parent", "oid", "n"))
        if key not in known:
            leaf = _shape(reader, root, r["oid"], copied=False, bounds=1 if r["is_default"] else 2)
            known[key] = relation_cost(reader.generation, leaf)
        found.append(_UnusedSubpartitions(r["parent"], r["n"], known[key] * r["n"]))
    return found


def trimmed(reader: Reader, root: Root, bounds: list[str]) -> Floats:
    """Resources of the subpartitions with these bounds."""
    gen, sums = reader.generation, np.zeros(len(RESOURCES))
    for one in _unused_costs(reader, root, bounds):
        sums[LEAVES] += one.number
        sums[DROPPED] -= one.number
        sums[ROWS] += costs.counted(one.cost.segment if gen.greenplum else one.cost.coordinator)
        sums[FILES] += one.cost.files
        sums[CATALOG] += costs.catalog_bytes(gen, reader.cluster, one.cost)
    return sums


def _shape(reader: Reader, root: Root, oid: int, *, copied: bool, bounds: int = 1) -> Shape:
    """The cost model's shape of a leaf, or of the root itself, by OID."""
    r = reader.snapshot.one(
        'SELECT storage, "columns", toast, indexes, index_columns, owner, tablespace, options,'
        " persistence FROM relation WHERE oid = ?",
        [oid],
    )
    known = r["storage"] in reader.generation.storages
    storage = Storage(r["storage"]) if known else Storage.HEAP
    one = costs.LeafClass.of_row(r, storage, bounds=bounds, leaf=True, root=root.index)
    found = costs.shape_of(
        reader.generation, one, root_shape(root.facts, root.leaves), copied=copied
    )
    assert found is not None  # only its own storage is requested
    return found


def pattern_leaf(reader: Reader, root: Root) -> tuple[int, int]:
    """Return the OID of the leaf whose storage a table without partitions gets, and the number of
    leaves with another storage.

    It is the newest leaf with the most frequent storage (storage, options, tablespace).
    """
    forms = reader.snapshot.rows(
        "SELECT max(oid) AS newest, count(*) AS n FROM relation WHERE root = ? AND kind = 'leaf'"
        " GROUP BY storage, coalesce(options, ''), tablespace ORDER BY n DESC, newest DESC",
        [root.oid],
    )
    return int(forms[0]["newest"]), sum(int(f["n"]) for f in forms[1:])


def after(reader: Reader, root: Root, operation: str) -> tuple[float, float, float, float]:
    """Return leaves, rows, files and catalog bytes of a table after an operation on the whole
    table.

    Those of the root and of the partitions above the planned level are subtracted: they are
    removed, too, but the resources before do not include them.
    """
    gen = reader.generation
    leaf, _ = pattern_leaf(reader, root)

    def rows(cost: Cost) -> float:
        return costs.counted(cost.segment if gen.greenplum else cost.coordinator)

    if operation == "flatten":
        cost = relation_cost(
            gen, replace(_shape(reader, root, leaf, copied=False), place=Place.LEAF)
        )
        n = root.leaves
        return (
            n,
            rows(cost) * n,
            cost.filled * n,
            costs.catalog_bytes(gen, reader.cluster, cost) * n,
        )
    top = replace(_shape(reader, root, root.oid, copied=False), place=Place.ROOT, levels=root.depth)
    plain = replace(
        _shape(reader, root, leaf, copied=True),
        place=Place.PLAIN,
        exchanged=False,
        owned=top.owned,
    )
    cost, gone = (
        relation_cost(gen, plain),
        relation_cost(gen, top) + _cost_above_level(reader, root),
    )
    use = costs.COPIED if gen.greenplum and not gen.rule_catalogs else FILLED
    more = costs.counted(relation_rows(gen, plain, Instance.SEGMENT, use)) - costs.counted(
        relation_rows(gen, plain)
    )
    return (
        0.0,
        rows(cost) + more - rows(gone),
        relation_files(gen, plain, use) - gone.files + _more_files(reader, root, plain),
        costs.catalog_bytes(gen, reader.cluster, cost)
        - costs.catalog_bytes(gen, reader.cluster, gone),
    )


def _cost_above_level(reader: Reader, root: Root) -> Cost:
    """Cost of the partitions above the planned level."""
    found = Cost()
    for r in reader.snapshot.rows(
        'SELECT level, is_default, storage, "columns", toast, indexes, index_columns, owner,'
        " count(*) AS n FROM relation WHERE root = ? AND kind = 'intermediate' AND level < ? GROUP"
        " BY ALL ORDER BY ALL",
        [root.oid, max(1, root.level)],
    ):
        one = costs.LeafClass(
            storage=Storage(r["storage"])
            if r["storage"] in reader.generation.storages
            else Storage.HEAP,
            columns=r["columns"],
            toast=r["toast"],
            indexes=r["indexes"],
            index_columns=r["index_columns"],
            owner=r["owner"] or 0,
            tablespace=0,
            options="",
            persistence="",
            bounds=r["level"] - r["is_default"],
            leaf=False,
            root=-1,
        )
        shape = costs.shape_of(reader.generation, one, reader.shapes[root.index])
        if shape is not None:
            found += relation_cost(reader.generation, shape) * r["n"]
    return found


def steps(operation: str, builder: StepBuilder, table: TablePlan) -> list[AnyStep]:
    """The steps of the operation: one, or one per partition for unused subpartitions."""
    return (
        _trim(builder)
        if operation == "unused_subpartitions"
        else [_step(operation, builder, table)]
    )


def _trim(builder: StepBuilder) -> list[AnyStep]:
    root, reader = builder.root, builder.reader
    gen = reader.generation
    bounds = unused(reader, root)
    parts: dict[int, Cost] = {}
    for one in _unused_costs(reader, root, bounds):
        parts[one.parent] = parts.get(one.parent, Cost()) + one.cost
    basis = reader.snapshot.header["filled_basis"] or "nothing"
    gone: dict[int, list[int]] = {}
    for r in builder.relation.values():
        if r.kind == "leaf" and r.bound in bounds and r.parent in parts:
            gone.setdefault(r.parent, []).append(r.oid)
    found: list[AnyStep] = []
    for parent in sorted(parts):
        name, cost = builder.relation[parent].name, parts[parent]
        oids = sorted(gone[parent])
        rows = [builder.relation[o] for o in oids]
        found.append(
            DropEmpty(
                id=step_id("drop-empty", builder.table, name, *sorted(r.bound for r in rows)),
                explanation=(
                    f"{len(oids)} subpartitions of {name} that are empty below every partition"
                ),
                gain=Gain(
                    len(oids),
                    round(costs.counted(cost.segment if gen.greenplum else cost.coordinator)),
                    round(costs.counted(cost.coordinator)),
                    round(cost.files),
                    round(costs.catalog_bytes(gen, reader.cluster, cost)),
                ),
                cost=Price(
                    0,
                    0,
                    round(len(oids) * DROP_SECONDS, 3),
                    round(JOURNAL + root.depth + object_locks(cost.coordinator)),  # at most
                    0.0,
                ),
                rests_on=(
                    f"the leaves are empty (measured from {basis}; checked again under the lock)",
                    (
                        "later rows with these values go to the default subpartition"
                        if parent in builder.with_default
                        else "no later rows have these values; the server would reject them"
                    ),
                ),
                parent=parent,
                parent_name=name,
                where="unused",
                units=tuple(builder.unit(o) for o in oids),
                leaves=tuple(builder.leaf(o, n, 0) for n, o in enumerate(oids)),
            )
        )
    if keeping_parents(reader, root):  # new partitions keep them, too
        return found
    return [*found, *proposals.template(builder, max(parts))]


def _more_files(reader: Reader, root: Root, plain: Shape) -> float:
    """Files of a heap table with the bytes of all leaves, without its first file."""
    if plain.storage is not Storage.HEAP:
        return 0.0
    row = reader.snapshot.one(
        "SELECT coalesce(sum(max_segment_bytes), 0) AS n FROM relation WHERE root = ? AND kind ="
        " 'leaf'",
        [root.oid],
    )
    return float(
        costs.heap_files(np.array([float(row["n"])]), int(reader.snapshot.header["block_size"]))[0]
    )


@dataclass(frozen=True, kw_only=True)
class _Basis:
    """Basis of both operations on a whole table: its leaves ordered by OID, their total size,
    and gain and price of the step.
    """

    leaves: list[Relation]
    bytes: int
    segment: int
    gain: Gain
    cost: Price


def _basis(operation: str, builder: StepBuilder, table: TablePlan) -> _Basis:
    """Leaves, gain and price of an operation on a whole table; only "unpartition" copies rows."""
    leaves = [r for r in builder.relation.values() if r.kind == "leaf"]
    leaves.sort(key=lambda r: r.oid)
    size = sum(r.bytes or 0 for r in leaves)
    segment = sum(r.max_segment_bytes or 0 for r in leaves)
    fewer = table.rows - table.rows_after
    # the coordinator of Greenplum 6 has another row for each level and each partition
    partitions = sum(r.kind in ("leaf", "intermediate") for r in builder.relation.values())
    rules = partitions + builder.root.depth if builder.classic and operation == "unpartition" else 0
    copied = operation == "unpartition"
    return _Basis(
        leaves=leaves,
        bytes=size,
        segment=segment,
        gain=Gain(
            table.leaves - table.leaves_after,
            fewer,
            fewer + rules,
            table.files - table.files_after,
            table.catalog_bytes - table.catalog_bytes_after,
        ),
        cost=Price(
            size if copied else 0,
            segment if copied else 0,
            table.seconds,
            locks_of_table(builder.reader, builder.root),
            table.scan_bytes_per_day,
        ),
    )


def _step(operation: str, builder: StepBuilder, table: TablePlan) -> AnyStep:
    """The one step that removes all partitions of a table, or a level of them."""
    basis = _basis(operation, builder, table)
    rests = builder.rests("the rows of the table do not change until the swap")
    return (
        _unpartition(builder, basis, rests)
        if operation == "unpartition"
        else _flatten(builder, basis, rests)
    )


def _unpartition(builder: StepBuilder, basis: _Basis, rests: tuple[str, ...]) -> Unpartition:
    """The step that moves all rows to one table, with the storage of most leaves."""
    leaves = basis.leaves
    oid, others = pattern_leaf(builder.reader, builder.root)
    like = builder.relation[oid]
    if others:
        rests = (
            *rests,
            (
                f"{others} of its {len(leaves)} leaves have another storage; all rows get the"
                f" storage of {like.name}"
            ),
        )
    new = NewLeaf(
        name=builder.root.name,
        storage=like.storage,
        options=option_pairs(like.options),
        tablespace=like.tablespace,
        bytes=basis.bytes,
        segment_bytes=basis.segment,
        like=like.oid,
    )
    return Unpartition(
        id=step_id("unpartition", builder.table),
        explanation=(
            f"{basis.bytes} bytes in {len(leaves)} leaves, which is less than unpartition_below"
        ),
        gain=basis.gain,
        cost=basis.cost,
        rests_on=rests,
        leaves=tuple(builder.leaf(r.oid, 0, 0) for r in leaves),
        new=(new,),
    )


def _flatten(builder: StepBuilder, basis: _Basis, rests: tuple[str, ...]) -> Flatten:
    """The step that replaces every parent by its only leaf."""
    leaves = basis.leaves
    news = tuple(
        NewLeaf(
            name=builder.relation[r.parent].name,
            partition=builder.relation[r.parent].partition_name,
            bound=builder.relation[r.parent].bound,
            path=(),
            storage=r.storage,
            options=option_pairs(r.options),
            tablespace=r.tablespace,
            bytes=r.bytes,
            segment_bytes=r.max_segment_bytes,
            like=r.oid,
        )
        for r in leaves
    )
    return Flatten(
        id=step_id("flatten", builder.table),
        explanation="every parent has only one partition, so the level does not help to prune",
        gain=basis.gain,
        cost=basis.cost,
        rests_on=rests,
        proposal=True,
        level=2,
        units=tuple(builder.unit(r.parent) for r in leaves),
        leaves=tuple(builder.leaf(r.oid, 0, 0) for r in leaves),
        new=news,
    )
