"""Shapes of a live table, derived from rows as the probes read them; needs no server."""

from __future__ import annotations

from typing import Any

import pytest

from gpcatalog.capacity.generation import GENERATIONS, generation
from gpcatalog.capacity.live import BOOTSTRAP, not_counted, shapes
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.model.storage import Storage

OWNER = 16_400
# an int column, a text column, and a dropped column
COLUMNS: list[dict[str, Any]] = [
    {
        "type": kind,
        "typmod": -1,
        "plain": False,
        "dropped": dropped,
        "not_null": not_null,
        "has_default": default,
    }
    for kind, dropped, not_null, default in (
        ("int4", False, True, True),
        ("int4", False, True, False),
        ("int4", True, False, False),
    )
]
INDEXES = [
    {"columns": 2, "owned": True, "bitmap": False},
    {"columns": 1, "owned": False, "bitmap": False},
]
OWN = (Index(2, constraint=True), Index(1))


def relation(oid: int, kind: str, **given: Any) -> dict[str, Any]:
    """A row of the probe `relations`."""
    return {
        "oid": oid,
        "kind": kind,
        "level": 0,
        "parent": None,
        "storage": "heap",
        "columns": 3,
        "toast": False,
        "indexes": 2,
        "index_columns": 3,
        "owner": OWNER,
        "persistence": "p",
        "is_default": False,
    } | given


@pytest.mark.parametrize("server", GENERATIONS)
def test_a_plain_table(server: str) -> None:
    found = shapes(server, 1, [relation(1, "table", toast=True)], COLUMNS, INDEXES, 2)
    (shape,) = found
    assert found == {shape: 1}
    assert (shape.storage, shape.place, shape.bounds, shape.levels) == (
        Storage.HEAP,
        Place.PLAIN,
        1,
        1,
    )
    assert (shape.columns, shape.dropped, shape.indexes) == (2, 1, OWN)
    assert (shape.not_null, shape.defaults, shape.checks, shape.owned) == (2, 1, 2, True)
    assert shape.toastable  # the TOAST table exists, although no column needs it any more


def test_a_table_of_the_bootstrap_role_has_no_row_for_its_owner() -> None:
    (shape,) = shapes("pg15", 1, [relation(1, "table", owner=BOOTSTRAP)], COLUMNS, INDEXES, 0)
    assert shape.owned is False
    assert shape.unlogged is False


def test_an_unlogged_table_with_a_bitmap_index() -> None:
    bitmap = [{"columns": 1, "owned": False, "bitmap": True}]
    (shape,) = shapes(
        "gp7", 1, [relation(1, "table", indexes=1, persistence="u")], COLUMNS, bitmap, 0
    )
    assert (shape.unlogged, shape.indexes[0].bitmap) == (True, True)


def test_what_is_not_counted_is_named() -> None:
    found = dict.fromkeys(
        "sequences foreign_keys referencing triggers rules others parents own_types special_indexes".split(),
        0,
    ) | {"privileges": False, "comments": False}
    assert not_counted(found, partition=False) == []
    assert not_counted(found | {"parents": 1}, partition=True) == []
    assert not_counted(
        found | {"parents": 1, "triggers": 2, "comments": True}, partition=False
    ) == ["rows and files not counted: 2 triggers, 1 inherited table, comments"]


def two_levels(storage: str, root: str) -> list[dict[str, Any]]:
    """A root, two intermediates (one is the default partition), and leaves below them; one leaf has other indexes."""
    return [
        relation(1, "root", storage=root, toast=True),
        relation(2, "intermediate", level=1, parent=1, storage=root),
        relation(3, "intermediate", level=1, parent=1, storage=root, is_default=True),
        relation(4, "leaf", level=2, parent=2, storage=storage),
        relation(5, "leaf", level=2, parent=3, storage=storage, indexes=3, index_columns=6),
        relation(6, "leaf", level=2, parent=3, storage=storage, columns=2),
    ]


@pytest.mark.parametrize(
    ("server", "storage", "root"), [("gp6", "ao_column", "ao_column"), ("pg15", "heap", "none")]
)
def test_two_levels(server: str, storage: str, root: str) -> None:
    found = shapes(server, 1, two_levels(storage, root), COLUMNS, INDEXES, 1)
    assert sum(found.values()) == 6
    by_place: dict[Place, list[Shape]] = {}
    for shape in found:
        by_place.setdefault(shape.place, []).append(shape)
    (top,) = by_place[Place.ROOT]
    # the storage of a root without rows is that of its leaves
    assert (top.storage, top.bounds, top.levels) == (Storage(storage), 0, 2)
    # the TOAST flag of a root counts only if the root is a table itself
    assert top.toastable is generation(server).root_is_table
    assert sorted(s.bounds for s in by_place[Place.INTERMEDIATE]) == [0, 1]
    assert all(s.levels == 1 for s in by_place[Place.INTERMEDIATE])
    leaves = by_place[Place.LEAF]
    assert sorted(s.bounds for s in leaves) == [1, 1, 2]
    assert sorted(s.dropped for s in leaves) == [1, 1, 1]
    assert sorted(s.columns for s in leaves) == [1, 2, 2]
    assert {s.indexes for s in leaves} == {OWN, (Index(4), Index(1), Index(1))}


def test_checks_that_greenplum_6_makes_of_bounds_are_not_the_tables() -> None:
    rows = two_levels("heap", "heap")
    # for one leaf, which has a check for its own bounds and one for the bounds of its parent
    for oid, checks, own in ((4, 3, 1), (5, 2, 1), (4, 0, 0)):
        found = shapes("gp6", oid, rows, COLUMNS, INDEXES, checks)
        assert {s.checks for s in found} == {own}
    assert {s.checks for s in shapes("gp7", 4, rows, COLUMNS, INDEXES, 2)} == {2}


def test_a_table_without_indexes_and_columns() -> None:
    row = relation(1, "table", columns=0, indexes=0, index_columns=0)
    (shape,) = shapes("gp7", 1, [row], [], [], 0)
    assert (shape.columns, shape.dropped, shape.indexes) == (0, 0, ())
    other = relation(1, "table", indexes=0, index_columns=0)
    (shape,) = shapes("gp7", 1, [other], COLUMNS, INDEXES, 0)
    assert shape.indexes == ()  # a leaf without the indexes of its table
