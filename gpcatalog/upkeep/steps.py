"""Steps of a night that plans do not have: create partitions, and remove those past their
retention.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import msgspec

from gpcatalog.model.bounds import Bound, BoundKind, Term, TermKind, joined_list, merged_text, parse
from gpcatalog.planner import operations as op
from gpcatalog.upkeep.night import Create as CreateAction
from gpcatalog.upkeep.night import NewPartition, TableState
from gpcatalog.upkeep.partitions import Partition, PartitionSet

NO_GAIN = op.Gain(0, 0, 0, 0, 0)
NO_PRICE = op.Price(0, 0, 0.0, 0, 0.0)


class NewUnit(msgspec.Struct, frozen=True):
    """A partition to be created: name of its relation, label (Greenplum 6), and bound."""

    name: str
    label: str
    bound: str


class Create(op.Step, frozen=True, omit_defaults=True, tag="create", kw_only=True):
    """Partitions of one parent are created like an existing one.

    move: rows of these ranges in the default partition are moved into them
    only_with_rows: nothing is created if the default partition has no such rows
    unmoved: why rows are not moved, although the policy requires it
    """

    like: op.Unit
    new: tuple[NewUnit, ...]
    move: bool = False
    only_with_rows: bool = False
    unmoved: str = ""


class Retire(op.Step, frozen=True, omit_defaults=True, tag="retire", kw_only=True):
    """Partitions past their retention are detached, moved to files, or dropped with their rows.

    how: "detach", "externalize" or "drop"; schema: new schema of detached partitions (empty: they
         stay in their schema); location: of the files of the partition that is moved
    """

    how: str
    schema: str = ""
    location: str = ""
    units: tuple[op.Unit, ...]


def _term(like: Term, text: str) -> Term:
    """Write a value in the same notation as another one."""
    sql = like.sql.replace(like.value, text, 1) if like.value else text
    return Term(TermKind.VALUE, sql, text)


def bound_text(t: TableState, like: Partition, new: NewPartition, *, classic: bool) -> str:
    """The bound of a new partition as the server prints it, in the notation of an existing
    partition.
    """
    found: Bound = parse(like.bound)
    if found.kind is BoundKind.LIST:
        value = next(v for v in found.values if v.kind is TermKind.VALUE)
        one = replace(found, values=(_term(value, t.key.text(new.low)),))
        return joined_list([one], classic=classic)
    assert found.lower is not None  # the partition has both ends
    assert found.upper is not None
    low = _term(found.lower[0], t.key.text(new.low))
    high = _term(found.upper[0], t.key.text(new.high))
    one = replace(found, lower=(low,), upper=(high,), lower_inclusive=True, upper_inclusive=False)
    return merged_text(one, one, classic=classic)


def _unit(p: Partition) -> op.Unit:
    return op.Unit(p.oid, p.name, p.label, p.bound)


def create_steps(
    t: TableState, s: PartitionSet, action: CreateAction, *, classic: bool
) -> list[Create]:
    """The steps that create partitions below one parent: one step for all, or one for each
    partition if rows of the default partition decide whether it can be created.
    """
    alone = action.why == "default rows" or (s.default is not None and not t.rules.move_default)
    groups = [[n] for n in action.new] if alone else [list(action.new)]
    return [_create(t, s, action, new, classic=classic) for new in groups]


def _create(
    t: TableState,
    s: PartitionSet,
    action: CreateAction,
    of: Sequence[NewPartition],
    *,
    classic: bool,
) -> Create:
    new = tuple(NewUnit(n.name, n.name, bound_text(t, action.like, n, classic=classic)) for n in of)
    shown = t.key.shown(of[0].low), t.key.shown(of[-1].high)
    number = f"{len(new)} partitions" if len(new) > 1 else "1 partition"
    return Create(
        # the partitions may have been removed since an earlier script of the same day created them
        id=op.step_id(
            "create", f"{t.schema}.{t.name}", s.parent_name, *(n.bound for n in new), t.read_at
        ),
        explanation=f"create {number} from {shown[0]} to {shown[1]} ({action.why})",
        gain=NO_GAIN,
        cost=NO_PRICE,
        parent=s.parent,
        parent_name=s.parent_name,
        like=_unit(action.like),
        new=new,
        move=t.rules.move_default and s.default is not None,
        only_with_rows=action.why == "default rows",
        unmoved=t.rules.unmoved if s.default is not None else "",
    )


def location_of(template: str, t: TableState, p: Partition, database: str, day: date) -> str:
    """The location to which the rows of a partition are written. {file} in the template is replaced
    by the names of database, schema and partition, and the date; no other partition has the same.

    Names are encoded as in URLs, including periods.

    >>> from types import SimpleNamespace as Some
    >>> p = Some(schema="s.x", name="t_1_prt_1")
    >>> location_of("gpfdist://h/{file}.txt", Some(schema="s"), p, "d", date(2026, 1, 31))
    'gpfdist://h/d.s%2Ex.t_1_prt_1.2026-01-31.txt'
    """
    names = (database, p.schema or t.schema, p.name)
    parts = [urllib.parse.quote(name, safe="").replace(".", "%2E") for name in names]
    return template.replace("{file}", ".".join((*parts, day.isoformat())))


def retire_step(
    t: TableState, s: PartitionSet, parts: Sequence[Partition], database: str, day: date
) -> Retire:
    """The step that removes partitions past their retention from the table.

    database, day (of the night, UTC): for file names; partitions that are moved to files are passed
    one at a time
    """
    shown = t.key.shown(parts[0].low), t.key.shown(parts[-1].high)
    how = t.rules.retention
    number = f"{len(parts)} partitions" if len(parts) > 1 else "1 partition"
    by = f" ({t.rules.retention_rule})" if t.rules.retention_rule else ""
    return Retire(
        id=op.step_id(how, f"{t.schema}.{t.name}", *(p.bound for p in parts), t.read_at),
        explanation=f"{how} {number} from {shown[0]} to {shown[1]}, past retention{by}",
        gain=NO_GAIN,
        cost=NO_PRICE,
        parent=s.parent,
        parent_name=s.parent_name,
        how=how,
        schema=t.rules.retention_schema,
        location=location_of(t.rules.external_location, t, parts[0], database, day),
        units=tuple(map(_unit, parts)),
    )
