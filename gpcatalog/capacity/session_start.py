"""The part of pg_attribute that a session start reads, and the time that this takes.

A session that finds no valid pg_internal.init reads pg_attribute from the front, once for each of
eleven relations, until it has the rows of that relation. The number of pages that it reads is the
sum, over these relations, of the number of the page with their last row. This is equal to the
server's own count of blocks on PostgreSQL 15, 18 and 19 and Greenplum 6 and 7, except for 110 to
290 blocks that are read by index.
"""

from __future__ import annotations

# relations that a session start opens before it can use an index
RELATIONS: dict[int, str] = {
    2601: "pg_am",
    2603: "pg_amproc",
    2610: "pg_index",
    2616: "pg_opclass",
    2655: "pg_amproc_fam_proc_index",
    2659: "pg_attribute_relid_attnum_index",
    2662: "pg_class_oid_index",
    2679: "pg_index_indexrelid_index",
    2687: "pg_opclass_oid_index",
    2693: "pg_rewrite_rel_rulename_index",
    2701: "pg_trigger_tgrelid_tgname_index",
}
OIDS = ", ".join(map(str, RELATIONS))

# microseconds per 8 KB: PostgreSQL 18, in shared buffers; PostgreSQL 15, from the operating system
# cache
MICROSECONDS = (1.5, 14.0)
SOURCE = "measured: PostgreSQL 15 and 18, pages in memory"


def milliseconds(read: int) -> tuple[float, float]:
    """Lowest and highest estimate of the time to read this many bytes from memory, in ms.

    >>> milliseconds(8192 * 1000)
    (1.5, 14.0)
    """
    low, high = MICROSECONDS
    return read / 8192 * low / 1000, read / 8192 * high / 1000
