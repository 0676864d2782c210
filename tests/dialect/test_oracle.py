"""The grammar against live servers: the dialect accepts and rejects the same statements, and servers accept the SQL that it writes.

The answers are recorded (tests/recorded.py), so that machines without the servers can compare with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpcatalog.dialect.grammar import WORDS, SyntaxFault
from gpcatalog.dialect.greenplum import Greenplum, editions, read_statement
from gpcatalog.dialect.lexer import LexError, scan
from gpcatalog.dialect.script import Source, split
from tests.recorded import Recording, recorded
from tests.recorded import read as entries_of

from .synthesis import Maker
from .test_dialect import FILES

RANDOM_STATEMENTS = 3000  # random statements for a server; half of them damaged
SHARE = 4  # one in this number of random statements is recorded, and all statements of the corpus
_PIECES = [
    line.split(" | ")[0]
    for line in (Path(__file__).parent / "accepted_differences.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


class Oracle:
    """A server that parses statements, with the Parse message of libpq, and runs nothing."""

    def __init__(self, dsn: str) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True)
        row = self.conn.execute("SELECT pg_catalog.version()").fetchone()
        self.banner = str(row[0]) if row else ""

    def says(self, sql: str) -> tuple[bool, str]:
        """Whether the statement has no syntax error, and the message of the server."""
        result = self.conn.pgconn.prepare(b"", sql.encode())
        state = (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(
            errors="replace"
        )
        return state != "42601", message


def read(sql: str, server: str) -> object:
    """The tree of a statement, or None if the dialect rejects it."""
    try:
        return read_statement(scan(sql, 0, WORDS)[0], editions(server))[0]
    except (SyntaxFault, LexError):
        return None


def agree(oracle: Oracle, sql: str, server: str, recording: Recording | None = None) -> str:
    """The difference between server and dialect as text, or "" if there is none.

    Both must accept or both reject the statement, and the server must accept the SQL that the dialect writes from its tree.
    """
    tree = read(sql, server)
    accepted, message = oracle.says(sql)
    if any(piece in message for piece in _PIECES):
        return ""
    if recording is not None:
        recording.add([accepted, sql])
    if accepted != (tree is not None):
        return (
            f"{'the server accepts' if accepted else 'the server refuses (' + message + ')'}: {sql}"
        )
    if tree is not None:
        written = Greenplum().generate(tree)  # type: ignore[arg-type]
        if read(written, server) != tree:
            return f"reads back differently: {sql} → {written}"
        if not oracle.says(written)[0]:
            return f"the server refuses what was written: {sql} → {written}"
    return ""


def corpus() -> Iterator[str]:
    """Statements of all files, also of files for other servers: a server must reject statements that it does not support."""
    for file in FILES:
        text = file.read_text()
        for piece in split(Source(text)):
            yield text[piece.start : piece.end]


def random_statements(server: str) -> Iterator[str]:
    """Random statements that follow the synopses of the server; every second one is damaged."""
    maker = Maker(editions(server)[0], seed=2024)
    for number in range(RANDOM_STATEMENTS):
        sql = maker.statement()
        if number % 2:
            sql = maker.damage(sql)
        if sql.strip() and len(sql) <= 6000:
            yield sql


def check(dsn: str, server: str) -> None:
    oracle = Oracle(dsn)
    recording = Recording("grammar", server, oracle.banner)
    problems = [agree(oracle, sql, server, recording) for sql in corpus()]
    for number, sql in enumerate(random_statements(server)):
        recorder = recording if number // 2 % SHARE == 0 else None
        problems.append(agree(oracle, sql, server, recorder))
    compared, problems = len(problems), [p for p in problems if p]
    print(f"{server}: {compared} statements compared, {len(problems)} differ", *problems, sep="\n")
    # random damage sometimes finds special cases of LALR conflicts; a regression would cause many differences
    assert len(problems) <= compared // 500, "\n".join(problems[:10])
    recording.save()


@pytest.mark.parametrize("path", recorded("grammar"), ids=lambda p: p.stem)
def test_grammar_is_what_was_seen(path: Path) -> None:
    """The dialect accepts and rejects the same statements as the recorded server; needs no server."""
    server = path.stem.rpartition("_")[2]
    entries = entries_of(path)
    problems = []
    for accepted, sql in entries:
        tree = read(sql, server)
        if accepted != (tree is not None):
            problems.append(f"accepted: {accepted}: {sql}")
        elif tree is not None:
            written = Greenplum().generate(tree)  # type: ignore[arg-type]
            if read(written, server) != tree:
                problems.append(f"reads back differently: {sql} → {written}")
    assert {accepted for accepted, _ in entries} == {True, False}
    assert len(entries) > 800
    assert len(problems) <= len(entries) // 500, "\n".join(problems[:10])


def test_greenplum_6(gp6_dsn: str) -> None:
    check(gp6_dsn, "gp6")


def test_greenplum_7(gp7_dsn: str) -> None:
    check(gp7_dsn, "gp7")


def keywords_of(dsn: str, server: str) -> None:
    """Check that each keyword has the class that the server lists, and that it may be a label without AS if the server allows it."""
    with psycopg.connect(dsn) as conn:
        listed = conn.execute(
            "SELECT word, catcode::text, barelabel FROM pg_catalog.pg_get_keywords()"
        ).fetchall()
    assert editions(server)[0].classes == {
        word: letter.upper() if bare else letter.lower() for word, letter, bare in listed
    }


def test_postgresql_15(pg_dsn: str) -> None:
    check(pg_dsn, "pg15")
    keywords_of(pg_dsn, "pg15")


def test_newest_postgresql(pgnew_dsn: str) -> None:
    with psycopg.connect(pgnew_dsn) as conn:
        server = f"pg{conn.info.server_version // 10000}"
    check(pgnew_dsn, server)
    keywords_of(pgnew_dsn, server)


def test_postgresql_19(pg19_dsn: str) -> None:
    check(pg19_dsn, "pg19")
    keywords_of(pg19_dsn, "pg19")
