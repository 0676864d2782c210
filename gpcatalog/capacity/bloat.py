"""Bytes that a catalog needs for its live rows: its size after VACUUM FULL and REINDEX."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

PAGE_HEADER = 24  # bytes: SizeOfPageHeaderData
LINE_POINTER = 4  # bytes: ItemIdData
BTREE_SPECIAL = 16  # bytes: BTPageOpaqueData
INDEX_TUPLE_HEADER = 8  # bytes: IndexTupleData
LEAF_FREE = 0.10  # free share of a leaf page of a freshly built btree (fillfactor 90)
INNER_FREE = 0.30  # free share of an inner page (BTREE_NONLEAF_FILLFACTOR 70)


def page_share(tuple_bytes: int, block_size: int) -> float:
    """Share of a page that a tuple of this many bytes (header and alignment included) takes if all
    tuples of the page have this size.

    >>> page_share(144, 8192) == 1 / 55, page_share(20000, 8192)
    (True, 1.0)
    """
    return 1 / max(1, (block_size - PAGE_HEADER) // (tuple_bytes + LINE_POINTER))


def page_share_sql(tuple_bytes: str, block_size: int) -> str:
    """Return page_share as an SQL expression, for an integer SQL expression."""
    return f"1.0 / GREATEST(1, {block_size - PAGE_HEADER} / ({tuple_bytes} + {LINE_POINTER}))"


def heap_bytes(rows: int, share: float, block_size: int) -> int:
    """Bytes of a packed heap of `rows` tuples that take on average `share` of a page. All tuples of
    a page are assumed to have similar sizes.

    >>> heap_bytes(0, 0.1, 8192), heap_bytes(1000, page_share(144, 8192), 8192)
    (0, 155648)
    """
    return math.ceil(max(0, rows) * share - 1e-9) * block_size


def btree_bytes(entries: float, entry_bytes: float, block_size: int) -> int:
    """Bytes of a freshly built btree over `entries` index tuples of on average `entry_bytes`
    (header and alignment included).

    >>> btree_bytes(0, 16, 8192), btree_bytes(100_000, 16, 8192)
    (8192, 2260992)
    """
    if entries <= 0:
        return block_size  # the metapage
    usable = block_size - PAGE_HEADER - BTREE_SPECIAL - LINE_POINTER
    item = entry_bytes + LINE_POINTER
    per_leaf = max(2, int((usable - LEAF_FREE * block_size) // item))
    per_inner = max(2, int((usable - INNER_FREE * block_size) // item))
    pages = level = math.ceil(entries / per_leaf)
    while level > 1:
        level = math.ceil(level / per_inner)
        pages += level
    return (pages + 1) * block_size


# Width and alignment of the types that occur in index keys of catalogs; a btree stores a name as a
# cstring.
_FIXED = {  # bytes, alignment
    "oid": (4, 4),
    "xid": (4, 4),
    "int4": (4, 4),
    "int2": (2, 2),
    "int8": (8, 8),
    "char": (1, 1),
    "bool": (1, 1),
    "float4": (4, 4),
    "float8": (8, 8),
    "regproc": (4, 4),
    "timestamptz": (8, 8),
    "pg_lsn": (8, 8),
}


@dataclass(frozen=True)
class IndexKey:
    """Columns of a btree's key in order, as (column, type name) pairs."""

    columns: tuple[tuple[str, str], ...]

    @staticmethod
    def parse(text: str) -> IndexKey:
        """Parse a key written as "attrelid:oid,attname:name".

        >>> IndexKey.parse("attrelid:oid,attname:name").columns
        (('attrelid', 'oid'), ('attname', 'name'))
        """
        pairs = [part.rpartition(":") for part in text.split(",") if part]
        return IndexKey(tuple((name, kind) for name, _, kind in pairs))

    def entry_sql(self, alias: str = "t") -> str:
        """SQL expression for the bytes of this key's index tuple of the row `alias`, header and
        alignment included.

        >>> IndexKey.parse("attrelid:oid,attnum:int2").entry_sql()
        '16'
        >>> IndexKey.parse("relname:name,relnamespace:oid").entry_sql()
        '(((8 + ((((pg_catalog.octet_length(t.relname::text) + 1)) + 3) / 4 * 4 + 4)) + 7) / 8 * 8)'
        """
        fixed = 0
        expression = ""
        for column, kind in self.columns:
            width = _FIXED.get(kind)
            if width is not None:
                size, align = width
                if expression:
                    expression = (
                        f"({expression} + {align - 1}) / {align} * {align} + {size}"
                        if align > 1
                        else f"{expression} + {size}"
                    )
                else:
                    fixed = -(-fixed // align) * align + size
                continue
            measured = (
                f"(pg_catalog.octet_length({alias}.{column}::text) + 1)"
                if kind == "name"
                else f"pg_catalog.pg_column_size({alias}.{column})"
            )
            start = f"({expression})" if expression else (str(fixed) if fixed else "")
            if kind not in {"name", "text"} and start:  # other varlena types are aligned to 4
                start = f"({start} + 3) / 4 * 4"
            expression = f"({start} + {measured})" if start else f"({measured})"
        if not expression:
            return str(-(-(INDEX_TUPLE_HEADER + fixed) // 8) * 8)
        return f"((({INDEX_TUPLE_HEADER} + ({expression})) + 7) / 8 * 8)"

    def sample_column(self) -> str | None:
        """An oid column for sampling; None if the key has no such column with different values."""
        return next(
            (
                name
                for name, kind in self.columns
                if kind == "oid"
                and not re.search(r"classid|classoid|dbid|relnamespace|collation$", name)
            ),
            None,
        )
