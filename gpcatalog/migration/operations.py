"""Operations of a migration: the changes of the live table for a step of a plan, and values
that several operations use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpcatalog.migration.introspect import Grant, Index, Relation
from gpcatalog.migration.request import Request
from gpcatalog.migration.traits import PropertyStatements
from gpcatalog.model.names import first_lines, listed, qualified
from gpcatalog.model.server import Server

if TYPE_CHECKING:
    from gpcatalog.migration.writer import Writer


@dataclass(frozen=True)
class PathStep:
    """One partition on the path from a unit down to a leaf.

    label: name that the partition gets when Greenplum 6 creates it; bound: as the server prints it;
           relation: name of its relation
    address: Greenplum 6: its address after PARTITION as long as it exists
    """

    label: str
    bound: str
    relation: str
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class IntermediatePartition:
    """A partition that has partitions: a unit, or a partition between it and its leaves.

    name, label, bound, address: as in PathStep; path: bounds from below the unit down to it, empty
        for the unit itself
    like: the relation whose key, owner and storage options it has; grants, comment: its own
    encodings: of its columns, quoted, as SQL; indexes: with their names afterwards
    statistics: (quoted column, statistics target) if it has one of its own
    properties: statements that set its properties (not on Greenplum 6)
    """

    name: str
    label: str
    bound: str
    path: tuple[str, ...]
    like: Relation
    grants: tuple[Grant, ...] = ()
    comment: str = ""
    address: str = ""
    encodings: tuple[tuple[str, str], ...] = ()
    indexes: tuple[tuple[Index, str], ...] = ()
    statistics: tuple[tuple[str, int], ...] = ()
    properties: PropertyStatements = field(default_factory=PropertyStatements)

    def target_statements(self) -> list[str]:
        """Return the statements for its statistics targets, not for those of partitions below."""
        table = qualified(self.like.schema, self.name)
        return [
            f"ALTER TABLE ONLY {table} ALTER COLUMN {column} SET STATISTICS {target};"
            for column, target in self.statistics
        ]


def staging_name(stem: str, number: int) -> str:
    """Return the name of an intermediate partition while it is built. stem: name of the first
    staging table below the unit; number: 0 for the unit itself
    """
    return f"{stem}_t{number or ''}"


@dataclass(frozen=True, kw_only=True)
class StagingTable:
    """A leaf that is built as a separate table and then swapped in.

    name: while it is built; final: its relation name afterwards; schema: of both
    like: quoted name of the relation whose columns it copies; shape: the relation whose owner,
          comment and place it gets
    explicit: whether storage, options and column encodings are specified (a conversion, or a
              rollback to the old state); otherwise, LIKE copies them
    path: partitions from below the unit down to this leaf; empty if the unit is the leaf
    sources: leaves whose rows it gets, each with the predicate that selects them (empty: all)
    slices: for each source, the predicate that finds its rows again in the new leaf
    predicate: condition that all its rows must satisfy
    """

    name: str
    final: str
    schema: str
    like: str
    shape: Relation
    sources: tuple[tuple[str, str], ...]
    predicate: str
    grants: tuple[Grant, ...] = ()
    comment: str = ""
    storage: str = ""
    options: tuple[tuple[str, str], ...] = ()
    encodings: tuple[tuple[str, str], ...] = ()
    explicit: bool = False
    path: tuple[PathStep, ...] = ()
    indexes: tuple[tuple[Index, str], ...] = ()  # each with its name afterwards
    slices: tuple[str, ...] = ()
    statistics: tuple[tuple[str, int], ...] = ()  # columns with a target of their own
    properties: PropertyStatements = field(default_factory=PropertyStatements)


def tablespaces_of(
    stages: Sequence[StagingTable], middles: Sequence[IntermediatePartition] = ()
) -> list[str]:
    """Return the tablespaces of new tables and of their indexes, each once; without the database's."""
    found = [s.shape.tablespace for s in stages] + [m.like.tablespace for m in middles]
    indexes = [s.indexes for s in stages] + [m.indexes for m in middles]
    found += [i.tablespace for pairs in indexes for i, _ in pairs]
    return [t for t in dict.fromkeys(found) if t]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A partition that is removed, with everything below it.

    leaves: they contain the rows; `relation` itself if nothing is below it
    address: Greenplum 6: its address after ALTER TABLE … PARTITION
    middles: itself and the partitions between it and the leaves, parents first; empty if nothing is
             below it
    """

    relation: Relation
    leaves: tuple[Relation, ...]
    address: str = ""
    middles: tuple[IntermediatePartition, ...] = ()

    @property
    def between(self) -> tuple[Relation, ...]:
        """The partitions between it and the leaves."""
        return tuple(m.like for m in self.middles[1:]) if self.middles else ()

    @property
    def everything(self) -> tuple[Relation, ...]:
        """The partition and everything below it."""
        return (self.relation, *self.between, *self.leaves)


@dataclass(frozen=True, kw_only=True)
class NewPartition:
    """A new partition: name, bound, and the leaves that are built for it.

    key:     condition that all its rows must satisfy
    middles: itself and the partitions between it and its leaves, parents first; empty if it is the
             leaf
    columns: the relation whose columns the middles have
    """

    name: str
    partition: str
    bound: str
    stages: tuple[StagingTable, ...]
    key: str
    middles: tuple[IntermediatePartition, ...] = ()
    columns: Relation | None = None

    @property
    def schema(self) -> str:
        """Schema of the partition itself; that of its leaves may be another one."""
        return self.middles[0].like.schema if self.middles else self.stages[0].schema


@dataclass(frozen=True, kw_only=True)
class Context:
    """Common values of all changes of one table."""

    plan: str
    root: Relation
    columns: tuple[str, ...]  # of every row, in the root's order, quoted
    copied: tuple[str, ...]  # without generated columns
    signature: str
    has_unprivileged_owner: bool = (
        True  # whether a relation of the table belongs to a role that is not a superuser
    )
    code: tuple[
        str, ...
        # qualified names of user-defined objects that keys, indexes, checks and statistics objects
        # use
    ] = ()
    # by OID: of the properties that are lost when a relation is dropped
    checksums: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """Resources that a transaction needs on the server: locks on one instance, free bytes on
    the fullest segment, seconds (estimates of the plan).
    """

    locks: int = 0
    segment_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class WriteContext:
    """How one file is written.

    forward: whether the operation belongs to the file that performs the plan, otherwise to its
             rollback
    """

    server: Server
    request: Request
    forward: bool

    @property
    def state(self) -> str:
        """State of the step in the journal after the operation."""
        return "done" if self.forward else "undone"

    @property
    def exact(self) -> bool:
        """Whether the table must have the partitions that the plan found, and no others."""
        return self.request.strict and self.forward


@dataclass(frozen=True, kw_only=True)
class Operation(ABC):
    """One change of a live table, as one or more transactions.

    rests_on: its conditions, as sentences; lost: its losses, as sentences
    """

    id: str
    title: str
    rests_on: tuple[str, ...] = ()
    needs: Requirements = Requirements()
    lost: tuple[str, ...] = ()

    @abstractmethod
    def summary(self) -> str:
        """Return a short description, as in its line of progress."""

    @abstractmethod
    def details(self) -> list[str]:
        """Return the lines of its heading: new and removed partitions."""

    @abstractmethod
    def transactions(self, writer: Writer, context: Context, writing: WriteContext) -> list[str]:
        """Return its SQL, one text per transaction."""

    def grants(self) -> Sequence[Grant]:
        """Return the privileges of all relations that it creates."""
        return ()

    def reads(self) -> list[str]:
        """Return the qualified names of relations that it reads in addition to the root."""
        return []

    def writes(self) -> list[str]:
        """Return the qualified names of tables that one of its earlier transactions has built."""
        return []

    def removes(self, *, classic: bool) -> tuple[list[Relation], list[Relation]]:
        """Return the partitions that are removed with everything below them, and all relations that
        are known to be there.

        classic: on Greenplum 6, which also drops the default partition, and creates it again
        """
        return [], []

    def drops(self, *, classic: bool) -> list[Relation]:
        """Return the relations that it drops, or creates again, with all their properties."""
        return []

    def recreated(self, *, classic: bool) -> list[Relation]:
        """Return the relations that are replaced by new ones with the same names and bounds."""
        return []

    def names(self) -> list[tuple[str, str]]:
        """Return (schema, name) of the relations that it creates, with their names afterwards."""
        return []

    def names_when_written(self) -> list[tuple[str, str]]:
        """Return those of its names that must be free when the SQL is written. When it runs,
        `names` must be free.
        """
        return self.names()

    def owners(self, *, classic: bool) -> list[Relation]:
        """Return the relations that may have such names, or indexes with such names, before the
        operation.
        """
        return self.drops(classic=classic)

    def allows_publications(self) -> bool:
        """Whether it may run while the table is published, because it moves no rows."""
        return False

    def parents(self) -> list[Relation]:
        """Return the partitioned tables below the root whose partitions it replaces."""
        return []

    def schemas(self) -> list[str]:
        """Return the schemas in which it creates or renames relations, each once."""
        named = (schema for schema, _ in self.names())
        return list(dict.fromkeys([*named, *(r.schema for r in self.drops(classic=False))]))

    def tablespaces(self) -> list[str]:
        """Return the tablespaces in which it creates relations, except the database's, each once."""
        return []

    def keeps_root(self) -> bool:
        """Whether the table is still partitioned afterwards."""
        return True

    def uses_server_merge(self, writing: WriteContext) -> bool:
        """Whether the server's own statement performs it (PostgreSQL 19: MERGE PARTITIONS)."""
        return False

    def notes(self, *, classic: bool) -> list[str]:
        """Return sentences for the head of the file on what to know afterwards."""
        return []


@dataclass(frozen=True, kw_only=True)
class PartitionOperation(Operation):
    """Partitions of one parent are removed, or replaced.

    above: address of the parent on Greenplum 6 ("ALTER PARTITION x …"), empty at the first level
    default: the parent's default partition with its leaves, None if there is none
    """

    parent: Relation
    above: str
    gone: tuple[Unit, ...]
    default: Unit | None = None

    def gone_lines(self, most: int) -> list[str]:
        """Lines on the partitions that are removed, at most `most`."""
        return first_lines([f"  {u.relation.name} {u.relation.bound}" for u in self.gone], most)

    @property
    def leaves(self) -> list[Relation]:
        """All leaves that are removed."""
        return [leaf for u in self.gone for leaf in u.leaves]

    def parents(self) -> list[Relation]:
        return [self.parent]

    def reads(self) -> list[str]:
        default_relations = self.default.everything if self.default is not None else ()
        removed_relations = (r for u in self.gone for r in (*u.between, *u.leaves))
        return [self.parent.sql, *(r.sql for r in (*removed_relations, *default_relations))]

    def removes(self, *, classic: bool) -> tuple[list[Relation], list[Relation]]:
        units = [*self.gone, *([self.default] if classic and self.default is not None else [])]
        return [u.relation for u in units], [r for u in units for r in u.everything]

    def drops(self, *, classic: bool) -> list[Relation]:
        return self.removes(classic=classic)[1]

    def recreated(self, *, classic: bool) -> list[Relation]:
        return list(self.default.everything) if classic and self.default is not None else []


@dataclass
class RefusedStep:
    """A step for which no SQL is written, and the reason. partitions: that it would create or
    change
    """

    id: str
    table: str
    operation: str
    reason: str
    partitions: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f" ({listed(self.partitions, 5)})" if self.partitions else ""
        return f"{self.table}: {self.operation}{names}: {self.reason}"


def joined(refused: Iterable[RefusedStep]) -> list[RefusedStep]:
    """The steps of each table that are refused for the same reason as one, with the first id."""
    groups: dict[tuple[str, str, str], RefusedStep] = {}
    for r in refused:
        key = r.table, r.operation, r.reason
        first = groups.get(key)
        groups[key] = (
            r if first is None else replace(first, partitions=first.partitions + r.partitions)
        )
    return list(groups.values())


@dataclass(kw_only=True)
class TableMigration:
    """All changes of one table: forward and rollback, in order."""

    context: Context
    forward: list[Operation] = field(default_factory=list)
    rollback: list[Operation] = field(default_factory=list)
    refused: list[RefusedStep] = field(default_factory=list)
    gain: float = 0.0
    seconds: float = 0.0
    bytes: int = 0
    segment_bytes: int = 0
    locks: int = 0
    leaves: int = 0
    files: int = 0
    advice: list[str] = field(default_factory=list)
    initial: list[tuple[str, str]] = field(default_factory=list)
    reachable: tuple[
        str, ...
    ] = ()  # functions, with their owners, that stop a superuser who runs the files
