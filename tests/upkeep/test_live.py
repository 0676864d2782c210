"""A fortnight of nights on live servers, some of them interrupted; and requirements and prohibitions for single nights."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import psycopg
import pytest
import typer

from gpcatalog.audit import rules
from gpcatalog.audit.build import build
from gpcatalog.audit.report import Report
from gpcatalog.migration import introspect
from gpcatalog.model.scope import Scope
from gpcatalog.planner import policy as policies
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.services import upkeep
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.migration import made
from tests.migration.test_locks import counted, counting
from tests.upkeep.year import HISTORY, SHAPES, Year, server_of

pytestmark = pytest.mark.usefixtures("one_day")
SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"]
FIRST = date(2025, 3, 20)  # clocks change in Berlin on the 30th


@pytest.mark.long
@pytest.mark.parametrize("fixture", SERVERS)
def test_fortnight(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_fortnight")
    year = Year(dsn, server_of(dsn), FIRST, kills=0.25)
    year.make()
    for n in range(14):
        year.night(FIRST + timedelta(n))
        year.day(FIRST + timedelta(n))
    assert not year.errors
    assert year.interrupted
    assert not list(year.compare())
    leaves = year.leaves()
    # days of the hot window and of the cover, three merged months, the default partition
    assert leaves["two_levels"] < 2 * (HISTORY + 14) * 0.75
    assert leaves["plain"] < leaves["empty_default"]
    archived = made.fetch(dsn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'archive'")
    assert archived[0][0] > 0
    # rows of a gap were moved from the default partition to a partition of their own
    parent = (
        "ONLY rows_in_default_other"
        if year.server.startswith("pg")
        else "rows_in_default_1_prt_other"
    )
    gap = made.fetch(dsn, f"SELECT count(*) FROM {parent} WHERE k = '{FIRST - timedelta(9)}'")
    assert gap == [(0,)]


def night(
    dsn: str,
    rules: str,
    *,
    day: date | None = None,
    allow_drop: bool = False,
    as_is: bool = False,
    meanwhile: str = "",
) -> tuple[Year, str]:
    """The script of one night, and its runner; meanwhile: statements that are run after the snapshot."""
    year = Year(dsn, server_of(dsn), day or datetime.now(UTC).date(), shapes=())
    year.policy = policies.loads(rules)
    with connect(dsn) as session, tempfile.TemporaryDirectory() as folder:
        path = collect(session, Path(folder) / "now.gpcatalog", scope=Scope.PLAN)
        if meanwhile:
            made.execute(dsn, meanwhile)
        with Snapshot(path) as snapshot:
            now = upkeep.today_of(day.isoformat()) if day else None
            prepared = upkeep.prepare(snapshot, year.policy, now)
            work = upkeep.night_work(session, prepared, allow_drop=allow_drop)
            year.errors = [r.reason for r in work.refused] + list(work.notes)
            text = upkeep.script_of(session, work)
    if day and not as_is:
        text = text.replace(f"'{day}'::date", f"'{datetime.now(UTC).date()}'::date")
    return year, text


def daily(dsn: str, name: str, days: int, *, more: str = "", first: date | None = None) -> None:
    """Create a table of `days` daily partitions, the last of which ends tomorrow, with two rows in each."""
    today = first or datetime.now(UTC).date()
    start = today - timedelta(days - 1)
    gp = server_of(dsn).startswith("gp")
    if gp:
        made.execute(
            dsn,
            f"CREATE TABLE {name} (d date NOT NULL, v int{more}) WITH (appendonly=true,"
            " orientation=column, compresstype=zlib, compresslevel=5) DISTRIBUTED BY (v) PARTITION BY"
            f" RANGE (d) (START ('{start}') END ('{today + timedelta(1)}') EVERY (interval '1 day')"
            " WITH (appendonly=true, orientation=column, compresstype=zlib, compresslevel=5))",
        )
    else:
        made.execute(
            dsn,
            f"CREATE TABLE {name} (d date NOT NULL, v int{more}) PARTITION BY RANGE (d)",
            *(
                f"CREATE TABLE {name}_{start + timedelta(n):%Y%m%d} PARTITION OF {name} FOR VALUES"
                f" FROM ('{start + timedelta(n)}') TO ('{start + timedelta(n + 1)}')"
                for n in range(days)
            ),
        )
    made.execute(
        dsn,
        f"INSERT INTO {name} (d, v) SELECT date '{start}' + n, n FROM generate_series(0, {days - 1}) n",
    )


ALL = '[default]\nautomatic_maintenance = true\npremake = "5d"\nhot_days = 10\n'


@pytest.mark.parametrize("fixture", SERVERS)
def test_one_broken_table_of_many(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_broken")
    for n in range(8):
        daily(dsn, f"t{n}", 5)
    year, text = night(dsn, ALL)
    # after the script was written, its owner creates a partition that overlaps the next two days
    two = datetime.now(UTC).date() + timedelta(1)
    span = (two, two + timedelta(2))
    if year.server.startswith("gp"):
        made.execute(dsn, f"ALTER TABLE t3 ADD PARTITION odd START ('{span[0]}') END ('{span[1]}')")
    else:
        made.execute(
            dsn,
            f"CREATE TABLE t3_odd PARTITION OF t3 FOR VALUES FROM ('{span[0]}') TO ('{span[1]}')",
        )
    done = year.run(text)
    assert done.returncode == 3, done.stderr
    assert "tables with a failed step: 1;" in done.stderr
    assert "t3" in done.stderr
    leaves = year.leaves()
    assert leaves["t3"] == 6
    assert {leaves[f"t{n}"] for n in range(8) if n != 3} == {10}
    failed = made.fetch(
        dsn, "SELECT relation, detail FROM gpcatalog_journal.upkeep WHERE state = 'failed'"
    )
    assert [r for r, _ in failed] == ["public.t3"]
    assert "overlap" in failed[0][1]
    # the rest of that table is done after its owner has fixed it
    made.execute(
        dsn,
        "ALTER TABLE t3 DROP PARTITION odd"
        if year.server.startswith("gp")
        else "DROP TABLE t3_odd",
    )
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert year.leaves()["t3"] == 10


@pytest.mark.parametrize("fixture", SERVERS)
def test_a_role_that_means_harm(fixture: str, request: pytest.FixtureRequest) -> None:
    """A superuser runs the script, but a function that the table's owner added to the table must not run."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_harm")
    made.roles(dsn, "upkeep_mallory")
    daily(dsn, "good", 5)
    daily(dsn, "bad", 5)
    made.execute(
        dsn,
        "CREATE FUNCTION harm(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF (SELECT"
        " rolsuper FROM pg_roles WHERE rolname = current_user) THEN RAISE EXCEPTION ''it ran as"
        " superuser''; END IF; RETURN true; END'",
        "ALTER FUNCTION harm(int) OWNER TO upkeep_mallory",
        "GRANT ALL ON SCHEMA public TO upkeep_mallory",
        *(
            f"ALTER TABLE {t} OWNER TO upkeep_mallory"
            for (t,) in made.fetch(
                dsn, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'bad%' ORDER BY 1"
            )
            if t == "bad" or fixture != "gp6_dsn"
        ),
    )
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET ROLE upkeep_mallory")
        conn.execute("CREATE INDEX bad_i ON bad (v) WHERE harm(v)")
    year, text = night(dsn, ALL)
    done = year.run(text)
    assert done.returncode == 3, done.stderr
    assert "would run code of another role" in done.stderr
    assert "it ran as superuser" not in done.stderr
    leaves = year.leaves()
    assert (leaves["good"], leaves["bad"]) == (10, 5)


RETIRE = """
[default]
automatic_maintenance = true
premake = "3d"
hot_days = 10
keep = "20d"
retention = "drop"
"""


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_schema_for_detached_partitions_is_missing(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """The script does not contain a step that would fail in the night."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_no_schema")
    daily(dsn, "t", 30)
    rules = RETIRE.replace('"drop"', '"detach"\nretention_schema = "nowhere"')
    year, text = night(dsn, rules)
    assert "schema nowhere (retention_schema) does not exist: create it" in text
    assert year.run(text).returncode == 3
    made.execute(dsn, "CREATE SCHEMA nowhere")
    year, text = night(dsn, rules)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    found = made.fetch(
        dsn,
        "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'nowhere'",
    )
    assert found[0][0] >= 9


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_no_row_leaves_without_consent(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_consent")
    daily(dsn, "t", 30)
    rows = made.rows_of(dsn, "t")
    year, text = night(dsn, RETIRE)
    assert "DROP PARTITION" not in text
    assert "DROP TABLE public.t" not in text
    assert any("--allow-drop" in e for e in year.errors), year.errors
    assert year.run(text).returncode == 0
    assert made.rows_of(dsn, "t") == rows
    # now with the option; the drop was announced only now
    year, text = night(dsn, RETIRE, allow_drop=True)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert made.rows_of(dsn, "t") == rows
    assert "announced seven days before" in done.stderr
    # clocks that differ by ten years
    today = datetime.now(UTC).date()
    for years in (-10, 10):
        other = today.replace(year=today.year + years, day=1)
        year, text = night(dsn, RETIRE, day=other, allow_drop=True, as_is=True)
        done = year.run(text)
        assert done.returncode == 3, done.stderr
        assert "the date of the server is" in done.stderr
        assert made.rows_of(dsn, "t") == rows
    # seven days later, ten daily partitions are past their retention
    made.execute(dsn, "UPDATE gpcatalog_journal.upkeep SET at = at - interval '7 days'")
    year, text = night(dsn, RETIRE, allow_drop=True)
    assert re.search(r"LOST: public\.t: all rows of t_\w+\n", text)
    removals = len(re.findall(r"(?m)^-- public\.t: drop 1 partition with rows", text))
    assert removals in (9, 10)
    head = f"Upkeep of 1 table: 0 new partitions, 0 merges, 0 removals, at most {removals} drops."
    assert head in text
    assert "A partition is dropped only if a script announced that seven days before." in text
    text, needs = counting(text, greenplum=fixture.startswith("gp"))
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert len(needs) >= removals
    found = counted(needs, done.stdout)
    assert [(need, held) for need, held in found if held > need] == []
    assert max(needs) <= 2 * max(held for _, held in found) + 25
    left = made.fetch(dsn, "SELECT count(*), min(d) FROM t")
    assert left == [(20, today - timedelta(19))] or left == [(21, today - timedelta(20))]


@pytest.mark.long
@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_a_merge_over_several_nights(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_instalments")
    day = date(2025, 8, 20)
    daily(dsn, "t", 60, first=day)
    made.execute(dsn, *["INSERT INTO t SELECT d, v + 60 FROM t"] * 4)
    rows = made.rows_of(dsn, "t")
    budget = "4KB" if fixture.startswith("gp") else "200KB"
    rules = ALL + f'grains = {{ month = "15d" }}\n[upkeep]\nmax_rewrite = "{budget}"\n'
    nights = 0
    copied: list[int] = []
    while True:
        year, text = night(dsn, rules, day=day)
        if text.startswith("-- Nothing to do"):
            break
        # each leaf is copied separately, and all of them again if one has changed since
        copies = Counter(re.findall(r"^ *INSERT INTO .* FROM ONLY (\S+);", text, re.MULTILINE))
        assert set(copies.values()) == {2}, copies
        done = year.run(text)
        assert done.returncode == 0, done.stderr
        nights += 1
        assert nights < 40
        assert made.rows_of(dsn, "t") == rows
        [(number,)] = made.fetch(
            dsn, "SELECT count(*) FROM gpcatalog_journal.step WHERE state = 'copied'"
        )
        copied.append(number)
        if nights == 1:  # a row that is inserted after its leaf was copied
            made.execute(dsn, "INSERT INTO t VALUES ('2025-07-02', -1), ('2025-07-30', -2)")
            rows = made.rows_of(dsn, "t")
        if year.leaves()["t"] < 40:
            break
    assert nights > 1, copied
    assert copied == sorted(copied)
    assert year.leaves()["t"] <= 32


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn", "pg_dsn"])
def test_races(fixture: str, request: pytest.FixtureRequest) -> None:
    """Another job creates the same partitions while the script runs: no error on either side."""
    from tests.upkeep.measure import race

    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_races")
    errors, leaves = race(dsn)
    assert not errors
    assert leaves == {f"t{n}": 9 for n in range(10)}


@pytest.mark.parametrize("fixture", SERVERS)
def test_a_new_partition_equals_the_newest(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_equal")
    made.roles(dsn, "upkeep_owner", "upkeep_reader")
    server = server_of(dsn)
    gp = server.startswith("gp")
    today = datetime.now(UTC).date()
    daily(dsn, "t", 5, more=", note text DEFAULT 'a', amount numeric(10,2) CHECK (amount >= 0)")
    newest = f"t_1_prt_{5}" if gp else f"t_{today:%Y%m%d}"
    made.execute(
        dsn,
        "ALTER TABLE t ALTER COLUMN v SET STATISTICS 77",
        "CREATE INDEX t_v ON t (v)",
        "CREATE INDEX t_note ON t (note) WHERE v > 3",
        "ALTER TABLE t OWNER TO upkeep_owner",
        "GRANT SELECT ON t TO upkeep_reader",
        *([] if gp else ["ALTER TABLE t ALTER COLUMN note SET STORAGE EXTERNAL"]),
        *([] if gp else [f"ALTER TABLE {newest} SET (fillfactor = 71)"]),
        *([] if gp else [f"GRANT UPDATE (note) ON {newest} TO upkeep_reader"]),
        *([] if gp else [f"ALTER TABLE {newest} ALTER COLUMN note SET STATISTICS 55"]),
    )
    year, text = night(dsn, ALL)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    oid = made.fetch(dsn, "SELECT 't'::regclass::oid::int8")[0][0]
    with connect(dsn) as session:
        table = introspect.read(session.rows, session.server, oid)
        assert table is not None
        leaves = table.leaves(oid)
        introspect.read_details(session.rows, table, [leaf.oid for leaf in leaves])
    assert len(leaves) == 10
    old = next(leaf for leaf in leaves if leaf.name == newest)
    new = [leaf for leaf in leaves if leaf.oid > old.oid and leaf.oid not in {old.oid}][-5:]

    def portrait(leaf: introspect.Relation) -> dict[str, object]:
        return {
            "owner": leaf.owner,
            "grants": sorted(w for g in leaf.grants for w in g.words),
            "storage": leaf.storage,
            "options": leaf.options,
            "tablespace": leaf.tablespace,
            "distribution": leaf.distribution,
            "columns": [replace(c, options="") for c in table.columns[leaf.oid]],
            "indexes": sorted((i.body, i.constraint_kind) for i in table.indexes[leaf.oid]),
            "traits": dict(table.traits[leaf.oid]),
        }

    for leaf in new:
        assert portrait(leaf) == portrait(old), leaf.name


def test_nothing_to_do(pg_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A first night with nothing to do leaves a journal that `status` reads; an old script leaves nothing."""
    from gpcatalog.commands.upkeep import status

    dsn = fresh_database(pg_dsn, "upkeep_idle")
    # up to the day after tomorrow, because late in the evening the next hour needs it
    daily(dsn, "t", 7, first=datetime.now(UTC).date() + timedelta(2))
    policy = tmp_path / "policy.toml"
    policy.write_text(ALL.replace("5d", "1h"))
    year, text = night(dsn, policy.read_text())
    assert text.startswith("-- Nothing to do tonight.")
    old = text.replace(str(datetime.now(UTC).date()), "2025-01-01")
    done = year.run(old)
    assert done.returncode == 3
    assert "this script is for 2025-01-01" in done.stderr
    with pytest.raises(typer.Exit):
        status(conninfo=dsn, policy=str(policy))
    assert "no script of upkeep has run on this database" in capsys.readouterr().out
    assert year.run(text).returncode == 0
    status(conninfo=dsn, policy=str(policy))
    assert "OK" in capsys.readouterr().out


def audited(dsn: str) -> Report:
    with connect(dsn) as session, tempfile.TemporaryDirectory() as folder:
        path = collect(session, Path(folder) / "now.gpcatalog", scope=Scope.PLAN)
        with Snapshot(path) as snapshot:
            report = build(snapshot)
    return msgspec.structs.replace(report, findings=rules.run(report))


@pytest.mark.parametrize("fixture", SERVERS)
def test_an_audit_sees_upkeep(fixture: str, request: pytest.FixtureRequest) -> None:
    """The next audit contains the journal entries of scripts, and missing future partitions."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_audited")
    mine = {"premake-cover-low", "partition-gap", "upkeep-overdue"}
    daily(dsn, "t", 5)
    daily(dsn, "u", 5)
    made.execute(dsn, 'ALTER TABLE u RENAME TO "odd $gpcatalog$ name"')
    before = audited(dsn)
    assert before.upkeep is None
    today = datetime.now(UTC)
    if today.hour > 0:
        assert [f.rule for f in before.findings if f.rule in mine] == ["premake-cover-low"]
    _, text = night(dsn, ALL)
    assert Year(dsn, server_of(dsn), today.date(), shapes=()).run(text).returncode == 0
    year, idle = night(dsn, ALL)
    assert idle.startswith("-- Nothing to do tonight.")
    assert year.run(idle).returncode == 0
    after = audited(dsn)
    assert not [f for f in after.findings if f.rule in mine]
    assert after.upkeep is not None
    assert (after.upkeep.tables, after.upkeep.failures, after.upkeep.overdue) == (2, (), False)
    cover = after.partition_cover
    expected = (
        2.5 if server_of(dsn) == "gp6" else 4.0
    )  # Greenplum 6 creates half of the cover at once
    assert cover is not None
    assert [(t.name, t.days is not None and t.days > 3, t.wanted_days) for t in cover.least] == [
        ("odd $gpcatalog$ name", True, expected),
        ("t", True, expected),
    ]
    # a policy that requires more, and for only one table; the script with nothing to do records that, too
    year, text = night(
        dsn,
        ALL.replace("true", "false")
        + "[[table]]\nmatch = 'public.t'\nautomatic_maintenance = true\npremake_batch = '0d'\n",
    )
    assert year.run(text).returncode == 0
    later = audited(dsn)
    assert later.upkeep is not None
    assert later.upkeep.tables == 1
    # a partition is dropped
    day = today.date() + timedelta(2)
    made.execute(
        dsn,
        f"ALTER TABLE t DROP PARTITION FOR ('{day}')"
        if server_of(dsn).startswith("gp")
        else f"DROP TABLE t_{day:%Y%m%d}",
    )
    found = audited(dsn)
    assert sorted(f.rule for f in found.findings if f.rule in mine) == [
        "partition-gap",
        "premake-cover-low",
    ]
    assert next(f for f in found.findings if f.rule == "premake-cover-low").relations == (
        "public.t",
    )


@pytest.mark.parametrize("fixture", SERVERS)
def test_other_roles_may_read_the_journal_and_no_more(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_watched")
    made.roles(dsn, "upkeep_watcher")
    made.execute(dsn, "ALTER ROLE upkeep_watcher LOGIN")
    daily(dsn, "t", 5)
    year, text = night(dsn, ALL)
    assert year.run(text).returncode == 0
    journal = "gpcatalog_journal.upkeep"
    rights = (
        f"SELECT has_table_privilege('upkeep_watcher', '{journal}', 'SELECT'),"
        f" has_table_privilege('upkeep_watcher', '{journal}', 'INSERT')"
    )
    read = (
        "GRANT USAGE ON SCHEMA gpcatalog_journal TO upkeep_watcher",
        f"GRANT SELECT ON {journal} TO upkeep_watcher",
    )
    # both kinds of scripts revoke all privileges except reading
    for again in (text, night(dsn, ALL)[1]):
        made.execute(dsn, *read, f"GRANT INSERT ON {journal} TO upkeep_watcher")
        assert year.run(again).returncode == 0
        assert made.fetch(dsn, rights) == [(False, False)]
        made.execute(dsn, *read)
        assert year.run(again).returncode == 0
        assert made.fetch(dsn, rights) == [(True, False)]
    user = re.sub(r"user=\w+", "user=upkeep_watcher", dsn)
    seen = audited(user).upkeep
    assert seen is not None
    assert (seen.tables, seen.failures) == (1, ())
    made.execute(dsn, "GRANT CREATE ON SCHEMA gpcatalog_journal TO upkeep_watcher")
    done = year.run(text)
    assert done.returncode == 3
    assert "has objects or grants of roles other than" in done.stderr


def test_what_was_refused_ends_psql_with_an_error(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_refused")
    daily(dsn, "good", 5)
    daily(dsn, "bad", 5)
    made.execute(dsn, f"COMMENT ON TYPE bad_{datetime.now(UTC).date():%Y%m%d} IS 'of its own'")
    year, text = night(dsn, ALL)
    assert "Refused:" in text
    done = year.run(text)
    assert done.returncode == 3, done.stderr
    assert "tables with a failed step: 1;" in done.stderr
    assert "row type" in done.stderr
    leaves = year.leaves()
    assert (leaves["good"], leaves["bad"]) == (10, 5)


def test_a_partition_in_use_since_the_audit_stays(pg_dsn: str) -> None:
    """A view was created after the snapshot: its partition is refused, the others are dropped."""
    dsn = fresh_database(pg_dsn, "upkeep_in_use")
    daily(dsn, "t", 30)
    oldest = f"t_{datetime.now(UTC).date() - timedelta(29):%Y%m%d}"
    view = f"CREATE VIEW seen AS SELECT v FROM {oldest}"
    year, text = night(dsn, RETIRE, allow_drop=True, meanwhile=view)
    assert f"a view uses it: {oldest} (seen)" in year.errors
    assert f"DROP TABLE public.{oldest}" not in text
    next_one = f"t_{datetime.now(UTC).date() - timedelta(28):%Y%m%d}"
    assert f"DROP TABLE public.{next_one}" in text


def test_new_partitions_then_removals_then_merges(pg_dsn: str) -> None:
    """The most urgent steps of a night come first. Merges are last, because they take longest."""
    dsn = fresh_database(pg_dsn, "upkeep_order")
    daily(dsn, "t", 120)
    daily(dsn, "u", 120)
    rules = ALL + 'keep = "110d"\nretention = "detach"\ngrains = { month = "20d" }\n'
    year, text = night(dsn, rules)
    kinds = re.findall(r"(?m)^-- ===== public\.[tu] · (?:upkeep-)?(\w+?)-", text)
    order = list(dict.fromkeys(kinds))
    assert order == ["create", "detach", "merge"], kinds
    assert kinds == sorted(kinds, key=order.index)
    assert f"{kinds.count('merge')} merges, {kinds.count('detach')} removals" in text
    assert year.run(text).returncode == 0


def test_published_tables_get_partitions_and_keep_them(pg_dsn: str) -> None:
    """Subscribers would not receive an exchange; a new partition is published like the others."""
    dsn = fresh_database(pg_dsn, "upkeep_published")
    daily(dsn, "t", 100)
    rules = ALL + 'grains = { month = "20d" }\n'
    year, text = night(dsn, rules, meanwhile="CREATE PUBLICATION p FOR TABLE t")
    reason = "publication p publishes it; subscribers would not get the exchange"
    assert any(reason in error for error in year.errors), year.errors
    year.run(text)
    assert year.leaves()["t"] == 105


def test_a_second_script_is_the_same(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_same")
    daily(dsn, "t", 100)
    rules = ALL + 'grains = { month = "20d" }\n'
    _, one = night(dsn, rules)
    _, two = night(dsn, rules)
    # new partitions have the IDs of their script: they may be removed and created again on the same day
    ids = re.compile(r"[0-9a-f]{12}|(?<=upkeep-\d{8}-)[0-9a-f]{8}")
    assert ids.sub("", one) == ids.sub("", two)
    merges = [set(re.findall(r"merge-[0-9a-f]{12}", text)) for text in (one, two)]
    assert merges[0] == merges[1] != set()


def test_statistics_of_a_partition_are_its_own(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_statistics")
    daily(dsn, "t", 5)
    newest = f"t_{datetime.now(UTC).date():%Y%m%d}"
    made.execute(dsn, f"CREATE STATISTICS own (ndistinct) ON d, v FROM {newest}")
    year, text = night(dsn, ALL)
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    assert year.leaves()["t"] == 10
    assert made.fetch(
        dsn, "SELECT stxname::text, stxrelid::regclass::text FROM pg_statistic_ext"
    ) == [("own", newest)]


def test_ten_of_many_new_partitions_are_listed(pg_dsn: str) -> None:
    dsn = fresh_database(pg_dsn, "upkeep_many")
    daily(dsn, "t", 5)
    _, text = night(dsn, ALL.replace('"5d"', '"12d"'))
    assert len(re.findall(r"(?m)^-- +t_\d{8} FOR VALUES FROM", text)) == 10
    assert re.search("(?m)^-- +… and 2 more$", text)


def test_names_on_three_levels(pg_dsn: str) -> None:
    """A new partition below another one is named after its parent, and not after the root."""
    dsn = fresh_database(pg_dsn, "upkeep_three")
    today = datetime.now(UTC).date()
    made.execute(dsn, "CREATE TABLE t (d date NOT NULL, k int, r text) PARTITION BY RANGE (d)")
    for n in range(5):
        day = today - timedelta(n)
        made.execute(
            dsn,
            f"CREATE TABLE t_{day:%Y%m%d} PARTITION OF t FOR VALUES FROM ('{day}') TO ('{day + timedelta(1)}') PARTITION BY LIST (k)",
            f"CREATE TABLE middle_{n} PARTITION OF t_{day:%Y%m%d} FOR VALUES IN (1) PARTITION BY LIST (r)",
            f"CREATE TABLE leaf_{n} PARTITION OF middle_{n} FOR VALUES IN ('x')",
        )
    made.execute(
        dsn, f"INSERT INTO t SELECT date '{today}' - n % 5, 1, 'x' FROM generate_series(1, 50) n"
    )
    year, text = night(dsn, ALL.replace('"5d"', '"2d"'))
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    new = f"t_{today + timedelta(1):%Y%m%d}"
    assert made.fetch(
        dsn,
        "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND relname LIKE"
        f" '{new}%' ORDER BY length(relname)",
    ) == [(new,), (f"{new}_middle_0",), (f"{new}_middle_0_leaf_0",)]


def test_shapes_have_names() -> None:
    assert len({s.name for s in SHAPES}) == len(SHAPES) == 6


@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_rows_that_a_trigger_keeps_in_the_default(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_unmoved")
    daily(dsn, "t", 5)
    soon = datetime.now(UTC).date() + timedelta(2)
    default = (
        "ALTER TABLE t ADD DEFAULT PARTITION rest"
        if fixture.startswith("gp")
        else "CREATE TABLE t_rest PARTITION OF t DEFAULT"
    )
    made.execute(
        dsn,
        default,
        f"INSERT INTO t VALUES ('{soon}', 1)",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW EXECUTE PROCEDURE f()",
    )
    rows = made.rows_of(dsn, "t")
    year, text = night(dsn, ALL + 'default_rows = "move"\n')
    reason = "it has a trigger (tr), which would fire when rows of the default partition are moved"
    assert f"created only while the default partition has no rows of their ranges: {reason}" in text
    done = year.run(text)
    assert f"the default partition has rows of its range ({reason})" in done.stderr
    assert made.rows_of(dsn, "t") == rows


@pytest.mark.parametrize("how", ["detach", "drop"])
@pytest.mark.parametrize("fixture", ["gp7_dsn", "pg_dsn", "pgnew_dsn"])
def test_retention_of_a_table_with_foreign_key_and_publication(
    fixture: str, how: str, request: pytest.FixtureRequest
) -> None:
    """A foreign key and a publication prevent merges, but not the retention. A referenced table keeps its partitions."""
    dsn = fresh_database(request.getfixturevalue(fixture), "upkeep_facts")
    made.execute(dsn, "CREATE TABLE dim (v int PRIMARY KEY)")
    made.execute(dsn, "INSERT INTO dim SELECT generate_series(0, 40)")
    for name in ("fact", "target"):
        daily(dsn, name, 30)
    old = made.fetch(
        dsn, "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'fact'::regclass"
    )
    first = min(name for (name,) in old)
    made.execute(
        dsn,
        "ALTER TABLE fact ADD FOREIGN KEY (v) REFERENCES dim",
        "CREATE PUBLICATION facts FOR TABLE fact"
        if not fixture.startswith("gp")
        else "CREATE PUBLICATION facts",
        f"CREATE RULE r AS ON DELETE TO {first} DO ALSO NOTHING",
        "ALTER TABLE target ADD PRIMARY KEY (d, v)",
        "CREATE TABLE refers (d date, v int, FOREIGN KEY (d, v) REFERENCES target)",
    )
    rules = RETIRE.replace('"drop"', f'"{how}"')
    year, text = night(dsn, rules, allow_drop=True)
    assert any("target are past keep and stay: foreign keys" in e for e in year.errors), year.errors
    assert not any("fact are past keep" in e for e in year.errors), year.errors
    done = year.run(text)
    assert done.returncode == 0, done.stderr
    if how == "drop":
        made.execute(dsn, "UPDATE gpcatalog_journal.upkeep SET at = at - interval '7 days'")
        year, text = night(dsn, rules, allow_drop=True)
        assert text.count(f"LOST: public.fact: rule r of {first}\n") == 1
        done = year.run(text)
        assert done.returncode == 0, done.stderr
    left = made.fetch(dsn, "SELECT count(*) FROM fact")[0][0]
    assert left in (20, 21)
    assert made.fetch(dsn, "SELECT count(*) FROM target") == [(30,)]
