"""The partitions of one table in the snapshot, for the steps that contain them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gpcatalog.store.snapshot import Snapshot


class Relation(NamedTuple):
    """One relation of a partitioned table, including the root; see the relation table of a
    snapshot. Texts are "" for NULL.
    """

    oid: int
    schema: str
    name: str
    parent: int
    level: int
    kind: str
    storage: str
    options: str
    tablespace: int
    tuples: float
    bound: str
    partition_name: str
    is_default: bool
    filled: bool | None
    bytes: int | None
    max_segment_bytes: int | None
    indexes: int
    columns: int
    toast: bool
    index_columns: int
    owner: int


_PLAIN = {"partition_name", "bound", "options"}
_NOUGHT = {"parent", "tablespace", "owner"}


def _column(name: str) -> str:
    if name == "tuples":
        return "greatest(coalesce(tuples, 0), 0)::DOUBLE AS tuples"
    quoted = f'"{name}"'
    return (
        f"coalesce({quoted}, '') AS {quoted}"
        if name in _PLAIN
        else f"coalesce({quoted}, 0)::BIGINT AS {quoted}"
        if name in _NOUGHT
        else quoted
    )


_COLUMNS = ", ".join(_column(name) for name in Relation._fields)


BATCH = 50_000  # leaves read at a time


def relations_of(snapshot: Snapshot, roots: Sequence[tuple[int, int]]) -> Iterator[list[Relation]]:
    """All relations of each partitioned table, ordered by OID. roots: OID and number of leaves,
    ordered by OID.
    """
    batch: list[int] = []
    size = 0
    for n, (root, leaves) in enumerate(roots, 1):
        batch.append(root)
        size += leaves
        if size >= BATCH or n == len(roots):
            yield from _read(snapshot, batch)
            batch, size = [], 0


def _read(snapshot: Snapshot, roots: list[int]) -> Iterator[list[Relation]]:
    root_list = ", ".join(str(int(root)) for root in roots)
    found = snapshot.columns(
        f"SELECT root, {_COLUMNS} FROM relation WHERE root BETWEEN {roots[0]} AND {roots[-1]} AND"
        f" root IN ({root_list}) ORDER BY root, oid"
    )
    edges = np.searchsorted(
        np.asarray(found["root"]), np.append(np.array(roots), roots[-1] + 1)
    ).tolist()
    columns = [found[name].tolist() for name in Relation._fields]
    for s, e in pairwise(edges):
        yield list(map(Relation._make, zip(*(column[s:e] for column in columns), strict=True)))


def fingerprint(root: int, relations: Iterable[Relation]) -> str:
    """sha256 of the table's partitions: lines "oid|schema|name|storage|bound" ordered by OID,
    joined by newlines; bound as in the snapshot.
    """
    lines = "\n".join(
        f"{r.oid}|{r.schema}|{r.name}|{r.storage}|{r.bound}" for r in relations if r.oid != root
    )
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
