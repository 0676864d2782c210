"""Names of any kind are kept: quotes, backslashes, dollar signs, newlines, keywords, 63 bytes; and no text leaves its place in the SQL."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from gpcatalog.migration import writer
from gpcatalog.migration.folder import comment, file_name
from gpcatalog.migration.introspect import grants, quote_ident_always
from gpcatalog.migration.naming import checked
from gpcatalog.migration.predicates import Refusal
from tests.conftest import fresh_database
from tests.migration import made

# names that a server accepts: no NUL, no surrogates, 1 to 63 bytes
NAMES = (
    st.text(
        st.one_of(
            st.sampled_from("'\"\\$;-/*:%\n\t .(){}é日"),
            st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
        ),
        min_size=1,
        max_size=30,
    )
    .filter(lambda s: len(s.encode()) <= 63)
    .filter(lambda s: not s.startswith("pg_"))
)


@pytest.fixture(scope="module")
def database(pg_dsn: str) -> str:
    return fresh_database(pg_dsn, "mig_names")


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(schema=NAMES, table=NAMES, column=NAMES, leaf=NAMES)
@example("s", "select", "$gpcatalog$", "x" * 63)
@example("s", "t", "a, b", "(expression)")
@example("s", "t", "(expression)", "y")
@example("a$gpcatalog$ END $$; DROP TABLE t; --", "'; SELECT 1; --", 'a"b\\c', ":x %s\n\\q")
def test_any_name(database: str, schema: str, table: str, column: str, leaf: str) -> None:
    s, t, c = quote_ident_always(schema), quote_ident_always(table), quote_ident_always(column)
    one = quote_ident_always(leaf if leaf != table else "y")
    made.execute(
        database,
        f"CREATE SCHEMA {s}",
        f"CREATE TABLE {s}.{t} ({c} date) PARTITION BY RANGE ({c})",
        f"CREATE TABLE {s}.{one} PARTITION OF {s}.{t} FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')",
        f"CREATE TABLE {s}.plainly_other PARTITION OF {s}.{t} FOR VALUES FROM ('2020-01-02') TO ('2020-01-03')",
        f"CREATE INDEX ON {s}.{t} ({c})",
        f"INSERT INTO {s}.{t} SELECT date '2020-01-01' + i % 2 FROM generate_series(1, 10) i",
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = made.written(database, Path(folder) / "sql", made.plan_of(database))
            assert (files.steps, files.refused) == (1, [])
            files.all()
            assert made.rows_of(database, f"{s}.{t}")[0] == 10
            files.run(f"rollback/{files.forward()[0]}")
            assert made.fetch(database, f"SELECT count(*) FROM {s}.{one}") == [(5,)]
            files.run("cleanup.sql")
    finally:
        made.execute(
            database, f"DROP SCHEMA {s} CASCADE", "DROP SCHEMA IF EXISTS gpcatalog_journal CASCADE"
        )


@given(st.text())
def test_no_text_ends_a_block_or_a_comment(text: str) -> None:
    tag = writer.dollar_tag(text)
    assert tag not in text
    assert (text + tag).index(tag) == len(text)
    assert all(line.startswith("--") for line in comment([text]).splitlines())
    assert "/" not in file_name(1, text, text)


def test_options_of_a_plan_are_words() -> None:
    assert checked([("compresstype", "zlib")]) == (("compresstype", "zlib"),)
    with pytest.raises(Refusal, match="storage option"):
        checked([("a", "b); DROP TABLE t; --")])


def test_grants_that_are_not_understood_are_an_error() -> None:
    with pytest.raises(ValueError, match="unknown"):
        grants("{a=?/b}", "b")
