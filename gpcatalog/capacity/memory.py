"""Memory that a session keeps after a query over all leaves of a partitioned table.

A session caches what it has read from the catalogs for each relation and index (relation cache,
catalog caches), and its process does not free most of the memory that the execution used. On
Greenplum this happens on the coordinator and in the processes of the session on each segment. The
figures are the anonymous memory of the processes after a query minus that before the query, for
leaves with a few rows and for empty leaves; `python -m tests.bench.memory` measures them.

They are a lower bound for append-optimized leaves with data: buffers add up to 66 KB for each
column read on each segment (20 columns of 80 KB each: 1.35 MB instead of 0.21 MB, Greenplum 6.25.3
and 7.0.0). Blocks of 256 KB are freed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpcatalog.capacity.generation import Generation
from gpcatalog.capacity.limits import MIB, whole_number
from gpcatalog.capacity.model import Shape
from gpcatalog.model import generations
from gpcatalog.model.storage import Storage

SOURCE = (
    "measured: Greenplum 6.25.3 and 7.0.0, PostgreSQL 15, 18 and 19 beta 1; 200 leaves of 5 to 80"
    " columns with 0 to 2 indexes and a few rows"
)
KB = 1024


class Touch(StrEnum):
    """What a query reads from all leaves: rows without a column (count(*)), or all columns."""

    COUNT = "count"
    SELECT = "select"


@dataclass(frozen=True)
class KeptBytes:
    """Bytes that a session keeps: on the coordinator or server, and on each segment (None on
    PostgreSQL).
    """

    coordinator: int
    segment: int | None


# KB per leaf: for the leaf itself, for each column, for each index
_Parts = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """KB per leaf after count(*) and after reading all columns, on the coordinator and on a
    segment.
    """

    count: _Parts
    select: _Parts
    segment_count: _Parts | None = None
    segment_select: _Parts | None = None
    empty_count: _Parts | None = None  # for an empty leaf on a segment; None: as for a filled leaf
    empty_select: _Parts | None = None

    def parts(self, touch: Touch) -> tuple[_Parts, _Parts | None, _Parts | None]:
        """KB per leaf: on the coordinator, on a segment, on a segment if the leaf is empty."""
        if touch is Touch.COUNT:
            return self.count, self.segment_count, self.empty_count or self.segment_count
        return self.select, self.segment_select, self.empty_select or self.segment_select


_PG15 = _Figures(count=(10.9, 0.25, 5.0), select=(8.7, 0.39, 5.1))
_PG18 = _Figures(count=(11.0, 0.24, 5.1), select=(9.1, 0.37, 5.0))
_PG19 = _Figures(count=(10.2, 0.24, 4.0), select=(9.1, 0.35, 4.1))
_GREENPLUM: Mapping[str, Mapping[Storage, _Figures]] = {
    "gp6": {
        Storage.HEAP: _Figures(
            count=(10.1, 0.34, 4.0),
            select=(8.4, 0.50, 4.5),
            segment_count=(7.2, 0.11, 0.0),
            segment_select=(5.4, 0.35, 0.0),
        ),
        Storage.AO_ROW: _Figures(
            count=(36.2, 0.34, 4.7),
            select=(35.1, 0.47, 4.4),
            segment_count=(44.6, 0.09, 0.0),
            segment_select=(41.6, 0.37, 0.0),
            empty_count=(33.6, 0.09, 0.0),
            empty_select=(31.0, 0.35, 0.0),
        ),
        Storage.AO_COLUMN: _Figures(
            count=(52.8, 0.35, 4.5),
            select=(47.3, 4.57, 4.2),
            segment_count=(49.8, 0.19, 0.0),
            segment_select=(40.2, 8.50, 0.0),
            empty_count=(49.6, 0.19, 0.0),
            empty_select=(44.1, 4.46, 0.0),
        ),
    },
    "gp7": {
        Storage.HEAP: _Figures(
            count=(11.8, 0.28, 6.1),
            select=(12.0, 0.46, 5.5),
            segment_count=(10.0, 0.14, 0.0),
            segment_select=(8.4, 0.32, 0.0),
        ),
        Storage.AO_ROW: _Figures(
            count=(12.1, 0.28, 6.0),
            select=(12.3, 0.46, 5.4),
            segment_count=(85.9, 1.20, 0.0),
            segment_select=(83.8, 1.45, 0.0),
            empty_count=(48.4, 1.10, 0.0),
            empty_select=(46.2, 1.35, 0.0),
        ),
        Storage.AO_COLUMN: _Figures(
            count=(12.1, 0.28, 6.1),
            select=(12.3, 0.46, 5.4),
            segment_count=(60.2, 0.14, 0.0),
            segment_select=(49.7, 8.44, 0.0),
            empty_count=(23.8, 0.14, 0.0),
            empty_select=(17.8, 4.02, 0.0),
        ),
    },
}


def _figures(server: str, storage: Storage) -> _Figures:
    found = generations.known(server)
    if found.greenplum:
        known = _GREENPLUM["gp6" if generations.is_classic(server) else "gp7"]
        return known.get(storage, known[Storage.HEAP])
    return _PG19 if found.base >= 19 else _PG18 if found.base >= 16 else _PG15


def _bytes(parts: _Parts, shape: Shape, leaves: int) -> int:
    leaf, column, index = parts
    each = leaf + column * (shape.columns + shape.dropped) + index * len(shape.indexes)
    return round(each * KB * leaves)


def kept_bytes(
    server: Generation | str, shape: Shape, leaves: int, touch: Touch, *, empty: int = 0
) -> KeptBytes:
    """Estimated lower bound of the bytes that a session keeps after a query over all leaves of a
    table.

    empty: number of these leaves that are empty
    server: generation; the figures of the nearest measured generation are used; shape: of a leaf;
            relations without storage (external and foreign tables) count as heap.

    >>> kept_bytes("pg15", Shape(Storage.HEAP, 20), 1000, Touch.COUNT)
    KeptBytes(coordinator=16281600, segment=None)
    """
    name = server.name if isinstance(server, Generation) else server
    own, segment_parts, empty_parts = _figures(name, shape.storage).parts(touch)
    segment = None
    if segment_parts is not None and empty_parts is not None:
        segment = _bytes(segment_parts, shape, leaves - empty) + _bytes(empty_parts, shape, empty)
    return KeptBytes(_bytes(own, shape, leaves), segment)


# --- limits ---------------------------------------------------------------------------------------

# Greenplum assigns this much of statement_mem to each operator of a plan without sorts and hashes
# (gp_resqueue_memory_policy_auto_fixed_mem, a hidden setting with this default), and rejects a plan
# if its operators need more: every leaf is one operator, and a plan has at least two more
OPERATOR_BYTES = 100 * KB
OTHER_OPERATORS = 2


def plan_bytes(leaves: int) -> int:
    """Bytes of statement_mem that a plan of the Postgres planner over this number of leaves needs.

    Equal to the limits of Greenplum 6.25.3 and 7.0.0, within 0.5 % at 230 and 300 leaves, for five
    kinds of queries. A join of two tables needs at most the sum of both, and only the larger one if
    its two sides do not run at the same time. GPORCA's plans have one operator for all leaves.

    >>> plan_bytes(1278) <= 128_000 * 1024 < plan_bytes(1279)  # the default
    True
    """
    return (leaves + OTHER_OPERATORS) * OPERATOR_BYTES


def statement_mem(server: str, settings: Mapping[str, object]) -> int | None:
    """Bytes of statement_mem that limit plans, from the server's settings.

    None if plans are not limited: PostgreSQL, resource groups (they raise it for a plan that needs
    more), gp_resqueue_memory_policy = none; and if the setting was not read. A resource queue with
    a memory limit may give a statement more.

    >>> statement_mem("gp6", {"statement_mem": "128000", "gp_resource_manager": "queue"})
    131072000
    >>> statement_mem("gp7", {"statement_mem": "128000", "gp_resource_manager": "group-v2"})
    >>> statement_mem("pg18", {})
    """
    if not generations.is_greenplum(server):
        return None
    if str(settings.get("gp_resource_manager", "")).startswith("group"):
        return None
    if settings.get("gp_resqueue_memory_policy") == "none":
        return None
    found = whole_number(settings.get("statement_mem"))
    return None if found is None else found * KB


def vmem(server: str, settings: Mapping[str, object]) -> int | None:
    """Bytes that all sessions of one instance may use: gp_vmem_protect_limit of Greenplum.

    None on PostgreSQL, with resource groups (they have their own limits), and if the setting was
    not read.

    >>> vmem("gp6", {"gp_vmem_protect_limit": "8192", "gp_resource_manager": "queue"})
    8589934592
    """
    if not generations.is_greenplum(server):
        return None
    if str(settings.get("gp_resource_manager", "")).startswith("group"):
        return None
    found = whole_number(settings.get("gp_vmem_protect_limit"))
    return found * MIB if found else None
