"""Whether the columns of a table require a TOAST relation: the rule of the servers, for types and
typmods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gpcatalog.capacity.generation import Generation, generation

# bytes and alignment of fixed-length types, as in pg_type.typlen and typalign (d 8, i 4, s 2, c 1)
_FIXED: dict[str, tuple[int, int]] = {
    "bool": (1, 1), "char": (1, 1), "name": (64, 1), "int2": (2, 2), "int4": (4, 4), "int8": (8, 8), "oid": (4, 4),
    "float4": (4, 4), "float8": (8, 8), "money": (8, 8), "date": (4, 4), "time": (8, 8), "timetz": (12, 8),
    "timestamp": (8, 8), "timestamptz": (8, 8), "interval": (16, 8), "uuid": (16, 1), "macaddr": (6, 4), "macaddr8": (8, 4),
    "point": (16, 8), "line": (24, 8), "lseg": (32, 8), "box": (32, 8), "circle": (24, 8), "xid": (4, 4), "cid": (4, 4),
    "complex": (16, 8), "tid": (6, 2), "pg_lsn": (8, 8), "regclass": (4, 4), "regproc": (4, 4), "regtype": (4, 4), "xid8": (8, 8),
    "oid8": (8, 8), "regcollation": (4, 4), "regconfig": (4, 4), "regdictionary": (4, 4), "regnamespace": (4, 4), "regoper": (4, 4),
    "regoperator": (4, 4), "regprocedure": (4, 4), "regrole": (4, 4), "regdatabase": (4, 4),
}  # fmt: skip

_NAMES = {
    "boolean": "bool", '"char"': "char", "smallint": "int2", "integer": "int4", "int": "int4", "bigint": "int8", "real": "float4",
    "double precision": "float8", "character": "bpchar", "character varying": "varchar", "bit varying": "varbit",
    "time without time zone": "time", "time with time zone": "timetz", "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz", "decimal": "numeric",
}  # fmt: skip

# variable-length types with storage PLAIN
_PLAIN = frozenset({"tsquery", "gtsvector", "int2vector", "oidvector"})

_VARHDRSZ = 4  # bytes of a varlena header, which typmods of varchar, bpchar and numeric include
_TUPLE_HEADER = 23
_PAGE_HEADER = 24
_LINE_POINTER = 4
_TUPLES_PER_PAGE = 4  # TOAST_TUPLES_PER_PAGE


def _aligned(size: int, to: int) -> int:
    return (size + to - 1) // to * to


def type_name(name: str) -> str:
    """The name of a type in pg_type.typname, for a name as format_type prints it, without
    modifiers.

    >>> type_name("character varying"), type_name("timestamp without time zone"), type_name("int4")
    ('varchar', 'timestamp', 'int4')
    """
    plain = " ".join(name.split())
    return _NAMES.get(plain, plain)


def maximum_size(name: str, typmod: int, *, character_bytes: int = 4) -> int | None:
    """Largest size in bytes of a value of a variable-length type; None if the type has no limit
    (type_maximum_size).

    typmod: pg_attribute.atttypmod, -1 for none; character_bytes: longest character of the
            database's encoding, 4 for UTF8.

    >>> maximum_size("varchar", 14), maximum_size("numeric", (10 << 16 | 2) + 4), maximum_size("text", -1)
    (44, 16, None)
    """
    kind = type_name(name)
    if typmod < 0:
        return None
    if kind in ("varchar", "bpchar"):
        return character_bytes * (typmod - _VARHDRSZ) + _VARHDRSZ
    if kind == "numeric":
        precision = (typmod - _VARHDRSZ) >> 16 & 0xFFFF
        return 2 * _VARHDRSZ + (precision + 6) // 4 * 2  # NUMERIC_HDRSZ, then base-10000 digits
    if kind in ("bit", "varbit"):
        return (typmod + 7) // 8 + 2 * _VARHDRSZ
    return None


def toastable(name: str, typmod: int = -1) -> bool:
    """Whether a column of this type requires a TOAST relation independently of the other columns.

    >>> toastable("text"), toastable("varchar", 14), toastable("numeric"), toastable("integer"), toastable("int4[]")
    (True, False, True, False, True)
    >>> toastable("tsquery")
    False
    """
    kind = type_name(name)
    return kind not in _FIXED and kind not in _PLAIN and maximum_size(name, typmod) is None


def needs_toast(
    server: Generation | str,
    columns: Iterable[tuple[str, int]],
    *,
    character_bytes: int = 4,
    plain: Iterable[str] = (),
    plain_at: Collection[int] = (),
    virtual: int = 0,
) -> bool:
    """Whether a table of these (type name, typmod) columns gets a TOAST relation
    (needs_toast_table, the same since 9.4).

    It does if one column may be toasted and the maximum row length is unknown, or four such rows do
    not fit on a page. Unknown types count as variable-length without a limit. `plain`:
    variable-length types whose storage is PLAIN (attstorage 'p'); `plain_at`: positions of columns
    that were given this storage; `virtual`: number of additional virtual generated columns, which
    only take space in the null bitmap. The cost model handles storage types without TOAST
    (ao_column on Greenplum 7).

    >>> needs_toast("gp6", [("int4", -1), ("varchar", 14)]), needs_toast("pg15", [("varchar", 1004)])
    (False, True)
    """
    gen = server if isinstance(server, Generation) else generation(server)
    never = _PLAIN.union(plain)
    length, count, may, unknown = 0, virtual, False, False
    for at, (name, typmod) in enumerate(columns):
        kind = type_name(name)
        count += 1
        if kind in _FIXED:
            size, alignment = _FIXED[kind]
            length = _aligned(length, alignment) + size
            continue
        may = may or (kind not in never and at not in plain_at)
        largest = maximum_size(kind, typmod, character_bytes=character_bytes)
        if largest is None:
            unknown = True
        else:
            length = _aligned(length, 4) + largest
    if not may or unknown:
        return may
    nulls = (count + 7) // 8
    page = gen.block - _aligned(_PAGE_HEADER + _TUPLES_PER_PAGE * _LINE_POINTER, 8)
    return (
        _aligned(_TUPLE_HEADER + nulls, 8) + _aligned(length, 8) > page // _TUPLES_PER_PAGE // 8 * 8
    )
