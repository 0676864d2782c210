"""The cost of tables of one shape in each storage type of the server: the result that `gpcatalog
estimate` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from gpcatalog.capacity import durations, limits, memory
from gpcatalog.capacity.cost import Cluster, tree_cost
from gpcatalog.capacity.generation import Generation, generation
from gpcatalog.capacity.limits import MIB, Limit
from gpcatalog.capacity.locks import Statement, foreign_key_locks, locks
from gpcatalog.capacity.model import FILLED, Place, Shape, known, relation_files
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.storage import Storage

SCHEMA = "gpcatalog.estimate/1"


class Files(msgspec.Struct, frozen=True):
    """Files in four states: without rows; with rows of one writer in every leaf; with rows of two
    writers at the same time; with rows of one writer after VACUUM.
    """

    empty: int
    filled: int
    second_writer: int
    vacuumed: int


class LocksHeld(msgspec.Struct, frozen=True):
    """Relations that a statement over one whole table has locked at its end, on the coordinator and
    on each segment.
    """

    statement: str
    coordinator: int
    segment: int


class SessionMemory(msgspec.Struct, frozen=True):
    """Estimated bytes that a session keeps after a query over all leaves of one table, on the
    coordinator or server and on each segment (None on PostgreSQL).

    reads: "count" (rows only, as for count(*)) or "select" (all columns)
    """

    reads: str
    coordinator: int
    segment: int | None


class Removal(msgspec.Struct, frozen=True):
    """Duration of removing files: files / files_per_second, on one file system without other
    load.
    """

    files: int
    files_per_second: float
    seconds: float
    source: str


class Rates(msgspec.Struct, frozen=True):
    """Measured rates of creating and removing small files, in files per second, and the number of
    files of the measurement.
    """

    path: str
    files: int
    created_per_second: float
    removed_per_second: float


class StorageCost(msgspec.Struct, kw_only=True, frozen=True):
    """The cost of all tables in one storage type.

    coordinator, segment: rows by catalog, on the coordinator and on each segment; *_rows: their
                          sums
    coordinator_bytes, segment_bytes: catalog bytes on one of them; cluster_bytes: on all; estimates
    segment_files:  on one segment; cluster_files: on all instances, mirrors and coordinator
                    included
    host_files:     on one segment host, filled, mirrors included; None if the number of hosts is
                    unknown
    empty_bytes:    bytes of files without a row, on one instance; cluster_empty_bytes: on all
    times_heap:     ratio of the filled files of a leaf (or plain table) to those of heap
    removal:        removal of the filled files of one segment, as in DROP or a rewrite
    seconds:        of statements on one table with empty leaves, by `durations.Action`; estimates
    """

    storage: str
    coordinator: dict[str, int]
    segment: dict[str, int]
    coordinator_rows: int
    segment_rows: int
    coordinator_bytes: int
    segment_bytes: int
    cluster_bytes: int
    segment_files: Files
    cluster_files: Files
    host_files: int | None
    empty_bytes: int
    cluster_empty_bytes: int
    times_heap: float
    locks: list[LocksHeld]
    removal: list[Removal]
    memory: list[SessionMemory] = []
    seconds: dict[str, float] = {}


class Estimate(msgspec.Struct, kw_only=True, frozen=True):
    """An estimate. Rows, files and locks are counts of the cost model; bytes and seconds are
    estimates.

    server: generation; source: origin of the counts; measured: whether they were counted on a live
            server of exactly this generation
    leaves, intermediates: of one table; leaf_rows: rows of pg_class and pg_attribute for all leaves
                           of all tables, per instance
    storages: the requested storage first
    """

    server: str
    title: str
    source: str
    bytes_source: str
    measured: bool
    table: str
    tables: int
    leaves: int
    intermediates: int
    columns: int
    dropped: int
    not_null: int
    defaults: int
    checks: int
    toastable: bool
    indexes: int
    segments: int
    mirrors: bool
    hosts: int | None
    leaf_rows: dict[str, int]
    storages: list[StorageCost]
    query_ms: float
    query_source: str
    notes: list[str]
    unlink_rate: Rates | None = None
    schema: str = SCHEMA


def _rounded_rows(rows: Mapping[str, float]) -> dict[str, int]:
    return {
        catalog: round(n)
        for catalog, n in sorted(rows.items(), key=lambda item: (-item[1], item[0]))
    }


def _in_storage(relations: Mapping[Shape, int], storage: Storage) -> dict[Shape, int]:
    """Return the same relations in another storage."""
    found: dict[Shape, int] = {}
    for shape, number in relations.items():
        moved = replace(shape, storage=storage)
        found[moved] = found.get(moved, 0) + number
    return found


def _leaf(relations: Mapping[Shape, int]) -> Shape:
    """The shape of most leaves (or plain tables)."""
    data = {shape: n for shape, n in relations.items() if not shape.place.parent} or relations
    return max(data, key=lambda shape: data[shape])


def _held(
    gen: Generation, relations: Mapping[Shape, int], leaf: Shape, tables: int, foreign_keys: int
) -> list[LocksHeld]:
    """Locks of statements over one of the tables."""
    of_one = {shape: n // tables for shape, n in relations.items()}
    leaves, intermediates = (
        sum(n for shape, n in of_one.items() if shape.place is place)
        for place in (Place.LEAF, Place.INTERMEDIATE)
    )
    foreign = foreign_keys * foreign_key_locks(gen.name, sum(of_one.values()))
    held = locks(gen, leaf, leaves, intermediates, relations=of_one)
    coordinator, segment = held[Statement.DROP]
    held[Statement.DROP] = coordinator + foreign, segment + foreign
    return [LocksHeld(statement.value, *numbers) for statement, numbers in held.items()]


def _storage_cost(
    gen: Generation,
    relations: Mapping[Shape, int],
    leaf: Shape,
    cluster: Cluster,
    hosts: int | None,
    tables: int,
    level: int,
    rates: Iterable[Limit],
    foreign_keys: int,
) -> StorageCost:
    cost = tree_cost(gen, relations)
    on_segment = [cost.files, cost.filled, cost.second_writer, cost.vacuumed]
    leaves = sum(n for shape, n in relations.items() if shape.place is Place.LEAF)
    filled = relation_files(gen, leaf, FILLED)
    removal = [
        Removal(
            round(cost.filled),
            rate.value,
            limits.removal_seconds(cost.filled, rate),
            f"{rate.source}{', ' if rate.note else ''}{rate.note}",
        )
        for rate in rates
    ]
    heap = relation_files(gen, replace(leaf, storage=Storage.HEAP), FILLED)
    return StorageCost(
        storage=leaf.storage.value,
        coordinator=_rounded_rows(cost.coordinator),
        segment=_rounded_rows(cost.segment),
        coordinator_rows=round(sum(cost.coordinator.values())),
        segment_rows=round(sum(cost.segment.values())),
        coordinator_bytes=round(cost.coordinator_bytes),
        segment_bytes=round(cost.segment_bytes),
        cluster_bytes=round(cluster.catalog_bytes(cost)),
        segment_files=Files(*map(round, on_segment)),
        cluster_files=Files(*(round(cluster.files(cost.files, n)) for n in on_segment)),
        host_files=(
            round(cost.filled * cluster.data_instances / hosts)
            if hosts and cluster.segments
            else None
        ),
        empty_bytes=round(cost.empty_bytes),
        cluster_empty_bytes=round(
            cost.empty_bytes * (cluster.entry_instances + cluster.data_instances)
        ),
        times_heap=filled / heap,
        locks=_held(gen, relations, leaf, tables, foreign_keys),
        removal=removal,
        memory=[
            SessionMemory(touch.value, keeps.coordinator, keeps.segment)
            for touch in memory.Touch
            if leaves
            for keeps in [memory.kept_bytes(gen, leaf, leaves // tables, touch)]
        ],
        seconds={
            action.value: round(took, 4)
            for action in durations.Action
            if leaves or action not in durations.OF_PARTITIONS
            for took in [durations.seconds(gen, leaf, action, leaves // tables, widest=level)]
            if took is not None
        },
    )


def _notes(
    gen: Generation, costs: list[StorageCost], leaves: int, level: int, tables: int, segments: int
) -> list[str]:
    found = []
    if not gen.measured:
        found.append(f"{gen.title}: {gen.source}")
    if leaves > limits.LEAVES_PER_TABLE.value:
        limit = limits.LEAVES_PER_TABLE
        found.append(
            f"{leaves:,} leaves per table exceed {limit.value:,}, the {limit.note} ({limit.source})"
        )
    if level > limits.LEAVES_PER_LEVEL.value and gen.greenplum:
        limit = limits.LEAVES_PER_LEVEL
        found.append(
            f"{level:,} partitions of one parent exceed {limit.value:,}, the {limit.note}"
            f" ({limit.source})"
        )
    needed = memory.plan_bytes(leaves)
    if gen.greenplum and needed > limits.STATEMENT_MEM.value:
        found.append(
            f"a query over all leaves of one table needs statement_mem of {-(-needed // MIB):,} MB"
            " with the Postgres planner (100 KB per leaf); the default is"
            f" {limits.STATEMENT_MEM.value / MIB:,.0f} MB ({limits.STATEMENT_MEM.source})"
        )
    chosen = costs[0]
    ceiling = {"ao_column": limits.LEAVES_CEILING_AOCO, "ao_row": limits.LEAVES_CEILING_AO_ROW}.get(
        chosen.storage
    )
    if ceiling and leaves * tables > ceiling.value:
        found.append(
            f"{leaves * tables:,} leaves exceed the published ceiling of {ceiling.value:,}"
            f" ({ceiling.note}; {ceiling.source})"
        )
    for cost in costs:
        if cost.host_files is not None and cost.host_files > limits.FILES_PER_HOST.value:
            limit = limits.FILES_PER_HOST
            found.append(
                f"{cost.storage}: {cost.host_files:,} files per segment host when filled exceed"
                f" the guideline of {limit.value:,} ({limit.source})"
            )
    if gen.greenplum and not segments:
        found.append(
            "--segments is not given: figures for all instances include only the coordinator"
        )
    return found


def _storages(
    gen: Generation, relations: Mapping[Shape, int], leaf: Shape
) -> Iterator[tuple[Shape, Mapping[Shape, int]]]:
    """Yield the shape of most leaves with all relations unchanged, then both for each other storage
    type that the server has and the indexes allow.
    """
    yield leaf, relations
    for storage in (Storage.AO_COLUMN, Storage.AO_ROW, Storage.HEAP):
        if storage not in gen.storages or storage is leaf.storage:
            continue
        shape = replace(leaf, storage=storage)
        try:
            known(gen, shape)
        except CatalogError:
            continue  # a unique index, which this storage does not support
        yield shape, _in_storage(relations, storage)


def estimate(
    server: Generation | str,
    relations: Mapping[Shape, int],
    *,
    segments: int,
    mirrors: bool = False,
    hosts: int | None = None,
    tables: int = 1,
    table: str = "",
    level: int = 0,
    rates: Rates | None = None,
    foreign_keys: int = 0,
    notes: Iterable[str] = (),
) -> Estimate:
    """Estimate the cost of tables given as shapes with their number.

    relations: of all tables together (`tree` times the number of tables); the storage of most
               relations is the first in the result, then the others of the server
    segments:  primaries; mirrors: each has one; hosts: segment hosts, None if unknown
    level:     most partitions of one parent, for the limit of one level
    rates:     measured removal rates; None: the published rates are used
    foreign_keys: of each table, for the locks of DROP; notes: others for the result
    Raises CatalogError (usage) for a shape that the server does not support, or invalid numbers.
    """
    gen = server if isinstance(server, Generation) else generation(server)
    if not relations or tables < 1:
        raise CatalogError("nothing to estimate: the number of tables is 0", exit_code=Exit.USAGE)
    leaf = _leaf(relations)
    known(gen, leaf)
    if segments < 0 or (hosts is not None and hosts < 1):
        raise CatalogError(
            f"segments must be 0 or more and hosts 1 or more, not {segments} and {hosts}",
            exit_code=Exit.USAGE,
        )
    cluster = Cluster(segments if gen.greenplum else 0, mirrors)
    used: Iterable[Limit] = limits.REMOVAL_RATES
    if rates is not None:
        used = [
            Limit("unlink-rate", rates.removed_per_second, "files/s", f"measured in {rates.path}")
        ]
    costs = [
        _storage_cost(gen, stored, shape, cluster, hosts, tables, level, used, foreign_keys)
        for shape, stored in _storages(gen, relations, leaf)
    ]
    leaves = sum(n for shape, n in relations.items() if shape.place is Place.LEAF)
    alone = tree_cost(
        gen, {shape: n for shape, n in relations.items() if shape.place is Place.LEAF}
    )
    query = limits.catalog_query_ms(leaves or tables)
    return Estimate(
        server=gen.name,
        title=gen.title,
        source=gen.source,
        bytes_source=gen.row_bytes_source,
        measured=gen.measured,
        table=table,
        tables=tables,
        leaves=leaves // tables,
        intermediates=sum(n for shape, n in relations.items() if shape.place is Place.INTERMEDIATE)
        // tables,
        columns=leaf.columns,
        dropped=leaf.dropped,
        not_null=leaf.not_null,
        defaults=leaf.defaults,
        checks=leaf.checks,
        toastable=leaf.toastable,
        indexes=len(leaf.indexes),
        segments=cluster.segments,
        mirrors=mirrors,
        hosts=hosts,
        leaf_rows=(
            {
                catalog: round(alone.segment.get(catalog, 0))
                for catalog in ("pg_class", "pg_attribute")
            }
            if leaves
            else {}
        ),
        storages=costs,
        query_ms=query.value,
        query_source=query.source,
        notes=[*_notes(gen, costs, leaves // tables, level, tables, cluster.segments), *notes],
        unlink_rate=rates,
    )
