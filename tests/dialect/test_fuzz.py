"""Arbitrary text never causes a crash or a hang."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpcatalog.check.run import run
from gpcatalog.check.settings import Settings
from gpcatalog.dialect.grammar import WORDS
from gpcatalog.dialect.greenplum import Greenplum, editions, read_statement
from gpcatalog.dialect.lexer import scan
from gpcatalog.dialect.script import Outcome, Source, statements
from gpcatalog.dialect.version import edition

from .synthesis import Maker

_WORDS = sorted(WORDS)
_PIECES = st.one_of(
    st.sampled_from(_WORDS),
    st.sampled_from(
        [
            "(",
            ")",
            ",",
            ";",
            "'",
            '"',
            "$$",
            "$a$",
            "--",
            "/*",
            "*/",
            "\\",
            "::",
            ":",
            "E'",
            "U&'",
            "[",
            "]",
            "1",
            "1e",
            ".",
            "=",
            "\n",
        ]
    ),
    st.text(max_size=6),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_PIECES, max_size=40).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    found = list(statements(Source(text), editions()))
    for statement in found:
        assert 0 <= statement.start <= statement.end <= len(text) + 1
        if statement.outcome is Outcome.TYPED:
            assert statement.tree is not None
            Greenplum().generate(statement.tree)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["gp6", "gp7", "pg15", "pg19"]), st.booleans())
def test_generated_statements_round_trip(seed: int, server: str, damaged: bool) -> None:
    maker = Maker(edition(server), seed)
    sql = maker.statement()
    if damaged:
        sql = maker.damage(sql)
    for statement in statements(Source(sql), editions(server)):
        if statement.tree is not None:
            written = Greenplum().generate(statement.tree)
            assert (
                read_statement(scan(written, 0, WORDS)[0], editions(server))[0] == statement.tree
            ), written


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["greenplum6", "greenplum7", "postgres16"]))
def test_any_statement_can_be_checked(seed: int, server: str) -> None:
    maker = Maker(edition({"greenplum6": "gp6", "greenplum7": "gp7"}.get(server, "pg16")), seed)
    text = ";\n".join(maker.statement() if i % 3 else maker.create_table() for i in range(4))
    report = run([Source(text)], Settings(server=server, segments=3))
    assert report.typed + report.errors + report.not_understood >= 1
