"""Views and foreign keys of the script that depend on a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.keys import fold

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

Name = tuple[str, str]  # (schema, name)


@dataclass
class Ties:
    """Dependencies of relations that were created; the schema state shows which of them still
    exist.

    views: by relation, the views that read it, with the columns that they certainly read
    referenced: tables that a foreign key has referenced
    named: views whose column names are those that are written
    not_counted: rows of other catalogs that are not counted for the current statement
    routine_names: names of types of arguments and results of functions, and all names in bodies
        that are parsed when the function is created
    column_types: names of types of columns, as written, also those of arrays
    """

    views: dict[Name, dict[Name, frozenset[str]]] = field(default_factory=dict)
    referenced: set[Name] = field(default_factory=set)
    named: set[Name] = field(default_factory=set)
    not_counted: list[str] = field(default_factory=list)
    routine_names: set[str] = field(default_factory=set)
    column_types: set[str] = field(default_factory=set)

    def read(
        self,
        view: Name,
        reads: frozenset[Name],
        query: exp.Expression | None,
        *,
        named: bool = False,
    ) -> None:
        """Record a new view.

        reads: all names in its query; named: names are given for its columns
        """
        if query is not None and (named or names_are_written(query)):
            self.named.add(view)
        else:
            self.named.discard(view)
        # a name in WITH may hide a table
        if query is None or query.find(exp.CTE) is not None:
            return
        columns = _columns(query) if len(reads) == 1 else frozenset()
        for relation in reads:
            self.views.setdefault(relation, {})[view] = columns

    def read_sequences(self, view: Name, sequences: frozenset[Name]) -> None:
        """Record the sequences that a new view names."""
        for sequence in sequences:
            self.views.setdefault(sequence, {})[view] = frozenset()

    def forget_columns(self, relation: Name) -> None:
        """Remove the columns known for the views of a relation, because one of its columns was
        renamed.
        """
        for view in self.views.get(relation, {}):
            self.views[relation][view] = frozenset()

    def reading(self, state: SchemaState, relation: Name) -> list[tuple[Name, frozenset[str]]]:
        """The existing views that read a relation."""
        found = []
        for view, columns in self.views.get(relation, {}).items():
            table = state.tables.get(view)
            known = state.views.get(view)
            reads = (
                known.reads
                if known is not None and known.columns is not None
                else table.reads
                if table is not None and not table.uncounted
                else ()
            )
            if relation in reads:
                found.append((view, columns))
        return found


def type_names(tree: exp.Expression) -> set[Name]:
    """Types that are not built in, in a statement; the schema is "" if none is written."""
    found = set()
    for node in tree.find_all(exp.DataType):
        kind = node.args.get("kind")
        schema = ""
        if isinstance(kind, exp.Dot):
            schema, kind = fold(kind.this), kind.expression
        if isinstance(kind, exp.Identifier):
            found.add((schema, fold(kind)))
    return found


def names_are_written(query: exp.Expression) -> bool:
    """Whether all columns of a query are columns of tables or have an alias; the server generates
    names for others.
    """
    while isinstance(query, exp.Union | exp.Except | exp.Intersect | exp.Subquery):
        query = query.this
    return isinstance(query, exp.Select) and all(
        isinstance(target, exp.Column | exp.Star | exp.Alias) for target in query.expressions
    )


def _columns(query: exp.Expression) -> frozenset[str]:
    """Columns that a query of one relation certainly reads: those of its output and of WHERE."""
    if not isinstance(query, exp.Select) or sum(1 for _ in query.find_all(exp.Table)) != 1:
        return frozenset()
    if query.find(exp.Subquery) is not None:
        return frozenset()
    places = [*query.expressions, query.args.get("where")]
    return frozenset(
        fold(c.this)
        for place in places
        if place is not None
        for c in place.find_all(exp.Column)
        if isinstance(c.this, exp.Identifier)
    )


def keys_of_partitions(state: SchemaState, table: Table) -> bool:
    """Whether the foreign keys of a table or of a table above it, or foreign keys that reference
    these tables, have rows for partitions.
    """
    one: Table | None = table
    while one is not None:
        if one.foreign and (
            _divided(one) or any(_divided(state.tables.get(key.target)) for key in one.foreign)
        ):
            return True
        if _divided(one) and (one.schema, one.name) in state.ties.referenced:
            return True
        one = state.tables.get(one.parent) if one.parent is not None else None
    return False


def _divided(table: Table | None) -> bool:
    """Whether a table has partitions, is a partition, or is unknown."""
    return table is None or bool(table.partitioned or table.levels or table.parent)
