"""A database whose owner is hostile: traps that write a record to the server's log whenever somebody runs them.

Every trap is a function of mallory, who is not a superuser. Its record is a line in the server's own log. This works in
read-only transactions and on segments, and does not depend on what the client receives. A record names the session's role, the
current role and the statement, and whether the trap could have become the superuser of the session.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import psycopg

from gpcatalog.lab.postgres import PrivateServer, major_of
from tests import greenplum

OWNER = "mallory"
OTHER = "bystander"  # owns nothing; policies apply to this role
STRANGER = "stranger"  # owns one function inside schemas of others
ENVIRONMENT = "-c search_path=pg_catalog"  # keeps this module's own sessions away from the traps

_MARK = re.compile(r"sprung-<<(.*?) ;; (.*?) ;; (.*?) ;; (\d+) ;; (.*?) ;; (.*?)>>", re.S)


# --- servers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """One server under attack. version: 90400, 120000, 150000 …; logs: the data folder or log file of each instance, by its name."""

    name: str
    version: int
    greenplum: bool
    superuser: str
    port: int
    logs: tuple[tuple[str, Path], ...]
    contrib: frozenset[str] = frozenset()  # extensions that can be installed

    @property
    def classic(self) -> bool:
        return self.greenplum and self.version < 120000

    def dsn(self, database: str = "postgres", user: str = "") -> str:
        """Connection string of a role, the superuser by default."""
        return f"host=127.0.0.1 port={self.port} user={user or self.superuser} dbname={database}"

    def files(self) -> Iterator[tuple[str, Path]]:
        """The current log files, each with its instance."""
        for instance, place in self.logs:
            if place.is_file():
                yield instance, place
            for part in ("pg_log", "log"):
                yield from ((instance, f) for f in sorted((place / part).glob("*")) if f.is_file())


def place_of(name: str, server: PrivateServer | greenplum.Cluster) -> Place:
    """The `Place` for the server of a fixture."""
    if isinstance(server, PrivateServer):
        version = major_of(server.binaries) * 10000
        return _with_contrib(
            Place(
                name,
                version,
                False,
                "postgres",
                server.port,
                (("server", server.folder / "server.log"),),
            )
        )
    instances = range(-1, greenplum.SEGMENTS)
    logs = tuple(("coordinator" if c < 0 else f"segment{c}", server.data(c)) for c in instances)
    return _with_contrib(
        Place(
            name,
            90400 if server.generation == 6 else 120000,
            True,
            "gpadmin",
            server.ports[0],
            logs,
        )
    )


def _with_contrib(place: Place) -> Place:
    names = fetch(place.dsn(), "SELECT name FROM pg_available_extensions")
    return replace(place, contrib=frozenset(str(name) for (name,) in names))


@contextmanager
def session(
    dsn: str, *, role: str = "", careless: bool = False
) -> Iterator[psycopg.Connection[Any]]:
    """A connection in autocommit mode that uses no shadow, unless `careless` is set."""
    options = {} if careless else {"options": ENVIRONMENT}
    with psycopg.connect(dsn, autocommit=True, **options) as conn:
        if role:
            conn.execute(f"SET SESSION AUTHORIZATION {role}".encode())
        yield conn


def execute(dsn: str, *statements: str, role: str = "") -> None:
    """Run statements one by one."""
    with session(dsn, role=role) as conn:
        for s in statements:
            try:
                conn.execute(s.encode())
            except psycopg.Error as e:
                e.add_note(s)
                raise


def fetch(dsn: str, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    with session(dsn) as conn:
        return conn.execute(query.encode()).fetchall()


# --- records of traps ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A trap that ran.

    rises: if it ran as another role than the session's, the role that it could become, or "no: …" with the server's error
    """

    trap: str
    session: str
    current: str
    pid: int
    rises: str
    where: str
    instance: str

    def dangerous(self, superusers: Iterable[str]) -> bool:
        """Whether the trap ran as a superuser, or could have become one."""
        return self.current in superusers or self.rises in superusers

    @property
    def statement(self) -> str:
        """The kind of the innermost statement that is not the trap's own."""
        stack, _, query = self.where.partition("⏎ query: ")
        found = re.findall(r'SQL (?:statement|expression) ""?(.*?)(?:""?)?(?:⏎|\Z)', stack)
        return words(next((s for s in found if "spring(" not in s), query))


def words(statement: str) -> str:
    """The kind of a statement.

    >>> words('INSERT INTO app.x (id) SELECT 1'), words('ALTER TABLE a ATTACH PARTITION b DEFAULT'), words('LOCK TABLE ONLY x')
    ('INSERT', 'ALTER TABLE ATTACH', 'LOCK')
    """
    text = " ".join(statement.split())
    first = re.match(
        r"(CREATE (?:UNIQUE )?INDEX|CREATE \w+|ALTER TABLE|ALTER INDEX|DROP \w+|COMMENT|\w+)",
        text,
        re.I,
    )
    head = first[1].upper() if first else text[:20]
    if head == "ALTER TABLE":
        verb = re.search(
            r"\b(ATTACH|DETACH|EXCHANGE|SPLIT|ADD PARTITION|DROP PARTITION|DROP CONSTRAINT|ADD CONSTRAINT|VALIDATE|RENAME|OWNER TO|SET STATISTICS|MERGE|SET SUBPARTITION|REPLICA)\b",
            text,
            re.I,
        )
        head += f" {verb[1].upper()}" if verb else ""
    if head == "SELECT" and "hashtext" in text:
        head = "SELECT count, hash"
    return head


@dataclass
class Watch:
    """The records of traps since the object was created."""

    place: Place
    offsets: dict[Path, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Ignore all records so far."""
        self._fence()
        self.offsets = {path: path.stat().st_size for _, path in self.place.files()}

    def read(self) -> list[Record]:
        """Records since the last call."""
        self._fence()
        found = []
        for instance, path in self.place.files():
            with path.open("rb") as f:
                f.seek(self.offsets.get(path, 0))
                text = f.read().decode(errors="replace")
            self.offsets[path] = self.offsets.get(path, 0) + len(text.encode())
            found += [
                Record(m[1], m[2], m[3], int(m[4]), m[5], m[6], instance)
                for m in _MARK.finditer(text)
            ]
        return found

    def _fence(self) -> None:
        """Wait until every instance has written earlier messages to its log: a log collector writes with a delay."""
        token = f"fence{uuid.uuid4().hex}"
        with session(self.place.dsn()) as conn:
            conn.execute(
                b"CREATE OR REPLACE FUNCTION public.fence(token text) RETURNS text LANGUAGE plpgsql VOLATILE AS "
                b"$$ BEGIN RAISE LOG '%-%', 'stood', token; RETURN token; END $$"
            )
            conn.execute(f"SELECT public.fence('{token}')".encode())
            if self.place.greenplum:
                conn.execute(
                    f"SELECT public.fence('{token}') FROM gp_dist_random('gp_id')".encode()
                )
        mark = f"stood-{token}".encode()
        missing = {instance for instance, _ in self.place.logs}
        for _ in range(400):
            for instance, path in self.place.files():
                if instance in missing and mark in _tail(path):
                    missing.discard(instance)
            if not missing:
                return
            time.sleep(0.025)
        raise AssertionError(f"no fence in the log of {missing}")


def _tail(path: Path, size: int = 1 << 16) -> bytes:
    with path.open("rb") as f:
        f.seek(max(0, path.stat().st_size - size))
        return f.read()


# --- the function that writes records ----------------------------------------------------------------------------------


def spring() -> str:
    """The function that every trap calls.

    Nothing in it can be shadowed. If it runs as another role than the session's, it tries to become the session's role and
    records the resulting role. The attempt is rolled back.
    """
    return r"""
        CREATE FUNCTION app.spring(trap pg_catalog.text) RETURNS pg_catalog.bool LANGUAGE plpgsql VOLATILE AS $f$
        DECLARE
            stack pg_catalog.text;
            rises pg_catalog.text := '';
        BEGIN
            GET DIAGNOSTICS stack = PG_CONTEXT;
            IF current_user OPERATOR(pg_catalog.<>) session_user THEN
                BEGIN
                    PERFORM pg_catalog.set_config('role', 'none', true);
                    rises := current_user;
                    RAISE EXCEPTION USING ERRCODE = 'P0T01';
                EXCEPTION WHEN SQLSTATE 'P0T01' THEN NULL;
                          WHEN OTHERS THEN rises := pg_catalog.concat('no: ', SQLERRM);
                END;
            END IF;
            RAISE LOG '%-<<% ;; % ;; % ;; % ;; % ;; %>>', 'sprung', trap, session_user, current_user, pg_catalog.pg_backend_pid(), rises,
                pg_catalog.translate(pg_catalog.concat(stack, E'\n query: ', pg_catalog.left(pg_catalog.current_query(), 300)), E'\n', '⏎');
            RETURN true;
        END $f$"""


# the argument `trap` is the name of the trap; functions marked IMMUTABLE are not immutable
FUNCTIONS = (
    "yes(trap text) RETURNS boolean IMMUTABLE",
    "num(trap text, n int) RETURNS int IMMUTABLE",
    "str(trap text, n text) RETURNS text IMMUTABLE",
    "day(trap text, n date) RETURNS date IMMUTABLE",
    "fixed_yes(trap text) RETURNS boolean STABLE",
    "any_yes(trap text) RETURNS boolean VOLATILE",
    "any_num(trap text) RETURNS int VOLATILE",
)


def function(signature: str, body: str = "") -> str:
    """One function in mallory's schema: it runs the trap named by its first argument, and returns its second or a harmless value."""
    head, _, tail = signature.partition(" RETURNS ")
    given = body or (
        "RETURN n;" if " n " in head else "RETURN true;" if tail.startswith("bool") else "RETURN 1;"
    )
    return f"CREATE FUNCTION app.{head} RETURNS {tail} LANGUAGE plpgsql AS $f$ BEGIN PERFORM app.spring(trap); {given} END $f$"


def own(
    name: str, arguments: str, returns: str, trap: str, body: str, how: str = "IMMUTABLE"
) -> str:
    """A function for one trap."""
    return (
        f"CREATE FUNCTION app.{name}({arguments}) RETURNS {returns} LANGUAGE plpgsql {how} AS $f$"
        f" BEGIN PERFORM app.spring('{trap}'); {body} END $f$"
    )


# --- traps in tables ------------------------------------------------------------------------------------------------------

WIDE = (
    *(f"2020-01-{n}" for n in range(17, 32)),
    "2020-02-01",
    "2020-02-02",
    "2020-02-03",
)  # only the tables with most partitions are planned
DAYS = ("2020-01-30", "2020-01-31", "2020-02-01", "2020-02-02", "2020-02-03")


class Shape(Protocol):
    def __call__(self, place: Place, table: str) -> list[str]: ...


@dataclass(frozen=True)
class Trap:
    """A table with one kind of code of its owner in it.

    columns, key, tail: of the table
    more: statements after it, {t} is the table, {l} its first leaf; first: statements before it
    boss: statements before the table that only a superuser may run; careless: a statement of a superuser that runs the trap
    by: the role that runs the trap, if a superuser never does; impossible: a function that returns why a server cannot have it, or ""
    """

    name: str
    columns: str = "id int, d date, v text"
    fill: str = "id, d, v"
    values: str = "i, date '2020-01-30' + i % 4, 'v' || i"
    key: str = "RANGE (d)"
    first: tuple[str, ...] = ()
    boss: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    careless: str = "EXPLAIN SELECT * FROM {t}"
    by: str = ""
    impossible: Callable[[Place], str] = lambda place: ""
    tail: str = "DISTRIBUTED BY (id)"
    default: bool = False
    bounds: tuple[str, ...] = DAYS
    schema: str = "app"
    owner: str = OWNER
    never: str = ""  # why a superuser's statement never runs it

    @property
    def stem(self) -> str:
        return re.sub(r"\W+", "_", self.name)

    @property
    def table(self) -> str:
        return f"{self.schema}.{self.stem}"

    def leaf(self, place: Place, n: int = 1) -> str:
        return f"{self.table}_1_prt_{n}" if place.classic else f"{self.table}_{n}"

    def make(self, place: Place) -> list[str]:
        """The statements that the owner runs."""
        tail = f" {self.tail}" if place.greenplum else ""
        if place.classic:
            typed = "date " if "d date" in self.columns or "d app" in self.columns else ""
            quote = "'" if typed else ""
            parts = [
                f"START ({typed}{quote}{a}{quote}) END ({typed}{quote}{b}{quote})"
                for a, b in zip(self.bounds, self.bounds[1:], strict=False)
            ]
            parts += ["DEFAULT PARTITION other"] if self.default else []
            table = [
                f"CREATE TABLE {self.table} ({self.columns}){tail} PARTITION BY {self.key} ({', '.join(parts)})"
            ]
        else:
            table = [f"CREATE TABLE {self.table} ({self.columns}) PARTITION BY {self.key}{tail}"]
            for n, (a, b) in enumerate(zip(self.bounds, self.bounds[1:], strict=False), 1):
                table.append(
                    f"CREATE TABLE {self.table}_{n} PARTITION OF {self.table} FOR VALUES FROM ('{a}') TO ('{b}')"
                )
            if self.default:
                table.append(f"CREATE TABLE {self.table}_other PARTITION OF {self.table} DEFAULT")
        fill = f"INSERT INTO {self.table} ({self.fill}) SELECT {self.values} FROM pg_catalog.generate_series(1, 20) i"
        last = f"{self.table}_{'1_prt_other' if place.classic else 'other'}"
        leaves = [self.leaf(place, n) for n in range(1, len(self.bounds))]
        words = {
            "t": self.table,
            "l": leaves[0],
            "n": self.stem,
            "last": last,
            "port": place.port,
            "boss": place.superuser,
            "db": "{db}",
        }
        more = [
            s.format(**words, each=leaf)
            for s in self.more
            for leaf in (leaves if "{each}" in s else [""])
        ]
        return [*self.first, *table, *more, fill]


def _since(version: int, what: str, *, greenplum: int = 0) -> Callable[[Place], str]:
    """A function that returns why a server is too old for a trap; greenplum: the lowest version of Greenplum, 0: same as `version`."""

    def reason(place: Place) -> str:
        lowest = (greenplum or version) if place.greenplum else version
        return "" if place.version >= lowest else f"{what} on this server"

    return reason


def _not_six(what: str) -> Callable[[Place], str]:
    return lambda place: f"{what} on Greenplum 6" if place.classic else ""


_CMP = "RETURN CASE WHEN $1 < $2 THEN -1 WHEN $1 > $2 THEN 1 ELSE 0 END;"
_BTREE = "OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 {f}"

TRAPS: tuple[Trap, ...] = (
    Trap(
        "index predicate", more=("CREATE INDEX {n}_i ON {t} (v) WHERE app.yes('index predicate')",)
    ),
    Trap(
        "index expression",
        more=("CREATE INDEX {n}_i ON {t} ((id + app.num('index expression', 1)))",),
    ),
    Trap(
        "index expression of rows",
        more=("CREATE INDEX {n}_i ON {t} (app.num('index expression of rows', id))",),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap("index of a leaf", more=("CREATE INDEX ON {each} (v) WHERE app.yes('index of a leaf')",)),
    Trap("operator", more=("CREATE INDEX {n}_i ON {t} ((id + (1 OPERATOR(app.+#+) 1)))",)),
    Trap(
        "check constant",
        more=(
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > app.num('check constant', -1))",
        ),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap(
        "check",
        more=("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (app.num('check', id) > -1)",),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap(
        "check of the default",
        default=True,
        more=(
            "ALTER TABLE {last} ADD CONSTRAINT own CHECK (id > app.num('check of the default', -1))",
        ),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2030-01-30')",
        impossible=_not_six("no constraint of a partition's own"),
    ),
    Trap(
        "generated",
        columns="id int, d date, v text, g int GENERATED ALWAYS AS (id + app.num('generated', 1)) STORED",
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
        impossible=_since(120000, "no generated columns"),
    ),
    Trap(
        "default",
        columns="id int, d date, v text, x int DEFAULT app.any_num('default'), y int DEFAULT 1 + app.num('default', 1)",
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap(
        "domain",
        first=("CREATE DOMAIN app.checked AS int CHECK (app.num('domain', VALUE) > -1)",),
        columns="id int, d date, v text, x app.checked",
        fill="id, d, v, x",
        values="i, date '2020-01-30' + i % 4, 'v', i",
        careless="INSERT INTO {t} (id, d, x) VALUES (1, '2020-01-30', 1)",
    ),
    Trap(
        "domain key",
        first=(
            "CREATE DOMAIN app.checked_day AS date CHECK (app.day('domain key', VALUE) IS NOT NULL)",
        ),
        columns="id int, d app.checked_day, v text",
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap(
        "cast",
        first=(
            "CREATE TYPE app.flag AS ENUM ('up', 'down')",
            own("flag_json", "app.flag", "json", "cast", "RETURN '{}';"),
            own("flag_text", "app.flag", "text", "cast", "RETURN 'x';"),
            "CREATE CAST (app.flag AS json) WITH FUNCTION app.flag_json(app.flag) AS IMPLICIT",
            "CREATE CAST (app.flag AS text) WITH FUNCTION app.flag_text(app.flag) AS IMPLICIT",
        ),
        columns="id int, d date, v text, x app.flag",
        fill="id, d, v, x",
        values="i, date '2020-01-30' + i % 4, 'v', 'up'::app.flag",
        careless="SELECT row_to_json(q) FROM {t} q",
    ),
    Trap(
        "enum key",
        first=(
            "CREATE TYPE app.mood AS ENUM ('a', 'b', 'c', 'd', 'e')",
            own("mood_text", "app.mood", "text", "enum key", "RETURN 'a';"),
            own("mood_ge", "app.mood, app.mood", "boolean", "enum key", "RETURN true;"),
            "CREATE CAST (app.mood AS text) WITH FUNCTION app.mood_text(app.mood) AS IMPLICIT",
            *(
                f"CREATE OPERATOR app.{op} (LEFTARG = app.mood, RIGHTARG = app.mood, PROCEDURE = app.mood_ge)"
                for op in (">=", "<", "=", "<=", ">")
            ),
        ),
        columns="id int, d date, v text, m app.mood",
        fill="id, d, v, m",
        values="i, date '2020-01-30' + i % 4, 'v', 'b'",
        more=("CREATE INDEX {n}_i ON {t} (m) WHERE m >= 'a'",),
        careless="SELECT m::text FROM {t}",
    ),
    Trap(
        "operator class",
        first=(own("int_cmp", "int, int", "int", "operator class", _CMP),),
        boss=(
            f"CREATE OPERATOR CLASS app.evil_ops FOR TYPE int USING btree AS {_BTREE.format(f='app.int_cmp(int, int)')}",
        ),
        more=("CREATE INDEX {n}_i ON {t} (id app.evil_ops)",),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30'), (2, '2020-01-30')",
    ),
    Trap(
        "hash operator class",
        first=(own("int_hash", "int", "int", "hash operator class", "RETURN 1;"),),
        boss=(
            "CREATE OPERATOR CLASS app.evil_hash FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 app.int_hash(int)",
        ),
        more=("CREATE INDEX {n}_i ON {t} USING hash (id app.evil_hash)",),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
        impossible=lambda place: "no hash index on Greenplum 6" if place.classic else "",
    ),
    Trap(
        "distribution",
        first=(own("int_hash2", "int", "int", "distribution", "RETURN 1;"),),
        boss=(
            "CREATE OPERATOR CLASS app.evil_spread FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 app.int_hash2(int)",
        ),
        tail="DISTRIBUTED BY (id app.evil_spread)",
        careless="INSERT INTO {t} (id, d) SELECT i, '2020-01-30' FROM generate_series(1, 3) i",
        impossible=lambda place: (
            "" if place.greenplum else "no operator class of a distribution on this server"
        ),
    ),
    Trap(
        "operator class of the key",
        first=(own("day_cmp", "date, date", "int", "operator class of the key", _CMP),),
        boss=(
            f"CREATE OPERATOR CLASS app.evil_days FOR TYPE date USING btree AS {_BTREE.format(f='app.day_cmp(date, date)')}",
        ),
        key="RANGE (d app.evil_days)",
        bounds=WIDE,
        # pg_get_indexdef opens the table of an index
        more=("CREATE INDEX {n}_i ON {t} (v)", "CREATE INDEX ON {l} (id)"),
        impossible=_not_six("no operator class of a partition key"),
    ),
    Trap(
        "range type",
        first=(
            own("apart", "int, int", "float8", "range type", "RETURN $1 - $2;"),
            "CREATE TYPE app.span AS RANGE (subtype = int, subtype_diff = app.apart)",
        ),
        columns="id int, d date, v text, x app.span",
        fill="id, d, v, x",
        values="i, date '2020-01-30' + i % 4, 'v', app.span(i, i + 5)",
        more=("CREATE INDEX {n}_i ON {t} USING gist (x)",),
        careless="INSERT INTO {t} (id, d, x) SELECT 1, '2020-01-30', app.span(i, i + 3) FROM generate_series(1, 3000) i",
    ),
    Trap(
        "trigger",
        first=(own("on_row", "", "trigger", "trigger", "RETURN NEW;", ""),),
        more=(
            "CREATE TRIGGER of_rows AFTER INSERT OR UPDATE OR DELETE ON {t} FOR EACH ROW EXECUTE PROCEDURE app.on_row()",
        ),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
        impossible=_not_six("a partitioned table's trigger is never called"),
    ),
    Trap(
        "trigger of statements",
        first=(own("on_statement", "", "trigger", "trigger of statements", "RETURN NULL;", ""),),
        more=(
            "CREATE TRIGGER of_statements BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {t} FOR EACH STATEMENT EXECUTE PROCEDURE app.on_statement()",
        ),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
        impossible=lambda place: (
            "no triggers of statements on Greenplum" if place.greenplum else ""
        ),
    ),
    Trap(
        "trigger of a leaf",
        first=(own("on_leaf_row", "", "trigger", "trigger of a leaf", "RETURN NEW;", ""),),
        more=(
            "CREATE TRIGGER of_rows AFTER INSERT OR UPDATE OR DELETE ON {l} FOR EACH ROW EXECUTE PROCEDURE app.on_leaf_row()",
        ),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap(
        "rule",
        more=("CREATE RULE also AS ON INSERT TO {t} DO ALSO SELECT app.any_num('rule')",),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
    ),
    Trap(
        "policy",
        more=(
            "ALTER TABLE {t} ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE {t} FORCE ROW LEVEL SECURITY",
            "CREATE POLICY mine ON {t} USING (app.any_yes('policy')) WITH CHECK (app.any_yes('policy'))",
            f"GRANT SELECT ON {{t}} TO {OTHER}",
            f"GRANT USAGE ON SCHEMA app TO {OTHER}",
        ),
        careless="SELECT * FROM {t}",
        by=OTHER,
        never="row security does not hold for a superuser",
        impossible=_not_six("no row security"),
    ),
    Trap(
        "key expression",
        columns="id int, d int, v text",
        values="i, i % 4, 'v'",
        bounds=tuple(str(n) for n in range(20)),
        key="RANGE ((d + app.num('key expression', 0)))",
        impossible=_not_six("no expression as a partition key"),
    ),
    Trap(
        "statistics",
        more=(
            "CREATE STATISTICS app.{n}_s ON (id + app.num('statistics', 1)) FROM {t}",
            "CREATE STATISTICS app.{n}_l ON (id + app.num('statistics', 1)), v FROM {l}",
        ),
        impossible=_since(140000, "no statistics of expressions"),
    ),
    Trap(
        "everything",
        columns="id int, d date, v text, x int DEFAULT app.any_num('everything')",
        bounds=WIDE,
        more=(
            "CREATE INDEX {n}_i ON {t} (v) WHERE app.yes('everything')",
            "CREATE INDEX {n}_e ON {t} ((id + app.num('everything', 1)))",
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > app.num('everything', -1))",
        ),
    ),
    Trap(
        # code that runs as its owner inside CREATE INDEX adds a constraint that the next statement runs as superuser
        "second stage",
        default=True,
        first=(
            """CREATE FUNCTION app.plant() RETURNS int LANGUAGE plpgsql VOLATILE AS $f$
            BEGIN
                PERFORM app.spring('second stage');
                -- only while files of a migration run: then the superuser's transaction goes on with ATTACH, which folds the default's checks
                IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.=) 'gpcatalog_journal'::pg_catalog.name) THEN
                    RETURN 1;
                END IF;
                IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conname OPERATOR(pg_catalog.=) 'planted'::pg_catalog.name) THEN
                    ALTER TABLE app.second_stage_other ADD CONSTRAINT planted CHECK (app.num('second stage', 1) IS NOT NULL);
                END IF;
                RETURN 1;
            END $f$""",
            """CREATE FUNCTION app.plants(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $f$
            BEGIN
                IF pg_catalog.current_setting('is_superuser') OPERATOR(pg_catalog.=) 'on' THEN PERFORM app.plant(); END IF;
                RETURN n;
            END $f$""",
        ),
        more=("CREATE INDEX {n}_i ON {t} (app.plants(id))",),
        careless="INSERT INTO {t} (id, d) VALUES (1, '2020-01-30')",
        impossible=lambda place: (
            "its partitions have no constraints of their own, its segments no subtransactions of DDL"
            if place.greenplum
            else ""
        ),
    ),
    Trap(
        "foreign",
        boss=(
            "CREATE EXTENSION IF NOT EXISTS postgres_fdw",
            f"GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO {OWNER}",
        ),
        more=(
            "CREATE VIEW app.far AS SELECT 1::int AS id, date '2020-02-05' AS d, 'v'::text AS v WHERE app.any_yes('foreign')",
            "CREATE SERVER near FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{port}', dbname '{db}', use_remote_estimate 'true')",
            "CREATE USER MAPPING FOR PUBLIC SERVER near OPTIONS (user '{boss}')",
            "CREATE FOREIGN TABLE app.foreign_far PARTITION OF {t} FOR VALUES FROM ('2020-02-05') TO ('2020-02-06') SERVER near OPTIONS (schema_name 'app', table_name 'far')",
        ),
        careless="SELECT * FROM {t}",
        impossible=lambda place: (
            "" if "postgres_fdw" in place.contrib and not place.greenplum else "no postgres_fdw"
        ),
    ),
    Trap(
        "view",
        more=("CREATE VIEW app.{n}_seen AS SELECT id, app.num('view', id) FROM {t}",),
        careless="SELECT * FROM app.view_seen",
    ),
    Trap(
        "virtual",
        columns="id int, d date, v text, g int GENERATED ALWAYS AS (id + app.num('virtual', 1)) VIRTUAL",
        careless="SELECT * FROM {t}",
        impossible=lambda place: (
            "no virtual columns"
            if place.version < 180000
            else "virtual columns take no functions of users"
        ),
    ),
    Trap("clean"),
    Trap("clean of the superuser", schema="base", owner=""),
)
CLEAN = ("clean", "clean of the superuser")

OPERATORS = (
    own("plus3", "int, int", "int", "operator", "RETURN $1 + $2;"),
    "CREATE OPERATOR app.+#+ (LEFTARG = int, RIGHTARG = int, PROCEDURE = app.plus3)",
)


def traps_of(place: Place) -> list[Trap]:
    """Traps that this server supports."""
    return [t for t in TRAPS if not t.impossible(place)]


def roles(place: Place) -> None:
    """Create mallory and the other roles, none of them superuser."""
    for role in (OWNER, OTHER, STRANGER):
        if not fetch(place.dsn(), f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):
            execute(place.dsn(), f"CREATE ROLE {role} LOGIN")


def database(place: Place, name: str, template: str = "") -> str:
    """Create a database that mallory owns, with a schema of hers and the function that writes records; return its conninfo."""
    roles(place)
    with session(place.dsn()) as conn:
        conn.execute(f"DROP DATABASE IF EXISTS {name}".encode())
        conn.execute(
            f"CREATE DATABASE {name} OWNER {OWNER}{f' TEMPLATE {template}' if template else ''}".encode()
        )
    dsn = place.dsn(name)
    execute(
        dsn,
        f"CREATE SCHEMA app AUTHORIZATION {OWNER}",
        "CREATE SCHEMA base",
        f"GRANT USAGE ON SCHEMA app TO {STRANGER}",
    )
    execute(dsn, spring(), *(function(f) for f in FUNCTIONS), role=OWNER)
    return dsn


def plant_tables(place: Place, dsn: str, only: Iterable[str] | None = None) -> list[Trap]:
    """Create every trap of a table."""
    execute(dsn, *OPERATORS, role=OWNER)
    found = [t for t in traps_of(place) if only is None or t.name in only]
    for trap in found:
        plant(place, dsn, trap)
    # the server requires a password from the owner of a foreign leaf
    execute(dsn, *(f"ANALYZE {t.table}" for t in found if t.name != "foreign"))
    return found


def plant(place: Place, dsn: str, trap: Trap) -> None:
    """Create one trap of a table: functions first, then what needs a superuser, then the table."""
    execute(dsn, *trap.first, role=OWNER)
    execute(dsn, *trap.boss)
    name = dsn.rsplit("dbname=", 1)[1]
    execute(
        dsn,
        *(s.replace("{db}", name) for s in trap.make(place)[len(trap.first) :]),
        role=trap.owner,
    )


# --- shadows: objects of mallory with names of the catalog --------------------------------------------------------------------


@dataclass(frozen=True)
class Shadow:
    """An object of mallory with a name of pg_catalog. careless: a statement that uses it if her schema comes first."""

    name: str
    make: tuple[str, ...]
    careless: str


PATH = "mallory, public, pg_catalog"
_COMPARED = (
    "=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "||",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "~",
    "~*",
    "!~",
    "~~",
    "!~~",
)
# pairs of types for which pg_catalog has no operator: an exact match wins, wherever its schema is on the path
_PAIRS = tuple(
    tuple(f'pg_catalog."{t}"' for t in pair.split())
    for pair in (
        "oid int4", "int4 oid", "oid int8", "int8 oid", "oid int2", "int2 oid", "name text", "text name", "name name", "char text", "text char",
        "char char", "bool bool", "int2 int4", "int8 int4", "int4 int8", "numeric int4", "numeric int8", "text varchar", "varchar text",
        "regclass oid", "oid regclass", "regtype oid", "xid int4", "text int4", "int4 text",
    )
)  # fmt: skip
_SINGLES = (
    "int2",
    "int4",
    "int8",
    "oid",
    "text",
    "name",
    "bool",
    "numeric",
    "float8",
    "char",
    "regclass",
    "varchar",
    "timestamptz",
    "json",
)
_GRAMMAR = {"coalesce", "nullif", "greatest", "least", "exists", "in", "values", "row", "array", "any", "all", "cast", "extract", "over", "filter", "when", "and", "or", "not", "as", "on", "from", "where", "by", "with", "materialized", "select", "using", "if", "check", "key", "table", "into", "interval", "within", "lateral", "then", "else", "union", "except", "partition", "case", "end", "position", "substring", "overlay", "trim", "execute", "add", "return", "references", "unique", "primary", "returns", "like", "split", "start", "every", "set", "show"}  # fmt: skip


def sources(root: Path) -> str:
    """All code that may be sent to a server: the probes, and the code that writes scripts."""
    found = [
        *sorted((root / "sql").rglob("*.sql")),
        *sorted((root / "sql").rglob("*.part")),
        *sorted((root / "gpcatalog").rglob("*.py")),
    ]
    return "\n".join(re.sub(r"^\s*--.*$", "", f.read_text(), flags=re.M) for f in found)


def shadows(place: Place, dsn: str, text: str) -> tuple[list[Shadow], list[str]]:
    """Shadows of every function, aggregate, operator, type and relation that the text names, and the reasons why others are impossible."""
    names = "{" + ",".join(sorted(set(re.findall(r"\b[a-z_][a-z0-9_]*\b", text)))) + "}"
    signs = set(re.findall(r"[-+*/<>=~!@#%^&|]+", text)) & set(_COMPARED) | {
        "->",
        "->>",
        "@>",
        "<@",
        "&&",
    }
    found: list[Shadow] = []
    reasons: list[str] = []
    with session(dsn) as conn:

        def rows(query: str, *values: object) -> list[tuple[Any, ...]]:
            return conn.execute(query.encode(), values).fetchall()

        found += _relations(place, rows, names)
        found += _types(rows, names)
        found += _operators(rows, sorted(signs))
        found += _functions(place, rows, names, reasons)
        found += _unqualified(rows, text)
    return found, reasons


Rows = Callable[..., list[tuple[Any, ...]]]


def _relations(place: Place, rows: Rows, names: str) -> list[Shadow]:
    found = []
    first = "CASE WHEN c.relhasoids THEN ARRAY['oid'] END" if place.classic else "NULL::text[]"
    query = (
        f"SELECT c.relname::text, array_to_string({first} || ARRAY(SELECT quote_ident(a.attname) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE a.attrelid = c.oid AND a.attnum > 0 AND t.typtype <> 'p' ORDER BY a.attnum), ', ') FROM pg_class c"
        " WHERE c.relnamespace = 11 AND c.relkind IN ('r', 'v') AND c.relname = ANY(%s::name[])"
    )
    for name, columns in rows(query, names):
        view = f"CREATE VIEW mallory.{name} AS SELECT {columns} FROM pg_catalog.{name} WHERE app.fixed_yes('relation {name}')"
        found.append(Shadow(f"relation {name}", (view,), f"SELECT count(*) FROM {name}"))
    for name in ("pg_stat_statements", "part_config", "part_config_sub"):
        view = f"CREATE VIEW mallory.{name} AS SELECT 1 AS userid WHERE app.fixed_yes('relation {name}')"
        found.append(Shadow(f"relation {name}", (view,), f"SELECT count(*) FROM {name}"))
    return found


def _types(rows: Rows, names: str) -> list[Shadow]:
    query = "SELECT t.typname::text FROM pg_type t WHERE t.typnamespace = 11 AND t.typtype = 'b' AND t.typname = ANY(%s::name[]) AND t.typname !~ '^_'"
    return [
        Shadow(
            f"type {name}",
            (
                f'CREATE DOMAIN mallory."{name}" AS pg_catalog."{name}" CHECK (app.shadow(\'type {name}\'))',
            ),
            f'SELECT NULL::"{name}"',
        )
        for (name,) in rows(query, names)
    ]


def _alike(sign: str, left: str, right: str) -> str:
    """Expression for an operator that pg_catalog lacks, with the result that the careless statement expects."""
    numbers = {f'pg_catalog."{t}"' for t in ("oid", "int2", "int4", "int8", "numeric", "xid")}
    via = (
        "pg_catalog.text::pg_catalog.int8"
        if {left, right} <= numbers and sign not in ("||", "~", "~*", "!~", "~~", "!~~")
        else "pg_catalog.text"
    )
    if via == "pg_catalog.text" and sign in ("+", "-", "*", "/", "%", "&"):
        return "NULL"
    result = "" if sign in _COMPARED[:6] or "~" in sign else f"::pg_catalog.text::{left}"
    return f"($1::{via} OPERATOR(pg_catalog.{sign}) $2::{via}){result}"


def _operators(rows: Rows, signs: list[str]) -> list[Shadow]:
    """Shadows of operators: those of pg_catalog in mallory's schema, first on her path; in public, pairs of types that pg_catalog lacks."""
    query = (
        "SELECT o.oprname::text, CASE WHEN o.oprleft <> 0 THEN 'pg_catalog.\"' || l.typname || '\"' END, 'pg_catalog.\"' || r.typname || '\"',"
        " 'pg_catalog.\"' || s.typname || '\"' FROM pg_operator o LEFT JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright"
        " JOIN pg_type s ON s.oid = o.oprresult WHERE o.oprnamespace = 11 AND o.oprname = ANY(%s)"
    )
    there = rows(query, signs)
    known = {(sign, left, right) for sign, left, right, _ in there}
    extra = [
        (sign, left, right, 'pg_catalog."bool"' if sign in _COMPARED[:6] or "~" in sign else left)
        for sign in _COMPARED
        for left, right in _PAIRS
        if (sign, left, right) not in known
    ]
    found = []
    for number, (sign, left, right, result) in enumerate([*there, *extra]):
        schema = "mallory" if number < len(there) else "public"
        name = f"operator {sign}({left or ''},{right})".replace("pg_catalog.", "").replace('"', "")
        own_text = (
            f"{'$1 ' if left else ''}OPERATOR(pg_catalog.{sign}) {'$2' if left else '$1'}"
            if schema == "mallory"
            else _alike(sign, left, right)
        )
        arguments = f"{left}, {right}" if left else right
        function_ = (
            f"CREATE FUNCTION {schema}.op_{number}({arguments}) RETURNS {result} LANGUAGE plpgsql AS $f$"
            f" BEGIN PERFORM app.shadow('{name}'); RETURN {own_text}; END $f$"
        )
        sides = f"LEFTARG = {left}, RIGHTARG = {right}" if left else f"RIGHTARG = {right}"
        operator = f"CREATE OPERATOR {schema}.{sign} ({sides}, PROCEDURE = {schema}.op_{number})"
        careless = (
            f"SELECT {f'NULL::{_concrete(left)} ' if left else ''}{sign} NULL::{_concrete(right)}"
        )
        found.append(Shadow(name, (function_, operator), careless))
    return found


def _concrete(name: str) -> str:
    """A type for calls of a polymorphic operator or function."""
    bare = name.removeprefix("pg_catalog.").strip('"')
    kind = re.fullmatch(r"any(?:compatible)?(array|range|multirange|nonarray|element|enum)?", bare)
    if kind is None or bare == "any":
        return name
    return {
        "array": "pg_catalog._int4",
        "range": "pg_catalog.int4range",
        "multirange": "pg_catalog.int4multirange",
        "enum": "app.sort",
    }.get(kind[1] or "", "pg_catalog.int4")


def _functions(place: Place, rows: Rows, names: str, reasons: list[str]) -> list[Shadow]:
    kind = (
        "CASE WHEN p.proisagg THEN 'a' WHEN p.proiswindow THEN 'w' ELSE 'f' END"
        if place.classic
        else "p.prokind"
    )
    query = (
        f"SELECT p.oid::int8, p.proname::text, ({kind})::text, p.proretset, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),"
        " ARRAY(SELECT format('pg_catalog.%%I', t.typname) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY u(o, n) JOIN pg_type t ON t.oid = u.o ORDER BY u.n),"
        " format('pg_catalog.%%I', r.typname), p.provariadic <> 0 FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype"
        " WHERE p.pronamespace = 11 AND p.proname = ANY(%s::name[])"
    )
    found = []
    for oid, name, what, many, arguments, result, types, returns, variadic in rows(query, names):
        label = f"{name}({','.join(t.removeprefix('pg_catalog.') for t in types)})".replace('"', "")
        hard = [t for t in (*types, returns) if t.removeprefix("pg_catalog.").strip('"') in ("internal", "cstring", "any", "opaque", "trigger", "event_trigger", "language_handler", "fdw_handler", "index_am_handler", "table_am_handler", "tsm_handler", "anytable")]  # fmt: skip
        if hard and not (what == "a" and not types):
            reasons.append(f"{label}: no function of a user takes or returns {hard[0]}")
            continue
        call = f'"{name}"({", ".join(f"NULL::{_concrete(t)}" for t in types)})'
        if what == "a":
            if returns.removeprefix("pg_catalog.any") != returns:
                reasons.append(f"{label}: a polymorphic aggregate")
                continue
            step = f"mallory.step_{oid}"
            make = (
                f"CREATE FUNCTION {step}({', '.join([returns, *types])}) RETURNS {returns} LANGUAGE plpgsql AS"
                f" $f$ BEGIN PERFORM app.shadow('aggregate {label}'); RETURN $1; END $f$",
                f'CREATE AGGREGATE mallory."{name}"({", ".join(types) or "*"}) (SFUNC = {step}, STYPE = {returns})',
            )
            found.append(
                Shadow(f"aggregate {label}", make, f"SELECT {call if types else f'{name}(*)'}")
            )
            continue
        given = ", ".join(
            f"{'VARIADIC ' if variadic and n == len(types) else ''}${n}"
            for n in range(1, len(types) + 1)
        )
        outs = " OUT " in f" {arguments}" or "TABLE(" in result or result.endswith("record")
        body = (
            "RETURN NULL;"
            if what == "w"
            else ""
            if outs or returns.endswith(".void")
            else f'RETURN pg_catalog."{name}"({given});'
        )
        if many:
            body = "RETURN;"
        make = (
            f'CREATE FUNCTION mallory."{name}"({arguments}) RETURNS {result} LANGUAGE plpgsql AS'
            f" $f$ #variable_conflict use_column\n BEGIN PERFORM app.shadow('function {label}'); {body} END $f$",
        )
        if what == "w":
            make = (make[0].replace("LANGUAGE plpgsql", "LANGUAGE plpgsql WINDOW"),)
            call += " OVER ()"
        if variadic:
            call = call[: call.rfind("NULL::")] + "VARIADIC " + call[call.rfind("NULL::") :]
        found.append(
            Shadow(
                f"function {label}",
                make,
                f"SELECT * FROM {call}" if many or outs else f"SELECT {call}",
            )
        )
    return found


def _unqualified(rows: Rows, text: str) -> list[Shadow]:
    """Shadows in public of functions that are called without a schema, with argument types that pg_catalog lacks."""
    called = set(re.findall(r"(?<![\w.@])([a-z_][a-z0-9_]*)\(", text)) - _GRAMMAR
    query = "SELECT DISTINCT proname::text FROM pg_proc WHERE pronamespace = 11 AND proname = ANY(%s::name[]) AND pronargs = 1"
    found = []
    for (name,) in rows(query, "{" + ",".join(sorted(called)) + "}"):
        for t in _SINGLES:
            label = f"public.{name}({t})"
            make = (
                f'CREATE FUNCTION public."{name}"(pg_catalog."{t}") RETURNS pg_catalog.int8 LANGUAGE plpgsql AS'
                f" $f$ BEGIN PERFORM app.shadow('function {label}'); RETURN 1; END $f$"
            )
            found.append(
                Shadow(
                    f"function {label}", (make,), f'SELECT public."{name}"(NULL::pg_catalog."{t}")'
                )
            )
    return found


# writes one record per session, trap and role, because an operator is called for every row
SHADOW = """
    CREATE FUNCTION app.shadow(trap pg_catalog.text) RETURNS pg_catalog.bool LANGUAGE plpgsql VOLATILE AS $f$
    DECLARE
        mark pg_catalog.text := pg_catalog.concat('<', trap, '/', current_user, '>');
        seen pg_catalog.text := pg_catalog.current_setting('traps.seen');
    BEGIN
        IF pg_catalog.int4eq(pg_catalog.strpos(seen, mark), 0) THEN
            PERFORM pg_catalog.set_config('traps.seen', pg_catalog.concat(seen, mark), false);
            PERFORM app.spring(trap);
        END IF;
        RETURN true;
    END $f$"""


def plant_shadows(place: Place, dsn: str, text: str) -> tuple[list[Shadow], list[str]]:
    """Create every shadow that the server accepts, and set a search path on which they come first.

    Return the shadows, and the reasons why others are impossible.
    """
    name = dsn.rsplit("dbname=", 1)[1]
    execute(
        dsn,
        f"CREATE SCHEMA mallory AUTHORIZATION {OWNER}",
        f"GRANT ALL ON SCHEMA public TO {OWNER}",
    )
    execute(dsn, SHADOW, "CREATE TYPE app.sort AS ENUM ('a')", role=OWNER)
    candidates, reasons = shadows(place, dsn, text)
    found = []
    with session(dsn, role=OWNER) as conn:
        for shadow in candidates:
            try:
                with conn.transaction():
                    for statement in shadow.make:
                        conn.execute(statement.encode())
            except psycopg.Error as e:
                reasons.append(f"{shadow.name}: {str(e).splitlines()[0]}")
            else:
                found.append(shadow)
    set_path(place, name)
    return found, reasons


def set_path(place: Place, name: str) -> None:
    """Set the search path for all sessions of a database, as its owner mallory can."""
    # only a superuser can set a setting that no module defines; this one only limits the number of records
    execute(place.dsn(), f"ALTER DATABASE {name} SET traps.seen = ''")
    execute(place.dsn(), f"ALTER DATABASE {name} SET search_path = {PATH}", role=OWNER)


# --- settings ------------------------------------------------------------------------------------------------------------

SETTINGS = (
    "quote_all_identifiers = on", "transform_null_equals = on", "\"DateStyle\" = 'German, DMY'", "\"IntervalStyle\" = sql_standard",
    "\"TimeZone\" = 'Asia/Tokyo'", "standard_conforming_strings = off", "default_transaction_read_only = off", "statement_timeout = 1",
    "lock_timeout = 1", "row_security = on", "jit = on", "jit_above_cost = 0", "enable_seqscan = off", "enable_hashjoin = off",
    "enable_nestloop = off", "enable_indexscan = off", "transaction_timeout = 20", "idle_in_transaction_session_timeout = 20",
    "idle_session_timeout = 50", "extra_float_digits = -15", "bytea_output = escape", "client_min_messages = error", "array_nulls = off",
    "default_transaction_isolation = serializable", "default_transaction_deferrable = on", "xmloption = document", "check_function_bodies = off",
    "plan_cache_mode = force_generic_plan", "lc_monetary = 'C'", "work_mem = 64", "from_collapse_limit = 1", "optimizer = off",
    "escape_string_warning = on", "backslash_quote = on", "constraint_exclusion = on", "client_encoding = 'SQL_ASCII'",
    "default_table_access_method = ao_column", "gp_default_storage_options = 'appendonly=true'", "gp_autostats_mode = on_change",
    "restrict_nonsystem_relation_kind = 'view'", "event_triggers = on", "session_preload_libraries = 'x'", "local_preload_libraries = 'x'",
)  # fmt: skip


def set_hostile(place: Place, name: str) -> dict[str, str]:
    """Make every setting that the owner of a database can make for all its sessions; return the rejected ones with the reason."""
    denied = {}
    for setting in SETTINGS:
        if setting.startswith("local_preload"):
            continue  # every connection would fail: no probe can report it, and it runs no code
        try:
            execute(place.dsn(), f"ALTER DATABASE {name} SET {setting}", role=OWNER)
        except psycopg.Error as e:
            denied[setting] = str(e).splitlines()[0]
    return denied


# --- event triggers ------------------------------------------------------------------------------------------------------


def plant_events(place: Place, dsn: str, *, login: bool) -> list[str]:
    """Create event triggers as superuser whose functions belong to mallory; return the events."""
    events = ["ddl_command_start", "ddl_command_end", "sql_drop"]
    events += ["table_rewrite"] if place.version >= 90500 else []
    events += ["login"] if login and place.version >= 170000 else []
    for event in events:
        execute(dsn, own(f"on_{event}", "", "event_trigger", f"event {event}", "", ""), role=OWNER)
        execute(
            dsn, f"CREATE EVENT TRIGGER evil_{event} ON {event} EXECUTE PROCEDURE app.on_{event}()"
        )
    return events


# --- squatted schemas -----------------------------------------------------------------------------------------------------


def squat(dsn: str, schema: str, role: str = OWNER, only: str = "") -> list[str]:
    """Replace the bodies of a schema's functions that `role` owns by traps; return their names."""
    query = (
        "SELECT p.proname::text, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.proretset, p.pronargs > 0"
        f" FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '{schema}'"
        f" AND p.proowner = (SELECT oid FROM pg_roles WHERE rolname = '{role}')"
    )
    names = []
    for name, arguments, result, many, _ in fetch(dsn, query):
        if only and name != only:
            continue
        harmless = "RETURN;" if many or result == "void" else "RETURN NULL;"
        execute(
            dsn,
            f"CREATE OR REPLACE FUNCTION {schema}.{name}({arguments}) RETURNS {result} LANGUAGE plpgsql AS"
            f" $f$ BEGIN PERFORM app.spring('squatted {name}'); {harmless} END $f$",
            role=role,
        )
        names.append(name)
    return names


def fake_toolkit(place: Place, dsn: str) -> None:
    """Create a schema gp_toolkit of mallory on a server that does not provide one."""
    execute(
        dsn,
        f"CREATE SCHEMA gp_toolkit AUTHORIZATION {OWNER}",
        "CREATE VIEW gp_toolkit.gp_disk_free AS SELECT 0::int AS dfsegment, 'x'::text AS dfhostname, 'x'::text AS dfdevice,"
        " 9000000000000::bigint AS dfspace WHERE app.fixed_yes('fake gp_disk_free')",
        *(
            f"CREATE VIEW gp_toolkit.{name} AS SELECT now() AS logtime, 'x'::text AS logdatabase, 'x'::text AS logseverity, 'x'::text AS logmessage,"
            f" 'x'::text AS logstate, 0 AS segno WHERE app.fixed_yes('fake {name}')"
            for name in (
                "gp_log_master_concise",
                "gp_log_coordinator_concise",
                "__gp_log_segment_ext",
                "gp_bloat_diag",
                "gp_stats_missing",
            )
        ),
        *(
            f"CREATE FUNCTION gp_toolkit.{name}(c regclass) RETURNS SETOF record LANGUAGE plpgsql AS"
            f" $f$ BEGIN PERFORM app.spring('fake {name}'); RETURN; END $f$"
            for name in (
                "__gp_aoseg",
                "__gp_aocsseg",
                "__gp_aoseg_history",
                "__gp_aocsseg_history",
                "__gp_aovisimap",
            )
        ),
        role="",
    )
    owners = f"""DO $$ DECLARE r record; BEGIN
        FOR r IN SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'gp_toolkit' AND relkind = 'v' LOOP
            EXECUTE 'ALTER VIEW gp_toolkit.' || quote_ident(r.relname) || ' OWNER TO {OWNER}'; END LOOP;
        FOR r IN SELECT p.oid::regprocedure::text AS f FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'gp_toolkit' LOOP
            EXECUTE 'ALTER FUNCTION ' || r.f || ' OWNER TO {OWNER}'; END LOOP; END $$"""
    execute(dsn, owners)
