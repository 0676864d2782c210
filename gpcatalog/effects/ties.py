"""Views and foreign keys of the script that depend on a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.keys import Reading, fold

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState
    from gpcatalog.effects.signatures import Declared, Types

Name = tuple[str, str]  # (schema, name)


@dataclass
class Ties:
    """Dependencies of relations that were created; the schema state shows which of them still
    exist.

    views: by relation, names that views which read it have or had
    referenced: tables that a foreign key has referenced
    not_counted: rows of other catalogs that are not counted for the current statement
    routine_names: names of types of arguments and results of functions, and all names in bodies
        that are parsed when the function is created
    column_types: names of types of columns, as written, also those of arrays
    type_users: by the name of a type that is not built in, tables that have had a column of it
    sequence_users: by the name of a sequence without its schema, tables that have had a default
        that names it
    routines: functions of the script, with the names of the types of their arguments and results;
        those that may have been dropped are removed
    declared: declarations of these functions, by the types of their arguments
    committed_types: types that the script had when the open transaction began
    types_lost: types of the script may have been dropped by CASCADE
    casts, classes: whether the script has created a conversion between types, or a class of
        operators
    constraint_triggers: whether it has created a constraint trigger, which is a constraint, too
    """

    views: dict[Name, set[Name]] = field(default_factory=dict)
    referenced: set[Name] = field(default_factory=set)
    not_counted: list[str] = field(default_factory=list)
    routine_names: set[str] = field(default_factory=set)
    column_types: set[str] = field(default_factory=set)
    type_users: dict[str, list[Table]] = field(default_factory=dict)
    sequence_users: dict[str, list[Table]] = field(default_factory=dict)
    routines: dict[Name, frozenset[str]] = field(default_factory=dict)
    declared: dict[Name, dict[Types, Declared]] = field(default_factory=dict)
    committed_types: frozenset[str] = frozenset()
    types_lost: bool = False
    casts: bool = False
    classes: bool = False
    constraint_triggers: bool = False

    def index(self, view: Name, reads: Iterable[Name]) -> None:
        """Record that a view names these relations or sequences."""
        for relation in reads:
            self.views.setdefault(relation, set()).add(view)

    def undo(self) -> None:
        """Forget what statements that were rolled back may have added."""
        self.routines.clear()

    def renamed(self, old: Name, new: Name) -> None:
        """Note that a relation or view has another name."""
        self.views.setdefault(new, set()).update(self.views.get(old, ()))
        for views in self.views.values():
            if old in views:
                views.add(new)

    def use_type(self, table: Table, name: str) -> None:
        """Record that a column of a table has a type of this name; "" is ignored."""
        users = self.type_users.setdefault(name, []) if name else None
        if users is not None and not any(one is table for one in users[-1:]):
            users.append(table)

    def use_sequences(self, table: Table, names: frozenset[str]) -> None:
        """Record that a default of a table names sequences, as written."""
        for name in names:
            plain = name.rpartition(".")[2].strip('"').replace('""', '"')
            users = self.sequence_users.setdefault(plain, [])
            if not any(one is table for one in users[-1:]):
                users.append(table)

    def rename_column(self, state: SchemaState, relation: Name, old: str, new: str) -> None:
        """Note the new name of a column in the views of its table."""
        for view in self.views.get(relation, ()):
            table, known = state.tables.get(view), state.views.get(view)
            if known is not None:
                reading = known.reading.with_column(relation, old, new)
                state.views[view] = replace(known, reading=reading)
            if table is not None:
                table.reading = table.reading.with_column(relation, old, new)

    def reading(self, state: SchemaState, relation: Name) -> list[Name]:
        """The existing views that certainly read a relation."""
        return [
            view
            for view, reading in self.readers(state, relation)
            if reading.sure or relation in reading.relations
        ]

    def readers(self, state: SchemaState, relation: Name) -> list[tuple[Name, Reading]]:
        """The existing views that name a relation."""
        found = []
        for view in sorted(self.views.get(relation, ())):
            table, known = state.tables.get(view), state.views.get(view)
            if known is not None and known.columns is not None:
                reads, reading = known.reads, known.reading
            elif table is not None and not table.uncounted and not table.may_have_lost:
                reads, reading = table.reads, table.reading
            else:
                continue
            if relation in reads:
                found.append((view, reading))
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


def source_of(query: exp.Select) -> exp.Table | None:
    """The only relation that a query reads, if all its columns are columns of this relation under
    their own names.
    """
    if any(query.args.get(part) for part in ("joins", "laterals", "with_")):
        return None
    sources = list(query.find_all(exp.Table))
    if len(sources) != 1 or not isinstance(sources[0].parent, exp.From):
        return None
    if sum(1 for _ in query.find_all(exp.Query)) > 1:
        return None
    alias = sources[0].args.get("alias")
    renames = alias is not None and (
        not isinstance(alias, exp.TableAlias) or alias.args.get("columns")
    )
    return None if renames else sources[0]


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
