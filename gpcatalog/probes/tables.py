"""Tables named by a user, and the code of their owners that a statement on them could run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.model.names import qualified, split_name
from gpcatalog.probes import library
from gpcatalog.probes.connection import ProbeFailed, Session


@dataclass(frozen=True)
class TableName:
    """One table of the session's database."""

    oid: int
    schema: str
    name: str

    @property
    def text(self) -> str:
        """Schema and name, as in messages."""
        return f"{self.schema}.{self.name}"


def named(session: Session, text: str) -> TableName:
    """Return the one table with the name `text` in SQL notation, with or without its schema.

    Raises CatalogError (2) if no table or more than one has this name, (3) if the catalogs cannot
    be read.
    """
    schema, name = split_name(text)
    statement = library.probe("table_named", session.server).statement()
    try:
        found = session.query(statement, [name, schema, schema])
    except ProbeFailed as e:
        raise CatalogError(
            f"cannot look up {text}: {e.reason}", exit_code=Exit.UNREACHABLE
        ) from None
    if len(found) == 1:
        return TableName(found[0]["oid"], found[0]["schema"], found[0]["name"])
    place = session.target["dbname"]
    if not found:
        raise CatalogError(
            f"there is no table {text} in {place}",
            hint="give it as schema.table; in psql, \\dt *.* lists all tables",
        )
    schemas = ", ".join(row["schema"] for row in found[:5])
    raise CatalogError(
        f"several schemas of {place} have a table {text}: {schemas}",
        hint="give it as schema.table",
    )


def reachable_functions(session: Session, oid: int) -> list[dict[str, str]]:
    """Return the functions that a query on this table and its partitions can run: function, owner,
    risk.

    Raises ProbeFailed.
    """
    return session.rows("reachable_code", root=str(oid), ddl="false")


def refuse_planning(session: Session, table: TableName) -> None:
    """Raise CatalogError (4) unless planning a query on this table can run no code that a user has
    defined.

    The planner evaluates expressions of indexes, constraints, statistics and policies. Therefore a
    query that names the table is enough to run such code.
    """
    with _checking(table):
        powers = session.rows("role_powers")[0]["powers"]
        functions = reachable_functions(session, table.oid)
    if powers:
        raise CatalogError(
            f"planning can run functions of the owner of {table.text} with the privileges of this"
            f" session ({powers})",
            hint="connect as the owner of the table, or as a role without these privileges",
            exit_code=Exit.REFUSED,
        )
    if functions:
        raise CatalogError(
            f"planning a query on {table.text} could run {_first(functions)}",
            hint="gpcatalog plans queries only on tables that do not use user-defined functions",
            exit_code=Exit.REFUSED,
        )


def countable(session: Session, table: TableName) -> set[str]:
    """Return the qualified names of the partitions whose rows can be counted without running code
    of another role.

    Raises CatalogError (4) if counting could run code of a role that is neither a superuser nor
    this role.

    Only the owner of a table can add an index or constraint to it, and only the owner of its schema
    can replace it by another table of the same name. If all of these are superusers or this role,
    nothing can change between this check and the count. For other owners, a role with special
    privileges is refused.
    """
    with _checking(table):
        powers = session.rows("role_powers")[0]["powers"]
        trusted = {row["role"] for row in session.rows("trusted_roles")}
        tree = session.rows("migration_tree", root=str(table.oid))
        owners = {row["owner"] for row in tree}
        schemas = {row["schema"] for row in tree}
        renamers = {
            row["owner"]: row["schema"]
            for row in session.rows("schema_owners")
            if row["schema"] in schemas
        }
        functions = [
            row
            for row in reachable_functions(session, table.oid)
            if row["owner"] not in trusted or row["risk"] == "side effects"
        ]
    others = sorted(owners - trusted)
    if powers and others:
        raise CatalogError(
            f"counting rows of {table.text} can run functions of its owner {others[0]} with the"
            f" privileges of this session ({powers})",
            hint=f"connect as {others[0]}, or run migrate without --count",
            exit_code=Exit.REFUSED,
        )
    for owner in sorted(renamers.keys() - trusted) if powers else ():
        raise CatalogError(
            f"{owner}, the owner of schema {renamers[owner]}, can replace table {table.text}"
            f" while its rows are counted with the privileges of this session ({powers})",
            hint="connect as the owner of the table, or run migrate without --count",
            exit_code=Exit.REFUSED,
        )
    if functions and (powers or others):
        raise CatalogError(
            f"counting rows of {table.text} could run {_first(functions)}",
            hint="connect as the owner of the table, or run migrate without --count",
            exit_code=Exit.REFUSED,
        )
    return {qualified(row["schema"], row["name"]) for row in tree}


@contextlib.contextmanager
def _checking(table: TableName) -> Iterator[None]:
    try:
        yield
    except ProbeFailed as e:
        raise CatalogError(
            f"cannot check {table.text}: {e.reason}", exit_code=Exit.REFUSED
        ) from None


def _first(functions: list[dict[str, str]]) -> str:
    more = f" and {len(functions) - 1} more" if len(functions) > 1 else ""
    return f"{functions[0]['function']} of {functions[0]['owner']}{more}"
