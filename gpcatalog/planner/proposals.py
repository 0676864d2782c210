"""Steps that a person must agree to first: move cold leaves to external files, and adapt the
source of new partitions to the plan.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from gpcatalog.capacity import limits as known_limits
from gpcatalog.capacity.seconds import COPY_RATE
from gpcatalog.planner import grid
from gpcatalog.planner.group import Problem
from gpcatalog.planner.operations import (
    AnyStep,
    Externalise,
    Gain,
    Merge,
    Price,
    Reconfigure,
    step_id,
)
from gpcatalog.planner.policy import interval_days
from gpcatalog.planner.sets.keep_reasons import KeepReason
from gpcatalog.planner.sets.roots import partman_keep
from gpcatalog.planner.steps import StepBuilder


def external(builder: StepBuilder, problem: Problem) -> list[AnyStep]:
    """Proposals for cold leaves beyond the age in the policy; only leaves that no other step
    changes.
    """
    root, after = builder.root, builder.root.policy.externalise_after
    if after is None or not builder.reader.generation.greenplum or not root.calendar:
        return []
    c = problem.chunk
    place = int(np.searchsorted(problem.roots, root.index))
    s, e = int(problem.unit_edges[place]), int(problem.unit_edges[place + 1])
    found: list[AnyStep] = []
    for u in (np.flatnonzero(c.why[s:e] == KeepReason.EXTERNALISE) + s).tolist():
        oid = int(c.oid[u])
        lanes = builder.lanes(u, u + 1)
        leaf_oids = [o for lane in lanes for o in lane]
        leaves = tuple(builder.leaf(o, 0, n) for n, lane in enumerate(lanes) for o in lane)
        size = sum(leaf.bytes or 0 for leaf in leaves)
        seconds = size / builder.reader.segments / COPY_RATE
        found.append(
            Externalise(
                id=step_id(
                    "externalise",
                    builder.table,
                    builder.relation[oid].name,
                    builder.relation[oid].bound,
                ),
                explanation=(
                    f"older than {after:g} days: its rows could be moved to external files"
                ),
                gain=Gain(0, 0, 0, 0, 0),
                cost=Price(
                    size,
                    max((leaf.segment_bytes or 0 for leaf in leaves), default=0),
                    round(seconds, 3),
                    1 + root.leaves + 5 * len(leaf_oids),
                    0.0,
                ),
                rests_on=(
                    "the owner chooses a location for the files",
                    "these rows are not written any more",
                ),
                proposal=True,
                parent=builder.relation[oid].parent or root.oid,
                file_bytes=int(known_limits.AVERAGE_FILE_TARGET.value),
                units=(builder.unit(oid),),
                leaves=leaves,
            )
        )
    return found


_INTERVALS = {
    "hour": "1 hour",
    "day": "1 day",
    "week": "1 week",
    "month": "1 month",
    "quarter": "3 months",
    "year": "1 year",
}


def _premake(now: dict[str, Any], grain: str, *, calendar: bool) -> int | None:
    """Number of leaves of the new grain that reach as far ahead as pg_partman's leaves now;
    None if pg_partman's interval is unknown.
    """
    try:
        ahead, old = int(now["premake"]), str(now["partition_interval"])
        width = interval_days(old) if calendar else float(old)
        wide = grid.GRAINS[grain].days if calendar else float(grain)
    except (KeyError, TypeError, ValueError):
        return None
    return max(1, math.ceil(ahead * width / wide - 1e-9)) if wide > 0 else None


def reconfigured(builder: StepBuilder, steps: list[AnyStep]) -> list[AnyStep]:
    """If leaves were merged and the source of new partitions is known: propose that it creates
    the finest grain of these merges.
    """
    root = builder.root
    merged = [s.grain for s in steps if isinstance(s, Merge)]
    if not merged:
        return []
    # merges become coarser with age: new leaves should have the finest grain of the merges, but at
    # most a month, because a leaf of a month is hot for a month
    order = [g.word for g in grid.Grain]
    grain = min(
        [*merged, "month"] if root.calendar else merged,
        key=lambda g: order.index(g) if g in order else len(order),
    )
    nothing = Gain(0, 0, 0, 0, 0)
    free = Price(0, 0, 0.0, 1, 0.0)
    if "pg_partman" in root.facts:
        now: dict[str, Any] = msgspec.json.decode(root.facts["pg_partman"][0][1])
        version = root.facts.get("pg_partman version", [(0, "")])[0][1]
        settings = {"partition_interval": _INTERVALS.get(grain, grain)}
        premake = _premake(now, grain, calendar=root.calendar)
        if premake is not None:
            settings["premake"] = str(premake)
        keep = root.policy.keep
        if keep is not None and keep != partman_keep(root.facts):
            months = root.policy.keep_months
            settings["retention"] = f"{months} months" if months else f"{keep:g} days"
        shown = {k: None if v is None else str(v) for k, v in sorted(now.items())}
        return [
            Reconfigure(
                id=step_id("reconfigure", builder.table, *sorted(settings.values())),
                explanation=f"pg_partman creates leaves of one {grain} from now on",
                gain=nothing,
                cost=free,
                rests_on=("part_config has not changed since the snapshot",),
                proposal=True,
                maker="pg_partman",
                version=version,
                now=shown,
                wanted=settings,
            )
        ]
    template_steps = _templated(builder, steps)
    if "every" in root.facts and root.calendar:
        every = root.facts["every"][0][1]
        return [
            *template_steps,
            Reconfigure(
                id=step_id("reconfigure", builder.table, "every", grain),
                explanation=(
                    f"scripts that add partitions should use EVERY '{_INTERVALS.get(grain, grain)}'"
                ),
                gain=nothing,
                cost=free,
                proposal=True,
                maker="every",
                now={"every": every},
                wanted={"every": _INTERVALS.get(grain, grain)},
            ),
        ]
    return template_steps


def _templated(builder: StepBuilder, steps: list[AnyStep]) -> list[AnyStep]:
    """If subpartitions were merged: the template gets those of the newest partition with such
    merges.
    """
    parents = [s.parent for s in steps if isinstance(s, Merge) and s.parent != builder.root.oid]
    return template(builder, max(parents)) if parents else []


def template(builder: StepBuilder, like: int) -> list[AnyStep]:
    """Greenplum: new partitions get the subpartitions that the partition `like` has after the
    plan.
    """
    root = builder.root
    if root.depth != 2 or not any(k.level == 1 and k.has_template for k in root.keys):
        return []
    name = builder.relation[like].name
    return [
        Reconfigure(
            id=step_id("reconfigure", builder.table, "template", name),
            explanation=(
                f"the subpartition template gets the subpartitions of {name}, so that new"
                " partitions get the same"
            ),
            gain=Gain(0, 0, 0, 0, 0),
            cost=Price(0, 0, 0.0, 1, 0.0),
            rests_on=("the scripts that create partitions use the template",),
            proposal=True,
            maker="template",
            now={"like": name},
            wanted={"template": f"as {name}"},
        )
    ]
