"""The maintenance script on every server: it frees the promised space, and leaves the rows of pg_attribute in order."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from gpcatalog.audit import rules
from gpcatalog.audit.auxiliary import Auxiliary, AuxiliaryRelation
from gpcatalog.audit.build import build
from gpcatalog.audit.report import CatalogRow, Report, ServerFacts
from gpcatalog.audit.verdicts import bloat_limits
from gpcatalog.capacity import session_start
from gpcatalog.lab.postgres import PrivateServer
from gpcatalog.migration import vacuum_full
from gpcatalog.migration import window as gates
from gpcatalog.migration.maintenance import rates, script, treatments
from gpcatalog.migration.window import LOCK, Window
from gpcatalog.store.snapshot import Snapshot
from tests import greenplum
from tests.conftest import binaries_of, fresh_database
from tests.live_report import report_of
from tests.program import PSQL

CHURN = "CREATE TEMP TABLE step (a int, b int, c text, d text, e numeric, f date, g int, h text, i int, j int, k text, l text); DROP TABLE step;"

LOADS = (
    "CREATE TABLE load (k int, a int, b text, c text, d numeric, e int, f text, g text, h int, i int) WITH (appendonly=true,"
    " orientation=column) DISTRIBUTED BY (a) PARTITION BY RANGE (k) (START (0) END (100) EVERY (1)); DROP TABLE load;"
)


def psql(dsn: str, file: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    return subprocess.run(
        [PSQL, "-X", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-f", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )


SERVERS = ["gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn"]


def tired(server: str, name: str) -> str:
    """A new database with bloated catalogs."""
    dsn = fresh_database(server, name)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET client_min_messages = error")
        for _ in range(16 if "gpadmin" in dsn else 150):
            conn.execute(LOADS if "gpadmin" in dsn else CHURN * 20)
    return dsn


@pytest.mark.long
@pytest.mark.parametrize("window", [None, 3600.0])
@pytest.mark.parametrize("server", SERVERS)
def test_gives_back_what_it_promised(
    server: str, window: float | None, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = tired(request.getfixturevalue(server), "tired")
    before = report_of(dsn, tmp_path / "before.gpcatalog")
    todo = treatments(before)
    assert {t.relation for t in todo if t.full} >= {"pg_attribute"}
    file = tmp_path / "maintenance.sql"
    file.write_text(script(before, window))
    result = psql(dsn, file)
    assert result.returncode == 0, result.stderr
    assert "not begun" not in result.stdout
    after = report_of(dsn, tmp_path / "after.gpcatalog")

    def worst(report: Report, relation: str) -> tuple[int, int]:
        rows = [
            r for r in report.catalogs if r.relation == relation and r.reclaimable_bytes is not None
        ]
        return max(
            (
                (r.heap_bytes + r.toast_bytes + r.index_bytes, r.reclaimable_bytes or 0)
                for r in rows
            ),
            key=lambda pair: pair[1],
        )

    for one in todo:
        size, promised = worst(before, one.relation)
        left, still = worst(after, one.relation)
        if one.full:
            assert size - left >= 0.9 * promised, one
            assert still <= max(0.25 * left, 262144), one
    assert {t.relation for t in treatments(after) if t.full} == set()
    # a second run does no harm
    assert psql(dsn, file).returncode == 0


@pytest.mark.parametrize("server", SERVERS)
def test_a_window_that_is_too_short_is_continued_the_next_night(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """No step begins that would not end in the window; the next script contains the remaining steps, largest gain first."""
    dsn = tired(request.getfixturevalue(server), "tired_nights")
    before = report_of(dsn, tmp_path / "before.gpcatalog")
    todo = treatments(before)
    assert len(todo) > 2
    # the durations that the script itself uses
    needs = sorted(map(float, re.findall(r":started \+ ([\d.]+) <=", script(before, 9e9))))
    assert needs[0] > 0
    file = tmp_path / "maintenance.sql"
    nothing = psql(dsn, written(file, script(before, min(needs) / 4)))
    assert nothing.returncode == 0, nothing.stderr
    statements = sum(len(steps_of(script(before, 9e9), t.relation)) for t in todo)
    statements += "gpadmin" not in dsn  # moving rows back: on Greenplum, only a warning
    assert nothing.stdout.count("not begun") == statements
    assert total(report_of(dsn, tmp_path / "same.gpcatalog")) > 0.95 * total(before)
    assert needs[-1] > needs[0] + 1  # a second for the script itself
    some = psql(dsn, written(file, script(before, (needs[0] + needs[-1]) / 2)))
    assert some.returncode == 0, some.stderr
    assert 0 < some.stdout.count("not begun") < statements
    left = report_of(dsn, tmp_path / "left.gpcatalog")
    rest = treatments(left)
    assert [t.reclaimable for t in rest] == sorted((t.reclaimable for t in rest), reverse=True)
    last = psql(dsn, written(file, script(left, 3600)))
    assert last.returncode == 0, last.stderr
    after = report_of(dsn, tmp_path / "after.gpcatalog")
    assert [t.relation for t in treatments(after) if t.full or t.reindex] == []
    assert total(after) < total(before) / 2


def written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def steps_of(text: str, relation: str) -> list[str]:
    """Statements on one catalog in a script with a window."""
    return re.findall(rf"(?:THEN|ELSE) '(\w[A-Z ]* pg_catalog\.{relation})'", text)


def total(report: Report) -> int:
    """Total bytes of all catalogs."""
    return sum(t.bytes for t in report.instance_totals)


@pytest.mark.parametrize("server", SERVERS)
def test_never_two_at_once(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "alone")
    report = report_of(dsn, tmp_path / "s.gpcatalog")
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        catalogs = build(snapshot).catalogs
    file = written(tmp_path / "m.sql", script(msgspec.structs.replace(report, catalogs=catalogs)))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"SELECT pg_advisory_lock({LOCK[0]}, {LOCK[1]})".encode())
        result = psql(dsn, file)
        assert result.returncode == 3
        assert "another maintenance script is running in this database" in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize("server", SERVERS)
def test_reindex_waits_for_no_open_ddl(
    server: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REINDEX of a catalog would wait for a session with DDL, holding a lock that blocks all DDL."""
    monkeypatch.setattr(gates, "WAIT_SECONDS", 0.5)
    dsn = fresh_database(request.getfixturevalue(server), "open_ddl")
    gated = gates.without_open_ddl("REINDEX TABLE pg_catalog.pg_class")
    file = written(tmp_path / "reindex.sql", "\n".join(gated))
    with psycopg.connect(dsn) as conn:
        free = psql(dsn, file)
        conn.execute("CREATE TABLE not_committed (a int)")
        time.sleep(5.5)
        waits = psql(dsn, file)
    assert (free.returncode, waits.returncode) == (0, 0)
    assert "not begun" not in free.stdout
    assert "not begun, it would wait" in waits.stdout


def windowed(own_server: PrivateServer, tmp_path: Path, **changed: object) -> Report:
    """A current report of the test server, with the catalogs of the recorded Greenplum."""
    report = report_of(own_server.conninfo("postgres"), tmp_path / "now.gpcatalog")
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        rows = build(snapshot).catalogs
    there = {r.relation for r in report.catalogs}
    rows = tuple(msgspec.structs.replace(r, content=-1) for r in rows if r.relation in there)
    return msgspec.structs.replace(report, **({"catalogs": rows} | changed))


def test_moving_rows_back_is_a_step_of_the_window(
    own_server: PrivateServer, tmp_path: Path
) -> None:
    """CLUSTER holds its lock as long as VACUUM FULL does: it must not begin if it does not fit into the window."""
    report, file = windowed(own_server, tmp_path), tmp_path / "m.sql"
    dsn = own_server.conninfo("postgres")
    result = psql(dsn, written(file, script(report, 0.001)))
    assert result.returncode == 0, result.stderr
    assert "do not fit into the window: order of the rows that a session start" in result.stdout
    assert "not begun" not in psql(dsn, written(file, script(report, 3600))).stdout
    alone = psql(dsn, written(file, script(report, 3600)))
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout.endswith("ANALYZE\nDO\n")


MB = 1 << 20


def _row(relation: str = "pg_attribute", content: int = 0, **changed: object) -> CatalogRow:
    """A catalog of 200 MB with indexes of 40 MB, without bloat."""
    row = CatalogRow(
        content=content,
        relation=relation,
        shared=False,
        rows=1,
        rows_basis="counted",
        heap_bytes=200 * MB,
        toast_bytes=0,
        index_bytes=40 * MB,
        needed_bytes=240 * MB,
        heap_reclaimable=0,
        reclaimable_bytes=0,
        bloat=1.0,
        dead_tuples=0,
        last_vacuum=None,
    )
    return msgspec.structs.replace(row, **changed)


def _treated(*rows: CatalogRow) -> list[tuple[str, bool, bool]]:
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        report = build(snapshot)
    found = treatments(msgspec.structs.replace(report, catalogs=rows))
    return [(t.relation, t.full, t.reindex) for t in found]


def test_limits_of_treatments() -> None:
    """Which catalogs are treated, and how, exactly at each limit and just below it."""
    moderate, significant = (limit.value for limit in bloat_limits("gp6"))

    def bloated(of: int, ratio: float, more: int = 0, **changed: object) -> CatalogRow:
        """A catalog with `of` reclaimable bytes in a heap of `ratio` times the needed size, and `more` reclaimable bytes in indexes."""
        heap = round(of * ratio / (ratio - 1))
        given = {
            "heap_bytes": heap,
            "heap_reclaimable": of,
            "reclaimable_bytes": of + more,
            "bloat": 2.0,
        }
        return _row(**(given | changed))

    name, plain, full, reindex = "pg_attribute", (False, False), (True, False), (False, True)
    cases = [
        (_row(reclaimable_bytes=None, bloat=None), None),
        # 1 MB, and 1.3 times the needed size
        (_row(reclaimable_bytes=MB, heap_reclaimable=MB, bloat=1.3), plain),
        (_row(reclaimable_bytes=MB - 1, heap_reclaimable=MB - 1, bloat=9.0), None),
        (_row(reclaimable_bytes=MB, heap_reclaimable=MB, bloat=1.29), None),
        (_row(reclaimable_bytes=MB, heap_reclaimable=MB, bloat=None), None),
        # 64 MB of a moderately bloated heap, 4 MB of a significantly bloated heap
        (bloated(64 * MB, moderate * 1.01), full),
        (bloated(64 * MB - 1, moderate * 1.01), plain),
        (bloated(64 * MB, moderate * 0.99), plain),
        (bloated(4 * MB, significant * 1.01), full),
        (bloated(4 * MB - 1, significant * 1.01), plain),
        (bloated(4 * MB, significant * 0.99), plain),
        (bloated(64 * MB, significant * 2, shared=True), plain),
        # 512 KB of indexes, if the catalog is not rewritten
        (_row(reclaimable_bytes=MB, heap_reclaimable=MB // 2, bloat=2.0), reindex),
        (_row(reclaimable_bytes=MB, heap_reclaimable=MB // 2 + 1, bloat=2.0), plain),
        (_row(reclaimable_bytes=MB, heap_reclaimable=None, bloat=2.0), reindex),
        (bloated(64 * MB, moderate * 1.01, MB), full),
        (bloated(64 * MB, significant * 2, MB, shared=True), reindex),
    ]
    for row, expected in cases:
        assert _treated(row) == ([] if expected is None else [(name, *expected)]), row
    # the worst instance of each catalog; first the catalog with the most reclaimable space
    small, large = (
        bloated(5 * MB, 1.5, relation="pg_type"),
        bloated(6 * MB, 1.5, relation="pg_index"),
    )
    assert _treated(small, large, _row("pg_type", 1)) == [("pg_index", *plain), ("pg_type", *plain)]
    other = bloated(64 * MB, significant * 2, relation="pg_type", content=1)
    assert _treated(small, large, other) == [("pg_type", *full), ("pg_index", *plain)]


def test_names_of_a_snapshot_stay_names(own_server: PrivateServer, tmp_path: Path) -> None:
    """A catalog name in an untrusted snapshot that contains line breaks and SQL is not run as code."""
    dsn = own_server.conninfo("postgres")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE precious (a int)")
    owned = tmp_path / "owned"
    evil = f"x\nDROP TABLE public.precious; --\n\\! touch {owned}\n'; :step \"y"
    report = windowed(own_server, tmp_path)
    worst = next(r for r in report.catalogs if r.relation == "pg_attribute")
    rows = (msgspec.structs.replace(worst, relation=evil),)
    for window in (None, 3600.0, 0.001):
        text = script(msgspec.structs.replace(report, catalogs=rows), window)
        assert "precious" in text
        result = psql(dsn, written(tmp_path / "m.sql", text))
        assert (result.returncode == 3) == (window != 0.001), (
            result.stderr
        )  # there is no such catalog
        assert not owned.exists()
        with psycopg.connect(dsn) as conn:
            assert conn.execute("SELECT count(*) FROM precious").fetchone() == (0,)


def test_an_unknown_duration_does_not_fit() -> None:
    assert Window(3600).gated("VACUUM x", None) == [
        "-- not begun in a window, its duration is unknown: VACUUM x"
    ]


def test_a_script_of_another_night_is_refused(own_server: PrivateServer, tmp_path: Path) -> None:
    """A script from an old audit is refused, because its order of steps is out of date."""
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        report = build(snapshot)
    old = psql(own_server.conninfo("postgres"), written(tmp_path / "m.sql", script(report, 60)))
    assert old.returncode == 3
    assert "the audit of this script is older than 20 hours" in old.stderr
    assert "REINDEX" not in old.stdout


def test_nothing_to_do_says_so(tmp_path: Path) -> None:
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        report = build(snapshot)
    quiet = msgspec.structs.replace(report, catalogs=())
    text = script(quiet)
    assert "nothing to do" in text
    assert all(line.startswith("--") for line in text.splitlines())


def test_only_what_the_server_names_gets_a_statement() -> None:
    def script_of(
        relation: str,
        kind: str = "block directory",
        bloat: float | None = 288.0,
        window: float | None = None,
    ) -> str:
        one = AuxiliaryRelation(
            schema="s", name="t\nDROP TABLE x; --", relation=relation, kind=kind, segments=1, bytes=9 << 20,
            reclaimable=8 << 20, worst_content=0, worst_bytes=9 << 20, worst_rows=1, worst_needed=32768,
            worst_reclaimable=8 << 20, bloat=bloat,
        )  # fmt: skip
        found = Auxiliary(
            large=1, uncounted=0, bytes=9 << 20, reclaimable=8 << 20, kinds=(), relations=(one,)
        )
        with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
            report = build(snapshot)
        return script(msgspec.structs.replace(report, catalogs=(), auxiliary=found), window)

    output = script_of("pg_aoseg.pg_aoblkdir_16443")
    (statement,) = [line for line in output.splitlines() if "aoblkdir" in line]
    assert statement.startswith("VACUUM FULL pg_aoseg.pg_aoblkdir_16443;  -- ")
    index = script_of("pg_aoseg.pg_aoblkdir_16443_index", "index of a block directory")
    assert "REINDEX INDEX pg_aoseg.pg_aoblkdir_16443_index;" in index
    # in a window, the slowest estimate is used: VACUUM FULL writes the live rows, REINDEX reads everything
    for text, read in ((script_of("pg_aoseg.pg_aoblkdir_16443", window=60.0), 32768),
                       (script_of("pg_aoseg.pg_aoblkdir_16443_index", "index of a block directory", window=60.0), 9 << 20)):  # fmt: skip
        needed = re.search(r":started \+ ([\d.]+) <=", text)
        assert needed is not None
        assert float(needed[1]) == pytest.approx(read / rates()[0], abs=0.06), text
    for little in (None, 1.2):
        assert "VACUUM" not in script_of("pg_aoseg.pg_aoblkdir_16443", bloat=little)
    for other in ("public.orders", "pg_aoseg.orders", "pg_aoseg.pg_aoblkdir_1; DROP TABLE x"):
        assert "VACUUM" not in script_of(other)


# --- the order of the rows in pg_attribute --------------------------------------------------------

WIDE = "CREATE TABLE wide{n} ({columns})"
LIMIT = 16 << 20  # bytes of pg_attribute that a session start may read


def widen(dsn: str, tables: int, columns: int) -> None:
    """Make pg_attribute large."""
    listed = ", ".join(f"c{n} int" for n in range(columns))
    with psycopg.connect(dsn) as conn:
        for n in range(tables):
            conn.execute(WIDE.format(n=n, columns=listed))


def vacuum_during_a_scan(dsn: str, *before: str) -> None:
    """VACUUM FULL of pg_attribute after a scan that stopped half way: the server remembers this position."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("BEGIN")
        conn.execute("DECLARE c NO SCROLL CURSOR FOR SELECT * FROM pg_catalog.pg_attribute")
        row = conn.execute("SELECT count(*) / 2 FROM pg_catalog.pg_attribute").fetchone()
        assert row is not None
        conn.execute(f"MOVE {row[0]} IN c")
        conn.execute("COMMIT")
        for statement in before:
            conn.execute(statement)
        conn.execute("VACUUM FULL pg_catalog.pg_attribute")


def pages_read_at_start(dsn: str) -> float:
    """Number of blocks of pg_attribute that a session start without pg_internal.init reads, as the server counts them."""
    counted = "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_sys_tables WHERE relname = 'pg_attribute'"

    def settled(conn: psycopg.Connection) -> int:
        """The counter when it no longer changes: a session reports its reads when it ends."""
        before = -1
        while True:
            row = conn.execute(counted).fetchone()
            assert row is not None
            if row[0] == before:
                return int(row[0])
            before = row[0]
            time.sleep(1.2)

    starts = 3
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute("SHOW data_directory").fetchone()
        assert row is not None
        first = settled(conn)
        for _ in range(starts):
            for file in Path(row[0]).glob("base/*/pg_internal.init"):
                file.unlink()
            psycopg.connect(dsn).close()
        return (settled(conn) - first) / starts


def start_pages(report: Report, content: int = -1) -> int:
    assert report.session_starts is not None
    return next(s.pages for s in report.session_starts if s.content == content)


def checked(dsn: str, server: ServerFacts, folder: Path) -> str:
    """Run the part of the script that checks the order and return the messages of psql."""
    file = folder / "order.sql"
    lines = ["SET search_path = pg_catalog, pg_temp;", f"{vacuum_full.row_order(server)[1]};"]
    file.write_text("\n".join(lines) + "\n")
    result = psql(dsn, file)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.fixture(params=["15", "newest", "19"])
def small_buffers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that reads even a small catalog with synchronized scans."""
    settings = {"shared_buffers": "'1MB'", "autovacuum": "off", "max_connections": "20"}
    settings |= {"max_locks_per_transaction": "512"}
    with PrivateServer(binaries=binaries_of(request.param), settings=settings) as server:
        yield server.conninfo()


@pytest.mark.postgres
def test_rows_that_sessions_need_first_stay_in_front(small_buffers: str, tmp_path: Path) -> None:
    dsn = small_buffers
    widen(dsn, tables=300, columns=60)
    report = report_of(dsn, tmp_path / "s.gpcatalog")
    server, first = report.server, start_pages(report)
    assert 100 < first < 400
    by_index = pages_read_at_start(dsn) - first  # read by index: independent of the row order
    vacuum_during_a_scan(dsn)
    report = report_of(dsn, tmp_path / "displaced.gpcatalog")
    displaced = start_pages(report)
    assert displaced * 8192 > LIMIT  # the server has the flaw
    assert pages_read_at_start(dsn) == pytest.approx(displaced + by_index, abs=40)
    assert [f.rule for f in rules.run(report)].count("bootstrap-rows-displaced") == 1

    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE ROLE ordinary LOGIN")
    messages = checked(dsn.replace("user=postgres", "user=ordinary"), server, tmp_path)
    assert f"each start reads {displaced} pages of pg_attribute" in messages

    def again(name: str) -> int:
        return start_pages(report_of(dsn, tmp_path / f"{name}.gpcatalog"))

    assert again("unchanged") == displaced
    text = script(msgspec.structs.replace(report, catalogs=()))  # nothing else to do
    assert not re.search(r"^(VACUUM|REINDEX)", text, re.M)
    file = tmp_path / "maintenance.sql"
    file.write_text(text)
    assert psql(dsn, file).returncode == 0
    assert again("moved_back") <= first + 20
    vacuum_during_a_scan(dsn, *[s for s in vacuum_full.settings() if not s.startswith("--")])
    assert again("prevented") <= first + 20


@pytest.mark.parametrize("fixture", ["gp6_cluster", "gp7_cluster"])
def test_displaced_rows_of_instances_are_named_and_moved_back(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cluster: greenplum.Cluster = request.getfixturevalue(fixture)
    dsn = fresh_database(
        cluster.dsn("template1") if fixture == "gp7_cluster" else cluster.dsn(), "row_order"
    )
    widen(dsn, tables=150, columns=80)
    server = report_of(dsn, tmp_path / "s.gpcatalog").server
    assert checked(dsn, server, tmp_path) == ""

    role = "gp_session_role" if fixture == "gp6_cluster" else "gp_role"
    with psycopg.connect(dsn) as conn:
        ports = dict(
            conn.execute(
                "SELECT content, port FROM gp_segment_configuration WHERE role = 'p'"
            ).fetchall()
        )
    worst = max(ports)
    for content in (-1, worst):  # manually: the newest version of a row is at the end
        alone = re.sub(r"port=\d+", f"port={ports[content]}", dsn) + f" options='-c {role}=utility'"
        with psycopg.connect(alone, autocommit=True) as conn:
            conn.execute("SET allow_system_table_mods = on")
            conn.execute(
                "UPDATE pg_catalog.pg_attribute SET attnum = attnum"
                f" WHERE attrelid IN ({session_start.OIDS})"
            )
    report = report_of(dsn, tmp_path / "displaced.gpcatalog")
    (finding,) = [f for f in rules.run(report) if f.rule == "bootstrap-rows-displaced"]
    assert finding.content in (-1, worst)
    messages = checked(dsn, server, tmp_path)
    found = re.findall(r"slowly on content (-?\d+): each start reads (\d+) .* Run: (.*)", messages)
    assert [int(content) for content, _, _ in found] == [-1, worst], messages
    assert [int(n) for _, n, _ in found] == [start_pages(report, c) for c in (-1, worst)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    for _, _, command in found:
        local = command.replace("-d DATABASE", "-d row_order -U gpadmin").replace(
            "-h localhost", "-h 127.0.0.1"
        )
        subprocess.run(["bash", "-c", local], check=True, env=environment, capture_output=True)
    assert checked(dsn, server, tmp_path) == ""


def test_known_problems_by_version() -> None:
    with Snapshot(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog") as snapshot:
        server = build(snapshot).server

    def named(generation: str, version: str) -> list[str]:
        facts = msgspec.structs.replace(server, generation=generation, version=version)
        return [h.source.split(",")[0].split(";")[0] for h in vacuum_full.hazards(facts)]

    assert named("gp6", "6.25.3") == ["gpdb issue 10848"]  # no release without it is known
    assert named("gp6", "6.23.1") == ["gpdb issue 10848", "gpdb issue 13453"]
    assert named("gp6", "6.7.1") == ["gpdb issues 10933", "gpdb issue 10848", "gpdb issue 13453"]
    assert named("gp6", "main build dev") == named("gp6", "6.0.0")
    assert named("gp7", "7.0.0") == []
    assert named("pg14", "14.1") == ["timescaledb issues 3188", "measured on PostgreSQL 15"]
    assert named("pg19", "19beta1") == ["measured on PostgreSQL 15"]
