"""Quote identifiers and literals for SQL, truncate them to 63 bytes, and show them on a
terminal.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence

from gpcatalog.errors import CatalogError, Exit

# precedes the two hexadecimal digits of a byte that is not UTF-8, in names of databases without an
# encoding
UNDECODED = "\ufffd"
NAMEDATALEN = 63  # bytes of an identifier that the server keeps (NAMEDATALEN - 1)

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")

# Words that PostgreSQL 12-18 or Greenplum 6/7 reject or parse differently as an unquoted relation
# or column name. Quoting a word that needs no quotes is harmless: the list may have too many words,
# but not too few.
_KEYWORDS = frozenset(
    """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both by
    case cast char character check coalesce collate collation column columns concurrently constraint create cross
    cube current current_catalog current_date current_role current_schema current_time current_timestamp
    current_user dec decimal decode default deferrable desc distinct distributed do else end every except exclude
    exists extract false fetch fields float following for foreign freeze from full grant greatest group group_id
    grouping having ilike in initially inner inout int integer intersect interval into is isnull join json_array
    json_arrayagg json_object json_objectagg lateral leading least left like limit localtime localtimestamp log
    median merge_action national natural nchar none normalize not notnull null nullif numeric offset on only or
    order out outer over overlaps overlay partition percent placing position preceding precision primary range
    real references returning right rollup row rows scatter select session_user setof sets similar smallint some
    substring symmetric system_user table tablesample then time timestamp to trailing treat trim true unbounded
    union unique user using validation values varchar variadic verbose when where window with xmlattributes
    xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
    """.split()
)


def listed(names: Sequence[str], most: int) -> str:
    """The first names of a list, and the number of the others.

    >>> listed(["a"], 2), listed(["a", "b"], 2), listed(["a", "b", "c"], 2)
    ('a', 'a, b', 'a, b and 1 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def first_lines(lines: Sequence[str], most: int) -> list[str]:
    """The first lines of a list, and a last one with the number of the others.

    >>> first_lines(["  a"], 1), first_lines(["  a", "  b"], 1)
    (['  a'], ['  a', '  … and 1 more'])
    """
    rest = len(lines) - most
    return [*lines[:most], *([f"  … and {rest:,} more"] if rest > 0 else [])]


@functools.lru_cache(maxsize=4096)  # a step of a migration names each of its leaves many times
def quote_ident(name: str) -> str:
    """One identifier as SQL text; quoted unless it is certainly valid without quotes.

    >>> quote_ident("sales"), quote_ident("Sales"), quote_ident('a"b'), quote_ident("select")
    ('sales', '"Sales"', '"a""b"', '"select"')
    """
    if "\x00" in name:
        raise ValueError("an identifier cannot contain a NUL byte")
    if _PLAIN.match(name) and name not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


@functools.lru_cache(maxsize=4096)
def qualified(schema: str, name: str) -> str:
    """A schema-qualified name as SQL text.

    >>> qualified("public", "Order")
    'public."Order"'
    """
    return f"{quote_ident(schema)}.{quote_ident(name)}"


def oid_array(oids: Iterable[int]) -> str:
    """OIDs as an SQL array for `= ANY (…::oid[])`.

    The server's planner does not evaluate this array. For a constant list it estimates each member,
    wherever the list is used, and scans the whole catalog if there are many members.

    >>> oid_array([1259, 2606])
    "(SELECT '{1259,2606}'::oid[])"
    """
    return f"(SELECT '{{{','.join(map(str, oids))}}}'::oid[])"


def quote_literal(text: str) -> str:
    r"""A string constant as SQL text, valid with both settings of standard_conforming_strings.

    >>> quote_literal("it's"), quote_literal("a\\b")
    ("'it''s'", "E'a\\\\b'")
    """
    if "\x00" in text:
        raise ValueError("a string constant cannot contain a NUL byte")
    body = text.replace("'", "''")
    if "\\" in body:
        return "E'" + body.replace("\\", "\\\\") + "'"
    return f"'{body}'"


def cut(name: str, limit: int = NAMEDATALEN) -> str:
    """The name as the server stores it: at most `limit` bytes of UTF-8, truncated between
    characters.

    >>> cut("x" * 70) == "x" * 63, cut("é" * 40) == "é" * 31
    (True, True)
    """
    raw = name.encode()
    return name if len(raw) <= limit else raw[:limit].decode(errors="ignore")


def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_UNSEEN = frozenset(
    {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
)  # control, format and bidi characters, surrogates, private use, separators


def json_safe(text: str) -> str:
    r"""Make JSON text harmless for a terminal: characters that `printable` replaces are escaped as
    in JSON, so the value is the same.

    >>> json_safe('{"a": "\u202eb\x9b"}')
    '{"a": "\\u202eb\\u009b"}'
    """
    if text.isascii() and "\x7f" not in text:
        return text  # JSON itself escapes characters below the blank
    return "".join(
        _escaped(c) if c >= "\x7f" and unicodedata.category(c) in _UNSEEN else c for c in text
    )


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def printable(text: str) -> str:
    r"""Make text from a server or a file harmless for a terminal: control, format and bidi
    characters are replaced by escapes.

    >>> printable("a\x1b[31mb\n"), printable("ok é 日本")
    ('a\\x1b[31mb\\x0a', 'ok é 日本')
    """
    if text.isprintable():
        return text
    return "".join(_shown(c) if unicodedata.category(c) in _UNSEEN else c for c in text)


def split_name(text: str) -> tuple[str, str]:
    """Schema ("" if not specified) and name of a table in SQL notation: folded to lower case,
    except quoted parts.

    Raises CatalogError (2) if the text is not a table name.

    >>> split_name("Sales.Orders"), split_name('"My.Schema"."A""b"'), split_name("t")
    (('sales', 'orders'), ('My.Schema', 'A"b'), ('', 't'))
    """
    word = r'(?:"(?:[^"]|"")+"|[^".]+)'
    found = re.fullmatch(rf"(?:({word})\.)?({word})", text.strip())
    if not found:
        raise CatalogError(
            f"{text!r} is not a valid table name",
            hint='write it as in SQL: schema.name or "Schema"."Name"',
            exit_code=Exit.USAGE,
        )
    schema, name = (
        x[1:-1].replace('""', '"') if x.startswith('"') else x.lower()
        for x in (found[1] or "", found[2])
    )
    return schema, name


def shortened(name: str, limit: int) -> str:
    """A name with at most `limit` bytes. If it is longer, it ends with four digits computed from
    the whole name, so that names with the same beginning remain different; below ten bytes, it is
    only truncated.

    >>> shortened("t", 10), shortened("t" * 70, 10), shortened("t" * 69 + "u", 10)
    ('t', 'ttttt_a5a2', 'ttttt_9534')
    """
    if len(name.encode()) <= limit or limit < 10:
        return cut(name, max(limit, 0))
    return f"{cut(name, limit - 5)}_{zlib.crc32(name.encode()) & 0xFFFF:04x}"


def relation_name(
    parent: str, level: int, partition: str, *, classic: bool, used_names: set[str]
) -> str:
    """Name of a new partition's relation: parent_LEVEL_prt_NAME on Greenplum 6, parent_NAME on
    other servers. The part of the parent is shortened: by the server itself on Greenplum 6.

    >>> relation_name("t" * 70, 1, "p2024m01", classic=True, used_names=set())[-19:]
    'tttt_1_prt_p2024m01'
    >>> relation_name("t", 1, "p" * 70, classic=False, used_names={"_" + "p" * 62})[-4:]
    'pp_2'
    """
    tail = f"_{level}_prt_{partition}" if classic else f"_{partition}"
    for n in itertools.count(1):
        number = "" if n == 1 else f"_{n}"
        end = cut(tail, NAMEDATALEN - len(number)) + number
        most = NAMEDATALEN - len(end.encode())
        name = (cut(parent, most) if classic else shortened(parent, most)) + end
        if name not in used_names:
            return name
    raise AssertionError("there are no free numbers for new relations")
