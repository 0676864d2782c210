"""The differences between server generations as data: columns of auxiliary relations, system
columns, bytes per catalog row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model import generations
from gpcatalog.model.storage import Storage

HEAP, AO_ROW, AO_COLUMN = Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN


@dataclass(frozen=True, kw_only=True)
class Generation:
    """One server generation in the cost model. Every field was measured, or `source` names its
    origin.

    name:               "gp6", "gp7", "cb2", "pg12" … "pg19"
    source:             origin of the figures below
    measured:           whether the figures were counted on a live server of exactly this generation
    block:              bytes per page
    storages:           storage types of tables
    system_columns:     pg_attribute rows with attnum < 0, by storage of the relation itself
    heap_system_columns: the same for auxiliary and TOAST relations
    row_type_of_aux:    auxiliary and TOAST relations have a pg_type row (and its pg_depend row)
    array_type_of_leaf: a heap leaf has an array type; ao_row and ao_column relations never have one
    toast:              storage types with a TOAST relation
    segment_columns:    user columns of the segment file list (pg_aoseg_N, pg_aocsseg_N), by storage
    fastsequence:       gp_fastsequence rows of an ao relation before the first row is inserted
    fastsequence_first: segfile numbers up to this one need no further gp_fastsequence row
    root_is_table:      partitioned roots and intermediates are ordinary relations with files and
                        auxiliary relations
    rule_catalogs:      partitions are rows of pg_partition and pg_partition_rule, bounds are CHECK
                        constraints
    index_operation_on_segments: CREATE INDEX writes pg_stat_last_operation on segments too
    not_null_constraints: a NOT NULL column is a pg_constraint row
    statistics_on_segments: ANALYZE writes pg_statistic on segments too
    leaf_index_depend:  additional pg_depend rows for the index of a leaf that belongs to an index
                        of its parent
    leaf_constraint_depend: the same for a primary key or unique constraint, the index included
    coordinator_segment_list: the coordinator has the list of segfiles too (it assigns their
        numbers)
    vacuum_opens_segfile: VACUUM of a filled ao relation opens one more segfile even if no row is
                          hidden
    ao_index_lock_on_segments: creating an indexed ao relation locks one auxiliary relation more on
        segments
    select_locks_leaf_indexes: SELECT over a partitioned root locks the indexes of its leaves
    select_locks_root_indexes: SELECT also locks the indexes of root and intermediates
    scans_lock_intermediates: SELECT on the root locks intermediates; INSERT locks them on segments
    first_insert_locks_segment_list: the first INSERT into an ao relation locks its list of segfiles
        on segments
    drop_locks_leaves:  DROP of a root holds a lock on every leaf to its end
    leaf_aux_locks_on_create: CREATE of a partitioned table holds locks on TOAST and index relations
        of its leaves
    row_bytes:          bytes of one row, with its share of the indexes of the catalog, by catalog;
                        estimates
    row_bytes_source:   where row_bytes was measured
    packed_row_bytes:   the same directly after VACUUM FULL of the catalog: the bytes that a plan
                        frees permanently
    """

    name: str
    source: str
    measured: bool
    block: int
    storages: tuple[Storage, ...]
    system_columns: Mapping[Storage, int]
    heap_system_columns: int
    row_type_of_aux: bool
    array_type_of_leaf: bool
    toast: tuple[Storage, ...]
    segment_columns: Mapping[Storage, int]
    fastsequence: int
    fastsequence_first: int
    root_is_table: bool
    rule_catalogs: bool
    index_operation_on_segments: bool
    not_null_constraints: bool
    statistics_on_segments: bool
    leaf_index_depend: int
    leaf_constraint_depend: int
    coordinator_segment_list: bool
    vacuum_opens_segfile: bool
    ao_index_lock_on_segments: bool
    select_locks_leaf_indexes: bool
    select_locks_root_indexes: bool
    scans_lock_intermediates: bool
    first_insert_locks_segment_list: bool
    drop_locks_leaves: bool
    leaf_aux_locks_on_create: bool
    row_bytes: Mapping[str, int] = field(repr=False)
    row_bytes_source: str = field(repr=False, default="")
    packed_row_bytes: Mapping[str, int] = field(repr=False, default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the generation in output."""
        return generations.known(self.name).title

    @property
    def greenplum(self) -> bool:
        """Whether the server has segments, distribution policies and pg_stat_last_operation."""
        return generations.known(self.name).greenplum


# user columns of relations that are the same in all generations
TOAST_COLUMNS, TOAST_INDEX_COLUMNS = 3, 2
VISIMAP_COLUMNS, VISIMAP_INDEX_COLUMNS = 3, 2
BLOCK_DIRECTORY_COLUMNS, BLOCK_DIRECTORY_INDEX_COLUMNS = 4, 3
# A bitmap index has a heap with the indexed columns and these additional columns, and a btree index
# on that heap. Pages: of all three together while empty (measured: Greenplum 6.25.3 and 7.0.0).
BITMAP_MORE_COLUMNS, BITMAP_PAGES = 2, 3

_NONE: Mapping[Storage, int] = MappingProxyType({})

# Packed rows were measured on segments with 1,000 leaves of 20 columns with an index, on Greenplum
# 6.25.3 and 7.0.0, PostgreSQL 15 and 18.
_PACKED_GP = {"gp_distribution_policy": 164, "pg_inherits": 147, "pg_stat_last_operation": 229}
_PACKED_PG = {
    "pg_class": 425,
    "pg_type": 256,
    "pg_depend": 108,
    "pg_index": 229,
    "pg_inherits": 86,
    "pg_attrdef": 270,
    "pg_constraint": 278,
}

GP6 = Generation(
    name="gp6",
    packed_row_bytes=MappingProxyType(
        {
            **_PACKED_GP,
            "pg_class": 276,
            "pg_attribute": 200,
            "pg_type": 256,
            "pg_depend": 122,
            "pg_index": 248,
            "pg_attribute_encoding": 175,
            "pg_appendonly": 220,
            "gp_fastsequence": 106,
            "pg_constraint": 1114,
            "pg_partition_rule": 786,
            "pg_attrdef": 392,
        }
    ),
    source="measured: Greenplum 6.25.3",
    measured=True,
    block=32768,
    storages=(HEAP, AO_ROW, AO_COLUMN),
    # ctid, xmin, cmin, xmax, cmax, tableoid, gp_segment_id
    system_columns=MappingProxyType({HEAP: 7, AO_ROW: 7, AO_COLUMN: 7}),
    heap_system_columns=7,
    row_type_of_aux=True,
    array_type_of_leaf=False,
    toast=(HEAP, AO_ROW, AO_COLUMN),
    segment_columns=MappingProxyType({AO_ROW: 8, AO_COLUMN: 7}),
    fastsequence=2,
    fastsequence_first=1,
    root_is_table=True,
    rule_catalogs=True,
    index_operation_on_segments=True,
    not_null_constraints=False,
    statistics_on_segments=False,
    leaf_index_depend=1,
    leaf_constraint_depend=2,
    coordinator_segment_list=True,
    vacuum_opens_segfile=True,
    ao_index_lock_on_segments=False,
    select_locks_leaf_indexes=False,
    select_locks_root_indexes=False,
    scans_lock_intermediates=False,
    first_insert_locks_segment_list=True,
    drop_locks_leaves=False,
    leaf_aux_locks_on_create=False,
    row_bytes=MappingProxyType(
        {
            "pg_class": 374,
            "pg_attribute": 243,
            "pg_type": 271,
            "pg_depend": 170,
            "pg_index": 245,
            "pg_attribute_encoding": 173,
            "pg_appendonly": 458,
            "gp_fastsequence": 98,
            "gp_distribution_policy": 164,
            "pg_inherits": 115,
            "pg_constraint": 1196,
            "pg_partition_rule": 819,
            "pg_stat_last_operation": 218,
            "pg_attrdef": 311,
        }
    ),
    row_bytes_source=(
        "measured: Greenplum 6.25.3, 2,000 leaves of 20 columns with an index, half ao_column"
    ),
)

GP7 = Generation(
    name="gp7",
    packed_row_bytes=MappingProxyType(
        {
            **_PACKED_GP,
            "pg_class": 420,
            "pg_attribute": 199,
            "pg_type": 247,
            "pg_depend": 121,
            "pg_index": 236,
            "pg_attribute_encoding": 200,
            "pg_appendonly": 110,
            "gp_fastsequence": 110,
            "pg_attrdef": 327,
        }
    ),
    source="measured: Greenplum 7.0.0",
    measured=True,
    block=32768,
    storages=(HEAP, AO_ROW, AO_COLUMN),
    # ao relations: ctid, tableoid, gp_segment_id
    system_columns=MappingProxyType({HEAP: 7, AO_ROW: 3, AO_COLUMN: 3}),
    heap_system_columns=7,
    row_type_of_aux=False,
    array_type_of_leaf=True,
    toast=(HEAP, AO_ROW),
    segment_columns=MappingProxyType({AO_ROW: 8, AO_COLUMN: 7}),
    fastsequence=1,
    fastsequence_first=0,
    root_is_table=False,
    rule_catalogs=False,
    index_operation_on_segments=False,
    not_null_constraints=False,
    statistics_on_segments=True,
    leaf_index_depend=2,
    leaf_constraint_depend=4,
    coordinator_segment_list=False,
    vacuum_opens_segfile=False,
    ao_index_lock_on_segments=True,
    select_locks_leaf_indexes=True,
    select_locks_root_indexes=False,
    scans_lock_intermediates=True,
    first_insert_locks_segment_list=False,
    drop_locks_leaves=True,
    leaf_aux_locks_on_create=True,
    row_bytes=MappingProxyType(
        {
            "pg_class": 600,
            "pg_attribute": 203,
            "pg_type": 278,
            "pg_depend": 145,
            "pg_index": 239,
            "pg_attribute_encoding": 198,
            "pg_appendonly": 197,
            "gp_fastsequence": 121,
            "gp_distribution_policy": 164,
            "pg_inherits": 115,
            "pg_stat_last_operation": 241,
            "pg_attrdef": 294,
            "pg_statistic": 335,
        }
    ),
    row_bytes_source=(
        "measured: Greenplum 7.0.0, 2,000 leaves of 20 columns with an index, half ao_column"
    ),
)

PG15 = Generation(
    name="pg15",
    packed_row_bytes=MappingProxyType(_PACKED_PG | {"pg_attribute": 224}),
    source="measured: PostgreSQL 15",
    measured=True,
    block=8192,
    storages=(HEAP,),
    # ctid, xmin, cmin, xmax, cmax, tableoid
    system_columns=MappingProxyType({HEAP: 6}),
    heap_system_columns=6,
    row_type_of_aux=False,
    array_type_of_leaf=True,
    toast=(HEAP,),
    segment_columns=_NONE,
    fastsequence=0,
    fastsequence_first=0,
    root_is_table=False,
    rule_catalogs=False,
    index_operation_on_segments=False,
    not_null_constraints=False,
    statistics_on_segments=True,
    leaf_index_depend=2,
    leaf_constraint_depend=4,
    coordinator_segment_list=False,
    vacuum_opens_segfile=False,
    ao_index_lock_on_segments=False,
    select_locks_leaf_indexes=True,
    select_locks_root_indexes=False,
    scans_lock_intermediates=True,
    first_insert_locks_segment_list=False,
    drop_locks_leaves=True,
    leaf_aux_locks_on_create=True,
    row_bytes=MappingProxyType(
        {
            "pg_class": 595,
            "pg_attribute": 202,
            "pg_type": 296,
            "pg_depend": 131,
            "pg_index": 228,
            "pg_inherits": 78,
            "pg_constraint": 363,
            "pg_attrdef": 248,
            "pg_statistic": 132,
        }
    ),
    row_bytes_source="measured: PostgreSQL 15, 10,000 leaves of 21 columns with two indexes",
)

PG12 = replace(PG15, name="pg12", source="measured: PostgreSQL 12", row_type_of_aux=True)
PG13 = replace(PG12, name="pg13", source="measured: PostgreSQL 13")
# from 14 on, TOAST relations have no row type
PG14 = replace(PG15, name="pg14", source="measured: PostgreSQL 14")
# from 16 on, planning locks the indexes of partitioned tables
PG16 = replace(
    PG15,
    name="pg16",
    source="measured: PostgreSQL 16",
    select_locks_root_indexes=True,
)
PG17 = replace(PG16, name="pg17", source="measured: PostgreSQL 17")
PG18 = replace(
    PG17,
    name="pg18",
    packed_row_bytes=MappingProxyType(_PACKED_PG | {"pg_attribute": 190}),
    source="measured: PostgreSQL 18",
    not_null_constraints=True,
    row_bytes=MappingProxyType(
        {
            "pg_class": 595,
            "pg_attribute": 194,
            "pg_type": 296,
            "pg_depend": 132,
            "pg_index": 228,
            "pg_inherits": 78,
            "pg_constraint": 319,
            "pg_attrdef": 248,
            "pg_statistic": 132,
        }
    ),
    row_bytes_source="measured: PostgreSQL 18, 10,000 leaves of 21 columns with two indexes",
)

# its rows are as wide as those of 18, within 1 %
PG19 = replace(PG18, name="pg19", source="measured: PostgreSQL 19 beta")

# PostgreSQL 14 with the storage of Greenplum 7; one INSERT uses up to 4 segfiles
# (gp_appendonly_insert_files)
CB2 = replace(
    GP7, name="cb2", source="not measured; uses the figures of Greenplum 7", measured=False
)

GENERATIONS: Mapping[str, Generation] = MappingProxyType(
    {x.name: x for x in (GP6, GP7, CB2, PG12, PG13, PG14, PG15, PG16, PG17, PG18, PG19)}
)

NEWEST_MEASURED = max(int(name.removeprefix("pg")) for name in GENERATIONS if name.startswith("pg"))


def generation(name: str) -> Generation:
    """Return the generation with this name, such as "gp6", "greenplum6", "pg15", "PostgreSQL 15".

    Raises CatalogError (usage) for others.

    A PostgreSQL release newer than all known ones uses the figures of the newest; `source` states
    this.

    >>> generation("Greenplum 7").name, generation("postgres18").name, generation("pg31").source
    ('gp7', 'pg18', 'not measured; uses the figures of PostgreSQL 19')
    """
    named = generations.named(name)
    found = GENERATIONS.get(named.name) if named else None
    if found is None and named is not None and not named.greenplum:
        known = GENERATIONS[f"pg{NEWEST_MEASURED}"]
        found = replace(
            known,
            name=named.name,
            measured=False,
            source=f"not measured; uses the figures of {known.title}",
        )
    if found is None:
        raise CatalogError(
            f"unknown server: {name}",
            hint="one of: " + ", ".join(generations.spellings()),
            exit_code=Exit.USAGE,
        )
    return found
