"""Statements that rewrite a table, on live servers: the TOAST relation that no column needs any more, and the rows of
pg_attribute_encoding of added columns (Greenplum 7) are gone afterwards, or the prediction states that this is unknown.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from sqlglot import exp

from gpcatalog.effects.keys import Column
from gpcatalog.effects.outer_dependencies import SERVER_FUNCTIONS
from gpcatalog.effects.rewrites import by_type
from gpcatalog.effects.volatile import UNSURE, VOLATILE, either
from tests.effects.live import run
from tests.recorded import FIXTURES

# added to a table that still has a TOAST relation, which no column needs: definition, and whether the prediction may be unknown
ADDED = {
    "a int": False,
    "a int DEFAULT 7": False,
    "a timestamp DEFAULT now()": False,
    "a int DEFAULT length('abc')": False,
    "a float DEFAULT random() * 5": False,
    "a serial": False,
    "a int GENERATED ALWAYS AS IDENTITY": False,
    "a int GENERATED ALWAYS AS (i + 1) STORED": False,
    "a int GENERATED ALWAYS AS (1) STORED": False,
    "a int DEFAULT rw_function()": True,
    "a int CHECK (a > rw_function())": False,
    "a int DEFAULT 5 CHECK (a < 10 + random())": False,
    "a rw_plain": False,
    "a rw_checked": False,
    "a rw_checked DEFAULT 5": False,
    "a rw_nested": False,
    "a rw_not_null DEFAULT 3": False,
    "a rw_default": False,
    "a rw_random": True,
    "a rw_added": False,
    "a rw_dropped": True,
    "a rw_renamed": False,
    "a rw_checked[]": False,
}
OBJECTS = """CREATE FUNCTION rw_function() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE DOMAIN rw_plain AS int;
CREATE DOMAIN rw_checked AS int CHECK (VALUE > 0);
CREATE DOMAIN rw_nested AS rw_checked;
CREATE DOMAIN rw_not_null AS int NOT NULL;
CREATE DOMAIN rw_default AS int DEFAULT 5;
CREATE DOMAIN rw_random AS float DEFAULT random();
CREATE DOMAIN rw_added AS int;
ALTER DOMAIN rw_added ADD CHECK (VALUE > 0);
CREATE DOMAIN rw_dropped AS int CONSTRAINT c CHECK (VALUE > 0);
ALTER DOMAIN rw_dropped DROP CONSTRAINT c;
CREATE DOMAIN rw_before AS int CHECK (VALUE > 0);
ALTER DOMAIN rw_before RENAME TO rw_renamed;
"""
# of a row-oriented append-optimized table with an added column
ALTERED = (
    "ADD COLUMN d serial",
    "ADD COLUMN d int, ADD COLUMN e serial, ADD CHECK (i > 0)",
    "ADD COLUMN d int, ALTER COLUMN t TYPE varchar(10)",
    "ALTER COLUMN t TYPE varchar(10), ADD COLUMN d int",
    "ADD COLUMN d int, SET DISTRIBUTED BY (t)",
    "SET DISTRIBUTED BY (t)",
    "SET DISTRIBUTED BY (i)",
    "SET DISTRIBUTED RANDOMLY",
    "SET DISTRIBUTED REPLICATED",
    "SET WITH (reorganize=true)",
    "SET WITH (reorganize=false)",
    "SET UNLOGGED",
    "ADD COLUMN d int GENERATED ALWAYS AS (i + 1) STORED, ADD COLUMN e int",
    "ADD COLUMN d int GENERATED ALWAYS AS IDENTITY, ADD COLUMN e int",
    "ADD COLUMN d rw_checked, ADD COLUMN e int",
    "ADD COLUMN d timestamp DEFAULT now(), ADD COLUMN e int",
    "ALTER COLUMN i TYPE int USING i + 1",
    "DROP COLUMN a",
    "ALTER COLUMN a SET NOT NULL",
)
# of a table with a TOAST relation that no column needs (Greenplum)
SET = (
    "SET WITH (REORGANIZE=true)",
    "SET WITH (REORGANIZE=false)",
    "SET DISTRIBUTED BY (t)",
    "SET DISTRIBUTED BY (i)",
    "SET DISTRIBUTED RANDOMLY",
    "SET WITH (REORGANIZE=true) DISTRIBUTED RANDOMLY",
    "SET WITH (REORGANIZE=false) DISTRIBUTED RANDOMLY",
    "SET WITH (REORGANIZE=true) DISTRIBUTED BY (j)",
    "SET WITH (REORGANIZE=false) DISTRIBUTED BY (j)",
    "SET WITH (REORGANIZE=false) DISTRIBUTED BY (i)",
    "SET DISTRIBUTED REPLICATED",
)
STORED = ("", " WITH (appendonly=true)", " WITH (appendonly=true, orientation=column)")
PARTITIONED = " PARTITION BY RANGE (i) (START (1) END (4) EVERY (1))"
TYPES = """bool int2 int4 int8 float8 numeric numeric(10,2) numeric(12,2) numeric(12,3) date timestamp timestamptz timestamp(3) text
    varchar varchar(5) varchar(9) char(5) bpchar oid bit(4) varbit(9) inet cidr""".split()


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_added_columns(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    text = OBJECTS
    may_be_unknown = set()
    for number, (definition, unknown) in enumerate(ADDED.items()):
        text += f"CREATE TABLE t{number} (i int, t text);\nALTER TABLE t{number} DROP COLUMN t;\n"
        text += f"ALTER TABLE t{number} ADD COLUMN {definition};\nDROP TABLE t{number};\n"
        if unknown:
            may_be_unknown |= {f"ALTER TABLE t{number} ADD COLUMN {definition}", f"DROP TABLE t{number}"}  # fmt: skip
    file = tmp_path / "added.sql"
    file.write_text(text)
    result = run(request.getfixturevalue(fixture), file)
    assert result.wrong == []
    assert result.equal > 60
    assert {statement for _, statement, _ in result.unknown} <= may_be_unknown


def test_rows_of_added_columns(gp7_dsn: str, tmp_path: Path) -> None:
    text = OBJECTS
    for number, actions in enumerate(2 * ALTERED):
        tail = PARTITIONED if number >= len(ALTERED) else ""
        text += f"CREATE TABLE t{number} (i int, t text) WITH (appendonly=true) DISTRIBUTED BY (i){tail};\n"
        text += (
            f"ALTER TABLE t{number} ADD COLUMN a int;\nALTER TABLE t{number} {actions};\n"
            f"ALTER TABLE t{number} ADD COLUMN z int;\n"
        )
    text += "CREATE INDEX x ON t0 (i);\nCLUSTER t0 USING x;\nVACUUM FULL t1;\nTRUNCATE t2;\n"
    file = tmp_path / "altered.sql"
    file.write_text(text)
    result = run(gp7_dsn, file)
    assert result.wrong == []
    assert result.equal > 120
    assert len(result.unknown) <= 4, result.unknown


@pytest.mark.parametrize("fixture", ["gp6_dsn", "gp7_dsn"])
def test_reorganized(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    text = ""
    tables = [(stored, tail) for stored in STORED for tail in ("", PARTITIONED)]
    cases = [(stored, tail, action) for stored, tail in tables for action in SET]
    for number, (stored, tail, action) in enumerate(cases):
        name = f"t{number}"
        text += f"CREATE TABLE {name} (i int, j int, t text, u text){stored} DISTRIBUTED BY (i){tail};\n"
        text += "" if tail else f"CREATE INDEX {name}_i ON {name} (j);\n"
        text += f"ALTER TABLE {name} {action};\nALTER TABLE {name} DROP COLUMN u, DROP COLUMN t;\n"
        text += f"ALTER TABLE {name} {action.replace('(t)', '(j)')};\nALTER TABLE {name} ADD COLUMN w text;\n"
        text += f"DROP TABLE {name};\n"
    file = tmp_path / "set.sql"
    file.write_text(text)
    result = run(request.getfixturevalue(fixture), file)
    assert result.wrong == []
    assert result.unknown == []
    assert result.equal > 300


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_volatile_functions(fixture: str, request: pytest.FixtureRequest) -> None:
    """A function that is taken to be the server's own and not volatile is not volatile there."""
    with psycopg.connect(request.getfixturevalue(fixture)) as conn:
        found = conn.execute(
            "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE provolatile = 'v' AND oid < 10000"
        )
        assert {name for (name,) in found} & (SERVER_FUNCTIONS - VOLATILE - UNSURE) == set()


@pytest.mark.long
def test_changes_of_types(gp7_dsn: str, tmp_path: Path) -> None:
    """The rows of an added column show whether the server has rewritten the table."""
    text = ""
    for number, (old, new) in enumerate((old, new) for old in TYPES for new in TYPES):
        text += (
            f"CREATE TABLE t{number} (i int, v {old}) WITH (appendonly=true) DISTRIBUTED BY (i);\n"
        )
        text += f"ALTER TABLE t{number} ADD COLUMN a int;\nALTER TABLE t{number} ALTER COLUMN v TYPE {new};\n"
    file = tmp_path / "types.sql"
    file.write_text(text)
    result = run(gp7_dsn, file)
    assert result.wrong == []
    assert result.unknown == []
    assert result.equal > 1300


def test_unknown_is_neither() -> None:
    assert [either(True, None), either(False, None), either(False, False), either()] == [
        True, None, False, False,
    ]  # fmt: skip
    number, text = Column("c", "int4"), Column("c", "text")
    assert by_type(number, replaced := Column("c", "int8"), None) is True
    assert by_type(replaced, replaced, exp.column("c")) is False
    assert by_type(replaced, replaced, exp.Add(this=exp.column("c"), expression=exp.Literal.number(1)))  # fmt: skip
    assert by_type(text, Column("c", "varchar", 14), None) is True
    assert by_type(text, Column("c", "varchar"), None) is False
    assert by_type(Column("c", "varchar", 14), Column("c", "varchar", 24), None) is False
    assert by_type(text, Column("c", "bpchar"), None) is None
    assert by_type(number, Column("c", "jsonb"), None) is None
    fine = Column("c", "timestamp", sized=True)
    assert by_type(Column("c", "timestamp"), fine, None) is True
    assert by_type(fine, fine, None) is None
