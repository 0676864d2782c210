"""Total cost of a relation, a leaf or a partitioned table: the sums of the model, by instance and
for a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpcatalog.capacity.generation import (
    Generation,
)
from gpcatalog.capacity.model import (
    EMPTY,
    FILLED,
    SECOND_WRITER,
    VACUUMED,
    Instance,
    Place,
    Shape,
    Use,
    catalog_bytes,
    empty_bytes,
    known,
    relation_files,
    relation_rows,
)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of relations on one coordinator and on one segment. Costs can be added and multiplied.

    coordinator, segment: rows by catalog
    files:        files on a segment while empty; filled: by one writer; second_writer: by two
                  writers at the same time; vacuumed: filled by one writer and vacuumed
    empty_bytes:  bytes of the empty files on a segment (the coordinator has the empty files as
                  well)
    coordinator_bytes, segment_bytes: estimated catalog bytes
    """

    coordinator: Mapping[str, float] = field(default_factory=dict)
    segment: Mapping[str, float] = field(default_factory=dict)
    files: float = 0
    filled: float = 0
    second_writer: float = 0
    vacuumed: float = 0
    empty_bytes: float = 0
    coordinator_bytes: float = 0
    segment_bytes: float = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            coordinator=_summed(self.coordinator, other.coordinator),
            segment=_summed(self.segment, other.segment),
            files=self.files + other.files,
            filled=self.filled + other.filled,
            second_writer=self.second_writer + other.second_writer,
            vacuumed=self.vacuumed + other.vacuumed,
            empty_bytes=self.empty_bytes + other.empty_bytes,
            coordinator_bytes=self.coordinator_bytes + other.coordinator_bytes,
            segment_bytes=self.segment_bytes + other.segment_bytes,
        )

    def __mul__(self, number: float) -> Cost:
        return Cost(
            coordinator={catalog: n * number for catalog, n in self.coordinator.items()},
            segment={catalog: n * number for catalog, n in self.segment.items()},
            files=self.files * number,
            filled=self.filled * number,
            second_writer=self.second_writer * number,
            vacuumed=self.vacuumed * number,
            empty_bytes=self.empty_bytes * number,
            coordinator_bytes=self.coordinator_bytes * number,
            segment_bytes=self.segment_bytes * number,
        )

    __rmul__ = __mul__


def _summed(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {catalog: one.get(catalog, 0) + other.get(catalog, 0) for catalog in {**one, **other}}


def relation_cost(server: Generation | str, shape: Shape) -> Cost:
    """Cost of one relation with its auxiliary relations and indexes. Catalog rows are those before
    any rows are inserted; the file counts also cover later states.
    """
    gen = known(server, shape)
    coordinator = relation_rows(gen, shape, Instance.COORDINATOR)
    segment = relation_rows(gen, shape, Instance.SEGMENT)

    def files(use: Use) -> int:
        # a root stores no rows: they are stored in its leaves
        return relation_files(gen, shape, EMPTY if shape.place.parent else use)

    return Cost(
        coordinator=coordinator,
        segment=segment,
        files=files(EMPTY),
        filled=files(FILLED),
        second_writer=files(SECOND_WRITER),
        vacuumed=files(VACUUMED),
        empty_bytes=empty_bytes(gen, shape),
        coordinator_bytes=catalog_bytes(gen, coordinator),
        segment_bytes=catalog_bytes(gen, segment),
    )


def leaf_cost(server: Generation | str, shape: Shape) -> Cost:
    """Cost of one leaf of a partitioned table of that shape; the place of the shape is ignored.

    >>> from gpcatalog.model.storage import Storage
    >>> leaf_cost("gp6", Shape(Storage.AO_COLUMN, 20, toastable=True)).segment["pg_depend"]
    15
    """
    return relation_cost(server, replace(shape, place=Place.LEAF))


def tree_cost(server: Generation | str, relations: Mapping[Shape, int]) -> Cost:
    """Cost of many relations, given as shapes with their number (`tree` creates them for a
    partitioned table).
    """
    total = Cost()
    for shape, number in relations.items():
        total += relation_cost(server, shape) * number
    return total


@dataclass(frozen=True)
class Cluster:
    """Instances of a cluster that store rows and files.

    segments: primaries; mirrors: each has one; standby: the coordinator has one. PostgreSQL: 0
              segments.
    """

    segments: int
    mirrors: bool = False
    standby: bool = False

    @property
    def data_instances(self) -> int:
        """Primaries and mirrors."""
        return self.segments * (2 if self.mirrors else 1)

    @property
    def entry_instances(self) -> int:
        """The coordinator and its standby, or the one PostgreSQL server."""
        return 2 if self.standby else 1

    def catalog_bytes(self, cost: Cost) -> float:
        """Estimated catalog bytes on all instances."""
        return (
            cost.coordinator_bytes * self.entry_instances + cost.segment_bytes * self.data_instances
        )

    def files(self, empty: float, filled: float) -> float:
        """Files on all instances: on Greenplum the coordinator has only the empty files, because
        rows are stored on segments only.
        """
        if not self.segments:
            return filled * self.entry_instances
        return empty * self.entry_instances + filled * self.data_instances

    def rows(self, cost: Cost, catalog: str) -> float:
        """Rows of one catalog on all instances."""
        return (
            cost.coordinator.get(catalog, 0) * self.entry_instances
            + cost.segment.get(catalog, 0) * self.data_instances
        )
