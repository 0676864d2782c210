"""Tables after the statements of a script: columns, keys, indexes, sequences, partitions, and rows
and files that are not part of their shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from gpcatalog.capacity.generation import (
    BITMAP_MORE_COLUMNS,
    generation,
)
from gpcatalog.capacity.model import Index, Instance, Place, Shape, relation_rows
from gpcatalog.capacity.toast import needs_toast
from gpcatalog.dialect.version import Edition
from gpcatalog.effects import auxiliary_rows
from gpcatalog.effects.keys import (
    NOTHING_SURE,
    Check,
    Column,
    ForeignKey,
    Key,
    Reading,
    object_name,
)
from gpcatalog.effects.taken_bounds import TakenBounds
from gpcatalog.model.storage import Storage


@dataclass(frozen=True, slots=True)
class Odd:
    """Rows of pg_class and pg_attribute, and files, that a partition has in addition to the
    definition of its table.

    keys: its own indexes, whose rows and files are included
    directory: it has a block directory, whose rows and files `odd_rows` and `odd_files` add
    """

    classes: int = 0
    attributes: int = 0
    files: int = 0
    keys: tuple[Key, ...] = ()
    directory: bool = False

    def with_key(self, server: str, key: Key) -> Odd:
        """With one more index."""
        rows, columns, files = index_rows(server, (key,))
        return replace(
            self,
            classes=self.classes + rows,
            attributes=self.attributes + columns,
            files=self.files + files,
            keys=(*self.keys, key),
        )

    def with_own(self, server: str, key: Key, storage: Storage, *, stored: bool = True) -> Odd:
        """With one more index and its block directory; stored: the index has a file."""
        found = self.with_key(server, key)
        if not stored:
            return replace(found, files=self.files)
        return replace(found, directory=self.directory or storage.append_optimized)

    def without_like(self, server: str, key: Key) -> Odd:
        """Without its own index that becomes part of a new index of the table."""
        own = next((k for k in self.keys if key.fits(k)), None)
        return self if own is None else self.without_key(server, own)

    def without_key(self, server: str, key: Key, *, stored: bool = True) -> Odd:
        """With one index less; the block directory remains.

        stored: the index has a file
        """
        rows, columns, files = index_rows(server, (key,))
        files = files if stored else 0
        kept = tuple(k for k in self.keys if k is not key)
        return replace(
            self,
            classes=self.classes - rows,
            attributes=self.attributes - columns,
            files=self.files - files,
            keys=kept,
        )


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a table of the baseline: leaves, bytes on all segments together, bytes on its
    fullest segments; None if not read.
    """

    leaves: int
    total: int | None
    segment: int | None

    def __add__(self, other: Size) -> Size:
        total = None if self.total is None or other.total is None else self.total + other.total
        segment = (
            None if self.segment is None or other.segment is None else self.segment + other.segment
        )
        return Size(self.leaves + other.leaves, total, segment)


@dataclass(slots=True, kw_only=True)
class Partition:
    """The relation of a partition, with the partitions below it.

    bound: the server's text of the bound, for a partition of the baseline; `locate` parses it into
        lower, upper, closed and listed
    """

    name: str
    partition: str  # its name within its parent, "" if it has none
    default: bool
    storage: Storage
    bounds: int  # number of partitions on the path that have bounds
    lower: object = None
    upper: object = None
    closed: bool = False
    listed: tuple[str, ...] = ()
    children: list[Partition] = field(default_factory=list)
    dropped_before: int = 0  # number of columns that the table had dropped before it was created
    node: exp.Expression | None = None
    bound: str = ""
    oid: int = 0  # of a baseline
    schema: str = ""  # "" if it is the table's
    odd: Odd = Odd()
    size: Size | None = None  # of a baseline
    leaf: bool = False  # it contains rows, even if others at its level do not
    unlogged: bool | None = None  # None: the same as its table

    def copy(self) -> Partition:
        """An independent copy, with the partitions below it."""
        return replace(self, children=[c.copy() for c in self.children])

    @property
    def is_leaf(self) -> bool:
        """Whether it contains rows; a partition of a baseline can have a level below it without
        partitions.
        """
        return not self.children and (self.leaf or not self.oid)

    def walk(self) -> Iterator[Partition]:
        """The partition and all partitions below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(slots=True, kw_only=True)
class Level:
    """One level of partitioning: strategy, key columns, and the template for its partitions.

    template_positions: on Greenplum 6, positions of the template's elements among the
        subpartitions of one partition, 0 for the default, if ADD PARTITION has changed them; None:
        consecutive
    gaps: a partition of it was dropped or split, or it is of a baseline
    """

    strategy: str
    keys: tuple[str, ...]
    template: list[exp.Expression] | None = None
    template_parts: int = 0  # number of partitions that the template creates
    encoded: bool = False  # the template contains column encodings
    doubt: str = ""  # why the template is unknown
    template_positions: frozenset[int] | None = None
    gaps: bool = False
    reads: int = 0  # columns that its expressions read, and other key columns; 0: as many as keys


@dataclass(slots=True)
class Table:
    """A table after the statements of a script.

    known: its columns and storage are known from the script or the baseline
    unknown: what is unknown about it
    """

    schema: str
    name: str
    storage: Storage = Storage.HEAP
    columns: list[Column] = field(default_factory=list)
    dropped: int = 0
    toasted: bool = False  # no column needs its TOAST relation any more: DROP COLUMN keeps it
    # append-optimized and had an index: the block directory remains after the last index is dropped
    directory: bool = False
    indexes: list[Key] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    foreign: list[ForeignKey] = field(default_factory=list)
    inherits: tuple[tuple[str, str], ...] = ()  # INHERITS: (schema, name)
    reading: Reading = NOTHING_SURE  # of a materialized view
    array_kept: bool = (
        False  # an attached leaf keeps its array type; a leaf that was created as one has none
    )
    array_missing: bool = False
    own_children: list[tuple[str, str]] = field(
        default_factory=list
    )  # partitions that are separate tables in the schema state
    inherited: bool = False  # another table inherits from it
    doubt: str = ""  # what is unknown about its files or rows since it was created
    created_at_once: bool = True  # False: ALTER TABLE added its sequences and keys
    levels: list[Level] = field(default_factory=list)
    parts: list[Partition] = field(default_factory=list)
    distribution: str = ""  # "hash", "random", "replicated", or "" if it is not written
    distribution_keys: tuple[str, ...] = ()
    may_have_lost: bool = False  # objects of it, by CASCADE with an object that they use
    default_keys: tuple[str, ...] = ()  # the key without DISTRIBUTED, by default; () if unknown
    temporary: bool = False
    dropped_at_commit: bool = False
    # its triggers, rules and policies: kind, name, function
    attached: frozenset[tuple[str, str, str]] = frozenset()
    owned: list[tuple[str, str]] = field(default_factory=list)  # OWNED BY: dropped with it
    owners: dict[tuple[str, str], str] = field(default_factory=dict)  # their columns, if known
    reads: frozenset[tuple[str, str]] = (
        frozenset()
    )  # of a materialized view: the relations it reads, as (schema, name)
    uncounted: str = ""  # why it is unknown which partitions it has
    not_null_named: bool = False  # a NOT NULL constraint may have a name given by the script
    toasted_at: int = 0  # columns it had dropped when it kept a TOAST relation without need
    like_storage: Storage | None = None  # of the table that LIKE copies it from
    only: list[Key] = field(
        default_factory=list
    )  # indexes that its partitions do not have: created with ON ONLY
    oids: bool = False  # Greenplum 6: WITH OIDS
    # Greenplum 7: it was column-oriented; the next ALTER TABLE creates the TOAST relation
    toast_missing: bool = False
    # Greenplum 7: it was row-oriented and append-optimized when a column was added
    widened: bool = False
    parent: tuple[str, str] | None = None  # PARTITION OF: (schema, name)
    kind: str = "TABLE"
    known: bool = True
    unknown: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    partitioned: bool = False
    unlogged: bool = False
    odd_parts: bool = False  # some partitions have an Odd that is not empty
    toast_doubt: str = (
        ""  # a partition has a TOAST relation that its columns do not need, or lacks a needed one
    )
    size: Size | None = None  # of a baseline, without its partitions
    extra_files: int = 0  # its files that no shape explains
    extra: dict[str, Counter[str]] = field(
        default_factory=dict
    )  # its rows that no shape explains, by instance
    oid: int = 0  # of a baseline
    # the partition that it was before a statement named it, and its position among the others
    origin: Partition | None = None
    origin_at: int = 0
    widest: int = 0  # most partitions below one parent, updated by `counted`
    taken_bounds: TakenBounds | None = None  # bounds of its partitions that are separate tables
    spans: TakenBounds | None = None  # bounds of the partitions in `parts` that were read
    not_counted: tuple[str, ...] = ()  # which rows of its other catalogs are not counted
    former_sequences: frozenset[str] = frozenset()  # other names they may have, after a rename
    _numbers: tuple[int, int] | None = None

    @property
    def sequence_names(self) -> frozenset[str]:
        """Names that the sequences of its serial and identity columns may have."""
        return self.former_sequences | {
            object_name(self.name, c.name, "seq") for c in self.columns if c.serial
        }

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Columns of its primary key; () if it has none, or if the key is unknown."""
        found = (k.simple for k in self.indexes if k.like.startswith("primary key"))
        return next(found, ())

    def copy(self) -> Table:
        """An independent copy of the table."""
        return replace(
            self,
            columns=list(self.columns),
            indexes=list(self.indexes),
            checks=list(self.checks),
            only=list(self.only),
            owned=list(self.owned),
            owners=dict(self.owners),
            foreign=list(self.foreign),
            own_children=list(self.own_children),
            levels=[replace(level) for level in self.levels],
            parts=[part.copy() for part in self.parts],
            unknown=list(self.unknown),
            options=dict(self.options),
            extra={instance: Counter(rows) for instance, rows in self.extra.items()},
            taken_bounds=self.taken_bounds.copy() if self.taken_bounds is not None else None,
            spans=None,
        )

    @property
    def title(self) -> str:
        """schema.name as written."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def unknown_definition(self) -> str:
        """Why its definition is unknown."""
        return (
            self.unknown[0] if self.oid and self.unknown else f"unknown definition of {self.title}"
        )

    def relations(self) -> Iterator[Partition]:
        """All partitions at all levels."""
        for part in self.parts:
            yield from part.walk()

    @property
    def numbers(self) -> tuple[int, int]:
        """Number of partitions at all levels, and number of those that contain rows: counted once,
        then updated by `counted`.
        """
        if self._numbers is None:
            self._numbers = _numbers(self.parts)
        return self._numbers

    def counted(self, parts: Sequence[Partition], sign: int) -> None:
        """Update the numbers after partitions were added (sign 1) or removed (sign -1)."""
        if any(one.children for one in parts) or self.levels[1:]:
            self._numbers = None  # a leaf may have become a parent, or a parent a leaf
        elif self._numbers is not None:
            relations, leaves = _numbers(parts)
            self._numbers = self._numbers[0] + sign * relations, self._numbers[1] + sign * leaves
        self.widest = max(
            self.widest,
            len(self.parts),
            *(len(p.children) for part in parts for p in part.walk()),
            0,
        )

    def leaves(self) -> list[Partition]:
        """Partitions that contain rows."""
        return [p for p in self.relations() if p.is_leaf]

    def needs_toast(self, edition: Edition) -> bool:
        """Whether it has a TOAST relation: its columns need one, or needed one before."""
        if self.toast_missing:
            return False
        return self.toasted or self.columns_call_for_toast(edition)

    def columns_call_for_toast(self, edition: Edition) -> bool:
        """Whether a relation of these columns would get a TOAST relation."""
        stored = [c for c in self.columns if not c.virtual]
        return needs_toast(
            edition.name,
            [(c.type, c.typmod) for c in stored],
            plain_at={at for at, c in enumerate(stored) if c.plain},
            virtual=len(self.columns) - len(stored),
        )

    def shape(self, edition: Edition, storage: Storage) -> Shape:
        """The shape of one of its relations, without its place in the tree."""
        return Shape(
            storage,
            len(self.columns),
            toastable=self.needs_toast(edition),
            dropped=self.dropped,
            indexes=tuple(key.index for key in self.indexes),
            not_null=sum(c.not_null for c in self.columns),
            defaults=sum(c.default for c in self.columns),
            checks=len(self.checks),
            unlogged=self.unlogged,
        )

    def shapes(self, edition: Edition) -> Counter[Shape]:
        """The shapes of all its relations, with their number."""
        base = self.shape(edition, self.storage)
        # an index that only a partition has does not belong to an index of its table
        own, only = (
            tuple(replace(key.index, attached=not self.parent or bool(key.of)) for key in keys)
            for keys in (self.indexes, self.only)
        )
        base = replace(base, indexes=own)
        if not self.levels and not self.partitioned:
            place = Place.LEAF if self.parent else Place.PLAIN
            return Counter({replace(base, place=place, bounds=1 if self.parent else 0): 1})
        root = replace(
            base,
            place=Place.INTERMEDIATE if self.parent else Place.ROOT,
            bounds=1 if self.parent else 0,
            key_columns=(self.levels[0].reads or len(self.levels[0].keys)) if self.levels else 1,
            levels=max(1, len(self.levels)),
            templates=tuple(level.template_parts for level in self.levels if level.template),
            indexes=own + only,
        )
        found = self.shapes_of(self.parts, edition)
        found[root] += 1
        return found

    def shapes_of(
        self, parts: Sequence[Partition], edition: Edition, depth: int = 1
    ) -> Counter[Shape]:
        """The shapes of some of its partitions, at that depth, and of the partitions below them,
        with their number.
        """
        found: Counter[Shape] = Counter()
        keys = [level.reads or len(level.keys) for level in self.levels]
        by_storage: dict[tuple[Storage, int, bool], Shape] = {}
        seen: Counter[tuple[Storage, int, bool, Place, int, int]] = Counter()
        for level, part in _with_depth(parts, depth):
            place = (
                Place.INTERMEDIATE
                if part.children or (level < len(self.levels) and not part.leaf)
                else Place.LEAF
            )
            key = (
                (keys[level] if level < len(keys) else 1)
                if not edition.classic and place is Place.INTERMEDIATE
                else keys[level - 1]
            )
            unlogged = self.is_unlogged(part)
            seen[part.storage, part.dropped_before, unlogged, place, part.bounds, key] += 1
        for (storage, dropped_before, unlogged, place, bounds, key), number in seen.items():
            base = by_storage.get((storage, dropped_before, unlogged))
            if base is None:
                base = self._later(
                    replace(self.shape(edition, storage), unlogged=unlogged),
                    edition,
                    dropped_before,
                )
            by_storage[storage, dropped_before, unlogged] = base
            found[replace(base, place=place, bounds=bounds, key_columns=key)] += number
        return found

    def part_shape(self, edition: Edition, part: Partition) -> Shape:
        """The shape of one partition, as if it were a plain table."""
        return self._later(self.shape(edition, part.storage), edition, part.dropped_before)

    def total_size(self) -> Size | None:
        """The size of the table with its partitions; None if it is not of a baseline."""
        if self.size is None:
            return None
        return sum((p.size for p in self.relations() if p.size is not None), self.size)

    def odd_rows(self, parts: Iterable[Partition], edition: Edition) -> Counter[str]:
        """Rows of these partitions and of those below them that are not part of their shapes."""
        rows: Counter[str] = Counter()
        if self.odd_parts:
            alone: Counter[Storage] = Counter()
            for one in (one for part in parts for one in part.walk()):
                alone[one.storage] += self._has_extra_directory(one)
                rows["pg_class"] += one.odd.classes
                rows["pg_attribute"] += one.odd.attributes
            for storage, number in alone.items():
                for catalog, n in self._directory_rows(edition, storage).items() if number else ():
                    rows[catalog] += number * n
        return rows

    def odd_files(self, parts: Iterable[Partition]) -> int:
        """Files of these partitions and of those below them that are not part of their shapes."""
        if not self.odd_parts:
            return 0
        return sum(
            one.odd.files + 2 * self._has_extra_directory(one) * (1 + self.is_unlogged(one))
            for part in parts
            for one in part.walk()
        )

    def is_unlogged(self, part: Partition) -> bool:
        """Whether a partition is unlogged: as the table is, unless it was exchanged."""
        return self.unlogged if part.unlogged is None else part.unlogged

    def _has_extra_directory(self, part: Partition) -> bool:
        """Whether a partition has a block directory that its shape does not have."""
        return part.odd.directory and not self.indexes

    def has_file(self, part: Partition, edition: Edition) -> bool:
        """Whether an index of a partition has a file and, on append-optimized storage, a block
        directory. On Greenplum 6, an index of a partition with subpartitions also has both.
        """
        return edition.classic or part.is_leaf

    def drop_keys(self, gone: Collection[Key], edition: Edition) -> None:
        """Drop indexes of its own; the block directories that they needed remain."""
        self.indexes = [key for key in self.indexes if key not in gone]
        self.directory = self.directory or bool(gone)
        for part in self.relations() if gone else ():
            if part.storage.append_optimized and self.has_file(part, edition):
                part.odd = replace(part.odd, directory=True)
                self.odd_parts = True

    def lose_directories(self) -> None:
        """Remove block directories without an index from row-oriented relations: a rewrite creates
        none (measured on Greenplum 6 and 7).
        """
        if self.indexes:
            return
        self.directory = self.directory and self.storage is not Storage.AO_ROW
        for part in self.relations() if self.odd_parts else ():
            if part.storage is Storage.AO_ROW and not part.odd.keys:
                part.odd = replace(part.odd, directory=False)

    def take_keys(self, keys: Iterable[Key], edition: Edition) -> None:
        """Add indexes that it had as a partition, with all of its partitions or only for itself."""
        for key in keys:
            top = key.of or key.name
            partitions = list(self.relations())
            if not self.partitioned:
                self.indexes.append(key)
            elif partitions and all(any(k.of == top for k in part.odd.keys) for part in partitions):
                self.drop_odd_keys({top}, edition)
                self.indexes.append(key)
            else:
                self.only.append(key)

    def drop_odd_keys(
        self, names: set[str], edition: Edition, *, columns: Collection[str] = ()
    ) -> None:
        """Drop indexes that only some of its partitions have: those with these names, those that
        belong to them, and those that use these columns.
        """
        names = names - {""}
        for part in self.relations() if self.odd_parts else ():
            for key in part.odd.keys:
                if not names & {key.name, key.of} and not key.reads.intersection(columns):
                    continue
                stored = self.has_file(part, edition)
                part.odd = part.odd.without_key(edition.name, key, stored=stored)

    def leave_out(self, reason: str) -> None:
        """Note that some of its rows in other catalogs are not counted."""
        if reason not in self.not_counted:
            self.not_counted = (*self.not_counted, reason)

    def add_extra(self, catalog: str, number: int) -> None:
        """Add rows that no shape explains, on each instance."""
        for instance in Instance:
            self.extra.setdefault(instance.value, Counter())[catalog] += number

    def _later(self, shape: Shape, edition: Edition, dropped_before: int) -> Shape:
        """The shape of a partition created when `dropped_before` columns had been dropped."""
        if not dropped_before:
            return shape
        if self.toasted and dropped_before >= self.toasted_at:
            shape = replace(shape, toastable=self.columns_call_for_toast(edition))
        return replace(shape, dropped=max(0, shape.dropped - dropped_before))

    def each(self, edition: Edition) -> Counter[str]:
        """Rows of each of its relations that are not part of its shape: dependencies of index
        expressions, checks and defaults.
        """
        depends = sum(key.depends(edition) for key in self.indexes) + sum(
            check.depends for check in self.checks
        )
        depends += sum(column.named for column in self.columns)
        # a default is a constant of this type
        depends += sum(1 + (c.default and not c.generated) for c in self.columns if c.own_type)
        deferrable = sum(key.deferrable for key in self.indexes)
        depends += deferrable
        rows = Counter({"pg_depend": depends}) if depends else Counter()
        if deferrable:
            rows["pg_trigger"] = deferrable
        if self.oids:
            rows["pg_attribute"] = 1
        return rows

    def once(self, edition: Edition, instance: Instance) -> Counter[str]:
        """Rows of the table itself, not part of its shape: sequences, foreign keys, parents."""
        rows: Counter[str] = Counter()
        for column in self.columns:
            if column.serial:
                rows.update(auxiliary_rows.sequence(edition, instance))
                rows.update(auxiliary_rows.owned(edition, instance))
        for key in self.foreign:
            rows.update(auxiliary_rows.foreign_key(len(key.columns), enforced=key.enforced))
        if (
            self.foreign
            and self.created_at_once
            and edition.greenplum
            and instance is Instance.COORDINATOR
        ):
            rows["pg_stat_last_operation"] += 1  # its keys are added after CREATE
        if self.kind == "MATERIALIZED VIEW":  # its rule; on Greenplum 6, an array type
            rows["pg_rewrite"] += 1
            rows["pg_depend"] += 1
            rows["pg_type"] += edition.classic and self.storage.append_optimized
        if self.inherits:
            rows["pg_inherits"] += len(self.inherits)
            rows["pg_depend"] += len(self.inherits)
        change = self.array_kept - self.array_missing
        if change:
            rows["pg_type"] += change
            rows["pg_depend"] += change
        rows.update(self.extra.get(instance.value, {}))
        return rows

    def beyond(self, edition: Edition, instance: Instance) -> Counter[str]:
        """All its rows that no shape explains."""
        rows = self.once(edition, instance)
        rows.update(self.odd_rows(self.parts, edition))
        number = 1 + self.numbers[0]
        for catalog, n in self.each(edition).items():
            rows[catalog] += n * number
        for storage, _ in self._bare_directories(edition):
            rows.update(self._directory_rows(edition, storage))
        if self.temporary and edition.greenplum:
            rows["pg_depend"] += self._on_temporary_schema(edition)
        return rows

    def _on_temporary_schema(self, edition: Edition) -> int:
        """Dependencies of the auxiliary relations of a temporary append-optimized table on its
        schema; those of other tables are in a pinned schema (measured on Greenplum 6.25.3 and
        7.0.0).
        """
        stored = [p for p in self.relations() if self.has_file(p, edition)]
        number = sum(
            2 + (bool(self.indexes) or p.odd.directory)
            for p in stored
            if p.storage.append_optimized
        )
        if self.storage.append_optimized and (edition.classic or not self.partitioned):
            number += 2 + (bool(self.indexes) or self.directory)
        return number

    def _directory_rows(self, edition: Edition, storage: Storage) -> Counter[str]:
        """Rows of a block directory without an index: those of a relation with an index, minus
        those of a relation without one and of the index itself.
        """
        bare = replace(self.shape(edition, storage), indexes=())
        with_index = relation_rows(
            edition.name, replace(bare, indexes=(Index(1),)), Instance.SEGMENT
        )
        without = relation_rows(edition.name, bare, Instance.SEGMENT)
        of_index = ("pg_class", "pg_index", "pg_attribute", "pg_depend")
        return Counter(
            {
                catalog: number - without.get(catalog, 0) - (catalog in of_index)
                for catalog, number in with_index.items()
                if catalog != "pg_stat_last_operation"
            }
        )

    def _bare_directories(self, edition: Edition) -> list[tuple[Storage, bool]]:
        """The block directory of the table itself, if no index uses it any more: storage, and
        whether unlogged.
        """
        if not self.directory or self.indexes:
            return []
        stored = self.storage.append_optimized and (edition.classic or not self.partitioned)
        return [(self.storage, self.unlogged)] if stored else []

    def other_files(self, edition: Edition) -> int:
        """Files that no shape explains: of the sequences that it owns, and of block directories
        without an index.
        """
        each = 1 + (self.unlogged and edition.base >= 15)  # a sequence is unlogged like its table
        own = each * sum(bool(column.serial) for column in self.columns)
        own += sum(2 + 2 * unlogged for _, unlogged in self._bare_directories(edition))
        return own + self.extra_files + self.odd_files(self.parts)


def index_rows(server: str, keys: Iterable[Key]) -> tuple[int, int, int]:
    """Number of rows of pg_class and pg_attribute, and of files, of indexes."""
    aux = generation(server).heap_system_columns
    found = list(keys)
    bitmaps = [key for key in found if key.bitmap]  # each has a table of its values, with an index
    rows = len(found) + 2 * len(bitmaps)
    return (
        rows,
        sum(k.columns for k in found)
        + sum(2 * k.columns + BITMAP_MORE_COLUMNS + aux for k in bitmaps),
        rows,
    )


def _numbers(parts: Sequence[Partition]) -> tuple[int, int]:
    relations = leaves = 0
    for part in parts:
        for one in part.walk():
            relations += 1
            leaves += one.is_leaf
    return relations, leaves


def _with_depth(parts: Sequence[Partition], depth: int = 1) -> Iterator[tuple[int, Partition]]:
    for part in parts:
        yield depth, part
        yield from _with_depth(part.children, depth + 1)


@dataclass(frozen=True, slots=True)
class View:
    """A view, or an external or foreign table.

    columns: number of its rows of pg_attribute, None if unknown; reads: relations that it reads, as
        (schema, name)
    output: columns that a query of it returns, with "" for unknown types; None if unknown
    serial: columns of an external or foreign table that own a sequence
    typed: whether it has a row type and its array type; a property graph has none
    """

    columns: int | None
    reads: frozenset[tuple[str, str]]
    rule: bool = True
    output: tuple[Column, ...] | None = None
    serial: frozenset[str] = frozenset()
    typed: bool = True
    reading: Reading = NOTHING_SURE
