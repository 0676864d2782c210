"""Sequences that views name as constants: a view is dropped with such a sequence, and so with the
table or column that owns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.column_defaults import constant_names
from gpcatalog.effects.keys import Column, object_name
from gpcatalog.effects.taken_names import may_own_sequence

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

_Name = tuple[str, str]  # schema and name

# one part of a name in a constant: in quotes, or folded to lower case
_PART = r'"(?:[^"]|"")+"|[^".]+'


def column_with_sequence(state: SchemaState, key: _Name) -> tuple[Table, Column] | None:
    """The serial or identity column that owns the sequence of this schema and name, with its table;
    None if that is not certain.
    """
    if key in state.sequences or state.existing is not None or state.unsure:
        return None
    found = [
        (table, c)
        for table in state.tables.values()
        for c in table.columns
        if c.serial
        and object_name(table.name, c.name, "seq") == key[1]
        and table.known
        and not (table.uncounted or table.former_sequences or table.unlogged or table.temporary)
        and (table.schema == key[0] or {table.schema, key[0]} <= {"", "public"})
    ]
    owners = [t for t in state.tables.values() if may_own_sequence(t, key[1])]
    return found[0] if len(found) == 1 and len(owners) == 1 else None


def sequence_name(state: SchemaState, text: str) -> _Name | None:
    """The schema and name of a sequence in a constant, as known in the schema state; None if the
    text is not a name.
    """
    if not re.fullmatch(rf"(?:(?:{_PART})\.)?(?:{_PART})", text.strip()):
        return None
    parts = [
        exp.to_identifier(
            part[1:-1].replace('""', '"') if part.startswith('"') else part.lower(), quoted=True
        )
        for part in re.findall(_PART, text.strip())
    ]
    name = exp.Table(this=parts[-1], db=parts[0] if len(parts) > 1 else None)
    return state.known_name(name, state.sequences)


def read_sequences(state: SchemaState, query: exp.Expression | None) -> frozenset[_Name]:
    """The sequences that nextval('…') and similar calls of a query name, as known in the schema
    state, or as written.
    """
    names = (
        sequence_name(state, text) for text in (constant_names(query) if query is not None else ())
    )
    return frozenset(name for name in names if name is not None)


def owned_sequences(state: SchemaState, table: Table) -> Iterator[tuple[_Name, str, bool]]:
    """The sequences that views name and columns of a table may own: with the column, "" if it is
    not known, and whether that is certain.
    """
    if not (table.owned or table.sequence_names):
        return
    reads = {key for view in state.views.values() for key in view.reads}
    reads |= {key for one in state.tables.values() for key in one.reads}
    for key in reads:
        if key in table.owned:
            yield key, table.owners.get(key, ""), key in table.owners
        elif key in state.sequences or not (
            key[0] == table.schema or {key[0], table.schema} <= {"", "public"}
        ):
            continue
        elif may_own_sequence(table, key[1]):
            named = {
                object_name(table.name, c.name, "seq"): c.name for c in table.columns if c.serial
            }
            others = [t for t in state.tables.values() if may_own_sequence(t, key[1])]
            certain = key[1] in named and others == [table] and not table.former_sequences
            yield key, named.get(key[1], ""), certain
