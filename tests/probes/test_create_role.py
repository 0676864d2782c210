"""`doctor --create-role` for roles that exist: a superuser is refused, and the script states what it changes of another role."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import fresh_database
from tests.test_cli import one_message, run

SERVERS = ("gp6_dsn", "gp7_dsn", "pg_dsn", "pgnew_dsn")
ROLES = ("w1_plain", "w1_owner", "w1_member", "w1_super")


@pytest.fixture(params=SERVERS)
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with roles of every kind, as the conninfo of its superuser."""
    conninfo = fresh_database(request.getfixturevalue(request.param), "roles")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for role in ROLES:
            conn.execute(f"CREATE ROLE {role} LOGIN")
        conn.execute("ALTER ROLE w1_super SUPERUSER")
        conn.execute("GRANT w1_super TO w1_member")
        conn.execute("CREATE TABLE of_owner (a int)")
        conn.execute("ALTER TABLE of_owner OWNER TO w1_owner")
    yield conninfo
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("DROP SCHEMA IF EXISTS gpcatalog_monitor CASCADE")
        for role in ROLES:
            conn.execute(f"DROP OWNED BY {role}")
            conn.execute(f"DROP ROLE {role}")


def printed(dsn: str, role: str) -> tuple[str, str]:
    """The comment at the beginning of the script, and the script."""
    result = run("doctor", dsn, "--create-role", role)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split("\n\n")[0], result.stdout


def test_roles_that_exist(dsn: str) -> None:
    one_message(
        run("doctor", dsn, "--create-role", "w1_super"), 2, "w1_super exists and is a superuser"
    )
    head, script = printed(dsn, "w1_plain")
    assert "Role w1_plain exists already and is not a superuser." in head
    assert "default_transaction_read_only = on" in head
    assert "WARNING" not in head
    assert "cannot read user tables" not in head
    assert "DROP OWNED BY" not in head
    head, _ = printed(dsn, "w1_owner")
    assert "WARNING: w1_owner owns 1 object," in head
    assert "member of" not in head
    head, _ = printed(dsn, "w1_member")
    assert "WARNING: w1_member is a member of a superuser (w1_super)" in head
    assert "owns" not in head
    head, _ = printed(dsn, "w1_new")
    assert head.startswith("-- Role w1_new for gpcatalog on ")
    assert "exists" not in head
    with psycopg.connect(dsn, autocommit=True) as conn:
        # the script also refuses a role that became a superuser after it was printed
        conn.execute("ALTER ROLE w1_plain SUPERUSER")
        with pytest.raises(psycopg.Error, match="the role is a superuser here"):
            conn.execute(script.encode())
        conn.execute("ROLLBACK")
        found = conn.execute("SELECT rolconfig FROM pg_roles WHERE rolname = 'w1_plain'").fetchone()
        assert found == (None,)
        conn.execute("ALTER ROLE w1_plain NOSUPERUSER")
        conn.execute(script.encode())
        found = conn.execute("SELECT rolconfig FROM pg_roles WHERE rolname = 'w1_plain'").fetchone()
        assert found == (["default_transaction_read_only=on"],)


@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("", "--create-role: '' is not a valid role name"),
        ("  ", "is not a valid role name"),
        ("public", "the role name public is reserved"),
        ("none", "the role name none is reserved"),
        ("pg_monitor", "the role name pg_monitor is reserved"),
        ("x" * 64, "the role name is longer than 63 bytes"),
        ("é" * 32, "the role name is longer than 63 bytes"),
        ("a$gpcatalog$b", "is not a valid role name"),
    ],
)
def test_names_that_are_refused(role: str, message: str) -> None:
    """Before a server is contacted."""
    one_message(run("doctor", "host=no-such-host.invalid", "--create-role", role), 2, message)


def test_the_longest_timeouts(dsn: str) -> None:
    """The server accepts the limits that the options have."""
    longest = ("--statement-timeout", "2147483.647", "--lock-timeout", "2147483.647")
    result = run("doctor", dsn, *longest)
    assert (result.returncode, result.stderr) == (0, "")
