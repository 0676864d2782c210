"""Predicted time of statements against recorded measurements of live servers."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcatalog.capacity import durations
from gpcatalog.capacity.duration_figures import FIGURES
from gpcatalog.capacity.durations import Action, Pace
from gpcatalog.capacity.model import Index, Shape
from gpcatalog.errors import CatalogError
from gpcatalog.model import generations
from gpcatalog.model.storage import Storage
from tests.bench import seconds as bench

WITHIN = 2.0
NOISE = 0.005  # seconds that a process start or a flush may take
SHARE = 0.97  # of the measurements; single measurements were slow
SERVERS = [one.name for one in generations.GENERATIONS]


def measured(server: str) -> dict[tuple[str, int, int, int, str], list[float]]:
    """Measured seconds at the speed of the test servers, by storage, columns, indexes, leaves, statement."""
    found = defaultdict(list)
    path = Path(bench.recording(server).path)
    for *shape, _, what, took, pace in json.loads(path.read_text())["entries"]:
        found[*shape, what].append(took / pace)
    return found


def predicted(
    server: str, storage: str, columns: int, indexes: int, leaves: int, what: str
) -> float:
    shape = Shape(
        Storage(storage),
        columns + (what in bench.LATER),
        toastable=True,
        indexes=(Index(),) * indexes,
    )
    found = durations.seconds(server, shape, Action(what), leaves)
    assert found is not None
    return found


@pytest.mark.parametrize("server", bench.SERVERS)
def test_recorded_times_are_within_a_factor_of_two(server: str) -> None:
    entries = {key: median(values) for key, values in measured(server).items()}
    assert {leaves for *_, leaves, _ in entries} >= {1, 10, 100, 500, 2000, 5000}
    off = {}
    for key, took in entries.items():
        estimated = predicted(server, *key)
        if not took / WITHIN - NOISE <= estimated <= took * WITHIN + NOISE:
            off[key] = (took, estimated)
    assert len(off) <= (1 - SHARE) * len(entries), off


@pytest.mark.parametrize("fold", range(4))
def test_shapes_that_the_figures_do_not_know(fold: int) -> None:
    """Figures fitted without a quarter of the shapes predict the times of this quarter."""
    shapes = sorted({tuple(key[1:4]) for server in bench.SERVERS for key in measured(server)})
    without = set(shapes[fold::4])
    fitted = bench.figures(without)
    seen = near = 0
    for server in bench.SERVERS:
        for (storage, *shape, what), values in measured(server).items():
            if tuple(shape) not in without or (server, storage) not in fitted:
                continue
            terms = bench.terms(what, *shape)
            estimated = (
                sum(a * b for a, b in zip(fitted[server, storage][what], terms, strict=True)) / 1000
            )
            took = median(values)
            seen += 1
            near += took / WITHIN - NOISE <= estimated <= took * WITHIN + NOISE
    assert seen > 200
    assert near >= 0.9 * seen, (near, seen)
    print(f"fold {fold}: {near} of {seen} within a factor of 2")


def test_figures_are_those_of_the_recorded_times() -> None:
    """The figures in the program are those that the generator computes from the recorded times."""
    text = bench.FIGURES.read_text()
    assert text[text.index("FIGURES: ") :] == bench.table()


def test_twenty_thousand_leaves_were_measured() -> None:
    for server, storage in (("gp6", "heap"), ("pg15", "heap")):
        assert (storage, 20, 1, 20_000, "create") in measured(server)


@given(
    st.sampled_from(SERVERS),
    st.sampled_from([Storage.HEAP, Storage.AO_ROW, Storage.AO_COLUMN]),
    st.sampled_from(list(Action)),
    st.integers(0, 100_000),
    st.integers(1, 200),
    st.integers(0, 5),
)
def test_more_takes_longer(
    server: str, storage: Storage, action: Action, leaves: int, columns: int, indexes: int
) -> None:
    def took(n: int, c: int, i: int, pace: Pace = durations.REFERENCE) -> float | None:
        shape = Shape(storage, c, indexes=(Index(),) * i)
        return durations.seconds(server, shape, action, n, pace=pace)

    one = took(leaves, columns, indexes)
    if one is None:
        assert action is Action.SPLIT
        assert not generations.is_greenplum(server)
        return
    assert one > 0
    for more in (
        took(leaves + 1, columns, indexes),
        took(leaves, columns + 1, indexes),
        took(leaves, columns, indexes + 1),
    ):
        assert more is not None
        assert more >= one
    assert took(leaves, columns, indexes, Pace(2.5, "speed")) == pytest.approx(2.5 * one)


def test_a_plain_table_is_one_leaf() -> None:
    shape = Shape(Storage.HEAP, 5)
    assert durations.seconds("pg18", shape, Action.DROP, 0) == durations.seconds(
        "pg18", shape, Action.DROP, 1
    )


@pytest.mark.parametrize("server", ["gp6", "gp7"])
def test_a_new_column_needs_a_file_in_each_filled_leaf(server: str) -> None:
    def took(storage: Storage, action: Action, filled: int) -> float:
        found = durations.seconds(server, Shape(storage, 5), action, 200, filled=filled)
        assert found is not None
        return found

    more = took(Storage.AO_COLUMN, Action.ADD_COLUMN, 100) - took(
        Storage.AO_COLUMN, Action.ADD_COLUMN, 0
    )
    assert more == pytest.approx(100 * durations.NEW_FILE_MS / 1000)
    for storage, action in (
        (Storage.HEAP, Action.ADD_COLUMN),
        (Storage.AO_COLUMN, Action.DROP),
    ):
        assert took(storage, action, 100) == took(storage, action, 0)


def test_levels() -> None:
    """CREATE reads the partition list of one parent for each partition; other statements process all partitions."""
    shape = Shape(Storage.HEAP, 20)

    def took(server: str, action: Action, leaves: int, widest: int = 0) -> float:
        found = durations.seconds(server, shape, action, leaves, widest=widest)
        assert found is not None
        return found

    for server in ("gp7", "pg15", "pg18", "pg19"):
        many = took(server, Action.CREATE, 5000)
        assert took(server, Action.CREATE, 5000, 5000) == many
        assert took(server, Action.CREATE, 5000, 50) < many / 3
        assert took(server, Action.DROP, 5000, 50) == took(server, Action.DROP, 5000)
        assert took(server, Action.ADD, 5000, 50) == took(server, Action.ADD, 50)
    assert took("gp6", Action.ADD, 5000, 50) == took("gp6", Action.ADD, 5000)
    # PostgreSQL 15: 10 × 200 leaves in 1.43 s, 40 × 50 in 1.37 s; 2000 leaves of one level in 5.2 s
    assert 1.43 / 2 < took("pg15", Action.CREATE, 2000, 200) < 1.43 * 2
    assert 1.37 / 2 < took("pg15", Action.CREATE, 2000, 50) < 1.37 * 2


def test_unknown_servers() -> None:
    shape = Shape(Storage.AO_COLUMN, 5)
    assert durations.seconds("cb2", shape, Action.DROP, 10) == durations.seconds(
        "gp7", shape, Action.DROP, 10
    )
    assert durations.seconds("pg21", shape, Action.DROP, 10) == durations.seconds(
        "pg19", shape, Action.DROP, 10
    )
    assert durations.seconds("pg13", shape, Action.DROP, 10) == durations.seconds(
        "pg15", shape, Action.DROP, 10
    )
    with pytest.raises((KeyError, CatalogError)):
        durations.seconds("oracle", shape, Action.DROP, 10)


def test_every_server_has_every_action() -> None:
    for (server, _), actions in FIGURES.items():
        expected = {a.value for a in Action}
        if not server.startswith("gp"):
            expected.discard(Action.SPLIT.value)
        assert set(actions) == expected


def test_a_backup_is_the_sum_of_its_tables() -> None:
    shape = Shape(Storage.HEAP, 12)
    one = durations.backup("pg15", [(shape, 300)])
    assert one == durations.seconds("pg15", shape, Action.BACKUP, 300)
    fixed = durations.figures("pg15", Storage.HEAP, Action.BACKUP)
    assert fixed is not None
    two = durations.backup("pg15", [(shape, 300), (shape, 300)])
    assert two == pytest.approx(2 * one - fixed.fixed / 1000)
    assert durations.backup("pg15", []) == 0


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15"])
def test_pace_of_the_speed(server: str) -> None:
    here, there = durations.SPEED[server]

    def pace(factor: float, dispatched: float) -> Pace:
        of_segments = None if there is None else there * dispatched + 1
        return durations.pace_of_speed(server, here * factor + 1, of_segments, 1.0)

    assert pace(1, 1) == Pace(pytest.approx(1.0), "speed")
    assert pace(3, 3) == Pace(pytest.approx(3.0), "speed")
    if there is not None:
        assert pace(1, 3) == Pace(pytest.approx(2.0), "speed")
    assert pace(1000, 1000) == Pace(durations.MOST, "speed")
    assert pace(0.01, 0.01) == Pace(durations.LEAST, "speed")
    assert durations.pace_of_speed(server, 1.0, None, 1.0) == durations.REFERENCE
