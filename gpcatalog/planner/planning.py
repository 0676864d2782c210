"""From a snapshot to a plan: read, solve every table, choose under the limits, and describe the
result.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

import gpcatalog
from gpcatalog.audit.pace import pace
from gpcatalog.capacity import limits as known_limits
from gpcatalog.capacity.durations import SOURCE as TIME_SOURCE
from gpcatalog.capacity.seconds import COPY_RATE, COPY_SOURCE, DDL_SOURCE
from gpcatalog.errors import CatalogError
from gpcatalog.model.emptiness import basis_words
from gpcatalog.model.names import qualified
from gpcatalog.model.properties import Properties, of_facts
from gpcatalog.model.quantity import plural
from gpcatalog.planner import budget, curve, limits, losses, policy, proposals, table_level, totals
from gpcatalog.planner.group import Problem, prepare, solve
from gpcatalog.planner.merge_ways import merge_ways
from gpcatalog.planner.plan import (
    CurvePoint,
    Effort,
    LimitLine,
    NothingToPlan,
    Optimum,
    Plan,
    Source,
    TablePlan,
    Totals,
)
from gpcatalog.planner.relations import relations_of
from gpcatalog.planner.resources import (
    CATALOG,
    CONVERTED,
    DROPPED,
    FILES,
    LEAVES,
    MERGES,
    OTHER_STORAGE_PRICE,
    REWRITE,
    ROWS,
    SCAN,
    SECONDS,
    prices,
)
from gpcatalog.planner.sets.chunk import Chunk
from gpcatalog.planner.sets.keep_reasons import KeepReason
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.steps import StepBuilder, family_word
from gpcatalog.planner.times import times
from gpcatalog.planner.unchanged import left_by_reason, left_of
from gpcatalog.store.snapshot import Snapshot

NO_LIMITS = policy.Limits()


@dataclass(frozen=True)
class Request:
    """Settings of a plan: limits (of the policy, overridden by the command), and the copy rate
    in bytes per second and segment.
    """

    limits: policy.Limits = NO_LIMITS
    rate: float = float(COPY_RATE)
    rate_given: bool = False


def lock_slots(snapshot: Snapshot) -> float | None:
    """Half of the lock table of one instance, from the snapshot's settings; None if they were
    not read.
    """
    found = {r["name"]: r["setting"] for r in snapshot.rows("SELECT name, setting FROM setting")}
    slots = known_limits.lock_slots(found)
    return None if slots is None else slots / 2


class PlanResult:
    """A finished choice.

    `plan` contains everything except the steps; `tables()` yields each table with its steps.
    """

    def __init__(
        self,
        reader: Reader,
        request: Request,
        curves: curve.Curves,
        outcome: curve.Outcome,
        lock_limit: float | None,
    ) -> None:
        self.reader = reader
        self.request = request
        self.curves = curves
        self.outcome = outcome
        self.lock_limit = lock_limit
        self.table_operations = table_level.TableOperations()
        self.plan: Plan = None  # type: ignore[assignment]
        self.table_plans: list[TablePlan] = []

    def _problems(self, only: set[int]) -> Iterator[Problem]:
        if self.curves.problems is not None:
            yield from (p for p in self.curves.problems if only & set(p.roots.tolist()))
            return
        for chunk in self.reader.chunks(only):
            yield self.prepare(chunk)

    @property
    def headroom(self) -> float | None:
        """Maximum bytes that a step copies on the fullest segment; None: no limit."""
        headroom = self.request.limits.headroom
        return None if headroom is None else float(policy.size(headroom))

    def prepare(self, chunk: Chunk) -> Problem:
        """Prepare one chunk in the same way as for the choice."""
        return prepare(
            chunk,
            now=self.reader.now,
            column_share=self.reader.policy.workload.column_share,
            rate=self.request.rate,
            headroom=self.headroom,
            lock_limit=self.lock_limit,
        )

    def column(self, root: Root) -> np.ndarray[Any, Any]:
        """Prices for which the table's point was chosen."""
        return np.asarray(self.curves.columns[:, int(self.outcome.choice[root.index])])

    def tables(self, only: set[int] | None = None) -> Iterator[TablePlan]:
        """Tables with their steps, ordered by OID; `only` contains indexes of roots."""
        indexes = only if only is not None else {r.index for r in self.reader.roots}
        for problem in self._problems(indexes):
            price = np.stack([self.column(r) for r in problem.chunk.roots])
            solved = self.curves.settle(
                problem, solve(problem, price, per_table=True), self.outcome.choice
            )
            roots = [root for root in problem.chunk.roots if root.index in indexes]
            known = relations_of(self.reader.snapshot, [(root.oid, root.leaves) for root in roots])
            for root, rows in zip(roots, known, strict=True):
                found = msgspec.structs.replace(self.table_plans[root.index])
                builder = StepBuilder(self.reader, root, problem, rows)
                found.fingerprint = builder.fingerprint
                found.left = left_of(builder)
                if root.index in self.table_operations.operations:
                    found.steps = table_level.steps(
                        self.table_operations.operations[root.index], builder, found
                    )
                else:
                    found.steps = [] if root.reason else builder.steps(solved)
                    found.steps += proposals.external(builder, problem)
                    found.steps += proposals.reconfigured(builder, found.steps)
                if root.index in self._may_lose:
                    its = of_facts(root.facts) or Properties(())
                    found.steps = [
                        msgspec.structs.replace(step, lost=losses.lost(its, step))
                        for step in found.steps
                    ]
                yield found

    @functools.cached_property
    def _may_lose(self) -> set[int]:
        return losses.possible(self.reader, self.table_plans)

    def losses(self) -> list[tuple[str, list[str]]]:
        """Tables with a step that loses properties of partitions, and a sentence for each
        property.
        """
        some = self._may_lose
        found = []
        for table in self.tables(some) if some else ():
            lost = list(dict.fromkeys(line for step in table.steps for line in step.lost))
            if lost:
                found.append((f"{table.schema}.{table.table}", lost))
        return found

    def left(self) -> dict[str, int]:
        """Number of leaves that are not changed, by reason."""
        return left_by_reason(self.reader, self.curves)

    def full(self) -> Plan:
        """The plan with all tables and steps, in memory."""
        complete = msgspec.structs.replace(self.plan)
        complete.tables = list(self.tables())
        return complete


def refuse_thinned(snapshot: Snapshot) -> None:
    """Raise CatalogError for a snapshot that contains only totals."""
    if snapshot.header["grain"] != "leaf":
        raise CatalogError(
            f"{snapshot.path} was reduced to totals per table and has no leaves",
            hint="use a full snapshot: `gpcatalog snapshot take`",
        )


def _refuse_unpartitioned(reader: Reader) -> None:
    """Raise CatalogError if no table is partitioned, or if it is unknown which tables are."""
    database = reader.snapshot.header["database"]
    for probe, reason in reader.snapshot.unread("relations", "partition_keys").items():
        raise CatalogError(
            f"the tables of database {database} could not be read (probe {probe}, {reason})",
            hint="take the snapshot again; `gpcatalog doctor` shows which privileges are missing",
        )
    if not reader.roots:
        raise NothingToPlan(
            f"database {database} has no partitioned tables, so there is nothing to plan",
            hint="a plan covers one database; `psql -l` lists the others",
        )


def _refuse_missing_sizes(source: Source, values: dict[str, float], given: policy.Limits) -> None:
    """Raise CatalogError if a limit needs sizes that the snapshot does not have.

    values: specified limits, by name
    """
    if source.sizes == "none" and (
        "rewrite" in values or "seconds" in values or given.headroom is not None
    ):
        raise CatalogError(
            "this snapshot has no sizes, so max_rewrite, window and headroom cannot be kept",
            hint=(
                "take a snapshot with --files all and a role that can list directories, or after"
                " ANALYZE; without these limits a plan can still drop empty leaves"
            ),
        )


def make(
    snapshot: Snapshot,
    user_policy: policy.Policy | None = None,
    request: Request | None = None,
    *,
    workload: Any = None,
    now: datetime | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> PlanResult:
    """Plan the database of a snapshot.

    workload: a workload.Workload read from the user's queries, or None for the policy's default,
              which the plan states
    Raises CatalogError if no table is partitioned, the snapshot is pruned, limits contradict each
    other, or a limit needs missing sizes.
    """
    rules = user_policy or policy.Policy()
    settings = request or Request(rules.limits)
    limit_values = limits.limit_values(settings.limits)
    refuse_thinned(snapshot)
    lock_limit = (
        float(settings.limits.max_lock)
        if settings.limits.max_lock is not None
        else lock_slots(snapshot)
    )
    reader = Reader(snapshot, rules, now=now, workload=workload)
    _refuse_unpartitioned(reader)
    source = totals.source_of(reader)
    _refuse_missing_sizes(source, limit_values, settings.limits)
    targets = "leaves" in limit_values or "files" in limit_values
    headroom = (
        None if settings.limits.headroom is None else float(policy.size(settings.limits.headroom))
    )
    curves = curve.build(
        reader,
        rate=settings.rate,
        headroom=headroom,
        lock_limit=lock_limit,
        targets=targets,
        progress=progress,
    )
    before = curves.before.sum(axis=0)
    rest = totals.rest_of(reader, round(float(before[LEAVES])))
    unplanned = {"leaves": float(rest.leaves + rest.tables), "files": rest.files}
    limits_left = {n: v - unplanned.get(n, 0.0) for n, v in limit_values.items()}
    operations = table_level.choose_operations(
        reader,
        curves.before,
        rate=settings.rate,
        headroom=headroom,
        lock_limit=lock_limit,
        limits_left=dict(limits_left),
    )
    curves.fix(operations.sums)
    if "leaves" in limits_left:  # a table that is no longer partitioned counts as a table
        plain = sum(op == "unpartition" for op in operations.operations.values())
        unplanned["leaves"] += plain
        limits_left["leaves"] -= plain
    # With a target, the plan does no more than the target requires. Without a target, it contains
    # everything that pays according to the weights.
    objective = prices(rules.weights, 0.0 if targets else 1.0)
    try:
        outcome = curve.decide(curves, objective, limits_left)
    except budget.Infeasible as e:
        raise limits.limits_error(e, limit_values, unplanned, curves) from None
    planned = PlanResult(reader, settings, curves, outcome, lock_limit)
    planned.table_operations = operations
    _fill(planned, source, rest, limit_values, before)
    return planned


def _table_plan(
    planned: PlanResult, root: Root, will: np.ndarray[Any, Any], kept: totals.SessionBytes
) -> TablePlan:
    """A table before and after, without its steps; will: its resources afterwards; kept: memory of
    sessions.
    """
    was = planned.curves.before[root.index]
    distribution = next((d for o, d in root.facts.get("distribution", ()) if o == root.oid), "")
    leaves_after = root.leaves - round(float(was[LEAVES] - will[LEAVES]))
    return TablePlan(
        oid=root.oid,
        schema=root.schema,
        table=root.name,
        name=qualified(root.schema, root.name),
        storage=root.storage,
        options=root.options,
        key=root.key,
        axis=family_word(root),
        level=root.level,
        depth=root.depth,
        distribution=distribution,
        leaves=root.leaves,
        leaves_after=leaves_after,
        rows=round(float(was[ROWS])),
        rows_after=round(float(will[ROWS])),
        files=round(float(was[FILES])),
        files_after=round(float(will[FILES])),
        catalog_bytes=round(float(was[CATALOG])),
        catalog_bytes_after=round(float(will[CATALOG])),
        session_bytes=kept.of(root, root.leaves),
        session_bytes_after=kept.of(root, leaves_after),
        rewrite=round(float(will[REWRITE])),
        seconds=round(float(will[SECONDS]), 3),
        scan_bytes_per_day=round(float(will[SCAN]), 1),
        merges=round(float(will[MERGES])),
        converted=round(float(will[CONVERTED])),
        dropped=round(float(will[DROPPED])),
        default=bool(planned.curves.stays[root.index, int(KeepReason.DEFAULT)]),
        alone=root.reason,
    )


def _limit_lines(
    reader: Reader,
    limit_values: dict[str, float],
    *,
    first: Totals,
    last: Totals,
    sums: np.ndarray[Any, Any],
    tables: Sequence[TablePlan],
) -> list[LimitLine]:
    """The specified limits and, on Greenplum, the known limits, before and after.

    sums: resources of all tables afterwards
    """
    seen = {
        "leaves": (first.leaves + first.tables, last.leaves + last.tables, "leaves and tables"),
        "files": (first.files, last.files, "files a segment"),
        "rewrite": (0.0, float(sums[REWRITE]), "bytes"),
        "seconds": (0.0, float(sums[SECONDS]), "s"),
    }
    lines = [
        LimitLine(
            name=limits.NAMES[n],
            unit=seen[n][2],
            limit=v,
            before=seen[n][0],
            after=seen[n][1],
            kept=seen[n][1] <= v * (1 + 1e-9) + 1e-6,
            source="asked for",
        )
        for n, v in limit_values.items()
    ]
    if reader.generation.greenplum:
        lines += _known_limit_lines(reader, tables, first=first, last=last)
    return lines


def _known_limit_lines(
    reader: Reader, tables: Sequence[TablePlan], *, first: Totals, last: Totals
) -> list[LimitLine]:
    """The limits of an audit that a plan changes, with the values that an audit reports now."""
    columnar = reader.snapshot.one(
        "SELECT count(*) AS n FROM relation WHERE kind = 'leaf' AND storage = 'ao_column'"
    )["n"]
    fewer = sum(t.leaves - t.leaves_after + t.converted for t in tables if t.storage == "ao_column")
    lines = [
        _known(
            "column-oriented leaves",
            known_limits.LEAVES_CEILING_AOCO,
            (columnar, max(columnar - fewer, 0)),
        ),
        _known(
            "tables and leaf partitions",
            known_limits.LEAVES_CEILING_AO_ROW,
            (first.leaves + first.tables, last.leaves + last.tables),
        ),
    ]
    on_hosts = reader.snapshot.files_on_hosts().values()
    if on_hosts:
        fewer = first.files - last.files  # on one instance
        lines.append(
            _known(
                "files on the host with the most files",
                known_limits.FILES_PER_HOST,
                (
                    max(n[2] + n[3] for n in on_hosts),
                    max(max(n[2] + n[3] - fewer * (n[0] + n[1]), 0) for n in on_hosts),
                ),
            )
        )
    return lines


def _known(what: str, limit: known_limits.Limit, values: tuple[float, float]) -> LimitLine:
    before, after = values
    return LimitLine(
        name=what,
        unit=limit.unit,
        limit=limit.value,
        before=before,
        after=after,
        kept=after <= limit.value,
        source=limit.source,
    )


def _curve_points(
    curves: curve.Curves, weights: policy.Weights, rest: totals.OtherRelations, *, limited: bool
) -> list[CurvePoint]:
    """The plan for other prices of the gain, each choice once.

    limited: whether limits determine the plan, so that none of these points is the chosen one
    """
    points: list[CurvePoint] = []
    for gain, sums in curve.curve_over_tables(curves, weights):
        point = CurvePoint(
            gain=gain,
            leaves=rest.leaves + round(float(sums[LEAVES])),
            rows=round(rest.rows + float(sums[ROWS])),
            files=round(rest.files + float(sums[FILES])),
            rewrite=round(float(sums[REWRITE])),
            seconds=round(float(sums[SECONDS]), 1),
            scan_bytes_per_day=round(float(sums[SCAN]), 1),
            chosen=not limited and gain == 1.0,
        )
        if (
            points
            and not point.chosen
            and msgspec.structs.replace(points[-1], gain=gain, chosen=False) == point
        ):
            continue  # the same choice
        if (
            points
            and point.chosen
            and msgspec.structs.replace(points[-1], gain=gain, chosen=True) == point
        ):
            points.pop()
        points.append(point)
    return points


def _effort(sums: np.ndarray[Any, Any]) -> Effort:
    """Costs of all steps together, from the resources of all tables afterwards."""
    return Effort(
        rewrite=round(float(sums[REWRITE])),
        seconds=round(float(sums[SECONDS]), 1),
        scan_bytes_per_day=round(float(sums[SCAN]), 1),
        merges=round(float(sums[MERGES])),
        converted=round(float(sums[CONVERTED])),
        dropped=round(float(sums[DROPPED])),
    )


def _identity(planned: PlanResult, source: Source, limit_values: dict[str, float]) -> str:
    """ID of the plan: the same for the same snapshot, policy, limits and rate."""
    # the limits of upkeep do not apply to a plan
    rules = {k: v for k, v in msgspec.to_builtins(planned.reader.policy).items() if k != "upkeep"}
    identity = hashlib.sha256(
        "\n".join(
            [
                source.fingerprint,
                msgspec.json.encode(rules).decode(),
                repr(sorted(limit_values.items())),
                str(planned.request.rate),
            ]
        ).encode()
    ).hexdigest()
    return f"plan-{identity[:16]}"


def _fill(
    planned: PlanResult,
    source: Source,
    rest: totals.OtherRelations,
    limit_values: dict[str, float],
    before: np.ndarray[Any, Any],
) -> None:
    """Set the plan of a finished choice.

    rest: relations that the choice does not change; limit_values: specified limits, by name
    before: resources of all tables before the plan
    """
    reader, curves, outcome = planned.reader, planned.curves, planned.outcome
    rules = reader.policy
    after = np.zeros_like(before)
    planned.table_plans = []
    kept = totals.SessionBytes(reader)
    for root in reader.roots:
        will = curves.totals[root.index, :, int(outcome.choice[root.index])].copy()
        after += will
        planned.table_plans.append(_table_plan(planned, root, will, kept))
    segments = max(1, reader.cluster.segments)
    first, last = (
        totals.totals(rest, sums, segments, greenplum=reader.generation.greenplum)
        for sums in (before, after)
    )
    plain = sum(op == "unpartition" for op in planned.table_operations.operations.values())
    last = msgspec.structs.replace(last, tables=last.tables + plain)
    effort = _effort(after)
    points = _curve_points(curves, rules.weights, rest, limited=bool(limit_values))
    if limit_values:
        points.append(
            CurvePoint(
                gain=-1.0,
                leaves=last.leaves,
                rows=last.rows,
                files=last.files,
                rewrite=effort.rewrite,
                seconds=effort.seconds,
                scan_bytes_per_day=effort.scan_bytes_per_day,
                chosen=True,
            )
        )
    points.sort(key=lambda x: (x.rewrite, -x.leaves))
    planned.plan = Plan(
        id=_identity(planned, source, limit_values),
        gpcatalog_version=gpcatalog.__version__,
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        source=source,
        before=first,
        after=last,
        effort=effort,
        limits=_limit_lines(
            reader, limit_values, first=first, last=last, sums=after, tables=planned.table_plans
        ),
        optimum=Optimum(
            round(outcome.cost, 3),
            round(outcome.bound, 3),
            outcome.gap,
            outcome.exact,
            "groupings" if outcome.true_bound else "points",
        ),
        weights=rules.weights,
        workload=rules.workload,
        workload_given=reader.workload is not None,
        curve=points,
        times=times(reader, planned.table_plans, kept, first, last),
        merge_ways=merge_ways(source, planned.table_plans),
        basis=_basis(planned, source),
        notes=_notes(planned, source),
    )


def _basis(planned: PlanResult, source: Source) -> list[str]:
    reader = planned.reader
    rate = (
        f"{planned.request.rate / known_limits.MIB:.0f} MiB/s per segment (--rate)"
        if planned.request.rate_given
        else COPY_SOURCE
    )
    w = reader.policy.workload
    found = [
        (
            f"catalog rows and files: cost model of {reader.generation.title}"
            f" ({reader.generation.source}); files with one writer"
        ),
        f"catalog bytes: estimate, {reader.generation.row_bytes_source}; bloat not included",
        f"sizes: {source.sizes}; empty leaves: measured from {basis_words(source.filled_basis)}",
        f"time of the steps: estimate; copy rate {rate}; DDL {DDL_SOURCE}",
        f"time of statements: estimate without rows, at {pace(reader.snapshot).words}; {TIME_SOURCE}",
    ]
    if reader.generation.greenplum:
        slope = known_limits.CATALOG_QUERY_SLOPE
        found.append(
            f"catalog query time: estimate, {slope.value:.0f} ms per 10,000 leaves ({slope.source})"
        )
    if any(root.policy.storage not in ("auto", "keep") for root in reader.roots):
        found.append(
            "storage: each old leaf whose storage differs from the policy costs"
            f" {OTHER_STORAGE_PRICE:,.0f} points"
        )
    if reader.workload is None:
        found.append(
            f"queries: assumed; rows of one day are queried {w.fresh_per_day:g} × per day at"
            f" first and half as often after every {w.half_life:g} days; {w.column_share:.0%} of"
            " the columns are read"
        )
    else:
        found.append(
            f"queries: {reader.workload.description}; {w.column_share:.0%} of the columns are read"
            " (assumed)"
        )
    found.append(
        "recent leaves: judged by partition bounds (the server does not store the time of"
        " the last change)"
    )
    return found


def _notes(planned: PlanResult, source: Source) -> list[str]:
    found = []
    if source.sizes == "none":
        found.append(
            "The snapshot has no sizes, so the cost of rewriting is unknown. Leaves with rows"
            " are merged only if the policy has grains."
        )
    elif source.sizes == "estimate":
        found.append(
            "Sizes are estimates of the server (pages). The rewritten bytes and the size of"
            " merged leaves may differ."
        )
    found += planned.table_operations.notes(planned.reader.roots)
    merged = [r for r in planned.reader.roots if planned.table_plans[r.index].merges]
    partman = sum("pg_partman" in r.facts for r in merged)
    every = sum("every" in r.facts and "pg_partman" not in r.facts and r.calendar for r in merged)
    for reason, n in sorted(planned.table_operations.refused.items()):
        found.append(
            f"Not planned although the policy requires it: {reason} ({plural(n, 'table')})."
        )
    if partman:
        found.append(
            f"pg_partman maintains {plural(partman, 'table')} that would be merged. The plan"
            " contains the new interval, premake and retention; until they are set, pg_partman"
            " creates small leaves again."
        )
    if every:
        found.append(
            f"{plural(every, 'table')} that would be merged have partitions that EVERY created. Scripts that"
            " add partitions should use the interval of the plan; otherwise they create small"
            " leaves again."
        )
    names = ("uneven_partitions", "partition_properties")
    covered = planned.reader.snapshot.rows(
        "SELECT probe, status FROM coverage WHERE probe IN (?, ?)", [*names]
    )
    if names[0] not in {r["probe"] for r in covered} or any(r["status"] != "read" for r in covered):
        found.append(
            "Defaults, comments, privileges and other properties of partitions were not read, so"
            " the losses are unknown. `gpcatalog migrate` lists them."
        )
    if planned.lock_limit is None:
        found.append(
            "The size of the lock table is not known, so the number of locks per step was not"
            " checked."
        )
    elif planned.request.limits.max_lock is None:
        found.append(
            f"No merge or conversion takes more than {planned.lock_limit:,.0f} locks, which is half"
            " of the lock table of an instance."
        )
    return found
