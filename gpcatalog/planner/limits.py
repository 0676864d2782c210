"""The limits of a command or a policy as numbers, and the error if they cannot be kept."""

from __future__ import annotations

import numpy as np

from gpcatalog.capacity import limits as known_limits
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.planner import budget, curve, policy
from gpcatalog.planner.resources import RESOURCES

NAMES = {
    "leaves": "target_leaves",
    "files": "target_files",
    "rewrite": "max_rewrite",
    "seconds": "window",
}


def limit_values(limits: policy.Limits) -> dict[str, float]:
    """Return the specified limits, by name, in the units of the sums."""
    found: dict[str, float] = {}
    try:
        if limits.target_leaves is not None:
            found["leaves"] = float(limits.target_leaves)
        if limits.target_files is not None:
            found["files"] = float(limits.target_files)
        if limits.max_rewrite is not None:
            found["rewrite"] = float(policy.size(limits.max_rewrite))
        if limits.window is not None:
            found["seconds"] = policy.seconds(limits.window)
        if limits.headroom is not None:
            policy.size(limits.headroom)
    except ValueError as e:
        raise CatalogError(f"limits: {e}") from None
    return found


def _limit_text(name: str, value: float) -> str:
    if name == "rewrite":
        return f"max_rewrite = {value / known_limits.GIB:,.1f} GiB"
    if name == "seconds":
        return f"window = {value:,.0f} s"
    return f"{NAMES[name]} = {value:,.0f}"


def limits_error(
    e: budget.Infeasible,
    limit_values: dict[str, float],
    rest: dict[str, float],
    curves: curve.Curves,
) -> CatalogError:
    """Return the error for limits that no choice keeps, with the best possible value."""
    names = list(limit_values)
    if e.alone:
        j = e.alone[0]
        name = names[j]
        least = float(e.least[j]) + rest.get(name, 0.0)
        what = {
            "leaves": "leaves and tables remain",
            "files": "files per segment remain",
            "rewrite": "bytes are rewritten",
            "seconds": "seconds are needed",
        }
        return CatalogError(
            f"{_limit_text(name, limit_values[name])} cannot be reached: in every plan at least"
            f" {least:,.0f} {what[name]}",
            hint=(
                "raise the limit, or relax the policy (hot_days, max_leaf, grains); `gpcatalog"
                " plan --explain TABLE` shows which leaves cannot change"
            ),
            exit_code=Exit.USAGE,
        )
    targets = [n for n in names if n in ("leaves", "files")] or names[:1]
    others = [n for n in names if n not in targets]
    hint = "raise one of them"
    if others:
        try:
            objective = np.zeros(len(RESOURCES))
            objective[curve.WAYS[targets[0]]] = 1.0
            within = curve.decide(
                curves, objective, {n: limit_values[n] - rest.get(n, 0.0) for n in others}
            )
            least = within.cost + rest.get(targets[0], 0.0)
            kept = " and ".join(_limit_text(n, limit_values[n]) for n in others)
            hint = (
                f"with {kept}, about {least:,.0f} {targets[0]} can be reached; raise one of"
                " the limits"
            )
        except budget.Infeasible:
            pass
    return CatalogError(
        "these limits contradict each other: "
        + " and ".join(_limit_text(n, limit_values[n]) for n in names),
        hint=hint,
        exit_code=Exit.USAGE,
    )
