"""Which partition an ALTER TABLE names: by its name, FOR (value), FOR (RANK (n)), or DEFAULT."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import InvalidOperation
from zoneinfo import ZoneInfo

from sqlglot import exp

from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.keys import Column, fold
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.model.bounds import BoundKind, Term, TermKind, parse


def path_to(parts: list[Partition], name: str, schema: str, default: str) -> list[Partition]:
    """The partitions from one of `parts` down to the one with the schema and name; empty if there
    is none.

    default: schema of partitions without a schema of their own
    """
    for part in parts:
        if part.name == name and (part.schema or default) == schema:
            return [part]
        if part.children and (rest := path_to(part.children, name, schema, default)):
            return [part, *rest]
    return []


def key_column(table: Table, level: int) -> Column | None:
    """The only key column of a level; None if the key has several columns or is an expression."""
    names = table.levels[level].keys
    return next((c for c in table.columns if names == (c.name,)), None)


def locate(
    siblings: Sequence[Partition], action: exp.Expression, kind: str, zone: ZoneInfo
) -> Partition | None:
    """The partition among `siblings` that an action names; None if there is none.

    kind: how the key is ordered, as returned by `PartitionExpander.kind`
    Raises Unknown if the text does not determine the partition.
    """
    target = action.args.get("target") or action.args.get("ref") or action.args.get("this")
    ref = (
        target.args.get("ref")
        if target is not None and target.args.get("ref") is not None
        else target
    )
    if "DEFAULT" in str(action.args.get("form", "")) or (
        target is not None and target.args.get("default") is not None
    ):
        return next((p for p in siblings if p.default), None)
    if ref is None:
        raise Unknown("partition not identified")
    if ref.args.get("rank") is not None:
        number = str(ref.args["rank"].this)
        ranked = [p for p in siblings if not p.default]
        read_bounds(ranked, kind, zone)
        if not number.isdigit() or any(isinstance(p.lower, str) for p in ranked):
            raise Unknown("partition not identified by its rank")
        try:
            if all(p.lower is not None for p in ranked) or any(p.bound for p in ranked):
                ranked.sort(key=lambda p: (p.lower is not None, p.lower))
            else:  # a partition without START begins where the one before it ends
                known = [p.lower for p in ranked if p.lower is not None]
                if known != sorted(known):  # type: ignore[type-var]
                    raise Unknown("partition not identified by its rank")
        except (TypeError, InvalidOperation):
            raise Unknown("partition not identified by its rank") from None
        at = int(number) - 1
        return ranked[at] if 0 <= at < len(ranked) else None
    if ref.args.get("values") is not None:
        return _holding(siblings, ref.args["values"].args["values"], kind, zone)
    name = fold(ref.args.get("this"))
    return next((p for p in siblings if p.partition == name), None)


def _holding(
    siblings: Sequence[Partition], values: list[exp.Expression], kind: str, zone: ZoneInfo
) -> Partition | None:
    """The partition for a row with that key."""
    if len(values) != 1:
        raise Unknown("partition FOR several values")
    read_bounds(siblings, kind, zone)
    if any(p.listed for p in siblings):
        hit = _listing(siblings, values[0], kind, zone)
    else:
        if kind == "text":
            raise Unknown("partition FOR a value of this type")
        value = calendar.value(values[0], kind, zone)
        hits = [p for p in siblings if _covers(p, value)]
        if len(hits) > 1:  # one of them ends where the next one begins
            raise Unknown("partition with open bounds")
        hit = hits[0] if hits else None
    return hit or next((p for p in siblings if p.default), None)


def _listing(
    siblings: Sequence[Partition], value: exp.Expression, kind: str, zone: ZoneInfo
) -> Partition | None:
    """The partition that lists a value, compared as text or as a value of the key's type."""
    text_value = plain(value)
    for part in siblings:
        if any(text != "NULL" and plain_text(text) == text_value for text in part.listed):
            return part
    if kind == "text":
        if any(not p.listed and not p.default for p in siblings):
            raise Unknown("partition with unknown bounds")
        return None
    key_value = calendar.value(value, kind, zone)
    for part in siblings:
        if not part.listed and not part.default:
            raise Unknown("partition with unknown bounds")
        for text in part.listed:
            if (
                text != "NULL"
                and calendar.value(exp.Literal.string(plain_text(text)), kind, zone) == key_value
            ):
                return part
    return None


def read_bounds(siblings: Sequence[Partition], kind: str, zone: ZoneInfo) -> None:
    """Parse the bounds of partitions that have them only as text of the server."""
    for part in siblings:
        if (
            not part.bound
            or part.default
            or part.lower is not None
            or part.upper is not None
            or part.listed
        ):
            continue
        bound = parse(part.bound)
        if bound.kind is BoundKind.LIST:
            part.listed = tuple(
                "NULL" if v.kind is TermKind.NULL else "'" + v.value.replace("'", "''") + "'"
                for v in bound.values
            )
        elif bound.kind is BoundKind.RANGE:
            part.lower, part.upper, part.closed = (
                _end(bound.lower, kind, zone),
                _end(bound.upper, kind, zone),
                bound.upper_inclusive,
            )
            if not bound.lower_inclusive:
                part.lower = bound.text  # such bounds are not compared
        else:
            part.lower = part.bound


def _end(terms: tuple[Term, ...] | None, kind: str, zone: ZoneInfo) -> object:
    """The value of one end of a range; None if it is open, text if it is not understood."""
    if terms is None or (
        len(terms) == 1 and terms[0].kind in (TermKind.MINVALUE, TermKind.MAXVALUE)
    ):
        return None
    if len(terms) != 1 or terms[0].kind is not TermKind.VALUE:
        return ", ".join(term.sql for term in terms)
    try:
        return calendar.value(exp.Literal.string(terms[0].value), kind, zone)
    except Unknown:
        return terms[0].sql


def _covers(part: Partition, value: calendar.Value) -> bool:
    if part.default:
        return False
    for edge in (part.lower, part.upper):
        if isinstance(edge, str):
            raise Unknown("partition with unknown bounds")
    low, high = part.lower, part.upper
    try:
        above_lower = low is None or not value < low  # type: ignore[operator]
        below_upper = high is None or value < high or (part.closed and value == high)  # type: ignore[operator]
    except (TypeError, InvalidOperation):  # such as NaN
        raise Unknown("partition with bounds of another type") from None
    return above_lower and below_upper


def plain(node: exp.Expression) -> str:
    """A constant's text without its type."""
    text, _, _ = calendar.raw(node)
    return text


def plain_text(written: str) -> str:
    """The text of a listed value that is written as 'a' or 1."""
    return (
        written[1:-1].replace("''", "'")
        if written.startswith("'") and written.endswith("'")
        else written
    )
