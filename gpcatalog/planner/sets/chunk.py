"""The columns that the planner uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpcatalog.planner.costs import LeafClass, Table
from gpcatalog.planner.sets.arrays import Bools, Floats, Ints
from gpcatalog.planner.sets.rates import Intervals
from gpcatalog.planner.sets.roots import Root


@dataclass(kw_only=True)
class Chunk:
    """The partition sets of some tables. All arrays are ordered: units by (table, set, axis),
    leaves by (run, lane, unit).

    A unit is a partition of the planned level. A lane is one position of a subpartition below it
    (one lane if the units are leaves). A run consists of consecutive units that may be merged. A
    set contains the units of one parent.

    Units: oid, root (index), set, low, high (axis), cal_low, cal_high (the same on the calendar),
           code (bound), leaves, bytes, segment (bytes on the fullest segment, sum of lanes), rows,
           files (catalog rows, files of one segment), catalog (estimated catalog bytes on all
           instances), locks, new_locks (on one instance, of its removal and of a new one
           like it), rate (queries per day for it alone), scanned (bytes that one query reads now),
           why (KeepReason), empty, droppable, unknown
    Leaves: leaf_oid, leaf_unit, leaf_class, leaf_bytes (-1 unknown), leaf_segment, leaf_filled (1,
            0, -1 unknown), leaf_files (on one segment)
    Runs: run_unit (first unit), run_length, run_lanes, run_leaf (first leaf)
    """

    roots: list[Root]
    table: Table
    classes: list[LeafClass]
    oid: npt.NDArray[np.uint32]
    root: npt.NDArray[np.int32]
    set: npt.NDArray[np.int32]
    low: Ints
    high: Ints
    cal_low: Ints
    cal_high: Ints
    code: Ints
    leaves: Ints
    bytes: Floats
    segment: Floats
    rows: Floats
    files: Floats
    catalog: Floats
    locks: Floats
    new_locks: Floats
    rate: Floats
    scanned: Floats
    why: npt.NDArray[np.int8]
    empty: Bools
    droppable: Bools
    unknown: Bools
    run: npt.NDArray[np.int32]
    run_unit: Ints
    run_length: Ints
    run_lanes: Ints
    run_leaf: Ints
    leaf_oid: npt.NDArray[np.uint32]
    leaf_unit: Ints
    leaf_class: npt.NDArray[np.int32]
    leaf_bytes: Floats
    leaf_segment: Floats
    leaf_filled: npt.NDArray[np.int8]
    leaf_files: Floats
    hot_edge: Ints  # by unit: units that end after it are not changed
    intervals: dict[int, Intervals]
    block: int
