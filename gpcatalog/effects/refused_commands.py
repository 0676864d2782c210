"""Why Greenplum rejects a command for partitions, such as DROP PARTITION, or a list of partitions in
CREATE TABLE (see refusals).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.casts import different_types
from gpcatalog.effects.certain import is_certain
from gpcatalog.effects.expansion import PartitionExpander
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.list_values import stored_values, written_values
from gpcatalog.effects.partition_lookup import key_column, locate
from gpcatalog.effects.refused_partitions import (
    add_partition,
    range_bound,
    written_bound,
    wrong_bound,
)
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.effects.taken_bounds import TakenBounds, of_value

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

_COMMANDS = frozenset(
    """AddPartition DropPartition TruncatePartition RenamePartition ExchangePartition SplitPartition SetSubpartitionTemplate
    AlterPartition""".split()
)


def refused_command(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """Why Greenplum rejects a command for partitions of a table, if it is the only action of the
    statement.
    """
    kind = type(action).__name__
    if kind not in _COMMANDS or not state.edition.greenplum:
        return ""
    if not _zone_known(state):
        return ""
    optional = "IF EXISTS" in str(action.args.get("form", ""))
    if not table.levels:
        ignored = kind == "DropPartition" and optional and state.edition.classic
        return "" if table.partitioned or ignored else f"{table.title} is not partitioned"
    siblings, level, node = table.parts, 0, action
    while type(node).__name__ == "AlterPartition":
        found = _target(state, table, siblings, node, level)
        if not isinstance(found, Partition):
            return found
        siblings, level, node = found.children, level + 1, node.args["action"]
        if level >= len(table.levels):
            return ""
    return _at_level(state, table, siblings, node, level)


def _zone_known(state: SchemaState) -> bool:
    """Whether the time zone of the session is known."""
    try:
        return bool(state.zone)
    except Unknown:
        return False


def _at_level(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    node: exp.Expression,
    level: int,
) -> str:
    kind = type(node).__name__
    if kind == "AddPartition":
        return add_partition(state, table, siblings, node, level)
    if kind == "SetSubpartitionTemplate" or kind not in _COMMANDS:
        return ""
    if kind == "SplitPartition" and (why := _split_level(table, level)):
        return why
    found = _target(state, table, siblings, node, level)
    if not isinstance(found, Partition):
        return found
    if kind == "DropPartition":
        if len(siblings) == 1 and not table.own_children:
            return f"{found.name} is the only partition that is left"
        return "" if node.args.get("behavior") == "CASCADE" else _viewed(state, table, found)
    if kind == "RenamePartition":
        new = fold(node.args["to"])
        taken = any(p.partition == new for p in siblings if p is not found)
        return f"partition {new} of {table.title} exists" if taken else ""
    if kind == "ExchangePartition":
        return _exchange(state, table, node)
    return _split(state, table, found, node, level) if kind == "SplitPartition" else ""


def _viewed(state: SchemaState, table: Table, part: Partition) -> str:
    """A view that certainly reads a partition, or one below it."""
    names = {(one.schema or table.schema, one.name) for one in part.walk()}
    for key in sorted(names & state.ties.views.keys()):
        for view in state.ties.reading(state, key):
            return f"view {view[1]} depends on {key[1]}"
    return ""


def _target(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    node: exp.Expression,
    level: int,
) -> Partition | str:
    """The partition that a command names, or why there is certainly none; "" if that is not
    certain.
    """
    named = node.args.get("target") or node.args.get("ref") or node.args.get("this")
    words = list(named.walk()) if isinstance(named, exp.Expression) else []
    if any(word.args.get("rank") is not None for word in words):
        if not state.edition.classic:
            return "Greenplum 7 has no partition by RANK"
        if table.levels[level].strategy == "list":
            return "a list partition has no RANK"
    kind = PartitionExpander(state.edition, table, state.zone, table.options).kind(level)
    try:
        found = locate(siblings, node, kind, state.zone)
    except Unknown:
        return ""
    by_value = any(word.args.get("values") is not None for word in words)
    if found is not None:
        return "" if table.own_children and by_value and found.default else found
    optional = "IF EXISTS" in str(node.args.get("form", ""))
    if optional or table.own_children:
        return ""
    column = key_column(table, level)
    if by_value and (
        column is None or not column.exact or column.type in ("float4", "float8", "numeric")
    ):
        return ""
    if by_value and table.levels[level].strategy == "list":
        texts = [text for p in siblings for text in p.listed]
        listed = stored_values(texts, column) if column is not None else None
        values = next(word.args["values"] for word in words if word.args.get("values") is not None)
        given = written_values(values.args["values"], column) if column is not None else None
        if listed is None or given is None or listed & given:
            return ""
    return f"{table.title} has no such partition"


def _split_level(table: Table, level: int) -> str:
    """Why no partition of this level can be split."""
    if level < len(table.levels) - 1:
        return "SPLIT PARTITION of a partition with subpartitions"
    if level and table.levels[level].strategy == "list":
        return "SPLIT PARTITION of a list partition below the first level"
    return ""


def _split(
    state: SchemaState, table: Table, part: Partition, node: exp.Expression, level: int
) -> str:
    """What is wrong with the values of AT."""
    at = node.args.get("at") or ()
    if not at or part.default:
        return ""
    column = key_column(table, level)
    if column is None or not column.exact:
        return ""
    if part.listed:
        values = written_values(at, column)
        listed = stored_values(part.listed, column)
        if values is None or listed is None:
            return ""
        if values - listed:
            return f"{part.name} does not have all values of AT"
        return f"AT has all values of {part.name}" if values >= listed else ""
    bound = range_bound(at, at, column, state)
    low, high = of_value(part.lower), of_value(part.upper)
    if bound is None or bound.low is None or low is None or high is None:
        return ""
    if part.closed:
        return ""
    return "" if low < bound.low < high else f"AT is not between the bounds of {part.name}"


def _exchange(state: SchemaState, table: Table, node: exp.Expression) -> str:
    """Why the table of EXCHANGE PARTITION does not fit."""
    name = node.args["table"]
    other = state.find(name)
    if other is None or not is_certain(state, name, other):
        return ""
    if other is table:
        return f"{table.title} would be a partition of itself"
    mine, its = ([c.name for c in one.columns] for one in (table, other))
    if set(mine) != set(its):
        return f"{other.title} has other columns than {table.title}"
    if state.edition.classic and mine != its:
        return f"{other.title} has the columns in another order than {table.title}"
    by_name = {c.name: c for c in other.columns}
    for column in table.columns:
        if different_types(column, by_name[column.name]):
            return f"column {column.name} of {other.title} has another type"
    written = [(one.distribution, one.distribution_keys) for one in (table, other)]
    if all(kind for kind, _ in written) and written[0] != written[1]:
        return f"{other.title} is distributed in another way than {table.title}"
    return ""


# --- PARTITION BY in CREATE TABLE -----------------------------------------------------------------


def refused_partition_list(
    state: SchemaState, by: exp.Expression, columns: Mapping[str, Column]
) -> str:
    """What is wrong with the partitions of a CREATE TABLE. columns: by name, with their types"""
    if not _zone_known(state):
        return ""
    node: exp.Expression | None = by
    nodes = []
    while node is not None:
        nodes.append(node)
        node = node.args.get("subpartition")
    for one in nodes:
        many = len(one.expressions) > 1
        if many and _strategy(one) == "range" and by.args.get("partitions"):
            return "a range partition key of several columns"
        if many and _strategy(one) == "list" and not state.edition.classic:
            return "a list partition key has one column"
        if one.args.get("template") and (
            why := _elements(state, one, one.args["template"], columns)
        ):
            return why
    return _lists(state, nodes, by.args.get("partitions") or (), columns)


def _lists(
    state: SchemaState,
    nodes: Sequence[exp.Expression],
    elements: Sequence[exp.Expression],
    columns: Mapping[str, Column],
) -> str:
    """What is wrong with a list of partitions, or with the lists below it."""
    if not nodes:
        return ""
    if why := _elements(state, nodes[0], elements, columns):
        return why
    inner = (element.args.get("partitions") or () for element in elements)
    return next((why for one in inner if (why := _lists(state, nodes[1:], one, columns))), "")


def _strategy(node: exp.Expression) -> str:
    kind = node.args.get("kind")
    return (kind if isinstance(kind, str) else fold(kind)).lower()


def _elements(
    state: SchemaState,
    level: exp.Expression,
    elements: Sequence[exp.Expression],
    columns: Mapping[str, Column],
) -> str:
    """What is wrong with the partitions of one list."""
    repeated = {fold(e.this) for e in elements if _every(e)}  # these get a number
    names = [fold(e.this) for e in elements if isinstance(e.this, exp.Identifier)]
    names = [name for name in names if name not in repeated]
    if twice := next((n for at, n in enumerate(names) if n in names[:at]), ""):
        return f"partition {twice} is named twice"
    if sum(bool(e.args.get("default")) for e in elements) > 1:
        return "there is one default partition only"
    strategy = _strategy(level)
    keys = [fold(k) for k in level.expressions if isinstance(k, exp.Identifier)]
    column = columns.get(keys[0]) if len(keys) == 1 == len(level.expressions) else None
    taken = TakenBounds()
    for number, element in enumerate(elements):
        bound = element.args.get("bound")
        if why := wrong_bound(strategy, bound):
            return why
        own = written_bound(bound, column, state)
        if own is None:
            continue
        if own.low is not None and own.high is not None and not own.low < own.high:
            return "the range is empty"
        if taken.overlapping(own, lambda _: True) is not None:
            return "the bounds of two partitions overlap"
        taken.add(("", str(number)), own)
    return ""


def _every(element: exp.Expression) -> bool:
    """Whether an element makes several partitions."""
    bound = element.args.get("bound")
    return bound is not None and bound.args.get("every") is not None
