"""The privileges that a role needs.

Every GRANT that doctor prints makes its section readable, and the table in docs/operations.md agrees with the results here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import psycopg
import pytest

from gpcatalog.doctor.result import Doctor
from gpcatalog.probes.collect import collect
from gpcatalog.probes.connection import connect
from gpcatalog.services.examination import examine
from gpcatalog.store.snapshot import Snapshot
from tests.conftest import fresh_database
from tests.probes import zoo

PAGE = Path(__file__).parent.parent.parent / "docs/operations.md"
SERVERS = {
    "gp6_dsn": "Greenplum 6",
    "gp7_dsn": "Greenplum 7",
    "pg_dsn": "PostgreSQL 15",
    "pgnew_dsn": "PostgreSQL 18",
}
# section of doctor → probes of an audit that read it
PROBES = {
    "files and their bytes": ("relation_files",),
    "size of pg_statistic": ("catalog_widths pg_statistic", "segment_catalog_rows pg_statistic"),
}


@pytest.fixture(params=SERVERS)
def place(request: pytest.FixtureRequest) -> tuple[str, str, str]:
    """Name of the server, conninfo of its superuser, conninfo of a role with no privilege except CONNECT."""
    dsn = fresh_database(request.getfixturevalue(request.param), "privileges")
    with psycopg.connect(dsn, autocommit=True) as conn:
        zoo.make(conn)
        for role in ("no_grants",):
            if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                conn.execute(f"DROP OWNED BY {role}")
                conn.execute(f"DROP ROLE {role}")
            conn.execute(f"CREATE ROLE {role} LOGIN")
    return SERVERS[request.param], dsn, re.sub(r"user=\w+", "user=no_grants", dsn)


def _seen(dsn: str, tmp_path: Path, name: str) -> tuple[Doctor, dict[str, str]]:
    """The result of doctor for a role, and the status of each probe of an audit with this role."""
    with connect(dsn) as session:
        found = examine(session)
        path = collect(session, tmp_path / f"{name}.gpcatalog")
    with Snapshot(path) as snapshot:
        return found, {
            r["probe"]: r["status"] for r in snapshot.rows("SELECT probe, status FROM coverage")
        }


def _statuses(section: str, coverage: dict[str, str]) -> set[str]:
    return {
        status
        for probe, status in coverage.items()
        if any(probe == p or (p.endswith(" ") and probe.startswith(p)) for p in PROBES[section])
    }


def _needs(section: str, before: Doctor) -> str:
    """A cell of the documented table."""
    found = next(s for s in before.sections if s.name == section)
    if found.open:
        return "CONNECT"
    if not found.grant:
        return "superuser"
    kind = [
        re.sub(r"^GRANT (.*) TO no_grants;.*|^(CREATE EXTENSION \w+);.*", r"\1\2", g)
        .replace("FUNCTION ", "")
        .replace("pg_catalog.", "")
        for g in found.grant
    ]
    return ", ".join(f"`{k}`" for k in kind)


def test_grants_open_what_they_say(place: tuple[str, str, str], tmp_path: Path) -> None:
    server, admin, plain = place
    before, closed = _seen(plain, tmp_path, "before")
    for section in before.sections:
        if section.name in PROBES:
            assert (_statuses(section.name, closed) <= {"read"}) == section.open, (section, closed)
    with psycopg.connect(admin, autocommit=True) as conn:
        for section in before.sections:
            for grant in section.grant:
                if grant.startswith("GRANT"):
                    conn.execute(grant.encode())
    after, opened = _seen(plain, tmp_path, "after")
    for was, now in zip(before.sections, after.sections, strict=True):
        assert was.name == now.name
        if any(g.startswith("GRANT") for g in was.grant):
            assert now.open, now
        if now.name in PROBES:
            assert (_statuses(now.name, opened) <= {"read"}) == now.open, (now, opened)
    _table(server, before)


def _table(server: str, before: Doctor) -> None:
    """Check the documented column for this server; GPCATALOG_TEST_UPDATE=1 writes it again."""
    text = PAGE.read_text()
    found = re.search(r"(## Required privileges\n.*?\n)(\| section \|.*?\n)\n", text, re.S)
    assert found is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[2].splitlines()]
    column = rows[0].index(server)
    documented = {row[0]: row[column] for row in rows[2:]}
    seen = {s.name: _needs(s.name, before) for s in before.sections}
    if os.environ.get("GPCATALOG_TEST_UPDATE"):
        names = [row[0] for row in rows[2:]]
        for name in seen:
            if name not in names:
                rows.append([name] + ["–"] * (len(rows[0]) - 1))
        for row in rows[2:]:
            row[column] = seen.get(row[0], "–")
        table_text = "".join("| " + " | ".join(row) + " |\n" for row in rows)
        PAGE.write_text(text.replace(found[2], table_text))
        return
    assert {name: cell for name, cell in documented.items() if cell != "–"} == seen
