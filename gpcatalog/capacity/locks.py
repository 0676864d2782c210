"""The cost model: locks of statements over a whole table, from the shapes of its relations and the
server generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache

from gpcatalog.capacity.generation import Generation
from gpcatalog.capacity.model import Place, Shape, known, relation_rows, toasted


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
    own = relation_rows(gen, shape)["pg_class"]
    relations_created = 1 + indexes + (2 if toasted(gen, shape) else 0)
    listed = gen.first_insert_locks_segment_list and shape.storage.append_optimized and not filled
    guarded = (
        1 if gen.ao_index_lock_on_segments and shape.storage.append_optimized and indexes else 0
    )
    if not leaves:
        held = {
            Statement.CREATE: (relations_created, relations_created + guarded),
            Statement.SELECT: (1 + indexes, 1),
            Statement.INSERT: (1, 1 + listed),
            Statement.TRUNCATE: (own, own),
            Statement.DROP: (drop := drop_locks(gen, relations or {shape: 1}), drop),
            Statement.BACKUP: (1, 1),
        }
    else:
        parents = 1 + intermediates
        every = parents + leaves
        root_relations = relation_rows(gen, replace(shape, place=Place.ROOT))["pg_class"]
        create = (
            parents * (1 + indexes) + leaves * relations_created
            if gen.leaf_aux_locks_on_create
            else relations_created + intermediates + leaves
        )
        scanned = every if gen.scans_lock_intermediates else 1 + leaves
        select = scanned
        if gen.select_locks_leaf_indexes:
            select += leaves * indexes
        if gen.select_locks_root_indexes:
            select += parents * indexes
        truncate = parents * (root_relations if gen.root_is_table else 1) + leaves * own
        drop = drop_locks(gen, relations or _typical_tree(shape, leaves, intermediates))
        held = {
            Statement.CREATE: (create, create + leaves * guarded),
            Statement.SELECT: (select, leaves),
            Statement.INSERT: (every, scanned + every * listed),
            Statement.TRUNCATE: (truncate, truncate),
            Statement.DROP: (drop, drop),
            Statement.BACKUP: (every, every),
        }
    if not gen.greenplum:
        # with a lock on the row type of each new table
        number, _ = held[Statement.CREATE]
        held[Statement.CREATE] = (number + 1 + intermediates + leaves, 0)
        return {statement: (n, n) for statement, (n, _) in held.items()}
    return held
