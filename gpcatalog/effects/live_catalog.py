"""The catalog that a check looks up existing tables in: the tables of a baseline, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table


class BaselineError(CatalogError):
    """The baseline cannot be read."""


class LiveCatalog(Protocol):
    """The existing tables of a baseline; names are those on the server before the script.

    Methods raise BaselineError.
    """

    def schemas_of(self, name: str) -> list[str]:
        """Schemas that have a table or partition of that name."""
        ...

    def tables_in(self, schema: str) -> list[str]:
        """Names of the tables and partitions in a schema, without the partitions of tables in
        it.
        """
        ...

    def table(self, schema: str, name: str) -> Table | None:
        """A table that is not a partition."""
        ...

    def root_of(self, schema: str, name: str) -> tuple[str, str] | None:
        """(schema, name) of the table that a partition belongs to."""
        ...

    def owner_of_index(self, name: str) -> list[tuple[str, str]]:
        """Tables with an index of that name."""
        ...

    def referencing(self, schema: str, name: str) -> list[tuple[str, str]]:
        """Tables with a foreign key to a table, or that inherit from it."""
        ...

    def reading_schema(self, schema: str) -> list[tuple[str, str]]:
        """Materialized views that read a relation of that schema."""
        ...

    def reading(self, schema: str, name: str) -> list[tuple[str, str]]:
        """Materialized views that read a relation."""
        ...
