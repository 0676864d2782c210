"""Which actions of ALTER TABLE rewrite a table, and the rows that a rewrite removes.

Greenplum 7 writes a row of pg_attribute_encoding for each column that ADD COLUMN adds to a
row-oriented append-optimized table. A rewrite of the table removes these rows, and a statement
that rewrites the table writes none (measured on 7.0.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.expansion import catalog_type, options_of
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.relations import Table
from gpcatalog.effects.volatile import either, volatile
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

NEW_COLUMN = "whether ADD COLUMN rewrites the table (domain or function of the default)"
ENCODINGS = "rows of pg_attribute_encoding of added columns"
_CATALOG = "pg_attribute_encoding"

# types whose values can be the same in another type, so that a change needs no rewrite (pg_cast)
_ALIKE = (
    frozenset(("text", "varchar", "bpchar")),
    frozenset(("int4", "oid", "regclass", "regproc", "regtype")),
    frozenset(("inet", "cidr")),
    frozenset(("timestamp", "timestamptz")),
    frozenset(("bit", "varbit")),
)
_NUMBERS_AND_TIMES = frozenset(
    "bool int2 int4 int8 float4 float8 numeric date time timestamp text varchar bpchar uuid".split()
)


def by_new_column(state: SchemaState, element: exp.Expression, column: Column) -> bool | None:
    """Whether ADD COLUMN rewrites the table; None if unknown.

    From PostgreSQL 11 on and on Greenplum 7, it does if the values of the rows differ, for STORED
    columns, and for domains with constraints; on Greenplum 6 for each default and for domains with
    a default or constraints (ATExecAddColumn; measured).

    element: the definition of the column
    """
    kind = element.args.get("kind")
    name = catalog_type(kind)[0] if kind is not None else ""
    if state.edition.base < 11:
        return either(column.default, state.types.valued(name))
    generated = element.find(gx.GeneratedConstraint)
    if column.serial or (generated is not None and generated.args.get("stored")):
        return True
    default = element.find(exp.DefaultColumnConstraint)
    varies = volatile(default) if default is not None else False
    return either(state.types.constrained(name), varies)


def by_type(old: Column, new: Column, using: exp.Expression | None) -> bool | None:
    """Whether a change of a column's type rewrites the table; None if unknown."""
    same = (
        isinstance(using, exp.Column | exp.Identifier)
        and fold(using.this if isinstance(using, exp.Column) else using) == new.name
    )
    if using is not None and not same:
        return True
    if new.virtual:
        return False
    if old.type == new.type:
        if new.sized and new.typmod == -1:  # the precision of a time is not stored here
            return None if old.sized else True
        if new.typmod == -1 or old.typmod == new.typmod:
            return False
        if old.typmod == -1:
            return True
        if new.type == "varchar":
            return new.typmod < old.typmod
        if new.type == "numeric":  # precision in the upper half, scale in the lower half
            narrower = new.typmod >> 16 < old.typmod >> 16
            return narrower or (new.typmod - old.typmod) & 0xFFFF != 0
        return None
    if {old.type, new.type} == {"text", "varchar"}:
        return new.typmod != -1
    if not {old.type, new.type} <= _NUMBERS_AND_TIMES:
        return None
    return None if any({old.type, new.type} <= alike for alike in _ALIKE) else True


@dataclass(frozen=True)
class Before:
    """The columns, distribution, storage and persistence of a table before a statement."""

    columns: dict[str, Column]
    distribution: tuple[str, tuple[str, ...]]
    unlogged: bool
    storage: Storage

    @classmethod
    def of(cls, table: Table) -> Before:
        """The columns and the distribution of a table now."""
        return cls(
            {c.name: c for c in table.columns}, _distribution(table), table.unlogged, table.storage
        )


def _distribution(table: Table) -> tuple[str, tuple[str, ...]]:
    return table.distribution, tuple(table.distribution_keys)


def _by_action(
    state: SchemaState, table: Table, before: Before, action: exp.Expression
) -> bool | None:
    """Whether an action that has been applied rewrites the table; None if unknown."""
    kind = type(action).__name__
    if kind == "AddColumn":
        name = fold(action.this.this)
        new = next((c for c in table.columns if c.name == name), None)
        if new is None or name in before.columns:
            return False
        return by_new_column(state, action.this, new)
    if kind == "AlterColumnAction" and action.args.get("kind") is not None:
        name = fold(action.this)
        new = next((c for c in table.columns if c.name == name), None)
        old = before.columns.get(name)
        if new is None or old is None or new.own_type or old.own_type:
            return None
        return by_type(old, new, action.args.get("using"))
    return _by_set(table, before, action) if kind == "SetTable" else False


def _by_set(table: Table, before: Before, action: exp.Expression) -> bool | None:
    """Whether SET rewrites the table (Greenplum): an unlogged table, another distribution, or any
    value of `reorganize` without a distribution (measured on 6 and 7).
    """
    if (form := str(action.args.get("form", ""))) in ("SET LOGGED", "SET UNLOGGED"):
        return before.unlogged == (form == "SET LOGGED")
    if action.args.get("method") is not None:
        return None if table.partitioned else before.storage is not table.storage
    options = action.args.get("options")
    given = options_of(options) if isinstance(options, exp.Expression) else {}
    distributed = action.args.get("distribution") is not None
    if "reorganize" in given and (not distributed or given["reorganize"] in ("true", "on", "1")):
        return True
    if not distributed or table.distribution == "random":
        return False
    return before.distribution != _distribution(table) if before.distribution[0] else None


def remove_encodings(state: SchemaState, tables: Iterable[Table], effect: Effect) -> None:
    """Remove the rows of added columns of these tables: they are rewritten (Greenplum 7)."""
    for table in tables:
        if not any(rows.get(_CATALOG) for rows in table.extra.values()):
            continue
        with state.changing(effect, table):
            for rows in table.extra.values():
                rows.pop(_CATALOG, None)
        if table.partitioned:  # the rows of partitions that were dropped were counted, too
            effect.minor.append(ENCODINGS)


def without_needless_toast(table: Table) -> str:
    """Remove the TOAST relation of a rewritten heap table if no column needs it. Return what is
    unknown about it, or "".
    """
    others = table.storage is not Storage.HEAP or any(table.relations())
    if table.toast_doubt or (table.toasted and others):
        return table.toast_doubt or "TOAST relation after a rewrite"
    table.toasted = False
    return ""


def _may_keep(action: exp.Expression) -> bool:
    """Whether `_by_action` decides if the action rewrites the table."""
    if type(action).__name__ == "AlterColumnAction":
        return action.args.get("kind") is not None
    options = action.args.get("options")
    given = set(options_of(options)) if isinstance(options, exp.Expression) else set()
    return (
        type(action).__name__ == "SetTable"
        and given <= {"reorganize"}
        and not action.args.get("tablespace")
    )


def note_rewrite(state: SchemaState, table: Table, before: Before, effect: Effect) -> None:
    """Note whether an ALTER TABLE rewrites the table, and count what is removed with a rewrite,
    after its actions have been applied: rows of added columns on Greenplum 7, TOAST relations on
    Greenplum 6.
    """
    found = either(*(_by_action(state, table, before, action) for action in effect.actions))
    if found:
        effect.rewritten = True
    elif found is False and table.known and all(map(_may_keep, effect.actions)):
        effect.rewritten = False
    if not state.edition.greenplum:
        return
    if state.edition.classic:
        _remove_toast(state, table, before, effect)
        return
    if found:
        on_all = all(type(a).__name__ != "SetTable" for a in effect.actions)
        children = state.inheriting(table) if on_all else []
        remove_encodings(state, [table, *state.partitions_of(table), *children], effect)
    elif found is None and any(rows.get(_CATALOG) for rows in table.extra.values()):
        table.leave_out(ENCODINGS)
        effect.minor.append(ENCODINGS)


def _remove_toast(state: SchemaState, table: Table, before: Before, effect: Effect) -> None:
    """Remove the TOAST relations that no column needs, if SET rewrites the table (Greenplum 6)."""
    sets = [a for a in effect.actions if type(a).__name__ == "SetTable"]
    found = either(*(_by_set(table, before, action) for action in sets))
    family = (table, *state.partitions_of(table), *state.inheriting(table))
    for one in family if found is not False else ():
        if not one.toasted or one.columns_call_for_toast(state.edition):
            continue
        if found is None or one.toast_doubt:
            effect.add_unknown(one.toast_doubt or "TOAST relation after a rewrite")
            continue
        with state.changing(effect, one):
            one.toasted = False
