"""Why the server rejects partitions that are created, attached, added or split (see refusals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.certain import is_certain, not_in
from gpcatalog.effects.keys import child_name, fold
from gpcatalog.effects.partition_lookup import plain, plain_text
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.effects.taken_bounds import Bound, TakenBounds, bound_of, of_value

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState
    from gpcatalog.effects.ties import Name


def new_bound(state: SchemaState, parent: Table, node: exp.Expression | None) -> Bound | None:
    """The bound of a partition of this table; None if it is not understood."""
    level = parent.levels[0] if parent.levels else None
    if level is None or (len(level.keys) != 1 and not isinstance(node, gx.BoundDefault)):
        return None
    key = next((c for c in parent.columns if c.name == level.keys[0]), None)
    return bound_of(node, key, state.zone)


def note_bound(
    state: SchemaState, parent: Table, child: Table, node: exp.Expression | None
) -> None:
    """Store the bound of a partition that was created or attached."""
    try:
        bound = new_bound(state, parent, node)
    except Unknown:
        return
    if bound is not None:
        parent.taken_bounds = parent.taken_bounds or TakenBounds()
        parent.taken_bounds.add((child.schema, child.name), bound)


_STRATEGY = {"BoundFromTo": "range", "BoundIn": "list", "BoundWith": "hash"}


def bound_problem(state: SchemaState, parent: Table, node: exp.Expression | None) -> str:
    """What is wrong with the bound of a new partition."""
    if not parent.levels:
        return "" if parent.partitioned else f"{parent.title} is not partitioned"
    strategy = parent.levels[0].strategy
    kind = type(node).__name__
    if strategy not in _STRATEGY.values() or kind not in (*_STRATEGY, "BoundDefault"):
        return ""
    if strategy == "hash" if kind == "BoundDefault" else _STRATEGY[kind] != strategy:
        return f"a bound for {strategy} partitions is needed"
    if isinstance(node, gx.BoundWith):
        modulus, remainder = (str(node.args[n].this) for n in ("modulus", "remainder"))
        outside = modulus.isdigit() and remainder.isdigit() and int(remainder) >= int(modulus)
        return "the remainder is not less than the modulus" if outside else ""
    try:
        bound = new_bound(state, parent, node)
    except Unknown:  # the time zone of the session
        bound = None
    if bound is None:
        return ""
    if bound.low is not None and bound.high is not None and not bound.low < bound.high:
        return "the range is empty"
    if bound.default and any(p.default for p in parent.parts):
        return f"{parent.title} has a default partition"
    other = (
        parent.taken_bounds.overlapping(bound, lambda name: name in parent.own_children)
        if parent.taken_bounds is not None
        else None
    )
    if other is None:
        return ""
    if bound.default:
        return f"{parent.title} has a default partition, {other[1]}"
    return f"the bound overlaps that of {other[1]}"


def attach(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """Why the server rejects ATTACH PARTITION."""
    child = state.find(action.this)
    if child is None or not is_certain(state, action.this, child):
        return ""
    if child.parent is not None:
        return f"{child.title} is a partition already"
    mine, own = ({c.name: c for c in one.columns} for one in (table, child))
    if missing := not_in(mine, list(own)):
        return f"{child.title} has no column {missing}"
    if more := not_in(own, list(mine)):
        return f"{table.title} has no column {more}"
    for name, column in mine.items():
        two = {column.type, own[name].type}
        if len(two) == 2 and two <= _PLAIN_TYPES and not (column.own_type or own[name].own_type):
            return f"column {name} of {child.title} has another type"
    return bound_problem(state, table, action.args.get("bound"))


# types that have no other name
_PLAIN_TYPES = frozenset("int2 int4 int8 text date timestamp timestamptz bool float8 uuid".split())


def split(table: Table, action: exp.Expression) -> str:
    """Why Greenplum rejects SPLIT PARTITION at the level that ALTER PARTITION names."""
    level, node = 0, action
    while type(node).__name__ == "AlterPartition":
        level, node = level + 1, node.args["action"]
    if type(node).__name__ != "SplitPartition" or level >= len(table.levels):
        return ""
    if level < len(table.levels) - 1:
        return "SPLIT PARTITION of a partition with subpartitions"
    if level and table.levels[level].strategy == "list":
        return "SPLIT PARTITION of a list partition below the first level"
    return ""


def add_partition(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """Why Greenplum rejects ADD PARTITION at the first level; version 6 adds none if there is a
    default partition.
    """
    if not table.levels:
        return "" if table.partitioned else f"{table.title} is not partitioned"
    name = fold(action.this) if isinstance(action.this, exp.Identifier) else ""
    relation = (table.schema, child_name(table.name, 1, name))
    if name and relation in state.leaf_of and any(p.partition == name for p in table.parts):
        return f"partition {name} of {table.title} exists"
    # the default partition was created first, or was added last
    if state.edition.classic and any(p.default for p in (*table.parts[:1], *table.parts[-1:])):
        return f"{table.title} has a default partition: split that one instead"
    if action.args.get("default"):
        return ""
    other = _overlapped(state, table, action.args.get("bound"))
    return f"the bound overlaps that of {other}" if other else ""


def _overlapped(state: SchemaState, table: Table, bound: exp.Expression | None) -> str:
    """The name of a partition whose bound overlaps the bound of ADD PARTITION; "" if that is not
    certain.
    """
    key = next((c for c in table.columns if table.levels[0].keys == (c.name,)), None)
    if key is None or key.own_type or key.typmod != -1:
        return ""
    new: Bound | None = None
    if isinstance(bound, gx.PartitionValues) and key.type in ("int2", "int4", "int8", "text"):
        new = Bound(values=frozenset(plain(v) for v in bound.expressions))
    elif isinstance(bound, gx.PartitionRange) and bound.args.get("every") is None:
        start, end = bound.args.get("start"), bound.args.get("end")
        if start is None or end is None or start.args.get("inclusive") or end.args.get("inclusive"):
            return ""
        node = gx.BoundFromTo(lower=start.expressions, upper=end.expressions)
        try:
            new = bound_of(node, key, state.zone)
        except Unknown:
            return ""
    if new is None:
        return ""

    def still_overlaps(name: Name) -> bool:
        """Whether a partition of that name still has an overlapping bound."""
        same = (_written(p) for p in table.parts if p.name == name[1])
        return any(one is not None and one.overlaps(new) for one in same)

    other = _bounds(table).overlapping(new, still_overlaps)
    return other[1] if other is not None else ""


def _written(part: Partition) -> Bound | None:
    """The parsed bound of a partition; None if it is open or was not understood."""
    if part.listed:
        return Bound(values=frozenset(plain_text(text) for text in part.listed))
    low, high = of_value(part.lower), of_value(part.upper)
    return None if low is None or high is None else Bound(low=low, high=high)


def _bounds(table: Table) -> TakenBounds:
    """The bounds of the partitions of the first level: partitions that were created since the last
    call are added; those that were dropped stay until a search finds them.
    """
    known = table.spans
    if (
        known is None
        or known.seen > len(table.parts)
        or (known.seen and table.parts[known.seen - 1] is not known.last)
    ):
        known = table.spans = TakenBounds()
    for part in table.parts[known.seen :]:
        if (bound := _written(part)) is not None:
            known.add(("", part.name), bound)
        known.seen, known.last = known.seen + 1, part
    return known
