"""Time that the statements of a check take, an estimate: DDL by the time model, rewrites by the
bytes of the baseline.
"""

from __future__ import annotations

from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace
from gpcatalog.capacity.seconds import COPY_RATE
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.relations import Size, Table
from gpcatalog.effects.schema_state import SchemaState

_ONE = {
    "add partition": Action.ADD,
    "drop partition": Action.DROP_PARTITION,
    "split partition": Action.SPLIT,
}
_WHOLE = {"truncate": Action.TRUNCATE, "drop": Action.DROP, "index": Action.CREATE_INDEX}


def _leaves(table: Table, effect: Effect) -> int:
    """Leaves that a statement over the whole table processes, at least 1."""
    return max(1, table.numbers[1], len(table.own_children), effect.relations_locked - 1)


def _kind(effect: Effect, table: Table, state: SchemaState) -> tuple[Action, int, int] | None:
    """What a statement does, on a table of how many leaves, and how often; None if it takes no time
    worth mentioning.
    """
    if effect.verb == "create":
        if not effect.made:
            return None  # the table exists
        parent = state.tables.get(table.parent) if table.parent is not None else None
        if parent is not None:
            return Action.ADD, len(parent.own_children), 1
        return Action.CREATE, max(1, table.numbers[1]), 1
    if effect.verb in _ONE:
        changed = effect.leaves_made if effect.verb == "add partition" else effect.leaves_gone
        times = 1 if effect.verb == "split partition" else max(1, changed)
        return _ONE[effect.verb], max(1, table.numbers[1], len(table.own_children)), times
    if effect.verb == "drop" and table.parent is not None:
        parent = state.tables.get(table.parent)
        return Action.DROP_PARTITION, len(parent.own_children) if parent is not None else 1, 1
    if effect.verb in _WHOLE:
        gone = sum(effect.gone.values()) if effect.verb == "drop" else 0
        return _WHOLE[effect.verb], max(gone, _leaves(table, effect)), 1
    if effect.verb == "alter" and effect.relations_locked:
        if effect.rewritten:
            return Action.TRUNCATE, _leaves(table, effect), 1  # new files, as TRUNCATE makes them
        return Action.ADD_COLUMN, _leaves(table, effect), max(1, len(effect.actions))
    return None


def of_statement(
    effect: Effect, state: SchemaState, server: str, pace: Pace, size: Size | None = None
) -> float | None:
    """Seconds of one statement, after it has its locks.

    server: generation; its time may be measured where its cost is not
    size: of the table in the baseline; None where it is not known, so that only the catalogs count
    None where the server's time was not measured, or bytes that are rewritten are not known.
    """
    table = effect.table
    if table is None or effect.failed:
        return 0.0
    found = _kind(effect, table, state)
    if found is None:
        return 0.0
    action, leaves, times = found
    shape = table.shape(state.edition, table.storage)
    each = durations.seconds(server, shape, action, leaves, pace=pace)
    if each is None:
        return None
    if size is None or not (effect.rewritten or effect.verb == "index"):
        return each * times
    if effect.verb == "split partition" or size.segment is None:
        return None  # the bytes of the partition that is split are not known
    return each * times + size.segment / COPY_RATE
