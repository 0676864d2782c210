"""Why the server rejects partitions that are created, attached, added or split (see refusals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.casts import different_types
from gpcatalog.effects.certain import is_certain, not_in
from gpcatalog.effects.keys import Column, child_name, fold
from gpcatalog.effects.list_values import stored_values, written_values
from gpcatalog.effects.partition_lookup import key_column
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.effects.taken_bounds import Bound, TakenBounds, bound_of, of_value

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState
    from gpcatalog.effects.ties import Name


def new_bound(state: SchemaState, parent: Table, node: exp.Expression | None) -> Bound | None:
    """The bound of a partition of this table; None if it is not understood."""
    names = parent.levels[0].keys if parent.levels else ()
    by_name = {c.name: c for c in parent.columns}
    keys = [by_name[name] for name in names if name in by_name]
    return bound_of(node, keys if len(keys) == len(names) else (), state.zone)


def note_bound(
    state: SchemaState, parent: Table, child: Table, node: exp.Expression | None
) -> None:
    """Store the bound of a partition that was created or attached."""
    numbers = _hash_of(node)
    try:
        bound = new_bound(state, parent, node)
    except Unknown:
        return
    if numbers is not None:
        parent.taken_bounds = parent.taken_bounds or TakenBounds()
        parent.taken_bounds.add_hash((child.schema, child.name), *numbers)
    if bound is not None:
        parent.taken_bounds = parent.taken_bounds or TakenBounds()
        parent.taken_bounds.add((child.schema, child.name), bound)


def _hash_of(node: exp.Expression | None) -> tuple[int, int] | None:
    """The modulus and the remainder of a hash partition."""
    if not isinstance(node, gx.BoundWith):
        return None
    modulus, remainder = (str(node.args[n].this) for n in ("modulus", "remainder"))
    known = modulus.isdigit() and remainder.isdigit() and int(modulus) > 0
    return (int(modulus), int(remainder)) if known else None


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
    taken = parent.taken_bounds

    def exists(name: Name) -> bool:
        return name in parent.own_children

    if (numbers := _hash_of(node)) is not None:
        if numbers[1] >= numbers[0]:
            return "the remainder is not less than the modulus"
        return taken.same_hash(*numbers, exists) if taken is not None else ""
    if isinstance(node, gx.BoundFromTo) and (why := _values_problem(parent, node)):
        return why
    if node is not None and (why := no_number(parent, 0, node)):
        return why
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
    other = taken.overlapping(bound, exists) if taken is not None else None
    if other is None:
        return ""
    if bound.default:
        return f"{parent.title} has a default partition, {other[1]}"
    return f"the bound overlaps that of {other[1]}"


def _values_problem(parent: Table, node: exp.Expression) -> str:
    """What is wrong with the values of a range, whatever the types of the columns are."""
    ends = [node.args["lower"], node.args["upper"]]
    if any(len(values) != len(parent.levels[0].keys) for values in ends):
        return "a range needs one value for each column of the partition key"
    if any(isinstance(value, exp.Null) for values in ends for value in values):
        return "a range has no NULL"
    for values in ends:
        words = [
            fold(v.this) if isinstance(v, exp.Column) and isinstance(v.this, exp.Identifier) else ""
            for v in values
        ]
        for word in ("minvalue", "maxvalue"):
            if word in words and set(words[words.index(word) :]) != {word}:
                return f"after {word.upper()}, all values have to be {word.upper()}"
    return ""


def attach(state: SchemaState, table: Table, action: exp.Expression) -> str:
    """Why the server rejects ATTACH PARTITION."""
    child = state.find(action.this)
    if child is None or not is_certain(state, action.this, child):
        return ""
    if child.parent is not None:
        return f"{child.title} is a partition already"
    if child is table:
        return f"{table.title} would be a partition of itself"
    if child.inherits:
        return f"{child.title} inherits from another table"
    if state.inheriting(child):
        return f"other tables inherit from {child.title}"
    if child.temporary != table.temporary:
        return f"one of {table.title} and {child.title} is temporary"
    mine, own = ({c.name: c for c in one.columns} for one in (table, child))
    if missing := not_in(mine, list(own)):
        return f"{child.title} has no column {missing}"
    if more := not_in(own, list(mine)):
        return f"{table.title} has no column {more}"
    for name, column in mine.items():
        if different_types(column, own[name]):
            return f"column {name} of {child.title} has another type"
        if column.not_null and not own[name].not_null:
            return f"column {name} of {child.title} is not NOT NULL"
        if column.generated and not (own[name].generated or own[name].default):
            return f"column {name} of {child.title} is not computed"
        if own[name].serial == "identity" and state.edition.base >= 17:
            return f"column {name} of {child.title} is an identity column"
    names = {check.name for check in child.checks}
    for check in table.checks:
        if check.name not in names:
            return f"{child.title} has no constraint {check.name}"
    return bound_problem(state, table, action.args.get("bound"))


def add_partition(
    state: SchemaState,
    table: Table,
    siblings: list[Partition],
    action: exp.Expression,
    level: int,
) -> str:
    """Why Greenplum rejects ADD PARTITION next to these partitions; version 6 adds none if there is
    a default partition.
    """
    name = fold(action.this) if isinstance(action.this, exp.Identifier) else ""
    if name and _named(state, table, siblings, name, level):
        return f"partition {name} of {table.title} exists"
    # in a long list, the default partition was probably created first, or added last
    some = (*siblings[:1], *siblings[-1:]) if len(siblings) > _LONG else siblings
    default = any(p.default for p in some)
    if state.edition.classic and default:
        return f"{table.title} has a default partition: split that one instead"
    if action.args.get("default"):
        return f"{table.title} has a default partition" if default else ""
    strategy, bound = table.levels[level].strategy, action.args.get("bound")
    if why := wrong_bound(strategy, bound):
        return why
    if state.edition.classic and bound is not None and bound.args.get("every") is not None:
        return "ADD PARTITION with EVERY"
    if bound is None and not action.args.get("partitions"):
        return "a partition needs a bound"
    if not action.args.get("partitions") and _without_template(state, table, level + 1):
        return f"subpartitions are needed: {table.title} has no template for level {level + 2}"
    if bound is not None and (why := no_number(table, level, bound)):
        return why
    new = written_bound(bound, key_column(table, level), state)
    if new is None:
        return ""
    if new.low is not None and new.high is not None and not new.low < new.high:
        return "the range is empty"
    overlapped = _overlapped(table, siblings, new, level)
    return f"the bound overlaps that of {overlapped}" if overlapped else ""


_LONG = 1000  # partitions of a list that are not all searched


def _without_template(state: SchemaState, table: Table, level: int) -> bool:
    """Whether new partitions certainly get no subpartitions of a level, which they need."""
    return (
        level < len(table.levels)
        and not table.levels[level].template
        and state.existing is None
        and not table.own_children
    )


def no_number(table: Table, level: int, bound: exp.Expression) -> str:
    """A message if a bound has a text without digits for a column of an integer type."""
    column = key_column(table, level)
    if column is None or column.own_type or column.type not in ("int2", "int4", "int8"):
        return ""
    ends = [bound.args.get(name) for name in ("lower", "upper")]
    ends += [
        bound.args[name].expressions
        for name in ("start", "end")
        if bound.args.get(name) is not None
    ]
    values = [value for end in ends if isinstance(end, list) for value in end]
    for value in [*values, *bound.expressions]:
        if (
            type(value) is exp.Literal
            and value.is_string
            and not any(c.isdigit() for c in str(value.this))
        ):
            return f"'{value.this}' is not a value of type {column.type}"
    return ""


def _named(
    state: SchemaState, table: Table, siblings: list[Partition], name: str, level: int
) -> bool:
    """Whether one of these partitions has this name."""
    if not level and (table.schema, child_name(table.name, 1, name)) not in state.leaf_of:
        return False  # faster, for many partitions
    return any(p.partition == name for p in siblings)


def range_bound(
    lower: list[exp.Expression], upper: list[exp.Expression], key: Column, state: SchemaState
) -> Bound | None:
    """The bound of a range; None if it is not understood, also without a known time zone."""
    try:
        return bound_of(gx.BoundFromTo(lower=lower, upper=upper), [key], state.zone)
    except Unknown:
        return None


def written_bound(
    bound: exp.Expression | None, key: Column | None, state: SchemaState
) -> Bound | None:
    """The bound of a partition that is written with both ends, or with values; None if it is not
    understood.
    """
    if key is None:
        return None
    # Greenplum 6 compares constants of type numeric by their text
    if isinstance(bound, gx.PartitionValues) and key.type != "numeric":
        values = written_values(bound.expressions, key)
        return Bound(values=values) if values is not None else None
    if not isinstance(bound, gx.PartitionRange) or bound.args.get("every") is not None:
        return None
    start, end = bound.args.get("start"), bound.args.get("end")
    if (
        not key.exact
        or start is None
        or end is None
        or start.args.get("inclusive")
        or end.args.get("inclusive")
    ):
        return None
    return range_bound(start.expressions, end.expressions, key, state)


def wrong_bound(strategy: str, bound: exp.Expression | None) -> str:
    """A message if a bound is for a list although the partitions have ranges, or the reverse."""
    wrong = {"range": gx.PartitionValues, "list": gx.PartitionRange}.get(strategy)
    given = wrong is not None and isinstance(bound, wrong)
    return f"a bound for {strategy} partitions is needed" if given else _every(bound)


def _every(bound: exp.Expression | None) -> str:
    """What is wrong with EVERY."""
    every = bound.args.get("every") if isinstance(bound, gx.PartitionRange) else None
    if bound is None or every is None:
        return ""
    if bound.args.get("start") is None or bound.args.get("end") is None:
        return "EVERY needs START and END"
    (step, *_) = every.expressions
    number = step.this if isinstance(step, exp.Neg) else step
    whole = isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit()
    negative = whole and (number is not step or not int(number.name))
    return "EVERY is not greater than 0" if negative else ""


def _overlapped(table: Table, siblings: list[Partition], new: Bound, level: int) -> str:
    """The name of a partition whose bound overlaps a new one; "" if that is not certain."""
    key = key_column(table, level)
    if key is None:
        return ""
    if level:
        written = ((p.name, _written(p, key)) for p in siblings)
        return next((n for n, one in written if one is not None and one.overlaps(new)), "")

    def still_overlaps(name: Name) -> bool:
        """Whether a partition of that name still has an overlapping bound."""
        same = (_written(p, key) for p in table.parts if p.name == name[1])
        return any(one is not None and one.overlaps(new) for one in same)

    other = _bounds(table, key).overlapping(new, still_overlaps)
    return other[1] if other is not None else ""


def _written(part: Partition, key: Column) -> Bound | None:
    """The parsed bound of a partition; None if it is open or was not understood."""
    if part.listed:
        values = stored_values(part.listed, key) if key.type != "numeric" else None
        return Bound(values=values) if values is not None else None
    low, high = of_value(part.lower), of_value(part.upper)
    return None if low is None or high is None else Bound(low=low, high=high)


def _bounds(table: Table, key: Column) -> TakenBounds:
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
        if (bound := _written(part, key)) is not None:
            known.add(("", part.name), bound)
        known.seen, known.last = known.seen + 1, part
    return known
