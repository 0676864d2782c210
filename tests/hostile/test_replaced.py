"""Code that belonged to a superuser when the files were written, but belongs to another role now, is not run as superuser."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from tests import program
from tests.hostile import traps
from tests.hostile.traps import OWNER, Place, Watch, execute
from tests.migration import made
from tests.migration.made import EAGER

SERVERS = {
    "pg12": "pg12_server",
    "pg15": "pg15_server",
    "pg18": "pgnew_server",
    "gp6": "gp6_cluster",
    "gp7": "gp7_cluster",
}
PLAIN = EAGER + 'unpartition_below = "10GB"\n'
DROP = made.EAGER.replace('empty = "keep"', 'empty = "drop"').replace('month = "0d"', 'day = "0d"')
SAFE = "CREATE FUNCTION app.same(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN n; END'"
REPLACED = (
    "DROP FUNCTION app.same(int)",
    "CREATE FUNCTION app.same(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN PERFORM app.spring('replaced'); RETURN n; END $f$",
)
OPERATOR = "CREATE OPERATOR app.+&+ (LEFTARG = int, RIGHTARG = int, PROCEDURE = app.{f})"
SAFE_SUM = "CREATE FUNCTION app.added(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN a; END'"
HER_SUM = (
    "CREATE FUNCTION app.hers(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS"
    " $f$ BEGIN PERFORM app.spring('replaced operator'); RETURN a; END $f$"
)


@pytest.fixture(params=list(SERVERS))
def place(request: pytest.FixtureRequest) -> Place:
    """Each server in turn."""
    return traps.place_of(request.param, request.getfixturevalue(SERVERS[request.param]))


def partitioned(place: Place, name: str, key: str = "d") -> list[str]:
    """Statements for a table with four partitions, of one day or one number each, and ten rows."""
    bounds = [f"'2020-01-0{n}'" if key == "d" else str(n) for n in range(1, 6)]
    pairs = list(pairwise(bounds))
    if place.classic:
        parts = ", ".join(
            f"PARTITION p{n} START (date {a}) END (date {b})" for n, (a, b) in enumerate(pairs)
        )
        found = [
            f"CREATE TABLE app.{name} (id int, d date, v text) DISTRIBUTED BY (id) PARTITION BY RANGE ({key}) ({parts})"
        ]
    else:
        tail = " DISTRIBUTED BY (id)" if place.greenplum else ""
        found = [
            f"CREATE TABLE app.{name} (id int, d date, v text) PARTITION BY RANGE ({key}){tail}"
        ]
        found += [
            f"CREATE TABLE app.{name}_{n} PARTITION OF app.{name} FOR VALUES FROM ({a}) TO ({b})"
            for n, (a, b) in enumerate(pairs)
        ]
    fill = "1 + i % 4, date '2020-01-01' + i % 4, 'v' || i"
    return [
        *found,
        f"INSERT INTO app.{name} SELECT {fill} FROM pg_catalog.generate_series(1, 10) i",
    ]


def leaf(place: Place, name: str, n: int) -> str:
    """Name of the n-th leaf of a table that `partitioned` creates."""
    return f"app.{name}_1_prt_p{n}" if place.classic else f"app.{name}_{n}"


def psql(dsn: str, file: Path) -> subprocess.CompletedProcess[str]:
    """Run one file as superuser."""
    return subprocess.run(
        [program.PSQL, "-X", "-q", "-f", file, dsn],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def prepared(place: Place, name: str, policy: str, tmp_path: Path) -> tuple[str, made.Written]:
    """Write the files of a migration of this database and run its preparation; return the name of the forward file, and the files."""
    dsn = place.dsn(name)
    execute(dsn, "ANALYZE")
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn, policy))
    assert len(files.forward()) == 1, files.refused
    done = psql(dsn, files.folder / "0000_prepare.sql")
    assert done.returncode == 0, done.stderr
    return files.forward()[0], files


@pytest.mark.parametrize(
    "shape", ["key", "key constant", "index of a leaf", "operator of a leaf's index"]
)
def test_rollback(place: Place, shape: str, tmp_path: Path) -> None:
    """The old partitions use a superuser's function in the schema of another role. This role replaces the function after the merge."""
    if place.classic:
        pytest.skip(
            "Greenplum 6 has no expression as a partition key, and every leaf has all indexes of the table"
        )
    name = "replaced"
    dsn = traps.database(place, name)
    key = {"key": "(app.same(id))", "key constant": "((id + app.same(0)))"}.get(shape, "d")
    execute(dsn, SAFE, SAFE_SUM, OPERATOR.format(f="added"))
    execute(dsn, *partitioned(place, "t", key), role=OWNER)
    if not shape.startswith("key"):
        # an empty partition with its own index; the partition is dropped, and then nothing depends on the function
        body = (
            "((app.same(1) + id))"
            if shape == "index of a leaf"
            else "((id + (1 OPERATOR(app.+&+) 1)))"
        )
        execute(
            dsn,
            f"TRUNCATE {leaf(place, 't', 0)}",
            f"CREATE INDEX ON {leaf(place, 't', 0)} {body}",
            role=OWNER,
        )
    file, files = prepared(place, name, PLAIN if shape.startswith("key") else DROP, tmp_path)
    done = psql(dsn, files.folder / file)
    assert done.returncode == 0, done.stderr
    change = (
        (HER_SUM, "DROP OPERATOR app.+&+ (int, int)", OPERATOR.format(f="hers"))
        if shape.startswith("operator")
        else REPLACED
    )
    execute(dsn, *change, role=OWNER)
    watch = Watch(place)
    done = psql(dsn, files.folder / "rollback" / file)
    assert watch.read() == []
    assert done.returncode != 0
    assert re.search(
        rf"code of another role with the rights of a superuser: .* of {OWNER}", done.stderr
    ), done.stderr
    # a superuser becomes the owner again, and the rollback runs
    mended = (
        f"ALTER FUNCTION app.{'hers(int, int)' if shape.startswith('operator') else 'same(int)'} OWNER TO {place.superuser}",
    )
    execute(
        dsn,
        *mended,
        *(
            [f"ALTER OPERATOR app.+&+ (int, int) OWNER TO {place.superuser}"]
            if shape.startswith("operator")
            else []
        ),
    )
    done = psql(dsn, files.folder / "rollback" / file)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT count(*) FROM app.t").fetchone() == (
            10 if shape.startswith("key") else 8,
        )


def test_cast_created_after_the_check(place: Place, tmp_path: Path) -> None:
    """A check uses the server's own cast. If it is created again, it would use the cast that the owner has created since."""
    dsn = traps.database(place, "replaced")
    check = "ALTER TABLE app.t ADD CONSTRAINT known CHECK (v <> ('up'::app.flag)::text)"
    body = "BEGIN PERFORM app.spring('cast'); RETURN 'x'; END"
    execute(
        dsn,
        "CREATE TYPE app.flag AS ENUM ('up', 'down')",
        *partitioned(place, "t"),
        check,
        role=OWNER,
    )
    execute(
        dsn,
        f"CREATE FUNCTION app.flag_text(app.flag) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $f$ {body} $f$",
        "CREATE CAST (app.flag AS text) WITH FUNCTION app.flag_text(app.flag) AS ASSIGNMENT",
        role=OWNER,
    )
    file, files = prepared(place, "replaced", PLAIN, tmp_path)
    watch = Watch(place)
    for name in (file, f"rollback/{file}"):
        done = psql(dsn, files.folder / name)
        assert watch.read() == []
        if done.returncode:
            assert (
                "code of another role with the rights of a superuser: app.flag_text(app.flag)"
                in done.stderr
            ), done.stderr
    execute(dsn, "SELECT ('up'::app.flag)::text")
    assert [r.trap for r in watch.read()] == ["cast"]
