"""Drop empty partitions: checked again under the lock; the rollback creates them again, empty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpcatalog.migration import subtree
from gpcatalog.migration.introspect import ProbeRunner, Relation
from gpcatalog.migration.live_table import LiveTable
from gpcatalog.migration.operations import (
    Context,
    NewPartition,
    Operation,
    PartitionOperation,
    Requirements,
    Unit,
    WriteContext,
)
from gpcatalog.migration.predicates import (
    Refusal,
    has_both_ends,
    predicate,
    rejected_as_overlap,
)
from gpcatalog.migration.removal_locks import locks_of_removal, locks_of_unit, others
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.steps.replace_partitions import ReplacePartitions, parked
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    literal,
    lock_from_readers,
)
from gpcatalog.model.bounds import Bound, parse
from gpcatalog.model.quantity import plural
from gpcatalog.planner import operations as op


@dataclass(frozen=True, kw_only=True)
class DropPartitions(PartitionOperation):
    """Empty partitions of one parent are dropped."""

    def summary(self) -> str:
        return f"drop {plural(len(self.gone), 'empty partition')}"

    def details(self) -> list[str]:
        return self.gone_lines(5)

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        guard = writer.guard(
            context,
            self,
            done="done",
            exact=writing.exact,
            partitions=[u.relation for u in self.gone],
        )
        names = writer.locked_by_drop(context, self)
        phases: Phases = [
            (Phase.GUARD, [*guard, *writer.requirements(self.needs)]),
            (
                Phase.EXCLUSIVE,
                [
                    lock_from_readers(names),
                    EXCLUSIVE_SINCE,
                    *guard,
                ],
            ),
            (Phase.PROVE, [_expect_empty(leaf.sql) for leaf in self.leaves]),
            (Phase.SWAP, writer.drop_statements(context, self)),
            (Phase.NOTE, writer.note(context, self, "done")),
        ]
        return [writer.block(context, self, phases)]


def _expect_empty(leaf: str) -> str:
    """Return the statement that stops if a leaf that should be empty has rows."""
    message = literal(f"changed since it was planned: {leaf} was empty and now contains rows")
    return f"IF EXISTS (SELECT 1 FROM ONLY {leaf}) THEN RAISE EXCEPTION '%', {message}; END IF;"


def _translate(live: LiveTable, step: op.DropEmpty, run_probe: ProbeRunner) -> Translation:
    units = [live.live(u.oid, u.name, u.bound) for u in step.units]
    parent = live.parent_of(units)
    live.refuse_published(parent)
    leaves = [leaf for u in units for leaf in live.table.leaves(u.oid)]
    live.leaf_obstacles(leaves)
    gone = {u.oid for u in units}
    if all(c.oid in gone for c in live.table.children(parent.oid)):
        raise Refusal("the last partition cannot be dropped")
    default = live.table.default_of(parent.oid)
    if default is not None and default.oid in gone:
        raise Refusal("the default partition is never dropped")
    if {leaf.name for leaf in leaves} != {leaf.name for leaf in step.leaves}:
        raise Refusal("changed since it was planned: it has other leaves now")
    if live.classic:
        _refuse_last(live, units, parent)
    default_unit = None if default is None else live.unit(default)
    found: list[tuple[Operation, Operation | None]] = []
    parts = _parts(live, units)
    for n, part in enumerate(parts, 1):
        removed = tuple(live.unit(u) for u in part)
        forward = DropPartitions(
            id=step.id if len(parts) == 1 else f"{step.id}-{n}",
            title=step.explanation,
            parent=parent,
            above=live.above(parent),
            gone=removed,
            default=default_unit,
            rests_on=step.rests_on,
            lost=tuple(live.indexes_of_middles_lost(removed)),
            needs=Requirements(
                locks=locks_of_removal(live, part), seconds=step.cost.seconds / len(parts)
            ),
        )
        rollback = _created_again(
            live,
            part,
            id=f"undo-{forward.id}",
            title=f"rollback: {forward.title}",
            parent=parent,
            above=forward.above,
            default=default_unit,
        )
        found.append((forward, rollback))
    return found


def _refuse_last(live: LiveTable, units: Sequence[Relation], parent: Relation) -> None:
    """Raise Refusal for a partition that a rollback could not add again on Greenplum 6. It adds
    the highest partition first.
    """
    if parent.oid not in live.exclusive:
        return
    children = live.table.children(parent.oid)
    staying = [parse(c.bound) for c in children if c.oid not in live.dropped]
    gone = [parse(u.bound) for u in units]
    near_staying, near_all = _by_ends(staying), _by_ends([*staying, *gone])
    for u, bound in zip(units, gone, strict=True):
        ends = [end[0].value for end in (bound.lower, bound.upper) if end]
        below, above = (
            [o for value in ends for o in near.get(value, ())] for near in (near_staying, near_all)
        )
        if why := rejected_as_overlap(bound, below, above):
            raise Refusal(f"{u.name} {why}")


def _by_ends(bounds: Sequence[Bound]) -> dict[str, list[Bound]]:
    """The bounds that start or end at each value."""
    found: dict[str, list[Bound]] = {}
    for b in bounds:
        for end in (b.lower, b.upper):
            if end:
                found.setdefault(end[0].value, []).append(b)
    return found


def _created_again(
    live: LiveTable,
    units: Sequence[Relation],
    *,
    id: str,
    title: str,
    parent: Relation,
    above: str,
    default: Unit | None,
) -> ReplacePartitions:
    """Return the operation that creates dropped partitions again, empty.

    Columns are those of the root, which exists after any other change of the plan.
    """
    by_columns = (
        parent.split_by_columns
    )  # for an expression, attaching proves that the default partition has none of the rows
    digest = re.sub(r"\W", "", id.removeprefix("undo-").removeprefix("drop-empty-"))[:16]
    new_partitions = []
    number = 0
    for u in units:
        mine = predicate(parse(u.bound), *live.key(parent)) if by_columns else "true"
        stages = []
        for leaf in live.table.leaves(u.oid):
            number += 1
            inside = " AND ".join([mine, *live.path_predicate(leaf, u)])
            stage = live.as_it_was(
                f"gpr_{digest}_{number}", leaf, live.table.root, predicate=inside
            )
            stages.append(replace(stage, path=live.path_below(leaf, u)))
        new_partitions.append(
            NewPartition(
                name=u.name,
                partition=subtree.label(u),
                bound=u.bound,
                stages=tuple(stages),
                key=mine,
                middles=live.middles(u, live.table.root, stages),
                columns=live.table.root,
            )
        )
    anything = " OR ".join(m.key for m in new_partitions)
    return ReplacePartitions(
        id=id,
        title=title,
        parent=parent,
        above=above,
        gone=(),
        new_partitions=tuple(new_partitions),
        range_predicate=f"({anything})" if by_columns else "true",
        default=default,
        default_stages=parked(live, default, f"gpr_{digest}_d") if live.classic else (),
        alone=_default_alone(live, units, parent, default),
        parent_address=live.above(parent, -1),
    )


def _default_alone(
    live: LiveTable, units: Sequence[Relation], parent: Relation, default: Unit | None
) -> bool:
    """Return whether only the default partition is left on Greenplum 6, which cannot drop the
    last partition. Then restored partitions are split off from it. Raises Refusal if that is
    not possible.
    """
    going = {u.oid for u in units} | live.dropped
    if not live.classic or default is None:
        return False
    if any(c.oid not in going | {default.relation.oid} for c in live.table.children(parent.oid)):
        return False
    if default.middles or live.above(parent) or not all(has_both_ends(u.bound) for u in units):
        raise Refusal(
            "only the default partition would be left, and Greenplum 6 could not create the others"
            " again: it splits no partition that has subpartitions, and none without both ends"
        )
    return True


def _parts(live: LiveTable, units: list[Relation]) -> list[list[Relation]]:
    """Divide the units into transactions that need at most half of the lock table. Raises
    Refusal.
    """
    if live.slots is None:
        return [units]
    found: list[list[Relation]] = [[]]
    more = needed = others(live, units[0])
    for u in units:
        locks = locks_of_unit(live, u)
        if found[-1] and needed + locks > live.slots // 2:
            found.append([])
            needed = more
        found[-1].append(u)
        needed += locks
        if needed > live.slots:
            raise Refusal(
                f"it needs about {needed:,} locks; the server has {live.slots:,} for all sessions"
            )
    return found


register(StepHandler(_translate, divisible=True), "drop-empty")
