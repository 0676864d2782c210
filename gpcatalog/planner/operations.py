"""The steps of a plan: one type per operation, with everything that a migration needs."""

from __future__ import annotations

import hashlib

import msgspec


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """One end of a range.

    value:     text of the value, None if the range is open
    sql:       as the server printed it
    inclusive: whether the value itself belongs to the range
    axis:      its position: microseconds since 1970 UTC for dates and timestamps, the number for
               integers, ten-millionths for decimals
    """

    value: str | None = None
    sql: str = ""
    inclusive: bool = False
    axis: int | None = None


class Leaf(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A leaf as it was in the snapshot.

    partition: partition name (Greenplum 6; empty for partitions of EVERY, which are referred to
               with FOR (value)); bound: text as in the snapshot
    unit:      number of the step's unit that contains it; lane: number of the step's new leaf that
               gets its rows
    rows:      the server's estimate; bytes: on all segments; segment_bytes: on the fullest segment;
               None if unknown
    filled:    None if unknown
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
    """A leaf that a step creates.

    name:      relation name within 63 bytes; partition: partition name (Greenplum 6: the server
               makes `name` from it)
    bound:     of the lane below the merged unit; empty if the unit is the leaf
    path:      partition names or bounds from the merged unit down to this leaf
    storage, options: target; options as key=value pairs for WITH (…)
    bytes, segment_bytes: its size after the step (estimate: sum of its parts)
    like:      OID of the leaf whose columns, encodings, owner and grants it gets
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
    """What a step saves; negative if it adds.

    Rows and files are computed by the cost model; bytes are estimates.

    Rows that depend on use instead of shape are not counted: statistics, comments, grants of single
    leaves, the log of operations.

    rows:    catalog rows on one segment (PostgreSQL: on the server); coordinator_rows: on the
             coordinator
    files:   files on one segment; catalog_bytes: on all instances; leaves: number of leaves saved
    """

    leaves: int
    rows: int
    coordinator_rows: int
    files: int
    catalog_bytes: int


class Price(msgspec.Struct, frozen=True):
    """Costs of a step.

    bytes:     rewritten, all segments; segment_bytes: rewritten on the fullest segment, which needs
               the same free space (None: unknown)
    seconds:   estimate: copying at the stated rate, plus DDL
    locks:     on one instance, at most, without those on catalogs: old and new relations, and
               row types, constraints and defaults of what is removed
    scan_bytes_per_day: additional bytes that queries read, estimate for the stated workload;
                        negative if they read less
    """

    bytes: int | None
    segment_bytes: int | None
    seconds: float
    locks: int
    scan_bytes_per_day: float


class Step(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="operation", kw_only=True):
    """Common fields of all steps.

    id:       stable: the same for the same change of the same table, for any snapshot
    parent:   OID of the partitioned table that contains the units (the root, or an intermediate)
    explanation: one sentence
    rests_on: conditions of the step; a migration checks them again under the lock
    proposal: True if a person must complete it or agree first
    lost:     sentences on properties of partitions that are lost
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
        """The key for which a handler of steps is registered: the operation, and what is
        reconfigured.
        """
        return self.operation


class Merge(Step, frozen=True, omit_defaults=True, tag="merge", kw_only=True):
    """Adjacent units become one. bound: of the merged unit; lower, upper: its ends; grain: width of
    its cell.

    whole: the units are all partitions of the parent (a server never drops the last one: another
           one must exist meanwhile)
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
    """Leaves of one unit get another storage; bounds are unchanged."""

    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]

    def copied_leaves(self) -> tuple[Leaf, ...]:
        return self.leaves


class DropEmpty(Step, frozen=True, omit_defaults=True, tag="drop-empty", kw_only=True):
    """Empty leaves are dropped. where: "past" (its range becomes a gap that nothing fills),
    "premade" (beyond the horizon) or "unused" (subpartitions).
    """

    where: str
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]


class Unpartition(Step, frozen=True, omit_defaults=True, tag="unpartition", kw_only=True):
    """The table loses its partitions: all leaves become one plain table with the root's name."""

    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]

    def copied_leaves(self) -> tuple[Leaf, ...]:
        return self.leaves


CHECK_NOT_VALID = "check that is not valid"  # fact of a table of Greenplum 6


def no_exchange_with_check(name: str) -> str:
    """Why partitions of a table with such a check cannot be replaced (tested on 6.25.3)."""
    return (
        f"check constraint {name} is not valid; Greenplum 6 gives new partitions a valid one and"
        " then rejects EXCHANGE (drop the constraint, or create it without NOT VALID)"
    )


KEY_NOT_COMPARED = "key that cannot be compared"  # fact of a table: a column of a key


def no_comparison(column: str) -> str:
    """Why partitions cannot be exchanged below a key with this column."""
    return (
        f"its key has column {column}, whose values the scripts could not compare as the server"
        " does: its type or operator class is not of pg_catalog, or composite or reg…, or a range"
        " does not use its default operator class or collation"
    )


NO_FLATTEN = "Greenplum 6 cannot remove a level of a table; the table would have to be rebuilt"


class Flatten(Step, frozen=True, omit_defaults=True, tag="flatten", kw_only=True):
    """The level below `level` has one partition per parent and does not help pruning: its
    leaves replace their parents.
    """

    level: int
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]
    new: tuple[NewLeaf, ...]


class Externalise(Step, frozen=True, omit_defaults=True, tag="externalise", kw_only=True):
    """A cold leaf is exchanged with a readable external table over files of `file_bytes`. The
    owner specifies the location.
    """

    file_bytes: int
    units: tuple[Unit, ...]
    leaves: tuple[Leaf, ...]


class Reconfigure(Step, frozen=True, omit_defaults=True, tag="reconfigure", kw_only=True):
    """The source of new partitions is adapted to the plan.

    maker: "pg_partman" (now and wanted are columns of part_config), "every" (the interval in
           scripts with ALTER TABLE … EVERY) or "template" (of subpartitions: it gets the
           subpartitions that the partition in now["like"] has after the plan)
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
    """An ID that depends only on the change: operation, qualified table name and what is changed
    (bounds, targets).

    >>> step_id("merge", "public.t", "FROM (1) TO (9)")
    'merge-47107f4e113f'
    """
    digest = hashlib.sha256(
        "\x1f".join((operation, table, *what)).encode("utf-8", "surrogatepass")
    ).hexdigest()
    return f"{operation}-{digest[:12]}"
