"""Lock-slot arithmetic: what a server has, and what statements over its largest tables and a backup
of all would take.
"""

from __future__ import annotations

import msgspec

from gpcatalog.capacity.generation import GENERATIONS
from gpcatalog.capacity.limits import LOCK_SLOTS_SOURCE, lock_slots
from gpcatalog.capacity.model import Index, Place, Shape, Statement, locks
from gpcatalog.model.storage import Storage
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


def _held(generation: str, row: dict[str, object]) -> dict[Statement, int]:
    storage = str(row["storage"])
    if storage not in (Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN):
        storage = Storage.HEAP
    shape = Shape(
        Storage(storage),
        int(str(row["columns"])),
        toastable=bool(row["toast"]),
        indexes=tuple(Index() for _ in range(int(str(row["indexes"])))),
        place=Place.PLAIN,
    )
    found = locks(generation, shape, int(str(row["leaves"])), int(str(row["intermediates"])))
    return {statement: coordinator for statement, (coordinator, _) in found.items()}


def arithmetic(snapshot: Snapshot) -> Slots:
    """What DROP, TRUNCATE and SELECT * of the widest tables and a backup of the whole database hold
    at once.

    Needs a snapshot with leaves; a pruned one, or a server without a cost model, has no needs.
    """
    rows = snapshot.rows("SELECT name, setting FROM setting WHERE name LIKE 'max%'")
    slots = lock_slots({r["name"]: r["setting"] for r in rows})
    generation = snapshot.header["generation"]
    if snapshot.header["grain"] != "leaf" or generation not in GENERATIONS:
        return Slots(slots, LOCK_SLOTS_SOURCE, ())

    def need(statement: str, table: str, n: int) -> Need:
        return Need(statement, table, n, n / slots if slots else None)

    widest = snapshot.rows(f"""
        SELECT any_value(t."schema") AS "schema", any_value(t.name) AS name, mode(r.storage) FILTER (r.kind = 'leaf') AS storage,
               max(r."columns") AS "columns", bool_or(r.toast) AS toast, max(r.indexes) AS indexes,
               count(*) FILTER (r.kind = 'leaf') AS leaves, count(*) FILTER (r.kind = 'intermediate') AS intermediates
          FROM relation r JOIN relation t ON t.oid = r.root
         GROUP BY r.root HAVING count(*) FILTER (r.kind = 'leaf') > 0
         ORDER BY leaves DESC, 1, 2 LIMIT {WIDEST}""")
    found = []
    for row in widest:
        table = f"{row['schema']}.{row['name']}"
        held = _held(generation, row)
        found += [
            need(statement.value, table, held[statement])
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
