"""Typed changes of one table: what a plan's step means on the live table, independent of a server's SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpcatalog.migration.introspect import Grant, Index, Relation
from gpcatalog.migration.traits import PropertyStatements


@dataclass(frozen=True)
class PathStep:
    """One step on the way from a unit down to a leaf.

    label: name that the partition gets when Greenplum 6 makes it; bound: as the server spells it; relation: name of its relation
    address: Greenplum 6: how it is reached behind PARTITION as long as it is there
    """

    label: str
    bound: str
    relation: str
    address: str = ""


@dataclass(frozen=True)
class IntermediatePartition:
    """A partition that has partitions of its own: a unit, or what lies between it and its leaves.

    name, label, bound, address: as in PathStep; path: bounds from below the unit down to it, empty for the unit itself
    like: the relation whose key, owner and storage options it has; grants, comment: what it has
    encodings: of its columns, quoted, as SQL; indexes: with their names afterwards
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


@dataclass(frozen=True)
class StagingTable:
    """A leaf that is built aside and then swapped in.

    name: while it is built; final: its relation name afterwards; schema: of both
    like: quoted name of the relation whose columns it copies; shape: the relation whose owner, comment and place it takes
    explicit: storage, options and column encodings are said (a conversion, or a rollback to what was); else they are copied with LIKE
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


@dataclass(frozen=True)
class Unit:
    """A partition that goes, with all that lies below it.

    leaves: with rows, `relation` itself where nothing is below it
    address: Greenplum 6: how it is addressed behind ALTER TABLE … PARTITION
    middles: itself and the partitions between it and the leaves, parents first; empty where nothing is below it
    """

    relation: Relation
    leaves: tuple[Relation, ...]
    address: str = ""
    middles: tuple[IntermediatePartition, ...] = ()

    @property
    def between(self) -> tuple[Relation, ...]:
        """The partitions between it and the leaves."""
        return tuple(m.like for m in self.middles[1:])


@dataclass(frozen=True)
class NewPartition:
    """A partition that comes: name, bound, and the leaves that are built for it.

    key:     what every row of it must satisfy
    middles: itself and what lies between it and its leaves, parents first; empty where it is the leaf
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


@dataclass(frozen=True)
class Context:
    """What all changes of one table share."""

    plan: str
    root: Relation
    columns: tuple[str, ...]  # of every row, in the root's order, quoted
    copied: tuple[str, ...]  # without generated ones
    signature: str
    held: bool = True  # some relation of the table belongs to a role that is no superuser
    code: tuple[str, ...] = ()  # qualified names of what users defined and keys, indexes, checks and statistics objects are built from


@dataclass(frozen=True)
class Requirements:
    """What a transaction needs of the server: locks on one instance, bytes free on the fullest segment, seconds (estimates of the plan)."""

    locks: int = 0
    segment_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class ReplacePartitions:
    """Partitions of one parent are replaced by others that hold the same rows: a merge, a conversion, or their rollback.

    above: how to reach the parent on Greenplum 6 ("ALTER PARTITION x …"), empty at the first level; beside: the same of its own parent
    default: the parent's default partition with its leaves, None where there is none
    alone: no other partition stays but the default one
    beyond: Greenplum 6: where a partition can stand in meanwhile, outside of all that go; '' where a default one does it
    lost: what the new partitions do not have that the old ones had, as sentences
    """

    id: str
    title: str
    parent: Relation
    above: str
    gone: tuple[Unit, ...]
    made: tuple[NewPartition, ...]
    range_predicate: str
    default: Unit | None = None
    default_stages: tuple[StagingTable, ...] = ()
    alone: bool = False
    rows: int | None = None  # counted when the script was written
    said: tuple[str, ...] = ()
    limit_bytes: int | None = None
    needs: Requirements = Requirements()
    lost: tuple[str, ...] = ()
    beyond: str = ""
    beside: str = ""


@dataclass(frozen=True)
class DropPartitions:
    """Empty partitions go."""

    id: str
    title: str
    parent: Relation
    above: str
    gone: tuple[Unit, ...]
    default: Unit | None = None
    said: tuple[str, ...] = ()
    needs: Requirements = Requirements()


@dataclass(frozen=True)
class Unpartition:
    """A partitioned table becomes a plain one of the same name.

    stage:     the plain table, built aside from all leaves
    gone:      every relation below the root, parents first; leaves: those with rows
    sequences: (quoted name, quoted column) of sequences that columns own
    comments:  (quoted column, text); checks: (quoted name, definition) where LIKE does not bring them, with
               check_comments: (quoted name, text)
    lost:      what leaves have of their own and the plain table does not, as sentences
    """

    id: str
    title: str
    root: Relation
    gone: tuple[Relation, ...]
    leaves: tuple[Relation, ...]
    stage: StagingTable
    sequences: tuple[tuple[str, str], ...] = ()
    comments: tuple[tuple[str, str], ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    check_comments: tuple[tuple[str, str], ...] = ()
    rows: int | None = None
    said: tuple[str, ...] = ()
    limit_bytes: int | None = None
    needs: Requirements = Requirements()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class Repartition:
    """A plain table becomes partitioned again: the rollback of Plain.

    plain:    the change that made it plain; name: of the partitioned table while it is built aside
    stages:   its leaves, in the order of `leaves` of `plain`; on Greenplum 6 none, there `definition` says them all
    definition: Greenplum 6: PARTITION BY … as the server spelled it
    templates:  elements of the subpartition templates, deepest level first, each behind the table or partition that gets it
    options, encodings: of the root, as SQL; middles: the partitions between it and the leaves
    dress: of the root; not_valid: statements that add constraints behind the rows, which need not satisfy them
    """

    id: str
    title: str
    plain: Unpartition
    name: str
    stages: tuple[StagingTable, ...] = ()
    definition: str = ""
    templates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    encodings: tuple[tuple[str, str], ...] = ()
    middles: tuple[IntermediatePartition, ...] = ()
    said: tuple[str, ...] = ()
    dress: PropertyStatements = field(default_factory=PropertyStatements)
    not_valid: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlattenLevel:
    """A level is taken out, or put in again: a leaf takes the place of its parent, which has no other, or the parent comes back over it.

    middle: the intermediate; leaf: with the name and bound it has below it; key: quoted key of the level above
    predicate: what every row lies in; below: what every row lies in besides, once the parent is back
    up: whether the leaf goes up; above: the intermediate with all it has
    lost: what the intermediate has and the leaf in its place does not, as sentences
    """

    id: str
    title: str
    parent: Relation
    middle: Relation
    leaf: Relation
    indexes: tuple[tuple[str, str], ...]
    predicate: str
    below: str
    up: bool
    above: IntermediatePartition
    default: Unit | None = None
    said: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartmanReconfigure:
    """pg_partman is told to make partitions of another grain.

    home:  quoted schema of pg_partman; version: its major version
    table: as part_config spells it; time: whether it is split by time, else by a number
    now, wanted: columns of part_config; back: put the old values back
    """

    id: str
    title: str
    home: str
    version: int
    table: str
    root: Relation
    time: bool
    now: tuple[tuple[str, str | None], ...]
    wanted: tuple[tuple[str, str], ...]
    back: bool = False
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class MoveToExternal:
    """A leaf is exchanged with a readable external table over files whose place its owner fills in.

    name: of the external table while it is made; file_bytes: wanted size of a file
    stage: for the rollback: the leaf as it was, built aside from the external table's rows
    """

    id: str
    title: str
    parent: Relation
    above: str
    unit: Unit
    leaf: Relation
    predicate: str
    name: str
    file_bytes: int
    default: Unit | None = None
    stage: StagingTable | None = None
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetTemplate:
    """The subpartition template says something else. then: its elements, as SQL; was: what it said before."""

    id: str
    title: str
    root: Relation
    then: tuple[str, ...]
    was: tuple[str, ...]
    said: tuple[str, ...] = ()


Operation = (
    ReplacePartitions | DropPartitions | Unpartition | Repartition | FlattenLevel | PartmanReconfigure | MoveToExternal | SetTemplate
)


@dataclass
class RefusedStep:
    """A step that is not turned into SQL, and why."""

    id: str
    table: str
    operation: str
    reason: str


@dataclass
class TableMigration:
    """Everything that is done to one table: forward and back, in order."""

    context: Context
    forward: list[Operation] = field(default_factory=list)
    back: list[Operation] = field(default_factory=list)
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
    reachable: tuple[str, ...] = ()  # functions, with their owners, that stop a superuser who runs the files
