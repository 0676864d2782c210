"""A plan: what a cluster has, what it would have, and the steps between; versioned, with stable ids and a fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

import gpcatalog
from gpcatalog.capacity import limits as known_limits
from gpcatalog.capacity.model import Place, Shape, relation_cost
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.names import qualified
from gpcatalog.model.storage import Storage
from gpcatalog.planner import budget, costs, curve, grid, policy
from gpcatalog.planner.group import (
    CATALOG,
    CONVERTED,
    DROPPED,
    FILES,
    LEAVES,
    MERGES,
    REWRITE,
    ROWS,
    SCAN,
    SECONDS,
    Problem,
    prepare,
    prices,
    solve,
)
from gpcatalog.planner.operations import AnyStep, Externalise, Flatten, Gain, Merge, NewLeaf, Price, Reconfigure, Unpartition, step_id
from gpcatalog.planner.sets import WHY_TEXT, Chunk, Reader, Root, Why
from gpcatalog.planner.steps import Scribe, family_word, option_pairs
from gpcatalog.store.snapshot import Snapshot

SCHEMA = "gpcatalog.plan/1"


class Source(msgspec.Struct, frozen=True):
    """The snapshot a plan rests on.

    fingerprint: sha256 over its id, database and every table's oid and number of leaves
    sizes: "measured" (files), "estimate" (pages of the server's statistics) or "none"
    filled_basis: how it was told which tables hold rows
    """

    snapshot: str
    taken_at: str
    database: str
    host: str
    port: int
    product: str
    version: str
    generation: str
    version_num: int
    segments: int
    fingerprint: str
    sizes: str
    filled_basis: str


class Totals(msgspec.Struct, frozen=True):
    """What a database has, or would have.

    leaves: leaf partitions; tables: unpartitioned tables; rows: catalog rows on one segment (PostgreSQL: on the server), by the cost
    model; catalog_bytes: estimate, all instances, no bloat; files: on one segment, by the cost model with one writer;
    average_file: bytes of table data a file (estimate), None without sizes; catalog_query_ms: what the published slope adds to a scan
    """

    leaves: int
    tables: int
    rows: int
    catalog_bytes: int
    files: int
    bytes: int | None
    average_file: int | None
    catalog_query_ms: float


class Effort(msgspec.Struct, frozen=True):
    """What all steps cost: bytes rewritten (all segments), seconds (estimate), bytes a day read more (estimate), leaves by kind."""

    rewrite: int
    seconds: float
    scan_bytes_per_day: float
    merges: int
    converted: int
    dropped: int


class LimitLine(msgspec.Struct, frozen=True):
    """One limit of the call or the policy, what there was and what there will be."""

    name: str
    unit: str
    limit: float
    before: float
    after: float
    kept: bool
    source: str


class CurvePoint(msgspec.Struct, frozen=True):
    """One point of the trade-off over all tables: press harder on what is gained, rewrite more."""

    gain: float
    leaves: int
    rows: int
    files: int
    rewrite: int
    seconds: float
    scan_bytes_per_day: float
    chosen: bool = False


class Optimum(msgspec.Struct, frozen=True):
    """How good the choice is: cost and bound in points; gap is their distance as a share of the cost.

    bound_over: "groupings" (no grouping of any table can do better) or "points" (no choice among the points of the curves)
    """

    cost: float
    bound: float
    gap: float
    exact: bool
    bound_over: str


class Left(msgspec.Struct, frozen=True):
    """Leaves left alone for one reason. examples: up to three names with detail."""

    reason: str
    leaves: int
    examples: tuple[str, ...] = ()


class TablePlan(msgspec.Struct, omit_defaults=True):
    """One partitioned table. `name` is fit for SQL; `fingerprint` is of its partitions (see `table_fingerprint`).

    key: column that is planned by; axis: how its values are read; level: depth of the units (1 below the root), 0 where none
    distribution: as in DISTRIBUTED …; alone: why nothing is planned; left: why leaves stay as they are
    """

    oid: int
    schema: str
    table: str
    name: str
    storage: str
    options: str = ""
    key: str = ""
    axis: str = ""
    level: int = 0
    depth: int = 1
    distribution: str = ""
    leaves: int = 0
    leaves_after: int = 0
    rows: int = 0
    rows_after: int = 0
    files: int = 0
    files_after: int = 0
    catalog_bytes: int = 0
    catalog_bytes_after: int = 0
    rewrite: int = 0
    seconds: float = 0.0
    scan_bytes_per_day: float = 0.0
    merges: int = 0
    converted: int = 0
    dropped: int = 0
    fingerprint: str = ""
    alone: str = ""
    left: list[Left] = []
    steps: list[AnyStep] = []


class Plan(msgspec.Struct, kw_only=True):
    """The plan file. `tables` come with their steps in JSON."""

    schema: str = SCHEMA
    id: str
    gpcatalog_version: str
    made_at: str
    source: Source
    before: Totals
    after: Totals
    effort: Effort
    limits: list[LimitLine]
    optimum: Optimum
    weights: policy.Weights
    workload: policy.Workload
    workload_given: bool = False
    curve: list[CurvePoint]
    basis: list[str]
    notes: list[str]
    tables: list[TablePlan] = []


NO_LIMITS = policy.Limits()


@dataclass(frozen=True)
class Request:
    """What a plan is asked for: limits (of the policy, overridden by the call), the copying rate in bytes a second and segment."""

    limits: policy.Limits = NO_LIMITS
    rate: float = float(costs.COPY_RATE)
    rate_given: bool = False


def lock_slots(snapshot: Snapshot) -> float | None:
    """Half the lock table of one instance, as the snapshot's settings size it; None where they were not read."""
    found = {r["name"]: r["setting"] for r in snapshot.rows("SELECT name, setting FROM setting")}
    try:
        numbers = [int(found[n]) for n in ("max_locks_per_transaction", "max_connections", "max_prepared_transactions")]
    except (KeyError, TypeError, ValueError):
        return None
    return known_limits.lock_slots(*numbers) / 2


class Planned:
    """A finished choice. `plan` holds everything but the steps; `tables()` yields tables with their steps, one at a time."""

    def __init__(self, reader: Reader, request: Request, curves: curve.Curves, outcome: curve.Outcome, lock_limit: float | None) -> None:
        self.reader = reader
        self.request = request
        self.curves = curves
        self.outcome = outcome
        self.lock_limit = lock_limit
        self.whole: dict[int, str] = {}  # tables that one operation takes as a whole, by index of the root
        self.plan: Plan = None  # type: ignore[assignment]
        self.table_plans: list[TablePlan] = []

    def _problems(self, only: set[int]) -> Iterator[Problem]:
        if self.curves.problems is not None:
            yield from (p for p in self.curves.problems if only & set(p.roots.tolist()))
            return
        for chunk in self.reader.chunks(only):
            yield self.prepare(chunk)

    def prepare(self, chunk: Chunk) -> Problem:
        """One chunk as it was when the choice was made."""
        headroom = self.request.limits.headroom
        return prepare(
            chunk,
            now=self.reader.now,
            column_share=self.reader.policy.workload.column_share,
            rate=self.request.rate,
            headroom=None if headroom is None else float(policy.size(headroom)),
            lock_limit=self.lock_limit,
        )

    def column(self, root: Root) -> np.ndarray[Any, Any]:
        """Prices under which the table's point was chosen."""
        return np.asarray(self.curves.columns[:, int(self.outcome.choice[root.index])])

    def tables(self, only: set[int] | None = None) -> Iterator[TablePlan]:
        """Tables with their steps, in order of oid; `only` names indexes of roots."""
        wanted = only if only is not None else {r.index for r in self.reader.roots}
        for problem in self._problems(wanted):
            price = np.stack([self.column(r) for r in problem.chunk.roots])
            solved = self.curves.settle(problem, solve(problem, price, per_table=True), self.outcome.choice)
            for root in problem.chunk.roots:
                if root.index not in wanted:
                    continue
                found = msgspec.structs.replace(self.table_plans[root.index])
                scribe = Scribe(self.reader, root, problem)
                found.fingerprint = table_fingerprint(self.reader.snapshot, root.oid)
                found.left = _left(self.reader, root, problem)
                if root.index in self.whole:
                    found.steps = [_whole_table(self.whole[root.index], scribe, found)]
                else:
                    found.steps = [] if root.reason else scribe.steps(solved)
                    found.steps += _external(scribe, problem)
                    found.steps += _reconfigured(scribe, found.steps)
                yield found

    def full(self) -> Plan:
        """The plan with all tables and steps, in memory."""
        whole = msgspec.structs.replace(self.plan)
        whole.tables = list(self.tables())
        return whole


def table_fingerprint(snapshot: Snapshot, root: int) -> str:
    """sha256 of the table's partitions: lines "oid|schema|name|storage|bound" by oid, joined by newlines; bound as in the snapshot."""
    rows = snapshot.rows(
        "SELECT oid, \"schema\", name, storage, coalesce(bound, '') AS bound FROM relation WHERE root = ? AND oid <> ? ORDER BY oid",
        [root, root],
    )
    lines = "\n".join(f"{r['oid']}|{r['schema']}|{r['name']}|{r['storage']}|{r['bound']}" for r in rows)
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


def _left(reader: Reader, root: Root, problem: Problem) -> list[Left]:
    place = int(np.searchsorted(problem.roots, root.index))
    s, e = int(problem.unit_edges[place]), int(problem.unit_edges[place + 1])
    c = problem.chunk
    found = []
    if root.reason:
        return [Left(root.reason, root.leaves)]
    for why in Why:
        if why is Why.FREE:
            continue
        at = np.flatnonzero((c.why[s:e] == why) & ~(c.droppable[s:e])) + s
        if not len(at):
            continue
        examples = []
        for u in at[:3].tolist():
            name = reader.snapshot.one("SELECT name FROM relation WHERE oid = ?", [int(c.oid[u])])["name"]
            detail = reader.bounds.reason(root.family, int(c.code[u])) if why is Why.UNPARSED else ""
            examples.append(f"{name}: {detail}" if detail else name)
        found.append(Left(WHY_TEXT[why], int(c.leaves[at].sum()), tuple(examples)))
    return found


# --- operations on a whole table -----------------------------------------------------------------------------------------


def _whole_tables(planned: Planned) -> dict[int, str]:
    """Tables that lose their partitions, or a level, where the policy says so; nothing else is done to them."""
    found: dict[int, str] = {}
    for root in planned.reader.roots:
        w = root.wishes
        if (
            root.reason
            and root.level == 0
            and ("lock" in root.reason or "foreign" in root.reason or "skip" in root.reason or "replicated" in root.reason)
        ):
            continue
        if "pg_partman" in root.facts or not (w.unpartition_below or w.flatten):
            continue
        r = planned.reader.snapshot.one(
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
    from gpcatalog.planner.sets import _root_shape

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


def _whole_after(reader: Reader, root: Root, operation: str) -> tuple[float, float, float, float]:
    """leaves, rows, files, catalog bytes of a table after it was taken as a whole; of the root's own nothing is counted twice."""
    leaf = reader.snapshot.one(
        "SELECT storage, \"columns\", toast, indexes FROM relation WHERE root = ? AND kind = 'leaf' ORDER BY oid LIMIT 1", [root.oid]
    )
    gen = reader.generation
    place = Place.PLAIN if operation == "unpartition" else Place.LEAF
    cost = relation_cost(gen, _plain_shape(root, leaf, place, leaf["indexes"]))
    number = 1 if operation == "unpartition" else root.leaves
    rows = sum((cost.segment if gen.greenplum else cost.coordinator).values())
    return (0.0 if operation == "unpartition" else number), rows * number, cost.filled * number, reader.cluster.catalog_bytes(cost) * number


def _whole_table(operation: str, scribe: Scribe, table: TablePlan) -> AnyStep:
    leaves = [r for r in scribe.relation.values() if r["kind"] == "leaf"]
    leaves.sort(key=lambda r: r["oid"])
    size = sum(r["bytes"] or 0 for r in leaves)
    segment = sum(r["max_segment_bytes"] or 0 for r in leaves)
    gain = Gain(
        table.leaves - table.leaves_after,
        table.rows - table.rows_after,
        table.rows - table.rows_after,
        table.files - table.files_after,
        table.catalog_bytes - table.catalog_bytes_after,
    )
    locks = 1 + len(leaves) + sum(r["indexes"] + 4 for r in leaves)
    price = Price(size, segment, table.seconds, locks, table.scan_bytes_per_day)
    rests = scribe.rests("the table holds the same rows when it is swapped")
    held = tuple(scribe.leaf(r["oid"], 0, 0) for r in leaves)
    like = leaves[-1]
    if operation == "unpartition":
        new = NewLeaf(
            scribe.root.name,
            storage=like["storage"],
            options=option_pairs(like["options"] or ""),
            tablespace=like["tablespace"] or 0,
            bytes=size,
            segment_bytes=segment,
            like=like["oid"],
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
    units = tuple(scribe.unit(r["parent"]) for r in leaves)
    news = tuple(
        NewLeaf(
            scribe.relation[r["parent"]]["name"],
            scribe.relation[r["parent"]]["partition_name"] or "",
            scribe.relation[r["parent"]]["bound"] or "",
            (),
            r["storage"],
            option_pairs(r["options"] or ""),
            r["tablespace"] or 0,
            r["bytes"],
            r["max_segment_bytes"],
            r["oid"],
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


def _external(scribe: Scribe, problem: Problem) -> list[AnyStep]:
    """Cold leaves beyond the age a policy names, as proposals; only leaves that nothing else touches."""
    root, after = scribe.root, scribe.root.wishes.externalise_after
    if after is None or not scribe.reader.generation.greenplum or not root.calendar:
        return []
    c = problem.chunk
    place = int(np.searchsorted(problem.roots, root.index))
    s, e = int(problem.unit_edges[place]), int(problem.unit_edges[place + 1])
    found: list[AnyStep] = []
    for u in (np.flatnonzero(c.why[s:e] == Why.EXTERNALISE) + s).tolist():
        oid = int(c.oid[u])
        lanes = scribe.lanes(u, u + 1)
        held = [o for lane in lanes for o in lane]
        leaves = tuple(scribe.leaf(o, 0, n) for n, lane in enumerate(lanes) for o in lane)
        size = sum(leaf.bytes or 0 for leaf in leaves)
        seconds = size / scribe.reader.segments / costs.COPY_RATE
        found.append(
            Externalise(
                id=step_id("externalise", scribe.table, scribe.relation[oid]["name"], scribe.relation[oid]["bound"] or ""),
                explanation=f"older than {after:g} days: its rows could live in files outside",
                gain=Gain(0, 0, 0, 0, 0),
                cost=Price(
                    size,
                    max((leaf.segment_bytes or 0 for leaf in leaves), default=0),
                    round(seconds, 3),
                    1 + root.leaves + 5 * len(held),
                    0.0,
                ),
                rests_on=("a place for the files is named by the owner", "nobody writes these rows any more"),
                proposal=True,
                parent=scribe.relation[oid]["parent"] or root.oid,
                file_bytes=int(known_limits.AVERAGE_FILE_TARGET.value),
                units=(scribe.unit(oid),),
                leaves=leaves,
            )
        )
    return found


_INTERVALS = {"hour": "1 hour", "day": "1 day", "week": "1 week", "month": "1 month", "quarter": "3 months", "year": "1 year"}


def _reconfigured(scribe: Scribe, steps: list[AnyStep]) -> list[AnyStep]:
    """Where a maker of partitions is known and leaves were merged: let it make the grain that most merges have."""
    root = scribe.root
    merged = [s.grain for s in steps if isinstance(s, Merge)]
    if not merged:
        return []
    # merges grow coarser with age: new leaves should be as the finest of them, and never wider than a month, which is hot for a month
    order = [g.word for g in grid.Grain]
    grain = min([*merged, "month"] if root.calendar else merged, key=lambda g: order.index(g) if g in order else len(order))
    nothing = Gain(0, 0, 0, 0, 0)
    free = Price(0, 0, 0.0, 1, 0.0)
    if "pg_partman" in root.facts:
        now: dict[str, Any] = msgspec.json.decode(root.facts["pg_partman"][0][1])
        version = root.facts.get("pg_partman version", [(0, "")])[0][1]
        wanted = {"partition_interval": _INTERVALS.get(grain, grain)}
        keep = root.wishes.keep
        if keep is not None:
            wanted["retention"] = f"{keep:g} days"
        shown = {k: None if v is None else str(v) for k, v in sorted(now.items())}
        return [
            Reconfigure(
                id=step_id("reconfigure", scribe.table, *sorted(wanted.values())),
                explanation=f"pg_partman makes leaves of one {grain} from now on",
                gain=nothing,
                cost=free,
                rests_on=("part_config is as it was when the snapshot was taken",),
                proposal=True,
                maker="pg_partman",
                version=version,
                now=shown,
                wanted=wanted,
            )
        ]
    if "every" in root.facts and root.calendar:
        every = root.facts["every"][0][1]
        return [
            Reconfigure(
                id=step_id("reconfigure", scribe.table, "every", grain),
                explanation=f"scripts that add partitions should say EVERY '{_INTERVALS.get(grain, grain)}'",
                gain=nothing,
                cost=free,
                proposal=True,
                maker="every",
                now={"every": every},
                wanted={"every": _INTERVALS.get(grain, grain)},
            )
        ]
    return []


# --- totals --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rest:
    """What the optimiser does not touch: plain tables, roots, intermediates above the units, leaves of other depths."""

    tables: int
    leaves: int
    rows: float
    files: float
    catalog: float
    bytes: int | None


def _rest(reader: Reader, planned_leaves: int) -> Rest:
    gen, cluster = reader.generation, reader.cluster
    rows = files = catalog = 0.0
    tables = 0
    for r in reader.snapshot.rows(
        'SELECT kind, storage, "columns", toast, indexes, index_columns, owner, coalesce(filled, true) AS filled, count(*)'
        " AS n FROM relation"
        " WHERE kind IN ('table', 'root') GROUP BY ALL ORDER BY ALL"
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
        rows += r["n"] * sum((cost.segment if gen.greenplum else cost.coordinator).values())
        files += r["n"] * (0 if known is not storage else cost.filled if r["filled"] else cost.files)
        catalog += r["n"] * cluster.catalog_bytes(cost)
    counted = reader.snapshot.one("SELECT count(*) FILTER (kind = 'leaf') AS leaves, sum(bytes) AS bytes FROM relation")
    return Rest(
        tables, counted["leaves"] - planned_leaves, rows, files, catalog, None if counted["bytes"] is None else int(counted["bytes"])
    )


def _totals(rest: Rest, sums: np.ndarray[Any, Any], segments: int) -> Totals:
    leaves = rest.leaves + round(float(sums[LEAVES]))
    files = rest.files + float(sums[FILES])
    average = None if rest.bytes is None or files <= 0 else int(rest.bytes / (files * segments))
    return Totals(
        leaves,
        rest.tables,
        round(rest.rows + float(sums[ROWS])),
        round(rest.catalog + float(sums[CATALOG])),
        round(files),
        rest.bytes,
        average,
        known_limits.catalog_query_ms(leaves + rest.tables).value,
    )


def _source(reader: Reader) -> Source:
    h = reader.snapshot.header
    roots = reader.snapshot.rows("SELECT root, leaves FROM root_total ORDER BY root")
    lines = [h["snapshot_id"], h["database"], str(h["database_oid"]), *(f"{r['root']}:{r['leaves']}" for r in roots)]
    counted = reader.snapshot.one(
        "SELECT count(*) FILTER (bytes IS NOT NULL) AS measured,"
        " count(*) FILTER (bytes IS NULL AND filled IS DISTINCT FROM false AND pages > 0) AS estimated,"
        " count(*) FILTER (bytes IS NULL AND filled IS DISTINCT FROM false AND NOT pages > 0) AS unknown FROM relation WHERE kind = 'leaf'"
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
    )


# --- limits --------------------------------------------------------------------------------------------------------------

_LIMIT_NAMES = {"leaves": "target_leaves", "files": "target_files", "rewrite": "max_rewrite", "seconds": "window"}


def _asked(wanted: policy.Limits) -> dict[str, float]:
    found: dict[str, float] = {}
    try:
        if wanted.target_leaves is not None:
            found["leaves"] = float(wanted.target_leaves)
        if wanted.target_files is not None:
            found["files"] = float(wanted.target_files)
        if wanted.max_rewrite is not None:
            found["rewrite"] = float(policy.size(wanted.max_rewrite))
        if wanted.window is not None:
            found["seconds"] = policy.seconds(wanted.window)
        if wanted.headroom is not None:
            policy.size(wanted.headroom)
    except ValueError as e:
        raise CatalogError(f"limits: {e}") from None
    return found


def _said(name: str, value: float) -> str:
    if name == "rewrite":
        return f"max_rewrite = {value / known_limits.GIB:,.1f} GiB"
    if name == "seconds":
        return f"window = {value:,.0f} s"
    return f"{_LIMIT_NAMES[name]} = {value:,.0f}"


def _impossible(e: budget.Infeasible, asked: dict[str, float], rest: dict[str, float], curves: curve.Curves) -> CatalogError:
    names = list(asked)
    if e.alone:
        j = e.alone[0]
        name = names[j]
        least = float(e.least[j]) + rest.get(name, 0.0)
        what = {
            "leaves": "leaves and tables remain",
            "files": "files a segment remain",
            "rewrite": "bytes are rewritten",
            "seconds": "seconds are needed",
        }
        return CatalogError(
            f"{_said(name, asked[name])} cannot be reached: whatever is done, at least {least:,.0f} {what[name]}",
            hint="hot, default and special leaves stay as they are: `gpcatalog plan --explain TABLE` says which;"
            " raise the limit, or relax the policy (hot_days, max_leaf, grains)",
            exit_code=Exit.USAGE,
        )
    targets = [n for n in names if n in ("leaves", "files")] or names[:1]
    others = [n for n in names if n not in targets]
    hint = "raise one of them"
    if others:
        try:
            ways = [curve._WAYS[n] for n in others]
            within = budget.choose(
                curves.totals[:, curve._WAYS[targets[0]], :],
                curves.totals[:, ways, :].transpose(0, 2, 1),
                np.array([asked[n] for n in others]),
                nodes=0,
            )
            least = within.cost + rest.get(targets[0], 0.0)
            kept = " and ".join(_said(n, asked[n]) for n in others)
            hint = f"within {kept} about {least:,.0f} {targets[0]} can be reached; raise one of them"
        except budget.Infeasible:
            pass
    return CatalogError(
        "these limits contradict each other: " + " and ".join(_said(n, asked[n]) for n in names), hint=hint, exit_code=Exit.USAGE
    )


# --- the whole -----------------------------------------------------------------------------------------------------------


def make(
    snapshot: Snapshot,
    wanted: policy.Policy | None = None,
    request: Request | None = None,
    *,
    workload: Any = None,
    now: datetime | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Planned:
    """Plan the database of a snapshot.

    workload: a workload.Workload read from the user's queries, or None for the policy's stated default
    Raises CatalogError: nothing partitioned, a pruned snapshot, limits that contradict, sizes missing where a limit needs them.
    """
    rules = wanted or policy.Policy()
    asking = request or Request(rules.limits)
    asked = _asked(asking.limits)
    if snapshot.header["grain"] != "leaf":
        raise CatalogError(
            f"{snapshot.path} was thinned to totals: it no longer knows single leaves",
            hint="plan from a whole snapshot: `gpcatalog snapshot take`",
        )
    lock_limit = float(asking.limits.max_lock) if asking.limits.max_lock is not None else lock_slots(snapshot)
    reader = Reader(snapshot, rules, lock_limit=lock_limit, now=now, workload=workload)
    if not reader.roots:
        database = snapshot.header["database"]
        raise CatalogError(
            f"database {database} has no partitioned tables: there is nothing to plan",
            hint="`psql -l` lists other databases; a plan covers one",
        )
    source = _source(reader)
    if source.sizes == "none" and ("rewrite" in asked or "seconds" in asked or asking.limits.headroom is not None):
        raise CatalogError(
            "this snapshot has no sizes, so max_rewrite, window and headroom cannot be kept",
            hint="take a snapshot with a role that may list directories, or after ANALYZE; without these limits empty"
            " leaves can be planned",
        )
    targets = "leaves" in asked or "files" in asked
    headroom = asking.limits.headroom
    curves = curve.build(
        reader,
        rate=asking.rate,
        headroom=None if headroom is None else float(policy.size(headroom)),
        lock_limit=lock_limit,
        targets=targets,
        progress=progress,
    )
    before = curves.before.sum(axis=0)
    rest = _rest(reader, round(float(before[LEAVES])))
    aside = {"leaves": float(rest.leaves + rest.tables), "files": rest.files}
    room = {n: v - aside.get(n, 0.0) for n, v in asked.items()}
    # with a target the plan does no more than the target asks; without one it goes as far as the weights say it pays
    objective = prices(rules.weights, 0.0 if targets else 1.0)
    try:
        outcome = curve.decide(curves, objective, room)
    except budget.Infeasible as e:
        raise _impossible(e, asked, aside, curves) from None
    planned = Planned(reader, asking, curves, outcome, lock_limit)
    planned.whole = _whole_tables(planned) if not targets else {}
    _fill(planned, source, rest, asked, before)
    return planned


def _fill(planned: Planned, source: Source, rest: Rest, asked: dict[str, float], before: np.ndarray[Any, Any]) -> None:
    reader, curves, outcome = planned.reader, planned.curves, planned.outcome
    tables: list[TablePlan] = []
    after = np.zeros_like(before)
    for root in reader.roots:
        was, will = curves.before[root.index], curves.totals[root.index, :, int(outcome.choice[root.index])].copy()
        if root.index in planned.whole:
            will[:] = 0.0
            will[LEAVES], will[ROWS], will[FILES], will[CATALOG] = _whole_after(reader, root, planned.whole[root.index])
            size = reader.snapshot.one("SELECT sum(bytes) AS b, sum(max_segment_bytes) AS s FROM relation WHERE root = ?", [root.oid])
            will[REWRITE] = float(size["b"] or 0)
            will[SECONDS] = float(size["s"] or 0) / planned.request.rate + root.leaves * costs.DROP_SECONDS
        after += will
        distribution = next((d for o, d in root.facts.get("distribution", ()) if o == root.oid), "")
        tables.append(
            TablePlan(
                root.oid,
                root.schema,
                root.name,
                qualified(root.schema, root.name),
                root.storage,
                root.options,
                root.key,
                family_word(root),
                root.level,
                root.depth,
                distribution,
                root.leaves,
                root.leaves - round(float(was[LEAVES] - will[LEAVES])),
                round(float(was[ROWS])),
                round(float(will[ROWS])),
                round(float(was[FILES])),
                round(float(will[FILES])),
                round(float(was[CATALOG])),
                round(float(will[CATALOG])),
                round(float(will[REWRITE])),
                round(float(will[SECONDS]), 3),
                round(float(will[SCAN]), 1),
                round(float(will[MERGES])),
                round(float(will[CONVERTED])),
                round(float(will[DROPPED])),
                alone=root.reason,
            )
        )
    planned.table_plans = tables
    first, last = _totals(rest, before, max(1, reader.cluster.segments)), _totals(rest, after, max(1, reader.cluster.segments))
    if any(op == "unpartition" for op in planned.whole.values()):
        last = msgspec.structs.replace(last, tables=last.tables + sum(op == "unpartition" for op in planned.whole.values()))
    seen = {
        "leaves": (first.leaves + first.tables, last.leaves + last.tables, "leaves and tables"),
        "files": (first.files, last.files, "files a segment"),
        "rewrite": (0.0, float(after[REWRITE]), "bytes"),
        "seconds": (0.0, float(after[SECONDS]), "s"),
    }
    lines = [
        LimitLine(_LIMIT_NAMES[n], seen[n][2], v, seen[n][0], seen[n][1], seen[n][1] <= v * (1 + 1e-9) + 1e-6, "asked for")
        for n, v in asked.items()
    ]
    if reader.generation.greenplum:
        crowd = (
            reader.snapshot.one("SELECT max(n) AS n FROM (SELECT count(*) AS n FROM instance WHERE content >= 0 GROUP BY hostname)")["n"]
            or 1
        )
        seen["host"] = (first.files * crowd, last.files * crowd, "files a host")
        for id, value in (("leaves-ceiling-aoco", "leaves"), ("files-per-host", "host")):
            known = known_limits.limit(id)
            lines.append(
                LimitLine(id, seen[value][2], known.value, seen[value][0], seen[value][1], seen[value][1] <= known.value, known.source)
            )
    points = []
    for p in range(len(curve.GAINS)):
        sums = curves.totals[:, :, p].sum(axis=0)
        gain = curve.GAINS[p]
        points.append(
            CurvePoint(
                gain,
                rest.leaves + round(float(sums[LEAVES])),
                round(rest.rows + float(sums[ROWS])),
                round(rest.files + float(sums[FILES])),
                round(float(sums[REWRITE])),
                round(float(sums[SECONDS]), 1),
                round(float(sums[SCAN]), 1),
                not asked and gain == 1.0,
            )
        )
    if asked:
        points.append(
            CurvePoint(
                -1.0,
                last.leaves,
                last.rows,
                last.files,
                round(float(after[REWRITE])),
                round(float(after[SECONDS]), 1),
                round(float(after[SCAN]), 1),
                True,
            )
        )
    points.sort(key=lambda x: (x.rewrite, -x.leaves))
    rules = reader.policy
    effort = Effort(
        round(float(after[REWRITE])),
        round(float(after[SECONDS]), 1),
        round(float(after[SCAN]), 1),
        round(float(after[MERGES])),
        round(float(after[CONVERTED])),
        round(float(after[DROPPED])),
    )
    identity = hashlib.sha256(
        "\n".join(
            [source.fingerprint, msgspec.json.encode(rules).decode(), repr(sorted(asked.items())), str(planned.request.rate)]
        ).encode()
    ).hexdigest()
    planned.plan = Plan(
        id=f"plan-{identity[:16]}",
        gpcatalog_version=gpcatalog.__version__,
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        source=source,
        before=first,
        after=last,
        effort=effort,
        limits=lines,
        optimum=Optimum(
            round(outcome.cost, 3), round(outcome.bound, 3), outcome.gap, outcome.exact, "groupings" if outcome.true_bound else "points"
        ),
        weights=rules.weights,
        workload=rules.workload,
        workload_given=reader.workload is not None,
        curve=points,
        basis=_basis(planned, source),
        notes=_notes(planned, source),
    )


def _basis(planned: Planned, source: Source) -> list[str]:
    reader = planned.reader
    rate = f"{planned.request.rate / known_limits.MIB:.0f} MiB/s a segment, given" if planned.request.rate_given else costs.COPY_SOURCE
    w = reader.policy.workload
    found = [
        f"catalog rows and files: cost model of {reader.generation.title} ({reader.generation.source}); files with one writer",
        f"catalog bytes: estimate, {reader.generation.row_bytes_source}; live rows without bloat",
        f"sizes: {source.sizes}; emptiness told by {source.filled_basis}",
        f"time: estimate; copying at {rate}; DDL {costs.DDL_SOURCE}",
        f"catalog query time: estimate, {known_limits.CATALOG_QUERY_SLOPE.value:.0f} ms a 10,000 leaves"
        f" ({known_limits.CATALOG_QUERY_SLOPE.source})",
    ]
    if reader.workload is None:
        found.append(
            f"queries: assumed, a day's rows are asked for alone {w.fresh_per_day:g} times a day while fresh, half as often every"
            f" {w.half_life:g} days; {w.column_share:.0%} of the columns are read"
        )
    else:
        found.append(f"queries: {reader.workload.said}; {w.column_share:.0%} of the columns are read (assumed)")
    found.append("last change of a leaf: not told by the server; hot is what the bounds say")
    return found


def _notes(planned: Planned, source: Source) -> list[str]:
    found = []
    if source.sizes == "none":
        found.append(
            "The snapshot has no sizes: empty leaves are planned; leaves with rows are merged only where a policy names grains, and what"
            " rewriting costs is unknown."
        )
    elif source.sizes == "estimate":
        found.append("Sizes are the server's estimates (pages): rewriting and the size of merged leaves may differ.")
    if planned.lock_limit is None:
        found.append("The size of the lock table is not known: whether the locks of a step fit was not checked.")
    elif planned.request.limits.max_lock is None:
        found.append(f"No step may hold more than {planned.lock_limit:,.0f} locks: half of an instance's lock table.")
    return found
