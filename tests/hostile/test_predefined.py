"""Domains that belong to predefined roles: a member of such a role can add a check, which a superuser would run.

pg_shdepend records no owner for objects of roles that initdb created.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made

SERVERS = ("gp7_dsn", "pg12_dsn", "pg_dsn", "pgnew_dsn")
MEMBER = "predefined_member"


@pytest.mark.parametrize("owner", ["pg_monitor", "pg_database_owner"])
@pytest.mark.parametrize("fixture", SERVERS)
def test_domain_of_a_predefined_role(
    fixture: str, owner: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_predefined")
    if not made.fetch(dsn, f"SELECT 1 FROM pg_roles WHERE rolname = '{owner}'"):
        pytest.skip(f"this server has no role {owner}")
    made.roles(dsn, MEMBER)
    made.execute(
        dsn,
        "ALTER DATABASE mig_predefined OWNER TO " + MEMBER
        if owner == "pg_database_owner"
        else f"GRANT {owner} TO {MEMBER}",
        "CREATE DOMAIN word AS text",
        "CREATE TABLE t (day date, id int, v text CHECK (v::word <> '')) PARTITION BY RANGE (day)",
        "DO $$ BEGIN FOR n IN 0..9 LOOP EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM (%L) TO (%L)',"
        " n, date '2020-01-01' + n, date '2020-01-01' + n + 1); END LOOP; END $$",
        "INSERT INTO t SELECT date '2020-01-01' + g % 10, g, 'a' FROM generate_series(1, 50) g",
        f"GRANT CREATE ON SCHEMA public TO {owner}",
    )
    files = made.written(dsn, tmp_path / "sql", made.plan_of(dsn))
    (name,) = files.forward()
    files.run("0000_prepare.sql")
    made.execute(dsn, f"ALTER DOMAIN word OWNER TO {owner}")
    done = files.run(name, check=False)
    assert done.returncode != 0
    assert "code of another role with the rights of a superuser" in done.stderr, done.stderr
    made.execute(dsn, "ALTER DOMAIN word OWNER TO CURRENT_USER")
    if owner != "pg_database_owner":  # other tests use the same roles
        made.execute(dsn, f"REVOKE {owner} FROM {MEMBER}")
    files.run(name)
