"""The command line as users see it: exit codes, messages, formats."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from gpcatalog.cli import _unanswered
from gpcatalog.errors import Exit
from gpcatalog.lab.postgres import PrivateServer, free_port
from gpcatalog.probes.connection import ProbeFailed
from gpcatalog.probes.guards import guards
from tests import program
from tests.conftest import fresh_database, let_in, wait_for_port
from tests.probes import zoo

FIXTURE = Path(__file__).parent.parent / "fixtures" / "greenplum6.gpcatalog"


def run(
    *words: str, env: dict[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    return program.run(*words, env={**os.environ, "COLUMNS": "80", **(env or {})}, timeout=timeout)


def one_message(result: subprocess.CompletedProcess[str], code: int, pattern: str) -> str:
    """Check that the command failed with this code and one clear message, with at most one hint and without a traceback."""
    assert result.returncode == code, (result.returncode, result.stderr)
    assert "Traceback" not in result.stderr
    lines = result.stderr.strip().splitlines()
    assert lines[0].startswith("gpcatalog: "), result.stderr
    assert re.search(pattern, lines[0]), result.stderr
    assert len(lines) <= 2, result.stderr
    assert result.stdout == ""
    return result.stderr


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_nobody_answers() -> None:
    message = one_message(
        run("audit", f"host=127.0.0.1 port={free_port()} dbname=x"), 3, "cannot connect: .*refused"
    )
    assert "hint: check the host and port" in message


@pytest.mark.parametrize(
    "words", [("audit",), ("plan",), ("snapshot", "take"), ("report", "--html", "-")]
)
def test_a_bare_word_is_a_database(words: tuple[str, ...]) -> None:
    """As in psql, an argument that is one word is a database name, in every command that connects."""
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(free_port())}
    one_message(run(*words, "sales", env=where), 3, "cannot connect: .*refused")


def test_host_unknown() -> None:
    one_message(run("audit", "host=no-such-host.invalid dbname=x"), 3, "cannot connect")


@pytest.mark.parametrize(
    "text", ["host=", "dbname='unclosed", "postgresql://[bad", "hots=127.0.0.1 dbname=x"]
)
def test_not_a_connection_string(text: str) -> None:
    result = run("audit", text)
    assert result.returncode in (2, 3)
    one_message(result, result.returncode, "not a connection string|cannot connect")


def test_secrets_are_not_repeated() -> None:
    for text in (
        f"host=127.0.0.1 port={free_port()} password=s3cr3t-xyz",
        "password=s3cr3t-xyz hots=1",
        "postgresql://u:s3cr3t-xyz@127.0.0.1:1/x?bad=1",
    ):
        result = run("audit", text)
        assert result.returncode in (2, 3)
        assert "s3cr3t-xyz" not in result.stdout + result.stderr


class ForeignServer(threading.Thread):
    """A TCP server that sends every client bytes that PostgreSQL would not send, and closes the connection."""

    def __init__(self, greeting: bytes) -> None:
        super().__init__(daemon=True)
        self.greeting = greeting
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def run(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client, contextlib.suppress(ConnectionError):
                client.recv(1024)
                client.sendall(self.greeting)


@pytest.mark.parametrize(
    "greeting",
    [
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        b"220 mail ESMTP\r\n",
        b"\x00\xff" * 64,
        b"",
    ],
)
def test_something_else_answers(greeting: bytes) -> None:
    server = ForeignServer(greeting)
    server.start()
    try:
        one_message(
            run("audit", f"host=127.0.0.1 port={server.port} dbname=x connect_timeout=5"),
            3,
            "did not come from PostgreSQL|cannot connect",
        )
    finally:
        server.socket.close()


def test_database_and_role_missing(pg15_server: PrivateServer) -> None:
    message = one_message(
        run("audit", pg15_server.conninfo("no_such_db")), 3, 'database "no_such_db" does not exist'
    )
    assert "psql -l" in message
    one_message(
        run("audit", pg15_server.conninfo().replace("user=postgres", "user=nobody_here")),
        3,
        'role "nobody_here" does not exist',
    )


def test_wrong_password(pg15_server: PrivateServer, tmp_path: Path) -> None:
    hba = pg15_server.data / "pg_hba.conf"
    before = hba.read_text()
    with psycopg.connect(pg15_server.conninfo(), autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS careful")
        conn.execute("CREATE ROLE careful LOGIN PASSWORD 'right-one'")
        hba.write_text("host all careful 127.0.0.1/32 scram-sha-256\n" + before)
        conn.execute("SELECT pg_reload_conf()")
        time.sleep(0.3)
        try:
            target = pg15_server.conninfo().replace("user=postgres", "user=careful")
            message = one_message(
                run("audit", f"{target} password=wrong-one"), 3, "password authentication failed"
            )
            assert ".pgpass" in message
            assert "wrong-one" not in message
            assert run("snapshot", "take", f"{target} password=right-one").returncode == 0
            passfile = tmp_path / "pgpass"
            passfile.write_text("127.0.0.1:*:*:careful:right-one\n")
            passfile.chmod(0o600)
            assert (
                run("snapshot", "take", target, env={"PGPASSFILE": str(passfile)}).returncode == 0
            )
        finally:
            hba.write_text(before)
            conn.execute("SELECT pg_reload_conf()")


def test_a_pooler_is_refused_in_every_mode_whatever_the_role_has_set(
    pg15_server: PrivateServer, tmp_path: Path
) -> None:
    import shutil

    from gpcatalog.lab import process

    binary = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if binary is None:
        pytest.skip("no pgbouncer installed")
    drops = "ignore_startup_parameters = options"
    with psycopg.connect(pg15_server.conninfo(), autocommit=True) as conn:
        # the first role is read-only by default, the second changes every setting that a session depends on
        conn.execute("CREATE ROLE readonly LOGIN SUPERUSER")
        conn.execute("ALTER ROLE readonly SET default_transaction_read_only = on")
        conn.execute("CREATE ROLE settled LOGIN SUPERUSER")
        for guard in guards(statement_ms=120_000, lock_ms=1000):
            if not guard.since:
                values = (
                    guard.value
                    if guard.name in ("search_path", "DateStyle")
                    else f"'{guard.value}'"
                )
                conn.execute(f"ALTER ROLE settled SET {guard.name} = {values}".encode())
    for mode, extra, role, pattern in (
        ("transaction", "", "postgres", "pooler"),
        (
            "transaction",
            drops,
            "postgres",
            "not in force: search_path, default_transaction_read_only",
        ),
        ("session", drops, "postgres", "not in force: search_path, default_transaction_read_only"),
        (
            "transaction",
            drops,
            "readonly",
            "not in force: search_path, statement_timeout, lock_timeout",
        ),
        (
            "session",
            drops,
            "readonly",
            "not in force: search_path, statement_timeout, lock_timeout",
        ),
        ("transaction", drops, "settled", "process IDs"),
        ("session", drops, "settled", "process IDs"),
    ):
        port = free_port()
        config = tmp_path / f"bouncer{port}.ini"
        config.write_text(
            f"[databases]\n* = host=127.0.0.1 port={pg15_server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"auth_type = any\nunix_socket_dir =\npool_mode = {mode}\nlogfile =\npidfile =\n{extra}\n"
        )
        config.write_text(config.read_text().replace("* = host", f"postgres = user={role} host"))
        let_in(tmp_path)
        bouncer = subprocess.Popen(
            [binary, str(config)], stderr=subprocess.PIPE, **process.unprivileged()
        )
        try:
            wait_for_port(port)
            message = one_message(
                run("audit", f"host=127.0.0.1 port={port} user=postgres dbname=postgres"),
                3,
                pattern,
            )
            assert "pooler" in message
        finally:
            bouncer.kill()
            bouncer.wait()


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (("audit", "--snapshot", "nowhere/x.gpcatalog"), "no snapshot file"),
        (("audit", "x", "--snapshot", "y"), "give only one of"),
        (("audit", "--snapshot", "README.md"), "not a readable snapshot"),
        (("audit", "--demo", "--only", "no-such-rule"), "unknown rule: no-such-rule"),
        (("audit", "--snapshot", "x", "--all-databases"), "--all-databases needs"),
        (("rules", "no-such-rule"), "unknown rule:"),
        (("probes", "no-such-probe"), "no probe"),
        (("snapshot", "export", "nowhere", "/tmp"), "no snapshot file"),
    ],
)
def test_wrong_words(words: tuple[str, ...], pattern: str) -> None:
    one_message(run(*words), 2, pattern)


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "--no-such-option"),
        ("no-such-command",),
        ("audit", "--format", "xml"),
        ("audit", "--statement-timeout", "no"),
    ],
)
def test_usage_errors_exit_2(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_a_server_too_slow(pg_dsn: str) -> None:
    """A timeout that is too short for any probe is reported without a traceback."""
    result = run(
        "audit", pg_dsn, "--statement-timeout", "0.1", "--lock-timeout", "0.01", "--no-store"
    )
    assert result.returncode in (0, 3)
    assert "Traceback" not in result.stderr


def test_interrupt_leaves_nothing(pg15_server: PrivateServer, tmp_path: Path) -> None:
    """After SIGINT while a probe waits for a lock on a catalog, the exit code is 130, and no session or file is left."""
    dsn = fresh_database(pg15_server.conninfo(), "interrupted")
    # the watcher uses autocommit: a transaction would always see the first contents of pg_stat_activity
    with psycopg.connect(dsn) as holder, psycopg.connect(dsn, autocommit=True) as watcher:
        holder.execute("LOCK TABLE pg_catalog.pg_depend IN ACCESS EXCLUSIVE MODE")
        target = tmp_path / "folder" / "s.gpcatalog"
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gpcatalog",
                "audit",
                dsn,
                "--save",
                str(target),
                "--lock-timeout",
                "60",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        waiting = (
            "SELECT count(*) FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)"
            " WHERE NOT granted AND application_name = 'gpcatalog'"
        )
        for _ in range(200):
            if watcher.execute(waiting).fetchone()[0]:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the audit never came to wait")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
        assert child.returncode == 130, err
        assert err.strip().splitlines()[-1] == "gpcatalog: interrupted; no files were left behind"
        assert out == ""
        time.sleep(0.3)
        left = watcher.execute(
            "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE application_name = 'gpcatalog'"
        ).fetchone()[0]
        assert left == 0
        holder.rollback()
    assert list(target.parent.iterdir()) == []


def test_a_locked_catalog_is_reported(pg15_server: PrivateServer, tmp_path: Path) -> None:
    dsn = fresh_database(pg15_server.conninfo(), "locked")
    with psycopg.connect(dsn) as holder:
        holder.execute("LOCK TABLE pg_catalog.pg_depend IN ACCESS EXCLUSIVE MODE")
        result = run("audit", dsn, "--format", "json", "--lock-timeout", "0.2", "--no-store")
        holder.rollback()
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    lost = [c for c in report["coverage"] if c["status"] != "read"]
    assert {c["status"] for c in lost} == {"busy"}
    assert any("pg_depend" in c["probe"] for c in lost)


# -- output ---------------------------------------------------------------------------------------------------------------


def test_a_live_audit_in_both_formats(pg_dsn: str) -> None:
    with psycopg.connect(pg_dsn, autocommit=True) as conn:
        if not conn.execute("SELECT to_regclass('plain')").fetchone()[0]:
            zoo.make(conn)
    text = run("audit", pg_dsn)
    assert text.returncode == 0, text.stderr
    # one line shows a superuser how to create a role with fewer privileges
    assert re.fullmatch(
        r"connected as superuser postgres, .*: gpcatalog doctor --create-role NAME .*\n",
        text.stderr,
    )
    assert all(len(line) <= 80 for line in text.stdout.splitlines())
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2500-\u257f]", text.stdout)
    assert len(text.stdout.splitlines()) <= 40
    assert re.match(r"(CRITICAL|WARNING|NOTICE|INFO|OK): ", text.stdout)
    quiet = run("audit", pg_dsn, "--quiet").stdout
    assert text.stdout.startswith(quiet)
    verbose = run("audit", pg_dsn, "--verbose").stdout
    assert verbose.startswith(quiet)
    assert re.search(r"^.* · [\d,]+ relations · (\d+) of \1 probes read$", verbose, re.MULTILINE)
    assert run("audit", pg_dsn, "--verbose", "--quiet").returncode == 2
    result = run("audit", pg_dsn, "--format", "json")
    report = json.loads(result.stdout)
    assert report["schema"] == "gpcatalog.audit/1"
    keys = {
        "content",
        "relation",
        "rows",
        "heap_bytes",
        "index_bytes",
        "needed_bytes",
        "reclaimable_bytes",
    }
    assert report["catalogs"]
    assert all(keys <= set(row) for row in report["catalogs"])
    listed = run("snapshot", "list", "--format", "json")
    assert len(json.loads(listed.stdout)["snapshots"]) == 4


def test_hostile_names_stay_harmless(pg15_server: PrivateServer) -> None:
    dsn = fresh_database(pg15_server.conninfo(), "hostile")
    names = [
        "a\x1b[31mred",
        "new\nline",
        'quo"te',
        "<script>",
        "\u202ertl",
        "x" * 63,
        "日本" * 10,
        "back\\slash",
        "[bold]not[/bold]",
        ":smile:",
    ]
    with psycopg.connect(dsn, autocommit=True) as conn:
        for n, name in enumerate(names):
            quoted = psycopg.sql.Identifier(name)
            conn.execute(
                psycopg.sql.SQL("CREATE TABLE {} (a int) PARTITION BY RANGE (a)").format(quoted)
            )
            conn.execute(
                psycopg.sql.SQL(
                    "CREATE TABLE {} PARTITION OF {} FOR VALUES FROM (1) TO (2)"
                ).format(psycopg.sql.Identifier(f"l{n}{name}"), quoted)
            )
    result = run("audit", dsn, "--verbose")
    assert result.returncode == 0, result.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", result.stdout)
    flat = "".join(result.stdout.split())
    for shown in ("a\\x1b[31mred", "new\\x0aline", "<script>", "[bold]not[/bold]", ":smile:"):
        assert shown in flat, shown


def test_prune_thins_a_series(home: Path) -> None:
    import shutil
    from datetime import UTC, datetime, timedelta

    from gpcatalog.store import series

    place = series.folder("mdw", 5432, "sales")
    place.mkdir(parents=True)

    def remaining() -> list[Path]:
        return [
            p for p in place.iterdir() if not p.name.startswith(".")
        ]  # files whose names begin with a dot reserve names for running saves

    for days in (0, 1, 40, 41, 42, 300):
        shutil.copy(FIXTURE, series.new_path(place, datetime.now(UTC) - timedelta(days=days)))
    before = sum(p.stat().st_size for p in remaining())
    dry = run("snapshot", "prune", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert len(remaining()) == 6
    result = run("snapshot", "prune")
    assert result.returncode == 0, result.stderr
    assert 3 <= len(remaining()) < 6
    assert sum(p.stat().st_size for p in remaining()) < before
    oldest = min(remaining())
    report = json.loads(run("audit", "--snapshot", str(oldest), "--format", "json").stdout)
    assert report["taken"]["grain"] == "root"
    assert report["census"]["leaves"] == 1868
    one_message(run("snapshot", "prune", "--keep-all", "-1"), 2, "are inconsistent")


@pytest.mark.postgres
def test_a_database_that_cannot_be_audited(own_server: PrivateServer) -> None:
    """With --all-databases, the others are audited, and the exit code is that of an unreachable server."""
    name = "cannot_be_audited"
    with psycopg.connect(own_server.conninfo(), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}")
        try:
            with psycopg.connect(own_server.conninfo(name)) as locked:
                locked.execute("LOCK TABLE pg_class IN ACCESS EXCLUSIVE MODE")
                result = run("audit", own_server.conninfo(), "--all-databases", "--no-store")
        finally:
            conn.execute(f"DROP DATABASE {name}")
    assert result.returncode == 3, result.stderr
    assert f"not audited: {name}: cannot connect" in result.stdout


def test_all_databases(own_server: PrivateServer) -> None:
    for name in ("first", "second"):
        fresh_database(own_server.conninfo(), name)
    result = run("audit", own_server.conninfo(), "--all-databases", "--format", "json")
    assert result.returncode == 0, result.stderr
    cluster = json.loads(result.stdout)
    assert cluster["schema"] == "gpcatalog.cluster/1"
    assert {"first", "second", "postgres"} <= {
        r["server"]["database"] for r in cluster["databases"]
    }
    assert cluster["class_rows"] == sum(
        t["class_rows"] for r in cluster["databases"] for t in r["instance_totals"]
    )
    text = run("audit", own_server.conninfo(), "--all-databases")
    assert text.returncode == 0
    assert "second" in text.stdout


def test_fail_on_and_only() -> None:
    words = ("audit", "--snapshot", str(FIXTURE))
    assert run(*words).returncode == 0
    assert run(*words, "--fail-on", "warning").returncode == 1
    assert run(*words, "--fail-on", "never").returncode == 0
    only = json.loads(run(*words, "--only", "empty-leaves", "--format", "json").stdout)
    assert {f["rule"] for f in only["findings"]} == {"empty-leaves"}


def test_the_fixture_prints_as_recorded(request: pytest.FixtureRequest) -> None:
    """The output of the Greenplum 6 fixture is as recorded; GPCATALOG_TEST_UPDATE=1 rewrites the recorded output."""
    golden = FIXTURE.with_suffix(".txt")
    result = run("audit", "--snapshot", str(FIXTURE))
    assert result.returncode == 0, result.stderr
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        golden.write_text(result.stdout)
    assert result.stdout == golden.read_text()


def test_every_rule_has_its_four_parts() -> None:
    from gpcatalog.audit import rules

    for name in rules.every():
        assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", name)
        assert list(rules.page(name)) == ["", *rules.PARTS], name
        assert all(rules.page(name).values()), name


def test_pages_are_read_without_loading_the_rules() -> None:
    """The pages that `rules` reads from the files are those that the rules have registered."""
    from gpcatalog.audit import rules as audits
    from gpcatalog.check import rules as checks
    from gpcatalog.model.rule_registry import pages_in

    for part in (audits, checks):
        folder = Path(str(part.__file__)).parent
        assert pages_in(folder) == {id: part.page(id) for id in part.every()}
    heavy = ("sqlglot", "duckdb", "psycopg", "numpy", "gpcatalog.effects")
    code = (
        "import sys; from gpcatalog.cli import app; sys.argv = ['gpcatalog', 'rules'];"
        "app(standalone_mode=False);"
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stderr.strip() == "[]"


def test_a_snapshot_needs_no_library_that_connects() -> None:
    code = (
        "import sys; from gpcatalog.cli import app;"
        f"sys.argv = ['gpcatalog', 'audit', '-q', '--snapshot', {str(FIXTURE)!r}];"
        "app(standalone_mode=False);"
        "print([m for m in ('psycopg', 'numpy', 'sqlglot') if m in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stderr.strip() == "[]"


def test_every_probe_has_its_header() -> None:
    from gpcatalog.model.server import named
    from gpcatalog.probes import library

    for word in (
        "greenplum6",
        "greenplum7",
        "cloudberry2",
        "postgres12",
        "postgres15",
        "postgres18",
    ):
        server = named(word)
        assert server is not None
        for name in library.names(server):
            probe = library.probe(name, server)
            assert probe.prose, name
            assert all(probe.header(key) for key in ("needs", "locks", "cost")), name


def test_every_part_stands_in_a_probe() -> None:
    """Each `.part` file, shared by generations, is included completely in a probe or script, and no file is unused."""
    from gpcatalog.model.server import named
    from gpcatalog.probes import library

    texts = []
    for word in ("greenplum6", "greenplum7", "cloudberry2", "postgres12", "postgres18"):
        server = named(word)
        assert server is not None
        texts += [library.probe(name, server).sql for name in library.names(server)]
        texts.append(library.part("monitor_role", server))  # for `doctor --create-role`
        texts.append(library.part("prepare", server, area="journal"))  # for migrations
        texts.append(library.part("heartbeat", server, area="journal"))  # for upkeep
    assert not [text for text in texts if "-- include" in text]
    parts = sorted(library.folder().rglob("*.part"))
    assert parts
    for part in parts:
        # a part may include another one, so its text may be in several pieces
        pieces = re.split(r"^-- include [a-z_]+\n", part.read_text(), flags=re.M)
        assert any(all(piece in text for piece in pieces) for text in texts), part


def test_help_of_every_command_has_an_example() -> None:
    for words in (
        ("audit",),
        ("snapshot", "take"),
        ("snapshot", "list"),
        ("snapshot", "export"),
        ("snapshot", "prune"),
        ("rules",),
        ("probes",),
        ("lab",),
    ):
        result = run(*words, "--help")
        assert result.returncode == 0
        assert "Example: gpcatalog" in result.stdout, words


def test_probes_prints_what_would_run() -> None:
    result = run("probes", "relations", "--server", "greenplum6")
    assert "pg_partition_rule" in result.stdout
    assert "pg_partition_rule" not in run("probes", "relations", "--server", "postgres15").stdout
    assert "segment_catalog_rows" in run("probes").stdout


@pytest.mark.long
def test_demo(tmp_path: Path) -> None:
    """The first command of the README reports real bloat and leaves no files behind."""
    result = run(
        "audit",
        "--demo",
        "--format",
        "json",
        "--maintenance",
        str(tmp_path / "m.sql"),
        env={"TMPDIR": str(tmp_path)},
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["census"]["partitioned_tables"] > 150
    assert report["census"]["leaves"] > 5000
    assert report["census"]["empty_leaves"] > 2000
    found = {f["rule"] for f in report["findings"]}
    assert {
        "empty-leaves",
        "segment-catalog-bloat",
        "autovacuum-off",
        "default-partition-holds-rows",
    } <= found
    assert "pg_catalog.pg_attribute" in (tmp_path / "m.sql").read_text()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("gpcatalog-")] == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("gpcatalog au", "audit"),
        ("gpcatalog audit --stat", "--statement-timeout"),
        ("gpcatalog snapshot pr", "prune"),
    ],
)
def test_the_shell_completes(typed: str, offered: str) -> None:
    env = os.environ | {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_GPCATALOG_COMPLETE": "complete_bash",
    }
    gpcatalog = Path(sys.executable).parent / "gpcatalog"
    output = subprocess.run([gpcatalog], env=env, capture_output=True, text=True).stdout
    assert offered in output.split()


def test_a_reader_that_goes_away_is_no_finding() -> None:
    gpcatalog = Path(sys.executable).parent / "gpcatalog"
    reader, writer = os.pipe()
    os.close(reader)  # before anything is written: a reader that closes later may be too late
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            [gpcatalog, "audit", "--snapshot", "fixtures/greenplum6.gpcatalog"],
            cwd=Path(__file__).parent.parent,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
        )
    # ended by the signal, as other programs are; a shell shows this as 141
    assert (done.returncode, done.stderr) in [(-signal.SIGPIPE, ""), (128 + signal.SIGPIPE, "")]


@pytest.mark.turns
@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--snapshot", "FIXTURE"],
        ["audit", "--snapshot", "FIXTURE", "--format", "json"],
        ["plan", "--snapshot", "FIXTURE"],
        ["plan", "--snapshot", "FIXTURE", "--format", "json"],
        ["report", "--snapshot", "FIXTURE", "--html", "-"],
        ["metrics", "--snapshot", "FIXTURE"],
        ["estimate", "--server", "greenplum6", "--columns", "5"],
        ["check", "--rules"],
        ["rules"],
        ["probes"],
        ["schema", "audit"],
        ["--version"],
        ["audit", "--help"],
    ],
    ids=" ".join,
)
def test_a_full_standard_output_is_reported(words: list[str], tmp_path: Path) -> None:
    named = [str(FIXTURE) if word == "FIXTURE" else word for word in words]
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "gpcatalog", *named],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, "GPCATALOG_HOME": str(tmp_path)},
        )  # fmt: skip
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("gpcatalog: cannot write: No space left on device\n"), (
        result.stderr
    )
    assert len(result.stderr.splitlines()) == 2


def test_closed_streams_do_no_harm(tmp_path: Path) -> None:
    command = f"exec {sys.executable} -m gpcatalog audit --snapshot {FIXTURE}"
    env = {**os.environ, "GPCATALOG_HOME": str(tmp_path)}
    for words in ("", " --format json", ".nowhere --help"):
        closed = subprocess.run(
            ["sh", "-c", f"{command}{words} >&-"],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=env,
        )
        assert closed.returncode == 2
        assert closed.stderr.startswith("gpcatalog: cannot write: standard output is closed\n")
        assert len(closed.stderr.splitlines()) == 2
    written = subprocess.run(  # nothing is lost: the output is a file
        ["sh", "-c", f"{command} -o {tmp_path}/report.txt >&-"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=env,
    )
    assert (written.returncode, written.stderr) == (0, "")
    assert "Limits" in (tmp_path / "report.txt").read_text()
    silent = subprocess.run(
        ["sh", "-c", f"{command} 2>&-"], stdout=subprocess.PIPE, text=True, check=False, env=env
    )
    assert silent.returncode == 0
    assert "Limits" in silent.stdout
    wrong = subprocess.run(
        ["sh", "-c", f"{command}.nowhere 2>&-"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=env,
    )
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("wait", [0.0, 0.05, 0.2])
def test_a_signal_while_it_is_still_loading(
    number: signal.Signals, wait: float, tmp_path: Path
) -> None:
    """A signal is handled as soon as the handlers are installed, before any library is loaded."""
    for _ in range(20):  # on a busy machine the page may be written before the signal is sent
        code, stdout, err = _signalled(number, wait, tmp_path)
        if code:
            break
    assert (code, stdout) == (128 + number, b""), err
    assert err == b"gpcatalog: interrupted; no files were left behind\n"


@pytest.mark.parametrize("wait", [0.0, 0.4, 1.0])
def test_a_terminal_that_is_closed(pg_dsn: str, tmp_path: Path, wait: float) -> None:
    """SIGHUP ends an audit as SIGTERM does, although its messages have no reader."""
    with psycopg.connect(pg_dsn, autocommit=True) as holder:
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE pg_catalog.pg_depend IN ACCESS EXCLUSIVE MODE")
        child, terminal = pty.fork()
        if child == 0:
            program.hear_hangups()
            os.environ["GPCATALOG_HOME"] = str(tmp_path)
            words = ["audit", pg_dsn, "--lock-timeout", "600", "--statement-timeout", "600"]
            os.execv(sys.executable, [sys.executable, "-m", "gpcatalog", *words])
        caught = 1 << (signal.SIGTERM - 1)
        status = Path(f"/proc/{child}/status")
        while True:
            handled = re.search(r"SigCgt:\s*([0-9a-f]+)", status.read_text())
            if handled and int(handled[1], 16) & caught:
                break
        time.sleep(wait)
        os.close(terminal)
        _, code = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(code) == 128 + signal.SIGHUP
        left = (
            "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE application_name = 'gpcatalog'"
        )
        for _ in range(100):
            if not holder.execute(left).fetchone()[0]:
                break
            time.sleep(0.05)
        assert holder.execute(left).fetchone()[0] == 0
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def _signalled(number: signal.Signals, wait: float, home: Path) -> tuple[int, bytes, bytes]:
    """Exit code and output of a report that receives a signal `wait` seconds after its handlers are installed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "gpcatalog", "report", "--snapshot", str(FIXTURE), "--html", "-"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "GPCATALOG_HOME": str(home)},
        preexec_fn=program.hear_hangups,
    )  # fmt: skip
    caught = 1 << (signal.SIGTERM - 1)
    while child.poll() is None:
        handled = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{child.pid}/status").read_text())
        if handled and int(handled[1], 16) & caught:
            break
    time.sleep(wait)
    child.send_signal(number)
    stdout, err = child.communicate(timeout=60)
    return child.returncode, stdout, err


def test_measurements_are_written_where_it_cannot_calibrate(tmp_path: Path) -> None:
    file = tmp_path / "latency.txt"
    snapshot = str(Path(__file__).parent.parent / "fixtures/greenplum6.gpcatalog")
    done = run("latency", "--snapshot", snapshot, "--calibrate", "-o", str(file))
    assert done.returncode == 2
    assert "too few points to calibrate" in done.stderr
    assert "\\d without a name" in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--snapshot", "FILE", "--files", "all"), "--files cannot be combined with --snapshot"),
        (
            ("--snapshot", "FILE", "--parallel", "2"),
            "--parallel cannot be combined with --snapshot",
        ),
        (("--demo", "--files", "none"), "--files cannot be combined with --demo"),
        (("--all", "--stored", "--files", "sample"), "--files cannot be combined with --stored"),
        (("dbname=x", "--files", "none", "--parallel", "1"), "combined with --files none"),
    ],
)
def test_a_choice_of_files_without_a_listing_is_refused(
    arguments: tuple[str, ...], message: str
) -> None:
    result = run("audit", *arguments)
    assert result.returncode == 2
    assert message in result.stderr


def test_a_query_without_an_answer_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPCATALOG_DEBUG", raising=False)
    lost = _unanswered(ProbeFailed("timed out", "canceling statement due to lock timeout"))
    assert lost is not None
    assert lost.message == (
        "the server did not answer a query: canceling statement due to lock timeout"
    )
    assert "another session holds a lock" in lost.hint
    assert lost.exit_code is Exit.UNREACHABLE
    assert _unanswered(ValueError("x")) is None
