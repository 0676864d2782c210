"""Predicted locks of DDL against the locks that live servers hold at the end of the statement."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest
from sqlglot import exp

from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.script import Source
from gpcatalog.effects.schema_state import SchemaState
from tests.capacity.live import Live, own_database
from tests.capacity.test_locks import count_locks
from tests.effects.ddl_locks import SETUP, Case, cases, statements
from tests.effects.live import editions
from tests.effects.live import statements as parsed
from tests.recorded import FIXTURES, Recording, read, recorded, share, some_of

LESS_KNOWN = ("ALTER PARTITION",)  # Greenplum 6 accepts it where there are no subpartitions


def _trees(server: str, texts: list[str]) -> list[exp.Expression]:
    found = [one.tree for one in parsed(Source(";\n".join(texts)), editions(server))]
    assert len(found) == len(texts)
    return [tree for tree in found if tree is not None]


class Predictor:
    """Predicts the locks of statements after those that create a table; parses each text once."""

    def __init__(self, server: str) -> None:
        (self._edition,) = editions(server)
        self._server = server
        self._read: dict[str, exp.Expression] = {}
        self._case: Case | None = None
        self._state = SchemaState(cost_edition(self._edition), ZoneInfo("UTC"))

    def _tree(self, text: str) -> exp.Expression:
        if text not in self._read:
            (self._read[text],) = _trees(self._server, [text])
        return self._read[text]

    def locks(self, case: Case, statement: str) -> int | None:
        """Predicted locks, None if the effect is unknown. Each statement is rolled back."""
        if case != self._case:
            self._state = SchemaState(cost_edition(self._edition), ZoneInfo("UTC"))
            for text in (*SETUP, *case.create(self._server)):
                self._state.apply(self._tree(text).copy())
            self._case = case
        self._state.apply(self._tree("BEGIN"), rolled_back=True)
        effect = self._state.apply(self._tree(statement).copy())
        self._state.apply(self._tree("ROLLBACK"))
        return None if effect.unknown else effect.locks


def compare(server: str, entries: list[tuple[str, str, int]]) -> None:
    """Compare recorded locks, as (case, statement, locks), with predictions."""
    predictor, known = Predictor(server), {str(case): case for case in cases(server)}
    differences, compared, unknown = [], 0, Counter[str]()
    for name, statement, held in entries:
        found = predictor.locks(known[name], statement)
        if found is None:
            unknown[statement] += 1
        elif found != held:
            differences.append(f"{server} {name}: {statement}: predicted {found}, held {held}")
        compared += found is not None
    assert differences == []
    assert unknown.total() <= compared / 8, unknown
    assert compared >= 100 // share()


@pytest.mark.parametrize("path", recorded("ddl_locks"), ids=lambda p: p.stem)
def test_predicted_locks_are_those_that_were_held(path: Path) -> None:
    """Predicted locks equal the recorded numbers; needs no server."""
    compare(path.stem.rpartition("_")[2], read(path))


def _held(live: Live, session: psycopg.Connection[tuple[object, ...]], text: str) -> int | None:
    """Locks of a statement on the instance with most of them; None if the server rejects it."""
    try:
        session.execute(text.encode())
        return max(count_locks(live, session).values(), default=0)
    except psycopg.Error:
        return None
    finally:
        session.rollback()


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_locks_that_are_held(fixture: str, request: pytest.FixtureRequest) -> None:
    dsn, server = request.getfixturevalue(fixture), FIXTURES[fixture]
    entries: list[tuple[str, str, int]] = []
    with own_database(dsn, "ddl_locks") as live:
        session = live.stack.enter_context(live.session())
        recording = Recording("ddl_locks", server, live.banner)
        for text in SETUP:
            live.work.execute(text.encode())
        for case in some_of(cases(server)):
            try:
                for text in (*case.create(server), case.fill()):
                    live.work.execute(text.encode())
            except psycopg.Error:  # a primary key without the columns of all levels
                live.work.execute(b"DROP TABLE IF EXISTS p")
                continue
            for statement in statements(case.form):
                held = _held(live, session, statement)
                if held is None or (
                    server == "gp6"
                    and case.form != "two levels"
                    and any(word in statement for word in LESS_KNOWN)
                ):
                    continue
                entries.append((str(case), statement, held))
                recording.add(entries[-1])
            live.work.execute(b"DROP TABLE p CASCADE")
    recording.save()
    compare(server, entries)
