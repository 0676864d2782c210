"""--baseline: a snapshot of a live server plus the predicted change must equal the snapshot after the change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gpcatalog.capacity import durations
from gpcatalog.capacity.durations import REFERENCE, Action, Pace
from gpcatalog.capacity.model import Shape
from gpcatalog.check.report import CheckReport
from gpcatalog.check.run import cost_edition, run, server_edition
from gpcatalog.check.settings import Budget, Settings
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source
from gpcatalog.effects.baseline import Baseline
from gpcatalog.emit import check_text
from gpcatalog.model.quantity import duration
from gpcatalog.model.storage import Storage
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.store.snapshot import Snapshot
from tests.capacity.live import Live, own_database
from tests.effects import live_baseline

# objects before the change, and the change; {ao}: the clause of an append-optimized, column-oriented table
CLASSIC_BEFORE = """
CREATE SCHEMA sales;
CREATE TABLE sales.facts (id int, d date, amount numeric(10,2), note text) {ao} DISTRIBUTED BY (id)
  PARTITION BY RANGE (d) (START (date '2024-01-01') END (date '2025-01-01') EVERY (interval '1 month'));
CREATE TABLE sales.dim (id int, name text) DISTRIBUTED BY (id);
CREATE TABLE sales.old (id int, v int) {ao} DISTRIBUTED BY (id);
CREATE INDEX dim_i ON sales.dim (name);
"""
CLASSIC_CHANGE = """
ALTER TABLE sales.facts ADD PARTITION jan25 START (date '2025-01-01') END (date '2025-02-01') {with_};
ALTER TABLE sales.dim ADD COLUMN since date;
CREATE INDEX dim_j ON sales.dim (id, name);
DROP TABLE sales.old;
CREATE TABLE sales.more (a int, t text) {ao} DISTRIBUTED BY (a) PARTITION BY RANGE (a) (START (1) END (5) EVERY (1), DEFAULT PARTITION o);
CREATE TABLE sales.copy (LIKE sales.more) DISTRIBUTED BY (a);
ALTER TABLE sales.more DROP PARTITION FOR (2);
DROP TABLE IF EXISTS sales.copy;
"""
MODERN_BEFORE = """
CREATE SCHEMA sales;
CREATE TABLE sales.facts (id int, d date, note text) PARTITION BY RANGE (d);
CREATE TABLE sales.facts_1 PARTITION OF sales.facts FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE sales.facts_2 PARTITION OF sales.facts FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE sales.facts_3 PARTITION OF sales.facts FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
CREATE TABLE sales.dim (id int, name text);
CREATE TABLE sales.old (id int, v int);
"""
MODERN_CHANGE = """
ALTER TABLE sales.facts ADD COLUMN extra int;
CREATE INDEX facts_i ON sales.facts (d);
DROP TABLE sales.facts_1;
DROP TABLE sales.old;
ALTER TABLE sales.dim ADD COLUMN since date, DROP COLUMN name;
CREATE TABLE sales.more (a serial, t text);
"""
# pg_stat_last_operation: one row on the coordinator for each kind of operation; pg_statistic: not written by the change
_LEFT_OUT = {"pg_stat_last_operation", "pg_statistic"}


def _run(live: Live, script: str) -> None:
    live.work.execute("SET client_min_messages = error")
    for statement in script.split(";"):
        if statement.strip():
            live.work.execute(statement.encode())


def _taken(live: Live, file: Path) -> tuple[Baseline, dict[int, Counter[str]]]:
    """A snapshot as a baseline, and its number of rows in every catalog, by instance."""
    for conn in live.instances.values():
        conn.execute("CHECKPOINT")  # removes the files of dropped relations
    with connect(live.dsn) as session:
        collect(session, file)
    counted: dict[int, Counter[str]] = {}
    with Snapshot(file) as snapshot:
        for row in snapshot.rows(
            "SELECT content, relation, \"rows\" AS n FROM catalog WHERE rows_basis IN ('counted', 'derived')"
        ):
            if row["relation"] not in _LEFT_OUT:
                counted.setdefault(int(row["content"]), Counter())[str(row["relation"])] = int(
                    row["n"]
                )
    return Baseline(file), counted


def _checked(
    known: Baseline, change: str, *, pace: Pace = REFERENCE, **more: object
) -> CheckReport:
    settings = Settings(server=known.generation, segments=known.segments, hosts=known.hosts, **more)  # type: ignore[arg-type]
    state = known.state(cost_edition(server_edition(settings.server)), ZoneInfo("UTC"))
    return run(
        [Source(change, "change.sql")], settings, state=state, baseline=known.totals, pace=pace
    )


def compare(dsn: str, tmp_path: Path, before: str, change: str) -> None:
    with own_database(dsn, "gpcatalog_baseline") as live:
        _run(live, before)
        known, rows = _taken(live, tmp_path / "before.gpcatalog")
        report = _checked(known, change)
        assert report.errors == report.not_understood == 0
        _run(live, change)
        after, rows_after = _taken(live, tmp_path / "after.gpcatalog")
    assert known.totals["leaves"] + report.total.leaves == after.totals["leaves"], (
        known.totals,
        report.total.leaves,
        after.totals,
    )
    assert known.totals["files"] + report.total.files_empty == after.totals["files"] + change.count(
        "serial"
    )  # the list of tables does not contain sequences
    compared = 0
    for content, counted in rows.items():
        added = report.total.rows_coordinator if content < 0 else report.total.rows_segment
        foretold = Counter(counted)
        for catalog, number in added.items():
            if catalog in foretold and catalog not in _LEFT_OUT:
                foretold[catalog] += number
        off = {
            k: (foretold[k], n) for k, n in rows_after[content].items() if foretold.get(k, n) != n
        }
        assert not off, f"content {content}: (foretold, counted) {off}"
        compared += len(foretold)
    print(f"{known.generation}: {compared} totals foretold and found")
    assert compared >= 10


def test_greenplum_6(gp6_dsn: str, tmp_path: Path) -> None:
    columnar = "WITH (appendonly=true, orientation=column)"
    compare(
        gp6_dsn,
        tmp_path,
        CLASSIC_BEFORE.format(ao=columnar),
        CLASSIC_CHANGE.format(ao=columnar, with_=columnar),
    )


def test_greenplum_7(gp7_dsn: str, tmp_path: Path) -> None:
    columnar = "WITH (appendonly=true, orientation=column)"
    compare(
        gp7_dsn,
        tmp_path,
        CLASSIC_BEFORE.format(ao=columnar),
        CLASSIC_CHANGE.format(ao=columnar, with_=""),
    )


def test_postgresql_15(pg_dsn: str, tmp_path: Path) -> None:
    compare(pg_dsn, tmp_path, MODERN_BEFORE, MODERN_CHANGE)


def test_shares_of_limits(pg_dsn: str, tmp_path: Path) -> None:
    """Budgets of the total include existing objects and the change; the limit of lock slots is that of the server."""
    with own_database(pg_dsn, "gpcatalog_baseline") as live:
        _run(live, MODERN_BEFORE)
        known, _ = _taken(live, tmp_path / "before.gpcatalog")
    assert known.totals["leaves"] == 5
    assert known.lock_slots > 1000
    report = _checked(known, MODERN_CHANGE, total=Budget(leaves=3))
    (over,) = [f.finding for f in report.findings if f.finding.rule == "budget-exceeded"]
    # 5 exist, 2 tables are dropped, 1 is added
    assert over.title == "the cluster after the change needs 4 leaves; the budget is 3"
    assert not [
        f
        for f in _checked(known, MODERN_CHANGE, total=Budget(leaves=4)).findings
        if f.finding.rule == "budget-exceeded"
    ]
    unknown = _checked(known, "ALTER TABLE sales.nothing ADD COLUMN a int;")
    assert [f.finding.rule for f in unknown.findings if f.finding.rule == "cost-unknown"]


# --- every kind of statement on every kind of object --------------------------------------------------------------------------------

ANY = """
CREATE SCHEMA sales;
CREATE SCHEMA other;
CREATE TYPE sales.mood AS ENUM ('a', 'b');
CREATE DOMAIN sales.short AS varchar(10);
CREATE TYPE sales.pair AS (a int, b text);
CREATE TABLE sales.plain (id serial PRIMARY KEY, m sales.mood, s sales.short, p sales.pair, v varchar(20), n numeric(8, 2) DEFAULT 1);
CREATE INDEX plain_lower ON sales.plain (lower(v), id) WHERE id > 5;
CREATE TABLE sales.narrow (a int, b date, t text);
ALTER TABLE sales.narrow DROP COLUMN t;
CREATE TABLE other.plain (a int, t text);
CREATE TABLE sales.child (extra int) INHERITS (sales.narrow);
CREATE TABLE sales.refers (id int REFERENCES sales.plain, CHECK (id > 0));
CREATE VIEW sales.seen AS SELECT id, v FROM sales.plain;
CREATE VIEW other.seen_again AS SELECT id FROM sales.seen;
CREATE MATERIALIZED VIEW sales.kept AS SELECT a FROM sales.narrow;
CREATE SEQUENCE sales.numbers;
CREATE UNLOGGED TABLE sales.fast (id int, t text);
CREATE INDEX fast_i ON sales.fast (id);
CREATE TABLE "Odd Name" ("Column A" int, "b""c" text);
CREATE INDEX "Odd Index" ON "Odd Name" ("Column A");
"""
CLASSIC = """
CREATE TABLE sales.days (id int, d date, amount numeric(10, 2), old text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)
  PARTITION BY RANGE (d) (START (date '2009-12-01') END (date '2010-03-01') EVERY (interval '1 month')
    WITH (appendonly=true, orientation=column), DEFAULT PARTITION rest);
ALTER TABLE sales.days DROP COLUMN old;
ALTER TABLE sales.days DROP PARTITION FOR ('2009-12-05');
CREATE INDEX days_id ON sales.days (id);
CREATE TABLE sales.both (id int, d date, r text) DISTRIBUTED BY (id)
  PARTITION BY RANGE (d) SUBPARTITION BY LIST (r) SUBPARTITION TEMPLATE (
    SUBPARTITION usa VALUES ('usa') WITH (appendonly=true, orientation=column), SUBPARTITION eu VALUES ('eu', 'o''x'),
    DEFAULT SUBPARTITION oth)
  (START (date '2010-01-01') END (date '2010-03-01') EVERY (interval '1 month'), DEFAULT PARTITION rest);
CREATE INDEX both_bitmap ON sales.both USING bitmap (r);
CREATE TABLE sales.list (id int, r text) WITH (appendonly=true) DISTRIBUTED BY (id)
  PARTITION BY LIST (r) (PARTITION one VALUES ('a', 'b'), PARTITION two VALUES ('c'));
CREATE TABLE sales.numbered (id int, n int) DISTRIBUTED BY (id)
  PARTITION BY RANGE (n) (PARTITION low START (0) END (10), PARTITION high START (10) END (20));
CREATE INDEX own_index ON sales.numbered_1_prt_low (id);
CREATE INDEX list_own ON sales.list_1_prt_one (id);
CREATE TABLE sales.staging (LIKE sales.numbered) DISTRIBUTED BY (id);
ALTER TABLE sales.numbered ADD PARTITION more START (20) END (30) WITH (appendonly=true, orientation=column);
CREATE TABLE sales.column_store (id int, t text) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id);
CREATE INDEX column_index ON sales.column_store (id);
DROP INDEX sales.column_index;
"""
MODERN = """
CREATE TABLE sales.days (id int, d date, note text) PARTITION BY RANGE (d);
CREATE TABLE sales.days_1 PARTITION OF sales.days FOR VALUES FROM ('2009-12-01') TO ('2010-01-01');
ALTER TABLE sales.days DROP COLUMN note;
CREATE TABLE sales.days_2 PARTITION OF sales.days FOR VALUES FROM ('2010-01-01') TO ('2010-02-01') PARTITION BY LIST (id);
CREATE TABLE sales.days_2_a PARTITION OF sales.days_2 FOR VALUES IN (1, 2);
CREATE INDEX days_2_own ON sales.days_2_a (d, id);
CREATE TABLE sales.attached (x int, y text, id int, d date);
ALTER TABLE sales.attached DROP COLUMN x, DROP COLUMN y;
ALTER TABLE sales.days ATTACH PARTITION sales.attached FOR VALUES FROM ('2010-02-01') TO ('2010-03-01');
CREATE INDEX days_id ON sales.days (id);
CREATE TABLE sales.hashed (id int PRIMARY KEY, t text) PARTITION BY HASH (id);
CREATE TABLE sales.hashed_0 PARTITION OF sales.hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE sales.hashed_1 PARTITION OF sales.hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE sales.generated (id int GENERATED ALWAYS AS IDENTITY, a int, b int GENERATED ALWAYS AS (a + 1) STORED, UNIQUE (b) INCLUDE (a));
"""


def every(dsn: str, tmp_path: Path, *texts: str) -> dict[str, int]:
    """Number of unknown predictions by reason; fails if a prediction is wrong."""
    file = tmp_path / "before.sql"
    file.write_text("".join(texts))
    found = live_baseline.run(dsn, file)
    assert not found.wrong, "\n".join(f"{text}: {said}" for _, text, said in found.wrong)
    assert not found.unread
    assert found.equal >= 150, found.line("")
    return dict(Counter(said for _, _, said in found.unknown))


def test_every_object_of_greenplum_6(gp6_dsn: str, tmp_path: Path) -> None:
    unknown = every(
        gp6_dsn,
        tmp_path,
        ANY.replace("MATERIALIZED VIEW sales.kept", "VIEW sales.kept").replace("UNLOGGED ", ""),
        CLASSIC,
    )
    assert unknown == {"views dropped by CASCADE": 2}


def test_every_object_of_greenplum_7(gp7_dsn: str, tmp_path: Path) -> None:
    assert every(gp7_dsn, tmp_path, ANY, CLASSIC) == {
        "views dropped by CASCADE": 2,
        "whether plain_id_seq exists": 1,
    }


def test_every_object_of_postgresql_15(pg_dsn: str, tmp_path: Path) -> None:
    assert every(pg_dsn, tmp_path, ANY, MODERN) == {
        "views dropped by CASCADE": 2,
        "TOAST relation of attached": 1,
        # snapshots do not contain sequences
        "whether generated_id_seq exists": 1,
        "whether plain_id_seq exists": 1,
    }


def test_every_object_of_postgresql_18(pgnew_dsn: str, tmp_path: Path) -> None:
    assert every(pgnew_dsn, tmp_path, ANY, MODERN) == {
        "views dropped by CASCADE": 2,
        "TOAST relation of attached": 1,
        # snapshots do not contain sequences
        "whether generated_id_seq exists": 1,
        "whether plain_id_seq exists": 1,
    }


def test_locks_on_live_tables(pg_dsn: str, tmp_path: Path) -> None:
    """Which tables are locked, their size, and for how long: a rewrite takes at least as long as writing the table at the assumed rate."""
    with own_database(pg_dsn, "gpcatalog_baseline") as live:
        _run(
            live,
            MODERN_BEFORE
            + "INSERT INTO sales.dim SELECT n, repeat('x', 500) FROM generate_series(1, 20000) n;",
        )
        known, _ = _taken(live, tmp_path / "before.gpcatalog")
        answer = live.work.execute(b"SELECT pg_relation_size('sales.dim')").fetchone()
        assert answer is not None
    change = "ALTER TABLE sales.dim ALTER id TYPE bigint; ALTER TABLE sales.facts ADD COLUMN n int; CREATE TABLE sales.own (a int);"
    report = _checked(known, change + " DROP TABLE sales.own;")
    held = {t.table: t.held for t in report.tables if t.held}
    assert set(held) == {"sales.dim", "sales.facts"}
    (dim,), (facts,) = held["sales.dim"], held["sales.facts"]
    assert (dim.leaves, dim.bytes, dim.rewritten) == (1, int(str(answer[0])), True)
    assert dim.seconds is not None
    assert dim.seconds >= int(str(answer[0])) / (50 << 20)
    assert (facts.leaves, facts.bytes, facts.rewritten) == (3, 0, False)
    took = durations.seconds("pg15", Shape(Storage.HEAP, 8), Action.ADD_COLUMN, 3)
    assert took is not None
    assert facts.seconds is not None
    assert facts.seconds == pytest.approx(took, rel=0.5)  # independent of the number of columns
    scan = int(str(answer[0])) / (50 << 20)  # all rows are read, except with NOT VALID
    for sql, reads in (
        ("ADD CHECK (id > 0)", True),
        ("ADD CHECK (id > 0) NOT VALID", False),
        ("ALTER id SET NOT NULL", True),
        ("ALTER id DROP NOT NULL", False),
    ):
        (lock,) = _checked(known, f"ALTER TABLE sales.dim {sql};").tables[0].held
        assert lock.seconds is not None
        assert (lock.seconds >= scan) == reads, sql
    text = check_text.render(report)
    assert "sales.dim (1 leaf, " in text
    assert "sales.facts (3 leaves, 0 B): 1 statement, about " in text
    assert not [f for f in report.findings if f.finding.rule == "long-lock"]
    slow = Pace(60 / facts.seconds, "speed")  # 60 s for facts, and a little more for dim
    for seconds, expected in ((30, {"sales.dim", "sales.facts"}), (3000, set())):
        found = _checked(known, change, lock_seconds=seconds, pace=slow).findings
        locks = {f.finding.relations[0]: f for f in found if f.finding.rule == "long-lock"}
        assert set(locks) == expected
        if expected:
            finding = locks["sales.facts"].finding
            assert finding.figures[0].value == pytest.approx(60, rel=0.1)
            assert finding.title.endswith(f"for about {duration(finding.figures[0].value)}")
    assert not [t for t in _checked(known, "DROP TABLE IF EXISTS sales.nothing;").tables if t.held]


def test_a_snapshot_without_definitions(tmp_path: Path) -> None:
    """With a snapshot of an older version, the effect that depends on missing definitions is unknown, with this reason."""
    known = Baseline(Path(__file__).parent.parent.parent / "fixtures" / "greenplum6.gpcatalog")
    row = known.snapshot.rows("SELECT \"schema\", name FROM relation WHERE kind = 'root' LIMIT 1")[
        0
    ]
    report = _checked(known, f'ALTER TABLE "{row["schema"]}"."{row["name"]}" ADD COLUMN a int;')
    assert [s.unknown for s in report.statements] != [()]
    assert not report.total.complete
    assert any(
        "which the snapshot does not have" in f.finding.detail + f.finding.title
        for f in report.findings
    ), report.findings


# --- scripts of several statements ----------------------------------------------------------------------------------------------------

BEFORE_SCRIPTS = """
CREATE SCHEMA x;
CREATE SCHEMA y;
CREATE TABLE t (id serial, n int, old text);
ALTER TABLE t DROP COLUMN old;
CREATE TABLE x.t (a int);
CREATE INDEX t_i ON t (n);
CREATE SEQUENCE s;
CREATE TABLE x.plain (a int, b int);
CREATE INDEX idx ON x.plain (a);
CREATE TABLE y.parted (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE y.parted_1 PARTITION OF y.parted FOR VALUES FROM (0) TO (10);
CREATE INDEX idx ON y.parted (a);
CREATE TABLE x.ev (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE x.ev_1 PARTITION OF x.ev FOR VALUES FROM (0) TO (10);
CREATE TABLE x.ev_2 PARTITION OF x.ev FOR VALUES FROM (10) TO (20);
CREATE TABLE y.ev_3 PARTITION OF x.ev FOR VALUES FROM (20) TO (30);
CREATE TABLE y.ev (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE y.ev_1 PARTITION OF y.ev FOR VALUES FROM (0) TO (10);
CREATE TABLE x.above (a int, b int);
CREATE TABLE y.below (c int) INHERITS (x.above);
CREATE MATERIALIZED VIEW y.kept AS SELECT a FROM x.above;
CREATE VIEW seen AS SELECT n FROM t;
CREATE TYPE x.mood AS ENUM ('a');
CREATE TYPE y.mood AS (a int, b text);
CREATE DOMAIN x.date AS text;
CREATE TABLE only_x (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE x.key (a int PRIMARY KEY, b int);
CREATE TABLE y.points (a int REFERENCES x.key, b int);
CREATE FUNCTION y.f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE INDEX key_f ON x.key (y.f(b));
"""
SCRIPTS = [
    "CREATE TABLE IF NOT EXISTS t (a int); CREATE TABLE IF NOT EXISTS public.t (a int); CREATE SEQUENCE IF NOT EXISTS s;"
    "CREATE INDEX IF NOT EXISTS t_i ON t (id); CREATE OR REPLACE VIEW seen AS SELECT n FROM t;"
    "CREATE TABLE IF NOT EXISTS x.ev_2 PARTITION OF x.ev FOR VALUES FROM (10) TO (20);",
    "ALTER TABLE x.ev ADD z int; ALTER TABLE y.ev ADD z int; DROP TABLE IF EXISTS x.ev_1; DROP TABLE y.ev_1;",
    "SET search_path = y; ALTER TABLE x.ev ADD z int; DROP TABLE IF EXISTS ev_2; DROP TABLE ev_1; RESET search_path;",
    "DROP INDEX y.idx; DROP INDEX x.idx;",
    "ALTER INDEX x.idx RENAME TO idx_old; CREATE INDEX idx ON x.plain (b, a); DROP INDEX x.idx; DROP INDEX x.idx_old;",
    "DROP TABLE x.t; ALTER SCHEMA x RENAME TO z; DROP TABLE IF EXISTS z.t; DROP TABLE IF EXISTS z.ev_1; ALTER TABLE z.ev ADD q int;",
    "ALTER TABLE x.above RENAME TO top; ALTER TABLE x.top ADD COLUMN z int; DROP TABLE x.top CASCADE;",
    "ALTER SCHEMA x RENAME TO z; ALTER TABLE z.above ADD COLUMN z int; DROP TABLE z.above CASCADE; DROP TABLE z.key CASCADE;",
    "ALTER TABLE y.below SET SCHEMA x; ALTER TABLE x.above ADD COLUMN z text; DROP TABLE x.above CASCADE;",
    "ALTER TABLE x.ev_1 ADD CHECK (b > 0); ALTER TABLE x.ev RENAME TO ev_old; DROP TABLE x.ev_1; CREATE TABLE x.ev (a int, b int)"
    " PARTITION BY RANGE (a); CREATE TABLE x.ev_1 PARTITION OF x.ev DEFAULT; ALTER TABLE x.ev_old ADD COLUMN k int; DROP TABLE x.ev_old;"
    "DROP TABLE x.ev;",
    "DROP TABLE IF EXISTS plain; DROP TABLE x.plain; DROP TABLE IF EXISTS x.plain;",
    "ALTER TABLE x.ev_1 ADD CONSTRAINT c CHECK (b > 0); BEGIN; ALTER TABLE x.ev ADD COLUMN k int; CREATE INDEX ON x.ev (b); DROP TABLE x.ev;",
    "CREATE TABLE moods (a int, m x.mood); CREATE TABLE dates (d date); DROP SCHEMA y CASCADE;",
    "ALTER SEQUENCE t_id_seq OWNED BY NONE; DROP TABLE t CASCADE; DROP SEQUENCE t_id_seq;",
    "ALTER TABLE t ALTER id DROP DEFAULT; DROP SEQUENCE IF EXISTS t_id_seq;",
    "ALTER TABLE t SET UNLOGGED; ALTER TABLE t SET LOGGED;",
    "ALTER TABLE x.ev RENAME b TO c; CREATE INDEX ON x.ev (c); ALTER TABLE x.ev DROP COLUMN c; DROP TABLE x.ev;",
    "DROP TABLE y.points; DROP TABLE x.key; CREATE TABLE x.key (a int); DROP TABLE x.key;",
    "ALTER TABLE y.parted ADD PRIMARY KEY (a); ALTER TABLE y.parted RENAME CONSTRAINT parted_pkey TO pk; ALTER TABLE y.parted DROP CONSTRAINT pk;",
    "SAVEPOINT a; DROP TABLE x.ev_1; ALTER TABLE x.ev RENAME TO gone; ROLLBACK TO a; ALTER TABLE x.ev ADD COLUMN k int; DROP TABLE x.ev_1;",
    "ALTER TABLE x.ev ADD FOREIGN KEY (b) REFERENCES x.key (a); DROP TABLE x.ev;",
    "DO 'BEGIN DROP TABLE x.ev_1; END'; ALTER TABLE x.ev ADD COLUMN q int; DROP TABLE y.ev;",
]


@pytest.mark.parametrize("fixture", ["pg_dsn", "pgnew_dsn"])
def test_scripts(fixture: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Statements change the schema state correctly: no later prediction that is complete is wrong."""
    with own_database(request.getfixturevalue(fixture), "gpcatalog_baseline") as live:
        _run(live, BEFORE_SCRIPTS)
        known, _ = _taken(live, tmp_path / "before.gpcatalog")
        (edition,) = editions(live.generation)
        wrong, equal, unknown = [], 0, Counter[str]()
        for text in SCRIPTS:
            found = live_baseline.script(live.work, known, edition, text)
            wrong += [(text, *one) for one in found.wrong]
            equal += found.equal
            unknown.update(said for _, _, said in found.unknown)
    assert not wrong, "\n".join(f"{text}\n    {one}: {said}" for text, _, one, said in wrong)
    assert sum(unknown.values()) <= 12, unknown
    assert equal >= 60
