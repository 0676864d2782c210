"""Lock slots of a server, and the locks that statements over its largest tables and a backup of all
tables need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpcatalog.audit.drop_locks import drop_locks
from gpcatalog.audit.query_locks import statement_locks, widest
from gpcatalog.capacity.limits import LOCK_SLOTS_SOURCE, lock_slots
from gpcatalog.capacity.locks import Statement

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

WIDEST = 5


class Need(msgspec.Struct, frozen=True):
    """Locks that one statement holds at its end on the entry instance; derived from the cost model.

    share: of the lock slots, which all sessions share; None if the settings were not read
    """

    statement: str
    table: str
    locks: int
    share: float | None


class Slots(msgspec.Struct, frozen=True):
    """Lock slots of the entry instance (None: settings not read), and the statements that need the
    most of them, in descending order.
    """

    slots: int | None
    source: str
    needs: tuple[Need, ...]

    @property
    def lacking(self) -> tuple[Need, ...]:
        """Statements that need more than all slots, even without other sessions."""
        return tuple(n for n in self.needs if n.share is not None and n.share > 1)


def arithmetic(snapshot: Snapshot) -> Slots:
    """The locks that DROP, TRUNCATE and SELECT * of the widest tables and a backup of the whole
    database hold at the same time.

    Requires a snapshot with leaves; for a pruned one, the result has no statements.
    """
    rows = snapshot.rows("SELECT name, setting FROM setting WHERE name LIKE 'max%'")
    slots = lock_slots({r["name"]: r["setting"] for r in rows})
    generation = snapshot.header["generation"]
    if snapshot.header["grain"] != "leaf":
        return Slots(slots, LOCK_SLOTS_SOURCE, ())

    def need(statement: str, table: str, n: int) -> Need:
        return Need(statement, table, n, n / slots if slots else None)

    found = []
    for row in widest(snapshot, WIDEST):
        table = f"{row['schema']}.{row['name']}"
        needed = statement_locks(generation, row) | {Statement.DROP: drop_locks(snapshot, row)}
        found += [
            need(statement.value, table, needed[statement])
            for statement in (Statement.DROP, Statement.TRUNCATE, Statement.SELECT)
        ]
    everything = int(
        snapshot.one(
            "SELECT count(*) AS n FROM relation WHERE persistence <> 't' OR persistence IS NULL"
        )["n"]
    )
    if everything:
        found.append(need(Statement.BACKUP.value, "the whole database", everything))
    return Slots(
        slots,
        LOCK_SLOTS_SOURCE,
        tuple(sorted(found, key=lambda n: (-n.locks, n.table, n.statement))),
    )
