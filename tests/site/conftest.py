"""Stored series of several databases, and their site."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpcatalog.cli import app
from gpcatalog.store.series import safe_name
from tests.growth import made

HOSTILE = "<script>alert(1)</script>\u202e\"'&`x`"
NAMES = ("orders", "customers", "events", "clicks", "returns", "stock_movements")


def series(
    home: Path,
    server: str,
    database: str,
    days: int,
    *,
    generation: str = "gp6",
    more: int = 1,
    hostile: bool = False,
) -> Path:
    """Write a series in which tables grow, shrink, appear and disappear. more: how fast they grow."""
    place = home / server / safe_name(database)
    place.mkdir(parents=True, exist_ok=True)
    for day in range(days):
        write(place, database, day, generation=generation, more=more, hostile=hostile)
    return place


def write(
    place: Path,
    database: str,
    day: int,
    *,
    generation: str = "gp6",
    more: int = 1,
    hostile: bool = False,
) -> Path:
    """Write the snapshot of a day."""
    tables = [
        made.Table(
            name,
            20_000 + 1_000 * n,
            range(max(0, day - 40 + n), 30 + more * (n % 3) * day // 3 + n),
            schema=("sales", "dwh", "staging")[n % 3],
            storage=("ao_column", "ao_row", "heap")[n % 3],
        )
        for n, name in enumerate(NAMES)
    ]
    if day >= 3:
        tables.append(made.Table("new_table", 90_000, range(day), schema="dwh"))
    if day < 2:
        tables.append(made.Table("old_table", 93_000, range(4), schema="dwh"))
    if hostile:
        tables.append(made.Table(HOSTILE, 95_000, range(4), schema="we;ird`</"))
    moment = made.START + timedelta(days=day)
    bytes_ = dict.fromkeys((-1, 0, 1, 2), (10 + 2 * day * more) << 20)
    snapshot = made.SnapshotSpec(
        moment, tables, generation=generation, database=database, bytes_=bytes_
    )
    return made.write(place / f"{moment:%Y%m%dT%H%M%SZ}.gpcatalog", snapshot)


def fill(home: Path) -> None:
    """Write series of two servers with five readable databases and one unreadable database."""
    series(home, "mdw-5432", "sales", 30, more=30)
    series(home, "mdw-5432", "marketing", 6)
    series(home, "mdw-5432", "a b'<x>\u202e%", 3, hostile=True)
    series(home, "crm-5432", "crm", 12, generation="pg15")
    series(home, "crm-5432", "one", 1, generation="pg15")
    bad = home / "crm-5432" / "bad"
    bad.mkdir()
    (bad / "20260101T000000Z.gpcatalog").write_bytes(b"not a snapshot")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshots that `fill` writes, written once."""
    found = tmp_path_factory.mktemp("prepared") / "home"
    found.mkdir()
    fill(found)
    return found


@pytest.fixture
def filled(home: Path, prepared: Path) -> Path:
    """The folder of the snapshots, with a copy of the prepared snapshots."""
    shutil.copytree(prepared, home, dirs_exist_ok=True)
    return home


Site = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the snapshots."""
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("GPCATALOG_HOME", str(found))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "etc"))
    return found


@pytest.fixture
def site(home: Path) -> Site:
    """Run the command with further options."""

    def call(folder: Path, *words: str) -> Any:
        return CliRunner().invoke(app, ["site", "-o", str(folder), *words])

    return call
