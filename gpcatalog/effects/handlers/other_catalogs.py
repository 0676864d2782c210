"""Which rows of other catalogs than pg_class and pg_attribute a statement makes or drops that are not
counted: named with its effect, so that no figure of pg_depend, pg_constraint or pg_trigger looks
complete that is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import AFTER, DROPPED, MINOR
from gpcatalog.effects.outer_dependencies import DEPENDENCIES, FOREIGN, OF_PARTITIONS
from gpcatalog.effects.relations import Table
from gpcatalog.effects.ties import keys_of_partitions

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

_TEMPORARY = "types and dependencies of relations in temporary schemas"
_BEFORE = "rows in other catalogs of tables that were there before"
# kinds of objects that no column's type or default is made of
_RELATIONS = ("TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE", "EXTERNAL TABLE", "SEQUENCE")
# what hangs on a table and goes with it
_HANGS = frozenset(
    "CreateTrigger CreateRule CreatePolicy CreateStatistics CreateStatisticsUnnamed".split()
)
# actions that drop or make rows that are not counted with the table
_CHANGING = frozenset(
    """AttachPartition DetachPartition DropColumn DropConstraint AlterColumnAction ExchangePartition SplitPartition""".split()
)


def _concerned(state: SchemaState, effect: Effect) -> Iterator[Table]:
    seen: list[Table] = []
    for table in (effect.table, *(target for target, _ in effect.targets)):
        if table is None or any(table is one for one in seen):
            continue
        seen.append(table)
        yield table
        above = state.tables.get(table.parent) if table.parent is not None else None
        if above is not None and not any(above is one for one in seen):
            seen.append(above)
            yield above


def _note_what_hangs(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    for name in tree.find_all(exp.Table, gx.RelationName):
        table = state.find(name)
        if table is not None:
            table.leave_out(MINOR[kind])


def _is_odd(table: Table, effect: Effect) -> bool:
    """Whether a temporary table of Greenplum has a bitmap index, or was written anew."""
    return effect.rewritten or any(key.bitmap for key in table.indexes)


def _note_columns(state: SchemaState) -> None:
    """Columns, defaults and indexes that depend on what is dropped with CASCADE may have gone."""
    for table in state.tables.values():
        if DEPENDENCIES in table.not_counted or any(c.own_type for c in table.columns):
            table.leave_out(DROPPED)


def note_other_rows(state: SchemaState, tree: exp.Expression, effect: Effect) -> None:
    """Add what is not counted to an effect, once each."""
    kind = type(tree).__name__
    found = list(state.ties.not_counted)
    state.ties.not_counted.clear()
    if kind.startswith("Drop") and cascades(tree) and tree.args.get("kind") not in _RELATIONS:
        _note_columns(state)
    if kind in _HANGS:
        _note_what_hangs(state, tree, kind)
    changes = {type(a).__name__ for a in effect.actions} & _CHANGING
    foreign = any(
        type(a).__name__ == "AddTableConstraint"
        and isinstance(a.this.args.get("kind"), gx.ReferencesConstraint)
        for a in effect.actions
    )
    if effect.made or effect.gone or effect.extra or changes or foreign:
        for table in _concerned(state, effect):
            if table.temporary and state.edition.greenplum and _is_odd(table, effect):
                table.leave_out(_TEMPORARY)
                found.append(_TEMPORARY)
            if table.odd_parts or table.only:
                found.append(OF_PARTITIONS)
            if effect.verb == "index":
                continue
            found += table.not_counted
            if table.oid:
                found.append(_BEFORE)
            if effect.verb != "drop" and keys_of_partitions(state, table):
                found.append(FOREIGN)
    for reason in found:
        if reason not in effect.minor:
            effect.minor.append(reason)


AFTER.append(note_other_rows)
