"""Storage of relations, in the terms of the catalogs."""

from __future__ import annotations

from enum import StrEnum


class Storage(StrEnum):
    """Storage of a relation. ao_row and ao_column are Greenplum's append-optimized forms."""

    HEAP = "heap"
    AO_ROW = "ao_row"
    AO_COLUMN = "ao_column"
    EXTERNAL = "external"
    FOREIGN = "foreign"
    OTHER = "other"  # an access method that gpcatalog does not know (pax, …)
    NONE = "none"  # views, partitioned roots on PostgreSQL: nothing is stored

    @property
    def append_optimized(self) -> bool:
        """True if auxiliary relations (segment file list, visibility map) exist."""
        return self in (Storage.AO_ROW, Storage.AO_COLUMN)


# pg_class.relstorage of Greenplum 6: h heap, a append-only rows, c append-only columns, x external,
# f foreign, v virtual
RELSTORAGE = {
    "h": Storage.HEAP,
    "a": Storage.AO_ROW,
    "c": Storage.AO_COLUMN,
    "x": Storage.EXTERNAL,
    "f": Storage.FOREIGN,
    "v": Storage.NONE,
}
