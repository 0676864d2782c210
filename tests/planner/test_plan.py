"""Complete plans: what they cover, what they never do, golden outputs, and every refusal."""

from __future__ import annotations

import itertools
import json
import os
import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from gpcatalog.audit.build import build
from gpcatalog.commands.common import complete
from gpcatalog.commands.plan import plan as command
from gpcatalog.emit import plan_text
from gpcatalog.errors import CatalogError
from gpcatalog.lab import synthetic
from gpcatalog.model.bounds import Family, interval, parse
from gpcatalog.planner import operations as op
from gpcatalog.planner import plan_file, planning, policy
from gpcatalog.planner.explain import Explainer
from gpcatalog.planner.operations import (
    Convert,
    DropEmpty,
    Externalise,
    Flatten,
    Merge,
    Reconfigure,
    Unpartition,
)
from gpcatalog.planner.plan import Plan
from gpcatalog.planner.planning import Request
from gpcatalog.planner.policy import Limits, Policy, Rule
from gpcatalog.services.plans import plan_snapshot
from gpcatalog.store.snapshot import Snapshot
from tests.planner.made import FakeSnapshot, LeafSpec, TableSpec, day_range
from tests.planner.test_group import GRAINS, WEIGHTS, Piece, table_of, tables

GOLDEN = Path(__file__).parent / "golden"


def check_plan(full: Plan, snapshot: Any) -> None:
    """Check what is true for every plan.

    Each leaf occurs once, bounds are kept and have no gaps, default partitions are unchanged, names fit, and sums are correct.
    """
    for table in full.tables:
        seen: set[int] = set()
        relations = {
            r["oid"]: r for r in snapshot.rows("SELECT * FROM relation WHERE root = ?", [table.oid])
        }
        names = {r["name"] for r in relations.values()}
        leaves = table.leaves
        for step in table.steps:
            if isinstance(step, Reconfigure):
                continue
            mine = {leaf.oid for leaf in step.leaves}
            assert not mine & seen, "a leaf is covered twice"
            seen |= mine
            assert len(mine) == len(step.leaves)
            assert isinstance(step, Unpartition) or not any(
                relations[o]["is_default"] and relations[o]["level"] == table.level for o in mine
            )
            if isinstance(step, Merge):
                leaves -= len(step.leaves) - len(step.new)
                sizes = [leaf.bytes for leaf in step.leaves]
                if None not in sizes:  # an unknown size is unknown for the new leaf, too
                    assert sum(size or 0 for size in sizes) == sum(n.bytes or 0 for n in step.new)
                for new in step.new:
                    assert len(new.name.encode()) <= 63
                    assert new.name not in names
                    names.add(new.name)
                if step.lower is None:
                    continue
                # neighbours are adjacent, and the merged bound is exactly their union
                kind = (
                    Family.DATE
                    if "date" in step.bound or "-" in (step.lower.value or "")
                    else Family.INTEGER
                )
                kind = Family.TIMESTAMP if ":" in (step.lower.value or "") else kind
                kind = Family.INTEGER if (step.lower.value or "").lstrip("-").isdigit() else kind
                ends = [interval(parse(u.bound), kind) for u in step.units]
                assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))
                assert interval(parse(step.bound), kind) == (ends[0][0], ends[-1][1])
            elif isinstance(step, DropEmpty):
                leaves -= len(step.leaves)
                assert all(leaf.filled is False for leaf in step.leaves)
            elif isinstance(step, Unpartition):
                leaves = 0
        assert leaves == table.leaves_after
        gains = [s.gain for s in table.steps]
        assert sum(g.leaves for g in gains) == table.leaves - table.leaves_after
        assert abs(sum(g.rows for g in gains) - (table.rows - table.rows_after)) <= len(gains)
        assert abs(sum(g.files for g in gains) - (table.files - table.files_after)) <= len(gains)
        ids = [s.id for s in table.steps]
        assert len(set(ids)) == len(ids)
    every = [s.id for t in full.tables for s in t.steps]
    assert len(set(every)) == len(every)
    assert sum(t.leaves_after for t in full.tables) <= full.after.leaves


def make(snapshot: Any, rules: Policy | None = None, **limits: Any) -> planning.PlanResult:
    return planning.make(cast(Snapshot, snapshot), rules, Request(Limits(**limits)))


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(tables(), min_size=1, max_size=12),
    GRAINS,
    WEIGHTS,
    st.sampled_from([None, "week", "month"]),
    st.sampled_from([None, "90d"]),
)
def test_plans_hold_what_they_promise(
    cases: list[list[Piece]],
    grains: dict[str, int],
    weights: policy.Weights,
    unit: str | None,
    keep: str | None,
) -> None:
    snapshot = FakeSnapshot([table_of(pieces, f"t{n}") for n, pieces in enumerate(cases)])
    rules = Policy(
        default=Rule(grains=dict(grains), retention_unit=unit, keep=keep), weights=weights
    )
    full = make(snapshot, rules).full()
    check_plan(full, snapshot)
    hot = (date(2026, 7, 1) - timedelta(days=31)).isoformat()
    for table in full.tables:
        for step in table.steps:
            if isinstance(step, (Merge, Convert, DropEmpty)):
                assert all(u.upper is not None and str(u.upper.value) <= hot for u in step.units), (
                    "the hot window was touched"
                )
            if isinstance(step, Merge) and unit == "month":
                assert len({str(u.lower.value)[:7] for u in step.units if u.lower}) == 1, (
                    "a merge outlives its retention unit"
                )
            if isinstance(step, Merge) and keep:
                assert all(str(u.upper.value) > "2026-04-02" for u in step.units if u.upper)
    again = make(snapshot, rules).full()
    assert [s.id for t in again.tables for s in t.steps] == [
        s.id for t in full.tables for s in t.steps
    ]
    assert again.id == full.id
    snapshot.close()


def daily(
    n: int, first: date = date(2026, 1, 1), *, classic: bool = True, **more: Any
) -> list[LeafSpec]:
    return [
        LeafSpec(
            day_range(
                str(first + timedelta(days=i)), str(first + timedelta(days=i + 1)), classic=classic
            ),
            **more,
        )
        for i in range(n)
    ]


def flat_table(generation: str) -> FakeSnapshot:
    """A table of days with one subpartition each."""
    days = daily(20, classic=generation == "gp6")
    return FakeSnapshot(
        [TableSpec("flat", [LeafSpec(x.bound, lanes=[1 << 20]) for x in days])],
        generation=generation,
    )


def zoo() -> FakeSnapshot:
    two = [
        LeafSpec(day_range(f"2026-01-{d:02d}", f"2026-01-{d + 1:02d}"), lanes=[1 << 20, 0])
        for d in range(1, 29)
    ]
    return FakeSnapshot(
        [
            TableSpec("days", [*daily(170), LeafSpec("DEFAULT", False, 0, default=True)]),
            TableSpec("levels", two),
            TableSpec(
                "values",
                [LeafSpec(f"VALUES ('{c}'::text)") for c in "abc"],
                key_type="text",
                strategy="list",
            ),
            TableSpec("garbled", [*daily(5), LeafSpec("START (now()) END (later())")]),
            TableSpec(
                "numbers",
                [LeafSpec(f"START ({n * 10}) END ({n * 10 + 10})") for n in range(30)],
                key_type="integer",
                storage="heap",
            ),
            TableSpec(
                "hash", [LeafSpec("FOR VALUES WITH (modulus 2, remainder 0)")], strategy="hash"
            ),
            TableSpec("copied", daily(3), facts=[("distribution", "REPLICATED")]),
            TableSpec("keyed", daily(3), facts=[("foreign key", "fk1")]),
            TableSpec("seen", daily(28), leaf_facts=[(9, "view", "v")]),
            TableSpec("Odd\x1b]0;x\x07 Name" + "é" * 26, daily(28)),
        ],
        plain=2,
    )


def golden(name: str, text: str) -> None:
    file = GOLDEN / name
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), (
        f"differs from {file.name}; GPCATALOG_TEST_UPDATE=1 rewrites it"
    )


def rendered(write: Any) -> str:
    out = Console(
        width=80,
        file=open(os.devnull, "w"),  # noqa: SIM115
        record=True,
        no_color=True,
        highlight=False,
        markup=False,
        emoji=False,
    )
    write(out)
    text = "\n".join(line.rstrip() for line in out.export_text().splitlines()) + "\n"
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
    return text


def test_golden_text() -> None:
    planned = make(zoo())
    golden(
        "plan.txt",
        rendered(
            lambda out: plan_text.show(
                planned.plan, planned.table_plans, planned.left(), planned.losses(), out
            )
        ),
    )


def test_storage_options_of_heap_tables_are_lost_without_other_properties() -> None:
    """Only tables with such options are examined step by step."""
    tables = [
        TableSpec(name, daily(60, date(2024, 1, 1)), storage="heap") for name in ("with", "without")
    ]
    found = FakeSnapshot(tables)
    found._db.execute(
        "UPDATE relation SET options = CASE WHEN starts_with(name, 'with_') THEN 'fillfactor=80' ELSE '' END"
    )
    planned = planning.make(found, Policy(default=Rule(storage="ao_row")), Request())
    assert [t.converted > 0 for t in planned.table_plans] == [True, True]
    lost = "storage option fillfactor=80: ao_row does not support it"
    assert planned.losses() == [("s.with", [lost])]
    by_table = {t.table: {line for step in t.steps for line in step.lost} for t in planned.tables()}
    assert by_table == {"with": {lost}, "without": set()}


def test_drops_stand_apart_in_the_text() -> None:
    # filled in spring, an empty leaf of 2024 that cannot be merged, empty ones up to 2029: the snapshot is of July 2026
    gap, ahead = (
        daily(1, date(2024, 1, 15), filled=False, bytes=0),
        daily(1200, date(2026, 7, 1), filled=False, bytes=0),
    )
    with_default = TableSpec(
        "with_default",
        [*gap, *daily(60, date(2026, 5, 2)), LeafSpec("", default=True, filled=False, bytes=0)],
    )
    planned = make(
        FakeSnapshot(
            [TableSpec("bare", [*gap, *daily(60, date(2026, 5, 2)), *ahead]), with_default]
        )
    )
    golden(
        "drops.txt",
        rendered(
            lambda out: plan_text.show(
                planned.plan, planned.table_plans, planned.left(), planned.losses(), out
            )
        ),
    )
    now, day = date(2026, 7, 1), timedelta(days=1)
    steps = {t.table: [s for s in t.steps if isinstance(s, DropEmpty)] for t in planned.tables()}
    assert {s.where for s in steps["bare"]} == {"past", "premade"}
    dropped = [
        date.fromisoformat(str(u.lower.value)) for s in steps["bare"] for u in s.units if u.lower
    ]
    assert sum(d < now for d in dropped) == 1
    # no leaf between the hot window and the horizon
    assert not [d for d in dropped if now - 31 * day <= d + day and d < now + 400 * day]
    assert sum(d >= now for d in dropped) == 1200 - 401  # the leaf that contains the horizon stays
    assert any("the server would reject them" in text for text in steps["bare"][0].rests_on)
    assert any("go to the default partition" in text for text in steps["with_default"][0].rests_on)
    unchanged = make(
        FakeSnapshot([TableSpec("bare", gap + daily(3, date(2026, 5, 2)))]),
        Policy(default=Rule(empty="keep")),
    )
    assert unchanged.plan.effort.dropped == 0


@pytest.mark.parametrize("name", ["days", "levels", "garbled", "numbers", "seen"])
def test_golden_explain(name: str) -> None:

    planned = make(zoo(), max_rewrite="4GB")
    root = next(r for r in planned.reader.roots if r.name == name)
    found = next(iter(planned.tables({root.index})))
    golden(
        f"explain_{name}.txt",
        rendered(
            lambda out: plan_text.explain(
                found, Explainer(planned, root).rows(), planned.plan.weights, out
            )
        ),
    )


def test_golden_json() -> None:
    # a few leaves for every kind of step
    small = FakeSnapshot(
        [
            TableSpec(
                "days",
                [
                    *daily(4, date(2026, 3, 1)),
                    *daily(2, date(2026, 3, 9), filled=False, bytes=0),
                    *daily(1, date(2026, 6, 29)),
                ],
            ),
            TableSpec("levels", [LeafSpec(x.bound, lanes=[1 << 20, 0]) for x in daily(2)]),
            TableSpec("large", daily(1, bytes=20 << 20)),
        ]
    )
    planned = make(small)
    pieces: list[str] = []
    plan_file.write(planned.plan, planned.tables(), pieces.append)
    raw = json.loads("".join(pieces))
    raw["made_at"] = "2026-07-01T12:00:00Z"
    golden("plan.json", json.dumps(raw, indent=1, ensure_ascii=False) + "\n")
    full = plan_file.read("".join(pieces))
    check_plan(full, planned.reader.snapshot)
    assert full == planned.full()


def test_a_plan_file_is_read_unchanged() -> None:
    rules = Policy(
        default=Rule(merge_lists=8, externalise_after="1y", keep="10y"),
        table=[
            Rule(match="*days*", flatten=True),
            Rule(match="*numbers*", unpartition_below="10GB"),
        ],
    )
    kinds: set[str] = set()
    old = TableSpec(
        "old",
        [
            *daily(400, date(2023, 1, 1), bytes=8 << 30),
            *daily(5, date(2026, 1, 1), filled=False, bytes=0),
        ],
    )
    flat = TableSpec("days", [LeafSpec(x.bound, lanes=[1 << 20]) for x in daily(90, classic=False)])
    for snapshot in (zoo(), FakeSnapshot([flat], generation="gp7"), FakeSnapshot([old])):
        planned = make(snapshot, rules)
        pieces: list[str] = []
        plan_file.write(planned.plan, planned.tables(), pieces.append)
        assert plan_file.read("".join(pieces)) == planned.full()
        kinds |= {type(step).__name__ for table in planned.full().tables for step in table.steps}
    # other steps need properties that made snapshots do not have: tests/migration writes and reads them
    assert kinds >= {kind.__name__ for kind in get_args(op.AnyStep)} - {"Convert", "Reconfigure"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "Expected `object`"),
        ('{"schema": "gpcatalog.plan/2"}', "missing required field"),
    ],
)
def test_what_is_no_plan_is_reported(text: str, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        plan_file.read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"schema": "gpcatalog.plan/1"}',
            "has schema gpcatalog.plan/1, gpcatalog.plan/2 is supported",
        ),
        ("{}", "is not a plan file"),
        ("[]", "is not a plan file: Expected `object`"),
        ("{", "is not a plan file: Input data was truncated"),
    ],
)
def test_a_plan_of_another_schema_is_reported(text: str, message: str, tmp_path: Path) -> None:
    from gpcatalog.commands.migrate import migrate

    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(CatalogError, match=re.escape(message)) as caught:
        migrate(str(file), str(tmp_path / "out"))
    assert caught.value.exit_code == 2
    assert "plan --format json" in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_columns_that_do_not_fit_are_reported() -> None:
    planned = make(FakeSnapshot([TableSpec("days", daily(60))]))
    pieces: list[str] = []
    plan_file.write(planned.plan, planned.tables(), pieces.append)
    valid = json.loads("".join(pieces))
    harms: tuple[dict[str, Any], ...] = (
        {"texts": []},
        {"tables": [{**valid["tables"][0], "looks": []}]},
        {
            "tables": [
                {
                    **valid["tables"][0],
                    "partitions": {**valid["tables"][0]["partitions"], "oid": [[1, 2, 3, 4]]},
                }
            ]
        },
        {
            "tables": [
                {
                    **valid["tables"][0],
                    "partitions": {**valid["tables"][0]["partitions"], "oid": [[1, 2]]},
                }
            ]
        },
        {
            "tables": [
                {
                    **valid["tables"][0],
                    "partitions": {**valid["tables"][0]["partitions"], "oid": [[1, 10**18, 0]]},
                }
            ]
        },
    )
    for harm in harms:
        with pytest.raises(msgspec.ValidationError):
            plan_file.read(json.dumps(valid | harm))


@given(
    st.lists(st.one_of(st.integers(-3, 12), st.none()), max_size=30),
    st.lists(
        st.sampled_from([*(f"p{n}" for n in range(14)), "p09", "p10x", "1_2", "1_3", "2_3", ""]),
        max_size=30,
    ),
)
def test_columns_hold_what_was_put_in(some: list[int | None], words: list[str]) -> None:
    assert list(plan_file.numbers(plan_file.pack_numbers(some))) == some
    assert list(plan_file.texts(plan_file.pack_texts(words))) == words
    assert list(plan_file.texts(plan_file.pack_texts(sorted(words)))) == sorted(words)


def test_left_alone_with_reasons() -> None:
    found = {t.table: t for t in make(zoo()).tables()}
    assert "hash" in found["hash"].alone
    assert "replicated" in found["copied"].alone
    assert "fk1" in found["keyed"].alone
    assert "merge_lists" in found["values"].alone
    unread = next(x for x in found["garbled"].left if "cannot be read" in x.reason)
    assert "a value is expected at 'now()'" in unread.examples[0]
    assert any("view" in x.reason for x in found["seen"].left)


def test_lists_join_where_a_policy_says_so() -> None:
    snapshot = FakeSnapshot(
        [
            TableSpec(
                "v",
                [LeafSpec(f"VALUES ('{c}'::text)", bytes=1 << 20) for c in "dbacfe"],
                key_type="text",
                strategy="list",
            )
        ]
    )
    (table,) = make(snapshot, Policy(default=Rule(merge_lists=4))).full().tables
    merges = [s for s in table.steps if isinstance(s, Merge)]
    assert [m.bound for m in merges] == [
        "VALUES ('a'::text, 'b'::text, 'c'::text, 'd'::text)",
        "VALUES ('e'::text, 'f'::text)",
    ]


def test_no_plan_for_what_migrate_refuses() -> None:
    """Temporary tables, and list keys that are expressions."""
    lists = [LeafSpec(f"VALUES ('{c}'::text)", bytes=1 << 20) for c in "abc"]
    tables = [
        TableSpec("expression", lists, key_type="", strategy="list", key=""),
        TableSpec("temporary", daily(28)),
    ]
    snapshot = FakeSnapshot(tables)
    snapshot._db.execute(
        "UPDATE relation SET persistence = 't' WHERE starts_with(name, 'temporary')"
    )
    planned = make(snapshot, Policy(default=Rule(merge_lists=4)))
    assert [t.steps for t in planned.full().tables if t.steps] == []
    assert set(planned.left()) == {
        "it is a temporary table",
        "its list key is an expression",
    }


MONTHS = Rule(grains={"month": "0d"}, hot_days=1, storage="keep")


def merged_bounds(snapshot: FakeSnapshot, rule: Rule) -> list[str]:
    """The bounds of all merged leaves."""
    (table,) = make(snapshot, Policy(default=rule)).full().tables
    return [s.bound for s in table.steps if isinstance(s, Merge)]


@pytest.mark.parametrize(
    ("old", "new", "merges"),
    [
        ("appendonly=true", "appendonly=true, checksum=true, compresslevel=0", 1),
        ("appendonly=true, compresslevel=5", "compresslevel=5, compresstype=zlib", 1),
        ("appendonly=true, compresslevel=5", "appendonly=true, compresslevel=6", 2),
        ("appendonly=true", "appendonly=true, checksum=false", 2),
    ],
)
def test_equal_storage_options_are_written_in_several_ways(old: str, new: str, merges: int) -> None:
    snapshot = FakeSnapshot([TableSpec("t", daily(20, date(2024, 1, 1)), columns=8)])
    snapshot._db.execute(
        "UPDATE relation SET options = CASE WHEN bound < ? THEN ? ELSE ? END WHERE kind = 'leaf'",
        [day_range("2024-01-11", "2024-01-12"), old, new],
    )
    assert len(merged_bounds(snapshot, MONTHS)) == merges


@pytest.mark.parametrize(("facts", "merges"), [([("columns", '{"live": 8}')], 1), ([], 2)])
def test_dropped_columns_do_not_separate_leaves(facts: list[tuple[str, str]], merges: int) -> None:
    """Older leaves have columns that were dropped before newer ones were created."""
    leaves = daily(20, date(2024, 1, 1))
    for leaf in leaves[:10]:
        leaf.columns = 12
    snapshot = FakeSnapshot([TableSpec("t", leaves, columns=8, facts=facts)])
    assert len(merged_bounds(snapshot, MONTHS)) == merges


def test_a_leaf_with_a_boundary_inside_is_not_merged() -> None:
    """Whatever is merged with it would span the boundary."""
    ends = ["2024-01-01", "2024-01-05", "2024-01-09", "2024-01-15", "2024-01-20", "2024-01-24"]
    leaves = [LeafSpec(day_range(a, b), bytes=1 << 20) for a, b in itertools.pairwise(ends)]
    found = {
        rule: merged_bounds(
            FakeSnapshot([TableSpec("t", leaves)]),
            msgspec.structs.replace(MONTHS, boundaries=[rule]),
        )
        for rule in ("2024-01-11", "2024-01-09")
    }
    assert found == {
        "2024-01-11": [
            day_range("2024-01-01", "2024-01-09"),
            day_range("2024-01-15", "2024-01-24"),
        ],
        "2024-01-09": [
            day_range("2024-01-01", "2024-01-09"),
            day_range("2024-01-09", "2024-01-24"),
        ],
    }


def test_a_leaf_across_two_retention_units_is_not_merged() -> None:
    starts = [str(date(2024, 1, 1) + timedelta(weeks=n)) for n in range(9)]
    weeks = [LeafSpec(day_range(a, b), bytes=1 << 20) for a, b in itertools.pairwise(starts)]
    rule = msgspec.structs.replace(MONTHS, retention_unit="month")
    assert merged_bounds(FakeSnapshot([TableSpec("t", weeks)]), rule) == [
        day_range("2024-01-01", "2024-01-29"),
        day_range("2024-02-05", "2024-02-26"),
    ]


def test_unpartition_flatten_externalise() -> None:
    snapshot = FakeSnapshot([TableSpec("small", daily(20, bytes=1000))])
    full = make(snapshot, Policy(default=Rule(unpartition_below="1MB"))).full()
    (step,) = full.tables[0].steps
    assert isinstance(step, Unpartition)
    assert full.after.leaves == 0
    assert full.after.tables == 1
    check_plan(full, snapshot)
    (step,) = make(flat_table("gp7"), Policy(default=Rule(flatten=True))).full().tables[0].steps
    assert isinstance(step, Flatten)
    assert [n.bound for n in step.new] == [u.bound for u in step.units]
    planned = make(flat_table("gp6"), Policy(default=Rule(flatten=True)))
    assert not any(isinstance(s, Flatten) for t in planned.tables() for s in t.steps)
    assert any(
        "flatten: Greenplum 6 cannot remove a level of a table" in note
        for note in planned.plan.notes
    )
    full = make(
        FakeSnapshot([TableSpec("old", daily(170))]), Policy(default=Rule(externalise_after="90d"))
    ).full()
    outside = [s for s in full.tables[0].steps if isinstance(s, Externalise)]
    assert len(outside) == 91
    assert all(s.proposal for s in outside)


def test_contradicting_limits_say_what_can_be_reached() -> None:
    snapshot = FakeSnapshot([TableSpec("t", daily(150, bytes=10 << 20))])
    with pytest.raises(
        CatalogError, match="contradict each other: target_leaves = 40 and max_rewrite"
    ) as caught:
        make(snapshot, target_leaves=40, max_rewrite="700MB")
    least = int(caught.value.hint.split(" about ")[1].split(" ")[0])
    # the limit in the hint is feasible, and one leaf less is not
    assert (
        round(make(snapshot, target_leaves=least, max_rewrite="700MB").plan.after.leaves) == least
    )
    with pytest.raises(CatalogError, match="contradict"):
        make(snapshot, target_leaves=least - 1, max_rewrite="700MB")


def test_table_level_operations_keep_the_limits() -> None:
    rules = Policy(default=Rule(unpartition_below="1GB"))
    tables = [
        TableSpec(f"small_{n}", daily(20, bytes=size))
        for n, size in enumerate((1 << 20, 2 << 20, 30 << 20))
    ]

    def names(**limits: Any) -> tuple[set[str], planning.PlanResult]:
        planned = make(FakeSnapshot(tables), rules, **limits)
        full = planned.full()
        assert all(x.kept for x in full.limits), full.limits
        assert full.effort.rewrite == sum(s.cost.bytes or 0 for t in full.tables for s in t.steps)
        return {
            t.table for t in full.tables if any(isinstance(s, Unpartition) for s in t.steps)
        }, planned

    assert names()[0] == {"small_0", "small_1", "small_2"}
    # the smallest tables first; the rest of the limit is used for merges
    done, planned = names(max_rewrite="60MB")
    assert done == {"small_0", "small_1"}
    assert any("would exceed max_rewrite (1 table)" in note for note in planned.plan.notes)
    assert names(window="0.3s")[0] == {"small_0"}
    assert names(target_leaves=3)[0] == {"small_0", "small_1", "small_2"}
    assert names(max_lock=30)[0] == set()
    assert names(headroom="10MB")[0] == {"small_0", "small_1"}
    with pytest.raises(CatalogError, match="target_leaves = 2 cannot be reached"):
        make(FakeSnapshot(tables), rules, target_leaves=2)
    planned = make(flat_table("gp7"), Policy(default=Rule(flatten=True)), window="0.1s")
    assert not any(isinstance(s, Flatten) for t in planned.tables() for s in t.steps)
    assert planned.plan.effort.seconds <= 0.1
    assert any("flatten would exceed window (1 table)" in note for note in planned.plan.notes)


def test_partman_follows() -> None:
    config = json.dumps(
        {"parent_table": "s.p", "partition_interval": "1 day", "premake": 4, "retention": None}
    )
    leaves = [
        LeafSpec(day_range(x.bound.split("'")[1], x.bound.split("'")[3], classic=False))
        for x in daily(150)
    ]
    snapshot = FakeSnapshot(
        [
            TableSpec(
                "p",
                leaves,
                storage="heap",
                facts=[("pg_partman", config), ("pg_partman version", "5.2.4")],
            )
        ],
        generation="pg15",
    )
    (table,) = make(snapshot, Policy(default=Rule(grains={"month": 40}))).full().tables
    step = table.steps[-1]
    assert isinstance(step, Reconfigure)
    assert step.wanted == {"partition_interval": "1 month", "premake": "1"}
    assert step.now["partition_interval"] == "1 day"
    assert any(
        "pg_partman maintains 1 table" in note
        for note in make(snapshot, Policy(default=Rule(grains={"month": 40}))).plan.notes
    )


def test_locks_that_cannot_fit() -> None:
    def merged(most: int | None) -> tuple[int, int]:
        full = make(FakeSnapshot([TableSpec("t", daily(150))]), max_lock=most).full()
        steps = [s for s in full.tables[0].steps if isinstance(s, Merge)]
        assert most is None or all(s.cost.locks <= most for s in steps)
        return len(steps), max((s.cost.locks for s in steps), default=0)

    free, most = merged(None)
    assert merged(most) == (free, most)
    # smaller groups need fewer locks, whatever the number of leaves of the table
    assert merged(most - 1)[0] > 0
    assert merged(10) == (0, 0)
    planned = make(FakeSnapshot([TableSpec("t", daily(150))]), max_lock=10)
    reasons = {row.what for row in Explainer(planned, planned.reader.roots[0]).rows()}
    assert any("locks, the limit is 10" in reason for reason in reasons), reasons
    planned = make(FakeSnapshot([TableSpec("t", daily(150))]), headroom="1kB")
    reasons = {row.what for row in Explainer(planned, planned.reader.roots[0]).rows()}
    assert any("the headroom is 1 KB" in reason for reason in reasons), reasons


def test_limits_are_respected_and_the_least_is_done() -> None:
    snapshot = FakeSnapshot([TableSpec(f"t{n}", daily(150, bytes=(n + 1) << 24)) for n in range(6)])
    all_of_it = make(snapshot).plan
    some = make(snapshot, target_leaves=600).plan
    assert some.after.leaves + some.after.tables <= 600
    assert some.effort.rewrite < all_of_it.effort.rewrite
    both = make(snapshot, target_leaves=700, max_rewrite="10GB").plan
    assert all(x.kept for x in both.limits if x.source == "asked for")
    headed = make(snapshot, headroom="200MB").full()
    assert all((s.cost.segment_bytes or 0) <= 200 << 20 for t in headed.tables for s in t.steps)


def failure(*words: Any, **more: Any) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        make(*words, **more)
    return caught.value


def test_refusals() -> None:
    snapshot = FakeSnapshot([TableSpec("t", daily(150, bytes=1 << 30))])
    e = failure(snapshot, target_leaves=3)
    assert "target_leaves = 3 cannot be reached" in e.message
    assert "at least" in e.message
    e = failure(snapshot, target_leaves=45, max_rewrite="1GB")
    assert (
        e.message
        == "these limits contradict each other: target_leaves = 45 and max_rewrite = 1.0 GiB"
    )
    assert "leaves can be reached" in e.hint
    assert "no partitioned tables" in failure(FakeSnapshot([], plain=3)).message
    assert "10 apples" in failure(snapshot, max_rewrite="10 apples").message
    assert (
        "window" in failure(snapshot, window="soon").message
        or "soon" in failure(snapshot, window="soon").message
    )
    thin = FakeSnapshot([TableSpec("t", daily(3))])
    thin.header["grain"] = "root"
    assert "reduced to totals" in failure(thin).message


def test_without_sizes() -> None:
    leaves = [LeafSpec(x.bound, n % 3 == 0, None) for n, x in enumerate(daily(150))]
    snapshot = FakeSnapshot([TableSpec("t", leaves)], basis="segment file lists")
    found = make(snapshot)
    assert found.plan.source.sizes == "none"
    assert "no sizes" in found.plan.notes[0]
    full = found.full()
    assert all(
        isinstance(s, (DropEmpty, Merge)) and not any(leaf.filled for leaf in s.leaves)
        for s in full.tables[0].steps
    )
    assert full.after.leaves < full.before.leaves
    named = make(snapshot, Policy(default=Rule(grains={"month": 0}))).full()
    merges = [s for s in named.tables[0].steps if isinstance(s, Merge)]
    assert len(merges) == 5 - 1  # the edge of the hot window is in May
    assert all(m.cost.bytes is None for m in merges)
    assert "has no sizes" in failure(snapshot, max_rewrite="1TB").message


@pytest.fixture
def app() -> typer.Typer:
    found = typer.Typer()
    found.command()(complete(command))
    return found


def test_command(app: typer.Typer, tmp_path: Path) -> None:
    file = synthetic.write(tmp_path / "s.gpcatalog", synthetic.published(4000, 5))
    runner = CliRunner()
    result = runner.invoke(app, ["--snapshot", str(file)])
    assert result.exit_code == 0, result.output
    assert "partitioned tables change." in result.output
    result = runner.invoke(app, ["--snapshot", str(file), "--explain", "numbers_4"])
    assert "One character per partition" in result.output
    out = tmp_path / "plan.json"
    result = runner.invoke(
        app,
        ["--snapshot", str(file), "--format", "json", "-o", str(out), "--target-leaves", "3000"],
    )
    assert result.exit_code == 0, result.output
    full = plan_file.read(out.read_bytes())
    assert full.after.leaves <= 3000
    with Snapshot(file) as snapshot:
        check_plan(full, snapshot)
    result = runner.invoke(app, ["--snapshot", str(file), "--explain", "numbers"])
    assert isinstance(result.exception, CatalogError)
    assert "numbers_4" in result.exception.hint
    rules = tmp_path / "p.toml"
    rules.write_text('[[table]]\nmatch = "synthetic.days*"\ngrian = {}\n')
    result = runner.invoke(app, ["--snapshot", str(file), "--policy", str(rules)])
    assert isinstance(result.exception, CatalogError)
    assert "unknown key 'grian' in [table[0]]" in result.exception.message
    result = runner.invoke(app, ["--snapshot", str(file), "--demo"])
    assert isinstance(result.exception, CatalogError)


def test_workload_decides(tmp_path: Path) -> None:
    from gpcatalog.planner import workload

    # AOCO files so large that the bytes that queries read decide about merges
    snapshot = FakeSnapshot([TableSpec("t", daily(120, bytes=1 << 30))])
    single = tmp_path / "single.sql"
    single.write_text(
        ";\n".join(
            f"SELECT 1 FROM s.t x WHERE x.d = date '2026-02-{d:02d}'" for d in [*range(1, 29)] * 40
        )
    )
    queries = workload.read(str(single), snapshot)
    assert queries.understood == queries.statements >= 28
    picky = planning.make(cast(Snapshot, snapshot), Policy(), workload=queries).full()
    csv_file = tmp_path / "whole.csv"
    csv_file.write_text(
        "query,calls\n\"select sum(n) from t where d >= '2026-01-01' and d < '2026-05-01'\",500\n\"select 1\",3\n"
    )
    broad = planning.make(
        cast(Snapshot, snapshot), Policy(), workload=workload.read(str(csv_file), snapshot)
    ).full()
    february = [
        s
        for s in picky.tables[0].steps
        if isinstance(s, Merge) and any("2026-02" in u.bound for u in s.units)
    ]
    assert not february
    assert broad.after.leaves < picky.after.leaves
    assert broad.effort.scan_bytes_per_day <= 0.01
    nothing = tmp_path / "nothing.sql"
    nothing.write_text("SELECT 1; SELEKT")
    with pytest.raises(CatalogError, match="none of its 2 statements"):
        workload.read(str(nothing), snapshot)


def test_limits_have_the_numbers_of_an_audit() -> None:
    """The figures of limits before a plan are those that an audit of the same snapshot reports."""
    with Snapshot(Path(__file__).parents[2] / "fixtures/greenplum6.gpcatalog") as snapshot:
        report = build(snapshot)
        found = plan_snapshot(
            snapshot, policy_file=None, workload_file="", overrides={}, rate=""
        ).plan.limits
    audited = {v.what: (v.value, v.limit, v.source) for v in report.verdicts}
    assert {x.name for x in found} == {
        "column-oriented leaves",
        "tables and leaf partitions",
        "files on the host with the most files",
    }
    for x in found:
        assert (x.before, x.limit, x.source) == audited[x.name]
        assert 0 < x.after < x.before


def test_files_of_hosts_with_different_numbers_of_segments() -> None:
    """The host with the most files after a plan is found from each host's own segments."""
    snapshot = FakeSnapshot([TableSpec("t", daily(60))], segments=3)  # two on h0, one on h1
    part = {"root": 0, "part": "main", "basis": "directory"}
    files = {0: 60_000, 1: 100_000, 2: 20_000}
    snapshot._insert("file_total", [{"content": c, "files": n, **part} for c, n in files.items()])
    plan = make(snapshot).plan
    fewer = plan.before.files - plan.after.files
    assert fewer > 0
    (found,) = [x for x in plan.limits if x.name == "files on the host with the most files"]
    assert (found.before, found.after) == (100_000, 100_000 - fewer)


@pytest.mark.parametrize(("generation", "number"), [("gp7", 0), ("pg15", 0), ("pg19", 2)])
def test_both_ways_to_merge_where_the_server_has_one(
    app: typer.Typer, tmp_path: Path, generation: str, number: int
) -> None:
    """The times are those of the merges only, and readers wait for a part of them."""
    specs = [replace(s, storage="heap") for s in synthetic.published(4000, 5)]
    file = synthetic.write(tmp_path / "s.gpcatalog", specs, generation=generation)
    with Snapshot(file) as snapshot:
        full = planning.make(snapshot, None, Request(Limits())).full()
    assert full.effort.merges
    assert len(full.merge_ways) == number
    output = CliRunner().invoke(app, ["--snapshot", str(file)]).output
    assert ("MERGE PARTITIONS" in output) == bool(number)
    if number:
        scripts, server = full.merge_ways
        merges = [s for t in full.tables for s in t.steps if isinstance(s, Merge)]
        assert scripts.seconds == server.seconds
        assert scripts.seconds == pytest.approx(sum(s.cost.seconds for s in merges), rel=0.01)
        assert 0 < scripts.waiting < server.waiting < server.seconds
        out = tmp_path / "plan.json"
        CliRunner().invoke(app, ["--snapshot", str(file), "--format", "json", "-o", str(out)])
        assert plan_file.read(out.read_bytes()).merge_ways == full.merge_ways
