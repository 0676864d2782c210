"""Times of statements before and after a plan."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from gpcatalog.audit.pace import pace
from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import Action, Pace
from gpcatalog.capacity.model import Index, Shape
from gpcatalog.model.storage import Storage
from gpcatalog.planner import planning
from gpcatalog.planner.plan import Plan
from gpcatalog.planner.policy import Policy, Rule
from gpcatalog.store.snapshot import Snapshot
from tests.growth import made
from tests.planner.made import FakeSnapshot, LeafSpec, TableSpec, day_range


def timing(
    what: str, milliseconds: float, *, subject: str = "", leaves: int = 0
) -> dict[str, object]:
    return {"what": what, "subject": subject, "n": 3, "leaves": leaves} | {
        f"{name}_ms": milliseconds for name in ("min", "median", "p95", "mean")
    }


def snapshot(tmp_path: Path, *timings: dict[str, object], generation: str = "gp6") -> Path:
    return made.write(
        tmp_path / "a.gpcatalog", made.SnapshotSpec(generation=generation, timings=list(timings))
    )


@pytest.mark.parametrize(
    ("timings", "expected"),
    [
        ([], durations.REFERENCE),
        ([timing("scan", 5.0)], durations.REFERENCE),
        ([timing("speed", 3.5), timing("speed dispatched", 12.2)], Pace(2.0, "speed")),
        (
            [timing("speed", 2.75), timing("speed dispatched", 7.1), timing("answer", 1.0)],
            Pace(1.0, "speed"),
        ),
        ([timing("speed", 3.5)], Pace(2.0, "speed")),
        # rows without a time do not count
        (
            [timing("speed", 3.5), timing("create", 0.0, subject="heap, 100 leaves", leaves=100)],
            Pace(2.0, "speed"),
        ),
        ([timing("create", 3.0, subject="nonsense, 100 leaves", leaves=100)], durations.REFERENCE),
    ],
)
def test_pace(tmp_path: Path, timings: list[dict[str, object]], expected: Pace) -> None:
    with Snapshot(snapshot(tmp_path, *timings)) as read:
        found = pace(read)
    assert (found.factor, found.basis) == (pytest.approx(expected.factor), expected.basis)


def test_pace_of_the_active_probe(tmp_path: Path) -> None:
    """The median of the three statements; plain tables do not count."""
    shape = Shape(Storage.AO_COLUMN, 8)
    ratios = {"create": 3.0, "add column": 2.0, "drop": 9.0}
    timings = [timing("speed", 1.75), timing("create", 900.0, subject="heap", leaves=0)]
    for what, ratio in ratios.items():
        took = durations.seconds("gp6", shape, Action(what), 100)
        assert took is not None
        timings.append(
            timing(what, 1000 * took * ratio, subject="ao_column, 100 leaves", leaves=100)
        )
    with Snapshot(snapshot(tmp_path, *timings)) as read:
        found = pace(read)
    assert (found.factor, found.basis) == (pytest.approx(3.0), "ddl")


def planned(timings: list[dict[str, object]], *, filled: bool = True, days: int = 90) -> Plan:
    """Plan a table of daily leaves, to be merged into months, and a table that does not change."""
    leaves = [
        LeafSpec(
            day_range(
                f"2025-{1 + n // 28:02}-{1 + n % 28:02}", f"2025-{1 + n // 28:02}-{2 + n % 28:02}"
            ),
            filled,
        )
        for n in range(days)
    ]
    store = FakeSnapshot(
        [
            TableSpec("days", leaves, columns=20, indexes=1),
            TableSpec("few", [LeafSpec(day_range("2025-01-01", "2026-01-01"))], columns=20),
        ]
    )
    rules = Policy(default=Rule(grains={"month": 30}))
    store._insert("timing", timings)
    catalogs = {"pg_class": 2000, "pg_attribute": 8000, "pg_class_oid_index": 10**9}
    store._insert(
        "catalog",
        [{"content": -1, "relation": name, "rows": n} for name, n in catalogs.items()],
    )
    return planning.make(cast(Snapshot, store), rules).plan


def test_statements_before_and_after() -> None:
    plan = planned([timing("speed", 3.5), timing("speed dispatched", 12.2)])
    times = {t.what: t for t in plan.times}
    assert set(times) == {
        a.value
        for a in Action
        if a
        not in (
            Action.CREATE,
            Action.ADD,
            Action.DROP_PARTITION,
            Action.SPLIT,
            Action.PLAN,
            Action.PRUNED,
        )
    }
    assert all(not t.measured for t in plan.times)
    shape = Shape(Storage.AO_COLUMN, 20, indexes=(Index(),))
    for action in (Action.CREATE_INDEX, Action.TRUNCATE, Action.DROP, Action.PLAN_FIRST):
        t = times[action.value]
        assert t.subject == "s.days"
        took = durations.seconds("gp6", shape, action, 90, pace=Pace(2.0))
        assert t.before == pytest.approx(took, abs=1e-4)
        assert 0 < t.after < t.before
    column = times[Action.ADD_COLUMN.value]
    took = durations.seconds("gp6", shape, Action.ADD_COLUMN, 90, filled=90, pace=Pace(2.0))
    assert column.before == pytest.approx(took, abs=1e-4)
    backup = times[Action.BACKUP.value]
    assert not backup.subject
    assert 0 < backup.after < backup.before


def test_clients_before_and_after() -> None:
    clients = [
        timing("answer", 1.0),
        timing("client", 101.0, subject=r"psql \d TABLE", leaves=90),
        timing("client", 1001.0, subject="DBeaver", leaves=93),
        timing("client", 0.5, subject="ODBC", leaves=93),
        timing("client", 50.0, subject="nothing known", leaves=93),
    ]
    plan = planned(clients)
    times = {t.subject: t for t in plan.times if t.measured}
    assert set(times) == {r"psql \d TABLE", "DBeaver", "ODBC"}
    left = plan.after.leaves - 1  # the table with one leaf stays
    psql = times[r"psql \d TABLE"]
    assert psql.before == 0.101
    assert psql.after == pytest.approx(0.001 + 0.1 * left / 90, abs=1e-4)
    rows = 10_000 - (plan.before.rows - plan.after.rows)
    share = max(rows / 10_000, (left + 3) / 93)
    assert times["DBeaver"].after == pytest.approx(0.001 + share, abs=1e-3)
    assert times["ODBC"].after == times["ODBC"].before == 0.0005  # all of it is the round trip


def test_rows_of_hostile_snapshots() -> None:
    nothing = {"what": "answer", "subject": "", "n": 0}
    rows = [nothing, timing("answer", 3.0), timing("client", -5.0, subject="JDBC")]
    rows += [timing("client", 7.0, subject="ODBC"), timing("client", 9.0, subject="ODBC")]
    rows += [{"what": "client", "subject": "DBeaver", "n": 1}]
    found = [(t.subject, t.before) for t in planned(rows).times if t.measured]
    assert found == [("ODBC", 0.007)]


def test_a_measured_plan_counts_more() -> None:
    plan = planned([timing("plan", 9000.0, subject="s.days", leaves=90)])
    measured = next(t for t in plan.times if t.what == Action.PLAN_FIRST.value)
    assert (measured.before, measured.measured) == (9.0, True)
    estimate = next(t for t in planned([]).times if t.what == Action.PLAN_FIRST.value)
    assert measured.after == pytest.approx(9.0 * estimate.after / estimate.before, rel=0.02)


def test_nothing_changes() -> None:
    plan = planned([timing("client", 100.0, subject="JDBC", leaves=2)], days=1)
    assert [(t.subject, t.before) for t in plan.times] == [("JDBC", 0.1)]
    assert plan.times[0].after == pytest.approx(0.1, rel=0.01)  # one leaf is stored differently
