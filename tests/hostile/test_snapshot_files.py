"""Snapshot files from an untrusted source: values that no server returns are rejected with one message, and nothing in the file runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from gpcatalog.cli import app
from gpcatalog.errors import CatalogError, Exit
from gpcatalog.store.schema import ADDED, SCHEMA_VERSION, TABLES
from gpcatalog.store.snapshot import Snapshot
from tests.growth import made
from tests.hostile.stranger import CASES, altered, make


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("hostile") / "20260101T060000Z.gpcatalog")


def commands(path: Path) -> list[list[str]]:
    named = ["--snapshot", str(path)]
    return [
        ["audit", *named],
        ["audit", *named, "--format", "json"],
        ["plan", *named],
        ["plan", *named, "--format", "json"],
        ["latency", *named],
        ["growth", "--folder", str(path.parent)],
        ["report", *named, "--html", "-"],
        ["metrics", *named],
        ["snapshot", "export", str(path), str(path.parent / "csv")],
    ]


def is_refused(words: list[str]) -> bool:
    """Whether the command refused the file with its one message; False if it accepted the file. Anything else is a failure."""
    result = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    if result.exception is None or isinstance(result.exception, SystemExit):
        assert result.exit_code in (0, 1), (words, result.output[-500:])
        assert (
            not {c for c in result.output if c < " " and c != "\n"} - {"\r"} or "export" in words
        ), (words, result.output[:300])
        return False
    assert isinstance(result.exception, CatalogError), (words, repr(result.exception))
    assert result.exception.exit_code in (Exit.USAGE, Exit.REFUSED)
    return True


def test_the_unchanged_file_is_accepted(intact: Path, tmp_path: Path) -> None:
    for words in commands(altered(intact, tmp_path / "whole")):
        assert not is_refused(words), words


@pytest.mark.turns
@pytest.mark.parametrize("text", ["²", "٣", "9" * 5000, "-1", "1e9", "0", "x"])
def test_settings_that_are_no_numbers(intact: Path, tmp_path: Path, text: str) -> None:
    names = (
        "max_locks_per_transaction", "max_connections", "max_prepared_transactions", "max_appendonly_tables", "xid_stop_limit",
        "xid_warn_limit", "autovacuum", "autovacuum_freeze_max_age", "autovacuum_multixact_freeze_max_age",
    )  # fmt: skip
    rows = ", ".join(f"('{name}', '{text}', NULL, 'x')" for name in names)
    path = altered(
        intact, tmp_path / "odd", "DELETE FROM setting", f"INSERT INTO setting VALUES {rows}"
    )
    for words in commands(path):
        is_refused(words)


@pytest.mark.turns
@pytest.mark.parametrize("seed", range(12))
def test_no_value_makes_it_fall(intact: Path, tmp_path: Path, seed: int) -> None:
    """For each of twelve seeds, ten of all values, each in one column of one table: the file is refused, or read without harm."""
    draw = random.Random(seed)
    for number, (table, name, value) in enumerate(draw.sample(CASES, 10)):
        path = altered(intact, tmp_path / str(number), f'UPDATE {table} SET "{name}" = {value}')
        words = draw.choice(commands(path))
        try:
            is_refused(words)
        except AssertionError as e:
            raise AssertionError(f"{table}.{name} = {value}: {e}") from e


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["ALTER TABLE setting DROP setting"], "setting does not have the columns of a snapshot"),
        (["ALTER TABLE setting ADD more VARCHAR"], "setting does not have the columns of a snapshot"),
        (["ALTER TABLE root_total ALTER files TYPE VARCHAR"], "root_total does not have the columns of a snapshot"),
        (["ALTER TABLE root_total ALTER files TYPE DECIMAL(38, 0)"], "root_total does not have the columns of a snapshot"),
        (["DROP TABLE setting", "CREATE VIEW setting AS SELECT 'a' AS name, 'b' AS setting, NULL AS unit, NULL AS source"], "no table setting"),
        (["DROP TABLE temp_schema", "CREATE TABLE temp_schema (\"schema\" VARCHAR, relations BIGINT AS (42), alive BOOLEAN)"], "temp_schema does not have"),
        (["DROP TABLE catalog"], "no table catalog"),
        (["DROP TABLE timing"], "no table timing"),
        (["DELETE FROM snapshot"], "no header"),
        (["INSERT INTO snapshot SELECT * FROM snapshot"], "no header"),
        (["UPDATE relation SET kind = 'banana'"], "relation.kind has invalid values in 15 rows"),
        (["UPDATE horizon SET holder = 'transaction'"], "horizon.holder has invalid values in 2 rows"),
        (["UPDATE orphan SET kind = 'x'"], "orphan.kind has invalid values in "),
        (["UPDATE partition_key SET strategy = 'x'"], "partition_key.strategy has invalid values in "),
        (["UPDATE relation SET name = repeat('x', 5000)"], "relation.name has invalid values in "),
        (["UPDATE relation SET \"schema\" = chr(0)"], "relation.schema has invalid values in "),
        (["UPDATE root_total SET files = -5"], "root_total.files has invalid values in "),
        (["UPDATE snapshot SET seconds = 'nan'"], "snapshot.seconds has invalid values in "),
        (["UPDATE snapshot SET taken_at = 'infinity'"], "snapshot.taken_at has invalid values in "),
        (["UPDATE snapshot SET generation = 'gp99'"], "snapshot.generation has invalid values in "),
        (["DROP TABLE relation", "CREATE TABLE relation_packed (a INTEGER)"], "relation_packed does not have the columns of a snapshot"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    intact: Path, tmp_path: Path, statements: list[str], says: str
) -> None:
    path = altered(intact, tmp_path, *statements)

    def read() -> None:
        with Snapshot(path) as snapshot:
            for table in TABLES:
                snapshot.rows(f"SELECT * FROM {table}")

    with pytest.raises(CatalogError, match=says) as refused:
        read()
    assert refused.value.exit_code == Exit.USAGE


def test_what_was_refused_is_refused_again(intact: Path, tmp_path: Path) -> None:
    """A caller that continues after the first error must not get the values."""
    path = altered(intact, tmp_path, "UPDATE root_total SET files = -5")
    with Snapshot(path) as snapshot:
        for _ in range(3):
            with pytest.raises(CatalogError, match=r"root_total\.files has invalid values in "):
                snapshot.rows("SELECT * FROM root_total")
        assert snapshot.rows("SELECT * FROM setting")


def test_forms_are_no_printf_of_a_stranger(tmp_path: Path) -> None:
    for form in (
        "%0999999999d",
        "%s",
        "%*d",
        "%5$d",
        "%n",
        "%",
        "%%%",
        "%0",
        "%d%d%d%d%d%d%d%d%d%d%d%d%d",
    ):
        path = made.write(
            tmp_path / "s.gpcatalog",
            made.SnapshotSpec(tables=[made.Table("orders", 20000, range(3))]),
        )
        with duckdb.connect(str(path)) as db:
            db.execute("UPDATE relation_packed SET name_form = ?", [form])
        with (
            pytest.raises(CatalogError, match="not a readable snapshot"),
            Snapshot(path) as snapshot,
        ):
            snapshot.rows("SELECT name FROM relation")


def test_no_macro_or_schema_of_the_file_is_ever_used(intact: Path, tmp_path: Path) -> None:
    """A macro with the name of a built-in function would falsify every sum if names were looked up in the file."""
    path = altered(
        intact,
        tmp_path,
        "CREATE MACRO sum(x) AS 42",
        "CREATE MACRO count(x) AS 42",
        "CREATE MACRO coalesce_(x) AS 42",
        "CREATE MACRO printf(a, b) AS 'lie'",
        "CREATE MACRO duckdb_tables() AS TABLE SELECT 1",
        "CREATE MACRO duckdb_columns() AS TABLE SELECT 1",
        "CREATE SCHEMA memory",
        "CREATE TABLE memory.snapshot AS SELECT 1 AS schema_version",
    )
    with Snapshot(path) as snapshot:
        assert snapshot.one("SELECT sum(leaves) AS n FROM root_total")["n"] == 13
        assert snapshot.header["database"] == "sales"


def test_an_older_file_may_lack_what_came_later(intact: Path, tmp_path: Path) -> None:
    later = [name for name, version in ADDED.items() if version > 1 and "." not in name]
    columns = [name.split(".") for name in ADDED if "." in name]
    path = altered(
        intact,
        tmp_path,
        "UPDATE snapshot SET schema_version = 1",
        *(f"DROP TABLE {table}" for table in later),
    )
    with Snapshot(path) as snapshot:
        for table in later:
            assert snapshot.rows(f"SELECT * FROM {table}") == []
    for words in commands(path):
        assert not is_refused(words), words
    path = altered(
        intact,
        tmp_path / "columns",
        f"UPDATE snapshot SET schema_version = {min(ADDED['.'.join(c)] for c in columns) - 1}",
        *(f"ALTER TABLE {table} DROP COLUMN {column}" for table, column in columns),
        "UPDATE file_sample SET root = NULL",
    )
    with Snapshot(path) as snapshot:
        for table, column in columns:
            assert [row[column] for row in snapshot.rows(f"SELECT * FROM {table}")] == [None]
    for words in commands(path):
        assert not is_refused(words), words
    with pytest.raises(CatalogError, match="no table catalog"):
        Snapshot(
            altered(
                intact,
                tmp_path / "worse",
                "UPDATE snapshot SET schema_version = 1",
                "DROP TABLE catalog",
            )
        )
    assert max(ADDED.values()) <= SCHEMA_VERSION


def damages(content: bytes) -> list[Callable[[random.Random], bytes]]:
    def flip(draw: random.Random) -> bytes:
        out = bytearray(content)
        for _ in range(draw.choice((1, 1, 8, 200))):
            out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
        return bytes(out)

    def cut(draw: random.Random) -> bytes:
        return content[: draw.randrange(len(content))]

    def zero(draw: random.Random) -> bytes:
        at, long = draw.randrange(len(content)), draw.randrange(1, 20000)
        return content[:at] + bytes(min(long, len(content) - at)) + content[at + long :]

    def twice(draw: random.Random) -> bytes:
        at = draw.randrange(len(content))
        return content[:at] + content[at // 2 :]

    return [flip, cut, zero, twice]


def test_damaged_bytes_are_refused(tmp_path: Path) -> None:
    path = made.write(
        tmp_path / "20260101T060000Z.gpcatalog",
        made.SnapshotSpec(tables=[made.Table("orders", 20000, range(300))]),
    )
    content = path.read_bytes()
    refused = 0
    for kind, damage in enumerate(damages(content)):
        for seed in range(15):
            path.write_bytes(damage(random.Random(100 * kind + seed)))
            try:
                refused += is_refused(["audit", "--snapshot", str(path)])
            except AssertionError as e:
                raise AssertionError(f"damage {kind}, seed {seed}: {e}") from e
    assert refused > 30
