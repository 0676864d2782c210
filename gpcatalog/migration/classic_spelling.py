"""Notation of Greenplum 6 for partitions, constants of bounds, and definitions."""

from __future__ import annotations

import re

from gpcatalog.migration.introspect import (
    quote_ident_always as quote,
)  # Greenplum 6 accepts few keywords as names of partitions

_MODIFIER = re.compile(
    r"'(?:[^']|'')*'|(::\s*(?:pg_catalog\.)?)"
    r"(time(?:stamp)?|numeric|character varying|varchar|character|char|bpchar|bit"
    r" varying|bit|varbit)"
    r"\s*\(\d+(?:,\s*-?\d+)?\)"
)
_WITHOUT_LENGTH = {
    "character": "bpchar",
    "char": "bpchar",
    "bit": "varbit",
}  # without a length, these have the length 1


def partition(name: str, value: str = "") -> str:
    """The address of a partition after PARTITION: its name, or a value that it contains."""
    return quote(name) if name else f"FOR ({value})"


_USERS_TYPE = re.compile(r"""('(?:[^']|'')*')|::(?:"(?:[^"]|"")*"|\w+)\.(?:"(?:[^"]|"")*"|\w+)""")


def constant(text: str) -> str:
    '''Return the text without lengths and precisions of types, and without casts to user-defined
    types.

    Greenplum 6 does not accept such a cast for a constant. A bound is not longer than its column,
    and a literal without a type gets the type of its column, so the value is the same. Casts to
    user-defined types have a schema, because the search path contains only pg_catalog.

    >>> constant("START ('2022-01-01 00:00:00'::timestamp(6) without time zone)")
    "START ('2022-01-01 00:00:00'::timestamp without time zone)"
    >>> constant("FOR ('a'::character varying(9), 'b'::character(3), '-2.0'::numeric(12,6))")
    "FOR ('a'::character varying, 'b'::bpchar, '-2.0'::numeric)"
    >>> constant("VALUES ('x::time(3)', 'it''s ::time(3)')")
    "VALUES ('x::time(3)', 'it''s ::time(3)')"
    >>> constant("""START ('2022-01-01'::public.day) END ('2022-02-01'::"My.S"."a day")""")
    "START ('2022-01-01') END ('2022-02-01')"
    '''
    plain = _MODIFIER.sub(lambda m: m[1] + _WITHOUT_LENGTH.get(m[2], m[2]) if m[1] else m[0], text)
    return _USERS_TYPE.sub(lambda m: m[1] or "", plain)


DEFAULT_ENCODING = "compresstype=none, blocksize=32768, compresslevel=0"
_ENCODING = re.compile(
    r"""('(?:[^']|'')*')|\s*\bCOLUMN (?:"(?:[^"]|"")*"|[^\s"']+) ENCODING \([^()']*\)"""
)


def without_encodings(definition: str) -> str:
    """Return the server's text after PARTITION BY, without the encodings of columns.

    >>> without_encodings("(PARTITION p VALUES('COLUMN a ENCODING (x)') WITH (a=b) COLUMN \\"v w\\" ENCODING (compresstype=none), DEFAULT")
    "(PARTITION p VALUES('COLUMN a ENCODING (x)') WITH (a=b), DEFAULT"
    """
    return _ENCODING.sub(lambda m: m[1] or "", definition)
