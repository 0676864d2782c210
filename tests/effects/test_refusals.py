"""`refusal` returns a reason only for statements that the server rejects.

The scripts are in fixtures/rejected: the last statement of each may be rejected. Of those before it, the server rejects the same as
predicted. What the servers said is recorded, and compared on machines without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.script import Source
from gpcatalog.effects.effect import REJECTED
from gpcatalog.effects.refusals import refusal
from gpcatalog.effects.schema_state import SchemaState
from tests.conftest import fresh_database
from tests.effects.live import editions, statements
from tests.effects.test_scripts import banner
from tests.recorded import FIXTURES, Recording, read, recorded, some_of

FOLDER = Path(__file__).parent.parent.parent / "fixtures/rejected"
_GROUPS = {
    "gp6": ("everywhere", "greenplum", "greenplum6"),
    "gp7": ("everywhere", "declarative", "greenplum"),
    **dict.fromkeys(("pg15", "pg18", "pg19"), ("everywhere", "declarative", "postgresql")),
}


def scripts(server: str) -> list[str]:
    """The scripts for a server."""
    lines = [
        line
        for group in _GROUPS[server]
        for line in (FOLDER / f"{group}.txt").read_text(encoding="utf-8").splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#")]


CLEAN = (
    "DROP SCHEMA IF EXISTS s CASCADE",
    "DROP SCHEMA IF EXISTS r CASCADE",
    "DROP SCHEMA public CASCADE",
    "CREATE SCHEMA public",
    "DROP FOREIGN DATA WRAPPER IF EXISTS w CASCADE",
)


def predicted(text: str, server: str) -> tuple[str, list[int]]:
    """Why the last statement is rejected, as predicted, and the numbers of earlier statements that are rejected."""
    (edition,) = editions(server)
    state = SchemaState(cost_edition(edition), ZoneInfo("UTC"))
    *before, last = statements(Source(text), (edition,))
    earlier = []
    for number, one in enumerate(before):
        effect = state.apply(one.tree, rolled_back=True) if one.tree is not None else None
        if effect is None or any(reason.startswith(REJECTED) for reason in effect.unknown):
            earlier.append(number)
    return ("syntax error" if last.tree is None else refusal(state, last.tree)), earlier


def said(conn: psycopg.Connection, text: str, server: str) -> tuple[str, list[int]]:
    """The error of the server for the last statement, "" if it is accepted, and the numbers of earlier statements with an error."""
    errors = {}
    found = list(statements(Source(text), editions(server)))
    for number, one in enumerate(found):
        try:
            conn.execute(one.text.encode())
        except psycopg.Error as e:
            errors[number] = str(e).splitlines()[0].partition("  (seg")[0][:120]
    return errors.pop(len(found) - 1, ""), sorted(errors)


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_refusals(fixture: str, request: pytest.FixtureRequest) -> None:
    """No statement that the server accepts is predicted to be rejected."""
    server, dsn = FIXTURES[fixture], request.getfixturevalue(fixture)
    recording = Recording("refusals", server, banner(dsn))
    own = fresh_database(dsn, "refusals")
    options = "-c client_min_messages=error -c timezone=UTC"
    wrong, skipped = [], []
    chosen = some_of(scripts(server))
    for text in chosen:
        with psycopg.connect(own, autocommit=True, options=options) as conn:
            error, earlier = said(conn, text, server)
        with psycopg.connect(own, autocommit=True, options=options) as conn:
            for clean in CLEAN:
                conn.execute(clean)
        why, expected = predicted(text, server)
        if not set(expected) <= set(earlier):
            wrong.append((text, f"earlier statements {expected}, not {earlier}"))
        if earlier != expected:  # of another version: an earlier statement is rejected
            skipped.append(text)
            continue
        entry = {"script": text, "error": error, "predicted": bool(why)}
        recording.add({**entry, "earlier": earlier} if earlier else entry)
        if why and not error:
            wrong.append((text, why))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(skipped) <= 2 + 0.03 * len(chosen), skipped
    recording.save()


@pytest.mark.parametrize("path", recorded("refusals"), ids=lambda p: p.stem)
def test_refusals_are_as_recorded(path: Path) -> None:
    """The same errors are predicted as when the servers were asked; needs no server."""
    server = path.stem.removeprefix("refusals_")
    entries: list[dict[str, Any]] = read(path)
    assert {e["script"] for e in entries} <= set(scripts(server)), "record the scripts again"
    assert len(entries) > 0.95 * len(scripts(server)), "record the scripts again"
    wrong = []
    for e in entries:
        why, earlier = predicted(e["script"], server)
        expected = bool(why) is e["predicted"] and (e["error"] or not why)
        if not expected or earlier != e.get("earlier", []):
            wrong.append((e["script"], e["error"], why, earlier))
    assert not wrong, "\n".join(map(str, wrong))
    found = sum(e["predicted"] for e in entries)
    rejected = sum(bool(e["error"]) for e in entries)
    print(f"{server}: {found} of {rejected} errors predicted, {len(entries) - rejected} accepted")
    assert found > 0.7 * rejected


@pytest.mark.parametrize("server", ["gp6", "gp7", "pg15", "pg18"])
def test_what_may_not_have_run_makes_nothing_certain(server: str) -> None:
    """If earlier statements may not have run, it is uncertain whether an object exists; an error within one statement remains certain."""
    (edition,) = editions(server)
    for uncertain, certain in (
        ("CREATE VIEW v AS SELECT 1 AS x; CREATE VIEW v AS SELECT 1 AS x", False),
        ("CREATE TABLE t (a int); ALTER TABLE t ADD COLUMN a int", False),
        ("CREATE TABLE t (a int); DROP TABLE t; CREATE TABLE t (a int, a int)", True),
    ):
        state = SchemaState(cost_edition(edition), ZoneInfo("UTC"))
        state.perhaps = True
        *before, last = statements(Source(uncertain), (edition,))
        for one in before:
            assert one.tree is not None
            state.apply(one.tree)
        assert last.tree is not None
        assert bool(refusal(state, last.tree)) is certain, uncertain


@pytest.mark.parametrize(
    ("call", "certain"),
    [
        ("set_config('app.tenant', 'x', false)", True),
        ("set_config('search_path', 's', false)", False),
        ("set_config('search_' || 'path', 's', false)", False),
    ],
)
def test_only_settings_that_matter_make_names_uncertain(call: str, certain: bool) -> None:
    text = f"CREATE TABLE t (a text); INSERT INTO t VALUES ({call}); ALTER TABLE t ADD COLUMN a int"
    assert bool(predicted(text, "pg18")[0]) is certain
