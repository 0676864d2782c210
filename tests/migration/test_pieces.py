"""Single parts of scripts, at the limits of names and for every kind of property."""

from __future__ import annotations

import pytest

from gpcatalog.migration.introspect import grants
from gpcatalog.migration.naming import index_name
from gpcatalog.migration.traits import statements_for
from gpcatalog.model.names import NAMEDATALEN
from gpcatalog.model.traits import indexes_lost

SET = 'ALTER TABLE s.t ALTER COLUMN "v" '


@pytest.mark.parametrize(
    ("what", "was", "then", "before"),
    [
        ("default", None, "7", [SET + "SET DEFAULT 7;"]),
        ("default", "7", "8", [SET + "SET DEFAULT 8;"]),
        ("default", "7", None, [SET + "DROP DEFAULT;"]),
        ("storage", "EXTENDED", "MAIN", [SET + "SET STORAGE MAIN;"]),
        ("storage", "MAIN", None, []),
        ("compression", "pglz", "lz4", [SET + "SET COMPRESSION lz4;"]),
        ("compression", "lz4", None, []),
        ("options", None, "n_distinct=7", [SET + "SET (n_distinct='7');"]),
        ("options", "n_distinct=7", None, []),
        ("comment", None, "it's", ["COMMENT ON COLUMN s.t.\"v\" IS 'it''s';"]),
        ("comment", "old", None, ['COMMENT ON COLUMN s.t."v" IS NULL;']),
        ("comment", "same", "same", []),
    ],
)
def test_what_makes_a_column_alike(
    what: str, was: str | None, then: str | None, before: list[str]
) -> None:
    base = {} if was is None else {(what, "v"): was}
    required = {} if then is None else {(what, "v"): then}
    statements = statements_for("s.t", "s.final", base, required, {})
    assert list(statements.before) == before
    assert (statements.late, statements.after) == ((), ())


def test_grants_follow_what_they_rest_on() -> None:
    """Grants are sorted by dependency, in any order of the ACL; grants that nobody may grant any more are left out."""
    acl = "{c=r/b,b=r*/a,a=r*w/me,d=w/a,e=r/d}"
    assert [g.words for g in grants(acl, "me")] == [
        ["SELECT of a", "UPDATE of a"],
        ["SELECT of b granted by a"],
        ["SELECT of c granted by b"],
    ]


def test_names_of_indexes_at_their_limits() -> None:
    long = "x" * 62
    for ending in (39, 40, 41):
        name = index_name("t", "t" + "i" * ending, long, set())
        length = min(ending, 40)
        # four digits computed from the whole name
        assert name == "x" * (NAMEDATALEN - length - 5) + "_b78c" + "i" * length
        other = index_name("t", "t" + "i" * ending, long[1:] + "y", set())
        assert other != name
        assert len(other) == NAMEDATALEN
    # if the name exists, thirty bytes of the ending and a number are kept
    used_names = {index_name("t", "t" + "i" * 31, "n", set())}
    assert index_name("t", "t" + "i" * 31, "n", used_names) == "n" + "i" * 30 + "_2"
    assert index_name("t", "t" + "i" * 31, "n", used_names) == "n" + "i" * 30 + "_3"


def test_indexes_of_single_parts() -> None:
    parts = [["btree (a)", "btree (b)"], ["btree (b)", "btree (b)"], ["btree (b)"]]
    assert indexes_lost(parts, ["btree (a)"], "it") == [
        "index btree (b) on 3 of 3 partitions: not on it"
    ]
    assert indexes_lost(parts, ["btree (b)", "btree (a)"], "it") == []
