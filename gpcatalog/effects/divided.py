"""The bounds of the two partitions that SPLIT PARTITION makes of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects import calendar
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.expansion import PartitionExpander
from gpcatalog.effects.list_values import stored_values, written_values
from gpcatalog.effects.partition_lookup import key_column, read_bounds
from gpcatalog.effects.relations import Partition, Table

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from gpcatalog.effects.schema_state import SchemaState

_UNREAD = "?"  # a bound that is not compared


def divide(
    state: SchemaState,
    table: Table,
    part: Partition,
    new: Partition,
    action: exp.Expression,
    level: int,
    *,
    first_is_new: bool,
) -> None:
    """Set the bounds of the partition that was split and of the new one.

    first_is_new: the new one is the first in INTO: it has the values below AT, or of a list those
    that AT does not have (measured on Greenplum 6 and 7)
    """
    try:
        expander = PartitionExpander(state.edition, table, state.zone, table.options)
        kind, zone = expander.kind(level), state.zone
        read_bounds([part], kind, zone)
        if part.default:
            _from_default(new, action, kind, zone)
        else:
            first, second = (new, part) if first_is_new else (part, new)
            _at(table, level, part, first, second, action.args.get("at") or [], kind, zone)
    except Unknown:
        for one in (new,) if part.default else (part, new):
            one.lower, one.upper, one.listed, one.bound = _UNREAD, _UNREAD, (), ""


def _from_default(new: Partition, action: exp.Expression, kind: str, zone: ZoneInfo) -> None:
    """The bound of what is split off the default partition. Raises Unknown."""
    new.lower = new.upper = None
    new.closed, new.listed, new.bound = False, (), ""
    start, end = action.args.get("start"), action.args.get("end")
    if at := action.args.get("at"):
        new.listed = tuple(node.sql("greenplum") for node in at)
        return
    if start is None or end is None:
        raise Unknown("bounds of SPLIT DEFAULT PARTITION")
    if start.args.get("inclusive") == "EXCLUSIVE" or kind == "text":
        raise Unknown("bounds of SPLIT DEFAULT PARTITION")
    new.lower = calendar.value(start.expressions[0], kind, zone)
    new.upper = calendar.value(end.expressions[0], kind, zone)
    new.closed = end.args.get("inclusive") == "INCLUSIVE"


def _at(
    table: Table,
    level: int,
    part: Partition,
    first: Partition,
    second: Partition,
    at: list[exp.Expression],
    kind: str,
    zone: ZoneInfo,
) -> None:
    """The bounds of both parts of a partition that is split at values. Raises Unknown."""
    if part.listed:
        column = key_column(table, level)
        moved = written_values(at, column) if column is not None else None
        if column is None or moved is None:
            raise Unknown("values of AT")
        of_each = {text: stored_values([text], column) for text in part.listed}
        if any(values is None for values in of_each.values()):
            raise Unknown("values of the partition")
        leaving = {text for text, values in of_each.items() if values and values <= moved}
        first.listed, second.listed = (
            tuple(text for text in of_each if (text in leaving) is into) for into in (False, True)
        )
    else:
        if len(at) != 1 or kind == "text":
            raise Unknown("value of AT")
        value = calendar.value(at[0], kind, zone)
        low, high, closed = part.lower, part.upper, part.closed
        first.lower, first.upper, first.closed = low, value, False
        second.lower, second.upper, second.closed = value, high, closed
    first.bound = second.bound = ""
