"""Merges of a night as steps of a plan, so that a migration writes them with all its checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from gpcatalog.capacity.seconds import COPY_RATE
from gpcatalog.model.properties import FACT, Properties, of_facts
from gpcatalog.planner import losses
from gpcatalog.planner.costs import KEEP, TARGETS
from gpcatalog.planner.group import Problem, prepare
from gpcatalog.planner.operations import Merge, step_id
from gpcatalog.planner.relations import relations_of
from gpcatalog.planner.sets.reader import Reader
from gpcatalog.planner.sets.roots import Root
from gpcatalog.planner.steps import StepBuilder
from gpcatalog.upkeep.night import RollUp


def _groups(problem: Problem, action: RollUp) -> Iterator[int]:
    """Candidates of a problem that contain only partitions of a merge, without overlaps,
    longest first.
    """
    oids = {p.oid for p in action.parts}
    unit = problem.chunk.oid
    groups = problem.groups
    candidates = [
        g
        for g in range(len(groups.start))
        if int(unit[groups.start[g]]) in oids
        and int(unit[groups.end[g] - 1]) in oids
        and int(groups.end[g] - groups.start[g]) <= len(oids)
    ]
    grouped: set[int] = set()
    for g in sorted(candidates, key=lambda g: int(groups.start[g] - groups.end[g])):
        units = set(range(int(groups.start[g]), int(groups.end[g])))
        if not units & grouped:
            grouped |= units
            yield g


def _option(problem: Problem, group: int, policy_storage: str) -> int | None:
    """The storage of a merged partition: the one that the policy sets, otherwise that of its
    newest part; None if neither is possible.
    """
    allowed = {n for n, may in enumerate(problem.groups.allowed) if bool(may[group])}
    named = next(
        (n for n, t in enumerate(TARGETS) if t is not None and t.value == policy_storage), KEEP
    )
    return named if named in allowed else KEEP if KEEP in allowed else None


def merge_steps(
    reader: Reader, root: Root, actions: Sequence[RollUp]
) -> tuple[list[Merge], list[tuple[RollUp, str]]]:
    """Steps of a plan for the merges of one table, and merges that are not possible, with the
    reason.
    """
    [relations] = relations_of(reader.snapshot, [(root.oid, root.leaves)])
    found: list[Merge] = []
    refused: list[tuple[RollUp, str]] = []
    for chunk in reader.chunks({root.index}):
        problem = prepare(
            chunk,
            now=reader.now,
            column_share=reader.policy.workload.column_share,
            rate=float(COPY_RATE),
            headroom=None,
            lock_limit=None,
        )
        builder = StepBuilder(reader, root, problem, relations)
        stay = problem.singles.comps[KEEP]
        assert stay is not None
        for action in actions:
            merges = 0
            for g in sorted(_groups(problem, action), key=lambda g: int(problem.groups.start[g])):
                option = _option(problem, g, root.policy.storage)
                if option is None:
                    continue
                a, b = int(problem.groups.start[g]), int(problem.groups.end[g])
                comps = problem.groups.comps[option]
                assert comps is not None
                slot = int(problem.groups.slot[g])
                step = builder.merge(
                    a, b, slot, option, comps[g], np.asarray(stay[a:b]).sum(axis=0)
                )
                # the journal keeps the IDs of finished merges: the same range may be merged again
                # from other tables
                oids = [str(u.oid) for u in step.units]
                step = msgspec.structs.replace(step, id=step_id("merge", step.id, *oids))
                found.append(_with_losses(root, step))
                merges += 1
            if not merges:
                refused.append(
                    (
                        action,
                        "its partitions differ, something depends on one of them, or another"
                        f" partition reaches into their {action.grain.name.lower()}",
                    )
                )
    return found, refused


def _with_losses(root: Root, step: Merge) -> Merge:
    if FACT not in root.facts:
        return step
    properties = of_facts(root.facts) or Properties(())
    return msgspec.structs.replace(step, lost=losses.lost(properties, step))
