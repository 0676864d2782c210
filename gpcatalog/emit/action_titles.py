"""Titles of the actions of the time model in reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpcatalog.capacity.durations import Action
from gpcatalog.model.clients import CLIENT

if TYPE_CHECKING:
    from gpcatalog.planner.plan import StatementTime

TITLES = {
    Action.CREATE: "CREATE TABLE with all leaves",
    Action.CREATE_INDEX: "CREATE INDEX",
    Action.ADD_COLUMN: "ADD COLUMN",
    Action.ADD: "ADD PARTITION, one",
    Action.DROP_PARTITION: "DROP PARTITION, one",
    Action.SPLIT: "SPLIT DEFAULT PARTITION",
    Action.TRUNCATE: "TRUNCATE",
    Action.DROP: "DROP TABLE",
    Action.BACKUP: "pg_dump --schema-only",
    Action.PLAN_FIRST: "plan, all leaves, new session",
    Action.PLAN: "plan, all leaves",
    Action.PRUNED_FIRST: "plan, one leaf, new session",
    Action.PRUNED: "plan, one leaf",
}


def plain_title(action: Action) -> str:
    """The title of an action on a table without partitions."""
    return TITLES[action].replace(" with all leaves", "").replace(", all leaves", "")


def time_title(time: StatementTime) -> str:
    """The title of a line with durations in a plan."""
    if time.what == CLIENT:
        return f"catalog queries of {time.subject}"
    title = TITLES[Action(time.what)]
    return f"{title}, {time.subject}" if time.subject else f"{title}, whole database"
