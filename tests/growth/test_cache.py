"""Cached points of a series equal the points read from the snapshots, after any changes to the snapshots."""

from __future__ import annotations

import os
import random
import shutil
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from gpcatalog.growth import cache
from gpcatalog.growth import series as reading
from gpcatalog.growth.build import build
from gpcatalog.growth.series import points
from gpcatalog.store.prune import totals_only
from gpcatalog.store.series import home
from tests.growth import made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPCATALOG_HOME", str(tmp_path / "home"))
    found = home() / "mdw-5432" / "sales"
    found.mkdir(parents=True)
    return found


def stored(place: Path) -> list[Path]:
    return sorted(place.glob("*.gpcatalog"))


def write(place: Path, day: float, rng: random.Random, *, database_oid: int = 16500) -> Path:
    moment = made.START + timedelta(days=day)
    tables = [
        made.Table(f"t{n}", 20_000 + 1_000 * n, range(rng.randrange(3), 4 + rng.randrange(9)))
        for n in range(6)
        if rng.random() < 0.7
    ]
    path = place / f"{moment:%Y%m%dT%H%M%SZ}.gpcatalog"
    return made.write(path, made.SnapshotSpec(moment, tables, database_oid=database_oid))


@pytest.mark.turns
@pytest.mark.parametrize("seed", range(3))
def test_cached_points_equal_those_read(place: Path, seed: int) -> None:
    """Cached points are correct after snapshots are added, removed, changed or pruned, and after a database is created again."""
    rng = random.Random(seed)
    for day in range(3):
        write(place, day, rng)
    for step in range(10):
        files = stored(place)
        action = rng.choice(["after", "between", "delete", "change", "prune", "other", "none"])
        if action == "after":
            write(place, 10 + step, rng)
        elif action == "between":
            write(place, rng.random() * 10, rng)
        elif action == "delete" and len(files) > 2:
            rng.choice(files).unlink()
        elif action == "change":
            path = rng.choice(files)
            day = (
                reading.points([path])[0][0].taken_at.replace(tzinfo=None) - made.START
            ) / timedelta(days=1)
            path.unlink()
            write(place, day, rng)
        elif action == "prune":
            totals_only(rng.choice(files))
        elif action == "other":
            write(place, 5.5, rng, database_oid=99)
        since = rng.choice([None, timedelta(days=6)])
        until = rng.choice([None, *stored(place)])
        found = points(stored(place), since=since, until=until)
        assert (place / cache.FILE).is_file()
        copy = place.parent / "copy"
        shutil.copytree(place, copy, ignore=shutil.ignore_patterns(".points"))
        fresh = points(
            stored(copy), since=since, until=None if until is None else copy / until.name
        )
        for point in fresh[0]:
            point.path = place / point.path.name
        assert found == fresh
        assert build(*found) == build(*fresh)
        shutil.rmtree(copy)


def test_only_new_snapshots_are_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    for day in range(8):
        write(place, day, rng)
    points(stored(place))
    read: list[str] = []
    real = reading._read
    monkeypatch.setattr(reading, "_read", lambda path: read.append(path.name) or real(path))
    points(stored(place))
    assert not read
    newest = write(place, 9, rng)
    points(stored(place))
    assert read == [newest.name]


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xff", b"\x81\xa6format\x01", b"\xdd\xff\xff\xff\xff", b"\x91" * 100_000],
)
def test_damaged_file_is_ignored(place: Path, content: bytes) -> None:
    write(place, 0, random.Random(1))
    expected = points(stored(place))
    (place / cache.FILE).write_bytes(content)
    assert points(stored(place)) == expected


def test_another_version_reads_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, 0, random.Random(1))
    points(stored(place))
    assert cache.read(place)
    monkeypatch.setattr(cache, "FORMAT", "1 0.0.0")
    assert not cache.read(place)


def test_names_outside_the_folder_are_ignored(place: Path) -> None:
    """A cache file from another source cannot refer to files outside the folder."""
    path = write(place, 0, random.Random(1))
    points(stored(place))
    other = shutil.copy2(path, place.parent / "other.gpcatalog")
    (entry,) = cache.read(place).values()
    moved = msgspec.structs.replace(
        entry, identity=("../other.gpcatalog", *cache.identity_of(Path(other))[1:])
    )
    cache.write(place, [moved])
    assert not cache.read(place)


def test_nothing_is_written_outside_the_series(tmp_path: Path, place: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    made.series(elsewhere, 3)
    points(stored(elsewhere))
    assert sorted(os.listdir(elsewhere)) == [p.name for p in stored(elsewhere)]
    some = made.series(place, 3)
    points(some[:2])  # not the whole series
    assert not (place / cache.FILE).exists()
    points(some)
    assert (place / cache.FILE).exists()


def test_a_folder_that_cannot_be_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, 0, random.Random(1))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert len(points(stored(place))[0]) == 1
    assert not list(place.glob(".points*"))
