"""Partition bounds as SQL: conditions on rows, addresses of partitions on Greenplum 6, adjacent
ranges.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from gpcatalog.migration.classic_spelling import constant
from gpcatalog.model.bounds import (
    Bound,
    BoundKind,
    Family,
    Term,
    TermKind,
    axis,
    family,
    parse,
    tuple_ends,
)


class Refusal(Exception):
    """The reason why a step or table is not migrated."""


def predicate(bound: Bound, *columns: str) -> str:
    """The condition that the rows within a bound satisfy. Raises Refusal.

    >>> predicate(parse("START (1) EXCLUSIVE END (5) INCLUSIVE"), "k")
    '(k IS NOT NULL AND k > 1 AND k <= 5)'
    >>> predicate(parse("FOR VALUES IN ('a', NULL)"), "k")
    "(k IS NULL OR k IN ('a'))"
    >>> predicate(parse("FOR VALUES FROM (1, 2) TO (1, 5)"), "a", "b")
    '(a IS NOT NULL AND b IS NOT NULL AND (a > 1 OR (a = 1 AND b >= 2)) AND (a < 1 OR (a = 1 AND b < 5)))'
    >>> predicate(parse("FOR VALUES FROM (1, MINVALUE) TO (2, MAXVALUE)"), "a", "b")
    '(a IS NOT NULL AND b IS NOT NULL AND (a >= 1) AND (a <= 2))'
    """
    if len(columns) > 1 and bound.kind is BoundKind.RANGE:
        sides = [
            _side(bound.lower, columns, ">", TermKind.MINVALUE),
            _side(bound.upper, columns, "<", TermKind.MAXVALUE),
        ]
        return (
            f"({' AND '.join([*(f'{c} IS NOT NULL' for c in columns), *(s for s in sides if s)])})"
        )
    if len(columns) > 1:
        raise Refusal("its key has several columns")
    (key,) = columns
    if bound.kind is BoundKind.LIST:
        plain = ", ".join(t.sql for t in bound.values if t.kind is not TermKind.NULL)
        parts = (
            ["k IS NULL".replace("k", key, 1)]
            if any(t.kind is TermKind.NULL for t in bound.values)
            else []
        )
        if plain:
            parts.append(
                f"{key} IN ({plain})" if parts else f"{key} IS NOT NULL AND {key} IN ({plain})"
            )
        return f"({' OR '.join(parts)})"
    if bound.kind is not BoundKind.RANGE:
        raise Refusal(f"the bound {bound.text} is neither a range nor a list")
    # the server proves a partition constraint only from checks that also contain IS NOT NULL;
    # otherwise, ATTACH PARTITION reads the table
    parts = [f"{key} IS NOT NULL"]
    if bound.lower:
        parts.append(f"{key} {'>=' if bound.lower_inclusive else '>'} {bound.lower[0].sql}")
    if bound.upper:
        parts.append(f"{key} {'<=' if bound.upper_inclusive else '<'} {bound.upper[0].sql}")
    return f"({' AND '.join(parts)})"


def _side(
    end: Sequence[Term] | None, columns: Sequence[str], than: str, all_of_it: TermKind
) -> str:
    """Return the condition that a row of several columns is on one side of an end, in the form in
    which the server proves it; '' for an open end.

    than: ">" for the lower end, which belongs to the range, "<" for the upper one; all_of_it:
          MINVALUE or MAXVALUE, if it includes all rows with the values before it
    """
    if end is None:
        return ""
    arms = []
    for n, (term, column) in enumerate(zip(end, columns, strict=True)):
        if term.kind is not TermKind.VALUE:
            break
        following = end[n + 1].kind if n + 1 < len(end) else None
        inside = following is all_of_it or (following is None and than == ">")
        same = [f"{c} = {t.sql}" for c, t in zip(columns[:n], end[:n], strict=True)]
        arm = " AND ".join([*same, f"{column} {than}{'=' if inside else ''} {term.sql}"])
        arms.append(f"({arm})" if same else arm)
    return f"({' OR '.join(arms)})" if arms else ""


def holding_value(bound: Bound) -> str:
    """A value that a partition without a name contains, for FOR (…). Raises Refusal."""
    if bound.kind is BoundKind.LIST:
        found = next((t.sql for t in bound.values if t.kind is not TermKind.NULL), "")
    elif bound.lower and bound.lower_inclusive:
        found = bound.lower[0].sql
    elif bound.upper and bound.upper_inclusive:
        found = bound.upper[0].sql
    else:
        found = ""
    if not found:
        raise Refusal(f"a partition has neither a name nor a value to address it: {bound.text}")
    return found


def same_bound(one: str, other: str) -> bool:
    """Whether two texts are the same bound, except for casts and white space."""
    return one == other or _plain(one) == _plain(other)


@lru_cache(maxsize=4096)
def _plain(bound: str) -> str:
    return re.sub(r"\s+|::[\w \"().]+?(?=[,)]|$)", "", bound)


def has_both_ends(text: str) -> bool:
    """Whether a bound is a list, or a range with both ends: only these can be split off from a
    default partition.
    """
    bound = parse(text)
    return bound.kind is BoundKind.LIST or bool(bound.lower and bound.upper)


def bound_outside(bound: Bound) -> str:
    """A bound outside of this one, in the notation of Greenplum 6; '' if there is none. Outside of a
    list is NULL, which a list partition of each type may contain.
    """
    if bound.kind is BoundKind.RANGE and bound.upper and not bound.upper_inclusive:
        return constant(f"START ({bound.upper[0].sql})")
    if bound.kind is BoundKind.RANGE and bound.lower and bound.lower_inclusive:
        return constant(f"END ({bound.lower[0].sql})")
    if bound.kind is BoundKind.LIST and not any(v.kind is TermKind.NULL for v in bound.values):
        return "VALUES (NULL)"
    return ""


def rejected_as_overlap(bound: Bound, below: Sequence[Bound], above: Sequence[Bound]) -> str:
    """Why Greenplum 6 may reject ADD PARTITION with this bound, because of the partitions that
    exist then; '' if it does not.

    It reports an overlap for a partition that starts EXCLUSIVE where another one ends, unless a
    partition exists above it; and for a partition that ends, not INCLUSIVE, where another one
    starts EXCLUSIVE, unless a partition exists below it (tested with Greenplum 6.25.3). Only one
    directly above or below it counts here.

    below, above: the partitions that may end at its start, or begin at its end

    >>> one, other = parse("START (1) END (2) INCLUSIVE"), parse("START (7) END (8)")
    >>> new = parse("START (2) EXCLUSIVE END (7)")
    >>> bool(rejected_as_overlap(new, [one], [one])), rejected_as_overlap(new, [one, other], [one, other])
    (True, '')
    >>> bool(rejected_as_overlap(parse("START (0) END (2)"), [], [new]))
    True
    """
    if bound.kind is not BoundKind.RANGE:
        return ""

    def meets(one: Bound, two: Bound) -> bool:
        """Whether a range ends where the other one starts."""
        return bool(one.upper and two.lower and one.upper[0].value == two.lower[0].value)

    last = not bound.upper or not any(meets(bound, o) for o in above)
    if last and not bound.lower_inclusive and any(meets(o, bound) for o in below):
        return (
            "starts EXCLUSIVE where another partition ends, and no partition follows it"
            f"{_AS_OVERLAP}"
        )
    first = not bound.lower or not any(meets(o, bound) for o in below)
    after = [o for o in above if not o.lower_inclusive and meets(bound, o)]
    if first and not bound.upper_inclusive and after:
        return (
            "ends where another partition starts EXCLUSIVE, and no partition precedes it"
            f"{_AS_OVERLAP}"
        )
    return ""


_AS_OVERLAP = "; Greenplum 6 rejects this as an overlap when the partition is added"


def adjacent(one: Bound, two: Bound, types: Sequence[str]) -> bool:
    """Whether there is nothing between the end of one range and the start of the next; types: of
    the key's columns.

    The text is compared, except for days and whole numbers: END (5) INCLUSIVE, and (5, MAXVALUE) of
    several columns, end directly before 6.
    """
    if (
        one.kind is not BoundKind.RANGE
        or two.kind is not BoundKind.RANGE
        or not one.upper
        or not two.lower
    ):
        return False
    kinds = [family(t) for t in types]
    if len(kinds) > 1 and all(kind.ordered for kind in kinds):
        return tuple_ends(one, kinds)[1] == tuple_ends(two, kinds)[0]
    if (
        kinds == [Family.NUMERIC] and one.upper[0].kind is two.lower[0].kind is TermKind.VALUE
    ):  # 1.0 equals 1.00
        return (
            Decimal(one.upper[0].value) == Decimal(two.lower[0].value)
            and one.upper_inclusive != two.lower_inclusive
        )
    if kinds in ([Family.DATE], [Family.INTEGER]) and (
        one.upper[0].kind is two.lower[0].kind is TermKind.VALUE
    ):  # END (2) INCLUSIVE equals END (3)
        step = kinds[0].step
        end_at = axis(one.upper[0], kinds[0]) + step * one.upper_inclusive
        return end_at == axis(two.lower[0], kinds[0]) + step * (not two.lower_inclusive)
    end, start = ([(t.kind, t.value) for t in side] for side in (one.upper, two.lower))
    return end == start and one.upper_inclusive != two.lower_inclusive
