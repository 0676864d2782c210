"""Conversions between built-in types that the server makes in an assignment, as in ALTER COLUMN …
TYPE without USING.
"""

from __future__ import annotations

from gpcatalog.effects.keys import Column

_NUMBERS = frozenset("int2 int4 int8 numeric float4 float8".split())
_TEXTS = frozenset("text varchar bpchar".split())
_DAYS = frozenset("date timestamp timestamptz".split())
_SINGLE = frozenset("bool uuid json jsonb bytea interval time inet xml".split())
KNOWN_TYPES = _NUMBERS | _TEXTS | _DAYS | _SINGLE


def no_assignment(old: Column, new: Column) -> bool:
    """Whether the server certainly has no conversion in an assignment from the type of one column
    to that of the other. Source: pg_cast of PostgreSQL 9.4 to 19 (tests/effects/test_casts.py).
    """
    source, target = old.type, new.type
    if old.own_type or new.own_type or not {source, target} <= KNOWN_TYPES:
        return False
    if source == target or target in _TEXTS:
        return False
    if source in _TEXTS:  # text is only converted to other types in an explicit cast
        return target != "xml"
    for family in (_NUMBERS, _DAYS):
        if source in family and target in family:
            return False
    return (source, target) not in _OTHERS


# those of other families that some servers convert
_OTHERS = frozenset(
    [
        ("json", "jsonb"),
        ("jsonb", "json"),
        ("interval", "time"),
        ("time", "interval"),
        ("timestamp", "time"),
        ("timestamptz", "time"),
    ]
)


def not_comparable(one: Column, two: Column) -> bool:
    """Whether a foreign key certainly cannot compare columns of these types: one is a text, the
    other a number, a date or a uuid.
    """
    kinds = (one.type, two.type)
    others = _NUMBERS | _DAYS | {"uuid"}
    if one.own_type or two.own_type:
        return False
    return any(a in _TEXTS and b in others for a, b in (kinds, kinds[::-1]))


def different_types(one: Column, two: Column) -> bool:
    """Whether two columns certainly have different types."""
    kinds = {one.type, two.type}
    return len(kinds) == 2 and kinds <= _PLAIN_TYPES and not (one.own_type or two.own_type)


# types that have no other name
_PLAIN_TYPES = frozenset(
    "int2 int4 int8 text date timestamp timestamptz bool float8 uuid numeric json jsonb bytea".split()
)


# built-in types without an operator class of a method (pg_opclass of PostgreSQL 9.4 to 19)
_WITHOUT_BTREE = frozenset("json xml point line lseg box path polygon circle".split())


def without_class(column: Column, method: str) -> bool:
    """Whether an access method certainly has no default operator class for a column."""
    if column.own_type or method not in ("btree", "hash"):
        return False
    return column.type in _WITHOUT_BTREE
