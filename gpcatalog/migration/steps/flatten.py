"""Flatten: remove a level with one partition per parent. Each leaf replaces its parent, and no
row is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpcatalog.migration import subtree
from gpcatalog.migration.declarative import BOUND, bound_check, make_middle
from gpcatalog.migration.introspect import Grant, ProbeRunner, Relation, quote_ident_always
from gpcatalog.migration.live_table import LiveTable, grants_lost
from gpcatalog.migration.naming import index_name
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    Operation,
    Unit,
    WriteContext,
)
from gpcatalog.migration.predicates import Refusal, predicate
from gpcatalog.migration.steps.registry import StepHandler, Translation, register
from gpcatalog.migration.writer import (
    EXCLUSIVE_SINCE,
    Phase,
    Phases,
    Writer,
    block,
    literal,
    lock_from_readers,
)
from gpcatalog.model.bounds import BoundKind, parse
from gpcatalog.model.names import qualified
from gpcatalog.model.names import quote_ident as quote
from gpcatalog.model.traits import replaced
from gpcatalog.planner import operations as op


@dataclass(frozen=True, kw_only=True)
class FlattenLevel(Operation):
    """A leaf replaces its parent, which has no other leaf, or (not `up`) the parent is restored
    above it.

    middle: the intermediate; leaf: with its name and bound below the intermediate
    indexes: of the leaf: names below the intermediate and in its place
    predicate: condition of all rows; leaf_predicate: additional condition of all rows after the
               parent is restored
    above: the intermediate with all its properties
    comments: of the triggers of the leaf, by name; ATTACH creates these triggers again
    """

    parent: Relation
    middle: Relation
    leaf: Relation
    indexes: tuple[tuple[str, str], ...]
    predicate: str
    leaf_predicate: str
    up: bool
    above: IntermediatePartition
    default: Unit | None = None
    comments: tuple[tuple[str, str], ...] = ()

    def summary(self) -> str:
        return f"remove the level below {self.middle.name}"

    def details(self) -> list[str]:
        if not self.up:
            return []
        return [
            f"  {self.leaf.name} {self.leaf.bound} takes the place of {self.middle.name}"
            f" {self.middle.bound}"
        ]

    def grants(self) -> Sequence[Grant]:
        return () if self.up else self.middle.grants

    def reads(self) -> list[str]:
        return [self.parent.sql]

    def removes(self, *, classic: bool) -> tuple[list[Relation], list[Relation]]:
        return ([self.middle], [self.middle, self.leaf]) if self.up else ([], [])

    def drops(self, *, classic: bool) -> list[Relation]:
        return [self.middle] if self.up else []

    def names(self) -> list[tuple[str, str]]:
        indexes = [old if not self.up else new for old, new in self.indexes]
        schema, above = self.leaf.schema, self.above
        if not self.up:
            indexes += [name for _, name in above.indexes]
        relation = self.middle if self.up else self.leaf
        return [(relation.schema, relation.name), *((schema, name) for name in indexes)]

    def owners(self, *, classic: bool) -> list[Relation]:
        # if not up, the leaf has the name of the intermediate
        return [self.middle, self.leaf] if self.up else [self.middle]

    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        return _flatten(writer, context, self, done=writing.state, exact=writing.exact)


def _translate(live: LiveTable, step: op.Flatten, run_probe: ProbeRunner) -> Translation:
    """Replace every parent by its leaf, one transaction each."""
    if live.classic:
        raise Refusal(op.NO_FLATTEN)
    return [_flattened(live, step, n) for n in range(len(step.units))]


def _flattened(live: LiveTable, step: op.Flatten, n: int) -> tuple[FlattenLevel, FlattenLevel]:
    table = live.table
    planned, planned_leaf = step.units[n], step.leaves[n]
    middle = live.live(planned.oid, planned.name, planned.bound)
    leaf = live.live_leaf(planned_leaf)
    parent = live.parent_of([middle])
    if leaf.parent != middle.oid or len(table.children(middle.oid)) != 1:
        raise Refusal(f"changed since it was planned: {middle.name} has different partitions now")
    if leaf.schema != middle.schema:
        raise Refusal(f"{leaf.name} is in schema {leaf.schema}, {middle.name} in {middle.schema}")
    if middle.is_default:
        raise Refusal("the default partition has subpartitions and cannot change")
    both = [middle, leaf] if middle.storage not in ("none", "other") else [leaf]
    live.leaf_obstacles(both)
    live.refuse_partly_unlogged(both)
    live.refuse_dependents(middle, but=("own check",))
    live.used_index_names -= {
        i.name for i in table.indexes[middle.oid]
    }  # these are dropped with it
    # if a hash partition is the only one, it accepts all rows; for an expression, attaching it
    # again proves the rows
    every = (
        leaf.is_default or parse(leaf.bound).kind is BoundKind.HASH or not middle.split_by_columns
    )
    inside = "true" if every else predicate(parse(leaf.bound), *live.key(middle))
    indexes = tuple(
        (i.name, index_name(leaf.name, i.name, middle.name, live.used_index_names))
        for i in table.indexes[leaf.oid]
    )
    default = live.default_unit(parent, [middle])
    up = FlattenLevel(
        id=f"{step.id}-{n + 1}",
        title=f"{middle.name}: {step.explanation}",
        parent=parent,
        middle=middle,
        leaf=leaf,
        indexes=indexes,
        predicate=predicate(parse(middle.bound), *live.key(parent)),
        leaf_predicate=inside,
        up=True,
        above=live.with_properties(
            subtree.middles(table, middle, {})[:1], table.traits[parent.oid]
        )[0],
        default=default,
        comments=tuple(
            (name, text)
            for (what, name), text in table.traits[leaf.oid].items()
            if what == "trigger comment"
        ),
        rests_on=(
            *step.rests_on,
            (f"afterwards the partition also accepts rows outside {leaf.bound}"),
        ),
        lost=tuple(_lost(live, middle, leaf)),
    )
    return up, replace(
        up, id=f"undo-{up.id}", title=f"rollback: {up.title}", up=False, rests_on=(), lost=()
    )


def _lost(live: LiveTable, middle: Relation, leaf: Relation) -> list[str]:
    """Properties of the intermediate that the leaf that replaces it does not have."""
    traits, encoded = live.table.traits, leaf.storage == "ao_column"
    found = [
        *grants_lost(leaf.grants, [middle], leaf.name),
        *live.others_lost([middle], leaf, "the new partition", encoded=encoded),
        *replaced([traits.get(middle.oid, {})], traits[leaf.oid]),
    ]
    if middle.comment:
        found.append(f"comment on {middle.name}: the new partition has the comment of {leaf.name}")
    return found


register(StepHandler(_translate, divisible=True), "flatten")


def _take_out(change: FlattenLevel) -> tuple[list[str], list[str]]:
    """The statements that replace the parent by the leaf, and the statements that follow."""
    middle, leaf = change.middle, change.leaf
    above = qualified(middle.schema, middle.name)
    low = qualified(leaf.schema, leaf.name)
    swap = [
        f"ALTER TABLE {above} DETACH PARTITION {low};",
        f"DROP TABLE {above};",
        f"ALTER TABLE {low} RENAME TO {quote(middle.name)};",
        f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {above} {middle.bound};",
    ]
    names = [
        f"ALTER INDEX {qualified(leaf.schema, old)} RENAME TO {quote(new)};"
        for old, new in change.indexes
        if old != new
    ]
    return swap, [
        f"ALTER TABLE {above} DROP CONSTRAINT {BOUND};",
        *names,
        *_trigger_comments(change, above),
    ]


def _trigger_comments(change: FlattenLevel, table: str) -> list[str]:
    """The statements that set the comments of the leaf's triggers; table: its present name."""
    return [
        f"COMMENT ON TRIGGER {quote_ident_always(name)} ON {table} IS {literal(text)};"
        for name, text in change.comments
    ]


def _put_in(writer: Writer, change: FlattenLevel) -> tuple[list[str], list[str]]:
    """The statements that restore the level above the leaf, and the statements that follow."""
    middle, leaf = change.middle, change.leaf
    above = qualified(middle.schema, middle.name)
    low = qualified(leaf.schema, leaf.name)
    swap = [
        f"ALTER TABLE {change.parent.sql} DETACH PARTITION {above};",
        f"ALTER TABLE {above} RENAME TO {quote(leaf.name)};",
        *(
            f"ALTER INDEX {qualified(leaf.schema, new)} RENAME TO {quote(old)};"
            for old, new in change.indexes
            if old != new
        ),
        *make_middle(writer, change.above, above, change.parent.sql, change.above.indexes),
        f"ALTER TABLE {above} ATTACH PARTITION {low} {leaf.bound};",
        f"ALTER TABLE {change.parent.sql} ATTACH PARTITION {above} {middle.bound};",
    ]
    return swap, [
        f"ALTER TABLE {low} DROP CONSTRAINT {BOUND};",
        *writer.marks_of_middle(change.above),
        *_trigger_comments(change, low),
    ]


def _only_rows_of_leaf(change: FlattenLevel, here: str, check: str) -> list[str]:
    """The statement that raises an error if the partition contains rows that the restored level
    rejects. Without it, the constraint would be added first, and reject such rows from then on.
    """
    middle, leaf = change.middle, change.leaf
    message = literal(
        f"{middle.name} contains rows that do not belong to {leaf.name} {leaf.bound}, the only"
        f" partition of the level to be restored; delete or move them, then run this file again"
    )
    return [
        f"IF EXISTS (SELECT 1 FROM ONLY {here} WHERE NOT ({check})) THEN RAISE EXCEPTION '%',"
        f" {message}; END IF;"
    ]


def _flatten(
    writer: Writer, context: Context, change: FlattenLevel, *, done: str, exact: bool
) -> list[str]:
    """The transactions that remove a level above one leaf, or restore it: no row is copied."""
    middle, leaf = change.middle, change.leaf
    above = qualified(middle.schema, middle.name)
    low = qualified(leaf.schema, leaf.name)
    # up: the leaf gets the parent's name; down: it has that name now
    here = low if change.up else above
    shown = leaf if change.up else replace(leaf, name=middle.name, bound=middle.bound)
    parts = [middle, leaf] if change.up else [shown]
    guard = writer.guard(context, change, done=done, exact=exact, partitions=parts)
    default = (
        [r.sql for r in (change.default.relation, *change.default.leaves)]
        if change.default is not None
        else []
    )
    locked = [change.parent.sql, *([above] if change.up else []), here, *default]
    check = change.predicate if change.up else f"{change.predicate} AND {change.leaf_predicate}"
    exists = (
        "EXISTS (SELECT 1 FROM pg_catalog.pg_constraint c WHERE c.conrelid ="
        f" {literal(here)}::pg_catalog.regclass AND c.conname = {literal(BOUND)}"
    )
    first: Phases = [
        (Phase.GUARD, [*guard, f"IF {exists}) THEN RETURN; END IF;"]),
        (
            Phase.PREPARE,
            [
                *([] if change.up else _only_rows_of_leaf(change, here, check)),
                lock_from_readers([here]),
                bound_check(here, check, change.parent, valid=False),
            ],
        ),
    ]
    second: Phases = [
        (Phase.GUARD, [*guard, f"IF NOT {exists} AND NOT c.convalidated) THEN RETURN; END IF;"]),
        (Phase.PREPARE, [f"ALTER TABLE {here} VALIDATE CONSTRAINT {BOUND};"]),
    ]
    swap, finish = _take_out(change) if change.up else _put_in(writer, change)
    third: Phases = [
        (Phase.GUARD, guard),
        (
            Phase.EXCLUSIVE,
            [
                lock_from_readers(locked),
                EXCLUSIVE_SINCE,
                *guard,
            ],
        ),
        (Phase.SWAP, swap),
        (Phase.FINISH, finish),
        (Phase.NOTE, writer.note(context, change, done)),
    ]
    return [block(first), block(second), block(third)]
