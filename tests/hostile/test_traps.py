"""Nothing that a superuser does with this program runs code of a role that is not a superuser.

Mallory owns a database, its schemas and tables, and nothing else. Every command that connects, and every file that `migrate` and
`audit --maintenance` write, is run as superuser against her traps. The logs of the servers show which traps ran. Other tests check
that each trap works: a trap that cannot run proves nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest

from gpcatalog.lab import process
from gpcatalog.lab.postgres import PrivateServer, free_port
from tests import program
from tests.conftest import let_in, wait_for_port
from tests.hostile import traps
from tests.hostile.traps import CLEAN, OTHER, OWNER, STRANGER, Place, Record, Watch, execute, fetch
from tests.migration.made import EAGER
from tests.program import PSQL

ROOT = Path(
    os.environ.get("GPCATALOG_TEST_TREE") or Path(__file__).parents[2]
)  # to test the product of another checkout
# each takes minutes: the check of every change uses one server of each family
SERVERS = (
    "pg12_server",
    "pg15_server",
    "pgnew_server",
    "pg19_server",
    "gp6_cluster",
    "gp7_cluster",
)
NAMES = {"pgnew_server": "pg18"}
SQUAT = "gpcatalog_journal"
# a file that stops must report one of these reasons
REASON = re.compile(r"\bowner\b|\bowned by\b|\bobjects or grants of roles other than\b", re.I)
NEVER = re.compile(r"(?!)")
ALSO = {
    "verify": re.compile("not done"),  # steps that were stopped
    "file": re.compile("password is required"),  # ANALYZE of a foreign leaf as its owner
    "rollback": re.compile("password is required"),
}
SWITCH = "-c gpcatalog_journal.run_owner_code=on"

# (server, what was run) → trap → how it ran
MATRIX: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))


@pytest.fixture(
    scope="module", params=SERVERS, ids=lambda name: NAMES.get(name, name.split("_")[0])
)
def place(request: pytest.FixtureRequest) -> Place:
    """Each server in turn."""
    return traps.place_of(
        NAMES.get(request.param, request.param.split("_")[0]),
        request.getfixturevalue(request.param),
    )


@dataclass
class Hostile:
    """A hostile database. traps: tables in it; shadows: the shadowed names; reasons: what cannot be shadowed, and why."""

    place: Place
    name: str
    dsn: str
    traps: list[traps.Trap]
    shadows: list[traps.Shadow] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    origin: Hostile | None = None  # the same database without shadows

    def copy(self, name: str) -> Hostile:
        """Copy the database under another name."""
        with traps.session(self.place.dsn()) as conn:
            conn.execute(f"DROP DATABASE IF EXISTS {name}".encode())
            conn.execute(f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {self.name}".encode())
        if self.shadows:
            traps.set_path(self.place, name)
        return Hostile(
            self.place, name, self.place.dsn(name), self.traps, self.shadows, self.reasons
        )


@pytest.fixture(scope="module")
def tables(place: Place) -> Hostile:
    """The database with the traps in tables, without shadows: tests copy it, and never change it."""
    dsn = traps.database(place, "hostile_tables")
    return Hostile(place, "hostile_tables", dsn, traps.plant_tables(place, dsn))


@pytest.fixture(scope="module")
def hostile(tables: Hostile) -> Hostile:
    """The same tables with equal OIDs, and every shadow on the search path: tests only copy it."""
    here = tables.copy("hostile")
    here.shadows, here.reasons = traps.plant_shadows(here.place, here.dsn, traps.sources(ROOT))
    here.origin = tables
    return here


@pytest.fixture(scope="module", autouse=True)
def _matrix() -> Iterator[None]:
    """Print the matrix at the end."""
    yield
    text = matrix()
    print(text)
    if path := os.environ.get("GPCATALOG_TEST_TRAP_MATRIX"):
        Path(path).write_text(text)


def matrix() -> str:
    """What was run on which server, and the traps that ran; "–" if none ran."""
    lines = [
        "",
        "what was run, and the traps it sprang (SU: as superuser, RISES: could become it, else as whom)",
    ]
    for (server, what), sprung in MATRIX.items():
        lines.append(
            f"{server:5} {what}: "
            + (
                "; ".join(f"{t} [{', '.join(sorted(how))}]" for t, how in sorted(sprung.items()))
                or "–"
            )
        )
    return "\n".join(lines) + "\n"


# --- run the program and its files ---------------------------------------------------------------------------------------


def gpcatalog(
    home: Path, *words: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the program under test in a process of its own."""
    env = {**os.environ, "GPCATALOG_HOME": str(home), **environment}
    return program.run(*map(str, words), cwd=ROOT, env=env, timeout=600)


def psql(dsn: str, file: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a file as the README describes."""
    command = [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-f", str(file)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=600,
    )


def noted(place: Place, what: str, records: list[Record]) -> list[Record]:
    """Add the records to the matrix, and return them."""
    row = MATRIX[place.name, what]
    for r in records:
        how = (
            "SU"
            if r.current == place.superuser
            else f"{r.current} RISES"
            if r.dangerous([place.superuser])
            else r.current
        )
        row[r.trap].add(f"{how} in {r.statement}")
    return records


def describe(records: list[Record]) -> list[str]:
    """Short texts of the records."""
    return sorted(
        {
            f"{r.trap} as {r.current}{f' (becomes {r.rises})' if r.rises and not r.rises.startswith('no') else ''} in {r.statement} on {r.instance}"
            for r in records
        }
    )


@dataclass
class Files:
    """The folder of a migration."""

    place: Place
    folder: Path
    refused: str

    @property
    def forward(self) -> list[str]:
        return sorted(f.name for f in self.folder.glob("0*.sql") if not f.name.startswith("0000"))

    def of(self, table: str) -> str:
        """Name of the file of one table, '' if the table was refused."""
        stem = re.sub(r"[^a-z0-9]+", "_", table.lower())
        return next((n for n in self.forward if n[5:-4] == stem), "")


def written(home: Path, dsn: str, place: Place, *words: str, rules: str = EAGER) -> Files:
    """Write the files of a migration of every table that can be planned."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "policy.toml").write_text(rules)
    result = gpcatalog(
        home,
        "plan",
        dsn,
        "--policy",
        home / "policy.toml",
        "--format",
        "json",
        "-o",
        home / "plan.json",
    )
    assert result.returncode == 0, result.stderr
    folder = home / "sql"
    shutil.rmtree(folder, ignore_errors=True)
    result = gpcatalog(home, "migrate", home / "plan.json", "-o", folder, dsn, *words)
    assert result.returncode in (0, 4), result.stderr
    return Files(place, folder, result.stdout + result.stderr)


_FILES: dict[tuple[str, ...], Files] = {}


def scripts_of(source: Hostile, folder: Path, *words: str) -> tuple[Hostile, Files]:
    """A new copy of a database, always under the same name, and the files for it.

    Copies have equal OIDs, so the files are written only once.
    """
    name = "hostile_scripts"
    key = (source.place.name, *words)
    if key not in _FILES:
        here = (source.origin or source).copy(name)  # another test reads with shadows
        files = written(
            folder / "_".join(["files", *re.findall(r"\w+", " ".join(words))])[:100],
            here.dsn,
            source.place,
            *words,
        )
        copied = Path(tempfile.mkdtemp(prefix="traps-", dir=folder.parent)) / "sql"
        shutil.copytree(files.folder, copied)
        _FILES[key] = Files(source.place, copied, files.refused)
    return source.copy(name), _FILES[key]


# --- each trap works --------------------------------------------------------------------------------------------------------


def test_every_trap_of_a_table_is_live(tables: Hostile) -> None:
    """Each trap runs as superuser if a superuser is careless."""
    place, here = tables.place, tables.copy("hostile_live")
    watch = Watch(place)
    dead = []
    for trap in here.traps:
        if trap.name in CLEAN:
            continue
        execute(
            here.dsn,
            *(
                [f"ALTER SERVER near OPTIONS (SET dbname '{here.name}')"]
                if trap.name == "foreign"
                else []
            ),
        )
        watch.restart()
        execute(here.dsn, trap.careless.format(t=trap.table), role=trap.by)
        found = [r for r in watch.read() if r.trap == trap.name]
        noted(place, "careless statement", found)
        if not any(r.current == (trap.by or place.superuser) for r in found):
            dead.append(trap.name)
        if trap.by:  # the trap works, but a superuser never runs it
            execute(here.dsn, trap.careless.format(t=trap.table))
            assert not [r for r in watch.read() if r.trap == trap.name], trap.never
    assert dead == []


def test_traps_that_cannot_be(place: Place) -> None:
    """A server rejects a trap that it does not support, or never runs it."""
    dsn = traps.database(place, "hostile_cannot")
    execute(dsn, *traps.OPERATORS, role=OWNER)
    watch = Watch(place)
    for trap in traps.TRAPS:
        reason = trap.impossible(place)
        if not reason or trap.name in ("second stage", "foreign"):
            continue
        try:
            traps.plant(place, dsn, trap)
            watch.restart()
            execute(dsn, trap.careless.format(t=trap.table))
        except psycopg.Error as e:
            outcome = str(e).splitlines()[0]
        else:
            outcome = "planted, and never called"
            assert not [r for r in watch.read() if r.trap == trap.name], (
                f"{trap.name} can be: {reason}"
            )
        MATRIX[place.name, "cannot be"][trap.name].add(f"{reason}: {outcome}")


# other places for code that the owner of a schema could try
NO_WAY_IN = {
    "output function of a type": (
        "CREATE TYPE app.base",
        "CREATE FUNCTION app.base_out(app.base) RETURNS cstring LANGUAGE plpgsql AS $$ BEGIN RETURN 'x'; END $$",
    ),
    "input function of a type": (
        "CREATE TYPE app.base",
        "CREATE FUNCTION app.base_in(cstring) RETURNS app.base LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
    ),
    "base type over built-in functions": (
        "CREATE TYPE app.base",
        "CREATE FUNCTION app.base_in(cstring) RETURNS app.base LANGUAGE internal IMMUTABLE STRICT AS 'int4in'",
    ),
    "type modifier functions": (
        "CREATE FUNCTION app.modifier_out(int) RETURNS cstring LANGUAGE plpgsql AS $$ BEGIN RETURN 'x'; END $$",
    ),
    "canonical function of a range": (
        "CREATE TYPE app.narrow",
        "CREATE FUNCTION app.canonical(app.narrow) RETURNS app.narrow LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$",
    ),
    "operator class": ("CREATE OPERATOR CLASS app.mine FOR TYPE int USING btree AS OPERATOR 1 <",),
    "conversion": (
        "CREATE FUNCTION app.convert(int, int, cstring, internal, int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$",
    ),
    "text search dictionary": (
        "CREATE TEXT SEARCH TEMPLATE app.template (LEXIZE = dsimple_lexize)",
    ),
    "language handler": (
        "CREATE FUNCTION app.handler() RETURNS language_handler LANGUAGE plpgsql AS $$ BEGIN END $$",
    ),
    "foreign data wrapper handler": ("CREATE FOREIGN DATA WRAPPER mine",),
    "cast between types of others": (
        "CREATE FUNCTION app.oid_int(text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$",
        "CREATE CAST (text AS int) WITH FUNCTION app.oid_int(text) AS IMPLICIT",
    ),
    "event trigger": (
        "CREATE FUNCTION app.event() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN END $$",
        "CREATE EVENT TRIGGER mine ON ddl_command_start EXECUTE PROCEDURE app.event()",
    ),
    "setting of the superuser's": ("ALTER ROLE {boss} SET search_path = app",),
    "setting of the superuser's in her database": (
        "ALTER ROLE {boss} IN DATABASE hostile_cannot SET search_path = app",
    ),
    "switch of the scripts": (
        "ALTER DATABASE hostile_cannot SET gpcatalog_journal.run_owner_code = 'on'",
    ),
    "support function": ("ALTER FUNCTION app.yes(text) SUPPORT app.yes",),
    "preloaded library": ("ALTER DATABASE hostile_cannot SET session_preload_libraries = 'x'",),
    "object in pg_catalog": (
        "CREATE FUNCTION pg_catalog.evil() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$",
    ),
    "statistics without a role of monitors": ("SELECT pg_catalog.pg_read_file('postgresql.conf')",),
}


def test_ways_that_are_closed(place: Place) -> None:
    """The server itself rejects mallory's code in other places."""
    dsn = traps.database(place, "hostile_cannot")
    open_ways = []
    for way, statements in NO_WAY_IN.items():
        try:
            with traps.session(dsn, role=OWNER) as conn, conn.transaction(force_rollback=True):
                for s in statements:
                    conn.execute(s.format(boss=place.superuser).encode())
        except psycopg.Error as e:
            MATRIX[place.name, "closed way"][way].add(str(e).splitlines()[0])
        else:
            open_ways.append(way)
    assert open_ways == []


def test_every_shadow_is_live(hostile: Hostile) -> None:
    """On her search path, every name of pg_catalog refers to an object of mallory. Exceptions are listed with the reason."""
    here = hostile.copy("hostile_live")
    watch = Watch(here.place)
    errors = {}
    with traps.session(here.dsn, careless=True) as conn:
        for shadow in here.shadows:
            try:
                conn.execute(shadow.careless.encode())
            except psycopg.Error as e:
                errors[shadow.name] = str(e).splitlines()[0]
    sprung = {r.trap for r in watch.read()}
    dead = {
        s.name: errors.get(s.name, "another exact match comes first")
        for s in here.shadows
        if s.name not in sprung
    }
    MATRIX[here.place.name, "shadows"][
        f"{len(here.shadows)} planted, {len(here.shadows) - len(dead)} live"
    ].add("SU")
    print(
        f"{here.place.name}: {len(here.shadows)} shadows, not live {dead}, impossible {here.reasons}"
    )
    assert len(here.shadows) > 1500
    assert (
        len([name for name in dead if name not in errors]) < 10
    )  # the server reports the reason for the others
    assert len(dead) < 40
    for name in (
        "operator =(oid,int4)",
        "operator <>(name,text)",
        "relation pg_class",
        "type int4",
        "function pg_get_expr(pg_node_tree,oid)",
    ):
        assert name in sprung, name


# --- every command that connects ---------------------------------------------------------------------------------------------


def commands(place: Place, dsn: str, folder: Path) -> dict[str, tuple[str | Path, ...]]:
    """Every command that connects."""
    return {
        "audit": ("audit", dsn, "--no-store"),
        "audit json": ("audit", dsn, "--format", "json", "--no-store"),
        "audit maintenance": (
            "audit",
            dsn,
            "--maintenance",
            folder / "maintenance.sql",
            "--no-store",
        ),
        "audit all databases": ("audit", dsn, "--all-databases", "--no-store"),
        "snapshot take": ("snapshot", "take", dsn, "--save", folder / "s.gpcatalog"),
        "report": ("report", dsn, "--html", folder / "page.html", "--no-store"),
        "metrics": ("metrics", dsn),
        "plan": ("plan", dsn),
        "plan explain": ("plan", dsn, "--explain", "app.everything"),
        "doctor": ("doctor", dsn),
        "latency": ("latency", dsn, "--no-store"),
        "latency calibrate": ("latency", dsn, "--calibrate", "--no-store"),
        **(
            {"latency server log": ("latency", dsn, "--server-log", "1", "--no-store")}
            if place.greenplum
            else {}
        ),
        "latency allow ddl": (
            "latency",
            dsn,
            "--allow-ddl",
            "--rounds",
            "1",
            "--leaves",
            "5",
            "--no-store",
        ),
        "estimate": ("estimate", dsn, "--table", "app.everything"),
        "estimate of an expression": ("estimate", dsn, "--table", "app.index_predicate"),
        "growth": ("growth", dsn),
        "probes": ("probes", "relations", dsn),
        "upkeep adopt": ("upkeep", "adopt", dsn),
        "upkeep calendar": ("upkeep", "calendar", dsn, "--policy", _upkeep_policy(folder)),
    }


def _upkeep_policy(folder: Path) -> Path:
    """A policy that maintains every table."""
    path = folder / "upkeep.toml"
    path.write_text(UPKEEP + MERGES)
    return path


UPKEEP = """
[default]
automatic_maintenance = true
grain = "month"
premake = "3d"
hot_days = 0
default_rows = "move"
fill_gaps = true
"""
# test_scripts merges all tables
MERGES = """
[[table]]
match = "app.c*"
grains = { month = "0d" }
"""

CORE = (
    "audit json",
    "doctor",
    "latency server log",
    "latency allow ddl",
    "estimate",
)  # together they run every probe once
# commands that read with the probes of another command and show the result differently: only on PostgreSQL
SAME_PROBES = frozenset(
    ("audit", "audit json", "snapshot take", "report", "metrics", "plan explain", "latency")
)


def ran(
    place: Place,
    what: str,
    dsn: str,
    folder: Path,
    *,
    ok: bool = True,
    only: tuple[str, ...] = CORE,
) -> list[str]:
    """Run commands, all if `only` is empty; return the traps that ran and the commands that failed."""
    folder.mkdir(parents=True, exist_ok=True)
    watch = Watch(place)
    wrong = []
    for name, words in commands(place, dsn, folder).items():
        if only and name not in only:
            continue
        result = gpcatalog(folder, *words)
        records = noted(place, f"{what}{name}", watch.read())
        wrong += [f"{name}: {r}" for r in describe(records)]
        # growth and calibrate need a series, and there is none
        if ok and result.returncode not in (
            (2,) if name in ("growth", "latency calibrate") else (0,)
        ):
            wrong.append(f"{name}: exit {result.returncode}: {result.stderr[-400:]}")
    return wrong


@pytest.fixture
def temporary(hostile: Hostile) -> Iterator[None]:
    """A session of mallory with a temporary table and a trap on it, open for the duration of a test."""
    with traps.session(hostile.place.dsn("hostile_commands"), role=OWNER) as conn:
        conn.execute(b"CREATE TEMP TABLE mine AS SELECT 1 AS id, 'x'::text AS v")
        conn.execute(b"CREATE INDEX mine_i ON mine (v) WHERE app.yes('temporary table')")
        yield


@pytest.fixture
def commanded(hostile: Hostile) -> Hostile:
    return hostile.copy("hostile_commands")


def test_commands(commanded: Hostile, temporary: None, tmp_path: Path) -> None:
    """Commands with shadows on the search path and traps in every table."""
    place = commanded.place
    every = commands(place, commanded.dsn, tmp_path)
    only = tuple(every.keys() - SAME_PROBES) if place.greenplum else ()
    wrong = ran(place, "", commanded.dsn, tmp_path / "out", only=only)
    watch = Watch(commanded.place)
    with contextlib.suppress(
        AssertionError
    ):  # if no plan can be made, the commands above failed, too
        written(tmp_path / "plan", commanded.dsn, commanded.place)
    wrong += describe(noted(commanded.place, "plan, migrate", watch.read()))
    assert wrong == []


def test_commands_without_shadows(tables: Hostile, tmp_path: Path) -> None:
    """Commands with traps in every table, without shadows: a shadow may end a command before it reaches a trap."""
    assert (
        ran(tables.place, "no shadows: ", tables.copy("hostile_commands").dsn, tmp_path / "out")
        == []
    )


@pytest.mark.long
def test_default_path(hostile: Hostile, tmp_path: Path) -> None:
    """With the default search path, names without an exact match in pg_catalog are looked up in public."""
    here = hostile.copy("hostile_commands")
    execute(here.place.dsn(), f"ALTER DATABASE {here.name} RESET search_path")
    assert ran(here.place, "default path: ", here.dsn, tmp_path / "out") == []


def test_settings_of_the_database(hostile: Hostile, tables: Hostile, tmp_path: Path) -> None:
    """Settings that the owner of a database makes for all its sessions change neither what is run nor what is reported."""
    place, here = hostile.place, hostile.copy("hostile_commands")
    plain = tables.copy("hostile_plain")
    for setting, reason in traps.set_hostile(place, here.name).items():
        MATRIX[place.name, "denied setting"][setting].add(reason)
    assert ran(place, "settings: ", here.dsn, tmp_path / "out") == []
    seen = []
    for dsn in (here.dsn, plain.dsn):
        result = gpcatalog(tmp_path / "out", "audit", dsn, "--format", "json", "--no-store")
        assert result.returncode == 0, result.stderr
        report = json.loads(result.stdout)
        listing = json.dumps(report)
        seen.append(sorted(set(re.findall(r'"(app\.[a-z_]+|base\.[a-z_]+)"', listing))))
        assert (
            not [
                p
                for p in report.get("not_read", [])
                if p.get("reason", "") not in ("", "not applicable")
            ]
            or dsn == plain.dsn
        )
    assert seen[0] == seen[1]


def test_role_of_the_database(tables: Hostile, tmp_path: Path) -> None:
    """The database sets the role of all sessions to mallory. A superuser's session can still become superuser with RESET ROLE."""
    place, here = tables.place, tables.copy("hostile_commands")
    execute(place.dsn(), f"ALTER DATABASE {here.name} SET role = {OWNER}", role=OWNER)
    watch = Watch(place)
    execute_plain(here.dsn, "EXPLAIN SELECT * FROM app.everything")
    live = noted(place, "careless statement under role = mallory", watch.read())
    assert live
    assert all(r.current == OWNER and r.rises == place.superuser for r in live)
    wrong = ran(place, "role: ", here.dsn, tmp_path / "out", ok=False)
    execute(place.dsn(), f"ALTER DATABASE {here.name} RESET role")
    assert wrong == []


def execute_plain(dsn: str, statement: str) -> None:
    """Run one statement in a session with the settings of the database."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(statement.encode())


def test_event_triggers(tables: Hostile, tmp_path: Path) -> None:
    """Event triggers whose functions belong to mallory, including the event login (PostgreSQL 17)."""
    place, here = tables.place, tables.copy("hostile_events")
    try:
        events = traps.plant_events(place, here.dsn, login=True)
        watch = Watch(place)
        execute(
            here.dsn,
            "CREATE TABLE public.x (a int)",
            "ALTER TABLE public.x ALTER a TYPE bigint",
            "DROP TABLE public.x",
        )
        sprung = {
            r.trap
            for r in noted(place, "careless DDL under event triggers", watch.read())
            if r.current == place.superuser
        }
        assert sprung == {f"event {e}" for e in events}
        # before PostgreSQL 17, DDL always fires event triggers: --allow-ddl may refuse, the other commands must run
        wrong = ran(place, "event triggers: ", here.dsn, tmp_path / "out", ok=False)
    finally:
        execute(place.dsn(), "SELECT 1")
        _drop(place, here.name)
    assert wrong == []


def _drop(place: Place, name: str) -> None:
    with traps.session(place.dsn()) as conn:
        conn.execute(f"DROP DATABASE IF EXISTS {name}".encode())


def test_a_toolkit_of_hers(tables: Hostile, tmp_path: Path) -> None:
    """Schema gp_toolkit belongs to mallory on servers that do not provide it, and no command reads her views."""
    place = tables.place
    if place.classic:
        pytest.skip("Greenplum 6 brings gp_toolkit with every database")
    if place.greenplum:
        here = Hostile(
            place,
            "hostile_toolkit",
            traps.database(place, "hostile_toolkit", "template0"),
            tables.traps,
        )
        traps.plant_tables(place, here.dsn, [*CLEAN, "everything", "index predicate"])
    else:
        here = tables.copy("hostile_toolkit")
    traps.fake_toolkit(place, here.dsn)
    watch = Watch(place)
    execute(here.dsn, "SELECT * FROM gp_toolkit.gp_disk_free")
    assert [r.trap for r in watch.read()] == ["fake gp_disk_free"]
    wrong = ran(place, "toolkit: ", here.dsn, tmp_path / "out")
    files = written(tmp_path / "clean", here.dsn, place, "--table", "app.clean")
    watch.restart()
    for name in ("0000_prepare.sql", *files.forward, "verify.sql", "cleanup.sql"):
        done = psql(here.dsn, files.folder / name)
        wrong += [
            f"{name}: {r}" for r in describe(noted(place, f"toolkit: {_kind(name)}", watch.read()))
        ]
        if done.returncode:
            wrong.append(f"{name}: {done.stderr[-300:]}")
    assert wrong == []


def _partman(place: Place, dsn: str) -> None:
    """Create the extension, give its configuration table to mallory, and configure one of her tables."""
    execute(
        dsn,
        "CREATE SCHEMA partman",
        "CREATE EXTENSION pg_partman SCHEMA partman",
        f"GRANT ALL ON SCHEMA partman TO {OWNER}",
        f"ALTER TABLE partman.part_config OWNER TO {OWNER}",
        "INSERT INTO partman.part_config (parent_table, control, partition_type, partition_interval) VALUES ('app.clean', 'd', 'native', '1 day')",
    )


@pytest.mark.parametrize("how", ["column", "view"])
def test_partman_of_hers(tables: Hostile, how: str, tmp_path: Path) -> None:
    """Mallory owns pg_partman's configuration: a table with a column whose cast to json is her function, or a view instead of the table."""
    place = tables.place
    if "pg_partman" not in place.contrib:
        pytest.skip("no pg_partman")
    here = tables.copy("hostile_partman")
    _partman(place, here.dsn)
    flag = (
        "CREATE TYPE app.switch AS ENUM ('on')",
        traps.own("switch_json", "app.switch", "json", "part_config", "RETURN '\"on\"';"),
        "CREATE CAST (app.switch AS json) WITH FUNCTION app.switch_json(app.switch) AS IMPLICIT",
        "ALTER TABLE partman.part_config ADD COLUMN x app.switch DEFAULT 'on'",
    )
    view = (
        "ALTER TABLE partman.part_config RENAME TO part_config_of_old",
        "CREATE VIEW partman.part_config AS SELECT * FROM partman.part_config_of_old WHERE app.fixed_yes('part_config')",
    )
    execute(here.dsn, *(flag if how == "column" else view), role=OWNER)
    watch = Watch(place)
    execute(here.dsn, "SELECT row_to_json(p) FROM partman.part_config p")
    assert {(r.trap, r.current) for r in watch.read()} == {("part_config", place.superuser)}
    wrong = ran(place, f"part_config {how}: ", here.dsn, tmp_path / "out")
    watch.restart()
    written(tmp_path / "plan", here.dsn, place)
    wrong += describe(noted(place, f"part_config {how}: plan, migrate", watch.read()))
    assert wrong == []


# --- files of migrate, run by a superuser -------------------------------------------------------------------------------------


def _kind(name: str) -> str:
    if name.startswith("0000"):
        return "prepare"
    return (
        "rollback"
        if name.startswith("rollback/")
        else "file"
        if name[0] == "0"
        else name.removesuffix(".sql")
    )


def run_all(
    place: Place, dsn: str, files: Files, what: str, **environment: str
) -> tuple[list[str], dict[str, int]]:
    """Run every file in order.

    Return the traps that ran with the files that stopped without their reason, and the exit code of each file.
    """
    order = [
        "0000_prepare.sql",
        *files.forward,
        "verify.sql",
        *(f"rollback/{n}" for n in files.forward),
        "cleanup.sql",
    ]
    watch = Watch(place)
    wrong, codes = [], {}
    for name in order:
        done = psql(dsn, files.folder / name, **environment)
        records = noted(place, f"{what}, {_kind(name)}", watch.read())
        codes[name] = done.returncode
        wrong += [f"{name}: {r}" for r in describe(records)]
        if done.returncode and not (
            REASON.search(done.stderr) or ALSO.get(_kind(name), NEVER).search(done.stderr)
        ):
            wrong.append(f"{name}: stopped without the reason: {done.stderr[-300:]}")
        if done.returncode:
            MATRIX[place.name, f"{what}, {_kind(name)}"][
                Path(name).stem[5:].replace("app_", "") or name
            ].add("stopped")
    return wrong, codes


@pytest.mark.long
@pytest.mark.parametrize("mode", ["locked", "online"])
def test_scripts(hostile: Hostile, mode: str, tmp_path: Path) -> None:
    """Each file runs without a trap, or stops and reports that the owner should run it. Files of clean tables run to the end."""
    place = hostile.place
    here, files = scripts_of(hostile, tmp_path, "--mode", mode)
    wrong, codes = run_all(place, here.dsn, files, f"superuser {mode}")
    # on Greenplum, a committed staging table cannot be distinguished from others: a superuser runs these files on superusers' tables only
    clean = CLEAN[1:] if place.greenplum and mode == "online" else CLEAN
    for trap in (t for t in here.traps if t.name in clean):
        name = files.of(trap.table)
        if not name or codes[name] or codes[f"rollback/{name}"]:
            wrong.append(f"{trap.name}: {name or 'no file'} did not run to its end")
    assert wrong == []


def test_clean_tables_alone(hostile: Hostile, tmp_path: Path) -> None:
    """The files of clean tables of mallory and of the superuser run to the end, including the verification and the index of all files."""
    place = hostile.place
    here, files = scripts_of(
        hostile, tmp_path, "--table", "app.clean", "--table", "base.clean_of_the_superuser"
    )
    assert len(files.forward) == 2
    wrong, codes = run_all(place, here.dsn, files, "superuser, clean tables")
    assert wrong == []
    assert set(codes.values()) == {0}
    watch = Watch(place)
    done = psql(here.dsn, files.folder / "index.sql")
    assert done.returncode == 0, done.stderr
    assert noted(place, "superuser, index.sql of clean tables", watch.read()) == []


@pytest.mark.usefixtures("one_day")
def test_upkeep(hostile: Hostile, tmp_path: Path) -> None:
    """The script of a night runs no trap. If it must stop at a table, it continues with the next one."""
    place = hostile.place
    here = (hostile.origin or hostile).copy("hostile_scripts")
    script = tmp_path / "night.sql"
    watch = Watch(place)
    policy = _upkeep_policy(tmp_path)
    if place.greenplum:
        policy.write_text(UPKEEP)
    words = ("--policy", policy, "-o", script)
    result = gpcatalog(tmp_path, "upkeep", "script", here.dsn, *words)
    assert result.returncode == 0, result.stderr
    assert describe(noted(place, "upkeep script", watch.read())) == []
    here = hostile.copy("hostile_scripts")
    done = psql(here.dsn, script)
    assert describe(noted(place, "superuser, upkeep", watch.read())) == []
    assert done.returncode == 3
    assert "tables with a failed step" in done.stderr
    assert REASON.search(done.stderr)
    with traps.session(here.dsn) as conn:
        row = conn.execute(
            b"SELECT count(*) FROM gpcatalog_journal.step WHERE state = 'done' AND relation LIKE '%clean%'"
        ).fetchone()
    assert row is not None
    assert row[0] > 0  # clean tables are maintained


def test_index_of_all(hostile: Hostile, tmp_path: Path) -> None:
    """index.sql with all tables stops at the first file that has to stop, or runs without a trap."""
    place = hostile.place
    here, files = scripts_of(hostile, tmp_path, "--mode", "locked")
    watch = Watch(place)
    done = psql(here.dsn, files.folder / "index.sql")
    assert describe(noted(place, "superuser, index.sql", watch.read())) == []
    assert done.returncode == 0 or REASON.search(done.stderr)


@pytest.mark.long
def test_scripts_of_the_owner(tables: Hostile, tmp_path: Path) -> None:
    """Mallory runs the files of her tables herself: all of them run to the end, and nobody else runs her code."""
    place = tables.place
    here, files = scripts_of(tables, tmp_path, "--mode", "locked")
    # mallory may not change a superuser's table, and the server requires a password from the owner of a foreign leaf
    skipped = {files.of(t.table) for t in here.traps if not t.owner or t.name == "foreign"}
    watch = Watch(place)
    dsn = place.dsn(here.name, OWNER)
    failed = {}
    names = [n for n in files.forward if n not in skipped]
    for name in ("0000_prepare.sql", *names, *(f"rollback/{n}" for n in names), "cleanup.sql"):
        done = psql(dsn, files.folder / name)
        if done.returncode:
            failed[name] = done.stderr[-300:]
    records = noted(place, "owner, all files", watch.read())
    assert {(r.session, r.current) for r in records} == {(OWNER, OWNER)}
    assert failed == {}


def test_the_switch(tables: Hostile, tmp_path: Path) -> None:
    """With --run-owner-code, a superuser's files run the owner's code. It cannot be enabled afterwards, or for other files."""
    place = tables.place
    chosen = ("--table", "app.check_constant", "--table", "app.index_predicate")
    here, files = scripts_of(tables, tmp_path, *chosen)
    watch = Watch(place)
    for name in ("0000_prepare.sql", *files.forward):
        psql(here.dsn, files.folder / name, PGOPTIONS=SWITCH)
    assert describe(noted(place, "superuser, switch in the session", watch.read())) == []
    here, files = scripts_of(tables, tmp_path, *chosen, "--run-owner-code")
    watch.restart()
    for name in ("0000_prepare.sql", *files.forward, "verify.sql"):
        done = psql(here.dsn, files.folder / name)
        assert done.returncode == 0, done.stderr
    assert noted(place, "superuser, --run-owner-code", watch.read())


@pytest.mark.long
@pytest.mark.parametrize("mode", ["locked", "online"])
def test_scripts_under_a_role(tables: Hostile, mode: str, tmp_path: Path) -> None:
    """The database sets the superuser's role to mallory. Her code could become superuser again, so no file runs it."""
    place = tables.place
    here, files = scripts_of(tables, tmp_path, "--mode", mode)
    execute(place.dsn(), f"ALTER DATABASE {here.name} SET role = {OWNER}", role=OWNER)
    try:
        watch = Watch(place)
        wrong = []
        for name in (
            "0000_prepare.sql",
            *files.forward,
            "verify.sql",
            *(f"rollback/{n}" for n in files.forward),
            "cleanup.sql",
        ):
            psql(here.dsn, files.folder / name)
            records = noted(
                place, f"superuser {mode} under role = mallory, {_kind(name)}", watch.read()
            )
            wrong += [f"{name}: {r}" for r in describe(records)]
    finally:
        execute(place.dsn(), f"ALTER DATABASE {here.name} RESET role")
    assert wrong == []


def test_scripts_under_event_triggers(tables: Hostile, tmp_path: Path) -> None:
    """Event triggers run at any DDL: a file stops before its first DDL statement."""
    place = tables.place
    here, files = scripts_of(tables, tmp_path, "--table", "app.clean")
    traps.plant_events(place, here.dsn, login=False)
    try:
        watch = Watch(place)
        wrong = []
        for name in ("0000_prepare.sql", *files.forward, "cleanup.sql"):
            done = psql(here.dsn, files.folder / name)
            wrong += [
                f"{name}: {r}"
                for r in describe(
                    noted(place, f"event triggers, superuser, {_kind(name)}", watch.read())
                )
            ]
            if (
                done.returncode
                and not re.search(r"event trigger", done.stderr)
                and not name.startswith(("0001", "cleanup"))
            ):
                wrong.append(f"{name}: stopped without the reason: {done.stderr[-300:]}")
    finally:
        _drop(place, here.name)
    assert wrong == []


@pytest.mark.parametrize("events", [False, True], ids=["plain", "event triggers"])
def test_maintenance(tables: Hostile, events: bool, tmp_path: Path) -> None:
    """The maintenance script of a bloated catalog runs no trap. Since PostgreSQL 17, REINDEX fires event triggers."""
    place, here = tables.place, tables.copy("hostile_scripts")
    columns = ", ".join(f"c{n} int" for n in range(100))
    many = "; ".join(
        f"CREATE TABLE public.gone_{n} ({columns}); DROP TABLE public.gone_{n}" for n in range(20)
    )
    execute(here.dsn, *([many] * 10))
    file = tmp_path / "maintenance.sql"
    result = gpcatalog(tmp_path, "audit", here.dsn, "--maintenance", file, "--no-store")
    assert result.returncode == 0, result.stderr
    text = file.read_text()
    assert "VACUUM" in text
    if events:
        # independent of which catalogs need it here: a script may contain REINDEX
        file.write_text(
            text.replace(
                "-- 2. dead rows", "REINDEX TABLE pg_catalog.pg_depend;\n\n-- 2. dead rows"
            )
        )
        traps.plant_events(place, here.dsn, login=False)
    try:
        watch = Watch(place)
        done = psql(here.dsn, file)
        records = noted(
            place,
            f"superuser, maintenance script{' under event triggers' if events else ''}",
            watch.read(),
        )
    finally:
        if events:
            _drop(place, here.name)
    assert describe(records) == []
    assert done.returncode == 0 or (events and "event trigger" in done.stderr), done.stderr


# --- between two transactions ------------------------------------------------------------------------------------------------


INTERFERENCES = {
    "check on the stage": "ALTER TABLE {stage} ADD CONSTRAINT late CHECK (app.num('check on the stage', id) IS NOT NULL)",
    "trigger on the stage": "CREATE TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON {stage} FOR EACH ROW EXECUTE PROCEDURE app.late_row()",
    "rule on the stage": "CREATE RULE late AS ON INSERT TO {stage} DO ALSO SELECT app.any_num('rule on the stage')",
    "index on the stage": "CREATE INDEX late ON {stage} (v) WHERE app.yes('index on the stage')",
    "index on the root": "CREATE INDEX late ON app.clean (v) WHERE app.yes('index on the root')",
    "another table for the stage": "ALTER TABLE {stage} RENAME TO gone_aside; CREATE TABLE {stage} (id int, d date, v text, CHECK (app.num('another table for the stage', id) IS NOT NULL)); ",
    "a view for the stage": "ALTER TABLE {stage} RENAME TO gone_aside; CREATE VIEW {stage} AS SELECT id + app.any_num('a view for the stage') AS id, d, v FROM gone_aside",
}


@pytest.mark.parametrize("interference", INTERFERENCES)
def test_between_transactions(tables: Hostile, interference: str, tmp_path: Path) -> None:
    """Online mode commits the staging table, which belongs to mallory, before it is filled: she can change it as she likes."""
    place = tables.place
    here, files = scripts_of(tables, tmp_path, "--table", "app.clean", "--mode", "online")
    execute(
        here.dsn,
        traps.own("late_row", "", "trigger", "trigger on the stage", "RETURN NEW;", ""),
        role=OWNER,
    )
    name = files.of("app.clean")
    text = (files.folder / name).read_text()
    found = re.search(r"staged\([^;]*'(app\.\w+)'\)", text)
    assert found is not None
    stage = found[1]
    head, *parts = re.split(r"(?<=^COMMIT;\n)", text, flags=re.M)
    settings = head[: head.index("BEGIN ISOLATION")]
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    watch = Watch(place)
    wrong, done_once, stopped = [], False, False
    for n, part in enumerate([head, *(settings + p for p in parts)]):
        file = tmp_path / f"part{n}.sql"
        file.write_text(part)
        watch.restart()
        done = psql(here.dsn, file)
        wrong += [
            f"part {n}: {r}"
            for r in describe(noted(place, f"superuser online, {interference}", watch.read()))
        ]
        there = fetch(
            here.dsn,
            f"SELECT 1 FROM pg_class WHERE oid = to_regclass('{stage}'{'::cstring' if place.classic else ''})",
        )
        if there and not done_once:
            for statement in INTERFERENCES[interference].format(stage=stage).split("; "):
                if statement:
                    execute(here.dsn, f"SET search_path = app; {statement}", role=OWNER)
            done_once = True
        if done.returncode:
            MATRIX[place.name, f"superuser online, {interference}"]["clean"].add("stopped")
            stopped = True
            break
    assert done_once or (stopped and place.greenplum)
    assert wrong == []


# --- while a file waits for a lock --------------------------------------------------------------------------------------------

RACES = {
    # statements that mallory has run and not committed yet, by what the superuser runs meanwhile
    "locked": (
        "CREATE INDEX late ON {leaf} (v) WHERE app.yes('locked')",
        "LOCK TABLE {leaf} IN ACCESS EXCLUSIVE MODE",
    ),
    "online": (
        "ALTER TABLE {stage} ADD CONSTRAINT late CHECK (app.num('online', id) IS NOT NULL)",
    ),
    "verify": (
        "CREATE INDEX late ON {new} (v) WHERE app.yes('verify')",
        "LOCK TABLE {new} IN ACCESS EXCLUSIVE MODE",
    ),
    "statistics": ("CREATE INDEX late ON {new} (v) WHERE app.yes('statistics')",),
}


def parts_of(text: str) -> list[str]:
    """The transactions of a file, each after the settings that all of them have."""
    start = re.search(r"^BEGIN( ISOLATION [A-Z ]+)?;", text, re.M)
    assert start is not None
    settings = text[: start.start()]
    return [
        settings + part
        for part in re.split(r"(?<=^COMMIT;\n)", text[start.start() :], flags=re.M)
        if "COMMIT;" in part
    ]


@pytest.mark.parametrize("race", RACES)
def test_while_it_waits(tables: Hostile, race: str, tmp_path: Path) -> None:
    """Mallory commits changes that the check could not see while the next statement waits for her lock.

    The changes are detected before anything runs.
    """
    place = tables.place
    mode = "online" if race == "online" else "locked"
    here, files = scripts_of(tables, tmp_path, "--table", "app.clean", "--mode", mode)
    name = files.of("app.clean")
    text = (files.folder / name).read_text()
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    stage = re.search(r"staged\([^;]*'(app\.\w+)'\)", text)
    assert stage is not None
    raced = tmp_path / "raced.sql"
    raced.write_text(text)
    before: list[str] = []
    if race == "online":
        before, behind = _from_the_stage(parts_of(text))
        raced.write_text(behind)
    elif race == "statistics":
        *before, last = parts_of(text)
        raced.write_text(last)
    elif race == "verify":
        before = [text]
        raced.write_text((files.folder / "verify.sql").read_text())
    for n, part in enumerate(before):
        (tmp_path / f"before{n}.sql").write_text(part)
        done = psql(here.dsn, tmp_path / f"before{n}.sql")
        if done.returncode and place.greenplum and REASON.search(done.stderr):
            MATRIX[place.name, f"race, {race}"]["clean"].add("stopped before")
            return
        assert done.returncode == 0, done.stderr
    clean = next(t for t in here.traps if t.name == "clean")
    new = fetch(
        here.dsn,
        "SELECT max(c.oid::regclass::text) FROM pg_class c WHERE c.relname LIKE 'clean%p2020m02' OR c.relname LIKE 'clean%2020m02'",
    )
    fills = {"leaf": clean.leaf(place), "stage": stage[1], "new": new[0][0]}
    watch = Watch(place)
    with psycopg.connect(place.dsn(here.name, OWNER), options=traps.ENVIRONMENT) as mallory:
        for statement in RACES[race]:
            mallory.execute(statement.format(**fills).encode())
        command = [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", here.dsn, "-f", str(raced)]
        runner = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        waited = False
        for _ in range(400):
            if runner.poll() is not None:
                break
            if fetch(place.dsn(), "SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1"):
                waited = True
                time.sleep(0.05)
                break
            time.sleep(0.02)
        watch.restart()  # forget the traps that mallory ran herself
        mallory.commit()
    _, stderr = runner.communicate(timeout=120)
    records = noted(place, f"race, {race}", watch.read())
    MATRIX[place.name, f"race, {race}"]["clean"].add(
        f"{'waited' if waited else 'did not wait'}, exit {runner.returncode}"
    )
    assert describe(records) == []
    assert runner.returncode == 0 or REASON.search(stderr), stderr


def _from_the_stage(parts: list[str]) -> tuple[list[str], str]:
    """The transactions up to the one that commits the staging table, and the next transaction."""
    at = next(n for n, part in enumerate(parts) if ".staged(" in part)
    return parts[: at + 1], parts[at + 1]


@pytest.mark.parametrize("mode", ["locked", "online"])
def test_schema_is_exchanged(tables: Hostile, mode: str, tmp_path: Path) -> None:
    """While a file waits for the lock that blocks readers, mallory renames her schema and puts another one in its place.

    No lock of a table prevents this.
    """
    place = tables.place
    here, files = scripts_of(tables, tmp_path, "--table", "app.clean", "--mode", mode)
    file = files.folder / files.of("app.clean")
    stage = re.search(r"staged\([^;]*'(app\.\w+)'\)", file.read_text())
    assert stage is not None
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    clean = next(t for t in here.traps if t.name == "clean")
    check = "CHECK (app.num('schema exchanged', 1) IS NOT NULL)"
    twin = replace(clean, more=(f"ALTER TABLE {{t}} ADD CONSTRAINT late {check}",))
    exchange = [
        "ALTER SCHEMA app RENAME TO aside",
        "CREATE SCHEMA app",
        traps.spring(),
        *(traps.function(f) for f in traps.FUNCTIONS),
        *twin.make(place),
        f"CREATE TABLE {stage[1]} (id int, d date, v text, CONSTRAINT late {check})",
    ]
    watch = Watch(place)
    with traps.session(place.dsn(here.name, OWNER)) as reader:
        reader.execute(b"BEGIN")
        reader.execute(f"SELECT * FROM {clean.leaf(place)} LIMIT 1".encode())
        command = [PSQL, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", here.dsn, "-f", str(file)]
        runner = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(600):
            if runner.poll() is not None or fetch(
                place.dsn(),
                "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' LIMIT 1",
            ):
                break
            time.sleep(0.02)
        outcome = "exchanged"
        try:
            with traps.session(place.dsn(here.name, OWNER)) as mallory, mallory.transaction():
                mallory.execute(b"SET lock_timeout = '3s'")
                for statement in exchange:
                    mallory.execute(statement.encode())
        except psycopg.Error as e:
            outcome = str(e).splitlines()[0]
        watch.restart()  # forget the traps that mallory ran herself
        reader.execute(b"COMMIT")
    _, heard = runner.communicate(timeout=120)
    records = noted(place, f"superuser {mode}, schema exchanged", watch.read())
    MATRIX[place.name, f"superuser {mode}, schema exchanged"]["clean"].add(
        f"{outcome}; exit {runner.returncode}"
    )
    assert describe(records) == [], heard


def test_count_while_schemas_are_exchanged(tables: Hostile, tmp_path: Path) -> None:
    """`migrate --count` reads a superuser's table in mallory's schema, while she swaps the schema with a copy again and again."""
    place, here = tables.place, tables.copy("hostile_counted")
    clean = next(t for t in here.traps if t.name == "clean")
    wide = replace(clean, name="counted", bounds=traps.WIDE, owner="")
    execute(here.dsn, *wide.make(place), f"ANALYZE {wide.table}")
    home = tmp_path / "work"
    home.mkdir()
    (home / "policy.toml").write_text(EAGER)
    result = gpcatalog(
        home,
        "plan",
        here.dsn,
        "--policy",
        home / "policy.toml",
        "--format",
        "json",
        "-o",
        home / "plan.json",
    )
    assert result.returncode == 0, result.stderr
    twin = replace(
        wide, owner=OWNER, more=("CREATE INDEX late ON {t} (v) WHERE app.yes('counted')",)
    )
    with psycopg.connect(
        place.dsn(here.name, OWNER), autocommit=True, options=traps.ENVIRONMENT
    ) as mallory:
        for statement in (
            "ALTER SCHEMA app RENAME TO aside",
            "CREATE SCHEMA app",
            traps.spring(),
            *map(traps.function, traps.FUNCTIONS),
            *twin.make(place),
        ):
            mallory.execute(statement.encode())
        mallory.execute(b"ALTER SCHEMA app RENAME TO twin")
        mallory.execute(b"ALTER SCHEMA aside RENAME TO app")
        watch = Watch(place)
        for _ in range(3):
            shutil.rmtree(home / "sql", ignore_errors=True)
            env = {**os.environ, "PYTHONPATH": str(ROOT), "GPCATALOG_HOME": str(home)}
            words = [
                "migrate",
                str(home / "plan.json"),
                "-o",
                str(home / "sql"),
                here.dsn,
                "--count",
                "--table",
                wide.table,
            ]
            runner = subprocess.Popen(
                [sys.executable, "-m", "gpcatalog", *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=env,
            )
            while runner.poll() is None:
                for one, other in (("aside", "twin"), ("twin", "aside")):
                    with mallory.transaction():
                        mallory.execute(f"ALTER SCHEMA app RENAME TO {one}".encode())
                        mallory.execute(f"ALTER SCHEMA {other} RENAME TO app".encode())
        records = noted(place, "migrate --count, schemas exchanged", watch.read())
    assert describe(records) == []


# --- the journal's schema ------------------------------------------------------------------------------------------------------


@pytest.fixture
def migration(tables: Hostile, tmp_path: Path) -> tuple[Hostile, Files]:
    """A database with the files of two clean tables."""
    return scripts_of(
        tables, tmp_path, "--table", "app.clean", "--table", "base.clean_of_the_superuser"
    )


def stops(here: Hostile, files: Files, what: str, *names: str) -> None:
    """Check that each of these files stops with the reason and runs no trap."""
    watch = Watch(here.place)
    wrong = []
    for name in names:
        done = psql(here.dsn, files.folder / name)
        wrong += [
            f"{name}: {r}"
            for r in describe(noted(here.place, f"{what}, {_kind(name)}", watch.read()))
        ]
        if not done.returncode:
            wrong.append(f"{name}: ran to its end")
        elif not REASON.search(done.stderr):
            wrong.append(f"{name}: {done.stderr[-300:]}")
    assert wrong == []


AFTER = ("0001", "verify.sql", "rollback/0001", "cleanup.sql")


def _names(files: Files, *names: str) -> list[str]:
    first = files.forward[0]
    return [w.replace("0001", first) if "0001" in w else w for w in names]


def test_squatted_journal(migration: tuple[Hostile, Files]) -> None:
    """Mallory created a schema with the name of the journal first, with all its objects."""
    here, files = migration
    assert psql(here.place.dsn(here.name, OWNER), files.folder / "0000_prepare.sql").returncode == 0
    names = traps.squat(here.dsn, SQUAT)
    assert len(names) > 15
    watch = Watch(here.place)
    execute(here.dsn, f"SELECT {SQUAT}.expect_locks(1)")
    assert [r.trap for r in watch.read()] == ["squatted expect_locks"]
    stops(here, files, "squatted journal", "0000_prepare.sql")
    traps.squat(here.dsn, SQUAT)  # all objects still belong to mallory, also after prepare
    stops(here, files, "squatted journal", *_names(files, *AFTER))


def test_squatted_by_an_empty_schema(migration: tuple[Hostile, Files]) -> None:
    """An empty schema of mallory is enough: she could drop and recreate objects that are created in it."""
    here, files = migration
    execute(here.dsn, f"CREATE SCHEMA {SQUAT} AUTHORIZATION {OWNER}")
    stops(here, files, "empty schema of hers", "0000_prepare.sql")


def test_journal_changes_hands(migration: tuple[Hostile, Files]) -> None:
    """Between prepare and the next file, mallory becomes the owner of the schema and replaces a function."""
    here, files = migration
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    execute(here.dsn, f"ALTER SCHEMA {SQUAT} OWNER TO {OWNER}")
    ((arguments, result),) = fetch(
        here.dsn,
        "SELECT pg_get_function_arguments(p.oid), pg_get_function_result(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace"
        f" WHERE nspname = '{SQUAT}' AND proname = 'state'",
    )
    execute(
        here.dsn,
        f"DROP FUNCTION {SQUAT}.state({arguments}) CASCADE",
        f"CREATE FUNCTION {SQUAT}.state({arguments}) RETURNS {result} LANGUAGE plpgsql AS"
        " $f$ BEGIN PERFORM app.spring('exchanged state'); RETURN ''; END $f$",
        role=OWNER,
    )
    stops(here, files, "journal changes hands", *_names(files, *AFTER), "0000_prepare.sql")


@pytest.mark.parametrize("role", [OWNER, STRANGER])
def test_one_function_of_somebody_else(migration: tuple[Hostile, Files], role: str) -> None:
    """One function in the superuser's schema belongs to another role."""
    here, files = migration
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    execute(
        here.dsn,
        f"GRANT USAGE, CREATE ON SCHEMA {SQUAT} TO {role}",
        f"""DO $$ DECLARE r record; BEGIN
            FOR r IN SELECT p.oid::regprocedure::text AS f FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                      WHERE n.nspname = '{SQUAT}' AND p.proname IN ('state', 'sweep') LOOP
                EXECUTE 'ALTER FUNCTION ' || r.f || ' OWNER TO {role}'; END LOOP; END $$""",
    )
    assert sorted(traps.squat(here.dsn, SQUAT, role)) == ["state", "sweep"]
    stops(here, files, f"function of {role}", *_names(files, *AFTER))


def test_one_table_of_somebody_else(migration: tuple[Hostile, Files]) -> None:
    """One table of the journal belongs to mallory, with a rule and an index of hers."""
    here, files = migration
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    execute(
        here.dsn,
        f"GRANT USAGE, CREATE ON SCHEMA {SQUAT} TO {OWNER}",
        f"ALTER TABLE {SQUAT}.tree OWNER TO {OWNER}",
    )
    execute(
        here.dsn,
        f"CREATE RULE late AS ON INSERT TO {SQUAT}.tree DO ALSO SELECT app.any_num('rule on the journal')",
        f"CREATE INDEX late ON {SQUAT}.tree (plan) WHERE app.yes('index on the journal')",
        role=OWNER,
    )
    stops(here, files, "table of mallory", *_names(files, *AFTER))


@pytest.mark.parametrize("what", ["trigger", "overload"])
def test_default_privileges(migration: tuple[Hostile, Files], what: str) -> None:
    """The superuser's own default privileges grant mallory rights on new objects: TRIGGER on tables, CREATE in schemas."""
    here, files = migration
    place = here.place
    boss = place.superuser
    schemas = (
        ""
        if place.classic
        else f"ALTER DEFAULT PRIVILEGES FOR ROLE {boss} GRANT ALL ON SCHEMAS TO {OWNER}"
    )
    execute(
        here.dsn,
        f"ALTER DEFAULT PRIVILEGES FOR ROLE {boss} GRANT ALL ON TABLES TO {OWNER}",
        *([schemas] if schemas else []),
    )
    assert psql(here.dsn, files.folder / "0000_prepare.sql").returncode == 0
    statements = {
        "trigger": (
            traps.own("on_step", "", "trigger", "trigger on the journal", "RETURN NEW;", ""),
            *(
                f"CREATE TRIGGER late BEFORE INSERT ON {SQUAT}.{t} FOR EACH ROW EXECUTE PROCEDURE app.on_step()"
                for t in ("step", "tree", "tally")
            ),
        ),
        "overload": (
            f"CREATE FUNCTION {SQUAT}.expect_locks(n int) RETURNS void LANGUAGE plpgsql AS"
            " $f$ BEGIN PERFORM app.spring('overload in the journal'); END $f$",
        ),
    }[what]
    try:
        execute(here.dsn, *statements, role=OWNER)
    except psycopg.errors.InsufficientPrivilege as e:
        MATRIX[place.name, f"default privileges, {what}"]["denied"].add(str(e).splitlines()[0])
    watch = Watch(place)
    wrong = []
    for name in (*files.forward, "verify.sql", "cleanup.sql"):
        done = psql(here.dsn, files.folder / name)
        wrong += [
            f"{name}: {r}"
            for r in describe(
                noted(place, f"default privileges, {what}, {_kind(name)}", watch.read())
            )
        ]
        if done.returncode and not re.search(
            REASON.pattern + r"|trigger|privilege", done.stderr, re.I
        ):
            wrong.append(f"{name}: {done.stderr[-300:]}")
    assert wrong == []


# --- a pooler --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["session", "transaction"])
def test_pooler(pg15_server: PrivateServer, pool: str, tmp_path: Path) -> None:
    """A pooler that drops the options is refused, even if the role is read-only by its own settings."""
    binary = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if binary is None:
        pytest.skip("no pgbouncer installed")
    with psycopg.connect(pg15_server.conninfo(), autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS calm")
        conn.execute("CREATE ROLE calm LOGIN SUPERUSER")
        conn.execute("ALTER ROLE calm SET default_transaction_read_only = on")
    port = free_port()
    (tmp_path / "users.txt").write_text('"calm" ""\n')
    config = tmp_path / "bouncer.ini"
    config.write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={pg15_server.port} user=calm\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"auth_type = any\nunix_socket_dir =\npool_mode = {pool}\nlogfile =\npidfile =\nignore_startup_parameters = options\n"
    )
    let_in(tmp_path)
    bouncer = subprocess.Popen(
        [binary, str(config)], stderr=subprocess.DEVNULL, **process.unprivileged()
    )
    wrong = []
    try:
        wait_for_port(port)
        dsn = f"host=127.0.0.1 port={port} user=calm dbname=postgres"
        with psycopg.connect(dsn, autocommit=True) as conn:
            assert conn.execute("SHOW default_transaction_read_only").fetchone() == ("on",)
        for words in (
            ("audit", dsn),
            ("doctor", dsn),
            ("plan", dsn),
            ("latency", dsn),
            ("snapshot", "take", dsn),
            ("estimate", dsn, "--table", "x.y"),
        ):
            result = gpcatalog(tmp_path, *words)
            if result.returncode != 3 or "pooler" not in result.stderr:
                wrong.append(f"{words[0]}: exit {result.returncode}: {result.stderr[-200:]}")
    finally:
        bouncer.kill()
        bouncer.wait()
        with psycopg.connect(pg15_server.conninfo(), autocommit=True) as conn:
            conn.execute("DROP ROLE calm")
    assert wrong == []


# --- final check -------------------------------------------------------------------------------------------------------------------


def test_nobody_rose(place: Place) -> None:
    """After all of these tests, no role has become superuser."""
    rows = fetch(
        place.dsn(),
        f"SELECT rolname::text FROM pg_roles WHERE rolsuper AND rolname IN ('{OWNER}', '{OTHER}', '{STRANGER}')",
    )
    assert rows == []
