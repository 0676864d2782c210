"""Gains and costs of a choice: its resources, in the same order everywhere, and their prices."""

from __future__ import annotations

import numpy as np

from gpcatalog.capacity.limits import MIB
from gpcatalog.planner.policy import Weights
from gpcatalog.planner.sets.arrays import Floats

# Resources of a choice, in this order everywhere: catalog rows and files of one segment, leaves,
# bytes rewritten on all segments, seconds, additional bytes per day that queries read on all
# segments, leaves dropped, catalog bytes on all instances (estimate), merges, leaves converted,
# cold leaves with another storage than the policy requires.
RESOURCES = (
    "rows",
    "files",
    "leaves",
    "rewrite",
    "seconds",
    "scan",
    "dropped",
    "catalog",
    "merges",
    "converted",
    "unwished",
)
ROWS, FILES, LEAVES, REWRITE, SECONDS, SCAN, DROPPED, CATALOG, MERGES, CONVERTED, OTHER_STORAGE = (
    range(len(RESOURCES))
)
# points for each cold leaf whose storage differs from the policy; with the default weights,
# rewriting 47 TiB costs the same
OTHER_STORAGE_PRICE = 1e6


def prices(weights: Weights, gain: float = 1.0, rows: float = 1.0, files: float = 1.0) -> Floats:
    """One column of prices: points per unit of each resource. The prices of the gain (rows,
    files) are multiplied by `gain`.
    """
    found = np.zeros(len(RESOURCES))
    found[ROWS], found[FILES] = weights.row * gain * rows, weights.file * gain * files
    found[REWRITE], found[SCAN], found[DROPPED] = (
        weights.rewrite / MIB,
        weights.scan / MIB,
        weights.drop,
    )
    found[OTHER_STORAGE] = OTHER_STORAGE_PRICE
    return found
