"""Conversions and operator classes that are said to be missing are missing on each server (pg_cast, pg_opclass)."""

from __future__ import annotations

import psycopg
import pytest

from gpcatalog.effects.casts import (
    _WITHOUT_BTREE,
    KNOWN_TYPES,
    different_types,
    no_assignment,
    not_comparable,
    without_class,
)
from gpcatalog.effects.keys import Column
from tests.recorded import FIXTURES


def _column(kind: str) -> Column:
    return Column("c", kind)


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_missing_casts_and_classes(fixture: str, request: pytest.FixtureRequest) -> None:
    with psycopg.connect(request.getfixturevalue(fixture)) as conn:
        casts = {
            (source, target)
            for source, target in conn.execute(
                "SELECT s.typname, t.typname FROM pg_cast c JOIN pg_type s ON s.oid = c.castsource"
                " JOIN pg_type t ON t.oid = c.casttarget WHERE c.castcontext IN ('a', 'i')"
            )
        }
        classes = {
            (method, kind)
            for method, kind in conn.execute(
                "SELECT m.amname, t.typname FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod"
                " JOIN pg_type t ON t.oid = o.opcintype WHERE o.opcdefault"
            )
        }
        operators = {
            (left, right)
            for left, right in conn.execute(
                "SELECT l.typname, r.typname FROM pg_operator o JOIN pg_type l ON l.oid = o.oprleft"
                " JOIN pg_type r ON r.oid = o.oprright WHERE o.oprname = '='"
            )
        }
    pairs = [(_column(a), _column(b)) for a in KNOWN_TYPES for b in KNOWN_TYPES if a != b]
    missing = [(a.type, b.type) for a, b in pairs if no_assignment(a, b)]
    assert len(missing) > 150
    assert casts.isdisjoint(missing)
    incomparable = [(a.type, b.type) for a, b in pairs if not_comparable(a, b)]
    assert len(incomparable) > 50
    assert operators.isdisjoint(incomparable)
    for kind in _WITHOUT_BTREE:
        for method in ("btree", "hash"):
            assert without_class(_column(kind), method)
            assert (method, kind) not in classes


def test_own_types_are_not_judged() -> None:
    """A domain or an enum has the name of another type here: nothing is certain."""
    text, number = _column("text"), _column("int4")
    own = Column("c", "text", own_type=True)
    assert no_assignment(text, number)
    assert not no_assignment(own, number)
    assert not_comparable(text, number)
    assert not not_comparable(own, number)
    assert different_types(text, number)
    assert not different_types(own, number)
    assert not without_class(Column("c", "json", own_type=True), "btree")
