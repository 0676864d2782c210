"""The effect of one statement: created and dropped relations, locks, and what is unknown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp

from gpcatalog.capacity import model
from gpcatalog.capacity.model import FILLED, Instance, Shape
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.relations import Partition, Table
from gpcatalog.errors import CatalogError
from gpcatalog.model.storage import Storage


# many relations of a script have the same shape
@lru_cache(maxsize=1024)
def _rows(server: str, shape: Shape, instance: Instance) -> tuple[tuple[str, int], ...]:
    return tuple(model.relation_rows(server, shape, instance).items())


@lru_cache(maxsize=1024)
def _files(server: str, shape: Shape, filled: bool, instance: Instance) -> int:
    return model.relation_files(server, shape, FILLED if filled else model.EMPTY, instance)


BLOCK_UNKNOWN = "effect of the DO block"


REJECTED = "rejected by the server: "  # prefix of the reason if the server rejects a statement


@dataclass(kw_only=True)
class Effect:
    """The effect of one statement.

    verb: "create", "drop", "add partition", "drop partition", "index", "alter", "truncate" or ""
        for no effect on tables
    created, removed: relations, as shapes with their number
    leaves_created, leaves_removed: numbers of leaves
    exclusive: it takes an AccessExclusiveLock on a table that existed before the script
    may_exist: unknown tables of a DROP … IF EXISTS; it takes an AccessExclusiveLock on those that
        exist
    locks: number of locks that it holds at its end on the instance with most of them: on relations,
        and on other objects that it drops
    unknown: what is unknown about leaves, relations, columns or files; the figures are then a lower
        bound
    minor: what is unknown about rows of other catalogs only, such as pg_depend
    targets: tables that it drops, truncates, alters or builds an index on, with their leaves before
        it
    parts: effects of the statements that it runs or contains, each on its own table
    named: for such a part: the unknown table that it names
    """

    verb: str = ""
    table: Table | None = None
    created: Counter[Shape] = field(default_factory=Counter)
    removed: Counter[Shape] = field(default_factory=Counter)
    leaves_created: int = 0
    leaves_removed: int = 0
    new_parts: list[Partition] = field(default_factory=list)
    exclusive: bool = False
    may_exist: list[tuple[str, str]] = field(default_factory=list)
    rewritten: bool = False
    locks: int = 0
    unknown: list[str] = field(default_factory=list)
    minor: list[str] = field(default_factory=list)
    actions: list[exp.Expression] = field(default_factory=list)
    index: exp.Expression | None = None
    targets: list[tuple[Table, int]] = field(default_factory=list)
    parts: list[Effect] = field(default_factory=list)
    named: str = ""
    extra: dict[Instance, Counter[str]] = field(
        default_factory=dict
    )  # rows that no shape explains, by instance
    failed: str = ""  # an internal error that prevented the count
    # files that no shape explains, on each instance: of sequences, and of block directories without
    # an index
    other_files: int = 0

    def rows(self, edition: Edition, instance: Instance) -> Counter[str]:
        """Catalog rows that are added (negative: removed) on an instance."""
        out: Counter[str] = Counter()
        for sign, shapes in ((1, self.created), (-1, self.removed)):
            for shape, number in shapes.items():
                for catalog, rows in _rows(edition.name, shape, instance):
                    out[catalog] += sign * rows * number
        out.update(self.extra.get(instance, {}))
        return Counter({k: v for k, v in out.items() if v})

    def files(
        self, edition: Edition, *, filled: bool = False, instance: Instance = Instance.SEGMENT
    ) -> int:
        """Number of files that are added on one segment (or the coordinator), with tables empty or
        filled by one writer.
        """
        return self.other_files + sum(
            # rows are stored in leaves: parents that are tables stay empty
            sign * _files(edition.name, shape, filled and not shape.place.parent, instance) * number
            for sign, shapes in ((1, self.created), (-1, self.removed))
            for shape, number in shapes.items()
        )

    def relations(self) -> int:
        """Number of created relations, without their indexes and auxiliary relations."""
        return sum(self.created.values())

    def add(self, instance: Instance, rows: Counter[str], sign: int = 1) -> None:
        """Add rows that no shape explains."""
        mine = self.extra.setdefault(instance, Counter())
        for catalog, number in rows.items():
            mine[catalog] += sign * number

    def add_rows(self, rows: dict[str, int]) -> None:
        """Add rows that no shape explains, on each instance."""
        for instance in Instance:
            self.add(instance, Counter(rows))

    def check_shapes(self, edition: Edition) -> None:
        """Make the effect unknown if the server cannot have such a table, or if the cost model does
        not know its access method.
        """
        shapes = (*self.created, *self.removed)
        try:
            for shape in shapes:
                model.known(edition.name, shape)
        except CatalogError as e:
            other = any(shape.storage is Storage.OTHER for shape in shapes)
            reason = "rows and files of a table with another access method"
            self.created, self.removed, self.extra, self.other_files = Counter(), Counter(), {}, 0
            self.add_unknown(reason if other else REJECTED + e.message)
            if self.table is not None:
                self.table.known = False

    def include(self, other: Effect) -> None:
        """Add the effect of a statement that this one runs or contains.

        `parts` contains the effect of each of them on its own table. Locks are held until the end,
        so they add up.
        """
        if self.table is not None and not self.parts:
            self.parts.append(
                replace(
                    self,
                    created=self.created.copy(),
                    removed=self.removed.copy(),
                    extra={instance: rows.copy() for instance, rows in self.extra.items()},
                    unknown=list(self.unknown),
                    may_exist=list(self.may_exist),
                    targets=list(self.targets),
                    parts=[],
                )
            )
        self.parts += other.parts or [other]
        self.absorb(other)

    def absorb(self, other: Effect) -> None:
        """Add another effect on the same table: what is created, dropped, locked and unknown."""
        self.exclusive = self.exclusive or other.exclusive
        self.locks += other.locks
        self.may_exist += other.may_exist
        self.created += other.created
        self.removed += other.removed
        for instance, rows in other.extra.items():
            self.add(instance, rows)
        self.other_files += other.other_files
        self.leaves_created += other.leaves_created
        self.leaves_removed += other.leaves_removed
        self.new_parts += other.new_parts
        self.minor += other.minor
        for reason in other.unknown:
            self.add_unknown(reason)

    def reverse(self, other: Effect) -> None:
        """Reverse the effect of another statement."""
        self.created += other.removed
        self.removed += other.created
        for instance, rows in other.extra.items():
            self.add(instance, rows, -1)
        self.other_files -= other.other_files
        self.leaves_created += other.leaves_removed
        self.leaves_removed += other.leaves_created

    def add_unknown(self, reason: str) -> None:
        """Note what is unknown about the effect, once."""
        if reason not in self.unknown:
            self.unknown.append(reason)
