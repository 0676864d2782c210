"""The gain predicted by a plan is measured after its scripts: catalog rows and files exactly, bytes within 10 %."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpcatalog.migration.request import Mode, Request
from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
from gpcatalog.planner.plan import Plan, session_memory
from tests.bench import memory as measure
from tests.capacity.live import Live, own_database
from tests.conftest import fresh_database
from tests.migration import made, zoo
from tests.migration.test_whole import PLAIN, plain_table

GENERATION = {"gp6_dsn": "gp6", "gp7_dsn": "gp7", "pg_dsn": "pg15", "pgnew_dsn": "pg18"}
# catalogs that depend on use and not on shape: statistics, comments, and the log of operations
EXCLUDED = (
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_description",
    "pg_stat_last_operation",
    "files",
)
_GRANTS = """SELECT count(*) FROM pg_catalog.pg_shdepend
              WHERE deptype = 'a' AND dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"""
_CATALOGS = "SELECT relname::text FROM pg_catalog.pg_class WHERE relnamespace = 11 AND relkind = 'r' AND reltablespace = 0 ORDER BY 1"
# pg_proc contains the functions of the journal: they are dropped, but VACUUM FULL on the segments has not removed them yet
_BYTES = """SELECT sum(pg_catalog.pg_total_relation_size(oid))::int8 FROM pg_catalog.pg_class
             WHERE relnamespace = 11 AND relkind = 'r' AND reltablespace = 0 AND relname NOT IN ('pg_statistic', 'pg_description', 'pg_proc')"""


def grants(live: Live) -> dict[int, int]:
    """Rows of pg_shdepend that belong to grants, by instance."""
    return {
        content: int(str((conn.execute(_GRANTS).fetchone() or (0,))[0]))
        for content, conn in live.instances.items()
    }


def settled(live: Live) -> dict[int, Counter[str]]:
    """Rows and files after the files of dropped tables are removed."""
    live.work.execute("CHECKPOINT")
    return live.count()


def promised(plan: Plan) -> Counter[str]:
    found: Counter[str] = Counter()
    for table in plan.tables:
        for step in table.steps:
            found["rows"] += step.gain.rows
            found["coordinator"] += step.gain.coordinator_rows
            found["files"] += step.gain.files
            found["bytes"] += step.gain.catalog_bytes
    return found


def measured(dsn: str, files: made.Written) -> list[tuple[int, dict[str, int], int]]:
    """Run the files; return by instance the decrease of each count, and of catalog rows without the excluded catalogs and grants."""
    with ExitStack() as stack:
        live = Live(dsn, stack)
        before, granted = settled(live), grants(live)
        files.all()
        files.run("cleanup.sql")
        after, left = settled(live), grants(live)
    found = []
    for content, counted in before.items():
        fewer = {name: n - after[content][name] for name, n in counted.items()}
        rows = sum(n for name, n in fewer.items() if name not in EXCLUDED) - (
            granted[content] - left[content]
        )
        found.append((content, fewer, rows))
    return found


def of_the_server(files: made.Written) -> int:
    """Catalog rows that Greenplum 6 itself leaves or omits in an exchange, on every instance.

    A leaf that was exchanged and put back keeps an array type with its dependency, and each of its indexes a duplicate dependency.
    The index of a leaf below another partition loses its link to the parent's index: a row of pg_inherits and one of pg_depend.
    """
    found = 0
    for work in files.work:
        parked: set[str] = set()
        for change in work.forward:
            if not isinstance(change, ReplacePartitions):
                continue
            for stage in change.default_stages:
                if stage.final not in parked:
                    parked.add(stage.final)
                    found -= 2 + (len(stage.indexes) if not stage.path else -2 * len(stage.indexes))
            found += sum(
                2 * len(stage.indexes)
                for m in change.new_partitions
                for stage in m.stages
                if stage.path
            )
    return found


def more_rows(dsn: str, names: list[str]) -> None:
    """Insert enough rows for every merged heap to have a second page on every segment."""
    for name in names:
        if name in ("heap_pk", "keyed"):
            made.execute(
                dsn,
                f"INSERT INTO {name} (id, d, v, k) SELECT t.id + 1000 * n, t.d, t.v, t.k FROM {name} t, generate_series(1, 30) n",
            )
        else:
            # half of these leaves stay empty: the others must have more than one page
            made.execute(
                dsn,
                f"INSERT INTO {name} SELECT t.* FROM {name} t, generate_series(1, {90 if name == 'stamps' else 30}) n",
            )


@pytest.mark.long
@pytest.mark.parametrize("mode", [Mode.LOCKED, Mode.ONLINE])
@pytest.mark.parametrize("fixture", GENERATION)
def test_rows_and_files(
    fixture: str, mode: Mode, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    generation = GENERATION[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), f"mig_gain_{mode}")
    names = zoo.make(dsn, generation)
    more_rows(dsn, names)
    plan = made.plan_of(dsn, made.EAGER + "merge_lists = 10\n")
    files = made.written(dsn, tmp_path / "sql", plan, request=Request(mode=mode))
    assert files.refused == []
    expected = promised(plan)
    own = of_the_server(files) if generation == "gp6" else 0
    # Greenplum 7 writes rows of the transaction that created the table into segment file 0; otherwise, there is one more file for each
    other = 0
    if generation == "gp7" and mode is Mode.ONLINE:
        stages = [
            s
            for w in files.work
            for c in w.forward
            if isinstance(c, ReplacePartitions)
            for m in c.new_partitions
            for s in m.stages
        ]
        other = sum(s.storage in ("ao_row", "ao_column") for s in stages)
    for content, fewer, rows in measured(dsn, files):
        rows -= own
        if content < 0:
            assert rows == expected["coordinator"], fewer
        if content >= 0 or not generation.startswith("gp"):
            assert rows == expected["rows"] - other, fewer
            assert fewer["files"] == expected["files"] - other, fewer
    print(
        f"{generation} {mode}: {files.steps} steps of {len(files.forward())} tables, promised and measured on each instance: {dict(expected)}"
    )


@pytest.mark.parametrize("fixture", ["gp6_dsn", "pg_dsn", "pgnew_dsn"])
def test_unpartitioned(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Without Greenplum 7: there, the rows of gp_fastsequence depend on the segments that have the few rows of each leaf."""
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_gain_plain")
    plain_table(dsn, fixture == "gp6_dsn")
    plan = made.plan_of(dsn, PLAIN)
    files = made.written(dsn, tmp_path / "sql", plan)
    expected = promised(plan)
    for content, fewer, rows in measured(dsn, files):
        assert rows == expected["coordinator" if content < 0 else "rows"], fewer
        if (
            fixture != "gp6_dsn"
        ):  # on Greenplum 6, the number of files depends on whether a segment has rows of a leaf
            assert fewer["files"] == expected["files"], fewer


def vacuumed_bytes(live: Live) -> int:
    """Bytes of all catalogs of all instances after VACUUM FULL, which removes dead rows and builds the indexes again."""
    total = 0
    for content, through in live.instances.items():
        # in a session of the complete cluster, a size is that of all instances
        alone = live.server.greenplum and content < 0
        conn = live.connect(options=live._utility()) if alone else through
        for (name,) in conn.execute(_CATALOGS).fetchall():
            conn.execute(f'VACUUM FULL pg_catalog."{name}"')
        total += int(str((conn.execute(_BYTES).fetchone() or (0,))[0]))
    return total


@pytest.mark.parametrize("fixture", GENERATION)
def test_catalog_bytes(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = GENERATION[fixture]
    columns = ", ".join(f"c{n} {('int', 'text', 'numeric')[n % 3]}" for n in range(18))
    with own_database(request.getfixturevalue(fixture), "mig_gain_bytes") as live:
        if generation.startswith("gp"):
            made.execute(
                live.dsn,
                f"CREATE TABLE wide (id int, d date, {columns}) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)"
                " PARTITION BY RANGE (d) (START (date '2020-01-01') END (date '2020-10-01') EVERY (interval '1 day'))",
            )
        else:
            made.execute(
                live.dsn,
                f"CREATE TABLE wide (id int, d date, {columns}) PARTITION BY RANGE (d)",
                *zoo._pg_days("wide", first="2020-01-01", number=547),
            )
        plan = made.plan_of(live.dsn)
        files = made.written(live.dsn, tmp_path / "sql", plan)
        before = vacuumed_bytes(live)
        files.all()
        files.run("cleanup.sql")
        measured, expected = before - vacuumed_bytes(live), promised(plan)["bytes"]
    print(
        f"{generation}: promised {expected}, measured {measured} bytes of catalogs: {expected / measured - 1:+.1%}"
    )
    assert abs(expected / measured - 1) < 0.1


@pytest.mark.long
@pytest.mark.parametrize("fixture", GENERATION)
def test_memory_of_a_session(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = GENERATION[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_gain_memory")
    measure.skip_unreadable(dsn)
    columns = "d date, " + ", ".join(f"c{n} int" for n in range(24))
    days = 240
    if generation.startswith("gp"):
        made.execute(
            dsn,
            f"CREATE TABLE held ({columns}) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (c0) PARTITION BY RANGE (d)"
            f" (START (date '2020-01-01') END (date '2020-08-28') EVERY (interval '1 day'))",
        )
    else:
        made.execute(
            dsn,
            f"CREATE TABLE held ({columns}) PARTITION BY RANGE (d)",
            *zoo._pg_days("held", first="2020-01-01", number=days),
        )
    made.execute(
        dsn,
        "CREATE INDEX held_c1 ON held (c1)",
        f"INSERT INTO held (d, c0) SELECT date '2020-01-01' + n, r FROM generate_series(0, {days - 1}) n, generate_series(1, 12) r",
    )
    plan = made.plan_of(dsn)
    before, after = session_memory(plan.tables)
    assert sum(t.leaves_after for t in plan.tables) <= 9
    sizes = [measure.session_bytes(dsn, "SELECT * FROM held")]
    files = made.written(dsn, tmp_path / "sql", plan)
    files.all()
    sizes.append(measure.session_bytes(dsn, "SELECT * FROM held"))
    first, last = (max(own, there or 0) for own, there in sizes)
    print(f"{generation}: {(before - after) >> 10} KB said, {(first - last) >> 10} KB measured")
    assert (before - after) / 1.5 <= first - last <= (before - after) * 1.5
