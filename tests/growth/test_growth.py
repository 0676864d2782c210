"""Growth, rates and forecast of generated series equal the growth that the series were generated with."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gpcatalog.capacity.trend import FEW, fit, recent
from gpcatalog.commands.growth import growth as growth_command
from gpcatalog.errors import CatalogError
from gpcatalog.growth.build import build, reach
from gpcatalog.growth.projection import DAY, project
from gpcatalog.growth.series import points
from gpcatalog.store import series
from gpcatalog.store.snapshot import Writer
from tests.growth import made

app = typer.Typer()
app.command()(growth_command)


def test_series_says_what_happened(tmp_path: Path) -> None:
    found, lost = points(made.series(tmp_path, 8))
    assert not lost
    g = build(found)
    assert g.days == 7
    assert g.leaves_compared == 7
    assert (g.leaves_added, g.leaves_dropped) == (70, 5)
    partitions = next(s for s in g.series if s.what == "tables and leaf partitions")
    assert partitions.values[0] == 10
    assert partitions.now == 75
    assert partitions.per_day == pytest.approx(10, abs=1)
    assert [(t.name, t.added, t.dropped, t.state) for t in g.tables] == [("orders", 70, 5, "there")]
    entry = next(i for i in g.instances if i.content == 0 and i.relation == "pg_class")
    assert entry.bytes_then is not None
    assert entry.bytes_now - entry.bytes_then == 14 << 20
    assert entry.bytes_per_day == 2 << 20
    assert {(d.content, d.shrank_at) for d in g.diverging} == {
        (1, datetime(2026, 1, 4, 6, tzinfo=UTC))
    }
    churn = next(c for c in g.churn if c.content == -1)
    assert churn.inserted == 4900
    assert churn.passing == 4900 - (churn.net or 0)


def test_few_points_are_reported(tmp_path: Path) -> None:
    paths = made.series(tmp_path, 4)
    assert {f.state for f in build(points(paths)[0]).forecasts} == {"too few points"}
    alone = build(points(paths[:1])[0])
    assert alone.days == 0
    assert all(s.per_day is None for s in alone.series)


def test_forecast_of_a_straight_line() -> None:
    xs = [float(x) for x in range(10)]
    line = fit(xs, [100 + 50 * x for x in xs])
    state, expected, earliest, latest = reach(
        now=550, limit=1050, line=line, last=datetime(2026, 1, 10), x=9.0
    )
    assert (state, expected, earliest, latest) == (
        "reached",
        date(2026, 1, 20),
        date(2026, 1, 20),
        date(2026, 1, 20),
    )
    last = datetime(2026, 1, 10)
    assert reach(now=1050, limit=1050, line=line, last=last, x=9.0)[0] == "over"
    flat = fit(xs, [5.0] * 10)
    assert reach(now=5, limit=10, line=flat, last=last, x=9.0)[0] == "not growing"
    slow = fit(xs, [x / 1e6 for x in xs])
    assert reach(now=0, limit=1e6, line=slow, last=last, x=9.0)[0] == "far"
    quick = fit([x / 100 for x in xs], xs)
    assert reach(now=550, limit=1050, line=quick, last=last, x=0.09)[0] == "too short a time"


def test_forecast_after_growth_that_ended(tmp_path: Path) -> None:
    """After 12 days of growth and 30 days without, the earlier growth rate is not the forecast, but a bound of the forecast."""
    xs = [float(x) for x in range(42)]
    ys = [100 + 50 * min(x, 11) for x in xs]
    line = recent(xs, ys)
    assert line is not None
    assert (line.slope, line.since) == (0, 21)
    state, expected, earliest, latest = reach(
        now=ys[-1], limit=1050, line=line, last=datetime(2026, 1, 10), x=41.0
    )
    assert (state, expected, latest) == ("not growing", None, None)
    # 400 more at the average rate of 550 in 41 days: 29.8 days
    assert earliest == date(2026, 2, 8)
    ahead = project([(x * DAY, y) for x, y in zip(xs, ys, strict=True)])
    assert ahead is not None
    assert ahead.start == (41 * DAY, ys[-1])  # no jump on the day of the last measurement
    assert ahead.low == ahead.end[1] == ys[-1]
    assert ahead.high == pytest.approx(ys[-1] + 550)


def test_growth_that_begins_late_and_steps_are_seen() -> None:
    xs = [float(x) for x in range(40)]
    begins = recent(xs, [max(0.0, x - 25) * 9 for x in xs])
    assert begins is not None
    assert begins.slope == pytest.approx(9)
    step = recent(xs, [7.0 + 1000 * (x >= 20) for x in xs])
    assert step is not None
    assert (step.slope, step.since) == (0, 20)
    # weeks with weekends have one constant rate
    week = list(itertools.accumulate(10.0 * (d % 7 < 5) for d in range(60)))
    steady = recent([float(d) for d in range(60)], week)
    assert steady is not None
    assert steady.since == 0
    assert steady.slope == pytest.approx(50 / 7, rel=0.02)


@given(st.lists(st.floats(0, 1e9), min_size=FEW, max_size=30))
def test_band_holds_the_slope(values: list[float]) -> None:
    line = fit([float(n) for n in range(len(values))], values)
    assert line is not None
    assert line.low is not None
    assert line.high is not None
    assert line.low <= line.slope <= line.high


@given(st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=25), st.floats(1e3, 1e6))
def test_one_wild_point_moves_little(noise: list[float], jump: float) -> None:
    """The line through constant growth stays the same if one point is wrong."""
    xs = [float(n) for n in range(len(noise))]
    steady = [7.0 * x for x in xs]
    mad = list(steady)
    mad[len(mad) // 2] += jump
    line = fit(xs, mad)
    assert line is not None
    assert line.slope == pytest.approx(7.0)


def test_another_database_is_left_out(tmp_path: Path) -> None:
    paths = made.series(tmp_path, 3)
    made.write(
        tmp_path / "20251201T000000Z.gpcatalog",
        made.SnapshotSpec(made.START - timedelta(days=30), database_oid=1),
    )
    (tmp_path / "20251202T000000Z.gpcatalog").write_bytes(b"not a snapshot at all")
    found, lost = points(sorted(tmp_path.glob("*.gpcatalog")))
    assert [p.path for p in found] == paths
    assert [name for name, _ in lost] == [
        "20251202T000000Z.gpcatalog",
        "20251201T000000Z.gpcatalog",
    ]
    with pytest.raises(CatalogError, match="no snapshots to compare"):
        points([tmp_path / "20251202T000000Z.gpcatalog"])


def test_command(tmp_path: Path) -> None:
    made.series(tmp_path, 8)
    result = CliRunner().invoke(app, ["--folder", str(tmp_path)], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    assert max(len(line) for line in result.output.splitlines()) <= 80
    assert not set("▁▂▃▄▅▆▇█│┃─━┌┐└┘") & set(result.output)
    assert "Theil–Sen" in result.output
    assert "published" in result.output
    assert "vacuumed separately" in result.output
    as_json = CliRunner().invoke(app, ["--folder", str(tmp_path), "--format", "json"])
    assert json.loads(as_json.output)["schema"] == "gpcatalog.growth/1"
    none = CliRunner().invoke(app, ["--folder", str(tmp_path / "none")])
    assert isinstance(none.exception, CatalogError)


def test_many_leaves_are_compared_by_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is limited: leaves that do not fit are compared by totals, and the result states this."""
    paths = made.series(tmp_path, 8)
    monkeypatch.setattr("gpcatalog.growth.series.LEAVES_IN_MEMORY", 150)
    g = build(points(paths)[0])
    assert g.leaves_compared == 1
    assert g.leaves_added - g.leaves_dropped == 65


def test_two_snapshots_in_one_second_have_two_names(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    first = series.new_path(tmp_path, moment)
    with Writer(first) as writer:
        second = series.new_path(tmp_path, moment)
        assert second != first
        writer.abandon()
    assert series.new_path(tmp_path, moment) == first


def test_age_of_transactions_has_a_date(tmp_path: Path) -> None:
    """The forecast of the transaction age has a date if the age grows by a million per day for ten days, without freezing."""
    files = made.series(tmp_path, 10)
    for day, path in enumerate(files):
        with duckdb.connect(str(path)) as db:
            ages = [(-1, "d", 5), (0, "d", 1_000_000_000 + day * 1_000_000), (1, "e", 7)]
            for content, name, age in ages:
                db.execute(
                    "INSERT INTO age VALUES (?, 'database', ?, ?, NULL)", [content, name, age]
                )
    found_points, _ = points(files)
    growth = build(found_points)
    (found,) = [f for f in growth.forecasts if f.what == "age of the oldest transaction"]
    assert (found.now, found.limit) == (1_009_000_000, 2**31 - 1 - 100_000_000)
    assert found.per_day == pytest.approx(1_000_000)
    assert found.state == "reached"
    assert found.expected is not None
    days = (found.expected - found_points[-1].taken_at.date()).days
    assert days == pytest.approx((found.limit - found.now) / 1_000_000, abs=1)


@pytest.mark.parametrize(("age", "expected"), [(399_999_999, False), (400_000_000, True)])
def test_no_date_where_the_server_freezes(tmp_path: Path, age: int, expected: bool) -> None:
    """There is no forecast for ages at which PostgreSQL freezes rows because of autovacuum_freeze_max_age."""
    files = made.series(tmp_path, 10)
    for day, path in enumerate(files):
        with duckdb.connect(str(path)) as db:
            db.execute("UPDATE snapshot SET generation = 'pg17'")
            db.execute("DELETE FROM setting WHERE name = 'autovacuum_freeze_max_age'")
            db.execute(
                "INSERT INTO setting (name, setting) VALUES ('autovacuum_freeze_max_age', '200000000')"
            )
            db.execute(
                "INSERT INTO age VALUES (-1, 'database', 'd', ?, NULL)", [age - (9 - day) * 10**7]
            )
    found_points, _ = points(files)
    forecasts = [f.what for f in build(found_points).forecasts]
    assert ("age of the oldest transaction" in forecasts) == expected
