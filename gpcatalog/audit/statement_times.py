"""How long statements on the largest tables take: an estimate by the time model at the pace of the
server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpcatalog.audit.pace import measured_plans, pace
from gpcatalog.audit.query_locks import plain_tables, shape_of, widest
from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

WIDEST = 5
ACTIONS = tuple(a for a in Action if a not in (Action.CREATE, Action.BACKUP))


class TableSeconds(msgspec.Struct, kw_only=True, frozen=True):
    """Estimated seconds of statements on one table, by the names of `durations.Action`; copying
    rows and building indexes over them come on top. The first plan is a measured one where the
    snapshot has it.
    """

    schema: str
    name: str
    leaves: int
    seconds: dict[str, float]


class StatementTimes(msgspec.Struct, kw_only=True, frozen=True):
    """The largest tables, most leaves first; backup: of all tables (pg_dump --schema-only)."""

    pace: Pace
    tables: tuple[TableSeconds, ...]
    backup: float | None


def statement_times(snapshot: Snapshot) -> StatementTimes:
    """Estimates for the tables of a snapshot with leaves; none for a pruned one."""
    speed = pace(snapshot)
    if snapshot.header["grain"] != "leaf" or snapshot.unread("relations"):
        return StatementTimes(pace=speed, tables=(), backup=None)
    server = snapshot.header["generation"]
    rows = widest(snapshot, None)
    shapes = [(shape_of(server, row), int(row["leaves"])) for row in rows]
    tables = []
    plans = measured_plans(snapshot)
    for row, (shape, leaves) in list(zip(rows, shapes, strict=True))[:WIDEST]:
        found = {
            action.value: durations.seconds(
                server,
                shape,
                action,
                leaves,
                widest=int(row["siblings"]),
                filled=leaves - int(row["empty"]),
                pace=speed,
            )
            for action in ACTIONS
        }
        seen = plans.get(f"{row['schema']}.{row['name']}")
        if seen is not None:
            found[Action.PLAN_FIRST.value] = seen
        tables.append(
            TableSeconds(
                schema=row["schema"],
                name=row["name"],
                leaves=leaves,
                seconds={k: round(v, 4) for k, v in found.items() if v is not None},
            )
        )
    every = shapes + plain_tables(snapshot)
    backup = round(durations.backup(server, every, pace=speed), 4) if every else None
    return StatementTimes(pace=speed, tables=tuple(tables), backup=backup)
