"""Defaults of columns: the rows that they have, and the sequences that they name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.keys import Column
from gpcatalog.effects.outer_dependencies import (
    NULL_DEFAULTS,
    note_dependencies,
    note_left_out,
)
from gpcatalog.effects.relations import Table

if TYPE_CHECKING:
    from gpcatalog.effects.ties import Ties
    from gpcatalog.effects.types import Types


def constant_names(value: exp.Expression) -> set[str]:
    """The names of sequences in the first argument of nextval('…') and similar functions, as they
    are written. A name that is cast to text is not a constant of a sequence.
    """
    found = set()
    for call in value.find_all(exp.Anonymous):
        arguments = call.expressions
        if str(call.this).lower() not in ("nextval", "currval", "setval") or not arguments:
            continue
        inner = arguments[0]
        if isinstance(inner, exp.Cast):
            if catalog_type(inner.args["to"])[0] != "regclass":
                continue
            inner = inner.this
        if isinstance(inner, exp.Literal) and inner.is_string:
            found.add(str(inner.this))
    return found


def with_default(
    types: Types, ties: Ties, table: Table, new_column: Column, value: exp.Expression
) -> Column:
    """The column with a default.

    A constant NULL has no row, unless it is converted: to the length of the type, or from another
    type. For a domain, it has one: that the column has a type of its own is known here, not which.
    """
    constant = value
    while isinstance(constant, exp.Paren):
        constant = constant.this
    cast = isinstance(constant, exp.Cast) and isinstance(constant.this, exp.Null)
    if isinstance(constant, exp.Null) or cast:
        if new_column.own_type or (cast and not new_column.type):
            note_left_out(ties, table, NULL_DEFAULTS)
        same = not cast or types.resolved(*catalog_type(constant.args["to"])) == (
            new_column.type,
            -1,
        )
        return replace(new_column, default=new_column.stores_null or not same, named=0)
    if new_column.type.startswith("reg") and isinstance(constant, exp.Literal):
        note_dependencies(ties, table)  # the constant is the OID of an object
    names = frozenset(constant_names(value))
    ties.use_sequences(table, names)
    return replace(new_column, default=True, named=len(names), sequences_used=names)


def has_default(element: exp.ColumnDef) -> bool:
    """Whether a column is written with a default, which can be NULL."""
    return any(
        isinstance(one.args.get("kind"), exp.DefaultColumnConstraint)
        for one in element.args.get("constraints") or ()
    )
