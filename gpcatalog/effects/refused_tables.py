"""Definitions and changes of tables that the server rejects (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.certain import is_certain, name_in_use, not_in
from gpcatalog.effects.equal_indexes import column_of
from gpcatalog.effects.expansion import levels_of
from gpcatalog.effects.keys import Key, fold, qualified
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.query_columns import columns_of
from gpcatalog.effects.refused_partitions import bound_problem
from gpcatalog.effects.relations import Table
from gpcatalog.effects.ties import names_are_written
from gpcatalog.model.storage import Storage

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


# --- elements of CREATE TABLE ---------------------------------------------------------------------


class Elements:
    """The columns and constraints in a CREATE TABLE or ALTER TABLE."""

    def __init__(self, elements: Iterable[exp.Expression]) -> None:
        self.columns: list[str] = []
        self.keys: list[tuple[bool, tuple[str, ...]]] = []  # whether primary, columns
        self.foreign: list[tuple[gx.ReferencesConstraint, tuple[str, ...]]] = []
        self.names: list[str] = []  # of constraints, as written
        for element in elements:
            if isinstance(element, exp.ColumnDef):
                self.column(element)
            elif isinstance(element, gx.TableConstraint):
                self.constraint(element)

    def column(self, element: exp.ColumnDef) -> None:
        """Add a column with its constraints."""
        name = fold(element.this)
        self.columns.append(name)
        for one in element.args.get("constraints") or ():
            wrapped = isinstance(one, exp.ColumnConstraint)
            found = one.args.get("kind") if wrapped else one
            given = one.args.get("this") if wrapped else None
            primary = isinstance(found, exp.PrimaryKeyColumnConstraint) or (
                isinstance(found, gx.KeyConstraint) and found.args["kind"] == "PRIMARY KEY"
            )
            unique = isinstance(found, exp.UniqueColumnConstraint) or (
                isinstance(found, gx.KeyConstraint) and found.args["kind"] == "UNIQUE"
            )
            if primary or unique:
                self.keys.append((primary, (name,)))
            elif isinstance(found, gx.ReferencesConstraint):
                self.foreign.append((found, (name,)))
            elif not isinstance(found, exp.CheckColumnConstraint | gx.CheckConstraint):
                continue
            if given is not None:
                self.names.append(fold(given))

    def constraint(self, element: exp.Expression) -> None:
        """Add a constraint of the table."""
        kind = element.args["kind"]
        if isinstance(kind, gx.KeyConstraint):
            if kind.args["kind"] not in ("PRIMARY KEY", "UNIQUE") or not kind.expressions:
                return  # NOT NULL, or USING INDEX
            columns = tuple(fold(c) for c in kind.expressions)
            self.keys.append((kind.args["kind"] == "PRIMARY KEY", columns))
        elif isinstance(kind, gx.ReferencesConstraint):
            self.foreign.append((kind, _names(kind.args.get("columns"))))
        elif not isinstance(kind, gx.CheckConstraint):
            return
        if element.args.get("this") is not None:
            self.names.append(fold(element.this))


def _names(nodes: Iterable[exp.Expression] | None) -> tuple[str, ...]:
    return tuple(fold(c if isinstance(c, exp.Identifier) else c.this) for c in nodes or ())


def _twice(names: Sequence[str]) -> str:
    return next((n for at, n in enumerate(names) if n in names[:at]), "")


def refused_table(state: SchemaState, tree: exp.Create) -> str:
    """Why the server rejects a CREATE TABLE."""
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    name = schema.this if schema is not None else tree.this
    properties = list(tree.args["properties"].expressions) if tree.args.get("properties") else []
    temporary = qualified(name)[0] == "pg_temp" or any(
        isinstance(p, exp.TemporaryProperty) for p in properties
    )
    if tree.args.get("exists") and (state.unsure or _may_exist(state, name)):
        return ""
    elements = schema.expressions if schema is not None else []
    if (query := tree.args.get("expression")) is not None:
        given = [fold(n.this if isinstance(n, exp.ColumnDef) else n) for n in elements]
        return output_twice(state, query, given) or ("" if temporary else _relation(state, name))
    found = Elements(elements)
    if twice := _twice(found.columns):
        return f"column {twice} is named twice"
    if sum(primary for primary, _ in found.keys) > 1:
        return "a table has one primary key only"
    if twice := _twice(found.names):
        return f"constraint {twice} is named twice"
    of = next((p for p in properties if isinstance(p, exp.PartitionedOfProperty)), None)
    complete = (
        of is None
        and not any(isinstance(e, gx.LikeClause) for e in elements)
        and not any(isinstance(p, exp.InheritsProperty | gx.OfType) for p in properties)
    )
    return (
        _clauses(state, properties, found, complete=complete)
        or next((why for r in found.foreign if (why := refused_reference(state, *r, name))), "")
        or (_partition(state, of, found, temporary=temporary) if of is not None else "")
        or (_relation(state, name) if not temporary else "")
    )


def output_twice(state: SchemaState, query: exp.Expression, given: list[str]) -> str:
    """A message if a new table or view of a query would have two columns of the same name; ""
    otherwise.

    given: names of its first columns
    """
    try:
        names = [c.name for c in columns_of(state, query)] if names_are_written(query) else []
    except Unknown:
        names = []
    twice = _twice([*given, *names[len(given) :]])
    return f"column {twice} is named twice" if twice else ""


def _may_exist(state: SchemaState, name: exp.Expression) -> bool:
    """Whether IF NOT EXISTS may find an object, which is not compared with the new one."""
    plain = qualified(name)[1]
    return (
        state.existing is not None
        or bool(state.created.get(plain))
        or any(Presence(state).permanent(qualified(name)[0], plain))
    )


def _relation(state: SchemaState, name: exp.Expression) -> str:
    """A message if a view, sequence or partition has the name of a new table; "" otherwise.
    `created` compares the name with tables.
    """
    key = state.new_name(name)
    if key[0] == "pg_catalog" and not qualified(name)[0]:
        return "search_path has no schema for new tables"
    return "" if key in state.tables else name_in_use(state, key)


def _clauses(
    state: SchemaState, properties: list[exp.Expression], found: Elements, *, complete: bool
) -> str:
    """What is wrong with keys, the partition key and the distribution key.

    complete: the statement contains all columns
    """
    for _, columns in found.keys:
        if complete and (missing := not_in(columns, found.columns)):
            return f"column {missing} of a key does not exist"
        if twice := _twice(columns):
            return f"column {twice} is twice in a key"
    if complete and (
        missing := next((m for _, c in found.foreign if (m := not_in(c, found.columns))), "")
    ):
        return f"column {missing} of a foreign key does not exist"
    partitioned = any(isinstance(p, gx.PartitionBy) for p in properties)
    for p in properties:
        if isinstance(p, gx.PartitionBy):
            if why := _partitioned(state, p, properties, found, complete=complete):
                return why
        elif isinstance(p, exp.DistributedByProperty) and (
            why := _distributed(p, found, complete=complete, partitioned=partitioned)
        ):
            return why
    return ""


def _partitioned(
    state: SchemaState,
    by: exp.Expression,
    properties: list[exp.Expression],
    found: Elements,
    *,
    complete: bool,
) -> str:
    levels = levels_of(by)
    keys = [k for level in levels for k in level.keys]
    if complete and (missing := not_in((k for k in keys if k), found.columns)):
        return f"column {missing} of the partition key does not exist"
    if not state.edition.greenplum:
        if state.edition.base >= 18 and any(
            isinstance(p, exp.UnloggedProperty) for p in properties
        ):
            return "a partitioned table cannot be unlogged"
        if levels[0].strategy == "list" and len(levels[0].keys) > 1:
            return "a list partition key has one column"
    for _, columns in found.keys:
        if why := without_key(columns, keys, classic=state.edition.classic):
            return why
    return ""


def without_key(columns: Sequence[str], keys: Sequence[str], *, classic: bool) -> str:
    """A message if a key of a partitioned table lacks a column of the partition key, or if the
    partition key is an expression; "" otherwise.
    """
    if not classic and "" in keys:
        return "a key of a table whose partition key is an expression"
    missing = not_in((k for k in keys if k), columns)
    return f"a key without column {missing} of the partition key" if missing else ""


def _distributed(by: exp.Expression, found: Elements, *, complete: bool, partitioned: bool) -> str:
    word = str(by.args["kind"])
    if word not in ("HASH", "RANDOM"):
        return "a replicated table cannot be partitioned" if partitioned else ""
    if word == "RANDOM" and found.keys:
        return "a key of a table that is distributed randomly"
    if word != "HASH":
        return ""
    keys = _names(by.expressions)
    if complete and (missing := not_in(keys, found.columns)):
        return f"column {missing} of the distribution key does not exist"
    if twice := _twice(keys):
        return f"column {twice} is twice in the distribution key"
    for _, columns in found.keys:
        if missing := not_in(keys, columns):
            return f"a key without column {missing} of the distribution key"
    return ""


# --- foreign keys ---------------------------------------------------------------------------------


def refused_reference(
    state: SchemaState,
    node: gx.ReferencesConstraint,
    columns: tuple[str, ...],
    own: exp.Expression | None = None,
) -> str:
    """What is wrong with a foreign key of these columns.

    own: the new table, which it may reference
    """
    if own is not None and qualified(own)[1] == qualified(node.this)[1]:
        return ""
    target = state.find(node.this)
    if (
        target is None
        or not is_certain(state, node.this, target)
        or node.args.get("period")
        or (state.edition.greenplum and (target.partitioned or target.levels))
    ):
        return ""
    key_columns = _names(node.expressions)
    if not key_columns:
        primary = next((k for k in target.indexes if k.like.startswith("primary key")), None)
        if primary is None:
            keys = node.root().find_all(gx.KeyConstraint)
            if any(key.args.get("kind") == "PRIMARY KEY" for key in keys):
                return ""  # the statement may add it before
            return f"{target.title} has no primary key to reference"
        key_columns = primary.simple if primary.like.endswith(" 0") else ()
        if not key_columns:
            return ""
    elif missing := not_in(key_columns, [c.name for c in target.columns]):
        return "" if missing == "oid" else f"column {missing} of {target.title} does not exist"
    if len(key_columns) != len(columns):
        return f"a foreign key of {len(columns)} columns to {len(key_columns)}"
    if not any(_may_be_unique(k, key_columns) for k in (*target.indexes, *target.only)):
        return f"no unique key of {target.title} has the columns ({', '.join(key_columns)})"
    return ""


def _may_be_unique(key: Key, columns: Sequence[str]) -> bool:
    """Whether an index may be the one that a foreign key to these columns needs; it may also have
    other columns.
    """
    unique = key.like.startswith(("primary key", "unique", "True", "?"))
    return unique and set(columns) <= set(key.simple)


# --- PARTITION OF and ATTACH ----------------------------------------------------------------------


def _partition(state: SchemaState, of: exp.Expression, found: Elements, *, temporary: bool) -> str:
    parent = state.find(of.this)
    if parent is None or not is_certain(state, of.this, parent):
        return ""
    if parent.temporary and not temporary:
        return f"a permanent partition of {parent.title}, which is temporary"
    names = [c.name for c in parent.columns]
    if missing := not_in(found.columns, names):
        return f"column {missing} of {parent.title} does not exist"
    if any(primary for primary, _ in found.keys) and has_primary(parent):
        return "a table has one primary key only"
    return bound_problem(state, parent, of.args.get("expression"))


def has_primary(table: Table) -> bool:
    """Whether a table has a primary key."""
    return any(k.like.startswith("primary key") for k in table.indexes)


# --- CREATE INDEX ---------------------------------------------------------------------------------


def refused_index(state: SchemaState, tree: exp.Create) -> str:
    """Why the server rejects a CREATE INDEX."""
    target = tree.this.args["table"]
    table = state.find(target)
    if table is None or not is_certain(state, target, table):
        return ""
    name = fold(tree.this.args.get("this"))
    exists = any(k.name == name for k in (*table.indexes, *table.only))
    if name and (exists or name_in_use(state, (table.schema, name))):
        return "" if tree.args.get("exists") else f"{name} exists"
    body = tree.this.args["params"]
    columns = {c.name for c in table.columns} | {"oid"}
    simple = []
    for element in (*body.args["columns"], *(body.args.get("include") or ())):
        column = column_of(element.this)
        if column is not None and column not in columns:
            return f"column {column} of {table.title} does not exist"
        simple.append(column)
    del simple[len(body.args["columns"]) :]
    unique = bool(tree.this.args.get("unique"))
    if table.levels and not state.edition.classic:
        if tree.args.get("concurrently"):
            return "CREATE INDEX CONCURRENTLY of a partitioned table"
        keys = [k for level in table.levels for k in level.keys]
        if unique and (why := without_key([c for c in simple if c], keys, classic=False)):
            return why
    if unique and table.distribution == "random":
        return "a unique index of a table that is distributed randomly"
    if unique and table.distribution == "hash":
        missing = not_in(table.distribution_keys, [c for c in simple if c])
        if missing:
            return f"a unique index without column {missing} of the distribution key"
    stored = {table.storage, *(p.storage for p in table.relations())}
    if unique and state.edition.classic and stored <= {Storage.AO_ROW, Storage.AO_COLUMN}:
        return "a unique index of an append-optimized table"
    return ""
