"""Partitioned tables as upkeep reads them: sets of partitions that cover ranges of time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gpcatalog.model.bounds import (
    OPEN_HIGH,
    OPEN_LOW,
    Bound,
    BoundKind,
    parse,
)
from gpcatalog.planner.relations import Relation, relations_of
from gpcatalog.planner.sets.roots import Root
from gpcatalog.store.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class Partition:
    """One partition of the level that is partitioned by time, with all partitions below it.

    low, high: its range in local time (see TimeKey), OPEN_LOW and OPEN_HIGH for open ends
    oid:    0 for a partition of a forecast; label: partition name of Greenplum 6
    filled: whether it has rows, None if unknown
    bytes:  on all segments; segment_bytes: of its largest leaf on the fullest one; None if unknown
    rows:   on all segments, according to statistics; None if there are none
    schema: of its relation
    movable: whether rows can be copied within the server: no external or foreign leaf
    """

    low: int
    high: int
    name: str = ""
    oid: int = 0
    label: str = ""
    bound: str = ""
    filled: bool | None = False
    bytes: int | None = 0
    segment_bytes: int | None = 0
    leaves: int = 1
    movable: bool = True
    schema: str = ""
    rows: float | None = None

    @property
    def closed(self) -> bool:
        """Whether its range has both ends."""
        return self.low > OPEN_LOW and self.high < OPEN_HIGH


@dataclass(frozen=True, kw_only=True)
class PartitionSet:
    """The partitions of one parent, ordered by time.

    default: the default partition, None if there is none
    unread:  names of partitions whose bounds could not be read, with the reason
    pending: partitions whose DETACH CONCURRENTLY is not finished: they accept no rows, but the
             server refuses other partitions for their ranges
    """

    parent: int
    parent_name: str
    parts: tuple[Partition, ...]
    default: Partition | None = None
    unread: tuple[str, ...] = ()
    pending: tuple[Partition, ...] = ()

    @property
    def taken(self) -> list[Partition]:
        """Partitions whose ranges no new partition can have, ordered by time."""
        return sorted((*self.parts, *self.pending), key=lambda p: (p.low, p.high, p.oid))


@dataclass(frozen=True, kw_only=True)
class RawPartition:
    """A partition with its range on the axis of the key's family, before a time zone is chosen."""

    relation: Relation
    low: int
    high: int
    filled: bool | None
    bytes: int | None
    segment_bytes: int | None
    leaves: int
    movable: bool
    rows: float | None = None


@dataclass(kw_only=True)
class RawSet:
    """The partitions of one parent on the axis of the key's family, ordered by their range.
    pending: see PartitionSet.
    """

    parent: int
    parent_name: str
    parts: list[RawPartition] = field(default_factory=list)
    default: RawPartition | None = None
    unread: list[str] = field(default_factory=list)
    pending: list[RawPartition] = field(default_factory=list)


def _sum(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _largest(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else max((v for v in known if v is not None), default=0)


class _Tree:
    def __init__(self, relations: Sequence[Relation]) -> None:
        self.children: dict[int, list[Relation]] = {}
        for r in relations:
            if r.kind != "root":
                self.children.setdefault(r.parent, []).append(r)

    def leaves(self, relation: Relation) -> Iterator[Relation]:
        if relation.kind == "leaf":
            yield relation
            return
        for child in self.children.get(relation.oid, ()):
            yield from self.leaves(child)

    def raw(self, relation: Relation, low: int, high: int) -> RawPartition:
        leaves = list(self.leaves(relation))
        known = [leaf.filled for leaf in leaves]
        filled = True if True in known else None if None in known else False
        return RawPartition(
            relation=relation,
            low=low,
            high=high,
            filled=filled,
            bytes=_sum(0 if leaf.filled is False else leaf.bytes for leaf in leaves),
            segment_bytes=_largest(
                0 if leaf.filled is False else leaf.max_segment_bytes for leaf in leaves
            ),
            leaves=len(leaves),
            rows=sum(leaf.tuples for leaf in leaves) or None,
            movable=all(leaf.storage in ("heap", "ao_row", "ao_column") for leaf in leaves),
        )


def _below(tree: _Tree, oids: Collection[int]) -> set[int]:
    """OIDs of all relations below these ones."""
    found: set[int] = set()
    queue = list(oids)
    while queue:
        children = [r.oid for r in tree.children.get(queue.pop(), ())]
        found.update(children)
        queue += children
    return found


def raw_sets(
    root: Root,
    relations: Sequence[Relation],
    level: int,
    range_of: Callable[[Bound], tuple[int, int] | None],
    pending: Collection[int] = (),
) -> list[RawSet]:
    """Sets of partitions of the level that is partitioned by time, from the relations of one table.

    level: depth of these partitions; range_of: returns the range of a bound, or None to skip the
           partition; raises ValueError for a bound that it does not understand
    pending: OIDs of partitions whose detach is not finished; sets below them are left out
    """
    tree = _Tree(relations)
    gone = _below(tree, pending)
    relations = [r for r in relations if r.oid not in gone]
    found: dict[int, RawSet] = {}
    names = {r.oid: r.name for r in relations}
    for r in sorted(relations, key=lambda r: r.oid):
        bare = r.kind == "intermediate" and not tree.children.get(r.oid)
        if r.level == level - 1 and bare and r.oid not in pending:
            found[r.oid] = RawSet(parent=r.oid, parent_name=r.name)
        if r.kind == "root" or r.level != level:
            continue
        parent = r.parent or root.oid
        set_ = found.setdefault(
            parent, RawSet(parent=parent, parent_name=names.get(parent, root.name))
        )
        bound = parse(r.bound)
        if r.is_default or bound.kind is BoundKind.DEFAULT:
            set_.default = tree.raw(r, OPEN_LOW, OPEN_HIGH)
            continue
        try:
            found_range = range_of(bound)
        except ValueError as e:
            set_.unread.append(f"{r.name}: {e}")
            continue
        if found_range is not None:
            line = set_.pending if r.oid in pending else set_.parts
            line.append(tree.raw(r, *found_range))
    for set_ in found.values():
        set_.parts.sort(key=lambda p: (p.low, p.relation.oid))
    return list(found.values())


def relations_by_root(
    snapshot: Snapshot, roots: Sequence[Root]
) -> Iterator[tuple[Root, list[Relation]]]:
    """Each table with its relations, ordered by OID."""
    read = relations_of(snapshot, [(r.oid, r.leaves) for r in roots])
    yield from zip(roots, read, strict=True)
