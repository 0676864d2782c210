"""Why Greenplum rejects a distribution of a table, or a unique key that does not fit its
distribution (see refusals).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.casts import without_class
from gpcatalog.effects.certain import not_in
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.relations import Table

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


def _names(by: exp.Expression) -> list[str]:
    return [fold(c if isinstance(c, exp.Identifier) else c.this) for c in by.expressions]


def _columns(names: Sequence[str], known: Sequence[str] | None) -> str:
    """What is wrong with the columns of a distribution key. known: those of the table, if all are
    known
    """
    if known is not None and (missing := not_in(names, known)):
        return f"column {missing} of the distribution key does not exist"
    twice = next((n for at, n in enumerate(names) if n in names[:at]), "")
    return f"column {twice} is twice in the distribution key" if twice else ""


def refused_clause(
    by: exp.Expression,
    columns: Sequence[str],
    types: Mapping[str, Column],
    keys: Iterable[Sequence[str]],
    *,
    complete: bool,
    partitioned: bool,
) -> str:
    """What is wrong with DISTRIBUTED in CREATE TABLE.

    columns: those that are written; types: those with a known type; keys: columns of each unique
    key; complete: the statement contains all columns
    """
    word = str(by.args["kind"])
    if word not in ("HASH", "RANDOM"):
        return "a replicated table cannot be partitioned" if partitioned else ""
    keys = list(keys)
    if word == "RANDOM":
        return "a key of a table that is distributed randomly" if keys else ""
    names = _names(by)
    if why := _columns(names, columns if complete else None):
        return why
    for name in names:
        column, element = types.get(name), by.expressions[names.index(name)]
        if column and isinstance(element, exp.Identifier) and without_class(column, "hash"):
            return f"type {column.type} of column {name} has no operator class to distribute by"
    for one in keys:
        if missing := not_in(names, one):
            return f"a key without column {missing} of the distribution key"
    return ""


def by_enum(state: SchemaState, by: exp.Expression, types: Mapping[str, Column]) -> str:
    """A message if Greenplum 7 cannot distribute a table by an enum of the script."""
    if state.edition.classic or str(by.args["kind"]) != "HASH":
        return ""
    for name in _names(by):
        column = types.get(name)
        kind = state.types.definitions.get(column.type_used) if column is not None else None
        if kind is not None and kind.labels is not None:
            return f"column {name} of the distribution key is an enum"
    return ""


def without_common_column(keys: Iterable[Sequence[str]]) -> str:
    """A message if unique keys of a new table without DISTRIBUTED have no column that all of them
    contain: the table would be distributed by it.
    """
    sets = [set(key) for key in keys]
    if len(sets) > 1 and not set.intersection(*sets):
        return "unique keys without a common column, by which the table could be distributed"
    return ""


def default_keys(table: Table) -> tuple[str, ...]:
    """The distribution key of a new table that is defined without DISTRIBUTED, unless a setting
    makes it random: its unique key, or its first column; () if that is unknown.
    """
    unique = [k for k in table.indexes if k.constraint and not k.exclusion]
    if unique:
        keys = [k.simple if k.like.endswith(" 0") else () for k in unique]  # 0: without INCLUDE
        return tuple(name for name in keys[0] if all(name in key for key in keys))
    first = table.columns[0] if table.columns else None
    known = first is not None and not first.own_type and first.type in _DISTRIBUTED_BY
    return (first.name,) if first is not None and known else ()


_DISTRIBUTED_BY = frozenset(
    "int2 int4 int8 numeric float4 float8 text varchar bpchar date timestamp timestamptz bool uuid bytea".split()
)


def refused_key(state: SchemaState, table: Table, columns: Sequence[str], what: str) -> str:
    """Why a unique key with these columns does not fit the distribution of a table.

    what: words for the key
    """
    if not state.edition.greenplum:
        return ""
    if table.distribution == "random":
        return f"a {what} of a table that is distributed randomly"
    if table.distribution not in ("", "hash"):
        return ""
    # without DISTRIBUTED, it is distributed by these columns or, by a setting, randomly
    missing = not_in(table.distribution_keys or table.default_keys, columns)
    return f"a {what} without column {missing} of the distribution key" if missing else ""


def other_distribution(table: Table, by: exp.Expression) -> bool:
    """Whether DISTRIBUTED certainly differs from the distribution of a table."""
    kind = {"HASH": "hash", "RANDOM": "random"}.get(str(by.args["kind"]), "replicated")
    written = table.distribution, tuple(table.distribution_keys)
    return bool(table.distribution) and written != (kind, tuple(_names(by)))


def refused_distribution(state: SchemaState, table: Table, by: exp.Expression) -> str:
    """Why Greenplum rejects SET DISTRIBUTED."""
    if not state.edition.greenplum:
        return ""
    if table.parent is not None:
        above = state.tables.get(table.parent)
        if above is not None and other_distribution(above, by):
            return f"{table.title} is a partition, whose distribution is that of its table"
        return ""
    word = str(by.args["kind"])
    unique = [
        k for k in (*table.indexes, *table.only) if k.like.startswith(("primary", "unique", "True"))
    ]
    if word == "RANDOM":
        return f"unique key {unique[0].name} of a table distributed randomly" if unique else ""
    if word != "HASH":
        return ""
    names = _names(by)
    if why := _columns(names, [c.name for c in table.columns]):
        return why
    for key in unique:
        if missing := not_in(names, key.simple):
            return f"unique key {key.name} without column {missing} of the distribution key"
    return ""
