"""Lock-slot arithmetic: what a server has, and what statements over its largest tables and a backup
of all would take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpcatalog.audit.query_locks import held, widest
from gpcatalog.capacity.limits import LOCK_SLOTS_SOURCE, lock_slots
from gpcatalog.capacity.model import Statement

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot

WIDEST = 5


class Need(msgspec.Struct, frozen=True):
    """Locks that one statement holds at its end on the entry instance; derived from the cost model.

    share: of the lock slots, which all sessions share; None where the settings were not read
    """

    statement: str
    table: str
    locks: int
    share: float | None


class Slots(msgspec.Struct, frozen=True):
    """Lock slots of the entry instance (None: settings not read) and what would need how many, most
    first.
    """

    slots: int | None
    source: str
    needs: tuple[Need, ...]

    @property
    def lacking(self) -> tuple[Need, ...]:
        """Needs that do not fit, even if nothing else ran."""
        return tuple(n for n in self.needs if n.share is not None and n.share > 1)


def arithmetic(snapshot: Snapshot) -> Slots:
    """What DROP, TRUNCATE and SELECT * of the widest tables and a backup of the whole database hold
    at once.

    Needs a snapshot with leaves; a pruned one has no needs.
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
        needed = held(generation, row)
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
