"""Names that the server generates for indexes and constraints: with a number if they are taken."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from gpcatalog.effects.keys import object_name
from gpcatalog.effects.relations import Table, View

_Name = tuple[str, str]  # schema and name


class Names(Protocol):
    """The part of the schema state with the names of relations."""

    tables: dict[_Name, Table]
    views: dict[_Name, View]
    sequences: set[_Name]
    leaf_of: dict[_Name, _Name]
    index_names: set[str]


def _taken(state: Names, table: Table, name: str) -> bool:
    """Whether another relation in the schema of a table has this name."""
    if table.temporary:  # the schema of temporary tables is another one
        return False
    schemas = ("", "public") if table.schema in ("", "public") else (table.schema,)
    for key in ((schema, name) for schema in schemas):
        other = state.tables.get(key)
        if other is not None and other is not table and not other.temporary:
            return True
        if key in state.views or key in state.sequences or key in state.leaf_of:
            return True
    return name in state.index_names and any(
        key.name == name
        for other in state.tables.values()
        if other is not table and other.schema in schemas and not other.temporary
        for key in (*other.indexes, *other.only)
    )


def may_own_sequence(table: Table, name: str) -> bool:
    """Whether a serial or identity column of a table may own the sequence of this name, which has a
    number at the end if a shorter name was taken when the column was added.
    """
    if name in table.sequence_names:
        return True
    base = name.rstrip("0123456789")
    if base == name:
        return False
    label = f"seq{name.removeprefix(base)}"
    return base in table.former_sequences or any(
        c.serial and object_name(table.name, c.name, label) == name for c in table.columns
    )


def unused(is_taken: Callable[[str], bool], first: str, second: str, label: str) -> str:
    """The first of first_second_label, …_label1, … that is not taken."""
    number = 0
    while True:
        name = object_name(first, second, f"{label}{number or ''}")
        if not is_taken(name):
            return name
        number += 1


def index_name(
    state: Names,
    table: Table,
    second: str,
    label: str,
    *,
    of: str = "",
    used: Collection[str] = (),
) -> str:
    """The name of a new index of a table. of: the partition that gets it; used: names of indexes of
    partitions that are taken, too
    """
    own = {key.name for key in table.indexes} | set(used)
    return unused(
        lambda name: name in own or _taken(state, table, name), of or table.name, second, label
    )
