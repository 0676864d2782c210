"""Servers as the grammar's oracle: what they take the dialect types, what they refuse it refuses, what it writes they take."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from gpcatalog.dialect.grammar import WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import Greenplum, editions, read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.script import Source, split

from .synthesis import Maker
from .test_dialect import FILES

MADE = 3000  # statements made at random for a server; half of them damaged
_PIECES = [
    line.split(" | ")[0]
    for line in (Path(__file__).parent / "accepted_differences.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


class Oracle:
    """libpq's Parse message: the server parses a statement and runs nothing."""

    def __init__(self, dsn: str) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True)

    def says(self, sql: str) -> tuple[bool, str]:
        """Whether it is free of syntax errors, and the server's message."""
        result = self.conn.pgconn.prepare(b"", sql.encode())
        state = (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(
            errors="replace"
        )
        return state != "42601", message


def read(sql: str, server: str) -> object:
    """The tree, or None."""
    try:
        return read_statement(scan(sql, 0, WORDS)[0], editions(server))[0]
    except (SyntaxFault, LexError):
        return None


def agree(oracle: Oracle, sql: str, server: str) -> str:
    """What is wrong, or "": both take it or both refuse it, and what is written of it the server takes too."""
    tree = read(sql, server)
    taken, message = oracle.says(sql)
    if any(piece in message for piece in _PIECES):
        return ""
    if taken != (tree is not None):
        return f"{'the server takes' if taken else 'the server refuses (' + message + ')'}: {sql}"
    if tree is not None:
        written = Greenplum().generate(tree)  # type: ignore[arg-type]
        if read(written, server) != tree:
            return f"reads back differently: {sql} → {written}"
        if not oracle.says(written)[0]:
            return f"the server refuses what was written: {sql} → {written}"
    return ""


def check(dsn: str, server: str) -> None:
    oracle = Oracle(dsn)
    problems, compared = [], 0
    for file in FILES:
        text = file.read_text()  # other servers' statements too: what one lacks is refused
        for piece in split(Source(text)):
            compared += 1
            problem = agree(oracle, text[piece.start : piece.end], server)
            if problem:
                problems.append(problem)
    maker = Maker(editions(server)[0], seed=2024)
    for number in range(MADE):
        sql = maker.statement()
        if number % 2:
            sql = maker.damage(sql)
        if not sql.strip() or len(sql) > 6000:
            continue
        compared += 1
        problem = agree(oracle, sql, server)
        if problem:
            problems.append(problem)
    print(f"{server}: {compared} statements compared, {len(problems)} differ")
    # random damage finds corners of LALR conflicts now and then; a regression is many of them
    assert len(problems) <= compared // 500, "\n".join(problems[:10])


@pytest.mark.greenplum
def test_greenplum_6(gp6_dsn: str) -> None:
    check(gp6_dsn, "gp6")


@pytest.mark.greenplum
def test_greenplum_7(gp7_dsn: str) -> None:
    check(gp7_dsn, "gp7")


def keywords_of(dsn: str, server: str) -> None:
    """Every keyword, its class and whether it may be a label without AS: as the server lists them."""
    with psycopg.connect(dsn) as conn:
        listed = conn.execute(
            "SELECT word, catcode::text, barelabel FROM pg_catalog.pg_get_keywords()"
        ).fetchall()
    assert editions(server)[0].classes == {
        word: letter.upper() if bare else letter.lower() for word, letter, bare in listed
    }


@pytest.mark.postgres
def test_postgresql_15(pg_dsn: str) -> None:
    check(pg_dsn, "pg15")
    keywords_of(pg_dsn, "pg15")


@pytest.mark.postgres
def test_newest_postgresql(pgnew_dsn: str) -> None:
    check(pgnew_dsn, "pg18")
    keywords_of(pgnew_dsn, "pg18")
