"""The steps of a plan: one type an operation, each carrying all that a migration needs."""

from __future__ import annotations

import hashlib

import msgspec


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """One end of a range.

    value:     text of the value, None where the range is open
    sql:       as the server spelled it
    inclusive: whether the value itself belongs to the range
    axis:      where it lies: microseconds since 1970 UTC for dates and timestamps, the number for
               integers, ten-millionths for decimals
    """

    value: str | None = None
    sql: str = ""
    inclusive: bool = False
    axis: int | None = None


class Leaf(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A leaf as it was in the snapshot.

    partition: partition name (Greenplum 6; empty for EVERY partitions: address them FOR (value)),
               bound: text as in the snapshot
    unit:      number of the step's unit it lies under; lane: number of the step's new leaf that
               takes its rows
    rows:      the server's estimate; bytes: all segments, segment_bytes: fullest segment; None
               where unknown
    filled:    None where unknown
    """

    oid: int
    name: str
    schema: str = ""
    partition: str = ""
    bound: str = ""
    unit: int = 0
    lane: int = 0
    storage: str = ""
    options: str = ""
    tablespace: int = 0
    rows: float = 0
    bytes: int | None = None
    segment_bytes: int | None = None
    filled: bool | None = None


class Unit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A partition of the planned level: the leaf itself, or the subtree that is merged as a whole.

    Ends are None for list values.
    """

    oid: int
    name: str
    partition: str = ""
    bound: str = ""
    lower: End | None = None
    upper: End | None = None


class NewLeaf(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A leaf that a step makes.

    name:      relation name within 63 bytes; partition: partition name (Greenplum 6: with `name`
               made from it by the server's scheme)
    bound:     of the lane below the merged unit; empty where the unit is the leaf
    path:      partition names or bounds from the merged unit down to this leaf
    storage, options: target; options as key=value pairs for WITH (…)
    bytes, segment_bytes: what it will hold (estimate: sum of its parts)
    like:      oid of the leaf whose columns, encodings, owner and grants it takes
    """

    name: str
    partition: str = ""
    bound: str = ""
    path: tuple[str, ...] = ()
    storage: str = ""
    options: dict[str, str] = {}
    tablespace: int = 0
    bytes: int | None = None
    segment_bytes: int | None = None
    like: int = 0


class Gain(msgspec.Struct, frozen=True):
    """What a step gives back; negative where it costs.

    Rows and files by the cost model, bytes are estimates.

    Not counted are rows that follow use, not shape: statistics, comments, grants of single leaves,
    the log of operations.

    rows:    catalog rows on one segment (PostgreSQL: on the server); coordinator_rows: on the
             coordinator
    files:   files on one segment; catalog_bytes: on all instances; leaves: leaves fewer
    """

    leaves: int
    rows: int
    coordinator_rows: int
    files: int
    catalog_bytes: int


class Price(msgspec.Struct, frozen=True):
    """What a step costs.

    bytes:     rewritten, all segments; segment_bytes: rewritten on the fullest segment, which needs
               as much free (None: unknown)
    seconds:   estimate: copying at the stated rate plus DDL
    locks:     on one instance: all leaves of the table, indexes and auxiliary relations of what is
               dropped
    scan_bytes_per_day: read more by queries, estimate by the stated workload; negative where less
    """

    bytes: int | None
    segment_bytes: int | None
    seconds: float
    locks: int
    scan_bytes_per_day: float


class Step(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="operation", kw_only=True):
    """What all steps share.

    id:       stable: the same for the same change of the same table, whatever the snapshot
    parent:   oid of the partitioned table the units belong to (the root, or an intermediate)
    explanation: one sentence
    rests_on: what must be true for it; a migration re-checks it under the lock
    proposal: True where a human must fill something in or agree first
    lost:     sentences on properties of partitions that are not there afterwards
    """

    id: str
    explanation: str
    gain: Gain
    cost: Price
    rests_on: tuple[str, ...] = ()
    parent: int = 0
    parent_name: str = ""
    proposal: bool = False
    lost: tuple[str, ...] = ()

    def copied_leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves whose rows are copied within the server and compared."""
        return ()

    @property
    def operation(self) -> str:
        """Its tag in a plan file: merge, convert, drop-empty …"""
        return str(self.__struct_config__.tag)

    @property
    def kind(self) -> str:
        """What a handler of steps is registered for: the operation, and what is reconfigured."""
        return self.operation


class Merge(Step, frozen=True, omit_defaults=True, tag="merge", kw_only=True):
    """Adjacent units become one: bound is the merged one, lower and upper its ends, grain the width
    of the cell it lies in.

    whole: these are all partitions of the parent (a server never drops the last one: another must
           stand meanwhile)
    """

    grain: str
    partition: str
    name: str
    bound: str
    lower: End | None
    upper: End | None
    whole: bool = False
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]

    def copied_leaves(self) -> tuple[Leaf, ...]:
        return self.leaves


class Convert(Step, frozen=True, omit_defaults=True, tag="convert", kw_only=True):
    """Leaves of one unit get another storage; bounds stay."""

    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]

    def copied_leaves(self) -> tuple[Leaf, ...]:
        return self.leaves


class DropEmpty(Step, frozen=True, omit_defaults=True, tag="drop-empty", kw_only=True):
    """Empty leaves go; where: "past" (a gap that nothing fills), "premade" (beyond the horizon) or
    "unused" (subpartitions).
    """

    where: str
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]


class Unpartition(Step, frozen=True, omit_defaults=True, tag="unpartition", kw_only=True):
    """The table loses its partitions: all leaves become one plain table of the root's name."""

    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]

    def copied_leaves(self) -> tuple[Leaf, ...]:
        return self.leaves


CHECK_NOT_VALID = "check that is not valid"  # fact of a table of Greenplum 6


def no_exchange_with_check(name: str) -> str:
    """Why partitions of a table with such a check cannot be replaced (tried on 6.25.3)."""
    return (
        f"check constraint {name} is not valid; Greenplum 6 gives new partitions a valid one and"
        " then rejects EXCHANGE (drop the constraint, or create it without NOT VALID)"
    )


NO_FLATTEN = "Greenplum 6 cannot remove a level of a table; the table would have to be rebuilt"


class Flatten(Step, frozen=True, omit_defaults=True, tag="flatten", kw_only=True):
    """The level below `level` has one partition a parent and prunes nothing: its leaves take their
    parents' place.
    """

    level: int
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]


class Externalise(Step, frozen=True, omit_defaults=True, tag="externalise", kw_only=True):
    """A cold leaf is exchanged with a readable external table over files of `file_bytes`; the
    location is the owner's to say.
    """

    file_bytes: int
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]


class Reconfigure(Step, frozen=True, omit_defaults=True, tag="reconfigure", kw_only=True):
    """What makes new partitions follows the plan.

    maker: "pg_partman" (now and wanted are columns of part_config), "every" (the interval of ALTER
           TABLE … EVERY scripts) or "template" (of subpartitions: it shall say what the partition
           has below it that `now` names as "like", once the plan is carried out)
    """

    maker: str
    version: str = ""
    now: dict[str, str | None] = {}
    wanted: dict[str, str] = {}

    @property
    def kind(self) -> str:
        return f"{self.operation} {self.maker}"


AnyStep = Merge | Convert | DropEmpty | Unpartition | Flatten | Externalise | Reconfigure


def step_id(operation: str, table: str, *what: str) -> str:
    """An id that depends on the change alone: operation, qualified table name and what is changed
    (bounds, targets).

    >>> step_id("merge", "public.t", "FROM (1) TO (9)")
    'merge-47107f4e113f'
    """
    digest = hashlib.sha256(
        "\x1f".join((operation, table, *what)).encode("utf-8", "surrogatepass")
    ).hexdigest()
    return f"{operation}-{digest[:12]}"
