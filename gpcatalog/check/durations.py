"""Estimated time of the statements of a check: DDL by the time model; rows that are copied or read
by the bytes of the table in the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace
from gpcatalog.capacity.seconds import COPY_RATE
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.relations import Size, Table
from gpcatalog.effects.schema_state import SchemaState
from gpcatalog.model.storage import Storage

# first words of statements whose time is not modelled
UNKNOWN = frozenset({"call", "cluster", "do", "reindex", "refresh", "vacuum"})
# actions of ALTER TABLE on one partition
_ON_ONE = {
    "AttachPartition": Action.ADD,
    "DetachPartition": Action.DROP_PARTITION,
    "ExchangePartition": Action.ADD,
    "AlterPartition": Action.ADD,
    "RenamePartition": Action.ADD,
    "TruncatePartition": Action.ADD,
}
# actions on the root only; Greenplum 6 also renames the partitions
_ON_ROOT = ("RenameTo", "SetSchema")
_UNMODELLED = ("ExpandTable", "AttachIndex")


@dataclass
class Time:
    """Seconds that a statement takes after it has its locks; a lower bound unless complete."""

    seconds: float = 0.0
    complete: bool = True


class _Clock:
    """Adds up the time of one statement.

    size: size of the table in the baseline; None: the time of rows is not included
    """

    def __init__(
        self, effect: Effect, state: SchemaState, server: str, pace: Pace, size: Size | None
    ) -> None:
        self.effect, self.state, self.server, self.pace = effect, state, server, pace
        self.size = size
        self.time = Time(complete=not (effect.unknown or effect.failed or effect.may_exist))

    def add(
        self,
        table: Table,
        action: Action,
        leaves: int,
        times: int = 1,
        *,
        fixed: bool = True,
        widest: int = 0,
    ) -> None:
        """Add an action, `times` times. Only the first one includes the fixed part; without
        `fixed`, none does.
        """
        shape = table.shape(self.state.edition, table.storage)
        filled = _filled(table) if action is Action.ADD_COLUMN else 0
        found = durations.figures(self.server, shape.storage, action)
        once = durations.seconds(
            self.server,
            shape,
            action,
            leaves,
            widest=widest,
            filled=min(filled, leaves),
            pace=self.pace,
        )
        if found is None or once is None:
            self.time.complete = False
            return
        again = once - found.fixed * self.pace.factor / 1000
        self.time.seconds += (once if fixed else again) + (times - 1) * again

    def rows(self) -> None:
        """Add that the rows of the table are copied or read."""
        if self.size is None:
            return
        if self.size.segment is None:
            self.time.complete = False
        else:
            self.time.seconds += self.size.segment / COPY_RATE

    def unknown(self) -> None:
        """Note that the time of a part of the statement is unknown."""
        self.time.complete = False


def _filled(table: Table) -> int:
    """Number of leaves with rows of a column-oriented table of the baseline."""
    if table.storage is not Storage.AO_COLUMN or table.size is None:
        return 0
    return sum(1 for p in table.relations() if p.is_leaf and p.size is not None and p.size.total)


def _create(clock: _Clock, table: Table) -> None:
    if not clock.effect.created:
        return  # the table exists
    parent = clock.state.tables.get(table.parent) if table.parent is not None else None
    if parent is not None:
        siblings = len(parent.own_children)
        here = (parent.schema, parent.name) not in clock.state.before
        if here and not clock.state.edition.greenplum:
            shape = table.shape(clock.state.edition, table.storage)
            clock.time.seconds += durations.next_leaf(
                clock.server, shape, siblings, pace=clock.pace
            )
        else:
            clock.add(table, Action.ADD, siblings)
    else:
        widest = max(len(table.parts), *(len(p.children) for p in table.relations()), 0)
        clock.add(table, Action.CREATE, max(1, table.numbers[1]), widest=widest)


def _partitions(clock: _Clock, table: Table) -> None:
    """ADD, DROP and SPLIT PARTITION; a partition with subpartitions is created and dropped like a
    table.
    """
    effect = clock.effect
    leaves = max(1, table.numbers[1], len(table.own_children))
    siblings = max(len(table.parts), len(table.own_children))
    if effect.verb == "split partition":
        clock.add(table, Action.SPLIT, leaves, widest=siblings)
        if clock.size is not None:
            clock.unknown()  # the size of the partition that is split is not known
        return
    adds = effect.verb == "add partition"
    changed = effect.leaves_created if adds else effect.leaves_removed
    clock.add(table, Action.ADD if adds else Action.DROP_PARTITION, leaves, widest=siblings)
    if changed > 1:
        clock.add(table, Action.CREATE if adds else Action.DROP, changed - 1, fixed=False)


def _drop(clock: _Clock) -> None:
    if not clock.effect.targets and clock.effect.removed:
        clock.unknown()  # tables of a schema
    tables = 0
    for table, leaves in clock.effect.targets:
        parent = clock.state.tables.get(table.parent) if table.parent is not None else None
        if table.parent is not None and leaves == 1:
            siblings = len(parent.own_children) if parent is not None else 1
            clock.add(table, Action.DROP_PARTITION, siblings)
        else:
            clock.add(table, Action.DROP, leaves, fixed=not tables)
            tables += 1


def _constraint(clock: _Clock, table: Table, leaves: int, action: exp.Expression) -> None:
    """ADD CONSTRAINT: it builds an index, or reads the rows unless it is NOT VALID."""
    kind = action.this.args.get("kind") if isinstance(action.this, exp.Expression) else None
    if isinstance(kind, gx.KeyConstraint) and kind.args.get("kind") != "NOT NULL":
        if kind.args.get("index") is not None:
            clock.add(table, Action.ADD_COLUMN, leaves)
            return  # the index exists
        clock.add(table, Action.CREATE_INDEX, leaves)
    else:
        clock.add(table, Action.ADD_COLUMN, leaves)
        traits = (n for n in action.walk() if type(n).__name__ == "ConstraintTrait")
        if any("NOT VALID" in trait.args.values() for trait in traits):
            return
    clock.rows()


def _alter(clock: _Clock) -> None:
    effect = clock.effect
    if effect.rewritten and effect.targets:
        table, leaves = effect.targets[0]
        clock.add(table, Action.TRUNCATE, leaves)  # new files, as TRUNCATE creates them
        clock.rows()
        return
    if not effect.targets:
        if effect.table is not None:
            clock.unknown()  # DROP INDEX
        return
    table, leaves = effect.targets[0]
    leaf_actions = 0
    for action in effect.actions:
        kind = type(action).__name__
        if kind in _UNMODELLED:
            clock.unknown()
        elif kind in _ON_ONE:
            siblings = max(1, table.numbers[1], len(table.own_children))
            clock.add(table, _ON_ONE[kind], siblings)
            if kind == "AttachPartition" and clock.size is not None:
                clock.unknown()  # the rows of the new partition are read
        elif kind == "AddTableConstraint":
            _constraint(clock, table, leaves, action)
        elif kind in _ON_ROOT and not clock.state.edition.classic:
            clock.add(table, Action.ADD_COLUMN, 1)
        else:
            leaf_actions += 1
            if kind == "ValidateConstraint" or action.args.get("form") == "SET NOT NULL":
                clock.rows()
    if leaf_actions:
        clock.add(table, Action.ADD_COLUMN, leaves, leaf_actions)


def of_statement(
    effect: Effect,
    state: SchemaState,
    server: str,
    pace: Pace,
    *,
    first_word: str = "",
    size: Size | None = None,
) -> Time:
    """Time that one statement takes after it has its locks.

    server: generation; its time may be measured where its cost is not
    first_word: first word of the statement, in lower case
    size: size of the table in the baseline, so that the time of rows that are copied or read is
        included
    """
    clock = _Clock(effect, state, server, pace, size)
    table = effect.table
    if first_word in UNKNOWN:
        clock.unknown()
    elif effect.verb == "create" and table is not None:
        _create(clock, table)
    elif effect.verb in ("add partition", "drop partition", "split partition"):
        if table is not None:
            _partitions(clock, table)
    elif effect.verb == "drop":
        _drop(clock)
    elif effect.verb in ("truncate", "index"):
        action = Action.TRUNCATE if effect.verb == "truncate" else Action.CREATE_INDEX
        for one, leaves in effect.targets:
            clock.add(one, action, leaves)
    elif effect.verb == "alter":
        _alter(clock)
    return clock.time
