"""The rule for TOAST relations against live servers, near its limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpcatalog.capacity.generation import GENERATIONS, generation
from gpcatalog.capacity.toast import needs_toast, toastable
from tests.recorded import Recording, read, recorded, share, some_of

from .live import own_database

_TYPES = """
    text | bytea | numeric | numeric(10,2) | numeric(1000,500) | varchar | varchar(10) | varchar(500) | varchar(501) | varchar(502)
    varchar(504) | varchar(506) | varchar(508) | varchar(2030) | varchar(2034) | varchar(2036) | varchar(2037) | varchar(2038)
    varchar(2040) | varchar(4000) | char(10) | char(600) | char(2100) | bit(8) | bit(20000) | bit varying(16) | bit varying(80000)
    bit varying | json | inet | cidr | macaddr | uuid | name | "char" | int[] | point | path | polygon | circle | box | lseg | line
    tsvector | interval | money | timestamptz | time with time zone | date | boolean | real | smallint | bigint | xml | oid
    int, varchar(500), numeric(20,4) | boolean, bigint, boolean, bigint, varchar(490) | varchar(250), varchar(250) | smallint, inet
    boolean, char(1), smallint, varchar(100), int, numeric(5), timestamp, "char", name | varchar(10), varchar(10), text
    name, name, name, name | oidvector | oidvector, varchar(10) | int2vector, int
"""
TABLES = [x.strip() for line in _TYPES.strip().splitlines() for x in line.split(" | ")]
# one fixed-length column more or less near the limit of a quarter of a page
TABLES += [f"varchar({n}), {', '.join(['int'] * k)}" for n in (480, 1990) for k in range(10, 60, 7)]
TABLES += [", ".join(["varchar(10)"] * k) for k in (45, 46, 47, 180, 184, 185, 186, 187, 188, 190)]


def check(dsn: str) -> None:
    """Check that a table of TABLES has a TOAST relation exactly if the rule predicts it."""
    wrong, with_toast = [], 0
    with own_database(dsn, "capacity_toast") as live:
        gen = generation(live.generation)
        recording = Recording("toast", live.generation, live.banner)
        for number, types in enumerate(some_of(TABLES)):
            body = ", ".join(f"c{i} {kind}" for i, kind in enumerate(_split(types)))
            spread = "DISTRIBUTED RANDOMLY" if gen.greenplum else ""
            live.work.execute(f"CREATE TABLE t{number} ({body}) {spread}".encode())
            found = live.work.execute(
                "SELECT t.typname, a.atttypmod, c.reltoastrelid <> 0 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON "
                "c.oid = a.attrelid JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE c.relname = %s AND a.attnum > 0",
                [f"t{number}"],
            ).fetchall()
            columns = [(str(name), int(str(typmod))) for name, typmod, _ in found]
            recording.add([types, columns, found[0][2]])
            predicted = needs_toast(gen, columns, plain=_plain(columns))
            with_toast += bool(found[0][2])
            if predicted != found[0][2]:
                wrong.append(f"{types}: predicted {predicted}")
    print(f"{gen.name}: {number + 1} tables, {with_toast} with TOAST, {len(wrong)} differences")
    assert wrong == []
    assert share() > 1 or 20 < with_toast < len(TABLES) - 20
    recording.save()


def _plain(columns: list[tuple[str, int]]) -> list[str]:
    """Types of variable length that are never stored out of line."""
    return [name for name, _ in columns if name in ("oidvector", "int2vector")]


@pytest.mark.parametrize("path", recorded("toast"), ids=lambda p: p.stem)
def test_rule_is_what_was_seen(path: Path) -> None:
    """The rule agrees with the recorded tables; needs no server."""
    gen = generation(path.stem.rpartition("_")[2])
    entries = read(path)
    assert [types for types, _, _ in entries] == TABLES
    for types, listed, seen in entries:
        columns = [(name, typmod) for name, typmod in listed]
        assert needs_toast(gen, columns, plain=_plain(columns)) == seen, types


def _split(types: str) -> list[str]:
    """Split a list of types; their modifiers may also contain commas."""
    found = [""]
    depth = 0
    for letter in types:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [x.strip() for x in found]


def test_rule_on_greenplum_6(gp6_dsn: str) -> None:
    check(gp6_dsn)


def test_rule_on_greenplum_7(gp7_dsn: str) -> None:
    check(gp7_dsn)


def test_rule_on_postgresql_15(pg_dsn: str) -> None:
    check(pg_dsn)


def test_rule_on_the_newest_postgresql(pgnew_dsn: str) -> None:
    check(pgnew_dsn)


def test_rule_on_postgresql_19(pg19_dsn: str) -> None:
    check(pg19_dsn)


@pytest.mark.parametrize("name", GENERATIONS)
def test_one_unlimited_column_is_enough_and_short_ones_never(name: str) -> None:
    assert needs_toast(name, [("int4", -1), ("text", -1)])
    assert not needs_toast(name, [("int4", -1)] * 1000)
    assert not needs_toast(name, [("varchar", 14)])


def test_a_type_nobody_knows_is_unlimited() -> None:
    assert toastable("my_type")
    assert toastable("timestamp without time zone") is False
    assert needs_toast("pg15", [("my_type", -1)])


def test_shorter_characters_fit_more() -> None:
    columns = [("varchar", 1500)]
    assert needs_toast("pg15", columns)
    assert not needs_toast("pg15", columns, character_bytes=1)
