"""The cost model: catalog rows, bytes and files of a relation, from its shape and the server
generation.

All functions are pure and linear: the cost of a thousand leaves is a thousand times the cost of
one. The numbers were counted on live servers. tests/capacity/test_matrix.py checks that the
model returns exactly the counted numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil

from gpcatalog.capacity.generation import (
    BITMAP_MORE_COLUMNS,
    BITMAP_PAGES,
    BLOCK_DIRECTORY_COLUMNS,
    BLOCK_DIRECTORY_INDEX_COLUMNS,
    TOAST_COLUMNS,
    TOAST_INDEX_COLUMNS,
    VISIMAP_COLUMNS,
    VISIMAP_INDEX_COLUMNS,
    Generation,
    generation,
)
from gpcatalog.capacity.limits import GIB
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.storage import Storage

# for a catalog with too few rows to measure their size; an estimate
UNMEASURED_ROW_BYTES = 250


class Instance(StrEnum):
    """The kind of instance that stores rows. PostgreSQL has one instance: both values mean this
    one.
    """

    COORDINATOR = "coordinator"
    SEGMENT = "segment"


class Place(StrEnum):
    """The place of a relation in a partition tree."""

    PLAIN = "plain"
    ROOT = "root"
    INTERMEDIATE = "intermediate"
    LEAF = "leaf"

    @property
    def child(self) -> bool:
        """Whether the relation has a parent."""
        return self in (Place.INTERMEDIATE, Place.LEAF)

    @property
    def parent(self) -> bool:
        """Whether the relation has partitions."""
        return self in (Place.ROOT, Place.INTERMEDIATE)


@dataclass(frozen=True)
class Index:
    """One index: number of (distinct, plain) columns, and whether a primary key or unique
    constraint owns it.

    depends:  pg_depend rows beyond one per column, for example for a predicate or an expression
    bitmap:   Greenplum: a bitmap index, which has a heap of its distinct values with a btree index
    attached: on a partition: the index belongs to an index of the parent
    """

    columns: int = 1
    constraint: bool = False
    depends: int = 0
    bitmap: bool = False
    attached: bool = True


@dataclass(frozen=True)
class Shape:
    """The properties of a relation that determine its costs.

    storage:     of the relation; also of roots, whose leaves inherit it
    columns:     live user columns
    _: KW_ONLY
    toastable:   its columns require a TOAST relation (see `needs_toast`)
    dropped:     dropped columns, which keep their catalog rows and their column files
    indexes:     one Index each
    place:       plain, root, intermediate or leaf
    bounds:      leaf and intermediate: how many partitions on the path from below the root to this
                 relation, including itself, have bounds (are not default partitions); each has a
                 CHECK constraint on Greenplum 6. A default partition of one level has 0
    key_columns: partition key columns of one level
    levels:      root: levels of partitions below it
    templates:   root: number of parts in each SUBPARTITION TEMPLATE
    depends:     pg_depend rows of its defaults and CHECKs beyond one per default and two per CHECK:
                 for generated columns, sequences, …
    not_null, defaults, checks: number of NOT NULL columns (including those of a primary key), of
        columns with a default, of CHECK constraints on one column
    exchanged:   a leaf that was created as a plain table: it has an array type even if heap leaves
                 of this server have none
    owned:       owned by a role that is not the bootstrap superuser (rows in pg_shdepend)
    unlogged:    each file of an empty relation also has an init fork, from which it is reset after
                 a crash
    analyzed:    ANALYZE has written statistics for every live column
    """

    storage: Storage
    columns: int
    toastable: bool = False
    dropped: int = 0
    indexes: tuple[Index, ...] = ()
    place: Place = Place.PLAIN
    bounds: int = 1
    key_columns: int = 1
    levels: int = 1
    templates: tuple[int, ...] = ()
    not_null: int = 0
    defaults: int = 0
    checks: int = 0
    depends: int = 0
    exchanged: bool = False
    owned: bool = False
    unlogged: bool = False
    analyzed: bool = False


@dataclass(frozen=True, kw_only=True)
class Use:
    """The state of a relation's storage on one segment.

    rows:     rows were inserted
    segfiles: ao segfile numbers in use, from 1 on: the number of concurrent writers
    segment_zero: rows written by the transaction that created the table (CREATE TABLE AS): they are
                  stored in segfile 0
    hidden:   ao segfiles of which more than a tenth of the rows were deleted before VACUUM ran
    vacuumed: VACUUM has run since rows were inserted
    bytes:    heap: bytes of the main fork; 0 counts as one page
    """

    rows: bool = False
    segfiles: int = 1
    segment_zero: bool = False
    hidden: int = 0
    vacuumed: bool = False
    bytes: int = 0


EMPTY = Use()
FILLED = Use(rows=True)
SECOND_WRITER = Use(rows=True, segfiles=2)
VACUUMED = Use(rows=True, vacuumed=True)


def known(server: Generation | str, shape: Shape) -> Generation:
    """Return the generation after checking that it supports such a shape.

    Raises CatalogError (usage) with the reason.
    """
    gen = server if isinstance(server, Generation) else generation(server)
    if shape.storage not in gen.storages:
        raise CatalogError(
            f"{gen.title} does not support {shape.storage} tables",
            hint="supported: " + ", ".join(gen.storages),
            exit_code=Exit.USAGE,
        )
    if not 0 <= shape.columns + shape.dropped <= 1600:
        raise CatalogError(
            "a table can have 0 to 1600 columns, including dropped ones, not"
            f" {shape.columns + shape.dropped}",
            exit_code=Exit.USAGE,
        )
    if (
        gen.rule_catalogs
        and shape.storage.append_optimized
        and any(x.constraint for x in shape.indexes)
    ):
        raise CatalogError(
            f"{gen.title} does not support unique indexes on {shape.storage} tables",
            hint="use --index instead of --unique",
            exit_code=Exit.USAGE,
        )
    return gen


# --- catalog rows ---------------------------------------------------------------------------------


def _stored(gen: Generation, shape: Shape) -> bool:
    """Whether the relation has files and auxiliary relations."""
    return gen.root_is_table or not shape.place.parent


def toasted(gen: Generation, shape: Shape) -> bool:
    """Whether the relation has a TOAST relation."""
    return shape.toastable and shape.storage in gen.toast and _stored(gen, shape)


def _auxiliary(
    gen: Generation, rows: Counter[str], columns: int, index_columns: int | None
) -> None:
    """Add one auxiliary relation and its index, if any. The relation depends on the table, the
    index on the columns of the relation.
    """
    rows["pg_class"] += 1
    rows["pg_attribute"] += columns + gen.heap_system_columns
    rows["pg_depend"] += 1
    if gen.row_type_of_aux:
        rows["pg_type"] += 1
        rows["pg_depend"] += 1
    if index_columns is not None:
        rows["pg_class"] += 1
        rows["pg_index"] += 1
        rows["pg_attribute"] += index_columns
        rows["pg_depend"] += index_columns


def _own_rows(gen: Generation, rows: Counter[str], shape: Shape) -> None:
    """Add the rows of the relation itself: its columns and row type."""
    attributes = shape.columns + shape.dropped
    rows["pg_class"] = 1
    rows["pg_attribute"] = attributes + gen.system_columns[shape.storage]
    rows["pg_type"] = 1
    rows["pg_depend"] = 2  # the row type depends on the relation, the relation on its schema
    if shape.storage is Storage.HEAP and (
        gen.array_type_of_leaf or shape.exchanged or not shape.place.child
    ):
        rows["pg_type"] += 1
        rows["pg_depend"] += 1
    if gen.greenplum:
        rows["gp_distribution_policy"] = 1
    if shape.storage is Storage.AO_COLUMN:
        rows["pg_attribute_encoding"] = attributes


def _auxiliary_rows(
    gen: Generation, rows: Counter[str], shape: Shape, *, use: Use, on_segment: bool
) -> None:
    """Add the rows of auxiliary relations: TOAST, and those of an append-optimized table."""
    if toasted(gen, shape):
        _auxiliary(gen, rows, TOAST_COLUMNS, TOAST_INDEX_COLUMNS)
    if not shape.storage.append_optimized or not _stored(gen, shape):
        return
    _auxiliary(gen, rows, gen.segment_columns[shape.storage], None)
    _auxiliary(gen, rows, VISIMAP_COLUMNS, VISIMAP_INDEX_COLUMNS)
    rows["pg_appendonly"] = 1
    rows["gp_fastsequence"] = gen.fastsequence
    if shape.indexes:
        _auxiliary(gen, rows, BLOCK_DIRECTORY_COLUMNS, BLOCK_DIRECTORY_INDEX_COLUMNS)
    if use.rows and (on_segment or gen.coordinator_segment_list):
        # the coordinator records the segfiles with rows, but not the empty one that VACUUM opens
        numbers = (
            _segfiles(gen, use)
            if on_segment
            else use.segfiles + (use.hidden if use.vacuumed else 0)
        )
        rows["gp_fastsequence"] += max(0, numbers - gen.fastsequence_first)


def _index_rows(gen: Generation, rows: Counter[str], shape: Shape) -> None:
    """Add the rows of indexes and of the constraints that own them."""
    for index in shape.indexes:
        rows["pg_class"] += 1
        rows["pg_index"] += 1
        rows["pg_attribute"] += index.columns
        rows["pg_depend"] += index.columns + index.depends
        if index.constraint:
            rows["pg_constraint"] += 1
            rows["pg_depend"] += 1
        if shape.place.child and index.attached:
            rows["pg_inherits"] += 1
            rows["pg_depend"] += (
                gen.leaf_constraint_depend if index.constraint else gen.leaf_index_depend
            )
        if index.bitmap and _stored(gen, shape):
            _auxiliary(gen, rows, index.columns + BITMAP_MORE_COLUMNS, index.columns)


def _constraint_rows(gen: Generation, rows: Counter[str], shape: Shape) -> None:
    """Add the rows of defaults, CHECK and NOT NULL constraints."""
    rows["pg_attrdef"] += shape.defaults
    rows["pg_depend"] += shape.defaults
    rows["pg_constraint"] += shape.checks
    rows["pg_depend"] += 2 * shape.checks + shape.depends
    if gen.not_null_constraints:
        rows["pg_constraint"] += shape.not_null
        rows["pg_depend"] += shape.not_null


def _partition_rows(gen: Generation, rows: Counter[str], shape: Shape) -> None:
    """Add the rows that make it a partition of its parent or a partitioned table, except the
    partition rules of the coordinator.
    """
    if shape.place.child:
        rows["pg_inherits"] += 1
        rows["pg_depend"] += 1
        if (
            gen.rule_catalogs
        ):  # bounds are CHECK constraints: a child has its own and those of its ancestors
            rows["pg_constraint"] += shape.bounds
            rows["pg_depend"] += 2 * shape.bounds * shape.key_columns
    if shape.place.parent and not gen.rule_catalogs:
        rows["pg_partitioned_table"] = 1
        rows["pg_depend"] += shape.key_columns


def _owners(gen: Generation, shape: Shape) -> int:
    """Number of relations that depend on the owner: the table, and all auxiliary relations of an
    append-optimized table except TOAST.
    """
    if not shape.storage.append_optimized or not _stored(gen, shape):
        return 1
    return 4 if shape.indexes else 3


def _coordinator_rows(gen: Generation, rows: Counter[str], shape: Shape, *, use: Use) -> None:
    """Add the rows that only Greenplum's coordinator has: last operations, partition rules,
    templates.
    """
    # CREATE, PARTITION of a child, one per index, ANALYZE, VACUUM
    rows["pg_stat_last_operation"] = 1 + shape.place.child + len(shape.indexes) + shape.analyzed
    rows["pg_stat_last_operation"] += use.vacuumed and _stored(gen, shape)
    if gen.rule_catalogs:
        if shape.place is Place.ROOT:
            rows["pg_partition"] = shape.levels + len(shape.templates)
            rows["pg_partition_rule"] = sum(shape.templates)
        elif shape.place.child:
            rows["pg_partition_rule"] = 1
    elif shape.place is Place.ROOT:
        rows["gp_partition_template"] = len(shape.templates)


def relation_rows(
    server: Generation | str,
    shape: Shape,
    instance: Instance | str = Instance.SEGMENT,
    use: Use = EMPTY,
) -> dict[str, int]:
    """Number of rows that one relation, with its auxiliary relations and indexes, has in every
    catalog of one instance.

    Catalogs without rows are left out. Of `use`, only ao segfiles and VACUUM affect the number of
    rows. Raises CatalogError (usage) for a shape that the server does not support.

    >>> relation_rows("gp6", Shape(Storage.AO_COLUMN, 100))["pg_attribute"]
    133
    """
    gen = known(server, shape)
    on_segment = instance == Instance.SEGMENT and gen.greenplum
    rows: Counter[str] = Counter()
    _own_rows(gen, rows, shape)
    _auxiliary_rows(gen, rows, shape, use=use, on_segment=on_segment)
    _index_rows(gen, rows, shape)
    _constraint_rows(gen, rows, shape)
    _partition_rows(gen, rows, shape)
    if shape.owned:
        rows["pg_shdepend"] = _owners(gen, shape)
    if shape.analyzed and (
        not on_segment or (gen.statistics_on_segments and not shape.place.parent)
    ):
        rows["pg_statistic"] = shape.columns
    if on_segment:
        rows["pg_stat_last_operation"] = (
            len(shape.indexes) if gen.index_operation_on_segments else 0
        )
    elif gen.greenplum:
        _coordinator_rows(gen, rows, shape, use=use)
    return {catalog: n for catalog, n in rows.items() if n}


def catalog_bytes(server: Generation | str, rows: Mapping[str, float]) -> float:
    """Estimated bytes that these catalog rows take on one instance, including their share of the
    indexes of the catalogs.

    Live rows only, without bloat. Source: `Generation.row_bytes_source`.
    """
    gen = server if isinstance(server, Generation) else generation(server)
    return sum(n * gen.row_bytes.get(catalog, UNMEASURED_ROW_BYTES) for catalog, n in rows.items())


# --- files ----------------------------------------------------------------------------------------


def _segfiles(gen: Generation, use: Use) -> int:
    """Number of segfiles, from number 1 on, that a filled ao relation has on a segment."""
    if not use.vacuumed:
        return use.segfiles
    if gen.vacuum_opens_segfile:
        # one to compact each segfile into, and one more if there was a segfile that was not
        # compacted
        return use.segfiles + use.hidden + (1 if use.hidden < use.segfiles else 0)
    return use.segfiles + (1 if use.hidden else 0)


def relation_files(
    server: Generation | str,
    shape: Shape,
    use: Use = EMPTY,
    instance: Instance | str = Instance.SEGMENT,
) -> int:
    """Number of files of one relation, its auxiliary relations, indexes and forks on one instance.

    TOAST is assumed to be empty, and each index to have one file; a heap's free space map exists
    from its second page on, or after VACUUM. Rows of tables are stored on segments only:
    Greenplum's coordinator has only the empty files.

    >>> [relation_files("gp6", Shape(Storage.AO_COLUMN, 100), use) for use in (EMPTY, FILLED, SECOND_WRITER)]
    [4, 104, 204]
    """
    gen = known(server, shape)
    if not _stored(gen, shape):
        return 0
    ao = shape.storage.append_optimized
    files = 1 + sum(3 if index.bitmap else 1 for index in shape.indexes)
    files += 2 if toasted(gen, shape) else 0
    if ao:
        files += 3 + (2 if shape.indexes else 0)
    if shape.unlogged:
        files *= 2
    if gen.greenplum and instance == Instance.COORDINATOR:
        return files + (
            2 if ao and gen.coordinator_segment_list and use.rows and use.vacuumed else 0
        )
    if not use.rows:
        return files
    if not ao:
        files += max(1, ceil(use.bytes / GIB)) - 1
        if use.vacuumed:
            return files + 2  # _fsm, _vm
        return files + (1 if use.bytes > gen.block else 0)
    # ao_column has one file per column, dropped ones included, for every segfile number
    each = shape.columns + shape.dropped if shape.storage is Storage.AO_COLUMN else 1
    numbers = _segfiles(gen, use)
    if use.segment_zero:
        files += each - 1  # segfile 0 of the first column is the relation's bare file
    files += numbers * each
    if use.vacuumed:
        # forks of the segment file list, the block directory and a visibility map that contains
        # rows
        files += 2 + (2 if shape.indexes else 0) + (2 if use.hidden else 0)
    return files


def empty_bytes(server: Generation | str, shape: Shape) -> int:
    """Bytes on one instance of the files of an empty relation: one page for each btree index, three
    for a bitmap index.

    >>> empty_bytes("gp6", Shape(Storage.AO_COLUMN, 100, toastable=True))
    65536
    >>> empty_bytes("gp6", Shape(Storage.HEAP, 1, indexes=(Index(bitmap=True),), unlogged=True)) // 32768
    6
    """
    gen = known(server, shape)
    if not _stored(gen, shape):
        return 0
    pages = sum(BITMAP_PAGES if index.bitmap else 1 for index in shape.indexes) + toasted(
        gen, shape
    )
    if shape.storage.append_optimized:
        pages += 1 + bool(shape.indexes)  # visibility map, block directory
    return pages * gen.block * (2 if shape.unlogged else 1)


# --- trees ----------------------------------------------------------------------------------------


def tree(
    shape: Shape,
    parts: Iterable[int],
    *,
    defaults: Iterable[bool] = (),
    templates: tuple[int, ...] = (),
) -> dict[Shape, int]:
    """Return all relations of a partitioned table as shapes with their number: the root, the
    intermediates, the leaves.

    shape:     columns, storage, indexes … of all of them; its place is ignored
    parts:     number of partitions with bounds of one parent, for each level: (365,) or (12, 31)
    defaults:  whether each level has an additional default partition
    templates: number of parts of each SUBPARTITION TEMPLATE

    >>> for relation, number in tree(Shape(Storage.HEAP, 3), (12, 31), defaults=(True, False)).items():
    ...     print(relation.place, relation.bounds, number)
    root 0 1
    intermediate 1 12
    intermediate 0 1
    leaf 2 372
    leaf 1 31
    """
    levels = list(parts)
    with_default = [*defaults, *[False] * len(levels)][: len(levels)]
    if not levels or any(n < 0 for n in levels):
        raise CatalogError(
            f"the number of partitions in each level must be 0 or more, not {levels}",
            exit_code=Exit.USAGE,
        )
    found: dict[Shape, int] = {
        replace(shape, place=Place.ROOT, bounds=0, levels=len(levels), templates=templates): 1
    }
    parents: dict[int, int] = {0: 1}  # number of bounds on the path -> number of relations
    for depth, (n, default) in enumerate(zip(levels, with_default, strict=True), 1):
        place = Place.LEAF if depth == len(levels) else Place.INTERMEDIATE
        children: Counter[int] = Counter()
        for bounds, number in parents.items():
            children[bounds + 1] += number * n
            children[bounds] += number * default
        for bounds, number in children.items():
            if number:
                child = replace(shape, place=place, bounds=bounds, levels=1, templates=())
                found[child] = (
                    found.get(child, 0) + number
                )  # below a default partition, shapes of several levels can be equal
        parents = {bounds: number for bounds, number in children.items() if number}
    return found
