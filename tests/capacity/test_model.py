"""The cost model without servers: published figures, linearity, monotonicity, refusals."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcatalog.capacity.cost import Cluster, Cost, leaf_cost, relation_cost, tree_cost
from gpcatalog.capacity.generation import GENERATIONS, generation
from gpcatalog.capacity.limits import GIB
from gpcatalog.capacity.locks import Statement, locks
from gpcatalog.capacity.model import (
    EMPTY,
    FILLED,
    SECOND_WRITER,
    VACUUMED,
    Index,
    Instance,
    Place,
    Shape,
    Use,
    empty_bytes,
    known,
    relation_files,
    relation_rows,
    tree,
)
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.storage import Storage

AOCO_100 = Shape(Storage.AO_COLUMN, 100)


@st.composite
def possible(draw: st.DrawFn) -> tuple[str, Shape]:
    """A generation and a shape that is possible on it."""
    gen = GENERATIONS[draw(st.sampled_from(sorted(GENERATIONS)))]
    storage = draw(st.sampled_from(gen.storages))
    plain = gen.rule_catalogs and storage.append_optimized
    index = st.builds(Index, st.integers(1, 8), st.just(False) if plain else st.booleans())
    shape = Shape(
        storage,
        draw(st.integers(1, 800)),
        toastable=draw(st.booleans()),
        dropped=draw(st.integers(0, 50)),
        indexes=tuple(draw(st.lists(index, max_size=4))),
        place=draw(st.sampled_from(Place)),
        bounds=draw(st.integers(0, 3)),
        not_null=draw(st.integers(0, 5)),
        defaults=draw(st.integers(0, 5)),
        checks=draw(st.integers(0, 5)),
        owned=draw(st.booleans()),
    )
    return gen.name, shape


def test_the_published_hundred_columns() -> None:
    # 100 + 33 technical columns without TOAST; about 6 files per leaf with TOAST, and one more per column at the first row
    assert relation_rows("gp6", AOCO_100)["pg_attribute"] == 133
    assert relation_files("gp6", replace(AOCO_100, toastable=True)) == 6
    assert [relation_files("gp6", AOCO_100, use) for use in (EMPTY, FILLED, SECOND_WRITER)] == [
        4,
        104,
        204,
    ]
    assert relation_files("gp6", AOCO_100, Use(rows=True, segfiles=2, vacuumed=True)) == 306


def test_a_leaf_of_the_brief() -> None:
    leaf = leaf_cost("gp6", Shape(Storage.AO_COLUMN, 20, toastable=True)).segment
    assert [
        leaf[c]
        for c in ("pg_class", "pg_attribute", "pg_attribute_encoding", "pg_depend", "pg_type")
    ] == [6, 65, 20, 15, 4]
    assert (
        sum(
            relation_rows(
                "gp7", Shape(Storage.AO_COLUMN, 20, toastable=True, place=Place.LEAF)
            ).values()
        )
        == 86
    )
    assert (
        sum(
            relation_rows(
                "gp7",
                Shape(Storage.AO_ROW, 20, toastable=True, indexes=(Index(),), place=Place.LEAF),
            ).values()
        )
        == 113
    )


@given(possible(), st.integers(1, 40))
def test_a_column_costs_the_same_wherever_it_comes(given_: tuple[str, Shape], more: int) -> None:
    server, shape = given_
    wider = replace(shape, columns=shape.columns + more)
    encoded = more if shape.storage is Storage.AO_COLUMN else 0
    for instance in Instance:
        rows, grown = relation_rows(server, shape, instance), relation_rows(server, wider, instance)
        gained = {c: grown[c] - rows.get(c, 0) for c in grown if grown[c] != rows.get(c, 0)}
        assert gained == {"pg_attribute": more} | (
            {"pg_attribute_encoding": encoded} if encoded else {}
        )


@given(possible())
def test_dropped_columns_cost_what_live_ones_do(given_: tuple[str, Shape]) -> None:
    server, shape = given_
    dropped = replace(shape, columns=shape.columns - 1, dropped=shape.dropped + 1)
    assert relation_rows(server, dropped) == relation_rows(server, shape)
    for use in (EMPTY, FILLED, SECOND_WRITER, VACUUMED):
        assert relation_files(server, dropped, use) == relation_files(server, shape, use)


@given(possible())
def test_files_never_get_fewer_on_the_way(given_: tuple[str, Shape]) -> None:
    server, shape = given_
    way = [
        relation_files(server, shape, use)
        for use in (EMPTY, FILLED, SECOND_WRITER, Use(rows=True, segfiles=2, vacuumed=True))
    ]
    assert way == sorted(way)
    assert relation_files(server, shape, Use(rows=True, vacuumed=True, hidden=1)) >= relation_files(
        server, shape, VACUUMED
    )
    assert empty_bytes(server, shape) % generation(server).block == 0


@given(possible())
def test_an_index_more_costs_more(given_: tuple[str, Shape]) -> None:
    server, shape = given_
    more = replace(shape, indexes=(*shape.indexes, Index(2)))
    assert relation_rows(server, more)["pg_class"] > relation_rows(server, shape)["pg_class"]
    assert relation_files(server, more) >= relation_files(server, shape)
    assert empty_bytes(server, more) >= empty_bytes(server, shape)


@given(possible(), st.integers(0, 10_000), st.integers(0, 10_000))
def test_costs_are_linear(given_: tuple[str, Shape], one: int, other: int) -> None:
    server, shape = given_
    cost = relation_cost(server, shape)
    assert cost * one + other * cost == cost * (one + other)
    assert cost + Cost() == cost
    assert tree_cost(server, {shape: one + other}) == Cost() + cost * (one + other)


@given(possible(), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.data())
def test_a_tree_counts_every_relation(
    given_: tuple[str, Shape], parts: list[int], data: st.DataObject
) -> None:
    server, shape = given_
    defaults = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    found = tree(shape, parts, defaults=defaults)
    level, expected = 1, {Place.ROOT: 1, Place.INTERMEDIATE: 0, Place.LEAF: 0}
    for depth, (n, default) in enumerate(zip(parts, defaults, strict=True), 1):
        level *= n + default
        expected[Place.LEAF if depth == len(parts) else Place.INTERMEDIATE] += level
    assert {
        place: sum(n for x, n in found.items() if x.place is place) for place in expected
    } == expected
    # the cost depends only on the number of relations of each shape
    cost = tree_cost(server, found)
    assert cost.files == sum(relation_files(server, x) * n for x, n in found.items())
    assert all(n >= 0 for side in (cost.coordinator, cost.segment) for n in side.values())


@given(possible(), st.integers(1, 5000), st.integers(0, 50))
def test_locks_of_leaves_are_linear(
    given_: tuple[str, Shape], leaves: int, intermediates: int
) -> None:
    server, shape = given_
    few, many = (locks(server, shape, n, intermediates) for n in (leaves, leaves + 10))
    one, two = locks(server, shape, 1, intermediates), locks(server, shape, 2, intermediates)
    for statement in Statement:
        for instance in (0, 1):
            assert many[statement][instance] - few[statement][instance] == 10 * (
                two[statement][instance] - one[statement][instance]
            )
    assert many[Statement.BACKUP][0] == 1 + intermediates + leaves + 10


def test_heap_grows_a_file_a_gigabyte() -> None:
    heap = Shape(Storage.HEAP, 5)
    assert [
        relation_files("pg15", heap, Use(rows=True, bytes=n))
        for n in (8192, 8193, GIB, GIB + 1, 5 * GIB)
    ] == [1, 2, 2, 3, 6]
    assert relation_files("pg15", heap, Use(rows=True, vacuumed=True, bytes=5 * GIB)) == 7


def test_where_generations_differ() -> None:
    text = Shape(Storage.AO_COLUMN, 5, toastable=True)
    assert relation_files("gp6", text) == 6
    assert relation_files("gp7", text) == 4  # no TOAST on ao_column
    root = Shape(Storage.AO_COLUMN, 5, place=Place.ROOT)
    assert relation_files("gp6", root) == 4
    assert relation_files("gp7", root) == 0
    null = Shape(Storage.HEAP, 5, not_null=2)
    assert relation_rows("pg17", null) == relation_rows("pg17", replace(null, not_null=0))
    assert relation_rows("pg18", null)["pg_constraint"] == 2
    toasted = Shape(Storage.HEAP, 5, toastable=True)
    assert (
        relation_rows("pg13", toasted)["pg_type"] == relation_rows("pg14", toasted)["pg_type"] + 1
    )


def test_cluster_totals() -> None:
    shape = Shape(Storage.AO_COLUMN, 10)
    cost = relation_cost("gp6", shape)
    cluster = Cluster(32, mirrors=True, standby=True)
    assert cluster.rows(cost, "pg_class") == 4 * 66
    assert cluster.files(cost.files, cost.filled) == 2 * 4 + 64 * 14
    assert cluster.catalog_bytes(cost) == 2 * cost.coordinator_bytes + 64 * cost.segment_bytes
    assert Cluster(0).files(1, 3) == 3


NAMES = (
    "Greenplum 6",
    "greenplum7",
    "greengage6",
    "WarehousePG 7",
    "cloudberry",
    "Cloudberry_2",
    "PostgreSQL 15",
    "postgres12",
)


@pytest.mark.parametrize("name", [*GENERATIONS, *NAMES])
def test_generations_are_found_by_name(name: str) -> None:
    gen = generation(name)
    assert gen.measured == (gen.name != "cb2")
    assert gen.measured or "not measured" in gen.source
    assert gen.row_bytes["pg_attribute"] > 100
    assert {f.name for f in fields(gen)} >= {"row_bytes", "source"}


@pytest.mark.parametrize(
    ("server", "shape", "message"),
    [
        ("gp5", AOCO_100, "unknown server: gp5"),
        ("pg15", AOCO_100, "PostgreSQL 15 does not support ao_column tables"),
        ("gp6", Shape(Storage.EXTERNAL, 3), "Greenplum 6 does not support external tables"),
        ("gp6", Shape(Storage.HEAP, 1601), "0 to 1600 columns"),
        ("gp6", Shape(Storage.HEAP, 1000, dropped=601), "including dropped ones, not 1601"),
        (
            "gp6",
            Shape(Storage.AO_ROW, 3, indexes=(Index(constraint=True),)),
            "not support unique indexes on ao_row",
        ),
    ],
)
def test_what_no_server_has_is_refused(server: str, shape: Shape, message: str) -> None:
    with pytest.raises(CatalogError, match=message) as caught:
        known(server, shape)
    assert caught.value.exit_code is Exit.USAGE


def test_a_tree_without_levels_is_refused() -> None:
    with pytest.raises(CatalogError, match="in each level"):
        tree(AOCO_100, ())
    with pytest.raises(CatalogError, match="in each level"):
        tree(AOCO_100, (3, -1))
