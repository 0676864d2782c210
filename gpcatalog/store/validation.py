"""Conditions for the values of a snapshot file: a file from an unknown source is not trusted.

Only data comes from the file; all SQL is from this program.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpcatalog.model.auxiliary import KINDS
from gpcatalog.model.storage import Storage
from gpcatalog.model.upkeep_runs import STATES
from gpcatalog.store.packing import packed_shape
from gpcatalog.store.schema import ADDED, shape_of

MOST_ROWS = 200_000_000  # maximum rows of a table: far more than the relations of any server
LONGEST_TEXT = 16 << 20  # bytes; a bound can be long
LONGEST_NAME = 1023  # bytes; servers allow 63, some are built with a larger limit

Column = tuple[str, str, bool]  # name, type, may be NULL

_KINDS = ("root", "intermediate", "leaf", "table")
_STORAGES = tuple(Storage)
# columns with a fixed set of words; NULL is also allowed if the column may be NULL
_WORDS: dict[str, Iterable[str]] = {
    "snapshot.grain": ("leaf", "root"),
    "instance.role": ("p", "m"),
    "relation.kind": _KINDS,
    "relation.storage": _STORAGES,
    "relation.persistence": ("p", "u", "t"),
    "root_total.kind": _KINDS,
    "root_total.storage": _STORAGES,
    "file_total.basis": ("directory", "sample", "catalog"),
    "catalog.rows_basis": ("counted", "derived", "estimate"),
    "file_total.part": (
        "main",
        "auxiliary",
        "toast",
        "index",
        "fork",
        "sequence",
        "catalog",
        "other",
        "unowned",
    ),
    "orphan.kind": (
        "candidate",
        "may be in use",
        "awaits a checkpoint",
        "may be of a prepared transaction",
        "missing",
    ),
    "auxiliary.kind": KINDS,
    "partition_key.strategy": ("range", "list", "hash"),
    "horizon.holder": ("session", "prepared transaction", "replication slot"),
    "upkeep_event.state": STATES,
    "age.kind": ("database", "catalog", "relation"),
    "coverage.status": (
        "read",
        "denied",
        "timed out",
        "busy",
        "segment down",
        "failed",
        "not applicable",
    ),
}
# numbers that may be negative: -1 means "unknown", or a clock was set back
_SIGNED = {
    "relation.pages",
    "relation.tuples",
    "horizon.seconds",
    "horizon.xid_age",
    "orphan.age_seconds",
}
_NAMES = {"schema", "name", "database", "role", "partition_name", "hostname", "host"}
_GENERATION = "'gp[67]|cb2|pg1[2-9]|pg[2-9][0-9]'"


def expected_columns(table: str, version: int) -> tuple[list[Column], list[Column]]:
    """Columns that a file of this version must have in `table`, and columns that it may lack."""
    must: list[Column] = []
    may: list[Column] = []
    for column in shape_of(table):
        (may if ADDED.get(f"{table}.{column[0]}", 1) > version else must).append(column)
    return must, may


def may_lack(table: str, version: int) -> bool:
    """Whether a file of this version may lack the table, because a later version added it."""
    return ADDED.get(table, 1) > version


def packed_columns() -> list[Column]:
    """The columns of the packed form of `relation`, as created by `packing.pack`."""
    return [
        (name, kind, True)
        for name, kind in packed_shape([(name, kind) for name, kind, _ in shape_of("relation")])
    ]


def _condition(table: str, column: Column) -> str:
    """SQL condition that is true for every value of the column that a server could have
    returned.
    """
    name, kind, nullable = column
    quoted, key = f'"{name}"', f"{table}.{name}"
    found = []
    if not nullable:
        found.append(f"{quoted} IS NOT NULL")
    if key in _WORDS:
        found.append(f"{quoted} IN ({', '.join(chr(39) + w + chr(39) for w in _WORDS[key])})")
    elif key == "snapshot.generation":
        found.append(f"regexp_full_match({quoted}, {_GENERATION})")
    elif kind == "VARCHAR":
        longest = LONGEST_NAME if name in _NAMES else LONGEST_TEXT
        found.append(f"strlen({quoted}) <= {longest} AND NOT contains({quoted}, chr(0))")
    elif kind == "DOUBLE":
        found.append(
            f"isfinite({quoted}) AND {quoted} BETWEEN {'-1e15' if key in _SIGNED else '0'} AND 1e18"
        )
    elif kind in ("TIMESTAMP", "DATE"):
        found.append(f"{quoted} BETWEEN '1990-01-01' AND '2200-01-01'")
    elif kind in ("BIGINT", "INTEGER"):
        least = -1 if name == "content" else -(10**15) if key in _SIGNED else 0
        found.append(f"{quoted} BETWEEN {least} AND {10**18}")
    return " AND ".join(found)


def _packed_condition(column: Column) -> str:
    name, kind, _ = column
    if name.endswith("_form"):
        # a printf format of this program contains only "%d", "%0Nd" with at most two digits, and
        # "%%"; nothing else may be passed to printf
        text = f'strlen("{name}") <= {LONGEST_TEXT} AND NOT contains("{name}", chr(0))'
        rest = f"regexp_replace(replace(\"{name}\", '%%', ''), '%(0[0-9]{{1,2}})?d', '', 'g')"
        safe = f"NOT contains({rest}, '%')"
        needed = '"name_form" IS NOT NULL AND ' if name == "name_form" else ""
        return f"{needed}{text} AND {safe}"
    if name.startswith(("name_", "bound_")) and kind == "BIGINT":
        return f'"{name}" >= 0 AND "{name}" IS NOT NULL'
    own = next((c for c in shape_of("relation") if c[0] == name), column)
    return _condition("relation", own)


def conditions(table: str, *, packed: bool = False) -> dict[str, str]:
    """Column → SQL condition that is true, or NULL, for every valid value."""
    if packed:
        return {
            column[0]: text for column in packed_columns() if (text := _packed_condition(column))
        }
    return {column[0]: text for column in shape_of(table) if (text := _condition(table, column))}
