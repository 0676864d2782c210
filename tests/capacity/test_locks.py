"""Predicted locks against the locks that live servers hold at the end of a statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpcatalog.capacity.generation import Generation, generation
from gpcatalog.capacity.locks import Statement, locks
from gpcatalog.capacity.model import Index, Place, Shape
from tests.recorded import Recording, read, recorded, share, some_of

from .live import Live, own_database
from .test_matrix import Case, Keys, Table

_LOCKS = """
    SELECT {content}, count(DISTINCT (COALESCE(classid, 1259), COALESCE(relation, objid))) FROM pg_catalog.pg_locks
    WHERE (locktype = 'relation' AND relation >= 16384
           OR locktype = 'object' AND classid <> 'pg_catalog.pg_namespace'::pg_catalog.regclass) AND database = (SELECT oid FROM pg_catalog.pg_database
    WHERE datname = current_database()) AND {session} GROUP BY 1
"""


def cases(gen: Generation) -> Iterator[Case]:
    for storage in gen.storages:
        for toastable in (False, True):
            for indexes in ((), (Index(1),), (Index(2), Index(1))):
                shape = Shape(storage, 5, toastable=toastable, indexes=indexes)
                yield Case(shape)
                for parts, defaults in (((3,), (False,)), ((2, 2), (True, False))):
                    yield Case(shape, parts, defaults, declarative=not gen.greenplum)


def count_locks(live: Live, session: psycopg.Connection[tuple[object, ...]]) -> dict[int, int]:
    """Number of locked relations and other objects of the test database in a session, without schemas, by content ID."""
    if live.server.greenplum:
        (number,) = session.execute("SHOW gp_session_id").fetchone() or (0,)
        query = _LOCKS.format(content="gp_segment_id", session=f"mppsessionid = {int(str(number))}")
    else:
        query = _LOCKS.format(content="-1", session=f"pid = {session.info.backend_pid}")
    return {int(str(content)): int(str(n)) for content, n in live.work.execute(query.encode())}


def check(dsn: str) -> None:
    compared, differences = 0, []
    with own_database(dsn, "capacity_locks") as live:
        gen = generation(live.generation)
        keys = Keys(live)
        session = live.stack.enter_context(live.session())
        recording = Recording("locks", live.generation, live.banner)
        for number, case in enumerate(some_of(cases(gen))):
            table = Table(case, f"l{number}", gen, keys)
            create = "; ".join(table.create())
            relations = case.relations()
            leaves = sum(n for x, n in relations.items() if x.place is Place.LEAF)
            intermediates = sum(n for x, n in relations.items() if x.place is Place.INTERMEDIATE)
            statements = {
                Statement.CREATE: create,
                Statement.SELECT: f"SELECT * FROM {table.name}",
                Statement.INSERT: table.insert(),
                Statement.TRUNCATE: f"TRUNCATE {table.name}",
                Statement.DROP: f"DROP TABLE {table.name}",
                Statement.BACKUP: f"LOCK TABLE {table.name} IN ACCESS SHARE MODE",
            }
            for filled in (False, True):
                predicted = locks(
                    gen, case.shape, leaves, intermediates, filled=filled, relations=relations
                )
                assert statements.keys() == predicted.keys()
                for statement, text in statements.items():
                    if statement is Statement.CREATE and filled:
                        continue
                    session.execute(text.encode())
                    found = count_locks(live, session)
                    session.rollback()
                    if statement is Statement.CREATE:
                        live.work.execute(create.encode())
                    counts = (
                        [found.get(-1, 0), max(n for c, n in found.items() if c >= 0)]
                        if gen.greenplum
                        else [found.get(-1, 0)]
                    )
                    recording.add([str(case), filled, statement.value, counts])
                    coordinator, segment = predicted[statement]
                    for content in live.instances:
                        compared += 1
                        expected, got = (
                            segment if content >= 0 else coordinator,
                            found.get(content, 0),
                        )
                        if got != expected:
                            state = "filled" if filled else "empty"
                            differences.append(
                                f"{gen.name} {case}, {state}, {statement}, {content}: predicted {expected}, held {got}"
                            )
                if not filled:
                    live.work.execute(table.insert().encode())
            live.work.execute(f"DROP TABLE {table.name}".encode())
    print(f"{gen.name}: locks of {compared} statements compared, {len(differences)} differences")
    assert differences == []
    assert compared >= 100 // share()
    recording.save()


@pytest.mark.parametrize("path", recorded("locks"), ids=lambda p: p.stem)
def test_locks_equal_what_was_counted(path: Path) -> None:
    """Predicted locks equal the recorded counts; needs no server."""
    gen = generation(path.stem.rpartition("_")[2])
    known = {str(case): case for case in cases(gen)}
    entries = read(path)
    assert {name for name, *_ in entries} == set(known)
    for name, filled, statement, counts in entries:
        relations = known[name].relations()
        leaves = sum(n for x, n in relations.items() if x.place is Place.LEAF)
        intermediates = sum(n for x, n in relations.items() if x.place is Place.INTERMEDIATE)
        predicted = locks(
            gen, known[name].shape, leaves, intermediates, filled=filled, relations=relations
        )
        assert list(predicted[Statement(statement)])[: len(counts)] == counts, (
            name,
            filled,
            statement,
        )


def test_locks_of_greenplum_6(gp6_dsn: str) -> None:
    check(gp6_dsn)


def test_locks_of_greenplum_7(gp7_dsn: str) -> None:
    check(gp7_dsn)


def test_locks_of_postgresql_15(pg_dsn: str) -> None:
    check(pg_dsn)


def test_locks_of_the_newest_postgresql(pgnew_dsn: str) -> None:
    check(pgnew_dsn)


def test_locks_of_postgresql_19(pg19_dsn: str) -> None:
    check(pg19_dsn)
