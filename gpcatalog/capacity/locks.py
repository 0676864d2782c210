"""The cost model: locks of statements over a whole table, from the shapes of its relations and the
server generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache

from gpcatalog.capacity.generation import Generation, generation
from gpcatalog.capacity.model import Place, Shape, known, relation_rows, toasted
from gpcatalog.model.storage import Storage


class Statement(StrEnum):
    """Statements whose locks are calculated."""

    CREATE = "create"
    SELECT = "select"
    INSERT = "insert"
    TRUNCATE = "truncate"
    DROP = "drop"
    BACKUP = "backup"  # pg_dump: LOCK TABLE … IN ACCESS SHARE MODE


LOCKED_OBJECTS = (
    "pg_type",
    "pg_constraint",
    "pg_attrdef",
    "pg_trigger",
    "pg_rewrite",
    "pg_statistic_ext",
)
"""Catalogs whose rows DROP locks one by one, like relations (AcquireDeletionLock in dependency.c)."""


def object_locks(rows: Mapping[str, float]) -> float:
    """Number of locks of DROP of one table outside a tree of partitions, which has these rows in the
    catalogs: on its relations, row types, constraints, defaults, triggers and rules.

    >>> object_locks({"pg_class": 3, "pg_type": 2, "pg_attribute": 20})
    5
    """
    return sum(rows.get(catalog, 0) for catalog in ("pg_class", *LOCKED_OBJECTS))


@lru_cache(maxsize=1024)
def _drop_locks_of_one(gen: str, shape: Shape) -> int:
    rows = relation_rows(gen, shape)
    found = int(object_locks(rows))
    if not known(gen, shape).drop_locks_leaves and shape.place not in (Place.PLAIN, Place.ROOT):
        # only dropping a default locks its table
        found -= rows["pg_class"] - bool(shape.defaults)
    return found


def drop_locks(server: Generation | str, relations: Mapping[Shape, int]) -> int:
    """Number of locks that DROP of these relations holds on each instance: on relations, and on
    their row types, constraints and defaults. relations: their shapes, and how many have each.

    >>> drop_locks("pg18", {Shape(Storage.HEAP, 2, not_null=1): 1})
    4
    """
    name = server if isinstance(server, str) else server.name
    return sum(_drop_locks_of_one(name, shape) * n for shape, n in relations.items())


def _typical_tree(shape: Shape, leaves: int, intermediates: int) -> dict[Shape, int]:
    """The relations of a partitioned table without default partitions, and how many there are."""
    depth = 2 if intermediates else 1
    return {
        replace(shape, place=Place.ROOT, bounds=0, levels=depth): 1,
        replace(shape, place=Place.INTERMEDIATE, bounds=1): intermediates,
        replace(shape, place=Place.LEAF, bounds=depth): leaves,
    }


def locks(
    server: Generation | str,
    shape: Shape,
    leaves: int = 0,
    intermediates: int = 0,
    *,
    filled: bool = True,
    relations: Mapping[Shape, int] | None = None,
) -> dict[Statement, tuple[int, int]]:
    """Number of locks at the end of a statement over a whole table: (coordinator, segment),
    heavyweight locks on the relations of the table, and for DROP also on its other objects.

    leaves, intermediates: 0 for a table without partitions; filled: the table already contains
    rows; relations: all relations of the table, None for a table without default partitions

    SELECT and INSERT are assumed to access every leaf (a pruned statement locks fewer). Locks that
    are released before the end of the statement, such as those on the indexes of a leaf that is
    written, are not included, nor are locks on catalogs or those of an automatic ANALYZE. Counted
    with the planner of PostgreSQL (optimizer=off) and the global deadlock detector off. For
    PostgreSQL, both numbers are the same.

    >>> locks("gp6", Shape(Storage.HEAP, 5), leaves=1000)[Statement.SELECT]
    (1001, 1000)
    """
    gen = known(server, shape)
    indexes = len(shape.indexes)
    shape = replace(shape, place=Place.PLAIN)
    if relations is None:
        relations = _typical_tree(shape, leaves, intermediates) if leaves else {shape: 1}
    parents = 1 + intermediates if leaves else 0
    every = (parents + leaves) if leaves else 1
    scanned = every if gen.scans_lock_intermediates or not leaves else 1 + leaves
    select = scanned
    if gen.select_locks_leaf_indexes or not leaves:
        select += max(leaves, 1) * indexes
    if gen.select_locks_root_indexes:
        select += parents * indexes
    listed = gen.first_insert_locks_segment_list and shape.storage.append_optimized and not filled
    truncate = truncate_locks(gen.name, relations)
    drop = drop_locks(gen, relations)
    held = {
        Statement.CREATE: (
            create_locks(gen.name, relations, on_segment=False),
            create_locks(gen.name, relations),
        ),
        Statement.SELECT: (select, leaves or 1),
        Statement.INSERT: (every, scanned + every * listed),
        Statement.TRUNCATE: (truncate, truncate),
        Statement.DROP: (drop, drop),
        Statement.BACKUP: (every, every),
    }
    return held if gen.greenplum else {statement: (n, n) for statement, (n, _) in held.items()}


# --- parts of statements --------------------------------------------------------------------------

# numbers of locks, counted on live servers (tests/effects/test_held_locks.py)
_NEW_HEAP, _NEW_APPEND_OPTIMIZED = 3, 5
"""Locks of a rewrite of one relation: on the new relation, which is dropped at the end, and on its
other objects."""
_NEW_CLASSIC_HEAP, _NEW_CLASSIC_APPEND_OPTIMIZED = 2, 7
"""The same on Greenplum 6."""
_REWRITTEN_TOAST, _REWRITTEN_CLASSIC_TOAST = 4, 5
_REWRITTEN_DIRECTORY, _REWRITTEN_CLASSIC_DIRECTORY = 2, 3


def _is_stored(gen: Generation, shape: Shape) -> bool:
    return gen.root_is_table or not shape.place.parent


def _guard(gen: Generation, shape: Shape) -> int:
    """The list of segment files, which is locked on segments of Greenplum 7 when an index of an
    append-optimized table is built.
    """
    stored = shape.storage.append_optimized and _is_stored(gen, shape)
    return int(gen.ao_index_lock_on_segments and stored)


def create_locks(server: str, relations: Mapping[Shape, int], *, on_segment: bool = True) -> int:
    """Number of locks of CREATE of these relations: on each, on its TOAST relation and its indexes;
    on PostgreSQL also on its row type and on its primary key and unique constraints.

    Greenplum 6 locks no TOAST relation and no index of partitions. on_segment: the number on a
    segment, which is never less than on the coordinator

    >>> create_locks("pg18", {Shape(Storage.HEAP, 2, toastable=True): 1})
    4
    """
    gen, total = generation(server), 0
    for shape, number in relations.items():
        each = 1
        if gen.leaf_aux_locks_on_create or not shape.place.child:
            each += len(shape.indexes) + (2 if toasted(gen, shape) else 0)
            each += _guard(gen, shape) if shape.indexes and on_segment else 0
        if not gen.greenplum:
            each += 1 + sum(index.constraint for index in shape.indexes)
        total += each * number
    return total


def index_locks(
    server: str, relations: Mapping[Shape, int], *, constraint: bool = False, bitmap: bool = False
) -> int:
    """Number of locks of a new index on these relations, without those on the relations and those
    of `build_locks`.

    constraint: a primary key or a unique constraint owns it
    """
    gen = generation(server)
    stored = sum(n for shape, n in relations.items() if _is_stored(gen, shape))
    # on Greenplum 6, indexes of partitions are not locked
    number = sum(relations.values()) if gen.leaf_aux_locks_on_create else 1
    return number * (1 + (constraint and not gen.greenplum)) + 2 * bitmap * stored


def build_locks(server: str, relations: Mapping[Shape, int]) -> int:
    """Number of additional locks of building indexes on these relations, however many."""
    gen = generation(server)
    return sum(number * _guard(gen, shape) for shape, number in relations.items())


def column_locks(relations: Mapping[Shape, int]) -> int:
    """Number of locks of writing columns of these relations, which are column-oriented and contain
    rows, without those on the relations: on lists of segment files and on block directories.
    """
    return sum(
        n * (1 + 2 * bool(shape.indexes))
        for shape, n in relations.items()
        if not shape.place.parent
    )


def truncate_locks(server: str, relations: Mapping[Shape, int]) -> int:
    """Number of locks of TRUNCATE of these relations: on each, and on its auxiliary relations and
    indexes.
    """
    gen = generation(server)
    return sum(
        number * (relation_rows(server, shape)["pg_class"] if _is_stored(gen, shape) else 1)
        for shape, number in relations.items()
    )


def rewrite_locks(
    server: str, relations: Mapping[Shape, int], *, moved: bool = False, skipped: int = 0
) -> int:
    """Number of locks of a rewrite of these relations, without those on the relations.

    relations: with the indexes that they have before; moved: rows are sent to other segments
    (another distribution, or reorganize=true); skipped: number of indexes that the rewrite does not
    build, because the statement drops them or creates them again

    >>> rewrite_locks("pg18", {Shape(Storage.HEAP, 2): 10})
    30
    """
    gen = generation(server)
    stored = {shape: n for shape, n in relations.items() if _is_stored(gen, shape)}
    total = sum(n * _rewrite(gen, shape, moved, skipped) for shape, n in stored.items())
    if gen.root_is_table and not moved and any(s.storage is Storage.HEAP for s in stored):
        total += 1  # once for the statement
    return total


def partition_drop_locks(server: str, relations: Mapping[Shape, int]) -> int:
    """Number of locks of DROP of a partition, without those on its table."""
    gen = generation(server)
    found = drop_locks(gen, relations)
    if not gen.drop_locks_leaves:  # the relation of a default is already counted
        found += sum(n * (not shape.defaults) for shape, n in relations.items())
    return found


def foreign_key_locks(server: str, relations: int) -> int:
    """Locks of DROP on the constraints and triggers of a foreign key of a table with this number of
    relations, and on the referenced table. Counted on live servers (tests/audit/test_drop_locks.py).
    """
    gen = generation(server)
    if gen.rule_catalogs:  # partitions do not have it
        return 6
    return 3 * relations + (1 if gen.greenplum and relations > 1 else 3)


def split_locks(server: str, shape: Shape, others: int) -> int:
    """Number of locks of SPLIT PARTITION of Greenplum, without that on the table.

    shape: of the partition; others: number of the other relations of the table
    """
    gen, indexes = generation(server), len(shape.indexes)
    constraints = sum(index.constraint for index in shape.indexes)
    toast, appended = toasted(gen, shape), shape.storage.append_optimized
    if gen.root_is_table:
        found = 8 + 6 * toast + 2 * (indexes + constraints + shape.defaults + shape.checks)
        return found + appended * (5 + 3 * bool(indexes))
    found = 4 + 6 * toast + 3 * indexes + constraints + shape.defaults + shape.checks
    return found + others + appended * (2 + 2 * bool(indexes))


def _rewrite(gen: Generation, shape: Shape, moved: bool, skipped: int) -> int:
    appended, built = shape.storage.append_optimized, max(0, len(shape.indexes) - skipped)
    directory = appended and bool(shape.indexes)
    if gen.root_is_table:
        found = _NEW_CLASSIC_APPEND_OPTIMIZED if appended else _NEW_CLASSIC_HEAP
        found += moved and (shape.storage is not Storage.AO_ROW or directory)
        found += _REWRITTEN_CLASSIC_TOAST if toasted(gen, shape) else 0
        return found + built + (_REWRITTEN_CLASSIC_DIRECTORY if directory else 0)
    found = _NEW_APPEND_OPTIMIZED if appended else _NEW_HEAP
    found += _REWRITTEN_TOAST if toasted(gen, shape) else 0
    found += _REWRITTEN_DIRECTORY if directory else 0
    return found + built + (_guard(gen, shape) if built else 0)
