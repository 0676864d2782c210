"""How long statements on the largest tables take: an estimate by the time model at the pace of the
server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpcatalog.audit.pace import pace
from gpcatalog.audit.query_locks import shape_of, widest
from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

WIDEST = 5
ACTIONS = tuple(a for a in Action if a not in (Action.CREATE, Action.BACKUP))


class TableSeconds(msgspec.Struct, kw_only=True, frozen=True):
    """Estimated seconds of statements on one table, by the names of `durations.Action`; copying
    rows and building indexes over them come on top.
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
    for row, (shape, leaves) in list(zip(rows, shapes, strict=True))[:WIDEST]:
        found = {
            action.value: durations.seconds(
                server,
                shape,
                action,
                leaves,
                filled=leaves - int(row["empty"]),
                pace=speed,
            )
            for action in ACTIONS
        }
        tables.append(
            TableSeconds(
                schema=row["schema"],
                name=row["name"],
                leaves=leaves,
                seconds={k: round(v, 4) for k, v in found.items() if v is not None},
            )
        )
    backup = round(durations.backup(server, shapes, pace=speed), 4) if shapes else None
    return StatementTimes(pace=speed, tables=tuple(tables), backup=backup)
