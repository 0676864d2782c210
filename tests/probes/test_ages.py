"""Ages of transactions on every instance, compared with the ages that each instance returns in a session of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from gpcatalog.audit import rules
from gpcatalog.capacity import wraparound
from gpcatalog.lab import process
from gpcatalog.lab.postgres import PrivateServer
from tests import greenplum
from tests.conftest import binaries_of, fresh_database
from tests.live_report import report_of

BURNED = 5000
# each block that writes and has an exception handler is a separate transaction
BURN = f"""
    CREATE TEMP TABLE burned (a int);
    DO $$ BEGIN FOR i IN 1..{BURNED} LOOP
        BEGIN INSERT INTO burned VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END;
    END LOOP; END $$;
"""
AROUND = 200  # transactions that may begin between two measurements


def of_databases(conn: psycopg.Connection) -> dict[str, int]:
    rows = conn.execute("SELECT datname::text, age(datfrozenxid) FROM pg_database").fetchall()
    return dict(rows)


@pytest.mark.parametrize("server", ["pg_dsn", "pgnew_dsn"])
def test_databases_and_relations_of_one_server(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(server), "aged")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE old (a int)")
        conn.execute(BURN)
        conn.execute("VACUUM FREEZE pg_catalog.pg_class")
        truth = of_databases(conn)
        report = report_of(dsn, tmp_path / "s.gpcatalog")
        oldest = dict(
            conn.execute(
                "SELECT n.nspname || '.' || c.relname, age(c.relfrozenxid) FROM pg_class c JOIN pg_namespace n"
                " ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 't', 'm')"
            ).fetchall()
        )
    reported = {a.name: a for a in report.ages or () if a.kind == "database"}
    assert reported.keys() == truth.keys()
    for name, age in truth.items():
        assert 0 <= reported[name].xid_age - age <= AROUND
        assert reported[name].multixact_age is not None
    by_kind = {a.kind: a for a in report.ages or () if a.kind != "database"}
    catalogs = {n: a for n, a in oldest.items() if n.startswith(("pg_catalog.", "pg_toast."))}
    for kind, of in (("relation", oldest), ("catalog", catalogs)):
        found = by_kind[kind]
        assert found.name in of
        assert found.name != "pg_catalog.pg_class"
        assert abs(max(of.values()) - found.xid_age) <= AROUND
        assert abs(of[found.name] - found.xid_age) <= AROUND
    assert by_kind["relation"].xid_age > BURNED
    verdicts = {v.id: v for v in report.verdicts}
    assert verdicts["transactions-age"].value == max(a.xid_age for a in reported.values())
    assert verdicts["transactions-age"].limit == 2**31 - 1 - 3_000_000


@pytest.mark.parametrize("fixture", ["gp6_cluster", "gp7_cluster"])
def test_every_instance_has_its_own_age(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    cluster: greenplum.Cluster = request.getfixturevalue(fixture)
    classic = fixture == "gp6_cluster"
    dsn = fresh_database(cluster.dsn() if classic else cluster.dsn("template1"), "aged")
    with psycopg.connect(dsn, autocommit=True) as conn:
        ports = dict(
            conn.execute(
                "SELECT content, port FROM gp_segment_configuration WHERE role = 'p'"
            ).fetchall()
        )
    role = "gp_session_role" if classic else "gp_role"

    def instance(content: int) -> psycopg.Connection:
        text = re.sub(r"port=\d+", f"port={ports[content]}", dsn)
        return psycopg.connect(f"{text} options='-c {role}=utility'", autocommit=True)

    worst = max(ports)
    with instance(worst) as conn:
        before = of_databases(conn)["aged"]
        conn.execute(BURN)
    truth = {}
    for content in ports:
        with instance(content) as conn:
            truth[content] = of_databases(conn)
    report = report_of(dsn, tmp_path / "s.gpcatalog")
    reported: dict[int, dict[str, int]] = {}
    for a in report.ages or ():
        if a.kind == "database":
            reported.setdefault(a.content, {})[a.name] = a.xid_age
            assert (a.multixact_age is None) == classic
    assert reported.keys() == truth.keys()
    for content, ages in truth.items():
        assert reported[content].keys() == ages.keys()
        for name, age in ages.items():
            assert 0 <= reported[content][name] - age <= AROUND, (content, name)
    assert truth[worst]["aged"] >= before + BURNED
    # Other tests of this session may have aged the coordinator more. The first row is the
    # oldest according to the instances themselves.
    first = next(a for a in report.ages or () if a.kind == "database")
    oldest = max(max(ages.values()) for ages in truth.values())
    assert 0 <= first.xid_age - oldest <= AROUND
    assert {a.content for a in report.ages or () if a.kind == "catalog"} == set(ports)
    verdicts = {v.id: v for v in report.verdicts}
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SHOW xid_stop_limit").fetchone()
    assert row is not None
    assert verdicts["transactions-age"].limit == 2**31 - 1 - int(row[0])
    assert verdicts["transactions-age"].value == first.xid_age
    assert ("multixacts-age" in verdicts) == (not classic)


def xid_consumed(conn: psycopg.Connection, messages: list[str]) -> bool:
    """Begin a transaction with a transaction ID; False if the server refuses it. messages: the warnings of the server."""
    try:
        conn.execute("SELECT txid_current()")
    except psycopg.errors.ProgramLimitExceeded as e:
        messages.append(str(e))
        return False
    return True


TABLES = 2000  # a forced VACUUM of them takes longer than to connect and lock one of them
TRIES = 3  # repetitions if the forced VACUUM was faster anyway


def messages_near_limit(
    version: str, limit: str, refused: Callable[[PrivateServer], None] | None = None
) -> tuple[int, int, list[str]] | None:
    """Set the next transaction ID a few before a limit; return (limit, age at which the server warns or refuses, its messages).

    refused: called while the server refuses transactions.
    None if the forced VACUUM advanced the database before a lock could prevent it.
    """
    settings = {"autovacuum": "off", "max_connections": "20"}
    with PrivateServer(binaries=binaries_of(version), settings=settings) as server:
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            conn.execute(f"DO $$ BEGIN FOR n IN 1..{TABLES} LOOP EXECUTE 'CREATE TABLE t' || n || ' (a int)'; END LOOP; END $$")  # fmt: skip
            row = conn.execute("SELECT min(datfrozenxid::text::int8), current_setting('server_version_num')::int / 10000 FROM pg_database").fetchone()  # fmt: skip
            assert row is not None
        threshold = getattr(wraparound.transactions(f"pg{row[1]}", {}), limit)
        following = row[0] + threshold - 5
        server.stop()
        # the file with the status of these transactions: 4 per byte, 32 pages per file
        status = server.data / "pg_xact" / f"{following // (8192 * 4 * 32):04X}"
        status.write_bytes(bytes(8192 * 32))
        process.hand_over(server.folder)
        process.run(
            [server.binaries / "pg_resetwal", "-f", "-x", str(following), "-D", server.data],
            env=server._env,
            what="pg_resetwal",
        )
        server.start()
        with (
            psycopg.connect(server.conninfo()) as holder,
            psycopg.connect(server.conninfo(), autocommit=True) as conn,
        ):
            holder.execute(f"LOCK TABLE t{TABLES} IN SHARE UPDATE EXCLUSIVE MODE")
            messages: list[str] = []
            conn.add_notice_handler(lambda n: messages.append(n.message_primary or ""))
            for _ in range(50):
                age = conn.execute("SELECT max(age(datfrozenxid)) FROM pg_database").fetchone()
                assert age is not None
                if age[0] < threshold - 10:
                    return None
                messages.clear()
                consumed = xid_consumed(conn, messages)
                if (messages and limit == "warn") or not consumed:
                    if refused is not None:
                        refused(server)
                    return threshold, age[0], messages
    raise AssertionError(f"nothing was said until age {age[0]}, {limit} is {threshold}")


@pytest.mark.postgres
@pytest.mark.parametrize("version", ["15", "newest", "19"])
@pytest.mark.parametrize("limit", ["warn", "stop"])
def test_the_server_warns_and_refuses_at_these_ages(version: str, limit: str) -> None:
    found = next(filter(None, (messages_near_limit(version, limit) for _ in range(TRIES))), None)
    assert found is not None, "the forced VACUUM was always faster"
    threshold, age, messages = found
    assert age == threshold, messages
    assert any(("must be vacuumed" if limit == "warn" else "not accepting") in t for t in messages)


@pytest.mark.postgres
def test_the_audit_of_a_server_that_refuses_transactions(tmp_path: Path) -> None:
    """The first advice is to act now, and the VACUUM that it names runs in this state, while VACUUM FULL fails."""
    seen = []

    def look(server: PrivateServer) -> None:
        report = report_of(server.conninfo(), tmp_path / "s.gpcatalog")
        with psycopg.connect(server.conninfo(), autocommit=True) as conn:
            conn.execute("VACUUM pg_catalog.pg_proc")
            try:
                conn.execute("VACUUM FULL t1")
            except psycopg.errors.ProgramLimitExceeded:
                seen.append(rules.run(report)[0])

    # the forced VACUUM may end this state before VACUUM FULL runs
    for _ in range(TRIES):
        messages_near_limit("newest", "stop", look)
        if seen:
            break
    assert seen
    assert seen[-1].remedy.startswith(
        "act now, statements that write fail already: as superuser, run vacuumdb without --full and --freeze on "
    )
    assert "postgres" in seen[-1].remedy
