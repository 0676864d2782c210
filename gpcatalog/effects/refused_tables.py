"""Definitions and changes of tables that the server rejects (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.casts import different_types, not_comparable, without_class
from gpcatalog.effects.certain import (
    created_before,
    is_certain,
    name_in_use,
    not_in,
    type_in_use,
)
from gpcatalog.effects.definition import copies
from gpcatalog.effects.expansion import SERIAL, catalog_type, levels_of, options_of
from gpcatalog.effects.keys import Column, Key, fold, qualified
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.query_columns import columns_of
from gpcatalog.effects.refused_commands import refused_partition_list
from gpcatalog.effects.refused_distribution import (
    by_enum,
    refused_clause,
    without_common_column,
)
from gpcatalog.effects.refused_options import (
    refused_fillfactor,
    refused_lengths,
    refused_storage,
)
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
        self.contradiction = ""  # what is wrong with one column, whatever the others are
        self.checks: list[exp.Expression] = []  # CHECK and expressions of computed columns
        self.formulas: list[exp.Expression] = []  # expressions of computed columns
        self.computed: set[str] = set()
        self.encoded: list[str] = []  # columns with ENCODING
        self.null_keys: list[str] = []  # columns with NULL and PRIMARY KEY
        for element in elements:
            if isinstance(element, exp.ColumnDef):
                self.column(element)
            elif isinstance(element, gx.TableConstraint):
                self.constraint(element)

    def column(self, element: exp.ColumnDef) -> None:
        """Add a column with its constraints."""
        name = fold(element.this)
        self.columns.append(name)
        self._values(element, name)
        nullable = any(
            n.args.get("allow_null") for n in element.find_all(exp.NotNullColumnConstraint)
        )
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
                if primary and nullable:
                    self.null_keys.append(name)
            elif isinstance(found, gx.ReferencesConstraint):
                self.foreign.append((found, (name,)))
            elif isinstance(found, exp.CheckColumnConstraint | gx.CheckConstraint):
                self.checks.append(found.this)
            else:
                continue
            if given is not None:
                self.names.append(fold(given))

    def _values(self, element: exp.ColumnDef, name: str) -> None:
        """Add what one column is computed from, and note clauses that contradict each other."""
        clauses = [
            one.args.get("kind") if isinstance(one, exp.ColumnConstraint) else one
            for one in element.args.get("constraints") or ()
        ]
        kind = element.args.get("kind")
        nulls = {
            bool(c.args.get("allow_null"))
            for c in clauses
            if isinstance(c, exp.NotNullColumnConstraint)
        }
        values = 1 if isinstance(kind, exp.DataType) and kind.this in SERIAL else 0
        for clause in clauses:
            if isinstance(clause, exp.DefaultColumnConstraint):
                values += 1
                if isinstance(clause.this, exp.Column) and not clause.this.args.get("table"):
                    self.contradiction = f"the default of column {name} is a column"
            elif isinstance(clause, gx.GeneratedConstraint):
                values += 1
                if clause.args.get("identity"):
                    nulls.add(False)
                    if kind is not None and catalog_type(kind)[0] in _NOT_FOR_IDENTITY:
                        self.contradiction = f"identity column {name} is not of an integer type"
                elif clause.this is not None:
                    self.checks.append(clause.this)
                    self.formulas.append(clause.this)
                    self.computed.add(name)
            elif isinstance(clause, gx.EncodingConstraint):
                self.encoded.append(name)
        if len(nulls) > 1:
            self.contradiction = f"column {name} is NULL and NOT NULL"
        if values > 1:
            self.contradiction = f"column {name} has two defaults"

    def of_computed(self) -> str:
        """A computed column that another one is computed from; "" if there is none."""
        return next((n for node in self.formulas for n in read_columns(node) & self.computed), "")

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
        elif isinstance(kind, gx.CheckConstraint):
            self.checks.append(kind.this)
        else:
            return
        if element.args.get("this") is not None:
            self.names.append(fold(element.this))


SYSTEM_COLUMNS = frozenset("oid tableoid ctid xmin cmin xmax cmax gp_segment_id".split())


def read_columns(node: exp.Expression | None) -> set[str]:
    """The columns that an expression without subqueries reads, if they are written without a table;
    those that every table has are left out.
    """
    found = node.find_all(exp.Column) if node is not None else ()
    names = {
        fold(c.this)
        for c in found
        if isinstance(c.this, exp.Identifier) and not c.args.get("table")
    }
    return names - SYSTEM_COLUMNS


def not_a_parent(state: SchemaState, parent: Table, *, temporary: bool = True) -> str:
    """Why no table can inherit from this one. temporary: the new table is temporary"""
    if parent.temporary and not temporary:
        return f"{parent.title} is temporary"
    if state.edition.classic:
        column = parent.storage is Storage.AO_COLUMN and not parent.levels
        return f"{parent.title} is column-oriented" if column else ""
    if parent.partitioned or parent.levels:
        return f"{parent.title} is partitioned"
    return f"{parent.title} is a partition" if parent.parent is not None else ""


_NOT_FOR_IDENTITY = frozenset("text varchar bpchar date timestamp timestamptz bool uuid".split())


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
    if found.contradiction:
        return found.contradiction
    if found.null_keys and state.edition.base >= 18:
        return f"column {found.null_keys[0]} is NULL and part of the primary key"
    excludes = any(isinstance(e.args.get("kind"), gx.ExcludeConstraint) for e in elements)
    if excludes and state.edition.classic:
        return "Greenplum 6 has no exclusion constraints"
    if why := refused_lengths(state, elements) or _options(state, properties, elements, found):
        return why
    of = next((p for p in properties if isinstance(p, exp.PartitionedOfProperty)), None)
    complete = (
        of is None
        and not any(isinstance(e, gx.LikeClause) for e in elements)
        and not any(isinstance(p, exp.InheritsProperty | gx.OfType) for p in properties)
    )
    types = _types(state, elements)
    parents = next((p for p in properties if isinstance(p, exp.InheritsProperty)), None)
    return (
        _clauses(state, properties, found, _copied_keys(state, elements), types, complete=complete)
        or (_expressions(found, qualified(name)[1]) if complete else "")
        or (_copied(state, elements, found) if parents is None and of is None else "")
        or (_inherited(state, parents, types, temporary) if parents is not None else "")
        or next(
            (
                w
                for r in found.foreign
                if (w := refused_reference(state, *r, types, name, kept=_kept(tree, temporary)))
            ),
            "",
        )
        or (_partition(state, of, found, temporary=temporary) if of is not None else "")
        or (_relation(state, name) if not temporary else "")
    )


def _options(
    state: SchemaState,
    properties: Sequence[exp.Expression],
    elements: Sequence[exp.Expression],
    found: Elements,
) -> str:
    """What is wrong with the options of a new table."""
    for one in properties:
        if isinstance(one, gx.StorageOptions) and (why := refused_fillfactor(options_of(one))):
            return why
    if not state.edition.greenplum:
        return ""
    classic = state.edition.classic
    return refused_storage(properties, elements, found.encoded, found.keys, classic=classic)


def _expressions(found: Elements, name: str) -> str:
    """A column that a CHECK or a computed column of table `name` reads and that does not exist."""
    if computed := found.of_computed():
        return f"an expression reads column {computed}, which is computed"
    for node in found.checks:
        if missing := not_in(sorted(read_columns(node)), [*found.columns, name]):
            return f"column {missing} of an expression does not exist"
    return ""


def _copied(state: SchemaState, elements: Sequence[exp.Expression], found: Elements) -> str:
    """A column that LIKE copies, and that the table has already."""
    names = list(found.columns)
    for like in (e for e in elements if isinstance(e, gx.LikeClause)):
        source = state.source(like.this)
        if source is None or not is_certain(state, like.this, source):
            return ""
        names += [c.name for c in source.columns]
    twice = _twice(names)
    return f"column {twice} is named twice" if twice else ""


def _copied_keys(
    state: SchemaState, elements: Sequence[exp.Expression]
) -> list[tuple[str, ...]] | None:
    """The columns of the primary keys and unique constraints that LIKE certainly copies; None if
    the distribution of the other table, which is copied, too, may be replicated.
    """
    found: list[tuple[str, ...]] = []
    for like in (e for e in elements if isinstance(e, gx.LikeClause)):
        source = state.source(like.this)
        sure = source is not None and is_certain(state, like.this, source)
        if source is None or not sure or source.distribution == "replicated":
            return None
        if copies(like, "INDEXES"):
            found += [k.simple for k in source.indexes if k.constraint and not k.exclusion]
    return found


def _types(state: SchemaState, elements: Sequence[exp.Expression]) -> dict[str, Column]:
    """The columns of a CREATE TABLE that are written with a type, by name."""
    return {
        fold(e.this): Column(
            fold(e.this),
            *state.types.resolved(*catalog_type(e.args["kind"])),
            own_type=state.types.outer(e.args["kind"]),
        )
        for e in elements
        if isinstance(e, exp.ColumnDef) and e.args.get("kind") is not None
    }


def _inherited(
    state: SchemaState,
    parents: exp.Expression,
    types: Mapping[str, Column],
    temporary: bool,
) -> str:
    """What is wrong with the tables of INHERITS. types: the table's own columns by name"""
    own = dict(types)
    for name in parents.expressions:
        parent = state.find(name)
        if parent is None or not is_certain(state, name, parent):
            return ""
        if why := not_a_parent(state, parent, temporary=temporary):
            return why
        for column in parent.columns:
            if column.name in own and different_types(column, own[column.name]):
                return f"column {column.name} has another type in {parent.title}"
            own.setdefault(column.name, column)
    return ""


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
    """A message if another relation or a type has the name of a new table; "" otherwise."""
    key = state.new_name(name)
    if key[0] == "pg_catalog" and not qualified(name)[0]:
        return "search_path has no schema for new tables"
    if key in state.tables:
        return created_before(state, key, temporary=False)
    return name_in_use(state, key) or type_in_use(state, key)


def _clauses(
    state: SchemaState,
    properties: list[exp.Expression],
    found: Elements,
    copied: Sequence[tuple[str, ...]] | None,
    types: Mapping[str, Column],
    *,
    complete: bool,
) -> str:
    """What is wrong with keys, the partition key and the distribution key.

    copied: columns of the unique keys that LIKE copies, None if it may also copy a replicated
    distribution; types: columns by name; complete: the
    statement contains all columns
    """
    for name, column in types.items() if not state.ties.classes else ():
        used = any(name in columns for _, columns in found.keys)
        if used and without_class(column, "btree"):
            return f"type {column.type} of column {name} has no operator class for a key"
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
    keys = [*(copied or ()), *(columns for _, columns in found.keys)]
    distributed = any(isinstance(p, exp.DistributedByProperty) for p in properties)
    inherits = any(isinstance(p, exp.InheritsProperty) for p in properties)
    alone = not distributed and not inherits and copied is not None
    if state.edition.greenplum and alone and (why := without_common_column(keys)):
        return why
    for p in properties:
        if isinstance(p, gx.PartitionBy):
            if why := _partitioned(state, p, properties, found, types, complete=complete):
                return why
        elif isinstance(p, exp.DistributedByProperty) and (
            why := refused_clause(
                p, found.columns, types, keys, complete=complete, partitioned=partitioned
            )
            or by_enum(state, p, types)
        ):
            return why
    return ""


def _partitioned(
    state: SchemaState,
    by: exp.Expression,
    properties: list[exp.Expression],
    found: Elements,
    types: Mapping[str, Column],
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
    return refused_partition_list(state, by, types) if state.edition.greenplum else ""


def without_key(columns: Sequence[str], keys: Sequence[str], *, classic: bool) -> str:
    """A message if a key of a partitioned table lacks a column of the partition key, or if the
    partition key is an expression; "" otherwise.
    """
    if not classic and "" in keys:
        return "a key of a table whose partition key is an expression"
    missing = not_in((k for k in keys if k), columns)
    return f"a key without column {missing} of the partition key" if missing else ""


# --- foreign keys ---------------------------------------------------------------------------------


# which tables a foreign key of a table may reference (PostgreSQL, ATAddForeignKeyConstraint)
_REFERENCED_BY = {
    "permanent": ("permanent",),
    "unlogged": ("permanent", "unlogged"),
    "temporary": ("temporary",),
}


def kept_as(table: Table) -> str:
    """How a table is kept: "permanent", "unlogged" or "temporary"."""
    return "temporary" if table.temporary else "unlogged" if table.unlogged else "permanent"


def _kept(tree: exp.Create, temporary: bool) -> str:
    if temporary:
        return "temporary"
    return "unlogged" if tree.find(exp.UnloggedProperty) is not None else "permanent"


def refused_reference(
    state: SchemaState,
    node: gx.ReferencesConstraint,
    columns: tuple[str, ...],
    types: Mapping[str, Column],
    new: exp.Expression | None = None,
    *,
    kept: str,
) -> str:
    """What is wrong with a foreign key of these columns.

    types: columns of the table by name; new: the new table, which it may reference; kept:
    "permanent", "unlogged" or "temporary"
    """
    if new is not None and qualified(new)[1] == qualified(node.this)[1]:
        return ""
    target = state.find(node.this)
    if target is None or not is_certain(state, node.this, target) or node.args.get("period"):
        return ""
    its_kind = kept_as(target)
    if its_kind not in _REFERENCED_BY[kept]:
        return f"a {kept} table cannot reference {target.title}, which is {its_kind}"
    key_columns = _names(node.expressions)
    if not key_columns:
        primary = next((k for k in target.indexes if k.like.startswith("primary key")), None)
        if primary is None:
            keys = node.root().find_all(gx.KeyConstraint)
            if any(key.args.get("kind") == "PRIMARY KEY" for key in keys):
                return ""  # the statement may add it before
            return f"{target.title} has no primary key to reference"
        if state.edition.greenplum and (target.partitioned or target.levels):
            return ""
        key_columns = primary.simple if primary.like.endswith(" 0") else ()
        if not key_columns:
            return ""
    elif state.edition.greenplum and (target.partitioned or target.levels):
        return ""
    elif missing := not_in(key_columns, [c.name for c in target.columns]):
        return "" if missing == "oid" else f"column {missing} of {target.title} does not exist"
    if len(key_columns) != len(columns):
        return f"a foreign key of {len(columns)} columns to {len(key_columns)}"
    unique = [k for k in (*target.indexes, *target.only) if _may_be_unique(k, key_columns)]
    if unique and all(k.deferrable for k in unique):
        return f"the key of {target.title} is deferrable"
    if not unique:
        return f"no unique key of {target.title} has the columns ({', '.join(key_columns)})"
    others = {c.name: c for c in target.columns}
    for name, other in zip(columns, key_columns, strict=True):
        mine, its = types.get(name), others.get(other)
        if mine and its and not state.ties.casts and not_comparable(mine, its):
            return f"column {name} cannot be compared with {other} of {target.title}"
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
