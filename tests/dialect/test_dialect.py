"""The dialect on the corpus: every statement has a type, its tree is as recorded, and writing and reading it returns the same tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from gpcatalog.dialect.grammar import SYNOPSES, WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import Greenplum, editions, read_statement
from gpcatalog.dialect.lexer import scan
from gpcatalog.dialect.script import Outcome, Source, statements
from gpcatalog.errors import CatalogError

from .outline import outline

CORPUS = Path(__file__).parents[2] / "fixtures" / "ddl"
FILES = sorted(CORPUS.glob("*.sql"))


def servers(text: str) -> list[str]:
    """The servers to which a corpus file applies, from its first line."""
    return text.splitlines()[0].split(":")[1].split()


CASES = [(file, server) for file in FILES for server in servers(file.read_text())]


@pytest.mark.parametrize(("file", "server"), CASES, ids=lambda x: getattr(x, "stem", x))
def test_corpus(file: Path, server: str) -> None:
    text = file.read_text()
    grammars = editions(server)
    outcomes = [s.outcome for s in statements(Source(text, str(file)), grammars)]
    if file.stem.startswith("refused"):
        assert set(outcomes) == {Outcome.ERROR}
        return
    assert set(outcomes) == {Outcome.TYPED}
    lines = []
    for statement in statements(Source(text, str(file)), grammars):
        tree = statement.tree
        assert tree is not None
        assert tree.find(exp.Command) is None
        written = Greenplum().generate(tree)
        again, _ = read_statement(scan(written, 0, WORDS)[0], grammars)
        assert again == tree, written
        lines.append(f"{statement.place.line}: {outline(tree)}")
    assert not any("form=STDIN" in line for line in lines[:-1]), "what follows it is its data"
    golden = file.with_suffix(f".{server}.tree")
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        golden.write_text("\n".join(lines) + "\n")
    assert golden.read_text().splitlines() == lines


def test_no_golden_without_its_corpus() -> None:
    known = {
        file.with_suffix(f".{server}.tree")
        for file, server in CASES
        if not file.stem.startswith("refused")
    }
    assert set(CORPUS.glob("*.tree")) == known


def test_registered_by_name() -> None:
    tree = sqlglot.parse_one("CREATE TABLE t (a int) DISTRIBUTED BY (a)", read="greenplum")
    assert isinstance(tree, exp.Create)
    assert tree.find(exp.DistributedByProperty) is not None
    assert tree.sql("greenplum") == "CREATE TABLE t (a INTEGER) DISTRIBUTED BY (a)"


def test_versions() -> None:
    rank = "ALTER TABLE t DROP PARTITION FOR (RANK(1)), SET WITH OIDS"
    assert sqlglot.parse_one(rank, read="greenplum, version=6") is not None
    with pytest.raises(ParseError):
        sqlglot.parse_one(rank, read="greenplum, version=7")
    assert sqlglot.parse_one(rank, read="greenplum") is not None
    with pytest.raises(CatalogError, match="no grammar"):
        sqlglot.parse_one("SELECT 1", read="greenplum, version=99")


def test_error_says_where_and_what_was_expected() -> None:
    with pytest.raises(ParseError) as caught:
        sqlglot.parse_one("CREATE TABLE t (\n  a int\n) DISTRIBUTED a", read="greenplum")
    (error,) = caught.value.errors
    assert (error["line"], error["col"]) == (3, 15)
    assert "expected" in str(caught.value)
    assert "by" in str(caught.value)


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", ""])
def test_other_dialects_leave_our_properties_out(dialect: str) -> None:
    tree = sqlglot.parse_one(
        "CREATE TABLE t (a int) WITH (appendonly=true) DISTRIBUTED RANDOMLY", read="greenplum"
    )
    assert tree.sql(dialect).startswith("CREATE TABLE t (a INT)")


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT a FROM t WHERE b IS NOT NULL AND c BETWEEN 1 AND 2 LIMIT 3", "postgres"),
        ("SELECT TOP 3 * FROM t", "tsql"),
        ("CREATE TABLE t (a INT PRIMARY KEY, UNIQUE (a))", "postgres"),
        ("SELECT COALESCE(a, b) FROM t AS x JOIN u ON x.a = u.a", "duckdb"),
    ],
)
def test_from_other_dialects(sql: str, read: str) -> None:
    (written,) = sqlglot.transpile(sql, read=read, write="greenplum")
    assert sqlglot.parse_one(written, read="greenplum") is not None


def test_every_edition_compiles() -> None:
    from gpcatalog.dialect.grammar import grammar
    from gpcatalog.dialect.version import edition

    for name in ("gp6", "gp7", "cb2", "pg12", "pg15", "pg19"):
        rules = grammar(edition(name)).rules
        for rule in SYNOPSES.definitions:
            rules.rule(rule)


def test_deep_nesting_ends() -> None:
    deep = "SELECT " + "(" * 3000 + "1" + ")" * 3000
    with pytest.raises(SyntaxFault):
        read_statement(scan(deep, 0, WORDS)[0], editions("gp7"))
