"""Rows in catalogs other than pg_class and pg_attribute that a statement adds or removes and that
are not counted. The effect names them, so that no incomplete figure of pg_depend, pg_constraint or
pg_trigger looks complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import AFTER, DROPPED, MINOR
from gpcatalog.effects.keys import fold, qualified
from gpcatalog.effects.outer_dependencies import DEPENDENCIES, FOREIGN, OF_PARTITIONS
from gpcatalog.effects.relations import Table
from gpcatalog.effects.ties import keys_of_partitions

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

_TEMPORARY = "types and dependencies of relations in temporary schemas"
_BEFORE = "rows in other catalogs of tables that were there before"
_EXTENSION = "dependency on the extension"
_SCHEMA = "dependency on the schema"
# kinds of objects that are not used for types or defaults of columns
_RELATIONS = ("TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE", "EXTERNAL TABLE", "SEQUENCE")
# objects that depend on a table and are dropped with it
_CREATES_DEPENDENT = frozenset(
    """CreateTrigger CreateRule CreatePolicy CreateStatistics CreateStatisticsUnnamed CreatePublication
    AlterPublication""".split()
)
# actions that remove or add rows that are not counted with the table
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


def _note_dependents(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    for name in tree.find_all(exp.Table, gx.RelationName):
        table = state.find(name)
        for one in (table, *state.partitions_of(table)) if table is not None else ():
            one.leave_out(MINOR[kind])
        if table is not None:
            continue
        if (hit := state.partition(*qualified(name))) is not None:
            hit[0].leave_out(MINOR[kind])


def _is_odd(table: Table, effect: Effect) -> bool:
    """Whether a temporary table of Greenplum has a bitmap index, or was rewritten."""
    return effect.rewritten or any(key.bitmap for key in table.indexes)


def _note_columns(state: SchemaState) -> None:
    """Note that CASCADE may have dropped columns, defaults and indexes that depend on the dropped
    object.
    """
    for table in state.tables.values():
        if DEPENDENCIES in table.not_counted or any(c.own_type for c in table.columns):
            table.leave_out(DROPPED)


def note_other_rows(state: SchemaState, tree: exp.Expression, effect: Effect) -> None:
    """Add the kinds of rows that are not counted to an effect, each once."""
    kind = type(tree).__name__
    found = list(state.ties.not_counted)
    state.ties.not_counted.clear()
    if kind.startswith("Drop") and cascades(tree) and tree.args.get("kind") not in _RELATIONS:
        _note_columns(state)
    if kind in _CREATES_DEPENDENT:
        _note_dependents(state, tree, kind)
    if kind.startswith("Alter") and any(type(one).__name__ == "DependsOn" for one in tree.walk()):
        found.append(_EXTENSION)
    if kind in ("AlterFunction", "AlterAggregate") and any(
        fold(name) == "pg_catalog" for name in tree.find_all(exp.Identifier)
    ):
        found.append(_SCHEMA)
    changes = {type(a).__name__ for a in effect.actions} & _CHANGING
    foreign = any(
        type(a).__name__ == "AddTableConstraint"
        and isinstance(a.this.args.get("kind"), gx.ReferencesConstraint)
        for a in effect.actions
    )
    if effect.created or effect.removed or effect.extra or changes or foreign:
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
