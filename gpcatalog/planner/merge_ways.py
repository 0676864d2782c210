"""Costs of merging partitions with the scripts, and with the server's own statement."""

from __future__ import annotations

from collections.abc import Sequence

from gpcatalog.capacity.seconds import (
    DROP_SECONDS,
    MERGE_WAIT_SOURCE,
    SERVER_MERGE_WAIT,
    SWAP_WAIT,
)
from gpcatalog.model.generations import known
from gpcatalog.planner.plan import MergeWay, Source, TablePlan


def merge_ways(source: Source, tables: Sequence[TablePlan]) -> list[MergeWay]:
    """Both ways to merge partitions if the server has a statement for it; otherwise none.

    A table that is changed as a whole has no merges.
    """
    if not known(source.generation).merges_partitions:
        return []
    some = [t for t in tables if t.merges]
    if not some:
        return []
    seconds = round(sum(t.seconds - t.dropped * DROP_SECONDS for t in some), 3)
    waits = {
        "scripts": min(sum(t.merges for t in some) * SWAP_WAIT, seconds),
        "MERGE PARTITIONS": seconds * SERVER_MERGE_WAIT,
    }
    return [
        MergeWay(way=way, seconds=seconds, waiting=round(wait, 3), source=MERGE_WAIT_SOURCE)
        for way, wait in waits.items()
    ]
