"""Operations of a migration: what a step of a plan does to the live table, and the values that
operations share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpcatalog.migration.introspect import Grant, Index, Relation
from gpcatalog.migration.request import Request
from gpcatalog.migration.traits import PropertyStatements
from gpcatalog.model.names import first_lines
from gpcatalog.model.server import Server

if TYPE_CHECKING:
    from gpcatalog.migration.writer import Writer


@dataclass(frozen=True)
class PathStep:
    """One step on the way from a unit down to a leaf.

    label: name that the partition gets when Greenplum 6 makes it; bound: as the server spells it;
           relation: name of its relation
    address: Greenplum 6: how it is reached behind PARTITION as long as it is there
    """

    label: str
    bound: str
    relation: str
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class IntermediatePartition:
    """A partition that has partitions of its own: a unit, or what lies between it and its leaves.

    name, label, bound, address: as in PathStep; path: bounds from below the unit down to it, empty
        for the unit itself
    like: the relation whose key, owner and storage options it has; grants, comment: what it has
    encodings: of its columns, quoted, as SQL; indexes: with their names afterwards
    statistics: (quoted column, statistics target) where it has one of its own
    dress: what gives it its properties (not on Greenplum 6)
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
    dress: PropertyStatements = field(default_factory=PropertyStatements)


def name_aside(stem: str, number: int) -> str:
    """Return the name of an intermediate partition while it is built. stem: name of the first
    staging table below the unit; number: 0 for the unit itself
    """
    return f"{stem}_t{number or ''}"


@dataclass(frozen=True, kw_only=True)
class StagingTable:
    """A leaf that is built aside and then swapped in.

    name: while it is built; final: its relation name afterwards; schema: of both
    like: quoted name of the relation whose columns it copies; shape: the relation whose owner,
          comment and place it takes
    explicit: storage, options and column encodings are said (a conversion, or a rollback to what
              was); else they are copied with LIKE
    path: partitions from below the unit down to this leaf; empty where the unit is the leaf
    sources: leaves whose rows it takes, each with the predicate that picks them (empty: all)
    slices: for each source, the predicate that finds its rows again in the new leaf
    predicate: what every row of it must satisfy
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
    indexes: tuple[tuple[Index, str], ...] = ()  # each with the name it has afterwards
    slices: tuple[str, ...] = ()
    statistics: tuple[tuple[str, int], ...] = ()  # columns with a target of their own
    dress: PropertyStatements = field(default_factory=PropertyStatements)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A partition that goes, with all that lies below it.

    leaves: with rows, `relation` itself where nothing is below it
    address: Greenplum 6: how it is addressed behind ALTER TABLE … PARTITION
    middles: itself and the partitions between it and the leaves, parents first; empty where nothing
             is below it
    """

    relation: Relation
    leaves: tuple[Relation, ...]
    address: str = ""
    middles: tuple[IntermediatePartition, ...] = ()

    @property
    def between(self) -> tuple[Relation, ...]:
        """The partitions between it and the leaves."""
        return tuple(m.like for m in self.middles[1:])

    @property
    def everything(self) -> tuple[Relation, ...]:
        """The partition and all that is below it."""
        return (self.relation, *self.between, *self.leaves)


@dataclass(frozen=True, kw_only=True)
class NewPartition:
    """A partition that comes: name, bound, and the leaves that are built for it.

    key:     what every row of it must satisfy
    middles: itself and what lies between it and its leaves, parents first; empty where it is the
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
    """What all changes of one table share."""

    plan: str
    root: Relation
    columns: tuple[str, ...]  # of every row, in the root's order, quoted
    copied: tuple[str, ...]  # without generated ones
    signature: str
    held: bool = True  # some relation of the table belongs to a role that is no superuser
    code: tuple[
        str, ...
        # qualified names of what users defined and keys, indexes, checks and statistics objects are
        # built from
    ] = ()
    # by oid: of the properties that a relation takes with it when it is dropped
    checksums: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """What a transaction needs of the server: locks on one instance, bytes free on the fullest
    segment, seconds (estimates of the plan).
    """

    locks: int = 0
    segment_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Writing:
    """How one file is written.

    forward: whether the operation belongs to the file that carries the plan out, else to its
             rollback
    """

    server: Server
    request: Request
    forward: bool

    @property
    def state(self) -> str:
        """State of the step in the journal once the operation has ended."""
        return "done" if self.forward else "undone"

    @property
    def whole(self) -> bool:
        """Whether the table must have the partitions that the plan found, and no others."""
        return self.request.strict and self.forward


@dataclass(frozen=True, kw_only=True)
class Operation(ABC):
    """One change of a live table, as one or more transactions.

    rests_on: what must be true for it, as sentences; lost: what is not there afterwards, as
              sentences
    """

    id: str
    title: str
    rests_on: tuple[str, ...] = ()
    needs: Requirements = Requirements()
    lost: tuple[str, ...] = ()

    @abstractmethod
    def summary(self) -> str:
        """Return a few words on it, as its line of progress shows it."""

    @abstractmethod
    def details(self) -> list[str]:
        """Return the lines of its heading: what comes and what goes."""

    @abstractmethod
    def transactions(self, writer: Writer, context: Context, writing: Writing) -> list[str]:
        """Return its SQL, a text a transaction."""

    def grants(self) -> Sequence[Grant]:
        """Return the privileges of all relations that it creates."""
        return ()

    def reads(self) -> list[str]:
        """Return the qualified names of relations that it reads besides the root."""
        return []

    def writes(self) -> list[str]:
        """Return the qualified names of tables that an earlier transaction of it has built."""
        return []

    def removes(self, *, classic: bool) -> tuple[list[Relation], list[Relation]]:
        """Return the partitions that go with all that is below them, and every relation known to be
        there.

        classic: on Greenplum 6, which drops the default partition too, and makes it again
        """
        return [], []

    def drops(self, *, classic: bool) -> list[Relation]:
        """Return the relations that it drops, or makes again, with all their properties."""
        return []

    def remade(self, *, classic: bool) -> list[Relation]:
        """Return the relations that have the same names and bounds afterwards as before, but are
        others.
        """
        return []

    def names(self) -> list[tuple[str, str]]:
        """Return (schema, name) of the relations that it makes, as they are called afterwards."""
        return []

    def owners(self, *, classic: bool) -> list[Relation]:
        """Return the relations that may have such names, or indexes with them, beforehand."""
        return self.drops(classic=classic)

    def keeps_root(self) -> bool:
        """Whether the table is still partitioned afterwards."""
        return True

    def uses_server_merge(self, writing: Writing) -> bool:
        """Whether the server's own statement does it (PostgreSQL 19: MERGE PARTITIONS)."""
        return False

    def notes(self, *, classic: bool) -> list[str]:
        """Return sentences for the head of the file on what to know afterwards."""
        return []


@dataclass(frozen=True, kw_only=True)
class PartitionOperation(Operation):
    """Partitions of one parent go, or are replaced.

    above: how to reach the parent on Greenplum 6 ("ALTER PARTITION x …"), empty at the first level
    default: the parent's default partition with its leaves, None where there is none
    """

    parent: Relation
    above: str
    gone: tuple[Unit, ...]
    default: Unit | None = None

    def gone_lines(self, most: int) -> list[str]:
        """Lines on the partitions that go, at most so many."""
        return first_lines([f"  {u.relation.name} {u.relation.bound}" for u in self.gone], most)

    @property
    def leaves(self) -> list[Relation]:
        """All leaves that go."""
        return [leaf for u in self.gone for leaf in u.leaves]

    def reads(self) -> list[str]:
        below = self.default.everything if self.default is not None else ()
        going = (r for u in self.gone for r in (*u.between, *u.leaves))
        return [self.parent.sql, *(r.sql for r in (*going, *below))]

    def removes(self, *, classic: bool) -> tuple[list[Relation], list[Relation]]:
        units = [*self.gone, *([self.default] if classic and self.default is not None else [])]
        return [u.relation for u in units], [r for u in units for r in u.everything]

    def drops(self, *, classic: bool) -> list[Relation]:
        return self.removes(classic=classic)[1]

    def remade(self, *, classic: bool) -> list[Relation]:
        return list(self.default.everything) if classic and self.default is not None else []


@dataclass
class RefusedStep:
    """A step that is not turned into SQL, and why."""

    id: str
    table: str
    operation: str
    reason: str


@dataclass(kw_only=True)
class TableMigration:
    """Everything that is done to one table: forward and back, in order."""

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
