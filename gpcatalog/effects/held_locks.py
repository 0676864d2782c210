"""Locks that a statement holds at its end: on relations, and on other objects that it drops.

Locks of statements that change no definition (SELECT, INSERT, ANALYZE, LOCK TABLE) are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from gpcatalog.capacity import locks as model
from gpcatalog.capacity.generation import generation
from gpcatalog.capacity.model import Instance, Shape, known, toasted
from gpcatalog.dialect import expressions as gx
from gpcatalog.effects import auxiliary_rows
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.keys import Key, fold
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.dialect.version import Edition
    from gpcatalog.effects.schema_state import SchemaState

# actions that lock the table and one partition, or few of them
_OF_PARTITIONS = frozenset(
    """AddPartition DropPartition AlterPartition RenamePartition TruncatePartition SplitPartition
    ExchangePartition SetSubpartitionTemplate AttachPartition DetachPartition MergePartitions
    SplitPartitionInto""".split()
)
# actions that lock the table only
_ALONE = frozenset("SetSchema EnableDisable ReplicaIdentity ClusterOn InheritAction".split())
# PostgreSQL 15 locks the row types of tables whose columns it changes, 18 and 19 do not
_TYPES_UNLOCKED = 18
_OPTIONS = ("SET/", "RESET/")  # of SET (name = value)
_ALONE_ON_POSTGRESQL = frozenset(("RenameTo", "OwnerTo"))


def shapes_of(edition: Edition, tables: Iterable[Table]) -> Counter[Shape]:
    """The shapes of all relations of these tables, with their number, without those that the cost
    model does not know.
    """
    found: Counter[Shape] = Counter()
    for one in tables:
        if one.known:
            found += one.shapes(edition)
    return Counter({shape: n for shape, n in found.items() if _is_known(edition.name, shape)})


@lru_cache(maxsize=1024)
def _is_known(server: str, shape: Shape) -> bool:
    try:
        known(server, shape)
    except CatalogError:
        return False
    return True


def dropped_with(effect: Effect) -> int:
    """Number of locks of DROP on objects whose rows no shape explains, such as sequences, views and
    foreign keys.
    """
    rows = effect.extra.get(Instance.COORDINATOR, Counter())
    return sum(-min(0, rows[c]) for c in ("pg_class", *model.LOCKED_OBJECTS))


def above(state: SchemaState, table: Table) -> int:
    """Number of locks of DROP of a partition on the table above it and on its default partition."""
    if table.parent is None:
        return 0
    parent = state.tables.get(table.parent)
    return 1 + (default_beside(state, parent, table) if parent is not None else 0)


class _Objects(NamedTuple):
    """Numbers of objects of a table. keys: primary key and unique constraints"""

    defaults: int
    checks: int
    not_null: int
    keys: int
    foreign: int
    sequences: int

    @classmethod
    def of(cls, table: Table) -> _Objects:
        """The objects that a table has now."""
        return cls(
            sum(c.default for c in table.columns),
            len(table.checks),
            sum(c.not_null for c in table.columns),
            sum(key.constraint for key in table.indexes),
            len(table.foreign),
            _serial(table),
        )

    def constraints(self, not_null: bool) -> int:
        """Number of constraints of each relation; not_null: NOT NULL is one (PostgreSQL 18)."""
        return self.checks + self.keys + (self.not_null if not_null else 0)


class AlterTableLocks:
    """Counts the locks of an ALTER TABLE while its actions are applied."""

    def __init__(self, state: SchemaState, table: Table, *, only: bool) -> None:
        self._table, self._edition = table, state.edition
        children = [] if only else [*state.partitions_of(table), *state.inheriting(table)]
        self._family = [table, *children]
        self._number = 1 if only else sum(1 + one.numbers[0] for one in self._family)
        # with a TOAST relation that no column needs, which later partitions do not have
        kept = any(one.toasted for one in self._family)
        self._shapes = shapes_of(self._edition, self._family) if kept else None
        self._whole = False  # an action locks all partitions
        self._each = 0  # locks for each relation of the table, in addition to the relation
        self._once = 0
        self._new_indexes: list[tuple[bool, bool]] = []  # a constraint owns it; it is a bitmap
        self._indexes = list(table.indexes)
        self._types_of_leaves = self._types_of_all = False  # row and array types
        self._all_columns = False  # a new column has a constraint
        self._kept = len(self._indexes)  # indexes that a rewrite builds again
        self._reused = 0  # of the new indexes, those that replace one of the same columns
        self._storage = table.storage
        self._toast_before = self._toast_after = table.needs_toast(state.edition)

    @contextmanager
    def action(self, action: exp.Expression) -> Iterator[None]:
        """Count the locks of an action that is applied inside the block."""
        kind, table = type(action).__name__, self._table
        if kind in _OF_PARTITIONS:
            yield
            return
        before, keys = _Objects.of(table), list(table.indexes)
        if kind == "AlterColumnAction":
            self._change_column(action)
        alone = self._alone(kind, action)
        yield
        self._whole = self._whole or not alone
        self._once += kind in ("ClusterOn", "InheritAction")  # the index, the other table
        if kind == "SetTable" and self._sets_options(action):
            self._once += self._toasted(alone)
        after = _Objects.of(table)
        self._compare(before, after, keys)
        if not self._edition.greenplum and self._edition.base < _TYPES_UNLOCKED:
            if kind == "AddColumn" and after.defaults > before.defaults:
                self._types_of_leaves = True
            elif _changes_type(action):
                self._types_of_all = True
        if kind == "AddColumn" and (self._new_indexes or after.checks > before.checks):
            self._all_columns = True
        added = after.sequences - before.sequences
        self._once += added if added > 0 else -added * _sequence_locks(self._edition)
        if (more := after.foreign - before.foreign) > 0:
            self._add_foreign(more, action)
            self._all_columns = self._all_columns or kind == "AddColumn"

    def _alone(self, kind: str, action: exp.Expression) -> bool:
        """Whether an action locks none of the partitions."""
        if kind in _ALONE or (kind in _ALONE_ON_POSTGRESQL and not self._edition.greenplum):
            return True
        if kind == "AlterColumnAction":
            form = str(action.args.get("form") or "")
            if action.args.get("options") is not None:
                return True  # SET (n_distinct = …)
            return form == "DROP NOT NULL" and not self._has_not_null(fold(action.this))
        if kind == "SetTable":
            form = str(action.args.get("form") or "")
            if action.args.get("tablespace") is not None or action.args.get("method") is not None:
                return not self._edition.greenplum
            if form in ("SET LOGGED", "SET UNLOGGED"):
                return True
            if not self._edition.classic:
                return False
            return self._sets_options(action) or form == "SET WITHOUT CLUSTER"
        if kind == "AddTableConstraint" and self._edition.classic:
            return isinstance(action.this.args.get("kind"), gx.ReferencesConstraint)
        return False

    @staticmethod
    def _sets_options(action: exp.Expression) -> bool:
        """Whether SET changes options such as fillfactor."""
        form = str(action.args.get("form") or "")
        return form.startswith(_OPTIONS) and action.args.get("distribution") is None

    def _toasted(self, alone: bool) -> int:
        """TOAST relations of the table, and of its partitions unless it alone is changed."""
        if self._edition.classic or alone:
            return int(self._table.needs_toast(self._edition))
        gen = generation(self._edition.name)
        shapes = shapes_of(self._edition, self._family)
        return sum(n for shape, n in shapes.items() if toasted(gen, shape))

    def _has_not_null(self, column: str) -> bool:
        if self._edition.base < 18:
            return True
        return any(c.name == column and c.not_null for c in self._table.columns)

    def _compare(self, before: _Objects, after: _Objects, keys: list[Key]) -> None:
        """Count objects of each relation that an action dropped or created."""
        self._each += max(0, before.defaults - after.defaults)
        own = generation(self._edition.name).not_null_constraints
        self._each += max(0, before.constraints(own) - after.constraints(own))
        new_keys = self._table.indexes
        old, new = ({id(key) for key in some} for some in (keys, new_keys))
        gone, created = len(old - new), [key for key in new_keys if id(key) not in old]
        kept = min(gone, len(created))  # changed only
        if len(created) >= gone:
            gone, created = 0, created[kept:]
        else:
            gone, created = gone - len(created), []
        self._drop_indexes(gone)
        if gone and self._edition.classic:  # the constraints of partitions, too
            lost = max(0, sum(k.constraint for k in keys) - sum(k.constraint for k in new_keys))
            self._each -= lost
            self._once += lost
        for key in created:
            self._new_indexes.append((key.constraint, key.bitmap))

    def _drop_indexes(self, number: int) -> None:
        self._kept = max(0, self._kept - number)
        if self._edition.classic:
            self._once += number  # those of partitions are dropped without a lock
        else:
            self._each += number

    def _change_column(self, action: exp.Expression) -> None:
        """Count what is dropped and created again when a column gets another type or default."""
        name = fold(action.this)
        column = next((c for c in self._table.columns if c.name == name), None)
        if column is None:
            return
        form = str(action.args.get("form") or "")
        if form.startswith("SET DEFAULT"):
            self._each += column.default
        if action.args.get("kind") is None:
            return
        self._each += column.default + sum(name in c.reads for c in self._table.checks)
        if generation(self._edition.name).not_null_constraints:
            self._each += column.not_null
        for key in self._table.indexes:
            if name in key.reads:
                self._drop_indexes(1)
                self._new_indexes.append((key.constraint, key.bitmap))
                self._reused += 1
                self._each += key.constraint

    def _add_foreign(self, number: int, action: exp.Expression) -> None:
        """Foreign keys: the table that is referenced, and on PostgreSQL the constraints."""
        self._once += number
        if self._edition.greenplum:
            return
        self._once += number  # the index of the primary key that is referenced
        self._each += number
        if type(action).__name__ == "AddTableConstraint" and "NOT VALID" not in str(
            action.args.get("form") or ""
        ):
            shapes = shapes_of(self._edition, self._family)
            stored = sum(n for shape, n in shapes.items() if not shape.place.parent)
            self._once += stored * len(self._table.indexes)  # its rows are read

    def total(self, effect: Effect) -> int:
        """Number of locks after all actions have been applied."""
        number = self._number if self._whole else 1
        after: Counter[Shape] = Counter()
        if self._needs_shapes(effect):
            if self._whole:
                after = shapes_of(self._edition, self._family)
            elif not self._table.partitioned:
                after = shapes_of(self._edition, [self._table])
        rewritten, new = self._rewritten(effect, after), 0
        written = self._written(effect, after) - rewritten
        for constraint, bitmap in self._new_indexes:
            new += model.index_locks(
                self._edition.name, after, constraint=constraint, bitmap=bitmap
            )
        built = after - written
        if self._kept > 0:
            built = built - rewritten  # the locks of building indexes are those of the rewrite
        # an index of a plain table whose rows are not written is not built again
        kept = not (self._table.partitioned or rewritten)
        kept = kept and self._table.storage is not Storage.AO_COLUMN
        if len(self._new_indexes) > (self._reused if kept else 0):
            new += model.build_locks(self._edition.name, built)
        return (
            number * (1 + self._each)
            + self._once
            + new
            + self._rewrite(effect, rewritten)
            + self._toast(after, rewritten)
            + self._types(after)
            + model.column_locks(self._before(written))
        )

    def _needs_shapes(self, effect: Effect) -> bool:
        """Whether the locks depend on the shapes of the relations, which take time to count."""
        written = self._edition.greenplum and any(
            type(a).__name__ == "AddColumn" or _changes_type(a) for a in effect.actions
        )
        self._toast_after = self._table.needs_toast(self._edition)
        toast = self._toast_changed()
        lists = bool(self._new_indexes) or self._types_of_leaves
        if effect.rewritten or toast or lists:
            return True
        if not written:
            return False
        storages = {one.storage for one in self._family}
        storages |= {part.storage for one in self._family for part in one.relations()}
        rewritten = Storage.AO_ROW in storages and self._edition.classic
        return rewritten or Storage.AO_COLUMN in storages

    def _types(self, after: Counter[Shape]) -> int:
        """Row types and array types, before PostgreSQL 18."""
        if self._types_of_all:
            return 2 * self._number
        stored = sum(n for shape, n in after.items() if not shape.place.parent)
        return 2 * stored * self._types_of_leaves

    def _rewrite(self, effect: Effect, rewritten: Counter[Shape]) -> int:
        if not rewritten:
            return 0
        moved = any(type(a).__name__ == "SetTable" for a in effect.actions)
        found: Counter[Shape] = Counter()
        for shape, n in self._before(rewritten).items():
            toast = shape.toastable and (self._toast_before or not self._edition.classic)
            found[replace(shape, toastable=toast)] += n
        skipped = len(self._indexes) - self._kept
        lost = 0  # the auxiliary relations of append-optimized storage
        if self._storage.append_optimized and not self._table.storage.append_optimized:
            lost = (3 + 2 * bool(self._indexes)) * sum(rewritten.values())
        return lost + model.rewrite_locks(self._edition.name, found, moved=moved, skipped=skipped)

    def _toast(self, after: Counter[Shape], rewritten: Counter[Shape]) -> int:
        """New TOAST relations, and those that a rewrite removes. A rewrite of PostgreSQL and
        Greenplum 7 includes new ones.
        """
        if not after or not self._toast_changed():
            return 0
        gen = generation(self._edition.name)
        before = self._shapes
        if before is None:
            before = Counter()
            for shape, n in after.items():
                before[replace(shape, toastable=self._toast_before)] += n
        before, now = (
            Counter({shape: n for shape, n in some.items() if toasted(gen, shape)})
            for some in (before, after)
        )
        if rewritten and (lost := before.total() - now.total()) > 0:
            return lost * (3 if self._edition.classic else 2)
        if rewritten and not self._edition.classic:
            return 0
        if not gen.leaf_aux_locks_on_create:  # those of partitions are not locked
            before, now = (
                Counter({s: n for s, n in some.items() if not s.place.child})
                for some in (before, now)
            )
        return 2 * max(0, now.total() - before.total())

    def _toast_changed(self) -> bool:
        """Whether relations may have got a TOAST relation, or may have lost it."""
        return self._shapes is not None or self._toast_after is not self._toast_before

    def _rewritten(self, effect: Effect, after: Counter[Shape]) -> Counter[Shape]:
        """The relations that a rewrite locks once more."""
        kinds = [type(a).__name__ for a in effect.actions]
        types = any(map(_changes_type, effect.actions))
        found: Counter[Shape] = Counter()
        for shape, n in after.items():
            again = effect.rewritten
            if shape.storage is Storage.AO_COLUMN and "SetTable" not in kinds:
                again = again and self._edition.classic and (types or self._all_columns)
            elif shape.storage is Storage.AO_ROW and "AddColumn" in kinds:
                again = again or self._edition.classic
            if again:
                found[shape] += n
        return found

    def _written(self, effect: Effect, after: Counter[Shape]) -> Counter[Shape]:
        """The column-oriented relations whose columns are written one by one."""
        kinds = [type(a).__name__ for a in effect.actions]
        types = any(map(_changes_type, effect.actions))
        if "AddColumn" not in kinds and not types:
            return Counter()
        return Counter({s: n for s, n in after.items() if s.storage is Storage.AO_COLUMN})

    def _before(self, shapes: Counter[Shape]) -> Counter[Shape]:
        """The shapes with the indexes that they had, because block directories remain."""
        found: Counter[Shape] = Counter()
        indexes = tuple(key.index for key in self._indexes)
        for shape, n in shapes.items():
            found[replace(shape, indexes=indexes)] += n
        return found


def _changes_type(action: exp.Expression) -> bool:
    return type(action).__name__ == "AlterColumnAction" and action.args.get("kind") is not None


def _serial(table: Table) -> int:
    return sum(bool(c.serial) for c in table.columns)


@lru_cache(maxsize=64)
def _sequence_locks(edition: Edition) -> int:
    rows = auxiliary_rows.sequence(edition, Instance.SEGMENT)
    return sum(rows[c] for c in ("pg_class", *model.LOCKED_OBJECTS))


def created(state: SchemaState, table: Table, sources: int) -> int:
    """Number of locks of CREATE TABLE, also as a partition; sources: number of tables of LIKE."""
    if not table.known:
        return 1
    edition = state.edition
    shapes = shapes_of(edition, [table])
    # Greenplum locks the tables that LIKE names on the coordinator only, Greenplum 6 also parents
    parents = 0 if edition.classic else len(table.inherits)
    found = max(
        model.create_locks(edition.name, shapes, on_segment=False) + sources + len(table.inherits),
        model.create_locks(edition.name, shapes) + parents,
    )
    found += _serial(table)
    if table.foreign:
        found += _foreign_locks(edition, table)
    if table.parent is None:
        return found
    found += 1
    parent = state.tables.get(table.parent)
    if parent is not None:
        found += default_beside(state, parent, table)
        if not edition.greenplum:  # those of the parent, too
            found += sum(1 + key.constraint for key in parent.indexes)
    return found


def _foreign_locks(edition: Edition, table: Table) -> int:
    """Locks of the foreign keys of a new table: the tables that are referenced; on PostgreSQL also
    their keys, and the constraints.
    """
    targets = {key.target for key in table.foreign} - {(table.schema, table.name)}
    if edition.greenplum:
        return len(targets)
    return 2 * len(targets) + len(table.foreign)


def default_beside(state: SchemaState, parent: Table, child: Table | None = None) -> int:
    """1 if a table has a default partition, which a change of its partitions locks, other than the
    child.
    """
    if state.edition.classic:
        return 0
    if any(part.default for part in parent.parts):
        return 1
    bounds = parent.taken_bounds
    if bounds is None or bounds.default is None:
        return 0
    return int(child is None or bounds.default != (child.schema, child.name))


def truncated(state: SchemaState, table: Table) -> int:
    """Number of locks of TRUNCATE of a table."""
    family = [table, *state.partitions_of(table), *state.inheriting(table)]
    found = model.truncate_locks(state.edition.name, shapes_of(state.edition, family))
    above = table.parent is not None and state.edition.greenplum and not table.partitioned
    return (found or sum(1 + one.numbers[0] for one in family)) + above


def truncated_partition(state: SchemaState, table: Table, path: list[Partition]) -> int:
    """Number of locks of TRUNCATE of a partition that is not a separate table here."""
    if not table.known:
        return 1
    shapes = table.shapes_of([path[-1]], state.edition, len(path))
    return model.truncate_locks(state.edition.name, shapes)


def indexed(state: SchemaState, family: Iterable[Table], key: Key) -> int:
    """Number of locks of CREATE INDEX on all relations of these tables."""
    tables = list(family)
    shapes = shapes_of(state.edition, tables)
    found = model.index_locks(state.edition.name, shapes, bitmap=key.bitmap)
    found += model.build_locks(state.edition.name, shapes)
    return sum(1 + one.numbers[0] for one in tables) + found
