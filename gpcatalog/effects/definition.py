"""Converts the elements of CREATE TABLE and the bodies of indexes to columns, keys, checks and
foreign keys, with the names that the server generates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from sys import intern
from typing import Protocol

from sqlglot import exp

from gpcatalog.capacity.model import Instance
from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.version import Edition
from gpcatalog.effects.column_defaults import has_default, with_default
from gpcatalog.effects.equal_indexes import column_of, compared
from gpcatalog.effects.expansion import SERIAL, catalog_type, sized
from gpcatalog.effects.keys import (
    WITHOUT_OVERLAPS,
    Check,
    Column,
    ForeignKey,
    Key,
    fold,
    object_name,
    qualified,
    quoted_name,
    shared,
)
from gpcatalog.effects.outer_dependencies import (
    SEVERAL_PARENTS,
    element_depends,
    foreign_collation,
    method_depends,
    note_classes,
    note_copied,
    note_dependencies,
    note_key,
    note_outer,
    without_class,
)
from gpcatalog.effects.relations import Table
from gpcatalog.effects.repeated_keys import NONE, RepeatedKeys, repeated_keys
from gpcatalog.effects.taken_names import Names, index_name, unused
from gpcatalog.effects.ties import Ties
from gpcatalog.effects.types import Types


class Known(Names, Protocol):
    """The part of the schema state that this module uses: its edition and its tables by name."""

    edition: Edition
    types: Types
    ties: Ties

    def known_name(
        self, name: exp.Expression, known: Collection[tuple[str, str]]
    ) -> tuple[str, str]:
        """(schema, name) under which an object is known."""
        ...

    def find(self, table: exp.Expression) -> Table | None:
        """The table of that name."""
        ...

    def source(self, table: exp.Expression) -> Table | None:
        """The table or partition of that name, to read its definition."""
        ...


def reads(node: exp.Expression | None, table: Table) -> frozenset[str]:
    """Columns of the table that an expression reads."""
    return _same(_names(node) & {c.name for c in table.columns})


def _names(node: exp.Expression | None) -> frozenset[str]:
    """All names of columns in an expression."""
    found = () if node is None else node.find_all(exp.Column)
    return frozenset(fold(c.this) for c in found if isinstance(c.this, exp.Identifier))


@lru_cache(maxsize=65536)
def _same(names: frozenset[str]) -> frozenset[str]:
    """One object for all equal sets: tables of a long script have many."""
    return names


def _unused(used_names: set[str], first: str, second: str, label: str) -> str:
    """The first of first_second_label, …_label1, … that is not taken."""
    return unused(used_names.__contains__, first, second, label)


def constraint_names(table: Table) -> set[str]:
    """The names of the constraints of a table."""
    return (
        {k.name for k in table.indexes if k.constraint}
        | {c.name for c in table.checks}
        | {f.name for f in table.foreign}
    )


Traits = frozenset[str]  # of a constraint, in capitals: NOT VALID, NO INHERIT, DEFERRABLE
DEFERRABLE = frozenset(("DEFERRABLE", "INITIALLY DEFERRED"))
_NO_TRAITS: Traits = frozenset()


def traits_of(element: exp.Expression) -> Traits:
    """The attributes of a table constraint."""
    spec = element.args.get("attributes")
    traits = spec.expressions if isinstance(spec, exp.Expression) else ()
    return frozenset(str(trait.args.get("not_deferrable")) for trait in traits)


def deferrable(element: exp.Expression) -> bool:
    """Whether a table constraint is DEFERRABLE."""
    return not traits_of(element).isdisjoint(DEFERRABLE)


def add_key(
    state: Known,
    table: Table,
    given: exp.Expression | None,
    columns: tuple[str, ...],
    primary: bool,
    included: tuple[str, ...] = (),
    *,
    overlaps: bool = False,
    traits: Traits = _NO_TRAITS,
) -> None:
    """Add a primary key or unique constraint.

    included: columns of INCLUDE; overlaps: it has WITHOUT OVERLAPS
    """
    name = fold(given)
    if not name:
        label = ("", "pkey") if primary else ("_".join((*columns, *included)), "key")
        name = index_name(state, table, *label)
    like = f"{'primary key' if primary else 'unique'} {columns} {len(included)}"
    like += WITHOUT_OVERLAPS if overlaps else ""
    table.indexes.append(
        Key(
            name,
            len(columns) + len(included),
            (*columns, *included),
            constraint=True,
            like=like,
            label="_".join((*columns, *included)),
            deferrable=not traits.isdisjoint(DEFERRABLE),
        )
    )
    if primary:
        require(table, columns)


def require(
    table: Table, columns: Collection[str], *, own: bool = True, alone: bool = False
) -> None:
    """Make columns NOT NULL. own: the table itself defines the constraint; alone: NO INHERIT."""
    table.columns = [
        (
            replace(
                c,
                not_null=True,
                own_not_null=c.own_not_null or own,
                not_null_alone=alone if not c.not_null else c.not_null_alone and alone,
            )
            if c.name in columns
            else c
        )
        for c in table.columns
    ]


def _included(kind: exp.Expression) -> tuple[str, ...]:
    """The columns of INCLUDE."""
    return tuple(
        fold(c if isinstance(c, exp.Identifier) else c.this) for c in kind.args.get("include") or ()
    )


def _add_exclusion(
    state: Known,
    table: Table,
    given: exp.Expression | None,
    kind: exp.Expression,
    traits: Traits,
) -> None:
    """Add an exclusion constraint, which has an index."""
    for element in kind.expressions:
        note_outer(state.types, state.ties, table, element)
        if element_depends(element.this):
            note_dependencies(state.ties, table)
    note_classes(state.ties, table, kind.args.get("using"), reads(kind, table))
    elements = [element.this.this for element in kind.expressions]
    simple = [fold(e.this) for e in elements if isinstance(e, exp.Column) and not e.table]
    labels = [
        (
            fold(e.this)
            if isinstance(e, exp.Column)
            else str(e.this).lower()
            if isinstance(e, exp.Anonymous)
            else "expr"
        )
        for e in elements
    ]
    included = _included(kind)
    labels += included
    read: frozenset[str] = frozenset().union(
        *(reads(e, table) for e in elements if not isinstance(e, exp.Column))
    )
    name = fold(given) or index_name(state, table, "_".join(labels), "excl")
    table.indexes.append(
        Key(
            name,
            len(elements) + len(included),
            (*simple, *included),
            read,
            reads(kind.args.get("where"), table),
            constraint=True,
            like=f"exclude {kind.sql('greenplum')}",
            label="_".join(labels),
            deferrable=not traits.isdisjoint(DEFERRABLE),
        )
    )


def add_check(
    state: Known,
    table: Table,
    given: exp.Expression | None,
    value: exp.Expression | None,
    column: str = "",
    *,
    alone: bool = False,
) -> None:
    """Add a CHECK constraint. If the table inherits one of that name, it also becomes a constraint
    of its own.

    column: column after which it is written; alone: NO INHERIT
    """
    note_outer(state.types, state.ties, table, value)
    # also columns that are defined after it, and system columns; not the row of the table
    read = _same(_names(value) - ({table.name} - {c.name for c in table.columns}))
    name = fold(given)
    if name and any(c.name == name and not c.own for c in table.checks):
        own = table.parent is None  # in a partition, it remains that of the partitioned table
        table.checks = [replace(c, own=own) if c.name == name else c for c in table.checks]
        return
    table.checks.append(Check(name or check_name(table, read, column), read, alone=alone))


def check_name(table: Table, read: Collection[str], column: str = "") -> str:
    """The name that the server generates for a CHECK constraint that uses these columns."""
    only = column or (next(iter(read)) if len(read) == 1 else "")
    return _unused(constraint_names(table), table.name, only, "check")


def add_foreign(
    state: Known,
    table: Table,
    given: exp.Expression | None,
    columns: tuple[str, ...],
    kind: exp.Expression,
    traits: Traits,
) -> None:
    """Add a foreign key, also if the table is unknown: a foreign key has no row in pg_class.

    kind: its REFERENCES clause
    """
    target = kind.this
    label = columns[0] if state.edition.base < 12 else "_".join(columns)
    name = fold(given) or _unused(constraint_names(table), table.name, label, "fkey")
    other = state.find(target)
    key = (other.schema, other.name) if other is not None else qualified(target)
    to = tuple(fold(c if isinstance(c, exp.Identifier) else c.this) for c in kind.expressions)
    enforced = "NOT ENFORCED" not in traits
    table.foreign.append(ForeignKey(name, columns, key, to, enforced))
    state.ties.referenced.add(key)


def column(
    state: Known, table: Table, element: exp.ColumnDef, repeated: RepeatedKeys = NONE
) -> Column | None:
    """Add a column and its constraints to the table and return the column; None for options of a
    column that the table already has.

    repeated: constraints of the statement that the server drops
    """
    kind = element.args.get("kind")
    name = fold(element.this)
    at = (
        next((n for n, c in enumerate(table.columns) if c.name == name), -1)
        if kind is None
        else len(table.columns)
    )
    if at < 0:
        return None
    if kind is None:  # options in a partition for a column of its table
        new_column = table.columns[at]
    else:
        new_column = _new_column(state, name, kind)
        if state.types.collated(kind):
            note_dependencies(state.ties, table)
        state.ties.use_type(table, new_column.type_used)
        table.columns.append(new_column)  # constraints after it may use it
    later: list[tuple[exp.Expression | None, exp.Expression, set[str]]] = []
    for constraint in element.args.get("constraints") or ():
        found = (
            constraint.args.get("kind")
            if isinstance(constraint, exp.ColumnConstraint)
            else constraint
        )
        given = (
            constraint.args.get("this") if isinstance(constraint, exp.ColumnConstraint) else None
        )
        if isinstance(found, gx.ConstraintAttribute):
            if later:
                later[-1][2].add(str(found.this))
        elif found is not None and not isinstance(found, _OF_COLUMN):
            later.append((given, found, set()))
        elif found is not None:
            new_column = _with_constraint(state, new_column, found, table)
            table.not_null_named |= given is not None
    table.columns[at] = shared(new_column)
    for given, found, traits in later:
        if id(found) not in repeated.dropped:
            named = repeated.given(found, given)
            _add_column_constraint(
                state, table, name, given=named, found=found, traits=frozenset(traits)
            )
    return table.columns[at] if kind is not None else None


def _new_column(state: Known, name: str, kind: exp.Expression) -> Column:
    """A column of a type as written; a serial column owns a sequence."""
    type_name, typmod = state.types.resolved(*catalog_type(kind))
    serial = isinstance(kind, exp.DataType) and kind.this in SERIAL
    return Column(
        name,
        type_name,
        typmod,
        not_null=serial,
        default=serial,
        serial="serial" if serial else "",
        named=int(serial),
        own_type=state.types.outer(kind),
        type_used=state.types.used(kind),
        outer_order=state.types.from_extension(kind),
        own_not_null=serial,
        sized=sized(kind),
    )


# constraints and options that are stored in the column, not in the table
_OF_COLUMN = (
    exp.NotNullColumnConstraint,
    exp.DefaultColumnConstraint,
    gx.GeneratedConstraint,
    gx.ColumnStorage,
)


def _with_constraint(
    state: Known, new_column: Column, found: exp.Expression, table: Table
) -> Column:
    """The column with a constraint or option of _OF_COLUMN."""
    if isinstance(found, exp.NotNullColumnConstraint):
        if found.args.get("allow_null"):
            return new_column
        alone = isinstance(found, gx.OwnNotNull)
        return replace(new_column, not_null=True, own_not_null=True, not_null_alone=alone)
    if not isinstance(found, gx.ColumnStorage):
        note_outer(state.types, state.ties, table, found.this)
    if isinstance(found, exp.DefaultColumnConstraint):
        return with_default(state.types, state.ties, table, new_column, found.this)
    if isinstance(found, gx.GeneratedConstraint):
        if found.args.get("identity"):
            return replace(new_column, serial="identity", not_null=True, own_not_null=True)
        read = reads(found.this, table)
        virtual = not found.args.get("stored")
        return replace(new_column, default=True, named=len(read), generated=read, virtual=virtual)
    if found.args.get("kind") == "STORAGE":
        return replace(new_column, plain=fold(found.this) == "plain")
    return new_column


def _add_column_constraint(
    state: Known,
    table: Table,
    name: str,
    *,
    given: exp.Expression | None,
    found: exp.Expression,
    traits: Traits,
) -> None:
    """Add a constraint written after column `name` to the table; given: its name."""
    primary = isinstance(found, exp.PrimaryKeyColumnConstraint) or (
        isinstance(found, gx.KeyConstraint) and found.args["kind"] == "PRIMARY KEY"
    )
    if isinstance(found, exp.CheckColumnConstraint | gx.CheckConstraint):
        alone = bool(found.args.get("no_inherit")) or "NO INHERIT" in traits
        add_check(state, table, given, found.this, name, alone=alone)
    elif primary or isinstance(found, exp.UniqueColumnConstraint | gx.KeyConstraint):
        add_key(state, table, given, (name,), primary, traits=traits)
    elif isinstance(found, gx.ReferencesConstraint):
        add_foreign(state, table, given, (name,), found, traits)
    elif isinstance(found, exp.CollateColumnConstraint) and foreign_collation(found.this):
        note_dependencies(state.ties, table)
        table.columns = [
            replace(c, outer_order=True) if c.name == name else c for c in table.columns
        ]
    note_key(state.ties, table, (name,) if not isinstance(found, gx.CheckConstraint) else ())


def constraint(
    state: Known,
    table: Table,
    element: exp.Expression,
    unknown: list[str],
    repeated: RepeatedKeys = NONE,
) -> None:
    """Add a table constraint. repeated: constraints of the statement that the server drops."""
    kind = element.args["kind"]
    given = repeated.given(kind, element.args.get("this"))
    if id(kind) in repeated.dropped:
        return
    traits = traits_of(element)
    if (
        isinstance(kind, gx.KeyConstraint)
        and kind.expressions
        and kind.args.get("kind") != "NOT NULL"
    ):
        columns = tuple(fold(c) for c in kind.expressions)
        add_key(
            state,
            table,
            given,
            columns,
            kind.args["kind"] == "PRIMARY KEY",
            _included(kind),
            overlaps=bool(kind.args.get("overlaps")),
            traits=traits,
        )
        note_key(state.ties, table, columns)
        if kind.args.get("overlaps"):
            note_classes(state.ties, table, exp.to_identifier("gist"), columns)
    elif isinstance(kind, gx.KeyConstraint) and kind.args.get("kind") == "NOT NULL":
        require(table, (fold(kind.args.get("index")),), alone="NO INHERIT" in traits)
        table.not_null_named |= given is not None
    elif isinstance(kind, gx.CheckConstraint):
        add_check(state, table, given, kind.this, alone="NO INHERIT" in traits)
    elif isinstance(kind, gx.ReferencesConstraint):
        columns = tuple(
            fold(c if isinstance(c, exp.Identifier) else c.this)
            for c in kind.args.get("columns") or ()
        )
        add_foreign(state, table, given, columns, kind, traits)
        note_key(state.ties, table, columns)
    elif isinstance(kind, gx.ExcludeConstraint):
        _add_exclusion(state, table, given, kind, traits)
    else:
        unknown.append("constraint USING INDEX")


def define(
    state: Known, table: Table, elements: Iterable[exp.Expression], parents: Iterable[Table] = ()
) -> None:
    """Add columns and constraints of CREATE TABLE; what is unknown is added to `table.unknown`."""
    for parent in parents:  # INHERITS: columns of the same name are merged
        have = {c.name for c in table.columns}
        from_parent = {c.name: c.of_child() for c in parent.columns}
        table.columns = [
            replace(
                c,
                not_null=c.not_null or from_parent[c.name].not_null,
                default=c.default or from_parent[c.name].default,
            )
            if c.name in from_parent
            else c
            for c in table.columns
        ]
        table.columns += [c for name, c in from_parent.items() if name not in have]
        there = {x.name for x in table.checks}
        if any(x.name in there for x in parent.checks) or any(
            c.default and c.named != from_parent[c.name].named
            for c in table.columns
            if c.name in have and c.name in from_parent
        ):
            table.leave_out(SEVERAL_PARENTS)
        table.checks += [
            replace(c, own=False) for c in parent.checks if c.name not in there and not c.alone
        ]
    inherited = {c.name: c for c in table.columns}
    constraints: list[exp.Expression] = []
    elements = list(elements)
    repeated = repeated_keys(elements)
    copied: list[Key] = []
    for element in elements:
        if isinstance(element, exp.ColumnDef):
            before = inherited.pop(fold(element.this), None)
            new_column = column(state, table, element, repeated)
            if new_column is not None and before is not None and list(parents):
                table.columns.pop()
                merged = replace(
                    new_column,
                    not_null=new_column.not_null or before.not_null,
                    default=new_column.default or (before.default and not has_default(element)),
                    named=new_column.named if new_column.default else before.named,
                )
                table.columns = [merged if c.name == merged.name else c for c in table.columns]
        elif isinstance(element, gx.TableConstraint):
            constraints.append(element)
        elif isinstance(element, gx.LikeClause):
            had = len(table.indexes)
            _like(state, table, element)
            copied += table.indexes[had:]
    for element in constraints:
        constraint(state, table, element, table.unknown, repeated)
    _read_later_columns(state, table, elements)
    own = {k.simple for k in table.indexes if k not in copied}
    if state.edition.greenplum and any(k.simple in own for k in copied):
        table.uncounted = "whether an index of LIKE and a constraint are one"
        table.unknown.append(table.uncounted)


def _read_later_columns(state: Known, table: Table, elements: Iterable[exp.Expression]) -> None:
    """Complete what generated columns read: an expression can use columns written after it."""
    for one in [c for e in elements for c in e.find_all(gx.GeneratedConstraint)]:
        element = one.find_ancestor(exp.ColumnDef)
        if element is not None and not one.args.get("identity"):
            note_outer(state.types, state.ties, table, one.this)
            read, name = reads(one.this, table), fold(element.this)
            table.columns = [
                replace(c, named=len(read), generated=read) if c.name == name else c
                for c in table.columns
            ]


def _shape(key: Key) -> str:
    """What equal indexes share, except for uniqueness and the order of columns."""
    if key.like.startswith(("primary key ", "unique ")):
        return f"({', '.join(map(quoted_name, key.simple))})"
    return key.like.removeprefix("True").removeprefix("False")


def _copy_indexes(state: Known, source: Table, table: Table) -> None:
    """LIKE … INCLUDING INDEXES: copy the keys of the source, with new names."""
    for key in (*source.indexes, *source.only):
        primary = key.name == object_name(source.name, "", "pkey")
        label = (
            ("", "pkey")
            if primary
            else ("_".join(key.simple) or "expr", "key" if key.constraint else "idx")
        )
        # Greenplum 6 copies equal ones once; the order of a column (DESC) is not known here
        if state.edition.classic and any(_shape(k) == _shape(key) for k in table.indexes):
            table.uncounted = "whether two indexes of LIKE are equal"
            table.unknown.append(table.uncounted)
        table.indexes.append(replace(key, name=index_name(state, table, *label), of=""))


def copies(like: exp.Expression, what: str) -> bool:
    """Whether a LIKE clause copies this kind of object; its options apply in order."""
    found = False
    for option in like.args.get("expressions") or ():
        word, _, of = str(option).partition(" ")
        if of in (what, "ALL"):
            found = word == "INCLUDING"
    return found


def _like(state: Known, table: Table, element: exp.Expression) -> None:
    source = state.source(element.this)
    view = state.views.get(state.known_name(element.this, state.views))
    if (
        source is None
        and view is not None
        and view.output is not None
        and all(c.type for c in view.output)
    ):
        have = {
            c.name for c in table.columns
        }  # of a view, only the names and types of its columns can be copied
        table.columns += [c for c in view.output if c.name not in have]
        return
    doubt = "" if source is None or source.partitioned else source.uncounted
    if source is None or not source.known or doubt:
        table.known = False
        table.unknown.append(doubt or f"unknown table {element.this.sql('greenplum')} in LIKE")
        return
    includes = partial(copies, element)
    table.not_null_named |= source.not_null_named
    have = {c.name for c in table.columns}  # columns of parents, with which they are merged
    merged = bool(table.inherits) and any(c.name in have for c in source.columns)
    if merged:
        table.uncounted = table.uncounted or f"columns of LIKE and INHERITS of {table.title}"
    bounds = state.edition.classic and includes("CONSTRAINTS") and source.parent is not None
    statistics = includes("STATISTICS")
    note_copied(state.ties, table, source, statistics=statistics, bounds=bounds, merged=merged)
    for c in source.columns:
        if c.name in have:
            continue
        # since PostgreSQL 17, partitions share the identity columns of their table
        identity = (
            c.serial == "identity" or (c.identity and state.edition.base >= 17)
        ) and includes("IDENTITY")
        defaults = includes("DEFAULTS")
        table.columns.append(
            replace(
                c,
                default=(includes("GENERATED") if c.generated else defaults) and c.default,
                named=c.named if (includes("GENERATED") if c.generated else defaults) else 0,
                serial="identity" if identity else "",
                identity=False,
                plain=c.plain and includes("STORAGE"),
                virtual=c.virtual and includes("GENERATED"),
                local=True,
                own_not_null=c.not_null,
                generated=c.generated if includes("GENERATED") else frozenset(),
            )
        )
    if state.edition.greenplum and includes("STORAGE" if state.edition.classic else "AM"):
        table.like_storage = source.storage
    if includes("INDEXES"):
        _copy_indexes(state, source, table)
    if includes("CONSTRAINTS") and source.checks:
        table.checks += [replace(c, own=True) for c in source.checks]
        if state.edition.greenplum and not state.edition.classic:  # they are added after CREATE
            table.extra.setdefault(Instance.COORDINATOR.value, Counter())[
                "pg_stat_last_operation"
            ] += 1


def _note_index(state: Known, table: Table, body: exp.Expression) -> None:
    """Note dependencies of an index on objects other than columns."""
    note_outer(state.types, state.ties, table, body.args.get("where"))
    if method_depends(body.args.get("using")):
        note_dependencies(state.ties, table)
    for element in body.args["columns"]:
        if element_depends(element):
            note_dependencies(state.ties, table)
        if (name := column_of(element.this)) is None:
            note_outer(state.types, state.ties, table, element.this)
        else:
            note_key(state.ties, table, (name,))
            types = [c.type for c in table.columns if c.name == name]
            if types and without_class(body.args.get("using"), types[0]):
                note_dependencies(state.ties, table)


def index_key(
    state: Known,
    table: Table,
    name: str,
    body: exp.Expression,
    *,
    unique: bool = False,
    of: str = "",
) -> Key:
    """The key of CREATE INDEX; a missing name is generated as the server does it.

    of: name of the partition, if only a partition gets the index
    """
    simple: list[str] = []
    labels: list[str] = []
    read = _same(frozenset())
    _note_index(state, table, body)
    elements = [*body.args["columns"], *(body.args.get("include") or ())]
    for element in elements:
        value = element.this
        if (column := column_of(value)) is not None:
            simple.append(column)
            labels.append(simple[-1])
        else:
            read |= reads(value, table)
            if value.find(exp.Star) is not None:  # the whole row
                note_dependencies(state.ties, table)
            labels.append(str(value.this).lower() if isinstance(value, exp.Anonymous) else "expr")
    if not name:
        parts = {k.name for p in table.relations() for k in p.odd.keys} if of else set[str]()
        name = index_name(state, table, "_".join(labels), "idx", of=of, used=parts)
    method = body.args.get("using")
    bitmap = method is not None and fold(method) == "bitmap"
    like, rough = compared(body, unique=unique)
    return Key(
        name,
        len(elements),
        tuple(simple),
        read,
        reads(body.args.get("where"), table),
        bitmap=bitmap,
        like=intern(like),
        label=intern("_".join(labels)),
        rough=intern(rough),
    )
