"""No snapshot is left out in silence: those before the period, those from the future, and those that are not listed one by one."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.commands.growth import growth as growth_command
from gpcatalog.commands.report import Contents, contents_of
from gpcatalog.emit.html import page as html_page
from gpcatalog.emit.html_growth import growth_section, skipped_note
from gpcatalog.errors import CatalogError
from gpcatalog.growth.build import build
from gpcatalog.growth.result import OlderSnapshots
from gpcatalog.growth.series import period, points
from gpcatalog.store.snapshot import SUFFIX
from tests.growth import made

app = typer.Typer()
app.command()(growth_command)


def printed(*args: str) -> str:
    """The output of `growth` with single spaces."""
    result = CliRunner().invoke(app, list(args), env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.exception
    return re.sub(r"\s+", " ", result.output)


def at(folder: Path, moment: datetime, *, database_oid: int = 16500) -> Path:
    """Write a snapshot of this time."""
    moment = moment.replace(tzinfo=None, microsecond=0)
    spec = made.SnapshotSpec(
        moment, [made.Table("orders", 20000, range(200))], database_oid=database_oid
    )
    return made.write(folder / f"{moment:%Y%m%dT%H%M%SZ}{SUFFIX}", spec)


def page_of(c: Contents) -> str:
    """The page of `report`."""
    return html_page(c.report, c.growth, c.points, c.seen, c.slots, c.outlook)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def test_snapshot_from_the_future_hides_no_other(tmp_path: Path) -> None:
    paths = made.series(tmp_path, 14)
    late = at(tmp_path, datetime.now(UTC) + timedelta(days=171))
    text = printed("--folder", str(tmp_path))
    assert "14 snapshots, 2026-01-01 06:00 to 2026-01-14 06:00 UTC" in text
    assert f"skipped {late.name}: its time, " in text
    assert "is more than a day in the future of the clock of this machine" in text
    found = period(files(tmp_path), since=timedelta(days=90))
    assert [p.path for p in found.points] == paths
    assert [name for name, _ in found.skipped] == [late.name]
    assert found.older is None
    assert [p.roots for p in found.points] == [p.roots for p in points(paths)[0]]


@pytest.mark.parametrize(("hours", "points_shown"), [(23, 4), (25, 3)])
def test_a_day_of_difference_between_clocks_is_usual(
    tmp_path: Path, hours: int, points_shown: int
) -> None:
    made.series(tmp_path, 3)
    at(tmp_path, datetime.now(UTC) + timedelta(hours=hours))
    found = period(files(tmp_path))
    assert len(found.points) == points_shown
    assert len(found.skipped) == 4 - points_shown


def test_another_database_in_the_future_hides_nothing(tmp_path: Path) -> None:
    made.series(tmp_path, 3)
    late = at(tmp_path, datetime.now(UTC) + timedelta(days=9), database_oid=1)
    found = period(files(tmp_path))
    assert len(found.points) == 3
    assert [(name, "future" in reason) for name, reason in found.skipped] == [(late.name, True)]


def test_all_snapshots_in_the_future(tmp_path: Path) -> None:
    """The error names the clock, whose time is the likely cause."""
    now = datetime.now(UTC)
    first = at(tmp_path, now + timedelta(days=30))
    at(tmp_path, now + timedelta(days=31))
    (tmp_path / f"20251202T000000Z{SUFFIX}").write_bytes(b"not a snapshot at all")
    with pytest.raises(CatalogError) as error:
        period(files(tmp_path))
    assert f"{first.name} is left out: its time, {now + timedelta(days=30):%Y-%m-%d}" in str(
        error.value
    )
    assert "(1 more snapshot from the future; 1 file that cannot be read)" in str(error.value)
    assert "correct the clock of this machine" in (error.value.hint or "")


def test_page_of_a_snapshot_from_the_future(tmp_path: Path) -> None:
    """The snapshot that a page is about is not left out of it, and the page counts the others."""
    made.series(tmp_path, 3)
    now = datetime.now(UTC)
    chosen = at(tmp_path, now + timedelta(days=500))
    later = at(tmp_path, now + timedelta(days=600))
    contents = contents_of(chosen, tmp_path, 90, None)
    assert [p.path for p in contents.points] == [chosen]
    assert contents.growth is not None
    assert [name for name, _ in contents.growth.skipped] == [later.name]
    page = growth_section(contents.growth)
    assert "3 older snapshots are outside the period" in page
    assert "Take another one tomorrow" not in page
    note = skipped_note(contents.growth)
    assert f"1 snapshot is left out. {later.name}: its time, " in note
    assert note in page_of(contents)


def test_snapshots_before_the_period_are_counted(tmp_path: Path) -> None:
    made.series(tmp_path, 14)
    text = printed("--folder", str(tmp_path), "--days", "0.5")
    assert "13 older snapshots are outside the period before the newest snapshot." in text
    assert "To include them, use --days 13." in text
    assert "Take another one tomorrow" not in text
    assert "14 snapshots, " in printed("--folder", str(tmp_path), "--days", "13")
    two = printed("--folder", str(tmp_path), "--days", "12")
    assert "1 older snapshot is outside the period" in two
    assert "To include it, use --days 13." in two
    found = period(files(tmp_path), since=timedelta(days=12))
    growth = build(found.points, found.skipped, found.older)
    assert growth.older == OlderSnapshots(snapshots=1, days=13)
    assert "1 older snapshot is outside the period" in growth_section(growth)
    as_json = CliRunner().invoke(
        app, ["--folder", str(tmp_path), "--days", "12", "--format", "json"]
    )
    assert json.loads(as_json.output)["older"] == {"snapshots": 1, "days": 13}
    assert "outside the period" not in printed("--folder", str(tmp_path))


def test_a_period_longer_than_any_calendar(tmp_path: Path) -> None:
    made.series(tmp_path, 3)
    assert "3 snapshots, " in printed("--folder", str(tmp_path), "--days", "1e300")


@pytest.mark.parametrize(
    ("damaged", "note"),
    [(5, None), (6, "skipped 1 more snapshot"), (15, "skipped 10 more snapshots")],
)
def test_skipped_snapshots_are_counted(tmp_path: Path, damaged: int, note: str | None) -> None:
    made.series(tmp_path, 2)
    for n in range(damaged):
        (tmp_path / f"20251202T0000{n:02}Z{SUFFIX}").write_bytes(b"not a snapshot at all")
    text = printed("--folder", str(tmp_path))
    assert len(re.findall(rf"skipped 20251202T0000\d\dZ{SUFFIX}: ", text)) == 5
    assert ("more snapshot" in text) == (note is not None)
    assert note is None or f"{note}: see --format json" in text


def test_snapshots_from_the_future_are_named_first(tmp_path: Path) -> None:
    made.series(tmp_path, 2)
    for n in range(7):
        (tmp_path / f"20251202T0000{n:02}Z{SUFFIX}").write_bytes(b"not a snapshot at all")
    late = at(tmp_path, datetime.now(UTC) + timedelta(days=171))
    assert f"skipped {late.name}: its time" in printed("--folder", str(tmp_path))


def test_sum_with_an_unknown_part_is_unknown(tmp_path: Path) -> None:
    """Files of a schema are unknown if those of one of its tables are."""
    for day, leaves in enumerate((3, 5)):
        tables = [
            made.Table("a", 20000, range(leaves), schema="known"),
            made.Table("b", 30000, range(leaves), schema="partly"),
            made.Table("c", 40000, range(leaves), schema="partly"),
        ]
        moment = made.START + timedelta(days=day)
        path = made.write(
            tmp_path / f"{moment:%Y%m%dT%H%M%SZ}{SUFFIX}", made.SnapshotSpec(moment, tables)
        )
        with duckdb.connect(str(path)) as db:
            db.execute("UPDATE root_total SET files = NULL WHERE name = 'c'")
    found = build(points(files(tmp_path))[0])
    assert {t.name: (t.files, t.bytes) for t in found.tables} == {
        "a": (22, 2 << 20),
        "b": (22, 2 << 20),
        "c": (None, 2 << 20),
    }
    assert {s.schema: (s.files, s.bytes) for s in found.schemas} == {
        "known": (22, 2 << 20),
        "partly": (None, 4 << 20),
    }


@pytest.mark.parametrize("grain", ["leaf", "root"])
def test_table_without_leaves_has_no_files(tmp_path: Path, grain: str) -> None:
    """A partitioned table without partitions, or one that is stored elsewhere, has no files; unknown files stay unknown."""
    for day, leaves in enumerate((0, 2)):
        tables = [made.Table("a", 20000, range(leaves))]
        moment = made.START + timedelta(days=day)
        path = made.write(
            tmp_path / f"{moment:%Y%m%dT%H%M%SZ}{SUFFIX}", made.SnapshotSpec(moment, tables)
        )
        with duckdb.connect(str(path)) as db:
            db.execute("UPDATE snapshot SET grain = ?", [grain])
            for oid, storage in enumerate(("foreign", "external", "none", "heap"), 500):
                db.execute(
                    'INSERT INTO root_total (root, "schema", name, kind, storage, leaves, class_rows,'
                    " attribute_rows) VALUES (?, ?, 't', 'table', ?, 0, 1, ?)",
                    [oid, storage, storage, 9 + day],
                )
    then_and_now = build(points(files(tmp_path)[:2])[0])
    changes = {t.schema: (t.files, t.bytes) for t in then_and_now.tables}
    assert changes.pop("public") == (22, 2 << 20)
    assert changes.pop("heap") == (None, None)
    assert set(changes.values()) == {(0, 0)}


def test_catalogs_that_were_not_read_are_unknown(tmp_path: Path) -> None:
    """Their bytes and their rows in the first snapshot are not 0."""
    paths = made.series(tmp_path, 2)
    with duckdb.connect(str(paths[0])) as db:
        db.execute("DELETE FROM catalog")
    found = build(points(paths)[0])
    size = next(s for s in found.series if s.what == "catalog bytes, coordinator")
    assert size.values == (None, size.now)
    assert size.change == 0
    assert {(i.bytes_then, i.rows_then, i.bytes_per_day) for i in found.instances} == {
        (None, None, None)
    }


def test_changed_tables_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    """60 tables in 6 schemas change: the text shows 8 and 5, the result has 50 tables."""
    for day in range(2):
        tables = [
            made.Table(f"t{n}", 20000 + 100 * n, range(1 + day), schema=f"s{n % 6}")
            for n in range(60)
        ]
        moment = made.START + timedelta(days=day)
        made.write(tmp_path / f"{moment:%Y%m%dT%H%M%SZ}{SUFFIX}", made.SnapshotSpec(moment, tables))
    text = printed("--folder", str(tmp_path))
    assert "52 more tables changed; --format json lists 50." in text
    assert "1 more schema changed; --format json lists 6." in text
    growth = build(points(files(tmp_path))[0])
    assert (len(growth.tables), growth.tables_changed) == (50, 60)
    assert (len(growth.schemas), growth.schemas_changed) == (6, 6)
    assert "30 more tables changed." in growth_section(growth)


@pytest.mark.parametrize("days", [10, 11])
def test_days_that_are_not_shown_are_counted(tmp_path: Path, days: int) -> None:
    """The text shows operations of the last ten days."""
    paths = made.series(tmp_path, 2)
    with duckdb.connect(str(paths[-1])) as db:
        for n in range(days):
            moment = made.START + timedelta(days=1 - n)
            db.execute(
                "INSERT INTO operation_day (day, action, part, relations) VALUES (?, 'CREATE', 'leaf', 1)",
                [moment.date()],
            )
    text = printed("--folder", str(tmp_path))
    note = "The last 10 of 11 days; --format json lists all."
    assert "Relations by day" in text
    assert (note in text) == (days == 11)
