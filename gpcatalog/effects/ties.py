"""Views and foreign keys of the script that depend on a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.keys import fold

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

Name = tuple[str, str]  # (schema, name)


@dataclass
class Ties:
    """Ties of relations that were created; the schema state shows which of them still exist.

    views: by the relation that is read, the views that read it with the columns that they surely
           read
    referenced: tables that a foreign key has named
    named: views whose columns have the names that are written
    """

    views: dict[Name, dict[Name, frozenset[str]]] = field(default_factory=dict)
    referenced: set[Name] = field(default_factory=set)
    named: set[Name] = field(default_factory=set)

    def read(
        self,
        view: Name,
        reads: frozenset[Name],
        query: exp.Expression | None,
        *,
        named: bool = False,
    ) -> None:
        """A view was made. reads: all names in its query; named: its columns were given names"""
        if query is not None and (named or names_are_written(query)):
            self.named.add(view)
        else:
            self.named.discard(view)
        # a name of WITH may hide a table
        if query is None or query.find(exp.CTE) is not None:
            return
        columns = _columns(query) if len(reads) == 1 else frozenset()
        for relation in reads:
            self.views.setdefault(relation, {})[view] = columns

    def forget_columns(self, relation: Name) -> None:
        """A column of it got another name."""
        for view in self.views.get(relation, {}):
            self.views[relation][view] = frozenset()

    def reading(self, state: SchemaState, relation: Name) -> list[tuple[Name, frozenset[str]]]:
        """The views that read a relation now."""
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


def names_are_written(query: exp.Expression) -> bool:
    """Whether all columns of a query are columns of tables or have an alias; the server makes names
    for others.
    """
    while isinstance(query, exp.Union | exp.Except | exp.Intersect | exp.Subquery):
        query = query.this
    return isinstance(query, exp.Select) and all(
        isinstance(target, exp.Column | exp.Star | exp.Alias) for target in query.expressions
    )


def _columns(query: exp.Expression) -> frozenset[str]:
    """Columns that a query of one relation surely reads: those of its output and of WHERE."""
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
