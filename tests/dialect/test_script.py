"""Scripts split into statements: other text around SQL in real files, and correct positions."""

from __future__ import annotations

import pytest

from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Outcome, Source, Statement, statements


def read(text: str, server: str = "gp7") -> list[Statement]:
    return list(statements(Source(text, "f.sql"), editions(server)))


def test_psql_commands_and_copy_data() -> None:
    text = (
        "\\set ON_ERROR_STOP on\n\\i other.sql\nCREATE TABLE t (a int, b text) DISTRIBUTED BY (a);\n"
        'COPY t (a, b) FROM stdin;\n1\tit\'s; not "sql"\n2\t\\N\n\\.\n\nSELECT 1 \\gset\nSELECT :\'x\', :y FROM :"z";\n\\q\n'
    )
    found = read(text)
    assert [s.outcome for s in found] == [Outcome.TYPED] * 4
    assert [s.place.line for s in found] == [3, 4, 9, 10]


def test_commands_that_do_not_run_the_query_buffer() -> None:
    """As psql 19 reads them: data of \\copy, several commands on a line, a buffer that is described, printed or cleared."""
    text = (
        "\\copy q from stdin\n1\nDROP TABLE q;\n\\.\nCREATE TABLE z (a int);\nSELECT $1::int \\bind 1 \\g\n"
        "CREATE TABLE a1 (a int) \\gdesc\nCREATE TABLE a2 (a int) \\p\\r\nCREATE TABLE a3 (a int) \\p\n;\n"
        "\\copy q from 'stdin'\n\\pset format csv \\timing\nCREATE TABLE a4 (a text DEFAULT 'x\\y');\n"
    )
    found = [s.text for s in read(text, "pg19")]
    assert [t.split("(")[0].strip() for t in found] == [
        "CREATE TABLE z",
        "SELECT $1::int",
        "CREATE TABLE a3",
        "CREATE TABLE a4",
    ]


def test_copy_data_without_end() -> None:
    assert [s.place.line for s in read("COPY t FROM STDIN;\n1\n2\n")] == [1]


def test_quotes_comments_and_dollars() -> None:
    text = (
        "-- a; b\n/* c; /* nested; */ d; */ SELECT 'a;b', \"c;d\", $$e;f$$, $q$ $$ ; $q$, E'g\\';h';\n"
        "DO $x$ BEGIN PERFORM 1; END $x$;\nCREATE FUNCTION f() RETURNS int AS 'SELECT 1;' LANGUAGE sql;;\n"
    )
    assert [(s.outcome, s.place.line) for s in read(text)] == [
        (Outcome.TYPED, 2),
        (Outcome.TYPED, 3),
        (Outcome.TYPED, 4),
    ]


@pytest.mark.parametrize(
    ("script", "outcomes"),
    [
        (r"SET standard_conforming_strings = off; SELECT 'it\'s; x'; SELECT 'a\\';", "TTT"),
        (r"SET standard_conforming_strings TO 'off'; SELECT 'it\'s;';", "TT"),
        (r"SET SESSION standard_conforming_strings TO 0; SELECT 'it\'s;';", "TT"),
        (r"SET standard_conforming_strings = on; SELECT 'a\';", "TT"),
        (r"SET other = off; SELECT 'a\';", "TT"),
        (r"SET standard_conforming_strings = off; RESET ALL; SELECT 'a\';", "TTT"),
        (
            r"SET standard_conforming_strings = off; RESET standard_conforming_strings; SELECT 'a\';",
            "TTT",
        ),
        (r"SET standard_conforming_strings = off; RESET other; SELECT 'a\';';", "TTT"),
        (r"SET standard_conforming_strings = off; DISCARD ALL; SELECT 'a\';", "TTT"),
        (r"BEGIN; SET standard_conforming_strings = off; ROLLBACK; SELECT 'a\';", "TTTT"),
        (r"BEGIN; SET standard_conforming_strings = off; COMMIT; SELECT 'a\';'; ", "TTTT"),
        (
            r"BEGIN; SET LOCAL standard_conforming_strings = off; SELECT '\''; END; SELECT 'a\';",
            "TTTTT",
        ),
        (
            r"BEGIN; SET standard_conforming_strings = off; SAVEPOINT a; ROLLBACK TO a; SELECT '\'';",
            "TTTTT",
        ),
        # never closed
        (r"SET standard_conforming_strings = off; SELECT '\', 'b';", "TE"),
    ],
)
def test_backslashes_as_a_script_sets_them(script: str, outcomes: str) -> None:
    """Scripts are split as psql does it, by the current setting of standard_conforming_strings."""
    found = [s.outcome for s in statements(Source(script), editions("pg15"))]
    assert "".join(o.name[0] for o in found) == outcomes


def test_backslashes_are_written_as_escapes() -> None:
    script = r"SET standard_conforming_strings = off; SELECT 'it\'s', 'plain';"
    found = list(statements(Source(script), editions("pg15")))[1]
    assert found.tree is not None
    assert found.tree.sql("greenplum") == r"SELECT E'it\'s', 'plain'"


def test_rule_and_atomic_bodies_hold_semicolons() -> None:
    assert len(read("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3;")) == 2
    body = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3;"
    assert [s.outcome for s in read(body, "pg17")] == [Outcome.TYPED] * 2


def test_places_count_characters() -> None:
    found = read("SELECT '日本語é';  SELEC 1;\r\n  SELECT 2 FROM WHERE;")
    assert [str(s.place) for s in found] == ["f.sql:1:1", "f.sql:1:17", "f.sql:2:3"]
    fault = found[2].fault
    assert fault is not None
    assert str(found[2].source.place(fault.offset)) == "f.sql:2:17"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SELECT 'open;\n", 1),
        ("SELECT 1; SELECT $$open;\n", 1),
        ("/* open", 1),
        ('SELECT "open', 1),
        ('SELECT ""', 1),
    ],
)
def test_what_is_never_closed(text: str, line: int) -> None:
    last = read(text)[-1]
    assert last.outcome is Outcome.ERROR
    assert last.place.line == line


def test_reading_goes_on_after_an_error() -> None:
    found = read("CREATE TABLE t (a int,);\nDROP TABLE u;\nSELECT 'x\n;\nDROP TABLE v;")
    assert [s.outcome for s in found][:2] == [Outcome.ERROR, Outcome.TYPED]


def test_unknown_kinds_are_not_understood() -> None:
    (one,) = read("CREATE WIDGET w;", "pg17")
    assert one.outcome is Outcome.NOT_UNDERSTOOD
    # the grammars of Greenplum 6 and 7 are complete: the server rejects statements that are not in them
    (two,) = read("CREATE WIDGET w;", "gp7")
    assert two.outcome is Outcome.ERROR


def test_byte_order_mark_and_empty() -> None:
    assert [s.outcome for s in read("\ufeffSELECT 1")] == [Outcome.TYPED]
    assert read("") == []
    assert read("-- nothing\n;;\n") == []
