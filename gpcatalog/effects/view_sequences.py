"""Sequences that views name as constants: a view is dropped with such a sequence, and so with the
table or column that owns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.column_defaults import constant_names
from gpcatalog.effects.keys import object_name
from gpcatalog.effects.taken_names import may_own_sequence

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

_Name = tuple[str, str]  # schema and name

# one part of a name in a constant: in quotes, or folded to lower case
_PART = r'"(?:[^"]|"")+"|[^".]+'


def read_sequences(state: SchemaState, query: exp.Expression | None) -> frozenset[_Name]:
    """The sequences that nextval('…') and similar calls of a query name, as known in the schema
    state, or as written.
    """
    found = set()
    for text in constant_names(query) if query is not None else ():
        if re.fullmatch(rf"(?:(?:{_PART})\.)?(?:{_PART})", text.strip()):
            parts = [
                exp.to_identifier(
                    part[1:-1].replace('""', '"') if part.startswith('"') else part.lower(),
                    quoted=True,
                )
                for part in re.findall(_PART, text.strip())
            ]
            name = exp.Table(this=parts[-1], db=parts[0] if len(parts) > 1 else None)
            found.add(state.known_name(name, state.sequences))
    return frozenset(found)


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
