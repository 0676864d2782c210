"""Every fault of fixtures/faults.md on every server on which it can occur: the exit code and message are those of the table, and no
incomplete file and no session are left.

A proxy between the command and the server delays one probe while the fault is caused, so each fault occurs at a known time.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from gpcatalog.store import series
from tests.faults import stage as faults
from tests.faults.proxy import Proxy
from tests.faults.stage import SERVERS, Result, Stage

TABLE = Path(__file__).parent.parent.parent / "fixtures" / "faults.md"
MOMENTS = [
    "settings",
    "relations",
    "scan_class",
]  # probes that every server is asked, early to late


def rows() -> dict[str, tuple[int, str]]:
    """Fault → exit code and output, from the table in fixtures/faults.md."""
    found = {}
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and cells[1].isdigit():
            found[cells[0]] = (int(cells[1]), cells[2])
    return found


def hold(result: Result, fault: str) -> None:
    """Check that the exit code is that of the table, and that the output contains each text in backquotes of the table."""
    code, text = rows()[fault]
    assert (result.code if result.code >= 0 else 128 - result.code) == code, (
        result.code,
        result.err[-800:],
        result.out[-300:],
    )
    for words in re.findall(r"`([^`]+)`", text):
        assert words in result.err + result.out, (words, result.err[-800:], result.out[-800:])
    if result.code > 0:
        result.one_message(result.code, printed="already written: " in result.err)
    assert "Traceback" not in result.err


def test_the_table_is_about_these_tests() -> None:
    """Every fault of the table is tested in this file, on the servers on which it can occur."""
    source = Path(__file__).read_text()
    assert len(rows()) == TABLE.read_text().count("\n") - 2
    for fault in rows():
        assert f'"{fault}"' in source, fault


@pytest.fixture(scope="module", params=SERVERS)
def stage(request: pytest.FixtureRequest) -> Stage:
    return Stage(request.param, request)


@pytest.fixture(scope="module", params=["gp6", "gp7"])
def cluster(request: pytest.FixtureRequest) -> Stage:
    return Stage(request.param, request)


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest, home: Path) -> Iterator[None]:
    """Check after each fault that there is no session on the server and no temporary file, and that all files are complete."""
    yield
    name = next((n for n in ("stage", "cluster") if n in request.fixturenames), None)
    if name is None:
        return
    on: Stage = request.getfixturevalue(name)
    on.settle()
    on.quiet()
    faults.stored(home)
    assert faults.drafts(home) == []


def test_segment_down_before(cluster: Stage, home: Path) -> None:
    cluster.owner.stop_instance(2, "immediate")
    try:
        result = faults.run("audit", cluster.dsn, "--verbose", home=home)
    finally:
        cluster.owner.start_instance(2)
    hold(result, "a segment is down before the audit starts")


@pytest.mark.parametrize("moment", ["segment_class_counts", "relations", "scan_class_dispatched"])
def test_segment_dies_during(cluster: Stage, home: Path, moment: str) -> None:
    with Proxy(
        cluster.port, moment, lambda _: cluster.owner.stop_instance(1, "immediate")
    ) as proxy:
        try:
            result = faults.run("audit", cluster.through(proxy.port), "--verbose", home=home)
        finally:
            cluster.owner.start_instance(1)
        assert moment in proxy.passed
    hold(result, "a segment fails during the audit")


@pytest.mark.parametrize("moment", MOMENTS)
def test_server_restarts_during(stage: Stage, home: Path, moment: str) -> None:
    with Proxy(stage.port, moment, lambda _: stage.restart()) as proxy:
        result = faults.run("audit", stage.through(proxy.port), home=home)
    hold(result, "the coordinator or the server restarts during the audit")


@pytest.mark.long
@pytest.mark.parametrize("moment", ["server", "relations", "scan_class"])
def test_network_is_cut(stage: Stage, home: Path, moment: str) -> None:
    """The network discards all data without an error."""
    with Proxy(stage.port, moment, lambda p: p.swallowing.set()) as proxy:
        result = faults.run(
            "audit", stage.through(proxy.port), "--statement-timeout", "1", home=home
        )
    hold(result, "the network fails during the audit without a reset")


def test_network_swallows_the_greeting(stage: Stage, home: Path) -> None:
    with Proxy(stage.port) as proxy:
        proxy.swallowing.set()
        result = faults.run("audit", stage.through(proxy.port), home=home, PGCONNECT_TIMEOUT="2")
    hold(result, "the network fails before the server answers")


@pytest.mark.parametrize("moment", MOMENTS)
def test_connection_is_reset(stage: Stage, home: Path, moment: str) -> None:
    with Proxy(stage.port, moment, lambda p: p.hang_up()) as proxy:
        result = faults.run("audit", stage.through(proxy.port), home=home)
    hold(result, "the connection is reset")


@pytest.mark.parametrize(
    ("moment", "before"),
    [("guards", 0), ("server", 0), ("guards", 1)],
    ids=["first", "second", "third"],
)
def test_idle_sessions_are_ended(stage: Stage, home: Path, moment: str, before: int) -> None:
    """An audit is complete although the database has a short idle_session_timeout, which its owner may set.

    gpcatalog can change the setting only when it knows the version of the server. In each case, one of the first three statements, and
    all later ones with its name, are sent after the timeout.
    """

    def hold_back(proxy: Proxy) -> None:
        if proxy.passed.count(moment) > before:
            time.sleep(0.3)
        proxy.then = hold_back  # delay the next one, too

    with psycopg.connect(stage.dsn, autocommit=True) as owner:
        if owner.info.server_version < 140000:
            pytest.skip("no idle_session_timeout before PostgreSQL 14")
        owner.execute(f"ALTER DATABASE {faults.DATABASE} SET idle_session_timeout = 100".encode())
        try:
            with Proxy(stage.port, moment, hold_back) as proxy:
                result = faults.run("audit", stage.through(proxy.port), home=home)
        finally:
            owner.execute(f"ALTER DATABASE {faults.DATABASE} RESET idle_session_timeout".encode())
        assert proxy.passed.count(moment) > 1
    hold(
        result,
        "the database ends idle sessions sooner than a network answers (PostgreSQL 14 and later)",
    )


def test_transactions_are_ended(stage: Stage, home: Path) -> None:
    """The same with transaction_timeout, if a statement waits longer than the transactions of the database may last."""
    locked = b"BEGIN; LOCK TABLE pg_catalog.pg_proc IN ACCESS EXCLUSIVE MODE"

    def hold_back(proxy: Proxy) -> None:
        holder = psycopg.connect(stage.dsn, autocommit=True)
        holder.execute(locked)
        threading.Timer(0.4, holder.close).start()
        proxy.then = hold_back  # delay the next one, too

    with psycopg.connect(stage.dsn, autocommit=True) as owner:
        if owner.info.server_version < 170000:
            pytest.skip("no transaction_timeout before PostgreSQL 17")
        owner.execute(f"ALTER DATABASE {faults.DATABASE} SET transaction_timeout = 200".encode())
        try:
            with Proxy(stage.port, "server", hold_back) as proxy:
                result = faults.run("audit", stage.through(proxy.port), home=home)
        finally:
            owner.execute(f"ALTER DATABASE {faults.DATABASE} RESET transaction_timeout".encode())
        assert proxy.passed.count("server") > 1
    assert result.code == 0, result.err


@pytest.mark.parametrize(("words", "fault", "status"), [
    (("--lock-timeout", "0.3"), "AccessExclusiveLock on a catalog, lock timeout", "busy"),
    (("--lock-timeout", "60", "--statement-timeout", "0.7"), "AccessExclusiveLock on a catalog, statement timeout", "timed out"),
])  # fmt: skip
def test_catalog_locked(
    stage: Stage, home: Path, words: tuple[str, ...], fault: str, status: str
) -> None:
    with psycopg.connect(stage.dsn) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_depend IN ACCESS EXCLUSIVE MODE")
        result = faults.run("audit", stage.dsn, "--format", "json", *words, home=home)
        holder.rollback()
    hold(result, fault)
    lost = [c for c in json.loads(result.out)["coverage"] if c["status"] != "read"]
    assert any(c["status"] == status and "pg_depend" in c["probe"] for c in lost), lost


@pytest.mark.parametrize("stage", ["gp6", "gp7"], indirect=True)
def test_catalog_locked_on_one_segment(stage: Stage, home: Path) -> None:
    """A catalog locked on one segment, as by VACUUM FULL in utility mode, must not make the audit wait.

    The segments of Greenplum 6 ignore lock_timeout.
    """
    with psycopg.connect(stage.dsn) as conn:
        port = conn.execute(
            "SELECT port FROM gp_segment_configuration WHERE content = 0 AND role = 'p'"
        ).fetchone()[0]
    role = "gp_session_role" if stage.kind == "gp6" else "gp_role"
    with psycopg.connect(
        make_conninfo(stage.dsn, port=port, options=f"-c {role}=utility")
    ) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_depend IN ACCESS EXCLUSIVE MODE")
        result = faults.run(
            "audit", stage.dsn, "--format", "json", "--lock-timeout", "0.3", home=home
        )
        holder.rollback()
    hold(result, "AccessExclusiveLock on a catalog, lock timeout")
    lost = [c for c in json.loads(result.out)["coverage"] if c["status"] != "read"]
    assert not [c for c in lost if c["status"] == "timed out"], lost  # no wait until the timeout
    assert {c["status"] for c in lost if c["probe"] == "segment_catalog_rows pg_depend"} == {
        "busy"
    }, lost


def test_pg_class_locked(stage: Stage, home: Path) -> None:
    """With a lock on pg_class, no session can be opened; this is reported after the connection timeout or the lock timeout."""
    with psycopg.connect(stage.dsn) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE")
        result = faults.run(
            "audit", stage.dsn, "--lock-timeout", "0.3", home=home, PGCONNECT_TIMEOUT="3"
        )
        holder.rollback()
    hold(result, "AccessExclusiveLock on pg_class")


def test_pg_proc_locked(stage: Stage, home: Path) -> None:
    """With a lock on pg_proc, the session can be opened, but its first statement waits."""
    with psycopg.connect(stage.dsn) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_proc IN ACCESS EXCLUSIVE MODE")
        result = faults.run("audit", stage.dsn, "--lock-timeout", "0.3", home=home)
        holder.rollback()
    hold(result, "AccessExclusiveLock on pg_proc or pg_namespace, which every statement needs")


def test_leaf_locked(stage: Stage, home: Path) -> None:
    with psycopg.connect(stage.dsn) as holder:
        holder.execute(f"LOCK TABLE {stage.leaf} IN ACCESS EXCLUSIVE MODE".encode())
        result = faults.run("audit", stage.dsn, "--format", "json", home=home)
        holder.rollback()
    hold(result, "AccessExclusiveLock on a leaf")
    assert json.loads(result.out)["census"]["leaves"] == 20


def test_disk_full(stage: Stage, home: Path) -> None:
    """A limit of the file size simulates a full disk: writes fail at the same points, for any account that runs the test."""
    child = subprocess.run(
        [sys.executable, "-c", FULL, "audit", stage.dsn],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    result = Result(child.returncode, child.stdout, child.stderr)
    hold(result, "the disk of the snapshot is full")
    assert not list(home.rglob("*.gpcatalog"))


FULL = (
    "import resource, signal, sys; from gpcatalog.cli import main\n"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000)); main()"
)


@pytest.mark.skipif(
    sys.platform != "linux", reason="a small file system can be mounted on Linux only"
)
def test_file_system_full(stage: Stage, tmp_path: Path, home: Path) -> None:
    """A file system of 200 KB, in a separate mount namespace, if the kernel allows one, is full."""
    place = tmp_path / "small"
    place.mkdir()
    mount = f"mount -t tmpfs -o size=200k tmpfs {place} && exec {sys.executable} -m gpcatalog audit '{stage.dsn}' --save {place}/s.gpcatalog"
    child = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if "unshare" in child.stderr or "mount:" in child.stderr:
        pytest.skip(f"no mount namespace here: {child.stderr.strip()}")
    hold(Result(child.returncode, child.stdout, child.stderr), "the disk of the snapshot is full")


def test_output_full(stage: Stage, home: Path) -> None:
    with open("/dev/full", "wb") as full:
        child = subprocess.run(
            [sys.executable, "-m", "gpcatalog", "audit", stage.dsn],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    hold(
        Result(child.returncode, "", child.stderr.decode()),
        "the disk of the standard output is full",
    )
    assert len(faults.stored(home)) == 1


def test_folder_full(stage: Stage, home: Path, tmp_path: Path) -> None:
    """No file of a migration is truncated, because psql would run a truncated file."""
    plan, folder = tmp_path / "plan.json", tmp_path / "sql"
    assert faults.run("plan", stage.dsn, "--format", "json", "-o", str(plan), home=home).code == 0
    child = subprocess.run(
        [sys.executable, "-c", FULL.replace("40000", "6000"), "migrate", str(plan), "-o", str(folder), stage.dsn],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    hold(
        Result(child.returncode, child.stdout, child.stderr),
        "the disk of the output folder of `migrate` is full",
    )
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]
    assert faults.run("migrate", str(plan), "-o", str(folder), stage.dsn, home=home).code == 0
    assert max(p.stat().st_size for p in folder.rglob("*.sql")) > 6000


SIGNALS = {
    signal.SIGINT: "SIGINT (Ctrl-C) at any time",
    signal.SIGHUP: "SIGHUP at any time (the terminal or SSH connection closes, without `nohup`)",
    signal.SIGTERM: "SIGTERM at any time",
    signal.SIGKILL: "SIGKILL at any time",
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", ["relations", "catalog_statistics"])
def test_signal_at_a_probe(stage: Stage, home: Path, number: signal.Signals, moment: str) -> None:
    children: list[subprocess.Popen[str]] = []
    with Proxy(stage.port, moment, faults.interrupting(lambda: children[0], number)) as proxy:
        children.append(faults.start("audit", stage.through(proxy.port), home=home))
        result = faults.end(children[0])
        assert moment in proxy.passed
    hold(result, SIGNALS[number])
    assert not list(home.rglob("*.gpcatalog"))
    swept(home)


@pytest.mark.parametrize("seed", range(4))
def test_signal_at_random(stage: Stage, home: Path, seed: int) -> None:
    """After a signal at any time, also during the save, the file is complete or does not exist."""
    draw = random.Random(f"{stage.kind}{seed}")
    number = draw.choice(list(SIGNALS))
    child = faults.start("audit", stage.dsn, home=home)
    time.sleep(draw.uniform(0.3, 3.5))
    child.send_signal(number)
    result = faults.end(child)
    if result.code == 0:
        return  # the command had ended before the signal
    if result.code == -number and number != signal.SIGKILL:
        # Python had not started completely
        assert result.out == ""
        assert not faults.stored(home)
        return
    if "already written: " in result.err:
        assert len(faults.stored(home)) == 1
    hold(result, SIGNALS[number])
    swept(home)


def swept(home: Path) -> None:
    """Check that files of a killed save are not snapshots, and that the next save removes them."""
    places = {p.parent for p in faults.drafts(home)}
    for place in places:
        from tests.growth import made

        made.write(
            place / "other", made.SnapshotSpec(tables=[made.Table("t", 20000, range(20))])
        ).unlink()
    assert list(series.snapshots()) == [] or all(p.bytes for p in series.snapshots())


def test_two_audits_at_once(stage: Stage, home: Path) -> None:
    """Two audits that start in the same second write two complete files to one series, and `growth` can read them."""
    both = [faults.start("audit", stage.dsn, home=home) for _ in range(2)]
    ended = [faults.end(child) for child in both]
    for result in ended:
        hold(result, "two audits of one database at the same time")
    assert len(faults.stored(home)) == 2
    assert len(list(series.snapshots())) == 2
    assert faults.run("growth", stage.dsn, home=home).code == 0


def test_one_of_two_is_killed(stage: Stage, home: Path) -> None:
    """If one of two audits is killed, the other one is not affected, and the temporary file of the first is not read as a snapshot."""
    first = faults.start("audit", stage.dsn, home=home)
    children: list[subprocess.Popen[str]] = []
    with Proxy(
        stage.port, "relations", faults.interrupting(lambda: children[0], signal.SIGKILL)
    ) as proxy:
        children.append(faults.start("audit", stage.through(proxy.port), home=home))
        faults.end(children[0])
    assert faults.end(first).code == 0
    assert len(faults.stored(home)) == 1
    assert faults.run("audit", stage.dsn, home=home).code == 0
    assert len(faults.stored(home)) == 2
    swept(home)
