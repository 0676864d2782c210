"""Predictions of `gpcatalog check --baseline`, against the effect of statements on tables that SQL files have created on a live server.

    python -m tests.effects.live_baseline CONNINFO FILE-OR-FOLDER... [--wrong N] [--unknown N] [--only TEXT]

Every file runs in a separate database. Then a snapshot of it is taken, and statements on each table, partition, index and view run and
are rolled back. For each statement that the server accepts, the rows that it adds to pg_class and pg_attribute, and the files of
relations (rows of pg_class with a file), are compared with the prediction from the snapshot alone. Equal, unknown and wrong have the
same meaning as in tests/effects/live.py.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

from gpcatalog.capacity.model import Instance
from gpcatalog.check.inputs import read
from gpcatalog.check.run import cost_edition
from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Source, statements
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.baseline import Baseline
from gpcatalog.effects.effect import Effect
from gpcatalog.probes.connection import connect
from tests.capacity.live import Connection, own_database
from tests.effects.live import (
    _LEFT_OUT,
    FIGURES,
    Result,
    begin,
    described,
    figures_query,
    main,
    predicted,
)
from tests.probes.replay import Answers, RecordingSession, ReplaySession, collected
from tests.recorded import Recording

_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'gp_toolkit', 'pg_toast', 'pg_aoseg', 'pg_bitmapindex', 'pg_ext_aux')"


def _counted(conn: Connection, classic: bool) -> Counter[str]:
    row = conn.execute(figures_query("gp6" if classic else "pg", others=False).encode()).fetchone()
    assert row is not None
    return Counter({c: int(str(n)) for c, n in zip(FIGURES, row, strict=True)})


def _changes(conn: Connection, classic: bool, greenplum: bool) -> Iterator[str]:
    """Statements on the objects of the database."""

    def ask(query: str) -> list[tuple[str, ...]]:
        return [tuple(map(str, row)) for row in conn.execute(query.encode()).fetchall()]

    is_root = (
        "c.relkind = 'p'"
        if not classic
        else "EXISTS (SELECT 1 FROM pg_partition p WHERE p.parrelid = c.oid)"
    )
    roots = {
        name
        for (name,) in ask(
            "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c"
            f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {is_root}"
        )
    }
    tables = ask(
        f"SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind,"
        " (SELECT quote_ident(min(a.attname)) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),"
        " (SELECT quote_ident(min(i.relname)) FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid)"
        f" FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm') AND c.oid >= 16384 AND {_OWN}"
        " AND c.relpersistence <> 't' ORDER BY c.oid"
    )
    by = " DISTRIBUTED RANDOMLY" if greenplum else ""
    for name, kind, column, index in tables:
        schema = name.split(".")[0]
        if kind == "m":
            yield f"DROP MATERIALIZED VIEW {name} CASCADE"
            continue
        yield f"DROP TABLE {name}"
        yield f"DROP TABLE {name} CASCADE"
        yield f"CREATE TABLE IF NOT EXISTS {name} (zz int)"
        yield f"CREATE TABLE zz_like (LIKE {name} INCLUDING ALL)"
        yield f"CREATE TABLE zz_as AS SELECT * FROM {name} LIMIT 0{by}"
        yield f"ALTER TABLE {name} ADD COLUMN zz_int int"
        yield f"ALTER TABLE {name} ADD COLUMN zz_text text DEFAULT 'x'"
        yield f"CREATE INDEX zz_index ON {name} ({column})"
        yield f"TRUNCATE {name}"
        yield f"ALTER TABLE {name} RENAME TO zz_renamed"
        if column != "None":
            yield f"ALTER TABLE {name} DROP COLUMN {column}"
            yield f"ALTER TABLE {name} DROP COLUMN {column} CASCADE"
        if index != "None":
            yield f"DROP INDEX {schema}.{index}"
        if name in roots and greenplum:
            yield f"ALTER TABLE {name} ADD DEFAULT PARTITION zz_default"
            yield f"ALTER TABLE {name} ADD PARTITION zz_added START (100000) END (100001)"
            yield f"ALTER TABLE {name} ADD PARTITION zz_added START ('2099-01-01') END ('2099-02-01')"
            yield f"ALTER TABLE {name} ADD PARTITION zz_added VALUES ('zz')"
            yield f"ALTER TABLE {name} DROP PARTITION FOR (1)"
            yield f"ALTER TABLE {name} DROP PARTITION FOR ('2010-01-01')"
            yield f"ALTER TABLE {name} DROP PARTITION FOR ('a')"
            yield f"ALTER TABLE {name} DROP DEFAULT PARTITION"
            yield f"ALTER TABLE {name} SPLIT DEFAULT PARTITION START ('2098-01-01') END ('2098-02-01') INTO (PARTITION zz, DEFAULT PARTITION)"
            yield f"ALTER TABLE {name} SPLIT DEFAULT PARTITION START (999990) END (999991) INTO (PARTITION zz, DEFAULT PARTITION)"
        if kind == "p":
            yield f"CREATE TABLE zz_part PARTITION OF {name} DEFAULT"
            yield f"CREATE TABLE zz_part PARTITION OF {name} FOR VALUES FROM (100000) TO (100001)"
            yield f"CREATE TABLE zz_part PARTITION OF {name} FOR VALUES FROM ('2099-01-01') TO ('2099-02-01')"
            yield f"CREATE TABLE zz_part PARTITION OF {name} FOR VALUES IN ('zz')"
    if classic:
        for root, part_name in ask(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename), quote_ident(partitionname) FROM pg_partitions"
            " WHERE partitionlevel = 0 AND partitionname <> '' ORDER BY 1, 2"
        ):
            yield f"ALTER TABLE {root} DROP PARTITION {part_name}"
    elif ask("SELECT 1 FROM pg_class WHERE relispartition LIMIT 1"):
        for root, child in ask(
            "SELECT inhparent::regclass, inhrelid::regclass FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid AND c.relispartition"
        ):
            yield f"ALTER TABLE {root} DETACH PARTITION {child}"
    for (view,) in ask(
        f"SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relkind = 'v' AND c.oid >= 16384 AND {_OWN} AND c.relpersistence <> 't' ORDER BY c.oid"
    ):
        yield f"DROP VIEW {view}"
        yield f"DROP VIEW IF EXISTS {view}"
        yield f"DROP VIEW {view} CASCADE"
    for (sequence,) in ask(
        f"SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relkind = 'S' AND c.oid >= 16384 AND {_OWN} AND c.relpersistence <> 't' ORDER BY c.oid"
    ):
        yield f"DROP SEQUENCE IF EXISTS {sequence}"
        if not classic:
            yield f"CREATE SEQUENCE IF NOT EXISTS {sequence}"
    for (kind,) in ask(
        f"SELECT quote_ident(n.nspname) || '.' || quote_ident(t.typname) FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid"
        f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'c' AND c.oid >= 16384 AND {_OWN} ORDER BY c.oid"
    ):
        yield f"DROP TYPE IF EXISTS {kind}"
    for (schema,) in ask(
        f"SELECT quote_ident(n.nspname) FROM pg_namespace n WHERE n.oid >= 16384 AND {_OWN} AND n.nspname NOT LIKE 'pg\\_t%'"
    ):
        yield f"DROP SCHEMA {schema} CASCADE"
        yield f"ALTER SCHEMA {schema} RENAME TO zz_schema"


def run(dsn: str, file: Path, recording: Recording | None = None) -> Result:
    """Run one file, then compare statements on the objects that it leaves in the database."""
    result = Result()
    with own_database(dsn, "gpcatalog_ddl_live") as live, tempfile.TemporaryDirectory() as folder:
        (edition,) = editions(live.generation)
        begin(live)
        for statement in statements(read(file), (edition,)):
            if _LEFT_OUT.match(statement.text) or statement.words[:1] == ("copy",):
                continue
            with contextlib.suppress(psycopg.Error):
                live.work.execute(statement.text.encode())
        live.work.execute(b"ROLLBACK")
        live.work.execute(b"RESET ALL")
        live.work.execute(b"RESET ROLE")
        begin(live)
        answers = Answers()
        with connect(live.dsn) as session:
            collected(RecordingSession(session, answers), Path(folder) / "now.gpcatalog")
        if recording is not None:
            answers.add_to(recording, {})
        known = Baseline(Path(folder) / "now.gpcatalog")
        before = _counted(live.work, edition.classic)
        for text in list(_changes(live.work, edition.classic, edition.greenplum)):
            _one(live.work, known, edition, text, before, result, file.name, recording)
    return result


def replay(entries: list[Any], generation: str) -> Result:
    """The same comparison with recorded results; needs no server."""
    result = Result()
    (edition,) = editions(generation)
    costs = cost_edition(edition)
    ours = [entry for entry in entries if isinstance(entry, dict)]
    answers = [entry for entry in entries if not isinstance(entry, dict)]
    with tempfile.TemporaryDirectory() as folder:
        file = collected(ReplaySession(Answers().load(answers)), Path(folder) / "now.gpcatalog")
        known = Baseline(file)
        for entry in ours:
            (statement,) = statements(Source(entry["text"]), (edition,))
            assert statement.tree is not None
            effect = known.state(costs, ZoneInfo("UTC")).apply(statement.tree)
            result.said.append(described(effect, costs))
            _compare(effect, costs, Counter(entry["made"]), result, "", entry["text"])
    return result


def _one(
    conn: Connection,
    known: Baseline,
    edition: Edition,
    text: str,
    before: Counter[str],
    result: Result,
    place: str,
    recording: Recording | None,
) -> None:
    costs = cost_edition(edition)
    conn.execute(b"BEGIN")
    try:
        conn.execute(text.encode())
        after = _counted(conn, edition.classic)
    except psycopg.Error:
        if conn.closed:
            raise
        result.refused += 1
        return
    finally:
        if not conn.closed:
            conn.execute(b"ROLLBACK")
    (statement,) = statements(Source(text), (edition,))
    if statement.tree is None:
        result.unread.append((place, text, str(statement.fault.message if statement.fault else "")))
        return
    effect = known.state(costs, ZoneInfo("UTC")).apply(statement.tree)
    made = Counter({c: after[c] - before[c] for c in FIGURES if after[c] != before[c]})
    if recording is not None:
        recording.add({"text": text, "made": dict(made)})
    _compare(effect, costs, made, result, place, text)


def _compare(
    effect: Effect,
    costs: Edition,
    made: Counter[str],
    result: Result,
    place: str,
    text: str,
) -> None:
    """Add one statement to the result. made: figures of the server."""
    wanted = predicted(effect, costs, Instance.COORDINATOR)
    differences = {c: (wanted[c], made[c]) for c in FIGURES if wanted[c] != made[c]}
    if effect.unknown:
        result.unknown.append((place, text, "; ".join(effect.unknown)))
    elif differences:
        result.wrong.append(
            (place, text, ", ".join(f"{k} {a}:{b}" for k, (a, b) in differences.items()))
        )
    else:
        result.equal += 1


def script(conn: Connection, known: Baseline, edition: Edition, text: str) -> Result:
    """Run and compare the statements of a script in one transaction that is rolled back."""
    result = Result()
    costs = cost_edition(edition)
    state = known.state(costs, ZoneInfo("UTC"))
    conn.execute(b"BEGIN")
    (begin,) = statements(Source("BEGIN"), (edition,))
    assert begin.tree is not None
    state.apply(begin.tree, rolled_back=True)
    try:
        for statement in statements(Source(text), (edition,)):
            before = _counted(conn, edition.classic)
            conn.execute(b"SAVEPOINT one")
            try:
                conn.execute(statement.text.encode())
            except psycopg.Error as e:
                conn.execute(b"ROLLBACK TO one")
                result.refused += 1
                result.refusals.append(f"{statement.text}: {e}")
                continue
            assert statement.tree is not None, statement.fault
            effect = state.apply(statement.tree, rolled_back=True)
            after = _counted(conn, edition.classic)
            made = Counter({c: after[c] - before[c] for c in FIGURES})
            _compare(effect, costs, made, result, "", statement.text)
    finally:
        conn.execute(b"ROLLBACK")
    return result


if __name__ == "__main__":
    main((__doc__ or "").splitlines()[0], run)
