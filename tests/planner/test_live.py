"""Plans of live servers: tables of all shapes, and a predicted gain compared with the catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from gpcatalog.commands.common import complete
from gpcatalog.commands.plan import plan as command
from gpcatalog.planner import plan_file, planning
from gpcatalog.planner.operations import Externalise, Flatten, Merge, Reconfigure, Unpartition
from gpcatalog.planner.plan import TablePlan, changed
from gpcatalog.planner.policy import Policy, Rule
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration.test_partman import partman
from tests.planner import live
from tests.planner.test_plan import check_plan

app = typer.Typer()
app.command()(complete(command))


def planned(snapshot: Snapshot, **rule: Any) -> dict[str, TablePlan]:
    result = planning.make(snapshot, Policy(default=Rule(**rule)))
    full = result.full()
    check_plan(full, snapshot)
    pieces: list[str] = []
    plan_file.write(result.plan, result.tables(), pieces.append)
    assert plan_file.read("".join(pieces)) == full
    return {t.table: t for t in full.tables}


@pytest.fixture(scope="module")
def gp6(gp6_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Snapshot]]:
    dsn = fresh_database(gp6_dsn, "plan_gp6")
    live.fill(dsn, "gp6")
    with live.take_snapshot(dsn, tmp_path_factory.mktemp("gp6") / "s.gpcatalog") as snapshot:
        yield dsn, snapshot


@pytest.fixture(scope="module")
def gp7(gp7_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Snapshot]]:
    dsn = fresh_database(gp7_dsn, "plan_gp7")
    live.fill(dsn, "gp7")
    with live.take_snapshot(dsn, tmp_path_factory.mktemp("gp7") / "s.gpcatalog") as snapshot:
        yield dsn, snapshot


@pytest.fixture(scope="module", params=["pg_dsn", "pgnew_dsn"])
def pg(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Snapshot]]:
    dsn = fresh_database(request.getfixturevalue(request.param), "plan_pg")
    live.fill(dsn, "pg")
    with live.take_snapshot(dsn, tmp_path_factory.mktemp("pg") / "s.gpcatalog") as snapshot:
        yield dsn, snapshot


def check_greenplum(tables: dict[str, TablePlan], classic: bool) -> None:
    def merges(name: str) -> list[Merge]:
        return [s for s in tables[name].steps if isinstance(s, Merge)]

    months = merges("daily")
    assert [m.grain for m in months] == ["month"] * 5
    assert [len(m.units) for m in months] == [31, 28, 31, 30, 30]
    assert months[0].lower is not None
    assert months[0].lower.value == "2025-01-01"
    assert months[0].upper is not None
    assert months[0].upper.value == "2025-02-01"
    assert (months[0].bound == "START ('2025-01-01'::date) END ('2025-02-01'::date)") == classic
    assert (months[0].name == "daily_1_prt_p2025m01") == classic
    levels = merges("levels")
    assert [len(m.new) for m in levels] == [3, 3]  # a single day in April stays
    assert {n.path for n in levels[0].new} == (
        {("eu",), ("us",), ("rest",)} if classic else {(x.bound,) for x in levels[0].new}
    )
    assert all(len(m.leaves) == 3 * len(m.units) for m in levels)
    assert (
        "the default partition contains no rows of the new range" in merges("defaulted")[0].rests_on
    )
    assert tables["defaulted"].left[0].leaves == 1
    assert tables["listed"].alone
    assert [m.lower.axis for m in merges("numbers") if m.lower] == [-1000, 0, 2000, 3000, 3600]
    assert {m.grain for m in merges("hours")} == {"month"}
    assert merges('Odd "Name')[0].name.startswith('Odd "Name_')
    assert [len(m.units) for m in merges("viewed")] == [9, 21]
    mixed = merges("mixed")
    assert [len(m.units) for m in mixed] == [15, 16]
    assert {leaf.storage for leaf in mixed[0].leaves} == {"ao_column"}


def test_greenplum_6(gp6: tuple[str, Snapshot]) -> None:
    check_greenplum(planned(gp6[1], grains={"month": 60}, empty="keep"), True)


def test_greenplum_7(gp7: tuple[str, Snapshot]) -> None:
    check_greenplum(planned(gp7[1], grains={"month": 60}, empty="keep"), False)


_CATALOGS = """
    pg_class pg_attribute pg_type pg_depend pg_index pg_inherits pg_constraint gp_distribution_policy pg_appendonly pg_attribute_encoding
    gp_fastsequence
"""


def _rows(dsn: str) -> int:
    """Rows of the catalogs on the first segment."""
    each = (
        f"SELECT count(*) FROM gp_dist_random('{c}') WHERE gp_segment_id = 0"
        for c in _CATALOGS.split()
    )
    return sum(int(live.value(dsn, statement)) for statement in each)


@pytest.mark.parametrize("generation", ["gp6", "gp7"])
def test_promised_rows_are_there(generation: str, request: pytest.FixtureRequest) -> None:
    """One planned merge, done with DDL of the test: catalog rows on a segment decrease by exactly the number in the plan."""
    dsn, snapshot = request.getfixturevalue(generation)
    step = next(s for s in planned(snapshot)["numbers"].steps if isinstance(s, Merge))
    before = _rows(dsn)
    with psycopg.connect(dsn) as conn:
        low, high = step.lower, step.upper
        assert low is not None
        assert high is not None
        for unit in step.units:
            assert unit.lower is not None
            conn.execute(f"ALTER TABLE numbers DROP PARTITION FOR ({unit.lower.axis})")
        conn.execute(
            f"ALTER TABLE numbers ADD PARTITION {step.partition} START ({low.value}) END ({high.value})"
        )
        if (
            generation == "gp6"
        ):  # a migration exchanges the partition: the remaining leaf was created as a plain table, with an array type
            conn.execute("CREATE TABLE stage (LIKE numbers) DISTRIBUTED BY (id)")
            conn.execute(
                f"ALTER TABLE numbers EXCHANGE PARTITION {step.partition} WITH TABLE stage"
            )
            conn.execute("DROP TABLE stage")
    assert before - _rows(dsn) == step.gain.rows
    assert (
        live.value(dsn, f"SELECT count(*) FROM pg_class WHERE relname = '{step.name}'")
        == (1 if generation == "gp6" else 0)
        or generation == "gp7"
    )


def test_postgres(pg: tuple[str, Snapshot]) -> None:
    tables = planned(pg[1], grains={"month": 60}, empty="keep")

    def grains(name: str) -> list[int]:
        return [len(s.units) for s in tables[name].steps if isinstance(s, Merge)]

    assert grains("daily") == [31, 28, 31, 30, 30]
    assert grains("defaulted") == [31, 9]
    assert "foreign key" in tables["referenced"].alone
    assert "hash" in tables["hashed"].alone
    assert grains("several") == [2]  # from 0 to 2; new rows go to the last one of the four
    assert grains("zoned") == [30]  # bounds are midnights in Moscow
    assert grains("spelled") == [30]  # 20250101 … are dates, too
    assert tables["spelled"].axis == "dates as 8-digit numbers"
    assert grains("numbers") == [10, 20, 10, 5, 2]


POLICY = """
[default]
empty = "keep"
[[table]]
match = "*.listed"
merge_lists = 4
[[table]]
match = "*.single"
flatten = true
[[table]]
match = "*.small"
unpartition_below = "1GB"
[[table]]
match = "*.daily"
externalise_after = "100d"
"""


def check_policy(
    snapshot: Snapshot, tmp_path: Path, greenplum: bool, *, classic: bool = False
) -> None:
    """Check merged lists, a level without pruning, a small table and cold leaves: in the text, the explanations and the plan file."""
    rules = tmp_path / "policy.toml"
    rules.write_text(POLICY)

    def call(*words: str) -> str:
        result = CliRunner().invoke(
            app, ["--snapshot", str(snapshot.path), "--policy", str(rules), *words]
        )
        assert result.exit_code == 0, result.output
        return result.stdout

    text = call()
    for line in text.splitlines():
        assert len(line) <= 80, line
    assert "small" in text
    plan = plan_file.read(call("--format", "json"))
    check_plan(plan, snapshot)
    steps = {t.table: t.steps for t in plan.tables}
    assert [type(s) for s in steps["small"]] == [Unpartition]
    flat = [s for s in steps["single"] if isinstance(s, Flatten)]
    assert len(flat) == (0 if classic else 1)  # Greenplum 6 does not support it
    assert all([n.bound for n in s.new] == [u.bound for u in s.units] for s in flat)
    (lists,) = steps["listed"]
    assert isinstance(lists, Merge)
    assert "'a'" in lists.bound
    assert "'c'" in lists.bound
    assert lists.lower is None
    outside = [s for s in steps["daily"] if isinstance(s, Externalise)]
    assert len(outside) == (100 if greenplum else 0)
    assert all(s.proposal for s in outside)
    assert "unpartition, as the policy requires" in call("--explain", "public.small")
    assert ("flatten, as the policy requires" in call("--explain", "public.single")) != classic
    assert (
        "flatten: Greenplum 6 cannot remove a level of a table" in text.replace("\n", " ")
    ) == classic
    assert "merge into one group of" in call("--explain", "public.listed")
    daily = call("--explain", "public.daily")
    assert ("old enough for external files" in daily) == greenplum
    # under a limit of 0, nothing is rewritten, and the text reports it
    tight = call("--max-rewrite", "0")
    assert "Not planned although the policy requires it" in tight.replace("\n", " ")


def test_what_a_policy_asks_for_on_greenplum_6(gp6: tuple[str, Snapshot], tmp_path: Path) -> None:
    check_policy(gp6[1], tmp_path, True, classic=True)


def test_what_a_policy_asks_for_on_greenplum_7(gp7: tuple[str, Snapshot], tmp_path: Path) -> None:
    check_policy(gp7[1], tmp_path, True)


def test_what_a_policy_asks_for_on_postgres(pg: tuple[str, Snapshot], tmp_path: Path) -> None:
    check_policy(pg[1], tmp_path, False)


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_pg_partman_follows_the_grain(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A partition set of pg_partman.

    Its new settings create partitions of the merged length, as far ahead as before, and merges respect its retention.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "plan_partman")
    version = partman(dsn)
    say = "'public.t', 'd', 'native', 'daily'" if version == 4 else "'public.t', 'd', '1 day'"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t (id int NOT NULL, d date NOT NULL) PARTITION BY RANGE (d)")
        conn.execute(
            f"SELECT partman.create_parent({say}, p_premake := 10, p_start_partition := (current_date - 200)::text)"
        )
        conn.execute(
            "INSERT INTO t SELECT i, current_date - i % 200 FROM generate_series(1, 2000) i"
        )
        conn.execute("UPDATE partman.part_config SET retention = '120 days'")
        conn.execute("ANALYZE t")
    with live.take_snapshot(dsn, tmp_path / "s.gpcatalog") as snapshot:
        table = planned(snapshot, grains={"week": 40}, hot_days=30)["t"]
        step = table.steps[-1]
        assert isinstance(step, Reconfigure)
        assert step.maker == "pg_partman"
        assert int(step.version.split(".")[0]) == version
        # ten days ahead become two weeks; the retention does not change
        assert step.wanted == {"partition_interval": "1 week", "premake": "2"}
        assert (step.now["premake"], step.now["retention"]) == ("10", "120 days")
        merges = [s for s in table.steps if isinstance(s, Merge)]
        assert {s.grain for s in merges} == {"week"}
        assert len(merges) in (11, 12)  # between the age of 40 days and the retention of 120 days
        past = next(x for x in table.left if "retention" in x.reason)
        assert past.leaves in (79, 80, 81)  # older than 120 days; depends on the hour
        last = planned(snapshot, grains={"week": 40}, hot_days=30, keep="90d")["t"].steps[-1]
        assert isinstance(last, Reconfigure)
        assert last.wanted["retention"] == "90 days"
        note = " ".join(
            planning.make(snapshot, Policy(default=Rule(grains={"week": 40}))).plan.notes
        )
        assert "pg_partman maintains 1 table that would be merged" in note
    with psycopg.connect(dsn, autocommit=True) as conn:
        # the server accepts the proposed settings unchanged
        assignments = ", ".join(f"{name} = '{value}'" for name, value in step.wanted.items())
        conn.execute(
            f"UPDATE partman.part_config SET {assignments} WHERE parent_table = 'public.t'"
        )
        found = conn.execute(
            "SELECT partition_interval::interval = interval '1 week', premake FROM partman.part_config"
        ).fetchone()
        assert found == (True, 2)


def test_unknown_dependents_are_not_none(pg_dsn: str, tmp_path: Path) -> None:
    """If dependent objects of partitions could not be read, nothing is planned, and the reason states it."""
    dsn = fresh_database(pg_dsn, "plan_unread")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t (id int, d date) PARTITION BY RANGE (d)")
        for n in range(1, 9):
            conn.execute(
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM ('2022-01-0{n}') TO ('2022-01-0{n + 1}')".encode()
            )
        conn.execute(
            "INSERT INTO t SELECT i, date '2022-01-01' + i % 8 FROM generate_series(1, 100) i"
        )
        conn.execute("ANALYZE t")
    rule = {"grains": {"month": 0.0}, "hot_days": 0}
    with live.take_snapshot(dsn, tmp_path / "read.gpcatalog") as snapshot:
        assert planned(snapshot, **rule)["t"].steps
    with psycopg.connect(dsn) as conn:
        conn.execute("LOCK TABLE pg_catalog.pg_policy IN ACCESS EXCLUSIVE MODE")
        with live.take_snapshot(dsn, tmp_path / "unread.gpcatalog") as snapshot:
            for more in ({}, {"unpartition_below": 1 << 40}):
                table = planned(snapshot, **rule, **more)["t"]
                assert table.steps == []
                reasons = {x.reason for x in table.left}
                assert reasons == {
                    "its views, triggers, policies and foreign keys are unknown (probe partition_facts: busy)"
                }


@pytest.mark.parametrize(
    "fixture",
    [
        "gp7_dsn",
        "pg_dsn",
    ],
)
def test_partitions_that_are_partitioned_and_have_none(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Partitioned partitions without partitions are kept, and their neighbours are merged. The planner once stopped at the last one."""
    dsn = fresh_database(request.getfixturevalue(fixture), "plan_hollow")
    hollow = (0, 7, 8, 30, 59)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE t (d date, k int) PARTITION BY RANGE (d)")
        for n in range(60):
            conn.execute(
                f"CREATE TABLE t_{n} PARTITION OF t FOR VALUES FROM (date '2020-01-01' + {n}) TO (date '2020-01-02' + {n})"
                " PARTITION BY LIST (k)"
            )
            if n not in hollow:
                conn.execute(f"CREATE TABLE t_{n}_a PARTITION OF t_{n} FOR VALUES IN (1)")
                conn.execute(f"INSERT INTO t VALUES (date '2020-01-01' + {n}, 1)")
        conn.execute("CREATE TABLE t_d PARTITION OF t DEFAULT PARTITION BY LIST (k)")
        conn.execute("CREATE TABLE u (d date, k int) PARTITION BY RANGE (d)")
        conn.execute(
            "CREATE TABLE u_1 PARTITION OF u FOR VALUES FROM ('2020-01-01') TO ('2020-01-02') PARTITION BY LIST (k)"
        )
    with live.take_snapshot(dsn, tmp_path / "s.gpcatalog") as snapshot:
        tables = planned(snapshot, grains={"month": 1})
    steps = [s for s in tables["t"].steps if isinstance(s, Merge)]
    assert len(steps) == 3
    assert (tables["t"].leaves, tables["t"].leaves_after) == (55, 3)
    reasons = {left.reason: left.leaves for left in tables["t"].left}
    assert "it is partitioned but has no partitions" in reasons


def _days(name: str, days: str, more: str = "", start: str = "date '2024-01-01'") -> str:
    return (
        f"DO $$ BEGIN FOR i IN {days} LOOP EXECUTE format('CREATE TABLE {name}_%s PARTITION OF"
        f" {name} FOR VALUES FROM (%L) TO (%L) {more}', replace(i::text, '-', '_'), {start} + i,"
        f" {start} + i + 1); END LOOP; END $$"
    )


ODD = [
    "CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler",
    "CREATE TABLE am (id int, d date) PARTITION BY RANGE (d)",
    _days("am", "0 .. 9", "USING heap_too"),
    "CREATE TABLE nulls (id int, k text) PARTITION BY LIST (k)",
    *(
        f"CREATE TABLE nulls_{n} PARTITION OF nulls FOR VALUES IN ({v})"
        for n, v in enumerate(["'a'", "'b'", "'c'", "'d', NULL", "'e'"])
    ),
    "CREATE TABLE only_null (id int, k text) PARTITION BY LIST (k)",
    "CREATE TABLE only_null_1 PARTITION OF only_null FOR VALUES IN (NULL)",
    "CREATE TABLE only_null_2 PARTITION OF only_null FOR VALUES IN ('x')",
    "CREATE TABLE used (id int, d date) PARTITION BY RANGE (d)",
    _days("used", "0 .. 9"),
    "CREATE VIEW looks AS SELECT * FROM used_4",
    "ALTER TABLE used_6 ADD CONSTRAINT its_own CHECK (id > 0)",
    "COMMENT ON TABLE used_8 IS 'the ninth'",
    "CREATE TABLE level (id int, d date, k text) PARTITION BY RANGE (d)",
    _days("level", "0 .. 9", "PARTITION BY LIST (k)"),
    *(f"CREATE TABLE level_{n}_x PARTITION OF level_{n} FOR VALUES IN ('x')" for n in range(10)),
]


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_reasons_name_the_object(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Lists with NULL and other access methods have reasons of their own. A dependent object is
    named in the text and in the plan file. A removed level is a change, and a comment of one
    partition is reported.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "plan_reasons")
    with psycopg.connect(dsn, autocommit=True) as conn:
        for statement in ODD:
            conn.execute(statement)
    with live.take_snapshot(dsn, tmp_path / "s.gpcatalog") as snapshot:
        rule = Rule(hot_days=0, empty="keep", merge_lists=50, flatten=True)
        result = planning.make(snapshot, Policy(default=rule))
        tables = {t.table: t for t in result.full().tables}
        nulls, method = "NULL is in its list; such partitions are not changed", "access method"
        assert [(x.reason, x.examples) for x in tables["nulls"].left] == [(nulls, ("nulls_3",))]
        assert (nulls, ("only_null_1",)) in [
            (x.reason, x.examples) for x in tables["only_null"].left
        ]
        (one,) = tables["am"].left
        assert method in one.reason
        (used,) = tables["used"].left
        assert used.examples == (
            "used_4: view looks of used_4",
            "used_6: own check its_own of used_6",
        )
        assert [r for r in result.left() if r.startswith("a view")] == [
            "a view, trigger, policy, publication or other object depends on it"
            " (view looks of used_4, own check its_own of used_6)"
        ]
        assert tables["level"] in changed(tables.values())
        note = "One level of partitions is removed (flatten), and the leaves stay as they are:"
        accepted = "Rows that this level rejects are accepted afterwards."
        assert f"{note} public.level. {accepted}" in result.plan.notes
        (lost,) = [lines for name, lines in result.losses() if name == "public.used"]
        assert lost == [
            "comment on 1 of 3 partitions: it becomes the comment of the whole new partition"
        ]


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_unused_subpartitions_stay_where_rows_may_arrive(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Recent and future partitions keep unused subpartitions, unless a default subpartition accepts
    the rows.
    """
    dsn = fresh_database(request.getfixturevalue(fixture), "plan_unused")
    with psycopg.connect(dsn, autocommit=True) as conn:
        for table in ("strict", "lenient", "young"):
            conn.execute(f"CREATE TABLE {table} (id int, d date, k text) PARTITION BY RANGE (d)")
            days = "-1 .. 3" if table == "young" else "-401 .. -398"
            below, start = "PARTITION BY LIST (k)", "current_date"
            conn.execute(_days(table, days, below, start))
            if table != "young":
                conn.execute(_days(table, "-1 .. 3", below, start))
            parents = conn.execute(
                "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass",
                [table],
            ).fetchall()
            for (parent,) in parents:
                for k in ("used", "unused"):
                    conn.execute(
                        f"CREATE TABLE {parent}_{k} PARTITION OF {parent} FOR VALUES IN ('{k}')"
                    )
                if table == "lenient":
                    conn.execute(f"CREATE TABLE {parent}_other PARTITION OF {parent} DEFAULT")
            for day in (-401, -400, -399, -398, -1, 0, 1, 2, 3):
                if table != "young" or day > -2:
                    conn.execute(f"INSERT INTO {table} VALUES (1, current_date + {day}, 'used')")
    with live.take_snapshot(dsn, tmp_path / "s.gpcatalog") as snapshot:
        rule = Rule(unused_subpartitions="drop", empty="drop")
        result = planning.make(snapshot, Policy(default=rule))
        check_plan(result.full(), snapshot)
        tables = {t.table: t for t in result.full().tables}
        dropped = {
            name: [leaf.name for s in t.steps for leaf in getattr(s, "leaves", ())]
            for name, t in tables.items()
        }
        assert sorted(dropped["strict"]) == [f"strict__{n}_unused" for n in range(398, 402)]
        assert len(dropped["lenient"]) == 9
        assert dropped["young"] == []
        assert (tables["strict"].leaves_after, tables["young"].leaves_after) == (14, 10)
        (note,) = [n for n in result.plan.notes if n.startswith("Not planned")]
        assert "recent and future partitions without a default subpartition keep them" in note
        assert note.endswith("(2 tables).")
