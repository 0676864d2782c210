"""All results of upkeep for made databases, compared with golden files: habits, coming nights, state, tonight's steps.

GPCATALOG_TEST_UPDATE=1 pytest tests/upkeep/test_results.py    writes the files again; check the difference before a commit
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import msgspec
import pytest

from gpcatalog.emit import upkeep_text
from gpcatalog.lab.synthetic import TAKEN_AT, Spec, write
from gpcatalog.model.upkeep_runs import Run
from gpcatalog.planner import policy
from gpcatalog.services import upkeep
from gpcatalog.store.snapshot import Snapshot
from gpcatalog.upkeep.night import night
from gpcatalog.upkeep.result import adoption, calendar, status
from tests.planner.test_plan import rendered

GOLDEN = Path(__file__).parent / "golden"
TODAY = date(2026, 7, 1)
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def daily(name: str, days: int, ahead: int, **more: object) -> Spec:
    """A table of daily partitions, the last of which ends `ahead` days after today."""
    start = TAKEN_AT.date() + timedelta(ahead - days)
    return Spec(name=name, leaves=days, start=start, filled=1 - ahead / days, **more)  # type: ignore[arg-type]


SPECS = [
    daily("days", 300, 8, columns=9),
    daily("large", 200, 3, columns=5, bytes=3 << 30),
    daily("levels", 120, 4, lists=2, columns=4),
    daily("other", 100, 4, default=True, default_filled=True, storage="heap"),
    daily("held", 100, 7, default=True, default_filled=True, lists=2),
    daily("unheld", 100, 7, default=True),
    daily("enough", 100, 20, default=True, default_filled=True),
    daily("gaps", 90, 2, storage="ao_row", indexes=1),
    daily("ended", 60, -20),
    daily("garbled", 40, 5),
    daily("files", 70, 10, columns=2, bytes=1 << 20),
    daily("sizeless", 80, 5, bytes=None),
    daily("alone", 1, 1),
    Spec(
        name="hours",
        step="hour",
        leaves=100,
        start=TAKEN_AT.date() - timedelta(3),
        filled=0.8,
        columns=3,
    ),
    Spec(name="months", step="month", leaves=40, start=date(2023, 6, 1), filled=0.9),
    Spec(name="numbers", step="integer", start=5000, width=1000, leaves=12, filled=0.75),
    Spec(name="untold", step="integer", start=0, width=7, leaves=1),
]
RULES = """
[upkeep]
max_leaves = 90
max_rewrite = "40GB"

[default]
automatic_maintenance = true
premake = "10d"
hot_days = 20

[[table]]
match = "synthetic.days"
grains = { month = "30d", year = "90d" }
keep = "250d"
retention = "drop"

[[table]]
match = "synthetic.large"
grains = { week = "25d" }
premake_batch = "4d"

[[table]]
match = "synthetic.levels"
grains = { month = "20d" }
keep = "100d"
retention = "detach"
retention_schema = "archive"

[[table]]
match = "synthetic.other"
default_rows = "move"
name = "d%s"

[[table]]
match = "synthetic.*nough"
default_rows = "move"
retention = "drop"
keep = "70d"
grains = { month = "20d" }

[[table]]
match = "synthetic.gaps"
fill_gaps = true
grains = { quarter = "20d" }

[[table]]
match = "synthetic.sizeless"
grains = { month = "20d" }

[[table]]
match = "synthetic.months"
grain = "month"
premake = "100d"
keep = "3y"
retention = "drop"

[[table]]
match = "synthetic.numbers"
premake = 5
grain = "day"
grains = { month = "9d" }
keep_partitions = 6
retention = "detach"

[[table]]
match = "synthetic.ended"
keep = "30d"

[[table]]
match = "synthetic.files"
keep = "50d"
retention = "externalize"
external_location = "s3://cold/{file}"

[[table]]
match = "synthetic.hours"
keep_partitions = 9
retention = "detach"

[[table]]
match = "synthetic.gaps"
quiet = "1d"
""".replace("d%s", "d{%Y%m%d}")


def write_snapshot(folder: Path, generation: str) -> Path:
    """A snapshot with all shapes; one table lacks some past and future partitions."""
    file = folder / "made.gpcatalog"
    heap = generation.startswith("pg")
    specs = [replace(s, storage="heap") if heap else s for s in SPECS]
    write(file, specs, generation=generation, segments=4)
    with duckdb.connect(str(file)) as db:
        for statement in (
            "CREATE TABLE plain AS FROM relation",
            "DROP VIEW relation",
            "DROP TABLE relation_packed",
            "ALTER TABLE plain RENAME TO relation",
            "UPDATE relation SET bound = 'PARTITION BY MOON' WHERE name = 'garbled_1_prt_3'",
            "DELETE FROM relation WHERE name IN ('gaps_1_prt_30', 'gaps_1_prt_31', 'gaps_1_prt_89')",
        ):
            db.execute(statement)
    return file


def golden(name: str, text: str) -> None:
    """Compare a text with its golden file."""
    file = GOLDEN / name
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"differs from {file.name}"


def lines(title: str, found: object) -> str:
    """A result as text, with one line for each element of its lists."""
    head, rows = f"== {title}\n", []
    for key, value in msgspec.to_builtins(found).items():
        if isinstance(value, list):
            rows += [f"{key}: {msgspec.json.encode(v).decode()}" for v in value]
        else:
            rows.append(f"{key}: {msgspec.json.encode(value).decode()}")
    return head + "\n".join(rows) + "\n"


def run(hours: float, *failures: str, ended: bool = True) -> Run:
    """A run that started this number of hours ago."""
    begun = NOON - timedelta(hours=hours)
    return Run(
        run="upkeep-1",
        begun=begun,
        ended=begun + timedelta(minutes=1) if ended else None,
        failures=failures,
    )


STATES: dict[str, list[Run] | None] = {
    "no journal": None,
    "no run": [],
    "fine": [run(47.9)],
    "overdue": [run(48.1)],
    "failed": [run(30), run(6, "s.t: no", "s.u: neither")],
    "not ended": [run(30, "s.t: of an earlier night"), run(6, ended=False)],
    "never ended": [run(6, ended=False)],
}


@pytest.mark.parametrize("generation", ["gp6", "gp7", "pg15"])
def test_results(generation: str, tmp_path: Path) -> None:
    output = []
    with Snapshot(write_snapshot(tmp_path, generation)) as snapshot:
        every = upkeep.prepare(snapshot, policy.Policy(), None, every=True)
        adopted = adoption(every.reader, every.tables, every.unplanned, every.now)
        output += [lines("adopted", adopted), upkeep_text.policy_text(adopted)]
        prepared = upkeep.prepare(snapshot, policy.loads(RULES), None)
        for announced in (False, True):
            coming = upkeep.nights(prepared, 45, announced=announced)
            found = calendar(
                prepared.reader, prepared.tables, prepared.unplanned, coming, 45, prepared.now
            )
            output.append(lines(f"45 nights, announced: {announced}", found))
        output.append(rendered(lambda out: upkeep_text.show_calendar(found, out)))
        for name, runs in STATES.items():
            state = status(
                prepared.reader,
                prepared.tables,
                prepared.unplanned,
                runs,
                ["s.t: merge-1"] if runs else [],
                prepared.now,
                prepared.limits,
            )
            if runs:  # the tables are the same as in the other cases
                state = msgspec.structs.replace(state, tables=[], left_alone=[])
            output.append(lines(f"status, {name}", state))
            output.append(rendered(lambda out, state=state: upkeep_text.show_status(state, out)))
    golden(f"results_{generation}.txt", "\n".join(output))


@pytest.mark.parametrize("generation", ["gp6", "pg15"])
@pytest.mark.parametrize("allow_drop", [False, True])
def test_steps(generation: str, allow_drop: bool, tmp_path: Path) -> None:
    output = []
    with Snapshot(write_snapshot(tmp_path, generation)) as snapshot:
        prepared = upkeep.prepare(snapshot, policy.loads(RULES), None)
        tonight = night(prepared.states, prepared.now, prepared.limits, allow_drop=allow_drop)
        planned = upkeep.steps_of(prepared, tonight)
        for oid, steps in planned.steps.items():
            name = next(t.name for t in prepared.states if t.oid == oid)
            output += [f"{name}: {msgspec.json.encode(step).decode()}" for step in steps]
        output += [f"order {one} {place}" for one, place in planned.order.items()]
        output += [f"impossible {place}" for place in planned.impossible]
        output += planned.refusals
        output += [f"note {n.what}: {n.text}" for n in tonight.notes]
        output += [f"announced {a}" for a in upkeep.announced(prepared)]
        output += [
            f"{t.name}: {t.key} {t.template} {t.rules} {t.rules.cover_days} {t.left_alone}"
            for t in prepared.states
        ]
    golden(f"steps_{generation}_{allow_drop}.txt", "\n".join(output) + "\n")


@pytest.mark.parametrize(
    ("zone", "midnight"), [("Europe/Berlin", "22"), ("Asia/Kolkata", None), ("", "00")]
)
def test_hours_become_days_of_the_zone(zone: str, midnight: str | None, tmp_path: Path) -> None:
    """Merges of hourly partitions are days in the time zone of the policy; half-hour offsets do not fit."""
    file = tmp_path / "hours.gpcatalog"
    start = TAKEN_AT.date() - timedelta(9)
    write(
        file,
        [Spec(name="hours", step="hour", leaves=240, start=start, columns=3, storage="heap")],
        generation="pg15",
    )
    with duckdb.connect(str(file)) as db:
        db.execute("UPDATE partition_key SET key_types = 'timestamp with time zone'")
    rules = (
        "[default]\nautomatic_maintenance = true\nhot_days = 1\npremake = '1d'\n"
        f"grains = {{ day = '2d' }}\ntime_zone = '{zone}'\n"
    )
    with Snapshot(file) as snapshot:
        prepared = upkeep.prepare(snapshot, policy.loads(rules), None)
        if midnight is None:
            assert "not all of its partitions begin" in prepared.unplanned[0].reason
            return
        tonight = night(prepared.states, prepared.now, prepared.limits)
        planned = upkeep.steps_of(prepared, tonight)
    assert not planned.refusals
    merges = [s for steps in planned.steps.values() for s in steps if s.operation == "merge"]
    assert len(merges) >= 5
    for merge in merges[1:]:  # the first day is not complete in every zone
        assert len(merge.units) == 24
        assert f" {midnight}:00:00') TO (" in merge.units[0].bound


def test_the_curve_of_a_long_calendar_ends_on_its_last_night(tmp_path: Path) -> None:
    file = tmp_path / "one.gpcatalog"
    write(file, [daily("days", 30, 3)], generation="gp7")
    rules = policy.loads("[default]\nautomatic_maintenance = true\n")
    with Snapshot(file) as snapshot:
        prepared = upkeep.prepare(snapshot, rules, None)
        coming = upkeep.nights(prepared, 130)
        found = calendar(
            prepared.reader, prepared.tables, prepared.unplanned, coming, 130, prepared.now
        )
    assert [day for day, _ in found.curve[:2]] == ["2026-07-01", "2026-07-03"]
    assert [day for day, _ in found.curve[-2:]] == ["2026-11-06", "2026-11-07"]
    assert found.curve[-1][1] == found.tables[0].leaves_after


@pytest.mark.parametrize("size", [None, 1 << 20])
def test_bytes_that_go_to_files(size: int | None, tmp_path: Path) -> None:
    """Partitions of unknown size are moved to files one per night, and the bytes of that night are unknown, not 0."""
    file = tmp_path / "one.gpcatalog"
    write(file, [daily("files", 60, 10, bytes=size)], generation="gp7")
    rules = policy.loads(
        "[default]\nautomatic_maintenance = true\nhot_days = 5\nkeep = '40d'\n"
        "retention = 'externalize'\nexternal_location = 'gpfdist://h/{file}'\n"
    )
    with Snapshot(file) as snapshot:
        prepared = upkeep.prepare(snapshot, rules, None)
        coming = upkeep.nights(prepared, 3)
        found = calendar(
            prepared.reader, prepared.tables, prepared.unplanned, coming, 3, prepared.now
        )
    first = found.nights[0]
    assert first.externalized == (1 if size is None else 10)
    assert (first.bytes is None) == (size is None)
    shown = rendered(lambda out: upkeep_text.show_calendar(found, out))
    assert ("?" in shown) == (size is None)
    assert "to files" in shown
    assert "part" not in shown.split("Leaf partitions")[0].replace("partition", "")
