"""Duration of statements on the largest tables: estimates of the time model at the speed of the
server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpcatalog.audit.pace import measured_plans, pace
from gpcatalog.audit.query_locks import plain_tables, shape_of, widest
from gpcatalog.capacity import durations, limits
from gpcatalog.capacity.durations import Action, Pace

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

TOP = 20  # tables in a report
# statements over a whole table that hold an AccessExclusiveLock on it, and their names
EXCLUSIVE = {
    Action.ADD_COLUMN: "ADD COLUMN",
    Action.TRUNCATE: "TRUNCATE",
    Action.DROP: "DROP TABLE",
}
ACTIONS = tuple(a for a in Action if a not in (Action.CREATE, Action.BACKUP))


class TableSeconds(msgspec.Struct, kw_only=True, frozen=True):
    """Estimated seconds of statements on one table, by the names of `durations.Action`, without the
    time to copy rows and to build indexes over them. The time of the first plan is measured if the
    snapshot contains it.
    """

    schema: str
    name: str
    leaves: int
    seconds: dict[str, float]

    @property
    def longest(self) -> tuple[float, Action]:
        """The longest statement that holds an AccessExclusiveLock: its seconds and its action."""
        return max((self.seconds.get(action.value, 0.0), action) for action in EXCLUSIVE)


class StatementTimes(msgspec.Struct, kw_only=True, frozen=True):
    """Partitioned tables, the longest statement first.

    long:   number of tables with a statement that holds an AccessExclusiveLock for longer than the
            limit
    backup: seconds of pg_dump --schema-only for all tables; None without tables
    """

    pace: Pace
    long: int
    tables: tuple[TableSeconds, ...]
    backup: float | None


def statement_times(snapshot: Snapshot) -> StatementTimes | None:
    """Estimates for the partitioned tables of a snapshot.

    None for a pruned snapshot, or if the tables were not read.
    """
    if snapshot.header["grain"] != "leaf" or snapshot.unread("relations"):
        return None
    speed = pace(snapshot)
    server = snapshot.header["generation"]
    rows = widest(snapshot, None)
    shapes = [(shape_of(server, row), int(row["leaves"])) for row in rows]
    tables = []
    plans = measured_plans(snapshot)
    for row, (shape, leaves) in zip(rows, shapes, strict=True):
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
    tables.sort(key=lambda t: (-t.longest[0], t.schema, t.name))
    long = sum(t.longest[0] > limits.LONG_DDL.value for t in tables)
    return StatementTimes(pace=speed, long=long, tables=tuple(tables[:TOP]), backup=backup)
